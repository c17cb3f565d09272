/* checkpoint.c: checkpoints in a program of MPI. Communicators are made before hark_restarted and
 * after it, receives are posted and requests persistent while a checkpoint is taken, some into a
 * datatype with gaps, one is freed before its message comes, a window is locked, and handles are
 * variables that the program protects. */
#include <stdint.h>

#include "check.h"
#include "hark/app.h"

enum { ROUNDS = 60, WORDS = 20 };

static struct {
    int round;
    uint64_t digest;
    int column[3 * WORDS], row[WORDS];
    MPI_Comm late;       /* made in round 10, freed in round 40 */
    MPI_Request open[3]; /* two receives and a persistent one */
    MPI_Group group;
    int window[2]; /* its memory */
    int freed[2];  /* what a freed receive takes, in even and in odd rounds */
    MPI_Win win;
} state;
static MPI_Comm ring;
static MPI_Datatype gaps;

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 31;
}

/* What every process does before it asks for its memory: it communicates. */
static int prologue(void)
{
    int word = rank == 0 ? 17 : 0, sum;
    MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &ring);
    MPI_Type_vector(WORDS, 1, 3, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, ring);
    MPI_Win_create(state.window, sizeof state.window, sizeof(int), MPI_INFO_NULL, ring, &state.win);
    return sum;
}

static void post(int left)
{
    MPI_Irecv(state.column, 1, gaps, left, 1, ring, &state.open[0]);
    MPI_Irecv(state.row, WORDS, MPI_INT, MPI_ANY_SOURCE, 2, ring, &state.open[1]);
    MPI_Start(&state.open[2]);
    MPI_Request request;
    state.freed[state.round % 2] = -1;
    MPI_Irecv(&state.freed[state.round % 2], 1, MPI_INT, left, 4, ring, &request);
    MPI_Request_free(&request);
}

static void send(int right)
{
    int out[WORDS], one = state.round;
    for (int i = 0; i < WORDS; i++) out[i] = (int)(mix(state.digest + (uint64_t)i) & 0xffff);
    MPI_Send(&one, 1, MPI_INT, right, 4, ring);
    MPI_Send(out, WORDS, MPI_INT, right, 1, ring);
    MPI_Send(out, WORDS, MPI_INT, right, 2, ring);
    MPI_Send(&one, 1, MPI_INT, right, 3, ring);
}

/* Each process accumulates into the next one, which nobody locks else; every fifth round it gives
 * the lock back, and takes it again. */
static void change_window(int right)
{
    int got[2], add[2] = {state.round, 1};
    if (state.round % 5 == 0) {
        if (state.round) MPI_Win_unlock(right, state.win);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, state.win);
    }
    MPI_Accumulate(add, 2, MPI_INT, right, 0, 2, MPI_INT, MPI_SUM, state.win);
    MPI_Get(got, 2, MPI_INT, right, 0, 2, MPI_INT, state.win);
    MPI_Win_flush(right, state.win);
    CHECK(got[0] == state.round * (state.round + 1) / 2, "%d in round %d", got[0], state.round);
    CHECK(got[1] == state.round + 1, "%d in round %d", got[1], state.round);
    state.digest = mix(state.digest + (uint64_t)got[0]);
}

static void change_communicators(void)
{
    if (state.round == 10) {
        MPI_Comm_split(ring, rank % 2, 0, &state.late);
        MPI_Comm_group(state.late, &state.group);
    }
    if (state.round == 40) {
        MPI_Comm_free(&state.late);
        CHECK(state.late == MPI_COMM_NULL, "%d", state.round);
        MPI_Group_free(&state.group);
    }
    if (state.late == MPI_COMM_NULL) return;
    uint64_t sum;
    int n, in_group;
    MPI_Allreduce(&state.digest, &sum, 1, MPI_UINT64_T, MPI_SUM, state.late);
    MPI_Comm_size(state.late, &n);
    MPI_Group_size(state.group, &in_group);
    CHECK(n == in_group && n >= 1 && n <= (size + 1) / 2, "%d", state.round);
    state.digest = mix(state.digest + sum);
}

int main(int argc, char *argv[])
{
    static int third;
    uint64_t from;
    begin(argc, argv);
    int sum = prologue(), me;
    CHECK(sum == 17 * size, "%d", state.round);
    MPI_Comm_rank(ring, &me);
    int left = (me + size - 1) % size, right = (me + 1) % size;
    MPI_Recv_init(&third, 1, MPI_INT, left, 3, ring, &state.open[2]);
    state.late = MPI_COMM_NULL;
    state.group = MPI_GROUP_NULL;
    CHECK(hark_protect(1, &state, sizeof state) == HARK_A_OK, "%d", state.round);
    CHECK(hark_protect(2, &third, sizeof third) == HARK_A_OK, "%d", state.round);
    CHECK(hark_restarted(&from) == HARK_A_OK, "%d", state.round);
    if (from == 0) post(left);
    while (state.round < ROUNDS) {
        MPI_Status status[3];
        send(right);
        MPI_Waitall(3, state.open, status);
        CHECK(status[1].MPI_SOURCE == left && status[1].MPI_TAG == 2, "%d", state.round);
        CHECK(third == state.round, "%d", state.round);
        if (state.round > 0) {
            int got = state.freed[(state.round - 1) % 2];
            CHECK(got == state.round - 1, "%d in round %d", got, state.round);
        }
        for (int i = 0; i < WORDS; i++) {
            CHECK(state.column[3 * i] == state.row[i], "%d", state.round);
            state.digest = mix(state.digest + (uint64_t)state.row[i]);
        }
        change_communicators();
        change_window(right);
        MPI_Barrier(ring); /* a process in hark_checkpoint serves no window */
        state.round++;
        post(left);
        CHECK(hark_checkpoint() == HARK_A_OK, "%d", state.round);
    }
    send(right);
    MPI_Waitall(3, state.open, MPI_STATUSES_IGNORE);
    MPI_Request_free(&state.open[2]);
    uint64_t all;
    MPI_Reduce(&state.digest, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%016llx\n", (unsigned long long)all);
    MPI_Win_unlock(right, state.win);
    MPI_Win_free(&state.win);
    MPI_Type_free(&gaps);
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return 0;
}
