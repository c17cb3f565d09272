/* Groups: ordered sets of processes, by their ranks in the job. */
#include "internal.h"

struct group hark_mpi_group_world, hark_mpi_group_self, hark_mpi_group_empty;

struct group *hark_mpi_group_make(int size, int *world)
{
    if (size == 0) {
        free(world);
        hark_mpi_group_empty.o.references++;
        return &hark_mpi_group_empty;
    }
    struct group *g = hark_mpi_new(KIND_GROUP, sizeof *g);
    g->size = size;
    g->world = world;
    g->rank = MPI_UNDEFINED;
    for (int i = 0; i < size; i++)
        if (world[i] == hark_rank()) g->rank = i;
    return g;
}

void hark_mpi_group_release(struct group *g)
{
    if (--g->o.references || g->o.predefined) return;
    free((void *)(uintptr_t)g->world);
    free(g->local);
    hark_mpi_delete(&g->o);
}

int hark_mpi_group_local_rank(struct group *g, int world)
{
    if (g->world == NULL) return world < g->size ? world : MPI_UNDEFINED;
    if (g->size == 1) return g->world[0] == world ? 0 : MPI_UNDEFINED;
    if (g->local == NULL) {
        int ranks = hark_size();
        g->local = hark_mpi_memory((size_t)ranks * sizeof *g->local);
        for (int i = 0; i < ranks; i++) g->local[i] = MPI_UNDEFINED;
        for (int i = 0; i < g->size; i++) g->local[g->world[i]] = i;
    }
    return g->local[world];
}

#define NEED_GROUP(g, handle)                                                                      \
    NEED_OPEN();                                                                                   \
    struct group *g = GROUP(handle);                                                               \
    NEED(NULL, g, MPI_ERR_GROUP, "%s",                                                             \
        (handle) == MPI_GROUP_NULL ? "the group is MPI_GROUP_NULL"                                 \
                                   : "the group is not valid: was it freed?")
#define NEED_POINTER(p) NEED(NULL, p, MPI_ERR_ARG, #p " is NULL")

PUBLIC(Group_size)
int PMPI_Group_size(MPI_Group group, int *size)
{
    NEED_GROUP(g, group);
    NEED_POINTER(size);
    *size = g->size;
    return MPI_SUCCESS;
}

PUBLIC(Group_rank)
int PMPI_Group_rank(MPI_Group group, int *rank)
{
    NEED_GROUP(g, group);
    NEED_POINTER(rank);
    *rank = g->rank;
    return MPI_SUCCESS;
}

PUBLIC(Group_free)
int PMPI_Group_free(MPI_Group *group)
{
    NEED_POINTER(group);
    NEED_GROUP(g, *group);
    hark_mpi_group_release(g);
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

PUBLIC(Group_translate_ranks)
int PMPI_Group_translate_ranks(
    MPI_Group group1, int n, const int ranks1[], MPI_Group group2, int ranks2[])
{
    NEED_GROUP(from, group1);
    NEED_GROUP(to, group2);
    NEED(NULL, n >= 0, MPI_ERR_ARG, "the number of ranks is %d", n);
    NEED(NULL, (ranks1 && ranks2) || n == 0, MPI_ERR_ARG, "ranks1 or ranks2 is NULL");
    for (int i = 0; i < n; i++) {
        if (ranks1[i] == MPI_PROC_NULL) {
            ranks2[i] = MPI_PROC_NULL;
            continue;
        }
        NEED(NULL, ranks1[i] >= 0 && ranks1[i] < from->size, MPI_ERR_RANK,
            "ranks1[%d] is %d, and the group has ranks 0 .. %d", i, ranks1[i], from->size - 1);
        ranks2[i] = hark_mpi_group_local_rank(to, hark_mpi_group_world_rank(from, ranks1[i]));
    }
    return MPI_SUCCESS;
}

PUBLIC(Group_compare)
int PMPI_Group_compare(MPI_Group group1, MPI_Group group2, int *result)
{
    NEED_GROUP(a, group1);
    NEED_GROUP(b, group2);
    NEED_POINTER(result);
    *result = a->size == b->size ? MPI_IDENT : MPI_UNEQUAL;
    for (int i = 0; i < a->size && *result != MPI_UNEQUAL; i++) {
        int other = hark_mpi_group_local_rank(b, hark_mpi_group_world_rank(a, i));
        if (other == MPI_UNDEFINED) *result = MPI_UNEQUAL;
        else if (other != i) *result = MPI_SIMILAR;
    }
    return MPI_SUCCESS;
}

/* ---- new groups of old ones -------------------------------------------------------------------
 */

static MPI_Group handle_of(int size, int *world)
{
    return HANDLE(MPI_Group, hark_mpi_group_make(size, world));
}

static int *ranks_for(int size)
{
    return hark_mpi_memory((size_t)size * sizeof(int));
}

PUBLIC(Group_union)
int PMPI_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    NEED_GROUP(a, group1);
    NEED_GROUP(b, group2);
    NEED_POINTER(newgroup);
    int n = 0, *world = ranks_for(a->size + b->size);
    for (int i = 0; i < a->size; i++) world[n++] = hark_mpi_group_world_rank(a, i);
    for (int i = 0; i < b->size; i++) {
        int rank = hark_mpi_group_world_rank(b, i);
        if (hark_mpi_group_local_rank(a, rank) == MPI_UNDEFINED) world[n++] = rank;
    }
    *newgroup = handle_of(n, world);
    return MPI_SUCCESS;
}

