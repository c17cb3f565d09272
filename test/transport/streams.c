/* streams.c: a program that has closed its standard streams. Nothing that a transport opens may
 * take their place, or what the program prints would go to whoever it talks to. Each case is a
 * program of its own, begun anew. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Descriptors that are closed again at once are seen here: the suite is linked with --wrap for
 * these two. Atomic, for some cases open their ends in threads. */
static atomic_uint low;
int __real_ftruncate64(int fd, off_t length);
int __wrap_ftruncate64(int fd, off_t length);
int __real_fstat64(int fd, struct stat *st);
int __wrap_fstat64(int fd, struct stat *st);

int __wrap_ftruncate64(int fd, off_t length)
{
    low += fd <= STDERR_FILENO;
    return __real_ftruncate64(fd, length);
}

int __wrap_fstat64(int fd, struct stat *st)
{
    low += fd <= STDERR_FILENO;
    return __real_fstat64(fd, st);
}

enum moment { BEFORE_OPEN, BEFORE_MEETING, BEFORE_NEXT, NEVER };
#define STREAMS    3
#define ALL_CLOSED (1u << STREAMS)

static unsigned closed; /* a bit for each stream */

static void close_streams(unsigned streams)
{
    for (int fd = 0; fd < STREAMS; fd++)
        if (streams >> fd & 1) MUST(close(fd) == 0);
    closed = streams;
}

static void must_be_closed(void)
{
    for (int fd = 0; fd < STREAMS; fd++) {
        bool is_closed = fcntl(fd, F_GETFD) < 0 && errno == EBADF;
        MUST(is_closed == (closed >> fd & 1));
    }
    MUST(low == 0);
}

static void exchange(struct end *e, uint64_t id)
{
    for (uint32_t from = 0; from < 2; from++) {
        size_t count = e[1 - from].count;
        send_wholly(&e[from], 1 - from, e[1 - from].inc, id + from, 0, 100, e, 2);
        send_wholly(&e[from], 1 - from, e[1 - from].inc, id + 2 + from, 0, MIB, e, 2);
        until_count(&e[1 - from], count + 2, e, 2);
    }
    must_be_closed();
}

/* A child that is forked has them closed too, and ends as it likes. */
static void fork_and_exit(void)
{
    int status;
    pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
        must_be_closed();
        exit(0); /* with all that libraries do at the end */
    }
    MUST(waitpid(pid, &status, 0) == pid);
    MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int streams_program(char **argument)
{
    enum moment moment = (enum moment)atoi(argument[0]);
    unsigned streams = (unsigned)atoi(argument[1]);
    struct job job;
    struct end e[2];
    in_child = true;
    stderr = fdopen(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100), "w"); /* for what MUST() has to say
                                                                       */
    if (!stderr) return 8;
    setvbuf(stderr, NULL, _IONBF, 0);
    job_begin(&job, 2);
    if (moment == BEFORE_OPEN) close_streams(streams);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    must_be_closed();
    if (moment == BEFORE_MEETING) close_streams(streams);
    ends_meet(e, 2);
    exchange(e, 10);
    if (moment == BEFORE_NEXT) close_streams(streams);
    fork_and_exit();
    end_close(&e[1]);
    end_open(&e[1], &job, 1, 1);
    must_be_closed();
    ends_meet(e, 2);
    exchange(e, 20);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    conformance_subject.ops->sweep(job.name, job.directory);
    must_be_closed();
    job_end(&job);
    return 0;
}

static void run(enum moment moment, unsigned streams)
{
    char number[2][16];
    int status;
    snprintf(number[0], sizeof number[0], "%d", moment);
    snprintf(number[1], sizeof number[1], "%u", streams);
    fflush(NULL);
    pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
        execl("/proc/self/exe", "streams", number[0], number[1], (char *)NULL);
        _exit(7);
    }
    MUST(waitpid(pid, &status, 0) == pid);
    if (status)
        fprintf(stderr, "streams closed at moment %d: %u, status %#x\n", moment, streams,
            (unsigned)status);
    MUST(status == 0);
}

static void closed_streams(void **state)
{
    (void)state;
    for (int moment = BEFORE_OPEN; moment < NEVER; moment++)
        for (unsigned streams = starts_slowly() ? ALL_CLOSED - 1 : 1; streams < ALL_CLOSED;
             streams++)
            run((enum moment)moment, streams);
    run(NEVER, 0);
}

const struct CMUnitTest streams_tests[] = {TEST(closed_streams)};
const size_t streams_count = sizeof streams_tests / sizeof *streams_tests;
