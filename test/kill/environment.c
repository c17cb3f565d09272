/* What a run may be started in: shells and wrappers, closed streams, limits, a stale environment;
 * and what it leaves there when it is killed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../fault/place.h"
#include "run.h"
#include "../../src/supervisor/supervisor.h"

#define RUN(...)   run_command(r, (const char *const[]){HARK_COMMAND, "run", __VA_ARGS__, NULL})
#define START(...) run_start(r, (const char *const[]){HARK_COMMAND, "run", __VA_ARGS__, NULL})
#define PATH(name, file)                                                                           \
    char name[600];                                                                                \
    snprintf(name, sizeof name, "%s/%s", r->place, file)

/* Of combinations, each that is tried asks: with STRIDE=3 in the environment it is every third. */
static bool chosen(void)
{
    static unsigned combinations;
    const char *stride = getenv("STRIDE");
    return combinations++ % (stride ? (unsigned)atoi(stride) : 1) == 0;
}

static void forget(const struct run *r, const char *name)
{
    PATH(path, name);
    unlink(path);
}

/* ---- wrappers -------------------------------------------------------------------------------- */

static void a_program_in_a_wrapper_is_brought_back(void **state)
{
    struct run *r = *state;
    static const char *const protocols[] = {"hydee", "coordinated", "scmel", "sendet"};
    char words[900];
    snprintf(words, sizeof words, "%s steps=20; exit $?", HARK_OBEDIENT);
    for (size_t i = 0; i < 4; i++) {
        RUN("-n", "2", "--protocol", protocols[i], "--kill", "1@5", "--", "sh", "-c", words);
        assert_int_equal(r->status, 0);
        run_expect_out(r, "sum 210\n");
        run_expect_err(r, "hark: rank 1 died (SIGKILL) after 5 deliveries;");
    }
    /* One that ends by itself with such a status once it has finished has not been lost. */
    snprintf(words, sizeof words, "%s steps=2; exit 137", HARK_OBEDIENT);
    RUN("-n", "1", "--", "sh", "-c", words);
    assert_int_equal(r->status, 1);
    run_expect_err(r, "hark: rank 0 exited with status 137\n");
}

/* ---- the environment ------------------------------------------------------------------------- */

static void a_stale_variable(void **state)
{
    struct run *r = *state;
    static const char *const stale[] = {"7", "7:4711", "0:1", "-3:1", "x", ""};
    for (size_t i = 0; i < sizeof stale / sizeof stale[0]; i++) {
        char line[160], variable[40];
        snprintf(variable, sizeof variable, "HARK_CONTROL=%s", stale[i]);
        run_command(
            r, (const char *const[]){"/usr/bin/env", variable, HARK_OBEDIENT, "steps=3", NULL});
        snprintf(line, sizeof line,
            "hark: HARK_CONTROL=%s is of another process, not of this one: this one runs alone, as "
            "a job of one\n",
            stale[i]);
        assert_string_equal(r->err, line);
        assert_int_equal(r->status, 0);
        run_expect_out(r, "sum 6\n");
    }
}

/* Another program of hark that a process of the job starts is a job of its own. */
static void a_program_within_a_process(void **state)
{
    struct run *r = *state;
    char words[2000];
    snprintf(words, sizeof words, "%s steps=3; exec %s steps=4", HARK_OBEDIENT, HARK_OBEDIENT);
    run_command(r, (const char *const[]){"/bin/sh", "-c", words, NULL});
    assert_int_equal(r->status, 0);
    run_expect_out(r, "sum 6\nsum 10\n");
    RUN("-n", "2", "--", HARK_OBEDIENT, "steps=3", "0:system=" HARK_OBEDIENT " steps=4");
    assert_int_equal(r->status, 0);
    run_expect_lines(r, (const char *const[]){"sum 6", "sum 10", NULL});
    assert_string_equal(r->err, "");
}

