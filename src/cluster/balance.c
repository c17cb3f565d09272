/* balance.c: objects onto PEs: what is asked is checked, loads are put in order, and a strategy
 * does it. */
#include "balance_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is asked --------------------------------------------------------------------------- */

static bool graph_ok(const struct hark_graph *g)
{
    uint64_t loads = 0, bytes = 0;
    for (uint32_t i = 0; i < g->vertices; i++) {
        uint64_t load = g->load ? g->load[i] : 1;
        if (load > HARK_BALANCE_LOAD || (loads += load) > HARK_GRAPH_MOST) return false;
        for (uint64_t k = g->first[i]; k < g->first[i + 1]; k++)
            if (g->weight[k] > HARK_GRAPH_MOST || (bytes += g->weight[k]) > 2 * HARK_GRAPH_MOST)
                return false;
    }
    return true;
}

static bool map_ok(const struct hark_balance *b, const uint32_t *pe)
{
    for (uint32_t i = 0; pe && i < b->graph->vertices; i++)
        if (pe[i] >= b->pes) return false;
    return true;
}

static bool asked_ok(const struct hark_balance *b)
{
    if (b->graph->vertices == 0 || b->pes == 0 || b->teams == 0 || b->pes % b->teams ||
        b->slack > 1000)
        return false;
    if (b->move > HARK_BALANCE_LOAD || b->move > HARK_GRAPH_MOST / b->graph->vertices) return false;
    return (uint32_t)b->strategy <= HARK_BALANCE_TEAM_PLUS && graph_ok(b->graph);
}

void hark_balance_blocks(uint32_t objects, uint32_t pes, uint32_t *pe)
{
    for (uint32_t i = 0; i < objects; i++) pe[i] = (uint32_t)((uint64_t)i * pes / objects);
}

/* ---- figures --------------------------------------------------------------------------------- */

static void of_teams(const struct hark_balance *b, const uint64_t *load, const uint32_t *objects,
    struct hark_balance_figures *f)
{
    uint32_t size = b->pes / b->teams;
    f->team_objects_least = UINT32_MAX;
    for (uint32_t t = 0; t < b->teams; t++) {
        uint64_t sum = 0;
        uint32_t n = 0;
        for (uint32_t p = t * size; p < (t + 1) * size; p++) {
            sum += load[p];
            n += objects[p];
        }
        if (sum > f->team_most) f->team_most = sum;
        if (n > f->team_objects_most) f->team_objects_most = n;
        if (n < f->team_objects_least) f->team_objects_least = n;
    }
}

static void of_edges(
    const struct hark_balance *b, const uint32_t *pe, struct hark_balance_figures *f)
{
    const struct hark_graph *g = b->graph;
    uint32_t size = b->pes / b->teams;
    for (uint32_t i = 0; i < g->vertices; i++)
        for (uint64_t k = g->first[i]; k < g->first[i + 1]; k++) {
            if (g->column[k] < i) continue; /* each edge stands in two rows */
            f->bytes += g->weight[k];
            if (pe[i] / size != pe[g->column[k]] / size) f->logged += g->weight[k];
        }
}

int hark_balance_measure(const struct hark_balance *b, const uint32_t *now, const uint32_t *pe,
    struct hark_balance_figures *f)
{
    if (!asked_ok(b) || !map_ok(b, now) || !map_ok(b, pe)) return -EINVAL;
    uint32_t n = b->graph->vertices;
    uint64_t *load = calloc(b->pes, sizeof *load);
    uint32_t *objects = calloc(b->pes, sizeof *objects);
    if (load == NULL || objects == NULL) {
        free(load);
        free(objects);
        return -ENOMEM;
    }
    *f = (struct hark_balance_figures){.least = UINT64_MAX};
    for (uint32_t i = 0; i < n; i++) {
        load[pe[i]] += b->graph->load ? b->graph->load[i] : 1;
        objects[pe[i]]++;
        f->moved += pe[i] != (now ? now[i] : (uint32_t)((uint64_t)i * b->pes / n));
    }
    for (uint32_t p = 0; p < b->pes; p++) {
        f->load += load[p];
        if (load[p] > f->most) f->most = load[p];
        if (load[p] < f->least) f->least = load[p];
    }
    of_teams(b, load, objects, f);
    of_edges(b, pe, f);
    free(load);
    free(objects);
    return 0;
}

