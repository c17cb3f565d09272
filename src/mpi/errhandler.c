/* Error handlers; error classes, codes and their texts. */
#include <stdio.h>

#include "internal.h"

/* ---- handlers ---------------------------------------------------------------------------------
 */

static struct errhandler fatal_handler, return_handler;
#if !defined(HARK_MPI_OPENMPI)
static struct errhandler abort_handler;
#endif
struct errhandler *hark_mpi_file_errhandler = &return_handler;

/* Before MPI_Init too: programs may make sessions, and handlers of them. */
void hark_mpi_predefine_errhandlers(void)
{
    if (fatal_handler.o.kind) return;
    hark_mpi_predefine(&fatal_handler.o, KIND_ERRHANDLER, BITS(MPI_ERRORS_ARE_FATAL));
    hark_mpi_predefine(&return_handler.o, KIND_ERRHANDLER, BITS(MPI_ERRORS_RETURN));
    fatal_handler.does = ERRORS_FATAL;
    return_handler.does = ERRORS_RETURN;
#if !defined(HARK_MPI_OPENMPI)
    hark_mpi_predefine(&abort_handler.o, KIND_ERRHANDLER, BITS(MPI_ERRORS_ABORT));
    abort_handler.does = ERRORS_ABORT;
#endif
}

struct errhandler *hark_mpi_errhandler_again(struct errhandler *e)
{
    e->o.references++;
    return e;
}

void hark_mpi_errhandler_release(struct errhandler *e)
{
    if (--e->o.references || e->o.predefined) return;
    hark_mpi_delete(&e->o);
}

void hark_mpi_errhandler_replace(struct errhandler **at, struct errhandler *e)
{
    struct errhandler *old = *at;
    *at = hark_mpi_errhandler_again(e);
    hark_mpi_errhandler_release(old);
}

static MPI_Errhandler handler_make(enum kind of, void (*call)())
{
    hark_mpi_predefine_errhandlers();
    struct errhandler *e = hark_mpi_new(KIND_ERRHANDLER, sizeof *e);
    e->of = of;
    e->does = ERRORS_CALL;
    e->call = call;
    return HANDLE(MPI_Errhandler, e);
}

/* What may be set for an object of this kind; NULL: an error was raised, with its code in *code. */
static struct errhandler *valid(
    struct object *o, enum kind of, MPI_Errhandler handle, const char *call, int *code)
{
    hark_mpi_predefine_errhandlers();
    struct errhandler *e = ERRHANDLER(handle);
    if (e && (e->o.predefined || e->of == of)) return e;
    *code = hark_mpi_error_on(o, MPI_ERR_ARG, call, "%s",
        handle == MPI_ERRHANDLER_NULL ? "the error handler is MPI_ERRHANDLER_NULL"
        : e                           ? "the error handler was made for another kind of object"
                                      : "the error handler is not valid: was it freed?");
    return NULL;
}

static int set_handler(
    struct object *o, enum kind of, struct errhandler **at, MPI_Errhandler handle, const char *call)
{
    int code = MPI_SUCCESS;
    struct errhandler *e = valid(o, of, handle, call, &code);
    if (e) hark_mpi_errhandler_replace(at, e);
    return code;
}

static int get_handler(
    struct object *o, struct errhandler *e, MPI_Errhandler *handle, const char *call)
{
    if (handle == NULL) return hark_mpi_error_on(o, MPI_ERR_ARG, call, "errhandler is NULL");
    *handle = HANDLE(MPI_Errhandler, hark_mpi_errhandler_again(e));
    return MPI_SUCCESS;
}

