/* diagram_draw.c: the ground, the lines of the processes, and what is marked on them. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagram.h"

/* ---- ground ---------------------------------------------------------------------------------- */

/* Of a schedule: processes with their programs; who is in one cluster is in one band. */
static void draw_band(const struct dg_layout *l, uint32_t first, uint32_t end, bool dark, FILE *out)
{
    const struct hark_diagram_schedule *plan = l->story.schedule;
    double pad = l->pitch * 0.5, y0 = l->y[first] - pad;
    fprintf(out,
        "<rect class=\"band%s\" x=\"12\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\"/>\n",
        dark ? " odd" : "", y0, l->right - 12, l->y[end - 1] + pad - y0);
    for (uint32_t k = first; k < end; k++) {
        double x = l->left - 6, y = l->y[k];
        fprintf(out, "<text class=\"rank\" x=\"%.1f\" y=\"%.1f\" font-size=\"12\">%s</text>\n", x,
            y - 2, plan->name[l->rank[k]]);
        fprintf(out, "<text class=\"program\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x, y + 11,
            plan->program[l->rank[k]]);
    }
}

static void draw_bands(const struct dg_layout *l, FILE *out)
{
    double pad = l->pitch * 0.5, size = l->pitch > 30 ? 12 : l->pitch > 20 ? 10 : 9;
    bool dark = false;
    for (uint32_t i = 0, j; i < l->rows; i = j) {
        uint32_t cluster = hark_diagram_cluster(l->story.trace, l->rank[i]);
        for (j = i; j < l->rows && hark_diagram_cluster(l->story.trace, l->rank[j]) == cluster;)
            j++;
        double y0 = l->y[i] - pad, y1 = l->y[j - 1] + pad;
        if (l->story.schedule != NULL) {
            draw_band(l, i, j, dark, out);
            dark = !dark;
            continue;
        }
        fprintf(out,
            "<rect class=\"band%s\" x=\"12\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
            "rx=\"4\"/>\n",
            dark ? " odd" : "", y0, l->right - 12, y1 - y0);
        fprintf(out,
            "<text class=\"cluster\" x=\"20\" y=\"%.1f\" font-size=\"%.0f\">cluster %" PRIu32
            "</text>\n",
            (y0 + y1) / 2 + size * 0.35, size < 12 ? size : 11, cluster);
        for (uint32_t k = i; k < j; k++)
            fprintf(out,
                "<text class=\"rank\" x=\"%.1f\" y=\"%.1f\" font-size=\"%.0f\">p%" PRIu32
                "</text>\n",
                l->left - 6, l->y[k] + size * 0.35, size, l->rank[k]);
        dark = !dark;
    }
}

/* Where a span is, as far as there is room for it. */
static bool in_picture(const struct dg_layout *l, const struct dg_span *s, double *x0, double *x1)
{
    if (l->row[s->rank] == DG_NONE) return false;
    *x0 = hark_diagram_x(l, s->from);
    *x1 = hark_diagram_x(l, s->to);
    return *x1 > *x0;
}

static void draw_lost(const struct dg_layout *l, FILE *out)
{
    double x0, x1, high = l->pitch > 30 ? 15 : l->pitch * 0.4;
    for (uint32_t i = 0; i < l->story.spans; i++) {
        const struct dg_span *s = &l->story.span[i];
        if (s->kind != DG_LOST || !in_picture(l, s, &x0, &x1)) continue;
        fprintf(out,
            "<rect class=\"lost\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", x0,
            l->y[l->row[s->rank]] - high, x1 - x0, 2 * high);
    }
}

/* Shortened pauses: a paler strip through all lines, so that nobody takes it for a moment. */
static void draw_gaps(const struct dg_layout *l, FILE *out)
{
    for (uint32_t i = 0; i < l->gaps; i++) {
        double x = (l->gap[i].x0 + l->gap[i].x1) / 2;
        fprintf(out, "<rect class=\"gap\" x=\"%.1f\" y=\"%.1f\" width=\"8\" height=\"%.1f\"/>\n",
            x - 4, l->top, l->bottom - l->top);
    }
}

