/* pressure.c: a receiver that does not poll costs its senders patience, not memory, and nobody a
 * deadlock. */
#include "harness.h"

/* A transport that takes this much for one silent receiver has no back-pressure. */
#define TOO_MUCH (256ull * MIB)

/* Sends frames of `length` until one is not wholly taken, which stays in *stuck. Returns how many
 * were. */
static uint64_t until_again(struct end *from, uint32_t to, uint64_t length, struct parcel *stuck)
{
    uint64_t taken = 0;
    for (;; taken++) {
        parcel_make(stuck, from, to, 0, taken, 0, length);
        int status = parcel_send(stuck, from);
        if (status == HARK_T_AGAIN) { /* own polling does not help a receiver that never polls ...
                                       */
            for (int i = 0; i < 50 && status == HARK_T_AGAIN; i++) {
                end_poll(from);
                status = parcel_send(stuck, from);
            }
            if (status == HARK_T_AGAIN) return taken; /* ... for ever */
        }
        MUST(status == HARK_T_OK);
        parcel_free(stuck);
        MUST((taken + 1) * (length + 1) < TOO_MUCH);
    }
}

static void silent_receiver(uint64_t length)
{
    struct job job;
    struct end e[2];
    struct parcel stuck;
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    uint64_t taken = until_again(&e[0], 1, length, &stuck);
    int status;
    while ((status = parcel_send(&stuck, &e[0])) == HARK_T_AGAIN)
        ends_poll(e, 2); /* now it does poll */
    MUST(status == HARK_T_OK);
    parcel_free(&stuck);
    until_count(&e[1], (size_t)taken + 1, e, 2);
    for (uint64_t i = 0; i <= taken; i += 1 + taken / 64) MUST(end_heard(&e[1], i) == 1);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(&job);
}

static void silent_receiver_small_frames(void **state)
{
    (void)state;
    silent_receiver(100);
}

static void silent_receiver_middle_frames(void **state)
{
    (void)state;
    silent_receiver(30000);
}

static void silent_receiver_large_frames(void **state)
{
    (void)state;
    silent_receiver(5 * MIB + 1);
}

/* One silent receiver does not hold up what goes to another. */
static void others_go_on(void **state)
{
    (void)state;
    struct job job;
    struct end e[3];
    struct parcel stuck;
    job_begin(&job, 3);
    for (uint32_t i = 0; i < 3; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 3);
    uint64_t taken = until_again(&e[0], 1, 3000, &stuck);
    for (uint64_t i = 0; i < 50; i++) {
        struct parcel p;
        int status;
        parcel_make(&p, &e[0], 2, 0, 1000000 + i, 0, 5000);
        while ((status = parcel_send(&p, &e[0])) == HARK_T_AGAIN) {
            end_poll(&e[0]);
            end_poll(&e[2]);
        }
        MUST(status == HARK_T_OK);
        parcel_free(&p);
    }
    while (e[2].count < 50) {
        end_poll(&e[0]);
        end_poll(&e[2]);
    }
    MUST(e[1].count == 0);
    while (parcel_send(&stuck, &e[0]) == HARK_T_AGAIN) ends_poll(e, 3);
    parcel_free(&stuck);
    until_count(&e[1], (size_t)taken + 1, e, 3);
    for (uint32_t i = 0; i < 3; i++) end_close(&e[i]);
    job_end(&job);
}

/* A ring of processes, each sending large frames to the next and polling only when it must. */
static void crosswise(void **state)
{
    (void)state;
    enum { ENDS = 4, EACH = 3 };
    struct job job;
    struct end e[ENDS];
    struct parcel p[ENDS];
    uint64_t sent[ENDS] = {0};
    job_begin(&job, ENDS);
    for (uint32_t i = 0; i < ENDS; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, ENDS);
    for (uint32_t i = 0; i < ENDS; i++) parcel_make(&p[i], &e[i], (i + 1) % ENDS, 0, 0, 0, 4 * MIB);
    for (uint32_t busy = ENDS; busy > 0;)
        for (uint32_t i = 0; i < ENDS; i++) {
            if (sent[i] == EACH) {
                end_poll(&e[i]);
                continue;
            }
            int status = parcel_send(&p[i], &e[i]);
            if (status == HARK_T_AGAIN) {
                end_poll(&e[i]);
                continue;
            }
            MUST(status == HARK_T_OK);
            parcel_free(&p[i]);
            if (++sent[i] == EACH) busy--;
            else parcel_make(&p[i], &e[i], (i + 1) % ENDS, 0, sent[i], 0, 4 * MIB + i);
        }
    for (uint32_t i = 0; i < ENDS; i++) until_count(&e[i], EACH, e, ENDS);
    for (uint32_t i = 0; i < ENDS; i++) end_close(&e[i]);
    job_end(&job);
}

/* Much more than any buffer holds, sizes mixed, several frames half sent to several receivers at
 * once. */
static void mixed_stream(void **state)
{
    (void)state;
    enum { TO = 3, EACH = 400 };
    struct job job;
    struct end e[TO + 1];
    struct parcel p[TO + 1];
    uint64_t next[TO + 1] = {0};
    job_begin(&job, TO + 1);
    for (uint32_t i = 0; i <= TO; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, TO + 1);
    for (uint32_t i = 1; i <= TO; i++) parcel_make(&p[i], &e[0], i, 0, i * 10000, 0, 10);
    for (uint64_t round = 0, busy = TO; busy > 0; round++) {
        for (uint32_t i = 1; i <= TO; i++) {
            if (next[i] == EACH) continue;
            int status = parcel_send(&p[i], &e[0]);
            if (status == HARK_T_AGAIN) continue;
            MUST(status == HARK_T_OK);
            parcel_free(&p[i]);
            if (++next[i] == EACH) busy--;
            else {
                uint64_t length = mix(next[i] * 31 + i);
                length %= length % 5 == 0 ? 400000 : length % 5 < 3 ? 40000 : 500;
                parcel_make(
                    &p[i], &e[0], i, 0, i * 10000 + next[i], (uint32_t)(length % 333), length);
            }
        }
        end_poll(&e[0]);
        end_poll(&e[1 + mix(round) % TO]); /* the receivers poll at odd times */
    }
    for (uint32_t i = 1; i <= TO; i++) {
        until_count(&e[i], EACH, e, TO + 1);
        for (uint64_t k = 0; k < EACH; k++) MUST(end_heard(&e[i], i * 10000 + k) == 1);
    }
    for (uint32_t i = 0; i <= TO; i++) end_close(&e[i]);
    job_end(&job);
}

const struct CMUnitTest pressure_tests[] = {
    TEST(silent_receiver_small_frames),
    TEST(silent_receiver_middle_frames),
    TEST(silent_receiver_large_frames),
    TEST(others_go_on),
    TEST(crosswise),
    TEST(mixed_stream),
};
const size_t pressure_count = sizeof pressure_tests / sizeof *pressure_tests;
