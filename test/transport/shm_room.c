/* shm_room.c: shared memory in a /dev/shm that is small, as in a container, or becomes so. Each
 * case runs twice: in a tmpfs of that size, mounted for one process only, and with a limit put
 * under the transport, since not every machine lets a test mount. */
#include "../fault/place.h"
#include "harness.h"
#include "shm/bell.h"
#include "shm/ring.h"
#include "shm/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u

const struct conformance_transport conformance_subject = {
    .name = "shm", .ops = &hark_shm_transport};

/* ---- a limit under the transport: the test is linked with --wrap for these ------------------- */

static uint64_t limit, used; /* bytes; limit 0: none */

int __real_madvise(void *at, size_t bytes, int advice);
int __wrap_madvise(void *at, size_t bytes, int advice);
int __wrap_madvise(void *at, size_t bytes, int advice)
{
    const int populate = 23; /* MADV_POPULATE_WRITE */
    if (limit == 0 || advice != populate) return __real_madvise(at, bytes, advice);
    if (used + bytes > limit) {
        errno = EFAULT;
        return -1;
    }
    used += bytes;
    return __real_madvise(at, bytes, advice);
}

int __real_statvfs64(const char *path, struct statvfs64 *to);
int __wrap_statvfs64(const char *path, struct statvfs64 *to);
int __wrap_statvfs64(const char *path, struct statvfs64 *to)
{
    int status = __real_statvfs64(path, to);
    if (limit == 0) return status;
    to->f_frsize = PAGE;
    to->f_blocks = limit / PAGE;
    to->f_bavail = to->f_bfree = used < limit ? (limit - used) / PAGE : 0;
    return status;
}

/* Takes all that is free, as another program may at any time. */
static void take_all(void)
{
    used = limit;
    if (limit) return;
    int fd = open("/dev/shm/taken", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    MUST(fd >= 0);
    uint64_t bytes = 0;
    for (uint64_t piece = 16 * MIB; piece >= PAGE; piece /= 2) /* what statvfs() says can be a
                                                                  little too much */
        while (fallocate(fd, 0, (off_t)bytes, (off_t)piece) == 0) bytes += piece;
    MUST(bytes > 0);
    close(fd);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void run(void (*child)(void), uint64_t bytes, bool mounted)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
        in_child = true;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!mounted) limit = bytes;
        else if (!place_disk("/dev/shm", bytes)) _exit(2);
        child();
        _exit(0);
    }
    MUST(waitpid(pid, &status, 0) == pid);
    if (mounted && WIFEXITED(status) && WEXITSTATUS(status) == 2) {
        fprintf(stderr, "*** no /dev/shm of its own here: only the limit that is put under the "
                        "transport is tested\n");
        return;
    }
    MUST(status == 0);
}

static void both_ways(void (*child)(void), uint64_t bytes)
{
    run(child, bytes, false);
    run(child, bytes, true);
}

/* One message of each kind from everybody to everybody: short ones, one as long as a record, long
 * ones. */
static void all_to_all(uint32_t count)
{
    static const uint64_t length[] = {8, 3000, 32000, 70000, 0, 200000};
    static struct end e[64];
    const size_t kinds = sizeof length / sizeof *length;
    struct job job;
    job_begin(&job, count);
    for (uint32_t i = 0; i < count; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, count);
    for (uint32_t from = 0; from < count; from++) /* who comes last must find some memory too */
        for (uint32_t to = 0; to < count; to++)
            for (size_t kind = 0; kind < kinds; kind++)
                if (from != to)
                    send_wholly(&e[from], to, 0, kind * count + from, 0, length[kind], &e[to], 1);
    for (uint32_t i = 0; i < count; i++) {
        until_count(&e[i], kinds * (count - 1), &e[i], 1);
        for (uint64_t id = 0; id < kinds * count; id++)
            MUST(end_heard(&e[i], id) == (id % count != i));
    }
    for (uint32_t i = 0; i < count; i++) end_close(&e[i]);
    job_end(&job);
}

static void sixteen(void)
{
    all_to_all(16);
}

static void sixty_four(void)
{
    all_to_all(64);
}

static void docker(void **state)
{
    (void)state;
    both_ways(sixteen, 64 * MIB);
    both_ways(sixty_four, 64 * MIB);
}

static void four_mebibytes(void **state)
{
    (void)state;
    both_ways(sixteen, 4 * MIB);
}

