/* The simulator: its queue and log, the patterns against their formulas and against matrices of
 * real programs, and runs of every protocol with failures. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <math.h>

#include "../../src/sim/parts.h"
#include "../../src/view/plot.h"

/* ---- parts ----------------------------------------------------------------------------------- */

/* Whatever is put, what comes out ascends, and what has one time keeps its order. */
static void test_queue(void **state)
{
    (void)state;
    struct sim_queue q = {0};
    struct sim_event e = {0, 0};
    uint64_t z = 1, put = 0, last = 0, number = 0, taken = 0;
    while (taken < 200000) {
        z = z * UINT64_C(6364136223846793005) + 1442695040888963407u;
        if ((z >> 60) < 8 && put < 200000) {
            uint64_t ahead = z >> 33 & (z >> 59 & 1 ? 7 : 0xfffff);
            assert_true(sim_queue_put(&q, q.now + ahead, put++));
        } else if (q.total) {
            assert_true(sim_queue_take(&q, &e));
            assert_true(e.time >= last);
            if (taken && e.time == last) assert_true(e.what > number);
            last = e.time;
            number = e.what;
            taken++;
        }
    }
    assert_int_equal(put, 200000);
    assert_false(sim_queue_take(&q, &e));
    sim_queue_free(&q);
}

/* An event of the present time when there are no others: at the beginning, and when all are gone.
 */
static void test_queue_now(void **state)
{
    (void)state;
    struct sim_queue q = {0};
    struct sim_event e = {0, 0};
    for (uint64_t k = 0; k < 200; k++) {
        assert_false(sim_queue_take(&q, &e));
        for (uint64_t i = 0; i < k; i++) assert_true(sim_queue_put(&q, q.now, i));
        for (uint64_t i = 0; i < k; i++) {
            assert_true(sim_queue_take(&q, &e));
            assert_int_equal(e.time, q.now);
            assert_int_equal(e.what, i);
        }
        if (k % 3) continue;
        assert_true(sim_queue_put(&q, q.now + k, 0));
        assert_true(sim_queue_take(&q, &e));
    }
    sim_queue_free(&q);
}

static void test_arena(void **state)
{
    (void)state;
    struct sim_arena a = {0};
    for (uint64_t want = 1; want < 3000000; want += want / 3 + 1) {
        uint64_t bytes = want, again = want;
        uint8_t *at = sim_arena_take(&a, &bytes);
        assert_non_null(at);
        assert_true(bytes >= want && (want <= 64 || bytes <= want + want / 4 + 1));
        memset(at, 0x5a, bytes);
        sim_arena_give(&a, at, bytes);
        assert_ptr_equal(sim_arena_take(&a, &again), at);
    }
    sim_arena_free(&a);
}

/* A log beside an array of lengths. */
static void test_log(void **state)
{
    (void)state;
    enum { LAST = 400 };
    struct sim *s = calloc(1, sizeof *s);
    struct sim_log l = {0}, copy;
    uint64_t length[3][LAST + 1] = {{0}}, sum = 0, found;
    assert_non_null(s);
    for (uint64_t ssn = 1; ssn <= LAST; ssn++)
        for (uint32_t peer = 0; peer < 3; peer++) {
            struct hark_name n = {peer * 7, 0, HARK_OUT, HARK_PROCESS, ssn};
            length[peer][ssn] = peer == 0 ? 8 : ssn / 5 % 3 * 100 + peer;
            sum += length[peer][ssn];
            assert_true(sim_log_retain(s, &l, &n, length[peer][ssn]));
        }
    for (uint64_t upto = 0; upto <= LAST; upto += 33) {
        for (uint32_t peer = 0; peer < 3; peer++) {
            struct hark_name n = {peer * 7, 0, HARK_OUT, HARK_PROCESS, upto};
            sim_log_trim(&l, &n);
            for (uint64_t ssn = 1; ssn <= upto; ssn++) {
                sum -= length[peer][ssn];
                length[peer][ssn] = 0;
            }
        }
        assert_int_equal(l.bytes, sum);
        assert_true(sim_log_copy(s, &copy, &l));
        for (uint32_t peer = 0; peer < 3; peer++)
            for (uint64_t ssn = 1; ssn <= LAST; ssn++) {
                assert_int_equal(sim_log_length(&copy, peer * 7, 0, ssn, &found), ssn > upto);
                if (ssn > upto) assert_int_equal(found, length[peer][ssn]);
            }
        sim_log_free(s, &copy);
    }
    sim_log_free(s, &l);
    sim_arena_free(&s->arena);
    free(s);
}

/* A frame of the channel, behind all others. */
static void arrives(struct sim *s, struct sim_list *l, uint32_t peer, uint16_t ctx)
{
    uint8_t header[SIM_HEADER] = {0};
    const uint32_t f = sim_frame_new(s);
    assert_int_not_equal(f, SIM_NONE);
    hark_put16(header + 2, ctx);
    hark_put32(header + 4, peer);
    assert_true(sim_frame_write(s, sim_frame(s, f), header, sizeof header));
    sim_list_add(s, l, f);
}

/* The first message of the channel, as one finds it who walks along the list. */
static uint32_t walk(
    const struct sim *s, const struct sim_list *l, const struct sim_op *op, uint32_t *before)
{
    *before = SIM_NONE;
    for (uint32_t f = l->head; f != SIM_NONE; *before = f, f = sim_frame(s, f)->next)
        if (sim_is_of(s, sim_frame(s, f), op->peer, op->ctx)) return f;
    return SIM_NONE;
}

static void leaves(
    struct sim *s, struct sim_process *p, struct sim_list *l, uint32_t f, uint32_t before)
{
    if (before == SIM_NONE) l->head = sim_frame(s, f)->next;
    else sim_frame(s, before)->next = sim_frame(s, f)->next;
    if (l->tail == f) l->tail = before;
    sim_index_take_out(s, p, l, f);
    sim_frame_give(s, f);
}

