/* Teams, claim by claim: Figure 2 in numbers, with every process its own team and with the teams
 * {A,B},{C}; and what is lost when B, or all of its team, dies.
 *
 * Figure 2: objects alpha on A, beta on B, gamma and delta on C; m1: alpha->beta, m2: gamma->beta,
 * m3: beta->delta. d1 = <alpha, beta, 1, 1>, d2 = <gamma, beta, 1, 2>.
 */
#include "job.h"

enum { A, B, C, N, KEPT = 1 << 14 };

/* {A,B},{C}, or each its own. */
static struct job *job_make(bool teams, uint32_t flags)
{
    static const struct hark_range team = {A, B};
    struct job *j = job_new("team", N);
    for (uint32_t i = 0; i < N; i++) {
        j->config[i].flags = flags;
        j->config[i].cluster = &team;
        j->config[i].cluster_count = teams && i != C;
        core_make(j, i);
    }
    return j;
}

/* `rank` dies, and with it `also`, unless that is N; who else is of a team with them goes back with
 * what it knows. */
static void crash_team(struct job *j, uint32_t rank, uint32_t also)
{
    static uint8_t kept[KEPT];
    const bool teams = j->config[rank].cluster_count != 0;
    uint32_t down[N], count = 0;
    for (uint32_t i = 0; i < N; i++)
        if (i == rank || i == also || (teams && i != C)) down[count++] = i;
    struct hark_event e = failed(j, down, count);
    for (uint32_t d = 0; d < count; d++) {
        uint32_t i = down[d];
        struct hark_bytes knows = {NULL, 0};
        if (i != rank && i != also) {
            step(j, i, e, NULL, NULL);
            assert_true(j->back[i]);
            knows = (struct hark_bytes){
                kept, (uint32_t)hark_pack(j->core[i], &hark_team_shape, kept, KEPT)};
            assert_true(knows.length <= KEPT);
        }
        restart(j, i, knows);
    }
    announce(j, e);
}

/* m1 and m2 have been delivered in this order; m3 not sent. */
static struct job *before_m3(bool teams, uint32_t flags)
{
    struct job *j = job_make(teams, flags);
    send_to(j, A, B);
    send_to(j, C, B);
    settle(j, 0);
    take(j, B, A);
    take(j, B, C);
    return j;
}

/* And m3 has been delivered, and its determinants acknowledged. */
static struct job *after_m3(bool teams, uint32_t flags)
{
    struct job *j = before_m3(teams, flags);
    send_to(j, B, C);
    settle(j, 0);
    take(j, C, B);
    idle(j, C);
    settle(j, 0);
    return j;
}

static uint32_t dlog(struct job *j, uint32_t who, uint32_t creator)
{
    const struct hark_scmel_log *log = hark_scmel_log(at(j, who), creator, false);
    return log ? log->dets.rows.count : 0;
}

/* How many messages MLOG(from) has for `to`. */
static uint64_t mlog(struct job *j, uint32_t from, uint32_t to)
{
    const struct hark_scmel_channel *c =
        (const struct hark_scmel_channel *)(const void *)hark_channel_find(
            j->core[from], &at(j, from)->endpoint, to, 0);
    return c ? c->channel.sent + 1 - c->first : 0;
}

static void check_took(struct job *j, uint64_t rsn, uint32_t from)
{
    const uint64_t *row = hark_dets_find(j->core[B], &at(j, B)->pool, &at(j, B)->own, rsn);
    assert_non_null(row);
    assert_true(hark_det_is(row, from, 0, 1));
}

/* "when beta sends m_3 it has to piggyback the two determinants"; "Once delta receives m_3 and
 * determinants d_1 and d_2, it will return an ACK message to beta for it to stop piggybacking those
 * two determinants." */
static void test_determinants(void **state)
{
    (void)state;
    for (int teams = 0; teams < 2; teams++) {
        struct job *j = before_m3(teams, 0);
        assert_int_equal(at(j, B)->own.loose, 2); /* dets(B) = {d1, d2} */
        check_took(j, 1, A);
        check_took(j, 2, C);
        for (uint32_t i = 0; i < N; i++) assert_int_equal(dlog(j, i, B), 0);
        send_to(j, B, C);
        assert_int_equal(hark_get16(j->wire[j->wires - 1].header + HARK_WIRE_HEAD), 2); /* m3 + {d1,
                                                                                           d2} */
        settle(j, 0);
        assert_int_equal(dlog(j, C, B), 2);
        take(j, C, B);
        assert_int_equal(at(j, C)->own.loose, 1); /* d3 */
        assert_int_equal(at(j, B)->own.loose, 2);
        idle(j, C);
        settle(j, 0);
        assert_int_equal(at(j, B)->own.loose, 0);
        assert_int_equal(dlog(j, A, B), 0);
        job_free(j);
    }
}

/* "only messages across teams must be logged": MLOG is A{m1}, C{m2}, B{m3} with singleton teams,
 * A{}, C{m2}, B{m3} with {A,B}. */
static void test_message_log(void **state)
{
    (void)state;
    for (int teams = 0; teams < 2; teams++) {
        struct job *j = after_m3(teams, 0);
        assert_int_equal(mlog(j, A, B), teams ? 0 : 1);
        assert_int_equal(mlog(j, C, B), 1);
        assert_int_equal(mlog(j, B, C), 1);
        assert_int_equal(j->retained[A], teams ? 0 : 1);
        assert_int_equal(j->retained[B], 1);
        assert_int_equal(j->retained[C], 1);
        job_free(j);
    }
}

