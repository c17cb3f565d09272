/* Who receives what: of the messages that fit a receive the one that was handed up first, whatever
 * was being written into the receive's memory then. The real match.c; the driver is this file, and
 * hands up what it likes, when it likes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/process/app_state.h"
#include "../../src/process/observe.h"
#include "../../src/process/queue.h"

struct app hark_app;
struct hark_process hark_process;

enum { SOURCES = 3, TAGS = 2, MANY = 512, LONGEST = 64 };

/* How a message is handed up: in the transport's memory, in its own after the driver held it, or
 * where hark_app_place said, long before or just now. */
enum way { BORROWED, HELD, PLACED, AT_ONCE, WAYS };

struct sent {
    uint32_t from;
    int32_t tag;
    uint32_t ctx;
    uint64_t length;
    enum way way;
    void *place; /* PLACED, and hark_app_place has answered that */
    bool taken;
};

static struct driver {
    struct sent sent[MANY]; /* in the order in which they are handed up */
    uint32_t count, next;
    uint32_t window; /* of so many, from the next on, the writing may have begun */
    uint64_t dice;
    bool by_chance;
    uint32_t refuse; /* so many times yet nothing may be taken or seen until the next wait */
    bool refusing;
    uint32_t only;                /* a replay: this choice and no other, message only - 1; 0: any */
    bool polled;                  /* a poll hands up what is next */
    uint32_t looks;               /* that saw something */
    uint32_t indexed;             /* handed up to long queues */
    struct hark_awaited *awaited; /* what hark_driver_await() was told */
    uint32_t direct;              /* delivered into it */
    uint32_t early;               /* where a receive was posted that nobody waited for */
    uint32_t placed, overtaken; /* handed up where it was placed; that while another one waited for
                                   the same */
    struct hark_driver_figures figures;
} world;

static uint64_t roll(uint64_t most)
{
    world.dice = world.dice * 6364136223846793005u + 1442695040888963407u;
    return (world.dice >> 33) % most;
}

static void fill(uint8_t *at, uint32_t i)
{
    for (uint64_t k = 0; k < world.sent[i].length; k++) at[k] = (uint8_t)(i + k);
}

static void hand_up(void);

/* ---- the driver ------------------------------------------------------------------------------ */

static bool refused(const struct hark_message *m)
{
    if (world.refuse > 0 && !world.refusing && roll(3) == 0) {
        world.refuse--;
        world.refusing = true;
    }
    return world.refusing || (world.only && m && world.only != m->ssn + 1);
}

int hark_driver_deliver(struct hark_driver *d, struct hark_message *m)
{
    (void)d;
    assert_in_range(m->ssn, 0, world.count - 1);
    if (refused(m)) return 1;
    assert_false(world.sent[m->ssn].taken);
    world.sent[m->ssn].taken = true;
    if (world.by_chance && world.next < world.count && roll(8) == 0)
        hand_up(); /* effects of the step */
    return HARK_D_OK;
}

void hark_driver_drop(struct hark_driver *d, struct hark_message *m)
{
    (void)d;
    if (m->borrowed) return;
    if (!m->placed) free(m->payload);
    free(m);
}

struct hark_message *hark_driver_keep(struct hark_driver *d, struct hark_message *m)
{
    (void)d;
    if (!m->borrowed) return m;
    struct hark_message *k = malloc(sizeof *k);
    *k = *m;
    k->borrowed = 0;
    k->payload = malloc(m->length);
    memcpy(k->payload, m->payload, m->length);
    return k;
}

static void place(struct sent *s, bool at_once)
{
    s->place = hark_app_place(NULL, s->from, hark_app_channel(s->ctx),
        hark_app_wire_tag(s->ctx, s->tag), s->length, at_once);
}

/* Begins to write message i, if it is not being written yet. */
static void begin(uint32_t i)
{
    struct sent *s = &world.sent[i];
    if (s->way != PLACED || s->place) return;
    place(s, false);
    if (s->place) memset(s->place, 0xee, s->length);
    else s->way = HELD;
}

/* Its sender dies, or the core does not want it now. */
static void break_off(uint32_t i)
{
    struct sent *s = &world.sent[i];
    if (s->place == NULL) return;
    hark_app_unplace(NULL, s->place);
    s->place = NULL;
    s->way = roll(2) ? HELD : PLACED;
}

