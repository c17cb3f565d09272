/* shm_sleep.c: whoever really sleeps is woken by room, by a frame, by wake(), by a receiver that
 * closes. That it sleeps is seen in its bell, so nothing here depends on time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shm/bell.h"
#include "shm/end.h"
#include "shm/shm.h"

static void *place(void *self, const struct hark_frame *frame)
{
    (void)self;
    (void)frame;
    return NULL;
}

static void arrived(void *self, const struct hark_frame *frame, const void *payload)
{
    (void)payload;
    (void)frame;
    (*(size_t *)self)++;
}

static void broken(void *self, const struct hark_frame *frame, void *payload)
{
    (void)self;
    (void)frame;
    (void)payload;
}

static char job[41];
static size_t count[2];

static struct hark_transport *open_rank(uint32_t me)
{
    struct hark_transport *t;
    snprintf(job, sizeof job, "sleep-%ld", (long)getpid());
    struct hark_transport_config config = {
        .job = job, .me = me, .ranks = 2, .sink = {&count[me], place, arrived, broken}};
    count[me] = 0;
    assert_int_equal(hark_shm_transport.open(&t, &config, NULL), HARK_T_OK);
    return t;
}

static int send(struct hark_transport *t, uint32_t to)
{
    static const uint8_t zeros[20000];
    struct hark_outgoing out = {.to = to, .header = {zeros, 1}, .part = {{zeros, sizeof zeros}}};
    return hark_shm_transport.send(t, &out);
}

static void *sleeps(void *t)
{
    return (void *)(intptr_t)hark_shm_transport.wait(t, -1);
}

/* Sends the owner to sleep in another thread; returns when its bell says so. */
static pthread_t to_bed(struct hark_transport *t, uint32_t me, struct bell **bell)
{
    pthread_t thread;
    *bell = bell_open(job, (struct process){me, 0}, 2, false);
    assert_non_null(*bell);
    assert_int_equal(pthread_create(&thread, NULL, sleeps, t), 0);
    while (atomic_load(&(*bell)->asleep) == 0) sched_yield();
    return thread;
}

static void up(pthread_t thread, struct bell *bell)
{
    void *status;
    assert_int_equal(pthread_join(thread, &status), 0); /* or hangs */
    assert_null(status);
    assert_int_equal(atomic_load(&bell->asleep), 0);
    bell_unmap(bell, 2);
}

static void by_room(void **state)
{
    (void)state;
    struct hark_transport *t[2] = {open_rank(0), open_rank(1)};
    struct bell *bell;
    while (send(t[0], 1) == HARK_T_OK) {
    }
    pthread_t thread = to_bed(t[0], 0, &bell);
    while (hark_shm_transport.poll(t[1]) > 0) {
    }
    up(thread, bell);
    assert_int_equal(send(t[0], 1), HARK_T_OK);
    for (int i = 0; i < 2; i++) hark_shm_transport.close(t[i]);
}

static void by_a_frame(void **state)
{
    (void)state;
    struct hark_transport *t[2] = {open_rank(0), open_rank(1)};
    struct bell *bell;
    for (int i = 0; i < 3; i++) { /* the first one also brings the ring */
        pthread_t thread = to_bed(t[1], 1, &bell);
        assert_int_equal(send(t[0], 1), HARK_T_OK);
        up(thread, bell);
        while (count[1] == (size_t)i) hark_shm_transport.poll(t[1]);
    }
    for (int i = 0; i < 2; i++) hark_shm_transport.close(t[i]);
}

static void by_wake(void **state)
{
    (void)state;
    struct hark_transport *t = open_rank(0);
    struct bell *bell;
    pthread_t thread = to_bed(t, 0, &bell);
    hark_shm_transport.wake(t);
    up(thread, bell);
    hark_shm_transport.close(t);
}

static void by_a_receiver_that_closes(void **state)
{
    (void)state;
    struct hark_transport *t[2] = {open_rank(0), open_rank(1)};
    struct bell *bell;
    while (send(t[0], 1) == HARK_T_OK) {
    }
    pthread_t thread = to_bed(t[0], 0, &bell);
    hark_shm_transport.close(t[1]);
    up(thread, bell);
    assert_int_equal(send(t[0], 1), HARK_T_EGONE);
    hark_shm_transport.close(t[0]);
}

