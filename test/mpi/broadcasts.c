/* Broadcasts and reductions of what all processes get alike: groups.sh looks at what is logged. */
#include "check.h"

enum { COUNT = 1 << 16, ROUNDS = 8 };

/* Two duplicates whose contexts are alike in the lower 16 bits, if the size is a power of two, for
 * rank 0 makes others of its own between them. What is broadcast on one is not taken for what is on
 * the other. */
static void test_alike(void)
{
    enum { APART = 1 << 16 };
    MPI_Comm d[2], own;
    MPI_Request request;
    int got[2];
    for (int i = 0; i < 2; i++) {
        MPI_Comm_idup(MPI_COMM_WORLD, &d[i], &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int k = 1; rank == 0 && k < APART / size; k++) {
            MPI_Comm_idup(MPI_COMM_SELF, &own, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Comm_free(&own);
        }
    }
    for (int i = 0; i < 2; i++) { /* the root waits for nobody */
        int which = rank == 0 ? i : 1 - i;
        got[which] = rank == 0 ? which : -1;
        MPI_Bcast(&got[which], 1, MPI_INT, 0, d[which]);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(got[i] == i, "on duplicate %d comes %d", i, got[i]);
        MPI_Comm_free(&d[i]);
    }
}

int main(int argc, char **argv)
{
    static int data[COUNT], sum[COUNT];
    MPI_Comm same;
    begin(argc, argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &same);
    for (int round = 0; round < ROUNDS; round++) {
        int root = round % 2 ? 0 : size - 1;
        for (int i = 0; i < COUNT; i++) data[i] = rank == root ? i + round : -1;
        MPI_Bcast(data, COUNT, MPI_INT, root, round % 3 ? same : MPI_COMM_WORLD);
        for (int i = 0; i < COUNT; i++) CHECK(data[i] == i + round, "round %d", round);
        MPI_Reduce(data, sum, COUNT, MPI_INT, MPI_SUM, root, same);
        for (int i = 0; i < COUNT && rank == root; i++)
            CHECK(sum[i] == size * (i + round), "round %d", round);
    }
    MPI_Comm_free(&same);
    test_alike();
    MPI_Finalize();
    return 0;
}
