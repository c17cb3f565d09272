/* code_sets.c: see code_sets.h. */
#include "code_sets.h"

/* How many of the racks before it, and of its own, come before the i-th. */
static uint32_t turn_of(const uint32_t *rack, uint32_t count, uint32_t i)
{
    uint32_t turn = 0;
    for (uint32_t k = 0; k < count; k++) turn += rack[k] < rack[i] || (rack[k] == rack[i] && k < i);
    return turn;
}

uint32_t hark_code_sets(
    const uint32_t *rack, uint32_t count, uint32_t least, uint32_t *set, uint32_t *together)
{
    const uint32_t sets = count / least ? count / least : 1;
    *together = 0;
    for (uint32_t i = 0; i < count; i++) set[i] = turn_of(rack, count, i) % sets;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t same = 0;
        for (uint32_t k = 0; k < count; k++) same += set[k] == set[i] && rack[k] == rack[i];
        if (same > *together) *together = same;
    }
    return sets;
}
