/* Simple causal message logging, claim by claim: the team paper's Figure 2 in numbers, and section 2.3 of CAMEL.
 *
 * Figure 2: objects alpha, beta, gamma, delta; m1: alpha->beta, m2: gamma->beta, m3: beta->delta. Every object is a
 * process of its own here: alpha 0, beta 1, gamma 2, delta 3. "#m = <sender, recver, ssn, rsn>".
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hark/scmel.h"

enum { ALPHA, BETA, GAMMA, DELTA, N, WIRE = 64 };

struct wire {
    uint32_t to, inc, length;
    uint8_t header[HARK_FRAGMENT];
};

struct job {
    struct hark *core[N];
    struct wire wire[WIRE], held[N][16], inbox[N][16];
    uint32_t wires, helds[N], inboxes[N];
    uint32_t inc[N], re, retained[N], discarded[N], replays, recovered;
};

static struct hark_scmel *at(struct job *j, uint32_t who)
{
    return (struct hark_scmel *)(void *)j->core[who];
}

static void step(struct job *j, uint32_t who, struct hark_event e, const struct wire *frame);

static void arrive(struct job *j, uint32_t who, const struct wire *w)
{
    struct hark_event e = {.type = HARK_ARRIVE};
    e.u.frame.header = (struct hark_bytes){w->header, w->length};
    step(j, who, e, w);
}

static void perform(struct job *j, uint32_t who, const struct hark_effect *x, const struct wire *frame)
{
    struct hark_event stored = {.type = HARK_STORED};
    struct wire *w = &j->wire[j->wires];
    static struct wire again[16];
    uint32_t n;
    switch (x->type) {
    case HARK_TRANSMIT:
        assert_true(j->wires++ < WIRE);
        w->to = x->peer;
        w->inc = x->inc;
        w->length = x->header.length;
        memcpy(w->header, x->header.at, w->length);
        j->replays += x->replay;
        break;
    case HARK_RETAIN: j->retained[who]++; break;
    case HARK_DISCARD: j->discarded[who]++; break;
    case HARK_RECOVERED: j->recovered++; break;
    case HARK_HANDUP: j->inbox[who][j->inboxes[who]++] = *frame; break;
    case HARK_HOLD: j->held[who][j->helds[who]++] = *frame; break;
    case HARK_OFFER:
        n = j->helds[who];
        memcpy(again, j->held[who], sizeof again);
        j->helds[who] = 0;
        for (uint32_t i = 0; i < n; i++) arrive(j, who, &again[i]);
        break;
    case HARK_PERSIST:
        stored.u.stored.of = HARK_PERSIST;
        stored.u.stored.ok = 1;
        stored.u.stored.id = x->u.id;
        step(j, who, stored, NULL);
        break;
    default: break;
    }
}

static void step(struct job *j, uint32_t who, struct hark_event e, const struct wire *frame)
{
    struct hark_effect effects[HARK_EFFECTS_ROOM];
    static uint8_t pool[8][HARK_EFFECTS_BYTES];
    static int depth;
    struct hark_effects fx = {.at = effects, .room = HARK_EFFECTS_ROOM, .bytes = pool[depth], .bytes_room = HARK_EFFECTS_BYTES};
    int status;
    assert_true(depth < 7);
    depth++;
    do {
        status = hark_scmel_step(j->core[who], &e, &fx);
        assert_true(status == HARK_OK || status == HARK_MORE);
        assert_null(hark_scmel_violated(j->core[who]));
        for (uint32_t i = 0; i < fx.count; i++) perform(j, who, &effects[i], frame);
        e = (struct hark_event){.type = HARK_CONTINUE};
    } while (status == HARK_MORE);
    depth--;
}

static void core_make(struct job *j, uint32_t who)
{
    struct hark_config c = {.me = who, .ranks = N};
    free(j->core[who]);
    j->core[who] = malloc(1 << 16);
    assert_int_equal(hark_scmel_init(j->core[who], 1 << 16, &c), HARK_OK);
}

/* The network empties itself; `order` -1: last in, first out. */
static void settle(struct job *j, int order)
{
    while (j->wires) {
        uint32_t i = order < 0 ? j->wires - 1 : 0;
        struct wire w = j->wire[i];
        memmove(&j->wire[i], &j->wire[i + 1], (j->wires - i - 1) * sizeof w);
        j->wires--;
        if (w.inc == j->inc[w.to]) arrive(j, w.to, &w);
    }
}

