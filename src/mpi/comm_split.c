/* Communicators of some of the processes of another one: split by color and key, by what processes
 * share, or by a group. */
#include <unistd.h>

#include "comm.h"

struct comm *hark_mpi_comm_of_first(struct comm *c, int size, const char *call, int *code)
{
    int context = hark_mpi_context_agree(c);
    *code = MPI_SUCCESS;
    if (context < 0) {
        *code = hark_mpi_error(c, MPI_ERR_OTHER, call, "there is no context for one more");
        return NULL;
    }
    if (c->rank >= size) {
        hark_mpi_context_free((uint32_t)context);
        return NULL;
    }
    int *world = hark_mpi_memory((size_t)size * sizeof *world);
    for (int i = 0; i < size; i++) world[i] = hark_mpi_group_world_rank(c->group, i);
    struct comm *d = hark_mpi_comm_make(hark_mpi_group_make(size, world), NULL, (uint32_t)context);
    hark_mpi_errhandler_replace(&d->errhandler, c->errhandler);
    return d;
}

/* The part of group g that is in this process's place: those that gave its color, by key and
 * rank. */
struct place {
    int color, key, rank;
};

static int by_key(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static struct group *part_of(const struct group *g, const struct place *all, int color)
{
    int n = 0, *world = hark_mpi_memory((size_t)g->size * sizeof *world);
    struct place *mine = hark_mpi_memory((size_t)g->size * sizeof *mine);
    for (int i = 0; i < g->size; i++)
        if (all[i].color == color) mine[n] = all[i], mine[n++].rank = i;
    qsort(mine, (size_t)n, sizeof *mine, by_key);
    for (int i = 0; i < n; i++) world[i] = hark_mpi_group_world_rank(g, mine[i].rank);
    free(mine);
    return hark_mpi_group_make(n, world);
}

static int processes_of(const struct comm *c)
{
    return c->size + (c->remote ? c->remote->size : 0);
}

/* What each has: all of this process's group, and of an intercommunicator the others behind. */
static int gather(struct comm *c, const void *mine, int bytes, void *all)
{
    MPI_Comm comm = HANDLE(MPI_Comm, c->remote ? c->local : c);
    int code = PMPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm);
    if (code || c->remote == NULL) return code;
    uint8_t *others = (uint8_t *)all + (size_t)c->size * (size_t)bytes;
    return PMPI_Allgather(mine, bytes, MPI_BYTE, others, bytes, MPI_BYTE, HANDLE(MPI_Comm, c));
}

/* Contexts of all parts at once: they are disjoint, and so one number serves all. */
static int split(struct comm *c, int color, int key, MPI_Comm *newcomm, const char *call)
{
    struct place mine = {color, key, c->rank};
    int code;
    struct place *local = hark_mpi_memory((size_t)processes_of(c) * sizeof *local);
    struct place *remote = local + c->size;
    *newcomm = MPI_COMM_NULL;
    code = gather(c, &mine, sizeof mine, local);
    int context = code ? -1 : hark_mpi_context_agree(c);
    MPI_Comm own = MPI_COMM_NULL;
    if (code == MPI_SUCCESS && c->remote)
        code = PMPI_Comm_split(HANDLE(MPI_Comm, c->local), color, key, &own);
    if (code == MPI_SUCCESS && context < 0)
        code = hark_mpi_error(c, MPI_ERR_OTHER, call, "there is no context for one more");
    if (code == MPI_SUCCESS && color == MPI_UNDEFINED) hark_mpi_context_free((uint32_t)context);
    if (code == MPI_SUCCESS && color != MPI_UNDEFINED) {
        struct group *g = part_of(c->group, local, color);
        struct group *r = c->remote ? part_of(c->remote, remote, color) : NULL;
        if (r && r->size == 0) {
            hark_mpi_group_release(g);
            hark_mpi_group_release(r);
            hark_mpi_context_free((uint32_t)context);
            PMPI_Comm_free(&own);
        } else {
            struct comm *d = hark_mpi_comm_make(g, r, (uint32_t)context);
            if (r) d->local = COMM(own);
            hark_mpi_errhandler_replace(&d->errhandler, c->errhandler);
            *newcomm = HANDLE(MPI_Comm, d);
        }
    }
    free(local);
    return code;
}

PUBLIC(Comm_split)
int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, newcomm);
    NEED(c, color >= 0 || color == MPI_UNDEFINED, MPI_ERR_ARG,
        "the color is %d, and must be MPI_UNDEFINED or at least 0", color);
    return split(c, color, key, newcomm, __func__);
}

#if defined(HARK_MPI_MPICH)
/* Those that reach the directory. */
static int color_of_directory(const struct info *hints)
{
    const char *name = hints ? hark_mpi_info_value(hints, "nbhd_common_dirname") : NULL;
    return name && access(name, F_OK) == 0 ? 0 : MPI_UNDEFINED;
}
#endif

#if defined(MPI_COMM_TYPE_RESOURCE_GUIDED)
/* The processes of a set that sessions know. */
static int color_of_set(const struct info *hints)
{
    const char *name = hints ? hark_mpi_info_value(hints, "mpi_pset_name") : NULL;
    if (name && strcmp(name, "mpi://WORLD") == 0) return 0;
    if (name && strcmp(name, "mpi://SELF") == 0) return hark_mpi_world.rank;
    return MPI_UNDEFINED;
}
#endif

