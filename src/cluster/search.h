/* search.h: from where clusters are looked for, and how long. */
#ifndef HARK_CLUSTER_SEARCH_H
#define HARK_CLUSTER_SEARCH_H

#include <math.h>

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

#define CLUSTER_NO_COST HUGE_VAL

int hark_cluster_search_make(struct cluster_search *x, const struct cluster_graph *g,
    const struct cluster_model *m, const struct hark_partition_options *o);
void hark_cluster_search_free(struct cluster_search *x);
int hark_cluster_search_paper(struct cluster_search *x);
int hark_cluster_search_fast(struct cluster_search *x);
int hark_cluster_search_best(struct cluster_search *x);
/* Keeps it if it is within bounds and the best so far. *cost: CLUSTER_NO_COST if it is not within
 * bounds. */
int hark_cluster_search_offer(
    struct cluster_search *x, const uint32_t *part, double *cost, uint32_t *clusters);
/* Makes clusters of one graph better. */
int hark_cluster_search_refine(struct cluster_search *x, const struct cluster_graph *g,
    uint32_t *part, bool thorough, double *cost, uint32_t *clusters);
/* From the coarsest graph to the finest, making the clusters better on each. part: of the coarsest;
 * becomes that of the finest. */
int hark_cluster_search_down(struct cluster_search *x, const struct cluster_levels *l,
    uint32_t *part, bool thorough, uint64_t seed);
/* How many vertices the coarsest graph is to have. */
uint32_t hark_cluster_search_coarsest(uint32_t n);
/* Numbers without gaps, in the same order: as many as there are fit into every coarser graph. */
int hark_cluster_search_close_gaps(uint32_t *part, uint32_t n);
/* Makes part better and offers it. */
int hark_cluster_search_from(
    struct cluster_search *x, uint32_t *part, bool thorough, uint64_t seed);

#endif
