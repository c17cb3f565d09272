/* sendet.h: single cores: what an acknowledgement counts, what is logged and for how long, and who
 * stands still when. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hark/registry.h"

enum { BLOCK = 1 << 18, IMAGE = 1 << 16 };

static struct hark_effect effects[HARK_EFFECTS_ROOM];
static uint8_t bytes[HARK_EFFECTS_BYTES];
static struct hark_effects fx = {
    .at = effects, .room = HARK_EFFECTS_ROOM, .bytes = bytes, .bytes_room = sizeof bytes};

static struct hark_sendet *of(struct hark *p)
{
    return (struct hark_sendet *)(void *)p;
}

/* Process 0 of 3, in this epoch. */
static struct hark *core_with(uint64_t epoch, uint32_t flags)
{
    struct hark_config c = {.me = 0, .ranks = 3, .generations = 1, .epoch = epoch, .flags = flags};
    struct hark *p = calloc(1, BLOCK);
    assert_int_equal(hark_sendet_init(p, BLOCK, &c), HARK_OK);
    return p;
}

static struct hark *core(uint64_t epoch)
{
    return core_with(epoch, 0);
}

static int step(struct hark *p, struct hark_event e)
{
    int status = hark_sendet_step(p, &e, &fx);
    assert_null(hark_sendet_violated(p));
    return status;
}

static int plain(struct hark *p, uint32_t type)
{
    struct hark_event e = {.type = type};
    if (type == HARK_CHECKPOINT_POINT) e.u.point.due = 1;
    return step(p, e);
}

static int post(struct hark *p, uint32_t to, uint16_t ctx)
{
    struct hark_event e = {.type = HARK_SEND};
    e.u.send.peer = to;
    e.u.send.ctx = ctx;
    return step(p, e);
}

/* How many effects of this kind there are; of TRANSMIT those of one type of frame. */
static uint32_t count(uint32_t type, uint8_t frame)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < fx.count; i++)
        n += effects[i].type == type &&
             (type != HARK_TRANSMIT || effects[i].u.transmit.header.at[1] == frame);
    return n;
}

/* The frame of this type in the effects: what is behind its header. */
static const uint8_t *sent(uint8_t frame)
{
    for (uint32_t i = 0; i < fx.count; i++)
        if (effects[i].type == HARK_TRANSMIT && effects[i].u.transmit.header.at[1] == frame)
            return effects[i].u.transmit.header.at + HARK_WIRE_HEAD;
    fail_msg("no frame of type %u goes out", frame);
    return NULL;
}

/* A frame to process 0, in its incarnation and recovery epoch: words of 8 bytes behind the header.
 */
static int frame(struct hark *p, uint32_t type, uint8_t what, uint32_t src, uint32_t src_inc,
    uint16_t ctx, uint64_t ssn, const uint64_t *word, uint32_t words)
{
    struct hark_head h = {
        HARK_KIND_SENDET, what, ctx, src, 0, src_inc, of(p)->endpoint.inc, of(p)->endpoint.re, ssn};
    struct hark_event e = {.type = type};
    uint8_t b[HARK_WIRE_HEAD + 100] = {0};
    hark_head_put(b, &h);
    for (uint32_t i = 0; i < words; i++) hark_put64(b + HARK_WIRE_HEAD + 8 * i, word[i]);
    e.u.frame.header = (struct hark_bytes){b, HARK_WIRE_HEAD + 8 * words};
    return step(p, e);
}
#define WORDS(...) (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8

/* A message of phase 1 that was sent in `epoch`: what became of it. */
static uint32_t arrive(struct hark *p, uint32_t src, uint32_t inc, uint64_t ssn, uint64_t epoch)
{
    assert_int_equal(
        frame(p, HARK_ARRIVE, HARK_APP, src, inc, 0, ssn, WORDS(1, 0, epoch, 0, 0, 0)), HARK_OK);
    return effects[0].type;
}

