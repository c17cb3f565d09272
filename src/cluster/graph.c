#include "graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

#define NOBODY UINT32_MAX

/* ---- of a matrix */

/* What goes from v to u and back, while both rows are walked together: `turned` is the matrix by
 * columns. */
static uint64_t merge_rows(const struct hark_matrix *m, const struct hark_matrix *turned,
    uint32_t v, uint32_t *column, uint64_t *weight)
{
    uint64_t a = m->first[v], b = turned->first[v], n = 0;
    while (a < m->first[v + 1] || b < turned->first[v + 1]) {
        uint32_t x = a < m->first[v + 1] ? m->column[a] : NOBODY,
                 y = b < turned->first[v + 1] ? turned->column[b] : NOBODY;
        uint32_t u = x < y ? x : y;
        uint64_t sum = (x == u ? m->value[a++] : 0) + (y == u ? turned->value[b++] : 0);
        if (u == v || sum == 0) continue;
        if (column) column[n] = u, weight[n] = sum;
        n++;
    }
    return n;
}

static int too_much(const struct hark_matrix *m)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < m->entries; i++) {
        if (m->value[i] > HARK_GRAPH_MOST - sum) return -EOVERFLOW;
        sum += m->value[i];
    }
    return 0;
}

int hark_graph_of(struct hark_graph *g, const struct hark_matrix *m)
{
    struct hark_matrix turned;
    uint64_t places = 0;
    *g = (struct hark_graph){0};
    if (too_much(m) < 0) return -EOVERFLOW;
    if (hark_matrix_turn(&turned, m) < 0) return -ENOMEM;
    for (uint32_t v = 0; v < m->ranks; v++) places += merge_rows(m, &turned, v, NULL, NULL);
    uint64_t *first = malloc(((uint64_t)m->ranks + 1) * sizeof *first),
             *weight = malloc((places + 1) * sizeof *weight);
    uint32_t *column = malloc((places + 1) * sizeof *column);
    if (first && weight && column) {
        first[0] = 0;
        for (uint32_t v = 0; v < m->ranks; v++)
            first[v + 1] =
                first[v] + merge_rows(m, &turned, v, column + first[v], weight + first[v]);
        *g = (struct hark_graph){m->ranks, first, column, weight, NULL};
    } else {
        free(first);
        free(weight);
        free(column);
    }
    hark_matrix_free(&turned);
    return g->first ? 0 : -ENOMEM;
}

void hark_graph_free(struct hark_graph *g)
{
    free((void *)(uintptr_t)g->first);
    free((void *)(uintptr_t)g->column);
    free((void *)(uintptr_t)g->weight);
    *g = (struct hark_graph){0};
}

/* ---- inside */

int hark_cluster_graph_make(struct cluster_graph *g, uint32_t n, uint64_t places, bool directed)
{
    *g = (struct cluster_graph){.n = n};
    g->first = malloc(((uint64_t)n + 1) * sizeof *g->first);
    g->column = malloc((places + 1) * sizeof *g->column);
    g->weight = malloc((places + 1) * sizeof *g->weight);
    g->load = malloc(((uint64_t)n + 1) * sizeof *g->load);
    if (directed) g->out = malloc((places + 1) * sizeof *g->out);
    if (g->first && g->column && g->weight && g->load && (g->out || !directed)) return 0;
    hark_cluster_graph_free(g);
    return -ENOMEM;
}

void hark_cluster_graph_free(struct cluster_graph *g)
{
    free(g->first);
    free(g->column);
    free(g->weight);
    free(g->out);
    free(g->load);
    *g = (struct cluster_graph){0};
}

