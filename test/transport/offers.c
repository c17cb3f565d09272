/* offers.c: payloads that stay where they are until the frame is sent, so that a receiver may copy
 * them from there. A transport that makes no use of that passes all the same. */
#include "harness.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void two(struct job *job, struct end e[2])
{
    job_begin(job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], job, i, 0);
    ends_meet(e, 2);
}

static void over(struct job *job, struct end e[2])
{
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(job);
}

static void offer(struct parcel *p, const struct end *from, uint64_t id, uint64_t length)
{
    parcel_make(p, from, 1 - from->me, 0, id, 0, length);
    p->out.stays = true;
}

static void send_to_end(struct parcel *p, struct end *from, struct end *ends, size_t count)
{
    int status;
    while ((status = parcel_send(p, from)) == HARK_T_AGAIN) {
        MUST(from->t->ops->wait(from->t, 0) == HARK_T_OK); /* also a late one is sent */
        ends_poll(ends, count);
    }
    MUST(status == HARK_T_OK);
}

/* Whole and in order among others; the memory is the caller's once the frame is sent. */
static void taken_whole(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {0, 1, 100, 32 * KIB - 100, 32 * KIB, 32 * KIB + 1, 64 * KIB,
        100 * KIB + 7, 256 * KIB, 1 * MIB, 4 * MIB + 3};
    struct job job;
    struct end e[2];
    uint64_t id = 0;
    two(&job, e);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            struct parcel p;
            offer(&p, &e[0], ++id, lengths[i]);
            send_to_end(&p, &e[0], e, 2);
            memset(p.payload, 0xee, lengths[i]);
            parcel_free(&p);
            if (i % 3 == 1) send_wholly(&e[0], 1, 0, ++id, 0, 50 * KIB, e, 2);
            if (i % 2) until_count(&e[1], id, e, 2);
        }
        until_count(&e[1], id, e, 2);
    }
    for (uint64_t i = 0; i < id; i++) MUST(e[1].got[i].id == i + 1);
    over(&job, e);
}

/* Both send at once, and take from each other what they are sent. */
static void both_ways(void **state)
{
    (void)state;
    enum { FRAMES = 40 };
    struct job job;
    struct end e[2];
    two(&job, e);
    for (uint64_t id = 1; id <= FRAMES; id++) {
        struct parcel p[2];
        int status[2] = {HARK_T_AGAIN, HARK_T_AGAIN};
        for (uint32_t i = 0; i < 2; i++) offer(&p[i], &e[i], id, (id % 7 + 1) * 30 * KIB);
        while (status[0] == HARK_T_AGAIN || status[1] == HARK_T_AGAIN) {
            for (uint32_t i = 0; i < 2; i++)
                if (status[i] == HARK_T_AGAIN) status[i] = parcel_send(&p[i], &e[i]);
            ends_poll(e, 2);
        }
        for (uint32_t i = 0; i < 2; i++) {
            MUST(status[i] == HARK_T_OK);
            until_count(&e[i], id, e, 2);
            parcel_free(&p[i]);
        }
    }
    over(&job, e);
}

/* A receiver that does not look is not waited for, as far as there is room. */
static void nobody_looks(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    two(&job, e);
    for (uint64_t id = 1; id <= 3; id++) {
        struct parcel p;
        offer(&p, &e[0], id, 40 * KIB);
        int status, looks = 0;
        while ((status = parcel_send(&p, &e[0])) == HARK_T_AGAIN) {
            MUST(++looks < 1000);
            MUST(e[0].t->ops->wait(e[0].t, 1) == HARK_T_OK);
            end_poll(&e[0]);
        }
        MUST(status == HARK_T_OK);
        memset(p.payload, 0xee, 40 * KIB);
        parcel_free(&p);
    }
    until_count(&e[1], 3, e, 2);
    over(&job, e);
}

/* A receiver for which the payload comes too early is asked again, or gets it in another way. */
static void declined(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    two(&job, e);
    for (uint64_t id = 1; id <= 300; id++) {
        struct parcel p;
        e[1].decline_offers = id % 100 < 50;
        offer(&p, &e[0], id, 48 * KIB);
        send_to_end(&p, &e[0], e, 2);
        memset(p.payload, 0xee, 48 * KIB);
        parcel_free(&p);
        until_count(&e[1], id, e, 2);
    }
    over(&job, e);
}

/* A frame that the caller gives up does not arrive, and the next one does. */
static void given_up(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    two(&job, e);
    uint64_t arrived = 0;
    for (uint64_t id = 1; id <= 20; id++) {
        struct parcel p;
        offer(&p, &e[0], id, 64 * KIB);
        int status = parcel_send(&p, &e[0]);
        if (status == HARK_T_AGAIN) {
            MUST(e[0].t->ops->withdraw != NULL);
            e[0].t->ops->withdraw(e[0].t, &p.out);
            memset(p.payload, 0xee, 64 * KIB);
        } else {
            MUST(status == HARK_T_OK);
            arrived++;
        }
        parcel_free(&p);
        send_wholly(&e[0], 1, 0, 1000 + id, 0, 64 * KIB, e, 2);
        until_count(&e[1], ++arrived, e, 2);
        MUST(e[1].got[arrived - 1].id == 1000 + id);
    }
    over(&job, e);
}

