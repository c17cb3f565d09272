/* main.c: `hark check` and `hark replay` without the rest of the command, for run.sh. */
#include <stdio.h>
#include <string.h>

#include "cli/check.h"

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "check") == 0) return hark_cli_check(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "replay") == 0) return hark_cli_replay(argc - 1, argv + 1);
    fputs("usage: hark_check check|replay [OPTION]... SCENARIO...\n", stderr);
    return 2;
}