/* Headers as long as these need more than the first page of a ring, and there is none. */
static void sixteen_too_many(void)
{
    enum { COUNT = 16 };
    static struct end e[COUNT];
    size_t taken[COUNT] = {0};
    struct job job;
    int status = HARK_T_OK;
    char *error = NULL;
    job_begin(&job, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, COUNT);
    for (uint32_t from = 0; from < COUNT && status == HARK_T_OK; from++)
        for (uint32_t to = 0; to < COUNT && status == HARK_T_OK; to++) {
            struct parcel p;
            if (from == to) continue;
            parcel_make(&p, &e[from], to, 0, from, 6000, 100);
            while ((status = e[from].t->ops->send(e[from].t, &p.out)) == HARK_T_AGAIN)
                end_poll(&e[to]);
            taken[to] += status == HARK_T_OK;
            error = e[from].t->error;
            parcel_free(&p);
        }
    MUST(status == HARK_T_ESYSTEM);
    MUST(strstr(error, "shm: /dev/shm is full: ") == error &&
         strstr(error, " of 1024 KiB are free, "));
    MUST(strstr(error, " more are needed (1156 if all 16 processes talk to each other)"));
    MUST(strstr(error, "use --transport uv, --option ring=262144 or a larger /dev/shm"));
    for (uint32_t i = 0; i < COUNT; i++) until_count(&e[i], taken[i], &e[i], 1);
    for (uint32_t i = 0; i < COUNT; i++) end_close(&e[i]);
    conformance_subject.ops->sweep(job.name, job.directory);
    job_end(&job);
}

static void one_mebibyte(void **state)
{
    (void)state;
    both_ways(sixteen_too_many, MIB);
}

/* Two talk; then others take the memory, all of it; the two go on, with frames of any length. */
static void taken_meanwhile(void)
{
    struct job job;
    struct end e[2];
    uint64_t id = 1;
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    for (uint32_t i = 0; i < 2; i++) send_wholly(&e[i], 1 - i, 0, id++, 0, 100, e, 2);
    take_all();
    for (unsigned round = 0; round < 200; round++)
        for (uint32_t i = 0; i < 2; i++, id++)
            send_wholly(&e[i], 1 - i, 0, id, (uint32_t)(mix(id) % 2000), mix(id) % 100000, e, 2);
    for (uint32_t i = 0; i < 2; i++) send_wholly(&e[i], 1 - i, 0, id++, 0, 5 * MIB, e, 2);
    for (uint32_t i = 0; i < 2; i++) until_count(&e[i], 202, e, 2);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    (void)unlink("/dev/shm/taken");
    job_end(&job);
}

static void talk(struct job *job, uint32_t me, uint64_t says, uint64_t hears)
{
    struct end e;
    end_open(&e, job, me, 0);
    MUST(e.t->ops->peer(e.t, 1 - me, 0, "shm") == HARK_T_OK);
    for (uint64_t id = 1; id <= says; id++) {
        struct parcel p;
        parcel_make(&p, &e, 1 - me, 0, id, 0, id == 1 ? 10 : mix(id) % 1950);
        while (parcel_send(&p, &e) == HARK_T_AGAIN) {
            MUST(e.t->ops->wait(e.t, -1) == HARK_T_OK);
            end_poll(&e);
        }
        parcel_free(&p);
        while (id == 1 && e.count == 0) end_poll(&e);
        if (id == 1 && me == 0) take_all(); /* the other has a ring too now */
    }
    while (e.count < hears) {
        MUST(e.t->ops->wait(e.t, -1) == HARK_T_OK);
        end_poll(&e);
    }
    end_close(&e);
}

/* Who finds the ring full sleeps, and so does who finds it empty. Neither may oversleep, however
 * little memory the ring goes round in: this would hang. */
static void both_sleep(void)
{
    enum { COUNT = 20000 };
    struct job job;
    int status;
    job_begin(&job, 2);
    pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        talk(&job, 1, 1, COUNT);
        _exit(0);
    }
    talk(&job, 0, COUNT, 1);
    MUST(waitpid(pid, &status, 0) == pid && status == 0);
    (void)unlink("/dev/shm/taken");
    job_end(&job);
}

/* Who sleeps when the ring goes to its beginning has to see that, also where the frame itself must
 * wait. */
static void woken_by_the_beginning(void)
{
    struct job job;
    struct end e[2];
    unsigned waited = 0;
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    struct bell *bell = bell_open(job.name, (struct process){1, 0}, 2, false);
    MUST(bell != NULL);
    for (uint64_t id = 1; id < 5000; id++) {
        struct parcel p;
        parcel_make(&p, &e[0], 1, 0, id, 0, id == 1 ? 10 : mix(id) % 1950);
        atomic_store(&bell->asleep, (uint32_t)id); /* as if it slept */
        int status = parcel_send(&p, &e[0]);
        MUST(atomic_load(&bell->asleep) == 0);
        waited += status == HARK_T_AGAIN;
        until_count(&e[1], id - (status == HARK_T_AGAIN), &e[1], 1);
        end_poll(&e[1]);
        if (status == HARK_T_AGAIN) MUST(parcel_send(&p, &e[0]) == HARK_T_OK);
        until_count(&e[1], id, &e[1], 1);
        parcel_free(&p);
        if (id == 1) take_all();
    }
    MUST(waited > 0);
    bell_unmap(bell, 2);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    (void)unlink("/dev/shm/taken");
    job_end(&job);
}

