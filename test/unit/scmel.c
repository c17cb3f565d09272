/* scmel.h and causal/determinant.h: the parts one by one, and single cores. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hark/registry.h"

/* ---- lists of determinants ------------------------------------------------------------------- */

struct list {
    struct hark_scmel *s;
    struct hark *p;
};

static struct list list_make(uint32_t k)
{
    struct hark_config c = {.me = 0, .ranks = 9, .copies = k};
    struct hark *p = malloc(1 << 16);
    assert_int_equal(hark_scmel_init(p, 1 << 16, &c), HARK_OK);
    return (struct list){(struct hark_scmel *)(void *)p, p};
}

static void put_det(struct list l, struct hark_det x)
{
    bool made;
    assert_int_equal(hark_pool_reserve(l.p, &hark_scmel_shape, &l.s->pool, 1), HARK_OK);
    hark_dets_put(l.p, &l.s->pool, &l.s->own, &x, &made);
    l.s->rsn = l.s->own.top;
}

static void put(struct list l, uint64_t rsn, uint32_t src, uint64_t ssn)
{
    put_det(l, (struct hark_det){0, src, 0, 0, ssn, rsn, {0}});
}

static void put_look(struct list l, uint64_t rsn, uint32_t src, uint64_t ssn)
{
    put_det(l, (struct hark_det){0, src, HARK_DET_LOOK, 0, ssn, rsn, {0}});
}

static void check_list(struct list l, const char *expected)
{
    struct hark_place at = hark_queue_begin(&l.s->own.rows);
    char text[256] = "";
    for (const uint64_t *row;
         (row = hark_queue_next(l.p, &l.s->pool, &l.s->own.rows, &at)) != NULL;) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s%llu", n ? " " : "", (unsigned long long)row[0]);
        for (uint32_t i = 0; i < hark_det_holders(&l.s->own, row); i++) {
            n = strlen(text);
            snprintf(text + n, sizeof text - n, "/%u", hark_det_slot(row, i) - 1);
        }
    }
    assert_string_equal(text, expected);
    assert_null(hark_scmel_violated(l.p));
}

static void test_list_order(void **state)
{
    struct list l = list_make(1);
    (void)state;
    put(l, 3, 1, 1);
    put(l, 9, 1, 2);
    put(l, 5, 2, 1); /* in the middle, twice */
    put(l, 5, 2, 1);
    put(l, 1, 2, 2);
    put_look(l, 7, HARK_DET_MISS, 2);
    check_list(l, "1 3 5 7 9");
    assert_null(hark_dets_find(l.p, &l.s->pool, &l.s->own, 2));
    assert_int_equal(hark_dets_find(l.p, &l.s->pool, &l.s->own, 8)[0], 7); /* two looks, 7 and 8 */
    assert_int_equal(hark_dets_find(l.p, &l.s->pool, &l.s->own, 3)[0], 3);
    assert_null(hark_dets_find(l.p, &l.s->pool, &l.s->own, 10));
    hark_dets_trim(l.p, &l.s->pool, &l.s->own, 7);
    check_list(l, "7 9"); /* of the looks, 8 is still needed */
    hark_dets_trim(l.p, &l.s->pool, &l.s->own, 9);
    check_list(l, "");
    free(l.p);
}

static void test_list_holders(void **state)
{
    struct list l = list_make(2);
    (void)state;
    for (uint64_t i = 1; i <= 4; i++) put(l, i, 1, i);
    hark_dets_hold(l.p, &l.s->pool, &l.s->own, 1, 3, 5);
    check_list(l, "1/5 2/5 3/5 4");
    hark_dets_hold(l.p, &l.s->pool, &l.s->own, 1, 2, 2);
    hark_dets_hold(l.p, &l.s->pool, &l.s->own, 1, 2, 2); /* nobody counts twice */
    hark_dets_hold(l.p, &l.s->pool, &l.s->own, 2, 2, 7); /* nor is a third remembered */
    check_list(l, "1/2/5 2/2/5 3/5 4");
    assert_int_equal(l.s->own.loose, 2);
    hark_dets_release(l.p, &l.s->pool, &l.s->own, 5);
    check_list(l, "1/2 2/2 3 4");
    assert_int_equal(l.s->own.loose, 4);
    free(l.p);
}

static void test_owed(void **state)
{
    struct list l = list_make(1);
    uint8_t b[64];
    (void)state;
    assert_int_equal(hark_reserve(l.p, &hark_scmel_shape, &l.s->owed, 8), HARK_OK);
    hark_owed_add(l.p, &l.s->owed, 3, 3, 5, 5);
    hark_owed_add(l.p, &l.s->owed, 3, 3, 7, 7);
    hark_owed_add(l.p, &l.s->owed, 2, 2, 6, 6);
    hark_owed_add(l.p, &l.s->owed, 3, 3, 6, 6); /* joins both */
    hark_owed_add(l.p, &l.s->owed, 3, 3, 5, 6);
    assert_int_equal(l.s->owed.count, 2);
    assert_int_equal(hark_owed_count(l.p, &l.s->owed, 3), 3);
    assert_int_equal(hark_owed_write(l.p, &l.s->owed, 3, b, 4), 1);
    assert_int_equal(hark_get32(b), 3);
    assert_int_equal(hark_get32(b + 4), 3);
    assert_int_equal(hark_get64(b + 8), 5);
    hark_owed_forget(l.p, &l.s->owed, 2);
    assert_int_equal(l.s->owed.count, 0);
    free(l.p);
}

/* ---- single cores ---------------------------------------------------------------------------- */

static struct hark_effect effects[HARK_EFFECTS_ROOM];
static uint8_t bytes[HARK_EFFECTS_BYTES];
static struct hark_effects fx = {
    .at = effects, .room = HARK_EFFECTS_ROOM, .bytes = bytes, .bytes_room = sizeof bytes};