static int deliver(struct hark *p, uint32_t src, uint32_t inc, uint64_t ssn, uint64_t epoch)
{
    return frame(p, HARK_DELIVER, HARK_APP, src, inc, 0, ssn, WORDS(1, 0, epoch, 0, 0, 0));
}

static void ack(struct hark *p, uint32_t src, uint32_t inc, uint16_t ctx, uint64_t first,
    uint64_t last, uint64_t epoch)
{
    assert_int_equal(
        frame(p, HARK_ARRIVE, HARK_H_ACK, src, inc, ctx, 0, WORDS(first, last, epoch)), HARK_OK);
}

static uint64_t checkpoint(struct hark *p)
{
    struct hark_event stored = {.type = HARK_STORED};
    uint64_t id = 0;
    assert_int_equal(plain(p, HARK_CHECKPOINT_POINT), HARK_OK);
    stored.u.stored.ok = 1;
    for (int i = 0; i < 2; i++) {
        uint32_t k = 0;
        while (k < fx.count && effects[k].type != HARK_CAPTURE && effects[k].type != HARK_PERSIST)
            k++;
        assert_true(k < fx.count);
        stored.u.stored.of = effects[k].type;
        stored.u.stored.fact = HARK_FACT_WAVE;
        id = stored.u.stored.id =
            effects[k].type == HARK_CAPTURE ? effects[k].u.checkpoint.id : effects[k].u.persist.id;
        assert_int_equal(step(p, stored), HARK_OK);
    }
    assert_int_equal(count(HARK_COMMIT, 0), 1);
    return id;
}

/* Process 1 has died; re and its incarnation are 1. */
static void failed(struct hark *p, uint32_t down)
{
    static const struct hark_incarnation of_0 = {0, 1}, of_1 = {1, 1};
    struct hark_event e = {.type = HARK_FAILED};
    e.u.failed.re = 1;
    e.u.failed.down_count = e.u.failed.inc_count = 1;
    e.u.failed.down = &down;
    e.u.failed.inc = down ? &of_1 : &of_0;
    assert_int_equal(step(p, e), HARK_OK);
}

/* What is in the log for process 1, on one context: first and last; 0: nothing. */
static void expect_log(struct hark *p, uint16_t ctx, uint64_t first, uint64_t last)
{
    struct hark_names run;
    uint64_t cursor = 0;
    while (hark_sendet_names(p, &cursor, &run)) {
        if (run.name.peer != 1 || run.name.ctx != ctx || run.name.way != HARK_OUT) continue;
        assert_int_equal(run.name.ssn, first);
        assert_int_equal(run.last, last);
        return;
    }
    assert_int_equal(first, 0);
}

/* ---- without failures ------------------------------------------------------------------------ */

/* Received in the epoch in which it was sent or in an earlier one: counted and forgotten. In a
 * later one: logged. */
static void test_acknowledged(void **state)
{
    struct hark *p = core(2);
    (void)state;
    for (int i = 0; i < 3; i++) assert_int_equal(post(p, 1, 0), HARK_OK);
    expect_log(p, 0, 1, 3);
    assert_string_equal(hark_sendet_unrest(p), "NonAck never drains");
    ack(p, 1, 0, 0, 1, 1, 1);
    expect_log(p, 0, 2, 3);
    assert_int_equal(count(HARK_TRIM, 0), 1);
    ack(p, 1, 0, 0, 2, 2, 2);
    expect_log(p, 0, 3, 3);
    ack(p, 1, 0, 0, 3, 3, 3);
    expect_log(p, 0, 3, 3);
    assert_null(hark_sendet_unrest(p));
    assert_int_equal(of(p)->spe.count, 1);
    ack(p, 1, 0, 0, 3, 3, 1); /* again, and wrong: it is known */
    expect_log(p, 0, 3, 3);
    free(p);
}

/* SPE has the latest epoch in which something was received that is not logged, whatever comes last
 * (U-4). */
