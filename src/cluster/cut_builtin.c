/* cut_builtin.c: recursive bisection, and a refinement of all parts together. */
#include <stdlib.h>
#include <string.h>

#include "cut.h"
#include "heap.h"

enum { PASSES = 8 };

struct kway {
    const struct cluster_graph *g;
    uint32_t parts, *part, *place; /* place: for cluster_graph_induce */
    uint32_t first_cut;            /* a cut leaves one of so many parts on one side: 2 or 3 */
    uint64_t most, *load;          /* of a part */
    uint64_t *joined;              /* weight from one vertex to each part; 0 between vertices */
    uint32_t *touched;
};

/* ---- recursive bisection */

static uint32_t depth_of(uint32_t parts)
{
    uint32_t depth = 0;
    while ((UINT32_C(1) << depth) < parts) depth++;
    return depth;
}

/* What a side of `parts` parts may have: its share of the slack that is left, for as many
 * bisections as are still to come. */
static uint64_t side_most(uint64_t aim, uint32_t parts, uint64_t most, uint32_t depth)
{
    uint64_t all = most > UINT64_MAX / 2 / parts ? UINT64_MAX / 2 : most * parts;
    return all > aim ? aim + (all - aim) / (depth ? depth : 1) : aim;
}

static int cut_list(
    struct kway *w, uint32_t *list, uint32_t count, uint32_t first, uint32_t parts, uint64_t seed);

static int cut_halves(struct kway *w, const struct cluster_graph *sub, uint32_t *list,
    uint32_t first, uint32_t parts, uint64_t seed)
{
    uint32_t left = parts > w->first_cut ? parts / w->first_cut : parts / 2, n = 0,
             *side = malloc(((size_t)sub->n + 1) * sizeof *side);
    uint32_t *sorted = malloc(((size_t)sub->n + 1) * sizeof *sorted);
    uint64_t load = hark_cluster_graph_load(sub),
             aim = load / parts * left + load % parts * left / parts;
    uint64_t most[2] = {side_most(aim, left, w->most, depth_of(parts)),
        side_most(load - aim, parts - left, w->most, depth_of(parts))};
    int status = side && sorted ? hark_cluster_bisect(sub, aim, most, seed, side) : -ENOMEM;
    if (status == 0) {
        for (uint32_t i = 0; i < sub->n; i++)
            if (side[i] == 0) sorted[n++] = list[i];
        for (uint32_t i = 0, at = n; i < sub->n; i++)
            if (side[i] == 1) sorted[at++] = list[i];
        memcpy(list, sorted, (size_t)sub->n * sizeof *list);
    }
    free(side);
    free(sorted);
    if (status == 0) status = cut_list(w, list, n, first, left, seed * 2 + 1);
    if (status == 0)
        status = cut_list(w, list + n, sub->n - n, first + left, parts - left, seed * 2 + 2);
    return status;
}

/* Cuts the vertices of a list, ascending, into the parts from `first` on. */
static int cut_list(
    struct kway *w, uint32_t *list, uint32_t count, uint32_t first, uint32_t parts, uint64_t seed)
{
    struct cluster_graph sub;
    if (parts == 1 || count <= 1) {
        for (uint32_t i = 0; i < count; i++) w->part[list[i]] = first;
        return 0;
    }
    if (count == w->g->n) return cut_halves(w, w->g, list, first, parts, seed);
    if (hark_cluster_graph_induce(&sub, w->g, list, count, w->place) < 0) return -ENOMEM;
    int status = cut_halves(w, &sub, list, first, parts, seed);
    hark_cluster_graph_free(&sub);
    return status;
}

/* ---- all parts together */

/* Where v goes best: the part it is joined to most of those that have room; its own if none is
 * better. */
