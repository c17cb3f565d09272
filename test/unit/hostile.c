/* What no honest process sends and no store gives back: it is answered with a status, by an end of
 * the step, or by nothing; never by a trap or without end. Found by test/fuzz; each here in as few
 * events as show it. */
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
static uint32_t myself;
static struct hark_effect effect[HARK_EFFECTS_ROOM];
static uint8_t bytes[HARK_EFFECTS_BYTES];
static struct hark_effects fx = {
    .at = effect, .room = HARK_EFFECTS_ROOM, .bytes = bytes, .bytes_room = sizeof bytes};
static uint32_t count[HARK_RECOVERED + 1]; /* effects of the last event, by type */

static uint32_t fan; /* of the tree of reports */

static void begin(const char *name, uint32_t me, uint32_t flags)
{
    struct hark_config config = {.me = me,
        .ranks = 3,
        .flags = flags,
        .copies = strcmp(name, "camel") == 0 ? 1 : 2,
        .fan = fan};
    protocol = hark_protocol_named(name);
    myself = me;
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

/* A frame from `src` to me with these words of 8 bytes behind its head. */
static int frame(uint16_t kind, uint8_t type, uint16_t ctx, uint32_t src, uint32_t src_inc,
    uint32_t re, uint64_t ssn, const uint64_t *word, uint32_t words)
{
    uint8_t b[HARK_WIRE_HEAD + 8 * 600];
    struct hark_head h = {(uint8_t)kind, type, ctx, src, myself, src_inc, 0, re, ssn};
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
    for (uint16_t ctx = 0; ctx < HARK_HYDEE_CTX_MAX; ctx++)
        assert_int_equal(post(1, (uint16_t)(3 * ctx), 0), HARK_OK);
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
    static const char *const names[] = {"coordinated", "hydee", "scmel", "team"};
    for (unsigned i = 0; i < HARK_COUNT(names); i++) {
        begin(names[i], 0, 0);
        uint64_t n = hark_pack(core, protocol->shape, before, sizeof before);
        assert_int_equal(frame(core->kind, HARK_W_MARK, 4, 0, 0, 0, 0, mark, 2), HARK_EFRAME);
        assert_int_equal(hark_pack(core, protocol->shape, after, sizeof after), n);
        assert_memory_equal(before, after, n);
    }
}

/* An image in which one number is another: offset in the fixed fields of the packed form, found by
 * its name. */
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

/* Outside of groups, what a process sends itself has gone at once. */
static void test_self_that_waits(void)
{
    static uint8_t image[8192];
    struct hark_scmel *s = (struct hark_scmel *)(void *)core;
    assert_int_equal(post(0, 0, 5), HARK_OK);
    hark_scmel_at(s, 0)->transmitted = 0;
    s->late = 1;
    uint64_t n = hark_pack(core, protocol->shape, image, sizeof image);
    begin("scmel", 0, 0);
    assert_int_equal(
        hark_unpack(core, protocol->shape, (struct hark_bytes){image, (uint32_t)n}), HARK_EIMAGE);
}

static void test_images(void **state)
{
    (void)state;
    begin("coordinated", 0, 0);
    assert_int_equal(unpack_with("endpoint.ranks", 0), HARK_EIMAGE);
    assert_int_equal(unpack_with("endpoint.me", 9), HARK_EIMAGE);
    assert_int_equal(unpack_with("wave.fanout", HARK_W_END), HARK_EIMAGE);
    assert_int_equal(unpack_with("wave.listing", 200), HARK_EIMAGE);
    assert_int_equal(unpack_with("wave.fanout", HARK_W_COMMIT), HARK_OK);
    struct hark_event point = {.type = HARK_CHECKPOINT_POINT};
    assert_int_equal(give(&point), HARK_ESTATE); /* the fan-out first */
    begin("hydee", 0, 0);
    assert_int_equal(unpack_with("fixed_header_bytes", 40), HARK_EIMAGE);
    begin("scmel", 0, 0);
    assert_int_equal(unpack_with("k", 3), HARK_EIMAGE);
    assert_int_equal(unpack_with("k", 1), HARK_EIMAGE);
    assert_int_equal(unpack_with("own.most", 1), HARK_EIMAGE);
    assert_int_equal(unpack_with("teams", HARK_SCMEL_TEAMS), HARK_EIMAGE);
    test_self_that_waits();
    begin("team", 0, 0);
    assert_int_equal(unpack_with("teams", HARK_SCMEL_ALONE), HARK_EIMAGE);
    assert_int_equal(unpack_with("teams", HARK_SCMEL_TEAM_LOST + 1), HARK_EIMAGE);
    assert_int_equal(unpack_with("own.loose", 1), HARK_EIMAGE);
    begin("recovery", HARK_RECOVERY, 0);
    assert_int_equal(unpack_with("fanout_sent", 1), HARK_EIMAGE);
    assert_int_equal(unpack_with("listing", 1), HARK_EIMAGE);
    assert_int_equal(unpack_with("change", 1), HARK_EIMAGE);
    assert_int_equal(unpack_with("me", 0), HARK_EIMAGE);
    assert_int_equal(unpack_with("ranks", 0), HARK_EIMAGE);
    assert_int_equal(unpack_with("fanout", HARK_H_POS), HARK_EIMAGE);
    assert_int_equal(unpack_with("fanout", HARK_H_RECDONE), HARK_OK);
    assert_int_equal(unpack_with("fanout_sent", 3), HARK_EIMAGE); /* it has told all */
    assert_int_equal(unpack_with("fanout", HARK_H_RELEASE), HARK_OK);
    assert_int_equal(unpack_with("fanout_sent", 2), HARK_OK);
    struct hark_event go_on = {.type = HARK_CONTINUE};
    assert_int_equal(give(&go_on), HARK_OK);
    assert_int_equal(count[HARK_TRANSMIT], 1); /* the last */
}

/* A frame of a wave, from the leader to rank 1: the wave, and so many bytes behind it. What became
 * of it. */
static uint32_t wave(uint8_t type, uint64_t number, uint64_t more, uint32_t bytes_more)
{
    uint8_t b[HARK_WIRE_HEAD + 20] = {0};
    struct hark_head h = {HARK_KIND_COORDINATED, type, 0, 0, 1, 0, 0, 0, 0};
    struct hark_event e = {.type = HARK_ARRIVE};
    hark_head_put(b, &h);
    hark_put64(b + HARK_WIRE_HEAD, number);
    hark_put64(b + HARK_WIRE_HEAD + 8, more);
    e.u.frame.header =
        (struct hark_bytes){b, HARK_WIRE_HEAD + (type == HARK_W_ASK ? 0 : 8 + bytes_more)};
    assert_int_equal(give(&e), HARK_OK);
    return count[HARK_DISCARD] ? HARK_DISCARD : fx.count ? fx.at[0].type : 0;
}

/* What the leader said of another wave, or at another time, changes nothing. */
static void test_waves_that_are_over(void **state)
{
    struct hark_event point = {.type = HARK_CHECKPOINT_POINT}, stored = {.type = HARK_STORED};
    (void)state;
    begin("coordinated", 1, 0);
    assert_int_equal(wave(HARK_W_PREPARE, 5, 1, 12), HARK_DISCARD); /* nobody has asked */
    assert_int_equal(wave(HARK_W_ASK, 0, 0, 0), HARK_TRANSMIT);
    assert_int_equal(wave(HARK_W_ASK, 0, 0, 0), HARK_HOLD); /* one at a time */
    assert_int_equal(wave(HARK_W_PREPARE, 5, 1, 12), 0);
    assert_int_equal(wave(HARK_W_EXPECT, 5, 0, 4), HARK_DISCARD); /* it is not frozen */
    assert_int_equal(wave(HARK_W_COMMIT, 5, 0, 0), HARK_DISCARD);
    assert_int_equal(give(&point), HARK_OK);
    assert_int_equal(count[HARK_TRANSMIT], 1); /* FROZEN */
    assert_int_equal(wave(HARK_W_EXPECT, 4, 0, 4), HARK_DISCARD);
    assert_int_equal(wave(HARK_W_COMMIT, 5, 0, 0), HARK_DISCARD);
    assert_int_equal(wave(HARK_W_ABORT, 4, 0, 0), HARK_DISCARD);
    assert_int_equal(wave(HARK_W_MARK, 4, 9, 8), HARK_DISCARD);
    assert_int_equal(wave(HARK_W_EXPECT, 5, 0, 4), HARK_CAPTURE);
    assert_int_equal(wave(HARK_W_EXPECT, 5, 0, 4), HARK_DISCARD);
    stored.u.stored.of = HARK_CAPTURE;
    stored.u.stored.ok = 1;
    stored.u.stored.id = 4;
    assert_int_equal(give(&stored), HARK_OK);
    assert_int_equal(count[HARK_TRANSMIT], 0);
    stored.u.stored.id = 5;
    assert_int_equal(give(&stored), HARK_OK);
    assert_int_equal(count[HARK_TRANSMIT], 1); /* READY */
    assert_int_equal(wave(HARK_W_COMMIT, 4, 0, 0), HARK_DISCARD);
    assert_int_equal(wave(HARK_W_COMMIT, 6, 0, 0), HARK_DISCARD);
    assert_int_equal(wave(HARK_W_COMMIT, 5, 0, 0), HARK_COMMIT);
    assert_int_equal(count[HARK_RESUME], 1);
    assert_int_equal(wave(HARK_W_COMMIT, 5, 0, 0), HARK_DISCARD);
    assert_null(protocol->violated(core));
}

/* Under `coordinated` nobody outside of the group sends, and the recovery process is told DRAINED
 * by all once. */
static void test_out_of_place(void **state)
{
    struct hark_range pair = {0, 1};
    struct hark_config config = {.me = 0, .ranks = 3, .cluster = &pair, .cluster_count = 1};
    (void)state;
    begin("coordinated", 0, 0);
    assert_int_equal(protocol->init(core, BLOCK, &config), HARK_OK);
    assert_int_equal(frame(HARK_KIND_COORDINATED, HARK_APP, 0, 1, 0, 0, 1, NULL, 0), HARK_OK);
    assert_int_equal(count[HARK_HANDUP], 1);
    assert_int_equal(frame(HARK_KIND_COORDINATED, HARK_APP, 0, 2, 0, 0, 1, NULL, 0), HARK_EFRAME);
    assert_int_equal(post(2, 0, 0), HARK_EINVAL);
    begin("recovery", HARK_RECOVERY, 0);
    assert_int_equal(frame(HARK_KIND_HYDEE, HARK_H_DRAINED, 0, 1, 0, 0, 0, NULL, 0), HARK_OK);
    assert_int_equal(count[HARK_DISCARD], 1);
    announce(1);
    assert_int_equal(frame(HARK_KIND_HYDEE, HARK_H_DRAINED, 0, 1, 0, 1, 0, NULL, 0), HARK_OK);
    assert_int_equal(count[HARK_DISCARD], 1); /* not all have reported */
    const uint64_t none = (uint64_t)1 << 16 | 1;
    for (uint32_t rank = 0; rank < 3; rank++)
        assert_int_equal(
            frame(HARK_KIND_HYDEE, HARK_H_REPORT, 0, rank, 0, 1, 0, &none, 1), HARK_OK);
    assert_int_equal(count[HARK_TRANSMIT], 3);
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_int_equal(
            frame(HARK_KIND_HYDEE, HARK_H_DRAINED, 0, rank % 3, 0, 1, 0, NULL, 0), HARK_OK);
        assert_int_equal(count[HARK_PERSIST], rank == 2);
        assert_int_equal(count[HARK_DISCARD], rank == 3);
    }
}

