/* store_blocks_system.c: images by blocks when the system fails or the process dies. */
#include "hark/store.h"
#include "place.h"
#include "wrap.h"

#include <dirent.h>
#include <errno.h>
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

enum { BLOCK = 64 << 10, BLOCKS = 6 };

static char place[256], error[256];

static int set_up(void **state)
{
    (void)state;
    place_make(place);
    (void)place_disk(place, 64 << 20); /* in memory, where that is allowed: faster */
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fault_disarm();
    place_remove(place);
    return 0;
}

static struct hark_store *open_store(void)
{
    struct hark_store *s;
    int status = hark_store_open_directory(&s, place, "ring", 4, false, error);
    if (status != HARK_S_OK) print_error("%s\n", error);
    assert_int_equal(status, HARK_S_OK);
    assert_int_equal(hark_store_write_blocks(s, true, HARK_COMPRESS_NONE), HARK_S_OK);
    return s;
}

/* Image `id` of rank 1: blocks of which each has bytes of its own, and the first says g. */
static int write_image(struct hark_store *s, uint64_t id, uint8_t g)
{
    static uint8_t bytes[BLOCKS * BLOCK];
    struct hark_section section = {.tag = 1, .id = g, .at = bytes, .length = sizeof bytes};
    for (size_t i = 0; i < BLOCKS; i++) memset(bytes + i * BLOCK, (int)(200 + i), BLOCK);
    memset(bytes, g, BLOCK);
    return s->ops->write(s, 1, id, &section, 1);
}

/* What the image says, 0 if there is none; it must be whole. */
static uint8_t says(struct hark_store *s, uint64_t id)
{
    const struct hark_section *section;
    uint32_t count;
    void *handle;
    int status = s->ops->read(s, 1, id, &section, &count, &handle);
    if (status == HARK_S_ENONE) return 0;
    if (status != HARK_S_OK) print_error("%s\n", s->error);
    assert_int_equal(status, HARK_S_OK);
    assert_int_equal(count, 1);
    assert_int_equal(section->length, BLOCKS * BLOCK);
    const uint8_t g = (uint8_t)section->id, *bytes = section->at;
    for (size_t i = 0; i < BLOCKS; i++)
        for (size_t k = 0; k < BLOCK; k += 97)
            assert_int_equal(bytes[i * BLOCK + k], i ? 200 + i : g);
    s->ops->release(s, handle);
    return g;
}

/* Files of blocks of rank 1, and nothing that is being written. */
static int blocks_files(void)
{
    char path[300];
    int count = 0;
    snprintf(path, sizeof path, "%s/tmp", place);
    assert_true(place_count(path) <= 0);
    snprintf(path, sizeof path, "%s/r1", place);
    DIR *list = opendir(path);
    assert_non_null(list);
    for (struct dirent *e; (e = readdir(list));) count += strstr(e->d_name, ".blocks") != NULL;
    closedir(list);
    return count;
}

/* Three images: 1 whole, 2 and 3 with a block of their own each. */
static struct hark_store *three_images(void)
{
    struct hark_store *s = open_store();
    for (uint64_t id = 9; id > 0; id--) assert_int_equal(s->ops->drop(s, 1, id), HARK_S_OK);
    for (uint8_t id = 1; id <= 3; id++) assert_int_equal(write_image(s, id, id), HARK_S_OK);
    assert_int_equal(blocks_files(), 3);
    return s;
}

/* Whoever dies, dies at the n-th call of: an image more, a drop of the first, one that replaces. */
static int one_step(struct hark_store *s, int what)
{
    return what == 0   ? write_image(s, 4, 4)
           : what == 1 ? s->ops->drop(s, 1, 1)
                       : write_image(s, 3, 33);
}

static void look_after(struct hark_store *s, int what, bool done)
{
    const uint8_t first = says(s, 1), third = says(s, 3), fourth = says(s, 4);
    assert_true(first == 1 || (what == 1 && first == 0));
    assert_int_equal(says(s, 2), 2);
    assert_true(third == 3 || (what == 2 && third == 33));
    assert_true(fourth == 0 || (what == 0 && fourth == 4));
    if (done) assert_true(what == 0 ? fourth == 4 : what == 1 ? first == 0 : third == 33);
    assert_int_equal(s->ops->drop(s, 1, 77), HARK_S_OK); /* cleans */
    const int files = blocks_files();
    /* The first one's is referred to by all. */
    assert_int_equal(files, fourth == 4 ? 4 : 3);
    assert_int_equal(write_image(s, 5, 5), HARK_S_OK);
    assert_int_equal(says(s, 5), 5);
    assert_int_equal(says(s, 2), 2);
}

