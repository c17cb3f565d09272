/* json.c: the figures of a run, as JSON. Schema 1; keys may be added, none changes its meaning. */
#include "../json.h"
#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hark/registry.h"

#define SCHEMA 2

static void put_rank(FILE *f, uint32_t rank)
{
    if (rank == HARK_RECOVERY) hark_json_string(f, "recovery");
    else fprintf(f, "%" PRIu32, rank);
}

static double ms(uint64_t from, uint64_t to)
{
    return from && to > from ? (double)(to - from) / 1e6 : 0;
}

static void put_clusters(FILE *f, const char *text)
{
    fputs("  \"clusters\": [", f);
    for (const char *before = ""; *text; before = ", ") {
        size_t length = strcspn(text, ";");
        fprintf(f, "%s\"%.*s\"", before, (int)length, text);
        text += length + (text[length] == ';');
    }
    fputs("],\n", f);
}

static void put_totals(FILE *f, const struct supervisor *s)
{
    struct hark_board_slot t;
    memset(&t, 0, sizeof t);
    for (uint32_t i = 0; i < s->o->ranks; i++) {
        const struct hark_board_slot *b = &s->board->slot[i];
        t.messages += b->messages;
        t.bytes += b->bytes;
        t.deliveries += b->deliveries;
        t.log_bytes += b->log_bytes;
        t.log_bytes_peak += b->log_bytes_peak;
        t.determinants_created += b->determinants_created;
        t.determinants_piggybacked += b->determinants_piggybacked;
        t.piggyback_bytes += b->piggyback_bytes;
        t.checkpoints += b->checkpoints;
        t.replayed += b->replayed;
        t.suppressed += b->suppressed;
        t.discarded += b->discarded;
        t.refused += b->refused;
        t.readings += b->readings;
        t.readings_given += b->readings_given;
        t.journal_bytes += b->journal_bytes;
    }
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"messages", t.messages}, {"bytes", t.bytes}, {"deliveries", t.deliveries},
        {"log_bytes", t.log_bytes}, {"log_bytes_peak", t.log_bytes_peak},
        {"determinants_created", t.determinants_created},
        {"determinants_piggybacked", t.determinants_piggybacked},
        {"piggyback_bytes", t.piggyback_bytes}, {"checkpoints", t.checkpoints},
        {"replayed", t.replayed}, {"suppressed", t.suppressed}, {"discarded", t.discarded},
        {"refused", t.refused}, {"readings", t.readings}, {"readings_given", t.readings_given},
        {"journal_bytes", t.journal_bytes}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        fprintf(f, "  \"%s\": %" PRIu64 ",\n", rows[i].name, rows[i].value);
}

/* The shortest interval and the highest cost of all processes. */
static void put_checkpoints(FILE *f, const struct supervisor *s)
{
    uint64_t cost = 0, written = 0, interval = UINT64_MAX;
    for (uint32_t i = 0; i < s->o->ranks; i++) {
        const struct hark_board_slot *b = &s->board->slot[i];
        if (b->cost_ns > cost) cost = b->cost_ns;
        if (b->image_ns > written) written = b->image_ns;
        if (b->interval_ns < interval) interval = b->interval_ns;
    }
    fprintf(f,
        "  \"interval_ms\": %.6f,\n  \"checkpoint_cost_ms\": %.6f,\n"
        "  \"checkpoint_written_ms\": %.6f,\n",
        (double)interval / 1e6, (double)cost / 1e6, (double)written / 1e6);
}

static void put_failures(FILE *f, const struct supervisor *s)
{
    fputs("  \"failures\": [", f);
    for (uint32_t i = 0; i < s->failures; i++) {
        const struct failure *x = &s->failure[i];
        fprintf(f, "%s\n    {\"rank\": ", i ? "," : "");
        put_rank(f, x->rank);
        fprintf(f, ", \"at\": %" PRIu64 ", \"kind\": ", x->at);
        hark_json_string(f, x->kind);
        fputc('}', f);
    }
    fprintf(f, "%s],\n  \"restarted_ranks\": [", s->failures ? "\n  " : "");
    const char *before = "";
    for (uint32_t i = 0; i < s->o->ranks; i++) {
        if (s->child[i].restarts == 0) continue;
        fprintf(f, "%s%" PRIu32, before, i);
        before = ", ";
    }
    fputs("],\n", f);
}

/* detect: from the first sign of a death to the announcement (of the last failure nested in it);
 * restart: from there until all are up again; replay: from there to the end of recovery; caught_up:
 * from the first sign until the last restarted process is where it had been, 0 if that was not
 * seen. */
