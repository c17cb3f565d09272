/* Two ways at once: memory that is lent here and read there, frames that are given up half-way,
 * sleep that news of either kind must end, and polls that must not look for what does not come. */
#include "mixed_ends.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include <uv.h>

const struct conformance_transport conformance_subject = {
    .name = "mixed", .ops = &hark_mixed_transport};

/* libuv runs so often: the test is linked with --wrap for this. */
static _Atomic unsigned runs;
int __real_uv_run(uv_loop_t *loop, uv_run_mode mode);
int __wrap_uv_run(uv_loop_t *loop, uv_run_mode mode);
int __wrap_uv_run(uv_loop_t *loop, uv_run_mode mode)
{
    runs++;
    return __real_uv_run(loop, mode);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Between two calls of send() a frame may move: nothing reads where it was. */
static void a_frame_moves(void **state)
{
    (void)state;
    static const char *const host[] = {"h0", "h1"};
    enum { LENGTH = 6 * MIB };
    struct job job;
    struct end e[2];
    struct parcel p;
    open_all(e, 2, &job, host);
    parcel_make(&p, &e[0], 1, 0, 1, 5000, LENGTH);
    int status;
    size_t moves = 0;
    while ((status = parcel_send(&p, &e[0])) == HARK_T_AGAIN) {
        uint8_t *header = malloc(5000), *payload = malloc(LENGTH);
        MUST(header && payload);
        memcpy(header, p.header, 5000);
        memcpy(payload, p.payload, LENGTH);
        memset(p.header, 0xee, 5000);
        memset(p.payload, 0xee, LENGTH);
        ends_poll(e, 2);
        free(p.header);
        free(p.payload);
        p.out.header.at = p.header = header;
        p.out.part[0].at = p.payload = payload;
        moves++;
    }
    MUST(status == HARK_T_OK && moves > 3);
    until_count(&e[1], 1, e, 2); /* the sink looks at every byte */
    parcel_free(&p);
    close_all(e, 2, &job);
}

/* What was lent is taken back while frames of it are still to go: their receiver is dead, but we
 * have not been told. If it lives after all, it gets them. */
static void lent_and_taken_back(void **state)
{
    (void)state;
    static const char *const host[] = {"h0", "h1"};
    struct job job;
    struct end e[2];
    open_all(e, 2, &job, host);
    uint8_t *a = ops->lend(e[0].t, 4 * MIB), *b = ops->lend(e[0].t, 4 * MIB);
    MUST(a && b);
    for (uint64_t id = 1; id <= 4; id++) {
        struct parcel p;
        parcel_make(&p, &e[0], 1, 0, id, 0, 2 * MIB);
        p.out.keep = (id % 2 ? a : b) + (id > 2 ? 2 * MIB : 0);
        MUST(parcel_send(&p, &e[0]) == HARK_T_OK);
        parcel_free(&p);
    }
    ops->reclaim(e[0].t, a, 4 * MIB);
    until_count(&e[1], 4, e, 2);
    for (uint64_t id = 1; id <= 4; id++) MUST(e[1].got[id - 1].id == id);
    ops->reclaim(e[0].t, b, 4 * MIB);
    close_all(e, 2, &job);
}

/* A frame that is given up half-way to another host does not arrive, what its receiver had of it is
 * broken, its memory is not looked at, and what follows arrives. So, however far it had come. */
static void withdrawn(void **state)
{
    (void)state;
    static const char *const host[] = {"h0", "h1"};
    struct job job;
    struct end e[2];
    size_t broken = 0;
    open_all(e, 2, &job, host);
    for (uint64_t id = 1; id <= 40; id++) {
        struct parcel p;
        parcel_make(&p, &e[0], 1, 0, id, (uint32_t)(id % 4 * 1000), 20 * MIB);
        p.out.stays = true;
        MUST(parcel_send(&p, &e[0]) == HARK_T_AGAIN);
        for (uint64_t i = 0; i < id % 10; i++) {
            ends_poll(e, 2);
            if (i == 1) MUST(parcel_send(&p, &e[0]) == HARK_T_AGAIN);
        }
        ops->withdraw(e[0].t, &p.out);
        memset(p.payload, 0xee, 20 * MIB);
        parcel_free(&p);
        for (uint64_t i = 0; i < 2; i++) { /* also a long one */
            send_wholly(&e[0], 1, 0, 1000 + 2 * id + i, 0, i ? 2 * MIB : 100, e, 2);
            send_wholly(&e[1], 0, 0, 1000 + 2 * id + i, 0, i ? 2 * MIB : 100, e, 2);
        }
        until_count(&e[1], 2 * (size_t)id, e, 2);
        until_count(&e[0], 2 * (size_t)id, e, 2);
        MUST(e[1].open_places == 0 && e[1].broken >= broken && e[1].broken <= broken + 1);
        broken = e[1].broken;
    }
    const bool at_once = getenv("HARK_TEST_BETWEEN") != NULL; /* libfabric takes a part at once */
    MUST(broken > 10 && (broken < 40 || at_once));            /* some had begun, and some had not */
    MUST(e[0].t->figures.refused == 0 && e[1].t->figures.refused == 0);
    close_all(e, 2, &job);
}

/* One that is given up when its receiver has all of it has arrived, and so does what follows. */
static void withdrawn_too_late(void **state)
{
    (void)state;
    static const char *const host[] = {"h0", "h1"};
    struct job job;
    struct end e[2];
    open_all(e, 2, &job, host);
    for (uint64_t id = 1; id <= 10; id++) {
        struct parcel p;
        parcel_make(&p, &e[0], 1, 0, id, 64, 3 * MIB);
        p.out.stays = true;
        int status = parcel_send(&p, &e[0]);
        while (status == HARK_T_AGAIN && e[1].count < 2 * id - 1) {
            ends_poll(e, 2);
            if (e[1].count < 2 * id - 1) status = parcel_send(&p, &e[0]);
        }
        until_count(&e[1], 2 * (size_t)id - 1, e, 2);
        send_wholly(&e[1], 0, 0, 1000 + id, 0, 100, e, 2); /* which says that it is there */
        until_count(&e[0], (size_t)id, e, 2);
        if (status == HARK_T_AGAIN) ops->withdraw(e[0].t, &p.out);
        parcel_free(&p);
        send_wholly(&e[0], 1, 0, 2000 + id, 0, 100, e, 2);
        until_count(&e[1], 2 * (size_t)id, e, 2);
        MUST(e[1].got[2 * id - 2].id == id && e[1].got[2 * id - 1].id == 2000 + id);
    }
    MUST(e[0].t->figures.refused == 0 && e[1].t->figures.refused == 0);
    close_all(e, 2, &job);
}

/* ---- polling and sleeping -------------------------------------------------------------------- */

static void enough(struct end *e, const struct label *label)
{
    (void)label;
    e->t->enough = true;
}

/* Where nothing comes from other hosts, nobody looks for it, neither with nor without messages of
 * this one. */
static void silence_costs_nothing(void **state)
{
    (void)state;
    static const char *const host[] = {"h0", "h0", "h1"};
    struct job job;
    struct end e[3];
    open_all(e, 3, &job, host);
    for (uint32_t i = 1; i < 3; i++) send_wholly(&e[0], i, 0, i, 0, 10, e, 3);
    for (uint32_t i = 1; i < 3; i++) until_count(&e[i], 1, e, 3);
    while (!ops->drained(e[0].t)) ends_poll(e, 3);
    unsigned before;
    do { /* until what is left over of meeting is seen to */
        before = runs;
        for (int i = 0; i < 1000; i++) end_poll(&e[0]);
    } while (runs != before);
    for (uint64_t id = 10; id < 1000; id++) {
        e[0].on_arrived = id % 2 ? enough : NULL;
        send_wholly(&e[0], 1, 0, id, 0, 10, e, 2);
        send_wholly(&e[1], 0, 0, id, 0, 10, &e[1], 1);
        end_poll(&e[0]);
        end_poll(&e[0]);
    }
    MUST(e[0].count == 990 && runs == before);
    send_wholly(&e[2], 0, 0, 4000, 0, 10, &e[2], 1); /* nor for long after something came */
    while (end_heard(&e[0], 4000) == 0) ends_poll(e, 3);
    for (uint64_t id = 1000; id < 2000; id++) {
        send_wholly(&e[1], 0, 0, id, 0, 10, &e[1], 1);
        end_poll(&e[0]);
        if (id == 1100) before = runs;
    }
    MUST(runs == before);
    send_wholly(&e[2], 0, 0, 5000, 0, 10, &e[2], 1); /* and then it does hear */
    while (end_heard(&e[0], 5000) == 0) ends_poll(e, 3);
    close_all(e, 3, &job);
}

struct talker {
    struct end *e;
    uint64_t rounds;
};

/* Answers each frame by one of the same number. */
static void *answers(void *argument)
{
    struct talker *talker = argument;
    struct end *e = talker->e;
    for (size_t round = 0; round < talker->rounds; round++) {
        while (e->count <= round) {
            MUST(ops->wait(e->t, -1) == HARK_T_OK);
            end_poll(e);
        }
        send_wholly(e, 0, 0, 10 * e->got[round].id + e->me, 0, 50, e, 1);
    }
    while (!ops->drained(e->t)) {
        MUST(ops->wait(e->t, 1) == HARK_T_OK);
        end_poll(e);
    }
    return NULL;
}

/* One waits for a neighbour and for somebody on another host, in turn and both at once. */
static void woken_by_either(void **state)
{
    (void)state;
    static const char *const host[] = {"h0", "h0", "h1"};
    enum { ROUNDS = 3000 };
    struct job job;
    struct end e[3];
    pthread_t thread[2];
    struct talker talker[2] = {{&e[1], ROUNDS}, {&e[2], ROUNDS}};
    open_all(e, 3, &job, host);
    for (int i = 0; i < 2; i++) MUST(pthread_create(&thread[i], NULL, answers, &talker[i]) == 0);
    for (uint64_t round = 0; round < ROUNDS; round++)
        for (uint32_t i = 0; i < 2; i++) {
            send_wholly(&e[0], 1 + i, 0, round, 0, 50, e, 1);
            size_t wanted = 2 * (size_t)round + (round % 2 ? 1 + i : 2 * i);
            while (e[0].count < wanted) {
                MUST(ops->wait(e[0].t, -1) == HARK_T_OK);
                end_poll(&e[0]);
            }
        }
    while (!ops->drained(e[0].t)) end_poll(&e[0]);
    for (int i = 0; i < 2; i++) MUST(pthread_join(thread[i], NULL) == 0);
    for (uint64_t round = 0; round < ROUNDS; round++)
        for (uint32_t i = 1; i < 3; i++) MUST(end_heard(&e[0], 10 * round + i) == 1);
    close_all(e, 3, &job);
}

/* A sink that has enough at each frame gets one of a neighbour at a time, and those of other hosts
 * all the same. */
static void enough_at_each(void **state)
{
    (void)state;
    static const char *const host[] = {"h0", "h0", "h1"};
    enum { EACH = 50 };
    struct job job;
    struct end e[3];
    open_all(e, 3, &job, host);
    e[0].on_arrived = enough;
    for (uint64_t id = 0; id < EACH; id++)
        for (uint32_t i = 1; i < 3; i++) send_wholly(&e[i], 0, 0, 10 * id + i, 0, 10, &e[i], 1);
    size_t together = 0;
    while (e[0].count < 2 * EACH) {
        size_t before = e[0].count;
        ends_poll(e, 3);
        size_t near = 0;
        for (size_t i = before; i < e[0].count; i++) near += e[0].got[i].from == 1;
        MUST(near <= 1);
        together += near == 1 && e[0].count > before + 1;
    }
    MUST(together == 0);
    close_all(e, 3, &job);
}

/* The thread takes no signals: one that we block stays for us. */
static void signals(void **state)
{
    (void)state;
    static const char *const host[] = {"h0", "h1"};
    struct job job;
    struct end e[2];
    sigset_t one, before, now;
    int number = 0;
    open_all(e, 2, &job, host);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    MUST(kill(getpid(), SIGUSR2) == 0); /* anybody who does not block it dies */
    MUST(sigpending(&now) == 0 && sigismember(&now, SIGUSR2) == 1);
    MUST(sigwait(&one, &number) == 0 && number == SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    send_wholly(&e[0], 1, 0, 1, 0, 10, e, 2);
    until_count(&e[1], 1, e, 2);
    close_all(e, 2, &job);
}

/* The first is about libuv, and what goes over libfabric does not need it. */
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(silence_costs_nothing),
        TEST(a_frame_moves),
        TEST(lent_and_taken_back),
        TEST(withdrawn),
        TEST(withdrawn_too_late),
        TEST(woken_by_either),
        TEST(enough_at_each),
        TEST(signals),
    };
    const bool uv = getenv("HARK_TEST_BETWEEN") == NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    hang_after(PATIENCE);
    return uv ? cmocka_run_group_tests_name("mixed", tests, NULL, NULL)
              : _cmocka_run_group_tests("mixed over libfabric", tests + 1,
                    sizeof tests / sizeof *tests - 1, NULL, NULL);
}
