/* MPI_T, the interface for tools: the totals of this process as performance variables, in one
 * category. There are no control variables, no enumerations and no events. */
#include "internal.h"

static int initialized; /* calls of MPI_T_init_thread without their MPI_T_finalize */

#define NEED_TOOLS()                                                                               \
    do {                                                                                           \
        if (initialized == 0) return MPI_T_ERR_NOT_INITIALIZED;                                    \
    } while (0)
#define NEED_ARGUMENT(p)                                                                           \
    do {                                                                                           \
        if ((p) == NULL) return MPI_T_ERR_INVALID;                                                 \
    } while (0)

PUBLIC(T_init_thread)
int PMPI_T_init_thread(int required, int *provided)
{
    NEED_ARGUMENT(provided);
    *provided = required > MPI_THREAD_SERIALIZED ? MPI_THREAD_SERIALIZED : required;
    initialized++;
    return MPI_SUCCESS;
}

PUBLIC(T_finalize)
int PMPI_T_finalize(void)
{
    NEED_TOOLS();
    initialized--;
    return MPI_SUCCESS;
}

/* Texts are cut to *length with their zero, and *length becomes what the whole one needs. */
static void give_text(const char *text, char *to, int *length)
{
    if (length == NULL) return;
    int needed = (int)strlen(text) + 1;
    if (to && *length > 0) {
        size_t room = (size_t)*length - 1, n = strnlen(text, room);
        memcpy(to, text, n);
        to[n] = 0;
    }
    *length = needed;
}

static void give(int *to, int value)
{
    if (to) *to = value;
}

/* ---- performance variables --------------------------------------------------------------------
 */

#define VARIABLES(X)                                                                               \
    X(messages, COUNTER, "messages that this process has sent")                                    \
    X(bytes, COUNTER, "bytes of payload that this process has sent")                               \
    X(deliveries, COUNTER, "messages that this process has received")                              \
    X(log_bytes, LEVEL, "bytes of messages that are kept for receivers that may fail")             \
    X(log_bytes_peak, HIGHWATERMARK, "the most that log_bytes has been")                           \
    X(determinants_created, COUNTER, "records of the order of deliveries that were made")          \
    X(determinants_piggybacked, COUNTER,                                                           \
        "records of the order of deliveries that were sent along")                                 \
    X(piggyback_bytes, COUNTER, "bytes that the protocol has added to messages")                   \
    X(checkpoints, COUNTER, "checkpoints of this process")                                         \
    X(replayed, COUNTER, "messages that were sent again to a process that has failed")             \
    X(suppressed, COUNTER, "messages that were not sent again, for their receivers had them")      \
    X(discarded, COUNTER, "messages that were dropped when they came twice")                       \
    X(frames_out, COUNTER, "frames that the transport has sent")                                   \
    X(frames_in, COUNTER, "frames that the transport has received")

