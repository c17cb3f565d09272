/* balance.c: `hark balance`: objects onto processing elements in teams, once or again and again as
 * loads drift. */
#include "balance.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../cluster/loads.h"
#include "../short_source.h"
#include "balance_report.h"
#include "output.h"
#include "values.h"

struct arguments {
    struct hark_balance b;
    const char *loads, *matrix, *strategy, *backend, *map, *out, *json, *csv, *plot;
    uint32_t every;
};

static const char usage[] = "usage: hark balance LOADS.csv COMM.mtx --pes N --teams K [OPTION]...";

void hark_cli_balance_help(void)
{
    printf("%s\n%s", usage,
        "Places objects on processing elements (PEs), so that loads are equal and little is sent "
        "between teams of PEs:\n"
        "messages between teams are logged (hark run --protocol team).\n"
        "  LOADS.csv             a line for each object: its load, a whole number (ns, us); or "
        "several columns, loads "
        "over\n"
        "                        time: then hark rebalances after each, by the latest\n"
        "  COMM.mtx              bytes that objects send each other: Matrix Market, plain or *.gz\n"
        "  --pes N --teams K     PE p is in team p / (N / K); K divides N\n"
        "  --strategy S          none, greedy, refine, team, team+ (team)\n"
        "  --backend B           what cuts the graph into teams: builtin, scotch, metis, "
        "metis-recursive (builtin)\n"
        "  --slack PERCENT       load above the mean that a PE (refine, team+) or a team (team) "
        "may have, in per cent "
        "of the\n"
        "                        mean, to one decimal (1)\n"
        "  --move-bytes SIZE     team+: moving an object costs as much as logging SIZE bytes (0)\n"
        "  --map FILE            the present PE of each object, a line each (contiguous blocks)\n"
        "  --every N             with several columns of loads: rebalance after every N columns "
        "(1)\n"
        "  --seed S              seed of the cut (1)\n"
        "  -o FILE               the new PE of each object, a line each\n"
        "  --json FILE, --csv FILE, --plot FILE.svg   the figures; a line for each column; a "
        "picture of the loads "
        "over them\n"
        "Exit status: 0; 1 no memory; 2 bad usage or input.\n");
}

#define bad(...) hark_cli_bad("balance", __VA_ARGS__)

static int no_memory(void)
{
    fputs("hark balance: no memory\n", stderr);
    return 1;
}

/* ---- options --------------------------------------------------------------------------------- */

static const char *const strategies[] = {"none", "greedy", "refine", "team", "team+"};

static int strategy_of(struct arguments *a)
{
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++)
        if (strcmp(a->strategy, strategies[i]) == 0) {
            a->b.strategy = (enum hark_balance_strategy)i;
            return 0;
        }
    return bad(
        "--strategy: expected none, greedy, refine, team or team+, found \"%s\"", a->strategy);
}

static int backend_of(struct arguments *a)
{
    for (uint32_t i = 0; i <= HARK_CUT_METIS_RECURSIVE; i++) {
        enum hark_cut_backend backend = (enum hark_cut_backend)i;
        if (strcmp(a->backend, hark_cut_name(backend)) != 0) continue;
        a->b.backend = backend;
        return hark_cut_has(backend) ? 0
                                     : bad("--backend: this hark was built without %s", a->backend);
    }
    return bad(
        "--backend: expected builtin, scotch, metis or metis-recursive, found \"%s\"", a->backend);
}

/* Per cent with up to one decimal, as thousandths. */
static int slack_of(struct arguments *a, const char *text)
{
    const char *end;
    uint64_t whole, tenth = 0;
    bool ok = hark_cli_number(text, 100, &whole, &end);
    if (ok && end[0] == '.' && end[1] >= '0' && end[1] <= '9') {
        tenth = (uint64_t)(end[1] - '0');
        end += 2;
    }
    if (!ok || *end || whole * 10 + tenth > 1000)
        return bad("--slack: expected per cent from 0 to 100 such as 3 or 0.5, found \"%s\"", text);
    a->b.slack = (uint32_t)(whole * 10 + tenth);
    return 0;
}

static int count_of(const char *option, const char *text, uint32_t most, uint32_t *to)
{
    uint64_t n;
    if (!hark_cli_whole_number(text, most, &n) || n == 0)
        return bad("%s: expected 1 to %u, found \"%s\"", option, most, text);
    *to = (uint32_t)n;
    return 0;
}

