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
HARK_NAMESAKES_BEGIN

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
     * failure or a crash in the middle, the earlier state of the store is untouched; only where the very last sync
     * failed may the new image be there already, whole. Replaces an image of the same id. The bytes are not copied:
     * they must stay as they are until it returns. HARK_S_ESYSTEM, HARK_S_EINVAL. */
    int (*write)(struct hark_store *s, uint32_t rank, uint64_t id, const struct hark_section *section, uint32_t count);
    /* Reads and verifies. *section and the bytes it points to (each section 8-aligned) stay valid until
     * release(*handle). HARK_S_ENONE, HARK_S_EDAMAGED, HARK_S_ESYSTEM, HARK_S_EINVAL; then nothing is to release. */
    int (*read)(struct hark_store *s, uint32_t rank, uint64_t id, const struct hark_section **section,
        uint32_t *count, void **handle);
    void (*release)(struct hark_store *s, void *handle);
    /* Verifies without keeping: as read(). */
    int (*verify)(struct hark_store *s, uint32_t rank, uint64_t id);
    /* Forgets image `id` of `rank`; a missing one is fine. After a power failure it may be back, whole.
     * HARK_S_ESYSTEM, HARK_S_EINVAL. */
    int (*drop)(struct hark_store *s, uint32_t rank, uint64_t id);
    /* The ids of the images of `rank`, ascending, of more than `room` the lowest; returns how many there are, or
     * HARK_S_ESYSTEM, HARK_S_EINVAL. */
    int (*list)(struct hark_store *s, uint32_t rank, uint64_t *id, uint32_t room);
    void (*close)(struct hark_store *s);
};

/* Opens (and makes; its parent must be there) a directory store of job `job` (1 .. 64 printable bytes without '/'),
 * for `ranks` processes, any number of which may have it open at once. Removes what crashed writers left. A
 * directory that belongs to another job or another number of processes, or holds files and is no store, is
 * HARK_S_EINVAL. On failure *s is NULL and error says why in one line. `fresh`: the store must be new or without
 * images; else HARK_S_EINVAL. Also HARK_S_EDAMAGED (the job file), HARK_S_ESYSTEM. The caller closes it by
 * ops->close. One handle, one thread. */
int hark_store_open_directory(struct hark_store **s, const char *path, const char *job, uint32_t ranks,
    bool fresh, char error[256]);

/* Whose store is in `path`: the name of its job, and how many processes that has. Opens nothing, makes nothing. HARK_S_ENONE: there
 * is no directory, or it is no store; HARK_S_EDAMAGED, HARK_S_ESYSTEM. On failure error says why in one line. */
int hark_store_job(const char *path, char job[65], uint32_t *ranks, char error[256]);

/* ---- the payload log ---------------------------------------------------------------------------- */

/* The sender's log: payloads by name (peer, ctx, ssn of a channel, ascending), with a byte limit; over
 * it, entries spill to files and memory is freed once they are written (never fsynced: the log is
 * volatile by design). Every entry is readable at any time from memory or from its file. One log needs its owner's
 * lock; separate logs may run on separate threads. */
struct hark_log;

struct hark_log_config {
    uint64_t limit;            /* bytes in memory before it spills; less than 64 KiB counts as that; 0: no limit */
    const char *spill;         /* directory for spilled segments, made if its parent is there; NULL: do not spill */
    uint64_t spill_limit;      /* bytes on disk; 0: no limit */
    uint64_t soft_limit;       /* for a log whose owner keeps a limit: near it, memory that is spare goes back; 0: none */
    uint32_t rank, inc;        /* in the names of the files: those of rank's incarnations up to inc are removed */
    /* Where its large blocks come from (whole pages, zero), and go back to, except when it is closed: for a log that others
     * are to read in place. NULL, or NULL answered: private memory. */
    void *(*lend)(void *self, uint64_t bytes);
    void (*reclaim)(void *self, void *at, uint64_t bytes);
    void *self;
};

struct hark_log_figures {
    uint64_t entries;                  /* payloads now, in memory and spilled */
    uint64_t bytes;                    /* that they take: each its length, rounded up to a multiple of 8 (in a block of
                                        * longer ones of 64), and 8; one that has a block for itself the whole block */
    uint64_t bytes_peak;
    uint64_t memory_bytes;             /* what `limit` limits: blocks of memory, also half full and spare ones, and the
                                        * index, of which no more than half the limit is counted against it */
    uint64_t index_bytes;              /* of these: what names channels, blocks and files */
    uint64_t spilled_bytes;            /* of files now */
    uint64_t spill_failures;           /* files that could not be written */
};

#define HARK_LOG_ENTRY 8u /* bytes that an entry takes beside its payload, but for rounding */

enum hark_log_status {
    HARK_L_OK = 0,
    HARK_L_ENONE = -41,    /* no such entry */
    HARK_L_EFULL = -42,    /* over the limit and no way to spill: somebody must checkpoint first; hark_log_error */
    HARK_L_ESYSTEM = -43,  /* reading a spill file failed; hark_log_error says how */
    HARK_L_EINVAL = -44,   /* ssn not above the channel's last one, or the lengths overflow */
    HARK_L_EMEMORY = -45
};

struct hark_log_part {
    const void *at;
    uint64_t length;
};

/* The config is not needed afterwards. On failure *log is NULL and error says why in one line: HARK_L_ESYSTEM
 * (the spill directory), HARK_L_EMEMORY. */
int hark_log_open(struct hark_log **log, const struct hark_log_config *config, char error[256]);
/* Copies the payload (the concatenation of `count` parts) under (peer, ctx, ssn). On a channel ssn only
 * ascends, from 1; gaps are allowed. On failure nothing is kept, and after HARK_L_EFULL the same call succeeds as
 * soon as there is room again. HARK_L_EINVAL, HARK_L_EFULL, HARK_L_EMEMORY. */
int hark_log_retain(struct hark_log *log, uint32_t peer, uint16_t ctx, uint64_t ssn,
    const struct hark_log_part *part, uint32_t count);
/* The same without the bytes: room for `length` of them at *at, which the caller fills before its next call on this log
 * that reads the entry. It stays where it is until it is trimmed. Only for a log that does not spill. */
int hark_log_reserve(struct hark_log *log, uint32_t peer, uint16_t ctx, uint64_t ssn, uint64_t length, void **at);
/* *at is valid until the next call on this log. An entry on disk is read into a buffer of the log, outside of the
 * limit. HARK_L_ENONE, HARK_L_ESYSTEM. */
int hark_log_get(struct hark_log *log, uint32_t peer, uint16_t ctx, uint64_t ssn, const void **at, uint64_t *length);
/* Forgets all entries of the channel up to ssn; memory and whole files go with them. */
void hark_log_trim(struct hark_log *log, uint32_t peer, uint16_t ctx, uint64_t ssn);
/* The channel that pins most bytes: its peer should checkpoint. Returns 0 if no channel has any, else 1. */
int hark_log_heaviest(const struct hark_log *log, uint32_t *peer, uint64_t *bytes);
void hark_log_figures(const struct hark_log *log, struct hark_log_figures *figures);
/* Of these, `bytes` alone. */
uint64_t hark_log_bytes(const struct hark_log *log);
/* The same, and what is wasted at the ends of blocks: memory that cannot go back before something is trimmed. For an
 * owner who keeps a limit. */
uint64_t hark_log_used(const struct hark_log *log);
/* The last failure in one line, or "". Valid until the next call on this log. */
const char *hark_log_error(const struct hark_log *log);
/* Frees all memory and removes all files of the log, not their directory. NULL is fine. */
void hark_log_close(struct hark_log *log);

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
