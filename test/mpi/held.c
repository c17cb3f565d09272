/* held.c: what no checkpoint can have is held over a checkpoint call by one process, and not by the
 * others: a collective call that has begun, a receive into memory that is not protected, a matched
 * message, a generalized request. The call counts all the same, so that calls in which nothing is
 * held belong together. */
#include <stdbool.h>
#include <stdint.h>

#include "check.h"
#include "hark/app.h"

enum { ROUNDS = 30 };
enum { NOTHING, COLLECTIVE, RECEIVE, MATCHED, GENERALIZED, KINDS };

static struct {
    int round, held;
    uint64_t digest;
} state;
static MPI_Request request;
static MPI_Message message;
static int received;

static bool i_hold(void)
{
    return rank == (state.held == COLLECTIVE || state.held == GENERALIZED ? 0 : size - 1);
}

static int nothing_to_query(void *none, MPI_Status *status)
{
    (void)none;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_PROC_NULL;
    status->MPI_TAG = MPI_ANY_TAG;
    return MPI_SUCCESS;
}

static int nothing_to_free(void *none)
{
    (void)none;
    return MPI_SUCCESS;
}

static int nothing_to_cancel(void *none, int complete)
{
    (void)none;
    (void)complete;
    return MPI_SUCCESS;
}

static void hold(void)
{
    if (state.held == MATCHED && rank == 0)
        MPI_Send(&state.round, 1, MPI_INT, size - 1, 6, MPI_COMM_WORLD);
    if (!i_hold()) return;
    switch (state.held) {
    case COLLECTIVE: MPI_Ibarrier(MPI_COMM_WORLD, &request); break;
    case RECEIVE: MPI_Irecv(&received, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &request); break;
    case MATCHED: MPI_Mprobe(0, 6, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE); break;
    case GENERALIZED:
        MPI_Grequest_start(nothing_to_query, nothing_to_free, nothing_to_cancel, NULL, &request);
        break;
    default: break;
    }
}

/* The holder says when it has made the call, so nothing is complete before. */
static void let_go(void)
{
    int go = state.round;
    switch (state.held) {
    case COLLECTIVE:
        for (int to = 1; rank == 0 && to < size; to++)
            MPI_Send(&go, 1, MPI_INT, to, 7, MPI_COMM_WORLD);
        if (rank != 0) MPI_Recv(&go, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank != 0) MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case RECEIVE:
        if (i_hold()) MPI_Send(&go, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Recv(&go, 1, MPI_INT, size - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&go, 1, MPI_INT, size - 1, 5, MPI_COMM_WORLD);
        }
        if (i_hold()) MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(!i_hold() || received == state.round, "%d", received);
        break;
    case MATCHED:
        if (i_hold()) MPI_Mrecv(&go, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        CHECK(go == state.round, "%d", go);
        break;
    case GENERALIZED:
        if (i_hold()) MPI_Grequest_complete(request);
        if (i_hold()) MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    default: break;
    }
}

int main(int argc, char **argv)
{
    uint64_t restarted, sum, mine;
    begin(argc, argv);
    hark_protect(1, &state, sizeof state);
    CHECK(hark_restarted(&restarted) == HARK_A_OK, "");
    while (state.round < ROUNDS) {
        let_go();
        mine = state.digest * 31 + (uint64_t)(rank + state.round);
        MPI_Allreduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        state.digest = sum;
        state.held = ++state.round % KINDS;
        hold();
        const int expected = state.held && i_hold() ? HARK_A_EPENDING : HARK_A_OK;
        CHECK(hark_checkpoint() == expected, "in round %d", state.round);
    }
    let_go();
    if (rank == 0) printf("%llu\n", (unsigned long long)state.digest);
    MPI_Finalize();
    return 0;
}
