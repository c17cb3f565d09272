/* The results and times of hark partition, beside Scotch and METIS. partition DIRECTORY:
 * matrices NAME.mtx.gz; what is not there is left out. Times are of the processor, the least of
 * several. */
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "hark/cluster.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static const enum hark_cut_backend backends[] = {
    HARK_CUT_BUILTIN, HARK_CUT_SCOTCH, HARK_CUT_METIS, HARK_CUT_METIS_RECURSIVE};

static int read_one(struct hark_matrix *m, const char *directory, const char *name)
{
    char path[1024], error[HARK_MATRIX_ERROR];
    snprintf(path, sizeof path, "%s/%s.mtx.gz", directory, name);
    return hark_matrix_read(m, path, 0, error);
}

static void die(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static struct hark_partition found(const struct hark_matrix *m, enum hark_partition_effort effort)
{
    struct hark_partition_options o;
    struct hark_partition p;
    char error[HARK_PARTITION_ERROR];
    hark_partition_defaults(&o);
    o.effort = effort;
    o.all_backends = true;
    if (hark_partition(&p, m, &o, error) < 0) die(error);
    return p;
}

/* The cost of a backend's parts. */
static double cost_of(const struct hark_matrix *m, const struct hark_graph *g,
    enum hark_cut_backend b, uint32_t parts)
{
    struct hark_cluster_cost cost = {.alpha = 0.23, .beta = 0.124};
    struct hark_partition p = {
        .ranks = m->ranks, .clusters = parts, .of = malloc(((size_t)m->ranks + 1) * sizeof *p.of)};
    if (p.of == NULL || hark_graph_cut(g, parts, 0.03, 1, b, p.of) < 0 ||
        hark_partition_measure(&p, m, &cost) < 0)
        die("no parts");
    free(p.of);
    return p.cost;
}

/* ---- costs */

struct row {
    const char *matrix;
    double printed; /* of the paper's shares, class D; 0: none */
};

static void cost_row(const char *directory, const struct row *r)
{
    static const uint32_t counts[] = {1, 2, 4, 5, 6, 8, 13, 16, 32, 64};
    struct hark_matrix m;
    struct hark_graph g;
    double least = 9;
    uint32_t of = 0;
    const char *by = "";
    if (read_one(&m, directory, r->matrix) < 0) return;
    if (hark_graph_of(&g, &m) < 0) die("no graph");
    for (size_t b = 1; b < 4; b++)
        for (size_t i = 0; hark_cut_has(backends[b]) && i < sizeof counts / sizeof counts[0] &&
                           counts[i] <= m.ranks;
             i++) {
            double c = cost_of(&m, &g, backends[b], counts[i]);
            if (c < least - 1e-12) least = c, of = counts[i], by = hark_cut_name(backends[b]);
        }
    char paper[16] = "-";
    if (r->printed > 0) snprintf(paper, sizeof paper, "%.2f", r->printed);
    printf("%-14s %6s", r->matrix, paper);
    for (int e = 0; e < 3; e++) {
        struct hark_partition p = found(&m, e == 0   ? HARK_PARTITION_PAPER
                                            : e == 1 ? HARK_PARTITION_FAST
                                                     : HARK_PARTITION_BEST);
        printf("  %7.3f %3" PRIu32, p.cost * 100, p.clusters);
        hark_partition_free(&p);
    }
    if (of) printf("  %7.3f %3" PRIu32 " %s", least * 100, of, of == 1 ? "" : by);
    putchar('\n');
    fflush(stdout);
    hark_graph_free(&g);
    hark_matrix_free(&m);
}

static void costs(const char *directory)
{
    /* HydEE, Table I, and Table 2 of Ropars et al.: equation 2 of the shares that are printed */
    static const struct row rows[] = {{"npb-bt.B.256", 6.86}, {"npb-cg.B.256", 5.14},
        {"npb-ft.B.256", 17.74}, {"npb-lu.B.256", 4.60}, {"npb-mg.B.256", 7.61},
        {"npb-sp.B.256", 6.91}, {"npb-bt.B.1024", 4.37}, {"npb-lu.B.1024", 3.0}, {"npb-bt.B.64", 0},
        {"npb-cg.B.64", 0}, {"npb-ft.B.64", 0}, {"npb-lu.B.64", 0}, {"npb-mg.B.64", 0},
        {"npb-sp.B.64", 0}, {"comd.64", 0}, {"hpccg.64", 0}, {"hpcg.64", 0}, {"lulesh.64", 0},
        {"minife.64", 0}};
    puts("Cost by eq. 2 in per cent, and K. paper: HydEE, Table I (256) and Euro-Par 2011, Table 2 "
         "(1024), class D; "
         "sweep: the least of\n"
         "Scotch, METIS k-way and METIS recursive at K = 1, 2, 4, 5, 6, 8, 13, 16, 32, 64.\n");
    printf(
        "%-14s %6s  %11s  %11s  %11s  %11s\n", "", "paper", "Algorithm 1", "fast", "best", "sweep");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) cost_row(directory, &rows[i]);
}

