/* store_system.c: the directory store when the system fails or the process dies. */
#include "hark/store.h"
#include "place.h"
#include "wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char place[256], error[256];
static int incarnation = -1; /* as which it is written; -1: nobody says */

static int set_up(void **state)
{
    (void)state;
    place_make(place);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fault_disarm();
    incarnation = -1;
    place_remove(place);
    return 0;
}

static struct hark_store *open_store(void)
{
    struct hark_store *s;
    int status = hark_store_open_directory(&s, place, "ring", 4, false, error);
    if (status != HARK_S_OK) print_error("%s\n", error);
    assert_int_equal(status, HARK_S_OK);
    if (incarnation >= 0)
        assert_int_equal(hark_store_write_as(s, (uint32_t)incarnation), HARK_S_OK);
    return s;
}

/* An image of generation g: two sections of `length` bytes whose every byte says g. */
static int write_generation(struct hark_store *s, uint64_t id, uint8_t g, size_t length)
{
    uint8_t *bytes = malloc(length);
    if (!bytes) abort();
    memset(bytes, g, length);
    struct hark_section section[2] = {{.tag = 1, .id = g, .at = bytes, .length = length},
        {.tag = 2, .id = g, .at = bytes, .length = length / 2}};
    int status = s->ops->write(s, 1, id, section, 2);
    int saved = errno;
    free(bytes);
    errno = saved;
    return status;
}

/* The generation of an image that is whole, 0 if there is none. */
static uint8_t generation(struct hark_store *s, uint64_t id)
{
    const struct hark_section *section;
    uint32_t count;
    void *handle;
    int status = s->ops->read(s, 1, id, &section, &count, &handle);
    if (status == HARK_S_ENONE) return 0;
    if (status != HARK_S_OK) print_error("%s\n", s->error);
    assert_int_equal(status, HARK_S_OK);
    assert_int_equal(count, 2);
    uint8_t g = (uint8_t)section[0].id;
    for (uint32_t i = 0; i < 2; i++)
        for (uint64_t k = 0; k < section[i].length; k++)
            assert_int_equal(((const uint8_t *)section[i].at)[k], g);
    s->ops->release(s, handle);
    return g;
}

static void assert_no_leftovers(void)
{
    char path[300];
    snprintf(path, sizeof path, "%s/tmp", place);
    assert_true(place_count(path) <= 0);
}

/* SIGKILL before and after (in the middle of, for writes) every system call of a write, of a new
 * image and of one that replaces: what is found is the old or the new one, whole, and the leftovers
 * go at the next open. */
static void kill_writer(
    enum fault_kind kind, uint64_t id, uint8_t before, unsigned *old, unsigned *new)
{
    for (unsigned n = 1;; n++) {
        struct hark_store *s = open_store();
        assert_int_equal(s->ops->drop(s, 1, id), HARK_S_OK);
        if (before) assert_int_equal(write_generation(s, id, before, 100), HARK_S_OK);
        s->ops->close(s);
        pid_t child = fork();
        if (child == 0) {
            struct hark_store *mine;
            if (hark_store_open_directory(&mine, place, "ring", 4, false, error) != HARK_S_OK)
                _exit(9);
            if (incarnation >= 0) (void)hark_store_write_as(mine, (uint32_t)incarnation);
            fault_arm(FAULT_SYSTEM, kind, n, 0);
            _exit(write_generation(mine, id, 99, (size_t)3 << 20) == HARK_S_OK ? 0 : 8);
        }
        int how;
        assert_int_equal(waitpid(child, &how, 0), child);
        s = open_store();
        assert_no_leftovers();
        uint8_t g = generation(s, id);
        s->ops->close(s);
        if (WIFEXITED(how)) {
            assert_int_equal(WEXITSTATUS(how), 0);
            assert_int_equal(g, 99);
            break;
        }
        assert_int_equal(WTERMSIG(how), SIGKILL);
        assert_true(g == before || g == 99);
        *(g == 99 ? new : old) += 1;
    }
}

