/* pessimist.h: pessimistic message logging, as somebody writes a protocol who only has the headers
 * of hark.
 *
 * A message leaves when the determinant of every delivery before it is stable: k other processes
 * hold it, and have said so. So none that is lost has had any effect on others, there are no
 * orphans, and messages take no determinants along. What waits is in the log. The determinants, who
 * holds them, and the replay are those of scmel.h; what differs is when a message leaves, and that
 * determinants have frames of their own.
 *
 *   SEND, and what was put off             hark_pessimist_send, hark_pessimist_pump
 *   all else                               scmel.h
 */
#ifndef HARK_PESSIMIST_H
#define HARK_PESSIMIST_H

#include "scmel.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_KIND_PESSIMIST 9

/* The uniform door: as struct hark_protocol says of each, with its errors. */
HARK_FN uint64_t hark_pessimist_size(const struct hark_config *config);
HARK_FN int hark_pessimist_init(struct hark *p, uint64_t bytes, const struct hark_config *config);
HARK_FN int hark_pessimist_step(
    struct hark *p, const struct hark_event *event, struct hark_effects *effects);
HARK_FN int hark_pessimist_names(const struct hark *p, uint64_t *cursor, struct hark_names *run);
HARK_FN const char *hark_pessimist_violated(const struct hark *p);
HARK_FN const char *hark_pessimist_unrest(const struct hark *p);
HARK_FN void hark_pessimist_describe(
    const struct hark *p, struct hark_bytes header, struct hark_words *words);

static const struct hark_option hark_pessimist_options[] = {
    {"copies", "K", "copies of a determinant, before a message leaves", "copies", NULL, NULL, 1, 8,
        1, 0, HARK_SETS(copies), true},
    HARK_OPTIONS_END};
static const struct hark_manual hark_pessimist_manual = {HARK_FOR_PIECEWISE, NULL,
    "and it sends little, and must not grow its messages", NULL, NULL, hark_pessimist_options};

/* What is remembered is what scmel.h remembers. */
static const struct hark_shape hark_pessimist_shape = {"pessimist", HARK_SCMEL_IMAGE,
    HARK_COUNT(hark_scmel_fields), HARK_COUNT(hark_scmel_rows), sizeof(struct hark_scmel),
    hark_scmel_fields, hark_scmel_rows, offsetof(struct hark_scmel, pool), hark_scmel_frames,
    HARK_COUNT(hark_scmel_frames), hark_scmel_accept};

#if HARK_BODIES

HARK_FN uint64_t hark_pessimist_size(const struct hark_config *c)
{
    return hark_scmel_size(c);
}

HARK_FN int hark_pessimist_init(struct hark *p, uint64_t bytes, const struct hark_config *c)
{
    return c->group_count ? HARK_EINVAL
                          : hark_scmel_begin(p, bytes, HARK_KIND_PESSIMIST, c, HARK_SCMEL_ALONE);
}

/* May a message leave? */
static inline bool hark_pessimist_stable(struct hark_scmel *s)
{
#ifdef HARK_PESSIMIST_BROKEN /* for the test: it believes that others hold what it has told nobody \
                              */
    hark_dets_hold(
        &s->head, &s->pool, &s->own, 1, s->rsn, (s->endpoint.me + 1) % s->endpoint.ranks);
#endif
    return hark_scmel_unstable(&s->head) == 0;
}

/* What goes to myself is lost with me and sent again by re-execution: nobody else can be an orphan
 * of it. */
static inline int hark_pessimist_send(
    struct hark_scmel *s, const struct hark_event *event, struct hark_effects *fx)
{
    const uint32_t peer = event->u.send.peer;
    if (event->u.send.to != HARK_PROCESS || peer >= s->endpoint.ranks) return HARK_EINVAL;
    if (peer == s->endpoint.me || hark_pessimist_stable(s)) return hark_scmel_send(s, event, fx);
    if (s->wave.in_checkpoint_call) return HARK_ESTATE;
    int status = hark_reserve(&s->head, &hark_pessimist_shape, &s->endpoint.channels, 1);
    if (status < 0) return status;
    struct hark_scmel_channel *c = hark_scmel_channel(s, peer, event->u.send.ctx);
    c->channel.sent++;
    s->late = s->busy = 1;
    hark_emit_retain(fx, hark_name_of(HARK_OUT, &c->channel, c->channel.sent));
    return HARK_OK;
}

/* What is put off stays so until all is stable; what is not goes to the next ranks, once at a time:
 * they answer at once. */
static inline int hark_pessimist_pump(struct hark_scmel *s, struct hark_effects *fx)
{
    const bool gate = s->late && !hark_pessimist_stable(s);
    if (gate && !s->awaited) s->spread = s->busy = 1;
    if (gate) s->late = 0;
    const int status = hark_scmel_pump(s, fx);
    if (gate) s->late = 1;
    return status;
}

/* As hark_scmel_step, with its own send and its own pump; there are no groups. */
static inline int hark_pessimist_step_any(
    struct hark *p, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_scmel *s = (struct hark_scmel *)(void *)p;
    int status = hark_step_begin(p, &s->endpoint, event, fx, s->gone);
    if (status != HARK_OK) return status;
    const uint32_t mode = s->wave.mode;
    const uint64_t newest = mode == HARK_W_RUN ? 0 : hark_scmel_newest(s);
    status = event->type == HARK_SEND ? hark_pessimist_send(s, event, fx)
                                      : hark_scmel_dispatch(s, event, fx);
    if (status != HARK_OK || s->gone) return status;
    if (s->wave.mode != mode) {
        if (mode < HARK_W_CAPTURED && s->wave.mode == HARK_W_CAPTURED) hark_scmel_captured(s);
        if (s->wave.mode == HARK_W_RUN) hark_scmel_commit(s, newest != hark_scmel_newest(s));
    }
    status = hark_pessimist_pump(s, fx);
    p->more = status == HARK_MORE;
    return status;
}

HARK_FN int hark_pessimist_step(
    struct hark *p, const struct hark_event *event, struct hark_effects *fx)
{
    struct hark_scmel *s = (struct hark_scmel *)(void *)p;
    int status = hark_pessimist_step_any(p, event, fx);
    s->usual = hark_scmel_usual(s); /* hark_scmel_violated looks at it */
    return status;
}

HARK_FN int hark_pessimist_names(const struct hark *p, uint64_t *cursor, struct hark_names *run)
{
    return hark_scmel_names(p, cursor, run);
}

HARK_FN const char *hark_pessimist_violated(const struct hark *p)
{
    return hark_scmel_violated(p);
}

HARK_FN const char *hark_pessimist_unrest(const struct hark *p)
{
    return hark_scmel_unrest(p);
}

HARK_FN void hark_pessimist_describe(
    const struct hark *p, struct hark_bytes header, struct hark_words *w)
{
    hark_scmel_describe(p, header, w);
}
#endif

#ifdef __cplusplus
}
#endif
#endif
