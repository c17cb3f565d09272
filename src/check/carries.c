/* carries.c: what a frame carries, as people read it. What stands where is said at the functions that write it:
 * hydee/pump.h, recovery.h; causal/messages.h, causal/recovery.h, causal/team.h, causal/reduction.h, hark_det_write,
 * hark_owed_write, for scmel, team and camel; sendet/channel.h, sendet/pump.h, sendet/report.h. */
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

/* Which channel between the two, where it is not that of their messages: see group_ctx(). */
static void channel(struct words *w, uint32_t ctx)
{
    const uint32_t tree = (ctx + 1) / 2;
    if (ctx == 0) return;
    say(w, ctx % 2 ? " multicasts" : " reductions");
    if (tree > 1) say(w, " on tree %u", tree);
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

static void released(struct words *w, const uint8_t *b)
{
    if (hark_get64(b) == HARK_INFINITY)
        say(w, " all");
    else
        say(w, " up to %llu", (unsigned long long)hark_get64(b));
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
    case HARK_H_RELEASE: released(w, b); break;
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

/* ---- scmel, team, camel -------------------------------------------------------------------------------------------- */

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

/* Whose determinants are stored: acknowledgements of them. */
static void acknowledgements(struct words *w, const uint8_t *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++, b += HARK_ACK_BYTES) {
        const uint64_t first = hark_get64(b + 8), more = hark_get32(b + 4) - 1u;
        say(w, "%s %llu", i ? ";" : "", (unsigned long long)first);
        if (more) say(w, "-%llu", (unsigned long long)(first + more));
        say(w, " of p%u", hark_get32(b));
    }
}

/* Rows of a channel and what its receiver has of it. */
static void received(struct words *w, const uint8_t *b, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++, b += 16) {
        say(w, i ? ";" : "");
        channel(w, hark_get32(b) & UINT16_MAX);
        say(w, " has %llu", (unsigned long long)hark_get64(b + 8));
    }
}

/* Determinants, and for each channel what its sender has sent and has of the other's. */
static void dets(struct words *w, const uint8_t *b, uint32_t width)
{
    const uint32_t sents = hark_get16(b + 4), count = hark_get16(b + 6);
    determinants(w, b + 8 + 24 * sents, count, width);
    for (uint32_t i = 0; i < sents; i++) {
        const uint8_t *row = b + 8 + 24 * i;
        say(w, i || count ? ";" : "");
        channel(w, hark_get32(row) & UINT16_MAX);
        say(w, " sent %llu, has %llu", (unsigned long long)hark_get64(row + 8),
            (unsigned long long)hark_get64(row + 16));
    }
}

static void scmel_control(const struct lab *lab, struct words *w, uint8_t type, const uint8_t *b, uint32_t length)
{
    uint32_t width = hark_det_bytes(lab->scenario->copies ? lab->scenario->copies : 1);
    switch (type) {
    case HARK_S_ACK: acknowledgements(w, b, length / HARK_ACK_BYTES); break;
    case HARK_S_SPREAD: determinants(w, b, length / width, width); break;
    case HARK_S_DETS: dets(w, b, width); break;
    case HARK_S_READY: received(w, b + 8, hark_get64(b)); break;
    case HARK_S_TRIM: /* and how many deliveries of its sender need no determinant any more */
        received(w, b + 16, hark_get64(b));
        say(w, "%s rsn %llu", hark_get64(b) ? ";" : "", (unsigned long long)hark_get64(b + 8));
        break;
    case HARK_S_RACK:
        channel(w, (uint32_t)hark_get64(b));
        say(w, " up to %llu", (unsigned long long)hark_get64(b + 8));
        break;
    default: break;
    }
}

/* ---- sendet --------------------------------------------------------------------------------------------------------- */

/* One row of a REPORT, of `what`. */
static void fact(struct words *w, const uint8_t *b, uint16_t what)
{
    const unsigned long long x = hark_get64(b + 8), y = hark_get64(b + 16), z = hark_get64(b + 24);
    switch (what) {
    case 0:
        run(w, b + 8);
        say(w, " of p%u, phase %llu", hark_get32(b), z);
        break;
    case HARK_L_EPOCH: say(w, " epoch %llu", x); break;
    case HARK_L_NONACK: say(w, " no ACK of %llu to p%u, epoch %llu", y, hark_get32(b), x); break;
    case HARK_L_SPE: say(w, " sent p%u in epoch %llu what it took in %llu", hark_get32(b), x, y); break;
    case HARK_L_IMAGE: say(w, " image %llu of epoch %llu", y, x); break;
    default: say(w, " image of epoch %llu has %llu of p%u", x, y, hark_get32(b)); break;
    }
}

/* What readers ask for most comes first, for not all of it may be shown. */
static void line_report(struct words *w, const uint8_t *b, uint32_t length)
{
    static const uint16_t order[] = {HARK_L_EPOCH, 0, HARK_L_NONACK, HARK_L_SPE, HARK_L_IMAGE, HARK_L_RECV};
    bool first = true;
    for (uint32_t i = 0; i < sizeof order / sizeof order[0]; i++)
        for (uint32_t at = 8; at + 32 <= length; at += 32) {
            if (hark_get16(b + at + 6) != order[i]) continue;
            say(w, first ? "" : ";");
            fact(w, b + at, order[i]);
            first = false;
        }
}

/* Runs of messages, that were sent in one epoch and received in one. */
static void orphans(struct words *w, const uint8_t *b, uint32_t length)
{
    if (length == 8) say(w, " nothing");
    for (uint32_t at = 8; at + 40 <= length; at += 40) {
        say(w, at > 8 ? ";" : "");
        run(w, b + at);
        say(w, ", phase %llu, epochs %llu, %llu", (unsigned long long)hark_get64(b + at + 16),
            (unsigned long long)hark_get64(b + at + 24), (unsigned long long)hark_get64(b + at + 32));
    }
}

