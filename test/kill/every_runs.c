#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "every.h"
#include "../../src/supervisor/outlet.h"
#include "relay.h"

enum { PROGRAMS = 8, RANKS = 8, LINES = 200, WORDS = 40 };

struct outcome *every_outcome;
static struct {
    const struct program *program;
    char text[4096];
    unsigned deliveries[3][RANKS]; /* by variant.groups */
} known[PROGRAMS];

/* ---- the command ----------------------------------------------------------------------------- */

static size_t command(const struct kase *k, const char *argv[WORDS], char number[2][16],
    const char *store, bool resume)
{
    size_t n = 0;
    const struct program *p = k->program;
    snprintf(number[0], 16, "%d", p->ranks);
    snprintf(number[1], 16, "fence=%d", k->rank);
    const char *const begin[] = {HARK_WITH_POINTS, "run", "-n", number[0], "--clusters",
        p->clusters, "--transport", k->transport, "--verbose", "--interval",
        k->other_way && k->run == every_kill ? "0" : "1ms", "--option",
        k->run == every_stop && !k->other_way ? "answer-ms=50" : "answer-ms=50000"}; /* no slow
                                                                                        machine
                                                                                        decides */
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++) argv[n++] = begin[i];
    for (int i = 0; k->variant && k->variant->word[i]; i++) argv[n++] = k->variant->word[i];
    /* Or there are fewer checkpoints, and clusters seldom change at one. */
    if (k->variant && k->variant->regroups && k->number % 2) argv[n++] = "--wait-for-checkpoints";
    for (int i = 0; i < 2 && k->kill[i][0]; i++) {
        argv[n++] = "--kill";
        argv[n++] = k->kill[i];
    }
    if (store) {
        argv[n++] = "--store";
        argv[n++] = store;
        if (k->number % 2) argv[n++] = "--incremental";
    }
    if (resume) argv[n++] = "--resume";
    argv[n++] = "--";
    argv[n++] = HARK_SMALL;
    for (int i = 0; i < 2 && p->argument[i]; i++) argv[n++] = p->argument[i];
    if (k->run == every_fence) argv[n++] = number[1];
    argv[n] = NULL;
    return n;
}

void every_show(const struct kase *k, char text[1200])
{
    const char *argv[WORDS];
    char number[2][16];
    size_t at = 0;
    if (k->test) {
        snprintf(text, 1200, "%s", k->test);
        return;
    }
    command(k, argv, number, k->run == every_supervisor ? "s" : NULL, false);
    if (k->point[0]) at = (size_t)snprintf(text, 1200, "HARK_POINT=%s ", k->point);
    for (size_t i = 0; argv[i] && at < 1200; i++)
        at += (size_t)snprintf(text + at, 1200 - at, "%s%s", i ? " " : "", argv[i]);
}

