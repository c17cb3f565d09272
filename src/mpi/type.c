/* Datatypes: those that mpi.h names, how long one lives, and what a program may ask of it. */
#include <wchar.h>

#include "derive.h"

#if defined(HARK_MPI_OPENMPI)
#undef MPI_LB
#undef MPI_UB
#pragma GCC visibility push(default)
extern struct ompi_predefined_datatype_t ompi_mpi_lb, ompi_mpi_ub;
#pragma GCC visibility pop
#define MPI_LB OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_lb)
#define MPI_UB OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_ub)
#endif

/* ---- the table --------------------------------------------------------------------------------
 */

/* The bytes of "external32" are those of MPI 3.1, table 13.2. */
#define ROW(name, ctype, element, external, number, numbers)                                       \
    {                                                                                              \
        "MPI_" #name, MPI_##name, sizeof(ctype), _Alignof(ctype), external, numbers, number,       \
            ELEMENT_##element                                                                      \
    }
#define PLAIN(name, ctype, element, external) ROW(name, ctype, element, external, BITS_ONLY, 1)
#define SIGNED(name, ctype, element, external)                                                     \
    ROW(name, ctype, element, external, SIGNED_INTEGER, 1)
#define EXTENDED(name, ctype, element, external) ROW(name, ctype, element, external, EXTENDED, 1)
#define COMPLEX(name, ctype, element, external)  ROW(name, ctype, element, external, BITS_ONLY, 2)
#define COMPLEX_EXTENDED(name, ctype, element, external)                                           \
    ROW(name, ctype, element, external, EXTENDED, 2)

__extension__ typedef __int128 integer16;
__extension__ typedef __float128 real16;
typedef _Complex float complex_float128 __attribute__((mode(TC)));

