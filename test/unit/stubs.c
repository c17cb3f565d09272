/* Three small protocols of the test's own, through the interface and the driver: a survivor that is
 * told to roll back and keeps what its earlier self knew (send-deterministic protocols), a layer
 * that turns a group into messages (CAMEL), and a reduction. What they need of the interface is
 * what is tested; their rules are not those of any paper. */
#undef HARK_LINK /* protocols of its own are made of the bodies */
#include <malloc.h>

#include "hark/parts/channel.h"
#include "hark/registry.h"
#include "script.h"

#define KIND_STUB 99
/* What a payload of `n` bytes takes in the log: its envelope, and a slot; rounded up. */
#define TAKES(n) (((n) + 8 + 7) / 8 * 8 + 8)
enum {
    GROUP = 7,
    CTX = 3,
    NAMED = 4,
    TOLD = 16,
    TURN = 17
}; /* NAMED: a context whose messages are asked for one by one */

/* ---- the core -------------------------------------------------------------------------------- */

struct stub {
    struct hark head;
    struct hark_endpoint endpoint;
    uint64_t number; /* of the last message to the group */
    uint64_t line;   /* where it was when it was told to go back */
    uint64_t turn;   /* frames that have had their turn */
    uint64_t given;  /* messages of NAMED that have arrived, those that are given again too */
};

static const struct hark_field stub_channel_fields[] = {HARK_FIELD(struct hark_channel, peer, "j"),
    HARK_FIELD(struct hark_channel, ctx, "ctx"), HARK_FIELD(struct hark_channel, sent, "sent")};
static const struct hark_field stub_fields[] = {HARK_ENDPOINT_FIELDS(struct stub),
    HARK_FIELD(struct stub, number, "n"), HARK_FIELD(struct stub, line, "RL"),
    HARK_FIELD(struct stub, turn, "turn")};
static const struct hark_rows stub_rows[] = {
    {"channels", "", (uint16_t)offsetof(struct stub, endpoint.channels),
        sizeof(struct hark_channel), HARK_COUNT(stub_channel_fields), stub_channel_fields}};
static const struct hark_shape stub_shape = {"stub", 1, HARK_COUNT(stub_fields),
    HARK_COUNT(stub_rows), sizeof(struct stub), stub_fields, stub_rows, 0, NULL, 0, NULL};

static uint64_t stub_size(const struct hark_config *c)
{
    return hark_config_valid(c) ? sizeof(struct stub) + 16 * sizeof(struct hark_channel) : 0;
}

static int stub_init(struct hark *p, uint64_t bytes, const struct hark_config *c)
{
    struct stub *s = (struct stub *)(void *)p;
    int status = hark_block_init(p, bytes, &stub_shape, KIND_STUB);
    if (status < 0) return status;
    s->endpoint.me = c->me;
    s->endpoint.ranks = c->ranks;
    return HARK_OK;
}

static void to_child(struct stub *s, struct hark_effects *fx, uint32_t child,
    const struct hark_name *name, bool replay)
{
    struct hark_head h = {KIND_STUB, HARK_APP, CTX, s->endpoint.me, child, 0, 0, 0, name->ssn};
    uint8_t *body;
    struct hark_transmit *e = hark_emit_frame(fx, &h, HARK_WIRE_HEAD, &body);
    e->name = *name;
    e->replay = replay;
}