/* Colors that depend on where the processes are. */
enum {
    NO_KIND = INT_MIN,
    OF_HOST,            /* those of one host */
    OF_HOST_IF_SEVERAL, /* the same, but none if all are on one */
};

/* No process is bound to a part of its host: there is nothing smaller that only some share. */
static int color_of_kind(int kind, const struct info *hints)
{
    (void)hints;
#if MPI_VERSION >= 4
    const char *resource = hints ? hark_mpi_info_value(hints, "mpi_hw_resource_type") : NULL;
    if (kind == MPI_COMM_TYPE_HW_UNGUIDED) return OF_HOST_IF_SEVERAL;
    if (kind == MPI_COMM_TYPE_HW_GUIDED)
        return resource && strcmp(resource, "mpi_shared_memory") == 0 ? OF_HOST : MPI_UNDEFINED;
#endif
#if defined(MPI_COMM_TYPE_RESOURCE_GUIDED)
    if (kind == MPI_COMM_TYPE_RESOURCE_GUIDED)
        return resource ? color_of_kind(MPI_COMM_TYPE_HW_GUIDED, hints) : color_of_set(hints);
#endif
#if defined(HARK_MPI_MPICH)
    if (kind == MPIX_COMM_TYPE_NEIGHBORHOOD) return color_of_directory(hints);
#elif defined(HARK_MPI_OPENMPI)
    if (kind == OMPI_COMM_TYPE_CU || kind == OMPI_COMM_TYPE_CLUSTER) return 0;
    if (kind >= OMPI_COMM_TYPE_HWTHREAD && kind <= OMPI_COMM_TYPE_HOST) return OF_HOST;
#endif
    return kind == MPI_COMM_TYPE_SHARED ? OF_HOST : kind == MPI_UNDEFINED ? MPI_UNDEFINED : NO_KIND;
}

static uint64_t digest_of_host(void)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (const char *at = hark_app.host; *at; at++)
        digest = (digest ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
    return digest;
}

/* The lowest rank in the job of those on the host of this process, as it was when the job began: a
 * process that executes again on another host splits as before. All take part, also those that do
 * not ask for it: not all need give the same split_type. */
static int find_host(struct comm *c, int *lowest, bool *several)
{
    const int n = processes_of(c);
    const uint64_t mine = digest_of_host();
    uint64_t *all = hark_mpi_memory((size_t)n * sizeof *all);
    int code = gather(c, &mine, sizeof mine, all);
    *lowest = INT_MAX;
    *several = false;
    for (int i = 0; i < n && code == MPI_SUCCESS; i++) {
        int world = i < c->size ? hark_mpi_group_world_rank(c->group, i)
                                : hark_mpi_group_world_rank(c->remote, i - c->size);
        if (all[i] != mine) *several = true;
        else if (world < *lowest) *lowest = world;
    }
    free(all);
    return code;
}

PUBLIC(Comm_split_type)
int PMPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, newcomm);
    int color = color_of_kind(split_type, INFO(info)), host;
    bool several;
    NEED(c, color != NO_KIND, MPI_ERR_ARG, "there is no split_type %d", split_type);
    *newcomm = MPI_COMM_NULL;
    int code = find_host(c, &host, &several);
    if (code) return code;
    if (color == OF_HOST || color == OF_HOST_IF_SEVERAL)
        color = several || color == OF_HOST ? host : MPI_UNDEFINED;
    return split(c, color, key, newcomm, __func__);
}

#define FOREIGN "the group has a process that is not in the communicator"
/* Of the group's process i. */
static int rank_in(const struct comm *c, const struct group *g, int i)
{
    return hark_mpi_group_local_rank(c->group, hark_mpi_group_world_rank(g, i));
}

/* Of a communicator's processes those in `group`; each names a group that it is in, or the same as
 * all. As a split: the color is the lowest rank of the group, the key the place in it. */
PUBLIC(Comm_create)
int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, newcomm);
    struct group *g = GROUP(group);
    NEED(c, g, MPI_ERR_GROUP, "the group is not valid");
    int color = MPI_UNDEFINED;
    for (int i = 0; i < g->size; i++) {
        int rank = rank_in(c, g, i);
        NEED(c, rank != MPI_UNDEFINED, MPI_ERR_GROUP, FOREIGN);
        if (g->rank != MPI_UNDEFINED && (color == MPI_UNDEFINED || rank < color)) color = rank;
    }
    /* Between two groups there is one new communicator: what they choose meets in one color. */
    if (c->remote && color != MPI_UNDEFINED) color = 0;
    return split(c, color, g->rank == MPI_UNDEFINED ? 0 : g->rank, newcomm, __func__);
}

PUBLIC(Comm_create_group)
int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, newcomm);
    struct group *g = GROUP(group);
    NEED(c, g, MPI_ERR_GROUP, "the group is not valid");
    NEED_TAG(c, tag);
    *newcomm = MPI_COMM_NULL;
    if (g->rank == MPI_UNDEFINED) return MPI_SUCCESS;
    for (int i = 0; i < g->size; i++)
        NEED(c, rank_in(c, g, i) != MPI_UNDEFINED, MPI_ERR_GROUP, FOREIGN);
    int context = hark_mpi_context_agree_group(c, g, tag);
    if (context < 0) return NO_CONTEXT(c);
    struct comm *d = hark_mpi_comm_make(hark_mpi_group_again(g), NULL, (uint32_t)context);
    hark_mpi_errhandler_replace(&d->errhandler, c->errhandler);
    *newcomm = HANDLE(MPI_Comm, d);
    return MPI_SUCCESS;
}
