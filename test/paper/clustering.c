/* T. Ropars, A. Guermouche, B. Ucar, E. Meneses, L. Kale, F. Cappello: On the Use of Cluster-Based
 * Partial Message Logging to Improve Fault Tolerance for MPI HPC Applications (Euro-Par 2011),
 * claim by claim; and Table I of HydEE (IPDPS 2012), whose clusters that paper's tool found. */
#include <math.h>

#include "../cluster/graphs.h"

/* "a Mean Time Between Failure (MTBF) of 1 day; 30 minutes to checkpoint the whole application (C);
 * 30 minutes to restart [...] I = 297min [...] The total time lost per MTBF period can be
 * approximated by I/2 + Rs = 179min, that is 12,4% of the period" */
static void the_interval_and_beta(void **state)
{
    double interval, beta;
    (void)state;
    hark_cluster_daly(1440, 30, 30, &interval, &beta);
    assert_int_equal((int)(interval + 0.5), 297);
    assert_int_equal((int)(beta * 1440), 178); /* 178.49; printed 179 */
    assert_int_equal((int)(beta * 1000 + 0.5), 124);
}

/* "With a coordinated checkpointing (L = 0, R = 1), the amount of wasted resources would be 12.4%.
 * With a message logging protocol (L = 1, R = 1/P), this amount would be 23%." */
static void the_two_ends(void **state)
{
    struct hark_cluster_cost c = {.alpha = 0.23, .beta = 0.124};
    struct hark_cluster_figures all = {1024, 1, 1000, 0, 1024 * 1024},
                                each = {1024, 1024, 1000, 1000, 1024};
    (void)state;
    assert_true(fabs(hark_cluster_cost(&c, &all) - 0.124) < 1e-9);
    assert_true(fabs(hark_cluster_cost(&c, &each) - 0.23) < 0.0002);
}

/* Table 2: processes, clusters, what rolls back and what is logged in per cent, cost: equation 2.
 * Printed shares are rounded. */
static void table_2_is_equation_2(void **state)
{
    static const struct {
        const char *name;
        double back, logged, cost;
    } row[] = {{"BT", 12.5, 12.3, 4.37}, {"CG", 3.1, 16.2, 4.12}, {"FT", 50, 50, 17.7},
        {"LU", 6.25, 9.7, 3.0}, {"MG", 12.5, 18.5, 5.8}, {"SP", 12.5, 12.2, 4.4},
        {"GTC", 6.25, 6.6, 2.3}, {"MAESTRO", 25, 17.7, 7.17}, {"PARATEC", 8.5, 9.4, 3.23},
        {"LAMMPS", 12.5, 7.6, 3.3}, {"Nbody", 3.5, 2.9, 1.1}};
    struct hark_cluster_cost c = {.alpha = 0.23, .beta = 0.124};
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct hark_cluster_figures f = {1000, 8, 1000000, (uint64_t)(row[i].logged * 10000 + 0.5),
            (uint64_t)(row[i].back * 10000 + 0.5)};
        double cost = 100 * hark_cluster_cost(&c, &f);
        if (fabs(cost - row[i].cost) > 0.051)
            fail_msg("%s: %.3f, printed %.2f", row[i].name, cost, row[i].cost);
    }
}

/* Table 3: equation 3, of clusters of equal size: "(K + 1) / 2 clusters on average" go back. */
static void table_3_is_equation_3(void **state)
{
    static const struct {
        const char *name;
        uint64_t ranks, clusters;
        double back, logged, cost;
    } row[] = {{"LU", 1024, 16, 53.1, 4.8, 7.7}, {"MAESTRO", 1024, 4, 62.5, 8.9, 9.78},
        {"PARATEC", 1024, 16, 53.1, 5.3, 7.8}, {"LAMMPS", 1024, 8, 56.2, 3.8, 7.9}};
    struct hark_cluster_cost c = {.alpha = 0.23, .beta = 0.124, .ordered = true};
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        uint64_t size = row[i].ranks / row[i].clusters;
        struct hark_cluster_figures f = {row[i].ranks, row[i].clusters, 1000000,
            (uint64_t)(row[i].logged * 10000), row[i].clusters * size * size};
        if (fabs(100 * hark_cluster_rolled_back(&f, true) - row[i].back) > 0.051)
            fail_msg("%s: rolled back", row[i].name);
        double cost = 100 * hark_cluster_cost(&c, &f);
        if (fabs(cost - row[i].cost) > 0.06)
            fail_msg("%s: %.3f, printed %.2f", row[i].name, cost, row[i].cost);
    }
}

/* The measured matrices for 256 processes. HydEE, Table I: what rolled back and what was logged
 * with the clusters of the paper's tool (class D; ours are class B). sweep: the least cost of
 * Scotch's and METIS's parts, K = 1, 2, 4, 5, 6, 8, 13, 16, 32, 64. */
static const struct {
    const char *matrix;
    double back, logged, sweep;
} programs[] = {{"npb-bt.B.256", 21.78, 18.09, 6.678}, {"npb-cg.B.256", 6.25, 18.98, 5.141},
    {"npb-ft.B.256", 50, 50.19, 12.401}, {"npb-lu.B.256", 12.5, 13.26, 4.575},
    {"npb-mg.B.256", 25, 19.63, 7.404}, {"npb-sp.B.256", 18.56, 20.04, 6.672}};

static double cost_of(const char *matrix, enum hark_partition_effort effort)
{
    struct hark_matrix m = read_pattern(matrix);
    struct hark_partition_options o;
    hark_partition_defaults(&o);
    o.effort = effort;
    struct hark_partition p = find(&m, &o);
    partition_ok(&p, &m, &o);
    double cost = p.cost * 100;
    hark_partition_free(&p);
    hark_matrix_free(&m);
    return cost;
}

