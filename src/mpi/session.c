/* Sessions of MPI 4: a library joins without MPI_Init. There are the process sets mpi://WORLD and
 * mpi://SELF. */
#include <stdio.h>
#include <strings.h>

#include "internal.h"

#if defined(MPI_SESSION_NULL)

struct session {
    struct held h;
    struct attached buffer;
};

static const char *const set_names[] = {"mpi://WORLD", "mpi://SELF"};
enum { SETS = sizeof set_names / sizeof *set_names };

/* NULL: there is none of this name. They are not case sensitive. */
static struct group *set_of(const char *name)
{
    static struct group *const group[] = {&hark_mpi_group_world, &hark_mpi_group_self};
    for (int i = 0; name && i < SETS; i++)
        if (strcasecmp(name, set_names[i]) == 0) return group[i];
    return NULL;
}

#define NEED_SESSION(s, handle)                                                                    \
    struct session *s = SESSION(handle);                                                           \
    NEED(NULL, s, MPI_ERR_SESSION, "%s",                                                           \
        (handle) == MPI_SESSION_NULL ? "the session is MPI_SESSION_NULL"                           \
                                     : "the session is not valid: was it finalized?")
#define NEED_OF(s, condition, code, ...)                                                           \
    do {                                                                                           \
        if (!(condition)) return hark_mpi_error_on(&(s)->h.o, code, __func__, __VA_ARGS__);        \
    } while (0)

/* What the program asks for by the key thread_level; all levels but one are provided. */
static int level_asked(const struct info *i)
{
    const char *text = i ? hark_mpi_info_value(i, "thread_level") : NULL;
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED};
    for (size_t n = 0; text && n < sizeof levels / sizeof *levels; n++)
        if (strcmp(text, hark_mpi_thread_level_name(levels[n])) == 0) return levels[n];
    return MPI_THREAD_SERIALIZED;
}

PUBLIC(Session_init)
int PMPI_Session_init(MPI_Info info, MPI_Errhandler handle, MPI_Session *session)
{
    NEED(NULL, session, MPI_ERR_ARG, "session is NULL");
    hark_mpi_predefine_errhandlers();
    struct errhandler *e = ERRHANDLER(handle);
    NEED(NULL, e, MPI_ERR_ARG, "the error handler is not valid: was it freed?");
    hark_mpi_session_opened(level_asked(INFO(info)));
    struct session *s = hark_mpi_new(KIND_SESSION, sizeof *s);
    s->h.errhandler = hark_mpi_errhandler_again(e);
    *session = HANDLE(MPI_Session, &s->h);
    return MPI_SUCCESS;
}

PUBLIC(Session_finalize)
int PMPI_Session_finalize(MPI_Session *session)
{
    NEED(NULL, session, MPI_ERR_ARG, "session is NULL");
    NEED_SESSION(s, *session);
    hark_mpi_errhandler_release(s->h.errhandler);
    hark_mpi_delete(&s->h.o);
    hark_mpi_session_closed();
    *session = MPI_SESSION_NULL;
    return MPI_SUCCESS;
}

PUBLIC(Session_get_info)
int PMPI_Session_get_info(MPI_Session session, MPI_Info *info)
{
    NEED_SESSION(s, session);
    NEED_OF(s, info, MPI_ERR_ARG, "info_used is NULL");
    struct info *used = hark_mpi_info_make();
    hark_mpi_info_set(used, "thread_level", hark_mpi_thread_level_name(hark_mpi_thread_level));
    *info = (MPI_Info)((struct object *)used)->handle;
    return MPI_SUCCESS;
}

/* ---- checkpoints ------------------------------------------------------------------------------
 */

void hark_mpi_session_put(const struct object *o, void (*put)(const void *from, size_t length))
{
    const struct session *s = (const struct session *)o;
    hark_mpi_errhandler_put(s->h.errhandler, put);
    hark_mpi_buffer_put(&s->buffer, put);
}

void hark_mpi_session_get(struct object *o, void (*get)(void *to, size_t length))
{
    struct session *s = (struct session *)o;
    s->h.errhandler = hark_mpi_errhandler_get(get);
    hark_mpi_buffer_get(&s->buffer, get);
    if (o->is_new) hark_mpi_session_opened(hark_mpi_thread_level);
}

/* One that the program finalized after hark_restarted. */
void hark_mpi_session_forget(struct object *o)
{
    hark_mpi_delete(o);
    hark_mpi_session_closed();
}

/* ---- the buffer of buffered sends -------------------------------------------------------------
 */

