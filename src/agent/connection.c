/* connection.c: the life of a connection, from its socket to its end. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READS = 8 }; /* of one connection, before others get their turn */
enum { LOOKS = 8 }; /* for silence, in silent_ms */
enum { USUAL_HANDSHAKE = 10000, USUAL_SILENT = 5000 };

static void on_event(uv_poll_t *poll, int status, int events);
static void on_timer(uv_timer_t *timer);

/* ---- birth and death ------------------------------------------------------------------------- */

struct hark_connection *hark_connection_new(
    const struct hark_connection_config *config, enum hark_stage stage)
{
    struct hark_connection *c = calloc(1, sizeof *c);
    if (c == NULL) return NULL;
    c->stage = stage;
    c->loop = config->loop;
    c->events = config->events;
    c->handshake_ms = config->handshake_ms ? config->handshake_ms : USUAL_HANDSHAKE;
    c->silent_ms = config->silent_ms ? config->silent_ms : USUAL_SILENT;
    uv_timer_init(c->loop, &c->timer);
    c->timer.data = c;
    return c;
}

int hark_connection_attach(struct hark_connection *c, int fd, enum hark_stage stage)
{
    struct hark_watch *w = malloc(sizeof *w);
    int status = w ? uv_poll_init(c->loop, &w->poll, fd) : -ENOMEM;
    if (status != 0) {
        free(w);
        close(fd);
        return status;
    }
    w->poll.data = w;
    w->c = c;
    w->fd = fd;
    w->events = 0;
    c->watch = w;
    c->stage = stage;
    return 0;
}

static void free_watch(uv_handle_t *handle)
{
    free(handle->data);
}

void hark_connection_detach(struct hark_connection *c)
{
    struct hark_watch *w = c->watch;
    if (w == NULL) return;
    c->watch = NULL;
    w->c = NULL;
    uv_close((uv_handle_t *)&w->poll, free_watch);
    /* a child that was forked may hold a copy of the descriptor */
    (void)shutdown(w->fd, SHUT_RDWR);
    close(w->fd);
}

static void free_connection(uv_handle_t *handle)
{
    struct hark_connection *c = handle->data;
    hark_channel_close(&c->channel);
    free(c);
}

static void let_go(struct hark_connection *c)
{
    void (*const call)(struct hark_connection * c) = c->let_go;
    c->let_go = NULL;
    if (call) call(c);
}

void hark_connection_release(struct hark_connection *c)
{
    if (c->stage == HARK_STAGE_GONE) return;
    c->stage = HARK_STAGE_GONE;
    let_go(c);
    hark_connection_detach(c);
    hark_queue_free(&c->out);
    uv_close((uv_handle_t *)&c->timer, free_connection);
}

/* It has ended by itself; nothing, if it is gone already. `why` may be in its memory. */
static void lost(struct hark_connection *c, const char *why)
{
    enum hark_stage stage = c->stage;
    if (stage < HARK_STAGE_OPEN) {
        c->unopened(c, why);
        return;
    }
    hark_connection_release(c);
    if (stage == HARK_STAGE_OPEN) c->events.closed(c->events.self, c, why);
}

static void lost_by(struct hark_connection *c, int why)
{
    if (why == -ECONNRESET || why == -EPIPE)
        lost(c, c->stage == HARK_STAGE_SHAKE ? "the other end hung up" : "it was cut");
    else lost(c, why == -ETIMEDOUT ? "the other host does not answer" : strerror(-why));
}

/* ---- what is watched ------------------------------------------------------------------------- */

static void look_again(struct hark_connection *c, uint64_t milliseconds)
{
    uv_timer_start(&c->timer, on_timer, milliseconds, 0);
}

static int wanted(const struct hark_connection *c)
{
    if (c->stage == HARK_STAGE_CONNECT) return UV_WRITABLE;
    return (c->stage == HARK_STAGE_OPEN && c->paused ? 0 : UV_READABLE) |
           (c->out.first ? UV_WRITABLE : 0);
}