static const struct variable {
    const char *name, *about;
    int class;
    size_t at; /* in the driver's figures */
} variables[] = {
#define VARIABLE(name, class, about)                                                               \
    {"hark_" #name, about, MPI_T_PVAR_CLASS_##class, offsetof(struct hark_driver_figures, name)},
    VARIABLES(VARIABLE)};
enum { VARIABLE_COUNT = sizeof variables / sizeof *variables };

/* What the handles of the interface are. */
struct tool_session {
    char nothing;
};
struct tool_handle {
    struct tool_session *session;
    const struct variable *variable;
};
#define SESSION_OF(s) ((struct tool_session *)(void *)(s))
#define HANDLE_OF(h)  ((struct tool_handle *)(void *)(h))

#define NEED_INDEX(i, count)                                                                       \
    do {                                                                                           \
        if ((i) < 0 || (i) >= (count)) return MPI_T_ERR_INVALID_INDEX;                             \
    } while (0)
#define NEED_TOOL_SESSION(s)                                                                       \
    do {                                                                                           \
        NEED_TOOLS();                                                                              \
        if ((s) == MPI_T_PVAR_SESSION_NULL) return MPI_T_ERR_INVALID_SESSION;                      \
    } while (0)
#define NEED_HANDLE(s, h)                                                                          \
    do {                                                                                           \
        NEED_TOOL_SESSION(s);                                                                      \
        if ((h) == MPI_T_PVAR_HANDLE_NULL || (h) == MPI_T_PVAR_ALL_HANDLES ||                      \
            HANDLE_OF(h)->session != SESSION_OF(s))                                                \
            return MPI_T_ERR_INVALID_HANDLE;                                                       \
    } while (0)

PUBLIC(T_pvar_get_num)
int PMPI_T_pvar_get_num(int *count)
{
    NEED_TOOLS();
    NEED_ARGUMENT(count);
    *count = VARIABLE_COUNT;
    return MPI_SUCCESS;
}

PUBLIC(T_pvar_get_info)
int PMPI_T_pvar_get_info(int index, char *name, int *name_length, int *verbosity, int *class,
    MPI_Datatype *datatype, MPI_T_enum *enumeration, char *about, int *about_length, int *bind,
    int *readonly, int *continuous, int *atomic)
{
    NEED_TOOLS();
    NEED_INDEX(index, VARIABLE_COUNT);
    const struct variable *v = &variables[index];
    give_text(v->name, name, name_length);
    give_text(v->about, about, about_length);
    give(verbosity, MPI_T_VERBOSITY_USER_DETAIL);
    give(class, v->class);
    if (datatype) *datatype = MPI_UNSIGNED_LONG_LONG;
    if (enumeration) *enumeration = MPI_T_ENUM_NULL;
    give(bind, MPI_T_BIND_NO_OBJECT);
    give(readonly, 1);
    give(continuous, 1);
    give(atomic, 0);
    return MPI_SUCCESS;
}

PUBLIC(T_pvar_get_index)
int PMPI_T_pvar_get_index(const char *name, int class, int *index)
{
    NEED_TOOLS();
    NEED_ARGUMENT(name);
    NEED_ARGUMENT(index);
    for (int i = 0; i < VARIABLE_COUNT; i++) {
        if (strcmp(name, variables[i].name) != 0 || class != variables[i].class) continue;
        *index = i;
        return MPI_SUCCESS;
    }
    return MPI_T_ERR_INVALID_NAME;
}

PUBLIC(T_pvar_session_create)
int PMPI_T_pvar_session_create(MPI_T_pvar_session *session)
{
    NEED_TOOLS();
    NEED_ARGUMENT(session);
    struct tool_session *s = calloc(1, sizeof *s);
    if (s == NULL) return MPI_T_ERR_OUT_OF_SESSIONS;
    *session = (MPI_T_pvar_session)(void *)s;
    return MPI_SUCCESS;
}

PUBLIC(T_pvar_session_free)
int PMPI_T_pvar_session_free(MPI_T_pvar_session *session)
{
    NEED_ARGUMENT(session);
    NEED_TOOL_SESSION(*session);
    free(SESSION_OF(*session));
    *session = MPI_T_PVAR_SESSION_NULL;
    return MPI_SUCCESS;
}

PUBLIC(T_pvar_handle_alloc)
int PMPI_T_pvar_handle_alloc(
    MPI_T_pvar_session session, int index, void *object, MPI_T_pvar_handle *handle, int *count)
{
    (void)object; /* no variable is of an object */
    NEED_TOOL_SESSION(session);
    NEED_INDEX(index, VARIABLE_COUNT);
    NEED_ARGUMENT(handle);
    NEED_ARGUMENT(count);
    struct tool_handle *h = malloc(sizeof *h);
    if (h == NULL) return MPI_T_ERR_OUT_OF_HANDLES;
    *h = (struct tool_handle){SESSION_OF(session), &variables[index]};
    *handle = (MPI_T_pvar_handle)(void *)h;
    *count = 1;
    return MPI_SUCCESS;
}

PUBLIC(T_pvar_handle_free)
int PMPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    NEED_ARGUMENT(handle);
    NEED_HANDLE(session, *handle);
    free(HANDLE_OF(*handle));
    *handle = MPI_T_PVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}

PUBLIC(T_pvar_read)
int PMPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *value)
{
    NEED_HANDLE(session, handle);
    NEED_ARGUMENT(value);
    unsigned long long number = 0;
    if (hark_process.driver) {
        const char *figures = (const char *)hark_driver_figures(hark_process.driver);
        number = *(const uint64_t *)(const void *)(figures + HANDLE_OF(handle)->variable->at);
    }
    memcpy(value, &number, sizeof number);
    return MPI_SUCCESS;
}

