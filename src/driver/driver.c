/* The owner's calls: events to the core, and what moves frames. effects.c: what comes of them. */
#include "driver_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hark/parts/member.h"

static void say(struct hark_driver *d, const char *what, const char *why)
{
    size_t n = strlen(what);
    bool named = strncmp(why, what, n) == 0 && why[n] == ':'; /* most transports begin with their
                                                                 name */
    snprintf(d->error, sizeof d->error, "%s%s%s", named ? "" : what, named ? "" : ": ", why);
}

int hark_driver_fail(struct hark_driver *d, int status, const char *what, const char *why)
{
    say(d, what, why);
    return d->failed = status;
}

int hark_driver_refuse(struct hark_driver *d, const char *what, const char *why)
{
    say(d, what, why);
    return HARK_D_EINVAL;
}

/* ---- open and close -------------------------------------------------------------------------- */

static void *lend(void *self, uint64_t bytes)
{
    struct hark_driver *d = self;
    return d->transport->ops->lend(d->transport, bytes);
}

static void reclaim(void *self, void *at, uint64_t bytes)
{
    struct hark_driver *d = self;
    d->transport->ops->reclaim(d->transport, at, bytes);
}

static int open_parts(struct hark_driver *d, const struct hark_driver_config *c, char error[256])
{
    struct hark_transport_config t = c->transport_config;
    struct hark_config core = c->core;
    core.flags = c->digest ? core.flags | HARK_DIGEST : core.flags & ~(uint32_t)HARK_DIGEST;
    core.flags =
        c->behind ? core.flags | HARK_IMAGES_COPIED : core.flags & ~(uint32_t)HARK_IMAGES_COPIED;
    uint64_t bytes = d->protocol->size(&core);
    d->core = bytes ? malloc(bytes) : NULL;
    if (bytes && d->core == NULL) return HARK_D_ESYSTEM;
    if (d->core == NULL || d->protocol->init(d->core, bytes, &core) < 0) {
        snprintf(error, 256, "%s: the configuration is out of its range", d->protocol->name);
        return HARK_D_EINVAL;
    }
    t.sink = hark_driver_sink(d);
    char why[200] = "";
    if (c->transport->open(&d->transport, &t, why) != HARK_T_OK) {
        snprintf(error, 256, "%s", why);
        return HARK_D_ESYSTEM;
    }
    if (c->behind && hark_behind_open(&d->behind, c->behind, hark_driver_image_done, d, error) < 0)
        return HARK_D_ESYSTEM;
    struct hark_log_config log = c->log;
    if (log.spill == NULL) { /* then the limit is kept by asking for checkpoints, before anything is
                                posted */
        log.soft_limit = log.limit;
        log.limit = 0;
    }
    /* A log that spills takes its memory back whenever it likes: that can not be lent. */
    d->lends = log.spill == NULL && d->transport->ops->lend != NULL;
    if (d->lends) {
        log.lend = lend;
        log.reclaim = reclaim;
        log.self = d;
    }
    return hark_log_open(&d->log, &log, error) < 0 ? HARK_D_ESYSTEM : HARK_D_OK;
}

/* How much memory frames may take that wait for receivers, although the log has their payloads;
 * then sends wait too. */
static uint64_t queued_most(uint64_t log_limit)
{
    const uint64_t least = 16u << 10, usual = 1u << 20;
    if (log_limit == 0 || log_limit / 32 > usual) return usual;
    return log_limit / 32 > least ? log_limit / 32 : least;
}

