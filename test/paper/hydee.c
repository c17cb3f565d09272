/* The HydEE paper, claim by claim: Figure 4 with the numbers it implies, and the recoveries of
 * III.B-D.
 *
 * "Figure 4 is a temporal representation of this execution": clusters {0,1}, {2,3,4}, {5,6,7};
 * m1: p1->p2, m2: p2->p3, m3: p3->p5, m4: p5->p6, m5: p5->p7, m6: p6->p7, m7: p7->p4, m8: p4->p3.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hark/hydee.h"

enum { N = 8, RP = N, WIRE = 256 };

struct wire {
    uint32_t to, length;
    uint8_t header[HARK_FRAGMENT];
};

struct job {
    struct hark *core[N + 1];
    struct wire wire[WIRE];
    uint32_t head, tail;
    struct wire inbox[N][16];
    uint32_t inboxes[N];
    uint32_t replayed[64], replays; /* from * 10 + to */
    uint32_t suppressed[64], suppressions;
    uint32_t done; /* PERSIST of the recovery process was answered */
};

static const struct hark_range group_of[N] = {
    {0, 1}, {0, 1}, {2, 4}, {2, 4}, {2, 4}, {5, 7}, {5, 7}, {5, 7}};

static struct hark_hydee *at(struct job *j, uint32_t i)
{
    return (struct hark_hydee *)(void *)j->core[i];
}

static void step(struct job *j, uint32_t who, struct hark_event e, const struct wire *frame);

static void perform(
    struct job *j, uint32_t who, const struct hark_effect *x, const struct wire *frame)
{
    struct hark_event stored = {.type = HARK_STORED};
    switch (x->type) {
    case HARK_TRANSMIT: {
        struct wire *w = &j->wire[j->tail++ % WIRE];
        assert_true(j->tail - j->head < WIRE);
        const struct hark_transmit *t = &x->u.transmit;
        w->to = t->peer == HARK_RECOVERY ? RP : t->peer;
        w->length = t->header.length;
        memcpy(w->header, t->header.at, w->length);
        if (t->name.ssn && t->replay) j->replayed[j->replays++] = who * 10 + t->peer;
        break;
    }
    case HARK_SUPPRESS:
        j->suppressed[j->suppressions++] = who * 10 + x->u.suppress.name.peer;
        break;
    case HARK_HANDUP: j->inbox[who][j->inboxes[who]++] = *frame; break;
    case HARK_PERSIST:
        stored.u.stored.of = HARK_PERSIST;
        stored.u.stored.fact = x->u.persist.kind;
        stored.u.stored.ok = 1;
        stored.u.stored.id = x->u.persist.id;
        j->done = 1;
        step(j, who, stored, NULL);
        break;
    case HARK_DIVERGED: fail_msg("diverged"); break;
    default: break;
    }
}

static void step(struct job *j, uint32_t who, struct hark_event e, const struct wire *frame)
{
    struct hark_effect effects[HARK_EFFECTS_ROOM];
    uint8_t bytes[HARK_EFFECTS_BYTES];
    struct hark_effects fx = {
        .at = effects, .room = HARK_EFFECTS_ROOM, .bytes = bytes, .bytes_room = sizeof bytes};
    for (;;) {
        int status = who == RP ? hark_recovery_step(j->core[who], &e, &fx)
                               : hark_hydee_step(j->core[who], &e, &fx);
        if (status == HARK_EFULL) {
            uint64_t wants = hark_wants(j->core[who], &e);
            j->core[who] = realloc(j->core[who], wants);
            hark_grow(j->core[who], wants);
            continue;
        }
        assert_true(status == HARK_OK || status == HARK_MORE);
        struct hark_effect mine[HARK_EFFECTS_ROOM];
        uint8_t headers[HARK_EFFECTS_BYTES];
        uint32_t n = fx.count;
        memcpy(mine, effects, sizeof mine);
        memcpy(headers, bytes, sizeof bytes);
        for (uint32_t i = 0; i < n; i++) {
            struct hark_bytes *h = &mine[i].u.transmit.header;
            if (mine[i].type == HARK_TRANSMIT) h->at = headers + (h->at - bytes);
            perform(j, who, &mine[i], frame);
        }
        if (status == HARK_OK) return;
        e = (struct hark_event){.type = HARK_CONTINUE};
    }
}

