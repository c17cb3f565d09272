/* blocks.h: the memory of the payload log. Internal to src/store.
 *
 * Blocks come in sizes 4, 5, 6, 7, 8, 10, 12, 14, 16, 20 ... KiB. A freed one is kept as a spare
 * and given out again, last in first out, so that a log which is trimmed stays in the cache and
 * takes no page faults. */
#ifndef HARK_STORE_BLOCKS_H
#define HARK_STORE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#define HARK_BLOCK_MIN ((uint64_t)4096)
#define HARK_BLOCK_SPARE                                                                           \
    ((uint64_t)256 << 20) /* bytes of spares kept at most, or as many as there are others */
#define HARK_BLOCK_CLASSES 140

struct hark_arena { /* memory from lend() */
    uint8_t *at;
    uint64_t size, out; /* bytes of it in blocks, spares included */
};

struct hark_blocks { /* all zero: empty */
    /* Where large blocks come from; NULL, or without success: from the system. */
    void *(*lend)(void *self, uint64_t bytes);
    void (*reclaim)(void *self, void *at, uint64_t bytes);
    void *self;
    struct hark_arena *lent;
    uint32_t lent_count, lent_room;
    bool private;  /* lend() has failed: no more of it */
    bool closing;  /* what was lent goes back with its lender: others may still read it */
    uint64_t held; /* bytes, spares included */
    uint64_t spare;
    uint64_t pages; /* 1: ask for huge pages, which may hold up to 2 MiB more than `held` says */
    uint64_t arena_most; /* bytes of an arena; 0: as seems best */
    uint8_t *arena;      /* mapped, and not yet given to any block; of the last one lent, if that is
                            where it lies */
    uint64_t arena_left;
    void *free[HARK_BLOCK_CLASSES]; /* each spare's first word points to the next */
};

/* The size of the block that is given for `bytes`; 0 if there is none so large. */
uint64_t hark_block_size(uint64_t bytes);
/* A spare of about `size` (less than twice that), or else a smaller one, but at least of `least`;
 * or NULL. Both are from hark_block_size. *room is its size. */
void *hark_block_reuse(struct hark_blocks *b, uint64_t size, uint64_t least, uint64_t *room);
/* A new block of `size`, whose first `soon` bytes are about to be written, or NULL. */
void *hark_block_new(struct hark_blocks *b, uint64_t size, uint64_t soon);
void hark_block_free(struct hark_blocks *b, void *block, uint64_t size);
/* Bytes of memory that are in use: held, and what was lent and is in no block yet. */
uint64_t hark_block_memory(const struct hark_blocks *b);
/* Gives the largest spare back to the system; false if there is none. */
bool hark_block_shrink(struct hark_blocks *b);
/* Gives all spares back. */
void hark_block_close(struct hark_blocks *b);

#endif
