/* Topologies: grids and their parts, MPI_Dims_create, graphs of both kinds. */
#include "check.h"
#include <string.h>

static void test_dims(void)
{
    static const struct {
        int nodes, count, given[4], expected[4];
    } cases[] = {
        {6, 2, {0, 0}, {3, 2}},
        {7, 2, {0, 0}, {7, 1}},
        {6, 3, {0, 3, 0}, {2, 3, 1}},
        {72, 3, {0, 0, 0}, {6, 4, 3}},
        {60048, 4, {0, 0, 0, 0}, {139, 9, 8, 6}},
        {1 << 30, 3, {0, 0, 0}, {1024, 1024, 1024}},
        {12, 1, {0}, {12}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int dims[4];
        memcpy(dims, cases[i].given, sizeof dims);
        CHECK(MPI_Dims_create(cases[i].nodes, cases[i].count, dims) == MPI_SUCCESS, "");
        CHECK(memcmp(dims, cases[i].expected, (size_t)cases[i].count * sizeof *dims) == 0,
            "%d processes: %d %d ...", cases[i].nodes, dims[0], dims[1]);
    }
    int impossible[] = {4, 0}, negative[] = {-1, 0};
    CHECK(MPI_Dims_create(6, 2, impossible) == MPI_ERR_DIMS, "");
    CHECK(MPI_Dims_create(6, 2, negative) == MPI_ERR_DIMS, "");
}

/* Each sends its rank one step on, in each dimension. */
static void pass_on(MPI_Comm grid, int dims)
{
    int me;
    MPI_Comm_rank(grid, &me);
    for (int i = 0; i < dims; i++) {
        int from, to, got = -1, coordinate[2], at[2];
        MPI_Cart_shift(grid, i, 1, &from, &to);
        MPI_Sendrecv(&me, 1, MPI_INT, to, i, &got, 1, MPI_INT, from, i, grid, MPI_STATUS_IGNORE);
        if (from == MPI_PROC_NULL) {
            CHECK(got == -1, "");
            continue;
        }
        MPI_Cart_coords(grid, got, 2, coordinate);
        MPI_Cart_coords(grid, me, 2, at);
        coordinate[i]++;
        int rank_there;
        if (MPI_Cart_rank(grid, coordinate, &rank_there) == MPI_SUCCESS)
            CHECK(rank_there == me, "");
        CHECK(coordinate[1 - i] == at[1 - i], "");
    }
}

static void test_grid(void)
{
    int dims[2] = {0, 0}, periods[2] = {1, 0}, coords[2], got[2], got_periods[2], kind, me, n, r;
    MPI_Comm grid, again, part;
    MPI_Dims_create(size > 1 ? size / 2 * 2 : 1, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
    CHECK((grid == MPI_COMM_NULL) == (rank >= dims[0] * dims[1]), "");
    if (grid == MPI_COMM_NULL) return;
    MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
    MPI_Comm_rank(grid, &me);
    MPI_Topo_test(grid, &kind);
    CHECK(kind == MPI_CART, "");
    MPI_Cartdim_get(grid, &n);
    CHECK(n == 2, "");
    MPI_Cart_get(grid, 2, got, got_periods, coords);
    CHECK(got[0] == dims[0] && got[1] == dims[1] && got_periods[0] && !got_periods[1], "");
    CHECK(coords[0] * dims[1] + coords[1] == me, "");
    coords[0] += dims[0]; /* around */
    MPI_Cart_rank(grid, coords, &r);
    CHECK(r == me, "");
    coords[1] = dims[1];
    CHECK(MPI_Cart_rank(grid, coords, &r) != MPI_SUCCESS, "beyond the edge");
    pass_on(grid, 2);
    MPI_Comm_dup(grid, &again);
    pass_on(again, 2);
    int remain[2] = {1, 0};
    MPI_Cart_sub(again, remain, &part);
    MPI_Cartdim_get(part, &n);
    MPI_Comm_size(part, &r);
    CHECK(n == 1 && r == dims[0], "");
    MPI_Comm_free(&part);
    MPI_Comm_free(&again);
    MPI_Comm_free(&grid);
}

/* A ring, given as a graph. */
static void test_graph(void)
{
    MPI_Comm graph;
    int index[16], edges[32], nodes, count, neighbour[2], kind;
    for (int i = 0; i < size; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph);
    MPI_Topo_test(graph, &kind);
    CHECK(kind == MPI_GRAPH, "");
    MPI_Graphdims_get(graph, &nodes, &count);
    CHECK(nodes == size && count == 2 * size, "");
    MPI_Graph_neighbors_count(graph, rank, &count);
    CHECK(count == 2, "");
    MPI_Graph_neighbors(graph, rank, 2, neighbour);
    CHECK(neighbour[0] == edges[2 * rank] && neighbour[1] == edges[2 * rank + 1], "");
    int got = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, neighbour[1], 0, &got, 1, MPI_INT, neighbour[0], 0, graph,
        MPI_STATUS_IGNORE);
    CHECK(got == neighbour[0], "");
    MPI_Comm_free(&graph);
    edges[0] = size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph) != MPI_SUCCESS, "");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Behind a pointer, for the compiler knows that there is no memory at that address. */
static int *volatile unweighted;

/* Rank 0 gives all edges: from each rank to 0, and one to the next; weights are the source's rank.
 */
static void test_distributed(void)
{
    MPI_Comm graph;
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    int source[16], degree[16], destination[32], weight[32], n = rank == 0 ? size : 0;
    for (int i = 0; i < n; i++) {
        source[i] = i;
        degree[i] = 2;
        destination[2 * i] = 0;
        destination[2 * i + 1] = (i + 1) % size;
        weight[2 * i] = weight[2 * i + 1] = i;
    }
    MPI_Dist_graph_create(MPI_COMM_WORLD, n, source, degree, destination,
        n ? weight : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph);
    int in, out, weighted, from[32], to[2], in_weight[32], out_weight[2];
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(in == (rank == 0 ? size + 1 : 1) && out == 2 && weighted, "%d in, %d out", in, out);
    MPI_Dist_graph_neighbors(graph, in, from, in_weight, out, to, out_weight);
    for (int i = 0; i < in; i++) CHECK(in_weight[i] == from[i], "");
    CHECK(to[0] == 0 && to[1] == next, "");
    CHECK(out_weight[0] == rank && out_weight[1] == rank, "");
    MPI_Comm_free(&graph);

    MPI_Dist_graph_create_adjacent(
        MPI_COMM_WORLD, 1, &last, unweighted, 1, &next, unweighted, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(in == 1 && out == 1 && !weighted, "");
    MPI_Dist_graph_neighbors(graph, 1, from, unweighted, 1, to, unweighted);
    CHECK(from[0] == last && to[0] == next, "");
    MPI_Comm_free(&graph);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    unweighted = MPI_UNWEIGHTED;
    for (int round = 0; round < 20; round++) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        if (round == 0) test_dims();
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        test_grid();
        test_graph();
        test_distributed();
    }
    if (rank == 0) printf("done\n");
    MPI_Finalize();
    return 0;
}
