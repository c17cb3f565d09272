/* diagram_legend.c: the words around the picture: title, axis, legend. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

#include "diagram.h"
#include "words.h"

double hark_diagram_text_width(const char *text, double size)
{
    return 0.6 * size * (double)hark_words_length(text); /* wide for a sans font, so that nothing
                                                            touches */
}

/* ---- axis ------------------------------------------------------------------------------------ */

/* The roundest number of ns in low .. high, and the step it is a multiple of. */
static uint64_t roundest(uint64_t low, uint64_t high, uint64_t *step)
{
    static const uint64_t digits[] = {5, 2, 1};
    for (uint64_t power = 1000000000000000; power > 0; power /= 10) {
        for (int i = 0; i < 3; i++) {
            uint64_t s = digits[i] * power, n = low / s + (low % s != 0);
            if (n > high / s) continue;
            *step = s;
            return n * s;
        }
    }
    *step = 1;
    return low;
}

static void draw_tick(
    const struct dg_layout *l, uint64_t ns, uint64_t step, double *busy, FILE *out)
{
    char text[40];
    int decimals = 0;
    for (uint64_t unit = 1000000; unit > 1 && step % unit != 0; unit /= 10) decimals++;
    double x = hark_diagram_x(l, ns + l->story.start);
    snprintf(text, sizeof text, "%.*f", decimals, (double)ns / 1e6);
    double half = hark_diagram_text_width(text, 10) / 2;
    if (x - half < *busy || x > l->right) return;
    fprintf(out,
        "<path class=\"tick\" d=\"M%.1f %.1fv5\"/><text class=\"time\" x=\"%.1f\" "
        "y=\"%.1f\">%s</text>\n",
        x, l->bottom + 6, x, l->bottom + 22, text);
    *busy = x + half + 10;
}

static void gap_text(const struct dg_gap *g, char *text, size_t room)
{
    double ms = (double)(g->to - g->from) / 1e6;
    if (ms >= 1000) snprintf(text, room, "%.1f s", ms / 1000);
    else if (ms >= 10) snprintf(text, room, "%.0f ms", ms);
    else if (ms >= 0.1) snprintf(text, room, "%.1f ms", ms);
    else snprintf(text, room, "%.0f us", ms * 1000);
}

static void draw_breaks(const struct dg_layout *l, FILE *out)
{
    double y = l->bottom + 6, busy = dg_before(l) > 0 ? l->first : 0;
    for (uint32_t i = 0; i < l->gaps; i++) {
        double x = (l->gap[i].x0 + l->gap[i].x1) / 2;
        char text[32];
        gap_text(&l->gap[i], text, sizeof text);
        fprintf(out,
            "<rect class=\"paper\" x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"4\"/>"
            "<path class=\"tick\" d=\"M%.1f %.1fl3-8m3 8l3-8\"/>\n",
            x - 3, y - 2, x - 5, y + 4);
        double half = hark_diagram_text_width(text, 9) / 2;
        if (x - half < busy || (dg_behind(l) > 0 && x + half > l->last)) continue;
        fprintf(out, "<text class=\"pause\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x, y + 30, text);
        busy = x + half + 6;
    }
}

/* Messages sent in a part of the run, end included. */
static uint32_t sent_in(const struct dg_story *s, uint64_t from, uint64_t to)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->messages; i++)
        n += !s->message[i].shown && s->message[i].sent >= from && s->message[i].sent <= to;
    return n;
}

/* What is before the window and behind it, where nobody asked for one. */
static void draw_rest(const struct dg_layout *l, double x0, double x1, uint32_t messages, FILE *out)
{
    char text[48];
    snprintf(
        text, sizeof text, "%" PRIu32 " message%s not drawn", messages, messages == 1 ? "" : "s");
    if (hark_diagram_text_width(text, 9) > x1 - x0) snprintf(text, sizeof text, "not drawn");
    if (x1 > x0)
        fprintf(out, "<text class=\"pause\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", (x0 + x1) / 2,
            l->bottom + 36, text);
}

