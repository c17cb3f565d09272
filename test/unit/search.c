/* What a search concludes from ends that are not the program's: of any way of searching the same,
 * also where it begins again. And the table of states, as it grows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/check/intern.h"
#include "../../src/check/search.h"
#include "../../src/check/states.h"

static struct hark_scenario read_scenario(const char *text)
{
    struct hark_scenario s;
    char error[HARK_SCENARIO_ERROR];
    if (hark_scenario_parse(&s, text, strlen(text), "text", error) < 0) fail_msg("%s", error);
    return s;
}

/* The ends of one program are held against those of another, which has sent less: never are they
 * all right, however often they are seen. */
static void other_ends(void **state)
{
    static const enum search_reduce ways[] = {SEARCH_WHOLE, SEARCH_REDUCED, SEARCH_COMPARED};
    struct hark_scenario less = read_scenario("protocol hydee\np0: S1 T1\np1: R S0\n");
    struct hark_scenario more =
        read_scenario("protocol hydee\np0: S1 T1 S1\np1: R S0 R\nfails any\n");
    (void)state;
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++)
        for (uint32_t jobs = 1; jobs <= 2; jobs++) {
            struct search_options options = {.reduce = ways[way], .jobs = jobs};
            struct intern outcomes = {0};
            struct search_result alone = search_classify(&less, &options, &outcomes);
            assert_int_equal(alone.verdict, SEARCH_OK);
            assert_int_equal(outcomes.count, 2); /* p0 hits, or misses */
            for (int again = 0; again < 2; again++) {
                struct search_result r = search_classified(&more, &options, &alone, &outcomes);
                assert_int_equal(r.verdict, SEARCH_VIOLATED);
                assert_string_equal(lab_violation(r.violated),
                    "I4: the final state is not that of a failure-free run");
                assert_non_null(r.path);
                assert_int_equal(outcomes.count, 2);
                free(r.path);
            }
            struct search_result own = search_classified(&less, &options, &alone, &outcomes);
            assert_int_equal(own.verdict, SEARCH_OK);
            free(own.path);
            free(alone.path);
            intern_free(&outcomes);
        }
    hark_scenario_free(&less);
    hark_scenario_free(&more);
}

/* Told to stop, or with a limit, a search says so, whichever way it goes; with too little memory it
 * says how much it takes. */
static void not_whole(void **state)
{
    static const _Atomic int stop = 1;
    struct hark_scenario s = read_scenario("protocol hydee\np0: S1 T1 S1\np1: R S0 R\nfails any\n");
    (void)state;
    for (uint32_t way = 0; way < 8; way++) {
        struct search_options options = {.jobs = 1 + way % 2,
            .reduce = way / 2 % 2 ? SEARCH_COMPARED : SEARCH_WHOLE,
            .walks = way >= 4 ? 50 : 0};
        if (options.walks) options.reduce = SEARCH_WHOLE;
        struct search_options stopped = options, few = options, little = options;
        stopped.stop = &stop;
        few.most_states = 1000;
        little.most_bytes = 1000;
        struct search_result r = search(&s, &options);
        assert_int_equal(r.verdict, SEARCH_OK);
        assert_int_equal(r.limit, SEARCH_NO_LIMIT);
        free(r.path);
        r = search(&s, &stopped);
        assert_int_equal(r.verdict, SEARCH_LIMIT);
        assert_int_equal(r.limit, SEARCH_STOPPED);
        assert_true(r.alone);
        r = search(&s, &few);
        assert_int_equal(r.verdict, options.walks ? SEARCH_OK : SEARCH_LIMIT);
        assert_int_equal(r.limit, options.walks ? SEARCH_NO_LIMIT : SEARCH_STATES);
        assert_false(r.alone);
        free(r.path);
        r = search(&s, &little);
        assert_int_equal(r.verdict, SEARCH_FAILED);
        assert_in_range(r.least, 1000, 100 << 20);
    }
    hark_scenario_free(&s);
}

/* With what it takes at least a search begins; and what a limit of memory leaves of it is not
 * whole. */