#define CREATE_HANDLER(name, kind, function_type)                                                  \
    PUBLIC(name##_create_errhandler)                                                               \
    int PMPI_##name##_create_errhandler(function_type *call, MPI_Errhandler *handle)               \
    {                                                                                              \
        NEED(NULL, call &&handle, MPI_ERR_ARG, "the function or errhandler is NULL");              \
        *handle = handler_make(kind, (void (*)())call);                                            \
        return MPI_SUCCESS;                                                                        \
    }
CREATE_HANDLER(Comm, KIND_COMM, MPI_Comm_errhandler_function)
CREATE_HANDLER(Win, KIND_WINDOW, MPI_Win_errhandler_function)
CREATE_HANDLER(File, KIND_FILE, MPI_File_errhandler_function)

PUBLIC(Errhandler_free)
int PMPI_Errhandler_free(MPI_Errhandler *handle)
{
    NEED(NULL, handle, MPI_ERR_ARG, "errhandler is NULL");
    hark_mpi_predefine_errhandlers();
    struct errhandler *e = ERRHANDLER(*handle);
    NEED(NULL, e, MPI_ERR_ARG, "the error handler is not valid: was it freed?");
    hark_mpi_errhandler_release(e);
    *handle = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

PUBLIC(Comm_set_errhandler)
int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handle)
{
    NEED_COMM(c, comm);
    return set_handler(&c->o, KIND_COMM, &c->errhandler, handle, __func__);
}

PUBLIC(Comm_get_errhandler)
int PMPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *handle)
{
    NEED_COMM(c, comm);
    return get_handler(&c->o, c->errhandler, handle, __func__);
}

PUBLIC(Comm_call_errhandler)
int PMPI_Comm_call_errhandler(MPI_Comm comm, int code)
{
    NEED_COMM(c, comm);
    hark_mpi_error(c, code, __func__, "the program reports error %d", code);
    return MPI_SUCCESS;
}

#define NEED_WINDOW(w, handle)                                                                     \
    NEED_OPEN();                                                                                   \
    struct held *w = WINDOW(handle);                                                               \
    NEED(NULL, w, MPI_ERR_WIN, "the window is not valid: was it freed?")

PUBLIC(Win_set_errhandler)
int PMPI_Win_set_errhandler(MPI_Win win, MPI_Errhandler handle)
{
    NEED_WINDOW(w, win);
    return set_handler(&w->o, KIND_WINDOW, &w->errhandler, handle, __func__);
}

PUBLIC(Win_get_errhandler)
int PMPI_Win_get_errhandler(MPI_Win win, MPI_Errhandler *handle)
{
    NEED_WINDOW(w, win);
    return get_handler(&w->o, w->errhandler, handle, __func__);
}

PUBLIC(Win_call_errhandler)
int PMPI_Win_call_errhandler(MPI_Win win, int code)
{
    NEED_WINDOW(w, win);
    hark_mpi_error_on(&w->o, code, __func__, "the program reports error %d", code);
    return MPI_SUCCESS;
}

/* The handler of MPI_FILE_NULL is what files begin with. */
#define NEED_FILE(f, at, handle)                                                                   \
    NEED_OPEN();                                                                                   \
    struct held *f = FILE_OF(handle);                                                              \
    NEED(NULL, f || (handle) == MPI_FILE_NULL, MPI_ERR_FILE,                                       \
        "the file is not valid: was it closed?");                                                  \
    struct errhandler **at = f ? &f->errhandler : &hark_mpi_file_errhandler

PUBLIC(File_set_errhandler)
int PMPI_File_set_errhandler(MPI_File file, MPI_Errhandler handle)
{
    NEED_FILE(f, at, file);
    return set_handler(f ? &f->o : NULL, KIND_FILE, at, handle, __func__);
}

PUBLIC(File_get_errhandler)
int PMPI_File_get_errhandler(MPI_File file, MPI_Errhandler *handle)
{
    NEED_FILE(f, at, file);
    return get_handler(f ? &f->o : NULL, *at, handle, __func__);
}

PUBLIC(File_call_errhandler)
int PMPI_File_call_errhandler(MPI_File file, int code)
{
    NEED_FILE(f, at, file);
    MPI_File handle = file;
    (void)f;
    hark_mpi_error_of(*at, &handle, code, __func__, "the program reports error %d", code);
    return MPI_SUCCESS;
}

/* Their names of MPI 1, which Open MPI's mpi.h turns into errors. */
#undef MPI_Errhandler_create
#undef MPI_Errhandler_set
#undef MPI_Errhandler_get
#pragma GCC visibility push(default)
int PMPI_Errhandler_create(void (*call)(MPI_Comm *, int *, ...), MPI_Errhandler *handle);
int PMPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handle);
int PMPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *handle);
#pragma GCC visibility pop

