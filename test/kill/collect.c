/* collect.c: all collective calls of app.h in rounds, with changing roots, lengths and types, and
 * an answer that depends on every bit of what they gave.
 *
 *   collect ROUNDS WORDS     so many words of 8 bytes at most
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hark/app.h"

static int rank, size;
static struct {
    uint64_t round, digest;
} state = {0, 1};

static void check(int status, const char *call)
{
    if (status >= 0) return;
    printf("rank %d: %s: %s\n", rank, call, hark_app_error(status));
    exit(1);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static void digest(const void *at, size_t length)
{
    const uint8_t *b = at;
    for (size_t i = 0; i < length; i++) state.digest = mix(state.digest + b[i]);
}

/* Numbers whose sum depends on the order in which they are added. */
static void fill(double *at, size_t words, uint64_t seed)
{
    for (size_t i = 0; i < words; i++)
        at[i] = (double)(mix(seed + i) >> 11) / 1e9 * (seed % 3 ? 1e-7 : 1e7);
}

static void round_of(double *mine, double *all, double *got, size_t words)
{
    const uint64_t n = state.round, seed = n * 1000 + (uint64_t)rank * 10;
    const int root = (int)(mix(n) % (uint64_t)size);
    const size_t bytes = words * sizeof *mine;
    fill(mine, words, seed);
    check(hark_allreduce(mine, got, words, HARK_DOUBLE, HARK_SUM), "allreduce");
    digest(got, bytes);
    check(hark_bcast(mine, bytes, root), "bcast");
    digest(mine, bytes);
    check(hark_bcast(mine, n % 9, 0), "bcast of little");
    check(hark_reduce(mine, got, words, HARK_DOUBLE, n % 2 ? HARK_PRODUCT : HARK_MAX, root),
        "reduce");
    if (rank == root) digest(got, bytes);
    int32_t small[3] = {rank - (int)n, (int)n, -rank}, least[3];
    check(hark_allreduce(small, least, 3, HARK_INT32, HARK_MIN), "allreduce of int32");
    digest(least, sizeof least);
    check(hark_barrier(), "barrier");
    fill(mine, words, seed + 1);
    check(hark_gather(mine, bytes, all, root), "gather");
    if (rank == root) digest(all, bytes * (size_t)size);
    check(hark_scatter(all, got, bytes, root), "scatter");
    if (memcmp(got, mine, bytes) != 0) {
        printf("rank %d: scatter is not the inverse of gather\n", rank);
        exit(1);
    }
    check(hark_allgather(mine, bytes, all), "allgather");
    digest(all, bytes * (size_t)size);
    double *other = all + words * (size_t)size;
    check(hark_alltoall(all, other, bytes), "alltoall");
    for (int i = 0; i < size; i++) /* all had the same, and so everybody's part for me is what I
                                      gave */
        if (memcmp(other + words * (size_t)i, mine, bytes) != 0) {
            printf("rank %d: alltoall: wrong part of rank %d\n", rank, i);
            exit(1);
        }
}

int main(int argc, char **argv)
{
    uint64_t rounds = argc == 3 ? strtoull(argv[1], NULL, 10) : 0, from;
    size_t words = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    if (rounds == 0 || words == 0) return 2;
    check(hark_init(), "init");
    rank = hark_rank();
    size = hark_size();
    double *mine = calloc(words, sizeof *mine), *got = calloc(words, sizeof *got),
           *all = calloc(2 * words * (size_t)size, sizeof *all);
    if (mine == NULL || got == NULL || all == NULL) return 2;
    check(hark_protect(1, &state, sizeof state), "protect");
    check(hark_restarted(&from), "restarted");
    for (; state.round < rounds; check(hark_checkpoint(), "checkpoint")) {
        round_of(mine, all, got, state.round % 2 ? words : 1 + words / 3);
        state.round++;
    }
    printf("rank %d: %016" PRIx64 "\n", rank, state.digest);
    check(hark_finalize(), "finalize");
    free(mine);
    free(got);
    free(all);
    return 0;
}
