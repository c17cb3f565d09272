/* fortran.c: Fortran functions for programs of Open MPI that need more than a conversion of each
 * argument: callbacks, attributes, and functions with other arguments than in C. */
#include "fortran.h"

#include <stdio.h>
#include <string.h>

/* ---- what the functions share ---------------------------------------------------------------- */

char *hark_fortran_string(const char *string, int length)
{
    while (length > 0 && string[length - 1] == ' ') length--;
    while (length > 0 && *string == ' ') string++, length--;
    char *copy = malloc((size_t)length + 1);
    if (!copy) return NULL;
    memcpy(copy, string, (size_t)length);
    copy[length] = 0;
    return copy;
}

void hark_fortran_fill(char *string, int length, const char *from)
{
    size_t room = (size_t)length, used = strnlen(from, room);
    memcpy(string, from, used);
    memset(string + used, ' ', room - used);
}

MPI_Request *hark_fortran_requests(int count, const MPI_Fint *requests)
{
    MPI_Request *copy = calloc((size_t)count + 1, sizeof *copy);
    for (int i = 0; copy && i < count; i++) copy[i] = PMPI_Request_f2c(requests[i]);
    return copy;
}

void hark_fortran_requests_back(int count, MPI_Fint *requests, MPI_Request *from)
{
    for (int i = 0; i < count; i++) requests[i] = PMPI_Request_c2f(from[i]);
    free(from);
}

MPI_Datatype *hark_fortran_types(int count, const MPI_Fint *types)
{
    MPI_Datatype *copy = calloc((size_t)count + 1, sizeof *copy);
    for (int i = 0; copy && i < count; i++)
        copy[i] = types ? PMPI_Type_f2c(types[i]) : MPI_DATATYPE_NULL;
    return copy;
}

void hark_fortran_types_back(int count, MPI_Fint *types, MPI_Datatype *from)
{
    for (int i = 0; i < count; i++)
        if (from[i] != MPI_DATATYPE_NULL) types[i] = PMPI_Type_c2f(from[i]);
    free(from);
}

int hark_fortran_peers(MPI_Comm comm)
{
    int between = 0, size = 0;
    PMPI_Comm_test_inter(comm, &between);
    if (between) PMPI_Comm_remote_size(comm, &size);
    else PMPI_Comm_size(comm, &size);
    return size;
}

/* All topologies but that of MPI_Dist_graph_create have the same neighbours in both directions. */
static void neighbors(MPI_Comm comm, int *sources, int *destinations)
{
    int topology = MPI_UNDEFINED, weighted = 0, rank = 0;
    *sources = *destinations = 0;
    PMPI_Topo_test(comm, &topology);
    if (topology == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, sources, destinations, &weighted);
        return;
    }
    if (topology == MPI_CART) {
        PMPI_Cartdim_get(comm, sources);
        *sources *= 2;
    } else if (topology == MPI_GRAPH) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors_count(comm, rank, sources);
    }
    *destinations = *sources;
}

int hark_fortran_sources(MPI_Comm comm)
{
    int sources, destinations;
    neighbors(comm, &sources, &destinations);
    return sources;
}

int hark_fortran_destinations(MPI_Comm comm)
{
    int sources, destinations;
    neighbors(comm, &sources, &destinations);
    return destinations;
}

#pragma GCC visibility push(default)
#define FUNCTION(name, ...)                                                                        \
    void ompi_##name##_f(__VA_ARGS__);                                                             \
    void ompi_##name##_f(__VA_ARGS__)

/* ---- other arguments than in C --------------------------------------------------------------- */

FUNCTION(init, MPI_Fint *ierror)
{
    *ierror = PMPI_Init(NULL, NULL);
}
FORTRAN_NAMES(init, INIT, Init);

FUNCTION(init_thread, MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierror)
{
    *ierror = PMPI_Init_thread(NULL, NULL, *required, provided);
}
FORTRAN_NAMES(init_thread, INIT_THREAD, Init_thread);

