/* state.h: clusters on their way to better ones: what they cost, and by how much a change changes
 * that. */
#ifndef HARK_CLUSTER_STATE_H
#define HARK_CLUSTER_STATE_H

#include "graph.h"

struct cluster_bounds {
    uint64_t least, most; /* load of a cluster */
};

struct cluster_model {
    const struct hark_cluster_cost *cost;
    uint64_t ranks, bytes;
    double a, b; /* of a byte that is logged, of 1 more in the sum of the squares */
    struct cluster_bounds bounds;
};

struct cluster_placed { /* a slot in the order, and what of a vertex's messages comes from slots
                           before it, goes to slots behind it */
    int64_t place;
    uint32_t slot;
    uint64_t in, out;
};

/* What clusters are: a slot for each, of which some may be empty. */
struct cluster_state {
    const struct cluster_graph *g;
    const struct cluster_model *model;
    uint32_t *part;    /* slot of each vertex */
    uint64_t *load;    /* of each slot */
    uint32_t *members; /* vertices of each slot */
    int64_t *place;    /* ordered: where a slot stands in the order; NULL if no order counts */
    uint32_t slots, count, *empty, empties; /* slots: n; count: not empty; empty: a stack of those
                                               that are */
    int64_t first_place, last_place;
    uint64_t logged, squares;
    /* of one vertex to each slot, 0 between two looks */
    uint64_t *joined, *joined_out;
    uint32_t *touched, touches;
    struct cluster_placed *along; /* touched, in their order, if there are many */
    uint64_t all_in, all_out;
    bool summed;
};

struct cluster_move {
    double change; /* of the cost */
    uint32_t to;   /* a slot; the vertex's own: nowhere to go */
    int64_t place; /* of a new cluster */
};

/* Below that, changes are noise of rounding. */
#define CLUSTER_LESS 1e-13

/* `bytes`: of all messages, of which those within a vertex are not in the graph. */
void hark_cluster_model_make(struct cluster_model *m, const struct cluster_graph *g, uint64_t bytes,
    const struct hark_cluster_cost *cost, struct cluster_bounds bounds);
/* Of clusters of each vertex, numbers below n; ordered, the numbers are their order. */
int hark_cluster_state_make(struct cluster_state *s, const struct cluster_graph *g,
    const struct cluster_model *m, const uint32_t *part);
void hark_cluster_state_free(struct cluster_state *s);
double hark_cluster_state_cost(const struct cluster_state *s);
/* The clusters as numbers without gaps: by lowest vertex, ordered by their order. */
int hark_cluster_state_number(const struct cluster_state *s, uint32_t *part);
/* How the cost changes with the figures. */
double hark_cluster_change(
    const struct cluster_state *s, int64_t logged, int64_t squares, int clusters);
/* The best that v can do: another cluster that it is joined to (all: any cluster), or one of its
 * own. `leave`: where it is is no choice, however bad the rest. */
struct cluster_move hark_cluster_best_move(
    struct cluster_state *s, uint32_t v, bool leave, bool all);
void hark_cluster_move(struct cluster_state *s, uint32_t v, uint32_t to, int64_t place);
/* A slot for a new cluster. */
uint32_t hark_cluster_new_slot(const struct cluster_state *s);

/* Vertices by a queue until none gains; then sequences of moves in which single ones may lose
 * (Fiduccia, Mattheyses). True: better. */
int hark_cluster_refine_moves(struct cluster_state *s, bool all);
int hark_cluster_refine_climb(struct cluster_state *s, uint64_t work, bool all, bool *better);
/* Clusters as wholes join others. */
int hark_cluster_refine_merge(struct cluster_state *s, bool *better);
/* Clusters in halves. */
int hark_cluster_refine_split(struct cluster_state *s, uint64_t seed, bool *better);
/* Two vertices of different clusters change places. */
int hark_cluster_refine_swap(struct cluster_state *s, bool *better);
/* Two clusters become one, and that is cut in two anew. */
int hark_cluster_refine_pairs(struct cluster_state *s, uint64_t seed, bool *better);
/* The order of clusters. */
int hark_cluster_refine_order(struct cluster_state *s, bool *better);
/* What is outside of the bounds comes inside, if it can be; *outside: by how much it did not. */
int hark_cluster_refine_bounds(struct cluster_state *s, uint64_t *outside);

/* Algorithm 1. */
int hark_cluster_algorithm1(const struct cluster_graph *g, const struct cluster_model *m,
    const struct hark_partition_options *o, uint32_t *part);

#endif
