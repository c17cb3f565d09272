/* local.c: one process of a job on this host. */
#include "local.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct hark_local_line { /* outlives its incarnation until libuv lets go */
    uv_poll_t poll;
    struct hark_local *of;
    int fd;
    enum hark_pipe kind;
    int events;
    bool paused; /* not read from, until there is room for it */
};

/* ---- lines ----------------------------------------------------------------------------------- */

static void on_poll(uv_poll_t *poll, int status, int events);

static void listen_for(struct hark_local_line *l, int events)
{
    if (l->events == events) return;
    l->events = events;
    if (events) uv_poll_start(&l->poll, events, on_poll);
    else uv_poll_stop(&l->poll);
}

/* Takes the descriptor over. */
static int open_line(struct hark_local *p, enum hark_pipe kind, int fd)
{
    struct hark_local_line *l = calloc(1, sizeof *l);
    if (l == NULL) return ENOMEM;
    l->of = p;
    l->fd = fd;
    l->kind = kind;
    l->poll.data = l;
    int flags = fcntl(fd, F_GETFL);
    int status = flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 ? 0 : errno;
    if (status == 0) status = -uv_poll_init(p->loop, &l->poll, fd);
    if (status) {
        free(l);
        return status;
    }
    listen_for(l, UV_READABLE);
    p->line[kind] = l;
    return 0;
}

static void let_go(uv_handle_t *h)
{
    free(h->data);
}

static void close_line(struct hark_local *p, enum hark_pipe kind)
{
    struct hark_local_line *l = p->line[kind];
    if (l == NULL) return;
    p->line[kind] = NULL;
    l->of = NULL;
    uv_poll_stop(&l->poll);
    uv_close((uv_handle_t *)&l->poll, let_go);
    close(l->fd);
}

void hark_local_drain(struct hark_local *p, enum hark_pipe line, bool all)
{
    uint8_t bytes[65536];
    while (p->line[line]) {
        if (!all && line != HARK_PIPE_CONTROL && p->events->full(p->self, line)) {
            p->line[line]->paused = true; /* the pipe fills up, and then its writer waits */
            listen_for(p->line[line], 0);
            return;
        }
        ssize_t n = read(p->line[line]->fd, bytes, sizeof bytes);
        if (n > 0) {
            p->events->taken(p->self, line, bytes, (size_t)n);
        } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
            p->line[line]->paused = false;
            listen_for(p->line[line], 0); /* the end; waitpid says what it means */
            return;
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

void hark_local_resume(struct hark_local *p)
{
    for (int kind = 0; kind < HARK_PIPES; kind++) {
        struct hark_local_line *l = p->line[kind];
        if (l == NULL || !l->paused || p->events->full(p->self, l->kind)) continue;
        l->paused = false;
        listen_for(l, UV_READABLE);
    }
}

bool hark_local_left(const struct hark_local *p)
{
    return p->line[HARK_PIPE_CONTROL] && p->line[HARK_PIPE_CONTROL]->events == 0;
}

/* One that dies has given up its descriptors before their other ends notice. */
bool hark_local_lives_on(const struct hark_local *p)
{
    char path[40];
    int entries = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)p->pid);
    DIR *list = p->pid ? opendir(path) : NULL;
    while (list && readdir(list)) entries++;
    if (list) closedir(list);
    return entries > 2; /* `.` and `..` */
}

/* Returns how many bytes went out; all of them if the process is gone: they are in vain. */
static size_t push(struct hark_local *p, const uint8_t *at, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t n = send(p->line[HARK_PIPE_CONTROL]->fd, at + done, length - done, MSG_NOSIGNAL);
        if (n >= 0) done += (size_t)n;
        else if (errno == EAGAIN) break;
        else if (errno != EINTR) return length;
    }
    return done;
}

static void push_rest(struct hark_local *p)
{
    size_t done = push(p, p->out, p->out_length);
    memmove(p->out, p->out + done, p->out_length - done);
    p->out_length -= done;
    listen_for(p->line[HARK_PIPE_CONTROL], p->out_length ? UV_READABLE | UV_WRITABLE : UV_READABLE);
}

