/* none.h: no protocol, behind the same interface, as the baseline of every measurement. No message
 * is logged, and no failure is survived. */
#ifndef HARK_NONE_H
#define HARK_NONE_H

#include "parts/channel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_KIND_NONE 1

struct hark_none {
    struct hark head;
    struct hark_endpoint endpoint;
};

/* The interface of a protocol. struct hark_protocol documents each function and its errors. */
HARK_FN uint64_t hark_none_size(const struct hark_config *config);
HARK_FN int hark_none_init(struct hark *p, uint64_t bytes, const struct hark_config *config);
HARK_FN int hark_none_step(
    struct hark *p, const struct hark_event *event, struct hark_effects *effects);
HARK_FN int hark_none_names(const struct hark *p, uint64_t *cursor, struct hark_names *run);
HARK_FN const char *hark_none_violated(const struct hark *p);
HARK_FN const char *hark_none_unrest(const struct hark *p);
HARK_FN void hark_none_describe(
    const struct hark *p, struct hark_bytes header, struct hark_words *words);
HARK_FN int hark_none_post(struct hark *p, const struct hark_posting *message, uint8_t *header,
    struct hark_posted *posted);
HARK_FN int hark_none_receive(
    struct hark *p, struct hark_bytes header, struct hark_received *received);

static const struct hark_option hark_none_options[] = {HARK_OPTIONS_END};
static const struct hark_manual hark_none_manual = {0, NULL, NULL, NULL, NULL, hark_none_options};
HARK_FN bool hark_none_accept(struct hark *p);

static const struct hark_field hark_none_channel_fields[] = {
    HARK_FIELD(struct hark_channel, peer, "j"), HARK_FIELD(struct hark_channel, ctx, "ctx"),
    HARK_FIELD(struct hark_channel, sent, "sent")};
static const struct hark_field hark_none_fields[] = {HARK_ENDPOINT_FIELDS(struct hark_none)};
static const struct hark_rows hark_none_rows[] = {{"channels", "",
    (uint16_t)offsetof(struct hark_none, endpoint.channels), sizeof(struct hark_channel),
    HARK_COUNT(hark_none_channel_fields), hark_none_channel_fields}};
static const struct hark_shape hark_none_shape = {"none", 1, HARK_COUNT(hark_none_fields),
    HARK_COUNT(hark_none_rows), sizeof(struct hark_none), hark_none_fields, hark_none_rows, 0, NULL,
    0, hark_none_accept};

#if HARK_BODIES

HARK_FN uint64_t hark_none_size(const struct hark_config *c)
{
    return hark_config_valid(c) ? sizeof(struct hark_none) + 16 * sizeof(struct hark_channel) : 0;
}

HARK_FN int hark_none_init(struct hark *p, uint64_t bytes, const struct hark_config *c)
{
    struct hark_none *s = (struct hark_none *)(void *)p;
    if (!hark_config_valid(c)) return HARK_EINVAL;
    int status = hark_block_init(p, bytes, &hark_none_shape, HARK_KIND_NONE);
    if (status < 0) return status;
    s->endpoint.me = c->me;
    s->endpoint.ranks = c->ranks;
    return HARK_OK;
}

static inline int hark_none_send(
    struct hark_none *s, const struct hark_event *event, struct hark_effects *fx)
{
    bool made;
    if (event->u.send.to != HARK_PROCESS || event->u.send.peer >= s->endpoint.ranks)
        return HARK_EINVAL;
    int status = hark_reserve(&s->head, &hark_none_shape, &s->endpoint.channels, 1);
    if (status < 0) return status;
    struct hark_channel *c =
        hark_channel_make(&s->head, &s->endpoint, event->u.send.peer, event->u.send.ctx, &made);
    struct hark_head h = {
        HARK_KIND_NONE, HARK_APP, c->ctx, s->endpoint.me, c->peer, 0, 0, 0, ++c->sent};
    uint8_t *body;
    hark_emit_frame(fx, &h, HARK_WIRE_HEAD, &body)->name = hark_name_of(HARK_OUT, c, c->sent);
    return HARK_OK;
}

HARK_FN int hark_none_step(struct hark *p, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_none *s = (struct hark_none *)(void *)p;
    struct hark_head h;
    if (hark_effects_begin(fx) < 0) return HARK_ENOROOM;
    switch (event->type) {
    case HARK_SEND: return hark_none_send(s, event, fx);
    case HARK_ARRIVE:
    case HARK_DELIVER:
        if (hark_head_get(&h, event->u.frame.header, HARK_KIND_NONE) < 0 || h.type != HARK_APP ||
            event->u.frame.header.length != HARK_WIRE_HEAD || !hark_head_valid(&s->endpoint, &h))
            return HARK_EFRAME;
        return event->type == HARK_ARRIVE ? hark_emit_verdict(fx, HARK_HANDUP) : HARK_OK;
    case HARK_CHECKPOINT_POINT: hark_emit(fx, HARK_RESUME); return HARK_OK;
    case HARK_STORED: return hark_stored_valid(event) ? HARK_OK : HARK_EINVAL;
    case HARK_FAILED:
    case HARK_RESTARTED:
    case HARK_MISS:
    case HARK_LOOK:
    case HARK_IDLE:
    case HARK_QUIET:
    case HARK_CONTINUE: return HARK_OK;
    default: return HARK_EINVAL;
    }
}

HARK_FN int hark_none_post(
    struct hark *p, const struct hark_posting *m, uint8_t *header, struct hark_posted *posted)
{
    struct hark_none *s = (struct hark_none *)(void *)p;
    struct hark_channel *c = hark_channel_find(p, &s->endpoint, m->peer, m->ctx);
    if (c == NULL || m->to != HARK_PROCESS) return HARK_UNUSUAL;
    struct hark_head h = {
        HARK_KIND_NONE, HARK_APP, c->ctx, s->endpoint.me, c->peer, 0, 0, 0, ++c->sent};
    hark_head_put(header, &h);
    const struct hark_posted x = {h.ssn, 0, HARK_WIRE_HEAD, 0, false};
    *posted = x;
    return HARK_OK;
}

HARK_FN int hark_none_receive(
    struct hark *p, struct hark_bytes header, struct hark_received *received)
{
    struct hark_none *s = (struct hark_none *)(void *)p;
    struct hark_head h;
    (void)received;
    if (hark_head_get(&h, header, HARK_KIND_NONE) < 0 || h.type != HARK_APP ||
        header.length != HARK_WIRE_HEAD || !hark_head_valid(&s->endpoint, &h))
        return HARK_UNUSUAL;
    return HARK_OK;
}

HARK_FN int hark_none_names(const struct hark *p, uint64_t *cursor, struct hark_names *run)
{
    (void)p;
    (void)cursor;
    (void)run;
    return 0;
}

HARK_FN const char *hark_none_violated(const struct hark *p)
{
    (void)p;
    return NULL;
}

HARK_FN const char *hark_none_unrest(const struct hark *p)
{
    (void)p;
    return NULL;
}

HARK_FN void hark_none_describe(
    const struct hark *p, struct hark_bytes header, struct hark_words *w)
{
    (void)p;
    (void)header;
    (void)w;
}

HARK_FN bool hark_none_accept(struct hark *p)
{
    return hark_ends_ok(p, &((const struct hark_none *)(const void *)p)->endpoint);
}
#endif

#ifdef __cplusplus
}
#endif
#endif
