/* internal.h: the objects of the MPI library, and what its files ask of each other. */
#ifndef HARK_MPI_INTERNAL_H
#define HARK_MPI_INTERNAL_H

#include <float.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"
#include "../process/app_state.h"

/* Each function is defined under its PMPI_ name, and is weak under MPI_: a profiling library may
 * define that one. */
#define NAME_IT(name) #name
#define WEAK(name)    _Pragma(NAME_IT(weak name))
#define PUBLIC(name)  WEAK(MPI_##name = PMPI_##name)

/* MPI 4 has functions with the suffix _c, whose counts are of the type MPI_Count. */
#if MPI_VERSION >= 4
#define COUNTS(X, ...) X(, int, __VA_ARGS__) X(_c, MPI_Count, __VA_ARGS__)
#else
#define COUNTS(X, ...) X(, int, __VA_ARGS__)
#endif

/* ---- objects ----------------------------------------------------------------------------------
 */

/* C caches pointers, Fortran whole numbers: of the size of an address, or INTEGERs (the functions
 * of MPI 1). Who asks in C for a number gets a pointer to it. */
enum value_kind { VALUE_POINTER, VALUE_ADDRESS, VALUE_INTEGER };
struct attribute { /* a value that a program has cached with an object: attribute.c */
    struct attribute *next;
    int keyval;
    enum value_kind kind;
    void *value;
    uint64_t serial; /* which one this process has set */
    bool lost;       /* of a checkpoint, which does not have its value */
};

/* A window and a file begin with it. */
struct held {
    struct object o;
    struct errhandler *errhandler;
    struct attribute *attributes; /* of a window */
    struct info *info;            /* NULL: none */
    char name[MPI_MAX_OBJECT_NAME];
};

struct group {
    struct object o;
    int size, rank;   /* rank: of this process, or MPI_UNDEFINED */
    const int *world; /* ranks in the job; NULL: rank i is i */
    int *local;       /* the reverse: for each rank of the job, or MPI_UNDEFINED; made when asked */
};

/* A communicator has a context, and four of a message: of messages, of collective calls, of the
 * acknowledgements of synchronous sends, of one-sided calls. The first four of a message are those
 * of app.h. On those below CONTEXTS processes agree; the others, below CONTEXT_LIMIT, are named by
 * one process (context.c), and four times this fits in the 32 bits that a message has for it. */
enum {
    CONTEXTS = 1 << 13,
    CONTEXT_LIMIT = 1 << 30,
    CONTEXT_APP = 0,
    CONTEXT_WORLD = 1,
    CONTEXT_SELF = 2
};
enum { OF_MESSAGES = 0, OF_COLLECTIVES = 1, OF_ACKNOWLEDGEMENTS = 2, OF_WINDOWS = 3 };
/* The bit above marks synchronous messages (HARK_APP_MARK). */
enum { TAG_LIMIT = HARK_APP_MARK - 1 };

/* A buffer of buffered sends: buffered.c. */
struct attached {
    void *at;
    long long size;
    bool is_there;
};
extern struct attached hark_mpi_buffer; /* of the process */

struct comm {
    struct object o;
    struct group *group;  /* of this process */
    struct group *remote; /* an intercommunicator: the others; else NULL */
    int rank, size;       /* in group */
    uint32_t context;     /* a message has four times this, and what it is of */
    bool outlives;        /* freed by the program while requests of it were not done */
    uint32_t calls;       /* collective calls made: the tag of the next */
    uint32_t channels;    /* partitioned sends made: partitioned.c */
    struct comm *local;   /* of an intercommunicator: one of its own group alone */
    struct errhandler *errhandler;
    struct attribute *attributes;
    struct topology *topology;
    struct info *info;
    struct attached buffer;
    char name[MPI_MAX_OBJECT_NAME];
};

struct errhandler {
    struct object o;
    enum kind of; /* communicators, windows, files or sessions; of a predefined one nothing */
    enum { ERRORS_FATAL, ERRORS_ABORT, ERRORS_RETURN, ERRORS_CALL, ERRORS_LOST } does;
    void (*call)(); /* with a pointer to the handle, and one to the code */
};

