/* protocols.h: `hark help protocols`: which protocol does a program need? */
#ifndef HARK_CLI_PROTOCOLS_H
#define HARK_CLI_PROTOCOLS_H

void hark_cli_protocols_help(void);

#endif
