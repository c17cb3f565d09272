#include "observe.h"

#include <string.h>

#include "hark/parts/mem.h"
#include "process.h"

#define P hark_process

/* The process's phase, where the protocol has such a thing. */
static uint64_t phase_now(void)
{
    return hark_process_number("phase");
}

static void record(struct hark_trace_record *r, uint8_t kind)
{
    if (P.trace == NULL) return;
    r->kind = kind;
    r->rank = P.setup.rank;
    r->inc = P.setup.inc;
    r->time = hark_process_now();
    (void)hark_trace_add(P.trace, r); /* what finds no room is counted there */
}

/* The arrived frame whose fate the next effects say, and the message that the application posts in
 * this step. */
static struct hark_trace_record arrived, posted;

static void observe_event(const struct hark_event *e)
{
    const uint8_t *h = e->u.frame.header.at;
    memset(&arrived, 0, sizeof arrived);
    memset(&posted, 0, sizeof posted);
    if (e->type == HARK_SEND) posted.bytes = e->u.send.length;
    if (e->type != HARK_ARRIVE || e->u.frame.header.length < HARK_WIRE_HEAD || h[1] != HARK_APP)
        return;
    arrived.peer = hark_get32(h + 4);
    arrived.peer_inc = hark_get32(h + 12);
    arrived.flags = HARK_TRACE_PEER_INC;
    arrived.ctx = hark_get16(h + 2);
    arrived.ssn = hark_get64(h + 24);
    arrived.bytes = e->u.frame.length;
}

/* Of the payload. What is not in the log is posted now, or passed on as it came. */
static uint64_t bytes_of(const struct hark_name *name)
{
    uint64_t bytes;
    if (name->ssn == 0) return 0;
    if (hark_driver_logged(P.driver, name, &bytes)) return bytes;
    return name->way == HARK_IN ? arrived.bytes : posted.bytes;
}

/* What was logged of a group, or passed on, is not recorded: each TRANSMIT says who it goes to, and
 * what is passed on is another's. */
static void observe_transmit(const struct hark_transmit *x)
{
    const bool group = x->name.to == HARK_GROUP;
    struct hark_trace_record r = {.peer = group ? x->peer : x->name.peer,
        .ctx = x->name.ctx,
        .ssn = x->name.ssn,
        .phase = x->phase,
        .peer_inc = x->inc,
        .flags = HARK_TRACE_PEER_INC};
    if (x->name.ssn == 0 || (x->name.way == HARK_IN && !group)) return;
    if (P.trace) r.bytes = bytes_of(&x->name);
    record(&r, x->replay ? HARK_TRACE_REPLAY : HARK_TRACE_TRANSMIT);
}

static void observe_retain(const struct hark_name *name)
{
    struct hark_trace_record r = {.peer = name->peer,
        .ctx = name->ctx,
        .ssn = name->ssn,
        .phase = phase_now(),
        .flags = HARK_TRACE_LOGGED};
    if (name->way == HARK_IN || name->to == HARK_GROUP) return;
    if (P.trace) r.bytes = bytes_of(name);
    record(&r, HARK_TRACE_SEND);
}

static void observe_suppress(const struct hark_name *name, uint64_t phase)
{
    struct hark_trace_record r = {
        .peer = name->peer, .ctx = name->ctx, .ssn = name->ssn, .phase = phase};
    if (P.trace) r.bytes = bytes_of(name);
    record(&r, HARK_TRACE_SUPPRESS);
}

static void observe_divergence(const struct hark_divergence *x)
{
    struct hark_trace_record r = {
        .peer = x->name.peer, .ctx = x->name.ctx, .ssn = x->name.ssn, .id = x->last};
    if (x->name.way == HARK_IN) return;
    if (P.trace) r.bytes = bytes_of(&x->name);
    record(&r, HARK_TRACE_DIVERGED);
}

void hark_observe(void *self, const struct hark_event *event, const struct hark_effect *effect)
{
    struct hark_trace_record r = {0};
    (void)self;
    if (event) {
        observe_event(event);
        return;
    }
    switch (effect->type) {
    case HARK_TRANSMIT: observe_transmit(&effect->u.transmit); break;
    case HARK_RETAIN: observe_retain(&effect->u.retain.name); break;
    case HARK_SUPPRESS: observe_suppress(&effect->u.suppress.name, effect->u.suppress.phase); break;
    case HARK_DIVERGED: observe_divergence(&effect->u.diverged); break;
    case HARK_HANDUP:
        r = arrived;
        record(&r, HARK_TRACE_ARRIVE);
        break;
    case HARK_DISCARD:
        r = arrived;
        if (r.ssn) record(&r, HARK_TRACE_DISCARD);
        break;
    case HARK_CAPTURE:
        r.id = effect->u.checkpoint.id;
        r.phase = phase_now();
        record(&r, HARK_TRACE_CHECKPOINT);
        break;
    case HARK_COMMIT:
        r.id = effect->u.checkpoint.id;
        record(&r, HARK_TRACE_COMMIT);
        break;
    case HARK_RECOVERED: record(&r, HARK_TRACE_RECOVERED); break;
    case HARK_ROLLBACK:
        r.id = effect->u.checkpoint.id;
        record(&r, HARK_TRACE_ROLLBACK);
        break;
    default: break;
    }
}

void hark_observe_delivered(const struct hark_message *m)
{
    struct hark_trace_record r = {
        .peer = m->from, .ctx = m->ctx, .ssn = m->ssn, .bytes = m->length};
    if (P.trace == NULL) return;
    r.peer_inc = hark_get32(m->header + 12);
    r.flags = HARK_TRACE_PEER_INC;
    r.phase = phase_now();
    record(&r, HARK_TRACE_DELIVER);
}

void hark_observe_start(void)
{
    struct hark_trace_record r = {.phase = phase_now(), .id = P.setup.checkpoint};
    if (P.setup.rank != UINT32_MAX) record(&r, P.setup.inc ? HARK_TRACE_RESTART : HARK_TRACE_START);
}

void hark_observe_finish(void)
{
    struct hark_trace_record r = {0};
    if (P.setup.rank != UINT32_MAX) record(&r, HARK_TRACE_FINISH);
}
