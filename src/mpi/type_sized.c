/* Datatypes by size, and by the precision that Fortran's selected_real_kind() and
 * selected_int_kind() ask for. */
#include "derive.h"

/* Each class has its predefined datatypes, by size. */
static MPI_Datatype of_size(int typeclass, int size)
{
    switch (typeclass << 8 | size) {
    case MPI_TYPECLASS_INTEGER << 8 | 1: return MPI_INTEGER1;
    case MPI_TYPECLASS_INTEGER << 8 | 2: return MPI_INTEGER2;
    case MPI_TYPECLASS_INTEGER << 8 | 4: return MPI_INTEGER4;
    case MPI_TYPECLASS_INTEGER << 8 | 8: return MPI_INTEGER8;
    case MPI_TYPECLASS_REAL << 8 | 4: return MPI_REAL4;
    case MPI_TYPECLASS_REAL << 8 | 8: return MPI_REAL8;
    case MPI_TYPECLASS_REAL << 8 | 16: return MPI_REAL16;
    case MPI_TYPECLASS_COMPLEX << 8 | 8: return MPI_COMPLEX8;
    case MPI_TYPECLASS_COMPLEX << 8 | 16: return MPI_COMPLEX16;
    case MPI_TYPECLASS_COMPLEX << 8 | 32: return MPI_COMPLEX32;
    default: return MPI_DATATYPE_NULL;
    }
}

PUBLIC(Type_match_size)
int PMPI_Type_match_size(int typeclass, int size, MPI_Datatype *datatype)
{
    NEED_OPEN();
    NEED(NULL, datatype, MPI_ERR_ARG, "datatype is NULL");
    NEED(NULL,
        typeclass == MPI_TYPECLASS_INTEGER || typeclass == MPI_TYPECLASS_REAL ||
            typeclass == MPI_TYPECLASS_COMPLEX,
        MPI_ERR_ARG, "the class is %d, and may be MPI_TYPECLASS_INTEGER, _REAL or _COMPLEX",
        typeclass);
    *datatype = size > 0 && size < 256 ? of_size(typeclass, size) : MPI_DATATYPE_NULL;
    NEED(NULL, *datatype != MPI_DATATYPE_NULL, MPI_ERR_ARG,
        "there is no datatype of this class with %d bytes", size);
    return MPI_SUCCESS;
}

/* ---- by precision -----------------------------------------------------------------------------
 */

/* The kinds of gfortran on this machine, the smallest first: decimal digits, and decimal exponent
 * of reals. The third is x87's, in 16 bytes. */
struct kind_of_number {
    int digits, exponent;
    MPI_Datatype real, complex;
};
static const struct kind_of_number real_kind[] = {
    {6, 37, MPI_REAL4, MPI_COMPLEX8},
    {15, 307, MPI_REAL8, MPI_COMPLEX16},
#if defined(__x86_64__) || defined(__i386__)
    {18, 4931, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX},
#endif
    {33, 4931, MPI_REAL16, MPI_COMPLEX32},
};
static const struct {
    int digits, size;
} integer_kind[] = {{2, 1}, {4, 2}, {9, 4}, {18, 8}};
#define COUNT(array) (sizeof(array) / sizeof *(array))

static MPI_Datatype real_of(int combiner, int digits, int exponent)
{
    for (size_t i = 0; i < COUNT(real_kind); i++) {
        const struct kind_of_number *k = &real_kind[i];
        if (k->digits >= digits && k->exponent >= exponent)
            return combiner == MPI_COMBINER_F90_REAL ? k->real : k->complex;
    }
    return MPI_DATATYPE_NULL;
}

static MPI_Datatype integer_of(int digits)
{
    for (size_t i = 0; i < COUNT(integer_kind); i++)
        if (integer_kind[i].digits >= digits)
            return of_size(MPI_TYPECLASS_INTEGER, integer_kind[i].size);
    return MPI_DATATYPE_NULL;
}

