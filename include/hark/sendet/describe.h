/* sendet/describe.h: words for sendet's frames. Their layouts are in channel.h, pump.h and
 * report.h. */
#ifndef HARK_SENDET_DESCRIBE_H
#define HARK_SENDET_DESCRIBE_H

#include "../parts/words.h"
#include "../recovery/describe.h"
#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif

#if HARK_BODIES

/* Describes a row of a REPORT; `what` is its kind. */
static inline void hark_sendet_describe_fact(struct hark_words *w, const uint8_t *b, uint16_t what)
{
    const uint64_t x = hark_get64(b + 8), y = hark_get64(b + 16);
    const uint32_t peer = hark_get32(b);
    switch (what) {
    case 0:
        hark_words_run(w, x, y);
        hark_words_number(w, " of p", peer);
        hark_words_number(w, ", phase ", hark_get64(b + 24));
        break;
    case HARK_L_EPOCH: hark_words_number(w, " epoch ", x); break;
    case HARK_L_NONACK:
        hark_words_number(w, " no ACK of ", y);
        hark_words_number(w, " to p", peer);
        hark_words_number(w, ", epoch ", x);
        break;
    case HARK_L_SPE:
        hark_words_number(w, " sent p", peer);
        hark_words_number(w, " in epoch ", x);
        hark_words_number(w, " what it took in ", y);
        break;
    case HARK_L_IMAGE:
        hark_words_number(w, " image ", y);
        hark_words_number(w, " of epoch ", x);
        break;
    default:
        hark_words_number(w, " image of epoch ", x);
        hark_words_number(w, " has ", y);
        hark_words_number(w, " of p", peer);
        break;
    }
}

/* Describes REPORT. The rows that matter most to a reader come first, because there may be no room
 * for all. */
static inline void hark_sendet_describe_report(
    struct hark_words *w, const uint8_t *b, uint32_t length)
{
    static const uint16_t order[] = {
        HARK_L_EPOCH, 0, HARK_L_NONACK, HARK_L_SPE, HARK_L_IMAGE, HARK_L_RECV};
    bool first = true;
    for (uint32_t i = 0; i < HARK_COUNT(order); i++)
        for (uint32_t at = 8; at + 32 <= length; at += 32) {
            if (hark_get16(b + at + 6) != order[i]) continue;
            hark_words_add(w, first ? "" : ";");
            hark_sendet_describe_fact(w, b + at, order[i]);
            first = false;
        }
}

/* Describes ORPH: runs of messages that were sent in one epoch and received in one epoch. */
static inline void hark_sendet_describe_orph(
    struct hark_words *w, const uint8_t *b, uint32_t length)
{
    if (length == 8) hark_words_add(w, " nothing");
    for (uint32_t at = 8; at + 40 <= length; at += 40) {
        hark_words_add(w, at > 8 ? ";" : "");
        hark_words_run(w, hark_get64(b + at), hark_get64(b + at + 8));
        hark_words_number(w, ", phase ", hark_get64(b + at + 16));
        hark_words_number(w, ", epochs ", hark_get64(b + at + 24));
        hark_words_number(w, ", ", hark_get64(b + at + 32));
    }
}

/* Describes ACK: a run of messages, and the epoch in which they were received. */
static inline void hark_sendet_describe_ack(struct hark_words *w, const uint8_t *b)
{
    const uint64_t first = hark_get64(b), last = hark_get64(b + 8);
    if (last < first) {
        hark_words_add(w, " nothing");
        return;
    }
    hark_words_run(w, first, last);
    hark_words_number(w, " in epoch ", hark_get64(b + 16));
}

static inline void hark_sendet_describe_control(
    struct hark_words *w, uint8_t type, const uint8_t *b, uint32_t length)
{
    switch (type) {
    case HARK_H_POS:
        if (length >= 48) hark_describe_position(w, b + 16);
        break;
    case HARK_H_ORPH: hark_sendet_describe_orph(w, b, length); break;
    case HARK_H_REPORT: hark_sendet_describe_report(w, b, length); break;
    case HARK_H_RELEASE: hark_describe_released(w, b, length); break;
    case HARK_H_NOTIFY:
        if (length < 12) break;
        hark_words_number(w, " ", hark_get64(b + 4));
        hark_words_number(w, " to p", hark_get32(b));
        break;
    case HARK_H_GC:
        if (length >= 8) hark_words_number(w, " has ", hark_get64(b));
        break;
    case HARK_H_ACK:
        for (uint32_t at = 0; at + 24 <= length; at += 24) {
            hark_words_add(w, at ? ";" : "");
            hark_sendet_describe_ack(w, b + at);
        }
        break;
    case HARK_H_EPOCH:
        if (length < 16) break;
        hark_words_number(w, " ", hark_get64(b));
        hark_words_number(w, ", needs ", hark_get64(b + 8));
        break;
    case HARK_H_MIN:
        if (length >= 8) hark_words_number(w, " ", hark_get64(b));
        break;
    default: break;
    }
}

/* Describes a frame, also of the recovery process, whose frames have the kind of its members. The
 * core is not used. */
HARK_FN void hark_sendet_describe(
    const struct hark *p, struct hark_bytes header, struct hark_words *w)
{
    struct hark_head h;
    (void)p;
    if (hark_head_get(&h, header, HARK_KIND_SENDET) < 0) return;
    const uint8_t *b = header.at + HARK_WIRE_HEAD;
    if (h.type != HARK_APP) {
        hark_sendet_describe_control(w, h.type, b, header.length - HARK_WIRE_HEAD);
        return;
    }
    if (header.length < HARK_SENDET_HEADER) return;
    hark_words_number(w, ", phase ", hark_get64(b));
    hark_words_number(w, ", epoch ", hark_get64(b + 16));
    if (hark_get64(b + 40) == 0) return;
    hark_words_add(w, "; ACK");
    hark_sendet_describe_ack(w, b + 24);
}
#endif

#ifdef __cplusplus
}
#endif
#endif
