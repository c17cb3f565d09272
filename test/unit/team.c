/* team.h: single cores: what they are told outside, what a survivor keeps, and bytes that are none.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hark/registry.h"

enum { BLOCK = 1 << 20, IMAGE = 1 << 18 };

static struct hark_effect effects[HARK_EFFECTS_ROOM];
static uint8_t bytes[HARK_EFFECTS_BYTES];
static struct hark_effects fx = {
    .at = effects, .room = HARK_EFFECTS_ROOM, .bytes = bytes, .bytes_room = sizeof bytes};

static struct hark_scmel *of(struct hark *p)
{
    return (struct hark_scmel *)(void *)p;
}

/* Process `me` of 4; its team is the first `mates` processes. */
static struct hark *core_of(
    uint32_t me, uint32_t mates, uint32_t copies, uint32_t generations, uint64_t room)
{
    struct hark_range team = {0, mates - 1};
    struct hark_config c = {.me = me,
        .ranks = 4,
        .cluster = &team,
        .cluster_count = 1,
        .copies = copies,
        .generations = generations};
    struct hark *p = calloc(1, room);
    assert_int_equal(hark_team_init(p, room, &c), HARK_OK);
    return p;
}

static struct hark *core(void)
{
    return core_of(0, 2, 1, 1, BLOCK);
}

static int step(struct hark *p, struct hark_event e)
{
    int status = hark_team_step(p, &e, &fx);
    assert_null(hark_team_violated(p));
    return status;
}

static int post(struct hark *p, uint32_t to)
{
    struct hark_event e = {.type = HARK_SEND};
    e.u.send.peer = to;
    return step(p, e);
}

static int give(struct hark *p, uint32_t type, const uint8_t *header, uint32_t length)
{
    struct hark_event e = {.type = type};
    e.u.frame.header = (struct hark_bytes){header, length};
    return step(p, e);
}

/* A message without determinants comes from `src` and is taken. */
static void message(struct hark *p, uint32_t src, uint64_t ssn)
{
    struct hark_head h = {HARK_KIND_TEAM, HARK_APP, 0, src, of(p)->endpoint.me, 0, 0, 0, ssn};
    uint8_t b[HARK_SCMEL_HEADER] = {0};
    hark_head_put(b, &h);
    hark_put32(b + HARK_WIRE_HEAD + 4, of(p)->k);
    assert_true(give(p, HARK_ARRIVE, b, sizeof b) >= 0);
    assert_int_equal(effects[0].type, HARK_HANDUP);
    assert_true(give(p, HARK_DELIVER, b, sizeof b) >= 0);
}

/* How many effects of this kind there are; of TRANSMIT those of one type of frame, to one process.
 */
static uint32_t count(uint32_t type, uint8_t frame, uint32_t to)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < fx.count; i++)
        n += effects[i].type == type &&
             (type != HARK_TRANSMIT ||
                 (effects[i].u.transmit.header.at[1] == frame && effects[i].u.transmit.peer == to));
    return n;
}

/* A TRIM that 2 sends: n channels of number `ctx`, its rsn, its recv; so many bytes of it. */
static int trim(struct hark *p, uint64_t n, uint64_t rsn, uint64_t recv, uint32_t length)
{
    struct hark_head h = {(uint8_t)p->kind, HARK_S_TRIM, 0, 2, 0, 0, 0, 0, 0};
    uint8_t b[HARK_WIRE_HEAD + 64] = {0};
    hark_head_put(b, &h);
    hark_put64(b + HARK_WIRE_HEAD, n);
    hark_put64(b + HARK_WIRE_HEAD + 8, rsn);
    for (uint32_t i = 0; i < 3; i++) hark_put64(b + HARK_WIRE_HEAD + 24 + 16 * i, recv);
    return give(p, HARK_ARRIVE, b, HARK_WIRE_HEAD + length);
}

static uint8_t *packed(const struct hark *p, uint64_t *length)
{
    uint8_t *b = malloc(IMAGE);
    *length = hark_pack(p, &hark_team_shape, b, IMAGE);
    assert_true(*length <= IMAGE);
    return b;
}

/* The state is as it was when `before` was packed, which is given back. */
static void check_same(const struct hark *p, uint8_t *before, uint64_t length)
{
    uint64_t n;
    uint8_t *now = packed(p, &n);
    assert_int_equal(n, length);
    assert_memory_equal(now, before, n);
    free(now);
    free(before);
}

