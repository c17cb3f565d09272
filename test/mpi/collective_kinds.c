/* Collective calls with datatypes that have gaps, with every operation on every kind of element,
 * between neighbours in grids whose dimensions have one or two processes, and with wrong arguments.
 */
#include <string.h>

#include "check.h"

/* ---- datatypes with gaps: a column of a matrix --------------------------------------------------
 */

enum { ROWS = 37, COLUMNS = 3, MOST = 32 };
static MPI_Datatype column;
static int matrix[MOST * ROWS * COLUMNS];

static void make_column(void)
{
    MPI_Datatype vector;
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, ROWS * COLUMNS * (MPI_Aint)sizeof(int), &column);
    MPI_Type_commit(&column);
    MPI_Type_free(&vector);
}

static void clear(void)
{
    for (int i = 0; i < MOST * ROWS * COLUMNS; i++) matrix[i] = -1;
}

static void put(int at, int value)
{
    for (int i = 0; i < ROWS; i++) matrix[(at * ROWS + i) * COLUMNS] = value + i;
}

static int is_at(int at, int value)
{
    for (int i = 0; i < ROWS; i++)
        if (matrix[(at * ROWS + i) * COLUMNS] != value + i) return 0;
    return 1;
}

static void check_gaps(int line)
{
    for (int i = 0; i < MOST * ROWS * COLUMNS; i++)
        if (i % COLUMNS && matrix[i] != -1) check_failed(line, "the gap at %d is %d", i, matrix[i]);
}

