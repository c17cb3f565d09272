/* Images between the disks of two hosts: what comes of a past that was undone, what nobody asked
 * for, and what is damaged does not become an image here. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/agent/depot.h"
#include "../../src/agent/janitor.h"
#include "hark/store.h"

enum { RANK = 2, RANKS = 4, LONG = 16 << 20 }; /* LONG: more than a connection takes at once */

struct side { /* an agent, as far as it keeps images */
    struct agent a;
    char path[400], address[40];
    uint32_t came, came_not; /* image_came() */
    uint64_t holds;          /* the last of which it said that it has it, as a copy */
    uint64_t gone;           /* that it has it no more */
    uint64_t lacks;          /* that it could not keep */
    uint32_t flushed, tried; /* the last answer to FLUSH; answers */
    uint32_t lines;          /* for a person */
    char line[256];          /* the last of them */
};

struct both {
    char place[300];
    struct side from, to;
};

static int heard(void *of, const void *at, size_t length)
{
    struct side *x = of;
    struct hark_control m;
    const uint8_t *said = (const uint8_t *)at + HARK_SESSION_HEAD;
    assert_true(hark_control_parse(&m, said, length - HARK_SESSION_HEAD) > 0);
    if (m.type == HARK_A_SAY) {
        size_t n;
        const char *line = hark_control_gets(&m, &n);
        snprintf(x->line, sizeof x->line, "%.*s", (int)n, line);
        x->lines++;
    }
    if (m.type != HARK_A_HOLDS && m.type != HARK_A_FLUSHED) return 0;
    (void)hark_control_get32(&m);
    const uint64_t id = hark_control_get64(&m);
    const uint32_t what = hark_control_get32(&m);
    if (m.type == HARK_A_HOLDS && what == HARK_HOLDS_WHOLE) x->holds = id;
    if (m.type == HARK_A_HOLDS && what == HARK_HOLDS_GONE) x->gone = id;
    if (m.type == HARK_A_HOLDS && what == HARK_HOLDS_NOT) x->lacks = id;
    if (m.type == HARK_A_FLUSHED) {
        x->flushed = hark_control_get32(&m); /* `what` is the number of the set */
        x->tried++;
    }
    return 0;
}

static void image_came(struct agent *a, uint32_t rank, uint64_t id, bool whole)
{
    struct side *x = (struct side *)(void *)a; /* its first */
    assert_int_equal(rank, RANK);
    (void)id;
    x->came += whole;
    x->came_not += !whole;
}

static void open_side(struct side *x, const char *place, const char *name)
{
    char error[256];
    snprintf(x->path, sizeof x->path, "%s/%s", place, name);
    x->a.job.ranks = RANKS;
    x->a.job.job = "copies";
    x->a.store_path = x->path;
    x->a.image_came = image_came;
    x->a.silent_ms = 60000;
    assert_int_equal(uv_loop_init(&x->a.loop), 0);
    assert_true(hark_session_join(&x->a.session, heard, x, 0));
    assert_int_equal(
        hark_store_open_directory(&x->a.store, x->path, "copies", RANKS, true, error), HARK_S_OK);
    x->a.store_fd = open(x->path, O_RDONLY | O_DIRECTORY);
    assert_true(x->a.store_fd >= 0);
    assert_true(hark_depot_open(&x->a, error));
    snprintf(x->address, sizeof x->address, "127.0.0.1:%u", hark_depot_port(&x->a));
}

static void close_side(struct side *x)
{
    hark_depot_close(&x->a);
    while (uv_run(&x->a.loop, UV_RUN_NOWAIT)) {
    }
    assert_int_equal(uv_loop_close(&x->a.loop), 0);
    x->a.store->ops->close(x->a.store);
    close(x->a.store_fd);
    hark_session_free(&x->a.session);
}

static int setup(void **state)
{
    struct both *b = calloc(1, sizeof *b);
    assert_non_null(b);
    snprintf(b->place, sizeof b->place, "/tmp/hark-depot.XXXXXX");
    assert_non_null(mkdtemp(b->place));
    open_side(&b->from, b->place, "from");
    open_side(&b->to, b->place, "to");
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct both *b = *state;
    close_side(&b->from);
    close_side(&b->to);
    hark_remove_tree(b->place);
    free(b);
    return 0;
}