/* Straight into the receive that waits, as the driver does with a message that is as usual. */
static bool deliver_directly(uint32_t i)
{
    const struct sent *s = &world.sent[i];
    struct hark_awaited *a = world.awaited;
    const int64_t tag = hark_app_wire_tag(s->ctx, s->tag);
    uint8_t bytes[LONGEST];
    if (a == NULL || s->way != BORROWED || s->taken) return false;
    if (hark_app.delivering) return false; /* what a step brings does not come from a transport */
    if ((a->from != HARK_RECOVERY && a->from != s->from) || a->ctx != hark_app_channel(s->ctx) ||
        ((tag ^ a->tag) & a->mask))
        return false;
    const struct hark_message m = {.ssn = i};
    if (refused(&m) || (world.by_chance && roll(3) == 0)) return false;
    fill(bytes, i);
    memcpy(a->data, bytes, s->length < a->room ? s->length : a->room);
    a->source = s->from;
    a->tag = tag;
    a->length = s->length;
    a->ssn = i;
    a->done = true;
    world.sent[i].taken = true;
    world.awaited = NULL;
    world.direct++;
    return true;
}

void hark_driver_await(struct hark_driver *d, struct hark_awaited *awaited)
{
    (void)d;
    world.awaited = awaited;
}

int hark_driver_receive(struct hark_driver *d, struct hark_awaited *awaited)
{
    (void)d;
    world.awaited = awaited;
    if (world.by_chance)
        for (uint64_t n = roll(4); n > 0 && world.next < world.count; n--) {
            hand_up();
            if (awaited->done && roll(2)) break; /* or what has come too is handed up as well */
        }
    world.awaited = NULL;
    return 0;
}

void hark_process_polled_seldom(int status)
{
    fail_msg("a look has failed: %d", status);
}

static void hand_up(void)
{
    uint32_t i = world.next++;
    struct sent *s = &world.sent[i];
    uint8_t borrowed[LONGEST];
    begin(i);
    if (deliver_directly(i)) return;
    if (s->way == AT_ONCE) {
        place(s, true);
        if (s->place) world.early += hark_app.waiting == NULL || s->place != hark_app.waiting->data;
        if (s->place && roll(8) == 0) { /* the core holds it, and hands it up later */
            hark_app_unplace(NULL, s->place);
            s->place = NULL;
        }
    }
    struct hark_message m = {.from = s->from,
                            .tag = hark_app_wire_tag(s->ctx, s->tag),
                            .ctx = hark_app_channel(s->ctx),
                            .ssn = i,
                            .length = s->length},
                        *whole = &m;
    if (s->way == BORROWED) {
        m.payload = borrowed;
        m.borrowed = 1;
    } else {
        whole = malloc(sizeof *whole);
        *whole = m;
        whole->placed = s->place != NULL;
        whole->payload = s->place ? s->place : malloc(s->length);
        if (s->place) {
            world.placed++;
            for (const struct hark_message *q = hark_app.first; q; q = q->next)
                if (q->from == s->from && q->tag == s->tag) {
                    world.overtaken++;
                    break;
                }
        }
    }
    fill(whole->payload, i);
    world.indexed += hark_app.index != NULL;
    hark_app_handup(NULL, whole);
    memset(borrowed, 0xdd, sizeof borrowed);
}

/* All have joined, and none begins again. */
bool hark_app_unready(void)
{
    return false;
}

void hark_process_wait(void)
{
    if (world.next >= world.count) fail_msg("a receive waits, and all was handed up");
    uint32_t other = world.next + (uint32_t)roll(world.window);
    world.refusing = false;
    if (other >= world.count) other = world.next;
    switch (world.by_chance ? roll(6) : 0) {
    case 4: break_off(other); break;
    case 5: break;
    case 2:
    case 3: begin(other); break;
    default: hand_up();
    }
}

void hark_process_poll(void)
{
    if (world.polled && world.next < world.count) hand_up();
}

uint64_t hark_process_now(void)
{
    return 0;
}

void hark_process_fatal(const char *format, ...)
{
    fail_msg("%s", format);
    abort();
}

const char *hark_driver_error(const struct hark_driver *d)
{
    (void)d;
    return "";
}

void hark_driver_enough(struct hark_driver *d)
{
    (void)d;
}

struct hark_driver_figures *hark_driver_figures(struct hark_driver *d)
{
    (void)d;
    return &world.figures;
}

int hark_driver_miss(struct hark_driver *d)
{
    (void)d;
    return refused(NULL);
}

int hark_driver_look(struct hark_driver *d, const struct hark_message *m)
{
    (void)d;
    if (refused(m)) return 1;
    assert_false(world.sent[m->ssn].taken);
    world.looks++;
    if (world.by_chance && world.next < world.count && roll(8) == 0) hand_up();
    return HARK_D_OK;
}

int hark_app_send(const void *data, size_t length, int to, uint32_t ctx, int tag)
{
    (void)data, (void)length, (void)to, (void)ctx, (void)tag;
    return HARK_A_OK;
}

