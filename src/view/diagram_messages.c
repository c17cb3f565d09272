/* diagram_messages.c: arrows.
 *
 * Inside of the class attribute stands what an arrow is (`m inter`, `m orphan`, ...), so that a
 * style sheet, or a test, can tell them apart.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "diagram.h"
#include "words.h"

static const char *const class_word[DG_CLASSES] = {"control", "intra", "inter", "orphan", "replay"};

struct line {
    double x0, y0, x1, y1;
};

/* From tail to head; what lies outside of the window is cut off at its border, half way. */
static struct line arrow(const struct dg_layout *l, const struct dg_message *m)
{
    struct line a = {m->x_sent, l->y[l->row[m->from]], m->x_got, l->y[l->row[m->to]]};
    if (m->sent < l->from) {
        a.x0 = l->first;
        a.y0 = a.y1 + (a.y0 - a.y1) * 0.5;
    }
    if (m->got != DG_NEVER && m->got > l->to) {
        a.x1 = l->last;
        a.y1 = a.y0 + (a.y1 - a.y0) * 0.5;
    }
    return a;
}

static void title(const struct dg_layout *l, const struct dg_message *m, FILE *out)
{
    double zero = (double)l->story.start;
    const struct hark_diagram_schedule *plan = l->story.schedule;
    if (plan != NULL) {
        fputs("<title>", out);
        hark_words(plan->word[m->record].text, SIZE_MAX, HARK_WORDS_HEAD, out);
        fprintf(out, ", step %" PRIu64, (m->sent - l->story.start) / plan->step);
        if (m->got != DG_NEVER)
            fprintf(out, " to %" PRIu64, (m->got - l->story.start) / plan->step);
        fputs("</title>", out);
        return;
    }
    fprintf(out,
        "<title>%s %" PRIu32 " to %" PRIu32 ", ctx %u, ssn %" PRIu64 ", phase %" PRIu64 ", %" PRIu64
        " bytes, %.3f ms",
        class_word[m->class], m->from, m->to, m->ctx, m->ssn, m->phase, m->bytes,
        ((double)m->sent - zero) / 1e6);
    if (m->got != DG_NEVER) fprintf(out, " to %.3f ms", ((double)m->got - zero) / 1e6);
    fputs("</title>", out);
}

bool hark_diagram_leg_of(const struct dg_layout *l, const struct dg_message *m, struct dg_leg *leg)
{
    double arrived, y = l->y[l->row[m->from]], to = l->y[l->row[m->to]];
    if (m->sent < l->from || m->from == m->to) return false;
    *leg = (struct dg_leg){m->x_sent, y, m->x_got, to};
    if (m->got == DG_NEVER) {
        leg->x1 = leg->x0 + 9;
        leg->y1 = y + fmin(0.42 * l->pitch, 0.5 * fabs(to - y)) * (to > y ? 1 : -1);
    } else if (hark_diagram_waited(l, m, &arrived)) { /* it lies beside the line until it is taken
                                                       */
        leg->x1 = arrived;
        leg->y1 = to + (y < to ? -1 : 1) * fmin(6, l->pitch * 0.15);
    }
    return true;
}

/* Sent to a process that died, or still on its way at the end: a stub with an open end. */
static void draw_flying(const struct dg_layout *l, const struct dg_message *m, FILE *out)
{
    struct dg_leg leg;
    if (!hark_diagram_leg_of(l, m, &leg)) return;
    fprintf(out, "<path class=\"f %s\" d=\"M%.1f %.1fl%.1f %.1fm-3-3l6 6m0-6l-6 6\"/>\n",
        class_word[m->class], leg.x0, leg.y0, leg.x1 - leg.x0, leg.y1 - leg.y0);
}

static void draw_one(const struct dg_layout *l, const struct dg_message *m, FILE *out)
{
    double arrived;
    if (m->got == DG_NEVER) {
        draw_flying(l, m, out);
        return;
    }
    struct line a = arrow(l, m);
    fprintf(out, "<path class=\"m %s%s%s\" d=\"", class_word[m->class], m->undone ? " undone" : "",
        m->fate == DG_DISCARDED ? " discarded"
        : m->fate == DG_ARRIVED ? " waiting"
                                : "");
    if (m->from == m->to) /* a process may write to itself */
        fprintf(out, "M%.1f %.1fQ%.1f %.1f %.1f %.1f", a.x0, a.y0, (a.x0 + a.x1) / 2,
            a.y0 - l->pitch * 0.7, a.x1, a.y1);
    else if (hark_diagram_waited(l, m, &arrived)) { /* it lies beside the line until it is taken */
        double beside = a.y1 + (a.y0 < a.y1 ? -1 : 1) * fmin(6, l->pitch * 0.15);
        fprintf(out, "M%.1f %.1fL%.1f %.1fH%.1fL%.1f %.1f", a.x0, a.y0, arrived, beside, a.x1 - 6,
            a.x1, a.y1);
    } else fprintf(out, "M%.1f %.1fL%.1f %.1f", a.x0, a.y0, a.x1, a.y1);
    if (l->light) {
        fputs("\"/>\n", out);
        return;
    }
    fputs("\">", out);
    title(l, m, out);
    fputs("</path>\n", out);
}

