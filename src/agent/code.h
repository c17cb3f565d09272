/* code.h: erasure codes over a set of hosts: what one host has, as a sum of what others have.
 *
 * A set of n hosts has n stripes. In stripe s the hosts s .. s + m - 1 (mod n) hold parity, and
 * each of the others one chunk of its data. So each host has n - m chunks of data and m of parity,
 * and whatever m hosts are lost, each stripe can be computed from the others. With m = 1 parity is
 * the XOR of the data; with more it is Reed-Solomon over GF(256), with a Cauchy matrix.
 *
 * Data is cut into units that go to the chunks in turn: unit u is in chunk u mod (n - m). So where
 * a byte lies does not depend on how long the data is, and nobody needs to know that of others.
 * Each image begins with a new row of units.
 */
#ifndef HARK_AGENT_CODE_H
#define HARK_AGENT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HARK_CODE_UNIT 4096u
#define HARK_CODE_MOST 64u /* hosts of a set */
#define HARK_CODE_NONE UINT32_MAX

struct hark_code {
    uint32_t hosts, parity; /* n; m, fewer */
};

bool hark_code_built(uint32_t parity); /* were codes with so much parity built in? */
/* How many rows of units an image of that length takes in each chunk. */
uint64_t hark_code_rows(const struct hark_code *c, uint64_t length);
/* The number of the chunk, or of the parity, that the host has in the stripe; or HARK_CODE_NONE. */
uint32_t hark_code_chunk(const struct hark_code *c, uint32_t stripe, uint32_t host);
uint32_t hark_code_parity(const struct hark_code *c, uint32_t stripe, uint32_t host);
/* The stripe of that chunk, or parity, of the host. */
uint32_t hark_code_stripe(const struct hark_code *c, uint32_t host, uint32_t chunk);
uint32_t hark_code_parity_stripe(const struct hark_code *c, uint32_t host, uint32_t parity);
/* What `host` has in the stripe is the sum over all hosts i of factor[i] times what i has there.
 * Only hosts with have[i] are used, and not `host` itself. False: they are too few. */
bool hark_code_factors(const struct hark_code *c, uint32_t stripe, uint32_t host,
    const uint8_t *have, uint8_t *factor);
/* to += factor * from */
void hark_code_add(uint8_t *to, const uint8_t *from, size_t length, uint8_t factor);

#endif
