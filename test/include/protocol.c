/* One protocol's header alone, without the others in reach: a first message leaves, or a recovery
 * process begins. */
#include HEADER
#include HEADER

#include <stdio.h>
#include <string.h>

#define OF(protocol, what)  OF_(protocol, what)
#define OF_(protocol, what) hark_##protocol##_##what

int main(void)
{
    static union {
        struct hark head;
        unsigned char bytes[1 << 20];
    } block;
    static uint8_t bytes[1 << 16];
    struct hark_effect at[64];
    struct hark_effects fx = {.at = at, .room = 64, .bytes = bytes, .bytes_room = sizeof bytes};
    struct hark_config c = {.me = 0, .ranks = 2};
    struct hark_event send = {.type = HARK_SEND};
    const bool recovery = strcmp(OF(PROTOCOL, shape).name, "recovery") == 0;
    if (recovery) c = (struct hark_config){.me = HARK_RECOVERY, .ranks = 2};
    send.u.send.peer = 1;
    send.u.send.length = 8;
    if (OF(PROTOCOL, size)(&c) > sizeof block) return 1;
    if (OF(PROTOCOL, init)(&block.head, sizeof block, &c) != HARK_OK) return 1;
    if (OF(PROTOCOL, step)(&block.head, &send, &fx) != (recovery ? HARK_EINVAL : HARK_OK)) return 2;
    if (!recovery && (fx.count == 0 || at[0].type != HARK_TRANSMIT)) return 3;
    printf("%s is enough\n", HEADER);
    return 0;
}
