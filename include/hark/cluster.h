/* cluster.h: who belongs together: communication graphs, cutting them into parts, and clusters for partial message
 * logging by what they cost (Ropars et al., Euro-Par 2011). In libhark_cluster (pkg-config hark-cluster).
 *
 * The same input, options and seed give the same result, in every run and with every compiler. Nothing prints, and
 * there are no globals; a call allocates what it needs and frees it before it returns, but for what its comment says
 * is to be freed.
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

enum { HARK_MATRIX_ERROR = 512, HARK_MATRIX_RANKS = 1 << 28 /* the commands take at most so many */ };
#define HARK_MATRIX_MOST (UINT64_C(1) << 53) /* of a value, and of their sum in one place */

struct hark_matrix { /* by rows: those of row i are column[first[i]] .. column[first[i + 1] - 1], ascending */
    uint32_t ranks;
    uint64_t entries;
    uint64_t *first;
    uint32_t *column;
    uint64_t *value;  /* in units of 10^exponent */
    int32_t exponent; /* 0, unless values have fractions (below 0) or are beyond 2^53 (above) */
};

/* Reads a communication matrix in Matrix Market form, plain or compressed by gzip, in one go from the beginning of
 * the file to its end (it may be a pipe): `matrix coordinate|array integer|real|pattern general|symmetric`, in
 * capitals or not, square, row = source rank + 1, column = destination rank + 1, value = bytes or messages, finite
 * and not negative. A pattern has the value 1 everywhere; of a symmetric matrix the file has what is on the diagonal
 * and below it; an array has no entries where it is 0. Entries of one place are added up. Numbers are read as they
 * stand there, whatever the locale: whole ones up to 2^53 and fractions of up to 15 digits in all exactly, in units
 * of 10^exponent; others to 12 digits of the largest of them, so that the matrix times 1000 is the same matrix with
 * another exponent. `most`: ranks that are wanted at most; 0: any number. 0, or -1 and in error one line: file, line,
 * what was expected, what was found. To be freed by hark_matrix_free. */
int hark_matrix_read(struct hark_matrix *m, const char *path, uint32_t most, char error[HARK_MATRIX_ERROR]);
/* Rounds the values to whole numbers, halves up, so that exponent is 0. 0; or negative, the matrix is as it was, and
 * *row and *at (an index into column) are the first place where it can not be: -EDOM, a value above 0 and below a
 * half; -ERANGE, one beyond 2^53. */
int hark_matrix_whole(struct hark_matrix *m, uint32_t *row, uint64_t *at);
/* Rows become columns. 0, or -1 without memory. */
int hark_matrix_turn(struct hark_matrix *to, const struct hark_matrix *m);
/* The value at a place, 0 if there is no entry. */
uint64_t hark_matrix_at(const struct hark_matrix *m, uint32_t row, uint32_t column, bool *found);
void hark_matrix_free(struct hark_matrix *m);

/* ---- graphs */

#define HARK_GRAPH_MOST (UINT64_C(1) << 60) /* of the sum of all weights, and of all loads */

struct hark_graph { /* symmetric, without diagonal, columns ascending in a row; load NULL: every vertex 1 */
    uint32_t vertices;
    const uint64_t *first; /* vertices + 1 */
    const uint32_t *column;
    const uint64_t *weight; /* the same in both directions, not 0 */
    const uint64_t *load;
};

/* The graph of a matrix: what goes both ways between two ranks added up, without the diagonal and places of value 0.
 * 0, -ENOMEM, or -EOVERFLOW: the sum of the values is beyond HARK_GRAPH_MOST. To be freed by hark_graph_free. */
int hark_graph_of(struct hark_graph *g, const struct hark_matrix *m);
/* Of what hark_graph_of made; a load that was put into it stays its owner's. */
void hark_graph_free(struct hark_graph *g);

/* ---- cutting a graph into a given number of parts */

enum hark_cut_backend {
    HARK_CUT_BUILTIN,        /* multilevel recursive bisection of our own */
    HARK_CUT_SCOTCH,         /* where hark was built with it, so METIS */
    HARK_CUT_METIS,          /* its k-way method; fewer than 4 vertices a part are cut by our own */
    HARK_CUT_METIS_RECURSIVE /* its recursive bisection */
};

bool hark_cut_has(enum hark_cut_backend backend);
/* builtin, scotch, metis, metis-recursive. */
const char *hark_cut_name(enum hark_cut_backend backend);
/* Cuts into `parts` (1 to as many as vertices), the largest of at most 1 + slack times the mean load as far as the
 * loads allow it, so that little weight is cut: part[v] is the part of v, below `parts`; parts may be empty. 0,
 * -ENOMEM, -EINVAL (an argument out of its range), -ENOTSUP (a backend not built in), -EOVERFLOW (a graph larger than
 * the backend takes). */
