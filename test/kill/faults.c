/* Faults around a real run: disks that fill up, stores that vanish or rot, strangers at the
 * sockets, deaths at the very end. Each is said in one line, and the answer is the one of an
 * undisturbed run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../fault/place.h"
#include "run.h"

#define MOST 32

static size_t lines_of(const char *text)
{
    size_t n = 0;
    for (; *text; text++) n += *text == '\n';
    return n;
}

/* The undisturbed answer of `lap LAPS` on 4 processes. */
static void expect_answer(const struct run *r, int laps)
{
    static char text[100][64];
    const char *line[100];
    int n = 0;
    for (int lap = 1; lap <= laps; lap++)
        snprintf(text[n++], 64, "lap %d: token %d", lap, lap * 10);
    snprintf(text[n++], 64, "rank 0: token %d", laps * 10);
    for (int rank = 1, token = laps * 10 - 10; rank < 4; rank++)
        snprintf(text[n++], 64, "rank %d: token %d", rank, token += rank + 1);
    for (int i = 0; i < n; i++) line[i] = text[i];
    line[n] = NULL;
    run_expect_lines(r, line);
}

/* hark run -n 4 --clusters 2 --interval 1ms (a checkpoint at each lap) WORDS...; `@` at the
 * beginning of a word, or behind its first `=`, stands for the test's directory. */
static const char **command(const struct run *r, const char *const words[])
{
    static const char *argv[MOST + 12];
    static char text[MOST][700];
    size_t n = 0;
    const char *const begin[] = {HARK_COMMAND, "run", "-n", "4", "--clusters", "2", "--interval",
        "1ms", "--wait-for-checkpoints", "--option", "answer-ms=50000"}; /* no slow disk or machine
                                                                            decides */
    for (; n < sizeof begin / sizeof begin[0]; n++) argv[n] = begin[n];
    for (size_t i = 0; words[i]; i++) {
        assert_true(i < MOST);
        const char *at = words[i][0] == '@'       ? words[i]
                         : strstr(words[i], "=@") ? strstr(words[i], "=@") + 1
                                                  : NULL;
        if (at)
            snprintf(text[i], sizeof text[i], "%.*s%s%s", (int)(at - words[i]), words[i], r->place,
                at + 1);
        argv[n++] = at ? text[i] : words[i];
    }
    argv[n] = NULL;
    return argv;
}
#define START(...) run_start(r, command(r, (const char *const[]){__VA_ARGS__, NULL}))
#define RUN(...)   run_command(r, command(r, (const char *const[]){__VA_ARGS__, NULL}))

static void again(struct run *r) /* the same test with another protocol: a place as new */
{
    place_remove(r->place);
    assert_int_equal(mkdir(r->place, 0700), 0);
}