static void watch(struct hark_connection *c)
{
    struct hark_watch *w = c->watch;
    if (w == NULL) return;
    int events = wanted(c);
    if (events == w->events) return;
    int status = events ? uv_poll_start(&w->poll, events, on_event) : uv_poll_stop(&w->poll);
    w->events = events;
    if (status == 0) return;
    c->trouble = status; /* told by the loop: whoever calls may not expect it here */
    look_again(c, 0);
}

void hark_connection_hurry(struct hark_connection *c)
{
    uv_update_time(c->loop); /* the time that we were busy is not the other's */
    watch(c);
    look_again(c, c->handshake_ms);
}

/* ---- in -------------------------------------------------------------------------------------- */

/* What is said in a handshake fits the buffer of a new socket. */
static void reply(struct hark_connection *c, const uint8_t *at, size_t length)
{
    ssize_t n;
    do n = send(c->watch->fd, at, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)length) lost_by(c, n < 0 ? -errno : -EPIPE);
}

static void opened(struct hark_connection *c)
{
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    (void)getsockname(c->watch->fd, (struct sockaddr *)&address, &length);
    hark_socket_text(&address, c->ours);
    length = sizeof address;
    (void)getpeername(c->watch->fd, (struct sockaddr *)&address, &length);
    hark_socket_text(&address, c->theirs);
    hark_socket_keep_alive(c->watch->fd, c->silent_ms);
    c->stage = HARK_STAGE_OPEN;
    let_go(c);
    look_again(c, c->silent_ms / LOOKS + 1);
    c->events.opened(c->events.self, c);
}

static bool listens(const struct hark_connection *c)
{
    return c->stage == HARK_STAGE_SHAKE || (c->stage == HARK_STAGE_OPEN && !c->paused);
}

/* Everything that follows from what has come. */
static void take(struct hark_connection *c)
{
    while (listens(c)) {
        const uint8_t *at;
        size_t length;
        switch (hark_channel_next(&c->channel, &at, &length)) {
        case HARK_CHANNEL_MORE: return;
        case HARK_CHANNEL_REPLY: reply(c, at, length); break;
        case HARK_CHANNEL_OPENED: opened(c); break;
        case HARK_CHANNEL_SAID: c->events.message(c->events.self, c, at, length); break;
        case HARK_CHANNEL_ENDED: lost(c, HARK_CONNECTION_ENDED); break;
        case HARK_CHANNEL_FAILED: lost(c, c->channel.why); break;
        }
    }
}

static void read_some(struct hark_connection *c)
{
    for (int i = 0; i < READS; i++) {
        size_t room;
        take(c);
        if (!listens(c)) return;
        uint8_t *at = hark_channel_room(&c->channel, &room);
        if (at == NULL) {
            lost(c, "no memory for what comes");
            return;
        }
        ssize_t n = recv(c->watch->fd, at, room, MSG_DONTWAIT);
        if (n > 0) {
            hark_channel_came(&c->channel, (size_t)n);
        } else if (n == 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) {
            lost_by(c, n == 0 ? -ECONNRESET : -errno);
            return;
        } else if (errno != EINTR) {
            return;
        }
    }
    take(c);
}

/* What comes after it was closed here; the end of it says that the other has had all. */
static void discard(struct hark_connection *c)
{
    uint8_t bytes[16 << 10];
    for (int i = 0; i < READS; i++) {
        ssize_t n = recv(c->watch->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n > 0 || (n < 0 && errno == EINTR)) continue;
        if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) hark_connection_release(c);
        return;
    }
}

/* ---- out ------------------------------------------------------------------------------------- */