static void send_to(struct job *j, uint32_t from, uint32_t to)
{
    struct hark_event e = {.type = HARK_SEND};
    e.u.send.peer = to;
    step(j, from, e, NULL);
}

static void take(struct job *j, uint32_t who, uint32_t from)
{
    struct hark_event e = {.type = HARK_DELIVER};
    uint32_t i = 0;
    while (i < j->inboxes[who] && hark_get32(j->inbox[who][i].header + 4) != from) i++;
    assert_true(i < j->inboxes[who]);
    struct wire w = j->inbox[who][i];
    memmove(&j->inbox[who][i], &j->inbox[who][i + 1], (j->inboxes[who] - i - 1) * sizeof w);
    j->inboxes[who]--;
    e.u.frame.header = (struct hark_bytes){w.header, w.length};
    step(j, who, e, NULL);
}

static void idle(struct job *j, uint32_t who)
{
    struct hark_event e = {.type = HARK_IDLE};
    step(j, who, e, NULL);
}

static void crash(struct job *j, uint32_t rank)
{
    struct hark_incarnation inc[N];
    struct hark_event e = {.type = HARK_FAILED}, back = {.type = HARK_RESTARTED};
    j->inc[rank]++;
    e.u.failed.re = ++j->re;
    e.u.failed.down_count = 1;
    e.u.failed.down = &rank;
    e.u.failed.inc = inc;
    for (uint32_t i = 0; i < N; i++)
        if (j->inc[i]) inc[e.u.failed.inc_count++] = (struct hark_incarnation){i, j->inc[i]};
    j->inboxes[rank] = j->helds[rank] = 0;
    core_make(j, rank);
    back.u.restarted.re = j->re;
    back.u.restarted.inc = j->inc[rank];
    step(j, rank, back, NULL);
    for (uint32_t i = 0; i < N; i++) step(j, i, e, NULL);
}

static struct job *job_make(void)
{
    struct job *j = calloc(1, sizeof *j);
    for (uint32_t i = 0; i < N; i++) core_make(j, i);
    return j;
}

static void job_free(struct job *j)
{
    for (uint32_t i = 0; i < N; i++) free(j->core[i]);
    free(j);
}

/* m1 and m2 have been delivered in this order; m3 not sent. */
static struct job *before_m3(void)
{
    struct job *j = job_make();
    send_to(j, ALPHA, BETA);
    send_to(j, GAMMA, BETA);
    settle(j, 0);
    take(j, BETA, ALPHA);
    take(j, BETA, GAMMA);
    return j;
}

static const uint64_t *own(struct job *j, uint32_t who, uint64_t rsn)
{
    return hark_dets_find(j->core[who], &at(j, who)->pool, &at(j, who)->own, rsn);
}

/* "Upon reception of a message m, a process associates the sender of m and its ssn with the corresponding rsn and stores
 * that mapping into rsnMap." "The determinant created as the result of a message reception is temporarily stored in
 * detBuf". */
