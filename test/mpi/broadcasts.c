/* Broadcasts and reductions of what all processes get alike: groups.sh looks at what is logged. */
#include "check.h"

enum { COUNT = 1 << 16, ROUNDS = 8 };

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
    MPI_Finalize();
    return 0;
}