static void no_worse_than_hydee_table_1(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        double paper = 0.23 * programs[i].logged + 0.124 * programs[i].back,
               own = cost_of(programs[i].matrix, HARK_PARTITION_FAST);
        if (own > paper + 0.01)
            fail_msg("%s: %.3f, of the paper's shares %.3f", programs[i].matrix, own, paper);
    }
}

static void fast_is_within_2_percent_of_a_sweep(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        double own = cost_of(programs[i].matrix, HARK_PARTITION_FAST);
        if (own > programs[i].sweep * 1.02)
            fail_msg("%s: %.3f, sweep %.3f", programs[i].matrix, own, programs[i].sweep);
    }
}

static void best_is_no_worse_than_a_sweep_and_often_better(void **state)
{
    int better = 0;
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        double own = cost_of(programs[i].matrix, HARK_PARTITION_BEST);
        if (own > programs[i].sweep)
            fail_msg("%s: %.3f, sweep %.3f", programs[i].matrix, own, programs[i].sweep);
        better += own < programs[i].sweep - 0.01;
    }
    assert_true(better >= 3);
}

/* ---- Algorithm 1 as corrected */

static struct hark_partition paper(const struct hark_matrix *m)
{
    struct hark_partition_options o;
    hark_partition_defaults(&o);
    o.effort = HARK_PARTITION_PAPER;
    struct hark_partition p = find(m, &o);
    partition_ok(&p, m, &o);
    return p;
}

static uint64_t everybody(uint32_t from, uint32_t to, void *self)
{
    (void)self;
    return from != to;
}

static int halves(void *self, const struct hark_graph *g, uint64_t seed, uint32_t *side)
{
    (void)seed;
    ++*(int *)self;
    for (uint32_t v = 0; v < g->vertices; v++) side[v] = v >= g->vertices / 2;
    return 0;
}

/* P-1: strength(Pi) = B / (K - 1) is 0 / 0 of one part: the first bisection is accepted whatever it
 * costs, and parts of it are tried. P-6: what is accepted is final, so the best that was seen is
 * kept: here the one part of the beginning. */
static void the_first_bisection_is_accepted(void **state)
{
    int calls = 0;
    struct hark_matrix m = matrix_of(16, everybody, NULL);
    struct hark_partition_options o;
    (void)state;
    hark_partition_defaults(&o);
    o.effort = HARK_PARTITION_PAPER;
    o.cost.alpha = 1;
    o.bisect = halves;
    o.self = &calls;
    struct hark_partition p = find(&m, &o);
    partition_ok(&p, &m, &o);
    assert_true(calls > 1);
    assert_int_equal(p.clusters, 1);
    hark_partition_free(&p);
    hark_matrix_free(&m);
}

static uint64_t up(uint32_t from, uint32_t to, void *self)
{
    bool turned = *(bool *)self;
    if (turned) return from > to && from / 4 == to / 4 ? 50 : from == to + 1 ? 7 : 0;
    return from < to && from / 4 == to / 4 ? 50 : from + 1 == to ? 7 : 0;
}

/* P-3: line 10 must add both directions, so a matrix and the same one turned have the same
 * clusters. */
static void both_directions_count(void **state)
{
    bool turned = false;
    struct hark_matrix m = matrix_of(16, up, &turned), t;
    turned = true;
    t = matrix_of(16, up, &turned);
    (void)state;
    struct hark_partition p = paper(&m), q = paper(&t);
    assert_int_equal(p.clusters, 4);
    assert_int_equal(q.clusters, 4);
    assert_memory_equal(p.of, q.of, 16 * sizeof *p.of);
    hark_partition_free(&p);
    hark_partition_free(&q);
    hark_matrix_free(&m);
    hark_matrix_free(&t);
}

static uint64_t pairs(uint32_t from, uint32_t to, void *self)
{
    (void)self;
    return from != to && from / 2 == to / 2;
}

/* P-2: a part that SHOULDPARTITION refuses is considered no more; P-4: ties go to the lowest rank.
 */
static void it_ends_and_ties_go_to_the_lowest(void **state)
{
    struct hark_matrix m = matrix_of(8, pairs, NULL);
    struct hark_partition_options o;
    (void)state;
    hark_partition_defaults(&o);
    o.effort = HARK_PARTITION_PAPER;
    o.threshold = 4;
    struct hark_partition p = find(&m, &o); /* parts of 4 are left alone */
    assert_int_equal(p.clusters, 2);
    assert_int_equal(p.of[0], 0);
    hark_partition_free(&p);
    o.threshold = 1;
    p = find(&m, &o);
    assert_int_equal(p.clusters, 4);
    for (uint32_t v = 0; v < 8; v++) assert_int_equal(p.of[v], v / 2);
    hark_partition_free(&p);
    hark_matrix_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_interval_and_beta),
        cmocka_unit_test(the_two_ends), cmocka_unit_test(table_2_is_equation_2),
        cmocka_unit_test(table_3_is_equation_3), cmocka_unit_test(no_worse_than_hydee_table_1),
        cmocka_unit_test(fast_is_within_2_percent_of_a_sweep),
        cmocka_unit_test(best_is_no_worse_than_a_sweep_and_often_better),
        cmocka_unit_test(the_first_bisection_is_accepted), cmocka_unit_test(both_directions_count),
        cmocka_unit_test(it_ends_and_ties_go_to_the_lowest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
