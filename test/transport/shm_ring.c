/* shm_ring.c: a ring between two threads that share one mapping. Between processes a race detector
 * sees two unrelated pieces of memory; here it sees every access of both ends. */
#include "harness.h"
#include "shm/bell.h"
#include "shm/ring.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct process writer_is = {1, 2}, reader_is = {3, 4};

static void names(struct segment_name *name)
{
    char job[41];
    snprintf(job, sizeof job, "ring-%ld", (long)getpid());
    segment_ring_name(name, job, writer_is, reader_is);
}

static void open_ring(struct ring_writer *w, struct ring_reader *r)
{
    struct segment_name name;
    names(&name);
    assert_int_equal(ring_make(w, &name, writer_is, reader_is, RING_SIZE_MIN), RING_OK);
    segment_remove(&name);
    *r = (struct ring_reader){w->ring, w->data, w->size, 0, 0};
}

static uint64_t length_of(uint64_t i)
{
    uint64_t dice = (i * 0x9e3779b97f4a7c15u) >> 33;
    switch (dice % 8) {
    case 0: return dice % RING_CHUNK;
    case 1: return RING_CHUNK - dice % 200;
    case 2: return HARK_HEADER_MAX + RING_MIN_PART - dice % 100;
    default: return dice % 300;
    }
}

enum { RECORDS = 60000 };

static void *writes(void *argument)
{
    struct ring_writer *w = argument;
    for (uint64_t i = 0; i < RECORDS; i++) {
        struct ring_record *record = NULL;
        uint64_t bytes = length_of(i);
        uint32_t kind = i % 3 && bytes <= RING_CHUNK ? RING_REST : RING_FIRST;
        uint64_t need = ring_need(kind, bytes);
        if ((w->tail & (w->size - 1)) >= w->rewind) ring_rewind(w, bytes);
        while (ring_reserve(w, need, &record) != RING_OK) sched_yield();
        record->header = (uint32_t)i;
        record->payload = ~i;
        memset((uint8_t *)record + (kind == RING_REST ? RING_LINE : sizeof *record), (int)(i & 255),
            (size_t)bytes);
        ring_publish(w, record, need, kind, bytes);
    }
    return NULL;
}

static void *reads(void *argument)
{
    struct ring_reader *r = argument;
    for (uint64_t i = 0; i < RECORDS; i++) {
        struct ring_read read = {0};
        int status;
        while ((status = ring_next(r, &read)) == RING_EMPTY || read.kind == RING_SKIP)
            if (status == RING_OK) ring_done(r, &read);
            else sched_yield();
        const uint8_t *at = (const uint8_t *)read.record +
                            (read.kind == RING_REST ? RING_LINE : sizeof *read.record);
        bool right = status == RING_OK && read.bytes == length_of(i) &&
                     read.record->header == (uint32_t)i && read.record->payload == ~i;
        for (uint64_t b = 0; right && b < read.bytes; b += 1 + read.bytes / 64)
            right = at[b] == (i & 255);
        if (right && read.bytes) right = at[read.bytes - 1] == (i & 255);
        if (!right) return (void *)1;
        ring_done(r, &read);
    }
    return NULL;
}

static void two_threads(void **state)
{
    (void)state;
    struct ring_writer w;
    struct ring_reader r;
    pthread_t thread;
    open_ring(&w, &r);
    assert_int_equal(pthread_create(&thread, NULL, writes, &w), 0);
    void *wrong = reads(&r);
    assert_null(wrong);
    assert_int_equal(pthread_join(thread, NULL), 0);
    ring_unmap(w.ring, w.size);
}

/* A writer that never waits fills exactly the ring; after the reader has read, there is room again.
 */
static void fill_and_empty(void **state)
{
    (void)state;
    struct ring_writer w;
    struct ring_reader r;
    struct ring_record *record = NULL;
    struct ring_read read = {0};
    open_ring(&w, &r);
    for (unsigned lap = 0; lap < 10; lap++) {
        uint64_t count = 0, seen = 0, need = ring_need(RING_FIRST, 1000 + lap * 777);
        while (ring_reserve(&w, need, &record) == RING_OK) {
            ring_publish(&w, record, need, RING_FIRST, 1000 + lap * 777);
            count++;
        }
        assert_true(count * need >= w.size - HARK_HEADER_MAX - RING_MIN_PART - 3 * need);
        while (ring_next(&r, &read) == RING_OK) {
            ring_done(&r, &read);
            seen += read.kind != RING_SKIP;
        }
        assert_int_equal(seen, count);
        assert_int_equal(
            ring_reserve(&w, ring_need(RING_FIRST, HARK_HEADER_MAX + RING_MIN_PART), &record),
            RING_OK);
    }
    ring_unmap(w.ring, w.size);
}

