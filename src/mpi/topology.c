/* Topologies: grids, graphs, and graphs of which each process knows its own neighbours. Processes
 * keep their ranks: a request to reorder them is heeded by not doing it. */
#include <stdio.h>

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

static struct topology *topology_make(int kind)
{
    struct topology *t = hark_mpi_memory(sizeof *t);
    *t = (struct topology){.references = 1, .kind = kind};
    return t;
}

static int *copy_of(const int *from, int count)
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

#define NEED_POINTER(c, p) NEED(c, p, MPI_ERR_ARG, #p " is NULL")
#define NEED_INTRA(c)                                                                              \
    NEED(c, !(c)->remote, MPI_ERR_COMM, "the communicator is an intercommunicator")
#define NEED_TOPOLOGY(c, t, which, text)                                                           \
    const struct topology *t = (c)->topology;                                                      \
    NEED(c, t && t->kind == (which), MPI_ERR_TOPOLOGY, "the communicator has no " text)

PUBLIC(Topo_test)
int PMPI_Topo_test(MPI_Comm comm, int *status)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, status);
    *status = c->topology ? c->topology->kind : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

/* ---- grids ------------------------------------------------------------------------------------
 */

/* Rank of the process at these coordinates, the last of which varies fastest; beyond the edge of a
 * dimension that is not periodic MPI_PROC_NULL. */
static int rank_at(const struct topology *t, const int *coordinate)
{
    int rank = 0;
    for (int i = 0; i < t->dims; i++) {
        int at = coordinate[i], n = t->dim[i];
        if (t->periodic[i]) at = (at % n + n) % n;
        else if (at < 0 || at >= n) return MPI_PROC_NULL;
        rank = rank * n + at;
    }
    return rank;
}

static void coordinates_of(const struct topology *t, int rank, int *coordinate)
{
    for (int i = t->dims - 1; i >= 0; i--) {
        coordinate[i] = rank % t->dim[i];
        rank /= t->dim[i];
    }
}

/* The neighbour `step` further on in this dimension. */
static int beside(const struct topology *t, int rank, int dimension, int step)
{
    int *coordinate = hark_mpi_memory((size_t)t->dims * sizeof *coordinate);
    coordinates_of(t, rank, coordinate);
    int64_t n = t->dim[dimension], at = (int64_t)coordinate[dimension] + step;
    if (t->periodic[dimension]) at = (at % n + n) % n;
    coordinate[dimension] = at < 0 || at >= n ? -1 : (int)at;
    int other = rank_at(t, coordinate);
    free(coordinate);
    return other;
}

static struct topology *grid_make(int dims, const int *dim, const int *periodic, int rank)
{
    struct topology *t = topology_make(MPI_CART);
    t->dims = dims;
    t->dim = copy_of(dim, dims);
    t->periodic = copy_of(periodic, dims);
    t->in = t->out = 2 * dims;
    t->source = hark_mpi_memory((size_t)t->in * sizeof *t->source);
    for (int i = 0; i < dims; i++) {
        t->source[2 * i] = beside(t, rank, i, -1);
        t->source[2 * i + 1] = beside(t, rank, i, 1);
    }
    t->destination = copy_of(t->source, t->in);
    return t;
}

/* The number of places; negative: an error was raised, and *code has it. */
static int grid_size(struct comm *c, int dims, const int *dim, const char *call, int *code)
{
    int64_t size = 1;
    for (int i = 0; i < dims; i++) {
        if (dim[i] <= 0) {
            *code = hark_mpi_error(
                c, MPI_ERR_DIMS, call, "dims[%d] is %d, and must be at least 1", i, dim[i]);
            return -1;
        }
        size *= dim[i];
        if (size > c->size) {
            *code = hark_mpi_error(c, MPI_ERR_TOPOLOGY, call,
                "the grid has more places than the communicator has processes, %d", c->size);
            return -1;
        }
    }
    return (int)size;
}

#define NEED_GRID(c, dims, dim, periodic)                                                          \
    NEED_INTRA(c);                                                                                 \
    NEED(c, (dims) >= 0, MPI_ERR_DIMS, "ndims is %d, and must not be negative", dims);             \
    NEED(c, ((dim) && (periodic)) || (dims) == 0, MPI_ERR_ARG, "dims or periods is NULL");         \
    int code = MPI_SUCCESS, size = grid_size(c, dims, dim, __func__, &code);                       \
    if (size < 0) return code

