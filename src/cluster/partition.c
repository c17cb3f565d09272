/* partition.c: hark_partition: options, the graph of nodes, the search, and figures from the matrix
 * alone. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search.h"

static int bad(char *error, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int bad(char *error, int status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(error, HARK_PARTITION_ERROR, format, list);
    va_end(list);
    return status;
}

void hark_partition_defaults(struct hark_partition_options *o)
{
    *o = (struct hark_partition_options){
        .cost = {.alpha = 0.23, .beta = 0.124}, .seed = 1, .threshold = 1};
}

/* ---- what was asked for */

static int check_bounds(const struct hark_partition_options *o, uint32_t ranks, char *error)
{
    uint32_t least = o->least ? o->least : 1, most = o->most ? o->most : ranks;
    if (least > most)
        return bad(error, -EINVAL, "clusters of at least %u and at most %u ranks: there are none",
            least, most);
    if (least > ranks)
        return bad(
            error, -EINVAL, "clusters of at least %u ranks: there are %u ranks", least, ranks);
    if (ranks / least < (ranks - 1) / most + 1)
        return bad(error, -EINVAL, "%u ranks can not be clusters of %u to %u", ranks, least, most);
    return 0;
}

static int check_ids(const uint32_t *of, uint32_t ranks, const char *what, char *error)
{
    for (uint32_t v = 0; of && v < ranks; v++)
        if (of[v] >= ranks)
            return bad(error, -EINVAL, "rank %u is in %s %u: expected numbers below %u", v, what,
                of[v], ranks);
    return 0;
}

static int check(const struct hark_matrix *m, const struct hark_partition_options *o, char *error)
{
    const struct hark_cluster_cost *c = &o->cost;
    if (m->ranks == 0) return bad(error, -EINVAL, "a matrix of no ranks");
    if (m->ranks > UINT32_C(1) << 30) return bad(error, -EOVERFLOW, "more than 2^30 ranks");
    if (!c->function && (!isfinite(c->alpha) || !isfinite(c->beta) || c->alpha < 0 || c->beta < 0))
        return bad(error, -EINVAL, "alpha and beta: expected finite numbers, not negative");
    if (o->backend > HARK_CUT_METIS_RECURSIVE || o->effort > HARK_PARTITION_PAPER)
        return bad(error, -EINVAL, "no such backend or effort");
    if (!hark_cut_has(o->backend))
        return bad(error, -ENOTSUP, "this hark was built without %s",
            o->backend == HARK_CUT_SCOTCH ? "Scotch" : "METIS");
    if (check_ids(o->node, m->ranks, "node", error) < 0 ||
        check_ids(o->improve, m->ranks, "cluster", error) < 0)
        return -EINVAL;
    return check_bounds(o, m->ranks, error);
}

/* ---- nodes */

/* of[v]: the node of rank v as a number without gaps; how many there are. */
static uint32_t number_nodes(const uint32_t *node, uint32_t ranks, uint32_t *of)
{
    uint32_t count = 0, *first = malloc(((size_t)ranks + 1) * sizeof *first);
    if (first == NULL) return 0;
    memset(first, 0xff, (size_t)ranks * sizeof *first);
    for (uint32_t v = 0; v < ranks; v++) {
        uint32_t n = node ? node[v] : v;
        if (first[n] == UINT32_MAX) first[n] = count++;
        of[v] = first[n];
    }
    free(first);
    return count;
}

/* *bytes: of all messages, also of those within a node. */
static int graph_of_nodes(struct cluster_graph *g, uint64_t *bytes, const struct hark_matrix *m,
    const struct hark_partition_options *o, uint32_t *of, char *error)
{
    struct cluster_graph ranks = {0};
    uint32_t nodes = number_nodes(o->node, m->ranks, of);
    int status = nodes ? hark_cluster_graph_of(&ranks, m, o->cost.ordered) : -ENOMEM;
    if (status == -EOVERFLOW)
        return bad(error, status, "the bytes of all messages are more than 2^60");
    if (status < 0) return bad(error, status, "no memory");
    if (!o->cost.function) /* which may know bytes, not only shares */
        hark_cluster_graph_reduce(&ranks);
    *bytes = hark_cluster_graph_bytes(&ranks);
    if (nodes == m->ranks) {
        *g = ranks;
        return 0;
    }
    status = hark_cluster_graph_contract(g, &ranks, of, nodes);
    hark_cluster_graph_free(&ranks);
    if (status < 0) return bad(error, status, "no memory");
    for (uint32_t v = 0; o->most && v < nodes; v++)
        if (g->load[v] > o->most) {
            status = bad(error, -EINVAL, "clusters of at most %u ranks: a node has %llu", o->most,
                (unsigned long long)g->load[v]);
            hark_cluster_graph_free(g);
            return status;
        }
    return 0;
}

/* ---- the search */

static int improve(struct cluster_search *x, const uint32_t *of, uint32_t ranks)
{
    uint32_t *part = malloc(((size_t)ranks + 1) * sizeof *part),
             *number = malloc(((size_t)ranks + 1) * sizeof *number), count = 0;
    int status = part && number ? 0 : -ENOMEM;
    if (status == 0) {
        memset(number, 0, (size_t)ranks * sizeof *number);
        for (uint32_t v = ranks; v-- > 0;)
            part[of[v]] = x->o->improve[v]; /* a node is where its first rank was */
        for (uint32_t n = 0; n < x->g->n; n++) number[part[n]] = 1;
        for (uint32_t c = 0; c < ranks; c++) /* no more numbers than nodes, in the same order */
            if (number[c]) number[c] = count++;
        for (uint32_t n = 0; n < x->g->n; n++) part[n] = number[part[n]];
        status = hark_cluster_search_from(x, part, x->o->effort == HARK_PARTITION_BEST, x->o->seed);
    }
    free(part);
    free(number);
    return status;
}

