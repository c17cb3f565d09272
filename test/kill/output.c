/* What a run prints: with a reader who does not read, and over runs that are killed and resumed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

#define MOST (64u << 20)

struct piped {
    const char *const *argv;
    int stream; /* 1 or 2 */
    int to;     /* where that goes */
};

static int start_piped(void *argument)
{
    const struct piped *x = argument;
    if (dup2(x->to, x->stream) < 0) return 99;
    execv(x->argv[0], (char *const *)(uintptr_t)x->argv);
    return 99;
}

/* Starts it with a pipe for stdout (1) or stderr (2); returns the reading end. */
static int start_with(struct run *r, const char *const argv[], int stream)
{
    int pipes[2];
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    struct piped x = {argv, stream, pipes[1]};
    run_start_main(r, start_piped, &x);
    close(pipes[1]);
    return pipes[0];
}

static int start(struct run *r, const char *const argv[])
{
    return start_with(r, argv, 1);
}

/* All that comes until the end, behind what is there. */
static size_t read_rest(int fd, char *text, size_t length)
{
    ssize_t n;
    while ((n = read(fd, text + length, MOST - 1 - length)) > 0) length += (size_t)n;
    close(fd);
    text[length] = 0;
    return length;
}

enum { LINE = 64, LAST_WRITE = 4096, CUTS = 256 };

/* Where supervisors were killed: the text had this length then. What the last write had shown may
 * come again, once. */
struct cuts {
    size_t at[CUTS];
    bool again[CUTS];
    int count;
};

struct line {
    enum { LAP, NUMBERED, LAST } kind;
    int rank, number; /* of its rank and kind; LAST has none */
};

/* The line, of so many bytes. */
static struct line read_line(const char *at, size_t length)
{
    struct line x = {LAP, 0, 0};
    char one[80];
    snprintf(one, sizeof one, "%.*s", (int)length, at); /* sscanf looks for the end of all */
    if (sscanf(one, "lap %d: ", &x.number) == 1) return x;
    if (sscanf(one, "rank %d line %d", &x.rank, &x.number) == 2) {
        assert_int_equal(length, LINE - 1);
        x.kind = NUMBERED;
    } else if (sscanf(one, "rank %d: token %d", &x.rank, &x.number) == 2) {
        x.kind = LAST;
        x.number = 1;
    } else {
        fail_msg("a line of nobody: %s", one);
    }
    assert_in_range(x.rank, 0, 3);
    return x;
}

static bool has_line_of(const char *begin, const char *end, int rank)
{
    for (const char *next; begin < end; begin = next + 1) {
        next = strchr(begin, '\n');
        if (read_line(begin, (size_t)(next - begin)).rank == rank) return true;
    }
    return false;
}

/* Was it in the last write before a supervisor was killed? That is of at most LAST_WRITE bytes, all
 * of one rank, and comes again before anything else of that rank. */
static bool comes_again(const char *text, const char *at, struct line x, struct cuts *cuts)
{
    for (int i = 0; i < cuts->count && text + cuts->at[i] <= at; i++) {
        const char *end = text + cuts->at[i], *begin = end;
        while (!cuts->again[i] && begin > text) {
            const char *before = memrchr(text, '\n', (size_t)(begin - text) - 1);
            const char *start = before ? before + 1 : text;
            struct line y = read_line(start, (size_t)(begin - start) - 1);
            if (y.rank != x.rank || end - start > LAST_WRITE) break;
            if (y.kind == x.kind && y.number == x.number)
                return cuts->again[i] = !has_line_of(text + cuts->at[i], at, x.rank);
            begin = start;
        }
    }
    return false;
}

/* Every line of `lap` on 4 processes exactly once; those of one rank in their order. Only what was
 * written last before a cut may come again. */
static void expect_lines(const char *text, int laps, const int printed[4], struct cuts *cuts)
{
    int shown[4][3] = {{0}};
    for (const char *at = text, *end; *at; at = end + 1) {
        end = strchr(at, '\n');
        if (end == NULL) fail_msg("a line without end: %s", at);
        struct line x = read_line(at, (size_t)(end - at));
        int *last = shown[x.rank];
        if (x.number <= last[x.kind] && comes_again(text, at, x, cuts)) {
            last[x.kind] = x.number - 1;
            if (x.kind != LAST) last[LAST] = 0;
        }
        assert_int_equal(x.number, last[x.kind] + 1);
        last[x.kind] = x.number;
    }
    assert_int_equal(shown[0][LAP], laps);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(shown[i][LAST], 1);
        assert_int_equal(shown[i][NUMBERED], printed[i]);
    }
}

static pid_t pid_of(const struct run *r, const char *who)
{
    char text[64];
    char *err = run_read(r, "err");
    snprintf(text, sizeof text, "hark: %s is process ", who);
    const char *at = strstr(err, text);
    pid_t pid = at ? atoi(at + strlen(text)) : 0;
    free(err);
    assert_true(pid > 0);
    return pid;
}

