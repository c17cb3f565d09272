/* Datatypes made of others: what all constructors share, and those whose blocks are listed. Arrays
 * are in type_array.c. */
#include "derive.h"

/* ---- what all share ---------------------------------------------------------------------------
 */

struct type *hark_mpi_derive(int combiner, bool large, size_t parts)
{
    struct type *t = hark_mpi_new(KIND_TYPE, sizeof *t);
    t->layout = hark_mpi_layout_new(combiner, large);
    t->part = hark_mpi_memory(parts * sizeof *t->part);
    t->parts = parts;
    return t;
}

void hark_mpi_derive_part(struct type *t, size_t i, struct type *part, size_t count)
{
    part->o.references++;
    t->part[i] = (struct part){count, part};
    if (count && part->alignment > t->alignment) t->alignment = part->alignment;
}

static void lower(struct bound *b, MPI_Aint at)
{
    if (!b->known || at < b->at) *b = (struct bound){true, at};
}

static void raise(struct bound *b, MPI_Aint at)
{
    if (!b->known || at > b->at) *b = (struct bound){true, at};
}

void hark_mpi_bounds_add(struct bounds *b, MPI_Aint at, MPI_Count count, const struct type *of)
{
    const bool is_set = of->marked_lower || of->marked_upper;
    if (count == 0 || (!EMPTY_HAS_A_PLACE && of->size == 0 && !is_set)) return;
    MPI_Aint last = (MPI_Aint)(count - 1) * of->extent;
    MPI_Aint low = at + of->lower + (last < 0 ? last : 0);
    MPI_Aint high = at + of->lower + of->extent + (last > 0 ? last : 0);
    bool is_marker = of->o.predefined && of->size == 0; /* MPI_LB or MPI_UB */
    if (of->marked_lower) lower(&b->marked_lower, low);
    else if (!is_marker) lower(&b->lower, low);
    if (of->marked_upper) raise(&b->marked_upper, high);
    else if (!is_marker) raise(&b->upper, high);
}

static MPI_Aint padded(const struct type *t, MPI_Aint extent)
{
    MPI_Aint alignment = t->alignment ? (MPI_Aint)t->alignment : 1;
    return extent <= 0 ? extent : (extent + alignment - 1) / alignment * alignment;
}

void hark_mpi_bounds_end(struct type *t, const struct bounds *b, bool aligned)
{
    bool marked_lower = b->marked_lower.known, marked_upper = b->marked_upper.known;
    MPI_Aint upper = marked_upper ? b->marked_upper.at : b->upper.at;
    t->lower = marked_lower ? b->marked_lower.at : b->lower.at;
    t->extent = upper - t->lower;
    if (aligned && !marked_lower && !marked_upper) t->extent = padded(t, t->extent);
    t->marked_lower = BOUNDS_STAY && marked_lower;
    t->marked_upper = BOUNDS_STAY && marked_upper;
    if (EMPTY_IS_ZERO && t->pattern.size == 0 && !marked_lower && !marked_upper)
        t->lower = t->extent = 0;
}

void hark_mpi_type_complete(struct type *t)
{
    const struct pattern *p = &t->pattern;
    t->size = p->size;
    t->true_lower = p->low;
    t->true_extent = p->high - p->low;
    t->contiguous = t->size == 0 || (p->shape == SHAPE_BLOCK && (ptrdiff_t)p->length == t->extent);
    t->basics = t->external = 0;
    t->element = ELEMENT_NONE;
    for (size_t i = 0; i < t->parts; i++) {
        const struct type *part = t->part[i].type;
        size_t n = t->part[i].count * part->basics;
        if (n && t->basics == 0) t->element = part->element;
        else if (n && part->element != t->element) t->element = ELEMENT_NONE;
        t->basics += n;
        t->external += t->part[i].count * part->external;
    }
}

/* ---- blocks at equal distances ----------------------------------------------------------------
 */

static struct type *vector(
    int combiner, bool large, MPI_Count count, MPI_Count length, MPI_Aint stride, struct type *old)
{
    struct type *t = hark_mpi_derive(combiner, large, 1);
    struct bounds b = {0};
    hark_mpi_derive_part(t, 0, old, (size_t)count * (size_t)length);
    t->pattern = hark_mpi_pattern_repeat_copy(&t->arena,
        hark_mpi_pattern_repeat(&old->pattern, (size_t)length, old->extent), (size_t)count, stride);
    if (count) hark_mpi_bounds_add(&b, 0, length, old);
    if (count) hark_mpi_bounds_add(&b, (MPI_Aint)(count - 1) * stride, length, old);
    hark_mpi_bounds_end(t, &b, ALL_ARE_ALIGNED);
    hark_mpi_type_complete(t);
    return t;
}

