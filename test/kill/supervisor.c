/* The supervisor with processes that do as they are told: no transport, no protocol, real signals.
 */
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
#include <sys/wait.h>
#include <unistd.h>

#include "hark/registry.h"
#include "run.h"
#include "../../src/supervisor/supervisor.h"
#include "../../src/control/transports.h"

#define COORDINATED "run", "-n", "4", "--protocol", "coordinated"
#define RUN(...)    run_command(r, (const char *const[]){HARK_COMMAND, __VA_ARGS__, NULL})
#define START(...)  run_start(r, (const char *const[]){HARK_COMMAND, __VA_ARGS__, NULL})
#define LINES(...)  run_expect_lines(r, (const char *const[]){__VA_ARGS__, NULL})

static size_t lines_of(const char *text)
{
    size_t n = 0;
    for (; *text; text++) n += *text == '\n';
    return n;
}

/* ---- hydee, with a recovery process that needs no frames ------------------------------------- */

static const char *protocol = "hydee";
static const char *recovery_words[8];
static struct hark_kill planned[4];
static uint32_t planned_count;
static uint32_t answer_ms = 50000; /* longer than a test may last, so that no slow machine decides
                                    */

static int supervise(void *argument)
{
    const char *const *words = argument;
    char error[256], json[300];
    snprintf(json, sizeof json, "%s/json", getenv("PLACE"));
    const struct hark_run_program program = {.argv = (char *const *)(uintptr_t)words, .ranks = 4};
    struct hark_run_options o = {.ranks = 4,
        .protocol = hark_protocol_named(protocol),
        .transport = hark_transport_named("shm"),
        .generations = 2,
        .json = json,
        .answer_ms = answer_ms,
        .program = &program,
        .programs = 1,
        .recovery = (char *const *)(uintptr_t)recovery_words,
        .kill = planned,
        .kills = planned_count};
    if (hark_clusters_parse(&o.clusters, 4, "0;1;2 3", "clusters", error) < 0) return 98;
    struct sigaction before, after;
    sigaction(SIGPIPE, NULL, &before);
    int status = hark_supervise(&o);
    sigaction(SIGPIPE, NULL, &after);
    hark_clusters_free(&o.clusters);
    if (before.sa_handler != after.sa_handler) return 97; /* signals are not as they were */
    return status;
}

static void hydee(struct run *r, const char *const words[])
{
    run_start_main(r, supervise, (void *)(uintptr_t)words);
    run_end(r);
}
#define RECOVERY(...)                                                                              \
    memcpy(recovery_words, ((const char *[8]){HARK_FAKE_PROCESS, __VA_ARGS__}),                    \
        sizeof recovery_words)
#define HYDEE(...) hydee(r, (const char *const[]){HARK_FAKE_PROCESS, __VA_ARGS__, NULL})

static void expect_json(const struct run *r, const char *text)
{
    char *json = run_read(r, "json");
    if (strstr(json, text) == NULL) fail_msg("expected %s in:\n%s", text, json);
    free(json);
}

static void only_the_cluster_goes_back(void **state)
{
    struct run *r = *state;
    RECOVERY("recovery");
    HYDEE("print=begin%r", "deliver=7", "i0:3:die=9", "print=end%r", "finish");
    assert_int_equal(r->status, 0);
    LINES("begin0", "begin1", "begin2", "begin3", "end0", "end1", "end2", "end3");
    run_expect_err(r, "hark: rank 3 died (SIGKILL) after 7 deliveries; cluster 2 (ranks 2-3) goes "
                      "back to the beginning\n");
    run_expect_err(r, "hark: recovered in ");
    run_expect_err(r, " ms: ranks 2-3 went back\n");
    assert_int_equal(lines_of(r->err), 2);
    expect_json(r, "{\"rank\": 3, \"at\": 7, \"kind\": \"SIGKILL\"}");
    expect_json(r, "\"restarted_ranks\": [2, 3]");
    expect_json(r, "\"caught_up_ms\": 0.000"); /* nobody has said so */
    expect_json(r, "\"clusters\": [\"0\", \"1\", \"2-3\"]");
    expect_json(r, "\"exit\": 0");
}

