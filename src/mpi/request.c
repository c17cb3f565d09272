/* Requests: non-blocking and persistent sends and receives. How they are completed: request_wait.c.
 */
#include "internal.h"

struct request hark_mpi_request_done;

struct request *hark_mpi_request_new(struct comm *c)
{
    struct request *r = hark_mpi_new(KIND_REQUEST, sizeof *r);
    r->comm = c;
    if (c) c->o.references++;
    hark_mpi_status_empty(&r->status);
    return r;
}

void hark_mpi_request_sent(struct request *r)
{
    if (__builtin_expect(r->left == NULL, 1)) return;
    hark_app_sent(r->left);
    free(r->left);
    r->left = NULL;
}

static uint32_t *left_of(struct request *r)
{
    if (r->left == NULL) r->left = hark_mpi_memory(sizeof *r->left);
    return r->left;
}

void hark_mpi_request_release(struct request *r)
{
    if (r->o.predefined) return;
    hark_mpi_request_sent(r);
    if (r->collective) hark_mpi_collective_free(r->collective);
    if (r->partitioned) hark_mpi_partitioned_free(r->partitioned);
    if (r->comm) hark_mpi_comm_release(r->comm);
    if (r->type) hark_mpi_type_release(r->type);
    hark_mpi_delete(&r->o);
}

/* ---- what a request does ----------------------------------------------------------------------
 */

static void land(struct hark_request *at, const void *payload, size_t length)
{
    struct request *r = (struct request *)((char *)at - offsetof(struct request, receive));
    hark_mpi_unpack(
        r->type, r->count, r->buffer, 0, payload, length < at->room ? length : at->room);
}

struct request *hark_mpi_request_of(const struct hark_request *h)
{
    return (struct request *)((uintptr_t)h - offsetof(struct request, receive));
}

/* Its receive: of the message, or of the acknowledgement. */
void hark_mpi_request_post(struct request *r)
{
    struct hark_request *h = &r->receive;
    if (hark_mpi_is_partitioned(r)) {
        hark_mpi_partitioned_post(r);
        return;
    }
    if (r->what == REQUEST_SEND) {
        *h = (struct hark_request){0};
        hark_mpi_post(r->comm, h, r->peer, OF_ACKNOWLEDGEMENTS, r->tag);
        return;
    }
    *h = (struct hark_request){.room = (size_t)r->count * r->type->size};
    if (hark_mpi_type_is_block(r->type, (size_t)r->count))
        h->data = hark_mpi_type_first(r->type, r->buffer);
    else h->land = land;
    hark_mpi_post(r->comm, h, r->peer, OF_MESSAGES, r->tag);
}

