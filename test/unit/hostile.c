/* What no honest process sends and no store gives back: it is answered with a status, by an end of the step, or by nothing;
 * never by a trap or without end. Found by test/fuzz; each here in as few events as show it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hark/registry.h"

enum { BLOCK = 1 << 20, BATCHES = 100 };

static struct hark *core;
static const struct hark_protocol *protocol;
static struct hark_effect effect[HARK_EFFECTS_ROOM];
static uint8_t bytes[HARK_EFFECTS_BYTES];
static struct hark_effects fx = {.at = effect, .room = HARK_EFFECTS_ROOM, .bytes = bytes, .bytes_room = sizeof bytes};
static uint32_t count[HARK_RECOVERED + 1]; /* effects of the last event, by type */

static void begin(const char *name, uint32_t me, uint32_t flags)
{
    struct hark_config config = {.me = me, .ranks = 3, .flags = flags, .copies = 2};
    protocol = hark_protocol_named(name);
    assert_int_equal(protocol->init(core, BLOCK, &config), HARK_OK);
}

static int give(const struct hark_event *e)
{
    struct hark_event go_on = {.type = HARK_CONTINUE};
    int status = protocol->step(core, e, &fx), first = status;
    memset(count, 0, sizeof count);
    for (int batch = 0; status >= 0 && status != HARK_WAIT; batch++) {
        assert_true(batch < BATCHES);
        for (uint32_t i = 0; i < fx.count; i++) count[fx.at[i].type]++;
        if (status != HARK_MORE) break;
        status = protocol->step(core, &go_on, &fx);
    }
    return first;
}

static int post(uint32_t peer, uint16_t ctx, uint64_t digest)
{
    struct hark_event e = {.type = HARK_SEND};
    e.u.send.peer = peer;
    e.u.send.ctx = ctx;
    e.u.send.digest = digest;
    return give(&e);
}

/* A frame from `src` to rank 0 with these words of 8 bytes behind its head. */
static int frame(uint16_t kind, uint8_t type, uint16_t ctx, uint32_t src, uint32_t src_inc, uint32_t re, uint64_t ssn,
    const uint64_t *word, uint32_t words)
{
    uint8_t b[HARK_WIRE_HEAD + 8 * 600];
    struct hark_head h = {(uint8_t)kind, type, ctx, src, 0, src_inc, 0, re, ssn};
    struct hark_event e = {.type = HARK_ARRIVE};
    hark_head_put(b, &h);
    for (uint32_t i = 0; i < words; i++) hark_put64(b + HARK_WIRE_HEAD + 8 * i, word[i]);
    e.u.frame.header = (struct hark_bytes){b, HARK_WIRE_HEAD + 8 * words};
    return give(&e);
}

static void announce(uint32_t rank)
{
    struct hark_incarnation inc = {rank, 1};
    struct hark_event e = {.type = HARK_FAILED};
    e.u.failed.re = e.u.failed.down_count = e.u.failed.inc_count = 1;
    e.u.failed.down = &rank;
    e.u.failed.inc = &inc;
    assert_int_equal(give(&e) >= 0, 1);
}

static void test_contexts(void **state)
{
    const uint64_t app[2] = {1, 0};
    (void)state;
    begin("hydee", 0, 0);
    for (uint16_t ctx = 0; ctx < HARK_HYDEE_CTX_MAX; ctx++) assert_int_equal(post(1, (uint16_t)(3 * ctx), 0), HARK_OK);
    assert_int_equal(post(1, 1, 0), HARK_EINVAL);
    assert_int_equal(post(1, 3, 0), HARK_OK);
    assert_int_equal(post(2, 1, 0), HARK_OK);
    assert_int_equal(frame(HARK_KIND_HYDEE, HARK_APP, 1, 1, 0, 0, 1, app, 2), HARK_EFRAME);
    assert_int_equal(frame(HARK_KIND_HYDEE, HARK_APP, 3, 1, 0, 0, 1, app, 2), HARK_OK);
    announce(1); /* the POS to rank 1 goes out in one frame */
    assert_int_equal(count[HARK_TRANSMIT], 1);
    const uint64_t pos[1 + 4] = {1, 1, 0, 0, 0};
    assert_int_equal(frame(HARK_KIND_HYDEE, HARK_H_POS, 0, 1, 1, 1, 0, pos, 5), HARK_EFRAME);
}

/* GC says that what has arrived is not needed any more, and then POS that it is unknown. */
static void forgotten(uint32_t flags)
{
    const uint64_t app[5] = {1, 0, 1, 0}, gc[2] = {0, 9}, pos[5] = {1, 0, 0, 0, 0};
    begin("hydee", 0, flags);
    uint8_t b[HARK_WIRE_HEAD + 16 + HARK_PAST_FIXED] = {0};
    struct hark_head h = {HARK_KIND_HYDEE, HARK_APP, 0, 1, 0, 0, 0, 0, 1};
    struct hark_event e = {.type = HARK_ARRIVE};
    hark_head_put(b, &h);
    hark_put64(b + HARK_WIRE_HEAD, app[0]);
    hark_put64(b + HARK_WIRE_HEAD + 16, 1);
    e.u.frame.header = (struct hark_bytes){b, flags ? sizeof b : HARK_WIRE_HEAD + 16};
    assert_int_equal(give(&e), HARK_OK);
    assert_int_equal(count[HARK_HANDUP], 1);
    assert_int_equal(frame(HARK_KIND_HYDEE, HARK_H_GC, 0, 1, 0, 0, 0, gc, 2), HARK_OK);
    announce(1);
    assert_int_equal(frame(HARK_KIND_HYDEE, HARK_H_POS, 0, 1, 1, 1, 0, pos, 5), HARK_OK);
    assert_int_equal(count[HARK_TRANSMIT], 2); /* ORPH and REPORT, without rows */
}