static void an_empty_environment(void **state)
{
    struct run *r = *state;
    RUN("-n", "2", "--kill", "1@5", "--", HARK_OBEDIENT, "clear-environment-first", "steps=20");
    assert_int_equal(r->status, 0);
    run_expect_out(r, "sum 210\n");
}

/* run_end looks whether anything is left. */
static void a_job_of_one_is_killed(void **state)
{
    struct run *r = *state;
    run_start(r, (const char *const[]){HARK_OBEDIENT, "make=up", "await=go", NULL});
    run_wait_for(r, "up.0");
    kill(r->pid, SIGKILL);
    run_end(r);
    assert_int_equal(r->status, 256 + SIGKILL);
}

/* ---- streams --------------------------------------------------------------------------------- */

static void close_in(void)
{
    close(0);
}
static void close_out(void)
{
    close(1);
}
static void close_err(void)
{
    close(2);
}
static void close_all(void)
{
    for (int i = 0; i < 3; i++) close(i);
}

static void closed_streams(void **state)
{
    struct run *r = *state;
    static void (*const closing[])(void) = {close_in, close_out, close_err, close_all};
    static const char *const protocols[] = {"hydee", "coordinated", "scmel"};
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 3; k++) {
            if (!chosen()) continue;
            forget(r, "json");
            PATH(json, "json");
            r->prepare = closing[i];
            RUN("-n", "4", "--protocol", protocols[k], "--kill", "1@7", "--json", json, "--",
                HARK_OBEDIENT, "steps=20");
            assert_int_equal(r->status, 0);
            run_expect_out(r, i % 2 ? "" : "sum 210\n");
            char *figures = run_read(r, "json");
            assert_non_null(strstr(figures, "\"kind\": \"SIGKILL\""));
            free(figures);
        }
}

/* The program closes its own, before hark_init or behind it: nothing of hark takes their place,
 * also when it goes back. */
static void streams_that_the_program_closes(void **state)
{
    struct run *r = *state;
    static const char *const protocols[] = {"hydee", "coordinated", "scmel"}, *const transports[] =
                                                                                  {"shm", "uv"};
    static const char *const closes[] = {
        "close-first=0", "close-first=1", "close-first=012", "print=x"};
    PATH(store, "store");
    for (size_t i = 0; i < 24; i++) {
        const char *closing = closes[i / 6];
        if (!chosen()) continue;
        place_remove(store);
        RUN("-n", "4", "--protocol", protocols[i % 3], "--transport", transports[i / 3 % 2],
            "--store", store, "--interval", "20ms", "--kill", "1@100", "--", HARK_OBEDIENT, closing,
            i >= 18 ? "close=0" : "steps=1", i >= 18 ? "close=1" : "steps=1",
            i >= 18 ? "close=2" : "steps=1", i >= 18 ? "expect-closed=012" : "steps=1", "steps=100",
            i >= 12  ? "expect-closed=012"
            : i >= 6 ? "expect-closed=1"
                     : "expect-closed=0");
        if (r->status)
            fail_msg("%s, --protocol %s --transport %s: status %d\n%s", closing, protocols[i % 3],
                transports[i / 3 % 2], r->status, r->err);
        run_expect_err(r, "hark: rank 1 died (SIGKILL) after 100 deliveries;");
    }
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void limit(__rlimit_resource_t what, rlim_t n)
{
    struct rlimit l = {n, n};
    if (setrlimit(what, &l) < 0) _exit(95);
}
static void few_descriptors(void)
{
    limit(RLIMIT_NOFILE, 64);
}
static void fewest_descriptors(void)
{
    limit(RLIMIT_NOFILE, 12);
}
static void small_files(void)
{
    limit(RLIMIT_FSIZE, 700 << 10);
}
static void low_soft_limit(void)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_max < 256) return;
    l.rlim_cur = 64;
    (void)setrlimit(RLIMIT_NOFILE, &l);
}

