/* store.h: the store of checkpoint images, and the payload log.
 *
 * A store keeps images by rank and id. It writes an image to a temporary file, syncs it, gives it
 * its name, and syncs the directory. An image carries a checksum over every byte, a version, and
 * the identity of job, process and checkpoint; read() returns verified images only. This file is
 * the interface; the directory store is in src/store/.
 */
#ifndef HARK_STORE_H
#define HARK_STORE_H

#include "hark.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN

enum hark_store_status {
    HARK_S_OK = 0,
    HARK_S_ENONE = -31,    /* there is no such image */
    HARK_S_EDAMAGED = -32, /* a wrong checksum, length, version or identity: error says which */
    HARK_S_ESYSTEM = -33,  /* a system call failed (no space, read-only, gone): error says what and
                            * where */
    HARK_S_EINVAL = -34,
    HARK_S_ENOMEMORY = -35 /* hark_behind_write: no memory for a copy of the image, or no thread */
};

/* An image is a sequence of sections. A section is a tag and bytes; the writer defines the tags. */
struct hark_section {
    uint32_t tag;
    uint32_t pad;
    uint64_t id; /* for the writer's use, stored beside the tag */
    const void *at;
    uint64_t length;
};

struct hark_store { /* the first member of every store's own struct */
    const struct hark_store_ops *ops;
    char error[256]; /* the last failure in one line: what, where, why */
};

struct hark_store_ops {
    const char *name;
    /* Writes image `id` (>= 1) of `rank`, which replaces an image of the same id. When it returns
     * HARK_S_OK, the image is durable. After a failure, or a crash during the call, the store is as
     * it was before; only if the last sync failed, the new image may be there already, whole. The
     * bytes are not copied: they must not change during the call. HARK_S_ESYSTEM, HARK_S_EINVAL. */
    int (*write)(struct hark_store *s, uint32_t rank, uint64_t id,
        const struct hark_section *section, uint32_t count);
    /* Reads and verifies an image. *section and its bytes (each section 8-aligned) stay valid until
     * release(*handle). HARK_S_ENONE, HARK_S_EDAMAGED, HARK_S_ESYSTEM, HARK_S_EINVAL; after these
     * there is nothing to release. */
    int (*read)(struct hark_store *s, uint32_t rank, uint64_t id,
        const struct hark_section **section, uint32_t *count, void **handle);
    void (*release)(struct hark_store *s, void *handle);
    /* Verifies an image, and returns what read() would. */
    int (*verify)(struct hark_store *s, uint32_t rank, uint64_t id);
    /* Deletes image `id` of `rank`; it need not exist. After a power failure the image may exist
     * again, whole. HARK_S_ESYSTEM, HARK_S_EINVAL. */
    int (*drop)(struct hark_store *s, uint32_t rank, uint64_t id);
    /* Writes the ids of the images of `rank`, ascending, at most `room` of them; returns how many
     * images there are, or HARK_S_ESYSTEM, HARK_S_EINVAL. */
    int (*list)(struct hark_store *s, uint32_t rank, uint64_t *id, uint32_t room);
    void (*close)(struct hark_store *s);
};

/* Opens the directory store of job `job` (1 .. 64 printable bytes without '/') for `ranks`
 * processes; makes the directory if its parent exists. Any number of the processes may have the
 * store open at once; one handle belongs to one thread. Removes what crashed writers left.
 *
 * HARK_S_EINVAL: the directory belongs to another job or another number of processes, or has files
 * and is no store; or `fresh` is set and the store has images. HARK_S_EDAMAGED: the job file.
 * HARK_S_ESYSTEM. On failure *s is NULL and error has the reason in one line. The caller closes the
 * store by ops->close. */
int hark_store_open_directory(struct hark_store **s, const char *path, const char *job,
    uint32_t ranks, bool fresh, char error[256]);

/* All that is written through this handle of a directory store from now on is of this incarnation
 * of its process, of which a later one has a higher number, also over runs of the job that are
 * resumed. An image of a later incarnation is then neither replaced nor dropped through it: a
 * process that stood still and was taken for dead may go on long after another one took its place.
 * write() returns HARK_S_EINVAL then, drop() HARK_S_OK. Without this call, and where the image that
 * is there does not say who wrote it, any is replaced, and dropped. HARK_S_EINVAL: no directory
 * store. */
int hark_store_write_as(struct hark_store *s, uint32_t incarnation);

/* Puts an image that another directory store of the job has written whole into a directory store,
 * as write() does, with the bytes of the file `fd` from its beginning; they are verified first.
 * It is of the incarnation that wrote it. wanted(of), if it is not NULL, is asked when all is
 * written and durable, just before the image gets its name: false, and it gets none.
 * HARK_S_EDAMAGED; HARK_S_ENONE: not wanted; else as write(). */
int hark_store_import(
    struct hark_store *s, uint32_t rank, uint64_t id, int fd, bool (*wanted)(void *of), void *of);