static struct hark *core(uint32_t me, uint32_t ranks, uint32_t k)
{
    struct hark_config c = {.me = me, .ranks = ranks, .copies = k};
    struct hark *p = malloc(1 << 20);
    assert_int_equal(hark_scmel_init(p, 1 << 20, &c), HARK_OK);
    return p;
}

static int step(struct hark *p, struct hark_event e)
{
    int status = hark_scmel_step(p, &e, &fx);
    assert_null(hark_scmel_violated(p));
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

static int seen_or_taken(struct hark *p, uint32_t type, uint32_t src, uint64_t ssn)
{
    struct hark_head h = {HARK_KIND_SCMEL, HARK_APP, 0, src, 0, 0, 0, 0, ssn};
    uint8_t b[HARK_SCMEL_HEADER] = {0};
    hark_head_put(b, &h);
    hark_put32(b + HARK_WIRE_HEAD + 4, 1);
    return give(p, type, b, sizeof b);
}

static int look_at(struct hark *p, uint32_t src, uint64_t ssn)
{
    return seen_or_taken(p, HARK_LOOK, src, ssn);
}

static int take(struct hark *p, uint32_t src, uint64_t ssn)
{
    return seen_or_taken(p, HARK_DELIVER, src, ssn);
}

/* A message without determinants from `src` to `dst`, and its delivery. */
static void message(struct hark *p, uint32_t src, uint32_t dst, uint64_t ssn)
{
    struct hark_head h = {HARK_KIND_SCMEL, HARK_APP, 0, src, dst, 0, 0, 0, ssn};
    uint8_t b[HARK_SCMEL_HEADER] = {0};
    hark_head_put(b, &h);
    hark_put32(b + HARK_WIRE_HEAD + 4, ((struct hark_scmel *)(void *)p)->k);
    assert_true(give(p, HARK_ARRIVE, b, sizeof b) >= 0);
    assert_int_equal(effects[0].type, HARK_HANDUP);
    assert_true(give(p, HARK_DELIVER, b, sizeof b) >= 0);
}

static uint32_t transmitted(uint8_t type, uint8_t *frame, uint32_t *length)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < fx.count; i++) {
        if (effects[i].type != HARK_TRANSMIT || effects[i].u.transmit.header.at[1] != type)
            continue;
        if (frame)
            memcpy(frame, effects[i].u.transmit.header.at,
                *length = effects[i].u.transmit.header.length);
        n++;
    }
    return n;
}

/* S-2: the determinants of a duplicate are stored and acknowledged. v10: those of a message behind
 * a gap are not. */
static void test_determinants_first(void **state)
{
    struct hark *y = core(0, 3, 1), *x = core(1, 3, 1);
    struct hark_scmel *sx = (struct hark_scmel *)(void *)x;
    uint8_t first[HARK_FRAGMENT], second[HARK_FRAGMENT], again[HARK_FRAGMENT];
    uint32_t n1 = 0, n2 = 0;
    struct hark_event idle = {.type = HARK_IDLE};
    (void)state;
    post(y, 1);
    transmitted(HARK_APP, first, &n1);
    message(y, 2, 0, 1);
    post(y, 1);
    transmitted(HARK_APP, second, &n2);
    assert_int_equal(hark_get16(second + HARK_WIRE_HEAD), 1);
    give(x, HARK_ARRIVE, second, n2);
    assert_int_equal(effects[0].type, HARK_HOLD);
    assert_int_equal(sx->logs.count, 0);
    assert_int_equal(sx->owed.count, 0);
    give(x, HARK_ARRIVE, first, n1);
    assert_int_equal(effects[0].type, HARK_HANDUP);
    assert_int_equal(effects[fx.count - 1].type, HARK_OFFER);
    memcpy(again, second, n2); /* the first once more, by a sender that has been told to send it
                                  again */
    hark_put64(again + 24, 1);
    give(x, HARK_ARRIVE, again, n2);
    assert_int_equal(effects[0].type, HARK_DISCARD);
    assert_int_equal(hark_scmel_log(sx, 0, false)->dets.rows.count, 1);
    assert_int_equal(sx->owed.count, 1);
    give(x, HARK_ARRIVE, second, n2);
    assert_int_equal(effects[0].type, HARK_HANDUP);
    step(x, idle);
    assert_int_equal(transmitted(HARK_S_ACK, NULL, NULL), 1);
    give(x, HARK_ARRIVE, second, n2);
    assert_int_equal(effects[0].type, HARK_DISCARD);
    step(x, idle);
    assert_int_equal(fx.count, 0); /* acknowledged once: nothing has been lost */
    free(y);
    free(x);
}

/* A ping-pong costs no frame besides its own. */
static void test_acks_ride(void **state)
{
    struct hark *p[2] = {core(0, 3, 1), core(1, 3, 1)};
    uint8_t frame[HARK_FRAGMENT];
    uint32_t n = 0;
    (void)state;
    post(p[0], 1);
    for (uint32_t i = 0; i < 40; i++) {
        assert_int_equal(transmitted(HARK_APP, frame, &n), 1);
        assert_int_equal(n, HARK_SCMEL_HEADER + (i > 0 ? 28 : 0) + (i > 1 ? HARK_ACK_BYTES : 0));
        struct hark *to = p[(i + 1) % 2];
        give(to, HARK_ARRIVE, frame, n);
        assert_int_equal(fx.count, 1);
        give(to, HARK_DELIVER, frame, n);
        assert_int_equal(fx.count, 0);
        post(to, i % 2);
        assert_int_equal(fx.count, 2);
    }
    assert_int_equal(((struct hark_scmel *)(void *)p[0])->own.loose, 1);
    free(p[0]);
    free(p[1]);
}

/* I10: one who only receives tells others before its determinants fill a header, and is answered at
 * once. */