static void test_torn_write(void **state)
{
    (void)state;
    unsigned old = 0, new = 0;
    kill_writer(FAULT_KILL_BEFORE, 1, 7, &old, &new);
    kill_writer(FAULT_KILL_AFTER, 1, 7, &old, &new);
    kill_writer(FAULT_KILL_BEFORE, 2, 0, &old, &new);
    kill_writer(FAULT_KILL_AFTER, 2, 0, &old, &new);
    assert_true(old > 20 && new >= 4); /* deaths on both sides of the rename were seen */
}

static void test_torn_write_of_an_incarnation(void **state)
{
    incarnation = 2;
    test_torn_write(state);
}

/* The same for the very first opening of a store. */
static void test_torn_open(void **state)
{
    (void)state;
    unsigned deaths = 0;
    for (int kind = FAULT_KILL_BEFORE; kind <= FAULT_KILL_AFTER; kind++)
        for (unsigned n = 1;; n++) {
            pid_t child = fork();
            if (child == 0) {
                struct hark_store *mine;
                fault_arm(FAULT_SYSTEM, (enum fault_kind)kind, n, 0);
                _exit(hark_store_open_directory(&mine, place, "ring", 4, false, error) == HARK_S_OK
                          ? 0
                          : 8);
            }
            int how;
            assert_int_equal(waitpid(child, &how, 0), child);
            struct hark_store *s;
            assert_int_equal(
                hark_store_open_directory(&s, place, "ring", 4, true, error), HARK_S_OK);
            assert_no_leftovers();
            s->ops->close(s);
            place_remove(place);
            assert_int_equal(mkdir(place, 0700), 0);
            if (WIFEXITED(how)) {
                assert_int_equal(WEXITSTATUS(how), 0);
                break;
            }
            deaths++;
        }
    assert_true(deaths > 10);
}

/* Every system call of a write fails in turn. The image found then is whole, and is the old one
 * unless the very last sync is what failed; nothing stays behind. */
static void test_every_call_fails(void **state)
{
    (void)state;
    struct hark_store *s = open_store();
    assert_int_equal(write_generation(s, 1, 1, 100), HARK_S_OK);
    s->ops->close(s);
    unsigned failures = 0, late = 0;
    uint8_t g = 1;
    for (int kind = FAULT_FAIL; kind <= FAULT_FAIL_ON; kind++)
        for (unsigned n = 1;; n++) {
            s = open_store();
            int before = place_descriptors();
            uint8_t next = (uint8_t)(g % 100 + 1);
            fault_arm(FAULT_SYSTEM, (enum fault_kind)kind, n, EIO);
            int status = write_generation(s, 1, next, 3000);
            unsigned calls = fault_disarm();
            assert_int_equal(place_descriptors(), before);
            uint8_t found = generation(s, 1);
            if (status != HARK_S_OK) {
                assert_int_equal(status, HARK_S_ESYSTEM);
                assert_non_null(strstr(s->error, strerror(EIO)));
                assert_non_null(strstr(s->error, place));
                assert_true(found == g || found == next);
                failures++;
                late += found == next;
            } else {
                assert_int_equal(found, next);
            }
            g = found;
            s->ops->close(s);
            if (calls < n) break;
        }
    s = open_store();
    s->ops->close(s);
    assert_no_leftovers();
    assert_true(failures > 10);
    assert_int_equal(late, 2); /* only the sync of the directory, once of each kind */
}

static void test_every_call_of_an_incarnation_fails(void **state)
{
    incarnation = 2;
    test_every_call_fails(state);
}

