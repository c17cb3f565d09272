/* little.h: numbers as they are in files. Internal to src/store. */
#ifndef HARK_STORE_LITTLE_H
#define HARK_STORE_LITTLE_H

#include <stdint.h>

static inline void store_put32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static inline void store_put64(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 8; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static inline uint32_t store_get32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t store_get64(const uint8_t *at)
{
    return (uint64_t)store_get32(at) | (uint64_t)store_get32(at + 4) << 32;
}

/* How many zeros come behind a section. */
static inline uint64_t store_padding(uint64_t length)
{
    return (8 - (length & 7)) & 7;
}

#endif
