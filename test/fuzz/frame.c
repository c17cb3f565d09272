/* A frame off the wire, as it is: the decoders themselves, and every protocol's way to them. */
#include "play.h"

/* What is read is what was written. */
static void decode(const uint8_t *b, uint32_t length)
{
    struct hark_head h;
    struct hark_det x;
    uint8_t again[HARK_WIRE_HEAD], varint[10];
    uint64_t v;
    if (hark_head_get(&h, (struct hark_bytes){b, length}, length ? b[0] : 0) == HARK_OK) {
        hark_head_put(again, &h);
        if (memcmp(again, b, sizeof again) != 0) finding("a head is written otherwise than it was read");
    } else if (length >= HARK_WIRE_HEAD) {
        finding("a head is refused");
    }
    uint32_t n = hark_varint_get(b, length, &v);
    if (n > length || (n && hark_varint_put(varint, v) > n)) finding("a varint is written longer than it was read");
    for (uint32_t k = 1; k <= HARK_DET_HOLDERS; k++) {
        if (length < hark_det_bytes(k) || !hark_det_read(&x, b, WORLD_RANKS, k)) continue;
        if (x.creator >= WORLD_RANKS || x.rsn == 0 || x.holders > k) finding("a determinant that is none");
    }
    if (hark_past_valid(b, length, WORLD_RANKS) && length > 15 * WORLD_RANKS + HARK_PAST_FIXED + 30)
        finding("a past with more entries than ranks");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > HARK_HEADER_MAX) return 0;
    uint8_t *copy = exactly(data, size);
    decode(copy, (uint32_t)size);
    free(copy);
    for (uint8_t which = 0; which < 7; which++) {
        struct world w = {0};
        struct hark_event send = {.type = HARK_SEND};
        world_open(&w, which, 1);
        for (send.u.send.peer = 0; send.u.send.peer < WORLD_RANKS; send.u.send.peer++) world_step(&w, 1, &send);
        for (uint32_t who = 0; who < WORLD_WHO; who++) {
            world_frame_step(&w, who, HARK_ARRIVE, data, (uint32_t)size);
            world_frame_step(&w, who, HARK_DELIVER, data, (uint32_t)size);
        }
        if (which > 1) world_fail(&w, 0);
        world_told(&w, 1);
        world_frame_step(&w, 1, HARK_ARRIVE, data, (uint32_t)size);
        world_close(&w);
    }
    return 0;
}
