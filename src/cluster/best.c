/* best.c: clusters where time does not matter: the best of what fast.c finds, and of what is
 * refined from cuts by each backend, and from blocks, into many numbers of parts. */
#include <errno.h>
#include <stdlib.h>

#include "cut.h"
#include "search.h"

static void blocks(const struct cluster_graph *g, uint32_t count, uint32_t *part)
{
    uint64_t load = hark_cluster_graph_load(g), before = 0;
    for (uint32_t v = 0; v < g->n; v++) {
        uint64_t middle = before + g->load[v] / 2;
        part[v] = (uint32_t)((double)middle / (double)load * count);
        if (part[v] >= count) part[v] = count - 1;
        before += g->load[v];
    }
}

static int from_counts(
    struct cluster_search *x, enum hark_cut_backend backend, bool in_blocks, uint32_t *part)
{
    static const uint32_t counts[] = {
        1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 24, 32, 40, 48, 64, 96, 128, 192, 256};
    int status = 0;
    for (size_t i = 0; status == 0 && i < sizeof counts / sizeof counts[0] && counts[i] <= x->g->n;
         i++) {
        uint32_t k = counts[i];
        if (in_blocks || k == 1) blocks(x->g, k, part);
        else status = hark_cluster_cut(x->g, k, 0.03, x->o->seed, backend, part);
        if (status == 0) status = hark_cluster_search_from(x, part, true, x->o->seed);
    }
    return status;
}

int hark_cluster_search_best(struct cluster_search *x)
{
    uint32_t *part = malloc(((size_t)x->g->n + 1) * sizeof *part);
    int status = part ? hark_cluster_search_fast(x) : -ENOMEM;
    for (int b = HARK_CUT_BUILTIN; status == 0 && b <= HARK_CUT_METIS_RECURSIVE; b++) {
        if (!hark_cut_has((enum hark_cut_backend)b) ||
            (!x->o->all_backends && x->o->backend != (enum hark_cut_backend)b))
            continue;
        status = from_counts(x, (enum hark_cut_backend)b, false, part);
    }
    if (status == 0) status = from_counts(x, HARK_CUT_BUILTIN, true, part);
    free(part);
    return status;
}