static void draw_singly(const struct dg_layout *l, FILE *out)
{
    const struct dg_story *s = &l->story;
    for (int pass = 0; pass < 2 * DG_CLASSES; pass++) { /* what was undone lies behind what counts
                                                         */
        bool undone = pass < DG_CLASSES;
        for (uint32_t i = 0; i < s->messages; i++) {
            const struct dg_message *m = &s->message[i];
            if (m->shown && m->class == pass % DG_CLASSES && m->undone == undone)
                draw_one(l, m, out);
        }
    }
}

/* ---- several messages as one arrow ----------------------------------------------------------- */

struct bundle {
    uint32_t from, to; /* rows */
    uint32_t bin;      /* of the tail's x */
    uint32_t count;
    uint8_t class;
    bool undone;
    double x0, x1;
};

static int by_bundle(const void *a, const void *b)
{
    const struct bundle *x = a, *y = b;
    if (x->undone != y->undone) return x->undone ? -1 : 1;
    if (x->class != y->class) return x->class < y->class ? -1 : 1;
    if (x->bin != y->bin) return x->bin < y->bin ? -1 : 1;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

/* Sums up what has its bin in common; returns how many are left. */
static uint32_t bind(struct bundle *b, uint32_t count)
{
    uint32_t n = 0;
    qsort(b, count, sizeof *b, by_bundle);
    for (uint32_t i = 0; i < count; i++) {
        if (n > 0 && by_bundle(&b[n - 1], &b[i]) == 0) {
            b[n - 1].count += b[i].count;
            b[n - 1].x0 += b[i].x0;
            b[n - 1].x1 += b[i].x1;
        } else {
            b[n++] = b[i];
        }
    }
    return n;
}

static uint32_t collect(const struct dg_layout *l, struct bundle *b)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->story.messages; i++) {
        const struct dg_message *m = &l->story.message[i];
        if (!m->shown || m->got == DG_NEVER || m->sent < l->from || m->got > l->to) continue;
        double arrived, head = hark_diagram_waited(l, m, &arrived) ? arrived : m->x_got;
        b[n++] = (struct bundle){.from = l->row[m->from],
            .to = l->row[m->to],
            .bin = (uint32_t)(m->x_sent / 6),
            .count = 1,
            .class = m->class,
            .undone = m->undone,
            .x0 = m->x_sent,
            .x1 = head};
    }
    return n;
}

static int draw_bundled(const struct dg_layout *l, FILE *out)
{
    struct bundle *b = calloc((size_t)l->shown + 1, sizeof *b);
    if (b == NULL) return HARK_TRACE_ESYSTEM;
    uint32_t n = bind(b, collect(l, b));
    for (int width = 12; n > DG_SINGLE && width < 400; width *= 2) {
        for (uint32_t i = 0; i < n; i++) b[i].bin /= 2;
        n = bind(b, n);
    }
    for (uint32_t i = 0; i < n; i++) {
        double x0 = b[i].x0 / b[i].count, x1 = b[i].x1 / b[i].count;
        fprintf(out,
            "<path class=\"m %s%s\" style=\"stroke-width:%.1f\" d=\"M%.1f %.1fL%.1f "
            "%.1f\"><title>%" PRIu32 " messages</title></path>\n",
            class_word[b[i].class], b[i].undone ? " undone" : "", 0.6 + 0.35 * log2(b[i].count), x0,
            l->y[b[i].from], x1, l->y[b[i].to], b[i].count);
    }
    free(b);
    return HARK_TRACE_OK;
}

/* Posted at once, transmitted only when its phase was released (HydEE III.D). */
static void draw_held(const struct dg_layout *l, FILE *out)
{
    for (uint32_t i = 0; i < l->story.messages; i++) {
        const struct dg_message *m = &l->story.message[i];
        if (!m->shown || m->posted >= m->sent || m->sent > l->to) continue;
        double x0 = m->posted >= l->from ? m->x_posted : l->first,
               x1 = m->sent >= l->from ? m->x_sent : l->first;
        if (x1 - x0 > 8)
            fprintf(out, "<path class=\"held\" d=\"M%.1f %.1fH%.1f\"/>\n", x0,
                l->y[l->row[m->from]], x1);
    }
    const struct hark_diagram_schedule *plan = l->story.schedule;
    for (uint32_t i = 0; plan != NULL && i < plan->notes; i++) {
        const struct hark_diagram_note *n = &plan->note[i];
        if (n->kind != HARK_NOTE_HELD) continue;
        fprintf(out, "<path class=\"held\" d=\"M%.1f %.1fH%.1f\"/>\n", hark_diagram_x(l, n->time),
            l->y[l->row[n->rank]], hark_diagram_x(l, n->until));
    }
}

int hark_diagram_draw_messages(const struct dg_layout *l, FILE *out)
{
    draw_held(l, out);
    fprintf(out, "<g class=\"%s\">\n", l->light ? "messages light" : "messages");
    int status = HARK_TRACE_OK;
    if (l->shown > DG_SINGLE) status = draw_bundled(l, out);
    else draw_singly(l, out);
    fputs("</g>\n", out);
    return status;
}
