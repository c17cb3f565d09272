/* conn.c: a connection: its life, and what libuv reports of it. */
#include "../../src/store/descriptor.h"
#include "end.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- lists ----------------------------------------------------------------------------------- */

static void link_conn(struct conn *c)
{
    c->before = c->e->last_conn;
    if (c->before) c->before->next = c;
    else c->e->conns = c;
    c->e->last_conn = c;
}

static void unlink_conn(struct conn *c)
{
    if (c->before) c->before->next = c->next;
    else c->e->conns = c->next;
    if (c->next) c->next->before = c->before;
    else c->e->last_conn = c->before;
}

void hark_uv_conn_ready(struct conn *c)
{
    if (c->ready) return;
    c->ready = true;
    c->ready_next = NULL;
    *c->e->ready_end = c;
    c->e->ready_end = &c->ready_next;
}

void hark_uv_conn_seen(struct conn *c)
{
    if (!c->ready) return;
    struct conn **at = &c->e->ready;
    while (*at != c) at = &(*at)->ready_next;
    *at = c->ready_next;
    if (c->e->ready_end == &c->ready_next) c->e->ready_end = at;
    c->ready = false;
}

/* ---- birth and death ------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
    struct conn *c = handle->data;
    if (--c->handles > 0) return;
    hark_uv_guard_free(c->guard);
    sodium_memzero(c->secret, sizeof c->secret);
    free(c->buffer);
    free(c);
}

static void on_deadline(uv_timer_t *timer)
{
    struct conn *c = timer->data;
    enum conn_state state = c->state;
    /* We may have been busy, not the other: what has come meanwhile counts. */
    hark_uv_shake_read(c);
    if (c->state == state) hark_uv_conn_refuse(c);
}

void hark_uv_conn_hurry(struct conn *c)
{
    c->e->changed = true;
    uv_timer_start(&c->deadline, on_deadline, c->e->deadline, 0);
}

struct conn *hark_uv_conn_new(struct end *e, int fd, enum conn_state state)
{
    struct conn *c = calloc(1, sizeof *c);
    int status = c ? uv_poll_init(&e->loop, &c->watch, fd) : UV_ENOMEM;
    if (status != 0) {
        hark_uv_failed(e, "cannot watch a connection", "", -status);
        free(c);
        close(fd);
        return NULL;
    }
    uv_timer_init(&e->loop, &c->deadline);
    c->watch.data = c->deadline.data = c;
    c->handles = 2;
    c->e = e;
    c->fd = fd;
    c->state = state;
    c->initiator = state == CONN_CONNECTING;
    c->born = uv_now(&e->loop);
    int on = 1; /* these fail on UNIX sockets, which need neither */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    link_conn(c);
    if (state == CONN_WANT_HELLO) {
        e->strangers++;
        hark_uv_conn_hurry(c);
    }
    return c;
}

void hark_uv_conn_drop(struct conn *c)
{
    struct end *e = c->e;
    if (c->state == CONN_CLOSED) return;
    if (c->state == CONN_WANT_HELLO || c->state == CONN_WANT_PROOF) e->strangers--;
    if (c->pair && c->pair->conn == c) c->pair->conn = NULL;
    if (c->pair && c->pair->attempt == c) c->pair->attempt = NULL;
    c->state = CONN_CLOSED;
    e->changed = true;
    hark_uv_conn_seen(c);
    unlink_conn(c);
    uv_close((uv_handle_t *)&c->watch, on_closed);
    uv_close((uv_handle_t *)&c->deadline, on_closed);
    /* a child that was forked may hold a copy of the descriptor: the other end shall hear of it all
     * the same */
    (void)shutdown(c->fd, SHUT_RDWR);
    close(c->fd);
}

void hark_uv_conn_lost(struct conn *c)
{
    struct pair *p = c->pair;
    bool joined = c->state == CONN_JOINED;
    bool moved = joined && p->in.position + p->out.acked > c->joined_at;
    hark_uv_conn_drop(c);
    if (!p) return;
    if (joined) p->again = c->initiator;
    if (moved) {
        p->backoff = 0;
        hark_uv_pair_pursue(p);
    } else {
        hark_uv_pair_retry(p);
    }
}

void hark_uv_conn_refuse(struct conn *c)
{
    c->e->head.figures.refused++;
    hark_uv_conn_lost(c);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void note_connect(struct pair *p, int why)
{
    char text[ADDRESS_TEXT];
    p->why = why;
    p->absent = why == ECONNREFUSED || why == ENOENT;
    if (p->absent) p->again = false;
    hark_uv_address_text(&p->address, text);
    hark_uv_failed(p->e, "cannot connect to", text, why);
}

static void connected(struct conn *c)
{
    int why = 0;
    socklen_t length = sizeof why;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &why, &length) != 0) why = errno;
    if (why == 0) {
        c->pair->why = 0;
        hark_uv_shake_begin(c);
        return;
    }
    note_connect(c->pair, why);
    hark_uv_conn_lost(c);
}

static void on_event(uv_poll_t *watch, int status, int events)
{
    struct conn *c = watch->data;
    if (status < 0) c->hung = true; /* libuv has stopped to watch it */
    if (c->state == CONN_JOINED) {
        if (events & UV_WRITABLE) hark_uv_flush(c->pair);
        if (c->hung || (events & (UV_READABLE | UV_DISCONNECT))) hark_uv_conn_ready(c);
        return;
    }
    if (c->state == CONN_CONNECTING) connected(c);
    else hark_uv_shake_read(c);
    if (!c->hung || c->state == CONN_CLOSED) return;
    if (c->state == CONN_JOINED) hark_uv_conn_ready(c);
    else hark_uv_conn_lost(c);
}

void hark_uv_conn_watch(struct conn *c, bool writing)
{
    c->writing = writing;
    c->e->changed = true;
    if (c->hung) {
        hark_uv_conn_ready(c);
        return;
    }
    int events = (writing ? UV_WRITABLE : 0) | (c->state == CONN_CONNECTING ? 0 : UV_READABLE);
    int status = uv_poll_start(&c->watch, events, on_event);
    if (status == 0) return;
    hark_uv_failed(c->e, "cannot watch a connection", "", -status);
    c->hung = true;
    (void)shutdown(c->fd, SHUT_RDWR);
    hark_uv_conn_ready(c);
}

/* ---- connecting ------------------------------------------------------------------------------ */

void hark_uv_conn_connect(struct pair *p)
{
    const struct address *a = &p->address;
    int fd = hark_descriptor_above(
        socket(a->at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (fd < 0) {
        p->why = errno;
        hark_uv_failed(p->e, "cannot make a socket", "", p->why);
        hark_uv_pair_retry(p);
        return;
    }
    int why = connect(fd, &a->at.any, a->length) == 0 ? 0 : errno;
    if (why != 0 && why != EINPROGRESS) {
        close(fd);
        note_connect(p, why);
        hark_uv_pair_retry(p);
        return;
    }
    struct conn *c = hark_uv_conn_new(p->e, fd, CONN_CONNECTING);
    if (!c) {
        p->why = ENOMEM;
        hark_uv_pair_retry(p);
        return;
    }
    c->pair = p;
    p->attempt = c;
    if (why == 0) hark_uv_shake_begin(c);
    else hark_uv_conn_watch(c, true);
}
