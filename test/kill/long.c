/* long.c: a ring of processes that stream bursts of payloads from a byte to half a MiB, each made from what was heard before:
 * one wrong byte anywhere changes the answer. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hark/app.h"

enum { ROUNDS = 12, BURST = 8 };
#define LONGEST ((size_t)512 << 10)

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Of all sizes alike, not only of long ones. */
static size_t length_of(uint64_t round, uint64_t i, uint64_t rank)
{
    uint64_t dice = mix(round * 1000 + i * 10 + rank);
    size_t most = (size_t)1 << (dice % 20);
    return 1 + (size_t)(mix(dice) % most);
}

static void fill(uint8_t *at, size_t length, uint64_t seed)
{
    for (size_t i = 0; i < length; i++) {
        if (i % 8 == 0) seed = mix(seed);
        at[i] = (uint8_t)(seed >> (i % 8 * 8));
    }
}

static uint64_t read_all(const uint8_t *at, size_t length, uint64_t sum)
{
    for (size_t i = 0; i < length; i++) sum = sum * 1099511628211u + at[i];
    return mix(sum);
}

static void check(int status)
{
    if (status >= 0) return;
    fprintf(stderr, "long: %s\n", hark_app_error(status));
    exit(1);
}

int main(void)
{
    uint64_t state[2] = {0, 1}, from; /* rounds done, what was heard */
    uint8_t *out = malloc(LONGEST), *in = malloc(LONGEST);
    if (out == NULL || in == NULL) return 2;
    check(hark_init());
    int rank = hark_rank(), size = hark_size(), next = (rank + 1) % size, previous = (rank + size - 1) % size;
    check(hark_protect(1, state, sizeof state));
    check(hark_restarted(&from));
    while (state[0] < ROUNDS) {
        uint64_t made = state[1];
        struct hark_info info;
        for (uint64_t i = 0; i < BURST; i++) {
            size_t n = length_of(state[0], i, (uint64_t)rank);
            fill(out, n, made + i);
            check(hark_send(out, n, next, (int)i));
        }
        for (uint64_t i = 0; i < BURST; i++) {
            check(hark_recv(in, LONGEST, previous, (int)i, &info));
            state[1] = read_all(in, info.length, state[1]);
        }
        state[0]++;
        check(hark_checkpoint());
    }
    if (rank != 0) check(hark_send(&state[1], sizeof state[1], 0, BURST));
    for (int r = 1; rank == 0 && r < size; r++) {
        uint64_t theirs;
        check(hark_recv(&theirs, sizeof theirs, r, BURST, NULL));
        state[1] = mix(state[1] ^ theirs);
    }
    if (rank == 0) printf("heard %016" PRIx64 "\n", state[1]);
    check(hark_finalize());
    free(out);
    free(in);
    return 0;
}
