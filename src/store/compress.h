/* compress.h: compressions of blocks; which of them the library was built with. Internal to
 * src/store; hark_compression_*() are in hark/store.h. */
#ifndef HARK_STORE_COMPRESS_H
#define HARK_STORE_COMPRESS_H

#include "hark/store.h"

/* Compresses into less than `length` bytes: how many, or 0 if that is not possible. `length` is at
 * most that of a block. */
uint32_t hark_compress(
    enum hark_compression compression, const void *from, uint64_t length, void *to);
/* Does it decompress to just `length` bytes? Anything may come in; nothing is written outside. */
bool hark_decompress(
    uint32_t compression, const void *from, uint32_t stored, void *to, uint64_t length);

#endif
