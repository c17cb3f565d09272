/* pattern_tree.c: programs of multicasts and reductions along binomial trees. In a tree of slots 0, 1, 2 ... the
 * parent of slot s is s without its lowest bit, as in group.h, and each rank is in one slot at most. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hark/hark.h"
#include "pattern.h"

static void put(struct sim_op *op, uint8_t kind, uint8_t part, uint32_t peer, uint64_t group, uint64_t length)
{
    op->kind = kind;
    op->part = part;
    op->ctx = 0;
    op->peer = peer;
    op->group = (uint32_t)group;
    op->length = length;
}

/* A multicast that the group passes on: `root` sends it to all, the others take it from there. */
static void cast(struct sim_op *op, uint32_t slot, uint32_t slots, uint32_t root, uint64_t group, uint16_t ctx,
    uint64_t length)
{
    put(op, slot ? SIM_RECEIVE : SIM_CAST, SIM_MULTICAST, slot ? root : slots - 1, group, length);
    op->ctx = ctx;
}

/* A reduction of the group: everybody contributes, and the root takes the result. */
static void reduce(struct sim_op *op, uint32_t slot, bool take, uint32_t root, uint64_t group, uint16_t ctx, uint64_t length)
{
    put(op, take ? SIM_RECEIVE : SIM_CONTRIBUTE, SIM_REDUCTION, take ? root : slot != 0, group, length);
    op->ctx = ctx;
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

/* Where cell c is (`of` 0), and the compute of the pair of c with its neighbour in direction of - 1 of 27 (13: itself). Of
 * the two directions of a pair the lower one names the compute. */
static uint32_t lean_rank(const struct sim_pattern *p, uint64_t cell, uint32_t of)
{
    uint64_t side = p->size[0], cells = side * side * side;
    if (of == 0) return (uint32_t)(cell * p->ranks / cells);
    uint64_t d = of - 1;
    if (d > 13) {
        uint64_t x = (cell % side + d % 3 + side - 1) % side, y = (cell / side % side + d / 3 % 3 + side - 1) % side,
                 z = (cell / side / side + d / 9 + side - 1) % side;
        cell = x + side * (y + side * z);
        d = 26 - d;
    }
    return (uint32_t)((cell * 14 + d) % p->ranks);
}

/* The slots of tree c: the ranks of the cell and of its computes, each once. */
static void lean_slots(struct sim_pattern *p, uint64_t cell)
{
    uint32_t *in = p->in_slot + cell * LEAN_SLOTS, n = 0;
    for (uint32_t of = 0; of < LEAN_SLOTS; of++) {
        uint32_t rank = lean_rank(p, cell, of), i = 0;
        while (i < n && in[i] != rank)
            i++;
        if (i == n) in[n++] = rank;
    }
    p->slots[cell] = (uint8_t)n;
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
    p->contexts = cells * 2;
    p->casts = cells;
    p->first = calloc(n + 2, sizeof *p->first);
    p->in_slot = malloc(cells * LEAN_SLOTS * sizeof *p->in_slot);
    p->slots = malloc(cells);
    p->member = malloc(cells * LEAN_SLOTS * sizeof *p->member);
    if (p->first == NULL || p->in_slot == NULL || p->slots == NULL || p->member == NULL) {
        snprintf(error, SIM_ERROR, "leanmd: no memory");
        return -1;
    }
    for (uint64_t c = 0; c < cells; c++) {
        lean_slots(p, c);
        for (uint32_t s = 0; s < p->slots[c]; s++)
            p->first[p->in_slot[c * LEAN_SLOTS + s] + 2]++;
    }
    for (uint64_t i = 2; i <= n + 1; i++)
        p->first[i] += p->first[i - 1];
    for (uint64_t c = 0; c < cells; c++)
        for (uint32_t s = 0; s < p->slots[c]; s++)
            p->member[p->first[p->in_slot[c * LEAN_SLOTS + s] + 1]++] = c << 8 | s;
    return 0;
}

uint32_t sim_leanmd_group(
    const struct sim_pattern *p, uint32_t rank, uint32_t number, uint16_t *ctx, uint32_t *member, uint32_t room)
{
    uint64_t mine = p->first[rank + 1] - p->first[rank];
    if (number >= 2 * mine) return 0;
    uint64_t cell = p->member[p->first[rank] + number % mine] >> 8;
    *ctx = (uint16_t)(number < mine ? cell + 1 : p->casts + cell + 1);
    for (uint32_t i = 0; i < p->slots[cell] && i < room; i++)
        member[i] = p->in_slot[cell * LEAN_SLOTS + i];
    return p->slots[cell];
}

/* A multicast to or from the one above, and to those below; a reduction the other way round. */
static void lean_tree(const struct sim_pattern *p, uint64_t cell, uint32_t slot, bool down, uint32_t k, struct sim_op *op)
{
    uint32_t slots = p->slots[cell], other;
    bool above = down ? k == 0 : k == LEAN_PLACES - 1; /* to or from the parent */
    const uint32_t *in = p->in_slot + cell * LEAN_SLOTS;
    put(op, SIM_NOTHING, 0, 0, 0, 0);
    if (down && p->groups) {
        if (above && slots > 1) cast(op, slot, slots, in[0], cell, (uint16_t)(cell + 1), p->bytes);
        return;
    }
    if (p->groups) {
        bool take = above && slot == 0;
        if ((take || k == 0) && slots > 1) reduce(op, slot, take, in[0], cell, (uint16_t)(p->casts + cell + 1), p->bytes);
        return;
    }
    if (above)
        other = slot & (slot - 1);
    else
        other = child(slot, slots, LEAN_LEVELS, down ? k - 1 : LEAN_LEVELS - 1 - k);
    if (above ? slot == 0 : other == 0) return;
    put(op, above == down ? SIM_RECEIVE : SIM_SEND, down ? SIM_MULTICAST : SIM_REDUCTION, in[other], cell, p->bytes);
}

/* All multicasts by tree, then all reductions the other way round: in that order nobody waits for who waits for him. */
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
    lean_tree(p, m >> 8, m & 0xff, down, (uint32_t)(place % LEAN_PLACES), op);
    return place + 1;
}

