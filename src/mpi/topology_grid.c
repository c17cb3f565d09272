/* Grids: communicators with MPI_CART, the places of their processes, and parts of them. */
#include "topology.h"

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
    struct topology *t = hark_mpi_topology_make(MPI_CART);
    t->dims = dims;
    t->dim = hark_mpi_topology_copy(dim, dims);
    t->periodic = hark_mpi_topology_copy(periodic, dims);
    t->in = t->out = 2 * dims;
    t->source = hark_mpi_memory((size_t)t->in * sizeof *t->source);
    for (int i = 0; i < dims; i++) {
        t->source[2 * i] = beside(t, rank, i, -1);
        t->source[2 * i + 1] = beside(t, rank, i, 1);
    }
    t->destination = hark_mpi_topology_copy(t->source, t->in);
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

PUBLIC(Cart_get)
int PMPI_Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[])
{
    NEED_COMM(c, comm);
    NEED_TOPOLOGY(c, t, MPI_CART, "grid");
    NEED(c, maxdims >= t->dims, MPI_ERR_ARG, "maxdims is %d, and the grid has %d dimensions",
        maxdims, t->dims);
    NEED(c, (dims && periods && coords) || t->dims == 0, MPI_ERR_ARG,
        "dims, periods or coords is NULL");
    hark_mpi_topology_give(dims, t->dim, t->dims);
    hark_mpi_topology_give(periods, t->periodic, t->dims);
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
