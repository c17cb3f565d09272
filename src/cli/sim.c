/* sim.c: `hark sim`: many simulated processes with the protocols' own cores. */
#include "sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../sim/sim.h"
#include "options.h"
#include "output.h"
#include "values.h"

struct arguments {
    struct sim_options sim;
    struct sim_pattern_options pattern;
    const char *protocol, *clusters, *json, *csv, *plot, *matrix, *messages;
    struct sim_fail *fail;
};

static const char usage[] = "usage: hark sim --pattern NAME|FILE [OPTION]...";

/* Nobody decides there who should be together. */
static bool knows(const struct hark_option *o)
{
    return o->at != HARK_SETS(asks) || !(o->bits & HARK_ASKS_RECLUSTER);
}

static const struct hark_cli_options protocol_options = {knows, 0};

void hark_cli_sim_help(void)
{
    printf("%s\n", usage);
    printf(
        "Simulates many processes, each with the protocol's own code; the same options give the "
        "same figures.\n"
        "What is run\n"
        "  --pattern P           a pattern (below); a communication matrix *.mtx, *.mtx.gz: bytes, "
        "row = source,\n"
        "                        column = destination; or what hark run --trace wrote\n"
        "  --messages FILE       with a matrix: a matrix of numbers of messages (without it one "
        "each)\n"
        "  --ranks N             processes (with a matrix or a trace: as many as it has)\n"
        "  --iterations I        of the pattern (10)\n"
        "  --bytes SIZE          of a message of a pattern (8K)\n"
        "  --degree D --cells C --atoms A --planes P   of patterns (4, 4, 300, 16; openatom: C is "
        "16)\n"
        "  --away X,Y,Z          leanmd: how far apart the cells of a pair are, at most (1,1,1)\n"
        "  --branches K          children of each process in a tree, at most; 0: binomial trees "
        "(0)\n"
        "  --protocol P          (%s)\n"
        "  --clusters K|FILE     K blocks of ranks, or a file with a line of ranks and ranges for "
        "each cluster (K is "
        "the square\n"
        "                        root of the ranks, rounded down)\n"
        "  --checkpoint-every N  iterations between checkpoints; 0: none (5)\n"
        "  --generations G       checkpoints kept (2)\n",
        hark_protocol_usual()->name);
    hark_cli_options_help(&protocol_options, 24);
    printf("%s",
        "  --digest              compare what a process sends again with what it sent before\n"
        "Failures\n"
        "  --fail RANK@I         RANK dies in iteration I (from 1), after its computation; may be "
        "repeated\n"
        "  --fail recovery@N     the recovery process dies at its N-th frame\n"
        "  --mtbf T              random failures of any process, T apart on average\n"
        "  --seed S              seed of everything random (1)\n"
        "Time: ns, or with us, ms, s\n"
        "  --latency L --overhead O --gap G   LogGP's L, o, g, for frames that leave and that "
        "arrive (1us, 200, 100)\n"
        "  --gap-per-byte G      LogGP's G, ns a byte, up to three decimals (0.1)\n"
        "  --compute T           computation in each iteration (100us);  --jitter T  up to T more, "
        "at random (0)\n"
        "  --checkpoint-cost T   until an image is durable (1ms);  --detect T  until a death is "
        "noticed (1ms)\n"
        "  --copy-cost T         until an image is copied; the process goes on then, and T later "
        "than "
        "without it the\n"
        "                        image is durable (0: it waits until then)\n"
        "  --restart T           until a new incarnation runs (10ms);  --service T  until the "
        "failure service has "
        "answered (10us)\n"
        "What is written\n"
        "  --json FILE, --csv FILE, --plot FILE.svg   the figures; a picture of the run\n"
        "  --write-matrix FILE, --write-messages FILE   write one iteration of the pattern as a "
        "matrix, "
        "simulate nothing\n"
        "  --ask N               check the invariants of a core every N events (at the end those "
        "of all)\n"
        "Patterns\n");
    sim_pattern_list(stdout);
    fputs("Exit status: 0 done; 1 a stall, a broken invariant, or another end than without "
          "failures; 2 bad usage or "
          "input.\n",
        stdout);
}

#define bad(...) hark_cli_bad("sim", __VA_ARGS__)

/* ---- values ---------------------------------------------------------------------------------- */

enum { LONGEST = 1000000 }; /* s: no time is longer, so that a sum of a few is not beyond 64 bits */

