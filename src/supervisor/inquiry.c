/* inquiry.c: see inquiry.h. */
#include "inquiry.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../store/descriptor.h"

enum {
    SPARE = 16,        /* descriptors that are left for others */
    BREATH_MS = 100,   /* nobody is let in for so long, if nobody can be */
    LEFT_OVER = 65536, /* bytes that may come behind a question */
    WRITE_AT_ONCE = 262144
};

/* LEAVING: the answer is sent, and the other end may read it before its connection is reset, which
 * it would be if bytes of it were left unread here. */
enum stage { ASKING, ANSWERING, LEAVING };

struct client {
    struct hark_inquiry *of;
    struct client *before, *next; /* before: older */
    uv_poll_t poll;
    uv_timer_t timer;
    int handles; /* of these two, those that libuv still knows */
    int fd;
    enum stage stage;
    uint8_t question[HARK_INQUIRY_QUESTION];
    size_t length, left_over;
    struct hark_inquiry_answer answer;
    size_t sent;
};

struct hark_inquiry {
    uv_poll_t poll;
    uv_timer_t breath;
    int handles, fd;
    bool closed;
    hark_inquiry_ask *ask;
    void *self;
    struct client *oldest, *youngest;
    int count;
};

/* ---- one of them ----------------------------------------------------------------------------- */

static void free_client(uv_handle_t *handle)
{
    struct client *c = handle->data;
    if (--c->handles == 0) free(c);
}

static void end(struct client *c)
{
    struct hark_inquiry *q = c->of;
    if (c->before) c->before->next = c->next;
    else q->oldest = c->next;
    if (c->next) c->next->before = c->before;
    else q->youngest = c->before;
    q->count--;
    free(c->answer.at);
    c->answer.at = NULL;
    uv_close((uv_handle_t *)&c->poll, free_client);
    uv_close((uv_handle_t *)&c->timer, free_client);
    /* a child that was forked may hold a copy of the descriptor */
    (void)shutdown(c->fd, SHUT_RDWR);
    close(c->fd);
}

static void on_time(uv_timer_t *timer)
{
    end(timer->data);
}

static void on_event(uv_poll_t *poll, int status, int events);

static void watch(struct client *c, int events)
{
    if (uv_poll_start(&c->poll, events, on_event) != 0) end(c);
}

/* What the socket does not take now goes when it has room. */
static void send_answer(struct client *c)
{
    const size_t left = c->answer.length - c->sent;
    const ssize_t n = send(c->fd, (const uint8_t *)c->answer.at + c->sent,
        left < WRITE_AT_ONCE ? left : WRITE_AT_ONCE, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        end(c);
        return;
    }
    if (n > 0) c->sent += (size_t)n;
    if (c->sent < c->answer.length) {
        watch(c, UV_WRITABLE);
        return;
    }
    (void)shutdown(c->fd, SHUT_WR);
    c->stage = LEAVING;
    watch(c, UV_READABLE);
}

static void hear(struct client *c, size_t n)
{
    c->length += n;
    const int answered = c->of->ask(c->of->self, c->question, c->length, &c->answer);
    if (answered < 0 || (answered == 0 && c->length == sizeof c->question)) {
        end(c);
    } else if (answered > 0) {
        c->stage = ANSWERING;
        send_answer(c);
    }
}

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct client *c = poll->data;
    uint8_t dropped[4096];
    (void)events;
    if (status >= 0 && c->stage == ANSWERING) {
        send_answer(c);
        return;
    }
    uint8_t *to = c->stage == ASKING ? c->question + c->length : dropped;
    const size_t room = c->stage == ASKING ? sizeof c->question - c->length : sizeof dropped;
    const ssize_t n = status < 0 ? 0 : recv(c->fd, to, room, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (n > 0 && c->stage == ASKING) hear(c, (size_t)n);
    else if (n <= 0 || (c->left_over += (size_t)n) > LEFT_OVER) end(c);
}

static void let_in(struct hark_inquiry *q, int fd)
{
    struct client *c = calloc(1, sizeof *c);
    if (c == NULL || uv_poll_init(q->poll.loop, &c->poll, fd) != 0) {
        free(c);
        close(fd);
        return;
    }
    if (q->count == HARK_INQUIRY_AT_ONCE) end(q->oldest);
    uv_timer_init(q->poll.loop, &c->timer);
    c->of = q;
    c->fd = fd;
    c->handles = 2;
    c->poll.data = c->timer.data = c;
    c->before = q->youngest;
    if (q->youngest) q->youngest->next = c;
    else q->oldest = c;
    q->youngest = c;
    q->count++;
    uv_timer_start(&c->timer, on_time, HARK_INQUIRY_MS, 0);
    watch(c, UV_READABLE);
}

/* ---- those who come -------------------------------------------------------------------------- */

static void on_stranger(uv_poll_t *poll, int status, int events);

static void on_breath(uv_timer_t *timer)
{
    struct hark_inquiry *q = timer->data;
    if (uv_poll_start(&q->poll, UV_READABLE, on_stranger) != 0)
        uv_timer_start(&q->breath, on_breath, BREATH_MS, 0);
}

static bool is_scarce(int fd)
{
    struct rlimit files;
    return getrlimit(RLIMIT_NOFILE, &files) == 0 && (rlim_t)fd + SPARE >= files.rlim_cur;
}

static void on_stranger(uv_poll_t *poll, int status, int events)
{
    struct hark_inquiry *q = poll->data;
    (void)events;
    for (int i = 0; i < HARK_INQUIRY_AT_ONCE; i++) {
        const int fd = status < 0 ? -1
                                  : hark_descriptor_above(
                                        accept4(q->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (fd >= 0 && is_scarce(fd)) close(fd);
        else if (fd >= 0) let_in(q, fd);
        else if (status >= 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
        else if (status >= 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        else break;
    }
    /* They wait in the system's queue: many have come at once, or none can be let in now. */
    uv_poll_stop(&q->poll);
    uv_timer_start(&q->breath, on_breath, BREATH_MS, 0);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void free_inquiry(uv_handle_t *handle)
{
    struct hark_inquiry *q = handle->data;
    if (--q->handles == 0) free(q);
}

int hark_inquiry_open(
    struct hark_inquiry **to, uv_loop_t *loop, int fd, hark_inquiry_ask *ask, void *self)
{
    struct hark_inquiry *q = calloc(1, sizeof *q);
    int status = q ? uv_poll_init(loop, &q->poll, fd) : -ENOMEM;
    *to = NULL;
    if (status != 0) {
        free(q);
        close(fd);
        return status;
    }
    uv_timer_init(loop, &q->breath);
    q->poll.data = q->breath.data = q;
    q->handles = 2;
    q->fd = fd;
    q->ask = ask;
    q->self = self;
    status = uv_poll_start(&q->poll, UV_READABLE, on_stranger);
    if (status == 0) *to = q;
    else hark_inquiry_close(q);
    return status;
}

void hark_inquiry_close(struct hark_inquiry *q)
{
    if (q == NULL) return;
    while (q->oldest) end(q->oldest);
    uv_close((uv_handle_t *)&q->poll, free_inquiry);
    uv_close((uv_handle_t *)&q->breath, free_inquiry);
    close(q->fd);
}