/* The index of a list that grows and shrinks, now and then to nothing, beside a walk along it; some
 * messages leave without having been looked for by it. */
static void test_inbox(void **state)
{
    (void)state;
    struct sim *s = calloc(1, sizeof *s);
    struct sim_process p = {.inbox = {SIM_NONE, SIM_NONE}};
    uint64_t z = 1;
    assert_non_null(s);
    s->free_frame = SIM_NONE;
    s->ranks = 1000;
    for (uint32_t k = 0; k < 60000; k++) {
        uint32_t before, found_before;
        z = z * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const struct sim_op op = {.ctx = z >> 40 & 1, .peer = (uint32_t)(z >> 44) % 300};
        if ((z >> 60) < (k % 6000 < 3000 ? 9 : 4)) arrives(s, &p.inbox, op.peer, op.ctx);
        const uint32_t f = walk(s, &p.inbox, &op, &before);
        if ((z >> 36 & 7) == 0) {
            if (p.inbox.head != SIM_NONE) leaves(s, &p, &p.inbox, p.inbox.head, SIM_NONE);
            continue;
        }
        assert_int_equal(sim_index_find(s, &p, &p.inbox, &op, &found_before), f);
        if (f == SIM_NONE) continue;
        assert_int_equal(found_before, before);
        if (z >> 35 & 1) leaves(s, &p, &p.inbox, f, before);
        if (k % 6000 != 5999) continue;
        sim_list_drop(s, &p.inbox);
        sim_index_drop(s, &p, &p.inbox);
    }
    assert_false(s->failed);
    assert_int_equal(p.indexed, p.inbox_index != NULL);
    sim_list_drop(s, &p.inbox);
    sim_index_drop(s, &p, &p.inbox);
    assert_int_equal(p.indexed, 0);
    free(s->piece);
    sim_arena_free(&s->arena);
    free(s);
}

/* Axes: steps are 1, 2, 5 times a power of ten, no more of them than were asked for, and no smaller
 * step has as few. Ends are as round, and no more than half as high again as what has to have room.
 */
static void test_round(void **state)
{
    (void)state;
    for (double most = 1e-6; most < 1e12; most *= 1.0137)
        for (unsigned steps = 3; steps < 10; steps++) {
            const double step = hark_plot_step(most, steps),
                         ten = pow(10, floor(log10(step) + 1e-9)), leading = step / ten;
            const double smaller = leading > 1.5 && leading < 4 ? step / 2
                                   : leading < 1.5              ? step / 2
                                                                : step / 2.5;
            assert_true(
                fabs(leading - 1) < 1e-9 || fabs(leading - 2) < 1e-9 || fabs(leading - 5) < 1e-9);
            assert_true(step * steps >= most * (1 - 1e-9));
            assert_true(smaller * steps < most * (1 + 1e-9));
            assert_true(hark_plot_round(most) >= most * (1 - 1e-9) &&
                        hark_plot_round(most) <= most * 1.5 * (1 + 1e-9));
        }
    assert_true(
        hark_plot_step(100, 5) == 20 && hark_plot_step(0, 5) == 1 && hark_plot_step(30, 3) == 10);
    assert_true(hark_plot_round(44) == 50 && hark_plot_round(25) == 25 &&
                hark_plot_round(9) == 10 && hark_plot_round(0) == 0);
}

/* ---- patterns -------------------------------------------------------------------------------- */

static struct sim_pattern open_pattern(const char *name, uint32_t ranks)
{
    static struct sim_pattern p;
    char error[SIM_ERROR] = "";
    struct sim_pattern_options o = {.name = name,
        .ranks = ranks,
        .bytes = 1000,
        .degree = 3,
        .cells = 3,
        .atoms = 10,
        .planes = 4,
        .seed = 5,
        .away = {1, 1, 1}};
    if (sim_pattern_open(&p, &o, error) < 0) fail_msg("%s", error);
    return p;
}

/* Everything that is sent is received on its channel, with its length, in its order; how many in an
 * iteration. */
static uint64_t matched(const struct sim_pattern *p, uint32_t iteration, uint64_t part[3])
{
    uint64_t n = p->ranks, messages = 0;
    uint64_t *sent = calloc(n * n, sizeof *sent), *sum = calloc(n * n, sizeof *sum);
    struct sim_op op;
    assert_true(sent && sum);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t r = 0; r < n; r++)
            for (uint64_t at = sim_pattern_op(p, r, iteration, 0, &op); op.kind != SIM_END;
                 at = sim_pattern_op(p, r, iteration, at, &op)) {
                if (op.kind != (pass ? SIM_RECEIVE : SIM_SEND)) continue;
                assert_true(op.peer < n && op.peer != r);
                uint64_t channel = pass ? op.peer * n + r : r * n + op.peer;
                uint64_t place = pass ? sent[channel]-- : ++sent[channel];
                if (pass) assert_true(place > 0);
                sum[channel] += pass ? -(op.length + op.part) : op.length + op.part;
                if (!pass) part[op.part]++;
                messages += !pass;
            }
    for (uint64_t k = 0; k < n * n; k++) assert_true(sent[k] == 0 && sum[k] == 0);
    free(sent);
    free(sum);
    return messages;
}

static uint64_t messages_of(const char *name, uint32_t ranks, uint64_t part[3])
{
    struct sim_pattern p = open_pattern(name, ranks);
    uint64_t n = 0;
    for (uint32_t k = 0; k < 3; k++) {
        memset(part, 0, 3 * sizeof *part);
        n = matched(&p, k, part);
    }
    sim_pattern_close(&p);
    return n;
}