/* What a reduction knows of an element. */
enum element {
    ELEMENT_NONE, /* bytes, or several kinds */
    ELEMENT_INT8,
    ELEMENT_INT16,
    ELEMENT_INT32,
    ELEMENT_INT64,
    ELEMENT_UINT8,
    ELEMENT_UINT16,
    ELEMENT_UINT32,
    ELEMENT_UINT64,
    ELEMENT_FLOAT,
    ELEMENT_DOUBLE,
    ELEMENT_LONG_DOUBLE,
    ELEMENT_FLOAT128,
    ELEMENT_COMPLEX_FLOAT,
    ELEMENT_COMPLEX_DOUBLE,
    ELEMENT_COMPLEX_LONG_DOUBLE,
    ELEMENT_BOOL,
    ELEMENT_LOGICAL1,
    ELEMENT_LOGICAL2,
    ELEMENT_LOGICAL4,
    ELEMENT_LOGICAL8,
    ELEMENT_BYTE, /* MPI_BYTE and MPI_PACKED: only bit operations */
    ELEMENT_CHAR, /* MPI_CHAR, MPI_CHARACTER: text, no operations */
    ELEMENT_WCHAR,
    ELEMENT_PAIR_FLOAT,
    ELEMENT_PAIR_DOUBLE,
    ELEMENT_PAIR_LONG,
    ELEMENT_PAIR_INT,
    ELEMENT_PAIR_SHORT,
    ELEMENT_PAIR_LONG_DOUBLE, /* a value and an int */
    ELEMENT_2INTEGER,
    ELEMENT_2REAL,
    ELEMENT_2DOUBLE, /* Fortran's pairs */
    ELEMENT_INT128,
    ELEMENT_FLOAT16,
    ELEMENT_COMPLEX_FLOAT128,
    ELEMENTS
};
#include "type.h"

/* MPI_User_function_c, which not every mpi.h has. */
typedef void user_function_wide(void *, void *, MPI_Count *, MPI_Datatype *);

struct op {
    struct object o;
    enum operation {
        OPERATION_USER,
        OPERATION_MAX,
        OPERATION_MIN,
        OPERATION_SUM,
        OPERATION_PRODUCT,
        OPERATION_LAND,
        OPERATION_BAND,
        OPERATION_LOR,
        OPERATION_BOR,
        OPERATION_LXOR,
        OPERATION_BXOR,
        OPERATION_MINLOC,
        OPERATION_MAXLOC,
        OPERATION_REPLACE,
        OPERATION_NO_OP
    } operation;
    bool commutes;
    MPI_User_function *call;
    user_function_wide *call_wide; /* of MPI_Op_create_c; else NULL */
};

struct request {
    struct object o;
    enum {
        REQUEST_SEND,
        REQUEST_RECEIVE,
        REQUEST_COLLECTIVE,
        REQUEST_GENERALIZED,
        REQUEST_PARTITIONED_SEND,
        REQUEST_PARTITIONED_RECEIVE
    } what;
    bool persistent, active, synchronous;
    bool forgotten; /* freed by the program before it was done */
    bool done;      /* its status is there */
    bool cancelled;
    uint32_t *left; /* NULL, or the frames of its send that need the buffer: hark_app_sent() */
    struct request *next;        /* of those that are forgotten */
    MPI_Status status;           /* MPI_ERROR: of this request */
    struct hark_request receive; /* of a receive */
    /* of a persistent one, and of a receive: its arguments */
    void *buffer;
    size_t count;
    int peer, tag;
    struct type *type;
    struct comm *comm;
    int (*start)(struct request *r); /* persistent: makes it active */
    struct collective *collective;   /* collective.h */
    struct generalized *generalized;
    struct partitioned *partitioned;
};
static inline bool hark_mpi_is_partitioned(const struct request *r)
{
    return r->what == REQUEST_PARTITIONED_SEND || r->what == REQUEST_PARTITIONED_RECEIVE;
}

/* Sessions, which may begin before MPI_Init and end after MPI_Finalize: init.c. The first one joins
 * the job, if MPI_Init has not; the process leaves it when it exits. */
void hark_mpi_session_opened(int required);
void hark_mpi_session_closed(void);

/* ---- errors: error.c --------------------------------------------------------------------------
 */

/* Calls the error handler of `c` (NULL: of MPI_COMM_WORLD), and returns `code` if that returns.
 * `call` is the function's name with its P in front; the text says what is wrong, and where. */
