/* uv.c: opening, closing, sleeping, polling. See uv.h and, for who does what, end.h. */
#include "uv.h"

#include "../../src/store/descriptor.h"
#include "end.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FRAME_LIMIT      (1ull << 30)
#define FRAME_LIMIT_MOST (1ull << 60)
#define DEADLINE_USUAL   10000u
#define STRANGERS_USUAL  128u
#define FAREWELL_READS   64

int hark_uv_failed(struct end *e, const char *what, const char *which, int why)
{
    snprintf(e->head.error, sizeof e->head.error, "uv: %s%s%s: %s", what, which[0] ? " " : "",
        which, uv_strerror(-why));
    return HARK_T_ESYSTEM;
}

/* ---- open ------------------------------------------------------------------------------------ */

static const char *bad_config(const struct hark_transport_config *c)
{
    static const char legal[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    uint64_t window = c->option[2];
    if (!c->job || !c->job[0] || strlen(c->job) > 40 || c->job[strspn(c->job, legal)])
        return "the name of the job is not 1 .. 40 of [A-Za-z0-9_-]";
    if (c->ranks == 0 || c->ranks > HARK_RANKS_MAX)
        return "the number of ranks is out of its range";
    if (c->me >= c->ranks && c->me != HARK_RECOVERY) return "no such rank";
    if (c->inc == UINT32_MAX) return "the incarnation is out of its range";
    if (!c->sink.place || !c->sink.arrived || !c->sink.broken) return "the sink is not complete";
    if (c->option[0] > 86400000) return "option 0, the deadline, is above a day";
    if (c->option[1] > 65536) return "option 1, the connections in their handshake, is above 65536";
    if (window && (window < WINDOW_LEAST || window > WINDOW_MOST))
        return "option 2, the bytes kept, is not in 256 KiB .. 1 GiB";
    return NULL;
}

/* Where to listen. NULL, or what is wrong. */
static const char *choose_address(struct address *at, const struct hark_transport_config *c)
{
    char text[ADDRESS_TEXT];
    if (c->address) return hark_uv_address_parse(at, c->address);
    if (!c->directory) return hark_uv_address_parse(at, "tcp:127.0.0.1:0");
    if (!hark_uv_address_local(text, c->directory, c->job, c->me, c->inc))
        return "the path of a socket in this directory would be longer than 107 bytes";
    return hark_uv_address_parse(at, text);
}

static struct end *new_end(const struct hark_transport_config *c)
{
    struct end *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->head.ops = &hark_uv_transport;
    e->sink = c->sink;
    e->me = (struct process){c->me, c->inc};
    e->ranks = c->ranks;
    e->number = number_of(e, c->me);
    e->limit = c->frame_limit ? c->frame_limit : FRAME_LIMIT;
    if (e->limit > FRAME_LIMIT_MOST) e->limit = FRAME_LIMIT_MOST;
    e->deadline = c->option[0] ? c->option[0] : DEADLINE_USUAL;
    e->strangers_most = c->option[1] ? (uint32_t)c->option[1] : STRANGERS_USUAL;
    e->window_most = c->option[2] ? c->option[2] : WINDOW_USUAL;
    e->encrypts = c->encrypts;
    memcpy(e->key, c->key, sizeof e->key);
    strcpy(e->job, c->job);
    e->ready_end = &e->ready;
    e->listen_fd = -1;
    e->pairs = calloc((size_t)c->ranks + 1, sizeof *e->pairs);
    if (e->pairs) return e;
    free(e);
    return NULL;
}

static void free_end(struct end *e)
{
    for (uint32_t number = 0; number <= e->ranks; number++) {
        struct pair *p = e->pairs[number];
        if (!p) continue;
        free(p->out.window.at);
        free(p->in.header);
        free(p);
    }
    self_free(&e->self);
    free(e->pairs);
    sodium_memzero(e->key, sizeof e->key);
    free(e);
}

static void on_woken(uv_async_t *async)
{
    ((struct end *)async->data)->woken = true;
}

/* In a child that is forked libuv opens the pipe again that all its loops share, and aborts when
 * the child ends if that is 0, 1 or 2. Handlers of a child are called in the order of their
 * registration: ours are around libuv's, which it registers with its first loop. */
static int held_in_child;

static void before_libuv(void)
{
    held_in_child = hark_descriptor_hold();
}

static void after_libuv(void)
{
    if (held_in_child > 0) hark_descriptor_release(held_in_child);
}

static int fork_status;

static void before_first_loop(void)
{
    fork_status = pthread_atfork(NULL, NULL, before_libuv);
}

static void after_first_loop(void)
{
    if (fork_status == 0) fork_status = pthread_atfork(NULL, NULL, after_libuv);
}

/* Without descriptors for what all loops share libuv ends the process. 0, or an errno. */
static int loop_fits(void)
{
    int fd[2][2] = {{-1, -1}, {-1, -1}};
    const int why = pipe2(fd[0], O_CLOEXEC) < 0 || pipe2(fd[1], O_CLOEXEC) < 0 ? errno : 0;
    for (int i = 0; i < 4; i++)
        if (fd[i / 2][i % 2] >= 0) close(fd[i / 2][i % 2]);
    return why;
}

/* What libuv opens, it opens here: a loop's descriptors and, once, what all loops share. None of
 * them may be 0, 1 or 2, which it would take for the program's own. */
static int make_loop(struct end *e)
{
    static pthread_once_t before = PTHREAD_ONCE_INIT, after = PTHREAD_ONCE_INIT;
    int held = hark_descriptor_hold();
    if (held < 0) return hark_uv_failed(e, "cannot make a loop", "", errno);
    int status = -loop_fits();
    if (status == 0) {
        pthread_once(&before, before_first_loop);
        status = uv_loop_init(&e->loop);
        pthread_once(&after, after_first_loop);
    }
    hark_descriptor_release(held);
    if (status != 0) return hark_uv_failed(e, "cannot make a loop", "", -status);
    e->has_loop = true;
    return fork_status == 0 ? HARK_T_OK : hark_uv_failed(e, "cannot make a loop", "", fork_status);
}

static int start_loop(struct end *e)
{
    int status = make_loop(e);
    if (status != HARK_T_OK) return status;
    uv_timer_init(&e->loop, &e->patience);
    uv_timer_init(&e->loop, &e->breath);
    uv_timer_init(&e->loop, &e->apart);
    e->woken_by.data = e->patience.data = e->apart.data = e;
    status = uv_async_init(&e->loop, &e->woken_by, on_woken);
    return status == 0 ? HARK_T_OK : hark_uv_failed(e, "cannot make a loop", "", -status);
}

static void close_any(uv_handle_t *handle, void *unused)
{
    (void)unused;
    if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

static void stop(struct end *e)
{
    while (e->conns) hark_uv_conn_drop(e->conns);
    hark_uv_unlisten(e);
    if (e->has_loop) {
        uv_walk(&e->loop, close_any, NULL);
        uv_run(&e->loop, UV_RUN_DEFAULT);
        uv_loop_close(&e->loop);
    }
    free_end(e);
}

static int refuse(char error[200], int status, const char *why)
{
    if (error) snprintf(error, 200, "uv: %s", why);
    return status;
}

static int open_end(
    struct hark_transport **t, const struct hark_transport_config *config, char error[200])
{
    struct address at;
    *t = NULL;
    const char *why = bad_config(config);
    if (!why) why = choose_address(&at, config);
    if (why) return refuse(error, HARK_T_EINVAL, why);
    if (sodium_init() < 0) return refuse(error, HARK_T_ESYSTEM, "libsodium finds no randomness");
    struct end *e = new_end(config);
    if (!e) return refuse(error, HARK_T_ESYSTEM, "no memory for so many ranks");
    int status = start_loop(e);
    if (status == HARK_T_OK) status = hark_uv_listen(e, &at);
    if (status == HARK_T_OK) {
        *t = &e->head;
        return HARK_T_OK;
    }
    if (error) memcpy(error, e->head.error, 200);
    stop(e);
    return status;
}

/* ---- peers ----------------------------------------------------------------------------------- */

static const char *own_address(const struct hark_transport *t)
{
    return ((const struct end *)t)->address;
}

static int peer(struct hark_transport *t, uint32_t rank, uint32_t inc, const char *address)
{
    struct end *e = (struct end *)t;
    uint32_t number = number_of(e, rank);
    struct address at = {0};
    struct pair *p;
    if (number > e->ranks || inc == UINT32_MAX) return HARK_T_EINVAL;
    const char *why = address ? hark_uv_address_parse(&at, address) : NULL;
    if (why) {
        snprintf(e->head.error, sizeof e->head.error, "uv: address of rank %u: %s", rank, why);
        return HARK_T_EINVAL;
    }
    if (number == e->number) return HARK_T_OK;
    int status = hark_uv_pair_at(e, number, inc, &p);
    if (status == HARK_T_EGONE) return HARK_T_OK; /* old news */
    if (status != HARK_T_OK || !address) return status;
    if (p->address.length == at.length && memcmp(&p->address.at, &at.at, at.length) == 0)
        return HARK_T_OK;
    p->address = at;
    p->absent = false;
    p->backoff = 0;
    uv_timer_stop(&p->retry);
    if (p->attempt) hark_uv_conn_drop(p->attempt);
    hark_uv_pair_pursue(p);
    return HARK_T_OK;
}

/* ---- polling and sleeping -------------------------------------------------------------------- */

void hark_uv_run(struct end *e)
{
    e->changed = false; /* what it calls may change more, which then is for the next time */
    uv_run(&e->loop, UV_RUN_NOWAIT);
}

static int poll_end(struct hark_transport *t)
{
    struct end *e = (struct end *)t;
    int count = 0;
    if (!e->ready) hark_uv_run(e); /* else wait() has looked just now */
    if (e->lost) hark_uv_bury(e);
    int ready = 0; /* not those that become ready meanwhile */
    for (const struct conn *c = e->ready; c; c = c->ready_next) ready++;
    for (; e->ready && ready > 0; ready--) {
        struct conn *c = e->ready;
        hark_uv_conn_seen(c);
        if (c->state == CONN_JOINED) count += hark_uv_receive(c);
        else hark_uv_conn_lost(c);
    }
    if (e->self.first)
        count += self_receive(&e->self, &e->sink, e->me.rank, e->me.inc, &e->head.figures);
    int trouble = e->trouble;
    if (count == 0) e->trouble = 0;
    return count == 0 && trouble ? trouble : count;
}

static void on_late(uv_timer_t *timer)
{
    ((struct end *)timer->data)->late = true;
}

static bool something_to_do(const struct end *e)
{
    return e->ready || e->lost || e->go || e->self.first || e->self.stalled || e->woken ||
           e->trouble || e->apart_due;
}

static int wait_end(struct hark_transport *t, int milliseconds)
{
    struct end *e = (struct end *)t;
    if (milliseconds == 0 && (e->changed || !something_to_do(e))) hark_uv_run(e);
    if (!something_to_do(e) && milliseconds != 0) {
        e->late = false;
        if (milliseconds > 0) {
            uv_update_time(&e->loop);
            uv_timer_start(&e->patience, on_late, (uint64_t)milliseconds, 0);
        }
        do uv_run(&e->loop, UV_RUN_ONCE);
        while (!something_to_do(e) && !e->late);
        if (milliseconds > 0) uv_timer_stop(&e->patience);
    }
    e->woken = e->apart_due = false;
    return HARK_T_OK;
}

int hark_uv_backend(const struct hark_transport *t)
{
    return uv_backend_fd(&((const struct end *)t)->loop);
}

int hark_uv_timeout(const struct hark_transport *t)
{
    return uv_backend_timeout(&((const struct end *)t)->loop);
}

bool hark_uv_has_work(const struct hark_transport *t)
{
    const struct end *e = (const struct end *)t;
    return e->changed || something_to_do(e);
}

void hark_uv_keep_no_pointers(struct hark_transport *t)
{
    ((struct end *)t)->keeps_no_pointers = true;
}

static void wake(struct hark_transport *t)
{
    (void)uv_async_send(&((struct end *)t)->woken_by);
}

/* Has the system brought over what was written? Over TCP it throws it away, if we close and then
 * something comes, such as an acknowledgement. Over UNIX sockets it is with the peer at once. */
static bool is_over(int fd)
{
    int domain = AF_UNIX, left = 0;
    socklen_t length = sizeof domain;
    (void)getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length);
    return domain == AF_UNIX || ioctl(fd, SIOCOUTQ, &left) < 0 || left == 0;
}

/* What was once written to somebody who then was lost, and whom we can not find again, has left
 * too. */
static bool has_left(const struct pair *p)
{
    const struct out *o = &p->out;
    if (o->acked == o->end) return true;
    if (p->conn) {
        const struct guard *g = p->conn->guard;
        return o->sent == o->end && !(g && guard_has_sealed(g)) && is_over(p->conn->fd);
    }
    return o->high == o->end && (p->absent || p->address.length == 0);
}

static int drained(struct hark_transport *t)
{
    const struct end *e = (const struct end *)t;
    for (uint32_t number = 0; number <= e->ranks; number++)
        if (e->pairs[number] && !has_left(e->pairs[number])) return 0;
    return e->self.first == NULL;
}

/* ---- close ----------------------------------------------------------------------------------- */

/* Tells the peer what has come, so that it need not look for us, and takes what lies unread out of
 * the socket: with that in it, the system would throw away what is still to go out. */
static void say_farewell(struct pair *p)
{
    struct conn *c = p->conn;
    p->in.ack_due = p->in.position > p->in.told;
    hark_uv_flush(p);
    (void)shutdown(c->fd, SHUT_WR);
    for (int i = 0; i < FAREWELL_READS; i++) {
        ssize_t n = recv(c->fd, c->buffer, BUFFER_BYTES, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EINTR)) return;
    }
}

static void close_end(struct hark_transport *t)
{
    struct end *e = (struct end *)t;
    for (uint32_t number = 0; number <= e->ranks; number++)
        if (e->pairs[number] && e->pairs[number]->conn) say_farewell(e->pairs[number]);
    stop(e);
}

static const struct hark_transport_option options[] = {{"handshake-ms", 0, 1, 3600000, false, NULL},
    {"strangers", 1, 1, 65536, false, NULL}, {"window", 2, 256u << 10, 1u << 30, false, NULL},
    HARK_TRANSPORT_OPTIONS_END};

const struct hark_transport_ops hark_uv_transport = {
    .options = options,
    .name = "uv",
    .open = open_end,
    .address = own_address,
    .peer = peer,
    .send = hark_uv_send,
    .poll = poll_end,
    .wait = wait_end,
    .wake = wake,
    .drained = drained,
    .close = close_end,
    .sweep = hark_uv_address_sweep,
    .apart = hark_uv_apart,
};