/* An image that says of more images than there can be, or of later ones than itself. */
static void test_images_that_are_kept(void **state)
{
    static uint8_t image[8192];
    struct hark_event e = {.type = HARK_RESTARTED};
    (void)state;
    for (uint64_t last = 0; last < 20; last++) {
        begin("coordinated", 0, 0);
        struct hark_wave *w = &((struct hark_coordinated *)(void *)core)->wave;
        assert_int_equal(hark_reserve(core, protocol->shape, &w->kept, 20), HARK_OK);
        for (uint32_t i = 0; i < last; i++)
            ((struct hark_image *)hark_insert(core, &w->kept, i))->id = i + 1;
        uint64_t n = hark_pack(core, protocol->shape, image, sizeof image);
        begin("coordinated", 0, 0);
        e.u.restarted.checkpoint = 15;
        e.u.restarted.re = e.u.restarted.inc = 1;
        e.u.restarted.image = (struct hark_bytes){image, (uint32_t)n};
        assert_int_equal(give(&e), HARK_OK);
        assert_null(protocol->violated(core)); /* two generations */
        assert_int_equal(w->kept.count, last ? 2 : 1);
        assert_int_equal(
            ((struct hark_image *)hark_row(core, &w->kept, w->kept.count - 1))->id, 15);
        uint32_t before = last < 15 ? (uint32_t)last : 14, more = before > 1 ? before - 1 : 0;
        assert_int_equal(count[HARK_DROP], more < 8 ? more : 8);
        if (before)
            assert_int_equal(((struct hark_image *)hark_row(core, &w->kept, 0))->id, before);
    }
}