int hark_mpi_error(struct comm *c, int code, const char *call, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));
/* The same for a window or a file: their handler, and a pointer to their handle. */
int hark_mpi_error_of(struct errhandler *e, void *handle, int code, const char *call,
    const char *format, ...) __attribute__((format(printf, 5, 6), cold));
/* The same for any object: the handler of a communicator, window, file or session, else that of
 * MPI_COMM_WORLD. */
int hark_mpi_error_on(struct object *o, int code, const char *call, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));
/* The text of an error class, in a phrase; NULL: there is no such class. */
const char *hark_mpi_error_text(int code);
extern int hark_mpi_last_code; /* the value of MPI_LASTUSEDCODE */
/* What hark_app_error() says of a negative status of the application layer, as an MPI error. */
int hark_mpi_status(struct comm *c, int status, const char *call);
/* The job ends with this status, after a line. */
_Noreturn void hark_mpi_fatal(int status, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));
/* A call that hark does not offer: one line that names it; the job ends. */
_Noreturn void hark_mpi_refuse(const char *name, const char *reason) __attribute__((cold));
void *hark_mpi_memory(size_t bytes); /* malloc, or the end of the job with a line */
/* Memory for the length of a call; pieces of it are kept for the next. Freeing NULL is allowed. */
void *hark_mpi_scratch(size_t bytes);
void hark_mpi_scratch_free(void *at);
void hark_mpi_scratch_close(void);

/* May the program call? Between init and finalize. Else a line, and the end. */
extern bool hark_mpi_open;
void hark_mpi_closed(const char *call) __attribute__((cold));
#define NEED_OPEN()                                                                                \
    do {                                                                                           \
        if (!__builtin_expect(hark_mpi_open, 1)) hark_mpi_closed(__func__);                        \
    } while (0)
/* `struct comm *c` of a handle, or the error. */
#define NEED_COMM(c, handle)                                                                       \
    NEED_OPEN();                                                                                   \
    struct comm *c = COMM(handle);                                                                 \
    if (__builtin_expect(c == NULL, 0))                                                            \
    return hark_mpi_error(NULL, MPI_ERR_COMM, __func__, "%s",                                      \
        (handle) == MPI_COMM_NULL ? "the communicator is MPI_COMM_NULL"                            \
                                  : "the communicator is not valid: was it freed?")
#define FAIL(c, code, ...) return hark_mpi_error(c, code, __func__, __VA_ARGS__)
#define NEED(c, condition, code, ...)                                                              \
    do {                                                                                           \
        if (__builtin_expect(!(condition), 0)) FAIL(c, code, __VA_ARGS__);                         \
    } while (0)
#define NEED_TYPE(c, t, handle)                                                                    \
    struct type *t = TYPE(handle);                                                                 \
    NEED(c, t, MPI_ERR_TYPE, "%s",                                                                 \
        (handle) == MPI_DATATYPE_NULL ? "the datatype is MPI_DATATYPE_NULL"                        \
                                      : "the datatype is not valid: was it freed?")
/* One that may be communicated. */
#define NEED_COMMITTED(c, t, handle)                                                               \
    NEED_TYPE(c, t, handle);                                                                       \
    NEED(c, t->committed, MPI_ERR_TYPE, "the datatype is not committed: call MPI_Type_commit")
#define NEED_COUNT(c, count)                                                                       \
    NEED(c, (count) >= 0, MPI_ERR_COUNT, "the count is %lld, and must not be negative",            \
        (long long)(count))

#define NEED_PEER(c, peer)                                                                         \
    NEED(c, ((peer) >= 0 && (peer) < hark_mpi_peers(c)->size) || (peer) == MPI_PROC_NULL,          \
        MPI_ERR_RANK, "the rank is %d, and the communicator has ranks 0 .. %d", peer,              \
        hark_mpi_peers(c)->size - 1)
#define NEED_SOURCE(c, peer)                                                                       \
    NEED(c,                                                                                        \
        ((peer) >= 0 && (peer) < hark_mpi_peers(c)->size) || (peer) == MPI_PROC_NULL ||            \
            (peer) == MPI_ANY_SOURCE,                                                              \
        MPI_ERR_RANK, "the source is %d, and the communicator has ranks 0 .. %d", peer,            \
        hark_mpi_peers(c)->size - 1)
#define NEED_TAG(c, tag)                                                                           \
    NEED(c, (tag) >= 0 && (tag) <= TAG_LIMIT, MPI_ERR_TAG,                                         \
        "the tag is %d, and may be 0 .. MPI_TAG_UB, which is %d", tag, TAG_LIMIT)