bool hark_local_tell(struct hark_local *p, const void *at, size_t length)
{
    if (p->line[HARK_PIPE_CONTROL] == NULL) return true;
    const size_t done = p->out_length ? 0 : push(p, at, length), rest = length - done;
    if (rest == 0) return true;
    if (p->out_length + rest > p->out_room) {
        const size_t room = (p->out_length + rest) * 2;
        uint8_t *more = realloc(p->out, room);
        if (more == NULL) return false;
        p->out = more;
        p->out_room = room;
    }
    memcpy(p->out + p->out_length, (const uint8_t *)at + done, rest);
    p->out_length += rest;
    listen_for(p->line[HARK_PIPE_CONTROL], UV_READABLE | UV_WRITABLE);
    return true;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct hark_local_line *l = poll->data;
    struct hark_local *p = l->of;
    if (p == NULL) return;
    if (status < 0 || (events & (UV_READABLE | UV_DISCONNECT))) {
        hark_local_drain(p, l->kind, false);
        p->events->stirred(p->self, l->kind, p->line[l->kind] == l && l->events == 0 && !l->paused);
        return;
    }
    if (events & UV_WRITABLE) push_rest(p);
}

/* ---- in the new process, between fork and exec ----------------------------------------------- */

struct pipes { /* pairs: [0] ours, [1] the process's */
    int control[2], out[2], err[2];
    int trouble[2]; /* closed by a successful exec, or says why it was none */
};

static void close_pair(int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0) close(pair[i]);
    pair[0] = pair[1] = -1;
}

static int make_pipes(struct pipes *p)
{
    *p = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->control) == 0 &&
        pipe2(p->out, O_CLOEXEC) == 0 && pipe2(p->err, O_CLOEXEC) == 0 &&
        pipe2(p->trouble, O_CLOEXEC) == 0)
        return 0;
    int saved = errno;
    close_pair(p->control);
    close_pair(p->out);
    close_pair(p->err);
    close_pair(p->trouble);
    return saved;
}

/* Before those that the program is to load anyway. */
static bool preload(const char *libraries)
{
    char *list = NULL;
    const char *others = getenv("LD_PRELOAD");
    if (libraries == NULL) return true;
    if (asprintf(&list, "%s%s%s", libraries, others ? ":" : "", others ? others : "") < 0)
        return false;
    return setenv("LD_PRELOAD", list, 1) == 0;
}

