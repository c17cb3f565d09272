/* What a search concludes from ends that are not the program's: of any way of searching the same, also where it begins again. And the table
 * of states, as it grows. */
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

/* The ends of one program are held against those of another, which has sent less: never are they all right, however often they are seen. */
static void other_ends(void **state)
{
    static const enum search_reduce ways[] = {SEARCH_WHOLE, SEARCH_REDUCED, SEARCH_COMPARED};
    struct hark_scenario less = read_scenario("protocol hydee\np0: S1 T1\np1: R S0\n");
    struct hark_scenario more = read_scenario("protocol hydee\np0: S1 T1 S1\np1: R S0 R\nfails any\n");
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
                assert_string_equal(lab_violation(r.violated), "I4: the final state is not that of a failure-free run");
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

static struct job job_of(uint32_t i)
{
    struct job job = {{0}};
    for (uint32_t k = 0; k < 5; k++) job.at[k] = i * (k + 1) ^ i >> 3 * k;
    return job;
}

/* Beyond every size of a piece. */
static void many_states(void **state)
{
    enum { MANY_STATES = (1 << STATES_LARGEST) * 2 + 12345 };
    struct states q;
    (void)state;
    states_open(&q, 5, 1);
    struct job first = job_of(0);
    assert_false(states_have(&q, &first));
    states_fetch(&q, 7);
    states_fetch_row(&q, 7);
    for (uint32_t i = 0; i < MANY_STATES; i++) {
        struct job job = job_of(i);
        struct job_step step = {STEP_FRAME, 3, (uint16_t)i};
        uint64_t hash = states_hash(&q, job.at);
        states_fetch(&q, hash);
        states_fetch_row(&q, hash);
        if (states_put(&q, job.at, hash, i / 2, step) != 1) fail_msg("state %u is not new", i);
        if (i % 1000 == 0 && states_put(&q, job.at, hash, 0, step) != 0) fail_msg("state %u is new again", i);
    }
    assert_int_equal(q.count, MANY_STATES);
    assert_true(states_bytes(&q) >= (uint64_t)MANY_STATES * 28 && states_bytes(&q) < (uint64_t)MANY_STATES * 40);
    for (uint32_t i = 0; i < MANY_STATES; i++) {
        struct job job = job_of(i);
        struct job_step step = {STEP_FRAME, 3, (uint16_t)i};
        const uint32_t *row = row_of(&q, i);
        if (states_find(&q, job.at, states_hash(&q, job.at)) != (int64_t)i) fail_msg("state %u is not found", i);
        if (memcmp(row, job.at, 20) != 0 || row[5] != i / 2 || memcmp(&row[6], &step, sizeof step) != 0) fail_msg("state %u is another", i);
        job.at[4] ^= 1u << 31;
        if (states_have(&q, &job)) fail_msg("what is not there is found beside state %u", i);
    }
    states_free(&q);
    assert_int_equal(states_bytes(&q), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(other_ends), cmocka_unit_test(many_states)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
