/* fake.c: the ends of the network, as a transport. See include/hark/fake.h; network.c has the rest.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake.h"

#define FRAME_LIMIT (1ull << 30)

/* ---- open and close -------------------------------------------------------------------------- */

static int refuse(char *error, int status, const char *why)
{
    if (error) snprintf(error, 200, "fake: %s", why);
    return status;
}

static const char *bad_config(const struct hark_transport_config *c)
{
    static const char legal[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (!c->job || !c->job[0] || strlen(c->job) > 40 || c->job[strspn(c->job, legal)])
        return "the name of the job is not 1 .. 40 of [A-Za-z0-9_-]";
    if (c->ranks == 0 || c->ranks > HARK_RANKS_MAX)
        return "the number of ranks is out of its range";
    if (fake_port_number(c->ranks, c->me) > c->ranks) return "no such rank";
    if (!c->sink.place || !c->sink.arrived || !c->sink.broken) return "the sink is not complete";
    if (!c->option[0]) return "no network: hark_fake_join() the config first";
    return NULL;
}

/* All ends agree on the number of ranks: the first one makes the ports. */
static const char *make_ports(struct hark_fake *n, uint32_t ranks)
{
    if (n->port) return n->ranks == ranks ? NULL : "another number of ranks than the network has";
    n->port = calloc((size_t)ranks + 1, sizeof *n->port);
    if (!n->port) return "no memory";
    n->ranks = ranks;
    for (uint32_t i = 0; i <= ranks; i++) n->port[i].last = &n->port[i].first;
    return NULL;
}

static const char *move_in(struct hark_fake *n, struct end *e)
{
    const char *why = make_ports(n, e->ranks);
    if (why) return why;
    struct port *port = &n->port[e->port];
    if (port->end) return "that rank is open already";
    if (port->next_inc > e->inc) return "that incarnation, or a later one, was open before";
    port->end = e;
    port->next_inc = e->inc + 1;
    for (struct frame *f = port->first, *next; f; f = next) {
        next = f->next;
        if (f->to_inc < e->inc) fake_lose(n, f);
    }
    return NULL;
}

static int fake_open(
    struct hark_transport **t, const struct hark_transport_config *config, char error[200])
{
    *t = NULL;
    const char *why = bad_config(config);
    if (why) return refuse(error, HARK_T_EINVAL, why);
    struct hark_fake *n = (struct hark_fake *)(uintptr_t)config->option[0];
    struct end *e = calloc(1, sizeof *e);
    if (!e) return refuse(error, HARK_T_ESYSTEM, "no memory");
    *e = (struct end){.head.ops = &hark_fake_transport,
        .network = n,
        .sink = config->sink,
        .me = config->me,
        .inc = config->inc,
        .ranks = config->ranks,
        .port = fake_port_number(config->ranks, config->me),
        .limit = config->frame_limit ? config->frame_limit : FRAME_LIMIT};
    e->out = calloc((size_t)config->ranks + 1, sizeof *e->out);
    snprintf(e->address, sizeof e->address, "fake:%u.%u", config->me, config->inc);
    pthread_mutex_lock(&n->lock);
    why = e->out ? move_in(n, e) : "no memory";
    pthread_mutex_unlock(&n->lock);
    if (why) {
        free(e->out);
        free(e);
        return refuse(error, HARK_T_ESYSTEM, why);
    }
    *t = &e->head;
    return HARK_T_OK;
}

static void fake_close(struct hark_transport *t)
{
    struct end *e = (struct end *)t;
    struct hark_fake *n = e->network;
    pthread_mutex_lock(&n->lock);
    if (!e->dead) fake_leave(n, e, false);
    pthread_mutex_unlock(&n->lock);
    free(e->out);
    free(e);
}

static const char *fake_address(const struct hark_transport *t)
{
    return ((const struct end *)t)->address;
}

static int is_dead(struct end *e)
{
    if (!e->dead) return HARK_T_OK;
    snprintf(e->head.error, sizeof e->head.error, "fake: this end was killed");
    return HARK_T_ESYSTEM;
}

/* ---- sending --------------------------------------------------------------------------------- */

static void learn(struct end *e, uint32_t number, uint32_t rank, uint32_t inc)
{
    struct hark_fake *n = e->network;
    struct out *out = &e->out[number];
    if (inc <= out->inc) return;
    out->inc = inc;
    out->sending = NULL;
    out->stalled = false;
    for (struct frame *f = n->port[number].first, *next; f; f = next) {
        next = f->next;
        if (f->from == e->me && f->from_inc == e->inc && f->to == rank && f->to_inc < inc &&
            !f->broken)
            fake_lose(n, f);
    }
}

static int fake_peer(struct hark_transport *t, uint32_t rank, uint32_t inc, const char *address)
{
    struct end *e = (struct end *)t;
    uint32_t number = fake_port_number(e->ranks, rank);
    (void)address; /* everybody is in reach */
    if (number > e->ranks) return HARK_T_EINVAL;
    pthread_mutex_lock(&e->network->lock);
    int status = is_dead(e);
    if (!status) learn(e, number, rank, inc);
    pthread_mutex_unlock(&e->network->lock);
    return status;
}

/* The length of the payload, or UINT64_MAX if the frame is out of its range. */
static uint64_t payload_length(const struct end *e, const struct hark_outgoing *o)
{
    uint64_t length = 0, limit = e->limit;
    if (o->header.length == 0 || o->header.length > HARK_HEADER_MAX || o->header.length > limit)
        return UINT64_MAX;
    limit -= o->header.length;
    for (int i = 0; i < 3; i++) {
        if (o->part[i].length > limit - length) return UINT64_MAX;
        length += o->part[i].length;
    }
    return length;
}

static struct frame *new_frame(struct end *e, const struct hark_outgoing *o, uint64_t length)
{
    struct hark_fake *n = e->network;
    struct port *port = &n->port[fake_port_number(e->ranks, o->to)];
    if (!port->channel) port->channel = calloc((size_t)n->ranks + 1, sizeof *port->channel);
    struct frame *f = calloc(1, sizeof *f);
    uint8_t *header = malloc(o->header.length), *payload = malloc(length ? (size_t)length : 1);
    if (!f || !header || !payload || !port->channel) {
        free(f);
        free(header);
        free(payload);
        return NULL;
    }
    memcpy(header, o->header.at, o->header.length);
    *f = (struct frame){.id = ++n->frames,
        .from = e->me,
        .from_inc = e->inc,
        .to = o->to,
        .to_inc = o->inc,
        .header = header,
        .header_length = o->header.length,
        .payload = payload,
        .length = length};
    struct channel *channel = &port->channel[e->port];
    f->due = n->now + fake_draw(n, (uint64_t)n->config.delay + 1);
    if (!n->config.reorder && f->due < channel->due) f->due = channel->due;
    channel->due = f->due;
    *port->last = f;
    port->last = &f->next;
    return f;
}

/* Copies the payload's bytes from .. from+count-1 out of its parts. */
static void gather(uint8_t *to, const struct hark_outgoing *o, uint64_t from, uint64_t count)
{
    for (int i = 0; i < 3 && count > 0; i++) {
        if (from >= o->part[i].length) {
            from -= o->part[i].length;
            continue;
        }
        uint64_t piece = o->part[i].length - from < count ? o->part[i].length - from : count;
        memcpy(to, (const uint8_t *)o->part[i].at + from, (size_t)piece);
        to += piece;
        count -= piece;
        from = 0;
    }
}

/* Takes one piece of the frame at a time, so that half-sent frames are common. */
static int take(struct end *e, struct hark_outgoing *o, uint32_t number, uint64_t length)
{
    struct hark_fake *n = e->network;
    struct out *out = &e->out[number];
    const struct port *port = &n->port[number];
    out->stalled = true;
    if (port->channel && port->channel[e->port].flying >= n->config.room) return HARK_T_AGAIN;
    struct frame *f = out->sending ? out->sending : new_frame(e, o, length);
    if (!f) {
        snprintf(e->head.error, sizeof e->head.error, "fake: no memory for a frame of %llu bytes",
            (unsigned long long)length);
        return HARK_T_ESYSTEM;
    }
    struct channel *channel = fake_channel_of(n, f);
    uint64_t piece = length - f->taken;
    if (length > n->config.chunk && piece > n->config.room - channel->flying)
        piece = n->config.room - channel->flying;
    gather(f->payload + f->taken, o, f->taken, piece);
    f->taken += piece;
    channel->flying += piece;
    o->done = o->header.length + f->taken;
    pthread_cond_broadcast(&n->moved);
    out->sending = f->taken < length ? f : NULL;
    if (out->sending) return HARK_T_AGAIN;
    out->stalled = false;
    e->head.figures.frames_out++;
    e->head.figures.bytes_out += length + o->header.length;
    return HARK_T_OK;
}

static int fake_send(struct hark_transport *t, struct hark_outgoing *o)
{
    struct end *e = (struct end *)t;
    struct hark_fake *n = e->network;
    uint32_t number = fake_port_number(e->ranks, o->to);
    uint64_t length = payload_length(e, o);
    if (number > e->ranks || length == UINT64_MAX) return HARK_T_EINVAL;
    pthread_mutex_lock(&n->lock);
    int status = is_dead(e);
    const struct port *port = &n->port[number];
    if (!status) {
        learn(e, number, o->to, o->inc);
        if (o->inc < e->out[number].inc) status = HARK_T_EGONE;
        else if ((o->done > 0) != (e->out[number].sending != NULL))
            status = o->done ? HARK_T_EGONE : HARK_T_EINVAL;
        /* its death may be noticed at once or only when somebody says so */
        else if (port->next_inc > o->inc && !(port->end && port->end->inc == o->inc))
            status = fake_draw(n, 2) ? HARK_T_EGONE : HARK_T_OK;
        else status = take(e, o, number, length);
    }
    pthread_mutex_unlock(&n->lock);
    return status;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Some connection drops: what it carried is sent again, later. */
static void drop_connection(struct end *e)
{
    struct hark_fake *n = e->network;
    struct port *port = &n->port[e->port];
    if (n->config.manual || fake_draw(n, 1000) >= n->config.drop || !port->first) return;
    uint64_t count = 0;
    for (struct frame *f = port->first; f; f = f->next) count++;
    struct frame *victim = port->first;
    for (uint64_t i = fake_draw(n, count); i > 0; i--) victim = victim->next;
    uint64_t later = 1 + fake_draw(n, 2 * (uint64_t)n->config.delay + 2);
    for (struct frame *f = port->first; f; f = f->next)
        if (f->from == victim->from && !f->broken) f->due += later;
    port->channel[fake_port_number(n->ranks, victim->from)].due += later;
    e->head.figures.reconnects++;
}

/* Is something left to do for this frame, as far as it was sent? */
static bool has_news(const struct hark_fake *n, const struct frame *f)
{
    if (f->broken) return true;
    if (f->length <= n->config.chunk) return f->taken == f->length;
    return !f->placed || f->given < f->taken;
}

/* The frame to handle next among those up to id `newest`, or NULL. */
static struct frame *next_due(const struct end *e, uint64_t newest)
{
    const struct hark_fake *n = e->network;
    struct frame *best = NULL;
    for (struct frame *f = n->port[e->port].first; f; f = f->next) {
        if (f->to_inc != e->inc || f->id > newest || f->busy || !has_news(n, f)) continue;
        if (n->config.manual ? !f->let_in : f->due > n->now) continue;
        if (!best || f->due < best->due || (f->due == best->due && f->id < best->id)) best = f;
    }
    if (!best || n->config.reorder || n->config.manual || best->broken) return best;
    for (struct frame *f = n->port[e->port].first; f; f = f->next) /* one half arrived comes first
                                                                    */
        if (f->from == best->from && f->from_inc == best->from_inc && f->to_inc == e->inc &&
            f->id < best->id && !f->broken)
            return f->due <= n->now && has_news(n, f) ? f : NULL;
    return best;
}

/* Gives a part of a long frame to the place its receiver answers: half of what is there, or all. */
static void give_part(struct end *e, struct frame *f, const struct hark_frame *frame)
{
    struct hark_fake *n = e->network;
    if (!f->placed) {
        f->busy = true;
        pthread_mutex_unlock(&n->lock);
        void *place = e->sink.place(e->sink.self, frame);
        pthread_mutex_lock(&n->lock);
        f->busy = false;
        f->placed = true;
        f->place = place;
    } else {
        uint64_t piece = f->taken - f->given;
        if (!n->config.manual && piece > n->config.chunk && fake_draw(n, 2)) piece /= 2;
        if (f->place) memcpy((uint8_t *)f->place + f->given, f->payload + f->given, (size_t)piece);
        f->given += piece;
        if (!f->ghost) fake_channel_of(n, f)->flying -= piece;
        pthread_cond_broadcast(&n->moved);
    }
    f->let_in = f->broken;
    f->due = n->now + (f->broken ? 0 : 1 + fake_draw(n, (uint64_t)n->config.delay + 1));
}

/* Moves one frame on. Returns 1 if it has arrived. */
static int handle(struct end *e, struct frame *f)
{
    struct hark_fake *n = e->network;
    struct hark_frame frame = {
        f->from, f->from_inc, {f->header, f->header_length}, f->length, false};
    bool whole = !f->broken && f->taken == f->length, is_long = f->length > n->config.chunk;
    if (!f->broken && is_long && (!f->placed || f->given < f->taken)) {
        give_part(e, f, &frame);
        if (f->broken || !f->placed || f->given < f->length || !whole) return 0;
    }
    fake_unlink_frame(&n->port[e->port], f);
    pthread_cond_broadcast(&n->moved);
    bool arrives = !f->broken;
    if (arrives) {
        e->head.figures.frames_in++;
        e->head.figures.bytes_in += f->length + f->header_length;
    }
    pthread_mutex_unlock(&n->lock);
    if (arrives) e->sink.arrived(e->sink.self, &frame, is_long ? f->place : f->payload);
    else if (f->place) e->sink.broken(e->sink.self, &frame, f->place);
    pthread_mutex_lock(&n->lock);
    fake_free_frame(n, f);
    return arrives;
}

static int fake_poll(struct hark_transport *t)
{
    struct end *e = (struct end *)t;
    struct hark_fake *n = e->network;
    struct frame *f;
    int arrived = 0;
    pthread_mutex_lock(&n->lock);
    int status = is_dead(e);
    if (!status) {
        n->now++;
        drop_connection(e);
        uint64_t newest = n->frames; /* what the sink's own sends bring waits for the next poll() */
        while (!e->dead && (f = next_due(e, newest)) != NULL) arrived += handle(e, f);
    }
    pthread_mutex_unlock(&n->lock);
    return status ? status : arrived;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool something_to_do(const struct end *e)
{
    const struct hark_fake *n = e->network;
    const struct port *port = &n->port[e->port];
    if (e->dead || e->woken || n->config.manual) return true;
    for (const struct frame *f = port->first; f; f = f->next)
        if (f->to_inc == e->inc && has_news(n, f))
            return true; /* even if not due: poll() makes time pass */
    for (uint32_t i = 0; i <= n->ranks; i++)
        if (e->out[i].stalled &&
            (!n->port[i].channel || n->port[i].channel[e->port].flying < n->config.room))
            return true;
    return false;
}

static int fake_wait(struct hark_transport *t, int milliseconds)
{
    struct end *e = (struct end *)t;
    struct hark_fake *n = e->network;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    if (milliseconds > 0) {
        until.tv_sec += milliseconds / 1000;
        until.tv_nsec += (long)(milliseconds % 1000) * 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
    }
    pthread_mutex_lock(&n->lock);
    for (bool over = milliseconds == 0; !over && !something_to_do(e);) {
        if (milliseconds < 0) pthread_cond_wait(&n->moved, &n->lock);
        else over = pthread_cond_timedwait(&n->moved, &n->lock, &until) == ETIMEDOUT;
    }
    e->woken = false;
    int status = is_dead(e);
    pthread_mutex_unlock(&n->lock);
    return status;
}

static void fake_wake(struct hark_transport *t)
{
    struct end *e = (struct end *)t;
    pthread_mutex_lock(&e->network->lock);
    e->woken = true;
    pthread_cond_broadcast(&e->network->moved);
    pthread_mutex_unlock(&e->network->lock);
}

static int fake_drained(struct hark_transport *t)
{
    struct end *e = (struct end *)t; /* what was taken flies on without its sender */
    pthread_mutex_lock(&e->network->lock);
    int status = is_dead(e);
    pthread_mutex_unlock(&e->network->lock);
    return status ? status : 1;
}

static void fake_sweep(const char *job, const char *directory)
{
    (void)job; /* nothing of it is outside the network's own memory */
    (void)directory;
}

const struct hark_transport_ops hark_fake_transport = {
    .name = "fake",
    .open = fake_open,
    .address = fake_address,
    .peer = fake_peer,
    .send = fake_send,
    .poll = fake_poll,
    .wait = fake_wait,
    .wake = fake_wake,
    .drained = fake_drained,
    .close = fake_close,
    .sweep = fake_sweep,
};
