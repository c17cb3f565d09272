/* link.c: the descriptors to a process: its control socket and its output. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FULL          (1u << 20)  /* bytes that wait for their reader */
#define FULL_RECOVERY (64u << 20) /* the same during a recovery */

static void on_poll(uv_poll_t *poll, int status, int events);

static void listen_for(struct link *l, int events)
{
    if (l->events == events) return;
    l->events = events;
    if (events) uv_poll_start(&l->poll, events, on_poll);
    else uv_poll_stop(&l->poll);
}

int hark_sup_link(struct child *c, enum link_kind kind, int fd)
{
    struct link *l = calloc(1, sizeof *l);
    if (l == NULL) return ENOMEM;
    l->child = c;
    l->fd = fd;
    l->kind = kind;
    l->poll.data = l;
    int flags = fcntl(fd, F_GETFL);
    int status = flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 ? 0 : errno;
    if (status == 0) status = -uv_poll_init(&c->s->loop, &l->poll, fd);
    if (status) {
        free(l);
        return status;
    }
    listen_for(l, UV_READABLE);
    c->link[kind] = l;
    return 0;
}

static void let_go(uv_handle_t *h)
{
    free(h->data);
}

static void unlink_one(struct child *c, enum link_kind kind)
{
    struct link *l = c->link[kind];
    if (l == NULL) return;
    c->link[kind] = NULL;
    l->child = NULL;
    uv_poll_stop(&l->poll);
    uv_close((uv_handle_t *)&l->poll, let_go);
    close(l->fd);
}

void hark_sup_unlink(struct child *c)
{
    for (int kind = 0; kind < LINKS; kind++) unlink_one(c, (enum link_kind)kind);
    c->in_length = c->out_length = 0;
    c->heard = 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool grow(uint8_t **at, size_t *room, size_t needed)
{
    if (needed <= *room) return true;
    uint8_t *more = realloc(*at, needed * 2);
    if (more == NULL) return false;
    *at = more;
    *room = needed * 2;
    return true;
}

bool hark_sup_full(struct supervisor *s, int kind)
{
    bool recovering = s->died || hark_service_down(core_of(s));
    return hark_outlet_waiting(s->outlet[kind]) >= (recovering ? FULL_RECOVERY : FULL);
}

/* Takes `length` bytes that the process said or printed. */
static void taken(struct child *c, enum link_kind kind, const uint8_t *at, size_t length)
{
    if (kind != LINK_CONTROL) {
        hark_output_take(&c->output[kind == LINK_ERR], (const char *)at, length);
        return;
    }
    if (!grow(&c->in, &c->in_room, c->in_length + length)) {
        hark_sup_no_memory(c->s, "what a process says");
        return;
    }
    memcpy(c->in + c->in_length, at, length);
    c->in_length += length;
}

void hark_sup_drain(struct child *c, enum link_kind kind, bool all)
{
    uint8_t bytes[65536];
    while (c->link[kind]) {
        if (!all && kind != LINK_CONTROL && hark_sup_full(c->s, kind == LINK_ERR)) {
            c->link[kind]->paused = true; /* the pipe fills up, and then its writer waits */
            listen_for(c->link[kind], 0);
            return;
        }
        ssize_t n = read(c->link[kind]->fd, bytes, sizeof bytes);
        if (n > 0) {
            taken(c, kind, bytes, (size_t)n);
        } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
            c->link[kind]->paused = false;
            listen_for(c->link[kind], 0); /* the end; waitpid says what it means */
            return;
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

void hark_sup_resume_reading(struct child *c)
{
    for (int kind = 0; kind < LINKS; kind++) {
        struct link *l = c->link[kind];
        if (l == NULL || !l->paused || hark_sup_full(c->s, kind == LINK_ERR)) continue;
        l->paused = false;
        listen_for(l, UV_READABLE);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Returns how many bytes went out; all of them if the process is gone: they are in vain. */
static size_t push(struct child *c, const uint8_t *at, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t n = send(c->link[LINK_CONTROL]->fd, at + done, length - done, MSG_NOSIGNAL);
        if (n >= 0) done += (size_t)n;
        else if (errno == EAGAIN) break;
        else if (errno != EINTR) return length;
    }
    return done;
}

static void push_rest(struct child *c)
{
    size_t done = push(c, c->out, c->out_length);
    memmove(c->out, c->out + done, c->out_length - done);
    c->out_length -= done;
    listen_for(c->link[LINK_CONTROL], c->out_length ? UV_READABLE | UV_WRITABLE : UV_READABLE);
}

void hark_sup_tell(struct child *c, struct hark_control *m)
{
    if (c->link[LINK_CONTROL] == NULL) return;
    size_t done = c->out_length || m->bad ? 0 : push(c, m->at, m->length), rest = m->length - done;
    if (m->bad || !grow(&c->out, &c->out_room, c->out_length + rest)) {
        hark_sup_no_memory(c->s, "what is to be told to a process");
        return;
    }
    if (rest == 0) return;
    memcpy(c->out + c->out_length, m->at + done, rest);
    c->out_length += rest;
    listen_for(c->link[LINK_CONTROL], UV_READABLE | UV_WRITABLE);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct link *l = poll->data;
    struct child *c = l->child;
    if (c == NULL) return;
    if (status < 0 || (events & (UV_READABLE | UV_DISCONNECT))) {
        hark_sup_drain(c, l->kind, false);
        c->heard |= 1u << l->kind;
        c->s->heard_due = true;
        return;
    }
    if (events & UV_WRITABLE) push_rest(c);
}
