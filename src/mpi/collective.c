/* The names of collective calls: each has a blocking, a non-blocking and a persistent form, and
 * each of these one whose counts are MPI_Count. */
#include "collective.h"

/* ---- parameters, and what they say of the call ------------------------------------------------
 * C: int or MPI_Count. D: int or MPI_Aint. */

#define SAME(buffer, elements, handle)                                                             \
    {                                                                                              \
        .data = buffer, .count = elements, .datatype = handle                                      \
    }
#define OUT_SAME .out = SAME(out, out_count, out_type)
#define IN_SAME  .in = SAME(in, in_count, in_type)
#define LISTED(buffer, elements, places, handle, wide)                                             \
    {                                                                                              \
        .data = buffer, .counts = elements, .displacements = places, .datatype = handle,           \
        .wide_counts = wide, .wide_displacements = wide, .listed = true                            \
    }
#define TYPED(buffer, elements, places, handles, wide, wide_places)                                \
    {                                                                                              \
        .data = buffer, .counts = elements, .displacements = places, .datatypes = handles,         \
        .wide_counts = wide, .wide_displacements = wide_places, .listed = true                     \
    }

#define OUT(C) const void *out, C out_count, MPI_Datatype out_type,
#define IN(C)  void *in, C in_count, MPI_Datatype in_type,
#define OUT_LIST(C, D)                                                                             \
    const void *out, const C out_counts[], const D out_places[], MPI_Datatype out_type,
#define IN_LIST(C, D) void *in, const C in_counts[], const D in_places[], MPI_Datatype in_type,
#define OUT_TYPES(C, D)                                                                            \
    const void *out, const C out_counts[], const D out_places[], const MPI_Datatype out_types[],
#define IN_TYPES(C, D)                                                                             \
    void *in, const C in_counts[], const D in_places[], const MPI_Datatype in_types[],

#define BARRIER_PARAMETERS(C, D)
#define BARRIER_CALL(wide) .root = 0

#define BCAST_PARAMETERS(C, D) void *buffer, C count, MPI_Datatype datatype, int root,
#define BCAST_CALL(wide)       .root = root, .in = SAME(buffer, count, datatype)

#define EXCHANGE_PARAMETERS(C, D) OUT(C) IN(C)
#define EXCHANGE_CALL(wide)       OUT_SAME, IN_SAME

#define ROOTED_PARAMETERS(C, D) OUT(C) IN(C) int root,
#define ROOTED_CALL(wide)       EXCHANGE_CALL(wide), .root = root

#define ALLGATHERV_PARAMETERS(C, D) OUT(C) IN_LIST(C, D)
#define ALLGATHERV_CALL(wide)       OUT_SAME, .in = LISTED(in, in_counts, in_places, in_type, wide)

#define GATHERV_PARAMETERS(C, D) OUT(C) IN_LIST(C, D) int root,
#define GATHERV_CALL(wide)       ALLGATHERV_CALL(wide), .root = root

#define SCATTERV_PARAMETERS(C, D) OUT_LIST(C, D) IN(C) int root,
#define SCATTERV_CALL(wide)                                                                        \
    .out = LISTED(out, out_counts, out_places, out_type, wide), IN_SAME, .root = root

#define ALLTOALLV_PARAMETERS(C, D) OUT_LIST(C, D) IN_LIST(C, D)
#define ALLTOALLV_CALL(wide)                                                                       \
    .out = LISTED(out, out_counts, out_places, out_type, wide),                                    \
    .in = LISTED(in, in_counts, in_places, in_type, wide)

#define ALLTOALLW_PARAMETERS(C, D) OUT_TYPES(C, D) IN_TYPES(C, D)
#define ALLTOALLW_CALL(wide)                                                                       \
    .out = TYPED(out, out_counts, out_places, out_types, wide, wide),                              \
    .in = TYPED(in, in_counts, in_places, in_types, wide, wide)

/* Displacements are MPI_Aint in both forms. */
#define NEIGHBOURW_PARAMETERS(C, D) OUT_TYPES(C, MPI_Aint) IN_TYPES(C, MPI_Aint)
#define NEIGHBOURW_CALL(wide)                                                                      \
    .out = TYPED(out, out_counts, out_places, out_types, wide, true),                              \
    .in = TYPED(in, in_counts, in_places, in_types, wide, true)

#define ALLREDUCE_PARAMETERS(C, D)                                                                 \
    const void *out, void *in, C count, MPI_Datatype datatype, MPI_Op op,
#define ALLREDUCE_CALL(wide)                                                                       \
    .out = SAME(out, count, datatype), .in = SAME(in, count, datatype), .operation = op

#define REDUCE_PARAMETERS(C, D) ALLREDUCE_PARAMETERS(C, D) int root,
#define REDUCE_CALL(wide)       ALLREDUCE_CALL(wide), .root = root

#define SCATTERED_PARAMETERS(C, D)                                                                 \
    const void *out, void *in, const C counts[], MPI_Datatype datatype, MPI_Op op,
