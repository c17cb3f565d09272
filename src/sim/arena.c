#include "arena.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { SMALLEST = 64, HUGE = 2 << 20, PIECE = 8 << 20, HEAD = 64 };

/* Four classes to each doubling: 64, 80, 96, 112, 128, 160 ... *bytes is rounded up to its class.
 */
static unsigned class_of(uint64_t *bytes)
{
    if (*bytes <= SMALLEST) {
        *bytes = SMALLEST;
        return 0;
    }
    unsigned top = 63 - (unsigned)__builtin_clzll(*bytes - 1);
    uint64_t step = UINT64_C(1) << (top - 2), whole = (*bytes + step - 1) & ~(step - 1);
    *bytes = whole;
    top = 63 - (unsigned)__builtin_clzll(whole - 1);
    return (top - 6) * 4 + (unsigned)((whole - (UINT64_C(1) << top)) >> (top - 2));
}

static void *piece(struct sim_arena *a, uint64_t bytes)
{
    uint64_t whole = (bytes + HEAD + HUGE - 1) / HUGE * HUGE;
    void **p = aligned_alloc(HUGE, whole);
    if (p == NULL) return NULL;
    (void)madvise(p, whole, MADV_HUGEPAGE); /* who can not have them goes on without */
    p[0] = a->pieces;
    a->pieces = p;
    a->bytes += whole;
    return (uint8_t *)p + HEAD;
}

void *sim_arena_keep(struct sim_arena *a, uint64_t bytes)
{
    return piece(a, bytes);
}

void *sim_arena_take(struct sim_arena *a, uint64_t *bytes)
{
    unsigned class = class_of(bytes);
    if (class >= SIM_CLASSES) return NULL;
    void **found = a->free[class];
    if (found) {
        a->free[class] = *found;
        return found;
    }
    if (*bytes > PIECE / 8) return piece(a, *bytes); /* and what it is rounded up by stays unused */
    if ((uint64_t)(a->end - a->at) < *bytes) { /* what is left of the old piece is lost: less than
                                                  an eighth */
        a->at = piece(a, PIECE - HEAD);
        a->end = a->at ? a->at + PIECE - HEAD : NULL;
        if (a->at == NULL) return NULL;
    }
    uint8_t *at = a->at;
    a->at += *bytes;
    return at;
}

void sim_arena_give(struct sim_arena *a, void *at, uint64_t bytes)
{
    if (at == NULL) return;
    unsigned class = class_of(&bytes);
    *(void **)at = a->free[class];
    a->free[class] = at;
}

void sim_arena_free(struct sim_arena *a)
{
    for (void **p = a->pieces, **next; p; p = next) {
        next = *p;
        free(p);
    }
    *a = (struct sim_arena){0};
}
