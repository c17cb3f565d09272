/* window.c: one-sided communication: fences, start and post, locks, in windows of all kinds. What
 * is sent does not depend on the order in which processes come to a target: window_order.c has the
 * rest. */
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include "check.h"

enum { WORDS = 24 };

static int next(int by)
{
    return (rank + by) % size;
}

static int before(int by)
{
    return (rank + size - by % size) % size;
}

/* ---- fences -----------------------------------------------------------------------------------
 */

static void put_and_get_between_fences(void)
{
    long memory[WORDS], got[WORDS];
    MPI_Win win;
    for (int i = 0; i < WORDS; i++) memory[i] = 1000 * rank + i;
    MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Get(got, WORDS / 2, MPI_LONG, next(2), WORDS / 2, WORDS / 2, MPI_LONG, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < WORDS / 2; i++)
        CHECK(got[i] == 1000 * next(2) + WORDS / 2 + i, "%d is %ld", i, got[i]);
    for (int round = 0; round < 5; round++) {
        long mine = 7 * rank + round;
        MPI_Put(&mine, 1, MPI_LONG, next(1), round, 1, MPI_LONG, win);
        mine = -1; /* the fence has not come yet: the call has kept it */
        MPI_Win_fence(0, win);
        CHECK(memory[round] == 7 * before(1) + round, "%d is %ld", round, memory[round]);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL, "after MPI_Win_free");
}

/* Every process adds to every process, numbers whose sum depends on the order: that is the one of
 * ranks. */
static double accumulate_between_fences(void)
{
    double *memory, sum = 0;
    MPI_Win win;
    MPI_Win_allocate(
        WORDS * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int i = 0; i < WORDS; i++) CHECK(memory[i] == 0, "%d", i);
    MPI_Win_fence(0, win);
    for (int to = 0; to < size; to++) {
        double mine[3] = {1e16 * (rank % 3 - 1), 0.1 * rank, 1};
        MPI_Accumulate(mine, 3, MPI_DOUBLE, to, 2, 3, MPI_DOUBLE, MPI_SUM, win);
    }
    MPI_Win_fence(0, win);
    double wanted = 0;
    for (int i = 0; i < size; i++) wanted = 1e16 * (i % 3 - 1) + wanted;
    CHECK(memory[2] == wanted, "%.17g", memory[2]);
    CHECK(memory[4] == size, "%g", memory[4]);
    for (int i = 0; i < 5; i++) sum += memory[i];
    MPI_Win_free(&win);
    return sum;
}

/* Columns of a matrix to columns of another, that are as far apart as they are not here. */
static void datatypes_with_gaps(void)
{
    enum { ROWS = 7, HERE = 5, THERE = 9 };
    int matrix[ROWS][THERE], mine[ROWS][HERE], back[ROWS];
    MPI_Datatype column, far;
    MPI_Win win;
    memset(matrix, 0, sizeof matrix);
    for (int i = 0; i < ROWS * HERE; i++) mine[i / HERE][i % HERE] = rank * 100 + i;
    MPI_Type_vector(ROWS, 1, HERE, MPI_INT, &column);
    MPI_Type_vector(ROWS, 1, THERE, MPI_INT, &far);
    MPI_Type_commit(&column);
    MPI_Type_commit(&far);
    MPI_Win_create(matrix, sizeof matrix, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&mine[0][3], 1, column, next(1), 4, 1, far, win);
    MPI_Accumulate(&mine[0][1], 1, column, next(1), 6, 1, far, MPI_MAX, win);
    MPI_Type_free(&column);
    MPI_Win_fence(0, win);
    MPI_Get(back, ROWS, MPI_INT, next(1), 4, 1, far, win);
    MPI_Type_free(&far);
    MPI_Win_fence(0, win);
    for (int i = 0; i < ROWS; i++) {
        CHECK(matrix[i][4] == before(1) * 100 + i * HERE + 3, "%d is %d", i, matrix[i][4]);
        CHECK(matrix[i][6] == before(1) * 100 + i * HERE + 1, "%d is %d", i, matrix[i][6]);
        CHECK(matrix[i][5] == 0 && back[i] == mine[i][3], "%d is %d", i, back[i]);
    }
    MPI_Win_free(&win);
}

