/* bisect.c: multilevel bisection: coarsening by heavy-edge matching, greedy growing, Fiduccia and
 * Mattheyses's refinement. */
#include <stdlib.h>
#include <string.h>

#include "cut.h"
#include "heap.h"
#include "random.h"

enum { COARSEST = 48, TRIES = 6, PASSES = 8 };

struct halves {
    const struct cluster_graph *g;
    uint64_t aim;
    const uint64_t *most;
    uint32_t *side;
    uint64_t load[2], largest; /* of a vertex: by so much a side may be too full on the way, so that
                                  two can change places */
    int64_t cut, *gain;        /* gain[v]: by how much less is cut when v changes its side */
    struct cluster_heap heap[2];
    uint32_t *moved;
    bool *locked;
};

static int halves_make(
    struct halves *h, const struct cluster_graph *g, uint64_t aim, const uint64_t most[2])
{
    size_t n = (size_t)g->n + 1;
    *h = (struct halves){.g = g,
        .aim = aim,
        .most = most,
        .gain = malloc(n * sizeof *h->gain),
        .moved = malloc(n * sizeof *h->moved),
        .locked = malloc(n * sizeof *h->locked)};
    if (cluster_heap_make(&h->heap[0], g->n) < 0 || cluster_heap_make(&h->heap[1], g->n) < 0)
        return -ENOMEM;
    return h->gain && h->moved && h->locked ? 0 : -ENOMEM;
}

static void halves_free(struct halves *h)
{
    free(h->gain);
    free(h->moved);
    free(h->locked);
    cluster_heap_free(&h->heap[0]);
    cluster_heap_free(&h->heap[1]);
}

/* Everything that follows from the sides. */
static void count_all(struct halves *h)
{
    uint64_t twice = 0;
    h->load[0] = h->load[1] = 0;
    for (uint32_t v = 0; v < h->g->n; v++) {
        uint64_t in = 0, out = 0;
        for (uint64_t k = h->g->first[v]; k < h->g->first[v + 1]; k++)
            *(h->side[h->g->column[k]] == h->side[v] ? &in : &out) += h->g->weight[k];
        h->gain[v] = (int64_t)out - (int64_t)in;
        twice += out;
        h->load[h->side[v]] += h->g->load[v];
        if (h->g->load[v] > h->largest) h->largest = h->g->load[v];
    }
    h->cut = (int64_t)(twice / 2);
}

static uint64_t over(const struct halves *h)
{
    uint64_t sum = 0;
    for (int s = 0; s < 2; s++) sum += h->load[s] > h->most[s] ? h->load[s] - h->most[s] : 0;
    return sum;
}

struct standing { /* how good the sides are: less is better, the first that differs counts */
    uint64_t over;
    int64_t cut;
    uint64_t off;
};

static struct standing standing(const struct halves *h)
{
    return (struct standing){
        over(h), h->cut, h->load[0] > h->aim ? h->load[0] - h->aim : h->aim - h->load[0]};
}

static bool better(struct standing a, struct standing b)
{
    if (a.over != b.over) return a.over < b.over;
    return a.cut != b.cut ? a.cut < b.cut : a.off < b.off;
}

static void move(struct halves *h, uint32_t v, bool queue)
{
    uint32_t from = h->side[v];
    h->cut -= h->gain[v];
    h->gain[v] = -h->gain[v];
    h->side[v] = 1 - from;
    h->load[from] -= h->g->load[v];
    h->load[1 - from] += h->g->load[v];
    for (uint64_t k = h->g->first[v]; k < h->g->first[v + 1]; k++) {
        uint32_t u = h->g->column[k];
        int64_t twice = 2 * (int64_t)h->g->weight[k];
        h->gain[u] += h->side[u] == from ? twice : -twice;
        if (queue && !h->locked[u]) cluster_heap_set(&h->heap[h->side[u]], u, (double)h->gain[u]);
    }
}

/* The next vertex to move, CLUSTER_NOWHERE if none may. */
static uint32_t choose(struct halves *h)
{
    for (;;) {
        uint32_t top[2];
        bool full = h->load[0] > h->most[0] || h->load[1] > h->most[1];
        for (uint32_t s = 0; s < 2; s++) {
            top[s] = h->heap[s].count ? h->heap[s].item[0] : CLUSTER_NOWHERE;
            if (full && h->load[s] <= h->most[s]) top[s] = CLUSTER_NOWHERE;
        }
        if (top[0] == CLUSTER_NOWHERE && top[1] == CLUSTER_NOWHERE) return CLUSTER_NOWHERE;
        uint32_t s = top[0] == CLUSTER_NOWHERE                                        ? 1
                     : top[1] == CLUSTER_NOWHERE || h->gain[top[0]] > h->gain[top[1]] ? 0
                     : h->gain[top[0]] < h->gain[top[1]] || h->load[0] < h->aim       ? 1
                                                                                      : 0;
        cluster_heap_remove(&h->heap[s], top[s]);
        if (full || h->load[1 - s] + h->g->load[top[s]] <= h->most[1 - s] + h->largest)
            return top[s];
    }
}

/* One pass: everything moves at most once, the best that was seen on the way stays. False: nothing
 * became better. */
