/* Communicators that are made of others: duplicates that complete later, parts, intercommunicators;
 * contexts do not run out, and messages of one are not taken by another. */
#include "check.h"

#include <string.h>

/* What is sent on `comm` around its ring comes from its processes. */
static void around(MPI_Comm comm, int value)
{
    int me, n, got = -1;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    int mine = value + me, last = (me + n - 1) % n;
    MPI_Sendrecv(
        &mine, 1, MPI_INT, (me + 1) % n, 0, &got, 1, MPI_INT, last, 0, comm, MPI_STATUS_IGNORE);
    CHECK(got == value + last, "%d, expected %d", got, value + last);
}

/* Duplicates of several communicators, which processes start in one order and complete in others,
 * and between them others that wait. */
static void test_later(void)
{
    MPI_Comm part, a, b, c, d;
    MPI_Request request[3];
    MPI_Status status[3];
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
    MPI_Comm_idup(MPI_COMM_WORLD, &a, &request[0]);
    MPI_Comm_idup(part, &b, &request[1]);
    MPI_Comm_idup(MPI_COMM_SELF, &c, &request[2]);
    MPI_Comm_dup(part, &d);
    around(d, 100);
    if (rank % 2) MPI_Waitall(3, request, status);
    else
        for (int done = 0, index; done < 3; done++)
            MPI_Waitany(3, request, &index, MPI_STATUS_IGNORE);
    around(a, 200);
    around(b, 300);
    around(c, 400);
    around(d, 500);
    int same;
    MPI_Comm_compare(a, MPI_COMM_WORLD, &same);
    CHECK(same == MPI_CONGRUENT, "");
    MPI_Comm_free(&a);
    MPI_Comm_free(&b);
    MPI_Comm_free(&c);
    MPI_Comm_free(&d);
    MPI_Comm_free(&part);
}

/* A process has a duplicate long after the one that named its context has freed it, and made many
 * others: it takes no message of these, though the last process sends on them first. */
static void test_slow(void)
{
    enum { COUNT = 40, EACH = 8 };
    MPI_Comm d[COUNT];
    MPI_Request request;
    int got = -1, last = size - 1;
    if (size < 3) return;
    for (int i = 0; i < COUNT; i++) {
        MPI_Comm_idup(MPI_COMM_WORLD, &d[i], &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == 1 && i % EACH == 0) {
            MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 3, d[i], MPI_STATUS_IGNORE);
            CHECK(got == i, "a message of duplicate %d comes on duplicate %d", got, i);
        }
        if (rank != last) MPI_Comm_free(&d[i]);
    }
    for (int i = COUNT - 1; rank == last && i >= 0; i--) {
        if (i % EACH == 0) MPI_Send(&i, 1, MPI_INT, 1, 3, d[i]);
        MPI_Comm_free(&d[i]);
    }
}

static int no_copy(MPI_Comm comm, int keyval, void *extra, void *value, void *to, int *does_copy)
{
    (void)comm, (void)keyval, (void)extra, (void)value, (void)to, (void)does_copy;
    return MPI_ERR_OTHER;
}

