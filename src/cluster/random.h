/* random.h: chance that is the same everywhere. */
#ifndef HARK_CLUSTER_RANDOM_H
#define HARK_CLUSTER_RANDOM_H

#include <stdint.h>

static inline uint64_t cluster_random(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static inline uint32_t cluster_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)((cluster_random(state) >> 32) * n >> 32);
}

#endif
