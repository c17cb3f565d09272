/* channel.c: the streams of a channel: messages into records and back. */
#include "channel.h"

#include <stdlib.h>
#include <string.h>

enum { RECORD = HARK_CHANNEL_RECORD, AROUND = HARK_CHANNEL_AROUND };
enum { LENGTH = 4, TAGGED = crypto_secretstream_xchacha20poly1305_ABYTES };
enum { BUFFER = 2 * (RECORD + AROUND) }; /* only what is used of it takes memory */
enum { KEPT = 4 * RECORD };              /* a longer message's memory is given back */

static const uint8_t tag_more = crypto_secretstream_xchacha20poly1305_TAG_MESSAGE;
static const uint8_t tag_last = crypto_secretstream_xchacha20poly1305_TAG_PUSH;
static const uint8_t tag_final = crypto_secretstream_xchacha20poly1305_TAG_FINAL;

static const char changed[] = "what came is not what the other end has sent";

static void put32(uint8_t *to, uint32_t v)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(v >> (8 * i));
}

static uint32_t get32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* ---- begin and end --------------------------------------------------------------------------- */

void hark_channel_open(struct hark_channel *c, bool caller, const uint8_t key[HARK_CHANNEL_KEY])
{
    memset(c, 0, sizeof *c);
    c->caller = caller;
    c->state = caller ? HARK_CHANNEL_WANT_ANSWER : HARK_CHANNEL_WANT_HELLO;
    memcpy(c->key, key, HARK_CHANNEL_KEY);
    if (caller) hark_channel_hello(c);
}

void hark_channel_close(struct hark_channel *c)
{
    free(c->buffer);
    free(c->message);
    sodium_memzero(c, sizeof *c);
    c->state = HARK_CHANNEL_OVER;
}

/* ---- in -------------------------------------------------------------------------------------- */

uint8_t *hark_channel_room(struct hark_channel *c, size_t *length)
{
    if (c->state != HARK_CHANNEL_STREAM) {
        *length = hark_channel_wanted(c) - c->got;
        return c->said + c->got;
    }
    if (c->buffer == NULL) c->buffer = malloc(BUFFER);
    if (c->buffer == NULL) return NULL;
    if (c->begin == c->end) c->begin = c->end = 0;
    if (c->begin > 0 && BUFFER - c->end < RECORD + AROUND) { /* part of one record is moved */
        memmove(c->buffer, c->buffer + c->begin, c->end - c->begin);
        c->end -= c->begin;
        c->begin = 0;
    }
    *length = BUFFER - c->end;
    return c->buffer + c->end;
}

void hark_channel_came(struct hark_channel *c, size_t length)
{
    if (c->state == HARK_CHANNEL_STREAM) c->end += length;
    else c->got = (uint16_t)(c->got + length);
}

/* So that `length` more bytes of a message fit, which need not be authentic. */
static bool make_room(struct hark_channel *c, size_t length)
{
    size_t needed = c->length + length, room = c->room ? c->room : 1024;
    if (c->message && needed <= c->room) return true;
    while (room < needed) room *= 2;
    uint8_t *more = realloc(c->message, room);
    if (more == NULL) return false;
    c->message = more;
    c->room = room;
    return true;
}

/* The message that was given is done with. */
static void let_go(struct hark_channel *c)
{
    if (!c->whole) return;
    c->whole = false;
    c->length = 0;
    if (c->room <= KEPT) return;
    free(c->message);
    c->message = NULL;
    c->room = 0;
}

/* What an authentic record may be. */
static bool is_proper(const struct hark_channel *c, uint8_t tag, size_t length)
{
    if (tag == tag_more) return length == RECORD;
    if (tag == tag_last) return length > 0;
    return tag == tag_final && length == 0 && c->length == 0;
}

/* Takes the record that comes next into the message, and says what it has ended; MORE: it is not
 * there yet, or it has ended nothing, which `another` tells apart. */
static enum hark_channel_event take_record(struct hark_channel *c, bool *another)
{
    size_t have = c->end - c->begin;
    unsigned char tag = tag_more;
    const char *why = NULL;
    *another = false;
    if (have < LENGTH) return HARK_CHANNEL_MORE;
    const uint8_t *at = c->buffer + c->begin;
    size_t length = get32(at);
    if (length <= RECORD && have < length + AROUND) return HARK_CHANNEL_MORE;
    if (length > RECORD) why = changed;
    else if (c->length + length > HARK_CHANNEL_MESSAGE) why = "a message is longer than any may be";
    else if (!make_room(c, length)) why = "no memory for a message";
    else if (crypto_secretstream_xchacha20poly1305_pull(&c->in, c->message + c->length, NULL, &tag,
                 at + LENGTH, length + TAGGED, at, LENGTH) != 0)
        why = changed;
    else if (!is_proper(c, tag, length)) why = "the other end breaks the protocol";
    if (why) {
        hark_channel_fail(c, why);
        return HARK_CHANNEL_FAILED;
    }
    c->begin += length + AROUND;
    c->length += length;
    *another = tag == tag_more;
    c->whole = !*another;
    if (tag == tag_final) c->state = HARK_CHANNEL_OVER;
    return *another ? HARK_CHANNEL_MORE : tag == tag_last ? HARK_CHANNEL_SAID : HARK_CHANNEL_ENDED;
}

enum hark_channel_event hark_channel_next(
    struct hark_channel *c, const uint8_t **at, size_t *length)
{
    enum hark_channel_event event;
    bool another;
    let_go(c);
    do {
        if (c->reply) {
            *at = c->said;
            *length = c->reply;
            c->reply = 0;
            return HARK_CHANNEL_REPLY;
        }
        if (c->opened) {
            c->opened = false;
            return HARK_CHANNEL_OPENED;
        }
        if (c->state == HARK_CHANNEL_OVER)
            return c->why[0] ? HARK_CHANNEL_FAILED : HARK_CHANNEL_ENDED;
    } while (c->state != HARK_CHANNEL_STREAM && hark_channel_shake(c));
    if (c->state != HARK_CHANNEL_STREAM) return HARK_CHANNEL_MORE;
    do event = take_record(c, &another);
    while (another);
    *at = c->message;
    *length = c->length;
    return event;
}

/* ---- out ------------------------------------------------------------------------------------- */

size_t hark_channel_size(size_t length)
{
    size_t records = length ? (length + RECORD - 1) / RECORD : 1;
    return length + records * AROUND;
}

void hark_channel_say(struct hark_channel *c, const void *at, size_t length, uint8_t *to)
{
    const uint8_t *from = at;
    size_t left = length, n;
    do {
        n = left < RECORD ? left : RECORD;
        left -= n;
        put32(to, (uint32_t)n);
        (void)crypto_secretstream_xchacha20poly1305_push(&c->out, to + LENGTH, NULL, from, n, to,
            LENGTH,
            length == 0 ? tag_final
            : left      ? tag_more
                        : tag_last);
        to += n + AROUND;
        if (n) from += n;
    } while (left);
}
