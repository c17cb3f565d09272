/* pattern_nas.c: the messages of the NAS parallel benchmarks (NPB 3.4), by their process grids. */
#include <inttypes.h>
#include <stdio.h>

#include "hark/hark.h"
#include "pattern.h"

static unsigned log2_of(uint32_t n)
{
    return 31 - (unsigned)__builtin_clz(n);
}

static void put(struct sim_op *op, uint8_t kind, uint32_t peer, uint64_t length)
{
    op->kind = kind;
    op->part = SIM_POINT;
    op->ctx = 0;
    op->peer = peer;
    op->group = 0;
    op->length = length;
}

static void end(struct sim_op *op)
{
    put(op, SIM_END, 0, 0);
}

int sim_square_make(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    uint32_t side = 1;
    while ((uint64_t)(side + 1) * (side + 1) <= p->ranks) side++;
    p->size[0] = side;
    if (side * side == p->ranks) return 0;
    snprintf(error, SIM_ERROR, "%s: expected a square number of ranks, found %" PRIu32, o->name,
        p->ranks);
    return -1;
}

/* A grid of two powers of two, the second the larger one. */
int sim_two_make(struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    if (p->ranks & (p->ranks - 1)) {
        snprintf(error, SIM_ERROR, "%s: expected a power of two as number of ranks, found %" PRIu32,
            o->name, p->ranks);
        return -1;
    }
    p->levels = log2_of(p->ranks);
    p->size[0] = UINT32_C(1) << p->levels / 2;
    p->size[1] = p->ranks / p->size[0];
    p->degree = o->planes;
    return 0;
}

/* One of three, the last the largest. */
int sim_two3_make(struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    if (sim_two_make(p, o, error) < 0) return -1;
    unsigned k = log2_of(p->ranks);
    for (unsigned d = 0; d < 3; d++) p->size[d] = UINT32_C(1) << (k + d) / 3;
    return 0;
}

/* ---- CG -------------------------------------------------------------------------------------- */

static uint32_t cg_half(const struct sim_pattern *p, uint32_t rank, unsigned stage)
{
    uint32_t columns = p->size[1], column = rank % columns, factor = columns >> stage;
    return rank - column + (column + factor / 2) % factor + column / factor * factor;
}

static uint32_t cg_transposed(const struct sim_pattern *p, uint32_t rank)
{
    uint32_t rows = p->size[0];
    if (p->size[1] == rows) return rank % rows * rows + rank / rows;
    return 2 * (rank / 2 % rows * rows + rank / 2 / rows) + rank % 2;
}

/* Stages of two places: sums (columns halved), the transposition, twice the same sums of 8 bytes.
 */
uint64_t sim_nas_cg(const struct sim_pattern *p, uint32_t rank, uint32_t iteration, uint64_t place,
    struct sim_op *op)
{
    (void)iteration;
    unsigned l = log2_of(p->size[1]), stage = (unsigned)(place / 2);
    uint8_t kind = place % 2 ? SIM_RECEIVE : SIM_SEND;
    if (stage < l) {
        put(op, kind, cg_half(p, rank, stage), p->bytes);
    } else if (stage == l) {
        put(op, kind, cg_transposed(p, rank), p->bytes);
        if (op->peer == rank) op->kind = SIM_NOTHING;
    } else if (stage < 3 * l + 1) {
        put(op, kind, cg_half(p, rank, (stage - l - 1) % l), 8);
    } else {
        end(op);
    }
    return place + 1;
}

/* ---- BT, SP ---------------------------------------------------------------------------------- */

/* The neighbour of a multipartition of q x q processes in direction 0 .. 2, forward or back. */
static uint32_t bt_peer(uint32_t q, uint32_t rank, unsigned direction, bool forward)
{
    uint32_t row = rank / q, column = rank % q, up = forward ? 1 : q - 1,
             down = forward ? q - 1 : 1;
    switch (direction) {
    case 0: return row * q + (column + up) % q;
    case 1: return (row + up) % q * q + column;
    default: return (row + up) % q * q + (column + down) % q;
    }
}

/* Faces: 6 sends, 6 receives; then for each direction q - 1 stages forward and q - 1 back, each a
 * send and a receive.
 */
