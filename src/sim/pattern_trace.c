/* pattern_trace.c: programs by what a run did: each process makes the sends and receives that `hark
 * run --trace` recorded of it, in their order. An iteration is all of the trace. What was done
 * again after a failure counts once, where it was done first: then every message is sent before it
 * is received, whatever happened to its sender. Messages that nobody took, and those of a process
 * to itself, are left out. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../view/trace.h"
#include "pattern.h"

struct heard { /* one message, posted or taken */
    uint32_t from, to;
    uint64_t ssn, bytes;
    uint64_t at; /* which record */
    uint16_t ctx;
};

struct recorded { /* an operation of a rank */
    uint32_t rank;
    uint64_t at;
    struct sim_op op;
};

static int by_message(const struct heard *x, const struct heard *y)
{
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    if (x->ctx != y->ctx) return x->ctx < y->ctx ? -1 : 1;
    return x->ssn < y->ssn ? -1 : x->ssn > y->ssn;
}

static int by_first(const void *a, const void *b)
{
    const struct heard *x = a, *y = b;
    int order = by_message(x, y);
    return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

static int by_rank(const void *a, const void *b)
{
    const struct recorded *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

bool sim_trace_is(const char *path)
{
    static const char word[] = "hark-trace ";
    char head[sizeof word] = "";
    FILE *f = fopen(path, "re");
    if (f == NULL) return false;
    size_t n = fread(head, 1, sizeof head - 1, f);
    fclose(f);
    return n == sizeof head - 1 && memcmp(head, word, n) == 0;
}

/* The messages that were posted, or taken, each once, sorted; the first time counts. */
static uint64_t gather(const struct hark_trace *t, bool taken, struct heard *list)
{
    uint64_t n = 0, kept = 0;
    for (uint64_t i = 0; i < t->count; i++) {
        const struct hark_trace_record *r = &t->record[i];
        bool post = r->kind == HARK_TRACE_SEND || r->kind == HARK_TRACE_SUPPRESS ||
                    (r->kind == HARK_TRACE_TRANSMIT && r->ssn);
        if (!(taken ? r->kind == HARK_TRACE_DELIVER : post)) continue;
        if (r->rank >= t->job.ranks || r->peer >= t->job.ranks || r->rank == r->peer) continue;
        list[n++] = (struct heard){
            taken ? r->peer : r->rank, taken ? r->rank : r->peer, r->ssn, r->bytes, i, r->ctx};
    }
    if (n) qsort(list, n, sizeof *list, by_first);
    for (uint64_t i = 0; i < n; i++)
        if (kept == 0 || by_message(&list[kept - 1], &list[i]) != 0) list[kept++] = list[i];
    return kept;
}

/* What was taken, and its sending, as operations; how many, or -1 and one line. */
static int64_t pair_up(const struct heard *post, uint64_t posts, const struct heard *take,
    uint64_t takes, struct recorded *op, const char *path, char error[SIM_ERROR])
{
    int64_t n = 0;
    for (uint64_t i = 0, k = 0; i < takes; i++) {
        const struct heard *m = &take[i];
        while (k < posts && by_message(&post[k], m) < 0) k++;
        if (k == posts || by_message(&post[k], m) != 0) {
            snprintf(error, SIM_ERROR,
                "%s: rank %" PRIu32 " took message %" PRIu64 " of rank %" PRIu32
                " (context %d): expected to find "
                "its sending; messages to groups have none",
                path, m->to, m->ssn, m->from, m->ctx);
            return -1;
        }
        op[n++] = (struct recorded){m->from, post[k].at,
            {.kind = SIM_SEND, .ctx = m->ctx, .peer = m->to, .length = m->bytes}};
        op[n++] = (struct recorded){m->to, m->at,
            {.kind = SIM_RECEIVE, .ctx = m->ctx, .peer = m->from, .length = m->bytes}};
    }
    return n;
}

/* Keeps the operations by rank. */
static int keep(struct sim_pattern *p, struct recorded *op, uint64_t n)
{
    p->first = calloc((size_t)p->ranks + 1, sizeof *p->first);
    p->recorded = malloc((n + 1) * sizeof *p->recorded);
    if (p->first == NULL || p->recorded == NULL) return -1;
    if (n) qsort(op, n, sizeof *op, by_rank);
    for (uint64_t i = 0; i < n; i++) {
        p->recorded[i] = op[i].op;
        p->first[op[i].rank + 1] = i + 1;
    }
    for (uint32_t r = 0; r < p->ranks; r++)
        if (p->first[r + 1] < p->first[r]) p->first[r + 1] = p->first[r];
    return 0;
}

static int make(
    struct sim_pattern *p, const struct hark_trace *t, const char *path, char error[SIM_ERROR])
{
    struct heard *post = malloc((t->count + 1) * sizeof *post),
                 *take = malloc((t->count + 1) * sizeof *take);
    struct recorded *op = malloc((2 * t->count + 1) * sizeof *op);
    int64_t n = -1;
    *error = 0;
    if (post && take && op) {
        uint64_t posts = gather(t, false, post), takes = gather(t, true, take);
        n = pair_up(post, posts, take, takes, op, path, error);
        if (n >= 0 && keep(p, op, (uint64_t)n) < 0) n = -1;
    }
    if (n < 0 && *error == 0) snprintf(error, SIM_ERROR, "%s: no memory", path);
    free(post);
    free(take);
    free(op);
    return n < 0 ? -1 : 0;
}

int sim_trace_make(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR])
{
    struct hark_trace t;
    int status = -1;
    if (hark_trace_read(o->path, &t, error) != HARK_TRACE_OK) return -1;
    if (p->ranks == 0) p->ranks = t.job.ranks;
    if (t.lost)
        snprintf(error, SIM_ERROR,
            "%s: expected a whole trace, found one that lost %" PRIu64 " records", o->name, t.lost);
    else if (t.job.ranks > p->ranks)
        snprintf(error, SIM_ERROR, "%s: expected at most %" PRIu32 " ranks, found %" PRIu32,
            o->name, p->ranks, t.job.ranks);
    else status = make(p, &t, o->name, error);
    hark_trace_free(&t);
    return status;
}

uint64_t sim_trace_op(const struct sim_pattern *p, uint32_t rank, uint32_t iteration,
    uint64_t place, struct sim_op *op)
{
    (void)iteration;
    if (p->first[rank] + place >= p->first[rank + 1]) {
        *op = (struct sim_op){.kind = SIM_END};
        return place;
    }
    *op = p->recorded[p->first[rank] + place];
    return place + 1;
}
