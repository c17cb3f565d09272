/* Those that go back though they live: they stay the process that they are, execute their program
 * again, and the answer is the one of an undisturbed run; those that can not are killed and started
 * again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hark/registry.h"
#include "../fault/place.h"
#include "run.h"
#include "../../src/supervisor/supervisor.h"
#include "../../src/control/transports.h"

enum { LAPS = 20 };
#define BEGIN_IN(ms)                                                                               \
    HARK_COMMAND, "run", "-n", "4", "--clusters", "2", "--interval", "1ms", "--json", json,        \
        "--option", "answer-ms=" ms
#define BEGIN BEGIN_IN("50000") /* longer than a test may last, so that no slow machine decides */
#define ARGV(...)                                                                                  \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static char json[600];

static int setup(void **state)
{
    if (run_setup(state) < 0) return -1;
    if (close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
        return -1; /* whatever the one who tests has open */
    snprintf(json, sizeof json, "%s/json", ((struct run *)*state)->place);
    return 0;
}

static void again(struct run *r) /* a place as new */
{
    place_remove(r->place);
    assert_int_equal(mkdir(r->place, 0700), 0);
}

static void expect_answer(const struct run *r)
{
    static char text[LAPS + 4][64];
    const char *line[LAPS + 5];
    int n = 0;
    for (int lap = 1; lap <= LAPS; lap++)
        snprintf(text[n++], 64, "lap %d: token %d", lap, lap * 10);
    snprintf(text[n++], 64, "rank 0: token %d", LAPS * 10);
    for (int rank = 1, token = LAPS * 10 - 10; rank < 4; rank++)
        snprintf(text[n++], 64, "rank %d: token %d", rank, token += rank + 1);
    for (int i = 0; i < n; i++) line[i] = text[i];
    line[n] = NULL;
    assert_int_equal(r->status, 0);
    run_expect_lines(r, line);
}

static void expect_json(const struct run *r, const char *text)
{
    char *at = run_read(r, "json");
    if (strstr(at, text) == NULL) fail_msg("expected %s in:\n%s", text, at);
    free(at);
}

struct begun { /* as lap.c notes it */
    int pid, descriptors;
    char rest[2000];
};

/* How the incarnations of a rank began: how many there are. */
static int incarnations(const struct run *r, int rank, struct begun b[4])
{
    char name[20], *next, *line;
    int n = 0, at;
    snprintf(name, sizeof name, "begun.%d", rank);
    char *text = next = run_read(r, name);
    while ((line = strsep(&next, "\n")) != NULL && *line) {
        assert_true(n < 4);
        assert_int_equal(sscanf(line, "%d %d %n", &b[n].pid, &b[n].descriptors, &at), 2);
        snprintf(b[n++].rest, sizeof b[0].rest, "%s", line + at);
    }
    free(text);
    return n;
}

/* The rank had two incarnations; true if it was one process. */
static bool same_process(const struct run *r, int rank)
{
    struct begun b[4];
    assert_int_equal(incarnations(r, rank, b), 2);
    return b[0].pid == b[1].pid;
}

static size_t lines_of(const char *text)
{
    size_t n = 0;
    for (; *text; text++) n += *text == '\n';
    return n;
}

/* ---- the command, real programs -------------------------------------------------------------- */

static void survivors_stay_the_process_that_they_are(void **state)
{
    struct run *r = *state;
    struct begun b[4];
    static const char *const transports[] = {"shm", "uv"};
    for (size_t t = 0; t < 2; again(r), t++) {
        run_command(r, ARGV(BEGIN, "--transport", transports[t], "--protocol", "coordinated", "--",
                           HARK_LAP, "20", "1:15:die=9"));
        expect_answer(r);
        assert_false(same_process(r, 1));
        for (int rank = 0; rank < 4; rank++)
            if (rank != 1) assert_true(same_process(r, rank));
        expect_json(r, "\"restarted_ranks\": [0, 1, 2, 3]");
        assert_int_equal(lines_of(r->err), 2); /* died, recovered */
        again(r);
        run_command(r, ARGV(BEGIN, "--transport", transports[t], "--protocol", "hydee", "--",
                           HARK_LAP, "20", "1:15:die=9"));
        expect_answer(r);
        assert_true(same_process(r, 0));
        assert_false(same_process(r, 1));
        assert_int_equal(incarnations(r, 2, b), 1);
        expect_json(r, "\"restarted_ranks\": [0, 1]");
        assert_int_equal(lines_of(r->err), 2);
    }
}

/* What it had open, ignored, blocked, set and where it was is not the next incarnation's. */
static void it_begins_as_it_had_begun(void **state)
{
    struct run *r = *state;
    struct begun b[4];
    run_command(
        r, ARGV(BEGIN, "--", HARK_LAP, "20", "0:10:disturb", "1:15:die=9", "an argument", ""));
    expect_answer(r);
    assert_int_equal(incarnations(r, 0, b), 2);
    assert_int_equal(b[0].pid, b[1].pid);
    assert_int_equal(b[0].descriptors + 1, b[1].descriptors); /* what it kept */
    assert_string_equal(b[0].rest, b[1].rest);
}

/* The file that runs is not there any more, and the script that started it is another, through
 * which the dead one comes back. The script was found in PATH. */
static void the_program_is_removed(void **state)
{
    struct run *r = *state;
    char path[5000], name[600], text[1200];
    snprintf(name, sizeof name, "%s/prog", r->place);
    snprintf(text, sizeof text, "%s/copy", r->place);
    snprintf(path, sizeof path,
        "cp %s %s && printf '#!/bin/sh\\nexec \"$PLACE/copy\" \"$@\"\\n' > %s && chmod +x %s",
        HARK_LAP, text, name, name);
    assert_int_equal(system(path), 0);
    snprintf(path, sizeof path, "PATH=%s:%s", r->place, getenv("PATH"));
    run_start(
        r, ARGV("/usr/bin/env", path, BEGIN, "--", "prog", "20", "1:15:meet=met", "1:15:die=9"));
    run_wait_for(r, "met");
    assert_int_equal(unlink(text), 0);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(symlink(HARK_LAP, name), 0);
    snprintf(name, sizeof name, "%s/met.go", r->place);
    close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    run_end(r);
    expect_answer(r);
    assert_true(same_process(r, 0));
    assert_false(same_process(r, 1));
}

static void expect_could_not(struct run *r, const char *why)
{
    char line[200];
    expect_answer(r);
    assert_false(same_process(r, 0));
    snprintf(line, sizeof line,
        "hark: rank 0 can not execute its program again: %s; it is killed and started again\n",
        why);
    run_expect_err(r, line);
    assert_int_equal(lines_of(r->err), 3);
    expect_json(r, "\"restarted_ranks\": [0, 1]");
    expect_json(r, "\"troubles\": 1,");
}

/* A system call that it takes is refused: it says so, and is started again. */
static void it_can_not(void **state)
{
    struct run *r = *state;
    static const struct {
        long number;
        const char *more, *name;
    } calls[] = {{SYS_execve, "", "execve"}, {SYS_memfd_create, "", "memfd_create"},
        {SYS_close_range, "", "close_range"}, {SYS_fcntl, ".1033", "F_ADD_SEALS"}};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; again(r), i++) {
        char word[60], why[100], trace[600], *text, *at;
        snprintf(word, sizeof word, "0:10:refuse=%ld%s", calls[i].number, calls[i].more);
        snprintf(trace, sizeof trace, "%s/trace", r->place);
        run_command(r, ARGV(BEGIN, "--trace", trace, "--", HARK_LAP, "20", word, "1:15:die=9"));
        snprintf(why, sizeof why, "%s: Operation not permitted", calls[i].name);
        expect_could_not(r, why);
        text = run_read(r, "trace"); /* it is the same incarnation that begins then, once */
        at = strstr(text, " 0.1 restart ");
        assert_non_null(at);
        assert_null(strstr(at + 1, " 0.1 restart "));
        free(text);
    }
}

