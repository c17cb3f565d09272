/* Graphs of which each process knows its own neighbours: MPI_DIST_GRAPH. */
#include "topology.h"

static int check_ranks(
    struct comm *c, int count, const int *rank, const char *name, const char *call)
{
    if (count < 0)
        return hark_mpi_error(
            c, MPI_ERR_ARG, call, "the number of %s is %d, and must not be negative", name, count);
    if (count > 0 && rank == NULL) return hark_mpi_error(c, MPI_ERR_ARG, call, "%s is NULL", name);
    for (int i = 0; i < count; i++)
        if (rank[i] < 0 || rank[i] >= c->size)
            return hark_mpi_error(c, MPI_ERR_RANK, call,
                "%s[%d] is %d, and the communicator has ranks 0 .. %d", name, i, rank[i],
                c->size - 1);
    return MPI_SUCCESS;
}

static int check_weights(
    struct comm *c, int count, const int *weight, const char *name, const char *call)
{
    if (weight == MPI_UNWEIGHTED || (weight == MPI_WEIGHTS_EMPTY && count == 0)) return MPI_SUCCESS;
    if (weight == MPI_WEIGHTS_EMPTY || (weight == NULL && count > 0))
        return hark_mpi_error(c, MPI_ERR_ARG, call, "%s has no weights for %d edges", name, count);
    for (int i = 0; i < count; i++)
        if (weight[i] < 0)
            return hark_mpi_error(
                c, MPI_ERR_ARG, call, "%s[%d] is %d, and must not be negative", name, i, weight[i]);
    return MPI_SUCCESS;
}

/* The weights of a graph that has some: memory of malloc. */
static int *weights_of(const int *weight, int count)
{
    if (weight == MPI_UNWEIGHTED) return NULL;
    return hark_mpi_topology_copy(weight, weight == MPI_WEIGHTS_EMPTY ? 0 : count);
}

static int place_graph(struct comm *c, struct topology *t, MPI_Comm *newcomm, const char *call)
{
    int code;
    struct comm *d = hark_mpi_comm_of_first(c, c->size, call, &code);
    *newcomm = d ? HANDLE(MPI_Comm, d) : MPI_COMM_NULL;
    if (d) d->topology = t;
    else hark_mpi_topology_release(t);
    return code;
}

PUBLIC(Dist_graph_create_adjacent)
int PMPI_Dist_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[],
    const int sourceweights[], int outdegree, const int destinations[], const int destweights[],
    MPI_Info info, int reorder, MPI_Comm *newcomm)
{
    (void)info;
    (void)reorder;
    NEED_COMM(c, comm);
    NEED_POINTER(c, newcomm);
    *newcomm = MPI_COMM_NULL;
    NEED_INTRA(c);
    int code = check_ranks(c, indegree, sources, "sources", __func__);
    if (!code) code = check_ranks(c, outdegree, destinations, "destinations", __func__);
    if (!code) code = check_weights(c, indegree, sourceweights, "sourceweights", __func__);
    if (!code) code = check_weights(c, outdegree, destweights, "destweights", __func__);
    if (code) return code;
    struct topology *t = hark_mpi_topology_make(MPI_DIST_GRAPH);
    t->in = indegree;
    t->out = outdegree;
    t->source = hark_mpi_topology_copy(sources, indegree);
    t->destination = hark_mpi_topology_copy(destinations, outdegree);
    t->weighted = sourceweights != MPI_UNWEIGHTED;
    t->source_weight = weights_of(sourceweights, indegree);
    t->destination_weight = weights_of(destweights, outdegree);
    return place_graph(c, t, newcomm, __func__);
}

/* What a process gives of the graph: an edge. */
struct edge {
    int source, destination, weight;
};

/* Sends each process the edges that it is an end of, and receives those that others give of this
 * one, in the order of the ranks of who gives them. NULL: *code has an error that was raised. */
static struct edge *exchange_edges(
    struct comm *c, const struct edge *edge, int count, int *received, int *code, const char *call)
{
    int tag = hark_mpi_coll_tag(c), room = 0, status = HARK_A_OK;
    struct edge *part = hark_mpi_memory((size_t)count * sizeof *part), *all = NULL;
    for (int to = 0; to < c->size && status >= 0; to++) {
        int n = 0;
        for (int i = 0; i < count; i++)
            if (edge[i].source == to || edge[i].destination == to) part[n++] = edge[i];
        status = hark_mpi_coll_send(c, &n, sizeof n, to, tag);
        if (n && status >= 0)
            status = hark_mpi_coll_send(c, part, (size_t)n * sizeof *part, to, tag);
    }
    *received = 0;
    for (int from = 0; from < c->size && status >= 0; from++) {
        int n = 0;
        status = hark_mpi_coll_recv(c, &n, sizeof n, from, tag);
        if (status < 0 || n == 0) continue;
        room = *received + n;
        all = realloc(all, (size_t)room * sizeof *all);
        if (all == NULL) hark_mpi_fatal(1, "no memory for a graph");
        status = hark_mpi_coll_recv(c, all + *received, (size_t)n * sizeof *all, from, tag);
        *received = room;
    }
    free(part);
    *code = hark_mpi_status(c, status, call);
    return all;
}