/* A waker that dies after counting and before waking leaves the bell so that the next one wakes. */
static void after_a_dead_waker(void **state)
{
    (void)state;
    struct hark_transport *t[2] = {open_rank(0), open_rank(1)};
    struct bell *bell;
    pthread_t thread = to_bed(t[1], 1, &bell);
    atomic_fetch_add(&bell->count, 1);
    assert_int_equal(send(t[0], 1), HARK_T_OK);
    up(thread, bell);
    for (int i = 0; i < 2; i++) hark_shm_transport.close(t[i]);
}

/* Whoever works need not fence if it and the other both take part in the kernel's barriers; if one
 * of them does not, it must: else they may miss each other, now and then. */
static void who_fences(void **state)
{
    (void)state;
    static const uint32_t ways[] = {BELL_BARRIER, BELL_FENCE};
    for (int i = 0; i < 4; i++) {
        struct hark_transport *t[2] = {open_rank(0), open_rank(1)};
        const bool must = i > 0;
        for (uint32_t k = 0; k < 2; k++) { /* as if that were what the kernel had said */
            struct end *e = (struct end *)t[k];
            e->opened = ways[i >> k & 1];
            atomic_store(&e->bell->opened, e->opened);
        }
        assert_int_equal(send(t[0], 1), HARK_T_OK);
        while (count[1] == 0) hark_shm_transport.poll(t[1]);
        assert_int_equal(((struct end *)t[0])->out[1]->fence, must);
        assert_int_equal(((struct end *)t[1])->in[0]->fence, must);
        for (int k = 0; k < 2; k++) hark_shm_transport.close(t[k]);
    }
}

/* Called between the last look and falling asleep: the program is linked with --wrap=syscall. */
static void (*before_sleep)(void);
static unsigned sleeps_begun;
static struct hark_transport *ends[2];
long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (number == SYS_futex && b == FUTEX_WAIT) {
        void (*now)(void) = before_sleep;
        before_sleep = NULL;
        sleeps_begun++;
        if (now) now();
    }
    return __real_syscall(number, a, b, c, d, e, f);
}

/* A frame comes, and who sends it has not seen that we sleep. */
static void frame_without_ringing(void)
{
    static struct bell deaf;
    struct out *out = ((struct end *)ends[0])->out[1];
    struct bell *bell = out->bell;
    out->bell = &deaf;
    assert_int_equal(send(ends[0], 1), HARK_T_OK);
    out->bell = bell;
}

/* There is room, and who has made it has not seen that we wait for it. */
static void room_without_ringing(void)
{
    struct in *in = ((struct end *)ends[1])->in[0];
    struct bell *bell = in->bell;
    in->bell = NULL;
    while (hark_shm_transport.poll(ends[1]) > 0) {
    }
    in->bell = bell;
}

/* If both have missed each other, as after a barrier that passed by a processor, we wake all the
 * same; and a sleep that nothing ends is not cut into pieces for that. */
static void by_a_second_look(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) ends[k] = open_rank((uint32_t)k);
    assert_int_equal(send(ends[0], 1), HARK_T_OK);
    while (count[1] == 0) hark_shm_transport.poll(ends[1]);
    before_sleep = frame_without_ringing;
    while (before_sleep) assert_int_equal(hark_shm_transport.wait(ends[1], -1), HARK_T_OK);
    while (count[1] == 1) hark_shm_transport.poll(ends[1]);
    while (send(ends[0], 1) == HARK_T_OK) {
    }
    before_sleep = room_without_ringing;
    while (before_sleep) assert_int_equal(hark_shm_transport.wait(ends[0], -1), HARK_T_OK);
    assert_int_equal(send(ends[0], 1), HARK_T_OK);
    while (hark_shm_transport.poll(ends[1]) > 0) {
    }
    sleeps_begun = 0;
    while (sleeps_begun == 0) assert_int_equal(hark_shm_transport.wait(ends[1], 20), HARK_T_OK);
    assert_true(sleeps_begun <= 2);
    for (int k = 0; k < 2; k++) hark_shm_transport.close(ends[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_room),
        cmocka_unit_test(by_a_frame),
        cmocka_unit_test(by_wake),
        cmocka_unit_test(by_a_receiver_that_closes),
        cmocka_unit_test(after_a_dead_waker),
        cmocka_unit_test(who_fences),
        cmocka_unit_test(by_a_second_look),
    };
    alarm(120);
    return cmocka_run_group_tests_name("shm sleep", tests, NULL, NULL);
}
