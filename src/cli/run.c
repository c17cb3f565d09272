/* run.c: `hark run`: its command line. What it does is in src/supervisor/supervisor.c. */
#include "run.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hark/registry.h"
#include "../control/control.h"
#include "../control/transports.h"
#include "../supervisor/address.h"
#include "journal.h"
#include "options.h"
#include "run_parts.h"

#define KILLS_MAX        10000u
#define DEFAULT_MS       1000u
#define DEFAULT_GRACE_MS 10000u

int run_no_memory(const char *what)
{
    (void)bad("no memory for %s", what);
    return 1; /* not the input's fault */
}

/* Those under which nothing goes back. */
static bool survives_nothing(const struct hark_protocol *p, const void *what)
{
    (void)what;
    return p->manual->programs == HARK_FOR_NOTHING && hark_protocol_runs(p);
}

static const struct hark_cli_options protocol_options = {NULL, 0};

/* ---- values ---------------------------------------------------------------------------------- */

static int ranks(struct run_arguments *a, const char *text)
{
    uint64_t n;
    if (!hark_cli_whole_number(text, RANKS_MAX, &n) || n == 0)
        return bad("-n: expected 1 to %u processes, found \"%s\"%s", RANKS_MAX, text,
            strcmp(text, "p") == 0 ? " (-np is mpiexec's)" : "");
    a->program->ranks = (uint32_t)n;
    return 0;
}

static int mpi(struct run_arguments *a, const char *text)
{
    if (hark_cli_mpi_named(text, &a->mpi)) return 0;
    return bad("--mpi: expected one of " HARK_CLI_MPI_NAMES ", found \"%s\"", text);
}

static int protocol(struct run_arguments *a, const char *text)
{
    char known[200] = "";
    a->o.protocol = hark_protocol_named(text);
    if (a->o.protocol && hark_protocol_runs(a->o.protocol)) return 0;
    for (unsigned i = 0; hark_protocol_at(i); i++) {
        size_t at = strlen(known);
        if (!hark_protocol_runs(hark_protocol_at(i))) continue;
        snprintf(known + at, sizeof known - at, "%s%s", at ? ", " : "", hark_protocol_at(i)->name);
    }
    return bad("--protocol: expected one of %s, found \"%s\"", known, text);
}

static int transport(struct run_arguments *a, const char *text)
{
    char known[200] = "";
    a->o.transport = hark_transport_named(text);
    a->transport_given = true;
    if (a->o.transport) return 0;
    for (unsigned i = 0; hark_transport_at(i); i++) {
        size_t at = strlen(known);
        snprintf(known + at, sizeof known - at, "%s%s", at ? ", " : "", hark_transport_at(i)->name);
    }
    return bad("--transport: expected one of %s, found \"%s\"", known, text);
}

#define LONGEST_DAYS 36500 /* in nanoseconds, and added to another time, it fits 64 bits */

/* False: it is none, or (*ms is UINT64_MAX) too long. */
static bool duration(const char *text, uint64_t *ms)
{
    const uint64_t longest = LONGEST_DAYS * UINT64_C(86400000);
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = {
        {"ms", 1}, {"s", 1000}, {"m", 60000}, {"min", 60000}, {"h", 3600000}, {"d", 86400000}};
    const char *end;
    uint64_t n;
    *ms = 0;
    if (!hark_cli_number(text, UINT32_MAX, &n, &end)) return false;
    if (n == 0 && *end == 0) return true;
    for (size_t i = 0; i < HARK_COUNT(units); i++) {
        if (strcmp(end, units[i].unit) != 0) continue;
        *ms = n * units[i].ms <= longest ? n * units[i].ms : UINT64_MAX;
        return *ms <= longest;
    }
    return false;
}

static int no_duration(const char *option, uint64_t ms, const char *expected, const char *text)
{
    if (ms == UINT64_MAX)
        return bad("%s: expected a time of at most %dd, found \"%s\"", option, LONGEST_DAYS, text);
    return bad("%s: expected %s, found \"%s\"", option, expected, text);
}

static int interval(struct run_arguments *a, const char *text)
{
    a->o.mtbf_ms = 0;
    if (strncmp(text, "daly:", 5) == 0) {
        if (!duration(text + 5, &a->o.mtbf_ms) || a->o.mtbf_ms == 0)
            return no_duration("--interval", a->o.mtbf_ms,
                "daly:MTBF, a time above 0 such as 20ms, 3s, 5m or 2h", text);
        /* until it is known what a checkpoint costs */
        a->o.interval_ms = a->o.mtbf_ms < DEFAULT_MS ? a->o.mtbf_ms : DEFAULT_MS;
        return 0;
    }
    if (duration(text, &a->o.interval_ms)) return 0;
    return no_duration(
        "--interval", a->o.interval_ms, "a time such as 500ms, 2s or 5m, or 0", text);
}

