/* trace_text.c: a record as a line that a person can read. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace_text.h"

const char *const hark_trace_field_words[HARK_TF_COUNT] = {
    "", "to", "from", "ctx", "ssn", "phase", "bytes", "id", "re", "down", "last"};

#define MESSAGE HARK_TF_CTX, HARK_TF_SSN, HARK_TF_PHASE, HARK_TF_BYTES
const struct hark_trace_form hark_trace_forms[HARK_TRACE_KINDS] = {
    [HARK_TRACE_START] = {"start", {HARK_TF_PHASE}},
    [HARK_TRACE_RESTART] = {"restart", {HARK_TF_ID, HARK_TF_PHASE}},
    [HARK_TRACE_SEND] = {"send", {HARK_TF_TO, MESSAGE}},
    [HARK_TRACE_TRANSMIT] = {"transmit", {HARK_TF_TO, MESSAGE}},
    [HARK_TRACE_REPLAY] = {"replay", {HARK_TF_TO, MESSAGE}},
    [HARK_TRACE_SUPPRESS] = {"suppress", {HARK_TF_TO, HARK_TF_CTX, HARK_TF_SSN, HARK_TF_PHASE}},
    [HARK_TRACE_ARRIVE] = {"arrive", {HARK_TF_FROM, MESSAGE}},
    [HARK_TRACE_DELIVER] = {"deliver", {HARK_TF_FROM, MESSAGE}},
    [HARK_TRACE_DISCARD] = {"discard", {HARK_TF_FROM, HARK_TF_CTX, HARK_TF_SSN}},
    [HARK_TRACE_CHECKPOINT] = {"checkpoint", {HARK_TF_ID, HARK_TF_PHASE, HARK_TF_BYTES}},
    [HARK_TRACE_COMMIT] = {"commit", {HARK_TF_ID}},
    [HARK_TRACE_ROLLBACK] = {"rollback", {HARK_TF_ID}},
    [HARK_TRACE_FAILED] = {"failed", {HARK_TF_RE, HARK_TF_DOWN}},
    [HARK_TRACE_KILL] = {"kill", {HARK_TF_END}},
    [HARK_TRACE_RELEASE] = {"release", {HARK_TF_PHASE}},
    [HARK_TRACE_RECOVERED] = {"recovered", {HARK_TF_END}},
    [HARK_TRACE_FINISH] = {"finish", {HARK_TF_END}},
    [HARK_TRACE_DIVERGED] = {"diverged", {HARK_TF_TO, HARK_TF_CTX, HARK_TF_SSN, HARK_TF_LAST}},
    [HARK_TRACE_CLUSTER] = {"cluster", {HARK_TF_ID, HARK_TF_TO}},
};

const char *hark_trace_kind_text(uint32_t kind)
{
    return kind >= HARK_TRACE_START && kind < HARK_TRACE_KINDS ? hark_trace_forms[kind].word : "?";
}

static bool name_good(const char *name)
{
    size_t length = name != NULL ? strnlen(name, HARK_TRACE_NAME) : 0;
    return length > 0 && length < HARK_TRACE_NAME &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == length;
}

const char *hark_trace_job_invalid(const struct hark_trace_job *job)
{
    if (job == NULL) return "no job";
    if (job->ranks == 0 || job->ranks > HARK_TRACE_RANKS_MAX) return "number of ranks out of range";
    if (!name_good(job->protocol)) return "name of the protocol out of range";
    if (!name_good(job->transport)) return "name of the transport out of range";
    return NULL;
}

static bool process_good(uint32_t rank, uint32_t ranks)
{
    return rank < ranks || rank == HARK_RECOVERY || rank == HARK_TRACE_SUPERVISOR;
}

const char *hark_trace_record_invalid(const struct hark_trace_record *r, uint32_t ranks)
{
    if (r->kind < HARK_TRACE_START || r->kind >= HARK_TRACE_KINDS) return "no such kind of record";
    if (!process_good(r->rank, ranks)) return "rank out of range";
    if (r->kind == HARK_TRACE_FAILED) {
        if (r->peer == HARK_RECOVERY) return NULL;
        return r->peer <= r->last && r->last < ranks ? NULL : "D out of range";
    }
    if (r->kind == HARK_TRACE_CLUSTER)
        return r->rank < ranks && r->peer < ranks ? NULL : "rank of a cluster out of range";
    uint8_t first = hark_trace_forms[r->kind].field[0];
    /* A message posted to a group names the group, which is no rank. */
    if (r->kind != HARK_TRACE_SEND && (first == HARK_TF_TO || first == HARK_TF_FROM) &&
        !process_good(r->peer, ranks))
        return "peer out of range";
    return NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct member {
    uint32_t cluster, rank;
};

static int by_cluster(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->cluster != y->cluster) return x->cluster < y->cluster ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* The ranks by clusters; NULL: no memory. */
static struct member *members_of(const struct hark_trace_job *job)
{
    struct member *member = malloc(job->ranks * sizeof *member);
    for (uint32_t i = 0; member && i < job->ranks; i++)
        member[i] = (struct member){job->cluster != NULL ? job->cluster[i] : 0, i};
    if (member) qsort(member, job->ranks, sizeof *member, by_cluster);
    return member;
}

int hark_trace_lowest(const struct hark_trace_job *job, uint32_t *lowest)
{
    struct member *member = members_of(job);
    if (member == NULL) return HARK_TRACE_ESYSTEM;
    for (uint32_t i = 0; i < job->ranks; i++) {
        bool same = i > 0 && member[i].cluster == member[i - 1].cluster;
        lowest[member[i].rank] = same ? lowest[member[i - 1].rank] : member[i].rank;
    }
    free(member);
    return HARK_TRACE_OK;
}

