/* past.h: V on the wire, its limit, the gate by numbers; and the frontier that the recovery process
 * tells. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hark/registry.h"

enum { RANKS = 4000, BYTES = 1 << 20 };

static struct hark_effect effects[64];
static uint8_t bytes[1 << 16];
static struct hark_effects fx = {
    .at = effects, .room = 64, .bytes = bytes, .bytes_room = sizeof bytes};

static struct hark_hydee *member(uint32_t me)
{
    struct hark_range pair = {RANKS - 3, RANKS - 2}; /* one cluster of two, all others are alone */
    struct hark_config c = {
        .me = me, .ranks = RANKS, .flags = HARK_EXACT_GATE | HARK_DIGEST, .cluster = &pair};
    c.cluster_count = me >= pair.first && me <= pair.last;
    struct hark_hydee *s = calloc(1, BYTES);
    assert_int_equal(hark_hydee_init(&s->head, BYTES, &c), HARK_OK);
    return s;
}

/* Delivers a message of `src` that carries V = {rank: number} for each rank < n but src. */
static int take(
    struct hark_hydee *s, uint32_t src, uint64_t ssn, uint64_t number, uint32_t n, uint64_t each)
{
    static struct hark_hydee *from;
    uint8_t header[HARK_PAST_HEADER_MAX];
    struct hark_head h = {HARK_KIND_HYDEE, HARK_APP, 0, src, s->endpoint.me, 0, 0, 0, ssn};
    from = member(src);
    assert_int_equal(hark_past_reserve(&from->head, &hark_hydee_shape, &from->past, n), HARK_OK);
    for (uint32_t i = 0; i < n; i++) hark_past_learn(&from->head, &from->past, src, i, each);
    hark_head_put(header, &h);
    hark_put64(header + 32, 1);
    hark_put64(header + 40, 0);
    uint32_t length = hark_past_write(&from->head, &from->past.now, number, true,
        header + HARK_HYDEE_HEADER, sizeof header - HARK_HYDEE_HEADER);
    free(from);
    struct hark_event e = {.type = HARK_ARRIVE};
    e.u.frame.header = (struct hark_bytes){header, HARK_HYDEE_HEADER + length};
    int status = hark_hydee_step(&s->head, &e, &fx);
    e.type = HARK_DELIVER;
    return status == HARK_OK ? hark_hydee_step(&s->head, &e, &fx) : status;
}

static const uint8_t *post(struct hark_hydee *s, uint32_t to, uint32_t *length)
{
    struct hark_event e = {.type = HARK_SEND};
    e.u.send.peer = to;
    e.u.send.length = 8;
    assert_int_equal(hark_hydee_step(&s->head, &e, &fx), HARK_OK);
    *length = fx.at[0].u.transmit.header.length;
    return fx.at[0].type == HARK_TRANSMIT ? fx.at[0].u.transmit.header.at : NULL;
}

