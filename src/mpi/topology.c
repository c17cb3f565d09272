/* Topologies: what all kinds of them have. */
#include "topology.h"

void hark_mpi_topology_release(struct topology *t)
{
    if (--t->references) return;
    int *owned[] = {t->dim, t->periodic, t->index, t->edge, t->source, t->destination,
        t->source_weight, t->destination_weight};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    free(t);
}

struct topology *hark_mpi_topology_again(struct topology *t)
{
    t->references++;
    return t;
}

struct topology *hark_mpi_topology_make(int kind)
{
    struct topology *t = hark_mpi_memory(sizeof *t);
    *t = (struct topology){.references = 1, .kind = kind};
    return t;
}

int *hark_mpi_topology_copy(const int *from, int count)
{
    int *copy = hark_mpi_memory((size_t)count * sizeof *copy);
    if (count) memcpy(copy, from, (size_t)count * sizeof *copy);
    return copy;
}

int hark_mpi_neighbours(
    struct comm *c, int *in, const int **sources, int *out, const int **destinations)
{
    const struct topology *t = c->topology;
    if (t == NULL) return -1;
    *in = t->in;
    *out = t->out;
    *sources = t->source;
    *destinations = t->destination;
    return 0;
}

PUBLIC(Topo_test)
int PMPI_Topo_test(MPI_Comm comm, int *status)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, status);
    *status = c->topology ? c->topology->kind : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

/* ---- checkpoints ------------------------------------------------------------------------------
 */

enum { ARRAYS = 8 };
struct arrays {
    int **at[ARRAYS];
    int count[ARRAYS];
};

/* `edges`: of a graph, all in it. */
static struct arrays arrays_of(struct topology *t, int edges)
{
    return (struct arrays){{&t->dim, &t->periodic, &t->index, &t->edge, &t->source, &t->destination,
                               &t->source_weight, &t->destination_weight},
        {t->dims, t->dims, t->nodes, edges, t->in, t->out, t->in, t->out}};
}

void hark_mpi_topology_put(
    const struct topology *given, void (*put)(const void *from, size_t length))
{
    struct topology t = {0};
    if (given) t = *given;
    int edges = t.nodes > 0 ? t.index[t.nodes - 1] : 0;
    const int32_t head[] = {given != NULL, t.kind, t.dims, t.nodes, edges, t.in, t.out, t.weighted};
    put(head, sizeof head);
    struct arrays a = arrays_of(&t, edges);
    for (int i = 0; given && i < ARRAYS; i++) {
        const int32_t there = *a.at[i] != NULL;
        put(&there, sizeof there);
        if (there) put(*a.at[i], (size_t)a.count[i] * sizeof(int));
    }
}

struct topology *hark_mpi_topology_get(void (*get)(void *to, size_t length))
{
    int32_t head[8];
    get(head, sizeof head);
    if (!head[0]) return NULL;
    struct topology *t = hark_mpi_topology_make(head[1]);
    t->dims = head[2];
    t->nodes = head[3];
    t->in = head[5];
    t->out = head[6];
    t->weighted = head[7];
    struct arrays a = arrays_of(t, head[4]);
    for (int i = 0; i < ARRAYS; i++) {
        int32_t there;
        get(&there, sizeof there);
        if (!there) continue;
        *a.at[i] = hark_mpi_memory((size_t)a.count[i] * sizeof(int));
        get(*a.at[i], (size_t)a.count[i] * sizeof(int));
    }
    return t;
}