int hark_driver_open(struct hark_driver **out, const struct hark_driver_config *c, char error[256])
{
    struct hark_driver *d = calloc(1, sizeof *d);
    *out = NULL;
    error[0] = 0;
    if (d == NULL) {
        snprintf(error, 256, "memory: no room for the driver");
        return HARK_D_ESYSTEM;
    }
    d->protocol = c->protocol;
    d->store = c->store;
    d->hooks = c->hooks;
    d->digest = c->digest && c->protocol->traits & HARK_TRAIT_DIGESTS;
    d->groups = c->core.group_count > 0;
    d->me = c->core.me;
    d->ranks = c->core.ranks;
    d->log_limit = c->log.limit;
    d->queued_most = queued_most(c->log.limit);
    d->log_spills = c->log.spill != NULL;
    d->figures = c->figures ? c->figures : &d->own;
    d->causal = c->protocol->unstable != NULL;
    const bool usual = c->hooks.observe == NULL;
    hark_driver_unusual(d);
    if (usual && c->protocol->post) d->post = c->protocol->post;
    if (usual && c->protocol->receive) d->receive = c->protocol->receive;
    d->fx.room = 64;
    d->fx.spare = ENVELOPE;
    d->fx.bytes_room = 65536 + HARK_EFFECTS_BYTES + HARK_EFFECTS_ROOM * ENVELOPE;
    d->fx.at = calloc(d->fx.room, sizeof *d->fx.at);
    d->fx.bytes = malloc(d->fx.bytes_room);
    d->out = calloc(d->ranks + 1, sizeof *d->out);
    d->waiting = calloc(d->ranks + 1, sizeof *d->waiting);
    d->inc = calloc(d->ranks + 1, sizeof *d->inc);
    int status = d->fx.at && d->fx.bytes && d->out && d->waiting && d->inc ? open_parts(d, c, error)
                                                                           : HARK_D_ESYSTEM;
    if (status < 0) {
        if (error[0] == 0) snprintf(error, 256, "memory: no room for the driver");
        hark_driver_close(d);
        return status;
    }
    *out = d;
    return HARK_D_OK;
}

void hark_driver_close(struct hark_driver *d)
{
    if (d == NULL) return;
    hark_behind_close(d->behind); /* its thread wakes the transport */
    hark_driver_restarted(d);
    hark_driver_outgoing_free(d);
    if (d->log) hark_log_close(d->log); /* it may lie in the transport's memory */
    if (d->transport) d->transport->ops->close(d->transport);
    for (struct placing *p = d->placings, *next; p; p = next) {
        next = p->next;
        if (!p->owners) free(p->payload);
        free(p);
    }
    hark_driver_held_close(d);
    for (struct hark_message *m = d->up, *next; m; m = next) {
        next = m->up_next;
        hark_driver_drop(d, m);
    }
    for (struct hark_message *m = d->spare, *next; m; m = next) {
        next = m->next;
        free(m);
    }
    free(d->fx.at);
    free(d->fx.bytes);
    free(d->out);
    free(d->waiting);
    free(d->inc);
    free(d->core);
    free(d->sum.at);
    free(d);
}

const char *hark_driver_error(const struct hark_driver *d)
{
    return d->error;
}

const char *hark_driver_address(const struct hark_driver *d)
{
    return d->transport->ops->address(d->transport);
}

uint64_t hark_driver_snapshot(const struct hark_driver *d, void *to, uint64_t room)
{
    return hark_pack(d->core, d->protocol->shape, to, room);
}

struct hark_driver_figures *hark_driver_figures(struct hark_driver *d)
{
    return d->figures;
}

const struct hark *hark_driver_core(const struct hark_driver *d)
{
    return d->core;
}

/* ---- the application's events ---------------------------------------------------------------- */

int hark_driver_ask_checkpoint(struct hark_driver *d, uint32_t *rank)
{
    uint64_t bytes;
    uint8_t header[4] = {DRIVER_KIND, DRIVER_WANTED, 0, 0};
    *rank = HARK_RECOVERY;
    if (!hark_log_heaviest(d->log, rank, &bytes)) return HARK_D_OK;
    if (*rank & LOG_GROUP) { /* of a group nobody can be asked alone: the owner waits for its next
                                checkpoint */
        *rank = HARK_RECOVERY;
        return HARK_D_OK;
    }
    struct hark_transmit x = {
        .peer = *rank, .inc = d->inc[*rank], .header = {header, sizeof header}};
    struct subject none = {0};
    return hark_driver_transmit(d, &x, &none);
}