static void test_wire(void **state)
{
    (void)state;
    struct hark_hydee *s = member(5);
    uint32_t length;
    assert_int_equal(take(s, 3, 1, 7, 2, UINT64_MAX - 1), HARK_OK); /* V = {0: max, 1: max}, and
                                                                       number 7 of rank 3 */
    const uint8_t *b = post(s, 9, &length);
    assert_non_null(b);
    struct hark_past_walk w = hark_past_begin(b + HARK_HYDEE_HEADER, length - HARK_HYDEE_HEADER);
    uint32_t rank, ranks[] = {0, 1, 3};
    uint64_t number, numbers[] = {UINT64_MAX - 1, UINT64_MAX - 1, 7};
    assert_int_equal(hark_get64(b + HARK_HYDEE_HEADER), 1);
    for (int i = 0; i < 3; i++) {
        assert_true(hark_past_next(&w, &rank, &number));
        assert_int_equal(rank, ranks[i]);
        assert_true(number == numbers[i]);
    }
    assert_false(hark_past_next(&w, &rank, &number));
    assert_true(hark_past_valid(b + HARK_HYDEE_HEADER, length - HARK_HYDEE_HEADER, RANKS));
    assert_false(hark_past_valid(b + HARK_HYDEE_HEADER, length - HARK_HYDEE_HEADER, 3)); /* rank 3
                                                                                            does not
                                                                                            exist */
    for (uint32_t cut = 0; cut < length - HARK_HYDEE_HEADER; cut++)
        assert_false(hark_past_valid(b + HARK_HYDEE_HEADER, cut, RANKS));
    const uint8_t twice[] = {1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 4, 1, 0, 1};
    const uint8_t nothing[] = {1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 0};
    const uint8_t large[] = {
        1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2};
    assert_false(hark_past_valid(twice, sizeof twice, RANKS));
    assert_false(hark_past_valid(nothing, sizeof nothing, RANKS));
    assert_false(hark_past_valid(large, sizeof large, RANKS));
    assert_int_equal(take(s, 3, 2, 8, 2, UINT64_MAX), HARK_EFRAME); /* that is no number: it stands
                                                                       for none */
    assert_int_equal(take(s, 3, 2, UINT64_MAX, 2, 7), HARK_EFRAME);
    /* A header without V is none of this job, and the other way round. */
    struct hark_event e = {.type = HARK_ARRIVE};
    e.u.frame.header = (struct hark_bytes){b, HARK_HYDEE_HEADER};
    struct hark_hydee *r = member(9);
    assert_int_equal(hark_hydee_step(&r->head, &e, &fx), HARK_EFRAME);
    free(r);
    free(s);
}

/* Beyond the limit a message says so, and who delivers it waits by phase from then on. */
static void test_limit(void **state)
{
    (void)state;
    struct hark_hydee *s = member(RANKS - 1), *r = member(RANKS - 2);
    uint32_t length;
    /* In four parts, each of which fits: together they do not. */
    for (uint32_t part = 0; part < 4; part++) {
        hark_past_reserve(&s->head, &hark_hydee_shape, &s->past, 900);
        for (uint32_t i = 0; i < 900; i++)
            hark_past_learn(&s->head, &s->past, s->endpoint.me, part * 900 + i, UINT64_C(1) << 40);
    }
    const uint8_t *b = post(s, RANKS - 2, &length);
    assert_non_null(b);
    assert_int_equal(length, HARK_HYDEE_HEADER + HARK_PAST_FIXED);
    assert_int_equal(hark_get32(b + HARK_HYDEE_HEADER + 8), HARK_PAST_UNKNOWN);
    uint8_t copy[64];
    memcpy(copy, b, length);
    struct hark_event e = {.type = HARK_ARRIVE};
    e.u.frame.header = (struct hark_bytes){copy, length};
    (void)post(r, 7, &length); /* number 1: before it */
    b = post(r, RANKS - 3, &length);
    assert_int_equal(hark_get32(b + HARK_HYDEE_HEADER + 8), 0);
    assert_int_equal(hark_hydee_step(&r->head, &e, &fx), HARK_OK);
    e.type = HARK_DELIVER;
    assert_int_equal(hark_hydee_step(&r->head, &e, &fx), HARK_OK);
    assert_int_equal(r->past.blind, 2);
    b = post(r, RANKS - 3, &length); /* inside the cluster: number 1 still, but after it */
    assert_int_equal(hark_get64(b + HARK_HYDEE_HEADER), 1);
    assert_int_equal(hark_get32(b + HARK_HYDEE_HEADER + 8), HARK_PAST_UNKNOWN);
    b = post(r, 7, &length); /* number 2: after it */
    assert_int_equal(hark_get32(b + HARK_HYDEE_HEADER + 8), HARK_PAST_UNKNOWN);
    const uint8_t none[8] = {1, 0, 1, 0, 0, 0, 0, 0};
    hark_past_release(&r->head, &r->pool, &r->past, none, 8); /* no orphans at all */
    assert_int_equal(r->past.open, 2);                        /* still: number 2 waits by phase */
    r->released_phase = 0;
    assert_true(hark_hydee_phase_released(r, 1, 1));
    assert_false(hark_hydee_phase_released(r, 1, 2));
    free(s);
    free(r);
}

