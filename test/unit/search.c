/* Every interleaving of small programs through the shipped headers; PROTOCOLS' own programs by name. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "hark/registry.h"
#include "world.h"

int main(int argc, char **argv)
{
    struct world_config c = {.protocol = hark_protocol_named("hydee"), .recovery = hark_protocol_named("recovery"),
        .script = argv[1], .clusters = argc > 2 && argv[2][0] != '-' ? argv[2] : NULL, .fails = argc > 3 ? argv[3] : "",
        .overlap = argc > 4 && argv[4][0] == 'o', .ghosts = argc > 5 && argv[5][0] == 'g'};
    struct world_result r = world_search(&c, 3000000);
    printf("%s: %llu states, %llu final, %s\n", c.script, (unsigned long long)r.states, (unsigned long long)r.finals,
        r.violated ? r.violated : "no violation");
    if (r.violated) printf("%d steps\n%s", r.depth, r.path);
    return 0;
}
