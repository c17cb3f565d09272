/* check.h: the subcommands `hark check` and `hark replay`. */
#ifndef HARK_CLI_CHECK_H
#define HARK_CLI_CHECK_H

/* hark check [OPTION]... SCENARIO...: every interleaving of small programs. Returns the exit
 * status: 0 all is as the scenarios expect, or nothing was found; 1 a violation; 2 bad usage or
 * input; 3 nothing was found, but it was not searched whole. */
int hark_cli_check(int argc, char **argv);
void hark_cli_check_help(void);
/* hark replay [OPTION]... SCENARIO: the schedule of a scenario, step by step. 0; 1 a transcript is
 * another, or a step can not be made; 2 bad usage or input. */
int hark_cli_replay(int argc, char **argv);
void hark_cli_replay_help(void);

#endif