/* Digits and a unit, as ns. */
static bool time_of(const char *text, uint64_t *ns)
{
    static const struct {
        const char *word;
        uint64_t ns;
    } units[] = {{"", 1}, {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    const char *end;
    uint64_t n;
    if (!hark_cli_number(text, UINT64_C(1) << 60, &n, &end)) return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(end, units[i].word) != 0) continue;
        if (n > UINT64_C(1000000000) * LONGEST / units[i].ns) return false;
        *ns = n * units[i].ns;
        return true;
    }
    return false;
}

/* ns with up to three decimals, as ps. */
static bool picoseconds(const char *text, uint64_t *ps)
{
    const char *end;
    uint64_t whole, part = 0;
    if (!hark_cli_number(text, 1000000, &whole, &end)) return false;
    if (*end == '.') {
        uint64_t digit = 100;
        for (end++; *end >= '0' && *end <= '9' && digit; end++, digit /= 10)
            part += (uint64_t)(*end - '0') * digit;
    }
    *ps = whole * 1000 + part;
    return *end == 0;
}

/* X,Y,Z. */
static int add_away(uint32_t away[3], const char *text)
{
    const char *end = text;
    uint64_t n[3];
    for (int i = 0; i < 3; i++)
        if (!hark_cli_number(end, UINT32_MAX, &n[i], &end) || *end++ != (i < 2 ? ',' : 0))
            return bad("--away: expected three numbers such as 2,2,1, found \"%s\"", text);
    for (int i = 0; i < 3; i++) away[i] = (uint32_t)n[i];
    return 0;
}

/* RANK@ITERATION, recovery@FRAME. */
static int add_fail(struct arguments *a, const char *text)
{
    struct sim_fail f = {.rank = HARK_RECOVERY};
    const char *end = text + strlen("recovery");
    uint64_t rank;
    bool ok = strncmp(text, "recovery@", 9) == 0;
    if (!ok && hark_cli_number(text, HARK_RANKS_MAX, &rank, &end)) {
        f.rank = (uint32_t)rank;
        ok = true;
    }
    if (!ok || *end != '@' || !hark_cli_whole_number(end + 1, UINT32_MAX, &f.iteration) ||
        f.iteration == 0)
        return bad(
            "--fail: expected RANK@ITERATION, from 1, or recovery@FRAME, found \"%s\"", text);
    if (f.rank != HARK_RECOVERY) f.iteration--;
    struct sim_fail *more = realloc(a->fail, ((size_t)a->sim.fails + 1) * sizeof *more);
    if (more == NULL) return bad("--fail: no memory");
    a->fail = more;
    a->fail[a->sim.fails++] = f;
    a->sim.fail = a->fail;
    return 0;
}

/* ---- options --------------------------------------------------------------------------------- */

enum what { TEXT, NUMBER, TIME, SIZE, FAIL, AWAY, RATE, FLAG, HELP };

struct option_of {
    const char *name;
    enum what what;
    void *to; /* const char *, uint32_t or uint64_t by `what`; FLAG: the flags */
    uint64_t least, most;
};

static int take(struct arguments *a, const struct option_of *o, const char *text)
{
    uint64_t n;
    a->pattern.given |= sim_pattern_option(o->name);
    switch (o->what) {
    case TEXT: *(const char **)o->to = text; return 0;
    case NUMBER:
        if (!hark_cli_whole_number(text, o->most, &n) || n < o->least)
            return bad("--%s: expected %llu to %llu, found \"%s\"", o->name,
                (unsigned long long)o->least, (unsigned long long)o->most, text);
        *(uint32_t *)o->to = (uint32_t)n;
        return 0;
    case TIME:
        if (!time_of(text, o->to))
            return bad(
                "--%s: expected a time such as 100, 5us, 3ms or 1s, up to 1000000s, found \"%s\"",
                o->name, text);
        return 0;
    case SIZE:
        if (!hark_cli_size(text, &n) || n > o->most)
            return bad("--%s: expected a number such as 8192 or 8K, up to %llu, found \"%s\"",
                o->name, (unsigned long long)o->most, text);
        *(uint64_t *)o->to = n;
        return 0;
    case RATE:
        if (!picoseconds(text, o->to))
            return bad("--%s: expected ns a byte such as 0.25, up to 1000000, found \"%s\"",
                o->name, text);
        return 0;
    case FAIL: return add_fail(a, text);
    case AWAY: return add_away(o->to, text);
    case FLAG: *(uint32_t *)o->to |= (uint32_t)o->most; return 0;
    default: hark_cli_sim_help(); return -1;
    }
}

