#include "balance_report.h"

#include <inttypes.h>

#include "../view/plot.h"
#include "amount.h"

#define SCHEMA 1

static double share(uint64_t part, uint64_t of)
{
    return of ? (double)part / (double)of : 0;
}

static double mean(const struct balance_run *r, const struct hark_balance_figures *f)
{
    return (double)f->load / (double)r->asked->pes;
}

static double imbalance(const struct balance_run *r, const struct hark_balance_figures *f)
{
    return hark_balance_imbalance(f, r->asked->pes);
}

struct sums { /* over all columns: the time by the model, and what is logged */
    double time, none, mean;
    uint64_t logged, bytes, moved; /* logged, bytes: in units of 10^exponent */
    int32_t exponent;
    uint32_t balancings;
};

/* The bytes of many columns may not fit: then the unit is ten times as large. */
static void add_bytes(struct sums *s, const struct hark_balance_figures *f, int32_t exponent)
{
    uint64_t logged = f->logged, bytes = f->bytes;
    for (; exponent < s->exponent; exponent++) {
        logged /= 10;
        bytes /= 10;
    }
    for (; bytes > INT64_MAX - s->bytes; s->exponent++) {
        logged /= 10;
        bytes /= 10;
        s->logged /= 10;
        s->bytes /= 10;
    }
    s->logged += logged;
    s->bytes += bytes;
}

static struct sums sums_of(const struct balance_run *r)
{
    struct sums s = {.exponent = r->exponent};
    for (uint32_t c = 0; c < r->columns; c++) {
        const struct balance_column *x = &r->column[c];
        s.time += (double)x->figures.most;
        s.none += (double)x->none;
        s.mean += mean(r, &x->figures);
        add_bytes(&s, &x->figures, r->exponent);
        s.moved += x->balanced ? x->figures.moved : 0;
        s.balancings += x->balanced;
    }
    return s;
}

static double speedup(const struct sums *s)
{
    return s->time > 0 ? s->none / s->time : 1;
}

/* ---- for people ------------------------------------------------------------------------------ */

static void title(const struct balance_run *r, FILE *f)
{
    const struct hark_balance *b = r->asked;
    fprintf(f, "%s%s%s%s, %" PRIu32 " objects on %" PRIu32 " PEs in %" PRIu32 " team%s",
        r->strategy, r->backend ? " (" : "", r->backend ? r->backend : "", r->backend ? ")" : "",
        b->graph->vertices, b->pes, b->teams, b->teams == 1 ? "" : "s");
}

static void one_column(const struct balance_run *r, FILE *f)
{
    const struct hark_balance_figures *a = &r->before, *b = &r->column[0].figures;
    char x[HARK_CLI_AMOUNT], y[HARK_CLI_AMOUNT];
    fprintf(f, "%-28s %16s %16s\n", "", "before", "after");
    fprintf(
        f, "%-28s %16.4f %16.4f\n", "imbalance (max-avg)/avg", imbalance(r, a), imbalance(r, b));
    fprintf(f, "%-28s %16" PRIu64 " %16" PRIu64 "\n", "load of the fullest PE", a->most, b->most);
    fprintf(f, "%-28s %16.1f %16.1f\n", "mean load of a PE", mean(r, a), mean(r, b));
    fprintf(f, "%-28s %16.4f %16.4f\n", "edge cut between teams", share(a->logged, a->bytes),
        share(b->logged, b->bytes));
    fprintf(f, "%-28s %16s %16s\n", "bytes logged", hark_cli_amount(x, a->logged, r->exponent),
        hark_cli_amount(y, b->logged, r->exponent));
    fprintf(f, "%-28s %16s %16" PRIu32 "\n", "objects moved", "", b->moved);
}

static void many_columns(const struct balance_run *r, FILE *f)
{
    const struct sums s = sums_of(r);
    char logged[HARK_CLI_AMOUNT], bytes[HARK_CLI_AMOUNT];
    fprintf(f, "%8s %12s %12s %10s %10s\n", "column", "I before", "I after", "edge cut", "moved");
    for (uint32_t c = 1; c < r->columns; c++) {
        const struct balance_column *x = &r->column[c];
        if (!x->balanced) continue;
        fprintf(f, "%8" PRIu32 " %12.4f %12.4f %10.4f %10" PRIu32 "\n", c + 1,
            imbalance(r, &x[-1].figures), imbalance(r, &x->figures),
            share(x->figures.logged, x->figures.bytes), x->figures.moved);
    }
    fprintf(f,
        "time of all columns (sum of the fullest PE's loads): %.0f; without balancing %.0f, %.3f "
        "times as long\n",
        s.time, s.none, speedup(&s));
    fprintf(f, "bytes logged: %s of %s (%.4f)\n", hark_cli_amount(logged, s.logged, s.exponent),
        hark_cli_amount(bytes, s.bytes, s.exponent), share(s.logged, s.bytes));
}

