/* balance.h: the subcommand `hark balance`. */
#ifndef HARK_CLI_BALANCE_H
#define HARK_CLI_BALANCE_H

/* hark balance LOADS.csv COMM.mtx --pes N --teams K [OPTION]...: objects onto processing elements
 * in teams. Returns the exit status: 0; 1 without memory; 2 bad usage or input. */
int hark_cli_balance(int argc, char **argv);
void hark_cli_balance_help(void);

#endif
