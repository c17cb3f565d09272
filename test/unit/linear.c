/* A recovery of hydee takes as long as it has messages to replay: twice as many, twice the work,
 * though each has a phase of its own. Work is counted, not timed: every function that is entered
 * (all are small, also those that the compiler puts into others), and every 64 bytes that are moved
 * or zeroed. A table that is walked for each notification or each release makes four times of
 * twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t work;

/* Called on entry of what is compiled with -finstrument-functions. */
void __cyg_profile_func_enter(void *function, void *from) __attribute__((no_instrument_function));
void __cyg_profile_func_exit(void *function, void *from) __attribute__((no_instrument_function));
void __cyg_profile_func_enter(void *function, void *from)
{
    (void)function;
    (void)from;
    work++;
}
void __cyg_profile_func_exit(void *function, void *from)
{
    (void)function;
    (void)from;
}

static inline void *moved(void *to, const void *from, uint64_t n)
{
    work += n / 64;
    return memmove(to, from, n);
}
static inline void *zeroed(void *at, int c, uint64_t n)
{
    work += n / 64;
    return memset(at, c, n);
}
#define __builtin_memmove moved
#define __builtin_memset  zeroed
#include "hark/hydee.h"
#undef __builtin_memmove
#undef __builtin_memset

enum { N = 2, RP = N, CONTEXTS = 2 };

struct frame {
    uint32_t to, length;
    uint8_t header[HARK_FRAGMENT];
};

struct frames { /* first in, first out */
    struct frame *at;
    uint64_t first, end, room;
};

struct job {
    struct hark *core[N + 1];
    struct hark_config config[N + 1];
    struct frames wire, inbox[N];
    uint64_t step[N]; /* round trips that the application has made */
    uint32_t op[N];   /* and sends and receives of the next one */
    uint64_t rounds, recovered, replayed, suppressed;
};

static void put(struct frames *f, uint32_t to, const uint8_t *header, uint32_t length)
{
    if (f->end == f->room) {
        f->room = f->room ? 2 * f->room : 64;
        f->at = realloc(f->at, f->room * sizeof *f->at);
        assert_non_null(f->at);
    }
    f->at[f->end].to = to;
    f->at[f->end].length = length;
    memcpy(f->at[f->end++].header, header, length);
}

static bool get(struct frames *f, struct frame *frame)
{
    if (f->first == f->end) return false;
    *frame = f->at[f->first++];
    if (f->first == f->end) f->first = f->end = 0;
    return true;
}

static void step(struct job *j, uint32_t who, struct hark_event e, const struct frame *frame);

static void perform(
    struct job *j, uint32_t who, const struct hark_effect *x, const struct frame *frame)
{
    struct hark_event stored = {.type = HARK_STORED};
    switch (x->type) {
    case HARK_TRANSMIT:
        put(&j->wire, x->u.transmit.peer == HARK_RECOVERY ? RP : x->u.transmit.peer,
            x->u.transmit.header.at, x->u.transmit.header.length);
        j->replayed += x->u.transmit.replay;
        break;
    case HARK_SUPPRESS: j->suppressed++; break;
    case HARK_HANDUP: put(&j->inbox[who], who, frame->header, frame->length); break;
    case HARK_RECOVERED: j->recovered++; break;
    case HARK_PERSIST:
        stored.u.stored.of = HARK_PERSIST;
        stored.u.stored.fact = x->u.persist.kind;
        stored.u.stored.ok = 1;
        stored.u.stored.id = x->u.persist.id;
        step(j, who, stored, NULL);
        break;
    case HARK_HOLD:
    case HARK_DIVERGED: fail_msg("effect %d of process %u", (int)x->type, who); break;
    default: break;
    }
}

static void step(struct job *j, uint32_t who, struct hark_event e, const struct frame *frame)
{
    for (;;) {
        struct hark_effect effects[HARK_EFFECTS_ROOM];
        uint8_t bytes[HARK_EFFECTS_BYTES];
        struct hark_effects fx = {.at = effects, .room = HARK_EFFECTS_ROOM};
        fx.bytes = bytes;
        fx.bytes_room = sizeof bytes;
        int status = who == RP ? hark_recovery_step(j->core[who], &e, &fx)
                               : hark_hydee_step(j->core[who], &e, &fx);
        if (status == HARK_EFULL) {
            uint64_t wants = hark_wants(j->core[who], &e);
            j->core[who] = realloc(j->core[who], wants);
            assert_non_null(j->core[who]);
            assert_int_equal(hark_grow(j->core[who], wants), HARK_OK);
            continue;
        }
        assert_true(status == HARK_OK || status == HARK_MORE);
        for (uint32_t i = 0; i < fx.count; i++) perform(j, who, &effects[i], frame);
        if (status == HARK_OK) return;
        e = (struct hark_event){.type = HARK_CONTINUE};
    }
}

