/* What only the standard ABI has: what it says of itself, fields of statuses by functions, buffers
 * of communicators and sessions, pairs by their members. */
#include "check.h"
#include <string.h>

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static const char *value_of(MPI_Info info, const char *key)
{
    static char value[64];
    int length = sizeof value, flag;
    MPI_Info_get_string(info, key, &length, value, &flag);
    return flag ? value : "";
}

/* Before MPI_Init too. */
static void test_abi(void)
{
    int major = 0, minor = -1;
    MPI_Info info;
    MPI_Abi_get_version(&major, &minor);
    CHECK(major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION, "%d.%d", major, minor);
    MPI_Abi_get_info(&info);
    CHECK(atoi(value_of(info, "mpi_aint_size")) == (int)sizeof(MPI_Aint), "");
    CHECK(atoi(value_of(info, "mpi_count_size")) == (int)sizeof(MPI_Count), "");
    CHECK(atoi(value_of(info, "mpi_offset_size")) == (int)sizeof(MPI_Offset), "");
    MPI_Info_free(&info);
}

static void test_fortran(void)
{
    MPI_Info info;
    int is_true = -1, is_false = -1, is_set = 0, bytes, minus = -1;
    MPI_Abi_get_fortran_info(&info);
    MPI_Type_size(MPI_REAL, &bytes);
    CHECK(atoi(value_of(info, "mpi_real_size")) == bytes, "");
    MPI_Type_size(MPI_LOGICAL, &bytes);
    CHECK(atoi(value_of(info, "mpi_logical_size")) == bytes, "");
    CHECK(strcmp(value_of(info, "mpi_integer8_supported"), "true") == 0, "");
    CHECK(MPI_Abi_set_fortran_info(info) == MPI_SUCCESS, "they are the same");
    MPI_Info_set(info, "mpi_integer8_supported", "false");
    CHECK(MPI_Abi_set_fortran_info(info) == MPI_SUCCESS, "a type that is not used");
    MPI_Info_set(info, "mpi_real_size", "8");
    CHECK(class_of(MPI_Abi_set_fortran_info(info)) == MPI_ERR_ABI, "");
    MPI_Info_free(&info);
    MPI_Abi_get_fortran_booleans(bytes, &is_true, &is_false, &is_set);
    CHECK(is_true == 1 && is_false == 0 && is_set, "%d %d", is_true, is_false);
    CHECK(MPI_Abi_set_fortran_booleans(bytes, &is_true, &is_false) == MPI_SUCCESS, "");
    CHECK(class_of(MPI_Abi_set_fortran_booleans(bytes, &minus, &is_false)) == MPI_ERR_ABI, "");
    CHECK(class_of(MPI_Abi_set_fortran_booleans(2, &is_true, &is_false)) == MPI_ERR_ABI, "");
    /* Those are the values that reductions give. */
    int one = 1, all = 0;
    MPI_Allreduce(&one, &all, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD);
    CHECK(all == is_true, "%d", all);
}

static void test_status(void)
{
    MPI_Status status;
    int source, tag, error, next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 4, &source, 1, MPI_INT, last, 4, MPI_COMM_WORLD, &status);
    MPI_Status_get_source(&status, &source);
    MPI_Status_get_tag(&status, &tag);
    CHECK(source == last && tag == 4, "%d %d", source, tag);
    MPI_Status_set_source(&status, 7);
    MPI_Status_set_tag(&status, 8);
    MPI_Status_set_error(&status, MPI_ERR_OTHER);
    MPI_Status_get_error(&status, &error);
    CHECK(status.MPI_SOURCE == 7 && status.MPI_TAG == 8 && error == MPI_ERR_OTHER, "");
}

