/* lending.c: memory that receivers read in place, for the transports that have it. */
#include "harness.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static uint8_t *borrow(struct end *e, uint64_t bytes)
{
    uint8_t *at = e->t->ops->lend(e->t, bytes);
    MUST(at != NULL);
    for (uint64_t i = 0; i < bytes; i += 509) MUST(at[i] == 0);
    return at;
}

/* A parcel whose payload lies at `at`. */
static void parcel_lend(struct parcel *p, const struct end *from, uint32_t to, uint32_t inc,
    uint64_t id, uint8_t *at, uint64_t length)
{
    parcel_make(p, from, to, inc, id, 0, length);
    p->out.keep = at;
    if (id % 2) { /* it is there; else it is to be put there */
        memcpy(at, p->payload, length);
        p->out.part[0].at = at;
    }
}

static void send_lent(struct end *from, uint32_t to, uint64_t id, uint8_t *at, uint64_t length,
    struct end *ends, size_t count)
{
    struct parcel p;
    int status;
    parcel_lend(&p, from, to, 0, id, at, length);
    while ((status = parcel_send(&p, from)) == HARK_T_AGAIN) ends_poll(ends, count);
    MUST(status == HARK_T_OK);
    parcel_free(&p);
}

static void begin_two(struct job *job, struct end e[2])
{
    job_begin(job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], job, i, 0);
    ends_meet(e, 2);
}

static void end_two(struct job *job, struct end e[2])
{
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(job);
}

/* Whole and in order among others, wherever they lie; the sink checks every byte. */
static void read_in_place(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    begin_two(&job, e);
    uint8_t *a = borrow(&e[0], 4 * MIB), *b = borrow(&e[0], 64 * KIB);
    const struct {
        uint8_t *at;
        uint64_t length;
    } piece[] = {{a, 1}, {a + 64, 1 * MIB}, {a + 3 * MIB - 7, 1 * MIB + 7}, {b, 64 * KIB},
        {b + 1, 0}, {a, 4 * MIB}, {a + 1, 33 * KIB}, {a, 2 * MIB}, {b + 64 * KIB - 1, 1}};
    uint64_t id = 0;
    for (size_t i = 0; i < sizeof piece / sizeof *piece; i++) {
        for (int way = 0; way < 2; way++) {
            send_lent(&e[0], 1, ++id, piece[i].at, piece[i].length, e, 2);
            until_count(&e[1], id, e, 2);
        }
        send_wholly(&e[0], 1, 0, ++id, 0, 100 * KIB, e, 2); /* an ordinary one between */
        until_count(&e[1], id, e, 2);
    }
    for (uint64_t i = 0; i < id; i++) MUST(e[1].got[i].id == i + 1);
    end_two(&job, e);
}

/* Of lengths at which parts of a transport change their minds: pieces, and what one takes at once.
 * A small one follows each. */
static void of_any_length(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    begin_two(&job, e);
    uint8_t *at = borrow(&e[0], 512 * KIB);
    uint64_t id = 0;
    for (uint64_t limit = 16 * KIB; limit <= 256 * KIB; limit *= 2)
        for (uint64_t less = 0; less <= 300; less += less < 8 ? 1 : 29) {
            send_lent(&e[0], 1, ++id, at, limit + 1 - less, e, 2);
            send_wholly(&e[0], 1, 0, ++id, 0, 100, e, 2);
            until_count(&e[1], id, e, 2);
        }
    for (uint64_t i = 0; i < id; i++) MUST(e[1].got[i].id == i + 1);
    end_two(&job, e);
}

/* Their receiver listens only when there is no more room for them. */
static void more_than_is_taken(void **state)
{
    (void)state;
    enum { FRAMES = 60 };
    struct job job;
    struct end e[2];
    begin_two(&job, e);
    uint8_t *at = borrow(&e[0], FRAMES * 128 * KIB);
    for (uint64_t id = 1; id <= FRAMES; id++)
        send_lent(&e[0], 1, id, at + (id - 1) * 128 * KIB, id % 2 ? 100000 : 60000, e, 2);
    send_wholly(&e[0], 1, 0, FRAMES + 1, 0, 100, e, 2);
    until_count(&e[1], FRAMES + 1, e, 2);
    for (uint64_t i = 0; i <= FRAMES; i++) MUST(e[1].got[i].id == i + 1);
    end_two(&job, e);
}

/* No room is needed for a payload that stays: far more can be under way than a transport would
 * hold. */
static void takes_no_room(void **state)
{
    (void)state;
    enum { FRAMES = 60 };
    struct job job;
    struct end e[2];
    struct parcel p;
    begin_two(&job, e);
    uint8_t *at = borrow(&e[0], 8 * MIB);
    for (uint64_t id = 1; id <= FRAMES; id++) {
        if (id == 1) parcel_lend(&p, &e[0], 1, 0, 7, at, 8 * MIB);
        MUST(parcel_send(&p, &e[0]) == HARK_T_OK);
    }
    until_count(&e[1], FRAMES, e, 2);
    MUST(end_heard(&e[1], 7) == FRAMES);
    parcel_free(&p);
    end_two(&job, e);
}