void hark_balance_report(const struct balance_run *r, FILE *f)
{
    title(r, f);
    fputc('\n', f);
    if (r->columns == 1) one_column(r, f);
    else many_columns(r, f);
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void json_figures(const struct balance_run *r, const struct hark_balance_figures *x, FILE *f)
{
    char logged[HARK_CLI_AMOUNT];
    fprintf(f,
        "\"imbalance\": %.6f, \"most\": %" PRIu64 ", \"least\": %" PRIu64 ", \"load\": %" PRIu64
        ", \"team_most\": %" PRIu64 ", \"team_objects_most\": %" PRIu32
        ", \"team_objects_least\": %" PRIu32 ", \"edge_cut\": %.6f, \"log_bytes\": %s",
        imbalance(r, x), x->most, x->least, x->load, x->team_most, x->team_objects_most,
        x->team_objects_least, share(x->logged, x->bytes),
        hark_cli_amount(logged, x->logged, r->exponent));
}

void hark_balance_json(const struct balance_run *r, FILE *f)
{
    const struct hark_balance *b = r->asked;
    const struct sums s = sums_of(r);
    char logged[HARK_CLI_AMOUNT], bytes[HARK_CLI_AMOUNT];
    fprintf(f, "{\n  \"schema\": %d,\n  \"command\": \"balance\",\n  \"strategy\": \"%s\",\n",
        SCHEMA, r->strategy);
    fprintf(f, "  \"backend\": %s%s%s,\n", r->backend ? "\"" : "", r->backend ? r->backend : "null",
        r->backend ? "\"" : "");
    fprintf(f, "  \"objects\": %" PRIu32 ",\n  \"pes\": %" PRIu32 ",\n  \"teams\": %" PRIu32 ",\n",
        b->graph->vertices, b->pes, b->teams);
    fprintf(f, "  \"slack\": %.1f,\n  \"move_bytes\": %" PRIu64 ",\n  \"seed\": %" PRIu64 ",\n",
        b->slack / 10.0, r->move, b->seed);
    fprintf(f,
        "  \"columns\": %" PRIu32 ",\n  \"every\": %" PRIu32 ",\n  \"balancings\": %" PRIu32 ",\n",
        r->columns, r->every, s.balancings);
    fprintf(f, "  \"moved\": %" PRIu64 ",\n  \"bytes\": %s,\n  \"log_bytes\": %s,\n", s.moved,
        hark_cli_amount(bytes, s.bytes, s.exponent), hark_cli_amount(logged, s.logged, s.exponent));
    fprintf(f,
        "  \"time\": %.0f,\n  \"time_none\": %.0f,\n  \"time_mean\": %.0f,\n  \"speedup\": %.6f,\n "
        " \"before\": {",
        s.time, s.none, s.mean, speedup(&s));
    json_figures(r, &r->before, f);
    fputs("},\n  \"after\": [", f);
    for (uint32_t c = 0; c < r->columns; c++) {
        const struct balance_column *x = &r->column[c];
        fprintf(f, "%s\n    {\"column\": %" PRIu32 ", ", c ? "," : "", c + 1);
        json_figures(r, &x->figures, f);
        fprintf(f, ", \"none\": %" PRIu64 ", \"balanced\": %s, \"moved\": %" PRIu32 "}", x->none,
            x->balanced ? "true" : "false", x->balanced ? x->figures.moved : 0);
    }
    fprintf(f, "\n  ],\n  \"wall_ms\": %.3f\n}\n", r->wall_ms);
}

void hark_balance_csv(const struct balance_run *r, FILE *f)
{
    char logged[HARK_CLI_AMOUNT];
    fputs("column,mean,most,none,imbalance,edge_cut,log_bytes,balanced,moved\n", f);
    for (uint32_t c = 0; c < r->columns; c++) {
        const struct balance_column *x = &r->column[c];
        fprintf(f, "%" PRIu32 ",%.1f,%" PRIu64 ",%" PRIu64 ",%.6f,%.6f,%s,%d,%" PRIu32 "\n", c + 1,
            mean(r, &x->figures), x->figures.most, x->none, imbalance(r, &x->figures),
            share(x->figures.logged, x->figures.bytes),
            hark_cli_amount(logged, x->figures.logged, r->exponent), x->balanced,
            x->balanced ? x->figures.moved : 0);
    }
}

/* ---- the picture ----------------------------------------------------------------------------- */

enum curve { NONE, MEAN, BALANCED };

static double value(const struct balance_run *r, uint32_t column, enum curve what)
{
    const struct balance_column *x = &r->column[column];
    if (what == NONE) return (double)x->none;
    return what == MEAN ? mean(r, &x->figures) : (double)x->figures.most;
}

static double highest(const struct balance_run *r)
{
    double most = 0;
    for (uint32_t c = 0; c < r->columns; c++)
        for (int what = NONE; what <= BALANCED; what++)
            if (value(r, c, (enum curve)what) > most) most = value(r, c, (enum curve)what);
    return most;
}

/* Steps: a load is that of a whole column. */
static double curve(
    const struct balance_run *r, enum curve what, const char *class, double most, FILE *f)
{
    double y = hark_plot_y(0, 1);
    fprintf(f, "<polyline class=\"%s\" points=\"", class);
    for (uint32_t c = 0; c < r->columns; c++) {
        y = hark_plot_y(value(r, c, what), most);
        fprintf(f, "%.1f,%.1f %.1f,%.1f ", hark_plot_x(c, r->columns), y,
            hark_plot_x(c + 1, r->columns), y);
    }
    fputs("\"/>\n", f);
    return y;
}

static void axes(const struct balance_run *r, double most, FILE *f)
{
    static const char *const thousands[] = {"", "k", "M", "G", "T"};
    double unit = 1;
    int u = 0;
    for (; most / unit >= 10000 && u < 4; u++) unit *= 1000;
    const struct hark_plot_axis x = {r->columns, "", "columns of loads", true},
                                y = {most / unit, thousands[u], NULL, false};
    hark_plot_axes(&x, &y, f);
}

void hark_balance_plot(const struct balance_run *r, FILE *f)
{
    double most = highest(r), ends[3];
    struct hark_plot_words words = {{0}};
    char word[64];
    /* Of lines that lie on each other, the lower ones are wider or the upper one has dashes. */
    hark_plot_begin(
        ".none { stroke: #bbb; stroke-width: 5 } .mean { stroke: #2a7d46; stroke-dasharray: 4 3 } "
        ".done { stroke: "
        "#1f5fa8 }\n"
        "text.none, text.mean, text.done { stroke: none } text.none { fill: #666 } text.mean { "
        "fill: #2a7d46 }\n"
        "text.done { fill: #1f5fa8 } line.back { stroke: #b5651d; stroke-dasharray: 2 3 }\n"
        "text.back { fill: #b5651d; stroke: none }\n",
        f);
    title(r, f);
    hark_plot_title_end(f);
    axes(r, most, f);
    for (uint32_t c = 0; c < r->columns; c++) {
        if (!r->column[c].balanced) continue;
        snprintf(word, sizeof word, "%" PRIu32 " moved", r->column[c].figures.moved);
        hark_plot_moment(&words, hark_plot_x(c, r->columns), "back", word, f);
    }
    ends[NONE] = curve(r, NONE, "none", most, f);
    ends[BALANCED] = curve(r, BALANCED, "done", most, f);
    ends[MEAN] = curve(r, MEAN, "mean", most, f);
    if (ends[MEAN] < ends[BALANCED] + 15)
        ends[MEAN] = ends[BALANCED] + 15; /* names below one another */
    if (ends[NONE] > ends[BALANCED] - 15) ends[NONE] = ends[BALANCED] - 15;
    hark_plot_name(ends[NONE] + 4, "none", "fullest PE, none", f);
    hark_plot_name(ends[BALANCED] + 4, "done", "fullest PE", f);
    hark_plot_name(ends[MEAN] + 4, "mean", "mean of PEs", f);
    hark_plot_end(f);
}
