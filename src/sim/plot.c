/* plot.c: a picture of a simulation as SVG: how far the iterations of all processes have come over
 * time, how large the logs were, and what happened when. Each line has its name beside it. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "sim.h"
#include "../view/plot.h"
#include "../view/words.h"

enum { MANY = 100 /* moments, beyond which those that share a pixel are one */ };

struct scale {
    double time, iterations, log;
};

/* Rounds up to a round number of a unit, which is what 100 % of the logs stand for, and says it. */
static double amount(double bytes, char text[32])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    const int last = sizeof units / sizeof units[0] - 1;
    double unit = 1;
    int u = 0;
    while (u < last && hark_plot_round(bytes / unit) >= 1024) {
        unit *= 1024;
        u++;
    }
    const double whole = fmax(hark_plot_round(bytes / unit), 1);
    snprintf(text, 32, "%.6g %s", whole, units[u]);
    return whole * unit;
}

static void axes(const struct scale *k, FILE *f)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double unit = 1;
    int u = 0;
    for (; k->time / unit >= 10000 && u < 3; u++) unit *= 1000;
    const struct hark_plot_axis time = {k->time / unit, units[u], "simulated time", false},
                                done = {100, "%", NULL, false};
    hark_plot_axes(&time, &done, f);
}

static double value(const struct sim_result *r, uint32_t sample, bool log)
{
    return log ? (double)r->sample[sample].log_bytes : (double)r->sample[sample].iterations;
}

static void point(const struct sim_result *r, const struct scale *k, bool log, uint32_t when,
    uint32_t what, FILE *f)
{
    fprintf(f, " %.1f,%.1f", hark_plot_x((double)r->sample[when].time, k->time),
        hark_plot_y(value(r, what, log), log ? k->log : k->iterations));
}

/* Of all samples in a pixel's width those that it begins and ends with, and the least and the most
 * between them. In steps: where nobody gets on for a while the line is level. */
static void curve(const struct sim_result *r, const struct scale *k, bool log, FILE *f)
{
    fprintf(f, "<polyline class=\"%s\" points=\"%d,%.1f", log ? "log" : "done", HARK_PLOT_LEFT,
        hark_plot_y(0, 1));
    for (uint32_t i = 0, n; i < r->samples; i += n) {
        const double column = floor(hark_plot_x((double)r->sample[i].time, k->time));
        uint32_t at[4] = {i, i, i, i}; /* first, least, most, last */
        for (n = 0; i + n < r->samples &&
                    floor(hark_plot_x((double)r->sample[i + n].time, k->time)) <= column;
             n++) {
            at[3] = i + n;
            if (value(r, at[3], log) < value(r, at[1], log)) at[1] = at[3];
            if (value(r, at[3], log) > value(r, at[2], log)) at[2] = at[3];
        }
        if (at[1] > at[2]) {
            uint32_t later = at[1];
            at[1] = at[2];
            at[2] = later;
        }
        if (i > 0) point(r, k, log, i, i - 1, f);
        else
            fprintf(f, " %.1f,%.1f", hark_plot_x((double)r->sample[i].time, k->time),
                hark_plot_y(0, 1));
        for (int p = 0; p < 4; p++)
            if (p == 0 || at[p] != at[p - 1]) point(r, k, log, at[p], at[p], f);
    }
    fputs("\"/>\n", f);
}

/* ---- moments */

struct moment {
    double x;
    uint32_t of; /* a failure, or a recovery */
    uint8_t what;
};
enum { DIES = 0, RESTARTED, OVER, CAUGHT_UP };

static int compare_moments(const void *a, const void *b)
{
    const struct moment *m = a, *n = b;
    if (m->x != n->x) return (m->x > n->x) - (m->x < n->x);
    if (m->of != n->of) return (m->of > n->of) - (m->of < n->of);
    return (m->what > n->what) - (m->what < n->what);
}

static void word_of(const struct sim_result *r, const struct moment *m, char word[64])
{
    static const char *const words[] = {"recovery process dies", NULL, "recovered", "caught up"};
    if (m->what == DIES && r->failure[m->of].rank != HARK_RECOVERY)
        snprintf(word, 64, "%" PRIu32 " dies", r->failure[m->of].rank);
    else if (m->what == RESTARTED)
        snprintf(word, 64, "%" PRIu32 " went back", r->recovery[m->of].ranks);
    else snprintf(word, 64, "%s", words[m->what]);
}