/* What is kept elsewhere is copied twice: it may be overwritten when it is sent. */
static void elsewhere_is_copied(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    struct parcel p;
    begin_two(&job, e);
    uint8_t *at = borrow(&e[0], 64 * KIB), *room = malloc(20 * KIB);
    MUST(room != NULL);
    parcel_make(&p, &e[0], 1, 0, 1, 0, 20 * KIB);
    p.out.keep = room;
    MUST(parcel_send(&p, &e[0]) == HARK_T_OK);
    MUST(filled(room, 20 * KIB, 1));
    memset(p.payload, 0xee, 20 * KIB);
    memset(room, 0xee, 20 * KIB);
    e[0].t->ops->reclaim(e[0].t, at, 64 * KIB);
    until_count(&e[1], 1, e, 2);
    parcel_free(&p);
    free(room);
    end_two(&job, e);
}

/* Reclaimed, or closed with frames unread: nothing stays behind. */
static void leaves_nothing(void **state)
{
    (void)state;
    for (unsigned order = 0; order < 2; order++) {
        struct job job;
        struct end e[2];
        job_begin(&job, 2);
        for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
        ends_meet(e, 2);
        size_t things = job_things(&job);
        for (int i = 0; i < 100; i++) { /* also more of them than a receiver keeps mapped */
            uint8_t *at = borrow(&e[0], 64 * KIB);
            send_lent(&e[0], 1, (uint64_t)i + 1, at, 64 * KIB, e, 2);
            until_count(&e[1], (size_t)i + 1, e, 2);
            if (i % 2) e[0].t->ops->reclaim(e[0].t, at, 64 * KIB);
        }
        MUST(job_things(&job) <= things + 50);
        send_lent(&e[0], 1, 200, borrow(&e[0], 64 * KIB), 64 * KIB, &e[0], 1);
        end_close(&e[order]);
        end_close(&e[1 - order]);
        job_end(&job);
    }
}

/* Its owner is killed: what it had sent arrives whole, or, when its successor is known, not at all.
 */
static void owner_killed(void **state)
{
    (void)state;
    for (unsigned told = 0; told < 2; told++) {
        struct job job;
        struct end e, next;
        job_begin(&job, 2);
        end_open(&e, &job, 1, 0);
        fflush(NULL);
        pid_t pid = fork();
        MUST(pid >= 0);
        if (pid == 0) {
            struct end dying;
            in_child = true;
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            end_open(&dying, &job, 0, 0);
            MUST(dying.t->ops->peer(dying.t, 1, 0, e.t->ops->address(e.t)) == HARK_T_OK);
            uint8_t *at = borrow(&dying, 2 * MIB);
            for (uint64_t i = 0; i < 4; i++)
                send_lent(&dying, 1, i + 1, at + i * 512 * KIB, 500 * KIB, &dying, 1);
            kill(getpid(), SIGKILL);
        }
        int status;
        MUST(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        bool lost = conformance_subject.loses && conformance_subject.loses(0, 1);
        if (!told && !lost) until_count(&e, 4, &e, 1);
        end_open(&next, &job, 0, 1); /* takes away what the former lent */
        if (told) {                  /* the pieces are gone, and nobody has told us yet: no harm */
            end_poll(&e);
            MUST(e.count == 0);
        }
        MUST(e.t->ops->peer(e.t, 0, 1, next.t->ops->address(next.t)) == HARK_T_OK);
        end_poll(&e);
        MUST(lost ? e.count <= 4 && e.open_places == 0 : e.count == (told ? 0 : 4));
        end_close(&next);
        end_close(&e);
        job_end(&job);
    }
}

/* Who was sent to, and has not been listened to since, is behind; not any more when something was
 * heard or waited for. */
static void who_keeps_up(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    begin_two(&job, e);
    const struct hark_transport_ops *ops = e[0].t->ops;
    MUST(
        ops->behind(e[0].t, 1) == 0 && ops->behind(e[0].t, 0) == 0 && ops->behind(e[0].t, 77) == 0);
    for (uint64_t id = 0; id < 3; id++) {
        send_wholly(&e[0], 1, 0, 2 * id, 0, 10, e, 2);
        MUST(ops->behind(e[0].t, 1) == 1);
        MUST(ops->wait(e[0].t, 0) == HARK_T_OK);
        MUST(ops->behind(e[0].t, 1) == 0);
        until_count(&e[1], 2 * id + 1, e, 2);
        MUST(ops->behind(e[1].t, 0) == 0);
        send_wholly(&e[0], 1, 0, 2 * id + 1, 0, 10, e, 2);
        MUST(ops->behind(e[0].t, 1) == 1);
        until_count(&e[1], 2 * id + 2, e, 2);
        send_wholly(&e[1], 0, 0, 1000 + id, 0, 10, e, 2);
        until_count(&e[0], id + 1, e, 2);
        MUST(ops->behind(e[0].t, 1) == 0);
        MUST(ops->wait(e[0].t, 0) == HARK_T_OK);
        MUST(ops->behind(e[0].t, 1) == 0);
    }
    end_two(&job, e);
}

const struct CMUnitTest lending_tests[] = {TEST(read_in_place), TEST(of_any_length),
    TEST(more_than_is_taken), TEST(who_keeps_up), TEST(takes_no_room), TEST(elsewhere_is_copied),
    TEST(leaves_nothing), TEST(owner_killed)};
const size_t lending_count = sizeof lending_tests / sizeof *lending_tests;