static void test_latest(void **state)
{
    struct hark *p = core(5);
    (void)state;
    assert_int_equal(post(p, 1, 0), HARK_OK);
    assert_int_equal(post(p, 1, 7), HARK_OK);
    ack(p, 1, 0, 7, 1, 1, 4);
    ack(p, 1, 0, 0, 1, 1, 2);
    assert_int_equal(of(p)->spe.count, 1);
    const struct hark_sendet_spe *x = (const struct hark_sendet_spe *)hark_row(p, &of(p)->spe, 0);
    assert_int_equal(x->epoch, 5);
    assert_int_equal(x->peer, 1);
    assert_int_equal(x->latest, 4);
    free(p);
}

/* A checkpoint begins an epoch, and a phase: what is sent behind it does not overtake what was
 * received before. */
static void test_phases(void **state)
{
    struct hark *p = core(1);
    (void)state;
    assert_int_equal(post(p, 1, 0), HARK_OK);
    const uint8_t *b = sent(HARK_APP);
    assert_int_equal(hark_get64(b), 1);
    assert_int_equal(hark_get64(b + 16), 1);
    assert_int_equal(checkpoint(p), 1);
    assert_int_equal(post(p, 1, 0), HARK_OK);
    b = sent(HARK_APP);
    assert_int_equal(hark_get64(b), 2);
    assert_int_equal(hark_get64(b + 16), 2);
    assert_int_equal(arrive(p, 2, 0, 1, 2), HARK_HANDUP);
    assert_int_equal(deliver(p, 2, 0, 1, 2), HARK_OK); /* of this epoch, of a lower phase */
    assert_int_equal(of(p)->phase, 2);
    assert_int_equal(arrive(p, 2, 0, 2, 1), HARK_HANDUP);
    of(p)->phase = 1;
    assert_int_equal(deliver(p, 2, 0, 2, 1), HARK_OK); /* its sender is going to log it (U-7) */
    assert_int_equal(of(p)->phase, 2);
    free(p);
}

/* What was received in one epoch and what in the next are acknowledged each for itself (N-5). */
static void test_two_epochs(void **state)
{
    struct hark *p = core(1);
    (void)state;
    assert_int_equal(arrive(p, 1, 0, 1, 1), HARK_HANDUP);
    assert_int_equal(deliver(p, 1, 0, 1, 1), HARK_OK);
    checkpoint(p);
    assert_int_equal(arrive(p, 1, 0, 2, 1), HARK_HANDUP);
    assert_int_equal(post(p, 1, 0), HARK_OK);
    const uint8_t *b = sent(HARK_APP);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(hark_get64(b + 24 + 8 * i), 1); /* first, last, epoch */
    assert_int_equal(plain(p, HARK_IDLE), HARK_OK);
    b = sent(HARK_H_ACK);
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(hark_get64(b + 8 * i), 2);
    free(p);
}

/* Log entries go by what the oldest image of their receiver has, not by the epochs that are over
 * (N-3). */
static void test_log_goes(void **state)
{
    struct hark *p = core(1);
    (void)state;
    for (int i = 0; i < 2; i++) assert_int_equal(post(p, 1, 0), HARK_OK);
    ack(p, 1, 0, 0, 1, 2, 2);
    expect_log(p, 0, 1, 2);
    assert_int_equal(frame(p, HARK_ARRIVE, HARK_H_MIN, HARK_RECOVERY, 0, 0, 0, WORDS(9)), HARK_OK);
    expect_log(p, 0, 1, 2);
    assert_int_equal(frame(p, HARK_ARRIVE, HARK_H_GC, 1, 0, 0, 0, WORDS(1, 1)), HARK_OK);
    expect_log(p, 0, 2, 2);
    assert_int_equal(count(HARK_TRIM, 0), 1);
    free(p);
}

/* ---- a peer fails ---------------------------------------------------------------------------- */

