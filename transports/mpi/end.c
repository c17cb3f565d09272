/* end.c: opening, closing, sleeping: the functions of the transport. See mpi_transport.h and, for
 * who does what, end.h. */
#include "end.h"

#include "../../src/store/descriptor.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#define FRAME_LIMIT      (1ull << 30)
#define FRAME_LIMIT_MOST (1ull << 60)
#define NAP_LEAST        20000l    /* nanoseconds */
#define NAP_USUAL        1000000ul /* the longest one */
#define YIELDS           20

/* ---- open ------------------------------------------------------------------------------------ */

static const char *bad_config(const struct hark_transport_config *c)
{
    static const char legal[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    uint64_t window = c->option[1], nap = c->option[2];
    if (!c->job || !c->job[0] || strlen(c->job) > 40 || c->job[strspn(c->job, legal)])
        return "the name of the job is not 1 .. 40 of [A-Za-z0-9_-]";
    if (c->ranks == 0 || c->ranks > HARK_RANKS_MAX)
        return "the number of ranks is out of its range";
    if (c->me >= c->ranks && c->me != HARK_RECOVERY) return "no such rank";
    if (c->inc == UINT32_MAX) return "the incarnation is out of its range";
    if (!c->sink.place || !c->sink.arrived || !c->sink.broken) return "the sink is not complete";
    if (c->encrypts) return "MPI does not encrypt what it carries";
    if (!c->option[0]) return "hark_mpi_join() was not called with this config";
    if (window && (window < WINDOW_LEAST || window > WINDOW_MOST))
        return "option 1, the window, is not in 1 MiB .. 1 GiB";
    if (nap && (nap < 10 || nap > 1000000)) return "option 2, the sleep, is not in 10 .. 1000000";
    return NULL;
}

static uint64_t hash(const char *name) /* FNV-1a */
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name; name++) h = (h ^ (uint8_t)*name) * 0x100000001b3u;
    return h;
}

