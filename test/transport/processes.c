/* processes.c: real processes and real SIGKILL. Processes meet through a shared page, never by
 * time. */
#include "harness.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* How often somebody dies: less often where each process takes long to begin, unless all of it is
 * asked for. */
static uint32_t some_of(uint32_t times)
{
    return starts_slowly() && !getenv("HARK_TEST_ALL") ? times / 4 : times;
}

#define CHILDREN 8

struct page { /* shared by the parent and its children */
    struct {
        _Atomic uint32_t ready; /* incarnation + 1 whose address stands here */
        char address[200];
    } at[CHILDREN + 1];
    _Atomic uint64_t word[8]; /* what the tests agree on */
};

static struct page *page_new(void)
{
    struct page *page =
        mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(page != MAP_FAILED);
    return page;
}

static void announce(struct page *page, const struct end *e)
{
    const char *address = e->t->ops->address(e->t);
    MUST(address != NULL && strlen(address) < sizeof page->at[0].address);
    strcpy(page->at[e->me].address, address);
    atomic_store(&page->at[e->me].ready, e->inc + 1);
}

static void meet(struct page *page, struct end *e, uint32_t rank, uint32_t inc)
{
    while (atomic_load(&page->at[rank].ready) != inc + 1) sched_yield();
    MUST(e->t->ops->peer(e->t, rank, inc, page->at[rank].address) == HARK_T_OK);
}

static void await(_Atomic uint64_t *word, uint64_t value)
{
    while (atomic_load(word) < value) sched_yield();
}

static pid_t start(void (*child)(struct job *, struct page *, uint32_t me), struct job *job,
    struct page *page, uint32_t me)
{
    fflush(NULL);
    pid_t pid = fork();
    MUST(pid >= 0);
    if (pid > 0) return pid;
    in_child = true;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a parent that fails leaves no orphans that wait for ever */
    hang_after(CHILD_PATIENCE);
    child(job, page, me);
    _exit(0);
}

