/* causal/describe.h: words for the contents of the frames of causal message logging. The formats
 * are documented in messages.h, recovery.h, team.h and reduction.h, and by hark_det_write and
 * hark_owed_write. */
#ifndef HARK_CAUSAL_DESCRIBE_H
#define HARK_CAUSAL_DESCRIBE_H

#include "../parts/words.h"
#include "multicast.h"
#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif

#if HARK_BODIES

/* Describes determinants in their order: the messages that each creator took, or saw; "p2.1" is the
 * first message of p2. */
static inline void hark_scmel_describe_dets(
    struct hark_words *w, const uint8_t *b, uint32_t count, uint32_t width)
{
    uint32_t creator = UINT32_MAX;
    for (; count > 0; count--, b += width) {
        if (hark_get32(b) != creator) {
            hark_words_number(w, creator == UINT32_MAX ? " p" : ", p", hark_get32(b));
            hark_words_add(w, " took");
        }
        creator = hark_get32(b);
        if (hark_get32(b + 4) == HARK_DET_MISS) {
            hark_words_add(w, " nothing");
            continue;
        }
        hark_words_number(
            w, hark_get32(b + 8) & HARK_DET_LOOK ? " (saw) p" : " p", hark_get32(b + 4));
        hark_words_number(w, ".", hark_get64(b + 12) & HARK_SSN_MOST);
    }
}

/* Describes acknowledgements: the creators and rsn of the determinants that are stored. */
static inline void hark_scmel_describe_acks(struct hark_words *w, const uint8_t *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++, b += HARK_ACK_BYTES) {
        const uint64_t first = hark_get64(b + 8);
        hark_words_add(w, i ? ";" : "");
        hark_words_run(w, first, first + hark_get32(b + 4) - 1);
        hark_words_number(w, " of p", hark_get32(b));
    }
}

/* Describes rows of a channel and the last ssn that its receiver has. */
static inline void hark_scmel_describe_received(
    struct hark_words *w, const uint8_t *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++, b += 16) {
        hark_words_add(w, i ? ";" : "");
        hark_words_context(w, hark_get32(b) & UINT16_MAX);
        hark_words_number(w, " has ", hark_get64(b + 8));
    }
}

/* Describes DETS: determinants, and for each channel the last ssn that the sender of DETS has sent
 * and has received. */
static inline void hark_scmel_describe_collected(
    struct hark_words *w, const uint8_t *b, uint32_t length, uint32_t width)
{
    const uint32_t sents = hark_get16(b + 4), count = hark_get16(b + 6);
    if (length < 8 + 24 * sents + count * width) return;
    hark_scmel_describe_dets(w, b + 8 + 24 * sents, count, width);
    for (uint32_t i = 0; i < sents; i++) {
        const uint8_t *row = b + 8 + 24 * i;
        hark_words_add(w, i || count ? ";" : "");
        hark_words_context(w, hark_get32(row) & UINT16_MAX);
        hark_words_number(w, " sent ", hark_get64(row + 8));
        hark_words_number(w, ", has ", hark_get64(row + 16));
    }
}

/* Describes TRIM, which also has the rsn up to which its sender needs no determinants. */
static inline void hark_scmel_describe_trim(struct hark_words *w, const uint8_t *b, uint32_t length)
{
    const uint32_t rows = (length - 16) / 16;
    hark_scmel_describe_received(w, b + 16, rows);
    hark_words_number(w, rows ? "; rsn " : " rsn ", hark_get64(b + 8));
}

/* Describes a control frame. `width`: bytes of a determinant; 0: not known. */
static inline void hark_scmel_describe_control(
    struct hark_words *w, uint8_t type, const uint8_t *b, uint32_t length, uint32_t width)
{
    switch (type) {
    case HARK_S_ACK: hark_scmel_describe_acks(w, b, length / HARK_ACK_BYTES); break;
    case HARK_S_SPREAD:
        if (width) hark_scmel_describe_dets(w, b, length / width, width);
        break;
    case HARK_S_DETS:
        if (width && length >= 8) hark_scmel_describe_collected(w, b, length, width);
        break;
    case HARK_S_READY:
        if (length >= 8) hark_scmel_describe_received(w, b + 8, (length - 8) / 16);
        break;
    case HARK_S_TRIM:
        if (length >= 16) hark_scmel_describe_trim(w, b, length);
        break;
    case HARK_S_RACK:
        if (length < 16) break;
        hark_words_context(w, hark_get16(b));
        hark_words_number(w, " up to ", hark_get64(b + 8));
        break;
    default: break;
    }
}

/* True if the sender is the root of a reduction and sends to one of its children. */
static inline bool hark_scmel_goes_down(const struct hark_scmel *s, const struct hark_head *h)
{
    for (uint32_t i = 0; h->src == s->endpoint.me && i < s->branches.count; i++) {
        const struct hark_scmel_branch *b =
            (const struct hark_scmel_branch *)hark_row_of(&s->head, &s->branches, i);
        if (b->ctx == h->ctx && b->child && b->rank == h->dst) return true;
    }
    return false;
}

static inline void hark_scmel_describe_message(const struct hark_scmel *s,
    const struct hark_head *h, const uint8_t *b, uint32_t length, struct hark_words *w)
{
    if (length < HARK_SCMEL_HEADER - HARK_WIRE_HEAD) return;
    const uint32_t count = hark_get16(b), k = hark_get32(b + 4);
    w->whole =
        h->ctx && (hark_get16(b + 2) & HARK_SCMEL_WHOLE || (s && hark_scmel_goes_down(s, h)));
    if (count == 0 || k > HARK_DET_HOLDERS || length < 8 + count * hark_det_bytes(k)) return;
    hark_words_add(w, ",");
    hark_scmel_describe_dets(w, b + 8, count, hark_det_bytes(k));
}

HARK_FN void hark_scmel_describe(
    const struct hark *p, struct hark_bytes header, struct hark_words *w)
{
    struct hark_head h;
    if (header.length < HARK_WIRE_HEAD || hark_head_get(&h, header, header.at[0]) < 0) return;
    const struct hark_scmel *s =
        p && p->kind == h.kind ? (const struct hark_scmel *)(const void *)p : NULL;
    const uint8_t *b = header.at + HARK_WIRE_HEAD;
    const uint32_t length = header.length - HARK_WIRE_HEAD;
    if (h.type == HARK_APP) hark_scmel_describe_message(s, &h, b, length, w);
    else hark_scmel_describe_control(w, h.type, b, length, s ? hark_det_bytes(s->k) : 0);
}
#endif

#ifdef __cplusplus
}
#endif
#endif
