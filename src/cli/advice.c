#include "advice.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hark/cluster.h"
#include "output.h"

/* What was sent, as a matrix: its arrays are malloc's. */
static bool matrix_of(struct hark_matrix *m, const uint64_t *bytes, uint32_t ranks)
{
    uint64_t n = ranks, entries = 0;
    for (uint64_t i = 0; i < n * n; i++) entries += bytes[i] != 0;
    *m = (struct hark_matrix){.ranks = ranks,
        .first = malloc((n + 1) * sizeof *m->first),
        .column = malloc((entries + 1) * sizeof *m->column),
        .value = malloc((entries + 1) * sizeof *m->value)};
    if (!m->first || !m->column || !m->value) return false;
    for (uint32_t row = 0; row < ranks; row++) {
        m->first[row] = m->entries;
        for (uint32_t k = 0; k < ranks; k++) {
            uint64_t value = bytes[row * n + k];
            if (value == 0) continue;
            m->column[m->entries] = k;
            m->value[m->entries++] = value < HARK_MATRIX_MOST ? value : HARK_MATRIX_MOST;
        }
    }
    m->first[ranks] = m->entries;
    return true;
}

static int write_matrix(const struct hark_matrix *m, const char *path)
{
    FILE *f = hark_cli_create("run", "--write-matrix", path);
    if (f == NULL) return -1;
    fprintf(f,
        "%%%%MatrixMarket matrix coordinate integer general\n%% bytes that a process sent to "
        "another, as hark run saw them\n"
        "%" PRIu32 " %" PRIu32 " %" PRIu64 "\n",
        m->ranks, m->ranks, m->entries);
    for (uint32_t row = 0; row < m->ranks; row++)
        for (uint64_t i = m->first[row]; i < m->first[row + 1]; i++)
            fprintf(
                f, "%" PRIu32 " %" PRIu32 " %" PRIu64 "\n", row + 1, m->column[i] + 1, m->value[i]);
    return hark_cli_close("run", "--write-matrix", path, f) ? -1 : 0;
}

static int write_clusters(const char *text, const char *path)
{
    FILE *f = hark_cli_create("run", NULL, path);
    if (f == NULL) return -1;
    for (; *text; text++) fputc(*text == ';' ? '\n' : *text, f);
    fputc('\n', f);
    return hark_cli_close("run", NULL, path, f) ? -1 : 0;
}

/* "0-3", "4 6": the clusters as an array of strings. */
static char *json(const struct hark_partition *p, const char *text, double used)
{
    char *out = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&out, &length);
    if (f == NULL) return NULL;
    fprintf(f,
        "{\"count\": %" PRIu32 ", \"logged\": %.6f, \"rolled_back\": %.6f, \"cost\": %.6f, "
        "\"cost_of_blocks\": %.6f, \"clusters\": [\"",
        p->clusters, hark_cluster_logged(&p->figures), hark_cluster_rolled_back(&p->figures, false),
        p->cost, used);
    for (; *text; text++)
        if (*text == ';') fputs("\", \"", f);
        else fputc(*text, f);
    fputs("\"]}", f);
    if (fclose(f) == 0) return out;
    free(out);
    return NULL;
}

static char *clusters(const struct hark_cli_advice *a, const struct hark_matrix *m)
{
    struct hark_partition_options o;
    struct hark_partition p;
    char error[HARK_PARTITION_ERROR], path[PATH_MAX] = "", *out = NULL;
    hark_partition_defaults(&o);
    if (hark_partition(&p, m, &o, error) < 0) {
        fprintf(stderr, "hark run: --clusters auto: %s\n", error);
        return NULL;
    }
    struct hark_clusters found = {m->ranks, p.clusters, p.of};
    struct hark_partition blocks = {
        .ranks = m->ranks, .clusters = a->used->count, .of = a->used->of};
    double used = hark_partition_measure(&blocks, m, &o.cost) == 0 ? blocks.cost : 0;
    char *text = hark_clusters_text(&found);
    if (text && a->store &&
        snprintf(path, sizeof path, "%s/clusters.txt", a->store) >= (int)sizeof path)
        *path = 0;
    if (text && *path && write_clusters(text, path) < 0) *path = 0;
    fprintf(stderr,
        "hark run: %" PRIu32 " blocks of ranks cost %.2f %% of the machine; %" PRIu32
        " cluster%s by the observed traffic would cost %.2f %%%s%s\n",
        a->used->count, 100 * used, p.clusters, p.clusters == 1 ? "" : "s", 100 * p.cost,
        *path ? ": --clusters " : "", path);
    if (text) out = json(&p, text, used);
    free(text);
    hark_partition_free(&p);
    return out;
}

char *hark_cli_advise(void *self, const uint64_t *bytes, uint32_t ranks)
{
    struct hark_cli_advice *a = self;
    struct hark_matrix m;
    char *out = NULL;
    if (!matrix_of(&m, bytes, ranks)) {
        fputs("hark run: no memory for the matrix of what processes sent to each other\n", stderr);
        a->failed = a->matrix != NULL;
    } else {
        if (a->matrix) a->failed = write_matrix(&m, a->matrix) < 0;
        if (a->used) out = clusters(a, &m);
    }
    hark_matrix_free(&m);
    return out;
}

bool hark_cli_better(
    void *self, const uint64_t *bytes, uint32_t ranks, const uint32_t *now, uint32_t *of)
{
    const double worth = 0.9; /* a change less than this is not worth the log that it begins anew */
    struct hark_partition present = {.ranks = ranks, .of = (uint32_t *)(uintptr_t)now}, found;
    struct hark_partition_options o;
    struct hark_matrix m;
    char error[HARK_PARTITION_ERROR];
    bool better = false;
    (void)self;
    hark_partition_defaults(&o);
    for (uint32_t r = 0; r < ranks; r++)
        if (now[r] >= present.clusters) present.clusters = now[r] + 1;
    if (matrix_of(&m, bytes, ranks) && hark_partition_measure(&present, &m, &o.cost) == 0 &&
        hark_partition(&found, &m, &o, error) == 0) {
        better = found.cost < worth * present.cost;
        if (better) memcpy(of, found.of, ranks * sizeof *of);
        hark_partition_free(&found);
    }
    hark_matrix_free(&m);
    return better;
}
