/* causal/owed.h: acknowledgements of copies of determinants, which go with the next message.
 *
 * A row of the table says that determinants first .. last of a creator are stored here, and that a
 * peer has not been told. Rows ascend by peer, creator and first; those that touch are one.
 */
#ifndef HARK_CAUSAL_OWED_H
#define HARK_CAUSAL_OWED_H

#include "../parts/block.h"
#include "../parts/mem.h"
#include "../parts/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_ACK_BYTES 16u /* creator u32, count u32, first rsn u64 */

struct hark_owed {
    uint32_t peer, creator;
    uint64_t first, last;
};

static const struct hark_field hark_owed_fields[] = {HARK_FIELD(struct hark_owed, peer, "j"),
    HARK_FIELD(struct hark_owed, creator, "recver"), HARK_FIELD(struct hark_owed, first, "rsn"),
    HARK_FIELD(struct hark_owed, last, "rsn")};

#if HARK_BODIES

/* Their width is known, so the address takes no multiplication. */
static inline struct hark_owed *hark_owed_at(struct hark *p, const struct hark_table *t, uint32_t i)
{
    void *rows = (uint8_t *)p + (uint64_t)t->at * 8;
    return (struct hark_owed *)rows + i;
}

static inline const struct hark_owed *hark_owed_of(
    const struct hark *p, const struct hark_table *t, uint32_t i)
{
    const void *rows = (const uint8_t *)p + (uint64_t)t->at * 8;
    return (const struct hark_owed *)rows + i;
}

/* Returns the index of the first row that is not less than (peer, creator, first). */
static inline uint32_t hark_owed_search(const struct hark *p, const struct hark_table *t,
    uint32_t peer, uint32_t creator, uint64_t first)
{
    uint32_t low = 0, high = t->count;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        const struct hark_owed *o = hark_owed_of(p, t, mid);
        bool before = o->peer != peer         ? o->peer < peer
                      : o->creator != creator ? o->creator < creator
                                              : o->first < first;
        if (before) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* True if a range from `first` overlaps `o`, or begins right behind it. */
static inline bool hark_owed_reaches(
    const struct hark_owed *o, uint32_t peer, uint32_t creator, uint64_t first)
{
    return o->peer == peer && o->creator == creator && first <= o->last + 1;
}

/* Joins rows i and i + 1 if they touch. True if it did. */
static inline bool hark_owed_join(struct hark *p, struct hark_table *t, uint32_t i)
{
    if (i + 1 >= t->count) return false;
    struct hark_owed *a = hark_owed_at(p, t, i), *b = hark_owed_at(p, t, i + 1);
    if (!hark_owed_reaches(a, b->peer, b->creator, b->first)) return false;
    if (b->last > a->last) a->last = b->last;
    hark_remove(p, t, i + 1);
    return true;
}

static inline void hark_owed_set(
    struct hark_owed *o, uint32_t peer, uint32_t creator, uint64_t first, uint64_t last)
{
    o->peer = peer;
    o->creator = creator;
    o->first = first;
    o->last = last;
}

HARK_COLD void hark_owed_add_among(struct hark *p, struct hark_table *t, uint32_t peer,
    uint32_t creator, uint64_t first, uint64_t last)
{
    uint32_t i = hark_owed_search(p, t, peer, creator, first);
    struct hark_owed *o = i > 0 ? hark_owed_at(p, t, i - 1) : NULL;
    if (o && hark_owed_reaches(o, peer, creator, first)) {
        if (last > o->last) o->last = last;
        i--;
    } else {
        hark_owed_set((struct hark_owed *)hark_insert(p, t, i), peer, creator, first, last);
    }
    while (hark_owed_join(p, t, i)) {
    }
}

/* Records that `peer` is owed an acknowledgement. A row has been reserved. */
HARK_HOT void hark_owed_add(struct hark *p, struct hark_table *t, uint32_t peer, uint32_t creator,
    uint64_t first, uint64_t last)
{
    if (t->count > 0) {
        hark_owed_add_among(p, t, peer, creator, first, last);
        return;
    }
    if (t->room == 0) HARK_TRAP();
    hark_owed_set(hark_owed_at(p, t, 0), peer, creator, first, last);
    t->count = 1;
}

/* Returns the number of determinants whose acknowledgement is owed to `peer`. */
static inline uint64_t hark_owed_count(
    const struct hark *p, const struct hark_table *t, uint32_t peer)
{
    uint64_t n = 0;
    for (uint32_t i = hark_owed_search(p, t, peer, 0, 0); i < t->count; i++) {
        const struct hark_owed *o = hark_owed_of(p, t, i);
        if (o->peer != peer) break;
        n += o->last - o->first + 1;
    }
    return n;
}

/* Removes a row; mostly it is the last one. */
static inline void hark_owed_drop(struct hark *p, struct hark_table *t, uint32_t i)
{
    if (i + 1 < t->count) {
        hark_remove(p, t, i);
        return;
    }
    hark_zero(hark_owed_at(p, t, i), sizeof(struct hark_owed));
    t->count = i;
}

/* Writes at most `most` acknowledgements for `peer` and removes them from the table. Returns how
 * many. */
HARK_HOT uint32_t hark_owed_write(
    struct hark *p, struct hark_table *t, uint32_t peer, uint8_t *b, uint32_t most)
{
    uint32_t n = 0;
    if (t->count == 0) return 0;
    const bool only = t->count == 1 && hark_owed_at(p, t, 0)->peer == peer; /* the usual case */
    for (uint32_t i = only ? 0 : hark_owed_search(p, t, peer, 0, 0); i < t->count && n < most;
         n++) {
        const struct hark_owed *o = hark_owed_of(p, t, i);
        uint64_t count = o->last - o->first + 1;
        if (o->peer != peer) break;
        if (count > UINT32_MAX) count = UINT32_MAX; /* the creator has stored the rest long ago */
        hark_put32(b + n * HARK_ACK_BYTES, o->creator);
        hark_put32(b + n * HARK_ACK_BYTES + 4, (uint32_t)count);
        hark_put64(b + n * HARK_ACK_BYTES + 8, o->first);
        hark_owed_drop(p, t, i);
    }
    return n;
}

/* Drops what is owed to `peer`: it was owed to an old incarnation. */
static inline void hark_owed_forget(struct hark *p, struct hark_table *t, uint32_t peer)
{
    uint32_t i = hark_owed_search(p, t, peer, 0, 0);
    while (i < t->count && hark_owed_at(p, t, i)->peer == peer) hark_remove(p, t, i);
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
