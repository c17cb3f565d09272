/* compress.c: compressions of blocks. Either library may be missing when hark is built. */
#include "compress.h"

#include <string.h>

#ifndef HARK_LZ4
#define HARK_LZ4 0
#endif
#ifndef HARK_ZSTD
#define HARK_ZSTD 0
#endif
#if HARK_LZ4
#include <lz4.h>
#endif
#if HARK_ZSTD
#include <zstd.h>
#endif

static const char *const names[HARK_COMPRESSIONS] = {"none", "lz4", "zstd"};

const char *hark_compression_name(uint32_t compression)
{
    return compression < HARK_COMPRESSIONS ? names[compression] : NULL;
}

bool hark_compression_built(uint32_t compression)
{
    static const bool built[HARK_COMPRESSIONS] = {true, HARK_LZ4, HARK_ZSTD};
    return compression < HARK_COMPRESSIONS && built[compression];
}

uint32_t hark_compress(
    enum hark_compression compression, const void *from, uint64_t length, void *to)
{
    if (length < 2) return 0;
#if HARK_LZ4
    if (compression == HARK_COMPRESS_LZ4) {
        int got = LZ4_compress_default(from, to, (int)length, (int)length - 1);
        return got > 0 ? (uint32_t)got : 0;
    }
#endif
#if HARK_ZSTD
    if (compression == HARK_COMPRESS_ZSTD) {
        size_t got = ZSTD_compress(to, (size_t)length - 1, from, (size_t)length, 1);
        return ZSTD_isError(got) ? 0 : (uint32_t)got;
    }
#endif
    (void)compression, (void)from, (void)to;
    return 0;
}

bool hark_decompress(
    uint32_t compression, const void *from, uint32_t stored, void *to, uint64_t length)
{
#if HARK_LZ4
    if (compression == HARK_COMPRESS_LZ4)
        return LZ4_decompress_safe(from, to, (int)stored, (int)length) == (int)length;
#endif
#if HARK_ZSTD
    if (compression == HARK_COMPRESS_ZSTD) {
        size_t got = ZSTD_decompress(to, (size_t)length, from, stored);
        return !ZSTD_isError(got) && got == length;
    }
#endif
    (void)compression, (void)from, (void)stored, (void)to, (void)length;
    return false;
}
