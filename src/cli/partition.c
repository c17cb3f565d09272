/* partition.c: `hark partition`: who belongs together. */
#include "partition.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hark/hark.h"
#include "output.h"
#include "values.h"

struct arguments {
    struct hark_partition_options o;
    const char *matrix, *cost, *backend, *effort, *nodes, *improve, *json, *svg, *plot, *out;
    double alpha, beta, mtbf, checkpoint, restart; /* per cent, minutes; below 0: not given */
    bool sweep;
};

static const char usage[] = "usage: hark partition MATRIX [OPTION]...";

void hark_cli_partition_help(void)
{
    printf("%s\n%s", usage,
        "Finds clusters for protocols that log messages between clusters: how many, and which "
        "ranks are in each.\n"
        "MATRIX: bytes from row to column, a Matrix Market file or *.mtx.gz; a trace of `hark run "
        "--trace`; or the\n"
        "figures of `hark run` or `hark sim` (--json). It may be a pipe, and values may have "
        "fractions.\n"
        "What clusters cost\n"
        "  --cost team           messages between clusters are logged, the cluster of the failed "
        "process rolls "
        "back\n"
        "  --cost ordered        only messages to a later cluster are logged, half of the clusters "
        "roll back\n"
        "  --alpha A, --beta B   cost of logging everything, of rolling back all processes, in per "
        "cent (23, 12.4)\n"
        "  --mtbf T --checkpoint T --restart T   beta from these, by Daly's formula (such as 1d, "
        "30min, 90s)\n"
        "How they are looked for\n"
        "  --effort fast|best|paper   a few starting points, many, or Algorithm 1 as printed "
        "(fast)\n"
        "  --backend B           builtin, scotch, metis or metis-recursive (builtin; best: all "
        "there are)\n"
        "  --seed S              seed of everything random (1)\n"
        "  --threshold N         Algorithm 1 does not cut clusters of N ranks or fewer (1)\n"
        "  --min-size N, --max-size N   ranks of a cluster\n"
        "  --nodes FILE          ranks that stay together: a line of ranks and ranges for each "
        "node\n"
        "  --improve FILE        improve existing clusters, and report how many ranks change\n"
        "What is written\n"
        "  -o, --output FILE     the clusters, as `hark run --clusters` reads them (else to the "
        "terminal)\n"
        "  --json FILE           the figures;  --svg FILE  the matrix with the clusters outlined\n"
        "  --sweep               also the cost at other numbers of clusters; --plot FILE.svg draws "
        "it\n"
        "Exit status: 0; 2 bad usage or input.\n");
}

#define bad(...) hark_cli_bad("partition", __VA_ARGS__)

/* ---- options */

/* A number and a unit, as minutes. */
static bool minutes(const char *text, double *value)
{
    static const struct {
        const char *word;
        double minutes;
    } units[] = {{"s", 1.0 / 60}, {"min", 1}, {"h", 60}, {"d", 1440}};
    const char *end;
    if (!hark_cli_real(text, 1e9, value, &end)) return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].word) == 0) {
            *value *= units[i].minutes;
            return true;
        }
    return false;
}

enum { MOST = 1 << 30 /* ranks of a cluster */ };
enum what { TEXT, NUMBER, SEED, PERCENT, TIME, FLAG, HELP };

struct option_of {
    const char *name;
    enum what what;
    void *to;
};

static int take(const struct option_of *o, const char *text)
{
    uint64_t n;
    const char *end;
    switch (o->what) {
    case TEXT: *(const char **)o->to = text; return 0;
    case NUMBER:
        if (!hark_cli_whole_number(text, MOST, &n) || n == 0)
            return bad("--%s: expected a number from 1 to %d, found \"%s\"", o->name, MOST, text);
        *(uint32_t *)o->to = (uint32_t)n;
        return 0;
    case SEED:
        if (hark_cli_whole_number(text, UINT64_MAX, o->to)) return 0;
        return bad("--%s: expected a number, found \"%s\"", o->name, text);
    case PERCENT:
        if (hark_cli_real(text, 1e6, o->to, &end) && *end == 0) return 0;
        return bad("--%s: expected per cent such as 12.4, found \"%s\"", o->name, text);
    case TIME:
        if (minutes(text, o->to)) return 0;
        return bad(
            "--%s: expected a time such as 90s, 30min, 12h or 1d, found \"%s\"", o->name, text);
    case FLAG: *(bool *)o->to = true; return 0;
    default: hark_cli_partition_help(); return -1;
    }
}