/* What --json has of all processes: sums, but the shortest interval and the highest cost. */
static void figures_of_all(void **state)
{
    static const char *const sums[] = {"messages", "bytes", "deliveries", "log_bytes",
        "log_bytes_peak", "determinants_created", "determinants_piggybacked", "piggyback_bytes",
        "checkpoints", "replayed", "suppressed", "discarded", "refused", "readings",
        "readings_given", "journal_bytes"};
    struct run *r = *state;
    char line[100];
    RECOVERY("recovery");
    HYDEE("figures", "finish");
    assert_int_equal(r->status, 0);
    for (unsigned k = 0; k < sizeof sums / sizeof *sums; k++) {
        snprintf(
            line, sizeof line, "\n  \"%s\": %u,\n", sums[k], 4 * 100 * (k + 1) + 1 + 2 + 3 + 4);
        expect_json(r, line);
    }
    expect_json(r, "\n  \"interval_ms\": 0.001701,\n");
    expect_json(r, "\n  \"checkpoint_cost_ms\": 0.001804,\n");
    char *json = run_read(r, "json");
    assert_null(strstr(json, "\"traffic\"")); /* nobody has asked for it */
    free(json);
}

static void back_to_a_checkpoint(void **state)
{
    struct run *r = *state;
    RECOVERY("recovery");
    HYDEE("print=one%r", "partial=t", "0:image=1", "0:wave=1", "partial=wo", "i0:0:print=x",
        "0:i1:print=%r", "1:print=1", "2:print=2", "3:print=3", "i0:0:die=9", "finish");
    assert_int_equal(r->status, 0);
    /* "twox" was shown as a whole line before the death; what comes again at its place is not shown
     * again */
    LINES("one0", "one1", "one2", "one3", "twox", "two1", "two2", "two3");
    run_expect_err(r, "hark: rank 0 died (SIGKILL) after 0 deliveries; cluster 0 (rank 0) goes "
                      "back to checkpoint 1\n");
    expect_json(r, "\"restarted_ranks\": [0]");
}

/* Who goes back behind checkpoints that it has taken is told which these are. */
static void undone_checkpoints(void **state)
{
    struct run *r = *state;
    RECOVERY("line=0.1", "recovery");
    protocol = "sendet";
    HYDEE("0:image=1", "0:i0:wave=1", "0:i0:image=2", "0:i0:wave=2", "0:i0:image=3", "0:i0:wave=3",
        "0:i0:make=three", "3:i0:await=three", "3:i0:die=9", "0:i1:undone", "0:i1:make=back",
        "3:undone", "finish");
    protocol = "hydee";
    assert_int_equal(r->status, 0);
    LINES("2,3,", "none");
    expect_json(r, "\"restarted_ranks\": [0, 3]");
}

static void two_clusters_and_nested(void **state)
{
    struct run *r = *state;
    RECOVERY("recovery");
    HYDEE("print=a%r", "deliver=3", "i0:0:die=9", "i0:2:die=9", "i1:2:die=9", "i0:1:die=9",
        "print=b%r", "finish");
    assert_int_equal(r->status, 0);
    LINES("a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3");
    expect_json(r, "\"restarted_ranks\": [0, 1, 2, 3]");
}

static void the_recovery_process_dies(void **state)
{
    struct run *r = *state;
    planned[0] = (struct hark_kill){HARK_RECOVERY, 10, false};
    planned_count = 1;
    RECOVERY("frames=9", "i1:die=11", "i0:frames=1", "i0:hang", "recovery");
    HYDEE("0:print=a", "1:i0:die=9", "finish");
    planned_count = 0;
    assert_int_equal(r->status, 0);
    run_expect_err(r, "hark: the recovery process died (SIGKILL); a new one takes over\n");
    run_expect_err(r, "hark: the recovery process died (SIGSEGV); a new one takes over\n");
    expect_json(r, "\"kind\": \"SIGSEGV\"");
    expect_json(r, "\"restarted_ranks\": [1]");
}

