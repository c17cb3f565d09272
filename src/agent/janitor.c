#include "janitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../transports/entries.h"
#include "../view/trace.h"
#include "lease.h"

/* What goes through the pipe; shorter than PIPE_BUF, so always whole. */
struct note {
    int32_t what; /* 'b'orn, 'd'ead, 'l'ease, 'e'nd */
    int32_t pid;
    uint64_t started; /* as the kernel counts: tells a process from a later one with its number; of
                       * a lease: its end */
};

#define DYING_MS 1000 /* a killed process that is not gone by then hangs in the kernel */

/* Removes `name` in `dir` with all that is in it, on this device. */
static void remove_all(int dir, const char *name, dev_t device)
{
    struct entries e;
    struct stat st;
    if (!entries_open(&e, dir, name, O_NOFOLLOW)) {
        (void)unlinkat(dir, name, 0);
        return;
    }
    bool here = fstat(e.fd, &st) == 0 && st.st_dev == device;
    for (const char *inner = NULL; here && (inner = entries_next(&e)) != NULL;)
        if (unlinkat(e.fd, inner, 0) < 0) remove_all(e.fd, inner, device);
    entries_close(&e);
    if (here) (void)unlinkat(dir, name, AT_REMOVEDIR);
}

void hark_remove_tree(const char *path)
{
    struct stat st;
    if (lstat(path, &st) == 0) remove_all(AT_FDCWD, path, st.st_dev);
}

bool hark_remove_dead_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat st;
    if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode)) return false;
    if (snprintf(address.sun_path, sizeof address.sun_path, "%s", path) >=
        (int)sizeof address.sun_path)
        return false;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    const bool dead =
        connect(fd, (struct sockaddr *)&address, sizeof address) < 0 && errno == ECONNREFUSED;
    close(fd);
    return dead && unlink(path) == 0;
}

/* When `pid` was started, in the kernel's ticks; 0 if there is no such process. */
static uint64_t start_time(pid_t pid)
{
    char path[40], text[1024];
    unsigned long long started = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return 0;
    text[n] = 0;
    char *at = strrchr(text, ')'); /* the name before it may hold anything */
    if (at &&
        sscanf(at + 1,
            " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
            &started) != 1)
        started = 0;
    return started;
}

/* ---- the janitor's side ---------------------------------------------------------------------- */

struct known {
    struct note *note;
    size_t count, room;
};

static void learn(struct known *k, const struct note *n)
{
    if (n->what == 'd') {
        for (size_t i = 0; i < k->count; i++)
            if (k->note[i].pid == n->pid) k->note[i--] = k->note[--k->count];
        return;
    }
    if (k->count == k->room) {
        size_t room = k->room * 2 + 64;
        struct note *note = realloc(k->note, room * sizeof *note);
        if (note == NULL) return; /* PR_SET_PDEATHSIG still ends it */
        k->note = note;
        k->room = room;
    }
    k->note[k->count++] = *n;
}

/* Kills a process and its process group, if they are still those we know. Returns a descriptor that
 * tells the process's end, or -1. The kernel gives its number to nobody as long as the group has
 * members: where another process has it, ours are all gone. */
static int kill_known(const struct note *n)
{
    int fd = (int)syscall(SYS_pidfd_open, n->pid, 0);
    uint64_t started = start_time(n->pid);
    if (started == 0 || started == n->started) (void)kill(-n->pid, SIGKILL);
    if (started == n->started && started) (void)kill(n->pid, SIGKILL);
    else if (fd >= 0) close(fd);
    return started == n->started ? fd : -1;
}

static void kill_all(struct known *k)
{
    for (size_t i = 0; i < k->count; i++) k->note[i].pid = kill_known(&k->note[i]);
    for (size_t i = 0; i < k->count; i++) {
        struct pollfd gone = {.fd = k->note[i].pid, .events = POLLIN};
        if (gone.fd >= 0) (void)poll(&gone, 1, DYING_MS);
    }
}

/* What its processes and the supervisor have recorded is in files of the job's directory. */
static void save_trace(const struct hark_janitor_job *job)
{
    char error[HARK_TRACE_ERROR], **part = NULL;
    struct entries files;
    uint32_t parts = 0;
    if (job->trace == NULL || !entries_open(&files, AT_FDCWD, job->directory, 0)) return;
    for (const char *name; (name = entries_next(&files)) != NULL;) {
        char **more =
            strncmp(name, "trace-", 6) == 0 ? realloc(part, (parts + 1) * sizeof *part) : NULL;
        if (more) part = more;
        if (more && asprintf(&part[parts], "%s/%s", job->directory, name) >= 0) parts++;
    }
    entries_close(&files);
    if (parts)
        (void)hark_trace_merge_unfinished(job->trace, (const char *const *)part, parts, error);
}

