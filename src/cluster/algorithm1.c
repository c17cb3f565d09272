/* algorithm1.c: Algorithm 1 of Ropars et al. (Euro-Par 2011), with the corrections P-1 to P-6 of
 * docs/partition.md.
 *
 * A part is named by its lowest vertex, so that a heap of parts by load gives ties to the lowest
 * rank (P-4). Accepted bisections are kept as a list; the best partition so far is a length of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cut.h"
#include "heap.h"
#include "state.h"

struct bisection {
    uint32_t from; /* the part that was cut keeps this number, the other half gets the number of the
                      bisection + 1 */
    bool before;   /* the new one stands before the old one in the order (P-5) */
};

struct algorithm {
    const struct cluster_graph *g;
    const struct cluster_model *m;
    const struct hark_partition_options *o;
    struct cluster_heap parts; /* by load */
    uint32_t *number;          /* of each part, by its lowest vertex */
    uint32_t *part;            /* of each vertex: a number */
    uint32_t *next;            /* the next vertex of the same part, ascending */
    uint32_t *list, *side, *place;
    struct bisection *done;
    uint32_t count, best; /* of bisections */
    struct hark_cluster_figures now;
    double cost, best_cost;
    uint64_t outside, best_outside; /* by how much parts are larger than they may be */
};

struct halves {
    uint64_t load[2], to[2]; /* to[s]: from the other side to s, or half of all if there are no
                                directions */
};

static bool should_partition(const struct algorithm *a, uint64_t load, uint32_t members)
{
    uint64_t threshold = a->o->threshold ? a->o->threshold : 1;
    return members > 1 && load > threshold && load >= 2 * a->m->bounds.least;
}

static int bisect(struct algorithm *a, const struct cluster_graph *sub, uint64_t seed)
{
    const double slack = 0.03;
    uint64_t load = hark_cluster_graph_load(sub), half = load / 2,
             more = (uint64_t)((double)half * slack);
    uint64_t most[2] = {half + more + (more == 0 && load % 2), load - half + more};
    if (a->o->bisect) {
        struct hark_graph plain = {sub->n, sub->first, sub->column, sub->weight, sub->load};
        int status = a->o->bisect(a->o->self, &plain, seed, a->side);
        for (uint32_t i = 0; status == 0 && i < sub->n; i++)
            if (a->side[i] > 1) return -EINVAL;
        return status;
    }
    if (a->o->backend != HARK_CUT_BUILTIN && sub->n > 8) { /* METIS leaves sides of very small
                                                              graphs empty */
        enum hark_cut_backend backend =
            a->o->backend == HARK_CUT_METIS ? HARK_CUT_METIS_RECURSIVE : a->o->backend;
        return hark_cluster_cut(sub, 2, slack, seed, backend, a->side);
    }
    return hark_cluster_bisect(sub, half, most, seed, a->side);
}

/* Loads and volumes of the two sides of a part. */
static struct halves look(const struct algorithm *a, const struct cluster_graph *sub)
{
    struct halves h = {{0, 0}, {0, 0}};
    for (uint32_t v = 0; v < sub->n; v++) {
        h.load[a->side[v]] += sub->load[v];
        for (uint64_t k = sub->first[v]; k < sub->first[v + 1]; k++)
            if (a->side[sub->column[k]] != a->side[v])
                h.to[a->side[sub->column[k]]] += sub->out ? sub->out[k] : sub->weight[k];
    }
    return h; /* without directions each weight was counted on both sides: to[s] is all that goes
                 between them */
}

static uint64_t too_large(const struct algorithm *a, uint64_t load)
{
    return load > a->m->bounds.most ? load - a->m->bounds.most : 0;
}

/* ACCEPTBISECTION: the cost is not higher, or the strength B / (K - 1) is not; the first one always
 * (P-1), and those of parts that are larger than allowed. */
static bool accept(
    const struct algorithm *a, const struct hark_cluster_figures *f, double cost, uint64_t outside)
{
    if (a->now.clusters == 1 || cost <= a->cost || outside < a->outside) return true;
    return (double)f->logged * ((double)a->now.clusters - 1) <=
           (double)a->now.logged * ((double)f->clusters - 1);
}

static bool best_so_far(const struct algorithm *a)
{
    if (a->outside != a->best_outside) return a->outside < a->best_outside;
    return a->cost < a->best_cost;
}

/* The list of a part becomes two, and they are queued. */
static void replace(struct algorithm *a, uint32_t old, uint32_t count, struct halves h)
{
    uint32_t head[2] = {CLUSTER_NOWHERE, CLUSTER_NOWHERE}, number = a->number[old],
             fresh = ++a->count;
    for (uint32_t i = count; i-- > 0;) {
        uint32_t v = a->list[i], s = a->side[i];
        a->next[v] = head[s];
        head[s] = v;
        if (s == 1) a->part[v] = fresh;
    }
    a->number[head[0]] = number;
    a->number[head[1]] = fresh;
    a->done[fresh - 1] = (struct bisection){number, h.to[1] > h.to[0]}; /* the cheaper way round */
    for (int s = 0; s < 2; s++) cluster_heap_set(&a->parts, head[s], (double)h.load[s]);
}

