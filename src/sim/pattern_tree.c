/* pattern_tree.c: programs of multicasts and reductions along binomial trees. In a tree of slots 0, 1, 2 ... the
 * parent of slot s is s without its lowest bit. A rank may be in several slots; what passes between two of its own is
 * no message. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hark/hark.h"
#include "pattern.h"

static void put(struct sim_op *op, uint8_t kind, uint8_t part, uint32_t peer, uint64_t group, uint64_t length)
{
    op->kind = kind;
    op->part = part;
    op->peer = peer;
    op->group = (uint32_t)group;
    op->length = length;
}

/* The child of `slot` by its bit, the one with the most below it first; 0: there is none. */
static uint32_t child(uint32_t slot, uint32_t slots, uint32_t levels, uint32_t number)
{
    if (number >= levels) return 0;
    uint32_t bit = UINT32_C(1) << (levels - 1 - number);
    if (slot & bit || (slot & (bit - 1)) != 0) return 0;
    return slot + bit < slots ? slot + bit : 0;
}

/* ---- leanmd
 * ----------------------------------------------------------------------------------------------------------- */

enum { LEAN_SLOTS = 28, LEAN_LEVELS = 5, LEAN_PLACES = LEAN_LEVELS + 1 };

/* Slot 0 of tree c is cell c; slot 1 + d is the compute of the pair of c with its neighbour in direction d of 27 (13:
 * itself). Of the two directions of a pair the lower one names the compute. */
static uint32_t lean_rank(const struct sim_pattern *p, uint64_t cell, uint32_t slot)
{
    uint64_t side = p->size[0], cells = side * side * side;
    if (slot == 0) return (uint32_t)(cell * p->ranks / cells);
    uint64_t d = slot - 1;
    if (d > 13) {
        uint64_t x = (cell % side + d % 3 + side - 1) % side, y = (cell / side % side + d / 3 % 3 + side - 1) % side,
                 z = (cell / side / side + d / 9 + side - 1) % side;
        cell = x + side * (y + side * z);
        d = 26 - d;
    }
    return (uint32_t)((cell * 14 + d) % p->ranks);
}

int sim_leanmd_make(struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    uint64_t cells = (uint64_t)o->cells * o->cells * o->cells, n = p->ranks;
    if (o->cells < 1 || o->cells > 512) {
        snprintf(error, SIM_ERROR, "leanmd: expected 1 to 512 cells on a side, found %" PRIu32, o->cells);
        return -1;
    }
    p->size[0] = o->cells;
    p->bytes = (uint64_t)o->atoms * 24; /* three coordinates, or forces, of each */
    p->first = calloc(n + 2, sizeof *p->first);
    p->member = malloc(cells * LEAN_SLOTS * sizeof *p->member);
    if (p->first == NULL || p->member == NULL) {
        snprintf(error, SIM_ERROR, "leanmd: no memory");
        return -1;
    }
    for (uint64_t c = 0; c < cells; c++)
        for (uint32_t s = 0; s < LEAN_SLOTS; s++)
            p->first[lean_rank(p, c, s) + 2]++;
    for (uint64_t i = 2; i <= n + 1; i++)
        p->first[i] += p->first[i - 1];
    for (uint64_t c = 0; c < cells; c++)
        for (uint32_t s = 0; s < LEAN_SLOTS; s++)
            p->member[p->first[lean_rank(p, c, s) + 1]++] = c << 8 | s;
    return 0;
}

/* All multicasts by tree and slot, then all reductions the other way round: in that order nobody waits for who waits
 * for him. */
uint64_t sim_leanmd(const struct sim_pattern *p, uint32_t rank, uint32_t iteration, uint64_t place, struct sim_op *op)
{
    (void)iteration;
    uint64_t first = p->first[rank], mine = p->first[rank + 1] - first, all = mine * LEAN_PLACES;
    bool down = place < all;
    if (place >= 2 * all) {
        put(op, SIM_END, 0, 0, 0, 0);
        return place;
    }
    uint64_t m = p->member[first + (down ? place / LEAN_PLACES : mine - 1 - (place - all) / LEAN_PLACES)];
    uint32_t slot = m & 0xff, k = (uint32_t)(place % LEAN_PLACES), other;
    bool above = down ? k == 0 : k == LEAN_PLACES - 1; /* to or from the parent */
    if (above)
        other = slot & (slot - 1);
    else
        other = child(slot, LEAN_SLOTS, LEAN_LEVELS, down ? k - 1 : LEAN_LEVELS - 1 - k);
    if (above ? slot == 0 : other == 0) {
        put(op, SIM_NOTHING, 0, 0, 0, 0);
        return place + 1;
    }
    uint32_t peer = lean_rank(p, m >> 8, other);
    uint8_t kind = peer == rank ? SIM_NOTHING : above == down ? SIM_RECEIVE : SIM_SEND;
    put(op, kind, down ? SIM_MULTICAST : SIM_REDUCTION, peer, m >> 8, p->bytes);
    return place + 1;
}

/* ---- openatom
 * --------------------------------------------------------------------------------------------------------- */

int sim_openatom_make(struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    if (o->cells < 1 || o->cells > p->ranks) {
        snprintf(error, SIM_ERROR, "openatom: expected groups of 1 to %" PRIu32 " processes, found %" PRIu32,
            p->ranks, o->cells);
        return -1;
    }
    p->size[0] = o->cells;
    while (UINT64_C(1) << p->levels < o->cells)
        p->levels++;
    return 0;
}

/* A multicast in the group, the reduction back; then each but the first of a group sends to the process as far on as
 * a group is long. */
uint64_t sim_openatom(
    const struct sim_pattern *p, uint32_t rank, uint32_t iteration, uint64_t place, struct sim_op *op)
{
    (void)iteration;
    uint32_t size = p->size[0], slot = rank % size, base = rank - slot, levels = p->levels, k = (uint32_t)place;
    uint32_t slots = p->ranks - base < size ? p->ranks - base : size, shift = size < p->ranks ? size : 1, other = 0;
    put(op, SIM_NOTHING, 0, 0, 0, 0);
    if (k == 0 || k == 2 * levels + 1) {
        bool down = k == 0;
        if (slot)
            put(op, down ? SIM_RECEIVE : SIM_SEND, down ? SIM_MULTICAST : SIM_REDUCTION, base + (slot & (slot - 1)),
                base, p->bytes);
    } else if (k <= levels) {
        other = child(slot, slots, levels, k - 1);
        if (other) put(op, SIM_SEND, SIM_MULTICAST, base + other, base, p->bytes);
    } else if (k <= 2 * levels) {
        other = child(slot, slots, levels, 2 * levels - k);
        if (other) put(op, SIM_RECEIVE, SIM_REDUCTION, base + other, base, p->bytes);
    } else if (k == 2 * levels + 2) {
        if (slot) put(op, SIM_SEND, SIM_POINT, (uint32_t)(((uint64_t)rank + shift) % p->ranks), 0, p->bytes);
    } else if (k == 2 * levels + 3) {
        uint32_t from = (uint32_t)(((uint64_t)rank + p->ranks - shift) % p->ranks);
        if (from % size) put(op, SIM_RECEIVE, SIM_POINT, from, 0, p->bytes);
    } else {
        put(op, SIM_END, 0, 0, 0, 0);
    }
    return place + 1;
}