/* Is the file `fd` that image, whole? As verify() of a directory store, before the file bears the
 * image's name there. */
int hark_store_verify_file(struct hark_store *s, uint32_t rank, uint64_t id, int fd);

/* ---- images by blocks ----------------------------------------------------------------------- */

enum hark_compression {
    HARK_COMPRESS_NONE,
    HARK_COMPRESS_LZ4,
    HARK_COMPRESS_ZSTD,
    HARK_COMPRESSIONS
};

/* "none", "lz4", "zstd"; NULL: there is none of this number. */
const char *hark_compression_name(uint32_t compression);
/* Was the library built with it? */
bool hark_compression_built(uint32_t compression);

/* How a directory store writes images from now on through this handle; without this call, whole and
 * as they are. Reading and all else is as before, whatever the handle.
 *
 * `incremental`: blocks of 64 KiB that stood in the last image which this handle wrote of the rank,
 * at whatever place, are not written again: the new image refers to where they lie. They stay as
 * long as an image refers to them, also when the image is dropped that they were written with;
 * damage to such a block damages every image that refers to it. The first image of a handle is
 * written whole, and so is one that would refer to more than 63 files, or to files of which less
 * than half is its own; so an image takes at most twice the disk that it would take written whole.
 *
 * `compression`: of each block; one that does not become smaller is written as it is.
 *
 * HARK_S_EINVAL: no directory store, or hark was built without this compression. */
int hark_store_write_blocks(
    struct hark_store *s, bool incremental, enum hark_compression compression);

struct hark_store_bytes {
    uint64_t own;   /* written with this image */
    uint64_t older; /* of its blocks in files that were written with older images */
};
/* The bytes on the disk of image `id` of `rank` in a directory store. Returns what verify() would,
 * but looks at no block. */
int hark_store_image_bytes(
    struct hark_store *s, uint32_t rank, uint64_t id, struct hark_store_bytes *bytes);

/* Reads to which job the store in `path` belongs, and how many processes that job has. It neither
 * opens nor makes a store. HARK_S_ENONE: no directory, or no store; HARK_S_EDAMAGED,
 * HARK_S_ESYSTEM. On failure error has the reason in one line. */
int hark_store_job(const char *path, char job[65], uint32_t *ranks, char error[256]);

/* ---- images written behind the program ------------------------------------------------------ */

/* Copies an image in memory, and writes the copy by a thread of its own, so that the program need
 * not wait for the disk. The memory of the copy, an eighth larger than the largest image so far, is
 * kept for the next one until close. */
struct hark_behind;

/* `store`: a handle that only this thread uses until hark_behind_close(); the caller closes it
 * afterwards. `done` is called by the thread, after each image. HARK_S_ESYSTEM: no memory; then
 * *b is NULL and error has the reason in one line. A thread runs
 * only while there is something to do. */
int hark_behind_open(struct hark_behind **b, struct hark_store *store, void (*done)(void *self),
    void *self, char error[256]);
/* Copies the sections of image `id` of `rank`, which may change when it returns, and begins to
 * write them. Waits for the image before, if that is still being written; its result is forgotten
 * then. HARK_S_ENOMEMORY, HARK_S_EINVAL: nothing is written. */
int hark_behind_write(struct hark_behind *b, uint32_t rank, uint64_t id,
    const struct hark_section *section, uint32_t count);
/* Waits until no image is being written. */
void hark_behind_wait(struct hark_behind *b);
/* Returns 1 once for each image that has been written, or could not be: *status is what the store
 * returned. Else 0. */
int hark_behind_written(struct hark_behind *b, uint64_t *id, int *status);
/* Returns why the last image that failed was not written, in one line. Not to be called while one
 * is being written. */
const char *hark_behind_error(const struct hark_behind *b);
/* Deletes image `id` of `rank` by the thread, before any image that is written later. False, and
 * nothing is done: no memory or no thread. */
bool hark_behind_drop(struct hark_behind *b, uint32_t rank, uint64_t id);
/* True once after an image could not be deleted: `line` says why. */
bool hark_behind_trouble(struct hark_behind *b, char line[256]);
/* Waits for an image that is being written, and for those that are to be deleted. b may be NULL. */
void hark_behind_close(struct hark_behind *b);

/* ---- the payload log ------------------------------------------------------------------------- */

/* The sender's log: payloads by name (peer, ctx, and ssn, which ascends on each channel), with a
 * limit of bytes in memory. Over the limit entries are written to files, and their memory is freed.
 * The files are never synced: the log need not survive its process. Every entry can be read at any
 * time, from memory or from its file. A log needs its owner's lock; separate logs may run on
 * separate threads. */
struct hark_log;

