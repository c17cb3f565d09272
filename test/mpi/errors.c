/* Error handlers of communicators: which one is called, with what; codes, classes and texts. */
#include "check.h"
#include <string.h>

static int calls, last_code;
static MPI_Comm last_comm;

static void handler(MPI_Comm *comm, int *code, ...)
{
    calls++;
    last_comm = *comm;
    last_code = *code;
}

/* A program may free the handler that calls it. */
static MPI_Errhandler its_own;
static void frees_itself(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    calls++;
    MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
}

static int class_of(int code)
{
    int class;
    CHECK(MPI_Error_class(code, &class) == MPI_SUCCESS, "");
    return class;
}

static void test_handlers(void)
{
    MPI_Comm a, b;
    MPI_Errhandler h, found;
    int value = 0;
    MPI_Comm_create_errhandler(handler, &h);
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_set_errhandler(a, h);
    MPI_Comm_get_errhandler(a, &found);
    CHECK(found == h, "");
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&h);
    CHECK(h == MPI_ERRHANDLER_NULL && found == MPI_ERRHANDLER_NULL, "");
    calls = 0;
    CHECK(class_of(MPI_Send(&value, 1, MPI_INT, size, 0, a)) == MPI_ERR_RANK, "");
    CHECK(calls == 1 && last_comm == a && class_of(last_code) == MPI_ERR_RANK, "");
    CHECK(class_of(MPI_Send(&value, 1, MPI_INT, 0, -5, a)) == MPI_ERR_TAG, "");
    CHECK(class_of(MPI_Send(&value, -1, MPI_INT, 0, 0, a)) == MPI_ERR_COUNT, "");
    CHECK(class_of(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, a)) == MPI_ERR_TYPE, "");
    CHECK(calls == 4, "");
    MPI_Comm_dup(a, &b);
    CHECK(MPI_Comm_call_errhandler(b, MPI_ERR_OTHER) == MPI_SUCCESS, "");
    CHECK(calls == 5 && last_comm == b && last_code == MPI_ERR_OTHER, "");
    MPI_Comm_free(&b);
    MPI_Comm_split(a, 0, 0, &b);
    MPI_Comm_call_errhandler(b, MPI_ERR_ARG);
    CHECK(calls == 6 && last_code == MPI_ERR_ARG, "");
    MPI_Comm_free(&b);
    MPI_Comm_create_errhandler(frees_itself, &its_own);
    MPI_Comm_set_errhandler(a, its_own);
    MPI_Errhandler_free(&its_own);
    MPI_Comm_call_errhandler(a, MPI_ERR_ARG);
    CHECK(calls == 7, "");
    MPI_Comm_call_errhandler(a, MPI_ERR_ARG);
    CHECK(calls == 7, "");
    MPI_Comm_free(&a);
}

/* A message that is longer than its receive: the error of one process, in the others nothing. */
static void test_truncation(void)
{
    int data[4] = {1, 2, 3, 4}, into[2] = {0};
    MPI_Comm a;
    MPI_Status status;
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_set_errhandler(a, MPI_ERRORS_RETURN);
    MPI_Send(data, 4, MPI_INT, (rank + 1) % size, 1, a);
    int code = MPI_Recv(into, 2, MPI_INT, MPI_ANY_SOURCE, 1, a, &status);
    CHECK(class_of(code) == MPI_ERR_TRUNCATE && into[0] == 1 && into[1] == 2, "");
    MPI_Request request[2];
    MPI_Status statuses[2];
    MPI_Irecv(into, 2, MPI_INT, MPI_ANY_SOURCE, 2, a, &request[0]);
    MPI_Isend(data, 3, MPI_INT, (rank + 1) % size, 2, a, &request[1]);
    CHECK(class_of(MPI_Waitall(2, request, statuses)) == MPI_ERR_IN_STATUS, "");
    CHECK(class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE, "");
    CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS, "");
    MPI_Comm_free(&a);
}

