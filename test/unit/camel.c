/* camel.h, group.h, causal/multicast.h: trees, reductions in a row, fan-outs in batches, and what
 * is refused. Who keeps what, and what goes where after failures, is in test/paper/camel.c;
 * failures are searched: test/scenario/camel-*.hark. */
#include "trees.h"

enum { UP = 2 };

static const struct hark_group both[] = {
    {.ctx = CTX, .root = R, .member = member, .parent = parent, .count = N},
    {.ctx = UP, .reduces = 1, .root = R, .member = member, .parent = parent, .count = N}};
static const struct hark_config with_both = {.groups = both, .group_count = 2, .copies = 1};

static void point(struct job *j, uint32_t who, bool due)
{
    struct hark_event e = {.type = HARK_CHECKPOINT_POINT};
    e.u.point.due = due;
    assert_int_equal(step(j, who, e, NULL), HARK_OK);
    settle(j);
}

/* What arrives while the root stands still is combined when it goes on, of two groups one after the
 * other. */
static void two_at_once(void **state)
{
    static const struct hark_group reductions[] = {
        {.ctx = CTX, .reduces = 1, .root = R, .member = member, .parent = parent, .count = N},
        {.ctx = UP, .reduces = 1, .root = R, .member = member, .parent = parent, .count = N}};
    const struct hark_config twice = {.groups = reductions, .group_count = 2, .copies = 1};
    struct job j;
    struct hark_event failed = {.type = HARK_STORED};
    (void)state;
    begin(&j, "camel", &twice, NULL);
    for (uint32_t group = CTX; group <= UP; group++)
        assert_int_equal(multicast(&j, R, group), HARK_OK);
    point(&j, R, true);
    for (uint32_t i = S; i < N; i++)
        for (uint32_t group = CTX; group <= UP; group++)
            assert_int_equal(multicast(&j, i, group), HARK_OK);
    settle(&j);
    for (uint32_t i = S; i < N; i++) point(&j, i, false);
    assert_int_equal(j.handed_up, 0);
    failed.u.stored.of = HARK_CAPTURE;
    failed.u.stored.id = 1;
    assert_int_equal(step(&j, R, failed, NULL), HARK_OK);
    settle(&j);
    assert_int_equal(j.handed_up, 2);
    end(&j);
}

/* Ahead of others by some reductions: each is combined for itself, and the results come in order.
 */
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

static void stored(struct job *j, uint32_t who, uint8_t of, uint64_t *id)
{
    struct hark_event e = {.type = HARK_STORED};
    if (*id == 0) return;
    e.u.stored.of = of;
    e.u.stored.fact = HARK_FACT_WAVE;
    e.u.stored.id = *id;
    e.u.stored.ok = 1;
    *id = 0;
    assert_int_equal(step(j, who, e, NULL), HARK_OK);
    settle(j);
}

static void checkpoint(struct job *j)
{
    for (uint32_t i = R; i < N; i++) point(j, i, i == R);
    for (uint32_t i = R; i < N; i++) stored(j, i, HARK_CAPTURE, &j->capture[i]);
    for (uint32_t i = R; i < N; i++) stored(j, i, HARK_PERSIST, &j->persist[i]);
}

/* What came to the root is in two logs, and goes from both with the checkpoint that has it. */
static void kept_until_checkpoint(void **state)
{
    struct hark_config once = with_both;
    struct job j;
    (void)state;
    once.generations = 1;
    begin(&j, "camel", &once, NULL);
    for (uint32_t round = 1; round <= 2; round++) {
        for (uint32_t i = R; i < N; i++) assert_int_equal(multicast(&j, i, UP), HARK_OK);
        settle(&j);
        take(&j, R);
        for (uint32_t i = R; i < N; i++) assert_int_equal(named(&j, i, false), i == R || i == S);
        checkpoint(&j);
        for (uint32_t i = R; i < N; i++) assert_int_equal(named(&j, i, false), 0);
        assert_int_equal(j.gone.way, HARK_IN);
        assert_int_equal(j.gone.to, HARK_GROUP);
        assert_int_equal(j.gone.ssn, round);
    }
    end(&j);
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
    for (uint16_t ctx = 0; ctx <= UP + 1; ctx++) { /* a message to one does not go on the context of
                                                      a group */
        struct hark_event e = {.type = HARK_SEND};
        e.u.send.peer = S;
        e.u.send.to = HARK_PROCESS;
        e.u.send.ctx = ctx;
        assert_int_equal(step(&j, R, e, NULL), ctx == CTX || ctx == UP ? HARK_EINVAL : HARK_OK);
    }
    end(&j);
    begin(&j, "scmel", &with_both, NULL);
    assert_int_equal(multicast(&j, R, CTX), HARK_EINVAL);
    end(&j);
}

static void bad_trees(void **state)
{
    struct hark_config c = {.me = R, .ranks = N, .groups = both, .group_count = 2, .copies = 2};
    struct hark *p = malloc(BLOCK);
    (void)state;
    refuse_bad_trees("camel");
    assert_int_equal(hark_camel_init(p, BLOCK, &c), HARK_EINVAL); /* a reduction has one copy of
                                                                     what is complete */
    c.group_count = 1;
    assert_int_equal(hark_camel_init(p, BLOCK, &c), HARK_OK);
    c.group_count = 2;
    c.copies = 1;
    assert_int_equal(hark_camel_init(p, BLOCK, &c), HARK_OK);
    free(p);
}

/* ---- trees ----------------------------------------------------------------------------------- */

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