static void a_damaged_image(void **state)
{
    struct run *r = *state;
    RECOVERY("recovery");
    /* Image 2 was never written: as good as damaged. */
    HYDEE("1:image=1", "1:wave=1", "1:wave=2", "1:i0:die=9", "1:print=on", "finish");
    assert_int_equal(r->status, 0);
    LINES("on");
    run_expect_err(r, "r1/2: there is none of this id; the older checkpoint 1 is used\n");
    run_expect_err(r, "cluster 1 (rank 1) goes back to checkpoint 1\n");
    HYDEE("1:wave=1", "1:wave=2", "1:i0:die=9", "finish");
    assert_int_equal(r->status, 1);
    run_expect_err(r, "hark: rank 1 can not go back, no checkpoint of its cluster is whole: ");
    assert_int_equal(lines_of(r->err), 1);
}

static void a_recovery_that_can_not_end(void **state)
{
    struct run *r = *state;
    RECOVERY("stuck");
    HYDEE("1:i0:die=9", "stuck");
    assert_int_equal(r->status, 1);
    run_expect_err(r, "hark: diverged: recovery can not end, ");
    expect_json(r, "\"diverged\": 1");
}

/* What is said of a program that diverges when one copy of a determinant is not enough. */
static void more_losses_than_copies(void **state)
{
    struct run *r = *state;
#define LOSES(count, rank, ...)                                                                    \
    RUN("run", "-n", count, "--protocol", "scmel", __VA_ARGS__, "--", HARK_FAKE_PROCESS,           \
        "0:i0:die=9", "0:i1:make=back", rank ":await=back", rank ":i0:die=9",                      \
        rank ":i1:diverged=it diverged", "finish")
    LOSES("3", "1", "--copies", "1");
    assert_int_equal(r->status, 1);
    run_expect_err(r,
        "hark: ranks 0-1 were lost at once: scmel keeps what each received 1 time elsewhere, so it "
        "survives the loss of 1; ");
    run_expect_err(r, "hark: for so many losses at once use --copies 2\n");
    assert_null(strstr(r->err, "clock"));
    LOSES("2", "1", "--copies", "1");
    run_expect_err(r, "hark: for so many losses at once use --protocol coordinated: ");
    LOSES("3", "1", "--copies", "2");
    assert_null(strstr(r->err, "at once"));
    run_expect_err(r, "nothing may depend on a clock ");
    LOSES("3", "0", "--copies", "1");
    run_expect_err(r, "nothing may depend on a clock ");
}

/* ---- those that go back though they live: rank 2 with rank 3 --------------------------------- */

/* Rank 3 dies (its first incarnation) when rank 2 has come to its word, which is about what it does
 * when it is told. */
static void hydee_with(struct run *r, const char *word)
{
    char made[600];
    HYDEE("print=a%r", word, "i0:2:make=up", "i0:3:await=up", "i0:3:die=9", "print=b%r", "finish");
    assert_int_equal(r->status, 0);
    LINES("a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3");
    expect_json(r, "\"restarted_ranks\": [2, 3]");
    snprintf(made, sizeof made, "%s/up", r->place);
    unlink(made);
}

/* Killed on its way back: before it has said so, it begins as the announced incarnation; after,
 * that one has died. */
static void killed_on_the_way_back(void **state)
{
    struct run *r = *state;
    RECOVERY("recovery");
    hydee_with(r, "i0:2:again=before");
    assert_int_equal(lines_of(r->err), 2); /* one failure, one recovery */
    expect_json(r, "\"re\": 1,");
    hydee_with(r, "i1:2:early=9");
    run_expect_err(r, "hark: rank 2 died (SIGKILL) after 0 deliveries; cluster 2 (ranks 2-3) goes "
                      "back to the beginning\n");
    expect_json(r, "\"re\": 2,");
    hydee_with(r, "i0:2:again=after"); /* before or after it was heard */
}

