/* The bounded parts, every way they can be used up to a small length, against models that are too
 * simple to be wrong: ranges, queues, runs of phases, lists of determinants, acknowledgements owed,
 * and what is decoded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hark/registry.h"

/* A block with what is tested in it; the shape says which tables move. */
struct box {
    struct hark head;
    struct hark_pool pool;
    struct hark_table table, lives;
    struct hark_queue queue;
    struct hark_dets dets;
    struct hark_phases phases;
};
static const struct hark_field none[1] = {HARK_FIELD(struct hark_range, first, "")};
static struct hark_rows rows[4] = {{"table", "", offsetof(struct box, table), 0, 1, none},
    {"lives", "", offsetof(struct box, lives), sizeof(struct hark_inc_range), 3,
        hark_inc_range_fields},
    HARK_PHASES_TABLE(struct box, phases),
    {"pool", "", offsetof(struct box, pool), sizeof(struct hark_chunk), 0, NULL}};
static const struct hark_shape shape = {
    "box", 1, 0, 4, sizeof(struct box), none, rows, offsetof(struct box, pool), NULL, 0, NULL};
static uint64_t memory[4096];
static struct box *const box = (struct box *)(void *)memory;
static struct hark *const p = (struct hark *)(void *)memory;

static void begin(uint16_t width)
{
    rows[0].width = width;
    memset(memory, 0, sizeof *box);
    assert_int_equal(hark_block_init(p, sizeof memory, &shape, 99), HARK_OK);
}

static void chunks(uint32_t more)
{
    assert_int_equal(hark_pool_reserve(p, &shape, &box->pool, more), HARK_OK);
}

/* Every chunk is in the queue or free, once. */
static void all_chunks(const struct hark_queue *q)
{
    uint32_t used = 0, spare = 0;
    for (uint32_t i = q->head; i; i = hark_chunk(p, &box->pool, i)->next) used++;
    for (uint32_t i = box->pool.free_head; i; i = hark_chunk(p, &box->pool, i)->next) spare++;
    assert_int_equal(spare, box->pool.free_count);
    assert_int_equal(used + spare, box->pool.chunks.count);
    assert_int_equal(used == 0, q->count == 0);
}

/* The table holds the set, and neighbours are joined. */
static void holds(uint32_t set, uint32_t ranks)
{
    uint32_t size = 0;
    for (uint32_t r = 0; r < ranks; r++) {
        assert_int_equal(hark_ranges_hold(p, &box->table, r), set >> r & 1);
        if (set >> r & 1) assert_int_equal(hark_ranges_at(p, &box->table, size++), r);
    }
    assert_int_equal(hark_ranges_size(p, &box->table), size);
    assert_true(hark_ranges_ok(p, &box->table, ranks));
    for (uint32_t k = 1; k < box->table.count; k++)
        assert_true(((struct hark_range *)hark_row(p, &box->table, k))->first >
                    ((struct hark_range *)hark_row(p, &box->table, k - 1))->last + 1);
}

static void test_ranges(void **state)
{
    enum { RANKS = 6, LENGTH = 6 };
    (void)state;
    for (uint32_t word = 0; word < 6 * 6 * 6 * 6 * 6 * 6; word++) {
        uint32_t set = 0, w = word;
        begin(sizeof(struct hark_range));
        for (int i = 0; i < LENGTH; i++, w /= RANKS) {
            uint32_t rank = w % RANKS;
            assert_int_equal(hark_reserve(p, &shape, &box->table, 1), HARK_OK);
            assert_int_equal(hark_ranges_add(p, &box->table, rank), !(set >> rank & 1));
            set |= 1u << rank;
            holds(set, RANKS);
        }
    }
}

/* Out of all sets, in all orders of four. */
static void test_ranges_removed(void **state)
{
    enum { RANKS = 6 };
    (void)state;
    for (uint32_t first = 0; first < 1u << RANKS; first++)
        for (uint32_t word = 0; word < RANKS * RANKS * RANKS * RANKS; word++) {
            uint32_t set = first;
            begin(sizeof(struct hark_range));
            for (uint32_t r = 0; r < RANKS; r++) {
                assert_int_equal(hark_reserve(p, &shape, &box->table, 1), HARK_OK);
                if (set >> r & 1) assert_true(hark_ranges_add(p, &box->table, r));
            }
            for (uint32_t w = word, i = 0; i < 4; i++, w /= RANKS) {
                uint32_t rank = w % RANKS;
                assert_int_equal(hark_reserve(p, &shape, &box->table, 1), HARK_OK);
                assert_int_equal(hark_ranges_remove(p, &box->table, rank), set >> rank & 1);
                set &= ~(1u << rank);
                holds(set, RANKS);
            }
        }
}

