/* fast.c: clusters in little time. The graph is coarsened in several ways; on each coarsest one it
 * is cut into several numbers of parts, and the best of those are refined on every finer graph.
 * What any two of the results have in common are the vertices of a small graph, on which clusters
 * of all of them can be looked for as wholes: where one is good here and another one there, that
 * finds both. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cut.h"
#include "pool.h"
#include "search.h"

/* Ways to begin that come to different clusters: how far parts may be from equal, and whether they
 * are cut off by halves or by thirds. */
static const struct way {
    double slack;
    uint32_t first_cut;
} ways[] = {{0.1, 2}, {0.03, 3}, {0.3, 2}};

enum {
    WAYS = sizeof ways / sizeof ways[0],
    KEPT = 2 /* of each way */,
    SMALL = 512,
    TINY = 128,
    LARGE = 1 << 16
};

struct fast {
    struct cluster_search *x;
    struct cluster_pool pool; /* of the graph itself */
    uint32_t clusters;        /* of the best in it */
    uint32_t *part, *map;
};

/* ---- beginnings */

static int try_parts(struct fast *f, const struct cluster_graph *g, uint32_t parts, uint32_t way,
    struct cluster_pool *coarse)
{
    double cost;
    uint32_t clusters;
    int status = hark_cluster_cut_recursive(
        g, parts, ways[way].slack, f->x->o->seed + way, ways[way].first_cut, f->part);
    if (status == 0) status = hark_cluster_search_refine(f->x, g, f->part, false, &cost, &clusters);
    if (status == 0) hark_cluster_pool_put(coarse, f->part, cost);
    return status;
}

/* Algorithm 1, and parts of about as many as it found; later on of about as many as were best. */
static int begin(
    struct fast *f, const struct cluster_graph *g, uint32_t way, struct cluster_pool *coarse)
{
    static const struct {
        uint32_t times, of;
    } tries[] = {{1, 2}, {3, 4}, {5, 4}, {3, 2}, {7, 8}, {9, 8}, {1, 1}};
    bool first = f->clusters == 0;
    uint32_t count = f->clusters, last = 0;
    double cost;
    int status = first ? hark_cluster_algorithm1(g, f->x->model, f->x->o, f->part) : 0;
    if (status == 0 && first)
        status = hark_cluster_search_refine(f->x, g, f->part, false, &cost, &count);
    if (status == 0 && first) hark_cluster_pool_put(coarse, f->part, cost);
    for (size_t i = first ? 0 : 4; status == 0 && i < sizeof tries / sizeof tries[0]; i++) {
        uint64_t times = (uint64_t)count * tries[i].times;
        uint32_t parts = (uint32_t)(times / tries[i].of) + (tries[i].times > tries[i].of);
        if (parts < 2 || parts > g->n / 2 || parts == last || (first && parts == count)) continue;
        last = parts;
        status = try_parts(f, g, parts, way, coarse);
    }
    return status;
}

/* Offers what is in part, of the graph itself; *cost is beyond all costs if it is out of bounds. */
static int finish(struct fast *f, double *cost)
{
    uint32_t clusters;
    int status = hark_cluster_search_offer(f->x, f->part, cost, &clusters);
    if (status == 0 && (f->pool.count == 0 || *cost < f->pool.cost[0])) f->clusters = clusters;
    return status;
}

static int one_way(struct fast *f, uint32_t way)
{
    struct cluster_pool coarse = {0};
    struct cluster_levels *l = calloc(1, sizeof *l);
    uint32_t until = hark_cluster_search_coarsest(f->x->g->n);
    uint64_t load = hark_cluster_graph_load(f->x->g), seed = way ? f->x->o->seed + way : 0;
    int status =
        l ? hark_cluster_levels_make(l, f->x->g, NULL, until, load / until * 3 + 1, seed) : -ENOMEM;
    const struct cluster_graph *g = status == 0 ? &l->graph[l->count] : NULL;
    if (status == 0) status = hark_cluster_pool_make(&coarse, g->n, KEPT);
    if (status == 0) status = begin(f, g, way, &coarse);
    for (uint32_t i = 0; status == 0 && i < coarse.count; i++) {
        double cost;
        memcpy(f->part, coarse.part[i], (size_t)coarse.n * sizeof *f->part);
        status = hark_cluster_search_down(f->x, l, f->part, false, seed);
        if (status == 0) status = finish(f, &cost);
        if (status == 0 && cost < CLUSTER_NO_COST) hark_cluster_pool_put(&f->pool, f->part, cost);
    }
    hark_cluster_pool_free(&coarse);
    if (l) hark_cluster_levels_free(l);
    free(l);
    return status;
}

