/* recovery/tree.h: the recovery process above a tree of reports (config.fan), where it exchanges
 * frames with rank 0 only; and the frames that it accepts at all. A part of recovery.h.
 * hydee/tree.h has the part of the members. */
#ifndef HARK_RECOVERY_TREE_H
#define HARK_RECOVERY_TREE_H

#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif
#if HARK_BODIES

/* Returns the number of members that get its frames, and that send it DRAINED. */
static inline uint32_t hark_recovery_ends(const struct hark_recovery *s)
{
    return s->fan ? 1 : s->ranks;
}

/* Takes UP: the lowest phase of an orphan that is not sent again yet, over all processes. The first
 * UP comes when all values are known (E10). */
static inline int hark_recovery_up(
    struct hark_recovery *s, const uint8_t *b, struct hark_effects *fx)
{
    bool open = s->stage == HARK_R_COLLECTING || s->stage == HARK_R_RELEASING;
    if (!open || hark_get64(b) <= s->released_phase)
        return hark_emit_verdict(fx, HARK_DISCARD); /* a later UP has overtaken this one */
    s->released_phase = hark_get64(b);
    s->stage = s->released_phase == HARK_INFINITY ? HARK_R_DRAINING : HARK_R_RELEASING;
    hark_recovery_tell(s, HARK_H_RELEASE);
    return HARK_OK;
}

/* True if the frame is one for a recovery process, has the right length and, with a tree, comes
 * from rank 0. */
static inline bool hark_recovery_frame_ok(
    const struct hark_recovery *s, const struct hark_head *h, const uint8_t *b, uint32_t length)
{
    if (h->dst != HARK_RECOVERY || h->src >= (s->fan ? 1 : s->ranks)) return false;
    if (h->type == HARK_H_DRAINED) return length == 0;
    if (s->fan) return h->type == HARK_H_UP && length == 8;
    if (h->type == HARK_H_REPORT)
        return length >= 8 && (length - 8) % (hark_get32(b) & HARK_R_EXACT ? 40 : 32) == 0;
    return h->type == HARK_H_NOTIFY ? length == 12 : h->type == HARK_H_EPOCH && length == 16;
}

static inline uint32_t hark_recovery_inc(const struct hark_recovery *s, uint32_t rank)
{
    return hark_inc_range_of(&s->head, &s->incs, rank);
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
