/* parts/failed.h: the content of the last FAILED, which every process keeps: D, the ranks that roll
 * back, and the incarnations. They are tables of ranges because whole clusters roll back together:
 * rows for single ranks would take a cluster's size at each of a million processes.
 */
#ifndef HARK_PARTS_FAILED_H
#define HARK_PARTS_FAILED_H

#include "../hark.h"
#include "ranges.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hark_inc_range { /* a row of `incs`: ranks first .. last are in incarnation inc */
    uint32_t first, last, inc, pad;
};

static const struct hark_field hark_inc_range_fields[] = {
    HARK_FIELD(struct hark_inc_range, first, "j"), HARK_FIELD(struct hark_inc_range, last, "j"),
    HARK_FIELD(struct hark_inc_range, inc, "inc")};

#if HARK_BODIES

static inline bool hark_failed_valid(uint32_t ranks, const struct hark_event *event)
{
    uint32_t n = event->u.failed.down_count, m = event->u.failed.inc_count;
    if ((n && !event->u.failed.down) || (m && !event->u.failed.inc)) return false;
    if (event->u.failed.wave_count && !event->u.failed.wave) return false;
    for (uint32_t i = 0; i < n; i++)
        if (event->u.failed.down[i] >= ranks ||
            (i && event->u.failed.down[i] <= event->u.failed.down[i - 1]))
            return false;
    for (uint32_t i = 0; i < m; i++) {
        const struct hark_incarnation *x = &event->u.failed.inc[i];
        if ((x->rank >= ranks && x->rank != HARK_RECOVERY) || x->inc == 0) return false;
        if (i && x->rank <= event->u.failed.inc[i - 1].rank) return false;
    }
    for (uint32_t i = 0; i < event->u.failed.wave_count; i++) {
        const struct hark_decision *x = &event->u.failed.wave[i];
        if (x->cluster >= ranks || (i && x->cluster <= x[-1].cluster)) return false;
    }
    return true;
}

/* True if the i-th rank of D (hark_life_joins: the i-th incarnation) extends the row of the one
 * before it. */
static inline bool hark_down_joins(const struct hark_event *event, uint32_t i)
{
    return i && event->u.failed.down[i] == event->u.failed.down[i - 1] + 1;
}

static inline bool hark_life_joins(const struct hark_event *event, uint32_t i)
{
    const struct hark_incarnation *x = event->u.failed.inc + i;
    return i && x->rank == x[-1].rank + 1 && x->inc == x[-1].inc;
}

/* Makes room for hark_failed_tables. HARK_EFULL. */
static inline int hark_failed_room(struct hark *p, const struct hark_shape *s,
    struct hark_table *down, struct hark_table *incs, const struct hark_event *event)
{
    uint32_t n = 0, m = 0;
    int status = HARK_OK;
    for (uint32_t i = 0; i < event->u.failed.down_count; i++) n += !hark_down_joins(event, i);
    for (uint32_t i = 0; i < event->u.failed.inc_count; i++) m += !hark_life_joins(event, i);
    if (n > down->count) status = hark_reserve(p, s, down, n - down->count);
    if (status >= 0 && m > incs->count) status = hark_reserve(p, s, incs, m - incs->count);
    return status;
}

/* Replaces D and the incarnations by those of a valid FAILED. */
static inline void hark_failed_tables(struct hark *p, struct hark_table *down,
    struct hark_table *incs, const struct hark_event *event)
{
    hark_empty(p, down);
    for (uint32_t i = 0; i < event->u.failed.down_count; i++) {
        bool joins = hark_down_joins(event, i);
        struct hark_range *r = (struct hark_range *)(joins ? hark_row(p, down, down->count - 1)
                                                           : hark_insert(p, down, down->count));
        r->last = event->u.failed.down[i];
        if (!joins) r->first = r->last;
    }
    hark_empty(p, incs);
    for (uint32_t i = 0; i < event->u.failed.inc_count; i++) {
        bool joins = hark_life_joins(event, i);
        struct hark_inc_range *x =
            (struct hark_inc_range *)(joins ? hark_row(p, incs, incs->count - 1)
                                            : hark_insert(p, incs, incs->count));
        x->last = event->u.failed.inc[i].rank;
        x->inc = event->u.failed.inc[i].inc;
        if (!joins) x->first = x->last;
    }
}

/* Returns the incarnation of a rank; 0 if it is in no row. */
static inline uint32_t hark_inc_range_of(
    const struct hark *p, const struct hark_table *incs, uint32_t rank)
{
    uint32_t low = 0, high = incs->count;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        const struct hark_inc_range *x = (const struct hark_inc_range *)hark_row_of(p, incs, mid);
        if (rank < x->first) high = mid;
        else if (rank > x->last) low = mid + 1;
        else return x->inc;
    }
    return 0;
}

/* True if the rows of incarnations of an unpacked state ascend and none is empty. */
static inline bool hark_lives_ok(const struct hark *p, const struct hark_table *incs)
{
    uint64_t next = 0;
    for (uint32_t i = 0; i < incs->count; i++) {
        const struct hark_inc_range *x = (const struct hark_inc_range *)hark_row_of(p, incs, i);
        if (x->first < next || x->last < x->first) return false;
        next = (uint64_t)x->last + 1;
    }
    return true;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