static const struct basic basics[] = {
    PLAIN(CHAR, char, CHAR, 1),
    SIGNED(SIGNED_CHAR, signed char, INT8, 1),
    PLAIN(UNSIGNED_CHAR, unsigned char, UINT8, 1),
    PLAIN(BYTE, unsigned char, BYTE, 1),
    PLAIN(PACKED, unsigned char, BYTE, 1),
    PLAIN(WCHAR, wchar_t, WCHAR, 2),
    SIGNED(SHORT, short, INT16, 2),
    PLAIN(UNSIGNED_SHORT, unsigned short, UINT16, 2),
    SIGNED(INT, int, INT32, 4),
    PLAIN(UNSIGNED, unsigned, UINT32, 4),
    SIGNED(LONG, long, INT64, 4),
    PLAIN(UNSIGNED_LONG, unsigned long, UINT64, 4),
    SIGNED(LONG_LONG_INT, long long, INT64, 8),
    PLAIN(UNSIGNED_LONG_LONG, unsigned long long, UINT64, 8),
    PLAIN(FLOAT, float, FLOAT, 4),
    PLAIN(DOUBLE, double, DOUBLE, 8),
    EXTENDED(LONG_DOUBLE, long double, LONG_DOUBLE, 16),
    SIGNED(INT8_T, int8_t, INT8, 1),
    SIGNED(INT16_T, int16_t, INT16, 2),
    SIGNED(INT32_T, int32_t, INT32, 4),
    SIGNED(INT64_T, int64_t, INT64, 8),
    PLAIN(UINT8_T, uint8_t, UINT8, 1),
    PLAIN(UINT16_T, uint16_t, UINT16, 2),
    PLAIN(UINT32_T, uint32_t, UINT32, 4),
    PLAIN(UINT64_T, uint64_t, UINT64, 8),
    SIGNED(AINT, MPI_Aint, INT64, 8),
    SIGNED(OFFSET, MPI_Offset, INT64, 8),
    SIGNED(COUNT, MPI_Count, INT64, 8),
    PLAIN(C_BOOL, bool, BOOL, 1),
    COMPLEX(C_COMPLEX, float _Complex, COMPLEX_FLOAT, 8),
    COMPLEX(C_DOUBLE_COMPLEX, double _Complex, COMPLEX_DOUBLE, 16),
    COMPLEX_EXTENDED(C_LONG_DOUBLE_COMPLEX, long double _Complex, COMPLEX_LONG_DOUBLE, 32),
    PLAIN(CXX_BOOL, bool, BOOL, 1),
    COMPLEX(CXX_FLOAT_COMPLEX, float _Complex, COMPLEX_FLOAT, 8),
    COMPLEX(CXX_DOUBLE_COMPLEX, double _Complex, COMPLEX_DOUBLE, 16),
    COMPLEX_EXTENDED(CXX_LONG_DOUBLE_COMPLEX, long double _Complex, COMPLEX_LONG_DOUBLE, 32),
    /* Fortran */
    PLAIN(CHARACTER, char, CHAR, 1),
    SIGNED(LOGICAL, int, LOGICAL4, 4),
    SIGNED(INTEGER, int, INT32, 4),
    PLAIN(REAL, float, FLOAT, 4),
    PLAIN(DOUBLE_PRECISION, double, DOUBLE, 8),
    COMPLEX(COMPLEX, float _Complex, COMPLEX_FLOAT, 8),
    COMPLEX(DOUBLE_COMPLEX, double _Complex, COMPLEX_DOUBLE, 16),
    SIGNED(INTEGER1, int8_t, INT8, 1),
    SIGNED(INTEGER2, int16_t, INT16, 2),
    SIGNED(INTEGER4, int32_t, INT32, 4),
    SIGNED(INTEGER8, int64_t, INT64, 8),
    PLAIN(REAL4, float, FLOAT, 4),
    PLAIN(REAL8, double, DOUBLE, 8),
    PLAIN(REAL16, real16, FLOAT128, 16),
    COMPLEX(COMPLEX8, float _Complex, COMPLEX_FLOAT, 8),
    COMPLEX(COMPLEX16, double _Complex, COMPLEX_DOUBLE, 16),
    COMPLEX(COMPLEX32, complex_float128, COMPLEX_FLOAT128, 32),
#ifdef MPI_LOGICAL1
    SIGNED(LOGICAL1, int8_t, LOGICAL1, 1),
    SIGNED(LOGICAL2, int16_t, LOGICAL2, 2),
    SIGNED(LOGICAL4, int32_t, LOGICAL4, 4),
    SIGNED(LOGICAL8, int64_t, LOGICAL8, 8),
#endif
#if defined(HARK_MPI_ABI)
    SIGNED(LOGICAL16, integer16, NONE, 16),
    SIGNED(INTEGER16, integer16, INT128, 16),
    PLAIN(REAL2, uint16_t, FLOAT16, 2),
    COMPLEX(COMPLEX4, uint32_t, NONE, 4),
#endif
};
enum { BASICS = sizeof basics / sizeof *basics };
static struct type basic_type[BASICS];

#if defined(HARK_MPI_MPICH)
static const struct basic float16 = {
    "MPIX_C_FLOAT16", MPIX_C_FLOAT16, 2, 2, 2, 1, BITS_ONLY, ELEMENT_FLOAT16};
static struct type float16_type;
#endif

/* Values with an index. Their places are those of a structure in C. */
struct pair {
    const char *name;
    MPI_Datatype handle, first, second;
    enum element element;
};
#define PAIR(name, first, second, element)                                                         \
    {                                                                                              \
        "MPI_" #name, MPI_##name, MPI_##first, MPI_##second, ELEMENT_##element                     \
    }

