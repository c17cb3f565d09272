/* out.c: bytes on their way into a file, and their checksum. */
#include "out.h"
#include "file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The disk works on so much while the next bytes are hashed and copied; else it would have nothing
 * to do before the file is synced. */
#define TELL ((uint64_t)8 << 20)

void hark_out_begin(struct out *o, int fd)
{
    o->fd = fd;
    o->count = 0;
    o->bytes = 0;
    o->written = o->begun = 0;
    XXH3_128bits_reset(&o->hash);
}

int hark_out_flush(struct out *o)
{
    size_t count = o->count;
    o->count = 0;
    o->written += o->bytes;
    o->bytes = 0;
    if (hark_file_write(o->fd, o->iov, count) < 0) return -1;
    if (o->written - o->begun >= TELL) {
        hark_file_begin(o->fd, o->begun, o->written - o->begun);
        o->begun = o->written;
    }
    return 0;
}

int hark_out_put(struct out *o, const void *from, uint64_t length)
{
    const uint8_t *at = from;
    while (length > 0) {
        uint64_t piece = length < HARK_OUT_PIECE ? length : HARK_OUT_PIECE;
        XXH3_128bits_update(&o->hash, at, (size_t)piece);
        o->iov[o->count++] =
            (struct iovec){.iov_base = (void *)(uintptr_t)at, .iov_len = (size_t)piece};
        o->bytes += piece;
        at += piece;
        length -= piece;
        if ((o->count == 64 || o->bytes >= HARK_OUT_PIECE) && hark_out_flush(o) < 0) return -1;
    }
    return 0;
}

static void put_digest(XXH128_hash_t hash, uint8_t digest[16])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, hash);
    memcpy(digest, canonical.digest, 16);
}

void hark_out_digest(struct out *o, uint8_t digest[16])
{
    put_digest(XXH3_128bits_digest(&o->hash), digest);
}

void hark_digest(const void *at, uint64_t length, uint8_t digest[16])
{
    put_digest(XXH3_128bits(at, (size_t)length), digest);
}

int64_t hark_digest_file(int fd, uint64_t length, uint8_t digest[16])
{
    XXH3_state_t hash;
    uint8_t *piece = malloc(HARK_OUT_PIECE);
    int64_t at = 0, got = piece ? 1 : -1;
    XXH3_128bits_reset(&hash);
    while (got > 0 && (uint64_t)at < length) {
        const uint64_t left = length - (uint64_t)at;
        got = hark_file_read_from(
            fd, piece, left < HARK_OUT_PIECE ? left : HARK_OUT_PIECE, (uint64_t)at);
        if (got > 0) XXH3_128bits_update(&hash, piece, (size_t)got);
        if (got > 0) at += got;
    }
    const int saved = piece ? errno : ENOMEM;
    free(piece);
    errno = saved;
    put_digest(XXH3_128bits_digest(&hash), digest);
    return got < 0 ? -1 : at;
}