/* ---- configurations -------------------------------------------------------------------------- */

static void test_configurations(void **state)
{
    struct hark_range team = {0, 1};
    struct hark_config c = {.me = 0, .ranks = 4, .cluster = &team, .cluster_count = 1};
    struct hark *p = calloc(1, BLOCK);
    (void)state;
    c.copies = 2;
    c.flags = HARK_TEAM_LOST;
    assert_int_equal(hark_team_init(p, BLOCK, &c), HARK_EINVAL); /* one copy outside is what T-a has
                                                                  */
    c.copies = 0;
    assert_int_equal(hark_team_init(p, BLOCK, &c), HARK_OK);
    assert_int_equal(of(p)->k, 1);
    team.last = 3; /* nobody is outside */
    assert_int_equal(hark_team_init(p, BLOCK, &c), HARK_OK);
    assert_int_equal(of(p)->k, 0);
    c.me = 3;
    team.last = 2; /* another's team */
    assert_int_equal(hark_team_init(p, BLOCK, &c), HARK_EINVAL);
    c.cluster_count = 0; /* a team of its own */
    c.flags = 0;
    c.copies = 8;
    assert_int_equal(hark_team_init(p, BLOCK, &c), HARK_OK);
    assert_int_equal(of(p)->k, 3);
    assert_false(hark_scmel_mate(of(p), 0));
    assert_int_equal(hark_team_init(p, 64, &c), HARK_EFULL);
    c.ranks = 0;
    assert_int_equal(hark_team_size(&c), 0);
    free(p);
}

/* ---- what is logged, and what may go --------------------------------------------------------- */

static void test_logged(void **state)
{
    struct hark *p = core();
    (void)state;
    assert_int_equal(post(p, 1), HARK_OK);
    assert_int_equal(count(HARK_RETAIN, 0, 0), 0); /* inside the team */
    assert_int_equal(post(p, 2), HARK_OK);
    assert_int_equal(count(HARK_RETAIN, 0, 0), 1);
    assert_int_equal(post(p, 0), HARK_OK);
    assert_int_equal(count(HARK_RETAIN, 0, 0), 0); /* to itself */
    free(p);
}

/* Eighty deliveries, two messages that have to wait for the determinants of these, and what comes
 * of an acknowledgement of them. */
static void wait_for_determinants(struct hark *p, uint32_t peer)
{
    struct hark_head h = {HARK_KIND_TEAM, HARK_S_ACK, 0, 1, 0, 0, 0, 0, 0};
    uint8_t ack[HARK_WIRE_HEAD + HARK_ACK_BYTES] = {0};
    for (uint64_t i = 1; i <= 80; i++) message(p, 2, i); /* more than a message takes along */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(post(p, peer), HARK_OK);
        assert_int_equal(count(HARK_TRANSMIT, HARK_APP, peer), 0);
        assert_int_equal(count(HARK_RETAIN, 0, 0), 1);
    }
    hark_head_put(ack, &h);
    hark_put32(ack + HARK_WIRE_HEAD, 0);
    hark_put32(ack + HARK_WIRE_HEAD + 4, 80);
    hark_put64(ack + HARK_WIRE_HEAD + 8, 1);
    assert_int_equal(give(p, HARK_ARRIVE, ack, sizeof ack), HARK_OK);
    assert_int_equal(count(HARK_TRANSMIT, HARK_APP, peer), 2);
}

/* Messages inside the team that have to wait for their determinants are in the log until they go,
 * others stay there. */
static void test_waits(void **state)
{
    struct hark *p = core();
    struct hark_names run;
    uint64_t cursor = 0;
    (void)state;
    wait_for_determinants(p, 1);
    for (uint32_t i = 0; i < 4; i++) { /* each, and at once behind it that it may go from the log */
        assert_int_equal(effects[i].type, i % 2 ? HARK_TRIM : HARK_TRANSMIT);
        const struct hark_name name = i % 2 ? effects[i].u.trim.name : effects[i].u.transmit.name;
        assert_int_equal(name.way, HARK_OUT);
        assert_int_equal(name.peer, 1);
        assert_int_equal(name.ssn, i / 2 + 1);
    }
    assert_int_equal(post(p, 1), HARK_OK);
    assert_int_equal(count(HARK_TRANSMIT, HARK_APP, 1), 1);
    assert_int_equal(count(HARK_RETAIN, 0, 0), 0);
    assert_int_equal(hark_team_names(p, &cursor, &run), 0);
    free(p);
    p = core();
    wait_for_determinants(p, 3);
    assert_int_equal(count(HARK_TRIM, 0, 0), 0);
    cursor = 0;
    assert_int_equal(hark_team_names(p, &cursor, &run), 1);
    assert_int_equal(run.name.peer, 3);
    assert_int_equal(run.name.ssn, 1);
    assert_int_equal(run.last, 2);
    free(p);
}