enum { OPTIONS = 44 };

/* 0: go on; 2: said why not; -1: help was asked for and given. */
static int parse(int argc, char **argv, struct arguments *a)
{
    struct sim_options *s = &a->sim;
    struct sim_pattern_options *p = &a->pattern;
    const uint64_t bytes = UINT64_C(1) << 40, any = UINT64_C(1) << 60;
    const struct option_of table[] = {{"pattern", TEXT, &p->name, 0, 0},
        {"messages", TEXT, &p->messages, 0, 0}, {"ranks", NUMBER, &p->ranks, 1, HARK_MATRIX_RANKS},
        {"iterations", NUMBER, &s->iterations, 1, 1000000000}, {"bytes", SIZE, &p->bytes, 0, bytes},
        {"degree", NUMBER, &p->degree, 1, 1000000},
        {"cells", NUMBER, &p->cells, 1, UINT32_C(1) << 28},
        {"atoms", NUMBER, &p->atoms, 1, 1000000000}, {"planes", NUMBER, &p->planes, 1, 1000000},
        {"away", AWAY, p->away, 0, 0}, {"branches", NUMBER, &p->branches, 0, 255},
        {"protocol", TEXT, &a->protocol, 0, 0}, {"clusters", TEXT, &a->clusters, 0, 0},
        {"checkpoint-every", NUMBER, &s->every, 0, 1000000000},
        {"generations", NUMBER, &s->generations, 1, 8},
        {"digest", FLAG, &s->core.flags, 0, HARK_DIGEST}, {"fail", FAIL, NULL, 0, 0},
        {"mtbf", TIME, &s->mtbf, 0, 0}, {"seed", SIZE, &s->seed, 0, UINT64_MAX},
        {"latency", TIME, &s->latency, 0, 0}, {"overhead", TIME, &s->overhead, 0, 0},
        {"gap", TIME, &s->gap, 0, 0}, {"gap-per-byte", RATE, &s->gap_per_byte, 0, 0},
        {"compute", TIME, &s->compute, 0, 0}, {"jitter", TIME, &s->jitter, 0, 0},
        {"checkpoint-cost", TIME, &s->checkpoint, 0, 0}, {"copy-cost", TIME, &s->copy, 0, 0},
        {"detect", TIME, &s->detect, 0, 0}, {"restart", TIME, &s->restart, 0, 0},
        {"service", TIME, &s->service, 0, 0}, {"json", TEXT, &a->json, 0, 0},
        {"csv", TEXT, &a->csv, 0, 0}, {"plot", TEXT, &a->plot, 0, 0},
        {"write-matrix", TEXT, &a->matrix, 0, 0}, {"write-messages", TEXT, &a->messages, 0, 0},
        {"ask", SIZE, &s->ask, 0, any}, {"help", HELP, NULL, 0, 0}};
    struct option options[OPTIONS + 1] = {0};
    const size_t count = sizeof table / sizeof table[0];
    HARK_STATIC_ASSERT(sizeof table / sizeof table[0] < OPTIONS, "getopt ends at a row of zeros");
    for (size_t i = 0; i < count; i++)
        options[i] = (struct option){table[i].name,
            table[i].what == FLAG || table[i].what == HELP ? no_argument : required_argument, NULL,
            (int)i + 256};
    struct option *all = hark_cli_options_table(&protocol_options, options);
    int c, status = all ? 0 : bad("no memory");
    optind = 0; /* start anew: the dispatcher has parsed options of its own */
    opterr = 0;
    while (status == 0 && (c = hark_cli_next(argc, argv, ":h", all)) != -1) {
        if (c == 'h') c = (int)count - 1 + 256;
        if (c < 256) status = hark_cli_refused("sim", c, argv);
        else if (c >= HARK_CLI_OPTION)
            status = hark_cli_option("sim", &protocol_options, c, optarg, &s->core);
        else status = take(a, &table[c - 256], optarg);
    }
    free(all);
    if (status != 0) return status;
    if (optind < argc) return bad("expected options only, found \"%s\"", argv[optind]);
    return p->name ? 0 : bad("%s", usage);
}

/* ---- clusters -------------------------------------------------------------------------------- */