/* A small conversation stays at the beginning of the ring, and takes no memory beyond. */
static void stays_near(void **state)
{
    (void)state;
    struct ring_writer w;
    struct ring_reader r;
    struct ring_record *record = NULL;
    struct ring_read read = {0};
    open_ring(&w, &r);
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t need = ring_need(RING_FIRST, 40);
        if ((w.tail & (w.size - 1)) >= w.rewind) ring_rewind(&w, 8);
        assert_int_equal(ring_reserve(&w, need, &record), RING_OK);
        assert_true((uint64_t)((uint8_t *)record - w.data) < 2 * RING_WINDOW);
        ring_publish(&w, record, need, RING_FIRST, 40);
        while (ring_next(&r, &read) == RING_OK) ring_done(&r, &read);
        assert_int_equal(ring_next(&r, &read), RING_EMPTY);
    }
    assert_true(w.backed < RING_RESERVE);
    ring_unmap(w.ring, w.size);
}

/* Bursts that are larger than the first pages: after a few of them the writer does not go back
 * before they have room, and after many small ones it stays at the beginning again. */
static void goes_as_far_as_bursts_need(void **state)
{
    (void)state;
    enum { BURST = 25, BYTES = 1000 };
    struct ring_writer w;
    struct ring_reader r;
    struct ring_record *record = NULL;
    struct ring_read read = {0};
    open_ring(&w, &r);
    unsigned full = 0, late = 0;
    for (unsigned burst = 0; burst < 200; burst++) {
        for (unsigned i = 0; i < BURST; i++) {
            uint64_t need = ring_need(RING_FIRST, BYTES);
            if ((w.tail & (w.size - 1)) >= w.rewind) ring_rewind(&w, BYTES);
            while (ring_reserve(&w, need, &record) != RING_OK) {
                full++;
                late += burst >= 20;
                while (ring_next(&r, &read) == RING_OK) ring_done(&r, &read);
            }
            ring_publish(&w, record, need, RING_FIRST, BYTES);
        }
        while (ring_next(&r, &read) == RING_OK) ring_done(&r, &read);
    }
    assert_true(full > 0);
    assert_in_range(late, 0, 6); /* it tries now and then whether less is enough */
    assert_true(w.window > RING_WINDOW && w.window <= w.size / 4);
    for (unsigned i = 0; i < 1000000 && w.window > RING_WINDOW; i++) {
        uint64_t need = ring_need(RING_FIRST, 40);
        if ((w.tail & (w.size - 1)) >= w.rewind) ring_rewind(&w, 8);
        assert_int_equal(ring_reserve(&w, need, &record), RING_OK);
        ring_publish(&w, record, need, RING_FIRST, 40);
        while (ring_next(&r, &read) == RING_OK) ring_done(&r, &read);
    }
    assert_int_equal(w.window, RING_WINDOW);
    ring_unmap(w.ring, w.size);
}

/* What the reader says cannot be: refused, whatever it is. */
static void impossible_heads(void **state)
{
    (void)state;
    const uint64_t heads[] = {RING_REFUSED, 1ull << 63, RING_SIZE_MIN + 1, RING_SIZE_MIN * 2};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct ring_writer w;
        struct ring_reader r;
        struct ring_record *record = NULL;
        int status;
        open_ring(&w, &r);
        atomic_store(&w.ring->head, heads[i]);
        uint64_t need = ring_need(RING_FIRST, 30000);
        while ((status = ring_reserve(&w, need, &record)) == RING_OK) {
            ring_publish(&w, record, need, RING_FIRST, 30000);
            assert_true(w.tail < 4ull * RING_SIZE_MIN);
            if (w.head > 0)
                break; /* it became possible in the meantime: within the ring it harms nobody */
            ring_rewind(&w, 30000);
        }
        assert_true(status == RING_CORRUPT || w.head == heads[i]);
        ring_unmap(w.ring, w.size);
    }
}

enum { TURNS = 2000 }; /* each may cost a time slice or two when the machine is busy */

struct sleeper {
    struct bell *bell;
    _Atomic uint32_t work;
    bool fence;
};

static void *works(void *argument)
{
    struct sleeper *s = argument;
    for (int i = 0; i < TURNS; i++) {
        while (atomic_load(&s->work)) sched_yield();
        atomic_store_explicit(&s->work, 1, memory_order_release);
        bell_ring(s->bell, s->fence);
    }
    return NULL;
}

/* Nobody sleeps over work: a wake-up that is lost would hang. */
static void nobody_oversleeps(void **state)
{
    (void)state;
    pthread_t thread;
    struct sleeper s = {mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
        0, bell_register() != BELL_BARRIER};
    assert_true(s.bell != MAP_FAILED);
    assert_int_equal(pthread_create(&thread, NULL, works, &s), 0);
    for (uint32_t i = 1; i <= TURNS; i++) {
        while (!atomic_load(&s.work)) {
            uint32_t count = atomic_load(&s.bell->count);
            atomic_store(&s.bell->asleep, i);
            bell_barrier();
            if (!atomic_load(&s.work)) bell_sleep(s.bell, count, -1);
            atomic_store(&s.bell->asleep, 0);
        }
        atomic_store(&s.work, 0);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    munmap(s.bell, 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_threads),
        cmocka_unit_test(fill_and_empty),
        cmocka_unit_test(stays_near),
        cmocka_unit_test(goes_as_far_as_bursts_need),
        cmocka_unit_test(impossible_heads),
        cmocka_unit_test(nobody_oversleeps),
    };
    alarm(300);
    return cmocka_run_group_tests_name("shm ring", tests, NULL, NULL);
}