int hark_graph_cut(const struct hark_graph *g, uint32_t parts, double slack, uint64_t seed,
    enum hark_cut_backend backend, uint32_t *part);

/* ---- what clusters cost */

struct hark_cluster_figures {
    uint64_t ranks;    /* P */
    uint64_t clusters; /* K */
    uint64_t bytes;    /* D: of all messages between two ranks, in units of the matrix; 0: nothing says who belongs
                          together */
    uint64_t logged;   /* B: of those between clusters; ordered: of those from a cluster to a later one */
    uint64_t squares;  /* the sum of the squares of the clusters' sizes */
};

struct hark_cluster_cost {
    double alpha, beta; /* of logging everything, of everybody's going back: shares of the machine, 0.23 and 0.124 */
    bool ordered;       /* clusters stand in an order, and only what goes to a later one is logged (eq. 3) */
    double (*function)(
        void *self, const struct hark_cluster_figures *f); /* one's own, of these alone; NULL: eq. 2 or eq. 3 */
    void *self;
};

/* alpha L + beta R, or the function's. */
double hark_cluster_cost(const struct hark_cluster_cost *c, const struct hark_cluster_figures *f);
/* L: B / D, 0 if there are no bytes. */
double hark_cluster_logged(const struct hark_cluster_figures *f);
/* R, the share of the processes that goes back after a failure of any one: sum of squares / P^2, and ordered (K + 1)
 * / 2 times that. */
double hark_cluster_rolled_back(const struct hark_cluster_figures *f, bool ordered);
/* Daly's interval between checkpoints, and beta: the share of the time between failures that half an interval and a
 * restart are. All in the same unit. */
void hark_cluster_daly(double mtbf, double checkpoint, double restart, double *interval, double *beta);

/* ---- clusters */

enum hark_partition_effort {
    HARK_PARTITION_FAST, /* Algorithm 1 and some cuts on coarser graphs, refined by what they cost, and combined */
    HARK_PARTITION_BEST, /* many beginnings, by every backend there is, each refined until nothing helps */
    HARK_PARTITION_PAPER /* Algorithm 1 as printed, with the corrections P-1 to P-6 of docs/partition.md, nothing else
                          */
};

enum { HARK_PARTITION_ERROR = 256 };

struct hark_partition_options {
    struct hark_cluster_cost cost;
    enum hark_partition_effort effort;
    enum hark_cut_backend backend;
    bool all_backends; /* BEST begins with all that are built in, not with `backend` alone */
    uint64_t seed;
    uint32_t threshold;      /* SHOULDPARTITION: parts of at most so many ranks stay (1) */
    uint32_t least, most;    /* ranks of a cluster; 0: as many as there are */
    const uint32_t *node;    /* of each rank, below `ranks`: ranks of one node stay together; NULL: each for itself */
    const uint32_t *improve; /* a cluster of each rank, below `ranks`: what there is, to be made better; NULL: anew */
    /* BISECT of one's own, such as PaToH: side[v] = 0 or 1, about half of the load each. 0, or negative: this fails
     * as a whole. NULL: by backend. */
    int (*bisect)(void *self, const struct hark_graph *g, uint64_t seed, uint32_t *side);
    void *self;
};

struct hark_partition {
    uint32_t ranks, clusters;
    uint32_t *of; /* cluster of each rank: numbered by lowest rank, and ordered by their order */
    struct hark_cluster_figures figures;
    double cost;
    uint32_t changed; /* with `improve`: ranks in a new cluster most of which comes from another old one */
};

/* alpha 23 %, beta 12.4 %, eq. 2, FAST, built in, seed 1. */
void hark_partition_defaults(struct hark_partition_options *o);
/* Finds clusters: the same ones for a matrix times any whole number or power of ten. 0; -ENOMEM; -EINVAL, -ENOTSUP or
 * -EOVERFLOW (see hark_graph_cut), or what `bisect` said, and one line in error. To be freed by hark_partition_free.
 */
int hark_partition(struct hark_partition *p, const struct hark_matrix *m, const struct hark_partition_options *o,
    char error[HARK_PARTITION_ERROR]);
/* Figures and cost of clusters that are given by p->ranks, p->clusters and p->of, from the matrix alone. 0,
 * -EOVERFLOW, -ENOMEM. */
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