int hark_app_start(const void *data, size_t length, int to, uint32_t ctx, int tag, uint32_t *left)
{
    (void)data, (void)length, (void)to, (void)ctx, (void)tag;
    *left = 0;
    return HARK_A_OK;
}

void hark_app_sent(uint32_t *left)
{
    assert_int_equal(*left, 0);
}

void hark_observe_delivered(const struct hark_message *m)
{
    (void)m;
}

void hark_recorder_delivered(struct hark_recorder *r, uint32_t from, uint32_t ctx, uint64_t number)
{
    (void)r;
    (void)from;
    (void)ctx;
    (void)number;
}

/* ---- what should be -------------------------------------------------------------------------- */

struct receive {
    int from, tag;
    struct hark_request *request;
    uint8_t data[LONGEST];
    bool done;
    uint32_t got; /* by the model */
};

static bool fits(const struct receive *r, const struct sent *s)
{
    return (r->from == HARK_ANY_SOURCE || r->from == (int)s->from) &&
           (r->tag == HARK_ANY_TAG || r->tag == s->tag);
}

/* The first receive that may have message i. */
static struct receive *first_receive(struct receive *posted, uint32_t i)
{
    while (posted->done || !fits(posted, &world.sent[i])) posted++;
    return posted;
}

/* The first message of i's sender that r may have. */
static uint32_t first_message(const struct receive *r, uint32_t i, const bool *gone)
{
    for (uint32_t k = 0;; k++)
        if (!gone[k] && world.sent[k].from == world.sent[i].from && fits(r, &world.sent[k]))
            return k;
}

/* Waits for posted[which], and gives each message to the first receive that may have it, once that
 * has none before it from the same sender. */
static void model_wait(struct receive *posted, uint32_t count, uint32_t which, bool *gone)
{
    for (uint32_t i = 0; i < world.count && !posted[which].done; i++) {
        if (gone[i] || !fits(&posted[which], &world.sent[i])) continue;
        struct receive *r = first_receive(posted, i);
        for (uint32_t k; (k = first_message(r, i, gone)) != i; r = first_receive(posted, i)) i = k;
        assert_in_range(r - posted, 0, count - 1);
        r->done = gone[i] = true;
        r->got = i;
        i = UINT32_MAX; /* from the first on */
    }
    assert_true(posted[which].done);
}

static void compare(const struct receive *r, const struct hark_info *info)
{
    const struct sent *s = &world.sent[r->got];
    uint8_t expected[LONGEST];
    fill(expected, r->got);
    assert_int_equal(info->source, s->from);
    assert_int_equal(info->tag, s->tag);
    assert_int_equal(info->length, s->length);
    assert_memory_equal(r->data, expected, s->length);
}

static int setup(void **state)
{
    static struct hark_board_slot slot;
    (void)state;
    memset(&world, 0, sizeof world);
    memset(&hark_app, 0, sizeof hark_app);
    memset(&slot, 0, sizeof slot);
    static struct hark_transport transport;
    hark_process = (struct hark_process){.slot = &slot, .transport = &transport};
    hark_app.unobserved = true;
    hark_process.setup.ranks = SOURCES;
    hark_app.joined = hark_app.ready = true;
    world.window = 1;
    return 0;
}

static void message(uint32_t from, int32_t tag, uint64_t length, enum way way)
{
    world.sent[world.count++] =
        (struct sent){.from = from, .tag = tag, .length = length, .way = way};
}

