#include "queue.h"

#include <stdlib.h>
#include <string.h>

bool sim_queue_more(struct sim_queue *q, unsigned b)
{
    if (b == 0 && q->head > q->count[0] / 2) { /* the taken half goes instead */
        memmove(q->at[0], q->at[0] + q->head, (q->count[0] - q->head) * sizeof *q->at[0]);
        q->count[0] -= q->head;
        q->head = 0;
        return true;
    }
    uint64_t room = q->room[b] ? q->room[b] * 2 : 64;
    struct sim_event *at = realloc(q->at[b], room * sizeof *at);
    if (at == NULL) return false;
    q->at[b] = at;
    q->room[b] = room;
    return true;
}

bool sim_queue_turn(struct sim_queue *q)
{
    unsigned b = 1;
    q->head = q->count[0] = 0;
    if (q->total == 0) return false;
    while (q->count[b] == 0) b++;
    const struct sim_event *e = q->at[b];
    uint64_t n = q->count[b], least = e[0].time;
    for (uint64_t i = 1; i < n; i++)
        if (e[i].time < least) least = e[i].time;
    q->now = least;
    for (uint64_t i = 0; i < n; i++) {
        unsigned to = e[i].time == least ? 0 : 64 - (unsigned)__builtin_clzll(e[i].time ^ least);
        if (q->count[to] == q->room[to] && !sim_queue_more(q, to)) return false;
        q->at[to][q->count[to]++] = e[i];
    }
    q->count[b] = 0;
    return true;
}

void sim_queue_free(struct sim_queue *q)
{
    for (unsigned b = 0; b < 65; b++) free(q->at[b]);
    memset(q, 0, sizeof *q);
}
