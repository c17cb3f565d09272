/* cluster.h: communication matrices, cutting their graphs into parts, and finding clusters for
 * partial message logging by their cost (Ropars et al., Euro-Par 2011). In libhark_cluster
 * (pkg-config hark-cluster).
 *
 * The same input, options and seed give the same result, in every run and with every compiler.
 * Nothing is printed, and there are no globals. A call frees all that it allocates before it
 * returns, except results whose comment names the function that frees them.
 */
#ifndef HARK_CLUSTER_H
#define HARK_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__cplusplus) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* functions named as structs */
#endif

/* ---- communication matrices */

enum { HARK_MATRIX_ERROR = 512, HARK_MATRIX_RANKS = 1 << 28 /* the most that commands take */ };
#define HARK_MATRIX_MOST                                                                           \
    (UINT64_C(1) << 53) /* the largest value, also when values of one place are                    \
                         * added */

struct hark_matrix { /* by rows: row i has the entries first[i] .. first[i + 1] - 1, by ascending
                      * column */
    uint32_t ranks;
    uint64_t entries;
    uint64_t *first;
    uint32_t *column;
    uint64_t *value;  /* in units of 10^exponent */
    int32_t exponent; /* 0, unless values have fractions (below 0) or are beyond 2^53 (above) */
};

/* Reads a communication matrix in Matrix Market form, plain or compressed by gzip, once from the
 * beginning of the file to its end (so it may be a pipe).
 *
 * The form: `matrix coordinate|array integer|real|pattern general|symmetric`, in capitals or not;
 * square; row = source rank + 1, column = destination rank + 1; value = bytes or messages, finite
 * and not negative. A pattern has the value 1 everywhere. The file of a symmetric matrix has only
 * the diagonal and the places below it. An array gets no entry where it is 0. Entries of the same
 * place are added.
 *
 * Numbers are read independently of the locale. Whole numbers up to 2^53 and fractions of up to 15
 * digits in all are read exactly, in units of 10^exponent; others are rounded to 12 digits of the
 * largest of them, so that 1000 times a matrix is the same matrix with another exponent.
 *
 * `most`: the largest number of ranks that is accepted; 0: any. Returns 0, or -1 with one line in
 * error: file, line, what was expected, what was found. Freed by hark_matrix_free. */
int hark_matrix_read(
    struct hark_matrix *m, const char *path, uint32_t most, char error[HARK_MATRIX_ERROR]);
/* Rounds the values to whole numbers, halves up, so that exponent is 0. Returns 0; or a negative
 * number, and then the matrix is unchanged, and *row and *at (an index into column) are the first
 * place that cannot be rounded: -EDOM, a value above 0 and below a half; -ERANGE, a value beyond
 * 2^53. */
int hark_matrix_whole(struct hark_matrix *m, uint32_t *row, uint64_t *at);
/* Transposes: rows become columns. Returns 0, or -1 without memory. */
int hark_matrix_turn(struct hark_matrix *to, const struct hark_matrix *m);
/* Returns the value at a place; 0, and *found false, if there is no entry. */
uint64_t hark_matrix_at(const struct hark_matrix *m, uint32_t row, uint32_t column, bool *found);
void hark_matrix_free(struct hark_matrix *m);

/* ---- graphs */

#define HARK_GRAPH_MOST (UINT64_C(1) << 60) /* the largest sum of all weights, and of all loads */

struct hark_graph { /* symmetric, without diagonal, columns of a row ascending; load NULL: 1 for
                     * every vertex */
    uint32_t vertices;
    const uint64_t *first; /* vertices + 1 */
    const uint32_t *column;
    const uint64_t *weight; /* the same in both directions, not 0 */
    const uint64_t *load;
};

/* Makes the graph of a matrix: the weight of an edge is the sum of the values of both directions;
 * the diagonal and places of value 0 are left out. Returns 0, -ENOMEM, or -EOVERFLOW: the sum of
 * all values is beyond HARK_GRAPH_MOST. Freed by hark_graph_free. */
int hark_graph_of(struct hark_graph *g, const struct hark_matrix *m);
/* Frees a graph that hark_graph_of made, but not a load that the caller has set. */
void hark_graph_free(struct hark_graph *g);

/* ---- cutting a graph into a given number of parts */

enum hark_cut_backend {
    HARK_CUT_BUILTIN,        /* multilevel recursive bisection of our own */
    HARK_CUT_SCOTCH,         /* this and METIS only if hark was built with them */
    HARK_CUT_METIS,          /* its k-way method; with fewer than 4 vertices a part, BUILTIN is
                              * used */
    HARK_CUT_METIS_RECURSIVE /* its recursive bisection */
};

bool hark_cut_has(enum hark_cut_backend backend);
/* Returns "builtin", "scotch", "metis" or "metis-recursive". */
const char *hark_cut_name(enum hark_cut_backend backend);
/* Cuts the graph into `parts` parts (1 to the number of vertices) so that little weight is cut. The
 * largest part has at most 1 + slack times the mean load, as far as the loads allow it. part[v] is
 * the part of v, below `parts`; parts may be empty. Returns 0, -ENOMEM, -EINVAL (an argument out of
 * its range), -ENOTSUP (a backend that is not built in) or -EOVERFLOW (a graph too large for the
 * backend). */
