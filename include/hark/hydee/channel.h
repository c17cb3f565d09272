/* hydee/channel.h: rows of channels, headers of messages, suppression of orphans and the gate. A
 * part of hydee.h. */
#ifndef HARK_HYDEE_CHANNEL_H
#define HARK_HYDEE_CHANNEL_H

#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif
HARK_NAMESAKES_BEGIN
#if HARK_BODIES

/* ---- maps of clusters: hydee/recluster.h ------------------------------------------------------
 */

/* Returns the ranks of my cluster. */
static inline struct hark_table *hark_hydee_cluster(struct hark_hydee *s)
{
    return &s->map[s->in_force & 1];
}

/* Returns the ranks of my cluster in the next map; empty: there is no next map. */
static inline struct hark_table *hark_hydee_next(struct hark_hydee *s)
{
    return &s->map[~s->in_force & 1];
}

/* ---- rows ------------------------------------------------------------------------------------ */

static inline struct hark_hydee_channel *hark_hydee_at(struct hark_hydee *s, uint32_t i)
{
    return (struct hark_hydee_channel *)hark_row(&s->head, &s->endpoint.channels, i);
}

static inline bool hark_hydee_inter(const struct hark_hydee_channel *c)
{
    return !(c->channel.flags & HARK_HYDEE_MATE);
}

/* Makes room for new channels, and for new chunks of their queues. */
static inline int hark_hydee_reserve(struct hark_hydee *s, uint32_t channels, uint32_t chunks)
{
    int status = hark_reserve(&s->head, &hark_hydee_shape, &s->endpoint.channels, channels);
    if (status >= 0) status = hark_pool_reserve(&s->head, &hark_hydee_shape, &s->pool, chunks);
    return status;
}

/* Makes room for hark_hydee_captured: this step may capture the image of a wave, and may have made
 * a channel. */
static inline int hark_hydee_reserve_positions(struct hark_hydee *s)
{
    return hark_reserve(&s->head, &hark_hydee_shape, &s->positions, s->endpoint.channels.count + 1);
}

HARK_HOT struct hark_hydee_channel *hark_hydee_find(
    struct hark_hydee *s, uint32_t peer, uint16_t ctx)
{
    return (struct hark_hydee_channel *)(void *)hark_channel_find(
        &s->head, &s->endpoint, peer, ctx);
}

/* Makes the row of (peer, ctx). NULL: the pair already uses HARK_HYDEE_CTX_MAX contexts. */
HARK_COLD struct hark_hydee_channel *hark_hydee_add(
    struct hark_hydee *s, uint32_t peer, uint16_t ctx)
{
    if (hark_contexts_full(&s->head, &s->endpoint, &hark_hydee_exchange, peer)) return NULL;
    struct hark_hydee_channel *c =
        (struct hark_hydee_channel *)(void *)hark_channel_add(&s->head, &s->endpoint, peer, ctx);
    if (hark_ranges_hold(&s->head, hark_hydee_cluster(s), peer))
        c->channel.flags |= HARK_HYDEE_MATE;
    hark_positions_begin(&c->pos);
    c->log.width = c->rpp.width = c->recorded.width = c->index.width = c->rpp_index.width =
        HARK_RUN_WORDS;
    return c;
}

/* Returns the row of (peer, ctx), and makes it if it is new. NULL: see hark_hydee_add. */
HARK_HOT struct hark_hydee_channel *hark_hydee_channel(
    struct hark_hydee *s, uint32_t peer, uint16_t ctx)
{
    struct hark_hydee_channel *c = hark_hydee_find(s, peer, ctx);
    return c ? c : hark_hydee_add(s, peer, ctx);
}

/* Returns the name of message ssn of a channel. A multicast has one name on the channels to all
 * members. */
static inline struct hark_name hark_hydee_name(const struct hark_hydee_channel *c, uint64_t ssn)
{
    if (!(c->channel.flags & HARK_HYDEE_GROUP)) return hark_name_of(HARK_OUT, &c->channel, ssn);
    return hark_name_of_group(c->channel.ctx, ssn);
}

