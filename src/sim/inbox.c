/* inbox.c: the first message of a channel in a list of them. A usual list is short and walked
 * along; in a long one, such as that of a process to which all send, the walks would take time by
 * the square of the messages, so it gets an index by channel. The list itself stays as it is: what
 * is added to it goes into the index when something is looked for there next. */
#include <string.h>

#include "parts.h"

struct node {                      /* a frame of the list */
    uint32_t frame, before, after; /* nodes beside it in the list; SIM_NONE */
    uint32_t next;                 /* of the same channel; of those that are free */
};

struct channel {
    uint64_t source; /* sim_source() */
    uint32_t first, last;
    bool taken; /* false: a slot that is free */
};

struct sim_index {
    struct node *node;
    struct channel *slot; /* by a hash of the source, then the next ones; half of them stay free */
    uint32_t room, free;  /* of nodes */
    uint32_t last;        /* node: what stands behind it in the list is not in the index yet */
    uint32_t slots, used; /* slots: a power of two */
};

enum { NODES = 128, SLOTS = 128 }; /* at first */

static void *take(struct sim *s, uint64_t bytes)
{
    void *at = sim_arena_take(&s->arena, &bytes);
    if (at == NULL) sim_no_memory(s);
    return at;
}

static uint64_t source_of(const struct sim *s, uint32_t frame)
{
    const struct sim_frame *f = sim_frame(s, frame);
    return sim_source(sim_from(s, f), hark_get16(sim_header(f) + 2));
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool more_nodes(struct sim *s, struct sim_index *x)
{
    const uint32_t room = x->room ? x->room * 2 : NODES;
    struct node *node = take(s, room * sizeof *node);
    if (node == NULL) return false;
    if (x->room) memcpy(node, x->node, x->room * sizeof *node);
    sim_arena_give(&s->arena, x->node, x->room * sizeof *node);
    for (uint32_t i = x->room; i < room; i++) node[i].next = i + 1 < room ? i + 1 : SIM_NONE;
    x->free = x->room;
    x->node = node;
    x->room = room;
    return true;
}

/* ---- channels -------------------------------------------------------------------------------- */

/* The channel, or the free slot where it is to be. */
static struct channel *slot_of(const struct sim_index *x, uint64_t source)
{
    uint32_t i = (uint32_t)(sim_mix(source, 0) >> 16) & (x->slots - 1);
    while (x->slot[i].taken && x->slot[i].source != source) i = (i + 1) & (x->slots - 1);
    return &x->slot[i];
}

/* Channels without messages are left behind. */
static bool more_slots(struct sim *s, struct sim_index *x)
{
    struct sim_index wider = *x;
    wider.slots = x->slots ? x->slots * 2 : SLOTS;
    wider.used = 0;
    wider.slot = take(s, wider.slots * sizeof *wider.slot);
    if (wider.slot == NULL) return false;
    memset(wider.slot, 0, wider.slots * sizeof *wider.slot);
    for (uint32_t i = 0; i < x->slots; i++) {
        if (!x->slot[i].taken || x->slot[i].first == SIM_NONE) continue;
        *slot_of(&wider, x->slot[i].source) = x->slot[i];
        wider.used++;
    }
    sim_arena_give(&s->arena, x->slot, x->slots * sizeof *x->slot);
    *x = wider;
    return true;
}

/* ---- the index ------------------------------------------------------------------------------- */

static struct sim_index *make(struct sim *s, struct sim_process *p)
{
    struct sim_index *x = take(s, sizeof *x);
    if (x == NULL) return NULL;
    *x = (struct sim_index){.free = SIM_NONE, .last = SIM_NONE};
    if (!more_slots(s, x)) return NULL;
    p->indexed = 1;
    return x;
}

/* The frame that stands behind all that are in it. */
static bool add(struct sim *s, struct sim_index *x, uint32_t frame)
{
    const uint64_t source = source_of(s, frame);
    if (x->free == SIM_NONE && !more_nodes(s, x)) return false;
    if (x->used * 2 >= x->slots && !more_slots(s, x)) return false;
    const uint32_t n = x->free;
    x->free = x->node[n].next;
    x->node[n] = (struct node){frame, x->last, SIM_NONE, SIM_NONE};
    if (x->last != SIM_NONE) x->node[x->last].after = n;
    x->last = n;
    struct channel *c = slot_of(x, source);
    if (!c->taken) {
        *c = (struct channel){source, SIM_NONE, SIM_NONE, true};
        x->used++;
    }
    if (c->first == SIM_NONE) c->first = n;
    else x->node[c->last].next = n;
    c->last = n;
    return true;
}

static bool catch_up(struct sim *s, struct sim_index *x, const struct sim_list *l)
{
    uint32_t f = x->last == SIM_NONE ? l->head : sim_frame(s, x->node[x->last].frame)->next;
    for (; f != SIM_NONE; f = sim_frame(s, f)->next)
        if (!add(s, x, f)) return false;
    return true;
}

uint32_t sim_index_find(struct sim *s, struct sim_process *p, const struct sim_list *l,
    const struct sim_op *op, uint32_t *before)
{
    struct sim_index **x = sim_index_of(p, l);
    *before = SIM_NONE;
    if (*x == NULL) *x = make(s, p);
    if (*x == NULL || !catch_up(s, *x, l)) return SIM_NONE;
    const struct channel *c = slot_of(*x, sim_source(op->peer, op->ctx));
    if (!c->taken || c->first == SIM_NONE) return SIM_NONE;
    const struct node *n = &(*x)->node[c->first];
    if (n->before != SIM_NONE) *before = (*x)->node[n->before].frame;
    return n->frame;
}

void sim_index_take_out(
    struct sim *s, struct sim_process *p, const struct sim_list *l, uint32_t frame)
{
    struct sim_index *x = *sim_index_of(p, l);
    if (x == NULL) return;
    if (l->head == SIM_NONE) {
        sim_index_drop(s, p, l);
        return;
    }
    struct channel *c = slot_of(x, source_of(s, frame));
    const uint32_t n = c->taken ? c->first : SIM_NONE;
    if (n == SIM_NONE || x->node[n].frame != frame) return; /* not in the index yet */
    struct node *node = &x->node[n];
    c->first = node->next;
    if (node->before != SIM_NONE) x->node[node->before].after = node->after;
    if (node->after != SIM_NONE) x->node[node->after].before = node->before;
    else x->last = node->before;
    node->next = x->free;
    x->free = n;
}

void sim_index_drop(struct sim *s, struct sim_process *p, const struct sim_list *l)
{
    struct sim_index **at = sim_index_of(p, l), *x = *at;
    if (x == NULL) return;
    sim_arena_give(&s->arena, x->node, x->room * sizeof *x->node);
    sim_arena_give(&s->arena, x->slot, x->slots * sizeof *x->slot);
    sim_arena_give(&s->arena, x, sizeof *x);
    *at = NULL;
    p->indexed = p->inbox_index || p->late_index;
}