/* ---- the heaviest first ---------------------------------------------------------------------- */

struct heavy {
    uint64_t load;
    uint32_t object;
};

static int heavier_first(const void *a, const void *b)
{
    const struct heavy *x = a, *y = b;
    if (x->load != y->load) return x->load > y->load ? -1 : 1;
    return x->object < y->object ? -1 : x->object > y->object;
}

static bool put_in_order(struct balance *w)
{
    struct heavy *h = malloc((size_t)w->objects * sizeof *h);
    if (h == NULL) return false;
    for (uint32_t i = 0; i < w->objects; i++) h[i] = (struct heavy){w->load[i], i};
    qsort(h, w->objects, sizeof *h, heavier_first);
    for (uint32_t i = 0; i < w->objects; i++) w->order[i] = h[i].object;
    free(h);
    return true;
}

/* No PE can have less than the heaviest object and be all; no limit is below the mean, rounded up.
 */
static void set_limit(struct balance *w)
{
    uint64_t mean = w->total / w->pes + (w->total % w->pes != 0);
    w->limit = mean + balance_thousandths(mean, w->asked->slack);
    if (w->limit < w->load[w->order[0]]) w->limit = w->load[w->order[0]];
}

/* ---- a strategy ------------------------------------------------------------------------------ */

static void work_free(struct balance *w)
{
    free(w->load);
    free(w->sum);
    free(w->order);
    free(w->now);
    free(w->pe);
    free(w->heap);
    free(w->by_pe);
    free(w->first);
    free(w->heavier);
    free(w->lighter);
}

static int work_open(struct balance *w, const struct hark_balance *b, const uint32_t *now)
{
    size_t n = b->graph->vertices;
    *w = (struct balance){
        .asked = b, .graph = b->graph, .objects = (uint32_t)n, .pes = b->pes, .teams = b->teams};
    w->size = b->pes / b->teams;
    w->load = malloc(n * sizeof *w->load);
    w->sum = calloc(b->pes, sizeof *w->sum);
    w->order = malloc(n * sizeof *w->order);
    w->now = malloc(n * sizeof *w->now);
    w->pe = malloc(n * sizeof *w->pe);
    w->heap = malloc(b->pes * sizeof *w->heap);
    w->by_pe = malloc(n * sizeof *w->by_pe);
    w->first = malloc(((size_t)b->pes + 1) * sizeof *w->first);
    w->heavier = malloc((n + 2) * sizeof *w->heavier);
    w->lighter = malloc((n + 2) * sizeof *w->lighter);
    if (!w->load || !w->sum || !w->order || !w->now || !w->pe || !w->heap || !w->by_pe ||
        !w->first || !w->heavier || !w->lighter)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        w->total += w->load[i] = b->graph->load ? b->graph->load[i] : 1;
    if (now) memcpy(w->now, now, n * sizeof *now);
    else hark_balance_blocks(w->objects, w->pes, w->now);
    memcpy(w->pe, w->now, n * sizeof *w->pe);
    if (!put_in_order(w)) return -ENOMEM;
    set_limit(w);
    return 0;
}

static int with_strategy(struct balance *w)
{
    const struct balance_share all = {0, w->pes, w->objects, w->order};
    hark_balance_sums(w);
    switch (w->asked->strategy) {
    case HARK_BALANCE_NONE: return 0;
    case HARK_BALANCE_GREEDY: hark_balance_greedy(w, &all); return 0;
    case HARK_BALANCE_REFINE: hark_balance_refine(w, &all); return 0;
    case HARK_BALANCE_TEAM: return hark_balance_team(w);
    default: return hark_balance_team_plus(w);
    }
}

int hark_balance(const struct hark_balance *b, const uint32_t *now, uint32_t *pe)
{
    struct balance w;
    if (!asked_ok(b) || !map_ok(b, now)) return -EINVAL;
    if (b->strategy >= HARK_BALANCE_TEAM && !hark_cut_has(b->backend)) return -ENOTSUP;
    int status = work_open(&w, b, now);
    if (status == 0) status = with_strategy(&w);
    if (status == 0) memcpy(pe, w.pe, (size_t)w.objects * sizeof *pe);
    work_free(&w);
    return status;
}
