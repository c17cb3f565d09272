/* journal_file.h: the journal of one process: a file in shared memory that survives the process.
 *
 * It is a sequence of entries, addressed by positions: bytes since the job began. Only [start, end)
 * is there, and the beginning of the journal (HARK_JOURNAL_PINNED), which is never trimmed. One
 * process at a time writes. A SIGKILL between any two instructions leaves a whole prefix of what
 * was appended: an entry is written first, and then `end` is published.
 *
 * The file is a header and segments. Segments that were trimmed are used again, so the file is as
 * long as the journal was at most.
 */
#ifndef HARK_PROCESS_JOURNAL_FILE_H
#define HARK_PROCESS_JOURNAL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HARK_JOURNAL_SEGMENT 65536u               /* bytes */
#define HARK_JOURNAL_PINNED  HARK_JOURNAL_SEGMENT /* [0, this) is never trimmed */
#define HARK_JOURNAL_MOST    (UINT64_C(1) << 30)  /* bytes of a journal */
#define HARK_JOURNAL_PLACES  (HARK_JOURNAL_MOST / HARK_JOURNAL_SEGMENT)
#define HARK_JOURNAL_ENTRY   (HARK_JOURNAL_SEGMENT / 4) /* longest value, bytes */
#define HARK_JOURNAL_GAP     8u                         /* positions are multiples of it */
#define HARK_JOURNAL_IMAGES  16u

struct hark_journal_header;

struct hark_journal_file {
    int fd;                             /* the caller's */
    struct hark_journal_header *header; /* NULL: not mapped */
    size_t mapped;                      /* bytes */
    uint32_t segments;                  /* that the file has */
    uint32_t free_count;
    uint64_t reach; /* behind the last segment that has a place, a position */
    uint16_t free[HARK_JOURNAL_PLACES];
};

/* Maps the journal in `fd`, or makes an empty one if the file is empty or holds none. 0, or -1 with
 * errno. */
int hark_journal_map(struct hark_journal_file *f, int fd);
void hark_journal_unmap(struct hark_journal_file *f);

uint64_t hark_journal_start(const struct hark_journal_file *f);
uint64_t hark_journal_end(const struct hark_journal_file *f);
uint64_t hark_journal_file_bytes(const struct hark_journal_file *f);
/* Entries before it were read before the program had its protected memory back: see journal.c. */
uint64_t hark_journal_prologue(const struct hark_journal_file *f);
void hark_journal_set_prologue(struct hark_journal_file *f, uint64_t position);
/* Up to here a copy of this journal, which somebody else keeps, is as this one: what changes before
 * it takes it back. */
uint64_t hark_journal_copied(const struct hark_journal_file *f);
void hark_journal_set_copied(struct hark_journal_file *f, uint64_t position);

/* Appends an entry; length is at most HARK_JOURNAL_ENTRY. 0, or -1 with errno: EFBIG: the journal
 * is full; others: the file can not grow. No system call, except once a segment. */
int hark_journal_append(
    struct hark_journal_file *f, uint8_t kind, const void *value, size_t length);

/* The word at `position`, which is one of an entry's, and a multiple of 8: adds 1, and returns what
 * it is then; or sets it. */
uint64_t hark_journal_increment(struct hark_journal_file *f, uint64_t position);
void hark_journal_set(struct hark_journal_file *f, uint64_t position, uint64_t value);

/* For the copy: the bytes of [position, position + length), all multiples of 8. The first forgets
 * what was from `position` on, which is at most the end; -1 with errno: EINVAL, or the file can not
 * grow. The second reads what is there. */
int hark_journal_put(
    struct hark_journal_file *f, uint64_t position, const void *bytes, uint64_t length);
void hark_journal_take(
    const struct hark_journal_file *f, uint64_t position, void *bytes, uint64_t length);
/* The beginning, up to the prologue's end, which `length` is: at most HARK_JOURNAL_PINNED. 0, or -1
 * with EINVAL. */
int hark_journal_put_pinned(struct hark_journal_file *f, const void *bytes, uint64_t length);

/* Writes the entries from `position` on, and all that is not an entry, to where they are in the
 * file `fd`, which then is as this one: 0, or an errno. A file that is cut off, or whose file
 * system fails, is no danger: it is not mapped. */
int hark_journal_save(const struct hark_journal_file *f, int fd, uint64_t position);

enum hark_journal_found {
    HARK_JOURNAL_GIVEN,     /* *value is set, and *position is behind the entry */
    HARK_JOURNAL_DIFFERENT, /* the entry is of another kind or length: *found and *found_length */
    HARK_JOURNAL_DAMAGED    /* this is no entry: memory of the machine was lost */
};
/* Reads the entry at *position, which is below the end. */
enum hark_journal_found hark_journal_read(struct hark_journal_file *f, uint64_t *position,
    uint8_t kind, void *value, size_t length, uint8_t *found, size_t *found_length);

/* Forgets the entries from `position` on; start <= position <= end. */
void hark_journal_cut(struct hark_journal_file *f, uint64_t position);
/* Forgets all, and goes on at `position`. 0, or -1 with errno. */
int hark_journal_begin_at(struct hark_journal_file *f, uint64_t position);

/* Image `id` was taken at `position`: the entries from there on are needed as long as it is. */
void hark_journal_image(struct hark_journal_file *f, uint64_t id, uint64_t position);
/* That image is not needed any more; nor are older ones, if there is a younger one. Entries that no
 * image needs are trimmed. */
void hark_journal_image_dropped(struct hark_journal_file *f, uint64_t id);
/* Images beyond `id` are undone. */
void hark_journal_images_undone(struct hark_journal_file *f, uint64_t id);

#endif
