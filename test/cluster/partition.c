/* hark_partition: costs counted by hand, graphs of which the best clusters are known, and what
 * holds of any graph. */
#include <errno.h>
#include <math.h>

#include "graphs.h"

static const enum hark_partition_effort efforts[] = {
    HARK_PARTITION_FAST, HARK_PARTITION_BEST, HARK_PARTITION_PAPER};

static struct hark_partition_options defaults(void)
{
    struct hark_partition_options o;
    hark_partition_defaults(&o);
    return o;
}

static bool same(double a, double b)
{
    return fabs(a - b) < 1e-12;
}

/* ---- costs */

static void costs_counted_by_hand(void **state)
{
    /* 0 -> 0: 100, 0 -> 1: 10, 1 -> 0: 6, 1 -> 2: 3, 2 -> 3: 4, 3 -> 0: 7 */
    uint64_t first[] = {0, 2, 4, 5, 6}, value[] = {100, 10, 6, 3, 4, 7};
    uint32_t column[] = {0, 1, 0, 2, 3, 0}, of[] = {0, 0, 1, 1}, turned[] = {1, 1, 0, 0};
    struct hark_matrix m = {4, 6, first, column, value, 0};
    struct hark_partition p = {.ranks = 4, .clusters = 2, .of = of};
    struct hark_cluster_cost team = {.alpha = 0.23, .beta = 0.124},
                             ordered = {.alpha = 0.23, .beta = 0.124, .ordered = true};
    (void)state;
    assert_int_equal(hark_partition_measure(&p, &m, &team), 0);
    assert_int_equal(p.figures.bytes, 30);
    assert_int_equal(p.figures.logged, 10);
    assert_int_equal(p.figures.squares, 8);
    assert_true(same(p.cost, 0.23 * 10 / 30 + 0.124 * 8 / 16));
    assert_int_equal(hark_partition_measure(&p, &m, &ordered), 0);
    assert_int_equal(p.figures.logged, 3);
    assert_true(same(p.cost, 0.23 * 3 / 30 + 0.124 * 1.5 * 8 / 16));
    p.of = turned;
    assert_int_equal(hark_partition_measure(&p, &m, &ordered), 0);
    assert_int_equal(p.figures.logged, 7);
}

static double two_costs_more(void *self, const struct hark_cluster_figures *f)
{
    ++*(int *)self;
    return f->clusters == 3 ? 0.5 : 1 + hark_cluster_logged(f);
}

static double eq2(void *self, const struct hark_cluster_figures *f)
{
    (void)self;
    return 0.23 * hark_cluster_logged(f) + 0.124 * hark_cluster_rolled_back(f, false);
}

/* ---- graphs with a known optimum */

static uint64_t clique(uint32_t from, uint32_t to, void *self)
{
    uint32_t size = *(uint32_t *)self;
    return from != to && from % size == to % size ? 5 : 0; /* the clusters are not neighbours in
                                                              rank */
}

static uint64_t ring(uint32_t from, uint32_t to, void *self)
{
    uint32_t n = *(uint32_t *)self;
    return (from + 1) % n == to || (to + 1) % n == from;
}

static uint64_t grid(uint32_t from, uint32_t to, void *self)
{
    uint32_t w = *(uint32_t *)self;
    return from / w == to / w ? from + 1 == to || to + 1 == from : from + w == to || to + w == from;
}

static uint64_t star(uint32_t from, uint32_t to, void *self)
{
    (void)self;
    return from != to && (from == 3 || to == 3);
}

static uint64_t nothing(uint32_t from, uint32_t to, void *self)
{
    (void)from, (void)to, (void)self;
    return 0;
}

static uint64_t chain(uint32_t from, uint32_t to, void *self)
{
    (void)self;
    return from + 1 == to ? 10 : 0;
}

