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

int main(int argc, char **argv)
{
    begin(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < 60; round++) {
        test_handlers();
        test_truncation();
        test_codes(round);
    }
    if (rank == 0) printf("done\n");
    MPI_Finalize();
    return 0;
}
