/* programs.h: the programs of a job as the command line names them: a run of words for each, with
 * ':' between them. */
#ifndef HARK_CLI_PROGRAMS_H
#define HARK_CLI_PROGRAMS_H

#include "../supervisor/supervisor.h"
#include "mpi_choice.h"
#include "variables.h"

struct hark_cli_program {
    const char *command; /* whose lines these are, such as "run" */
    char *const *argv;
    uint32_t ranks;        /* 0: not said */
    const char *directory; /* NULL: ours */
    struct hark_cli_variables variables;
    bool same_addresses;
    char *file; /* owned; NULL: argv[0] */
};

struct hark_cli_programs { /* all zero: none */
    const char *command;   /* NULL: run */
    struct hark_cli_program *at;
    uint32_t count;
    struct hark_run_program *run; /* for the supervisor; lasts as long as the others. Owned */
};

/* One more, all zero; NULL: no memory. It moves when another one is added. */
struct hark_cli_program *hark_cli_programs_add(struct hark_cli_programs *p);
/* "NAME=VALUE", or "NAME": as we have it. 0; or 2 or 1, having said why not. */
int hark_cli_program_variable(struct hark_cli_program *p, const char *text);
/* Finds the files of all programs, and what each needs for MPI; gives `run` and how many ranks
 * there are. `ranks` are those of a single program that does not say. 0; or 2 or 1, having said why
 * not.
 */
int hark_cli_programs_find(
    struct hark_cli_programs *p, enum hark_cli_mpi mpi, uint32_t ranks, uint64_t *all);
void hark_cli_programs_free(struct hark_cli_programs *p);

#endif
