/* ends.h: both ends of a channel, without a socket between them. */
#ifndef HARK_TEST_AGENT_ENDS_H
#define HARK_TEST_AGENT_ENDS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/agent/channel.h"

static const uint8_t key[HARK_CHANNEL_KEY] = "the key";

struct bytes {
    uint8_t at[700];
    size_t length;
};

/* Puts bytes into a channel, as many as it takes at a time, until it has something to say. */
static inline enum hark_channel_event put(
    struct hark_channel *c, const uint8_t **from, size_t *left, const uint8_t **at, size_t *length)
{
    for (;;) {
        size_t room;
        enum hark_channel_event event = hark_channel_next(c, at, length);
        if (event != HARK_CHANNEL_MORE || *left == 0) return event;
        uint8_t *to = hark_channel_room(c, &room);
        assert_non_null(to);
        assert_true(room > 0);
        if (room > *left) room = *left;
        memcpy(to, *from, room);
        hark_channel_came(c, room);
        *from += room;
        *left -= room;
    }
}

static inline void keep(struct bytes *b, const uint8_t *at, size_t length)
{
    assert_true(b->length + length <= sizeof b->at);
    memcpy(b->at + b->length, at, length);
    b->length += length;
}

/* Who is changed at which byte, and how. */
struct change {
    bool of_caller;
    size_t at;
    uint8_t bits;
};

struct ends {
    struct hark_channel caller, listener;
    bool caller_open, listener_open;
    size_t taken[2];                     /* of what each has said: listener, caller */
    struct bytes of_caller, of_listener; /* what each has said in the handshake */
};

/* What one says goes to the other, until nothing moves. Returns how often something moved. */
static inline unsigned pass(struct ends *e, bool to_caller, const struct change *change)
{
    struct hark_channel *c = to_caller ? &e->caller : &e->listener;
    struct bytes *said = to_caller ? &e->of_caller : &e->of_listener;
    struct bytes *heard = to_caller ? &e->of_listener : &e->of_caller;
    size_t *taken = &e->taken[to_caller];
    uint8_t b[sizeof heard->at];
    size_t left = heard->length - *taken, length;
    memcpy(b, heard->at + *taken, left);
    if (change && change->of_caller == !to_caller && change->at >= *taken &&
        change->at < heard->length)
        b[change->at - *taken] ^= change->bits;
    *taken = heard->length;
    const uint8_t *from = b, *at;
    for (unsigned moved = 0;; moved++) {
        switch (put(c, &from, &left, &at, &length)) {
        case HARK_CHANNEL_REPLY: keep(said, at, length); break;
        case HARK_CHANNEL_OPENED: *(to_caller ? &e->caller_open : &e->listener_open) = true; break;
        case HARK_CHANNEL_MORE: return moved;
        case HARK_CHANNEL_FAILED: return moved;
        default: fail_msg("a message in a handshake");
        }
    }
}

static inline void shake(
    struct ends *e, const struct change *change, const uint8_t *key_of_listener)
{
    memset(e, 0, sizeof *e);
    hark_channel_open(&e->caller, true, key);
    hark_channel_open(&e->listener, false, key_of_listener);
    while (pass(e, true, change) + pass(e, false, change) > 0) continue;
}

static inline void end(struct ends *e)
{
    hark_channel_close(&e->caller);
    hark_channel_close(&e->listener);
}

#endif