PUBLIC(Errhandler_create)
int PMPI_Errhandler_create(void (*call)(MPI_Comm *, int *, ...), MPI_Errhandler *handle)
{
    return PMPI_Comm_create_errhandler(call, handle);
}

PUBLIC(Errhandler_set)
int PMPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handle)
{
    return PMPI_Comm_set_errhandler(comm, handle);
}

PUBLIC(Errhandler_get)
int PMPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *handle)
{
    return PMPI_Comm_get_errhandler(comm, handle);
}

/* Programs with sessions: MPI 4. */
#if defined(MPI_SESSION_NULL)
CREATE_HANDLER(Session, KIND_SESSION, MPI_Session_errhandler_function)

#define NEED_SESSION(s, handle)                                                                    \
    struct held *s = (struct held *)SESSION(handle);                                               \
    NEED(NULL, s, MPI_ERR_SESSION, "the session is not valid: was it finalized?")

PUBLIC(Session_set_errhandler)
int PMPI_Session_set_errhandler(MPI_Session session, MPI_Errhandler handle)
{
    NEED_SESSION(s, session);
    return set_handler(&s->o, KIND_SESSION, &s->errhandler, handle, __func__);
}

PUBLIC(Session_get_errhandler)
int PMPI_Session_get_errhandler(MPI_Session session, MPI_Errhandler *handle)
{
    NEED_SESSION(s, session);
    return get_handler(&s->o, s->errhandler, handle, __func__);
}

PUBLIC(Session_call_errhandler)
int PMPI_Session_call_errhandler(MPI_Session session, int code)
{
    NEED_SESSION(s, session);
    hark_mpi_error_on(&s->o, code, __func__, "the program reports error %d", code);
    return MPI_SUCCESS;
}
#endif

/* ---- handlers in checkpoints ------------------------------------------------------------------
 *
 * Which one an object has. One of the program is a function: a restart has those that the program
 * makes again before hark_restarted, and the others end the process when they are to be called. */

void hark_mpi_errhandler_put(
    const struct errhandler *e, void (*put)(const void *from, size_t length))
{
    const MPI_Fint number = MPI_Errhandler_c2f(HANDLE(MPI_Errhandler, e));
    put(&number, sizeof number);
}

struct errhandler *hark_mpi_errhandler_get(void (*get)(void *to, size_t length))
{
    MPI_Fint number;
    get(&number, sizeof number);
    struct errhandler *e = ERRHANDLER(MPI_Errhandler_f2c(number));
    if (e == NULL) hark_mpi_fatal(1, "the checkpoint names an error handler that it does not have");
    return e;
}

void hark_mpi_errhandler_kind_put(
    const struct errhandler *e, void (*put)(const void *from, size_t length))
{
    const uint32_t of = e->of;
    put(&of, sizeof of);
}

void hark_mpi_errhandler_kind_get(struct errhandler *e, void (*get)(void *to, size_t length))
{
    uint32_t of;
    get(&of, sizeof of);
    if (!e->o.is_new) return;
    e->of = (enum kind)of;
    e->does = ERRORS_LOST;
}

/* ---- classes, codes, texts --------------------------------------------------------------------
 */