static int start_receive(struct request *r)
{
    r->active = true;
    r->done = r->cancelled = false;
    if (r->peer == MPI_PROC_NULL) {
        r->done = true;
        hark_mpi_status_set(&r->status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
        return HARK_A_OK;
    }
    hark_mpi_request_post(r);
    return HARK_A_OK;
}

static int start_send(struct request *r)
{
    r->active = true;
    r->cancelled = false;
    r->done = !r->synchronous || r->peer == MPI_PROC_NULL;
    hark_mpi_status_empty(&r->status);
    if (r->peer == MPI_PROC_NULL) return HARK_A_OK;
    int status = hark_mpi_send_start(
        r->comm, r->buffer, r->count, r->type, r->peer, r->tag, r->synchronous, left_of(r));
    if (status < 0 || !r->synchronous) return status;
    hark_mpi_request_post(r);
    return status;
}

static int start_without_arguments(struct request *r)
{
    (void)r;
    hark_mpi_fatal(1,
        "MPI_Start: this persistent collective call was made after hark_restarted, and "
        "checkpoints do not hold its arguments: make it before hark_restarted");
}

void hark_mpi_request_again(struct request *r)
{
    if (r->what == REQUEST_RECEIVE) r->start = start_receive;
    else if (r->what == REQUEST_SEND) r->start = start_send;
    else if (hark_mpi_is_partitioned(r)) hark_mpi_partitioned_again(r);
    else r->start = start_without_arguments; /* until hark_mpi_collective_again */
}

/* Its receive is done. */
static void settle(struct request *r)
{
    r->done = true;
    if (r->what != REQUEST_RECEIVE) return;
    hark_mpi_status_received(r->comm, &r->receive.info, r->receive.room, &r->status);
    r->status.MPI_ERROR = r->receive.status < 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

bool hark_mpi_request_try(struct request *r)
{
    if (r->done) return true;
    switch (r->what) {
    case REQUEST_SEND:
    case REQUEST_RECEIVE:
        hark_app_try(&r->receive);
        if (r->receive.done) settle(r);
        break;
    case REQUEST_COLLECTIVE: r->done = hark_mpi_collective_try(r); break;
    case REQUEST_GENERALIZED: break;
    case REQUEST_PARTITIONED_SEND:
    case REQUEST_PARTITIONED_RECEIVE: return hark_mpi_partitioned_try(r);
    }
    return r->done;
}

void hark_mpi_request_wait(struct request *r, const char *call)
{
    if (r->done) return;
    switch (r->what) {
    case REQUEST_SEND:
    case REQUEST_RECEIVE:
        hark_app_complete(&r->receive, call);
        settle(r);
        break;
    case REQUEST_COLLECTIVE:
        hark_mpi_collective_wait(r, call);
        r->done = true;
        break;
    case REQUEST_PARTITIONED_SEND:
    case REQUEST_PARTITIONED_RECEIVE: hark_mpi_partitioned_wait(r, call); break;
    case REQUEST_GENERALIZED:
        hark_mpi_fatal(1,
            "%s waits for a generalized request that only this thread could complete: call "
            "MPI_Grequest_complete before it",
            call);
    }
}

int hark_mpi_request_finish(MPI_Request *handle, struct request *r, MPI_Status *status)
{
    int error = r->status.MPI_ERROR;
    hark_mpi_request_sent(r);
    if (r->what == REQUEST_GENERALIZED) error = hark_mpi_generalized_query(r);
    if (status != MPI_STATUS_IGNORE) {
        int kept = status->MPI_ERROR;
        *status = r->status;
        status->MPI_ERROR = kept;
    }
    r->active = false;
    if (r->persistent) {
        r->done = true; /* an inactive one is complete, with an empty status */
        hark_mpi_status_empty(&r->status);
        return error;
    }
    *handle = MPI_REQUEST_NULL;
    int failed = r->generalized ? hark_mpi_generalized_free(r) : MPI_SUCCESS;
    hark_mpi_request_release(r);
    return error ? error : failed;
}

/* ---- making them ------------------------------------------------------------------------------
 */

static struct request *make(struct comm *c, void *buffer, size_t count, struct type *t, int peer,
    int tag, int (*start)(struct request *r))
{
    struct request *r = hark_mpi_request_new(c);
    r->what = start == start_receive ? REQUEST_RECEIVE : REQUEST_SEND;
    r->buffer = buffer;
    r->count = count;
    r->type = t;
    t->o.references++;
    r->peer = peer;
    r->tag = tag;
    r->start = start;
    r->done = true;
    return r;
}

/* A message of standard mode counts as sent when the call returns, so that what a test finds does
 * not depend on timing. If nothing of it waits in its memory the request is that of all such sends;
 * else who completes the request waits for that. */
static int start_standard(struct comm *c, const void *buffer, size_t count, struct type *t,
    int dest, int tag, MPI_Request *request)
{
    static uint32_t *spare; /* what the message counts down has its place before it is known whether
                               that is needed */
    if (spare == NULL) spare = hark_mpi_memory(sizeof *spare);
    int status = hark_mpi_send_start(c, buffer, count, t, dest, tag, false, spare);
    if (__builtin_expect(*spare == 0, 1)) {
        *request = HANDLE(MPI_Request, &hark_mpi_request_done);
        return status;
    }
    struct request *r = hark_mpi_request_new(c);
    r->what = REQUEST_SEND;
    r->active = r->done = true;
    r->left = spare;
    spare = NULL;
    *request = HANDLE(MPI_Request, r);
    return status;
}

#define ISEND(suffix, count_type, name)                                                            \
    PUBLIC(name##suffix)                                                                           \
    int PMPI_##name##suffix(const void *buffer, count_type count, MPI_Datatype datatype, int dest, \
        int tag, MPI_Comm comm, MPI_Request *request)                                              \
    {                                                                                              \
        NEED_COMM(c, comm);                                                                        \
        NEED_COUNT(c, count);                                                                      \
        NEED_COMMITTED(c, t, datatype);                                                            \
        NEED_PEER(c, dest);                                                                        \
        NEED_TAG(c, tag);                                                                          \
        NEED(c, request, MPI_ERR_ARG, "request is NULL");                                          \
        *request = HANDLE(MPI_Request, &hark_mpi_request_done);                                    \
        if (dest == MPI_PROC_NULL) return MPI_SUCCESS;                                             \
        NEED_BUFFER(c, buffer, count, t);                                                          \
        int status = start_standard(c, buffer, (size_t)count, t, dest, tag, request);              \
        return status < 0 ? hark_mpi_status(c, status, __func__) : MPI_SUCCESS;                    \
    }

COUNTS(ISEND, Isend)
COUNTS(ISEND, Ibsend)
COUNTS(ISEND, Irsend)

#define REQUEST_MADE(suffix, count_type, name, buffer_type, peer, need_peer, need_tag, function,   \
    is_synchronous, is_persistent)                                                                 \
    PUBLIC(name##suffix)                                                                           \
    int PMPI_##name##suffix(buffer_type buffer, count_type count, MPI_Datatype datatype, int peer, \
        int tag, MPI_Comm comm, MPI_Request *request)                                              \
    {                                                                                              \
        NEED_COMM(c, comm);                                                                        \
        NEED_COUNT(c, count);                                                                      \
        NEED_COMMITTED(c, t, datatype);                                                            \
        need_peer(c, peer);                                                                        \
        need_tag(c, tag);                                                                          \
        NEED(c, request, MPI_ERR_ARG, "request is NULL");                                          \
        if (peer != MPI_PROC_NULL) NEED_BUFFER(c, buffer, count, t);                               \
        struct request *r =                                                                        \
            make(c, (void *)(uintptr_t)buffer, (size_t)count, t, peer, tag, function);             \
        r->synchronous = is_synchronous;                                                           \
        r->persistent = is_persistent;                                                             \
        *request = HANDLE(MPI_Request, r);                                                         \
        int status = is_persistent ? HARK_A_OK : function(r);                                      \
        return status < 0 ? hark_mpi_status(c, status, __func__) : MPI_SUCCESS;                    \
    }

COUNTS(REQUEST_MADE, Issend, const void *, dest, NEED_PEER, NEED_TAG, start_send, true, false)
COUNTS(
    REQUEST_MADE, Irecv, void *, source, NEED_SOURCE, NEED_TAG_OR_ANY, start_receive, false, false)
COUNTS(REQUEST_MADE, Send_init, const void *, dest, NEED_PEER, NEED_TAG, start_send, false, true)
COUNTS(REQUEST_MADE, Bsend_init, const void *, dest, NEED_PEER, NEED_TAG, start_send, false, true)
COUNTS(REQUEST_MADE, Rsend_init, const void *, dest, NEED_PEER, NEED_TAG, start_send, false, true)
COUNTS(REQUEST_MADE, Ssend_init, const void *, dest, NEED_PEER, NEED_TAG, start_send, true, true)
COUNTS(REQUEST_MADE, Recv_init, void *, source, NEED_SOURCE, NEED_TAG_OR_ANY, start_receive, false,
    true)

/* ---- both at once: MPI 4 ----------------------------------------------------------------------
 */

/* The message can not be sent: nothing is received either. */
static int give_up(struct comm *c, struct request *in, int status, const char *call)
{
    if (in->active && !in->done && !in->receive.done) hark_app_unpost(&in->receive);
    hark_mpi_request_release(in);
    return hark_mpi_status(c, status, call);
}

/* The request is the receive's, and that of the send until it is completed. If one buffer is for
 * both, the receive is posted when the message has left it. */
static int exchange(struct comm *c, const void *out, size_t out_count, struct type *out_type,
    int dest, int out_tag, struct request *in, MPI_Request *request, const char *call)
{
    int status = HARK_A_OK;
    bool replaces = out == in->buffer;
    *request = MPI_REQUEST_NULL;
    if (!replaces) start_receive(in);
    if (dest != MPI_PROC_NULL)
        status =
            hark_mpi_send_start(c, out, out_count, out_type, dest, out_tag, false, left_of(in));
    if (status < 0) return give_up(c, in, status, call);
    if (replaces) {
        hark_mpi_request_sent(in);
        start_receive(in);
    }
    *request = HANDLE(MPI_Request, in);
    return MPI_SUCCESS;
}

#pragma GCC visibility push(default)
int PMPI_Isendrecv(const void *out, int out_count, MPI_Datatype out_datatype, int dest, int out_tag,
    void *in, int in_count, MPI_Datatype in_datatype, int source, int in_tag, MPI_Comm comm,
    MPI_Request *request);
int PMPI_Isendrecv_replace(void *buffer, int count, MPI_Datatype datatype, int dest, int out_tag,
    int source, int in_tag, MPI_Comm comm, MPI_Request *request);
#pragma GCC visibility pop

#define ISENDRECV(suffix, count_type, name)                                                        \
    PUBLIC(Isendrecv##suffix)                                                                      \
    int PMPI_Isendrecv##suffix(const void *out, count_type out_count, MPI_Datatype out_datatype,   \
        int dest, int out_tag, void *in, count_type in_count, MPI_Datatype in_datatype,            \
        int source, int in_tag, MPI_Comm comm, MPI_Request *request)                               \
    {                                                                                              \
        NEED_COMM(c, comm);                                                                        \
        NEED_COUNT(c, out_count);                                                                  \
        NEED_COUNT(c, in_count);                                                                   \
        NEED_COMMITTED(c, out_type, out_datatype);                                                 \
        NEED_COMMITTED(c, in_type, in_datatype);                                                   \
        NEED_PEER(c, dest);                                                                        \
        NEED_SOURCE(c, source);                                                                    \
        NEED_TAG(c, out_tag);                                                                      \
        NEED_TAG_OR_ANY(c, in_tag);                                                                \
        NEED(c, request, MPI_ERR_ARG, "request is NULL");                                          \
        if (dest != MPI_PROC_NULL) NEED_BUFFER(c, out, out_count, out_type);                       \
        if (source != MPI_PROC_NULL) NEED_BUFFER(c, in, in_count, in_type);                        \
        struct request *r = make(c, in, (size_t)in_count, in_type, source, in_tag, start_receive); \
        return exchange(c, out, (size_t)out_count, out_type, dest, out_tag, r, request, __func__); \
    }
COUNTS(ISENDRECV, Isendrecv)

#define ISENDRECV_REPLACE(suffix, count_type, name)                                                \
    PUBLIC(Isendrecv_replace##suffix)                                                              \
    int PMPI_Isendrecv_replace##suffix(void *buffer, count_type count, MPI_Datatype datatype,      \
        int dest, int out_tag, int source, int in_tag, MPI_Comm comm, MPI_Request *request)        \
    {                                                                                              \
        return PMPI_Isendrecv##suffix(buffer, count, datatype, dest, out_tag, buffer, count,       \
            datatype, source, in_tag, comm, request);                                              \
    }
