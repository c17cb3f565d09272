/* ps_ask.c: `hark ps` asks the supervisors of jobs. They may be stopped, busy, or about to end:
 * nothing here waits for one of them alone. */
#include "ps_parts.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define AGAIN_MS 50 /* until one is asked again whose queue is full, or that has let us go */

struct asking {
    struct ps_job *job;
    int fd;    /* -1: not connected now */
    bool open; /* it may still answer */
    uint8_t *at;
    size_t length, room;
};

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void let_go(struct asking *a)
{
    if (a->fd >= 0) close(a->fd);
    a->fd = -1;
    a->length = 0;
}

static void conclude(struct asking *a, enum ps_answer answer)
{
    a->job->answer = answer;
    a->open = false;
    let_go(a);
}

static bool send_question(int fd, bool processes)
{
    struct hark_control m;
    hark_status_put_ask(&m, processes);
    const bool sent =
        !m.bad && send(fd, m.at, m.length, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)m.length;
    hark_control_free(&m);
    return sent;
}

/* By its directory's descriptor: that path is short, and leads to no other directory. */
static void reach(struct asking *a, bool processes)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(
        to.sun_path, sizeof to.sun_path, "/proc/self/fd/%d/" HARK_STATUS_SOCKET, a->job->directory);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        conclude(a, PS_FAILED);
        return;
    }
    a->fd = fd;
    if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0) {
        if (errno == EAGAIN || errno == EINTR) let_go(a);
        else conclude(a, PS_GONE);
    } else if (!send_question(fd, processes)) {
        let_go(a);
    }
}

static void read_answer(struct asking *a)
{
    struct hark_control m;
    const long whole = hark_control_parse(&m, a->at, a->length);
    if (whole == 0) return;
    hark_status_free(&a->job->status);
    switch (whole < 0 ? HARK_STATUS_BAD : hark_status_get(&m, &a->job->status)) {
    case HARK_STATUS_OK: conclude(a, PS_ANSWERED); return;
    case HARK_STATUS_NO_MEMORY: conclude(a, PS_FAILED); break;
    default: conclude(a, PS_OTHER); break;
    }
    hark_status_free(&a->job->status);
}

static void hear(struct asking *a)
{
    if (a->room - a->length < 65536) {
        uint8_t *more = realloc(a->at, a->room * 2 + 65536);
        if (more == NULL) {
            conclude(a, PS_FAILED);
            return;
        }
        a->at = more;
        a->room = a->room * 2 + 65536;
    }
    const ssize_t n = recv(a->fd, a->at + a->length, a->room - a->length, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) { /* it has ended, or has no room for us now */
        let_go(a);
        return;
    }
    a->length += (size_t)n;
    read_answer(a);
}

/* One round: asks those that are not asked, and hears what has come by then. */
static void go_round(
    struct asking *a, struct pollfd *p, uint32_t count, bool processes, uint64_t left)
{
    const int breath = left < AGAIN_MS ? (int)left : AGAIN_MS;
    bool again = false;
    for (uint32_t i = 0; i < count; i++) {
        if (a[i].open && a[i].fd < 0) reach(&a[i], processes);
        again |= a[i].open && a[i].fd < 0;
        p[i] = (struct pollfd){.fd = a[i].open ? a[i].fd : -1, .events = POLLIN};
    }
    if (poll(p, count, again ? 0 : (int)left) > 0)
        for (uint32_t i = 0; i < count; i++)
            if (p[i].fd >= 0 && p[i].revents) hear(&a[i]);
    for (uint32_t i = 0; i < count; i++) again |= a[i].open && a[i].fd < 0;
    if (again) (void)poll(NULL, 0, breath);
}

static bool is_enough(const struct asking *a, uint32_t count, const char *only)
{
    bool open = false;
    for (uint32_t i = 0; i < count; i++) {
        open |= a[i].open;
        if (only && !a[i].open && a[i].job->answer != PS_GONE && ps_matches(a[i].job, only) == 2)
            return true;
    }
    return !open;
}

void ps_ask(struct ps_jobs *jobs, bool processes, const char *only)
{
    const uint64_t end = now_ms() + PS_PATIENCE_MS;
    const uint32_t count = jobs->count;
    struct asking *a = calloc(count ? count : 1, sizeof *a);
    struct pollfd *p = calloc(count ? count : 1, sizeof *p);
    for (uint32_t i = 0; i < count; i++) {
        jobs->job[i].answer = a && p ? PS_SILENT : PS_FAILED;
        if (a) a[i] = (struct asking){.job = &jobs->job[i], .fd = -1, .open = true};
    }
    while (a && p && !is_enough(a, count, only)) {
        const uint64_t now = now_ms();
        if (now >= end) break;
        go_round(a, p, count, processes, end - now);
    }
    for (uint32_t i = 0; a && i < count; i++) {
        let_go(&a[i]);
        free(a[i].at);
    }
    free(a);
    free(p);
}
