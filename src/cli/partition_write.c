/* partition_write.c: what `hark partition` writes: clusters, figures, tables and curves. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../json.h"
#include "amount.h"
#include "partition.h"

enum { SCHEMA = 1 };

/* The ranks of each cluster: list[begin[c]] .. of c, ascending. False without memory. */
static bool lists(const struct hark_partition *p, uint32_t **begin, uint32_t **list)
{
    *begin = calloc((size_t)p->clusters + 2, sizeof **begin);
    *list = malloc(((size_t)p->ranks + 1) * sizeof **list);
    if (*begin == NULL || *list == NULL) {
        free(*begin);
        free(*list);
        return false;
    }
    for (uint32_t v = 0; v < p->ranks; v++) (*begin)[p->of[v] + 2]++;
    for (uint32_t c = 2; c < p->clusters + 2; c++) (*begin)[c] += (*begin)[c - 1];
    for (uint32_t v = 0; v < p->ranks; v++) (*list)[(*begin)[p->of[v] + 1]++] = v;
    return true;
}

static void put_ranks(const uint32_t *list, uint32_t count, FILE *f)
{
    for (uint32_t i = 0; i < count;) {
        uint32_t k = i;
        while (k + 1 < count && list[k + 1] == list[k] + 1) k++;
        fprintf(f, "%s%" PRIu32, i ? " " : "", list[i]);
        if (k > i) fprintf(f, "-%" PRIu32, list[k]);
        i = k + 1;
    }
}

void partition_write_clusters(const struct hark_partition *p, FILE *f)
{
    uint32_t *begin, *list;
    if (!lists(p, &begin, &list)) return;
    for (uint32_t c = 0; c < p->clusters; c++) {
        put_ranks(list + begin[c], begin[c + 1] - begin[c], f);
        fputc('\n', f);
    }
    free(begin);
    free(list);
}

/* ---- JSON */

static void put_sizes(const struct hark_partition *p, FILE *f)
{
    uint32_t *begin, *list;
    if (!lists(p, &begin, &list)) return;
    fputs("  \"sizes\": [", f);
    for (uint32_t c = 0; c < p->clusters; c++)
        fprintf(f, "%s%" PRIu32, c ? ", " : "", begin[c + 1] - begin[c]);
    fputs("],\n  \"clusters\": [", f);
    for (uint32_t c = 0; c < p->clusters; c++) {
        fputs(c ? ", \"" : "\"", f);
        put_ranks(list + begin[c], begin[c + 1] - begin[c], f);
        fputc('"', f);
    }
    fputs("],\n", f);
    free(begin);
    free(list);
}

void partition_write_json(const struct partition_report *r, FILE *f)
{
    static const char *const efforts[] = {"fast", "best", "paper"};
    const struct hark_partition *p = r->p;
    const struct hark_partition_options *o = r->o;
    char amount[HARK_CLI_AMOUNT];
    fprintf(f, "{\n  \"schema\": %d,\n  \"command\": \"partition\",\n  \"matrix\": ", SCHEMA);
    hark_json_string(f, r->matrix);
    fprintf(f, ",\n  \"ranks\": %" PRIu32 ",\n  \"bytes\": %s,\n  \"cost_function\": \"%s\",\n",
        p->ranks, hark_cli_amount(amount, p->figures.bytes, r->exponent),
        o->cost.ordered ? "ordered" : "team");
    fprintf(f, "  \"alpha\": %.6g,\n  \"beta\": %.6g,\n", o->cost.alpha, o->cost.beta);
    if (r->interval > 0) fprintf(f, "  \"interval_min\": %.3f,\n", r->interval);
    fprintf(f, "  \"effort\": \"%s\",\n  \"backend\": \"%s\",\n  \"seed\": %" PRIu64 ",\n",
        efforts[o->effort],
        o->effort == HARK_PARTITION_BEST && o->all_backends ? "all" : hark_cut_name(o->backend),
        o->seed);
    fprintf(f, "  \"k\": %" PRIu32 ",\n", p->clusters);
    put_sizes(p, f);
    fprintf(f,
        "  \"logged_bytes\": %s,\n  \"share_logged\": %.6f,\n  \"share_rolled_back\": %.6f,\n  "
        "\"cost\": %.8f,\n",
        hark_cli_amount(amount, p->figures.logged, r->exponent), hark_cluster_logged(&p->figures),
        hark_cluster_rolled_back(&p->figures, o->cost.ordered), p->cost);
    if (o->improve) fprintf(f, "  \"changed\": %" PRIu32 ",\n", p->changed);
    if (r->sweeps) {
        fputs("  \"sweep\": [", f);
        for (uint32_t i = 0; i < r->sweeps; i++)
            fprintf(f,
                "%s\n    {\"k\": %" PRIu32
                ", \"share_logged\": %.6f, \"share_rolled_back\": %.6f, \"cost\": %.8f}",
                i ? "," : "", r->sweep[i].clusters, r->sweep[i].logged, r->sweep[i].rolled_back,
                r->sweep[i].cost);
        fputs("\n  ],\n", f);
    }
    fprintf(f, "  \"time_ms\": %.3f\n}\n", r->ms);
}

/* ---- the sweep */