int hark_cluster_graph_of(struct cluster_graph *g, const struct hark_matrix *m, bool directed)
{
    struct hark_graph plain;
    int status = hark_graph_of(&plain, m);
    if (status < 0) return status;
    status = hark_cluster_graph_view(g, &plain);
    if (status < 0) hark_graph_free(&plain);
    if (status < 0 || !directed) return status; /* the view's arrays are the graph's from now on */
    g->out = malloc((g->first[g->n] + 1) * sizeof *g->out);
    if (g->out == NULL) {
        hark_cluster_graph_free(g);
        return -ENOMEM;
    }
    for (uint32_t v = 0; v < g->n; v++) {
        uint64_t at = m->first[v];
        for (uint64_t k = g->first[v]; k < g->first[v + 1]; k++) {
            while (at < m->first[v + 1] && m->column[at] < g->column[k]) at++;
            g->out[k] = at < m->first[v + 1] && m->column[at] == g->column[k] ? m->value[at] : 0;
        }
    }
    return 0;
}

int hark_cluster_graph_view(struct cluster_graph *to, const struct hark_graph *g)
{
    *to = (struct cluster_graph){g->vertices, (uint64_t *)(uintptr_t)g->first,
        (uint32_t *)(uintptr_t)g->column, (uint64_t *)(uintptr_t)g->weight, NULL,
        malloc(((uint64_t)g->vertices + 1) * sizeof *to->load)};
    if (to->load == NULL) {
        *to = (struct cluster_graph){0};
        return -ENOMEM;
    }
    for (uint32_t v = 0; v < g->vertices; v++) to->load[v] = g->load ? g->load[v] : 1;
    return 0;
}

void hark_cluster_graph_view_free(struct cluster_graph *g)
{
    free(g->load);
    *g = (struct cluster_graph){0};
}