static int stub_step(struct hark *p, const struct hark_event *event, struct hark_effects *fx)
{
    struct stub *s = (struct stub *)(void *)p;
    struct hark_name name = {GROUP, CTX, HARK_OUT, HARK_GROUP, s->number};
    fx->count = fx->used = 0;
    switch (event->type) {
    case HARK_SEND: /* once into the log, along the tree to two children */
        if (event->u.send.to != HARK_GROUP || event->u.send.peer < GROUP) return HARK_EINVAL;
        name.peer = event->u.send.peer;
        name.ssn = ++s->number;
        to_child(s, fx, 1, &name, false);
        to_child(s, fx, 2, &name, false);
        hark_emit_retain(fx, name);
        return HARK_OK;
    case HARK_FAILED:
        for (uint32_t i = 0; i < event->u.failed.down_count; i++)
            if (event->u.failed.down[i] == s->endpoint.me) { /* on the recovery line, not failed */
                s->line = s->number;
                hark_emit_checkpoint(fx, HARK_ROLLBACK, 1);
                return HARK_OK;
            }
        to_child(s, fx, 3, &name, true); /* a grandchild whose parent is gone */
        return HARK_OK;
    case HARK_RESTARTED: {
        uint64_t room[(sizeof(struct stub) + 1024) / 8];
        struct stub *earlier = (struct stub *)(void *)room;
        if (event->u.restarted.old_core.length == 0) return HARK_OK;
        if (hark_block_init(&earlier->head, sizeof room, &stub_shape, KIND_STUB) < 0 ||
            hark_unpack(&earlier->head, &stub_shape, event->u.restarted.old_core) < 0)
            return HARK_EIMAGE;
        s->line = earlier->line;
        return HARK_OK;
    }
    case HARK_ARRIVE: { /* to a child, then handed up */
        struct hark_head h;
        if (hark_head_get(&h, event->u.frame.header, KIND_STUB) < 0) return HARK_EFRAME;
        if (h.type == TOLD) { /* the receivers have it, by way of others too: so far the log may go
                               */
            name.ssn = h.ssn;
            hark_emit_trim(fx, name);
            return HARK_OK;
        }
        if (h.type == TURN) { /* one after the other; the next is of the same sender, or of anybody
                               */
            if (h.ssn != s->turn + 1) return hark_emit_verdict(fx, HARK_HOLD);
            s->turn++;
            hark_emit_offer(fx, h.ssn % 2 ? h.src : HARK_RECOVERY);
            return HARK_OK;
        }
        if (h.ctx == NAMED) { /* the last comes first */
            s->given++;
            if (s->turn && h.ssn != s->turn - 1) return hark_emit_verdict(fx, HARK_HOLD);
            s->turn = h.ssn;
            hark_emit(fx, HARK_DISCARD);
            if (h.ssn == 1) return HARK_OK;
            hark_emit_offer(fx, h.src)->u.offer.name = hark_name_in(h.src, NAMED, h.ssn - 1);
            return HARK_OK;
        }
        name = (struct hark_name){h.src, CTX, HARK_IN, HARK_PROCESS, h.ssn};
        hark_emit(fx, HARK_HANDUP);
        to_child(s, fx, 3, &name, false);
        return HARK_OK;
    }
    case HARK_QUIET: { /* twice its own, as its result */
        hark_emit_combine(fx, name, HARK_COMBINE_OPERAND);
        hark_emit_combine(fx, name, HARK_COMBINE_OPERAND);
        hark_emit_combine(fx, name, HARK_COMBINE_REPLY);
        return HARK_OK;
    }
    case HARK_COMBINED:
        hark_emit_trim(fx, event->u.combined.name); /* the result has come: this entry alone may go
                                                     */
        return HARK_OK;
    default: return HARK_OK;
    }
}

static const struct hark_protocol stub = {.name = "stub",
    .kind = KIND_STUB,
    .rolls = HARK_ROLLS_PROCESS,
    .traits = HARK_TRAIT_GROUPS,
    .shape = &stub_shape,
    .size = stub_size,
    .init = stub_init,
    .step = stub_step,
    .names = hark_none_names,
    .violated = hark_none_violated};

/* ---- the embedder ---------------------------------------------------------------------------- */

static uint64_t rolled_to;
static int combined;

static void on_rollback(void *self, uint64_t id)
{
    (void)self;
    rolled_to = id;
}

