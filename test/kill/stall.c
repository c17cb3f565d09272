/* A run that stands still says who waits where; one that computes is never accused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

#define START(...) run_start(r, (const char *const[]){HARK_COMMAND, "run", __VA_ARGS__, NULL})
#define RUN(...)                                                                                   \
    run_command(                                                                                   \
        r, (const char *const[]){HARK_COMMAND, "run", "--stall-limit", "1s", __VA_ARGS__, NULL})
#define STALLED "hark: nothing moves: every process waits\n"
#define LIMIT   "hark: nothing has moved for 1 s (--stall-limit): the run ends\n"

static void expect_stall(const struct run *r, const char *lines)
{
    char whole[4096];
    snprintf(whole, sizeof whole, STALLED "%s" LIMIT, lines);
    assert_string_equal(r->err, whole);
    assert_int_equal(r->status, 1);
}

/* Without a limit it is said, once, and the run waits. */
static void it_is_said_once(void **state)
{
    struct run *r = *state;
    START("-n", "3", "--", HARK_OBEDIENT, "0:recv=1.7");
    run_wait_for_text(r, "err", "--stall-limit");
    kill(r->pid, SIGTERM);
    run_end(r);
    assert_string_equal(r->err,
        STALLED "hark:   rank 0 waits in hark_recv for a message of rank 1 with tag 7\n"
                "hark:   ranks 1-2 wait in hark_finalize until all processes have called it\n"
                "hark:   rank 1 has called hark_finalize and sends nothing any more: rank 0 waits "
                "for a message that was "
                "never sent\n"
                "hark:   the program stands still by itself; Ctrl-C ends it, and --stall-limit T "
                "would after that time\n");
    assert_int_equal(r->status, 128 + SIGTERM);
}

static void every_call_is_named(void **state)
{
    struct run *r = *state;
    RUN("-n", "8", "--", HARK_OBEDIENT, "7:send=0.9", "0:recv=7.8", "1:wait=0.3", "2:probe=-1.4",
        "3:any-of=3", "4:reduce", "4:barrier", "5:recv=0.-1", "6:recv=0.-1", "7:barrier");
    expect_stall(r, "hark:   rank 0 waits in hark_recv for a message of rank 7 with tag 8; a "
                    "message of rank 7 with "
                    "tag 9 has come, and no "
                    "receive takes it\n"
                    "hark:   rank 1 waits in hark_wait for a message of rank 0 with tag 3\n"
                    "hark:   rank 2 waits in hark_probe for a message of any rank with tag 4\n"
                    "hark:   rank 3 waits in hark_waitany for one of 3 messages\n"
                    "hark:   rank 4 waits in hark_reduce for rank 5\n"
                    "hark:   ranks 5-6 wait in hark_recv for a message of rank 0 with any tag\n"
                    "hark:   rank 7 waits in hark_barrier for rank 6\n");
}

static void checkpoint_calls_that_differ(void **state)
{
    struct run *r = *state;
    static const struct {
        const char *protocol, *whom;
    } some[] = {{"scmel", "all processes"}, {"coordinated", "all processes"},
        {"team", "all processes"}, {"camel", "all processes"},
        {"hydee", "the processes of a cluster"}};
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        char lines[1024];
        /* An interval of 1 ms is over at every call: the only one of rank 0 begins a checkpoint,
         * before the others can come to theirs. */
        RUN("-n", "4", "--clusters", "2", "--protocol", some[i].protocol, "--interval", "1ms", "--",
            HARK_OBEDIENT, "1:recv=0.2", "2:recv=0.2", "3:recv=0.2", "checkpoint", "0:send=1.2",
            "0:send=2.2", "0:send=3.2");
        snprintf(lines, sizeof lines,
            "hark:   rank 0 waits in its 1st hark_checkpoint call for the other processes' call of "
            "that number\n"
            "hark:   ranks 1-3 wait in hark_recv for a message of rank 0 with tag 2\n"
            "hark:   rank 0 has called hark_checkpoint 1 time, rank%s 0 times: under %s %s must "
            "call it equally "
            "often; see hark-run(1), "
            "CHECKPOINTS\n",
            some[i].whom[0] == 'a' ? "s 1-3" : " 1", some[i].protocol, some[i].whom);
        expect_stall(r, lines);
    }
}