/* What is to be kept may be copied by the caller meanwhile, and then the receiver needs no more of
 * the memory that was offered. */
static void kept_meanwhile(void **state)
{
    (void)state;
    struct job job;
    struct end e[2];
    if (!conformance_subject.ops->lend) return;
    two(&job, e);
    uint8_t *at = e[0].t->ops->lend(e[0].t, 2 * MIB);
    MUST(at != NULL);
    for (uint64_t id = 1; id <= 40; id++) {
        struct parcel p;
        uint64_t length = (id % 3 + 1) * 60 * KIB;
        offer(&p, &e[0], id, length);
        p.out.keep = at;
        int status = parcel_send(&p, &e[0]);
        if (status == HARK_T_AGAIN && id % 2) { /* else the transport has to */
            memcpy(at, p.payload, length);
            p.out.part[0].at = at;
            status = parcel_send(&p, &e[0]);
            MUST(status == HARK_T_OK); /* nobody looks meanwhile */
        }
        if (status == HARK_T_AGAIN) send_to_end(&p, &e[0], e, 2);
        MUST(filled(at, length, id));
        memset(p.payload, 0xee, length);
        parcel_free(&p);
        until_count(&e[1], id, e, 2);
    }
    over(&job, e);
}

/* The receiver's successor is known: the frame is dropped, as any that is half sent. */
static void receiver_gone(void **state)
{
    (void)state;
    struct job job;
    struct end e[2], next;
    struct parcel p;
    two(&job, e);
    offer(&p, &e[0], 1, 64 * KIB);
    int status = parcel_send(&p, &e[0]);
    end_close(&e[1]);
    end_open(&next, &job, 1, 1);
    MUST(e[0].t->ops->peer(e[0].t, 1, 1, next.t->ops->address(next.t)) == HARK_T_OK);
    MUST(next.t->ops->peer(next.t, 0, 0, e[0].t->ops->address(e[0].t)) == HARK_T_OK);
    if (status == HARK_T_AGAIN) MUST(parcel_send(&p, &e[0]) == HARK_T_EGONE);
    parcel_free(&p);
    parcel_make(&p, &e[0], 1, 1, 2, 0, 64 * KIB);
    p.out.stays = true;
    while ((status = parcel_send(&p, &e[0])) == HARK_T_AGAIN) {
        end_poll(&e[0]);
        end_poll(&next);
    }
    MUST(status == HARK_T_OK);
    while (next.count < 1) {
        end_poll(&e[0]);
        end_poll(&next);
    }
    MUST(next.count == 1 && next.got[0].id == 2);
    parcel_free(&p);
    end_close(&next);
    end_close(&e[0]);
    job_end(&job);
}

/* A child whose offer is open when it ends in the given way. */
static void leaves_open(struct job *job, struct end *e, bool by_exec)
{
    struct end dying;
    struct parcel p;
    in_child = true;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    end_open(&dying, job, 0, 0);
    MUST(dying.t->ops->peer(dying.t, 1, 0, e->t->ops->address(e->t)) == HARK_T_OK);
    offer(&p, &dying, 1, 64 * KIB);
    (void)parcel_send(&p, &dying);
    if (by_exec) execl("/bin/sleep", "sleep", "1000", (char *)NULL);
    kill(getpid(), SIGKILL);
}

static bool is_exec_done(pid_t pid)
{
    char name[64], line[64] = "";
    snprintf(name, sizeof name, "/proc/%ld/comm", (long)pid);
    FILE *f = fopen(name, "r");
    if (f && fgets(line, sizeof line, f) == NULL) line[0] = 0;
    if (f) fclose(f);
    return strcmp(line, "sleep\n") == 0;
}

/* The sender is dead, or its process runs another program by now, which has the same number: the
 * frame arrives whole if it had been sent, or not at all. */
static void sender_gone(void **state)
{
    (void)state;
    for (unsigned by_exec = 0; by_exec < 2; by_exec++) {
        struct job job;
        struct end e, next;
        job_begin(&job, 2);
        end_open(&e, &job, 1, 0);
        fflush(NULL);
        pid_t pid = fork();
        MUST(pid >= 0);
        if (pid == 0) leaves_open(&job, &e, by_exec);
        int status;
        if (by_exec)
            while (!is_exec_done(pid)) MUST(waitpid(pid, &status, WNOHANG) == 0);
        else MUST(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
        for (int i = 0; i < 3; i++) end_poll(&e); /* nobody has told us yet */
        MUST(e.count <= 1 && e.placed == e.broken + e.count);
        if (by_exec) MUST(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
        size_t before = e.count;
        end_open(&next, &job, 0, 1);
        MUST(e.t->ops->peer(e.t, 0, 1, next.t->ops->address(next.t)) == HARK_T_OK);
        end_poll(&e);
        MUST(e.count == before);
        end_close(&next);
        end_close(&e);
        conformance_subject.ops->sweep(job.name, job.directory);
        job_end(&job);
    }
}

const struct CMUnitTest offers_tests[] = {TEST(taken_whole), TEST(both_ways), TEST(nobody_looks),
    TEST(declined), TEST(given_up), TEST(kept_meanwhile), TEST(receiver_gone)};
const size_t offers_count = sizeof offers_tests / sizeof *offers_tests;
const struct CMUnitTest offers_processes_tests[] = {TEST(sender_gone)};
const size_t offers_processes_count = 1;