PUBLIC(Cart_create)
int PMPI_Cart_create(
    MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm *newcomm)
{
    (void)reorder;
    NEED_COMM(c, comm);
    NEED_POINTER(c, newcomm);
    *newcomm = MPI_COMM_NULL;
    NEED_GRID(c, ndims, dims, periods);
    struct comm *d = hark_mpi_comm_of_first(c, size, __func__, &code);
    *newcomm = d ? HANDLE(MPI_Comm, d) : MPI_COMM_NULL;
    if (d) d->topology = grid_make(ndims, dims, periods, d->rank);
    return code;
}

PUBLIC(Cart_map)
int PMPI_Cart_map(MPI_Comm comm, int ndims, const int dims[], const int periods[], int *newrank)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, newrank);
    NEED_GRID(c, ndims, dims, periods);
    *newrank = c->rank < size ? c->rank : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

PUBLIC(Cartdim_get)
int PMPI_Cartdim_get(MPI_Comm comm, int *ndims)
{
    NEED_COMM(c, comm);
    NEED_POINTER(c, ndims);
    NEED_TOPOLOGY(c, t, MPI_CART, "grid");
    *ndims = t->dims;
    return MPI_SUCCESS;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static void give(int *to, const int *from, int count)
{
    if (count > 0) memcpy(to, from, (size_t)count * sizeof *to);
}

PUBLIC(Cart_get)
int PMPI_Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[])
{
    NEED_COMM(c, comm);
    NEED_TOPOLOGY(c, t, MPI_CART, "grid");
    NEED(c, maxdims >= t->dims, MPI_ERR_ARG, "maxdims is %d, and the grid has %d dimensions",
        maxdims, t->dims);
    NEED(c, (dims && periods && coords) || t->dims == 0, MPI_ERR_ARG,
        "dims, periods or coords is NULL");
    give(dims, t->dim, t->dims);
    give(periods, t->periodic, t->dims);
    coordinates_of(t, c->rank, coords);
    return MPI_SUCCESS;
}

PUBLIC(Cart_rank)
int PMPI_Cart_rank(MPI_Comm comm, const int coords[], int *rank)
{
    NEED_COMM(c, comm);
    NEED_TOPOLOGY(c, t, MPI_CART, "grid");
    NEED_POINTER(c, rank);
    NEED(c, coords || t->dims == 0, MPI_ERR_ARG, "coords is NULL");
    for (int i = 0; i < t->dims; i++)
        NEED(c, t->periodic[i] || (coords[i] >= 0 && coords[i] < t->dim[i]), MPI_ERR_ARG,
            "coords[%d] is %d, and that dimension has 0 .. %d", i, coords[i], t->dim[i] - 1);
    *rank = rank_at(t, coords);
    return MPI_SUCCESS;
}

PUBLIC(Cart_coords)
int PMPI_Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[])
{
    NEED_COMM(c, comm);
    NEED_TOPOLOGY(c, t, MPI_CART, "grid");
    NEED(c, rank >= 0 && rank < c->size, MPI_ERR_RANK,
        "the rank is %d, and the communicator has ranks 0 .. %d", rank, c->size - 1);
    NEED(c, maxdims >= t->dims, MPI_ERR_ARG, "maxdims is %d, and the grid has %d dimensions",
        maxdims, t->dims);
    NEED(c, coords || t->dims == 0, MPI_ERR_ARG, "coords is NULL");
    coordinates_of(t, rank, coords);
    return MPI_SUCCESS;
}

PUBLIC(Cart_shift)
int PMPI_Cart_shift(MPI_Comm comm, int direction, int disp, int *source, int *dest)
{
    NEED_COMM(c, comm);
    NEED_TOPOLOGY(c, t, MPI_CART, "grid");
    NEED(c, source && dest, MPI_ERR_ARG, "rank_source or rank_dest is NULL");
    NEED(c, direction >= 0 && direction < t->dims, MPI_ERR_DIMS,
        "the direction is %d, and the grid has 0 .. %d", direction, t->dims - 1);
    NEED(c, disp != INT_MIN, MPI_ERR_ARG, "disp is %d", disp);
    *source = beside(t, c->rank, direction, -disp);
    *dest = beside(t, c->rank, direction, disp);
    return MPI_SUCCESS;
}