static void drop_untaken(void)
{
    for (struct hark_message *m; (m = hark_app.first) != NULL; hark_driver_drop(NULL, m))
        hark_queue_remove(m);
    assert_null(hark_app.index);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* In a recovery the driver holds what comes too early. A long message may be on its way into the
 * receive's memory when that is handed up. */
static void a_long_message_does_not_overtake_what_was_held(void **state)
{
    (void)state;
    struct receive first = {.from = 1, .tag = 0}, second = first;
    struct hark_info info;
    message(1, 0, 7, HELD);
    message(1, 0, LONGEST, PLACED);
    struct hark_request r = {.data = first.data, .room = LONGEST, .from = 1, .tag = 0};
    hark_app.waiting = hark_app.posted = hark_app.posted_last = &r;
    begin(1); /* 1 lies behind 0 on the same channel */
    assert_ptr_equal(world.sent[1].place, first.data);
    hand_up();
    assert_false(r.done);
    hand_up();
    assert_int_equal(world.overtaken, 1);
    hark_app.waiting = NULL;
    hark_app.posted = hark_app.posted_last = NULL;
    assert_false(r.done); /* both wait now, in their order, and nothing of the second lies in the
                             receive's memory for good */
    assert_false(r.reserved);
    assert_int_equal(hark_recv(first.data, LONGEST, 1, 0, &info), HARK_A_OK);
    first.got = 0;
    compare(&first, &info);
    assert_int_equal(hark_recv(second.data, LONGEST, 1, 0, &info), HARK_A_OK);
    second.got = 1;
    compare(&second, &info);
}

/* A payload lies in the memory of a receive that nobody waits for. When that is given up, or takes
 * another message first, it is still the one that was sent. */
static void what_came_early_makes_room(void **state)
{
    for (int given_up = 0; given_up < 2; given_up++) {
        struct receive first = {.from = 1, .tag = 0}, second = first;
        struct hark_info info;
        (void)setup(state);
        message(1, 0, 7, HELD);
        message(1, 0, LONGEST, AT_ONCE);
        struct hark_request r = {
            .data = first.data, .room = LONGEST, .from = 1, .tag = 0, .mask = hark_app_mask(0, 0)};
        hark_app_post(&r);
        world.next = 1;
        world.by_chance = false;
        hand_up();
        assert_ptr_equal(world.sent[1].place, first.data);
        assert_ptr_equal(r.early, hark_app.first);
        if (given_up) {
            hark_app_unpost(&r);
            memset(first.data, 0xee, LONGEST);
        } else {
            world.next = 0;
            hand_up();
            world.only = 1; /* a replay */
            hark_app_try(&r);
            assert_true(r.done);
            first.got = 0;
            compare(&first, &r.info);
            world.only = 0;
        }
        assert_int_equal(hark_recv(second.data, LONGEST, 1, 0, &info), HARK_A_OK);
        second.got = 1;
        compare(&second, &info);
        assert_null(hark_app.first);
    }
}

/* While a payload is written into the receive that is waited for, no other gets one that the first
 * would take if the writing ended for nothing. */
static void what_is_being_written_may_not_come(void **state)
{
    (void)state;
    struct receive any = {.from = HARK_ANY_SOURCE, .tag = 0}, named = {.from = 1, .tag = 0};
    struct hark_info info;
    message(2, 0, LONGEST, PLACED);
    message(1, 0, LONGEST, AT_ONCE);
    message(1, 0, 7, HELD);
    assert_int_equal(hark_irecv(any.data, LONGEST, HARK_ANY_SOURCE, 0, &any.request), HARK_A_OK);
    assert_int_equal(hark_irecv(named.data, LONGEST, 1, 0, &named.request), HARK_A_OK);
    hark_app.waiting = any.request;
    begin(0);
    assert_ptr_equal(world.sent[0].place, any.data);
    world.next = 1;
    hand_up();
    assert_null(world.sent[1].place);
    assert_null(named.request->early);
    hark_app_unplace(NULL, any.data); /* its sender has died */
    hark_app.waiting = NULL;
    assert_int_equal(hark_wait(&any.request, &info), HARK_A_OK);
    any.got = 1;
    compare(&any, &info);
    assert_int_equal(hark_wait(&named.request, &info), HARK_A_OK);
    named.got = 2;
    compare(&named, &info);
}

/* In a replay a message is seen before others are taken that came before it the first time. */
static void what_a_look_saw_does_not_stand_in_the_way(void **state)
{
    (void)state;
    struct receive first = {.from = HARK_ANY_SOURCE, .tag = HARK_ANY_TAG}, second = first;
    struct hark_info info;
    bool found = true;
    message(1, 0, 7, HELD);
    message(2, 0, 9, HELD);
    hand_up();
    world.only = 1;
    assert_int_equal(hark_probe(HARK_ANY_SOURCE, HARK_ANY_TAG, &info), HARK_A_OK);
    assert_int_equal(info.source, 1);
    hand_up();
    world.only = MANY; /* it saw nothing */
    assert_int_equal(hark_iprobe(HARK_ANY_SOURCE, 0, &found, &info), HARK_A_OK);
    assert_false(found);
    world.only = 2;
    assert_int_equal(hark_iprobe(HARK_ANY_SOURCE, 0, &found, &info), HARK_A_OK);
    assert_true(found);
    assert_int_equal(info.source, 2);
    assert_int_equal(info.length, 9);
    assert_int_equal(
        hark_recv(second.data, LONGEST, HARK_ANY_SOURCE, HARK_ANY_TAG, &info), HARK_A_OK);
    second.got = 1;
    compare(&second, &info);
    world.only = 1;
    assert_int_equal(
        hark_recv(first.data, LONGEST, HARK_ANY_SOURCE, HARK_ANY_TAG, &info), HARK_A_OK);
    compare(&first, &info);
    assert_null(hark_app.first);
    assert_null(hark_app.last);
    assert_int_equal(world.looks, 2);
}

/* What a replay lets a look see is what is received then, though it was handed up behind others
 * that fit. */
static void what_a_look_saw_is_received(void **state)
{
    (void)state;
    struct receive r = {.from = HARK_ANY_SOURCE, .tag = HARK_ANY_TAG};
    struct hark_info info;
    for (uint32_t from = 0; from < 3; from++) message(from, 0, 5 + from, HELD);
    for (unsigned i = 0; i < 3; i++) hand_up();
    static const uint32_t order[] = {2, 1, 0};
    for (unsigned i = 0; i < 3; i++) {
        world.only = order[i] + 1;
        assert_int_equal(hark_probe(HARK_ANY_SOURCE, HARK_ANY_TAG, &info), HARK_A_OK);
        assert_int_equal(info.source, order[i]);
        world.only = 0;
        assert_int_equal(
            hark_recv(r.data, LONGEST, HARK_ANY_SOURCE, HARK_ANY_TAG, &info), HARK_A_OK);
        r.got = order[i];
        compare(&r, &info);
    }
    assert_null(hark_app.first);
    assert_null(hark_app.last);
    setup(state);
    message(0, 0, 5, HELD); /* its turn, of three looks, is the last */
    message(2, 1, 6, HELD);
    message(2, 0, 7, HELD);
    for (unsigned i = 0; i < 3; i++) hand_up();
    world.only = 3;
    assert_int_equal(hark_probe(HARK_ANY_SOURCE, 0, &info), HARK_A_OK);
    assert_int_equal(info.source, 2);
    world.only = 0;
    for (unsigned i = 0; i < 3; i++) { /* and its sender's stay in order */
        assert_int_equal(
            hark_recv(r.data, LONGEST, HARK_ANY_SOURCE, HARK_ANY_TAG, &info), HARK_A_OK);
        r.got = (i + 1) % 3;
        compare(&r, &info);
    }
}

/* The first time they came as A1 B1 B2 P1. What is put before P1, B2 and with it B1, is not put
 * before A1, which was seen as the first of its tag. */
static void what_was_seen_stays_before_what_was_not(void **state)
{
    (void)state;
    struct receive r = {.from = HARK_ANY_SOURCE, .tag = 1};
    struct hark_info info;
    message(0, 2, 5, HELD);
    message(1, 1, 6, HELD);
    message(2, 1, 7, HELD);
    message(2, 2, 8, HELD);
    world.only = 1;
    hand_up();
    assert_int_equal(hark_probe(0, HARK_ANY_TAG, &info), HARK_A_OK);
    world.only = 2;
    hand_up();
    assert_int_equal(hark_probe(HARK_ANY_SOURCE, 1, &info), HARK_A_OK);
    assert_int_equal(info.source, 1);
    world.only = 4;
    hand_up();
    hand_up();
    assert_int_equal(hark_probe(HARK_ANY_SOURCE, 2, &info), HARK_A_OK);
    assert_int_equal(info.source, 2);
    world.only = 0;
    static const uint32_t order[] = {1, 2};
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(hark_probe(HARK_ANY_SOURCE, 1, &info), HARK_A_OK);
        assert_int_equal(info.source, order[i]);
        assert_int_equal(hark_recv(r.data, LONGEST, HARK_ANY_SOURCE, 1, &info), HARK_A_OK);
        r.got = order[i];
        compare(&r, &info);
    }
    for (unsigned i = 0; i < 2; i++) { /* B2, then P1 */
        assert_int_equal(
            hark_recv(r.data, LONGEST, HARK_ANY_SOURCE, HARK_ANY_TAG, &info), HARK_A_OK);
        r.got = i ? 0 : 3;
        compare(&r, &info);
    }
}

