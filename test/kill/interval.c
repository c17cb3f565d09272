/* The interval between checkpoints: as given, or as their measured cost says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run.h"
#include "../../src/process/interval.h"

static void near(double got, double expected, double error)
{
    if (got < expected - error || got > expected + error)
        fail_msg("expected %.9f, found %.9f", expected, got);
}

static double figure(const struct run *r, const char *name)
{
    char key[100];
    char *json = run_read(r, "json");
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *at = strstr(json, key);
    if (at == NULL) fail_msg("no %s in:\n%s", name, json);
    double value = strtod(at + strlen(key), NULL);
    free(json);
    return value;
}

static void run_with(struct run *r, const char *interval, const char *laps, const char *word)
{
    char json[600];
    snprintf(json, sizeof json, "%s/json", r->place);
    run_command(
        r, (const char *const[]){HARK_COMMAND, "run", "-n", "1", "--protocol", "coordinated",
               "--interval", interval, "--json", json, "--", HARK_LAP, laps, word, NULL});
    assert_int_equal(r->status, 0);
}

static void as_given(void **state)
{
    struct run *r = *state;
    static const struct {
        const char *text;
        double ms;
    } given[] = {{"0", 0}, {"20ms", 20}, {"3s", 3000}, {"5m", 300000}, {"5min", 300000},
        {"2h", 7200000}, {"1d", 86400000}};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        run_with(r, given[i].text, "1", NULL);
        near(figure(r, "interval_ms"), given[i].ms, 0);
    }
    near(figure(r, "checkpoint_cost_ms"), 0, 0);
    /* no cost is known yet: a second, or what is less */
    run_with(r, "daly:2h", "1", NULL);
    near(figure(r, "interval_ms"), 1000, 0);
    run_with(r, "daly:300ms", "1", NULL);
    near(figure(r, "interval_ms"), 300, 0);
}

/* What was measured is what is used, also by the next incarnation. As many laps as it takes until a
 * checkpoint is durable: how many that are, the disk decides. */
static void as_the_cost_says(void **state)
{
    struct run *r = *state;
    static const struct {
        const char *text;
        double ms;
    } mtbf[] = {{"daly:1ms", 1}, {"daly:5ms", 5}};
    char died[600], laps[24], word[40];
    for (size_t i = 0; i < 2; i++) {
        for (uint64_t count = 20000;; count *= 2) {
            snprintf(laps, sizeof laps, "%" PRIu64, count);
            snprintf(word, sizeof word, "0:%" PRIu64 ":die=9", count);
            run_with(r, mtbf[i].text, laps, word);
            run_expect_err(r, "hark: rank 0 died (SIGKILL) ");
            snprintf(died, sizeof died, "%s/did-2", r->place);
            unlink(died);
            if (figure(r, "checkpoints") > 0) break;
        }
        double cost = figure(r, "checkpoint_cost_ms");
        assert_true(cost > 0);
        near(figure(r, "interval_ms"), hark_daly(cost, mtbf[i].ms), 1e-5);
    }
}

/* An image that can not be written is tried again an interval later, not at each call: here none is
 * brought to the disk. */
static void none_is_durable(void **state)
{
    struct run *r = *state;
    char laps[24], word[40];
    double tried = 0;
    snprintf(word, sizeof word, "0:1:refuse=%d", SYS_fsync);
    for (uint64_t count = 20000; tried < 3; count *= 2) {
        char begun[600];
        snprintf(begun, sizeof begun, "%s/did-2", r->place);
        unlink(begun);
        snprintf(laps, sizeof laps, "%" PRIu64, count);
        run_with(r, "50ms", laps, word);
        tried = figure(r, "troubles");
        assert_true(tried <= figure(r, "elapsed_ms") / 50 + 1);
        assert_true(figure(r, "checkpoints") == 0);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, run_setup, run_teardown)
    const struct CMUnitTest tests[] = {
        TEST(as_given), TEST(as_the_cost_says), TEST(none_is_durable)};
    return cmocka_run_group_tests_name("interval of runs", tests, NULL, NULL);
}