/* Reports by a tree: each frame from where it may come, and when. Of three p0 has the others below
 * it. */
static void test_tree(void **state)
{
    const uint64_t all = HARK_INFINITY, one[2] = {1, 1};
    const struct hark_config bad[] = {
        {.ranks = 3, .fan = 1}, {.ranks = 3, .fan = 2, .flags = HARK_EXACT_GATE}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct hark_config c = bad[i];
        assert_int_equal(hark_protocol_named("hydee")->size(&c), 0);
        assert_int_equal(hark_protocol_named("hydee")->init(core, BLOCK, &c), HARK_EINVAL);
        c.me = HARK_RECOVERY;
        assert_int_equal(hark_protocol_named("recovery")->size(&c), 0);
        assert_int_equal(hark_protocol_named("recovery")->init(core, BLOCK, &c), HARK_EINVAL);
    }
    begin("hydee", 0, 0);
    assert_int_equal(
        frame(HARK_KIND_HYDEE, HARK_H_UP, 0, 1, 0, 0, 0, one, 1), HARK_EFRAME); /* there
                                                                                   is
                                                                                   no
                                                                                   tree
                                                                                 */
    fan = 2;
    for (uint32_t me = 0; me < 2; me++) {
        uint32_t above = me ? 0 : HARK_RECOVERY, other = me ? HARK_RECOVERY : 1;
        begin("hydee", me, 0);
        assert_int_equal(
            frame(HARK_KIND_HYDEE, HARK_H_RELEASE, 0, other, 0, 0, 0, one, 1), HARK_EFRAME);
        assert_int_equal(
            frame(HARK_KIND_HYDEE, HARK_H_RELEASE, 0, above, 0, 0, 0, one, 2), HARK_EFRAME);
        assert_int_equal(
            frame(HARK_KIND_HYDEE, HARK_H_RECDONE, 0, other, 0, 0, 0, NULL, 0), HARK_EFRAME);
        assert_int_equal(frame(HARK_KIND_HYDEE, HARK_H_UP, 0, me ? 0 : 2, 0, 0, 0, one, 1),
            me ? HARK_EFRAME : HARK_OK);
        assert_int_equal(frame(HARK_KIND_HYDEE, HARK_H_UP, 0, 2, 0, 0, 0, one, 2), HARK_EFRAME);
        assert_int_equal(
            frame(HARK_KIND_HYDEE, HARK_H_UP, 0, HARK_RECOVERY, 0, 0, 0, one, 1), HARK_EFRAME);
        assert_int_equal(
            frame(HARK_KIND_HYDEE, HARK_H_DRAINED, 0, 2, 0, 0, 0, one, 1), HARK_EFRAME);
        assert_int_equal(
            frame(HARK_KIND_HYDEE, HARK_H_NOTIFY, 0, HARK_RECOVERY, 0, 0, 0, one, 1), HARK_EFRAME);
    }
    begin("hydee", 0, 0); /* no recovery runs */
    assert_int_equal(frame(HARK_KIND_HYDEE, HARK_H_DRAINED, 0, 2, 0, 0, 0, NULL, 0), HARK_OK);
    assert_int_equal(count[HARK_DISCARD], 1);
    assert_int_equal(frame(HARK_KIND_HYDEE, HARK_H_NOTIFY, 0, 2, 0, 0, 0, one, 1), HARK_OK);
    assert_int_equal(count[HARK_DISCARD], 1);
    announce(1);
    assert_int_equal(count[HARK_TRANSMIT], 0);
    assert_int_equal(
        frame(HARK_KIND_HYDEE, HARK_H_DRAINED, 0, 2, 0, 1, 0, NULL, 0), HARK_OK); /* not
                                                                                     a
                                                                                     word
                                                                                     of
                                                                                     it
                                                                                     before
                                                                                   */
    assert_int_equal(frame(HARK_KIND_HYDEE, HARK_H_UP, 0, 1, 1, 1, 0, &all, 1), HARK_OK);
    assert_int_equal(count[HARK_TRANSMIT], 0);
    assert_int_equal(frame(HARK_KIND_HYDEE, HARK_H_UP, 0, 2, 0, 1, 0, one, 1), HARK_OK);
    assert_int_equal(count[HARK_TRANSMIT], 1); /* UP */
    assert_int_equal(frame(HARK_KIND_HYDEE, HARK_H_UP, 0, 2, 0, 1, 0, one, 1), HARK_OK);
    assert_int_equal(count[HARK_TRANSMIT], 0);
    assert_int_equal(
        frame(HARK_KIND_HYDEE, HARK_H_RELEASE, 0, HARK_RECOVERY, 0, 1, 0, one, 1), HARK_OK);
    assert_int_equal(count[HARK_TRANSMIT], 2);
    assert_int_equal(
        frame(HARK_KIND_HYDEE, HARK_H_RELEASE, 0, HARK_RECOVERY, 0, 1, 0, one, 1), HARK_OK);
    assert_int_equal(count[HARK_TRANSMIT], 0);
    assert_int_equal(
        frame(HARK_KIND_HYDEE, HARK_H_RECDONE, 0, HARK_RECOVERY, 0, 1, 0, NULL, 0), HARK_OK);
    assert_int_equal(count[HARK_TRANSMIT], 2);
    assert_int_equal(
        frame(HARK_KIND_HYDEE, HARK_H_RECDONE, 0, HARK_RECOVERY, 0, 1, 0, NULL, 0), HARK_OK);
    assert_int_equal(count[HARK_TRANSMIT], 0);
    begin("recovery", HARK_RECOVERY, 0);
    assert_int_equal(frame(HARK_KIND_HYDEE, HARK_H_UP, 0, 1, 0, 0, 0, one, 1), HARK_EFRAME);
    assert_int_equal(frame(HARK_KIND_HYDEE, HARK_H_REPORT, 0, 0, 0, 0, 0, one, 1), HARK_EFRAME);
    assert_int_equal(frame(HARK_KIND_HYDEE, HARK_H_UP, 0, 0, 0, 0, 0, one, 1), HARK_OK);
    assert_int_equal(count[HARK_DISCARD], 1); /* no recovery runs */
    announce(1);
    assert_int_equal(frame(HARK_KIND_HYDEE, HARK_H_UP, 0, 0, 0, 1, 0, &all, 1), HARK_OK);
    assert_int_equal(count[HARK_TRANSMIT], 1);
    assert_int_equal(frame(HARK_KIND_HYDEE, HARK_H_UP, 0, 0, 0, 1, 0, one, 1), HARK_OK);
    assert_int_equal(count[HARK_DISCARD], 1); /* it was overtaken */
    assert_int_equal(frame(HARK_KIND_HYDEE, HARK_H_DRAINED, 0, 0, 0, 1, 0, NULL, 0), HARK_OK);
    assert_int_equal(count[HARK_PERSIST], 1);
    fan = 0;
}

