/* news.c: a transport that hears of a newer incarnation, while a frame of the older one is half
 * there, gives it up at once. (One that imitates a network may still bring the rest.) */
#include "harness.h"

#include <sys/resource.h>

/* A frame is half there when its sender is heard to be another incarnation, and yet another: the
 * sink is told once, with the next poll, and then nothing is left to do. */
static void half_a_frame_and_news(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    struct parcel p;
    struct rusage before, after;
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    parcel_make(&p, &e[0], 1, 0, 2, 0, 40 * MIB);
    int status = parcel_send(&p, &e[0]);
    while (status == HARK_T_AGAIN && e[1].open_places == 0) {
        ends_poll(e, 2);
        if (e[1].open_places == 0) status = parcel_send(&p, &e[0]);
    }
    MUST(status == HARK_T_OK || e[1].open_places == 1);
    size_t open = e[1].open_places;
    for (uint32_t inc = 1; inc < 4; inc++)
        MUST(e[1].t->ops->peer(e[1].t, 0, inc, NULL) == HARK_T_OK);
    MUST(e[1].broken == 0); /* not but within poll() */
    end_poll(&e[1]);
    MUST(e[1].broken == open && e[1].open_places == 0);
    bool slept = false;
    for (int i = 0; i < 1000 && !slept; i++) { /* it gives the processor away, at least once of so
                                                  many times */
        getrusage(RUSAGE_THREAD, &before);
        MUST(e[1].t->ops->wait(e[1].t, 1) >= 0);
        getrusage(RUSAGE_THREAD, &after);
        slept = after.ru_nvcsw > before.ru_nvcsw;
        end_poll(&e[1]);
    }
    MUST(slept && e[1].broken == open);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    parcel_free(&p);
    job_end(&job);
}

/* place() itself may be where the news come from: it sends to a newer incarnation of the sender. */
static void send_to_newer(struct end *e, const struct label *label)
{
    struct parcel p;
    parcel_make(&p, e, label->from, label->from_inc + 1, 77, 0, 10);
    MUST(parcel_send(&p, e) == HARK_T_OK);
    parcel_free(&p);
}

static void news_while_placing(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    struct parcel p;
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    e[1].on_placed = send_to_newer;
    parcel_make(&p, &e[0], 1, 0, 2, 0, 40 * MIB);
    int status = parcel_send(&p, &e[0]);
    while (status == HARK_T_AGAIN && e[1].placed == 0) {
        ends_poll(e, 2);
        if (e[1].placed == 0) status = parcel_send(&p, &e[0]);
    }
    end_poll(&e[1]);
    MUST(e[1].open_places == 0); /* broken, or whole at once */
    MUST(e[1].broken == 0 || end_heard(&e[1], 2) == 0);
    e[1].on_placed = NULL;
    end_close(&e[0]);
    parcel_free(&p);
    end_open(&e[0], &job, 0, 1);
    ends_meet(e, 2);
    send_wholly(&e[0], 1, 0, 3, 0, 3 * MIB, e, 2);
    while (end_heard(&e[1], 3) == 0 || (e[1].broken > 0 && e[0].count == 0)) ends_poll(e, 2);
    MUST(e[1].broken == 0 || end_heard(&e[0], 77) == 1);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(&job);
}

const struct CMUnitTest news_tests[] = {TEST(half_a_frame_and_news), TEST(news_while_placing)};
const size_t news_count = sizeof news_tests / sizeof *news_tests;