static void test_counts(void **state)
{
    (void)state;
    uint64_t part[3];
    for (uint32_t n = 1; n <= 70; n++) {
        uint32_t x = 1, z = 1, y;
        for (uint32_t k = 1; k * k <= n; k++)
            if (n % k == 0) x = k;
        y = n / x;
        assert_int_equal(messages_of("stencil2d", n, part), 2 * ((x - 1) * y + x * (y - 1)));
        for (uint32_t k = 1; k * k * k <= n; k++)
            if (n % k == 0) z = k;
        for (uint32_t k = x = 1; k * k <= n / z; k++)
            if (n / z % k == 0) x = k;
        y = n / z / x;
        assert_int_equal(messages_of("stencil3d", n, part),
            2 * ((x - 1) * y * z + x * (y - 1) * z + x * y * (z - 1)));
        assert_int_equal(messages_of("ring", n, part), n > 1 ? n : 0);
        assert_int_equal(messages_of("alltoall", n, part), n * (n - 1));
        assert_true(messages_of("random", n, part) <= 3 * n);
    }
    assert_true(messages_of("random", 64, part) > 150);
    for (uint32_t q = 1; q <= 8; q++) {
        assert_int_equal(messages_of("nas-bt", q * q, part), q > 1 ? q * q * (6 + 6 * (q - 1)) : 0);
        assert_int_equal(messages_of("nas-sp", q * q, part), q > 1 ? q * q * (6 + 6 * (q - 1)) : 0);
    }
    for (uint32_t k = 0; k <= 6; k++) {
        uint32_t n = 1u << k, x = 1u << k / 2, y = n / x, l = k - k / 2;
        uint32_t diagonal = k % 2 ? 2u << k / 2 : 1u << k / 2; /* their transposed self */
        assert_int_equal(messages_of("nas-cg", n, part), 3 * n * l + n - diagonal);
        assert_int_equal(messages_of("nas-ft", n, part), n * (n - 1));
        uint32_t edges = (x - 1) * y + x * (y - 1);
        assert_int_equal(messages_of("nas-lu", n, part), 4 * edges * 2 + 2 * edges);
    }
    /* 6 faces on each of 6 levels; half of the processes a side on the next: 8 of 64, three
     * exchanges of two */
    assert_int_equal(messages_of("nas-mg", 64, part), 64 * 6 * 6 + 8 * 6);
    assert_int_equal(messages_of("nas-mg", 1, part), 0);
}

/* Of a grid of cells: the edges of all trees, which is the ranks that a cell and its computes are
 * on, less one. Computes by their two cells, each made by one of them: as LeanMD makes them, and
 * the other way round to see who is on them. */
static uint64_t edges_of_leanmd(int side, uint64_t ranks, const int away[3])
{
    int cells = side * side * side, d[3];
    bool *on = calloc((size_t)cells * ranks, sizeof *on);
    assert_non_null(on);
    for (int c = 0; c < cells; c++) {
        uint64_t rank = (uint64_t)c * ranks / (uint64_t)cells, at = rank;
        on[(uint64_t)c * ranks + rank] = true;
        for (d[0] = -away[0]; d[0] <= away[0]; d[0]++)
            for (d[1] = -away[1]; d[1] <= away[1]; d[1]++)
                for (d[2] = -away[2]; d[2] <= away[2]; d[2]++) {
                    if (d[0] < 0 || (d[0] == 0 && (d[1] < 0 || (d[1] == 0 && d[2] < 0))))
                        continue; /* the other's */
                    int x = (c / side / side + d[0]) % side, y = (c / side + d[1] + side) % side,
                        z = (c % side + d[2] + side) % side;
                    at = (at + 1) % ranks;
                    on[(uint64_t)c * ranks + at] = true;
                    on[(uint64_t)((x * side + y) * side + z) * ranks + at] = true;
                }
    }
    uint64_t edges = 0;
    for (size_t i = 0; i < (size_t)cells * ranks; i++) edges += on[i];
    free(on);
    return edges - (uint64_t)cells;
}

/* Of multicasts and reductions: one message for each edge of a tree between two processes. */
static void test_trees(void **state)
{
    (void)state;
    uint64_t part[3];
    for (uint32_t n = 3; n <= 40; n++) {
        uint32_t groups = (n + 2) / 3;
        assert_int_equal(messages_of("openatom", n, part), 3 * (n - groups));
        for (int k = 0; k < 3; k++) assert_int_equal(part[k], n - groups);
    }
    for (uint32_t n = 1; n <= 64; n *= 2) {
        uint64_t all = messages_of("leanmd", n, part);
        assert_int_equal(part[SIM_POINT], 0);
        assert_int_equal(part[SIM_MULTICAST], part[SIM_REDUCTION]);
        if (n == 1) assert_int_equal(all, 0);
        const int near[3] = {1, 1, 1};
        assert_int_equal(all, 2 * edges_of_leanmd(3, n, near));
    }
    /* The shape of the trees is nothing to the number of their edges; how far pairs are apart is.
     */
    for (uint32_t k = 0; k < 4; k++) {
        static const int away[4][3] = {{0, 0, 0}, {1, 1, 1}, {2, 2, 1}, {2, 0, 2}};
        for (uint32_t branches = 0; branches < 5; branches += 2) {
            char error[SIM_ERROR] = "";
            struct sim_pattern p;
            struct sim_pattern_options o = {
                .name = "leanmd", .ranks = 50, .cells = 5, .atoms = 10, .branches = branches};
            for (int i = 0; i < 3; i++) o.away[i] = (uint32_t)away[k][i];
            assert_int_equal(sim_pattern_open(&p, &o, error), 0);
            part[SIM_MULTICAST] = 0;
            assert_int_equal(matched(&p, 0, part), 2 * edges_of_leanmd(5, 50, away[k]));
            sim_pattern_close(&p);
        }
    }
}

