/* matrix.h: communication matrices in Matrix Market form, plain or compressed by gzip.
 *
 * `matrix coordinate integer|real general`, square: row = source rank + 1, column = destination rank + 1, value =
 * bytes or messages, finite and not negative (real ones are rounded). Entries of one place are added up. Every fault
 * is one line: file, line, what was expected, what was found. */
#ifndef HARK_SIM_MATRIX_H
#define HARK_SIM_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

enum { HARK_MATRIX_ERROR = 512 };
#define HARK_MATRIX_MOST (UINT64_C(1) << 53) /* of a value, and of their sum in one place */

struct hark_matrix { /* by rows: those of row i are column[first[i]] .. column[first[i + 1] - 1], ascending */
    uint32_t ranks;
    uint64_t entries;
    uint64_t *first;
    uint32_t *column;
    uint64_t *value;
};

/* `most`: ranks that are wanted; 0: any number. 0, or -1 and error. */
int hark_matrix_read(struct hark_matrix *m, const char *path, uint32_t most, char error[HARK_MATRIX_ERROR]);
/* Rows become columns. 0, or -1 without memory. */
int hark_matrix_turn(struct hark_matrix *to, const struct hark_matrix *m);
/* The value at a place, 0 if there is no entry. */
uint64_t hark_matrix_at(const struct hark_matrix *m, uint32_t row, uint32_t column, bool *found);
void hark_matrix_free(struct hark_matrix *m);

#endif
