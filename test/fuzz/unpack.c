/* Any bytes as the packed form of a core, and then steps on what was accepted. The input: two
 * choices of world_open(), one of the core, u16 length of the image, the image, and choices for
 * what happens then. */
#include "play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t again[WORLD_BLOCK_MOST];
    struct world w = {.c = {data, size}, .endless = true};
    uint8_t which = choose(&w.c);
    world_open(&w, which, choose(&w.c));
    uint8_t whose = choose(&w.c);
    uint32_t who = whose % world_processes(&w), length = (uint32_t)choose_bytes(&w.c, 2);
    if (length > w.c.left) length = (uint32_t)w.c.left;
    uint8_t *image = exactly(w.c.at, length);
    w.c.at += length;
    w.c.left -= length;
    struct world_core *x = &w.core[who];
    int status;
    if (whose & 0x80) {
        struct hark_event e = {.type = HARK_RESTARTED};
        e.u.restarted.checkpoint = 1;
        e.u.restarted.re = e.u.restarted.inc = w.re = w.inc[who] = 1;
        e.u.restarted.image = (struct hark_bytes){image, length};
        status = world_step(&w, who, &e);
    } else {
        status = world_unpack(&w, x, (struct hark_bytes){image, length});
        if (status >= 0 && (hark_pack(x->p, x->protocol->shape, again, sizeof again) != length ||
                               memcmp(again, image, length) != 0))
            finding("%s: packs other bytes than those it unpacked", x->protocol->name);
    }
    free(image);
    if (status >= 0) play(&w);
    world_close(&w);
    return 0;
}