/* How long the run took, which is no round number. */
static void draw_end(const struct dg_layout *l, FILE *out)
{
    const double ms = (double)(l->story.end - l->story.start) / 1e6;
    char text[40];
    snprintf(text, sizeof text, ms < 1000 ? "%.4g" : "%.0f", ms);
    fprintf(out,
        "<path class=\"tick\" d=\"M%.1f %.1fv5\"/><text class=\"time\" x=\"%.1f\" "
        "y=\"%.1f\">%s</text>\n",
        l->right, l->bottom + 6, l->right, l->bottom + 22, text);
}

/* A schedule counts its steps. */
static void draw_steps(const struct dg_layout *l, FILE *out)
{
    const struct hark_diagram_schedule *plan = l->story.schedule;
    uint64_t last = plan->end / plan->step - 1;
    uint64_t every = l->column >= 16 ? 1 : l->column >= 8 ? 2 : 5;
    fprintf(out, "<text class=\"rank\" x=\"%.1f\" y=\"%.1f\" font-size=\"10\">step</text>\n",
        l->left - 6, l->bottom + 22);
    for (uint64_t k = every; k <= last; k += every) {
        double x = hark_diagram_x(l, l->story.start + k * plan->step);
        fprintf(out, "<path class=\"tick\" d=\"M%.1f %.1fv5\"/>", x, l->bottom + 6);
        fprintf(out, "<text class=\"time\" x=\"%.1f\" y=\"%.1f\">%" PRIu64 "</text>\n", x,
            l->bottom + 22, k);
    }
}

void hark_diagram_draw_axis(const struct dg_layout *l, FILE *out)
{
    const struct dg_story *s = &l->story;
    double busy = l->left - 10;
    fprintf(
        out, "<path class=\"axis\" d=\"M%.1f %.1fH%.1f\"/>\n", l->left, l->bottom + 6, l->right);
    if (l->story.schedule != NULL) {
        draw_steps(l, out);
        return;
    }
    fprintf(out, "<text class=\"rank\" x=\"%.1f\" y=\"%.1f\" font-size=\"10\">time, ms</text>\n",
        l->left - 20, l->bottom + 22);
    const double end = dg_behind(l) > 0 ? l->right - 72 : l->right - 12;
    for (double x = l->left + 24; x <= end; x += 72) {
        uint64_t step, low = hark_diagram_time(l, x - 24) - l->story.start,
                       high = hark_diagram_time(l, x + 24) - l->story.start;
        uint64_t ns = roundest(low, high, &step);
        draw_tick(l, ns, step, &busy, out);
    }
    if (dg_behind(l) > 0) draw_end(l, out);
    draw_rest(l, l->left, l->first, sent_in(s, s->start, l->from), out);
    draw_breaks(l, out);
    draw_rest(l, l->last, l->right, sent_in(s, l->to, s->end), out);
}

/* ---- title ----------------------------------------------------------------------------------- */

struct text {
    char at[400];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(t->at + t->length, sizeof t->at - t->length, format, list);
    va_end(list);
    if (n > 0)
        t->length = t->length + (size_t)n < sizeof t->at ? t->length + (size_t)n : sizeof t->at - 1;
}

static uint32_t count_marks(const struct dg_layout *l, uint8_t kind, const struct dg_mark **first,
    const struct dg_mark **last)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->story.marks; i++) {
        const struct dg_mark *m = &l->story.mark[i];
        if (!m->shown || m->kind != kind) continue;
        if (n++ == 0) *first = m;
        *last = m;
    }
    return n;
}

static uint32_t count_class(const struct dg_layout *l, uint8_t class)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->story.messages; i++)
        n += l->story.message[i].shown && l->story.message[i].class == class;
    return n;
}

static double ms(const struct dg_layout *l, uint64_t time)
{
    return (double)(time - l->story.start) / 1e6;
}

static const char *s_of(uint32_t n)
{
    return n == 1 ? "" : "s";
}

