/* swap.c: two vertices of different clusters change places, where neither could go alone. */
#include <errno.h>
#include <stdlib.h>

#include "state.h"

/* weight from each vertex to each cluster, as a table: this many places at most */
#define TABLE_MOST (UINT64_C(1) << 24)

struct swaps {
    struct cluster_state *s;
    uint64_t *joined; /* by vertex and slot number */
    uint32_t *number, count;
};

static uint64_t between(const struct cluster_graph *g, uint32_t v, uint32_t u)
{
    if (g->first[v + 1] - g->first[v] > g->first[u + 1] - g->first[u]) {
        uint32_t other = v;
        v = u;
        u = other;
    }
    for (uint64_t k = g->first[v]; k < g->first[v + 1]; k++)
        if (g->column[k] == u) return g->weight[k];
    return 0;
}

static uint64_t *row(struct swaps *w, uint32_t v)
{
    return w->joined + (uint64_t)v * w->count;
}

/* What less is logged if v went to u's cluster, and the other way round. */
static int64_t gain(struct swaps *w, uint32_t v, uint32_t u)
{
    uint32_t a = w->number[w->s->part[v]], b = w->number[w->s->part[u]];
    uint64_t *x = row(w, v), *y = row(w, u);
    int64_t sum = (int64_t)x[b] - (int64_t)x[a] + (int64_t)y[a] - (int64_t)y[b];
    return sum > 0 ? sum - 2 * (int64_t)between(w->s->g, v, u) : 0;
}

static void went(struct swaps *w, uint32_t v, uint32_t from, uint32_t to)
{
    const struct cluster_graph *g = w->s->g;
    for (uint64_t k = g->first[v]; k < g->first[v + 1]; k++) {
        row(w, g->column[k])[w->number[from]] -= g->weight[k];
        row(w, g->column[k])[w->number[to]] += g->weight[k];
    }
}

static bool try_all(struct swaps *w)
{
    struct cluster_state *s = w->s;
    bool any = false;
    for (uint32_t v = 0; v < s->g->n; v++) {
        uint32_t best = v, a = s->part[v];
        int64_t most = 0;
        for (uint32_t u = v + 1; u < s->g->n; u++) {
            uint32_t b = s->part[u];
            if (a == b || s->g->load[u] != s->g->load[v] ||
                row(w, v)[w->number[b]] + row(w, u)[w->number[a]] == 0)
                continue;
            int64_t g = gain(w, v, u);
            if (g > most) most = g, best = u;
        }
        if (best == v) continue;
        uint32_t b = s->part[best];
        hark_cluster_move(s, v, b, 0);
        hark_cluster_move(s, best, a, s->place ? s->place[a] : 0);
        went(w, v, a, b);
        went(w, best, b, a);
        any = true;
    }
    return any;
}

int hark_cluster_refine_swap(struct cluster_state *s, bool *better)
{
    struct swaps w = {.s = s, .count = s->count};
    uint64_t room = (uint64_t)s->g->n * s->count;
    if (s->place || s->count < 2 || room > TABLE_MOST ||
        (uint64_t)s->g->n * s->g->n > 4 * TABLE_MOST)
        return 0;
    w.joined = calloc(room, sizeof *w.joined);
    w.number = malloc(((size_t)s->slots + 1) * sizeof *w.number);
    bool ok = w.joined && w.number;
    if (ok) {
        uint32_t next = 0;
        for (uint32_t c = 0; c < s->slots; c++)
            if (s->members[c]) w.number[c] = next++;
        for (uint32_t v = 0; v < s->g->n; v++)
            for (uint64_t k = s->g->first[v]; k < s->g->first[v + 1]; k++)
                row(&w, v)[w.number[s->part[s->g->column[k]]]] += s->g->weight[k];
        if (s->model->cost->function == NULL && try_all(&w)) *better = true;
    }
    free(w.joined);
    free(w.number);
    return ok ? 0 : -ENOMEM;
}
