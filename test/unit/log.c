/* log.c: the payload log against a plain array of what it should hold. */
#include "hark/store.h"
#include "../fault/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { LONGEST = 300000, LONGEST_BLOCK = 327680 }; /* the block that one has for itself */
static char place[256], error[256];
static uint8_t source[LONGEST + 4096]; /* all payloads are windows of it */

static int set_up(void **state)
{
    (void)state;
    place_make(place);
    for (size_t i = 0; i < sizeof source; i++) source[i] = (uint8_t)(i * 2654435761u >> 11);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    place_remove(place);
    return 0;
}

static struct hark_log *open_log(uint64_t limit, bool spill)
{
    struct hark_log *log;
    struct hark_log_config config = {.limit = limit, .spill = spill ? place : NULL, .rank = 1};
    assert_int_equal(hark_log_open(&log, &config, error), HARK_L_OK);
    return log;
}

static struct hark_log_figures figures(const struct hark_log *log)
{
    struct hark_log_figures f;
    hark_log_figures(log, &f);
    return f;
}

/* ---- the model ------------------------------------------------------------------------------- */

enum { CHANNELS = 7, ENTRIES = 40000 };

struct model_channel {
    uint32_t peer;
    uint16_t ctx;
    uint32_t from, to; /* entries that are there */
    uint64_t bytes;
    struct {
        uint64_t ssn;
        uint32_t length;
        uint64_t takes; /* as the log said when it came */
    } entry[ENTRIES];
};

static struct {
    struct model_channel channel[CHANNELS];
    uint64_t entries, bytes, peak, random;
} model;

static uint32_t dice(uint32_t sides)
{
    model.random ^= model.random << 13;
    model.random ^= model.random >> 7;
    model.random ^= model.random << 17;
    return (uint32_t)((model.random >> 16) % sides);
}

static void model_start(uint64_t seed)
{
    memset(&model, 0, sizeof model);
    model.random = seed * 0x9e3779b97f4a7c15u + 1;
    for (uint32_t i = 0; i < CHANNELS; i++) { /* same peer with other ctx, same low bits, the
                                                 highest numbers */
        model.channel[i].peer = i < 3 ? 5 : i == 3 ? UINT32_MAX - 17 : i << 16;
        model.channel[i].ctx = (uint16_t)(i < 3 ? i : i == 3 ? 65535 : 0);
    }
}

/* The bytes of an entry: a window of the source that its name chooses. */
static const uint8_t *bytes_of(const struct model_channel *c, uint64_t ssn)
{
    return source + (c->peer * 31 + c->ctx * 17 + ssn * 7) % 4096;
}

static uint32_t some_length(void)
{
    switch (dice(40)) {
    case 0: return 0;
    case 1: return dice(LONGEST);
    case 2:
    case 3: return dice(20000);
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
    case 9: return dice(3000);
    default: return dice(100);
    }
}

static int try_retain(struct hark_log *log, struct model_channel *c, uint64_t ssn, uint32_t length)
{
    const uint8_t *bytes = bytes_of(c, ssn);
    struct hark_log_part part[3];
    if (length >= 8 && dice(3) == 0) { /* its last eight bytes as a number */
        uint64_t number;
        memcpy(&number, bytes + length - 8, 8);
        return hark_log_add(
            log, c->peer, c->ctx, ssn, length > 8 ? bytes : NULL, length - 8, number);
    }
    uint32_t count = 1 + dice(3), at = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t piece = i == count - 1 ? length - at : dice(length - at + 1);
        part[i] = (struct hark_log_part){.at = piece ? bytes + at : NULL, .length = piece};
        at += piece;
    }
    return hark_log_retain(log, c->peer, c->ctx, ssn, part, count);
}

static void model_trim(struct hark_log *log, struct model_channel *c, uint64_t ssn)
{
    hark_log_trim(log, c->peer, c->ctx, ssn);
    while (c->from < c->to && c->entry[c->from].ssn <= ssn) {
        model.entries--;
        model.bytes -= c->entry[c->from].takes;
        c->bytes -= c->entry[c->from].takes;
        c->from++;
    }
}

static uint64_t last_of(const struct model_channel *c)
{
    return c->to > 0 ? c->entry[c->to - 1].ssn : 0;
}

static void assert_entry(struct hark_log *log, struct model_channel *c, uint64_t ssn)
{
    uint32_t i = c->from;
    if (c->to > c->from) { /* lower bound */
        uint32_t to = c->to;
        while (i < to) {
            uint32_t middle = i + (to - i) / 2;
            if (c->entry[middle].ssn < ssn) i = middle + 1;
            else to = middle;
        }
    }
    bool there = i < c->to && c->entry[i].ssn == ssn;
    const void *at;
    uint64_t length;
    int status = hark_log_get(log, c->peer, c->ctx, ssn, &at, &length);
    assert_int_equal(status, there ? HARK_L_OK : HARK_L_ENONE);
    if (!there) return;
    assert_int_equal(length, c->entry[i].length);
    assert_memory_equal(at, bytes_of(c, ssn), length);
}

