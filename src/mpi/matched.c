/* Matched probes: a message that a probe has found is taken out of the order of messages, and only
 * who has its handle can receive it. It is delivered when it is probed, and kept here. */
#include "internal.h"

struct message {
    struct object o;
    struct comm *comm; /* NULL: of MPI_MESSAGE_NO_PROC */
    struct hark_info info;
    void *payload;
};

static struct message no_process;

void hark_mpi_predefine_messages(void)
{
    hark_mpi_predefine(&no_process.o, KIND_MESSAGE, BITS(MPI_MESSAGE_NO_PROC));
}

static void message_delete(struct message *m)
{
    if (m->o.predefined) return;
    hark_mpi_comm_release(m->comm);
    free(m->payload);
    hark_mpi_delete(&m->o);
}

/* ---- probing ----------------------------------------------------------------------------------
 */

struct probe {
    struct hark_request r;
    void *payload;
};

static void keep(struct hark_request *r, const void *payload, size_t length)
{
    struct probe *p = (struct probe *)r;
    p->payload = hark_mpi_memory(length);
    memcpy(p->payload, payload, length);
}

static void probe_begin(struct probe *p, struct comm *c, int source, int tag)
{
    *p = (struct probe){.r = {.land = keep, .room = SIZE_MAX, .only_finds = true}};
    hark_mpi_post(c, &p->r, source, OF_MESSAGES, tag);
}

static void found(struct comm *c, struct probe *p, MPI_Message *message, MPI_Status *status)
{
    struct message *m = hark_mpi_new(KIND_MESSAGE, sizeof *m);
    m->comm = c;
    c->o.references++;
    m->info = p->r.info;
    m->payload = p->payload;
    *message = HANDLE(MPI_Message, m);
    if (status != MPI_STATUS_IGNORE) hark_mpi_status_received(c, &m->info, m->info.length, status);
}

static void found_nobody(MPI_Message *message, MPI_Status *status)
{
    *message = MPI_MESSAGE_NO_PROC;
    if (status != MPI_STATUS_IGNORE) hark_mpi_status_set(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

PUBLIC(Mprobe)
int PMPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    NEED_COMM(c, comm);
    NEED_SOURCE(c, source);
    NEED_TAG_OR_ANY(c, tag);
    NEED(c, message, MPI_ERR_ARG, "message is NULL");
    if (source == MPI_PROC_NULL) {
        found_nobody(message, status);
        return MPI_SUCCESS;
    }
    struct probe p;
    probe_begin(&p, c, source, tag);
    hark_app_complete(&p.r, "MPI_Mprobe");
    found(c, &p, message, status);
    return MPI_SUCCESS;
}

PUBLIC(Improbe)
int PMPI_Improbe(
    int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    NEED_COMM(c, comm);
    NEED_SOURCE(c, source);
    NEED_TAG_OR_ANY(c, tag);
    NEED(c, flag && message, MPI_ERR_ARG, "flag or message is NULL");
    *flag = 1;
    if (source == MPI_PROC_NULL) {
        found_nobody(message, status);
        return MPI_SUCCESS;
    }
    struct probe p;
    hark_process_poll();
    probe_begin(&p, c, source, tag);
    for (hark_app_try(&p.r); !p.r.done; hark_app_try(&p.r)) {
        if (hark_mpi_missed()) {
            hark_app_unpost(&p.r);
            *flag = 0;
            return MPI_SUCCESS;
        }
        hark_app_wait("MPI_Improbe", HARK_WAITS_MESSAGE, &p.r, 1);
    }
    found(c, &p, message, status);
    return MPI_SUCCESS;
}

/* ---- receiving --------------------------------------------------------------------------------
 */

/* Unpacks the message; the handle is no more. The code of a truncation; status may be NULL. */
static int take(MPI_Message *message, struct message *m, void *buffer, size_t count,
    const struct type *t, MPI_Status *status)
{
    size_t room = count * t->size, length = m->info.length < room ? m->info.length : room;
    *message = MPI_MESSAGE_NULL;
    if (m->o.predefined) {
        if (status) hark_mpi_status_set(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
        return MPI_SUCCESS;
    }
    hark_mpi_acknowledge_found(m->comm, &m->info);
    if (length) hark_mpi_unpack(t, count, buffer, 0, m->payload, length);
    if (status) hark_mpi_status_received(m->comm, &m->info, room, status);
    return m->info.length > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

#define NEED_MESSAGE(m, handle)                                                                    \
    NEED_OPEN();                                                                                   \
    NEED(NULL, handle, MPI_ERR_ARG, "message is NULL");                                            \
    struct message *m = MESSAGE(*(handle));                                                        \
    NEED(NULL, m, MPI_ERR_REQUEST, "%s",                                                           \
        *(handle) == MPI_MESSAGE_NULL ? "the message is MPI_MESSAGE_NULL"                          \
                                      : "the message is not valid: was it received?")

static int receive(void *buffer, long long count, const struct type *t, MPI_Message *message,
    struct message *m, MPI_Status *status, const char *call)
{
    int code =
        take(message, m, buffer, (size_t)count, t, status == MPI_STATUS_IGNORE ? NULL : status);
    if (code) code = hark_mpi_truncated(m->comm, &m->info, (size_t)count * t->size, call);
    message_delete(m);
    return code;
}

/* The message is there, so that the request is complete at once. */
static int receive_later(void *buffer, long long count, const struct type *t, MPI_Message *message,
    struct message *m, MPI_Request *request)
{
    struct request *r = hark_mpi_request_new(m->comm);
    r->what = REQUEST_RECEIVE;
    r->active = r->done = true;
    r->status.MPI_ERROR = take(message, m, buffer, (size_t)count, t, &r->status);
    message_delete(m);
    *request = HANDLE(MPI_Request, r);
    return MPI_SUCCESS;
}

#define RECEIVES(suffix, count_type)                                                               \
    PUBLIC(Mrecv##suffix)                                                                          \
    int PMPI_Mrecv##suffix(void *buffer, count_type count, MPI_Datatype datatype,                  \
        MPI_Message *message, MPI_Status *status)                                                  \
    {                                                                                              \
        NEED_MESSAGE(m, message);                                                                  \
        NEED_COUNT(m->comm, count);                                                                \
        NEED_COMMITTED(m->comm, t, datatype);                                                      \
        if (!m->o.predefined) NEED_BUFFER(m->comm, buffer, count, t);                              \
        return receive(buffer, count, t, message, m, status, __func__);                            \
    }                                                                                              \
    PUBLIC(Imrecv##suffix)                                                                         \
    int PMPI_Imrecv##suffix(void *buffer, count_type count, MPI_Datatype datatype,                 \
        MPI_Message *message, MPI_Request *request)                                                \
    {                                                                                              \
        NEED_MESSAGE(m, message);                                                                  \
        NEED_COUNT(m->comm, count);                                                                \
        NEED_COMMITTED(m->comm, t, datatype);                                                      \
        if (!m->o.predefined) NEED_BUFFER(m->comm, buffer, count, t);                              \
        NEED(m->comm, request, MPI_ERR_ARG, "request is NULL");                                    \
        return receive_later(buffer, count, t, message, m, request);                               \
    }
RECEIVES(, int)
#if MPI_VERSION >= 4
RECEIVES(_c, MPI_Count)
#endif
