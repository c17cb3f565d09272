/* view_fixture.h: traces of runs that never were: halo exchange on a ring under HydEE's rules.
 *
 * Each process, in each iteration: computes, posts to both neighbours, delivers from both; every
 * few iterations its cluster takes a checkpoint. One process is killed when it has made `kill_at`
 * deliveries; its cluster goes back, the others replay from their logs, what waits for orphans
 * waits for them.
 */
#ifndef HARK_TEST_VIEW_FIXTURE_H
#define HARK_TEST_VIEW_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "../../src/view/trace.h"

struct synthetic {
    uint32_t ranks, cluster_size, iterations, every; /* iterations between checkpoints */
    uint32_t victim, kill_at;                        /* kill_at 0: nobody dies */
};

struct sy_message {
    uint32_t from, to, to_inc;
    uint64_t ssn, phase, at; /* arrival */
    bool delivered, gone, waits, replay, posted_late;
};

struct sy_saved {
    uint32_t iteration, deliveries;
    uint64_t sent[2], got[2], phase, id;
};

struct sy_process {
    uint32_t iteration, step, inc, deliveries;
    uint64_t now, sent[2], got[2], phase; /* [0]: the left neighbour's channel, [1]: the right one's
                                           */
    uint64_t orphan_until[2]; /* last ssn of each channel that the receiver has already */
    struct sy_saved saved;
    bool dead, redo;
};

struct sy {
    struct synthetic of;
    struct sy_process *p;
    struct sy_message *m;
    uint32_t messages;
    struct hark_trace *trace;
    uint64_t room, seed;
    uint64_t killed;
    bool recovering;
};

static inline uint32_t sy_random(struct sy *s, uint32_t below)
{
    s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(s->seed >> 33) % below;
}

static inline void sy_record(struct sy *s, struct hark_trace_record r)
{
    struct hark_trace *t = s->trace;
    if (t->count == s->room) {
        s->room = s->room ? s->room * 2 : 1024;
        t->record = realloc(t->record, s->room * sizeof *t->record);
        if (t->record == NULL) abort();
    }
    t->record[t->count++] = r;
}

static inline uint32_t sy_neighbour(const struct sy *s, uint32_t rank, int side)
{
    return (rank + (side ? 1 : s->of.ranks - 1)) % s->of.ranks;
}

static inline bool sy_together(const struct sy *s, uint32_t a, uint32_t b)
{
    return a / s->of.cluster_size == b / s->of.cluster_size;
}

static inline void sy_about(
    struct sy *s, uint8_t kind, uint32_t rank, uint64_t time, const struct sy_message *m)
{
    bool in = kind == HARK_TRACE_ARRIVE || kind == HARK_TRACE_DELIVER;
    struct hark_trace_record r = {.time = time,
        .ssn = m->ssn,
        .phase = m->phase,
        .bytes = 4096,
        .rank = rank,
        .peer = in ? m->from : m->to,
        .inc = s->p[rank].inc,
        .kind = kind};
    if (kind == HARK_TRACE_DELIVER) r.phase = s->p[rank].phase;
    if (!in && !sy_together(s, m->from, m->to)) r.flags = HARK_TRACE_LOGGED;
    if (kind == HARK_TRACE_SUPPRESS) {
        r.bytes = 0;
        r.flags = 0;
    }
    sy_record(s, r);
}

static inline void sy_mark(
    struct sy *s, uint8_t kind, uint32_t rank, uint64_t time, uint64_t id, uint64_t phase)
{
    uint32_t inc = rank < s->of.ranks ? s->p[rank].inc : 0;
    sy_record(
        s, (struct hark_trace_record){
               .time = time, .id = id, .phase = phase, .rank = rank, .inc = inc, .kind = kind});
}

/* Orphans of a lower phase that nobody has come to again yet. */
static inline bool sy_gated(const struct sy *s, uint64_t phase)
{
    if (!s->recovering) return false;
    for (uint32_t i = 0; i < s->messages; i++) {
        const struct sy_message *m = &s->m[i];
        const struct sy_process *p = &s->p[m->from];
        int side = sy_neighbour(s, m->from, 1) == m->to;
        if (p->redo && m->delivered && !sy_together(s, m->from, m->to) && m->phase < phase &&
            m->ssn > p->sent[side] && m->ssn <= p->orphan_until[side] && !m->replay)
            return true;
    }
    return false;
}

static inline void sy_transmit(struct sy *s, struct sy_message *m, uint64_t time)
{
    m->waits = false;
    m->to_inc = s->p[m->to].inc;
    m->at = time + 40000 + sy_random(s, 60000);
    sy_about(s, m->replay ? HARK_TRACE_REPLAY : HARK_TRACE_TRANSMIT, m->from, time, m);
}

