/* partners.c: a program whose processes have partners, and others later on: for clusters that
 * follow. partners ROUNDS BYTES: in the first half of the rounds each process exchanges BYTES with
 * the one half of all ranks away, then with its neighbour of the pair; and every round a word goes
 * round the ring. A checkpoint call a round. The number of ranks is even. Each prints a digest of
 * all that it got. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hark/app.h"

static struct {
    int64_t round;
    uint64_t digest;
} state;

static void check(int status, const char *call)
{
    if (status >= 0) return;
    printf("%s: %s\n", call, hark_app_error(status));
    exit(1);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static void exchange(const void *out, void *in, size_t bytes, int to, int from)
{
    check(hark_send(out, bytes, to, 0), "hark_send");
    check(hark_recv(in, bytes, from, 0, NULL), "hark_recv");
}

int main(int argc, char **argv)
{
    const int64_t rounds = argc > 1 ? atoll(argv[1]) : 10;
    uint64_t from;
    const size_t bytes = argc > 2 ? (size_t)atoll(argv[2]) : 4096;
    check(hark_init(), "hark_init");
    const int rank = hark_rank(), size = hark_size();
    uint8_t *out = calloc(bytes + 8, 1), *in = calloc(bytes + 8, 1);
    if (out == NULL || in == NULL) return 1;
    check(hark_protect(1, &state, sizeof state), "hark_protect");
    check(hark_restarted(&from), "hark_restarted");
    while (state.round < rounds) {
        const int partner = state.round < rounds / 2 ? (rank + size / 2) % size : rank ^ 1;
        uint64_t word = mix(state.digest + (uint64_t)(rank * 1000 + state.round)), got;
        memset(out, (int)word, bytes);
        memcpy(out, &word, 8);
        exchange(out, in, bytes + 8, partner, partner);
        memcpy(&got, in, 8);
        state.digest = mix(state.digest ^ got ^ in[bytes + 7]);
        exchange(&state.digest, &got, 8, (rank + 1) % size, (rank + size - 1) % size);
        state.digest = mix(state.digest + got);
        state.round++;
        (void)poll(NULL, 0, 1); /* so long a round takes at least, and an interval of as much passes
                                   in it */
        check(hark_checkpoint(), "hark_checkpoint");
    }
    printf("rank %d: %016" PRIx64 "\n", rank, state.digest);
    check(hark_finalize(), "hark_finalize");
    free(out);
    free(in);
    return 0;
}