static void position(struct hark *p, uint64_t sent_to_me, uint64_t received, uint64_t acked)
{
    assert_int_equal(
        frame(p, HARK_ARRIVE, HARK_H_POS, 1, 1, 0, 0, WORDS(1, 0, sent_to_me, received, acked, 0)),
        HARK_OK);
}

static void release(struct hark *p, uint64_t phase)
{
    assert_int_equal(
        frame(p, HARK_ARRIVE, HARK_H_RELEASE, HARK_RECOVERY, 0, 0, 0, WORDS(phase)), HARK_OK);
}

/* From FAILED to the first RELEASE nothing moves, not even what comes from those who have not
 * failed (N-9). */
static void test_stands_still(void **state)
{
    struct hark *p = core(1);
    (void)state;
    assert_int_equal(post(p, 1, 0), HARK_OK);
    assert_int_equal(post(p, 2, 0), HARK_OK);
    assert_int_equal(arrive(p, 2, 0, 1, 1), HARK_HANDUP);
    failed(p, 1);
    assert_int_equal(count(HARK_TRANSMIT, HARK_H_POS), 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(post(p, 2, 0), HARK_WAIT);
        assert_int_equal(deliver(p, 2, 0, 1, 1), HARK_WAIT);
        assert_int_equal(plain(p, HARK_MISS), HARK_WAIT);
        assert_int_equal(plain(p, HARK_CHECKPOINT_POINT), HARK_WAIT);
        assert_int_equal(arrive(p, 2, 0, 2, 1), HARK_HOLD);
        ack(p, 2, 0, 0, 1, 1, 1);
        assert_int_equal(effects[0].type, HARK_HOLD);
        assert_int_equal(plain(p, HARK_IDLE), HARK_OK);
        assert_int_equal(fx.count, 0);
        if (i) break;
        position(p, 0, 1, 0);
        assert_int_equal(
            frame(p, HARK_ARRIVE, HARK_H_ORPH, 1, 1, 0, 0, WORDS((uint64_t)1, 1, 1, 1, 1, 1)),
            HARK_OK);
        assert_int_equal(count(HARK_TRANSMIT, HARK_H_REPORT), 1);
    }
    release(p, HARK_INFINITY);
    assert_int_equal(count(HARK_OFFER, 0), 1);
    assert_int_equal(post(p, 2, 0), HARK_OK);
    assert_int_equal(deliver(p, 2, 0, 1, 1), HARK_OK);
    assert_int_equal(arrive(p, 2, 0, 2, 1), HARK_HANDUP);
    free(p);
}

/* Orphans of a context that is not known yet, and of which the peer's POS will tell: they wait for
 * that (v18). */
static void test_orphans_overtake(void **state)
{
    struct hark *p = core(1);
    (void)state;
    assert_int_equal(post(p, 1, 0), HARK_OK);
    failed(p, 1);
    for (int got = 0; got < 2; got++) {
        assert_int_equal(
            frame(p, HARK_ARRIVE, HARK_H_ORPH, 1, 1, 7, 0, WORDS((uint64_t)1, 1, 1, 1, 1, 1)),
            HARK_OK);
        assert_int_equal(count(HARK_HOLD, 0), !got);
        assert_int_equal(count(HARK_DISCARD, 0), 0);
        assert_int_equal(count(HARK_TRANSMIT, HARK_H_REPORT), got);
        if (!got)
            assert_int_equal(
                frame(p, HARK_ARRIVE, HARK_H_POS, 1, 1, 0, 0, WORDS(1, 7, 0, 1, 0, 0)), HARK_OK);
    }
    free(p);
}

/* What is replayed waits for its acknowledgement again: it may be received in another epoch now
 * (N-3). */
