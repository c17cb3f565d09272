/* run.c: `hark run`: its command line. What it does is in src/supervisor/supervisor.c. */
#include "run.h"

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

void hark_cli_run_help(void)
{
    char none[64];
    hark_cli_protocols_that(survives_nothing, NULL, none, sizeof none);
    printf("usage: hark run [OPTION]... -- PROGRAM [ARG]... [: [-n N] -- PROGRAM [ARG]...]...\n"
           "Runs PROGRAM as several processes that pass messages. If one dies, it is started again "
           "from its last\n"
           "checkpoint, and only the processes that it affects roll back.\n\n"
           "  -n N                    processes (8)\n"
           "  --protocol P            the rollback-recovery protocol (%s); %s: failures are not "
           "survived\n",
        hark_protocol_usual()->name, none);
    fputs(
        "  --mpi MPI               the MPI that the program was built with: mpich, openmpi, abi; "
        "auto: as its libraries\n"
        "                          say; none: leave the program as it is (auto)\n"
        "  --wdir DIR              the working directory of the processes (this one)\n"
        "  --env NAME[=VALUE]      a variable of their environment, beside those that hark run "
        "has\n"
        "  --tag-output            begin each line that a process prints with its rank: [3]\n"
        "  --clusters FILE|K|auto  the processes that roll back together: a file, or K blocks of "
        "ranks; auto: blocks, and\n"
        "                          at the end hark suggests clusters, from the observed traffic "
        "(default: blocks,\n"
        "                          about the square root of N)\n"
        "  --transport T           how messages are carried (shm)\n"
        "  --hostfile FILE         run on the hosts of FILE, lines HOST [slots=N] [rack=NAME]; "
        "else on "
        "those of a Slurm\n"
        "                          allocation, or here\n"
        "  --launcher CMD          starts the agent of a host: its words, %h is the host's name "
        "(ssh; "
        "in Slurm srun)\n"
        "  --spares N              the last N hosts run nothing until another host dies (0)\n"
        "  --host-timeout T        a host that is silent so long counts as dead (5s)\n"
        "  --host-store DIR        keep checkpoints in DIR on each host, and a copy of each on "
        "another "
        "host\n"
        "  --host-copies N         so many hosts have each checkpoint: N-1 of them may die at once "
        "(2)\n"
        "  --store-interval T      with --host-store and --store: so often a checkpoint goes to "
        "the "
        "--store too, in the\n"
        "                          background; 0: never (0)\n"
        "  --interface NAME        the network interface, or its address, that agents connect to\n"
        "  --encrypt               encrypt what processes on different hosts send each other\n"
        "  --interval T            time between checkpoints: 500ms, 2s, 5m; 0: none (1s); "
        "daly:MTBF: the best\n"
        "                          interval for a failure every MTBF on average, such as daly:2h\n"
        "  --store DIR             keep checkpoints in DIR\n"
        "  --wait-for-checkpoints  a process waits until its checkpoint is written; else it goes "
        "on "
        "when a copy\n"
        "                          of it is made, which takes as much memory again\n"
        "  --incremental           write only those blocks of a checkpoint that the one before "
        "does "
        "not have; damage\n"
        "                          to a block that several share damages them all\n"
        "  --compress METHOD       compress checkpoints: lz4, zstd; none (none)\n"
        "  --resume                go on with the job in DIR, from its last checkpoints\n"
        "  --journal LIST          readings that a process gets again when it executes again: "
        "wtime, "
        "clock, random, none\n"
        "                          (wtime)\n"
        "  --log-limit SIZE        size of the log in memory of each process: 64K, 16M, 2G; 0: no "
        "limit (0)\n"
        "  --spill DIR             where the part of a log over its limit is written\n"
        "  --option NAME=VALUE     a limit or size of the transport, see the manual\n"
        "  --checkpoint-on SIGNAL  take a checkpoint when hark run gets that signal: USR1, USR2, "
        "TERM, XCPU ...\n"
        "  --then-stop             after that checkpoint stop with status 75, to be resumed (needs "
        "--store)\n"
        "  --grace T               time that processes have to end after a signal, before they are "
        "killed (10s)\n"
        "  --stall-limit T         end the run if no process makes progress for that time; 0: "
        "report it and wait (0)\n"
        "  --kill RANK@N           kill RANK at its Nth delivery, or `recovery` at its Nth "
        "received frame\n"
        "  --chaos SEED[:COUNT]    kill COUNT times (1), at moments chosen by SEED\n"
        "  --trace FILE            write a trace of the run, for `hark trace`\n"
        "  --json FILE             write the figures\n"
        "  --metrics ADDRESS       answer HTTP requests for the figures while it runs, for "
        "Prometheus: HOST:PORT,\n"
        "                          [ADDRESS]:PORT or unix:PATH; port 0: a free one, which is "
        "printed\n"
        "  --write-matrix FILE     write how much each process sent to each, for `hark partition` "
        "and `hark sim`\n"
        "  --record FILE           write what each process sent and received, for `hark compare`\n"
        "  --steady                with --record: the readings that --journal lists are the same "
        "in "
        "every run\n",
        stdout);
    hark_cli_options_help(&protocol_options, 26);
    fputs("  --no-digest             do not compare what a process sends again with what it sent "
          "before\n"
          "  --verbose               report the process id of each process that is started\n"
          "Exit status: 0 done; 1 the program failed; 2 bad usage or input; 75 stopped by "
          "--then-stop, resume it;\n"
          "128 + n after signal n.\n",
        stdout);
}

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