/* A file system without links: who wrote what is there is looked at all the same. */
static void test_no_links(void **state)
{
    (void)state;
    incarnation = 1;
    struct hark_store *late = open_store();
    incarnation = 0;
    struct hark_store *early = open_store();
    assert_int_equal(write_generation(late, 2, 2, 10), HARK_S_OK);
    assert_int_equal(write_generation(early, 1, 1, 10), HARK_S_OK); /* its directory is synced */
    fault_arm(FAULT_SYSTEM, FAULT_FAIL, 0, 0);
    assert_int_equal(write_generation(early, 1, 1, 10), HARK_S_OK);
    fault_disarm();
    const char *link = strchr(fault_trace(), 'k');
    assert_non_null(link);
    const unsigned n = (unsigned)(link - fault_trace()) + 1;
    const int errors[] = {EPERM, ENOTSUP, ENOSYS, EMLINK};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        fault_arm(FAULT_SYSTEM, FAULT_FAIL, n, errors[i]);
        assert_int_equal(write_generation(early, 1, (uint8_t)(i + 3), 10), HARK_S_OK);
        fault_disarm();
        assert_int_equal(generation(early, 1), i + 3);
        fault_arm(FAULT_SYSTEM, FAULT_FAIL, n, errors[i]);
        assert_int_equal(write_generation(early, 2, 1, 10), HARK_S_EINVAL);
        fault_disarm();
        assert_int_equal(generation(early, 2), 2);
    }
    fault_arm(FAULT_SYSTEM, FAULT_FAIL, n, EIO);
    assert_int_equal(write_generation(early, 1, 9, 10), HARK_S_ESYSTEM);
    fault_disarm();
    assert_int_equal(generation(early, 1), 6);
    early->ops->close(early);
    late->ops->close(late);
    assert_no_leftovers();
}

static void test_every_call_of_open_and_read_fails(void **state)
{
    (void)state;
    unsigned failures = 0;
    for (unsigned n = 1;; n++) {
        struct hark_store *s;
        place_remove(place);
        assert_int_equal(mkdir(place, 0700), 0);
        int before = place_descriptors();
        fault_arm(FAULT_SYSTEM, FAULT_FAIL, n, EIO);
        int status = hark_store_open_directory(&s, place, "ring", 4, false, error);
        if (status == HARK_S_OK) {
            uint8_t byte = 1;
            struct hark_section section = {.at = &byte, .length = 1};
            const struct hark_section *got;
            uint32_t count;
            uint64_t id;
            void *handle;
            status = s->ops->write(s, 0, 1, &section, 1);
            if (status == HARK_S_OK) status = s->ops->read(s, 0, 1, &got, &count, &handle);
            if (status == HARK_S_OK) s->ops->release(s, handle);
            if (status == HARK_S_OK && s->ops->list(s, 0, &id, 1) != 1) status = HARK_S_ESYSTEM;
            if (status == HARK_S_OK) status = s->ops->drop(s, 0, 1);
            s->ops->close(s);
        } else {
            assert_null(s);
            assert_non_null(strstr(error, place));
        }
        unsigned calls = fault_disarm();
        assert_int_equal(place_descriptors(), before);
        if (status != HARK_S_OK) {
            assert_int_equal(status, HARK_S_ESYSTEM);
            failures++;
        }
        if (calls < n) break;
    }
    assert_true(failures > 20);
}

static void test_every_allocation_fails(void **state)
{
    (void)state;
    unsigned failures = 0;
    for (unsigned n = 1;; n++) {
        struct hark_store *s;
        uint8_t byte = 42;
        struct hark_section section = {.tag = 3, .at = &byte, .length = 1};
        int before = place_descriptors(), status;
        fault_arm(FAULT_MEMORY, FAULT_FAIL, n, ENOMEM);
        status = hark_store_open_directory(&s, place, "ring", 4, false, error);
        if (status == HARK_S_OK) {
            status = s->ops->write(s, 0, 1, &section, 1);
            if (status == HARK_S_OK) status = s->ops->verify(s, 0, 1);
            if (status != HARK_S_OK) assert_non_null(strstr(s->error, "memory"));
            s->ops->close(s);
        } else {
            assert_non_null(strstr(error, "memory"));
        }
        unsigned calls = fault_disarm();
        assert_int_equal(place_descriptors(), before);
        if (calls < n) {
            assert_int_equal(status, HARK_S_OK);
            break;
        }
        assert_int_equal(status, HARK_S_ESYSTEM);
        failures++;
    }
    assert_true(failures >= 4);
    assert_no_leftovers();
}