static inline void sy_release(struct sy *s, uint64_t time)
{
    uint64_t released = 0;
    for (uint32_t i = 0; i < s->messages; i++) {
        struct sy_message *m = &s->m[i];
        if (!m->waits || sy_gated(s, m->phase)) continue;
        if (m->phase > released)
            sy_mark(s, HARK_TRACE_RELEASE, HARK_RECOVERY, time + 20000, 0, released = m->phase);
        sy_transmit(s, m, time + 30000 + i % 7 * 4000);
    }
}

static inline void sy_send(struct sy *s, uint32_t rank, int side)
{
    struct sy_process *p = &s->p[rank];
    uint32_t to = sy_neighbour(s, rank, side);
    struct sy_message m = {.from = rank, .to = to, .ssn = ++p->sent[side], .phase = p->phase};
    p->now += 5000 + sy_random(s, 5000);
    if (p->redo && m.ssn <= p->orphan_until[side]) {
        sy_about(s, HARK_TRACE_SUPPRESS, rank, p->now, &m);
        sy_release(s, p->now);
        return;
    }
    sy_about(s, HARK_TRACE_SEND, rank, p->now, &m);
    m.waits = sy_gated(s, m.phase);
    s->m[s->messages] = m;
    if (!m.waits) sy_transmit(s, &s->m[s->messages], p->now);
    s->messages++;
}

static inline struct sy_message *sy_awaited(struct sy *s, uint32_t rank, int side)
{
    uint32_t from = sy_neighbour(s, rank, side);
    for (uint32_t i = s->messages; i-- > 0;) {
        struct sy_message *m = &s->m[i];
        if (m->from == from && m->to == rank && m->ssn == s->p[rank].got[side] + 1 &&
            !m->delivered && !m->gone && !m->waits && m->to_inc == s->p[rank].inc)
            return m;
    }
    return NULL;
}

static inline void sy_deliver(struct sy *s, uint32_t rank, int side, struct sy_message *m)
{
    struct sy_process *p = &s->p[rank];
    if (m->at > p->now) p->now = m->at;
    uint64_t phase = m->phase + !sy_together(s, rank, m->from);
    if (phase > p->phase) p->phase = phase;
    sy_about(s, HARK_TRACE_ARRIVE, rank, m->at, m);
    p->now += 4000;
    sy_about(s, HARK_TRACE_DELIVER, rank, p->now, m);
    m->delivered = true;
    p->got[side]++;
    p->deliveries++;
}

static inline void sy_checkpoint(struct sy *s, uint32_t rank)
{
    struct sy_process *p = &s->p[rank];
    p->saved = (struct sy_saved){p->iteration, p->deliveries, {p->sent[0], p->sent[1]},
        {p->got[0], p->got[1]}, p->phase, p->iteration / s->of.every};
    p->now += 30000;
    sy_record(s, (struct hark_trace_record){.time = p->now,
                     .id = p->saved.id,
                     .phase = p->phase,
                     .bytes = 65536,
                     .rank = rank,
                     .inc = p->inc,
                     .kind = HARK_TRACE_CHECKPOINT});
    sy_mark(s, HARK_TRACE_COMMIT, rank, p->now + 150000, p->saved.id, 0);
}

static inline void sy_restart(struct sy *s, uint32_t rank, uint64_t time)
{
    struct sy_process *p = &s->p[rank];
    const struct sy_saved *v = &p->saved;
    for (int side = 0; side < 2; side++) {
        uint32_t to = sy_neighbour(s, rank, side);
        p->orphan_until[side] = sy_together(s, rank, to) ? 0 : s->p[to].got[!side];
    }
    *p = (struct sy_process){.iteration = v->iteration,
        .inc = p->inc + 1,
        .deliveries = v->deliveries,
        .now = time,
        .sent = {v->sent[0], v->sent[1]},
        .got = {v->got[0], v->got[1]},
        .phase = v->phase ? v->phase : 1,
        .orphan_until = {p->orphan_until[0], p->orphan_until[1]},
        .saved = *v,
        .redo = true};
    sy_mark(s, HARK_TRACE_RESTART, rank, time, v->id, p->phase);
}