static void test_trim(void **state)
{
    struct hark *p = core();
    uint64_t n;
    (void)state;
    for (int i = 0; i < 3; i++) post(p, 2);
    uint8_t *before = packed(p, &n);
    static const uint32_t wrong[] = {0, 8, 15, 17, 24, 31, 33, 48};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(trim(p, 1, 0, 2, wrong[i]), HARK_EFRAME);
    assert_int_equal(trim(p, UINT64_MAX, 0, 2, 32), HARK_EFRAME);
    assert_int_equal(trim(p, UINT64_C(1) << 60, 0, 2, 16), HARK_EFRAME); /* 16 n is 0 */
    assert_int_equal(trim(p, 0, 0, 2, 32), HARK_EFRAME);
    assert_int_equal(trim(p, 1, 7, 4, 32), HARK_OK); /* more than was sent: nothing */
    assert_int_equal(trim(p, 1, 7, 0, 32), HARK_OK);
    assert_int_equal(fx.count, 0);
    check_same(p, before, n);
    assert_int_equal(trim(p, 1, 7, 2, 32), HARK_OK);
    assert_int_equal(fx.count, 1);
    assert_int_equal(effects[0].type, HARK_TRIM);
    assert_int_equal(effects[0].u.trim.name.peer, 2);
    assert_int_equal(effects[0].u.trim.name.ssn, 2);
    assert_int_equal(trim(p, 1, 7, 2, 32), HARK_OK); /* the same again */
    assert_int_equal(fx.count, 0);
    free(p);
    struct hark_config c = {.me = 0, .ranks = 4};
    p = calloc(1, BLOCK);
    assert_int_equal(hark_scmel_init(p, BLOCK, &c), HARK_OK);
    assert_int_equal(trim(p, 1, 7, 2, 32), HARK_EFRAME); /* scmel has none */
    free(p);
}

/* A mark of another team's wave makes no channel. */
static void test_mark_from_outside(void **state)
{
    struct hark_head h = {HARK_KIND_TEAM, HARK_W_MARK, 7, 2, 0, 0, 0, 0, 0};
    uint8_t b[HARK_WIRE_HEAD + 16] = {0};
    struct hark *p = core();
    uint64_t n;
    uint8_t *before = packed(p, &n);
    (void)state;
    hark_head_put(b, &h);
    hark_put64(b + HARK_WIRE_HEAD, 1);
    assert_int_equal(give(p, HARK_ARRIVE, b, sizeof b), HARK_EFRAME);
    check_same(p, before, n);
    free(p);
}

/* A checkpoint of a team of one. */
static void checkpoint(struct hark *p)
{
    struct hark_event point = {.type = HARK_CHECKPOINT_POINT}, stored = {.type = HARK_STORED};
    point.u.point.due = 1;
    assert_int_equal(step(p, point), HARK_OK);
    stored.u.stored.ok = 1;
    for (int i = 0; i < 2; i++) {
        uint32_t k = 0;
        while (k < fx.count && effects[k].type != HARK_CAPTURE && effects[k].type != HARK_PERSIST)
            k++;
        assert_true(k < fx.count);
        stored.u.stored.of = effects[k].type;
        stored.u.stored.fact = HARK_FACT_WAVE;
        stored.u.stored.id =
            effects[k].type == HARK_CAPTURE ? effects[k].u.checkpoint.id : effects[k].u.persist.id;
        assert_int_equal(step(p, stored), HARK_OK);
    }
    assert_int_equal(count(HARK_COMMIT, 0, 0), 1);
}

/* Who holds determinants without ever having got a message is told what may go until it holds none:
 * with two generations twice. */
