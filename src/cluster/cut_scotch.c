#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cut.h"

#if HARK_SCOTCH
#include <scotch/scotch.h>

enum { MOST = 1 << 30 }; /* of sums: an index is of 32 bits in Debian's packages */

/* In a context of its own: one thread, so that the same seed gives the same parts, and no global
 * generator. */
static int in_context(
    SCOTCH_Graph *graph, uint32_t parts, double slack, uint64_t seed, SCOTCH_Num *part)
{
    SCOTCH_Context context;
    SCOTCH_Graph bound;
    SCOTCH_Strat strategy;
    int status = -ENOMEM;
    if (SCOTCH_contextInit(&context) != 0) return -ENOMEM;
    bool ok = SCOTCH_contextThreadSpawn(&context, 1, NULL) == 0 &&
              SCOTCH_contextRandomClone(&context) == 0;
    if (ok) {
        SCOTCH_contextRandomSeed(&context, (SCOTCH_Num)(seed & 0x7fffffff));
        SCOTCH_contextRandomReset(&context);
        SCOTCH_graphInit(&bound);
        SCOTCH_stratInit(&strategy);
        if (SCOTCH_contextBindGraph(&context, graph, &bound) == 0) {
            SCOTCH_stratGraphMapBuild(&strategy, SCOTCH_STRATDEFAULT, (SCOTCH_Num)parts, slack);
            status =
                SCOTCH_graphPart(&bound, (SCOTCH_Num)parts, &strategy, part) == 0 ? 0 : -ENOMEM;
            SCOTCH_graphExit(&bound);
        }
        SCOTCH_stratExit(&strategy);
    }
    SCOTCH_contextExit(&context);
    return status;
}

static void fill(const struct cluster_graph *g, SCOTCH_Num *first, SCOTCH_Num *column,
    SCOTCH_Num *weight, SCOTCH_Num *load)
{
    unsigned down = hark_cluster_scale(g->weight, g->first[g->n], MOST),
             light = hark_cluster_scale(g->load, g->n, MOST);
    for (uint32_t v = 0; v <= g->n; v++) first[v] = (SCOTCH_Num)g->first[v];
    for (uint64_t k = 0; k < g->first[g->n]; k++) {
        column[k] = (SCOTCH_Num)g->column[k];
        weight[k] = cluster_scaled(g->weight[k], down);
    }
    for (uint32_t v = 0; v < g->n; v++)
        load[v] = g->load[v] ? cluster_scaled(g->load[v], light) : 0;
}

int hark_cluster_cut_scotch(
    const struct cluster_graph *g, uint32_t parts, double slack, uint64_t seed, uint32_t *part)
{
    uint64_t places = g->first[g->n];
    SCOTCH_Graph graph;
    if (places >= MOST || g->n >= MOST) return -EOVERFLOW;
    size_t n = (size_t)g->n + 1;
    SCOTCH_Num *all = malloc((3 * n + 2 * (size_t)places + 1) * sizeof *all);
    if (all == NULL) return -ENOMEM;
    SCOTCH_Num *to = all + 2 * n, *column = all + 3 * n, *weight = column + places, *load = all + n;
    int status = -ENOMEM;
    fill(g, all, column, weight, load);
    SCOTCH_graphInit(&graph);
    if (SCOTCH_graphBuild(&graph, 0, (SCOTCH_Num)g->n, all, all + 1, load, NULL, (SCOTCH_Num)places,
            column, weight) == 0)
        status = in_context(&graph, parts, slack, seed, to);
    SCOTCH_graphExit(&graph);
    for (uint32_t v = 0; status == 0 && v < g->n; v++) part[v] = (uint32_t)to[v];
    free(all);
    return status;
}
#else
int hark_cluster_cut_scotch(
    const struct cluster_graph *g, uint32_t parts, double slack, uint64_t seed, uint32_t *part)
{
    (void)g, (void)parts, (void)slack, (void)seed, (void)part;
    return -ENOTSUP;
}
#endif
