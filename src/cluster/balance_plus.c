/* balance_plus.c: team+: the bytes that are logged and the objects that move, with no PE beyond the
 * limit.
 *
 * Maps are made from the teams as they are, from those that team comes to, and from several cuts of
 * the graph; parts are named after the teams that most of their objects are in. In all but team's,
 * objects move between teams while that makes the cost (bytes logged, and `move` for each object in
 * another place than now) less: first with teams that may be fuller than they are to be, then with
 * less and less of that, and what is too much goes where it costs least. Inside a team objects stay
 * where they are as far as no PE is beyond the limit. Of the maps the one whose fullest PE is
 * lowest is taken; of those within the limit, the one that costs least. */
#include "balance_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PASSES = 8 };

struct option { /* an object that may move */
    double key;
    uint32_t object;
};

struct plus {
    struct balance *w;
    uint64_t limit;          /* of a team */
    uint32_t *team, *better; /* of objects; the best so far of a candidate */
    uint64_t *sum;           /* of teams */
    uint64_t *to; /* bytes between an object and each team; those that are not 0 are in `met` */
    uint32_t *met, mets;
    uint32_t *object, *first; /* objects by team */
    uint32_t *best, *name;    /* the best map; new names of teams */
    struct option *option;
    uint64_t best_most, best_cost;
    uint32_t best_moved;
};

static uint32_t home(const struct plus *p, uint32_t object)
{
    return p->w->now[object] / p->w->size;
}

/* ---- what a move costs ----------------------------------------------------------------------- */

static void meet(struct plus *p, uint32_t object)
{
    const struct hark_graph *g = p->w->graph;
    while (p->mets) p->to[p->met[--p->mets]] = 0;
    for (uint64_t k = g->first[object]; k < g->first[object + 1]; k++) {
        uint32_t t = p->team[g->column[k]];
        if (g->weight[k] == 0 || g->column[k] == object) continue;
        if (p->to[t] == 0) p->met[p->mets++] = t;
        p->to[t] += g->weight[k];
    }
}

static int64_t cost_of(const struct plus *p, uint32_t object, uint32_t to)
{
    uint32_t from = p->team[object], at = home(p, object);
    int64_t move = (int64_t)p->w->asked->move;
    return (int64_t)p->to[from] - (int64_t)p->to[to] + (from == at ? move : 0) -
           (to == at ? move : 0);
}

static void if_cheaper(const struct plus *p, uint32_t object, uint32_t to, uint64_t limit,
    uint32_t *best, int64_t *cost)
{
    if (to == p->team[object] || p->sum[to] + p->w->load[object] > limit) return;
    int64_t c = cost_of(p, object, to);
    if (*best == UINT32_MAX || c < *cost || (c == *cost && to < *best)) {
        *best = to;
        *cost = c;
    }
}

/* Where it would cost least: teams that it talks to, its own, `other`. UINT32_MAX: nowhere is room.
 */
static uint32_t where(
    struct plus *p, uint32_t object, uint64_t limit, uint32_t other, int64_t *cost)
{
    uint32_t best = UINT32_MAX;
    meet(p, object);
    for (uint32_t i = 0; i < p->mets; i++) if_cheaper(p, object, p->met[i], limit, &best, cost);
    if_cheaper(p, object, home(p, object), limit, &best, cost);
    if_cheaper(p, object, other, limit, &best, cost);
    return best;
}

static void move_to(struct plus *p, uint32_t object, uint32_t to)
{
    p->sum[p->team[object]] -= p->w->load[object];
    p->sum[to] += p->w->load[object];
    p->team[object] = to;
}

/* ---- passes over all objects ----------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const struct option *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->object < y->object ? -1 : x->object > y->object;
}

static uint32_t lightest(const struct plus *p)
{
    uint32_t t = 0;
    for (uint32_t i = 1; i < p->w->teams; i++)
        if (p->sum[i] < p->sum[t]) t = i;
    return t;
}

/* Moves that make the cost less. Returns how many. */
static uint32_t improve(struct plus *p, uint64_t limit)
{
    uint32_t count = 0, moved = 0;
    int64_t cost;
    for (uint32_t i = 0; i < p->w->objects; i++) {
        if (where(p, i, limit, p->team[i], &cost) == UINT32_MAX || cost >= 0) continue;
        p->option[count++] = (struct option){(double)cost, i};
    }
    qsort(p->option, count, sizeof *p->option, by_key);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t i = p->option[k].object, to = where(p, i, limit, p->team[i], &cost);
        if (to == UINT32_MAX || cost >= 0) continue; /* since then others have moved */
        move_to(p, i, to);
        moved++;
    }
    return moved;
}

/* Moves out of teams that have too much, those first that cost least for their load. Returns how
 * many. */
