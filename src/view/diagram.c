/* diagram.c: the space-time diagram as SVG.
 *
 * Colours are of Okabe and Ito's palette, which colour-blind readers can tell apart; nothing is
 * told by its colour alone.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "diagram.h"

static const char style[] =
    "<style>\n"
    "text{font-family:'DejaVu Sans','Segoe UI',Helvetica,Arial,sans-serif;fill:#222}\n"
    "path{fill:none}\n"
    ".paper{fill:#fff}\n"
    ".band{fill:#f3f5f8}.band.odd{fill:#faf7f0}\n"
    ".cluster{fill:#5a6472}.rank{text-anchor:end;font-weight:bold;fill:#333}\n"
    ".gap{fill:#fff;opacity:.85}\n"
    ".lost{fill:url(#hatch);stroke:#c9a79a;stroke-width:.6}\n"
    ".alive{stroke:#333;stroke-width:1.3}\n"
    ".dead{stroke:#999;stroke-width:1.2;stroke-dasharray:1.5 4}\n"
    ".redo{stroke:#56b4e9;stroke-width:6;opacity:.65}\n"
    ".held{stroke:#f4ea7c;stroke-width:8}\n"
    ".m,.key{stroke-width:1.2}\n"
    ".intra{stroke:#7d8691;marker-end:url(#h-intra)}\n"
    ".inter{stroke:#0072b2;marker-end:url(#h-inter)}\n"
    ".orphan{stroke:#a8327e;marker-end:url(#h-orphan);stroke-width:1.7}\n"
    ".replay{stroke:#e69f00;marker-end:url(#h-replay);stroke-width:2}\n"
    ".undone{opacity:.4}\n"
    ".discarded{stroke-dasharray:6 3}\n"
    ".f{marker-end:none;stroke-width:1;opacity:.8}\n"
    ".light .m{stroke-width:.7;opacity:.55;marker-end:none}\n"
    ".light .m.orphan,.light .m.replay{opacity:.9;stroke-width:1}\n"
    ".light .m.undone{opacity:.18}\n"
    ".s{stroke:#a8327e;stroke-width:1.7;stroke-dasharray:3 "
    "2}.s.bar{stroke-dasharray:none;stroke-width:2}\n"
    ".ck{fill:#c4cad3;stroke:#333;stroke-width:1.1}.ck.open{fill:#fff;stroke-dasharray:3 2}\n"
    ".number{font-size:10px;text-anchor:middle}\n"
    ".commit{stroke:#333;stroke-width:2}\n"
    ".kill{stroke:#d55e00;stroke-width:4;stroke-linecap:round}\n"
    ".rollback{fill:#fff;stroke:#d55e00;stroke-width:1.6}\n"
    ".restart{fill:#56b4e9;stroke:#1b4965;stroke-width:1.2}\n"
    ".recovered{fill:#009e73;stroke:#fff;stroke-width:1}\n"
    ".end{stroke:#333;stroke-width:2}\n"
    ".diverged{fill:#d55e00;stroke:#fff}.bang{font-size:11px;font-weight:bold;text-anchor:middle;"
    "fill:#fff}\n"
    ".failed{stroke:#d55e00;stroke-width:1;stroke-dasharray:5 "
    "3}.all{stroke:#009e73;stroke-width:1;stroke-dasharray:5 3}\n"
    ".release{fill:#1b4965}\n"
    ".lane{font-size:10px;fill:#444}\n"
    ".phase,.note{font-size:9px;paint-order:stroke;stroke:#fff;stroke-width:2.5;stroke-linejoin:"
    "round}\n"
    ".phase{fill:#555}.note{text-anchor:middle;fill:#1b4965}\n"
    ".axis,.tick{stroke:#666;stroke-width:1}\n"
    ".time{font-size:10px;text-anchor:middle}.pause{font-size:9px;text-anchor:middle;fill:#666;"
    "font-style:italic}\n"
    ".title{font-weight:bold}.limits{fill:#666}.words{font-size:11px}\n";

/* Runs whose clusters change have these too. */
static const char change_style[] = ".change{stroke:#5a6472;stroke-width:1;stroke-dasharray:5 "
                                   "3}.joins{font-size:9px;fill:#5a6472;font-weight:bold}\n";

/* Pictures of a window that nobody asked for have these too. */
static const char rest_style[] =
    ".rest{fill:#fff;opacity:.6}.border{stroke:#999;stroke-width:1;stroke-dasharray:1 3}\n";

/* Schedules have these too. */
static const char schedule_style[] =
    ".control{stroke:#777;stroke-width:1;stroke-dasharray:2 2;marker-end:url(#h-control)}\n"
    ".program{font-size:10px;text-anchor:end;fill:#444}\n"
    ".l{font-size:9px;paint-order:stroke;stroke:#fff;stroke-width:2.5;stroke-linejoin:round}.e{"
    "text-anchor:end}\n"
    ".l-inter{fill:#005c91}.l-intra{fill:#4e5660}.l-orphan{fill:#a8327e}.l-replay{fill:#8a5f00}.l-"
    "control{fill:#666}\n"
    ".l-step{fill:#222;text-anchor:middle;font-style:italic}\n"
    ".told{fill:#fff;stroke:#d55e00;stroke-width:1.6}\n"
    ".stop{stroke:#c1121f;stroke-width:2.5}.because{stroke:#c1121f;stroke-width:1.2;stroke-"
    "dasharray:6 3}\n"
    ".violated{font-size:12px;font-weight:bold;fill:#c1121f}.why{font-size:10px;font-weight:bold;"
    "fill:#c1121f;"
    "paint-order:stroke;stroke:#fff;stroke-width:3}\n";

