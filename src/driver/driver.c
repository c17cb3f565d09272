/* The loop: events to the core, effects to transport, log, store and owner. */
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

/* ---- effects --------------------------------------------------------------------------------- */

int hark_driver_trim(struct hark_driver *d, const struct hark_name *name)
{
    int status = d->waiting_count ? hark_driver_trimmed(d, name) : HARK_D_OK;
    if (status < 0) return status;
    hark_driver_log_trim(d, name);
    hark_driver_log_figures(d);
    return HARK_D_OK;
}

/* In the place of entries for the usual message that there are not, or not any more. */
static int not_posted(
    struct hark *p, const struct hark_posting *message, uint8_t *header, struct hark_posted *posted)
{
    (void)p, (void)message, (void)header, (void)posted;
    return HARK_UNUSUAL;
}

static int not_received(struct hark *p, struct hark_bytes header, struct hark_received *received)
{
    (void)p, (void)header, (void)received;
    return HARK_UNUSUAL;
}

static int perform_store(struct hark_driver *d, const struct hark_effect *x)
{
    switch (x->type) {
    case HARK_COMMIT:
        HARK_POINT("commit", d->me);
        driver_count(&d->figures->checkpoints, 1);
        if (d->hooks.committed) d->hooks.committed(d->hooks.self, x->u.checkpoint.id);
        HARK_POINT("committed", d->me);
        return HARK_D_OK;
    case HARK_DROP:
        hark_driver_drop_image(d, x->u.checkpoint.id);
        if (d->hooks.dropped) d->hooks.dropped(d->hooks.self, x->u.checkpoint.id);
        return HARK_D_OK;
    default: return hark_driver_trim(d, &x->u.trim.name);
    }
}

static void handup_now(struct hark_driver *d, struct subject *subject)
{
    subject->handup = false;
    hark_driver_handup(d, subject);
}

static inline int perform(
    struct hark_driver *d, const struct hark_effect *x, struct subject *subject)
{
    if (__builtin_expect(d->hooks.observe != NULL, 0)) d->hooks.observe(d->hooks.self, NULL, x);
    switch (x->type) {
    case HARK_TRANSMIT: return hark_driver_transmit(d, &x->u.transmit, subject);
    case HARK_RETAIN:
        return subject->retained ? HARK_D_OK : hark_driver_retain(d, &x->u.retain.name, subject);
    case HARK_HANDUP: /* the owner may take it at once, which is a step: when this one's effects are
                         done */
        subject->handup = true;
        return HARK_D_OK;
    case HARK_HOLD: hark_driver_hold(d, subject); return HARK_D_OK;
    case HARK_DISCARD: hark_driver_discard(d, subject); return HARK_D_OK;
    case HARK_OFFER: hark_driver_ask(d, x->u.offer.peer, &x->u.offer.name); return HARK_D_OK;
    case HARK_TRIM:
    case HARK_COMMIT:
    case HARK_DROP: return perform_store(d, x);
    case HARK_CAPTURE:
        if (subject->handup) handup_now(d, subject); /* it belongs into the image */
        return hark_driver_capture(d, x->u.checkpoint.id);
    case HARK_PERSIST: d->hooks.persist(d->hooks.self, &x->u.persist); return HARK_D_OK;
    case HARK_RESUME: d->hooks.resume(d->hooks.self); return HARK_D_OK;
    case HARK_SUPPRESS: driver_count(&d->figures->suppressed, 1); return HARK_D_OK;
    case HARK_DIVERGED: d->hooks.diverged(d->hooks.self, &x->u.diverged); return HARK_D_OK;
    case HARK_RECOVERED: d->hooks.recovered(d->hooks.self); return HARK_D_OK;
    case HARK_COMBINE: return hark_driver_combine(d, &x->u.combine.name, x->u.combine.part);
    case HARK_ROLLBACK:
        d->gone = true;
        d->post = not_posted;
        d->awaited = NULL;
        d->hooks.rollback(d->hooks.self, x->u.checkpoint.id);
        return HARK_D_EGONE;
    default:
        return hark_driver_fail(
            d, HARK_D_ECORE, "the core", "an effect that this driver does not know");
    }
}