/* A run of looks, which found nothing or saw the same, that reaches into what is known behind it:
 * it is not taken, and what is known stays in order. */
static void test_runs_that_overlap(void **state)
{
    (void)state;
    const struct hark_det
        known = {.creator = 1, .src = HARK_DET_MISS, .ctx = HARK_DET_LOOK, .ssn = 1, .rsn = 9},
        run = {.creator = 1, .src = HARK_DET_MISS, .ctx = HARK_DET_LOOK, .ssn = 5, .rsn = 6},
        fits = {.creator = 1, .src = HARK_DET_MISS, .ctx = HARK_DET_LOOK, .ssn = 3, .rsn = 6};
    const struct hark_det seen = {.creator = 1,
                              .src = 0,
                              .ctx = HARK_DET_LOOK,
                              .ssn = UINT64_C(4) << HARK_SSN_BITS | 1,
                              .rsn = 6},
                          saw = {.creator = 1,
                              .src = 0,
                              .ctx = HARK_DET_LOOK,
                              .ssn = UINT64_C(2) << HARK_SSN_BITS | 1,
                              .rsn = 6};
    const struct hark_det *all[] = {&known, &run, &known, &fits, &known, &seen, &known, &saw};
    for (unsigned i = 0; i < 4; i++) { /* too long, and as long as there is room */
        uint64_t word[20] = {0};
        uint8_t *b = (uint8_t *)word;
        begin("scmel", 2, 0);
        const uint32_t bytes_of = hark_det_bytes(2);
        assert_int_equal(2 * bytes_of % 8, 0);
        for (unsigned k = 0; k < 2; k++) {
            const struct hark_det *x = all[2 * i + k];
            uint8_t *at = b + k * bytes_of;
            hark_put32(at, x->creator);
            hark_put32(at + 4, x->src);
            hark_put32(at + 8, x->ctx);
            hark_put64(at + 12, x->ssn);
            hark_put64(at + 20, x->rsn);
        }
        assert_int_equal(
            frame(protocol->kind, HARK_S_SPREAD, 0, 1, 0, 0, 0, word, 2 * bytes_of / 8), HARK_OK);
        assert_null(protocol->violated(core));
        const struct hark_scmel *s = (const struct hark_scmel *)(const void *)core;
        assert_int_equal(
            ((const struct hark_scmel_log *)hark_row_of(core, &s->logs, 0))->dets.rows.count,
            1 + i % 2);
    }
}