uint64_t hark_cluster_graph_load(const struct cluster_graph *g)
{
    uint64_t sum = 0;
    for (uint32_t v = 0; v < g->n; v++) sum += g->load[v];
    return sum;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

uint64_t hark_cluster_graph_bytes(const struct cluster_graph *g)
{
    uint64_t twice = 0;
    for (uint64_t k = 0; k < g->first[g->n]; k++) twice += g->weight[k];
    return twice / 2;
}

void hark_cluster_graph_reduce(struct cluster_graph *g)
{
    uint64_t divisor = 0;
    for (uint64_t k = 0; k < g->first[g->n] && divisor != 1; k++) {
        divisor = common_divisor(divisor, g->weight[k]);
        if (g->out) divisor = common_divisor(divisor, g->out[k]);
    }
    if (divisor < 2) return;
    for (uint64_t k = 0; k < g->first[g->n]; k++) {
        g->weight[k] /= divisor;
        if (g->out) g->out[k] /= divisor;
    }
}

/* The vertices in the order of where they go: list[begin[c]] .. of each c. */
static void sort_by_map(
    const uint32_t *map, uint32_t from, uint32_t n, uint32_t *begin, uint32_t *list)
{
    memset(begin, 0, ((size_t)n + 1) * sizeof *begin);
    for (uint32_t v = 0; v < from; v++) begin[map[v] + 1]++;
    for (uint32_t c = 0; c < n; c++) begin[c + 1] += begin[c];
    for (uint32_t v = 0; v < from; v++) list[begin[map[v]]++] = v;
    for (uint32_t c = n; c > 0; c--) begin[c] = begin[c - 1];
    begin[0] = 0;
}

/* One row of the coarser graph. at[c]: the place of c in this row, if it is not below the row's
 * first. */
static void contract_row(struct cluster_graph *to, const struct cluster_graph *g,
    const uint32_t *map, uint32_t c, const uint32_t *member, uint32_t members, uint64_t *at)
{
    uint64_t begin = to->first[c], end = begin;
    to->load[c] = 0;
    for (uint32_t i = 0; i < members; i++) {
        uint32_t v = member[i];
        to->load[c] += g->load[v];
        for (uint64_t k = g->first[v]; k < g->first[v + 1]; k++) {
            uint32_t u = map[g->column[k]];
            if (u == c) continue;
            if (at[u] < begin || at[u] >= end || to->column[at[u]] != u) {
                at[u] = end++;
                to->column[at[u]] = u;
                to->weight[at[u]] = 0;
                if (to->out) to->out[at[u]] = 0;
            }
            to->weight[at[u]] += g->weight[k];
            if (to->out) to->out[at[u]] += g->out[k];
        }
    }
    to->first[c + 1] = end;
}

int hark_cluster_graph_contract(
    struct cluster_graph *to, const struct cluster_graph *g, const uint32_t *map, uint32_t n)
{
    uint32_t *begin = malloc(((size_t)n + 1) * sizeof *begin),
             *list = malloc(((size_t)g->n + 1) * sizeof *list);
    uint64_t *at = calloc((size_t)n + 1, sizeof *at);
    int status = begin && list && at
                     ? hark_cluster_graph_make(to, n, g->first[g->n], g->out != NULL)
                     : -ENOMEM;
    if (status == 0) {
        sort_by_map(map, g->n, n, begin, list);
        to->first[0] = 0;
        for (uint32_t c = 0; c < n; c++)
            contract_row(to, g, map, c, list + begin[c], begin[c + 1] - begin[c], at);
        uint64_t places = to->first[n] + 1; /* what was not needed goes back: the sum of all levels
                                               stays small */
        void *less;
        if ((less = realloc(to->column, places * sizeof *to->column)) != NULL) to->column = less;
        if ((less = realloc(to->weight, places * sizeof *to->weight)) != NULL) to->weight = less;
        if (to->out && (less = realloc(to->out, places * sizeof *to->out)) != NULL) to->out = less;
    }
    free(begin);
    free(list);
    free(at);
    return status;
}

/* ---- heavy-edge matching */

static uint32_t partner(const struct cluster_graph *g, const uint32_t *map, const uint32_t *within,
    uint64_t most, uint32_t v)
{
    uint32_t best = NOBODY;
    double most_rate = 0;
    for (uint64_t k = g->first[v]; k < g->first[v + 1]; k++) {
        uint32_t u = g->column[k];
        if (map[u] != NOBODY || (within && within[u] != within[v]) ||
            g->load[u] + g->load[v] > most)
            continue;
        double rate = (double)g->weight[k] / (double)(g->load[u] + (g->load[u] == 0));
        if (rate > most_rate || (rate == most_rate && u < best)) {
            best = u;
            most_rate = rate;
        }
    }
    return best;
}

/* Leaves of one star find no neighbour that is free: they are paired with each other, and so are
 * those without neighbours. */
static void match_over_two(const struct cluster_graph *g, const uint32_t *within, uint64_t most,
    uint32_t *map, uint32_t *n, uint32_t *waits)
{
    memset(waits, 0xff, ((size_t)g->n + 1) * sizeof *waits);
    for (uint32_t v = 0; v < g->n; v++) {
        if (map[v] != NOBODY) continue;
        uint32_t hub = g->n;
        uint64_t weight = 0;
        for (uint64_t k = g->first[v]; k < g->first[v + 1]; k++)
            if (g->weight[k] > weight) hub = g->column[k], weight = g->weight[k];
        uint32_t u = waits[hub];
        if (u == NOBODY || (within && within[u] != within[v]) || g->load[u] + g->load[v] > most) {
            waits[hub] = v;
            continue;
        }
        map[u] = map[v] = (*n)++;
        waits[hub] = NOBODY;
    }
}

static void order_of_visits(uint32_t *order, uint32_t n, uint64_t seed)
{
    for (uint32_t v = 0; v < n; v++) order[v] = v;
    if (seed == 0) return;
    for (uint32_t v = n; v > 1; v--) {
        uint32_t other = cluster_below(&seed, v), was = order[v - 1];
        order[v - 1] = order[other];
        order[other] = was;
    }
}

int hark_cluster_graph_match(const struct cluster_graph *g, const uint32_t *within, uint64_t most,
    uint64_t seed, uint32_t *map, uint32_t *n)
{
    uint32_t *order = malloc(((size_t)g->n + 1) * sizeof *order), matched = 0;
    if (order == NULL) return -ENOMEM;
    order_of_visits(order, g->n, seed);
    memset(map, 0xff, (size_t)g->n * sizeof *map);
    *n = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t v = order[i], u;
        if (map[v] != NOBODY) continue;
        map[v] = v; /* not with itself */
        u = partner(g, map, within, most, v);
        map[v] = NOBODY;
        if (u == NOBODY) continue;
        map[u] = map[v] = (*n)++;
        matched += 2;
    }
    if (matched < g->n - g->n / 4) match_over_two(g, within, most, map, n, order);
    for (uint32_t v = 0; v < g->n; v++)
        if (map[v] == NOBODY) map[v] = (*n)++;
    /* numbered by their lowest members: what stands near in ranks stays near */
    memset(order, 0xff, (size_t)*n * sizeof *order);
    for (uint32_t v = 0, next = 0; v < g->n; v++) {
        if (order[map[v]] == NOBODY) order[map[v]] = next++;
        map[v] = order[map[v]];
    }
    free(order);
    return 0;
}