static void start(struct run *r, const struct kase *k, const char *store, bool resume)
{
    const char *argv[WORDS];
    char number[2][16];
    command(k, argv, number, store, resume);
    if (k->point[0] && !resume) setenv("HARK_POINT", k->point, 1);
    else unsetenv("HARK_POINT");
    run_start(r, argv);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Cuts text into lines. */
static int lines_of(char *text, char *line[LINES])
{
    int n = 0;
    for (char *next; *text && n < LINES; text = next) {
        line[n++] = text;
        next = strchr(text, '\n');
        if (next == NULL) fail_msg("the output ends in mid-line: %s", text);
        *next++ = 0;
    }
    return n;
}

/* Each round has `ranks` lines "round K of rank R: order D" with the same D, and all ranks their
 * last lines, with the last D. */
static void expect_one_order(char *line[LINES], int n, const struct program *p)
{
    int rounds = atoi(p->argument[0]), at = 0;
    const char *last = "";
    if (n != (rounds + 1) * p->ranks) fail_msg("%d lines, expected %d", n, (rounds + 1) * p->ranks);
    for (int rank = 0; rank < p->ranks; rank++) {
        char begin[40];
        snprintf(begin, sizeof begin, "rank %d: ", rank);
        if (strncmp(line[at++], begin, strlen(begin)) != 0)
            fail_msg("unexpected line: %s", line[at - 1]);
    }
    for (int round = 0; round < rounds; round++)
        for (int rank = 0; rank < p->ranks; rank++, at++) {
            char begin[60];
            snprintf(begin, sizeof begin, "round %d of rank %d: order ", round, rank);
            if (strncmp(line[at], begin, strlen(begin)) != 0)
                fail_msg("unexpected line: %s", line[at]);
            if (rank && strcmp(strrchr(line[at], ' '), strrchr(line[at - 1], ' ')) != 0)
                fail_msg("two orders: %s, and %s", line[at - 1], line[at]);
            last = strrchr(line[at], ' ');
        }
    for (int rank = 0; rank < p->ranks; rank++)
        if (strcmp(strrchr(line[rank], ' '), last) != 0)
            fail_msg("another digest: %s, expected%s", line[rank], last);
}

static void expect_answer(const char *out, const struct run *r, const struct kase *k)
{
    static char found[2 * sizeof r->out], right[sizeof known->text];
    char *line[LINES], *expected[LINES];
    size_t i = 0;
    snprintf(found, sizeof found, "%s", out);
    int n = lines_of(found, line);
    qsort(line, (size_t)n, sizeof *line, by_text);
    if (k->program->by_order) {
        expect_one_order(line, n, k->program);
        return;
    }
    while (known[i].program != k->program) i++;
    snprintf(right, sizeof right, "%s", known[i].text);
    int m = lines_of(right, expected);
    qsort(expected, (size_t)m, sizeof *expected, by_text);
    for (int j = 0; j < n && j < m; j++)
        if (strcmp(line[j], expected[j]) != 0)
            fail_msg("another answer: %s, expected %s; stderr:\n%s", line[j], expected[j], r->err);
    if (n != m) fail_msg("%d lines, expected %d; stderr:\n%s", n, m, r->err);
}

static void note_change(const struct run *r)
{
    every_outcome->changed |= strstr(r->err, "hark: from checkpoint ") != NULL;
}

static void expect_end(struct run *r, const struct kase *k)
{
    note_change(r);
    if (r->status != 0)
        fail_msg("exit status %d; stdout:\n%s\nstderr:\n%s", r->status, r->out, r->err);
    expect_answer(r->out, r, k);
}

/* ---- undisturbed ----------------------------------------------------------------------------- */

static unsigned hits(const struct run *r)
{
    char path[300];
    struct stat st;
    snprintf(path, sizeof path, "%s/point", r->place);
    return stat(path, &st) == 0 ? (unsigned)st.st_size : 0;
}

/* What a program prints under a protocol, checked against known[i].text if there is one; how much a
 * rank delivers. */
static unsigned undisturbed(size_t i, const struct variant *v, int rank)
{
    struct kase k = {.program = known[i].program, .variant = v, .transport = "shm"};
    void *state;
    run_setup(&state);
    struct run *r = state;
    snprintf(k.point, sizeof k.point, "delivered@%d:1000000", rank);
    start(r, &k, NULL, false);
    run_end(r);
    if (r->status != 0) {
        fprintf(stderr, "undisturbed: %s", r->err);
        exit(1);
    }
    if (known[i].text[0] == 0 || known[i].program->by_order)
        snprintf(known[i].text, sizeof known[i].text, "%.4095s", r->out);
    else expect_answer(r->out, r, &k);
    unsigned n = hits(r);
    run_teardown(&state);
    return n;
}

void every_prepare(const struct program *program, size_t count)
{
    static const struct variant by_groups[] = {{.word = {"--protocol", "none"}},
        {.word = {"--protocol", "camel"}}, {.word = {"--protocol", "hydee", "--camel"}}};
    for (size_t i = 0; i < count; i++) {
        known[i].program = &program[i];
        for (int rank = 0; rank < program[i].ranks; rank++)
            for (int g = 0; g < 3; g++)
                known[i].deliveries[g][rank] = undisturbed(i, &by_groups[g], rank);
    }
    unsetenv("HARK_POINT");
}

unsigned every_deliveries(const struct program *p, const struct variant *v, int rank)
{
    size_t i = 0;
    while (known[i].program != p) i++;
    return known[i].deliveries[v->groups][rank];
}

/* ---- kills of processes ---------------------------------------------------------------------- */

/* Were two ranks lost, the second one before the first had recovered, where the protocol survives
 * but one at once? One that is to go back with the first, and is killed since it does not answer,
 * is lost too: what it kept for others is gone. */
static bool is_beyond(const struct run *r, const struct kase *k)
{
    int first = -1, rank, at;
    for (const char *line = r->err; line && k->variant->at_once == 1;
         line = strchr(line, '\n'), line += line != NULL) {
        if (strncmp(line, "hark: recovered in ", 19) == 0) first = -1;
        if (sscanf(line, "hark: rank %d died (SIGKILL)%n", &rank, &at) != 1 &&
            sscanf(line, "hark: rank %d does not go back by itself%n", &rank, &at) != 1)
            continue;
        if (first >= 0 && first != rank) return true;
        first = rank;
    }
    return false;
}

static void expect_end_or_beyond(struct run *r, const struct kase *k)
{
    if (r->status != 1 || !is_beyond(r, k)) {
        expect_end(r, k);
        return;
    }
    every_outcome->beyond = true; /* it may fail then, and says so: a contribution has one copy too
                                   */
    if (!strstr(r->err, ": COMBINE: the log lacks a contribution\n"))
        run_expect_err(r, " diverged: ");
}

void every_kill(struct run *r, const struct kase *k)
{
    start(r, k, NULL, false);
    run_end(r);
    expect_end_or_beyond(r, k);
    run_expect_err(r, " died (SIGKILL) after ");
    if (r->status == 0) run_expect_err(r, "hark: recovered in ");
}

void every_point(struct run *r, const struct kase *k)
{
    char path[300];
    start(r, k, NULL, false);
    run_end(r);
    snprintf(path, sizeof path, "%s/hit", r->place);
    every_outcome->reached = access(path, F_OK) == 0;
    expect_end_or_beyond(r, k);
}

/* ---- kills of the supervisor ----------------------------------------------------------------- */

/* Bytes of standard output that the killed run has written and not noted any more. */
static size_t not_noted(const struct run *r)
{
    char path[300];
    uint8_t at[2 * HARK_OUTLET_NOTE * RANKS] = {0};
    uint64_t noted = 0;
    snprintf(path, sizeof path, "%s/s/output", r->place);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, at, sizeof at) : 0;
    if (fd >= 0) close(fd);
    for (size_t i = 0; n > 0 && i < (size_t)n; i += 2 * HARK_OUTLET_NOTE) {
        uint64_t position = 0;
        if (!hark_outlet_get_note(at + i, &position)) fail_msg("%s: a damaged note", path);
        noted += position;
    }
    if (noted > strlen(r->out))
        fail_msg("%" PRIu64 " bytes are noted, %zu are there", noted, strlen(r->out));
    return strlen(r->out) - noted;
}

