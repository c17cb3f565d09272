/* sim.h: the subcommand `hark sim`. */
#ifndef HARK_CLI_SIM_H
#define HARK_CLI_SIM_H

/* hark sim [OPTION]...: many simulated processes with the protocols' own cores. Returns the exit
 * status: 0; 1 a simulation did not end as it should; 2 bad usage or input. */
int hark_cli_sim(int argc, char **argv);
void hark_cli_sim_help(void);

#endif
