/* holders.c: see holders.h. */
#include "holders.h"

#include <stdlib.h>
#include <string.h>

bool hark_holders_ring(struct hark_holders *h)
{
    uint32_t *row = calloc(h->hosts, sizeof *row); /* how many of its rack come before it */
    if (row == NULL) return false;
    for (uint32_t i = 0; i < h->hosts; i++)
        for (uint32_t k = 0; k < i; k++) row[i] += h->rack[k] == h->rack[i];
    for (uint32_t i = 0; i < h->hosts; i++) {
        h->place[i] = 0;
        for (uint32_t k = 0; k < h->hosts; k++)
            h->place[i] += row[k] < row[i] || (row[k] == row[i] && k < i);
    }
    free(row);
    return true;
}

uint32_t hark_holders_needed(const struct hark_holders *h, uint32_t copies)
{
    uint32_t living = 0;
    for (uint32_t i = 0; i < h->hosts; i++) living += (h->flags[i] & HARK_HOLDERS_LIVES) != 0;
    return living < copies ? living : copies;
}

static void find_used(const struct hark_holders *h)
{
    const uint8_t both = HARK_HOLDERS_HAS | HARK_HOLDERS_LIVES;
    memset(h->used, 0, h->hosts);
    for (uint32_t i = 0; i < h->hosts; i++)
        if ((h->flags[i] & both) == both) h->used[h->rack[i]] = 1;
}

/* The lower, the better; no two hosts have the same. */
static uint64_t cost(const struct hark_holders *h, uint32_t own, uint32_t i)
{
    const uint64_t distance = (h->place[i] + h->hosts - h->place[own]) % h->hosts;
    return distance | (uint64_t)((h->flags[i] & HARK_HOLDERS_KIN) != 0) << 32 |
           (uint64_t)h->used[h->rack[i]] << 33;
}

static bool can_take(const struct hark_holders *h, uint32_t i)
{
    return h->flags[i] & HARK_HOLDERS_LIVES && !(h->flags[i] & HARK_HOLDERS_HAS);
}

uint32_t hark_holders_next(const struct hark_holders *h, uint32_t own, uint32_t nth)
{
    uint32_t candidates = 0, best = HARK_HOLDERS_NONE;
    for (uint32_t i = 0; i < h->hosts; i++) candidates += can_take(h, i);
    if (candidates == 0) return HARK_HOLDERS_NONE;
    find_used(h);
    uint64_t above = 0; /* costs up to that one are passed over */
    for (nth %= candidates;; nth--) {
        uint64_t least = UINT64_MAX;
        for (uint32_t i = 0; i < h->hosts; i++) {
            if (!can_take(h, i)) continue;
            const uint64_t c = cost(h, own, i) + 1;
            if (c <= above || c >= least) continue;
            least = c;
            best = i;
        }
        if (nth == 0) return best;
        above = least;
    }
}

bool hark_holders_one_rack(const struct hark_holders *h)
{
    bool several = false, here = false, first = true;
    uint32_t rack = 0;
    for (uint32_t i = 0; i < h->hosts; i++) {
        several |= h->rack[i] != h->rack[0];
        if (!(h->flags[i] & HARK_HOLDERS_LIVES)) continue;
        here |= !first && h->rack[i] != rack;
        rack = h->rack[i];
        first = false;
    }
    return several && !here && !first;
}
