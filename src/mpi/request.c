/* Requests: non-blocking and persistent sends and receives, and how they are completed. */
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

void hark_mpi_request_release(struct request *r)
{
    if (r->o.predefined) return;
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
    int status =
        hark_mpi_send(r->comm, r->buffer, r->count, r->type, r->peer, r->tag, r->synchronous);
    if (status < 0 || !r->synchronous) return status;
    hark_mpi_request_post(r);
    return status;
}

void hark_mpi_request_again(struct request *r)
{
    if (r->what == REQUEST_RECEIVE) r->start = start_receive;
    else if (r->what == REQUEST_SEND) r->start = start_send;
    else if (hark_mpi_is_partitioned(r)) hark_mpi_partitioned_again(r);
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

/* The program has waited for it, or tested it: its results, and what becomes of its handle. The
 * code that MPI_ERROR has. */
static int finish(MPI_Request *handle, struct request *r, MPI_Status *status)
{
    int error = r->status.MPI_ERROR;
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

/* A message of standard mode is sent when the call returns: all such requests are the same one. */
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
        if (dest != MPI_PROC_NULL) {                                                               \
            NEED_BUFFER(c, buffer, count, t);                                                      \
            int status = hark_mpi_send(c, buffer, (size_t)count, t, dest, tag, false);             \
            if (status < 0) return hark_mpi_status(c, status, __func__);                           \
        }                                                                                          \
        *request = HANDLE(MPI_Request, &hark_mpi_request_done);                                    \
        return MPI_SUCCESS;                                                                        \
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

/* What is sent has left its buffer when the send returns, so that the request is the receive's. */
static int exchange(struct comm *c, const void *out, size_t out_count, struct type *out_type,
    int dest, int out_tag, struct request *in, MPI_Request *request, const char *call)
{
    int status = HARK_A_OK;
    if (dest != MPI_PROC_NULL)
        status = hark_mpi_send(c, out, out_count, out_type, dest, out_tag, false);
    *request = HANDLE(MPI_Request, in);
    start_receive(in);
    return hark_mpi_status(c, status, call);
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

#define NEED_REQUEST(r, handle)                                                                    \
    struct request *r = REQUEST(handle);                                                           \
    NEED(NULL, r, MPI_ERR_REQUEST, "the request is not valid: was it completed or freed?")

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

/* Messages that this process has taken. In a replay each comes in its turn: after one that was
 * taken for a later request another may be taken for an earlier one, and nothing else would wake
 * this process up for it. So whoever asks several requests goes on until none takes any. */
static uint64_t messages_taken(void)
{
    return hark_app.own[3];
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

/* A freed receive takes its message in whatever call waits next. That it has not come is a miss,
 * for a replay has to take it in the same call. */
static void try_forgotten(const char *call)
{
    for (;;) {
        uint64_t before = messages_taken();
        for (struct request **at = &forgotten, *r; (r = *at) != NULL;) {
            if (!hark_mpi_request_try(r)) {
                at = &r->next;
                continue;
            }
            *at = r->next;
            hark_mpi_request_release(r);
        }
        if (messages_taken() != before) continue;
        if (forgotten == NULL || hark_app_missed()) return;
        hark_app_wait(call, HARK_WAITS_ANY, NULL, 0);
    }
}

void hark_mpi_requests_close(void)
{
    if (forgotten) try_forgotten("MPI_Finalize");
    hark_mpi_partitioned_close();
    while (forgotten) {
        struct request *r = forgotten;
        forgotten = r->next;
        bool is_posted = r->what == REQUEST_SEND || r->what == REQUEST_RECEIVE;
        if (is_posted && !r->receive.done) hark_app_unpost(&r->receive);
        hark_mpi_request_release(r);
    }
}

/* ---- completing them --------------------------------------------------------------------------
 */

static void status_of_none(MPI_Status *status)
{
    int kept = status->MPI_ERROR;
    hark_mpi_status_empty(status);
    status->MPI_ERROR = kept;
}

static int wait_one(MPI_Request *handle, MPI_Status *status, const char *call)
{
    if (*handle == MPI_REQUEST_NULL) {
        if (status != MPI_STATUS_IGNORE) status_of_none(status);
        return MPI_SUCCESS;
    }
    struct request *r = REQUEST(*handle);
    if (r == NULL) return -1;
    hark_mpi_request_wait(r, call);
    return finish(handle, r, status);
}

/* The error of one request, by the handler of its communicator. */
static int raise_of(struct comm *c, int error, const char *call)
{
    if (error == MPI_ERR_TRUNCATE)
        return hark_mpi_error(c, error, call, "a message is longer than its receive has room for");
    return hark_mpi_error(c, error, call, "the request has failed");
}

#define NOT_VALID(call)                                                                            \
    hark_mpi_error(                                                                                \
        NULL, MPI_ERR_REQUEST, call, "the request is not valid: was it completed or freed?")

PUBLIC(Wait)
int PMPI_Wait(MPI_Request *request, MPI_Status *status)
{
    NEED_OPEN();
    NEED(NULL, request, MPI_ERR_ARG, "request is NULL");
    if (forgotten) try_forgotten("MPI_Wait");
    struct request *r = REQUEST(*request);
    struct comm *c = r ? r->comm : NULL;
    int error = wait_one(request, status, "MPI_Wait");
    if (error < 0) return NOT_VALID(__func__);
    return error ? raise_of(c, error, __func__) : MPI_SUCCESS;
}

static MPI_Status *status_at(MPI_Status statuses[], int i)
{
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

PUBLIC(Waitall)
int PMPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    NEED_OPEN();
    NEED_COUNT(NULL, count);
    NEED(NULL, requests || count == 0, MPI_ERR_ARG, "the requests are NULL");
    if (forgotten) try_forgotten("MPI_Waitall");
    bool failed = false;
    struct comm *c = NULL;
    for (int i = 0; i < count; i++) {
        struct request *r = REQUEST(requests[i]);
        struct comm *of = r ? r->comm : NULL;
        int error = wait_one(&requests[i], status_at(statuses, i), "MPI_Waitall");
        if (error < 0) return NOT_VALID(__func__);
        if (statuses != MPI_STATUSES_IGNORE) statuses[i].MPI_ERROR = error;
        if (error) failed = true, c = of;
    }
    return failed ? hark_mpi_error(c, MPI_ERR_IN_STATUS, __func__,
                        "a request has failed: its status has the error")
                  : MPI_SUCCESS;
}

/* How many of the requests are active; -1: one is not valid. *any: one of them. */
static int count_active(int count, const MPI_Request requests[], struct request **any)
{
    int active = 0;
    *any = NULL;
    for (int i = 0; i < count; i++) {
        if (requests[i] == MPI_REQUEST_NULL) continue;
        struct request *r = REQUEST(requests[i]);
        if (r == NULL) return -1;
        if (r->persistent && !r->active) continue;
        if (*any == NULL) *any = r;
        active++;
    }
    return active;
}

/* NULL: it is none, or not active. */
static struct request *active_at(const MPI_Request requests[], int i)
{
    struct request *r = requests[i] == MPI_REQUEST_NULL ? NULL : REQUEST(requests[i]);
    return r && (!r->persistent || r->active) ? r : NULL;
}

/* Is it complete, without another message? */
static bool is_there(struct request *r)
{
    switch (r->what) {
    case REQUEST_SEND:
    case REQUEST_RECEIVE: return r->done || r->receive.done;
    case REQUEST_COLLECTIVE: return r->done || hark_mpi_collective_is_there(r);
    case REQUEST_PARTITIONED_RECEIVE: hark_mpi_partitioned_note(r); break;
    case REQUEST_PARTITIONED_SEND:
    case REQUEST_GENERALIZED: break;
    }
    return r->done;
}

/* The first active one that is complete; count: none is. Those that were complete before come
 * first: what has arrived meanwhile is a matter of timing, and would be another request in a
 * replay. Nor may others take messages then, for nothing would make a replay wait for these. */
static int first_done(int count, const MPI_Request requests[])
{
    for (int i = 0; i < count; i++) {
        struct request *r = active_at(requests, i);
        if (r && is_there(r) && hark_mpi_request_try(r)) return i;
    }
    uint64_t before;
    do {
        before = messages_taken();
        for (int i = 0; i < count; i++) {
            struct request *r = active_at(requests, i);
            if (r && hark_mpi_request_try(r)) return i;
        }
    } while (messages_taken() != before);
    return count;
}

static void wait_for_any(int active, const struct request *any, const char *call)
{
    if (forgotten) try_forgotten(call);
    hark_app_wait(
        call, active > 1 ? HARK_WAITS_ANY : HARK_WAITS_MESSAGE, &any->receive, (size_t)active);
}

PUBLIC(Waitany)
int PMPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    NEED_OPEN();
    NEED_COUNT(NULL, count);
    struct request *any;
    int active = count_active(count, requests, &any), i;
    if (active < 0) return NOT_VALID(__func__);
    *index = MPI_UNDEFINED;
    if (active == 0) {
        if (status != MPI_STATUS_IGNORE) status_of_none(status);
        return MPI_SUCCESS;
    }
    while ((i = first_done(count, requests)) == count) wait_for_any(active, any, "MPI_Waitany");
    *index = i;
    struct comm *c = REQUEST(requests[i])->comm;
    int error = wait_one(&requests[i], status, "MPI_Waitany");
    return error ? raise_of(c, error, __func__) : MPI_SUCCESS;
}

/* Tries all: how many are complete, and how many not. */
static int try_all(int count, const MPI_Request requests[], int *open)
{
    int done;
    uint64_t before;
    do {
        before = messages_taken();
        done = *open = 0;
        for (int i = 0; i < count; i++) {
            struct request *r = active_at(requests, i);
            if (r) hark_mpi_request_try(r) ? done++ : ++*open;
        }
    } while (*open && messages_taken() != before);
    return done;
}

/* Some are complete, others are not: that is a choice which a replay has to make again, so it
 * counts as a look that has found nothing. */
static bool some_are_done(int count, const MPI_Request requests[], const char *call)
{
    int open;
    while (try_all(count, requests, &open) > 0) {
        if (open == 0 || hark_app_missed()) return true;
        hark_app_wait(call, HARK_WAITS_ANY, NULL, 0);
    }
    return false;
}

/* Finishes all that are complete. How many; their errors are in the statuses. */
static int finish_some(int count, MPI_Request requests[], int indices[], MPI_Status statuses[],
    bool *failed, const char *call)
{
    int n = 0;
    if (!some_are_done(count, requests, call)) return 0;
    for (int i = 0; i < count; i++) {
        struct request *r = active_at(requests, i);
        if (r == NULL || !r->done) continue;
        int error = finish(&requests[i], r, status_at(statuses, n));
        if (statuses != MPI_STATUSES_IGNORE) statuses[n].MPI_ERROR = error;
        if (error) *failed = true;
        indices[n++] = i;
    }
    return n;
}

PUBLIC(Waitsome)
int PMPI_Waitsome(
    int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[])
{
    NEED_OPEN();
    NEED_COUNT(NULL, count);
    struct request *any;
    bool failed = false;
    int active = count_active(count, requests, &any);
    if (active < 0) return NOT_VALID(__func__);
    *outcount = MPI_UNDEFINED;
    if (active == 0) return MPI_SUCCESS;
    while (
        (*outcount = finish_some(count, requests, indices, statuses, &failed, "MPI_Waitsome")) == 0)
        wait_for_any(active, any, "MPI_Waitsome");
    return failed ? hark_mpi_error(NULL, MPI_ERR_IN_STATUS, __func__,
                        "a request has failed: its status has the error")
                  : MPI_SUCCESS;
}

/* A test has found nothing: does that count? Else it looks again. */
static bool counts(const struct request *sought, const char *call)
{
    if (hark_mpi_missed()) return true;
    hark_app_wait(call, HARK_WAITS_MESSAGE, &sought->receive, 1);
    return false;
}

PUBLIC(Test)
int PMPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    NEED_OPEN();
    NEED(NULL, request && flag, MPI_ERR_ARG, "request or flag is NULL");
    *flag = 1;
    if (*request == MPI_REQUEST_NULL) {
        if (status != MPI_STATUS_IGNORE) status_of_none(status);
        return MPI_SUCCESS;
    }
    NEED_REQUEST(r, *request);
    struct comm *c = r->comm;
    if (!r->done) hark_process_poll();
    while (!hark_mpi_request_try(r))
        if (counts(r, "MPI_Test")) {
            *flag = 0;
            return MPI_SUCCESS;
        }
    int error = finish(request, r, status);
    return error ? raise_of(c, error, __func__) : MPI_SUCCESS;
}

PUBLIC(Testany)
int PMPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    NEED_OPEN();
    NEED_COUNT(NULL, count);
    struct request *any;
    int active = count_active(count, requests, &any), i;
    if (active < 0) return NOT_VALID(__func__);
    *index = MPI_UNDEFINED;
    *flag = 1;
    if (active == 0) {
        if (status != MPI_STATUS_IGNORE) status_of_none(status);
        return MPI_SUCCESS;
    }
    hark_process_poll();
    while ((i = first_done(count, requests)) == count)
        if (counts(any, "MPI_Testany")) {
            *flag = 0;
            return MPI_SUCCESS;
        }
    *index = i;
    struct comm *c = REQUEST(requests[i])->comm;
    int error = wait_one(&requests[i], status, "MPI_Testany");
    return error ? raise_of(c, error, __func__) : MPI_SUCCESS;
}

/* The first that is not complete; NULL: all are. */
static struct request *first_open(int count, const MPI_Request requests[])
{
    for (int i = 0; i < count; i++) {
        struct request *r = requests[i] == MPI_REQUEST_NULL ? NULL : REQUEST(requests[i]);
        if (r && (!r->persistent || r->active) && !hark_mpi_request_try(r)) return r;
    }
    return NULL;
}

PUBLIC(Testall)
int PMPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    NEED_OPEN();
    NEED_COUNT(NULL, count);
    struct request *open;
    if (count_active(count, requests, &open) < 0) return NOT_VALID(__func__);
    hark_process_poll();
    while ((open = first_open(count, requests)) != NULL)
        if (counts(open, "MPI_Testall")) {
            *flag = 0;
            return MPI_SUCCESS;
        }
    *flag = 1;
    return PMPI_Waitall(count, requests, statuses);
}