/* What every process keeps of an announcement: each D of five, and each incarnation, 0 to 2, of
 * them and of the recovery process. */
static void test_failed(void **state)
{
    enum { RANKS = 5 };
    (void)state;
    begin(sizeof(struct hark_range));
    for (uint32_t word = 0; word < 32 * 3 * 3 * 3 * 3 * 3 * 3; word++) { /* each in place of the one
                                                                            before */
        uint32_t down[RANKS], set = word % 32, ends = 0, before = 0;
        struct hark_incarnation inc[RANKS + 1];
        struct hark_event e = {.type = HARK_FAILED, .u.failed = {.down = down, .inc = inc}};
        for (uint32_t r = 0, w = word / 32; r <= RANKS; r++, before = w % 3, w /= 3) {
            if (set >> r & 1) down[e.u.failed.down_count++] = r;
            if (w % 3)
                inc[e.u.failed.inc_count++] =
                    (struct hark_incarnation){r < RANKS ? r : HARK_RECOVERY, w % 3};
            ends += w % 3 && (r == RANKS || w % 3 != before);
        }
        assert_true(hark_failed_valid(RANKS, &e));
        assert_int_equal(hark_failed_room(p, &shape, &box->table, &box->lives, &e), HARK_OK);
        hark_failed_tables(p, &box->table, &box->lives, &e);
        holds(set, RANKS);
        for (uint32_t r = 0, w = word / 32; r <= RANKS; r++, w /= 3)
            assert_int_equal(
                hark_inc_range_of(p, &box->lives, r < RANKS ? r : HARK_RECOVERY), w % 3);
        assert_int_equal(hark_inc_range_of(p, &box->lives, RANKS), 0);
        assert_int_equal(box->lives.count, ends); /* neighbours of one incarnation are one row */
        assert_true(hark_lives_ok(p, &box->lives));
    }
}

/* The spot, wherever it was left, is of the row that it says, and each row is found from there. */
static void spot_holds(struct hark_queue *q, const uint64_t *model, uint32_t look)
{
    if (q->count == 0) {
        assert_int_equal(q->spot.chunk, 0);
        return;
    }
    uint64_t before = q->spot.chunk ? q->spot.before : 0;
    struct hark_place at = hark_queue_from(q, q->spot);
    assert_int_equal(*hark_queue_next(p, &box->pool, q, &at), model[before]);
    assert_int_equal(q->count - at.left, before + 1);
    look %= q->count;
    assert_int_equal(*hark_queue_seek(p, &box->pool, q, look), model[look]);
    assert_int_equal(q->spot.before, look);
}

static void queue_word(uint8_t width, uint32_t word, uint32_t length)
{
    uint64_t model[32];
    uint32_t first = 0, end = 0;
    struct hark_queue *q = &box->queue;
    begin(8);
    q->width = width;
    for (uint32_t i = 0; i < length; i++, word /= 5) {
        uint32_t what = word % 5, n = end - first;
        if (what < 2) { /* one or two more */
            for (uint32_t k = 0; k <= what; k++) {
                chunks(1);
                uint64_t *row = hark_queue_push(p, &box->pool, q);
                for (uint32_t x = 0; x < width; x++) assert_int_equal(row[x], 0);
                for (uint32_t x = 0; x < width; x++) row[x] = 100 * end + x + 1;
                model[end] = 100 * end + 1;
                end++;
            }
        } else if (what == 2 && n > 0) {
            hark_queue_pop(p, &box->pool, q);
            first++;
        } else if (what > 2) { /* cut to half, or by one */
            uint32_t keep = what == 3 ? n / 2 : n ? n - 1 : 0;
            hark_queue_cut(p, &box->pool, q, keep);
            end = first + keep;
        }
        assert_int_equal(q->count, end - first);
        struct hark_place at = hark_queue_begin(q);
        for (uint32_t k = first; k < end; k++) {
            const uint64_t *row = hark_queue_next(p, &box->pool, q, &at);
            for (uint32_t x = 0; x < width; x++) assert_int_equal(row[x], model[k] + x);
        }
        assert_null(hark_queue_next(p, &box->pool, q, &at));
        const uint64_t *head = hark_queue_first(p, &box->pool, q),
                       *tail = hark_queue_last(p, &box->pool, q);
        assert_int_equal(head != NULL, end > first);
        if (head) assert_true(*head == model[first] && *tail == model[end - 1]);
        spot_holds(q, model + first, word + i);
        all_chunks(q);
    }
}