static void finish(pid_t pid)
{
    int status;
    MUST(waitpid(pid, &status, 0) == pid);
    MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void killed(pid_t pid)
{
    int status;
    MUST(kill(pid, SIGKILL) == 0);
    MUST(waitpid(pid, &status, 0) == pid);
    MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void wait_and_poll(struct end *e)
{
    MUST(e->t->ops->wait(e->t, -1) >= 0); /* what comes wakes it, or this hangs */
    end_poll(e);
}

/* ---- everybody to everybody ------------------------------------------------------------------ */

#define EACH 60

static void talks_to_all(struct job *job, struct page *page, uint32_t me)
{
    struct end e;
    end_open(&e, job, me, 0);
    announce(page, &e);
    for (uint32_t i = 0; i < CHILDREN; i++) meet(page, &e, i, 0);
    for (uint64_t k = 0; k < EACH; k++)
        for (uint32_t i = 0; i < CHILDREN; i++) {
            uint64_t id = (me * CHILDREN + i) * EACH + k;
            send_wholly(&e, i, 0, id, 0, mix(id) % (k % 16 == 3 ? 300000 : 2000), &e, 1);
        }
    while (e.count < CHILDREN * EACH) wait_and_poll(&e);
    MUST(e.count == CHILDREN * EACH);
    for (uint32_t i = 0; i < CHILDREN; i++)
        for (uint64_t k = 0; k < EACH; k++)
            MUST(end_heard(&e, (i * CHILDREN + me) * EACH + k) == 1);
    atomic_fetch_add(&page->word[0], 1);
    /* nobody closes before all have heard all */
    while (atomic_load(&page->word[0]) < CHILDREN || !e.t->ops->drained(e.t)) end_poll(&e);
    end_close(&e);
}

static void all_to_all(void **state)
{
    (void)state;
    struct job job;
    struct page *page = page_new();
    pid_t pid[CHILDREN];
    job_begin(&job, CHILDREN);
    for (uint32_t i = 0; i < CHILDREN; i++) pid[i] = start(talks_to_all, &job, page, i);
    for (uint32_t i = 0; i < CHILDREN; i++) finish(pid[i]);
    munmap(page, sizeof *page);
    job_end(&job);
}

/* ---- SIGKILL of the writer ------------------------------------------------------------------- */

/* Sends large frames for ever. word[0] counts them, word[1] the calls of send(). */
static void writes_for_ever(struct job *job, struct page *page, uint32_t me)
{
    struct end e;
    uint32_t inc = (uint32_t)atomic_load(&page->word[2]);
    end_open(&e, job, me, inc);
    announce(page, &e);
    meet(page, &e, 0, 0);
    for (uint64_t id = 1;; id++) {
        struct parcel p;
        uint64_t length = mix(id + inc * 977) % (id % 4 == 0 ? 200 : 3 * MIB);
        parcel_make(&p, &e, 0, 0, inc * 1000000ull + id, (uint32_t)(length % 5000), length);
        for (;;) {
            int status = parcel_send(&p, &e);
            atomic_fetch_add(&page->word[1], 1);
            if (status == HARK_T_OK) break;
            MUST(status == HARK_T_AGAIN);
            wait_and_poll(&e);
        }
        atomic_store(&page->word[0], id);
        parcel_free(&p);
    }
}

/* Whatever the instant of its death, the reader sees whole frames only, and of a half one broken().
 */
static void writer_killed(void **state)
{
    (void)state;
    const uint32_t times = some_of(40);
    struct job job;
    struct page *page = page_new();
    struct end e;
    job_begin(&job, 2);
    end_open(&e, &job, 0, 0);
    announce(page, &e);
    for (uint32_t inc = 0; inc < times; inc++) {
        atomic_store(&page->word[2], inc);
        atomic_store(&page->word[0], 0);
        atomic_store(&page->word[1], 0);
        size_t before = e.count;
        pid_t pid = start(writes_for_ever, &job, page, 1);
        meet(page, &e, 1, inc);
        /* the instant of death: after so many frames here, or calls there, or places given */
        size_t goal = (size_t)(mix(inc) % 9);
        size_t places = e.placed;
        switch (inc % 3) {
        case 0:
            while (e.count - before < goal) end_poll(&e);
            break;
        case 1:
            while (atomic_load(&page->word[1]) < goal) end_poll(&e);
            break;
        default:
            while (e.placed - places < 1 + goal / 3 || e.open_places == 0) end_poll(&e);
            break;
        }
        killed(pid);
        if (inc % 2)
            for (int i = 0; i < 3; i++) end_poll(&e); /* looking on before hearing of it */
        MUST(e.t->ops->peer(e.t, 1, inc + 1, NULL) == HARK_T_OK);
        while (e.open_places > 0) wait_and_poll(&e); /* peer() was the news that wait() wakes for */
        for (size_t i = before; i < e.count; i++)
            MUST(e.got[i].from_inc == inc && end_heard(&e, e.got[i].id) == 1);
    }
    end_close(&e);
    conformance_subject.ops->sweep(job.name, job.directory);
    munmap(page, sizeof *page);
    job_end(&job);
}

/* ---- SIGKILL of the reader ------------------------------------------------------------------- */

static void reads_for_ever(struct job *job, struct page *page, uint32_t me)
{
    struct end e;
    uint32_t inc = (uint32_t)atomic_load(&page->word[2]);
    end_open(&e, job, me, inc);
    announce(page, &e);
    meet(page, &e, 0, 0);
    for (;;) {
        wait_and_poll(&e);
        for (size_t i = 0; i < e.count; i++)
            MUST(e.got[i].id / 1000000 == inc); /* never another's */
        atomic_store(&page->word[0], e.count);
    }
}

/* The writer gets EGONE for the frame in hand once it is told, and the next incarnation hears only
 * its own. */
static void reader_killed(void **state)
{
    (void)state;
    const uint32_t times = some_of(25);
    struct job job;
    struct page *page = page_new();
    struct end e;
    job_begin(&job, 2);
    end_open(&e, &job, 0, 0);
    announce(page, &e);
    for (uint32_t inc = 0; inc < times; inc++) {
        atomic_store(&page->word[2], inc);
        atomic_store(&page->word[0], 0);
        pid_t pid = start(reads_for_ever, &job, page, 1);
        meet(page, &e, 1, inc);
        uint64_t id = inc * 1000000ull, goal = mix(inc) % 6;
        struct parcel p;
        for (;;) { /* until it has heard some and a frame is in hand, half sent */
            parcel_make(&p, &e, 1, inc, id, 0, mix(id) % (4 * MIB));
            id++;
            int status;
            while ((status = parcel_send(&p, &e)) == HARK_T_AGAIN &&
                   atomic_load(&page->word[0]) < goal)
                end_poll(&e);
            if (status == HARK_T_AGAIN) break;
            MUST(status == HARK_T_OK);
            parcel_free(&p);
        }
        killed(pid);
        int status;
        if (inc % 2) { /* it may still be taken, or not, or be known as gone: no harm, no hang */
            status = parcel_send(&p, &e);
            MUST(status == HARK_T_AGAIN || status == HARK_T_OK || status == HARK_T_EGONE);
        } else {
            status = HARK_T_AGAIN;
        }
        MUST(e.t->ops->peer(e.t, 1, inc + 1, NULL) == HARK_T_OK);
        if (status == HARK_T_AGAIN) MUST(parcel_send(&p, &e) == HARK_T_EGONE);
        parcel_free(&p);
    }
    end_close(&e);
    conformance_subject.ops->sweep(job.name, job.directory);
    munmap(page, sizeof *page);
    job_end(&job);
}

/* ---- many die, others go on ------------------------------------------------------------------ */

/* Talks to all, for ever, in small and large frames, and never looks whether they still live. */
static void talks_for_ever(struct job *job, struct page *page, uint32_t me)
{
    struct end e;
    end_open(&e, job, me, 0);
    announce(page, &e);
    for (uint32_t i = 0; i < CHILDREN; i++) meet(page, &e, i, 0);
    struct parcel p[CHILDREN];
    bool busy[CHILDREN] = {false};
    for (uint64_t id = me;; id += CHILDREN) {
        for (uint32_t i = 0; i < CHILDREN; i++) {
            if (!busy[i])
                parcel_make(&p[i], &e, i, 0, id, 0, mix(id * 5 + i) % (id % 3 ? 3000 : 500000));
            int status = parcel_send(&p[i], &e);
            busy[i] = status == HARK_T_AGAIN;
            if (!busy[i]) parcel_free(&p[i]);
        }
        end_poll(&e);
        atomic_fetch_add(&page->word[3], 1);
    }
}

static void a_massacre(void **state)
{
    (void)state;
    struct job job;
    struct page *page = page_new();
    pid_t pid[CHILDREN];
    job_begin(&job, CHILDREN);
    for (uint32_t i = 0; i < CHILDREN; i++) pid[i] = start(talks_for_ever, &job, page, i);
    for (uint32_t i = 0; i < CHILDREN; i++) { /* one after the other; those left must still move */
        await(&page->word[3], 40 * (i + 1));
        killed(pid[i]);
    }
    conformance_subject.ops->sweep(job.name, job.directory);
    conformance_subject.ops->sweep(job.name, job.directory);
    munmap(page, sizeof *page);
    job_end(&job);
}

/* ---- frames outlive nobody's restart --------------------------------------------------------- */

static void echoes_once(struct job *job, struct page *page, uint32_t me)
{
    struct end e;
    uint32_t inc = (uint32_t)atomic_load(&page->word[2]);
    end_open(&e, job, me, inc);
    announce(page, &e);
    meet(page, &e, 0, 0);
    while (e.count < 2) wait_and_poll(&e);
    send_wholly(&e, 0, 0, 5000000 + inc, 0, 100000, &e, 1);
    while (!e.t->ops->drained(e.t)) end_poll(&e);
    for (;;) wait_and_poll(&e); /* until it is killed */
}

/* A process dies and comes back many times; each incarnation gets what was sent to it before it was
 * there and after, and is heard. */
static void back_again(void **state)
{
    (void)state;
    struct job job;
    const uint32_t times = some_of(30);
    struct page *page = page_new();
    struct end e;
    job_begin(&job, 2);
    end_open(&e, &job, 0, 0);
    announce(page, &e);
    for (uint32_t inc = 0; inc < times; inc++) {
        atomic_store(&page->word[2], inc);
        MUST(e.t->ops->peer(e.t, 1, inc, NULL) == HARK_T_OK);
        send_wholly(&e, 1, inc, inc * 1000000ull, 0, 50, &e, 1);
        pid_t pid = start(echoes_once, &job, page, 1);
        meet(page, &e, 1, inc);
        send_wholly(&e, 1, inc, inc * 1000000ull + 1, 0, MIB, &e, 1);
        while (end_heard(&e, 5000000 + inc) == 0) wait_and_poll(&e);
        killed(pid);
    }
    end_close(&e);
    conformance_subject.ops->sweep(job.name, job.directory);
    munmap(page, sizeof *page);
    job_end(&job);
}

const struct CMUnitTest processes_tests[] = {
    TEST(all_to_all),
    TEST(writer_killed),
    TEST(reader_killed),
    TEST(a_massacre),
    TEST(back_again),
};
const size_t processes_count = sizeof processes_tests / sizeof *processes_tests;
