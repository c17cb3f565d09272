/* Datatypes. */
#include "internal.h"

/* Those that mpi.h names: handle, size, alignment's extent, what a reduction knows. */
#define BASIC(X)                                                                                   \
    X(CHAR, char, CHAR)                                                                            \
    X(SIGNED_CHAR, signed char, INT8)                                                              \
    X(UNSIGNED_CHAR, unsigned char, UINT8)                                                         \
    X(BYTE, unsigned char, BYTE)                                                                   \
    X(PACKED, unsigned char, BYTE)                                                                 \
    X(SHORT, short, INT16)                                                                         \
    X(UNSIGNED_SHORT, unsigned short, UINT16)                                                      \
    X(INT, int, INT32)                                                                             \
    X(UNSIGNED, unsigned, UINT32)                                                                  \
    X(LONG, long, INT64)                                                                           \
    X(UNSIGNED_LONG, unsigned long, UINT64)                                                        \
    X(LONG_LONG_INT, long long, INT64)                                                             \
    X(UNSIGNED_LONG_LONG, unsigned long long, UINT64)                                              \
    X(FLOAT, float, FLOAT)                                                                         \
    X(DOUBLE, double, DOUBLE)                                                                      \
    X(LONG_DOUBLE, long double, LONG_DOUBLE)                                                       \
    X(INTEGER, int, INT32)                                                                         \
    X(REAL, float, FLOAT)                                                                          \
    X(DOUBLE_PRECISION, double, DOUBLE)                                                            \
    X(COMPLEX, float _Complex, COMPLEX_FLOAT)                                                      \
    X(DOUBLE_COMPLEX, double _Complex, COMPLEX_DOUBLE)                                             \
    X(LOGICAL, int, LOGICAL4)                                                                      \
    X(CHARACTER, char, CHAR)

#define STORAGE(name, ctype, kind) static struct type type_##name;
BASIC(STORAGE)

static void predefine(struct type *t, MPI_Datatype handle, size_t size, enum element element)
{
    hark_mpi_predefine(&t->o, KIND_TYPE, BITS(handle));
    t->size = size;
    t->extent = t->true_extent = (MPI_Aint)size;
    t->committed = t->contiguous = true;
    t->element = element;
}

void hark_mpi_predefine_types(void)
{
#define PREDEFINE(name, ctype, kind)                                                               \
    predefine(&type_##name, MPI_##name, sizeof(ctype), ELEMENT_##kind);
    BASIC(PREDEFINE)
}

void hark_mpi_pack(
    const struct type *t, size_t count, const void *from, size_t skip, void *to, size_t length)
{
    (void)count;
    memcpy(to, (const uint8_t *)from + t->true_lower + skip, length);
}

void hark_mpi_unpack(
    const struct type *t, size_t count, void *to, size_t skip, const void *from, size_t length)
{
    (void)count;
    memcpy((uint8_t *)to + t->true_lower + skip, from, length);
}

void hark_mpi_type_copy(const void *from, size_t from_count, const struct type *from_type, void *to,
    size_t to_count, const struct type *to_type)
{
    size_t a = from_count * from_type->size, b = to_count * to_type->size, n = a < b ? a : b;
    memmove((uint8_t *)to + to_type->true_lower, (const uint8_t *)from + from_type->true_lower, n);
}

void hark_mpi_type_release(struct type *t)
{
    if (--t->o.references || t->o.predefined) return;
    hark_mpi_delete(&t->o);
}
