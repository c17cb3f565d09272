/* Attributes of communicators and datatypes: copies, deletions and their order, keys that are freed
 * while they are used, functions that fail, predefined values. */
#include "check.h"

static int copies, deletions, order[8];
static int failing; /* 1: the copy function fails, 2: the delete function does */

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    CHECK(comm != MPI_COMM_NULL && keyval != MPI_KEYVAL_INVALID && extra == &copies, "");
    copies++;
    if (failing == 1) return MPI_ERR_OTHER;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete (MPI_Comm comm, int keyval, void *value, void *extra)
{
    void *found;
    int flag;
    CHECK(extra == &copies, "");
    if (failing == 2) return MPI_ERR_OTHER;
    MPI_Comm_get_attr(comm, keyval, &found, &flag);
    CHECK(flag && found == value, "it is there until its delete function has returned");
    order[deletions++ % 8] = (int)(size_t)value;
    return MPI_SUCCESS;
}

static int copy_type(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)keyval;
    CHECK(type != MPI_DATATYPE_NULL && extra == NULL, "");
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_type(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)keyval;
    (void)value;
    CHECK(type != MPI_DATATYPE_NULL && extra == NULL, "");
    deletions++;
    return MPI_SUCCESS;
}

/* Negative: there is no such attribute. */
static int value_of(MPI_Comm comm, int keyval)
{
    void *value;
    int flag;
    CHECK(MPI_Comm_get_attr(comm, keyval, &value, &flag) == MPI_SUCCESS, "");
    return flag ? (int)(size_t)value : -1;
}

static void *number(int n)
{
    return (void *)(size_t)n;
}

static void test_copies(void)
{
    int key, not_copied, as_it_is, freed;
    MPI_Comm a, b;
    MPI_Comm_create_keyval(copy, delete, &key, &copies);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &not_copied, NULL);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &as_it_is, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    CHECK(value_of(a, key) == -1, "");
    MPI_Comm_set_attr(a, key, number(10));
    MPI_Comm_set_attr(a, not_copied, number(20));
    MPI_Comm_set_attr(a, as_it_is, number(30));
    copies = deletions = 0;
    MPI_Comm_dup(a, &b);
    CHECK(copies == 1 && deletions == 0, "");
    CHECK(
        value_of(b, key) == 11 && value_of(b, not_copied) == -1 && value_of(b, as_it_is) == 30, "");
    MPI_Comm_set_attr(b, key, number(12));
    CHECK(deletions == 1 && order[0] == 11 && value_of(b, key) == 12, "");
    freed = key;
    MPI_Comm_free_keyval(&key);
    CHECK(key == MPI_KEYVAL_INVALID, "");
    CHECK(value_of(b, freed) == 12, "a freed key is there as long as attributes of it are");
    MPI_Comm_free(&b);
    MPI_Comm_free(&a);
    CHECK(deletions == 3 && order[1] == 12 && order[2] == 10, "");
    MPI_Comm_free_keyval(&not_copied);
    MPI_Comm_free_keyval(&as_it_is);
}

static void test_order(void)
{
    MPI_Comm a;
    int key[5];
    MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &a);
    for (int i = 0; i < 5; i++) {
        MPI_Comm_create_keyval(copy, delete, &key[i], &copies);
        MPI_Comm_set_attr(a, key[i], number(i));
    }
    deletions = 0;
    MPI_Comm_set_attr(a, key[1], number(5)); /* is the last one now */
    MPI_Comm_delete_attr(a, key[3]);
    MPI_Comm_free(&a);
    static const int expected[] = {1, 3, 5, 4, 2, 0};
    CHECK(deletions == 6, "");
    for (int i = 0; i < 6; i++) CHECK(order[i] == expected[i], "deletion %d: %d", i, order[i]);
    for (int i = 0; i < 5; i++) MPI_Comm_free_keyval(&key[i]);
}

