/* partitioned_checkpoint.c: checkpoints while partitioned requests are active: of a send some parts
 * are ready, of a receive some have arrived. One pair is made before hark_restarted and another
 * after it; a third is never started. */
#include <stdint.h>

#include "check.h"
#include "hark/app.h"

enum { ROUNDS = 30, WORDS = 12, PARTS = 4, PIECES = 3, LATE = 10 };

static struct {
    int round, next_part; /* of the parts that are ready */
    uint64_t digest;
    int out[2][WORDS], in[2][WORDS];
    MPI_Request send[2], receive[2], idle[2];
    MPI_Comm ring;
} state;

static int left, right;

static void make(int which)
{
    MPI_Psend_init(state.out[which], PARTS, WORDS / PARTS, MPI_INT, right, 1, state.ring,
        MPI_INFO_NULL, &state.send[which]);
    MPI_Precv_init(state.in[which], PIECES, WORDS / PIECES, MPI_INT, left, 1, state.ring,
        MPI_INFO_NULL, &state.receive[which]);
}

static void start(int which)
{
    MPI_Start(&state.send[which]);
    MPI_Start(&state.receive[which]);
    for (int i = 0; i < WORDS; i++)
        state.out[which][i] = state.round * 1000 + rank * 100 + which * 50 + i;
}

static void finish(int which)
{
    MPI_Wait(&state.send[which], MPI_STATUS_IGNORE);
    MPI_Wait(&state.receive[which], MPI_STATUS_IGNORE);
    for (int i = 0; i < WORDS; i++) {
        int expected = state.round * 1000 + left * 100 + which * 50 + i;
        CHECK(state.in[which][i] == expected, "round %d, word %d: %d", state.round, i,
            state.in[which][i]);
        state.digest = state.digest * 31 + (uint64_t)expected;
    }
}

/* One part more, and its arrival where a piece ends with it. */
static void one_part(int which)
{
    int flag = 0, part = state.next_part;
    MPI_Pready(part, state.send[which]);
    for (int piece = part * PIECES / PARTS; piece < (part + 1) * PIECES / PARTS; piece++)
        while (!flag) MPI_Parrived(state.receive[which], piece, &flag);
}

int main(int argc, char *argv[])
{
    uint64_t from;
    begin(argc, argv);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    MPI_Comm_dup(MPI_COMM_WORLD, &state.ring);
    make(0);
    MPI_Psend_init(
        state.out[0], 1, 1, MPI_INT, right, 1, state.ring, MPI_INFO_NULL, &state.idle[0]);
    MPI_Precv_init(state.in[0], 1, 1, MPI_INT, left, 1, state.ring, MPI_INFO_NULL, &state.idle[1]);
    CHECK(hark_protect(1, &state, sizeof state) == HARK_A_OK, "%d", rank);
    CHECK(hark_restarted(&from) == HARK_A_OK, "%d", rank);
    while (state.round < ROUNDS) {
        int pairs = state.round > LATE ? 2 : 1;
        if (state.next_part == 0) {
            if (state.round == LATE + 1) make(1);
            for (int i = 0; i < pairs; i++) start(i);
        }
        for (int i = 0; i < pairs; i++) one_part(i);
        if (++state.next_part == PARTS) {
            for (int i = 0; i < pairs; i++) finish(i);
            state.next_part = 0;
            state.round++;
        }
        CHECK(hark_checkpoint() == HARK_A_OK, "%d", state.round);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Request_free(&state.send[i]);
        MPI_Request_free(&state.receive[i]);
        MPI_Request_free(&state.idle[i]);
    }
    uint64_t all;
    MPI_Reduce(&state.digest, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%016llx\n", (unsigned long long)all);
    MPI_Comm_free(&state.ring);
    MPI_Finalize();
    return 0;
}