static void put(const struct run *r, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", r->place, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void take_away(const struct run *r, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", r->place, name);
    (void)unlink(path);
}

/* 6 MB are printed in the fifth lap, and nobody reads a byte until the recovery of another process
 * is over. */
static void a_reader_who_does_not_read(void **state)
{
    struct run *r = *state;
    static const char *const protocols[] = {"coordinated", "hydee", "scmel", "team"};
    char *text = malloc(MOST);
    assert_non_null(text);
    put(r, "met.go");
    for (size_t p = 0; p < sizeof protocols / sizeof *protocols; p++) {
        const char *const argv[] = {HARK_COMMAND, "run", "-n", "4", "--clusters", "2", "--protocol",
            protocols[p], "--interval", "1ms", "--verbose", "--", HARK_LAP, "12", "1:5:meet=met",
            "1:5:lines=100000", "0:10:meet=later", NULL};
        int out = start(r, argv);
        run_wait_for(r, "met");
        run_wait_for_text(r, "err", "hark: rank 3 is process "); /* it goes through a thread */
        assert_int_equal(kill(pid_of(r, "rank 3"), SIGKILL), 0);
        put(r, "later.go"); /* under some protocols the job might have ended before the kill */
        run_wait_for_text(r, "err", "hark: recovered in ");
        size_t length = read_rest(out, text, 0);
        run_end(r);
        assert_int_equal(r->status, 0);
        assert_true(length > 6000000);
        expect_lines(text, 12, (const int[4]){0, 100000, 0, 0}, &(struct cuts){0});
        take_away(r, "met");
        take_away(r, "did-2");
        take_away(r, "later");
        take_away(r, "later.go");
        take_away(r, "did-4");
    }
    free(text);
}

static uint64_t resident(pid_t pid)
{
    char path[64];
    unsigned long pages = 0, all = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *f = fopen(path, "re");
    if (f == NULL || fscanf(f, "%lu %lu", &all, &pages) != 2) fail();
    fclose(f);
    return (uint64_t)pages * 4096;
}

/* Without a failure it is the processes that wait, not the supervisor's memory that grows: 64 MB
 * are printed. */
static void memory_is_bounded(void **state)
{
    struct run *r = *state;
    const char *const argv[] = {HARK_COMMAND, "run", "-n", "4", "--protocol", "coordinated", "--",
        HARK_LAP, "2", "1:1:meet=met", "1:1:lines=1000000", NULL};
    int out = start(r, argv);
    char path[600];
    snprintf(path, sizeof path, "%s/met.go", r->place);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    size_t length = 0;
    static char bytes[65536];
    uint64_t most = 0, now;
    run_wait_for(r, "met");
    for (int same = 0; same < 20; same++) { /* nobody reads until it has stopped taking more */
        (void)poll(NULL, 0, 25);
        now = resident(r->pid);
        if (now > most) same = 0, most = now;
    }
    for (ssize_t n; (n = read(out, bytes, sizeof bytes)) > 0; length += (size_t)n) {
    }
    close(out);
    run_end(r);
    assert_int_equal(r->status, 0);
    assert_true(length >= 64000000);
    assert_true(most < 32000000);
}

/* A signal ends a run also when nobody reads. */
static void a_signal_and_nobody_reads(void **state)
{
    struct run *r = *state;
    const char *const argv[] = {HARK_COMMAND, "run", "-n", "4", "--protocol", "coordinated", "--",
        HARK_LAP, "3", "1:1:lines=1000000", "0:1:meet=met", NULL};
    int out = start(r, argv);
    run_wait_for(r, "met");
    kill(r->pid, SIGTERM);
    run_end(r);
    close(out);
    assert_int_equal(r->status, 128 + SIGTERM);
}

/* Does it sleep, or has it ended? Then it has done what there was to do. */
static bool sleeps(pid_t pid)
{
    char path[64], line[200] = "", *name;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (f == NULL) fail();
    if (fgets(line, sizeof line, f) == NULL) line[0] = 0;
    fclose(f);
    name = strrchr(line, ')');
    return name && name[1] && (name[2] == 'S' || name[2] == 'Z');
}

/* With a store the job is done when all is shown. All processes have finished, ignore the signal
 * and wait for that; it makes the end of the job wait no longer, and they are told. */