static void least_memory(void **state)
{
    struct hark_scenario s = read_scenario("protocol hydee\np0: S1 T1 S1\np1: R S0 R\nfails any\n");
    struct search_options options = {.jobs = 1, .most_bytes = 1};
    (void)state;
    struct search_result r = search(&s, &options);
    assert_int_equal(r.verdict, SEARCH_FAILED);
    options.most_bytes = r.least;
    r = search(&s, &options);
    assert_int_equal(r.verdict, SEARCH_LIMIT);
    assert_int_equal(r.limit, SEARCH_MEMORY);
    assert_true(r.transitions > 0);
    hark_scenario_free(&s);
}

static struct job job_of(uint32_t a, uint32_t b)
{
    return (struct job){{a, a * 3, a ^ a >> 3, b, b + 7}};
}

/* Beyond every size of a piece; many have a half in common. */
static void many_states(void **state)
{
    enum { MANY_STATES = (1 << TABLE_LARGEST) * 2 + 12345, HALVES = 4096 };
    struct states q;
    struct job_step step = {STEP_FRAME, 3, 0};
    uint32_t row[5];
    (void)state;
    states_open(&q, 5, 3, 1);
    struct job first = job_of(0, 0);
    assert_int_equal(states_find(&q, &first), -1);
    for (uint32_t i = 0; i < MANY_STATES; i++) {
        struct job job = job_of(i % HALVES, i / HALVES);
        step.index = (uint16_t)i;
        if (states_add(&q, &job, i / 2, step) != 0 || q.count != i + 1)
            fail_msg("state %u is not new", i);
        if (i % 1000 == 0 && (states_add(&q, &job, 0, step) != 0 || q.count != i + 1))
            fail_msg("state %u is new again", i);
    }
    assert_int_equal(q.half[0].count, HALVES);
    assert_int_equal(q.half[1].count, (MANY_STATES + HALVES - 1) / HALVES);
    assert_in_range(states_bytes(&q), (uint64_t)MANY_STATES * 16, (uint64_t)MANY_STATES * 28);
    for (uint32_t i = 0; i < MANY_STATES; i++) {
        struct job job = job_of(i % HALVES, i / HALVES);
        struct job_step before = states_step(&q, i);
        if (states_find(&q, &job) != (int64_t)i) fail_msg("state %u is not found", i);
        states_get(&q, i, row);
        if (memcmp(row, job.at, sizeof row) != 0 || states_before(&q, i) != i / 2 ||
            before.index != (uint16_t)i || before.who != 3)
            fail_msg("state %u is another", i);
        job.at[i % 5] ^= 1u << 31;
        if (states_find(&q, &job) != -1) fail_msg("what is not there is found beside state %u", i);
    }
    states_free(&q);
    assert_int_equal(states_bytes(&q), 0);
}

/* Together, in their order: of equal ones the first is new. */
static void states_together(void **state)
{
    enum { TOGETHER = 100 };
    struct states q;
    struct job job[TOGETHER];
    struct states_new new[TOGETHER];
    (void)state;
    states_open(&q, 5, 2, 1);
    for (uint32_t i = 0; i < TOGETHER; i++) {
        job[i] = job_of(i / 2, i / 2 % 7);
        new[i] = (struct states_new){job[i].at, i, {STEP_APP, 1, (uint16_t)i}};
    }
    assert_int_equal(states_put(&q, new, TOGETHER), 0);
    assert_int_equal(q.count, TOGETHER / 2);
    for (uint32_t i = 0; i < TOGETHER / 2; i++) {
        assert_int_equal(states_find(&q, &job[2 * i]), i);
        assert_int_equal(states_before(&q, i), 2 * i);
        states_fetch(&q, i + 4);
    }
    assert_int_equal(states_put(&q, new, TOGETHER), 0);
    assert_int_equal(q.count, TOGETHER / 2);
    states_free(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(other_ends), cmocka_unit_test(not_whole),
        cmocka_unit_test(least_memory), cmocka_unit_test(many_states),
        cmocka_unit_test(states_together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
