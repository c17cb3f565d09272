/* balance_settle.c: what is still too much on a PE goes to any other one, of any team, in
 * exchange for something lighter: where that brings the two within the limit, or else lowers the
 * fuller of them most; of such exchanges the one that costs least. Then, where there are few
 * objects, pairs of them are exchanged as long as that costs less than nothing. */
#include "balance_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOTHING UINT32_MAX

struct exchange { /* a leaves the fullest PE for `to`; b comes from there, or nothing */
    uint64_t most;
    int64_t cost;
    uint32_t a, b, to;
};

struct settle {
    struct balance *w;
    uint32_t *team;   /* of objects: changed with w->pe */
    uint64_t *own;    /* bytes between each object and its team */
    uint64_t *there;  /* bytes between each object and the fullest PE's team */
    uint64_t *with;   /* bytes between `a` and each object; 0 but while its exchanges are tried */
    uint64_t *to;     /* bytes between `a` and each team; so as well */
    uint32_t *object; /* on the fullest PE */
    uint32_t from, count;
};

static void meet_all(struct settle *s)
{
    const struct hark_graph *g = s->w->graph;
    uint32_t team = s->from / s->w->size;
    for (uint32_t i = 0; i < s->w->objects; i++) {
        s->own[i] = s->there[i] = 0;
        for (uint64_t k = g->first[i]; k < g->first[i + 1]; k++) {
            uint32_t t = s->team[g->column[k]];
            if (t == s->team[i]) s->own[i] += g->weight[k];
            if (t == team) s->there[i] += g->weight[k];
        }
    }
}

static void meet(struct settle *s, uint32_t a, bool set)
{
    const struct hark_graph *g = s->w->graph;
    for (uint64_t k = g->first[a]; k < g->first[a + 1]; k++) {
        uint32_t t = s->team[g->column[k]];
        s->with[g->column[k]] = set ? g->weight[k] : 0;
        s->to[t] = set ? s->to[t] + g->weight[k] : 0;
    }
}

/* What moving costs, for an object that goes from a PE to another. */
static int64_t move_cost(const struct balance *w, uint32_t object, uint32_t from, uint32_t to)
{
    int64_t move = (int64_t)w->asked->move;
    return (w->now[object] == from ? move : 0) - (w->now[object] == to ? move : 0);
}

static int64_t cost_of(const struct settle *s, uint32_t a, uint32_t b, uint32_t to)
{
    int64_t cost =
        move_cost(s->w, a, s->from, to) + (b == NOTHING ? 0 : move_cost(s->w, b, to, s->from));
    uint32_t team = to / s->w->size;
    if (team == s->from / s->w->size) return cost;
    cost += (int64_t)s->own[a] - (int64_t)s->to[team];
    if (b == NOTHING) return cost;
    return cost + (int64_t)s->own[b] - (int64_t)s->there[b] + 2 * (int64_t)s->with[b]; /* the two do
                                                                                          not come
                                                                                          together
                                                                                        */
}

static void try_exchange(
    const struct settle *s, uint32_t a, uint32_t b, uint32_t to, struct exchange *best)
{
    const struct balance *w = s->w;
    uint64_t out = w->load[a], in = b == NOTHING ? 0 : w->load[b];
    if (in >= out || to == s->from) return;
    uint64_t x = w->sum[s->from] - out + in, y = w->sum[to] + out - in, most = x > y ? x : y;
    if (most >= w->sum[s->from]) return;
    if (most < w->limit) most = w->limit;
    if (most > best->most) return;
    int64_t cost = cost_of(s, a, b, to);
    if (most == best->most && best->a != NOTHING && cost >= best->cost) return;
    *best = (struct exchange){most, cost, a, b, to};
}

/* As above, but only what costs less than nothing, with both PEs at most at `bound`. */
static void try_cheaper(const struct settle *s, uint32_t a, uint32_t b, uint32_t to, uint64_t bound,
    struct exchange *best)
{
    const struct balance *w = s->w;
    uint64_t out = w->load[a], in = b == NOTHING ? 0 : w->load[b];
    if (to == s->from || w->sum[s->from] - out + in > bound || w->sum[to] + out - in > bound)
        return;
    int64_t cost = cost_of(s, a, b, to);
    if (cost < best->cost) *best = (struct exchange){bound, cost, a, b, to};
}

