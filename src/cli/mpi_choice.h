/* mpi_choice.h: which MPI a program was built with, and hark's library in the place of that.
 *
 * A program names the MPI library that it needs by its SONAME. ld.so takes a library of that name
 * from LD_PRELOAD before it looks for one, so the program gets hark's. An interpreter or a script
 * says nothing of what it will load: for these LD_LIBRARY_PATH begins with the folders of hark's
 * libraries. A program that uses neither MPI nor a loader, or calls hark itself, gets nothing.
 */
#ifndef HARK_CLI_MPI_CHOICE_H
#define HARK_CLI_MPI_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "variables.h"

enum hark_cli_mpi {
    HARK_CLI_MPICH,
    HARK_CLI_OPENMPI,
    HARK_CLI_MPI_ABI,
    HARK_CLI_MPIS, /* how many there are */
    HARK_CLI_MPI_AUTO = HARK_CLI_MPIS,
    HARK_CLI_MPI_NONE
};

#define HARK_CLI_MPI_NAMES "mpich, openmpi, abi, auto or none"

/* What hark has for programs of one MPI. */
struct hark_cli_mpi_kind {
    const char *option, *name; /* "mpich", "MPICH" */
    const char *missing;       /* what to do if the libraries are not there */
    char folder[4200];         /* of the libraries, whether they are there or not */
};
void hark_cli_mpi_kind(enum hark_cli_mpi which, struct hark_cli_mpi_kind *kind);
/* The n-th name of a library, from 0, by which programs need that MPI; NULL: there are fewer. */
const char *hark_cli_mpi_soname(enum hark_cli_mpi which, size_t n);

bool hark_cli_mpi_named(const char *text, enum hark_cli_mpi *which);
/* A program that starts MPI programs itself, such as mpiexec? argv as of the program. 0; or 2,
 * having said what to call instead. */
int hark_cli_mpi_launcher(char *const *argv);
/* Adds to `v` what the program in the file `path` needs. *same_addresses: it should run without
 * address randomization, for Open MPI's predefined handles are addresses, and a checkpoint may hold
 * them. 0; or 2, having said why it can not run under hark; or 1 without memory. */
int hark_cli_mpi_choose(
    enum hark_cli_mpi which, const char *path, struct hark_cli_variables *v, bool *same_addresses);

#endif