static void add(
    struct moment *m, size_t *n, const struct scale *k, uint64_t time, uint32_t of, uint8_t what)
{
    if (time != SIM_NEVER)
        m[(*n)++] = (struct moment){hark_plot_x((double)time, k->time), of, what};
}

/* All of them, from left to right; of those of a kind that share a pixel one. Without memory there
 * are none. */
static void moments(const struct sim_result *r, const struct scale *k, FILE *f)
{
    struct moment *m = malloc(((size_t)r->failures + 3 * (size_t)r->recoveries + 1) * sizeof *m);
    struct hark_plot_words words = {{0}};
    double drawn[2] = {-1, -1};
    size_t n = 0;
    if (m == NULL) return;
    for (uint32_t i = 0; i < r->failures; i++) add(m, &n, k, r->failure[i].at, i, DIES);
    for (uint32_t i = 0; i < r->recoveries; i++) {
        add(m, &n, k, r->recovery[i].restarted, i, RESTARTED);
        add(m, &n, k, r->recovery[i].over, i, OVER);
        add(m, &n, k, r->recovery[i].caught_up, i, CAUGHT_UP);
    }
    qsort(m, n, sizeof *m, compare_moments);
    const bool many = n > MANY;
    for (size_t i = 0; i < n; i++) {
        char word[64];
        double *last = &drawn[m[i].what != DIES];
        if (many && m[i].x < *last + 1) continue;
        *last = m[i].x;
        word_of(r, &m[i], word);
        hark_plot_moment(&words, m[i].x, m[i].what == DIES ? "death" : "back", word, f);
    }
    free(m);
}

void sim_plot(const struct sim_result *r, const struct sim_words *w, FILE *f)
{
    struct scale k = {
        .time = (double)r->time, .iterations = (double)w->ranks * w->options->iterations, .log = 0};
    char most[32], beside[64], rest[64];
    for (uint32_t i = 0; i < r->samples; i++)
        if ((double)r->sample[i].log_bytes > k.log) k.log = (double)r->sample[i].log_bytes;
    if (k.log > 0) k.log = amount(k.log, most);
    /* A narrow line of dashes upon a wide one: both are seen where they lie on each other. */
    hark_plot_begin(
        "polyline.done { stroke: #6ea3de; stroke-width: 4 }\n"
        "polyline.log { stroke: #a8500a; stroke-dasharray: 9 4 }\n"
        "text.done { fill: #1f5fa8; stroke: none } text.log { fill: #a8500a; stroke: none }\n"
        "line.death { stroke: #c0202a } text.death { fill: #c0202a; stroke: none }\n"
        "line.back { stroke: #2a7d46; stroke-width: 2; stroke-dasharray: 4 3 } text.back { fill: "
        "#2a7d46; stroke: none }\n",
        f);
    int others = snprintf(rest, sizeof rest, ", %" PRIu32 " process%s in %" PRIu32 " cluster%s",
        w->ranks, w->ranks == 1 ? "" : "es", w->clusters, w->clusters == 1 ? "" : "s");
    others += fprintf(f, "%s, ", w->protocol);
    hark_words(w->pattern, HARK_PLOT_TITLE - (size_t)others, HARK_WORDS_TAIL, f);
    fputs(rest, f);
    hark_plot_title_end(f);
    axes(&k, f);
    moments(r, &k, f);
    curve(r, &k, false, f);
    if (k.log > 0) curve(r, &k, true, f);
    const struct sim_sample none = {0}, *last = r->samples ? &r->sample[r->samples - 1] : &none;
    double y = hark_plot_y((double)last->iterations, k.iterations),
           z = hark_plot_y((double)last->log_bytes, k.log);
    hark_plot_name(y + 4, "done", "iterations done", f);
    if (k.log > 0) {
        if (z - y < 30) z = y + 30;
        snprintf(beside, sizeof beside, "(100 %%: %s)", most);
        hark_plot_name(z, "log", "logs", f);
        hark_plot_name(z + 15, "log", beside, f);
    }
    hark_plot_end(f);
}
