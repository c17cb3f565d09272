/* Sessions of MPI 4: communicators of process sets, without MPI_Init; a session after the last one
 * has ended. */
#include "check.h"
#include <string.h>

static MPI_Comm comm_of_set(MPI_Session session, const char *name)
{
    MPI_Group group;
    MPI_Comm comm;
    CHECK(MPI_Group_from_session_pset(session, name, &group) == MPI_SUCCESS, "");
    MPI_Comm_create_from_group(group, "org.example.test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    return comm;
}

static void test_sets(MPI_Session session)
{
    int count, length = 0, flag, class;
    char name[MPI_MAX_PSET_NAME_LEN], value[16];
    MPI_Info info;
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count);
    CHECK(count >= 2, "");
    for (int i = 0; i < count; i++) {
        length = 0;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, NULL);
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
        CHECK(length == (int)strlen(name) + 1, "");
        MPI_Session_get_pset_info(session, name, &info);
        MPI_Info_get(info, "mpi_size", sizeof value - 1, value, &flag);
        CHECK(flag && atoi(value) >= 1, "");
        MPI_Info_free(&info);
    }
    MPI_Group group;
    MPI_Error_class(MPI_Group_from_session_pset(session, "mpi://nowhere", &group), &class);
    CHECK(class == MPI_ERR_ARG, "");
}

/* The even ranks and the odd ones, who know each other's group. */
static void test_between(MPI_Comm world, MPI_Session session)
{
    MPI_Group all, part[2];
    MPI_Comm between;
    int got = -1, others, odd = rank % 2;
    if (size < 2) return;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    for (int i = 0; i < 2; i++) {
        int range[1][3] = {{i, size - 1, 2}};
        MPI_Group_range_incl(all, 1, range, &part[i]);
    }
    MPI_Intercomm_create_from_groups(part[rank % 2], 0, part[1 - rank % 2], 0, "between",
        MPI_INFO_NULL, MPI_ERRORS_RETURN, &between);
    MPI_Comm_remote_size(between, &others);
    int peer = rank / 2 < others ? rank / 2 : MPI_PROC_NULL;
    MPI_Sendrecv(&rank, 1, MPI_INT, peer, 0, &got, 1, MPI_INT, peer, 0, between, MPI_STATUS_IGNORE);
    CHECK(peer == MPI_PROC_NULL || got == (odd ? rank - 1 : rank + 1), "");
    MPI_Comm_free(&between);
    for (int i = 0; i < 2; i++) MPI_Group_free(&part[i]);
    MPI_Group_free(&all);
    MPI_Barrier(world);
}

static void one_session(int round, int expected)
{
    MPI_Session session;
    int sum, flag;
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS, "");
    MPI_Initialized(&flag);
    CHECK(!flag, "a session is not MPI_Init");
    MPI_Comm world = comm_of_set(session, "mpi://WORLD");
    MPI_Comm self = comm_of_set(session, "mpi://self"); /* names are not case sensitive */
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    CHECK(size == expected, "the first argument is the number of processes");
    int mine = rank + round;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, world);
    CHECK(sum == size * (size - 1) / 2 + size * round, "");
    MPI_Comm_size(self, &sum);
    CHECK(sum == 1, "");
    test_sets(session);
    test_between(world, session);
    MPI_Comm_free(&self);
    MPI_Comm_free(&world);
    MPI_Session_finalize(&session);
    CHECK(session == MPI_SESSION_NULL, "");
}

int main(int argc, char **argv)
{
    CHECK(argc > 1, "");
    for (int round = 0; round < 30; round++) one_session(round, atoi(argv[1]));
    if (rank == 0) printf("done\n");
    return 0;
}
