/* Channels without sockets: what happens to bytes that an attacker has changed, kept or made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/agent/channel.h"

static const uint8_t key[HARK_CHANNEL_KEY] = "the key", other_key[HARK_CHANNEL_KEY] = "another";

struct bytes {
    uint8_t at[700];
    size_t length;
};

/* Puts bytes into a channel, as many as it takes at a time, until it has something to say. */
static enum hark_channel_event put(
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

static void keep(struct bytes *b, const uint8_t *at, size_t length)
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
static unsigned pass(struct ends *e, bool to_caller, const struct change *change)
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

static void shake(struct ends *e, const struct change *change, const uint8_t *key_of_listener)
{
    memset(e, 0, sizeof *e);
    hark_channel_open(&e->caller, true, key);
    hark_channel_open(&e->listener, false, key_of_listener);
    while (pass(e, true, change) + pass(e, false, change) > 0) continue;
}

static void end(struct ends *e)
{
    hark_channel_close(&e->caller);
    hark_channel_close(&e->listener);
}

static void a_handshake(void **state)
{
    (void)state;
    struct ends e;
    shake(&e, NULL, key);
    assert_true(e.caller_open && e.listener_open);
    assert_int_equal(e.of_caller.length, HARK_CHANNEL_HELLO + HARK_CHANNEL_PROOF);
    assert_int_equal(e.of_listener.length, HARK_CHANNEL_ANSWER + HARK_CHANNEL_WELCOME);
    static const uint8_t none[32];
    assert_memory_equal(e.caller.key, none, 32);
    assert_memory_equal(e.listener.key, none, 32);
    assert_memory_equal(e.caller.secret, none, 32);
    assert_memory_equal(e.listener.secret, none, 32);
    /* a stream's key is of this connection and of this direction */
    assert_memory_equal(&e.caller.out, &e.listener.in, sizeof e.caller.out);
    assert_memory_equal(&e.caller.in, &e.listener.out, sizeof e.caller.out);
    assert_memory_not_equal(e.caller.in.k, e.caller.out.k, sizeof e.caller.in.k);
    uint8_t k[sizeof e.caller.out.k];
    memcpy(k, e.caller.out.k, sizeof k);
    end(&e);
    shake(&e, NULL, key);
    assert_memory_not_equal(k, e.caller.out.k, sizeof k);
    end(&e);
}

static void another_key(void **state)
{
    (void)state;
    struct ends e;
    shake(&e, NULL, other_key);
    assert_false(e.caller_open || e.listener_open);
    assert_string_equal(e.caller.why, "the other end has another key");
    assert_int_equal(e.of_caller.length, HARK_CHANNEL_HELLO); /* no more is said to such a one */
    end(&e);
}

/* What one says is no answer to itself, nor is what it has said in the other role. */
static void sent_back(void **state)
{
    (void)state;
    struct ends e;
    const uint8_t *at, *from;
    uint8_t said[HARK_CHANNEL_ANSWER];
    size_t length, left;
    memset(&e, 0, sizeof e);
    hark_channel_open(&e.caller, true, key);
    assert_int_equal(hark_channel_next(&e.caller, &at, &length), HARK_CHANNEL_REPLY);
    memcpy(said, at, length);
    memset(said + length, 0, HARK_CHANNEL_SEAL);
    from = said;
    left = sizeof said;
    assert_int_equal(put(&e.caller, &from, &left, &at, &length), HARK_CHANNEL_FAILED);
    hark_channel_open(&e.listener, false, key);
    from = said;
    left = HARK_CHANNEL_HELLO;
    assert_int_equal(put(&e.listener, &from, &left, &at, &length), HARK_CHANNEL_REPLY);
    memcpy(said, at, length);
    from = said + HARK_CHANNEL_ANSWER - HARK_CHANNEL_PROOF; /* its seal as that of a proof */
    left = HARK_CHANNEL_PROOF;
    assert_int_equal(put(&e.listener, &from, &left, &at, &length), HARK_CHANNEL_FAILED);
    end(&e);
}

/* Whatever bit of a handshake is changed, the caller never opens; and the listener does only if all
 * that it has heard and said so far was right. */
static void each_bit_of_a_handshake_changed(void **state)
{
    (void)state;
    struct ends e;
    for (int of_caller = 0; of_caller < 2; of_caller++) {
        size_t length = of_caller ? HARK_CHANNEL_HELLO + HARK_CHANNEL_PROOF
                                  : HARK_CHANNEL_ANSWER + HARK_CHANNEL_WELCOME;
        for (size_t at = 0; at < length; at++) {
            for (unsigned bit = 0; bit < 8; bit++) {
                const struct change change = {of_caller, at, (uint8_t)(1u << bit)};
                shake(&e, &change, key);
                if (e.caller_open) fail_msg("opened: bit %u of byte %zu", bit, at);
                bool late = !of_caller && at >= HARK_CHANNEL_ANSWER;
                assert_int_equal(e.listener_open, late);
                assert_true(e.caller.why[0] || (of_caller && e.listener.why[0]));
                end(&e);
            }
        }
    }
}

/* A public key with which anybody knows the secret of both, from somebody who has the key. */
static void a_public_key_that_is_none(void **state)
{
    (void)state;
    struct ends e;
    memset(&e, 0, sizeof e);
    hark_channel_open(&e.caller, true, key);
    hark_channel_open(&e.listener, false, key);
    (void)pass(&e, true, NULL);
    (void)pass(&e, false, NULL);
    memset(e.listener.theirs, 0, sizeof e.listener.theirs);
    (void)pass(&e, true, NULL);
    (void)pass(&e, false, NULL);
    assert_false(e.listener_open);
    assert_string_equal(e.listener.why, "the other end has no proper public key");
    end(&e);
}

static void other_versions_and_protocols(void **state)
{
    (void)state;
    static const struct {
        const char *said;
        size_t length;
        bool answered;
        const char *why;
    } try[] = {{"hark\2", 5, true, "the other end speaks another version, 2, and this one 1"},
        {"hark\2and more", 13, true, "the other end speaks another version, 2, and this one 1"},
        {"GET / HTTP/1.1", 14, false, "the other end does not speak hark's protocol"},
        {"G", 1, false, "the other end does not speak hark's protocol"},
        {"har\n", 4, false, "the other end does not speak hark's protocol"}};
    for (size_t i = 0; i < sizeof try / sizeof try[0]; i++) {
        for (int caller = 0; caller < 2; caller++) {
            struct hark_channel c;
            const uint8_t *from = (const uint8_t *)try[i].said, *at;
            size_t left = try[i].length, length;
            hark_channel_open(&c, caller, key);
            if (caller) assert_int_equal(hark_channel_next(&c, &at, &length), HARK_CHANNEL_REPLY);
            enum hark_channel_event event = put(&c, &from, &left, &at, &length);
            if (try[i].answered && !caller) {
                assert_int_equal(event, HARK_CHANNEL_REPLY);
                assert_int_equal(length, HARK_CHANNEL_START);
                assert_memory_equal(at, "hark\1", HARK_CHANNEL_START);
                event = hark_channel_next(&c, &at, &length);
            }
            assert_int_equal(event, HARK_CHANNEL_FAILED);
            assert_string_equal(c.why, try[i].why);
            hark_channel_close(&c);
        }
    }
}

/* ---- streams --------------------------------------------------------------------------------- */

enum { FEW = 4 };
static const struct {
    const char *at;
    size_t length;
} few[FEW] = {{"a", 1}, {"the second message", 18}, {"x", 1}, {"the last one of them", 20}};

/* Four messages and the end. */
static size_t say_few(struct hark_channel *c, uint8_t *to)
{
    size_t length = 0;
    for (int i = 0; i <= FEW; i++) {
        size_t n = i < FEW ? few[i].length : 0;
        hark_channel_say(c, i < FEW ? few[i].at : NULL, n, to + length);
        length += hark_channel_size(n);
    }
    return length;
}

/* How many of the four come, and what comes then. The channel is used up. */
static int hear(
    struct hark_channel c, const uint8_t *from, size_t left, enum hark_channel_event *last)
{
    for (int i = 0;; i++) {
        const uint8_t *at;
        size_t length;
        *last = put(&c, &from, &left, &at, &length);
        if (*last != HARK_CHANNEL_SAID) {
            hark_channel_close(&c);
            return i;
        }
        assert_true(i < FEW);
        assert_int_equal(length, few[i].length);
        assert_memory_equal(at, few[i].at, length);
    }
}

/* A wrong message is never given; what came before the change is. */
static void each_bit_of_a_stream_changed(void **state)
{
    (void)state;
    struct ends e;
    enum hark_channel_event last;
    uint8_t b[300];
    shake(&e, NULL, key);
    size_t length = say_few(&e.caller, b);
    assert_int_equal(hear(e.listener, b, length, &last), FEW);
    assert_int_equal(last, HARK_CHANNEL_ENDED);
    for (size_t at = 0, begin = 0, record = 0; at < length; at++) {
        if (at == begin + hark_channel_size(record < FEW ? few[record].length : 0)) {
            begin = at;
            record++;
        }
        for (unsigned bit = 0; bit < 8; bit++) {
            b[at] ^= (uint8_t)(1u << bit);
            assert_int_equal(hear(e.listener, b, length, &last), record);
            /* a length that is larger waits for bytes that never come: then it is cut */
            if (at >= begin + 4) assert_int_equal(last, HARK_CHANNEL_FAILED);
            else assert_true(last == HARK_CHANNEL_FAILED || last == HARK_CHANNEL_MORE);
            b[at] ^= (uint8_t)(1u << bit);
        }
    }
    end(&e);
}

/* What is cut anywhere has not ended. */
static void each_length_of_a_stream(void **state)
{
    (void)state;
    struct ends e;
    enum hark_channel_event last;
    uint8_t b[300];
    shake(&e, NULL, key);
    size_t length = say_few(&e.caller, b);
    for (size_t cut = 0; cut < length; cut++) {
        assert_true(hear(e.listener, b, cut, &last) <= FEW);
        assert_int_equal(last, HARK_CHANNEL_MORE);
    }
    end(&e);
}

/* Records that are lost, come twice, in another order, from the other direction or from another
 * connection. */
static void records_of_elsewhere(void **state)
{
    (void)state;
    struct ends e, f;
    enum hark_channel_event last;
    uint8_t b[300], more[300];
    shake(&e, NULL, key);
    shake(&f, NULL, key);
    struct hark_channel copy = e.caller;
    size_t length = say_few(&copy, b), first = hark_channel_size(few[0].length),
           second = hark_channel_size(few[1].length);
    assert_int_equal(hear(e.listener, b + first, length - first, &last), 0);
    assert_int_equal(last, HARK_CHANNEL_FAILED);
    memcpy(more, b, first);
    memcpy(more + first, b, length);
    assert_int_equal(hear(e.listener, more, first + length, &last), 1);
    assert_int_equal(last, HARK_CHANNEL_FAILED);
    memcpy(more, b + first, second);
    memcpy(more + second, b, first);
    assert_int_equal(hear(e.listener, more, first + second, &last), 0);
    assert_int_equal(last, HARK_CHANNEL_FAILED);
    assert_int_equal(hear(e.caller, b, length, &last), 0); /* sent back to who said it */
    assert_int_equal(last, HARK_CHANNEL_FAILED);
    assert_int_equal(hear(f.listener, b, length, &last), 0);
    assert_int_equal(last, HARK_CHANNEL_FAILED);
    end(&e);
    end(&f);
}

/* Who has the key and breaks the protocol: records that no honest end makes. */
static void records_that_are_improper(void **state)
{
    (void)state;
    static const struct {
        unsigned char tag;
        size_t length;
    } try[] = {{crypto_secretstream_xchacha20poly1305_TAG_MESSAGE, 0},
        {crypto_secretstream_xchacha20poly1305_TAG_MESSAGE, 100},
        {crypto_secretstream_xchacha20poly1305_TAG_PUSH, 0},
        {crypto_secretstream_xchacha20poly1305_TAG_REKEY, 1},
        {crypto_secretstream_xchacha20poly1305_TAG_FINAL, 1}};
    struct ends e;
    uint8_t text[100] = {0}, b[200];
    enum hark_channel_event last;
    shake(&e, NULL, key);
    for (size_t i = 0; i < sizeof try / sizeof try[0]; i++) {
        struct hark_channel out = e.caller;
        uint8_t length[4] = {(uint8_t)try[i].length};
        memcpy(b, length, 4);
        (void)crypto_secretstream_xchacha20poly1305_push(
            &out.out, b + 4, NULL, text, try[i].length, length, 4, try[i].tag);
        assert_int_equal(hear(e.listener, b, hark_channel_size(try[i].length), &last), 0);
        assert_int_equal(last, HARK_CHANNEL_FAILED);
    }
    end(&e);
}

/* A message of 16 MiB comes; one byte more, and it does not. */
static void the_longest(void **state)
{
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        struct ends e;
        size_t length = HARK_CHANNEL_MESSAGE + more, size = hark_channel_size(length), n;
        uint8_t *text = calloc(1, length), *b = malloc(size);
        assert_true(text && b);
        text[0] = 'a';
        text[HARK_CHANNEL_MESSAGE - 1] = 'z';
        shake(&e, NULL, key);
        hark_channel_say(&e.caller, text, length, b);
        const uint8_t *from = b, *at;
        size_t left = size;
        enum hark_channel_event event = put(&e.listener, &from, &left, &at, &n);
        assert_int_equal(event, more ? HARK_CHANNEL_FAILED : HARK_CHANNEL_SAID);
        if (!more) {
            assert_int_equal(n, length);
            assert_memory_equal(at, text, length);
            assert_int_equal(hark_channel_next(&e.listener, &at, &n), HARK_CHANNEL_MORE);
            assert_null(e.listener.message); /* it is not kept for those to come */
        }
        end(&e);
        free(text);
        free(b);
    }
}