static void limits(void **state)
{
    struct run *r = *state;
    static const char *const transports[] = {"shm", "uv"};
    for (size_t i = 0; i < 2; i++) {
        r->prepare = few_descriptors;
        RUN("-n", "8", "--transport", transports[i], "--kill", "1@7", "--", HARK_OBEDIENT,
            "steps=20");
        assert_int_equal(r->status, 0);
        run_expect_out(r, "sum 210\n");
        r->prepare = low_soft_limit;
        RUN("-n", "24", "--transport", transports[i], "--kill", "1@7", "--", HARK_OBEDIENT,
            "steps=20");
        assert_int_equal(r->status, 0);
        run_expect_out(r, "sum 210\n");
    }
    r->prepare = few_descriptors;
    RUN("-n", "40", "--", HARK_OBEDIENT, "steps=20");
    assert_int_equal(r->status, 2);
    run_expect_err(r, "Too many open files; hark needs four descriptors for each process: raise "
                      "the limit (ulimit -n)\n");
    r->prepare = fewest_descriptors;
    RUN("-n", "2", "--", HARK_OBEDIENT, "steps=20");
    assert_int_equal(r->status, 1);
    run_expect_err(r, "hark: cannot make an event loop: Too many open files; hark needs some "
                      "twenty descriptors, and four for each process: raise the limit (ulimit "
                      "-n)\n");
}

/* A send whose log is full waits, and hears meanwhile that nothing can come of it. */
static void a_log_that_is_full(void **state)
{
    struct run *r = *state;
    RUN("-n", "2", "--protocol", "scmel", "--interval", "0", "--log-limit", "64K", "--",
        HARK_OBEDIENT, "much=1000000");
    assert_int_equal(r->status, 1);
    run_expect_err(r,
        ": the payload log is full: 1000 bytes more would go over its limit of 65536, "
        "and no receiver can checkpoint; a larger --log-limit, --spill DIR, or more frequent "
        "checkpoint calls help\n");
}

/* Checkpoints that are asked for are not late, though images are written behind the program. */
static void a_log_that_runs_full(void **state)
{
    struct run *r = *state;
    RUN("-n", "4", "--clusters", "4", "--interval", "0", "--log-limit", "256K", "--", HARK_OBEDIENT,
        "checked=3000000");
    assert_int_equal(r->status, 0);
    run_expect_err(r, "");
}

/* No death by SIGXFSZ, of no process and not of hark: a write that does not fit is said like one on
 * a full disk. */
static void a_limit_of_files(void **state)
{
    struct run *r = *state;
    PATH(store, "store");
    PATH(spill, "spill");
    r->prepare = small_files;
    RUN("-n", "4", "--interval", "1ms", "--store", store, "--log-limit", "64K", "--spill", spill,
        "--kill", "1@7", "--", HARK_OBEDIENT, "steps=50");
    assert_int_equal(r->status, 0);
    run_expect_out(r, "sum 1275\n");
    PATH(trace, "trace");
    RUN("-n", "2", "--trace", trace, "--", HARK_OBEDIENT, "steps=20000");
    if (strstr(r->err, "SIGXFSZ")) fail_msg("%s", r->err);
    assert_true(r->status == 0 || r->status == 1);
}

/* ---- deaths without end ---------------------------------------------------------------------- */

/* Here and there in turn, never further than before. */
static void deaths_without_progress(void **state)
{
    struct run *r = *state;
    static char word[24][24];
    const char *words[64] = {
        HARK_COMMAND, "run", "-n", "2", "--protocol", "coordinated", "--", HARK_FAKE_PROCESS};
    size_t n = 8;
    for (int i = 0; i < 24; i++) {
        snprintf(word[i], sizeof word[i], "i%d:deliver=%d", i, i % 2 ? 4 : 9);
        words[n++] = word[i];
    }
    words[n++] = "1:die=11";
    words[n++] = "finish";
    run_command(r, words);
    assert_int_equal(r->status, 1);
    run_expect_err(r, "hark: rank 1 died (SIGSEGV) 20 times in a row without getting further, ");
}

