/* report.c: the figures of a simulation, for people and for programs (docs/json.md). Schema 1. */
#include <inttypes.h>

#include "../json.h"
#include "sim.h"

#define SCHEMA 1

static double share(uint64_t part, uint64_t of)
{
    return of ? 100.0 * (double)part / (double)of : 0;
}

static double us(uint64_t from, uint64_t to)
{
    return to > from ? (double)(to - from) / 1e3 : 0;
}

/* ---- rows, the same for JSON and CSV --------------------------------------------------------- */

struct row {
    const char *name;
    uint64_t value;
};

enum { TRAFFIC_MAX = 4096 }; /* of more processes it is not said who sends to whom */
enum { ROWS = 40 };

static int rows(const struct sim_result *r, const struct sim_words *w, struct row row[ROWS])
{
    const struct sim_part_of *m = &r->part[SIM_MULTICAST], *d = &r->part[SIM_REDUCTION];
    uint64_t rolled = 0, iterations = 0, lost = 0;
    for (uint32_t i = 0; i < r->recoveries; i++) {
        rolled += r->recovery[i].ranks;
        iterations += r->recovery[i].iterations;
        lost += r->recovery[i].lost;
    }
    const struct row all[] = {{"ranks", w->ranks}, {"clusters", w->clusters},
        {"iterations", w->options->iterations}, {"messages", r->messages}, {"bytes", r->bytes},
        {"collective", m->messages + d->messages}, {"multicasts", m->messages},
        {"reductions", d->messages}, {"contributions", r->contributions}, {"results", r->results},
        {"deliveries", r->deliveries}, {"wanted", r->wanted}, {"logged", r->logged},
        {"logged_bytes", r->logged_bytes}, {"logged_multicasts", m->logged},
        {"logged_multicast_bytes", m->logged_bytes}, {"logged_reductions", d->logged},
        {"logged_reduction_bytes", d->logged_bytes}, {"log_bytes", r->log_bytes},
        {"log_bytes_peak", r->log_bytes_peak}, {"log_bytes_most", r->log_bytes_most},
        {"determinants_created", r->determinants_created},
        {"determinants_piggybacked", r->determinants_piggybacked},
        {"piggyback_bytes", r->piggyback_bytes}, {"checkpoints", r->checkpoints},
        {"replayed", r->replayed}, {"suppressed", r->suppressed}, {"discarded", r->discarded},
        {"diverged", r->diverged}, {"control", r->control}, {"control_bytes", r->control_bytes},
        {"control_most", r->control_most}, {"control_busiest", r->busiest}, {"failed", r->failures},
        {"rolled_back", rolled}, {"iterations_lost", iterations}, {"lost_ns", lost},
        {"events", r->events}, {"simulated_ns", r->time}, {"memory", r->memory}};
    int n = (int)(sizeof all / sizeof all[0]);
    for (int i = 0; i < n; i++) row[i] = all[i];
    return n;
}

static void put_rank(FILE *f, uint32_t rank, const char *quote)
{
    if (rank == HARK_RECOVERY) fprintf(f, "%srecovery%s", quote, quote);
    else fprintf(f, "%" PRIu32, rank);
}

/* Between two moments, if both were. */
static void json_us(FILE *f, const char *name, uint64_t from, uint64_t to)
{
    if (from == SIM_NEVER || to == SIM_NEVER) fprintf(f, ", \"%s\": null", name);
    else fprintf(f, ", \"%s\": %.3f", name, us(from, to));
}