#define NEED_NEW(newtype)                                                                          \
    NEED_OPEN();                                                                                   \
    NEED(NULL, newtype, MPI_ERR_ARG, "newtype is NULL")
#define NEED_LENGTH(length)                                                                        \
    NEED(NULL, (length) >= 0, MPI_ERR_ARG, "the block length is %lld, and must not be negative",   \
        (long long)(length))
#define NEED_ARRAY(count, array)                                                                   \
    NEED(NULL, (array) || (count) == 0, MPI_ERR_ARG, #array " is NULL, and the count is %lld",     \
        (long long)(count))
#define NEED_LENGTHS(count, lengths)                                                               \
    NEED_ARRAY(count, lengths);                                                                    \
    for (MPI_Count block = 0; block < (count); block++)                                            \
    NEED(NULL, (lengths)[block] >= 0, MPI_ERR_ARG,                                                 \
        "the length of block %lld is %lld, and must not be negative", (long long)block,            \
        (long long)(lengths)[block])

/* All bytes together, with their gaps, must have addresses. */
static bool is_too_large(MPI_Count count, MPI_Count length, MPI_Aint stride, const struct type *old)
{
    MPI_Count n;
    MPI_Aint bytes, end;
    return __builtin_mul_overflow(count, length, &n) ||
           __builtin_mul_overflow(n, (MPI_Aint)old->size, &bytes) ||
           __builtin_mul_overflow(length, old->extent, &bytes) ||
           __builtin_mul_overflow(count, stride, &end) || __builtin_add_overflow(bytes, end, &end);
}
#define NEED_SPACE(count, length, stride, old)                                                     \
    NEED(NULL, !is_too_large(count, length, stride, old), MPI_ERR_COUNT,                           \
        "%lld blocks of %lld elements are more than an address can reach", (long long)(count),     \
        (long long)(length))

#define CONTIGUOUS(name, is_large, integer)                                                        \
    PUBLIC(name) int PMPI_##name(integer count, MPI_Datatype oldtype, MPI_Datatype *newtype)       \
    {                                                                                              \
        NEED_NEW(newtype);                                                                         \
        NEED_TYPE(NULL, old, oldtype);                                                             \
        NEED_COUNT(NULL, count);                                                                   \
        NEED_SPACE(1, count, 0, old);                                                              \
        struct type *t = vector(MPI_COMBINER_CONTIGUOUS, is_large, 1, count, 0, old);              \
        hark_mpi_layout_add(t->layout, INTEGERS, count);                                           \
        *newtype = HANDLE(MPI_Datatype, t);                                                        \
        return MPI_SUCCESS;                                                                        \
    }
CONTIGUOUS(Type_contiguous, false, int)
CONTIGUOUS(Type_contiguous_c, true, MPI_Count)

/* `unit`: bytes of a step of the stride; `list`: where the stride is noted. */
#define VECTOR(name, combiner, is_large, integer, distance, unit, list)                            \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(integer count, integer length, distance stride, MPI_Datatype oldtype,          \
        MPI_Datatype *newtype)                                                                     \
    {                                                                                              \
        NEED_NEW(newtype);                                                                         \
        NEED_TYPE(NULL, old, oldtype);                                                             \
        NEED_COUNT(NULL, count);                                                                   \
        NEED_LENGTH(length);                                                                       \
        NEED_SPACE(count, length, (MPI_Aint)stride *(unit), old);                                  \
        struct type *t =                                                                           \
            vector(combiner, is_large, count, length, (MPI_Aint)stride * (unit), old);             \
        hark_mpi_layout_add(t->layout, INTEGERS, count);                                           \
        hark_mpi_layout_add(t->layout, INTEGERS, length);                                          \
        hark_mpi_layout_add(t->layout, list, stride);                                              \
        *newtype = HANDLE(MPI_Datatype, t);                                                        \
        return MPI_SUCCESS;                                                                        \
    }
VECTOR(Type_vector, MPI_COMBINER_VECTOR, false, int, int, old->extent, INTEGERS)
VECTOR(Type_vector_c, MPI_COMBINER_VECTOR, true, MPI_Count, MPI_Count, old->extent, INTEGERS)
VECTOR(Type_create_hvector, MPI_COMBINER_HVECTOR, false, int, MPI_Aint, 1, ADDRESSES)
VECTOR(Type_create_hvector_c, MPI_COMBINER_HVECTOR, true, MPI_Count, MPI_Count, 1, ADDRESSES)
VECTOR(Type_hvector, MPI_COMBINER_HVECTOR, false, int, MPI_Aint, 1, ADDRESSES)

/* ---- blocks that are listed -------------------------------------------------------------------
 */

struct building {
    struct pattern_list list;
    struct bounds bounds;
};