static void test_spread(void **state)
{
    (void)state;
    for (uint32_t k = 1; k <= 8; k += 7) {
        struct hark *y = core(0, 10, k), *x = core(1, 10, k);
        struct hark_scmel *s = (struct hark_scmel *)(void *)y;
        uint8_t frame[HARK_FRAGMENT];
        uint32_t n = 0, spread = 0;
        for (uint64_t ssn = 1; ssn <= 100; ssn++) {
            message(y, 2, 0, ssn);
            while (y->more) {
                spread += transmitted(HARK_S_SPREAD, NULL, NULL);
                step(y, (struct hark_event){.type = HARK_CONTINUE});
            }
            if (transmitted(HARK_S_SPREAD, frame, &n))
                spread += transmitted(HARK_S_SPREAD, NULL, NULL);
        }
        assert_int_equal(spread, k); /* one frame each until it is answered (v10) */
        hark_put32(frame + 8, 1);
        give(x, HARK_ARRIVE, frame, n);
        assert_int_equal(transmitted(HARK_S_ACK, frame, &n), 1);
        /* nobody has answered, so the next message does not fit: it is posted and logged, its
         * determinants go ahead to its receiver (v9), and it leaves when they have been stored */
        assert_int_equal(post(y, 1), HARK_OK);
        assert_int_equal(fx.count, 2);
        assert_int_equal(effects[0].type, HARK_RETAIN);
        assert_int_equal(effects[1].type, HARK_TRANSMIT);
        assert_int_equal(effects[1].u.transmit.header.at[1], HARK_S_SPREAD);
        assert_int_equal(effects[1].u.transmit.peer, 1);
        uint32_t left = 0;
        for (uint32_t j = 1; j <= k; j++) {
            struct hark_head h = {HARK_KIND_SCMEL, HARK_S_ACK, 0, j, 0, 0, 0, 0, 0};
            hark_head_put(frame, &h);
            hark_put32(frame + 32, 0);
            hark_put32(frame + 36, 100);
            hark_put64(frame + 40, 1);
            give(y, HARK_ARRIVE, frame, 48);
            left += transmitted(HARK_APP, NULL, NULL);
        }
        assert_int_equal(s->own.loose, 0);
        assert_int_equal(left, 1);
        assert_int_equal(s->late, 0);
        free(y);
        free(x);
    }
}

/* Looks in a row that nobody was told of are one determinant; told ones stay as they are. */
static void test_misses(void **state)
{
    struct hark *y = core(0, 3, 1);
    struct hark_scmel *s = (struct hark_scmel *)(void *)y;
    struct hark_event miss = {.type = HARK_MISS};
    (void)state;
    for (int i = 0; i < 1000; i++) step(y, miss);
    assert_int_equal(s->own.rows.count, 1);
    post(y, 1);
    step(y, miss);
    step(y, miss);
    assert_int_equal(s->own.rows.count, 2);
    assert_int_equal(s->rsn, 1002);
    check_list((struct list){s, y}, "1 1001");
    free(y);
}

/* Looks that see the same are one determinant too; of another message, or told, they are another.
 */
static void test_looks(void **state)
{
    struct hark *y = core(0, 3, 1);
    struct hark_scmel *s = (struct hark_scmel *)(void *)y;
    struct hark_event miss = {.type = HARK_MISS};
    (void)state;
    assert_int_equal(look_at(y, 1, 1), HARK_EINVAL); /* it has not arrived */
    assert_int_equal(seen_or_taken(y, HARK_ARRIVE, 1, 1), HARK_OK);
    assert_int_equal(seen_or_taken(y, HARK_ARRIVE, 2, 1), HARK_OK);
    for (int i = 0; i < 1000; i++) assert_int_equal(look_at(y, 1, 1), HARK_OK);
    assert_int_equal(s->own.rows.count, 1);
    for (int i = 0; i < 10; i++) assert_int_equal(look_at(y, 2, 1), HARK_OK);
    step(y, miss);
    assert_int_equal(look_at(y, 2, 1), HARK_OK);
    post(y, 1);
    assert_int_equal(look_at(y, 2, 1), HARK_OK);
    assert_int_equal(look_at(y, 2, 1), HARK_OK);
    check_list((struct list){s, y}, "1 1001 1011 1012 1013");
    assert_int_equal(s->rsn, 1014);
    assert_int_equal(hark_det_last(hark_dets_find(y, &s->pool, &s->own, 500)), 1000);
    uint64_t *last = hark_queue_last(y, &s->pool, &s->own.rows);
    last[1] |= (UINT64_MAX >> HARK_SSN_BITS << HARK_SSN_BITS); /* a run as long as there can be */
    s->rsn = s->own.top = hark_det_last(last);
    assert_int_equal(look_at(y, 2, 1), HARK_OK);
    assert_int_equal(s->own.rows.count, 6);
    assert_int_equal(s->own.top, s->rsn);
    assert_null(hark_scmel_violated(y));
    free(y);
}

/* S-8: an acknowledgement counts for the incarnation that it was sent to. */
static void test_old_ack(void **state)
{
    struct hark *y = core(0, 3, 1);
    struct hark_scmel *s = (struct hark_scmel *)(void *)y;
    struct hark_head h = {HARK_KIND_SCMEL, HARK_S_ACK, 0, 1, 0, 0, 0, 0, 0};
    struct hark_event e = {.type = HARK_FAILED};
    uint32_t down = 1;
    struct hark_incarnation inc = {1, 1};
    uint8_t b[48] = {0};
    (void)state;
    message(y, 2, 0, 1);
    post(y, 1);
    e.u.failed.re = 1;
    e.u.failed.down = &down;
    e.u.failed.inc = &inc;
    e.u.failed.down_count = e.u.failed.inc_count = 1;
    step(y, e);
    assert_int_equal(transmitted(HARK_S_DETS, NULL, NULL), 1);
    hark_head_put(b, &h);
    hark_put32(b + 36, 1);
    hark_put64(b + 40, 1);
    give(y, HARK_ARRIVE, b, sizeof b); /* of the 1 that is gone */
    assert_int_equal(effects[0].type, HARK_DISCARD);
    assert_int_equal(s->own.loose, 1);
    hark_put32(b + 12, 1);
    give(y, HARK_ARRIVE, b, sizeof b); /* epochs do not matter to it */
    assert_int_equal(s->own.loose, 0);
    post(y, 1); /* 1 has not said from where it needs messages */
    assert_int_equal(transmitted(HARK_APP, NULL, NULL), 0);
    free(y);
}

