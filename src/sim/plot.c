/* plot.c: a picture of a simulation as SVG: how far the iterations of all processes have come over time, how large
 * the logs were, and what happened when. Each line has its name beside it. */
#include <inttypes.h>

#include "sim.h"
#include "../view/plot.h"

struct scale {
    double time, iterations, log;
};

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
    const struct hark_plot_axis time = {k->time / unit, units[u], "simulated time"}, done = {100, "%", NULL};
    hark_plot_axes(&time, &done, f);
}

static void curve(const struct sim_result *r, const struct scale *k, bool log, FILE *f)
{
    fprintf(f, "<polyline class=\"%s\" points=\"%d,%.1f", log ? "log" : "done", HARK_PLOT_LEFT,
        hark_plot_y(0, 1));
    for (uint32_t i = 0; i < r->samples; i++) {
        const struct sim_sample *s = &r->sample[i];
        double v = log ? (double)s->log_bytes : (double)s->iterations;
        fprintf(f, " %.1f,%.1f", hark_plot_x((double)s->time, k->time),
            hark_plot_y(v, log ? k->log : k->iterations));
    }
    fputs("\"/>\n", f);
}

static void moment(const struct scale *k, uint64_t time, const char *class, const char *word, uint32_t row, FILE *f)
{
    if (time) hark_plot_moment(hark_plot_x((double)time, k->time), class, word, row, f);
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

void sim_plot(const struct sim_result *r, const struct sim_words *w, FILE *f)
{
    struct scale k = {.time = (double)r->time, .iterations = (double)w->ranks * w->options->iterations, .log = 0};
    char most[32], beside[64];
    for (uint32_t i = 0; i < r->samples; i++)
        if ((double)r->sample[i].log_bytes > k.log) k.log = (double)r->sample[i].log_bytes;
    hark_plot_begin(".done { stroke: #1f5fa8 } .log { stroke: #b5651d }\n"
                    "text.done { fill: #1f5fa8; stroke: none } text.log { fill: #b5651d; stroke: none }\n"
                    "line.death { stroke: #c0202a } text.death { fill: #c0202a; stroke: none }\n"
                    "line.back { stroke: #2a7d46; stroke-dasharray: 4 3 } text.back { fill: #2a7d46; stroke: none }\n",
        f);
    fprintf(f, "%s, ", w->protocol);
    hark_plot_text(w->pattern, f);
    fprintf(f, ", %" PRIu32 " processes in %" PRIu32 " cluster%s", w->ranks, w->clusters, w->clusters == 1 ? "" : "s");
    hark_plot_title_end(f);
    axes(&k, f);
    moments(r, &k, f);
    curve(r, &k, false, f);
    if (k.log > 0) curve(r, &k, true, f);
    const struct sim_sample none = {0}, *last = r->samples ? &r->sample[r->samples - 1] : &none;
    double y = hark_plot_y((double)last->iterations, k.iterations), z = hark_plot_y((double)last->log_bytes, k.log);
    hark_plot_name(y + 4, "done", "iterations done", f);
    if (k.log > 0) {
        if (z - y < 30) z = y + 30;
        amount(k.log, most);
        snprintf(beside, sizeof beside, "(100 %%: %s)", most);
        hark_plot_name(z, "log", "logs", f);
        hark_plot_name(z + 15, "log", beside, f);
    }
    hark_plot_end(f);
}