static void build(struct building *b, MPI_Aint at, MPI_Count length, const struct type *of)
{
    struct pattern p = hark_mpi_pattern_shift(
        hark_mpi_pattern_repeat(&of->pattern, (size_t)length, of->extent), at);
    hark_mpi_bounds_add(&b->bounds, at, length, of);
    hark_mpi_pattern_add(&b->list, &p);
}

static void built(struct building *b, struct type *t, bool aligned)
{
    t->pattern = hark_mpi_pattern_end(&b->list);
    hark_mpi_bounds_end(t, &b->bounds, aligned);
    hark_mpi_type_complete(t);
}

/* Blocks of one datatype: of `lengths` (NULL: of `length` all), `unit` bytes a displacement. */
static struct type *indexed(int combiner, bool large, MPI_Count count, struct numbers lengths,
    MPI_Count length, struct numbers displacements, MPI_Aint unit, struct type *old)
{
    struct type *t = hark_mpi_derive(combiner, large, 1);
    struct building b = {.list.arena = &t->arena};
    size_t elements = 0;
    for (size_t i = 0; i < (size_t)count; i++) {
        MPI_Count n = lengths.at ? number(lengths, i) : length;
        build(&b, (MPI_Aint)number(displacements, i) * unit, n, old);
        elements += (size_t)n;
    }
    hark_mpi_derive_part(t, 0, old, elements);
    built(&b, t, ALL_ARE_ALIGNED);
    return t;
}

#define INDEXED(name, combiner, is_large, constant, integer, distance, unit, list_of)              \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(integer count, constant integer lengths[], constant distance displacements[],  \
        MPI_Datatype oldtype, MPI_Datatype *newtype)                                               \
    {                                                                                              \
        NEED_NEW(newtype);                                                                         \
        NEED_TYPE(NULL, old, oldtype);                                                             \
        NEED_COUNT(NULL, count);                                                                   \
        NEED_LENGTHS(count, lengths);                                                              \
        NEED_ARRAY(count, displacements);                                                          \
        struct type *t = indexed(                                                                  \
            combiner, is_large, count, NUMBERS(lengths), 0, NUMBERS(displacements), unit, old);    \
        hark_mpi_layout_add(t->layout, INTEGERS, count);                                           \
        hark_mpi_layout_add_all(t->layout, INTEGERS, NUMBERS(lengths), (size_t)count);             \
        hark_mpi_layout_add_all(t->layout, list_of, NUMBERS(displacements), (size_t)count);        \
        *newtype = HANDLE(MPI_Datatype, t);                                                        \
        return MPI_SUCCESS;                                                                        \
    }
#define NOT_CONSTANT
INDEXED(Type_indexed, MPI_COMBINER_INDEXED, false, const, int, int, old->extent, INTEGERS)
INDEXED(
    Type_indexed_c, MPI_COMBINER_INDEXED, true, const, MPI_Count, MPI_Count, old->extent, INTEGERS)
INDEXED(Type_create_hindexed, MPI_COMBINER_HINDEXED, false, const, int, MPI_Aint, 1, ADDRESSES)
INDEXED(
    Type_create_hindexed_c, MPI_COMBINER_HINDEXED, true, const, MPI_Count, MPI_Count, 1, ADDRESSES)
INDEXED(Type_hindexed, MPI_COMBINER_HINDEXED, false, NOT_CONSTANT, int, MPI_Aint, 1, ADDRESSES)

#define INDEXED_BLOCK(name, combiner, is_large, integer, distance, unit, list_of)                  \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(integer count, integer length, const distance displacements[],                 \
        MPI_Datatype oldtype, MPI_Datatype *newtype)                                               \
    {                                                                                              \
        NEED_NEW(newtype);                                                                         \
        NEED_TYPE(NULL, old, oldtype);                                                             \
        NEED_COUNT(NULL, count);                                                                   \
        NEED_LENGTH(length);                                                                       \
        NEED_ARRAY(count, displacements);                                                          \
        struct type *t = indexed(combiner, is_large, count, (struct numbers){0}, length,           \
            NUMBERS(displacements), unit, old);                                                    \
        hark_mpi_layout_add(t->layout, INTEGERS, count);                                           \
        hark_mpi_layout_add(t->layout, INTEGERS, length);                                          \
        hark_mpi_layout_add_all(t->layout, list_of, NUMBERS(displacements), (size_t)count);        \
        *newtype = HANDLE(MPI_Datatype, t);                                                        \
        return MPI_SUCCESS;                                                                        \
    }
INDEXED_BLOCK(
    Type_create_indexed_block, MPI_COMBINER_INDEXED_BLOCK, false, int, int, old->extent, INTEGERS)
INDEXED_BLOCK(Type_create_indexed_block_c, MPI_COMBINER_INDEXED_BLOCK, true, MPI_Count, MPI_Count,
    old->extent, INTEGERS)