/* So many bytes, which the killed run wrote last, may come again. */
static void forget_repeated(const char *first, char *second, size_t bytes)
{
    char copy[65536], *line[LINES];
    snprintf(copy, sizeof copy, "%.65535s", first);
    for (int n = lines_of(copy, line); n-- > 0;) {
        size_t length = strlen(line[n]);
        if (length + 1 > bytes) return;
        bytes -= length + 1;
        char *at = second;
        while (at && (strncmp(at, line[n], length) != 0 || at[length] != '\n')) {
            at = strchr(at, '\n');
            at = at && at[1] ? at + 1 : NULL;
        }
        if (at == NULL) return;
        memmove(at, at + length + 1, strlen(at + length + 1) + 1);
    }
}

void every_supervisor(struct run *r, const struct kase *k)
{
    char store[300], both[2 * sizeof r->out];
    snprintf(store, sizeof store, "%s/s", r->place);
    r->gone_limit = 10000;
    start(r, k, store, false);
    if (!strstr(k->point, "@supervisor")) { /* some moment, of the start or after a delivery */
        run_wait_for(r, k->point[0] ? "hit" : "err");
        usleep((unsigned)(k->seed % (UINT64_C(1) << (6 + k->seed / 64 % 12)))); /* more often soon
                                                                                 */
        kill(r->pid, SIGKILL);
    }
    run_end(r);
    every_outcome->reached = r->status == 256 + SIGKILL;
    every_outcome->gone_ms = r->gone_ms;
    if (!every_outcome->reached) {
        expect_end(r, k);
        return;
    }
    note_change(r);
    size_t loose = not_noted(r);
    /* the last line may be half written */
    char *end = strrchr(r->out, '\n');
    if (end) end[1] = 0;
    else r->out[0] = 0;
    snprintf(both, sizeof both, "%s", r->out);
    start(r, k, store, true);
    run_end(r);
    note_change(r);
    /* The second: killed between that and the end of the processes. */
    if ((r->status == 0 &&
            strstr(r->err, ": the job in it has finished already; there is nothing to do\n")) ||
        (r->status == 1 && strstr(r->err, " and the run ended before they had exited, "))) {
        expect_answer(both, r, k);
        return;
    }
    if (r->status != 0)
        fail_msg("exit status %d of the resumed run; stderr:\n%s", r->status, r->err);
    forget_repeated(both, r->out, loose);
    snprintf(both + strlen(both), sizeof both - strlen(both), "%s", r->out);
    expect_answer(both, r, k);
}