FUNCTION(pcontrol, MPI_Fint *level)
{
    PMPI_Pcontrol(*level);
}
FORTRAN_NAMES(pcontrol, PCONTROL, Pcontrol);

/* Fortran cannot take the address of a buffer: it gets only the size. */
FUNCTION(buffer_detach, void *buffer, MPI_Fint *size, MPI_Fint *ierror)
{
    (void)buffer;
    void *detached;
    *ierror = PMPI_Buffer_detach(&detached, size);
}
/* Not FORTRAN_NAMES: the library of `use mpi_f08` has a function of its own for its names. */
#define DETACH_NAMES(lower, upper)                                                                 \
    FORTRAN_ALIAS(lower, ompi_buffer_detach_f);                                                    \
    FORTRAN_ALIAS(lower##_, ompi_buffer_detach_f);                                                 \
    FORTRAN_ALIAS(lower##__, ompi_buffer_detach_f);                                                \
    FORTRAN_ALIAS(upper, ompi_buffer_detach_f)
DETACH_NAMES(mpi_buffer_detach, MPI_BUFFER_DETACH);
DETACH_NAMES(pmpi_buffer_detach, PMPI_BUFFER_DETACH);

/* The compiler must not move accesses of the buffer across the call; that is all. */
FUNCTION(f_sync_reg, void *buffer)
{
    (void)buffer;
}
FORTRAN_NAMES(f_sync_reg, F_SYNC_REG, F_sync_reg);

double ompi_wtime_f(void);
double ompi_wtime_f(void)
{
    return PMPI_Wtime();
}
FORTRAN_NAMES(wtime, WTIME, Wtime);

double ompi_wtick_f(void);
double ompi_wtick_f(void)
{
    return PMPI_Wtick();
}
FORTRAN_NAMES(wtick, WTICK, Wtick);

MPI_Aint ompi_aint_add_f(MPI_Aint *base, MPI_Aint *displacement);
MPI_Aint ompi_aint_add_f(MPI_Aint *base, MPI_Aint *displacement)
{
    return *base + *displacement;
}
FORTRAN_NAMES(aint_add, AINT_ADD, Aint_add);

MPI_Aint ompi_aint_diff_f(MPI_Aint *left, MPI_Aint *right);
MPI_Aint ompi_aint_diff_f(MPI_Aint *left, MPI_Aint *right)
{
    return *left - *right;
}
FORTRAN_NAMES(aint_diff, AINT_DIFF, Aint_diff);

/* INTEGER for addresses, in functions that MPI 3.0 deleted. */
static MPI_Aint *addresses(int count, const MPI_Fint *displacements)
{
    MPI_Aint *copy = calloc((size_t)count + 1, sizeof *copy);
    for (int i = 0; copy && i < count; i++) copy[i] = displacements[i];
    return copy;
}

FUNCTION(type_struct, MPI_Fint *count, MPI_Fint *lengths, MPI_Fint *displacements, MPI_Fint *types,
    MPI_Fint *newtype, MPI_Fint *ierror)
{
    MPI_Aint *c_displacements = addresses(*count, displacements);
    MPI_Datatype *c_types = hark_fortran_types(*count, types), c_newtype = MPI_DATATYPE_NULL;
    *ierror = MPI_ERR_NO_MEM;
    if (c_displacements && c_types)
        *ierror = PMPI_Type_create_struct(*count, lengths, c_displacements, c_types, &c_newtype);
    if (*ierror == MPI_SUCCESS) *newtype = PMPI_Type_c2f(c_newtype);
    free(c_displacements);
    free(c_types);
}
FORTRAN_NAMES(type_struct, TYPE_STRUCT, Type_struct);

FUNCTION(type_hindexed, MPI_Fint *count, MPI_Fint *lengths, MPI_Fint *displacements,
    MPI_Fint *oldtype, MPI_Fint *newtype, MPI_Fint *ierror)
{
    MPI_Aint *c_displacements = addresses(*count, displacements);
    MPI_Datatype c_oldtype = PMPI_Type_f2c(*oldtype), c_newtype = MPI_DATATYPE_NULL;
    *ierror = MPI_ERR_NO_MEM;
    if (c_displacements)
        *ierror =
            PMPI_Type_create_hindexed(*count, lengths, c_displacements, c_oldtype, &c_newtype);
    if (*ierror == MPI_SUCCESS) *newtype = PMPI_Type_c2f(c_newtype);
    free(c_displacements);
}
FORTRAN_NAMES(type_hindexed, TYPE_HINDEXED, Type_hindexed);

/* ---- callbacks ------------------------------------------------------------------------------- */

typedef void fortran_function(void); /* of whichever arguments */

/* MPI calls the functions of operations and error handlers with nothing else than their own
 * arguments. So each Fortran function gets a function of C, which is found again by its number: 64
 * for each use. The same Fortran function has the same number, however often it is passed. */
enum { TRAMPOLINES = 64 };

static int number(fortran_function *known[TRAMPOLINES], fortran_function *function)
{
    for (int i = 0; i < TRAMPOLINES; i++) {
        if (!known[i]) known[i] = function;
        if (known[i] == function) return i;
    }
    return -1;
}

#define EIGHT(M, a, b, c, d, e, f, g, h) M(a) M(b) M(c) M(d) M(e) M(f) M(g) M(h)
#define ALL(M)                                                                                     \
    EIGHT(M, 0, 1, 2, 3, 4, 5, 6, 7)                                                               \
    EIGHT(M, 8, 9, 10, 11, 12, 13, 14, 15)                                                         \
    EIGHT(M, 16, 17, 18, 19, 20, 21, 22, 23)                                                       \
    EIGHT(M, 24, 25, 26, 27, 28, 29, 30, 31)                                                       \
    EIGHT(M, 32, 33, 34, 35, 36, 37, 38, 39)                                                       \
    EIGHT(M, 40, 41, 42, 43, 44, 45, 46, 47)                                                       \
    EIGHT(M, 48, 49, 50, 51, 52, 53, 54, 55)                                                       \
    EIGHT(M, 56, 57, 58, 59, 60, 61, 62, 63)

/* Operations */
typedef void fortran_operation(void *in, void *inout, MPI_Fint *length, MPI_Fint *type);
static fortran_function *operations[TRAMPOLINES];

static void combine(int index, void *in, void *inout, int *length, MPI_Datatype *type)
{
    MPI_Fint f_type = PMPI_Type_c2f(*type);
    ((fortran_operation *)operations[index])(in, inout, length, &f_type);
}
#define OPERATION(n)                                                                               \
    static void operation_##n(void *in, void *inout, int *length, MPI_Datatype *type)              \
    {                                                                                              \
        combine(n, in, inout, length, type);                                                       \
    }
ALL(OPERATION)
#define OPERATION_OF(n) operation_##n,
static MPI_User_function *const operation_at[] = {ALL(OPERATION_OF)};

FUNCTION(op_create, fortran_function *function, MPI_Fint *commute, MPI_Fint *op, MPI_Fint *ierror)
{
    MPI_Op c_op = MPI_OP_NULL;
    int at = number(operations, function);
    *ierror = at < 0 ? MPI_ERR_NO_MEM : PMPI_Op_create(operation_at[at], *commute, &c_op);
    if (*ierror == MPI_SUCCESS) *op = PMPI_Op_c2f(c_op);
}
FORTRAN_NAMES(op_create, OP_CREATE, Op_create);

/* Error handlers of communicators, windows and files */
typedef void fortran_handler(MPI_Fint *object, MPI_Fint *code);
#define HANDLERS(type, kind, lower, upper)                                                         \
    static fortran_function *lower##_handlers[TRAMPOLINES];                                        \
    static void lower##_handle(int index, type *object, int *code)                                 \
    {                                                                                              \
        MPI_Fint f_object = PMPI_##kind##_c2f(*object);                                            \
        ((fortran_handler *)lower##_handlers[index])(&f_object, code);                             \
    }                                                                                              \
    ALL(lower##_HANDLER)                                                                           \
    static MPI_##kind##_errhandler_function *const lower##_handler_at[] = {                        \
        ALL(lower##_HANDLER_OF)};                                                                  \
    FUNCTION(lower##_create_errhandler, fortran_function *function, MPI_Fint *errhandler,          \
        MPI_Fint *ierror)                                                                          \
    {                                                                                              \
        MPI_Errhandler made = MPI_ERRHANDLER_NULL;                                                 \
        int at = number(lower##_handlers, function);                                               \
        *ierror = at < 0 ? MPI_ERR_NO_MEM                                                          \
                         : PMPI_##kind##_create_errhandler(lower##_handler_at[at], &made);         \
        if (*ierror == MPI_SUCCESS) *errhandler = PMPI_Errhandler_c2f(made);                       \
    }                                                                                              \
    FORTRAN_NAMES(lower##_create_errhandler, upper##_CREATE_ERRHANDLER, kind##_create_errhandler)
#define HANDLER(lower, type, n)                                                                    \
    static void lower##_handler_##n(type *object, int *code, ...)                                  \
    {                                                                                              \
        lower##_handle(n, object, code);                                                           \
    }
#define comm_HANDLER(n)    HANDLER(comm, MPI_Comm, n)
#define comm_HANDLER_OF(n) comm_handler_##n,
#define win_HANDLER(n)     HANDLER(win, MPI_Win, n)
#define win_HANDLER_OF(n)  win_handler_##n,
#define file_HANDLER(n)    HANDLER(file, MPI_File, n)
#define file_HANDLER_OF(n) file_handler_##n,
HANDLERS(MPI_Comm, Comm, comm, COMM);
HANDLERS(MPI_Win, Win, win, WIN);
HANDLERS(MPI_File, File, file, FILE);

FUNCTION(errhandler_create, fortran_function *function, MPI_Fint *errhandler, MPI_Fint *ierror)
{
    ompi_comm_create_errhandler_f(function, errhandler, ierror);
}
FORTRAN_NAMES(errhandler_create, ERRHANDLER_CREATE, Errhandler_create);

/* Generalized requests: the extra state of C has the functions, and where the extra state of
 * Fortran is: the program sees there what its functions have changed, as with Open MPI and MPICH.
 */
struct generalized {
    void (*query)(MPI_Aint *extra, MPI_Fint *status, MPI_Fint *ierror);
    void (*release)(MPI_Aint *extra, MPI_Fint *ierror);
    void (*cancel)(MPI_Aint *extra, MPI_Fint *complete, MPI_Fint *ierror);
    MPI_Aint *extra;
};

static int query(void *state, MPI_Status *status)
{
    struct generalized *g = state;
    MPI_Fint error = MPI_SUCCESS;
    g->query(g->extra, (MPI_Fint *)(void *)status, &error);
    return error;
}

static int release(void *state)
{
    struct generalized *g = state;
    MPI_Fint error = MPI_SUCCESS;
    g->release(g->extra, &error);
    free(g);
    return error;
}

static int cancel(void *state, int complete)
{
    struct generalized *g = state;
    MPI_Fint error = MPI_SUCCESS;
    g->cancel(g->extra, &complete, &error);
    return error;
}

FUNCTION(grequest_start, void (*query_function)(MPI_Aint *, MPI_Fint *, MPI_Fint *),
    void (*free_function)(MPI_Aint *, MPI_Fint *),
    void (*cancel_function)(MPI_Aint *, MPI_Fint *, MPI_Fint *), MPI_Aint *extra, MPI_Fint *request,
    MPI_Fint *ierror)
{
    MPI_Request c_request = MPI_REQUEST_NULL;
    struct generalized *g = malloc(sizeof *g);
    *ierror = MPI_ERR_NO_MEM;
    if (!g) return;
    *g = (struct generalized){query_function, free_function, cancel_function, extra};
    *ierror = PMPI_Grequest_start(query, release, cancel, g, &c_request);
    if (*ierror == MPI_SUCCESS) *request = PMPI_Request_c2f(c_request);
    else free(g);
}
FORTRAN_NAMES(grequest_start, GREQUEST_START, Grequest_start);

/* ---- attributes ------------------------------------------------------------------------------ */

/* The extra state of C has the functions and the extra state of Fortran. It stays for ever: objects
 * may have values with a key that is freed. */
struct key {
    void (*copy)(MPI_Fint *object, MPI_Fint *key, MPI_Aint *extra, MPI_Aint *in, MPI_Aint *out,
        MPI_Fint *flag, MPI_Fint *ierror);
    void (*remove)(
        MPI_Fint *object, MPI_Fint *key, MPI_Aint *value, MPI_Aint *extra, MPI_Fint *ierror);
    MPI_Aint extra;
};

static int copy_value(MPI_Fint object, int keyval, struct key *k, void *in, void *out, int *flag)
{
    MPI_Aint value = (MPI_Aint)in, copied = 0;
    MPI_Fint error = MPI_SUCCESS;
    k->copy(&object, &keyval, &k->extra, &value, &copied, flag, &error);
    if (*flag) *(MPI_Aint *)out = copied;
    return error;
}

static int delete_value(MPI_Fint object, int keyval, void *in, struct key *k)
{
    MPI_Aint value = (MPI_Aint)in;
    MPI_Fint error = MPI_SUCCESS;
    k->remove(&object, &keyval, &value, &k->extra, &error);
    return error;
}

#define ATTRIBUTES(type, kind, lower, upper)                                                       \
    static int lower##_copy(type object, int key, void *state, void *in, void *out, int *flag)     \
    {                                                                                              \
        return copy_value(PMPI_##kind##_c2f(object), key, state, in, out, flag);                   \
    }                                                                                              \
    static int lower##_delete(type object, int key, void *value, void *state)                      \
    {                                                                                              \
        return delete_value(PMPI_##kind##_c2f(object), key, value, state);                         \
    }                                                                                              \
    FUNCTION(lower##_create_keyval, fortran_function *copy, fortran_function *remove,              \
        MPI_Fint *keyval, MPI_Aint *extra, MPI_Fint *ierror)                                       \
    {                                                                                              \
        struct key *k = malloc(sizeof *k);                                                         \
        *ierror = MPI_ERR_NO_MEM;                                                                  \
        if (!k) return;                                                                            \
        k->copy = (__typeof__(k->copy))copy;                                                       \
        k->remove = (__typeof__(k->remove))remove;                                                 \
        k->extra = *extra;                                                                         \
        *ierror = PMPI_##kind##_create_keyval(lower##_copy, lower##_delete, keyval, k);            \
        if (*ierror == MPI_SUCCESS) ompi_hark_keyval_of_fortran(*keyval);                          \
        else free(k);                                                                              \
    }                                                                                              \
    FORTRAN_NAMES(lower##_create_keyval, upper##_CREATE_KEYVAL, kind##_create_keyval);             \
    FUNCTION(                                                                                      \
        lower##_set_attr, MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *value, MPI_Fint *ierror)   \
    {                                                                                              \
        *ierror = ompi_hark_##kind##_set_attr(                                                     \
            PMPI_##kind##_f2c(*object), *keyval, FORTRAN_ADDRESS, *value);                         \
    }                                                                                              \
    FORTRAN_NAMES(lower##_set_attr, upper##_SET_ATTR, kind##_set_attr);                            \
    FUNCTION(lower##_get_attr, MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *value,                \
        MPI_Fint *flag, MPI_Fint *ierror)                                                          \
    {                                                                                              \
        *ierror = ompi_hark_##kind##_get_attr(                                                     \
            PMPI_##kind##_f2c(*object), *keyval, FORTRAN_ADDRESS, value, flag);                    \
    }                                                                                              \
    FORTRAN_NAMES(lower##_get_attr, upper##_GET_ATTR, kind##_get_attr)
ATTRIBUTES(MPI_Comm, Comm, comm, COMM);
ATTRIBUTES(MPI_Datatype, Type, type, TYPE);
ATTRIBUTES(MPI_Win, Win, win, WIN);

/* Predefined callbacks, as Fortran passes them and as they are called above */
#define PREDEFINED(lower)                                                                          \
    FUNCTION(lower##_null_copy_fn, MPI_Fint *object, MPI_Fint *key, MPI_Aint *extra, MPI_Aint *in, \
        MPI_Aint *out, MPI_Fint *flag, MPI_Fint *ierror)                                           \
    {                                                                                              \
        (void)object, (void)key, (void)extra, (void)in, (void)out;                                 \
        *flag = 0;                                                                                 \
        *ierror = MPI_SUCCESS;                                                                     \
    }                                                                                              \
    FUNCTION(lower##_dup_fn, MPI_Fint *object, MPI_Fint *key, MPI_Aint *extra, MPI_Aint *in,       \
        MPI_Aint *out, MPI_Fint *flag, MPI_Fint *ierror)                                           \
    {                                                                                              \
        (void)object, (void)key, (void)extra;                                                      \
        *out = *in;                                                                                \
        *flag = 1;                                                                                 \
        *ierror = MPI_SUCCESS;                                                                     \
    }                                                                                              \
    FUNCTION(lower##_null_delete_fn, MPI_Fint *object, MPI_Fint *key, MPI_Aint *value,             \
        MPI_Aint *extra, MPI_Fint *ierror)                                                         \
    {                                                                                              \
        (void)object, (void)key, (void)value, (void)extra;                                         \
        *ierror = MPI_SUCCESS;                                                                     \
    }                                                                                              \
    FORTRAN_CALLBACK(lower##_null_copy_fn);                                                        \
    FORTRAN_CALLBACK(lower##_dup_fn);                                                              \
    FORTRAN_CALLBACK(lower##_null_delete_fn)
#define FORTRAN_CALLBACK(lower)                                                                    \
    FORTRAN_ALIAS(mpi_##lower, ompi_##lower##_f);                                                  \
    FORTRAN_ALIAS(mpi_##lower##_, ompi_##lower##_f);                                               \
    FORTRAN_ALIAS(mpi_##lower##__, ompi_##lower##_f)
PREDEFINED(comm);
PREDEFINED(type);
PREDEFINED(win);

/* With INTEGER values, as before MPI 2.0: bits that are too many are cut. */
struct old_key {
    void (*copy)(MPI_Fint *comm, MPI_Fint *key, MPI_Fint *extra, MPI_Fint *in, MPI_Fint *out,
        MPI_Fint *flag, MPI_Fint *ierror);
    void (*remove)(
        MPI_Fint *comm, MPI_Fint *key, MPI_Fint *value, MPI_Fint *extra, MPI_Fint *ierror);
    MPI_Fint extra;
};

static int old_copy(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag)
{
    struct old_key *k = state;
    MPI_Fint object = PMPI_Comm_c2f(comm), value = (MPI_Fint)(MPI_Aint)in, copied = 0;
    MPI_Fint error = MPI_SUCCESS;
    k->copy(&object, &key, &k->extra, &value, &copied, flag, &error);
    if (*flag) *(MPI_Aint *)out = copied;
    return error;
}

static int old_delete(MPI_Comm comm, int key, void *in, void *state)
{
    struct old_key *k = state;
    MPI_Fint object = PMPI_Comm_c2f(comm), value = (MPI_Fint)(MPI_Aint)in, error = MPI_SUCCESS;
    k->remove(&object, &key, &value, &k->extra, &error);
    return error;
}

FUNCTION(keyval_create, fortran_function *copy, fortran_function *remove, MPI_Fint *keyval,
    MPI_Fint *extra, MPI_Fint *ierror)
{
    struct old_key *k = malloc(sizeof *k);
    *ierror = MPI_ERR_NO_MEM;
    if (!k) return;
    k->copy = (__typeof__(k->copy))copy;
    k->remove = (__typeof__(k->remove))remove;
    k->extra = *extra;
    *ierror = PMPI_Comm_create_keyval(old_copy, old_delete, keyval, k);
    if (*ierror == MPI_SUCCESS) ompi_hark_keyval_of_fortran(*keyval);
    else free(k);
}
FORTRAN_NAMES(keyval_create, KEYVAL_CREATE, Keyval_create);

FUNCTION(attr_put, MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *ierror)
{
    *ierror =
        ompi_hark_Comm_set_attr(PMPI_Comm_f2c(*comm), *keyval, FORTRAN_INTEGER, (MPI_Aint)*value);
}
FORTRAN_NAMES(attr_put, ATTR_PUT, Attr_put);

FUNCTION(
    attr_get, MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *flag, MPI_Fint *ierror)
{
    *ierror = ompi_hark_Comm_get_attr(PMPI_Comm_f2c(*comm), *keyval, FORTRAN_INTEGER, value, flag);
}
FORTRAN_NAMES(attr_get, ATTR_GET, Attr_get);

FUNCTION(null_copy_fn, MPI_Fint *comm, MPI_Fint *key, MPI_Fint *extra, MPI_Fint *in, MPI_Fint *out,
    MPI_Fint *flag, MPI_Fint *ierror)
{
    (void)comm, (void)key, (void)extra, (void)in, (void)out;
    *flag = 0;
    *ierror = MPI_SUCCESS;
}
FORTRAN_CALLBACK(null_copy_fn);

FUNCTION(dup_fn, MPI_Fint *comm, MPI_Fint *key, MPI_Fint *extra, MPI_Fint *in, MPI_Fint *out,
    MPI_Fint *flag, MPI_Fint *ierror)
{
    (void)comm, (void)key, (void)extra;
    *out = *in;
    *flag = 1;
    *ierror = MPI_SUCCESS;
}
FORTRAN_CALLBACK(dup_fn);

FUNCTION(null_delete_fn, MPI_Fint *comm, MPI_Fint *key, MPI_Fint *value, MPI_Fint *extra,
    MPI_Fint *ierror)
{
    (void)comm, (void)key, (void)value, (void)extra;
    *ierror = MPI_SUCCESS;
}
FORTRAN_CALLBACK(null_delete_fn);

/* ---- refused --------------------------------------------------------------------------------- */

static void refuse(const char *name, const char *reason)
{
    fprintf(stderr, "hark: %s is not there: %s\n", name, reason);
    PMPI_Abort(MPI_COMM_WORLD, 1);
}

FUNCTION(comm_spawn, void)
{
    refuse("MPI_Comm_spawn", "processes cannot be started at run time");
}
FORTRAN_NAMES(comm_spawn, COMM_SPAWN, Comm_spawn);

FUNCTION(comm_spawn_multiple, void)
{
    refuse("MPI_Comm_spawn_multiple", "processes cannot be started at run time");
}
FORTRAN_NAMES(comm_spawn_multiple, COMM_SPAWN_MULTIPLE, Comm_spawn_multiple);

/* Passed to MPI_Register_datarep, never called. */
FUNCTION(conversion_fn_null, void)
{
}
FORTRAN_CALLBACK(conversion_fn_null);

FUNCTION(register_datarep, void)
{
    refuse("MPI_Register_datarep", "files have no data representation of the program's");
}
FORTRAN_NAMES(register_datarep, REGISTER_DATAREP, Register_datarep);

#pragma GCC visibility pop