static void a_signal_when_only_output_is_left(void **state)
{
    struct run *r = *state;
    char store[600];
    snprintf(store, sizeof store, "%s/store", r->place);
    const char *const argv[] = {HARK_COMMAND, "run", "-n", "2", "--protocol", "coordinated",
        "--store", store, "--grace", "1d", "--verbose", "--", HARK_OBEDIENT, "ignore=15",
        "0:system=seq 40000", "make=up", NULL};
    int out = start(r, argv);
    run_wait_for(r, "up.0");
    run_wait_for(r, "up.1");
    const pid_t pid[] = {pid_of(r, "rank 0"), pid_of(r, "rank 1"), r->pid};
    for (int still = 0; still < 20; (void)poll(NULL, 0, 5)) /* too early, it would be the end all
                                                               the same */
        still = sleeps(pid[0]) && sleeps(pid[1]) && sleeps(pid[2]) ? still + 1 : 0;
    kill(r->pid, SIGTERM);
    run_end(r);
    close(out);
    assert_int_equal(r->status, 128 + SIGTERM);
    assert_null(strstr(r->err, "killed"));
}

/* A run that ends too early shows all that was printed before, on both streams, and why. */
static void an_early_end_waits_for_readers(void **state)
{
    struct run *r = *state;
    static const char *const much[] = {"0:system=seq 40000", "0:system=seq 40000 >&2"};
    static const char last[] = "\n40000\n", why[] = "hark: rank 0 exited with status 5\n";
    char *text = malloc(MOST);
    assert_non_null(text);
    for (int stream = 1; stream <= 2; stream++) {
        const char *const argv[] = {HARK_COMMAND, "run", "-n", "2", "--protocol", "none", "--",
            HARK_OBEDIENT, "1:recv=0.1", much[stream - 1], "make=up", "exit=5", NULL};
        int out = start_with(r, argv, stream);
        run_wait_for(r, "up.0");
        for (int still = 0; still < 20; (void)poll(NULL, 0, 5)) /* too early, all would be read in
                                                                   any case */
            still = sleeps(r->pid) ? still + 1 : 0;
        (void)read_rest(out, text, 0);
        run_end(r);
        assert_int_equal(r->status, 1);
        assert_non_null(strstr(text, last));
        assert_non_null(strstr(stream == 1 ? r->err : text, why));
        take_away(r, "up.0");
    }
    free(text);
}

static void the_reader_goes_away(void **state)
{
    struct run *r = *state;
    const char *const argv[] = {HARK_COMMAND, "run", "-n", "4", "--protocol", "coordinated", "--",
        HARK_LAP, "3", "1:1:lines=100000", NULL};
    close(start(r, argv));
    run_end(r);
    assert_int_equal(r->status, 1);
    assert_string_equal(r->err, "hark: cannot write the output of the program: Broken pipe\n");
}

static int start_at_socket(struct run *r, const char *const argv[])
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    struct piped x = {argv, 1, ends[1]};
    run_start_main(r, start_piped, &x);
    close(ends[1]);
    return ends[0];
}

/* With a store a run ends when its output can not be written any more, again and again, and is
 * resumed: what was written in all runs is what one run shows. */
static void lost_output_ends_a_run(void **state)
{
    struct run *r = *state;
    static const char *const protocols[] = {"coordinated", "hydee", "scmel", "team", "none"},
                             *const clusters[] = {"2", "2", "2", "1", "2"};
    char *text = malloc(MOST), store[600];
    assert_non_null(text);
    for (size_t p = 0; p < sizeof protocols / sizeof *protocols; p++) {
        snprintf(store, sizeof store, "%s/store-%zu", r->place, p);
        const char *const argv[] = {HARK_COMMAND, "run", "-n", "4", "--clusters", clusters[p],
            "--protocol", protocols[p], "--interval", "1ms", "--store", store, "--resume", "--",
            HARK_LAP, "12", "1:2:lines=20000", "3:6:lines=20000", "1:11:lines=9", NULL};
        size_t length = 0;
        int ends = 0;
        for (size_t until = 30;; until += 500000, ends++) {
            int out = start_at_socket(r, argv);
            ssize_t n = 1;
            while (length < until && (n = read(out, text + length, until - length)) > 0)
                length += (size_t)n;
            (void)shutdown(out, SHUT_RD); /* what was written before can still be read */
            length = read_rest(out, text, length);
            run_end(r);
            if (n <= 0 || r->status == 0) break; /* the rest may have been on its way */
            assert_int_equal(r->status, 1);
            run_expect_err(r, "hark: cannot write the output of the program: Broken pipe; the run "
                              "ends here, and --resume goes on with the job\n");
        }
        if (r->status) fail_msg("%s", r->err);
        if (strcmp(protocols[p], "none") == 0)
            run_expect_err(r, "hark: protocol none takes no checkpoints: the job begins again\n");
        assert_true(ends > 3);
        expect_lines(text, 12, (const int[4]){0, 20009, 0, 20000}, &(struct cuts){.count = 0});
    }
    free(text);
}

/* The supervisor is killed at some byte of the output, again and again, and resumed: what all runs
 * showed, one behind the other, is what one run shows. */
