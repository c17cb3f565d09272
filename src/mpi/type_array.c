/* Datatypes of arrays: a part of one, and what one process has of a distributed one. */
#include "derive.h"

/* The dimensions from the one whose elements are neighbours in memory on. */
static int dimension(int order, int dimensions, int i)
{
    return order == MPI_ORDER_C ? dimensions - 1 - i : i;
}

/* An array's bounds are those of the whole. */
static void bound_by(struct type *t, MPI_Aint extent)
{
    t->lower = 0;
    t->extent = extent;
    t->marked_lower = t->marked_upper = true;
    hark_mpi_type_complete(t);
}

#define NEED_NEW(newtype)                                                                          \
    NEED_OPEN();                                                                                   \
    NEED(NULL, newtype, MPI_ERR_ARG, "newtype is NULL")
#define NEED_DIMENSIONS(dimensions)                                                                \
    NEED(NULL, (dimensions) > 0, MPI_ERR_ARG,                                                      \
        "the array has %d dimensions, and must have one at least", dimensions)
#define NEED_ORDER(order)                                                                          \
    NEED(NULL, (order) == MPI_ORDER_C || (order) == MPI_ORDER_FORTRAN, MPI_ERR_ARG,                \
        "the order is %d, and may be MPI_ORDER_C or MPI_ORDER_FORTRAN", order)

/* ---- subarrays --------------------------------------------------------------------------------
 */

static struct type *subarray(bool large, int dimensions, struct numbers sizes,
    struct numbers subsizes, struct numbers starts, int order, struct type *old)
{
    struct type *t = hark_mpi_derive(MPI_COMBINER_SUBARRAY, large, 1);
    struct pattern p = old->pattern;
    MPI_Aint stride = old->extent, at = 0;
    size_t elements = 1;
    for (int i = 0; i < dimensions; i++) {
        size_t d = (size_t)dimension(order, dimensions, i), n = (size_t)number(subsizes, d);
        p = hark_mpi_pattern_repeat_copy(&t->arena, p, n, stride);
        at += (MPI_Aint)number(starts, d) * stride;
        stride *= (MPI_Aint)number(sizes, d);
        elements *= n;
    }
    hark_mpi_derive_part(t, 0, old, elements);
    t->pattern = p.size ? hark_mpi_pattern_shift(p, at) : p;
    bound_by(t, stride);
    hark_mpi_layout_add_int(t->layout, dimensions);
    hark_mpi_layout_add_all(t->layout, INTEGERS, sizes, (size_t)dimensions);
    hark_mpi_layout_add_all(t->layout, INTEGERS, subsizes, (size_t)dimensions);
    hark_mpi_layout_add_all(t->layout, INTEGERS, starts, (size_t)dimensions);
    hark_mpi_layout_add_int(t->layout, order);
    return t;
}

#define NEED_PART(d, size, subsize, start)                                                         \
    NEED(NULL, (size) >= 1, MPI_ERR_ARG, "size %d is %lld, and must be 1 at least", d,             \
        (long long)(size));                                                                        \
    NEED(NULL, (subsize) >= 1 && (subsize) <= (size), MPI_ERR_ARG,                                 \
        "subsize %d is %lld, and may be 1 .. %lld", d, (long long)(subsize), (long long)(size));   \
    NEED(NULL, (start) >= 0 && (start) <= (size) - (subsize), MPI_ERR_ARG,                         \
        "start %d is %lld, and may be 0 .. %lld", d, (long long)(start),                           \
        (long long)((size) - (subsize)))

