/* MPI_Pack, MPI_Unpack: a packed buffer has the bytes as a message has them. */
#include "derive.h"

/* The bytes of `count` elements at `position`: do they fit into `size` bytes? */
#define NEED_PACKED(c, buffer, size, position, bytes)                                              \
    NEED(c, position, MPI_ERR_ARG, "position is NULL");                                            \
    NEED(c, *(position) >= 0 && *(position) <= (size), MPI_ERR_ARG,                                \
        "the position is %lld, and the packed buffer has %lld bytes", (long long)*(position),      \
        (long long)(size));                                                                        \
    NEED(c, (uint64_t)(bytes) <= (uint64_t)((size) - *(position)), MPI_ERR_TRUNCATE,               \
        "%llu bytes do not fit: the position is %lld, and the packed buffer has %lld bytes",       \
        (unsigned long long)(bytes), (long long)*(position), (long long)(size));                   \
    NEED(c, (buffer) || (bytes) == 0, MPI_ERR_BUFFER, "the packed buffer is NULL")

#define PACK(name, integer)                                                                        \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(const void *in, integer count, MPI_Datatype datatype, void *out, integer size, \
        integer *position, MPI_Comm comm)                                                          \
    {                                                                                              \
        NEED_COMM(c, comm);                                                                        \
        NEED_COUNT(c, count);                                                                      \
        NEED_COMMITTED(c, t, datatype);                                                            \
        NEED_BUFFER(c, in, count, t);                                                              \
        size_t bytes = (size_t)count * t->size;                                                    \
        NEED_PACKED(c, out, size, position, bytes);                                                \
        hark_mpi_pack(t, (size_t)count, in, 0, (uint8_t *)out + *position, bytes);                 \
        *position += (integer)bytes;                                                               \
        return MPI_SUCCESS;                                                                        \
    }
PACK(Pack, int)
PACK(Pack_c, MPI_Count)

#define UNPACK(name, integer)                                                                      \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(const void *in, integer size, integer *position, void *out, integer count,     \
        MPI_Datatype datatype, MPI_Comm comm)                                                      \
    {                                                                                              \
        NEED_COMM(c, comm);                                                                        \
        NEED_COUNT(c, count);                                                                      \
        NEED_COMMITTED(c, t, datatype);                                                            \
        NEED_BUFFER(c, out, count, t);                                                             \
        size_t bytes = (size_t)count * t->size;                                                    \
        NEED_PACKED(c, in, size, position, bytes);                                                 \
        hark_mpi_unpack(t, (size_t)count, out, 0, (const uint8_t *)in + *position, bytes);         \
        *position += (integer)bytes;                                                               \
        return MPI_SUCCESS;                                                                        \
    }
UNPACK(Unpack, int)
UNPACK(Unpack_c, MPI_Count)

#define PACK_SIZE(name, integer)                                                                   \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(integer count, MPI_Datatype datatype, MPI_Comm comm, integer *size)            \
    {                                                                                              \
        NEED_COMM(c, comm);                                                                        \
        NEED_COUNT(c, count);                                                                      \
        NEED_TYPE(c, t, datatype);                                                                 \
        NEED(c, size, MPI_ERR_ARG, "size is NULL");                                                \
        size_t bytes = (size_t)count * t->size;                                                    \
        *size = (uint64_t)(integer)bytes == bytes && (integer)bytes >= 0 ? (integer)bytes          \
                                                                         : (integer)MPI_UNDEFINED; \
        return MPI_SUCCESS;                                                                        \
    }
PACK_SIZE(Pack_size, int)
PACK_SIZE(Pack_size_c, MPI_Count)

/* ---- external32 -------------------------------------------------------------------------------
 */

#define NEED_EXTERNAL(representation)                                                              \
    NEED_OPEN();                                                                                   \
    NEED(NULL, (representation) && !strcmp(representation, "external32"), MPI_ERR_ARG,             \
        "the representation is %s, and may be external32",                                         \
        (representation) ? (representation) : "NULL")

#define PACK_EXTERNAL(name, integer, address)                                                      \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(const char representation[], const void *in, integer count,                    \
        MPI_Datatype datatype, void *out, address size, address *position)                         \
    {                                                                                              \
        NEED_EXTERNAL(representation);                                                             \
        NEED_COUNT(NULL, count);                                                                   \
        NEED_COMMITTED(NULL, t, datatype);                                                         \
        NEED_BUFFER(NULL, in, count, t);                                                           \
        size_t bytes = (size_t)count * t->external;                                                \
        NEED_PACKED(NULL, out, size, position, bytes);                                             \
        hark_mpi_pack_external(t, (size_t)count, in, (uint8_t *)out + *position);                  \
        *position += (address)bytes;                                                               \
        return MPI_SUCCESS;                                                                        \
    }
PACK_EXTERNAL(Pack_external, int, MPI_Aint)
PACK_EXTERNAL(Pack_external_c, MPI_Count, MPI_Count)

#define UNPACK_EXTERNAL(name, integer, address)                                                    \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(const char representation[], const void *in, address size, address *position,  \
        void *out, integer count, MPI_Datatype datatype)                                           \
    {                                                                                              \
        NEED_EXTERNAL(representation);                                                             \
        NEED_COUNT(NULL, count);                                                                   \
        NEED_COMMITTED(NULL, t, datatype);                                                         \
        NEED_BUFFER(NULL, out, count, t);                                                          \
        size_t bytes = (size_t)count * t->external;                                                \
        NEED_PACKED(NULL, in, size, position, bytes);                                              \
        hark_mpi_unpack_external(t, (size_t)count, out, (const uint8_t *)in + *position);          \
        *position += (address)bytes;                                                               \
        return MPI_SUCCESS;                                                                        \
    }
UNPACK_EXTERNAL(Unpack_external, int, MPI_Aint)
UNPACK_EXTERNAL(Unpack_external_c, MPI_Count, MPI_Count)

#define PACK_EXTERNAL_SIZE(name, integer, address)                                                 \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(                                                                               \
        const char representation[], integer count, MPI_Datatype datatype, address *size)          \
    {                                                                                              \
        NEED_EXTERNAL(representation);                                                             \
        NEED_COUNT(NULL, count);                                                                   \
        NEED_TYPE(NULL, t, datatype);                                                              \
        NEED(NULL, size, MPI_ERR_ARG, "size is NULL");                                             \
        *size = (address)((size_t)count * t->external);                                            \
        return MPI_SUCCESS;                                                                        \
    }
PACK_EXTERNAL_SIZE(Pack_external_size, int, MPI_Aint)
PACK_EXTERNAL_SIZE(Pack_external_size_c, MPI_Count, MPI_Count)
