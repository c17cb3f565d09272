/* Cores of each protocol under any events in any order: see world.h for what is asked of them. */
#include "play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world w = {.c = {data, size}};
    uint8_t which = choose(&w.c);
    world_open(&w, which, choose(&w.c));
    play(&w);
    world_close(&w);
    return 0;
}