static int clusters_of(const struct arguments *a, uint32_t ranks, struct hark_clusters *c)
{
    char error[256];
    uint64_t count = 1;
    if (a->clusters == NULL) {
        while ((count + 1) * (count + 1) <= ranks) count++;
    } else if (!hark_cli_whole_number(a->clusters, UINT32_MAX, &count)) {
        char *text = hark_cli_whole_file(a->clusters);
        if (text == NULL) return bad("--clusters %s: %s", a->clusters, strerror(errno));
        int status = hark_clusters_parse(c, ranks, text, a->clusters, error);
        free(text);
        return status < 0 ? bad("%s", error) : 0;
    }
    if (count < 1 || count > ranks)
        return bad("--clusters: expected 1 to %u, or a file, found \"%s\"", ranks, a->clusters);
    return hark_clusters_blocks(c, ranks, (uint32_t)count) < 0 ? bad("no memory") : 0;
}

/* ---- running --------------------------------------------------------------------------------- */

static void progress(void *self, uint64_t messages, uint64_t time)
{
    (void)self;
    fprintf(stderr, "\r%llu messages, %.3f ms simulated ", (unsigned long long)messages,
        (double)time / 1e6);
}

static int write_file(const char *option, const char *path, const struct sim_result *r,
    const struct sim_words *w,
    void (*write)(const struct sim_result *r, const struct sim_words *w, FILE *f))
{
    FILE *f = path ? hark_cli_create("sim", option, path) : NULL;
    if (f == NULL) return path ? 2 : 0;
    write(r, w, f);
    return hark_cli_close("sim", option, path, f);
}

static int write_matrix(
    const struct sim_pattern *p, const char *option, const char *path, bool messages)
{
    FILE *f = path ? hark_cli_create("sim", option, path) : NULL;
    if (f == NULL) return path ? 2 : 0;
    if (sim_pattern_write(p, messages, f) == 0) return hark_cli_close("sim", option, path, f);
    int status = bad("%s %s: %s", option, path, strerror(errno));
    hark_cli_discard(f);
    return status;
}

enum { FILES = 6 };

static void list_files(const struct arguments *a, struct hark_cli_file file[FILES])
{
    const struct hark_cli_file all[FILES] = {{"--json", a->json}, {"--csv", a->csv},
        {"--plot", a->plot}, {"--write-matrix", a->matrix}, {"--write-messages", a->messages},
        {NULL, NULL}};
    memcpy(file, all, sizeof all);
}

static int check_writable(const struct arguments *a)
{
    struct hark_cli_file file[FILES];
    uint64_t count;
    list_files(a, file);
    int status = hark_cli_writable("sim", file);
    if (status == 0) status = hark_cli_apart("sim", file, a->pattern.messages);
    if (status == 0 && a->clusters && !hark_cli_whole_number(a->clusters, UINT32_MAX, &count))
        status = hark_cli_apart("sim", file, a->clusters);
    return status;
}

/* A pattern that comes from no file may be called as one that is to be written. */
static int check_pattern(const struct arguments *a, const struct sim_pattern *p)
{
    struct hark_cli_file file[FILES];
    list_files(a, file);
    return p->recorded || p->sends.ranks ? hark_cli_apart("sim", file, a->pattern.name) : 0;
}

/* Can these fail, under this protocol? */
static int check_failures(const struct arguments *a, uint32_t ranks)
{
    const struct sim_options *s = &a->sim;
    if ((s->fails || s->mtbf) && !hark_service_survives(s->protocol))
        return bad("%s: protocol %s survives no failure", s->fails ? "--fail" : "--mtbf",
            s->protocol->name);
    for (uint32_t i = 0; i < s->fails; i++) {
        const struct sim_fail *f = &s->fail[i];
        if (f->rank == HARK_RECOVERY && !s->protocol->recovery)
            return bad("--fail: protocol %s has no recovery process", s->protocol->name);
        if (f->rank != HARK_RECOVERY && f->rank >= ranks)
            return bad("--fail: expected ranks below %u, found %u", ranks, f->rank);
        if (f->rank != HARK_RECOVERY && f->iteration >= s->iterations)
            return bad("--fail: expected iterations 1 to %u, found %llu", s->iterations,
                (unsigned long long)f->iteration + 1);
    }
    return 0;
}

/* A failure is asked for at a point that the run may never reach. */
static void say_not_happened(const struct arguments *a, const struct sim_result *r)
{
    for (uint32_t i = 0; i < a->sim.fails; i++) {
        if (r->happened[i]) continue;
        if (a->fail[i].rank == HARK_RECOVERY)
            fprintf(stderr,
                "hark sim: --fail recovery@%llu did not happen: the recovery process received too "
                "few frames\n",
                (unsigned long long)a->fail[i].iteration);
        else
            fprintf(stderr,
                "hark sim: --fail %u@%llu did not happen: the process did not begin that iteration "
                "often enough\n",
                a->fail[i].rank, (unsigned long long)a->fail[i].iteration + 1);
    }
}