static void test_gaps(int root)
{
    int dense[MOST * ROWS];
    clear();
    if (rank == root) put(0, 5), put(1, 6);
    MPI_Bcast(matrix, 2, column, root, MPI_COMM_WORLD);
    CHECK(is_at(0, 5) && is_at(1, 6), "root %d", root);
    check_gaps(__LINE__);
    clear();
    put(rank, 1000 * rank);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, matrix, 1, column, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) CHECK(is_at(i, 1000 * i), "from %d", i);
    check_gaps(__LINE__);
    /* The same as numbers without gaps. */
    MPI_Alltoall(matrix, 1, column, dense, ROWS, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        for (int j = 0; j < ROWS; j++)
            CHECK(dense[i * ROWS + j] == 1000 * rank + j, "element %d of %d", j, i);
    clear();
    MPI_Gather(dense, ROWS, MPI_INT, matrix, 1, column, root, MPI_COMM_WORLD);
    for (int i = 0; i < size && rank == root; i++) CHECK(is_at(i, 1000 * i), "from %d", i);
    check_gaps(__LINE__);
    clear();
    for (int i = 0; i < size * ROWS; i++) dense[i] = 50 * (i / ROWS) + i % ROWS;
    MPI_Request request;
    MPI_Iscatter(dense, ROWS, MPI_INT, matrix, 1, column, root, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(is_at(0, 50 * rank), "root %d", root);
    check_gaps(__LINE__);
}

/* A reduction of elements with gaps, by a function of the program. */
static void add_columns(void *from, void *into, int *count, MPI_Datatype *datatype)
{
    CHECK(*datatype == column, "the datatype of the call");
    for (int i = 0; i < *count * ROWS; i++)
        ((int *)into)[i * COLUMNS] += ((int *)from)[i * COLUMNS];
}

static void test_reduction_with_gaps(int root)
{
    int *sum = malloc(sizeof matrix);
    MPI_Op op;
    MPI_Op_create(add_columns, 1, &op);
    clear();
    memcpy(sum, matrix, sizeof matrix);
    put(0, rank), put(1, 10 * rank);
    MPI_Allreduce(matrix, sum, 2, column, op, MPI_COMM_WORLD);
    int ranks = size * (size - 1) / 2;
    for (int i = 0; i < 2 * ROWS; i++) {
        int expected = (i < ROWS ? 1 : 10) * ranks + size * (i % ROWS);
        CHECK(sum[i * COLUMNS] == expected, "%d: %d, not %d", i, sum[i * COLUMNS], expected);
        CHECK(sum[i * COLUMNS + 1] == -1, "the gap behind %d", i);
    }
    MPI_Reduce(rank == root ? MPI_IN_PLACE : matrix, matrix, 1, column, op, root, MPI_COMM_WORLD);
    for (int i = 0; i < ROWS && rank == root; i++)
        CHECK(matrix[i * COLUMNS] == ranks + size * i, "%d", i);
    MPI_Op_free(&op);
    CHECK(op == MPI_OP_NULL, "after MPI_Op_free");
    free(sum);
}

/* ---- operations --------------------------------------------------------------------------------
 */

#define SUM_OF(type, datatype)                                                                     \
    do {                                                                                           \
        type one = (type)(rank + 1), sum = 0, product = (type)(1 + rank % 2), all = 0;             \
        type twos = 1, expected = 0;                                                               \
        for (int i = 0; i < size; i++) expected = (type)(expected + (type)(i + 1));                \
        for (int i = 1; i < size; i += 2) twos = (type)(twos * 2);                                 \
        MPI_Allreduce(&one, &sum, 1, datatype, MPI_SUM, MPI_COMM_WORLD);                           \
        MPI_Allreduce(&product, &all, 1, datatype, MPI_PROD, MPI_COMM_WORLD);                      \
        CHECK(sum == expected && all == twos, #datatype);                                          \
    } while (0)
#define ORDER_OF(type, datatype)                                                                   \
    do {                                                                                           \
        type one = (type)(rank + 1), most = 0, least = 0;                                          \
        MPI_Allreduce(&one, &most, 1, datatype, MPI_MAX, MPI_COMM_WORLD);                          \
        MPI_Allreduce(&one, &least, 1, datatype, MPI_MIN, MPI_COMM_WORLD);                         \
        CHECK(most == (type)size && least == 1, #datatype);                                        \
    } while (0)
#define NUMBER(type, datatype)                                                                     \
    SUM_OF(type, datatype);                                                                        \
    ORDER_OF(type, datatype)
#define PAIR(type, datatype)                                                                       \
    do {                                                                                           \
        struct {                                                                                   \
            type value;                                                                            \
            int at;                                                                                \
        } mine = {(type)(rank / 2), rank}, most, least;                                            \
        MPI_Allreduce(&mine, &most, 1, datatype, MPI_MAXLOC, MPI_COMM_WORLD);                      \
        MPI_Allreduce(&mine, &least, 1, datatype, MPI_MINLOC, MPI_COMM_WORLD);                     \
        CHECK(most.value == (type)((size - 1) / 2) && most.at == (size - 1) / 2 * 2, #datatype);   \
        CHECK(least.value == 0 && least.at == 0, #datatype);                                       \
    } while (0)

static void test_operations(void)
{
    NUMBER(signed char, MPI_SIGNED_CHAR);
    NUMBER(unsigned char, MPI_UNSIGNED_CHAR);
    NUMBER(short, MPI_SHORT);
    NUMBER(unsigned short, MPI_UNSIGNED_SHORT);
    NUMBER(int, MPI_INT);
    NUMBER(unsigned, MPI_UNSIGNED);
    NUMBER(long, MPI_LONG);
    NUMBER(unsigned long, MPI_UNSIGNED_LONG);
    NUMBER(long long, MPI_LONG_LONG);
    NUMBER(float, MPI_FLOAT);
    NUMBER(double, MPI_DOUBLE);
    NUMBER(long double, MPI_LONG_DOUBLE);
    NUMBER(MPI_Aint, MPI_AINT);
    NUMBER(MPI_Count, MPI_COUNT);
    NUMBER(MPI_Offset, MPI_OFFSET);
    SUM_OF(float _Complex, MPI_C_FLOAT_COMPLEX);
    SUM_OF(double _Complex, MPI_C_DOUBLE_COMPLEX);
    SUM_OF(long double _Complex, MPI_C_LONG_DOUBLE_COMPLEX);
    PAIR(float, MPI_FLOAT_INT);
    PAIR(double, MPI_DOUBLE_INT);
    PAIR(long, MPI_LONG_INT);
    PAIR(short, MPI_SHORT_INT);
    PAIR(int, MPI_2INT);
    PAIR(long double, MPI_LONG_DOUBLE_INT);
    _Bool some = rank == 0, any = 0, all = 1;
    MPI_Allreduce(&some, &any, 1, MPI_C_BOOL, MPI_LOR, MPI_COMM_WORLD);
    MPI_Allreduce(&some, &all, 1, MPI_C_BOOL, MPI_LAND, MPI_COMM_WORLD);
    CHECK(any && all == (size == 1), "MPI_C_BOOL");
}

/* ---- neighbours --------------------------------------------------------------------------------
 */

/* In a ring each sends its left neighbour one number and its right one another; also where both are
 * the same process, or the process itself. */
static void test_grid(int dimensions, const int lengths[])
{
    MPI_Comm grid;
    int periods[2] = {1, 1}, me, out[4], in[4] = {-1, -1, -1, -1}, all[4];
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, lengths, periods, 0, &grid);
    if (grid == MPI_COMM_NULL) return;
    MPI_Comm_rank(grid, &me);
    for (int i = 0; i < 2 * dimensions; i++) out[i] = me * 10 + i;
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, grid);
    MPI_Neighbor_allgather(&me, 1, MPI_INT, all, 1, MPI_INT, grid);
    for (int i = 0; i < dimensions; i++) {
        int low, high;
        MPI_Cart_shift(grid, i, 1, &low, &high);
        CHECK(in[2 * i] == low * 10 + 2 * i + 1, "dimension %d: %d from below", i, in[2 * i]);
        CHECK(in[2 * i + 1] == high * 10 + 2 * i, "dimension %d: %d from above", i, in[2 * i + 1]);
        CHECK(all[2 * i] == low && all[2 * i + 1] == high, "dimension %d", i);
    }
    MPI_Comm_free(&grid);
}

static void test_neighbours(void)
{
    for (int n = 1; n <= size; n++) {
        test_grid(1, &n);
        test_grid(2, (int[]){n, 1});
        if (2 * n <= size) test_grid(2, (int[]){2, n});
    }
    /* Beyond the border of a grid there is nobody. */
    MPI_Comm line;
    int periods = 0, in[2] = {-1, -1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periods, 0, &line);
    MPI_Request request;
    MPI_Ineighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, line, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in[0] == rank - 1 && in[1] == (rank + 1 < size ? rank + 1 : -1), "%d %d", in[0], in[1]);
    MPI_Comm_free(&line);
}

/* A graph in which a process is neighbour of the next several times: messages keep their order. */
static void test_multigraph(void)
{
    MPI_Comm graph;
    int next[3], last[3], out[3], in[3], weights[3] = {1, 1, 1};
    for (int i = 0; i < 3; i++) {
        next[i] = (rank + 1) % size;
        last[i] = (rank + size - 1) % size;
        out[i] = rank * 10 + i;
    }
    MPI_Dist_graph_create_adjacent(
        MPI_COMM_WORLD, 3, last, weights, 3, next, weights, MPI_INFO_NULL, 0, &graph);
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, graph);
    for (int i = 0; i < 3; i++) CHECK(in[i] == last[0] * 10 + i, "edge %d: %d", i, in[i]);
    MPI_Comm_free(&graph);
}

/* ---- wrong arguments ---------------------------------------------------------------------------
 */

static void wrong(int line, int code, int expected)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    if (class != expected) check_failed(line, "error class %d, not %d", class, expected);
}
#define WRONG(expected, call) wrong(__LINE__, call, expected)

