/* coordinated.h: coordinated checkpointing, the baseline of all five papers, and nothing else.
 *
 * All processes of the cluster restart from the last committed wave (parts/wave.h). No message is
 * logged; messages in flight when the cluster froze are part of the image. The algorithms are those
 * of HydEE (IPDPS 2012) without the lines for messages between clusters, because there are none:
 *
 *   1: 5-6    Sending message              hark_coordinated_send
 *   1: 10, 18 Upon receiving               hark_coordinated_arrive, hark_deliver_plain
 *   1: 19-21  Upon checkpoint              hark_member_checkpoint
 *   2: 4-5    Upon failure                 hark_coordinated_failed, hark_member_restart
 */
#ifndef HARK_COORDINATED_H
#define HARK_COORDINATED_H

#include "parts/member.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_KIND_COORDINATED 2

struct hark_coordinated_row {
    struct hark_channel channel; /* sent, recv */
};

/* The state of the protocol `coordinated`: positions and waves. */
struct hark_coordinated {
    struct hark head;
    struct hark_endpoint endpoint;
    struct hark_wave wave;
    uint32_t gone;  /* 1: rolled back, no event is legal any more */
    uint32_t usual; /* scratch: 1: hark_coordinated_usual(), as of the last step */
};

/* The interface of a protocol. struct hark_protocol documents each function and its errors. */
HARK_FN uint64_t hark_coordinated_size(const struct hark_config *config);
HARK_FN int hark_coordinated_init(struct hark *p, uint64_t bytes, const struct hark_config *config);
HARK_FN int hark_coordinated_step(
    struct hark *p, const struct hark_event *event, struct hark_effects *effects);
HARK_FN int hark_coordinated_names(const struct hark *p, uint64_t *cursor, struct hark_names *run);
HARK_FN const char *hark_coordinated_violated(const struct hark *p);
HARK_FN const char *hark_coordinated_unrest(const struct hark *p);
HARK_FN int hark_coordinated_post(struct hark *p, const struct hark_posting *message,
    uint8_t *header, struct hark_posted *posted);
HARK_FN int hark_coordinated_receive(
    struct hark *p, struct hark_bytes header, struct hark_received *received);
HARK_FN void hark_coordinated_describe(
    const struct hark *p, struct hark_bytes header, struct hark_words *words);

static const struct hark_option hark_coordinated_options[] = {HARK_OPTIONS_END};
static const struct hark_manual hark_coordinated_manual = {
    HARK_FOR_ANY, "all processes go back", NULL, NULL, NULL, hark_coordinated_options};
HARK_FN bool hark_coordinated_accept(struct hark *p);

#if HARK_BODIES

static const struct hark_field hark_coordinated_row_fields[] = {
    HARK_CHANNEL_FIELDS(struct hark_coordinated_row)};
static const struct hark_field hark_coordinated_fields[] = {
    HARK_ENDPOINT_FIELDS(struct hark_coordinated), HARK_WAVE_FIELDS(struct hark_coordinated),
    HARK_FIELD(struct hark_coordinated, gone, "")};
static const struct hark_rows hark_coordinated_rows[] = {
    HARK_ENDPOINT_TABLES(struct hark_coordinated),
    {"channels", "", (uint16_t)offsetof(struct hark_coordinated, endpoint.channels),
        sizeof(struct hark_coordinated_row), HARK_COUNT(hark_coordinated_row_fields),
        hark_coordinated_row_fields},
    HARK_WAVE_TABLES(struct hark_coordinated)};
static const struct hark_shape hark_coordinated_shape = {"coordinated", 2,
    HARK_COUNT(hark_coordinated_fields), HARK_COUNT(hark_coordinated_rows),
    sizeof(struct hark_coordinated), hark_coordinated_fields, hark_coordinated_rows, 0, NULL, 0,
    hark_coordinated_accept};

HARK_FN uint64_t hark_coordinated_size(const struct hark_config *c)
{
    return hark_member_size(c, sizeof(struct hark_coordinated), 1024);
}

/* True if neither a failure nor a checkpoint is on its way, so that a message has no effects but
 * its own. */
static inline bool hark_coordinated_usual(const struct hark_coordinated *s)
{
    const struct hark_endpoint *e = &s->endpoint;
    return !(s->gone | s->head.more | e->awaiting | e->offer | e->waiting.count | e->beyond.count |
               e->down.count | s->wave.in_checkpoint_call) &&
           hark_wave_calm(&s->wave) && hark_step_rests(e, &s->wave);
}