static void perform(struct settle *s, const struct exchange *x)
{
    struct balance *w = s->w;
    uint64_t out = w->load[x->a], in = x->b == NOTHING ? 0 : w->load[x->b];
    w->sum[s->from] = w->sum[s->from] - out + in;
    w->sum[x->to] = w->sum[x->to] + out - in;
    w->pe[x->a] = x->to;
    s->team[x->a] = x->to / w->size;
    if (x->b == NOTHING) return;
    w->pe[x->b] = s->from;
    s->team[x->b] = s->from / w->size;
}

static bool settle_once(struct settle *s)
{
    struct balance *w = s->w;
    struct exchange best = {UINT64_MAX, 0, NOTHING, NOTHING, 0};
    s->from = s->count = 0;
    for (uint32_t p = 1; p < w->pes; p++)
        if (w->sum[p] > w->sum[s->from]) s->from = p;
    if (w->sum[s->from] <= w->limit) return false;
    meet_all(s);
    for (uint32_t i = 0; i < w->objects; i++)
        if (w->pe[i] == s->from) s->object[s->count++] = i;
    for (uint32_t k = 0; k < s->count; k++) {
        meet(s, s->object[k], true);
        for (uint32_t p = 0; p < w->pes; p++) try_exchange(s, s->object[k], NOTHING, p, &best);
        for (uint32_t b = 0; b < w->objects; b++) try_exchange(s, s->object[k], b, w->pe[b], &best);
        meet(s, s->object[k], false);
    }
    if (best.a != NOTHING) perform(s, &best);
    return best.a != NOTHING;
}

static bool cheaper_once(struct settle *s, uint32_t a, uint64_t bound)
{
    const struct balance *w = s->w;
    struct exchange best = {UINT64_MAX, 0, NOTHING, NOTHING, 0};
    s->from = w->pe[a];
    meet_all(s);
    meet(s, a, true);
    for (uint32_t p = 0; p < w->pes; p++) try_cheaper(s, a, NOTHING, p, bound, &best);
    for (uint32_t b = 0; b < w->objects; b++)
        if (b != a) try_cheaper(s, a, b, w->pe[b], bound, &best);
    meet(s, a, false);
    if (best.a != NOTHING) perform(s, &best);
    return best.a != NOTHING;
}

static void cheaper_all(struct settle *s)
{
    const struct balance *w = s->w;
    const struct balance_share all = {0, w->pes, w->objects, w->order};
    uint64_t places = w->graph->first[w->objects], bound = hark_balance_most(w, &all);
    if (w->objects > 10000) return; /* not one pass then */
    uint64_t passes = 50000000 / (w->objects * (2 * (uint64_t)w->objects + w->pes + places));
    if (bound < w->limit) bound = w->limit;
    for (bool more = true; more && passes > 0; passes--) {
        more = false;
        for (uint32_t a = 0; a < w->objects; a++) more |= cheaper_once(s, a, bound);
    }
}

static void settle_all(struct settle *s)
{
    const struct balance *w = s->w;
    uint64_t places = w->graph->first[w->objects], each = 1 + (uint64_t)w->objects / w->pes;
    if (w->objects > 50000000) return; /* not one round then */
    uint64_t rounds = 50000000 / ((w->objects + (uint64_t)w->pes) * each + places + 1);
    while (rounds-- > 0 && settle_once(s))
        ;
    cheaper_all(s);
}

int hark_balance_settle(struct balance *w, uint32_t *team)
{
    size_t n = w->objects;
    struct settle s = {w, team, malloc(n * sizeof *s.own), malloc(n * sizeof *s.there),
        calloc(n, sizeof *s.with), calloc(w->teams, sizeof *s.to), malloc(n * sizeof *s.object), 0,
        0};
    bool room = s.own && s.there && s.with && s.to && s.object;
    if (room) settle_all(&s);
    free(s.own);
    free(s.there);
    free(s.with);
    free(s.to);
    free(s.object);
    return room ? 0 : -ENOMEM;
}