static void test_codes(int round)
{
    static int class, code;
    char text[MPI_MAX_ERROR_STRING];
    int length, *last, flag;
    if (round == 0) {
        CHECK(MPI_Add_error_class(&class) == MPI_SUCCESS && class > MPI_ERR_LASTCODE, "");
        MPI_Add_error_code(class, &code);
        CHECK(code != class && class_of(code) == class && class_of(class) == class, "");
        MPI_Error_string(code, text, &length);
        CHECK(length == 0 && text[0] == 0, "");
    }
    MPI_Add_error_string(code, "the ice is too thin");
    MPI_Error_string(code, text, &length);
    CHECK(strcmp(text, "the ice is too thin") == 0 && length == (int)strlen(text), "");
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    CHECK(flag && *last >= code, "");
    CHECK(MPI_Add_error_string(MPI_ERR_ARG, "mine") != MPI_SUCCESS, "not a text of the program's");
    CHECK(MPI_Error_class(code + 1000, &length) != MPI_SUCCESS, "there is no such code");
    static const int known[] = {MPI_SUCCESS, MPI_ERR_BUFFER, MPI_ERR_TRUNCATE, MPI_ERR_KEYVAL,
        MPI_ERR_WIN, MPI_ERR_IO, MPI_ERR_LOCKTYPE, MPI_T_ERR_INVALID_INDEX};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        CHECK(class_of(known[i]) == known[i], "");
        MPI_Error_string(known[i], text, &length);
        CHECK(length > 5 && length == (int)strlen(text), "code %d", known[i]);
    }
}

/* ---- arguments that are not there -------------------------------------------------------------
 */