#if defined(MPI_BUFFER_AUTOMATIC)
#define SESSION_BUFFERS(suffix, size_type, name)                                                   \
    PUBLIC(Session_attach_buffer##suffix)                                                          \
    int PMPI_Session_attach_buffer##suffix(MPI_Session session, void *at, size_type size)          \
    {                                                                                              \
        NEED_SESSION(s, session);                                                                  \
        return hark_mpi_buffer_attach(&s->h.o, &s->buffer, at, size, __func__);                    \
    }                                                                                              \
    PUBLIC(Session_detach_buffer##suffix)                                                          \
    int PMPI_Session_detach_buffer##suffix(MPI_Session session, void *at, size_type *size)         \
    {                                                                                              \
        NEED_SESSION(s, session);                                                                  \
        int code = hark_mpi_buffer_detach(&s->h.o, &s->buffer, at, size, __func__);                \
        if (code == MPI_SUCCESS) *size = (size_type)s->buffer.size;                                \
        return code;                                                                               \
    }
COUNTS(SESSION_BUFFERS, buffers)

PUBLIC(Session_flush_buffer)
int PMPI_Session_flush_buffer(MPI_Session session)
{
    NEED_SESSION(s, session);
    return MPI_SUCCESS;
}

PUBLIC(Session_iflush_buffer)
int PMPI_Session_iflush_buffer(MPI_Session session, MPI_Request *request)
{
    NEED_SESSION(s, session);
    NEED_OF(s, request, MPI_ERR_ARG, "request is NULL");
    *request = HANDLE(MPI_Request, &hark_mpi_request_done);
    return MPI_SUCCESS;
}
#endif

/* ---- process sets -----------------------------------------------------------------------------
 */

PUBLIC(Session_get_num_psets)
int PMPI_Session_get_num_psets(MPI_Session session, MPI_Info info, int *count)
{
    (void)info;
    NEED_SESSION(s, session);
    NEED_OF(s, count, MPI_ERR_ARG, "npset_names is NULL");
    *count = SETS;
    return MPI_SUCCESS;
}

PUBLIC(Session_get_nth_pset)
int PMPI_Session_get_nth_pset(MPI_Session session, MPI_Info info, int n, int *length, char *name)
{
    (void)info;
    NEED_SESSION(s, session);
    NEED_OF(s, n >= 0 && n < SETS, MPI_ERR_ARG, "n is %d, and there are %d process sets", n, SETS);
    NEED_OF(s, length && (name || *length == 0), MPI_ERR_ARG, "pset_len or pset_name is NULL");
    if (*length > 0) snprintf(name, (size_t)*length, "%s", set_names[n]);
    *length = (int)strlen(set_names[n]) + 1;
    return MPI_SUCCESS;
}

PUBLIC(Session_get_pset_info)
int PMPI_Session_get_pset_info(MPI_Session session, const char *name, MPI_Info *info)
{
    char text[32];
    NEED_SESSION(s, session);
    const struct group *g = set_of(name);
    NEED_OF(s, g, MPI_ERR_ARG, "there is no process set \"%s\"", name ? name : "");
    NEED_OF(s, info, MPI_ERR_ARG, "info is NULL");
    struct info *i = hark_mpi_info_make();
    snprintf(text, sizeof text, "%d", g->size);
    hark_mpi_info_set(i, "mpi_size", text);
    *info = (MPI_Info)((struct object *)i)->handle;
    return MPI_SUCCESS;
}

PUBLIC(Group_from_session_pset)
int PMPI_Group_from_session_pset(MPI_Session session, const char *name, MPI_Group *newgroup)
{
    NEED_SESSION(s, session);
    struct group *g = set_of(name);
    NEED_OF(s, g, MPI_ERR_ARG, "there is no process set \"%s\"", name ? name : "");
    NEED_OF(s, newgroup, MPI_ERR_ARG, "newgroup is NULL");
    g->o.references++;
    *newgroup = HANDLE(MPI_Group, g);
    return MPI_SUCCESS;
}

/* ---- communicators of groups ------------------------------------------------------------------
 */

/* Processes that make a communicator of a group find each other by the program's tag. */
static int tag_of(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++) hash = (hash ^ (uint8_t)*text) * 16777619u;
    return (int)(hash & TAG_LIMIT);
}

/* The arguments that both functions have. An error code. */
static int check(const char *tag, MPI_Errhandler handle, const void *newcomm, const char *call)
{
    if (newcomm == NULL) return hark_mpi_error(NULL, MPI_ERR_ARG, call, "newcomm is NULL");
    if (tag == NULL) return hark_mpi_error(NULL, MPI_ERR_ARG, call, "stringtag is NULL");
    if (ERRHANDLER(handle)) return MPI_SUCCESS;
    return hark_mpi_error(NULL, MPI_ERR_ARG, call, "the error handler is not valid: was it freed?");
}

static struct comm *comm_of(struct group *g, int tag, const char *call, int *code)
{
    int context = hark_mpi_context_agree_group(&hark_mpi_world, g, tag);
    *code = MPI_SUCCESS;
    if (context >= 0) {
        g->o.references++;
        return hark_mpi_comm_make(g, NULL, (uint32_t)context);
    }
    *code = hark_mpi_error(NULL, MPI_ERR_OTHER, call, "there is no context for one more");
    return NULL;
}

PUBLIC(Comm_create_from_group)
int PMPI_Comm_create_from_group(
    MPI_Group group, const char *stringtag, MPI_Info info, MPI_Errhandler handle, MPI_Comm *newcomm)
{
    NEED_OPEN();
    int code = check(stringtag, handle, newcomm, __func__);
    if (code) return code;
    struct group *g = GROUP(group);
    NEED(NULL, g, MPI_ERR_GROUP, "the group is not valid");
    *newcomm = MPI_COMM_NULL;
    if (g->rank == MPI_UNDEFINED) return MPI_SUCCESS;
    struct comm *c = comm_of(g, tag_of(stringtag), __func__, &code);
    if (c == NULL) return code;
    hark_mpi_errhandler_replace(&c->errhandler, ERRHANDLER(handle));
    if (INFO(info)) hark_mpi_comm_hints(c, INFO(info));
    *newcomm = HANDLE(MPI_Comm, c);
    return MPI_SUCCESS;
}

/* Both groups in one order: that first whose first process has the lower rank in the job. */
static struct group *both_of(struct group *a, struct group *b)
{
    if (hark_mpi_group_world_rank(b, 0) < hark_mpi_group_world_rank(a, 0)) {
        struct group *first = b;
        b = a;
        a = first;
    }
    int n = 0, *world = hark_mpi_memory((size_t)(a->size + b->size) * sizeof *world);
    for (int i = 0; i < a->size; i++) world[n++] = hark_mpi_group_world_rank(a, i);
    for (int i = 0; i < b->size; i++) world[n++] = hark_mpi_group_world_rank(b, i);
    return hark_mpi_group_make(n, world);
}

/* The remote group is significant at the local leader only: it sends the ranks to the others. */
static struct group *learn_remote(struct comm *local, int leader, struct group *remote)
{
    MPI_Comm comm = HANDLE(MPI_Comm, local);
    int size = remote ? remote->size : 0, code;
    code = PMPI_Bcast(&size, 1, MPI_INT, leader, comm);
    int *world = hark_mpi_memory((size_t)size * sizeof *world);
    for (int i = 0; remote && local->rank == leader && i < size; i++)
        world[i] = hark_mpi_group_world_rank(remote, i);
    if (code == MPI_SUCCESS) code = PMPI_Bcast(world, size, MPI_INT, leader, comm);
    if (code == MPI_SUCCESS) return hark_mpi_group_make(size, world);
    free(world);
    return NULL;
}

PUBLIC(Intercomm_create_from_groups)
int PMPI_Intercomm_create_from_groups(MPI_Group local_group, int local_leader,
    MPI_Group remote_group, int remote_leader, const char *stringtag, MPI_Info info,
    MPI_Errhandler handle, MPI_Comm *newcomm)
{
    (void)remote_leader;
    NEED_OPEN();
    int code = check(stringtag, handle, newcomm, __func__);
    if (code) return code;
    struct group *g = GROUP(local_group);
    NEED(NULL, g && g->rank != MPI_UNDEFINED, MPI_ERR_GROUP,
        "the local group is not valid, or this process is not in it");
    NEED(NULL, local_leader >= 0 && local_leader < g->size, MPI_ERR_RANK,
        "the local leader is %d, and the group has ranks 0 .. %d", local_leader, g->size - 1);
    int tag = tag_of(stringtag);
    struct comm *local = comm_of(g, tag, __func__, &code);
    if (local == NULL) return code;
    struct group *remote = learn_remote(local, local_leader, GROUP(remote_group));
    NEED(NULL, remote && remote->size > 0, MPI_ERR_GROUP, "the remote group is not valid");
    struct group *both = both_of(g, remote);
    struct comm *c = comm_of(both, tag, __func__, &code);
    hark_mpi_group_release(both);
    if (c == NULL) return code;
    hark_mpi_group_release(c->group);
    g->o.references++;
    c->group = g;
    c->remote = remote;
    c->rank = g->rank;
    c->size = g->size;
    c->local = local;
    hark_mpi_errhandler_replace(&c->errhandler, ERRHANDLER(handle));
    if (INFO(info)) hark_mpi_comm_hints(c, INFO(info));
    *newcomm = HANDLE(MPI_Comm, c);
    return MPI_SUCCESS;
}
#endif