/* Every call interrupted first, every read and write a few bytes only. */
static void test_interrupted_and_short(void **state)
{
    (void)state;
    fault_arm(FAULT_SYSTEM, FAULT_TRICKLE, 0, 0);
    struct hark_store *s = open_store();
    assert_int_equal(write_generation(s, 1, 5, 1000), HARK_S_OK);
    assert_int_equal(generation(s, 1), 5);
    assert_true(fault_disarm() > 500);
    assert_int_equal(generation(s, 1), 5);
    s->ops->close(s);
}

/* No test can pull the plug. But what must be on the disk before what is known: the bytes before
 * the name, the name before we say that it is there, and the directory of a rank before that, also
 * if somebody else has made it. */
static void test_order_of_syncs(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        struct hark_store *s = open_store();
        if (round == 2) assert_int_equal(write_generation(s, 1, 1, 10), HARK_S_OK);
        fault_arm(FAULT_SYSTEM, FAULT_FAIL, 0, 0);
        assert_int_equal(write_generation(s, 1, 1, 10), HARK_S_OK);
        fault_disarm();
        assert_string_equal(fault_trace(), round == 0   ? "omosolwsrs"
                                           : round == 1 ? "omosolwsrs"
                                                        : "omoolwsrs");
        s->ops->close(s);
    }
    place_remove(place);
    fault_arm(FAULT_SYSTEM, FAULT_FAIL, 0, 0);
    struct hark_store *s = open_store(); /* its parent, its temporary, the link, itself */
    fault_disarm();
    s->ops->close(s);
    const char *linked = strchr(fault_trace(), 'k');
    assert_true(fault_trace()[0] == 'o' && fault_trace()[1] == 's');
    assert_non_null(linked);
    assert_memory_equal(linked - 2, "wsks", 4);
}

static void fill_and_go_on(struct hark_store *s, const char *words, void (*room)(void))
{
    assert_int_equal(write_generation(s, 1, 1, 200 << 10), HARK_S_OK);
    for (uint8_t g = 2; g < 5; g++) {
        assert_int_equal(write_generation(s, 1, g, 3 << 20), HARK_S_ESYSTEM);
        assert_non_null(strstr(s->error, words));
        assert_int_equal(write_generation(s, g, g, 3 << 20), HARK_S_ESYSTEM);
        assert_int_equal(generation(s, 1), 1);
        assert_int_equal(generation(s, g), 0);
        assert_no_leftovers();
    }
    room();
    assert_int_equal(write_generation(s, 1, 9, 300 << 10), HARK_S_OK);
    assert_int_equal(generation(s, 1), 9);
}

static void nothing(void)
{
}

static void test_full_disk(void **state)
{
    (void)state;
    if (!place_disk(place, 1 << 20)) skip();
    struct hark_store *s = open_store();
    fill_and_go_on(s, strerror(ENOSPC), nothing);
    s->ops->close(s);
}

static void test_file_limit(void **state)
{
    (void)state;
    struct hark_store *s = open_store();
    place_file_limit(1 << 20);
    fill_and_go_on(s, "File too large: over the file size limit (ulimit -f)", place_file_limit_off);
    s->ops->close(s);
}

static void assert_refuses(struct hark_store *s, const char *words)
{
    assert_int_equal(write_generation(s, 1, 2, 100), HARK_S_ESYSTEM);
    assert_non_null(strstr(s->error, words));
    assert_non_null(strstr(s->error, place));
}

static void test_read_only(void **state)
{
    (void)state;
    struct hark_store *s;
    if (!place_disk(place, 1 << 20)) skip();
    s = open_store();
    assert_int_equal(write_generation(s, 1, 1, 100), HARK_S_OK);
    assert_true(place_disk_readonly(place));
    assert_refuses(s, strerror(EROFS));
    assert_int_equal(s->ops->drop(s, 1, 1), HARK_S_ESYSTEM);
    assert_int_equal(generation(s, 1), 1);
    s->ops->close(s);
    s = open_store(); /* what is there can be read */
    assert_int_equal(generation(s, 1), 1);
    s->ops->close(s);
    char path[300];
    snprintf(path, sizeof path, "%s/new", place);
    assert_int_equal(hark_store_open_directory(&s, path, "ring", 4, false, error), HARK_S_ESYSTEM);
    assert_null(s);
    assert_non_null(strstr(error, strerror(EROFS)));
}