static struct end *end_new(const struct hark_transport_config *c)
{
    struct end *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->head.ops = &hark_mpi_operations;
    e->mpi = (struct hark_mpi *)(uintptr_t)c->option[0];
    e->sink = c->sink;
    e->me = (struct process){c->me, c->inc};
    e->ranks = c->ranks;
    e->job = hash(c->job);
    e->limit = c->frame_limit ? c->frame_limit : FRAME_LIMIT;
    if (e->limit > FRAME_LIMIT_MOST) e->limit = FRAME_LIMIT_MOST;
    e->window = c->option[1] ? c->option[1] : WINDOW_USUAL;
    e->nap_most = (long)(c->option[2] ? c->option[2] * 1000 : NAP_USUAL);
    queue_begin(&e->queue);
    e->peers = calloc((size_t)c->ranks + 1, sizeof *e->peers);
    e->event = hark_descriptor_above(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    return e;
}

static void end_free(struct end *e)
{
    if (e->event >= 0) close(e->event);
    if (e->peers) hark_mpi_peers_free(e);
    queue_free(&e->queue);
    free(e);
}

/* NULL, or what is wrong with the address. */
static const char *choose_port(struct end *e, const char *address)
{
    int rank = e->mpi->rank, port;
    if (!address) {
        e->port = hark_mpi_port_free(e->mpi, e->job, e->me.rank);
        return e->port < PORTS_MOST ? NULL : "all ports of this rank are in use";
    }
    const char *why = hark_mpi_address_parse(e->mpi, address, &rank, &port);
    if (why) return why;
    if (rank != e->mpi->rank) return "the rank of the address is not that of this process";
    e->port = (uint32_t)port;
    if (e->port < e->mpi->port_count && e->mpi->ports[port].end) return "the port is in use";
    return NULL;
}

static int refuse(char error[200], int status, const char *why)
{
    if (error) snprintf(error, 200, "mpi: %s", why);
    return status;
}

/* With the lock. */
static int join(struct end *e, const char *address, char error[200])
{
    const char *why = choose_port(e, address);
    if (why) return refuse(error, HARK_T_EINVAL, why);
    if (!hark_mpi_port_room(e->mpi, e->port))
        return refuse(error, HARK_T_ESYSTEM, "no memory for one more port");
    snprintf(e->address, sizeof e->address, "mpi:%d:%u", e->mpi->rank, e->port);
    hark_mpi_port_open(e);
    return HARK_T_OK;
}

static int open_end(
    struct hark_transport **t, const struct hark_transport_config *config, char error[200])
{
    *t = NULL;
    const char *why = bad_config(config);
    if (why) return refuse(error, HARK_T_EINVAL, why);
    struct end *e = end_new(config);
    if (!e) return refuse(error, HARK_T_ESYSTEM, "no memory");
    int status = HARK_T_ESYSTEM;
    if (!e->peers) refuse(error, status, "no memory for so many ranks");
    else if (e->event < 0) refuse(error, status, strerror(errno));
    else {
        hub_lock(e->mpi);
        status = join(e, config->address, error);
        hub_unlock(e->mpi);
    }
    if (status == HARK_T_OK) *t = &e->head;
    else end_free(e);
    return status;
}

static const char *own_address(const struct hark_transport *t)
{
    return ((const struct end *)t)->address;
}

static void close_end(struct hark_transport *t)
{
    struct end *e = (struct end *)t;
    struct hark_mpi *mpi = e->mpi;
    hub_lock(mpi);
    hark_mpi_disown(e);
    hark_mpi_port_close(e);
    hub_unlock(mpi);
    end_free(e);
}

/* ---- peers ----------------------------------------------------------------------------------- */

static int peer(struct hark_transport *t, uint32_t rank, uint32_t inc, const char *address)
{
    struct end *e = (struct end *)t;
    uint32_t number = number_of(e, rank);
    int mpi_rank = -1, port = -1;
    struct peer *p;
    if (number > e->ranks || inc == UINT32_MAX) return HARK_T_EINVAL;
    const char *why = address ? hark_mpi_address_parse(e->mpi, address, &mpi_rank, &port) : NULL;
    if (why) {
        snprintf(e->head.error, sizeof e->head.error, "mpi: address of rank %u: %s", rank, why);
        return HARK_T_EINVAL;
    }
    if (rank == e->me.rank) return HARK_T_OK;
    hub_lock(e->mpi);
    int status = hark_mpi_peer_at(e, number, inc, &p);
    if (status == HARK_T_OK && address) status = hark_mpi_peer_found(e, p, mpi_rank, port);
    hub_unlock(e->mpi);
    return status == HARK_T_EGONE ? HARK_T_OK : status; /* old news */
}

static int drained(struct hark_transport *t)
{
    struct end *e = (struct end *)t;
    hub_lock(e->mpi);
    int all = e->kept == 0 && e->sending == 0;
    hub_unlock(e->mpi);
    return all;
}

/* ---- sleeping -------------------------------------------------------------------------------- */

static int64_t now(void) /* nanoseconds */
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Is there something for poll(), or for a frame that waits? If not, the end counts as asleep. */
static int look(struct end *e, bool *found)
{
    hub_lock(e->mpi);
    int status = hark_mpi_progress(e->mpi, e->head.error);
    *found = e->queue.first || e->lost || e->go || e->trouble;
    if (*found) e->go = false;
    hub_unlock(e->mpi);
    return status;
}

/* Sleeps for so many nanoseconds, or until wake(). True: it was that. */
static bool nap(struct end *e, long nanoseconds)
{
    struct pollfd fd = {.fd = e->event, .events = POLLIN};
    struct timespec t = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    uint64_t count;
    return ppoll(&fd, 1, &t, NULL) > 0 && read(e->event, &count, sizeof count) > 0;
}

/* How long after so many looks in vain: 0 means to yield. */
static long nap_after(const struct end *e, unsigned looks)
{
    if (looks < YIELDS) return 0;
    unsigned doubled = looks - YIELDS < 16 ? looks - YIELDS : 16;
    long nanoseconds = NAP_LEAST << doubled;
    return nanoseconds < e->nap_most ? nanoseconds : e->nap_most;
}

static int wait_end(struct hark_transport *t, int milliseconds)
{
    struct end *e = (struct end *)t;
    int64_t over = milliseconds > 0 ? now() + milliseconds * INT64_C(1000000) : 0;
    for (unsigned looks = 0;; looks++) {
        bool found;
        int status = look(e, &found);
        if (status != HARK_T_OK || found) return status;
        long most = nap_after(e, looks);
        int64_t left = milliseconds > 0 ? over - now() : milliseconds == 0 ? 0 : most;
        if (left < 0 || milliseconds == 0) left = 0;
        if (most == 0 && left != 0) sched_yield();
        if (nap(e, left < most ? (long)left : most)) return HARK_T_OK;
        if (milliseconds >= 0 && left == 0) return HARK_T_OK;
    }
}

static void wake(struct hark_transport *t)
{
    static const uint64_t one = 1;
    (void)!write(((struct end *)t)->event, &one, sizeof one);
}

static void sweep(const char *job, const char *directory)
{
    (void)job;
    (void)directory; /* nothing outlives the processes of an MPI job */
}

static const struct hark_transport_option options[] = {
    {"window", 1, WINDOW_LEAST, WINDOW_MOST, false, NULL},
    {"sleep-us", 2, 10, 1000000, false, NULL}, HARK_TRANSPORT_OPTIONS_END};

const struct hark_transport_ops hark_mpi_operations = {
    .options = options,
    .name = "mpi",
    .open = open_end,
    .address = own_address,
    .peer = peer,
    .send = hark_mpi_send,
    .poll = hark_mpi_poll,
    .wait = wait_end,
    .wake = wake,
    .drained = drained,
    .close = close_end,
    .sweep = sweep,
};

const struct hark_transport_ops *hark_mpi_transport(void)
{
    return &hark_mpi_operations;
}
