/* recluster.c: uses the library of clusters. A runtime has recorded the traffic between its
 * processes, and changes its clusters at a checkpoint. Run ./recluster [MATRIX.mtx[.gz] [K]]
 * >clusters: it begins with K blocks of ranks, and writes a file for hark run --clusters. Without a
 * matrix it uses 64 processes in a grid, which send ten times as much down their columns as along
 * their rows.
 */
#include <hark/cluster.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8 };

/* A matrix needs no file: rows one after the other, with ascending columns. */
static int grid(struct hark_matrix *m)
{
    const uint32_t ranks = SIDE * SIDE;
    *m = (struct hark_matrix){ranks, 0, calloc(ranks + 1, sizeof *m->first),
        malloc(4 * ranks * sizeof *m->column), malloc(4 * ranks * sizeof *m->value), 0};
    if (!m->first || !m->column || !m->value) return -1;
    for (uint32_t from = 0; from < ranks; from++) {
        for (uint32_t to = 0; to < ranks; to++) {
            bool column = from % SIDE == to % SIDE && (from + SIDE == to || to + SIDE == from);
            bool row = from / SIDE == to / SIDE && (from + 1 == to || to + 1 == from);
            if (!column && !row) continue;
            m->column[m->entries] = to;
            m->value[m->entries++] = column ? 10240 : 1024;
        }
        m->first[from + 1] = m->entries;
    }
    return 0;
}

static void say(const char *what, const struct hark_partition *p)
{
    printf("# %-20s %3u clusters, %5.1f %% logged, %5.1f %% go back, cost %6.3f %%\n", what,
        p->clusters, 100 * hark_cluster_logged(&p->figures),
        100 * hark_cluster_rolled_back(&p->figures, false), 100 * p->cost);
}

static void cluster_file(const struct hark_partition *p)
{
    for (uint32_t c = 0; c < p->clusters; c++) {
        const char *between = "";
        for (uint32_t rank = 0; rank < p->ranks; rank++) {
            if (p->of[rank] != c) continue;
            printf("%s%u", between, rank);
            between = " ";
        }
        putchar('\n');
    }
}

/* An embedder does this at a checkpoint of all processes, when no message is in flight. */
static int recluster(const struct hark_matrix *m, uint32_t blocks)
{
    struct hark_partition before = {
        .ranks = m->ranks, .clusters = blocks, .of = malloc(m->ranks * sizeof *before.of)};
    struct hark_partition anew = {0}, improved = {0};
    struct hark_partition_options o;
    char error[HARK_PARTITION_ERROR] = "no memory";
    hark_partition_defaults(&o); /* alpha, beta: hark_cluster_daly computes beta for your machine */
    for (uint32_t rank = 0; before.of && rank < m->ranks; rank++)
        before.of[rank] = (uint32_t)((uint64_t)rank * blocks / m->ranks);
    int status = before.of ? hark_partition_measure(&before, m, &o.cost) : -1;
    if (status == 0) status = hark_partition(&anew, m, &o, error);
    o.improve = before.of; /* or only made better, so that few processes change */
    if (status == 0) status = hark_partition(&improved, m, &o, error);
    if (status == 0) {
        say("blocks of ranks", &before);
        say("anew", &anew);
        say("blocks made better", &improved);
        printf("# %u of %u processes change their cluster then\n", improved.changed, m->ranks);
        cluster_file(anew.cost < improved.cost ? &anew : &improved);
    } else {
        fprintf(stderr, "recluster: %s\n", error);
    }
    hark_partition_free(&before);
    hark_partition_free(&anew);
    hark_partition_free(&improved);
    return status == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct hark_matrix m;
    char error[HARK_MATRIX_ERROR] = "no memory";
    uint32_t blocks = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : SIDE;
    if ((argc > 1 ? hark_matrix_read(&m, argv[1], 0, error) : grid(&m)) < 0) {
        fprintf(stderr, "recluster: %s\n", error);
        return 2;
    }
    if (blocks < 1 || blocks > m.ranks) {
        fprintf(stderr, "recluster: expected 1 to %u blocks, found \"%s\"\n", m.ranks,
            argc > 2 ? argv[2] : "8");
        blocks = 0;
    }
    int status = blocks ? recluster(&m, blocks) : 2;
    hark_matrix_free(&m);
    return status;
}
