#include "queue.h"

#include <stdlib.h>
#include <string.h>

enum { SLAB = 64 /* blocks */ };

struct slab {
    struct slab *before;
    struct sim_block block[SLAB];
};

static bool more_blocks(struct sim_queue *q)
{
    struct slab *slab = malloc(sizeof *slab);
    if (slab == NULL) return false;
    slab->before = q->slabs;
    q->slabs = slab;
    for (unsigned i = SLAB; i-- > 0;) {
        slab->block[i].next = q->free;
        q->free = &slab->block[i];
    }
    return true;
}

bool sim_queue_more(struct sim_queue *q, unsigned level, unsigned digit, struct sim_event e)
{
    struct sim_bucket *b = &q->bucket[level][digit];
    if (q->free == NULL && !more_blocks(q)) return false;
    struct sim_block *block = q->free;
    q->free = block->next;
    block->next = NULL;
    block->event[0] = e;
    block->count = 1;
    if (b->last) {
        b->last->next = block;
        b->mixed |= e.time != b->least;
        if (e.time < b->least) b->least = e.time;
    } else {
        b->first = block;
        b->least = e.time;
        b->mixed = false;
        q->used[level] |= UINT64_C(1) << digit;
    }
    b->last = block;
    return true;
}

static struct sim_bucket *present(struct sim_queue *q)
{
    return &q->bucket[0][q->now & (SIM_DIGITS - 1)];
}

/* The block has been gone through; the next one, if any. */
static struct sim_block *done(struct sim_queue *q, struct sim_block *block)
{
    struct sim_block *next = block->next;
    block->next = q->free;
    q->free = block;
    return next;
}

/* The bucket is the next one, and nothing is at lower levels: its events go down, those of its
 * least time to level 0. */
static bool spread(struct sim_queue *q, struct sim_bucket *from)
{
    const struct sim_bucket b = *from;
    from->first = from->last = NULL;
    q->now = b.least;
    if (!b.mixed) {
        *present(q) = b;
        q->used[0] |= UINT64_C(1) << (q->now & (SIM_DIGITS - 1));
        return true;
    }
    for (struct sim_block *block = b.first; block; block = done(q, block))
        for (uint64_t i = 0; i < block->count; i++)
            if (!sim_queue_place(q, block->event[i])) return false;
    return true;
}

static bool next_bucket(struct sim_queue *q)
{
    unsigned level = 0;
    while (q->used[level] == 0) level++;
    const unsigned digit = (unsigned)__builtin_ctzll(q->used[level]);
    struct sim_bucket *b = &q->bucket[level][digit];
    q->now = b->least;
    if (level == 0) return true;
    q->used[level] &= ~(UINT64_C(1) << digit);
    return spread(q, b);
}

bool sim_queue_turn(struct sim_queue *q)
{
    struct sim_bucket *b = present(q);
    if (q->at) b->first = done(q, q->at);
    q->at = b->first; /* also what came when there was nothing left */
    q->head = 0;
    if (q->at) return true;
    b->last = NULL;
    q->used[0] &= ~(UINT64_C(1) << (q->now & (SIM_DIGITS - 1)));
    if (q->total == 0 || !next_bucket(q)) return false;
    q->at = present(q)->first;
    return true;
}

void sim_queue_free(struct sim_queue *q)
{
    for (struct slab *s = q->slabs, *before; s; s = before) {
        before = s->before;
        free(s);
    }
    memset(q, 0, sizeof *q);
}
