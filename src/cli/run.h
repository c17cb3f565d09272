/* run.h: the subcommand `hark run`. */
#ifndef HARK_CLI_RUN_H
#define HARK_CLI_RUN_H

/* hark run [OPTION]... -- PROGRAM [ARG]...: runs a program as several processes, and brings back
 * those that die. argv[0] is the word `run`. Returns the exit status: 0 done; 1 the program failed;
 * 2 bad usage or input, after one line on stderr; 128 + n after signal n. */
int hark_cli_run(int argc, char **argv);
/* The help text, to stdout. */
void hark_cli_run_help(void);

#endif
