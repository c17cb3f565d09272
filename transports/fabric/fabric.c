/* fabric.c: opening, closing, sleeping, polling. See fabric.h and, for who does what, end.h. */
#include "fabric.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "../../src/store/descriptor.h"
#include "end.h"

#define FRAME_LIMIT      (1ull << 30)
#define FRAME_LIMIT_MOST (1ull << 60)
#define BATCH            16
#define BATCHES_MOST     4 /* then others get their turn */
#define FAREWELL_READS   64
#define NAP              1 /* milliseconds, where a provider has nothing to sleep on */

const char *const hark_fabric_providers[HARK_FABRIC_PROVIDERS + 1] = {
    "tcp", "verbs", "cxi", "efa", "opx", "psm3", "psm2", NULL};

/* The same, as libfabric names them: tcp and verbs know connections only, and ofi_rxm makes one
 * endpoint out of these. They are also those to which a host is an IP address. */
enum { CONNECTED = 2 };
static const char *const full_names[HARK_FABRIC_PROVIDERS] = {
    "tcp;ofi_rxm", "verbs;ofi_rxm", "cxi", "efa", "opx", "psm3", "psm2"};

int hark_fabric_failed(struct end *e, const char *what, int why)
{
    char unused[160];
    const struct library *l = hark_fabric_library(unused);
    if (why < 0) why = -why;
    snprintf(e->head.error, sizeof e->head.error, "fabric: %s: %s", what,
        l ? l->strerror(why) : strerror(why));
    return HARK_T_ESYSTEM;
}

uint64_t hark_fabric_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 + 1;
}

int hark_fabric_hold(void)
{
    struct pollfd low[] = {{.fd = 0}, {.fd = 1}, {.fd = 2}};
    if (poll(low, 3, 0) <= 0 || !((low[0].revents | low[1].revents | low[2].revents) & POLLNVAL))
        return 0;
    const int held = hark_descriptor_hold();
    return held > 0 ? held : 0;
}

/* ---- open ------------------------------------------------------------------------------------ */