static void settle(struct job *j)
{
    struct frame f;
    while (get(&j->wire, &f)) {
        struct hark_event e = {.type = HARK_ARRIVE};
        e.u.frame.header = (struct hark_bytes){f.header, f.length};
        step(j, f.to, e, &f);
    }
}

static void make(struct job *j, uint32_t i)
{
    const struct hark_config *c = &j->config[i];
    uint64_t bytes = i == RP ? hark_recovery_size(c) : hark_hydee_size(c);
    free(j->core[i]);
    j->core[i] = malloc(bytes);
    int status =
        i == RP ? hark_recovery_init(j->core[i], bytes, c) : hark_hydee_init(j->core[i], bytes, c);
    assert_int_equal(status, HARK_OK);
}

/* In a round trip each sends to the other on each context, and then waits for as many. False: it
 * can not go on. */
static bool advance(struct job *j, uint32_t who)
{
    struct frame f;
    if (j->step[who] == j->rounds) return false;
    if (j->op[who] < CONTEXTS) {
        struct hark_event e = {.type = HARK_SEND};
        e.u.send.peer = 1 - who;
        e.u.send.ctx = (uint16_t)j->op[who]++;
        e.u.send.length = 8;
        e.u.send.digest = j->step[who];
        step(j, who, e, NULL);
        return true;
    }
    if (!get(&j->inbox[who], &f)) return false;
    struct hark_event e = {.type = HARK_DELIVER};
    e.u.frame.header = (struct hark_bytes){f.header, f.length};
    step(j, who, e, NULL);
    if (++j->op[who] < 2 * CONTEXTS) return true;
    j->op[who] = 0;
    j->step[who]++;
    return true;
}

static void run(struct job *j)
{
    for (bool on = true; on;) {
        on = false;
        for (uint32_t i = 0; i < N; i++) on |= advance(j, i);
        settle(j);
    }
}

/* Process 1 is lost, and begins again. */
static void lose(struct job *j)
{
    uint32_t down = 1;
    struct hark_incarnation inc = {1, 1};
    struct hark_event e = {.type = HARK_FAILED}, r = {.type = HARK_RESTARTED};
    e.u.failed.re = r.u.restarted.re = r.u.restarted.inc = 1;
    e.u.failed.down = &down;
    e.u.failed.inc = &inc;
    e.u.failed.down_count = e.u.failed.inc_count = 1;
    make(j, 1);
    j->step[1] = 0;
    j->op[1] = 0;
    j->inbox[1].first = j->inbox[1].end = 0;
    step(j, 1, r, NULL);
    for (uint32_t i = 0; i <= RP; i++) step(j, i, e, NULL);
}

static void begin(struct job *j, uint32_t flags, uint32_t fan)
{
    static const struct hark_range mine[N] = {{0, 0}, {1, 1}};
    memset(j, 0, sizeof *j);
    for (uint32_t i = 0; i <= RP; i++) {
        j->config[i] = (struct hark_config){.ranks = N, .flags = flags, .fan = fan};
        j->config[i].me = i == RP ? HARK_RECOVERY : i;
        j->config[i].cluster = i == RP ? NULL : &mine[i];
        j->config[i].cluster_count = i != RP;
        make(j, i);
    }
}

static void end(struct job *j)
{
    for (uint32_t i = 0; i <= RP; i++) free(j->core[i]);
    for (uint32_t i = 0; i < N; i++) free(j->inbox[i].at);
    free(j->wire.at);
}

/* The work of a recovery with so many round trips to be replayed. */
static uint64_t recovery_of(uint64_t rounds, uint32_t flags, uint32_t fan)
{
    static struct job job;
    struct job *j = &job;
    begin(j, flags, fan);
    j->rounds = rounds;
    run(j);
    lose(j);
    j->rounds++;
    work = 0;
    run(j);
    uint64_t counted = work;
    assert_int_equal(j->recovered, N);
    for (uint32_t i = 0; i < N; i++) assert_int_equal(j->step[i], rounds + 1);
    assert_in_range(j->replayed, CONTEXTS * rounds, CONTEXTS * (rounds + 1));
    /* The first was posted before process 1 heard that process 0 has it. */
    assert_int_equal(j->suppressed, CONTEXTS * rounds - 1);
    end(j);
    return counted;
}

static void is_linear(uint32_t flags, uint32_t fan)
{
    enum { FEW = 1000 };
    uint64_t once = recovery_of(FEW, flags, fan), twice = recovery_of(2 * FEW, flags, fan);
    print_message(
        "%u: %llu, %u: %llu\n", FEW, (unsigned long long)once, 2 * FEW, (unsigned long long)twice);
    assert_true(once > FEW);
    assert_true(twice < 2 * once + once / 5);
}

