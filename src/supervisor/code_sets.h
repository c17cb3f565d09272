/* code_sets.h: which hosts are together in a set of an erasure code. It knows hosts by numbers. */
#ifndef HARK_SUPERVISOR_CODE_SETS_H
#define HARK_SUPERVISOR_CODE_SETS_H

#include <stdbool.h>
#include <stdint.h>

/* Deals `count` hosts, each of a rack, out into sets of at least `least` hosts, as many sets as
 * there can be, but one at least: set[i] is the set of the i-th, from 0. The hosts of a rack are
 * spread over the sets evenly, and the sets differ in size by one at most. Returns how many there
 * are; *together: how many hosts of one rack are in one set at most. */
uint32_t hark_code_sets(
    const uint32_t *rack, uint32_t count, uint32_t least, uint32_t *set, uint32_t *together);

#endif