static const struct pair pairs[] = {
    PAIR(FLOAT_INT, FLOAT, INT, PAIR_FLOAT),
    PAIR(DOUBLE_INT, DOUBLE, INT, PAIR_DOUBLE),
    PAIR(LONG_INT, LONG, INT, PAIR_LONG),
    PAIR(SHORT_INT, SHORT, INT, PAIR_SHORT),
    PAIR(2INT, INT, INT, PAIR_INT),
    PAIR(LONG_DOUBLE_INT, LONG_DOUBLE, INT, PAIR_LONG_DOUBLE),
    PAIR(2INTEGER, INTEGER, INTEGER, 2INTEGER),
    PAIR(2REAL, REAL, REAL, 2REAL),
    PAIR(2DOUBLE_PRECISION, DOUBLE_PRECISION, DOUBLE_PRECISION, 2DOUBLE),
#ifdef MPI_2COMPLEX
    PAIR(2COMPLEX, COMPLEX, COMPLEX, NONE),
    PAIR(2DOUBLE_COMPLEX, DOUBLE_COMPLEX, DOUBLE_COMPLEX, NONE),
#endif
};
enum { PAIRS = sizeof pairs / sizeof *pairs };
static struct type pair_type[PAIRS];
static struct part pair_part[PAIRS][2];

static void name_it(struct type *t, const char *name)
{
    memcpy(t->name, name, strlen(name) + 1);
}

static void predefine_basic(struct type *t, const struct basic *b)
{
    hark_mpi_predefine(&t->o, KIND_TYPE, BITS(b->handle));
    t->basic = b;
    t->pattern = hark_mpi_pattern_block(b->size);
    t->size = b->size;
    t->extent = t->true_extent = b->size;
    t->committed = t->contiguous = true;
    t->element = b->element;
    t->basics = 1;
    t->external = b->external;
    t->alignment = b->alignment;
    name_it(t, b->name);
}

static size_t aligned(size_t at, size_t alignment)
{
    return (at + alignment - 1) / alignment * alignment;
}

static void predefine_pair(struct type *t, const struct pair *p, struct part part[2])
{
    struct type *a = TYPE(p->first), *b = TYPE(p->second);
    size_t second_at = aligned(a->size, b->alignment);
    struct pattern second = hark_mpi_pattern_shift(b->pattern, (ptrdiff_t)second_at);
    struct pattern_list list = {.arena = &t->arena};
    hark_mpi_predefine(&t->o, KIND_TYPE, BITS(p->handle));
    part[0] = (struct part){1, a};
    part[1] = (struct part){1, b};
    t->part = part;
    t->parts = 2;
    hark_mpi_pattern_add(&list, &a->pattern);
    hark_mpi_pattern_add(&list, &second);
    t->pattern = hark_mpi_pattern_end(&list);
    t->alignment = a->alignment > b->alignment ? a->alignment : b->alignment;
    t->extent = (MPI_Aint)aligned(second_at + b->size, t->alignment);
    hark_mpi_type_complete(t);
    t->element = p->element;
    t->committed = true;
    name_it(t, p->name);
}

#if !defined(HARK_MPI_ABI)
static struct type lower_bound, upper_bound;

static void predefine_bounds(void)
{
    hark_mpi_predefine(&lower_bound.o, KIND_TYPE, BITS(MPI_LB));
    hark_mpi_predefine(&upper_bound.o, KIND_TYPE, BITS(MPI_UB));
    lower_bound.marked_lower = upper_bound.marked_upper = true;
    lower_bound.committed = upper_bound.committed = true;
    lower_bound.contiguous = upper_bound.contiguous = true;
    name_it(&lower_bound, "MPI_LB");
    name_it(&upper_bound, "MPI_UB");
}
#endif

void hark_mpi_predefine_types(void)
{
    for (int i = 0; i < BASICS; i++) predefine_basic(&basic_type[i], &basics[i]);
    for (int i = 0; i < PAIRS; i++) predefine_pair(&pair_type[i], &pairs[i], pair_part[i]);
#if defined(HARK_MPI_MPICH)
    predefine_basic(&float16_type, &float16);
#endif
#if !defined(HARK_MPI_ABI)
    predefine_bounds();
#endif
}

