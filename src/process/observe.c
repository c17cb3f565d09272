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

/* The arrived frame whose fate the next effects say, and the message that the application posts in this step. */
static struct hark_trace_record arrived, posted;

static void observe_event(const struct hark_event *e)
{
    const uint8_t *h = e->u.frame.header.at;
    memset(&arrived, 0, sizeof arrived);
    memset(&posted, 0, sizeof posted);
    if (e->type == HARK_SEND) posted.bytes = e->u.send.length;
    if (e->type != HARK_ARRIVE || e->u.frame.header.length < HARK_WIRE_HEAD || h[1] != HARK_APP) return;
    arrived.peer = hark_get32(h + 4);
    arrived.peer_inc = hark_get32(h + 12);
    arrived.flags = HARK_TRACE_PEER_INC;
    arrived.ctx = hark_get16(h + 2);
    arrived.ssn = hark_get64(h + 24);
    arrived.bytes = e->u.frame.length;
}

/* Of the payload. What is not in the log is posted now, or passed on as it came. */
static uint64_t bytes_of(const struct hark_effect *x)
{
    uint64_t bytes;
    if (x->name.ssn == 0) return 0;
    if (hark_driver_logged(P.driver, &x->name, &bytes)) return bytes;
    return x->name.way == HARK_IN ? arrived.bytes : posted.bytes;
}

static void observe_message(const struct hark_effect *x)
{
    bool group = x->name.to == HARK_GROUP;
    struct hark_trace_record r = {.peer = group ? x->peer : x->name.peer, .ctx = x->name.ctx, .ssn = x->name.ssn, .phase = x->u.phase};
    if (x->name.way == HARK_IN && !group) return; /* passed on, or kept for a reduction: it is another's */
    if (P.trace) r.bytes = bytes_of(x);
    switch (x->type) {
    case HARK_TRANSMIT:
        if (x->name.ssn == 0) return;
        r.peer_inc = x->inc;
        r.flags = HARK_TRACE_PEER_INC;
        record(&r, x->replay ? HARK_TRACE_REPLAY : HARK_TRACE_TRANSMIT);
        break;
    case HARK_RETAIN:
        if (group) return; /* who it goes to is with each TRANSMIT */
        r.flags = HARK_TRACE_LOGGED;
        r.phase = phase_now();
        record(&r, HARK_TRACE_SEND);
        break;
    case HARK_SUPPRESS: record(&r, HARK_TRACE_SUPPRESS); break;
    default:
        r.id = x->u.last;
        r.phase = 0;
        record(&r, HARK_TRACE_DIVERGED);
        break;
    }
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
    case HARK_TRANSMIT:
    case HARK_RETAIN:
    case HARK_SUPPRESS:
    case HARK_DIVERGED: observe_message(effect); break;
    case HARK_HANDUP:
        r = arrived;
        record(&r, HARK_TRACE_ARRIVE);
        break;
    case HARK_DISCARD:
        r = arrived;
        if (r.ssn) record(&r, HARK_TRACE_DISCARD);
        break;
    case HARK_CAPTURE:
        r.id = effect->u.id;
        r.phase = phase_now();
        record(&r, HARK_TRACE_CHECKPOINT);
        break;
    case HARK_COMMIT:
        r.id = effect->u.id;
        record(&r, HARK_TRACE_COMMIT);
        break;
    case HARK_RECOVERED: record(&r, HARK_TRACE_RECOVERED); break;
    case HARK_ROLLBACK:
        r.id = effect->u.id;
        record(&r, HARK_TRACE_ROLLBACK);
        break;
    default: break;
    }
}

void hark_observe_delivered(const struct hark_message *m)
{
    struct hark_trace_record r = {.peer = m->from, .ctx = m->ctx, .ssn = m->ssn, .bytes = m->length};
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