static void test_failures(void)
{
    MPI_Comm a, b;
    int key, flag;
    void *value;
    MPI_Comm_create_keyval(copy, delete, &key, &copies);
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_set_errhandler(a, MPI_ERRORS_RETURN);
    MPI_Comm_set_attr(a, key, number(1));
    failing = 1;
    CHECK(MPI_Comm_dup(a, &b) == MPI_ERR_OTHER, "");
    CHECK(b == MPI_COMM_NULL, "");
    failing = 2;
    CHECK(MPI_Comm_set_attr(a, key, number(2)) != MPI_SUCCESS, "");
    CHECK(MPI_Comm_delete_attr(a, key) != MPI_SUCCESS, "");
    CHECK(MPI_Comm_free(&a) != MPI_SUCCESS && a != MPI_COMM_NULL, "");
    failing = 0;
    CHECK(value_of(a, key) == 1, "");
    CHECK(MPI_Comm_delete_attr(a, key) == MPI_SUCCESS, "");
#ifdef MPICH_VERSION
    CHECK(MPI_Comm_delete_attr(a, key) == MPI_SUCCESS, "as MPICH has it: it is not there");
#else
    CHECK(MPI_Comm_delete_attr(a, key) == MPI_ERR_KEYVAL, "it is no longer there");
#endif
    CHECK(MPI_Comm_get_attr(a, MPI_KEYVAL_INVALID, &value, &flag) == MPI_ERR_KEYVAL, "");
    CHECK(MPI_Comm_set_attr(a, MPI_TAG_UB, number(2)) != MPI_SUCCESS, "it is predefined");
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&a);
}

static void test_types(void)
{
    MPI_Datatype a, b;
    void *value;
    int key, flag;
    MPI_Type_create_keyval(copy_type, delete_type, &key, NULL);
    MPI_Type_contiguous(2, MPI_INT, &a);
    MPI_Type_set_attr(a, key, number(5));
    deletions = 0;
    MPI_Type_dup(a, &b);
    MPI_Type_get_attr(b, key, &value, &flag);
    CHECK(flag && value == number(6), "");
    MPI_Type_free(&b);
    CHECK(deletions == 1, "");
    MPI_Type_delete_attr(a, key);
    CHECK(deletions == 2, "");
    MPI_Type_get_attr(a, key, &value, &flag);
    CHECK(!flag, "");
    MPI_Type_free(&a);
    CHECK(deletions == 2, "");
    CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, MPI_KEYVAL_INVALID, NULL) == MPI_ERR_KEYVAL, "");
    CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL) == MPI_ERR_KEYVAL, "a key of datatypes");
    MPI_Type_free_keyval(&key);
}

static int predefined(int key)
{
    int *value, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag);
    CHECK(flag, "");
    return *value;
}

static void test_predefined(void)
{
    CHECK(predefined(MPI_TAG_UB) >= 32767, "");
    CHECK(predefined(MPI_HOST) == MPI_PROC_NULL && predefined(MPI_IO) == MPI_ANY_SOURCE, "");
    CHECK(predefined(MPI_UNIVERSE_SIZE) == size && predefined(MPI_APPNUM) >= 0, "");
    CHECK(predefined(MPI_WTIME_IS_GLOBAL) == 0 || predefined(MPI_WTIME_IS_GLOBAL) == 1, "");
    CHECK(predefined(MPI_LASTUSEDCODE) >= MPI_ERR_LASTCODE, "");
}

/* That of MPI_COMM_SELF are deleted first in MPI_Finalize, when messages can still be sent. */
static int at_the_end(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int flag, sum;
    (void)comm;
    (void)keyval;
    (void)value;
    (void)extra;
    MPI_Finalized(&flag);
    CHECK(!flag, "");
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2, "");
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int round = 0; round < 30; round++) {
        test_copies();
        test_order();
        test_failures();
        test_types();
        test_predefined();
    }
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Comm_free_keyval(&key);
    if (rank == 0) printf("done\n");
    MPI_Finalize();
    return 0;
}