/* DETS in many fragments, in any order, and S-14: none is lost, none doubled. */
static void test_fragments(void **state)
{
    enum { MANY = 500 };
    struct hark *x = core(1, 2, 1), *y = core(0, 2, 1);
    struct hark_scmel *s = (struct hark_scmel *)(void *)y;
    static uint8_t frame[64][HARK_FRAGMENT];
    uint32_t length[64], n = 0, down = 0;
    struct hark_incarnation inc = {0, 1};
    struct hark_event failed = {.type = HARK_FAILED}, restarted = {.type = HARK_RESTARTED};
    (void)state;
    for (uint64_t rsn = 1; rsn <= MANY; rsn++) { /* by SPREAD, one at a time */
        struct hark_head h = {HARK_KIND_SCMEL, HARK_S_SPREAD, 0, 0, 1, 0, 0, 0, 0};
        hark_head_put(frame[0], &h);
        hark_put32(frame[0] + 32, 0);
        hark_put32(frame[0] + 36, 1);
        hark_put32(frame[0] + 40, 0);
        hark_put64(frame[0] + 44, rsn);
        hark_put64(frame[0] + 52, rsn);
        give(x, HARK_ARRIVE, frame[0], 60);
    }
    failed.u.failed.re = 1;
    failed.u.failed.down = &down;
    failed.u.failed.inc = &inc;
    failed.u.failed.down_count = failed.u.failed.inc_count = 1;
    int status = step(x, failed);
    for (;;) {
        for (uint32_t i = 0; i < fx.count; i++)
            if (effects[i].type == HARK_TRANSMIT)
                memcpy(frame[n], effects[i].u.transmit.header.at,
                    length[n] = effects[i].u.transmit.header.length),
                    n++;
        if (status != HARK_MORE) break;
        status = step(x, (struct hark_event){.type = HARK_CONTINUE});
    }
    assert_true(n > 10);
    restarted.u.restarted.re = restarted.u.restarted.inc = 1;
    step(y, restarted);
    step(y, failed);
    for (uint32_t left = n, offers; left > 0;) { /* the last first: all but the first wait, and are
                                                    offered again */
        offers = 0;
        for (uint32_t i = n; i-- > 0;) {
            if (length[i] == 0) continue;
            assert_int_equal(s->mode, HARK_SCMEL_COLLECT);
            give(y, HARK_ARRIVE, frame[i], length[i]);
            if (fx.count && effects[0].type == HARK_HOLD) continue;
            length[i] = 0;
            left--;
            for (uint32_t k = 0; k < fx.count; k++) offers += effects[k].type == HARK_OFFER;
        }
        assert_true(offers > 0 || left == 0);
    }
    assert_int_equal(s->mode, HARK_SCMEL_REPLAY);
    assert_int_equal(s->own.rows.count, MANY);
    assert_int_equal(s->own.top, MANY);
    assert_int_equal(s->own.loose, 0); /* 1 holds them all */
    free(x);
    free(y);
}

/* Output waits for what it depends on: own determinants until k others hold them, those of others
 * until k - 1 do besides this process. */
static void test_unstable(void **state)
{
    (void)state;
    for (uint32_t k = 1; k <= 2; k++) {
        struct hark *y = core(0, 4, k), *x = core(1, 4, k), *none = malloc(1 << 16);
        struct hark_config c = {.me = 0, .ranks = 4};
        struct hark_event idle = {.type = HARK_IDLE};
        uint8_t frame[2][HARK_FRAGMENT], ack[HARK_FRAGMENT];
        uint32_t n = 0, frames = 0, length[2];
        assert_int_equal(hark_unstable(y), 0);
        message(y, 2, 0, 1);
        message(y, 3, 0, 1);
        assert_int_equal(hark_unstable(y), 2);
        step(y, idle);
        assert_int_equal(fx.count, 0); /* nothing waits for it */
        idle.u.idle.stable = true;
        step(y, idle);
        assert_int_equal(transmitted(HARK_S_SPREAD, NULL, NULL), k);
        for (uint32_t i = 0; i < fx.count; i++, frames++)
            memcpy(frame[i], effects[i].u.transmit.header.at,
                length[i] = effects[i].u.transmit.header.length);
        step(y, idle);
        assert_int_equal(fx.count, 0); /* it is under way */
        give(x, HARK_ARRIVE, frame[0], length[0]);
        assert_int_equal(transmitted(HARK_S_ACK, ack, &n), 1);
        assert_int_equal(hark_unstable(x), k == 1 ? 0 : 2); /* with k = 2 one more must hold them */
        give(y, HARK_ARRIVE, ack, n);
        assert_int_equal(hark_unstable(y), k == 1 ? 0 : 2);
        for (uint32_t j = 2; j <= k; j++) {
            hark_put32(ack + 4, j); /* the same from another */
            give(y, HARK_ARRIVE, ack, n);
        }
        assert_int_equal(frames, k);
        assert_int_equal(hark_unstable(y), 0);
        assert_int_equal(hark_none_init(none, 1 << 16, &c), HARK_OK);
        assert_int_equal(hark_unstable(none), 0);
        free(none);
        free(x);
        free(y);
    }
}