#if defined(HARK_MPI_ABI)
/* The predefined datatype of such a value and such an index. */
PUBLIC(Type_get_value_index)
int PMPI_Type_get_value_index(MPI_Datatype value, MPI_Datatype index, MPI_Datatype *pair)
{
    NEED_OPEN();
    NEED(NULL, pair, MPI_ERR_ARG, "pair_type is NULL");
    NEED_TYPE(NULL, first, value);
    NEED_TYPE(NULL, second, index);
    *pair = MPI_DATATYPE_NULL;
    for (int i = 0; i < PAIRS; i++)
        if (TYPE(pairs[i].first) == first && TYPE(pairs[i].second) == second)
            *pair = pairs[i].handle;
    return MPI_SUCCESS;
}
#endif

/* ---- how long it lives ------------------------------------------------------------------------
 */

void hark_mpi_type_release(struct type *t)
{
    if (t->o.predefined || --t->o.references) return;
    if (t->attributes) hark_mpi_attributes_delete(&t->o, &t->attributes);
    for (size_t i = 0; i < t->parts; i++) hark_mpi_type_release(t->part[i].type);
    free(t->part);
    hark_mpi_layout_free(t->layout);
    hark_mpi_arena_free(&t->arena);
    hark_mpi_delete(&t->o);
}

/* Checkpoints do not hold what a datatype is made of: a restart has those that the program makes
 * again before hark_restarted, and the others are lost. */
void hark_mpi_type_put(const struct type *t, void (*put)(const void *from, size_t length))
{
    put(&t->committed, sizeof t->committed);
    put(t->name, sizeof t->name);
    hark_mpi_attributes_put(t->attributes, put);
}

void hark_mpi_type_get(struct type *t, void (*get)(void *to, size_t length))
{
    get(&t->committed, sizeof t->committed);
    get(t->name, sizeof t->name);
    hark_mpi_attributes_get(&t->attributes, get);
    if (t->o.is_new) t->o.kind = KIND_LOST;
}

/* One that the checkpoint does not have. What else has references to its parts is in there. */
void hark_mpi_type_forget(struct type *t)
{
    hark_mpi_attributes_forget(&t->attributes);
    free(t->part);
    if (t->layout) hark_mpi_layout_free(t->layout);
    hark_mpi_arena_free(&t->arena);
    hark_mpi_delete(&t->o);
}

PUBLIC(Type_commit)
int PMPI_Type_commit(MPI_Datatype *datatype)
{
    NEED_OPEN();
    NEED(NULL, datatype, MPI_ERR_ARG, "datatype is NULL");
    NEED_TYPE(NULL, t, *datatype);
    t->committed = true;
    return MPI_SUCCESS;
}