/* What happened, in a sentence. */
static void summary(const struct dg_layout *l, struct text *t)
{
    const struct dg_mark *first = NULL, *last = NULL, *killed = NULL;
    uint32_t n = count_marks(l, HARK_TRACE_KILL, &first, &last);
    if (n == 1) say(t, "process %" PRIu32 " killed at %.3f ms", first->rank, ms(l, first->time));
    else if (n > 1)
        say(t, "%" PRIu32 " processes killed, the first (%" PRIu32 ") at %.3f ms", n, first->rank,
            ms(l, first->time));
    uint32_t kills = n;
    killed = first;
    if ((n = count_marks(l, HARK_TRACE_RESTART, &first, &last)) > 0)
        say(t, "%s%" PRIu32 " restart%s from a checkpoint", t->length ? "; " : "", n, s_of(n));
    if ((n = count_class(l, DG_REPLAY)) > 0) say(t, "; %" PRIu32 " message%s replayed", n, s_of(n));
    if ((n = count_marks(l, HARK_TRACE_SUPPRESS, &first, &last)) > 0)
        say(t, "; %" PRIu32 " orphan%s not sent again", n, s_of(n));
    if (count_marks(l, HARK_TRACE_RECOVERED, &first, &last) > 0 && killed != NULL &&
        last->time > killed->time)
        say(t, "; recovered %.3f ms after the %skill", (double)(last->time - killed->time) / 1e6,
            kills > 1 ? "first " : "");
    if ((n = count_marks(l, HARK_TRACE_DIVERGED, &first, &last)) > 0)
        say(t, "; %" PRIu32 " DIVERGED", n);
    if (t->length == 0) say(t, "no failure in this picture");
}

/* What is not in the picture. */
static void limits(const struct dg_layout *l, struct text *t)
{
    const struct dg_story *s = &l->story;
    say(t, "%" PRIu32 " of %" PRIu32 " messages", l->shown, s->all);
    if (l->windowed)
        say(t, ": %.3f to %.3f of 0 to %.3f ms", ms(l, l->from), ms(l, l->to), ms(l, s->end));
    if (l->chosen && l->episodes > 0)
        say(t, ", around failure 1 of %" PRIu32 " (--from, --to show another part)", l->episodes);
    else if (l->chosen) say(t, " (--from, --to show another part)");
    if (l->rows < s->trace->job.ranks)
        say(t, "; %" PRIu32 " of %" PRIu32 " processes", l->rows, s->trace->job.ranks);
    if (l->shown > DG_SINGLE)
        say(t, "; an arrow stands for one or more messages, the wider the more");
    if (l->gaps > 0) say(t, "; pauses shortened");
    if (s->trace->lost > 0) say(t, "; %" PRIu64 " RECORDS LOST for want of room", s->trace->lost);
}

static void draw_line(const struct dg_layout *l, const char *class, double y, double size,
    const char *text, FILE *out)
{
    const double tight = 0.9, least = 7, room = l->width - 36,
                 need = hark_diagram_text_width(text, size) * tight;
    fprintf(out, "<text class=\"%s\" x=\"18\" y=\"%.1f\" font-size=\"%.1f\">", class, y,
        need > room ? fmax(size * room / need, least) : size);
    hark_words(
        text, (size_t)(room / (hark_diagram_text_width(".", least) * tight)), HARK_WORDS_HEAD, out);
    fputs("</text>\n", out);
}

static uint32_t clusters(const struct dg_layout *l)
{
    /* Counted over the rows: clusters lie together there. */
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->rows; i++)
        n += i == 0 || hark_diagram_cluster(l->story.trace, l->rank[i]) !=
                           hark_diagram_cluster(l->story.trace, l->rank[i - 1]);
    return n;
}

static void draw_heading(const struct dg_layout *l, FILE *out)
{
    static const char *const class[] = {"title", "summary", "limits"};
    const struct hark_diagram_schedule *plan = l->story.schedule;
    const char *const line[] = {plan->title, plan->about, plan->summary};
    double y = 28;
    for (int i = 0; i < 3; i++) {
        if (line[i] == NULL || *line[i] == 0) continue;
        draw_line(l, class[i], y, i == 0 ? 17 : 12, line[i], out);
        y += 18;
    }
}

