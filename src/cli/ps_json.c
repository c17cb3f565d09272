/* ps_json.c: `hark ps --json`. Schema 1; keys may be added, none changes its meaning. */
#include "ps_parts.h"

#include <inttypes.h>

#include "../json.h"

#define SCHEMA 1

static void put_text(FILE *f, const char *key, const char *text)
{
    fprintf(f, "\"%s\": ", key);
    hark_json_string(f, text);
}

static void put_ms(FILE *f, const char *key, uint64_t ns)
{
    if (ns == HARK_STATUS_UNKNOWN) fprintf(f, "\"%s\": null", key);
    else fprintf(f, "\"%s\": %.3f", key, (double)ns / 1e6);
}

static void put_hosts(FILE *f, const struct hark_job_status *s)
{
    fputs(", \"hosts\": [", f);
    for (uint32_t i = 0; i < s->hosts; i++) {
        const struct hark_status_host *h = &s->host[i];
        fprintf(f, "%s\n     {", i ? "," : "");
        put_text(f, "host", h->name);
        fprintf(f, ", \"state\": \"%s\", \"processes\": %" PRIu32 ", ",
            hark_host_state_name(h->state), h->processes);
        put_ms(f, "heard_ms", h->silent_ns);
        fputc('}', f);
    }
    fputc(']', f);
}

static void put_process(
    FILE *f, const struct hark_job_status *s, const struct hark_status_process *p)
{
    if (p->rank == HARK_STATUS_RECOVERY) fputs("{\"rank\": \"recovery\"", f);
    else fprintf(f, "{\"rank\": %" PRIu32, p->rank);
    fputs(", \"host\": ", f);
    if (p->host == HARK_STATUS_NO_HOST) fputs("null", f);
    else hark_json_string(f, s->host[p->host].name);
    fprintf(f, ", \"state\": \"%s\", \"incarnation\": %" PRIu32 ", \"restarts\": %" PRIu32,
        hark_process_state_name(p->state), p->inc, p->restarts);
    fprintf(f,
        ", \"deliveries\": %" PRIu64 ", \"messages\": %" PRIu64 ", \"bytes\": %" PRIu64
        ", \"log_bytes\": %" PRIu64 ", \"checkpoint\": %" PRIu64 ", ",
        p->deliveries, p->messages, p->bytes, p->log_bytes, p->checkpoint);
    put_ms(f, "checkpoint_age_ms", p->age_ns);
    fputc('}', f);
}

static void put_status(FILE *f, const struct hark_job_status *s, bool processes)
{
    fputs(", ", f);
    put_text(f, "state", hark_job_state_name(s->state));
    fputs(", ", f);
    put_text(f, "program", s->program);
    fputs(", ", f);
    put_text(f, "protocol", s->protocol);
    fputs(", ", f);
    put_text(f, "transport", s->transport);
    fputs(",\n    \"store\": ", f);
    if (s->store[0]) hark_json_string(f, s->store);
    else fputs("null", f);
    fprintf(f,
        ", \"ranks\": %" PRIu32 ", \"failures\": %" PRIu32 ", \"recoveries\": %" PRIu32 ",\n    ",
        s->ranks, s->failures, s->recoveries);
    put_ms(f, "elapsed_ms", s->elapsed_ns);
    fputs(", ", f);
    put_ms(f, "checkpoint_age_ms", s->age_ns);
    put_hosts(f, s);
    if (!processes) return;
    fputs(",\n    \"processes\": [", f);
    for (uint32_t i = 0; i < s->processes; i++) {
        fprintf(f, "%s\n     ", i ? "," : "");
        put_process(f, s, &s->process[i]);
    }
    fputc(']', f);
}

void ps_json(FILE *f, const struct ps_job *job, uint32_t count, bool processes)
{
    const char *before = "";
    fprintf(f, "{\"schema\": %d, \"command\": \"ps\", \"jobs\": [", SCHEMA);
    for (uint32_t i = 0; i < count; i++) {
        const struct ps_job *j = &job[i];
        const bool answered = j->answer == PS_ANSWERED;
        if (j->answer == PS_GONE) continue;
        fprintf(f, "%s\n   {", before);
        put_text(f, "job", ps_name(j));
        fprintf(f, ", \"pid\": %" PRIu32 ", \"answers\": %s", answered ? j->status.pid : j->pid,
            answered ? "true" : "false");
        if (answered) put_status(f, &j->status, processes);
        fputc('}', f);
        before = ",";
    }
    fputs("]}\n", f);
}
