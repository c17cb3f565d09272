/* When nothing moves any more: the real quiet.c; the clock and all that it calls are this file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/supervisor/internal.h"

enum { RANKS = 2, MS = 1000000 };

static struct world {
    struct supervisor s;
    struct child child[RANKS];
    struct hark_board_slot slot[RANKS];
    uv_timer_t timer;
    uint64_t now;
    uint64_t down;    /* processes that have failed and are not back */
    uint64_t since;   /* that stall.c was told last */
    int looks, quiet; /* messages of each kind */
    bool silent;      /* a host has not been heard of lately */
    int stirs, ended; /* calls of hark_sup_moves(); the status of hark_sup_end() */
} world;

/* ---- what quiet.c calls ---------------------------------------------------------------------- */

bool hark_sup_host_silent(const struct supervisor *s)
{
    (void)s;
    return world.silent;
}

uint64_t hark_sup_awake(void)
{
    return world.now;
}

struct hark_board_slot *hark_sup_slot(const struct child *c)
{
    return &world.slot[c - world.child];
}

const struct hark *hark_keeper_core(const struct hark_keeper *k)
{
    (void)k;
    return NULL;
}

uint32_t hark_service_epoch(const struct hark *p)
{
    (void)p;
    return 0;
}

uint32_t hark_service_down(const struct hark *p)
{
    (void)p;
    return (uint32_t)world.down;
}

void hark_control_begin(struct hark_control *m, uint16_t type)
{
    *m = (struct hark_control){.type = type};
}

void hark_control_end(struct hark_control *m)
{
    (void)m;
}

void hark_control_free(struct hark_control *m)
{
    (void)m;
}

void hark_sup_tell(struct child *c, struct hark_control *m)
{
    (void)c;
    if (m->type == HARK_C_LOOK) world.looks++;
    else if (m->type == HARK_C_QUIET) world.quiet++;
    else fail_msg("told %u", m->type);
}

bool hark_sup_stalled(struct supervisor *s, uint64_t since_ns)
{
    (void)s;
    world.since = since_ns;
    return false;
}

void hark_sup_moves(struct supervisor *s)
{
    (void)s;
    world.stirs++;
}

void hark_sup_say(const char *format, ...)
{
    (void)format;
}

void hark_sup_advise_diverged(const struct supervisor *s)
{
    (void)s;
}

void hark_sup_end(struct supervisor *s, int status)
{
    s->phase = ENDING;
    world.ended = status;
}

void hark_sup_look_for_store(struct supervisor *s)
{
    (void)s;
}

void hark_sup_hurry(struct supervisor *s)
{
    (void)s;
}

void hark_sup_let_out(struct supervisor *s)
{
    (void)s;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    world.s.count = RANKS;
    world.s.child = world.child;
    world.timer.data = &world.s;
    for (int i = 0; i < RANKS; i++) {
        world.child[i] = (struct child){.s = &world.s, .runs = true, .hello = true};
        world.slot[i].state = HARK_B_BLOCKED;
        world.slot[i].turn = 1;
        world.slot[i].frames_out = world.slot[i].frames_in = (uint64_t)i + 4;
    }
    return 0;
}

static void look_after(uint64_t ms)
{
    world.now += ms * MS;
    hark_sup_check_quiescence(&world.timer);
}

static void all_stir(void)
{
    for (int i = 0; i < RANKS; i++) world.slot[i].turn++;
}

static void expect_told(int looks, int quiet)
{
    assert_int_equal(world.looks, looks * RANKS);
    assert_int_equal(world.quiet, quiet * RANKS);
}

/* All frames have arrived: in 200 ms it asks all to look, and who has looked for 200 ms more and
 * found nothing makes it QUIET. */
static void no_frame_is_on_its_way(void **state)
{
    (void)state;
    look_after(1000);
    look_after(199);
    expect_told(0, 0);
    look_after(1);
    expect_told(1, 0);
    all_stir();
    look_after(1);
    look_after(199);
    expect_told(1, 0);
    look_after(1);
    expect_told(1, 1);
}

/* A frame that has left and not arrived is on its way, or lost with a process that died: it has two
 * seconds. It counts whichever process had sent it. */
