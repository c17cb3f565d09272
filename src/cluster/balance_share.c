/* balance_share.c: objects onto the PEs of a share: greedy, refine, smooth. */
#include "balance_parts.h"

#include <string.h>

void hark_balance_sums(struct balance *w)
{
    memset(w->sum, 0, w->pes * sizeof *w->sum);
    for (uint32_t i = 0; i < w->objects; i++) w->sum[w->pe[i]] += w->load[i];
}

/* ---- a heap of PEs: the least loaded first --------------------------------------------------- */

static bool below(const struct balance *w, uint32_t p, uint32_t q)
{
    return w->sum[p] != w->sum[q] ? w->sum[p] < w->sum[q] : p < q;
}

static void sink(struct balance *w, uint32_t at, uint32_t count)
{
    uint32_t p = w->heap[at];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= count) break;
        if (child + 1 < count && below(w, w->heap[child + 1], w->heap[child])) child++;
        if (!below(w, w->heap[child], p)) break;
        w->heap[at] = w->heap[child];
        at = child;
    }
    w->heap[at] = p;
}

static void put(struct balance *w, uint32_t object, uint32_t pe)
{
    w->pe[object] = pe;
    w->sum[pe] += w->load[object];
}

static void fill_heap(struct balance *w, const struct balance_share *s)
{
    for (uint32_t p = 0; p < s->pes; p++) w->heap[p] = s->first + p;
    for (uint32_t i = s->pes / 2; i-- > 0;) sink(w, i, s->pes);
}

uint64_t hark_balance_most(const struct balance *w, const struct balance_share *s)
{
    uint64_t most = 0;
    for (uint32_t p = s->first; p < s->first + s->pes; p++)
        if (w->sum[p] > most) most = w->sum[p];
    return most;
}

/* Of all PEs the least loaded one makes (max - avg) / avg least: the average is the same with any.
 */
void hark_balance_greedy(struct balance *w, const struct balance_share *s)
{
    memset(w->sum + s->first, 0, s->pes * sizeof *w->sum);
    fill_heap(w, s);
    for (uint32_t i = 0; i < s->objects; i++) {
        put(w, s->object[i], w->heap[0]);
        sink(w, 0, s->pes);
    }
}

void hark_balance_add(struct balance *w, const struct balance_share *s)
{
    memset(w->sum + s->first, 0, s->pes * sizeof *w->sum);
    for (uint32_t i = 0; i < s->objects; i++)
        if (w->pe[s->object[i]] - s->first < s->pes)
            w->sum[w->pe[s->object[i]]] += w->load[s->object[i]];
    fill_heap(w, s);
    for (uint32_t i = 0; i < s->objects; i++) {
        if (w->pe[s->object[i]] - s->first < s->pes) continue;
        put(w, s->object[i], w->heap[0]);
        sink(w, 0, s->pes);
    }
}

/* ---- the objects of each PE, the heaviest first ---------------------------------------------- */

static void by_pe(struct balance *w, const struct balance_share *s)
{
    uint32_t *first = w->first;
    memset(first, 0, ((size_t)s->pes + 1) * sizeof *first);
    for (uint32_t i = 0; i < s->objects; i++) first[w->pe[s->object[i]] - s->first + 1]++;
    for (uint32_t p = 0; p < s->pes; p++) first[p + 1] += first[p];
    for (uint32_t i = 0; i < s->objects; i++)
        w->by_pe[first[w->pe[s->object[i]] - s->first]++] = s->object[i];
    for (uint32_t p = s->pes; p > 0; p--) first[p] = first[p - 1];
    first[0] = 0;
}

/* Places of objects that have left point to a neighbour; who follows the pointers shortens them.
 * Place k of by_pe is k + 1 here, so that there is one before all and one behind. */
static uint32_t left_at(uint32_t *to, uint32_t place)
{
    while (to[place] != place) place = to[place] = to[to[place]];
    return place;
}

/* How many of the places from `low` to `high`, heaviest first, have at least (`more`: more than) so
 * much load. */
static uint32_t at_least(
    const struct balance *w, uint32_t low, uint32_t high, uint64_t load, bool more)
{
    uint32_t begin = low;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        uint64_t l = w->load[w->by_pe[mid]];
        if (more ? l > load : l >= load) low = mid + 1;
        else high = mid;
    }
    return low - begin;
}

/* Which object is to leave a PE that has `beyond` too much, to one that has room for `room`: the
 * lightest that is enough, or else the heaviest that has room. Returns its place, or `high`. */
static uint32_t to_leave(
    struct balance *w, uint32_t low, uint32_t high, uint64_t beyond, uint64_t room)
{
    uint32_t enough = left_at(w->heavier, low + at_least(w, low, high, beyond, false));
    if (enough > low && w->load[w->by_pe[enough - 1]] <= room) return enough - 1;
    uint32_t fits = left_at(w->lighter, low + at_least(w, low, high, room, true) + 1) - 1;
    return fits < high && w->load[w->by_pe[fits]] > 0 ? fits : high;
}

/* ---- refine ---------------------------------------------------------------------------------- */