static void by_every_effort(const struct hark_matrix *m, double best, double fast, double paper)
{
    for (int b = HARK_CUT_BUILTIN; b <= HARK_CUT_METIS_RECURSIVE; b++)
        for (size_t e = 0; e < 3; e++) {
            struct hark_partition_options o = defaults();
            if (!hark_cut_has((enum hark_cut_backend)b)) continue;
            o.effort = efforts[e];
            o.backend = (enum hark_cut_backend)b;
            struct hark_partition p = find(m, &o);
            partition_ok(&p, m, &o);
            double most = o.effort == HARK_PARTITION_BEST   ? best
                          : o.effort == HARK_PARTITION_FAST ? fast
                                                            : paper;
            if (p.cost > most + 1e-12)
                fail_msg("%s, effort %zu: %.6f, expected at most %.6f", hark_cut_name(o.backend), e,
                    p.cost, most);
            assert_true(p.cost > best - 1e-12);
            hark_partition_free(&p);
        }
}

static void cliques_are_clusters(void **state)
{
    uint32_t count = 8;
    struct hark_matrix m = matrix_of(64, clique, &count);
    (void)state;
    by_every_effort(&m, 0.124 / 8, 0.124 / 8, 0.124 / 8);
    hark_matrix_free(&m);
}

/* K arcs, as even as can be. */
static double best_of_ring(uint32_t n)
{
    double best = 0.124;
    for (uint32_t k = 2; k <= n; k++) {
        uint32_t short_ones = n / k, longer = n % k;
        double squares = (double)(k - longer) * short_ones * short_ones +
                         (double)longer * (short_ones + 1) * (short_ones + 1);
        double cost = 0.23 * k / n + 0.124 * squares / ((double)n * n);
        if (cost < best) best = cost;
    }
    return best;
}

static void a_ring_is_arcs(void **state)
{
    (void)state;
    for (uint32_t n = 5; n <= 150; n = n * 3 / 2) {
        struct hark_matrix m = matrix_of(n, ring, &n);
        by_every_effort(&m, best_of_ring(n), best_of_ring(n) * 1.02, 0.124);
        hark_matrix_free(&m);
    }
}

static void a_grid_is_no_worse_than_tiles(void **state)
{
    uint32_t w = 16;
    struct hark_matrix m = matrix_of(256, grid, &w);
    struct hark_partition_options o = defaults();
    double best = 1;
    (void)state;
    for (uint32_t x = 1; x <= 16; x *= 2) /* tiles of 16/x by 16/y */
        for (uint32_t y = 1; y <= 16; y *= 2) {
            double cost = 0.23 * ((x - 1) * 16 + (y - 1) * 16) / (2 * 16 * 15.0) + 0.124 / (x * y);
            if (cost < best) best = cost;
        }
    for (size_t e = 0; e < 2; e++) {
        o.effort = efforts[e];
        struct hark_partition p = find(&m, &o);
        partition_ok(&p, &m, &o);
        assert_true(p.cost <= best + 1e-12);
        hark_partition_free(&p);
    }
    hark_matrix_free(&m);
}

static void a_star_keeps_some_of_its_leaves(void **state)
{
    struct hark_matrix m = matrix_of(16, star, NULL);
    (void)state;
    for (int percent = 1; percent <= 23; percent += 2)
        for (size_t e = 0; e < 2; e++) {
            struct hark_partition_options o = defaults();
            double best = 1;
            o.cost.alpha = percent / 100.0;
            o.effort = efforts[e];
            for (int leaves = 0; leaves <= 15; leaves++) {
                double squares = (leaves + 1) * (leaves + 1) + 15 - leaves;
                double cost = o.cost.alpha * (15 - leaves) / 15 + 0.124 * squares / 256;
                if (cost < best) best = cost;
            }
            struct hark_partition p = find(&m, &o);
            partition_ok(&p, &m, &o);
            assert_true(same(p.cost, best));
            hark_partition_free(&p);
        }
    hark_matrix_free(&m);
}