/* Of the edges those that end here, or begin here. */
static void pick(
    const struct edge *edge, int count, int rank, bool in, int *picked, int **other, int **weight)
{
    *other = hark_mpi_memory((size_t)count * sizeof **other);
    *weight = hark_mpi_memory((size_t)count * sizeof **weight);
    *picked = 0;
    for (int i = 0; i < count; i++) {
        if ((in ? edge[i].destination : edge[i].source) != rank) continue;
        (*other)[*picked] = in ? edge[i].source : edge[i].destination;
        (*weight)[(*picked)++] = edge[i].weight;
    }
}

/* The edges that this process gives. NULL: *code has an error that was raised. */
static struct edge *edges_given(struct comm *c, int n, const int *source, const int *degrees,
    const int *destination, const int *weight, int *count, int *code, const char *call)
{
    *code = check_ranks(c, n, source, "sources", call);
    if (!*code && n > 0 && degrees == NULL)
        *code = hark_mpi_error(c, MPI_ERR_ARG, call, "degrees is NULL");
    *count = 0;
    for (int i = 0; i < n && !*code; i++) {
        if (degrees[i] < 0)
            *code = hark_mpi_error(
                c, MPI_ERR_ARG, call, "degrees[%d] is %d, and must not be negative", i, degrees[i]);
        else *count += degrees[i];
    }
    if (!*code) *code = check_ranks(c, *count, destination, "destinations", call);
    if (!*code) *code = check_weights(c, *count, weight, "weights", call);
    if (*code) return NULL;
    struct edge *edge = hark_mpi_memory((size_t)*count * sizeof *edge);
    for (int i = 0, at = 0; i < n; i++)
        for (int j = 0; j < degrees[i]; j++, at++)
            edge[at] = (struct edge){
                source[i], destination[at], weight == MPI_UNWEIGHTED ? 0 : weight[at]};
    return edge;
}

PUBLIC(Dist_graph_create)
int PMPI_Dist_graph_create(MPI_Comm comm, int n, const int sources[], const int degrees[],
    const int destinations[], const int weights[], MPI_Info info, int reorder, MPI_Comm *newcomm)
{
    (void)info;
    (void)reorder;
    NEED_COMM(c, comm);
    NEED_POINTER(c, newcomm);
    *newcomm = MPI_COMM_NULL;
    NEED_INTRA(c);
    int code, given, count;
    struct edge *mine =
        edges_given(c, n, sources, degrees, destinations, weights, &given, &code, __func__);
    if (mine == NULL) return code;
    struct edge *edge = exchange_edges(c, mine, given, &count, &code, __func__);
    free(mine);
    if (code) {
        free(edge);
        return code;
    }
    struct topology *t = hark_mpi_topology_make(MPI_DIST_GRAPH);
    t->weighted = weights != MPI_UNWEIGHTED;
    pick(edge, count, c->rank, true, &t->in, &t->source, &t->source_weight);
    pick(edge, count, c->rank, false, &t->out, &t->destination, &t->destination_weight);
    free(edge);
    return place_graph(c, t, newcomm, __func__);
}

PUBLIC(Dist_graph_neighbors_count)
int PMPI_Dist_graph_neighbors_count(MPI_Comm comm, int *indegree, int *outdegree, int *weighted)
{
    NEED_COMM(c, comm);
    NEED_TOPOLOGY(c, t, MPI_DIST_GRAPH, "distributed graph");
    NEED(c, indegree && outdegree && weighted, MPI_ERR_ARG,
        "indegree, outdegree or weighted is NULL");
    *indegree = t->in;
    *outdegree = t->out;
    *weighted = t->weighted;
    return MPI_SUCCESS;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static void give_weights(int *to, const int *from, int count)
{
    if (to != MPI_UNWEIGHTED && to != MPI_WEIGHTS_EMPTY && to && from)
        hark_mpi_topology_give(to, from, count);
}

PUBLIC(Dist_graph_neighbors)
int PMPI_Dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[], int sourceweights[],
    int maxoutdegree, int destinations[], int destweights[])
{
    NEED_COMM(c, comm);
    NEED_TOPOLOGY(c, t, MPI_DIST_GRAPH, "distributed graph");
    NEED(c, maxindegree >= 0 && maxoutdegree >= 0, MPI_ERR_ARG,
        "maxindegree or maxoutdegree is negative");
    int in = smaller(maxindegree, t->in), out = smaller(maxoutdegree, t->out);
    NEED(c, (sources || in == 0) && (destinations || out == 0), MPI_ERR_ARG,
        "sources or destinations is NULL");
    hark_mpi_topology_give(sources, t->source, in);
    hark_mpi_topology_give(destinations, t->destination, out);
    if (!t->weighted) return MPI_SUCCESS;
    give_weights(sourceweights, t->source_weight, in);
    give_weights(destweights, t->destination_weight, out);
    return MPI_SUCCESS;
}