static int bytes_of(const char *option, const char *text, uint64_t most, uint64_t *to)
{
    uint64_t n;
    if (!hark_cli_size(text, &n) || n > most)
        return bad("%s: expected a number such as 8192 or 8K, found \"%s\"", option, text);
    *to = n;
    return 0;
}

static int keep_text(const char **to, const char *text)
{
    *to = text;
    return 0;
}

enum { PES = 256, TEAMS, STRATEGY, BACKEND, SLACK, MOVE, MAP, EVERY, SEED, JSON, CSV, PLOT };

static int take(struct arguments *a, int option, const char *text)
{
    const uint32_t pes = HARK_MATRIX_RANKS;
    switch (option) {
    case PES: return count_of("--pes", text, pes, &a->b.pes);
    case TEAMS: return count_of("--teams", text, pes, &a->b.teams);
    case STRATEGY: return keep_text(&a->strategy, text);
    case BACKEND: return keep_text(&a->backend, text);
    case SLACK: return slack_of(a, text);
    case MOVE: return bytes_of("--move-bytes", text, HARK_BALANCE_LOAD, &a->b.move);
    case MAP: return keep_text(&a->map, text);
    case EVERY: return count_of("--every", text, 1000000000, &a->every);
    case SEED: return bytes_of("--seed", text, UINT64_MAX, &a->b.seed);
    case JSON: return keep_text(&a->json, text);
    case CSV: return keep_text(&a->csv, text);
    case PLOT: return keep_text(&a->plot, text);
    case 'o': return keep_text(&a->out, text);
    default: hark_cli_balance_help(); return -1;
    }
}

