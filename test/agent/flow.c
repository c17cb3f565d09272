/* Who waits for whom, and connections that are closed in the middle of something. */
#include "world.h"

/* Turns the loop a few times, whatever happens. */
static void turn(struct world *w, unsigned times)
{
    while (times-- > 0) (void)uv_run(&w->loop, UV_RUN_NOWAIT);
}

/* What is said goes with the next turn of the loop, not when something else happens. */
static void said_at_once(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    world_meet(&w);
    turn(&w, 10);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hark_connection_say(w.caller.c, "abc", 3), 0);
        assert_true(hark_connection_waiting(w.caller.c) > 3);
        turn(&w, 1);
        assert_int_equal(hark_connection_waiting(w.caller.c), 0);
    }
    world_close(&w);
}

static void pause_it(struct end *e)
{
    hark_connection_pause(e->c, true);
}

static void pause_now(struct end *e, const uint8_t *at, size_t length)
{
    (void)at, (void)length;
    hark_connection_pause(e->c, true);
}

/* Nothing is given while it is paused, from the first one on, though all has come. */
static void paused_from_the_beginning(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    w.called.on_opened = pause_it;
    world_meet(&w);
    for (int i = 0; i < 3; i++) assert_int_equal(hark_connection_say(w.caller.c, "abc", 3), 0);
    until(&w, hark_connection_waiting(w.caller.c) == 0);
    assert_in_range(pass_time(&w, 200), 1, 20); /* and that costs nothing */
    assert_int_equal(w.called.messages, 0);
    hark_connection_pause(w.called.c, false);
    until(&w, w.called.messages == 3);
    world_close(&w);
}

/* It is paused by each message, though others have come with it. */
static void paused_by_each(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    struct world w;
    world_open(&w);
    w.called.on_message = pause_now;
    world_meet(&w);
    for (int i = 0; i < COUNT; i++) assert_int_equal(hark_connection_say(w.caller.c, "abc", 3), 0);
    for (unsigned i = 1; i <= COUNT; i++) {
        until(&w, w.called.messages == i);
        turn(&w, 3);
        assert_int_equal(w.called.messages, i);
        hark_connection_pause(w.called.c, false);
        assert_int_equal(w.called.messages, i); /* never from within a call */
    }
    hark_connection_close(w.caller.c, true);
    w.caller.c = NULL;
    until(&w, w.called.closed);
    assert_string_equal(w.called.why, HARK_CONNECTION_ENDED);
    world_close(&w);
}

static void check_room(struct end *e)
{
    assert_true(hark_connection_waiting(e->c) < HARK_CONNECTION_LOW);
}

/* Who says much to somebody who takes nothing has it waiting, and is told when it is gone. */
static void room(void **state)
{
    (void)state;
    enum { LENGTH = 12 << 20 };
    struct world w;
    uint8_t *b = some_bytes(LENGTH);
    world_open(&w);
    w.caller.on_room = check_room;
    world_meet(&w);
    hark_connection_pause(w.called.c, true);
    assert_int_equal(hark_connection_say(w.caller.c, b, HARK_CONNECTION_HIGH / 2), 0);
    hark_connection_pause(w.called.c, false);
    until(&w, w.called.messages == 1 && hark_connection_waiting(w.caller.c) == 0);
    turn(&w, 10);
    assert_int_equal(w.caller.rooms, 0);
    hark_connection_pause(w.called.c, true);
    assert_int_equal(hark_connection_say(w.caller.c, b, LENGTH), 0);
    assert_true(hark_connection_waiting(w.caller.c) > LENGTH);
    turn(&w, 1000);
    assert_true(hark_connection_waiting(w.caller.c) > HARK_CONNECTION_LOW);
    assert_int_equal(w.caller.rooms, 0);
    hark_connection_pause(w.called.c, false);
    until(&w, w.called.messages == 2);
    assert_int_equal(w.caller.rooms, 1);
    world_close(&w);
    free(b);
}

/* Paused for much longer than a host may be silent, with all buffers full: its system answers, so
 * nothing ends, in neither direction. */
static void paused_for_long(void **state)
{
    (void)state;
    enum { LENGTH = 12 << 20 };
    struct world w;
    uint8_t *b = some_bytes(LENGTH);
    world_open(&w);
    w.caller.config.silent_ms = w.called.config.silent_ms = 200;
    world_meet(&w);
    hark_connection_pause(w.called.c, true);
    hark_connection_pause(w.caller.c, true);
    assert_int_equal(hark_connection_say(w.caller.c, b, LENGTH), 0);
    assert_int_equal(hark_connection_say(w.called.c, b, LENGTH), 0);
    assert_in_range(pass_time(&w, 2000), 1, 500);
    assert_int_equal(w.caller.closed + w.called.closed, 0);
    hark_connection_pause(w.called.c, false);
    hark_connection_pause(w.caller.c, false);
    until(&w, w.called.messages == 1 && w.caller.messages == 1);
    assert_true(w.called.sum == sum_of(0, b, LENGTH));
    world_close(&w);
    free(b);
}

/* An idle one stays, for longer than a host may be silent. */
static void idle_for_long(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    w.caller.config.silent_ms = w.called.config.silent_ms = 100;
    world_meet(&w);
    assert_in_range(pass_time(&w, 4500), 1, 1000); /* each looks 75 times a second */
    assert_int_equal(w.caller.closed + w.called.closed, 0);
    world_close(&w);
}