/* MPI 3.1, 17.1.9: the same arguments give the same handle, and it is never freed. */
static struct sized {
    struct sized *next;
    struct type *type;
} * made;

static struct type *made_before(int combiner, int digits, int exponent)
{
    for (struct sized *s = made; s; s = s->next) {
        const struct layout *l = s->type->layout;
        if (l->combiner == combiner && l->value[INTEGERS][0] == digits &&
            (combiner == MPI_COMBINER_F90_INTEGER || l->value[INTEGERS][1] == exponent))
            return s->type;
    }
    return NULL;
}

static struct type *make(int combiner, int digits, int exponent, const struct type *like)
{
    struct type *t = hark_mpi_derive(combiner, false, 0);
    struct sized *s = hark_mpi_memory(sizeof *s);
    struct object o = t->o;
    struct layout *l = t->layout;
    free(t->part);
    *t = *like;
    t->o = o;
    t->o.predefined = true;
    t->layout = l;
    t->attributes = NULL;
    t->name[0] = 0;
    hark_mpi_layout_add(l, INTEGERS, digits);
    if (combiner != MPI_COMBINER_F90_INTEGER) hark_mpi_layout_add(l, INTEGERS, exponent);
    *s = (struct sized){made, t};
    made = s;
    return t;
}

/* They go with the library: their parts are those of the types that they are like. */
void hark_mpi_sized_types_close(void)
{
    while (made) {
        struct sized *s = made;
        made = s->next;
        s->type->part = NULL;
        s->type->parts = 0;
        s->type->arena = (struct arena){0};
        s->type->o.predefined = false;
        s->type->o.references = 1;
        hark_mpi_type_release(s->type);
        free(s);
    }
}

static int give(int combiner, int digits, int exponent, MPI_Datatype like, MPI_Datatype *newtype)
{
    if (like == MPI_DATATYPE_NULL) return MPI_ERR_ARG;
    struct type *t = made_before(combiner, digits, exponent);
    if (t == NULL) t = make(combiner, digits, exponent, TYPE(like));
    *newtype = HANDLE(MPI_Datatype, t);
    return MPI_SUCCESS;
}

/* MPI_UNDEFINED is no wish, and a negative number in all interfaces. */
static int wish(int number)
{
    return number == MPI_UNDEFINED ? 0 : number;
}

#define F90_REAL(name, combiner)                                                                   \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(int digits, int exponent, MPI_Datatype *newtype)                               \
    {                                                                                              \
        NEED_OPEN();                                                                               \
        NEED(NULL, newtype, MPI_ERR_ARG, "newtype is NULL");                                       \
        NEED(NULL, digits != MPI_UNDEFINED || exponent != MPI_UNDEFINED, MPI_ERR_ARG,              \
            "both the precision and the range are MPI_UNDEFINED");                                 \
        *newtype = MPI_DATATYPE_NULL;                                                              \
        int code = give(combiner, digits, exponent, real_of(combiner, digits, exponent), newtype); \
        NEED(NULL, code == MPI_SUCCESS, code,                                                      \
            "there is no kind with %d digits and exponents up to %d", wish(digits),                \
            wish(exponent));                                                                       \
        return MPI_SUCCESS;                                                                        \
    }
F90_REAL(Type_create_f90_real, MPI_COMBINER_F90_REAL)
F90_REAL(Type_create_f90_complex, MPI_COMBINER_F90_COMPLEX)

PUBLIC(Type_create_f90_integer)
int PMPI_Type_create_f90_integer(int digits, MPI_Datatype *newtype)
{
    NEED_OPEN();
    NEED(NULL, newtype, MPI_ERR_ARG, "newtype is NULL");
    *newtype = MPI_DATATYPE_NULL;
    int code = give(MPI_COMBINER_F90_INTEGER, digits, 0, integer_of(digits), newtype);
    NEED(NULL, code == MPI_SUCCESS, code, "there is no kind with %d digits", digits);
    return MPI_SUCCESS;
}