/* 0: go on; 2: said why not; -1: help was asked for and given. */
static int parse(int argc, char **argv, struct arguments *a)
{
    static const struct option options[] = {{"pes", required_argument, NULL, PES},
        {"teams", required_argument, NULL, TEAMS}, {"strategy", required_argument, NULL, STRATEGY},
        {"backend", required_argument, NULL, BACKEND}, {"slack", required_argument, NULL, SLACK},
        {"move-bytes", required_argument, NULL, MOVE}, {"map", required_argument, NULL, MAP},
        {"every", required_argument, NULL, EVERY}, {"seed", required_argument, NULL, SEED},
        {"json", required_argument, NULL, JSON}, {"csv", required_argument, NULL, CSV},
        {"plot", required_argument, NULL, PLOT}, {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    int c, status;
    optind = 0; /* start anew: the dispatcher has parsed options of its own */
    opterr = 0;
    while ((c = hark_cli_next(argc, argv, ":ho:", options)) != -1) {
        if (c == ':' || c == '?') return hark_cli_refused("balance", c, argv);
        if ((status = take(a, c, optarg)) != 0) return status;
    }
    if (argc - optind != 2) return bad("%s", usage);
    a->loads = argv[optind];
    a->matrix = argv[optind + 1];
    if (a->b.pes == 0 || a->b.teams == 0) return bad("--pes and --teams are required");
    if (a->b.teams > a->b.pes)
        return bad("--teams: expected 1 to %u, as there are PEs, found %u", a->b.pes, a->b.teams);
    if (a->b.pes % a->b.teams)
        return bad(
            "--teams: expected a number that divides the %u PEs, found %u", a->b.pes, a->b.teams);
    status = strategy_of(a);
    return status ? status : backend_of(a);
}

/* ---- running --------------------------------------------------------------------------------- */

struct work {
    struct arguments *a;
    struct hark_graph graph;
    struct hark_loads loads, map;
    uint64_t *load;              /* of one column */
    uint32_t *begun, *pe, *last; /* maps: at the beginning, in force, in force before */
    struct balance_run run;
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int said(const struct work *w, int status)
{
    if (status == -ENOMEM) return no_memory();
    if (status == -EOVERFLOW)
        return bad("%s: the graph is larger than %s takes", w->a->matrix, w->a->backend);
    return status ? bad("%s: expected sums of loads, of bytes and of moves up to 2^60", w->a->loads)
                  : 0;
}

static void take_column(struct work *w, uint32_t column)
{
    for (uint32_t i = 0; i < w->loads.rows; i++)
        w->load[i] = w->loads.value[(size_t)i * w->loads.columns + column];
}

static void progress(const struct work *w, uint32_t column, double begun)
{
    if (isatty(STDERR_FILENO) && now_ms() - begun > 1000)
        fprintf(stderr, "\rcolumn %u of %u ", column + 1, w->run.columns);
}

/* Loads of the column before, which is what has been measured, make the map; a single column is all
 * that there is. */
static int one_column(struct work *w, uint32_t c)
{
    const struct hark_balance *b = &w->a->b;
    struct balance_column *x = &w->run.column[c];
    struct hark_balance_figures none;
    memcpy(w->last, w->pe, w->graph.vertices * sizeof *w->pe);
    x->balanced = w->run.columns == 1 || (c && c % w->a->every == 0);
    if (x->balanced) {
        take_column(w, c ? c - 1 : 0);
        int status = hark_balance(b, w->pe, w->pe);
        if (status) return status;
    }
    take_column(w, c);
    int status = hark_balance_measure(b, w->last, w->pe, &x->figures);
    if (status == 0) status = hark_balance_measure(b, w->begun, w->begun, &none);
    if (status) return status;
    x->none = none.most;
    if (c == 0) w->run.before = none;
    return 0;
}

static int all_columns(struct work *w)
{
    double begun = now_ms();
    int status = 0;
    for (uint32_t c = 0; c < w->run.columns && status == 0; c++) {
        progress(w, c, begun);
        status = one_column(w, c);
    }
    if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
    w->run.wall_ms = now_ms() - begun;
    return said(w, status);
}

/* ---- what is written ------------------------------------------------------------------------- */

static int write_file(const char *option, const char *path, const struct balance_run *r,
    void (*write)(const struct balance_run *r, FILE *f))
{
    FILE *f = path ? hark_cli_create("balance", option, path) : NULL;
    if (f == NULL) return path ? 2 : 0;
    write(r, f);
    return hark_cli_close("balance", option, path, f);
}

static int write_map(const struct work *w, const char *path)
{
    FILE *f = path ? hark_cli_create("balance", "-o", path) : NULL;
    if (f == NULL) return path ? 2 : 0;
    for (uint32_t i = 0; i < w->graph.vertices; i++) fprintf(f, "%u\n", w->pe[i]);
    return hark_cli_close("balance", "-o", path, f);
}

static int check_writable(const struct arguments *a)
{
    const struct hark_cli_file file[] = {
        {"-o", a->out}, {"--json", a->json}, {"--csv", a->csv}, {"--plot", a->plot}, {NULL, NULL}};
    int status = hark_cli_writable("balance", file);
    if (status == 0) status = hark_cli_apart("balance", file, a->loads);
    if (status == 0) status = hark_cli_apart("balance", file, a->matrix);
    /* The map that comes out may take the place of the one it came from, step by step. */
    return status ? status : hark_cli_apart("balance", file + 1, a->map);
}

static int write_all(const struct work *w)
{
    const struct arguments *a = w->a;
    hark_balance_report(&w->run, stdout);
    int status = fflush(stdout) != 0 ? bad("standard output: %s", strerror(errno)) : 0;
    if (write_map(w, a->out) != 0) status = 2;
    if (write_file("--json", a->json, &w->run, hark_balance_json) != 0) status = 2;
    if (write_file("--csv", a->csv, &w->run, hark_balance_csv) != 0) status = 2;
    if (write_file("--plot", a->plot, &w->run, hark_balance_plot) != 0) status = 2;
    return status;
}

/* ---- what is read ---------------------------------------------------------------------------- */

/* What a move costs, in units of the matrix. */
static int scale_move(struct work *w)
{
    uint64_t *move = &w->a->b.move;
    w->run.move = *move;
    for (int32_t e = w->run.exponent; e > 0; e--) *move = *move / 10 + (*move % 10 >= 5);
    for (int32_t e = w->run.exponent; e < 0 && *move; e++) {
        if (*move > HARK_BALANCE_LOAD / 10)
            return bad("--move-bytes: expected less, for %s has fractions of 10^%d bytes",
                w->a->matrix, w->run.exponent);
        *move *= 10;
    }
    return 0;
}

static int unread(const struct cluster_source *source, char error[HARK_MATRIX_ERROR])
{
    hark_cluster_source_rename(source, error, HARK_MATRIX_ERROR);
    return bad("%s", error);
}

static int read_graph(struct work *w)
{
    struct hark_matrix m;
    struct cluster_source source;
    char error[HARK_MATRIX_ERROR], shown[HARK_SHORT_PATH];
    if (hark_cluster_source_open(&source, w->a->matrix) < 0)
        return bad("%s: %s", w->a->matrix, strerror(errno));
    hark_short_source(&source, shown);
    int read = hark_matrix_read(&m, source.path, 0, error);
    hark_cluster_source_close(&source);
    if (read < 0) return unread(&source, error);
    int status = hark_graph_of(&w->graph, &m);
    w->run.exponent = m.exponent;
    hark_matrix_free(&m);
    if (status == -EOVERFLOW)
        return bad("%s: expected a sum of all bytes up to 2^60", w->a->matrix);
    return status ? no_memory() : scale_move(w);
}

static int read_table(
    const struct work *w, const char *path, uint32_t columns, uint64_t most, struct hark_loads *l)
{
    struct cluster_source source;
    char error[HARK_MATRIX_ERROR], shown[HARK_SHORT_PATH];
    if (hark_cluster_source_open(&source, path) < 0) return bad("%s: %s", path, strerror(errno));
    hark_short_source(&source, shown);
    int read = hark_loads_read(l, source.path, columns, most, error);
    hark_cluster_source_close(&source);
    if (read < 0) return unread(&source, error);
    if (l->rows == w->graph.vertices) return 0;
    return bad("%s: expected a line for each of the %u objects of %s, found %u", path,
        w->graph.vertices, w->a->matrix, l->rows);
}

static int read_all(struct work *w)
{
    struct arguments *a = w->a;
    int status = read_graph(w);
    if (status == 0) status = read_table(w, a->loads, 0, HARK_BALANCE_LOAD, &w->loads);
    if (status == 0 && a->map) status = read_table(w, a->map, 1, a->b.pes - 1, &w->map);
    if (status) return status;
    if (a->plot && w->loads.columns == 1)
        return bad("--plot: expected loads of several columns, found 1 in %s", a->loads);
    if (a->every && w->loads.columns == 1)
        return bad("--every: expected loads of several columns, found 1 in %s", a->loads);
    if (a->every == 0) a->every = 1;
    size_t n = w->graph.vertices;
    w->load = malloc(n * sizeof *w->load);
    w->begun = malloc(n * sizeof *w->begun);
    w->pe = malloc(n * sizeof *w->pe);
    w->last = malloc(n * sizeof *w->last);
    w->run.column = calloc(w->loads.columns, sizeof *w->run.column);
    if (!w->load || !w->begun || !w->pe || !w->last || !w->run.column) return no_memory();
    hark_balance_blocks(w->graph.vertices, a->b.pes, w->begun);
    for (uint32_t i = 0; a->map && i < n; i++) w->begun[i] = (uint32_t)w->map.value[i];
    memcpy(w->pe, w->begun, n * sizeof *w->pe);
    return 0;
}

static void work_free(struct work *w)
{
    hark_graph_free(&w->graph);
    hark_loads_free(&w->loads);
    hark_loads_free(&w->map);
    free(w->load);
    free(w->begun);
    free(w->pe);
    free(w->last);
    free(w->run.column);
}

int hark_cli_balance(int argc, char **argv)
{
    struct arguments a = {.strategy = "team", .backend = "builtin", .b = {.slack = 10, .seed = 1}};
    struct work w = {.a = &a};
    int status = parse(argc, argv, &a);
    if (status == 0) status = check_writable(&a);
    if (status) return status < 0 ? 0 : status;
    status = read_all(&w);
    if (status == 0) {
        w.graph.load = w.load;
        a.b.graph = &w.graph;
        w.run.asked = &a.b;
        w.run.strategy = a.strategy;
        w.run.backend = a.b.strategy >= HARK_BALANCE_TEAM ? a.backend : NULL;
        w.run.columns = w.loads.columns;
        w.run.every = a.every;
        status = all_columns(&w);
    }
    if (status == 0) status = write_all(&w);
    work_free(&w);
    return status;
}