HARK_FN int hark_coordinated_init(struct hark *p, uint64_t bytes, const struct hark_config *c)
{
    struct hark_coordinated *s = (struct hark_coordinated *)(void *)p;
    if (!hark_block_aligned(p)) return HARK_EINVAL;
    int status = hark_member_init(
        p, bytes, &hark_coordinated_shape, HARK_KIND_COORDINATED, &s->endpoint, &s->wave, c, true);
    if (status == HARK_OK) s->usual = hark_coordinated_usual(s);
    return status;
}

static inline int hark_coordinated_send(
    struct hark_coordinated *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    bool made;
    if (event->u.send.to != HARK_PROCESS ||
        !hark_ranges_hold(p, &s->endpoint.cluster, event->u.send.peer))
        return HARK_EINVAL;
    if (s->wave.in_checkpoint_call) return HARK_ESTATE; /* no sends inside a checkpoint call */
    int status = hark_reserve(p, &hark_coordinated_shape, &s->endpoint.channels, 1);
    if (status < 0) return status;
    struct hark_channel *c =
        hark_channel_make(p, &s->endpoint, event->u.send.peer, event->u.send.ctx, &made);
    c->sent++;
    struct hark_head h = {HARK_KIND_COORDINATED, HARK_APP, c->ctx, s->endpoint.me, c->peer,
        s->endpoint.inc, c->inc, s->endpoint.re, c->sent};
    uint8_t *body;
    hark_emit_frame(fx, &h, HARK_WIRE_HEAD, &body)->name = hark_name_of(HARK_OUT, c, c->sent);
    return HARK_OK;
}

static inline int hark_coordinated_arrive(
    struct hark_coordinated *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    struct hark_head h;
    uint32_t length = event->u.frame.header.length - HARK_WIRE_HEAD;
    bool made;
    if (hark_head_get(&h, event->u.frame.header, HARK_KIND_COORDINATED) < 0 ||
        !hark_head_valid(&s->endpoint, &h))
        return HARK_EFRAME;
    if (h.type == HARK_APP ? length != 0 : !hark_wave_length_ok(h.type, length)) return HARK_EFRAME;
    int status = hark_wave_reserve(p, &hark_coordinated_shape, &s->endpoint, &s->wave, length);
    bool waited = false;
    if (status >= 0 && h.type == HARK_APP && s->endpoint.waiting.count)
        status = hark_waited(p, &hark_coordinated_shape, &s->endpoint, &h, &waited);
    if (status < 0) return status;
    if (waited) return hark_emit_verdict(fx, HARK_HANDUP);
    int age = hark_frame_freshness(p, &s->endpoint, &h);
    if (age != HARK_CURRENT)
        return hark_emit_verdict(fx, age == HARK_OLDER ? HARK_DISCARD : HARK_HOLD);
    if (h.type != HARK_APP)
        return hark_wave_frame(p, &s->endpoint, &s->wave, &h,
            event->u.frame.header.at + HARK_WIRE_HEAD, length, false, fx);
    if (!hark_ranges_hold(p, &s->endpoint.cluster, h.src)) return HARK_EFRAME;
    struct hark_channel *c = hark_channel_make(p, &s->endpoint, h.src, h.ctx, &made);
    status = hark_accept(p, &s->endpoint, c, &h, fx);
    if (fx->at[fx->count - 1].type == HARK_HANDUP) {
        hark_wave_arrived(p, &s->endpoint, &s->wave, c, fx);
        hark_offer_gap(c, fx);
    }
    return status;
}

static inline int hark_coordinated_failed(
    struct hark_coordinated *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_endpoint *e = &s->endpoint;
    bool taken;
    int status = hark_member_failed(
        &s->head, &hark_coordinated_shape, e, &s->wave, event, &s->gone, &taken, fx);
    if (!taken) return status;
    /* The whole cluster restarts from one wave: recovery is complete. */
    if (hark_is_down(&s->head, e, e->me)) {
        hark_emit_done(fx, e->me, e->re);
    }
    hark_emit(fx, HARK_RECOVERED);
    return HARK_OK;
}

static inline int hark_coordinated_dispatch(
    struct hark_coordinated *s, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark *p = &s->head;
    switch (event->type) {
    case HARK_SEND: return hark_coordinated_send(s, event, fx);
    case HARK_ARRIVE: return hark_coordinated_arrive(s, event, fx);
    case HARK_DELIVER: return hark_deliver_plain(p, &hark_coordinated_shape, &s->endpoint, event);
    case HARK_CHECKPOINT_POINT:
    case HARK_STORED:
        return hark_member_checkpoint(
            p, &hark_coordinated_shape, &s->endpoint, &s->wave, event, false, fx);
    case HARK_FAILED: return hark_coordinated_failed(s, event, fx);
    case HARK_RESTARTED:
        return hark_member_restart(p, &hark_coordinated_shape, &s->endpoint, &s->wave, event, fx);
    case HARK_MISS:
    case HARK_LOOK:
    case HARK_IDLE:
    case HARK_QUIET:
    case HARK_CONTINUE: return HARK_OK;
    default: return HARK_EINVAL;
    }
}

