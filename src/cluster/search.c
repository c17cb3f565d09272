#include "search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int hark_cluster_search_make(struct cluster_search *x, const struct cluster_graph *g,
    const struct cluster_model *m, const struct hark_partition_options *o)
{
    *x = (struct cluster_search){
        .g = g, .model = m, .o = o, .best = malloc(((size_t)g->n + 1) * sizeof *x->best)};
    return x->best ? 0 : -ENOMEM;
}

void hark_cluster_search_free(struct cluster_search *x)
{
    free(x->best);
}

/* ---- making one better */

enum { ROUNDS_FAST = 2, ROUNDS_THOROUGH = 20, SMALL = 4096 };
#define FAR_OFF 1.06

/* Everything there is, on one level, until none of it helps. */
static int refine(struct cluster_state *s, bool thorough, uint64_t seed)
{
    uint64_t edges = s->g->first[s->g->n] + s->g->n;
    bool all = (s->place || s->model->cost->function) && s->count <= 16, small = s->g->n <= SMALL;
    int status = 0, rounds = thorough ? ROUNDS_THOROUGH : ROUNDS_FAST;
    for (int i = 0; status == 0 && i < rounds; i++) {
        bool better = false;
        status = hark_cluster_refine_moves(s, all);
        if (status == 0) status = hark_cluster_refine_merge(s, &better);
        if (status == 0)
            status = hark_cluster_refine_climb(s, edges * (thorough ? 60 : 6), all, &better);
        if (status == 0) status = hark_cluster_refine_order(s, &better);
        if (status == 0 && thorough && !better)
            status = hark_cluster_refine_split(s, seed + (uint64_t)i, &better);
        if (status == 0 && thorough && small && !better)
            status = hark_cluster_refine_swap(s, &better);
        if (status == 0 && thorough && small && !better)
            status = hark_cluster_refine_pairs(s, seed + (uint64_t)i, &better);
        if (!better) break;
    }
    return status;
}

int hark_cluster_search_down(struct cluster_search *x, const struct cluster_levels *l,
    uint32_t *part, bool thorough, uint64_t seed)
{
    struct cluster_state s;
    int status = 0;
    uint32_t *finer = malloc(((size_t)x->g->n + 1) * sizeof *finer);
    if (finer == NULL) return -ENOMEM;
    for (int i = l->count; status == 0 && i >= 0; i--) {
        const struct cluster_graph *g = &l->graph[i];
        status = hark_cluster_state_make(&s, g, x->model, part);
        if (status < 0) break;
        uint64_t outside;
        if (i == 0) status = hark_cluster_refine_bounds(&s, &outside);
        if (status == 0) status = refine(&s, false, seed);
        bool far = x->found && hark_cluster_state_cost(&s) > x->cost * FAR_OFF; /* no labour is lost
                                                                                   on those */
        if (status == 0 && thorough && !far && (i == 0 || i == l->count))
            status = refine(&s, true, seed);
        if (status == 0) status = hark_cluster_state_number(&s, part);
        hark_cluster_state_free(&s);
        if (i == 0 || status < 0) continue;
        const struct cluster_graph *fine = &l->graph[i - 1];
        for (uint32_t v = 0; v < fine->n; v++) finer[v] = part[l->map[i - 1][v]];
        memcpy(part, finer, (size_t)fine->n * sizeof *part);
    }
    free(finer);
    return status;
}

static bool in_bounds(const struct cluster_state *s)
{
    const struct cluster_bounds *b = &s->model->bounds;
    for (uint32_t c = 0; c < s->slots; c++)
        if (s->members[c] && (s->load[c] < b->least || s->load[c] > b->most)) return false;
    return true;
}

int hark_cluster_search_offer(
    struct cluster_search *x, const uint32_t *part, double *cost, uint32_t *clusters)
{
    struct cluster_state s;
    int status = hark_cluster_state_make(&s, x->g, x->model, part);
    if (status < 0) return status;
    *cost = in_bounds(&s) ? hark_cluster_state_cost(&s) : CLUSTER_NO_COST;
    *clusters = s.count;
    if (*cost < CLUSTER_NO_COST && (!x->found || *cost < x->cost - CLUSTER_LESS)) {
        memcpy(x->best, part, (size_t)x->g->n * sizeof *part);
        x->cost = *cost;
        x->found = true;
        x->clusters = s.count;
    }
    hark_cluster_state_free(&s);
    return 0;
}

static int offer(struct cluster_search *x, const uint32_t *part)
{
    double cost;
    uint32_t clusters;
    return hark_cluster_search_offer(x, part, &cost, &clusters);
}

uint32_t hark_cluster_search_coarsest(uint32_t n)
{
    uint32_t root = 1;
    while ((uint64_t)root * root < n) root++;
    return root * 2 > 96 ? root * 2 : 96;
}

int hark_cluster_search_close_gaps(uint32_t *part, uint32_t n)
{
    uint32_t *number = calloc((size_t)n + 1, sizeof *number), count = 0;
    if (number == NULL) return -ENOMEM;
    for (uint32_t v = 0; v < n; v++) number[part[v]] = 1;
    for (uint32_t c = 0; c < n; c++)
        if (number[c]) number[c] = count++;
    for (uint32_t v = 0; v < n; v++) part[v] = number[part[v]];
    free(number);
    return 0;
}

int hark_cluster_search_from(struct cluster_search *x, uint32_t *part, bool thorough, uint64_t seed)
{
    struct cluster_levels *l = calloc(1, sizeof *l);
    uint64_t load = hark_cluster_graph_load(x->g);
    if (l == NULL) return -ENOMEM;
    int status = hark_cluster_search_close_gaps(part, x->g->n);
    if (status == 0)
        status = hark_cluster_levels_make(
            l, x->g, part, hark_cluster_search_coarsest(x->g->n), load, seed);
    for (int i = 0; status == 0 && i < l->count; i++)
        for (uint32_t v = 0; v < l->graph[i].n; v++) part[l->map[i][v]] = part[v];
    if (status == 0) status = hark_cluster_search_down(x, l, part, thorough, seed);
    if (status == 0) status = offer(x, part);
    hark_cluster_levels_free(l);
    free(l);
    return status;
}

/* ---- beginnings */

int hark_cluster_search_paper(struct cluster_search *x)
{
    struct cluster_state s;
    uint64_t outside;
    uint32_t *part = malloc(((size_t)x->g->n + 1) * sizeof *part);
    int status = part ? hark_cluster_algorithm1(x->g, x->model, x->o, part) : -ENOMEM;
    if (status == 0) status = hark_cluster_state_make(&s, x->g, x->model, part);
    if (status == 0) {
        status = hark_cluster_refine_bounds(&s, &outside);
        if (status == 0) status = hark_cluster_state_number(&s, part);
        hark_cluster_state_free(&s);
    }
    if (status == 0) status = offer(x, part);
    free(part);
    return status;
}

int hark_cluster_search_refine(struct cluster_search *x, const struct cluster_graph *g,
    uint32_t *part, bool thorough, double *cost, uint32_t *clusters)
{
    struct cluster_state s;
    uint64_t outside;
    int status = hark_cluster_state_make(&s, g, x->model, part);
    if (status < 0) return status;
    status = x->model->bounds.least > 1 ? hark_cluster_refine_bounds(&s, &outside) : 0;
    if (status == 0) status = refine(&s, thorough, x->o->seed);
    if (status == 0) status = hark_cluster_state_number(&s, part);
    *cost = hark_cluster_state_cost(&s);
    *clusters = s.count;
    hark_cluster_state_free(&s);
    return status;
}