static void table_4(const char *directory, const char *name)
{
    static const uint32_t counts[] = {2, 4, 6, 8, 13, 16, 32, 64};
    struct hark_matrix m;
    struct hark_graph g;
    if (read_one(&m, directory, name) < 0) return;
    if (hark_graph_of(&g, &m) < 0) die("no graph");
    struct hark_partition fast = found(&m, HARK_PARTITION_FAST),
                          best = found(&m, HARK_PARTITION_BEST);
    printf("\nTable 4 in kind, %s; without being given K: fast %.2f (K = %" PRIu32
           "), best %.2f (K = %" PRIu32 ")\n\n%-16s",
        name, fast.cost * 100, fast.clusters, best.cost * 100, best.clusters, "K");
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) printf(" %6" PRIu32, counts[i]);
    for (size_t b = 0; b < 4; b++) {
        if (!hark_cut_has(backends[b])) continue;
        printf("\n%-16s", hark_cut_name(backends[b]));
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            printf(" %6.2f", cost_of(&m, &g, backends[b], counts[i]) * 100);
    }
    putchar('\n');
    hark_partition_free(&fast);
    hark_partition_free(&best);
    hark_graph_free(&g);
    hark_matrix_free(&m);
}

/* ---- every matrix, beside a sweep */

struct sweep {
    double cost, ms;
    uint32_t parts;
    const char *by;
};

/* Asks one backend for every number of parts that is worth trying. */
static void sweep_counts(struct sweep *s, const struct hark_matrix *m, const struct hark_graph *g,
    enum hark_cut_backend b, double slack, uint64_t seed)
{
    static const uint32_t counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20,
        22, 24, 28, 32, 40, 48, 56, 64};
    struct hark_cluster_cost cost = {.alpha = 0.23, .beta = 0.124};
    struct hark_partition p = {
        .ranks = m->ranks, .of = malloc(((size_t)m->ranks + 1) * sizeof *p.of)};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0] && counts[i] <= m->ranks; i++) {
        double t = now();
        p.clusters = counts[i];
        if (p.of == NULL || hark_graph_cut(g, counts[i], slack, seed, b, p.of) < 0) die("no parts");
        if (hark_partition_measure(&p, m, &cost) < 0) die("no figures");
        s->ms += now() - t;
        if (p.cost < s->cost - 1e-12)
            s->cost = p.cost, s->parts = counts[i], s->by = hark_cut_name(b);
    }
    free(p.of);
}

static struct sweep sweep_of(const struct hark_matrix *m, const struct hark_graph *g,
    const double *slack, size_t slacks, uint64_t seeds)
{
    struct sweep s = {9, 0, 0, ""};
    for (size_t b = 1; b < 4; b++)
        for (size_t i = 0; i < slacks && hark_cut_has(backends[b]); i++)
            for (uint64_t seed = 1; seed <= seeds; seed++)
                sweep_counts(&s, m, g, backends[b], slack[i], seed);
    return s;
}

static double time_of_fast(const struct hark_matrix *m, int times, struct hark_partition *p);

static void beside_sweep(const char *directory, const char *name, double all[3])
{
    static const double slacks[] = {0.03, 0.1, 0.3};
    struct hark_matrix m;
    struct hark_graph g;
    struct hark_partition p;
    if (read_one(&m, directory, name) < 0) return;
    if (hark_graph_of(&g, &m) < 0) die("no graph");
    double ms = time_of_fast(&m, 3, &p);
    struct sweep one = sweep_of(&m, &g, slacks, 1, 1), many = sweep_of(&m, &g, slacks, 3, 3);
    printf("%-20s %7.3f %3" PRIu32 " %7.1f   %7.3f %3" PRIu32 " %7.1f   %7.3f %3" PRIu32
           " %8.1f %s%s\n",
        name, p.cost * 100, p.clusters, ms, one.cost * 100, one.parts, one.ms, many.cost * 100,
        many.parts, many.ms, many.by, p.cost > many.cost + 1e-12 ? " ABOVE" : "");
    fflush(stdout);
    all[0] += ms;
    all[1] += one.ms;
    all[2] += many.ms;
    hark_partition_free(&p);
    hark_graph_free(&g);
    hark_matrix_free(&m);
}

static void beside_sweeps(const char *directory)
{
    char pattern[1024], name[256];
    double all[3] = {0};
    glob_t found;
    puts("\nCost by eq. 2 in per cent, K, and ms of the processor: `fast`; the least of Scotch, "
         "METIS k-way and "
         "METIS recursive at 26 numbers of\n"
         "parts from 1 to 64, largest part up to 3 % above the mean, seed 1; and the same with 3, "
         "10 and 30 %, seeds "
         "1, 2 and 3\n");
    printf("%-20s %19s   %19s   %20s\n", "", "fast", "sweep", "nine sweeps");
    snprintf(pattern, sizeof pattern, "%s/*.mtx.gz", directory);
    if (glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *base = strrchr(found.gl_pathv[i], '/') + 1;
        snprintf(name, sizeof name, "%.*s", (int)(strlen(base) - strlen(".mtx.gz")), base);
        beside_sweep(directory, name, all);
    }
    globfree(&found);
    printf("%-20s %19.1f   %19.1f   %20.1f\n", "all, ms", all[0], all[1], all[2]);
}