static void test_torn(void **state)
{
    (void)state;
    unsigned deaths[3] = {0};
    for (int what = 0; what < 3; what++)
        for (int kind = FAULT_KILL_BEFORE; kind <= FAULT_KILL_AFTER; kind++)
            for (unsigned n = 1;; n++) {
                int how;
                struct hark_store *s = three_images();
                pid_t child = fork();
                if (child == 0) {
                    fault_arm(FAULT_SYSTEM, (enum fault_kind)kind, n, 0);
                    _exit(one_step(s, what) == HARK_S_OK ? 0 : 8);
                }
                assert_int_equal(waitpid(child, &how, 0), child);
                s->ops->close(s);
                s = open_store();
                const bool died = WIFSIGNALED(how);
                if (!died) assert_int_equal(WEXITSTATUS(how), 0);
                look_after(s, what, !died);
                s->ops->close(s);
                if (!died) break;
                deaths[what]++;
            }
    assert_true(deaths[0] > 30 && deaths[1] > 8 && deaths[2] > 30);
}

static void test_every_call_fails(void **state)
{
    (void)state;
    unsigned failures = 0, late = 0;
    for (int what = 0; what < 3; what++)
        for (int kind = FAULT_FAIL; kind <= FAULT_FAIL_ON; kind++)
            for (unsigned n = 1;; n++) {
                struct hark_store *s = three_images();
                int before = place_descriptors();
                fault_arm(FAULT_SYSTEM, (enum fault_kind)kind, n, EIO);
                int status = one_step(s, what);
                unsigned calls = fault_disarm();
                assert_int_equal(place_descriptors(), before);
                if (status != HARK_S_OK) {
                    assert_int_equal(status, HARK_S_ESYSTEM);
                    assert_non_null(strstr(s->error, strerror(EIO)));
                    assert_non_null(strstr(s->error, place));
                    failures++;
                    late += what == 0 ? says(s, 4) == 4 : what == 2 && says(s, 3) == 33;
                }
                s->ops->close(s);
                s = open_store(); /* removes what could not be removed */
                look_after(s, what, status == HARK_S_OK);
                s->ops->close(s);
                if (calls < n) break;
            }
    assert_true(failures > 40);
    assert_int_equal(late, 4); /* only the last sync, of each kind */
}

static void test_every_call_of_read_fails(void **state)
{
    (void)state;
    unsigned failures = 0;
    struct hark_store *s = three_images();
    for (int what = 0; what < 2; what++)
        for (unsigned n = 1;; n++) {
            struct hark_store_bytes b;
            int before = place_descriptors();
            fault_arm(FAULT_SYSTEM, FAULT_FAIL, n, EIO);
            int status = what ? hark_store_image_bytes(s, 1, 3, &b) : s->ops->verify(s, 1, 3);
            unsigned calls = fault_disarm();
            assert_int_equal(place_descriptors(), before);
            failures += status != HARK_S_OK;
            if (calls < n) break;
            if (status == HARK_S_OK) continue; /* measuring: it looks for the format first */
            assert_int_equal(status, HARK_S_ESYSTEM);
            assert_non_null(strstr(s->error, strerror(EIO)));
        }
    assert_true(failures > 8);
    s->ops->close(s);
}

static void test_every_allocation_fails(void **state)
{
    (void)state;
    unsigned failures = 0, skipped = 0;
    for (int compression = HARK_COMPRESS_NONE; compression < HARK_COMPRESSIONS; compression++)
        for (unsigned n = 1;; n++) {
            if (!hark_compression_built((uint32_t)compression)) break;
            struct hark_store *s = three_images();
            assert_int_equal(
                hark_store_write_blocks(s, true, (enum hark_compression)compression), HARK_S_OK);
            assert_int_equal(write_image(s, 3, 3), HARK_S_OK);
            fault_arm(FAULT_MEMORY, FAULT_FAIL, n, ENOMEM);
            int status = write_image(s, 4, 4);
            if (status == HARK_S_OK) status = s->ops->verify(s, 1, 4);
            if (status == HARK_S_OK) status = s->ops->drop(s, 1, 2);
            unsigned calls = fault_disarm();
            if (status != HARK_S_OK) {
                assert_int_equal(status, HARK_S_ESYSTEM);
                assert_non_null(strstr(s->error, "memory"));
                failures++;
            } else skipped++; /* something was not removed, or not remembered */
            assert_int_equal(says(s, 3), 3);
            assert_int_equal(write_image(s, 4, 5), HARK_S_OK);
            assert_int_equal(says(s, 4), 5);
            s->ops->close(s);
            if (calls < n) break;
        }
    assert_true(failures >= 4 && skipped >= 4);
}

