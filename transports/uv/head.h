/* head.h: what stands before each frame on a connection. Little-endian, 24 bytes:
 *
 *   0 kind u8   1 zero u8   2 header u16   4 zero u32   8 payload u64   16 ack u64
 *
 * Frames make up the stream of their direction, and the stream has positions: the number of its
 * bytes since the two incarnations met first. HEAD_ACK is not part of the stream; it only carries
 * `ack`, the position up to which the sender of the head has the stream of the other direction.
 *
 * Each connection begins with such a head, also where it goes on in the middle of a long frame. In
 * that place it may be HEAD_WITHDRAWN: the rest of that frame never comes, its receiver gives up
 * what it has, and the stream goes on behind it.
 */
#ifndef HARK_UV_HEAD_H
#define HARK_UV_HEAD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { HEAD_BYTES = 24 };
enum { HEAD_FRAME = 1, HEAD_ACK = 2, HEAD_WITHDRAWN = 3 };

struct head {
    uint32_t kind;
    uint32_t header;  /* bytes */
    uint64_t payload; /* bytes */
    uint64_t ack;
};

static inline void put_le(uint8_t *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t get_le(const uint8_t *from, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static inline void head_write(uint8_t to[HEAD_BYTES], const struct head *h)
{
    put_le(to, h->kind | (uint64_t)h->header << 16, 8);
    put_le(to + 8, h->payload, 8);
    put_le(to + 16, h->ack, 8);
}

/* False if it can not be a head. */
static inline bool head_read(struct head *h, const uint8_t *from)
{
    uint64_t first = get_le(from, 8);
    h->kind = (uint32_t)(first & 0xffff);
    h->header = (uint32_t)(first >> 16 & 0xffff);
    h->payload = get_le(from + 8, 8);
    h->ack = get_le(from + 16, 8);
    if (first >> 32 || h->payload > UINT64_MAX / 2) return false;
    return h->kind == HEAD_FRAME ? h->header > 0
                                 : (h->kind == HEAD_ACK || h->kind == HEAD_WITHDRAWN) &&
                                       h->header == 0 && h->payload == 0;
}

#endif
