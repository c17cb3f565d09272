/* The driver over a transport that does just what the test says. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "hark/registry.h"
#include "../../src/driver/driver_internal.h"
#include "script.h"

enum {
    LONG = 40000,
    LONG_TAKES = 40072
}; /* in the log: with its envelope, rounded up to 64, and a slot */

static struct hark_driver *driver_with(
    const char *protocol, const struct hark_transport_ops *ops, struct hark_hooks hooks)
{
    char error[256];
    struct hark_driver *d;
    struct hark_range mine = {0, 0};
    struct hark_driver_config c = {
        .protocol = hark_protocol_named(protocol), .transport = ops, .hooks = hooks};
    c.core.ranks = 2;
    if (c.protocol->rolls == HARK_ROLLS_CLUSTER) {
        c.core.cluster = &mine;
        c.core.cluster_count = 1;
    }
    memset(&script, 0, sizeof script);
    script.head.ops = ops;
    assert_int_equal(hark_driver_open(&d, &c, error), HARK_D_OK);
    return d;
}

static struct hark_driver *driver_of(const char *protocol, const struct hark_transport_ops *ops)
{
    return driver_with(protocol, ops, (struct hark_hooks){0});
}

static int withdrawn;
static bool fails;

static int taken_in_part(struct hark_transport *t, struct hark_outgoing *frame)
{
    (void)t;
    if (fails) return HARK_T_ESYSTEM;
    frame->done = 1;
    return HARK_T_AGAIN;
}

static void on_withdraw(struct hark_transport *t, struct hark_outgoing *frame)
{
    (void)t;
    assert_int_equal(frame->part[0].length, LONG);
    withdrawn++;
}

static uint8_t *payload(uint8_t with)
{
    uint8_t *p = malloc(LONG);
    assert_non_null(p);
    memset(p, with, LONG);
    return p;
}

/* A frame that leaves while its sender looks once more must not let it sleep: nobody would wake it.
 */
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

/* To a receiver that is behind, the payload is kept in the log and goes from there; the caller's
 * memory is free at once, also when the transport was busy. */
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
        assert_int_equal(hark_driver_figures(d)->log_bytes, LONG_TAKES);
        free(p);
        script.expect = 9;
        hark_driver_close(d);
    }
}

/* A receiver that is gone takes nothing: the log must have it all the same, for the next
 * incarnation. */
static void kept_for_one_that_is_gone(void **state)
{
    (void)state;
    for (int again = 0; again < 2; again++) {
        struct hark_driver *d = driver_of("hydee", &lending);
        uint8_t *p = payload(11);
        script.behind = 1;
        script.again = again;
        script.gone = true;
        assert_int_equal(hark_driver_send(d, 1, 0, 5, p, LONG), HARK_D_OK);
        assert_int_equal(script.taken, 0);
        assert_non_null(script.keep);
        for (int i = 0; i < LONG; i++) assert_int_equal(script.keep[i], 11);
        free(p);
        hark_driver_close(d);
    }
}

/* It waits in the log, and goes from there before the transport has taken it, or when that has a
 * part: it waited twice, because two failures had it sent again. */
static void trimmed_while_it_waits(void **state)
{
    (void)state;
    for (uint64_t done = 0; done < 2; done++) {
        struct hark_driver *d = driver_of("hydee", &lending);
        const struct hark_name name = {.peer = 1, .ssn = 1, .way = HARK_OUT};
        uint8_t *p = payload(9);
        uint32_t left;
        script.behind = 1;
        script.again = 1;
        assert_int_equal(hark_driver_send_start(d, 1, 0, 5, p, LONG, &left), HARK_D_OK);
        assert_int_equal(left, 1);
        d->out[1]->head->frame.done = done;
        assert_int_equal(hark_driver_trimmed(d, &name), HARK_D_OK);
        hark_driver_log_trim(d, &name);
        memset(script.keep, 0, LONG); /* it is used for something else */
        while (left) assert_true(hark_driver_poll(d) >= 0);
        assert_int_equal(script.taken, 1);
        assert_int_equal(script.sent[0].payload[0], 9);
        assert_ptr_equal(script.last.part[0].at, script.last.keep); /* nothing is copied there */
        free(p);
        hark_driver_close(d);
    }
}

/* A send does not wait for the transport once the log has its payload, but for one thing: what
 * waits takes memory too, beside the log, and there is an end to that. */
static void so_much_waits(void **state)
{
    (void)state;
    enum { SOME = 1000, MANY = 20000 };
    struct hark_driver *d = driver_of("hydee", &plain);
    script.again = 3 * SOME;
    for (int i = 0; i < SOME; i++)
        assert_int_equal(hark_driver_send(d, 1, 0, 0, "payload", 8), HARK_D_OK);
    assert_int_equal(script.taken, 0);
    assert_int_equal(script.waits, 0);
    int sent = SOME;
    while (script.taken == 0 && sent < MANY) {
        assert_int_equal(hark_driver_send(d, 1, 0, 0, "payload", 8), HARK_D_OK);
        sent++;
    }
    assert_in_range(sent, 3000, 10000);   /* about a megabyte */
    assert_int_equal(script.taken, sent); /* that one had to wait until it left, behind all others
                                           */
    assert_true(script.waits > 0);
    hark_driver_close(d);
}