static void test_arguments(void **state)
{
    struct hark_range some = {0, 1};
    struct hark_config c = {.me = 0, .ranks = 3, .cluster = &some, .cluster_count = 1};
    struct hark *p = malloc(1 << 16);
    uint8_t b[64] = {0};
    struct hark_head h = {HARK_KIND_SCMEL, HARK_APP, 0, 1, 0, 0, 0, 0, 1};
    (void)state;
    assert_int_equal(hark_scmel_init(p, 1 << 16, &c), HARK_EINVAL); /* waves are over all */
    free(p);
    p = core(0, 3, 9 - 1);
    assert_int_equal(((struct hark_scmel *)(void *)p)->k, 2); /* there are no more others */
    assert_int_equal(post(p, 3), HARK_EINVAL);
    hark_head_put(b, &h);
    assert_int_equal(give(p, HARK_ARRIVE, b, 40), HARK_EFRAME); /* another k */
    hark_put32(b + 36, 2);
    hark_put16(b + 32, 1);
    assert_int_equal(give(p, HARK_ARRIVE, b, 40), HARK_EFRAME); /* a determinant is missing */
    hark_put16(b + 32, 0);
    assert_int_equal(give(p, HARK_DELIVER, b, 40), HARK_EINVAL);
    assert_int_equal(give(p, HARK_ARRIVE, b, 40), HARK_OK);
    assert_int_equal(give(p, HARK_DELIVER, b, 39), HARK_EFRAME);
    assert_int_equal(give(p, HARK_LOOK, b, 39), HARK_EFRAME);
    free(p);
    p = core(0, 1, 1); /* alone: nobody to tell */
    for (uint64_t i = 0; i < 100; i++) step(p, (struct hark_event){.type = HARK_MISS});
    post(p, 0);
    assert_int_equal(fx.count, 1);
    free(p);
}

/* ---- a process that comes back --------------------------------------------------------------- */

/* Process 0 of 3, from its beginning, or an image; it asks 1 and 2 for determinants. */
static struct hark *come_back_from(struct hark_bytes image)
{
    struct hark *y = core(0, 3, 1);
    uint32_t down = 0;
    struct hark_incarnation inc = {0, 1};
    struct hark_event restarted = {.type = HARK_RESTARTED}, failed = {.type = HARK_FAILED};
    restarted.u.restarted.re = restarted.u.restarted.inc = 1;
    restarted.u.restarted.checkpoint = image.length > 0;
    restarted.u.restarted.image = image;
    failed.u.failed.re = failed.u.failed.down_count = failed.u.failed.inc_count = 1;
    failed.u.failed.down = &down;
    failed.u.failed.inc = &inc;
    assert_int_equal(step(y, restarted), HARK_OK);
    assert_int_equal(step(y, failed), HARK_OK);
    return y;
}

static struct hark *come_back(void)
{
    return come_back_from((struct hark_bytes){NULL, 0});
}

/* DETS of `from` in one frame: it has sent and received so many messages, and knows of these of 0's
 * determinants. */
static void answer_of_both(struct hark *y, uint32_t from, uint64_t sent, uint64_t recv,
    const struct hark_det *x, uint32_t n)
{
    struct hark_head h = {HARK_KIND_SCMEL, HARK_S_DETS, 0, from, 0, 0, 1, 1, 0};
    uint8_t b[HARK_FRAGMENT] = {0}, *at = b + HARK_WIRE_HEAD + 32;
    hark_head_put(b, &h);
    hark_put32(b + HARK_WIRE_HEAD, 1); /* the first and the last */
    hark_put16(b + HARK_WIRE_HEAD + 4, 1);
    hark_put16(b + HARK_WIRE_HEAD + 6, (uint16_t)n);
    hark_put64(b + HARK_WIRE_HEAD + 16, sent);
    hark_put64(b + HARK_WIRE_HEAD + 24, recv);
    for (uint32_t i = 0; i < n; i++, at += hark_det_bytes(1)) {
        hark_put32(at + 4, x[i].src);
        hark_put32(at + 8, x[i].ctx);
        hark_put64(at + 12, x[i].ssn);
        hark_put64(at + 20, x[i].rsn);
    }
    assert_true(give(y, HARK_ARRIVE, b, (uint32_t)(at - b)) >= 0);
}

static void answer(
    struct hark *y, uint32_t from, uint64_t sent, const struct hark_det *x, uint32_t n)
{
    answer_of_both(y, from, sent, 0, x, n);
}

/* 2 has stored so many of 0's determinants. */
static void stored_by_2(struct hark *y, uint64_t first, uint32_t count)
{
    struct hark_head h = {HARK_KIND_SCMEL, HARK_S_ACK, 0, 2, 0, 0, 1, 1, 0};
    uint8_t b[HARK_WIRE_HEAD + HARK_ACK_BYTES] = {0};
    hark_head_put(b, &h);
    hark_put32(b + HARK_WIRE_HEAD + 4, count);
    hark_put64(b + HARK_WIRE_HEAD + 8, first);
    assert_int_equal(give(y, HARK_ARRIVE, b, sizeof b), HARK_OK);
}

/* v21: determinants have gone ahead of a message that its receiver had already, as turns out before
 * it acknowledges them. The next message sends others ahead, and does not wait for that
 * acknowledgement. */
