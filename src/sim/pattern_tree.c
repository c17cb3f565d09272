/* pattern_tree.c: programs of multicasts and reductions along trees. In a tree of slots 0, 1, 2 ...
 * the parents are those of group.h: of a binomial tree s without its lowest bit, of one with k
 * branches (s - 1) / k; each rank is in one slot at most. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hark/hark.h"
#include "pattern.h"

static void put(
    struct sim_op *op, uint8_t kind, uint8_t part, uint32_t peer, uint64_t group, uint64_t length)
{
    op->kind = kind;
    op->part = part;
    op->ctx = 0;
    op->peer = peer;
    op->group = (uint32_t)group;
    op->length = length;
}

/* A multicast that the group passes on: `root` sends it to all, the others take it from there. */
static void cast(struct sim_op *op, uint32_t slot, uint32_t slots, uint32_t root, uint64_t group,
    uint16_t ctx, uint64_t length)
{
    put(op, slot ? SIM_RECEIVE : SIM_CAST, SIM_MULTICAST, slot ? root : slots - 1, group, length);
    op->ctx = ctx;
}

/* A reduction of the group: everybody contributes, and the root takes the result. */
static void reduce(struct sim_op *op, uint32_t slot, bool take, uint32_t root, uint64_t group,
    uint16_t ctx, uint64_t length)
{
    put(op, take ? SIM_RECEIVE : SIM_CONTRIBUTE, SIM_REDUCTION, take ? root : slot != 0, group,
        length);
    op->ctx = ctx;
}

/* The slot above `slot`; of 0 its own. */
static uint32_t above_of(const struct sim_pattern *p, uint32_t slot)
{
    if (slot == 0) return 0;
    return p->branches ? (slot - 1) / p->branches : slot & (slot - 1);
}

/* The number-th child of `slot`, in a binomial tree the one with the most below it first; 0: there
 * is none. */
static uint32_t child(const struct sim_pattern *p, uint32_t slot, uint32_t slots, uint32_t number)
{
    if (number >= p->levels) return 0;
    if (p->branches) {
        uint64_t below = (uint64_t)slot * p->branches + number + 1;
        return below < slots ? (uint32_t)below : 0;
    }
    uint32_t bit = UINT32_C(1) << (p->levels - 1 - number);
    if (slot & bit || (slot & (bit - 1)) != 0) return 0;
    return slot + bit < slots ? slot + bit : 0;
}

/* The most children that one of a tree of `slots` has. */
static uint32_t most_children(const struct sim_pattern *p, uint32_t slots)
{
    uint32_t levels = 0;
    while (UINT64_C(1) << levels < slots) levels++;
    return p->branches ? p->branches : levels;
}

/* ---- leanmd ---------------------------------------------------------------------------------- */

enum { LEAN_AWAY = 2 };

/* LeanMD's own placing: the cells in blocks, z fastest; those of a cell's computes that it makes
 * itself, which are its own and those of the pairs with the neighbours behind it, one each on the
 * ranks behind its own. The others the neighbour makes. */
static uint32_t lean_home(const struct sim_pattern *p, uint64_t cell)
{
    uint64_t side = p->size[0];
    return (uint32_t)(cell * p->ranks / (side * side * side));
}

static uint32_t lean_pairs(const struct sim_pattern *p)
{
    return (2 * p->away[0] + 1) * (2 * p->away[1] + 1) * (2 * p->away[2] + 1);
}

/* The cell that is farther by `of`, counted from the first pair on, in one dimension. */
static uint64_t lean_beside(uint64_t at, uint32_t side, uint32_t away, uint32_t of)
{
    return (at + of + (uint64_t)side * away - away) % side;
}

/* Where the compute of pair `of` of cell c is. */
static uint32_t lean_rank(const struct sim_pattern *p, uint64_t cell, uint32_t of)
{
    uint32_t side = p->size[0], pairs = lean_pairs(p), ny = 2 * p->away[1] + 1,
             nz = 2 * p->away[2] + 1;
    if (of < pairs / 2) {
        uint64_t x = lean_beside(cell / side / side, side, p->away[0], of / (ny * nz)),
                 y = lean_beside(cell / side % side, side, p->away[1], of / nz % ny),
                 z = lean_beside(cell % side, side, p->away[2], of % nz);
        cell = (x * side + y) * side + z;
        of = pairs - 1 - of;
    }
    return (uint32_t)(((uint64_t)lean_home(p, cell) + 1 + of - pairs / 2) % p->ranks);
}

