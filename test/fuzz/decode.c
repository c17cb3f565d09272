/* The decoders of parts of frames, for frame.c: what they are made of is compiled here, without the
 * protocols. */
#undef HARK_LINK
#include "fuzz.h"
#include "hark/causal/determinant.h"
#include "hark/recovery/past.h"

/* What is read is what was written. */
void decode(const uint8_t *b, uint32_t length, uint32_t ranks)
{
    struct hark_head h;
    struct hark_det x;
    uint8_t again[HARK_WIRE_HEAD], varint[10];
    uint64_t v;
    if (hark_head_get(&h, (struct hark_bytes){b, length}, length ? b[0] : 0) == HARK_OK) {
        hark_head_put(again, &h);
        if (memcmp(again, b, sizeof again) != 0)
            finding("a head is written otherwise than it was read");
    } else if (length >= HARK_WIRE_HEAD) {
        finding("a head is refused");
    }
    uint32_t n = hark_varint_get(b, length, &v);
    if (n > length || (n && hark_varint_put(varint, v) > n))
        finding("a varint is written longer than it was read");
    for (uint32_t k = 1; k <= HARK_DET_HOLDERS; k++) {
        if (length < hark_det_bytes(k) || !hark_det_read(&x, b, ranks, k)) continue;
        if (x.creator >= ranks || x.rsn == 0 || x.holders > k)
            finding("a determinant that is none");
    }
    if (hark_past_valid(b, length, ranks) && length > 15 * ranks + HARK_PAST_FIXED + 30)
        finding("a past with more entries than ranks");
}
