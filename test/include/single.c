/* The one header alone, without the others in reach: two processes in two clusters, a message, its
 * copy in the log. */
#include "hark_single.h"
#include "hark_single.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static struct hark *make(uint32_t me)
{
    struct hark_range mine = {me, me};
    struct hark_config c = {.me = me, .ranks = 2, .cluster = &mine, .cluster_count = 1};
    struct hark *p = calloc(1, 1 << 20);
    return p && hark_hydee_init(p, 1 << 20, &c) == HARK_OK ? p : NULL;
}

int main(void)
{
    static uint8_t bytes[1 << 16];
    struct hark_effect at[64];
    struct hark_effects fx = {.at = at, .room = 64, .bytes = bytes, .bytes_room = sizeof bytes};
    struct hark *a = make(0), *b = make(1);
    struct hark_event send = {.type = HARK_SEND}, arrive = {.type = HARK_ARRIVE};
    send.u.send.peer = 1;
    send.u.send.length = 8;
    if (a == NULL || b == NULL || hark_step(a, &send, &fx) != HARK_OK || fx.count != 2) return 1;
    if (at[0].type != HARK_TRANSMIT || at[1].type != HARK_RETAIN) return 1;
    arrive.u.frame.header = at[0].u.transmit.header;
    if (hark_step(b, &arrive, &fx) != HARK_OK || fx.count != 1 || at[0].type != HARK_HANDUP)
        return 1;
    free(a);
    free(b);
    puts("one header is enough");
    return 0;
}
