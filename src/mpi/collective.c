/* Collective calls. */
#include "internal.h"

void hark_mpi_predefine_ops(void)
{
}

PUBLIC(Barrier)
int PMPI_Barrier(MPI_Comm comm)
{
    NEED_COMM(c, comm);
    int tag = hark_mpi_coll_tag(c);
    for (int step = 1; step < c->size; step <<= 1) {
        int status = hark_mpi_coll_exchange(c, NULL, 0, (c->rank + step) % c->size, NULL, 0,
            (c->rank - step + c->size) % c->size, tag);
        if (status < 0) return hark_mpi_status(c, status, __func__);
    }
    return MPI_SUCCESS;
}

PUBLIC(Bcast)
int PMPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    NEED_COMM(c, comm);
    NEED_COMMITTED(c, t, datatype);
    int tag = hark_mpi_coll_tag(c), n = c->size, me = (c->rank - root + n) % n, bit = 1, status = 0;
    for (; bit < n; bit <<= 1)
        if (me & bit) {
            status =
                hark_mpi_coll_recv_type(c, buffer, (size_t)count, t, (me - bit + root) % n, tag);
            break;
        }
    for (bit >>= 1; bit > 0 && status >= 0; bit >>= 1)
        if (me + bit < n)
            status =
                hark_mpi_coll_send_type(c, buffer, (size_t)count, t, (me + bit + root) % n, tag);
    return status < 0 ? hark_mpi_status(c, status, __func__) : MPI_SUCCESS;
}

PUBLIC(Allgather)
int PMPI_Allgather(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
    MPI_Datatype in_type, MPI_Comm comm)
{
    NEED_COMM(c, comm);
    NEED_COMMITTED(c, t, in_type);
    NEED_COMMITTED(c, ot, out_type);
    int tag = hark_mpi_coll_tag(c), n = c->size;
    size_t length = (size_t)in_count * t->size;
    uint8_t *all = in;
    memmove(all + length * (size_t)c->rank, out, (size_t)out_count * ot->size);
    for (int step = 1; step < n; step++) {
        int mine = (c->rank - step + 1 + n) % n, theirs = (c->rank - step + n) % n;
        int status = hark_mpi_coll_exchange(c, all + length * (size_t)mine, length,
            (c->rank + 1) % n, all + length * (size_t)theirs, length, (c->rank - 1 + n) % n, tag);
        if (status < 0) return hark_mpi_status(c, status, __func__);
    }
    return MPI_SUCCESS;
}

bool hark_mpi_collective_try(struct request *r)
{
    return r->done;
}

void hark_mpi_collective_wait(struct request *r, const char *call)
{
    (void)r;
    (void)call;
}

int hark_mpi_generalized_query(struct request *r)
{
    return r->status.MPI_ERROR;
}

int hark_mpi_generalized_cancel(struct request *r)
{
    return r->status.MPI_ERROR;
}

void hark_mpi_generalized_free(struct request *r)
{
    (void)r;
}
