/* search.h: from where clusters are looked for, and how long. */
#ifndef HARK_CLUSTER_SEARCH_H
#define HARK_CLUSTER_SEARCH_H

#include "state.h"

/* Clusters of least cost so far, within bounds. */
struct cluster_search {
    const struct cluster_graph *g;
    const struct cluster_model *model;
    const struct hark_partition_options *o;
    uint32_t *best;
    double cost;
    bool found; /* any within bounds */
    uint32_t clusters;
};

int hark_cluster_search_make(struct cluster_search *x, const struct cluster_graph *g, const struct cluster_model *m,
    const struct hark_partition_options *o);
void hark_cluster_search_free(struct cluster_search *x);
int hark_cluster_search_paper(struct cluster_search *x);
int hark_cluster_search_fast(struct cluster_search *x);
int hark_cluster_search_best(struct cluster_search *x);
/* Makes part better and offers it. */
int hark_cluster_search_from(struct cluster_search *x, uint32_t *part, bool thorough, uint64_t seed);

#endif
