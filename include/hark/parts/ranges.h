/* parts/ranges.h: sets of ranks, such as a cluster or the ranks that have reported, as tables of
 * ascending disjoint ranges. */
#ifndef HARK_PARTS_RANGES_H
#define HARK_PARTS_RANGES_H

#include "mem.h"

#ifdef __cplusplus
extern "C" {
#endif

static const struct hark_field hark_range_fields[] = {
    HARK_FIELD(struct hark_range, first, ""), HARK_FIELD(struct hark_range, last, "")};

#if HARK_BODIES

/* True if `rank` is in the set. */
static inline bool hark_ranges_hold(const struct hark *p, const struct hark_table *t, uint32_t rank)
{
    uint32_t low = 0, high = t->count;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        const struct hark_range *r = (const struct hark_range *)hark_row_of(p, t, mid);
        if (rank < r->first) high = mid;
        else if (rank > r->last) low = mid + 1;
        else return true;
    }
    return false;
}

/* True if the ranges are ascending, disjoint, and below `ranks`. */
static inline bool hark_ranges_ok(const struct hark *p, const struct hark_table *t, uint32_t ranks)
{
    uint64_t next = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        const struct hark_range *r = (const struct hark_range *)hark_row_of(p, t, i);
        if (r->first < next || r->last < r->first || r->last >= ranks) return false;
        next = (uint64_t)r->last + 1;
    }
    return true;
}

/* Returns the number of ranks in the set. */
static inline uint32_t hark_ranges_size(const struct hark *p, const struct hark_table *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        const struct hark_range *r = (const struct hark_range *)hark_row_of(p, t, i);
        n += r->last - r->first + 1;
    }
    return n;
}

/* Returns the k-th rank of the set in ascending order, k from 0; it must exist. */
static inline uint32_t hark_ranges_at(const struct hark *p, const struct hark_table *t, uint32_t k)
{
    for (uint32_t i = 0; i < t->count; i++) {
        const struct hark_range *r = (const struct hark_range *)hark_row_of(p, t, i);
        if (k <= r->last - r->first) return r->first + k;
        k -= r->last - r->first + 1;
    }
    HARK_TRAP();
    return 0;
}

/* Adds a rank, and joins ranges that then touch; a row has been reserved. False if the set had
 * it. */
static inline bool hark_ranges_add(struct hark *p, struct hark_table *t, uint32_t rank)
{
    uint32_t i = 0;
    while (i < t->count && ((struct hark_range *)hark_row(p, t, i))->last < rank) i++;
    struct hark_range *next = i < t->count ? (struct hark_range *)hark_row(p, t, i) : NULL;
    struct hark_range *before = i > 0 ? (struct hark_range *)hark_row(p, t, i - 1) : NULL;
    if (next && next->first <= rank) return false;
    if (before && before->last + 1 == rank) {
        before->last = rank;
        if (next && next->first == rank + 1) {
            before->last = next->last;
            hark_remove(p, t, i);
        }
    } else if (next && next->first == rank + 1) {
        next->first = rank;
    } else {
        struct hark_range *r = (struct hark_range *)hark_insert(p, t, i);
        r->first = r->last = rank;
    }
    return true;
}

/* Removes a rank, which may split a range; a row has been reserved. False if the set did not have
 * it. */
static inline bool hark_ranges_remove(struct hark *p, struct hark_table *t, uint32_t rank)
{
    uint32_t i = 0;
    while (i < t->count && ((struct hark_range *)hark_row(p, t, i))->last < rank) i++;
    struct hark_range *r = i < t->count ? (struct hark_range *)hark_row(p, t, i) : NULL;
    if (r == NULL || r->first > rank) return false;
    uint32_t last = r->last;
    if (r->first < rank && rank < last) {
        struct hark_range *next = (struct hark_range *)hark_insert(p, t, i + 1);
        next->first = rank + 1;
        next->last = last;
        r->last = rank - 1;
    } else if (r->first < rank) {
        r->last--;
    } else if (rank < last) {
        r->first++;
    } else {
        hark_remove(p, t, i);
    }
    return true;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
