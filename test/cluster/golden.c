/* The same matrix, options and seed: the same clusters, whatever the compiler. What stands here was
 * printed by this program. */
#include "graphs.h"

static uint64_t hash_of(const struct hark_partition *p) /* FNV-1a over the cluster of each rank */
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (uint32_t v = 0; v < p->ranks; v++) h = (h ^ p->of[v]) * UINT64_C(0x100000001b3);
    return h;
}

static const struct {
    const char *matrix;
    enum hark_partition_effort effort;
    bool ordered;
    uint64_t hash;
} golden[] = {
#include "golden.h"
};

static void clusters_are_the_same(void **state)
{
    bool ok = true;
    (void)state;
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
        struct hark_matrix m = read_pattern(golden[i].matrix);
        struct hark_partition_options o;
        hark_partition_defaults(&o);
        o.effort = golden[i].effort;
        o.cost.ordered = golden[i].ordered;
        struct hark_partition p = find(&m, &o);
        partition_ok(&p, &m, &o);
        if (hash_of(&p) != golden[i].hash) ok = false;
        printf("    {\"%s\", %s, %s, UINT64_C(0x%016llx)},%s\n", golden[i].matrix,
            o.effort == HARK_PARTITION_FAST   ? "HARK_PARTITION_FAST"
            : o.effort == HARK_PARTITION_BEST ? "HARK_PARTITION_BEST"
                                              : "HARK_PARTITION_PAPER",
            o.cost.ordered ? "true" : "false", (unsigned long long)hash_of(&p),
            hash_of(&p) == golden[i].hash ? "" : " /* not as it was */");
        hark_partition_free(&p);
        hark_matrix_free(&m);
    }
    assert_true(ok);
}

/* ---- beside others */

/* The least that a backend comes to that is asked for many numbers of parts, nearly equal ones and
 * others. */
static double least_of(
    const struct hark_matrix *m, const struct hark_graph *g, enum hark_cut_backend backend)
{
    static const uint32_t counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16, 20, 24, 32};
    static const double slacks[] = {0.03, 0.1, 0.3};
    struct hark_cluster_cost cost = {.alpha = 0.23, .beta = 0.124};
    struct hark_partition p = {.ranks = m->ranks, .of = malloc(m->ranks * sizeof *p.of)};
    double least = 1;
    assert_non_null(p.of);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (size_t s = 0; s < sizeof slacks / sizeof slacks[0]; s++) {
            p.clusters = counts[i];
            assert_int_equal(hark_graph_cut(g, counts[i], slacks[s], 1, backend, p.of), 0);
            assert_int_equal(hark_partition_measure(&p, m, &cost), 0);
            if (p.cost < least) least = p.cost;
        }
    free(p.of);
    return least;
}

static void no_sweep_comes_to_less(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
        if (golden[i].effort != HARK_PARTITION_FAST || golden[i].ordered) continue;
        struct hark_matrix m = read_pattern(golden[i].matrix);
        struct hark_partition_options o;
        struct hark_graph g;
        hark_partition_defaults(&o);
        struct hark_partition p = find(&m, &o);
        assert_int_equal(hark_graph_of(&g, &m), 0);
        for (int b = HARK_CUT_BUILTIN; b <= HARK_CUT_METIS_RECURSIVE; b++) {
            if (!hark_cut_has((enum hark_cut_backend)b)) continue;
            double least = least_of(&m, &g, (enum hark_cut_backend)b);
            if (p.cost > least + 1e-12)
                fail_msg("%s: %.6f, %s comes to %.6f", golden[i].matrix, p.cost,
                    hark_cut_name((enum hark_cut_backend)b), least);
        }
        hark_graph_free(&g);
        hark_partition_free(&p);
        hark_matrix_free(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_are_the_same), cmocka_unit_test(no_sweep_comes_to_less)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