static void release(struct hark_hydee *s, uint32_t control, uint32_t rank, uint64_t number)
{
    uint8_t b[24];
    hark_put32(b, control);
    hark_put32(b + 4, 0);
    hark_put32(b + 8, rank);
    hark_put32(b + 12, 0);
    hark_put64(b + 16, number);
    assert_int_equal(hark_reserve(&s->head, &hark_hydee_shape, &s->past.frontier, 1), HARK_OK);
    hark_past_release(&s->head, &s->pool, &s->past, b, 24);
}

/* The frontier in two fragments and changes of it, in any order: nothing opens before all is in. */
static void test_frontier(void **state)
{
    (void)state;
    struct hark_hydee *s = member(5);
    uint32_t length;
    (void)post(s, 9, &length); /* 1 */
    assert_int_equal(take(s, 3, 1, 7, 0, 0), HARK_OK);
    (void)post(s, 9, &length);                         /* 2: needs 7 of rank 3 */
    assert_int_equal(take(s, 4, 1, 2, 0, 0), HARK_OK); /* 3 would need 2 of rank 4 */
    release(s, 1 << 16, 3, 8);                         /* a change, before the list it changes */
    assert_int_equal(s->past.open, 0);
    release(s, 2 << 16 | 1, 4, 2); /* the last of two */
    assert_int_equal(s->past.open, 0);
    release(s, 0, 3, 7);               /* the first of them: rank 3 is beyond it already */
    assert_int_equal(s->past.open, 3); /* not yet posted, and it waits for rank 4 */
    release(s, 1 << 16, 4, HARK_INFINITY);
    assert_true(s->past.open == HARK_INFINITY);
    release(s, 1 << 16, 9, 1);
    assert_int_equal(take(s, 9, 1, 1, 0, 0), HARK_OK); /* what is delivered closes again */
    assert_int_equal(s->past.open, 3);
    free(s);
}

/* V of the log's messages is kept when its beginning is trimmed. */
static void test_floor(void **state)
{
    (void)state;
    struct hark_hydee *s = member(5);
    uint32_t length;
    for (uint64_t i = 1; i <= 20; i++) {
        assert_int_equal(take(s, 3, i, i, 0, 0), HARK_OK);
        (void)post(s, 9, &length); /* number i needs i of rank 3 */
    }
    hark_past_trim(&s->head, &s->pool, &s->past, 12);
    assert_int_equal(s->past.history.count, 8);
    for (uint64_t i = 12; i <= 20; i++) {
        hark_past_go(&s->head, &s->pool, &s->past, i);
        assert_int_equal(hark_entry_of(&s->head, &s->past.at, 3, 0), i);
    }
    hark_past_go(&s->head, &s->pool, &s->past, 14); /* back, and on again */
    assert_int_equal(hark_entry_of(&s->head, &s->past.at, 3, 0), 14);
    hark_past_trim(&s->head, &s->pool, &s->past, 15);
    hark_past_go(&s->head, &s->pool, &s->past, 17);
    assert_int_equal(hark_entry_of(&s->head, &s->past.at, 3, 0), 17);
    release(s, 1 << 16 | 1, 3, 12);
    assert_int_equal(s->past.open, 0); /* the oldest needs 15 */
    release(s, 1 << 16, 3, 16);
    assert_int_equal(s->past.open, 16);
    release(s, 1 << 16, 3, 18);
    assert_int_equal(s->past.open, 18);
    release(s, 1 << 16, 3, 21);
    assert_true(s->past.open == HARK_INFINITY);
    hark_past_close(&s->head, &s->past); /* another recovery, with orphans again */
    release(s, 1 << 16 | 1, 3, 17);
    assert_int_equal(s->past.open, 17);
    free(s);
}

