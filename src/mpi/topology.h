/* topology.h: grids, graphs, and graphs of which each process knows its own neighbours: inside
 * topology*.c. Processes keep their ranks: a request to reorder them is heeded by not doing it. */
#ifndef HARK_MPI_TOPOLOGY_H
#define HARK_MPI_TOPOLOGY_H

#include "internal.h"

struct topology {
    uint32_t references;
    int kind; /* MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH */
    int dims; /* of a grid */
    int *dim, *periodic;
    int nodes; /* of a graph: `index[i]` edges end behind those of node i */
    int *index, *edge;
    /* of this process, by all kinds */
    int in, out;
    int *source, *destination;
    bool weighted; /* MPI_DIST_GRAPH */
    int *source_weight, *destination_weight;
};

/* With one reference, and nothing in it. */
struct topology *hark_mpi_topology_make(int kind);
/* Memory of malloc. */
int *hark_mpi_topology_copy(const int *from, int count);
static inline void hark_mpi_topology_give(int *to, const int *from, int count)
{
    if (count > 0) memcpy(to, from, (size_t)count * sizeof *to);
}

#define NEED_POINTER(c, p) NEED(c, p, MPI_ERR_ARG, #p " is NULL")
#define NEED_INTRA(c)                                                                              \
    NEED(c, !(c)->remote, MPI_ERR_COMM, "the communicator is an intercommunicator")
#define NEED_TOPOLOGY(c, t, which, text)                                                           \
    const struct topology *t = (c)->topology;                                                      \
    NEED(c, t && t->kind == (which), MPI_ERR_TOPOLOGY, "the communicator has no " text)

#endif
