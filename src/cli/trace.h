/* trace.h: the subcommand `hark trace`. */
#ifndef HARK_CLI_TRACE_H
#define HARK_CLI_TRACE_H

/* hark trace FILE --svg OUT [--from MS] [--to MS]: draws the space-time diagram of a trace. argv[0]
 * is the word `trace`. Returns the exit status: 0 done; 2 bad usage, bad input or OUT not written,
 * after one line on stderr. */
int hark_cli_trace(int argc, char **argv);

#endif