INDEXED_BLOCK(
    Type_create_hindexed_block, MPI_COMBINER_HINDEXED_BLOCK, false, int, MPI_Aint, 1, ADDRESSES)
INDEXED_BLOCK(Type_create_hindexed_block_c, MPI_COMBINER_HINDEXED_BLOCK, true, MPI_Count, MPI_Count,
    1, ADDRESSES)

static struct type *structure(bool large, MPI_Count count, struct numbers lengths,
    struct numbers displacements, const MPI_Datatype types[])
{
    struct type *t = hark_mpi_derive(MPI_COMBINER_STRUCT, large, (size_t)count);
    struct building b = {.list.arena = &t->arena};
    for (size_t i = 0; i < (size_t)count; i++) {
        struct type *old = TYPE(types[i]);
        MPI_Count n = number(lengths, i);
        hark_mpi_derive_part(t, i, old, (size_t)n);
        build(&b, (MPI_Aint)number(displacements, i), n, old);
    }
    built(&b, t, true);
    hark_mpi_layout_add(t->layout, INTEGERS, count);
    hark_mpi_layout_add_all(t->layout, INTEGERS, lengths, (size_t)count);
    hark_mpi_layout_add_all(t->layout, ADDRESSES, displacements, (size_t)count);
    return t;
}

#define STRUCT(name, is_large, constant, integer, distance)                                        \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(integer count, constant integer lengths[], constant distance displacements[],  \
        constant MPI_Datatype types[], MPI_Datatype *newtype)                                      \
    {                                                                                              \
        NEED_NEW(newtype);                                                                         \
        NEED_COUNT(NULL, count);                                                                   \
        NEED_LENGTHS(count, lengths);                                                              \
        NEED_ARRAY(count, displacements);                                                          \
        NEED_ARRAY(count, types);                                                                  \
        for (integer i = 0; i < count; i++) {                                                      \
            NEED_TYPE(NULL, old, types[i]);                                                        \
            (void)old;                                                                             \
        }                                                                                          \
        struct type *t =                                                                           \
            structure(is_large, count, NUMBERS(lengths), NUMBERS(displacements), types);           \
        *newtype = HANDLE(MPI_Datatype, t);                                                        \
        return MPI_SUCCESS;                                                                        \
    }
STRUCT(Type_create_struct, false, const, int, MPI_Aint)
STRUCT(Type_create_struct_c, true, const, MPI_Count, MPI_Count)
STRUCT(Type_struct, false, NOT_CONSTANT, int, MPI_Aint)

/* ---- other bounds, and the same again ---------------------------------------------------------
 */

/* A datatype whose data are those of `old`. */
static struct type *again(int combiner, bool large, struct type *old)
{
    struct type *t = hark_mpi_derive(combiner, large, 1);
    hark_mpi_derive_part(t, 0, old, 1);
    t->pattern = old->pattern;
    t->lower = old->lower;
    t->extent = old->extent;
    t->marked_lower = old->marked_lower;
    t->marked_upper = old->marked_upper;
    hark_mpi_type_complete(t);
    return t;
}

static struct type *resized(bool large, MPI_Aint lower_bound, MPI_Aint extent, struct type *old)
{
    struct type *t = again(MPI_COMBINER_RESIZED, large, old);
    hark_mpi_bounds_set(t, lower_bound, extent);
    hark_mpi_type_complete(t);
    hark_mpi_layout_add(t->layout, ADDRESSES, lower_bound);
    hark_mpi_layout_add(t->layout, ADDRESSES, extent);
    return t;
}

#define RESIZED(name, is_large, distance)                                                          \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(                                                                               \
        MPI_Datatype oldtype, distance lower_bound, distance extent, MPI_Datatype *newtype)        \
    {                                                                                              \
        NEED_NEW(newtype);                                                                         \
        NEED_TYPE(NULL, old, oldtype);                                                             \
        struct type *t = resized(is_large, (MPI_Aint)lower_bound, (MPI_Aint)extent, old);          \
        *newtype = HANDLE(MPI_Datatype, t);                                                        \
        return MPI_SUCCESS;                                                                        \
    }
RESIZED(Type_create_resized, false, MPI_Aint)
RESIZED(Type_create_resized_c, true, MPI_Count)

PUBLIC(Type_dup)
int PMPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    NEED_NEW(newtype);
    NEED_TYPE(NULL, old, oldtype);
    *newtype = MPI_DATATYPE_NULL;
    struct type *t = again(MPI_COMBINER_DUP, false, old);
    int error = MPI_SUCCESS;
    t->committed = old->committed;
    if (hark_mpi_attributes_copy(&old->o, old->attributes, &t->attributes, &error) < 0) {
        hark_mpi_type_release(t);
        FAIL(NULL, error, "a copy function of an attribute has failed");
    }
    *newtype = HANDLE(MPI_Datatype, t);
    return MPI_SUCCESS;
}