/* Pairs have gaps in memory, and none in messages. */
static void pairs(void)
{
    struct pair {
        double value;
        int index;
    } memory[3], mine[3];
    MPI_Win win;
    for (int i = 0; i < 3; i++) {
        memory[i] = (struct pair){2, -1};
        mine[i] = (struct pair){(rank + i) % size, rank};
    }
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Accumulate(mine, 3, MPI_DOUBLE_INT, 0, 0, 3, MPI_DOUBLE_INT, MPI_MAXLOC, win);
    MPI_Win_fence(0, win);
    int largest = size - 1 > 2 ? size - 1 : 2;
    for (int i = 0; i < 3 && rank == 0; i++) {
        CHECK(memory[i].value == largest, "%d: %g", i, memory[i].value);
        int where = (size - 1 + size - i) % size;
        if (size > 3) CHECK(memory[i].index == where, "%d: %d", i, memory[i].index);
    }
    MPI_Win_free(&win);
}

/* The same in datatypes of the program: every second pair of an array, from pairs side by side. */
#define PAIRS_APART(name, value_type, datatype)                                                    \
    static void name(void)                                                                         \
    {                                                                                              \
        struct pair {                                                                              \
            value_type value;                                                                      \
            int index;                                                                             \
        } memory[6], mine[3];                                                                      \
        MPI_Datatype apart, together;                                                              \
        MPI_Win win;                                                                               \
        memset(memory, 0, sizeof memory);                                                          \
        memset(mine, 0, sizeof mine);                                                              \
        for (int i = 0; i < 6; i++) memory[i] = (struct pair){100, 1000 + i};                      \
        for (int i = 0; i < 3; i++) mine[i] = (struct pair){(value_type)(10 * i + 3), rank};       \
        MPI_Type_vector(3, 1, 2, datatype, &apart);                                                \
        MPI_Type_contiguous(3, datatype, &together);                                               \
        MPI_Type_commit(&apart);                                                                   \
        MPI_Type_commit(&together);                                                                \
        MPI_Win_create(                                                                            \
            memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);           \
        MPI_Win_fence(0, win);                                                                     \
        MPI_Accumulate(mine, 1, together, next(1), 0, 1, apart, MPI_MINLOC, win);                  \
        MPI_Win_fence(0, win);                                                                     \
        for (int i = 0; i < 6; i++) {                                                              \
            value_type value = i & 1 ? (value_type)100 : (value_type)(5 * i + 3);                  \
            int index = i & 1 ? 1000 + i : before(1);                                              \
            CHECK(memory[i].value == value && memory[i].index == index, #datatype " %d: %d", i,    \
                memory[i].index);                                                                  \
        }                                                                                          \
        MPI_Win_free(&win);                                                                        \
        MPI_Type_free(&apart);                                                                     \
        MPI_Type_free(&together);                                                                  \
    }
PAIRS_APART(doubles_apart, double, MPI_DOUBLE_INT)
PAIRS_APART(shorts_apart, short, MPI_SHORT_INT)
PAIRS_APART(longs_apart, long, MPI_LONG_INT)
PAIRS_APART(long_doubles_apart, long double, MPI_LONG_DOUBLE_INT)
PAIRS_APART(ints_apart, int, MPI_2INT)

static void pairs_apart(void)
{
    doubles_apart();
    shorts_apart();
    longs_apart();
    long_doubles_apart();
    ints_apart();
}

/* More than fits into one message of an epoch, both ways. */
static void much(void)
{
    enum { MUCH = 300000 };
    int *memory, *mine = malloc(MUCH * sizeof *mine), *got = malloc(MUCH * sizeof *got);
    MPI_Win win;
    MPI_Win_allocate(
        2 * MUCH * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int i = 0; i < MUCH; i++) mine[i] = rank + i, memory[MUCH + i] = rank - i;
    MPI_Win_fence(0, win);
    for (int at = 0; at < MUCH; at += MUCH / 10) {
        MPI_Put(mine + at, MUCH / 10, MPI_INT, next(1), at, MUCH / 10, MPI_INT, win);
        MPI_Get(got + at, MUCH / 10, MPI_INT, next(1), MUCH + at, MUCH / 10, MPI_INT, win);
    }
    MPI_Win_fence(0, win);
    for (int i = 0; i < MUCH; i++) {
        CHECK(memory[i] == before(1) + i, "%d is %d", i, memory[i]);
        CHECK(got[i] == next(1) - i, "%d is %d", i, got[i]);
    }
    MPI_Win_free(&win);
    free(mine);
    free(got);
}