/* They always count, and only hark writes them. All handles at once are those that can. */
static int cannot(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int error)
{
    NEED_TOOL_SESSION(session);
    if (handle == MPI_T_PVAR_ALL_HANDLES) return MPI_SUCCESS;
    NEED_HANDLE(session, handle);
    return error;
}

PUBLIC(T_pvar_start)
int PMPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return cannot(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP);
}

PUBLIC(T_pvar_stop)
int PMPI_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return cannot(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP);
}

PUBLIC(T_pvar_write)
int PMPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *value)
{
    (void)value;
    NEED_HANDLE(session, handle);
    return MPI_T_ERR_PVAR_NO_WRITE;
}

PUBLIC(T_pvar_reset)
int PMPI_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return cannot(session, handle, MPI_T_ERR_PVAR_NO_WRITE);
}

PUBLIC(T_pvar_readreset)
int PMPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *value)
{
    (void)value;
    NEED_HANDLE(session, handle);
    return MPI_T_ERR_PVAR_NO_ATOMIC;
}

/* ---- the category -----------------------------------------------------------------------------
 */

static const char category[] = "hark";

PUBLIC(T_category_get_num)
int PMPI_T_category_get_num(int *count)
{
    NEED_TOOLS();
    NEED_ARGUMENT(count);
    *count = 1;
    return MPI_SUCCESS;
}

PUBLIC(T_category_get_info)
int PMPI_T_category_get_info(int index, char *name, int *name_length, char *about,
    int *about_length, int *controls, int *performances, int *categories)
{
    NEED_TOOLS();
    NEED_INDEX(index, 1);
    give_text(category, name, name_length);
    give_text("messages, their log and recoveries of this process", about, about_length);
    give(controls, 0);
    give(performances, VARIABLE_COUNT);
    give(categories, 0);
    return MPI_SUCCESS;
}

PUBLIC(T_category_get_index)
int PMPI_T_category_get_index(const char *name, int *index)
{
    NEED_TOOLS();
    NEED_ARGUMENT(name);
    NEED_ARGUMENT(index);
    if (strcmp(name, category) != 0) return MPI_T_ERR_INVALID_NAME;
    *index = 0;
    return MPI_SUCCESS;
}

PUBLIC(T_category_get_pvars)
int PMPI_T_category_get_pvars(int index, int room, int indices[])
{
    NEED_TOOLS();
    NEED_INDEX(index, 1);
    if (room > 0) NEED_ARGUMENT(indices);
    for (int i = 0; i < room && i < VARIABLE_COUNT; i++) indices[i] = i;
    return MPI_SUCCESS;
}

/* What it has none of. */
static int give_none(int index)
{
    NEED_TOOLS();
    NEED_INDEX(index, 1);
    return MPI_SUCCESS;
}

PUBLIC(T_category_get_cvars)
int PMPI_T_category_get_cvars(int index, int room, int indices[])
{
    (void)room;
    (void)indices;
    return give_none(index);
}

PUBLIC(T_category_get_categories)
int PMPI_T_category_get_categories(int index, int room, int indices[])
{
    (void)room;
    (void)indices;
    return give_none(index);
}

PUBLIC(T_category_changed)
int PMPI_T_category_changed(int *stamp)
{
    NEED_TOOLS();
    NEED_ARGUMENT(stamp);
    *stamp = 1;
    return MPI_SUCCESS;
}

/* ---- what there is none of: no index, name or handle is valid ---------------------------------
 */

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NONE(name, arguments, error)                                                               \
    PUBLIC(name)                                                                                   \
    int PMPI_##name arguments                                                                      \
    {                                                                                              \
        NEED_TOOLS();                                                                              \
        return error;                                                                              \
    }
#define NO_NUMBER(name)                                                                            \
    PUBLIC(name)                                                                                   \
    int PMPI_##name(int *count)                                                                    \
    {                                                                                              \
        NEED_TOOLS();                                                                              \
        NEED_ARGUMENT(count);                                                                      \
        *count = 0;                                                                                \
        return MPI_SUCCESS;                                                                        \
    }

NO_NUMBER(T_cvar_get_num)

NONE(T_cvar_get_info,
    (int index, char *name, int *name_length, int *verbosity, MPI_Datatype *datatype,
        MPI_T_enum *enumeration, char *about, int *about_length, int *bind, int *scope),
    MPI_T_ERR_INVALID_INDEX)

NONE(T_cvar_get_index, (const char *name, int *index), MPI_T_ERR_INVALID_NAME)