/* Polls for two messages, of which one is there: nothing is recorded but that, until something is
 * taken. */
static void looks_in_turn_are_recorded_once(void **state)
{
    (void)state;
    struct receive first = {.from = 1, .tag = 0};
    struct hark_info info;
    bool found;
    message(1, 0, 7, HELD);
    message(1, 0, 9, HELD);
    hand_up();
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(hark_iprobe(1, 0, &found, &info), HARK_A_OK);
        assert_true(found);
        assert_int_equal(info.length, 7);
        assert_int_equal(hark_iprobe(2, 1, &found, &info), HARK_A_OK);
        assert_false(found);
    }
    assert_int_equal(world.looks, 1);
    hand_up();
    struct hark_request *request;
    assert_int_equal(hark_irecv(first.data, LONGEST, 1, 0, &request), HARK_A_OK);
    assert_int_equal(hark_iprobe(1, 0, &found, &info), HARK_A_OK); /* the receive takes the first */
    assert_true(found);
    assert_int_equal(info.length, 9);
    assert_int_equal(world.looks, 2);
    assert_int_equal(hark_wait(&request, &info), HARK_A_OK);
    compare(&first, &info);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(hark_probe(1, 0, &info), HARK_A_OK);
        assert_int_equal(info.length, 9);
        assert_int_equal(world.looks, 3);
    }
    for (int tag = 2; tag < 2 + 3 * APP_SEEN; tag++) message(0, tag, 3, HELD);
    while (world.next < world.count) hand_up();
    for (unsigned i = 0; i < 2; i++) /* more than are kept */
        for (int tag = 2; tag < 2 + 3 * APP_SEEN; tag++) {
            assert_int_equal(hark_probe(HARK_ANY_SOURCE, tag, &info), HARK_A_OK);
            assert_int_equal(info.tag, tag);
        }
    assert_int_equal(world.looks, 3 + 2 * 3 * APP_SEEN);
    drop_untaken();
}

