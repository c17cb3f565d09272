/* MPI_T: its variables and category, errors; handles for Fortran and back. */
#include "check.h"
#include <string.h>

static unsigned long long read_variable(MPI_T_pvar_session session, const char *name, int class)
{
    MPI_T_pvar_handle handle;
    unsigned long long value = 0;
    int index, count;
    CHECK(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS, "%s", name);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS, "");
    CHECK(count == 1, "");
    CHECK(MPI_T_pvar_start(session, handle) == MPI_T_ERR_PVAR_NO_STARTSTOP, "");
    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS, "");
    CHECK(MPI_T_pvar_reset(session, handle) == MPI_T_ERR_PVAR_NO_WRITE, "");
    MPI_T_pvar_handle_free(session, &handle);
    CHECK(handle == MPI_T_PVAR_HANDLE_NULL, "");
    return value;
}

static void test_variables(void)
{
    MPI_T_pvar_session session;
    int count, length, class, readonly, from[64];
    char name[64], cut[5];
    MPI_T_pvar_get_num(&count);
    CHECK(count > 0, "");
    for (int i = 0; i < count; i++) {
        length = sizeof name;
        CHECK(MPI_T_pvar_get_info(i, name, &length, NULL, &class, NULL, NULL, NULL, NULL, NULL,
                  &readonly, NULL, NULL) == MPI_SUCCESS,
            "");
        CHECK(length == (int)strlen(name) + 1 && readonly, "");
        int index;
        CHECK(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS && index == i, "");
    }
    length = sizeof cut;
    MPI_T_pvar_get_info(
        0, cut, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    CHECK(strlen(cut) == 4 && length > (int)sizeof cut, "a name that is cut");
    CHECK(MPI_T_pvar_get_index("no such", class, &length) == MPI_T_ERR_INVALID_NAME, "");
    MPI_T_category_get_num(&length);
    CHECK(length == 1, "");
    MPI_T_category_get_pvars(0, 64, from);
    CHECK(from[count - 1] == count - 1, "");
    MPI_T_cvar_get_num(&length);
    CHECK(length == 0, "");

    MPI_T_pvar_session_create(&session);
    unsigned long long before = read_variable(session, "hark_messages", MPI_T_PVAR_CLASS_COUNTER);
    MPI_Send(&rank, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
    MPI_Recv(&length, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(read_variable(session, "hark_messages", MPI_T_PVAR_CLASS_COUNTER) > before, "");
    MPI_T_pvar_session_free(&session);
    CHECK(session == MPI_T_PVAR_SESSION_NULL, "");
}

static void test_conversion(void)
{
    MPI_Comm a;
    MPI_Group group;
    MPI_Datatype type;
    MPI_Info info;
    MPI_Request request;
    MPI_Status status, copy;
    MPI_Fint words[sizeof(MPI_Status) / sizeof(MPI_Fint)];
    int got, count;
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_group(a, &group);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Info_create(&info);
    CHECK(
        MPI_Comm_f2c(MPI_Comm_c2f(a)) == a && MPI_Comm_c2f(a) != MPI_Comm_c2f(MPI_COMM_WORLD), "");
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD, "");
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_NULL)) == MPI_COMM_NULL, "");
    CHECK(MPI_Group_f2c(MPI_Group_c2f(group)) == group, "");
    CHECK(MPI_Type_f2c(MPI_Type_c2f(type)) == type, "");
    CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE, "");
    CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE_INT)) == MPI_DOUBLE_INT, "");
    CHECK(MPI_Op_f2c(MPI_Op_c2f(MPI_MAXLOC)) == MPI_MAXLOC, "");
    CHECK(MPI_Info_f2c(MPI_Info_c2f(info)) == info, "");
    CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN, "");
    MPI_Irecv(&got, 1, MPI_INT, rank, 3, a, &request);
    MPI_Request again = MPI_Request_f2c(MPI_Request_c2f(request));
    CHECK(again == request, "");
    MPI_Send(&rank, 1, MPI_INT, rank, 3, a);
    MPI_Wait(&again, &status);
    MPI_Status_c2f(&status, words);
    MPI_Status_f2c(words, &copy);
    MPI_Get_count(&copy, MPI_INT, &count);
    CHECK(copy.MPI_SOURCE == rank && copy.MPI_TAG == 3 && count == 1, "");
#if defined(OMPI_MAJOR_VERSION)
    /* As mpif-handles.h has them. */
    CHECK(MPI_Comm_c2f(MPI_COMM_WORLD) == 0 && MPI_Type_c2f(MPI_DOUBLE_PRECISION) == 17, "");
    CHECK(MPI_Op_c2f(MPI_SUM) == 3 && MPI_Request_c2f(MPI_REQUEST_NULL) == 0, "");
#endif
    MPI_Info_free(&info);
    MPI_Type_free(&type);
    MPI_Group_free(&group);
    MPI_Comm_free(&a);
}

int main(int argc, char **argv)
{
    int provided, count;
    CHECK(MPI_T_pvar_get_num(&count) == MPI_T_ERR_NOT_INITIALIZED, "");
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    begin(argc, argv);
    for (int round = 0; round < 60; round++) {
        test_variables();
        test_conversion();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0) printf("done\n");
    MPI_Finalize();
    MPI_T_finalize();
    CHECK(MPI_T_pvar_get_num(&count) == MPI_T_ERR_NOT_INITIALIZED, "");
    return 0;
}
