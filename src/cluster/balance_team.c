/* balance_team.c: the paper's TeamLB: the graph is cut into teams of equal load, and inside
 * each team the heaviest object goes to the least loaded PE.
 *
 * Where objects are few and large, a team's load may be right and its objects such that they can
 * not be spread over its PEs. So, beyond the paper, PEs of a team exchange objects after that, and
 * other cuts are made, until no PE has more than greedy without teams would give it, or than the
 * slack allows. */
#include "balance_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void hark_balance_by_team(
    const struct balance *w, const uint32_t *team, uint32_t *object, uint32_t *first)
{
    memset(first, 0, ((size_t)w->teams + 1) * sizeof *first);
    for (uint32_t i = 0; i < w->objects; i++) first[team[i] + 1]++;
    for (uint32_t t = 0; t < w->teams; t++) first[t + 1] += first[t];
    for (uint32_t i = 0; i < w->objects; i++) object[first[team[w->order[i]]]++] = w->order[i];
    for (uint32_t t = w->teams; t > 0; t--) first[t] = first[t - 1];
    first[0] = 0;
}

/* Step 1: "partition this graph's vertices to minimize the weights on the edges across partitions
 * and produce partitions with approximately equal sums of vertex weights". */
int hark_balance_cut(const struct balance *w, uint32_t slack, uint64_t seed, uint32_t *team)
{
    struct hark_graph g = *w->graph;
    uint32_t parts = w->teams < w->objects ? w->teams : w->objects;
    if (w->total == 0) g.load = NULL; /* then the numbers of objects are to be equal */
    return hark_graph_cut(&g, parts, (double)slack / 1000.0, seed, w->asked->backend, team);
}

uint32_t hark_balance_cuts(const struct balance *w, uint64_t worth)
{
    enum { MOST = 32 };
    uint64_t cuts = 2 + worth / (w->objects + w->graph->first[w->objects]);
    if (w->teams == 1) return 1;
    return cuts < MOST ? (uint32_t)cuts : MOST;
}

void hark_balance_greedy_limit(struct balance *w)
{
    const struct balance_share all = {0, w->pes, w->objects, w->order};
    hark_balance_greedy(w, &all);
    uint64_t most = hark_balance_most(w, &all);
    if (most > w->limit) w->limit = most;
    memcpy(w->pe, w->now, w->objects * sizeof *w->pe);
    hark_balance_sums(w);
}

uint64_t hark_balance_logged(const struct balance *w, const uint32_t *team)
{
    const struct hark_graph *g = w->graph;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < w->objects; i++)
        for (uint64_t k = g->first[i]; k < g->first[i + 1]; k++)
            if (g->column[k] > i && team[g->column[k]] != team[i]) bytes += g->weight[k];
    return bytes;
}

struct cut {
    uint32_t *team, *object, *first, *best;
};

/* Step 2: "assigns each object, which has load l, to the PE that minimizes the function I". Returns
 * the load of the fullest PE, at least the limit. */
static uint64_t spread(struct balance *w, const struct cut *c)
{
    const struct balance_share all = {0, w->pes, w->objects, w->order};
    hark_balance_by_team(w, c->team, c->object, c->first);
    for (uint32_t t = 0; t < w->teams; t++) {
        const struct balance_share s = {
            t * w->size, w->size, c->first[t + 1] - c->first[t], c->object + c->first[t]};
        hark_balance_greedy(w, &s);
        hark_balance_smooth(w, &s);
    }
    uint64_t most = hark_balance_most(w, &all);
    return most > w->limit ? most : w->limit;
}

static int cuts(struct balance *w, const struct cut *c)
{
    uint64_t best_most = UINT64_MAX, best_logged = 0;
    for (uint32_t k = 0, count = hark_balance_cuts(w, 2000000); k < count && best_most > w->limit;
         k++) {
        /* teams that are less equal are cut better, and may fit together better: every third cut
         * has twice the slack */
        int status =
            hark_balance_cut(w, w->asked->slack << (k % 3 == 2), w->asked->seed + k, c->team);
        if (status < 0) return status;
        uint64_t most = spread(w, c), logged = hark_balance_logged(w, c->team);
        if (most > best_most || (most == best_most && logged >= best_logged)) continue;
        best_most = most;
        best_logged = logged;
        memcpy(c->best, w->pe, w->objects * sizeof *c->best);
    }
    memcpy(w->pe, c->best, w->objects * sizeof *c->best);
    return 0;
}

int hark_balance_team(struct balance *w)
{
    size_t n = w->objects;
    struct cut c = {malloc(n * sizeof *c.team), malloc(n * sizeof *c.object),
        malloc(((size_t)w->teams + 1) * sizeof *c.first), malloc(n * sizeof *c.best)};
    int status = -ENOMEM;
    if (c.team && c.object && c.first && c.best) {
        hark_balance_greedy_limit(w);
        status = cuts(w, &c);
    }
    free(c.team);
    free(c.object);
    free(c.first);
    free(c.best);
    return status;
}
