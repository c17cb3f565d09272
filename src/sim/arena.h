/* arena.h: memory of many sizes that comes and goes, without malloc for each: classes of sizes,
 * each with a list of what is free. Nothing is given back to the system before the end. */
#ifndef HARK_SIM_ARENA_H
#define HARK_SIM_ARENA_H

#include <stddef.h>
#include <stdint.h>

enum { SIM_CLASSES = 160 };

struct sim_arena {
    void *free[SIM_CLASSES]; /* each begins with a pointer to the next */
    uint8_t *at, *end;       /* what is left of the newest piece */
    void *pieces;            /* of memory, each begins with a pointer to the one before */
    uint64_t bytes;          /* taken from the system */
};

/* At least *bytes bytes, 16-aligned (64, if it is a multiple of that), not zeroed; *bytes becomes
 * how many there are. NULL without memory. */
void *sim_arena_take(struct sim_arena *a, uint64_t *bytes);
/* Exactly so many, 64-aligned, which are not to be given back. NULL without memory. */
void *sim_arena_keep(struct sim_arena *a, uint64_t bytes);
/* Gives back what was asked for with `bytes` (or what that had become). NULL does nothing. */
void sim_arena_give(struct sim_arena *a, void *at, uint64_t bytes);
void sim_arena_free(struct sim_arena *a);

#endif