/* ---- headers and digests --------------------------------------------------------------------- */

/* Emits TRANSMIT of message ssn with a header of `length` bytes; the exact gate's part is not
 * written here. */
static inline struct hark_transmit *hark_hydee_transmit_as(struct hark_hydee *s,
    const struct hark_hydee_channel *c, uint64_t ssn, uint64_t phase, uint64_t digest,
    uint32_t length, struct hark_effects *fx)
{
    uint8_t *b;
    struct hark_head h = {HARK_KIND_HYDEE, HARK_APP, c->channel.ctx, s->endpoint.me,
        c->channel.peer, s->endpoint.inc, c->channel.inc,
        c->channel.flags & HARK_HYDEE_GROUP && s->recovering ? HARK_HYDEE_DIRECT : s->endpoint.re,
        ssn};
    struct hark_transmit *x = hark_emit_frame(fx, &h, length, &b);
    hark_put64(b, phase);
    hark_put64(b + 8, digest);
    x->name = hark_hydee_name(c, ssn);
    x->phase = phase;
    return x;
}

static inline struct hark_transmit *hark_hydee_transmit(struct hark_hydee *s,
    const struct hark_hydee_channel *c, uint64_t ssn, uint64_t phase, uint64_t digest,
    struct hark_effects *fx)
{
    return hark_hydee_transmit_as(s, c, ssn, phase, digest, HARK_HYDEE_HEADER, fx);
}

/* As hark_hydee_transmit, with V of table `t`. The effects have room for HARK_PAST_HEADER_MAX
 * bytes. */
HARK_COLD struct hark_transmit *hark_hydee_transmit_exact(struct hark_hydee *s,
    const struct hark_hydee_channel *c, uint64_t ssn, uint64_t phase, uint64_t digest,
    uint64_t number, const struct hark_table *t, struct hark_effects *fx)
{
    /* Inside a cluster `number` is that of my last message between clusters, so this message
     * belongs to the time before number + 1. */
    bool known = (hark_hydee_inter(c) ? number : number + 1) < s->past.blind;
    uint32_t length = hark_past_write(&s->head, t, number, known,
        fx->bytes + fx->used + HARK_HYDEE_HEADER, HARK_PAST_HEADER_MAX - HARK_HYDEE_HEADER);
    return hark_hydee_transmit_as(s, c, ssn, phase, digest, HARK_HYDEE_HEADER + length, fx);
}

/* ---- suppression and the gate ---------------------------------------------------------------- */

/* Suppresses an orphan that the program sends again: nothing is transmitted, and a NOTIFY is due.
 * The send never waits at the gate (E7) and is logged all the same (E15), at the phase that its
 * receiver recorded (E6), if that is known. Returns the phase for the log.       Alg. 2 l. 14-15 */
HARK_COLD uint64_t hark_hydee_suppress(
    struct hark_hydee *s, struct hark_hydee_channel *c, uint64_t ssn, struct hark_effects *fx)
{
    uint64_t phase = s->phase, first, last, recorded;
    struct hark_runs r = hark_runs_begin(&s->head, &s->pool, &c->recorded, ssn, ssn);
    if (hark_runs_next(&s->head, &s->pool, &c->recorded, &r, &first, &last, &recorded))
        phase = recorded;
    hark_suppress(&c->channel, &c->pos, ssn, phase, (s->flags & HARK_DIGEST) != 0, fx);
    s->busy = 1;
    return phase;
}

/* True if the gate lets a message of this phase and number leave now. */
static inline bool hark_hydee_phase_released(
    const struct hark_hydee *s, uint64_t phase, uint64_t number)
{
    return phase <= s->released_phase || number < s->past.open;
}
#endif /* HARK_BODIES */

HARK_NAMESAKES_END
#ifdef __cplusplus
}
#endif
#endif