/* The run before and behind the window: its lines, and no messages. */
static void draw_rests(const struct dg_layout *l, FILE *out)
{
    const double edge[2][2] = {{l->left, l->first}, {l->last, l->right}};
    for (int i = 0; i < 2; i++) {
        if (edge[i][1] <= edge[i][0]) continue;
        fprintf(out,
            "<rect class=\"rest\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
            edge[i][0], l->top, edge[i][1] - edge[i][0], l->bottom - l->top);
        fprintf(out, "<path class=\"border\" d=\"M%.1f %.1fV%.1f\"/>\n", edge[i][1 - i], l->top,
            l->bottom + 6);
    }
}

void hark_diagram_draw_ground(const struct dg_layout *l, FILE *out)
{
    draw_bands(l, out);
    draw_rests(l, out);
    draw_gaps(l, out);
    draw_lost(l, out);
}

/* ---- lines ----------------------------------------------------------------------------------- */

void hark_diagram_draw_lines(const struct dg_layout *l, FILE *out)
{
    static const char *const word[] = {"alive", "dead", "", "redo"};
    static const uint8_t order[] = {DG_DEAD, DG_REDO, DG_ALIVE};
    double x0, x1;
    for (int pass = 0; pass < 3; pass++) {
        for (uint32_t i = 0; i < l->story.spans; i++) {
            const struct dg_span *s = &l->story.span[i];
            if (s->kind != order[pass] || !in_picture(l, s, &x0, &x1)) continue;
            fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/>\n", word[s->kind], x0,
                l->y[l->row[s->rank]], x1);
        }
    }
}

/* ---- marks ----------------------------------------------------------------------------------- */

static void draw_checkpoint(const struct dg_mark *m, double y, FILE *out)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRIu64, m->id);
    double half = fmax(7.5, hark_diagram_text_width(number, 10) / 2 + 3);
    fprintf(out, "<rect class=\"ck%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"15\"/>\n",
        m->committed ? "" : " open", m->x - half, y - 7.5, 2 * half);
    fprintf(out, "<text class=\"number\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", m->x, y + 3.5, number);
}

/* A short dashed stub towards the process that already has the message, and a bar: it goes no
 * further. */
static void draw_suppress(const struct dg_layout *l, const struct dg_mark *m, double y, FILE *out)
{
    if (m->peer >= l->story.trace->job.ranks) return;
    uint32_t row = l->row[m->peer];
    bool down = row == DG_NONE ? m->peer > m->rank : l->y[row] > y;
    double dy = (down ? 1 : -1) * fmin(19, l->pitch * 0.4);
    fprintf(out,
        "<path class=\"s\" d=\"M%.1f %.1fl7 %.1f\"/><path class=\"s bar\" d=\"M%.1f %.1fh9\"/>\n",
        m->x, y, dy, m->x + 2.5, y + dy);
}

static void draw_restart(const struct dg_layout *l, const struct dg_mark *m, double y, FILE *out)
{
    fprintf(out, "<path class=\"restart\" d=\"M%.1f %.1fv16l11-8z\"/>\n", m->x - 4, y - 8);
    if (l->pitch < 30) return;
    if (m->id > 0)
        fprintf(out, "<text class=\"note\" x=\"%.1f\" y=\"%.1f\">from %" PRIu64 "</text>\n", m->x,
            y + 19, m->id);
    else
        fprintf(
            out, "<text class=\"note\" x=\"%.1f\" y=\"%.1f\">from start</text>\n", m->x, y + 19);
}

/* Whose cluster it is in from here on, by the lowest rank of it. */
static void draw_cluster(const struct dg_layout *l, const struct dg_mark *m, double y, FILE *out)
{
    if (!dg_says_cluster(l)) return;
    fprintf(out, "<text class=\"joins\" x=\"%.1f\" y=\"%.1f\">\xe2\x86\x92 p%" PRIu32 "</text>\n",
        m->x + 3, y + 11, m->peer);
}

