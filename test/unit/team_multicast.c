/* causal/multicast.h, causal/reduction.h under teams, and with more copies: what stays in whose
 * log, what goes along, and what is refused. Failures are searched: test/scenario/team-cast*.hark,
 * team-reduce*.hark, camel-k2*.hark. */
#include "trees.h"

enum { UP = 2 };

static const struct hark_group both[] = {
    {.ctx = CTX, .root = R, .member = member, .parent = parent, .count = N},
    {.ctx = UP, .reduces = 1, .root = R, .member = member, .parent = parent, .count = N}};
static const struct hark_config together = {
    .groups = both, .group_count = 2, .copies = 1, .flags = HARK_WAVES_ALL};
static const struct hark_config two_copies = {.groups = both, .group_count = 1, .copies = 2};

/* R with S, U and V; T with X, Y and Z; and W below T. */
static const char mixed[] = "aabaacbbb", one[] = "aaaaaaaaa", alone[] = "abcdefghi";

static void multicast_in_log(void **state)
{
    static const struct {
        const char *teams;
        uint32_t retained;
    } kind[] = {{one, 0}, {mixed, 1}, {alone, 1}};
    (void)state;
    for (uint32_t i = 0; i < HARK_COUNT(kind); i++) {
        struct job j;
        begin(&j, "team", &together, kind[i].teams);
        assert_int_equal(multicast(&j, R, CTX), HARK_OK);
        settle(&j);
        assert_int_equal(j.handed_up, N - 1);
        assert_int_equal(j.retained, kind[i].retained);
        assert_int_equal(named(&j, R, false), kind[i].retained);
        for (uint32_t who = S; who < N; who++) assert_int_equal(named(&j, who, false), 0);
        end(&j);
    }
}

/* Who still has something of a reduction that is complete: the root, and one child that does not go
 * back with it. */
static void reduction_in_log(void **state)
{
    static const struct {
        const char *teams;
        uint32_t kept[N];
    } kind[] = {{one, {0}}, {mixed, {[R] = 1, [T] = 1}}, {alone, {[R] = 1, [S] = 1}}};
    (void)state;
    for (uint32_t i = 0; i < HARK_COUNT(kind); i++) {
        struct job j;
        begin(&j, "team", &together, kind[i].teams);
        for (uint32_t who = 0; who < N; who++) assert_int_equal(multicast(&j, who, UP), HARK_OK);
        settle(&j);
        assert_int_equal(j.handed_up, 1);
        take(&j, R);
        for (uint32_t who = 0; who < N; who++)
            assert_int_equal(named(&j, who, false), kind[i].kept[who]);
        end(&j);
    }
}

/* Before it is complete, what has gone up inside a team is gone there already, and what crosses
 * teams is not. */
static void contribution_in_log(void **state)
{
    static const uint32_t kept[N] = {[S] = 1, [T] = 1, [W] = 1};
    struct job j;
    (void)state;
    begin(&j, "team", &together, mixed);
    for (uint32_t who = T; who < N; who++) assert_int_equal(multicast(&j, who, UP), HARK_OK);
    settle(&j);
    assert_int_equal(multicast(&j, S, UP), HARK_OK); /* on its way to R, whose own is lacking */
    for (uint32_t who = S; who < N; who++)
        assert_int_equal(named(&j, who, false), who == S ? 0 : kept[who]);
    end(&j);
}

static void send(struct job *j, uint32_t from, uint32_t to)
{
    struct hark_event e = {.type = HARK_SEND};
    e.u.send.peer = to;
    e.u.send.to = HARK_PROCESS;
    assert_int_equal(step(j, from, e, NULL), HARK_OK);
}

/* The first frame between these arrives; false: there is none. */
static bool pass(struct job *j, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < j->frames; i++) {
        struct frame f = j->frame[i];
        if (f.from != from || f.to != to) continue;
        memmove(&j->frame[i], &j->frame[i + 1], (--j->frames - i) * sizeof f);
        arrive(j, &f);
        return true;
    }
    return false;
}

static const struct frame *between(const struct job *j, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < j->frames; i++)
        if (j->frame[i].from == from && j->frame[i].to == to) return &j->frame[i];
    fail_msg("nothing is under way from %u to %u", from, to);
    return NULL;
}

/* What is under way arrives, and all acknowledge what they owe. */
static void idle_all(struct job *j)
{
    const struct hark_event e = {.type = HARK_IDLE};
    settle(j);
    for (uint32_t i = 0; i < N; i++) assert_int_equal(step(j, i, e, NULL), HARK_OK);
    settle(j);
}

/* R has delivered something that nobody else knows of. */
static void one_loose(
    struct job *j, const char *protocol, const struct hark_config *config, const char *teams)
{
    begin(j, protocol, config, teams);
    send(j, S, R);
    settle(j);
    take(j, R);
    assert_int_equal(hark_unstable(j->core[R]), 1);
}