/* The slots of tree c: the ranks of the cell and of its computes, each once. */
static void lean_slots(struct sim_pattern *p, uint64_t cell)
{
    uint32_t *in = p->in_slot + cell * p->room, n = 1, pairs = lean_pairs(p);
    in[0] = lean_home(p, cell);
    for (uint32_t of = 0; of < pairs; of++) {
        uint32_t rank = lean_rank(p, cell, of), i = 0;
        while (i < n && in[i] != rank) i++;
        if (i == n) in[n++] = rank;
    }
    p->slots[cell] = (uint8_t)n;
}

int sim_leanmd_make(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    uint64_t cells = (uint64_t)o->cells * o->cells * o->cells, n = p->ranks;
    if (o->cells < 1 || o->cells > 512) {
        snprintf(error, SIM_ERROR, "leanmd: expected 1 to 512 cells on a side, found %" PRIu32,
            o->cells);
        return -1;
    }
    if (o->away[0] > LEAN_AWAY || o->away[1] > LEAN_AWAY || o->away[2] > LEAN_AWAY) {
        snprintf(error, SIM_ERROR,
            "leanmd: expected pairs of cells 0 to 2 away, found %" PRIu32 ",%" PRIu32 ",%" PRIu32,
            o->away[0], o->away[1], o->away[2]);
        return -1;
    }
    p->size[0] = o->cells;
    p->bytes = (uint64_t)o->atoms * 24; /* three coordinates, or forces, of each */
    p->contexts = cells * 2;
    p->casts = cells;
    p->room = lean_pairs(p) + 1; /* of cells at most 2 away: 126, a byte */
    p->levels = most_children(p, p->room);
    p->first = calloc(n + 2, sizeof *p->first);
    p->in_slot = malloc(cells * p->room * sizeof *p->in_slot);
    p->slots = malloc(cells);
    p->member = malloc(cells * p->room * sizeof *p->member);
    if (p->first == NULL || p->in_slot == NULL || p->slots == NULL || p->member == NULL) {
        snprintf(error, SIM_ERROR, "leanmd: no memory");
        return -1;
    }
    for (uint64_t c = 0; c < cells; c++) {
        lean_slots(p, c);
        for (uint32_t s = 0; s < p->slots[c]; s++) p->first[p->in_slot[c * p->room + s] + 2]++;
    }
    for (uint64_t i = 2; i <= n + 1; i++) p->first[i] += p->first[i - 1];
    for (uint64_t c = 0; c < cells; c++)
        for (uint32_t s = 0; s < p->slots[c]; s++)
            p->member[p->first[p->in_slot[c * p->room + s] + 1]++] = c << 8 | s;
    return 0;
}

uint32_t sim_leanmd_group(const struct sim_pattern *p, uint32_t rank, uint32_t number,
    uint16_t *ctx, uint32_t *member, uint32_t room)
{
    uint64_t mine = p->first[rank + 1] - p->first[rank];
    if (number >= 2 * mine) return 0;
    uint64_t cell = p->member[p->first[rank] + number % mine] >> 8;
    *ctx = (uint16_t)(number < mine ? cell + 1 : p->casts + cell + 1);
    for (uint32_t i = 0; i < p->slots[cell] && i < room; i++)
        member[i] = p->in_slot[cell * p->room + i];
    return p->slots[cell];
}

/* A multicast to or from the one above, and to those below; a reduction the other way round. */
static void lean_tree(const struct sim_pattern *p, uint64_t cell, uint32_t slot, bool down,
    uint32_t k, struct sim_op *op)
{
    uint32_t slots = p->slots[cell], other;
    bool above = down ? k == 0 : k == p->levels; /* to or from the parent */
    const uint32_t *in = p->in_slot + cell * p->room;
    put(op, SIM_NOTHING, 0, 0, 0, 0);
    if (down && p->groups) {
        if (above && slots > 1) cast(op, slot, slots, in[0], cell, (uint16_t)(cell + 1), p->bytes);
        return;
    }
    if (!down && p->reduces) {
        bool take = above && slot == 0;
        if ((take || k == 0) && slots > 1)
            reduce(op, slot, take, in[0], cell, (uint16_t)(p->casts + cell + 1), p->bytes);
        return;
    }
    if (above) other = above_of(p, slot);
    else other = child(p, slot, slots, down ? k - 1 : p->levels - 1 - k);
    if (above ? slot == 0 : other == 0) return;
    put(op, above == down ? SIM_RECEIVE : SIM_SEND, down ? SIM_MULTICAST : SIM_REDUCTION, in[other],
        cell, p->bytes);
}

