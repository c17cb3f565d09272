/* camel.h, group.h, scmel_cast.h: trees, and multicasts without failures: who keeps what, who passes on what. Failures are
 * searched: test/scenario/camel-*.hark. The tree of CAMEL's Figure 3(b): R to S and T, S to U and V, T to W and X, X to Y and Z. */
#include "trees.h"

enum { UP = 2 };

static const struct hark_tree both[] = {{.ctx = CTX, .root = R, .member = member, .parent = parent, .count = N},
    {.ctx = UP, .reduces = 1, .root = R, .member = member, .parent = parent, .count = N}};
static const struct hark_config with_both = {.trees = both, .tree_count = 2, .copies = 1};

static uint64_t determinants(const struct job *j)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < N; i++) n += ((const struct hark_scmel *)(const void *)j->core[i])->rsn;
    return n;
}

/* "Message copy is avoided at the intermediate nodes": one in the log instead of one for each that sends; a determinant for each
 * delivery; on the edges below the root's children none travel. (9.3: 1 and 4, 8 and 8, 2 of 8 edges.) */
static void figure_3(void **state)
{
    struct job j;
    (void)state;
    begin(&j, "camel", &with_both, NULL);
    struct hark_event to_root = {.type = HARK_SEND}; /* so that the root has a determinant to send along */
    to_root.u.send.peer = R;
    assert_int_equal(step(&j, Z, to_root, NULL), HARK_OK);
    settle(&j);
    take(&j, R);
    j.sent = j.retained = j.handed_up = j.carried = 0;
    uint64_t before = determinants(&j);
    assert_int_equal(multicast(&j, R, CTX), HARK_OK);
    assert_int_equal(j.sent, 2); /* S and T */
    assert_int_equal(j.frame[0].name.to, HARK_GROUP);
    settle(&j);
    for (uint32_t i = S; i < N; i++) take(&j, i);
    assert_int_equal(j.sent, N - 1);
    assert_int_equal(j.retained, 1);
    assert_int_equal(j.handed_up, N - 1);
    assert_int_equal(j.carried, 2);
    assert_int_equal(determinants(&j) - before, N - 1);
    end(&j);
}

/* "All the intermediate messages are removed once the reduction finishes", but those of the root's children: while it runs
 * each has its own in the log (and its children's until they are combined), then only S and T, and the root what it
 * gives back. The root's delivery of the result is the only one with a determinant. (9.3: 8 while it runs, then 2.) */
static void figure_3_reduction(void **state)
{
    struct job j;
    uint64_t log = 0;
    (void)state;
    begin(&j, "camel", &with_both, NULL);
    uint64_t before = determinants(&j);
    for (uint32_t i = N; i-- > R + 1;) assert_int_equal(multicast(&j, i, UP), HARK_OK);
    settle(&j);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(named(&j, i, false), i != R);
        assert_int_equal(named(&j, i, true), i == R ? 2 : 0); /* the agglomerates of S and T */
    }
    assert_int_equal(multicast(&j, R, UP), HARK_OK);
    settle(&j);
    assert_int_equal(j.handed_up, 1);
    take(&j, R);
    assert_int_equal(determinants(&j) - before, 1);
    for (uint32_t i = 0; i < N; i++) log += named(&j, i, false) + named(&j, i, true);
    assert_int_equal(log, 3);
    assert_int_equal(named(&j, S, false) + named(&j, T, false), 2);
    assert_int_equal(j.trimmed, N - 3 + 1); /* of all but R, S, T; and the result, which is under way to its root */
    assert_int_equal(j.carried, 0);
    end(&j);
}

/* Ahead of others by some reductions: each is combined for itself, and the results come in order. */
static void reductions_in_a_row(void **state)
{
    enum { ROW = 5 };
    struct job j;
    (void)state;
    for (uint32_t first = 0; first < N; first++) {
        begin(&j, "camel", &with_both, NULL);
        for (uint32_t i = 0; i < N; i++)
            for (uint32_t n = 0; n < ROW; n++) {
                assert_int_equal(multicast(&j, (first + i) % N, UP), HARK_OK);
                settle(&j);
            }
        assert_int_equal(j.handed_up, ROW);
        assert_int_equal(hark_get64(j.up[R].header + 24), ROW);
        assert_int_equal(j.most_parts, 3);
        end(&j);
    }
}

