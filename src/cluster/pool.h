/* pool.h: a few good clusterings of one graph, that differ, and what two of them have in common. */
#ifndef HARK_CLUSTER_POOL_H
#define HARK_CLUSTER_POOL_H

#include "graph.h"

enum { CLUSTER_POOL = 4 };

struct cluster_pool { /* the cheapest first, no two of the same cost */
    uint32_t n, count, most;
    double cost[CLUSTER_POOL];
    uint32_t *part[CLUSTER_POOL];
};

/* Room for `most` clusterings of n vertices. 0, or -ENOMEM, and then nothing is to be freed. */
int hark_cluster_pool_make(struct cluster_pool *p, uint32_t n, uint32_t most);
void hark_cluster_pool_free(struct cluster_pool *p);
/* Keeps a copy, if it is cheaper than the most expensive one or there is room. */
void hark_cluster_pool_put(struct cluster_pool *p, const uint32_t *part, double cost);
/* A child of two parents, of which `dearer` is the one that costs more: takes its place if it costs
 * less, so that it does not drive others out that look different. */
void hark_cluster_pool_replace(
    struct cluster_pool *p, uint32_t dearer, const uint32_t *part, double cost);
/* The connected pieces that none of the clusterings whose bits are set cuts: map[v], numbered by
 * lowest vertex; *pieces: how many. 0, or -ENOMEM. */
int hark_cluster_pool_pieces(const struct cluster_pool *p, unsigned set,
    const struct cluster_graph *g, uint32_t *map, uint32_t *pieces);

#endif
