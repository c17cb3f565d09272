/* Intercommunicators: how they are made of two groups, and merged into one. */
#include "comm.h"

/* Leaders exchange their groups; both groups learn of the other's, and all agree on a context. */
PUBLIC(Intercomm_create)
int PMPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm,
    int remote_leader, int tag, MPI_Comm *newcomm)
{
    NEED_COMM(c, local_comm);
    NEED_POINTER(c, newcomm);
    NEED(c, !c->remote, MPI_ERR_COMM, "the local communicator is an intercommunicator");
    NEED(c, local_leader >= 0 && local_leader < c->size, MPI_ERR_RANK,
        "the local leader is %d, and the communicator has ranks 0 .. %d", local_leader,
        c->size - 1);
    int size[2] = {c->size, 0};
    int code;
    struct comm *own = hark_mpi_comm_of_first(c, c->size, __func__, &code);
    if (own == NULL) return code;
    MPI_Comm local = HANDLE(MPI_Comm, own);
    int *mine = hark_mpi_memory((size_t)c->size * sizeof *mine);
    for (int i = 0; i < c->size; i++) mine[i] = hark_mpi_group_world_rank(c->group, i);
    if (c->rank == local_leader)
        code = PMPI_Sendrecv(&size[0], 1, MPI_INT, remote_leader, tag, &size[1], 1, MPI_INT,
            remote_leader, tag, peer_comm, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) code = PMPI_Bcast(&size[1], 1, MPI_INT, local_leader, local);
    int *others = hark_mpi_memory((size_t)size[1] * sizeof *others);
    if (code == MPI_SUCCESS && c->rank == local_leader)
        code = PMPI_Sendrecv(mine, size[0], MPI_INT, remote_leader, tag, others, size[1], MPI_INT,
            remote_leader, tag, peer_comm, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) code = PMPI_Bcast(others, size[1], MPI_INT, local_leader, local);
    free(mine);
    if (code) {
        free(others);
        return code;
    }
    struct group *remote = hark_mpi_group_make(size[1], others);
    int context = hark_mpi_context_agree_between(own, local_leader, peer_comm, remote_leader, tag);
    if (context < 0) {
        hark_mpi_group_release(remote);
        return NO_CONTEXT(c);
    }
    struct comm *d = hark_mpi_comm_make(hark_mpi_group_again(c->group), remote, (uint32_t)context);
    hark_mpi_errhandler_replace(&d->errhandler, c->errhandler);
    d->local = own;
    *newcomm = HANDLE(MPI_Comm, d);
    return MPI_SUCCESS;
}

/* Which group comes first: that whose processes say low; if both say the same, that with the lower
 * first rank in the job. */
static int own_group_first(struct comm *c, int high, bool *first)
{
    int theirs = high, tag = hark_mpi_coll_tag(c);
    if (c->rank == 0) {
        int status =
            hark_mpi_coll_exchange(c, &high, sizeof high, 0, &theirs, sizeof theirs, 0, tag);
        if (status < 0) return hark_mpi_status(c, status, "MPI_Intercomm_merge");
    }
    int code = PMPI_Bcast(&theirs, 1, MPI_INT, 0, HANDLE(MPI_Comm, c->local));
    *first = !high == !theirs
                 ? hark_mpi_group_world_rank(c->group, 0) < hark_mpi_group_world_rank(c->remote, 0)
                 : !high;
    return code;
}

PUBLIC(Intercomm_merge)
int PMPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *newcomm)
{
    NEED_COMM(c, intercomm);
    NEED_POINTER(c, newcomm);
    NEED(c, c->remote, MPI_ERR_COMM, "the communicator is no intercommunicator");
    bool first = false;
    int code = own_group_first(c, high, &first);
    if (code) return code;
    int context = hark_mpi_context_agree(c);
    if (context < 0) return NO_CONTEXT(c);
    struct group *a = first ? c->group : c->remote, *b = first ? c->remote : c->group;
    int n = 0, *world = hark_mpi_memory((size_t)(a->size + b->size) * sizeof *world);
    for (int i = 0; i < a->size; i++) world[n++] = hark_mpi_group_world_rank(a, i);
    for (int i = 0; i < b->size; i++) world[n++] = hark_mpi_group_world_rank(b, i);
    struct comm *d = hark_mpi_comm_make(hark_mpi_group_make(n, world), NULL, (uint32_t)context);
    hark_mpi_errhandler_replace(&d->errhandler, c->errhandler);
    *newcomm = HANDLE(MPI_Comm, d);
    return MPI_SUCCESS;
}
