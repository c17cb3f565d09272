/* choices.c: which of several requests is complete. Most are collective calls whose messages come
 * one by one, some of which take none at a root, and all ways to complete requests are mixed: what
 * a call takes from one request while it finds another one complete has to be the same in a process
 * that begins again. Receives that are freed while they are active take their messages too. */
#include "check.h"

enum { WINDOW = 8, CALLS = 500, KINDS = 6, WAYS = 7 };

static struct call {
    int kind, round, out[16], in[16];
} calls[WINDOW];
static MPI_Request requests[WINDOW];
static unsigned number = 4711;

/* The same in all processes. */
static int random_below(int limit)
{
    number = number * 1103515245 + 12345;
    return (int)(number >> 16 & 0x7fff) % limit;
}

static void start(int i, int round)
{
    struct call *k = &calls[i];
    *k = (struct call){.kind = random_below(KINDS), .round = round};
    int root = random_below(size);
    for (int j = 0; j < size; j++) k->out[j] = round * 100 + rank * 10 + j;
    if (k->kind == 0 && rank == root) k->in[0] = round;
    switch (k->kind) {
    case 0: MPI_Ibcast(k->in, 1, MPI_INT, root, MPI_COMM_WORLD, &requests[i]); break;
    case 1: MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]); break;
    case 2:
        MPI_Ialltoall(k->out, 1, MPI_INT, k->in, 1, MPI_INT, MPI_COMM_WORLD, &requests[i]);
        break;
    case 3:
        MPI_Ireduce(k->out, k->in, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD, &requests[i]);
        k->kind = rank == root ? 3 : 1; /* elsewhere there is nothing to check */
        break;
    case 4: MPI_Iallreduce(&rank, k->in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]); break;
    default:
        MPI_Send(&round, 1, MPI_INT, (rank + 1) % size, round, MPI_COMM_WORLD);
        MPI_Irecv(k->in, 1, MPI_INT, (rank + size - 1) % size, round, MPI_COMM_WORLD, &requests[i]);
    }
}

static void check(const struct call *k)
{
    int ranks = size * (size - 1) / 2;
    switch (k->kind) {
    case 0: CHECK(k->in[0] == k->round, "bcast: %d", k->in[0]); break;
    case 2:
        for (int j = 0; j < size; j++)
            CHECK(k->in[j] == k->round * 100 + j * 10 + rank, "alltoall: %d", k->in[j]);
        break;
    case 3: CHECK(k->in[0] == (k->round * size * 10 + ranks) * 10, "reduce: %d", k->in[0]); break;
    case 4: CHECK(k->in[0] == ranks, "allreduce: %d", k->in[0]); break;
    case 5: CHECK(k->in[0] == k->round, "message: %d", k->in[0]); break;
    default: break;
    }
}

/* How many are complete, and which. */
static int complete(int way, int which, int indices[WINDOW])
{
    int flag, n = 0;
    switch (way) {
    case 0: MPI_Testsome(WINDOW, requests, &n, indices, MPI_STATUSES_IGNORE); break;
    case 1: MPI_Waitsome(WINDOW, requests, &n, indices, MPI_STATUSES_IGNORE); break;
    case 2:
        MPI_Waitany(WINDOW, requests, indices, MPI_STATUS_IGNORE);
        n = indices[0] == MPI_UNDEFINED ? 0 : 1;
        break;
    case 3:
        MPI_Testany(WINDOW, requests, indices, &flag, MPI_STATUS_IGNORE);
        n = flag && indices[0] != MPI_UNDEFINED ? 1 : 0;
        break;
    case 4:
        MPI_Test(&requests[which], &n, MPI_STATUS_IGNORE);
        indices[0] = which;
        break;
    case 5:
        MPI_Wait(&requests[which], MPI_STATUS_IGNORE);
        indices[n++] = which;
        break;
    default:
        MPI_Testall(WINDOW, requests, &flag, MPI_STATUSES_IGNORE);
        for (int i = 0; flag && i < WINDOW; i++) indices[n++] = i;
    }
    return n == MPI_UNDEFINED ? 0 : n;
}

/* The message that a freed receive takes is sent before another one for which this process waits:
 * it is there after the wait that follows. */
static void freed(int round)
{
    static int got[2];
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Request request;
    got[0] = got[1] = -1;
    MPI_Irecv(&got[0], 1, MPI_INT, last, 7, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Send(&round, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        MPI_Irecv(&got[1], 1, MPI_INT, last, 8, MPI_COMM_WORLD, &request);
        MPI_Send(&i, 1, MPI_INT, next, 8, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(got[1] == i, "%d", got[1]);
    }
    CHECK(got[0] == round, "%d", got[0]);
}

int main(int argc, char *argv[])
{
    int begun = 0, done = 0, ways[WAYS] = {0};
    begin(argc, argv);
    CHECK(size <= 16, "%d", size);
    for (int i = 0; i < WINDOW; i++) start(i, begun++);
    unsigned own = (unsigned)rank;
    while (done < CALLS) {
        int indices[WINDOW];
        own = own * 69069 + 1;
        int way = (int)(own >> 16) % WAYS;
        int n = complete(way, (int)(own >> 24) % WINDOW, indices);
        ways[way]++;
        for (int i = 0; i < n; i++) {
            struct call *k = &calls[indices[i]];
            if (k->round < 0) continue; /* it was complete before */
            check(k);
            done++;
            k->round = -1;
            if (begun < CALLS) start(indices[i], begun++);
        }
    }
    for (int i = 0; i < WAYS; i++) CHECK(ways[i] > 0, "way %d", i);
    for (int round = 0; round < 10; round++) freed(round);
    if (rank == 0) printf("%d\n", done);
    MPI_Finalize();
    return 0;
}
