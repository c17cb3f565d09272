/* Attributes: values that programs cache with communicators, datatypes and windows, and the keys
 * (hark_mpi_keyvals) that they are found by. */
#include "attribute.h"

bool (*hark_mpi_window_attribute)(struct object *window, int keyval, void **value);

/* ---- keys -------------------------------------------------------------------------------------
 */

struct keyval **hark_mpi_keyvals;
int hark_mpi_keyval_room;
uint64_t hark_mpi_keyvals_made, hark_mpi_attributes_made;

/* NULL: there is no such key for objects of this kind. */
static struct keyval *keyval_there(int number, enum kind of)
{
    int i = number - FIRST_KEYVAL;
    struct keyval *k =
        number >= FIRST_KEYVAL && i < hark_mpi_keyval_room ? hark_mpi_keyvals[i] : NULL;
    return k && k->of == of ? k : NULL;
}

/* The same of one that the program uses. */
static struct keyval *keyval_at(int number, enum kind of)
{
    struct keyval *k = keyval_there(number, of);
    if (k && k->lost)
        hark_mpi_fatal(1,
            "the program uses the keyval %d, which it made after hark_restarted, and this process "
            "went back to a checkpoint, which does not hold its functions: make keyvals before "
            "hark_restarted",
            number);
    return k;
}

static int free_place(void)
{
    int i = 0;
    while (i < hark_mpi_keyval_room && hark_mpi_keyvals[i]) i++;
    if (i < hark_mpi_keyval_room) return i;
    int room = hark_mpi_keyval_room ? hark_mpi_keyval_room * 2 : 16;
    struct keyval **more = realloc(hark_mpi_keyvals, (size_t)room * sizeof *more);
    if (more == NULL) hark_mpi_fatal(1, "no memory for a keyval");
    memset(more + hark_mpi_keyval_room, 0, (size_t)(room - hark_mpi_keyval_room) * sizeof *more);
    hark_mpi_keyvals = more;
    hark_mpi_keyval_room = room;
    return i;
}

static int keyval_make(enum kind of, void (*copy)(void), void (*delete)(void), void *extra)
{
    int i = free_place();
    struct keyval *k = hark_mpi_keyvals[i] = hark_mpi_memory(sizeof *k);
    *k = (struct keyval){.of = of,
        .references = 1,
        .serial = ++hark_mpi_keyvals_made,
        .copy = copy,
        .delete = delete,
        .extra = extra};
    return FIRST_KEYVAL + i;
}

static void keyval_release(int number, struct keyval *k)
{
    if (--k->references) return;
    hark_mpi_keyvals[number - FIRST_KEYVAL] = NULL;
    free(k);
}

/* Attributes that are there keep the key alive; a program may free it in the delete function that
 * one of them calls, too. */
