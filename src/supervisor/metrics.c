/* metrics.c: the figures while the job runs, in the text format of Prometheus (0.0.4).
 *
 * Below RANKS_EACH ranks, what is of use rank by rank has a sample for each, with a label `rank`;
 * else a family has one sample, the sum. Never both, for a sum over them would count all twice.
 */
#include "internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../utf8.h"
#include "http.h"

#define PAGE       "/metrics"
#define RANKS_EACH 256u

struct page {
    const struct supervisor *s;
    const struct hark_job_status *status;
    FILE *f;
    const char *name; /* of the family that is being written */
};

/* ---- the format ------------------------------------------------------------------------------ */

static void family(struct page *p, const char *name, const char *type, const char *help)
{
    p->name = name;
    fprintf(p->f, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_value(FILE *f, const char *text)
{
    uint32_t code;
    fputc('"', f);
    for (size_t n; *text; text += n ? n : 1) {
        n = hark_utf8(text, SIZE_MAX, &code);
        if (n == 0) fputs("\xef\xbf\xbd", f); /* HARK_NO_CHARACTER */
        else if (code == '\n') fputs("\\n", f);
        else if (code == '"' || code == '\\') fprintf(f, "\\%c", *text);
        else fwrite(text, 1, n, f);
    }
    fputc('"', f);
}

static void label(const struct page *p, const char *name, const char *value)
{
    fprintf(p->f, ",%s=", name);
    put_value(p->f, value);
}

static void begin_sample(const struct page *p)
{
    fprintf(p->f, "%s{job=", p->name);
    put_value(p->f, p->status->job);
}

static void end_sample(const struct page *p, uint64_t value)
{
    fprintf(p->f, "} %" PRIu64 "\n", value);
}

static void sample(const struct page *p, uint64_t value)
{
    begin_sample(p);
    end_sample(p, value);
}

static void sample_with(const struct page *p, const char *name, const char *text, uint64_t value)
{
    begin_sample(p);
    label(p, name, text);
    end_sample(p, value);
}

static void sample_of_rank(const struct page *p, uint32_t rank, uint64_t value)
{
    begin_sample(p);
    fprintf(p->f, ",rank=\"%" PRIu32 "\"", rank);
    end_sample(p, value);
}

static bool rank_by_rank(const struct page *p)
{
    return p->status->ranks < RANKS_EACH;
}

/* So long ago, as seconds since 1970. */
static void end_sample_at(const struct page *p, uint64_t ago)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    fprintf(p->f, "} %.3f\n", (double)t.tv_sec + ((double)t.tv_nsec - (double)ago) / 1e9);
}

/* ---- the job --------------------------------------------------------------------------------- */

static void put_job(struct page *p)
{
    const struct hark_job_status *s = p->status;
    family(p, "hark_job_info", "gauge", "The job; always 1.");
    begin_sample(p);
    label(p, "program", s->program);
    label(p, "protocol", s->protocol);
    label(p, "transport", s->transport);
    end_sample(p, 1);
    family(p, "hark_job_state", "gauge", "1 for the state that the job is in.");
    for (uint32_t i = 0; i < HARK_JOB_STATES; i++)
        sample_with(p, "state", hark_job_state_name(i), s->state == i);
    family(p, "hark_start_time_seconds", "gauge", "When the run began, in seconds since 1970.");
    begin_sample(p);
    end_sample_at(p, s->elapsed_ns);
    family(p, "hark_ranks", "gauge", "Ranks of the job.");
    sample(p, s->ranks);
    family(p, "hark_failures_total", "counter", "Processes that were lost.");
    sample(p, s->failures);
    family(p, "hark_recoveries_total", "counter",
        "Recoveries; a failure during a recovery belongs to that recovery.");
    sample(p, s->recoveries);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void put_states(struct page *p)
{
    uint64_t count[HARK_PROCESS_STATES] = {0};
    for (uint32_t r = 0; r < p->status->ranks; r++) count[p->status->process[r].state]++;
    family(p, "hark_processes", "gauge", "Ranks in each state.");
    for (uint32_t i = 0; i < HARK_PROCESS_STATES; i++)
        sample_with(p, "state", hark_process_state_name(i), count[i]);
}

static void put_restarts(struct page *p)
{
    const struct hark_status_process *at = p->status->process;
    uint64_t sum = 0;
    family(p, "hark_restarts_total", "counter", "How often ranks went back.");
    for (uint32_t r = 0; r < p->status->ranks; r++) {
        sum += at[r].restarts;
        if (rank_by_rank(p)) sample_of_rank(p, r, at[r].restarts);
    }
    if (!rank_by_rank(p)) sample(p, sum);
    if (!rank_by_rank(p)) return;
    family(p, "hark_incarnation", "gauge", "The incarnation of the rank.");
    for (uint32_t r = 0; r < p->status->ranks; r++) sample_of_rank(p, r, at[r].inc);
}

static void put_checkpoint_times(struct page *p)
{
    const struct hark_job_status *s = p->status;
    if (s->age_ns == HARK_STATUS_UNKNOWN) return;
    family(p, "hark_last_checkpoint_time_seconds", "gauge",
        "When the last checkpoint was decided, in seconds since 1970.");
    for (uint32_t r = 0; r < s->ranks && rank_by_rank(p); r++) {
        if (s->process[r].age_ns == HARK_STATUS_UNKNOWN) continue;
        begin_sample(p);
        fprintf(p->f, ",rank=\"%" PRIu32 "\"", r);
        end_sample_at(p, s->process[r].age_ns);
    }
    if (rank_by_rank(p)) return;
    begin_sample(p);
    end_sample_at(p, s->age_ns);
}

/* ---- the board ------------------------------------------------------------------------------- */

static const struct row {
    const char *name, *type, *help;
    size_t at; /* in a slot */
    bool each;
} rows[] = {
#define ROW(field, name, type, help, each)                                                         \
    {                                                                                              \
        "hark_" name, type, help, offsetof(struct hark_board_slot, field), each                    \
    }
    ROW(messages, "messages_total", "counter", "Messages that the program sent.", true),
    ROW(bytes, "message_bytes_total", "counter", "Bytes of these messages.", true),
    ROW(deliveries, "deliveries_total", "counter", "Messages that the program received.", true),
    ROW(log_bytes, "log_bytes", "gauge", "Memory of the logs of sent messages, also in files.",
        true),
    ROW(checkpoints, "checkpoints_total", "counter", "Images of processes that were committed.",
        true),
    ROW(determinants_created, "determinants_created_total", "counter",
        "Determinants that processes made.", false),
    ROW(determinants_piggybacked, "determinants_piggybacked_total", "counter",
        "Determinants on messages, each time they travelled.", false),
    ROW(piggyback_bytes, "piggyback_bytes_total", "counter",
        "Bytes of headers that the protocol added to messages.", false),
    ROW(replayed, "replayed_messages_total", "counter", "Messages sent again from a log.", false),
    ROW(suppressed, "suppressed_messages_total", "counter", "Orphans that were not sent again.",
        false),
    ROW(discarded, "discarded_messages_total", "counter",
        "Arrivals that were duplicates or of old incarnations.", false),
    ROW(refused, "refused_total", "counter", "Connections and frames dropped as foreign.", false),
    ROW(readings, "readings_total", "counter", "Readings that were recorded in journals.", false),
    ROW(readings_given, "readings_given_total", "counter", "Readings given again from journals.",
        false),
    ROW(journal_bytes, "journal_bytes", "gauge", "Memory of the journals.", false),
#undef ROW
};

static uint64_t figure(const struct page *p, const struct row *row, uint32_t rank)
{
    const char *slot = (const char *)&p->s->board->slot[rank];
    return atomic_load_explicit(
        (const _Atomic uint64_t *)(const void *)(slot + row->at), memory_order_relaxed);
}

static void put_row(struct page *p, const struct row *row)
{
    const bool each = row->each && rank_by_rank(p);
    uint64_t sum = 0;
    family(p, row->name, row->type, row->help);
    for (uint32_t r = 0; r < p->status->ranks; r++) {
        const uint64_t value = figure(p, row, r);
        sum += value;
        if (each) sample_of_rank(p, r, value);
    }
    if (!each) sample(p, sum);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static void put_hosts(struct page *p)
{
    const struct hark_job_status *s = p->status;
    if (s->hosts == 0) return;
    family(p, "hark_host_up", "gauge", "1 if the host can run processes of the job.");
    for (uint32_t i = 0; i < s->hosts; i++) {
        const uint32_t state = s->host[i].state;
        sample_with(
            p, "host", s->host[i].name, state == HARK_HOST_READY || state == HARK_HOST_SPARE);
    }
    family(p, "hark_host_processes", "gauge", "Processes of the job that run on the host.");
    for (uint32_t i = 0; i < s->hosts; i++)
        sample_with(p, "host", s->host[i].name, s->host[i].processes);
    family(p, "hark_host_heard_time_seconds", "gauge",
        "When the host was last heard of, in seconds since 1970.");
    for (uint32_t i = 0; i < s->hosts; i++) {
        if (s->host[i].silent_ns == HARK_STATUS_UNKNOWN) continue;
        begin_sample(p);
        label(p, "host", s->host[i].name);
        end_sample_at(p, s->host[i].silent_ns);
    }
}

/* ---- whoever asks ---------------------------------------------------------------------------- */

/* To be freed; NULL: no memory. */
static char *make_page(const struct supervisor *s, size_t *length)
{
    struct hark_job_status status;
    char *text = NULL;
    if (!hark_sup_status(s, true, &status)) return NULL;
    struct page p = {.s = s, .status = &status, .f = open_memstream(&text, length)};
    if (p.f) {
        put_job(&p);
        put_states(&p);
        put_restarts(&p);
        put_checkpoint_times(&p);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) put_row(&p, &rows[i]);
        put_hosts(&p);
        const bool whole = !ferror(p.f);
        if (fclose(p.f) != 0 || !whole) {
            free(text);
            text = NULL;
        }
    }
    hark_status_free(&status);
    return text;
}

static int on_request(
    void *self, const uint8_t *at, size_t length, struct hark_inquiry_answer *answer)
{
    bool head;
    size_t bytes = 0;
    enum hark_http_status status = hark_http_read(at, length, HARK_INQUIRY_QUESTION, PAGE, &head);
    if (status == HARK_HTTP_MORE) return 0;
    char *page = status == HARK_HTTP_OK ? make_page(self, &bytes) : NULL;
    if (status == HARK_HTTP_OK && page == NULL) status = HARK_HTTP_NO_MEMORY;
    const int answered = hark_http_answer(status, head, page, bytes, answer);
    free(page);
    return answered;
}

/* ---- begin and end --------------------------------------------------------------------------- */

int hark_sup_metrics_listen(struct supervisor *s)
{
    char error[400];
    if (s->o->metrics == NULL) return 0;
    if (!hark_address_parse(&s->metrics_address, s->o->metrics)) {
        hark_sup_say("--metrics: expected " HARK_ADDRESS_EXPECTED ", found \"%s\"", s->o->metrics);
        return 2;
    }
    s->metrics_fd = hark_address_listen(&s->metrics_address, error);
    if (s->metrics_fd >= 0) return 0;
    hark_sup_say("--metrics: cannot listen at %s", error);
    return 2;
}

void hark_sup_metrics_open(struct supervisor *s)
{
    if (s->metrics_fd < 0) return;
    const int why = hark_inquiry_open(&s->metrics, &s->loop, s->metrics_fd, on_request, s); /* takes
                                                                                               it
                                                                                               over
                                                                                             */
    s->metrics_fd = -1;
    if (why < 0) hark_sup_say("--metrics: there are none: %s", strerror(-why));
    else hark_sup_say("metrics are at %s", s->metrics_address.where);
}

void hark_sup_metrics_close(struct supervisor *s)
{
    hark_inquiry_close(s->metrics);
    s->metrics = NULL;
}

void hark_sup_metrics_end(struct supervisor *s)
{
    if (s->metrics_fd >= 0) close(s->metrics_fd);
    if (s->metrics_address.where[0] && s->metrics_address.path[0])
        (void)hark_remove_dead_socket(s->metrics_address.path);
}
