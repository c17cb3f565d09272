/* lap.c: a program for tests of faults: a token goes round, and at chosen laps something is done to
 * the world.
 *
 *   lap LAPS [RANK:LAP:WORD[=VALUE]]...   at the beginning of that lap (from 1), once in all
 *                                         incarnations
 *   lap LAPS [RANK:end:WORD]              before hark_finalize
 *   lap LAPS [RANK:after:WORD]            when hark_finalize has returned
 *   lap LAPS [RANK:exit:WORD]             in an atexit handler
 *   meet=NAME    makes the file NAME in PLACE, goes on when there is NAME.go
 *   fill=FILE    writes FILE until there is no room any more
 *   free=FILE    removes FILE
 *   die=SIGNAL   ends by it
 *   send=BYTES   sends so many to the next, who takes none of it
 *   together     everybody at the same lap: long messages round by requests, a reduction and a
 *                barrier
 *   lines=N      prints N lines of 64 bytes
 *   partial=TEXT prints TEXT, no line
 *   stop=NAME    makes the file NAME, and stops
 *   refuse=N     system call number N is not permitted from now on; refuse=N.A: only with A as its
 *                second argument
 *   fork         starts a process that does not end
 *   disturb      leaves descriptors open, another working directory, signals blocked and ignored,
 *                an alarm to come
 *
 * Each incarnation adds a line to PLACE/begun.RANK: its process, and how it began: how many
 * descriptors, which directory, signals blocked and ignored, an alarm or none, its arguments.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "hark/app.h"

enum { END = -3, AFTER = -1, EXIT = -2, TAG = 1, WORDS = 4096 };

static int arguments, rank;
static char **argument;
static int64_t state[WORDS]; /* laps done, token, lines printed so far by lines=N */

static void check(int status, const char *call)
{
    if (status >= 0) return;
    printf("rank %d: %s: %s\n", rank, call, hark_app_error(status));
    exit(1);
}

static bool make(const char *format, const char *name)
{
    char text[300], path[600];
    snprintf(text, sizeof text, format, name);
    snprintf(path, sizeof path, "%s/%s", getenv("PLACE"), text);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static void meet(const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s.go", getenv("PLACE"), name);
    make("%s", name);
    while (access(path, F_OK) < 0) (void)poll(NULL, 0, 1);
}

static void fill(const char *path)
{
    static char much[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (fd >= 0 && write(fd, much, sizeof much) > 0) {
    }
    while (fd >= 0 && write(fd, much, 1) > 0) {
    }
    if (fd < 0 || (errno != ENOSPC && errno != EFBIG))
        printf("rank %d: %s was not filled\n", rank, path);
    if (fd >= 0) close(fd);
}

static void lines(int count)
{
    for (int i = 0; i < count; i++)
        printf("rank %d line %08" PRId64 " %s\n", rank, ++state[2],
            "..........................................");
}

static void much(size_t bytes)
{
    void *at = calloc(1, bytes);
    if (at == NULL) exit(1);
    check(hark_send(at, bytes, (rank + 1) % hark_size(), TAG + 1), "hark_send");
    free(at);
}

static void together(void)
{
    enum { LONG = 200000 };
    static uint8_t mine[LONG], theirs[LONG];
    struct hark_request *request[2];
    int size = hark_size(), previous = (rank + size - 1) % size;
    int64_t number = rank + 1, sum = 0;
    memset(mine, rank + 1, sizeof mine);
    check(hark_irecv(theirs, sizeof theirs, previous, TAG + 2, &request[0]), "hark_irecv");
    check(hark_isend(mine, sizeof mine, (rank + 1) % size, TAG + 2, &request[1]), "hark_isend");
    check(hark_waitall(2, request, NULL), "hark_waitall");
    check(hark_reduce(&number, &sum, 1, HARK_INT64, HARK_SUM, size - 1), "hark_reduce");
    check(hark_barrier(), "hark_barrier");
    bool right = rank != size - 1 || sum == (int64_t)size * (size + 1) / 2;
    for (int i = 0; i < LONG; i++) right &= theirs[i] == (uint8_t)(previous + 1);
    if (!right) printf("rank %d: another answer\n", rank);
}

static void stop(const char *name)
{
    make("%s", name);
    raise(SIGSTOP);
}

static void refuse(const char *what)
{
    char *end;
    const unsigned number = (unsigned)strtoul(what, &end, 10);
    const bool any = *end != '.';
    const unsigned second = any ? 0 : (unsigned)strtoul(end + 1, NULL, 10);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | (any ? BPF_JGE : BPF_JEQ) | BPF_K, second, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        printf("rank %d: system call %u was not refused\n", rank, number);
}

static void disturb(void)
{
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    sigprocmask(SIG_BLOCK, &some, NULL);
    signal(SIGUSR2, SIG_IGN);
    alarm(1000);
    if (dup(1) < 0 || dup2(0, 200) < 0 || chdir("/") < 0)
        printf("rank %d: nothing is disturbed\n", rank);
}

static char begun[1000];

static void see_how_it_began(void)
{
    char directory[600];
    unsigned descriptors = 0;
    sigset_t blocked;
    struct sigaction usr2;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d)) descriptors++;
    if (d) closedir(d);
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    sigaction(SIGUSR2, NULL, &usr2);
    if (getcwd(directory, sizeof directory) == NULL) directory[0] = 0;
    int n = snprintf(begun, sizeof begun, "%d %u %s %d %d %u", (int)getpid(), descriptors,
        directory, sigismember(&blocked, SIGUSR1), usr2.sa_handler == SIG_IGN, alarm(0));
    for (int i = 0; i < arguments && n < (int)sizeof begun; i++)
        n += snprintf(begun + n, sizeof begun - (size_t)n, " %s", argument[i]);
}

