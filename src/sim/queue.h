/* queue.h: what is to happen, by time: a radix heap. Time never goes back, so an event stands in
 * the bucket of the highest bit in which its time differs from the present; each moves down at most
 * as often as there are bits. Events of one time come out in the order in which they went in. */
#ifndef HARK_SIM_QUEUE_H
#define HARK_SIM_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

struct sim_event {
    uint64_t time; /* ns */
    uint64_t what; /* sim_parts.h */
};

struct sim_queue {
    struct sim_event *at[65];
    uint64_t count[65], room[65];
    uint64_t head;  /* of bucket 0: those before it are gone */
    uint64_t now;   /* time of the last event taken */
    uint64_t total; /* events in it */
    uint64_t most;  /* there were at once */
};

bool sim_queue_more(struct sim_queue *q, unsigned bucket); /* for sim_queue_put */
/* Bucket 0 is empty: fills it with the next. False: there are none at all, or (then total is not 0)
 * no memory. */
bool sim_queue_turn(struct sim_queue *q);
void sim_queue_free(struct sim_queue *q);

/* `time` is not before now. False without memory. */
static inline bool sim_queue_put(struct sim_queue *q, uint64_t time, uint64_t what)
{
    unsigned b = time == q->now ? 0 : 64 - (unsigned)__builtin_clzll(time ^ q->now);
    if (q->count[b] == q->room[b] && !sim_queue_more(q, b)) return false;
    q->at[b][q->count[b]++] = (struct sim_event){time, what};
    if (++q->total > q->most) q->most = q->total;
    return true;
}

static inline bool sim_queue_take(struct sim_queue *q, struct sim_event *e)
{
    if (q->head == q->count[0] && !sim_queue_turn(q)) return false;
    *e = q->at[0][q->head++];
    q->total--;
    return true;
}

#endif