static void put_recoveries(FILE *f, const struct supervisor *s)
{
    fputs("  \"recoveries\": [", f);
    for (uint32_t i = 0; i < s->recoveries; i++) {
        const struct recovery *r = &s->recovery[i];
        fprintf(f,
            "%s\n    {\"detect_ms\": %.3f, \"restart_ms\": %.3f, \"replay_ms\": %.3f, "
            "\"caught_up_ms\": %.3f, \"re\": "
            "%" PRIu32 ", \"over\": %s, \"ranks\": [",
            i ? "," : "", ms(r->died, r->announced), ms(r->announced, r->restarted),
            ms(r->restarted, r->over), ms(r->died, r->caught_up), r->re,
            r->over ? "true" : "false");
        const char *before = "";
        for (uint32_t k = 0; k < s->o->ranks; k++) {
            if (!r->rolled[k]) continue;
            fprintf(f, "%s%" PRIu32, before, k);
            before = ", ";
        }
        fputs("]}", f);
    }
    fprintf(f, "%s],\n", s->recoveries ? "\n  " : "");
}

/* Where each process is in the end, and what became of its hosts. */
static void put_hosts(FILE *f, const struct supervisor *s)
{
    fputs("  \"hosts\": [", f);
    for (uint32_t i = 0; i < s->o->hosts; i++) {
        const struct host *h = &s->host[i];
        const char *before = "";
        fprintf(f, "%s\n    {\"host\": ", i ? "," : "");
        hark_json_string(f, h->name);
        fprintf(f,
            ", \"slots\": %" PRIu32 ", \"deaths\": %" PRIu32 ", \"reconnected\": %" PRIu32
            ", \"alive\": %s, \"ranks\": [",
            h->slots, h->deaths, h->joined, h->lost ? "false" : "true");
        for (uint32_t r = 0; r < s->o->ranks; r++) {
            if (s->child[r].host != h) continue;
            fprintf(f, "%s%" PRIu32, before, r);
            before = ", ";
        }
        fputs("]}", f);
    }
    fputs("\n  ],\n", f);
}

/* [from, to, bytes] of each two ranks. */
static void put_traffic(FILE *f, const struct supervisor *s)
{
    const char *before = "";
    fputs("  \"traffic\": [", f);
    for (uint32_t i = 0; i < s->o->ranks; i++) {
        const _Atomic uint64_t *row = hark_board_traffic(s->board, i);
        for (uint32_t k = 0; k < s->o->ranks; k++) {
            uint64_t bytes = atomic_load_explicit(&row[k], memory_order_relaxed);
            if (bytes == 0) continue;
            fprintf(f, "%s[%" PRIu32 ", %" PRIu32 ", %" PRIu64 "]", before, i, k, bytes);
            before = ", ";
        }
    }
    fputs("],\n", f);
}

/* Of every protocol; 0: not asked for, or as it is by itself. */
static void put_options(FILE *f, const struct hark_run_options *o)
{
    const struct hark_option *x;
    for (unsigned i = 0; (x = hark_option_at(i)) != NULL; i++) {
        fputs("  \"", f);
        for (const char *c = x->name; *c; c++) fputc(*c == '-' ? '_' : *c, f);
        fprintf(f, "\": %" PRIu32 ",\n", hark_option_value(x, &o->core));
    }
}

int hark_sup_json(const struct supervisor *s)
{
    FILE *f = s->figures_lost ? NULL : fopen(s->o->json, "we");
    if (s->figures_lost) errno = ENOMEM;
    if (f != NULL) {
        fprintf(f, "{\n  \"schema\": %d,\n  \"command\": \"run\",\n  \"protocol\": ", SCHEMA);
        hark_json_string(f, s->o->protocol->name);
        fputs(",\n  \"transport\": ", f);
        hark_json_string(f, s->o->transport->name);
        fprintf(f, ",\n  \"ranks\": %" PRIu32 ",\n", s->o->ranks);
        put_options(f, s->o);
        put_clusters(f, s->clusters_text);
        put_totals(f, s);
        put_checkpoints(f, s);
        put_failures(f, s);
        put_recoveries(f, s);
        if (s->host) put_hosts(f, s);
        if (s->o->traffic) put_traffic(f, s);
        if (hark_sup_reclusters(s))
            fprintf(f, "  \"reclusterings\": [%s],\n", s->reclusterings ? s->reclusterings : "");
        if (s->advice) fprintf(f, "  \"advice\": %s,\n", s->advice);
        fprintf(f,
            "  \"diverged\": %" PRIu64 ",\n  \"troubles\": %" PRIu64
            ",\n  \"elapsed_ms\": %.3f,\n  \"exit\": %d\n}\n",
            s->diverged, s->troubles, ms(s->started, s->ended), s->exit);
        bool failed = ferror(f) != 0;
        if (fclose(f) == 0 && !failed) return 0;
    }
    hark_sup_say("cannot write the figures %s: %s", s->o->json, strerror(errno));
    return -1;
}