static void test_told_widely(void **state)
{
    struct hark_event idle = {.type = HARK_IDLE};
    struct hark *p = core_of(0, 1, 1, 2, BLOCK);
    (void)state;
    idle.u.idle.stable = true;
    checkpoint(p);
    checkpoint(p);
    assert_int_equal(count(HARK_TRANSMIT, HARK_S_TRIM, 1), 0);
    message(p, 2, 1);
    assert_int_equal(step(p, idle), HARK_OK);
    assert_int_equal(count(HARK_TRANSMIT, HARK_S_SPREAD, 1), 1);
    for (int i = 0; i < 2; i++) {
        checkpoint(p);
        assert_int_equal(count(HARK_TRANSMIT, HARK_S_TRIM, 1), 1);
        assert_int_equal(count(HARK_TRANSMIT, HARK_S_TRIM, 2), 1);
        assert_int_equal(of(p)->oldest_image_rsn, i);
    }
    checkpoint(p);
    assert_int_equal(count(HARK_TRANSMIT, HARK_S_TRIM, 1), 0);
    assert_int_equal(count(HARK_TRANSMIT, HARK_S_TRIM, 2), 1);
    free(p);
}

/* ---- what a survivor keeps ------------------------------------------------------------------- */

/* A core of the team {0,1} that has taken so many messages from 2, and holds an order of 1. */
static struct hark *lived(uint32_t me, uint32_t copies, uint32_t deliveries)
{
    struct hark *p = core_of(me, 2, copies, 1, BLOCK);
    for (uint64_t i = 1; i <= deliveries; i++) message(p, 2, i);
    return p;
}

static int restart(struct hark *p, struct hark_bytes image, struct hark_bytes kept)
{
    struct hark_event e = {.type = HARK_RESTARTED};
    e.u.restarted.re = e.u.restarted.inc = 1;
    e.u.restarted.checkpoint = image.length ? 1 : 0;
    e.u.restarted.image = image;
    e.u.restarted.old_core = kept;
    return step(p, e);
}

static const struct hark_bytes none = {NULL, 0};

static void test_kept(void **state)
{
    uint64_t n;
    struct hark *earlier = lived(0, 1, 5), *p = core();
    uint8_t *kept = packed(earlier, &n);
    (void)state;
    assert_int_equal(restart(p, none, (struct hark_bytes){kept, (uint32_t)n}), HARK_OK);
    assert_int_equal(of(p)->rsn, 0);
    assert_int_equal(of(p)->own.top, 5);
    assert_int_equal(of(p)->own.loose, 5); /* who holds them is not known any more */
    assert_non_null(hark_dets_find(p, &of(p)->pool, &of(p)->own, 5));
    free(p);
    free(earlier);
    free(kept);
}

static void refused(struct hark_bytes kept, int status)
{
    struct hark *p = core();
    uint64_t n;
    uint8_t *before = packed(p, &n);
    assert_int_equal(restart(p, none, kept), status);
    check_same(p, before, n);
    assert_int_equal(p->bytes, BLOCK);
    free(p);
}

/* What another process kept, of another number of copies, of another protocol, or half of it. */
static void test_foreign(void **state)
{
    struct hark *other[] = {lived(1, 1, 5), lived(0, 2, 5)}, *mine = lived(0, 1, 5),
                *alone = calloc(1, BLOCK);
    struct hark_config c = {.me = 0, .ranks = 4};
    uint64_t n;
    (void)state;
    for (int i = 0; i < 2; i++) {
        uint8_t *b = packed(other[i], &n);
        refused((struct hark_bytes){b, (uint32_t)n}, HARK_EIMAGE);
        free(b);
        free(other[i]);
    }
    assert_int_equal(hark_scmel_init(alone, BLOCK, &c), HARK_OK);
    uint8_t *b = malloc(IMAGE);
    n = hark_pack(alone, &hark_scmel_shape, b, IMAGE);
    refused((struct hark_bytes){b, (uint32_t)n}, HARK_EIMAGE);
    refused((struct hark_bytes){NULL, 8}, HARK_EIMAGE);
    free(b);
    b = packed(mine, &n);
    for (uint32_t i = 1; i < n; i++) refused((struct hark_bytes){b, i}, HARK_EIMAGE);
    free(b);
    free(mine);
    free(alone);
}

/* An image of a process whose determinants have to be elsewhere, of another number of copies or of
 * other waves, though it is a state. */