static int grace(struct run_arguments *a, const char *text)
{
    if (duration(text, &a->o.grace_ms)) return 0;
    return no_duration("--grace", a->o.grace_ms, "a time such as 500ms, 30s or 5m", text);
}

static int stall_limit(struct run_arguments *a, const char *text)
{
    if (duration(text, &a->o.stall_limit_ms)) return 0;
    return no_duration(
        "--stall-limit", a->o.stall_limit_ms, "a time such as 10s or 5m, or 0", text);
}

static int host_timeout(struct run_arguments *a, const char *text)
{
    if (duration(text, &a->hosts.timeout_ms) && a->hosts.timeout_ms >= 200 &&
        a->hosts.timeout_ms <= 3600000)
        return 0;
    return bad("--host-timeout: expected a time from 200ms to 1h such as 5s, found \"%s\"", text);
}

static int supervisor_timeout(struct run_arguments *a, const char *text)
{
    if (duration(text, &a->o.supervisor_timeout_ms) && a->o.supervisor_timeout_ms >= 1000 &&
        a->o.supervisor_timeout_ms <= 86400000)
        return 0;
    return bad(
        "--supervisor-timeout: expected a time from 1s to 24h such as 10m, found \"%s\"", text);
}

static int store_interval(struct run_arguments *a, const char *text)
{
    if (duration(text, &a->o.store_interval_ms)) return 0;
    return no_duration(
        "--store-interval", a->o.store_interval_ms, "a time such as 30s, 10m or 1h, or 0", text);
}

static int checkpoint_on(struct run_arguments *a, const char *text)
{
    a->o.checkpoint_on = hark_sup_signal_number(text);
    if (a->o.checkpoint_on) return 0;
    return bad("--checkpoint-on: expected a signal such as USR1, USR2, TERM, INT, HUP, ALRM or "
               "XCPU, found \"%s\"",
        text);
}

static int metrics(struct run_arguments *a, const char *text)
{
    struct hark_address address;
    a->o.metrics = text;
    if (hark_address_parse(&address, text)) return 0;
    return bad("--metrics: expected " HARK_ADDRESS_EXPECTED ", found \"%s\"", text);
}

static int log_limit(struct run_arguments *a, const char *text)
{
    if (hark_cli_size(text, &a->o.log_limit)) return 0;
    return bad("--log-limit: expected bytes such as 65536, 64K, 16M or 2G, found \"%s\"", text);
}

static int add_option(struct run_arguments *a, const char *text)
{
    if (a->option_count == OPTIONS_MAX)
        return bad("--option: expected at most %d of them", OPTIONS_MAX);
    a->option[a->option_count++] = text;
    return 0;
}

int run_add_kill(struct run_arguments *a, uint32_t rank, uint64_t at, bool chance)
{
    struct hark_kill *more = realloc(a->kill, (a->o.kills + 1) * sizeof *more);
    if (more == NULL) return run_no_memory("a planned kill");
    more[a->o.kills++] = (struct hark_kill){rank, at, chance};
    a->o.kill = a->kill = more;
    return 0;
}

static int planned_kill(struct run_arguments *a, const char *text)
{
    static const char recovery[] = "recovery";
    const char *end;
    uint64_t rank = HARK_RECOVERY, at;
    bool ok = strncmp(text, recovery, sizeof recovery - 1) == 0;
    if (ok) end = text + sizeof recovery - 1;
    else ok = hark_cli_number(text, HARK_RANKS_MAX, &rank, &end);
    if (!ok || *end != '@' || !hark_cli_whole_number(end + 1, UINT64_MAX, &at) || at == 0)
        return bad("--kill: expected RANK@DELIVERIES, deliveries from 1, found \"%s\"", text);
    return run_add_kill(a, (uint32_t)rank, at, false);
}

static int chaos(struct run_arguments *a, const char *text)
{
    const char *end;
    uint64_t count = 1;
    bool ok = hark_cli_number(text, UINT64_MAX, &a->seed, &end);
    if (ok && *end == ':') ok = hark_cli_whole_number(end + 1, KILLS_MAX, &count) && count;
    else ok = ok && *end == 0;
    if (!ok)
        return bad("--chaos: expected SEED or SEED:COUNT, at most %u kills, found \"%s\"",
            KILLS_MAX, text);
    a->chaos = (uint32_t)count;
    return 0;
}

