/* HARK_RECLUSTER of hydee, step by step: what is refused, and that nothing is kept which the new
 * clusters do not need. What holds in every order of steps is for the explorer:
 * test/scenario/hydee-regroup-*.hark. */
#include "../paper/job.h"

enum { N = 4 };
static const struct hark_range all = {0, 3}, low = {0, 1}, high = {2, 3},
                               apart[2] = {{0, 0}, {2, 2}}, odd[2] = {{1, 1}, {3, 3}};

static struct hark_hydee *of(const struct job *j, uint32_t who)
{
    return (struct hark_hydee *)(void *)j->core[who];
}

/* Two clusters of two, 0-1 and 2-3. */
static struct job *begin(uint32_t flags)
{
    struct job *j = job_new("hydee", N);
    for (uint32_t i = 0; i < N; i++) {
        j->config[i].cluster = i < 2 ? &low : &high;
        j->config[i].cluster_count = 1;
        j->config[i].flags = flags;
        core_make(j, i);
    }
    return j;
}

static int tell(struct job *j, uint32_t who, const struct hark_range *group, uint32_t count)
{
    struct hark_effect effects[HARK_EFFECTS_ROOM];
    uint8_t bytes[HARK_EFFECTS_BYTES];
    struct hark_effects fx = {
        .at = effects, .room = HARK_EFFECTS_ROOM, .bytes = bytes, .bytes_room = sizeof bytes};
    struct hark_event e = {.type = HARK_RECLUSTER};
    e.u.recluster.cluster = group;
    e.u.recluster.cluster_count = count;
    int status = hark_step(j->core[who], &e, &fx);
    if (status >= 0) assert_int_equal(fx.count, 0);
    return status;
}

/* A checkpoint of all, stored and decided. */
static void checkpoint(struct job *j)
{
    struct hark_event point = {.type = HARK_CHECKPOINT_POINT}, stored = {.type = HARK_STORED};
    point.u.point.due = true;
    for (uint32_t i = 0; i < j->ranks; i++) {
        step(j, i, point, NULL, NULL);
        settle(j, 0); /* the leader has asked all before they come to theirs */
    }
    stored.u.stored.of = HARK_CAPTURE;
    stored.u.stored.ok = 1;
    for (uint32_t i = j->ranks; i-- > 0;) {
        assert_int_equal(of(j, i)->wave.mode, HARK_W_CAPTURED);
        stored.u.stored.id = of(j, i)->wave.wave;
        step(j, i, stored, NULL, NULL);
        settle(j, 0);
    }
    for (uint32_t i = 0; i < j->ranks; i++) assert_int_equal(of(j, i)->wave.mode, HARK_W_RUN);
}

static void pass(struct job *j, uint32_t from, uint32_t to)
{
    send_text(j, from, to, "x");
    settle(j, 0);
    take(j, to, from);
}

static uint32_t cluster_size(struct job *j, uint32_t who)
{
    return hark_ranges_size(j->core[who], hark_hydee_cluster(of(j, who)));
}

/* Ranges that are none, or of others; what does not go with it; and another map than the one that
 * is to come. */
static void refused(void **state)
{
    const struct hark_range backwards = {1, 0}, beyond = {0, N}, twice[2] = {{0, 1}, {1, 1}};
    const uint32_t member[2] = {0, 1}, parent[2] = {0, 0};
    const struct hark_group tree = {.ctx = 1, .member = member, .parent = parent, .count = 2};
    (void)state;
    struct job *j = begin(HARK_WAVES_ALL);
    assert_int_equal(tell(j, 0, &all, 0), HARK_EINVAL);
    assert_int_equal(tell(j, 0, NULL, 1), HARK_EINVAL);
    assert_int_equal(tell(j, 0, &high, 1), HARK_EINVAL);
    assert_int_equal(tell(j, 0, &backwards, 1), HARK_EINVAL);
    assert_int_equal(tell(j, 0, &beyond, 1), HARK_EINVAL);
    assert_int_equal(tell(j, 0, twice, 2), HARK_EINVAL);
    for (int again = 0; again < 2; again++) assert_int_equal(tell(j, 0, apart, 2), HARK_OK);
    assert_int_equal(tell(j, 0, &all, 1), HARK_ESTATE);
    assert_int_equal(tell(j, 0, apart, 1), HARK_ESTATE);
    job_free(j);
    const uint32_t none[2] = {0, HARK_WAVES_ALL | HARK_EXACT_GATE};
    for (int i = 0; i < 2; i++) {
        j = begin(none[i]);
        assert_int_equal(tell(j, 0, &low, 1), HARK_EINVAL);
        job_free(j);
    }
    j = job_new("hydee", N);
    j->config[0].flags = HARK_WAVES_ALL;
    j->config[0].groups = &tree;
    j->config[0].group_count = 1;
    core_make(j, 0);
    assert_int_equal(tell(j, 0, &all, 1), HARK_EINVAL);
    job_free(j);
    j = job_new("coordinated", 1);
    core_make(j, 0);
    assert_int_equal(tell(j, 0, apart, 1), HARK_EINVAL);
    job_free(j);
}

