/* parts/wire.h: little-endian bytes, and the common part with which the header of every frame of
 * every protocol begins.
 *
 *   offset 0 kind u8 · 1 type u8 · 2 ctx u16 · 4 src u32 · 8 dst u32 · 12 srcInc u32 ·
 *   16 dstInc u32 · 20 re u32 · 24 ssn u64 · 32 the protocol's own
 *
 * kind is the protocol's number in the registry. type 0 is an application message; others are
 * control frames (1..15 of checkpoint waves, 16.. the protocol's own), and have ssn 0.
 */
#ifndef HARK_PARTS_WIRE_H
#define HARK_PARTS_WIRE_H

#include "../hark.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_WIRE_HEAD 32u
#define HARK_APP       0u /* type of an application message */

/* A header's common part, decoded. It has the layout of the wire, so it is read and written in one
 * piece. */
struct hark_head {
    uint8_t kind, type;
    uint16_t ctx;
    uint32_t src, dst, src_inc, dst_inc, re;
    uint64_t ssn;
};
HARK_STATIC_ASSERT(sizeof(struct hark_head) == HARK_WIRE_HEAD &&
                       offsetof(struct hark_head, re) == 20 &&
                       offsetof(struct hark_head, ssn) == 24,
    "the decoded head lies as on the wire");

#define HARK_SSN_BITS 40 /* of a message's number; the bits above it are free for other uses */
#define HARK_SSN_MOST ((UINT64_C(1) << HARK_SSN_BITS) - 1)

static inline void hark_zero(void *at, uint64_t n)
{
    __builtin_memset(at, 0, n);
}

static inline void hark_copy(void *to, const void *from, uint64_t n)
{
    __builtin_memcpy(to, from, n);
}

/* Converts a number between the byte order of the machine and of the wire, both ways. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define HARK_LITTLE16(v) __builtin_bswap16(v)
#define HARK_LITTLE32(v) __builtin_bswap32(v)
#define HARK_LITTLE64(v) __builtin_bswap64(v)
#else
#define HARK_LITTLE16(v) (v)
#define HARK_LITTLE32(v) (v)
#define HARK_LITTLE64(v) (v)
#endif

static inline void hark_put16(uint8_t *b, uint16_t v)
{
    v = HARK_LITTLE16(v);
    hark_copy(b, &v, 2);
}

static inline void hark_put32(uint8_t *b, uint32_t v)
{
    v = HARK_LITTLE32(v);
    hark_copy(b, &v, 4);
}

static inline void hark_put64(uint8_t *b, uint64_t v)
{
    v = HARK_LITTLE64(v);
    hark_copy(b, &v, 8);
}

static inline uint16_t hark_get16(const uint8_t *b)
{
    uint16_t v;
    hark_copy(&v, b, 2);
    return HARK_LITTLE16(v);
}

static inline uint32_t hark_get32(const uint8_t *b)
{
    uint32_t v;
    hark_copy(&v, b, 4);
    return HARK_LITTLE32(v);
}

static inline uint64_t hark_get64(const uint8_t *b)
{
    uint64_t v;
    hark_copy(&v, b, 8);
    return HARK_LITTLE64(v);
}

/* Converts a head between the two byte orders: a no-op on little-endian machines. */
static inline void hark_head_turn(struct hark_head *h)
{
    h->ctx = HARK_LITTLE16(h->ctx);
    h->src = HARK_LITTLE32(h->src);
    h->dst = HARK_LITTLE32(h->dst);
    h->src_inc = HARK_LITTLE32(h->src_inc);
    h->dst_inc = HARK_LITTLE32(h->dst_inc);
    h->re = HARK_LITTLE32(h->re);
    h->ssn = HARK_LITTLE64(h->ssn);
}

/* Writes HARK_WIRE_HEAD bytes. */
HARK_HOT void hark_head_put(uint8_t *b, const struct hark_head *h)
{
    struct hark_head x = *h;
    hark_head_turn(&x);
    hark_copy(b, &x, HARK_WIRE_HEAD);
}

/* Reads the common part; HARK_EFRAME if the header is too short or of another protocol. */
HARK_HOT int hark_head_get(struct hark_head *h, struct hark_bytes from, uint16_t kind)
{
    const uint8_t *b = from.at;
    if (from.length < HARK_WIRE_HEAD || b == NULL || b[0] != (uint8_t)kind) return HARK_EFRAME;
    hark_copy(h, b, HARK_WIRE_HEAD);
    hark_head_turn(h);
    return HARK_OK;
}

#ifdef __cplusplus
}
#endif
#endif
