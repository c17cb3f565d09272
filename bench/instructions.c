/* One send and one receive whose message is already there, to be counted by callgrind:
 * instructions DIRECTORY SIZE COUNT WINDOW. Two processes send each other windows of messages in
 * turn. Only what measured_send() and measured_receive() do is counted, and who receives waits
 * outside of them, by a word in a file that both map, until the whole window is in the transport.
 * So the count is the same on every machine. With -DMPI it is an MPI program. */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef MPI
#include <mpi.h>

static int begin(int *argc, char ***argv)
{
    int rank;
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}
#define SEND(at, size, other) MPI_Send(at, size, MPI_BYTE, other, 0, MPI_COMM_WORLD)
#define RECEIVE(at, size, other)                                                                   \
    MPI_Recv(at, size, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
#define CHECKPOINT() 0
#define END()        MPI_Finalize()
#else
#include "hark/app.h"

static int begin(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    uint64_t from;
    return hark_init() < 0 || hark_restarted(&from) < 0 ? 2 : hark_rank();
}
#define SEND(at, size, other)    hark_send(at, (size_t)(size), other, 0)
#define RECEIVE(at, size, other) hark_recv(at, (size_t)(size), other, 0, NULL)
#define CHECKPOINT()             hark_checkpoint()
#define END()                    hark_finalize()
#endif

#define WINDOW_MAX 1024

/* callgrind counts what happens within these, and is told so by their names. */
__attribute__((noinline)) void measured_send(const void *at, int size, int other);
__attribute__((noinline)) void measured_receive(void *at, int size, int other);

void measured_send(const void *at, int size, int other)
{
    SEND(at, size, other);
}

void measured_receive(void *at, int size, int other)
{
    RECEIVE(at, size, other);
}

/* Outside of what is counted: brings lazily made things about before, and into the caches. */
static void exchange(char *at, int size, int me, int first)
{
    for (int turn = 0; turn < 2; turn++)
        if ((me == first) == (turn == 0)) SEND(at, size, 1 - me);
        else RECEIVE(at, size, 1 - me);
}

static _Atomic unsigned long *turns_of(const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/turns", directory);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, 4096) != 0) return NULL;
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return at == MAP_FAILED ? NULL : at;
}

int main(int argc, char **argv)
{
    int me = begin(&argc, &argv);
    if (argc != 5 || me > 1) return 2;
    int size = atoi(argv[2]), count = atoi(argv[3]), window = atoi(argv[4]);
    _Atomic unsigned long *turns = turns_of(argv[1]);
    char *at = malloc((size_t)size + 1);
    if (turns == NULL || at == NULL || window < 1 || window > WINDOW_MAX) return 2;
    memset(at, 1, (size_t)size + 1);
    /* As in a program that lives long: checkpoints have freed the memory of as many messages. */
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < count * window; i++) exchange(at, size, me, i % 2);
        if (CHECKPOINT() < 0) return 1;
    }
    for (int i = 0; i < 3; i++) /* until the images that need those messages are gone */
        if (CHECKPOINT() < 0) return 1;
    /* From here on one of the two waits without looking for messages. So the other must have left
     * its checkpoint, which may need an answer. */
    for (int i = 0; i < 40; i++) {
        exchange(at, size, me, i % 2);
        usleep(10000); /* until the last image is durable, and that has been said */
    }
    for (unsigned long turn = 0; turn < 2ul * (unsigned long)count; turn++) {
        bool sends = (turn % 2 == 0) == (me == 0);
        while (atomic_load(turns) < 2 * turn + !sends) sched_yield();
        for (int i = 0; i < window; i++)
            if (sends) measured_send(at, size, 1 - me);
            else measured_receive(at, size, 1 - me);
        atomic_fetch_add(turns, 1); /* 2 turn + 1: all are sent; 2 turn + 2: all are received */
    }
    free(at);
    END();
    return 0;
}
