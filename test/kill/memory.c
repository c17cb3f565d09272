/* Every allocation of a real run fails in turn, in the supervisor and in a process: each time the
 * answer is the one of an undisturbed run, or there is one line and status 1; never a crash, never
 * a hang, and nothing is left.
 *
 *   memory [STRIDE [SEED]]   every STRIDE-th allocation only (1: all of them), beginning with one
 * that SEED chooses */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../fault/place.h"
#include "run.h"

enum { MOST = 32, LAPS = 6 };
static unsigned stride = 1, seed;

struct job {
    const char *who; /* whose allocations: see nth.c */
    bool files;   /* it was told files: it may say that it can not use one of them, with status 2 */
    bool figures; /* these are @/json and @/trace, and rank 1 is killed at its third delivery */
    bool alone;   /* no `hark run`: the words are the whole command */
    bool resumed; /* the first word is --resume; before, the same without it ends by SIGTERM when it
                     says `here` */
    const char *words[MOST]; /* of `hark run -n 2`, and of `lap`; `@` at the beginning is the test's
                                directory */
};

static const char **command(const struct run *r, const struct job *job, size_t from)
{
    static const char *argv[MOST + 10];
    static char text[MOST][700];
    size_t n = 0;
    const char *const begin[] = {
        HARK_COMMAND, "run", "-n", "2", "--clusters", "2", "--interval", "1ms"};
    for (; !job->alone && n < sizeof begin / sizeof begin[0]; n++) argv[n] = begin[n];
    for (size_t i = from; job->words[i]; i++) {
        const char *word = job->words[i];
        snprintf(text[i], sizeof text[i], "%s%s", word[0] == '@' ? r->place : "",
            word[0] == '@' ? word + 1 : word);
        argv[n++] = text[i];
    }
    argv[n] = NULL;
    return argv;
}

/* The answer, and before it what an earlier run has shown of it. */
static void expect_answer(struct run *r, const struct job *job, const char *before)
{
    static char text[LAPS + 2][64], out[sizeof r->out];
    const char *line[LAPS + 3] = {NULL};
    int n = 0, each = job->alone ? 1 : 3;
    for (; n < LAPS; n++) snprintf(text[n], 64, "lap %d: token %d", n + 1, (n + 1) * each);
    snprintf(text[n++], 64, "rank 0: token %d", LAPS * each);
    if (!job->alone) snprintf(text[n++], 64, "rank 1: token %d", LAPS * each - 1);
    for (int i = 0; i < n; i++) line[i] = text[i];
    snprintf(out, sizeof out, "%s%s", before, r->out);
    memcpy(r->out, out, sizeof out);
    run_expect_lines(r, line);
}

/* What a job with --json and --trace, whose rank 1 is killed, has written: a figure or a line less
 * would be a wrong one. */
static void expect_files(const struct run *r)
{
    char *json = run_read(r, "json"), *trace = run_read(r, "trace");
    const char *end = strstr(trace, " finish\n");
    assert_non_null(strstr(json, "{\"rank\": 1, \"at\": 3, \"kind\": \"SIGKILL\"}"));
    assert_non_null(strstr(json, "\"over\": true"));
    assert_non_null(strstr(trace, " kill\n"));
    assert_non_null(strstr(trace, " failed re="));
    assert_non_null(end);
    assert_non_null(strstr(end + 1, " finish\n")); /* of both */
    free(json);
    free(trace);
}

/* The run before a resumed one; what it has shown. */
static const char *interrupted(struct run *r, const struct job *job)
{
    static char out[sizeof r->out];
    unsetenv("HARK_TEST_FAIL");
    run_start(r, command(r, job, 1));
    run_wait_for(r, "here");
    assert_int_equal(kill(r->pid, SIGTERM), 0);
    run_end(r);
    assert_int_equal(r->status, 128 + SIGTERM);
    memcpy(out, r->out, sizeof out);
    return out;
}

/* Lines on stderr that a job with a failure does not say anyway. A process whose pipes can not be
 * watched is a failure, and comes back. */
static unsigned said(const struct run *r)
{
    unsigned n = 0;
    for (const char *at = r->err; *at; at = strchr(at, '\n') + 1) {
        assert_non_null(strchr(at, '\n'));
        bool usual = strncmp(at, "hark: recovered in ", 19) == 0 ||
                     strncmp(at, "hark: the job goes on from ", 27) == 0 ||
                     (strncmp(at, "hark: rank ", 11) == 0 &&
                         strncmp(at + 12, " died (SIGKILL) after ", 22) == 0 &&
                         strstr(at, " back to ") && strstr(at, " back to ") < strchr(at, '\n'));
        if (!usual) n++;
    }
    return n;
}

