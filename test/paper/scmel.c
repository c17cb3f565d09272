/* Simple causal message logging, claim by claim: the team paper's Figure 2 in numbers, and
 * section 2.3 of CAMEL.
 *
 * Figure 2: objects alpha, beta, gamma, delta; m1: alpha->beta, m2: gamma->beta, m3: beta->delta.
 * Every object is a process of its own here: alpha 0, beta 1, gamma 2, delta 3. "#m = <sender,
 * recver, ssn, rsn>".
 */
#include "job.h"

enum { ALPHA, BETA, GAMMA, DELTA, N };

static struct job *job_make(void)
{
    struct job *j = job_new("scmel", N);
    for (uint32_t i = 0; i < N; i++) core_make(j, i);
    return j;
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

/* "Upon reception of a message m, a process associates the sender of m and its ssn with the
 * corresponding rsn and stores that mapping into rsnMap." "The determinant created as the result of
 * a message reception is temporarily stored in detBuf". */
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

/* "... and it will be piggybacked in the next outgoing messages, until an acknowledgment has been
 * received. At that point, the determinant can be removed from detBuf." And once it is, later
 * messages are free of it. */
static void test_piggyback(void **state)
{
    struct job *j = before_m3();
    (void)state;
    send_to(j, BETA, DELTA);
    assert_int_equal(hark_get16(j->wire[0].header + HARK_WIRE_HEAD), 2); /* m3 carries {d1, d2} */
    settle(j, 0);
    struct hark_scmel_log *log = hark_scmel_log(at(j, DELTA), BETA, false);
    assert_non_null(log);
    assert_int_equal(log->dets.rows.count, 2); /* DLOG(C) = {d1, d2}: both, not one of them twice
                                                  (S-14) */
    assert_true(hark_det_is(
        hark_dets_find(j->core[DELTA], &at(j, DELTA)->pool, &log->dets, 1), ALPHA, 0, 1));
    assert_true(hark_det_is(
        hark_dets_find(j->core[DELTA], &at(j, DELTA)->pool, &log->dets, 2), GAMMA, 0, 1));
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

/* "Each sent message will be stored in msgLog until the following checkpoint stage": MLOG: A{m1},
 * C{m2}, B{m3} with teams of one. */
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

/* "Once all determinants have been received by Y, the messages bound to Y will be sent", and "the
 * recovering processes must deliver all replayed messages in the same order as before the crash":
 * whatever order the network has. */
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
        assert_int_equal(j->replays, 2);       /* m1 and m2, of alpha and gamma */
        assert_int_equal(j->inboxes[BETA], 1); /* only d1 can be followed */
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

/* "Y fails and rolls back, and during recovery Y does not send m to X. In that case, X would be
 * orphan": before m3 nobody can be. B fails, DLOG is empty, and either order is legal. */
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

/* Line 16: "NetSendDetAck(msg.dets, msg.sender)". As printed, lines 14-20 let a process acknowledge
 * itself and lose the only copy (S-4): a message to myself before m3 takes nothing along, and m3
 * still takes all three. */
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

/* "... an old message comes from a process Y has an incarnation number lower than the current
 * incarnation number of Y. A duplicate message is a message that has already been received. Both
 * old and duplicate messages have to be suppressed." */
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

/* Definition 2: LOG(m) "contains all processes that have stored a copy of the determinant of m".
 * Who fails is in it no longer, which lines 19-21 forget: what W had acknowledged is loose again,
 * and goes to the new W at once (S-5). */
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_determinants),
        cmocka_unit_test(test_piggyback), cmocka_unit_test(test_message_logs),
        cmocka_unit_test(test_recovery_in_order), cmocka_unit_test(test_no_dependence_no_order),
        cmocka_unit_test(test_self_message), cmocka_unit_test(test_old_and_duplicate),
        cmocka_unit_test(test_rearming)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
