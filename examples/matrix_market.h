/* matrix_market.h: reads a sparse matrix in Matrix Market form, entry by entry.
 *
 *     struct matrix_market m;
 *     if (matrix_market_open(&m, path) < 0) complain(m.error);
 *     while ((status = matrix_market_next(&m, &entry)) > 0) use(&entry);
 *     if (status < 0) complain(m.error);
 *     matrix_market_close(&m);
 *
 * It reads `matrix coordinate`, real, integer or pattern (all ones), general or symmetric. For a
 * symmetric matrix it gives both halves, although the file has one. Entries come in the order of
 * the file; an entry that occurs twice comes twice, and the values are to be added. Every error is
 * one line: file, line, what was expected, what was found.
 */
#ifndef HARK_EXAMPLES_MATRIX_MARKET_H
#define HARK_EXAMPLES_MATRIX_MARKET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define MATRIX_MARKET_LINE 1024      /* no line of a file is longer, bytes, newline included */
#define MATRIX_MARKET_MOST INT32_MAX /* rows or columns */

struct matrix_entry {
    uint32_t row, column; /* from 0 */
    double value;
};

struct matrix_market {
    uint32_t rows, columns;
    uint64_t entries; /* in the file */
    bool pattern, symmetric;
    char error[512]; /* without newline */
    /* the reader's own */
    FILE *file;
    const char *path;
    uint64_t line, read;
    struct matrix_entry other; /* the other half of a symmetric pair */
    bool other_waits;
};

/* Reads up to the sizes. `path` must last. 0, or -1 and m->error; then nothing is to be closed. */
int matrix_market_open(struct matrix_market *m, const char *path);
/* 1 and *entry; 0 at the end, if the file has as many entries as it says; or -1 and m->error. */
int matrix_market_next(struct matrix_market *m, struct matrix_entry *entry);
void matrix_market_close(struct matrix_market *m);

#endif