/* Everything on the wire arrives. */
static void settle(struct job *j)
{
    while (j->head != j->tail) {
        struct wire w = j->wire[j->head++ % WIRE];
        struct hark_event e = {.type = HARK_ARRIVE};
        e.u.frame.header = (struct hark_bytes){w.header, w.length};
        step(j, w.to, e, &w);
    }
}

static void make(struct job *j, uint32_t i)
{
    struct hark_config c = {.me = i == RP ? HARK_RECOVERY : i, .ranks = N, .flags = HARK_DIGEST};
    uint64_t bytes;
    if (i != RP) {
        c.cluster = &group_of[i];
        c.cluster_count = 1;
    }
    bytes = i == RP ? hark_recovery_size(&c) : hark_hydee_size(&c);
    free(j->core[i]);
    j->core[i] = malloc(bytes);
    assert_int_equal(i == RP ? hark_recovery_init(j->core[i], bytes, &c)
                             : hark_hydee_init(j->core[i], bytes, &c),
        HARK_OK);
    if (i != RP) j->inboxes[i] = 0;
}

static void send(struct job *j, uint32_t from, uint32_t to)
{
    struct hark_event e = {.type = HARK_SEND};
    e.u.send.peer = to;
    e.u.send.length = 8;
    e.u.send.digest = from * 10 + to;
    step(j, from, e, NULL);
    settle(j);
}

/* The application of `who` takes the message from `from`, which must be there. */
static void take(struct job *j, uint32_t who, uint32_t from)
{
    for (uint32_t i = 0; i < j->inboxes[who]; i++) {
        struct wire w = j->inbox[who][i];
        struct hark_event e = {.type = HARK_DELIVER};
        if (hark_get32(w.header + 4) != from) continue;
        memmove(&j->inbox[who][i], &j->inbox[who][i + 1], (j->inboxes[who] - i - 1) * sizeof w);
        j->inboxes[who]--;
        e.u.frame.header = (struct hark_bytes){w.header, w.length};
        step(j, who, e, NULL);
        return;
    }
    fail_msg("p%u has no message from p%u", who, from);
}

static bool has(const struct job *j, uint32_t who, uint32_t from)
{
    for (uint32_t i = 0; i < j->inboxes[who]; i++)
        if (hark_get32(j->inbox[who][i].header + 4) == from) return true;
    return false;
}

static void figure4(struct job *j)
{
    memset(j, 0, sizeof *j);
    for (uint32_t i = 0; i <= RP; i++) make(j, i);
    send(j, 1, 2), take(j, 2, 1);
    send(j, 2, 3), take(j, 3, 2);
    send(j, 3, 5), take(j, 5, 3);
    send(j, 5, 6), take(j, 6, 5);
    send(j, 5, 7), take(j, 7, 5);
    send(j, 6, 7), take(j, 7, 6);
    send(j, 7, 4), take(j, 4, 7);
    send(j, 4, 3), take(j, 3, 4);
}

static void release(struct job *j)
{
    for (uint32_t i = 0; i <= RP; i++) free(j->core[i]);
}

static uint64_t phase_sent(struct job *j, uint32_t from, uint32_t to)
{
    struct hark_channel *c = hark_channel_find(j->core[from], &at(j, from)->endpoint, to, 0);
    struct hark_hydee_channel *h = (struct hark_hydee_channel *)(void *)c;
    uint64_t first, last, phase = 0;
    assert_non_null(c);
    struct hark_runs r = hark_runs_begin(j->core[from], &at(j, from)->pool, &h->log, 1, 1);
    assert_true(
        hark_runs_next(j->core[from], &at(j, from)->pool, &h->log, &r, &first, &last, &phase));
    return phase;
}

static uint64_t phase_received(struct job *j, uint32_t who, uint32_t from)
{
    struct hark_hydee_channel *h = (struct hark_hydee_channel *)(void *)hark_channel_find(
        j->core[who], &at(j, who)->endpoint, from, 0);
    uint64_t first, last, phase = 0;
    struct hark_runs r = hark_runs_begin(j->core[who], &at(j, who)->pool, &h->rpp, 1, 1);
    assert_true(
        hark_runs_next(j->core[who], &at(j, who)->pool, &h->rpp, &r, &first, &last, &phase));
    return phase;
}