#define NEED_TAG_OR_ANY(c, tag)                                                                    \
    NEED(c, ((tag) >= 0 && (tag) <= TAG_LIMIT) || (tag) == MPI_ANY_TAG, MPI_ERR_TAG,               \
        "the tag is %d, and may be MPI_ANY_TAG or 0 .. MPI_TAG_UB, which is %d", tag, TAG_LIMIT)
#define NEED_BUFFER(c, buffer, count, t)                                                           \
    NEED(c, (buffer) != NULL || (count) == 0 || (t)->size == 0 || (t)->true_lower != 0,            \
        MPI_ERR_BUFFER, "the buffer is NULL, and the count is %d", (int)(count))

/* ---- groups and communicators: group.c, comm.c, context.c -------------------------------------
 */

extern struct group hark_mpi_group_world, hark_mpi_group_self, hark_mpi_group_empty;
extern struct comm hark_mpi_world, hark_mpi_self;

/* A group of these ranks of the job; takes over `world`, memory of malloc. */
struct group *hark_mpi_group_make(int size, int *world);
void hark_mpi_group_release(struct group *g);
static inline int hark_mpi_group_world_rank(const struct group *g, int rank)
{
    return g->world ? g->world[rank] : rank;
}
/* The rank in g of a process of the job; MPI_UNDEFINED if the process is not in g. */
int hark_mpi_group_local_rank(struct group *g, int world);

static inline struct group *hark_mpi_peers(const struct comm *c)
{
    return c->remote ? c->remote : c->group;
}
static inline uint32_t hark_mpi_context(const struct comm *c, int of)
{
    return c->context * 4 + (uint32_t)of;
}
/* A communicator with this context. It takes over one reference to `group`, and one to `remote`,
 * which may be NULL. */
struct comm *hark_mpi_comm_make(struct group *group, struct group *remote, uint32_t context);
void hark_mpi_comm_release(struct comm *c);
void hark_mpi_errhandler_release(struct errhandler *e);
struct errhandler *hark_mpi_errhandler_again(struct errhandler *e); /* one reference more */
extern struct errhandler *hark_mpi_file_errhandler; /* of MPI_FILE_NULL: files begin with it */
/* Puts e in the place of *at, with a reference. */
void hark_mpi_errhandler_replace(struct errhandler **at, struct errhandler *e);
void hark_mpi_topology_release(struct topology *t);
struct topology *hark_mpi_topology_again(struct topology *t); /* one reference more */
/* The sources and destinations of a neighbourhood collective, in the order of its buffers:
 * MPI_PROC_NULL beyond the edge of a grid. The arrays belong to the topology of c. Returns a
 * negative number if c has no topology. */
int hark_mpi_neighbours(
    struct comm *c, int *in, const int **sources, int *out, const int **destinations);
/* A communicator of the first `size` processes of c, an intracommunicator, in their order: a
 * collective call. NULL where this process is not in it, or with an error in *code. */
struct comm *hark_mpi_comm_of_first(struct comm *c, int size, const char *call, int *code);
void hark_mpi_info_release(struct info *i);
struct info *hark_mpi_info_make(void);
struct info *hark_mpi_info_copy(const struct info *i);
void hark_mpi_info_set(struct info *i, const char *key, const char *value);
const char *hark_mpi_info_value(const struct info *i, const char *key); /* NULL: it has none */
void hark_mpi_comm_hints(struct comm *c, const struct info *given);     /* keeps those it knows */
extern int hark_mpi_thread_level;                                       /* that was provided */
const char *hark_mpi_thread_level_name(int level);
/* A context that is free in all processes of `c` (both groups): a collective call. Negative: there
 * is none. */
int hark_mpi_context_agree(struct comm *c);
/* The same among the processes of `g` alone, by messages with `tag` on c. */
int hark_mpi_context_agree_group(struct comm *c, struct group *g, int tag);
void hark_mpi_context_free(uint32_t context);

/* ---- attributes, error handlers, info: attribute.c, errhandler.c, info.c -----------------------
 */

/* What MPI_Comm_dup and MPI_Type_dup do with attributes. Negative: a copy function has failed, with
 * its code in *error. */
int hark_mpi_attributes_copy(
    struct object *from, struct attribute *list, struct attribute **to, int *error);