/* With groups: a multicast goes to all but the root, each of these takes it from the root, in the
 * order of the trees, and the group that each of them is told of is the same. */
static void groups_matched(const struct sim_pattern *p, uint64_t multicasts)
{
    uint32_t n = p->ranks, member[64], count;
    uint64_t *balance = calloc((size_t)n << 16, sizeof *balance), sent = 0, taken = 0; /* by root
                                                                                          and ctx */
    uint16_t ctx, last;
    struct sim_op op;
    assert_non_null(balance);
    for (uint32_t r = 0; r < n; r++) {
        for (uint64_t at = sim_pattern_op(p, r, 0, 0, &op); op.kind != SIM_END;
             at = sim_pattern_op(p, r, 0, at, &op)) {
            if (op.part != SIM_MULTICAST || op.kind == SIM_NOTHING) continue;
            assert_true(op.ctx != 0 && op.kind != SIM_SEND);
            bool root = op.kind == SIM_CAST;
            balance[(uint64_t)(root ? r : op.peer) << 16 | op.ctx] += root ? op.peer : UINT64_MAX;
            sent += root ? op.peer : 0;
            taken += !root;
        }
        last = 0;
        for (uint32_t i = 0; (count = p->maker->group(p, r, i, &ctx, member, 64)) != 0;
             i++, last = ctx) {
            bool in = false;
            assert_true(ctx > last && count <= 64);
            for (uint32_t k = 0; k < count; k++) {
                uint32_t other[64], others = 0;
                uint16_t theirs = 0;
                for (uint32_t j = 0; theirs != ctx; j++)
                    assert_true(
                        (others = p->maker->group(p, member[k], j, &theirs, other, 64)) != 0);
                assert_true(others == count && memcmp(member, other, count * sizeof *member) == 0);
                in |= member[k] == r;
            }
            assert_true(in);
        }
    }
    for (uint64_t k = 0; k < (uint64_t)n << 16; k++) assert_int_equal(balance[k], 0);
    assert_true(sent == multicasts && taken == multicasts);
    free(balance);
}

static void test_groups(void **state)
{
    (void)state;
    for (uint32_t n = 3; n <= 40; n++)
        for (int k = 0; k < 2; k++) {
            uint64_t part[3] = {0, 0, 0};
            struct sim_pattern p = open_pattern(k ? "leanmd" : "openatom", n);
            (void)matched(&p, 0, part);
            p.groups = true;
            groups_matched(&p, part[SIM_MULTICAST]);
            sim_pattern_close(&p);
        }
}

/* The places that have entries, the diagonal left out, are those of the benchmark's own messages.
 */
static void test_matrices(void **state)
{
    (void)state;
    static const char *const names[] = {"cg", "bt", "lu", "mg"};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && HARK_ZLIB; i++) {
        char path[256], name[16], error[HARK_MATRIX_ERROR];
        struct hark_matrix m;
        struct sim_op op;
        uint64_t entries = 0, places = 0;
        uint8_t seen[64][64] = {{0}};
        bool is;
        snprintf(path, sizeof path, "%s/npb-%s.B.64.p2p.mtx.gz", HARK_TEST_PATTERNS, names[i]);
        snprintf(name, sizeof name, "nas-%s", names[i]);
        if (hark_matrix_read(&m, path, 0, error) < 0) fail_msg("%s", error);
        struct sim_pattern p = open_pattern(name, 64);
        for (uint32_t r = 0; r < 64; r++) {
            for (uint64_t k = m.first[r]; k < m.first[r + 1]; k++) entries += m.column[k] != r;
            for (uint64_t at = sim_pattern_op(&p, r, 0, 0, &op); op.kind != SIM_END;
                 at = sim_pattern_op(&p, r, 0, at, &op)) {
                if (op.kind != SIM_SEND || seen[r][op.peer]) continue;
                seen[r][op.peer] = 1;
                places++;
                (void)hark_matrix_at(&m, r, op.peer, &is);
                if (!is) fail_msg("%s: %u sends to %u", name, r, op.peer);
            }
        }
        assert_int_equal(places, entries);
        sim_pattern_close(&p);
        hark_matrix_free(&m);
    }
}

/* ---- runs ------------------------------------------------------------------------------------ */

static struct sim_options usual(const struct hark_protocol *protocol, const struct sim_pattern *p,
    const struct hark_clusters *c)
{
    return (struct sim_options){.protocol = protocol,
        .pattern = p,
        .clusters = c,
        .iterations = 8,
        .every = 2,
        .generations = 2,
        .core = {.copies = hark_protocol_groups(protocol, false) ? 1 : 3}, /* reductions are for one
                                                                              copy only */
        .latency = 1000,
        .overhead = 200,
        .gap = 100,
        .gap_per_byte = 100,
        .compute = 5000,
        .jitter = 3000,
        .checkpoint = 4000,
        .detect = 9000,
        .restart = 30000,
        .service = 2000,
        .seed = 3,
        .ask = 211};
}

static struct sim_result run(const struct sim_options *o)
{
    char error[SIM_ERROR * 4];
    struct sim_result r;
    if (sim_run(&r, o, error) < 0) fail_msg("%s: %s", o->protocol->name, error);
    return r;
}

/* What one failure, two at once, one in the recovery of another, failures by chance come to: the
 * ends without failures. */
static uint32_t by_chance; /* failures */