static void full_meanwhile(void **state)
{
    (void)state;
    both_ways(taken_meanwhile, 16 * MIB);
    both_ways(both_sleep, 16 * MIB);
    both_ways(woken_by_the_beginning, 16 * MIB);
}

/* Of what can not be had whole nothing is kept. */
static void refused_whole(void)
{
    uint64_t all = 0, before = 0, after = 0;
    int descriptor;
    uint8_t *at = segment_make(4 * MIB, PAGE, &descriptor);
    MUST(at != NULL && segment_memory(&all, &before) && all == MIB);
    MUST(segment_reserve(at + PAGE, 4 * MIB - PAGE) < 0);
    MUST(segment_memory(&all, &after) && after == before);
    MUST(segment_leaves(before, 0) && segment_leaves(before - PAGE, PAGE) &&
         !segment_leaves(before, PAGE));
    segment_unmap(at, 4 * MIB);
    close(descriptor);
}

static void refused(void **state)
{
    (void)state;
    both_ways(refused_whole, MIB);
}

/* ---- the limit of the size of files holds for shared memory too ------------------------------ */

static void under_file_limit(uint64_t bytes, const char *error)
{
    struct job job;
    struct end e[2];
    struct parcel p;
    place_file_limit(bytes);
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) end_open(&e[i], &job, i, 0);
    ends_meet(e, 2);
    parcel_make(&p, &e[0], 1, 0, 1, 0, MIB);
    int status;
    while ((status = e[0].t->ops->send(e[0].t, &p.out)) == HARK_T_AGAIN) end_poll(&e[1]);
    MUST(status == (error ? HARK_T_ESYSTEM : HARK_T_OK));
    if (error) MUST(strstr(e[0].t->error, error));
    else until_count(&e[1], 1, e, 2);
    MUST(e[0].t->ops->lend(e[0].t, 4 * MIB) == NULL);
    parcel_free(&p);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(&job);
}

static void limit_of_300k(void)
{
    under_file_limit(300 * KIB, NULL);
}

static void limit_of_100k(void)
{
    under_file_limit(
        100 * KIB, "shm: 256 KiB of shared memory are over the file size limit (ulimit -f)");
}

static void file_limit(void **state)
{
    (void)state;
    run(limit_of_300k, 0, false);
    run(limit_of_100k, 0, false);
}

/* A frame that is half sent, in pieces that are read where they are kept, is kept elsewhere then:
 * the rest of it goes through the ring. */
static void lent_no_more(void **state)
{
    (void)state;
    enum { LENGTH = 150 << 20 };
    struct job job;
    struct end e[2];
    struct parcel p;
    char error[200];
    job_begin(&job, 2);
    for (uint32_t i = 0; i < 2; i++) {
        e[i] = (struct end){.me = i};
        end_config(&e[i].config, &job, i, 0, &e[i]);
        e[i].config.option[0] = 256 << 10;
        assert_int_equal(hark_shm_transport.open(&e[i].t, &e[i].config, error), HARK_T_OK);
    }
    ends_meet(e, 2);
    uint8_t *lent = hark_shm_transport.lend(e[0].t, LENGTH), *copy = malloc(LENGTH);
    assert_true(lent && copy);
    parcel_make(&p, &e[0], 1, 0, 1, 64, LENGTH);
    p.out.keep = lent;
    assert_int_equal(parcel_send(&p, &e[0]), HARK_T_AGAIN);
    assert_true(p.out.done > 0);
    memcpy(copy, p.out.part[0].at, LENGTH);
    p.out.part[0].at = p.out.keep = copy;
    int status;
    while ((status = parcel_send(&p, &e[0])) == HARK_T_AGAIN) ends_poll(e, 2);
    assert_int_equal(status, HARK_T_OK);
    until_count(&e[1], 1, e, 2); /* which checks every byte */
    assert_int_equal(e[1].t->figures.refused, 0);
    parcel_free(&p);
    free(copy);
    for (uint32_t i = 0; i < 2; i++) end_close(&e[i]);
    job_end(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(docker), cmocka_unit_test(four_mebibytes),
        cmocka_unit_test(one_mebibyte), cmocka_unit_test(full_meanwhile), cmocka_unit_test(refused),
        cmocka_unit_test(file_limit), cmocka_unit_test(lent_no_more)};
    hang_after(PATIENCE);
    return cmocka_run_group_tests_name("shm room", tests, NULL, NULL);
}
