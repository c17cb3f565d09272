/* common.h: shared by the larger examples: how they end on errors, and digests. */
#ifndef HARK_EXAMPLES_COMMON_H
#define HARK_EXAMPLES_COMMON_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hark/app.h"

#if defined(__GNUC__)
#define EXAMPLE_FORMAT __attribute__((format(printf, 1, 2), unused))
#else
#define EXAMPLE_FORMAT
#endif

/* An error in the arguments or in an input file, which every process finds by itself. Rank 0 prints
 * it, and its end is the end of the job. Another process prints it only if it still runs a while
 * later: then no other has found it. */
EXAMPLE_FORMAT static _Noreturn void refuse(const char *format, ...)
{
    va_list list;
    if (hark_rank() > 0) sleep(2);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    exit(2);
}

/* Ends the process if a call of hark failed. */
static inline void check(int status, const char *call)
{
    if (status >= 0) return;
    fprintf(stderr, "rank %d: %s: %s\n", hark_rank(), call, hark_app_error(status));
    exit(1);
}

static inline void *allocate(size_t count, size_t width)
{
    void *p = calloc(count ? count : 1, width);
    if (p == NULL) {
        fprintf(stderr, "rank %d: no memory for %zu x %zu bytes\n", hark_rank(), count, width);
        exit(1);
    }
    return p;
}

/* A whole number between least and most, or the program ends. */
static inline int64_t number(const char *text, int64_t least, int64_t most, const char *what)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || value < least || value > most)
        refuse("%s: expected %lld to %lld, found \"%s\"", what, (long long)least, (long long)most,
            text);
    return value;
}

/* Spreads the bits of x over all of the result. */
static inline uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* The digest of a distributed vector is the sum of this over its elements, so that it depends on
 * every bit of every element and on its place, and not on which process has it. */
static inline uint64_t digest_of(uint64_t index, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return mix(bits ^ mix(index + 1));
}

#endif
