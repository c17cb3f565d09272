/* code.c: see code.h. */
#include "code.h"

#include <string.h>

#if HARK_ISAL
#include <isa-l.h>
#endif

bool hark_code_built(uint32_t parity)
{
    return parity == 1 || (parity > 1 && HARK_ISAL);
}

static uint32_t chunks(const struct hark_code *c)
{
    return c->hosts - c->parity;
}

uint64_t hark_code_rows(const struct hark_code *c, uint64_t length)
{
    const uint64_t row = (uint64_t)chunks(c) * HARK_CODE_UNIT;
    return length / row + (length % row != 0);
}

/* Counted from the first that holds parity. */
static uint32_t behind(const struct hark_code *c, uint32_t stripe, uint32_t host)
{
    return (host + c->hosts - stripe) % c->hosts;
}

uint32_t hark_code_parity(const struct hark_code *c, uint32_t stripe, uint32_t host)
{
    const uint32_t at = behind(c, stripe, host);
    return at < c->parity ? at : HARK_CODE_NONE;
}

uint32_t hark_code_chunk(const struct hark_code *c, uint32_t stripe, uint32_t host)
{
    const uint32_t at = behind(c, stripe, host);
    return at < c->parity ? HARK_CODE_NONE : at - c->parity;
}

uint32_t hark_code_parity_stripe(const struct hark_code *c, uint32_t host, uint32_t parity)
{
    return (host + c->hosts - parity) % c->hosts;
}

uint32_t hark_code_stripe(const struct hark_code *c, uint32_t host, uint32_t chunk)
{
    return hark_code_parity_stripe(c, host, c->parity + chunk);
}

/* ---- factors --------------------------------------------------------------------------------- */

#if HARK_ISAL
/* A row for each that has something in a stripe, the data first: it as a sum of the data. */
static uint8_t *row_of(const struct hark_code *c, uint8_t *matrix, uint32_t stripe, uint32_t host)
{
    const uint32_t parity = hark_code_parity(c, stripe, host),
                   row = parity == HARK_CODE_NONE ? hark_code_chunk(c, stripe, host)
                                                  : chunks(c) + parity;
    return matrix + (size_t)row * chunks(c);
}

static bool reed_solomon(const struct hark_code *c, uint32_t stripe, uint32_t host,
    const uint32_t *used, uint8_t *factor)
{
    uint8_t all[HARK_CODE_MOST * HARK_CODE_MOST], rows[HARK_CODE_MOST * HARK_CODE_MOST],
        inverse[HARK_CODE_MOST * HARK_CODE_MOST];
    const uint32_t k = chunks(c);
    gf_gen_cauchy1_matrix(all, (int)c->hosts, (int)k);
    for (uint32_t i = 0; i < k; i++)
        memcpy(rows + (size_t)i * k, row_of(c, all, stripe, used[i]), k);
    if (gf_invert_matrix(rows, inverse, (int)k) != 0) return false;
    const uint8_t *wanted = row_of(c, all, stripe, host);
    for (uint32_t i = 0; i < k; i++)
        for (uint32_t d = 0; d < k; d++)
            factor[used[i]] ^= gf_mul(wanted[d], inverse[(size_t)d * k + i]);
    return true;
}
#else
static bool reed_solomon(const struct hark_code *c, uint32_t stripe, uint32_t host,
    const uint32_t *used, uint8_t *factor)
{
    (void)c, (void)stripe, (void)host, (void)used, (void)factor;
    return false;
}
#endif

bool hark_code_factors(
    const struct hark_code *c, uint32_t stripe, uint32_t host, const uint8_t *have, uint8_t *factor)
{
    uint32_t used[HARK_CODE_MOST], count = 0;
    memset(factor, 0, c->hosts);
    for (uint32_t i = 0; i < c->hosts && count < chunks(c); i++) { /* data first */
        const uint32_t h = (stripe + c->parity + i) % c->hosts;
        if (h != host && have[h]) used[count++] = h;
    }
    if (count < chunks(c)) return false;
    if (c->parity > 1) return reed_solomon(c, stripe, host, used, factor);
    for (uint32_t i = 0; i < count; i++) factor[used[i]] = 1;
    return true;
}

void hark_code_add(uint8_t *to, const uint8_t *from, size_t length, uint8_t factor)
{
#if HARK_ISAL
    if (factor > 1) {
        uint8_t table[32], *source = (uint8_t *)(uintptr_t)from;
        ec_init_tables(1, 1, &factor, table);
        ec_encode_data_update((int)length, 1, 1, 0, table, source, &to);
        return;
    }
#endif
    for (size_t i = 0; factor && i < length; i++) to[i] ^= from[i];
}
