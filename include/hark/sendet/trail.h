/* sendet/trail.h: three numbers for each message of a channel in one direction: its phase, the
 * epoch of its sender, and the epoch in which it arrived at its receiver. They are run-length
 * encoded, as phases are in parts/rpp.h. */
#ifndef HARK_SENDET_TRAIL_H
#define HARK_SENDET_TRAIL_H

#include "../parts/rpp.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_TRAIL_CHUNKS 3u /* chunks that an addition may need */

struct hark_trail {
    struct hark_queue phase, sent, recv;
};

struct hark_mark { /* messages first .. last, with the same numbers; 0: not known */
    uint64_t first, last, phase, sent, recv;
};

#define HARK_FIELD_TRAIL(type, member, symbol)                                                     \
    HARK_FIELD_QUEUE(type, member.phase, symbol ".Phase"),                                         \
        HARK_FIELD_QUEUE(type, member.sent, symbol ".epochSend"),                                  \
        HARK_FIELD_QUEUE(type, member.recv, symbol ".epochRecv")

#if HARK_BODIES

static inline void hark_trail_begin(struct hark_trail *t)
{
    t->phase.width = t->sent.width = t->recv.width = HARK_RUN_WORDS;
}

/* Adds message ssn, the next one. An unknown epoch of arrival is 0. */
static inline void hark_trail_add(struct hark *p, struct hark_pool *pool, struct hark_trail *t,
    uint64_t ssn, uint64_t phase, uint64_t sent, uint64_t recv)
{
    hark_runs_add(p, pool, &t->phase, ssn, phase);
    hark_runs_add(p, pool, &t->sent, ssn, sent);
    if (recv) hark_runs_add(p, pool, &t->recv, ssn, recv);
}

/* Returns the numbers of message ssn, and the run of messages from it on, at most to `end`, that
 * have the same numbers. */
static inline struct hark_mark hark_trail_at(const struct hark *p, const struct hark_pool *pool,
    struct hark_trail *t, uint64_t ssn, uint64_t end)
{
    struct hark_mark m = {ssn, end, 0, 0, 0};
    m.phase = hark_runs_at(p, pool, &t->phase, ssn, &m.last);
    m.sent = hark_runs_at(p, pool, &t->sent, ssn, &m.last);
    m.recv = hark_runs_at(p, pool, &t->recv, ssn, &m.last);
    return m;
}

/* Forgets all messages up to ssn. `end`: the last message with a phase; `known`: the last one with
 * an epoch of arrival. */
static inline void hark_trail_trim(struct hark *p, struct hark_pool *pool, struct hark_trail *t,
    uint64_t ssn, uint64_t end, uint64_t known)
{
    hark_runs_trim(p, pool, &t->phase, ssn, end);
    hark_runs_trim(p, pool, &t->sent, ssn, end);
    hark_runs_trim(p, pool, &t->recv, ssn, known);
}

static inline void hark_trail_clear(struct hark *p, struct hark_pool *pool, struct hark_trail *t)
{
    hark_queue_clear(p, pool, &t->phase);
    hark_queue_clear(p, pool, &t->sent);
    hark_queue_clear(p, pool, &t->recv);
}

static inline bool hark_trail_ok(const struct hark_trail *t)
{
    return t->phase.width == 2 && t->sent.width == 2 && t->recv.width == 2;
}
#endif

#ifdef __cplusplus
}
#endif
#endif
