/* window_dynamic.c: memory that is attached to a window. Its addresses are sent, so they have to be
 * the same in a process that begins again: the program runs without address randomisation. */
#include "check.h"

enum { ROUNDS = 8 };

static int next(int by)
{
    return (rank + by) % size;
}

int main(int argc, char *argv[])
{
    static int memory[4], got, both[2];
    begin(argc, argv);
    MPI_Aint here, *at = malloc((size_t)size * sizeof *at);
    int before = (rank + size - 1) % size;
    MPI_Win win;
    memory[0] = rank;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    /* In two pieces, which are accessed as one. */
    MPI_Win_attach(win, memory, sizeof *memory);
    MPI_Win_attach(win, memory + 1, 3 * sizeof *memory);
    MPI_Get_address(memory, &here);
    MPI_Allgather(&here, 1, MPI_AINT, at, 1, MPI_AINT, MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Win_fence(0, win);
        MPI_Put(&rank, 1, MPI_INT, next(1), MPI_Aint_add(at[next(1)], 4), 1, MPI_INT, win);
        MPI_Get(&got, 1, MPI_INT, next(1), at[next(1)], 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        CHECK(memory[1] == before && got == next(1), "%d and %d", memory[1], got);
        MPI_Win_fence(0, win);
        MPI_Get(both, 2, MPI_INT, next(1), at[next(1)], 2, MPI_INT, win);
        MPI_Win_fence(0, win);
        CHECK(both[0] == next(1) && both[1] == rank, "%d and %d", both[0], both[1]);
        memory[1] = -1;
        memory[2] += got;
    }
    MPI_Win_detach(win, memory);
    MPI_Win_detach(win, memory + 1);
    MPI_Win_free(&win);
    if (rank == 0) printf("%d\n", memory[2]);
    free(at);
    MPI_Finalize();
    return 0;
}
