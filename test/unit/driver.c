/* The driver over a transport that does just what the test says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hark/driver.h"
#include "hark/registry.h"

enum { LONG = 40000 };

static struct script {
    struct hark_transport head;
    int again;      /* so many calls of send() answer AGAIN */
    int taken;      /* frames */
    int waits;      /* calls of wait() without a limit */
    int lent;       /* pieces of memory that are out */
    int behind;     /* what behind() answers */
    struct hark_outgoing last;
    uint8_t *keep;
} script;

static int script_open(struct hark_transport **t, const struct hark_transport_config *config, char error[200])
{
    (void)config, (void)error;
    *t = &script.head;
    return HARK_T_OK;
}

static const char *script_address(const struct hark_transport *t)
{
    (void)t;
    return "script";
}

static int script_peer(struct hark_transport *t, uint32_t rank, uint32_t inc, const char *address)
{
    (void)t, (void)rank, (void)inc, (void)address;
    return HARK_T_OK;
}

static int script_send(struct hark_transport *t, struct hark_outgoing *frame)
{
    (void)t;
    script.last = *frame;
    if (frame->keep) script.keep = frame->keep;
    if (script.again > 0) {
        script.again--;
        return HARK_T_AGAIN;
    }
    if (frame->keep && frame->keep != frame->part[0].at) memcpy(frame->keep, frame->part[0].at, frame->part[0].length);
    script.taken++;
    return HARK_T_OK;
}

static int script_poll(struct hark_transport *t)
{
    (void)t;
    return 0;
}

static int script_wait(struct hark_transport *t, int milliseconds)
{
    (void)t;
    assert_true(milliseconds >= 0 || script.taken == 0); /* else it would sleep for ever: nothing is left to happen */
    script.waits++;
    return HARK_T_OK;
}

static void script_wake(struct hark_transport *t)
{
    (void)t;
}

static int script_drained(struct hark_transport *t)
{
    (void)t;
    return 1;
}

static void script_close(struct hark_transport *t)
{
    (void)t;
    assert_int_equal(script.lent, 0); /* the log gives it back first */
}

static void *script_lend(struct hark_transport *t, uint64_t bytes)
{
    (void)t;
    script.lent++;
    return aligned_alloc(4096, bytes);
}

static void script_reclaim(struct hark_transport *t, void *at, uint64_t bytes)
{
    (void)t, (void)bytes;
    script.lent--;
    free(at);
}

static int script_behind(const struct hark_transport *t, uint32_t rank)
{
    (void)t, (void)rank;
    return script.behind;
}

static const struct hark_transport_ops plain = {.name = "script", .open = script_open, .address = script_address,
    .peer = script_peer, .send = script_send, .poll = script_poll, .wait = script_wait, .wake = script_wake,
    .drained = script_drained, .close = script_close};
static const struct hark_transport_ops lending = {.name = "script", .open = script_open, .address = script_address,
    .peer = script_peer, .send = script_send, .poll = script_poll, .wait = script_wait, .wake = script_wake,
    .drained = script_drained, .close = script_close, .lend = script_lend, .reclaim = script_reclaim,
    .behind = script_behind};

static struct hark_driver *driver_of(const char *protocol, const struct hark_transport_ops *ops)
{
    char error[256];
    struct hark_driver *d;
    struct hark_range mine = {0, 0};
    struct hark_driver_config c = {.protocol = hark_protocol_named(protocol), .transport = ops};
    c.core.ranks = 2;
    if (c.protocol->rolls == HARK_ROLLS_GROUP) {
        c.core.group = &mine;
        c.core.group_count = 1;
    }
    memset(&script, 0, sizeof script);
    script.head.ops = ops;
    assert_int_equal(hark_driver_open(&d, &c, error), HARK_D_OK);
    return d;
}

static uint8_t *payload(uint8_t with)
{
    uint8_t *p = malloc(LONG);
    assert_non_null(p);
    memset(p, with, LONG);
    return p;
}

/* A frame that leaves while its sender looks once more must not let it sleep: nobody would wake it. */
static void no_sleep_after_it_left(void **state)
{
    (void)state;
    for (int again = 0; again < 6; again++) {
        struct hark_driver *d = driver_of("none", &plain);
        uint8_t *p = payload(7);
        script.again = again;
        assert_int_equal(hark_driver_send(d, 1, 0, 3, p, LONG), HARK_D_OK);
        assert_int_equal(script.taken, 1);
        assert_true(script.waits <= again);
        free(p);
        hark_driver_close(d);
    }
}

/* To a receiver that is behind, the payload is kept in the log and goes from there; the caller's memory is free at once, also
 * when the transport was busy. */
static void kept_for_one_that_is_behind(void **state)
{
    (void)state;
    for (int again = 0; again < 3; again++) {
        struct hark_driver *d = driver_of("hydee", &lending);
        uint8_t *p = payload(9);
        script.behind = 1;
        script.again = again;
        assert_int_equal(hark_driver_send(d, 1, 0, 5, p, LONG), HARK_D_OK);
        memset(p, 0, LONG);
        assert_int_equal(script.taken, 1);
        assert_non_null(script.keep);
        for (int i = 0; i < LONG; i++) assert_int_equal(script.keep[i], 9);
        assert_int_equal(script.keep[LONG], 5); /* its tag is behind it */
        if (again) assert_ptr_equal(script.last.part[0].at, script.keep);
        assert_int_equal(hark_driver_figures(d)->log_bytes, LONG + 8);
        free(p);
        hark_driver_close(d);
    }
}

/* One that waits for it gets it through the transport, and what is not logged is never kept. */
static void not_kept_for_one_that_waits(void **state)
{
    (void)state;
    struct hark_driver *d = driver_of("hydee", &lending);
    uint8_t *p = payload(1);
    assert_int_equal(hark_driver_send(d, 1, 0, 0, p, LONG), HARK_D_OK);
    assert_null(script.keep);
    assert_int_equal(hark_driver_figures(d)->log_bytes, LONG + 8);
    hark_driver_close(d);
    d = driver_of("none", &lending);
    script.behind = 1;
    assert_int_equal(hark_driver_send(d, 1, 0, 0, p, LONG), HARK_D_OK);
    assert_null(script.keep);
    assert_int_equal(hark_driver_figures(d)->log_bytes, 0);
    free(p);
    hark_driver_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_sleep_after_it_left),
        cmocka_unit_test(kept_for_one_that_is_behind), cmocka_unit_test(not_kept_for_one_that_waits)};
    return cmocka_run_group_tests_name("driver", tests, NULL, NULL);
}