static void draw_mark(const struct dg_layout *l, const struct dg_mark *m, FILE *out)
{
    double y = l->y[l->row[m->rank]], x = m->x;
    switch (m->kind) {
    case HARK_TRACE_START:
    case HARK_TRACE_FINISH:
        fprintf(out, "<path class=\"end\" d=\"M%.1f %.1fv12\"/>\n", x, y - 6);
        break;
    case HARK_TRACE_CHECKPOINT: draw_checkpoint(m, y, out); break;
    case HARK_TRACE_COMMIT:
        fprintf(out, "<path class=\"commit\" d=\"M%.1f %.1fv10\"/>\n", x, y - 5);
        break;
    case HARK_TRACE_KILL:
        fprintf(out, "<path class=\"kill\" d=\"M%.1f %.1fl16 16m0-16l-16 16\"/>\n", x - 8, y - 8);
        break;
    case HARK_TRACE_ROLLBACK:
        fprintf(out, "<path class=\"rollback\" d=\"M%.1f %.1fv12l-9-6z\"/>\n", x + 4, y - 6);
        break;
    case HARK_TRACE_RESTART: draw_restart(l, m, y, out); break;
    case HARK_TRACE_SUPPRESS: draw_suppress(l, m, y, out); break;
    case HARK_TRACE_RECOVERED:
        fprintf(out, "<path class=\"recovered\" d=\"M%.1f %.1fl6 6l-6 6l-6-6z\"/>\n", x, y - 6);
        break;
    case HARK_TRACE_DIVERGED:
        fprintf(out,
            "<path class=\"diverged\" d=\"M%.1f %.1fl8 14h-16z\"/><text class=\"bang\" x=\"%.1f\" "
            "y=\"%.1f\">!"
            "</text>\n",
            x, y - 9, x, y + 4);
        break;
    case HARK_TRACE_CLUSTER: draw_cluster(l, m, y, out); break;
    default: break;
    }
}

/* ---- what concerns everyone ------------------------------------------------------------------ */

/* "2-3,6": the D of announcement `re`, which may have come in several records. */
static void failed_text(const struct dg_story *s, uint32_t first, char *text, size_t room)
{
    const struct dg_mark *f = &s->mark[first];
    size_t n = (size_t)snprintf(text, room, "failure %" PRIu64 ", back: ", f->id);
    const char *comma = "";
    for (uint32_t i = first; i < s->marks && n + 40 < room; i++) {
        const struct dg_mark *m = &s->mark[i];
        if (m->kind != HARK_TRACE_FAILED || m->id != f->id) continue;
        if (m->rank != f->rank || m->time != f->time || m->peer == HARK_RECOVERY) continue;
        n += (size_t)snprintf(text + n, room - n, "%s%" PRIu32, comma, m->peer);
        if (m->last > m->peer) n += (size_t)snprintf(text + n, room - n, "-%" PRIu32, m->last);
        comma = ",";
    }
    if (*comma == 0) snprintf(text + n, room - n, "nobody");
}

/* busy: of two lines, one above the other; only schedules have the second. */
static void draw_vertical(const struct dg_layout *l, double x, const char *class, const char *text,
    double busy[2], FILE *out)
{
    double width = hark_diagram_text_width(text, 10),
           at = x + width > l->right ? l->right - width : x;
    fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fV%.1f\"/>\n", class, x, l->top - 20, l->bottom);
    bool below = l->story.schedule != NULL && at < busy[0]; /* where a run has its releases */
    if (at < busy[below]) return;
    fprintf(out, "<text class=\"lane\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", below ? at + 4 : at,
        l->top - (below ? 9 : 23), text);
    busy[below] = at + width + 6;
}

/* `room` is how far it is to the next release, px: a number that would be cut is left out. */
static void draw_release(
    const struct dg_layout *l, const struct dg_mark *m, double room, double *busy, FILE *out)
{
    char text[40];
    if (m->x < *busy) return;
    if (m->phase == HARK_INFINITY) snprintf(text, sizeof text, "all");
    else snprintf(text, sizeof text, "%" PRIu64, m->phase);
    fprintf(out, "<path class=\"release\" d=\"M%.1f %.1fh8l-4 6z\"/>\n", m->x - 4, l->top - 10);
    *busy = m->x + 5;
    double width = 6 + hark_diagram_text_width(text, 10) + 5;
    if (width > room) return;
    fprintf(
        out, "<text class=\"lane\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", m->x + 6, l->top - 4, text);
    *busy = m->x + width;
}

