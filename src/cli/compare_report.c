/* compare_report.c: the result of `hark compare`, for people and as JSON. */
#include "compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hark/registry.h"
#include "../json.h"
#include "protocols.h"
#include "output.h"
#include "values.h"

/* ---- words ----------------------------------------------------------------------------------- */

/* Contexts 0 to 3 are those of app.h; from 4 on each communicator of MPI has four
 * (src/mpi/internal.h). */
static void name_context(char text[64], uint32_t ctx)
{
    static const char *const own[] = {"messages", "collective calls", "multicasts", "reductions"};
    static const char *const mpi[] = {
        "messages", "collective calls", "acknowledgements", "one-sided calls"};
    if (ctx < 4) snprintf(text, 64, "%s", own[ctx]);
    else if (ctx / 4 <= 2)
        snprintf(
            text, 64, "%s, %s", ctx / 4 == 1 ? "MPI_COMM_WORLD" : "MPI_COMM_SELF", mpi[ctx % 4]);
    else snprintf(text, 64, "communicator %u, %s", ctx / 4, mpi[ctx % 4]);
}

static void name_peer(char text[24], uint32_t peer)
{
    if (peer == HARK_RECORDING_GROUP) snprintf(text, 24, "a group");
    else snprintf(text, 24, "rank %" PRIu32, peer);
}

