/* long.c: processes in a ring that stream bursts of payloads from a byte to half a MiB, each made
 * from what was heard before: one wrong byte anywhere changes the answer. `long any` receives them
 * from two others, in whatever order they come. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static uint8_t *out, *in;

/* Around the ring: each burst is heard in its order. */
static uint64_t in_turn(uint64_t round, uint64_t heard)
{
    int rank = hark_rank(), size = hark_size();
    uint64_t made = heard;
    for (uint64_t i = 0; i < BURST; i++) {
        size_t n = length_of(round, i, (uint64_t)rank);
        fill(out, n, made + i);
        check(hark_send(out, n, (rank + 1) % size, (int)i));
    }
    for (uint64_t i = 0; i < BURST; i++) {
        struct hark_info info;
        check(hark_recv(in, LONGEST, (rank + size - 1) % size, (int)i, &info));
        heard = read_all(in, info.length, heard);
    }
    return heard;
}

/* From two at once, whoever comes first: the sum is the same. */
static uint64_t from_any(uint64_t round, uint64_t heard)
{
    int rank = hark_rank(), size = hark_size();
    uint64_t sum = 0;
    for (uint64_t i = 0; i < BURST; i++)
        for (int far = 1; far <= 3; far += 2) {
            size_t n = length_of(round, i * 2 + (far == 3), (uint64_t)rank);
            fill(out, n, heard + i * 4 + (uint64_t)far);
            check(hark_send(out, n, (rank + far) % size, (int)round));
        }
    for (uint64_t i = 0; i < BURST * 2; i++) {
        struct hark_info info;
        check(hark_recv(in, LONGEST, HARK_ANY_SOURCE, (int)round, &info));
        sum += read_all(in, info.length, (uint64_t)info.source);
    }
    return mix(heard ^ sum);
}

int main(int count, char **words)
{
    uint64_t state[2] = {0, 1}, from; /* rounds done, what was heard */
    bool any = count > 1 && strcmp(words[1], "any") == 0;
    out = malloc(LONGEST), in = malloc(LONGEST);
    if (out == NULL || in == NULL) return 2;
    check(hark_init());
    int rank = hark_rank(), size = hark_size();
    check(hark_protect(1, state, sizeof state));
    check(hark_restarted(&from));
    while (state[0] < ROUNDS) {
        state[1] = any ? from_any(state[0], state[1]) : in_turn(state[0], state[1]);
        state[0]++;
        check(hark_checkpoint());
    }
    if (rank != 0) check(hark_send(&state[1], sizeof state[1], 0, ROUNDS));
    for (int r = 1; rank == 0 && r < size; r++) {
        uint64_t theirs;
        check(hark_recv(&theirs, sizeof theirs, r, ROUNDS, NULL));
        state[1] = mix(state[1] ^ theirs);
    }
    if (rank == 0) printf("heard %016" PRIx64 "\n", state[1]);
    check(hark_finalize());
    free(out);
    free(in);
    return 0;
}