/* Only who is not beyond the limit takes: who gives is below it by less than the lightest object
 * that was enough. */
static uint32_t takers(struct balance *w, const struct balance_share *s, uint64_t limit)
{
    uint32_t count = 0;
    for (uint32_t p = s->first; p < s->first + s->pes; p++)
        if (w->sum[p] <= limit) w->heap[count++] = p;
    for (uint32_t i = count / 2; i-- > 0;) sink(w, i, count);
    return count;
}

/* As many objects leave as must for no PE to be beyond `limit`. False: that can not be; some may
 * have left. */
static bool refine_to(struct balance *w, const struct balance_share *s, uint64_t limit)
{
    for (uint32_t i = 0; i < s->objects + 2; i++) w->heavier[i] = w->lighter[i] = i;
    uint32_t count = takers(w, s, limit);
    for (uint32_t p = 0; p < s->pes; p++) {
        uint32_t low = w->first[p], high = w->first[p + 1], from = s->first + p;
        while (w->sum[from] > limit) {
            if (count == 0) return false;
            uint64_t room = limit - w->sum[w->heap[0]];
            uint32_t place = to_leave(w, low, high, w->sum[from] - limit, room);
            if (place == high) return false; /* nobody has more room than the least loaded */
            w->heavier[place + 1] = place;
            w->lighter[place + 1] = place + 2;
            w->sum[from] -= w->load[w->by_pe[place]];
            put(w, w->by_pe[place], w->heap[0]);
            sink(w, 0, count);
        }
    }
    return true;
}

static void as_before(struct balance *w, const struct balance_share *s)
{
    memset(w->sum + s->first, 0, s->pes * sizeof *w->sum);
    for (uint32_t p = 0; p < s->pes; p++)
        for (uint32_t k = w->first[p]; k < w->first[p + 1]; k++) put(w, w->by_pe[k], s->first + p);
}

void hark_balance_refine(struct balance *w, const struct balance_share *s)
{
    uint64_t high = hark_balance_most(w, s), low = w->limit, most = high;
    if (high <= low) return;
    by_pe(w, s);
    if (refine_to(w, s, low)) return;
    while (high - low > 1 + low / 1000) {
        uint64_t mid = low + (high - low) / 2;
        as_before(w, s);
        if (refine_to(w, s, mid)) high = mid;
        else low = mid;
    }
    as_before(w, s);
    if (high < most) (void)refine_to(w, s, high);
}

/* ---- smooth ---------------------------------------------------------------------------------- */

struct change { /* a leaves the fullest PE for `to`, b comes from there (or nothing) */
    uint64_t most;
    uint32_t a, b, to;
};

static void try_change(const struct balance *w, uint32_t from, uint32_t to, uint32_t a, uint32_t b,
    struct change *best)
{
    uint64_t out = w->load[a], in = b == UINT32_MAX ? 0 : w->load[b];
    uint64_t x = w->sum[from] - out + in, y = w->sum[to] + out - in;
    uint64_t most = x > y ? x : y;
    if (most < best->most) *best = (struct change){most, a, b, to};
}

/* The best partner of b among the `count` objects of the fullest PE: half of the difference
 * heavier, or next to that. */
static void with_partner(const struct balance *w, uint32_t from, uint32_t to, uint32_t count,
    uint32_t b, struct change *best)
{
    if (w->sum[to] >= w->sum[from]) return;
    uint64_t wanted = (b == UINT32_MAX ? 0 : w->load[b]) + (w->sum[from] - w->sum[to]) / 2;
    uint32_t place = at_least(w, 0, count, wanted, false);
    if (place < count) try_change(w, from, to, w->by_pe[place], b, best);
    if (place > 0) try_change(w, from, to, w->by_pe[place - 1], b, best);
}

static bool smooth_once(struct balance *w, const struct balance_share *s)
{
    uint32_t from = s->first, count = 0;
    for (uint32_t p = s->first; p < s->first + s->pes; p++)
        if (w->sum[p] > w->sum[from]) from = p;
    struct change best = {w->sum[from], 0, 0, 0};
    if (best.most <= w->limit) return false;
    for (uint32_t i = 0; i < s->objects; i++)
        if (w->pe[s->object[i]] == from) w->by_pe[count++] = s->object[i];
    for (uint32_t p = s->first; p < s->first + s->pes; p++)
        with_partner(w, from, p, count, UINT32_MAX, &best);
    for (uint32_t i = 0; i < s->objects; i++)
        with_partner(w, from, w->pe[s->object[i]], count, s->object[i], &best);
    if (best.most == w->sum[from]) return false;
    w->sum[from] -= w->load[best.a];
    put(w, best.a, best.to);
    if (best.b == UINT32_MAX) return true;
    w->sum[best.to] -= w->load[best.b];
    put(w, best.b, from);
    return true;
}

void hark_balance_smooth(struct balance *w, const struct balance_share *s)
{
    uint64_t rounds = 8 + 20000000 / ((uint64_t)s->objects + s->pes); /* each looks at all objects
                                                                       */
    while (rounds-- > 0 && smooth_once(w, s))
        ;
}
