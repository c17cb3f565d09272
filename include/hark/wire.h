/* wire.h: explicit little-endian bytes, and the header that every frame of every protocol begins with.
 *
 *   offset 0 kind u8 · 1 type u8 · 2 ctx u16 · 4 src u32 · 8 dst u32 · 12 srcInc u32 · 16 dstInc u32 ·
 *   20 re u32 · 24 ssn u64 · 32 the protocol's own
 *
 * kind is the protocol's number in the registry, type 0 an application message, others control frames
 * (1..15 checkpoint waves, 16.. the protocol's own). ssn is 0 in control frames.
 */
#ifndef HARK_WIRE_H
#define HARK_WIRE_H

#include "hark.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_WIRE_HEAD 32u
#define HARK_APP 0u /* type of an application message */

/* A header's common part, decoded. */
struct hark_head {
    uint8_t kind, type;
    uint16_t ctx;
    uint32_t src, dst, src_inc, dst_inc, re;
    uint64_t ssn;
};

static inline void hark_copy(void *to, const void *from, uint64_t n)
{
    __builtin_memcpy(to, from, n);
}

static inline void hark_put16(uint8_t *b, uint16_t v)
{
    b[0] = (uint8_t)v;
    b[1] = (uint8_t)(v >> 8);
}

static inline void hark_put32(uint8_t *b, uint32_t v)
{
    b[0] = (uint8_t)v;
    b[1] = (uint8_t)(v >> 8);
    b[2] = (uint8_t)(v >> 16);
    b[3] = (uint8_t)(v >> 24);
}

static inline void hark_put64(uint8_t *b, uint64_t v)
{
    b[0] = (uint8_t)v;
    b[1] = (uint8_t)(v >> 8);
    b[2] = (uint8_t)(v >> 16);
    b[3] = (uint8_t)(v >> 24);
    b[4] = (uint8_t)(v >> 32);
    b[5] = (uint8_t)(v >> 40);
    b[6] = (uint8_t)(v >> 48);
    b[7] = (uint8_t)(v >> 56);
}

static inline uint16_t hark_get16(const uint8_t *b)
{
    return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t hark_get32(const uint8_t *b)
{
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t hark_get64(const uint8_t *b)
{
    return (uint64_t)hark_get32(b) | (uint64_t)hark_get32(b + 4) << 32;
}

/* Writes HARK_WIRE_HEAD bytes. */
static inline void hark_head_put(uint8_t *b, const struct hark_head *h)
{
    b[0] = h->kind;
    b[1] = h->type;
    hark_put16(b + 2, h->ctx);
    hark_put32(b + 4, h->src);
    hark_put32(b + 8, h->dst);
    hark_put32(b + 12, h->src_inc);
    hark_put32(b + 16, h->dst_inc);
    hark_put32(b + 20, h->re);
    hark_put64(b + 24, h->ssn);
}

/* Reads the common part; HARK_EFRAME if it is too short or of another protocol. */
static inline int hark_head_get(struct hark_head *h, struct hark_bytes from, uint16_t kind)
{
    const uint8_t *b = from.at;
    if (from.length < HARK_WIRE_HEAD || b == NULL || b[0] != (uint8_t)kind) return HARK_EFRAME;
    h->kind = b[0];
    h->type = b[1];
    h->ctx = hark_get16(b + 2);
    h->src = hark_get32(b + 4);
    h->dst = hark_get32(b + 8);
    h->src_inc = hark_get32(b + 12);
    h->dst_inc = hark_get32(b + 16);
    h->re = hark_get32(b + 20);
    h->ssn = hark_get64(b + 24);
    return HARK_OK;
}

#ifdef __cplusplus
}
#endif
#endif
