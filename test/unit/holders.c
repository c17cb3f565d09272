/* Which hosts hold images: all small jobs, and many larger ones by chance. Whatever hosts die at
 * once, one fewer than hold each image, or a whole rack, none of the images of the last decided
 * wave is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/supervisor/holders.h"

#define MOST 64

struct world {
    uint32_t hosts, copies;
    uint32_t rack[MOST], place[MOST], cluster[MOST];
    uint8_t lives[MOST], flags[MOST], used[MOST];
    uint8_t has[MOST][MOST]; /* of each host's image of the last wave: who has it */
};

static struct hark_holders of(struct world *w, uint32_t image)
{
    struct hark_holders h = {w->hosts, w->rack, w->place, w->flags, w->used};
    for (uint32_t i = 0; i < w->hosts; i++)
        w->flags[i] = (uint8_t)((w->lives[i] ? HARK_HOLDERS_LIVES : 0) |
                                (w->has[image][i] ? HARK_HOLDERS_HAS : 0) |
                                (w->cluster[i] == w->cluster[image] ? HARK_HOLDERS_KIN : 0));
    return h;
}

static uint32_t racks_that_live(const struct world *w)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->hosts; i++) {
        bool first = w->lives[i];
        for (uint32_t k = 0; k < i; k++) first &= !w->lives[k] || w->rack[k] != w->rack[i];
        count += first;
    }
    return count;
}

static uint32_t holders(const struct world *w, uint32_t image)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->hosts; i++) count += w->has[image][i] && w->lives[i];
    return count;
}

/* How many racks hold it. */
static uint32_t spread(const struct world *w, uint32_t image)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->hosts; i++) {
        bool first = w->has[image][i];
        for (uint32_t k = 0; k < i; k++) first &= !w->has[image][k] || w->rack[k] != w->rack[i];
        count += first;
    }
    return count;
}

/* Each living host writes an image, and copies go to others until the wave may be decided. */
static void wave(struct world *w)
{
    memset(w->has, 0, sizeof w->has);
    for (uint32_t image = 0; image < w->hosts; image++) {
        if (!w->lives[image]) continue;
        w->has[image][image] = 1;
        for (;;) {
            struct hark_holders h = of(w, image);
            if (holders(w, image) >= hark_holders_needed(&h, w->copies)) break;
            const uint32_t to = hark_holders_next(&h, image, 0);
            assert_true(to < w->hosts && w->lives[to] && !w->has[image][to]);
            w->has[image][to] = 1;
        }
        struct hark_holders h = of(w, image);
        const uint32_t living = hark_holders_needed(&h, UINT32_MAX), racks = racks_that_live(w);
        const uint32_t want = w->copies < living ? w->copies : living;
        assert_int_equal(holders(w, image), want);
        assert_int_equal(spread(w, image), want < racks ? want : racks);
    }
}

/* The hosts of `dying` die: what of the last wave is still to be had? */
static void all_survive(struct world *w, uint64_t dying)
{
    for (uint32_t image = 0; image < w->hosts; image++) {
        uint32_t left = 0;
        for (uint32_t i = 0; i < w->hosts; i++)
            left += w->has[image][i] && w->lives[i] && !(dying >> i & 1);
        if (w->lives[image]) assert_int_not_equal(left, 0);
    }
}

static uint32_t bits(uint64_t set)
{
    return (uint32_t)__builtin_popcountll(set);
}

static uint64_t living_set(const struct world *w)
{
    uint64_t set = 0;
    for (uint32_t i = 0; i < w->hosts; i++) set |= (uint64_t)w->lives[i] << i;
    return set;
}

static void check(struct world *w)
{
    const uint64_t living = living_set(w);
    wave(w);
    for (uint64_t dying = 0; dying <= living; dying++) { /* all sets of so few that some live */
        if (dying & ~living || dying == living || bits(dying) >= w->copies) continue;
        all_survive(w, dying);
    }
    if (w->copies < 2 || racks_that_live(w) < 2) return;
    for (uint32_t r = 0; r < w->hosts; r++) {
        uint64_t dying = 0;
        for (uint32_t i = 0; i < w->hosts; i++)
            if (w->lives[i] && w->rack[i] == r) dying |= UINT64_C(1) << i;
        all_survive(w, dying);
    }
}

static void ring(struct world *w)
{
    struct hark_holders h = {w->hosts, w->rack, w->place, w->flags, w->used};
    uint64_t seen = 0;
    assert_true(hark_holders_ring(&h));
    for (uint32_t i = 0; i < w->hosts; i++) {
        assert_true(w->place[i] < w->hosts);
        seen |= UINT64_C(1) << w->place[i];
    }
    assert_int_equal(bits(seen), w->hosts);
}