/* A run of messages, and the epoch in which they were received. */
static void acknowledged(struct words *w, const uint8_t *b)
{
    if (hark_get64(b + 8) < hark_get64(b)) {
        say(w, " nothing");
        return;
    }
    run(w, b);
    say(w, " in epoch %llu", (unsigned long long)hark_get64(b + 16));
}

static void sendet_control(struct words *w, uint8_t type, const uint8_t *b, uint32_t length)
{
    switch (type) {
    case HARK_H_POS:
        if (length < 48) break;
        say(w, " sent %llu, has %llu", (unsigned long long)hark_get64(b + 16),
            (unsigned long long)hark_get64(b + 24));
        break;
    case HARK_H_ORPH: orphans(w, b, length); break;
    case HARK_H_REPORT: line_report(w, b, length); break;
    case HARK_H_RELEASE: released(w, b); break;
    case HARK_H_NOTIFY: say(w, " %llu to p%u", (unsigned long long)hark_get64(b + 4), hark_get32(b)); break;
    case HARK_H_GC: say(w, " has %llu", (unsigned long long)hark_get64(b)); break;
    case HARK_H_ACK:
        for (uint32_t at = 0; at + 24 <= length; at += 24) {
            say(w, at ? ";" : "");
            acknowledged(w, b + at);
        }
        break;
    case HARK_H_EPOCH:
        say(w, " %llu, needs %llu", (unsigned long long)hark_get64(b), (unsigned long long)hark_get64(b + 8));
        break;
    case HARK_H_MIN: say(w, " %llu", (unsigned long long)hark_get64(b)); break;
    default: break;
    }
}

/* ---- any ----------------------------------------------------------------------------------------------------------- */

static bool is_scmel(uint8_t kind)
{
    return kind == HARK_KIND_SCMEL || kind == HARK_KIND_TEAM || kind == HARK_KIND_CAMEL;
}

/* Of a reduction: what a member contributes, the result that its root takes, or, between the root and the child that
 * keeps it, what all gave. */
static const char *part_of_reduction(const struct lab *lab, const uint8_t *h, uint32_t length)
{
    const uint32_t from = hark_get32(h + 4), to = hark_get32(h + 8), tree = hark_get16(h + 2) / 2 - 1;
    const bool counts =
        is_scmel(h[0]) && length >= HARK_SCMEL_HEADER && tree < lab->scenario->trees && to < lab->ranks;
    if (from == to) return "result of";
    if (!counts) return "contribution to";
    const bool whole =
        hark_get16(h + HARK_WIRE_HEAD + 2) & HARK_SCMEL_WHOLE || lab->scenario->parent[tree][to] == (int)from;
    return whole ? "all of" : "contribution to";
}

/* A message to one process; or a multicast, perhaps passed on for another; or a part of a reduction. */
static void message(const struct lab *lab, struct words *w, const uint8_t *h, uint32_t length)
{
    const uint32_t ctx = hark_get16(h + 2), from = hark_get32(h + 4);
    if (ctx) say(w, "%s ", ctx % 2 ? "multicast" : part_of_reduction(lab, h, length));
    say(w, "%llu", (unsigned long long)hark_get64(h + 24));
    if (ctx > 2) say(w, " on tree %u", (ctx + 1) / 2);
    if (ctx && from != lab->who_now) say(w, " of p%u", from);
}

static void application(const struct lab *lab, struct words *w, const uint8_t *h, uint32_t length)
{
    const uint8_t *b = h + HARK_WIRE_HEAD;
    message(lab, w, h, length);
    if ((h[0] == HARK_KIND_HYDEE && length >= HARK_HYDEE_HEADER) ||
        (h[0] == HARK_KIND_SENDET && length >= HARK_SENDET_HEADER))
        say(w, ", phase %llu", (unsigned long long)hark_get64(b));
    if (h[0] == HARK_KIND_SENDET && length >= HARK_SENDET_HEADER) {
        say(w, ", epoch %llu", (unsigned long long)hark_get64(b + 16));
        if (hark_get64(b + 40)) {
            say(w, "; ACK");
            acknowledged(w, b + 24);
        }
    }
    if (!is_scmel(h[0]) || length < HARK_SCMEL_HEADER || hark_get16(b) == 0) return;
    say(w, ",");
    determinants(w, h + HARK_SCMEL_HEADER, hark_get16(b), hark_det_bytes(hark_get32(b + 4)));
}

void carries(const struct lab *lab, struct hark_bytes header, char text[CARRIES_BYTES], char brief[CARRIES_BRIEF])
{
    struct words w = {text, 0};
    const uint8_t *h = header.at, *body = h + HARK_WIRE_HEAD;
    uint32_t length = header.length - HARK_WIRE_HEAD;
    text[0] = 0;
    if (h[1] == HARK_APP) {
        snprintf(brief, CARRIES_BRIEF, "%llu", (unsigned long long)hark_get64(h + 24));
        application(lab, &w, h, header.length);
        return;
    }
    const char *name = hark_frame_text(lab->protocol->shape, h[1]);
    snprintf(brief, CARRIES_BRIEF, "%s", name);
    say(&w, "%s", name);
    if (h[1] < 16) return; /* of a checkpoint: wave.h */
    if (is_scmel(h[0]))
        scmel_control(lab, &w, h[1], body, length);
    else if (h[0] == HARK_KIND_HYDEE)
        hydee_control(&w, h[1], body, length);
    else if (h[0] == HARK_KIND_SENDET)
        sendet_control(&w, h[1], body, length);
}
