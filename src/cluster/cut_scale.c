/* cut_scale.c: weights that fit into the 32 bits of METIS and Scotch. */
#include "cut.h"

unsigned hark_cluster_scale(const uint64_t *value, uint64_t count, uint64_t most)
{
    unsigned shift = 0;
    for (;; shift++) {
        uint64_t sum = 0;
        for (uint64_t i = 0; i < count && sum < most; i++)
            sum += value[i] >> shift ? value[i] >> shift : 1;
        if (sum < most || shift == 63) return shift;
    }
}
