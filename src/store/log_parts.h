/* log_parts.h: what log.c and spill.c share. Internal to src/store.
 *
 * A channel is a row of segments, each a run of entries in ascending order of ssn. A segment is one
 * block of memory: payloads grow from its start (each at a multiple of 8, or of a cache line where
 * they are not small), slots that name them grow from its end. An entry that is large has a segment
 * to itself and needs no slot. Spilled, a segment is a file: the payloads, then the slots; only
 * struct log_segment stays in memory. */
#ifndef HARK_STORE_LOG_PARTS_H
#define HARK_STORE_LOG_PARTS_H

#include "blocks.h"
#include "hark/store.h"

struct log_slot {
    uint32_t step; /* ssn - first of the segment */
    uint32_t end;  /* of the payload, from the start of the block; it begins where the one before
                      ends, rounded up */
};

struct log_channel;

struct log_segment {
    uint8_t *block; /* NULL: in a file only */
    uint64_t room;  /* bytes of the block */
    uint64_t used;  /* by payloads, a multiple of grain if not alone */
    uint64_t first; /* ssn */
    uint64_t last;  /* ssn */
    uint64_t bytes; /* that the entries which are not trimmed take, with slots and gaps; alone: the
                       block */
    uint64_t waste; /* of the block, if it takes no more entries */
    uint32_t grain; /* where entries start: at multiples of this */
    uint32_t count; /* entries ever put here */
    uint32_t trimmed; /* of them, from the beginning */
    bool alone;       /* one large entry, no slots */
    uint64_t file;    /* bytes of the file, if there is one */
    uint64_t digest;  /* of the file */
    struct log_channel *channel;
    struct log_segment *older, *newer; /* among those in memory; `newer` also links unused ones */
};

struct log_channel {
    uint64_t key;             /* ctx, peer */
    uint64_t last;            /* highest ssn ever retained */
    struct log_segment *open; /* takes the next entry if it fits, or NULL */
    uint64_t bytes;           /* as of its segments */
    uint64_t trimmed;         /* up to this ssn nothing is left */
    struct log_segment **row; /* row[head .. head+count-1], ascending */
    uint32_t head, count, room;
};

struct hark_log {
    struct log_channel *recent; /* of the last call */
    uint64_t entries, bytes, peak;
    uint64_t waste; /* of all segments */
    struct hark_blocks blocks;
    struct log_channel **table; /* open addressing, a power of two, at most half full */
    uint32_t channels, table_room;
    uint64_t limit;                      /* of blocks.held and index; 0: none */
    uint64_t soft_limit;                 /* the owner keeps it: spare blocks above it go back */
    uint64_t index;                      /* bytes of channels, rows and segments */
    uint64_t parts;                      /* a block is one of so many of what its channel holds */
    uint64_t chunk;                      /* the largest block for many entries */
    struct log_segment *oldest, *newest; /* in memory, in order of their making */
    struct log_segment *unused;
    /* spill.c */
    int dir; /* -1: do not spill */
    char *path;
    uint32_t rank, inc;
    uint64_t spilled, spill_limit, failures;
    struct log_segment *loaded; /* the one whose file is in `buffer` */
    uint8_t *buffer;
    uint64_t buffer_room;
    char error[256];
};

static inline uint64_t log_round(uint64_t bytes, uint32_t grain)
{
    return (bytes + grain - 1) & ~(uint64_t)(grain - 1);
}

/* ---- spill.c --------------------------------------------------------------------------------- */

/* Opens (and makes) the directory and removes what earlier incarnations of this rank left. */
int hark_spill_open(struct hark_log *log, const char *path, char error[256]);
/* Writes the segment from its block; the block is untouched. HARK_L_OK, HARK_L_EFULL. */
int hark_spill_segment(struct hark_log *log, struct log_segment *g);
/* Writes the only entry of a segment from where the caller has it. As above. */
int hark_spill_parts(
    struct hark_log *log, struct log_segment *g, const struct hark_log_part *part, uint32_t count);
/* Puts the file into log->buffer. HARK_L_OK, HARK_L_ESYSTEM. */
int hark_spill_load(struct hark_log *log, struct log_segment *g);
/* Removes the file. */
void hark_spill_drop(struct hark_log *log, struct log_segment *g);
void hark_spill_close(struct hark_log *log);

#endif