static void on_combine(
    void *self, uint16_t ctx, int64_t tag, void *into, const void *part, uint64_t length)
{
    (void)self;
    assert_int_equal(ctx, CTX);
    assert_int_equal(tag, 6);
    for (uint64_t i = 0; i < length; i++)
        ((char *)into)[i] = (char)(((char *)into)[i] + ((const char *)part)[i]);
    combined++;
}

static char handed_up[64];

static void on_handup(void *self, struct hark_message *m)
{
    (void)self;
    memcpy(handed_up, m->payload, m->length < sizeof handed_up ? m->length : sizeof handed_up);
}

static struct hark_driver *open_driver(void)
{
    char error[256];
    struct hark_driver *d;
    struct hark_driver_config c = {.protocol = &stub,
        .transport = &plain,
        .hooks = {.rollback = on_rollback, .combine = on_combine, .handup = on_handup}};
    static const uint32_t alone = 0;
    const struct hark_group tree = {
        .ctx = CTX, .root = 0, .member = &alone, .parent = &alone, .count = 1};
    c.core.ranks = 8;
    c.core.groups = &tree; /* so messages are passed on */
    c.core.group_count = 1;
    memset(&script, 0, sizeof script);
    script.head.ops = &plain;
    rolled_to = 0;
    assert_int_equal(hark_driver_open(&d, &c, error), HARK_D_OK);
    return d;
}

static int failed(struct hark_driver *d, uint32_t down)
{
    struct hark_incarnation inc = {down, 1};
    struct hark_event e = {.type = HARK_FAILED};
    e.u.failed.re = 1;
    e.u.failed.down = &down;
    e.u.failed.down_count = 1;
    e.u.failed.inc = &inc;
    e.u.failed.inc_count = down ? 1 : 0;
    return hark_driver_failed(d, &e);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* One copy in the log for two receivers, and a third served from it later; also when both have to
 * wait. */
static void a_group_is_one_entry(void **state)
{
    (void)state;
    for (int again = 0; again < 4; again++) {
        struct hark_driver *d = open_driver();
        char text[] = "to all";
        script.again = again;
        assert_int_equal(hark_driver_multicast(d, GROUP, CTX, 5, text, sizeof text), HARK_D_OK);
        memset(text, 'x', sizeof text); /* the caller's again */
        while (script.taken < 2) assert_true(hark_driver_poll(d) >= 0);
        assert_int_equal(hark_driver_figures(d)->log_bytes, TAKES(sizeof text));
        assert_int_equal(failed(d, 4), HARK_D_OK);
        assert_int_equal(script.taken, 3);
        uint32_t to = 0;
        for (int i = 0; i < 3; i++) {
            to |= 1u << script.sent[i].to;
            assert_int_equal(script.sent[i].length, sizeof text);
            assert_string_equal((char *)script.sent[i].payload, "to all");
        }
        assert_int_equal(to, 1u << 1 | 1u << 2 | 1u << 3);
        hark_driver_close(d);
    }
}

/* What waits in the log outlives its entry there: it goes on its way all the same, and so does what
 * was before it. */
static void what_waits_outlives_its_entry(void **state)
{
    (void)state;
    static const char *const said[] = {"first", "second", "third"};
    struct hark_driver *d = open_driver();
    uint8_t header[HARK_WIRE_HEAD];
    struct hark_head h = {KIND_STUB, TOLD, CTX, 1, 0, 0, 0, 0, 2};
    struct hark_frame f = {.from = 1, .header = {header, sizeof header}};
    script.again = 1000;
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            hark_driver_multicast(d, GROUP, CTX, 5, said[i], strlen(said[i]) + 1), HARK_D_OK);
    assert_int_equal(hark_driver_figures(d)->log_bytes, TAKES(6) + TAKES(7) + TAKES(6));
    hark_head_put(header, &h);
    script.sink.arrived(script.sink.self, &f, NULL); /* two of three may go */
    assert_int_equal(hark_driver_figures(d)->log_bytes, TAKES(6));
    h.ssn = 3;
    hark_head_put(header, &h);
    script.again = 0;
    while (script.taken < 6) assert_true(hark_driver_poll(d) >= 0);
    script.sink.arrived(script.sink.self, &f, NULL); /* nothing waits */
    assert_int_equal(hark_driver_figures(d)->log_bytes, 0);
    int next[3] = {0};
    for (int i = 0; i < script.taken; i++) {
        assert_in_range(script.sent[i].to, 1, 2);
        assert_string_equal((char *)script.sent[i].payload, said[next[script.sent[i].to]++]);
    }
    assert_int_equal(next[1] + next[2], 6);
    hark_driver_close(d);
}

