/* secret.c: two processes that send each other a text, many times, for who listens on the wire.
 * secret TEXT ROUNDS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hark/app.h"

int main(int argc, char **argv)
{
    static char text[4096];
    static long state[1];
    uint64_t restarted;
    if (argc < 3 || hark_init() < 0 || hark_size() != 2) return 2;
    if (hark_protect(0, state, sizeof state) < 0) return 2;
    const size_t length = strlen(argv[1]);
    const long rounds = atol(argv[2]);
    const int me = hark_rank();
    hark_restarted(&restarted);
    for (; state[0] < rounds; state[0]++) {
        if (me == state[0] % 2) hark_send(argv[1], length, 1 - me, 0);
        else hark_recv(text, sizeof text, 1 - me, 0, NULL);
        if (state[0] % 50 == 49) hark_checkpoint();
    }
    if (me == 0) printf("%ld times: %s\n", rounds, text);
    return hark_finalize() < 0;
}