static void with_failures(const struct hark_protocol *protocol, const char *name, uint32_t ranks)
{
    const struct sim_fail fails[] = {{2, 3}, {5, 3}, {2, 6}, {0, 0}, {HARK_RECOVERY, 3}};
    uint32_t rolled[] = {
        [HARK_ROLLS_PROCESS] = 1, [HARK_ROLLS_CLUSTER] = 0, [HARK_ROLLS_ALL] = ranks};
    struct sim_pattern p = open_pattern(name, ranks);
    struct hark_clusters c;
    assert_int_equal(hark_clusters_blocks(&c, ranks, 3), 0);
    for (uint32_t r = 0; r < ranks; r++) rolled[HARK_ROLLS_CLUSTER] += c.of[r] == c.of[2];
    struct sim_options o = usual(protocol, &p, &c);
    struct sim_result calm = run(&o), again = run(&o);
    assert_int_equal(calm.messages - calm.contributions + calm.results, calm.wanted); /* of a
                                                                                         reduction
                                                                                         only the
                                                                                         result is
                                                                                         taken */
    assert_int_equal(calm.deliveries, calm.wanted);
    assert_int_equal(calm.time, again.time);
    assert_int_equal(calm.control, again.control);
    sim_result_free(&again);
    if (protocol->rolls) assert_true(calm.checkpoints >= ranks);
    for (uint32_t k = 1; protocol->rolls && k <= 6; k++) {
        struct sim_options with = o;
        with.fail = k == 5 ? &fails[3] : fails;
        with.fails = k < 4 ? k : k == 5 ? 1u + protocol->recovery : 0;
        with.seed = ranks + k; /* other times, the same ends */
        if (k == 6) with.mtbf = calm.time / 2;
        struct sim_result r = run(&with), same = run(&with);
        assert_int_equal(r.digest, calm.digest);
        assert_int_equal(r.time, same.time);
        assert_int_equal(r.messages, same.messages);
        assert_int_equal(r.control, same.control);
        assert_int_equal(r.events, same.events);
        assert_true(k == 6 || r.failures == with.fails);
        if (k == 1) {
            assert_int_equal(r.recoveries, 1);
            if (protocol->rolls != HARK_ROLLS_LINE)
                assert_int_equal(r.recovery[0].ranks, rolled[protocol->rolls]);
            else assert_in_range(r.recovery[0].ranks, 1, ranks);
            assert_true(r.recovery[0].over > r.recovery[0].announced &&
                        r.recovery[0].caught_up > r.recovery[0].died);
            assert_true(r.recovery[0].over != SIM_NEVER && r.recovery[0].caught_up != SIM_NEVER);
            assert_true(
                r.recovery[0].lost_most > 0 && r.recovery[0].lost >= r.recovery[0].lost_most);
            assert_int_equal(r.recovery[0].announced - r.recovery[0].died, with.detect);
            if (protocol->rolls != HARK_ROLLS_LINE) { /* where a second announcement names more */
                assert_int_equal(r.recovery[0].restarted - r.recovery[0].announced, with.restart);
            }
        }
        if (k == 6) by_chance += r.failures;
        sim_result_free(&r);
        sim_result_free(&same);
    }
    sim_result_free(&calm);
    hark_clusters_free(&c);
    sim_pattern_close(&p);
}

static void test_protocols(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t ranks;
    } patterns[] = {{"stencil2d", 12}, {"random", 9}, {"leanmd", 6}, {"openatom", 15},
        {"nas-lu", 8}, {"alltoall", 9}};
    const struct hark_protocol *protocol;
    for (unsigned i = 0; (protocol = hark_protocol_at(i)) != NULL; i++) {
        if (protocol == hark_protocol_named("recovery")) continue;
        for (size_t k = 0; k < sizeof patterns / sizeof patterns[0]; k++)
            with_failures(protocol, patterns[k].name, patterns[k].ranks);
    }
    assert_true(by_chance > 10);
}

/* Two protocols come to one end; what is logged is what passes between clusters, or everything. */
static void test_figures(void **state)
{
    (void)state;
    struct sim_pattern p = open_pattern("ring", 12);
    struct hark_clusters c;
    assert_int_equal(hark_clusters_blocks(&c, 12, 4), 0);
    struct sim_options o = usual(hark_protocol_named("none"), &p, &c);
    o.every = 0;
    struct sim_result none = run(&o);
    o.protocol = hark_protocol_named("hydee");
    struct sim_result hydee = run(&o);
    o.protocol = hark_protocol_named("scmel");
    struct sim_result scmel = run(&o);
    assert_int_equal(none.digest, hydee.digest);
    assert_int_equal(none.digest, scmel.digest);
    assert_int_equal(none.messages, 12 * 8);
    assert_int_equal(none.bytes, 12 * 8 * 1000);
    assert_int_equal(none.logged, 0);
    assert_int_equal(hydee.logged, 4 * 8);
    assert_int_equal(hydee.log_bytes, 4 * 8 * 1000);
    assert_int_equal(hydee.log_bytes_peak, 4 * 8 * 1000);
    assert_int_equal(hydee.log_bytes_most, 8 * 1000);
    assert_int_equal(hydee.piggyback_bytes, 12 * 8 * 16);
    assert_int_equal(scmel.logged, 12 * 8);
    assert_int_equal(scmel.determinants_created, 12 * 8);
    assert_true(scmel.determinants_piggybacked > 0 && none.determinants_created == 0);
    assert_int_equal(none.control, 0);
    sim_result_free(&none);
    sim_result_free(&hydee);
    sim_result_free(&scmel);
    hark_clusters_free(&c);
    sim_pattern_close(&p);
}

/* One program under two protocols: a multicast that its root logs once, and one that is logged on
 * each edge of the tree. The ends are the same, also when a root, one in the middle, or a leaf
 * dies, alone or while another comes back. */
