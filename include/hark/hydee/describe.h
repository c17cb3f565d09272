/* hydee/describe.h: words for HydEE's frames. Their layouts are in pump.h, tree.h and
 * recovery.h. */
#ifndef HARK_HYDEE_DESCRIBE_H
#define HARK_HYDEE_DESCRIBE_H

#include "../parts/words.h"
#include "../recovery/describe.h"
#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif

#if HARK_BODIES

/* Describes ORPH: runs of orphans, and the phase of each. */
static inline void hark_hydee_describe_orph(struct hark_words *w, const uint8_t *b, uint32_t length)
{
    for (uint32_t at = 8; at + 24 <= length; at += 24) {
        hark_words_add(w, at > 8 ? ";" : "");
        hark_words_run(w, hark_get64(b + at), hark_get64(b + at + 8));
        hark_words_number(w, ", phase ", hark_get64(b + at + 16));
    }
}

static inline void hark_hydee_describe_report(
    struct hark_words *w, const uint8_t *b, uint32_t length)
{
    const uint32_t width = length >= 8 && hark_get32(b) & HARK_R_EXACT ? 40 : 32;
    for (uint32_t at = 8; at + width <= length; at += width) {
        hark_words_add(w, at > 8 ? ";" : "");
        hark_words_run(w, hark_get64(b + at + 8), hark_get64(b + at + 16));
        hark_words_number(w, " of p", hark_get32(b + at));
        hark_words_number(w, ", phase ", hark_get64(b + at + 24));
    }
}

/* Describes UP of a tree: the lowest phase that the subtree waits for. */
static inline void hark_hydee_describe_up(struct hark_words *w, const uint8_t *b)
{
    if (hark_get64(b) == HARK_INFINITY) hark_words_add(w, " nothing");
    else hark_words_number(w, " phase ", hark_get64(b));
}

/* Describes NOTIFY. To the recovery process it names the channel; in a tree it is about the channel
 * from its sender to its receiver. */
static inline void hark_hydee_describe_notify(
    struct hark_words *w, const struct hark_head *h, const uint8_t *b, uint32_t length)
{
    const bool tree = length < 12;
    const uint32_t peer = tree ? h->dst : hark_get32(b);
    const uint64_t upto = hark_get64(tree ? b : b + 4);
    hark_words_number(w, " ", upto);
    if (!tree) hark_words_number(w, " to p", peer);
    w->spared.name.peer = peer;
    w->spared.name.ctx = h->ctx;
    w->spared.name.ssn = 1;
    w->spared.last = upto;
}

static inline void hark_hydee_describe_control(
    struct hark_words *w, const struct hark_head *h, const uint8_t *b, uint32_t length)
{
    switch (h->type) {
    case HARK_H_POS:
        if (length >= 40) hark_describe_position(w, b + 16);
        break;
    case HARK_H_ORPH: hark_hydee_describe_orph(w, b, length); break;
    case HARK_H_REPORT: hark_hydee_describe_report(w, b, length); break;
    case HARK_H_RELEASE: hark_describe_released(w, b, length); break;
    case HARK_H_UP:
        if (length >= 8) hark_hydee_describe_up(w, b);
        break;
    case HARK_H_NOTIFY:
        if (length >= 8) hark_hydee_describe_notify(w, h, b, length);
        break;
    case HARK_H_GC:
        if (length >= 8) hark_words_number(w, " has ", hark_get64(b));
        break;
    default: break;
    }
}

/* Describes a frame, also of the recovery process, whose frames have the kind of its members. The
 * core is not used. */
HARK_FN void hark_hydee_describe(
    const struct hark *p, struct hark_bytes header, struct hark_words *w)
{
    struct hark_head h;
    (void)p;
    if (hark_head_get(&h, header, HARK_KIND_HYDEE) < 0) return;
    const uint8_t *b = header.at + HARK_WIRE_HEAD;
    if (h.type != HARK_APP) hark_hydee_describe_control(w, &h, b, header.length - HARK_WIRE_HEAD);
    else if (header.length >= HARK_HYDEE_HEADER) hark_words_number(w, ", phase ", hark_get64(b));
}
#endif

#ifdef __cplusplus
}
#endif
#endif