static struct partition_sweep chosen(const struct partition_report *r)
{
    return (struct partition_sweep){r->p->clusters, hark_cluster_logged(&r->p->figures),
        hark_cluster_rolled_back(&r->p->figures, r->o->cost.ordered), r->p->cost};
}

static double highest(const struct partition_report *r)
{
    double most = chosen(r).cost;
    for (uint32_t i = 0; i < r->sweeps; i++)
        if (r->sweep[i].cost > most) most = r->sweep[i].cost;
    return most;
}

static void put_row(const struct partition_sweep *s, double most, bool mark, FILE *f)
{
    enum { BAR = 40 };
    char bar[BAR + 1];
    size_t n = most > 0 ? (size_t)(s->cost / most * BAR + 0.5) : 0;
    if (n > BAR) n = BAR;
    memset(bar, mark ? '=' : '-', n);
    bar[n] = 0;
    fprintf(f, "%6" PRIu32 "  %7.2f  %11.2f  %6.3f  %s%s\n", s->clusters, s->logged * 100,
        s->rolled_back * 100, s->cost * 100, bar, mark ? "> chosen" : "");
}

void partition_write_sweep(const struct partition_report *r, FILE *f)
{
    struct partition_sweep own = chosen(r);
    bool shown = false;
    fprintf(f, "     K  logged%%  rolled back%%   cost%%\n");
    for (uint32_t i = 0; i < r->sweeps; i++) {
        if (!shown && own.clusters < r->sweep[i].clusters) {
            put_row(&own, highest(r), true, f);
            shown = true;
        }
        put_row(&r->sweep[i], highest(r), false, f);
    }
    if (!shown) put_row(&own, highest(r), true, f);
}

enum { WIDTH = 720, HEIGHT = 420, LEFT = 60, RIGHT = 30, TOP = 40, BOTTOM = 50 };

/* K by powers of two, along the width. */
static double x_of(uint32_t k, uint32_t most)
{
    double at = 0, all = 0;
    for (double x = k; x > 1; x /= 2) at += x >= 2 ? 1 : x - 1;
    for (double x = most; x > 1; x /= 2) all += x >= 2 ? 1 : x - 1;
    return LEFT + (all > 0 ? at / all : 0) * (WIDTH - LEFT - RIGHT);
}

static void curve(const struct partition_report *r, int which, const char *class, double top,
    uint32_t most, FILE *f)
{
    fprintf(f, "<polyline class=\"%s\" points=\"", class);
    for (uint32_t i = 0; i < r->sweeps; i++) {
        const struct partition_sweep *s = &r->sweep[i];
        const struct hark_cluster_cost *c = &r->o->cost;
        double value = which == 0   ? s->cost
                       : which == 1 ? c->alpha * s->logged
                                    : c->beta * s->rolled_back;
        fprintf(f, "%.1f,%.1f ", x_of(s->clusters, most),
            TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM));
    }
    fputs("\"/>\n", f);
}

void partition_write_plot(const struct partition_report *r, FILE *f)
{
    struct partition_sweep own = chosen(r);
    double top = highest(r) > 0 ? highest(r) * 1.05 : 1;
    uint32_t most = r->sweeps ? r->sweep[r->sweeps - 1].clusters : 1;
    if (own.clusters > most) most = own.clusters;
    fprintf(f,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
        "font-family=\"sans-serif\" "
        "font-size=\"12\">\n"
        "<style>polyline{fill:none;stroke-width:2}.cost{stroke:#222}.logged{stroke:#c60}.back{"
        "stroke:#069}"
        ".grid{stroke:#ddd}.own{fill:#c00}</style>\n<rect width=\"100%%\" height=\"100%%\" "
        "fill=\"#fff\"/>\n",
        WIDTH, HEIGHT);
    for (int i = 0; i <= 4; i++) {
        double y = TOP + i / 4.0 * (HEIGHT - TOP - BOTTOM);
        fprintf(f,
            "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n<text x=\"%d\" "
            "y=\"%.1f\" "
            "text-anchor=\"end\">"
            "%.1f %%</text>\n",
            LEFT, y, WIDTH - RIGHT, y, LEFT - 6, y + 4, top * 100 * (1 - i / 4.0));
    }
    for (uint32_t k = 1; k <= most; k *= 2)
        fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%" PRIu32 "</text>\n",
            x_of(k, most), HEIGHT - BOTTOM + 18, k);
    curve(r, 1, "logged", top, most, f);
    curve(r, 2, "back", top, most, f);
    curve(r, 0, "cost", top, most, f);
    fprintf(f, "<circle class=\"own\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>\n",
        x_of(own.clusters, most), TOP + (1 - own.cost / top) * (HEIGHT - TOP - BOTTOM));
    fprintf(f,
        "<text x=\"%d\" y=\"20\">cost (black) = logging (orange) + going back (blue); chosen "
        "(red): %" PRIu32 " cluster%s, %.2f %%</text>\n<text x=\"%d\" y=\"%d\" "
        "text-anchor=\"middle\">clusters</text>\n</svg>\n",
        LEFT, own.clusters, own.clusters == 1 ? "" : "s", own.cost * 100, WIDTH / 2, HEIGHT - 10);
}