static void assert_figures(struct hark_log *log, uint64_t limit)
{
    struct hark_log_figures f = figures(log);
    assert_int_equal(f.entries, model.entries);
    assert_int_equal(f.bytes, model.bytes);
    assert_int_equal(f.bytes_peak, model.peak);
    assert_int_equal(f.spill_failures, 0);
    uint64_t index = f.index_bytes < limit / 2 ? f.index_bytes : limit / 2;
    if (limit) assert_true(f.memory_bytes - f.index_bytes + index <= limit);
    uint64_t most = 0, got = 0;
    uint32_t peer = 0;
    for (int i = 0; i < CHANNELS; i++)
        if (model.channel[i].bytes > most) most = model.channel[i].bytes;
    assert_int_equal(hark_log_heaviest(log, &peer, &got), most > 0);
    assert_int_equal(got, most);
    bool right = most == 0;
    for (int i = 0; i < CHANNELS; i++)
        right |= model.channel[i].peer == peer && model.channel[i].bytes == most;
    assert_true(right);
}

/* What an entry may take: gaps and a slot beside its payload; a block of its own if it is long, at
 * worst one that was to spare and twice as large. */
static void assert_takes(uint64_t takes, uint64_t length)
{
    assert_true(takes >= length);
    if (length < 1024)
        assert_true(takes >= (length + 7) / 8 * 8 + 8 && takes <= (length + 63) / 64 * 64 + 8);
    else assert_true(takes <= 2 * (length + length / 4 + 4096));
}

static void model_retain(
    struct hark_log *log, struct model_channel *c, uint64_t limit, uint64_t *refused)
{
    uint64_t last = last_of(c), gap = dice(20)  ? 0
                                      : dice(5) ? dice(10)
                                                : (uint64_t)dice(1000) << 30;
    uint64_t ssn = last + 1 + gap;
    uint32_t length = some_length();
    if (c->to == ENTRIES) return;
    uint64_t before = figures(log).bytes;
    int status = try_retain(log, c, ssn, length);
    if (status == HARK_L_EFULL && refused) {
        /* Never without need: the block that was wanted would have been at most this. */
        assert_true(figures(log).memory_bytes + length + length / 4 + limit / 16 + 16384 > limit);
        *refused += 1;
        model_trim(log, c, ssn);
        struct model_channel *other = &model.channel[dice(CHANNELS)];
        model_trim(log, other, last_of(other));
        return;
    }
    assert_int_equal(status, HARK_L_OK);
    c->entry[c->to].ssn = ssn;
    c->entry[c->to].length = length;
    uint64_t takes = c->entry[c->to++].takes = figures(log).bytes - before;
    assert_takes(takes, length);
    c->bytes += takes;
    model.entries++;
    model.bytes += takes;
    if (model.bytes > model.peak) model.peak = model.bytes;
}

static void play(uint64_t seed, uint64_t limit, bool spill, uint32_t operations, uint64_t *refused,
    uint64_t *spilled)
{
    struct hark_log *log = open_log(limit, spill);
    model_start(seed);
    for (uint32_t n = 0; n < operations; n++) {
        struct model_channel *c = &model.channel[dice(4) ? dice(2) : dice(CHANNELS)];
        uint32_t what = dice(100);
        if (what < 70) {
            model_retain(log, c, limit, refused);
        } else if (what < 95) {
            uint64_t ssn = c->to > c->from && dice(10)
                               ? c->entry[c->from + dice(c->to - c->from)].ssn + !dice(5)
                           : dice(2) ? last_of(c) + 1
                                     : dice(1000);
            assert_entry(log, c, ssn);
        } else if (what < 98 && c->to > c->from) {
            uint32_t part = 1 + (c->to - c->from) / (dice(4) ? 8 : 1);
            uint32_t i = c->from + dice(part);
            model_trim(log, c, c->entry[i < c->to ? i : c->to - 1].ssn + !dice(4));
        } else if (what == 98) {
            uint64_t wrong = last_of(c) ? last_of(c) - dice(3) : 0;
            assert_int_equal(try_retain(log, c, wrong > last_of(c) ? 0 : wrong, 5), HARK_L_EINVAL);
        } else if (dice(30) == 0) {
            model_trim(log, c, dice(2) ? last_of(c) : last_of(c) + dice(3));
        }
        if (n % 16 == 0) assert_figures(log, limit);
        *spilled += figures(log).spilled_bytes > 0;
    }
    for (int i = 0; i < CHANNELS; i++) {
        struct model_channel *c = &model.channel[i];
        for (uint32_t k = 0; k < c->to; k++) assert_entry(log, c, c->entry[k].ssn);
    }
    assert_figures(log, limit);
    for (int i = 0; i < CHANNELS; i++) model_trim(log, &model.channel[i], UINT64_MAX);
    assert_figures(log, limit);
    assert_int_equal(figures(log).entries, 0);
    assert_int_equal(figures(log).spilled_bytes, 0);
    assert_int_equal(place_count(place), 0);
    model_retain(log, &model.channel[0], limit, NULL); /* it goes on after a trim beyond its last */
    assert_figures(log, limit);
    hark_log_close(log);
    assert_int_equal(place_count(place), 0);
}

