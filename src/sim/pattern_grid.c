/* pattern_grid.c: grids, rings, everyone to everyone, chance. */
#include <inttypes.h>
#include <stddef.h>

#include "hark/hark.h"
#include "pattern.h"

int sim_any_make(struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    (void)error;
    p->degree = o->degree;
    return 0;
}

/* px <= py, px * py = n, px as large as can be. */
int sim_grid_make2(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    (void)o;
    (void)error;
    for (uint32_t x = 1; (uint64_t)x * x <= p->ranks; x++)
        if (p->ranks % x == 0) p->size[0] = x;
    p->size[1] = p->ranks / p->size[0];
    return 0;
}

/* pz the largest divisor up to the cube root, then as in two dimensions. */
int sim_grid_make3(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    (void)o;
    (void)error;
    uint32_t z = 1;
    for (uint32_t k = 1; (uint64_t)k * k * k <= p->ranks; k++)
        if (p->ranks % k == 0) z = k;
    uint32_t rest = p->ranks / z;
    for (uint32_t x = 1; (uint64_t)x * x <= rest; x++)
        if (rest % x == 0) p->size[0] = x;
    p->size[1] = rest / p->size[0];
    p->size[2] = z;
    return 0;
}

/* Sends to all neighbours, then receives from all. */
static void exchange(
    struct sim_op *op, uint64_t place, uint32_t ways, uint32_t peer, const struct sim_pattern *p)
{
    op->kind = peer == UINT32_MAX ? SIM_NOTHING : place < ways ? SIM_SEND : SIM_RECEIVE;
    op->part = SIM_POINT;
    op->ctx = 0;
    op->peer = peer;
    op->group = 0;
    op->length = p->bytes;
}

uint64_t sim_stencil2(const struct sim_pattern *p, uint32_t rank, uint32_t iteration,
    uint64_t place, struct sim_op *op)
{
    (void)iteration;
    uint32_t px = p->size[0], way = (uint32_t)place & 3, peer = UINT32_MAX, x;
    if (place >= 8) {
        op->kind = SIM_END;
        return place;
    }
    switch (way) {
    case 0:
        if (rank >= px) peer = rank - px;
        break;
    case 1:
        x = rank % px;
        if (x > 0) peer = rank - 1;
        break;
    case 2:
        x = rank % px;
        if (x + 1 < px) peer = rank + 1;
        break;
    default:
        if (rank + px < p->ranks) peer = rank + px;
    }
    exchange(op, place, 4, peer, p);
    return place + 1;
}

uint64_t sim_stencil3(const struct sim_pattern *p, uint32_t rank, uint32_t iteration,
    uint64_t place, struct sim_op *op)
{
    (void)iteration;
    uint32_t px = p->size[0], py = p->size[1], plane = px * py, peer = UINT32_MAX;
    if (place >= 12) {
        op->kind = SIM_END;
        return place;
    }
    switch (place < 6 ? place : place - 6) {
    case 0:
        if (rank >= plane) peer = rank - plane;
        break;
    case 1:
        if (rank / px % py > 0) peer = rank - px;
        break;
    case 2:
        if (rank % px > 0) peer = rank - 1;
        break;
    case 3:
        if (rank % px + 1 < px) peer = rank + 1;
        break;
    case 4:
        if (rank / px % py + 1 < py) peer = rank + px;
        break;
    default:
        if (p->ranks - rank > plane) peer = rank + plane;
    }
    exchange(op, place, 6, peer, p);
    return place + 1;
}

uint64_t sim_ring(const struct sim_pattern *p, uint32_t rank, uint32_t iteration, uint64_t place,
    struct sim_op *op)
{
    (void)iteration;
    uint32_t n = p->ranks, peer = n < 2        ? UINT32_MAX
                                  : place == 0 ? (rank + 1) % n
                                               : (rank + n - 1) % n;
    exchange(op, place, 1, peer, p);
    if (place >= 2) op->kind = SIM_END;
    return place + 1;
}

uint64_t sim_alltoall(const struct sim_pattern *p, uint32_t rank, uint32_t iteration,
    uint64_t place, struct sim_op *op)
{
    (void)iteration;
    uint64_t n = p->ranks, ways = n - 1, k = place < ways ? place + 1 : place - ways + 1;
    op->kind = SIM_END;
    if (place >= 2 * ways) return place;
    exchange(
        op, place, (uint32_t)ways, (uint32_t)((place < ways ? rank + k : rank + n - k) % n), p);
    return place + 1;
}

/* ---- by chance ------------------------------------------------------------------------------- */

static uint32_t mix(uint64_t key, uint32_t x)
{
    uint64_t h = (key ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 32;
    h *= UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(h >> 32);
}

/* A permutation of 0 .. n-1, or its inverse: four Feistel rounds on the next even power of two,
 * again until the result is below n. */
static uint32_t permute(uint64_t key, uint32_t n, uint32_t x, bool inverse)
{
    unsigned half = 1;
    while (half < 16 && (UINT64_C(1) << (2 * half)) < n) half++;
    uint32_t mask = (UINT32_C(1) << half) - 1;
    do {
        uint32_t l = x >> half, r = x & mask;
        for (unsigned i = 0; i < 4; i++) {
            uint32_t t;
            if (inverse) {
                t = l;
                l = r ^ (mix(key + 3 - i, l) & mask);
                r = t;
            } else {
                t = r;
                r = l ^ (mix(key + i, r) & mask);
                l = t;
            }
        }
        x = l << half | r;
    } while (x >= n);
    return x;
}

uint64_t sim_random(const struct sim_pattern *p, uint32_t rank, uint32_t iteration, uint64_t place,
    struct sim_op *op)
{
    uint32_t ways = p->degree, k = (uint32_t)(place < ways ? place : place - ways);
    op->kind = SIM_END;
    if (place >= 2 * (uint64_t)ways) return place;
    uint64_t key =
        (p->seed * UINT64_C(0x9e3779b97f4a7c15) + iteration) * UINT64_C(0xbf58476d1ce4e5b9) +
        (uint64_t)k * 4;
    uint32_t peer = permute(key, p->ranks, rank, place >= ways);
    exchange(op, place, ways, peer == rank ? UINT32_MAX : peer, p);
    return place + 1;
}