void hark_diagram_draw_title(const struct dg_layout *l, FILE *out)
{
    const struct hark_trace_job *job = &l->story.trace->job;
    struct text t = {.length = 0};
    uint32_t n = clusters(l);
    if (l->story.schedule != NULL) {
        draw_heading(l, out);
        return;
    }
    say(&t, "%s over %s, %" PRIu32 " process%s", job->protocol, job->transport, job->ranks,
        job->ranks == 1 ? "" : "es");
    if (l->rows == job->ranks) say(&t, " in %" PRIu32 " cluster%s", n, s_of(n));
    draw_line(l, "title", 28, 17, t.at, out);
    t = (struct text){.length = 0};
    summary(l, &t);
    draw_line(l, "summary", 47, 12, t.at, out);
    t = (struct text){.length = 0};
    limits(l, &t);
    draw_line(l, "limits", 63, 11, t.at, out);
}

/* ---- legend ---------------------------------------------------------------------------------- */

/* What may be in the legend: a sample 34 px wide around (0, 0), and its words. */
struct sample {
    const char *words;
    const char *svg;
};
enum {
    S_CONTROL,
    S_INTRA,
    S_INTER,
    S_ORPHAN,
    S_SUPPRESS,
    S_REPLAY,
    S_WAITING,
    S_HELD,
    S_FLYING,
    S_DISCARDED,
    S_UNDONE,
    S_LOST,
    S_DEAD,
    S_REDO,
    S_CHECKPOINT,
    S_OPEN,
    S_COMMIT,
    S_KILL,
    S_ROLLBACK,
    S_RESTART,
    S_RECOVERED,
    S_PHASE,
    S_RELEASE,
    S_CLUSTER,
    S_DIVERGED,
    S_NUMBER,
    S_STEP,
    S_TOLD,
    S_STOP,
    S_COUNT
};

