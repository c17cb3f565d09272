/* Matched probes, generalized requests, the buffer of buffered sends. */
#include "check.h"
#include <string.h>

/* Each sends messages of growing length to the next one, which receives them in another order than
 * it probes them. */
static void test_matched(int round)
{
    enum { MESSAGES = 4 };
    int next = (rank + 1) % size, last = (rank + size - 1) % size, data[MESSAGES],
        got[MESSAGES + 1];
    MPI_Message message[MESSAGES];
    MPI_Status status;
    MPI_Request request;
    for (int i = 0; i < MESSAGES; i++) data[i] = rank * 100 + round + i;
    for (int i = 0; i < MESSAGES; i++) MPI_Send(data, i + 1, MPI_INT, next, 7, MPI_COMM_WORLD);
    for (int i = 0; i < MESSAGES; i++) {
        int flag = 0, count;
        if (i % 2) MPI_Mprobe(last, MPI_ANY_TAG, MPI_COMM_WORLD, &message[i], &status);
        else
            while (!flag)
                MPI_Improbe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, &message[i], &status);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(count == i + 1 && status.MPI_SOURCE == last && status.MPI_TAG == 7, "%d", count);
    }
    for (int i = MESSAGES - 1; i >= 0; i--) {
        memset(got, -1, sizeof got);
        if (i % 2) MPI_Mrecv(got, MESSAGES, MPI_INT, &message[i], &status);
        else {
            MPI_Imrecv(got, MESSAGES, MPI_INT, &message[i], &request);
            MPI_Wait(&request, &status);
        }
        CHECK(message[i] == MPI_MESSAGE_NULL && status.MPI_SOURCE == last, "");
        CHECK(got[i] == last * 100 + round + i && got[i + 1] == -1, "%d", got[i]);
    }
}

/* A synchronous send is complete when its message is received, not when it is found. */
static void test_synchronous(void)
{
    const int next = (rank + 1) % size, last = (rank + size - 1) % size, data = rank;
    int got = -1, flag;
    MPI_Message message;
    MPI_Request request;
    MPI_Issend(&data, 1, MPI_INT, next, 11, MPI_COMM_WORLD, &request);
    MPI_Mprobe(last, 11, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Sendrecv(
        NULL, 0, MPI_INT, last, 12, NULL, 0, MPI_INT, next, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag, "it is only found");
    MPI_Sendrecv(
        NULL, 0, MPI_INT, next, 13, NULL, 0, MPI_INT, last, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got == last, "%d", got);
}

/* A receive that is posted takes one message; the next one with its tag is there for a probe. */
static void test_probes_behind_receives(void)
{
    const int next = (rank + 1) % size, last = (rank + size - 1) % size, data[3] = {5, 6, 7};
    int first = 0, got[3] = {0}, count, flag = 0;
    MPI_Request request[2];
    MPI_Status status;
    MPI_Irecv(&first, 1, MPI_INT, last, 7, MPI_COMM_WORLD, &request[0]);
    MPI_Send(data, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
    MPI_Send(data, 3, MPI_INT, next, 7, MPI_COMM_WORLD);
    MPI_Send(data, 0, MPI_INT, next, 8, MPI_COMM_WORLD);
    MPI_Recv(got, 0, MPI_INT, last, 8, MPI_COMM_WORLD, &status); /* all have come */
    MPI_Iprobe(last, 9, MPI_COMM_WORLD, &flag, &status);
    CHECK(!flag, "nobody sends with that tag");
    while (!flag) MPI_Iprobe(last, 7, MPI_COMM_WORLD, &flag, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 3, "%d", count);
    MPI_Probe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 3 && status.MPI_SOURCE == last, "%d", count);
    MPI_Irecv(got, 3, MPI_INT, last, 7, MPI_COMM_WORLD, &request[1]);
    MPI_Iprobe(last, 7, MPI_COMM_WORLD, &flag, &status);
    CHECK(!flag, "each has its receive");
    MPI_Wait(&request[1], MPI_STATUS_IGNORE);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    CHECK(first == 5 && got[2] == 7, "%d %d", first, got[2]);
}

/* The errhandler of a request's communicator hears that the request has failed. */
static void test_some_fail(void)
{
    int out, index, in = 0, data[4] = {0}, flag = 0;
    MPI_Comm comm;
    MPI_Request request;
    MPI_Status status;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    for (int test = 0; test < 2; test++) {
        MPI_Irecv(&in, 1, MPI_INT, rank, 0, comm, &request);
        MPI_Send(data, 4, MPI_INT, rank, 0, comm);
        int error = test ? MPI_SUCCESS : MPI_Waitsome(1, &request, &out, &index, &status);
        while (test && error == MPI_SUCCESS)
            error = MPI_Testsome(1, &request, &out, &index, &status);
        CHECK(error == MPI_ERR_IN_STATUS && out == 1 && index == 0, "%d", error);
        MPI_Error_class(status.MPI_ERROR, &flag);
        CHECK(flag == MPI_ERR_TRUNCATE, "%d", flag);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_free(&comm);
}

static void test_no_process(void)
{
    MPI_Message message;
    MPI_Status status;
    int flag, count, value = 5;
    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
    CHECK(message == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL, "");
    MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(message == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL && count == 0, "");
    MPI_Improbe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, &message, &status);
    CHECK(!flag && value == 5, "nobody sends with that tag");
}

static int queried, freed, cancelled;

static int query(void *extra, MPI_Status *status)
{
    queried++;
    status->MPI_SOURCE = 3;
    status->MPI_TAG = 4;
    MPI_Status_set_elements(status, MPI_INT, *(int *)extra);
    MPI_Status_set_cancelled(status, cancelled > 0);
    return MPI_SUCCESS;
}

static int free_it(void *extra)
{
    (void)extra;
    freed++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra;
    cancelled = complete ? 2 : 1;
    return MPI_SUCCESS;
}

static void test_generalized(void)
{
    MPI_Request request;
    MPI_Status status;
    int elements = 6, flag, count;
    queried = freed = cancelled = 0;
    MPI_Grequest_start(query, free_it, cancel, &elements, &request);
    MPI_Test(&request, &flag, &status);
    CHECK(!flag && queried == 0, "");
    MPI_Grequest_complete(request);
    MPI_Request_get_status(request, &flag, &status);
    CHECK(flag && queried == 1 && freed == 0 && request != MPI_REQUEST_NULL, "");
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(queried == 2 && freed == 1 && request == MPI_REQUEST_NULL, "");
    CHECK(status.MPI_SOURCE == 3 && status.MPI_TAG == 4 && count == 6, "");

    MPI_Grequest_start(query, free_it, cancel, &elements, &request);
    MPI_Cancel(&request);
    CHECK(cancelled == 1, "");
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag && freed == 2, "");

    MPI_Grequest_start(query, free_it, cancel, &elements, &request);
    MPI_Request again = request;
    MPI_Request_free(&request);
    CHECK(freed == 2 && request == MPI_REQUEST_NULL, "it is not complete");
    MPI_Grequest_complete(again);
    CHECK(freed == 3, "");
}