/* What goes from the log is copied if it still waits, and nothing else is: what waits to another
 * group stays where it is in the log. */
static void only_what_goes_is_copied(void **state)
{
    (void)state;
    struct hark_driver *d = open_driver();
    uint8_t header[HARK_WIRE_HEAD];
    struct hark_head h = {KIND_STUB, TOLD, CTX, 1, 0, 0, 0, 0, 2};
    struct hark_frame f = {.from = 1, .header = {header, sizeof header}};
    hark_head_put(header, &h);
    script.again = 1000;
    assert_int_equal(hark_driver_multicast(d, GROUP + 1, CTX, 5, "stays", 6), HARK_D_OK);
    assert_int_equal(hark_driver_multicast(d, GROUP, CTX, 5, "goes", 5), HARK_D_OK);
    assert_true(hark_driver_poll(d) >= 0);
    const void *at = script.last.part[0].at; /* the first in each queue is tried again */
    assert_string_equal((const char *)at, "stays");
    script.sink.arrived(script.sink.self, &f, NULL);
    assert_int_equal(hark_driver_figures(d)->log_bytes, TAKES(6));
    assert_true(hark_driver_poll(d) >= 0);
    assert_ptr_equal(script.last.part[0].at, at);
    script.again = 0;
    while (script.taken < 4) assert_true(hark_driver_poll(d) >= 0);
    for (int i = 0, next[3] = {0}; i < 4; i++)
        assert_string_equal(
            (char *)script.sent[i].payload, next[script.sent[i].to]++ ? "goes" : "stays");
    hark_driver_close(d);
}

/* A long one is not copied: the send lasts until the slower of its receivers has it. */
static void a_send_waits_for_all(void **state)
{
    (void)state;
    enum { LENGTH = 100000 };
    struct hark_driver *d = open_driver();
    char *text = calloc(1, LENGTH);
    assert_non_null(text);
    memcpy(text, "long", 5);
    script.again = 3;
    assert_int_equal(hark_driver_multicast(d, GROUP, CTX, 0, text, LENGTH), HARK_D_OK);
    assert_int_equal(script.taken, 2);
    free(text);
    hark_driver_close(d);
}

static void a_combination_is_answered(void **state)
{
    (void)state;
    struct hark_driver *d = open_driver();
    combined = 0;
    assert_int_equal(hark_driver_multicast(d, GROUP, CTX, 6, "\1\2\3", 3), HARK_D_OK);
    assert_int_equal(hark_driver_figures(d)->log_bytes, TAKES(3));
    assert_int_equal(hark_driver_quiet(d), HARK_D_OK);
    assert_int_equal(combined, 1);
    assert_int_equal(hark_driver_figures(d)->log_bytes, 0); /* COMBINED has been given: TRIM */
    hark_driver_close(d);
}

/* What comes from the root by way of another is passed on, with its tag, and handed up; also when
 * the child's frame has to wait, and what it came in is gone. */