static void note_how_it_began(void)
{
    char path[600];
    snprintf(path, sizeof path, "%s/begun.%d", getenv("PLACE"), rank);
    FILE *f = fopen(path, "ae");
    if (f) fprintf(f, "%s\n", begun);
    if (f) fclose(f);
}

static void act(const char *word, const char *value)
{
    if (strncmp(word, "meet=", 5) == 0) meet(value);
    if (strncmp(word, "fill=", 5) == 0) fill(value);
    if (strncmp(word, "free=", 5) == 0 && unlink(value) < 0) exit(1);
    if (strncmp(word, "lines=", 6) == 0) lines(atoi(value));
    if (strcmp(word, "together") == 0) together();
    if (strncmp(word, "send=", 5) == 0) much(strtoull(value, NULL, 10));
    if (strncmp(word, "stop=", 5) == 0) stop(value);
    if (strncmp(word, "refuse=", 7) == 0) refuse(value);
    if (strcmp(word, "disturb") == 0) disturb();
    if (strcmp(word, "fork") == 0 && fork() == 0)
        for (;;) pause();
    if (strncmp(word, "partial=", 8) == 0) fputs(value, stdout);
    if (strncmp(word, "die=", 4) == 0) {
        fflush(stdout);
        raise(atoi(value));
    }
}

/* Printing and passing messages are part of the execution, and come again with it; what is done to
 * the world is done once. */
static void at_lap(int lap)
{
    for (int i = 2; i < arguments; i++) {
        char *word, number[16];
        int at;
        if (strtol(argument[i], &word, 10) != rank || *word++ != ':') continue;
        if (strncmp(word, "after:", 6) == 0) at = AFTER;
        else if (strncmp(word, "end:", 4) == 0) at = END;
        else if (strncmp(word, "exit:", 5) == 0) at = EXIT;
        else at = atoi(word);
        word = strchr(word, ':');
        if (word == NULL || at != lap) continue;
        char *value = strchr(++word, '=');
        snprintf(number, sizeof number, "%d", i);
        bool comes_again = strncmp(word, "lines=", 6) == 0 || strncmp(word, "partial=", 8) == 0 ||
                           strcmp(word, "together") == 0;
        if (comes_again || make("did-%s", number)) act(word, value ? value + 1 : "");
    }
}

static void at_exit(void)
{
    at_lap(EXIT);
}

int main(int argc, char **argv)
{
    uint64_t from;
    int64_t laps = argc > 1 ? atoll(argv[1]) : 0;
    arguments = argc;
    argument = argv;
    see_how_it_began();
    check(hark_init(), "hark_init");
    rank = hark_rank();
    note_how_it_began();
    int next = (rank + 1) % hark_size(), previous = (rank + hark_size() - 1) % hark_size();
    atexit(at_exit);
    check(hark_protect(1, state, sizeof state), "hark_protect");
    check(hark_restarted(&from), "hark_restarted");
    while (state[0] < laps) {
        at_lap((int)state[0] + 1);
        if (rank == 0) check(hark_send(&state[1], sizeof state[1], next, TAG), "hark_send");
        check(hark_recv(&state[1], sizeof state[1], previous, TAG, NULL), "hark_recv");
        state[1] += rank + 1;
        if (rank != 0) check(hark_send(&state[1], sizeof state[1], next, TAG), "hark_send");
        state[0]++;
        if (rank == 0) printf("lap %" PRId64 ": token %" PRId64 "\n", state[0], state[1]);
        check(hark_checkpoint(), "hark_checkpoint");
    }
    printf("rank %d: token %" PRId64 "\n", rank, state[1]);
    at_lap(END);
    check(hark_finalize(), "hark_finalize");
    at_lap(AFTER);
    return 0;
}
