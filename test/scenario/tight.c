/* `hark check` alone, for builds of the protocols with other limits. */
#include "../../src/cli/check.h"

int main(int argc, char **argv)
{
    return hark_cli_check(argc - 1, argv + 1); /* as `hark check` */
}
