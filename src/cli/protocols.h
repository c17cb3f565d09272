/* protocols.h: `hark help protocols`: which protocol does a program need? */
#ifndef HARK_CLI_PROTOCOLS_H
#define HARK_CLI_PROTOCOLS_H

#include <stddef.h>
#include <stdint.h>

void hark_cli_protocols_help(void);
/* All that are for such programs (HARK_FOR_*): "hydee and sendet". */
void hark_cli_protocols_for(uint32_t programs, char *text, size_t room);

#endif
