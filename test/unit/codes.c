/* Erasure codes over sets of hosts: every set of up to eight hosts, data of random lengths, none
 * among them, and every loss that the code is for: what was lost is computed, and is what it was.
 * And the sets: of all that one rack takes with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/agent/code.h"
#include "../../src/supervisor/code_sets.h"

#define MOST    8u
#define LONGEST 700u /* bytes of what a host has in one stripe */

struct world {
    struct hark_code code;
    uint8_t in[MOST][MOST][LONGEST]; /* what each host has in each stripe; 0 behind its end */
};

static uint64_t state = 1;
static uint32_t random_below(uint32_t n)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

static void sum(const struct world *w, uint32_t stripe, const uint8_t *factor, uint8_t *out)
{
    memset(out, 0, LONGEST);
    for (uint32_t i = 0; i < w->code.hosts; i++)
        if (factor[i]) hark_code_add(out, w->in[i][stripe], LONGEST, factor[i]);
}

static void make(struct world *w, uint32_t hosts, uint32_t parity)
{
    const uint8_t all[MOST] = {1, 1, 1, 1, 1, 1, 1, 1};
    uint8_t have[MOST], factor[MOST];
    memset(w, 0, sizeof *w);
    w->code = (struct hark_code){hosts, parity};
    for (uint32_t h = 0; h < hosts; h++)
        for (uint32_t c = 0; c < hosts - parity; c++) {
            const uint32_t length = random_below(3) ? random_below(LONGEST) : 0;
            for (uint32_t i = 0; i < length; i++)
                w->in[h][hark_code_stripe(&w->code, h, c)][i] = (uint8_t)random_below(256);
        }
    for (uint32_t h = 0; h < hosts; h++)
        for (uint32_t p = 0; p < parity; p++) {
            const uint32_t stripe = hark_code_parity_stripe(&w->code, h, p);
            for (uint32_t i = 0; i < hosts; i++)
                have[i] = all[i] && hark_code_chunk(&w->code, stripe, i) != HARK_CODE_NONE;
            assert_true(hark_code_factors(&w->code, stripe, h, have, factor));
            sum(w, stripe, factor, w->in[h][stripe]);
        }
}

static uint32_t ones(uint32_t bits)
{
    uint32_t n = 0;
    for (; bits; bits &= bits - 1) n++;
    return n;
}

static void lose(const struct world *w, uint32_t lost)
{
    const uint32_t hosts = w->code.hosts;
    uint8_t have[MOST], factor[MOST], out[LONGEST];
    for (uint32_t i = 0; i < hosts; i++) have[i] = !(lost >> i & 1);
    for (uint32_t h = 0; h < hosts; h++)
        for (uint32_t stripe = 0; (lost >> h & 1) && stripe < hosts; stripe++) {
            const bool can = hark_code_factors(&w->code, stripe, h, have, factor);
            assert_int_equal(can, ones(lost) <= w->code.parity);
            if (!can) continue;
            for (uint32_t i = 0; i < hosts; i++) assert_true(have[i] || factor[i] == 0);
            sum(w, stripe, factor, out);
            assert_memory_equal(out, w->in[h][stripe], LONGEST);
        }
}

static void every_loss(void **unused)
{
    static struct world w;
    (void)unused;
    assert_true(hark_code_built(1));
    assert_false(hark_code_built(0));
    for (uint32_t hosts = 2; hosts <= MOST; hosts++)
        for (uint32_t parity = 1; parity < hosts && hark_code_built(parity); parity++)
            for (int round = 0; round < 3; round++) {
                make(&w, hosts, parity);
                for (uint32_t lost = 0; lost < 1u << hosts; lost++)
                    if (ones(lost) <= parity + 1) lose(&w, lost);
            }
}

/* Each host has all of its chunks, and its parity, in stripes of their own. */
static void layout(void **unused)
{
    (void)unused;
    for (uint32_t hosts = 2; hosts <= HARK_CODE_MOST; hosts++)
        for (uint32_t parity = 1; parity < hosts; parity++) {
            const struct hark_code c = {hosts, parity};
            for (uint32_t h = 0; h < hosts; h++)
                for (uint32_t s = 0; s < hosts; s++) {
                    const uint32_t chunk = hark_code_chunk(&c, s, h),
                                   p = hark_code_parity(&c, s, h);
                    assert_true((chunk == HARK_CODE_NONE) != (p == HARK_CODE_NONE));
                    if (p != HARK_CODE_NONE) assert_int_equal(hark_code_parity_stripe(&c, h, p), s);
                    else assert_int_equal(hark_code_stripe(&c, h, chunk), s);
                }
        }
    const struct hark_code c = {4, 1};
    assert_int_equal(hark_code_rows(&c, 0), 0);
    assert_int_equal(hark_code_rows(&c, 1), 1);
    assert_int_equal(hark_code_rows(&c, 3 * HARK_CODE_UNIT), 1);
    assert_int_equal(hark_code_rows(&c, 3 * HARK_CODE_UNIT + 1), 2);
    assert_int_equal(hark_code_rows(&c, UINT64_MAX), UINT64_MAX / (3 * HARK_CODE_UNIT) + 1);
}

/* Lengths and alignments that vector instructions do not like. */
static void sums(void **unused)
{
    uint8_t to[200], from[200], as[200];
    (void)unused;
    for (uint32_t round = 0; round < 20000; round++) {
        const uint32_t length = random_below(130), a = random_below(64), b = random_below(64);
        const uint8_t factor = (uint8_t)(hark_code_built(2) ? random_below(256) : random_below(2));
        for (uint32_t i = 0; i < sizeof to; i++)
            to[i] = as[i] = (uint8_t)random_below(256), from[i] = (uint8_t)random_below(256);
        hark_code_add(to + a, from + b, length, factor);
        for (uint32_t i = 0; i < length; i++) { /* by the definition, polynomial 0x11d */
            uint32_t x = from[b + i], product = 0;
            for (uint32_t f = factor; f; f >>= 1, x = x << 1 ^ (x >> 7 & 1) * 0x11du)
                product ^= f & 1 ? x : 0;
            as[a + i] ^= (uint8_t)product;
        }
        assert_memory_equal(to, as, sizeof to);
    }
}

static void check_sets(const uint32_t *rack, uint32_t count, uint32_t least)
{
    uint32_t set[64], size[64] = {0}, in[64][64] = {{0}}, of_rack[64] = {0}, together, most = 0;
    const uint32_t sets = hark_code_sets(rack, count, least, set, &together);
    assert_int_equal(sets, count < least ? 1 : count / least);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(set[i] < sets);
        size[set[i]]++;
        in[set[i]][rack[i]]++;
        of_rack[rack[i]]++;
    }
    for (uint32_t s = 0; s < sets; s++) {
        assert_true(size[s] == count / sets || size[s] == count / sets + 1);
        assert_true(size[s] < 2 * least);
        for (uint32_t r = 0; r < 64; r++) {
            assert_true(in[s][r] <= (of_rack[r] + sets - 1) / sets);
            if (in[s][r] > most) most = in[s][r];
        }
    }
    assert_int_equal(together, most);
}

static void sets(void **unused)
{
    uint32_t rack[64];
    (void)unused;
    for (uint32_t round = 0; round < 5000; round++) {
        const uint32_t count = 1 + random_below(64), racks = 1 + random_below(12);
        for (uint32_t i = 0; i < count; i++) rack[i] = random_below(racks);
        check_sets(rack, count, 2 + random_below(12));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layout), cmocka_unit_test(sums),
        cmocka_unit_test(every_loss), cmocka_unit_test(sets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
