/* main.c: the hark command: which subcommand? */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
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

static const char usage[] =
    "usage: hark run|ps|store|check|replay|sim|partition|balance|trace|compare|mpi "
    "[OPTION]... , hark help [SUBCOMMAND], hark --version\n";

static int help(int argc, char **argv)
{
    if (argc < 2) {
        fputs(usage, stdout);
        fputs("  run        run a program as several processes, and bring back those that die\n"
              "  ps         show the jobs that run, or each process of one\n"
              "  store      list the checkpoints in a store, or verify them\n"
              "  check      search every interleaving of a small program and its failures\n"
              "  replay     step through one of them, as hark check writes it\n"
              "  sim        simulate thousands of processes and their failures\n"
              "  partition  find clusters of processes that send much to each other\n"
              "  balance    place the objects of a program on processing elements\n"
              "  trace      draw a traced run as a space-time diagram\n"
              "  compare    compare runs: does the program send the same messages each time?\n"
              "  mpi        which MPI programs hark runs, and which functions of MPI it has\n"
              "`hark help SUBCOMMAND` lists its options; `hark help protocols` helps to choose a "
              "protocol.\n",
            stdout);
        return 0;
    }
    if (argc > 2) {
        fprintf(stderr, "hark help: expected one subcommand, found \"%s\" too\n", argv[2]);
        return 2;
    }
    if (strcmp(argv[1], "run") == 0) {
        hark_cli_run_help();
        return 0;
    }
    if (strcmp(argv[1], "ps") == 0) {
        hark_cli_ps_help();
        return 0;
    }
    if (strcmp(argv[1], "store") == 0) {
        hark_cli_store_help();
        return 0;
    }
    if (strcmp(argv[1], "check") == 0) {
        hark_cli_check_help();
        return 0;
    }
    if (strcmp(argv[1], "replay") == 0) {
        hark_cli_replay_help();
        return 0;
    }
    if (strcmp(argv[1], "sim") == 0) {
        hark_cli_sim_help();
        return 0;
    }
    if (strcmp(argv[1], "partition") == 0) {
        hark_cli_partition_help();
        return 0;
    }
    if (strcmp(argv[1], "balance") == 0) {
        hark_cli_balance_help();
        return 0;
    }
    if (strcmp(argv[1], "trace") == 0) {
        char *const trace[] = {argv[1], (char[]){"--help"}, NULL};
        return hark_cli_trace(2, (char **)(uintptr_t)trace);
    }
    if (strcmp(argv[1], "compare") == 0) {
        hark_cli_compare_help();
        return 0;
    }
    if (strcmp(argv[1], "mpi") == 0) {
        hark_cli_mpi_help();
        return 0;
    }
    if (strcmp(argv[1], "protocols") == 0) {
        hark_cli_protocols_help();
        return 0;
    }
    fprintf(stderr,
        "hark help: expected run, ps, store, check, replay, sim, partition, balance, trace, "
        "compare, mpi or protocols, found \"%s\"\n",
        argv[1]);
    return 2;
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
    } table[] = {{"run", hark_cli_run}, {"ps", hark_cli_ps}, {"store", hark_cli_store},
        {"check", hark_cli_check}, {"replay", hark_cli_replay}, {"sim", hark_cli_sim},
        {"partition", hark_cli_partition}, {"balance", hark_cli_balance}, {"trace", hark_cli_trace},
        {"compare", hark_cli_compare}, {"mpi", hark_cli_mpi}, {"agent", agent}, {"help", help},
        {"--help", help}, {"-h", help}, {"--version", version}, {HARK_RECOVERY_ARGUMENT, recovery}};
    for (size_t i = 0; argc > 1 && i < sizeof table / sizeof table[0]; i++)
        if (strcmp(argv[1], table[i].word) == 0) return printed(table[i].main(argc - 1, argv + 1));
    if (argc > 1)
        fprintf(stderr,
            "hark: expected run, ps, store, check, replay, sim, partition, balance, trace, "
            "compare, "
            "mpi, "
            "help or --version, found \"%s\"\n",
            argv[1]);
    else fputs(usage, stderr);
    return 2;
}