#define CLASSES(X)                                                                                 \
    X(SUCCESS, "no error")                                                                         \
    X(ERR_BUFFER, "the buffer is not valid")                                                       \
    X(ERR_COUNT, "the count is not valid")                                                         \
    X(ERR_TYPE, "the datatype is not valid")                                                       \
    X(ERR_TAG, "the tag is not valid")                                                             \
    X(ERR_COMM, "the communicator is not valid")                                                   \
    X(ERR_RANK, "the rank is not valid")                                                           \
    X(ERR_REQUEST, "the request is not valid")                                                     \
    X(ERR_ROOT, "the root is not valid")                                                           \
    X(ERR_GROUP, "the group is not valid")                                                         \
    X(ERR_OP, "the operation is not valid")                                                        \
    X(ERR_TOPOLOGY, "the topology is not valid")                                                   \
    X(ERR_DIMS, "the dimensions are not valid")                                                    \
    X(ERR_ARG, "an argument is not valid")                                                         \
    X(ERR_UNKNOWN, "an unknown error")                                                             \
    X(ERR_TRUNCATE, "the message is longer than the receive has room for")                         \
    X(ERR_OTHER, "an error that has no class of its own")                                          \
    X(ERR_INTERN, "an error inside the library")                                                   \
    X(ERR_PENDING, "the request is not complete yet")                                              \
    X(ERR_IN_STATUS, "the statuses have the errors")                                               \
    X(ERR_ACCESS, "permission denied")                                                             \
    X(ERR_AMODE, "the access mode of the file is not valid")                                       \
    X(ERR_ASSERT, "the assertion is not valid")                                                    \
    X(ERR_BAD_FILE, "the file name is not valid")                                                  \
    X(ERR_BASE, "the base address is not valid")                                                   \
    X(ERR_CONVERSION, "a function that converts data has failed")                                  \
    X(ERR_DISP, "the displacement is not valid")                                                   \
    X(ERR_DUP_DATAREP, "there is a data representation of this name already")                      \
    X(ERR_FILE_EXISTS, "the file is there already")                                                \
    X(ERR_FILE_IN_USE, "the file is in use")                                                       \
    X(ERR_FILE, "the file is not valid")                                                           \
    X(ERR_INFO_KEY, "the key of the info object is not valid")                                     \
    X(ERR_INFO_NOKEY, "the info object has no such key")                                           \
    X(ERR_INFO_VALUE, "the value of the info object is not valid")                                 \
    X(ERR_INFO, "the info object is not valid")                                                    \
    X(ERR_IO, "input or output has failed")                                                        \
    X(ERR_KEYVAL, "the keyval is not valid")                                                       \
    X(ERR_LOCKTYPE, "the kind of lock is not valid")                                               \
    X(ERR_NAME, "there is no service of this name")                                                \
    X(ERR_NO_MEM, "there is no memory left")                                                       \
    X(ERR_NOT_SAME, "the processes have given different arguments")                                \
    X(ERR_NO_SPACE, "there is no space left on the device")                                        \
    X(ERR_NO_SUCH_FILE, "there is no such file")                                                   \
    X(ERR_PORT, "the port is not valid")                                                           \
    X(ERR_QUOTA, "the quota is used up")                                                           \
    X(ERR_READ_ONLY, "the file or file system may only be read")                                   \
    X(ERR_RMA_CONFLICT, "accesses to a window conflict")                                           \
    X(ERR_RMA_SYNC, "the synchronization of a window is wrong")                                    \
    X(ERR_RMA_RANGE, "the memory accessed is not part of the window")                              \
    X(ERR_RMA_ATTACH, "the memory can not be attached to the window")                              \
    X(ERR_RMA_FLAVOR, "the window is of the wrong flavor")                                         \
    X(ERR_RMA_SHARED, "the memory can not be shared")                                              \
    X(ERR_SERVICE, "the service can not be published or unpublished")                              \
    X(ERR_SIZE, "the size is not valid")                                                           \
    X(ERR_SPAWN, "processes can not be started")                                                   \
    X(ERR_UNSUPPORTED_DATAREP, "the data representation is not supported")                         \
    X(ERR_UNSUPPORTED_OPERATION, "the operation is not supported for this file")                   \
    X(ERR_WIN, "the window is not valid")                                                          \
    X(T_ERR_MEMORY, "MPI_T: there is no memory left")                                              \
    X(T_ERR_NOT_INITIALIZED, "MPI_T is not initialized")                                           \
    X(T_ERR_CANNOT_INIT, "MPI_T can not be initialized")                                           \
    X(T_ERR_INVALID_INDEX, "MPI_T: the index is not valid")                                        \
    X(T_ERR_INVALID_ITEM, "MPI_T: the item's index is not valid")                                  \
    X(T_ERR_INVALID_HANDLE, "MPI_T: the handle is not valid")                                      \
    X(T_ERR_OUT_OF_HANDLES, "MPI_T: there are no handles left")                                    \
    X(T_ERR_OUT_OF_SESSIONS, "MPI_T: there are no sessions left")                                  \
    X(T_ERR_INVALID_SESSION, "MPI_T: the session is not valid")                                    \
    X(T_ERR_CVAR_SET_NOT_NOW, "MPI_T: the control variable can not be set now")                    \
    X(T_ERR_CVAR_SET_NEVER, "MPI_T: the control variable can not be set until the job ends")       \
    X(T_ERR_PVAR_NO_STARTSTOP, "MPI_T: the performance variable can not be started or stopped")    \
    X(T_ERR_PVAR_NO_WRITE, "MPI_T: the performance variable can not be written or reset")          \
    X(T_ERR_PVAR_NO_ATOMIC, "MPI_T: the performance variable can not be read and reset at once")   \
    X(T_ERR_INVALID, "MPI_T: an argument is not valid")                                            \
    X(T_ERR_INVALID_NAME, "MPI_T: there is nothing of this name")