static uint32_t best_part(struct kway *w, uint32_t v)
{
    uint32_t own = w->part[v], best = own, touched = 0;
    uint64_t load = w->g->load[v];
    bool over = w->load[own] > w->most;
    for (uint64_t k = w->g->first[v]; k < w->g->first[v + 1]; k++) {
        uint32_t p = w->part[w->g->column[k]];
        if (w->joined[p] == 0) w->touched[touched++] = p;
        w->joined[p] += w->g->weight[k];
    }
    for (uint32_t i = 0; i < touched; i++) {
        uint32_t p = w->touched[i];
        if (p == own || w->load[p] + load > w->most) continue;
        if (best == own) {
            bool even = w->joined[p] == w->joined[own] && w->load[p] + load < w->load[own];
            if (over || w->joined[p] > w->joined[own] || even) best = p;
        } else if (w->joined[p] > w->joined[best] ||
                   (w->joined[p] == w->joined[best] && p < best)) {
            best = p;
        }
    }
    for (uint32_t i = 0; i < touched; i++) w->joined[w->touched[i]] = 0;
    return best;
}

static void shift(struct kway *w, uint32_t v, uint32_t to)
{
    w->load[w->part[v]] -= w->g->load[v];
    w->load[to] += w->g->load[v];
    w->part[v] = to;
}

/* A part that is too full, and none of its neighbours has room: to the emptiest part. */
static bool unload(struct kway *w)
{
    bool moved = false;
    for (uint32_t v = 0; v < w->g->n; v++) {
        uint32_t own = w->part[v], least = 0;
        if (w->load[own] <= w->most || w->g->load[v] == 0) continue;
        for (uint32_t p = 1; p < w->parts; p++)
            if (w->load[p] < w->load[least]) least = p;
        if (w->load[least] + w->g->load[v] >= w->load[own]) continue;
        shift(w, v, least);
        moved = true;
    }
    return moved;
}

static void refine(struct kway *w)
{
    for (uint32_t v = 0; v < w->g->n; v++) w->load[w->part[v]] += w->g->load[v];
    for (int i = 0; i < PASSES; i++) {
        uint32_t moved = 0;
        for (uint32_t v = 0; v < w->g->n; v++) {
            uint32_t to = best_part(w, v);
            if (to == w->part[v]) continue;
            shift(w, v, to);
            moved++;
        }
        if (i == PASSES / 2 && unload(w)) moved++;
        if (moved == 0 && !unload(w)) return;
    }
}

int hark_cluster_cut_recursive(const struct cluster_graph *g, uint32_t parts, double slack,
    uint64_t seed, uint32_t first_cut, uint32_t *part)
{
    size_t n = (size_t)g->n + 1, k = (size_t)parts + 1;
    uint64_t load = hark_cluster_graph_load(g), even = load / parts + (load % parts != 0);
    double most = (double)load / parts * (1 + slack);
    struct kway w = {.g = g,
        .parts = parts,
        .part = part,
        .first_cut = first_cut,
        .most = most < (double)HARK_GRAPH_MOST ? (uint64_t)most : load,
        .place = malloc(n * sizeof *w.place),
        .load = calloc(k, sizeof *w.load),
        .joined = calloc(k, sizeof *w.joined),
        .touched = malloc(k * sizeof *w.touched)};
    uint32_t *list = malloc(n * sizeof *list);
    int status = -ENOMEM;
    if (w.most < even) w.most = even;
    if (w.place && w.load && w.joined && w.touched && list) {
        memset(w.place, 0xff, n * sizeof *w.place);
        for (uint32_t v = 0; v < g->n; v++) list[v] = v;
        status = cut_list(&w, list, g->n, 0, parts, seed);
    }
    if (status == 0) refine(&w);
    free(w.place);
    free(w.load);
    free(w.joined);
    free(w.touched);
    free(list);
    return status;
}

int hark_cluster_cut_builtin(
    const struct cluster_graph *g, uint32_t parts, double slack, uint64_t seed, uint32_t *part)
{
    return hark_cluster_cut_recursive(g, parts, slack, seed, 2, part);
}