enum { OPTIONS = 22 };

/* 0: go on; 2: said why not; -1: help was asked for and given. */
static int parse(int argc, char **argv, struct arguments *a)
{
    const struct option_of table[] = {{"cost", TEXT, &a->cost}, {"alpha", PERCENT, &a->alpha},
        {"beta", PERCENT, &a->beta}, {"mtbf", TIME, &a->mtbf}, {"checkpoint", TIME, &a->checkpoint},
        {"restart", TIME, &a->restart}, {"effort", TEXT, &a->effort},
        {"backend", TEXT, &a->backend}, {"seed", SEED, &a->o.seed},
        {"threshold", NUMBER, &a->o.threshold}, {"min-size", NUMBER, &a->o.least},
        {"max-size", NUMBER, &a->o.most}, {"nodes", TEXT, &a->nodes},
        {"improve", TEXT, &a->improve}, {"json", TEXT, &a->json}, {"svg", TEXT, &a->svg},
        {"plot", TEXT, &a->plot}, {"sweep", FLAG, &a->sweep}, {"help", HELP, NULL},
        {"output", TEXT, &a->out}};
    struct option options[OPTIONS + 1] = {0};
    const size_t count = sizeof table / sizeof table[0];
    HARK_STATIC_ASSERT(sizeof table / sizeof table[0] < OPTIONS, "getopt ends at a row of zeros");
    for (size_t i = 0; i < count; i++)
        options[i] = (struct option){table[i].name,
            table[i].what == FLAG || table[i].what == HELP ? no_argument : required_argument, NULL,
            (int)i + 256};
    int c;
    optind = 0; /* start anew: the dispatcher has parsed options of its own */
    opterr = 0;
    while ((c = hark_cli_next(argc, argv, ":ho:", options)) != -1) {
        if (c == 'h') c = (int)count - 2 + 256;
        if (c == 'o') c = (int)count - 1 + 256;
        if (c < 256) return hark_cli_refused("partition", c, argv);
        int status = take(&table[c - 256], optarg);
        if (status != 0) return status;
    }
    if (optind + 1 != argc)
        return optind < argc ? bad("expected one matrix, found \"%s\" too", argv[optind + 1])
                             : bad("%s", usage);
    a->matrix = argv[optind];
    return 0;
}

/* ---- what the words mean */

static int take_times(struct arguments *a, struct partition_report *r)
{
    if (a->mtbf < 0 && a->checkpoint < 0 && a->restart < 0) return 0;
    if (a->mtbf < 0 || a->checkpoint < 0 || a->restart < 0)
        return bad("--mtbf, --checkpoint and --restart need each other");
    if (a->beta >= 0)
        return bad("--beta cannot be combined with --mtbf, --checkpoint and --restart, from which "
                   "it is computed");
    if (a->mtbf <= 0 || a->checkpoint <= 0)
        return bad("--mtbf, --checkpoint: expected times above 0");
    hark_cluster_daly(a->mtbf, a->checkpoint, a->restart, &r->interval, &r->beta);
    if (r->beta > 1)
        return bad(
            "--mtbf, --checkpoint, --restart: expected times by which beta is at most 100 %%, "
            "found %.1f %%: a longer time between failures, or shorter times of a "
            "checkpoint and a restart",
            r->beta * 100);
    a->o.cost.beta = r->beta;
    return 0;
}