static void can_not_go_back_by_itself(void **state)
{
    struct run *r = *state;
    RECOVERY("recovery");
    for (int after = 0; after < 2; after++) {
        hydee_with(r, after ? "i0:2:again=not-after" : "i0:2:again=not");
        run_expect_err(r, "hark: rank 2 can not execute its program again: it is a test; it is "
                          "killed and started again\n");
        expect_json(r, "\"re\": 1,");
        expect_json(r, "\"troubles\": 1,");
    }
}

/* Its cluster-mate dies again, and so does the recovery process, while it does not answer: it goes
 * back once. */
static void failures_while_one_does_not_answer(void **state)
{
    struct run *r = *state;
    RECOVERY("i0:await=up", "i0:die=9", "i1:die=9", "recovery");
    answer_ms = 0; /* 2000 */
    HYDEE("print=a%r", "i0:2:make=up", "i0:2:deaf", "i0:3:await=up", "i0:3:die=9", "i1:3:die=11",
        "print=b%r", "finish");
    answer_ms = 50000;
    assert_int_equal(r->status, 0);
    LINES("a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3");
    expect_json(r, "\"restarted_ranks\": [2, 3]");
    run_expect_err(
        r, "hark: rank 2 does not go back by itself in 2000 ms; it is killed and started again\n");
    expect_json(r, "\"kind\": \"SIGSEGV\"}");
}

/* What it does when it was told is void: that it exits, or says its last line. */
static void what_it_does_then_is_void(void **state)
{
    struct run *r = *state;
    RECOVERY("recovery");
    for (int fatal = 0; fatal < 2; fatal++) {
        hydee_with(r, fatal ? "i0:2:again=fatal" : "i0:2:again=exit");
        assert_int_equal(lines_of(r->err), 2);
    }
}

/* ---- by the command -------------------------------------------------------------------------- */

static void runs_and_ends(void **state)
{
    struct run *r = *state;
    RUN("run", "-n", "5", "--protocol", "none", "--", HARK_FAKE_PROCESS, "print=a%r", "2:lines=3",
        "1:partial=end", "grandchild", "finish");
    assert_int_equal(r->status, 0);
    assert_string_equal(r->err, "");
    assert_non_null(strstr(r->out, "2: 1\n2: 2\n2: 3\n"));
    assert_non_null(strstr(r->out, "end"));
    assert_int_equal(lines_of(r->out), 8);
}

static void many_processes(void **state)
{
    struct run *r = *state;
    RUN("run", "-n", "64", "--protocol", "coordinated", "--kill", "63@5", "--", HARK_FAKE_PROCESS,
        "deliver=5", "print=a%r", "finish");
    assert_int_equal(r->status, 0);
    assert_int_equal(lines_of(r->out), 64);
}

static void all_go_back(void **state)
{
    struct run *r = *state;
    char trace[600];
    snprintf(trace, sizeof trace, "%s/trace", r->place);
    RUN(COORDINATED, "--kill", "1@5", "--kill", "1@12", "--trace", trace, "--", HARK_FAKE_PROCESS,
        "lines=2", "deliver=20", "finish");
    assert_int_equal(r->status, 0);
    LINES("0: 1", "0: 2", "1: 1", "1: 2", "2: 1", "2: 2", "3: 1", "3: 2");
    run_expect_err(
        r, "hark: rank 1 died (SIGKILL) after 5 deliveries; all ranks go back to the beginning\n");
    run_expect_err(
        r, "hark: rank 1 died (SIGKILL) after 12 deliveries; all ranks go back to the beginning\n");
    char *text = run_read(r, "trace");
    assert_non_null(strstr(text, "hark-trace 1 ranks=4 protocol=coordinated "));
    assert_non_null(strstr(text, " 1.0 kill\n"));
    assert_non_null(strstr(text, " 1.1 kill\n"));
    assert_non_null(strstr(text, " s.0 failed re=1 down=0-3\n"));
    assert_non_null(strstr(text, " s.0 recovered\n"));
    free(text);
}

static void expect_end(struct run *r, const char *line)
{
    assert_int_equal(r->status, 1);
    assert_string_equal(r->err, line);
}

