/* cluster.h: who belongs together: communication graphs, cutting them into parts, and clusters for partial message
 * logging by what they cost (Ropars et al., Euro-Par 2011). In libhark_cluster (pkg-config hark-cluster).
 *
 * The same input, options and seed give the same result, in every run and with every compiler. Nothing prints, and there are
 * no globals; a call allocates what it needs and frees it before it returns, but for what its comment says is to be freed.
 */
#ifndef HARK_CLUSTER_H
#define HARK_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- communication matrices */

enum { HARK_MATRIX_ERROR = 512 };
#define HARK_MATRIX_MOST (UINT64_C(1) << 53) /* of a value, and of their sum in one place */

struct hark_matrix { /* by rows: those of row i are column[first[i]] .. column[first[i + 1] - 1], ascending */
    uint32_t ranks;
    uint64_t entries;
    uint64_t *first;
    uint32_t *column;
    uint64_t *value;
};

/* Reads a communication matrix in Matrix Market form, plain or compressed by gzip: `matrix coordinate integer|real general`,
 * square, row = source rank + 1, column = destination rank + 1, value = bytes or messages, finite and not negative (real
 * ones are rounded). Entries of one place are added up. `most`: ranks that are wanted at most; 0: any number. 0, or -1 and
 * in error one line: file, line, what was expected, what was found. To be freed by hark_matrix_free. */
int hark_matrix_read(struct hark_matrix *m, const char *path, uint32_t most, char error[HARK_MATRIX_ERROR]);
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
    HARK_CUT_METIS,          /* its k-way method */
    HARK_CUT_METIS_RECURSIVE /* its recursive bisection */
};

bool hark_cut_has(enum hark_cut_backend backend);
/* builtin, scotch, metis, metis-recursive. */
const char *hark_cut_name(enum hark_cut_backend backend);
/* Cuts into `parts` (1 to as many as vertices), the largest of at most 1 + slack times the mean load as far as the loads allow
 * it, so that little weight is cut: part[v] is the part of v, below `parts`; parts may be empty. 0, -ENOMEM, -EINVAL (an
 * argument out of its range), -ENOTSUP (a backend not built in), -EOVERFLOW (a graph larger than the backend takes). */
int hark_graph_cut(const struct hark_graph *g, uint32_t parts, double slack, uint64_t seed, enum hark_cut_backend backend,
    uint32_t *part);

#ifdef __cplusplus
}
#endif

#endif
