/* variables.h: variables of the environment that a program is to have, "NAME=VALUE" each. */
#ifndef HARK_CLI_VARIABLES_H
#define HARK_CLI_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

struct hark_cli_variables { /* all zero: none */
    char **at;              /* NULL behind the last; NULL: none. Owned */
    size_t count;
};

/* Sets one, also one that is there. False: no memory. */
bool hark_cli_variables_set(struct hark_cli_variables *v, const char *name, const char *value);
/* Puts `item` before the present value, and ':' between them. False: no memory. */
bool hark_cli_variables_prepend(struct hark_cli_variables *v, const char *name, const char *item);
/* The value that the program would have, also from our own environment; NULL: none. */
const char *hark_cli_variables_get(const struct hark_cli_variables *v, const char *name);
void hark_cli_variables_free(struct hark_cli_variables *v);

#endif