static const struct sample samples[S_COUNT] = {
    [S_CONTROL] = {"control frame", "<path class=\"control key\" d=\"M0 0H34\"/>"},
    [S_INTRA] = {"message inside a cluster", "<path class=\"intra key\" d=\"M0 0H34\"/>"},
    [S_INTER] = {"message between clusters", "<path class=\"inter key\" d=\"M0 0H34\"/>"},
    [S_ORPHAN] = {"orphan: its sending is undone, the receiver keeps it",
        "<path class=\"orphan key\" d=\"M0 0H34\"/>"},
    [S_SUPPRESS] = {"orphan not sent again",
        "<path class=\"s\" d=\"M10 8l7-14\"/><path class=\"s bar\" d=\"M12.5 -6h9\"/>"},
    [S_REPLAY] = {"replayed from the log", "<path class=\"replay key\" d=\"M0 0H34\"/>"},
    [S_WAITING] = {"arrived, not yet delivered",
        "<path class=\"inter key\" d=\"M2 -7L7 -4H29L34 0\"/>"},
    [S_HELD] = {"posted, waits for its phase",
        "<path class=\"held\" d=\"M0 0H34\"/><path class=\"alive\" d=\"M0 0H34\"/>"},
    [S_FLYING] = {"has not arrived", "<path class=\"f inter\" d=\"M4 6l18-8m-3-3l6 6m0-6l-6 6\"/>"},
    [S_DISCARDED] = {"discarded: duplicate or old",
        "<path class=\"inter key discarded\" d=\"M0 0H34\"/>"},
    [S_UNDONE] = {"message undone by the rollback",
        "<path class=\"inter key undone\" d=\"M0 0H34\"/>"},
    [S_LOST] = {"work lost by the rollback",
        "<rect class=\"lost\" x=\"0\" y=\"-7\" width=\"34\" height=\"14\"/>"},
    [S_DEAD] = {"not running", "<path class=\"dead\" d=\"M0 0H34\"/>"},
    [S_REDO] = {"restarted, not yet recovered",
        "<path class=\"redo\" d=\"M0 0H34\"/><path class=\"alive\" d=\"M0 0H34\"/>"},
    [S_CHECKPOINT] = {"checkpoint",
        "<rect class=\"ck\" x=\"9.5\" y=\"-7.5\" width=\"15\" height=\"15\"/>"
        "<text class=\"number\" x=\"17\" y=\"3.5\">1</text>"},
    [S_OPEN] = {"checkpoint never committed",
        "<rect class=\"ck open\" x=\"9.5\" y=\"-7.5\" width=\"15\" height=\"15\"/>"},
    [S_COMMIT] = {"its commit",
        "<path class=\"alive\" d=\"M4 0H30\"/><path class=\"commit\" d=\"M17 -5v10\"/>"},
    [S_KILL] = {"killed", "<path class=\"kill\" d=\"M9 -8l16 16m0-16l-16 16\"/>"},
    [S_ROLLBACK] = {"gives up its work", "<path class=\"rollback\" d=\"M21 -6v12l-9-6z\"/>"},
    [S_RESTART] = {"restart from a checkpoint", "<path class=\"restart\" d=\"M12 -8v16l11-8z\"/>"},
    [S_RECOVERED] = {"recovered", "<path class=\"recovered\" d=\"M17 -6l6 6l-6 6l-6-6z\"/>"},
    [S_PHASE] = {"phase of the process, where it changes",
        "<path class=\"alive\" d=\"M4 5H30\"/>"
        "<text class=\"phase\" x=\"14\" y=\"1\">2</text>"},
    [S_RELEASE] = {"phase released by the recovery process",
        "<path class=\"release\" d=\"M7 -3h8l-4 6z\"/>"
        "<text class=\"lane\" x=\"18\" y=\"4\">4</text>"},
    [S_CLUSTER] = {"from here on in the cluster of this rank",
        "<path class=\"alive\" d=\"M0 -4H34\"/>"
        "<text class=\"joins\" x=\"6\" y=\"7\">\xe2\x86\x92 p1</text>"},
    [S_DIVERGED] = {"re-execution diverged", "<path class=\"diverged\" d=\"M17 -8l8 14h-16z\"/>"
                                             "<text class=\"bang\" x=\"17\" y=\"5\">!</text>"},
    [S_NUMBER] = {"number of a message in its channel",
        "<path class=\"inter key\" d=\"M0 4H34\"/>"
        "<text class=\"l l-inter\" x=\"12\" y=\"0\">1</text>"},
    [S_STEP] = {"operation of the program", "<path class=\"alive\" d=\"M4 -4H30\"/>"
                                            "<text class=\"l l-step\" x=\"17\" y=\"7\">S1</text>"},
    [S_TOLD] = {"hears of the failure",
        "<path class=\"alive\" d=\"M4 0H30\"/><circle class=\"told\" cx=\"17\" r=\"4\"/>"},
    [S_STOP] = {"the violation", "<circle class=\"stop\" style=\"fill:none\" cx=\"17\" r=\"8\"/>"},
};

static void see_messages(const struct dg_layout *l, bool seen[S_COUNT])
{
    static const uint8_t of[DG_CLASSES] = {S_CONTROL, S_INTRA, S_INTER, S_ORPHAN, S_REPLAY};
    for (uint32_t i = 0; i < l->story.messages; i++) {
        const struct dg_message *m = &l->story.message[i];
        if (!m->shown) continue;
        if (m->got == DG_NEVER) seen[S_FLYING] = seen[S_FLYING] || l->shown <= DG_SINGLE;
        else if (m->fate == DG_DISCARDED) seen[S_DISCARDED] = true;
        else if (m->undone && m->class != DG_REPLAY) seen[S_UNDONE] = true;
        if (m->got != DG_NEVER && !m->undone) seen[of[m->class]] = true;
        if (m->class == DG_REPLAY) seen[S_REPLAY] = true;
        double arrived;
        if (l->shown <= DG_SINGLE && hark_diagram_waited(l, m, &arrived)) seen[S_WAITING] = true;
        if (m->posted < m->sent && m->x_sent - m->x_posted > 8) seen[S_HELD] = true;
    }
}