static uint32_t logged(struct job *j, uint32_t who)
{
    uint64_t cursor = 0;
    struct hark_names run;
    uint32_t n = 0;
    while (hark_hydee_names(j->core[who], &cursor, &run))
        if (run.name.way == HARK_OUT) n += (uint32_t)(run.last - run.name.ssn + 1);
    return n;
}

/* "All processes phases are initialized to 1. When the process p2 receives the message m1, its
 * phase becomes 2, the same for p3 after receiving m2. When p5 receives m3, its phase becomes 3
 * then the processes p6 and p7 update their phase to 3 after receiving m4 and m5. The phase of the
 * message m7 is then 3." (III.B) */
static void test_figure4_phases(void **state)
{
    static const uint64_t phases[N] = {1, 1, 2, 4, 4, 3, 3, 3}, dates[N] = {0, 1, 2, 3, 2, 3, 2, 3};
    struct job *j = *state;
    figure4(j);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(at(j, i)->phase, phases[i]);
        assert_int_equal(at(j, i)->date, dates[i]);
    }
    assert_int_equal(phase_sent(j, 1, 2), 1);
    assert_int_equal(phase_sent(j, 3, 5), 2);
    assert_int_equal(phase_sent(j, 7, 4), 3);
    release(j);
}

/* "Only the content of inter-cluster messages is logged in the sender memory"; RPP "stores the
 * phase and the date of all received messages" of other clusters. (III.A, III.C) */
static void test_figure4_logs(void **state)
{
    static const uint32_t logs[N] = {0, 1, 0, 1, 0, 0, 0, 1};
    struct job *j = *state;
    figure4(j);
    for (uint32_t i = 0; i < N; i++) assert_int_equal(logged(j, i), logs[i]);
    assert_int_equal(phase_received(j, 2, 1), 1);
    assert_int_equal(phase_received(j, 5, 3), 2);
    assert_int_equal(phase_received(j, 4, 7), 3);
    release(j);
}

static void lose(struct job *j, uint32_t re, const uint32_t *down, uint32_t count)
{
    struct hark_incarnation inc[N];
    struct hark_event e = {.type = HARK_FAILED};
    e.u.failed.re = re;
    e.u.failed.down = down;
    e.u.failed.down_count = e.u.failed.inc_count = count;
    e.u.failed.inc = inc;
    for (uint32_t i = 0; i < count; i++) inc[i] = (struct hark_incarnation){down[i], 1};
    for (uint32_t i = 0; i < count; i++) {
        struct hark_event r = {.type = HARK_RESTARTED};
        r.u.restarted.re = re;
        r.u.restarted.inc = 1;
        make(j, down[i]);
        step(j, down[i], r, NULL);
    }
    j->replays = j->suppressions = 0;
    for (uint32_t i = 0; i <= RP; i++) step(j, i, e, NULL);
    settle(j);
}

static uint64_t released(struct job *j)
{
    return ((struct hark_recovery *)(void *)j->core[RP])->released_phase;
}

/* "After the failure and the rollback of the processes of Cluster2, the message m7 which phase is 3
 * cannot be sent until the orphan message m3, which phase is 2 is received. Thus m8 cannot be sent
 * until m3 is received." (III.B). As printed,
 * `<` in Alg. 2 line 14 would send m3 again and never release phase 3 (E1). */
static void test_cluster2_fails(void **state)
{
    static const uint32_t down[] = {2, 3, 4};
    struct job *j = *state;
    figure4(j);
    lose(j, 1, down, 3);
    assert_int_equal(released(j), 2);
    assert_int_equal(j->replays, 1);
    assert_int_equal(j->replayed[0], 12); /* m1 */
    assert_false(has(j, 4, 7));           /* m7 waits */
    take(j, 2, 1);
    send(j, 2, 3), take(j, 3, 2);
    send(j, 3, 5); /* m3: an orphan */
    assert_int_equal(j->suppressions, 1);
    assert_int_equal(j->suppressed[0], 35);
    assert_false(has(j, 5, 3));
    assert_true(released(j) == HARK_INFINITY);
    assert_int_equal(j->replays, 2);
    assert_int_equal(j->replayed[1], 74); /* m7 */
    take(j, 4, 7);
    send(j, 4, 3), take(j, 3, 4);
    assert_int_equal(j->done, 1);
    for (uint32_t i = 0; i < N; i++) assert_int_equal(at(j, i)->recovering, 0);
    release(j);
}