#define SUBARRAY(name, is_large, integer)                                                          \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(int dimensions, const integer sizes[], const integer subsizes[],               \
        const integer starts[], int order, MPI_Datatype oldtype, MPI_Datatype *newtype)            \
    {                                                                                              \
        NEED_NEW(newtype);                                                                         \
        NEED_TYPE(NULL, old, oldtype);                                                             \
        NEED_DIMENSIONS(dimensions);                                                               \
        NEED(NULL, sizes &&subsizes &&starts, MPI_ERR_ARG, "an array is NULL");                    \
        for (int d = 0; d < dimensions; d++) {                                                     \
            NEED_PART(d, sizes[d], subsizes[d], starts[d]);                                        \
        }                                                                                          \
        NEED_ORDER(order);                                                                         \
        struct type *t = subarray(                                                                 \
            is_large, dimensions, NUMBERS(sizes), NUMBERS(subsizes), NUMBERS(starts), order, old); \
        *newtype = HANDLE(MPI_Datatype, t);                                                        \
        return MPI_SUCCESS;                                                                        \
    }
SUBARRAY(Type_create_subarray, false, int)
SUBARRAY(Type_create_subarray_c, true, MPI_Count)

/* ---- distributed arrays -----------------------------------------------------------------------
 */

/* One dimension: elements in blocks, dealt to the processes in turn. */
struct dealt {
    MPI_Count size, block; /* elements: of all, of a block */
    int processes, process;
};

/* MPI 4.0, 5.1.4: a distribution without an argument has the largest blocks, or the smallest. */
static struct dealt deal(int distribution, int argument, MPI_Count size, int processes, int process)
{
    struct dealt d = {size, argument, processes, process};
    if (distribution == MPI_DISTRIBUTE_NONE) d.block = size;
    else if (argument != MPI_DISTRIBUTE_DFLT_DARG) return d;
    else d.block = distribution == MPI_DISTRIBUTE_BLOCK ? (size + processes - 1) / processes : 1;
    return d;
}

/* The blocks of this process, of elements of the pattern p; *elements: how many elements. */
static struct pattern dealt_blocks(
    struct arena *a, struct pattern p, const struct dealt *d, MPI_Aint stride, size_t *elements)
{
    MPI_Count cycle = d->block * d->processes, first = d->block * d->process;
    MPI_Count left = d->size > first ? d->size - first : 0; /* from the first block on */
    MPI_Count full = left / cycle, rest = left % cycle;
    if (rest >= d->block) full++, rest = 0;
    struct pattern block = hark_mpi_pattern_repeat_copy(a, p, (size_t)d->block, stride);
    block = hark_mpi_pattern_repeat_copy(a, block, (size_t)full, stride * (MPI_Aint)cycle);
    struct pattern last = hark_mpi_pattern_repeat_copy(a, p, (size_t)rest, stride);
    last = hark_mpi_pattern_shift(last, stride * (MPI_Aint)(cycle * full));
    struct pattern_list list = {.arena = a};
    hark_mpi_pattern_add(&list, &block);
    hark_mpi_pattern_add(&list, &last);
    *elements *= (size_t)(full * d->block + rest);
    return hark_mpi_pattern_shift(hark_mpi_pattern_end(&list), stride * (MPI_Aint)first);
}

struct distributed {
    int processes, rank, dimensions, order;
    struct numbers sizes;
    const int *distributions, *arguments, *grid;
};

static void note(struct layout *l, const struct distributed *a)
{
    size_t n = (size_t)a->dimensions;
    hark_mpi_layout_add_int(l, a->processes);
    hark_mpi_layout_add_int(l, a->rank);
    hark_mpi_layout_add_int(l, a->dimensions);
    hark_mpi_layout_add_all(l, INTEGERS, a->sizes, n);
    for (size_t i = 0; i < n; i++) hark_mpi_layout_add_int(l, a->distributions[i]);
    for (size_t i = 0; i < n; i++) hark_mpi_layout_add_int(l, a->arguments[i]);
    for (size_t i = 0; i < n; i++) hark_mpi_layout_add_int(l, a->grid[i]);
    hark_mpi_layout_add_int(l, a->order);
}

/* Processes are numbered with the last dimension of their grid first, whatever the array's order.
 */
static int place_in_grid(const struct distributed *a, int dimension)
{
    int after = 1;
    for (int d = dimension + 1; d < a->dimensions; d++) after *= a->grid[d];
    return a->rank / after % a->grid[dimension];
}