static void killed_and_resumed(void **state)
{
    struct run *r = *state;
    static const char *const protocols[] = {"coordinated", "hydee", "scmel", "team"},
                             *const clusters[] = {"2", "2", "2", "1"};
    char *text = malloc(MOST), store[600];
    assert_non_null(text);
    for (size_t p = 0; p < sizeof protocols / sizeof *protocols; p++) {
        snprintf(store, sizeof store, "%s/store-%zu", r->place, p);
        const char *const argv[] = {HARK_COMMAND, "run", "-n", "4", "--clusters", clusters[p],
            "--protocol", protocols[p], "--interval", "1ms", "--store", store, "--resume", "--",
            HARK_LAP, "12", "1:2:lines=20000", "0:4:partial=", "3:6:lines=20000", "2:8:lines=2000",
            "1:11:lines=9", NULL};
        size_t length = 0;
        struct cuts cuts = {.count = 0};
        /* Of 2.7 MB the last cut leaves more than a pipe takes: the supervisor is there to be
         * killed. */
        for (size_t until = 30;; until = cuts.count < 9 ? until + 300017 : MOST - 1) {
            int out = start(r, argv);
            ssize_t n = 1;
            while (length < until && (n = read(out, text + length, until - length)) > 0)
                length += (size_t)n;
            if (n > 0) kill(r->pid, SIGKILL);
            length = read_rest(out, text, length); /* what it had shown and we had not read */
            run_end(r);
            if (n <= 0 || r->status == 0) break; /* the rest may have been on its way */
            assert_int_equal(r->status, 256 + SIGKILL);
            assert_true(cuts.count < CUTS);
            cuts.at[cuts.count++] = length;
        }
        if (r->status) fail_msg("%s", r->err);
        assert_true(cuts.count > 5);
        expect_lines(text, 12, (const int[4]){0, 20009, 2000, 20000}, &cuts);
    }
    free(text);
}

/* ---- output commit --------------------------------------------------------------------------- */

/* Rank 0 has printed that rank 3 was second when it dies, and only it knows. What is shown in the
 * end is of one execution, whichever. */
static void what_is_shown_was(void **state)
{
    struct run *r = *state;
    const char *const argv[] = {
        HARK_COMMAND, "run", "-n", "5", "--protocol", "scmel", "--", HARK_ORDER, NULL};
    for (int turn = 0; turn < 10; turn++) {
        char got[100] = "order", *at;
        run_start(r, argv);
        put(r, "turn-4");
        run_wait_for(r, "got-4");
        put(r, "turn-3");
        run_wait_for(r, "sent-3");
        put(r, "turn-2");
        put(r, "turn-1");
        run_end(r);
        if (r->status) fail_msg("%s", r->err);
        run_expect_err(
            r, "hark: rank 0 died (SIGKILL) after 2 deliveries; it goes back to the beginning\n");
        at = r->out;
        for (int i = 0; i < 4; i++, at += 6) {
            assert_memory_equal(at, "got ", 4);
            snprintf(got + strlen(got), 3, " %c", at[4]);
        }
        strcat(got, "\n");
        assert_string_equal(at, got);
        for (int rank = 0; rank < 5; rank++) {
            char path[600];
            const char *const names[] = {"turn", "sent", "died", "got"};
            for (int i = 0; i < 4; i++) {
                snprintf(path, sizeof path, "%s/%s-%d", r->place, names[i], rank);
                unlink(path);
            }
        }
    }
}

/* Nobody waits for the end: while a process stands still at lap 900, the lines of the first laps
 * are long there. */
static void what_is_stable_is_shown(void **state)
{
    struct run *r = *state;
    const char *const argv[] = {HARK_COMMAND, "run", "-n", "4", "--protocol", "scmel", "--interval",
        "1ms", "--", HARK_LAP, "1000", "2:900:meet=met", NULL};
    run_start(r, argv);
    run_wait_for(r, "met");
    for (bool there = false; !there; (void)poll(NULL, 0, 1)) {
        char *out = run_read(r, "out");
        there = strstr(out, "lap 100: ") != NULL;
        free(out);
    }
    put(r, "met.go");
    run_end(r);
    assert_int_equal(r->status, 0);
    expect_lines(r->out, 1000, (const int[4]){0}, &(struct cuts){0});
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, run_setup, run_teardown)
    const struct CMUnitTest tests[] = {TEST(a_reader_who_does_not_read), TEST(memory_is_bounded),
        TEST(a_signal_and_nobody_reads), TEST(a_signal_when_only_output_is_left),
        TEST(an_early_end_waits_for_readers), TEST(the_reader_goes_away),
        TEST(lost_output_ends_a_run), TEST(killed_and_resumed), TEST(what_is_shown_was),
        TEST(what_is_stable_is_shown)};
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
