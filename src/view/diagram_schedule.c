/* diagram_schedule.c: what only schedules have: labels of arrows, what each step did, and the
 * violation.
 *
 * A label takes the best of a few places along its arrow: never over another text, and over as few
 * arrows as can be. Where there is none it is shortened; then it is left out, and the arrow's
 * tooltip says it.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "diagram.h"
#include "words.h"

#define BOXES_MOST 512u
#define SIZE       9.0 /* px of a label's letters */

struct box {
    double x0, y0, x1, y1;
};

struct placing {
    const struct dg_layout *l;
    FILE *out;
    struct box box[BOXES_MOST];
    uint32_t boxes;
};

/* Or nearly so: words that touch read as one. */
static bool overlap(const struct box *a, const struct box *b)
{
    return a->x0 < b->x1 + 3 && b->x0 < a->x1 + 3 && a->y0 < b->y1 && b->y0 < a->y1;
}

static bool is_free(const struct placing *p, const struct box *b)
{
    if (b->x0 < p->l->left || b->x1 > p->l->width - 4 || b->y0 < p->l->top - 4 ||
        b->y1 > p->l->bottom + 4)
        return false;
    for (uint32_t i = 0; i < p->boxes; i++)
        if (overlap(&p->box[i], b)) return false;
    return true;
}

static void take(struct placing *p, double x0, double y0, double x1, double y1)
{
    if (p->boxes < BOXES_MOST) p->box[p->boxes++] = (struct box){x0, y0, x1, y1};
}

/* Of a text that ends (or, `end` false, begins) at x, with its base line at y. */
static struct box box_of(const char *text, double size, double x, double y, bool end)
{
    double wide = 0.9 * hark_diagram_text_width(text, size);
    return (struct box){end ? x - wide : x, y - 0.8 * size, end ? x : x + wide, y + 0.25 * size};
}

/* Does the line pass the box? Sampled: near enough for the eye. */
static bool passes(const struct dg_leg *a, const struct box *b)
{
    for (int i = 0; i <= 16; i++) {
        double x = a->x0 + (a->x1 - a->x0) * i / 16, y = a->y0 + (a->y1 - a->y0) * i / 16;
        if (x > b->x0 && x < b->x1 && y > b->y0 && y < b->y1) return true;
    }
    return false;
}

static int crossings(const struct placing *p, const struct box *b)
{
    int n = 0;
    for (uint32_t i = 0; i < p->l->story.messages; i++) {
        struct dg_leg leg;
        const struct dg_message *m = &p->l->story.message[i];
        if (!hark_diagram_leg_of(p->l, m, &leg)) continue;
        n += passes(&leg, b) * (m->class == DG_CONTROL ? 1 : 3);
        leg = (struct dg_leg){leg.x1, leg.y1, m->x_got, leg.y1};
        if (m->got != DG_NEVER && leg.x1 > leg.x0) n += passes(&leg, b);
    }
    for (uint32_t i = 0; i < p->l->rows; i++) n += (b->y0 < p->l->y[i] && p->l->y[i] < b->y1) * 4;
    return n;
}

/* ---- labels of arrows ------------------------------------------------------------------------ */

struct place {
    double x, y, worth;
    bool end;
};

/* The best place beside one arrow for a text, if it is better than *best. */
static void look_beside(
    const struct placing *p, const struct dg_leg *a, const char *text, struct place *best)
{
    static const double at[] = {0.3, 0.4, 0.5, 0.2, 0.6, 0.7, 0.8, 0.12};
    for (int i = 0; i < 16; i++) {
        bool end = i % 2 == (a->x1 >= a->x0); /* first the side that it does not lean to */
        double t = at[i / 2], x = a->x0 + (a->x1 - a->x0) * t + (end ? -4 : 4),
               y = a->y0 + (a->y1 - a->y0) * t + 3;
        struct box b = box_of(text, SIZE, x, y, end);
        if (!is_free(p, &b)) continue;
        double worth = -crossings(p, &b) - i * 0.11;
        if (worth > best->worth) *best = (struct place){x, y, worth, end};
    }
}

static const char *word_of(const struct dg_layout *l, const struct dg_message *m)
{
    return l->story.schedule->word[m->record].text;
}

enum { LABEL = 56 /* bytes, at most; the arrow's own title has all */ };