#define CLASSES_OF_MPI_4(X)                                                                        \
    X(ERR_SESSION, "the session is not valid")                                                     \
    X(ERR_PROC_ABORTED, "a process has aborted")                                                   \
    X(ERR_VALUE_TOO_LARGE, "the value is too large for the argument that takes it")                \
    X(T_ERR_NOT_SUPPORTED, "MPI_T: the function is not supported")

const char *hark_mpi_error_text(int code)
{
#define TEXT(name, text)                                                                           \
    case MPI_##name: return text;
    switch (code) {
        CLASSES(TEXT)
#if MPI_VERSION >= 4
        CLASSES_OF_MPI_4(TEXT)
#endif
#if MPI_VERSION >= 5
    case MPI_ERR_ERRHANDLER: return "the error handler is not valid";
    case MPI_ERR_ABI: return "the ABI is not valid";
#endif
    default: return NULL;
    }
}

/* Classes and codes that the program has added have numbers above MPI_ERR_LASTCODE. */
struct added {
    int class;  /* its own number: a class */
    bool there; /* not deleted */
    char *text; /* NULL: none */
};
static struct added *added;
static int added_count, added_room;
int hark_mpi_last_code = MPI_ERR_LASTCODE;

static struct added *added_at(int code)
{
    int64_t i = (int64_t)code - MPI_ERR_LASTCODE - 1;
    return i >= 0 && i < added_count && added[i].there ? &added[i] : NULL;
}

/* `class`: 0 for a new class. */
static int add(int class)
{
    int i = 0;
    while (i < added_count && added[i].there) i++;
    if (i == added_room) {
        added_room = added_room * 2 + 8;
        added = realloc(added, (size_t)added_room * sizeof *added);
        if (added == NULL) hark_mpi_fatal(1, "no memory for an error code");
    }
    if (i == added_count) added_count++;
    int code = MPI_ERR_LASTCODE + 1 + i;
    added[i] = (struct added){.class = class ? class : code, .there = true};
    if (code > hark_mpi_last_code) hark_mpi_last_code = code;
    return code;
}

PUBLIC(Add_error_class)
int PMPI_Add_error_class(int *class)
{
    NEED(NULL, class, MPI_ERR_ARG, "errorclass is NULL");
    *class = add(0);
    return MPI_SUCCESS;
}

PUBLIC(Add_error_code)
int PMPI_Add_error_code(int class, int *code)
{
    NEED(NULL, code, MPI_ERR_ARG, "errorcode is NULL");
    const struct added *a = added_at(class);
    NEED(NULL, a ? a->class == class : hark_mpi_error_text(class) != NULL, MPI_ERR_ARG,
        "%d is no error class", class);
    *code = add(class);
    return MPI_SUCCESS;
}

PUBLIC(Add_error_string)
int PMPI_Add_error_string(int code, const char *text)
{
    struct added *a = added_at(code);
    NEED(NULL, text, MPI_ERR_ARG, "the string is NULL");
    NEED(NULL, a, MPI_ERR_ARG, "the program has added no error class or code %d", code);
    size_t length = strnlen(text, MPI_MAX_ERROR_STRING - 1);
    free(a->text);
    a->text = hark_mpi_memory(length + 1);
    memcpy(a->text, text, length);
    a->text[length] = 0;
    return MPI_SUCCESS;
}

