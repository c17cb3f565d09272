/* hark_graph_cut: every backend keeps what it promises; the built-in one finds cuts that are known.
 */
#include <errno.h>
#include <math.h>

#include "graphs.h"

static const enum hark_cut_backend backends[] = {
    HARK_CUT_BUILTIN, HARK_CUT_SCOTCH, HARK_CUT_METIS, HARK_CUT_METIS_RECURSIVE};

static uint64_t grid(uint32_t from, uint32_t to, void *self) /* of *self columns */
{
    uint32_t w = *(uint32_t *)self;
    return from / w == to / w ? from + 1 == to || to + 1 == from : from + w == to || to + w == from;
}

static uint64_t by_chance(uint32_t from, uint32_t to, void *self)
{
    uint64_t x = draw(self);
    return from != to && x % 5 == 0 ? x >> 40 : 0;
}

static uint64_t cut_of(const struct hark_graph *g, const uint32_t *part)
{
    uint64_t twice = 0;
    for (uint32_t v = 0; v < g->vertices; v++)
        for (uint64_t k = g->first[v]; k < g->first[v + 1]; k++)
            if (part[v] != part[g->column[k]]) twice += g->weight[k];
    return twice / 2;
}

static void both_directions_make_the_graph(void **state)
{
    /* 0 -> 1: 10, 1 -> 0: 6, 1 -> 2: 3, 2 -> 2: 9, 3 -> 0: 0 */
    uint64_t first[] = {0, 1, 3, 4, 5}, value[] = {10, 6, 3, 9, 0};
    uint32_t column[] = {1, 0, 2, 2, 0};
    struct hark_matrix m = {4, 5, first, column, value, 0};
    struct hark_graph g;
    (void)state;
    assert_int_equal(hark_graph_of(&g, &m), 0);
    assert_int_equal(g.first[4], 4);
    assert_int_equal(g.first[3], 4); /* 3 is alone */
    assert_int_equal(g.weight[0], 16);
    assert_int_equal(g.column[0], 1);
    assert_int_equal(g.weight[1], 16);
    assert_int_equal(g.weight[2], 3);
    assert_int_equal(g.weight[3], 3);
    hark_graph_free(&g);
    value[0] = HARK_MATRIX_MOST * 127;
    value[1] = HARK_MATRIX_MOST * 2;
    assert_int_equal(hark_graph_of(&g, &m), -EOVERFLOW);
}

static void parts_are_in_range_and_even(void **state)
{
    uint64_t seed = 1;
    (void)state;
    for (uint32_t ranks = 1; ranks <= 90; ranks += 1 + ranks / 4) {
        struct hark_matrix m = matrix_of(ranks, by_chance, &seed);
        struct hark_graph g;
        uint32_t part[90], again[90], size[90];
        assert_int_equal(hark_graph_of(&g, &m), 0);
        for (uint32_t parts = 1; parts <= ranks; parts += 1 + parts / 2)
            for (size_t b = 0; b < 4; b++) {
                if (!hark_cut_has(backends[b])) continue;
                if (b != 0 && parts > ranks / 4 + 1)
                    continue; /* Scotch and METIS leave parts empty there, and say so */
                uint32_t most = 0;
                memset(part, 0xff, sizeof part);
                memset(size, 0, sizeof size);
                assert_int_equal(hark_graph_cut(&g, parts, 0.03, 7, backends[b], part), 0);
                for (uint32_t v = 0; v < ranks; v++) {
                    assert_true(part[v] < parts);
                    if (++size[part[v]] > most) most = size[part[v]];
                }
                assert_int_equal(hark_graph_cut(&g, parts, 0.03, 7, backends[b], again), 0);
                assert_memory_equal(part, again, ranks * sizeof *part);
                uint32_t even = (ranks + parts - 1) / parts,
                         slack = (uint32_t)(1.03 * ranks / parts);
                if (b == 0) assert_true(most <= (slack > even ? slack : even));
            }
        hark_graph_free(&g);
        hark_matrix_free(&m);
    }
}

static void a_grid_is_cut_across(void **state)
{
    uint32_t width = 16, part[128];
    struct hark_matrix m = matrix_of(128, grid, &width);
    struct hark_graph g;
    (void)state;
    assert_int_equal(hark_graph_of(&g, &m), 0);
    assert_int_equal(hark_graph_cut(&g, 2, 0, 1, HARK_CUT_BUILTIN, part), 0);
    assert_int_equal(cut_of(&g, part), 2 * 8);
    assert_int_equal(hark_graph_cut(&g, 8, 0, 1, HARK_CUT_BUILTIN, part), 0);
    assert_int_equal(cut_of(&g, part), 2 * (3 * 8 + 16));
    hark_graph_free(&g);
    hark_matrix_free(&m);
}

static void loads_are_even_where_they_can_be(void **state)
{
    uint32_t width = 8, part[64];
    uint64_t load[64], of[4] = {0}, all = 0;
    struct hark_matrix m = matrix_of(64, grid, &width);
    struct hark_graph g;
    (void)state;
    for (uint32_t v = 0; v < 64; v++) all += load[v] = 1000 + 37 * (v * 7 % 64);
    assert_int_equal(hark_graph_of(&g, &m), 0);
    g.load = load;
    assert_int_equal(hark_graph_cut(&g, 4, 0.03, 1, HARK_CUT_BUILTIN, part), 0);
    for (uint32_t v = 0; v < 64; v++) of[part[v]] += load[v];
    for (int p = 0; p < 4; p++) assert_true((double)of[p] <= 1.03 * (double)all / 4);
    load[3] = HARK_GRAPH_MOST;
    assert_int_equal(hark_graph_cut(&g, 4, 0.03, 1, HARK_CUT_BUILTIN, part), -EOVERFLOW);
    g.load = NULL;
    hark_graph_free(&g);
    hark_matrix_free(&m);
}

static void what_is_out_of_range_is_refused(void **state)
{
    uint32_t width = 4, part[16];
    struct hark_matrix m = matrix_of(16, grid, &width);
    struct hark_graph g;
    (void)state;
    assert_int_equal(hark_graph_of(&g, &m), 0);
    assert_int_equal(hark_graph_cut(&g, 0, 0.03, 1, HARK_CUT_BUILTIN, part), -EINVAL);
    assert_int_equal(hark_graph_cut(&g, 17, 0.03, 1, HARK_CUT_BUILTIN, part), -EINVAL);
    assert_int_equal(hark_graph_cut(&g, 2, -0.1, 1, HARK_CUT_BUILTIN, part), -EINVAL);
    assert_int_equal(hark_graph_cut(&g, 2, (double)NAN, 1, HARK_CUT_BUILTIN, part), -EINVAL);
    for (size_t b = 0; b < 4; b++) {
        int status = hark_graph_cut(&g, 2, 0.03, 1, backends[b], part);
        assert_int_equal(status, hark_cut_has(backends[b]) ? 0 : -ENOTSUP);
    }
    hark_graph_free(&g);
    hark_matrix_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_directions_make_the_graph),
        cmocka_unit_test(parts_are_in_range_and_even), cmocka_unit_test(a_grid_is_cut_across),
        cmocka_unit_test(loads_are_even_where_they_can_be),
        cmocka_unit_test(what_is_out_of_range_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