static int compress(struct run_arguments *a, const char *text)
{
    char built[64] = "none";
    uint32_t found = HARK_COMPRESSIONS;
    for (uint32_t i = 0; i < HARK_COMPRESSIONS; i++) {
        const char *name = hark_compression_name(i);
        if (strcmp(text, name) == 0) found = i;
        if (i != HARK_COMPRESS_NONE && hark_compression_built(i))
            snprintf(built + strlen(built), 16, " or %s", name);
    }
    if (found == HARK_COMPRESSIONS)
        return bad("--compress: expected %s, found \"%s\"", built, text);
    if (!hark_compression_built(found))
        return bad("--compress: hark was built without %s, expected %s; install its library and "
                   "build hark again",
            text, built);
    a->o.compression = (enum hark_compression)found;
    return 0;
}

static int take_wdir(struct run_arguments *a, const char *text)
{
    a->program->directory = text;
    return 0;
}

static int take_env(struct run_arguments *a, const char *text)
{
    return hark_cli_program_variable(a->program, text);
}

static int take_launcher(struct run_arguments *a, const char *text)
{
    return run_hosts_launcher(&a->hosts, text);
}

static int take_spares(struct run_arguments *a, const char *text)
{
    return run_hosts_spares(&a->hosts, text);
}

static int take_host_copies(struct run_arguments *a, const char *text)
{
    return run_hosts_copies(&a->hosts, text);
}

static int take_host_code(struct run_arguments *a, const char *text)
{
    return run_hosts_code(&a->hosts, text);
}

static int take_journal(struct run_arguments *a, const char *text)
{
    return hark_cli_journal(text, &a->o.journal);
}

static int take_no_digest(struct run_arguments *a, const char *text)
{
    (void)text;
    a->o.digest = false;
    return 0;
}

/* ---- the command line ------------------------------------------------------------------------ */