static void see(const struct dg_layout *l, bool seen[S_COUNT + 1])
{
    static const uint8_t of[HARK_TRACE_KINDS] = {[HARK_TRACE_SUPPRESS] = S_SUPPRESS,
        [HARK_TRACE_COMMIT] = S_COMMIT,
        [HARK_TRACE_KILL] = S_KILL,
        [HARK_TRACE_ROLLBACK] = S_ROLLBACK,
        [HARK_TRACE_RESTART] = S_RESTART,
        [HARK_TRACE_RECOVERED] = S_RECOVERED,
        [HARK_TRACE_RELEASE] = S_RELEASE,
        [HARK_TRACE_CLUSTER] = S_CLUSTER,
        [HARK_TRACE_DIVERGED] = S_DIVERGED};
    see_messages(l, seen);
    for (uint32_t i = 0; i < l->story.marks; i++) {
        const struct dg_mark *m = &l->story.mark[i];
        if (l->chosen && m->kind == HARK_TRACE_KILL && m->rank < l->story.trace->job.ranks &&
            l->row[m->rank] != DG_NONE)
            seen[S_KILL] = true; /* also far from the window */
        if (!m->shown || (m->kind == HARK_TRACE_CLUSTER && !dg_says_cluster(l))) continue;
        if (m->kind == HARK_TRACE_CHECKPOINT) seen[m->committed ? S_CHECKPOINT : S_OPEN] = true;
        else if (of[m->kind] != 0) seen[of[m->kind]] = true;
    }
    for (uint32_t i = 0; i < l->story.spans; i++) {
        const struct dg_span *s = &l->story.span[i];
        if (l->row[s->rank] == DG_NONE || (!l->chosen && (s->to < l->from || s->from > l->to)))
            continue;
        if (s->kind != DG_ALIVE)
            seen[s->kind == DG_LOST ? S_LOST : s->kind == DG_DEAD ? S_DEAD : S_REDO] = true;
    }
    const struct hark_diagram_schedule *plan = l->story.schedule;
    static const uint8_t noted[] = {S_STEP, S_TOLD, S_HELD, S_COUNT, S_STOP};
    seen[S_NUMBER] = plan != NULL;
    for (uint32_t i = 0; plan != NULL && i < plan->notes; i++)
        seen[noted[plan->note[i].kind]] = true;
    seen[S_PHASE] = l->pitch >= 30 && l->story.phases > 1;
}

static const char *words_of(const struct dg_layout *l, int sample)
{
    const struct hark_diagram_schedule *plan = l->story.schedule;
    if (plan != NULL && sample == S_HELD)
        return "posted, waits"; /* not for a phase under every protocol */
    if (plan != NULL && plan->plain && sample == S_INTER) return "message";
    return samples[sample].words;
}

double hark_diagram_draw_legend(const struct dg_layout *l, double y, FILE *out)
{
    bool seen[S_COUNT + 1] = {false};
    double x = 18, line = 20, high = line;
    see(l, seen);
    if (out != NULL) fprintf(out, "<g class=\"legend\">\n");
    for (int i = 0; i < S_COUNT; i++) {
        if (!seen[i]) continue;
        const char *words = words_of(l, i);
        double width = 42 + hark_diagram_text_width(words, 11) * 0.92 + 18;
        if (x > 18 && x + width > l->right + 12) {
            x = 18;
            high += line;
        }
        if (out != NULL)
            fprintf(out,
                "<g transform=\"translate(%.1f %.1f)\">%s<text class=\"words\" x=\"42\" "
                "y=\"4\">%s</text></g>\n",
                x, y + high - line / 2, samples[i].svg, words);
        x += width;
    }
    if (out != NULL) fprintf(out, "</g>\n");
    return high;
}