/* ---- stopped, and fenced --------------------------------------------------------------------- */

static void put(const struct run *r, const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", r->place, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void wait_for_text(struct run *r, const char *text)
{
    for (bool there = false; !there; (void)poll(NULL, 0, 1)) {
        siginfo_t info = {.si_pid = 0};
        char *err = run_read(r, "err");
        there = strstr(err, text) != NULL;
        free(err);
        if (there || waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            info.si_pid == 0)
            continue;
        run_end(r);
        fail_msg("never on stderr: %s; it has:\n%s", text, r->err);
    }
}

static pid_t pid_of(struct run *r, int rank)
{
    char text[64];
    snprintf(text, sizeof text, "hark: rank %d is process ", rank);
    wait_for_text(r, text);
    char *err = run_read(r, "err");
    pid_t pid = atoi(strstr(err, text) + strlen(text));
    free(err);
    return pid;
}

/* Rank k->rank is stopped at k->point; then the other one of its cluster is killed. It is let go
 * when that has been announced, or never: then the supervisor kills it, and begins no other one
 * before it has seen the end of this (small holds a lock). */
void every_stop(struct run *r, const struct kase *k)
{
    int other = k->rank ^ 1;
    char text[64];
    start(r, k, NULL, false);
    run_wait_for(r, "hit");
    pid_t stopped = pid_of(r, k->rank), mate = pid_of(r, other);
    run_wait_for_state(stopped, true); /* else it may stop after it was let go */
    assert_int_equal(kill(mate, SIGKILL), 0);
    snprintf(text, sizeof text, "hark: rank %d died (SIGKILL) ", other);
    wait_for_text(r, text);
    if (k->other_way) {
        if (k->long_asleep)
            (void)poll(NULL, 0, 9000); /* after 7 s nothing moves for good, if it were one that
                                          waits */
        assert_int_equal(kill(stopped, SIGCONT), 0);
    } else {
        snprintf(text, sizeof text, "hark: rank %d does not go back by itself in 50 ms", k->rank);
        wait_for_text(r, text);
    }
    run_end(r);
    expect_end_or_beyond(r, k);
}

/* The copy says what its process said: that may be heard by who has not been told yet, as what was
 * under way when it died. Or it says something else when all have been told, and nobody may hear
 * it. */
void every_fence(struct run *r, const struct kase *k)
{
    char path[300];
    start(r, k, NULL, false);
    run_wait_for(r, "copy");
    char *text = run_read(r, "copy");
    pid_t copy = atoi(text);
    free(text);
    assert_true(copy > 1);
    run_wait_for(r, "again");
    run_wait_for_state(copy, true);
    if (!k->other_way) {
        wait_for_text(r, "hark: recovered in ");
        put(r, "lie");
    }
    assert_int_equal(kill(copy, SIGCONT), 0);
    run_wait_for(r, "meet");
    snprintf(path, sizeof path, "%s/spoke", r->place);
    bool gone = false;
    while (access(path, F_OK) < 0 && !gone) {
        gone = waitpid(copy, NULL, WNOHANG) == copy;
        (void)poll(NULL, 0, 1);
    }
    if (!gone) {
        assert_int_equal(kill(copy, SIGKILL), 0);
        assert_int_equal(waitpid(copy, NULL, 0), copy);
    }
    every_outcome->reached = access(path, F_OK) == 0;
    put(r, "meet.go");
    run_end(r);
    expect_end(r, k);
}

/* ---- TCP ------------------------------------------------------------------------------------- */

void every_cut(struct run *r, const struct kase *k)
{
    char path[300];
    siginfo_t info;
    snprintf(path, sizeof path, "%s/relay", r->place);
    pid_t relay = relay_start(path, k->seed, &every_outcome->cuts);
    setenv("HARK_RELAY", path, 1);
    start(r, k, NULL, false);
    unsetenv("HARK_RELAY");
    while (waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    assert_int_equal(kill(relay, SIGKILL), 0);
    assert_int_equal(waitpid(relay, NULL, 0), relay);
    run_end(r);
    expect_end(r, k);
}

/* ---- other tests ----------------------------------------------------------------------------- */

void every_test(struct run *r, const struct kase *k)
{
    const char *argv[] = {k->test, NULL};
    (void)r;
    pid_t pid = fork();
    if (pid == 0) {
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status) fail_msg("%s fails", k->test);
}
