/* Streams of a channel: what happens to records that an attacker has changed, kept or made. */
#include "ends.h"

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
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_bit_of_a_stream_changed),
        cmocka_unit_test(each_length_of_a_stream), cmocka_unit_test(records_of_elsewhere),
        cmocka_unit_test(records_that_are_improper), cmocka_unit_test(the_longest),
        cmocka_unit_test(memory_of_strangers)};
    if (sodium_init() < 0) return 1;
    return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}