/* An attribute that can not be copied: no duplicate, and none that is complete later. */
static void test_no_copy(void)
{
    MPI_Comm from, d = MPI_COMM_WORLD;
    MPI_Request request;
    int keyval;
    MPI_Comm_dup(MPI_COMM_WORLD, &from);
    MPI_Comm_set_errhandler(from, MPI_ERRORS_RETURN);
    MPI_Comm_create_keyval(no_copy, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(from, keyval, NULL);
    CHECK(MPI_Comm_idup(from, &d, &request) != MPI_SUCCESS, "");
    CHECK(d == MPI_COMM_NULL && request == MPI_REQUEST_NULL, "");
    MPI_Comm_delete_attr(from, keyval);
    MPI_Comm_free_keyval(&keyval);
    MPI_Comm_idup(from, &d, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    around(d, 800);
    MPI_Comm_free(&d);
    MPI_Comm_free(&from);
}

/* The even ranks and the odd ones. */
static void test_between(void)
{
    MPI_Comm part, between, later, all;
    MPI_Request request;
    int flag, others, got = -1, me, odd = rank % 2, half = size / 2;
    if (size < 2) return;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &between);
    MPI_Comm_test_inter(between, &flag);
    MPI_Comm_remote_size(between, &others);
    CHECK(flag && others == (odd ? size - half : half), "");
    MPI_Comm_idup(between, &later, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_rank(later, &me);
    int peer = me < others ? me : MPI_PROC_NULL;
    MPI_Sendrecv(&rank, 1, MPI_INT, peer, 0, &got, 1, MPI_INT, peer, 0, later, MPI_STATUS_IGNORE);
    CHECK(peer == MPI_PROC_NULL || got == (odd ? rank - 1 : rank + 1), "%d", got);
    MPI_Intercomm_merge(later, rank % 2, &all);
    MPI_Comm_rank(all, &me);
    CHECK(me == (odd ? size - half : 0) + rank / 2, "");
    around(all, 600);
    MPI_Comm_free(&all);
    MPI_Comm_free(&later);
    MPI_Comm_free(&between);
    MPI_Comm_free(&part);
}

/* Only the processes of the group call. */
static void test_group(void)
{
    MPI_Group world, group;
    MPI_Comm comm;
    int range[1][3] = {{0, size - 1, 2}}, odd = rank % 2;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &group);
    if (rank % 2 == 0) {
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 9, &comm);
        around(comm, 700);
        MPI_Comm_free(&comm);
    }
    MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
    CHECK((comm == MPI_COMM_NULL) == odd, "");
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

/* Two halves, and a group that has processes of both: an error for each of the two functions. */
static void test_foreign_group(void)
{
    MPI_Group world;
    MPI_Comm half, comm;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    CHECK(size == 1 || MPI_Comm_create(half, world, &comm) == MPI_ERR_GROUP, "");
    CHECK(size == 1 || MPI_Comm_create_group(half, world, 9, &comm) == MPI_ERR_GROUP, "");
    CHECK(size == 1 || comm == MPI_COMM_NULL, "");
    MPI_Group_free(&world);
    MPI_Comm_free(&half);
}

static void test_kinds(void)
{
    MPI_Comm comm;
    int n;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    MPI_Comm_size(comm, &n);
    CHECK(n == size, "");
    MPI_Comm_free(&comm);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &comm);
    CHECK(comm == MPI_COMM_NULL, "");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, 4711, 0, MPI_INFO_NULL, &comm) == MPI_ERR_ARG, "");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

#ifdef MPI_COMM_TYPE_RESOURCE_GUIDED
/* Of MPI 4.1: by the name of a kind of hardware, or of a set of processes. */
static void test_resource(const char *key, const char *value, int expected)
{
    MPI_Comm comm;
    MPI_Info info;
    int n = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &comm);
    if (comm != MPI_COMM_NULL) MPI_Comm_size(comm, &n);
    CHECK(n == expected, "%s %s: %d processes", key, value, n);
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    MPI_Info_free(&info);
}

static void test_of_new_mpi(void)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length;
    MPI_Comm_get_name(MPI_COMM_NULL, name, &length);
    CHECK(strcmp(name, "MPI_COMM_NULL") == 0 && length == 13, "%s", name);
    test_resource("mpi_hw_resource_type", "mpi_shared_memory", size);
    test_resource("mpi_hw_resource_type", "nothing of that kind", 0);
    test_resource("mpi_pset_name", "mpi://WORLD", size);
    test_resource("mpi_pset_name", "mpi://SELF", 1);
    test_resource("mpi_pset_name", "mpi://NOBODY", 0);
}
#else
static void test_of_new_mpi(void)
{
}
#endif

/* hark run has started all processes. */
static void test_parent(void)
{
    MPI_Comm parent = MPI_COMM_WORLD;
    MPI_Comm_get_parent(&parent);
    CHECK(parent == MPI_COMM_NULL, "");
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    test_parent();
    test_slow();
    test_no_copy();
    for (int round = 0; round < 30; round++) {
        test_later();
        test_between();
        test_group();
        test_foreign_group();
        test_kinds();
        test_of_new_mpi();
    }
    if (rank == 0) printf("done\n");
    MPI_Finalize();
    return 0;
}