static void test_replayed(void **state)
{
    struct hark *p = core(1);
    (void)state;
    for (int i = 0; i < 3; i++) assert_int_equal(post(p, 1, 0), HARK_OK);
    ack(p, 1, 0, 0, 1, 3, 2);
    assert_null(hark_sendet_unrest(p));
    failed(p, 1);
    position(p, 0, 1, 0); /* its image has the first */
    release(p, HARK_INFINITY);
    assert_int_equal(count(HARK_TRANSMIT, HARK_APP), 2);
    assert_string_equal(hark_sendet_unrest(p), "NonAck never drains");
    ack(p, 1, 1, 0, 2, 2, 3);
    ack(p, 1, 1, 0, 3, 3, 1); /* in an earlier epoch than before: counted, and forgotten when those
                                 before it are */
    assert_int_equal(of(p)->spe.count, 1);
    assert_string_equal(hark_sendet_unrest(p), "recovery is not over here");
    assert_int_equal(frame(p, HARK_ARRIVE, HARK_H_GC, 1, 1, 0, 0, WORDS(2, 1)), HARK_OK);
    expect_log(p, 0, 0, 0);
    free(p);
}

/* ---- it goes back itself --------------------------------------------------------------------- */

/* An image with three messages: not acknowledged, whatever it knew of them; their receiver may have
 * undone that (N-2, N-10). */
static void test_goes_back(void **state)
{
    struct hark *p = core(1);
    uint8_t *image = malloc(IMAGE);
    struct hark_event again = {.type = HARK_RESTARTED};
    (void)state;
    for (int i = 0; i < 3; i++) assert_int_equal(post(p, 1, 0), HARK_OK);
    ack(p, 1, 0, 0, 1, 2, 2);
    assert_int_equal(plain(p, HARK_CHECKPOINT_POINT), HARK_OK);
    assert_int_equal(count(HARK_CAPTURE, 0), 1);
    uint64_t length = hark_pack(p, &hark_sendet_shape, image, IMAGE);
    free(p);
    p = core(1);
    again.u.restarted.checkpoint = again.u.restarted.re = again.u.restarted.inc = 1;
    again.u.restarted.image = (struct hark_bytes){image, (uint32_t)length};
    assert_int_equal(step(p, again), HARK_OK);
    expect_log(p, 0, 1, 3);
    failed(p, 0);
    const uint8_t *row = sent(HARK_H_POS) + 8;
    assert_int_equal(hark_get64(row + 8), 3);  /* sent */
    assert_int_equal(hark_get64(row + 24), 0); /* acknowledged */
    assert_int_equal(
        frame(p, HARK_ARRIVE, HARK_H_POS, 1, 0, 0, 0, WORDS(1, 0, 0, 3, 0, 0)), HARK_OK);
    assert_int_equal(count(HARK_TRANSMIT, HARK_H_REPORT), 0); /* it waits for what 1 has to tell of
                                                                 them */
    assert_int_equal(
        frame(p, HARK_ARRIVE, HARK_H_ORPH, 1, 0, 0, 0, WORDS((uint64_t)1, 1, 3, 1, 1, 1)), HARK_OK);
    assert_int_equal(count(HARK_TRANSMIT, HARK_H_REPORT), 1);
    expect_log(p, 0, 0, 0); /* received in the epoch in which they were sent */
    release(p, HARK_INFINITY);
    assert_int_equal(count(HARK_TRANSMIT, HARK_APP), 0);
    free(image);
    free(p);
}

static int post_content(struct hark *p, uint64_t digest)
{
    struct hark_event e = {.type = HARK_SEND};
    e.u.send.peer = 1;
    e.u.send.length = 8;
    e.u.send.digest = digest;
    return step(p, e);
}

/* Process 1 has received two messages of a process that has none of them left: it sends them again,
 * or others, or only one. */