static void test_went_ahead_of_nothing(void **state)
{
    enum { TAKEN = 80, FRAME = (HARK_FRAGMENT - HARK_WIRE_HEAD) / 28, LEFT = TAKEN - FRAME };
    static uint8_t image[1 << 16];
    struct hark *y = core(0, 3, 1);
    (void)state;
    for (uint64_t ssn = 1; ssn <= TAKEN; ssn++) message(y, 1, 0, ssn);
    const uint64_t length = hark_pack(y, &hark_scmel_shape, image, sizeof image);
    free(y);
    y = come_back_from((struct hark_bytes){image, (uint32_t)length});
    assert_int_equal(post(y, 2), HARK_OK);
    assert_int_equal(transmitted(HARK_S_SPREAD, NULL, NULL), 1);
    answer_of_both(y, 2, 0, 1, NULL, 0); /* it has the message */
    answer(y, 1, TAKEN, NULL, 0);
    stored_by_2(y, 1, FRAME);
    assert_true(LEFT * 28 > HARK_SCMEL_ROOM);
    assert_int_equal(post(y, 2), HARK_OK);
    assert_int_equal(transmitted(HARK_APP, NULL, NULL), 0);
    assert_int_equal(transmitted(HARK_S_SPREAD, NULL, NULL), 1);
    stored_by_2(y, FRAME + 1, FRAME);
    assert_int_equal(transmitted(HARK_APP, NULL, NULL), 1);
    free(y);
}

/* A message that is sent to it again; what became of it. */
static uint32_t again(struct hark *y, uint32_t type, uint32_t src, uint64_t ssn)
{
    struct hark_head h = {HARK_KIND_SCMEL, HARK_APP, 0, src, 0, 0, 1, 1, ssn};
    uint8_t b[HARK_SCMEL_HEADER] = {0};
    hark_head_put(b, &h);
    hark_put32(b + HARK_WIRE_HEAD + 4, 1);
    assert_int_equal(give(y, type, b, sizeof b), HARK_OK);
    return fx.count ? effects[0].type : 0;
}

/* v22: two channels to one process wait for what goes ahead to it: one frame is under way for both,
 * and each answer brings one more. */
static void test_goes_ahead_once(void **state)
{
    enum { TAKEN = 200, FRAME = (HARK_FRAGMENT - HARK_WIRE_HEAD) / 28 };
    static uint8_t image[1 << 16];
    struct hark *y = core(0, 3, 1);
    struct hark_event other = {.type = HARK_SEND};
    (void)state;
    for (uint64_t ssn = 1; ssn <= TAKEN; ssn++) message(y, 1, 0, ssn);
    const uint64_t length = hark_pack(y, &hark_scmel_shape, image, sizeof image);
    free(y);
    y = come_back_from((struct hark_bytes){image, (uint32_t)length});
    answer(y, 2, 0, NULL, 0);
    answer(y, 1, TAKEN, NULL, 0);
    assert_int_equal(post(y, 2), HARK_OK);
    assert_int_equal(transmitted(HARK_S_SPREAD, NULL, NULL), 1);
    other.u.send.peer = 2;
    other.u.send.ctx = 1;
    assert_int_equal(step(y, other), HARK_OK);
    assert_int_equal(transmitted(HARK_S_SPREAD, NULL, NULL), 0);
    assert_int_equal(again(y, HARK_ARRIVE, 2, 1), HARK_HANDUP); /* it acknowledges nothing */
    assert_int_equal(transmitted(HARK_S_SPREAD, NULL, NULL), 0);
    assert_int_equal(post(y, 2), HARK_OK);
    assert_int_equal(transmitted(HARK_S_SPREAD, NULL, NULL), 0);
    for (uint64_t first = 1; first + FRAME <= TAKEN; first += FRAME) {
        stored_by_2(y, first, FRAME);
        const bool fits = (TAKEN - first - FRAME + 1) * 28 <= HARK_SCMEL_ROOM;
        assert_int_equal(transmitted(HARK_S_SPREAD, NULL, NULL), fits ? 0 : 1);
        assert_int_equal(transmitted(HARK_APP, NULL, NULL), fits ? 3 : 0);
    }
    free(y);
}

/* S-3: a determinant that nobody depends on may be lost. In its place is taken what no other names;
 * all may be seen there. */
static void test_gap(void **state)
{
    const struct hark_det known[] = {
        {.src = 1, .ssn = 1, .rsn = 1}, {.src = 2, .ssn = 1, .rsn = 3}};
    struct hark *y = come_back();
    struct hark_scmel *s = (struct hark_scmel *)(void *)y;
    (void)state;
    answer(y, 1, 2, known, 2);
    answer(y, 2, 1, NULL, 0);
    assert_int_equal(s->mode, HARK_SCMEL_REPLAY);
    assert_int_equal(again(y, HARK_ARRIVE, 2, 1), HARK_HOLD); /* the third */
    assert_int_equal(again(y, HARK_ARRIVE, 1, 1), HARK_HANDUP);
    assert_int_equal(again(y, HARK_ARRIVE, 1, 2), HARK_HOLD); /* not the first */
    again(y, HARK_DELIVER, 1, 1);
    assert_int_equal(effects[fx.count - 1].type, HARK_OFFER); /* of all: any may be the second */
    assert_int_equal(effects[fx.count - 1].u.offer.peer, HARK_RECOVERY);
    assert_int_equal(again(y, HARK_ARRIVE, 2, 1), HARK_HANDUP);
    assert_int_equal(take(y, 2, 1), HARK_WAIT); /* it stays the third */
    assert_int_equal(again(y, HARK_ARRIVE, 1, 2), HARK_HANDUP);
    again(y, HARK_DELIVER, 1, 2);
    again(y, HARK_DELIVER, 2, 1);
    assert_int_equal(s->mode, HARK_SCMEL_NORMAL);
    assert_int_equal(s->rsn, 3);
    free(y);
}

/* v26: what a look saw the first time it sees again, and what came before that on its channel is
 * handed up with it. */