/* A stranger costs what is in the structure, and a length that nobody has proved costs nothing. */
static void memory_of_strangers(void **state)
{
    (void)state;
    struct ends e;
    size_t room, length;
    const uint8_t *at, *from;
    hark_channel_open(&e.listener, false, key);
    assert_true(sizeof e.listener < 700);
    (void)hark_channel_room(&e.listener, &room);
    assert_int_equal(room, HARK_CHANNEL_HELLO);
    assert_null(e.listener.buffer);
    hark_channel_close(&e.listener);
    shake(&e, NULL, key);
    from = (const uint8_t *)"\0\0\1"; /* 64 KiB are to come */
    size_t left = 4;
    assert_int_equal(put(&e.listener, &from, &left, &at, &length), HARK_CHANNEL_MORE);
    assert_null(e.listener.message);
    from = (const uint8_t *)"\1\0\1"; /* and a byte */
    left = 4;
    hark_channel_close(&e.listener);
    end(&e);
    shake(&e, NULL, key);
    assert_int_equal(put(&e.listener, &from, &left, &at, &length), HARK_CHANNEL_FAILED);
    end(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_handshake), cmocka_unit_test(another_key),
        cmocka_unit_test(sent_back), cmocka_unit_test(each_bit_of_a_handshake_changed),
        cmocka_unit_test(a_public_key_that_is_none), cmocka_unit_test(other_versions_and_protocols),
        cmocka_unit_test(each_bit_of_a_stream_changed), cmocka_unit_test(each_length_of_a_stream),
        cmocka_unit_test(records_of_elsewhere), cmocka_unit_test(records_that_are_improper),
        cmocka_unit_test(the_longest), cmocka_unit_test(memory_of_strangers)};
    if (sodium_init() < 0) return 1;
    return cmocka_run_group_tests_name("channels", tests, NULL, NULL);
}
