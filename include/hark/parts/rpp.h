/* parts/rpp.h: the phases of the messages of one channel, run-length encoded.
 *
 * RPP (Received Per Phase, HydEE Alg. 1 lines 4, 12-14) and the phases in the log (lines 3, 8) both
 * give a phase to each ssn of a gap-free range. Rows of the queue are {first ssn, phase}: a run of
 * messages with the same phase, which ends where the next row begins. Memory grows with changes of
 * phase, not with messages.
 */
#ifndef HARK_PARTS_RPP_H
#define HARK_PARTS_RPP_H

#include "queue.h"

#ifdef __cplusplus
extern "C" {
#endif
#if HARK_BODIES

#define HARK_RUN_WORDS 2u

/* Appends `ssn`, the next ssn of the range, with its phase; a chunk has been reserved. */
HARK_HOT void hark_runs_add(
    struct hark *p, struct hark_pool *pool, struct hark_queue *q, uint64_t ssn, uint64_t phase)
{
    const uint64_t *last = hark_queue_last_wide(p, pool, q, HARK_RUN_WORDS);
    if (last && last[1] == phase) return;
    uint64_t *row = hark_queue_push_wide(p, pool, q, HARK_RUN_WORDS);
    row[0] = ssn;
    row[1] = phase;
}

/* Removes all ssn up to `ssn`; `end` is the last ssn of the range. */
static inline void hark_runs_trim(
    struct hark *p, struct hark_pool *pool, struct hark_queue *q, uint64_t ssn, uint64_t end)
{
    if (ssn >= end) {
        hark_queue_empty(p, pool, q);
        return;
    }
    while (q->count > 1) {
        struct hark_place at = hark_queue_begin(q);
        hark_queue_next(p, pool, q, &at);
        if (hark_queue_next(p, pool, q, &at)[0] > ssn + 1) break;
        hark_queue_pop(p, pool, q);
    }
    uint64_t *first = hark_queue_first(p, pool, q);
    if (first && first[0] <= ssn) first[0] = ssn + 1;
}

/* A walk over the runs of ssn `from` .. `end`. */
struct hark_runs {
    struct hark_place at;
    const uint64_t *row;
    uint64_t from, end;
};

/* Returns the place of the run that has `from`. The search starts at the last place found, so
 * ascending searches together cost one walk. */
HARK_COLD struct hark_place hark_runs_seek(
    const struct hark *p, const struct hark_pool *pool, struct hark_queue *q, uint64_t from)
{
    struct hark_place at = hark_queue_from(q, q->spot), ahead = at;
    if (hark_queue_next(p, pool, q, &ahead)[0] > from) {
        ahead = at = hark_queue_begin(q);
        hark_queue_next(p, pool, q, &ahead);
    }
    for (struct hark_place next = ahead;; at = next, next = ahead) {
        const uint64_t *row = hark_queue_next(p, pool, q, &ahead);
        if (row == NULL || row[0] > from) break;
    }
    q->spot = hark_queue_spot(q, at);
    return at;
}

static inline struct hark_runs hark_runs_begin(const struct hark *p, const struct hark_pool *pool,
    struct hark_queue *q, uint64_t from, uint64_t end)
{
    bool few = q->count <= HARK_CHUNK_WORDS / 2; /* the usual case without a failure */
    struct hark_runs r = {
        few ? hark_queue_begin(q) : hark_runs_seek(p, pool, q, from), NULL, from, end};
    r.row = hark_queue_next(p, pool, q, &r.at);
    return r;
}

/* Gives the next run: *first .. *last with *phase; false at the end. */
static inline bool hark_runs_next(const struct hark *p, const struct hark_pool *pool,
    const struct hark_queue *q, struct hark_runs *r, uint64_t *first, uint64_t *last,
    uint64_t *phase)
{
    while (r->row && r->from <= r->end) {
        const uint64_t *row = r->row;
        struct hark_place ahead = r->at;
        const uint64_t *next = hark_queue_next(p, pool, q, &ahead);
        uint64_t until = next ? next[0] - 1 : r->end;
        if (until > r->end) until = r->end;
        if (row[0] > r->from) r->from = row[0];
        if (until >= r->from) {
            *first = r->from;
            *last = until;
            *phase = row[1];
            r->from = until + 1;
            return true;
        }
        r->row = next;
        r->at = ahead;
    }
    return false;
}

/* Returns the value at `ssn`; 0 if there is none. *last is the end of the caller's range, and is
 * lowered to the last ssn for which the answer holds. */
static inline uint64_t hark_runs_at(const struct hark *p, const struct hark_pool *pool,
    struct hark_queue *q, uint64_t ssn, uint64_t *last)
{
    struct hark_runs r = hark_runs_begin(p, pool, q, ssn, *last);
    uint64_t first, until, value;
    if (!hark_runs_next(p, pool, q, &r, &first, &until, &value)) return 0;
    *last = first == ssn ? until : first - 1;
    return first == ssn ? value : 0;
}

/* Removes all ssn after `ssn`. */
static inline void hark_runs_cut(
    struct hark *p, struct hark_pool *pool, struct hark_queue *q, uint64_t ssn)
{
    struct hark_place at = hark_queue_begin(q);
    uint32_t keep = 0;
    for (const uint64_t *row; (row = hark_queue_next(p, pool, q, &at)) != NULL && row[0] <= ssn;)
        keep++;
    hark_queue_cut(p, pool, q, keep);
}

/* Writes `phase` over first .. last of a range that ends at `end`. The rows are written anew, at
 * most two more than there are; room has been reserved (hark_runs_write_needs). */
static inline void hark_runs_write(struct hark *p, struct hark_pool *pool, struct hark_queue *q,
    uint64_t first, uint64_t last, uint64_t phase, uint64_t end)
{
    struct hark_queue old = *q, fresh = {0, 0, 0, q->width, 0, 0, 0, {0, 0}};
    uint64_t a, b, ph, beyond = 0, same = last;
    const uint64_t *head = hark_queue_first(p, pool, q);
    uint64_t begin = head ? head[0] : end + 1;
    if (first < begin) first = begin;
    if (last > end) last = end;
    if (first > last) return;
    if (hark_runs_at(p, pool, q, first, &same) == phase && same == last) return; /* usual case */
    struct hark_runs r = hark_runs_begin(p, pool, &old, begin, end);
    while (hark_runs_next(p, pool, &old, &r, &a, &b, &ph)) {
        if (a < first) hark_runs_add(p, pool, &fresh, a, ph);
        if (b >= first && a <= last) hark_runs_add(p, pool, &fresh, a > first ? a : first, phase);
        if (b > last) {
            beyond = a > last ? a : last + 1;
            hark_runs_add(p, pool, &fresh, beyond, ph);
        }
    }
    hark_queue_clear(p, pool, &old);
    *q = fresh;
}

/* Returns the chunks that hark_runs_write may take. */
static inline uint32_t hark_runs_write_needs(const struct hark_queue *q)
{
    return (q->count + 3) / (HARK_CHUNK_WORDS / 2) + 2;
}
#endif

#ifdef __cplusplus
}
#endif
#endif
