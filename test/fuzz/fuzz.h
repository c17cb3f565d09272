/* fuzz.h: what the fuzzers share: the bytes of an input as a row of choices, and how a finding is
 * said. */
#ifndef HARK_TEST_FUZZ_H
#define HARK_TEST_FUZZ_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* In decode.c, for frame.c. */
void decode(const uint8_t *b, uint32_t length, uint32_t ranks);

/* One line, and the end: libFuzzer keeps the input. */
__attribute__((format(printf, 1, 2), noreturn)) static inline void finding(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("finding: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}

struct choices { /* zeros behind the end */
    const uint8_t *at;
    size_t left;
};

static inline uint8_t choose(struct choices *c)
{
    if (c->left == 0) return 0;
    c->left--;
    return *c->at++;
}

static inline uint64_t choose_bytes(struct choices *c, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++) v |= (uint64_t)choose(c) << (8 * i);
    return v;
}

/* A number of any size, mostly a small one, or one near the end of a width. */
static inline uint64_t choose_number(struct choices *c)
{
    uint8_t b = choose(c);
    if (b < 0xd0) return b % 16;
    if (b < 0xe0) return UINT64_MAX - (b & 15);
    if (b < 0xf0) return UINT32_MAX - (b & 15);
    return choose_bytes(c, b & 1 ? 8 : b & 2 ? 4 : b & 4 ? 2 : 1);
}

/* A copy in memory of just that length, so that reading beyond it is seen. To be freed. */
static inline void *exactly(const void *at, size_t length)
{
    void *copy = malloc(length ? length : 1);
    if (copy == NULL) abort();
    if (length) memcpy(copy, at, length);
    return copy;
}

#endif