/* What it has started would not end with it; killed, it takes that along. */
static void it_has_started_processes(void **state)
{
    struct run *r = *state;
    run_command(r, ARGV(BEGIN, "--", HARK_LAP, "20", "0:10:fork", "1:15:die=9"));
    expect_could_not(r, "processes that it has started are still there");
}

static void a_stopped_one_is_killed(void **state)
{
    struct run *r = *state;
    struct begun b[4];
    run_start(r, ARGV(BEGIN_IN("100"), "--", HARK_LAP, "20", "0:10:stop=stopped"));
    run_wait_for(r, "stopped");
    assert_int_equal(incarnations(r, 1, b), 1);
    assert_int_equal(kill(b[0].pid, SIGKILL), 0);
    run_end(r);
    expect_answer(r);
    assert_false(same_process(r, 0));
    run_expect_err(
        r, "hark: rank 0 does not go back by itself in 100 ms; it is killed and started again\n");
    expect_json(r, "\"restarted_ranks\": [0, 1]");
}

/* ---- what is kept, by a protocol that looks at it -------------------------------------------- */

static int supervise(void *argument)
{
    const char *const *words = argument;
    struct hark_protocol kept = *hark_protocol_named("coordinated");
    kept.name = "kept";
    /* When it takes what rank 0 has sent in the fifteenth lap: before it sends anything in that. */
    struct hark_kill killed = {1, 15, false};
    const struct hark_run_program lap = {.argv = (char *const *)(uintptr_t)words, .ranks = 4};
    struct hark_run_options o = {.ranks = 4,
        .protocol = &kept,
        .transport = hark_transport_named("shm"),
        .generations = 2,
        .interval_ms = 1,
        .answer_ms = 50000,
        .program = &lap,
        .programs = 1,
        .kill = &killed,
        .kills = 1};
    if (hark_clusters_blocks(&o.clusters, 4, 2) < 0) return 98;
    int status = hark_supervise(&o);
    hark_clusters_free(&o.clusters);
    return status;
}

static void what_it_knew_arrives(void **state)
{
    struct run *r = *state;
    run_start_main(r, supervise, (void *)(uintptr_t)ARGV(HARK_KEPT, "20"));
    run_end(r);
    expect_answer(r);
    for (int rank = 0; rank < 4; rank++) {
        char name[20];
        snprintf(name, sizeof name, "kept.%d", rank);
        char *text = run_read(r, name);
        assert_string_equal(text, rank == 0   ? "inc 0 gone 1 sent 15\n"
                                  : rank == 1 ? "nothing\n"
                                              : "inc 0 gone 1 sent 14\n");
        free(text);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, run_teardown)
    const struct CMUnitTest tests[] = {TEST(survivors_stay_the_process_that_they_are),
        TEST(it_begins_as_it_had_begun), TEST(the_program_is_removed), TEST(it_can_not),
        TEST(it_has_started_processes), TEST(a_stopped_one_is_killed), TEST(what_it_knew_arrives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