PUBLIC(Type_free)
int PMPI_Type_free(MPI_Datatype *datatype)
{
    NEED_OPEN();
    NEED(NULL, datatype, MPI_ERR_ARG, "datatype is NULL");
    NEED_TYPE(NULL, t, *datatype);
    NEED(NULL, !t->o.predefined, MPI_ERR_TYPE, "%s can not be freed",
        t->name[0] ? t->name : "a predefined datatype");
    /* A delete function that fails keeps the datatype. */
    if (t->o.references == 1 && t->attributes) {
        int code = hark_mpi_attributes_delete(&t->o, &t->attributes);
        if (code) FAIL(NULL, code, "a delete function of an attribute has failed");
    }
    hark_mpi_type_release(t);
    *datatype = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

/* ---- what a program may ask -------------------------------------------------------------------
 */

PUBLIC(Type_set_name)
int PMPI_Type_set_name(MPI_Datatype datatype, const char *name)
{
    NEED_OPEN();
    NEED_TYPE(NULL, t, datatype);
    NEED(NULL, name, MPI_ERR_ARG, "the name is NULL");
    size_t length = strnlen(name, sizeof t->name - 1);
    memcpy(t->name, name, length);
    t->name[length] = 0;
    return MPI_SUCCESS;
}

PUBLIC(Type_get_name)
int PMPI_Type_get_name(MPI_Datatype datatype, char *name, int *length)
{
    NEED_OPEN();
    NEED(NULL, name && length, MPI_ERR_ARG, "the name or its length is NULL");
    const char *text = "MPI_DATATYPE_NULL";
    if (datatype != MPI_DATATYPE_NULL) {
        NEED_TYPE(NULL, t, datatype);
        text = t->name;
    }
    *length = (int)strlen(text);
    memcpy(name, text, (size_t)*length + 1);
    return MPI_SUCCESS;
}

/* A number that does not fit into the program's variable is MPI_UNDEFINED. */
#define FITS(type, value)                                                                          \
    ((MPI_Count)(type)(value) == (MPI_Count)(value) ? (type)(value) : (type)MPI_UNDEFINED)

#define TYPE_SIZE(name, integer)                                                                   \
    PUBLIC(name) int PMPI_##name(MPI_Datatype datatype, integer *size)                             \
    {                                                                                              \
        NEED_OPEN();                                                                               \
        NEED_TYPE(NULL, t, datatype);                                                              \
        NEED(NULL, size, MPI_ERR_ARG, "size is NULL");                                             \
        *size = FITS(integer, t->size);                                                            \
        return MPI_SUCCESS;                                                                        \
    }
TYPE_SIZE(Type_size, int)
TYPE_SIZE(Type_size_x, MPI_Count)
TYPE_SIZE(Type_size_c, MPI_Count)

#define TYPE_EXTENT(name, integer, low, length)                                                    \
    PUBLIC(name) int PMPI_##name(MPI_Datatype datatype, integer *lower, integer *extent)           \
    {                                                                                              \
        NEED_OPEN();                                                                               \
        NEED_TYPE(NULL, t, datatype);                                                              \
        NEED(NULL, lower &&extent, MPI_ERR_ARG, "the bound or the extent is NULL");                \
        *lower = low;                                                                              \
        *extent = length;                                                                          \
        return MPI_SUCCESS;                                                                        \
    }
TYPE_EXTENT(Type_get_extent, MPI_Aint, t->lower, t->extent)
TYPE_EXTENT(Type_get_extent_x, MPI_Count, t->lower, t->extent)
TYPE_EXTENT(Type_get_extent_c, MPI_Count, t->lower, t->extent)
TYPE_EXTENT(Type_get_true_extent, MPI_Aint, t->true_lower, t->true_extent)
TYPE_EXTENT(Type_get_true_extent_x, MPI_Count, t->true_lower, t->true_extent)
TYPE_EXTENT(Type_get_true_extent_c, MPI_Count, t->true_lower, t->true_extent)

#define OLD_EXTENT(name, value)                                                                    \
    PUBLIC(name) int PMPI_##name(MPI_Datatype datatype, MPI_Aint *result)                          \
    {                                                                                              \
        NEED_OPEN();                                                                               \
        NEED_TYPE(NULL, t, datatype);                                                              \
        NEED(NULL, result, MPI_ERR_ARG, "the result is NULL");                                     \
        *result = value;                                                                           \
        return MPI_SUCCESS;                                                                        \
    }
OLD_EXTENT(Type_extent, t->extent)
OLD_EXTENT(Type_lb, t->lower)
OLD_EXTENT(Type_ub, t->lower + t->extent)

/* ---- addresses --------------------------------------------------------------------------------
 */

PUBLIC(Get_address)
int PMPI_Get_address(const void *location, MPI_Aint *address)
{
    NEED_OPEN();
    NEED(NULL, address, MPI_ERR_ARG, "address is NULL");
    *address = (MPI_Aint)(uintptr_t)location;
    return MPI_SUCCESS;
}

PUBLIC(Address)
int PMPI_Address(void *location, MPI_Aint *address)
{
    NEED_OPEN();
    NEED(NULL, address, MPI_ERR_ARG, "address is NULL");
    *address = (MPI_Aint)(uintptr_t)location;
    return MPI_SUCCESS;
}

PUBLIC(Aint_add)
MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint displacement)
{
    return (MPI_Aint)((uintptr_t)base + (uintptr_t)displacement);
}

PUBLIC(Aint_diff)
MPI_Aint PMPI_Aint_diff(MPI_Aint one, MPI_Aint other)
{
    return (MPI_Aint)((uintptr_t)one - (uintptr_t)other);
}
