/* head.h: what stands before each message on the network. Little-endian, 48 bytes:
 *
 *   0 token u64   8 number u64   16 ack u64   24 payload u64   32 from u32   36 inc u32
 *   40 header u32   44 kind u32
 *
 * `number` counts the messages of a stream, from 1 on. 0: HEAD_CONTROL, not part of the stream.
 * `ack`: the sender of this message has the other stream up to that number.
 *
 * HEAD_HELLO is the first of each stream; the name of its sender's endpoint follows it. HEAD_BEGIN
 * begins a frame, and `header` and `payload` are the whole lengths of that frame; HEAD_MORE goes on
 * with it; HEAD_BREAK: the rest of it never comes. HEAD_CONTROL has flags, and in `payload` the
 * number of the last message that was sent.
 */
#ifndef HARK_FABRIC_HEAD_H
#define HARK_FABRIC_HEAD_H

#include <stdint.h>

enum { HEAD_BYTES = 48, HEAD_ACK_AT = 16 };
enum { HEAD_HELLO = 1, HEAD_BEGIN, HEAD_MORE, HEAD_CONTROL, HEAD_BREAK };
enum {
    HEAD_ANSWER = 1u << 8, /* tell me how far you have come */
    HEAD_AGAIN = 1u << 9
}; /* something is missing after `ack`: send again from there */

struct head {
    uint64_t token, number, ack, payload;
    uint32_t from, inc, header, kind;
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
    put_le(to, h->token, 8);
    put_le(to + 8, h->number, 8);
    put_le(to + HEAD_ACK_AT, h->ack, 8);
    put_le(to + 24, h->payload, 8);
    put_le(to + 32, h->from, 4);
    put_le(to + 36, h->inc, 4);
    put_le(to + 40, h->header, 4);
    put_le(to + 44, h->kind, 4);
}

static inline struct head head_read(const uint8_t *from)
{
    return (struct head){get_le(from, 8), get_le(from + 8, 8), get_le(from + HEAD_ACK_AT, 8),
        get_le(from + 24, 8), (uint32_t)get_le(from + 32, 4), (uint32_t)get_le(from + 36, 4),
        (uint32_t)get_le(from + 40, 4), (uint32_t)get_le(from + 44, 4)};
}

#endif