static int keyval_free(int *number, enum kind of, const char *call)
{
    if (number == NULL) return hark_mpi_error(NULL, MPI_ERR_ARG, call, "keyval is NULL");
    struct keyval *k = keyval_there(*number, of);
    if (k == NULL)
        return hark_mpi_error(NULL, MPI_ERR_KEYVAL, call, "the keyval %d is not valid", *number);
    if (!k->freed) {
        k->freed = true;
        keyval_release(*number, k);
    }
    *number = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

/* ---- functions of programs --------------------------------------------------------------------
 */

/* Whole numbers are handed to C as pointers to them. */
static void *as_pointer(struct attribute *a)
{
    return a->kind == VALUE_POINTER ? a->value : &a->value;
}

static bool is_dup_function(const struct keyval *k)
{
#if defined(HARK_MPI_ABI)
    return (uintptr_t)k->copy == (uintptr_t)MPI_COMM_DUP_FN;
#elif defined(HARK_MPI_MPICH)
    return k->copy == (void (*)(void))MPIR_Dup_fn;
#else
    (void)k;
    return false;
#endif
}

static int call_copy(const struct keyval *k, struct object *o, const struct attribute *a, void *in,
    void **out, int *copied)
{
    switch (k->of) {
    case KIND_TYPE:
        return ((MPI_Type_copy_attr_function *)k->copy)(
            (MPI_Datatype)o->handle, a->keyval, k->extra, in, out, copied);
    case KIND_WINDOW:
        return ((MPI_Win_copy_attr_function *)k->copy)(
            (MPI_Win)o->handle, a->keyval, k->extra, in, out, copied);
    default:
        return ((MPI_Comm_copy_attr_function *)k->copy)(
            (MPI_Comm)o->handle, a->keyval, k->extra, in, out, copied);
    }
}

/* The program uses the value, or a function of its is to get it. */
static void need_value(const struct object *o, const struct attribute *a)
{
    if (!a->lost) return;
    hark_mpi_fatal(1,
        "the program uses the attribute with the keyval %d of a %s, which it set after "
        "hark_restarted, and this process went back to a checkpoint, which holds no attributes: "
        "set "
        "it before hark_restarted",
        a->keyval,
        o->kind == KIND_TYPE     ? "datatype"
        : o->kind == KIND_WINDOW ? "window"
                                 : "communicator");
}

/* Of the copy `*kind` and `*value`. */
static int copy_one(
    struct object *o, struct attribute *a, enum value_kind *kind, void **value, int *copied)
{
    const struct keyval *k = keyval_at(a->keyval, (enum kind)o->kind);
    *copied = 0;
    *kind = a->kind;
    *value = a->value;
    if (k->copy == NULL) return MPI_SUCCESS;
    need_value(o, a);
    if (is_dup_function(k)) {
        *copied = 1;
        return MPI_SUCCESS;
    }
#if defined(HARK_MPI_MPICH)
    static const int mpich_kind[] = {0, 1, 3};
    if (k->copy_proxy)
        return k->copy_proxy(k->copy, (int)o->handle, a->keyval, k->extra, mpich_kind[a->kind],
            a->value, value, copied);
#endif
#if defined(HARK_MPI_OPENMPI)
    if (k->of_fortran) return call_copy(k, o, a, a->value, value, copied);
#endif
    void *in = as_pointer(a), *out = in;
    int code = call_copy(k, o, a, in, &out, copied);
    if (out == in) return code;
    *kind = VALUE_POINTER;
    *value = out;
    return code;
}

static int call_delete(const struct keyval *k, struct object *o, int keyval, void *value)
{
    switch (k->of) {
    case KIND_TYPE:
        return ((MPI_Type_delete_attr_function *)k->delete)(
            (MPI_Datatype)o->handle, keyval, value, k->extra);
    case KIND_WINDOW:
        return ((MPI_Win_delete_attr_function *)k->delete)(
            (MPI_Win)o->handle, keyval, value, k->extra);
    default:
        return ((MPI_Comm_delete_attr_function *)k->delete)(
            (MPI_Comm)o->handle, keyval, value, k->extra);
    }
}

/* Of a value that a restart could not give back, the memory has gone with the process: there is
 * nothing that its function could do. */
static int delete_one(struct object *o, struct attribute *a)
{
    if (a->lost) return MPI_SUCCESS;
    const struct keyval *k = keyval_at(a->keyval, (enum kind)o->kind);
    if (k->delete == NULL) return MPI_SUCCESS;
#if defined(HARK_MPI_MPICH)
    static const int mpich_kind[] = {0, 1, 3};
    if (k->delete_proxy)
        return k->delete_proxy(
            k->delete, (int)o->handle, a->keyval, mpich_kind[a->kind], a->value, k->extra);
#elif defined(HARK_MPI_OPENMPI)
    if (k->of_fortran) return call_delete(k, o, a->keyval, a->value);
#endif
    return call_delete(k, o, a->keyval, as_pointer(a));
}

/* ---- lists of attributes: the last one first --------------------------------------------------
 */

static struct attribute **find(struct attribute **list, int keyval)
{
    while (*list && (*list)->keyval != keyval) list = &(*list)->next;
    return list;
}

static struct attribute *attribute_make(int keyval, enum value_kind kind, void *value)
{
    struct attribute *a = hark_mpi_memory(sizeof *a);
    *a = (struct attribute){NULL, keyval, kind, value, ++hark_mpi_attributes_made, false};
    hark_mpi_keyvals[keyval - FIRST_KEYVAL]->references++;
    return a;
}

/* Its delete function may have changed the list, so it is sought again. */
static void take_out(struct attribute **list, struct attribute *a)
{
    while (*list && *list != a) list = &(*list)->next;
    if (*list == NULL) return;
    *list = a->next;
    keyval_release(a->keyval, hark_mpi_keyvals[a->keyval - FIRST_KEYVAL]);
    free(a);
}

int hark_mpi_attributes_copy(
    struct object *from, struct attribute *list, struct attribute **to, int *error)
{
    for (struct attribute *a = list, *next; a; a = next) {
        enum value_kind kind;
        void *value;
        int copied;
        next = a->next;
        *error = copy_one(from, a, &kind, &value, &copied);
        if (*error) return -1;
        if (!copied) continue;
        *to = attribute_make(a->keyval, kind, value);
        to = &(*to)->next;
    }
    return 0;
}

int hark_mpi_attributes_delete(struct object *of, struct attribute **list)
{
    while (*list) {
        struct attribute *a = *list;
        int code = delete_one(of, a);
        if (code) return code;
        take_out(list, a);
    }
    return MPI_SUCCESS;
}

static struct attribute **list_of(struct object *o)
{
    switch (o->kind) {
    case KIND_TYPE: return &((struct type *)o)->attributes;
    case KIND_WINDOW: return &((struct held *)o)->attributes;
    default: return &((struct comm *)o)->attributes;
    }
}

/* ---- predefined ones --------------------------------------------------------------------------
 */

/* In MPICH's Fortran their keys are those of C and 1. */
static int predefined_key(int keyval)
{
#if defined(HARK_MPI_MPICH)
    int group = keyval & 0x7fff0000;
    if (group == (MPI_TAG_UB & 0x7fff0000) || group == (MPI_WIN_BASE & 0x7fff0000))
        return (keyval - 1) | 1;
#endif
    return keyval;
}

/* NULL: `keyval` is none. The clocks of several machines are not one, so MPI_WTIME_IS_GLOBAL is 0.
 */
static int *predefined(int keyval)
{
    static int tag_limit = TAG_LIMIT, host = MPI_PROC_NULL, io = MPI_ANY_SOURCE, global = 0,
               universe, application = 0;
    universe = hark_size();
    application = (int)hark_process.setup.program;
    switch (predefined_key(keyval)) {
    case MPI_TAG_UB: return &tag_limit;
    case MPI_HOST: return &host;
    case MPI_IO: return &io;
    case MPI_WTIME_IS_GLOBAL: return &global;
    case MPI_UNIVERSE_SIZE: return &universe;
    case MPI_LASTUSEDCODE: return &hark_mpi_last_code;
    case MPI_APPNUM: return &application;
    default: return NULL;
    }
}

/* ---- setting, getting, deleting ---------------------------------------------------------------
 */

static int no_key(struct object *o, int keyval, const char *call)
{
    return hark_mpi_error_on(o, MPI_ERR_KEYVAL, call,
        keyval == MPI_KEYVAL_INVALID
            ? "the keyval is MPI_KEYVAL_INVALID"
            : "the keyval %d is not valid: was it freed, or made for another kind of object?",
        keyval);
}

static int callback_failed(struct object *o, int code, const char *call)
{
    return hark_mpi_error_on(
        o, code, call, "the delete function of the attribute has failed with code %d", code);
}

int hark_mpi_attribute_set(
    struct object *of, int keyval, enum value_kind kind, void *value, const char *call)
{
    void *fixed;
    if (of->kind == KIND_COMM ? predefined(keyval) != NULL
                              : of->kind == KIND_WINDOW && hark_mpi_window_attribute &&
                                    hark_mpi_window_attribute(of, predefined_key(keyval), &fixed))
        return hark_mpi_error_on(
            of, MPI_ERR_KEYVAL, call, "a predefined attribute can not be changed");
    const struct keyval *k = keyval_at(keyval, (enum kind)of->kind);
    if (k == NULL || k->freed) return no_key(of, keyval, call);
    struct attribute **list = list_of(of), *a = *find(list, keyval);
    if (a) {
        int code = delete_one(of, a);
        if (code) return callback_failed(of, code, call);
        take_out(list, a);
    }
    a = attribute_make(keyval, kind, value);
    a->next = *list;
    *list = a;
    return MPI_SUCCESS;
}

static void give(void *to, enum value_kind kind, intptr_t number, void *pointer)
{
    int integer = (int)number;
    if (kind == VALUE_POINTER) memcpy(to, &pointer, sizeof pointer);
    else if (kind == VALUE_ADDRESS) memcpy(to, &number, sizeof number);
    else memcpy(to, &integer, sizeof integer);
}

/* What Fortran gets of a window's attribute, for which C gets a pointer. */
static intptr_t number_of_window(int key, const void *value)
{
    if (key == MPI_WIN_BASE) return (intptr_t)value;
    return key == MPI_WIN_SIZE ? *(const MPI_Aint *)value : *(const int *)value;
}

/* False: the object has no such predefined attribute. */
static bool get_predefined(struct object *of, int keyval, enum value_kind kind, void *value)
{
    void *pointer;
    int key = predefined_key(keyval);
    int *number = of->kind == KIND_COMM ? predefined(keyval) : NULL;
    if (number) {
        give(value, kind, *number, number);
        return true;
    }
    if (of->kind != KIND_WINDOW || hark_mpi_window_attribute == NULL ||
        !hark_mpi_window_attribute(of, key, &pointer))
        return false;
    give(value, kind, number_of_window(key, pointer), pointer);
    return true;
}

int hark_mpi_attribute_get(
    struct object *of, int keyval, enum value_kind kind, void *value, int *found, const char *call)
{
    if (value == NULL || found == NULL)
        return hark_mpi_error_on(of, MPI_ERR_ARG, call, "attribute_val or flag is NULL");
    *found = 1;
    if (get_predefined(of, keyval, kind, value)) return MPI_SUCCESS;
    if (keyval_at(keyval, (enum kind)of->kind) == NULL) return no_key(of, keyval, call);
    struct attribute *a = *find(list_of(of), keyval);
    *found = a != NULL;
    if (a) need_value(of, a);
    if (a) give(value, kind, (intptr_t)a->value, as_pointer(a));
    return MPI_SUCCESS;
}

static int attribute_delete(struct object *of, int keyval, const char *call)
{
    if (keyval_at(keyval, (enum kind)of->kind) == NULL) return no_key(of, keyval, call);
    struct attribute **list = list_of(of), *a = *find(list, keyval);
#ifdef HARK_MPI_MPICH
    if (a == NULL) return MPI_SUCCESS; /* as MPICH; the standard says nothing */
#endif
    if (a == NULL)
        return hark_mpi_error_on(
            of, MPI_ERR_KEYVAL, call, "no attribute of the keyval %d is cached here", keyval);
    need_value(of, a);
    int code = delete_one(of, a);
    if (code) return callback_failed(of, code, call);
    take_out(list, a);
    return MPI_SUCCESS;
}

/* ---- the functions of MPI ---------------------------------------------------------------------
 */

#define NEED_WINDOW(w, handle)                                                                     \
    NEED_OPEN();                                                                                   \
    struct held *w = WINDOW(handle);                                                               \
    NEED(NULL, w, MPI_ERR_WIN, "the window is not valid: was it freed?")
#define NEED_A_TYPE(t, handle)                                                                     \
    NEED_OPEN();                                                                                   \
    NEED_TYPE(NULL, t, handle)

/* The functions of one kind of object: its letters, its handles, what finds it. */
#define FUNCTIONS(X)                                                                               \
    X(Comm, MPI_Comm, KIND_COMM, NEED_COMM)                                                        \
    X(Type, MPI_Datatype, KIND_TYPE, NEED_A_TYPE)                                                  \
    X(Win, MPI_Win, KIND_WINDOW, NEED_WINDOW)

#define CREATE_KEYVAL(name, type, kind, need)                                                      \
    PUBLIC(name##_create_keyval)                                                                   \
    int PMPI_##name##_create_keyval(MPI_##name##_copy_attr_function *copy,                         \
        MPI_##name##_delete_attr_function *delete, int *keyval, void *extra)                       \
    {                                                                                              \
        NEED_OPEN();                                                                               \
        NEED(NULL, keyval, MPI_ERR_ARG, "keyval is NULL");                                         \
        *keyval = keyval_make(kind, (void (*)(void))copy, (void (*)(void)) delete, extra);         \
        return MPI_SUCCESS;                                                                        \
    }
#define FREE_KEYVAL(name, type, kind, need)                                                        \
    PUBLIC(name##_free_keyval)                                                                     \
    int PMPI_##name##_free_keyval(int *keyval)                                                     \
    {                                                                                              \
        NEED_OPEN();                                                                               \
        return keyval_free(keyval, kind, __func__);                                                \
    }
#define SET_ATTRIBUTE(name, type, kind, need)                                                      \
    PUBLIC(name##_set_attr)                                                                        \
    int PMPI_##name##_set_attr(type handle, int keyval, void *value)                               \
    {                                                                                              \
        need(object, handle);                                                                      \
        return hark_mpi_attribute_set(&object->o, keyval, VALUE_POINTER, value, __func__);         \
    }
#define GET_ATTRIBUTE(name, type, kind, need)                                                      \
    PUBLIC(name##_get_attr)                                                                        \
    int PMPI_##name##_get_attr(type handle, int keyval, void *value, int *found)                   \
    {                                                                                              \
        need(object, handle);                                                                      \
        return hark_mpi_attribute_get(&object->o, keyval, VALUE_POINTER, value, found, __func__);  \
    }
#define DELETE_ATTRIBUTE(name, type, kind, need)                                                   \
    PUBLIC(name##_delete_attr)                                                                     \
    int PMPI_##name##_delete_attr(type handle, int keyval)                                         \
    {                                                                                              \
        need(object, handle);                                                                      \
        return attribute_delete(&object->o, keyval, __func__);                                     \
    }
FUNCTIONS(CREATE_KEYVAL)
FUNCTIONS(FREE_KEYVAL)
FUNCTIONS(SET_ATTRIBUTE)
FUNCTIONS(GET_ATTRIBUTE)
FUNCTIONS(DELETE_ATTRIBUTE)

/* Their names of MPI 1. */
PUBLIC(Keyval_create)
int PMPI_Keyval_create(
    MPI_Copy_function *copy, MPI_Delete_function *delete, int *keyval, void *extra)
{
    NEED_OPEN();
    NEED(NULL, keyval, MPI_ERR_ARG, "keyval is NULL");
    *keyval = keyval_make(KIND_COMM, (void (*)(void))copy, (void (*)(void)) delete, extra);
    return MPI_SUCCESS;
}

PUBLIC(Keyval_free)
int PMPI_Keyval_free(int *keyval)
{
    NEED_OPEN();
    return keyval_free(keyval, KIND_COMM, __func__);
}

PUBLIC(Attr_put)
int PMPI_Attr_put(MPI_Comm comm, int keyval, void *value)
{
    NEED_COMM(c, comm);
    return hark_mpi_attribute_set(&c->o, keyval, VALUE_POINTER, value, __func__);
}

PUBLIC(Attr_get)
int PMPI_Attr_get(MPI_Comm comm, int keyval, void *value, int *found)
{
    NEED_COMM(c, comm);
    return hark_mpi_attribute_get(&c->o, keyval, VALUE_POINTER, value, found, __func__);
}

PUBLIC(Attr_delete)
int PMPI_Attr_delete(MPI_Comm comm, int keyval)
{
    NEED_COMM(c, comm);
    return attribute_delete(&c->o, keyval, __func__);
}

/* ---- functions that MPI_COMM_DUP_FN and others of an mpi.h stand for --------------------------
 */

#if defined(HARK_MPI_MPICH)
int MPIR_Dup_fn(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *copied)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    memcpy(out, &in, sizeof in);
    *copied = 1;
    return MPI_SUCCESS;
}
#elif defined(HARK_MPI_OPENMPI)
#define COPIES(name, type, does)                                                                   \
    int OMPI_C_MPI_##name(type handle, int keyval, void *extra, void *in, void *out, int *copied)  \
    {                                                                                              \
        (void)handle;                                                                              \
        (void)keyval;                                                                              \
        (void)extra;                                                                               \
        if (does) memcpy(out, &in, sizeof in);                                                     \
        *copied = does;                                                                            \
        return MPI_SUCCESS;                                                                        \
    }
#define DELETES(name, type)                                                                        \
    int OMPI_C_MPI_##name(type handle, int keyval, void *value, void *extra)                       \
    {                                                                                              \
        (void)handle;                                                                              \
        (void)keyval;                                                                              \
        (void)value;                                                                               \
        (void)extra;                                                                               \
        return MPI_SUCCESS;                                                                        \
    }
COPIES(DUP_FN, MPI_Comm, 1)
COPIES(NULL_COPY_FN, MPI_Comm, 0)
DELETES(NULL_DELETE_FN, MPI_Comm)
COPIES(COMM_DUP_FN, MPI_Comm, 1)
COPIES(COMM_NULL_COPY_FN, MPI_Comm, 0)
DELETES(COMM_NULL_DELETE_FN, MPI_Comm)
COPIES(TYPE_DUP_FN, MPI_Datatype, 1)
COPIES(TYPE_NULL_COPY_FN, MPI_Datatype, 0)
DELETES(TYPE_NULL_DELETE_FN, MPI_Datatype)
COPIES(WIN_DUP_FN, MPI_Win, 1)
COPIES(WIN_NULL_COPY_FN, MPI_Win, 0)
DELETES(WIN_NULL_DELETE_FN, MPI_Win)
#endif

/* ---- what MPICH's libraries for Fortran and C++ call ------------------------------------------
 */

#if defined(HARK_MPI_MPICH)
#pragma GCC visibility push(default)
/* Their kinds of values: 0 a pointer, 1 an address, 3 an INTEGER. */
#define ACCESS(name, type, kind, need)                                                             \
    int MPII_##name##_set_attr(type handle, int keyval, void *value, int value_kind);              \
    int MPII_##name##_set_attr(type handle, int keyval, void *value, int value_kind)               \
    {                                                                                              \
        need(object, handle);                                                                      \
        return hark_mpi_attribute_set(                                                             \
            &object->o, keyval, (enum value_kind)((value_kind + 1) / 2), value, __func__);         \
    }                                                                                              \
    int MPII_##name##_get_attr(type handle, int keyval, void *value, int *found, int value_kind);  \
    int MPII_##name##_get_attr(type handle, int keyval, void *value, int *found, int value_kind)   \
    {                                                                                              \
        need(object, handle);                                                                      \
        return hark_mpi_attribute_get(                                                             \
            &object->o, keyval, (enum value_kind)((value_kind + 1) / 2), value, found, __func__);  \
    }
FUNCTIONS(ACCESS)

typedef int MPII_Attr_copy_proxy(void (*copy)(void), int handle, int keyval, void *extra, int kind,
    void *value, void **result, int *copied);
typedef int MPII_Attr_delete_proxy(
    void (*delete)(void), int handle, int keyval, int kind, void *value, void *extra);
void MPII_Keyval_set_proxy(int keyval, MPII_Attr_copy_proxy *copy, MPII_Attr_delete_proxy *delete);
void MPII_Keyval_set_proxy(int keyval, MPII_Attr_copy_proxy *copy, MPII_Attr_delete_proxy *delete)
{
    int i = keyval - FIRST_KEYVAL;
    if (keyval < FIRST_KEYVAL || i >= hark_mpi_keyval_room || hark_mpi_keyvals[i] == NULL) return;
    hark_mpi_keyvals[i]->copy_proxy = copy;
    hark_mpi_keyvals[i]->delete_proxy = delete;
}
#pragma GCC visibility pop

/* ---- what the library for Fortran of Open MPI's programs calls: fortran.c ---------------------
 */

#elif defined(HARK_MPI_OPENMPI)
#pragma GCC visibility push(default)
#define ACCESS(name, type, kind, need)                                                             \
    int ompi_hark_##name##_set_attr(type handle, int keyval, int value_kind, intptr_t value);      \
    int ompi_hark_##name##_set_attr(type handle, int keyval, int value_kind, intptr_t value)       \
    {                                                                                              \
        need(object, handle);                                                                      \
        return hark_mpi_attribute_set(&object->o, keyval, (enum value_kind)value_kind,             \
            (void *)value, "PMPI_" #name "_set_attr");                                             \
    }                                                                                              \
    int ompi_hark_##name##_get_attr(                                                               \
        type handle, int keyval, int value_kind, void *value, int *found);                         \
    int ompi_hark_##name##_get_attr(                                                               \
        type handle, int keyval, int value_kind, void *value, int *found)                          \
    {                                                                                              \
        need(object, handle);                                                                      \
        return hark_mpi_attribute_get(&object->o, keyval, (enum value_kind)value_kind, value,      \
            found, "PMPI_" #name "_get_attr");                                                     \
    }
FUNCTIONS(ACCESS)

void ompi_hark_keyval_of_fortran(int keyval);
void ompi_hark_keyval_of_fortran(int keyval)
{
    int i = keyval - FIRST_KEYVAL;
    if (keyval >= FIRST_KEYVAL && i < hark_mpi_keyval_room && hark_mpi_keyvals[i])
        hark_mpi_keyvals[i]->of_fortran = true;
}
#pragma GCC visibility pop
#endif
