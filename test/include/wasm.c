/* Floors 1 and 2 as they run in a browser: freestanding, no library, wasm32. */
#include "hark_floors_1_2.h"

static union {
    struct hark head;
    unsigned char bytes[16384];
} block;
static struct hark_effect at[64];
static uint8_t bytes[65536];

/* clang may make calls of these even when freestanding. */
void *memcpy(void *to, const void *from, unsigned long n);
void *memset(void *to, int c, unsigned long n);
void *memmove(void *to, const void *from, unsigned long n);
void *memcpy(void *to, const void *from, unsigned long n)
{
    unsigned char *a = to;
    const unsigned char *b = from;
    while (n--) *a++ = *b++;
    return to;
}
void *memset(void *to, int c, unsigned long n)
{
    unsigned char *a = to;
    while (n--) *a++ = (unsigned char)c;
    return to;
}
void *memmove(void *to, const void *from, unsigned long n)
{
    unsigned char *a = to;
    const unsigned char *b = from;
    if (a < b) return memcpy(to, from, n);
    while (n--) a[n] = b[n];
    return to;
}

/* Effects of a first send under `protocol`: 2 for hydee (TRANSMIT, RETAIN). 0: it runs no programs;
 * -1: there are no more protocols; less: it fails. */
__attribute__((export_name("first_send"))) int first_send(int protocol);
int first_send(int protocol)
{
    struct hark_effects fx = {.at = at, .room = 64, .bytes = bytes, .bytes_room = sizeof bytes};
    struct hark_config c = {.me = 0, .ranks = 2};
    struct hark_event e = {.type = HARK_SEND};
    const struct hark_protocol *p = hark_protocol_at((unsigned)protocol);
    e.u.send.peer = 1;
    if (p == 0) return -1;
    if (!hark_protocol_runs(p)) return 0;
    if (p->init(&block.head, sizeof block, &c) != HARK_OK) return -2;
    return p->step(&block.head, &e, &fx) == HARK_OK ? (int)fx.count : -3;
}