/* Ranks whose cluster is another one now: a new cluster is the old one that most of its ranks come
 * from. */
static int count_changed(struct hark_partition *p, const uint32_t *was)
{
    uint32_t n = p->ranks, *size = calloc((size_t)n + 1, sizeof *size),
             *begin = calloc((size_t)n + 2, sizeof *begin);
    uint32_t *list = malloc(((size_t)n + 1) * sizeof *list);
    if (size && begin && list) {
        uint32_t stay = 0;
        for (uint32_t v = 0; v < n; v++) begin[p->of[v] + 1]++;
        for (uint32_t c = 0; c < n; c++) begin[c + 1] += begin[c];
        for (uint32_t v = 0; v < n; v++) list[begin[p->of[v]]++] = v;
        for (uint32_t c = 0, i = 0; c < p->clusters; c++) {
            uint32_t most = 0, first = i;
            for (; i < begin[c]; i++)
                if (++size[was[list[i]]] > most) most = size[was[list[i]]];
            for (uint32_t k = first; k < i; k++) size[was[list[k]]] = 0;
            stay += most;
        }
        p->changed = n - stay;
    }
    bool ok = size && begin && list;
    free(size);
    free(begin);
    free(list);
    return ok ? 0 : -ENOMEM;
}

static int search(struct hark_partition *p, const struct cluster_graph *g, uint64_t bytes,
    const uint32_t *of, const struct hark_partition_options *o, char *error)
{
    struct cluster_model model;
    struct cluster_search x;
    struct cluster_bounds bounds = {o->least ? o->least : 1, o->most ? o->most : p->ranks};
    hark_cluster_model_make(&model, g, bytes, &o->cost, bounds);
    int status = hark_cluster_search_make(&x, g, &model, o);
    if (status == 0) {
        if (o->improve) status = improve(&x, of, p->ranks);
        else if (o->effort == HARK_PARTITION_PAPER) status = hark_cluster_search_paper(&x);
        else if (o->effort == HARK_PARTITION_BEST) status = hark_cluster_search_best(&x);
        else status = hark_cluster_search_fast(&x);
    }
    if (status == 0 && !x.found)
        status = bad(error, -EINVAL, "found no clusters of %llu to %llu ranks",
            (unsigned long long)bounds.least, (unsigned long long)bounds.most);
    else if (status < 0)
        bad(error, status, "%s",
            status == -ENOMEM      ? "no memory"
            : status == -EOVERFLOW ? "the graph is too large for this backend"
                                   : "the bisection failed");
    for (uint32_t v = 0; status == 0 && v < p->ranks; v++) p->of[v] = x.best[of[v]];
    p->clusters = x.clusters;
    hark_cluster_search_free(&x);
    return status;
}

int hark_partition(struct hark_partition *p, const struct hark_matrix *m,
    const struct hark_partition_options *o, char error[HARK_PARTITION_ERROR])
{
    struct cluster_graph g = {0};
    uint64_t bytes = 0;
    *p = (struct hark_partition){.ranks = m->ranks};
    int status = check(m, o, error);
    if (status < 0) return status;
    uint32_t *of = malloc(((size_t)m->ranks + 1) * sizeof *of);
    p->of = malloc(((size_t)m->ranks + 1) * sizeof *p->of);
    status = of && p->of ? graph_of_nodes(&g, &bytes, m, o, of, error)
                         : bad(error, -ENOMEM, "no memory");
    if (status == 0) status = search(p, &g, bytes, of, o, error);
    hark_cluster_graph_free(&g);
    free(of);
    if (status == 0 && hark_partition_measure(p, m, &o->cost) < 0)
        status = bad(error, -EOVERFLOW, "sums are too large");
    if (status == 0 && o->improve && count_changed(p, o->improve) < 0)
        status = bad(error, -ENOMEM, "no memory");
    if (status < 0) hark_partition_free(p);
    return status;
}

int hark_partition_measure(
    struct hark_partition *p, const struct hark_matrix *m, const struct hark_cluster_cost *cost)
{
    struct hark_cluster_figures f = {.ranks = m->ranks, .clusters = p->clusters};
    uint64_t *size = calloc((size_t)p->clusters + 1, sizeof *size);
    if (size == NULL) return -ENOMEM;
    for (uint32_t v = 0; v < m->ranks; v++) {
        size[p->of[v]]++;
        for (uint64_t k = m->first[v]; k < m->first[v + 1]; k++) {
            uint32_t u = m->column[k];
            if (u == v) continue;
            if (m->value[k] > HARK_GRAPH_MOST - f.bytes) {
                free(size);
                return -EOVERFLOW;
            }
            f.bytes += m->value[k];
            if (cost->ordered ? p->of[u] > p->of[v] : p->of[u] != p->of[v]) f.logged += m->value[k];
        }
    }
    for (uint32_t c = 0; c < p->clusters; c++) f.squares += size[c] * size[c];
    free(size);
    p->figures = f;
    p->cost = hark_cluster_cost(cost, &f);
    return 0;
}

void hark_partition_free(struct hark_partition *p)
{
    free(p->of);
    *p = (struct hark_partition){0};
}
