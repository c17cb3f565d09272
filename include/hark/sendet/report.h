/* sendet/report.h: sends REPORT, which has the facts for the line and the orphans that I have
 * received. A part of sendet.h. */
#ifndef HARK_SENDET_REPORT_H
#define HARK_SENDET_REPORT_H

#include "failure.h"

#ifdef __cplusplus
extern "C" {
#endif
#if HARK_BODIES

/* Writes a row of a REPORT: {j u32, ctx u16, what u16, x u64, y u64, z u64}. `what` is one of
 * HARK_L_*, and says what x, y and z are; 0: an orphan, x .. z are first, last and phase. */
static inline bool hark_sendet_row(
    uint8_t *b, uint32_t peer, uint16_t ctx, uint16_t what, uint64_t x, uint64_t y, uint64_t z)
{
    hark_put32(b, peer);
    hark_put16(b + 4, ctx);
    hark_put16(b + 6, what);
    hark_put64(b + 8, x);
    hark_put64(b + 16, y);
    hark_put64(b + 24, z);
    return true;
}

static inline uint64_t hark_sendet_image_epoch(const struct hark_sendet *s, uint64_t id)
{
    for (uint32_t i = 0; i < s->images.count; i++) {
        const struct hark_sendet_image *x =
            (const struct hark_sendet_image *)hark_row_of(&s->head, &s->images, i);
        if (x->id == id) return x->epoch;
    }
    return 0;
}

/* Writes the next row of a list over channels: NonAck with the epochs of its sends, or orphans with
 * their recorded phases. */
static inline bool hark_sendet_report_channel(struct hark_sendet *s, bool orphans, uint8_t *b)
{
    for (; s->report_row < s->endpoint.channels.count; s->report_row++, s->report_at = 0) {
        struct hark_sendet_channel *c = hark_sendet_at(s, s->report_row);
        uint64_t from = (orphans ? c->pos.peer_sent : c->acked) + 1,
                 end = orphans ? c->channel.recv : c->channel.sent;
        if (!hark_sendet_inter(c) || (orphans && c->pos.peer_sent == HARK_INFINITY)) continue;
        if (from < s->report_at) from = s->report_at;
        if (from > end) continue;
        struct hark_mark m =
            hark_trail_at(&s->head, &s->pool, orphans ? &c->rpp : &c->log, from, end);
        s->report_at = m.last + 1;
        if (orphans && m.phase)
            return hark_sendet_row(b, c->channel.peer, c->channel.ctx, 0, m.first, m.last, m.phase);
        if (!orphans)
            return hark_sendet_row(
                b, c->channel.peer, c->channel.ctx, HARK_L_NONACK, m.sent, m.last, 0);
    }
    return false;
}

/* Writes the next row of the present list; false: the list has ended. */
static inline bool hark_sendet_report_row(struct hark_sendet *s, uint8_t *b)
{
    uint32_t i = s->report_row;
    struct hark *p = &s->head;
    const struct hark_sendet_image *image;
    const struct hark_position *at;
    const struct hark_sendet_spe *x;
    switch (s->report_list) {
    case 0:
        s->report_row++;
        return i == 0 && hark_sendet_row(b, 0, 0, HARK_L_EPOCH, s->epoch, hark_sendet_oldest(s), 0);
    case 1:
        if (i >= s->images.count) return false;
        image = (const struct hark_sendet_image *)hark_row(p, &s->images, s->report_row++);
        return hark_sendet_row(b, 0, 0, HARK_L_IMAGE, image->epoch, image->id, 0);
    case 2:
        if (i >= s->positions.count) return false;
        at = (const struct hark_position *)hark_row(p, &s->positions, s->report_row++);
        return hark_sendet_row(
            b, at->peer, at->ctx, HARK_L_RECV, hark_sendet_image_epoch(s, at->id), at->recv, 0);
    case 3:
        if (i >= s->spe.count) return false;
        x = (const struct hark_sendet_spe *)hark_row(p, &s->spe, s->report_row++);
        return hark_sendet_row(b, x->peer, 0, HARK_L_SPE, x->epoch, x->latest, 0);
    default: return hark_sendet_report_channel(s, s->report_list == 5, b);
    }
}

/* True if REPORT may be sent: all answers to my POS are in, and all ORPH that they announced. */
static inline bool hark_sendet_may_report(struct hark_sendet *s)
{
    if (!s->recovering || s->reported) return false;
    return hark_pairs_answered(&s->head, &s->pairs) && !hark_sendet_waits(s);
}

static inline int hark_sendet_pump_report(struct hark_sendet *s, struct hark_effects *fx)
{
    if (!hark_sendet_may_report(s)) return HARK_OK;
    while (!s->reported) {
        if (!hark_effects_fit(fx, 1, HARK_FRAGMENT)) return HARK_MORE;
        uint8_t *b = hark_emit_control(&s->head, &s->endpoint, fx, HARK_H_REPORT, HARK_RECOVERY, 8);
        uint32_t at = 8;
        while (s->report_list < 6 && at + 32 <= HARK_FRAGMENT - HARK_WIRE_HEAD) {
            if (hark_sendet_report_row(s, b + at)) {
                at += 32;
                continue;
            }
            s->report_list++;
            s->report_row = 0;
            s->report_at = 0;
        }
        s->report_out++;
        s->reported = s->report_list == 6;
        hark_fragment_end(b, at, s->reported ? s->report_out << 16 | 1 : 0, fx);
    }
    return HARK_OK;
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