/* That it was cut is told to one that is paused, too. */
static void cut_while_paused(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    w.called.config.silent_ms = 200;
    world_meet(&w);
    hark_connection_pause(w.called.c, true);
    hark_connection_pause(w.caller.c, true);
    assert_int_equal(hark_connection_say(w.called.c, "not read", 8), 0);
    until(&w, hark_connection_waiting(w.called.c) == 0);
    hark_connection_close(w.caller.c, false); /* resets it, since there is something to be read */
    w.caller.c = NULL;
    until(&w, w.called.closed);
    assert_string_equal(w.called.why, "it was cut");
    world_close(&w);
}

/* ---- closed in the middle -------------------------------------------------------------------- */

static bool flushes;

static void close_it(struct end *e)
{
    struct hark_connection *c = e->c;
    if (c == NULL) return;
    e->c = NULL;
    if (flushes) (void)hark_connection_say(c, "last", 4);
    hark_connection_close(c, flushes);
    hark_connection_close(c, flushes); /* once more, which is nothing */
    hark_connection_close(c, !flushes);
    hark_connection_pause(c, true);
    hark_connection_pause(c, false);
    assert_int_equal(hark_connection_say(c, "too late", 8), -ENOTCONN);
}

static void close_by_message(struct end *e, const uint8_t *at, size_t length)
{
    uint64_t sum = sum_of(0, at, length);
    close_it(e);
    assert_true(sum_of(0, at, length) == sum); /* its bytes are still there */
}

static struct hark_connection *closing;

static void close_closed(struct end *e)
{
    (void)e;
    hark_connection_close(closing, flushes);
    assert_int_equal(hark_connection_say(closing, "too late", 8), -ENOTCONN);
}

/* `who` closes it in its `which`-th kind of event, and the other end is told of it, or gone too. */
static void close_in(int who, int which)
{
    enum { LENGTH = 6 << 20 };
    struct world w;
    uint8_t *b = some_bytes(LENGTH);
    world_open(&w);
    struct end *closes = who ? &w.called : &w.caller, *other = who ? &w.caller : &w.called;
    if (which == 0) closes->on_opened = close_it;
    if (which == 1) closes->on_message = close_by_message;
    if (which == 2) closes->on_room = close_it;
    if (which == 3) closes->on_closed = close_closed;
    world_listen(&w, 0);
    (void)world_call(&w, &w.caller);
    until(&w, other->opened || other->closed);
    if (which > 0) {
        until(&w, closes->opened);
        closing = closes->c;
        assert_int_equal(hark_connection_say(closes->c, b, LENGTH), 0);
        for (int i = 0; i < 10; i++) assert_int_equal(hark_connection_say(other->c, b, 100), 0);
        if (which == 3) {
            until(&w, closes->messages == 10);
            hark_connection_close(other->c, false);
            other->c = NULL;
        }
    }
    until(&w, closes->closed || other->closed);
    assert_int_equal(other->closed, which != 3);
    assert_int_equal(closes->closed, which == 3);
    if (which == 1) assert_int_equal(closes->messages, 1); /* none after it */
    if (which < 3 && other->opened)
        assert_int_equal(strcmp(other->why, HARK_CONNECTION_ENDED) == 0, flushes);
    world_close(&w);
    free(b);
}

static void closed_in_each_event(void **state)
{
    (void)state;
    for (int how = 0; how < 2; how++) {
        flushes = how;
        for (int who = 0; who < 2; who++)
            for (int which = 0; which < 4; which++) close_in(who, which);
    }
}

/* Both close at once, with much on its way. */
static void closed_by_both(void **state)
{
    (void)state;
    enum { LENGTH = 6 << 20 };
    uint8_t *b = some_bytes(LENGTH);
    for (int how = 0; how < 4; how++) {
        struct world w;
        world_open(&w);
        world_meet(&w);
        assert_int_equal(hark_connection_say(w.caller.c, b, LENGTH), 0);
        assert_int_equal(hark_connection_say(w.called.c, b, LENGTH), 0);
        hark_connection_close(w.caller.c, how & 1);
        hark_connection_close(w.called.c, how & 2);
        w.caller.c = w.called.c = NULL;
        world_close(&w);
        assert_int_equal(w.caller.closed + w.called.closed, 0);
    }
    free(b);
}

/* Closed before it is opened, after any number of turns; by a name too, which a thread looks up. */
static void closed_on_its_way(void **state)
{
    (void)state;
    for (int how = 0; how < 2; how++) {
        for (unsigned turns = 0; turns < 20; turns++) {
            struct world w;
            char address[40], error[200];
            struct hark_connection *c;
            world_open(&w);
            world_listen(&w, 0);
            snprintf(address, sizeof address, "%s:%u", how ? "localhost" : "127.0.0.1",
                hark_listener_port(w.listener));
            assert_int_equal(hark_connection_begin(&c, &w.caller.config, address, error), 0);
            turn(&w, turns);
            assert_int_equal(hark_connection_say(c, "x", 1), w.caller.opened ? 0 : -ENOTCONN);
            hark_connection_close(c, turns & 1);
            w.caller.c = NULL;
            until(&w, w.called.closed >= w.called.opened);
            world_close(&w);
            assert_int_equal(w.caller.closed, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(said_at_once),
        cmocka_unit_test(paused_from_the_beginning), cmocka_unit_test(paused_by_each),
        cmocka_unit_test(room), cmocka_unit_test(paused_for_long), cmocka_unit_test(idle_for_long),
        cmocka_unit_test(cut_while_paused), cmocka_unit_test(closed_in_each_event),
        cmocka_unit_test(closed_by_both), cmocka_unit_test(closed_on_its_way)};
    return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}