static void one_rank_and_no_messages(void **state)
{
    struct hark_matrix one = matrix_of(1, nothing, NULL), two = matrix_of(2, nothing, NULL),
                       many = matrix_of(100, nothing, NULL);
    (void)state;
    by_every_effort(&one, 0.124, 0.124, 0.124);
    by_every_effort(&two, 0.062, 0.062, 0.062);
    by_every_effort(&many, 0.00124, 0.00124, 0.00124);
    hark_matrix_free(&one);
    hark_matrix_free(&two);
    hark_matrix_free(&many);
}

static void the_order_of_a_chain_is_turned(void **state)
{
    struct hark_matrix m = matrix_of(8, chain, NULL);
    struct hark_partition_options o = defaults();
    (void)state;
    o.cost.ordered = true;
    for (size_t e = 0; e < 2; e++) {
        o.effort = efforts[e];
        struct hark_partition p = find(&m, &o); /* each alone, the receiver before its sender:
                                                   nothing is logged */
        partition_ok(&p, &m, &o);
        assert_int_equal(p.clusters, 8);
        assert_int_equal(p.figures.logged, 0);
        for (uint32_t v = 0; v < 8; v++) assert_int_equal(p.of[v], 7 - v);
        hark_partition_free(&p);
    }
    hark_matrix_free(&m);
}

/* ---- any graph */

static uint64_t by_chance(uint32_t from, uint32_t to, void *self)
{
    uint64_t x = draw(self);
    return x % 7 == 0 || from + 1 == to ? x >> 34 : 0;
}

static void whatever_the_graph_and_the_bounds(void **state)
{
    uint64_t seed = 3;
    (void)state;
    for (int i = 0; i < 150; i++) {
        uint32_t ranks = 1 + (uint32_t)(draw(&seed) % 40), node[40];
        struct hark_matrix m = matrix_of(ranks, by_chance, &seed);
        struct hark_partition_options o = defaults();
        o.effort = efforts[draw(&seed) % 3];
        o.seed = draw(&seed) % 5;
        o.cost.ordered = draw(&seed) % 3 == 0;
        o.cost.alpha = (double)(draw(&seed) % 50) / 100;
        if (draw(&seed) % 2) { /* bounds that can be kept: K of them between */
            uint32_t k = 1 + (uint32_t)(draw(&seed) % ranks);
            o.least = ranks / k;
            o.most = (ranks + k - 1) / k + (uint32_t)(draw(&seed) % 3);
        } else if (draw(&seed) % 2) {
            for (uint32_t v = 0; v < ranks; v++)
                node[v] = (uint32_t)(draw(&seed) % (ranks / 3 + 1));
            o.node = node;
        }
        struct hark_partition p = find(&m, &o), again = find(&m, &o);
        partition_ok(&p, &m, &o);
        assert_int_equal(p.clusters, again.clusters);
        assert_memory_equal(p.of, again.of, ranks * sizeof *p.of);
        hark_partition_free(&again);

        struct hark_partition_options better = o; /* from what there is: no worse */
        better.improve = p.of;
        better.effort = HARK_PARTITION_FAST;
        again = find(&m, &better);
        partition_ok(&again, &m, &better);
        assert_true(again.cost <= p.cost + 1e-12);
        if (same(again.cost, p.cost) && o.effort != HARK_PARTITION_PAPER)
            assert_int_equal(again.changed, 0);
        hark_partition_free(&again);
        hark_partition_free(&p);
        hark_matrix_free(&m);
    }
}

/* The least cost of all clusters of whole nodes, by trying them: the numbers of clusters of nodes
 * count up, none is more than one above those before it. */
static double least_of_nodes(const struct hark_matrix *m, const struct hark_partition_options *o,
    const uint32_t *node, uint32_t nodes)
{
    uint32_t of[40], cluster[5] = {0};
    double least = INFINITY;
    for (;;) {
        struct hark_partition p = {.ranks = m->ranks, .of = of};
        for (uint32_t v = 0; v < m->ranks; v++) of[v] = cluster[node[v]];
        for (uint32_t i = 0; i < nodes; i++)
            if (cluster[i] >= p.clusters) p.clusters = cluster[i] + 1;
        assert_int_equal(hark_partition_measure(&p, m, &o->cost), 0);
        if (p.cost < least) least = p.cost;
        uint32_t i = nodes;
        for (uint32_t most; --i > 0; cluster[i] = 0) {
            most = 0;
            for (uint32_t k = 0; k < i; k++)
                if (cluster[k] >= most) most = cluster[k] + 1;
            if (++cluster[i] <= most) break;
        }
        if (i == 0) return least;
    }
}