static void test_no_permission(void **state)
{
    (void)state;
    char rank[300];
    struct hark_store *s = open_store();
    snprintf(rank, sizeof rank, "%s/r1", place);
    bool root = geteuid() == 0;
    assert_int_equal(write_generation(s, 1, 1, 100), HARK_S_OK);
    assert_int_equal(chmod(rank, 0500), 0);
    if (root && seteuid(65534) < 0) { /* permissions stop nobody who is root, so be somebody else */
        print_message("*** SKIPPED: can not become another user, and root may write everywhere\n");
        s->ops->close(s);
        skip();
    }
    assert_refuses(s, strerror(EACCES));
    if (root) assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(rank, 0700), 0);
    assert_int_equal(generation(s, 1), 1);
    s->ops->close(s);
}

static void test_vanished(void **state)
{
    (void)state;
    char path[300];
    struct hark_store *s = open_store();
    assert_int_equal(write_generation(s, 1, 1, 100), HARK_S_OK);
    place_remove(place);
    assert_refuses(s, strerror(ENOENT));
    assert_int_equal(generation(s, 1), 0);
    s->ops->close(s);
    snprintf(path, sizeof path, "%s/below", place);
    assert_int_equal(hark_store_open_directory(&s, path, "ring", 4, false, error), HARK_S_ESYSTEM);
    assert_non_null(strstr(error, path));
    FILE *f = fopen(place, "w");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(hark_store_open_directory(&s, place, "ring", 4, false, error), HARK_S_ESYSTEM);
    assert_non_null(strstr(error, strerror(ENOTDIR)));
}

/* Several processes open the store for the first time at once, and write while others open and
 * clean: nobody's file is taken for a leftover. */
static void test_together(void **state)
{
    (void)state;
    enum { WRITERS = 3, WRITES = 60, OPENS = 300 };
    pid_t child[WRITERS + 1];
    int start[2];
    char byte;
    if (!place_disk(place, 64 << 20))
        print_message("(goes on with the disk of the machine: slower)\n");
    assert_int_equal(pipe(start), 0);
    for (int i = 0; i <= WRITERS; i++) {
        child[i] = fork();
        if (child[i] != 0) continue;
        close(start[1]);
        while (read(start[0], &byte, 1) < 0) {
        }
        struct hark_store *s;
        for (int k = 0; k < (i < WRITERS ? WRITES : OPENS); k++) {
            if (hark_store_open_directory(&s, place, "ring", 4, false, error) != HARK_S_OK)
                _exit(7);
            if (i < WRITERS && write_generation(s, 1 + (uint64_t)i, (uint8_t)k, 70000) != HARK_S_OK)
                _exit(8);
            s->ops->close(s);
        }
        _exit(0);
    }
    close(start[0]);
    close(start[1]); /* go */
    for (int i = 0; i <= WRITERS; i++) {
        int how;
        assert_int_equal(waitpid(child[i], &how, 0), child[i]);
        assert_true(WIFEXITED(how));
        assert_int_equal(WEXITSTATUS(how), 0);
    }
    struct hark_store *s = open_store();
    for (uint64_t i = 1; i <= WRITERS; i++) assert_int_equal(generation(s, i), WRITES - 1);
    s->ops->close(s);
    assert_no_leftovers();
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    /* test_no_permission first: a test with a disk of its own may make us root of a user namespace.
     */
    const struct CMUnitTest tests[] = {TEST(test_no_permission), TEST(test_torn_write),
        TEST(test_torn_open), TEST(test_every_call_fails),
        TEST(test_every_call_of_open_and_read_fails), TEST(test_every_allocation_fails),
        TEST(test_interrupted_and_short), TEST(test_order_of_syncs), TEST(test_full_disk),
        TEST(test_file_limit), TEST(test_read_only), TEST(test_vanished), TEST(test_together),
        TEST(test_torn_write_of_an_incarnation), TEST(test_every_call_of_an_incarnation_fails),
        TEST(test_no_links)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