static void test_diverges(void **state)
{
    const uint64_t of_both = hark_digest_mix(hark_digest_mix(0, 1, 8, 5), 2, 8, 6);
    (void)state;
    for (uint64_t second = 5; second <= 7; second++) {
        struct hark *p = core_with(1, HARK_DIGEST);
        struct hark_event again = {.type = HARK_RESTARTED};
        again.u.restarted.re = again.u.restarted.inc = 1;
        assert_int_equal(step(p, again), HARK_OK);
        failed(p, 0);
        assert_int_equal(
            frame(p, HARK_ARRIVE, HARK_H_POS, 1, 0, 0, 0, WORDS(1, 0, 0, 2, 0, of_both)), HARK_OK);
        assert_int_equal(
            frame(p, HARK_ARRIVE, HARK_H_POS, 2, 0, 0, 0, WORDS((uint64_t)0)), HARK_OK);
        assert_int_equal(
            frame(p, HARK_ARRIVE, HARK_H_ORPH, 1, 0, 0, 0, WORDS((uint64_t)1, 1, 2, 1, 1, 1)),
            HARK_OK);
        assert_int_equal(plain(p, HARK_QUIET), HARK_OK);
        assert_int_equal(fx.count, 0); /* it may not send yet */
        release(p, HARK_INFINITY);
        assert_int_equal(post_content(p, 5), HARK_OK);
        assert_int_equal(count(HARK_SUPPRESS, 0), 1);
        assert_int_equal(count(HARK_DIVERGED, 0), 0);
        assert_int_equal(second == 5 ? plain(p, HARK_QUIET) : post_content(p, second), HARK_OK);
        assert_int_equal(count(HARK_DIVERGED, 0), second != 6);
        for (uint32_t i = 0; i < fx.count; i++) {
            const struct hark_effect *x = &effects[i];
            if (x->type != HARK_DIVERGED) continue;
            assert_int_equal(x->u.diverged.name.peer, 1);
            assert_int_equal(x->u.diverged.name.way, HARK_OUT);
            assert_int_equal(x->u.diverged.name.ssn, second == 5 ? 2 : 1); /* not sent; of all that
                                                                              were sent again */
            assert_int_equal(x->u.diverged.last, 2);
            assert_int_equal(x->u.diverged.expected, second == 5 ? 0 : of_both);
            assert_true((x->u.diverged.got == 0) == (second == 5));
        }
        if (second > 5) {
            assert_int_equal(plain(p, HARK_QUIET), HARK_OK);
            assert_int_equal(fx.count, 0); /* none is left */
        }
        free(p);
    }
}

/* ---- frames that no core sends --------------------------------------------------------------- */

static void refused(
    struct hark *p, uint8_t what, uint32_t src, uint64_t ssn, uint32_t words, uint64_t first)
{
    const uint64_t word[8] = {first, 1, 1, 1, 1, 1, 1, 1};
    struct hark *before = malloc(BLOCK);
    memcpy(before, p, BLOCK);
    assert_int_equal(frame(p, HARK_ARRIVE, what, src, 0, 0, ssn, word, words), HARK_EFRAME);
    assert_memory_equal(before, p, BLOCK);
    free(before);
}

static void test_lengths(void **state)
{
    const uint8_t of_processes[] = {HARK_H_POS, HARK_H_ORPH, HARK_H_ACK, HARK_H_GC};
    struct hark *p = core(1);
    (void)state;
    refused(p, HARK_APP, 1, 1, 5, 1);
    refused(p, HARK_APP, 1, 1, 7, 1);
    refused(p, HARK_W_MARK, 1, 0, 2, 1); /* waves are of one process */
    refused(p, HARK_H_POS, 1, 0, 0, 0);
    refused(p, HARK_H_POS, 1, 0, 6, 2); /* two contexts, and one is there */
    refused(p, HARK_H_POS, 1, 0, 6, HARK_SENDET_CTX_MAX + 1);
    refused(p, HARK_H_ORPH, 1, 0, 0, 0);
    refused(p, HARK_H_ORPH, 1, 0, 3, 0);
    refused(p, HARK_H_ACK, 1, 0, 2, 1);
    refused(p, HARK_H_ACK, 1, 0, 4, 1);
    refused(p, HARK_H_GC, 1, 0, 1, 1);
    refused(p, HARK_H_RELEASE, HARK_RECOVERY, 0, 2, 1);
    refused(p, HARK_H_MIN, HARK_RECOVERY, 0, 0, 1);
    refused(p, HARK_H_RECDONE, HARK_RECOVERY, 0, 1, 1);
    for (size_t i = 0; i < sizeof of_processes; i++) {
        uint32_t words = of_processes[i] == HARK_H_GC ? 2 : of_processes[i] == HARK_H_ACK ? 3 : 6;
        refused(p, of_processes[i], HARK_RECOVERY, 0, words, 1);
        refused(p, of_processes[i], 0, 0, words, 1); /* from myself */
    }
    free(p);
}