/* What ranks of one node send each other is of all messages too. */
static void messages_within_nodes(void **state)
{
    uint64_t seed = 11;
    (void)state;
    for (int i = 0; i < 80; i++) {
        const uint32_t nodes = 2 + (uint32_t)(draw(&seed) % 4),
                       each = 2 + (uint32_t)(draw(&seed) % 3);
        uint32_t node[40];
        struct hark_matrix m = matrix_of(nodes * each, by_chance, &seed);
        struct hark_partition_options o = defaults();
        o.effort = HARK_PARTITION_BEST;
        for (uint32_t v = 0; v < nodes * each; v++) node[v] = v / each;
        for (uint32_t v = 0; v + 1 < nodes * each; v++) /* more within than between */
            for (uint64_t k = m.first[v]; k < m.first[v + 1]; k++)
                if (node[m.column[k]] == node[v]) m.value[k] *= 20;
        o.node = node;
        struct hark_partition p = find(&m, &o);
        const double least = least_of_nodes(&m, &o, node, nodes);
        assert_true(p.cost < least + 1e-12 && p.cost > least - 1e-12);
        hark_partition_free(&p);
        hark_matrix_free(&m);
    }
}

static void few_ranks_change(void **state)
{
    uint32_t count = 8, of[64];
    struct hark_matrix m = matrix_of(64, clique, &count);
    struct hark_partition_options o = defaults();
    (void)state;
    for (uint32_t v = 0; v < 64; v++) of[v] = 60 - v % 8; /* the numbers are any */
    o.improve = of;
    struct hark_partition p = find(&m, &o);
    assert_int_equal(p.changed, 0);
    hark_partition_free(&p);
    of[9] = 58;
    of[20] = 1;
    p = find(&m, &o);
    assert_int_equal(p.changed, 2);
    assert_true(same(p.cost, 0.124 / 8));
    hark_partition_free(&p);
    hark_matrix_free(&m);
}

/* ---- one's own */

static int rank_by_rank(void *self, const struct hark_graph *g, uint64_t seed, uint32_t *side)
{
    (void)seed;
    ++*(int *)self;
    if (*(int *)self == 1000) return -EIO;
    for (uint32_t v = 0; v < g->vertices; v++)
        side[v] = *(int *)self >= 2000 ? 2 : v >= g->vertices / 2;
    return 0;
}

static void a_bisection_of_ones_own(void **state)
{
    uint32_t n = 32;
    int calls = 0;
    struct hark_matrix m = matrix_of(n, ring, &n);
    struct hark_partition_options o = defaults();
    char error[HARK_PARTITION_ERROR] = "";
    (void)state;
    o.effort = HARK_PARTITION_PAPER;
    o.bisect = rank_by_rank;
    o.self = &calls;
    struct hark_partition p = find(&m, &o);
    partition_ok(&p, &m, &o);
    assert_int_equal(p.clusters, 4);
    assert_true(calls > 3);
    for (uint32_t v = 0; v < n; v++) assert_int_equal(p.of[v], v / 8);
    hark_partition_free(&p);
    calls = 999;
    assert_int_equal(hark_partition(&p, &m, &o, error), -EIO);
    assert_string_equal(error, "the bisection failed");
    calls = 2000;
    assert_int_equal(hark_partition(&p, &m, &o, error), -EINVAL);
    hark_matrix_free(&m);
}