/* 0-1, 2-3 become one cluster: no log, no phases, no positions are left. */
static void joined(void **state)
{
    (void)state;
    struct job *j = begin(HARK_WAVES_ALL | HARK_DIGEST);
    for (int n = 0; n < 3; n++) pass(j, 0, 2);
    checkpoint(j);
    for (int n = 0; n < 3; n++) pass(j, 0, 2);
    pass(j, 3, 1);
    assert_int_equal(j->logs[0], 6);
    for (uint32_t i = 0; i < N; i++) assert_int_equal(tell(j, i, &all, 1), HARK_OK);
    checkpoint(j);
    for (uint32_t i = 0; i < N; i++) {
        uint64_t cursor = 0;
        struct hark_names run;
        assert_int_equal(cluster_size(j, i), N);
        assert_int_equal(j->logs[i], 0);
        assert_int_equal(of(j, i)->positions.count, 0);
        assert_int_equal(j->protocol->names(j->core[i], &cursor, &run), 0);
        for (uint32_t k = 0; k < of(j, i)->endpoint.channels.count; k++) {
            const struct hark_hydee_channel *c = hark_hydee_at(of(j, i), k);
            assert_int_equal(
                c->log.count + c->rpp.count + c->pos.digests.count + c->recorded.count, 0);
        }
    }
    pass(j, 0, 2);
    assert_int_equal(j->logs[0], 0);
    job_free(j);
}

/* 0-1, 2-3 become 0 2, 1 3: what stays between two keeps its log and forgets it as ever, what comes
 * to be begins one. */
static void exchanged(void **state)
{
    (void)state;
    struct job *j = begin(HARK_WAVES_ALL);
    pass(j, 0, 1);
    pass(j, 0, 2);
    pass(j, 0, 3);
    assert_int_equal(j->logs[0], 2);
    for (uint32_t i = 0; i < N; i++) assert_int_equal(tell(j, i, i % 2 ? odd : apart, 2), HARK_OK);
    checkpoint(j);
    assert_int_equal(j->logs[0], 1); /* for 3 */
    for (int n = 0; n < 2; n++) pass(j, 0, 1);
    pass(j, 0, 2);
    assert_int_equal(j->logs[0], 3);
    checkpoint(j);
    checkpoint(j); /* what the older image has is trimmed by notices, on the channels that are new
                      too */
    settle(j, 0);
    assert_int_equal(j->logs[0], 0);
    job_free(j);
}

/* Who does not know: nobody changes. Then all do, and it may change back. */
static void not_all_know(void **state)
{
    (void)state;
    struct job *j = begin(HARK_WAVES_ALL);
    for (uint32_t i = 0; i + 1 < N; i++) assert_int_equal(tell(j, i, &all, 1), HARK_OK);
    checkpoint(j);
    for (uint32_t i = 0; i < N; i++) assert_int_equal(cluster_size(j, i), 2);
    assert_int_equal(tell(j, 3, &all, 1), HARK_OK);
    checkpoint(j);
    for (uint32_t i = 0; i < N; i++) assert_int_equal(cluster_size(j, i), N);
    for (uint32_t i = 0; i < N; i++) assert_int_equal(tell(j, i, i < 2 ? &low : &high, 1), HARK_OK);
    checkpoint(j);
    for (uint32_t i = 0; i < N; i++) assert_int_equal(cluster_size(j, i), 2);
    pass(j, 0, 2);
    assert_int_equal(j->logs[0], 1);
    job_free(j);
}

/* Two changes, the second to clusters of more ranges than the first: in a core that nobody packs
 * and unpacks meanwhile. */
static void of_many_ranges(void **state)
{
    const struct hark_range blocks[2] = {{0, 3}, {4, 8}},
                            even[5] = {{0, 0}, {2, 2}, {4, 4}, {6, 6}, {8, 8}},
                            odds[4] = {{1, 1}, {3, 3}, {5, 5}, {7, 7}};
    uint8_t *image = malloc(1 << 16);
    struct hark *again = malloc(1 << 16);
    (void)state;
    struct job *j = job_new("hydee", JOB_RANKS);
    for (uint32_t i = 0; i < JOB_RANKS; i++) {
        j->config[i].flags = HARK_WAVES_ALL;
        core_make(j, i);
    }
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < JOB_RANKS; i++) {
            if (round % 2 == 0) assert_int_equal(tell(j, i, &blocks[i > 3], 1), HARK_OK);
            else assert_int_equal(tell(j, i, i % 2 ? odds : even, i % 2 ? 4 : 5), HARK_OK);
            pass(j, i, (i + 1) % JOB_RANKS);
        }
        checkpoint(j);
        for (uint32_t i = 0; i < JOB_RANKS; i++) {
            for (uint32_t k = 0; k < JOB_RANKS; k++)
                assert_int_equal(hark_ranges_hold(j->core[i], hark_hydee_cluster(of(j, i)), k),
                    round % 2 ? i % 2 == k % 2 : (i > 3) == (k > 3));
            uint64_t n = hark_pack(j->core[i], j->protocol->shape, image, 1 << 16);
            hark_block_init(again, 1 << 16, j->protocol->shape, j->core[i]->kind);
            assert_int_equal(
                hark_unpack(again, j->protocol->shape, (struct hark_bytes){image, (uint32_t)n}),
                HARK_OK);
        }
    }
    free(again);
    free(image);
    job_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(refused), cmocka_unit_test(joined),
        cmocka_unit_test(exchanged), cmocka_unit_test(not_all_know),
        cmocka_unit_test(of_many_ranges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
