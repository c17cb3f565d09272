/* spawn.c: fork and exec of one process, and whether it still is there. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* ---- in the new process, between fork and exec ----------------------------------------------- */

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

/* Comes back if it fails, with errno. The program's own LD_PRELOAD is set first. */
static void execute(const struct child *c)
{
    const struct hark_run_program *p = program_of(c);
    if (p->directory && chdir(p->directory) < 0) return;
    for (char *const *v = p->environment; v && *v; v++)
        if (putenv(*v) != 0) return;
    if (p->same_addresses) (void)personality(ADDR_NO_RANDOMIZE);
    if (preload(c->s->o->preload)) execvp(p->file ? p->file : p->argv[0], p->argv);
}

static void be_the_process(const struct child *c, const struct pipes *p, pid_t parent)
{
    char control[40];
    /* A group of its own: what it starts can be found, and a terminal's signals come through us,
     * once. */
    (void)setpgid(0, 0);
    hark_sup_signals_in_process(c->s);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    const bool reads = c->rank == 0 && c->s->input.is;
    int in = reads ? c->s->input.reader : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (in < 0 || dup2(in, 0) < 0 || dup2(p->out[1], 1) < 0 || dup2(p->err[1], 2) < 0) return;
    if (fcntl(p->control[1], F_SETFD, 0) < 0 || fcntl(c->s->board_fd, F_SETFD, 0) < 0 ||
        fcntl(c->s->store_fd, F_SETFD, 0) < 0 ||
        (c->journal >= 0 && fcntl(c->journal, F_SETFD, 0) < 0))
        return;
    struct stat st; /* its number tells it from what another process has under the same descriptor
                     */
    if (fstat(p->control[1], &st) < 0) return;
    snprintf(control, sizeof control, "%d:%llu", p->control[1], (unsigned long long)st.st_ino);
    if (setenv("HARK_CONTROL", control, 1) < 0) return;
    if (c->rank != HARK_RECOVERY) {
        execute(c);
    } else if (c->s->o->recovery) {
        execvp(c->s->o->recovery[0], c->s->o->recovery);
    } else {
        char *const argv[] = {"hark", HARK_RECOVERY_ARGUMENT, NULL};
        execv("/proc/self/exe", argv);
    }
}

/* ---- in the supervisor ----------------------------------------------------------------------- */

/* Waits until exec has succeeded or failed: 0 or its errno, and then the process is gone. */
static int exec_result(struct pipes *p, pid_t pid)
{
    int why = 0;
    ssize_t n;
    close(p->trouble[1]);
    p->trouble[1] = -1;
    do n = read(p->trouble[0], &why, sizeof why);
    while (n < 0 && errno == EINTR);
    if (n != sizeof why) return 0;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    return why ? why : EIO;
}

static int watch(struct child *c, struct pipes *p)
{
    int *ours[LINKS] = {&p->control[0], &p->out[0], &p->err[0]};
    for (int kind = 0; kind < LINKS; kind++) {
        int status = hark_sup_link(c, (enum link_kind)kind, *ours[kind]);
        if (status) return status;
        *ours[kind] = -1;
    }
    return 0;
}

void hark_sup_fresh(struct child *c)
{
    c->hello = c->finished = c->dead = c->goes_back = c->exited = false;
    c->mark_waits = false;
    c->answered = c->asked; /* by nobody */
    free(c->address);
    c->address = NULL;
    c->began = hark_sup_progress(c);
    c->began_messages = hark_sup_slot(c)->messages;
    c->program = 0;
    c->input_at = 0;
    for (int i = 0; i < 2; i++) hark_output_begin(&c->output[i], c->checkpoint != 0);
}

int hark_sup_spawn(struct child *c)
{
    struct pipes p;
    int status = hark_sup_journal(c);
    if (status == 0 && c->rank == 0) status = hark_sup_input_pipe(c->s);
    if (status == 0) status = make_pipes(&p);
    if (status) return status;
    hark_sup_fresh(c);
    c->kept = -1;
    sigset_t all, before;
    sigfillset(&all); /* our handlers must not run in the new process */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t parent = getpid(), pid = fork();
    if (pid != 0) pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid == 0) {
        be_the_process(c, &p, parent);
        status = errno;
        (void)!write(p.trouble[1], &status, sizeof status);
        _exit(127);
    }
    status = pid < 0 ? errno : 0;
    if (pid > 0) {
        (void)setpgid(pid, pid); /* whoever of us is first */
        hark_janitor_born(&c->s->janitor, pid);
        status = exec_result(&p, pid);
        if (status) hark_janitor_dead(&c->s->janitor, pid);
    }
    if (status == 0) {
        c->pid = pid;
        status = watch(c, &p); /* on failure the process dies as others do */
        if (status == 0) hark_sup_setup(c);
        else kill(pid, SIGKILL);
        if (c->s->o->verbose) {
            char name[32];
            hark_sup_say("%s is process %d", hark_sup_name(c, name), (int)pid);
        }
        status = 0;
    }
    close_pair(p.control);
    close_pair(p.out);
    close_pair(p.err);
    close_pair(p.trouble);
    return status;
}

bool hark_sup_is_dead(const struct child *c)
{
    siginfo_t info = {.si_pid = 0};
    return c->pid == 0 || waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid != 0;
}