static bool duration(const char *text, uint64_t *ms)
{
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = {
        {"ms", 1}, {"s", 1000}, {"m", 60000}, {"min", 60000}, {"h", 3600000}, {"d", 86400000}};
    const char *end;
    uint64_t n;
    if (!hark_cli_number(text, UINT32_MAX, &n, &end)) return false;
    *ms = 0;
    if (n == 0 && *end == 0) return true;
    for (size_t i = 0; i < HARK_COUNT(units); i++) {
        if (strcmp(end, units[i].unit) != 0) continue;
        *ms = n * units[i].ms;
        return true;
    }
    return false;
}

static int interval(struct run_arguments *a, const char *text)
{
    a->o.mtbf_ms = 0;
    if (strncmp(text, "daly:", 5) == 0) {
        if (!duration(text + 5, &a->o.mtbf_ms) || a->o.mtbf_ms == 0)
            return bad("--interval: expected daly:MTBF, a time above 0 such as 20ms, 3s, 5m or 2h, "
                       "found \"%s\"",
                text);
        /* until it is known what a checkpoint costs */
        a->o.interval_ms = a->o.mtbf_ms < DEFAULT_MS ? a->o.mtbf_ms : DEFAULT_MS;
        return 0;
    }
    if (duration(text, &a->o.interval_ms)) return 0;
    return bad("--interval: expected a time such as 500ms, 2s or 5m, or 0, found \"%s\"", text);
}

static int grace(struct run_arguments *a, const char *text)
{
    if (duration(text, &a->o.grace_ms)) return 0;
    return bad("--grace: expected a time such as 500ms, 30s or 5m, found \"%s\"", text);
}

static int stall_limit(struct run_arguments *a, const char *text)
{
    if (duration(text, &a->o.stall_limit_ms)) return 0;
    return bad("--stall-limit: expected a time such as 10s or 5m, or 0, found \"%s\"", text);
}

static int host_timeout(struct run_arguments *a, const char *text)
{
    if (duration(text, &a->hosts.timeout_ms) && a->hosts.timeout_ms >= 200 &&
        a->hosts.timeout_ms <= 3600000)
        return 0;
    return bad("--host-timeout: expected a time from 200ms to 1h such as 5s, found \"%s\"", text);
}