static const char *bad_config(const struct hark_transport_config *c)
{
    static const char legal[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    const uint64_t window = c->option[1];
    if (!c->job || !c->job[0] || strlen(c->job) > 40 || c->job[strspn(c->job, legal)])
        return "the name of the job is not 1 .. 40 of [A-Za-z0-9_-]";
    if (c->ranks == 0 || c->ranks > HARK_RANKS_MAX)
        return "the number of ranks is out of its range";
    if (c->me >= c->ranks && c->me != HARK_RECOVERY) return "no such rank";
    if (c->inc == UINT32_MAX) return "the incarnation is out of its range";
    if (!c->sink.place || !c->sink.arrived || !c->sink.broken) return "the sink is not complete";
    if (c->option[0] > HARK_FABRIC_PROVIDERS) return "option 0, the provider, is none of the list";
    if (window && (window < WINDOW_LEAST || window > WINDOW_MOST))
        return "option 1, the bytes kept, is not in 256 KiB .. 1 GiB";
    if (c->encrypts) return "nothing is encrypted over libfabric; use another transport";
    return NULL;
}

static struct end *new_end(const struct hark_transport_config *c)
{
    struct end *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->head.ops = &hark_fabric_transport;
    e->sink = c->sink;
    e->me = c->me;
    e->inc = c->inc;
    e->ranks = c->ranks;
    e->number = number_of(e, c->me);
    e->limit = c->frame_limit ? c->frame_limit : FRAME_LIMIT;
    if (e->limit > FRAME_LIMIT_MOST) e->limit = FRAME_LIMIT_MOST;
    e->window = c->option[1] ? (uint32_t)c->option[1] & ~4095u : WINDOW_USUAL;
    memcpy(e->key, c->key, sizeof e->key);
    strcpy(e->job, c->job);
    e->wake_fd = hark_descriptor_above(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    e->pairs = calloc((size_t)c->ranks + 1, sizeof *e->pairs);
    if (e->pairs && e->wake_fd >= 0) return e;
    if (e->wake_fd >= 0) close(e->wake_fd);
    free(e->pairs);
    free(e);
    return NULL;
}

static void stop(struct end *e)
{
    const int held = hark_fabric_hold();
    if (e->point.ep) (void)fi_close(&e->point.ep->fid); /* before the memory it may use */
    e->point.ep = NULL;
    for (uint32_t number = 0; number <= e->ranks; number++) {
        struct pair *p = e->pairs[number];
        if (!p) continue;
        if (p->stream) hark_fabric_stream_free(p->stream);
        free(p->in.header);
        free(p);
    }
    for (struct stream *s = e->gone, *next; s; s = next) {
        next = s->next;
        hark_fabric_stream_free(s);
    }
    hark_fabric_point_close(e);
    if (held) hark_descriptor_release(held);
    self_free(&e->self);
    close(e->wake_fd);
    free(e->pairs);
    sodium_memzero(e->key, sizeof e->key);
    free(e);
}

static int refuse(char error[200], int status, const char *why)
{
    if (error) snprintf(error, 200, "fabric: %s", why);
    return status;
}

static int open_end(
    struct hark_transport **t, const struct hark_transport_config *config, char error[200])
{
    char missing[160];
    *t = NULL;
    const char *why = bad_config(config);
    if (why) return refuse(error, HARK_T_EINVAL, why);
    if (sodium_init() < 0) return refuse(error, HARK_T_ESYSTEM, "libsodium finds no randomness");
    if (!hark_fabric_library(missing)) return refuse(error, HARK_T_ESYSTEM, missing);
    struct end *e = new_end(config);
    if (!e) return refuse(error, HARK_T_ESYSTEM, "no memory or no descriptor for an end");
    const uint64_t choice = config->option[0] ? config->option[0] - 1 : 0;
    const char *node = choice < CONNECTED ? config->address : NULL;
    if (!node && choice == 0) node = "127.0.0.1";
    const int held = hark_fabric_hold();
    const int status = hark_fabric_point_open(e, full_names[choice], node);
    if (held) hark_descriptor_release(held);
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

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What stands before the bytes is the same for all ends of a job. Returns the length, 0: none. */
static size_t parse(const struct end *e, const char *text, uint8_t name[NAME_BYTES])
{
    const size_t before = (size_t)(strrchr(e->address, ':') + 1 - e->address);
    size_t length = 0;
    if (strncmp(text, e->address, before) != 0) return 0;
    for (text += before; *text; text += 2, length++) {
        const int high = digit(text[0]), low = high < 0 ? -1 : digit(text[1]);
        if (low < 0 || length == NAME_BYTES) return 0;
        name[length] = (uint8_t)(high << 4 | low);
    }
    return length == e->name_length ? length : 0;
}

static int peer(struct hark_transport *t, uint32_t rank, uint32_t inc, const char *address)
{
    struct end *e = (struct end *)t;
    const uint32_t number = number_of(e, rank);
    uint8_t name[NAME_BYTES];
    struct pair *p;
    if (number > e->ranks || inc == UINT32_MAX) return HARK_T_EINVAL;
    const size_t length = address ? parse(e, address, name) : 0;
    if (address && length == 0) {
        snprintf(e->head.error, sizeof e->head.error,
            "fabric: address of rank %u: expected one like %.60s, found %.60s", rank, e->address,
            address);
        return HARK_T_EINVAL;
    }
    if (number == e->number) return HARK_T_OK;
    const int status = hark_fabric_pair_at(e, number, inc, &p);
    if (status == HARK_T_EGONE) return HARK_T_OK; /* old news */
    if (status != HARK_T_OK || !address) return status;
    return hark_fabric_pair_named(p, name, length);
}

/* ---- polling --------------------------------------------------------------------------------- */

static int complete(struct end *e, struct operation *o, size_t length, bool well)
{
    struct point *point = &e->point;
    if (!o) return 0;
    if (o->stream) {
        hark_fabric_stream_done((struct message *)o, well);
        return 0;
    }
    const uint32_t i = (uint32_t)(o - point->receive);
    const int count = well ? hark_fabric_take(e, point->buffers + i * MESSAGE_BYTES, length) : 0;
    point->idle[point->idle_count++] = i;
    return count;
}

/* An operation has failed. */
static int read_error(struct end *e)
{
    struct fi_cq_err_entry entry = {0};
    if (fi_cq_readerr(e->point.cq, &entry, 0) <= 0) return 0;
    struct operation *o = entry.op_context;
    if (o && !o->stream) {
        /* longer than any of ours; else its connection has ended */
        if (entry.err == FI_ETRUNC || entry.err == FI_EMSGSIZE) e->head.figures.refused++;
    } else {
        (void)hark_fabric_failed(e, "cannot send", entry.err);
    }
    return complete(e, o, 0, false);
}

/* Returns how many frames arrived; *came: how many completions. */
static int read_queue(struct end *e, ssize_t *came)
{
    struct fi_cq_msg_entry entry[BATCH];
    int count = 0;
    const int held = hark_fabric_hold();
    *came = fi_cq_read(e->point.cq, entry, BATCH);
    if (held) hark_descriptor_release(held);
    for (ssize_t i = 0; i < *came; i++)
        count += complete(e, entry[i].op_context, entry[i].len, true);
    if (*came == -FI_EAVAIL) {
        count += read_error(e);
        *came = 1;
    } else if (*came < 0 && *came != -FI_EAGAIN) {
        e->trouble = hark_fabric_failed(e, "cannot read a queue", (int)*came);
    }
    if (e->point.idle_count > 0) hark_fabric_point_post(e);
    return count;
}

static int poll_end(struct hark_transport *t)
{
    struct end *e = (struct end *)t;
    int count = 0;
    ssize_t came = BATCH;
    if (e->lost) hark_fabric_bury(e);
    for (int i = 0; i < BATCHES_MOST && came > 0; i++) count += read_queue(e, &came);
    if (e->self.first) count += self_receive(&e->self, &e->sink, e->me, e->inc, &e->head.figures);
    if (e->busy) hark_fabric_flush(e);
    if (e->look_at) {
        const uint64_t now = hark_fabric_now();
        if (now >= e->look_at) hark_fabric_ask(e, now);
    }
    const int trouble = e->trouble;
    if (count == 0) e->trouble = 0;
    return count == 0 && trouble ? trouble : count;
}

/* ---- sleeping -------------------------------------------------------------------------------- */

static bool something_to_do(const struct end *e)
{
    return e->lost || e->go || e->self.first || e->self.stalled || e->trouble ||
           e->point.idle_count;
}

static bool waits_for_completion(const struct pair *p)
{
    const struct stream *s = p->stream;
    return s && s->again && s->out > 0 && !p->ack_due && !p->again_due;
}

/* Milliseconds until poll() has something to do that nothing else shows; at most `most`, negative:
 * no limit. */
static int until(const struct end *e, int most)
{
    uint64_t next = e->look_at;
    for (const struct pair *p = e->busy; p; p = p->busy_next) {
        if (waits_for_completion(p)) continue;
        if (!p->blocked) return 0;
        if (next == 0 || p->retry_at < next) next = p->retry_at;
    }
    if (next == 0) return most;
    const uint64_t now = hark_fabric_now(), left = next > now ? next - now : 0;
    return most >= 0 && (uint64_t)most < left ? most : (int)left;
}

/* The same, and 0 if something has come already. */
static int may_sleep(const struct end *e, int most)
{
    struct fid *fid = &e->point.cq->fid;
    const int milliseconds = something_to_do(e) ? 0 : until(e, most);
    if (e->point.fd < 0) return milliseconds < 0 || milliseconds > NAP ? NAP : milliseconds;
    const int held = hark_fabric_hold();
    const int status = fi_trywait(e->point.fabric, &fid, 1);
    if (held) hark_descriptor_release(held);
    return status == 0 ? milliseconds : 0;
}

int hark_fabric_descriptor(const struct hark_transport *t)
{
    return ((const struct end *)t)->point.fd;
}

int hark_fabric_timeout(const struct hark_transport *t)
{
    return may_sleep((const struct end *)t, -1);
}

bool hark_fabric_has_work(const struct hark_transport *t)
{
    const struct end *e = (const struct end *)t;
    return something_to_do(e) || until(e, -1) == 0;
}

static int wait_end(struct hark_transport *t, int milliseconds)
{
    struct end *e = (struct end *)t;
    struct pollfd fd[] = {
        {.fd = e->wake_fd, .events = POLLIN}, {.fd = e->point.fd, .events = POLLIN}};
    milliseconds = may_sleep(e, milliseconds);
    if (poll(fd, 2, milliseconds) > 0 && fd[0].revents) {
        uint64_t times;
        (void)!read(e->wake_fd, &times, sizeof times);
    }
    return HARK_T_OK;
}

static void wake(struct hark_transport *t)
{
    const uint64_t one = 1;
    (void)!write(((struct end *)t)->wake_fd, &one, sizeof one);
}

static int drained(struct hark_transport *t)
{
    const struct end *e = (const struct end *)t;
    for (uint32_t number = 0; number <= e->ranks; number++)
        if (e->pairs[number] && !hark_fabric_stream_drained(e->pairs[number])) return 0;
    return e->self.first == NULL;
}

/* ---- close ----------------------------------------------------------------------------------- */

static bool some_on_their_way(const struct end *e)
{
    for (uint32_t number = 0; number <= e->ranks; number++) {
        const struct stream *s = e->pairs[number] ? e->pairs[number]->stream : NULL;
        if (s && s->acked + 1 < s->end) return true;
    }
    return false;
}

/* What lies unread in a socket when it is closed makes the system throw away what is on its way
 * out. Only for who has sent something: it also accepts connections, and the tcp provider leaks the
 * descriptor of one that is half made when the endpoint is closed. */
static void read_rest(struct end *e)
{
    struct fi_cq_msg_entry entry[BATCH];
    struct point *o = &e->point;
    for (int i = 0; i < FAREWELL_READS; i++) {
        const ssize_t came = fi_cq_read(o->cq, entry, BATCH);
        if (came <= 0) return;
        for (ssize_t k = 0; k < came; k++) {
            const struct operation *op = entry[k].op_context;
            if (op && !op->stream) o->idle[o->idle_count++] = (uint32_t)(op - o->receive);
        }
        hark_fabric_point_post(e);
    }
}

static void close_end(struct hark_transport *t)
{
    struct end *e = (struct end *)t;
    const int held = hark_fabric_hold();
    if (some_on_their_way(e)) read_rest(e);
    if (held) hark_descriptor_release(held);
    stop(e);
}

/* The providers of the list leave nothing that has a name. */
static void sweep(const char *job, const char *directory)
{
    (void)job;
    (void)directory;
}

static const struct hark_transport_option options[] = {
    {"provider", 0, 1, HARK_FABRIC_PROVIDERS, false, hark_fabric_providers},
    {"window", 1, WINDOW_LEAST, WINDOW_MOST, false, NULL}, HARK_TRANSPORT_OPTIONS_END};

const struct hark_transport_ops hark_fabric_transport = {
    .options = options,
    .name = "fabric",
    .open = open_end,
    .address = own_address,
    .peer = peer,
    .send = hark_fabric_send,
    .poll = poll_end,
    .wait = wait_end,
    .wake = wake,
    .drained = drained,
    .close = close_end,
    .withdraw = hark_fabric_withdraw,
    .sweep = sweep,
    .apart = hark_fabric_apart,
};
