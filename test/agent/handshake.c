/* Handshakes without sockets: what happens to bytes that an attacker has changed, kept or made. */
#include "ends.h"

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
    static const uint8_t other_key[HARK_CHANNEL_KEY] = "another";
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_handshake), cmocka_unit_test(another_key),
        cmocka_unit_test(sent_back), cmocka_unit_test(each_bit_of_a_handshake_changed),
        cmocka_unit_test(a_public_key_that_is_none),
        cmocka_unit_test(other_versions_and_protocols)};
    if (sodium_init() < 0) return 1;
    return cmocka_run_group_tests_name("handshakes", tests, NULL, NULL);
}