static double next_release(const struct dg_layout *l, uint32_t i)
{
    double x = l->story.mark[i].x;
    while (++i < l->story.marks)
        if (l->story.mark[i].kind == HARK_TRACE_RELEASE && l->story.mark[i].shown &&
            l->story.mark[i].x > x + 5)
            return l->story.mark[i].x - x;
    return l->last - x;
}

static void draw_common(const struct dg_layout *l, FILE *out)
{
    double busy[2] = {0, 0}, busy_release = 0;
    uint64_t re = UINT64_MAX, changed = UINT64_MAX;
    char text[160];
    for (uint32_t i = 0; i < l->story.marks; i++) {
        const struct dg_mark *m = &l->story.mark[i];
        if (!m->shown) continue;
        if (m->kind == HARK_TRACE_RELEASE)
            draw_release(l, m, next_release(l, i), &busy_release, out);
        if (m->kind == HARK_TRACE_RECOVERED && m->rank >= l->story.trace->job.ranks)
            draw_vertical(l, m->x, "all", "recovered", busy, out);
        if (m->kind == HARK_TRACE_CLUSTER && m->id != changed) {
            changed = m->id;
            snprintf(text, sizeof text, "clusters change at checkpoint %" PRIu64, m->id);
            draw_vertical(l, m->x, "change", text, busy, out);
        }
        if (m->kind != HARK_TRACE_FAILED || m->id == re) continue;
        re = m->id;
        failed_text(&l->story, i, text, sizeof text);
        draw_vertical(l, m->x, "failed", text, busy, out);
    }
}

/* ---- phases ---------------------------------------------------------------------------------- */

static void draw_phases(const struct dg_layout *l, FILE *out)
{
    if (l->pitch < 30 || l->story.schedule != NULL)
        return; /* a schedule's labels find their places together */
    double busy[DG_ROWS_MOST] = {0};
    for (uint32_t i = 0; i < l->story.phases; i++) {
        const struct dg_phase *p = &l->story.phase[i];
        uint32_t row = l->row[p->rank];
        if (row == DG_NONE || p->time < l->from || p->time > l->to) continue;
        char text[24];
        double x = hark_diagram_x(l, p->time) + 1;
        snprintf(text, sizeof text, "%" PRIu64, p->phase);
        double width = hark_diagram_text_width(text, 9);
        if (p->phase == HARK_INFINITY || x < busy[row] || x + width > l->last) continue;
        fprintf(out, "<text class=\"phase\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x, l->y[row] - 10,
            text);
        busy[row] = x + width + (l->light ? 30 : 3);
    }
}

/* Outside of a window that nobody asked for: where a process begins, dies and ends. */
static void draw_far_marks(const struct dg_layout *l, FILE *out)
{
    for (uint32_t i = 0; l->chosen && i < l->story.marks; i++) {
        struct dg_mark m = l->story.mark[i];
        const bool told =
            m.kind == HARK_TRACE_START || m.kind == HARK_TRACE_FINISH || m.kind == HARK_TRACE_KILL;
        if (m.shown || !told || m.rank >= l->story.trace->job.ranks || l->row[m.rank] == DG_NONE)
            continue;
        m.x = hark_diagram_x(l, m.time);
        draw_mark(l, &m, out);
    }
}

void hark_diagram_draw_marks(const struct dg_layout *l, FILE *out)
{
    draw_common(l, out);
    draw_phases(l, out);
    draw_far_marks(l, out);
    /* The kill comes last: it is what the reader looks for. */
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < l->story.marks; i++) {
            const struct dg_mark *m = &l->story.mark[i];
            if (!m->shown || m->rank >= l->story.trace->job.ranks) continue;
            if ((m->kind == HARK_TRACE_KILL) == (pass == 1)) draw_mark(l, m, out);
        }
    }
}