/* The victim dies; its cluster goes back; the others' logs are looked through. */
static inline void sy_kill(struct sy *s)
{
    uint32_t first = s->of.victim / s->of.cluster_size * s->of.cluster_size,
             last = first + s->of.cluster_size - 1;
    uint64_t time = s->p[s->of.victim].now + 2000, until = time + 9000000;
    uint32_t before = s->messages;
    sy_mark(s, HARK_TRACE_KILL, s->of.victim, time, 0, 0);
    sy_record(s, (struct hark_trace_record){.time = time + 200000,
                     .id = 1,
                     .rank = HARK_TRACE_SUPERVISOR,
                     .peer = first,
                     .last = last,
                     .kind = HARK_TRACE_FAILED});
    for (uint32_t i = first; i <= last; i++)
        if (i != s->of.victim)
            sy_mark(s, HARK_TRACE_ROLLBACK, i, time + 260000, s->p[i].saved.id, 0);
    for (uint32_t i = first; i <= last; i++) sy_restart(s, i, until + (i - first) * 100000);
    s->recovering = true;
    s->killed = time;
    for (uint32_t i = 0; i < before; i++) {
        struct sy_message *m = &s->m[i];
        bool to = m->to >= first && m->to <= last, from = m->from >= first && m->from <= last;
        if (from && !to && !m->delivered)
            m->gone = m->gone || m->ssn > s->p[m->to].got[sy_neighbour(s, m->to, 1) == m->from];
        if (!to) continue;
        m->gone = true;
        int side = sy_neighbour(s, m->to, 1) == m->from;
        if (from || m->ssn <= s->p[m->to].got[side]) continue;
        struct sy_message again = {.from = m->from,
            .to = m->to,
            .ssn = m->ssn,
            .phase = m->phase,
            .waits = true,
            .replay = true};
        s->m[s->messages++] = again;
    }
    sy_release(s, until + 400000);
}

static inline void sy_caught_up(struct sy *s)
{
    bool all = true;
    uint64_t now = 0;
    for (uint32_t i = 0; i < s->of.ranks; i++) {
        struct sy_process *p = &s->p[i];
        if (!p->redo) continue;
        bool done = p->sent[0] >= p->orphan_until[0] && p->sent[1] >= p->orphan_until[1];
        if (p->now > now) now = p->now;
        all = all && done;
    }
    if (!s->recovering || !all) return;
    s->recovering = false;
    for (uint32_t i = 0; i < s->of.ranks; i++) {
        if (!s->p[i].redo) continue;
        s->p[i].redo = false;
        sy_mark(s, HARK_TRACE_RECOVERED, i, now + 10000, 0, 0);
    }
    sy_release(s, now);
}

static inline void sy_step(struct sy *s, uint32_t rank)
{
    struct sy_process *p = &s->p[rank];
    int side = p->step % 2;
    switch (p->step) {
    case 0: p->now += (p->redo ? 250000 : 450000) + sy_random(s, 150000); break;
    case 1: sy_send(s, rank, 0); break;
    case 2: sy_send(s, rank, 1); break;
    default: sy_deliver(s, rank, side == 0, sy_awaited(s, rank, side == 0)); break;
    }
    if (++p->step == 5) {
        p->step = 0;
        p->iteration++;
        if (p->iteration % s->of.every == 0) sy_checkpoint(s, rank);
        if (p->iteration == s->of.iterations) {
            p->dead = true; /* done */
            sy_mark(s, HARK_TRACE_FINISH, rank, p->now + 200000, 0, 0);
        }
    }
    if (s->killed == 0 && rank == s->of.victim && s->of.kill_at && p->deliveries == s->of.kill_at)
        sy_kill(s);
    sy_caught_up(s);
}

static inline int sy_by_time(const void *a, const void *b)
{
    const struct hark_trace_record *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

/* Fills *trace; freed by synthetic_free. */
static inline void synthetic_make(
    struct hark_trace *trace, const struct synthetic *of, uint32_t *cluster)
{
    struct sy s = {.of = *of, .trace = trace, .seed = 7};
    memset(trace, 0, sizeof *trace);
    trace->job = (struct hark_trace_job){of->ranks, "hydee", "shm", cluster};
    s.p = calloc(of->ranks, sizeof *s.p);
    s.m = calloc((size_t)of->ranks * of->iterations * 6 + 64, sizeof *s.m);
    if (s.p == NULL || s.m == NULL) abort();
    for (uint32_t i = 0; i < of->ranks; i++) {
        cluster[i] = i / of->cluster_size;
        s.p[i].phase = 1;
        s.p[i].now = 20000 + sy_random(&s, 60000);
        sy_mark(&s, HARK_TRACE_START, i, s.p[i].now, 0, 1);
    }
    for (;;) {
        uint32_t best = UINT32_MAX;
        uint64_t least = UINT64_MAX;
        for (uint32_t i = 0; i < of->ranks; i++) {
            uint64_t at = s.p[i].now;
            if (s.p[i].dead) continue;
            if (s.p[i].step > 2) {
                const struct sy_message *m = sy_awaited(&s, i, s.p[i].step % 2 == 0);
                if (m == NULL) continue;
                if (m->at > at) at = m->at;
            }
            if (at < least) least = at, best = i;
        }
        if (best == UINT32_MAX) break;
        sy_step(&s, best);
    }
    qsort(trace->record, trace->count, sizeof *trace->record, sy_by_time);
    free(s.p);
    free(s.m);
}

static inline void synthetic_free(struct hark_trace *trace)
{
    free(trace->record);
    memset(trace, 0, sizeof *trace);
}

#endif
