/* causal/team.h: the additions for teams. A live process that rolls back keeps its determinants,
 * and processes outside the team are told what they may drop.
 *
 * E. Meneses, L. V. Kale, G. Bronevetsky: Dynamic Load Balance for Optimized Message Logging in
 * Fault Tolerant HPC Applications. IEEE Cluster 2011, Figure 3 as rebuilt. A part of scmel.h and
 * team.h.
 */
#ifndef HARK_CAUSAL_TEAM_H
#define HARK_CAUSAL_TEAM_H

#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif

#if HARK_BODIES

/* ---- a survivor rolls back: it keeps its determinants, and those that it holds --------------- */

/* Unpacks the core of my earlier incarnation into the last bytes of the block, beyond all that a
 * step may use. *kept stays NULL if there is none. The block is smaller by *bytes until the caller
 * gives them back. HARK_EIMAGE, HARK_EFULL. */
HARK_COLD int hark_scmel_earlier(
    struct hark_scmel *s, struct hark_bytes in, struct hark_scmel **kept, uint64_t *bytes)
{
    struct hark *p = &s->head;
    const struct hark_shape *shape = &hark_scmel_shape;
    struct hark_reader r = {in.at, in.length, 0, false};
    uint64_t chunks, own;
    *kept = NULL;
    *bytes = 0;
    if (in.length == 0) return HARK_OK;
    int status = in.at ? hark_unpack_check(p, shape, r, &chunks, &own) : HARK_EIMAGE;
    if (status < 0) return status;
    own = (own + 7) & ~(uint64_t)7;
    *bytes = 4 * own; /* the core, and room for its rows in tables that double */
    if (p->used + *bytes > p->bytes) {
        p->want = (p->used + *bytes) * 2;
        return HARK_EFULL;
    }
    struct hark *made = (struct hark *)(void *)((uint8_t *)p + ((p->bytes - own) & ~(uint64_t)7));
    hark_block_init(made, own, shape, p->kind);
    hark_unpack_all(made, shape, r, chunks);
    *kept = (struct hark_scmel *)(void *)made;
    bool mine = (*kept)->endpoint.me == s->endpoint.me &&
                (*kept)->endpoint.ranks == s->endpoint.ranks && (*kept)->k == s->k;
    if (!mine || !hark_scmel_accept(made)) return HARK_EIMAGE;
    p->bytes -= *bytes;
    return HARK_OK;
}

static inline void hark_scmel_inherit_list(struct hark_scmel *s, struct hark_dets *to,
    const struct hark_scmel *kept, const struct hark_dets *from)
{
    struct hark_place at = hark_queue_begin(&from->rows);
    hark_dets_trim(&s->head, &s->pool, to, UINT64_MAX);
    for (const uint64_t *row;
         (row = hark_queue_next(&kept->head, &kept->pool, &from->rows, &at)) != NULL;) {
        if (hark_pool_reserve(&s->head, &hark_scmel_shape, &s->pool, 1) < 0) HARK_TRAP();
        hark_dets_append(&s->head, &s->pool, to, row[0], row[1], row[2]);
    }
}

/* Takes tickets (own determinants) and DLOG (others') from the earlier incarnation, `kept`; the
 * application's state and the positions are those of the image.                         4.1, T-b */
HARK_COLD void hark_scmel_inherit(struct hark_scmel *s, const struct hark_scmel *kept)
{
    hark_scmel_inherit_list(s, &s->own, kept, &kept->own);
    for (uint32_t i = 0; i < kept->logs.count; i++) {
        const struct hark_scmel_log *from =
            (const struct hark_scmel_log *)hark_row_of(&kept->head, &kept->logs, i);
        if (hark_reserve(&s->head, &hark_scmel_shape, &s->logs, 1) < 0) HARK_TRAP();
        hark_scmel_inherit_list(s, &hark_scmel_log(s, from->rank, true)->dets, kept, &from->dets);
    }
    s->trim_broadcasts_left = s->wave.generations;
}

/* ---- what others may drop: TRIM(beta, recv vector, rsn) -------------------------------------- */

/* Marks a TRIM as due to every process outside the team, when I keep as many images as configured:
 * such a process may drop messages and determinants that only older images need. */