unsigned hark_driver_log_share(const struct hark_driver *d, uint64_t more)
{
    if (d->log_limit == 0 || d->log_spills) return 0;
    uint64_t bytes = hark_log_used(d->log), entry = more + ENVELOPE + HARK_LOG_ENTRY;
    return bytes == 0 ? 0 : (unsigned)((bytes + entry) * 100 / d->log_limit);
}

/* A causal protocol makes a determinant of every delivery and of every look. */
static void choice_made(struct hark_driver *d)
{
    if (d->causal) driver_count(&d->figures->determinants_created, 1);
}

static int chosen(struct hark_driver *d, const struct hark_message *m, uint32_t type)
{
    struct hark_event e = {.type = type};
    e.u.frame.header.at = m->header;
    e.u.frame.header.length = m->header_length;
    e.u.frame.length = m->length;
    int status = driver_step_bare(d, &e);
    if (status == HARK_D_OK) choice_made(d);
    return status;
}

int hark_driver_deliver(struct hark_driver *d, struct hark_message *m)
{
    int status = chosen(d, m, HARK_DELIVER);
    if (status != HARK_D_OK) return status;
    hark_driver_up_remove(d, m);
    driver_count(&d->figures->deliveries, 1);
    return HARK_D_OK;
}

int hark_driver_look(struct hark_driver *d, const struct hark_message *m)
{
    return chosen(d, m, HARK_LOOK);
}

int hark_driver_miss(struct hark_driver *d)
{
    struct hark_event e = {.type = HARK_MISS};
    int status = driver_step_bare(d, &e);
    if (status == HARK_D_OK) choice_made(d);
    return status;
}

int hark_driver_checkpoint(struct hark_driver *d, bool due)
{
    struct hark_event e = {.type = HARK_CHECKPOINT_POINT};
    e.u.point.due = due;
    int status = driver_step_bare(d, &e);
    return status < 0 ? status : status == 1 ? 1 : hark_driver_flush(d);
}

int hark_driver_quiet(struct hark_driver *d)
{
    struct hark_event e = {.type = HARK_QUIET};
    return driver_step_bare(d, &e);
}

int hark_driver_stabilise(struct hark_driver *d)
{
    struct hark_event e = {.type = HARK_IDLE};
    e.u.idle.stable = true;
    int status = driver_step_bare(d, &e);
    return status < 0 ? status : hark_driver_flush(d);
}

static bool is_one(const struct hark_driver *d, uint32_t rank)
{
    return rank < d->ranks || rank == HARK_RECOVERY;
}

int hark_driver_failed(struct hark_driver *d, const struct hark_event *failed)
{
    if (d->shut) return hark_driver_shut(d);
    for (uint32_t i = 0; i < failed->u.failed.inc_count; i++)
        if (!is_one(d, failed->u.failed.inc[i].rank))
            return hark_driver_refuse(d, "failed", "no such rank");
    for (uint32_t i = 0; i < failed->u.failed.inc_count; i++) {
        struct hark_incarnation x = failed->u.failed.inc[i];
        d->inc[x.rank == HARK_RECOVERY ? d->ranks : x.rank] = x.inc;
        hark_driver_outgoing_forget(d, x.rank, x.inc);
    }
    int status = driver_step_bare(d, failed);
    return status < 0 ? status : hark_driver_flush(d);
}

int hark_driver_recluster(struct hark_driver *d, const struct hark_range *group, uint32_t count)
{
    struct hark_event e = {.type = HARK_RECLUSTER};
    e.u.recluster.cluster = group;
    e.u.recluster.cluster_count = count;
    return driver_step_bare(d, &e);
}