static void ends_by_itself(void **state)
{
    struct run *r = *state;
    RUN(COORDINATED, "--", HARK_FAKE_PROCESS, "2:exit=3", "finish");
    expect_end(r, "hark: rank 2 exited with status 3\n");
    RUN(COORDINATED, "--", HARK_FAKE_PROCESS, "2:exit=0", "finish");
    expect_end(r, "hark: rank 2 exited without hark_finalize (in an MPI program MPI_Finalize)\n");
    RUN("run", "-n", "1", "--", "true");
    expect_end(r, "hark: rank 0 exited without hark_init: true is not a program of hark\n");
    RUN(COORDINATED, "--", HARK_FAKE_PROCESS, "finish", "0:exit=4");
    expect_end(r, "hark: rank 0 exited with status 4\n");
    RUN(COORDINATED, "--", HARK_FAKE_PROCESS, "finish", "0:die=9");
    assert_int_equal(r->status, 0);
    assert_string_equal(
        r->err, "hark: rank 0 died (SIGKILL) after the end of the job, which is done\n");
    RUN("run", "-n", "3", "--protocol", "none", "--", HARK_FAKE_PROCESS, "deliver=2", "1:die=9",
        "finish");
    expect_end(
        r, "hark: rank 1 died (SIGKILL) after 2 deliveries; protocol none survives no failure\n");
    RUN("run", "-n", "3", "--protocol", "none", "--", HARK_FAKE_PROCESS, "deliver=1", "1:die=9",
        "finish");
    expect_end(
        r, "hark: rank 1 died (SIGKILL) after 1 delivery; protocol none survives no failure\n");
    RUN(COORDINATED, "--", HARK_FAKE_PROCESS, "1:fatal=one line", "finish");
    expect_end(r, "hark: one line\n");
    RUN(COORDINATED, "--", HARK_FAKE_PROCESS, "1:diverged=rank 1 diverged", "finish");
    expect_end(r, "hark: rank 1 diverged\n");
    RUN(COORDINATED, "--", HARK_FAKE_PROCESS, "1:garbage", "finish");
    expect_end(r, "hark: rank 1 speaks garbage on its control socket\n");
}

static void five_times_at_the_same_place(void **state)
{
    struct run *r = *state;
    RUN(COORDINATED, "--", HARK_FAKE_PROCESS, "deliver=3", "2:die=11", "finish");
    assert_int_equal(r->status, 1);
    run_expect_err(
        r, "hark: rank 2 died (SIGSEGV) after 3 deliveries; all ranks go back to the beginning\n");
    run_expect_err(r, "hark: rank 2 died (SIGSEGV) 5 times in a row at the same place, 3 "
                      "deliveries after the beginning\n");
    RUN(COORDINATED, "--", HARK_FAKE_PROCESS, "deliver=3", "i0:2:die=11", "i1:2:die=6",
        "i2:2:die=9", "i3:2:die=7", "finish");
    assert_int_equal(r->status, 0);
}

static void leaves_the_job(void **state)
{
    struct run *r = *state;
    RUN(COORDINATED, "--", HARK_FAKE_PROCESS, "i0:1:close", "finish");
    assert_int_equal(r->status, 0);
    run_expect_err(
        r, "hark: rank 1 died (SIGKILL) after 0 deliveries; all ranks go back to the beginning\n");
}

/* Processes make the file `up` when they are; TMPDIR is theirs too. */
static void signals(void **state)
{
    struct run *r = *state;
    char up[600];
    snprintf(up, sizeof up, "touch %s/up; exec sleep 1000", r->place);
    START(COORDINATED, "--", "sh", "-c", up);
    run_wait_for(r, "up");
    kill(r->pid, SIGTERM);
    run_end(r);
    assert_int_equal(r->status, 128 + SIGTERM);

    snprintf(up, sizeof up, "%s/up", r->place);
    unlink(up);
    snprintf(up, sizeof up,
        "trap 'touch %s/trapped' INT; touch %s/up; while :; do sleep 1000 & wait $!; done",
        r->place, r->place);
    START("run", "-n", "1", "--protocol", "none", "--", "sh", "-c", up);
    run_wait_for(r, "up");
    kill(r->pid, SIGINT);
    run_wait_for(r, "trapped");
    kill(r->pid, SIGINT);
    run_end(r);
    assert_int_equal(r->status, 128 + SIGINT);
}