/* Calls the delete functions, the last attribute first. The code of the first that fails. */
int hark_mpi_attributes_delete(struct object *of, struct attribute **list);
/* What the functions of C and Fortran do: *value is a pointer, an MPI_Aint or an MPI_Fint, as
 * `kind` says. `of` is a communicator, datatype or window. */
int hark_mpi_attribute_set(
    struct object *of, int keyval, enum value_kind kind, void *value, const char *call);
int hark_mpi_attribute_get(
    struct object *of, int keyval, enum value_kind kind, void *value, int *found, const char *call);
/* The value of a predefined attribute of windows (MPI_WIN_BASE ...), as C gets it; false: `keyval`
 * is none of them. NULL until there are windows. */
extern bool (*hark_mpi_window_attribute)(struct object *window, int keyval, void **value);

/* ---- messages: message.c, request.c -----------------------------------------------------------
 */

/* Inside a collective call: bytes to and from rank `peer` of c's group (an intercommunicator: of
 * its remote group), in the context of collective calls. Status of the application layer. */
int hark_mpi_coll_send(struct comm *c, const void *data, size_t length, int peer, int tag);
int hark_mpi_coll_recv(struct comm *c, void *data, size_t room, int peer, int tag);
/* As above, of a datatype. */
int hark_mpi_coll_send_type(
    struct comm *c, const void *data, size_t count, const struct type *t, int peer, int tag);
int hark_mpi_coll_recv_type(
    struct comm *c, void *data, size_t count, const struct type *t, int peer, int tag);
/* Send and receive at once; either peer may be MPI_PROC_NULL. */
int hark_mpi_coll_exchange(struct comm *c, const void *out, size_t out_length, int to, void *in,
    size_t in_room, int from, int tag);
static inline int hark_mpi_coll_tag(struct comm *c)
{
    return (int)(c->calls++ & 0x3fffffff);
}
/* Posts a receive of a collective call; hark_mpi_complete() waits for it. */
void hark_mpi_coll_post(
    struct comm *c, struct hark_request *r, void *data, size_t room, int peer, int tag);

int hark_mpi_send(struct comm *c, const void *data, size_t count, const struct type *t, int peer,
    int tag, bool synchronous);
/* The same, but the message may need its memory until hark_app_sent(left). */
int hark_mpi_send_start(struct comm *c, const void *data, size_t count, const struct type *t,
    int peer, int tag, bool synchronous, uint32_t *left);
/* Posts r, which has its memory: for what kind of context, one of OF_... */
void hark_mpi_post(struct comm *c, struct hark_request *r, int source, int of, int tag);
void hark_mpi_acknowledge(void);
/* One that a matched probe had found, and that is received now. */
void hark_mpi_acknowledge_found(const struct comm *c, const struct hark_info *info);
bool hark_mpi_probe(
    struct comm *c, int source, int tag, bool wait, struct hark_info *info, const char *call);
/* A test or probe has found nothing: hark_app_missed(), and the processor for others if that
 * counts. */
bool hark_mpi_missed(void);
void hark_mpi_status_received(
    struct comm *c, const struct hark_info *info, size_t room, MPI_Status *s);
/* The error of a message that is longer than its receive has room for. */
int hark_mpi_truncated(struct comm *c, const struct hark_info *info, size_t room, const char *call);

struct request *hark_mpi_request_new(struct comm *c);
extern struct request hark_mpi_request_done; /* of sends: there is nothing to wait for */
void hark_mpi_request_release(struct request *r);
/* Is it complete? Without waiting, and without telling the protocol that it was not. */
bool hark_mpi_request_try(struct request *r);
/* Waits until nothing of its send is in the buffer any more. */
void hark_mpi_request_sent(struct request *r);
void hark_mpi_request_wait(struct request *r, const char *call);

/* The program has waited for it, or tested it: its results, and what becomes of its handle. The
 * code that MPI_ERROR has. */
int hark_mpi_request_finish(MPI_Request *handle, struct request *r, MPI_Status *status);
#define NEED_REQUEST(r, handle)                                                                    \
    struct request *r = REQUEST(handle);                                                           \
    NEED(NULL, r, MPI_ERR_REQUEST, "the request is not valid: was it completed or freed?")
/* Messages that this process has taken. In a replay each comes in its turn: after one that was
 * taken for a later request another may be taken for an earlier one, and nothing else would wake
 * this process up for it. So whoever asks several requests goes on until none takes any. */
