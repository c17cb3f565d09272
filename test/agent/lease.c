/* lease.h: when the supervisor starts others in a host's place, the host's processes are gone.
 * Searched for every time that beats and answers may take, and for clocks of which one is an eighth
 * faster. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/agent/lease.h"

#define LEASE UINT64_C(1000000000)
#define TICK  (LEASE / 16)
#define AGES  24 /* ticks after which nothing changes any more */

/* Ages in ticks of the supervisor's clock. The connection keeps the order of what is sent, so what
 * has arrived is known by the newest of it. */
struct state {
    uint8_t received; /* of the newest beat that the supervisor has, since it was sent */
    uint8_t heard;    /* since that came */
    uint8_t answered; /* of the newest beat whose answer the agent has, since it was sent */
    uint8_t ended;    /* since the agent has killed its processes; AGES: it has not. With `stops`,
                         0: others have been started in their places */
};

struct search {
    uint64_t fast, slow;                 /* the agent's clock does `fast` ticks in `slow` of ours */
    uint64_t (*dead_ns)(uint64_t lease); /* so long the supervisor waits */
    bool stops; /* processes, which may run again, where else they are killed */
    uint8_t seen[AGES + 1][AGES + 1][AGES + 1][AGES + 1];
    struct state *stack;
    size_t depth, room, states;
    bool wrong; /* both at once */
};

static void visit(struct search *s, struct state x)
{
    uint8_t *seen = &s->seen[x.received][x.heard][x.answered][x.ended];
    if (*seen) return;
    *seen = 1;
    s->states++;
    if (s->depth == s->room) {
        s->room = s->room * 2 + 1024;
        s->stack = realloc(s->stack, s->room * sizeof *s->stack);
        assert_non_null(s->stack);
    }
    s->stack[s->depth++] = x;
}

static uint8_t older(uint8_t age)
{
    return age < AGES ? (uint8_t)(age + 1) : AGES;
}

/* The agent looks at its own clock. */
static bool is_over(const struct search *s, uint8_t answered)
{
    const uint64_t now = 1000 * LEASE;
    const struct hark_lease lease = {
        .ns = LEASE, .answered = now - answered * TICK * s->fast / s->slow};
    return now >= hark_lease_end(&lease);
}

/* A tick, and all that may arrive in it. */
static void step(struct search *s, struct state x)
{
    const bool ran = x.ended == AGES;
    x.received = older(x.received);
    x.heard = older(x.heard);
    x.answered = older(x.answered);
    if (!ran && x.ended < AGES - 1) x.ended++;
    if (ran && is_over(s, x.answered)) x.ended = 0;
    const bool runs = x.ended == AGES;
    if (x.heard * TICK > s->dead_ns(LEASE)) { /* it starts others, and that is the end of this one
                                               */
        s->wrong |= runs;
        return;
    }
    /* A beat is sent in each tick in which the agent runs; the newest is as old as its end. */
    const uint8_t newest = runs ? 0 : x.ended;
    for (uint8_t received = newest; received <= x.received; received++) {
        struct state y = x;
        y.received = received;
        if (received < x.received) y.heard = 0;
        const uint8_t least = received < x.answered ? received : x.answered;
        for (uint8_t answered = runs ? least : x.answered; answered <= x.answered; answered++) {
            y.answered = answered;
            visit(s, y);
        }
    }
}

/* By the agent's clock. */
static bool is_stopped(const struct search *s, uint8_t answered)
{
    const uint64_t now = 1000 * LEASE;
    const struct hark_lease lease = {
        .ns = LEASE, .answered = now - answered * TICK * s->fast / s->slow};
    return now >= hark_lease_stop(&lease);
}

/* The same where they are stopped. The agent goes on sending beats; the supervisor hears and
 * answers none any more when it has started others, but what it had answered may still come. */