/* ---- parts of a graph */

int hark_cluster_graph_induce(struct cluster_graph *to, const struct cluster_graph *g,
    const uint32_t *list, uint32_t count, uint32_t *place)
{
    uint64_t places = 0, at = 0;
    for (uint32_t i = 0; i < count; i++) places += g->first[list[i] + 1] - g->first[list[i]];
    if (hark_cluster_graph_make(to, count, places, g->out != NULL) < 0) return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) place[list[i]] = i;
    to->first[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint64_t k = g->first[list[i]]; k < g->first[list[i] + 1]; k++) {
            if (place[g->column[k]] == NOBODY) continue;
            to->column[at] = place[g->column[k]];
            to->weight[at] = g->weight[k];
            if (to->out) to->out[at] = g->out[k];
            at++;
        }
        to->first[i + 1] = at;
        to->load[i] = g->load[list[i]];
    }
    for (uint32_t i = 0; i < count; i++) place[list[i]] = NOBODY;
    return 0;
}

/* ---- levels */

int hark_cluster_levels_make(struct cluster_levels *l, const struct cluster_graph *g,
    const uint32_t *within, uint32_t until, uint64_t most, uint64_t seed)
{
    uint32_t *in = NULL, n;
    int status = 0;
    l->count = 0;
    l->graph[0] = *g;
    if (within) {
        in = malloc(((size_t)g->n + 1) * sizeof *in);
        if (in == NULL) return -ENOMEM;
        memcpy(in, within, (size_t)g->n * sizeof *in);
    }
    while (status == 0 && l->graph[l->count].n > until && l->count + 1 < CLUSTER_LEVELS) {
        struct cluster_graph *fine = &l->graph[l->count];
        uint32_t *map = malloc(((size_t)fine->n + 1) * sizeof *map);
        status = map ? hark_cluster_graph_match(
                           fine, in, most, seed ? seed + (uint64_t)l->count : 0, map, &n)
                     : -ENOMEM;
        if (status < 0 || n > fine->n - fine->n / 20) { /* it no longer gets smaller */
            free(map);
            break;
        }
        status = hark_cluster_graph_contract(&l->graph[l->count + 1], fine, map, n);
        if (status < 0) {
            free(map);
            break;
        }
        for (uint32_t v = 0; in && v < fine->n; v++)
            in[map[v]] = in[v]; /* map[v] <= v: by lowest members */
        l->map[l->count++] = map;
    }
    free(in);
    if (status < 0) hark_cluster_levels_free(l);
    return status;
}

void hark_cluster_levels_free(struct cluster_levels *l)
{
    for (int i = 0; i < l->count; i++) {
        free(l->map[i]);
        hark_cluster_graph_free(&l->graph[i + 1]);
    }
    l->count = 0;
}
