/* journal.h: `hark run --journal`. */
#ifndef HARK_CLI_JOURNAL_H
#define HARK_CLI_JOURNAL_H

#include <stdint.h>

/* The readings that `text` names, as HARK_KEEPS_*. 0, or the exit status after a line. */
int hark_cli_journal(const char *text, uint32_t *keeps);
/* The library that programs must preload for these; *library is to be freed, NULL: none. */
int hark_cli_journal_library(uint32_t keeps, char **library);

#endif
