/* incarnations.c: frames reach the incarnation they were sent to, or nobody. */
#include "harness.h"

/* Frames for an incarnation that has not opened yet are kept for it. */
static void kept_for_the_unborn(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    job_begin(&job, 2);
    end_open(&e[0], &job, 0, 0);
    e[1].t = NULL;
    MUST(e[0].t->ops->peer(e[0].t, 1, 3, NULL) == HARK_T_OK);
    for (uint64_t i = 0; i < 5; i++) {
        struct parcel p;
        parcel_make(&p, &e[0], 1, 3, i, 0, 100 * i);
        MUST(parcel_send(&p, &e[0]) == HARK_T_OK); /* a few small ones find room without anybody
                                                      there */
        parcel_free(&p);
        end_poll(&e[0]);
    }
    end_open(&e[1], &job, 1, 3);
    ends_meet(e, 2);
    until_count(&e[1], 5, e, 2);
    for (uint64_t i = 0; i < 5; i++) MUST(end_heard(&e[1], i) == 1);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(&job);
}

/* The same for one larger than what anybody keeps: it goes on when the other is there. */
static void large_for_the_unborn(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    struct parcel p;
    job_begin(&job, 2);
    end_open(&e[0], &job, 0, 0);
    MUST(e[0].t->ops->peer(e[0].t, 1, 0, NULL) == HARK_T_OK);
    parcel_make(&p, &e[0], 1, 0, 7, 0, 20 * MIB);
    int status = parcel_send(&p, &e[0]);
    MUST(status == HARK_T_AGAIN || status == HARK_T_OK);
    end_open(&e[1], &job, 1, 0);
    ends_meet(e, 2);
    while (status == HARK_T_AGAIN) {
        ends_poll(e, 2);
        status = parcel_send(&p, &e[0]);
    }
    MUST(status == HARK_T_OK);
    parcel_free(&p);
    until_count(&e[1], 1, e, 2);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(&job);
}

/* peer() with a newer incarnation: what waits for the older one is dropped, a half-sent frame
 * answers EGONE, and nothing of it reaches the newer one. */
static void newer_incarnation(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    struct parcel half, old, late;
    job_begin(&job, 2);
    end_open(&e[0], &job, 0, 0);
    MUST(e[0].t->ops->peer(e[0].t, 1, 0, NULL) == HARK_T_OK);
    for (uint64_t i = 0; i < 4; i++) {
        parcel_make(&old, &e[0], 1, 0, i, 0, 50);
        MUST(parcel_send(&old, &e[0]) == HARK_T_OK);
        parcel_free(&old);
    }
    parcel_make(&half, &e[0], 1, 0, 5, 0, 20 * MIB);
    int status = parcel_send(&half, &e[0]);
    MUST(status == HARK_T_AGAIN || status == HARK_T_OK);
    MUST(e[0].t->ops->peer(e[0].t, 1, 1, NULL) == HARK_T_OK);
    if (status == HARK_T_AGAIN) MUST(parcel_send(&half, &e[0]) == HARK_T_EGONE);
    parcel_make(&late, &e[0], 1, 0, 6, 0, 50);
    MUST(parcel_send(&late, &e[0]) == HARK_T_EGONE);
    parcel_free(&half);
    parcel_free(&late);
    send_wholly(&e[0], 1, 1, 100, 0, 5000, e, 1);
    end_open(&e[1], &job, 1, 1);
    ends_meet(e, 2);
    send_wholly(&e[0], 1, 1, 101, 0, 3 * MIB, e, 2);
    until_count(&e[1], 2, e, 2);
    for (int i = 0; i < 100; i++) ends_poll(e, 2);
    MUST(e[1].count == 2 && end_heard(&e[1], 100) == 1 && end_heard(&e[1], 101) == 1);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(&job);
}

/* An end closes and comes back as the next incarnation, several times, also changing who spoke
 * last. */
static void generations(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    for (uint32_t inc = 1; inc < 8; inc++) {
        uint32_t who = inc % 2;
        send_wholly(&e[0], 1, e[1].inc, inc * 10, 0, 70000, e, 2);
        send_wholly(&e[1], 0, e[0].inc, inc * 10, 0, 70, e, 2);
        end_close(&e[who]); /* whether those two arrive is left open */
        end_open(&e[who], &job, who, e[who].inc + 1);
        ends_meet(e, 2);
        send_wholly(&e[1 - who], who, e[who].inc, inc * 10 + 1, 0, 90000, e, 2);
        send_wholly(&e[who], 1 - who, e[1 - who].inc, inc * 10 + 2, 0, 900, e, 2);
        until_count(&e[who], 1, e, 2);
        MUST(end_heard(&e[who], inc * 10 + 1) == 1);
        while (end_heard(&e[1 - who], inc * 10 + 2) == 0) ends_poll(e, 2);
        while (e[1 - who].open_places > 0) ends_poll(e, 2); /* each ends in arrived() or broken() */
        for (size_t i = 0; i < e[1 - who].count; i++)
            MUST(end_heard(&e[1 - who], e[1 - who].got[i].id) == 1);
    }
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(&job);
}

/* The writer of a half-sent frame closes and comes back: the reader gets broken() if it had given a
 * place, and never the frame. */
static void half_a_frame(void **state)
{
    (void)state;
    for (unsigned polls = 0; polls < 6; polls++) {
        struct job job;
        struct end e[2];
        struct parcel p;
        job_begin(&job, 2);
        for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
        ends_meet(e, 2);
        send_wholly(&e[0], 1, 0, 1, 0, 10, e, 2);
        until_count(&e[1], 1, e, 2);
        parcel_make(&p, &e[0], 1, 0, 2, 0, 40 * MIB);
        int status = parcel_send(&p, &e[0]);
        for (unsigned i = 0; i < polls && status == HARK_T_AGAIN; i++) {
            end_poll(&e[1]);
            status = parcel_send(&p, &e[0]);
        }
        end_close(&e[0]);
        parcel_free(&p);
        bool whole = status == HARK_T_OK; /* a transport may be that quick */
        end_open(&e[0], &job, 0, 1);
        ends_meet(e, 2);
        send_wholly(&e[0], 1, 0, 3, 0, 10, e, 2);
        while (end_heard(&e[1], 3) == 0 || e[1].open_places > 0) ends_poll(e, 2);
        MUST(whole || end_heard(&e[1], 2) == 0);
        MUST(e[1].broken == e[1].placed - end_heard(&e[1], 2));
        for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
        job_end(&job);
    }
}

const struct CMUnitTest incarnations_tests[] = {
    TEST(kept_for_the_unborn),
    TEST(large_for_the_unborn),
    TEST(newer_incarnation),
    TEST(generations),
    TEST(half_a_frame),
};
const size_t incarnations_count = sizeof incarnations_tests / sizeof *incarnations_tests;