static int simulate(struct arguments *a, const struct sim_pattern *p, const struct hark_clusters *c)
{
    struct sim_result r;
    char error[SIM_ERROR * 4];
    const struct hark_protocol *protocol = a->sim.protocol;
    bool groups = hark_service_by_cluster(protocol) || hark_service_by_line(protocol);
    struct sim_words w = {
        a->sim.protocol->name, a->pattern.name, p->ranks, groups ? c->count : 1, &a->sim};
    a->sim.pattern = p;
    a->sim.clusters = c;
    if (isatty(STDERR_FILENO)) a->sim.progress = progress;
    int failed = sim_run(&r, &a->sim, error);
    if (a->sim.progress) fputs("\r\033[K", stderr);
    int status = failed ? 1 : 0;
    if (failed) fprintf(stderr, "hark sim: %s\n", error);
    else sim_report(&r, &w, stdout);
    if (!failed && fflush(stdout) != 0) status = bad("standard output: %s", strerror(errno));
    if (!failed) say_not_happened(a, &r);
    if (!failed && write_file("--json", a->json, &r, &w, sim_json) != 0) status = 2;
    if (!failed && write_file("--csv", a->csv, &r, &w, sim_csv) != 0) status = 2;
    if (!failed && write_file("--plot", a->plot, &r, &w, sim_plot) != 0) status = 2;
    sim_result_free(&r);
    return status;
}

static int with_pattern(struct arguments *a, const struct sim_pattern *p)
{
    struct hark_clusters c = {0};
    if (a->matrix || a->messages) {
        const char *other = a->json        ? "--json"
                            : a->csv       ? "--csv"
                            : a->plot      ? "--plot"
                            : a->sim.fails ? "--fail"
                            : a->sim.mtbf  ? "--mtbf"
                            : a->clusters  ? "--clusters"
                                           : NULL;
        if (other)
            return bad("%s cannot be combined with %s, with which nothing is simulated", other,
                a->matrix ? "--write-matrix" : "--write-messages");
        int status = check_pattern(a, p);
        if (status == 0) status = write_matrix(p, "--write-matrix", a->matrix, false);
        return status ? status : write_matrix(p, "--write-messages", a->messages, true);
    }
    int status = check_pattern(a, p);
    if (status == 0) status = hark_cli_options_check("sim", a->sim.protocol, &a->sim.core);
    if (status == 0) status = check_failures(a, p->ranks);
    if (status == 0) status = clusters_of(a, p->ranks, &c);
    if (status == 0) status = simulate(a, p, &c);
    hark_clusters_free(&c);
    return status;
}

int hark_cli_sim(int argc, char **argv)
{
    struct arguments a = {.protocol = hark_protocol_usual()->name,
        .sim = {.iterations = 10,
            .every = 5,
            .generations = 2,
            .latency = 1000,
            .overhead = 200,
            .gap = 100,
            .gap_per_byte = 100,
            .compute = 100000,
            .checkpoint = 1000000,
            .detect = 1000000,
            .restart = 10000000,
            .service = 10000,
            .seed = 1},
        .pattern = {.bytes = 8192, .degree = 4, .atoms = 300, .planes = 16, .away = {1, 1, 1}}};
    struct sim_pattern pattern;
    char error[SIM_ERROR];
    int status = parse(argc, argv, &a);
    if (status == 0) {
        a.sim.protocol = hark_protocol_named(a.protocol);
        if (a.sim.protocol == NULL || !hark_protocol_runs(a.sim.protocol))
            status = hark_cli_protocol_unknown("sim", a.protocol);
    }
    if (status == 0) status = check_writable(&a);
    if (status == 0) {
        if (a.pattern.cells == 0)
            a.pattern.cells = strcmp(a.pattern.name, "openatom") == 0 ? 16 : 4;
        a.pattern.seed = a.sim.seed;
        if (sim_pattern_open(&pattern, &a.pattern, error) < 0) {
            status = bad("%s", error);
        } else {
            status = with_pattern(&a, &pattern);
            sim_pattern_close(&pattern);
        }
    }
    free(a.fail);
    return status < 0 ? 0 : status;
}
