/* listen.c: strangers come in. Only so many at a time, since who they are is not known yet. */
#include "../../src/store/descriptor.h"
#include "end.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT_ONCE 16 /* accepted before others get their turn */
#define GRACE_MS                                                                                   \
    200 /* the oldest stranger has at least so long before a new one may take its place */
#define BREATH_MS 20 /* how long nobody is accepted, if nobody can be */

static void on_stranger(uv_poll_t *listener, int status, int events);

static void on_breath(uv_timer_t *timer)
{
    struct end *e = timer->data;
    e->changed = true;
    if (e->has_listener) uv_poll_start(&e->listener, UV_READABLE, on_stranger);
}

/* The sockets that wait stay in the system's queue. */
static void take_breath(struct end *e)
{
    e->changed = true;
    uv_poll_stop(&e->listener);
    uv_timer_start(&e->breath, on_breath, BREATH_MS, 0);
}

/* No descriptors, no memory: they may come back. Who connects can not tell us from one that is
 * busy, so after the deadline it is ours to say. */
static void no_room(struct end *e, int why)
{
    const uint64_t now = uv_now(&e->loop) + 1; /* never 0 */
    const int status = hark_uv_failed(e, "cannot accept at", e->address, why);
    if (e->no_room_since == 0) e->no_room_since = now;
    if (now - e->no_room_since >= e->deadline) e->trouble = status;
    take_breath(e);
}

static bool make_room(struct end *e)
{
    if (e->strangers < e->strangers_most) return true;
    struct conn *c = e->conns;
    while (c->state != CONN_WANT_HELLO && c->state != CONN_WANT_PROOF) c = c->next;
    if (uv_now(&e->loop) - c->born < GRACE_MS) return false;
    hark_uv_conn_refuse(c);
    return true;
}

static void on_stranger(uv_poll_t *listener, int status, int events)
{
    struct end *e = listener->data;
    (void)events;
    for (int i = 0; i < AT_ONCE; i++) {
        if (status < 0 || !make_room(e)) {
            take_breath(e);
            return;
        }
        int fd =
            hark_descriptor_above(accept4(e->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
        if (fd < 0) {
            no_room(e, errno);
            return;
        }
        e->no_room_since = 0;
        struct conn *c = hark_uv_conn_new(e, fd, CONN_WANT_HELLO);
        if (!c) continue;
        hark_uv_conn_watch(c, false);
        hark_uv_shake_read(c); /* mostly it is there already */
    }
}

static int listen_failed(struct end *e, const struct address *at, int why)
{
    char text[ADDRESS_TEXT];
    hark_uv_address_text(at, text);
    return hark_uv_failed(e, "cannot listen at", text, why);
}

int hark_uv_listen(struct end *e, const struct address *at)
{
    struct address mine = *at;
    int on = 1;
    e->listen_fd = hark_descriptor_above(
        socket(at->at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (e->listen_fd < 0) return listen_failed(e, at, errno);
    /* who may write to a UNIX socket is said by its mode: it is made with that of its descriptor */
    if (address_is_local(at)) (void)fchmod(e->listen_fd, S_IRUSR | S_IWUSR);
    else (void)setsockopt(e->listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(e->listen_fd, &at->at.any, at->length) != 0) return listen_failed(e, at, errno);
    if (address_is_local(at)) strcpy(e->unlink_path, at->at.local.sun_path);
    else if (getsockname(e->listen_fd, &mine.at.any, &mine.length) != 0)
        return listen_failed(e, at, errno);
    hark_uv_address_text(&mine, e->address);
    if (listen(e->listen_fd, SOMAXCONN) != 0) return listen_failed(e, at, errno);
    int status = uv_poll_init(&e->loop, &e->listener, e->listen_fd);
    if (status != 0) return listen_failed(e, at, -status);
    e->has_listener = e->changed = true;
    e->listener.data = e;
    status = uv_poll_start(&e->listener, UV_READABLE, on_stranger);
    if (status != 0) return listen_failed(e, at, -status);
    e->breath.data = e;
    return HARK_T_OK;
}

void hark_uv_unlisten(struct end *e)
{
    if (e->has_listener) uv_close((uv_handle_t *)&e->listener, NULL);
    e->has_listener = false;
    if (e->listen_fd >= 0) close(e->listen_fd);
    e->listen_fd = -1;
    if (e->unlink_path[0]) (void)unlink(e->unlink_path);
    e->unlink_path[0] = 0;
}