/* Color: the place in the dimensions that are dropped; key: in those that remain. */
PUBLIC(Cart_sub)
int PMPI_Cart_sub(MPI_Comm comm, const int remain[], MPI_Comm *newcomm)
{
    NEED_COMM(c, comm);
    NEED_TOPOLOGY(c, t, MPI_CART, "grid");
    NEED_POINTER(c, newcomm);
    NEED(c, remain || t->dims == 0, MPI_ERR_ARG, "remain_dims is NULL");
    int color = 0, key = 0, dims = 0;
    int *kept = hark_mpi_memory(3 * (size_t)t->dims * sizeof *kept);
    int *periodic = kept + t->dims, *at = periodic + t->dims;
    coordinates_of(t, c->rank, at);
    for (int i = 0; i < t->dims; i++) {
        int *place = remain[i] ? &key : &color;
        *place = *place * t->dim[i] + at[i];
        if (!remain[i]) continue;
        kept[dims] = t->dim[i];
        periodic[dims++] = t->periodic[i];
    }
#if defined(HARK_MPI_MPICH)
    /* As in MPICH: of the grids of one place that remain if no dimension does, only the first. */
    if (dims == 0 && c->rank > 0) color = MPI_UNDEFINED;
#endif
    int code = PMPI_Comm_split(comm, color, key, newcomm);
    struct comm *d = code ? NULL : COMM(*newcomm);
    if (d) d->topology = grid_make(dims, kept, periodic, d->rank);
    free(kept);
    return code;
}

/* ---- MPI_Dims_create --------------------------------------------------------------------------
 */

/* A search for factors of a number that are as close to each other as can be: the difference
 * between the greatest and the least is the smallest; then the least the greatest; then the sum of
 * all the smallest; then the first ones the greatest. */
struct factors {
    const int *divisor; /* ascending */
    int divisors, count;
    int *now, *best;
    int64_t difference, sum; /* of the best; difference < 0: there is none yet */
};

static int compare(const int *a, const int *b, int count)
{
    int i = 0;
    while (i < count && a[i] == b[i]) i++;
    return i == count ? 0 : a[i] < b[i] ? -1 : 1;
}

static bool better(const struct factors *f, int64_t difference, int64_t sum)
{
    int last = f->count - 1;
    if (f->difference < 0) return true;
    if (difference != f->difference) return difference < f->difference;
    if (f->now[last] != f->best[last]) return f->now[last] > f->best[last];
    if (sum != f->sum) return sum < f->sum;
    return compare(f->now, f->best, f->count) > 0;
}

static void consider(struct factors *f)
{
    int64_t difference = f->now[0] - f->now[f->count - 1], sum = 0;
    for (int i = 0; i < f->count; i++) sum += f->now[i];
    if (!better(f, difference, sum)) return;
    f->difference = difference;
    f->sum = sum;
    memcpy(f->best, f->now, (size_t)f->count * sizeof *f->best);
}

/* d to the power of n, or a number above `limit`. */
static int64_t power(int64_t d, int n, int64_t limit)
{
    int64_t product = 1;
    while (n-- > 0 && product <= limit) product *= d;
    return product;
}

/* The factors from `place` on, none above the one before it; their product is `rest`. */
static void search(struct factors *f, int place, int rest)
{
    int left = f->count - place;
    int limit = place ? f->now[place - 1] : rest;
    if (left == 1) {
        if (rest > limit) return;
        f->now[place] = rest;
        consider(f);
        return;
    }
    for (int i = 0; i < f->divisors && f->divisor[i] <= limit; i++) {
        int d = f->divisor[i];
        if (rest % d || power(d, left, rest) < rest) continue;
        /* The last factor is at most the root of what is left: can it still be close enough? */
        if (f->difference >= 0 && f->now[0] > f->difference && place > 0 &&
            power(f->now[0] - f->difference, left, rest) > rest)
            return;
        if (place == 0 && f->difference >= 0 && d > f->difference &&
            power(d - f->difference, left, rest) > rest)
            return;
        f->now[place] = d;
        search(f, place + 1, rest / d);
    }
}

