/* moves.c: single vertices go to other clusters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap.h"
#include "state.h"

int hark_cluster_refine_moves(struct cluster_state *s, bool all)
{
    uint32_t n = s->g->n, head = 0, waiting = n;
    uint32_t *ring = malloc(((size_t)n + 1) * sizeof *ring);
    bool *in = malloc(((size_t)n + 1) * sizeof *in);
    if (ring == NULL || in == NULL) {
        free(ring);
        free(in);
        return -ENOMEM;
    }
    for (uint32_t v = 0; v < n; v++) ring[v] = v, in[v] = true;
    while (waiting > 0) {
        uint32_t v = ring[head];
        head = head + 1 == n ? 0 : head + 1;
        waiting--;
        in[v] = false;
        struct cluster_move m = hark_cluster_best_move(s, v, false, all);
        if (m.to == s->part[v]) continue;
        hark_cluster_move(s, v, m.to, m.place);
        for (uint64_t k = s->g->first[v]; k < s->g->first[v + 1]; k++) {
            uint32_t u = s->g->column[k], tail = (uint32_t)(((uint64_t)head + waiting) % n);
            if (in[u] || s->part[u] == m.to) continue;
            ring[tail] = u;
            in[u] = true;
            waiting++;
        }
    }
    free(ring);
    free(in);
    return 0;
}

/* ---- climbing */

struct climb {
    struct cluster_state *s;
    struct cluster_heap heap;
    uint32_t *vertex, *was;
    int64_t *was_place;
    bool *locked, all;
    uint64_t work;
};

static void queue(struct climb *c, uint32_t v)
{
    struct cluster_move m = hark_cluster_best_move(c->s, v, true, c->all);
    c->work += 4 + c->s->g->first[v + 1] - c->s->g->first[v];
    if (m.to == c->s->part[v]) cluster_heap_remove(&c->heap, v);
    else cluster_heap_set(&c->heap, v, -m.change);
}

static bool at_border(const struct cluster_state *s, uint32_t v)
{
    for (uint64_t k = s->g->first[v]; k < s->g->first[v + 1]; k++)
        if (s->part[s->g->column[k]] != s->part[v]) return true;
    return false;
}

/* Of the moves there are the best one, seen again: what was said of it may be of before. */
static struct cluster_move next_move(struct climb *c, uint32_t *v)
{
    while (c->heap.count) {
        *v = c->heap.item[0];
        struct cluster_move m = hark_cluster_best_move(c->s, *v, true, c->all);
        c->work += 4 + c->s->g->first[*v + 1] - c->s->g->first[*v];
        if (m.to == c->s->part[*v]) {
            cluster_heap_remove(&c->heap, *v);
        } else if (-m.change < c->heap.key[*v]) {
            cluster_heap_set(&c->heap, *v, -m.change);
            if (c->heap.item[0] == *v) return m;
        } else {
            return m;
        }
    }
    *v = CLUSTER_NOWHERE;
    return (struct cluster_move){0};
}

static void back(struct climb *c, uint32_t moves, uint32_t kept)
{
    while (moves > kept) {
        moves--;
        hark_cluster_move(c->s, c->vertex[moves], c->was[moves], c->was_place[moves]);
    }
}

static bool climb(struct climb *c, uint64_t work, uint32_t patience)
{
    struct cluster_state *s = c->s;
    double sum = 0, best = -CLUSTER_LESS;
    uint32_t moves = 0, kept = 0, v;
    for (v = 0; v < s->g->n; v++)
        if (c->all || at_border(s, v)) queue(c, v);
    while (moves - kept < patience && c->work < work) {
        struct cluster_move m = next_move(c, &v);
        if (v == CLUSTER_NOWHERE) break;
        cluster_heap_remove(&c->heap, v);
        c->locked[v] = true;
        c->vertex[moves] = v;
        c->was[moves] = s->part[v];
        c->was_place[moves++] = s->place ? s->place[s->part[v]] : 0;
        hark_cluster_move(s, v, m.to, m.place);
        sum += m.change;
        if (sum < best) {
            best = sum - CLUSTER_LESS;
            kept = moves;
        }
        for (uint64_t k = s->g->first[v]; k < s->g->first[v + 1]; k++)
            if (!c->locked[s->g->column[k]]) queue(c, s->g->column[k]);
    }
    back(c, moves, kept);
    return kept > 0;
}

int hark_cluster_refine_climb(struct cluster_state *s, uint64_t work, bool all, bool *better)
{
    size_t n = (size_t)s->g->n + 1;
    uint32_t patience = s->g->n <= 300 ? s->g->n / 2 + 10 : 160 + s->g->n / 200;
    struct climb c = {.s = s,
        .all = all,
        .vertex = malloc(n * sizeof *c.vertex),
        .was = malloc(n * sizeof *c.was),
        .was_place = malloc(n * sizeof *c.was_place),
        .locked = calloc(n, sizeof *c.locked)};
    int status = -ENOMEM;
    if (c.vertex && c.was && c.was_place && c.locked && cluster_heap_make(&c.heap, s->g->n) == 0) {
        if (climb(&c, work, patience)) *better = true;
        status = 0;
    }
    cluster_heap_free(&c.heap);
    free(c.vertex);
    free(c.was);
    free(c.was_place);
    free(c.locked);
    return status;
}
