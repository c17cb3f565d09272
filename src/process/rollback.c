#include "rollback.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hark/parts/mem.h"
#include "process.h"
#include "../driver/point.h"
#include "../store/descriptor.h"

#define P hark_process

static struct {          /* how it was when hark_init was called */
    char **argv, **envp; /* NULL: not to be had */
    int stdio[3], directory;
    sigset_t mask, ignored;
} begun = {.stdio = {-1, -1, -1}, .directory = -1};

/* ---- how the program began ------------------------------------------------------------------- */

/* The strings of a file, each ended by a NUL; NULL if it can not be read. */
static char **strings_of(const char *path)
{
    int fd = hark_descriptor_above(open(path, O_RDONLY | O_CLOEXEC));
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (f == NULL && fd >= 0) close(fd);
    char *text = NULL, **list = f ? calloc(1, sizeof *list) : NULL;
    size_t room = 0, count = 0;
    bool whole = true;
    while (list && getdelim(&text, &room, 0, f) > 0) {
        char **more = realloc(list, (count + 2) * sizeof *list);
        whole = more != NULL;
        if (!whole) break;
        list = more;
        list[count++] = text;
        list[count] = text = NULL;
        room = 0;
    }
    if (list && (!whole || ferror(f))) {
        while (count) free(list[--count]);
        free(list);
        list = NULL;
    }
    free(text);
    if (f) fclose(f);
    return list;
}

void hark_rollback_remember(void)
{
    struct sigaction action;
    begun.argv = strings_of("/proc/self/cmdline");
    begun.envp = strings_of("/proc/self/environ");
    for (int i = 0; i < 3; i++) begun.stdio[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
    begun.directory = hark_descriptor_above(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    pthread_sigmask(SIG_SETMASK, NULL, &begun.mask);
    sigemptyset(&begun.ignored);
    for (int n = 1; n < NSIG; n++)
        if (sigaction(n, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            sigaddset(&begun.ignored, n);
}

static void free_strings(char **list)
{
    for (size_t i = 0; list && list[i]; i++) free(list[i]);
    free(list);
}

void hark_rollback_forget(void)
{
    free_strings(begun.argv);
    free_strings(begun.envp);
    begun.argv = begun.envp = NULL;
    for (int i = 0; i < 3; i++)
        if (begun.stdio[i] >= 0) close(begun.stdio[i]);
    if (begun.directory >= 0) close(begun.directory);
    begun.stdio[0] = begun.stdio[1] = begun.stdio[2] = begun.directory = -1;
}

/* What exec would carry over: signals that are handled come to their defaults by it. */
static void signals_as_begun(void)
{
    static const struct itimerval none;
    struct sigaction action;
    for (int n = 1; n < NSIG; n++)
        if (sigismember(&begun.ignored, n) == 1) signal(n, SIG_IGN);
        else if (sigaction(n, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            signal(n, SIG_DFL);
    setitimer(ITIMER_REAL, &none, NULL);
    setitimer(ITIMER_VIRTUAL, &none, NULL);
    setitimer(ITIMER_PROF, &none, NULL);
    pthread_sigmask(SIG_SETMASK, &begun.mask, NULL);
}

/* ---- what is kept ---------------------------------------------------------------------------- */

static bool write_all(int fd, const uint8_t *at, uint64_t length)
{
    while (length) {
        ssize_t n = write(fd, at, length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        length -= (uint64_t)n;
    }
    return true;
}

/* The core's snapshot in memory that nobody can change any more: its descriptor, or -1 with the
 * failed call in *call. */
static int keep(const char **call)
{
    uint64_t length = hark_driver_snapshot(P.driver, NULL, 0);
    uint8_t *at = malloc(length + 1);
    int fd =
        at ? hark_descriptor_above(memfd_create("hark-kept", MFD_CLOEXEC | MFD_ALLOW_SEALING)) : -1;
    *call = at ? "memfd_create" : "malloc";
    if (fd >= 0) {
        hark_driver_snapshot(P.driver, at, length);
        *call = "write";
        bool ok = write_all(fd, at, length);
        if (ok) *call = "F_ADD_SEALS";
        if (!ok ||
            fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0) {
            int why = errno;
            close(fd);
            errno = why;
            fd = -1;
        }
    }
    free(at);
    return fd;
}

struct hark_bytes hark_rollback_kept(void)
{
    struct hark_bytes kept = {NULL, 0};
    struct stat st;
    if (P.setup.kept < 0) return kept;
    void *at = MAP_FAILED;
    if (fstat(P.setup.kept, &st) == 0 && st.st_size > 0 && (uint64_t)st.st_size <= UINT32_MAX)
        at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, P.setup.kept, 0);
    if (at == MAP_FAILED)
        hark_process_fatal(
            "rank %u: what its earlier incarnation kept: %s", P.setup.rank, strerror(errno));
    close(P.setup.kept);
    P.setup.kept = -1;
    return (struct hark_bytes){at, (uint32_t)st.st_size};
}

void hark_rollback_taken(struct hark_bytes kept)
{
    if (kept.length) munmap((void *)(uintptr_t)kept.at, kept.length);
}

/* ---- going back ------------------------------------------------------------------------------ */

static void say_again(int kept, const char *why)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_C_AGAIN);
    hark_control_put32(&m, (uint32_t)kept);
    hark_control_puts(&m, why, strlen(why));
    hark_process_say(&m);
}

/* Those that it has started go with a process that dies. They would not go with one that executes
 * its program. */
static bool has_children(void)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
    }
    return pid == 0;
}

/* What other threads print from here on is of no execution any more, and what they would read
 * belongs to the next one. */
static void divert_streams(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; null >= 0 && i < 3; i++) (void)dup2(null, i);
}

/* Comes back only if it fails: the call that did. */
static const char *execute(int kept)
{
    const int pass[] = {P.control, P.setup.board, P.setup.journal, P.setup.store_fd, kept};
    if (close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) < 0) return "close_range";
    for (size_t i = 0; i < HARK_COUNT(pass); i++)
        if (pass[i] >= 0 && fcntl(pass[i], F_SETFD, 0) < 0) return "F_SETFD";
    for (int i = 0; i < 3; i++)
        if (begun.stdio[i] < 0) (void)close(i); /* it was */
        else if (dup2(begun.stdio[i], i) < 0) return "dup2";
    if (begun.directory >= 0 && fchdir(begun.directory) < 0) return "fchdir";
    signals_as_begun();
    HARK_POINT("execve", P.setup.rank);
    execve("/proc/self/exe", begun.argv, begun.envp);
    return "execve";
}

_Noreturn void hark_rollback(void)
{
    char why[200] = "processes that it has started are still there";
    const char *call = NULL;
    int kept = -1;
    if (begun.argv == NULL || begun.envp == NULL)
        snprintf(why, sizeof why, "/proc/self has not said how it began");
    else if (!has_children()) kept = keep(&call);
    HARK_POINT("rollback", P.setup.rank);
    if (kept >= 0) {
        divert_streams();
        say_again(kept, "");
        HARK_POINT("again", P.setup.rank);
        pthread_join(P.reader, NULL); /* it has heard GO: what comes next is for the next
                                         incarnation */
        hark_driver_close(P.driver);
        hark_trace_close(P.trace);
        if (P.store) P.store->ops->close(P.store);
        call = execute(kept);
    }
    if (call) snprintf(why, sizeof why, "%s: %s", call, strerror(errno));
    say_again(-1, why);
    kill(getpid(), SIGKILL);
    for (;;) pause();
}
