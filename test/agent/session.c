/* session.h: each message comes once and in order, wherever connections are cut; and what a session
 * keeps is what the other end has not confirmed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/agent/connection.h"
#include "../../src/agent/session.h"

enum { ON_ITS_WAY = 64 };

struct packet {
    size_t length;
    uint8_t bytes[HARK_SESSION_HEAD + 8];
};

struct end;
struct way { /* from one end to the other; cut, it loses all that is on it */
    struct packet packet[ON_ITS_WAY];
    unsigned first, count;
    struct end *from;
};

struct end {
    struct hark_session session;
    struct way out;
    uint64_t said, taken; /* values: said by us, taken from the other */
};

static uint64_t random_state;

static unsigned chance(unsigned most)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(random_state >> 33) % most;
}

static int put(void *to, const void *at, size_t length)
{
    struct way *w = to;
    if (w->count == ON_ITS_WAY || chance(50) == 0) return -1; /* no room, no memory */
    struct packet *p = &w->packet[(w->first + w->count++) % ON_ITS_WAY];
    assert_true(length <= sizeof p->bytes);
    memcpy(p->bytes, at, length);
    p->length = length;
    return 0;
}

static void deliver(struct way *w, struct end *to)
{
    if (w->count == 0) return;
    const struct packet *p = &w->packet[w->first++ % ON_ITS_WAY];
    const uint8_t *at = p->bytes;
    size_t length = p->length;
    uint64_t value;
    w->count--;
    if (!hark_session_take(&to->session, &at, &length)) return;
    assert_int_equal(length, sizeof value);
    memcpy(&value, at, sizeof value);
    if (value == UINT64_MAX) return; /* a mention */
    assert_int_equal(value, to->taken + 1);
    to->taken = value;
}

static void cut_and_join(struct end *a, struct end *b)
{
    a->out.count = b->out.count = 0;
    hark_session_part(&a->session);
    hark_session_part(&b->session);
    if (chance(4) == 0) return; /* and for now that is how it stays */
    const uint64_t heard = a->session.heard;
    assert_true(hark_session_join(&a->session, put, &a->out, b->session.heard));
    assert_true(hark_session_join(&b->session, put, &b->out, heard));
}

static void say(struct end *e)
{
    const uint64_t value = e->said + 1;
    assert_int_equal(hark_session_say(&e->session, &value, sizeof value), 0);
    e->said = value;
}

static void once_and_in_order(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 2000; seed++) {
        struct end end[2] = {{.said = 0}, {.said = 0}};
        random_state = seed;
        for (unsigned step = 0; step < 400; step++) {
            struct end *e = &end[chance(2)], *other = e == end ? end + 1 : end;
            const unsigned what = chance(20);
            const uint64_t none = UINT64_MAX;
            if (what < 8) say(e);
            else if (what < 17) deliver(&e->out, other);
            else if (what < 19) hark_session_mention(&e->session, &none, sizeof none);
            else cut_and_join(end, end + 1);
        }
        for (unsigned i = 0; end[0].taken < end[1].said || end[1].taken < end[0].said; i++) {
            assert_true(i < 100000);
            if (!end[0].session.to || !end[1].session.to) cut_and_join(end, end + 1);
            deliver(&end[i % 2].out, &end[1 - i % 2]);
        }
        assert_int_equal(end[0].taken, end[1].said);
        assert_int_equal(end[1].taken, end[0].said);
        for (int i = 0; i < 2; i++) hark_session_free(&end[i].session);
    }
}

static int swallow(void *to, const void *at, size_t length)
{
    size_t *sum = to;
    (void)at;
    *sum += length;
    return 0;
}

/* One who is not answered keeps all, and says when it is too much. */
static void full_until_confirmed(void **state)
{
    static uint8_t block[64 << 10];
    struct hark_session a = {0}, b = {0};
    size_t sent = 0, told = 0;
    (void)state;
    assert_true(hark_session_join(&a, swallow, &sent, 0));
    assert_true(hark_session_join(&b, swallow, &told, 0));
    while (!hark_session_full(&a)) assert_int_equal(hark_session_say(&a, block, sizeof block), 0);
    assert_true(a.kept > HARK_SESSION_HIGH && a.kept == sent);
    assert_false(hark_session_room(&a));
    for (uint64_t number = 1; number <= a.said; number++) {
        static uint8_t wire[HARK_SESSION_HEAD + sizeof block];
        const uint8_t *at = wire;
        size_t length = sizeof wire;
        for (unsigned i = 0; i < 8; i++) wire[i] = (uint8_t)(number >> (8 * i));
        assert_true(hark_session_take(&b, &at, &length));
        assert_int_equal(length, sizeof block);
        assert_false(hark_session_take(&b, &(const uint8_t *){wire}, &(size_t){sizeof wire}));
    }
    assert_true(told >= HARK_SESSION_HEAD); /* it has told so by itself, many times */
    assert_true(told / HARK_SESSION_HEAD >= sent / HARK_SESSION_TELL / 2);
    assert_true(hark_session_join(&a, swallow, &sent, b.heard));
    assert_int_equal(a.kept, 0);
    assert_true(hark_session_room(&a));
    assert_false(hark_session_room(&a));
    hark_session_free(&a);
    hark_session_free(&b);
}

static void what_can_not_be(void **state)
{
    static uint8_t longest[HARK_CONNECTION_MESSAGE];
    struct hark_session s = {0};
    const uint8_t *at = longest;
    size_t length = HARK_SESSION_HEAD - 1;
    (void)state;
    assert_false(hark_session_take(&s, &at, &length));
    assert_int_equal(hark_session_say(&s, longest, sizeof longest), -EINVAL);
    assert_int_equal(s.said, 0);
    assert_false(hark_session_join(&s, swallow, &length, 1)); /* it has heard what was not said */
    assert_null(s.to);
    longest[0] = 2; /* a message is missing before it */
    length = sizeof longest;
    assert_false(hark_session_take(&s, &at, &length));
    assert_int_equal(s.heard, 0);
    hark_session_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(once_and_in_order),
        cmocka_unit_test(full_until_confirmed),
        cmocka_unit_test(what_can_not_be),
    };
    return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