/* False: the lease is over. Without one it waits for ever. */
static bool wait_for_note(int pipe, uint64_t lease)
{
    struct pollfd p = {.fd = pipe, .events = POLLIN};
    for (;;) {
        const uint64_t now = hark_lease_now(), left = lease > now ? (lease - now) / 1000000 + 1 : 0;
        const int n = poll(&p, 1, lease == 0 ? -1 : left < 60000 ? (int)left : 60000);
        if (n > 0 || (n < 0 && errno != EINTR)) return true;
        if (lease && hark_lease_now() >= lease) return false;
    }
}

/* The supervisor has died, but the system may not have closed its socket yet. */
static void remove_socket(const char *path)
{
    struct stat st;
    for (int waited = 0; waited < DYING_MS && !hark_remove_dead_socket(path); waited += 20) {
        if (lstat(path, &st) < 0) return;
        (void)poll(NULL, 0, 20);
    }
}

_Noreturn static void keep_watch(int pipe, pid_t parent, const struct hark_janitor_job *job)
{
    struct known k = {0};
    struct note n;
    uint64_t lease = 0;
    while (wait_for_note(pipe, lease)) {
        ssize_t got = read(pipe, &n, sizeof n);
        if (got < 0 && errno == EINTR) continue;
        if (got != sizeof n) break;
        if (n.what == 'e') _exit(0);
        if (n.what == 'l') lease = n.started;
        else learn(&k, &n);
    }
    const bool over = lease && hark_lease_now() >= lease;
    if (over && getppid() == parent) (void)kill(parent, SIGKILL); /* it would start others */
    kill_all(&k);
    save_trace(job);
    if (job->socket) remove_socket(job->socket);
    job->sweep(job->name, job->directory);
    hark_remove_tree(job->directory);
    if (job->spill) hark_remove_tree(job->spill);
    _exit(0);
}

/* Keeps two descriptors and nothing else that the supervisor had open: a held terminal or pipe
 * would keep its reader waiting. */
_Noreturn static void become_janitor(int pipe, pid_t parent, const struct hark_janitor_job *job)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), high = 8; /* above those that they get, also
                                                                   where few are allowed */
    int kept[2] = {pipe, job->lock}, count = job->lock >= 0 ? 2 : 1;
    for (int i = 0; i < count; i++) kept[i] = fcntl(kept[i], F_DUPFD_CLOEXEC, high);
    for (int i = 0; i < 3; i++) (void)dup2(null, i);
    for (int i = 0; i < count; i++) kept[i] = dup3(kept[i], 3 + i, O_CLOEXEC);
    (void)syscall(SYS_close_range, 3 + (unsigned)count, ~0u, 0);
    (void)setsid();
    for (int n = 1; n < NSIG; n++) /* what a batch system sends to all processes of a job is not for
                                      it */
        if (n != SIGCHLD) signal(n, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    prctl(PR_SET_NAME, "hark-janitor");
    if (kept[0] < 0 || chdir("/") < 0) _exit(1);
    keep_watch(kept[0], parent, job);
}

/* ---- the supervisor's side ------------------------------------------------------------------- */

int hark_janitor_start(struct hark_janitor *j, const struct hark_janitor_job *job)
{
    int to[2];
    *j = (struct hark_janitor){-1, 0, 0};
    if (pipe2(to, O_CLOEXEC) < 0) return -1;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) become_janitor(to[0], parent, job);
    close(to[0]);
    if (pid > 0) {
        *j = (struct hark_janitor){to[1], pid, 0};
        return 0;
    }
    int saved = errno;
    close(to[1]);
    errno = saved;
    return -1;
}

static void say(struct hark_janitor *j, int what, pid_t pid)
{
    struct note n = {what, pid, what == 'b' ? start_time(pid) : 0};
    if (j->pipe < 0) return;
    while (write(j->pipe, &n, sizeof n) < 0 && errno == EINTR) {
    }
}

void hark_janitor_born(struct hark_janitor *j, pid_t pid)
{
    say(j, 'b', pid);
}

void hark_janitor_dead(struct hark_janitor *j, pid_t pid)
{
    say(j, 'd', pid);
}

void hark_janitor_lease(struct hark_janitor *j, uint64_t end)
{
    const struct note n = {'l', 0, end};
    j->lease = end;
    if (j->pipe < 0) return;
    while (write(j->pipe, &n, sizeof n) < 0 && errno == EINTR) {
    }
}

bool hark_janitor_died(struct hark_janitor *j)
{
    if (j->pid == 0 || waitpid(j->pid, NULL, WNOHANG) != j->pid) return false;
    j->pid = 0;
    return true;
}

void hark_janitor_dismiss(struct hark_janitor *j)
{
    if (j->pipe < 0) return;
    say(j, 'e', 0);
    close(j->pipe);
    while (j->pid && waitpid(j->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    *j = (struct hark_janitor){-1, 0, 0};
}
