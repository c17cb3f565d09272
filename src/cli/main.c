/* main.c: the hark command: which subcommand? */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hark/hark.h"
#include "balance.h"
#include "check.h"
#include "compare.h"
#include "mpi.h"
#include "mpiexec.h"
#include "partition.h"
#include "protocols.h"
#include "ps.h"
#include "run.h"
#include "sim.h"
#include "store.h"
#include "trace.h"
#include "../agent/agent.h"
#include "../process/process.h"
#include "../supervisor/supervisor.h"

static void trace_help(void)
{
    char *const trace[] = {(char[]){"trace"}, (char[]){"--help"}, NULL};
    (void)hark_cli_trace(2, (char **)(uintptr_t)trace);
}

static const struct subcommand {
    const char *word;
    int (*main)(int argc, char **argv);
    void (*help)(void);
    const char *what;
} subcommands[] = {{"run", hark_cli_run, hark_cli_run_help,
                       "run a program as several processes, and bring back those that die"},
    {"ps", hark_cli_ps, hark_cli_ps_help, "show the jobs that run, or each process of one"},
    {"store", hark_cli_store, hark_cli_store_help,
        "list the checkpoints in a store, or verify them"},
    {"check", hark_cli_check, hark_cli_check_help,
        "search every interleaving of a small program and its failures"},
    {"replay", hark_cli_replay, hark_cli_replay_help,
        "step through one of them, as hark check writes it"},
    {"sim", hark_cli_sim, hark_cli_sim_help, "simulate thousands of processes and their failures"},
    {"partition", hark_cli_partition, hark_cli_partition_help,
        "find clusters of processes that send much to each other"},
    {"balance", hark_cli_balance, hark_cli_balance_help,
        "place the objects of a program on processing elements"},
    {"trace", hark_cli_trace, trace_help, "draw a traced run as a space-time diagram"},
    {"compare", hark_cli_compare, hark_cli_compare_help,
        "compare runs: does the program send the same messages each time?"},
    {"mpi", hark_cli_mpi, hark_cli_mpi_help,
        "which MPI programs hark runs, and which functions of MPI it has"}};

enum { SUBCOMMANDS = sizeof subcommands / sizeof subcommands[0] };

static const struct subcommand *subcommand_named(const char *word)
{
    for (size_t i = 0; i < SUBCOMMANDS; i++)
        if (strcmp(word, subcommands[i].word) == 0) return &subcommands[i];
    return NULL;
}

static void words(FILE *to, const char *between)
{
    for (size_t i = 0; i < SUBCOMMANDS; i++)
        fprintf(to, "%s%s", i ? between : "", subcommands[i].word);
}

static void usage(FILE *to)
{
    fputs("usage: hark ", to);
    words(to, "|");
    fputs(" [OPTION]... , hark help [SUBCOMMAND], hark --version\n", to);
}

static int help(int argc, char **argv)
{
    if (argc < 2) {
        usage(stdout);
        for (size_t i = 0; i < SUBCOMMANDS; i++)
            printf("  %-10s %s\n", subcommands[i].word, subcommands[i].what);
        puts("`hark help SUBCOMMAND` lists its options; `hark help protocols` helps to choose a "
             "protocol.");
        return 0;
    }
    if (argc > 2) {
        fprintf(stderr, "hark help: expected one subcommand, found \"%s\" too\n", argv[2]);
        return 2;
    }
    const struct subcommand *of = subcommand_named(argv[1]);
    if (of == NULL && strcmp(argv[1], "protocols") != 0) {
        fputs("hark help: expected ", stderr);
        words(stderr, ", ");
        fprintf(stderr, " or protocols, found \"%s\"\n", argv[1]);
        return 2;
    }
    if (of) of->help();
    else hark_cli_protocols_help();
    return 0;
}

static int version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    printf("hark %d.%d.%d\n", HARK_VERSION_MAJOR, HARK_VERSION_MINOR, HARK_VERSION_PATCH);
    return 0;
}

/* How `hark run` starts what of a job runs on another host: not for people. */
static int agent(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return hark_agent();
}

/* How `hark run` starts the recovery process of a job: not for people. */
static int recovery(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return hark_recovery_main();
}

/* A file that is opened must not get the number of a standard one that is closed, and with it what
 * is meant for that. What is written there fails then, as it should; but what a program under `hark
 * run` prints is dropped, for nobody wants it. */
static void keep_standard(const char *command)
{
    int fd, mode = command && (strcmp(command, "run") == 0 || strcmp(command, "agent") == 0)
                       ? O_RDWR
                       : O_RDONLY;
    do fd = open("/dev/null", mode);
    while (fd >= 0 && fd <= 2);
    if (fd > 2) close(fd);
}

/* What was printed has arrived, or that is said. */
static int printed(int status)
{
    bool lost = fflush(stdout) != 0;
    const char *why = lost ? strerror(errno) : "not all of it could be written";
    if ((!lost && !ferror(stdout)) || status == 2) return status;
    fprintf(stderr, "hark: standard output: %s\n", why);
    return 2;
}

/* Has the command been called by its other name, a link? */
static bool is_mpiexec(const char *name)
{
    const char *slash = name ? strrchr(name, '/') : NULL;
    return name && strcmp(slash ? slash + 1 : name, "hark-mpiexec") == 0;
}

int main(int argc, char **argv)
{
    const bool mpiexec = is_mpiexec(argv[0]);
    keep_standard(mpiexec ? "run" : argc > 1 ? argv[1] : NULL);
    if (mpiexec) return printed(hark_cli_mpiexec(argc, argv));
    static const struct {
        const char *word;
        int (*main)(int argc, char **argv);
    } others[] = {{"agent", agent}, {"help", help}, {"--help", help}, {"-h", help},
        {"--version", version}, {HARK_RECOVERY_ARGUMENT, recovery}};
    if (argc < 2) {
        usage(stderr);
        return 2;
    }
    const struct subcommand *named = subcommand_named(argv[1]);
    if (named) return printed(named->main(argc - 1, argv + 1));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(argv[1], others[i].word) == 0)
            return printed(others[i].main(argc - 1, argv + 1));
    fputs("hark: expected ", stderr);
    words(stderr, ", ");
    fprintf(stderr, ", help or --version, found \"%s\"\n", argv[1]);
    return 2;
}