/* "If the processes of Cluster3 fail and roll back, the message m7 becomes an orphan message.
 * Thanks to send-determinism, message m5 or message m6 can be received first, the same message m7
 * will be sent anyway. Thus, the processes of cluster2 do not need to roll back to receive m7
 * again." (III.A) */
static void test_cluster3_fails(void **state)
{
    static const uint32_t down[] = {5, 6, 7};
    struct job *j = *state;
    figure4(j);
    lose(j, 1, down, 3);
    assert_int_equal(released(j), 3);
    assert_int_equal(j->replays, 1);
    assert_int_equal(j->replayed[0], 35); /* m3 */
    take(j, 5, 3);
    send(j, 5, 6), take(j, 6, 5);
    send(j, 5, 7);
    send(j, 6, 7), take(j, 7, 6); /* m6 first this time */
    take(j, 7, 5);
    send(j, 7, 4);
    assert_int_equal(j->suppressions, 1);
    assert_int_equal(j->suppressed[0], 74);
    assert_int_equal(at(j, 4)->endpoint.inc, 0);
    assert_true(released(j) == HARK_INFINITY);
    assert_int_equal(j->done, 1);
    release(j);
}

/* "We prove that HydEE can handle multiple concurrent failures" (abstract). With both clusters back
 * at the beginning nothing is an orphan; as printed, p3 would wait for LastDate of p5, which runs
 * Alg. 2 itself (E9), and nobody would be released, for NotifyPhase runs only after an
 * OrphanNotification (E10). */
static void test_both_fail(void **state)
{
    static const uint32_t down[] = {2, 3, 4, 5, 6, 7};
    struct job *j = *state;
    figure4(j);
    lose(j, 1, down, 6);
    assert_true(released(j) == HARK_INFINITY);
    assert_int_equal(j->replays, 1);
    assert_int_equal(j->replayed[0], 12);
    assert_int_equal(j->done, 1);
    take(j, 2, 1);
    send(j, 2, 3), take(j, 3, 2);
    send(j, 3, 5), take(j, 5, 3);
    send(j, 5, 6), take(j, 6, 5);
    send(j, 5, 7), take(j, 7, 5);
    send(j, 6, 7), take(j, 7, 6);
    send(j, 7, 4), take(j, 4, 7);
    assert_int_equal(j->suppressions, 0);
    release(j);
}

/* "If the recovery process fails during recovery, another one could be started to replace it. It
 * would just need to synchronize again with the application processes" (III.D): a new one and a new
 * epoch; what was notified stays so. */
static void test_recovery_process_fails(void **state)
{
    static const uint32_t down[] = {2, 3, 4};
    struct hark_incarnation inc[3] = {{2, 1}, {3, 1}, {4, 1}};
    struct hark_event e = {.type = HARK_FAILED};
    struct job *j = *state;
    figure4(j);
    lose(j, 1, down, 3);
    take(j, 2, 1);
    make(j, RP);
    e.u.failed.re = 2;
    e.u.failed.down = down;
    e.u.failed.inc = inc;
    e.u.failed.down_count = e.u.failed.inc_count = 3;
    for (uint32_t i = 0; i <= RP; i++) step(j, i, e, NULL);
    settle(j);
    assert_int_equal(released(j), 2);
    send(j, 2, 3), take(j, 3, 2);
    send(j, 3, 5);
    assert_true(released(j) == HARK_INFINITY);
    take(j, 4, 7);
    assert_int_equal(j->done, 1);
    release(j);
}

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct job));
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_figure4_phases, setup, teardown),
        cmocka_unit_test_setup_teardown(test_figure4_logs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cluster2_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cluster3_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(test_both_fail, setup, teardown),
        cmocka_unit_test_setup_teardown(test_recovery_process_fails, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
