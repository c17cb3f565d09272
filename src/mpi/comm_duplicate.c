/* Duplicates of communicators: those that are complete when the call returns, and those that are
 * complete later. */
#include "comm.h"

/* What a duplicate takes over: the attributes that their functions copy, and the error handler. */
static int take_over(struct comm *from, struct comm *to, const char *call)
{
    int error = MPI_SUCCESS;
    hark_mpi_errhandler_replace(&to->errhandler, from->errhandler);
    if (hark_mpi_attributes_copy(&from->o, from->attributes, &to->attributes, &error) == 0)
        return MPI_SUCCESS;
    return hark_mpi_error(
        from, error, call, "the copy function of an attribute has failed with code %d", error);
}

static int duplicate(struct comm *c, MPI_Comm *newcomm, const char *call)
{
    int context = hark_mpi_context_agree(c);
    if (context < 0)
        return hark_mpi_error(c, MPI_ERR_OTHER, call, "there is no context for one more");
    struct comm *d = hark_mpi_comm_make(hark_mpi_group_again(c->group),
        c->remote ? hark_mpi_group_again(c->remote) : NULL, (uint32_t)context);
    if (c->topology) d->topology = hark_mpi_topology_again(c->topology);
    MPI_Comm local = MPI_COMM_NULL;
    if (c->local && PMPI_Comm_dup(HANDLE(MPI_Comm, c->local), &local) == MPI_SUCCESS)
        d->local = COMM(local);
    int code = take_over(c, d, call);
    if (code) {
        (void)hark_mpi_attributes_delete(&d->o, &d->attributes);
        hark_mpi_comm_release(d);
        *newcomm = MPI_COMM_NULL;
        return code;
    }
    *newcomm = HANDLE(MPI_Comm, d);
    return MPI_SUCCESS;
}

PUBLIC(Comm_dup)
int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, newcomm);
    int code = duplicate(c, newcomm, __func__);
#if MPI_VERSION < 4
    if (code == MPI_SUCCESS && c->info) COMM(*newcomm)->info = hark_mpi_info_copy(c->info);
#endif
    return code;
}

PUBLIC(Comm_dup_with_info)
int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, newcomm);
    int code = duplicate(c, newcomm, __func__);
    struct info *given = INFO(info);
    if (code == MPI_SUCCESS && given) hark_mpi_comm_hints(COMM(*newcomm), given);
    return code;
}

/* ---- duplicates that are complete later -------------------------------------------------------
 *
 * The first process of the communicator names the contexts, and sends them when it starts: no
 * process sends anything later, so none depends on what others wait for. */

struct contexts {
    uint32_t own, local; /* local: of an intercommunicator; own 0: there are none */
};

static void take_contexts(struct comm *d, struct contexts named)
{
    d->context = named.own;
    if (d->local) d->local->context = named.local;
}

static void land_contexts(struct hark_request *at, const void *payload, size_t length)
{
    struct request *r = (struct request *)((char *)at - offsetof(struct request, receive));
    struct contexts named;
    if (length != sizeof named) hark_mpi_fatal(1, "MPI_Comm_idup: a message of %zu bytes", length);
    memcpy(&named, payload, sizeof named);
    if (named.own) take_contexts(r->buffer, named);
    else r->status.MPI_ERROR = MPI_ERR_OTHER;
}

static int send_contexts(struct comm *c, struct group *to, struct contexts named, int tag)
{
    int status = HARK_A_OK;
    for (int i = 0; i < to->size && status >= 0; i++) {
        int rank = hark_mpi_group_world_rank(to, i);
        if (rank == hark_rank()) continue;
        status =
            hark_app_send(&named, sizeof named, rank, hark_mpi_context(c, OF_COLLECTIVES), tag);
    }
    return status;
}