/* A large window of which little is used takes little memory. */
static void large(void)
{
    enum { LARGE = 256 << 20, KILOBYTES = 64 << 10 };
    struct rusage was, is;
    int *memory, got;
    MPI_Win win;
    getrusage(RUSAGE_SELF, &was);
    MPI_Win_allocate(LARGE, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    CHECK(((uintptr_t)memory & 63) == 0, "%p", (void *)memory);
    MPI_Win_fence(0, win);
    MPI_Put(&rank, 1, MPI_INT, next(1), LARGE / (int)sizeof(int) - 1, 1, MPI_INT, win);
    MPI_Get(&got, 1, MPI_INT, next(1), LARGE / 8, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(memory[LARGE / sizeof(int) - 1] == before(1) && got == 0, "%d", got);
    getrusage(RUSAGE_SELF, &is);
    CHECK(is.ru_maxrss - was.ru_maxrss < KILOBYTES, "%ld KiB more", is.ru_maxrss - was.ru_maxrss);
    MPI_Win_free(&win);
}

/* ---- start and post ---------------------------------------------------------------------------
 */

static void neighbours(void)
{
    int memory[2] = {0, rank}, got, done = 0;
    int to = next(1), from = before(1);
    MPI_Group world, targets, origins;
    MPI_Win win;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &to, &targets);
    MPI_Group_incl(world, 1, &from, &origins);
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int round = 1; round < 6; round++) {
        int mine = 10 * rank + round;
        MPI_Win_post(origins, 0, win);
        MPI_Win_start(targets, 0, win);
        MPI_Put(&mine, 1, MPI_INT, to, 0, 1, MPI_INT, win);
        if (round % 2) MPI_Get(&got, 1, MPI_INT, to, 1, 1, MPI_INT, win);
        MPI_Win_complete(win);
        if (round % 2) CHECK(got == to, "%d", got);
        if (round < 3) MPI_Win_wait(win);
        else
            for (done = 0; !done;) MPI_Win_test(win, &done);
        CHECK(memory[0] == 10 * from + round, "%d", memory[0]);
    }
    MPI_Win_free(&win);
    MPI_Group_free(&world);
    MPI_Group_free(&targets);
    MPI_Group_free(&origins);
}

/* The target waits for a message that its origin sends behind the epoch. */
static void reply_before_wait(void)
{
    int memory = 5 + rank, got = 0, word = 0;
    MPI_Group world, other;
    MPI_Win win;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int peer = 1 - rank;
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank < 2 && size > 1) {
        MPI_Group_incl(world, 1, &peer, &other);
        if (rank == 0) {
            MPI_Win_post(other, 0, win);
            MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(word == 5, "%d", word);
            MPI_Win_wait(win);
        } else {
            MPI_Win_start(other, 0, win);
            MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_complete(win);
            MPI_Send(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        }
        MPI_Group_free(&other);
    }
    MPI_Win_free(&win);
    MPI_Group_free(&world);
}

/* ---- locks ------------------------------------------------------------------------------------
 */