/* In the order in which help has them. */
static const struct run_option {
    const char *name, *value; /* value: what help calls it; NULL: it has none */
    const char *help;         /* NULL: it is said apart */
    int (*take)(struct run_arguments *a, const char *value);
    size_t at;       /* without `take`: where in the arguments the value goes, or true */
    bool of_program; /* it may stand behind `:` too */
} options[] = {
#define AT(member) .at = offsetof(struct run_arguments, member)
    {"n", "N", "processes (8)", .take = ranks, .of_program = true},
    {"protocol", "P", NULL, .take = protocol},
    {"mpi", "MPI",
        "the MPI that the program was built with: mpich, openmpi, abi; auto: as its libraries say; "
        "none: leave the program as it is (auto)",
        .take = mpi},
    {"wdir", "DIR", "the working directory of the processes (this one)", .take = take_wdir,
        .of_program = true},
    {"env", "NAME[=VALUE]", "a variable of their environment, beside those that hark run has",
        .take = take_env, .of_program = true},
    {"tag-output", NULL, "begin each line that a process prints with its rank: [3]",
        AT(o.tag_output)},
    {"clusters", "FILE|K|auto",
        "the processes that roll back together: a file, or K blocks of ranks; auto: blocks, and at "
        "the end hark suggests clusters, from the observed traffic (default: blocks, about the "
        "square root of N)",
        AT(clusters)},
    {"transport", "T", "how messages are carried (shm)", .take = transport},
    {"hostfile", "FILE",
        "run on the hosts of FILE, lines HOST [slots=N] [rack=NAME]; else on those of --hosts, or "
        "of a Slurm allocation, or here",
        AT(hosts.file)},
    {"hosts", "LIST",
        "run on these: a:2,b:2 or node[01-16], names with the number of processes that each may "
        "run",
        AT(hosts.list)},
    {"launcher", "CMD",
        "starts the agent of a host: its words, %h is the host's name (ssh; in Slurm srun)",
        .take = take_launcher},
    {"spares", "N", "the last N hosts run nothing until another host dies (0)",
        .take = take_spares},
    {"host-timeout", "T", "a host that is silent so long counts as dead (5s)",
        .take = host_timeout},
    {"supervisor-timeout", "T",
        "if hark run dies, its processes are stopped, and wait so long for a hark run --resume "
        "that takes them over (0: they end)",
        .take = supervisor_timeout},
    {"host-store", "DIR",
        "keep checkpoints in DIR on each host, and a copy of each on another host",
        AT(o.host_store)},
    {"host-copies", "N", "so many hosts have each checkpoint: N-1 of them may die at once (2)",
        .take = take_host_copies},
    {"host-code", "N+M",
        "keep no copies, but a code over sets of N+M hosts, such as 3+1, of which any M may die at "
        "once; the more disk is M/N of the checkpoints",
        .take = take_host_code},
    {"store-interval", "T",
        "with --host-store and --store: so often a checkpoint goes to the --store too, in the "
        "background; 0: never (0)",
        .take = store_interval},
    {"interface", "NAME", "the network interface, or its address, that agents connect to",
        AT(hosts.interface)},
    {"encrypt", NULL, "encrypt what processes on different hosts send each other", AT(o.encrypts)},
    {"interval", "T",
        "time between checkpoints: 500ms, 2s, 5m; 0: none (1s); daly:MTBF: the best interval for a "
        "failure every MTBF on average, such as daly:2h",
        .take = interval},
    {"store", "DIR", "keep checkpoints in DIR", AT(o.store)},
    {"wait-for-checkpoints", NULL,
        "a process waits until its checkpoint is written; else it goes on when a copy of it is "
        "made, which takes as much memory again",
        AT(o.waits)},
    {"incremental", NULL,
        "write only those blocks of a checkpoint that the one before does not have; damage to a "
        "block that several share damages them all",
        AT(o.incremental)},
    {"compress", "METHOD", "compress checkpoints: lz4, zstd; none (none)", .take = compress},
    {"resume", NULL, "go on with the job in DIR, from its last checkpoints", AT(o.resume)},
    {"standby", NULL,
        "as --resume; and if another hark run has the job, wait, and go on with it when that dies",
        AT(o.standby)},
    {"journal", "LIST",
        "readings that a process gets again when it executes again: wtime, clock, random, none "
        "(wtime)",
        .take = take_journal},
    {"log-limit", "SIZE",
        "size of the log in memory of each process: 64K, 16M, 2G; 0: no limit (0)",
        .take = log_limit},
    {"spill", "DIR", "where the part of a log over its limit is written", AT(o.spill)},
    {"option", "NAME=VALUE", "a limit or size of the transport, see the manual",
        .take = add_option},
    {"checkpoint-on", "SIGNAL",
        "take a checkpoint when hark run gets that signal: USR1, USR2, TERM, XCPU ...",
        .take = checkpoint_on},
    {"then-stop", NULL, "after that checkpoint stop with status 75, to be resumed (needs --store)",
        AT(o.then_stop)},
    {"grace", "T", "time that processes have to end after a signal, before they are killed (10s)",
        .take = grace},
    {"stall-limit", "T",
        "end the run if no process makes progress for that time; 0: report it and wait (0)",
        .take = stall_limit},
    {"kill", "RANK@N", "kill RANK at its Nth delivery, or `recovery` at its Nth received frame",
        .take = planned_kill},
    {"chaos", "SEED[:COUNT]", "kill COUNT times (1), at moments chosen by SEED", .take = chaos},
    {"trace", "FILE", "write a trace of the run, for `hark trace`", AT(o.trace)},
    {"json", "FILE", "write the figures", AT(o.json)},
    {"metrics", "ADDRESS",
        "answer HTTP requests for the figures while it runs, for Prometheus: HOST:PORT, "
        "[ADDRESS]:PORT or unix:PATH; port 0: a free one, which is printed",
        .take = metrics},
    {"write-matrix", "FILE",
        "write how much each process sent to each, for `hark partition` and `hark sim`",
        AT(advice.matrix)},
    {"record", "FILE", "write what each process sent and received, for `hark compare`",
        AT(o.record)},
    {"steady", NULL, "with --record: the readings that --journal lists are the same in every run",
        AT(o.steady)},
    {"no-digest", NULL, "do not compare what a process sends again with what it sent before",
        .take = take_no_digest},
    {"verbose", NULL, "report the process id of each process that is started", AT(o.verbose)},
    {"help", NULL, NULL, AT(help)}
#undef AT
};

#define OPTIONS ((int)HARK_COUNT(options))
#define FIRST   256 /* the number by which getopt_long knows the first */

/* Of the protocols, in help behind this one. */
static const char behind[] = "steady";

/* Words up to the edge; the next line begins below the first word. */
static void say_option(const struct run_option *o)
{
    const int column = 26, edge = 120;
    int at = printf("  %s%s%s%s", o->name[1] ? "--" : "-", o->name, o->value ? " " : "",
        o->value ? o->value : "");
    const char *word = o->help;
    if (at < column) at += printf("%*s", column - at, "");
    else at += printf("  ");
    for (bool first = true; *word; first = false) {
        const int length = (int)strcspn(word, " ");
        if (!first && at + 1 + length > edge) at = printf("\n%*s", column, "") - 1;
        else if (!first) at += printf(" ");
        at += printf("%.*s", length, word);
        word += length + (word[length] == ' ');
    }
    putchar('\n');
}

