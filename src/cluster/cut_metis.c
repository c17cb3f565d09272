#include <errno.h>
#include <stdlib.h>

#include "cut.h"

#if HARK_METIS
#include <metis.h>

enum { MOST = 1 << 30 }; /* of sums: an index is of 32 bits in Debian's packages */

static void fill(
    const struct cluster_graph *g, idx_t *first, idx_t *column, idx_t *weight, idx_t *load)
{
    unsigned down = hark_cluster_scale(g->weight, g->first[g->n], MOST),
             light = hark_cluster_scale(g->load, g->n, MOST);
    for (uint32_t v = 0; v <= g->n; v++) first[v] = (idx_t)g->first[v];
    for (uint64_t k = 0; k < g->first[g->n]; k++) {
        column[k] = (idx_t)g->column[k];
        weight[k] = cluster_scaled(g->weight[k], down);
    }
    for (uint32_t v = 0; v < g->n; v++)
        load[v] = g->load[v] ? cluster_scaled(g->load[v], light) : 0;
}

static int call(const struct cluster_graph *g, uint32_t parts, double slack, uint64_t seed,
    bool recursive, idx_t *first, idx_t *column, idx_t *weight, idx_t *load, idx_t *part)
{
    idx_t n = (idx_t)g->n, one = 1, k = (idx_t)parts, cut = 0, option[METIS_NOPTIONS];
    fill(g, first, column, weight, load);
    METIS_SetDefaultOptions(option);
    option[METIS_OPTION_SEED] = (idx_t)(seed & 0x7fffffff);
    option[METIS_OPTION_NUMBERING] = 0;
    option[METIS_OPTION_UFACTOR] = slack > 100     ? 100000
                                   : slack < 0.001 ? 1
                                                   : (idx_t)(slack * 1000 + 0.5);
    int status = (recursive ? METIS_PartGraphRecursive : METIS_PartGraphKway)(
        &n, &one, first, column, load, NULL, weight, &k, NULL, NULL, option, &cut, part);
    return status == METIS_OK ? 0 : status == METIS_ERROR_MEMORY ? -ENOMEM : -EINVAL;
}

int hark_cluster_cut_metis(const struct cluster_graph *g, uint32_t parts, double slack,
    uint64_t seed, bool recursive, uint32_t *part)
{
    uint64_t places = g->first[g->n];
    if (places >= MOST || g->n >= MOST) return -EOVERFLOW;
    size_t n = (size_t)g->n + 1;
    idx_t *all = malloc((3 * n + 2 * (size_t)places + 1) * sizeof *all);
    if (all == NULL) return -ENOMEM;
    idx_t *to = all + 2 * n, *column = all + 3 * n;
    int status = call(g, parts, slack, seed, recursive, all, column, column + places, all + n, to);
    for (uint32_t v = 0; status == 0 && v < g->n; v++) part[v] = (uint32_t)to[v];
    free(all);
    return status;
}
#else
int hark_cluster_cut_metis(const struct cluster_graph *g, uint32_t parts, double slack,
    uint64_t seed, bool recursive, uint32_t *part)
{
    (void)g, (void)parts, (void)slack, (void)seed, (void)recursive, (void)part;
    return -ENOTSUP;
}
#endif
