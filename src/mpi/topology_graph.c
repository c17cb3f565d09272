/* Graphs that all processes know: MPI_GRAPH. */
#include "topology.h"

static int check_graph(
    struct comm *c, int nodes, const int *index, const int *edge, const char *call)
{
    if (nodes < 0 || nodes > c->size)
        return hark_mpi_error(c, MPI_ERR_TOPOLOGY, call,
            "the graph has %d nodes, and the communicator %d processes", nodes, c->size);
    if (nodes > 0 && index == NULL) return hark_mpi_error(c, MPI_ERR_ARG, call, "index is NULL");
    for (int i = 0, last = 0; i < nodes; last = index[i++])
        if (index[i] < last)
            return hark_mpi_error(c, MPI_ERR_TOPOLOGY, call,
                "index[%d] is %d, and must be at least %d", i, index[i], last);
    int edges = nodes ? index[nodes - 1] : 0;
    if (edges > 0 && edge == NULL) return hark_mpi_error(c, MPI_ERR_ARG, call, "edges is NULL");
    for (int i = 0; i < edges; i++)
        if (edge[i] < 0 || edge[i] >= nodes)
            return hark_mpi_error(c, MPI_ERR_TOPOLOGY, call,
                "edges[%d] is %d, and the graph has nodes 0 .. %d", i, edge[i], nodes - 1);
    return MPI_SUCCESS;
}

static int first_edge(const struct topology *t, int node)
{
    return node ? t->index[node - 1] : 0;
}

static int degree(const struct topology *t, int node)
{
    return t->index[node] - first_edge(t, node);
}

static struct topology *graph_make(int nodes, const int *index, const int *edge, int rank)
{
    struct topology *t = hark_mpi_topology_make(MPI_GRAPH);
    t->nodes = nodes;
    t->index = hark_mpi_topology_copy(index, nodes);
    t->edge = hark_mpi_topology_copy(edge, index[nodes - 1]);
    t->in = t->out = degree(t, rank);
    t->source = hark_mpi_topology_copy(t->edge + first_edge(t, rank), t->in);
    t->destination = hark_mpi_topology_copy(t->source, t->in);
    return t;
}

PUBLIC(Graph_create)
int PMPI_Graph_create(
    MPI_Comm comm, int nnodes, const int index[], const int edges[], int reorder, MPI_Comm *newcomm)
{
    (void)reorder;
    NEED_COMM(c, comm);
    NEED_POINTER(c, newcomm);
    *newcomm = MPI_COMM_NULL;
    NEED_INTRA(c);
    int code = check_graph(c, nnodes, index, edges, __func__);
    if (code) return code;
    struct comm *d = hark_mpi_comm_of_first(c, nnodes, __func__, &code);
    *newcomm = d ? HANDLE(MPI_Comm, d) : MPI_COMM_NULL;
    if (d) d->topology = graph_make(nnodes, index, edges, d->rank);
    return code;
}

PUBLIC(Graph_map)
int PMPI_Graph_map(MPI_Comm comm, int nnodes, const int index[], const int edges[], int *newrank)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, newrank);
    NEED_INTRA(c);
    int code = check_graph(c, nnodes, index, edges, __func__);
    if (code) return code;
    *newrank = c->rank < nnodes ? c->rank : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

PUBLIC(Graphdims_get)
int PMPI_Graphdims_get(MPI_Comm comm, int *nnodes, int *nedges)
{
    NEED_COMM(c, comm);
    NEED_TOPOLOGY(c, t, MPI_GRAPH, "graph");
    NEED(c, nnodes && nedges, MPI_ERR_ARG, "nnodes or nedges is NULL");
    *nnodes = t->nodes;
    *nedges = t->index[t->nodes - 1];
    return MPI_SUCCESS;
}

PUBLIC(Graph_get)
int PMPI_Graph_get(MPI_Comm comm, int maxindex, int maxedges, int index[], int edges[])
{
    NEED_COMM(c, comm);
    NEED_TOPOLOGY(c, t, MPI_GRAPH, "graph");
    int all = t->index[t->nodes - 1];
    NEED(c, maxindex >= t->nodes && maxedges >= all, MPI_ERR_ARG,
        "there is room for %d nodes and %d edges, and the graph has %d and %d", maxindex, maxedges,
        t->nodes, all);
    hark_mpi_topology_give(index, t->index, t->nodes);
    hark_mpi_topology_give(edges, t->edge, all);
    return MPI_SUCCESS;
}

#define NEED_NODE(c, rank)                                                                         \
    NEED(c, (rank) >= 0 && (rank) < (c)->size, MPI_ERR_RANK,                                       \
        "the rank is %d, and the communicator has ranks 0 .. %d", rank, (c)->size - 1)

PUBLIC(Graph_neighbors_count)
int PMPI_Graph_neighbors_count(MPI_Comm comm, int rank, int *count)
{
    NEED_COMM(c, comm);
    NEED_TOPOLOGY(c, t, MPI_GRAPH, "graph");
    NEED_NODE(c, rank);
    NEED(c, count, MPI_ERR_ARG, "nneighbors is NULL");
    *count = degree(t, rank);
    return MPI_SUCCESS;
}

PUBLIC(Graph_neighbors)
int PMPI_Graph_neighbors(MPI_Comm comm, int rank, int room, int neighbors[])
{
    NEED_COMM(c, comm);
    NEED_TOPOLOGY(c, t, MPI_GRAPH, "graph");
    NEED_NODE(c, rank);
    int count = degree(t, rank);
    NEED(c, room >= count, MPI_ERR_ARG, "there is room for %d neighbors, and rank %d has %d", room,
        rank, count);
    NEED(c, neighbors || count == 0, MPI_ERR_ARG, "neighbors is NULL");
    hark_mpi_topology_give(neighbors, t->edge + first_edge(t, rank), count);
    return MPI_SUCCESS;
}
