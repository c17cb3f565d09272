/* trace_read.c: parses the text of a trace, whoever wrote it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../short_path.h"
#include "trace_text.h"

/* The first line names every rank in the worst case; no other line comes near this. */
#define HEAD_LINE_MOST (32u + HARK_TRACE_RANKS_MAX * 8u)
#define LINE_MOST      512u

static const char first_word[] = "hark-trace 1 ";

struct reader {
    FILE *file;
    const char *path; /* as messages show it */
    uint64_t line;
    char *text; /* of the line, NUL-terminated, without its newline */
    size_t room;
    const char *at; /* the next character to parse */
    char *error;
};

static int refused(struct reader *r, const char *why)
{
    snprintf(r->error, HARK_TRACE_ERROR, "%s: %s", r->path, why);
    return HARK_TRACE_ESYSTEM;
}

/* A file of any bytes may end up in the message, so only printable ones are shown. */
static int unexpected(struct reader *r, const char *expected)
{
    char found[33];
    size_t n = 0;
    for (; r->at != NULL && r->at[n] != 0 && n < sizeof found - 1; n++)
        found[n] = r->at[n] >= ' ' && r->at[n] <= '~' ? r->at[n] : '?';
    found[n] = 0;
    if (n > 0)
        snprintf(r->error, HARK_TRACE_ERROR, "%s:%" PRIu64 ": expected %.60s, found '%s'", r->path,
            r->line, expected, found);
    else
        snprintf(r->error, HARK_TRACE_ERROR,
            "%s:%" PRIu64 ": expected %.60s, found the end of the line", r->path, r->line,
            expected);
    return HARK_TRACE_EFORMAT;
}

static int truncated(struct reader *r, const char *expected)
{
    snprintf(r->error, HARK_TRACE_ERROR,
        "%s:%" PRIu64 ": expected %.60s, found the end of the file", r->path, r->line, expected);
    return HARK_TRACE_EFORMAT;
}

static bool make_room(struct reader *r, size_t need)
{
    if (need <= r->room) return true;
    size_t room = r->room * 2 > need ? r->room * 2 : need + 64;
    char *text = realloc(r->text, room);
    if (text == NULL) return false;
    r->text = text;
    r->room = room;
    return true;
}

/* Reads a line of at most `most` characters behind the `have` that are there already. */
static int read_line(struct reader *r, size_t have, size_t most, const char *expected)
{
    size_t n = have;
    if (have == 0) r->line++;
    for (;;) {
        int c = getc_unlocked(r->file);
        if (c == EOF) return ferror(r->file) ? refused(r, strerror(errno)) : truncated(r, expected);
        if (!make_room(r, n + 2)) return refused(r, "out of memory");
        r->text[n] = c == '\n' ? 0 : (char)c;
        r->at = r->text;
        if (c == '\n') return HARK_TRACE_OK;
        r->text[++n] = 0;
        if (c == 0 || n > most) {
            if (n > 1) r->text[n - 1] = 0;
            return unexpected(r, expected);
        }
    }
}

/* ---- the pieces of a line -------------------------------------------------------------------- */

static bool word(struct reader *r, const char *w)
{
    size_t n = strlen(w);
    if (strncmp(r->at, w, n) != 0) return false;
    r->at += n;
    return true;
}

static bool number(struct reader *r, uint64_t most, uint64_t *value)
{
    const char *p = r->at;
    uint64_t v = 0;
    if (*p < '0' || *p > '9') return false;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (v > (UINT64_MAX - digit) / 10) return false;
        v = v * 10 + digit;
    }
    if (v > most) return false;
    r->at = p;
    *value = v;
    return true;
}

static bool number32(struct reader *r, uint64_t most, uint32_t *value)
{
    uint64_t v;
    if (!number(r, most, &v)) return false;
    *value = (uint32_t)v;
    return true;
}

static bool number_or_inf(struct reader *r, uint64_t *value)
{
    if (!word(r, "inf")) return number(r, UINT64_MAX, value);
    *value = HARK_INFINITY;
    return true;
}

static bool process(struct reader *r, uint64_t most, uint32_t *rank)
{
    if (word(r, "r")) *rank = HARK_RECOVERY;
    else if (word(r, "s")) *rank = HARK_TRACE_SUPERVISOR;
    else return number32(r, most, rank);
    return true;
}

static bool time_ms(struct reader *r, uint64_t *ns)
{
    uint64_t ms, rest;
    if (!number(r, UINT64_MAX / 1000000 - 1, &ms) || !word(r, ".")) return false;
    const char *digits = r->at;
    if (!number(r, 999999, &rest) || r->at - digits != 6) return false;
    *ns = ms * 1000000 + rest;
    return true;
}