/* Tries the part of which `lowest` is the lowest vertex, which is in the heap no more: if it stays,
 * it is marked so (P-2). */
static int consider(struct algorithm *a, uint32_t lowest, uint64_t load)
{
    struct cluster_graph sub;
    uint32_t count = 0;
    for (uint32_t v = lowest; v != CLUSTER_NOWHERE; v = a->next[v]) a->list[count++] = v;
    if (!should_partition(a, load, count)) return 0;
    if (hark_cluster_graph_induce(&sub, a->g, a->list, count, a->place) < 0) return -ENOMEM;
    int status = bisect(a, &sub, a->o->seed + a->count);
    if (status == 0) {
        struct halves h = look(a, &sub);
        struct hark_cluster_figures f = a->now;
        f.clusters++;
        f.squares = f.squares - load * load + h.load[0] * h.load[0] + h.load[1] * h.load[1];
        f.logged += a->g->out ? (h.to[0] < h.to[1] ? h.to[0] : h.to[1]) : h.to[0]; /* both
                                                                                      directions
                                                                                      (P-3) */
        uint64_t outside =
            a->outside - too_large(a, load) + too_large(a, h.load[0]) + too_large(a, h.load[1]);
        double cost = hark_cluster_cost(a->m->cost, &f);
        if (h.load[0] && h.load[1] && accept(a, &f, cost, outside)) {
            replace(a, lowest, count, h);
            a->now = f;
            a->cost = cost;
            a->outside = outside;
            if (best_so_far(a)) { /* P-6: what was best stays what was best */
                a->best = a->count;
                a->best_cost = cost;
                a->best_outside = outside;
            }
        }
    }
    hark_cluster_graph_free(&sub);
    return status;
}

/* part[v] of the first `best` bisections, numbered by the order of the parts. */
static int result(struct algorithm *a, uint32_t *part)
{
    uint32_t parts = a->best + 1, *after = malloc(2 * (size_t)parts * sizeof *after),
             *rank = after ? after + parts : NULL;
    uint32_t head = 0;
    if (after == NULL) return -ENOMEM;
    uint32_t *before = malloc((size_t)parts * sizeof *before);
    if (before == NULL) {
        free(after);
        return -ENOMEM;
    }
    after[0] = before[0] = CLUSTER_NOWHERE;
    for (uint32_t p = 1; p < parts; p++) {
        struct bisection b = a->done[p - 1];
        uint32_t left = b.before ? before[b.from] : b.from,
                 right = b.before ? b.from : after[b.from];
        before[p] = left;
        after[p] = right;
        if (left == CLUSTER_NOWHERE) head = p;
        else after[left] = p;
        if (right != CLUSTER_NOWHERE) before[right] = p;
    }
    for (uint32_t p = head, i = 0; p != CLUSTER_NOWHERE; p = after[p]) rank[p] = i++;
    for (uint32_t v = 0; v < a->g->n; v++) {
        uint32_t p = a->part[v];
        while (p > a->best) p = a->done[p - 1].from;
        part[v] = rank[p];
    }
    free(before);
    free(after);
    return 0;
}

static void begin(struct algorithm *a)
{
    uint32_t n = a->g->n;
    uint64_t load = hark_cluster_graph_load(a->g);
    a->now = (struct hark_cluster_figures){a->m->ranks, 1, a->m->bytes, 0, load * load};
    a->cost = a->best_cost = hark_cluster_cost(a->m->cost, &a->now);
    a->outside = a->best_outside = too_large(a, load);
    memset(a->place, 0xff, (size_t)n * sizeof *a->place);
    for (uint32_t v = 0; v < n; v++) {
        a->part[v] = 0;
        a->next[v] = v + 1 < n ? v + 1 : CLUSTER_NOWHERE;
    }
    a->number[0] = 0;
    cluster_heap_set(&a->parts, 0, (double)load);
}

int hark_cluster_algorithm1(const struct cluster_graph *g, const struct cluster_model *m,
    const struct hark_partition_options *o, uint32_t *part)
{
    size_t n = (size_t)g->n + 1;
    struct algorithm a = {.g = g,
        .m = m,
        .o = o,
        .number = malloc(n * sizeof *a.number),
        .part = malloc(n * sizeof *a.part),
        .next = malloc(n * sizeof *a.next),
        .list = malloc(n * sizeof *a.list),
        .side = malloc(n * sizeof *a.side),
        .place = malloc(n * sizeof *a.place),
        .done = malloc(n * sizeof *a.done)};
    int status = a.number && a.part && a.next && a.list && a.side && a.place && a.done
                     ? cluster_heap_make(&a.parts, g->n)
                     : -ENOMEM;
    if (status == 0) {
        begin(&a);
        while (status == 0 && a.parts.count) { /* the largest part */
            uint32_t lowest = a.parts.item[0];
            uint64_t load = (uint64_t)a.parts.key[lowest];
            cluster_heap_remove(&a.parts, lowest);
            status = consider(&a, lowest, load);
        }
        if (status == 0) status = result(&a, part);
    }
    cluster_heap_free(&a.parts);
    free(a.number);
    free(a.part);
    free(a.next);
    free(a.list);
    free(a.side);
    free(a.place);
    free(a.done);
    return status;
}