static void the_supervisor_is_killed(void **state)
{
    struct run *r = *state;
    char words[1200];
    /* Something that it started in the background has nothing to do with hark, and goes too. */
    snprintf(words, sizeof words, "sleep 1000 & : > %s/up; exec %s grandchild hang", r->place,
        HARK_FAKE_PROCESS);
    START("run", "-n", "1", "--protocol", "none", "--", "sh", "-c", words);
    run_wait_for(r, "up");
    kill(r->pid, SIGKILL);
    run_end(r);
    assert_int_equal(r->status, 256 + SIGKILL);
}

static void goes_on_with_a_store(void **state)
{
    struct run *r = *state;
    char store[600];
    snprintf(store, sizeof store, "%s/store", r->place);
    /* The first run is killed while all hang after their checkpoint; in the second they are
     * incarnation 1. */
    const char *const words[] = {HARK_COMMAND, "run", "-n", "2", "--protocol", "coordinated",
        "--store", store, "--", HARK_FAKE_PROCESS, "print=a%r", "image=1", "0:wave=1", "print=b%r",
        "i0:hang", "print=c%r", "finish", NULL};
    const char *resumed[20];
    for (size_t i = 0, k = 0; i < sizeof words / sizeof words[0]; i++) {
        if (words[i] && strcmp(words[i], "--") == 0) resumed[k++] = "--resume";
        resumed[k++] = words[i];
    }
    run_start(r, words);
    run_wait_for(r, "store/r0/1");
    run_wait_for(r, "store/r1/1");
    run_wait_for(r, "store/service/r0/2"); /* the decision */
    kill(r->pid, SIGKILL);
    run_end(r);
    char both[2 * sizeof r->out];
    snprintf(both, sizeof both, "%s", r->out);
    run_command(r, resumed);
    assert_int_equal(r->status, 0);
    /* What the first had shown the second does not show again. */
    snprintf(both + strlen(both), sizeof r->out, "%s", r->out);
    snprintf(r->out, sizeof r->out, "%s", both);
    LINES("a0", "a1", "b0", "b1", "c0", "c1");
    run_command(r, resumed);
    assert_int_equal(r->status, 0);
    run_expect_err(r, ": the job in it has finished already; there is nothing to do\n");
}

static void one_run_at_a_time(void **state)
{
    struct run *r = *state, second = *r;
    char store[600];
    snprintf(store, sizeof store, "%s/store", r->place);
    const char *const words[] = {HARK_COMMAND, "run", "-n", "1", "--protocol", "none", "--store",
        store, "--resume", "--", HARK_FAKE_PROCESS, "hang", NULL};
    run_start(r, words);
    run_wait_for(r, "store/service/r0/1");
    run_start(&second, words);
    assert_int_equal(waitpid(second.pid, &second.status, 0), second.pid);
    assert_int_equal(WEXITSTATUS(second.status), 2);
    kill(r->pid, SIGKILL);
    run_end(r);
    run_expect_err(r, ": another run is using it: process ");
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, run_setup, run_teardown)
    const struct CMUnitTest tests[] = {TEST(runs_and_ends), TEST(many_processes), TEST(all_go_back),
        TEST(ends_by_itself), TEST(five_times_at_the_same_place), TEST(leaves_the_job),
        TEST(only_the_cluster_goes_back), TEST(figures_of_all), TEST(back_to_a_checkpoint),
        TEST(undone_checkpoints), TEST(two_clusters_and_nested), TEST(the_recovery_process_dies),
        TEST(a_damaged_image), TEST(a_recovery_that_can_not_end), TEST(more_losses_than_copies),
        TEST(killed_on_the_way_back), TEST(can_not_go_back_by_itself),
        TEST(failures_while_one_does_not_answer), TEST(what_it_does_then_is_void), TEST(signals),
        TEST(the_supervisor_is_killed), TEST(goes_on_with_a_store), TEST(one_run_at_a_time)};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