static uint32_t relieve(struct plus *p)
{
    uint32_t count = 0, moved = 0, other = lightest(p);
    int64_t cost = 0;
    for (uint32_t i = 0; i < p->w->objects; i++) {
        if (p->sum[p->team[i]] <= p->limit || p->w->load[i] == 0) continue;
        if (where(p, i, p->limit, other, &cost) == UINT32_MAX) continue;
        p->option[count++] = (struct option){(double)cost / (double)p->w->load[i], i};
    }
    qsort(p->option, count, sizeof *p->option, by_key);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t i = p->option[k].object;
        if (p->sum[p->team[i]] <= p->limit) continue;
        uint32_t to = where(p, i, p->limit, other, &cost);
        if (to == UINT32_MAX) continue;
        move_to(p, i, to);
        moved++;
    }
    return moved;
}

/* ---- a candidate: teams ---------------------------------------------------------------------- */

static void team_sums(struct plus *p)
{
    memset(p->sum, 0, p->w->teams * sizeof *p->sum);
    for (uint32_t i = 0; i < p->w->objects; i++) p->sum[p->team[i]] += p->w->load[i];
}

/* The fullest team, but at least the limit; and what the teams cost. */
static uint64_t teams_cost(struct plus *p, uint64_t *cost)
{
    uint64_t most = p->limit;
    for (uint32_t t = 0; t < p->w->teams; t++)
        if (p->sum[t] > most) most = p->sum[t];
    *cost = hark_balance_logged(p->w, p->team);
    for (uint32_t i = 0; i < p->w->objects; i++)
        if (p->team[i] != home(p, i)) *cost += p->w->asked->move;
    return most;
}

static void improve_teams(struct plus *p)
{
    static const uint32_t beyond[] = {0, 100, 50, 25, 12, 6, 0}; /* thousandths that a team may have
                                                                    more for a while */
    uint64_t most, cost, best_most = UINT64_MAX, best_cost = UINT64_MAX;
    team_sums(p);
    for (size_t r = 0; r < sizeof beyond / sizeof beyond[0]; r++) {
        uint64_t limit = p->limit + balance_thousandths(p->limit, beyond[r]);
        for (int i = 0; i < PASSES && improve(p, limit); i++)
            ;
        for (int i = 0; i < PASSES && relieve(p); i++)
            ;
        for (int i = 0; i < PASSES && improve(p, p->limit); i++)
            ;
        most = teams_cost(p, &cost);
        if (most > best_most || (most == best_most && cost >= best_cost)) continue;
        best_most = most;
        best_cost = cost;
        memcpy(p->better, p->team, p->w->objects * sizeof *p->team);
    }
    memcpy(p->team, p->better, p->w->objects * sizeof *p->team);
}

/* ---- a candidate: PEs ------------------------------------------------------------------------ */

static uint32_t moved_of(const struct plus *p, const struct balance_share *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->objects; i++)
        n += p->w->pe[s->object[i]] != p->w->now[s->object[i]];
    return n;
}

static uint64_t beyond_limit(const struct balance *w, const struct balance_share *s)
{
    uint64_t most = hark_balance_most(w, s);
    return most > w->limit ? most : w->limit;
}

/* As few moves as will do; where that ends beyond the limit, all anew, if that is better. */
static void place(struct plus *p, const struct balance_share *s)
{
    struct balance *w = p->w;
    for (uint32_t i = 0; i < s->objects; i++) w->pe[s->object[i]] = w->now[s->object[i]];
    hark_balance_add(w, s);
    hark_balance_refine(w, s);
    hark_balance_smooth(w, s);
    uint64_t kept = beyond_limit(w, s);
    if (kept == w->limit) return;
    uint32_t moved = moved_of(p, s);
    for (uint32_t i = 0; i < s->objects; i++) p->better[s->object[i]] = w->pe[s->object[i]];
    hark_balance_greedy(w, s);
    hark_balance_smooth(w, s);
    uint64_t anew = beyond_limit(w, s);
    if (anew < kept || (anew == kept && moved_of(p, s) < moved)) return;
    for (uint32_t i = 0; i < s->objects; i++) w->pe[s->object[i]] = p->better[s->object[i]];
}

static int candidate(struct plus *p)
{
    struct balance *w = p->w;
    const struct balance_share all = {0, w->pes, w->objects, w->order};
    uint64_t cost = 0;
    hark_balance_by_team(w, p->team, p->object, p->first);
    for (uint32_t t = 0; t < w->teams; t++) {
        const struct balance_share s = {
            t * w->size, w->size, p->first[t + 1] - p->first[t], p->object + p->first[t]};
        place(p, &s);
    }
    hark_balance_sums(w);
    if (hark_balance_settle(w, p->team) < 0) return -ENOMEM;
    uint64_t most = beyond_limit(w, &all);
    uint32_t moved = moved_of(p, &all), outside = 0;
    (void)teams_cost(p, &cost);
    for (uint32_t i = 0; i < w->objects; i++) outside += p->team[i] != home(p, i);
    cost += (moved - outside) * w->asked->move;
    if (most > p->best_most || (most == p->best_most && cost > p->best_cost)) return 0;
    if (most == p->best_most && cost == p->best_cost && moved >= p->best_moved) return 0;
    p->best_most = most;
    p->best_cost = cost;
    p->best_moved = moved;
    memcpy(p->best, w->pe, w->objects * sizeof *p->best);
    return 0;
}

