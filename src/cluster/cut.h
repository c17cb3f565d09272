/* cut.h: the backends behind hark_graph_cut, and a single bisection. */
#ifndef HARK_CLUSTER_CUT_H
#define HARK_CLUSTER_CUT_H

#include "graph.h"

#ifndef HARK_SCOTCH
#define HARK_SCOTCH 0
#endif
#ifndef HARK_METIS
#define HARK_METIS 0
#endif

/* As hark_graph_cut, of what has been checked: 2 <= parts <= g->n. */
int hark_cluster_cut(const struct cluster_graph *g, uint32_t parts, double slack, uint64_t seed,
    enum hark_cut_backend backend, uint32_t *part);
int hark_cluster_cut_builtin(
    const struct cluster_graph *g, uint32_t parts, double slack, uint64_t seed, uint32_t *part);
int hark_cluster_cut_recursive(const struct cluster_graph *g, uint32_t parts, double slack,
    uint64_t seed, uint32_t first_cut, uint32_t *part);
int hark_cluster_cut_scotch(
    const struct cluster_graph *g, uint32_t parts, double slack, uint64_t seed, uint32_t *part);
int hark_cluster_cut_metis(const struct cluster_graph *g, uint32_t parts, double slack,
    uint64_t seed, bool recursive, uint32_t *part);

/* Cuts in two: side[v] is 0 or 1, `aim` the load wanted on side 0, `most` what each side may have
 * at most (kept where the loads allow it). */
int hark_cluster_bisect(const struct cluster_graph *g, uint64_t aim, const uint64_t most[2],
    uint64_t seed, uint32_t *side);
/* How far weights go down to the right so that their sum is below `most`; those not 0 stay at
 * least 1. */
unsigned hark_cluster_scale(const uint64_t *value, uint64_t count, uint64_t most);
static inline int32_t cluster_scaled(uint64_t value, unsigned shift)
{
    return value >> shift ? (int32_t)(value >> shift) : 1;
}

#endif
