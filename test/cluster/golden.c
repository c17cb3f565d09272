/* The same matrix, options and seed: the same clusters, whatever the compiler. What stands here was printed by this program. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(clusters_are_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