/* Each time a little further: it is brought back as often as it takes. */
static void deaths_with_progress(void **state)
{
    struct run *r = *state;
    static char word[48][24];
    const char *words[64] = {
        HARK_COMMAND, "run", "-n", "2", "--protocol", "coordinated", "--", HARK_FAKE_PROCESS};
    size_t n = 8;
    for (int i = 0; i < 24; i++) {
        snprintf(word[2 * i], sizeof word[0], "i%d:deliver=%d", i, 3 + i);
        words[n++] = word[2 * i];
        snprintf(word[2 * i + 1], sizeof word[0], "i%d:1:die=11", i);
        words[n++] = word[2 * i + 1];
    }
    words[n++] = "finish";
    run_command(r, words);
    assert_int_equal(r->status, 0);
}

/* ---- checkpoints on demand ------------------------------------------------------------------- */

static void a_checkpoint_on_demand(void **state)
{
    struct run *r = *state;
    static const char *const protocols[] = {
        "hydee", "coordinated", "scmel", "team", "camel", "sendet"};
    for (size_t i = 0; i < 6; i++) {
        forget(r, "go");
        forget(r, "up.0");
        START("-n", "4", "--protocol", protocols[i], "--interval", "0", "--checkpoint-on", "USR1",
            "--", HARK_OBEDIENT, "make=up", "steps-until=go");
        run_wait_for(r, "up.0");
        kill(r->pid, SIGUSR1);
        run_wait_for_text(
            r, "err", "hark: the checkpoint that SIGUSR1 asked for is taken; the run goes on\n");
        run_make(r, "go");
        run_end(r);
        assert_int_equal(r->status, 0);
        run_expect_out(r, "sum 0\n");
    }
}

/* "Give the same command until it succeeds." */
static void then_stop_and_resume(void **state)
{
    struct run *r = *state;
    static const char *const protocols[] = {
        "hydee", "coordinated", "scmel", "team", "camel", "sendet"};
    for (size_t i = 0; i < 6; i++) {
        char store[700], *all = calloc(1, 4096);
        int status = HARK_RUN_AGAIN, runs = 0;
        snprintf(store, sizeof store, "%s/store.%s", r->place, protocols[i]);
        forget(r, "go");
        for (; status == HARK_RUN_AGAIN && runs < 5; runs++) {
            forget(r, "up.0");
            forget(r, "far.0");
            START("-n", "4", "--protocol", protocols[i], "--interval", "0", "--checkpoint-on",
                "SIGTERM", "--then-stop", "--store", store, "--resume", "--", HARK_OBEDIENT,
                "make=up", "steps-until=go", "0:print=end");
            run_wait_for(r, "up.0");
            if (runs == 2) {
                run_wait_for(r, "far.0");
                run_make(r, "go");
            }
            if (runs < 2) kill(r->pid, SIGTERM);
            run_end(r);
            status = r->status;
            strcat(all, r->out);
        }
        assert_int_equal(status, 0);
        assert_int_equal(runs, 3);
        assert_string_equal(all, "sum 0\nend\n");
        free(all);
        RUN("-n", "4", "--protocol", protocols[i], "--interval", "0", "--store", store, "--resume",
            "--", HARK_OBEDIENT, "make=up", "steps-until=go", "0:print=end");
        assert_int_equal(r->status, 0);
        run_expect_err(r, ": the job in it has finished already; there is nothing to do\n");
        run_expect_out(r, "");
    }
}

static void another_spelling_of_the_program(void **state)
{
    struct run *r = *state;
    PATH(store, "store");
    PATH(link, "same");
    assert_int_equal(symlink(HARK_OBEDIENT, link), 0);
    START("-n", "2", "--store", store, "--checkpoint-on", "USR2", "--then-stop", "--",
        HARK_OBEDIENT, "make=up", "steps-until=go");
    run_wait_for(r, "up.0");
    kill(r->pid, SIGUSR2);
    run_end(r);
    assert_int_equal(r->status, HARK_RUN_AGAIN);
    forget(r, "far.0");
    START("-n", "2", "--store", store, "--resume", "--", link, "make=up", "steps-until=go");
    run_wait_for(r, "far.0");
    run_make(r, "go");
    run_end(r);
    assert_int_equal(r->status, 0);
}