/* Everybody is below the root, no deeper than such trees are, with no more children than they have.
 */
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
            for (uint32_t i = 0; i < count; i++)
                assert_true(depth(of, above, count, of[i]) <= bits);
            assert_int_equal(children(of, above, count, of[root]), bits);
            assert_int_equal(hark_tree_kary(of, count, of[root], 3, above), HARK_OK);
            for (uint32_t reach = 1, row = 1; reach < count; levels++, row *= 3, reach += row) {
            }
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

/* One piece for each run of neighbours of a team, entered by one edge; the root alone is above
 * others from its own. */
static void trees_of_teams(void **state)
{
    static const char *const letters[] = {
        "aaaaaaaaa", "abcdefghi", "aaabbbccc", "abbbbcccd", "aabbbbbbb", "aaaabcdef"};
    (void)state;
    for (uint32_t k = 0; k < HARK_COUNT(letters); k++) {
        for (uint32_t root = 0; root < N; root++) {
            uint32_t team[N], above[N], enter[256] = {0};
            struct hark_group t = {
                .ctx = 1, .root = root, .member = member, .parent = above, .count = N};
            for (uint32_t i = 0; i < N; i++) team[i] = (uint8_t)letters[k][i];
            assert_int_equal(hark_tree_teams(member, N, root, team, above), HARK_OK);
            for (uint32_t i = 0; i < N; i++) {
                assert_true(depth(member, above, N, i) <= 8);
                if (team[above[i]] == team[i]) continue;
                enter[team[i]]++;
                assert_true(above[i] == root || team[above[i]] != team[root]);
            }
            for (uint32_t i = 0; i < N; i++)
                assert_int_equal(enter[team[i]], team[i] != team[root]);
            assert_true(hark_tree_in_teams(&t, team));
        }
    }
    static const uint32_t apart[N] = {1, 2, 2, 3, 4, 5, 6, 7, 8},
                          inner[N] = {1, 1, 2, 3, 5, 6, 4, 4, 4},
                          twice[N] = {1, 2, 3, 2, 2, 4, 3, 3, 4},
                          fits[N] = {1, 1, 2, 1, 1, 3, 2, 2, 2};
    assert_false(hark_tree_in_teams(&figure, apart)); /* S and T are of one team, and neither is
                                                         above the other */
    assert_false(hark_tree_in_teams(&figure, inner)); /* U is below S, who is of the root's team */
    assert_false(hark_tree_in_teams(&figure, twice)); /* W and Z */
    assert_true(hark_tree_in_teams(&figure, fits));
    uint32_t above[N];
    assert_int_equal(hark_tree_teams(member, N, N, apart, above), HARK_EINVAL);
}

/* An image in which one field of a group of `who` is another, or a channel is missing, is none. */
static int unpacked(
    struct job *j, uint32_t who, const struct hark_scmel_group *changed, bool channels)
{
    static uint8_t image[1 << 14], after[1 << 14];
    struct hark *p = j->core[who];
    struct hark_scmel *s = (struct hark_scmel *)(void *)p;
    struct hark_scmel_group *g = (struct hark_scmel_group *)hark_row(p, &s->groups, 1), was = *g;
    const struct hark_shape *shape = hark_protocol_named("camel")->shape;
    struct hark_scmel_channel row = *hark_scmel_at(s, 0);
    *g = *changed;
    if (!channels) hark_remove(p, &s->endpoint.channels, 0);
    uint64_t n = hark_pack(p, shape, image, sizeof image), length;
    if (!channels) *(struct hark_scmel_channel *)hark_insert(p, &s->endpoint.channels, 0) = row;
    *(struct hark_scmel_group *)hark_row(p, &s->groups, 1) = was; /* tables may have moved */
    int status = hark_unpack(p, shape, (struct hark_bytes){image, (uint32_t)n});
    length = hark_pack(p, shape, after, sizeof after);
    if (status == HARK_OK) assert_memory_equal(after, image, length);
    return status;
}

static void groups_of_images(void **state)
{
    struct job j;
    struct hark_scmel_group true_one[N], g;
    (void)state;
    begin(&j, "camel", &with_both, NULL);
    for (uint32_t i = 0; i < N; i++) {
        true_one[i] = *hark_scmel_group((struct hark_scmel *)(void *)j.core[i], UP);
        assert_int_equal(unpacked(&j, i, &true_one[i], true), HARK_OK);
    }
#define WRONG(who, field, value)                                                                   \
    do {                                                                                           \
        g = true_one[who];                                                                         \
        g.field = value;                                                                           \
        assert_int_equal(unpacked(&j, who, &g, true), HARK_EIMAGE);                                \
    } while (0)
    WRONG(S, ctx, 0x10002);
    WRONG(S, ctx, CTX);
    WRONG(S, ctx, 0);
    WRONG(S, root, N);
    WRONG(S, parent, N);
    WRONG(S, parent, S);
    WRONG(S, parent, Z);
    WRONG(R, parent, S);
    WRONG(S, first, 0);
    WRONG(S, whole_first, 0);
    WRONG(S, done, UINT64_MAX);
    WRONG(S, whole_root, 1);
    WRONG(R, keeps, 1);
    WRONG(U, keeps, 1);
    g = true_one[R];
    g.whole_root = g.whole_keeper = 1;
    assert_int_equal(unpacked(&j, R, &g, true), HARK_OK);
    g.reduces = 0;
    assert_int_equal(unpacked(&j, R, &g, true), HARK_EIMAGE);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(unpacked(&j, i, &true_one[i], false), HARK_EIMAGE);
    end(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(groups_of_images),
        cmocka_unit_test(two_at_once), cmocka_unit_test(reductions_in_a_row),
        cmocka_unit_test(kept_until_checkpoint), cmocka_unit_test(in_batches),
        cmocka_unit_test(refused), cmocka_unit_test(bad_trees), cmocka_unit_test(trees),
        cmocka_unit_test(trees_of_teams)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
