/* window_list.c: a list whose members lie in all processes, in memory of MPI_Alloc_mem that is
 * attached to a window while others access it. Its addresses are sent, so they have to be the same
 * in a process that begins again, whatever messages it has kept meanwhile. Who comes when is
 * different each time. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { OWN = 12, NOBODY = -1 };

struct place {
    MPI_Aint at;
    int rank;
};
struct member {
    struct place next;
    int value;
};

static MPI_Win win;
static struct member *own[OWN + 1];
static int count;

static struct place make(int value)
{
    struct place p = {.rank = rank};
    struct member *m;
    void *other;
    MPI_Alloc_mem(24 * (1 + count % 3), MPI_INFO_NULL, &other);
    MPI_Alloc_mem(sizeof *m, MPI_INFO_NULL, &m);
    MPI_Free_mem(other); /* the next one may lie there */
    *m = (struct member){.next = {0, NOBODY}, .value = value};
    CHECK(MPI_Win_attach(win, m, sizeof *m) == MPI_SUCCESS, "");
    MPI_Get_address(m, &p.at);
    own[count++] = m;
    return p;
}

/* The rank first: who finds NOBODY there is the one that appends. */
static struct place append(struct place to, struct place last)
{
    for (;;) {
        int nobody = NOBODY, found;
        struct place next = {0, NOBODY};
        MPI_Aint at = MPI_Aint_add(to.at, (MPI_Aint)offsetof(struct member, next));
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to.rank, 0, win);
        MPI_Compare_and_swap(&last.rank, &nobody, &found, MPI_INT, to.rank,
            MPI_Aint_add(at, (MPI_Aint)offsetof(struct place, rank)), win);
        MPI_Win_flush(to.rank, win);
        if (found == NOBODY) MPI_Put(&last.at, 1, MPI_AINT, to.rank, at, 1, MPI_AINT, win);
        else MPI_Get(&next.at, 1, MPI_AINT, to.rank, at, 1, MPI_AINT, win);
        MPI_Win_unlock(to.rank, win);
        if (found == NOBODY) return last;
        to = (struct place){next.at, found};
    }
}

/* How many members each process has appended. */
static void walk(struct place at)
{
    int of[64] = {0};
    while (at.rank != NOBODY) {
        struct member m;
        MPI_Win_lock(MPI_LOCK_SHARED, at.rank, 0, win);
        MPI_Get(&m, sizeof m, MPI_BYTE, at.rank, at.at, sizeof m, MPI_BYTE, win);
        MPI_Win_unlock(at.rank, win);
        CHECK(m.value >= 0 && m.value <= size, "%d", m.value);
        of[m.value]++;
        at = m.next;
    }
    for (int i = 0; i < size; i++) CHECK(of[i] == OWN, "%d: %d", i, of[i]);
    CHECK(of[size] == 1, "%d", of[size]);
}

int main(int argc, char *argv[])
{
    struct place first = {0, NOBODY}, last;
    begin(argc, argv);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 0) first = make(size);
    MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, MPI_COMM_WORLD);
    last = first;
    for (int i = 0; i < OWN; i++) last = append(last, make(rank));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) walk(first);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) MPI_Win_detach(win, own[i]);
    MPI_Win_free(&win);
    for (int i = 0; i < count; i++) MPI_Free_mem(own[i]);
    /* A large piece is given back, and its place is used again. */
    int *large, *again;
    MPI_Alloc_mem(32 << 20, MPI_INFO_NULL, &large);
    large[1 << 20] = rank;
    MPI_Free_mem(large);
    MPI_Alloc_mem(32 << 20, MPI_INFO_NULL, &again);
    CHECK(again == large && ((uintptr_t)again & 63) == 0, "%p %p", (void *)large, (void *)again);
    MPI_Free_mem(again);
    if (rank == 0) printf("%d\n", size * OWN);
    MPI_Finalize();
    return 0;
}
