/* mpiexec.h: the command under its name hark-mpiexec: `hark run` with options as those of mpiexec.
 */
#ifndef HARK_CLI_MPIEXEC_H
#define HARK_CLI_MPIEXEC_H

/* hark-mpiexec [OPTION]... PROGRAM [ARG]... [: [OPTION]... PROGRAM [ARG]...]...: returns what
 * hark_cli_run() returns; 2 for options that it does not know, after one line on stderr. */
int hark_cli_mpiexec(int argc, char **argv);

#endif