static void post(struct hark_request *r, int from, int tag, uint32_t ctx)
{
    *r = (struct hark_request){
        .from = from, .tag = tag, .ctx = ctx, .mask = hark_app_mask(tag, ctx)};
    hark_app_post(r);
}

/* What was sent first fits the receive that was posted first. A wait for the other receive gives
 * neither the second message to the first receive, nor waits for a third. */
static void a_message_does_not_overtake_on_its_way_to_another_receive(void **state)
{
    (void)state;
    struct receive any = {.from = 1, .tag = HARK_ANY_TAG}, second = {.from = 1, .tag = 1};
    struct hark_info info;
    message(1, 0, 7, HELD);
    message(1, 1, 9, HELD);
    assert_int_equal(hark_irecv(any.data, LONGEST, any.from, any.tag, &any.request), HARK_A_OK);
    assert_int_equal(hark_irecv(second.data, LONGEST, 1, 1, &second.request), HARK_A_OK);
    assert_int_equal(hark_wait(&second.request, &info), HARK_A_OK);
    second.got = 1;
    compare(&second, &info);
    assert_int_equal(hark_wait(&any.request, &info), HARK_A_OK);
    compare(&any, &info);
}

/* A marked message is taken whatever the process waits for, and those before it are. */
static void a_marked_message_does_not_overtake(void **state)
{
    (void)state;
    struct hark_request plain, after, other;
    message(1, 1, 0, HELD);
    message(1, 1 | HARK_APP_MARK, 0, HELD);
    message(1, 2, 0, HELD);
    for (unsigned i = 0; i < 3; i++) world.sent[i].ctx = HARK_APP_CONTEXTS;
    post(&plain, 1, 1, HARK_APP_CONTEXTS);
    post(&after, HARK_ANY_SOURCE, HARK_ANY_TAG, HARK_APP_CONTEXTS);
    post(&other, 1, 2, HARK_APP_CONTEXTS);
    hand_up();
    hand_up();
    assert_non_null(hark_app.first); /* there was no wait yet */
    hark_app_complete(&other, "test");
    assert_int_equal(plain.info.tag, 1);
    assert_int_equal(after.info.tag, 1 | HARK_APP_MARK);
    assert_int_equal(other.info.tag, 2);
    assert_int_equal(hark_app.taken_count, 1);
    assert_null(hark_app.first);
    assert_null(hark_app.posted);
    free(hark_app.taken);
}

/* What posted receives have a claim to is passed once, and again when one of them is no more. */
static void a_look_passes_claimed_messages_once(void **state)
{
    enum { CLAIMED = 50, OTHER = CLAIMED };
    struct hark_request r[CLAIMED];
    struct hark_info info;
    bool found;
    (void)state;
    for (int i = 0; i <= CLAIMED; i++) message(1, i, 0, HELD);
    for (int i = 0; i < CLAIMED; i++) post(&r[i], 1, i, CTX_POINT);
    for (int i = 0; i < CLAIMED; i++) hand_up();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hark_iprobe(1, HARK_ANY_TAG, &found, &info), HARK_A_OK);
        assert_false(found);
        assert_non_null(hark_app.claimed.last);
        assert_int_equal(hark_app.claimed.last->tag, CLAIMED - 1);
    }
    hand_up();
    assert_int_equal(hark_probe(1, HARK_ANY_TAG, &info), HARK_A_OK);
    assert_int_equal(info.tag, OTHER);
    hark_app_unpost(&r[20]);
    hark_app.looks = 0; /* as after a checkpoint call: what was seen before is not seen again */
    assert_int_equal(hark_probe(1, HARK_ANY_TAG, &info), HARK_A_OK);
    assert_int_equal(info.tag, 20);
    assert_int_equal(hark_probe(1, OTHER, &info), HARK_A_OK); /* another look */
    assert_int_equal(info.tag, OTHER);
    for (int i = 0; i < CLAIMED; i++)
        if (i != 20) hark_app_complete(&r[i], "test");
    assert_int_equal(hark_recv(NULL, 0, 1, HARK_ANY_TAG, &info), HARK_A_OK);
    assert_int_equal(info.tag, 20);
    assert_int_equal(hark_probe(1, HARK_ANY_TAG, &info), HARK_A_OK);
    assert_int_equal(info.tag, OTHER);
    drop_untaken();
}