static int understand(struct arguments *a, struct partition_report *r)
{
    static const enum hark_partition_effort efforts[] = {
        HARK_PARTITION_FAST, HARK_PARTITION_BEST, HARK_PARTITION_PAPER};
    static const char *const words[] = {"fast", "best", "paper"};
    size_t e = 0;
    if (strcmp(a->cost, "team") != 0 && strcmp(a->cost, "ordered") != 0)
        return bad("--cost: expected team or ordered, found \"%s\"", a->cost);
    a->o.cost.ordered = strcmp(a->cost, "ordered") == 0;
    while (e < 3 && strcmp(a->effort, words[e]) != 0) e++;
    if (e == 3) return bad("--effort: expected fast, best or paper, found \"%s\"", a->effort);
    a->o.effort = efforts[e];
    a->o.all_backends = a->backend == NULL;
    int b = HARK_CUT_BUILTIN;
    while (a->backend && b <= HARK_CUT_METIS_RECURSIVE &&
           strcmp(a->backend, hark_cut_name((enum hark_cut_backend)b)) != 0)
        b++;
    if (b > HARK_CUT_METIS_RECURSIVE)
        return bad("--backend: expected builtin, scotch, metis or metis-recursive, found \"%s\"",
            a->backend);
    a->o.backend = (enum hark_cut_backend)b;
    if (!hark_cut_has(a->o.backend))
        return bad("--backend %s: this hark was built without it", a->backend);
    if (a->alpha >= 0) a->o.cost.alpha = a->alpha / 100;
    if (a->beta >= 0) a->o.cost.beta = a->beta / 100;
    if (a->plot && !a->sweep) return bad("--plot needs --sweep, whose figures it draws");
    return take_times(a, r);
}

/* ---- running */

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* What the backend's own parts cost, by their number. */
static int sweep(
    struct partition_report *r, const struct hark_matrix *m, struct partition_sweep *row)
{
    static const uint32_t counts[] = {1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 24, 32, 48, 64, 96, 128};
    struct hark_graph g;
    struct hark_partition p = {
        .ranks = m->ranks, .of = malloc(((size_t)m->ranks + 1) * sizeof *p.of)};
    int status = p.of ? hark_graph_of(&g, m) : -ENOMEM;
    if (status < 0) {
        free(p.of);
        return bad("no memory");
    }
    for (size_t i = 0; status == 0 && i < sizeof counts / sizeof counts[0] && counts[i] <= m->ranks;
         i++) {
        p.clusters = counts[i];
        status = hark_graph_cut(&g, counts[i], 0.03, r->o->seed, r->o->backend, p.of);
        if (status == 0) status = hark_partition_measure(&p, m, &r->o->cost);
        row[r->sweeps++] = (struct partition_sweep){counts[i], hark_cluster_logged(&p.figures),
            hark_cluster_rolled_back(&p.figures, r->o->cost.ordered), p.cost};
    }
    r->sweep = row;
    hark_graph_free(&g);
    free(p.of);
    return status < 0 ? bad("--sweep: %s", strerror(-status)) : 0;
}

static void summary(const struct partition_report *r, const char *before)
{
    const struct hark_partition *p = r->p;
    uint32_t *size = calloc((size_t)p->clusters + 1, sizeof *size), least = p->ranks, most = 0;
    for (uint32_t v = 0; size && v < p->ranks; v++) size[p->of[v]]++;
    for (uint32_t c = 0; size && c < p->clusters; c++) {
        if (size[c] < least) least = size[c];
        if (size[c] > most) most = size[c];
    }
    free(size);
    if (r->interval > 0)
        printf("%scheckpoints every %.0f min, beta %.1f %%\n", before, r->interval, r->beta * 100);
    printf("%s%u rank%s in %u cluster%s of %u", before, p->ranks, p->ranks == 1 ? "" : "s",
        p->clusters, p->clusters == 1 ? "" : "s", least);
    if (most > least) printf(" to %u", most);
    printf(": %.2f %% logged, %.2f %% rolled back, cost %.2f %%\n",
        hark_cluster_logged(&p->figures) * 100,
        hark_cluster_rolled_back(&p->figures, r->o->cost.ordered) * 100, p->cost * 100);
    if (r->o->improve)
        printf("%s%u rank%s change%s cluster\n", before, p->changed, p->changed == 1 ? "" : "s",
            p->changed == 1 ? "s" : "");
}

static void write_clusters(const struct partition_report *r, FILE *f)
{
    partition_write_clusters(r->p, f);
}

static int write_file(const char *option, const char *path, const struct partition_report *r,
    void (*write)(const struct partition_report *r, FILE *f))
{
    FILE *f = path ? hark_cli_create("partition", option, path) : NULL;
    if (f == NULL) return path ? 2 : 0;
    write(r, f);
    return hark_cli_close("partition", option, path, f);
}

