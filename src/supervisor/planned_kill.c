/* planned_kill.c: kills that were asked for, by --kill and --chaos. */
#include "internal.h"

#include <signal.h>

#define WATCH_MS 1

uint64_t hark_sup_next_kill(const struct child *c)
{
    const struct hark_run_options *o = c->s->o;
    uint64_t done = hark_sup_progress(c), next = 0;
    for (uint32_t i = 0; i < o->kills; i++)
        if (o->kill[i].rank == c->rank && o->kill[i].at > done &&
            (next == 0 || o->kill[i].at < next))
            next = o->kill[i].at;
    return next;
}

/* ---- of the recovery process: it counts frames, nobody else does ----------------------------- */

static void kill_if_due(uv_timer_t *timer)
{
    struct supervisor *s = timer->data;
    struct child *c = &s->child[s->o->ranks];
    uint64_t got = hark_sup_progress(c);
    if (s->phase != RUNNING || !c->runs || c->dead) return;
    for (uint32_t i = 0; i < s->o->kills; i++) {
        const struct hark_kill *k = &s->o->kill[i];
        if (k->rank != HARK_RECOVERY || k->at > got || k->at <= c->began) continue;
        hark_sup_signal(c, SIGKILL, false);
        return;
    }
}

void hark_sup_watch_planned_kill(struct supervisor *s)
{
    if (s->kill_watched || s->count == s->o->ranks) return;
    for (uint32_t i = 0; i < s->o->kills; i++)
        s->kill_watched |= s->o->kill[i].rank == HARK_RECOVERY;
    if (s->kill_watched) uv_timer_start(&s->planned_kill, kill_if_due, WATCH_MS, WATCH_MS);
}
