/* Communicators: the objects, what programs ask about them, how they are freed, and the predefined
 * ones. */
#include <stdio.h>

#include "comm.h"

struct comm hark_mpi_world, hark_mpi_self;

struct comm *hark_mpi_comm_make(struct group *group, struct group *remote, uint32_t context)
{
    struct comm *c = hark_mpi_new(KIND_COMM, sizeof *c);
    c->group = group;
    c->remote = remote;
    c->rank = group->rank;
    c->size = group->size;
    c->context = context;
    c->errhandler = hark_mpi_world.errhandler;
    c->errhandler->o.references++;
    return c;
}

void hark_mpi_comm_release(struct comm *c)
{
    if (--c->o.references || c->o.predefined) return;
    if (c->outlives) hark_mpi_context_free_late(c->context);
    else if (c->context) hark_mpi_context_free(c->context);
    hark_mpi_group_release(c->group);
    if (c->remote) hark_mpi_group_release(c->remote);
    if (c->local) hark_mpi_comm_release(c->local);
    hark_mpi_errhandler_release(c->errhandler);
    if (c->topology) hark_mpi_topology_release(c->topology);
    if (c->info) hark_mpi_info_release(c->info);
    hark_mpi_delete(&c->o);
}

PUBLIC(Comm_size)
int PMPI_Comm_size(MPI_Comm comm, int *size)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, size);
    *size = c->size;
    return MPI_SUCCESS;
}

PUBLIC(Comm_rank)
int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, rank);
    *rank = c->rank;
    return MPI_SUCCESS;
}

PUBLIC(Comm_group)
int PMPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, group);
    *group = HANDLE(MPI_Group, hark_mpi_group_again(c->group));
    return MPI_SUCCESS;
}

PUBLIC(Comm_remote_group)
int PMPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, group);
    NEED(c, c->remote, MPI_ERR_COMM, "the communicator is no intercommunicator");
    *group = HANDLE(MPI_Group, hark_mpi_group_again(c->remote));
    return MPI_SUCCESS;
}

PUBLIC(Comm_remote_size)
int PMPI_Comm_remote_size(MPI_Comm comm, int *size)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, size);
    NEED(c, c->remote, MPI_ERR_COMM, "the communicator is no intercommunicator");
    *size = c->remote->size;
    return MPI_SUCCESS;
}

PUBLIC(Comm_test_inter)
int PMPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, flag);
    *flag = c->remote != NULL;
    return MPI_SUCCESS;
}

static int compare_groups(struct group *a, struct group *b)
{
    int result;
    PMPI_Group_compare(HANDLE(MPI_Group, a), HANDLE(MPI_Group, b), &result);
    return result == MPI_IDENT ? MPI_CONGRUENT : result;
}

PUBLIC(Comm_compare)
int PMPI_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int *result)
{
    NEED_COMM(a, comm1);
    NEED_COMM(b, comm2);
    NEED_POINTER(a, result);
    *result = MPI_UNEQUAL;
    if (a == b) *result = MPI_IDENT;
    if (a == b || !a->remote != !b->remote) return MPI_SUCCESS;
    int local = compare_groups(a->group, b->group);
    int remote = a->remote ? compare_groups(a->remote, b->remote) : MPI_CONGRUENT;
    if (local == MPI_UNEQUAL || remote == MPI_UNEQUAL) return MPI_SUCCESS;
    *result = local == MPI_SIMILAR || remote == MPI_SIMILAR ? MPI_SIMILAR : MPI_CONGRUENT;
    return MPI_SUCCESS;
}

PUBLIC(Comm_free)
int PMPI_Comm_free(MPI_Comm *comm)
{
    NEED_POINTER(NULL, comm);
    NEED_COMM(c, *comm);
    NEED(c, !c->o.predefined, MPI_ERR_COMM, "a predefined communicator can not be freed");
    int code = hark_mpi_attributes_delete(&c->o, &c->attributes);
    NEED(c, code == MPI_SUCCESS, code,
        "the delete function of an attribute has failed with code %d", code);
    c->outlives = c->o.references > 1;
    hark_mpi_comm_release(c);
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

PUBLIC(Comm_disconnect)
int PMPI_Comm_disconnect(MPI_Comm *comm)
{
    NEED_POINTER(NULL, comm);
    NEED_COMM(c, *comm);
    int code = PMPI_Barrier(*comm);
    return code ? code : PMPI_Comm_free(comm);
}

PUBLIC(Comm_set_name)
int PMPI_Comm_set_name(MPI_Comm comm, const char *name)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, name);
    snprintf(c->name, sizeof c->name, "%s", name);
    return MPI_SUCCESS;
}

PUBLIC(Comm_get_name)
int PMPI_Comm_get_name(MPI_Comm comm, char *name, int *length)
{
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    if (comm == MPI_COMM_NULL && name && length) { /* has a name since MPI 4.1 */
        *length = (int)strlen(strcpy(name, "MPI_COMM_NULL"));
        return MPI_SUCCESS;
    }
#endif
    NEED_COMM(c, comm);
    NEED_POINTER(c, name && length);
    *length = (int)strlen(c->name);
    memcpy(name, c->name, (size_t)*length + 1);
    return MPI_SUCCESS;
}

/* ---- the predefined ones ----------------------------------------------------------------------
 */

static void predefine(
    struct comm *c, struct group *g, MPI_Comm handle, uint32_t context, const char *name)
{
    hark_mpi_predefine(&c->o, KIND_COMM, BITS(handle));
    c->group = g;
    c->rank = g->rank;
    c->size = g->size;
    c->context = context;
    c->errhandler = ERRHANDLER(MPI_ERRORS_ARE_FATAL);
    snprintf(c->name, sizeof c->name, "%s", name);
    hark_mpi_context_mark(context, true);
}

void hark_mpi_predefine_comms(void)
{
    static int self;
    self = hark_rank();
    hark_mpi_group_world = (struct group){.size = hark_size(), .rank = self};
    hark_mpi_group_self = (struct group){.size = 1, .world = &self};
    hark_mpi_group_empty = (struct group){.rank = MPI_UNDEFINED};
    hark_mpi_own(&hark_mpi_group_world.o, KIND_GROUP, sizeof(struct group));
    hark_mpi_own(&hark_mpi_group_self.o, KIND_GROUP, sizeof(struct group));
    hark_mpi_predefine(&hark_mpi_group_empty.o, KIND_GROUP, BITS(MPI_GROUP_EMPTY));
    hark_mpi_context_mark(CONTEXT_APP, true);
    predefine(
        &hark_mpi_world, &hark_mpi_group_world, MPI_COMM_WORLD, CONTEXT_WORLD, "MPI_COMM_WORLD");
    predefine(&hark_mpi_self, &hark_mpi_group_self, MPI_COMM_SELF, CONTEXT_SELF, "MPI_COMM_SELF");
}
