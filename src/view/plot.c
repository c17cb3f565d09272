#include "plot.h"

#include <string.h>

enum {
    WIDTH = HARK_PLOT_WIDTH,
    HEIGHT = HARK_PLOT_HEIGHT,
    LEFT = HARK_PLOT_LEFT,
    RIGHT = HARK_PLOT_RIGHT,
    TOP = HARK_PLOT_TOP,
    BOTTOM = HARK_PLOT_BOTTOM
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
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n<style>\n",
        WIDTH, HEIGHT, WIDTH, HEIGHT);
    fprintf(f,
        "text { font: 12px sans-serif; fill: #333 } .title { font-size: 15px }\n.grid { stroke: #ddd }\n"
        "polyline { fill: none; stroke-width: 2 } %s</style>\n",
        style);
    fprintf(f, "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n<text class=\"title\" x=\"%d\" y=\"24\">", WIDTH,
        HEIGHT, LEFT);
}

void hark_plot_title_end(FILE *f)
{
    fputs("</text>\n", f);
}

void hark_plot_axes(const struct hark_plot_axis *x, const struct hark_plot_axis *y, FILE *f)
{
    for (int i = 0; i <= 4; i++) {
        double at_y = hark_plot_y(i, 4), at_x = hark_plot_x(i, 4);
        fprintf(f, "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n", LEFT, at_y, WIDTH - RIGHT,
            at_y);
        fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g %s</text>\n", LEFT - 8, at_y + 4,
            y->most * i / 4, y->unit);
        fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g %s</text>\n", at_x, HEIGHT - BOTTOM + 20,
            x->most * i / 4, x->unit);
    }
    if (x->name)
        fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", (WIDTH - RIGHT + LEFT) / 2,
            HEIGHT - 12, x->name);
    if (y->name) fprintf(f, "<text x=\"8\" y=\"%d\">%s</text>\n", TOP - 58, y->name);
}

void hark_plot_moment(struct hark_plot_words *w, double x, const char *class, const char *word, FILE *f)
{
    enum { LETTER = 7, GAP = 6 /* pixels, at most */ };
    int row = 0;
    while (row < HARK_PLOT_ROWS && w->end[row] <= x)
        row++;
    const int y = TOP - 8 - (row - 1) * 14; /* the highest that is free, as are all below it */
    fprintf(f, "<line class=\"%s\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n", class, x, row ? y + 2 : TOP, x,
        HEIGHT - BOTTOM);
    if (row == 0) return;
    fprintf(f, "<text class=\"%s\" x=\"%.1f\" y=\"%d\">%s</text>\n", class, x + 3, y, word);
    w->end[row - 1] = x + 3 + (double)strlen(word) * LETTER + GAP;
}

void hark_plot_name(double y, const char *class, const char *name, FILE *f)
{
    fprintf(f, "<text class=\"%s\" x=\"%d\" y=\"%.1f\">%s</text>\n", class, WIDTH - RIGHT + 8, y, name);
}

void hark_plot_end(FILE *f)
{
    fputs("</svg>\n", f);
}