static void put(const struct run *r, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", r->place, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static uint64_t figure(const struct run *r, const char *name)
{
    char key[100];
    char *json = run_read(r, "json");
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *at = strstr(json, key);
    if (at == NULL) fail_msg("no %s in:\n%s", name, json);
    uint64_t value = strtoull(at + strlen(key), NULL, 10);
    free(json);
    return value;
}

/* The checkpoint that the only death went back to; 0: the beginning. */
static int went_back_to(const struct run *r)
{
    const char *at = strstr(r->err, "go back to checkpoint ");
    if (at == NULL) at = strstr(r->err, "goes back to checkpoint ");
    return at ? atoi(strstr(at, "checkpoint ") + 11) : 0;
}

static const char *const protocols[] = {"coordinated", "hydee", "scmel", "team"};
#define EACH_PROTOCOL for (size_t p = 0; p < sizeof protocols / sizeof *protocols; again(r), p++)

/* ---- the store ------------------------------------------------------------------------------- */

struct on_a_disk {
    const char **argv;
    char path[600];
    size_t bytes;
};

static int run_on_a_disk(void *argument)
{
    struct on_a_disk *x = argument;
    if (!place_disk(x->path, x->bytes)) return 77;
    execv(x->argv[0], (char *const *)(uintptr_t)x->argv);
    return 99;
}

/* The store is on a tmpfs of 700 KiB that only this run sees. Returns when the run has ended. */
static void run_where_it_is_full(struct run *r, const char *const words[])
{
    struct on_a_disk x = {.bytes = 700u << 10};
    snprintf(x.path, sizeof x.path, "%s/s", r->place);
    assert_int_equal(mkdir(x.path, 0700), 0);
    x.argv = command(r, words);
    run_start_main(r, run_on_a_disk, &x);
    run_end(r);
    if (r->status == 77) skip();
}

/* The end of the job may find room, or not, which is said. */
static size_t lines_before_the_end(const struct run *r)
{
    const bool said = strstr(r->err, "; the job is done, but its store does not say so: ") != NULL;
    return lines_of(r->err) - said;
}

/* ENOSPC from a tmpfs of 700 KiB that only this run sees: the first images fit, then somebody takes
 * the rest. */
static void a_full_store(void **state)
{
    struct run *r = *state;
    EACH_PROTOCOL
    {
        run_where_it_is_full(
            r, (const char *const[]){"--protocol", protocols[p], "--store", "@/s", "--json",
                   "@/json", "--", HARK_LAP, "20", "0:10:fill=@/s/filler", "1:15:die=9", NULL});
        assert_int_equal(r->status, 0);
        expect_answer(r, 20);
        run_expect_err(
            r, ": No space left on device; the run goes on with the checkpoints that it has\n");
        run_expect_err(r, "hark: rank 1 died (SIGKILL) after 14 deliveries; ");
        assert_true(went_back_to(r) > 0);
        if (lines_before_the_end(r) != 3) fail_msg("%s: more is said:\n%s", protocols[p], r->err);
        assert_true(figure(r, "troubles") > 4);
    }
}

static void a_full_store_and_nothing_to_go_back_to(void **state)
{
    struct run *r = *state;
    EACH_PROTOCOL
    {
        run_where_it_is_full(r, (const char *const[]){"--protocol", protocols[p], "--store", "@/s",
                                    "--", HARK_LAP, "9", "0:1:fill=@/s/filler", "1:5:die=9", NULL});
        assert_int_equal(r->status, 0); /* the beginning is always there while nothing was trimmed
                                         */
        expect_answer(r, 9);
        run_expect_err(r, " to the beginning\n");
        assert_int_equal(lines_before_the_end(r), 3);
    }
}

/* A trouble that is over and comes back is said once a minute, not with each image. */
static void a_store_that_is_full_now_and_then(void **state)
{
    struct run *r = *state;
    EACH_PROTOCOL
    {
        run_where_it_is_full(
            r, (const char *const[]){"--protocol", protocols[p], "--store", "@/s", "--", HARK_LAP,
                   "40", "0:5:fill=@/s/filler", "0:10:free=@/s/filler", "0:20:fill=@/s/filler",
                   "0:25:free=@/s/filler", "0:35:fill=@/s/filler", NULL});
        assert_int_equal(r->status, 0);
        expect_answer(r, 40);
        run_expect_err(r, ": No space left on device; ");
        if (lines_before_the_end(r) != 1) fail_msg("%s: more is said:\n%s", protocols[p], r->err);
    }
}

static int newest_of_rank_1(const struct run *r)
{
    char path[600];
    int newest = 0;
    snprintf(path, sizeof path, "%s/s/r1", r->place);
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (atoi(e->d_name) > newest) newest = atoi(e->d_name);
    closedir(d);
    return newest;
}

static void move_store(const struct run *r, const char *to)
{
    char from[600], path[600];
    snprintf(from, sizeof from, "%s/s", r->place);
    snprintf(path, sizeof path, "%s/%s", r->place, to ? to : "removed");
    assert_int_equal(rename(from, path), 0); /* at once, which a removal is not */
    while (!to && access(path, F_OK) == 0)
        place_remove(path); /* a checkpoint may be in the middle of it */
}

#define GONE                                                                                       \
    ": it is not there any more, removed or renamed; the run goes on with the checkpoints that "   \
    "it has\n"

static void the_store_is_renamed(void **state)
{
    struct run *r = *state;
    EACH_PROTOCOL
    {
        START("--protocol", protocols[p], "--store", "@/s", "--", HARK_LAP, "20", "1:10:meet=met",
            "1:15:die=9");
        run_wait_for(r, "met");
        int newest = newest_of_rank_1(r);
        move_store(r, "elsewhere");
        put(r, "met.go");
        run_end(r);
        assert_int_equal(r->status, 0);
        expect_answer(r, 20);
        run_expect_err(r, GONE);
        assert_true(went_back_to(r) > newest); /* written after it was renamed */
        assert_int_equal(lines_of(r->err), 3);
    }
}

static void the_store_is_removed(void **state)
{
    struct run *r = *state;
    EACH_PROTOCOL
    {
        START("--protocol", protocols[p], "--store", "@/s", "--", HARK_LAP, "20", "0:10:meet=met");
        run_wait_for(r, "met");
        move_store(r, NULL);
        put(r, "met.go");
        run_end(r);
        assert_int_equal(r->status, 0);
        expect_answer(r, 20);
        run_expect_err(r, GONE);
        assert_int_equal(lines_of(r->err), 1);
        again(r);
        START("--protocol", protocols[p], "--store", "@/s", "--", HARK_LAP, "20", "0:10:meet=met",
            "1:15:die=9");
        run_wait_for(r, "met");
        move_store(r, NULL);
        put(r, "met.go");
        run_end(r);
        assert_int_equal(r->status, 1);
        run_expect_err(r, GONE);
        run_expect_err(r, " can not go back, no checkpoint of its cluster is whole: ");
        assert_int_equal(lines_of(r->err), 2);
    }
}

/* A byte of the newest image of rank 1 is turned over while the job waits. */
static void a_damaged_newest_image(void **state)
{
    struct run *r = *state;
    EACH_PROTOCOL
    {
        char path[700], text[100];
        uint8_t byte;
        START("--protocol", protocols[p], "--store", "@/s", "--", HARK_LAP, "20", "1:10:meet=met",
            "1:10:die=9");
        run_wait_for(r, "met");
        int newest = newest_of_rank_1(r);
        snprintf(path, sizeof path, "%s/s/r1/%d", r->place, newest);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        assert_int_equal(pread(fd, &byte, 1, 5000), 1);
        byte ^= 16;
        assert_int_equal(pwrite(fd, &byte, 1, 5000), 1);
        close(fd);
        put(r, "met.go");
        run_end(r);
        assert_int_equal(r->status, 0);
        expect_answer(r, 20);
        snprintf(text, sizeof text, "/s/r1/%d: ", newest);
        run_expect_err(r, text);
        snprintf(text, sizeof text, "; the older checkpoint %d is used\n", newest - 1);
        run_expect_err(r, text);
        assert_int_equal(went_back_to(r), newest - 1);
        assert_int_equal(lines_of(r->err), 3);
    }
}

/* ---- strangers ------------------------------------------------------------------------------- */

/* Connects to the socket of a rank (or of "recovery") of the only job in r->temporary, as soon as
 * it is there. */
static int connect_to(const struct run *r, const char *rank)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char name[sizeof to.sun_path + 10];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    DIR *jobs = opendir(r->temporary);
    assert_non_null(jobs);
    for (struct dirent *job; (job = readdir(jobs)) != NULL;)
        if (job->d_name[0] != '.')
            assert_true((size_t)snprintf(to.sun_path, sizeof to.sun_path, "%s/%s/%s.%s.0.sock",
                            r->temporary, job->d_name, job->d_name, rank) < sizeof to.sun_path);
    closedir(jobs);
    snprintf(name, sizeof name, "%s", to.sun_path + strlen(r->place) + 1);
    run_wait_for(r, name); /* the recovery process may be the last to come */
    if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
        fail_msg("%s: %s", to.sun_path, strerror(errno));
    return fd;
}

