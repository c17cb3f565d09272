/* shm_gone.c: a receiver that has closed its bell is gone: whatever its ring still has room for,
 * every frame after that is answered EGONE, and nothing is made for it. */
#include "harness.h"
#include "shm/bell.h"
#include "shm/ring.h"
#include "shm/shm.h"

#include <unistd.h>

const struct conformance_transport conformance_subject = {
    .name = "shm", .ops = &hark_shm_transport};

static int send_one(struct end *e, uint32_t to, uint64_t length)
{
    struct parcel p;
    parcel_make(&p, e, to, 0, 1, 0, length);
    int status = parcel_send(&p, e);
    parcel_free(&p);
    return status;
}

/* The ring has room: the first frame after the closing finds out, none after it is taken. */
static void with_room(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    assert_int_equal(send_one(&e[0], 1, 10), HARK_T_OK);
    end_close(&e[1]);
    int first = send_one(&e[0], 1, 10);
    assert_true(first == HARK_T_OK || first == HARK_T_EGONE);
    for (int i = 0; i < 10; i++) assert_int_equal(send_one(&e[0], 1, 10), HARK_T_EGONE);
    end_close(&e[0]);
    job_end(&job);
}

/* The ring is full for a long frame: it is answered EGONE, and so is a short one, which would find
 * room. */
static void without_room(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    struct parcel p;
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    parcel_make(&p, &e[0], 1, 0, 1, 0, RING_CHUNK - 100);
    while (parcel_send(&p, &e[0]) == HARK_T_OK) {
    }
    end_close(&e[1]);
    assert_int_equal(parcel_send(&p, &e[0]), HARK_T_EGONE);
    assert_int_equal(send_one(&e[0], 1, 10), HARK_T_EGONE);
    parcel_free(&p);
    end_close(&e[0]);
    job_end(&job);
}

/* It closes between the sender's finding of its bell and the first frame: as if somebody had kept
 * the bell's name. */
static void before_the_first(void **state)
{
    (void)state;
    struct job job;
    struct end e;
    job_begin(&job, 2);
    end_open(&e, &job, 0, 0);
    struct bell *bell = bell_open(job.name, (struct process){1, 0}, 2, true);
    assert_non_null(bell);
    atomic_store(&bell->asleep, BELL_CLOSED);
    size_t things = job_things(&job);
    for (int i = 0; i < 3; i++) assert_int_equal(send_one(&e, 1, 10), HARK_T_EGONE);
    assert_int_equal(job_things(&job), things); /* no ring */
    bell_unmap(bell, 2);
    end_close(&e);
    conformance_subject.ops->sweep(job.name, job.directory);
    job_end(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(with_room), cmocka_unit_test(without_room),
        cmocka_unit_test(before_the_first)};
    hang_after(CHILD_PATIENCE);
    return cmocka_run_group_tests_name("shm gone", tests, NULL, NULL);
}