static void a_frame_may_be_on_its_way(void **state)
{
    for (int i = 0; i < RANKS; i++) {
        setup(state);
        world.slot[i].frames_out++;
        look_after(1000);
        look_after(1999);
        expect_told(0, 0);
        look_after(1);
        expect_told(1, 0);
        all_stir();
        look_after(1);
        look_after(200); /* it has been asked for: no more time */
        expect_told(1, 1);
    }
}

/* What moves in between begins it all again, be it a frame that leaves or one that arrives. */
static void something_moves(void **state)
{
    for (int arrives = 0; arrives < 2; arrives++) {
        setup(state);
        world.slot[0].frames_out++;
        world.slot[1].frames_out++;
        look_after(1000);
        look_after(2000);
        expect_told(1, 0);
        all_stir();
        if (arrives) world.slot[0].frames_in++;
        else world.slot[0].frames_out++;
        look_after(1);
        look_after(200);
        expect_told(1, 0);
        look_after(1800);
        expect_told(2, 0);
    }
}

static void who_does_not_sleep(void **state)
{
    (void)state;
    world.slot[1].state = HARK_B_BUSY;
    look_after(1000);
    look_after(10000);
    expect_told(0, 0);
    world.child[1].finished = true; /* it needs nothing more */
    look_after(1);
    look_after(200);
    expect_told(1, 0);
    world.slot[0].turn++; /* but one that is stopped has not looked */
    look_after(1);
    look_after(10000);
    expect_told(1, 0);
}

/* One waits in a send: it is not QUIET, for it may send more behind that. All are asked to look,
 * and if it finds that its receiver is not reached, it counts that nothing moves. */
static void one_waits_in_a_send(void **state)
{
    (void)state;
    world.slot[1].state = HARK_B_SENDS;
    look_after(1000);
    look_after(1999);
    expect_told(0, 0);
    look_after(1);
    expect_told(1, 0);
    all_stir();
    look_after(1999);
    assert_int_equal(world.since, 0); /* it may be a long message */
    look_after(1);
    expect_told(2, 0);
    world.slot[1].state = HARK_B_APART;
    look_after(1000); /* nobody has looked yet */
    assert_int_equal(world.since, 0);
    all_stir();
    look_after(500);
    assert_int_equal(world.since / MS, 5500);
    assert_int_equal(world.stirs, 0);
    world.slot[0].frames_in++;
    look_after(1);
    assert_int_equal(world.stirs, 1);
    look_after(1999);
    expect_told(2, 0);
    world.slot[1].state = HARK_B_BLOCKED; /* from now on as if it had always been */
    look_after(1);
    look_after(2000);
    expect_told(3, 0);
}

/* While a host is not heard of, nobody knows what happens there: its figures only stand still. */
static void a_host_is_silent(void **state)
{
    (void)state;
    look_after(1000);
    world.silent = true;
    look_after(200);
    look_after(10000);
    expect_told(0, 0);
    world.silent = false;
    look_after(1);
    look_after(199);
    expect_told(0, 0);
    look_after(1);
    expect_told(1, 0);
}

/* After QUIET: a recovery in which nothing moves for five seconds can not end. */
static void a_recovery_that_can_not_end(void **state)
{
    for (int down = 0; down < 2; down++) {
        setup(state);
        world.down = (uint64_t)down;
        look_after(1000);
        look_after(200);
        all_stir();
        look_after(1);
        look_after(200);
        expect_told(1, 1);
        all_stir();
        look_after(4999);
        assert_int_equal(world.since, 4999 * (uint64_t)MS);
        assert_int_equal(world.s.phase, RUNNING);
        look_after(1);
        assert_int_equal(world.s.phase, down ? ENDING : RUNNING);
        assert_int_equal(world.ended, down);
        if (down) continue;
        world.slot[0].deliveries++; /* progress: it was not so quiet */
        look_after(1);
        assert_int_equal(world.stirs, 1);
        assert_false(world.s.quiet_said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(no_frame_is_on_its_way, setup),
        cmocka_unit_test_setup(a_frame_may_be_on_its_way, setup),
        cmocka_unit_test_setup(something_moves, setup),
        cmocka_unit_test_setup(who_does_not_sleep, setup),
        cmocka_unit_test_setup(one_waits_in_a_send, setup),
        cmocka_unit_test_setup(a_host_is_silent, setup),
        cmocka_unit_test_setup(a_recovery_that_can_not_end, setup)};
    return cmocka_run_group_tests_name("quiet", tests, NULL, NULL);
}