static void json_recoveries(const struct sim_result *r, FILE *f)
{
    fputs("  \"failures\": [", f);
    for (uint32_t i = 0; i < r->failures; i++) {
        fprintf(f, "%s\n    {\"rank\": ", i ? "," : "");
        put_rank(f, r->failure[i].rank, "\"");
        if (r->failure[i].rank == HARK_RECOVERY) fputs(", \"iteration\": null", f);
        else fprintf(f, ", \"iteration\": %" PRIu32, r->failure[i].iteration + 1);
        fprintf(f, ", \"at_ns\": %" PRIu64 "}", r->failure[i].at);
    }
    fprintf(f, "%s],\n  \"recoveries\": [", r->failures ? "\n  " : "");
    for (uint32_t i = 0; i < r->recoveries; i++) {
        const struct sim_recovery *x = &r->recovery[i];
        fprintf(f, "%s\n    {\"re\": %" PRIu32 ", \"ranks\": %" PRIu32 ", \"at_ns\": %" PRIu64,
            i ? "," : "", x->re, x->ranks, x->died);
        json_us(f, "detect_us", x->died, x->announced);
        json_us(f, "restart_us", x->announced, x->restarted);
        json_us(f, "replay_us", x->restarted, x->over);
        json_us(f, "caught_up_us", x->died, x->caught_up);
        fprintf(f,
            ", \"iterations_lost\": %" PRIu64 ", \"lost_ns\": %" PRIu64
            ", \"lost_most_ns\": %" PRIu64 ", \"control\": %" PRIu64 ", \"replayed\": %" PRIu64 "}",
            x->iterations, x->lost, x->lost_most, x->frames, x->replayed);
    }
    fprintf(f, "%s],\n", r->recoveries ? "\n  " : "");
}

void sim_json(const struct sim_result *r, const struct sim_words *w, FILE *f)
{
    struct row row[ROWS];
    int n = rows(r, w, row);
    fprintf(f,
        "{\n  \"schema\": %d,\n  \"command\": \"sim\",\n  \"protocol\": \"%s\",\n  \"pattern\": ",
        SCHEMA, w->protocol);
    hark_json_string(f, w->pattern);
    fputs(",\n", f);
    for (int i = 0; i < n; i++) fprintf(f, "  \"%s\": %" PRIu64 ",\n", row[i].name, row[i].value);
    fputs("  \"control_at\": ", f);
    put_rank(f, r->control_at, "\"");
    fputs(",\n  \"control_busiest_at\": ", f);
    put_rank(f, r->busiest_at, "\"");
    fputs(",\n", f);
    json_recoveries(r, f);
    if (w->ranks <= TRAFFIC_MAX) {
        fputs("  \"traffic\": ", f);
        (void)sim_pattern_json(w->options->pattern, f);
        fputs(",\n", f);
    }
    fprintf(f, "  \"digest\": \"%016" PRIx64 "\",\n  \"wall_ms\": %.3f,\n  \"made_ms\": %.3f\n}\n",
        r->digest, r->seconds * 1e3, r->seconds_made * 1e3);
}

void sim_csv(const struct sim_result *r, const struct sim_words *w, FILE *f)
{
    struct row row[ROWS];
    int n = rows(r, w, row);
    fputs("protocol,pattern", f);
    for (int i = 0; i < n; i++) fprintf(f, ",%s", row[i].name);
    fprintf(f, ",wall_ms\n%s,\"", w->protocol);
    for (const char *c = w->pattern; *c; c++) {
        if (*c == '"') fputc('"', f);
        fputc(*c, f);
    }
    fputc('"', f);
    for (int i = 0; i < n; i++) fprintf(f, ",%" PRIu64, row[i].value);
    fprintf(f, ",%.3f\n", r->seconds * 1e3);
}

/* ---- for people ------------------------------------------------------------------------------ */

static void line(FILE *f, const char *what, uint64_t value, const char *unit)
{
    fprintf(f, "  %-26s %16" PRIu64 "%s\n", what, value, unit);
}

static void moment(FILE *f, const char *what, uint64_t from, uint64_t to, const char *since)
{
    if (from == SIM_NEVER || to == SIM_NEVER) fprintf(f, "  %-26s %16s\n", what, "never");
    else fprintf(f, "  %-26s %16.3f us%s\n", what, us(from, to), since);
}