static void an_arrival_is_passed_on(void **state)
{
    (void)state;
    static char text[40000];
    for (int again = 0; again < 2; again++) {
        for (uint32_t length = 7; length <= sizeof text; length += (uint32_t)sizeof text - 7) {
            struct hark_driver *d = open_driver();
            uint8_t header[HARK_WIRE_HEAD + 8] = {0};
            struct hark_head h = {KIND_STUB, HARK_APP, CTX, 1, 0, 0, 0, 0, 9};
            struct hark_frame f = {.from = 2, .header = {header, sizeof header}, .length = length};
            hark_head_put(header, &h);
            hark_put32(header + HARK_WIRE_HEAD, 77);
            memcpy(text, "hello!", 7);
            script.again = again;
            script.sink.arrived(script.sink.self, &f, text);
            memset(text, 'x', 7);
            while (script.taken < 1) assert_true(hark_driver_poll(d) >= 0);
            assert_int_equal(script.sent[0].to, 3);
            assert_int_equal(script.sent[0].length, length);
            assert_string_equal((char *)script.sent[0].payload, "hello!");
            assert_string_equal(handed_up, "hello!");
            assert_int_equal(hark_get32(script.header + HARK_WIRE_HEAD), 77);
            assert_int_equal(hark_driver_figures(d)->refused, 0);
            hark_put16(header + 2, 0); /* a message to one process is of whom it says */
            script.sink.arrived(script.sink.self, &f, text);
            assert_int_equal(hark_driver_figures(d)->refused, 1);
            hark_driver_close(d);
        }
    }
}

/* A frame that is given again may be what another one waits for, which is being given again too. */
static void an_offer_in_an_offer(void **state)
{
    (void)state;
    static const uint8_t numbers[][6] = {
        {2, 3, 1}, {3, 2, 1}, {6, 4, 2, 5, 3, 1}, {2, 4, 6, 5, 3, 1}, {3, 5, 6, 2, 4, 1}};
    for (size_t i = 0; i < HARK_COUNT(numbers); i++) {
        struct hark_driver *d = open_driver();
        const struct stub *s = (const struct stub *)(const void *)hark_driver_core(d);
        uint64_t last = 0;
        for (size_t k = 0; k < HARK_COUNT(numbers[i]) && numbers[i][k]; k++) {
            const uint32_t from = 1 + (numbers[i][k] - 1u) / 2 % 2; /* 1 and 2 of one, 3 and 4 of
                                                                       another */
            uint8_t header[HARK_WIRE_HEAD];
            struct hark_head h = {KIND_STUB, TURN, CTX, from, 0, 0, 0, 0, numbers[i][k]};
            struct hark_frame f = {.from = from, .header = {header, sizeof header}};
            hark_head_put(header, &h);
            script.sink.arrived(script.sink.self, &f, NULL);
            if (numbers[i][k] > last) last = numbers[i][k];
        }
        assert_int_equal(s->turn, last);
        hark_driver_close(d);
    }
}

/* Of many that are held the one that is asked for is given, however many there are, and all copies
 * of it. */
static void one_message_is_asked_for(void **state)
{
    enum { MANY = 3000 };
    (void)state;
    struct hark_driver *d = open_driver();
    const struct stub *s = (const struct stub *)(const void *)hark_driver_core(d);
    uint8_t header[HARK_WIRE_HEAD + 4] = {0};
    struct hark_frame f = {.from = 1, .header = {header, sizeof header}};
    static const uint64_t beside[] = {MANY + 5, MANY + 5, MANY + 4}; /* whose turn is past */
    struct hark_head h = {KIND_STUB, HARK_APP, NAMED, 1, 0, 0, 0, 0, MANY + 3};
    hark_head_put(header, &h);
    script.sink.arrived(script.sink.self, &f, NULL);
    assert_int_equal(s->turn, MANY + 3);
    for (size_t i = 0; i < HARK_COUNT(beside); i++) {
        h.ssn = beside[i];
        hark_head_put(header, &h);
        script.sink.arrived(script.sink.self, &f, NULL);
    }
    for (h.ssn = 1; h.ssn <= MANY; h.ssn++) {
        hark_head_put(header, &h);
        script.sink.arrived(script.sink.self, &f, NULL);
    }
    for (int copies = 0; copies < 2; copies++) {
        h.ssn = MANY + 1; /* held twice: when it is asked for both are given, and one is held once
                             more */
        hark_head_put(header, &h);
        script.sink.arrived(script.sink.self, &f, NULL);
    }
    const uint64_t given = s->given;
    h.ssn = MANY + 2;
    hark_head_put(header, &h);
    script.sink.arrived(script.sink.self, &f, NULL);
    assert_int_equal(s->turn, 1);
    assert_int_equal(s->given - given, 1 + 2 + MANY);
    hark_driver_close(d);
}

