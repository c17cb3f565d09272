/* camel.h: collective-aware message logging. A multicast is logged once, by its root. Of a complete
 * reduction, the contributions of the root's children are kept, combined, in two copies: at the
 * root and at one of these children.
 *
 * E. Meneses, L. V. Kale: CAMEL: Collective-Aware Message Logging. The Journal of Supercomputing,
 * 2015. Algorithms 2 and 3, over Algorithm 1, which is scmel.h: messages to a single process follow
 * scmel.h.
 *
 *   Algorithm 2, lines                     function
 *   1-9    SendMulticastMsg                hark_scmel_multicast
 *   10-20  ReceiveMulticastMsg             hark_scmel_message, as any (11, 13-17);
 *                                          hark_scmel_pump_forward (18-19)
 *   21-27  SendReductionMsg                hark_scmel_contribute
 *   28-38  ReceiveReductionMsg             hark_scmel_contributed
 *   Algorithm 3
 *   1-6    SendMsgToChildren               hark_scmel_pump_late, hark_scmel_pump_forward
 *   8-24   ReductionReady, Agglomerate     hark_scmel_ready_to_combine, hark_scmel_combine,
 *                                          hark_scmel_combined
 *   25-29  SendMsgAckToChildren            hark_scmel_pump_rack
 *   30-39  ReceiveMsgAck                   hark_scmel_known_done
 *
 * With more than one copy of determinants, a multicast carries all determinants that are loose at
 * the root, and they are forwarded with it; the paper has one copy. Comments at the code explain
 * each difference from the printed pseudocode, mostly at the heads of causal/multicast.h and
 * causal/reduction.h; docs/errata.md lists all of them (C-1 to C-16).
 */
#ifndef HARK_CAMEL_H
#define HARK_CAMEL_H

#include "scmel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The interface of a protocol. struct hark_protocol documents each function and its errors. */
HARK_FN uint64_t hark_camel_size(const struct hark_config *config);
/* Makes the initial state. HARK_EINVAL also for an invalid tree: its root is not a member, or a
 * rank is out of range. (Cycles and repeated members are not detected; hark_tree_binomial and its
 * like make none.) HARK_EINVAL also for a group that reduces with more than one copy: complete
 * reductions are kept only at the root and one of its children, and both may be lost together. */
HARK_FN int hark_camel_init(struct hark *p, uint64_t bytes, const struct hark_config *config);
HARK_FN int hark_camel_step(
    struct hark *p, const struct hark_event *event, struct hark_effects *effects);
HARK_FN int hark_camel_names(const struct hark *p, uint64_t *cursor, struct hark_names *run);
HARK_FN const char *hark_camel_violated(const struct hark *p);
HARK_FN const char *hark_camel_unrest(const struct hark *p);
HARK_FN void hark_camel_describe(
    const struct hark *p, struct hark_bytes header, struct hark_words *words);

static const struct hark_option hark_camel_options[] = {
    {"copies", "K", "copies of a determinant", "copies", NULL, NULL, 1, 8, 1, 0, HARK_SETS(copies),
        true},
    HARK_OPTIONS_END};
static const struct hark_manual hark_camel_manual = {HARK_FOR_PIECEWISE, NULL,
    "and many of its messages are broadcasts and reductions", NULL, NULL, hark_camel_options};

/* The state is that of scmel.h. */
static const struct hark_shape hark_camel_shape = {"camel", HARK_SCMEL_IMAGE,
    HARK_COUNT(hark_scmel_fields), HARK_COUNT(hark_scmel_rows), sizeof(struct hark_scmel),
    hark_scmel_fields, hark_scmel_rows, offsetof(struct hark_scmel, pool), hark_scmel_frames,
    HARK_COUNT(hark_scmel_frames), hark_scmel_accept};

#if HARK_BODIES

HARK_FN uint64_t hark_camel_size(const struct hark_config *c)
{
    return hark_scmel_size(c);
}

HARK_FN int hark_camel_init(struct hark *p, uint64_t bytes, const struct hark_config *c)
{
    int status = hark_scmel_begin(p, bytes, HARK_KIND_CAMEL, c, HARK_SCMEL_ALONE);
    return status < 0 ? status : hark_scmel_trees((struct hark_scmel *)(void *)p, c);
}

HARK_FN int hark_camel_step(struct hark *p, const struct hark_event *event, struct hark_effects *fx)
{
    return hark_scmel_step(p, event, fx);
}

HARK_FN int hark_camel_names(const struct hark *p, uint64_t *cursor, struct hark_names *run)
{
    return hark_scmel_names(p, cursor, run);
}

HARK_FN const char *hark_camel_violated(const struct hark *p)
{
    return hark_scmel_violated(p);
}

HARK_FN const char *hark_camel_unrest(const struct hark *p)
{
    return hark_scmel_unrest(p);
}

HARK_FN void hark_camel_describe(
    const struct hark *p, struct hark_bytes header, struct hark_words *w)
{
    hark_scmel_describe(p, header, w);
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