/* Leaves out the last part of a label. False: it has one. */
static bool shorten(char text[LABEL])
{
    char *behind = strrchr(text, ';');
    if (behind) *behind = 0;
    return behind != NULL;
}

/* As many parts as a label has room for, or of the first a piece. */
static void label_of(const struct dg_layout *l, const struct dg_message *m, char text[LABEL])
{
    const char *all = word_of(l, m);
    snprintf(text, LABEL, "%.*s", LABEL - 1, all);
    if (strlen(all) >= LABEL) (void)shorten(text);
}

/* Arrows that say the same and leave a process together have one label. */
static bool together(
    const struct dg_layout *l, const struct dg_message *a, const struct dg_message *b)
{
    return a->from == b->from && a->sent == b->sent && a->class == b->class &&
           (l->row[a->to] > l->row[a->from]) == (l->row[b->to] > l->row[b->from]) &&
           strcmp(word_of(l, a), word_of(l, b)) == 0;
}

static bool has_label(const struct dg_layout *l, uint32_t of)
{
    const struct dg_message *m = &l->story.message[of];
    for (uint32_t i = of; i-- > 0 && l->story.message[i].sent == m->sent;)
        if (together(l, m, &l->story.message[i])) return true;
    return false;
}

static bool label(struct placing *p, uint32_t of, const char *text)
{
    static const char *const class[DG_CLASSES] = {"control", "intra", "inter", "orphan", "replay"};
    const struct dg_layout *l = p->l;
    const struct dg_message *m = &l->story.message[of];
    struct place best = {0, 0, -40, false};
    if (*text == 0) return true;
    for (uint32_t i = of; i < l->story.messages && l->story.message[i].sent == m->sent; i++) {
        struct dg_leg leg;
        if (together(l, m, &l->story.message[i]) &&
            hark_diagram_leg_of(l, &l->story.message[i], &leg))
            look_beside(p, &leg, text, &best);
    }
    if (best.worth <= -40) return false;
    struct box b = box_of(text, SIZE, best.x, best.y, best.end);
    take(p, b.x0, b.y0, b.x1, b.y1);
    fprintf(p->out, "<text class=\"l l-%s%s\" x=\"%.1f\" y=\"%.1f\">", class[m->class],
        best.end ? " e" : "", best.x, best.y);
    hark_words(text, SIZE_MAX, HARK_WORDS_HEAD, p->out);
    fputs("</text>\n", p->out);
    return true;
}

/* All that it says, less of it, or a word. */
static void label_one(struct placing *p, uint32_t of)
{
    const struct dg_message *m = &p->l->story.message[of];
    char text[LABEL];
    bool placed;
    label_of(p->l, m, text);
    do placed = label(p, of, text);
    while (!placed && shorten(text));
    if (!placed) (void)label(p, of, p->l->story.schedule->word[m->record].brief);
}

/* Application messages first: they are what it is about. */
static void label_all(struct placing *p)
{
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < p->l->story.messages; i++) {
            const struct dg_message *m = &p->l->story.message[i];
            if (!m->shown || (m->class == DG_CONTROL) != (pass == 1) || has_label(p->l, i))
                continue;
            label_one(p, i);
        }
    }
}

/* ---- notes ----------------------------------------------------------------------------------- */

static void mark_boxes(struct placing *p)
{
    const struct dg_layout *l = p->l;
    for (uint32_t i = 0; i < l->story.marks; i++) {
        const struct dg_mark *m = &l->story.mark[i];
        if (!m->shown || m->rank >= l->story.trace->job.ranks) continue;
        double y = l->y[l->row[m->rank]];
        if (m->kind == HARK_TRACE_START) continue;
        take(p, m->x - 8, y - 8, m->x + 8, y + 8);
        if (m->kind == HARK_TRACE_RESTART) take(p, m->x - 22, y + 11, m->x + 22, y + 21);
    }
}

