/* Info objects: their keys in order, lengths, errors, what there is before MPI_Init and after
 * MPI_Finalize; hints of communicators. */
#include "check.h"
#include <string.h>

static void test_keys(void)
{
    MPI_Info a, b;
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    int count, length, flag;
    MPI_Info_create(&a);
    MPI_Info_set(a, "one", "1");
    MPI_Info_set(a, "two", "zwei");
    MPI_Info_set(a, "three", "3");
    MPI_Info_set(a, "one", "first");
    MPI_Info_get_nkeys(a, &count);
    CHECK(count == 3, "");
    static const char *const order[] = {"one", "two", "three"};
    for (int i = 0; i < 3; i++) {
        MPI_Info_get_nthkey(a, i, key);
        CHECK(strcmp(key, order[i]) == 0, "key %d: %s", i, key);
    }
    MPI_Info_get(a, "one", 3, value, &flag);
    CHECK(flag && strcmp(value, "fir") == 0, "%s", value);
    MPI_Info_get_valuelen(a, "two", &length, &flag);
    CHECK(flag && length == 4, "");
    MPI_Info_get_valuelen(a, "four", &length, &flag);
    CHECK(!flag, "");
    MPI_Info_dup(a, &b);
    MPI_Info_delete(a, "two");
    MPI_Info_get_nthkey(a, 1, key);
    CHECK(strcmp(key, "three") == 0, "");
    MPI_Info_get_nkeys(b, &count);
    CHECK(count == 3, "");
    MPI_Info_free(&a);
    MPI_Info_free(&b);
    CHECK(a == MPI_INFO_NULL && b == MPI_INFO_NULL, "");
}

static void test_errors(void)
{
    MPI_Info a;
    char value[8], longest[MPI_MAX_INFO_KEY + 8];
    int flag;
    MPI_Info_create(&a);
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    CHECK(MPI_Info_set(a, longest, "1") == MPI_ERR_INFO_KEY, "");
    CHECK(MPI_Info_set(a, "", "1") == MPI_ERR_INFO_KEY, "");
    CHECK(MPI_Info_set(a, "key", NULL) == MPI_ERR_INFO_VALUE, "");
    CHECK(MPI_Info_delete(a, "key") == MPI_ERR_INFO_NOKEY, "");
    CHECK(MPI_Info_get_nthkey(a, 0, value) == MPI_ERR_ARG, "");
    CHECK(MPI_Info_get(MPI_INFO_NULL, "key", 7, value, &flag) == MPI_ERR_INFO, "");
    MPI_Info_free(&a);
}

static void test_environment(void)
{
    char value[MPI_MAX_INFO_VAL + 1];
    int flag;
    MPI_Info_get(MPI_INFO_ENV, "maxprocs", MPI_MAX_INFO_VAL, value, &flag);
    CHECK(flag && atoi(value) == size, "");
    MPI_Info_get(MPI_INFO_ENV, "command", MPI_MAX_INFO_VAL, value, &flag);
    CHECK(flag && strstr(value, "infos"), "%s", value);
    MPI_Info_get(MPI_INFO_ENV, "thread_level", MPI_MAX_INFO_VAL, value, &flag);
    CHECK(flag && strcmp(value, "MPI_THREAD_SINGLE") == 0, "");
    CHECK(MPI_Info_set(MPI_INFO_ENV, "command", "x") != MPI_SUCCESS, "");
}

static void test_hints(void)
{
    MPI_Info a, used;
    MPI_Comm comm;
    char value[8];
    int flag;
    MPI_Info_create(&a);
    MPI_Info_set(a, "mpi_assert_no_any_tag", "true");
    MPI_Info_set(a, "unheard_of", "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, a, &comm);
    MPI_Comm_get_info(comm, &used);
    MPI_Info_get(used, "mpi_assert_no_any_tag", 7, value, &flag);
    CHECK(flag && strcmp(value, "true") == 0, "");
    MPI_Info_get(used, "unheard_of", 7, value, &flag);
    CHECK(!flag, "what is not known is ignored");
    MPI_Info_free(&used);
    MPI_Info_free(&a);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    MPI_Info before;
    char value[8];
    int flag;
    MPI_Info_create(&before);
    MPI_Info_set(before, "when", "before");
    begin(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < 60; round++) {
        test_keys();
        test_errors();
        test_environment();
        test_hints();
    }
    if (rank == 0) printf("done\n");
    MPI_Finalize();
    MPI_Info_get(before, "when", 7, value, &flag);
    CHECK(flag && strcmp(value, "before") == 0, "");
    MPI_Info_free(&before);
    return 0;
}