static void head(FILE *out, const char *name, const char *colour, double size)
{
    fprintf(out,
        "<marker id=\"h-%s\" viewBox=\"0 0 8 8\" refX=\"7.5\" refY=\"4\" markerWidth=\"%.0f\" "
        "markerHeight=\"%.0f\" "
        "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 .8L8 4L0 7.2z\" "
        "style=\"fill:%s\"/></marker>\n",
        name, size, size, colour);
}

static void draw_defs(bool schedule, FILE *out)
{
    fputs("<defs>\n", out);
    head(out, "intra", "#7d8691", 7);
    head(out, "inter", "#0072b2", 7);
    head(out, "orphan", "#a8327e", 8);
    head(out, "replay", "#e69f00", 9);
    if (schedule) head(out, "control", "#777", 6);
    fputs("<pattern id=\"hatch\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
          "patternTransform=\"rotate(45)\">"
          "<rect width=\"7\" height=\"7\" style=\"fill:#f6e3da\"/><rect width=\"1.6\" height=\"7\" "
          "style=\"fill:#dfb7a3\"/>"
          "</pattern>\n</defs>\n",
        out);
}

static bool clusters_change(const struct dg_story *s)
{
    bool change = false;
    for (uint32_t i = 0; i < s->marks; i++) change |= s->mark[i].kind == HARK_TRACE_CLUSTER;
    return change;
}

static int draw(const struct dg_layout *l, FILE *out)
{
    fprintf(out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
        "width=\"%.0f\" "
        "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n",
        l->width, l->height, l->width, l->height);
    fputs(style, out);
    if (clusters_change(&l->story)) fputs(change_style, out);
    if (l->chosen) fputs(rest_style, out);
    if (l->story.schedule != NULL) fputs(schedule_style, out);
    fputs("</style>\n", out);
    draw_defs(l->story.schedule != NULL, out);
    fprintf(out, "<rect class=\"paper\" width=\"%.0f\" height=\"%.0f\"/>\n", l->width, l->height);
    hark_diagram_draw_ground(l, out);
    hark_diagram_draw_lines(l, out);
    int status = hark_diagram_draw_messages(l, out);
    hark_diagram_draw_marks(l, out);
    if (l->story.schedule != NULL) hark_diagram_draw_schedule(l, out);
    hark_diagram_draw_axis(l, out);
    hark_diagram_draw_legend(l, l->bottom + 46, out);
    hark_diagram_draw_title(l, out);
    fputs("</svg>\n", out);
    return status;
}

static int refuse(char error[HARK_TRACE_ERROR], int status, const char *why)
{
    snprintf(error, HARK_TRACE_ERROR, "%s", why);
    return status;
}

int hark_view_diagram(const struct hark_trace *trace, const struct hark_diagram_options *o,
    FILE *out, char error[HARK_TRACE_ERROR])
{
    struct dg_layout l;
    memset(&l, 0, sizeof l);
    if (trace->count == 0)
        return refuse(error, HARK_TRACE_EINVAL, "the trace has no records to draw");
    if (o->window && !(o->from_ms >= 0 && o->to_ms > o->from_ms))
        return refuse(error, HARK_TRACE_EINVAL,
            "the window must begin at 0 ms or later, and end after it began");
    if (o->width != 0 && o->width < 600)
        return refuse(error, HARK_TRACE_EINVAL, "the picture must be at least 600 px wide");
    int status = hark_diagram_story_tell(&l.story, trace, o->schedule);
    if (status == HARK_TRACE_OK) status = hark_diagram_rows_choose(&l);
    if (status == HARK_TRACE_OK) {
        hark_diagram_window_choose(&l, o);
        if (l.to < l.from ||
            (double)(l.from - l.story.start) / 1e6 < (o->window ? o->from_ms : 0) - 0.001)
            status = HARK_TRACE_EINVAL;
    }
    if (status == HARK_TRACE_OK)
        status = hark_diagram_layout_make(&l, o->width != 0 ? o->width : 3600);
    if (status == HARK_TRACE_OK) status = draw(&l, out);
    hark_diagram_layout_free(&l);
    if (status == HARK_TRACE_ESYSTEM) return refuse(error, status, "out of memory");
    if (status == HARK_TRACE_EINVAL)
        return refuse(error, status, "the trace ends before the window begins");
    if (fflush(out) != 0 || ferror(out)) return refuse(error, HARK_TRACE_ESYSTEM, strerror(errno));
    return HARK_TRACE_OK;
}