static void test_queues(void **state)
{
    static const uint8_t widths[] = {4, 5, 7, 15}; /* three, three, two and one to a chunk */
    (void)state;
    for (uint32_t i = 0; i < HARK_COUNT(widths); i++)
        for (uint32_t word = 0; word < 5 * 5 * 5 * 5 * 5 * 5 * 5; word++)
            queue_word(widths[i], word, 7);
}

/* The runs say what the model says, from any ssn to any. */
static void runs_are(const uint64_t *model, uint32_t first, uint32_t end)
{
    struct hark_queue *q = &box->queue;
    for (uint32_t k = 0, from = 1; k < 2 * end; k++, from = k < end ? k + 1 : 2 * end - k) /* up and
                                                                                              down
                                                                                            */
        for (uint32_t to = from; to <= end; to++) {
            struct hark_runs r = hark_runs_begin(p, &box->pool, q, from, to);
            uint64_t a, b, phase, next = from > first ? from : first;
            while (hark_runs_next(p, &box->pool, q, &r, &a, &b, &phase)) {
                assert_int_equal(a, next);
                assert_true(b >= a && b <= to);
                for (; next <= b; next++) assert_int_equal(model[next], phase);
            }
            assert_int_equal(next, to + 1 > first ? to + 1 : first);
        }
    all_chunks(q);
}

static void test_runs(void **state)
{
    enum { MOST = 6 };
    (void)state;
    for (uint32_t end = 1; end <= MOST; end++)
        for (uint32_t word = 0; word < 1u << end; word++)
            for (uint32_t trim = 0; trim <= end; trim++)
                for (uint32_t span = 0; span < (end + 2) * (end + 2) * 3; span++) {
                    uint64_t model[MOST + 1] = {0};
                    uint32_t from = span / 3 % (end + 2), to = span / 3 / (end + 2);
                    struct hark_queue *q = &box->queue;
                    begin(8);
                    q->width = 2;
                    for (uint32_t ssn = 1; ssn <= end; ssn++) {
                        chunks(1);
                        hark_runs_add(
                            p, &box->pool, q, ssn, model[ssn] = 1 + (word >> (ssn - 1) & 1));
                    }
                    if (trim) hark_runs_trim(p, &box->pool, q, trim, end);
                    chunks(hark_runs_write_needs(q));
                    hark_runs_write(p, &box->pool, q, from, to, 1 + span % 3, end);
                    for (uint32_t ssn = from > trim ? from : trim + 1; ssn <= to && ssn <= end;
                         ssn++)
                        model[ssn] = 1 + span % 3;
                    if (trim < end) runs_are(model, trim + 1, end);
                    else assert_int_equal(q->count, 0);
                }
}

/* Runs so many that a walk begins where the last one was: from any ssn after any other, also when
 * the first have gone meanwhile. */
static void test_long_runs(void **state)
{
    enum { END = 30 };
    (void)state;
    for (uint32_t word = 0; word < 3; word++)
        for (uint32_t span = 0; span < END * END * 4; span++) {
            uint64_t model[END + 1] = {0}, a, b, phase;
            uint32_t one = span % END + 1, two = span / END % END + 1,
                     trim = span / (END * END) * 4;
            struct hark_queue *q = &box->queue;
            begin(8);
            q->width = 2;
            for (uint32_t ssn = 1; ssn <= END; ssn++) {
                chunks(1);
                hark_runs_add(p, &box->pool, q, ssn, model[ssn] = 1 + (ssn + word) / 2 % 3);
            }
            assert_true(q->count > HARK_CHUNK_WORDS / 2 + 4);
            (void)hark_runs_begin(p, &box->pool, q, one, END);
            if (trim) hark_runs_trim(p, &box->pool, q, trim, END);
            struct hark_runs r = hark_runs_begin(p, &box->pool, q, two, END);
            uint64_t next = two > trim ? two : trim + 1;
            while (hark_runs_next(p, &box->pool, q, &r, &a, &b, &phase)) {
                assert_int_equal(a, next);
                for (; next <= b; next++) assert_int_equal(model[next], phase);
            }
            assert_int_equal(next, END + 1);
            if (two <= trim) continue;
            struct hark_place at = hark_queue_from(q, q->spot); /* and it is there that the next one
                                                                   begins */
            const uint64_t *row = hark_queue_next(p, &box->pool, q, &at);
            const uint64_t *behind = hark_queue_next(p, &box->pool, q, &at);
            assert_true(row[0] <= two && (behind == NULL || behind[0] > two));
        }
}