/* All multicasts by tree, then all reductions the other way round: in that order nobody waits for
 * who waits for him. */
uint64_t sim_leanmd(const struct sim_pattern *p, uint32_t rank, uint32_t iteration, uint64_t place,
    struct sim_op *op)
{
    (void)iteration;
    uint64_t first = p->first[rank], mine = p->first[rank + 1] - first, places = p->levels + 1,
             all = mine * places;
    bool down = place < all;
    if (place >= 2 * all) {
        put(op, SIM_END, 0, 0, 0, 0);
        return place;
    }
    uint64_t m = p->member[first + (down ? place / places : mine - 1 - (place - all) / places)];
    lean_tree(p, m >> 8, m & 0xff, down, (uint32_t)(place % places), op);
    return place + 1;
}

/* ---- openatom -------------------------------------------------------------------------------- */

enum { ATOM_CASTS = UINT16_MAX / 2 };

int sim_openatom_make(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    if (o->cells < 1 || o->cells > p->ranks) {
        snprintf(error, SIM_ERROR,
            "openatom: expected groups of 1 to %" PRIu32 " processes, found %" PRIu32, p->ranks,
            o->cells);
        return -1;
    }
    p->size[0] = o->cells;
    p->casts = ATOM_CASTS;
    p->levels = most_children(p, o->cells);
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

uint32_t sim_openatom_group(const struct sim_pattern *p, uint32_t rank, uint32_t number,
    uint16_t *ctx, uint32_t *member, uint32_t room)
{
    uint32_t base = rank - rank % p->size[0], slots = atom_slots(p, base);
    if (number > 1) return 0;
    *ctx = (uint16_t)(atom_ctx(p, base) + (number ? ATOM_CASTS : 0));
    for (uint32_t i = 0; i < slots && i < room; i++) member[i] = base + i;
    return slots;
}

/* Place k of a multicast and the reduction back. */
static void atom_tree(
    const struct sim_pattern *p, uint32_t slot, uint32_t base, uint32_t k, struct sim_op *op)
{
    uint32_t levels = p->levels, slots = atom_slots(p, base), other;
    bool down = k <= levels;
    if (down && p->groups) {
        if (k == 0 && slots > 1) cast(op, slot, slots, base, base, atom_ctx(p, base), p->bytes);
    } else if (!down && p->reduces) {
        bool take = k == 2 * levels + 1 && slot == 0;
        uint16_t ctx = (uint16_t)(atom_ctx(p, base) + ATOM_CASTS);
        if ((take || k == levels + 1) && slots > 1)
            reduce(op, slot, take, base, base, ctx, p->bytes);
    } else if (k == 0 || k == 2 * levels + 1) {
        if (slot)
            put(op, down ? SIM_RECEIVE : SIM_SEND, down ? SIM_MULTICAST : SIM_REDUCTION,
                base + above_of(p, slot), base, p->bytes);
    } else {
        other = child(p, slot, slots, down ? k - 1 : 2 * levels - k);
        if (other)
            put(op, down ? SIM_SEND : SIM_RECEIVE, down ? SIM_MULTICAST : SIM_REDUCTION,
                base + other, base, p->bytes);
    }
}

/* A multicast in the group, the reduction back; then each but the first of a group sends to the
 * process as far on as a group is long. */
uint64_t sim_openatom(const struct sim_pattern *p, uint32_t rank, uint32_t iteration,
    uint64_t place, struct sim_op *op)
{
    (void)iteration;
    uint32_t size = p->size[0], slot = rank % size, levels = p->levels, k = (uint32_t)place;
    uint32_t shift = size < p->ranks ? size : 1;
    put(op, SIM_NOTHING, 0, 0, 0, 0);
    if (k <= 2 * levels + 1) {
        atom_tree(p, slot, rank - slot, k, op);
    } else if (k == 2 * levels + 2) {
        if (slot)
            put(op, SIM_SEND, SIM_POINT, (uint32_t)(((uint64_t)rank + shift) % p->ranks), 0,
                p->bytes);
    } else if (k == 2 * levels + 3) {
        uint32_t from = (uint32_t)(((uint64_t)rank + p->ranks - shift) % p->ranks);
        if (from % size) put(op, SIM_RECEIVE, SIM_POINT, from, 0, p->bytes);
    } else {
        put(op, SIM_END, 0, 0, 0, 0);
    }
    return place + 1;
}