static void one_end(const char *name, uint32_t ranks, uint32_t cells, const struct sim_fail *fail,
    uint32_t fails, uint64_t roots)
{
    struct sim_pattern p;
    struct hark_clusters c;
    struct sim_result r[2];
    char error[SIM_ERROR] = "";
    struct sim_pattern_options from = {.name = name,
        .ranks = ranks,
        .bytes = 1000,
        .cells = cells,
        .atoms = 10,
        .away = {1, 1, 1}};
    if (sim_pattern_open(&p, &from, error) < 0) fail_msg("%s", error);
    assert_int_equal(hark_clusters_blocks(&c, ranks, 1), 0);
    for (int camel = 0; camel < 2; camel++) {
        struct sim_options o = usual(hark_protocol_named(camel ? "camel" : "scmel"), &p, &c);
        o.fail = fail;
        o.fails = fails;
        r[camel] = run(&o);
        assert_int_equal(r[camel].failures, fails);
    }
    assert_int_equal(r[0].digest, r[1].digest);
    if (fails == 0) {
        assert_int_equal(r[0].messages, r[1].messages);
        assert_int_equal(r[1].results, roots);
        assert_int_equal(r[1].contributions, r[0].part[SIM_REDUCTION].messages);
        assert_int_equal(r[0].wanted - r[1].wanted, r[1].contributions - r[1].results); /* the
                                                                                           result
                                                                                           alone is
                                                                                           taken */
        for (int k = 0; k < SIM_PARTS; k++) {
            const struct sim_part_of *scmel = &r[0].part[k], *camel = &r[1].part[k];
            assert_int_equal(scmel->messages, camel->messages);
            assert_int_equal(scmel->logged, scmel->messages);
            if (k == SIM_MULTICAST) assert_int_equal(camel->logged, roots);
            else if (k == SIM_POINT) assert_int_equal(camel->logged, scmel->logged);
            else
                assert_int_equal(camel->logged, scmel->logged + 3 * roots); /* the root's own, and
                                                                               what all gave, there
                                                                               and once more */
            assert_int_equal(
                camel->logged * scmel->logged_bytes, scmel->logged * camel->logged_bytes);
        }
        assert_true(r[1].part[SIM_MULTICAST].messages > roots);
    }
    sim_result_free(&r[0]);
    sim_result_free(&r[1]);
    hark_clusters_free(&c);
    sim_pattern_close(&p);
}

static void test_multicasts(void **state)
{
    (void)state;
    /* openatom, groups of 8: of the group 8 .. 15 the root is 8, 12 is below it, 13 below that, 15
     * below 14. */
    const uint32_t died[] = {8, 12, 13, 15};
    one_end("openatom", 20, 8, NULL, 0, 3 * 8);
    one_end("leanmd", 12, 2, NULL, 0, 8 * 8);
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t k = 1; k < 7; k++) {
            const struct sim_fail two[] = {{died[i], k}, {died[(i + k) % 4], 7}};
            one_end("openatom", 20, 8, two, k % 2 + 1, 0);
        }
        const struct sim_fail one = {died[i] % 12, 2 + i};
        one_end("leanmd", 12, 2, &one, 1, 0);
    }
}

/* ---- LogGP, by hand -------------------------------------------------------------------------- */

/* k is all bytes of a frame: without a protocol, those of the message and HARK_WIRE_HEAD before
 * them. A frame of k bytes occupies the network for (k-1)G where it leaves and again where it comes
 * in, each time with a gap g behind it. */

enum { STEPS_MOST = 64 };
struct script { /* what each process does, in its order; computes nothing */
    uint32_t ranks;
    struct step {
        uint8_t kind; /* SIM_SEND, SIM_RECEIVE; SIM_NOTHING: no more */
        uint8_t peer;
        uint16_t length; /* bytes of the message */
    } step[5][STEPS_MOST];
};
static const struct script *played;

static uint64_t op_played(const struct sim_pattern *p, uint32_t rank, uint32_t iteration,
    uint64_t place, struct sim_op *op)
{
    (void)p;
    (void)iteration;
    const struct step none = {SIM_NOTHING, 0, 0},
                      *s = place < STEPS_MOST ? &played->step[rank][place] : &none;
    *op =
        (struct sim_op){.kind = s->kind ? s->kind : SIM_END, .peer = s->peer, .length = s->length};
    return place + 1;
}

struct loggp {
    uint64_t latency, overhead, gap, gap_per_byte; /* ns; ps a byte */
};

/* When everything is done, ns. */
static uint64_t duration(const struct script *script, const struct loggp *m)
{
    const struct sim_maker maker = {"script", 0, "", NULL, op_played, NULL};
    struct sim_pattern p = {.maker = &maker, .ranks = script->ranks};
    struct hark_clusters c;
    played = script;
    assert_int_equal(hark_clusters_blocks(&c, script->ranks, 1), 0);
    struct sim_options o = usual(hark_protocol_named("none"), &p, &c);
    o.iterations = 1;
    o.every = 0;
    o.compute = o.jitter = 0;
    o.latency = m->latency;
    o.overhead = m->overhead;
    o.gap = m->gap;
    o.gap_per_byte = m->gap_per_byte;
    struct sim_result r = run(&o);
    uint64_t time = r.time;
    sim_result_free(&r);
    hark_clusters_free(&c);
    return time;
}

static void add_step(struct script *s, uint32_t rank, uint8_t kind, uint32_t peer, uint32_t length)
{
    struct step *at = s->step[rank];
    while (at->kind) at++;
    assert_true(at < &s->step[rank][STEPS_MOST]);
    *at = (struct step){kind, (uint8_t)peer, (uint16_t)length};
}

/* `count` messages of `length` bytes. */
static void add_messages(
    struct script *s, uint32_t from, uint32_t to, uint32_t count, uint32_t length)
{
    for (uint32_t i = 0; i < count; i++) {
        add_step(s, from, SIM_SEND, to, length);
        add_step(s, to, SIM_RECEIVE, from, length);
    }
}

static const struct loggp usual_model = {1000, 200, 100, 1000}, /* L, o, g, and G = 1 ns a byte */
    processor = {1000, 300, 100, 0},    /* o > g, and bytes are for nothing */
    network = {1000, 100, 300, 0};      /* g > o */
