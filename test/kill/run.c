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
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../fault/place.h"
#include "run.h"

#define LONGEST_S 180 /* no run of a test lasts longer */
#define GONE_MS   2000
#define HELD_MS   30000 /* a disk does not write for longer */

int run_setup(void **state)
{
    struct run *r = calloc(1, sizeof *r);
    if (r == NULL) return -1;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    place_make(r->place);
    snprintf(r->temporary, sizeof r->temporary, "%s/t", r->place);
    *state = r;
    return place_count(r->place);
}

int run_teardown(void **state)
{
    struct run *r = *state;
    if (r->running) { /* a test has failed in the middle: the next one begins with nothing of it */
        kill(r->pid, SIGKILL);
        while (waitpid(-1, NULL, 0) > 0) {
        }
        char *err = run_read(r, "err");
        fprintf(stderr, "ERROR: until then the run said:\n%s", err);
        free(err);
    }
    place_remove(r->place);
    free(r);
    return 0;
}

static char *join(const struct run *r, const char *name, char path[600])
{
    snprintf(path, 600, "%s/%s", r->place, name);
    return path;
}

static void redirect(const struct run *r, const char *name, int to)
{
    char path[600];
    int fd = open(join(r, name, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || dup2(fd, to) < 0) _exit(99);
}

/* What sanitizers have to say goes to files beside, and run_end reads them: a process that is
 * killed in the middle of its search for leaks has that said on its stderr, between the lines that
 * tests compare. */
static void sanitizers_beside(const struct run *r)
{
    char options[900], path[600];
    const char *more = getenv("ASAN_OPTIONS");
    snprintf(options, sizeof options, "%.200s%slog_path=%s", more ? more : "", more ? ":" : "",
        join(r, "sanitizer", path));
    setenv("ASAN_OPTIONS", options, 1);
}

static bool begin(struct run *r)
{
    (void)mkdir(r->temporary, 0700);
    fflush(NULL);
    r->pid = fork();
    assert_true(r->pid >= 0);
    r->running = true;
    if (r->pid) return false;
    static const int usual[] = {
        SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGALRM};
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) /* a shell's background job has some
                                                                   ignored */
        signal(usual[i], SIG_DFL);
    setenv("TMPDIR", r->temporary, 1);
    setenv("PLACE", r->place, 1);
    sanitizers_beside(r);
    redirect(r, "out", 1);
    redirect(r, "err", 2);
    alarm(LONGEST_S);
    return true;
}

void run_start(struct run *r, const char *const argv[])
{
    if (!begin(r)) return;
    if (r->prepare) r->prepare();
    execv(argv[0], (char *const *)(uintptr_t)argv);
    _exit(99);
}

void run_start_main(struct run *r, int (*main_of_it)(void *argument), void *argument)
{
    if (begin(r)) exit(main_of_it(argument));
}

static long since(const struct timespec *begun)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - begun->tv_sec) * 1000 + (now.tv_nsec - begun->tv_nsec) / 1000000;
}

void run_wait_for(const struct run *r, const char *name)
{
    char path[600];
    struct timespec begun;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    while (access(join(r, name, path), F_OK) < 0) {
        assert_true(since(&begun) < LONGEST_S * 1000);
        (void)poll(NULL, 0, 1);
    }
}

char *run_read(const struct run *r, const char *name)
{
    char path[600];
    char *text = calloc(1, 65536);
    FILE *f = fopen(join(r, name, path), "re");
    assert_non_null(text);
    assert_non_null(f);
    (void)fread(text, 1, 65535, f);
    fclose(f);
    return text;
}

void run_wait_for_text(const struct run *r, const char *name, const char *text)
{
    struct timespec begun;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    run_wait_for(r, name);
    for (bool there = false; !there;) {
        char *at = run_read(r, name);
        there = strstr(at, text) != NULL;
        if (!there && since(&begun) > LONGEST_S * 1000)
            fail_msg("\"%s\" never came; there is:\n%s", text, at);
        free(at);
        if (!there) (void)poll(NULL, 0, 1);
    }
}

static char state_of(pid_t pid)
{
    char path[40], line[300] = "", c = '?';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (f == NULL) return '?';
    if (fgets(line, sizeof line, f) && strrchr(line, ')')) c = strrchr(line, ')')[2];
    fclose(f);
    return c;
}

void run_wait_for_state(pid_t pid, bool stopped)
{
    for (int waited = 0; (state_of(pid) == 'T') != stopped; waited++) {
        if (waited > 30000) fail_msg("process %d is in state %c", (int)pid, state_of(pid));
        (void)poll(NULL, 0, 1);
    }
}