/* ---- names for the parts of a cut ------------------------------------------------------------ */

struct overlap {
    uint32_t part, team, objects;
};

static int by_pair(const void *a, const void *b)
{
    const struct overlap *x = a, *y = b;
    if (x->part != y->part) return x->part < y->part ? -1 : 1;
    return x->team < y->team ? -1 : x->team > y->team;
}

static int by_objects(const void *a, const void *b)
{
    const struct overlap *x = a, *y = b;
    if (x->objects != y->objects) return x->objects > y->objects ? -1 : 1;
    return by_pair(a, b);
}

/* Pairs of a part and a team, by how many objects are in both: the largest first. */
static uint32_t overlaps(const struct plus *p, struct overlap *o)
{
    uint32_t n = p->w->objects, count = 0;
    for (uint32_t i = 0; i < n; i++) o[i] = (struct overlap){p->team[i], home(p, i), 1};
    qsort(o, n, sizeof *o, by_pair);
    for (uint32_t i = 0; i < n; i++)
        if (count && by_pair(&o[count - 1], &o[i]) == 0) o[count - 1].objects++;
        else o[count++] = o[i];
    qsort(o, count, sizeof *o, by_objects);
    return count;
}

/* Each part takes the name of the team that it has most objects of, as far as nobody has more of
 * them. */
static int rename_parts(struct plus *p)
{
    uint32_t n = p->w->objects, teams = p->w->teams, *taken = p->first, next = 0; /* first is not in
                                                                                     use yet */
    struct overlap *o = malloc(n * sizeof *o);
    if (o == NULL) return -ENOMEM;
    memset(taken, 0, teams * sizeof *taken);
    for (uint32_t t = 0; t < teams; t++) p->name[t] = UINT32_MAX;
    for (uint32_t i = 0, count = overlaps(p, o); i < count; i++) {
        if (taken[o[i].team] || p->name[o[i].part] != UINT32_MAX) continue;
        p->name[o[i].part] = o[i].team;
        taken[o[i].team] = 1;
    }
    for (uint32_t t = 0; t < teams; t++) {
        if (p->name[t] != UINT32_MAX) continue;
        while (taken[next]) next++;
        p->name[t] = next++;
    }
    for (uint32_t i = 0; i < n; i++) p->team[i] = p->name[p->team[i]];
    free(o);
    return 0;
}

/* ---- all candidates -------------------------------------------------------------------------- */

static int candidates(struct plus *p)
{
    struct balance *w = p->w;
    for (uint32_t i = 0; i < w->objects; i++) p->team[i] = home(p, i);
    improve_teams(p);
    int status = candidate(p);
    if (status == 0) status = hark_balance_team(w); /* and the limit is that of greedy */
    for (uint32_t i = 0; i < w->objects; i++) p->team[i] = w->pe[i] / w->size;
    if (status == 0) status = rename_parts(p);
    if (status == 0) status = candidate(p);
    uint32_t count = hark_balance_cuts(w, 200000); /* improving them takes longer than the cuts */
    for (uint32_t k = 0; k < count && status == 0; k++) {
        status = hark_balance_cut(w, w->asked->slack << (k % 3 == 2), w->asked->seed + k, p->team);
        if (status == 0) status = rename_parts(p);
        if (status == 0) improve_teams(p);
        if (status == 0) status = candidate(p);
    }
    if (status < 0) return status;
    memcpy(w->pe, p->best, w->objects * sizeof *w->pe);
    return 0;
}

static void plus_free(struct plus *p)
{
    free(p->team);
    free(p->better);
    free(p->sum);
    free(p->to);
    free(p->met);
    free(p->object);
    free(p->first);
    free(p->best);
    free(p->name);
    free(p->option);
}

int hark_balance_team_plus(struct balance *w)
{
    size_t n = w->objects, teams = w->teams;
    struct plus p = {.w = w, .best_most = UINT64_MAX, .best_cost = UINT64_MAX};
    /* half of the slack for the teams, so that something is left for the PEs in them */
    uint64_t mean = w->total / teams + (w->total % teams != 0);
    p.limit = mean + balance_thousandths(mean, w->asked->slack) / 2;
    p.team = malloc(n * sizeof *p.team);
    p.better = malloc(n * sizeof *p.better);
    p.sum = malloc(teams * sizeof *p.sum);
    p.to = calloc(teams, sizeof *p.to);
    p.met = malloc(teams * sizeof *p.met);
    p.object = malloc(n * sizeof *p.object);
    p.first = malloc((teams + 1) * sizeof *p.first);
    p.best = malloc(n * sizeof *p.best);
    p.name = malloc(teams * sizeof *p.name);
    p.option = malloc(n * sizeof *p.option);
    bool room = p.team && p.better && p.sum && p.to && p.met && p.object && p.first && p.best &&
                p.name && p.option;
    int status = -ENOMEM;
    hark_balance_greedy_limit(w);
    if (room) status = candidates(&p);
    plus_free(&p);
    return status;
}
