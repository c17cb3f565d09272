/* Every row of the table of signals in hark-run(1), and what an inherited mask or an ignored signal
 * does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

#define RUN(...)                                                                                   \
    run_command(r, (const char *const[]){HARK_COMMAND, "run", "-n", "2", __VA_ARGS__, NULL})
#define START(...)                                                                                 \
    run_start(r, (const char *const[]){HARK_COMMAND, "run", "-n", "2", __VA_ARGS__, NULL})

static void up(const struct run *r)
{
    run_wait_for(r, "up.0");
    run_wait_for(r, "up.1");
}

static void anew(struct run *r)
{
    static const char *const names[] = {"up.0", "up.1", "go", "far.0"};
    char path[600];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", r->place, names[i]);
        unlink(path);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

static void ends(void **state)
{
    static const int number[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGALRM, SIGVTALRM,
        SIGPROF, SIGPOLL, SIGPWR, SIGSTKFLT};
    struct run *r = *state;
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++) {
        char line[80] = "";
        anew(r);
        START("--", HARK_OBEDIENT, "make=up", "steps-until=go");
        up(r);
        kill(r->pid, number[i]);
        run_end(r);
        assert_int_equal(r->status, 128 + number[i]);
        if (i > 3)
            snprintf(
                line, sizeof line, "hark: SIG%s came: the run ends\n", sigabbrev_np(number[i]));
        assert_string_equal(r->err, line);
    }
}

static void is_passed_on(void **state)
{
    static const int number[] = {SIGUSR1, SIGUSR2};
    struct run *r = *state;
    for (size_t i = 0; i < 2; i++) {
        char word[20], name[40], line[100];
        snprintf(word, sizeof word, "1:catch=%d", number[i]);
        snprintf(name, sizeof name, "caught.%d.1", number[i]);
        anew(r);
        START("--", HARK_OBEDIENT, word, "make=up", "steps-until=go");
        up(r);
        kill(r->pid, number[i]);
        run_wait_for(r, name); /* and rank 0, which would die of it, does not get it */
        run_make(r, "go");
        run_end(r);
        assert_int_equal(r->status, 0);
        assert_string_equal(r->err, "");

        anew(r);
        START("--", HARK_OBEDIENT, "make=up", "steps-until=go");
        up(r);
        kill(r->pid, number[i]);
        snprintf(line, sizeof line,
            "hark: SIG%s came: no process handles it, so it was passed on to none",
            sigabbrev_np(number[i]));
        run_wait_for_text(r, "err", line);
        run_make(r, "go");
        run_end(r);
        assert_int_equal(r->status, 0);
    }
}

static void changes_nothing(void **state)
{
    static const int number[] = {SIGPIPE, SIGXFSZ, SIGWINCH, SIGURG, SIGCONT};
    struct run *r = *state;
    START("--", HARK_OBEDIENT, "make=up", "steps-until=go");
    up(r);
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++) kill(r->pid, number[i]);
    run_make(r, "go");
    run_end(r);
    assert_int_equal(r->status, 0);
    assert_string_equal(r->err, "");
}

static void stops_and_goes_on(void **state)
{
    static const int number[] = {SIGTSTP, SIGTTIN, SIGTTOU};
    struct run *r = *state;
    for (size_t i = 0; i < 3; i++) {
        pid_t pid[3];
        anew(r);
        START("--", HARK_OBEDIENT, "make=up", "steps-until=go");
        up(r);
        pid[0] = r->pid;
        for (int k = 0; k < 2; k++) {
            char *text = run_read(r, k ? "up.1" : "up.0");
            pid[1 + k] = (pid_t)atoi(text);
            free(text);
        }
        kill(r->pid, number[i]);
        for (int k = 0; k < 3; k++) run_wait_for_state(pid[k], true);
        kill(r->pid, SIGCONT);
        for (int k = 0; k < 3; k++) run_wait_for_state(pid[k], false);
        run_make(r, "go");
        run_end(r);
        assert_int_equal(r->status, 0);
        assert_string_equal(r->err, "");
    }
}

/* ---- how it ends ----------------------------------------------------------------------------- */

static void the_program_ends_properly(void **state)
{
    struct run *r = *state;
    START("--grace", "1d", "--", HARK_OBEDIENT, "catch=15", "make=up", "steps-left",
        "0:print=left0", "1:print=left1");
    up(r);
    kill(r->pid, SIGTERM);
    run_end(r);
    assert_int_equal(r->status, 128 + SIGTERM);
    run_expect_lines(r, (const char *const[]){"left0", "left1", "sum 0", NULL});
    assert_string_equal(r->err, "");
}