/* A determinant is that of a message, of a look at one, or of looks that found nothing. */
static void test_determinants(void **state)
{
    static const struct {
        struct hark_det x;
        bool valid;
    } list[] = {{{.src = 1, .ssn = 1, .rsn = 1}, true}, {{.src = 3, .ssn = 1, .rsn = 1}, false},
        {{.src = 1, .ssn = 0, .rsn = 1}, false}, {{.src = 1, .ssn = 1, .rsn = 0}, false},
        {{.src = 1, .ssn = HARK_SSN_MOST, .rsn = 1, .ctx = UINT16_MAX}, true},
        {{.src = 1, .ssn = HARK_SSN_MOST + 1, .rsn = 1}, false},
        {{.src = 1, .ssn = 1, .rsn = 1, .ctx = 2 * HARK_DET_LOOK}, false},
        {{.src = 1, .ssn = 1, .rsn = 1, .ctx = HARK_DET_LOOK | 7}, true},
        {{.src = 3, .ssn = 1, .rsn = 1, .ctx = HARK_DET_LOOK}, false},
        {{.src = 1, .ssn = HARK_SSN_MOST + 2, .rsn = 1, .ctx = HARK_DET_LOOK}, true},
        {{.src = 1, .ssn = HARK_SSN_MOST + 1, .rsn = 1, .ctx = HARK_DET_LOOK}, false},
        {{.src = 1, .ssn = HARK_SSN_MOST + 2, .rsn = UINT64_MAX, .ctx = HARK_DET_LOOK}, false},
        {{.src = 1, .ssn = 1, .rsn = 1, .ctx = 3 * HARK_DET_LOOK}, false},
        {{.src = HARK_DET_MISS, .ssn = 1, .rsn = 1}, false},
        {{.src = HARK_DET_MISS, .ssn = 5, .rsn = UINT64_MAX - 4, .ctx = HARK_DET_LOOK}, true},
        {{.src = HARK_DET_MISS, .ssn = 6, .rsn = UINT64_MAX - 4, .ctx = HARK_DET_LOOK}, false},
        {{.src = HARK_DET_MISS, .ssn = 1, .rsn = 1, .ctx = HARK_DET_LOOK | 1}, false}};
    (void)state;
    for (size_t i = 0; i < HARK_COUNT(list); i++) {
        const struct hark_det *x = &list[i].x;
        struct hark_det read;
        uint8_t b[28] = {0};
        hark_put32(b + 4, x->src);
        hark_put32(b + 8, x->ctx);
        hark_put64(b + 12, x->ssn);
        hark_put64(b + 20, x->rsn);
        assert_int_equal(hark_det_read(&read, b, 3, 1), list[i].valid);
    }
}