static void test_buffer(void)
{
    static char memory[4096];
    void *at;
    int bytes, next = (rank + 1) % size, last = (rank + size - 1) % size, got;
    MPI_Buffer_attach(memory, sizeof memory);
    CHECK(MPI_Buffer_attach(memory, sizeof memory) == MPI_ERR_BUFFER, "");
    MPI_Bsend(&rank, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == last, "");
    MPI_Buffer_detach(&at, &bytes);
    CHECK(at == memory && bytes == sizeof memory, "");
}

#if MPI_VERSION >= 4
static void test_both(void)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size, got = -1, value = rank;
    MPI_Request request[2];
    MPI_Status status[2];
    MPI_Isendrecv(&rank, 1, MPI_INT, next, 2, &got, 1, MPI_INT, last, 2, MPI_COMM_WORLD, request);
    MPI_Isendrecv_replace(&value, 1, MPI_INT, last, 3, next, 3, MPI_COMM_WORLD, request + 1);
    MPI_Waitall(2, request, status);
    CHECK(got == last && value == next, "%d %d", got, value);
    MPI_Count count = 1;
    MPI_Send_c(&rank, count, MPI_INT, next, 4, MPI_COMM_WORLD);
    MPI_Irecv_c(&got, count, MPI_INT, last, 5, MPI_COMM_WORLD, request);
    MPI_Recv_c(&value, count, MPI_INT, last, 4, MPI_COMM_WORLD, status);
    MPI_Sendrecv_c(&value, count, MPI_INT, next, 5, &value, 0, MPI_INT, MPI_PROC_NULL, 5,
        MPI_COMM_WORLD, status);
    MPI_Wait(request, status);
    int before = (last + size - 1) % size;
    CHECK(value == last && got == before, "%d %d", got, value);
}
#endif

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
/* Of MPI 4.1: which of several are complete; all stay as they are. */
static void test_looks(void)
{
    MPI_Request request[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status[3];
    int elements = 6, flag, index, indices[3], n;
    MPI_Request_get_status_any(3, request, &index, &flag, status);
    CHECK(flag && index == MPI_UNDEFINED, "none is active");
    MPI_Request_get_status_some(3, request, &n, indices, status);
    CHECK(n == MPI_UNDEFINED, "none is active");
    MPI_Grequest_start(query, free_it, cancel, &elements, &request[0]);
    MPI_Grequest_start(query, free_it, cancel, &elements, &request[2]);
    MPI_Request_get_status_any(3, request, &index, &flag, status);
    CHECK(!flag && index == MPI_UNDEFINED, "none is complete");
    MPI_Request_get_status_some(3, request, &n, indices, status);
    CHECK(n == 0, "none is complete");
    MPI_Grequest_complete(request[2]);
    MPI_Request_get_status_any(3, request, &index, &flag, status);
    CHECK(flag && index == 2 && status[0].MPI_TAG == 4, "");
    MPI_Request_get_status_some(3, request, &n, indices, status);
    CHECK(n == 1 && indices[0] == 2 && status[0].MPI_SOURCE == 3, "");
    MPI_Request_get_status_all(3, request, &flag, status);
    CHECK(!flag, "one is not complete");
    MPI_Grequest_complete(request[0]);
    MPI_Request_get_status_all(3, request, &flag, status);
    CHECK(flag && status[2].MPI_TAG == 4, "");
    CHECK(request[0] != MPI_REQUEST_NULL && request[2] != MPI_REQUEST_NULL, "");
    MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
}
#else
static void test_looks(void)
{
}
#endif

int main(int argc, char **argv)
{
    begin(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < 60; round++) {
        test_synchronous();
        test_matched(round);
        test_no_process();
        test_probes_behind_receives();
        test_some_fail();
        test_generalized();
        test_looks();
        test_buffer();
#if MPI_VERSION >= 4
        test_both();
#endif
    }
    /* Receives of what nobody sends: such a program ends all the same. */
    static int never[2];
    MPI_Request request[2];
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&never[i], 1, MPI_INT, MPI_ANY_SOURCE, 4711 + i, MPI_COMM_WORLD, &request[i]);
    if (rank == 0) printf("done\n");
    MPI_Finalize();
    return 0;
}
