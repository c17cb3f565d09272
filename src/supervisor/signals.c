/* signals.c: what each signal to `hark run` does. hark-run(1), SIGNALS, is this table in words. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum action {
    PASS_AND_END, /* the processes get it; the run ends when they have, or after the grace time; a second one ends it
                     at once */
    SAY_AND_END,  /* the same, but the processes get SIGTERM, and a line says which signal it was */
    END_NOW,      /* as a second one */
    PASS,         /* those processes get it that handle it */
    CONTINUE      /* the processes go on */
};

static const struct row {
    int number;
    enum action action;
} table[] = {{SIGINT, PASS_AND_END}, {SIGTERM, PASS_AND_END}, {SIGHUP, PASS_AND_END}, {SIGQUIT, END_NOW},
    {SIGUSR1, PASS}, {SIGUSR2, PASS}, {SIGCONT, CONTINUE}, {SIGXCPU, SAY_AND_END}, {SIGALRM, SAY_AND_END},
    {SIGVTALRM, SAY_AND_END}, {SIGPROF, SAY_AND_END}, {SIGPOLL, SAY_AND_END}, {SIGPWR, SAY_AND_END},
    {SIGSTKFLT, SAY_AND_END}};
#define ROWS (sizeof table / sizeof table[0])

/* libuv's handlers run in the loop. Those that stop us do not wait for it: a SIGCONT that came meanwhile would be
 * lost. */
static const int stopping[] = {SIGTSTP, SIGTTIN, SIGTTOU};
#define STOPPING (sizeof stopping / sizeof stopping[0])

struct hark_sup_signals {
    uv_signal_t handle[ROWS];
    struct sigaction stopping_before[STOPPING], pipe_before, limit_before;
    sigset_t mask_before;
    sigset_t ignored; /* when we began: they stay ignored, here and in the processes */
};

/* For the handlers of signals that stop: what they touch is read and written by single instructions. */
static struct supervisor *volatile stopped;
static _Atomic uint64_t stopped_ns;

const char *hark_sup_signal_name(int number, char text[24])
{
    const char *name = sigabbrev_np(number);
    if (name)
        snprintf(text, 24, "SIG%s", name);
    else
        snprintf(text, 24, "signal %d", number);
    return text;
}

/* A time that stands still while we are stopped. */
uint64_t hark_sup_awake(void)
{
    return hark_sup_now() - atomic_load_explicit(&stopped_ns, memory_order_relaxed);
}

/* ---- to the processes --------------------------------------------------------------------------- */

/* To the process and to those that it has started, as a terminal would: behind a wrapper is the program. */
static void to_groups(const struct supervisor *s, int number, bool recovery)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->child[i].pid && (recovery || s->child[i].rank != HARK_RECOVERY)) (void)kill(-s->child[i].pid, number);
}

/* The bit of `number` in a mask of /proc/PID/status. */
static bool in_mask(const char *text, const char *name, int number)
{
    const char *at = strstr(text, name);
    return at && (strtoull(at + strlen(name), NULL, 16) >> (number - 1) & 1);
}

/* Does the process catch it, or wait for it blocked? By its default action it would die of it. */
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

static void pass(const struct supervisor *s, int number)
{
    char name[24];
    uint32_t passed = 0;
    for (uint32_t i = 0; i < s->o->ranks; i++) {
        const struct child *c = &s->child[i];
        pid_t pid = c->program ? c->program : c->pid;
        if (pid == 0 || !handles(pid, number)) continue;
        passed++;
        (void)kill(pid, number);
    }
    if (passed == 0)
        hark_sup_say("%s came: no process handles it, so it was passed on to none (it would have ended them)",
            hark_sup_signal_name(number, name));
}

/* ---- ending ------------------------------------------------------------------------------------- */

static void end_now(struct supervisor *s)
{
    s->phase = ENDING;
    s->exit = 128 + s->signal;
    hark_sup_kill_all(s);
    hark_sup_child_gone(s);
}

static void grace_is_over(uv_timer_t *timer)
{
    struct supervisor *s = timer->data;
    char name[24];
    uint32_t left = 0;
    for (uint32_t i = 0; i < s->o->ranks; i++)
        left += s->child[i].pid != 0;
    if (left && s->phase == RUNNING)
        hark_sup_say("%" PRIu32 " process%s not ended within %.3g s of %s; killed", left,
            left > 1 ? "es have" : " has", (double)s->o->grace_ms / 1000, hark_sup_signal_name(s->signal, name));
    end_now(s);
}

static void begin_to_end(struct supervisor *s, int number, int passed_on)
{
    if (s->signal) {
        end_now(s);
        return;
    }
    s->signal = number;
    to_groups(s, passed_on, false);
    if (s->phase != ENDING) uv_timer_start(&s->grace, grace_is_over, s->o->grace_ms, 0);
    hark_sup_try_finish(s); /* all may have finished already, and wait for their output */
}