int hark_graph_cut(const struct hark_graph *g, uint32_t parts, double slack, uint64_t seed,
    enum hark_cut_backend backend, uint32_t *part);

/* ---- what clusters cost */

struct hark_cluster_figures {
    uint64_t ranks;    /* P */
    uint64_t clusters; /* K */
    uint64_t bytes;    /* D: bytes of all messages between different ranks, in units of the matrix;
                        * if 0, no clusters are better than others */
    uint64_t logged;   /* B: bytes of messages between clusters; ordered: from a cluster to a later
                        * one */
    uint64_t squares;  /* the sum of the squares of the clusters' sizes */
};

struct hark_cluster_cost {
    double alpha, beta; /* cost of logging everything, and of rolling back all processes, as shares
                         * of the machine: 0.23 and 0.124 */
    bool ordered;       /* clusters have an order, and only messages to a later one are logged (eq.
                         * 3) */
    double (*function)(void *self, const struct hark_cluster_figures *f); /* a cost function of your
                                                                           * own, which depends on
                                                                           * *f alone; NULL: eq. 2
                                                                           * or eq. 3 */
    void *self;
};

/* Returns the cost: alpha L + beta R, or what c->function returns. */
double hark_cluster_cost(const struct hark_cluster_cost *c, const struct hark_cluster_figures *f);
/* Returns L: B / D, 0 if there are no bytes. */
double hark_cluster_logged(const struct hark_cluster_figures *f);
/* Returns R: the share of the processes that roll back after a failure of one, on average: the sum
 * of squares / P^2; if ordered, (K + 1) / 2 times that. */
double hark_cluster_rolled_back(const struct hark_cluster_figures *f, bool ordered);
/* Computes Daly's interval between checkpoints, and beta: half an interval and a restart, as a
 * share of the time between failures. All times are in the same unit. */
void hark_cluster_daly(
    double mtbf, double checkpoint, double restart, double *interval, double *beta);

/* ---- clusters */

enum hark_partition_effort {
    HARK_PARTITION_FAST, /* Algorithm 1 and some cuts on coarser graphs, refined by their cost, and
                          * combined */
    HARK_PARTITION_BEST, /* many starting points, by every backend, each refined until nothing
                          * helps */
    HARK_PARTITION_PAPER /* only Algorithm 1 as printed, with the corrections P-1 to P-6 of
                          * docs/partition.md */
};

enum { HARK_PARTITION_ERROR = 256 };

struct hark_partition_options {
    struct hark_cluster_cost cost;
    enum hark_partition_effort effort;
    enum hark_cut_backend backend;
    bool all_backends; /* BEST uses all backends that are built in, not `backend` alone */
    uint64_t seed;
    uint32_t threshold;      /* SHOULDPARTITION: parts of this many ranks or fewer are not cut
                              * (1) */
    uint32_t least, most;    /* limits of the ranks in a cluster; 0: no limit */
    const uint32_t *node;    /* the node of each rank, below `ranks`: ranks of a node stay together;
                              * NULL: each alone */
    const uint32_t *improve; /* the present cluster of each rank, below `ranks`, to be improved;
                              * NULL: start anew */
    /* A BISECT of your own, such as PaToH: sets side[v] to 0 or 1, with about half of the load
     * each. Returns 0, or a negative number, with which hark_partition then fails. NULL: `backend`
     * bisects. */
    int (*bisect)(void *self, const struct hark_graph *g, uint64_t seed, uint32_t *side);
    void *self;
};

struct hark_partition {
    uint32_t ranks, clusters;
    uint32_t *of; /* the cluster of each rank; clusters are numbered by their lowest rank, if
                   * ordered by their order */
    struct hark_cluster_figures figures;
    double cost;
    uint32_t changed; /* with `improve`: ranks whose new cluster comes mostly from another old
                       * cluster than theirs */
};

/* Sets alpha 23 %, beta 12.4 %, eq. 2, FAST, BUILTIN, seed 1. */
void hark_partition_defaults(struct hark_partition_options *o);
/* Finds clusters. A matrix times a whole number or a power of ten has the same clusters. Returns 0;
 * -ENOMEM; or -EINVAL, -ENOTSUP, -EOVERFLOW (see hark_graph_cut) or the result of `bisect`, with
 * one line in error. Freed by hark_partition_free. */
int hark_partition(struct hark_partition *p, const struct hark_matrix *m,
    const struct hark_partition_options *o, char error[HARK_PARTITION_ERROR]);
/* Computes figures and cost of given clusters (p->ranks, p->clusters and p->of) from the matrix.
 * Returns 0, -EOVERFLOW or -ENOMEM. */
int hark_partition_measure(
    struct hark_partition *p, const struct hark_matrix *m, const struct hark_cluster_cost *cost);
void hark_partition_free(struct hark_partition *p);

#if defined(__cplusplus) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#ifdef __cplusplus
}
#endif

#endif