static int write_svg(
    const struct arguments *a, const struct partition_report *r, const struct hark_matrix *m)
{
    FILE *f = a->svg ? hark_cli_create("partition", "--svg", a->svg) : NULL;
    if (f == NULL) return a->svg ? 2 : 0;
    if (partition_write_svg(r->p, m, r->o->cost.ordered, a->matrix, f) == 0)
        return hark_cli_close("partition", "--svg", a->svg, f);
    int status = bad("--svg %s: %s", a->svg, strerror(errno));
    hark_cli_discard(f);
    return status;
}

static int check_writable(const struct arguments *a)
{
    const struct hark_cli_file file[] = {
        {"-o", a->out}, {"--json", a->json}, {"--svg", a->svg}, {"--plot", a->plot}, {NULL, NULL}};
    int status = hark_cli_writable("partition", file);
    if (status == 0) status = hark_cli_apart("partition", file, a->matrix);
    if (status == 0) status = hark_cli_apart("partition", file, a->nodes);
    /* Clusters may take the place of those that they improve. */
    return status ? status : hark_cli_apart("partition", file + 1, a->improve);
}

static int write_all(
    const struct arguments *a, struct partition_report *r, const struct hark_matrix *m)
{
    struct partition_sweep row[32];
    int status = a->sweep ? sweep(r, m, row) : 0;
    if (status) return status;
    if (a->sweep) partition_write_sweep(r, stdout);
    bool clusters = !a->out && !a->sweep;
    summary(r, clusters ? "# " : "");
    if (clusters) partition_write_clusters(r->p, stdout);
    if (fflush(stdout) != 0) status = bad("standard output: %s", strerror(errno));
    if (status == 0) status = write_file("-o", a->out, r, write_clusters);
    if (status == 0) status = write_file("--json", a->json, r, partition_write_json);
    if (status == 0) status = write_file("--plot", a->plot, r, partition_write_plot);
    return status ? status : write_svg(a, r, m);
}

/* Then all clusters log the same, and the smallest ones cost least. */
static void say_no_traffic(const struct arguments *a, const struct hark_partition *p)
{
    if (p->figures.bytes > 0 || p->ranks < 2) return;
    fprintf(stderr,
        "hark partition: %s: no rank sends anything to another, so no cluster is better than "
        "another\n",
        a->matrix);
}

static int with_matrix(struct arguments *a, struct partition_report *r, const struct hark_matrix *m)
{
    struct hark_partition p;
    char error[PARTITION_ERROR];
    uint32_t *nodes = NULL, *improve = NULL;
    int status = 0;
    if (a->nodes && (nodes = partition_read_groups(a->nodes, "node", m->ranks, error)) == NULL)
        return bad("%s", error);
    if (a->improve &&
        (improve = partition_read_groups(a->improve, "cluster", m->ranks, error)) == NULL)
        status = bad("%s", error);
    a->o.node = nodes;
    a->o.improve = improve;
    if (status == 0) {
        r->ms = now_ms();
        if (hark_partition(&p, m, &a->o, error) < 0) {
            status = bad("%s", error);
        } else {
            r->ms = now_ms() - r->ms;
            r->p = &p;
            say_no_traffic(a, &p);
            status = write_all(a, r, m);
            hark_partition_free(&p);
        }
    }
    free(nodes);
    free(improve);
    return status;
}

int hark_cli_partition(int argc, char **argv)
{
    struct arguments a = {.cost = "team",
        .effort = "fast",
        .alpha = -1,
        .beta = -1,
        .mtbf = -1,
        .checkpoint = -1,
        .restart = -1};
    struct hark_matrix m;
    char error[PARTITION_ERROR];
    hark_partition_defaults(&a.o);
    struct partition_report r = {.o = &a.o};
    int status = parse(argc, argv, &a);
    if (status == 0) status = understand(&a, &r);
    if (status == 0) status = check_writable(&a);
    if (status != 0) return status < 0 ? 0 : status;
    r.matrix = a.matrix;
    if (partition_read(a.matrix, &m, error) < 0) return bad("%s", error);
    r.exponent = m.exponent;
    status = with_matrix(&a, &r, &m);
    hark_matrix_free(&m);
    return status;
}