uint64_t sim_nas_bt(const struct sim_pattern *p, uint32_t rank, uint32_t iteration, uint64_t place,
    struct sim_op *op)
{
    (void)iteration;
    uint32_t q = p->size[0];
    uint64_t sweep = 2 * (uint64_t)(q - 1);
    if (q == 1) {
        end(op);
    } else if (place < 12) {
        bool sends = place < 6;
        unsigned k = (unsigned)(place % 6);
        put(op, sends ? SIM_SEND : SIM_RECEIVE, bt_peer(q, rank, k / 2, (k % 2 == 0) == sends),
            p->bytes);
    } else if (place - 12 < 6 * sweep) {
        uint64_t k = place - 12;
        bool forward = k / sweep % 2 == 0, sends = k % 2 == 0;
        put(op, sends ? SIM_SEND : SIM_RECEIVE,
            bt_peer(q, rank, (unsigned)(k / sweep / 2), forward == sends), p->bytes);
    } else {
        end(op);
    }
    return place + 1;
}

/* ---- LU -------------------------------------------------------------------------------------- */

/* 0 north, 1 west, 2 south, 3 east; `rank` beyond the edge. */
static uint32_t lu_peer(const struct sim_pattern *p, uint32_t rank, unsigned way)
{
    uint32_t x = p->size[0], row = rank % x, column = rank / x;
    switch (way) {
    case 0: return row > 0 ? rank - 1 : rank;
    case 1: return column > 0 ? rank - x : rank;
    case 2: return row + 1 < x ? rank + 1 : rank;
    default: return column + 1 < p->size[1] ? rank + x : rank;
    }
}

/* Each plane: receives from two sides, sends to the two others; all planes, then all from the other
 * corner; then faces. */
uint64_t sim_nas_lu(const struct sim_pattern *p, uint32_t rank, uint32_t iteration, uint64_t place,
    struct sim_op *op)
{
    (void)iteration;
    uint64_t planes = p->degree, sweeps = 8 * planes;
    unsigned k = (unsigned)(place % 4);
    if (place < sweeps) {
        unsigned way = place < 4 * planes ? k : (k + 2) % 4;
        put(op, k < 2 ? SIM_RECEIVE : SIM_SEND, lu_peer(p, rank, way), p->bytes);
    } else if (place < sweeps + 8) {
        put(op, place < sweeps + 4 ? SIM_SEND : SIM_RECEIVE, lu_peer(p, rank, k), p->bytes);
    } else {
        end(op);
    }
    if (op->kind != SIM_END && op->peer == rank) op->kind = SIM_NOTHING;
    return place + 1;
}

/* ---- MG -------------------------------------------------------------------------------------- */

enum { MG_FINE = 6 };

/* Levels of 12 places. On the fine ones all exchange with their neighbours, faces a quarter as
 * large from level to level; then those whose coordinates, from 1, are multiples of 2, 4 ... with
 * the next of these. Dimension after dimension, as the corners need it. */
uint64_t sim_nas_mg(const struct sim_pattern *p, uint32_t rank, uint32_t iteration, uint64_t place,
    struct sim_op *op)
{
    (void)iteration;
    unsigned level = (unsigned)(place / 12), k = (unsigned)(place % 12) / 4,
             way = (unsigned)(place % 2);
    uint32_t stride = level < MG_FINE ? 1 : UINT32_C(2) << (level - MG_FINE), at[3];
    at[0] = rank % p->size[0];
    at[1] = rank / p->size[0] % p->size[1];
    at[2] = rank / p->size[0] / p->size[1];
    if (stride >= p->size[2] && level >= MG_FINE) {
        end(op);
        return place + 1;
    }
    bool active = true, sends = place % 4 < 2;
    for (int d = 0; d < 3; d++)
        active &= (at[d] + 1) % (stride < p->size[d] ? stride : p->size[d]) == 0;
    uint32_t size = p->size[k], step = way ^ !sends ? stride : size - stride % size;
    uint64_t length = p->bytes >> (level < 16 ? 2 * level : 32);
    if (!active || stride >= size) {
        put(op, SIM_NOTHING, 0, 0);
        return place + 1;
    }
    at[k] = (at[k] + step) % size;
    put(op, sends ? SIM_SEND : SIM_RECEIVE, at[0] + p->size[0] * (at[1] + p->size[1] * at[2]),
        length ? length : 8);
    return place + 1;
}