/* ---- what they have in common */

/* Clusters of pieces: from each piece alone, and where an order counts from those of the cheapest
 * parent. */
static int refine_pieces(struct fast *f, const struct cluster_graph *pieces, uint32_t parent)
{
    double cost;
    uint32_t clusters, n = f->x->g->n, *part = malloc(((size_t)n + 1) * sizeof *part);
    if (part == NULL) return -ENOMEM;
    for (uint32_t v = 0; v < n; v++)
        part[f->map[v]] = pieces->out ? f->pool.part[parent][v] : f->map[v];
    int status = hark_cluster_search_close_gaps(part, pieces->n);
    if (status == 0)
        status =
            hark_cluster_search_refine(f->x, pieces, part, pieces->n <= SMALL, &cost, &clusters);
    for (uint32_t v = 0; status == 0 && v < n; v++) f->part[v] = part[f->map[v]];
    free(part);
    return status;
}

/* Of the parents whose bits are set, the cheapest and the dearest are at these places. */
static int combine(struct fast *f, unsigned set, uint32_t cheapest, uint32_t dearest)
{
    struct cluster_graph pieces;
    double cost;
    uint32_t n, clusters;
    int status = hark_cluster_pool_pieces(&f->pool, set, f->x->g, f->map, &n);
    if (status == 0) status = hark_cluster_graph_contract(&pieces, f->x->g, f->map, n);
    if (status < 0) return status;
    status = refine_pieces(f, &pieces, cheapest);
    hark_cluster_graph_free(&pieces);
    if (status == 0)
        status = hark_cluster_search_refine(f->x, f->x->g, f->part, false, &cost, &clusters);
    if (status == 0) status = finish(f, &cost);
    if (status == 0 && cost < CLUSTER_NO_COST)
        hark_cluster_pool_replace(&f->pool, dearest, f->part, cost);
    return status;
}

/* Each two of them, then the best three, and so on. */
static int combine_all(struct fast *f)
{
    int status = 0;
    for (uint32_t i = 0; status == 0 && i < f->pool.count; i++)
        for (uint32_t j = i + 1; status == 0 && j < f->pool.count; j++)
            status = combine(f, 1u << i | 1u << j, i, j);
    for (uint32_t i = 3; status == 0 && i <= f->pool.count; i++)
        status = combine(f, (1u << i) - 1, 0, i - 1);
    return status;
}

/* Everything there is, where that takes no time to speak of. */
static int last(struct fast *f)
{
    double cost;
    uint32_t clusters;
    memcpy(f->part, f->pool.part[0], (size_t)f->pool.n * sizeof *f->part);
    int status = hark_cluster_search_refine(f->x, f->x->g, f->part, true, &cost, &clusters);
    return status == 0 ? finish(f, &cost) : status;
}

int hark_cluster_search_fast(struct cluster_search *x)
{
    size_t room = ((size_t)x->g->n + 1) * sizeof(uint32_t);
    struct fast f = {.x = x, .part = malloc(room), .map = malloc(room)};
    int status = f.part && f.map
                     ? hark_cluster_pool_make(&f.pool, x->g->n, x->g->n > LARGE ? 2 : CLUSTER_POOL)
                     : -ENOMEM;
    for (uint32_t way = 0; status == 0 && way < WAYS; way++) status = one_way(&f, way);
    if (status == 0) status = combine_all(&f);
    if (status == 0 && f.pool.count && x->g->n <= TINY) status = last(&f);
    hark_cluster_pool_free(&f.pool);
    free(f.part);
    free(f.map);
    return status;
}
