/* plot.c: a picture of a simulation as SVG: how far the iterations of all processes have come over time, how large
 * the logs were, and what happened when. Each line has its name beside it. */
#include <inttypes.h>

#include "sim.h"

enum { WIDTH = 960, HEIGHT = 480, LEFT = 64, RIGHT = 150, TOP = 84, BOTTOM = 56 };

struct scale {
    double time, iterations, log;
};

static double x_of(const struct scale *k, uint64_t time)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * (k->time > 0 ? (double)time / k->time : 0);
}

static double y_of(double value, double most)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (most > 0 ? value / most : 0);
}

static void amount(double bytes, char text[32])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    int u = 0;
    for (; bytes >= 1024 && u < 4; u++)
        bytes /= 1024;
    snprintf(text, 32, u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
}

static void axes(const struct scale *k, FILE *f)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double unit = 1;
    int u = 0;
    for (; k->time / unit >= 10000 && u < 3; u++)
        unit *= 1000;
    for (int i = 0; i <= 4; i++) {
        double y = y_of(i, 4), x = LEFT + (WIDTH - LEFT - RIGHT) * i / 4.0;
        fprintf(f, "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n", LEFT, y, WIDTH - RIGHT, y);
        fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d %%</text>\n", LEFT - 8, y + 4, i * 25);
        fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g %s</text>\n", x, HEIGHT - BOTTOM + 20,
            k->time / unit * i / 4, units[u]);
    }
    fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">simulated time</text>\n", (WIDTH - RIGHT + LEFT) / 2,
        HEIGHT - 12);
}

static void curve(const struct sim_result *r, const struct scale *k, bool log, FILE *f)
{
    fprintf(f, "<polyline class=\"%s\" points=\"%d,%.1f", log ? "log" : "done", LEFT, y_of(0, 1));
    for (uint32_t i = 0; i < r->samples; i++) {
        const struct sim_sample *s = &r->sample[i];
        double v = log ? (double)s->log_bytes : (double)s->iterations;
        fprintf(f, " %.1f,%.1f", x_of(k, s->time), y_of(v, log ? k->log : k->iterations));
    }
    fputs("\"/>\n", f);
}

/* A line upright through the picture with its word at the top; rows of words take turns. */
static void moment(const struct scale *k, uint64_t time, const char *class, const char *word, uint32_t row, FILE *f)
{
    double x = x_of(k, time);
    int y = TOP - 8 - (int)(row % 3) * 14;
    if (time == 0) return;
    fprintf(
        f, "<line class=\"%s\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n", class, x, y + 2, x, HEIGHT - BOTTOM);
    fprintf(f, "<text class=\"%s\" x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", class, x, y,
        x > WIDTH - RIGHT - 60 ? "end" : "start", word);
}

static void moments(const struct sim_result *r, const struct scale *k, FILE *f)
{
    enum { SHOWN = 24 }; /* beyond that the words would hide the lines */
    char word[64];
    uint32_t row = 0;
    for (uint32_t i = 0; i < r->failures && i < SHOWN; i++) {
        if (r->failure[i].rank == HARK_RECOVERY)
            snprintf(word, sizeof word, "recovery process dies");
        else
            snprintf(word, sizeof word, "%" PRIu32 " dies", r->failure[i].rank);
        moment(k, r->failure[i].at, "death", word, row++, f);
    }
    for (uint32_t i = 0; i < r->recoveries && i < SHOWN; i++) {
        const struct sim_recovery *x = &r->recovery[i];
        snprintf(word, sizeof word, "%" PRIu32 " went back", x->ranks);
        moment(k, x->restarted, "back", word, row++, f);
        moment(k, x->over, "back", "recovered", row++, f);
        moment(k, x->caught_up, "back", "caught up", row++, f);
    }
}

static void escape(const char *text, FILE *f)
{
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", f);
        else if (*text == '&')
            fputs("&amp;", f);
        else if ((unsigned char)*text >= ' ')
            fputc(*text, f);
    }
}

void sim_plot(const struct sim_result *r, const struct sim_words *w, FILE *f)
{
    struct scale k = {.time = (double)r->time, .iterations = (double)w->ranks * w->options->iterations, .log = 0};
    char most[32];
    for (uint32_t i = 0; i < r->samples; i++)
        if ((double)r->sample[i].log_bytes > k.log) k.log = (double)r->sample[i].log_bytes;
    fprintf(f,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n<style>\n",
        WIDTH, HEIGHT, WIDTH, HEIGHT);
    fputs(
        "text { font: 12px sans-serif; fill: #333 } .title { font-size: 15px }\n.grid { stroke: #ddd }\n"
        "polyline { fill: none; stroke-width: 2 } .done { stroke: #1f5fa8 } .log { stroke: #b5651d }\n"
        "text.done { fill: #1f5fa8; stroke: none } text.log { fill: #b5651d; stroke: none }\n"
        "line.death { stroke: #c0202a } text.death { fill: #c0202a; stroke: none }\n"
        "line.back { stroke: #2a7d46; stroke-dasharray: 4 3 } text.back { fill: #2a7d46; stroke: none }\n</style>\n",
        f);
    fprintf(f, "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n<text class=\"title\" x=\"%d\" y=\"24\">%s, ",
        WIDTH, HEIGHT, LEFT, w->protocol);
    escape(w->pattern, f);
    fprintf(f, ", %" PRIu32 " processes in %" PRIu32 " cluster%s</text>\n", w->ranks, w->clusters,
        w->clusters == 1 ? "" : "s");
    axes(&k, f);
    moments(r, &k, f);
    curve(r, &k, false, f);
    if (k.log > 0) curve(r, &k, true, f);
    const struct sim_sample none = {0}, *last = r->samples ? &r->sample[r->samples - 1] : &none;
    double y = y_of((double)last->iterations, k.iterations), z = y_of((double)last->log_bytes, k.log);
    fprintf(f, "<text class=\"done\" x=\"%d\" y=\"%.1f\">iterations done</text>\n", WIDTH - RIGHT + 8, y + 4);
    if (k.log > 0) {
        if (z - y < 30) z = y + 30;
        amount(k.log, most);
        fprintf(f, "<text class=\"log\" x=\"%d\" y=\"%.1f\">logs</text>\n", WIDTH - RIGHT + 8, z);
        fprintf(f, "<text class=\"log\" x=\"%d\" y=\"%.1f\">(100 %%: %s)</text>\n", WIDTH - RIGHT + 8, z + 15, most);
    }
    fputs("</svg>\n", f);
}
