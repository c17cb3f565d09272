/* Operations of reductions: the predefined ones, a loop for each operation and kind of element, and
 * those of the program. */
#include <stdio.h>

#include "internal.h"

/* The loops below are the hot path of reductions. gcc vectorises all of them only when asked. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

typedef void combine_loop(const void *from, void *into, size_t count);

#if defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 float128;
#else
typedef long double float128;
#endif

/* X(kind of element, type, the type in which it is computed): unsigned for integers, where an
 * overflow wraps. */
#define INTEGERS(X, operation)                                                                     \
    X(operation, INT8, int8_t, uint32_t)                                                           \
    X(operation, INT16, int16_t, uint32_t)                                                         \
    X(operation, INT32, int32_t, uint32_t)                                                         \
    X(operation, INT64, int64_t, uint64_t)                                                         \
    X(operation, UINT8, uint8_t, uint32_t)                                                         \
    X(operation, UINT16, uint16_t, uint32_t)                                                       \
    X(operation, UINT32, uint32_t, uint32_t)                                                       \
    X(operation, UINT64, uint64_t, uint64_t)                                                       \
    X(operation, CHAR, char, uint32_t)
#define FLOATS(X, operation)                                                                       \
    X(operation, FLOAT, float, float)                                                              \
    X(operation, DOUBLE, double, double)                                                           \
    X(operation, LONG_DOUBLE, long double, long double)                                            \
    X(operation, FLOAT128, float128, float128)
#define COMPLEXES(X, operation)                                                                    \
    X(operation, COMPLEX_FLOAT, float _Complex, float _Complex)                                    \
    X(operation, COMPLEX_DOUBLE, double _Complex, double _Complex)                                 \
    X(operation, COMPLEX_LONG_DOUBLE, long double _Complex, long double _Complex)
#define LOGICALS(X, operation)                                                                     \
    X(operation, BOOL, bool, bool)                                                                 \
    X(operation, LOGICAL1, int8_t, int8_t)                                                         \
    X(operation, LOGICAL2, int16_t, int16_t)                                                       \
    X(operation, LOGICAL4, int32_t, int32_t)                                                       \
    X(operation, LOGICAL8, int64_t, int64_t)
#define BYTES(X, operation) X(operation, BYTE, uint8_t, uint32_t)

/* What the standard allows for each operation; and, as MPICH and Open MPI do, characters as small
 * integers, and logical operations on real numbers as MPICH does. */
#define ORDERED(X, operation) INTEGERS(X, operation) FLOATS(X, operation)
#define NUMBERS(X, operation) ORDERED(X, operation) COMPLEXES(X, operation)
#define TRUTHS(X, operation)  ORDERED(X, operation) LOGICALS(X, operation)
#define BITWISE(X, operation) INTEGERS(X, operation) BYTES(X, operation)

#define OPERATIONS(X)                                                                              \
    ORDERED(X, MAX)                                                                                \
    ORDERED(X, MIN)                                                                                \
    NUMBERS(X, SUM)                                                                                \
    NUMBERS(X, PRODUCT)                                                                            \
    TRUTHS(X, LAND)                                                                                \
    TRUTHS(X, LOR)                                                                                 \
    TRUTHS(X, LXOR)                                                                                \
    BITWISE(X, BAND)                                                                               \
    BITWISE(X, BOR)                                                                                \
    BITWISE(X, BXOR)

#define COMPUTE_MAX(type, wide, a, b)     ((a) > (b) ? (a) : (b))
#define COMPUTE_MIN(type, wide, a, b)     ((a) < (b) ? (a) : (b))
#define COMPUTE_SUM(type, wide, a, b)     (type)((wide)(a) + (wide)(b))
#define COMPUTE_PRODUCT(type, wide, a, b) (type)((wide)(a) * (wide)(b))
#define COMPUTE_LAND(type, wide, a, b)    (type)((a) != 0 && (b) != 0)
#define COMPUTE_LOR(type, wide, a, b)     (type)((a) != 0 || (b) != 0)
#define COMPUTE_LXOR(type, wide, a, b)    (type)(((a) != 0) != ((b) != 0))
#define COMPUTE_BAND(type, wide, a, b)    (type)((wide)(a) & (wide)(b))
#define COMPUTE_BOR(type, wide, a, b)     (type)((wide)(a) | (wide)(b))
#define COMPUTE_BXOR(type, wide, a, b)    (type)((wide)(a) ^ (wide)(b))