static void in_batches(void **state)
{
    (void)state;
    assert_true(fan_out("camel", false) > 2);
    assert_true(fan_out("camel", true) > 2);
}

/* The root only (C-7), to a group that there is, under a protocol that knows of them. */
static void refused(void **state)
{
    struct job j;
    (void)state;
    begin(&j, "camel", &with_both, NULL);
    assert_int_equal(multicast(&j, S, CTX), HARK_EINVAL);
    assert_int_equal(multicast(&j, R, UP + 1), HARK_EINVAL);
    assert_int_equal(multicast(&j, R, 0), HARK_EINVAL);
    assert_int_equal(multicast(&j, R, UINT32_MAX), HARK_EINVAL);
    end(&j);
    begin(&j, "scmel", &with_both, NULL);
    assert_int_equal(multicast(&j, R, CTX), HARK_EINVAL);
    end(&j);
}

static void bad_trees(void **state)
{
    struct hark_config c = {.me = R, .ranks = N, .trees = &figure, .tree_count = 1, .copies = 2};
    struct hark *p = malloc(BLOCK);
    (void)state;
    refuse_bad_trees("camel");
    assert_int_equal(hark_camel_init(p, BLOCK, &c), HARK_EINVAL);
    c.copies = 1;
    assert_int_equal(hark_camel_init(p, BLOCK, &c), HARK_OK);
    free(p);
}

/* ---- trees -------------------------------------------------------------------------------------------------------- */

static uint32_t depth(const uint32_t *of, const uint32_t *above, uint32_t count, uint32_t rank)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i <= count; i++) {
        uint32_t at = 0;
        while (of[at] != rank) at++;
        if (above[at] == rank) return n;
        rank = above[at];
        n++;
    }
    fail_msg("a circle");
    return 0;
}

static uint32_t children(const uint32_t *of, const uint32_t *above, uint32_t count, uint32_t rank)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) n += above[i] == rank && of[i] != rank;
    return n;
}

/* Everybody is below the root, no deeper than such trees are, with no more children than they have. */
static void trees(void **state)
{
    uint32_t of[40], above[40];
    (void)state;
    for (uint32_t count = 1; count <= 40; count++) {
        for (uint32_t i = 0; i < count; i++) of[i] = 100 + 3 * i;
        for (uint32_t root = 0; root < count; root += 1 + count / 5) {
            uint32_t bits = 0, levels = 0;
            while (1u << bits < count) bits++;
            assert_int_equal(hark_tree_binomial(of, count, of[root], above), HARK_OK);
            for (uint32_t i = 0; i < count; i++) assert_true(depth(of, above, count, of[i]) <= bits);
            assert_int_equal(children(of, above, count, of[root]), bits);
            assert_int_equal(hark_tree_kary(of, count, of[root], 3, above), HARK_OK);
            for (uint32_t reach = 1, row = 1; reach < count; levels++, row *= 3, reach += row) {}
            for (uint32_t i = 0; i < count; i++) {
                assert_true(depth(of, above, count, of[i]) <= levels);
                assert_true(children(of, above, count, of[i]) <= 3);
            }
        }
    }
    assert_int_equal(hark_tree_binomial(of, 40, 99, above), HARK_EINVAL);
    assert_int_equal(hark_tree_kary(of, 40, 99, 2, above), HARK_EINVAL);
    assert_int_equal(hark_tree_kary(of, 40, of[0], 0, above), HARK_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(figure_3), cmocka_unit_test(figure_3_reduction),
        cmocka_unit_test(reductions_in_a_row), cmocka_unit_test(in_batches), cmocka_unit_test(refused), cmocka_unit_test(bad_trees), cmocka_unit_test(trees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
