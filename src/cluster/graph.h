/* graph.h: graphs inside the partitioner, which owns them, and what is done to them: coarser ones,
 * parts of them. */
#ifndef HARK_CLUSTER_GRAPH_H
#define HARK_CLUSTER_GRAPH_H

#include "hark/cluster.h"

struct cluster_graph {
    uint32_t n;
    uint64_t *first;
    uint32_t *column;
    uint64_t *weight;
    uint64_t *out; /* of each weight, what goes from the row to the column; NULL where directions do
                      not matter */
    uint64_t *load; /* never NULL, but in a view */
};

/* Room for n vertices and so many places. 0, or -ENOMEM, and then nothing is to be freed. */
int hark_cluster_graph_make(struct cluster_graph *g, uint32_t n, uint64_t places, bool directed);
void hark_cluster_graph_free(struct cluster_graph *g);
/* Of all edges, both directions. */
uint64_t hark_cluster_graph_bytes(const struct cluster_graph *g);
/* The graph of a matrix, with loads of 1; as hark_graph_of. */
int hark_cluster_graph_of(struct cluster_graph *g, const struct hark_matrix *m, bool directed);
/* The same graph, with loads of 1 where it has none: shares all but the loads. */
int hark_cluster_graph_view(struct cluster_graph *to, const struct hark_graph *g);
void hark_cluster_graph_view_free(struct cluster_graph *g);

/* Contracts: vertices of the same `map` (below n) become one. */
int hark_cluster_graph_contract(
    struct cluster_graph *to, const struct cluster_graph *g, const uint32_t *map, uint32_t n);
/* Pairs vertices that are heavily joined for their loads, those of one `within` only (NULL: any),
 * pairs of at most `most` load. seed 0: in the order of ranks, else by chance. map[v]: where v
 * goes; *n: how many are left. */
int hark_cluster_graph_match(const struct cluster_graph *g, const uint32_t *within, uint64_t most,
    uint64_t seed, uint32_t *map, uint32_t *n);
/* The graph of the vertices of one part; `list` are they, ascending, `place` (of n entries, all
 * UINT32_MAX, and left so) is where they are in it. */
int hark_cluster_graph_induce(struct cluster_graph *to, const struct cluster_graph *g,
    const uint32_t *list, uint32_t count, uint32_t *place);
/* Divides all weights by what divides all of them: only proportions count, so the same graph at
 * another scale is the same. */
void hark_cluster_graph_reduce(struct cluster_graph *g);
uint64_t hark_cluster_graph_load(const struct cluster_graph *g);

/* A graph and coarser and coarser ones of it. */
enum { CLUSTER_LEVELS = 64 };
struct cluster_levels {
    int count;                                  /* of coarser ones */
    struct cluster_graph graph[CLUSTER_LEVELS]; /* graph[0] is what was given, shared */
    uint32_t *map[CLUSTER_LEVELS];              /* map[i]: from graph[i] to graph[i + 1] */
};
int hark_cluster_levels_make(struct cluster_levels *l, const struct cluster_graph *g,
    const uint32_t *within, uint32_t until, uint64_t most, uint64_t seed);
void hark_cluster_levels_free(struct cluster_levels *l);

#endif
