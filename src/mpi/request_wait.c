/* How requests are completed: waits and tests, of one and of several. */
#include "internal.h"

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
    return hark_mpi_request_finish(handle, r, status);
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
    hark_mpi_requests_try_forgotten("MPI_Wait");
    struct request *r = REQUEST(*request);
    struct comm *c = r ? r->comm : NULL;
    int error = wait_one(request, status, "MPI_Wait");
    if (error < 0) return NOT_VALID(__func__);
    return error ? raise_of(c, error, __func__) : MPI_SUCCESS;
}

/* Requests of a call that has several, and what else it needs; `what` are the names of these. */
#define NEED_REQUESTS(count, requests, others, what)                                               \
    NEED_COUNT(NULL, count);                                                                       \
    NEED(NULL, (requests) || (count) == 0, MPI_ERR_ARG, "the requests are NULL");                  \
    NEED(NULL, others, MPI_ERR_ARG, what " is NULL")

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
    hark_mpi_requests_try_forgotten("MPI_Waitall");
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
        before = hark_mpi_messages_taken();
        for (int i = 0; i < count; i++) {
            struct request *r = active_at(requests, i);
            if (r && hark_mpi_request_try(r)) return i;
        }
    } while (hark_mpi_messages_taken() != before);
    return count;
}

/* Freed requests have been tried, once for each call, before the first of the call's own was: what
 * the call takes for those comes first in a replay too. A miss of theirs recorded in this loop
 * would be the next that a replay repeats, then nobody would take the message behind it, or wake
 * this process up once more. */
static void wait_for_any(int active, const struct request *any, const char *call)
{
    hark_app_wait(
        call, active > 1 ? HARK_WAITS_ANY : HARK_WAITS_MESSAGE, &any->receive, (size_t)active);
}

PUBLIC(Waitany)
int PMPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    NEED_OPEN();
    NEED_REQUESTS(count, requests, index, "index");
    struct request *any;
    int active = count_active(count, requests, &any), i;
    if (active < 0) return NOT_VALID(__func__);
    *index = MPI_UNDEFINED;
    if (active == 0) {
        if (status != MPI_STATUS_IGNORE) status_of_none(status);
        return MPI_SUCCESS;
    }
    hark_mpi_requests_try_forgotten("MPI_Waitany");
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
        before = hark_mpi_messages_taken();
        done = *open = 0;
        for (int i = 0; i < count; i++) {
            struct request *r = active_at(requests, i);
            if (r) hark_mpi_request_try(r) ? done++ : ++*open;
        }
    } while (*open && hark_mpi_messages_taken() != before);
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
/* *of: the communicator of the last one that has failed. */
static int finish_some(int count, MPI_Request requests[], int indices[], MPI_Status statuses[],
    bool *failed, struct comm **of, const char *call)
{
    int n = 0;
    if (!some_are_done(count, requests, call)) return 0;
    for (int i = 0; i < count; i++) {
        struct request *r = active_at(requests, i);
        if (r == NULL || !r->done) continue;
        struct comm *comm = r->comm;
        int error = hark_mpi_request_finish(&requests[i], r, status_at(statuses, n));
        if (statuses != MPI_STATUSES_IGNORE) statuses[n].MPI_ERROR = error;
        if (error) *failed = true, *of = comm;
        indices[n++] = i;
    }
    return n;
}

PUBLIC(Waitsome)
int PMPI_Waitsome(
    int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[])
{
    NEED_OPEN();
    NEED_REQUESTS(count, requests, outcount && (indices || count == 0), "outcount or indices");
    struct request *any;
    struct comm *of = NULL;
    bool failed = false;
    int active = count_active(count, requests, &any);
    if (active < 0) return NOT_VALID(__func__);
    *outcount = MPI_UNDEFINED;
    if (active == 0) return MPI_SUCCESS;
    hark_mpi_requests_try_forgotten("MPI_Waitsome");
    while ((*outcount = finish_some(
                count, requests, indices, statuses, &failed, &of, "MPI_Waitsome")) == 0)
        wait_for_any(active, any, "MPI_Waitsome");
    return failed ? hark_mpi_error(of, MPI_ERR_IN_STATUS, __func__,
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
    int error = hark_mpi_request_finish(request, r, status);
    return error ? raise_of(c, error, __func__) : MPI_SUCCESS;
}

PUBLIC(Testany)
int PMPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    NEED_OPEN();
    NEED_REQUESTS(count, requests, index && flag, "index or flag");
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
    NEED_REQUESTS(count, requests, flag, "flag");
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
    NEED_REQUESTS(count, requests, outcount && (indices || count == 0), "outcount or indices");
    struct request *any;
    struct comm *of = NULL;
    bool failed = false;
    int active = count_active(count, requests, &any);
    if (active < 0) return NOT_VALID(__func__);
    *outcount = MPI_UNDEFINED;
    if (active == 0) return MPI_SUCCESS;
    hark_process_poll();
    while ((*outcount = finish_some(
                count, requests, indices, statuses, &failed, &of, "MPI_Testsome")) == 0)
        if (counts(any, "MPI_Testsome")) return MPI_SUCCESS;
    return failed ? hark_mpi_error(of, MPI_ERR_IN_STATUS, __func__,
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
    hark_mpi_request_sent(r); /* the program may write to the buffer when it hears this */
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
    NEED_REQUESTS(count, requests, flag, "flag");
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
    NEED_REQUESTS(count, requests, index && flag, "index or flag");
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
    NEED_REQUESTS(count, requests, outcount && (indices || count == 0), "outcount or indices");
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