HARK_COLD void hark_scmel_tell(struct hark_scmel *s)
{
    for (uint32_t i = 0; i < s->endpoint.channels.count; i++)
        if (!(hark_scmel_at(s, i)->channel.flags & HARK_SCMEL_MATE))
            hark_scmel_at(s, i)->channel.flags |= HARK_SCMEL_TELL;
    s->trim_all_next = s->trim_broadcasts_left || hark_scmel_forwards(s);
    if (s->trim_broadcasts_left) s->trim_broadcasts_left--;
    s->trim_peers_due = s->busy = 1;
}

/* Sends TRIM to one process, for as many of its channels as fit into a frame. */
static inline void hark_scmel_tell_one(struct hark_scmel *s, uint32_t to, struct hark_effects *fx)
{
    uint32_t n = 0, length = 16;
    uint8_t *b = fx->bytes + fx->used + HARK_WIRE_HEAD;
    for (uint32_t i = hark_channel_search(&s->head, &s->endpoint, to, 0);
         i < s->endpoint.channels.count; i++) {
        struct hark_scmel_channel *c = hark_scmel_at(s, i);
        if (c->channel.peer != to || n == HARK_SCMEL_CTX_MAX) break;
        if (!(c->channel.flags & HARK_SCMEL_TELL)) continue;
        c->channel.flags &= (uint16_t)~HARK_SCMEL_TELL;
        hark_put64(b + length, c->channel.ctx);
        hark_put64(b + length + 8, c->kept);
        length += 16;
        n++;
    }
    b = hark_emit_control(&s->head, &s->endpoint, fx, HARK_S_TRIM, to, length);
    hark_put64(b, n);
    hark_put64(b + 8, s->oldest_image_rsn);
}

/* Sends TRIM to the processes outside the team that have a channel with me; if others may hold
 * determinants, to all processes outside. */
static inline int hark_scmel_pump_tell(struct hark_scmel *s, struct hark_effects *fx)
{
    for (uint32_t i = 0; s->trim_peers_due && i < s->endpoint.channels.count; i++) {
        const struct hark_scmel_channel *c = hark_scmel_at(s, i);
        if (!(c->channel.flags & HARK_SCMEL_TELL)) continue;
        if (!hark_effects_fit(fx, 1, HARK_FRAGMENT)) return HARK_MORE;
        hark_scmel_tell_one(s, c->channel.peer, fx);
    }
    s->trim_peers_due = 0;
    for (; s->trim_all_next && s->trim_all_next <= s->endpoint.ranks; s->trim_all_next++) {
        uint32_t to = s->trim_all_next - 1, i = hark_channel_search(&s->head, &s->endpoint, to, 0);
        if (hark_scmel_mate(s, to) ||
            (i < s->endpoint.channels.count && hark_scmel_at(s, i)->channel.peer == to))
            continue;
        if (!hark_effects_fit(fx, 1, HARK_WIRE_HEAD + 16)) return HARK_MORE;
        hark_scmel_tell_one(s, to, fx);
    }
    s->trim_all_next = 0;
    return HARK_OK;
}

/* Takes TRIM from beta: u64 n, u64 rsn, n times {u64 ctx, u64 recv}. No kept image of beta needs
 * messages of channel ctx up to recv, or determinants up to rsn (T-5). */
HARK_COLD int hark_scmel_trim(struct hark_scmel *s, const struct hark_head *h, const uint8_t *b)
{
    struct hark_scmel_log *log = hark_scmel_log(s, h->src, false);
    if (log) hark_dets_trim(&s->head, &s->pool, &log->dets, hark_get64(b + 8));
    for (uint64_t n = hark_get64(b); n > 0; n--) {
        b += 16;
        struct hark_scmel_channel *c = (struct hark_scmel_channel *)(void *)hark_channel_find(
            &s->head, &s->endpoint, h->src, hark_get16(b));
        uint64_t recv = hark_get64(b + 8);
        if (c == NULL || recv < c->first || recv > c->channel.sent) continue;
        c->first = recv + 1;
        if (c->transmitted < recv) c->transmitted = recv;
        c->channel.flags |= HARK_SCMEL_TRIM;
        s->busy = 1;
    }
    return HARK_OK;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