static void test_determinants(void **state)
{
    struct job *j = before_m3();
    (void)state;
    assert_int_equal(at(j, BETA)->own.rows.count, 2); /* dets(B) = {d1, d2} */
    assert_int_equal(at(j, BETA)->own.loose, 2);
    assert_true(hark_det_is(own(j, BETA, 1), ALPHA, 0, 1)); /* d1 = <alpha, beta, 1, 1> */
    assert_true(hark_det_is(own(j, BETA, 2), GAMMA, 0, 1)); /* d2 = <gamma, beta, 1, 2> */
    for (uint32_t i = 0; i < N; i++) assert_int_equal(at(j, i)->logs.count, 0); /* DLOG is empty */
    job_free(j);
}

/* "... and it will be piggybacked in the next outgoing messages, until an acknowledgment has been received. At that point, the
 * determinant can be removed from detBuf." And once it is, later messages are free of it. */
static void test_piggyback(void **state)
{
    struct job *j = before_m3();
    (void)state;
    send_to(j, BETA, DELTA);
    assert_int_equal(hark_get16(j->wire[0].header + HARK_WIRE_HEAD), 2); /* m3 carries {d1, d2} */
    settle(j, 0);
    struct hark_scmel_log *log = hark_scmel_log(at(j, DELTA), BETA, false);
    assert_non_null(log);
    assert_int_equal(log->dets.rows.count, 2); /* DLOG(C) = {d1, d2}: both, not one of them twice (S-14) */
    assert_true(hark_det_is(hark_dets_find(j->core[DELTA], &at(j, DELTA)->pool, &log->dets, 1), ALPHA, 0, 1));
    assert_true(hark_det_is(hark_dets_find(j->core[DELTA], &at(j, DELTA)->pool, &log->dets, 2), GAMMA, 0, 1));
    take(j, DELTA, BETA);
    assert_int_equal(at(j, DELTA)->own.rows.count, 1); /* d3 = <beta, delta, 1, 1> */
    assert_true(hark_det_is(own(j, DELTA, 1), BETA, 0, 1));
    assert_int_equal(at(j, BETA)->own.loose, 2);
    idle(j, DELTA);
    settle(j, 0);
    assert_int_equal(at(j, BETA)->own.loose, 0); /* ACK: dets(B) is empty */
    send_to(j, BETA, ALPHA);
    assert_int_equal(hark_get16(j->wire[0].header + HARK_WIRE_HEAD), 0);
    job_free(j);
}

/* "Each sent message will be stored in msgLog until the following checkpoint stage": MLOG: A{m1}, C{m2}, B{m3} with teams of one. */
static void test_message_logs(void **state)
{
    struct job *j = before_m3();
    (void)state;
    send_to(j, BETA, DELTA);
    assert_int_equal(j->retained[ALPHA], 1);
    assert_int_equal(j->retained[BETA], 1);
    assert_int_equal(j->retained[GAMMA], 1);
    assert_int_equal(j->retained[DELTA], 0);
    job_free(j);
}

/* "Once all determinants have been received by Y, the messages bound to Y will be sent", and "the recovering processes
 * must deliver all replayed messages in the same order as before the crash": whatever order the network has. */
static void test_recovery_in_order(void **state)
{
    (void)state;
    for (int order = -1; order <= 1; order += 2) {
        struct job *j = before_m3();
        send_to(j, BETA, DELTA);
        settle(j, 0);
        take(j, DELTA, BETA);
        idle(j, DELTA);
        settle(j, 0);
        crash(j, BETA);
        assert_int_equal(at(j, BETA)->mode, HARK_SCMEL_COLLECT);
        assert_int_equal(j->replays, 0);
        settle(j, order);
        assert_int_equal(at(j, BETA)->mode, HARK_SCMEL_REPLAY);
        assert_int_equal(j->replays, 2);        /* m1 and m2, of alpha and gamma */
        assert_int_equal(j->inboxes[BETA], 1);  /* only d1 can be followed */
        take(j, BETA, ALPHA);
        take(j, BETA, GAMMA);
        assert_int_equal(at(j, BETA)->mode, HARK_SCMEL_NORMAL);
        send_to(j, BETA, DELTA); /* beta re-sends m3, ssn 1 */
        settle(j, order);
        assert_int_equal(j->discarded[DELTA], 1); /* delta has it (recv = 1) */
        assert_int_equal(j->inboxes[DELTA], 0);
        assert_int_equal(j->recovered, N);
        assert_int_equal(at(j, BETA)->own.loose, 0); /* delta holds both */
        job_free(j);
    }
}

