/* From all to all: allgather and alltoall. */
#include "collective.h"

/* ---- allgather --------------------------------------------------------------------------------
 */

static void copy_own(struct call *k)
{
    if (!k->in_place)
        hark_mpi_copy(k, hark_mpi_block(&k->out, 0), hark_mpi_block(&k->in, k->c->rank));
}

/* Each passes on what came last. */
void hark_mpi_allgather_by_ring(struct call *k)
{
    int n = k->c->size, me = k->c->rank, right = (me + 1) % n, left = (me - 1 + n) % n;
    copy_own(k);
    for (int step = 0; step < n - 1; step++)
        hark_mpi_swap(k, right, hark_mpi_block(&k->in, (me - step + n) % n), left,
            hark_mpi_block(&k->in, (me - step - 1 + n) % n));
}

/* To rank 0, and all of them from there. */
void hark_mpi_allgather_by_tree(struct call *k)
{
    int n = k->c->size;
    if (k->c->rank != 0) {
        hark_mpi_give(k, 0, hark_mpi_block(&k->out, 0));
    } else {
        copy_own(k);
        for (int i = 1; i < n; i++) hark_mpi_take(k, i, hark_mpi_block(&k->in, i));
    }
    struct elements all = hark_mpi_block(&k->in, 0);
    all.count *= (size_t)n;
    hark_mpi_bcast_from(k, all, 0);
}

/* ---- alltoall ---------------------------------------------------------------------------------
 */

/* To one and from another in each step. */
void hark_mpi_alltoall_by_pairs(struct call *k)
{
    int n = k->c->size, me = k->c->rank;
    hark_mpi_copy(k, hark_mpi_block(&k->out, me), hark_mpi_block(&k->in, me));
    for (int step = 1; step < n; step++) {
        int to = (me + step) % n, from = (me - step + n) % n;
        hark_mpi_swap(k, to, hark_mpi_block(&k->out, to), from, hark_mpi_block(&k->in, from));
    }
}