static int grow(struct hark_driver *d, const struct hark_event *event)
{
    uint64_t bytes = hark_wants(d->core, event);
    struct hark *p = realloc(d->core, bytes);
    if (p == NULL)
        return hark_driver_fail(d, HARK_D_ESYSTEM, "memory", "no room for the protocol's state");
    d->core = p;
    hark_grow(p, bytes);
    return HARK_D_OK;
}

/* An answer that is known while effects are still being performed: it is given when they are done.
 */
int hark_driver_later(
    struct hark_driver *d, const struct hark_event *event, struct subject *subject)
{
    (void)subject;
    d->later = true;
    d->stored = *event;
    return HARK_D_OK;
}

/* What must wait until all effects of a step are done, and may be steps of their own. */
int hark_driver_aftermath(struct hark_driver *d)
{
    int status = HARK_D_OK;
    while (status >= 0 && (d->combined || d->later || (d->offer.due && !d->offering))) {
        struct subject none = {0};
        struct hark_event stored = d->stored;
        if (d->combined) {
            status = hark_driver_combined(d);
        } else if (d->later) {
            d->later = false;
            status = driver_step(d, &stored, &none);
        } else {
            d->offering = true;
            status = hark_driver_offer(d);
            d->offering = false;
        }
    }
    return status;
}

/* A step that moved nothing: 0 if the event is to be given again, 1 if later, else what the caller
 * is told. */
static int moved_nothing(struct hark_driver *d, int status, const struct hark_event *event,
    struct subject *subject, bool *again)
{
    *again = false;
    switch (status) {
    case HARK_EFULL: *again = true; return grow(d, event);
    case HARK_WAIT: return 1;
    case HARK_EFRAME: /* not one of ours: dropped and counted */
        driver_count(&d->figures->refused, 1);
        hark_driver_discard(d, subject);
        return HARK_D_OK;
    default:
        snprintf(d->error, sizeof d->error, "%s: %s: %s", d->protocol->name,
            hark_event_text(event->type), hark_status_text(status));
        return HARK_D_ECORE;
    }
}

int hark_driver_effects(
    struct hark_driver *d, int status, const struct hark_event *event, struct subject *subject)
{
    static const struct hark_event go_on = {.type = HARK_CONTINUE};
    for (;; status = d->protocol->step(d->core, event, &d->fx)) {
        if (status != HARK_OK && status != HARK_MORE) {
            bool again;
            int result = moved_nothing(d, status, event, subject, &again);
            if (again && result >= 0) continue;
            return result;
        }
        uint32_t n = d->fx.count;
        for (uint32_t i = 0; i < n; i++) {
            subject->next = i + 1 < n ? &d->fx.at[i + 1] : NULL;
            int result = perform(d, &d->fx.at[i], subject);
            if (result < 0) return result;
        }
        if (status == HARK_OK) break;
        event = &go_on;
    }
    if (subject->handup) handup_now(d, subject);
    return d->offer.due || d->later || d->combined ? hark_driver_aftermath(d) : HARK_D_OK;
}

int hark_driver_step_seldom(
    struct hark_driver *d, const struct hark_event *event, struct subject *subject)
{
    if (d->gone) return HARK_D_EGONE;
    d->hooks.observe(d->hooks.self, event, NULL);
    return hark_driver_effects(d, d->protocol->step(d->core, event, &d->fx), event, subject);
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
    d->post = usual && c->protocol->post ? c->protocol->post : not_posted;
    d->receive = usual && c->protocol->receive ? c->protocol->receive : not_received;
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
    if (d->gone) return HARK_D_EGONE;
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
    if (__builtin_expect(n < 0 || d->gone || d->failed || d->self_head || d->waiting_count ||
                             d->writes || d->left != left,
            0))
        return polled(d, n, left);
    return n;
}

int hark_driver_poll(struct hark_driver *d)
{
    return d->gone ? HARK_D_EGONE : poll_now(d);
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
    d->awaited = d->gone ? NULL : awaited;
}

int hark_driver_receive(struct hark_driver *d, struct hark_awaited *awaited)
{
    if (d->gone) return HARK_D_EGONE;
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
