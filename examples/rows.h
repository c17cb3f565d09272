/* rows.h: a square sparse matrix in blocks of rows, one for each process, and the exchange that its
 * product needs.
 *
 * Every process gets all entries, and keeps those of its own rows. From the other entries it learns
 * which of its elements of a vector other processes need. So all processes know who sends what to
 * whom, without a message.
 */
#ifndef HARK_EXAMPLES_ROWS_H
#define HARK_EXAMPLES_ROWS_H

#include "matrix_market.h"

#include <stddef.h>

struct need { /* an element of the vector that another process needs */
    uint32_t rank, index;
};

struct neighbour {
    int rank;
    size_t send, sends;       /* where its part of `need` begins, and how long it is */
    size_t receive, receives; /* the same of `ghost` */
    struct hark_request *request;
};

struct rows {
    uint32_t n, begin, count; /* of the matrix; my first row; my rows */
    int rank, size;
    size_t *start;    /* count + 1: where each row begins in column and value */
    uint32_t *column; /* in a vector of mine: own elements, then ghosts */
    double *value;
    uint32_t *ghost; /* elements of others that I need, ascending */
    size_t ghosts;
    struct need *need; /* elements of mine that others need, by rank, ascending */
    size_t needs;
    struct neighbour *neighbour;
    size_t neighbours;
    double *packed;             /* as long as need */
    struct matrix_entry *entry; /* while they come */
    size_t entries, entry_room, need_room;
};

/* Process `rank` of `size`, of a matrix of n x n. */
void rows_begin(struct rows *a, uint32_t n, int rank, int size);
/* Adds the next entry, of any process. */
void rows_add(struct rows *a, const struct matrix_entry *entry);
/* All entries have come. */
void rows_end(struct rows *a);
void rows_free(struct rows *a);

/* Fetches the ghosts of x (count own elements, then room for the ghosts) from their owners. */
void rows_exchange(struct rows *a, double *x);
/* y = A x; the ghosts of x are there. */
void rows_multiply(const struct rows *a, const double *x, double *y);

#endif