COUNTS(ISENDRECV_REPLACE, Isendrecv_replace)

PUBLIC(Start)
int PMPI_Start(MPI_Request *request)
{
    NEED_OPEN();
    NEED(NULL, request, MPI_ERR_ARG, "request is NULL");
    NEED_REQUEST(r, *request);
    NEED(r->comm, r->persistent, MPI_ERR_REQUEST, "the request is not persistent");
    NEED(r->comm, !r->active, MPI_ERR_REQUEST, "the request is active: wait for it first");
    int status = r->start(r);
    return status < 0 ? hark_mpi_status(r->comm, status, __func__) : MPI_SUCCESS;
}

PUBLIC(Startall)
int PMPI_Startall(int count, MPI_Request requests[])
{
    NEED_OPEN();
    NEED_COUNT(NULL, count);
    NEED(NULL, requests || count == 0, MPI_ERR_ARG, "the requests are NULL");
    for (int i = 0; i < count; i++) {
        int code = PMPI_Start(&requests[i]);
        if (code) return code;
    }
    return MPI_SUCCESS;
}

PUBLIC(Request_free)
int PMPI_Request_free(MPI_Request *request)
{
    NEED_OPEN();
    NEED(NULL, request, MPI_ERR_ARG, "request is NULL");
    NEED_REQUEST(r, *request);
    *request = MPI_REQUEST_NULL;
    if (r->what == REQUEST_GENERALIZED) return hark_mpi_generalized_forget(r);
    if (hark_mpi_is_partitioned(r) && hark_mpi_partitioned_keeps(r)) return MPI_SUCCESS;
    bool is_open = r->active && !r->done && r->what != REQUEST_PARTITIONED_SEND;
    if (is_open) hark_mpi_request_forget(r);
    else hark_mpi_request_release(r);
    return MPI_SUCCESS;
}

