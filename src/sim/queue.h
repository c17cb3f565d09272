/* queue.h: what is to happen, by time: a radix heap with digits of 6 bits. Time never goes back, so
 * an event stands at the level of the highest digit in which its time differs from the present, in
 * the bucket of that digit; whenever its bucket is the next, it goes down to the level of a lower
 * digit. Events of one time come out in the order in which they went in. */
#ifndef HARK_SIM_QUEUE_H
#define HARK_SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_DIGIT = 6, SIM_DIGITS = 1 << SIM_DIGIT, SIM_LEVELS = 11, SIM_BLOCK = 63 };

struct sim_event {
    uint64_t time; /* ns */
    uint64_t what; /* sim_parts.h */
};

struct sim_block { /* of the events of a bucket: a KiB, so that all buckets share the memory */
    struct sim_block *next;
    uint64_t count;
    struct sim_event event[SIM_BLOCK];
};

struct sim_bucket {
    struct sim_block *first, *last; /* oldest first; NULL: there are none */
    uint64_t least;                 /* time of its events */
    bool mixed;                     /* not all are of that time */
};

struct sim_queue {
    uint64_t now;         /* time of the last event taken */
    struct sim_block *at; /* the present block, which is of level 0; NULL: none */
    uint64_t head;        /* in it: those before it are gone */
    uint64_t total;       /* events in it */
    uint64_t most;        /* there were at once */
    struct sim_block *free;
    void *slabs;               /* of blocks, each begins with a pointer to the one before */
    uint64_t used[SIM_LEVELS]; /* buckets that are not empty, a bit each */
    struct sim_bucket bucket[SIM_LEVELS][SIM_DIGITS]; /* of level 0: all of one time */
};

/* In a block more of the bucket: for sim_queue_place(). */
bool sim_queue_more(struct sim_queue *q, unsigned level, unsigned digit, struct sim_event e);
/* The present block is done: goes to the next. False: there are no events at all, or (then total is
 * not 0) no memory. */
bool sim_queue_turn(struct sim_queue *q);
void sim_queue_free(struct sim_queue *q);

static inline bool sim_queue_place(struct sim_queue *q, struct sim_event e)
{
    const unsigned level = (63 - (unsigned)__builtin_clzll((e.time ^ q->now) | 1)) / SIM_DIGIT,
                   digit = e.time >> level * SIM_DIGIT & (SIM_DIGITS - 1);
    struct sim_bucket *b = &q->bucket[level][digit];
    struct sim_block *last = b->last;
    if (last == NULL || last->count == SIM_BLOCK) return sim_queue_more(q, level, digit, e);
    last->event[last->count++] = e;
    if (e.time == b->least) return true;
    b->mixed = true;
    if (e.time < b->least) b->least = e.time;
    return true;
}

/* `time` is not before now. False without memory. */
static inline bool sim_queue_put(struct sim_queue *q, uint64_t time, uint64_t what)
{
    if (++q->total > q->most) q->most = q->total;
    return sim_queue_place(q, (struct sim_event){time, what});
}

static inline bool sim_queue_take(struct sim_queue *q, struct sim_event *e)
{
    if ((q->at == NULL || q->head == q->at->count) && !sim_queue_turn(q)) return false;
    *e = q->at->event[q->head++];
    q->total--;
    return true;
}

/* The event so many behind the next one, or NULL: it is of a later time. */
static inline const struct sim_event *sim_queue_ahead(const struct sim_queue *q, uint64_t n)
{
    const struct sim_block *b = q->at;
    uint64_t at = q->head + n;
    if (at >= SIM_BLOCK) {
        b = b->next;
        at -= SIM_BLOCK;
    }
    return b && at < b->count ? &b->event[at] : NULL;
}

#endif