static void phases(struct placing *p)
{
    const struct dg_layout *l = p->l;
    for (uint32_t i = 0; i < l->story.phases; i++) {
        const struct dg_phase *f = &l->story.phase[i];
        char text[24];
        if (f->phase == HARK_INFINITY) continue;
        snprintf(text, sizeof text, "%" PRIu64, f->phase);
        double x = hark_diagram_x(l, f->time) + 2, y = l->y[l->row[f->rank]] - 10;
        struct box b = box_of(text, SIZE, x, y, false);
        take(p, b.x0, b.y0, b.x1, b.y1);
        fprintf(p->out, "<text class=\"phase\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x, y, text);
    }
}

/* What a process did, below its line or, if something is there, further below or above. */
static void steps(struct placing *p)
{
    static const double below[] = {13, 21, -5, -14, 29};
    const struct hark_diagram_schedule *plan = p->l->story.schedule;
    for (uint32_t i = 0; i < plan->notes; i++) {
        const struct hark_diagram_note *n = &plan->note[i];
        double x = hark_diagram_x(p->l, n->time), y = p->l->y[p->l->row[n->rank]],
               half = 0.45 * hark_diagram_text_width(n->text, SIZE);
        if (n->kind != HARK_NOTE_STEP) continue;
        for (size_t k = 0; k < sizeof below / sizeof *below; k++) {
            struct box b = box_of(n->text, SIZE, x - half, y + below[k], false);
            if (!is_free(p, &b)) continue;
            take(p, b.x0, b.y0, b.x1, b.y1);
            fprintf(p->out, "<text class=\"l l-step\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x,
                y + below[k], n->text);
            break;
        }
    }
}

static void told(struct placing *p)
{
    const struct hark_diagram_schedule *plan = p->l->story.schedule;
    for (uint32_t i = 0; i < plan->notes; i++) {
        const struct hark_diagram_note *n = &plan->note[i];
        double x = hark_diagram_x(p->l, n->time), y = p->l->y[p->l->row[n->rank]];
        if (n->kind != HARK_NOTE_TOLD) continue;
        take(p, x - 4, y - 4, x + 4, y + 4);
        fprintf(p->out, "<circle class=\"told\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n", x, y);
    }
}

/* ---- the violation --------------------------------------------------------------------------- */

static void stops(struct placing *p, double *lowest)
{
    const struct hark_diagram_schedule *plan = p->l->story.schedule;
    for (uint32_t i = 0; i < plan->notes; i++) {
        const struct hark_diagram_note *n = &plan->note[i];
        double x = hark_diagram_x(p->l, n->time), y = p->l->y[p->l->row[n->rank]];
        if (n->kind != HARK_NOTE_STOP) continue;
        if (y > *lowest) *lowest = y;
        take(p, x - 11, y - 11, x + 11, y + 11);
        fprintf(p->out,
            "<circle class=\"stop\" style=\"fill:none\" cx=\"%.1f\" cy=\"%.1f\" r=\"10\"/>\n", x,
            y);
        if (n->text[0] == 0) continue;
        struct box b = box_of(n->text, 10, p->l->right, y + 24, true);
        take(p, b.x0, b.y0, b.x1, b.y1);
        fprintf(p->out, "<text class=\"why e\" x=\"%.1f\" y=\"%.1f\">", p->l->right, y + 24);
        hark_words(n->text, SIZE_MAX, HARK_WORDS_HEAD, p->out);
        fputs("</text>\n", p->out);
    }
}

static void violated(struct placing *p)
{
    const struct hark_diagram_schedule *plan = p->l->story.schedule;
    double lowest = 0;
    if (plan->violated == NULL) return;
    double x = hark_diagram_x(p->l, plan->violated_at),
           wide = hark_diagram_text_width(plan->violated, 12);
    stops(p, &lowest);
    double right = x + wide / 2 < p->l->right ? x + wide / 2 : p->l->right;
    fprintf(p->out, "<path class=\"because\" d=\"M%.1f %.1fV%.1f\"/>\n", x, p->l->top - 36,
        lowest > 0 ? lowest - 10 : p->l->bottom);
    fprintf(p->out, "<text class=\"violated e\" x=\"%.1f\" y=\"%.1f\">", right, p->l->top - 40);
    hark_words(plan->violated, SIZE_MAX, HARK_WORDS_HEAD, p->out);
    fputs("</text>\n", p->out);
}

void hark_diagram_draw_schedule(const struct dg_layout *l, FILE *out)
{
    struct placing p = {.l = l, .out = out, .boxes = 0};
    mark_boxes(&p);
    violated(&p);
    told(&p);
    phases(&p);
    steps(&p);
    label_all(&p);
}