static void write_image(struct both *b, uint64_t id)
{
    static uint8_t much[LONG];
    const struct hark_section section = {.id = 1, .at = much, .length = sizeof much};
    memcpy(much, &id, sizeof id);
    assert_int_equal(
        b->from.a.store->ops->write(b->from.a.store, RANK, id, &section, 1), HARK_S_OK);
}

static bool is_there(struct both *b, uint64_t id)
{
    return b->to.a.store->ops->verify(b->to.a.store, RANK, id) == HARK_S_OK;
}

static void turn(struct both *b)
{
    (void)uv_run(&b->from.a.loop, UV_RUN_NOWAIT);
    (void)uv_run(&b->to.a.loop, UV_RUN_NOWAIT);
}

static void files_end_at(rlim_t bytes)
{
    struct rlimit l;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
    l.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

/* A copy of that round. What was sent before it has come when it is there. */
static void copy(struct both *b, uint64_t id, uint32_t round)
{
    write_image(b, id);
    b->to.holds = 0;
    hark_depot_copy(&b->from.a, RANK, id, b->to.address, round);
    while (b->to.holds != id) turn(b);
    assert_true(is_there(b, id));
}

static void copies_of_an_undone_past(void **state)
{
    struct both *b = *state;
    copy(b, 4, 3);
    write_image(b, 5);
    hark_depot_undo(&b->to.a, RANK, 4, 3);
    hark_depot_copy(&b->from.a, RANK, 5, b->to.address, 3); /* its host has not heard of it yet */
    copy(b, 6, 4);
    assert_false(is_there(b, 5));
    assert_true(is_there(b, 4));
    copy(b, 5, 5); /* another image of that number */
}

static void copies_on_their_way(void **state)
{
    struct both *b = *state;
    char coming[500];
    write_image(b, 5);
    hark_depot_copy(&b->from.a, RANK, 5, b->to.address, 1);
    snprintf(coming, sizeof coming, "%s/in/0", b->to.path);
    while (access(coming, F_OK) < 0) turn(b);
    assert_false(is_there(b, 5));
    hark_depot_undo(&b->to.a, RANK, 4, 1);
    assert_int_equal(access(coming, F_OK), -1);
    copy(b, 6, 2);
    assert_false(is_there(b, 5));
}

/* A piece of which only a part fits: why is what the rest of it meets. */
static void no_room_for_a_copy(void **state)
{
    struct both *b = *state;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    for (uint32_t n = 1; n <= 2; n++) {
        for (uint64_t id = 3 * n; id < 3 * n + 2; id++) write_image(b, id);
        files_end_at(1000000);
        for (uint64_t id = 3 * n; id < 3 * n + 2; id++) {
            hark_depot_copy(&b->from.a, RANK, id, b->to.address, n);
            while (b->to.lacks != id) turn(b);
        }
        files_end_at(RLIM_INFINITY);
        assert_int_equal(b->to.lines, n); /* once, until there is room again */
        assert_non_null(strstr(b->to.line, strerror(EFBIG)));
        copy(b, 3 * n + 2, n);
    }
    (void)signal(SIGXFSZ, before);
}

static void asked_for_and_undone(void **state)
{
    struct both *b = *state;
    write_image(b, 3);
    hark_depot_get(&b->to.a, RANK, 3, b->from.address);
    while (b->to.came == 0) turn(b);
    assert_true(is_there(b, 3));
    write_image(b, 5);
    hark_depot_get(&b->to.a, RANK, 5, b->from.address); /* said at once: they are connected */
    hark_depot_undo(&b->to.a, RANK, 4, 0);
    assert_int_equal(b->to.came_not, 1);
    write_image(b, 4);
    hark_depot_get(&b->to.a, RANK, 4, b->from.address);
    while (b->to.came < 2) turn(b);
    assert_true(is_there(b, 4));
    assert_false(is_there(b, 5));
    assert_int_equal(b->to.came_not, 1);
}

static void write_damaged(struct both *b, uint64_t id)
{
    char path[500];
    write_image(b, id);
    snprintf(path, sizeof path, "%s/r%d/%d", b->from.path, RANK, (int)id);
    const int fd = open(path, O_WRONLY);
    const off_t last = lseek(fd, -1, SEEK_END);
    assert_int_equal(pwrite(fd, "\xa5", 1, last), 1);
    close(fd);
    assert_int_equal(b->from.a.store->ops->verify(b->from.a.store, RANK, id), HARK_S_EDAMAGED);
}

static void damaged(void **state)
{
    struct both *b = *state;
    write_damaged(b, 5);
    hark_depot_copy(&b->from.a, RANK, 5, b->to.address, 1);
    copy(b, 6, 1);
    assert_int_equal(b->to.a.store->ops->verify(b->to.a.store, RANK, 5), HARK_S_ENONE);
    hark_depot_get(&b->to.a, RANK, 5, b->from.address);
    while (b->to.came_not == 0) turn(b);
    assert_int_equal(b->to.came, 0);
}

/* All of it has come, and it has no name yet. */
static void come(struct both *b, uint64_t id, uint32_t round)
{
    write_image(b, id);
    b->to.holds = 0;
    hark_depot_copy(&b->from.a, RANK, id, b->to.address, round);
    while (b->to.a.depot->placing == NULL) turn(b);
}

static void undone_while_it_is_verified(void **state)
{
    struct both *b = *state;
    copy(b, 4, 1);
    come(b, 5, 2);
    hark_depot_undo(&b->to.a, RANK, 4, 2);
    assert_null(b->to.a.depot->placing);
    copy(b, 6, 3);
    assert_false(is_there(b, 5));
    come(b, 7, 4);
    hark_depot_undo(&b->to.a, RANK, 4, 3); /* of before it */
    while (b->to.holds != 7) turn(b);
    assert_true(is_there(b, 7));
    assert_false(is_there(b, 6));
}

static void its_host_dies_while_it_is_verified(void **state)
{
    struct both *b = *state;
    come(b, 5, 1);
    hark_peers_close(&b->from.a);
    while (b->to.holds != 5) turn(b);
    assert_true(is_there(b, 5));
}

static void its_own_end_while_it_is_verified(void **state)
{
    struct both *b = *state;
    char coming[500];
    come(b, 5, 1);
    snprintf(coming, sizeof coming, "%s/in/0", b->to.path);
    assert_int_equal(access(coming, F_OK), 0);
    hark_peers_close(&b->to.a);
    assert_int_equal(access(coming, F_OK), -1);
    while (uv_run(&b->to.a.loop, UV_RUN_NOWAIT) && b->to.a.loop.active_reqs.count) {
    }
    assert_false(is_there(b, 5));
}

static void one_that_is_here(void **state)
{
    struct both *b = *state;
    copy(b, 5, 1);
    hark_depot_check(&b->to.a, RANK, 5);
    assert_int_equal(b->to.came + b->to.came_not, 0);
    while (b->to.came == 0) turn(b);
    hark_depot_check(&b->to.a, RANK, 5);
    hark_depot_undo(&b->to.a, RANK, 4, 1); /* the process has been told before */
    hark_depot_check(&b->to.a, RANK, 6);
    while (b->to.came_not == 0) turn(b);
    assert_int_equal(b->to.came, 1);
}

/* To the store that all hosts share; what is damaged here is looked for elsewhere. */
static void flushed(void **state)
{
    struct both *b = *state;
    struct agent *a = &b->from.a;
    char shared[400], error[256];
    struct hark_store *store;
    snprintf(shared, sizeof shared, "%s/shared", b->place);
    a->job.store = shared;
    assert_true(hark_shared_open(a));
    write_image(b, 4);
    hark_shared_flush(a, RANK, 4, 1);
    while (b->from.tried == 0) turn(b);
    assert_int_equal(b->from.flushed, HARK_FLUSHED);
    write_damaged(b, 5);
    hark_shared_flush(a, RANK, 5, 2);
    while (b->from.tried == 1) turn(b);
    assert_int_equal(b->from.flushed, HARK_FLUSHED_NONE);
    assert_int_equal(b->from.gone, 5);
    hark_shared_flush(a, RANK, 6, 3); /* that there never was */
    while (b->from.tried == 2) turn(b);
    assert_int_equal(b->from.flushed, HARK_FLUSHED_NONE);
    assert_int_equal(b->from.gone, 6);
    hark_shared_close(a);
    assert_int_equal(a->store->ops->verify(a->store, RANK, 5), HARK_S_ENONE);
    assert_int_equal(hark_store_open_directory(&store, shared, "copies", RANKS, false, error), 0);
    assert_int_equal(store->ops->verify(store, RANK, 4), HARK_S_OK);
    assert_int_equal(store->ops->verify(store, RANK, 5), HARK_S_ENONE);
    store->ops->close(store);
}

/* Beats wait for the turn in which pieces are read and encrypted: it is a short one, however much
 * is to be sent. */
static void short_turns(void **state)
{
    struct both *b = *state;
    uint64_t most = 0, before = 0;
    write_image(b, 5);
    hark_depot_copy(&b->from.a, RANK, 5, b->to.address, 1);
    const struct hark_peer *p = b->from.a.depot->peer;
    assert_non_null(p);
    while (p->sending) {
        turn(b);
        const uint64_t at = p->sending ? p->sending->at : before;
        if (at - before > most) most = at - before;
        before = at;
    }
    assert_in_range(most, 1, 3 << 19);
    while (b->to.holds != 5) turn(b);
}

/* ---- what is dropped --------------------------------------------------------------------------
 */

/* Images of that store, and copies on their way, which have no name any more and are open here. */
static uint32_t nameless(const struct side *x)
{
    uint32_t count = 0;
    DIR *all = opendir("/proc/self/fd");
    assert_non_null(all);
    for (const struct dirent *e; (e = readdir(all)) != NULL;) {
        char where[600];
        const ssize_t n = readlinkat(dirfd(all), e->d_name, where, sizeof where - 1);
        if (n <= 0) continue;
        where[n] = 0;
        count += strncmp(where, x->path, strlen(x->path)) == 0 && strstr(where, " (deleted)");
    }
    closedir(all);
    return count;
}

static sem_t busy;
static int ended;

static void wait_till_free(uv_work_t *w)
{
    (void)w;
    while (sem_wait(&busy) < 0 && errno == EINTR) {
    }
}

static void is_free(uv_work_t *w, int cancelled)
{
    (void)w, (void)cancelled;
    ended++;
}

/* The names go at once. The bytes are not freed by the loop, which a disk could hold up; so they
 * are there while the threads are busy. */
static void freed_by_a_thread(void **state)
{
    enum { THREADS = 4 }; /* of libuv: main() */
    static uv_work_t work[THREADS];
    struct both *b = *state;
    char coming[500];
    copy(b, 4, 3);
    copy(b, 5, 3);
    write_image(b, 6);
    hark_depot_copy(&b->from.a, RANK, 6, b->to.address, 3);
    snprintf(coming, sizeof coming, "%s/in/2", b->to.path);
    while (access(coming, F_OK) < 0) turn(b);
    ended = 0;
    assert_int_equal(sem_init(&busy, 0, 0), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(uv_queue_work(&b->to.a.loop, &work[i], wait_till_free, is_free), 0);
    hark_depot_drop(&b->to.a, RANK, 5);
    const uint32_t dropped = nameless(&b->to);
    hark_depot_undo(&b->to.a, RANK, 4, 3);
    hark_depot_undo(&b->to.a, RANK, 4, 4); /* it is not placed any more */
    const uint32_t all = nameless(&b->to);
    for (int i = 0; i < THREADS; i++) sem_post(&busy);
    assert_int_equal(dropped, 1);
    assert_int_equal(all, 3);
    assert_int_equal(access(coming, F_OK), -1);
    assert_false(is_there(b, 4));
    assert_false(is_there(b, 5));
    while (nameless(&b->to)) turn(b);
    while (ended < THREADS) turn(b);
    sem_destroy(&busy);
}

int main(void)
{
    (void)setenv("UV_THREADPOOL_SIZE", "4", 1);
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {TEST(copies_of_an_undone_past), TEST(copies_on_their_way),
        TEST(no_room_for_a_copy), TEST(asked_for_and_undone), TEST(damaged),
        TEST(undone_while_it_is_verified), TEST(its_host_dies_while_it_is_verified),
        TEST(its_own_end_while_it_is_verified), TEST(one_that_is_here), TEST(flushed),
        TEST(short_turns), TEST(freed_by_a_thread)};
    return cmocka_run_group_tests_name("depot", tests, NULL, NULL);
}