/* Sums that do not depend on the order in which they are made. */
static long shared(void)
{
    long memory[4] = {0, 0, 0, 100}, one = 1, got[2], sum = 0;
    MPI_Request request[2];
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    for (int to = 0; to < size; to++) {
        long mine = rank + 1;
        MPI_Accumulate(&mine, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, win);
        MPI_Raccumulate(&one, 1, MPI_LONG, to, 1, 1, MPI_LONG, MPI_SUM, win, &request[0]);
        MPI_Rget(got, 1, MPI_LONG, to, 3, 1, MPI_LONG, win, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        CHECK(got[0] == 100, "%ld", got[0]);
        MPI_Rget_accumulate(
            NULL, 0, MPI_LONG, got, 1, MPI_LONG, to, 3, 1, MPI_LONG, MPI_NO_OP, win, &request[0]);
        MPI_Rput(&mine, 0, MPI_LONG, to, 2, 0, MPI_LONG, win, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        CHECK(got[0] == 100, "%ld", got[0]);
        MPI_Win_flush_local(to, win);
    }
    MPI_Win_flush_all(win);
    MPI_Win_flush_local_all(win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    CHECK(memory[0] == (long)size * (size + 1) / 2 && memory[1] == size, "%ld", memory[0]);
    for (int i = 0; i < 4; i++) sum += memory[i];
    MPI_Win_unlock(rank, win);
    MPI_Win_free(&win);
    return sum;
}

/* A process looks at its memory until another has changed it. */
static void signal_by_memory(void)
{
    int flag = 0, one = 1;
    MPI_Win win;
    MPI_Win_create(&flag, sizeof flag, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    if (rank == 0) {
        MPI_Accumulate(&one, 1, MPI_INT, next(1), 0, 1, MPI_INT, MPI_REPLACE, win);
        MPI_Win_flush(next(1), win);
    }
    while (*(volatile int *)&flag == 0) MPI_Win_sync(win);
    if (rank) {
        MPI_Accumulate(&one, 1, MPI_INT, next(1), 0, 1, MPI_INT, MPI_REPLACE, win);
        MPI_Win_flush(next(1), win);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

/* ---- windows ----------------------------------------------------------------------------------
 */

static int deleted;
static int on_delete(MPI_Win win, int keyval, void *value, void *extra)
{
    (void)win;
    (void)keyval;
    (void)extra;
    deleted = *(int *)value;
    return MPI_SUCCESS;
}

/* What has no bytes has no elements that could differ. */
static void nothing(void)
{
    int memory = 4711;
    MPI_Datatype empty;
    MPI_Win win;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Accumulate(&rank, 1, empty, 0, 0, 1, empty, MPI_SUM, win);
    MPI_Accumulate(&rank, 0, MPI_DOUBLE, 0, 0, 1, empty, MPI_SUM, win);
    MPI_Win_fence(0, win);
    CHECK(memory == 4711, "%d", memory);
    MPI_Win_free(&win);
    MPI_Type_free(&empty);
}

static void what_they_tell(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    short memory[8];
    void *value;
    int found, length, keyval, seven = 7, result;
    MPI_Group group, world;
    MPI_Info info;
    MPI_Win win;
    MPI_Win_create(memory, rank ? sizeof memory : 4, 2, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &found);
    CHECK(found && value == memory, "MPI_WIN_BASE");
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &value, &found);
    CHECK(found && *(MPI_Aint *)value == (rank ? 16 : 4), "MPI_WIN_SIZE");
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &value, &found);
    CHECK(found && *(int *)value == 2, "MPI_WIN_DISP_UNIT");
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &found);
    CHECK(found && *(int *)value == MPI_WIN_FLAVOR_CREATE, "MPI_WIN_CREATE_FLAVOR");
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &value, &found);
    CHECK(found && *(int *)value == MPI_WIN_UNIFIED, "MPI_WIN_MODEL");
    MPI_Win_set_name(win, "a window");
    MPI_Win_get_name(win, name, &length);
    CHECK(length == 8 && strcmp(name, "a window") == 0, "%s", name);
    MPI_Win_get_group(win, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &result);
    CHECK(result == MPI_IDENT, "%d", result);
    MPI_Win_get_info(win, &info);
    MPI_Info_free(&info);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &keyval, NULL);
    MPI_Win_set_attr(win, keyval, &seven);
    MPI_Win_free_keyval(&keyval);
    MPI_Win_free(&win);
    CHECK(deleted == 7, "%d", deleted);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

static void errors(void)
{
    int memory[4], word = 0;
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
#define GIVES(code, call)                                                                          \
    do {                                                                                           \
        int given_ = call;                                                                         \
        CHECK(given_ == code, "%d", given_);                                                       \
    } while (0)
    GIVES(MPI_ERR_RMA_SYNC, MPI_Put(&word, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    GIVES(MPI_ERR_RMA_SYNC, MPI_Win_unlock(0, win));
    GIVES(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
    GIVES(MPI_ERR_RMA_SYNC, MPI_Win_wait(win));
    GIVES(MPI_ERR_LOCKTYPE, MPI_Win_lock(12345, 0, 0, win));
    MPI_Win_fence(0, win);
    GIVES(MPI_SUCCESS, MPI_Put(&word, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win));
    GIVES(MPI_ERR_RANK, MPI_Put(&word, 1, MPI_INT, size, 0, 1, MPI_INT, win));
    GIVES(MPI_ERR_RMA_RANGE, MPI_Put(&word, 1, MPI_INT, 0, 4, 1, MPI_INT, win));
    GIVES(MPI_ERR_DISP, MPI_Get(&word, 1, MPI_INT, 0, -1, 1, MPI_INT, win));
    GIVES(MPI_ERR_COUNT, MPI_Get(&word, -1, MPI_INT, 0, 0, 1, MPI_INT, win));
    GIVES(MPI_ERR_OP, MPI_Accumulate(&word, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, win));
    GIVES(MPI_ERR_OP, MPI_Accumulate(&word, 1, MPI_FLOAT, 0, 0, 1, MPI_FLOAT, MPI_BAND, win));
    GIVES(MPI_ERR_RMA_SYNC, MPI_Rput(&word, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &(MPI_Request){0}));
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

int main(int argc, char *argv[])
{
    begin(argc, argv);
    put_and_get_between_fences();
    double sum = accumulate_between_fences();
    datatypes_with_gaps();
    pairs();
    pairs_apart();
    much();
    large();
    neighbours();
    reply_before_wait();
    long longs = shared();
    signal_by_memory();
    what_they_tell();
    nothing();
    errors();
    if (rank == 0) printf("%.17g %ld\n", sum, longs);
    MPI_Finalize();
    return 0;
}