/* Not reached: the run was undisturbed. */
static bool one(struct run *r, const struct job *job, unsigned n, const char *lasting)
{
    char fail[60], mark[300];
    struct stat st;
    const char *before = job->resumed ? interrupted(r, job) : "";
    snprintf(fail, sizeof fail, "%s:%u%s", job->who, n, lasting);
    snprintf(mark, sizeof mark, "%s/mark", r->place);
    setenv("HARK_TEST_FAIL", fail, 1);
    setenv("HARK_TEST_MARK", mark, 1);
    run_command(r, command(r, job, 0));
    bool reached = stat(mark, &st) == 0;
    unsigned lines = said(r);
    /* Where there is none any more, one thing after the other may be said to lack memory. */
    bool good = r->status == 0
                    ? lines < 2
                    : reached && (*lasting ? lines > 0 : lines == 1) && strstr(r->err, "memory") &&
                          (r->status == 1 || (r->status == 2 && job->files));
    if (!good) fail_msg("HARK_TEST_FAIL=%s: status %d, stderr:\n%s", fail, r->status, r->err);
    if (r->status == 0) expect_answer(r, job, before);
    if (r->status == 0 && job->figures) expect_files(r);
    return reached;
}

static void again(struct run *r)
{
    place_remove(r->place);
    assert_int_equal(mkdir(r->place, 0700), 0);
}

static void each(struct run *r, const struct job *job)
{
    for (int lasting = 0; lasting < 2; lasting++) {
        unsigned n = 1 + seed % stride, runs = 1;
        for (; one(r, job, n, lasting ? "+" : ""); n += stride, runs++) again(r);
        again(r);
        print_message("%s, %s: %u runs up to allocation %u\n", job->who,
            lasting ? "all from one on" : "one", runs, n);
        assert_true(runs > 2);
    }
}

#define TESTED(name, who, ...)                                                                     \
    static void name(void **state)                                                                 \
    {                                                                                              \
        static const struct job job = {who, __VA_ARGS__};                                          \
        each(*state, &job);                                                                        \
    }
#define LAP "--", HARK_LAP, "6"

TESTED(supervisor, "first", .words = {LAP})
TESTED(supervisor_and_a_kill, "first", .words = {"--kill", "1@3", LAP})
TESTED(supervisor_with_files, "first", .files = true, .figures = true,
    .words = {"--protocol", "scmel", "--transport", "uv", "--kill", "1@3", "--store", "@/s",
        "--trace", "@/trace", "--json", "@/json", LAP})
TESTED(supervisor_that_resumes, "first", .files = true, .resumed = true,
    .words = {"--resume", "--protocol", "coordinated", "--store", "@/s", LAP, "0:4:meet=here"})
TESTED(process, "1.0", .words = {LAP, "0:2:send=300000", "0:3:together", "1:3:together"})
TESTED(process_that_sees_a_kill, "1.0", .words = {"--kill", "0@3", "--trace", "@/trace", LAP})
TESTED(
    process_that_goes_back, "1.1", .words = {"--kill", "1@3", LAP, "0:2:together", "1:2:together"})
TESTED(process_under_scmel, "1.0",
    .words = {"--kill", "0@3", "--protocol", "scmel", "--transport", "uv", LAP})
TESTED(recovery_process, "4294967295.0", .words = {"--kill", "0@3", LAP})
TESTED(job_of_one, "first", .alone = true, .words = {HARK_LAP, "6"})

int main(int argc, char **argv)
{
    if (argc > 1) stride = (unsigned)strtoul(argv[1], NULL, 10);
    if (argc > 2) seed = (unsigned)strtoul(argv[2], NULL, 10);
    if (stride == 0) return 2;
#define TEST(name) cmocka_unit_test_setup_teardown(name, run_setup, run_teardown)
    const struct CMUnitTest tests[] = {TEST(supervisor), TEST(supervisor_and_a_kill),
        TEST(supervisor_with_files), TEST(supervisor_that_resumes), TEST(process),
        TEST(process_that_sees_a_kill), TEST(process_that_goes_back), TEST(process_under_scmel),
        TEST(recovery_process), TEST(job_of_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
