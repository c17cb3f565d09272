/* prologue.c: communicates before hark_restarted in every way that there is: collective calls,
 * receives from anyone, tests and looks. The work after it depends on all that was found.
 *
 *   prologue ROUNDS BYTES [FILE]   FILE: made by the first execution; a later one that finds it
 * does more
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hark/app.h"

static int rank, size;
static uint64_t setup = 1; /* not protected: each incarnation finds it out again */
static struct state {
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
    return x ^ x >> 31;
}

/* What rank 0 knows, and everybody gets; then a large message round the ring. */
static void parameters(size_t bytes)
{
    uint64_t seed = rank == 0 ? 4711 : 0;
    uint8_t *out = calloc(bytes, 1), *in = calloc(bytes, 1);
    struct hark_request *r;
    if (out == NULL || in == NULL) exit(1);
    check(hark_bcast(&seed, sizeof seed, 0), "bcast");
    memset(out, rank + 1, bytes);
    check(hark_irecv(in, bytes, (rank + size - 1) % size, 1, &r), "irecv");
    check(hark_send(out, bytes, (rank + 1) % size, 1), "send");
    check(hark_wait(&r, NULL), "wait");
    setup = mix(setup + seed + in[bytes / 2]);
    free(out);
    free(in);
}

/* Rank 0 takes what comes first; the others ask until their answer is there. */
static void first_come(void)
{
    uint64_t word = (uint64_t)rank, answer = 0, order = 1;
    struct hark_info info;
    if (rank) {
        struct hark_request *r;
        bool done = false;
        unsigned asked = 0;
        check(hark_send(&word, sizeof word, 0, 2), "send");
        check(hark_irecv(&answer, sizeof answer, 0, 3, &r), "irecv");
        while (!done) check(hark_test(&r, &done, NULL), "test"), asked++;
        setup = mix(setup + answer + (asked > 0));
        return;
    }
    for (int left = size - 1; left;) {
        bool found;
        check(hark_iprobe(HARK_ANY_SOURCE, 2, &found, &info), "iprobe");
        if (!found) continue;
        check(hark_recv(&word, sizeof word, info.source, 2, NULL), "recv");
        order = mix(order + word);
        left--;
    }
    for (int to = 1; to < size; to++) check(hark_send(&order, sizeof order, to, 3), "send");
    setup = mix(setup + order);
}

static void round_of_work(void)
{
    uint64_t out = state.digest + setup, in;
    check(hark_send(&out, sizeof out, (rank + 1) % size, 5), "send");
    check(hark_recv(&in, sizeof in, (rank + size - 1) % size, 5, NULL), "recv");
    state.digest = mix(state.digest + in);
    check(hark_allreduce(&state.digest, &in, 1, HARK_UINT64, HARK_SUM), "allreduce");
    state.digest = mix(state.digest + in);
}

/* Takes the memory back; before that hark_saved has the same. */
static void take_back(void)
{
    const void *at;
    size_t length = 0;
    uint64_t from, digest = 0;
    int status = hark_saved(1, &at, &length);
    if (status == HARK_A_OK && length == sizeof state)
        memcpy(&digest, (const char *)at + offsetof(struct state, digest), sizeof digest);
    check(hark_restarted(&from), "hark_restarted");
    if (status == (from ? HARK_A_OK : HARK_A_EREGION) && (from == 0 || digest == state.digest) &&
        hark_saved(1, &at, &length) == HARK_A_EREGION)
        return;
    printf("rank %d: hark_saved does not have what hark_restarted gives back\n", rank);
    exit(1);
}

int main(int argc, char *argv[])
{
    uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
    size_t bytes = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
    check(hark_init(), "hark_init");
    rank = hark_rank();
    size = hark_size();
    parameters(bytes);
    first_come();
    check(hark_barrier(), "barrier");
    char mark[300] = "";
    if (argc > 3) snprintf(mark, sizeof mark, "%s%d", argv[3], rank);
    bool again = access(mark, F_OK) == 0;
    if (again) check(hark_barrier(), "barrier");
    check(hark_protect(1, &state, sizeof state), "protect");
    take_back();
    if (*mark && !again) close(open(mark, O_CREAT | O_WRONLY, 0600));
    while (state.round < rounds) {
        round_of_work();
        state.round++;
        check(hark_checkpoint(), "checkpoint");
    }
    uint64_t all;
    check(hark_allreduce(&state.digest, &all, 1, HARK_UINT64, HARK_SUM), "allreduce");
    printf("rank %d: %016" PRIx64 "\n", rank, all);
    check(hark_finalize(), "finalize");
    return 0;
}
