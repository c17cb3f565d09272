/* partition_read.c: what `hark partition` reads: matrices, traces of runs, lines of ranks. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#if HARK_JANSSON
#include <jansson.h>
#endif

#include "../cluster/source.h"
#include "../control/clusters.h"
#include "../short_source.h"
#include "../view/trace.h"
#include "partition.h"
#include "values.h"

struct send {
    uint32_t from, to;
    uint64_t ctx, ssn, bytes;
};

static int by_channel(const void *a, const void *b)
{
    const struct send *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    if (x->ctx != y->ctx) return x->ctx < y->ctx ? -1 : 1;
    if (x->ssn != y->ssn) return x->ssn < y->ssn ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* The bytes of each channel: what is sent again after a failure counts once. */
static int add_up(struct hark_matrix *m, const struct send *s, uint64_t count)
{
    m->first = calloc((size_t)m->ranks + 1, sizeof *m->first);
    m->column = malloc((count + 1) * sizeof *m->column);
    m->value = malloc((count + 1) * sizeof *m->value);
    if (!m->first || !m->column || !m->value) return -1;
    for (uint64_t i = 0; i < count; i++) {
        bool again = i && s[i].from == s[i - 1].from && s[i].to == s[i - 1].to;
        if (again && s[i].ctx == s[i - 1].ctx && s[i].ssn == s[i - 1].ssn) continue;
        if (!again) {
            m->column[m->entries] = s[i].to;
            m->value[m->entries++] = 0;
            m->first[s[i].from + 1] = m->entries;
        }
        m->value[m->entries - 1] += s[i].bytes;
    }
    for (uint32_t v = 1; v <= m->ranks; v++)
        if (m->first[v] < m->first[v - 1]) m->first[v] = m->first[v - 1];
    return 0;
}

static bool is_named(const struct hark_trace *t, const struct hark_trace_record *r)
{
    return r->rank < t->job.ranks && r->peer < t->job.ranks && r->bytes <= HARK_MATRIX_MOST;
}

/* What one has taken, and no process has sent: a message to a group, of which only its root says
 * that it has sent it. Those that were sent are sorted. */
static const struct hark_trace_record *taken_unsent(
    const struct hark_trace *t, const struct send *s, uint64_t count)
{
    for (uint64_t i = 0; i < t->count; i++) {
        const struct hark_trace_record *r = &t->record[i];
        if (r->kind != HARK_TRACE_DELIVER || !is_named(t, r) || r->peer == r->rank) continue;
        const struct send x = {r->peer, r->rank, r->ctx, r->ssn, 0};
        uint64_t low = 0, high = count;
        while (low < high) {
            const uint64_t middle = low + (high - low) / 2;
            if (by_channel(&s[middle], &x) < 0) low = middle + 1;
            else high = middle;
        }
        const bool is = low < count && s[low].from == x.from && s[low].to == x.to &&
                        s[low].ctx == x.ctx && s[low].ssn == x.ssn;
        if (!is) return r;
    }
    return NULL;
}

static int of_sends(const struct hark_trace *t, const char *path, struct hark_matrix *m,
    struct send *s, char *error)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < t->count; i++) {
        const struct hark_trace_record *r = &t->record[i];
        const bool sent = r->kind == HARK_TRACE_SEND || (r->kind == HARK_TRACE_TRANSMIT && r->ssn);
        if (sent && is_named(t, r))
            s[count++] = (struct send){r->rank, r->peer, r->ctx, r->ssn, r->bytes};
    }
    qsort(s, count, sizeof *s, by_channel);
    const struct hark_trace_record *r = taken_unsent(t, s, count);
    if (r) {
        snprintf(error, PARTITION_ERROR,
            "%s: rank %" PRIu32 " took message %" PRIu64 " of rank %" PRIu32
            ", expected to find its sending; messages to groups have none: expected a matrix "
            "(hark run --write-matrix) or figures (--json) of such a run",
            path, r->rank, r->ssn, r->peer);
        return -1;
    }
    if (add_up(m, s, count) == 0) return 0;
    snprintf(error, PARTITION_ERROR, "%s: no memory", path);
    return -1;
}

static int of_trace(const char *path, struct hark_matrix *m, char *error)
{
    struct hark_trace t;
    char why[HARK_TRACE_ERROR];
    int status = -1;
    if (hark_trace_read(path, &t, why) != HARK_TRACE_OK) {
        snprintf(error, PARTITION_ERROR, "%s", why);
        return -1;
    }
    struct send *s = malloc((t.count + 1) * sizeof *s);
    m->ranks = t.job.ranks;
    if (s == NULL) snprintf(error, PARTITION_ERROR, "%s: no memory", path);
    else if (t.lost)
        snprintf(error, PARTITION_ERROR,
            "%s: expected a whole trace, found one that lost %" PRIu64 " records", path, t.lost);
    else status = of_sends(&t, path, m, s, error);
    free(s);
    hark_trace_free(&t);
    if (status < 0) hark_matrix_free(m);
    return status;
}