static void put32(uint8_t *at, uint32_t v)
{
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(v >> 8 * i);
}

/* Says that it is process `from` and means `to`, as a peer would (transports/uv/handshake.c), but
 * without the key. */
static void greet(int fd, uint32_t from, uint32_t to)
{
    uint8_t hello[52] = {0}, proof[40] = {0};
    char answer[200];
    put32(hello, 0x31767568u);
    put32(hello + 4, from);
    put32(hello + 12, to);
    assert_int_equal(send(fd, hello, sizeof hello, MSG_NOSIGNAL), sizeof hello);
    assert_int_equal(recv(fd, answer, 76, MSG_WAITALL), 76); /* the challenge */
    assert_int_equal(send(fd, proof, sizeof proof, MSG_NOSIGNAL), sizeof proof);
    assert_true(recv(fd, answer, sizeof answer, 0) <= 0); /* shown the door */
}

static void strangers_at_the_sockets(void **state)
{
    struct run *r = *state;
    static const char *const rank[] = {"0", "1", "2", "3", "recovery"};
    static const char garbage[4096] = "GET / HTTP/1.1\r\n\r\n";
    int fd[5];
    START("--protocol", "hydee", "--transport", "uv", "--json", "@/json", "--option",
        "handshake-ms=100", "--", HARK_LAP, "20", "1:10:meet=met");
    run_wait_for(r, "met");
    for (int i = 0; i < 5; i++) {
        fd[i] = connect_to(r, rank[i]);
        assert_int_equal(send(fd[i], garbage, i == 3 ? 7 : sizeof garbage, MSG_NOSIGNAL),
            i == 3 ? 7 : sizeof garbage);
    }
    /* rank 2 waits for a message of rank 1, and answers meanwhile */
    int stranger = connect_to(r, "2");
    greet(stranger, 0, 2);
    close(stranger);
    put(r, "met.go");
    run_end(r);
    for (int i = 0; i < 5; i++) close(fd[i]);
    assert_int_equal(r->status, 0);
    expect_answer(r, 20);
    assert_string_equal(r->err, "");
    assert_true(figure(r, "refused") >= 4); /* ranks 0, 1, 2 and the wrong key; who says little may
                                               not be found out in time */
}