/* It has left before its work was done: the job in the store can go on. */
static void ended_properly_it_can_be_resumed(void **state)
{
    struct run *r = *state;
    char store[600];
    snprintf(store, sizeof store, "%s/store", r->place);
    START("--store", store, "--", HARK_OBEDIENT, "catch=15", "make=up", "steps-left",
        "0:print=left0", "1:print=left1");
    up(r);
    kill(r->pid, SIGTERM);
    run_end(r);
    assert_int_equal(r->status, 128 + SIGTERM);
    anew(r);
    START("--store", store, "--resume", "--", HARK_OBEDIENT, "catch=15", "make=up", "steps-left",
        "0:print=left0", "1:print=left1");
    run_wait_for(r, "far.0"); /* it has done again what was done: from there on the signal may come
                               */
    kill(r->pid, SIGTERM);
    run_end(r);
    assert_int_equal(r->status, 128 + SIGTERM);
}

static void the_program_exits_with_a_status_of_its_own(void **state)
{
    struct run *r = *state;
    START("--grace", "1d", "--", "sh", "-c",
        "trap 'exit 3' TERM; : >$PLACE/up.0; : >$PLACE/up.1; while :; do sleep 1000 & wait; done");
    up(r);
    kill(r->pid, SIGTERM);
    run_end(r);
    assert_int_equal(r->status, 128 + SIGTERM);
    assert_string_equal(r->err, "");
}

static void the_program_ignores_it(void **state)
{
    struct run *r = *state;
    START("--grace", "100ms", "--", HARK_OBEDIENT, "ignore=15", "make=up", "steps-until=go");
    up(r);
    kill(r->pid, SIGTERM);
    run_end(r);
    assert_int_equal(r->status, 128 + SIGTERM);
    assert_string_equal(
        r->err, "hark: 2 processes have not ended within 0.1 s of SIGTERM; killed\n");
}

/* Another has ended of it: then this one has a few seconds left, however long the grace is. */
static void one_of_them_ignores_it(void **state)
{
    struct run *r = *state;
    START("--grace", "1d", "--", HARK_OBEDIENT, "0:ignore=15", "make=up", "steps-until=go");
    up(r);
    kill(r->pid, SIGTERM);
    run_end(r);
    assert_int_equal(r->status, 128 + SIGTERM);
    assert_string_equal(r->err, "");
}

static void a_second_one_ends_it_at_once(void **state)
{
    struct run *r = *state;
    START("--grace", "1d", "--", HARK_OBEDIENT, "catch=15", "catch=2", "make=up", "steps-until=go");
    up(r);
    kill(r->pid, SIGTERM);
    run_wait_for(r, "caught.15.0");
    run_wait_for(r, "caught.15.1");
    kill(r->pid, SIGINT);
    run_end(r);
    assert_int_equal(r->status, 128 + SIGTERM);
}

static void what_the_program_blocks_waits(void **state)
{
    struct run *r = *state;
    RUN("--", HARK_OBEDIENT, "steps=1", "block=10", "block=15", "steps=3");
    assert_int_equal(r->status, 0);
    run_expect_out(r, "sum 1\nsum 6\n");
    assert_string_equal(r->err, "");
}

/* ---- what is inherited ----------------------------------------------------------------------- */

static void block_all(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
}

static void a_blocked_mask(void **state)
{
    struct run *r = *state;
    r->prepare = block_all;
    RUN("--kill", "1@3", "--", HARK_OBEDIENT, "steps=20");
    assert_int_equal(r->status, 0);
    run_expect_out(r, "sum 210\n");
    START("--", HARK_OBEDIENT, "make=up", "steps-until=go");
    up(r);
    kill(r->pid, SIGTERM);
    run_end(r);
    assert_int_equal(r->status, 128 + SIGTERM);
}

static void ignore_all(void)
{
    static const int number[] = {
        SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGTSTP, SIGCHLD, SIGPIPE, SIGALRM};
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++) signal(number[i], SIG_IGN);
}

/* nohup, and the background job of a shell. */
static void ignored_signals_stay_ignored(void **state)
{
    static const int number[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGTSTP, SIGALRM};
    struct run *r = *state;
    r->prepare = ignore_all;
    START("--kill", "1@3", "--", HARK_OBEDIENT, "make=up", "steps-until=go");
    up(r);
    char *text = run_read(r, "up.0");
    pid_t process = (pid_t)atoi(text);
    free(text);
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++) {
        kill(r->pid, number[i]);
        kill(process, number[i]);
    }
    run_make(r, "go");
    run_end(r);
    assert_int_equal(r->status, 0);
    run_expect_out(r, "sum 0\n");
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, run_setup, run_teardown)
    const struct CMUnitTest tests[] = {TEST(ends), TEST(is_passed_on), TEST(changes_nothing),
        TEST(stops_and_goes_on), TEST(the_program_ends_properly),
        TEST(ended_properly_it_can_be_resumed), TEST(the_program_exits_with_a_status_of_its_own),
        TEST(the_program_ignores_it), TEST(one_of_them_ignores_it),
        TEST(a_second_one_ends_it_at_once), TEST(what_the_program_blocks_waits),
        TEST(a_blocked_mask), TEST(ignored_signals_stay_ignored)};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