#define LOOP(operation, element, type, wide)                                                       \
    static void operation##_##element(                                                             \
        const void *restrict from, void *restrict into, size_t count)                              \
    {                                                                                              \
        const type *restrict a = from;                                                             \
        type *restrict b = into;                                                                   \
        for (size_t i = 0; i < count; i++) b[i] = COMPUTE_##operation(type, wide, a[i], b[i]);     \
    }
OPERATIONS(LOOP)

/* X(kind of element, type of the value, type of the index): of equal values that with the lower
 * index. */
#define PAIRS(X)                                                                                   \
    X(PAIR_FLOAT, float, int)                                                                      \
    X(PAIR_DOUBLE, double, int)                                                                    \
    X(PAIR_LONG, long, int)                                                                        \
    X(PAIR_INT, int, int)                                                                          \
    X(PAIR_SHORT, short, int)                                                                      \
    X(PAIR_LONG_DOUBLE, long double, int)                                                          \
    X(2INTEGER, int, int)                                                                          \
    X(2REAL, float, float)                                                                         \
    X(2DOUBLE, double, double)

#define PAIR(element, value_type, index_type)                                                      \
    struct pair_##element {                                                                        \
        value_type value;                                                                          \
        index_type index;                                                                          \
    };                                                                                             \
    PAIR_LOOP(MAXLOC, element, >)                                                                  \
    PAIR_LOOP(MINLOC, element, <)
#define PAIR_LOOP(operation, element, is_better)                                                   \
    static void operation##_##element(const void *from, void *into, size_t count)                  \
    {                                                                                              \
        const struct pair_##element *a = from;                                                     \
        struct pair_##element *b = into;                                                           \
        for (size_t i = 0; i < count; i++)                                                         \
            if (a[i].value is_better b[i].value ||                                                 \
                (!(b[i].value is_better a[i].value) && a[i].index < b[i].index))                   \
                b[i] = a[i];                                                                       \
    }
PAIRS(PAIR)

enum { OPERATION_COUNT = OPERATION_NO_OP + 1 };