/* ---- the recovery process -------------------------------------------------------------------- */

static struct hark *recovery(void)
{
    struct hark_config c = {.me = HARK_RECOVERY, .ranks = 3};
    struct hark *p = calloc(1, BLOCK);
    assert_int_equal(hark_recovery_init(p, BLOCK, &c), HARK_OK);
    return p;
}

static void epoch_of(struct hark *p, uint32_t src, uint32_t inc, uint32_t re, uint64_t epoch)
{
    struct hark_head h = {HARK_KIND_SENDET, HARK_H_EPOCH, 0, src, HARK_RECOVERY, inc, 0, re, 0};
    struct hark_event e = {.type = HARK_ARRIVE};
    uint8_t b[HARK_WIRE_HEAD + 16] = {0};
    hark_head_put(b, &h);
    hark_put64(b + HARK_WIRE_HEAD, epoch);
    hark_put64(b + HARK_WIRE_HEAD + 8, epoch);
    e.u.frame.header = (struct hark_bytes){b, sizeof b};
    assert_int_equal(hark_recovery_step(p, &e, &fx), HARK_OK);
    assert_null(hark_recovery_violated(p));
}

/* What all have left behind may go. Epochs of before a failure do not count: some of them are
 * undone (N-4). */
static void test_oldest(void **state)
{
    struct hark *p = recovery();
    struct hark_event e = {.type = HARK_FAILED};
    const struct hark_incarnation inc = {2, 1};
    const uint32_t down = 2;
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        epoch_of(p, i, 0, 0, 4 + i);
        assert_int_equal(count(HARK_TRANSMIT, HARK_H_MIN), i == 2 ? 3 : 0);
    }
    assert_int_equal(hark_get64(sent(HARK_H_MIN)), 4);
    epoch_of(p, 1, 0, 0, 7);
    epoch_of(p, 2, 0, 0, 8);
    e.u.failed.re = e.u.failed.down_count = e.u.failed.inc_count = 1;
    e.u.failed.down = &down;
    e.u.failed.inc = &inc;
    assert_int_equal(hark_recovery_step(p, &e, &fx), HARK_OK);
    ((struct hark_recovery *)(void *)p)->stage = HARK_R_CALM;
    epoch_of(p, 0, 0, 1, 9);
    assert_int_equal(count(HARK_TRANSMIT, HARK_H_MIN), 0); /* 1 may have gone back below 7, and 2
                                                              below 8 */
    epoch_of(p, 1, 0, 1, 5);
    epoch_of(p, 2, 1, 1, 6);
    assert_int_equal(count(HARK_TRANSMIT, HARK_H_MIN), 3);
    assert_int_equal(hark_get64(sent(HARK_H_MIN)), 5);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_acknowledged),
        cmocka_unit_test(test_latest), cmocka_unit_test(test_phases),
        cmocka_unit_test(test_two_epochs), cmocka_unit_test(test_log_goes),
        cmocka_unit_test(test_stands_still), cmocka_unit_test(test_orphans_overtake),
        cmocka_unit_test(test_replayed), cmocka_unit_test(test_goes_back),
        cmocka_unit_test(test_diverges), cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_oldest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