static void test_look_again(void **state)
{
    const struct hark_det known[] = {
        {.src = 2, .ssn = UINT64_C(1) << HARK_SSN_BITS | 2, .ctx = HARK_DET_LOOK, .rsn = 1},
        {.src = HARK_DET_MISS, .ctx = HARK_DET_LOOK, .ssn = 1, .rsn = 3},
        {.src = 1, .ssn = 1, .rsn = 4}, {.src = 2, .ssn = 2, .rsn = 5}};
    struct hark_event quiet = {.type = HARK_QUIET}, miss = {.type = HARK_MISS};
    struct hark *y = come_back();
    struct hark_scmel *s = (struct hark_scmel *)(void *)y;
    (void)state;
    answer(y, 1, 1, known, 4);
    answer(y, 2, 3, NULL, 0);
    assert_int_equal(again(y, HARK_ARRIVE, 1, 1), HARK_HOLD);
    assert_int_equal(step(y, miss), HARK_WAIT);                 /* it saw something */
    assert_int_equal(again(y, HARK_ARRIVE, 2, 1), HARK_HANDUP); /* that was there too */
    assert_int_equal(again(y, HARK_ARRIVE, 2, 2), HARK_HANDUP);
    assert_int_equal(again(y, HARK_ARRIVE, 2, 3), HARK_HOLD); /* that perhaps not */
    assert_int_equal(look_at(y, 2, 1), HARK_WAIT);            /* it did not look at this one */
    assert_int_equal(take(y, 2, 2), HARK_WAIT);
    step(y, quiet);
    assert_int_equal(effects[0].type, HARK_DIVERGED);
    assert_int_equal(effects[0].u.offer.name.ssn, 2);
    assert_int_equal(look_at(y, 2, 2), HARK_OK);
    assert_int_equal(step(y, miss), HARK_WAIT);
    assert_int_equal(look_at(y, 2, 2), HARK_OK);
    assert_int_equal(look_at(y, 2, 2), HARK_WAIT); /* not a third time */
    assert_int_equal(take(y, 2, 1), HARK_WAIT);
    assert_int_equal(step(y, miss), HARK_OK);
    assert_int_equal(take(y, 2, 2), HARK_WAIT);
    assert_int_equal(again(y, HARK_ARRIVE, 1, 1), HARK_HANDUP);
    assert_int_equal(take(y, 1, 1), HARK_OK);
    assert_int_equal(take(y, 2, 2), HARK_OK);
    assert_int_equal(s->mode, HARK_SCMEL_NORMAL);
    assert_int_equal(again(y, HARK_ARRIVE, 2, 3), HARK_HANDUP);
    assert_int_equal(take(y, 2, 1), HARK_OK);
    assert_int_equal(s->rsn, 6);
    free(y);
}

/* What came before it on its channel waits already, and is offered when the look is the next
 * choice. */
static void test_look_offers(void **state)
{
    const struct hark_det known[] = {
        {.src = 1, .ssn = 1, .rsn = 1}, {.src = 2, .ssn = 2, .ctx = HARK_DET_LOOK, .rsn = 2}};
    struct hark *y = come_back();
    (void)state;
    answer(y, 1, 1, known, 2);
    answer(y, 2, 2, NULL, 0);
    assert_int_equal(again(y, HARK_ARRIVE, 1, 1), HARK_HANDUP);
    assert_int_equal(again(y, HARK_ARRIVE, 2, 1), HARK_HOLD);
    assert_int_equal(take(y, 1, 1), HARK_OK);
    assert_int_equal(effects[fx.count - 1].type, HARK_OFFER);
    assert_int_equal(effects[fx.count - 1].u.offer.peer, 2);
    assert_int_equal(again(y, HARK_ARRIVE, 2, 1), HARK_HANDUP);
    assert_int_equal(again(y, HARK_ARRIVE, 2, 2), HARK_HANDUP);
    assert_int_equal(look_at(y, 2, 2), HARK_OK);
    free(y);
}

/* v27: a replay is over, in the midst of an OFFER, or behind frames in another order: what comes
 * before on its channel is handed up first, and what was held behind it is asked for. */
static void test_behind(void **state)
{
    const struct hark_det known = {.src = 1, .ssn = 2, .rsn = 1};
    struct hark *y = come_back();
    struct hark_scmel *s = (struct hark_scmel *)(void *)y;
    (void)state;
    answer(y, 1, 3, &known, 1);
    answer(y, 2, 0, NULL, 0);
    assert_int_equal(again(y, HARK_ARRIVE, 1, 1), HARK_HOLD);
    assert_int_equal(again(y, HARK_ARRIVE, 1, 2), HARK_HANDUP);
    assert_int_equal(again(y, HARK_ARRIVE, 1, 3), HARK_HOLD);
    assert_int_equal(take(y, 1, 2), HARK_OK);
    assert_int_equal(s->mode, HARK_SCMEL_NORMAL);
    assert_int_equal(again(y, HARK_ARRIVE, 1, 3), HARK_HOLD);
    assert_int_equal(again(y, HARK_ARRIVE, 1, 4), HARK_HOLD);
    assert_int_equal(again(y, HARK_ARRIVE, 1, 1), HARK_HANDUP);
    assert_int_equal(effects[fx.count - 1].type, HARK_OFFER);
    assert_int_equal(effects[fx.count - 1].u.offer.peer, 1);
    assert_int_equal(effects[fx.count - 1].u.offer.name.ssn, 3); /* the next that waits: 2 has been
                                                                    taken */
    assert_int_equal(again(y, HARK_ARRIVE, 1, 4), HARK_HOLD);
    assert_int_equal(again(y, HARK_ARRIVE, 1, 3), HARK_HANDUP);
    assert_int_equal(effects[fx.count - 1].type, HARK_OFFER);
    assert_int_equal(again(y, HARK_ARRIVE, 1, 4), HARK_HANDUP);
    assert_int_equal(fx.count, 1);
    free(y);
}

/* All that is replayed is here before the first of it is taken, in another order: each delivery
 * asks for the one message whose turn it is, and what waits is few rows. */
