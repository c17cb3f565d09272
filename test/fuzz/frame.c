/* A frame off the wire, as it is: the decoders themselves (decode.c), and every protocol's way to
 * them. */
#include "play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > HARK_HEADER_MAX) return 0;
    uint8_t *copy = exactly(data, size);
    decode(copy, (uint32_t)size, WORLD_RANKS);
    free(copy);
    for (uint8_t which = 0; which < 7; which++) {
        struct world w = {0};
        struct hark_event send = {.type = HARK_SEND};
        world_open(&w, which, 1);
        for (send.u.send.peer = 0; send.u.send.peer < WORLD_RANKS; send.u.send.peer++)
            world_step(&w, 1, &send);
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