static void test_pairs(void)
{
    MPI_Datatype pair, mine;
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair);
    CHECK(pair == MPI_DOUBLE_INT, "");
    MPI_Type_get_value_index(MPI_INT, MPI_INT, &pair);
    CHECK(pair == MPI_2INT, "");
    MPI_Type_get_value_index(MPI_REAL, MPI_REAL, &pair);
    CHECK(pair == MPI_2REAL, "");
    MPI_Type_get_value_index(MPI_INT, MPI_DOUBLE, &pair);
    CHECK(pair == MPI_DATATYPE_NULL, "there is none");
    MPI_Type_contiguous(2, MPI_INT, &mine);
    MPI_Type_get_value_index(mine, MPI_INT, &pair);
    CHECK(pair == MPI_DATATYPE_NULL, "there is none");
    MPI_Type_free(&mine);
}

static void test_resources(void)
{
    MPI_Info info;
    MPI_Comm comm;
    int keys, same;
    char key[MPI_MAX_INFO_KEY];
    MPI_Get_hw_resource_info(&info);
    MPI_Info_get_nkeys(info, &keys);
    CHECK(keys > 0, "");
    MPI_Info_get_nthkey(info, 0, key);
    CHECK(strcmp(value_of(info, key), "true") == 0, "%s", key);
    MPI_Info_free(&info);
    /* That key is a kind of resource by which a communicator can be split. */
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_hw_resource_type", key);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &comm);
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &same);
    CHECK(same == MPI_CONGRUENT, "");
    MPI_Comm_free(&comm);
    MPI_Info_free(&info);
}

/* As many messages as the buffer never had room for: they are in the log. */
static void send_all(MPI_Comm comm)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size, got;
    for (int i = 0; i < 5; i++) MPI_Bsend(&i, 1, MPI_INT, next, 1, comm);
    for (int i = 0; i < 5; i++) {
        MPI_Recv(&got, 1, MPI_INT, last, 1, comm, MPI_STATUS_IGNORE);
        CHECK(got == i, "%d", got);
    }
}

static void test_buffers(void)
{
    static char memory[3][1024];
    MPI_Comm comm;
    MPI_Session session;
    MPI_Request request[3];
    void *at = NULL;
    int bytes;
    MPI_Count many;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Buffer_attach(memory[0], sizeof memory[0]);
    MPI_Comm_attach_buffer(comm, memory[1], 512);
    MPI_Session_attach_buffer_c(session, memory[2], 256);
    CHECK(class_of(MPI_Comm_attach_buffer_c(comm, memory[2], 8)) == MPI_ERR_BUFFER, "");
    CHECK(class_of(MPI_Session_attach_buffer(session, memory[1], 8)) == MPI_ERR_BUFFER, "");
    send_all(comm);
    MPI_Buffer_flush();
    MPI_Comm_flush_buffer(comm);
    MPI_Session_flush_buffer(session);
    MPI_Buffer_iflush(&request[0]);
    MPI_Comm_iflush_buffer(comm, &request[1]);
    MPI_Session_iflush_buffer(session, &request[2]);
    MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
    MPI_Comm_detach_buffer(comm, &at, &bytes);
    CHECK(at == memory[1] && bytes == 512, "%d", bytes);
    CHECK(class_of(MPI_Comm_detach_buffer_c(comm, &at, &many)) == MPI_ERR_BUFFER, "");
    MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0);
    send_all(comm);
    MPI_Comm_detach_buffer_c(comm, &at, &many);
    CHECK(at == MPI_BUFFER_AUTOMATIC && many == 0, "");
    MPI_Session_detach_buffer_c(session, &at, &many);
    CHECK(at == memory[2] && many == 256, "");
    MPI_Buffer_detach_c(&at, &many);
    CHECK(at == memory[0] && many == sizeof memory[0], "");
    MPI_Session_finalize(&session);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    test_abi();
    begin(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < 15; round++) {
        test_fortran();
        test_status();
        test_pairs();
        test_resources();
        test_buffers();
    }
    if (rank == 0) printf("done\n");
    MPI_Finalize();
    return 0;
}
