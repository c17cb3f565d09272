/* Declarations only, the bodies from libhark; mixed in one program with a header-only part and one
 * in C++. */
#define HARK_LINK
#include "hark_headers.h"

#include <stdio.h>
#include <string.h>

const struct hark_protocol *header_only_protocol(const char *name);
const struct hark_protocol *cpp_protocol(const char *name);

/* One state through both copies: made by the linked one, stepped by the others, packed alike. */
int main(void)
{
    static union {
        struct hark head;
        unsigned char bytes[16384];
    } block[3];
    static unsigned char pack[3][16384];
    struct hark_effect at[64];
    static uint8_t bytes[65536];
    struct hark_effects fx = {.at = at, .room = 64, .bytes = bytes, .bytes_room = sizeof bytes};
    struct hark_config c = {.me = 0, .ranks = 2};
    const struct hark_protocol *p[3] = {
        hark_protocol_named("hydee"), header_only_protocol("hydee"), cpp_protocol("hydee")};
    uint64_t length[3];
    for (int i = 0; i < 3; i++) {
        struct hark_event e = {.type = HARK_SEND};
        e.u.send.peer = 1;
        e.u.send.length = 8;
        if (p[i] == NULL || (i && p[i] == p[0])) return printf("not a copy of its own: %d\n", i), 1;
        if (p[i]->init(&block[i].head, sizeof block[i], &c) != HARK_OK)
            return printf("init %d\n", i), 1;
        if (p[(i + 1) % 3]->step(&block[i].head, &e, &fx) != HARK_OK || fx.count != 2)
            return printf("step %d\n", i), 1;
        length[i] = hark_pack(&block[i].head, p[i]->shape, pack[i], sizeof pack[i]);
        if (length[i] != length[0] || memcmp(pack[i], pack[0], length[0]) != 0)
            return printf("pack %d\n", i), 1;
    }
    printf("3 passed, 0 failed\n");
    return 0;
}
