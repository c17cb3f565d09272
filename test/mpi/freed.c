/* freed.c: a receive and a synchronous send that were freed are open while MPI_Waitany and
 * MPI_Waitsome wait, with no other message under way that would wake them up. Rank 0 polls, so what
 * rank 1 needs when it begins again comes from rank 0's log, all of it at once, and nothing comes
 * later. */
#include "check.h"

enum { ROUNDS = 20, ASK = 1, ANSWER = 2, FREED = 9, FREED_SEND = 10 };

/* Receives from rank 1 by tests alone. */
static int polled(int tag)
{
    MPI_Request request;
    int got = -1, flag = 0;
    MPI_Irecv(&got, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, &request);
    while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    return got;
}

static void answer(int round)
{
    for (int i = 0; i < 2; i++) {
        int ask = polled(ASK), reply = 2 * ask;
        CHECK(ask == 2 * round + i, "%d", ask);
        MPI_Send(&reply, 1, MPI_INT, 1, ANSWER + i, MPI_COMM_WORLD);
    }
}

/* Waits for one of the two requests. */
static int one_of(int round, MPI_Request request[2])
{
    int index = -1, count, indices[2];
    if (round % 2) MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE);
    else {
        MPI_Waitsome(2, request, &count, indices, MPI_STATUSES_IGNORE);
        CHECK(count == 1, "%d", count);
        index = indices[0];
    }
    return index;
}

/* Rank 0 answers only when it is asked, so this process mostly waits already. */
static void ask(int round)
{
    MPI_Request request[2];
    int got[2] = {-1, -1};
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, 0, ANSWER + i, MPI_COMM_WORLD, &request[i]);
    for (int i = 0; i < 2; i++) {
        int number = 2 * round + i;
        MPI_Send(&number, 1, MPI_INT, 0, ASK, MPI_COMM_WORLD);
        int index = one_of(round, request);
        CHECK(index == i && got[i] == 2 * number, "%d, %d", index, got[i]);
    }
}

/* Freed requests stay open for half of the rounds; rank 0 checks the message of one. */
static void rounds(int half)
{
    static int freed[2], sent[2];
    MPI_Request request;
    freed[half] = -1;
    sent[half] = 7 + half;
    if (rank == 1) {
        MPI_Irecv(&freed[half], 1, MPI_INT, 0, FREED, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        MPI_Issend(&sent[half], 1, MPI_INT, 0, FREED_SEND, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 0 && i == ROUNDS / 2) {
            MPI_Send(&half, 1, MPI_INT, 1, FREED, MPI_COMM_WORLD);
            CHECK(polled(FREED_SEND) == 7 + half, "");
        }
        if (rank == 0) answer(half * ROUNDS + i);
        else ask(half * ROUNDS + i);
    }
    CHECK(rank == 0 || freed[half] == half, "%d", freed[half]);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    for (int half = 0; half < 2 && rank < 2; half++) rounds(half);
    if (rank == 1) MPI_Send(&rank, 1, MPI_INT, 0, ASK, MPI_COMM_WORLD);
    if (rank == 0) CHECK(polled(ASK) == 1, "");
    if (rank == 0) printf("done\n");
    MPI_Finalize();
    return 0;
}