static bool name(struct reader *r, char to[HARK_TRACE_NAME])
{
    size_t n = strcspn(r->at, " ");
    if (n == 0 || n >= HARK_TRACE_NAME) return false;
    memcpy(to, r->at, n);
    to[n] = 0;
    r->at += n;
    return true;
}

/* ---- the first line -------------------------------------------------------------------------- */

struct owned_job { /* one block: what trace->job points to */
    char protocol[HARK_TRACE_NAME], transport[HARK_TRACE_NAME];
    uint32_t cluster[];
};

/* "0-1+4,2-3": every rank exactly once. */
static int read_clusters(struct reader *r, uint32_t ranks, uint32_t *cluster)
{
    uint32_t current = 0, seen = 0, first, last;
    for (uint32_t i = 0; i < ranks; i++) cluster[i] = UINT32_MAX;
    for (;;) {
        if (!number32(r, ranks - 1, &first))
            return unexpected(r, "a rank below ranks= in clusters=");
        last = first;
        if (word(r, "-") && (!number32(r, ranks - 1, &last) || last < first))
            return unexpected(r, "the last rank of a run in clusters=");
        for (uint32_t i = first; i <= last; i++, seen++) {
            if (cluster[i] != UINT32_MAX)
                return unexpected(r, "each rank once in clusters=, before this");
            cluster[i] = current;
        }
        if (word(r, ",")) current++;
        else if (!word(r, "+")) break;
    }
    if (*r->at != 0) return unexpected(r, "`,` or `+` or the end of clusters=");
    return seen == ranks ? HARK_TRACE_OK : unexpected(r, "every rank in clusters=");
}

static int read_head(struct reader *r, struct hark_trace *trace)
{
    static const char expected[] = "the first line of a trace, `hark-trace 1 ranks=...`";
    size_t n = sizeof first_word - 1;
    r->line = 1;
    if (!make_room(r, n + 1)) return refused(r, "out of memory");
    /* A foreign file is told by its first bytes, before a line of it is looked for. */
    size_t got = fread(r->text, 1, n, r->file);
    r->text[got] = 0;
    r->at = r->text;
    if (ferror(r->file)) return refused(r, strerror(errno));
    if (memcmp(r->text, first_word, got) != 0) return unexpected(r, expected);
    if (got < n) return truncated(r, expected);
    int status = read_line(r, n, HEAD_LINE_MOST, "a shorter line without NUL, and its end");
    if (status != HARK_TRACE_OK) return status;
    r->at = r->text + n;
    struct hark_trace_job *job = &trace->job;
    if (!word(r, "ranks=") || !number32(r, HARK_TRACE_RANKS_MAX, &job->ranks) || job->ranks == 0)
        return unexpected(r, "ranks=1..1048576");
    struct owned_job *own = calloc(1, sizeof *own + job->ranks * sizeof own->cluster[0]);
    if (own == NULL) return refused(r, "out of memory");
    job->protocol = own->protocol; /* from here on freed by hark_trace_free */
    job->transport = own->transport;
    job->cluster = own->cluster;
    if (!word(r, " protocol=") || !name(r, own->protocol)) return unexpected(r, "protocol=NAME");
    if (!word(r, " transport=") || !name(r, own->transport)) return unexpected(r, "transport=NAME");
    const char *why = hark_trace_job_invalid(job);
    if (why != NULL) return unexpected(r, "names of letters, digits, - and _ before this");
    if (!word(r, " clusters=")) return unexpected(r, "clusters=");
    return read_clusters(r, job->ranks, own->cluster);
}

/* ---- the other lines ------------------------------------------------------------------------- */

static bool down(struct reader *r, uint32_t ranks, struct hark_trace_record *to)
{
    to->peer = to->last = HARK_RECOVERY;
    if (word(r, "-")) return true;
    if (!number32(r, ranks - 1, &to->peer)) return false;
    to->last = to->peer;
    return !word(r, "-") || (number32(r, ranks - 1, &to->last) && to->last >= to->peer);
}

static bool field(struct reader *r, uint8_t which, uint32_t ranks, struct hark_trace_record *to)
{
    if (!word(r, " ") || !word(r, hark_trace_field_words[which]) || !word(r, "=")) return false;
    switch (which) {
    case HARK_TF_TO:
    case HARK_TF_FROM:
        /* A message posted to a group names the group, which is no rank. */
        if (!process(r, to->kind == HARK_TRACE_SEND ? UINT32_MAX : ranks - 1, &to->peer))
            return false;
        if (!word(r, ".")) return true;
        to->flags |= HARK_TRACE_PEER_INC;
        return number32(r, UINT32_MAX, &to->peer_inc);
    case HARK_TF_DOWN: return down(r, ranks, to);
    case HARK_TF_CTX: {
        uint64_t ctx;
        if (!number(r, UINT16_MAX, &ctx)) return false;
        to->ctx = (uint16_t)ctx;
        return true;
    }
    case HARK_TF_SSN: return number_or_inf(r, &to->ssn);
    case HARK_TF_PHASE: return number_or_inf(r, &to->phase);
    case HARK_TF_BYTES: return number_or_inf(r, &to->bytes);
    default: return number_or_inf(r, &to->id);
    }
}