/* ---- those that the program has freed before they were done -----------------------------------
 */

static struct request *forgotten; /* by next */

void hark_mpi_request_forget(struct request *r)
{
    r->next = forgotten;
    r->forgotten = true;
    forgotten = r;
}

void hark_mpi_requests_remember(void)
{
    forgotten = NULL;
}

void hark_mpi_requests_try_forgotten(const char *call)
{
    while (forgotten) {
        uint64_t before = hark_mpi_messages_taken();
        for (struct request **at = &forgotten, *r; (r = *at) != NULL;) {
            if (!hark_mpi_request_try(r)) {
                at = &r->next;
                continue;
            }
            *at = r->next;
            hark_mpi_request_release(r);
        }
        if (hark_mpi_messages_taken() != before) continue;
        if (forgotten == NULL || hark_app_missed()) return;
        hark_app_wait(call, HARK_WAITS_ANY, NULL, 0);
    }
}

void hark_mpi_requests_close(void)
{
    hark_mpi_requests_try_forgotten("MPI_Finalize");
    hark_mpi_partitioned_close();
    while (forgotten) {
        struct request *r = forgotten;
        forgotten = r->next;
        bool is_posted = r->what == REQUEST_SEND || r->what == REQUEST_RECEIVE;
        if (is_posted && !r->receive.done) hark_app_unpost(&r->receive);
        hark_mpi_request_release(r);
    }
}