static void test_interrupted_and_short(void **state)
{
    (void)state;
    struct hark_store *s = open_store();
    uint8_t bytes[3000];
    struct hark_section section = {.tag = 1, .at = bytes, .length = sizeof bytes};
    memset(bytes, 1, sizeof bytes);
    fault_arm(FAULT_SYSTEM, FAULT_TRICKLE, 0, 0);
    assert_int_equal(s->ops->write(s, 1, 1, &section, 1), HARK_S_OK);
    section.length -= 1;
    assert_int_equal(s->ops->write(s, 1, 2, &section, 1), HARK_S_OK);
    assert_int_equal(s->ops->verify(s, 1, 2), HARK_S_OK);
    assert_int_equal(s->ops->drop(s, 1, 1), HARK_S_OK);
    assert_true(fault_disarm() > 500);
    assert_int_equal(s->ops->verify(s, 1, 2), HARK_S_OK);
    assert_int_equal(blocks_files(), 1);
    s->ops->close(s);
}

/* The blocks and their name are on the disk before the table has its name; all is, before we say
 * so. Then what is not used any more is looked for. */
static void test_order_of_syncs(void **state)
{
    (void)state;
    struct hark_store *s = three_images();
    fault_arm(FAULT_SYSTEM, FAULT_FAIL, 0, 0);
    assert_int_equal(write_image(s, 4, 4), HARK_S_OK);
    fault_disarm();
    assert_memory_equal(fault_trace(),
        "omol"
        "olwsrs"
        "olwsrs",
        16);
    fault_arm(FAULT_SYSTEM, FAULT_FAIL, 0, 0);
    assert_int_equal(write_image(s, 5, 4), HARK_S_OK); /* no block is new */
    fault_disarm();
    assert_memory_equal(fault_trace(),
        "omol"
        "olwsrs"
        "o",
        11);
    s->ops->close(s);
}

static void test_full_disk(void **state)
{
    (void)state;
    place_remove(place);
    place_make(place);
    if (!place_disk(place, 4 * BLOCKS * BLOCK)) skip();
    struct hark_store *s = open_store();
    unsigned full = 0;
    assert_int_equal(write_image(s, 1, 1), HARK_S_OK);
    uint64_t id = 2;
    for (; id < 100; id++) { /* a block more, until there is no room for it */
        int status = write_image(s, id, (uint8_t)id);
        assert_int_equal(says(s, id - 1), id - 1);
        if (status == HARK_S_OK) continue;
        assert_int_equal(status, HARK_S_ESYSTEM);
        assert_non_null(strstr(s->error, strerror(ENOSPC)));
        assert_int_equal(says(s, id), 0);
        full++;
        break;
    }
    assert_int_equal(full, 1);
    assert_int_equal(blocks_files(), id - 1);
    assert_int_equal(s->ops->drop(s, 1, 2), HARK_S_OK); /* its own block goes */
    assert_int_equal(write_image(s, id, (uint8_t)id), HARK_S_OK);
    assert_int_equal(says(s, id), id);
    s->ops->close(s);
}

/* One writes, another one drops and a third reads: what is there is whole, always. */
static void test_together(void **state)
{
    (void)state;
    enum { IMAGES = 150 };
    int ready[2], how;
    char byte;
    assert_int_equal(pipe(ready), 0);
    struct hark_store *s = open_store();
    pid_t reader = fork();
    if (reader == 0) {
        struct hark_store *mine = open_store();
        uint64_t id[4];
        unsigned seen = 0;
        close(ready[1]);
        while (read(ready[0], &byte, 1) != 0) {
            int have = mine->ops->list(mine, 1, id, 4);
            for (int i = 0; i < have && i < 4; i++) {
                int status = mine->ops->verify(mine, 1, id[i]);
                if (status != HARK_S_OK && status != HARK_S_ENONE) {
                    fprintf(stderr, "%s\n", mine->error);
                    _exit(7);
                }
                seen += status == HARK_S_OK;
            }
        }
        _exit(seen > 10 ? 0 : 8);
    }
    pid_t dropper = fork();
    if (dropper == 0) {
        struct hark_store *mine = open_store();
        uint64_t id[4];
        close(ready[1]);
        while (read(ready[0], &byte, 1) != 0)
            while (mine->ops->list(mine, 1, id, 4) > 2)
                if (mine->ops->drop(mine, 1, id[0]) != HARK_S_OK) _exit(9);
        _exit(0);
    }
    close(ready[0]);
    for (unsigned i = 1; i <= IMAGES; i++) {
        assert_int_equal(write_image(s, i, (uint8_t)i), HARK_S_OK);
        assert_int_equal(says(s, i), i);
        assert_int_equal(write(ready[1], "xx", 2), 2);
    }
    close(ready[1]);
    assert_int_equal(waitpid(reader, &how, 0), reader);
    assert_int_equal(how, 0);
    assert_int_equal(waitpid(dropper, &how, 0), dropper);
    assert_int_equal(how, 0);
    assert_int_equal(says(s, IMAGES), IMAGES);
    s->ops->close(s);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(test_torn), TEST(test_every_call_fails),
        TEST(test_every_call_of_read_fails), TEST(test_every_allocation_fails),
        TEST(test_interrupted_and_short), TEST(test_order_of_syncs), TEST(test_full_disk),
        TEST(test_together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