enum { K1000 = 1000 - HARK_WIRE_HEAD }; /* a message of so many bytes is a frame of k = 1000 */

/* o; L for each byte, and (k-1)G from the first to the last; o: L + 2o + (k-1)G. */
static void test_single(void **state)
{
    (void)state;
    struct script one = {.ranks = 2}, empty = {.ranks = 2}, both = {.ranks = 2};
    add_messages(&one, 0, 1, 1, K1000);
    assert_int_equal(duration(&one, &usual_model), 200 + 999 + 1000 + 200);
    assert_int_equal(duration(&one, &processor), 300 + 1000 + 300);
    assert_int_equal(duration(&one, &network), 100 + 1000 + 100);
    add_messages(&empty, 0, 1, 1, 0); /* k = 32: 31 G */
    assert_int_equal(duration(&empty, &usual_model), 200 + 31 + 1000 + 200);
    /* One each way: what leaves does not hinder what comes in. */
    add_step(&both, 0, SIM_SEND, 1, K1000);
    add_step(&both, 1, SIM_SEND, 0, K1000);
    add_step(&both, 0, SIM_RECEIVE, 1, K1000);
    add_step(&both, 1, SIM_RECEIVE, 0, K1000);
    assert_int_equal(duration(&both, &usual_model), 200 + 999 + 1000 + 200);
}

/* Four messages, one behind the other. */
static void test_stream(void **state)
{
    (void)state;
    struct script four = {.ranks = 2}, mixed = {.ranks = 2}, tight = {.ranks = 2};
    add_messages(&four, 0, 1, 4, K1000);
    /* First bytes leave at 200, 1299, 2398, 3497: g + (k-1)G = 1099 apart, for o = 200 is less. The
     * last byte of the last one is there at 3497 + 999 + 1000, and it is taken by 5696. */
    assert_int_equal(duration(&four, &usual_model), 200 + 3 * 1099 + 999 + 1000 + 200);
    /* o > g: they leave at 300, 600, 900, 1200; the last comes at 2200, just when the one before is
     * taken: L + 5o. */
    assert_int_equal(duration(&four, &processor), 4 * 300 + 1000 + 300);
    /* g > o: they leave at 100, 400, 700, 1000: L + 2o + 3g. */
    assert_int_equal(duration(&four, &network), 100 + 3 * 300 + 1000 + 100);
    /* k = 1000 and then k = 500: the second leaves at 200 + 1099, not with the first one's last
     * byte at 1199. */
    add_messages(&mixed, 0, 1, 1, K1000);
    add_messages(&mixed, 0, 1, 1, 500 - HARK_WIRE_HEAD);
    assert_int_equal(duration(&mixed, &usual_model), 1299 + 499 + 1000 + 200);
    /* Nothing but bytes takes time, and of the second frame's 32 (31 x 0.03 ns) nothing is left:
     * its first byte comes when the first frame's last one does (1031 x 0.03 ns), and it stays
     * behind it. */
    const struct loggp bytes = {1000, 0, 0, 30};
    add_messages(&tight, 0, 1, 1, 1000);
    add_messages(&tight, 0, 1, 1, 0);
    assert_int_equal(duration(&tight, &bytes), 1000 + 30);
}

/* A send takes its processor for o; what the network has not taken then waits there. */
static void test_sends_do_not_wait(void **state)
{
    (void)state;
    struct script s = {.ranks = 3};
    add_messages(&s, 0, 1, 4, K1000);
    add_messages(&s, 2, 0, 40, 0);
    /* 0 is through with its sends at 800, while the last of them leaves at 3497 (see test_stream).
     * 2's messages leave at 200, 400,
     * ..., for o = 200 is more than g + 31 G = 131, so that the i-th is there at 1231 + 200 i, when
     * the one before is taken. */
    assert_int_equal(duration(&s, &usual_model), 1231 + 40 * 200);
}

static void test_fan_in(void **state)
{
    (void)state;
    struct script three = {.ranks = 4}, backward = {.ranks = 4}, later = {.ranks = 4};
    for (uint32_t i = 1; i < 4; i++) add_messages(&three, i, 0, 1, 1000); /* k = 1032 */
    /* All three first bytes are there at 200 + 1000. Receptions begin g + (k-1)G = 1131 apart: at
     * 1200, 2331, 3462; the last byte comes at 3462 + 1031 = 4493, and the message is taken by
     * 4693. */
    assert_int_equal(duration(&three, &usual_model), 1200 + 2 * 1131 + 1031 + 200);
    /* o > g: receptions at 1300, 1400, 1500; the processor takes them at 1300, 1600, 1900: L + 4o.
     */
    assert_int_equal(duration(&three, &processor), 1300 + 3 * 300);
    /* g > o: receptions at 1100, 1400, 1700: L + 2o + 2g. */
    assert_int_equal(duration(&three, &network), 1100 + 2 * 300 + 100);
    /* The program takes first what comes in last, and nothing before that. */
    for (uint32_t i = 1; i < 4; i++) add_step(&backward, i, SIM_SEND, 0, 1000);
    for (uint32_t i = 3; i > 0; i--) add_step(&backward, 0, SIM_RECEIVE, i, 1000);
    assert_int_equal(duration(&backward, &usual_model), 4493 + 3 * 200);
    /* Whose first byte is first comes in first, however long it is: of 1 (k = 4000) it is there at
     * 1200, of 2 (k = 32), which sends one to 3 before, at 1200 + 131; the latter is in at 1200 +
     * 4099 + 31 = 5330, and taken by 5530; then the other is taken. */
    add_step(&later, 1, SIM_SEND, 0, 4000 - HARK_WIRE_HEAD);
    add_messages(&later, 2, 3, 1, 0);
    add_messages(&later, 2, 0, 1, 0);
    add_step(&later, 0, SIM_RECEIVE, 1, 4000 - HARK_WIRE_HEAD);
    assert_int_equal(duration(&later, &usual_model), 5330 + 2 * 200);
}