/* A message that was started returns at once, and needs its memory until it has gone. */
static void started_and_not_waited_for(void **state)
{
    (void)state;
    for (int ends = 0; ends < 3; ends++) {
        struct hark_driver *d = driver_of("none", &plain);
        uint8_t *p = payload(7), small[8] = {1, 2, 3, 4, 5, 6, 7, 8};
        uint32_t left, of_short;
        script.again = 3;
        assert_int_equal(hark_driver_send_start(d, 1, 0, 3, p, LONG, &left), HARK_D_OK);
        assert_int_equal(left, 1);
        assert_true(script.last.stays);
        assert_int_equal(
            hark_driver_send_start(d, 1, 0, 4, small, sizeof small, &of_short), HARK_D_OK);
        assert_int_equal(of_short, 1); /* behind the other */
        assert_int_equal(script.taken, 0);
        assert_int_equal(script.waits, 0);
        if (ends == 0) assert_int_equal(hark_driver_sent(d, &left), HARK_D_OK);
        while (ends == 1 && left > 0) assert_true(hark_driver_poll(d) >= 0);
        if (ends < 2) {
            assert_int_equal(left, 0);
            assert_in_range(script.taken, 1, 2);
            assert_int_equal(script.sent[0].payload[0], 7);
            script.again = 0;
            while (of_short) assert_true(hark_driver_poll(d) >= 0);
            assert_int_equal(script.taken, 2);
            assert_memory_equal(script.sent[1].payload, small, sizeof small);
            assert_int_equal(hark_driver_send_start(d, 1, 0, 4, small, 8, &of_short), HARK_D_OK);
            assert_int_equal(of_short, 0);
        }
        hark_driver_close(d); /* also with both still waiting */
        free(p);
    }
}

/* What a transport may still take from is given up when nobody wants it sent any more. */
static void withdrawn_with_its_receiver(void **state)
{
    (void)state;
    static struct hark_transport_ops withdrawing;
    for (int how = 0; how < 3; how++) {
        withdrawing = plain;
        withdrawing.send = taken_in_part;
        withdrawing.withdraw = on_withdraw;
        struct hark_driver *d = driver_of("none", &withdrawing);
        uint8_t *p = payload(7);
        uint32_t left;
        withdrawn = 0;
        assert_int_equal(hark_driver_send_start(d, 1, 0, 3, p, LONG, &left), HARK_D_OK);
        assert_int_equal(left, 1);
        if (how == 0) assert_int_equal(hark_driver_peer(d, 1, 1, NULL), HARK_D_OK);
        if (how == 1) {
            fails = true;
            assert_true(hark_driver_sent(d, &left) < 0);
            fails = false;
        }
        if (how < 2) assert_int_equal(withdrawn, 1);
        if (how == 0) assert_int_equal(left, 0);
        hark_driver_close(d);
        assert_int_equal(withdrawn, 1);
        free(p);
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
    assert_int_equal(hark_driver_figures(d)->log_bytes, LONG_TAKES);
    hark_driver_close(d);
    d = driver_of("none", &lending);
    script.behind = 1;
    assert_int_equal(hark_driver_send(d, 1, 0, 0, p, LONG), HARK_D_OK);
    assert_null(script.keep);
    assert_int_equal(hark_driver_figures(d)->log_bytes, 0);
    free(p);
    hark_driver_close(d);
}

/* A long message, from `from` as its header says, that the transport has had from process 1. */
static void long_one_arrives(uint32_t from, bool whole)
{
    uint8_t header[HARK_WIRE_HEAD + 16] = {[1] = HARK_APP};
    memcpy(header + 4, &from, sizeof from);
    struct hark_frame f = {.from = 1, .header = {header, sizeof header}, .length = LONG};
    void *at = script.sink.place(script.sink.self, &f);
    assert_non_null(at);
    if (whole) script.sink.arrived(script.sink.self, &f, at);
    else script.sink.broken(script.sink.self, &f, at);
}

static char owned[LONG];
static int placed, unplaced;

static void *on_place(
    void *self, uint32_t from, uint16_t ctx, int64_t tag, uint64_t length, bool at_once)
{
    (void)self, (void)from, (void)ctx, (void)tag, (void)at_once;
    assert_int_equal(length, LONG);
    placed++;
    return owned;
}

static void on_unplace(void *self, void *at)
{
    (void)self;
    assert_ptr_equal(at, owned);
    unplaced++;
}

/* A long message that is another's than its header says, or that breaks off, is not taken: whose
 * memory it was in has it back. */
static void a_long_one_is_not_taken(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        struct hark_hooks hooks = {.place = own ? on_place : NULL, .unplace = on_unplace};
        struct hark_driver *d = driver_with("hydee", &lending, hooks);
        long_one_arrives(0, true); /* what the driver makes once is made now */
        placed = unplaced = 0;
        struct mallinfo2 before = mallinfo2();
        for (int whole = 0; whole < 2; whole++) long_one_arrives(0, whole);
        struct mallinfo2 now = mallinfo2();
        assert_int_equal(now.uordblks + now.hblkhd, before.uordblks + before.hblkhd);
        assert_int_equal(placed, own ? 2 : 0);
        assert_int_equal(unplaced, placed);
        assert_int_equal(hark_driver_figures(d)->refused, 2); /* the first, and one of these */
        hark_driver_close(d);
    }
}