#pragma GCC visibility push(default)
int PMPI_Remove_error_class(int class);
int PMPI_Remove_error_code(int code);
int PMPI_Remove_error_string(int code);
#pragma GCC visibility pop

static int forget(int code, const char *call)
{
    struct added *a = added_at(code);
    if (a == NULL)
        return hark_mpi_error(
            NULL, MPI_ERR_ARG, call, "the program has added no error class or code %d", code);
    free(a->text);
    *a = (struct added){0};
    return MPI_SUCCESS;
}

PUBLIC(Remove_error_class)
int PMPI_Remove_error_class(int class)
{
    return forget(class, __func__);
}

PUBLIC(Remove_error_code)
int PMPI_Remove_error_code(int code)
{
    return forget(code, __func__);
}

PUBLIC(Remove_error_string)
int PMPI_Remove_error_string(int code)
{
    struct added *a = added_at(code);
    NEED(NULL, a && a->text, MPI_ERR_ARG, "the error code %d has no string", code);
    free(a->text);
    a->text = NULL;
    return MPI_SUCCESS;
}

#if defined(HARK_MPI_MPICH)
/* MPICH's names of them before MPI 4.1. */
#define BY_OLD_NAME(what)                                                                          \
    WEAK(MPIX_Delete_error_##what = PMPIX_Delete_error_##what)                                     \
    int PMPIX_Delete_error_##what(int code)                                                        \
    {                                                                                              \
        return PMPI_Remove_error_##what(code);                                                     \
    }
BY_OLD_NAME(class)
BY_OLD_NAME(code)
BY_OLD_NAME(string)
#endif

void hark_mpi_error_codes_put(void (*put)(const void *from, size_t length))
{
    const int32_t of[] = {added_count, hark_mpi_last_code};
    put(of, sizeof of);
    for (int i = 0; i < added_count; i++) {
        const struct added *a = &added[i];
        const int32_t one[] = {a->class, a->there, a->text ? (int32_t)strlen(a->text) : -1};
        put(one, sizeof one);
        if (a->text) put(a->text, strlen(a->text));
    }
}

void hark_mpi_error_codes_get(void (*get)(void *to, size_t length))
{
    int32_t of[2];
    get(of, sizeof of);
    for (int i = 0; i < added_count; i++) free(added[i].text);
    added = realloc(added, ((size_t)of[0] + 1) * sizeof *added);
    if (added == NULL) hark_mpi_fatal(1, "no memory for a restart");
    added_room = of[0] + 1;
    added_count = of[0];
    hark_mpi_last_code = of[1];
    for (int i = 0; i < added_count; i++) {
        int32_t one[3];
        get(one, sizeof one);
        added[i] = (struct added){.class = one[0], .there = one[1]};
        if (one[2] < 0) continue;
        added[i].text = hark_mpi_memory((size_t)one[2] + 1);
        get(added[i].text, (size_t)one[2]);
        added[i].text[one[2]] = 0;
    }
}

PUBLIC(Error_class)
int PMPI_Error_class(int code, int *class)
{
    NEED(NULL, class, MPI_ERR_ARG, "errorclass is NULL");
    const struct added *a = added_at(code);
    NEED(NULL, a || hark_mpi_error_text(code), MPI_ERR_ARG, "%d is no error code", code);
    *class = a ? a->class : code;
    return MPI_SUCCESS;
}

/* The text of a code that has none is empty, as the standard says. */
PUBLIC(Error_string)
int PMPI_Error_string(int code, char *text, int *length)
{
    NEED(NULL, text && length, MPI_ERR_ARG, "string or resultlen is NULL");
    const struct added *a = added_at(code);
    const char *known = a ? a->text ? a->text : "" : hark_mpi_error_text(code);
    NEED(NULL, known, MPI_ERR_ARG, "%d is no error code", code);
    *length = snprintf(text, MPI_MAX_ERROR_STRING, "%s", known);
    return MPI_SUCCESS;
}