/* Up to six hosts in up to three racks and two clusters, any of them dead before the wave. */
static void small_jobs(void **state)
{
    (void)state;
    static struct world w;
    for (w.hosts = 1; w.hosts <= 6; w.hosts++) {
        uint32_t all = 1;
        for (uint32_t i = 0; i < w.hosts; i++) all *= 3;
        for (uint32_t racks = 0; racks < all; racks++) {
            for (uint32_t i = 0, left = racks; i < w.hosts; i++, left /= 3)
                w.rack[i] = left % 3 % w.hosts;
            ring(&w);
            for (uint32_t living = 1; living < 1u << w.hosts; living++) {
                for (uint32_t i = 0; i < w.hosts; i++) {
                    w.lives[i] = living >> i & 1;
                    w.cluster[i] = (racks + living) % 4 ? i : i / 2;
                }
                for (w.copies = 1; w.copies <= 4; w.copies++) check(&w);
            }
        }
    }
}

static uint32_t chance(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % below;
}

static void large_jobs(void **state)
{
    (void)state;
    static struct world w;
    uint64_t seed = 1;
    for (uint32_t n = 0; n < 2000; n++) {
        w.hosts = 9 + chance(&seed, MOST - 9);
        const uint32_t racks = 1 + chance(&seed, 9), clusters = 1 + chance(&seed, w.hosts);
        for (uint32_t i = 0; i < w.hosts; i++) {
            w.rack[i] = chance(&seed, racks);
            w.cluster[i] = chance(&seed, clusters);
            w.lives[i] = chance(&seed, 5) != 0;
        }
        w.copies = 1 + chance(&seed, 5);
        ring(&w);
        wave(&w);
        for (uint32_t tries = 0; tries < 100; tries++) {
            uint64_t dying = 0;
            while (bits(dying) + 1 < w.copies) {
                const uint64_t one = UINT64_C(1) << chance(&seed, w.hosts);
                dying |= one;
            }
            if (living_set(&w) & ~dying) all_survive(&w, dying & living_set(&w));
        }
    }
}

/* With as many hosts in each rack every host holds as many images as any other: none fills its disk
 * before the others do. */
static void shared_evenly(void **state)
{
    (void)state;
    static struct world w;
    for (uint32_t racks = 1; racks <= 4; racks++)
        for (uint32_t size = 1; size <= 5; size++)
            for (uint32_t turn = 0; turn < 2; turn++) {
                w.hosts = racks * size;
                for (uint32_t i = 0; i < w.hosts; i++) {
                    w.rack[i] = turn ? i % racks : i / size;
                    w.cluster[i] = i;
                    w.lives[i] = 1;
                }
                ring(&w);
                for (w.copies = 2; w.copies <= (racks > 1 ? racks : w.hosts); w.copies++) {
                    wave(&w);
                    for (uint32_t i = 0; i < w.hosts; i++) {
                        uint32_t held = 0;
                        for (uint32_t image = 0; image < w.hosts; image++) held += w.has[image][i];
                        assert_int_equal(held, w.copies);
                    }
                }
            }
}

/* Another rack comes before another cluster, that before the next host; and all are tried in turn.
 */
static void in_this_order(void **state)
{
    (void)state;
    static struct world w = {.hosts = 5,
        .rack = {0, 0, 0, 1, 1},
        .cluster = {0, 0, 1, 0, 2},
        .lives = {1, 1, 1, 1, 1},
        .has = {{1}}};
    ring(&w);
    struct hark_holders h = of(&w, 0);
    const uint32_t turns[] = {4, 3, 2, 1};
    for (uint32_t n = 0; n < 9; n++) assert_int_equal(hark_holders_next(&h, 0, n), turns[n % 4]);
    assert_false(hark_holders_one_rack(&h));
    w.lives[3] = w.lives[4] = 0;
    h = of(&w, 0);
    assert_true(hark_holders_one_rack(&h));
    assert_int_equal(hark_holders_next(&h, 0, 0), 2);
    w.lives[1] = w.lives[2] = 0;
    h = of(&w, 0);
    assert_int_equal(hark_holders_next(&h, 0, 0), HARK_HOLDERS_NONE);
    assert_true(hark_holders_one_rack(&h));
    for (uint32_t i = 0; i < w.hosts; i++) w.rack[i] = 0;
    assert_false(hark_holders_one_rack(&h));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(small_jobs), cmocka_unit_test(large_jobs),
        cmocka_unit_test(shared_evenly), cmocka_unit_test(in_this_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
