/* lines.h: the lines of a text file, plain or compressed by gzip, and what is wrong with one of
 * them. */
#ifndef HARK_CLUSTER_LINES_H
#define HARK_CLUSTER_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#if HARK_ZLIB
#include <zlib.h>
#endif

enum { CLUSTER_LINE = 1024 };

struct cluster_lines {
    const char *path;
    char *error; /* HARK_MATRIX_ERROR bytes */
    uint64_t line;
#if HARK_ZLIB
    gzFile file;
#else
    FILE *file;
    char head[2]; /* what was read to see whether it is compressed */
    int heads;
#endif
    char text[CLUSTER_LINE];
};

/* Reads the file once, from its beginning to its end: it may be a pipe. 0, or -1 and error, and
 * nothing is to be closed. */
int hark_cluster_lines_open(struct cluster_lines *l, const char *path, char *error);
void hark_cluster_lines_close(struct cluster_lines *l);
/* The next line in text: 1, or 0 at the end, or -1 and error. */
int hark_cluster_lines_any(struct cluster_lines *l);
/* The same, of those that are neither a comment (%) nor empty. */
int hark_cluster_lines_next(struct cluster_lines *l);
/* What is wrong with this line; -1. */
int hark_cluster_lines_bad(const struct cluster_lines *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The line, as far as it can be printed. */
const char *hark_cluster_lines_found(const struct cluster_lines *l, char shown[44]);

#endif