/* ---- openatom
 * --------------------------------------------------------------------------------------------------------- */

enum { ATOM_CASTS = UINT16_MAX / 2 };

int sim_openatom_make(struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    if (o->cells < 1 || o->cells > p->ranks) {
        snprintf(error, SIM_ERROR, "openatom: expected groups of 1 to %" PRIu32 " processes, found %" PRIu32,
            p->ranks, o->cells);
        return -1;
    }
    p->size[0] = o->cells;
    p->casts = ATOM_CASTS;
    while (UINT64_C(1) << p->levels < o->cells)
        p->levels++;
    return 0;
}

static uint32_t atom_slots(const struct sim_pattern *p, uint32_t base)
{
    return p->ranks - base < p->size[0] ? p->ranks - base : p->size[0];
}

/* Nobody is in two groups: their numbers may come again. */
static uint16_t atom_ctx(const struct sim_pattern *p, uint32_t base)
{
    return (uint16_t)(base / p->size[0] % ATOM_CASTS + 1);
}

uint32_t sim_openatom_group(
    const struct sim_pattern *p, uint32_t rank, uint32_t number, uint16_t *ctx, uint32_t *member, uint32_t room)
{
    uint32_t base = rank - rank % p->size[0], slots = atom_slots(p, base);
    if (number > 1) return 0;
    *ctx = (uint16_t)(atom_ctx(p, base) + (number ? ATOM_CASTS : 0));
    for (uint32_t i = 0; i < slots && i < room; i++)
        member[i] = base + i;
    return slots;
}

/* Place k of a multicast and the reduction back. */
static void atom_tree(const struct sim_pattern *p, uint32_t slot, uint32_t base, uint32_t k, struct sim_op *op)
{
    uint32_t levels = p->levels, slots = atom_slots(p, base), other;
    bool down = k <= levels;
    if (down && p->groups) {
        if (k == 0 && slots > 1) cast(op, slot, slots, base, base, atom_ctx(p, base), p->bytes);
    } else if (p->groups) {
        bool take = k == 2 * levels + 1 && slot == 0;
        uint16_t ctx = (uint16_t)(atom_ctx(p, base) + ATOM_CASTS);
        if ((take || k == levels + 1) && slots > 1) reduce(op, slot, take, base, base, ctx, p->bytes);
    } else if (k == 0 || k == 2 * levels + 1) {
        if (slot)
            put(op, down ? SIM_RECEIVE : SIM_SEND, down ? SIM_MULTICAST : SIM_REDUCTION, base + (slot & (slot - 1)),
                base, p->bytes);
    } else {
        other = child(slot, slots, levels, down ? k - 1 : 2 * levels - k);
        if (other)
            put(op, down ? SIM_SEND : SIM_RECEIVE, down ? SIM_MULTICAST : SIM_REDUCTION, base + other, base, p->bytes);
    }
}

/* A multicast in the group, the reduction back; then each but the first of a group sends to the process as far on as
 * a group is long. */
uint64_t sim_openatom(
    const struct sim_pattern *p, uint32_t rank, uint32_t iteration, uint64_t place, struct sim_op *op)
{
    (void)iteration;
    uint32_t size = p->size[0], slot = rank % size, levels = p->levels, k = (uint32_t)place;
    uint32_t shift = size < p->ranks ? size : 1;
    put(op, SIM_NOTHING, 0, 0, 0, 0);
    if (k <= 2 * levels + 1) {
        atom_tree(p, slot, rank - slot, k, op);
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