static inline int hark_coordinated_step_any(
    struct hark *p, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_coordinated *s = (struct hark_coordinated *)(void *)p;
    int status = hark_step_begin(p, &s->endpoint, event, fx, s->gone);
    if (status != HARK_OK) return status;
    status = hark_coordinated_dispatch(s, event, fx);
    if (status < 0 || s->gone) return status;
    p->more = 0;
    if (hark_step_rests(&s->endpoint, &s->wave)) return HARK_OK;
    status = hark_wave_pump(p, &s->endpoint, &s->wave, fx);
    if (status == HARK_OK) status = hark_offer_all(&s->endpoint, fx);
    p->more = status == HARK_MORE;
    return status;
}

HARK_FN int hark_coordinated_step(
    struct hark *p, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_coordinated *s = (struct hark_coordinated *)(void *)p;
    int status = hark_coordinated_step_any(p, event, fx);
    s->usual = hark_coordinated_usual(s);
    return status;
}

/* Posts a usual message, as hark_coordinated_send.                               Alg. 1 l. 5-6 */
HARK_FN int hark_coordinated_post(
    struct hark *p, const struct hark_posting *m, uint8_t *header, struct hark_posted *posted)
{
    struct hark_coordinated *s = (struct hark_coordinated *)(void *)p;
    if (!s->usual || m->to != HARK_PROCESS) return HARK_UNUSUAL;
    struct hark_channel *c = hark_channel_find(p, &s->endpoint, m->peer, m->ctx);
    if (c == NULL) return HARK_UNUSUAL;
    const struct hark_head h = {HARK_KIND_COORDINATED, HARK_APP, c->ctx, s->endpoint.me, c->peer,
        s->endpoint.inc, c->inc, s->endpoint.re, ++c->sent};
    hark_head_put(header, &h);
    const struct hark_posted x = {h.ssn, c->inc, HARK_WIRE_HEAD, 0, false};
    *posted = x;
    return HARK_OK;
}

/* Receives a usual message, as hark_coordinated_arrive and then hark_deliver_plain.
 *                                                                          Alg. 1 l. 10, 18 */
HARK_FN int hark_coordinated_receive(
    struct hark *p, struct hark_bytes header, struct hark_received *received)
{
    struct hark_coordinated *s = (struct hark_coordinated *)(void *)p;
    struct hark_head h;
    (void)received;
    if (!s->usual || header.length != HARK_WIRE_HEAD ||
        hark_head_get(&h, header, HARK_KIND_COORDINATED) < 0 || h.type != HARK_APP ||
        h.dst != s->endpoint.me || h.dst_inc != s->endpoint.inc)
        return HARK_UNUSUAL;
    struct hark_channel *c = hark_channel_find(p, &s->endpoint, h.src, h.ctx);
    if (c == NULL || h.src_inc != c->inc || h.ssn != c->recv + 1 || c->done != c->recv ||
        c->flags & (HARK_GAP | HARK_OWED))
        return HARK_UNUSUAL;
    c->recv = c->done = h.ssn;
    return HARK_OK;
}

HARK_FN int hark_coordinated_names(const struct hark *p, uint64_t *cursor, struct hark_names *run)
{
    const struct hark_coordinated *s = (const struct hark_coordinated *)(const void *)p;
    return hark_member_names(p, &s->endpoint, cursor, run);
}

HARK_FN const char *hark_coordinated_violated(const struct hark *p)
{
    const struct hark_coordinated *s = (const struct hark_coordinated *)(const void *)p;
    if (s->usual != hark_coordinated_usual(s)) return "it is not known whether all is as usual";
    return hark_wave_violated(p, &s->endpoint, &s->wave);
}

HARK_FN const char *hark_coordinated_unrest(const struct hark *p)
{
    const struct hark_coordinated *s = (const struct hark_coordinated *)(const void *)p;
    return s->endpoint.awaiting ? "the announcement of its restart has not come" : NULL;
}

HARK_FN void hark_coordinated_describe(
    const struct hark *p, struct hark_bytes header, struct hark_words *w)
{
    (void)p;
    (void)header;
    (void)w;
}

HARK_FN bool hark_coordinated_accept(struct hark *p)
{
    struct hark_coordinated *s = (struct hark_coordinated *)(void *)p;
    s->usual = hark_coordinated_usual(s);
    return hark_ends_ok(p, &s->endpoint) && hark_wave_ok(p, &s->endpoint, &s->wave);
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