static void test_forgotten(void **state)
{
    (void)state;
    forgotten(0);
    forgotten(HARK_EXACT_GATE);
}

/* More contexts diverge than there is room for effects. */
static void test_divergences(void **state)
{
    uint64_t pos[1 + 4 * 40] = {40};
    (void)state;
    begin("hydee", 0, HARK_DIGEST);
    announce(1);
    for (uint16_t ctx = 0; ctx < 40; ctx++) {
        uint64_t row[4] = {ctx, 0, 1, 77};
        assert_int_equal(post(1, ctx, 5), HARK_OK);
        memcpy(pos + 1 + 4 * ctx, row, sizeof row);
    }
    assert_true(frame(HARK_KIND_HYDEE, HARK_H_POS, 0, 1, 1, 1, 0, pos, 1 + 4 * 40) >= 0);
    assert_in_range(count[HARK_DIVERGED], 1, 40);
}

/* Of every protocol: a MARK that claims to be from myself makes no channel. */
static void test_mark_from_myself(void **state)
{
    static uint8_t before[4096], after[4096];
    const uint64_t mark[2] = {1, 1};
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        const char *name = i == 0 ? "coordinated" : i == 1 ? "hydee" : "scmel";
        begin(name, 0, 0);
        uint64_t n = hark_pack(core, protocol->shape, before, sizeof before);
        assert_int_equal(frame(core->kind, HARK_W_MARK, 4, 0, 0, 0, 0, mark, 2), HARK_EFRAME);
        assert_int_equal(hark_pack(core, protocol->shape, after, sizeof after), n);
        assert_memory_equal(before, after, n);
    }
}

/* An image in which one number is another: offset in the fixed fields of the packed form, found by its name. */
static uint64_t offset_of(const char *name)
{
    uint64_t at = 8;
    for (uint32_t i = 0; i < protocol->shape->fields; i++) {
        const struct hark_field *f = &protocol->shape->field[i];
        if (strcmp(f->name, name) == 0) return at;
        if (f->what == HARK_NUMBER) at += f->width;
        else at += 8; /* an empty queue */
    }
    fail_msg("no field %s", name);
    return 0;
}

static int unpack_with(const char *name, uint8_t value)
{
    static uint8_t before[8192], image[8192], after[8192];
    uint64_t n = hark_pack(core, protocol->shape, before, sizeof before);
    memcpy(image, before, n);
    image[offset_of(name)] = value;
    int status = hark_unpack(core, protocol->shape, (struct hark_bytes){image, (uint32_t)n});
    assert_int_equal(hark_pack(core, protocol->shape, after, sizeof after), n);
    assert_memory_equal(after, status == HARK_OK ? image : before, n);
    return status;
}

static void test_images(void **state)
{
    (void)state;
    begin("coordinated", 0, 0);
    assert_int_equal(unpack_with("ends.ranks", 0), HARK_EIMAGE);
    assert_int_equal(unpack_with("ends.me", 9), HARK_EIMAGE);
    assert_int_equal(unpack_with("wave.tell", HARK_W_END), HARK_EIMAGE);
    assert_int_equal(unpack_with("wave.listing", 200), HARK_EIMAGE);
    assert_int_equal(unpack_with("wave.tell", HARK_W_COMMIT), HARK_OK);
    struct hark_event point = {.type = HARK_CHECKPOINT_POINT};
    assert_int_equal(give(&point), HARK_ESTATE); /* the fan-out first */
    begin("hydee", 0, 0);
    assert_int_equal(unpack_with("plain", 40), HARK_EIMAGE);
    begin("scmel", 0, 0);
    assert_int_equal(unpack_with("k", 3), HARK_EIMAGE);
    assert_int_equal(unpack_with("k", 1), HARK_EIMAGE);
    assert_int_equal(unpack_with("own.most", 1), HARK_EIMAGE);
    begin("recovery", HARK_RECOVERY, 0);
    assert_int_equal(unpack_with("told", 1), HARK_EIMAGE);
    assert_int_equal(unpack_with("listing", 1), HARK_EIMAGE);
    assert_int_equal(unpack_with("change", 1), HARK_EIMAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_contexts), cmocka_unit_test(test_forgotten),
        cmocka_unit_test(test_divergences), cmocka_unit_test(test_mark_from_myself), cmocka_unit_test(test_images)};
    core = calloc(1, BLOCK);
    if (core == NULL) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(core);
    return failed;
}
