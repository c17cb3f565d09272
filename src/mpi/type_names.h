/* type_names.h: functions on datatypes that are defined for each binary interface, and not declared
 * by each mpi.h: those of MPI 4 with large counts, and those that MPI 3.0 has removed. */
#ifndef HARK_MPI_TYPE_NAMES_H
#define HARK_MPI_TYPE_NAMES_H

#include "handle.h"

#undef MPI_Address
#undef MPI_Aint_add
#undef MPI_Aint_diff
#undef PMPI_Aint_add
#undef PMPI_Aint_diff
#undef MPI_Type_extent
#undef MPI_Type_hindexed
#undef MPI_Type_hvector
#undef MPI_Type_lb
#undef MPI_Type_struct
#undef MPI_Type_ub

#define DECLARE(result, name, ...)                                                                 \
    result MPI_##name(__VA_ARGS__);                                                                \
    result PMPI_##name(__VA_ARGS__)

#pragma GCC visibility push(default)
#if !defined(HARK_MPI_MPICH)
DECLARE(int, Address, void *, MPI_Aint *);
DECLARE(int, Type_extent, MPI_Datatype, MPI_Aint *);
DECLARE(int, Type_lb, MPI_Datatype, MPI_Aint *);
DECLARE(int, Type_ub, MPI_Datatype, MPI_Aint *);
DECLARE(int, Type_hindexed, int, int[], MPI_Aint[], MPI_Datatype, MPI_Datatype *);
DECLARE(int, Type_hvector, int, int, MPI_Aint, MPI_Datatype, MPI_Datatype *);
DECLARE(int, Type_struct, int, int[], MPI_Aint[], MPI_Datatype[], MPI_Datatype *);
#endif
#if !defined(HARK_MPI_ABI)
DECLARE(int, Status_set_elements_c, MPI_Status *, MPI_Datatype, MPI_Count);
#endif
#if defined(HARK_MPI_OPENMPI)
DECLARE(MPI_Aint, Aint_add, MPI_Aint, MPI_Aint);
DECLARE(MPI_Aint, Aint_diff, MPI_Aint, MPI_Aint);
DECLARE(int, Get_count_c, const MPI_Status *, MPI_Datatype, MPI_Count *);
DECLARE(int, Get_elements_c, const MPI_Status *, MPI_Datatype, MPI_Count *);
DECLARE(
    int, Pack_c, const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Count *, MPI_Comm);
DECLARE(int, Pack_external_c, const char *, const void *, MPI_Count, MPI_Datatype, void *,
    MPI_Count, MPI_Count *);
DECLARE(int, Pack_external_size_c, const char *, MPI_Count, MPI_Datatype, MPI_Count *);
DECLARE(int, Pack_size_c, MPI_Count, MPI_Datatype, MPI_Comm, MPI_Count *);
DECLARE(int, Type_contiguous_c, MPI_Count, MPI_Datatype, MPI_Datatype *);
DECLARE(int, Type_create_darray_c, int, int, int, const MPI_Count[], const int[], const int[],
    const int[], int, MPI_Datatype, MPI_Datatype *);
DECLARE(int, Type_create_hindexed_c, MPI_Count, const MPI_Count[], const MPI_Count[], MPI_Datatype,
    MPI_Datatype *);
DECLARE(int, Type_create_hindexed_block_c, MPI_Count, MPI_Count, const MPI_Count[], MPI_Datatype,
    MPI_Datatype *);
DECLARE(int, Type_create_hvector_c, MPI_Count, MPI_Count, MPI_Count, MPI_Datatype, MPI_Datatype *);
DECLARE(int, Type_create_indexed_block_c, MPI_Count, MPI_Count, const MPI_Count[], MPI_Datatype,
    MPI_Datatype *);
DECLARE(int, Type_create_resized_c, MPI_Datatype, MPI_Count, MPI_Count, MPI_Datatype *);
DECLARE(int, Type_create_struct_c, MPI_Count, const MPI_Count[], const MPI_Count[],
    const MPI_Datatype[], MPI_Datatype *);
DECLARE(int, Type_create_subarray_c, int, const MPI_Count[], const MPI_Count[], const MPI_Count[],
    int, MPI_Datatype, MPI_Datatype *);
DECLARE(int, Type_get_contents_c, MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int[],
    MPI_Aint[], MPI_Count[], MPI_Datatype[]);
DECLARE(int, Type_get_envelope_c, MPI_Datatype, MPI_Count *, MPI_Count *, MPI_Count *, MPI_Count *,
    int *);
DECLARE(int, Type_get_extent_c, MPI_Datatype, MPI_Count *, MPI_Count *);
DECLARE(int, Type_get_true_extent_c, MPI_Datatype, MPI_Count *, MPI_Count *);
DECLARE(int, Type_indexed_c, MPI_Count, const MPI_Count[], const MPI_Count[], MPI_Datatype,
    MPI_Datatype *);
DECLARE(int, Type_size_c, MPI_Datatype, MPI_Count *);
DECLARE(int, Type_vector_c, MPI_Count, MPI_Count, MPI_Count, MPI_Datatype, MPI_Datatype *);
DECLARE(
    int, Unpack_c, const void *, MPI_Count, MPI_Count *, void *, MPI_Count, MPI_Datatype, MPI_Comm);
DECLARE(int, Unpack_external_c, const char[], const void *, MPI_Count, MPI_Count *, void *,
    MPI_Count, MPI_Datatype);
#endif
#pragma GCC visibility pop

#endif