/* Runs of phases 1 to 3 as the word says, taken away in an order that it says too. */
static void phases_word(uint32_t word, uint32_t length)
{
    struct hark_phases *t = &box->phases;
    uint32_t runs[4] = {0}, w = word;
    begin(8);
    assert_int_equal(hark_reserve(p, &shape, &t->rows, length), HARK_OK);
    for (uint32_t i = 0; i < length; i++, w /= 3) {
        hark_phases_add(p, t, w % 3 + 1);
        runs[w % 3 + 1]++;
    }
    hark_phases_sort(p, t);
    w = word;
    for (uint32_t left = length;; left--) {
        uint32_t least = 1;
        while (least < 4 && runs[least] == 0) least++;
        assert_true(hark_phases_least(p, t) == (least == 4 ? HARK_INFINITY : least));
        if (left == 0) break;
        uint32_t phase = least + w % 3;
        while (phase > 3 || runs[phase] == 0) phase = phase >= 3 ? 1 : phase + 1;
        hark_phases_take(p, t, phase);
        hark_phases_take(p, t, 4); /* there is none */
        runs[phase]--;
        w = w / 3 + word % 7;
    }
    hark_phases_clear(p, t);
    assert_true(hark_phases_least(p, t) == HARK_INFINITY && !t->ready);
}

static void test_phases(void **state)
{
    (void)state;
    for (uint32_t length = 0, words = 1; length < 9; length++, words *= 3)
        for (uint32_t word = 0; word < words; word++) phases_word(word, length);
}

/* `most`: holders that are enough. */
static void dets_word(uint32_t word, uint32_t length, uint32_t most)
{
    enum { RSNS = 4, RANKS = 3 };
    bool here[RSNS + 1] = {false}, holds[RSNS + 1][RANKS] = {{false}};
    struct hark_dets *d = &box->dets;
    begin(8);
    hark_dets_init(d, most);
    for (uint32_t i = 0; i < length; i++, word /= 10) {
        uint32_t what = word % 10;
        if (what < RSNS) { /* any order */
            struct hark_det x = {.creator = 9, .src = 1, .ssn = 7, .rsn = what + 1};
            bool made;
            chunks(1);
            const uint64_t *row = hark_dets_put(p, &box->pool, d, &x, &made);
            assert_int_equal(made, !here[what + 1]);
            assert_true(row && row[0] == what + 1);
            here[what + 1] = true;
        } else if (what < RSNS + RANKS) { /* a rank has all from the second on */
            uint32_t rank = what - RSNS;
            if (most == 1) hark_dets_hold_one(p, &box->pool, d, 2, RSNS, rank);
            else hark_dets_hold(p, &box->pool, d, 2, RSNS, rank);
            for (uint32_t r = 2; r <= RSNS; r++)
                if (here[r] && holds[r][0] + holds[r][1] + holds[r][2] < (int)most)
                    holds[r][rank] = true;
        } else if (what < 9) { /* or has lost them */
            hark_dets_release(p, &box->pool, d, what - RSNS - RANKS);
            for (uint32_t r = 1; r <= RSNS; r++) holds[r][what - RSNS - RANKS] = false;
        } else {
            hark_dets_trim(p, &box->pool, d, 1);
            here[1] = false;
        }
        uint32_t loose = 0, count = 0;
        for (uint32_t r = 1; r <= RSNS; r++) {
            const uint64_t *row = hark_dets_find(p, &box->pool, d, r);
            assert_int_equal(row != NULL, here[r]);
            if (row == NULL) continue;
            count++;
            for (uint32_t rank = 0; rank < RANKS; rank++)
                assert_int_equal(hark_det_held(d, row, rank), holds[r][rank]);
            if (holds[r][0] + holds[r][1] + holds[r][2] < (int)most) loose++;
        }
        assert_int_equal(d->loose, loose);
        assert_int_equal(d->rows.count, count);
        assert_true(hark_scmel_list_ok(p, &box->pool, d));
        struct hark_dets_place at = hark_dets_loose(p, &box->pool, d); /* none is before it */
        uint32_t met = 0;
        for (const uint64_t *row; (row = hark_dets_next(p, &box->pool, d, &at)) != NULL;)
            met += hark_det_holders(d, row) < most;
        assert_int_equal(met, loose);
        all_chunks(&d->rows);
    }
}

static void test_determinants(void **state)
{
    (void)state;
    for (uint32_t most = 1; most <= 2; most++)
        for (uint32_t word = 0; word < 1000000; word++) dets_word(word, 6, most);
}

