/* waiting.c: wait() sleeps, and wakes for a frame, for room, for wake() and when its time is over.
 */
#include "harness.h"

#include <pthread.h>
#include <sys/resource.h>

static void time_is_over(void **state)
{
    (void)state;
    struct job job;
    struct end e;
    job_begin(&job, 2);
    end_open(&e, &job, 0, 0);
    MUST(e.t->ops->wait(e.t, 0) >= 0);
    MUST(e.t->ops->wait(e.t, 1) >= 0); /* that it comes back is the test */
    end_close(&e);
    job_end(&job);
}

/* It gives the processor away: a voluntary context switch happens, soon or later. */
static void it_sleeps(void **state)
{
    (void)state;
    struct job job;
    struct end e;
    struct rusage before, after;
    job_begin(&job, 2);
    end_open(&e, &job, 0, 0);
    getrusage(RUSAGE_THREAD, &before);
    do {
        MUST(e.t->ops->wait(e.t, 5) >= 0);
        getrusage(RUSAGE_THREAD, &after);
    } while (after.ru_nvcsw == before.ru_nvcsw);
    end_close(&e);
    job_end(&job);
}

/* wake() before wait() is not lost; one wake(), one return. */
static void woken_before(void **state)
{
    (void)state;
    struct job job;
    struct end e;
    job_begin(&job, 2);
    end_open(&e, &job, 0, 0);
    for (int i = 0; i < 100; i++) {
        e.t->ops->wake(e.t);
        MUST(e.t->ops->wait(e.t, -1) >= 0);
    }
    end_close(&e);
    job_end(&job);
}

struct turns { /* two threads take turns; the turn is only moved by wake() and by frames */
    struct end *from, *to;
    pthread_mutex_t lock;
    int woken, want;
};

static void *wakes(void *argument)
{
    struct turns *turns = argument;
    for (;;) {
        pthread_mutex_lock(&turns->lock);
        bool over = turns->woken == turns->want;
        if (!over) turns->woken++;
        pthread_mutex_unlock(&turns->lock);
        if (over) return NULL;
        turns->to->t->ops->wake(turns->to->t);
    }
}

static void woken_from_a_thread(void **state)
{
    (void)state;
    struct job job;
    struct end e;
    pthread_t thread;
    job_begin(&job, 2);
    end_open(&e, &job, 0, 0);
    for (int round = 0; round < 200; round++) {
        struct turns turns = {NULL, &e, PTHREAD_MUTEX_INITIALIZER, 0, 1 + round % 3};
        MUST(pthread_create(&thread, NULL, wakes, &turns) == 0);
        for (bool over = false; !over;) { /* an early return is allowed, a lost wake() would hang */
            MUST(e.t->ops->wait(e.t, -1) >= 0);
            pthread_mutex_lock(&turns.lock);
            over = turns.woken > 0;
            pthread_mutex_unlock(&turns.lock);
        }
        MUST(pthread_join(thread, NULL) == 0);
    }
    end_close(&e);
    job_end(&job);
}

/* Waits without limit for each next frame, and sends one back: the other does the same. */
struct player {
    struct end *e;
    uint32_t other;
    uint64_t rounds, length;
    bool serves;
};

static void send_waiting(struct end *e, uint32_t to, uint64_t id, uint64_t length)
{
    struct parcel p;
    int status;
    parcel_make(&p, e, to, 0, id, 0, length);
    while ((status = parcel_send(&p, e)) == HARK_T_AGAIN) {
        end_poll(e);
        if ((status = parcel_send(&p, e)) != HARK_T_AGAIN) break;
        MUST(e->t->ops->wait(e->t, -1) >= 0); /* woken when it can go on */
        end_poll(e);
    }
    MUST(status == HARK_T_OK);
    parcel_free(&p);
}

static void *plays(void *argument)
{
    struct player *player = argument;
    struct end *e = player->e;
    for (uint64_t round = 0; round < player->rounds; round++) {
        if (player->serves) send_waiting(e, player->other, round, player->length);
        while (e->count <= round) {
            end_poll(e);
            if (e->count > round) break;
            MUST(e->t->ops->wait(e->t, -1) >= 0);
        }
        if (!player->serves) send_waiting(e, player->other, round, player->length);
    }
    while (!e->t->ops->drained(e->t)) {
        end_poll(e);
        e->t->ops->wait(e->t, 1);
    }
    return NULL;
}

static void ping_pong(uint64_t rounds, uint64_t length)
{
    struct job job;
    struct end e[2];
    pthread_t thread;
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    struct player one = {&e[0], 1, rounds, length, true}, two = {&e[1], 0, rounds, length, false};
    MUST(pthread_create(&thread, NULL, plays, &two) == 0);
    plays(&one);
    MUST(pthread_join(thread, NULL) == 0);
    MUST(e[0].count == rounds && e[1].count == rounds);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(&job);
}

static void woken_by_a_frame(void **state)
{
    (void)state;
    ping_pong(20000, 8);
}

/* 24 MiB fit into no buffer: both sides sleep now and then, one for room, one for more. */
static void woken_by_room(void **state)
{
    (void)state;
    ping_pong(3, 24 * MIB);
}

const struct CMUnitTest waiting_tests[] = {
    TEST(time_is_over),
    TEST(it_sleeps),
    TEST(woken_before),
    TEST(woken_from_a_thread),
    TEST(woken_by_a_frame),
    TEST(woken_by_room),
};
const size_t waiting_count = sizeof waiting_tests / sizeof *waiting_tests;