static void test_plain(void **state)
{
    (void)state;
    is_linear(0, 0);
    is_linear(HARK_DIGEST, 0);
}

static void test_tree(void **state)
{
    (void)state;
    is_linear(HARK_DIGEST, 2);
}

static void test_exact(void **state)
{
    (void)state;
    is_linear(HARK_DIGEST | HARK_EXACT_GATE, 0);
}

/* A control frame that process 1, in its second incarnation, sends to `to`. */
static void control(struct job *j, uint32_t to, uint8_t type, const uint64_t *words, uint32_t count)
{
    struct frame f = {.to = to, .length = HARK_WIRE_HEAD + 8 * count};
    struct hark_head h = {HARK_KIND_HYDEE, type, 0, 1, to == RP ? HARK_RECOVERY : to, 1, 0, 1, 0};
    struct hark_event e = {.type = HARK_ARRIVE};
    hark_head_put(f.header, &h);
    for (uint32_t i = 0; i < count; i++) hark_put64(f.header + HARK_WIRE_HEAD + 8 * i, words[i]);
    e.u.frame.header = (struct hark_bytes){f.header, f.length};
    step(j, to, e, &f);
}

/* ORPH and REPORT in more fragments than a frame has numbers for. */
static void test_many_fragments(void **state)
{
    enum { FRAGMENTS = (1 << 16) + 3 };
    static struct job job;
    struct job *j = &job;
    (void)state;
    begin(j, 0, 0);
    lose(j);
    control(j, 0, HARK_H_POS, (uint64_t[]){1, 0, 0, FRAGMENTS, 0}, 5);
    for (uint64_t i = 0; i < FRAGMENTS; i++)
        control(j, 0, HARK_H_ORPH,
            (uint64_t[]){(i & UINT16_MAX) << 16 | (i + 1 == FRAGMENTS), i + 1, i + 1, 1}, 4);
    const struct hark_hydee_channel *c =
        hark_hydee_find((struct hark_hydee *)(void *)j->core[0], 1, 0);
    assert_non_null(c);
    assert_int_equal(c->recorded.count, FRAGMENTS);
    assert_false(c->channel.flags & HARK_ORPH_WAIT);

    for (uint64_t i = 0; i < FRAGMENTS; i++) {
        uint64_t last = i + 1 == FRAGMENTS ? (uint64_t)(FRAGMENTS & UINT16_MAX) << 16 | 1 : 0;
        assert_int_equal(((struct hark_recovery *)(void *)j->core[RP])->reported.count, 0);
        control(j, RP, HARK_H_REPORT, (uint64_t[]){last, 0, i + 1, i + 1, i + 2}, 5);
    }
    struct hark_recovery *s = (struct hark_recovery *)(void *)j->core[RP];
    assert_int_equal(s->reported.count, 1);
    assert_int_equal(hark_orphans_at(s, 0)->runs.count, FRAGMENTS);
    end(j);
}

/* Fragments of a REPORT in the k-th order: the same state whatever it is. */
static uint64_t reported(struct job *j, uint32_t k, uint8_t *packed, uint64_t room)
{
    uint32_t left[4] = {0, 1, 2, 3};
    begin(j, 0, 0);
    lose(j);
    for (uint32_t n = 4; n > 0; k /= n, n--) {
        uint32_t i = left[k % n];
        left[k % n] = left[n - 1];
        uint64_t at = 10 * i + 1, last = i == 3 ? 4 << 16 | 1 : 0;
        control(j, RP, HARK_H_REPORT,
            (uint64_t[]){last, 0, at, at + 1, 9 - i, 0, at + 2, at + 4, 9 - i % 2}, 9);
    }
    return hark_pack(j->core[RP], &hark_recovery_shape, packed, room);
}

static void test_any_order_of_fragments(void **state)
{
    static struct job job;
    static uint8_t first[2048], other[2048];
    (void)state;
    uint64_t length = reported(&job, 0, first, sizeof first);
    assert_true(length <= sizeof first);
    struct hark_recovery *s = (struct hark_recovery *)(void *)job.core[RP];
    assert_int_equal(hark_orphans_at(s, 0)->runs.count, 8);
    assert_int_equal(s->reported.count, 1);
    end(&job);
    for (uint32_t k = 1; k < 24; k++) {
        assert_int_equal(reported(&job, k, other, sizeof other), length);
        assert_memory_equal(first, other, length);
        end(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_fragments),
        cmocka_unit_test(test_any_order_of_fragments), cmocka_unit_test(test_plain),
        cmocka_unit_test(test_tree), cmocka_unit_test(test_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