/* Rank 0 is a cluster of its own: those of the other one are not all processes. */
static void checkpoint_calls_in_one_cluster(void **state)
{
    struct run *r = *state;
    char clusters[600];
    snprintf(clusters, sizeof clusters, "%s/clusters", r->place);
    FILE *f = fopen(clusters, "we");
    assert_non_null(f);
    fputs("0\n1-3\n", f);
    fclose(f);
    RUN("-n", "4", "--clusters", clusters, "--protocol", "hydee", "--interval", "1ms", "--",
        HARK_OBEDIENT, "0:recv=1.2", "2:recv=1.2", "3:recv=1.2", "checkpoint", "1:send=0.2",
        "1:send=2.2", "1:send=3.2");
    expect_stall(r,
        "hark:   ranks 0 2-3 wait in hark_recv for a message of rank 1 with tag 2\n"
        "hark:   rank 1 waits in its 1st hark_checkpoint call for the other processes' call of "
        "that number\n"
        "hark:   rank 1 has called hark_checkpoint 1 time, ranks 2-3 0 times: under hydee the "
        "processes of a cluster must call it equally often; see hark-run(1), CHECKPOINTS\n");
}

/* One process computes, the others wait for it: as long as it likes. */
static void a_computation_is_not_accused(void **state)
{
    struct run *r = *state;
    START("-n", "3", "--stall-limit", "1ms", "--", HARK_OBEDIENT, "make=up", "0:await=go",
        "barrier", "0:print=done");
    for (int i = 0; i < 3; i++) {
        char name[8];
        snprintf(name, sizeof name, "up.%d", i);
        run_wait_for(r, name);
    }
    (void)poll(NULL, 0, 3000); /* not for anything to happen: for it not to */
    run_make(r, "go");
    run_end(r);
    assert_int_equal(r->status, 0);
    run_expect_out(r, "done\n");
    assert_string_equal(r->err, "");
}

/* One that is stopped, too. */
static void one_that_is_stopped_is_not_accused(void **state)
{
    struct run *r = *state;
    START("-n", "2", "--stall-limit", "1ms", "--", HARK_OBEDIENT, "0:await=go", "make=up",
        "1:send=0.1", "0:recv=1.1");
    run_wait_for(r, "up.1");
    run_make(r, "go");
    run_wait_for(r, "up.0");
    char *text = run_read(r, "up.0");
    pid_t process = (pid_t)atoi(text);
    free(text);
    run_end(r);
    assert_int_equal(r->status, 0);
    START("-n", "2", "--stall-limit", "1ms", "--", HARK_OBEDIENT, "1:make=here", "1:recv=0.1",
        "0:make=there", "0:await=gone", "0:send=1.1");
    run_wait_for(r, "there.0");
    text = run_read(r, "there.0");
    process = (pid_t)atoi(text);
    free(text);
    kill(process, SIGSTOP);
    (void)poll(NULL, 0, 2500); /* not for anything to happen: for it not to */
    run_make(r, "gone");
    kill(process, SIGCONT);
    run_end(r);
    assert_int_equal(r->status, 0);
    assert_string_equal(r->err, "");
}

/* Deadlocks of very many are told by the first. */
static void many_processes(void **state)
{
    struct run *r = *state;
    const char *words[80] = {HARK_COMMAND, "run", "--stall-limit", "1s", "-n", "32", "--protocol",
        "none", "--", HARK_OBEDIENT};
    static char word[32][24];
    size_t n = 10;
    for (int i = 0; i < 32; i++) {
        snprintf(word[i], sizeof word[i], "%d:recv=%d.0", i, (i + 1) % 32);
        words[n++] = word[i];
    }
    run_command(r, words);
    assert_int_equal(r->status, 1);
    run_expect_err(r, "hark:   rank 11 waits in hark_recv for a message of rank 12 with tag 0\n"
                      "hark:   and 20 processes more, each elsewhere\n" LIMIT);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, run_setup, run_teardown)
    const struct CMUnitTest tests[] = {TEST(it_is_said_once), TEST(every_call_is_named),
        TEST(checkpoint_calls_that_differ), TEST(checkpoint_calls_in_one_cluster),
        TEST(a_computation_is_not_accused), TEST(one_that_is_stopped_is_not_accused),
        TEST(many_processes)};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