static inline uint64_t hark_mpi_messages_taken(void)
{
    return hark_app.own[3];
}

/* The program has freed it, and it is not done: it goes when it is. */
void hark_mpi_request_forget(struct request *r);
/* A freed receive takes its message in whatever call waits next. That it has not come is a miss,
 * for a replay has to take it in the same call. */
void hark_mpi_requests_try_forgotten(const char *call);
void hark_mpi_requests_remember(void); /* nothing is forgotten: before a checkpoint is given back */
void hark_mpi_requests_close(void);
/* For checkpoints: the request that has this receive; what starts it, and posts it. */
struct request *hark_mpi_request_of(const struct hark_request *h);
void hark_mpi_request_again(struct request *r);
void hark_mpi_request_post(struct request *r);
void hark_mpi_image_hooks(void);
/* The communicator that a request of MPI_Comm_idup waits for, or NULL: all other sends that wait
 * are synchronous. Posts its receive. */
struct comm *hark_mpi_duplicate_of(const struct request *r);
void hark_mpi_duplicate_post(struct request *r);
/* What a checkpoint holds: image*.c, and of each kind of object the file that knows it. `_get`
 * fills in an object that was there already, or is new (o.is_new); `_forget` is for one that is
 * there, and not in the checkpoint. References to other objects are not their business: see
 * image.c. */
void hark_mpi_contexts_put(void (*put)(const void *from, size_t length));
void hark_mpi_contexts_get(void (*get)(void *to, size_t length));
void hark_mpi_files_put(void (*put)(const void *from, size_t length));
void hark_mpi_files_get(void (*get)(void *to, size_t length)); /* after the communicators */
void hark_mpi_file_forget(struct object *file);
void hark_mpi_file_drop_view(struct object *file);
void hark_mpi_topology_put(
    const struct topology *t, void (*put)(const void *from, size_t length)); /* or NULL */
struct topology *hark_mpi_topology_get(void (*get)(void *to, size_t length));
void hark_mpi_errhandler_put(
    const struct errhandler *e, void (*put)(const void *from, size_t length));
struct errhandler *hark_mpi_errhandler_get(void (*get)(void *to, size_t length));
void hark_mpi_errhandler_kind_put(
    const struct errhandler *e, void (*put)(const void *from, size_t length));
void hark_mpi_errhandler_kind_get(struct errhandler *e, void (*get)(void *to, size_t length));
void hark_mpi_error_codes_put(void (*put)(const void *from, size_t length));
void hark_mpi_error_codes_get(void (*get)(void *to, size_t length));
void hark_mpi_op_put(const struct op *op, void (*put)(const void *from, size_t length));
void hark_mpi_op_get(struct op *op, void (*get)(void *to, size_t length));
void hark_mpi_type_put(const struct type *t, void (*put)(const void *from, size_t length));
void hark_mpi_type_get(struct type *t, void (*get)(void *to, size_t length));
void hark_mpi_type_forget(struct type *t);
void hark_mpi_info_put(const struct info *i, void (*put)(const void *from, size_t length));
struct info *hark_mpi_info_get(void (*get)(void *to, size_t length));
void hark_mpi_session_put(const struct object *o, void (*put)(const void *from, size_t length));
void hark_mpi_session_get(struct object *o, void (*get)(void *to, size_t length));
void hark_mpi_session_forget(struct object *o);
void hark_mpi_buffer_put(const struct attached *b, void (*put)(const void *from, size_t length));
void hark_mpi_buffer_get(struct attached *b, void (*get)(void *to, size_t length));
void hark_mpi_keyvals_put(void (*put)(const void *from, size_t length));
void hark_mpi_keyvals_get(void (*get)(void *to, size_t length));
void hark_mpi_attributes_put(
    const struct attribute *list, void (*put)(const void *from, size_t length));
void hark_mpi_attributes_get(struct attribute **list, void (*get)(void *to, size_t length));
void hark_mpi_attributes_forget(struct attribute **list);
/* The arguments of a persistent collective call: kept from a request that goes, given to the one
 * that the checkpoint has in its place. */
