/* watch.c: the thread that hears of other hosts while we sleep for this one.
 *
 * wait() sleeps on the bell of shared memory, which sockets can not ring. So a thread sleeps on the
 * sockets, by the descriptor of libuv's loop, and rings it. What has come is left to who polls: the
 * thread says that there is something (`look`), and does not watch again until it is armed
 * (EPOLLONESHOT). So a poll without anything from other hosts makes no system call, and neither
 * does one of many that all find something wake the thread.
 *
 * It is armed only when libuv has been run since its watchers changed, since it tells the system of
 * them when it runs. Its timers become one of the system's.
 */
#include "inside.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "../../src/store/descriptor.h"

enum { FAR, TIMER };

static void *watches(void *argument)
{
    struct mixed *m = argument;
    struct watch *w = &m->watch;
    for (;;) {
        struct epoll_event event[2];
        int count = epoll_wait(w->epoll, event, 2, -1);
        if (atomic_load(&w->quit)) return NULL;
        if (count < 0 && errno == EINTR) continue;
        for (int i = 0; i < count; i++)
            if (event[i].data.u32 == FAR) atomic_store(&w->fired, 1);
        atomic_store(&w->look, 1);
        hark_shm_transport.wake(&m->e->head);
        if (count < 0) return NULL; /* somebody has closed what is not his */
    }
}

static int add(const struct watch *w, int fd, uint32_t which, uint32_t events)
{
    struct epoll_event event = {.events = events, .data = {.u32 = which}};
    return fd < 0 ? -1 : epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event);
}

int hark_mixed_watch_open(struct mixed *m)
{
    struct watch *w = &m->watch;
    const int fd = m->between->descriptor(m->far);
    w->timer = -1;
    w->epoll = hark_descriptor_above(epoll_create1(EPOLL_CLOEXEC));
    if (w->epoll >= 0)
        w->timer =
            hark_descriptor_above(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (w->timer < 0 || add(w, w->timer, TIMER, EPOLLIN | EPOLLET) != 0 ||
        (fd >= 0 && add(w, fd, FAR, 0) != 0))
        return hark_mixed_failed(m, "cannot watch for other hosts", errno);
    return HARK_T_OK;
}

int hark_mixed_watch_start(struct mixed *m)
{
    struct watch *w = &m->watch;
    sigset_t all, before;
    if (w->runs) return HARK_T_OK;
    w->owner = getpid();
    atomic_store(&w->fired, 1);
    look_again(m);
    sigfillset(&all); /* signals are the program's own threads' */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int why = pthread_create(&w->thread, NULL, watches, m);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (why != 0) return hark_mixed_failed(m, "cannot make a thread", why);
    w->runs = true;
    return HARK_T_OK;
}

static void set_timer(const struct watch *w, struct timespec after)
{
    const struct itimerspec time = {.it_value = after};
    (void)timerfd_settime(w->timer, 0, &time, NULL);
}

bool hark_mixed_watch_arm(struct mixed *m)
{
    struct watch *w = &m->watch;
    const int fd = m->between->descriptor(m->far);
    int milliseconds = m->between->timeout(m->far);
    if (milliseconds == 0) look_again(m);
    if (milliseconds > 0)
        set_timer(w, (struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000});
    if (fd < 0 || !atomic_load(&w->fired)) return milliseconds != 0;
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data = {.u32 = FAR}};
    atomic_store(&w->fired, 0);
    (void)epoll_ctl(w->epoll, EPOLL_CTL_MOD, fd, &event);
    return milliseconds != 0;
}

void hark_mixed_watch_close(struct mixed *m)
{
    struct watch *w = &m->watch;
    if (w->runs && w->owner == getpid()) { /* else we are a child that was forked, without it */
        atomic_store(&w->quit, 1);
        set_timer(w, (struct timespec){0, 1});
        pthread_join(w->thread, NULL);
    }
    if (w->timer >= 0) close(w->timer);
    if (w->epoll >= 0) close(w->epoll);
}
