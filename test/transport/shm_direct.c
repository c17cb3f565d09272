/* shm_direct.c: copies out of a sender's memory that the kernel refuses, or makes in part; a sender
 * that changes its mind meanwhile; and which way is chosen. The kernel's call is ours here. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shm/end.h"
#include "shm/shm.h"

#define LENGTH (64u * 1024)

ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long n,
    const struct iovec *there, unsigned long m, unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long n,
    const struct iovec *there, unsigned long m, unsigned long flags);

enum kernel { HONEST, FORBIDDEN, SHORT, OTHER_PROOF, WITHDRAWN };
static enum kernel kernel;
static unsigned calls;
static struct hark_transport *end[2];
static struct hark_outgoing out;
static uint8_t payload[LENGTH];
static char job[41];

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long n,
    const struct iovec *there, unsigned long m, unsigned long flags)
{
    calls++;
    if (kernel == FORBIDDEN) {
        errno = EPERM;
        return -1;
    }
    ssize_t got = __real_process_vm_readv(pid, here, n, there, m, flags);
    if (kernel == SHORT) return got - 1;
    if (kernel == OTHER_PROOF) ((uint8_t *)here[1].iov_base)[3] ^= 1;
    if (kernel == WITHDRAWN) hark_shm_transport.withdraw(end[0], &out);
    return got;
}

static uint8_t received[LENGTH];
static unsigned placed, arrived_count, broken_count;

static void *place(void *self, const struct hark_frame *frame)
{
    (void)self;
    assert_int_equal(frame->length, LENGTH);
    placed++;
    return received;
}

static void arrived(void *self, const struct hark_frame *frame, const void *at)
{
    (void)self;
    assert_ptr_equal(at, received);
    assert_int_equal(frame->length, LENGTH);
    arrived_count++;
}

static void broken(void *self, const struct hark_frame *frame, void *at)
{
    (void)self;
    (void)frame;
    assert_ptr_equal(at, received);
    broken_count++;
}

static int begin(void **state)
{
    (void)state;
    snprintf(job, sizeof job, "direct-%ld", (long)getpid());
    for (uint32_t i = 0; i < 2; i++) {
        struct hark_transport_config config = {
            .job = job, .me = i, .ranks = 2, .sink = {NULL, place, arrived, broken}};
        assert_int_equal(hark_shm_transport.open(&end[i], &config, NULL), HARK_T_OK);
    }
    kernel = HONEST;
    calls = placed = arrived_count = broken_count = 0;
    for (size_t i = 0; i < LENGTH; i++) payload[i] = (uint8_t)(i * 131 >> 3);
    memset(received, 0, sizeof received);
    return 0;
}

static int over(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) hark_shm_transport.close(end[i]);
    return 0;
}

static int poll_receiver(void)
{
    return hark_shm_transport.poll(end[1]);
}

static void offer(void)
{
    static const uint8_t header[] = "head";
    out = (struct hark_outgoing){
        .to = 1, .header = {header, 5}, .part = {{payload, LENGTH}}, .stays = true};
    assert_int_equal(hark_shm_transport.send(end[0], &out), HARK_T_AGAIN);
}

/* Sends it whichever way, and looks that it comes. */
static void send_whole(void)
{
    unsigned before = arrived_count;
    out.done = 0;
    int status = hark_shm_transport.send(end[0], &out);
    if (status == HARK_T_AGAIN) {
        assert_int_equal(poll_receiver(), 1);
        status = hark_shm_transport.send(end[0], &out);
    }
    assert_int_equal(status, HARK_T_OK);
    while (arrived_count == before) assert_true(poll_receiver() >= 0);
    assert_memory_equal(received, payload, LENGTH);
}

static void one_copy(void **state)
{
    (void)state;
    offer();
    assert_int_equal(hark_shm_transport.send(end[0], &out), HARK_T_AGAIN); /* not taken yet */
    assert_int_equal(poll_receiver(), 1);
    assert_int_equal(calls, 1);
    assert_int_equal(arrived_count, 1);
    assert_memory_equal(received, payload, LENGTH);
    assert_int_equal(hark_shm_transport.send(end[0], &out), HARK_T_OK);
}

/* What is taken already is nothing to sleep over: nobody would wake the sender again. */
static void taken_before_the_wait(void **state)
{
    (void)state;
    offer();
    assert_int_equal(poll_receiver(), 1);
    for (int i = 0; i < 5; i++) assert_int_equal(hark_shm_transport.wait(end[0], -1), HARK_T_OK);
    assert_int_equal(hark_shm_transport.send(end[0], &out), HARK_T_OK);
    assert_int_equal(((struct end *)end[0])->stalled, 0);
}

/* What cannot be copied goes through the ring, and so does all that follows. */
static void refused(void **state)
{
    (void)state;
    for (int how = FORBIDDEN; how <= OTHER_PROOF; how++) {
        kernel = (enum kernel)how;
        calls = placed = arrived_count = broken_count = 0;
        offer();
        assert_int_equal(poll_receiver(), 0);
        assert_int_equal(broken_count, 1);
        assert_int_equal(hark_shm_transport.send(end[0], &out), HARK_T_OK);
        memset(received, 0, sizeof received);
        assert_int_equal(poll_receiver(), 1);
        assert_int_equal(arrived_count, 1);
        assert_memory_equal(received, payload, LENGTH);
        for (int i = 0; i < 200; i++) send_whole();
        assert_int_equal(calls, 1);
        (void)over(state);
        (void)begin(state);
    }
}