void run_make(const struct run *r, const char *name)
{
    char path[600];
    int fd = open(join(r, name, path), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

/* Segments of a job carry its name, and that begins with the number of its supervisor. */
static void expect_no_segments(const struct run *r)
{
    char name[40], alone[40];
    struct dirent *e;
    DIR *d = opendir("/dev/shm");
    snprintf(name, sizeof name, "hark-%d-", (int)r->pid);
    snprintf(alone, sizeof alone, "hark-alone-%d.", (int)r->pid);
    while (d && (e = readdir(d)) != NULL)
        if (strstr(e->d_name, name) || strstr(e->d_name, alone))
            fail_msg("left in /dev/shm: %s", e->d_name);
    if (d) closedir(d);
}

static void expect_no_findings(const struct run *r)
{
    struct dirent *e;
    DIR *d = opendir(r->place);
    while (d && (e = readdir(d)) != NULL) {
        if (strncmp(e->d_name, "sanitizer.", 10) != 0) continue;
        char *text = run_read(r, e->d_name);
        if (strstr(text, "ERROR: ") || strstr(text, "runtime error: ")) fail_msg("%s", text);
        free(text);
    }
    if (d) closedir(d);
}

/* The children, with the state that they are in; returns whether one of them is where no signal
 * gets to it: a disk that takes seconds to write keeps it there, and the kernel ends it thereafter.
 */
static bool who_is_left(char text[1024])
{
    bool held = false;
    size_t length = 0;
    struct dirent *e;
    DIR *d = opendir("/proc");
    text[0] = 0;
    while (d && (e = readdir(d)) != NULL) {
        char path[300], line[300] = "", state, name[64];
        int parent, pid;
        snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
        FILE *f = e->d_name[0] >= '1' && e->d_name[0] <= '9' ? fopen(path, "re") : NULL;
        if (f == NULL) continue;
        (void)fread(line, 1, sizeof line - 1, f);
        fclose(f);
        if (sscanf(line, "%d (%63[^)]) %c %d", &pid, name, &state, &parent) != 4 ||
            parent != (int)getpid())
            continue;
        held = held || state == 'D';
        length += (size_t)snprintf(
            text + length, 1024 - length, " %d (%s) in state %c", pid, name, state);
        if (length >= 900) break;
    }
    if (d) closedir(d);
    return held;
}

static void expect_no_processes(struct run *r)
{
    char left[1024];
    long late = 0; /* since the last was seen in the kernel's hands */
    struct timespec begun;
    long limit = r->gone_limit ? r->gone_limit : GONE_MS;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);
        r->gone_ms = since(&begun);
        if (pid < 0 && errno == ECHILD) return;
        if (pid == 0 && r->gone_ms > limit) {
            if (who_is_left(left) && r->gone_ms < limit + HELD_MS) late = r->gone_ms;
            if (late == 0 || r->gone_ms > late + 500)
                fail_msg("after %ld ms there still are:%s", r->gone_ms, left);
        }
        if (pid == 0) (void)poll(NULL, 0, 1);
    }
}

void run_end(struct run *r)
{
    int status;
    assert_int_equal(waitpid(r->pid, &status, 0), r->pid);
    r->running = false;
    r->status = WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
    expect_no_processes(r);
    expect_no_segments(r);
    expect_no_findings(r);
    char *out = run_read(r, "out"), *err = run_read(r, "err");
    memcpy(r->out, out, sizeof r->out);
    memcpy(r->err, err, sizeof r->err);
    free(out);
    free(err);
    if (place_count(r->temporary) != 0) fail_msg("files are left in TMPDIR; stderr:\n%s", r->err);
}

void run_command(struct run *r, const char *const argv[])
{
    run_start(r, argv);
    run_end(r);
}

void run_expect_out(const struct run *r, const char *text)
{
    assert_string_equal(r->out, text);
}

void run_expect_lines(const struct run *r, const char *const lines[])
{
    size_t length = 0;
    char with_end[300], out[65537];
    snprintf(out, sizeof out, "\n%s", r->out);
    for (size_t i = 0; lines[i]; i++) {
        snprintf(with_end, sizeof with_end, "\n%s\n", lines[i]);
        const char *at = strstr(out, with_end);
        if (at == NULL) fail_msg("expected the line \"%s\", found:\n%s", lines[i], r->out);
        if (strstr(at + 1, with_end))
            fail_msg("the line \"%s\" is there twice:\n%s", lines[i], r->out);
        length += strlen(lines[i]) + 1;
    }
    if (strlen(r->out) != length) fail_msg("more lines than expected:\n%s", r->out);
}

void run_expect_err(const struct run *r, const char *text)
{
    if (strstr(r->err, text) == NULL)
        fail_msg("expected \"%s\" on stderr, found:\n%s", text, r->err);
}