/* What another look saw, and so was put before those, is not passed. */
static void what_a_look_saw_is_not_passed(void **state)
{
    struct hark_request r;
    struct hark_info info;
    bool found;
    (void)state;
    message(2, 2, 5, HELD);
    message(1, 1, 6, HELD); /* claimed */
    message(0, 1, 7, HELD);
    post(&r, 1, 1, CTX_POINT);
    hand_up();
    hand_up();
    assert_int_equal(hark_iprobe(HARK_ANY_SOURCE, 1, &found, &info), HARK_A_OK);
    assert_false(found);
    hand_up();
    world.only = 3;
    assert_int_equal(hark_probe(HARK_ANY_SOURCE, HARK_ANY_TAG, &info), HARK_A_OK);
    assert_int_equal(info.length, 7);
    assert_int_equal(hark_iprobe(HARK_ANY_SOURCE, 1, &found, &info), HARK_A_OK);
    assert_true(found);
    assert_int_equal(info.length, 7);
    hark_app_unpost(&r);
    drop_untaken();
}

/* A program may do nothing but ask: each hark_test of an open request polls, and one that is done
 * needs nothing more. */
static void a_loop_over_test_gets_on(void **state)
{
    (void)state;
    enum { COUNT = 3 };
    struct receive r = {.from = 1, .tag = 0};
    struct hark_info info;
    bool done = false;
    for (uint64_t i = 0; i + 1 < COUNT; i++) message(2, 1, 4 + i, HELD);
    message(1, 0, 9, HELD);
    r.got = COUNT - 1;
    assert_int_equal(hark_irecv(r.data, LONGEST, 1, 0, &r.request), HARK_A_OK);
    world.polled = true;
    for (uint32_t i = 1; i <= COUNT; i++) {
        assert_false(done);
        assert_int_equal(hark_test(&r.request, &done, &info), HARK_A_OK);
        assert_int_equal(world.next, i);
    }
    assert_true(done);
    compare(&r, &info);
    message(2, 1, 6, HELD);
    assert_int_equal(hark_isend("x", 1, 1, 0, &r.request), HARK_A_OK);
    assert_int_equal(hark_test(&r.request, &done, &info), HARK_A_OK);
    assert_true(done);
    assert_int_equal(world.next, COUNT);
    drop_untaken();
}

/* May a posted receive have message i? Each takes one: of those from one sender the first goes to
 * the first receive, and so on. All that one of any source could take is its own. */
static bool is_claimed(const struct receive *posted, uint32_t count, const bool *gone, uint32_t i)
{
    bool has[64] = {false};
    assert_true(count <= 64);
    for (uint32_t x = 0; x <= i; x++) {
        uint32_t k = 0;
        if (gone[x] || world.sent[x].from != world.sent[i].from) continue;
        while (k < count && (posted[k].request == NULL || posted[k].done || has[k] ||
                                !fits(&posted[k], &world.sent[x])))
            k++;
        if (k == count) continue;
        if (x == i || posted[k].from == HARK_ANY_SOURCE) {
            for (k = 0; k < count; k++)
                if (posted[k].request && !posted[k].done && fits(&posted[k], &world.sent[i]))
                    return true;
            return false;
        }
        has[k] = true;
    }
    return false;
}

/* Looks for one that no posted receive may have: the first that fits, of those that have been
 * handed up. */
static void look(const struct receive *posted, uint32_t count, const bool *gone)
{
    struct receive r = {.from = roll(3) ? (int)roll(SOURCES) : HARK_ANY_SOURCE,
        .tag = roll(3) ? (int)roll(TAGS) : HARK_ANY_TAG};
    struct hark_info info = {0};
    bool found = false;
    uint32_t i, looks = world.looks;
    for (i = 0; i < world.count; i++) {
        const bool claimed = gone[i] || is_claimed(posted, count, gone, i);
        if (!claimed && fits(&r, &world.sent[i])) break;
    }
    const bool waits = i < world.count && roll(2);
    assert_int_equal(
        waits ? hark_probe(r.from, r.tag, &info) : hark_iprobe(r.from, r.tag, &found, &info),
        HARK_A_OK);
    assert_in_range(world.looks, looks, looks + (waits || found));
    if (waits || found) { /* the same once more is no new choice */
        struct hark_info again;
        looks = world.looks;
        assert_int_equal(hark_iprobe(r.from, r.tag, &found, &again), HARK_A_OK);
        assert_true(found);
        assert_int_equal(world.looks, looks);
        assert_memory_equal(&again, &info, sizeof info);
    }
    if (!waits && !found && i + 1 >= world.next)
        return; /* it is not there yet, or has come with the look */
    assert_true(i < world.next);
    assert_true(waits || found);
    assert_int_equal(info.source, world.sent[i].from);
    assert_int_equal(info.tag, world.sent[i].tag);
    assert_int_equal(info.length, world.sent[i].length);
}

