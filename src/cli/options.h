/* options.h: the options that protocols have, for every command that runs one: on its command line,
 * in its help, in its messages. All of it is from the tables of the protocols. */
#ifndef HARK_CLI_OPTIONS_H
#define HARK_CLI_OPTIONS_H

#include <getopt.h>
#include <stdio.h>

#include "hark/registry.h"

enum {
    HARK_CLI_OPTIONS = 32,
    HARK_CLI_OPTION = 1024 /* the number by which getopt_long knows the first */
};

struct hark_cli_options {
    bool (*knows)(const struct hark_option *o); /* which of them the command knows; NULL: all */
    uint64_t most; /* no value is more here; 0: no limit but that of each */
};

/* Rows of `own`, up to one without a name, and those of the protocols, for getopt_long. To be
 * freed; NULL: no memory.
 */
struct option *hark_cli_options_table(const struct hark_cli_options *of, const struct option *own);
/* What getopt_long has found, a number from HARK_CLI_OPTION on: into `core`. 0; or 2, having said
 * what is wrong with the value. */
int hark_cli_option(const char *command, const struct hark_cli_options *of, int number,
    const char *text, struct hark_config *core);
/* Has the protocol all that is asked for, and do they go together? 0; or 2, having said which does
 * not, and what has it. */
int hark_cli_options_check(
    const char *command, const struct hark_protocol *protocol, const struct hark_config *core);
/* A line of help for each, or several if protocols say it differently; what it does begins in that
 * column. */
void hark_cli_options_help(const struct hark_cli_options *of, int column);
/* The names of the protocols for which `has` says so: "hydee", "hydee or team", "scmel, team or
 * camel". */
void hark_cli_protocols_that(bool (*has)(const struct hark_protocol *p, const void *what),
    const void *what, char *text, size_t room);
/* Says which there are; 2. */
int hark_cli_protocol_unknown(const char *command, const char *text);

#endif