/* What waits for an incarnation that is dead is dropped; what is sent then is on its way all the
 * same, behind nothing. */
static void for_the_next_incarnation(void **state)
{
    (void)state;
    struct hark_driver *d = driver_of("hydee", &plain);
    script.again = 1000;
    for (int i = 0; i < 3; i++)
        assert_int_equal(hark_driver_send(d, 1, 0, 0, "to the dead", 12), HARK_D_OK);
    assert_int_equal(script.taken, 0);
    assert_int_equal(hark_driver_drained(d), 0);
    assert_int_equal(hark_driver_peer(d, 1, 1, NULL), HARK_D_OK);
    assert_int_equal(hark_driver_drained(d), 1);
    for (int round = 0; round < 2; round++) {
        script.again = 1000;
        for (int i = 0; i < 2; i++)
            assert_int_equal(hark_driver_send(d, 1, 0, 0, "to the next", 12), HARK_D_OK);
        script.again = 0;
        assert_true(hark_driver_poll(d) >= 0);
        assert_int_equal(script.taken, 2 * (round + 1));
        assert_int_equal(hark_driver_drained(d), 1);
    }
    for (int i = 0; i < 4; i++) assert_string_equal((char *)script.sent[i].payload, "to the next");
    hark_driver_close(d);
}

/* What the protocol adds to a message is counted: its header without what each frame has, and
 * without the tag, which is the driver's. */
static void what_is_added_is_counted(void **state)
{
    (void)state;
    static const char *const protocols[] = {"none", "hydee", "sendet"};
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++) {
        struct hark_driver *d = driver_of(protocols[i], &plain);
        uint64_t added = 0;
        for (int n = 0; n < 3; n++) {
            assert_int_equal(hark_driver_send(d, 1, 0, 5, "payload", 8), HARK_D_OK);
            added += script.last.header.length - HARK_WIRE_HEAD - 8;
            assert_int_equal(hark_driver_figures(d)->piggyback_bytes, added);
        }
        assert_int_equal(added > 0, i > 0);
        hark_driver_close(d);
    }
}

/* Where a protocol can not work there is no driver, and a line says so. */
static void out_of_its_range(void **state)
{
    (void)state;
    char error[256] = "";
    struct hark_driver *d = (struct hark_driver *)(void *)&script;
    struct hark_driver_config c = {.protocol = hark_protocol_named("none"), .transport = &plain};
    c.core.ranks = 2;
    c.core.me = 2;
    memset(&script, 0, sizeof script);
    script.head.ops = &plain;
    assert_int_equal(hark_driver_open(&d, &c, error), HARK_D_EINVAL);
    assert_null(d);
    assert_string_equal(error, "none: the configuration is out of its range");
}

/* Wrong ranks: nothing is written by them, and the driver goes on. */
static void refused(void **state)
{
    (void)state;
    struct hark_driver *d = driver_of("hydee", &plain);
    struct hark_incarnation of[] = {{.rank = 1, .inc = 1}, {.rank = 99, .inc = 1}};
    struct hark_event failed = {.type = HARK_FAILED};
    uint32_t left;
    failed.u.failed.inc = of;
    failed.u.failed.inc_count = 2;
    assert_int_equal(hark_driver_send(d, 7, 0, 0, "payload", 8), HARK_D_EINVAL);
    assert_int_equal(hark_driver_send_start(d, 7, 0, 0, "payload", 8, &left), HARK_D_EINVAL);
    assert_string_equal(hark_driver_error(d), "send: no such rank");
    assert_int_equal(hark_driver_failed(d, &failed), HARK_D_EINVAL);
    assert_int_equal(d->inc[1], 0);
    assert_int_equal(hark_driver_peer(d, 99, 0, NULL), HARK_D_EINVAL);
    assert_true(hark_driver_poll(d) >= 0);
    assert_int_equal(hark_driver_send(d, 1, 0, 0, "payload", 8), HARK_D_OK);
    assert_int_equal(script.taken, 1);
    hark_driver_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_sleep_after_it_left),
        cmocka_unit_test(kept_for_one_that_is_behind), cmocka_unit_test(kept_for_one_that_is_gone),
        cmocka_unit_test(trimmed_while_it_waits), cmocka_unit_test(so_much_waits),
        cmocka_unit_test(started_and_not_waited_for), cmocka_unit_test(withdrawn_with_its_receiver),
        cmocka_unit_test(not_kept_for_one_that_waits), cmocka_unit_test(a_long_one_is_not_taken),
        cmocka_unit_test(for_the_next_incarnation), cmocka_unit_test(what_is_added_is_counted),
        cmocka_unit_test(out_of_its_range), cmocka_unit_test(refused)};
    return cmocka_run_group_tests_name("driver", tests, NULL, NULL);
}
