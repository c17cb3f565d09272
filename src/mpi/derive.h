/* derive.h: how a datatype is made of others: inside type*.c. */
#ifndef HARK_MPI_DERIVE_H
#define HARK_MPI_DERIVE_H

#include "internal.h"
#include "type_names.h"

/* An array of a program: of int, or of integers of 64 bits. */
struct numbers {
    const void *at;
    size_t bytes; /* of one */
};
#define NUMBERS(array) ((struct numbers){array, sizeof *(array)})
static inline MPI_Count number(struct numbers n, size_t i)
{
    int small;
    MPI_Count large;
    if (n.bytes == sizeof small) {
        memcpy(&small, (const uint8_t *)n.at + i * sizeof small, sizeof small);
        return small;
    }
    memcpy(&large, (const uint8_t *)n.at + i * sizeof large, sizeof large);
    return large;
}

/* The arguments of a constructor, for MPI_Type_get_contents. */
enum list { INTEGERS, ADDRESSES, LARGE_COUNTS, LISTS };
struct layout {
    int combiner;
    bool large; /* made by a function with the suffix _c */
    size_t count[LISTS], room[LISTS];
    MPI_Count *value[LISTS];
};
struct layout *hark_mpi_layout_new(int combiner, bool large);
void hark_mpi_layout_free(struct layout *l);
/* Notes a number, or `count` of them. What functions with the suffix _c take as MPI_Count is in the
 * list of large counts then. */
void hark_mpi_layout_add(struct layout *l, enum list list, MPI_Count value);
void hark_mpi_layout_add_all(struct layout *l, enum list list, struct numbers n, size_t count);
/* An int, whatever the suffix. */
void hark_mpi_layout_add_int(struct layout *l, MPI_Count value);

/* A datatype with room for `parts` parts. */
struct type *hark_mpi_derive(int combiner, bool large, size_t parts);
void hark_mpi_derive_part(struct type *t, size_t i, struct type *part, size_t count);

/* MPI 3.1, 4.1.6 and 4.1.7: a bound that was set (by MPI_Type_create_resized, an array, MPI_LB)
 * overrides all others in the datatypes made of it, and an extent without such bounds is rounded up
 * to the strictest alignment inside. MPICH 4.0.2 differs, and its programs rely on it: only MPI_LB
 * and MPI_UB override, only in the structure that names them; and only structures are rounded. */
#if defined(HARK_MPI_MPICH)
enum { BOUNDS_STAY = false, ALL_ARE_ALIGNED = false };
#else
enum { BOUNDS_STAY = true, ALL_ARE_ALIGNED = true };
#endif
/* A part without entries and without bounds that were set has no place in the new datatype. In Open
 * MPI it has; in MPICH, too, but a datatype without any byte has bounds of 0. */
#if defined(HARK_MPI_ABI)
enum { EMPTY_HAS_A_PLACE = false, EMPTY_IS_ZERO = false };
#elif defined(HARK_MPI_MPICH)
enum { EMPTY_HAS_A_PLACE = true, EMPTY_IS_ZERO = true };
#else
enum { EMPTY_HAS_A_PLACE = true, EMPTY_IS_ZERO = false };
#endif
/* The bounds of t are set. */
static inline void hark_mpi_bounds_set(struct type *t, MPI_Aint lower, MPI_Aint extent)
{
    t->lower = lower;
    t->extent = extent;
    t->marked_lower = t->marked_upper = BOUNDS_STAY;
}

/* Lower and upper bound of a datatype, while its blocks are added. */
struct bound {
    bool known;
    MPI_Aint at;
};
struct bounds {
    struct bound lower, upper, marked_lower, marked_upper;
};
/* `count` elements, one behind the other. */
void hark_mpi_bounds_add(struct bounds *b, MPI_Aint at, MPI_Count count, const struct type *of);
/* The pattern of t is there. */
void hark_mpi_bounds_end(struct type *t, const struct bounds *b, bool aligned);
/* Fills in what follows from pattern, parts, and bounds. */
void hark_mpi_type_complete(struct type *t);

/* Between elements in memory and their form in "external32", of count * t->external bytes. */
void hark_mpi_pack_external(const struct type *t, size_t count, const void *from, void *to);
void hark_mpi_unpack_external(const struct type *t, size_t count, void *to, const void *from);

#endif
