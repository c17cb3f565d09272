/* type.h: a datatype, as the other files see it. Included by internal.h. */
#ifndef HARK_MPI_TYPE_H
#define HARK_MPI_TYPE_H

#include "pattern.h"

struct part { /* `count` elements of a datatype, in the order of packing */
    size_t count;
    struct type *type;
};

/* A number of a program, and what it is in the representation "external32". */
struct basic {
    const char *name;
    MPI_Datatype handle;
    uint8_t size, alignment, external;                   /* bytes */
    uint8_t numbers;                                     /* two, if it is complex */
    enum { BITS_ONLY, SIGNED_INTEGER, EXTENDED } number; /* EXTENDED: long double */
    enum element element;
};

struct type {
    struct object o;
    size_t size;                      /* bytes of data in one element */
    MPI_Aint lower, extent;           /* of one element; upper bound: lower + extent */
    MPI_Aint true_lower, true_extent; /* without what MPI_Type_create_resized says */
    bool committed;
    bool contiguous;      /* count elements are count * size bytes, beginning at true_lower */
    enum element element; /* of all its basic elements, or ELEMENT_NONE */
    struct pattern pattern;
    struct arena arena; /* what the pattern points to, if not to the patterns of its parts */
    /* What it was made of. A pair such as MPI_DOUBLE_INT has parts too; a basic one has none. */
    struct part *part;
    size_t parts;
    const struct basic *basic; /* of a basic one, else NULL */
    struct layout *layout;     /* the arguments of its constructor; NULL: it is predefined */
    size_t basics;             /* basic elements in one element */
    size_t external;           /* bytes of one element in "external32" */
    size_t alignment;
    /* Is the bound one of MPI_LB, MPI_UB, a resized type, or an array? Types made of this one keep
     * it, even if other parts reach further. */
    bool marked_lower, marked_upper;
    struct attribute *attributes;
    char name[MPI_MAX_OBJECT_NAME];
};

/* Are `count` elements one piece of memory, that begins at true_lower? */
static inline bool hark_mpi_type_is_block(const struct type *t, size_t count)
{
    return t->contiguous || (count == 1 && t->pattern.shape == SHAPE_BLOCK);
}

/* Where the data of such a block begins; the buffer may be MPI_BOTTOM. */
static inline void *hark_mpi_type_first(const struct type *t, const void *buffer)
{
    return (void *)((uintptr_t)buffer + (uintptr_t)t->true_lower);
}

/* Copies bytes `skip` .. `skip + length` of the packed form of `count` elements at `from` to `to`.
 */
void hark_mpi_pack(
    const struct type *t, size_t count, const void *from, size_t skip, void *to, size_t length);
/* The reverse. */
void hark_mpi_unpack(
    const struct type *t, size_t count, void *to, size_t skip, const void *from, size_t length);
/* Calls `visit` with each piece of memory of these bytes, in the order of packing: its distance
 * from the buffer, and its length. */
void hark_mpi_type_walk(const struct type *t, size_t count, size_t skip, size_t length,
    void (*visit)(void *argument, ptrdiff_t at, size_t length), void *argument);
/* Copies elements between two places that do not overlap: as sent and received. Bytes beyond the
 * shorter one are not copied. */
void hark_mpi_type_copy(const void *from, size_t from_count, const struct type *from_type, void *to,
    size_t to_count, const struct type *to_type);
void hark_mpi_type_release(struct type *t);

/* Extended numbers have 10 bytes of 16: what is in the others differs from run to run, and must not
 * be in messages, which are compared with those that were sent before a failure. */
static inline bool hark_mpi_has_padding(const struct type *t)
{
    return LDBL_MANT_DIG == 64 && t->size > 0 &&
           (t->element == ELEMENT_LONG_DOUBLE || t->element == ELEMENT_COMPLEX_LONG_DOUBLE ||
               t->element == ELEMENT_PAIR_LONG_DOUBLE);
}
/* Of elements of such a type that are packed, as many bytes as they have. */
void hark_mpi_clear_padding(const struct type *t, void *packed, size_t length);

#endif