#define SCATTERED_CALL(wide)                                                                       \
    .out = SAME(out, 0, datatype), .in = LISTED(in, counts, NULL, datatype, wide), .operation = op

/* ---- the six functions of each call -----------------------------------------------------------
 * mpi.h may declare some of them only; what it declares has to agree. */

#define BLOCKING(name, family_name, shape, C, D, wide)                                             \
    int PMPI_##name(shape##_PARAMETERS(C, D) MPI_Comm comm);                                       \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(shape##_PARAMETERS(C, D) MPI_Comm comm)                                        \
    {                                                                                              \
        struct call k = {.family = &hark_mpi_##family_name, shape##_CALL(wide)};                   \
        return hark_mpi_collective_block(&k, comm, __func__);                                      \
    }
#define NONBLOCKING(name, family_name, shape, C, D, wide)                                          \
    int PMPI_##name(shape##_PARAMETERS(C, D) MPI_Comm comm, MPI_Request *request);                 \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(shape##_PARAMETERS(C, D) MPI_Comm comm, MPI_Request *request)                  \
    {                                                                                              \
        struct call k = {.family = &hark_mpi_##family_name, shape##_CALL(wide)};                   \
        return hark_mpi_collective_begin(&k, comm, request, __func__);                             \
    }
#define PERSISTENT(name, family_name, shape, C, D, wide)                                           \
    int PMPI_##name(shape##_PARAMETERS(C, D) MPI_Comm comm, MPI_Info info, MPI_Request *request);  \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(shape##_PARAMETERS(C, D) MPI_Comm comm, MPI_Info info, MPI_Request *request)   \
    {                                                                                              \
        struct call k = {.family = &hark_mpi_##family_name, shape##_CALL(wide)};                   \
        (void)info;                                                                                \
        return hark_mpi_collective_init(&k, comm, request, __func__);                              \
    }
/* Open MPI 4 has the persistent ones under these names too: mpi-ext.h. */
#if defined(HARK_MPI_OPENMPI)
#define EXTENSION(name)                                                                            \
    _Pragma(NAME_IT(weak MPIX_##name = PMPI_##name))                                               \
        _Pragma(NAME_IT(weak PMPIX_##name = PMPI_##name))
#else
#define EXTENSION(name)
#endif

#define COLLECTIVE(name, i_name, family_name, shape)                                               \
    BLOCKING(name, family_name, shape, int, int, false)                                            \
    NONBLOCKING(i_name, family_name, shape, int, int, false)                                       \
    PERSISTENT(name##_init, family_name, shape, int, int, false)                                   \
    EXTENSION(name##_init)                                                                         \
    COLLECTIVE_WIDE(name, i_name, family_name, shape)
#define COLLECTIVE_WIDE(name, i_name, family_name, shape)                                          \
    BLOCKING(name##_c, family_name, shape, MPI_Count, MPI_Aint, true)                              \
    NONBLOCKING(i_name##_c, family_name, shape, MPI_Count, MPI_Aint, true)                         \
    PERSISTENT(name##_init_c, family_name, shape, MPI_Count, MPI_Aint, true)

#pragma GCC visibility push(default)
BLOCKING(Barrier, barrier, BARRIER, int, int, false)
NONBLOCKING(Ibarrier, barrier, BARRIER, int, int, false)
PERSISTENT(Barrier_init, barrier, BARRIER, int, int, false)
EXTENSION(Barrier_init)
COLLECTIVE(Bcast, Ibcast, bcast, BCAST)
COLLECTIVE(Gather, Igather, gather, ROOTED)
COLLECTIVE(Gatherv, Igatherv, gather, GATHERV)
COLLECTIVE(Scatter, Iscatter, scatter, ROOTED)
COLLECTIVE(Scatterv, Iscatterv, scatter, SCATTERV)
COLLECTIVE(Allgather, Iallgather, allgather, EXCHANGE)
COLLECTIVE(Allgatherv, Iallgatherv, allgather, ALLGATHERV)
COLLECTIVE(Alltoall, Ialltoall, alltoall, EXCHANGE)
COLLECTIVE(Alltoallv, Ialltoallv, alltoall, ALLTOALLV)
COLLECTIVE(Alltoallw, Ialltoallw, alltoall, ALLTOALLW)
COLLECTIVE(Reduce, Ireduce, reduce, REDUCE)
COLLECTIVE(Allreduce, Iallreduce, allreduce, ALLREDUCE)
COLLECTIVE(Reduce_scatter, Ireduce_scatter, reduce_scatter, SCATTERED)
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, reduce_scatter, ALLREDUCE)
COLLECTIVE(Scan, Iscan, scan, ALLREDUCE)
COLLECTIVE(Exscan, Iexscan, exscan, ALLREDUCE)
COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, neighbor_allgather, EXCHANGE)
COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, neighbor_allgather, ALLGATHERV)
COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, neighbor_alltoall, EXCHANGE)
COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, neighbor_alltoall, ALLTOALLV)
COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, neighbor_alltoall, NEIGHBOURW)
#pragma GCC visibility pop