static void flush(struct hark_connection *c)
{
    int status = hark_queue_send(&c->out, c->watch->fd);
    if (status < 0) {
        read_some(c); /* they may have ended it before */
        lost_by(c, status);
        return;
    }
    if (c->stage == HARK_STAGE_FLUSH && c->out.first == NULL) (void)shutdown(c->watch->fd, SHUT_WR);
    if (!c->high || c->out.waiting >= HARK_CONNECTION_LOW) return;
    c->high = false;
    if (c->stage == HARK_STAGE_OPEN && c->events.room) c->events.room(c->events.self, c);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void read_any(struct hark_connection *c)
{
    if (c->stage == HARK_STAGE_FLUSH) discard(c);
    else read_some(c);
}

static void connected(struct hark_connection *c)
{
    int status = hark_socket_error(c->watch->fd);
    if (status < 0) {
        lost(c, strerror(-status));
        return;
    }
    c->stage = HARK_STAGE_SHAKE;
    take(c);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct hark_watch *w = poll->data;
    struct hark_connection *c = w->c;
    if (c == NULL) return;
    if (c->stage == HARK_STAGE_CONNECT) {
        connected(c);
    } else {
        if (events & UV_WRITABLE) flush(c);
        if (w->c && (status < 0 || (events & UV_READABLE))) read_any(c);
        if (w->c && status < 0) lost(c, "it was cut"); /* libuv watches no more */
    }
    if (w->c) watch(c);
}

static void look(struct hark_connection *c)
{
    int status = c->trouble;
    if (status == 0)
        status = hark_socket_look(&c->silence, c->watch->fd, uv_now(c->loop), c->silent_ms);
    if (status) lost_by(c, status);
    if (c->stage != HARK_STAGE_OPEN) return;
    look_again(c, c->silent_ms / LOOKS + 1);
    take(c); /* what came while it was paused */
}

/* The deadline of who is not open yet. We may have been busy, not the other: what has come
 * meanwhile counts, and whom we have called has time to answer to it. */
static void late(struct hark_connection *c)
{
    enum hark_stage stage = c->stage;
    enum hark_channel_state state = c->channel.state;
    if (stage == HARK_STAGE_CONNECT && hark_socket_is_connected(c->watch->fd)) connected(c);
    else if (stage == HARK_STAGE_SHAKE) read_some(c);
    bool other = c->stage != stage || (c->caller && c->channel.state != state);
    if (!other) lost(c, "no answer in time");
    else if (c->stage == HARK_STAGE_SHAKE) hark_connection_hurry(c);
}

static void on_timer(uv_timer_t *timer)
{
    struct hark_connection *c = timer->data;
    if (c->stage < HARK_STAGE_OPEN) late(c);
    else if (c->stage == HARK_STAGE_OPEN) look(c);
    else hark_connection_release(c);
    if (c->stage != HARK_STAGE_GONE) watch(c);
}

/* ---- calls ----------------------------------------------------------------------------------- */

int hark_connection_say(struct hark_connection *c, const void *at, size_t length)
{
    if (length == 0 || length > HARK_CONNECTION_MESSAGE) return -EINVAL;
    if (c->stage != HARK_STAGE_OPEN) return -ENOTCONN;
    uint8_t *to = hark_queue_add(&c->out, hark_channel_size(length));
    if (to == NULL) return -ENOMEM;
    hark_channel_say(&c->channel, at, length, to);
    if (c->out.waiting > HARK_CONNECTION_HIGH) c->high = true;
    watch(c);
    return 0;
}

size_t hark_connection_waiting(const struct hark_connection *c)
{
    return c->out.waiting;
}

void hark_connection_pause(struct hark_connection *c, bool paused)
{
    if (c->paused == paused) return;
    c->paused = paused;
    if (c->stage != HARK_STAGE_OPEN) return;
    watch(c);
    if (!paused) look_again(c, 0);
}

const char *hark_connection_our_address(const struct hark_connection *c)
{
    return c->ours;
}

const char *hark_connection_their_address(const struct hark_connection *c)
{
    return c->theirs;
}

void hark_connection_own(struct hark_connection *c, void *owner)
{
    c->owner = owner;
    if (c->stage == HARK_STAGE_OPEN) let_go(c);
}

void *hark_connection_owner(const struct hark_connection *c)
{
    return c->owner;
}

void hark_connection_close(struct hark_connection *c, bool flush_first)
{
    if (c->stage == HARK_STAGE_GONE || c->stage == HARK_STAGE_FLUSH) return;
    uint8_t *to = NULL;
    if (flush_first && c->stage == HARK_STAGE_OPEN && c->trouble == 0)
        to = hark_queue_add(&c->out, hark_channel_size(0));
    if (to == NULL) {
        hark_connection_release(c);
        return;
    }
    hark_channel_say(&c->channel, NULL, 0, to);
    c->stage = HARK_STAGE_FLUSH;
    look_again(c, c->silent_ms);
    watch(c);
}