#define FAILS(expected, call)                                                                      \
    do {                                                                                           \
        int code_ = call;                                                                          \
        CHECK(code_ != MPI_SUCCESS && class_of(code_) == (expected), #call ": %d", code_);         \
    } while (0)

static void test_missing_requests(void)
{
    int value = 0, flag;
    MPI_Request none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    FAILS(MPI_ERR_ARG, MPI_Isend(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL));
    FAILS(MPI_ERR_ARG, MPI_Ibsend(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL));
    FAILS(MPI_ERR_ARG, MPI_Irsend(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL));
    FAILS(MPI_ERR_ARG, MPI_Issend(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL));
    FAILS(MPI_ERR_ARG, MPI_Irecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL));
    FAILS(MPI_ERR_ARG, MPI_Send_init(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL));
    FAILS(MPI_ERR_ARG, MPI_Bsend_init(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL));
    FAILS(MPI_ERR_ARG, MPI_Rsend_init(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL));
    FAILS(MPI_ERR_ARG, MPI_Ssend_init(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL));
    FAILS(MPI_ERR_ARG, MPI_Recv_init(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL));
    FAILS(MPI_ERR_ARG, MPI_Startall(2, NULL));
    FAILS(MPI_ERR_ARG, MPI_Waitany(2, none, NULL, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_ARG, MPI_Waitany(2, NULL, &value, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_ARG, MPI_Waitsome(2, none, NULL, &value, MPI_STATUSES_IGNORE));
    FAILS(MPI_ERR_ARG, MPI_Waitsome(2, none, &value, NULL, MPI_STATUSES_IGNORE));
    FAILS(MPI_ERR_ARG, MPI_Waitsome(2, NULL, &value, &flag, MPI_STATUSES_IGNORE));
    FAILS(MPI_ERR_ARG, MPI_Testany(2, none, NULL, &flag, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_ARG, MPI_Testany(2, none, &value, NULL, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_ARG, MPI_Testany(2, NULL, &value, &flag, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_ARG, MPI_Testsome(2, none, NULL, &value, MPI_STATUSES_IGNORE));
    FAILS(MPI_ERR_ARG, MPI_Testsome(2, none, &value, NULL, MPI_STATUSES_IGNORE));
    FAILS(MPI_ERR_ARG, MPI_Testsome(2, NULL, &value, &flag, MPI_STATUSES_IGNORE));
    FAILS(MPI_ERR_ARG, MPI_Testall(2, none, NULL, MPI_STATUSES_IGNORE));
    FAILS(MPI_ERR_ARG, MPI_Testall(2, NULL, &flag, MPI_STATUSES_IGNORE));
}

/* A message that is matched and not received yet can still be received. */
static void test_missing_buffers(void)
{
    int data[4] = {1, 2, 3, 4}, into[4] = {0};
    MPI_Message message;
    MPI_Request request;
    FAILS(MPI_ERR_ARG, MPI_Iprobe(0, 0, MPI_COMM_WORLD, NULL, MPI_STATUS_IGNORE));
    MPI_Send(data, 4, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD);
    MPI_Mprobe((rank + size - 1) % size, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    FAILS(MPI_ERR_BUFFER, MPI_Mrecv(NULL, 4, MPI_INT, &message, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_BUFFER, MPI_Imrecv(NULL, 4, MPI_INT, &message, &request));
    MPI_Mrecv(into, 4, MPI_INT, &message, MPI_STATUS_IGNORE);
    CHECK(into[3] == 4, "%d", into[3]);
}

static void test_missing_lists(void)
{
    int data[64] = {0}, into[64] = {0};
    MPI_Group world, g;
    MPI_Datatype t;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    FAILS(MPI_ERR_ARG, MPI_Group_incl(world, 1, NULL, &g));
    FAILS(MPI_ERR_ARG, MPI_Group_excl(world, 1, NULL, &g));
    FAILS(MPI_ERR_ARG, MPI_Group_range_incl(world, 1, NULL, &g));
    FAILS(MPI_ERR_ARG, MPI_Group_range_excl(world, 1, NULL, &g));
    MPI_Group_free(&world);
    MPI_Type_contiguous(3, MPI_INT, &t);
    FAILS(MPI_ERR_ARG, MPI_Type_get_contents(t, 1, 0, 1, NULL, NULL, NULL));
    FAILS(MPI_ERR_ARG, MPI_Type_get_contents(t, 1, 0, 1, data, NULL, NULL));
    MPI_Type_free(&t);
    FAILS(MPI_ERR_ARG, MPI_Reduce_scatter(data, into, NULL, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    FAILS(MPI_ERR_ARG,
        MPI_Alltoallv(data, NULL, NULL, MPI_INT, into, NULL, NULL, MPI_INT, MPI_COMM_WORLD));
    FAILS(MPI_ERR_ARG,
        MPI_Scatterv(data, NULL, NULL, MPI_INT, into, 1, MPI_INT, rank, MPI_COMM_WORLD));
}

static void test_missing_results(void)
{
    int n;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    FAILS(MPI_ERR_ARG, MPI_Get_processor_name(NULL, &n));
    FAILS(MPI_ERR_ARG, MPI_Get_version(NULL, NULL));
    FAILS(MPI_ERR_ARG, MPI_Get_library_version(text, NULL));
    FAILS(MPI_ERR_ARG, MPI_Initialized(NULL));
    FAILS(MPI_ERR_ARG, MPI_Finalized(NULL));
    FAILS(MPI_ERR_ARG, MPI_Query_thread(NULL));
    FAILS(MPI_ERR_ARG, MPI_Is_thread_main(NULL));
}

static void test_compare_and_swap(void)
{
    double real[4] = {0};
    int data[4] = {0};
    MPI_Win win;
    MPI_Win_create(data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, win);
    FAILS(
        MPI_ERR_TYPE, MPI_Compare_and_swap(&real[0], &real[1], &real[2], MPI_DOUBLE, rank, 0, win));
    FAILS(MPI_ERR_BUFFER, MPI_Compare_and_swap(&data[1], NULL, &data[2], MPI_INT, rank, 0, win));
    CHECK(MPI_Compare_and_swap(&data[1], &data[3], &data[2], MPI_INT, rank, 0, win) == 0, "");
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

/* A message that is too long to be sent: the receive of the same call is none either. */
static void test_exchange(void)
{
#if MPI_VERSION >= 4
    int out = rank, in = -1, got = -1, next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Request request;
    CHECK(MPI_Isendrecv(&out, 2000000000, MPI_CHAR, next, 8, &in, 1, MPI_INT, last, 9,
              MPI_COMM_WORLD, &request) != MPI_SUCCESS,
        "sent");
    CHECK(request == MPI_REQUEST_NULL, "a request");
    MPI_Send(&out, 1, MPI_INT, next, 9, MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_INT, last, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == last && in == -1, "%d %d", got, in);
#endif
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    test_missing_requests();
    test_missing_buffers();
    test_missing_lists();
    test_missing_results();
    test_compare_and_swap();
    test_exchange();
    for (int round = 0; round < 60; round++) {
        test_handlers();
        test_truncation();
        test_codes(round);
    }
    if (rank == 0) printf("done\n");
    MPI_Finalize();
    return 0;
}
