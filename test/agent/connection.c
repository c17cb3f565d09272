/* Messages over real sockets: sizes, waiting, ends. */
#include "world.h"

/* Both ways, and each comes once, whole and in order. */
static void messages_of_all_sizes(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 17, 4095, 65535, 65536, 65537, 131072, 131073, 1000000,
        HARK_CONNECTION_MESSAGE - 1, HARK_CONNECTION_MESSAGE};
    enum { COUNT = sizeof sizes / sizeof sizes[0] };
    uint8_t *b = some_bytes(HARK_CONNECTION_MESSAGE + 1);
    struct world w;
    world_open(&w);
    world_meet(&w);
    uint64_t sum = 0, bytes = 0;
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(hark_connection_say(w.caller.c, b + i, sizes[i]), 0);
        assert_int_equal(hark_connection_say(w.called.c, b + i, sizes[i]), 0);
        bytes += sizes[i];
        sum = sum_of(sum, b + i, sizes[i]);
    }
    until(&w, w.caller.messages == COUNT && w.called.messages == COUNT);
    assert_int_equal(w.caller.bytes, bytes);
    assert_int_equal(w.called.bytes, bytes);
    assert_true(w.caller.sum == sum && w.called.sum == sum);
    assert_int_equal(hark_connection_say(w.caller.c, b, 0), -EINVAL);
    assert_int_equal(hark_connection_say(w.caller.c, b, HARK_CONNECTION_MESSAGE + 1), -EINVAL);
    world_close(&w);
    free(b);
}

static void many_small_ones(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    struct world w;
    world_open(&w);
    world_meet(&w);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(hark_connection_say(w.caller.c, &i, sizeof i), 0);
        sum = sum_of(sum, (const uint8_t *)&i, sizeof i);
    }
    until(&w, w.called.messages == COUNT);
    assert_true(w.called.sum == sum);
    world_close(&w);
}

static void an_orderly_end(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    world_meet(&w);
    uint8_t *b = some_bytes(3000000);
    assert_int_equal(hark_connection_say(w.caller.c, b, 3000000), 0);
    hark_connection_close(w.caller.c, true);
    w.caller.c = NULL;
    until(&w, w.called.closed);
    assert_string_equal(w.called.why, HARK_CONNECTION_ENDED);
    assert_int_equal(w.called.messages, 1);
    assert_int_equal(w.caller.closed, 0);
    world_close(&w);
    free(b);
}

static void a_cut(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    world_meet(&w);
    hark_connection_close(w.called.c, false);
    w.called.c = NULL;
    until(&w, w.caller.closed);
    assert_string_equal(w.caller.why, "it was cut");
    world_close(&w);
}

static void addresses(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    world_meet(&w);
    assert_string_equal(hark_connection_our_address(w.caller.c), "127.0.0.1");
    assert_string_equal(hark_connection_their_address(w.called.c), "127.0.0.1");
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(messages_of_all_sizes),
        cmocka_unit_test(many_small_ones), cmocka_unit_test(an_orderly_end),
        cmocka_unit_test(a_cut), cmocka_unit_test(addresses)};
    return cmocka_run_group_tests_name("connections", tests, NULL, NULL);
}
