/* options.c: `hark-options SUBCOMMAND` prints the options that the subcommand knows, as it knows
 * them: it is the command itself, but its getopt_long prints what it is given: a line for each,
 * with " ARG" behind one that takes an argument. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

int getopt_long(
    int argc, char *const *argv, const char *letters, const struct option *options, int *at)
{
    (void)argc;
    (void)argv;
    (void)at;
    for (const struct option *o = options; o->name; o++)
        printf("--%s%s\n", o->name, o->has_arg ? " ARG" : "");
    for (const char *l = letters; *l; l++)
        if (*l != ':' && *l != '+') printf("-%c%s\n", *l, l[1] == ':' ? " ARG" : "");
    exit(fflush(stdout) != 0);
}
