/* What was received: bytes of a status, as elements of a datatype; and its fields. */
#include "derive.h"

/* ---- basic elements ---------------------------------------------------------------------------
 */

/* Basic elements in `bytes` bytes, from the beginning of a datatype on, or of several. -1: the last
 * one is not there whole. */
static MPI_Count elements_in(const struct type *t, uint64_t bytes)
{
    if (bytes == 0) return 0;
    if (t->size == 0) return -1;
    uint64_t elements = bytes / t->size * t->basics;
    bytes %= t->size;
    for (size_t i = 0; bytes; i++) {
        if (t->basic || i == t->parts) return -1;
        const struct part *part = &t->part[i];
        uint64_t size = part->count * part->type->size, in = bytes < size ? bytes : size;
        MPI_Count n = elements_in(part->type, in);
        if (n < 0) return -1;
        elements += (uint64_t)n;
        bytes -= in;
    }
    return (MPI_Count)elements;
}

/* The reverse: bytes of so many basic elements. */
static uint64_t bytes_of(const struct type *t, uint64_t elements)
{
    if (t->basics == 0) return 0;
    uint64_t bytes = elements / t->basics * t->size;
    elements %= t->basics;
    for (size_t i = 0; elements && i < t->parts; i++) {
        const struct part *part = &t->part[i];
        uint64_t all = part->count * part->type->basics, n = elements < all ? elements : all;
        bytes += bytes_of(part->type, n);
        elements -= n;
    }
    return bytes;
}

/* Whole elements of a datatype; -1: the last is not whole. */
static MPI_Count count_in(const struct type *t, uint64_t bytes)
{
    if (bytes == 0) return 0;
    if (t->size == 0 || bytes % t->size) return -1;
    return (MPI_Count)(bytes / t->size);
}

/* ---- what the program calls -------------------------------------------------------------------
 */

/* A number that is not whole, or does not fit, is MPI_UNDEFINED. */
#define FITS(type, value)                                                                          \
    ((value) >= 0 && (MPI_Count)(type)(value) == (value) ? (type)(value) : (type)MPI_UNDEFINED)

#define GET(name, integer, function)                                                               \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(const MPI_Status *status, MPI_Datatype datatype, integer *count)               \
    {                                                                                              \
        NEED_OPEN();                                                                               \
        NEED(NULL, status &&count, MPI_ERR_ARG, "status or count is NULL");                        \
        NEED_TYPE(NULL, t, datatype);                                                              \
        MPI_Count n = function(t, status_bytes(status));                                           \
        *count = FITS(integer, n);                                                                 \
        return MPI_SUCCESS;                                                                        \
    }
GET(Get_count, int, count_in)
GET(Get_count_c, MPI_Count, count_in)
GET(Get_elements, int, elements_in)
GET(Get_elements_x, MPI_Count, elements_in)
GET(Get_elements_c, MPI_Count, elements_in)

#define SET(name, integer)                                                                         \
    PUBLIC(name) int PMPI_##name(MPI_Status *status, MPI_Datatype datatype, integer count)         \
    {                                                                                              \
        NEED_OPEN();                                                                               \
        NEED(NULL, status, MPI_ERR_ARG, "status is NULL");                                         \
        NEED_TYPE(NULL, t, datatype);                                                              \
        NEED_COUNT(NULL, count);                                                                   \
        status_set_bytes(status, bytes_of(t, (uint64_t)count));                                    \
        return MPI_SUCCESS;                                                                        \
    }
SET(Status_set_elements, int)
SET(Status_set_elements_x, MPI_Count)
SET(Status_set_elements_c, MPI_Count)

#if defined(HARK_MPI_ABI)
#define FIELD(name, field, result)                                                                 \
    PUBLIC(Status_get_##name)                                                                      \
    int PMPI_Status_get_##name(const MPI_Status *status, int *result)                              \
    {                                                                                              \
        NEED(NULL, status && (result), MPI_ERR_ARG, "status or " #result " is NULL");              \
        *(result) = status->field;                                                                 \
        return MPI_SUCCESS;                                                                        \
    }                                                                                              \
    PUBLIC(Status_set_##name)                                                                      \
    int PMPI_Status_set_##name(MPI_Status *status, int result)                                     \
    {                                                                                              \
        NEED(NULL, status, MPI_ERR_ARG, "status is NULL");                                         \
        status->field = result;                                                                    \
        return MPI_SUCCESS;                                                                        \
    }
FIELD(source, MPI_SOURCE, source)
FIELD(tag, MPI_TAG, tag)
FIELD(error, MPI_ERROR, error)
#endif
