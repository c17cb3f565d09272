/* window_order.c: one-sided communication whose results depend on the order in which processes come
 * to a target: counters, locks, a queue. The protocols that are for send-deterministic programs are
 * not for this one. */
#include "check.h"

/* A counter at rank 0, that each process reads, and writes one higher. */
static void exclusive(void)
{
    enum { ROUNDS = 6 };
    long counter = 0, seen;
    MPI_Win win;
    MPI_Win_create(&counter, sizeof counter, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        if (rank == 0) seen = counter;
        else {
            MPI_Get(&seen, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
            MPI_Win_flush(0, win);
        }
        seen++;
        MPI_Put(&seen, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Get(&seen, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
    MPI_Win_unlock(0, win);
    CHECK(seen == ROUNDS * size, "%ld", seen);
    MPI_Win_free(&win);
}

/* Each ticket is drawn once. */
static long tickets(void)
{
    enum { EACH = 5 };
    long counter = 0, one = 1, mine[EACH], last = -1, sum = 0, all;
    MPI_Win win;
    MPI_Win_create(&counter, sizeof counter, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < EACH; i++) {
        MPI_Fetch_and_op(&one, &mine[i], MPI_LONG, size - 1, 0, MPI_SUM, win);
        MPI_Win_flush(size - 1, win);
        CHECK(mine[i] > last, "%ld after %ld", mine[i], last);
        last = mine[i];
        sum += mine[i];
    }
    MPI_Win_unlock_all(win);
    MPI_Reduce(&sum, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Win_free(&win);
    return rank ? 0 : all;
}

/* A lock of the program: who swaps 0 for 1 has it. Others ask again. */
static void spin_lock(void)
{
    int memory[2] = {0, 0}, one = 1, zero = 0, old, value;
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    do {
        MPI_Compare_and_swap(&one, &zero, &old, MPI_INT, 0, 0, win);
        MPI_Win_flush(0, win);
    } while (old);
    MPI_Get(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    value++;
    MPI_Put(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    MPI_Accumulate(&zero, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    CHECK(rank || (memory[0] == 0 && memory[1] == size), "%d and %d", memory[0], memory[1]);
    MPI_Win_unlock(rank, win);
    MPI_Win_free(&win);
}

int main(int argc, char *argv[])
{
    begin(argc, argv);
    exclusive();
    long sum = tickets();
    spin_lock();
    if (rank == 0) printf("%ld\n", sum);
    MPI_Finalize();
    return 0;
}