void hark_mpi_collective_keep(struct request *r);
int64_t hark_mpi_collective_tag(const struct request *r);
void hark_mpi_collective_again(struct request *r, int64_t tag);
void hark_mpi_collectives_forget(void);
/* Of collective requests, and generalized ones: collective_call.c, generalized.c. */
/* Has it taken all its messages already? Some have none. */
bool hark_mpi_collective_is_there(const struct request *r);
bool hark_mpi_collective_try(struct request *r);
void hark_mpi_collective_wait(struct request *r, const char *call);
void hark_mpi_collective_free(struct collective *x);
int hark_mpi_generalized_query(struct request *r); /* fills the status: its MPI_ERROR */
int hark_mpi_generalized_cancel(struct request *r);
int hark_mpi_generalized_free(struct request *r);   /* calls its free function: the code of that */
int hark_mpi_generalized_forget(struct request *r); /* the program has freed it */

/* Attach and detach a buffer; errors are raised on this object, or NULL. */
int hark_mpi_buffer_attach(
    struct object *o, struct attached *b, void *at, long long size, const char *call);
int hark_mpi_buffer_detach(
    struct object *o, struct attached *b, void *at, const void *size, const char *call);

/* Is it memory of MPI_Alloc_mem, at the same address in a process that begins again? */
bool hark_mpi_memory_stays(const void *at);

/* Of partitioned requests: partitioned.c. */
void hark_mpi_partitioned_free(struct partitioned *p);
void hark_mpi_partitioned_again(struct request *r);
void hark_mpi_partitioned_post(struct request *r);
bool hark_mpi_partitioned_try(struct request *r);
void hark_mpi_partitioned_wait(struct request *r, const char *call);
void hark_mpi_partitioned_note(struct request *r); /* what its receives have taken */
/* The program has freed it. True: it has to stay. */
bool hark_mpi_partitioned_keeps(struct request *r);
void hark_mpi_partitioned_close(void);
void hark_mpi_partitioned_remember(void); /* nothing is kept: before a checkpoint is given back */
void hark_mpi_partitioned_put(
    const struct request *r, void (*put)(const void *from, size_t length));
void hark_mpi_partitioned_get(struct request *r, void (*get)(void *to, size_t length));

void hark_mpi_status_set(MPI_Status *s, int source, int tag, uint64_t bytes);
void hark_mpi_status_empty(MPI_Status *s);

/* ---- datatypes and operations: type.h, op.c ---------------------------------------------------
 */

/* into = from (operation) into, `count` elements: what MPI_Op's function does. The operation is
 * defined for the type, which is predefined if the operation is. */
void hark_mpi_combine(
    const struct op *op, const void *from, void *into, size_t count, struct type *t);
/* The same of `bytes` bytes of elements that lie one behind the other. False: the operation is not
 * defined for them. */
bool hark_mpi_combine_bytes(
    enum operation operation, enum element element, const void *from, void *into, size_t bytes);
/* A contribution to a reduction in a group: collective_group.c. */
void hark_mpi_combine_part(int kind, void *into, const void *part, size_t length);
void hark_mpi_op_release(struct op *op);
/* Is it one of the program, or defined for this predefined datatype? MPI_REPLACE and MPI_NO_OP are
 * not. */
bool hark_mpi_op_defined(const struct op *op, const struct type *t);
const struct op *hark_mpi_op_of(enum operation operation); /* a predefined one */
/* 0, or the code of the error that was raised. */
int hark_mpi_op_valid(struct comm *c, const struct op *op, const struct type *t, const char *call);

/* ---- windows: window.h ------------------------------------------------------------------------
 */

/* A request of one-sided communication was taken in this context. */
void hark_mpi_window_taken(uint32_t context);
/* MPI_Finalize: windows that the program has not freed listen no more. */
void hark_mpi_windows_close(void);
/* For checkpoints: between epochs they may have one. */
bool hark_mpi_windows_may_capture(void);
void hark_mpi_windows_put(void (*put)(const void *from, size_t length));
void hark_mpi_windows_get(void (*get)(void *to, size_t length));
void hark_mpi_window_forget(struct object *window);
void hark_mpi_windows_unposted(void); /* no receive of theirs is posted any more */

void hark_mpi_predefine_types(void);
void hark_mpi_sized_types_close(void);
void hark_mpi_predefine_ops(void);
void hark_mpi_predefine_errhandlers(void);
void hark_mpi_predefine_comms(void);
void hark_mpi_predefine_requests(void);
void hark_mpi_predefine_messages(void);
void hark_mpi_predefine_infos(void);

#endif