static void step_stopping(struct search *s, struct state x)
{
    x.received = older(x.received);
    x.heard = older(x.heard);
    x.answered = older(x.answered);
    if (x.heard * TICK > s->dead_ns(LEASE)) x.ended = 0;
    const bool given_up = x.ended == 0;
    s->wrong |= given_up && !is_stopped(s, x.answered);
    for (uint8_t received = given_up ? x.received : 0; received <= x.received; received++) {
        struct state y = x;
        y.received = received;
        if (received < x.received) y.heard = 0;
        for (y.answered = received < x.answered ? received : x.answered; y.answered <= x.answered;
             y.answered++)
            visit(s, y);
    }
}

static bool goes_wrong_by(struct search by)
{
    static struct search s;
    s = by;
    visit(&s, (struct state){0, 0, 0, AGES});
    while (s.depth) {
        const struct state x = s.stack[--s.depth];
        if (s.stops) step_stopping(&s, x);
        else step(&s, x);
    }
    free(s.stack);
    assert_true(s.states > 1000);
    return s.wrong;
}

static bool goes_wrong(uint64_t fast, uint64_t slow, uint64_t (*dead_ns)(uint64_t lease))
{
    return goes_wrong_by((struct search){.fast = fast, .slow = slow, .dead_ns = dead_ns});
}

static bool stopping_goes_wrong(uint64_t fast, uint64_t slow, uint64_t (*dead_ns)(uint64_t lease))
{
    return goes_wrong_by(
        (struct search){.fast = fast, .slow = slow, .dead_ns = dead_ns, .stops = true});
}

static uint64_t without_margin(uint64_t lease)
{
    return lease;
}

static void nobody_runs_twice(void **state)
{
    (void)state;
    assert_false(goes_wrong(1, 1, hark_lease_dead_ns));
    assert_false(goes_wrong(8, 9, hark_lease_dead_ns)); /* the agent's clock is slow */
    assert_false(goes_wrong(9, 8, hark_lease_dead_ns));
}

/* Also where processes are stopped when their lease is over, and run again when it is renewed. */
static void nobody_goes_on_twice(void **state)
{
    (void)state;
    assert_false(stopping_goes_wrong(1, 1, hark_lease_dead_ns));
    assert_false(stopping_goes_wrong(8, 9, hark_lease_dead_ns));
    assert_false(stopping_goes_wrong(9, 8, hark_lease_dead_ns));
    assert_true(stopping_goes_wrong(3, 4, without_margin));
}

/* The search would find it. */
static void the_margin_is_needed(void **state)
{
    (void)state;
    assert_true(goes_wrong(8, 9, without_margin));
    assert_true(goes_wrong(3, 4, hark_lease_dead_ns)); /* clocks that differ by more */
}

/* An answer to an old beat does not shorten a lease, and one to a beat that was never sent, or so
 * long ago that its time is forgotten, does not prolong it. */
static void answers(void **state)
{
    (void)state;
    struct hark_lease l;
    hark_lease_begin(&l, LEASE, 1000);
    assert_int_equal(hark_lease_end(&l), LEASE + 1000);
    assert_int_equal(hark_lease_beat(&l, 2000), 0);
    assert_int_equal(hark_lease_beat(&l, 3000), 1);
    hark_lease_answer(&l, 2);
    assert_int_equal(hark_lease_end(&l), LEASE + 1000);
    hark_lease_answer(&l, 1);
    assert_int_equal(hark_lease_end(&l), LEASE + 3000);
    hark_lease_answer(&l, 0);
    assert_int_equal(hark_lease_end(&l), LEASE + 3000);
    for (unsigned i = 0; i < HARK_LEASE_BEATS; i++) (void)hark_lease_beat(&l, 4000 + i);
    hark_lease_answer(&l, 1); /* its place has another beat by now */
    assert_int_equal(hark_lease_end(&l), LEASE + 3000);
    hark_lease_answer(&l, 2);
    assert_int_equal(hark_lease_end(&l), LEASE + 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nobody_runs_twice),
        cmocka_unit_test(nobody_goes_on_twice), cmocka_unit_test(the_margin_is_needed),
        cmocka_unit_test(answers)};
    return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
