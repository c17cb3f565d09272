/* dispositions.c: what signals are to us and to the processes: ignored, blocked, and those that
 * stop. */
#include "internal.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

/* libuv's handlers run in the loop. Those that stop us do not wait for it: a SIGCONT that came
 * meanwhile would be lost. */
static const int stopping[] = {SIGTSTP, SIGTTIN, SIGTTOU};
#define STOPPING (sizeof stopping / sizeof stopping[0])

struct hark_sup_signals {
    struct sigaction stopping_before[STOPPING], pipe_before, limit_before;
    sigset_t mask_before;
    sigset_t ignored; /* when we began: they stay ignored, here and in the processes */
};

/* For the handlers of signals that stop: what they touch is read and written by single
 * instructions. */
static struct supervisor *volatile stopped;
static _Atomic uint64_t stopped_ns;

/* A time that stands still while we are stopped. */
uint64_t hark_sup_awake(void)
{
    return hark_sup_now() - atomic_load_explicit(&stopped_ns, memory_order_relaxed);
}

/* To the process and to those that it has started, as a terminal would: behind a wrapper is the
 * program. */
void hark_sup_signal_groups(const struct supervisor *s, int number, bool recovery)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (recovery || s->child[i].rank != HARK_RECOVERY)
            hark_sup_signal(&s->child[i], number, true);
}

/* ---- stopping: a terminal's Ctrl-Z, a batch system's suspend --------------------------------- */

static void on_stop(int number)
{
    int saved = errno;
    const struct supervisor *s = stopped;
    uint64_t began = hark_sup_now();
    (void)number;
    if (s) hark_sup_signal_groups(s, SIGSTOP, true);
    (void)raise(SIGSTOP);
    atomic_fetch_add_explicit(&stopped_ns, hark_sup_now() - began, memory_order_relaxed);
    if (s) hark_sup_signal_groups(s, SIGCONT, true);
    errno = saved;
}

void hark_sup_stops_begin(struct supervisor *s)
{
    /* While we are stopped, other hosts would lose their leases. */
    const struct sigaction stop = {
        .sa_handler = s->o->hosts ? SIG_IGN : on_stop, .sa_flags = SA_RESTART};
    stopped = s;
    for (size_t i = 0; i < STOPPING; i++)
        if (!hark_sup_signal_ignored(s, stopping[i]))
            sigaction(stopping[i], &stop, &s->signals->stopping_before[i]);
}

void hark_sup_stops_end(struct supervisor *s)
{
    for (size_t i = 0; i < STOPPING; i++)
        if (!hark_sup_signal_ignored(s, stopping[i]))
            sigaction(stopping[i], &s->signals->stopping_before[i], NULL);
    stopped = NULL;
}

/* ---- begin and end --------------------------------------------------------------------------- */

bool hark_sup_signal_ignored(const struct supervisor *s, int number)
{
    return sigismember(&s->signals->ignored, number) == 1;
}

const sigset_t *hark_sup_signals_ignored(const struct supervisor *s)
{
    return &s->signals->ignored;
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
        if (sigaction(n, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
            sigaddset(&s->signals->ignored, n);
    sigemptyset(&none); /* whoever started us may have blocked some */
    pthread_sigmask(SIG_SETMASK, &none, &s->signals->mask_before);
    sigaction(SIGPIPE, &ignore, &s->signals->pipe_before);
    sigaction(SIGXFSZ, &ignore, &s->signals->limit_before); /* a write over the limit fails, and
                                                               says so */
    return true;
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
