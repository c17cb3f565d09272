/* table.h: rows of numbers, each kept once and known by its own, from 0 and in order. For tens of
 * millions of them: a look at one takes two lines of the cache, and both can be fetched before. */
#ifndef HARK_CHECK_TABLE_H
#define HARK_CHECK_TABLE_H

#include "job.h"

/* Rows are kept in pieces: one of so many (logarithms), others each as large as all before it, up
 * to the largest. */
enum { TABLE_FIRST = 10, TABLE_LARGEST = 19, TABLE_PLACES = 12 };

struct table_bucket {          /* a line of the cache */
    uint8_t tag[TABLE_PLACES]; /* some bits of the hash; 0: this place and those behind it are free
                                */
    uint32_t spare;
    uint32_t number[TABLE_PLACES];
};

struct table {
    uint32_t width, beside; /* numbers of a row that make it what it is, and others that stand
                               behind them */
    uint32_t most;          /* there are never more rows */
    uint32_t pieces;
    uint32_t **piece;
    struct table_bucket *bucket;
    uint64_t count, buckets;
};

static inline uint32_t *table_row(const struct table *t, uint64_t i)
{
    uint64_t piece = 0, at = i;
    if (i >> TABLE_LARGEST) {
        piece = (i >> TABLE_LARGEST) + TABLE_LARGEST - TABLE_FIRST;
        at = i & ((UINT64_C(1) << TABLE_LARGEST) - 1);
    } else if (i >> TABLE_FIRST) {
        uint32_t log = 31 - (uint32_t)__builtin_clz((uint32_t)i);
        piece = log - TABLE_FIRST + 1;
        at = i ^ UINT64_C(1) << log;
    }
    return t->piece[piece] + at * (t->width + t->beside);
}

void table_open(struct table *t, uint32_t width, uint32_t beside, uint32_t most);
uint64_t table_bytes(const struct table *t);
/* What it will take beside that for a moment, if it is soon to grow; else 0. */
uint64_t table_growing(const struct table *t);
uint64_t table_hash(const uint32_t *row, uint32_t width);
/* A row with that hash will be looked for: first where its number is, then the row. */
void table_fetch(const struct table *t, uint64_t hash);
void table_fetch_row(const struct table *t, uint64_t hash);
/* The number of the row; -1: it is not there. */
int64_t table_find(const struct table *t, const uint32_t *row, uint64_t hash);
/* The number of the row, which is added if it is not there; *new, unless NULL: it was not. What
 * stands beside a new one the caller writes. -1: no memory. */
int64_t table_put(struct table *t, const uint32_t *row, uint64_t hash, bool *new);
void table_free(struct table *t);

#endif