/* As the program would have signals without us. */
static void set_signals(const sigset_t *ignored)
{
    struct sigaction now;
    sigset_t none;
    for (int n = 1; n < NSIG; n++) {
        if (sigaction(n, NULL, &now) < 0) continue;
        if (sigismember(ignored, n) == 1) signal(n, SIG_IGN);
        else if (now.sa_handler != SIG_DFL) signal(n, SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

struct trouble { /* of one that could not begin */
    int why;
    bool directory; /* its working directory */
};

/* Comes back if it fails, with errno. */
static void be_the_process(const struct hark_local_program *program, const struct pipes *p,
    pid_t parent, struct trouble *trouble)
{
    char control[40];
    /* A group of its own: what it starts can be found, and a terminal's signals come through us,
     * once. */
    (void)setpgid(0, 0);
    set_signals(program->ignored);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    int in = program->input >= 0 ? program->input : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (in < 0 || dup2(in, 0) < 0 || dup2(p->out[1], 1) < 0 || dup2(p->err[1], 2) < 0) return;
    if (fcntl(p->control[1], F_SETFD, 0) < 0) return;
    for (size_t i = 0; i < sizeof program->inherited / sizeof *program->inherited; i++)
        if (program->inherited[i] >= 0 && fcntl(program->inherited[i], F_SETFD, 0) < 0) return;
    struct stat st; /* its number tells it from what another process has under the same descriptor
                     */
    if (fstat(p->control[1], &st) < 0) return;
    snprintf(control, sizeof control, "%d:%llu", p->control[1], (unsigned long long)st.st_ino);
    if (setenv("HARK_CONTROL", control, 1) < 0) return;
    if (program->directory && chdir(program->directory) < 0) {
        trouble->directory = true;
        return;
    }
    for (char *const *v = program->environment; v && *v; v++) /* its own LD_PRELOAD among them */
        if (putenv(*v) != 0) return;
    if (program->same_addresses) (void)personality(ADDR_NO_RANDOMIZE);
    if (preload(program->preload))
        execvp(program->file ? program->file : program->argv[0], program->argv);
}

/* ---- start and end --------------------------------------------------------------------------- */

/* Waits until exec has succeeded or failed: false, and then the process is gone. */
static bool has_begun(struct pipes *p, pid_t pid, struct trouble *trouble)
{
    ssize_t n;
    close(p->trouble[1]);
    p->trouble[1] = -1;
    do n = read(p->trouble[0], trouble, sizeof *trouble);
    while (n < 0 && errno == EINTR);
    if (n != sizeof *trouble) return true;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    if (trouble->why == 0) trouble->why = EIO;
    return false;
}

static int open_lines(struct hark_local *p, struct pipes *pipes)
{
    int *ours[HARK_PIPES] = {&pipes->control[0], &pipes->out[0], &pipes->err[0]};
    for (int kind = 0; kind < HARK_PIPES; kind++) {
        int status = open_line(p, (enum hark_pipe)kind, *ours[kind]);
        if (status) return status;
        *ours[kind] = -1;
    }
    return 0;
}

int hark_local_start(struct hark_local *p, const struct hark_local_program *program)
{
    struct pipes pipes;
    struct trouble trouble = {0};
    p->lacks_directory = false;
    int status = make_pipes(&pipes);
    if (status) return status;
    sigset_t all, before;
    sigfillset(&all); /* our handlers must not run in the new process */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t parent = getpid(), pid = fork();
    if (pid != 0) pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid == 0) {
        be_the_process(program, &pipes, parent, &trouble);
        trouble.why = errno;
        (void)!write(pipes.trouble[1], &trouble, sizeof trouble);
        _exit(127);
    }
    status = pid < 0 ? errno : 0;
    if (pid > 0) {
        (void)setpgid(pid, pid); /* whoever of us is first */
        hark_janitor_born(p->janitor, pid);
        if (!has_begun(&pipes, pid, &trouble)) {
            hark_janitor_dead(p->janitor, pid);
            status = trouble.why;
            p->lacks_directory = trouble.directory;
        }
    }
    if (status == 0) {
        p->pid = pid;
        if (open_lines(p, &pipes) != 0) kill(pid, SIGKILL); /* it dies as others do */
    }
    close_pair(pipes.control);
    close_pair(pipes.out);
    close_pair(pipes.err);
    close_pair(pipes.trouble);
    return status;
}

void hark_local_signal(const struct hark_local *p, int number, bool group)
{
    if (p->pid) (void)kill(group ? -p->pid : p->pid, number);
}

/* The bit of `number` in a mask of /proc/PID/status. */
static bool in_mask(const char *text, const char *name, int number)
{
    const char *at = strstr(text, name);
    return at && (strtoull(at + strlen(name), NULL, 16) >> (number - 1) & 1);
}

static bool handles(pid_t pid, int number)
{
    char path[40], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = 0;
    return in_mask(text, "\nSigCgt:", number) || in_mask(text, "\nSigBlk:", number) ||
           in_mask(text, "\nSigIgn:", number);
}

bool hark_local_pass(const struct hark_local *p, pid_t program, int number)
{
    const pid_t pid = program ? program : p->pid;
    if (p->pid == 0 || !handles(pid, number)) return false;
    (void)kill(pid, number);
    return true;
}

bool hark_local_is_dead(const struct hark_local *p)
{
    siginfo_t info = {.si_pid = 0};
    return p->pid == 0 || waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid != 0;
}

int hark_local_bury(struct hark_local *p)
{
    int status = 0;
    (void)kill(-p->pid, SIGKILL); /* not reaped yet, so that its group can be nobody else's */
    for (int kind = 0; kind < HARK_PIPES; kind++) hark_local_drain(p, (enum hark_pipe)kind, true);
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR) {
    }
    hark_janitor_dead(p->janitor, p->pid);
    for (int kind = 0; kind < HARK_PIPES; kind++) close_line(p, (enum hark_pipe)kind);
    p->out_length = 0;
    p->pid = 0;
    return status;
}

void hark_local_free(struct hark_local *p)
{
    free(p->out);
    p->out = NULL;
    p->out_length = p->out_room = 0;
}