#define ENTRY(operation, element, type, wide)                                                      \
    [OPERATION_##operation][ELEMENT_##element] = operation##_##element,
#define PAIR_ENTRIES(element, value_type, index_type)                                              \
    [OPERATION_MAXLOC][ELEMENT_##element] = MAXLOC_##element,                                      \
    [OPERATION_MINLOC][ELEMENT_##element] = MINLOC_##element,
static combine_loop *const loops[OPERATION_COUNT][ELEMENTS] = {
    OPERATIONS(ENTRY) PAIRS(PAIR_ENTRIES)};

/* ---- objects ----------------------------------------------------------------------------------
 */

#define PREDEFINED(X)                                                                              \
    X(MAX, MAX)                                                                                    \
    X(MIN, MIN)                                                                                    \
    X(SUM, SUM)                                                                                    \
    X(PRODUCT, PROD)                                                                               \
    X(LAND, LAND)                                                                                  \
    X(BAND, BAND)                                                                                  \
    X(LOR, LOR)                                                                                    \
    X(BOR, BOR)                                                                                    \
    X(LXOR, LXOR)                                                                                  \
    X(BXOR, BXOR)                                                                                  \
    X(MINLOC, MINLOC)                                                                              \
    X(MAXLOC, MAXLOC)                                                                              \
    X(REPLACE, REPLACE)                                                                            \
    X(NO_OP, NO_OP)

static struct op predefined[OPERATION_COUNT];

#define NAME(operation, name) [OPERATION_##operation] = "MPI_" #name,
static const char *const name_of[OPERATION_COUNT] = {PREDEFINED(NAME)};

static void predefine(enum operation operation, MPI_Op handle)
{
    struct op *op = &predefined[operation];
    hark_mpi_predefine(&op->o, KIND_OP, BITS(handle));
    op->operation = operation;
    op->commutes = operation != OPERATION_REPLACE && operation != OPERATION_NO_OP;
}

void hark_mpi_predefine_ops(void)
{
#define PREDEFINE(operation, name) predefine(OPERATION_##operation, MPI_##name);
    PREDEFINED(PREDEFINE)
}

void hark_mpi_op_release(struct op *op)
{
    if (op->o.predefined || --op->o.references) return;
    hark_mpi_delete(&op->o);
}

/* ---- checkpoints ------------------------------------------------------------------------------
 *
 * An operation is a function of the program: a restart has those that the program makes again
 * before hark_restarted, and the others end the process when they are to combine something. */

static void lost(void *from, void *into, int *count, MPI_Datatype *datatype)
{
    (void)from;
    (void)into;
    (void)count;
    (void)datatype;
    hark_mpi_fatal(1,
        "the program uses an operation that it made after hark_restarted, and this process went "
        "back "
        "to a checkpoint, which does not hold its function: call MPI_Op_create before "
        "hark_restarted");
}

void hark_mpi_op_put(const struct op *op, void (*put)(const void *from, size_t length))
{
    put(&op->commutes, sizeof op->commutes);
}

void hark_mpi_op_get(struct op *op, void (*get)(void *to, size_t length))
{
    get(&op->commutes, sizeof op->commutes);
    if (!op->o.is_new) return;
    op->operation = OPERATION_USER;
    op->call = lost;
}

/* ---- combining --------------------------------------------------------------------------------
 */

/* A function of the program counts in an int, or in an MPI_Count. */
static void combine_by_call(
    const struct op *op, void *from, void *into, size_t count, struct type *t)
{
    MPI_Datatype datatype = HANDLE(MPI_Datatype, t);
    MPI_Count all = (MPI_Count)count;
    if (op->call_wide) {
        op->call_wide(from, into, &all, &datatype);
        return;
    }
    for (size_t done = 0; done < count;) {
        int some = count - done > INT_MAX ? INT_MAX : (int)(count - done);
        ptrdiff_t skip = (ptrdiff_t)done * t->extent;
        op->call((uint8_t *)from + skip, (uint8_t *)into + skip, &some, &datatype);
        done += (size_t)some;
    }
}

void hark_mpi_combine(
    const struct op *op, const void *from, void *into, size_t count, struct type *t)
{
    if (count == 0 || op->operation == OPERATION_NO_OP) return;
    if (op->operation == OPERATION_USER) {
        combine_by_call(op, (void *)(uintptr_t)from, into, count, t);
        return;
    }
    if (op->operation == OPERATION_REPLACE) {
        hark_mpi_type_copy(from, count, t, into, count, t);
        return;
    }
    loops[op->operation][t->element](from, into, count);
}

/* Bytes from one element to the next, of those that have the same sum in any order. */
#define WIDTH(operation, element, type, wide) [ELEMENT_##element] = sizeof(type),
static const uint8_t width_of[ELEMENTS] = {INTEGERS(WIDTH, ) LOGICALS(WIDTH, ) BYTES(WIDTH, )};

bool hark_mpi_combine_bytes(
    enum operation operation, enum element element, const void *from, void *into, size_t bytes)
{
    if (operation > OPERATION_NO_OP || element >= ELEMENTS) return false;
    combine_loop *loop = loops[operation][element];
    if (loop == NULL || width_of[element] == 0 || bytes % width_of[element]) return false;
    loop(from, into, bytes / width_of[element]);
    return true;
}

bool hark_mpi_op_defined(const struct op *op, const struct type *t)
{
    return op->operation == OPERATION_USER ||
           (t->o.predefined && loops[op->operation][t->element] != NULL);
}

const struct op *hark_mpi_op_of(enum operation operation)
{
    return &predefined[operation];
}

static const char *type_name(const struct type *t)
{
    if (t->name[0]) return t->name;
    return t->o.predefined ? "this predefined datatype" : "a datatype that the program has made";
}

int hark_mpi_op_valid(struct comm *c, const struct op *op, const struct type *t, const char *call)
{
    if (op == NULL)
        return hark_mpi_error(
            c, MPI_ERR_OP, call, "the operation is MPI_OP_NULL, or not valid: was it freed?");
    if (hark_mpi_op_defined(op, t)) return MPI_SUCCESS;
    return hark_mpi_error(c, MPI_ERR_OP, call, "the operation %s is not defined for %s",
        name_of[op->operation], type_name(t));
}

/* ---- calls ------------------------------------------------------------------------------------
 */

static struct op *made(int commute)
{
    struct op *op = hark_mpi_new(KIND_OP, sizeof *op);
    op->operation = OPERATION_USER;
    op->commutes = commute != 0;
    return op;
}

PUBLIC(Op_create)
int PMPI_Op_create(MPI_User_function *function, int commute, MPI_Op *op)
{
    NEED_OPEN();
    NEED(NULL, function && op, MPI_ERR_ARG, "the function, or op, is NULL");
    struct op *o = made(commute);
    o->call = function;
    *op = HANDLE(MPI_Op, o);
    return MPI_SUCCESS;
}

#pragma GCC visibility push(default)
int PMPI_Op_create_c(user_function_wide *function, int commute, MPI_Op *op);
int PMPI_Reduce_local_c(
    const void *from, void *into, MPI_Count count, MPI_Datatype datatype, MPI_Op op);
#pragma GCC visibility pop

PUBLIC(Op_create_c)
int PMPI_Op_create_c(user_function_wide *function, int commute, MPI_Op *op)
{
    NEED_OPEN();
    NEED(NULL, function && op, MPI_ERR_ARG, "the function, or op, is NULL");
    struct op *o = made(commute);
    o->call_wide = function;
    *op = HANDLE(MPI_Op, o);
    return MPI_SUCCESS;
}

#define NEED_OP(o, handle)                                                                         \
    struct op *o = OP(handle);                                                                     \
    NEED(NULL, o, MPI_ERR_OP, "the operation is MPI_OP_NULL, or not valid: was it freed?")

PUBLIC(Op_free)
int PMPI_Op_free(MPI_Op *op)
{
    NEED_OPEN();
    NEED(NULL, op, MPI_ERR_ARG, "op is NULL");
    NEED_OP(o, *op);
    NEED(NULL, !o->o.predefined, MPI_ERR_OP, "%s is predefined, and can not be freed",
        name_of[o->operation]);
    *op = MPI_OP_NULL;
    hark_mpi_op_release(o);
    return MPI_SUCCESS;
}

PUBLIC(Op_commutative)
int PMPI_Op_commutative(MPI_Op op, int *commute)
{
    NEED_OPEN();
    NEED(NULL, commute, MPI_ERR_ARG, "commute is NULL");
    NEED_OP(o, op);
    *commute = o->commutes;
    return MPI_SUCCESS;
}

static int reduce_local(const void *from, void *into, long long count, MPI_Datatype datatype,
    MPI_Op op, const char *call)
{
    struct op *o = OP(op);
    struct type *t = TYPE(datatype);
    if (t == NULL || !t->committed)
        return hark_mpi_error(
            NULL, MPI_ERR_TYPE, call, "the datatype is not valid, or not committed");
    if (count < 0)
        return hark_mpi_error(
            NULL, MPI_ERR_COUNT, call, "the count is %lld, and must not be negative", count);
    int code = hark_mpi_op_valid(NULL, o, t, call);
    if (code) return code;
    if (count > 0 && t->size > 0 && t->true_lower == 0 && (from == NULL || into == NULL))
        return hark_mpi_error(NULL, MPI_ERR_BUFFER, call, "a buffer is NULL");
    if (from == MPI_IN_PLACE || into == MPI_IN_PLACE)
        return hark_mpi_error(
            NULL, MPI_ERR_BUFFER, call, "a buffer is MPI_IN_PLACE, which may not be here");
    if (count > 0 && from == into)
        return hark_mpi_error(NULL, MPI_ERR_BUFFER, call, "the two buffers are the same one");
    hark_mpi_combine(o, from, into, (size_t)count, t);
    return MPI_SUCCESS;
}

PUBLIC(Reduce_local)
int PMPI_Reduce_local(const void *from, void *into, int count, MPI_Datatype datatype, MPI_Op op)
{
    NEED_OPEN();
    return reduce_local(from, into, count, datatype, op, __func__);
}

PUBLIC(Reduce_local_c)
int PMPI_Reduce_local_c(
    const void *from, void *into, MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
    NEED_OPEN();
    return reduce_local(from, into, count, datatype, op, __func__);
}
