#include "clusters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../short_path.h"

#define NOWHERE UINT32_MAX

struct reader {
    struct hark_clusters *c;
    const char *at, *name;
    char *error;
    uint32_t *line_of; /* of each rank read so far, for the message about a repeated one */
    uint32_t line, part;
    bool in_part; /* the present part names a rank already */
};

/* `at`: its digits, as many as there may be. */
static int bad_rank(struct reader *r, const char *at)
{
    size_t n = strspn(at, "0123456789");
    snprintf(r->error, 256, "%s:%u: expected ranks below %u, found %.*s%s", r->name, r->line,
        r->c->ranks, (int)(n > 40 ? 40 : n), at, n > 40 ? "..." : "");
    return -1;
}

/* A decimal number up to UINT32_MAX-1 at r->at; false if there is none. Larger ones count as that.
 */
static bool number(struct reader *r, unsigned long *value)
{
    if (*r->at < '0' || *r->at > '9') return false;
    for (*value = 0; *r->at >= '0' && *r->at <= '9'; r->at++) {
        *value = *value * 10 + (unsigned long)(*r->at - '0');
        if (*value >= NOWHERE) *value = NOWHERE - 1;
    }
    return true;
}

static int range(struct reader *r)
{
    const char *begin = r->at, *second = begin;
    unsigned long first, last;
    bool ok = number(r, &first);
    last = first;
    if (ok && *r->at == '-') {
        second = ++r->at;
        ok = number(r, &last);
    }
    if (!ok || (*r->at && !strchr(" \t\r\n;#", *r->at))) {
        char found[41]; /* a file of any bytes may be given: only what can be printed is shown */
        size_t length = strcspn(begin, " \t\r\n;#"), i = 0;
        for (; i < length && i < sizeof found - 1; i++)
            found[i] = begin[i] >= ' ' && begin[i] <= '~' ? begin[i] : '?';
        found[i] = 0;
        snprintf(r->error, 256, "%s:%u: expected a rank or a range such as 0-3, found \"%s\"",
            r->name, r->line, found);
        return -1;
    }
    if (first >= r->c->ranks) return bad_rank(r, begin);
    if (last >= r->c->ranks) return bad_rank(r, second);
    if (last < first) {
        snprintf(r->error, 256, "%s:%u: expected an ascending range, found %lu-%lu", r->name,
            r->line, first, last);
        return -1;
    }
    for (unsigned long rank = first; rank <= last; rank++) {
        if (r->c->of[rank] != NOWHERE) {
            snprintf(r->error, 256,
                "%s:%u: expected every rank once, found rank %lu again (first in line %u)", r->name,
                r->line, rank, r->line_of[rank]);
            return -1;
        }
        r->c->of[rank] = r->part;
        r->line_of[rank] = r->line;
    }
    r->in_part = true;
    return 0;
}

static void end_part(struct reader *r)
{
    if (r->in_part) r->part++;
    r->in_part = false;
}

static int read_all(struct reader *r)
{
    while (*r->at) {
        switch (*r->at) {
        case '#': r->at += strcspn(r->at, "\n"); break;
        case '\n':
        case ';':
            end_part(r);
            r->line += *r->at++ == '\n';
            break;
        case ' ':
        case '\t':
        case '\r': r->at++; break;
        default:
            if (range(r) < 0) return -1;
        }
    }
    end_part(r);
    for (uint32_t rank = 0; rank < r->c->ranks; rank++) {
        if (r->c->of[rank] != NOWHERE) continue;
        snprintf(
            r->error, 256, "%s: expected every rank once, rank %u is in no cluster", r->name, rank);
        return -1;
    }
    return 0;
}

/* Numbers the clusters by their lowest ranks, whatever the order of their lines. */
static int renumber(struct hark_clusters *c, uint32_t parts)
{
    uint32_t *new = malloc(sizeof *new *(parts ? parts : 1));
    if (new == NULL) return -1;
    memset(new, 0xff, sizeof *new *parts);
    c->count = 0;
    for (uint32_t rank = 0; rank < c->ranks; rank++) {
        if (new[c->of[rank]] == NOWHERE) new[c->of[rank]] = c->count++;
        c->of[rank] = new[c->of[rank]];
    }
    free(new);
    return 0;
}

int hark_clusters_parse(
    struct hark_clusters *c, uint32_t ranks, const char *text, const char *name, char error[256])
{
    char shown[HARK_SHORT_PATH];
    struct reader r = {
        .c = c, .at = text, .name = hark_short_path(name, shown), .error = error, .line = 1};
    c->ranks = ranks;
    c->count = 0;
    c->of = malloc(sizeof *c->of * ((size_t)ranks + 1));
    r.line_of = calloc((size_t)ranks + 1, sizeof *r.line_of);
    snprintf(error, 256, "%s: no memory", r.name);
    int status = c->of && r.line_of ? 0 : -1;
    if (status == 0) {
        memset(c->of, 0xff, sizeof *c->of * ranks);
        status = read_all(&r);
    }
    if (status == 0) status = renumber(c, r.part);
    free(r.line_of);
    if (status < 0) hark_clusters_free(c);
    return status;
}

int hark_clusters_blocks(struct hark_clusters *c, uint32_t ranks, uint32_t count)
{
    *c = (struct hark_clusters){.ranks = ranks, .count = count};
    if (count < 1 || count > ranks) return -1;
    c->of = malloc(sizeof *c->of * ranks);
    if (c->of == NULL) return -1;
    for (uint32_t rank = 0; rank < ranks; rank++)
        c->of[rank] = (uint32_t)((uint64_t)rank * count / ranks);
    return 0;
}

/* The next run of ranks in cluster `which` from *rank on; false if there is none. *rank moves
 * behind it. */
static bool next_run(
    const struct hark_clusters *c, uint32_t which, uint32_t *rank, struct hark_range *run)
{
    while (*rank < c->ranks && c->of[*rank] != which) ++*rank;
    run->first = *rank;
    while (*rank < c->ranks && c->of[*rank] == which) ++*rank;
    run->last = *rank - 1;
    return run->first < *rank;
}

char *hark_clusters_text(const struct hark_clusters *c)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    if (f == NULL) return NULL;
    for (uint32_t which = 0; which < c->count; which++) {
        const char *before = which ? ";" : "";
        struct hark_range run;
        for (uint32_t rank = 0; next_run(c, which, &rank, &run); before = " ") {
            fprintf(f, "%s%u", before, run.first);
            if (run.last > run.first) fprintf(f, "-%u", run.last);
        }
    }
    if (fclose(f) == 0) return text;
    free(text);
    return NULL;
}

struct hark_range *hark_clusters_group(
    const struct hark_clusters *c, uint32_t rank, uint32_t *count)
{
    struct hark_range run, *group;
    uint32_t which = c->of[rank];
    *count = 0;
    for (uint32_t at = 0; next_run(c, which, &at, &run);) ++*count;
    group = malloc(sizeof *group * *count);
    if (group == NULL) return NULL;
    for (uint32_t at = 0, i = 0; i < *count && next_run(c, which, &at, &run); i++) group[i] = run;
    return group;
}

void hark_clusters_free(struct hark_clusters *c)
{
    free(c->of);
    *c = (struct hark_clusters){0};
}