/* ---- cancelling them --------------------------------------------------------------------------
 */

PUBLIC(Cancel)
int PMPI_Cancel(MPI_Request *request)
{
    NEED_OPEN();
    NEED(NULL, request, MPI_ERR_ARG, "request is NULL");
    NEED_REQUEST(r, *request);
    if (r->what == REQUEST_GENERALIZED) return hark_mpi_generalized_cancel(r);
    NEED(r->comm, r->what != REQUEST_COLLECTIVE, MPI_ERR_REQUEST,
        "a collective call can not be cancelled");
    NEED(r->comm, !hark_mpi_is_partitioned(r), MPI_ERR_REQUEST,
        "partitioned communication can not be cancelled");
    /* A message that was sent is sent. A receive that no wait or test has completed has taken
     * nothing. */
    if (r->what != REQUEST_RECEIVE || r->done || r->receive.done) return MPI_SUCCESS;
    hark_app_unpost(&r->receive);
    r->done = r->cancelled = true;
    hark_mpi_status_empty(&r->status);
    status_set_cancelled(&r->status, true);
    return MPI_SUCCESS;
}

PUBLIC(Test_cancelled)
int PMPI_Test_cancelled(const MPI_Status *status, int *flag)
{
    NEED(NULL, status && flag, MPI_ERR_ARG, "status or flag is NULL");
    *flag = status_cancelled(status);
    return MPI_SUCCESS;
}

PUBLIC(Status_set_cancelled)
int PMPI_Status_set_cancelled(MPI_Status *status, int flag)
{
    NEED(NULL, status, MPI_ERR_ARG, "status is NULL");
    status_set_cancelled(status, flag != 0);
    return MPI_SUCCESS;
}

void hark_mpi_predefine_requests(void)
{
    struct request *r = &hark_mpi_request_done;
    hark_mpi_own(&r->o, KIND_REQUEST, sizeof *r);
    r->done = r->active = true;
    hark_mpi_status_empty(&r->status);
}