PUBLIC(Testsome)
int PMPI_Testsome(
    int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[])
{
    NEED_OPEN();
    NEED_COUNT(NULL, count);
    struct request *any;
    bool failed = false;
    int active = count_active(count, requests, &any);
    if (active < 0) return NOT_VALID(__func__);
    *outcount = MPI_UNDEFINED;
    if (active == 0) return MPI_SUCCESS;
    hark_process_poll();
    while (
        (*outcount = finish_some(count, requests, indices, statuses, &failed, "MPI_Testsome")) == 0)
        if (counts(any, "MPI_Testsome")) return MPI_SUCCESS;
    return failed ? hark_mpi_error(NULL, MPI_ERR_IN_STATUS, __func__,
                        "a request has failed: its status has the error")
                  : MPI_SUCCESS;
}

PUBLIC(Request_get_status)
int PMPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    NEED_OPEN();
    NEED(NULL, flag, MPI_ERR_ARG, "flag is NULL");
    *flag = 1;
    if (request == MPI_REQUEST_NULL) {
        if (status != MPI_STATUS_IGNORE) hark_mpi_status_empty(status);
        return MPI_SUCCESS;
    }
    NEED_REQUEST(r, request);
    if (!r->done) hark_process_poll();
    while (!hark_mpi_request_try(r))
        if (counts(r, "MPI_Request_get_status")) {
            *flag = 0;
            return MPI_SUCCESS;
        }
    if (r->what == REQUEST_GENERALIZED) hark_mpi_generalized_query(r);
    if (status != MPI_STATUS_IGNORE) *status = r->status;
    return MPI_SUCCESS;
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
PUBLIC(Request_get_status_all)
int PMPI_Request_get_status_all(
    int count, const MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    NEED_OPEN();
    NEED_COUNT(NULL, count);
    NEED(NULL, flag, MPI_ERR_ARG, "flag is NULL");
    int code = MPI_SUCCESS;
    *flag = 1;
    for (int i = 0; i < count && *flag && code == MPI_SUCCESS; i++)
        code = PMPI_Request_get_status(
            requests[i], flag, statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
    return code;
}

PUBLIC(Request_get_status_any)
int PMPI_Request_get_status_any(
    int count, const MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    NEED_OPEN();
    NEED_COUNT(NULL, count);
    NEED(NULL, index && flag, MPI_ERR_ARG, "index or flag is NULL");
    struct request *any;
    int active = count_active(count, requests, &any), code = MPI_SUCCESS;
    if (active < 0) return NOT_VALID(__func__);
    *index = MPI_UNDEFINED;
    *flag = active == 0;
    if (*flag && status != MPI_STATUS_IGNORE) status_of_none(status);
    for (int i = 0; i < count && !*flag && code == MPI_SUCCESS; i++) {
        if (active_at(requests, i) == NULL) continue;
        code = PMPI_Request_get_status(requests[i], flag, status);
        if (*flag) *index = i;
    }
    return code;
}

PUBLIC(Request_get_status_some)
int PMPI_Request_get_status_some(
    int count, const MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[])
{
    NEED_OPEN();
    NEED_COUNT(NULL, count);
    NEED(NULL, outcount && (indices || count == 0), MPI_ERR_ARG, "outcount or indices is NULL");
    struct request *any;
    int active = count_active(count, requests, &any), code = MPI_SUCCESS;
    if (active < 0) return NOT_VALID(__func__);
    *outcount = active ? 0 : MPI_UNDEFINED;
    for (int i = 0, done; active && i < count && code == MPI_SUCCESS; i++) {
        if (active_at(requests, i) == NULL) continue;
        code = PMPI_Request_get_status(requests[i], &done,
            statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[*outcount]);
        if (done) indices[(*outcount)++] = i;
    }
    return code;
}
#endif

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