static void test_fan_out(void **state)
{
    (void)state;
    struct script three = {.ranks = 4};
    for (uint32_t i = 1; i < 4; i++) add_messages(&three, 0, i, 1, 1000); /* k = 1032 */
    /* First bytes leave at 200, 1331, 2462: the last byte of the third is there at 2462 + 1031 +
     * 1000. */
    assert_int_equal(duration(&three, &usual_model), 200 + 2 * 1131 + 1031 + 1000 + 200);
    assert_int_equal(duration(&three, &processor), 3 * 300 + 1000 + 300);     /* o > g: L + 4o */
    assert_int_equal(duration(&three, &network), 100 + 2 * 300 + 1000 + 100); /* g > o: L + 2o + 2g
                                                                               */
}

/* Between two messages of a process is a whole round trip, in which any gap here is over. */
static void test_ping_pong(void **state)
{
    (void)state;
    struct script s = {.ranks = 2};
    for (uint32_t i = 0; i < 3; i++) {
        add_messages(&s, 0, 1, 1, K1000);
        add_messages(&s, 1, 0, 1, K1000);
    }
    assert_int_equal(duration(&s, &usual_model), 6 * (200 + 999 + 1000 + 200));
    assert_int_equal(duration(&s, &processor), 6 * (300 + 1000 + 300));
    assert_int_equal(duration(&s, &network), 6 * (100 + 1000 + 100));
}

/* Under a protocol its header's bytes take their time as well, and a computation comes before: 5
 * us, then 0.1 ns a byte. */
static void test_time(void **state)
{
    (void)state;
    struct sim_pattern p = open_pattern("ring", 2);
    struct hark_clusters c;
    assert_int_equal(hark_clusters_blocks(&c, 2, 2), 0);
    struct sim_options o = usual(hark_protocol_named("hydee"), &p, &c);
    o.iterations = 1;
    o.every = 0;
    o.jitter = 0;
    struct sim_result r = run(&o);
    uint64_t header = HARK_WIRE_HEAD + r.piggyback_bytes / r.messages;
    assert_int_equal(r.time, 5000 + 200 + 1000 + (1000 + header - 1) * 100 / 1000 + 200);
    assert_int_equal(header, HARK_WIRE_HEAD + 16);
    sim_result_free(&r);
    hark_clusters_free(&c);
    sim_pattern_close(&p);
}

/* ---- what goes wrong is noticed -------------------------------------------------------------- */

static uint64_t op_missing(const struct sim_pattern *p, uint32_t rank, uint32_t iteration,
    uint64_t place, struct sim_op *op)
{
    (void)p;
    *op =
        (struct sim_op){.kind = place == 0 && rank == 1 && iteration == 2 ? SIM_RECEIVE : SIM_END};
    return place + 1;
}

static uint64_t op_longer(const struct sim_pattern *p, uint32_t rank, uint32_t iteration,
    uint64_t place, struct sim_op *op)
{
    (void)p;
    (void)iteration;
    *op = (struct sim_op){.kind = place  ? SIM_END
                                  : rank ? SIM_RECEIVE
                                         : SIM_SEND,
        .peer = 1 - rank,
        .length = 8 + rank};
    return place + 1;
}

static uint64_t op_more(const struct sim_pattern *p, uint32_t rank, uint32_t iteration,
    uint64_t place, struct sim_op *op)
{
    (void)p;
    (void)iteration;
    *op = (struct sim_op){.kind = place || rank ? SIM_END : SIM_SEND, .peer = 1, .length = 8};
    return place + 1;
}

static void wrong(
    uint64_t (*op)(const struct sim_pattern *, uint32_t, uint32_t, uint64_t, struct sim_op *),
    const char *said)
{
    const struct sim_maker maker = {"wrong", 0, "", NULL, op, NULL};
    struct sim_pattern p = {.maker = &maker, .ranks = 2};
    char error[SIM_ERROR * 4];
    struct hark_clusters c;
    struct sim_result r;
    assert_int_equal(hark_clusters_blocks(&c, 2, 2), 0);
    struct sim_options o = usual(hark_protocol_named("hydee"), &p, &c);
    assert_int_equal(sim_run(&r, &o, error), -1);
    if (strstr(error, said) == NULL) fail_msg("expected \"%s\", found \"%s\"", said, error);
    sim_result_free(&r);
    hark_clusters_free(&c);
}

static void test_wrong(void **state)
{
    (void)state;
    wrong(op_missing, "process 1, iteration 3: waits for a message from 0");
    wrong(op_longer, "I4: process 1 has not delivered what its program receives without failures");
    wrong(op_more,
        "process 1, at the end: a message of 0 was handed up that its program does not receive");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_queue),
        cmocka_unit_test(test_queue_now), cmocka_unit_test(test_arena), cmocka_unit_test(test_log),
        cmocka_unit_test(test_inbox), cmocka_unit_test(test_round), cmocka_unit_test(test_counts),
        cmocka_unit_test(test_trees), cmocka_unit_test(test_groups),
        cmocka_unit_test(test_matrices), cmocka_unit_test(test_protocols),
        cmocka_unit_test(test_figures), cmocka_unit_test(test_multicasts),
        cmocka_unit_test(test_single), cmocka_unit_test(test_stream),
        cmocka_unit_test(test_sends_do_not_wait), cmocka_unit_test(test_fan_in),
        cmocka_unit_test(test_fan_out), cmocka_unit_test(test_ping_pong),
        cmocka_unit_test(test_time), cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
