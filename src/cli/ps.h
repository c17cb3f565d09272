/* ps.h: `hark ps`. */
#ifndef HARK_CLI_PS_H
#define HARK_CLI_PS_H

int hark_cli_ps(int argc, char **argv);
void hark_cli_ps_help(void);

#endif