int hark_driver_stored(struct hark_driver *d, uint32_t fact, uint64_t id, bool ok)
{
    struct hark_event e = {.type = HARK_STORED};
    e.u.stored.of = HARK_PERSIST;
    e.u.stored.fact = fact;
    e.u.stored.ok = ok;
    e.u.stored.id = id;
    int status = driver_step_bare(d, &e);
    return status < 0 ? status : hark_driver_flush(d);
}

int hark_driver_peer(struct hark_driver *d, uint32_t rank, uint32_t inc, const char *address)
{
    if (!is_one(d, rank)) return hark_driver_refuse(d, "peer", "no such rank");
    hark_driver_outgoing_forget(d, rank, inc);
    int status = d->transport->ops->peer(d->transport, rank, inc, address);
    if (status < 0) return hark_driver_fail(d, HARK_D_ESYSTEM, "peer", d->transport->error);
    return hark_driver_flush(d);
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* The seldom part of a poll: failures, messages to myself, queues. `n`: the transport's answer. */
HARK_COLD int polled(struct hark_driver *d, int n, uint64_t left)
{
    if (n < 0)
        return hark_driver_fail(d, HARK_D_ESYSTEM, d->transport->ops->name, d->transport->error);
    if (d->shut) return hark_driver_shut(d);
    if (d->failed) /* perhaps a sink call, which has no way to say so */
        return d->failed == HARK_D_ESYSTEM || d->failed == HARK_D_ELOG ? d->failed : HARK_D_ECORE;
    bool own = d->self_head != NULL; /* the result of a reduction may have come of a step outside of
                                        polls */
    int status = own ? hark_driver_self(d) : HARK_D_OK, written = 0;
    if (status >= 0 && d->writes) status = written = hark_driver_image_written(d);
    if (status >= 0 && d->waiting_count) status = hark_driver_flush(d);
    return status < 0 ? status : n + own + written + (d->left != left);
}

static inline int poll_now(struct hark_driver *d)
{
    uint64_t left = d->left;
    d->polling = true;
    int n = d->transport->ops->poll(d->transport);
    d->polling = false;
    if (__builtin_expect(n < 0 || d->shut || d->failed || d->self_head || d->waiting_count ||
                             d->writes || d->left != left,
            0))
        return polled(d, n, left);
    return n;
}

int hark_driver_poll(struct hark_driver *d)
{
    return d->shut ? hark_driver_shut(d) : poll_now(d);
}

int hark_driver_wait(struct hark_driver *d, int milliseconds)
{
    struct hark_event e = {.type = HARK_IDLE};
    uint64_t left = d->left;
    int status = driver_step_bare(d, &e);
    if (status < 0) return status;
    status = hark_driver_flush(d);
    if (status < 0) return status;
    if (d->left != left)
        return 1; /* what the caller waits for may just have left: nobody would wake it again */
    if (d->self_head) return hark_driver_poll(d);
    status = d->transport->ops->wait(d->transport, milliseconds);
    if (status < 0)
        return hark_driver_fail(d, HARK_D_ESYSTEM, d->transport->ops->name, d->transport->error);
    status = hark_driver_flush(d);
    if (status < 0 || d->left != left) return status < 0 ? status : 1;
    return hark_driver_poll(d);
}

void hark_driver_await(struct hark_driver *d, struct hark_awaited *awaited)
{
    d->awaited = d->shut & SHUT_GONE ? NULL : awaited;
}

int hark_driver_receive(struct hark_driver *d, struct hark_awaited *awaited)
{
    if (d->shut) return hark_driver_shut(d);
    d->awaited = awaited;
    int status = poll_now(d);
    d->awaited = NULL;
    return status;
}

void hark_driver_enough(struct hark_driver *d)
{
    d->transport->enough = true;
}

bool hark_driver_writes(const struct hark_driver *d)
{
    return d->writes;
}

void hark_driver_wake(struct hark_driver *d)
{
    d->transport->ops->wake(d->transport);
}

int hark_driver_drained(struct hark_driver *d)
{
    return d->waiting_count == 0 && d->transport->ops->drained(d->transport);
}
