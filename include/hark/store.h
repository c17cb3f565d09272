/* store.h: where checkpoint images live, and the payload log.
 *
 * A store keeps named images. An image is written beside, fsynced, renamed, its directory fsynced,
 * and carries a checksum over every byte, a version and the identity of job, process and checkpoint;
 * what read() gives back has been verified. Interface here, the directory store in src/store/.
 */
#ifndef HARK_STORE_H
#define HARK_STORE_H

#include "hark.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hark_store_status {
    HARK_S_OK = 0,
    HARK_S_ENONE = -31,    /* there is no such image */
    HARK_S_EDAMAGED = -32, /* checksum, length, version or identity do not fit: error says which */
    HARK_S_ESYSTEM = -33,  /* the system refused (no space, read-only, gone): error says what and where */
    HARK_S_EINVAL = -34
};

/* An image is a sequence of sections, each a tag and bytes; what the tags mean is the writer's. */
struct hark_section {
    uint32_t tag;
    uint32_t pad;
    uint64_t id;     /* for the writer's use, stored beside the tag */
    const void *at;
    uint64_t length;
};

struct hark_store { /* head of every store's own struct */
    const struct hark_store_ops *ops;
    char error[256]; /* the last failure in one line: what, where, why */
};

struct hark_store_ops {
    const char *name;
    /* Durable when it returns HARK_S_OK: image `id` (>= 1) of `rank` holds these sections. Until then, and after a
     * failure or a crash in the middle, the earlier state of the store is untouched. Replaces an image
     * of the same id. HARK_S_ESYSTEM, HARK_S_EINVAL. */
    int (*write)(struct hark_store *s, uint32_t rank, uint64_t id, const struct hark_section *section, uint32_t count);
    /* Reads and verifies. *section and the bytes it points to stay valid until release(*handle).
     * HARK_S_ENONE, HARK_S_EDAMAGED, HARK_S_ESYSTEM. */
    int (*read)(struct hark_store *s, uint32_t rank, uint64_t id, const struct hark_section **section,
        uint32_t *count, void **handle);
    void (*release)(struct hark_store *s, void *handle);
    /* Verifies without keeping: as read(). */
    int (*verify)(struct hark_store *s, uint32_t rank, uint64_t id);
    /* Forgets image `id` of `rank`; a missing one is fine. HARK_S_ESYSTEM. */
    int (*drop)(struct hark_store *s, uint32_t rank, uint64_t id);
    /* The ids of the images of `rank`, ascending, at most `room`; returns how many there are. */
    int (*list)(struct hark_store *s, uint32_t rank, uint64_t *id, uint32_t room);
    void (*close)(struct hark_store *s);
};

/* Opens (and makes, with its parents' last component) a directory store of job `job` (1 .. 64 printable bytes
 * without '/'), for `ranks` processes. A directory that belongs to another job or another number of
 * processes is HARK_S_EINVAL. On failure *s is NULL and error says why in one line. `fresh`: the store must
 * be new or empty; else HARK_S_EINVAL. */
int hark_store_open_directory(struct hark_store **s, const char *path, const char *job, uint32_t ranks,
    bool fresh, char error[256]);

/* ---- the payload log ---------------------------------------------------------------------------- */

/* The sender's log: payloads by name (peer, ctx, ssn of a channel, ascending), with a byte limit; over
 * it, entries spill to files and memory is freed once they are written (never fsynced: the log is
 * volatile by design). Every entry is readable at any time from memory or from its file. */
struct hark_log;

struct hark_log_config {
    uint64_t limit;            /* bytes in memory before it spills; 0: no limit */
    const char *spill;         /* directory for spilled segments; NULL: do not spill */
    uint64_t spill_limit;      /* bytes on disk; 0: no limit */
    uint32_t rank, inc;        /* in the names of the files: those of an older incarnation are removed */
};

struct hark_log_figures {
    uint64_t entries, bytes;           /* now, in memory and spilled */
    uint64_t bytes_peak;
    uint64_t memory_bytes, spilled_bytes;
    uint64_t spill_failures;
};

enum hark_log_status {
    HARK_L_OK = 0,
    HARK_L_ENONE = -41,    /* no such entry */
    HARK_L_EFULL = -42,    /* over the limit and no way to spill: somebody must checkpoint first */
    HARK_L_ESYSTEM = -43,  /* reading or writing a spill file failed; hark_log_error says how */
    HARK_L_EINVAL = -44,   /* ssn not above the channel's last one */
    HARK_L_EMEMORY = -45
};

int hark_log_open(struct hark_log **log, const struct hark_log_config *config, char error[256]);
/* Copies the payload (the concatenation of `count` parts) under (peer, ctx, ssn). On a channel ssn only
 * ascends; gaps are allowed. On failure nothing is kept. */
struct hark_log_part {
    const void *at;
    uint64_t length;
};
int hark_log_retain(struct hark_log *log, uint32_t peer, uint16_t ctx, uint64_t ssn,
    const struct hark_log_part *part, uint32_t count);
/* *at is valid until the next call on this log. An entry on disk is read into a buffer of the log. */
int hark_log_get(struct hark_log *log, uint32_t peer, uint16_t ctx, uint64_t ssn, const void **at, uint64_t *length);
/* Forgets all entries of the channel up to ssn; memory and whole files go with them. */
void hark_log_trim(struct hark_log *log, uint32_t peer, uint16_t ctx, uint64_t ssn);
/* The channel that pins most bytes: its peer should checkpoint. Returns 0 if the log is empty. */
int hark_log_heaviest(const struct hark_log *log, uint32_t *peer, uint64_t *bytes);
void hark_log_figures(const struct hark_log *log, struct hark_log_figures *figures);
const char *hark_log_error(const struct hark_log *log);
void hark_log_close(struct hark_log *log);

#ifdef __cplusplus
}
#endif
#endif