static int store_interval(struct run_arguments *a, const char *text)
{
    if (duration(text, &a->o.store_interval_ms)) return 0;
    return bad(
        "--store-interval: expected a time such as 30s, 10m or 1h, or 0, found \"%s\"", text);
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

/* ---- the command line ------------------------------------------------------------------------ */

enum {
    PROTOCOL = 256,
    CLUSTERS,
    TRANSPORT,
    INTERVAL,
    STORE,
    RESUME,
    JOURNAL,
    LOG_LIMIT,
    SPILL,
    OPTION,
    KILL,
    CHAOS,
    TRACE,
    JSON,
    METRICS,
    MATRIX,
    RECORD,
    STEADY,
    NO_DIGEST,
    VERBOSE,
    CHECKPOINT_ON,
    THEN_STOP,
    GRACE,
    STALL_LIMIT,
    MPI,
    WDIR,
    ENV,
    TAG_OUTPUT,
    WAITS,
    INCREMENTAL,
    COMPRESS,
    HOSTFILE,
    LAUNCHER,
    SPARES,
    HOST_TIMEOUT,
    INTERFACE,
    HOST_STORE,
    HOST_COPIES,
    STORE_INTERVAL,
    ENCRYPT
};

static const struct option options[] = {{"protocol", 1, NULL, PROTOCOL},
    {"clusters", 1, NULL, CLUSTERS}, {"transport", 1, NULL, TRANSPORT},
    {"interval", 1, NULL, INTERVAL}, {"store", 1, NULL, STORE},
    {"wait-for-checkpoints", 0, NULL, WAITS}, {"incremental", 0, NULL, INCREMENTAL},
    {"compress", 1, NULL, COMPRESS}, {"resume", 0, NULL, RESUME}, {"journal", 1, NULL, JOURNAL},
    {"log-limit", 1, NULL, LOG_LIMIT}, {"spill", 1, NULL, SPILL}, {"option", 1, NULL, OPTION},
    {"kill", 1, NULL, KILL}, {"chaos", 1, NULL, CHAOS}, {"trace", 1, NULL, TRACE},
    {"json", 1, NULL, JSON}, {"metrics", 1, NULL, METRICS}, {"write-matrix", 1, NULL, MATRIX},
    {"record", 1, NULL, RECORD}, {"steady", 0, NULL, STEADY},
    {"checkpoint-on", 1, NULL, CHECKPOINT_ON}, {"then-stop", 0, NULL, THEN_STOP},
    {"grace", 1, NULL, GRACE}, {"stall-limit", 1, NULL, STALL_LIMIT}, {"mpi", 1, NULL, MPI},
    {"wdir", 1, NULL, WDIR}, {"hostfile", 1, NULL, HOSTFILE}, {"launcher", 1, NULL, LAUNCHER},
    {"spares", 1, NULL, SPARES}, {"host-timeout", 1, NULL, HOST_TIMEOUT},
    {"interface", 1, NULL, INTERFACE}, {"host-store", 1, NULL, HOST_STORE},
    {"host-copies", 1, NULL, HOST_COPIES}, {"store-interval", 1, NULL, STORE_INTERVAL},
    {"encrypt", 0, NULL, ENCRYPT}, {"env", 1, NULL, ENV}, {"tag-output", 0, NULL, TAG_OUTPUT},
    {"no-digest", 0, NULL, NO_DIGEST}, {"verbose", 0, NULL, VERBOSE}, {"help", 0, NULL, 'h'},
    {NULL, 0, NULL, 0}};

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

static int option(struct run_arguments *a, int c, char *const *argv)
{
    if (c >= HARK_CLI_OPTION)
        return hark_cli_option("run", &protocol_options, c, optarg, &a->o.core);
    switch (c) {
    case 'n': return ranks(a, optarg);
    case PROTOCOL: return protocol(a, optarg);
    case CLUSTERS: a->clusters = optarg; return 0;
    case TRANSPORT: return transport(a, optarg);
    case HOSTFILE: a->hosts.file = optarg; return 0;
    case LAUNCHER: return run_hosts_launcher(&a->hosts, optarg);
    case SPARES: return run_hosts_spares(&a->hosts, optarg);
    case HOST_TIMEOUT: return host_timeout(a, optarg);
    case HOST_STORE: a->o.host_store = optarg; return 0;
    case STORE_INTERVAL: return store_interval(a, optarg);
    case HOST_COPIES: return run_hosts_copies(&a->hosts, optarg);
    case INTERFACE: a->hosts.interface = optarg; return 0;
    case ENCRYPT: a->o.encrypts = true; return 0;
    case INTERVAL: return interval(a, optarg);
    case STORE: a->o.store = optarg; return 0;
    case WAITS: a->o.waits = true; return 0;
    case INCREMENTAL: a->o.incremental = true; return 0;
    case COMPRESS: return compress(a, optarg);
    case RESUME: a->o.resume = true; return 0;
    case JOURNAL: return hark_cli_journal(optarg, &a->o.journal);
    case LOG_LIMIT: return log_limit(a, optarg);
    case SPILL: a->o.spill = optarg; return 0;
    case OPTION: return add_option(a, optarg);
    case KILL: return planned_kill(a, optarg);
    case CHAOS: return chaos(a, optarg);
    case TRACE: a->o.trace = optarg; return 0;
    case JSON: a->o.json = optarg; return 0;
    case METRICS: return metrics(a, optarg);
    case MATRIX: a->advice.matrix = optarg; return 0;
    case RECORD: a->o.record = optarg; return 0;
    case STEADY: a->o.steady = true; return 0;
    case NO_DIGEST: a->o.digest = false; return 0;
    case CHECKPOINT_ON: return checkpoint_on(a, optarg);
    case THEN_STOP: a->o.then_stop = true; return 0;
    case GRACE: return grace(a, optarg);
    case STALL_LIMIT: return stall_limit(a, optarg);
    case MPI: return mpi(a, optarg);
    case TAG_OUTPUT: a->o.tag_output = true; return 0;
    case WDIR: a->program->directory = optarg; return 0;
    case ENV: return hark_cli_program_variable(a->program, optarg);
    case VERBOSE: a->o.verbose = true; return 0;
    case 'h': a->help = true; return 0;
    default: return hark_cli_refused("run", c, argv);
    }
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
        if ((c = getopt_long(count, argv, "+:n:h", all, NULL)) == -1) break;
        if (!first && c != 'n' && c != WDIR && c != ENV && c != '?' && c != ':')
            return bad("behind `:` expected only -n, --wdir and --env: other options come before "
                       "the first program");
        status = option(a, c, argv);
    }
    a->program->argv = argv + optind;
    return status;
}

static int parse(struct run_arguments *a, int argc, char **argv)
{
    struct option *all = hark_cli_options_table(&protocol_options, options);
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
