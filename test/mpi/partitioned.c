/* Partitioned communication: parts that become ready in any order, receives that are divided
 * otherwise, several between the same two processes with one tag, and requests that are freed
 * before they are started. */
#include "check.h"
#include <string.h>

enum { WORDS = 24, SHAPES = 4 };
/* Parts of the sender and of the receiver. */
static const int shapes[SHAPES][2] = {{1, 1}, {4, 4}, {12, 8}, {3, 24}};

static int next, last;

static int word(int from, int round, int shape, int i)
{
    return from * 1000000 + round * 1000 + shape * 100 + i;
}

static void fill(int *out, int round, int shape, int part)
{
    int each = WORDS / shapes[shape][0];
    for (int i = part * each; i < (part + 1) * each; i++) out[i] = word(rank, round, shape, i);
}

static void check_part(const int *in, int round, int shape, int part)
{
    int each = WORDS / shapes[shape][1];
    for (int i = part * each; i < (part + 1) * each; i++)
        CHECK(in[i] == word(last, round, shape, i), "word %d of shape %d: %d", i, shape, in[i]);
}

/* All shapes at once, with one tag: they match in the order in which they are made. Messages with
 * that tag are others. */
static void test_shapes(int rounds)
{
    static int out[SHAPES][WORDS], in[SHAPES][WORDS];
    MPI_Request request[2 * SHAPES];
    MPI_Status status[2 * SHAPES];
    int got, count;
    for (int s = 0; s < SHAPES; s++) {
        MPI_Precv_init(in[s], shapes[s][1], WORDS / shapes[s][1], MPI_INT, last, 5, MPI_COMM_WORLD,
            MPI_INFO_NULL, &request[s]);
        MPI_Psend_init(out[s], shapes[s][0], WORDS / shapes[s][0], MPI_INT, next, 5, MPI_COMM_WORLD,
            MPI_INFO_NULL, &request[SHAPES + s]);
    }
    for (int round = 0; round < rounds; round++) {
        memset(in, -1, sizeof in);
        MPI_Startall(2 * SHAPES, request);
        for (int s = SHAPES - 1; s >= 0; s--)
            for (int part = shapes[s][0] - 1; part >= 0; part--) {
                fill(out[s], round, s, part);
                MPI_Pready(part, request[SHAPES + s]);
            }
        MPI_Sendrecv(&round, 1, MPI_INT, next, 5, &got, 1, MPI_INT, last, 5, MPI_COMM_WORLD,
            MPI_STATUS_IGNORE);
        CHECK(got == round, "%d", got);
        MPI_Waitall(2 * SHAPES, request, status);
        for (int s = 0; s < SHAPES; s++) {
            MPI_Get_count(&status[s], MPI_INT, &count);
            CHECK(count == WORDS && status[s].MPI_SOURCE == last && status[s].MPI_TAG == 5, "");
            for (int part = 0; part < shapes[s][1]; part++) check_part(in[s], round, s, part);
        }
    }
    for (int i = 0; i < 2 * SHAPES; i++) MPI_Request_free(&request[i]);
}