static int *divisors_of(int number, int *count)
{
    int *divisor = hark_mpi_memory(2048 * sizeof *divisor); /* no int has more than 1536 */
    *count = 0;
    for (int64_t d = 1; d * d <= number; d++)
        if (number % d == 0) divisor[(*count)++] = (int)d;
    for (int i = *count - 1; i >= 0; i--) {
        int other = number / divisor[i];
        if (other != divisor[i]) divisor[(*count)++] = other;
    }
    return divisor;
}

/* `count` factors of `number`, in descending order. */
static void balance(int number, int count, int *factor)
{
    struct factors f = {.count = count, .best = factor, .difference = -1};
    /* A number has at most 30 factors above 1. */
    int open = count < 31 ? count : 31;
    for (int i = open; i < count; i++) factor[i] = 1;
    f.count = open;
    int *divisor = divisors_of(number, &f.divisors);
    f.divisor = divisor;
    f.now = hark_mpi_memory((size_t)open * sizeof *f.now);
    search(&f, 0, number);
    free(f.now);
    free(divisor);
}

PUBLIC(Dims_create)
int PMPI_Dims_create(int nnodes, int ndims, int dims[])
{
    NEED(NULL, nnodes > 0, MPI_ERR_ARG, "nnodes is %d, and must be at least 1", nnodes);
    NEED(NULL, ndims >= 0, MPI_ERR_DIMS, "ndims is %d, and must not be negative", ndims);
    NEED(NULL, dims || ndims == 0, MPI_ERR_ARG, "dims is NULL");
    int rest = nnodes, open = 0;
    for (int i = 0; i < ndims; i++) {
        NEED(NULL, dims[i] >= 0, MPI_ERR_DIMS, "dims[%d] is %d, and must not be negative", i,
            dims[i]);
        open += dims[i] == 0;
        NEED(NULL, dims[i] == 0 || rest % dims[i] == 0, MPI_ERR_DIMS,
            "%d processes can not be placed so that dims[%d] is %d", nnodes, i, dims[i]);
        if (dims[i]) rest /= dims[i];
    }
    NEED(NULL, open || rest == 1 || ndims == 0, MPI_ERR_DIMS,
        "the dimensions that are given do not make %d", nnodes);
    if (open == 0) return MPI_SUCCESS;
    int *factor = hark_mpi_memory((size_t)open * sizeof *factor);
    balance(rest, open, factor);
    for (int i = 0, n = 0; i < ndims; i++)
        if (dims[i] == 0) dims[i] = factor[n++];
    free(factor);
    return MPI_SUCCESS;
}

/* ---- graphs that all processes know -----------------------------------------------------------
 */

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
    struct topology *t = topology_make(MPI_GRAPH);
    t->nodes = nodes;
    t->index = copy_of(index, nodes);
    t->edge = copy_of(edge, index[nodes - 1]);
    t->in = t->out = degree(t, rank);
    t->source = copy_of(t->edge + first_edge(t, rank), t->in);
    t->destination = copy_of(t->source, t->in);
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
    give(index, t->index, t->nodes);
    give(edges, t->edge, all);
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
    give(neighbors, t->edge + first_edge(t, rank), count);
    return MPI_SUCCESS;
}

/* ---- graphs of which each process knows its neighbours ----------------------------------------
 */

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
    return copy_of(weight, weight == MPI_WEIGHTS_EMPTY ? 0 : count);
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
    struct topology *t = topology_make(MPI_DIST_GRAPH);
    t->in = indegree;
    t->out = outdegree;
    t->source = copy_of(sources, indegree);
    t->destination = copy_of(destinations, outdegree);
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
    struct topology *t = topology_make(MPI_DIST_GRAPH);
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

static void give_weights(int *to, const int *from, int count)
{
    if (to != MPI_UNWEIGHTED && to != MPI_WEIGHTS_EMPTY && to && from) give(to, from, count);
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
    give(sources, t->source, in);
    give(destinations, t->destination, out);
    if (!t->weighted) return MPI_SUCCESS;
    give_weights(sourceweights, t->source_weight, in);
    give_weights(destweights, t->destination_weight, out);
    return MPI_SUCCESS;
}