static void report_recoveries(const struct sim_result *r, const struct sim_words *w, FILE *f)
{
    for (uint32_t i = 0; i < r->failures; i++) {
        fputs("failure of ", f);
        put_rank(f, r->failure[i].rank, "");
        fprintf(f, " after %.3f us", (double)r->failure[i].at / 1e3);
        if (r->failure[i].rank != HARK_RECOVERY)
            fprintf(f, ", in iteration %" PRIu32, r->failure[i].iteration + 1);
        fputc('\n', f);
    }
    for (uint32_t i = 0; i < r->recoveries; i++) {
        const struct sim_recovery *x = &r->recovery[i];
        fprintf(f, "recovery %" PRIu32 "\n", i + 1);
        fprintf(f, "  %-26s %16" PRIu32 "  %.2f %%\n", "processes rolled back", x->ranks,
            share(x->ranks, w->ranks));
        fprintf(f, "  %-26s %16" PRIu64 "  %.3f us, %.3f us of one\n", "iterations made again",
            x->iterations, (double)x->lost / 1e3, (double)x->lost_most / 1e3);
        moment(f, "detection", x->died, x->announced, "");
        moment(f, "restart", x->announced, x->restarted, "");
        moment(f, "replay, to its end", x->restarted, x->over, "");
        moment(f, "caught up", x->died, x->caught_up, " since the death");
        line(f, "messages replayed", x->replayed, "");
        line(f, "control messages", x->frames, "");
    }
}

/* What is logged of multicasts, reductions and the rest: each one's share of the messages, and of
 * the log. */
static void report_parts(const struct sim_result *r, FILE *f)
{
    static const char *const names[SIM_PARTS] = {
        "  of point-to-point", "  of multicasts", "  of reductions"};
    if (r->part[SIM_POINT].messages == r->messages) return;
    for (int i = 0; i < SIM_PARTS; i++) {
        const struct sim_part_of *p = &r->part[i];
        fprintf(f,
            "  %-26s %16" PRIu64 "  %.2f %% of the messages; %" PRIu64
            " logged, %.2f %% of the bytes logged\n",
            names[i], p->messages, share(p->messages, r->messages), p->logged,
            share(p->logged_bytes, r->logged_bytes));
    }
}

/* "17 at most to one process (4), 40 to and from it". */
static void report_control(const struct sim_result *r, FILE *f)
{
    fprintf(f, "  %-26s %16" PRIu64 "  %" PRIu64 " at most to one process (", "control messages",
        r->control, r->control_most);
    put_rank(f, r->control_at, "");
    fprintf(f, "), %" PRIu64 " to and from ", r->busiest);
    if (r->busiest_at == r->control_at) {
        fputs("it\n", f);
        return;
    }
    fputs("one (", f);
    put_rank(f, r->busiest_at, "");
    fputs(")\n", f);
}

void sim_report(const struct sim_result *r, const struct sim_words *w, FILE *f)
{
    fprintf(f, "%s, %s, %" PRIu32 " process%s in %" PRIu32 " cluster%s, %" PRIu32 " iteration%s\n",
        w->protocol, w->pattern, w->ranks, w->ranks == 1 ? "" : "es", w->clusters,
        w->clusters == 1 ? "" : "s", w->options->iterations,
        w->options->iterations == 1 ? "" : "s");
    line(f, "messages", r->messages, "");
    line(f, "bytes", r->bytes, "");
    fprintf(f, "  %-26s %16" PRIu64 "  %.2f %%\n", "messages logged", r->logged,
        share(r->logged, r->messages));
    fprintf(f, "  %-26s %16" PRIu64 "  %.2f %%\n", "bytes logged", r->logged_bytes,
        share(r->logged_bytes, r->bytes));
    report_parts(r, f);
    fprintf(f, "  %-26s %16" PRIu64 "  %" PRIu64 " at most, %" PRIu64 " at one process\n",
        "log at the end, bytes", r->log_bytes, r->log_bytes_peak, r->log_bytes_most);
    if (r->determinants_created) {
        line(f, "determinants created", r->determinants_created, "");
        line(f, "determinants piggybacked", r->determinants_piggybacked, "");
    }
    line(f, "piggyback bytes", r->piggyback_bytes, "");
    line(f, "images committed", r->checkpoints, "");
    report_control(r, f);
    if (r->diverged) line(f, "divergences", r->diverged, "");
    report_recoveries(r, w, f);
    fprintf(f,
        "%.3f us simulated, in %.3f s (and %.3f s to begin): %.0f messages/s, %" PRIu64 " MiB\n",
        (double)r->time / 1e3, r->seconds, r->seconds_made,
        r->seconds > 0 ? (double)r->messages / r->seconds : 0, r->memory >> 20);
}
