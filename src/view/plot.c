#include "plot.h"

#include <math.h>
#include <string.h>

enum {
    WIDTH = HARK_PLOT_WIDTH,
    HEIGHT = HARK_PLOT_HEIGHT,
    LEFT = HARK_PLOT_LEFT,
    RIGHT = HARK_PLOT_RIGHT,
    TOP = HARK_PLOT_TOP,
    BOTTOM = HARK_PLOT_BOTTOM,
    MARKS_X = 8, /* steps on an axis, at most */
    MARKS_Y = 5
};

double hark_plot_x(double value, double most)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * (most > 0 ? value / most : 0);
}

double hark_plot_y(double value, double most)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (most > 0 ? value / most : 0);
}

void hark_plot_begin(const char *style, FILE *f)
{
    fprintf(f,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
        "height=\"%d\">\n<style>\n",
        WIDTH, HEIGHT, WIDTH, HEIGHT);
    fprintf(f,
        "text { font: 12px sans-serif; fill: #333 } .title { font-size: 15px }\n.grid { stroke: "
        "#ddd } .mark { "
        "stroke: #888 }\n"
        "polyline { fill: none; stroke-width: 2 } %s</style>\n",
        style);
    fprintf(f,
        "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n<text class=\"title\" x=\"%d\" "
        "y=\"24\">",
        WIDTH, HEIGHT, LEFT);
}

void hark_plot_title_end(FILE *f)
{
    fputs("</text>\n", f);
}

double hark_plot_round(double least)
{
    static const double leading[] = {1, 1.5, 2, 2.5, 3, 4, 5, 6, 8};
    if (!(least > 0)) return 0;
    const double ten = pow(10, floor(log10(least)));
    for (size_t i = 0; i < sizeof leading / sizeof leading[0]; i++)
        if (leading[i] * ten >= least * (1 - 1e-12)) return leading[i] * ten;
    return 10 * ten;
}

double hark_plot_step(double most, unsigned steps)
{
    if (!(most > 0)) return 1;
    const double least = most / steps * (1 - 1e-12), ten = pow(10, floor(log10(least)));
    return least <= ten ? ten : least <= 2 * ten ? 2 * ten : least <= 5 * ten ? 5 * ten : 10 * ten;
}

static double step_of(const struct hark_plot_axis *a, unsigned steps)
{
    const double step = hark_plot_step(a->most, steps);
    return a->whole ? fmax(step, 1) : step;
}

/* Marks, the one at 0 included, that are on an axis. */
static unsigned marks(const struct hark_plot_axis *a, double step)
{
    return a->most > 0 ? (unsigned)(a->most / step * (1 + 1e-12)) + 1 : 1;
}

void hark_plot_axes(const struct hark_plot_axis *x, const struct hark_plot_axis *y, FILE *f)
{
    const double step_x = step_of(x, MARKS_X), step_y = step_of(y, MARKS_Y);
    const int base = HEIGHT - BOTTOM;
    for (unsigned i = 0; i < marks(y, step_y); i++) {
        const double at = hark_plot_y(i * step_y, y->most);
        fprintf(f, "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n", LEFT, at,
            WIDTH - RIGHT, at);
        fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g %s</text>\n", LEFT - 8,
            at + 4, i * step_y, y->unit);
    }
    for (unsigned i = 0; i < marks(x, step_x); i++) {
        const double at = hark_plot_x(i * step_x, x->most);
        fprintf(f, "<line class=\"mark\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n", at, base,
            at, base + 5);
        fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.6g %s</text>\n", at,
            base + 20, i * step_x, x->unit);
    }
    if (x->name)
        fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
            (WIDTH - RIGHT + LEFT) / 2, HEIGHT - 12, x->name);
    if (y->name) fprintf(f, "<text x=\"8\" y=\"%d\">%s</text>\n", TOP - 58, y->name);
}

void hark_plot_moment(
    struct hark_plot_words *w, double x, const char *class, const char *word, FILE *f)
{
    enum { LETTER = 7, GAP = 6 /* pixels, at most */ };
    int row = 0;
    while (row < HARK_PLOT_ROWS && w->end[row] <= x) row++;
    const int y = TOP - 8 - (row - 1) * 14; /* the highest that is free, as are all below it */
    fprintf(f, "<line class=\"%s\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n", class, x,
        row ? y + 2 : TOP, x, HEIGHT - BOTTOM);
    if (row == 0) return;
    fprintf(f, "<text class=\"%s\" x=\"%.1f\" y=\"%d\">%s</text>\n", class, x + 3, y, word);
    w->end[row - 1] = x + 3 + (double)strlen(word) * LETTER + GAP;
}

void hark_plot_name(double y, const char *class, const char *name, FILE *f)
{
    fprintf(
        f, "<text class=\"%s\" x=\"%d\" y=\"%.1f\">%s</text>\n", class, WIDTH - RIGHT + 8, y, name);
}

void hark_plot_end(FILE *f)
{
    fputs("</svg>\n", f);
}