/* ---- times */

static double time_of_cut(const struct hark_graph *g, enum hark_cut_backend b, uint32_t *part)
{
    double least = 1e9;
    for (int i = 0; i < 9; i++) {
        double t = now();
        if (hark_graph_cut(g, 16, 0.03, 1, b, part) < 0) die("no parts");
        t = now() - t;
        if (t < least) least = t;
    }
    return least;
}

static double time_of_fast(const struct hark_matrix *m, int times, struct hark_partition *p)
{
    double least = 1e9;
    for (int i = 0; i < times; i++) {
        if (i) hark_partition_free(p);
        double t = now();
        *p = found(m, HARK_PARTITION_FAST);
        t = now() - t;
        if (t < least) least = t;
    }
    return least;
}

static void time_row(const char *directory, const char *name)
{
    struct hark_matrix m;
    struct hark_graph g;
    struct hark_partition p;
    if (read_one(&m, directory, name) < 0) return;
    uint32_t *part = malloc(((size_t)m.ranks + 1) * sizeof *part);
    if (part == NULL || hark_graph_of(&g, &m) < 0) die("no graph");
    printf("%-14s %8" PRIu64 " %9.2f", name, g.first[g.vertices] / 2, time_of_fast(&m, 9, &p));
    for (size_t b = 0; b < 4; b++) {
        if (hark_cut_has(backends[b])) printf(" %9.2f", 2 * time_of_cut(&g, backends[b], part));
        else printf(" %9s", "-");
    }
    putchar('\n');
    hark_partition_free(&p);
    hark_graph_free(&g);
    hark_matrix_free(&m);
    free(part);
}

static void place(struct hark_matrix *m, uint32_t to)
{
    m->column[m->entries] = to;
    m->value[m->entries++] = 1000;
}

/* A stencil of 6 neighbours on a grid of x by y by z, and with `edges` all 26. */
static struct hark_matrix stencil(uint32_t x, uint32_t y, uint32_t z, bool corners)
{
    uint32_t n = x * y * z;
    struct hark_matrix m = {n, 0, malloc(((size_t)n + 1) * sizeof *m.first),
        malloc((size_t)n * 26 * sizeof *m.column), malloc((size_t)n * 26 * sizeof *m.value), 0};
    if (!m.first || !m.column || !m.value) die("no memory");
    for (uint32_t v = 0; v < n; v++) {
        m.first[v] = m.entries;
        for (int d = 0; d < 27; d++) {
            int dx = d % 3 - 1, dy = d / 3 % 3 - 1, dz = d / 9 - 1,
                far = (dx != 0) + (dy != 0) + (dz != 0);
            int64_t i = (int64_t)(v % x) + dx, j = (int64_t)(v / x % y) + dy,
                    k = (int64_t)(v / x / y) + dz;
            if (far == 0 || (far > 1 && !corners) || i < 0 || j < 0 || k < 0 || i >= x || j >= y ||
                k >= z)
                continue;
            place(&m, (uint32_t)((k * y + j) * x + i));
        }
    }
    m.first[n] = m.entries;
    return m;
}

static void large(uint32_t x, uint32_t y, uint32_t z, bool corners)
{
    struct hark_matrix m = stencil(x, y, z, corners);
    struct hark_partition p;
    struct rusage use;
    double ms = time_of_fast(&m, x * y * z > 100000 ? 1 : 3, &p);
    getrusage(RUSAGE_SELF, &use);
    printf("%8" PRIu32 " %9" PRIu64 " %9.2f s %8.0f ns %6" PRIu32 " %7.2f %% %8ld MiB\n", m.ranks,
        m.entries / 2, ms / 1e3, ms * 1e6 / ((double)m.entries / 2), p.clusters, p.cost * 100,
        use.ru_maxrss / 1024);
    fflush(stdout);
    hark_partition_free(&p);
    hark_matrix_free(&m);
}

int main(int argc, char **argv)
{
    const char *directory = argc > 1 ? argv[1] : ".";
    costs(directory);
    beside_sweeps(directory);
    table_4(directory, "npb-lu.B.256");
    table_4(directory, "npb-mg.B.256");
    printf("\nms of the processor: `fast`, and two partitions into 16 parts by each "
           "backend\n\n%-14s %8s %9s %9s %9s "
           "%9s %9s\n",
        "", "edges", "fast", "2 builtin", "2 Scotch", "2 METIS", "2 METIS r.");
    time_row(directory, "npb-bt.B.1024");
    time_row(directory, "npb-lu.B.1024");
    printf("\n`fast`, 3-D stencils of 6 neighbours, the third and the last but one of 26\n\n%8s "
           "%9s %11s %11s %6s "
           "%9s %12s\n",
        "ranks", "edges", "time", "per edge", "K", "cost", "memory");
    large(16, 16, 16, false);
    large(32, 32, 16, false);
    large(32, 32, 16, true);
    large(64, 64, 64, false);
    large(64, 64, 64, true);
    large(128, 128, 64, false);
    return 0;
}