static struct {
    uint32_t indexed, placed, overtaken, direct, early;
} total;

static void by_chance(uint64_t seed)
{
    enum { RECEIVES = 20, OPEN = 3, OPEN_MANY = 60 };
    const uint32_t receives = seed % 8 ? RECEIVES : 2 * OPEN_MANY,
                   open = seed % 8 ? OPEN : OPEN_MANY;
    bool gone[MANY] = {false};
    void *none = NULL;
    setup(&none);
    world.dice = seed * 2654435761u + 1;
    world.by_chance = true;
    world.window = 4;
    world.refuse = (uint32_t)roll(4);
    for (uint32_t i = 0; i < receives; i++)
        message((uint32_t)roll(SOURCES), (int32_t)roll(TAGS), 1 + roll(LONGEST),
            (enum way)(roll(WAYS + 1) % WAYS));
    while (world.count + SOURCES * TAGS <= MANY) /* whatever is asked for comes */
        for (uint32_t k = 0; k < SOURCES * TAGS; k++)
            message(k % SOURCES, (int32_t)(k / SOURCES), 1 + roll(LONGEST),
                (enum way)(roll(WAYS + 1) % WAYS));

    for (uint32_t i = 0; i < receives;) {
        struct receive posted[OPEN_MANY];
        struct hark_info info;
        uint32_t count = 1 + (uint32_t)roll(open);
        for (uint32_t k = 0; k < count; k++) {
            struct receive *r = &posted[k];
            *r = (struct receive){.from = roll(3) ? (int)roll(SOURCES) : HARK_ANY_SOURCE,
                .tag = roll(3) ? (int)roll(TAGS) : HARK_ANY_TAG};
            assert_int_equal(hark_irecv(r->data, LONGEST, r->from, r->tag, &r->request), HARK_A_OK);
        }
        for (uint32_t left = count; left > 0; left--, i++) { /* waited for in any order */
            uint32_t k = (uint32_t)roll(count);
            while (posted[k].request == NULL) k = (k + 1) % count;
            if (roll(4) == 0) look(posted, count, gone);
            if (!posted[k].done) model_wait(posted, count, k, gone);
            assert_int_equal(hark_wait(&posted[k].request, &info), HARK_A_OK);
            compare(&posted[k], &info);
        }
    }
    for (uint32_t i = 0; i < world.count; i++) assert_int_equal(world.sent[i].taken, gone[i]);
    drop_untaken();
    total.indexed += world.indexed;
    total.placed += world.placed;
    total.overtaken += world.overtaken;
    total.direct += world.direct;
    total.early += world.early;
}

static void the_first_that_fits_is_received(void **state)
{
    enum { SEEDS = 20000 };
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) by_chance(seed);
    print_message(
        "%u messages were written where they were received, %u came where another one "
        "had to be first, %u were delivered as they came, %u lay where nobody waited yet\n",
        total.placed, total.overtaken, total.direct, total.early);
    assert_true(total.indexed > SEEDS && total.placed > SEEDS / 2 &&
                total.overtaken > SEEDS / 100 && total.direct > SEEDS / 20 &&
                total.early > SEEDS / 20); /* else
this shows nothing of
it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_long_message_does_not_overtake_what_was_held, setup),
        cmocka_unit_test_setup(what_came_early_makes_room, setup),
        cmocka_unit_test_setup(what_is_being_written_may_not_come, setup),
        cmocka_unit_test_setup(what_a_look_saw_does_not_stand_in_the_way, setup),
        cmocka_unit_test_setup(what_a_look_saw_is_received, setup),
        cmocka_unit_test_setup(what_was_seen_stays_before_what_was_not, setup),
        cmocka_unit_test_setup(looks_in_turn_are_recorded_once, setup),
        cmocka_unit_test_setup(a_message_does_not_overtake_on_its_way_to_another_receive, setup),
        cmocka_unit_test_setup(a_marked_message_does_not_overtake, setup),
        cmocka_unit_test_setup(a_look_passes_claimed_messages_once, setup),
        cmocka_unit_test_setup(what_a_look_saw_is_not_passed, setup),
        cmocka_unit_test_setup(a_loop_over_test_gets_on, setup),
        cmocka_unit_test(the_first_that_fits_is_received),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