void hark_cli_run_help(void)
{
    char none[64];
    hark_cli_protocols_that(survives_nothing, NULL, none, sizeof none);
    puts("usage: hark run [OPTION]... -- PROGRAM [ARG]... [: [-n N] -- PROGRAM [ARG]...]...\n"
         "Runs PROGRAM as several processes that pass messages. If one dies, it is started again "
         "from its last\n"
         "checkpoint, and only the processes that it affects roll back.\n");
    for (int i = 0; i < OPTIONS; i++) {
        if (options[i].take == protocol)
            printf(
                "  --protocol P            the rollback-recovery protocol (%s); %s: failures are "
                "not survived\n",
                hark_protocol_usual()->name, none);
        if (options[i].help) say_option(&options[i]);
        if (strcmp(options[i].name, behind) == 0) hark_cli_options_help(&protocol_options, 26);
    }
    puts("Exit status: 0 done; 1 the program failed; 2 bad usage or input; 75 stopped by "
         "--then-stop, resume it;\n"
         "128 + n after signal n.");
}

static const struct run_option *option_of(int c)
{
    for (int i = 0; i < OPTIONS; i++)
        if (c == (options[i].name[1] ? FIRST + i : options[i].name[0])) return &options[i];
    return NULL;
}

static int option(struct run_arguments *a, int c, char *const *argv)
{
    const struct run_option *o = option_of(c);
    if (c >= HARK_CLI_OPTION)
        return hark_cli_option("run", &protocol_options, c, optarg, &a->o.core);
    if (c == 'h') a->help = true;
    if (c == 'h') return 0;
    if (o == NULL) return hark_cli_refused("run", c, argv);
    if (o->take) return o->take(a, optarg);
    if (o->value) memcpy((char *)a + o->at, &optarg, sizeof optarg);
    else *(bool *)(void *)((char *)a + o->at) = true;
    return 0;
}

/* As getopt_long has it. To be freed; NULL: no memory. */
static struct option *options_table(void)
{
    struct option own[HARK_COUNT(options) + 1] = {0};
    int count = 0;
    for (int i = 0; i < OPTIONS; i++)
        if (options[i].name[1])
            own[count++] =
                (struct option){options[i].name, options[i].value != NULL, NULL, FIRST + i};
    return hark_cli_options_table(&protocol_options, own);
}

/* Options and words of one program, of `count` words behind argv[0]. */
static int parse_program(
    struct run_arguments *a, const struct option *all, int count, char **argv, bool first)
{
    int c, status = 0;
    a->program = hark_cli_programs_add(&a->programs);
    if (a->program == NULL) return 1;
    optind = 0; /* start anew: the dispatcher may have parsed options of its own */
    opterr = 0;
    while (status == 0 && !a->help) {
        if ((c = hark_cli_next(count, argv, "+:n:h", all)) == -1) break;
        if (!first && c != '?' && c != ':' && !(option_of(c) && option_of(c)->of_program))
            return bad("behind `:` expected only -n, --wdir and --env: other options come before "
                       "the first program");
        status = option(a, c, argv);
    }
    a->program->argv = argv + optind;
    return status;
}

static int parse(struct run_arguments *a, int argc, char **argv)
{
    struct option *all = options_table();
    int status = all ? 0 : run_no_memory("options");
    for (int at = 0, next; status == 0 && !a->help && at < argc; at = next) {
        for (next = at + 1; next < argc && strcmp(argv[next], ":") != 0;) next++;
        argv[next] = NULL;
        status = parse_program(a, all, next - at, argv + at, at == 0);
    }
    free(all);
    return status;
}

int hark_cli_run(int argc, char **argv)
{
    struct run_arguments a = {.mpi = HARK_CLI_MPI_AUTO,
        .o = {.interval_ms = DEFAULT_MS,
            .generations = 2,
            .digest = true,
            .journal = HARK_KEEPS_WTIME,
            .grace_ms = DEFAULT_GRACE_MS}};
    a.o.protocol = hark_protocol_usual();
    a.o.transport = hark_transport_at(0);
    int status = parse(&a, argc, argv);
    if (status == 0 && a.help) hark_cli_run_help();
    else if (status == 0) status = run_complete(&a);
    if (status == 0 && !a.help) {
        status = hark_supervise(&a.o);
        if (status == 0 && a.advice.failed) status = 1;
    }
    hark_clusters_free(&a.o.clusters);
    hark_cli_programs_free(&a.programs);
    run_hosts_free(&a.hosts);
    free(a.kill);
    free(a.preload);
    return status;
}