static void test_model_in_memory(void **state)
{
    (void)state;
    uint64_t spilled = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) play(seed, 0, false, 10000, NULL, &spilled);
    assert_int_equal(spilled, 0);
}

static void test_model_spilling(void **state)
{
    (void)state;
    static const uint64_t limit[] = {1, 65536, 200000, 1 << 20, 4 << 20};
    for (uint64_t i = 0; i < 5; i++) {
        uint64_t spilled = 0;
        play(100 + i, limit[i] < 65536 ? 65536 : limit[i], true, 6000, NULL, &spilled);
        assert_true(spilled > 1000);
    }
}

static void test_model_without_spill(void **state)
{
    (void)state;
    static const uint64_t limit[] = {65536, 1 << 20, 4 << 20};
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t spilled = 0, refused = 0;
        play(200 + i, limit[i], false, 10000, &refused, &spilled);
        assert_true(refused > 0);
        assert_int_equal(spilled, 0);
    }
}

/* ---- one thing at a time --------------------------------------------------------------------- */

static int retain(struct hark_log *log, uint32_t peer, uint64_t ssn, uint64_t length)
{
    struct hark_log_part part = {.at = source, .length = length};
    return hark_log_retain(log, peer, 0, ssn, &part, 1);
}

static void test_order(void **state)
{
    (void)state;
    struct hark_log *log = open_log(0, false);
    const struct hark_log_part part[2] = {{source, UINT64_MAX}, {source, 1}},
                               most[2] = {{source, UINT64_MAX - 1}, {source, 1}};
    const void *at;
    uint64_t length;
    assert_int_equal(retain(log, 1, 0, 4), HARK_L_EINVAL);
    assert_int_equal(retain(log, 1, 5, 4), HARK_L_OK);
    assert_int_equal(retain(log, 1, 5, 4), HARK_L_EINVAL);
    assert_int_equal(retain(log, 1, 4, 4), HARK_L_EINVAL);
    assert_int_equal(hark_log_add(log, 1, 0, 5, source, 4, 0), HARK_L_EINVAL);
    assert_int_equal(hark_log_retain(log, 1, 0, 6, part, 2), HARK_L_EINVAL);
    assert_int_equal(hark_log_retain(log, 1, 0, 6, most, 2), HARK_L_EMEMORY);
    assert_int_equal(hark_log_retain(log, 1, 0, 6, NULL, 0), HARK_L_OK);
    assert_int_equal(hark_log_get(log, 1, 0, 6, &at, &length), HARK_L_OK);
    assert_int_equal(length, 0);
    assert_int_equal(hark_log_get(log, 1, 1, 5, &at, &length), HARK_L_ENONE);
    assert_int_equal(hark_log_get(log, 2, 0, 5, &at, &length), HARK_L_ENONE);
    hark_log_trim(log, 1, 0, 100);
    assert_int_equal(retain(log, 1, 6, 4), HARK_L_EINVAL);
    assert_int_equal(retain(log, 1, 7, 4), HARK_L_OK); /* trimmed to 100, but 6 was the last */
    assert_int_equal(hark_log_get(log, 1, 0, 7, &at, &length), HARK_L_OK);
    assert_int_equal(retain(log, 1, UINT64_MAX, 4), HARK_L_OK);
    assert_int_equal(hark_log_get(log, 1, 0, UINT64_MAX, &at, &length), HARK_L_OK);
    hark_log_trim(log, 1, 0, UINT64_MAX);
    assert_int_equal(figures(log).entries, 0);
    hark_log_close(log);
}