/* What no field of an event or of the configuration can be, under every protocol: a status, and
 * nothing has moved. */
static void test_out_of_range(void **state)
{
    static uint8_t before[BLOCK], after[BLOCK];
    const struct hark_protocol *p;
    (void)state;
    for (unsigned i = 0; (p = hark_protocol_at(i)) != NULL; i++) {
        struct hark_config config = {.me = 0, .ranks = 3, .flags = 8};
        if (p->rolls == 0 && strcmp(p->name, "none") != 0) continue; /* a recovery process */
        assert_int_equal(p->init(core, BLOCK, &config), HARK_EINVAL);
        config.flags = 0;
        assert_int_equal(p->init((struct hark *)(void *)((uint8_t *)core + 4), BLOCK - 8, &config),
            HARK_EINVAL); /* it has numbers of 8 bytes */
        begin(p->name, 0, 0);
        const uint64_t length = hark_pack(core, p->shape, before, sizeof before);
        for (uint32_t n = 0; n < 1200; n++) {
            const uint32_t of = n / 6, fact = n % 6;
            struct hark_event e = {.type = HARK_STORED, .u.stored = {of, 1, 1, fact}};
            const bool known = fact >= HARK_FACT_WAVE && fact <= HARK_FACT_LINE;
            const bool valid = of == HARK_CAPTURE || (of == HARK_PERSIST && known);
            if (!valid) assert_int_equal(give(&e), HARK_EINVAL);
        }
        const struct hark_decision falling[] = {{1, 0, 1}, {0, 0, 1}},
                                   twice[] = {{1, 0, 1}, {1, 0, 2}}, nobody[] = {{3, 0, 1}};
        const struct hark_decision *list[] = {falling, twice, nobody};
        for (unsigned k = 0; k < 3 && p->rolls; k++) {
            struct hark_event e = {.type = HARK_FAILED};
            e.u.failed.re = 1;
            e.u.failed.wave = list[k];
            e.u.failed.wave_count = k < 2 ? 2 : 1;
            assert_int_equal(give(&e), HARK_EINVAL);
        }
        assert_int_equal(hark_pack(core, p->shape, after, sizeof after), length);
        assert_memory_equal(before, after, length);
        if (p->rolls == 0) continue;
        struct hark_event point = {.type = HARK_CHECKPOINT_POINT};
        point.u.point.due = true;
        assert_int_equal(give(&point), HARK_OK);
        if (count[HARK_RESUME] == 0)
            assert_int_equal(post(1, 0, 0), HARK_ESTATE); /* it is in its call */
    }
}