static uint8_t kind(struct reader *r)
{
    size_t n = strcspn(r->at, " ");
    for (unsigned k = HARK_TRACE_START; k < HARK_TRACE_KINDS; k++) {
        const char *w = hark_trace_forms[k].word;
        if (strlen(w) != n || memcmp(w, r->at, n) != 0) continue;
        r->at += n;
        return (uint8_t)k;
    }
    return 0;
}

static int read_record(
    struct reader *r, uint32_t ranks, uint64_t before, struct hark_trace_record *to)
{
    memset(to, 0, sizeof *to);
    if (!time_ms(r, &to->time)) return unexpected(r, "a time in ms with six decimals, or `end`");
    if (to->time < before) {
        r->at = r->text;
        return unexpected(r, "a time not below the line before");
    }
    if (!word(r, " ") || !process(r, ranks - 1, &to->rank) || !word(r, ".") ||
        !number32(r, UINT32_MAX, &to->inc))
        return unexpected(r, "rank.incarnation");
    if (!word(r, " ") || (to->kind = kind(r)) == 0) return unexpected(r, "a kind of record");
    const struct hark_trace_form *form = &hark_trace_forms[to->kind];
    for (int i = 0; i < HARK_TF_MOST && form->field[i] != HARK_TF_END; i++) {
        const char *start = r->at;
        if (field(r, form->field[i], ranks, to)) continue;
        char expected[64];
        snprintf(expected, sizeof expected, "%s= within its range in `%s`",
            hark_trace_field_words[form->field[i]], form->word);
        r->at = start;
        return unexpected(r, expected);
    }
    if (word(r, " logged")) to->flags |= HARK_TRACE_LOGGED;
    if (*r->at != 0) return unexpected(r, "the end of the line");
    if (hark_trace_record_invalid(to, ranks) == NULL) return HARK_TRACE_OK;
    char expected[64]; /* each field is good, but not of this kind, or not with the others */
    snprintf(expected, sizeof expected, "ranks of the job, below %" PRIu32 ", in `%s`", ranks,
        form->word);
    r->at = r->text;
    return unexpected(r, expected);
}

static int read_end(struct reader *r, struct hark_trace *trace)
{
    uint64_t records;
    char expected[48];
    snprintf(expected, sizeof expected, "records=%" PRIu64, trace->count);
    const char *start = r->at;
    if (!word(r, "records=") || !number(r, UINT64_MAX, &records) || records != trace->count) {
        r->at = start;
        return unexpected(r, expected);
    }
    if (word(r, " lost=") && !number(r, UINT64_MAX, &trace->lost))
        return unexpected(r, "a number of lost records");
    trace->unfinished = word(r, " unfinished");
    if (*r->at != 0) return unexpected(r, "the end of the line");
    if (getc_unlocked(r->file) == EOF) return HARK_TRACE_OK;
    r->line++;
    return unexpected(r, "the end of the file behind `end`");
}

static int read_records(struct reader *r, struct hark_trace *trace)
{
    uint64_t room = 0;
    for (;;) {
        int status = read_line(r, 0, LINE_MOST, "a whole record, or `end records=N`");
        if (status != HARK_TRACE_OK) return status;
        if (word(r, "end ")) return read_end(r, trace);
        if (trace->count == room) {
            room = room ? room * 2 : 256;
            void *more = realloc(trace->record, room * sizeof *trace->record);
            if (more == NULL) return refused(r, "out of memory");
            trace->record = more;
        }
        uint64_t before = trace->count > 0 ? trace->record[trace->count - 1].time : 0;
        status = read_record(r, trace->job.ranks, before, &trace->record[trace->count]);
        if (status != HARK_TRACE_OK) return status;
        trace->count++;
    }
}

int hark_trace_read(const char *path, struct hark_trace *trace, char error[HARK_TRACE_ERROR])
{
    char shown[HARK_SHORT_PATH];
    struct reader r = {.path = hark_short_path(path, shown), .error = error};
    memset(trace, 0, sizeof *trace);
    r.file = fopen(path, "re");
    if (r.file == NULL) return refused(&r, strerror(errno));
    int status = read_head(&r, trace);
    if (status == HARK_TRACE_OK) status = read_records(&r, trace);
    if (status != HARK_TRACE_OK) hark_trace_free(trace);
    fclose(r.file);
    free(r.text);
    return status;
}

void hark_trace_free(struct hark_trace *trace)
{
    free((void *)(uintptr_t)trace->job.protocol); /* the head of struct owned_job */
    free(trace->record);
    memset(trace, 0, sizeof *trace);
}