static void test_errors(void)
{
    int a = 1, b = 0, many[MOST] = {0};
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    WRONG(MPI_ERR_ROOT, MPI_Bcast(&a, 1, MPI_INT, size, comm));
    WRONG(MPI_ERR_ROOT, MPI_Reduce(&a, &b, 1, MPI_INT, MPI_SUM, -5, comm));
    WRONG(MPI_ERR_COUNT, MPI_Bcast(&a, -1, MPI_INT, 0, comm));
    WRONG(MPI_ERR_TYPE, MPI_Bcast(&a, 1, MPI_DATATYPE_NULL, 0, comm));
    WRONG(MPI_ERR_BUFFER, MPI_Allreduce(&a, NULL, 1, MPI_INT, MPI_SUM, comm));
    WRONG(MPI_ERR_BUFFER, MPI_Allreduce(&a, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm));
    WRONG(MPI_ERR_OP, MPI_Allreduce(&a, &b, 1, MPI_INT, MPI_OP_NULL, comm));
    WRONG(MPI_ERR_OP, MPI_Allreduce(&a, &b, 1, MPI_INT, MPI_MAXLOC, comm));
    WRONG(MPI_ERR_OP, MPI_Allreduce(&a, &b, 1, MPI_INT, MPI_REPLACE, comm));
    WRONG(MPI_ERR_OP, MPI_Allreduce(&a, &b, 1, MPI_BYTE, MPI_SUM, comm));
    WRONG(MPI_ERR_OP, MPI_Allreduce(&a, &b, 1, column, MPI_SUM, comm));
    WRONG(MPI_ERR_COMM, MPI_Barrier(MPI_COMM_NULL));
    WRONG(MPI_ERR_TOPOLOGY, MPI_Neighbor_allgather(&a, 1, MPI_INT, many, 1, MPI_INT, comm));
    many[0] = -1;
    WRONG(MPI_ERR_COUNT, MPI_Allgatherv(&a, 1, MPI_INT, &b, many, many, MPI_INT, comm));
    WRONG(MPI_ERR_COUNT, MPI_Reduce_local(&a, &b, -1, MPI_INT, MPI_SUM));
    MPI_Op sum = MPI_SUM;
    WRONG(MPI_ERR_OP, MPI_Op_free(&sum));
    /* The root sends more than the others have room for. */
    int list[4] = {1, 2, 3, 4}, code = MPI_Bcast(list, rank ? 2 : 4, MPI_INT, 0, comm);
    wrong(__LINE__, code, rank ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
}

/* A request keeps what the program frees. */
static void test_freed_early(void)
{
    MPI_Datatype pair;
    MPI_Comm comm;
    MPI_Op op;
    MPI_Request requests[2];
    int out[2] = {rank, rank + 1}, in[2 * MOST];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(add_columns, 1, &op);
    MPI_Iallgather(out, 1, pair, in, 1, pair, comm, &requests[0]);
    clear();
    put(0, rank);
    int *columns = malloc(sizeof matrix);
    MPI_Iallreduce(matrix, columns, 1, column, op, comm, &requests[1]);
    MPI_Type_free(&pair);
    MPI_Op_free(&op);
    MPI_Comm_free(&comm);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < size; i++) CHECK(in[2 * i] == i && in[2 * i + 1] == i + 1, "from %d", i);
    CHECK(columns[0] == size * (size - 1) / 2, "%d", columns[0]);
    free(columns);
}

/* Communicators that are freed while a call on them is under way: whether a test finds it done
 * depends on timing, and what is sent on the next communicator must not. */
static void test_freed_while_tested(void)
{
    enum { ROUNDS = 12 };
    MPI_Request requests[ROUNDS];
    int sums[ROUNDS], done, one = rank;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Iallreduce(&one, &sums[i], 1, MPI_INT, MPI_SUM, comm, &requests[i]);
        MPI_Comm_free(&comm);
        for (int j = 0; j <= i; j++) MPI_Test(&requests[j], &done, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        CHECK(sums[i] == size * (size - 1) / 2, "round %d: %d", i, sums[i]);
    }
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    for (int i = 0; i < 8; i++) test_freed_while_tested();
    make_column();
    for (int root = 0; root < size; root++) {
        test_gaps(root);
        test_reduction_with_gaps(root);
    }
    test_operations();
    test_neighbours();
    test_multigraph();
    test_freed_early();
    test_errors();
    MPI_Type_free(&column);
    MPI_Finalize();
    return 0;
}