/* The recovery process: a run of orphans is notified in part. */
static void test_partly_notified(void **state)
{
    (void)state;
    struct hark_config c = {.me = HARK_RECOVERY, .ranks = 2};
    struct hark_recovery *s = calloc(1, BYTES);
    assert_int_equal(hark_recovery_init(&s->head, BYTES, &c), HARK_OK);
    struct hark_incarnation inc = {0, 1};
    uint32_t down = 0;
    struct hark_event e = {.type = HARK_FAILED};
    e.u.failed.re = 1;
    e.u.failed.down = &down;
    e.u.failed.inc = &inc;
    e.u.failed.down_count = e.u.failed.inc_count = 1;
    assert_int_equal(hark_recovery_step(&s->head, &e, &fx), HARK_OK);
    uint8_t b[HARK_WIRE_HEAD + 48];
    for (uint32_t i = 0; i < 2; i++) {
        struct hark_head h = {HARK_KIND_HYDEE, HARK_H_REPORT, 0, i, HARK_RECOVERY, 1 - i, 0, 1, 0};
        hark_head_put(b, &h);
        hark_put32(b + 32, 1 << 16 | HARK_R_EXACT | 1);
        hark_put32(b + 36, 0);
        hark_put32(b + 40, 0); /* ssn 1 .. 3 of rank 0, at phase 4, its numbers 11 .. 13 */
        hark_put32(b + 44, 0);
        hark_put64(b + 48, 1);
        hark_put64(b + 56, 3);
        hark_put64(b + 64, 4);
        hark_put64(b + 72, 11);
        e.type = HARK_ARRIVE;
        e.u.frame.header = (struct hark_bytes){b, i ? HARK_WIRE_HEAD + 48 : HARK_WIRE_HEAD + 8};
        assert_int_equal(hark_recovery_step(&s->head, &e, &fx), HARK_OK);
    }
    assert_int_equal(fx.count, 2); /* RELEASE to both, with the whole frontier */
    assert_int_equal(hark_get64(fx.at[1].u.transmit.header.at + 32), 4);
    assert_int_equal(hark_get32(fx.at[1].u.transmit.header.at + 40), 1 << 16 | 1);
    assert_int_equal(hark_get64(fx.at[1].u.transmit.header.at + 56), 11);
    struct hark_head h = {HARK_KIND_HYDEE, HARK_H_NOTIFY, 0, 0, HARK_RECOVERY, 1, 0, 1, 0};
    hark_head_put(b, &h);
    hark_put32(b + 32, 1);
    hark_put64(b + 36, 2);
    e.u.frame.header = (struct hark_bytes){b, HARK_WIRE_HEAD + 12};
    assert_int_equal(hark_recovery_step(&s->head, &e, &fx), HARK_OK);
    assert_int_equal(fx.count, 2); /* the phase is the same, the frontier is not */
    assert_int_equal(hark_get64(fx.at[1].u.transmit.header.at + 32), 4);
    assert_int_equal(hark_get32(fx.at[1].u.transmit.header.at + 40), 1 << 16);
    assert_int_equal(hark_get64(fx.at[1].u.transmit.header.at + 56), 13);
    free(s);
}

/* An image without numbers is not taken by a job that needs them. */
static void test_image(void **state)
{
    (void)state;
    static uint8_t image[1 << 16];
    struct hark_config c = {.me = 5, .ranks = RANKS};
    struct hark_hydee *without = calloc(1, BYTES), *with = member(5);
    assert_int_equal(hark_hydee_init(&without->head, BYTES, &c), HARK_OK);
    struct hark_event e = {.type = HARK_RESTARTED};
    e.u.restarted.checkpoint = 1;
    e.u.restarted.re = 1;
    e.u.restarted.inc = 1;
    e.u.restarted.image = (struct hark_bytes){
        image, (uint32_t)hark_pack(&without->head, &hark_hydee_shape, image, sizeof image)};
    assert_int_equal(hark_hydee_step(&with->head, &e, &fx), HARK_EIMAGE);
    assert_int_equal(hark_hydee_step(&without->head, &e, &fx), HARK_OK);
    free(without);
    free(with);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_wire), cmocka_unit_test(test_limit),
        cmocka_unit_test(test_frontier), cmocka_unit_test(test_floor),
        cmocka_unit_test(test_partly_notified), cmocka_unit_test(test_image)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