static void act(struct supervisor *s, const struct row *row)
{
    char name[24];
    switch (row->action) {
    case PASS_AND_END: begin_to_end(s, row->number, row->number); break;
    case SAY_AND_END:
        if (s->signal == 0) hark_sup_say("%s came: the run ends", hark_sup_signal_name(row->number, name));
        begin_to_end(s, row->number, SIGTERM);
        break;
    case END_NOW:
        if (s->signal == 0) s->signal = row->number;
        end_now(s);
        break;
    case PASS: pass(s, row->number); break;
    case CONTINUE: to_groups(s, SIGCONT, true); break;
    }
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct supervisor *s = handle->data;
    const struct row *row = &table[handle - s->signals->handle];
    bool ends = row->action != PASS && row->action != CONTINUE,
         checkpoint = number == s->o->checkpoint_on && s->phase == RUNNING;
    if (s->ended && ends) { /* only its output is left, and nobody reads that */
        s->signal = number;
        s->give_up = true;
        uv_stop(&s->loop);
    } else if (checkpoint && !s->checkpoint_asked) {
        hark_sup_ask_checkpoint(s);
    } else if (s->ended == 0 && !(checkpoint && !ends)) { /* a second one does what it does without the option */
        act(s, row);
    }
}

/* ---- stopping: a terminal's Ctrl-Z, a batch system's suspend ------------------------------------ */

static void on_stop(int number)
{
    int saved = errno;
    const struct supervisor *s = stopped;
    uint64_t began = hark_sup_now();
    (void)number;
    if (s) to_groups(s, SIGSTOP, true);
    (void)raise(SIGSTOP);
    atomic_fetch_add_explicit(&stopped_ns, hark_sup_now() - began, memory_order_relaxed);
    if (s) to_groups(s, SIGCONT, true);
    errno = saved;
}

/* ---- begin and end ------------------------------------------------------------------------------ */

static bool ignored(const struct supervisor *s, int number)
{
    return sigismember(&s->signals->ignored, number) == 1;
}

bool hark_sup_signals_begin(struct supervisor *s)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction now;
    sigset_t none;
    s->signals = calloc(1, sizeof *s->signals);
    if (s->signals == NULL) {
        hark_sup_say("no memory for a run");
        return false;
    }
    sigemptyset(&s->signals->ignored);
    for (int n = 1; n < NSIG; n++)
        if (sigaction(n, NULL, &now) == 0 && now.sa_handler == SIG_IGN) sigaddset(&s->signals->ignored, n);
    sigemptyset(&none); /* whoever started us may have blocked some */
    pthread_sigmask(SIG_SETMASK, &none, &s->signals->mask_before);
    sigaction(SIGPIPE, &ignore, &s->signals->pipe_before);
    sigaction(SIGXFSZ, &ignore, &s->signals->limit_before); /* a write over the limit fails, and says so */
    return true;
}

void hark_sup_signals_open(struct supervisor *s)
{
    const struct sigaction stop = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < ROWS; i++) {
        uv_signal_t *handle = &s->signals->handle[i];
        uv_signal_init(&s->loop, handle);
        handle->data = s;
        if (!ignored(s, table[i].number) || table[i].number == s->o->checkpoint_on)
            uv_signal_start(handle, on_signal, table[i].number);
    }
    stopped = s;
    for (size_t i = 0; i < STOPPING; i++)
        if (!ignored(s, stopping[i])) sigaction(stopping[i], &stop, &s->signals->stopping_before[i]);
}

void hark_sup_signals_close(struct supervisor *s)
{
    for (size_t i = 0; i < STOPPING; i++)
        if (!ignored(s, stopping[i])) sigaction(stopping[i], &s->signals->stopping_before[i], NULL);
    stopped = NULL;
}

void hark_sup_signals_end(struct supervisor *s)
{
    if (s->signals == NULL) return;
    sigaction(SIGPIPE, &s->signals->pipe_before, NULL);
    sigaction(SIGXFSZ, &s->signals->limit_before, NULL);
    pthread_sigmask(SIG_SETMASK, &s->signals->mask_before, NULL);
    free(s->signals);
    s->signals = NULL;
}

void hark_sup_signals_in_process(const struct supervisor *s)
{
    struct sigaction now;
    sigset_t none;
    for (int n = 1; n < NSIG; n++) {
        if (sigaction(n, NULL, &now) < 0) continue;
        if (ignored(s, n))
            signal(n, SIG_IGN);
        else if (now.sa_handler != SIG_DFL)
            signal(n, SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

int hark_sup_signal_number(const char *text)
{
    const char *name = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;
    for (size_t i = 0; i < ROWS; i++) {
        const char *known = sigabbrev_np(table[i].number);
        bool can = table[i].action != CONTINUE && table[i].action != END_NOW;
        if (can && known && strcmp(known, name) == 0) return table[i].number;
    }
    return 0;
}