static void a_cost_of_ones_own(void **state)
{
    uint32_t n = 24;
    int calls = 0;
    struct hark_matrix m = matrix_of(n, ring, &n);
    (void)state;
    for (size_t e = 0; e < 2; e++) {
        struct hark_partition_options o = defaults();
        o.effort = efforts[e];
        o.cost.function = two_costs_more;
        o.cost.self = &calls;
        struct hark_partition p = find(&m, &o);
        partition_ok(&p, &m, &o);
        assert_int_equal(p.clusters, 3);
        assert_true(calls > 10);
        hark_partition_free(&p);
        o.cost.function = eq2; /* the same as if it were not there */
        p = find(&m, &o);
        assert_true(same(p.cost, eq2(NULL, &p.figures)));
        assert_true(p.cost < best_of_ring(n) * 1.02);
        hark_partition_free(&p);
    }
    hark_matrix_free(&m);
}

/* ---- what is refused */

static void refused(const struct hark_matrix *m, const struct hark_partition_options *o, int status,
    const char *text)
{
    struct hark_partition p;
    char error[HARK_PARTITION_ERROR] = "";
    assert_int_equal(hark_partition(&p, m, o, error), status);
    assert_string_equal(error, text);
    assert_null(p.of);
}

static void what_can_not_be_is_said(void **state)
{
    uint32_t n = 10, node[10] = {0, 0, 0, 0, 0, 1, 2, 3, 4, 5}, wrong[10] = {0, 0, 0, 0, 10};
    struct hark_matrix m = matrix_of(n, ring, &n), none = {0};
    struct hark_partition_options o = defaults();
    (void)state;
    o.least = 5, o.most = 4;
    refused(&m, &o, -EINVAL, "clusters of at least 5 and at most 4 ranks: there are none");
    o.least = 11, o.most = 0;
    refused(&m, &o, -EINVAL, "clusters of at least 11 and at most 10 ranks: there are none");
    o.least = 6, o.most = 9;
    refused(&m, &o, -EINVAL, "10 ranks can not be clusters of 6 to 9");
    o.least = 0, o.most = 4, o.node = node;
    refused(&m, &o, -EINVAL, "clusters of at most 4 ranks: a node has 5");
    o.most = 0, o.node = wrong;
    refused(&m, &o, -EINVAL, "rank 4 is in node 10: expected numbers below 10");
    o.node = NULL, o.improve = wrong;
    refused(&m, &o, -EINVAL, "rank 4 is in cluster 10: expected numbers below 10");
    o = defaults();
    o.cost.alpha = (double)NAN;
    refused(&m, &o, -EINVAL, "alpha and beta: expected finite numbers, not negative");
    o.cost.alpha = -0.1;
    refused(&m, &o, -EINVAL, "alpha and beta: expected finite numbers, not negative");
    o = defaults();
    refused(&none, &o, -EINVAL, "a matrix of no ranks");
    o.backend = HARK_CUT_METIS;
    if (!hark_cut_has(HARK_CUT_METIS))
        refused(&m, &o, -ENOTSUP, "this hark was built without METIS");
    o.backend = HARK_CUT_SCOTCH;
    if (!hark_cut_has(HARK_CUT_SCOTCH))
        refused(&m, &o, -ENOTSUP, "this hark was built without Scotch");
    hark_matrix_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(costs_counted_by_hand),
        cmocka_unit_test(cliques_are_clusters), cmocka_unit_test(a_ring_is_arcs),
        cmocka_unit_test(a_grid_is_no_worse_than_tiles),
        cmocka_unit_test(a_star_keeps_some_of_its_leaves),
        cmocka_unit_test(one_rank_and_no_messages),
        cmocka_unit_test(the_order_of_a_chain_is_turned),
        cmocka_unit_test(whatever_the_graph_and_the_bounds),
        cmocka_unit_test(messages_within_nodes), cmocka_unit_test(few_ranks_change),
        cmocka_unit_test(a_bisection_of_ones_own), cmocka_unit_test(a_cost_of_ones_own),
        cmocka_unit_test(what_can_not_be_is_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