/* A log trimmed to a window goes round in the same memory, whatever the size of its messages. */
static void test_memory_is_recycled(void **state)
{
    (void)state;
    static const struct {
        uint64_t length, window, takes;
    } row[] = {{8, 10, 16}, {8, 100000, 16}, {1000, 100, 1008}, {65536, 128, 65544},
        {LONGEST, 20, LONGEST_BLOCK}, {3000, 1, 3016}};
    for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
        struct hark_log *log = open_log(0, false);
        uint64_t window = row[r].window, held = 0;
        for (uint64_t ssn = 1; ssn <= 12 * window + 10000; ssn++) {
            assert_int_equal(retain(log, 1, ssn, row[r].length), HARK_L_OK);
            if (ssn > window) hark_log_trim(log, 1, 0, ssn - window);
            if (ssn == 6 * window + 5000) held = figures(log).memory_bytes;
        }
        struct hark_log_figures f = figures(log);
        assert_int_equal(f.entries, window);
        assert_int_equal(f.bytes, window * row[r].takes);
        assert_int_equal(f.bytes_peak, (window + 1) * row[r].takes);
        assert_int_equal(f.memory_bytes, held);
        assert_true(held <= (17 * window + 60) * (row[r].length + 8) / 10 + 32768);
        hark_log_close(log);
    }
}

/* What one channel needs no more another can have. */
static void test_memory_changes_hands(void **state)
{
    (void)state;
    struct hark_log *log = open_log(0, false);
    uint64_t held = 0;
    for (uint32_t peer = 1; peer < 50; peer++) {
        for (uint64_t ssn = 1; ssn <= 300; ssn++)
            assert_int_equal(retain(log, peer, ssn, 10000), HARK_L_OK);
        hark_log_trim(log, peer, 0, 300);
        if (peer == 1) held = figures(log).memory_bytes;
    }
    /* but for what names it: a channel, and a row of its blocks */
    assert_in_range(figures(log).memory_bytes, held, held + 48 * 2048);
    hark_log_close(log);
}

/* A file is read once for many entries: never what it held is taken for what another holds. */
static void test_file_buffer(void **state)
{
    (void)state;
    struct hark_log *log = open_log(65536, true);
    const void *at;
    uint64_t length;
    for (uint64_t ssn = 1; ssn <= 200; ssn++) {
        struct hark_log_part part = {.at = source + ssn, .length = 70000};
        assert_int_equal(hark_log_retain(log, 1, 0, ssn, &part, 1), HARK_L_OK);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(hark_log_get(log, 1, 0, ssn, &at, &length), HARK_L_OK);
            assert_int_equal(length, 70000);
            assert_memory_equal(at, source + ssn, length);
        }
        hark_log_trim(log, 1, 0, ssn);
        assert_int_equal(place_count(place), 0);
    }
    hark_log_close(log);
}

/* Many channels with a word each cost a page each, and what names it. */
static void test_many_channels(void **state)
{
    (void)state;
    enum { PEERS = 20000 };
    struct hark_log *log = open_log(0, false);
    for (uint32_t peer = 0; peer < PEERS; peer++)
        assert_int_equal(retain(log, peer * 7919, 1 + peer, 8), HARK_L_OK);
    assert_int_equal(figures(log).entries, PEERS);
    assert_in_range(figures(log).memory_bytes, PEERS * 4096, PEERS * (4096 + 320));
    for (uint32_t peer = 0; peer < PEERS; peer++) {
        const void *at;
        uint64_t length;
        assert_int_equal(hark_log_get(log, peer * 7919, 0, 1 + peer, &at, &length), HARK_L_OK);
        assert_int_equal(hark_log_get(log, peer * 7919, 0, 2 + peer, &at, &length), HARK_L_ENONE);
    }
    hark_log_close(log);
}

static void test_heaviest(void **state)
{
    (void)state;
    struct hark_log *log = open_log(65536, true);
    uint32_t peer = 77;
    uint64_t bytes = 78;
    assert_int_equal(hark_log_heaviest(log, &peer, &bytes), 0);
    for (uint64_t i = 1; i <= 50; i++) {
        assert_int_equal(retain(log, 1, i, 4000), HARK_L_OK);
        assert_int_equal(retain(log, 2, i, 8100), HARK_L_OK);
    }
    assert_int_equal(hark_log_heaviest(log, &peer, &bytes), 1); /* what lies in files counts as well
                                                                 */
    assert_int_equal(peer, 2);
    assert_int_equal(bytes, 50 * 8192); /* blocks of their own, under so low a limit */
    hark_log_trim(log, 2, 0, 30);
    assert_int_equal(hark_log_heaviest(log, &peer, &bytes), 1);
    assert_int_equal(peer, 1);
    assert_int_equal(bytes, 50 * 4096);
    hark_log_close(log);
    assert_int_equal(place_count(place), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(test_model_in_memory), TEST(test_model_spilling),
        TEST(test_model_without_spill), TEST(test_order), TEST(test_memory_is_recycled),
        TEST(test_memory_changes_hands), TEST(test_file_buffer), TEST(test_many_channels),
        TEST(test_heaviest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
