/* type.h: a datatype, as the other files see it. Included by internal.h. */
#ifndef HARK_MPI_TYPE_H
#define HARK_MPI_TYPE_H

struct run { /* `count` blocks of `length` bytes, `stride` bytes apart, the first at `at` */
    ptrdiff_t at, stride;
    size_t length, count;
};

struct type {
    struct object o;
    size_t size;                      /* bytes of data in one element */
    MPI_Aint lower, extent;           /* of one element; upper bound: lower + extent */
    MPI_Aint true_lower, true_extent; /* without what MPI_Type_create_resized says */
    bool committed;
    bool contiguous;      /* count elements are count * size bytes, beginning at true_lower */
    enum element element; /* of all its basic elements, or ELEMENT_NONE */
    struct run *run;      /* in the order of packing; of committed ones */
    size_t runs;
    struct layout *layout; /* how it was made: type.c */
    struct attribute *attributes;
    char name[MPI_MAX_OBJECT_NAME];
};

/* Copies bytes `skip` .. `skip + length` of the packed form of `count` elements at `from` to `to`.
 */
void hark_mpi_pack(
    const struct type *t, size_t count, const void *from, size_t skip, void *to, size_t length);
/* The reverse. */
void hark_mpi_unpack(
    const struct type *t, size_t count, void *to, size_t skip, const void *from, size_t length);
/* Copies elements between two places that do not overlap: as sent and received. Bytes beyond the
 * shorter one are not copied. */
void hark_mpi_type_copy(const void *from, size_t from_count, const struct type *from_type, void *to,
    size_t to_count, const struct type *to_type);
void hark_mpi_type_release(struct type *t);

#endif