/* "if a PE of any team fails, all PEs in the team must roll back and restart", and "others can
 * continue work without interruption". B fails after the acknowledgement: C has {d1, d2}; m1 and m2
 * come in any order and are delivered m1 first; m3 is sent again, and delta, which has it, drops
 * it. In a team m1 is not in a log: alpha goes back too and sends it again. */
static void test_failure(void **state)
{
    (void)state;
    for (int teams = 0; teams < 2; teams++)
        for (int order = -1; order <= 0; order++) {
            struct job *j = after_m3(teams, 0);
            crash_team(j, B, N);
            assert_int_equal(j->back[A], teams);
            settle(j, 0);
            assert_int_equal(at(j, B)->mode, HARK_SCMEL_REPLAY);
            check_took(j, 1, A);
            check_took(j, 2, C);
            assert_int_equal(j->inboxes[B], teams ? 0 : 1); /* m2 is here, and waits */
            if (teams) send_to(j, A, B);
            settle(j, order);
            assert_int_equal(j->inboxes[B], 1);
            take(j, B, A);
            settle(j, order);
            take(j, B, C);
            settle(j, order);
            assert_int_equal(at(j, B)->mode, HARK_SCMEL_NORMAL);
            uint32_t dropped = j->discarded[C];
            send_to(j, B, C);
            settle(j, order);
            assert_int_equal(j->discarded[C], dropped + 1);
            assert_int_equal(j->inboxes[C], 0);
            assert_int_equal(j->recovered, N);
            job_free(j);
        }
}

/* "the reason to save non-deterministic events on a given object is because other objects may
 * depend on them". B fails before m3: nobody knows an order, and nobody depends on one: either will
 * do. */
static void test_no_order(void **state)
{
    (void)state;
    for (uint32_t first = A; first <= C; first += C) {
        struct job *j = before_m3(true, 0);
        crash_team(j, B, N);
        settle(j, 0);
        send_to(j, A, B);
        settle(j, 0);
        assert_int_equal(at(j, B)->own.top, 0);
        take(j, B, first);
        take(j, B, first == A ? C : A);
        check_took(j, 1, first);
        assert_int_equal(at(j, B)->mode, HARK_SCMEL_NORMAL);
        job_free(j);
    }
}

/* A goes back for B's sake, and what it has taken itself is not forgotten: it is told nobody, and
 * yet followed. */
static void test_survivor(void **state)
{
    struct job *j = job_make(true, 0);
    (void)state;
    send_to(j, B, A);
    send_to(j, C, A);
    settle(j, 0);
    take(j, A, C);
    take(j, A, B);
    crash_team(j, B, N);
    settle(j, 0);
    assert_int_equal(at(j, A)->own.top, 2);
    send_to(j, B, A);
    settle(j, 0);
    assert_int_equal(j->inboxes[A], 1);
    take(j, A, C); /* again the first */
    settle(j, 0);
    take(j, A, B);
    job_free(j);
}

/* A determinant that only a mate holds: T-b counts it, and it outlasts the failure of B. */
static void test_mate_holds(void **state)
{
    struct job *j = before_m3(true, 0);
    (void)state;
    send_to(j, B, A);
    settle(j, 0);
    idle(j, A);
    settle(j, 0);
    assert_int_equal(at(j, B)->own.loose, 0);
    assert_int_equal(dlog(j, A, B), 2);
    crash_team(j, B, N);
    settle(j, 0);
    assert_int_equal(dlog(j, A, B), 2); /* the image of A is its beginning */
    check_took(j, 1, A);
    check_took(j, 2, C);
    job_free(j);
}

/* T-a: it does not count where the team may be lost, and A passes it on to those outside; then it
 * outlasts both. */
static void test_team_lost(void **state)
{
    struct job *j = before_m3(true, HARK_TEAM_LOST);
    (void)state;
    send_to(j, B, A);
    settle(j, 0);
    idle(j, A);
    settle(j, 0);
    assert_int_equal(at(j, B)->own.loose, 2);
    assert_int_equal(dlog(j, A, B), 2);
    send_to(j, A, C);
    settle(j, 0);
    assert_int_equal(dlog(j, C, B), 2);
    crash_team(j, B, A);
    settle(j, 0);
    assert_int_equal(dlog(j, A, B), 0);
    check_took(j, 1, A);
    check_took(j, 2, C);
    job_free(j);
}

/* S-4: a message of beta to itself makes nothing stable. */
static void test_self(void **state)
{
    struct job *j = before_m3(true, 0);
    (void)state;
    send_to(j, B, B);
    settle(j, 0);
    take(j, B, B);
    idle(j, B);
    settle(j, 0);
    assert_int_equal(at(j, B)->own.loose, 3);
    send_to(j, B, C);
    assert_int_equal(hark_get16(j->wire[j->wires - 1].header + HARK_WIRE_HEAD), 3);
    job_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_determinants),
        cmocka_unit_test(test_message_log), cmocka_unit_test(test_failure),
        cmocka_unit_test(test_no_order), cmocka_unit_test(test_survivor),
        cmocka_unit_test(test_mate_holds), cmocka_unit_test(test_team_lost),
        cmocka_unit_test(test_self)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