static int name_contexts(struct comm *c, struct comm *d, int tag, MPI_Request *request)
{
    int own = hark_mpi_context_own(), local = c->remote ? hark_mpi_context_own() : 0;
    struct contexts named = {(uint32_t)own, (uint32_t)local};
    bool none = own < 0 || local < 0;
    if (none) named = (struct contexts){0};
    int status = send_contexts(c, c->group, named, tag);
    if (c->remote && status >= 0) status = send_contexts(c, c->remote, named, tag);
    *request = HANDLE(MPI_Request, &hark_mpi_request_done);
    if (none)
        return hark_mpi_error(c, MPI_ERR_OTHER, "MPI_Comm_idup",
            "this process has named all its contexts, %d of %d: duplicate with MPI_Comm_dup",
            CONTEXT_LIMIT / hark_size(), CONTEXT_LIMIT);
    take_contexts(d, named);
    return hark_mpi_status(c, status, "MPI_Comm_idup");
}

void hark_mpi_duplicate_post(struct request *r)
{
    r->receive = (struct hark_request){.from = r->peer,
        .tag = r->tag,
        .ctx = hark_mpi_context(r->comm, OF_COLLECTIVES),
        .room = sizeof(struct contexts),
        .land = land_contexts};
    r->receive.mask = hark_app_mask(r->tag, r->receive.ctx);
    hark_app_post(&r->receive);
}

struct comm *hark_mpi_duplicate_of(const struct request *r)
{
    return r->what == REQUEST_SEND && !r->synchronous && r->active && !r->done ? r->buffer : NULL;
}

static void await_contexts(struct comm *c, struct comm *d, int from, int tag, MPI_Request *request)
{
    struct request *r = hark_mpi_request_new(c);
    r->what = REQUEST_SEND; /* its receive is for the library: no part of its status */
    r->active = true;
    r->buffer = d;
    r->peer = from; /* a rank in the job */
    r->tag = tag;
    hark_mpi_duplicate_post(r);
    *request = HANDLE(MPI_Request, r);
}

/* There is no duplicate, and nothing to wait for. A message that names its contexts is not taken.
 */
static void give_up(struct comm *d, MPI_Comm *newcomm, MPI_Request *request)
{
    struct request *r = REQUEST(*request);
    hark_mpi_request_wait(r, "MPI_Comm_idup");
    hark_mpi_request_release(r);
    (void)hark_mpi_attributes_delete(&d->o, &d->attributes);
    hark_mpi_comm_release(d);
    *newcomm = MPI_COMM_NULL;
    *request = MPI_REQUEST_NULL;
}

static int duplicate_later(
    struct comm *c, MPI_Comm *newcomm, MPI_Request *request, const char *call)
{
    int tag = hark_mpi_coll_tag(c), first = hark_mpi_group_world_rank(c->group, 0);
    struct comm *d = hark_mpi_comm_make(
        hark_mpi_group_again(c->group), c->remote ? hark_mpi_group_again(c->remote) : NULL, 0);
    if (c->topology) d->topology = hark_mpi_topology_again(c->topology);
    if (c->local) d->local = hark_mpi_comm_make(hark_mpi_group_again(c->group), NULL, 0);
    if (c->remote && hark_mpi_group_world_rank(c->remote, 0) < first)
        first = hark_mpi_group_world_rank(c->remote, 0);
    *newcomm = HANDLE(MPI_Comm, d);
    int code = MPI_SUCCESS;
    if (first == hark_rank()) code = name_contexts(c, d, tag, request);
    else await_contexts(c, d, first, tag, request);
    if (code == MPI_SUCCESS) code = take_over(c, d, call);
    if (code) give_up(d, newcomm, request);
    return code;
}

PUBLIC(Comm_idup)
int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    NEED_COMM(c, comm);
    NEED(c, newcomm && request, MPI_ERR_ARG, "newcomm or request is NULL");
    return duplicate_later(c, newcomm, request, __func__);
}

PUBLIC(Comm_idup_with_info)
int PMPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request)
{
    NEED_COMM(c, comm);
    NEED(c, newcomm && request, MPI_ERR_ARG, "newcomm or request is NULL");
    const struct info *given = INFO(info);
    int code = duplicate_later(c, newcomm, request, __func__);
    if (code == MPI_SUCCESS && given) hark_mpi_comm_hints(COMM(*newcomm), given);
    return code;
}