static struct type *darray(bool large, const struct distributed *a, struct type *old)
{
    struct type *t = hark_mpi_derive(MPI_COMBINER_DARRAY, large, 1);
    struct pattern p = old->pattern;
    MPI_Aint stride = old->extent;
    size_t elements = 1;
    for (int i = 0; i < a->dimensions; i++) {
        int d = dimension(a->order, a->dimensions, i);
        struct dealt dealt = deal(a->distributions[d], a->arguments[d], number(a->sizes, (size_t)d),
            a->grid[d], place_in_grid(a, d));
        p = dealt_blocks(&t->arena, p, &dealt, stride, &elements);
        stride *= (MPI_Aint)dealt.size;
    }
    hark_mpi_derive_part(t, 0, old, elements);
    t->pattern = p.size ? p : (struct pattern){.shape = SHAPE_NOTHING};
    bound_by(t, stride);
    note(t->layout, a);
    return t;
}

/* What is wrong with a dimension; NULL: nothing. */
static const char *wrong(int distribution, int argument, MPI_Count size, int processes)
{
    if (size < 1) return "the size must be 1 at least";
    if (processes < 1) return "the grid must have 1 process at least";
    switch (distribution) {
    case MPI_DISTRIBUTE_NONE:
        return processes == 1 ? NULL : "without a distribution the grid must have 1 process";
    case MPI_DISTRIBUTE_BLOCK:
    case MPI_DISTRIBUTE_CYCLIC: break;
    default: return "the distribution must be MPI_DISTRIBUTE_BLOCK, _CYCLIC or _NONE";
    }
    if (argument == MPI_DISTRIBUTE_DFLT_DARG) return NULL;
    if (argument < 1) return "the argument must be positive, or MPI_DISTRIBUTE_DFLT_DARG";
    if (distribution == MPI_DISTRIBUTE_BLOCK && (MPI_Count)argument * processes < size)
        return "the blocks of all processes together are smaller than the array";
    return NULL;
}

static int check(const struct distributed *a, const char *call)
{
    MPI_Count all = 1;
    for (int d = 0; d < a->dimensions; d++) {
        const char *reason =
            wrong(a->distributions[d], a->arguments[d], number(a->sizes, (size_t)d), a->grid[d]);
        if (reason) return hark_mpi_error(NULL, MPI_ERR_ARG, call, "dimension %d: %s", d, reason);
        all *= a->grid[d];
    }
    if (all == a->processes) return MPI_SUCCESS;
    return hark_mpi_error(NULL, MPI_ERR_ARG, call,
        "the grid has %lld processes, and the number of processes is %d", (long long)all,
        a->processes);
}

#define DARRAY(name, is_large, integer)                                                            \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(int processes, int rank, int dimensions, const integer sizes[],                \
        const int distributions[], const int arguments[], const int grid[], int order,             \
        MPI_Datatype oldtype, MPI_Datatype *newtype)                                               \
    {                                                                                              \
        NEED_NEW(newtype);                                                                         \
        NEED_TYPE(NULL, old, oldtype);                                                             \
        NEED(NULL, processes > 0, MPI_ERR_ARG, "the number of processes is %d", processes);        \
        NEED(NULL, rank >= 0 && rank < processes, MPI_ERR_ARG,                                     \
            "the rank is %d, and may be 0 .. %d", rank, processes - 1);                            \
        NEED_DIMENSIONS(dimensions);                                                               \
        NEED(NULL, sizes &&distributions &&arguments &&grid, MPI_ERR_ARG, "an array is NULL");     \
        NEED_ORDER(order);                                                                         \
        const struct distributed a = {                                                             \
            processes, rank, dimensions, order, NUMBERS(sizes), distributions, arguments, grid};   \
        int code = check(&a, __func__);                                                            \
        if (code) return code;                                                                     \
        struct type *t = darray(is_large, &a, old);                                                \
        *newtype = HANDLE(MPI_Datatype, t);                                                        \
        return MPI_SUCCESS;                                                                        \
    }
DARRAY(Type_create_darray, false, int)
DARRAY(Type_create_darray_c, true, MPI_Count)