/* What is held for a moment, again and again, takes no more memory for it. */
static void what_is_held_leaves_no_trace(void **state)
{
    (void)state;
    struct hark_driver *d = open_driver();
    const struct stub *s = (const struct stub *)(const void *)hark_driver_core(d);
    uint8_t header[HARK_WIRE_HEAD + 4] = {0};
    struct hark_frame f = {.from = 1, .header = {header, sizeof header}};
    struct hark_head h = {KIND_STUB, HARK_APP, NAMED, 1, 0, 0, 0, 0, 0};
    static const uint64_t order[] = {3, 1, 2, 0}; /* 1 is held until 2 comes; 0 ends the turn */
    size_t taken = 0;
    for (int round = 0; round < 12; round++) {
        for (size_t i = 0; i < HARK_COUNT(order); i++) {
            h.ssn = order[i];
            hark_head_put(header, &h);
            script.sink.arrived(script.sink.self, &f, NULL);
        }
        assert_int_equal(s->turn, 0);
        struct mallinfo2 now = mallinfo2();
        if (round == 0) taken = now.uordblks + now.hblkhd;
        else if (taken) assert_int_equal(now.uordblks + now.hblkhd, taken);
    }
    hark_driver_close(d);
}

/* The survivor ends, its snapshot lives on: the new incarnation has the checkpoint's numbers and
 * the earlier one's line. */
static void a_survivor_rolls_back(void **state)
{
    (void)state;
    struct hark_driver *d = open_driver();
    uint8_t snapshot[1024];
    for (int i = 0; i < 5; i++)
        assert_int_equal(hark_driver_multicast(d, GROUP, CTX, 0, "x", 1), HARK_D_OK);
    assert_int_equal(failed(d, 0), HARK_D_EGONE);
    assert_int_equal(rolled_to, 1);
    assert_int_equal(hark_driver_multicast(d, GROUP, CTX, 0, "x", 1), HARK_D_EGONE);
    assert_int_equal(hark_driver_poll(d), HARK_D_EGONE);
    uint64_t length = hark_driver_snapshot(d, snapshot, sizeof snapshot);
    assert_true(length > 0 && length <= sizeof snapshot);
    hark_driver_close(d);

    const struct hark_region *region;
    uint32_t count;
    d = open_driver();
    hark_driver_kept(d, (struct hark_bytes){snapshot, (uint32_t)length});
    assert_int_equal(hark_driver_restart(d, 0, 1, 1, &region, &count), HARK_D_OK);
    const struct stub *s = (const struct stub *)(const void *)hark_driver_core(d);
    assert_int_equal(s->line, 5);
    assert_int_equal(s->number, 0);
    hark_driver_restarted(d);
    hark_driver_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_group_is_one_entry),
        cmocka_unit_test(what_waits_outlives_its_entry), cmocka_unit_test(only_what_goes_is_copied),
        cmocka_unit_test(a_send_waits_for_all), cmocka_unit_test(a_combination_is_answered),
        cmocka_unit_test(a_survivor_rolls_back), cmocka_unit_test(an_arrival_is_passed_on),
        cmocka_unit_test(an_offer_in_an_offer), cmocka_unit_test(one_message_is_asked_for),
        cmocka_unit_test(what_is_held_leaves_no_trace)};
    return cmocka_run_group_tests_name("stubs", tests, NULL, NULL);
}