NONE(T_cvar_handle_alloc, (int index, void *object, MPI_T_cvar_handle *handle, int *count),
    MPI_T_ERR_INVALID_INDEX)

NONE(T_cvar_handle_free, (MPI_T_cvar_handle * handle), MPI_T_ERR_INVALID_HANDLE)

NONE(T_cvar_read, (MPI_T_cvar_handle handle, void *value), MPI_T_ERR_INVALID_HANDLE)

NONE(T_cvar_write, (MPI_T_cvar_handle handle, const void *value), MPI_T_ERR_INVALID_HANDLE)

NONE(T_enum_get_info, (MPI_T_enum enumeration, int *count, char *name, int *name_length),
    MPI_T_ERR_INVALID_HANDLE)

NONE(T_enum_get_item, (MPI_T_enum enumeration, int index, int *value, char *name, int *name_length),
    MPI_T_ERR_INVALID_HANDLE)

#if MPI_VERSION >= 4
NO_NUMBER(T_event_get_num)
NO_NUMBER(T_source_get_num)

static int give_no_events(int index, int *count)
{
    int code = give_none(index);
    if (code == MPI_SUCCESS) give(count, 0);
    return code;
}

PUBLIC(T_category_get_num_events)
int PMPI_T_category_get_num_events(int index, int *count)
{
    return give_no_events(index, count);
}

PUBLIC(T_category_get_events)
int PMPI_T_category_get_events(int index, int room, int indices[])
{
    return give_none(index);
}

NONE(T_source_get_info,
    (int index, char *name, int *name_length, char *about, int *about_length,
        MPI_T_source_order *order, MPI_Count *ticks, MPI_Count *most, MPI_Info *info),
    MPI_T_ERR_INVALID_INDEX)

NONE(T_source_get_timestamp, (int index, MPI_Count *stamp), MPI_T_ERR_INVALID_INDEX)

NONE(T_event_get_info,
    (int index, char *name, int *name_length, int *verbosity, MPI_Datatype types[],
        MPI_Aint displacements[], int *elements, MPI_T_enum *enumeration, MPI_Info *info,
        char *about, int *about_length, int *bind),
    MPI_T_ERR_INVALID_INDEX)

NONE(T_event_get_index, (const char *name, int *index), MPI_T_ERR_INVALID_NAME)

NONE(T_event_handle_alloc,
    (int index, void *object, MPI_Info info, MPI_T_event_registration *registration),
    MPI_T_ERR_INVALID_INDEX)

NONE(T_event_handle_free,
    (MPI_T_event_registration registration, void *data, MPI_T_event_free_cb_function *call),
    MPI_T_ERR_INVALID_HANDLE)

NONE(T_event_handle_get_info, (MPI_T_event_registration registration, MPI_Info *info),
    MPI_T_ERR_INVALID_HANDLE)

NONE(T_event_handle_set_info, (MPI_T_event_registration registration, MPI_Info info),
    MPI_T_ERR_INVALID_HANDLE)

NONE(T_event_callback_get_info,
    (MPI_T_event_registration registration, MPI_T_cb_safety safety, MPI_Info *info),
    MPI_T_ERR_INVALID_HANDLE)

NONE(T_event_callback_set_info,
    (MPI_T_event_registration registration, MPI_T_cb_safety safety, MPI_Info info),
    MPI_T_ERR_INVALID_HANDLE)

NONE(T_event_register_callback,
    (MPI_T_event_registration registration, MPI_T_cb_safety safety, MPI_Info info, void *data,
        MPI_T_event_cb_function *call),
    MPI_T_ERR_INVALID_HANDLE)

NONE(T_event_set_dropped_handler,
    (MPI_T_event_registration registration, MPI_T_event_dropped_cb_function *call),
    MPI_T_ERR_INVALID_HANDLE)

NONE(T_event_read, (MPI_T_event_instance event, int element, void *value), MPI_T_ERR_INVALID_HANDLE)

NONE(T_event_copy, (MPI_T_event_instance event, void *value), MPI_T_ERR_INVALID_HANDLE)

NONE(
    T_event_get_timestamp, (MPI_T_event_instance event, MPI_Count *stamp), MPI_T_ERR_INVALID_HANDLE)

NONE(T_event_get_source, (MPI_T_event_instance event, int *source), MPI_T_ERR_INVALID_HANDLE)
#endif
