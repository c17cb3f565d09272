/* Every allocation of two ends of a connection failed in turn: it goes on, or both are told. */
#include "../agent/world.h"
#include "wrap.h"

enum { LENGTH = 300000, SMALL = 3 };

/* As the supervisor has it: without memory for its table of descriptors libuv ends the program. */
void *__real_realloc(void *old, size_t bytes);

static uint8_t *text;

static void say_all(struct end *e)
{
    int status = 0;
    for (int i = 0; i < SMALL && status == 0; i++)
        status = hark_connection_say(e->c, text + i, 100);
    if (status == 0) status = hark_connection_say(e->c, text, LENGTH);
    if (status == 0) return;
    assert_int_equal(status, -ENOMEM);
    hark_connection_close(e->c, false);
    e->c = NULL;
    e->closed++;
}

static void check(struct end *e, const uint8_t *at, size_t length)
{
    if (length == 100) assert_memory_equal(at, text + e->messages - 1, length);
    else assert_true(length == LENGTH && memcmp(at, text, length) == 0);
}

static bool is_over(const struct end *e)
{
    return e->closed || e->messages == SMALL + 1;
}

/* From the call to the end; with the n-th allocation, and all after it if `on`, failed. Returns how
 * many there are. */
static unsigned once(unsigned n, bool on, const char *host)
{
    struct world w;
    char error[200] = "", address[40];
    struct hark_connection *c;
    const unsigned before = descriptors();
    world_open(&w);
    w.called.config.handshake_ms = w.caller.config.handshake_ms = 300;
    w.called.on_opened = w.caller.on_opened = say_all;
    w.called.on_message = w.caller.on_message = check;
    fault_arm(FAULT_MEMORY, on ? FAULT_FAIL_ON : FAULT_FAIL, n, ENOMEM);
    int status = hark_listener_open(&w.listener, &w.called.config, "127.0.0.1", 0, error);
    if (status < 0) {
        w.listener = NULL;
        assert_int_equal(status, -ENOMEM);
        assert_non_null(strstr(error, "cannot listen"));
    } else {
        snprintf(address, sizeof address, "%s:%u", host, hark_listener_port(w.listener));
        status = hark_connection_begin(&c, &w.caller.config, address, error);
        if (status < 0) {
            assert_int_equal(status, -ENOMEM);
            assert_non_null(strstr(error, "memory"));
        } else {
            until(&w, is_over(&w.caller) && (is_over(&w.called) || !w.called.opened));
            until(&w,
                w.called.closed || w.caller.closed || (is_over(&w.called) && is_over(&w.caller)));
        }
    }
    unsigned count = fault_disarm();
    world_close(&w);
    assert_int_equal(descriptors(), before);
    return count;
}

static void each_allocation(void **state)
{
    (void)state;
    struct world first; /* libuv keeps some descriptors from then on */
    world_open(&first);
    world_close(&first);
    text = some_bytes(LENGTH);
    for (int how = 0; how < 4; how++) {
        unsigned n = 1;
        while (once(n, how & 1, how & 2 ? "localhost" : "127.0.0.1") >= n) n++;
        assert_in_range(n, 10, 1000);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation)};
    (void)uv_replace_allocator(malloc, __real_realloc, calloc, free);
    return cmocka_run_group_tests_name("memory of connections", tests, NULL, NULL);
}