/* A new incarnation has a new block: one that has done something is not told that it is new, with
 * an image or without. */
static void test_restarted_when_used(void **state)
{
    (void)state;
    const struct hark_protocol *p;
    static uint8_t before[BLOCK];
    unsigned restarting = 0;
    for (unsigned i = 0; (p = hark_protocol_at(i)) != NULL; i++) {
        const uint64_t word[] = {0};
        struct hark_event e = {.type = HARK_RESTARTED};
        e.u.restarted.re = e.u.restarted.inc = 1;
        if (p->rolls == 0) continue;
        restarting++;
        for (uint16_t ctx = 0; ctx < 3; ctx++) { /* so many that no row is free that would hide it
                                                  */
            begin(p->name, 2, 0);
            for (uint16_t k = 0; k <= ctx; k++) {
                assert_true(post(2, k, 0) >= 0);
                (void)frame(p->kind, HARK_APP, k, 0, 0, 0, 1, word, 0);
            }
            memcpy(before, core, BLOCK);
            assert_int_equal(give(&e), HARK_ESTATE);
            assert_memory_equal(before, core, BLOCK);
        }
    }
    assert_true(restarting >= 6);
}

/* A count or a length, and nothing where it should be. */
static void test_missing(void **state)
{
    (void)state;
    for (unsigned i = 0; hark_protocol_at(i); i++) {
        if (!hark_protocol_runs(hark_protocol_at(i))) continue;
        const char *name = hark_protocol_at(i)->name;
        struct hark_config config = {.me = 0, .ranks = 3};
        begin(name, 0, 0);
        struct hark_event e = {.type = HARK_RESTARTED};
        e.u.restarted.inc = e.u.restarted.re = 1;
        e.u.restarted.undone_count = 3;
        if (strcmp(name, "sendet") == 0) assert_int_equal(give(&e), HARK_EINVAL);
        const struct hark_bytes nothing = {NULL, 100};
        assert_int_equal(hark_unpack(core, protocol->shape, nothing), HARK_EIMAGE);
        const struct hark_effects whole = fx;
        e = (struct hark_event){.type = HARK_IDLE};
        fx.at = NULL;
        assert_int_equal(give(&e), HARK_ENOROOM);
        fx = whole;
        fx.bytes = NULL;
        assert_int_equal(give(&e), HARK_ENOROOM);
        fx = whole;
        assert_int_equal(
            protocol->init((struct hark *)(void *)((uint8_t *)core + 4), BLOCK - 8, &config),
            HARK_EINVAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_determinants),
        cmocka_unit_test(test_out_of_range), cmocka_unit_test(test_restarted_when_used),
        cmocka_unit_test(test_runs_that_overlap), cmocka_unit_test(test_contexts),
        cmocka_unit_test(test_forgotten), cmocka_unit_test(test_divergences),
        cmocka_unit_test(test_mark_from_myself), cmocka_unit_test(test_images),
        cmocka_unit_test(test_waves_that_are_over), cmocka_unit_test(test_out_of_place),
        cmocka_unit_test(test_images_that_are_kept), cmocka_unit_test(test_missing),
        cmocka_unit_test(test_tree)};
    core = calloc(1, BLOCK);
    if (core == NULL) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(core);
    return failed;
}