#if HARK_JANSSON
/* A row of `traffic`: [from, to, bytes]. */
static bool send_of(const json_t *row, uint32_t ranks, struct send *s)
{
    if (!json_is_array(row) || json_array_size(row) != 3) return false;
    json_int_t n[3];
    for (size_t i = 0; i < 3; i++) {
        const json_t *x = json_array_get(row, i);
        if (!json_is_integer(x) || (n[i] = json_integer_value(x)) < 0) return false;
    }
    if (n[0] >= ranks || n[1] >= ranks || (uint64_t)n[2] > HARK_MATRIX_MOST) return false;
    *s = (struct send){(uint32_t)n[0], (uint32_t)n[1], 0, 0, (uint64_t)n[2]};
    return true;
}

static int of_json(const json_t *all, const char *path, struct hark_matrix *m, char *error)
{
    const json_t *traffic = json_object_get(all, "traffic"), *ranks = json_object_get(all, "ranks");
    json_int_t n = json_is_integer(ranks) ? json_integer_value(ranks) : 0;
    size_t count = json_array_size(traffic); /* 0 if it is none */
    if (!json_is_array(traffic) || n < 1 || n > HARK_MATRIX_RANKS) {
        snprintf(error, PARTITION_ERROR,
            "%s: expected figures of hark run or hark sim with `ranks` and `traffic`", path);
        return -1;
    }
    struct send *s = malloc((count + 1) * sizeof *s);
    m->ranks = (uint32_t)n;
    for (size_t i = 0; s && i < count; i++) {
        if (send_of(json_array_get(traffic, i), m->ranks, &s[i])) {
            s[i].ssn = i; /* each counts */
            continue;
        }
        snprintf(error, PARTITION_ERROR,
            "%s: traffic, entry %zu: expected [from, to, bytes] of ranks below %" PRIu32, path,
            i + 1, m->ranks);
        free(s);
        return -1;
    }
    if (s) qsort(s, count, sizeof *s, by_channel);
    int status = s ? add_up(m, s, count) : -1;
    if (status < 0) snprintf(error, PARTITION_ERROR, "%s: no memory", path);
    free(s);
    if (status < 0) hark_matrix_free(m);
    return status;
}

static int of_figures(const char *path, struct hark_matrix *m, char *error)
{
    json_error_t why;
    json_t *all = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    if (all == NULL) {
        snprintf(error, PARTITION_ERROR, "%s:%d: %s", path, why.line, why.text);
        return -1;
    }
    int status = of_json(all, path, m, error);
    json_decref(all);
    return status;
}
#else
static int of_figures(const char *path, struct hark_matrix *m, char *error)
{
    (void)m;
    snprintf(error, PARTITION_ERROR,
        "%s: hark was built without jansson: expected a matrix (--write-matrix of hark run, hark "
        "sim) or a "
        "trace (hark run --trace)",
        path);
    return -1;
}
#endif

int partition_read(const char *path, struct hark_matrix *m, char error[PARTITION_ERROR])
{
    struct cluster_source source;
    char shown[HARK_SHORT_PATH];
    *m = (struct hark_matrix){0};
    if (hark_cluster_source_open(&source, path) < 0) {
        snprintf(error, PARTITION_ERROR, "%s: %s", hark_short_path(path, shown), strerror(errno));
        return -1;
    }
    hark_short_source(&source, shown);
    int status = strncmp(source.head, "hark-trace ", 11) == 0 ? of_trace(source.path, m, error)
                 : source.head[0] == '{'
                     ? of_figures(source.path, m, error)
                     : hark_matrix_read(m, source.path, HARK_MATRIX_RANKS, error);
    if (status < 0) hark_cluster_source_rename(&source, error, PARTITION_ERROR);
    hark_cluster_source_close(&source);
    return status;
}

uint32_t *partition_read_groups(
    const char *path, const char *what, uint32_t ranks, char error[PARTITION_ERROR])
{
    struct hark_clusters c;
    char shown[HARK_SHORT_PATH], why[256], *word, *text = hark_cli_whole_file(path);
    if (text == NULL) {
        snprintf(error, PARTITION_ERROR, "%s: %s", hark_short_path(path, shown), strerror(errno));
        return NULL;
    }
    int status = hark_clusters_parse(&c, ranks, text, path, why);
    free(text);
    if (status == 0) return c.of;
    word = strstr(why, "in no cluster");
    snprintf(error, PARTITION_ERROR, "%.*s%s%s", word ? (int)(word - why) : 255, why,
        word ? "in no " : "", word ? what : "");
    return NULL;
}