static void test_owed(void **state)
{
    enum { RSNS = 5, SPANS = 15, ALL = SPANS * 2 };
    uint32_t first[SPANS], last[SPANS], n = 0;
    (void)state;
    for (uint32_t a = 1; a <= RSNS; a++)
        for (uint32_t b = a; b <= RSNS; b++) first[n] = a, last[n++] = b;
    for (uint32_t word = 0; word < ALL * ALL * ALL; word++) {
        bool model[2][RSNS + 2] = {{false}};
        uint32_t w = word, all = 0;
        begin(sizeof(struct hark_owed));
        for (int i = 0; i < 3; i++, w /= ALL) {
            uint32_t span = w % ALL / 2, creator = w % 2;
            assert_int_equal(hark_reserve(p, &shape, &box->table, 1), HARK_OK);
            hark_owed_add(p, &box->table, 3, creator, first[span], last[span]);
            for (uint32_t r = first[span]; r <= last[span]; r++) model[creator][r] = true;
        }
        for (uint32_t k = 0; k < 2; k++)
            for (uint32_t r = 1; r <= RSNS; r++) all += model[k][r];
        assert_int_equal(hark_owed_count(p, &box->table, 3), all);
        uint8_t b[HARK_ACK_BYTES * 8];
        uint32_t acks = hark_owed_write(p, &box->table, 3, b, 8);
        assert_int_equal(box->table.count, 0);
        for (uint32_t i = 0; i < acks; i++) { /* each once, and as long as can be */
            uint32_t creator = hark_get32(b + 16 * i), count = hark_get32(b + 16 * i + 4);
            uint64_t from = hark_get64(b + 16 * i + 8);
            assert_false(model[creator][from - 1] || model[creator][from + count]);
            for (uint64_t r = from; r < from + count; r++, all--) assert_true(model[creator][r]);
        }
        assert_int_equal(all, 0);
    }
}

/* All strings of up to four bytes that matter, behind the fixed part. */
static void test_decoders(void **state)
{
    static const uint8_t letters[] = {0, 1, 2, 127, 128, 255};
    (void)state;
    for (uint32_t length = 0; length <= 5; length++) {
        uint32_t words = 1;
        for (uint32_t i = 0; i < length; i++) words *= HARK_COUNT(letters);
        for (uint32_t word = 0; word < words; word++) {
            uint8_t b[HARK_PAST_FIXED + 5] = {1};
            for (uint32_t i = 0, w = word; i < length; i++, w /= HARK_COUNT(letters))
                b[HARK_PAST_FIXED + i] = letters[w % HARK_COUNT(letters)];
            for (uint32_t entries = 0; entries <= 2; entries++) {
                uint64_t number[4] = {0}, rank = 0;
                uint32_t n = 0, at = HARK_PAST_FIXED;
                bool ok = true;
                for (; n < 2 * entries && ok; n++) { /* sevens of bits, the lowest first */
                    unsigned shift = 0;
                    for (ok = false; !ok && at < HARK_PAST_FIXED + length; shift += 7) {
                        number[n] |= (uint64_t)(b[at] & 127) << shift;
                        ok = b[at++] < 128;
                    }
                }
                ok = ok && at == HARK_PAST_FIXED + length;
                for (uint32_t i = 0; i < entries && ok; i++) {
                    rank += number[2 * i];
                    ok = rank < 3 && number[2 * i + 1] > 0 && (i == 0 || number[2 * i] > 0);
                }
                hark_put32(b + 8, entries);
                assert_int_equal(hark_past_valid(b, HARK_PAST_FIXED + length, 3), ok);
            }
        }
    }
    uint8_t longest[10] = {255, 255, 255, 255, 255, 255, 255, 255, 255};
    for (unsigned top = 0; top < 256; top++) { /* 63 bits and one */
        uint64_t got;
        longest[9] = (uint8_t)top;
        assert_int_equal(hark_varint_get(longest, 10, &got), top < 2 ? 10 : 0);
    }
    for (unsigned bit = 0; bit < 64; bit++)
        for (int more = -1; more <= 1; more++) {
            uint64_t v = (UINT64_C(1) << bit) + (uint64_t)(int64_t)more, got;
            uint8_t b[10];
            uint32_t n = hark_varint_put(b, v);
            assert_int_equal(hark_varint_get(b, n, &got), n);
            assert_true(got == v);
            for (uint32_t less = 0; less < n; less++)
                assert_int_equal(hark_varint_get(b, less, &got), 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_ranges_removed), cmocka_unit_test(test_failed),
        cmocka_unit_test(test_queues), cmocka_unit_test(test_runs),
        cmocka_unit_test(test_long_runs), cmocka_unit_test(test_phases),
        cmocka_unit_test(test_determinants), cmocka_unit_test(test_owed),
        cmocka_unit_test(test_decoders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