/* The sender needs its memory while it is being copied: the copy may be torn, and is dropped. */
static void given_up_meanwhile(void **state)
{
    (void)state;
    kernel = WITHDRAWN;
    offer();
    assert_int_equal(poll_receiver(), 0);
    assert_int_equal(placed, 1);
    assert_int_equal(broken_count, 1);
    assert_int_equal(arrived_count, 0);
    kernel = HONEST;
    send_whole();
    assert_int_equal(arrived_count, 1);
}

static bool wanted = true;

static void *place_if_wanted(void *self, const struct hark_frame *frame)
{
    return wanted || !frame->offered ? place(self, frame) : NULL;
}

/* Nobody wants the payload, and its sender does something else: the receiver takes it before it
 * falls asleep, or after it has looked often. */
static void taken_at_last(void **state)
{
    for (int sleeps = 0; sleeps < 2; sleeps++) {
        struct end *e = (struct end *)end[1];
        e->sink.place = place_if_wanted;
        wanted = false;
        offer();
        assert_int_equal(poll_receiver(), 0);
        assert_int_equal(placed, 0);
        if (sleeps) {
            assert_int_equal(hark_shm_transport.wait(end[1], -1), HARK_T_OK);
            assert_int_equal(poll_receiver(), 1);
        } else {
            unsigned looks = 0;
            while (poll_receiver() == 0) assert_true(++looks < 1000);
            assert_true(looks > 10);
        }
        assert_memory_equal(received, payload, LENGTH);
        assert_int_equal(hark_shm_transport.send(end[0], &out), HARK_T_OK);
        offer(); /* the next one is put off again */
        assert_int_equal(poll_receiver(), 0);
        wanted = true;
        assert_int_equal(poll_receiver(), 1);
        assert_int_equal(hark_shm_transport.send(end[0], &out), HARK_T_OK);
        (void)over(state);
        (void)begin(state);
    }
}

/* The receiver closes while it may take a payload: nothing waits for it any more. */
static void receiver_closes(void **state)
{
    offer();
    hark_shm_transport.close(end[1]);
    struct end *e = (struct end *)end[0];
    int status = hark_shm_transport.send(end[0], &out);
    assert_true(status == HARK_T_EGONE || status == HARK_T_OK);
    assert_int_equal(e->offers, 0);
    assert_int_equal(e->stalled, 0);
    hark_shm_transport.close(end[0]);
    hark_shm_transport.sweep(job, NULL);
    (void)begin(state);
}

/* The ways are tried in turn, and then the faster one is taken; now and then the other one. */
static void the_faster_way(void **state)
{
    (void)state;
    struct direct_times times = {0};
    uint32_t prefers = 0;
    for (unsigned i = 0; i < DIRECT_SAMPLES; i++) {
        assert_int_equal(prefers, 0);
        prefers = direct_measured(&times, prefers, LENGTH, true, 5000);
    }
    for (unsigned i = 0; i < DIRECT_SAMPLES; i++) {
        assert_int_equal(prefers, 1);
        prefers = direct_measured(&times, prefers, LENGTH, false, 3300);
    }
    assert_int_equal(prefers, 1);
    for (unsigned i = 0; i < 20 && prefers; i++)
        prefers = direct_measured(&times, prefers, LENGTH, true, 4000);
    assert_int_equal(prefers, 0); /* for the sender works too where it is the ring */
    prefers = direct_measured(&times, prefers, LENGTH, true, UINT64_MAX); /* it did not run then */
    assert_int_equal(prefers, 0);
    for (unsigned i = 0; i < 2 * DIRECT_SAMPLES; i++) /* another length is judged by itself */
        prefers = direct_measured(
            &times, prefers, 16 * LENGTH, i < DIRECT_SAMPLES, i < DIRECT_SAMPLES ? 9000 : 5900);
    assert_int_equal(prefers, 1u << direct_class(16 * LENGTH));
    assert_int_equal(direct_class(DIRECT_LEAST + 1), 0);
    assert_int_equal(direct_class(LENGTH), 0);
    assert_int_equal(direct_class(LENGTH + 1), 1);
    assert_int_equal(direct_class(UINT64_MAX), DIRECT_CLASSES - 1);
}

/* A receiver that prefers the ring gets nearly all through it. */
static void as_preferred(void **state)
{
    (void)state;
    offer();
    assert_int_equal(poll_receiver(), 1);
    assert_int_equal(hark_shm_transport.send(end[0], &out), HARK_T_OK);
    struct end *e = (struct end *)end[0];
    for (unsigned i = 0; i < 10 * DIRECT_AGAIN; i++) {
        atomic_store(&e->out[1]->writer.ring->prefers, UINT64_MAX);
        assert_int_equal(hark_shm_transport.wait(end[0], 0), HARK_T_OK); /* it is not behind */
        send_whole();
    }
    assert_true(calls >= 8 && calls <= 12);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, over)
int main(void)
{
    const struct CMUnitTest tests[] = {TEST(one_copy), TEST(taken_before_the_wait), TEST(refused),
        TEST(given_up_meanwhile), TEST(taken_at_last), TEST(receiver_closes), TEST(the_faster_way),
        TEST(as_preferred)};
    alarm(120);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
