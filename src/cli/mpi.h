/* mpi.h: the subcommand `hark mpi`. */
#ifndef HARK_CLI_MPI_H
#define HARK_CLI_MPI_H

/* hark mpi [--functions | PROGRAM]: which MPIs hark takes the place of; what it would do for a
 * program; which functions it has. argv[0] is the word `mpi`. Returns the exit status: 0; 1 the
 * program calls functions that hark refuses; 2 bad usage, or a program that hark cannot run, after
 * one line on stderr. */
int hark_cli_mpi(int argc, char **argv);
/* The help text, to stdout. */
void hark_cli_mpi_help(void);

/* src/mpi/names.txt: the last has no name. */
struct hark_cli_mpi_function {
    const char *name;
    const char *interfaces; /* "mos", with '-' for those that do not declare it */
    const char *family;
    const char *does; /* "yes"; "todo", or why it is refused */
};
extern const struct hark_cli_mpi_function hark_cli_mpi_functions[];

#endif