/* To all it goes along, also where the one in between has it already. */
static void goes_along(void **state)
{
    const struct hark_config lost = {
        .groups = both, .group_count = 1, .flags = HARK_WAVES_ALL | HARK_TEAM_LOST};
    (void)state;
    for (uint32_t way = 0; way < 2; way++) {
        struct job j;
        one_loose(&j, way ? "team" : "camel", way ? &lost : &two_copies, way ? mixed : NULL);
        send(&j, R, S);
        assert_int_equal(between(&j, R, S)->determinants, 1);
        idle_all(&j); /* R knows now that S has it */
        assert_int_equal(hark_unstable(j.core[R]), 1);
        assert_int_equal(multicast(&j, R, CTX), HARK_OK);
        assert_int_equal(between(&j, R, S)->determinants, 1);
        assert_int_equal(between(&j, R, T)->determinants, 1);
        assert_true(pass(&j, R, S) && pass(&j, R, T));
        assert_int_equal(between(&j, S, U)->determinants, 1);
        assert_int_equal(between(&j, S, V)->determinants, 1);
        assert_true(pass(&j, T, X));
        assert_int_equal(between(&j, X, Z)->determinants, 1);
        assert_int_equal(hark_get32(between(&j, X, Z)->header + HARK_WIRE_HEAD + 8), R);
        settle(&j);
        assert_int_equal(j.handed_up, 2 + N - 1);
        assert_int_equal(hark_unstable(j.core[R]), 1);
        idle_all(&j);
        assert_int_equal(hark_unstable(j.core[R]), 0);
        end(&j);
    }
}

/* With one copy it does not: the root's children have it. */
static void goes_alone(void **state)
{
    struct job j;
    (void)state;
    one_loose(&j, "team", &together, mixed);
    assert_int_equal(multicast(&j, R, CTX), HARK_OK);
    assert_int_equal(between(&j, R, S)->determinants, 1);
    assert_true(pass(&j, R, S));
    assert_int_equal(between(&j, S, U)->determinants, 0);
    settle(&j);
    assert_int_equal(j.handed_up, 1 + N - 1);
    end(&j);
}

/* Who passes it on in a later epoch does not say who held a determinant before (S-5). */
static void holders_of_then(void **state)
{
    static const uint32_t down[] = {Y};
    static const struct hark_incarnation inc[] = {{Y, 1}};
    struct hark_event failed = {.type = HARK_FAILED,
        .u.failed = {.re = 1, .down = down, .down_count = 1, .inc = inc, .inc_count = 1}};
    const uint32_t holders = HARK_WIRE_HEAD + 8 + 28;
    struct job j;
    (void)state;
    one_loose(&j, "camel", &two_copies, NULL);
    send(&j, R, U);
    settle(&j);
    idle_all(&j);
    assert_int_equal(multicast(&j, R, CTX), HARK_OK);
    assert_int_equal(hark_get32(between(&j, R, S)->header + holders), U + 1);
    assert_int_equal(step(&j, T, failed, NULL), HARK_OK);
    assert_true(pass(&j, R, S) && pass(&j, R, T));
    assert_int_equal(hark_get32(between(&j, S, U)->header + holders), U + 1);
    assert_int_equal(between(&j, T, W)->determinants, 1);
    assert_int_equal(hark_get32(between(&j, T, W)->header + holders), 0);
    end(&j);
}

/* More than fits into a header: it waits until that is stored elsewhere. */
static void waits_for_room(void **state)
{
    enum { MANY = 40 };
    struct job j;
    (void)state;
    begin(&j, "camel", &two_copies, NULL);
    for (uint32_t i = 0; i < MANY; i++) {
        send(&j, Z, R);
        assert_true(pass(&j, Z, R));
        take(&j, R);
    }
    uint32_t sent = j.sent;
    assert_int_equal(multicast(&j, R, CTX), HARK_OK);
    assert_int_equal(j.sent, sent);
    assert_int_equal(j.retained, MANY + 1);
    settle(&j);
    assert_int_equal(j.handed_up, MANY + N - 1);
    for (uint32_t i = S; i < N; i++) assert_int_equal(j.up[i].name.ctx, CTX);
    end(&j);
}

static void refused(void **state)
{
    static const struct {
        const char *teams; /* R's first */
        uint32_t by;       /* told to */
        bool reduces;
    } bad[] = {{"abbacdeff", T, true},                  /* S and T: two pieces */
        {"abbacdeff", S, true}, {"aabccdeff", S, true}, /* below S, of the root's team */
        {"aabccdeff", R, true}, {"abcaacaaa", U, true}};
    struct hark *p = malloc(BLOCK);
    (void)state;
    for (uint32_t i = 0; i < HARK_COUNT(bad); i++) {
        for (uint32_t way = 0; way < 2; way++) {
            struct hark_range mate[N];
            struct hark_config c = together;
            c.me = bad[i].by;
            c.ranks = N;
            c.cluster = mate;
            c.group_count = 1 + way;
            for (uint32_t k = 0; k < N; k++)
                if (bad[i].teams[k] == bad[i].teams[c.me])
                    mate[c.cluster_count++] = (struct hark_range){k, k};
            assert_int_equal(
                hark_team_init(p, BLOCK, &c), way ? HARK_EINVAL : HARK_OK); /* a
                                                                               multicast
                                                                               goes
                                                                               along
                                                                               any tree
                                                                             */
        }
    }
    struct hark_config c = {
        .me = R, .ranks = N, .groups = both, .group_count = 2, .flags = HARK_WAVES_ALL};
    assert_int_equal(hark_team_init(p, BLOCK, &c), HARK_OK);
    c.copies = 2;
    assert_int_equal(hark_team_init(p, BLOCK, &c), HARK_EINVAL);
    c.group_count = 1;
    assert_int_equal(hark_team_init(p, BLOCK, &c), HARK_OK);
    c.flags = 0;
    assert_int_equal(hark_team_init(p, BLOCK, &c), HARK_EINVAL);
    c.group_count = 0;
    assert_int_equal(hark_team_init(p, BLOCK, &c), HARK_OK);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(multicast_in_log),
        cmocka_unit_test(reduction_in_log), cmocka_unit_test(contribution_in_log),
        cmocka_unit_test(goes_along), cmocka_unit_test(goes_alone),
        cmocka_unit_test(holders_of_then), cmocka_unit_test(waits_for_room),
        cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
