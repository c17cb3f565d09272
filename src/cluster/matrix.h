/* matrix.h: entries of a matrix as they are read, and the matrix that they make. */
#ifndef HARK_CLUSTER_MATRIX_H
#define HARK_CLUSTER_MATRIX_H

#include "decimal.h"
#include "hark/cluster.h"

struct cluster_entry { /* digits x 10^exponent */
    uint32_t row, column;
    int32_t exponent;
    uint64_t digits;
};

struct cluster_entries {
    uint32_t ranks;
    struct cluster_entry *entry; /* malloc's */
    uint64_t count, room;
};

/* False without memory. */
bool hark_cluster_entries_add(struct cluster_entries *all, struct cluster_entry e);
/* Sorts them, adds up those of one place, and finds the power of ten that they are whole numbers
 * of. 0, or -1 without memory. */
int hark_cluster_entries_take(struct cluster_entries *all, struct hark_matrix *m);

#endif