/* ---- what is left when it is killed ---------------------------------------------------------- */

static void a_trace_of_a_run_that_is_killed(void **state)
{
    struct run *r = *state;
    PATH(trace, "trace");
    PATH(picture, "picture.svg");
    FILE *f = fopen(trace, "we");
    assert_non_null(f);
    fputs("an older one\n", f);
    fclose(f);
    START(
        "-n", "2", "--trace", trace, "--", HARK_OBEDIENT, "steps=20", "make=up", "steps-until=go");
    run_wait_for(r, "up.0");
    char *text = run_read(r, "trace");
    assert_string_equal(text, "an older one\n"); /* until there is something better */
    free(text);
    kill(r->pid, SIGKILL);
    run_end(r);
    text = run_read(r, "trace");
    assert_non_null(strstr(text, "hark-trace 1 ranks=2 protocol=hydee transport=shm"));
    assert_non_null(strstr(text, " deliver from="));
    free(text);
    run_command(r, (const char *const[]){HARK_COMMAND, "trace", trace, "--svg", picture, NULL});
    assert_int_equal(r->status, 0);
    run_expect_err(r, ": the run did not end, hark was killed; this is what was known by then\n");
    run_wait_for(r, "picture.svg");
}

/* The file is not made before there is something to write. */
static void a_run_that_can_not_begin_leaves_no_files(void **state)
{
    struct run *r = *state;
    PATH(trace, "trace");
    PATH(json, "json");
    PATH(store, "no/where");
    RUN("-n", "2", "--trace", trace, "--json", json, "--store", store, "--", HARK_OBEDIENT);
    assert_int_equal(r->status, 2);
    assert_int_equal(access(trace, F_OK), -1);
    assert_int_equal(access(json, F_OK), -1);
}

static void spilled_logs_are_removed(void **state)
{
    struct run *r = *state;
    PATH(spill, "spill");
    static const int number[] = {0, SIGTERM, SIGKILL};
    for (size_t i = 0; i < 3; i++) {
        forget(r, "go");
        forget(r, "up.0");
        START("-n", "2", "--protocol", "scmel", "--interval", "0", "--log-limit", "64K", "--spill",
            spill, "--", HARK_OBEDIENT, "much=1000000", "make=up", "await=go", "exit=5");
        run_wait_for(r, "up.0");
        char path[700];
        struct dirent *e;
        int files = 0;
        DIR *d = opendir(spill);
        while (d && (e = readdir(d)) != NULL) {
            snprintf(path, sizeof path, "%s/%.90s", spill, e->d_name);
            if (e->d_name[0] != '.') files += place_count(path);
        }
        if (d) closedir(d);
        assert_true(files > 0);
        if (number[i]) kill(r->pid, number[i]);
        else run_make(r, "go");
        run_end(r);
        assert_int_equal(place_count(spill), 0);
    }
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, run_setup, run_teardown)
    const struct CMUnitTest tests[] = {TEST(a_program_in_a_wrapper_is_brought_back),
        TEST(a_stale_variable), TEST(a_program_within_a_process), TEST(an_empty_environment),
        TEST(a_job_of_one_is_killed), TEST(closed_streams), TEST(streams_that_the_program_closes),
        TEST(limits), TEST(a_log_that_is_full), TEST(a_log_that_runs_full), TEST(a_limit_of_files),
        TEST(deaths_without_progress), TEST(deaths_with_progress), TEST(a_checkpoint_on_demand),
        TEST(then_stop_and_resume), TEST(another_spelling_of_the_program),
        TEST(a_trace_of_a_run_that_is_killed), TEST(a_run_that_can_not_begin_leaves_no_files),
        TEST(spilled_logs_are_removed)};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