static void test_image_of_another_kind(void **state)
{
    const struct hark_config c = {.me = 0,
        .ranks = 4,
        .cluster = &(struct hark_range){0, 1},
        .cluster_count = 1,
        .generations = 1};
    struct hark_config other[] = {c, c, c};
    (void)state;
    other[0].flags = HARK_TEAM_LOST;
    other[1].copies = 2;
    other[2].flags = HARK_WAVES_ALL;
    for (int i = 0; i < 3; i++) {
        struct hark *was = calloc(1, BLOCK), *p = core();
        uint64_t n, same;
        assert_int_equal(hark_team_init(was, BLOCK, &other[i]), HARK_OK);
        uint8_t *image = packed(was, &n), *before = packed(p, &same);
        assert_int_equal(restart(p, (struct hark_bytes){image, (uint32_t)n}, none), HARK_EIMAGE);
        check_same(p, before, same);
        free(image);
        free(was);
        free(p);
    }
}

/* Every bit of it the other way: a state, or none, and then nothing has happened. */
static void test_damaged(void **state)
{
    struct hark *mine = lived(0, 1, 5), *p = malloc(BLOCK);
    const struct hark *fresh = core();
    uint64_t n, taken = 0, length, same;
    uint8_t *b = packed(mine, &n), *before = packed(fresh, &length), *after;
    (void)state;
    for (uint64_t i = 0; i < 8 * n; i++) {
        memcpy(p, fresh, BLOCK);
        b[i / 8] ^= (uint8_t)(1 << i % 8);
        int status = restart(p, none, (struct hark_bytes){b, (uint32_t)n});
        b[i / 8] ^= (uint8_t)(1 << i % 8);
        taken += status == HARK_OK;
        if (status == HARK_OK) continue;
        assert_true(status == HARK_EIMAGE || status == HARK_EFULL);
        after = packed(p, &same);
        assert_int_equal(same, length);
        assert_memory_equal(after, before, length);
        free(after);
    }
    assert_true(taken < 8 * n);
    free(mine);
    free(p);
    free((void *)(uintptr_t)fresh);
    free(b);
    free(before);
}

/* An image and what was kept, in a block that is as large as it was asked to be: that is enough,
 * and comes to the same. */
static void test_small_block(void **state)
{
    static const uint32_t many[] = {0, 1, 3, 7, 20, 90, 500};
    (void)state;
    for (uint32_t i = 0; i < 49; i++) {
        struct hark *old = lived(0, 1, many[i % 7]), *newer = lived(0, 1, many[i / 7]),
                    *large = core();
        struct hark_config c = {.me = 0,
            .ranks = 4,
            .cluster = &(struct hark_range){0, 1},
            .cluster_count = 1,
            .generations = 1};
        uint64_t room = hark_team_size(&c), n, m;
        uint8_t *image = packed(old, &n), *kept = packed(newer, &m);
        struct hark *p = core_of(0, 2, 1, 1, room);
        struct hark_bytes a = {image, (uint32_t)n}, b = {kept, (uint32_t)m};
        uint32_t times = 0;
        int status;
        while ((status = restart(p, a, b)) == HARK_EFULL) {
            assert_true(hark_wants(p, NULL) > room);
            room = hark_wants(p, NULL);
            p = realloc(p, room);
            assert_int_equal(hark_grow(p, room), HARK_OK);
            assert_true(++times < 8);
        }
        assert_int_equal(status, HARK_OK);
        assert_int_equal(p->bytes, room);
        assert_int_equal(restart(large, a, b), HARK_OK);
        uint8_t *same = packed(large, &n);
        check_same(p, same, n);
        assert_int_equal(of(p)->own.top, many[i / 7]);
        free(p);
        free(large);
        free(old);
        free(newer);
        free(image);
        free(kept);
    }
}

static void test_pack(void **state)
{
    struct hark *p = lived(0, 1, 40), *q = core();
    uint64_t n, length;
    uint8_t *b = packed(p, &n);
    struct hark *alone = calloc(1, BLOCK);
    struct hark_config c = {.me = 0, .ranks = 4};
    (void)state;
    assert_int_equal(
        hark_unpack(q, &hark_team_shape, (struct hark_bytes){b, (uint32_t)n}), HARK_OK);
    check_same(q, packed(p, &length), n);
    assert_int_equal(hark_scmel_init(alone, BLOCK, &c), HARK_OK);
    assert_int_equal(
        hark_unpack(alone, &hark_scmel_shape, (struct hark_bytes){b, (uint32_t)n}), HARK_EIMAGE);
    free(b);
    free(p);
    free(q);
    free(alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_configurations),
        cmocka_unit_test(test_logged),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_trim),
        cmocka_unit_test(test_mark_from_outside),
        cmocka_unit_test(test_told_widely),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_image_of_another_kind),
        cmocka_unit_test(test_small_block),
        cmocka_unit_test(test_pack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
