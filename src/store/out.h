/* out.h: bytes on their way into a file, and their checksum. Internal to src/store. */
#ifndef HARK_STORE_OUT_H
#define HARK_STORE_OUT_H

#define XXH_STATIC_LINKING_ONLY /* for the state as a value: no allocation of its own */
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <xxhash.h>

#define HARK_OUT_PIECE ((uint64_t)1 << 20)

/* Bytes are hashed just before they are written, in pieces that are still in the cache then. */
struct out {
    int fd;
    size_t count; /* of pieces that are not written yet; at most HARK_OUT_PIECE bytes and one more
                   */
    uint64_t bytes;
    uint64_t written, begun; /* bytes of the file; and of these, which the disk has been told of */
    struct iovec iov[64];
    XXH3_state_t hash;
};

void hark_out_begin(struct out *o, int fd);
/* 0, or -1 with errno. The bytes must not change until they are flushed, which is when `count` is
 * 0. */
int hark_out_put(struct out *o, const void *from, uint64_t length);
int hark_out_flush(struct out *o);
/* XXH3-128 of `length` bytes, and of all that was put, as they are in files. */
void hark_out_digest(struct out *o, uint8_t digest[16]);
void hark_digest(const void *at, uint64_t length, uint8_t digest[16]);
/* Of the file's first `length` bytes; how many there were, or -1 with errno. */
int64_t hark_digest_file(int fd, uint64_t length, uint8_t digest[16]);

#endif