static const char *s(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_sent(const char *path, const struct hark_difference *d, bool first)
{
    const struct hark_recording_entry *e = first ? &d->a : &d->b;
    const bool both = d->in_first && d->in_second, other = both && d->a.ctx != d->b.ctx;
    if (!(first ? d->in_first : d->in_second)) {
        printf("    %s: no such message\n", path);
        return;
    }
    printf("    %s: tag %" PRId32 ", %" PRIu64 " byte%s", path, e->tag, e->length, s(e->length));
    if (other) printf(", context %u", e->ctx);
    if (both && !other && d->a.tag == d->b.tag && d->a.length == d->b.length)
        printf(", digest %016" PRIx64, e->digest);
    puts("");
}

/* "b and 2 more recordings": those that differ. */
static void print_others(
    const struct hark_cli_compared *c, const char *what, uint32_t i, uint32_t all)
{
    printf("  %s differ: %s", what, c->recording[i + 1].path);
    if (all > 1) printf(" and %" PRIu32 " more recording%s", all - 1, s(all - 1));
}

static void print_send(const struct hark_cli_compared *c, uint32_t i, uint32_t all)
{
    const struct hark_comparison *with = &c->with[i];
    const struct hark_difference *d = &with->send;
    const struct hark_recording_entry *e = d->in_first ? &d->a : &d->b;
    char context[64], peer[24];
    name_context(context, e->ctx);
    name_peer(peer, e->peer);
    print_others(c, "sends", i, all);
    printf("; on %" PRIu64 " of %" PRIu64 " channels%s\n  the first: message %" PRIu64
           " of rank %" PRIu32 " to %s (context %u: %s)\n",
        with->channels_differ, with->channels_of_both,
        with->channels_in_shape ? "" : ", in contents only", d->number, d->rank, peer, e->ctx,
        context);
    print_sent(c->recording[0].path, d, true);
    print_sent(c->recording[i + 1].path, d, false);
    if (with->unprompted)
        printf("    rank %" PRIu32 " sent something else after it had received the same: the order "
               "of messages is not the reason\n",
            with->unprompted_rank);
}

static void print_delivered(const char *path, const struct hark_recording_entry *e, bool is)
{
    char context[64];
    name_context(context, e->ctx);
    if (!is) printf("    %s: no such delivery\n", path);
    else
        printf("    %s: message %" PRIu64 " of rank %" PRIu32 " (context %u: %s)\n", path,
            e->number, e->peer, e->ctx, context);
}

static void print_delivery(const struct hark_cli_compared *c, uint32_t i, uint32_t all)
{
    const struct hark_comparison *with = &c->with[i];
    const struct hark_difference *d = &with->delivery;
    print_others(c, "deliveries", i, all);
    printf("; in %" PRIu32 " of %" PRIu32 " processes\n  the first: delivery %" PRIu64
           " of rank %" PRIu32 "\n",
        with->ranks_differ, c->recording[0].ranks, d->number, d->rank);
    print_delivered(c->recording[0].path, &d->a, d->in_first);
    print_delivered(c->recording[i + 1].path, &d->b, d->in_second);
}

/* Of the first that differs, and how many do. */
static void print_differences(const struct hark_cli_compared *c)
{
    uint32_t sends = 0, deliveries = 0, first_send = 0, first_delivery = 0;
    for (uint32_t i = c->count - 1; i-- > 0;) {
        if (c->with[i].send.any) sends++, first_send = i;
        if (c->with[i].delivery.any) deliveries++, first_delivery = i;
    }
    if (sends) print_send(c, first_send, sends);
    if (deliveries) print_delivery(c, first_delivery, deliveries);
}

static bool any_unprompted(const struct hark_cli_compared *c)
{
    for (uint32_t i = 0; i + 1 < c->count; i++)
        if (c->with[i].unprompted) return true;
    return false;
}

/* The protocols that suit such a program, as far as these runs show: other runs may refute it. */
static uint32_t class_of(const struct hark_cli_compared *c)
{
    if (c->sends_same) return HARK_FOR_SENDS;
    return any_unprompted(c) ? HARK_FOR_ANY : HARK_FOR_PIECEWISE;
}

static void print_advice(const struct hark_cli_compared *c)
{
    char sends[128], piecewise[128], any[128];
    hark_cli_protocols_for(HARK_FOR_SENDS, sends, sizeof sends);
    hark_cli_protocols_for(HARK_FOR_PIECEWISE, piecewise, sizeof piecewise);
    hark_cli_protocols_for(HARK_FOR_ANY, any, sizeof any);
    switch (class_of(c)) {
    case HARK_FOR_SENDS:
        printf("  protocols: %s, and all others, as far as these runs show\n", sends);
        break;
    case HARK_FOR_PIECEWISE:
        printf("  protocols: %s, if what a process sends depends only on what it received and in "
               "which order; %s suits any program\n",
            piecewise, any);
        break;
    default:
        printf("  protocols: %s. If the reason is a clock or random numbers, record again with "
               "--steady, and see --journal; if it is\n"
               "  whether MPI_Test, MPI_Iprobe and the like found a message: %s\n",
            any, piecewise);
    }
}

void hark_cli_compared_text(const struct hark_cli_compared *c)
{
    const struct hark_comparison *of = &c->with[0];
    printf("%s\n", hark_cli_compared_word(c));
    printf("  %" PRIu32 " recordings of %s, %" PRIu32 " process%s: %" PRIu64 " send%s on %" PRIu64
           " channel%s, %" PRIu64 " deliver%s\n",
        c->count, c->recording[0].program, c->recording[0].ranks,
        c->recording[0].ranks == 1 ? "" : "es", of->sends, s(of->sends), of->channels,
        s(of->channels), of->deliveries, of->deliveries == 1 ? "y" : "ies");
    print_differences(c);
    print_advice(c);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_sent(FILE *f, const char *key, const struct hark_recording_entry *e, bool is)
{
    if (!is) fprintf(f, ", \"%s\": null", key);
    else
        fprintf(f,
            ", \"%s\": {\"tag\": %" PRId32 ", \"length\": %" PRIu64 ", \"digest\": \"%016" PRIx64
            "\"}",
            key, e->tag, e->length, e->digest);
}

static void put_delivered(FILE *f, const char *key, const struct hark_recording_entry *e, bool is)
{
    if (!is) fprintf(f, ", \"%s\": null", key);
    else
        fprintf(f, ", \"%s\": {\"from\": %" PRIu32 ", \"context\": %u, \"number\": %" PRIu64 "}",
            key, e->peer, e->ctx, e->number);
}

static void put_comparison(FILE *f, const struct hark_cli_compared *c, uint32_t i)
{
    const struct hark_comparison *with = &c->with[i];
    const struct hark_difference *d = &with->send, *e = &with->delivery;
    const struct hark_recording_entry *sent = d->in_first ? &d->a : &d->b;
    fputs("    {\"recording\": ", f);
    hark_json_string(f, c->recording[i + 1].path);
    fprintf(f,
        ", \"channels\": %" PRIu64 ", \"channels_differ\": %" PRIu64
        ", \"channels_differ_in_shape\": %" PRIu64 ", \"ranks_differ\": %" PRIu32
        ",\n     \"first_send\": ",
        with->channels_of_both, with->channels_differ, with->channels_in_shape, with->ranks_differ);
    if (!d->any) fputs("null", f);
    if (d->any) fprintf(f, "{\"from\": %" PRIu32 ", \"to\": ", d->rank);
    if (d->any && sent->peer == HARK_RECORDING_GROUP) fputs("\"group\"", f);
    else if (d->any) fprintf(f, "%" PRIu32, sent->peer);
    if (d->any) fprintf(f, ", \"context\": %u, \"number\": %" PRIu64, sent->ctx, d->number);
    if (d->any) put_sent(f, "first", &d->a, d->in_first);
    if (d->any) put_sent(f, "this", &d->b, d->in_second);
    fprintf(f, "%s,\n     \"first_delivery\": %s", d->any ? "}" : "", e->any ? "" : "null");
    if (e->any) fprintf(f, "{\"rank\": %" PRIu32 ", \"number\": %" PRIu64, e->rank, e->number);
    if (e->any) put_delivered(f, "first", &e->a, e->in_first);
    if (e->any) put_delivered(f, "this", &e->b, e->in_second);
    fprintf(f, "%s,\n     \"unprompted\": ", e->any ? "}" : "");
    if (with->unprompted) fprintf(f, "%" PRIu32 "}", with->unprompted_rank);
    else fputs("null}", f);
}

static void put_protocols(FILE *f, uint32_t programs)
{
    const struct hark_protocol *p;
    const char *comma = "";
    for (unsigned i = 0; (p = hark_protocol_at(i)) != NULL; i++) {
        const uint32_t of = p->manual->programs;
        if (of == HARK_FOR_NOTHING || of > programs) continue;
        fprintf(f, "%s\"%s\"", comma, p->name);
        comma = ", ";
    }
}

int hark_cli_compared_json(const struct hark_cli_compared *c, const char *path)
{
    FILE *f = hark_cli_create("compare", "--json", path);
    if (f == NULL) return 2;
    fprintf(f, "{\"schema\": 1, \"command\": \"compare\",\n  \"result\": \"%s\",\n  \"program\": ",
        hark_cli_compared_word(c));
    hark_json_string(f, c->recording[0].program);
    fprintf(f,
        ", \"ranks\": %" PRIu32 ", \"sends\": %" PRIu64 ", \"channels\": %" PRIu64
        ", \"deliveries\": %" PRIu64 ",\n  \"recording\": ",
        c->recording[0].ranks, c->with[0].sends, c->with[0].channels, c->with[0].deliveries);
    hark_json_string(f, c->recording[0].path);
    fputs(",\n  \"compared\": [\n", f);
    for (uint32_t i = 0; i + 1 < c->count; i++) {
        if (i) fputs(",\n", f);
        put_comparison(f, c, i);
    }
    fputs("],\n  \"protocols\": [", f);
    put_protocols(f, class_of(c));
    fputs("]}\n", f);
    return hark_cli_close("compare", "--json", path, f);
}