static bool pass(struct halves *h)
{
    uint32_t n = h->g->n, moves = 0, kept = 0,
             patience = n <= 400 ? n / 2 + 8 : 100 + (n / 50 < 400 ? n / 50 : 400);
    struct standing best = standing(h);
    bool all = n <= 400 || best.over > 0;
    memset(h->locked, 0, (size_t)n * sizeof *h->locked);
    cluster_heap_clear(&h->heap[0]);
    cluster_heap_clear(&h->heap[1]);
    for (uint32_t v = 0; v < n; v++) {
        if (!all) { /* only what is at the cut */
            uint64_t k = h->g->first[v];
            while (k < h->g->first[v + 1] && h->side[h->g->column[k]] == h->side[v]) k++;
            if (k == h->g->first[v + 1]) continue;
        }
        cluster_heap_set(&h->heap[h->side[v]], v, (double)h->gain[v]);
    }
    for (uint32_t v; moves - kept < patience && (v = choose(h)) != CLUSTER_NOWHERE;) {
        h->locked[v] = true;
        move(h, v, true);
        h->moved[moves++] = v;
        if (!better(standing(h), best)) continue;
        best = standing(h);
        kept = moves;
    }
    while (moves > kept) move(h, h->moved[--moves], false);
    return kept > 0;
}

static void refine(struct halves *h)
{
    count_all(h);
    for (int i = 0; i < PASSES && pass(h);) i++;
}

/* By how much less is cut when v comes to side 0, where nothing around it is yet. */
static double alone(const struct cluster_graph *g, uint32_t v)
{
    uint64_t sum = 0;
    for (uint64_t k = g->first[v]; k < g->first[v + 1]; k++) sum += g->weight[k];
    return -(double)sum;
}

/* Side 0 grows from `start`, by what makes the cut smallest, to the load aimed at. */
static void grow(struct halves *h, uint32_t start)
{
    struct cluster_heap *heap = &h->heap[0];
    uint64_t load = 0;
    for (uint32_t v = 0; v < h->g->n; v++) h->side[v] = 1;
    cluster_heap_clear(heap);
    cluster_heap_set(heap, start, 0);
    for (uint32_t next = 0; load < h->aim;) {
        if (heap->count == 0) {
            while (next < h->g->n && h->side[next] == 0) next++;
            if (next == h->g->n) return;
            cluster_heap_set(heap, next++, 0); /* once: it may be too heavy */
        }
        uint32_t v = heap->item[0];
        cluster_heap_remove(heap, v);
        if (load + h->g->load[v] > h->most[0] && load > 0) continue;
        load += h->g->load[v];
        h->side[v] = 0;
        for (uint64_t k = h->g->first[v]; k < h->g->first[v + 1]; k++) {
            uint32_t u = h->g->column[k];
            if (h->side[u] == 0) continue;
            double key = cluster_heap_has(heap, u) ? heap->key[u] : alone(h->g, u);
            cluster_heap_set(heap, u, key + 2 * (double)h->g->weight[k]);
        }
    }
}

/* The first ranks on side 0: programs number their processes so that neighbours are near. */
static void first_ranks(struct halves *h)
{
    uint64_t load = 0;
    for (uint32_t v = 0; v < h->g->n; v++) {
        h->side[v] = load + h->g->load[v] / 2 < h->aim ? 0 : 1;
        load += h->g->load[v];
    }
}

static int begin(const struct cluster_graph *g, uint64_t aim, const uint64_t most[2], uint64_t seed,
    uint32_t *side)
{
    struct halves h;
    uint32_t *best = malloc(((size_t)g->n + 1) * sizeof *best);
    struct standing least = {0};
    int status = halves_make(&h, g, aim, most);
    h.side = side;
    for (int i = 0; best && status == 0 && i < TRIES; i++) {
        if (i == 0) first_ranks(&h);
        else grow(&h, i == 1 ? 0 : cluster_below(&seed, g->n));
        refine(&h);
        if (i > 0 && !better(standing(&h), least)) continue;
        least = standing(&h);
        memcpy(best, side, (size_t)g->n * sizeof *side);
    }
    if (best && status == 0) memcpy(side, best, (size_t)g->n * sizeof *side);
    else status = -ENOMEM;
    halves_free(&h);
    free(best);
    return status;
}

int hark_cluster_bisect(const struct cluster_graph *g, uint64_t aim, const uint64_t most[2],
    uint64_t seed, uint32_t *side)
{
    struct cluster_levels *l = calloc(1, sizeof *l);
    uint64_t total = most[0] + most[1];
    uint32_t *coarse = malloc(((size_t)g->n + 1) * sizeof *coarse);
    int status = l && coarse ? hark_cluster_levels_make(l, g, NULL, COARSEST, total / 12 + 1, seed)
                             : -ENOMEM;
    if (status == 0) status = begin(&l->graph[l->count], aim, most, seed, coarse);
    for (int i = l ? l->count - 1 : -1; status == 0 && i >= 0; i--) {
        struct halves h;
        const struct cluster_graph *fine = &l->graph[i];
        for (uint32_t v = 0; v < fine->n; v++) side[v] = coarse[l->map[i][v]];
        memcpy(coarse, side, (size_t)fine->n * sizeof *side);
        status = halves_make(&h, fine, aim, most);
        h.side = coarse;
        if (status == 0) refine(&h);
        halves_free(&h);
    }
    if (status == 0) memcpy(side, coarse, (size_t)g->n * sizeof *side);
    if (l) hark_cluster_levels_free(l);
    free(l);
    free(coarse);
    return status;
}
