/* window_locks.c: a process locks a window exclusively, and flushes or not; and then sends other
 * numbers when it executes again. window_locks SIZE flush|whole */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { ROUNDS = 60 };

static int number(void)
{
    int fd = open("test.mark", O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd < 0) return 1000;
    close(fd);
    return 1;
}

int main(int argc, char *argv[])
{
    int memory = 0, value, first;
    MPI_Win win;
    begin(argc, argv);
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 1) {
        value = first = number();
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        if (strcmp(argv[2], "flush") == 0) MPI_Win_flush(0, win);
        MPI_Win_unlock(0, win);
        for (int i = 0; i < ROUNDS; i++) {
            value = first + i;
            MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
            MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    for (int i = 0; i < ROUNDS && rank == 0; i++) {
        MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