/* "Y fails and rolls back, and during recovery Y does not send m to X. In that case, X would be orphan": before m3 nobody
 * can be. B fails, DLOG is empty, and either order is legal. */
static void test_no_dependence_no_order(void **state)
{
    struct job *j = before_m3();
    (void)state;
    crash(j, BETA);
    settle(j, -1);
    assert_int_equal(at(j, BETA)->mode, HARK_SCMEL_NORMAL);
    assert_int_equal(j->inboxes[BETA], 2);
    take(j, BETA, GAMMA);
    take(j, BETA, ALPHA);
    settle(j, 0);
    assert_int_equal(j->recovered, N);
    job_free(j);
}

/* Line 16: "NetSendDetAck(msg.dets, msg.sender)". As printed, lines 14-20 let a process acknowledge itself and lose the
 * only copy (S-4): a message to myself before m3 takes nothing along, and m3 still takes all three. */
static void test_self_message(void **state)
{
    struct job *j = before_m3();
    (void)state;
    send_to(j, BETA, BETA);
    assert_int_equal(hark_get16(j->wire[0].header + HARK_WIRE_HEAD), 0);
    settle(j, 0);
    take(j, BETA, BETA);
    idle(j, BETA);
    settle(j, 0);
    assert_int_equal(at(j, BETA)->own.loose, 3);
    send_to(j, BETA, DELTA);
    assert_int_equal(hark_get16(j->wire[0].header + HARK_WIRE_HEAD), 3);
    assert_int_equal(j->retained[BETA], 1);
    job_free(j);
}

/* "... an old message comes from a process Y has an incarnation number lower than the current incarnation number of Y. A
 * duplicate message is a message that has already been received. Both old and duplicate messages have to be suppressed." */
static void test_old_and_duplicate(void **state)
{
    struct job *j = before_m3();
    (void)state;
    send_to(j, BETA, DELTA); /* under way when beta fails */
    struct wire m3 = j->wire[0];
    j->wires = 0;
    crash(j, BETA);
    settle(j, 0);
    arrive(j, DELTA, &m3);
    assert_int_equal(j->discarded[DELTA], 1);
    assert_int_equal(j->inboxes[DELTA], 0);
    assert_null(hark_scmel_log(at(j, DELTA), BETA, false)); /* nor do its determinants count */
    job_free(j);
}

/* Definition 2: LOG(m) "contains all processes that have stored a copy of the determinant of m". Who fails is in it no
 * longer, which lines 19-21 forget: what W had acknowledged is loose again, and goes to the new W at once (S-5'). */
static void test_rearming(void **state)
{
    struct job *j = before_m3();
    (void)state;
    send_to(j, BETA, DELTA);
    settle(j, 0);
    idle(j, DELTA);
    settle(j, 0);
    assert_int_equal(at(j, BETA)->own.loose, 0);
    crash(j, DELTA);
    assert_int_equal(at(j, BETA)->own.loose, 2);
    settle(j, 0);
    assert_int_equal(at(j, BETA)->own.loose, 0);
    assert_int_equal(hark_scmel_log(at(j, DELTA), BETA, false)->dets.rows.count, 2);
    job_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_determinants), cmocka_unit_test(test_piggyback),
        cmocka_unit_test(test_message_logs), cmocka_unit_test(test_recovery_in_order),
        cmocka_unit_test(test_no_dependence_no_order), cmocka_unit_test(test_self_message),
        cmocka_unit_test(test_old_and_duplicate), cmocka_unit_test(test_rearming)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
