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