static void a_message_over_the_limit(void **state)
{
    struct run *r = *state;
    const char *const transports[] = {"shm", "uv"};
    for (size_t t = 0; t < 2; t++) {
        RUN("--transport", transports[t], "--option", "frame-limit=1M", "--", HARK_LAP, "3",
            "1:2:send=983042");
        assert_int_equal(r->status, 1);
        run_expect_err(r, "hark: rank 1 exited with status 1\n");
        assert_non_null(
            strstr(r->out, "rank 1: hark_send: the message is longer than the limit of a frame\n"));
        again(r);
        RUN("--transport", transports[t], "--option", "frame-limit=1M", "--", HARK_LAP, "3",
            "1:2:send=983041");
        assert_int_equal(r->status, 0);
        expect_answer(r, 3);
        again(r);
    }
}

/* ---- the very end ---------------------------------------------------------------------------- */

static void killed_at_the_last_delivery(void **state)
{
    struct run *r = *state;
    EACH_PROTOCOL
    {
        for (int rank = 0; rank < 4; rank++) {
            char kill_at[20];
            snprintf(kill_at, sizeof kill_at, "%d@20", rank);
            RUN("--protocol", protocols[p], "--kill", kill_at, "--", HARK_LAP, "20");
            assert_int_equal(r->status, 0);
            expect_answer(r, 20);
            run_expect_err(r, " died (SIGKILL) after 20 deliveries; ");
        }
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
    return pid;
}

static void wait_for_text(struct run *r, const char *file, const char *text)
{
    for (bool there = false; !there; (void)poll(NULL, 0, 1)) {
        char *out = run_read(r, file);
        there = strstr(out, text) != NULL;
        free(out);
    }
}

/* Rank 0 waits in finalize (its last line is out, which finalize flushes) for rank 3, which comes
 * later. */
static void killed_in_finalize(void **state)
{
    struct run *r = *state;
    EACH_PROTOCOL
    {
        START("--protocol", protocols[p], "--verbose", "--", HARK_LAP, "20", "3:end:meet=met");
        run_wait_for(r, "met");
        wait_for_text(r, "out", "rank 0: token 200\n");
        assert_int_equal(kill(pid_of(r, "rank 0"), SIGKILL), 0);
        wait_for_text(r, "err", " died ");
        put(r, "met.go");
        run_end(r);
        assert_int_equal(r->status, 0);
        expect_answer(r, 20);
        run_expect_err(r, "hark: rank 0 died (SIGKILL) after 20 deliveries; ");
    }
}

static void killed_after_finalize(void **state)
{
    struct run *r = *state;
    EACH_PROTOCOL
    {
        RUN("--protocol", protocols[p], "--json", "@/json", "--", HARK_LAP, "20", "1:after:die=9",
            "2:exit:die=6", "2:after:partial=last words");
        assert_int_equal(r->status, 0);
        run_expect_err(r, "hark: rank 1 died (SIGKILL) after the end of the job, which is done\n");
        run_expect_err(r, "hark: rank 2 died (SIGABRT) after the end of the job, which is done\n");
        assert_int_equal(lines_of(r->err), 2);
        assert_int_equal(figure(r, "exit"), 0);
        char *words = strstr(r->out, "last words");
        assert_non_null(words);
        memmove(words, words + 10, strlen(words + 10) + 1);
        expect_answer(r, 20);
        again(r);
        /* all of them, and with a store: the end is durable */
        RUN("--protocol", protocols[p], "--store", "@/s", "--", HARK_LAP, "5", "0:after:die=9",
            "1:after:die=9", "2:after:die=9", "3:after:die=9");
        assert_int_equal(r->status, 0);
        expect_answer(r, 5);
        RUN("--protocol", protocols[p], "--store", "@/s", "--resume", "--", HARK_LAP, "5",
            "0:after:die=9", "1:after:die=9", "2:after:die=9", "3:after:die=9");
        assert_int_equal(r->status, 0);
        run_expect_err(r, ": the job in it has finished already; there is nothing to do\n");
    }
}

/* Who planned a kill is told that the run was too short for it; of what chance chose nothing is
 * said. */
static void a_kill_that_does_not_happen(void **state)
{
    struct run *r = *state;
    RUN("--kill", "1@100000", "--kill", "2@3", "--kill", "recovery@100000", "--chaos", "7:3", "--",
        HARK_LAP, "20");
    assert_int_equal(r->status, 0);
    expect_answer(r, 20);
    const char *at = strstr(r->err, "hark: --kill 1@100000 did not happen: it made ");
    assert_non_null(at);
    assert_non_null(
        strstr(at, " deliveries\nhark: --kill recovery@100000 did not happen: it received "));
    assert_null(strstr(r->err, "--kill 2@3 did"));
    int said = 0;
    for (at = r->err; (at = strstr(at, "did not happen")) != NULL; at++) said++;
    assert_int_equal(said, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, run_setup, run_teardown)
    const struct CMUnitTest tests[] = {TEST(a_full_store), TEST(a_store_that_is_full_now_and_then),
        TEST(a_full_store_and_nothing_to_go_back_to), TEST(the_store_is_renamed),
        TEST(the_store_is_removed), TEST(a_damaged_newest_image), TEST(strangers_at_the_sockets),
        TEST(a_message_over_the_limit), TEST(killed_at_the_last_delivery), TEST(killed_in_finalize),
        TEST(killed_after_finalize), TEST(a_kill_that_does_not_happen)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
