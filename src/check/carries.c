/* carries.c: what a frame carries, as people read it. What stands where is said at the functions that write it: hydee_pump.h,
 * recovery.h, scmel_messages.h, scmel_recovery.h, hark_det_write. */
#include "carries.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct words {
    char *text;
    size_t length;
};

static void say(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct words *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(w->text + w->length, CARRIES_BYTES - w->length, format, list);
    va_end(list);
    w->length += n > 0 ? (size_t)n : 0;
    if (w->length >= CARRIES_BYTES) w->length = CARRIES_BYTES - 1;
}

/* "1" or "1-3" */
static void run(struct words *w, const uint8_t *b)
{
    uint64_t first = hark_get64(b), last = hark_get64(b + 8);
    say(w, " %llu", (unsigned long long)first);
    if (last > first) say(w, "-%llu", (unsigned long long)last);
}

/* ---- hydee --------------------------------------------------------------------------------------------------------- */

static void report(struct words *w, const uint8_t *b, uint32_t length)
{
    uint32_t width = hark_get32(b) & HARK_R_EXACT ? 40 : 32;
    for (uint32_t at = 8; at + width <= length; at += width) {
        say(w, "%s", at > 8 ? ";" : "");
        run(w, b + at + 8);
        say(w, " of p%u, phase %llu", hark_get32(b + at), (unsigned long long)hark_get64(b + at + 24));
    }
}

static void hydee_control(struct words *w, uint8_t type, const uint8_t *b, uint32_t length)
{
    switch (type) {
    case HARK_H_POS:
        if (length < 40) break;
        say(w, " sent %llu, has %llu", (unsigned long long)hark_get64(b + 16), (unsigned long long)hark_get64(b + 24));
        break;
    case HARK_H_ORPH:
        for (uint32_t at = 8; at + 24 <= length; at += 24) {
            say(w, "%s", at > 8 ? ";" : "");
            run(w, b + at);
            say(w, ", phase %llu", (unsigned long long)hark_get64(b + at + 16));
        }
        break;
    case HARK_H_REPORT: report(w, b, length); break;
    case HARK_H_RELEASE:
        if (hark_get64(b) == HARK_INFINITY) say(w, " all");
        else say(w, " up to %llu", (unsigned long long)hark_get64(b));
        break;
    case HARK_H_UP: /* of a tree, and to its member NOTIFY is about the channel that it goes along */
        if (hark_get64(b) == HARK_INFINITY) say(w, " nothing");
        else say(w, " phase %llu", (unsigned long long)hark_get64(b));
        break;
    case HARK_H_NOTIFY:
        say(w, " %llu", (unsigned long long)hark_get64(length == 12 ? b + 4 : b));
        if (length == 12) say(w, " to p%u", hark_get32(b));
        break;
    case HARK_H_GC: say(w, " has %llu", (unsigned long long)hark_get64(b)); break;
    default: break;
    }
}

/* ---- scmel --------------------------------------------------------------------------------------------------------- */

/* Determinants in the order they stand: which messages each creator took, "p2.1" the first of p2's, or saw. */
static void determinants(struct words *w, const uint8_t *b, uint32_t count, uint32_t width)
{
    uint32_t creator = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++, b += width) {
        if (hark_get32(b) != creator) say(w, "%sp%u took", creator == UINT32_MAX ? " " : ", ", hark_get32(b));
        creator = hark_get32(b);
        const bool look = hark_get32(b + 8) & HARK_DET_LOOK;
        if (hark_get32(b + 4) == HARK_DET_MISS) say(w, " nothing");
        else say(w, "%s p%u.%llu", look ? " (saw)" : "", hark_get32(b + 4), (unsigned long long)(hark_get64(b + 12) & HARK_SSN_MOST));
    }
}

static void scmel_control(const struct lab *lab, struct words *w, uint8_t type, const uint8_t *b, uint32_t length)
{
    uint32_t width = hark_det_bytes(lab->scenario->copies ? lab->scenario->copies : 1);
    if (type == HARK_S_SPREAD) determinants(w, b, length / width, width);
    if (type == HARK_S_DETS) determinants(w, b + 8 + 24 * hark_get16(b + 4), hark_get16(b + 6), width);
}

/* ---- any ----------------------------------------------------------------------------------------------------------- */

static void application(struct words *w, const uint8_t *h, uint32_t length)
{
    say(w, "%llu", (unsigned long long)hark_get64(h + 24));
    if (h[0] == HARK_KIND_HYDEE && length >= HARK_HYDEE_HEADER)
        say(w, ", phase %llu", (unsigned long long)hark_get64(h + 32));
    if ((h[0] != HARK_KIND_SCMEL && h[0] != HARK_KIND_TEAM) || length < HARK_SCMEL_HEADER || hark_get16(h + 32) == 0) return;
    say(w, ",");
    determinants(w, h + HARK_SCMEL_HEADER, hark_get16(h + 32), hark_det_bytes(hark_get32(h + 36)));
}

void carries(const struct lab *lab, struct hark_bytes header, char text[CARRIES_BYTES], char brief[CARRIES_BRIEF])
{
    struct words w = {text, 0};
    const uint8_t *h = header.at, *body = h + HARK_WIRE_HEAD;
    uint32_t length = header.length - HARK_WIRE_HEAD;
    text[0] = 0;
    if (h[1] == HARK_APP) {
        snprintf(brief, CARRIES_BRIEF, "%llu", (unsigned long long)hark_get64(h + 24));
        application(&w, h, header.length);
        return;
    }
    const char *name = hark_frame_text(lab->protocol->shape, h[1]);
    snprintf(brief, CARRIES_BRIEF, "%s", name);
    say(&w, "%s", name);
    if (h[0] == HARK_KIND_SCMEL || h[0] == HARK_KIND_TEAM) scmel_control(lab, &w, h[1], body, length);
    else if (h[0] == HARK_KIND_HYDEE || h[0] == HARK_KIND_RECOVERY) hydee_control(&w, h[1], body, length);
}
