/* run_parts.h: what the files that make up `hark run` know of each other. */
#ifndef HARK_CLI_RUN_PARTS_H
#define HARK_CLI_RUN_PARTS_H

#include "../supervisor/supervisor.h"
#include "advice.h"
#include "mpi_choice.h"
#include "programs.h"
#include "values.h"

#define RANKS_MAX   65536u
#define OPTIONS_MAX 16

struct run_hosts { /* as the options have them; all zero: none */
    const char *file, *list, *interface;
    uint64_t timeout_ms;
    uint32_t spares, copies;
    struct hark_code code;
    char **launcher, *launcher_text;
    struct hark_run_host *host;
    uint32_t count;
    char **rack; /* names that were given */
    uint32_t racks;
};

struct run_arguments {
    struct hark_run_options o;
    const char *clusters;
    struct hark_cli_advice advice;
    struct hark_kill *kill;
    uint64_t seed;
    uint32_t chaos; /* random kills asked for */
    const char *option[OPTIONS_MAX];
    uint32_t option_count;
    struct hark_cli_programs programs;
    struct hark_cli_program *program; /* whose options are being read */
    enum hark_cli_mpi mpi;
    char *preload;
    struct run_hosts hosts;
    bool transport_given, help;
};

#define bad(...) hark_cli_bad("run", __VA_ARGS__)

/* Says that there is none; 1: not the input's fault. */
int run_no_memory(const char *what);
/* 0, or an exit status after one line on stderr. */
int run_add_kill(struct run_arguments *a, uint32_t rank, uint64_t at, bool chance);

/* run_hosts.c: 0, or an exit status after one line on stderr. */
int run_hosts_launcher(struct run_hosts *h, const char *text);
int run_hosts_spares(struct run_hosts *h, const char *text);
int run_hosts_copies(struct run_hosts *h, const char *text);
int run_hosts_code(struct run_hosts *h, const char *text);
/* The hosts of the job, if it has several: from --hostfile, or a Slurm allocation. */
int run_hosts_complete(struct run_arguments *a);
void run_hosts_free(struct run_hosts *h);

/* run_complete.c: what the options together mean, once all are read. 0, or an exit status after one
 * line on stderr. */
int run_complete(struct run_arguments *a);

#endif
