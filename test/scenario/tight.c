/* `hark check` alone, for builds of the protocols with other limits: with bodies of its own, so
 * that none of the library's is linked. */
#undef HARK_LINK
#define HARK_IMPLEMENTATION
#include "../../src/cli/check.h"
#include "hark/registry.h"

int main(int argc, char **argv)
{
    return hark_cli_check(argc - 1, argv + 1); /* as `hark check` */
}