static void test_ahead(void **state)
{
    enum { MANY = 20 };
    struct hark_det known[MANY];
    struct hark *y = come_back();
    struct hark_scmel *s = (struct hark_scmel *)(void *)y;
    (void)state;
    for (uint32_t i = 0; i < MANY; i++)
        known[i] = (struct hark_det){.src = 1, .ssn = (i ^ 1u) + 1, .rsn = i + 1};
    answer(y, 1, MANY, known, MANY);
    answer(y, 2, 0, NULL, 0);
    for (uint64_t ssn = 1; ssn <= MANY; ssn++)
        assert_int_equal(again(y, HARK_ARRIVE, 1, ssn), ssn == 2 ? HARK_HANDUP : HARK_HOLD);
    assert_int_equal(s->endpoint.waiting.count, 2);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(take(y, 1, known[i].ssn), HARK_OK);
        assert_true(s->endpoint.waiting.count <= 2);
        if (i + 1 == MANY) break;
        assert_int_equal(fx.count, 1);
        assert_int_equal(effects[0].type, HARK_OFFER);
        assert_int_equal(effects[0].u.offer.peer, 1);
        assert_int_equal(effects[0].u.offer.name.peer, 1);
        assert_int_equal(effects[0].u.offer.name.ssn, known[i + 1].ssn);
        assert_int_equal(again(y, HARK_ARRIVE, 1, known[i + 1].ssn), HARK_HANDUP);
        assert_int_equal(fx.count, 1);
    }
    assert_int_equal(s->mode, HARK_SCMEL_NORMAL);
    assert_int_equal(s->endpoint.waiting.count, 0);
    free(y);
}

/* Between what two looks saw nothing is known: what a later one saw is not taken before it. */
static void test_look_lost(void **state)
{
    const struct hark_det known[] = {
        {.src = 1, .ssn = 1, .rsn = 1}, {.src = 2, .ssn = 1, .ctx = HARK_DET_LOOK, .rsn = 3}};
    struct hark *y = come_back();
    (void)state;
    answer(y, 1, 2, known, 2);
    answer(y, 2, 1, NULL, 0);
    assert_int_equal(again(y, HARK_ARRIVE, 1, 1), HARK_HANDUP);
    assert_int_equal(take(y, 1, 1), HARK_OK);
    assert_int_equal(again(y, HARK_ARRIVE, 2, 1), HARK_HANDUP);
    assert_int_equal(again(y, HARK_ARRIVE, 1, 2), HARK_HANDUP);
    assert_int_equal(take(y, 2, 1), HARK_WAIT);  /* it was seen after this */
    assert_int_equal(look_at(y, 1, 2), HARK_OK); /* a choice is free there: it may look, or miss, or
                                                    take */
    assert_int_equal(take(y, 2, 1), HARK_WAIT);
    assert_int_equal(take(y, 1, 2), HARK_WAIT);
    assert_int_equal(look_at(y, 2, 1), HARK_OK);
    assert_int_equal(take(y, 1, 2), HARK_OK);
    assert_int_equal(take(y, 2, 1), HARK_OK);
    free(y);
}

/* A program that waits for something else than it took the first time is told so. */
static void test_divergence(void **state)
{
    const struct hark_det took = {.src = 1, .ssn = 1, .rsn = 1},
                          missed = {.src = HARK_DET_MISS, .ctx = HARK_DET_LOOK, .ssn = 1, .rsn = 1};
    struct hark_event quiet = {.type = HARK_QUIET};
    struct hark *y = come_back();
    (void)state;
    step(y, quiet);
    assert_int_equal(fx.count, 0); /* nothing is known yet */
    answer(y, 1, 1, &took, 1);
    answer(y, 2, 0, NULL, 0);
    step(y, quiet);
    assert_int_equal(fx.count, 0); /* it has not arrived */
    assert_int_equal(again(y, HARK_ARRIVE, 1, 1), HARK_HANDUP);
    step(y, quiet);
    assert_int_equal(fx.count, 1);
    assert_int_equal(effects[0].type, HARK_DIVERGED);
    assert_int_equal(effects[0].u.diverged.name.way, HARK_IN);
    assert_int_equal(effects[0].u.diverged.name.peer, 1);
    assert_int_equal(effects[0].u.diverged.name.ssn, 1);
    assert_int_equal(effects[0].u.diverged.last, 1);
    again(y, HARK_DELIVER, 1, 1);
    step(y, quiet);
    assert_int_equal(fx.count, 0);
    free(y);
    y = come_back(); /* it looked, and does not now */
    answer(y, 1, 0, &missed, 1);
    answer(y, 2, 0, NULL, 0);
    step(y, quiet);
    assert_int_equal(fx.count, 1);
    assert_int_equal(effects[0].type, HARK_DIVERGED);
    assert_int_equal(effects[0].u.diverged.name.ssn, 0);
    step(y, (struct hark_event){.type = HARK_MISS});
    step(y, quiet);
    assert_int_equal(fx.count, 0);
    free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_list_order),
        cmocka_unit_test(test_list_holders), cmocka_unit_test(test_owed),
        cmocka_unit_test(test_determinants_first), cmocka_unit_test(test_acks_ride),
        cmocka_unit_test(test_spread), cmocka_unit_test(test_misses), cmocka_unit_test(test_looks),
        cmocka_unit_test(test_old_ack), cmocka_unit_test(test_fragments),
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_unstable),
        cmocka_unit_test(test_went_ahead_of_nothing), cmocka_unit_test(test_goes_ahead_once),
        cmocka_unit_test(test_gap), cmocka_unit_test(test_look_again),
        cmocka_unit_test(test_look_offers), cmocka_unit_test(test_behind),
        cmocka_unit_test(test_ahead), cmocka_unit_test(test_look_lost),
        cmocka_unit_test(test_divergence)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