/* The processes of a that are in b, or are not. */
static MPI_Group filtered(struct group *a, struct group *b, bool in)
{
    int n = 0, *world = ranks_for(a->size);
    for (int i = 0; i < a->size; i++) {
        int rank = hark_mpi_group_world_rank(a, i);
        if ((hark_mpi_group_local_rank(b, rank) != MPI_UNDEFINED) == in) world[n++] = rank;
    }
    return handle_of(n, world);
}

PUBLIC(Group_intersection)
int PMPI_Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    NEED_GROUP(a, group1);
    NEED_GROUP(b, group2);
    NEED_POINTER(newgroup);
    *newgroup = filtered(a, b, true);
    return MPI_SUCCESS;
}

PUBLIC(Group_difference)
int PMPI_Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    NEED_GROUP(a, group1);
    NEED_GROUP(b, group2);
    NEED_POINTER(newgroup);
    *newgroup = filtered(a, b, false);
    return MPI_SUCCESS;
}

/* For each rank of g how often it is in the list; -1 at its place if one is out of range, with its
 * index in *bad, or is there twice. */
static bool marked(const struct group *g, int n, const int ranks[], uint8_t *mark, int *bad)
{
    memset(mark, 0, (size_t)g->size);
    for (*bad = 0; *bad < n; ++*bad) {
        int rank = ranks[*bad];
        if (rank < 0 || rank >= g->size || mark[rank]) return false;
        mark[rank] = 1;
    }
    return true;
}

static int subset(
    struct group *g, int n, const int ranks[], bool include, MPI_Group *newgroup, const char *call)
{
    int bad;
    if (n > 0 && ranks == NULL) return hark_mpi_error(NULL, MPI_ERR_ARG, call, "ranks is NULL");
    uint8_t *mark = hark_mpi_memory((size_t)g->size);
    if (n < 0 || !marked(g, n, ranks, mark, &bad)) {
        free(mark);
        if (n < 0) return hark_mpi_error(NULL, MPI_ERR_ARG, call, "the number of ranks is %d", n);
        return hark_mpi_error(NULL, MPI_ERR_RANK, call,
            "ranks[%d] is %d: not a rank of the group, which has %d, or there twice", bad,
            ranks[bad], g->size);
    }
    int count = 0, *world = ranks_for(g->size);
    for (int i = 0; i < (include ? n : g->size); i++)
        if (include) world[count++] = hark_mpi_group_world_rank(g, ranks[i]);
        else if (!mark[i]) world[count++] = hark_mpi_group_world_rank(g, i);
    free(mark);
    *newgroup = handle_of(count, world);
    return MPI_SUCCESS;
}

PUBLIC(Group_incl)
int PMPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
    NEED_GROUP(g, group);
    NEED_POINTER(newgroup);
    return subset(g, n, ranks, true, newgroup, __func__);
}

PUBLIC(Group_excl)
int PMPI_Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
    NEED_GROUP(g, group);
    NEED_POINTER(newgroup);
    return subset(g, n, ranks, false, newgroup, __func__);
}

/* The ranks of triplets first, last, stride; how many in *count. NULL: a stride is 0, or there are
 * more than the group has. */
static int *ranks_of_ranges(const struct group *g, int n, int ranges[][3], int *count)
{
    int *ranks = ranks_for(g->size + 1);
    *count = 0;
    for (int i = 0; i < n; i++) {
        int first = ranges[i][0], last = ranges[i][1], stride = ranges[i][2];
        if (stride == 0 || (stride > 0 ? first > last : first < last)) {
            free(ranks);
            return NULL;
        }
        for (int64_t r = first; stride > 0 ? r <= last : r >= last; r += stride) {
            if (*count == g->size || r < 0 || r >= g->size) {
                free(ranks);
                return NULL;
            }
            ranks[(*count)++] = (int)r;
        }
    }
    return ranks;
}

static int range_subset(
    struct group *g, int n, int ranges[][3], bool include, MPI_Group *newgroup, const char *call)
{
    if (n > 0 && ranges == NULL) return hark_mpi_error(NULL, MPI_ERR_ARG, call, "ranges is NULL");
    int count, *ranks = n < 0 ? NULL : ranks_of_ranges(g, n, ranges, &count);
    if (ranks == NULL)
        return hark_mpi_error(NULL, MPI_ERR_ARG, call,
            "a range is empty, has stride 0, or goes beyond the ranks of the group, 0 .. %d",
            g->size - 1);
    int code = subset(g, count, ranks, include, newgroup, call);
    free(ranks);
    return code;
}

PUBLIC(Group_range_incl)
int PMPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    NEED_GROUP(g, group);
    NEED_POINTER(newgroup);
    return range_subset(g, n, ranges, true, newgroup, __func__);
}

PUBLIC(Group_range_excl)
int PMPI_Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    NEED_GROUP(g, group);
    NEED_POINTER(newgroup);
    return range_subset(g, n, ranges, false, newgroup, __func__);
}