struct run {
    struct member *first;
    uint32_t count;
};

static int by_lowest(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    return x->first->rank < y->first->rank ? -1 : 1;
}

static void write_run(FILE *out, const struct run *run)
{
    for (uint32_t i = 0; i < run->count;) {
        uint32_t j = i;
        while (j + 1 < run->count && run->first[j + 1].rank == run->first[j].rank + 1) j++;
        fprintf(out, "%s%" PRIu32, i ? "+" : "", run->first[i].rank);
        if (j > i) fprintf(out, "-%" PRIu32, run->first[j].rank);
        i = j + 1;
    }
}

/* Clusters are written by their lowest rank, so that one partition has one text whatever its
 * numbers. */
static bool write_clusters(FILE *out, const struct hark_trace_job *job)
{
    struct member *member = members_of(job);
    struct run *run = calloc(job->ranks, sizeof *run);
    uint32_t runs = 0;
    if (member != NULL && run != NULL) {
        for (uint32_t i = 0; i < job->ranks; i++) {
            if (i == 0 || member[i].cluster != member[i - 1].cluster)
                run[runs++].first = &member[i];
            run[runs - 1].count++;
        }
        qsort(run, runs, sizeof *run, by_lowest);
        for (uint32_t i = 0; i < runs; i++) {
            if (i) putc(',', out);
            write_run(out, &run[i]);
        }
    }
    free(member);
    free(run);
    return runs > 0;
}

void hark_trace_text_head(FILE *out, const struct hark_trace_job *job)
{
    fprintf(out, "hark-trace 1 ranks=%" PRIu32 " protocol=%s transport=%s clusters=", job->ranks,
        job->protocol, job->transport);
    /* Without memory for the clusters the line is not one that the reader accepts: never a wrong
     * trace. */
    if (!write_clusters(out, job)) fputs("?", out);
    putc('\n', out);
}

static void write_process(FILE *out, uint32_t rank)
{
    if (rank == HARK_RECOVERY) putc('r', out);
    else if (rank == HARK_TRACE_SUPERVISOR) putc('s', out);
    else fprintf(out, "%" PRIu32, rank);
}

static void write_down(FILE *out, const struct hark_trace_record *r)
{
    if (r->peer == HARK_RECOVERY) putc('-', out);
    else if (r->peer == r->last) fprintf(out, "%" PRIu32, r->peer);
    else fprintf(out, "%" PRIu32 "-%" PRIu32, r->peer, r->last);
}

static void write_field(FILE *out, const struct hark_trace_record *r, uint8_t field)
{
    uint64_t value = 0;
    fprintf(out, " %s=", hark_trace_field_words[field]);
    switch (field) {
    case HARK_TF_TO:
    case HARK_TF_FROM:
        write_process(out, r->peer);
        if (r->flags & HARK_TRACE_PEER_INC) fprintf(out, ".%" PRIu32, r->peer_inc);
        return;
    case HARK_TF_DOWN: write_down(out, r); return;
    case HARK_TF_CTX: value = r->ctx; break;
    case HARK_TF_SSN: value = r->ssn; break;
    case HARK_TF_PHASE: value = r->phase; break;
    case HARK_TF_BYTES: value = r->bytes; break;
    default: value = r->id; break; /* id, re and last are one member */
    }
    if (value == HARK_INFINITY) fputs("inf", out);
    else fprintf(out, "%" PRIu64, value);
}

void hark_trace_text_record(FILE *out, const struct hark_trace_record *r, uint64_t zero)
{
    const struct hark_trace_form *form = &hark_trace_forms[r->kind];
    uint64_t time = r->time - zero;
    fprintf(out, "%" PRIu64 ".%06" PRIu64 " ", time / 1000000, time % 1000000);
    write_process(out, r->rank);
    fprintf(out, ".%" PRIu32 " %s", r->inc, form->word);
    for (int i = 0; i < HARK_TF_MOST && form->field[i] != HARK_TF_END; i++)
        write_field(out, r, form->field[i]);
    if (r->flags & HARK_TRACE_LOGGED) fputs(" logged", out);
    putc('\n', out);
}

void hark_trace_text_end(FILE *out, uint64_t records, uint64_t lost, bool unfinished)
{
    fprintf(out, "end records=%" PRIu64, records);
    if (lost > 0) fprintf(out, " lost=%" PRIu64, lost);
    if (unfinished) fputs(" unfinished", out);
    putc('\n', out);
}

int hark_trace_write(const struct hark_trace *trace, FILE *out)
{
    if (hark_trace_job_invalid(&trace->job) != NULL) return HARK_TRACE_EINVAL;
    for (uint64_t i = 0; i < trace->count; i++)
        if (hark_trace_record_invalid(&trace->record[i], trace->job.ranks) != NULL ||
            (i > 0 && trace->record[i].time < trace->record[i - 1].time))
            return HARK_TRACE_EINVAL;
    hark_trace_text_head(out, &trace->job);
    for (uint64_t i = 0; i < trace->count; i++)
        hark_trace_text_record(out, &trace->record[i], trace->record[0].time);
    hark_trace_text_end(out, trace->count, trace->lost, trace->unfinished);
    return fflush(out) == 0 && !ferror(out) ? HARK_TRACE_OK : HARK_TRACE_ESYSTEM;
}