struct hark_log_config {
    uint64_t limit;       /* bytes in memory before it spills, at least 64 KiB; 0: no limit */
    const char *spill;    /* directory for spilled entries, made if its parent exists; NULL: do
                           * not spill */
    uint64_t spill_limit; /* bytes on disk; 0: no limit */
    uint64_t soft_limit;  /* for an owner who keeps a limit: near it, spare memory is given
                           * back; 0: none */
    uint32_t rank, inc;   /* part of the file names; files of rank's incarnations up to inc are
                           * removed */
    /* Where the log gets its large blocks (whole pages, zeroed), and where it gives them back,
     * except on close: for a log that other processes read in place. If lend is NULL or returns
     * NULL, the log uses private memory. */
    void *(*lend)(void *self, uint64_t bytes);
    void (*reclaim)(void *self, void *at, uint64_t bytes);
    void *self;
};

struct hark_log_figures {
    uint64_t entries; /* payloads in the log, in memory and spilled */
    uint64_t bytes;   /* of the entries: for each its length, rounded up to a
                       * multiple of 8 (of 64 in a block of longer ones), and 8; an
                       * entry with a block of its own counts as the whole block */
    uint64_t bytes_peak;
    uint64_t memory_bytes;   /* compared with `limit`: all blocks of memory, also half
                              * full and spare ones, and the index, which counts as half
                              * the limit at most */
    uint64_t index_bytes;    /* of these: the index of channels, blocks and files */
    uint64_t spilled_bytes;  /* in files */
    uint64_t spill_failures; /* files that could not be written */
};

#define HARK_LOG_ENTRY                                                                             \
    8u /* bytes that an entry takes in addition to its payload, before                             \
        * rounding */

enum hark_log_status {
    HARK_L_OK = 0,
    HARK_L_ENONE = -41,   /* no such entry */
    HARK_L_EFULL = -42,   /* over the limit and cannot spill: a receiver must checkpoint first; see
                           * hark_log_error */
    HARK_L_ESYSTEM = -43, /* reading a spill file failed; hark_log_error says how */
    HARK_L_EINVAL = -44,  /* ssn is not above the channel's last one, or the lengths overflow */
    HARK_L_EMEMORY = -45
};

struct hark_log_part {
    const void *at;
    uint64_t length;
};

/* Makes a log; the config need not outlive the call. HARK_L_ESYSTEM (the spill directory),
 * HARK_L_EMEMORY. On failure *log is NULL and error has the reason in one line. */
int hark_log_open(struct hark_log **log, const struct hark_log_config *config, char error[256]);
/* Adds a copy of the payload (the concatenation of `count` parts) under (peer, ctx, ssn). On a
 * channel ssn ascends from 1; gaps are allowed. On failure nothing is added; after HARK_L_EFULL the
 * same call succeeds once there is room again. HARK_L_EINVAL, HARK_L_EFULL, HARK_L_EMEMORY. */
int hark_log_retain(struct hark_log *log, uint32_t peer, uint16_t ctx, uint64_t ssn,
    const struct hark_log_part *part, uint32_t count);
/* As hark_log_retain, for a payload and eight bytes behind it: `number`, as it lies in memory. */
int hark_log_add(struct hark_log *log, uint32_t peer, uint16_t ctx, uint64_t ssn,
    const void *payload, uint64_t length, uint64_t number);
/* As hark_log_retain, without copying: *at is room for `length` bytes, which the caller fills
 * before any call on this log reads the entry. The entry stays at that address until it is trimmed.
 * Only for a log that does not spill. */
int hark_log_reserve(
    struct hark_log *log, uint32_t peer, uint16_t ctx, uint64_t ssn, uint64_t length, void **at);
/* Finds an entry; *at is valid until the next call on this log. A spilled entry is read into a
 * buffer of the log, which does not count against the limit. HARK_L_ENONE, HARK_L_ESYSTEM. */
int hark_log_get(struct hark_log *log, uint32_t peer, uint16_t ctx, uint64_t ssn, const void **at,
    uint64_t *length);
/* Deletes all entries of the channel up to ssn, and frees their memory and files that become
 * empty. */
void hark_log_trim(struct hark_log *log, uint32_t peer, uint16_t ctx, uint64_t ssn);
/* Finds the channel with the most bytes in the log: a checkpoint of its peer frees them. Returns 0
 * if the log is empty, else 1. */
int hark_log_heaviest(const struct hark_log *log, uint32_t *peer, uint64_t *bytes);
void hark_log_figures(const struct hark_log *log, struct hark_log_figures *figures);
/* Returns only the figure `bytes`. */
uint64_t hark_log_bytes(const struct hark_log *log);
/* Returns the figure `bytes` plus the bytes wasted at the ends of blocks, which only trimming
 * frees. For an owner who keeps a limit. */
uint64_t hark_log_used(const struct hark_log *log);
/* Returns the last failure in one line, or "". Valid until the next call on this log. */
const char *hark_log_error(const struct hark_log *log);
/* Frees all memory and removes all files of the log, but not their directory. log may be NULL. */
void hark_log_close(struct hark_log *log);

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