/* A process answers to each part, before the next one becomes ready: so a part arrives alone. */
static void test_arrival(int round)
{
    static int out[WORDS], in[WORDS];
    enum { SHAPE = 2, PARTS = 12, PIECES = 8 };
    MPI_Request send, receive;
    int flag, seen = 0, token = round;
    MPI_Psend_init(
        out, PARTS, WORDS / PARTS, MPI_INT, next, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    MPI_Precv_init(
        in, PIECES, WORDS / PIECES, MPI_INT, last, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    MPI_Parrived(receive, 3, &flag);
    CHECK(flag, "a request that is not active");
    MPI_Start(&send);
    MPI_Start(&receive);
    MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag, "no part is ready");
    for (int part = 0; part < PARTS; part++) {
        fill(out, round, SHAPE, part);
        MPI_Pready(part, send);
        /* Of 12 parts and 8 pieces, two pieces end with every third part. */
        int there = (part + 1) * PIECES / PARTS;
        for (; seen < there; seen++) {
            do MPI_Parrived(receive, seen, &flag);
            while (!flag);
            check_part(in, round, SHAPE, seen);
        }
        if (seen < PIECES) MPI_Parrived(receive, PIECES - 1, &flag);
        CHECK(seen == PIECES || !flag, "the last part is not ready yet");
        MPI_Sendrecv_replace(
            &token, 1, MPI_INT, last, 7, next, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(token == round, "%d", token);
    }
    MPI_Test(&receive, &flag, MPI_STATUS_IGNORE);
    CHECK(flag, "all parts have arrived");
    MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
    CHECK(flag, "all parts are ready");
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
}

/* Columns of a matrix become rows; ranges and lists of parts. */
static void test_types(int round)
{
    enum { ROWS = 6, COLUMNS = 4 };
    static double out[ROWS][COLUMNS], in[COLUMNS][ROWS];
    static const int odd[] = {1, 3};
    MPI_Datatype column, next_column;
    MPI_Request request[2];
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &next_column);
    MPI_Type_commit(&next_column);
    MPI_Type_free(&column);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) out[i][j] = rank * 1000 + round * 100 + i * 10 + j;
    MPI_Psend_init(
        out, COLUMNS, 1, next_column, next, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &request[0]);
    MPI_Precv_init(
        in, COLUMNS / 2, 2 * ROWS, MPI_DOUBLE, last, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &request[1]);
    MPI_Type_free(&next_column);
    MPI_Startall(2, request);
    MPI_Pready_list(2, (int *)odd, request[0]);
    MPI_Pready_range(0, 0, request[0]);
    MPI_Pready_range(2, 2, request[0]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            CHECK(in[j][i] == last * 1000 + round * 100 + i * 10 + j, "%d %d", i, j);
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
}

/* A send and a receive that nobody starts belong together too: those after them are not mixed up
 * with them. */
static void test_not_started(int round)
{
    int out[2] = {rank, round}, in[2] = {-1, -1};
    MPI_Request idle[2], request[2];
    MPI_Status status;
    MPI_Precv_init(in, 2, 1, MPI_INT, last, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &idle[0]);
    MPI_Psend_init(out, 1, 1, MPI_INT, next, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &idle[1]);
    MPI_Request_free(&idle[0]);
    MPI_Request_free(&idle[1]);
    MPI_Psend_init(out, 2, 1, MPI_INT, next, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request[0]);
    MPI_Precv_init(in, 1, 2, MPI_INT, last, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request[1]);
    MPI_Startall(2, request);
    MPI_Pready_range(0, 1, request[0]);
    MPI_Wait(&request[1], &status);
    CHECK(in[0] == last && in[1] == round, "%d %d", in[0], in[1]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
    MPI_Psend_init(
        out, 2, 1, MPI_INT, MPI_PROC_NULL, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request[0]);
    MPI_Precv_init(in, 1, 2, MPI_INT, MPI_PROC_NULL, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request[1]);
    MPI_Startall(2, request);
    MPI_Pready_range(0, 1, request[0]);
    MPI_Wait(&request[1], &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && in[0] == last, "");
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
}

static void is_refused(int code, int expected, int line)
{
    int class = -1;
    if (code) MPI_Error_class(code, &class);
    CHECK(class == expected, "line %d: class %d, expected %d", line, class, expected);
}

static void test_wrong(void)
{
    int value = 0, flag;
    MPI_Request send, receive;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Psend_init(&value, 1, 1, MPI_INT, next, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    MPI_Precv_init(&value, 1, 1, MPI_INT, last, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    is_refused(MPI_Pready(0, send), MPI_ERR_REQUEST, __LINE__);
    is_refused(MPI_Pready(0, receive), MPI_ERR_REQUEST, __LINE__);
    is_refused(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST, __LINE__);
    is_refused(MPI_Parrived(receive, 1, &flag), MPI_ERR_ARG, __LINE__);
    MPI_Start(&send);
    MPI_Start(&receive);
    is_refused(MPI_Pready(1, send), MPI_ERR_ARG, __LINE__);
    is_refused(MPI_Cancel(&receive), MPI_ERR_REQUEST, __LINE__);
    MPI_Pready(0, send);
    is_refused(MPI_Pready(0, send), MPI_ERR_ARG, __LINE__);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    is_refused(MPI_Precv_init(&value, 1, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &receive),
        MPI_ERR_RANK, __LINE__);
    is_refused(
        MPI_Psend_init(&value, -1, 1, MPI_INT, next, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &send),
        MPI_ERR_COUNT, __LINE__);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    for (int round = 0; round < 6; round++) {
        test_shapes(4);
        test_arrival(round);
        test_types(round);
        test_not_started(round);
    }
    test_wrong();
    if (rank == 0) printf("done\n");
    MPI_Finalize();
    return 0;
}
