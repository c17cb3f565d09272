/* The file of a journal: what is read again is what was appended; a SIGKILL anywhere leaves a whole
 * prefix; what no image needs is trimmed, and its segments are used again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/process/journal_kept.h"

enum { KIND = 7, OTHER = 8 };
#define ENTRY 16u /* bytes that a number takes */

static struct hark_journal_file file;
static int fd = -1;

static int set_up(void **state)
{
    (void)state;
    fd = memfd_create("journal", MFD_CLOEXEC);
    return fd < 0 || hark_journal_map(&file, fd) < 0;
}

static int tear_down(void **state)
{
    (void)state;
    hark_journal_unmap(&file);
    return close(fd);
}

static void map_again(void)
{
    hark_journal_unmap(&file);
    assert_int_equal(hark_journal_map(&file, fd), 0);
}

/* A value of some length, which the number determines. */
static size_t value_of(uint64_t n, uint8_t value[HARK_JOURNAL_ENTRY])
{
    size_t length = n % 97 == 0 ? (size_t)(n * 131 % HARK_JOURNAL_ENTRY) : n % 5 ? 8 : n % 41;
    for (size_t i = 0; i < length; i++) value[i] = (uint8_t)(n * 31 + i);
    return length;
}

static void append(uint64_t n)
{
    static uint8_t value[HARK_JOURNAL_ENTRY];
    size_t length = value_of(n, value);
    assert_int_equal(hark_journal_append(&file, KIND, value, length), 0);
}

/* Entries from `position` to the end are those of numbers from `n` on: returns how many. */
static uint64_t expect_from(uint64_t position, uint64_t n)
{
    static uint8_t value[HARK_JOURNAL_ENTRY], got[HARK_JOURNAL_ENTRY];
    uint64_t count = 0;
    uint8_t found;
    size_t found_length;
    for (; position < hark_journal_end(&file); count++) {
        size_t length = value_of(n + count, value);
        assert_int_equal(
            hark_journal_read(&file, &position, KIND, got, length, &found, &found_length),
            HARK_JOURNAL_GIVEN);
        assert_memory_equal(got, value, length);
    }
    assert_int_equal(position, hark_journal_end(&file));
    return count;
}

static void what_was_appended_is_read(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 50000; n++) append(n);
    assert_int_equal(expect_from(0, 0), 50000);
    map_again();
    assert_int_equal(expect_from(0, 0), 50000);
    for (uint64_t n = 50000; n < 60000; n++) append(n);
    map_again();
    assert_int_equal(expect_from(0, 0), 60000);
}

static void another_kind_or_length_is_found(void **state)
{
    (void)state;
    uint64_t number = 5, position = 0;
    uint8_t found = 0;
    size_t found_length = 0;
    assert_int_equal(hark_journal_append(&file, KIND, &number, sizeof number), 0);
    assert_int_equal(
        hark_journal_read(&file, &position, OTHER, &number, sizeof number, &found, &found_length),
        HARK_JOURNAL_DIFFERENT);
    assert_int_equal(found, KIND);
    assert_int_equal(hark_journal_read(&file, &position, KIND, &number, 4, &found, &found_length),
        HARK_JOURNAL_DIFFERENT);
    assert_int_equal(found_length, sizeof number);
    assert_int_equal(position, 0);
}

static void what_is_cut_is_gone(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 100; n++) append(n);
    const uint64_t at = hark_journal_end(&file);
    for (uint64_t n = 100; n < 40000; n++) append(n + 1);
    const uint64_t bytes = hark_journal_file_bytes(&file);
    hark_journal_cut(&file, at);
    assert_int_equal(expect_from(0, 0), 100);
    for (uint64_t n = 100; n < 40000; n++) append(n);
    assert_int_equal(expect_from(0, 0), 40000);
    assert_true(hark_journal_file_bytes(&file) <= bytes + HARK_JOURNAL_SEGMENT);
}

/* ---- a SIGKILL ------------------------------------------------------------------------------- */

/* Appends for ever, and trims as images do. */
_Noreturn static void append_for_ever(uint64_t n)
{
    for (;; n++) {
        append(n);
        if (n % 3000) continue;
        hark_journal_image(&file, n / 3000 + 1, hark_journal_end(&file));
        if (n / 3000 > 2) hark_journal_image_dropped(&file, n / 3000 - 1);
    }
}

static void a_kill_leaves_a_whole_prefix(void **state)
{
    (void)state;
    uint64_t next = 1, had = 0;
    for (int round = 0; round < 60; round++) {
        const pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) append_for_ever(next);
        /* At a moment that depends on what it has done, not on time. */
        const uint64_t until = hark_journal_end(&file) + 1 + (uint64_t)round * 7919;
        while (hark_journal_end(&file) < until) assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        map_again();
        /* What was trimmed was before the image: find the number of the first entry that is left.
         */
        static uint8_t value[HARK_JOURNAL_ENTRY];
        uint64_t position = 0, n = 1;
        for (; position < hark_journal_start(&file); n++)
            position += 8 + (value_of(n, value) + 7) / 8 * 8;
        assert_int_equal(position, hark_journal_start(&file));
        next = n + expect_from(position, n);
        assert_true(next > had);
        had = next;
    }
}

/* ---- images ---------------------------------------------------------------------------------- */

static void what_no_image_needs_is_trimmed(void **state)
{
    (void)state;
    uint64_t end[4];
    for (uint64_t id = 1; id <= 3; id++) {
        append(id);
        end[id] = hark_journal_end(&file);
        hark_journal_image(&file, id, end[id]);
    }
    assert_int_equal(hark_journal_start(&file), 0);
    hark_journal_image_dropped(&file, 3); /* it was given up: nothing is needed less */
    assert_int_equal(hark_journal_start(&file), 0);
    hark_journal_image(&file, 4, end[3]);
    hark_journal_image_dropped(&file, 1);
    assert_int_equal(hark_journal_start(&file), end[2]);
    hark_journal_images_undone(&file, 2);
    hark_journal_image(&file, 5, end[3]);
    hark_journal_image_dropped(&file, 2);
    assert_int_equal(hark_journal_start(&file), end[3]);
}

static void only_the_one_image_is_no_reason_to_trim(void **state)
{
    (void)state;
    append(1);
    hark_journal_image(&file, 1, hark_journal_end(&file));
    hark_journal_image_dropped(&file, 1);
    assert_int_equal(hark_journal_start(&file), 0);
}

static void more_images_than_there_is_room_for(void **state)
{
    (void)state;
    for (uint64_t id = 1; id <= 100; id++) {
        append(id);
        hark_journal_image(&file, id, hark_journal_end(&file));
    }
    for (uint64_t id = 1; id <= 99; id++) {
        hark_journal_image_dropped(&file, id);
        assert_true(hark_journal_start(&file) <= hark_journal_end(&file));
    }
}

static void segments_are_used_again(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 1000000; n++) {
        assert_int_equal(hark_journal_append(&file, KIND, &n, sizeof n), 0);
        if (n % 10000) continue;
        hark_journal_image(&file, n, hark_journal_end(&file));
        hark_journal_image_dropped(&file, n - 10000);
        if (n == 500000) map_again();
    }
    assert_int_equal(hark_journal_end(&file), 1000000 * ENTRY);
    assert_true(hark_journal_file_bytes(&file) < 10 * HARK_JOURNAL_SEGMENT);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal((uint64_t)st.st_size, hark_journal_file_bytes(&file));
    /* The beginning is still there. */
    uint64_t position = 0, got;
    uint8_t found;
    size_t length;
    assert_int_equal(hark_journal_read(&file, &position, KIND, &got, sizeof got, &found, &length),
        HARK_JOURNAL_GIVEN);
    assert_int_equal(got, 1);
}

/* ---- what may go wrong ----------------------------------------------------------------------- */

static void a_new_file_goes_on_at_any_position(void **state)
{
    (void)state;
    const uint64_t at[] = {8, HARK_JOURNAL_SEGMENT, 5 * (uint64_t)HARK_JOURNAL_SEGMENT + 24, 80,
        (UINT64_C(1) << 40) + 16};
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        assert_int_equal(hark_journal_begin_at(&file, at[i]), 0);
        assert_int_equal(hark_journal_start(&file), at[i]);
        for (uint64_t n = 0; n < 20000; n++) append(n);
        assert_int_equal(expect_from(at[i], 0), 20000);
        map_again();
        assert_int_equal(expect_from(at[i], 0), 20000);
    }
}

static void a_file_that_is_no_journal_is_made_one(void **state)
{
    (void)state;
    static uint8_t garbage[300000];
    for (uint64_t n = 0; n < 1000; n++) append(n);
    memset(garbage, 0xa5, sizeof garbage);
    hark_journal_unmap(&file);
    assert_int_equal(pwrite(fd, garbage, sizeof garbage, 0), sizeof garbage);
    map_again();
    assert_int_equal(hark_journal_end(&file), 0);
    for (uint64_t n = 0; n < 1000; n++) append(n);
    hark_journal_unmap(&file);
    assert_int_equal(ftruncate(fd, 100), 0);
    map_again();
    assert_int_equal(hark_journal_end(&file), 0);
}

/* After a loss of power the header may be newer than the segments. */
static void entries_that_were_lost_are_noticed(void **state)
{
    (void)state;
    static const uint8_t zeros[HARK_JOURNAL_SEGMENT];
    uint64_t number = 1, position = 0;
    uint8_t found;
    size_t length;
    struct stat st;
    assert_int_equal(hark_journal_append(&file, KIND, &number, sizeof number), 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(
        pwrite(fd, zeros, sizeof zeros, st.st_size - (off_t)sizeof zeros), sizeof zeros);
    assert_int_equal(
        hark_journal_read(&file, &position, KIND, &number, sizeof number, &found, &length),
        HARK_JOURNAL_DAMAGED);
}

static void no_room_is_an_error(void **state)
{
    (void)state;
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){300000, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    uint64_t n = 0;
    errno = 0;
    while (hark_journal_append(&file, KIND, &n, sizeof n) == 0) n++;
    assert_int_equal(errno, EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(hark_journal_end(&file), n * ENTRY);
    assert_true(n > 10000);
    assert_int_equal(hark_journal_append(&file, KIND, &n, sizeof n), 0);
    assert_int_equal(hark_journal_end(&file), (n + 1) * ENTRY);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

/* ---- entries that are found by a key ----------------------------------------------------------
 */

static void keep(uint64_t what, uint64_t value)
{
    struct {
        struct hark_journal_key key;
        uint64_t value;
    } entry = {{what, 1}, value};
    assert_int_equal(hark_journal_append(&file, HARK_JOURNAL_KEPT, &entry, sizeof entry), 0);
}

/* 0: there is none. */
static uint64_t find(uint64_t what)
{
    uint64_t value = 0;
    ptrdiff_t length =
        hark_journal_kept_find(&file, (struct hark_journal_key){what, 1}, &value, sizeof value);
    assert_int_equal(length, value ? (ptrdiff_t)sizeof value : -1);
    return value;
}

static void kept_entries_are_found_in_any_order(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 300; n++) {
        keep(n % 3, n);
        append(n);
    }
    const uint64_t middle = hark_journal_end(&file);
    keep(1, 1000);
    hark_journal_kept_begin(0, middle);
    for (uint64_t n = 2; n <= 300; n += 3) assert_int_equal(find(2), n);
    for (uint64_t n = 3; n <= 300; n += 3) assert_int_equal(find(0), n);
    for (uint64_t n = 1; n <= 300; n += 3) assert_int_equal(find(1), n);
    assert_int_equal(find(1), 0); /* 1000 is behind `middle` */
    assert_int_equal(find(7), 0);
}

static bool follows(uint64_t what)
{
    return hark_journal_kept_follows(&file, (struct hark_journal_key){what, 1});
}

static void the_order_of_kept_entries_is_known(void **state)
{
    (void)state;
    keep(1, 10);
    append(1);
    keep(2, 20);
    keep(1, 30);
    hark_journal_kept_begin(0, hark_journal_end(&file));
    assert_true(follows(1));
    assert_false(follows(2)); /* 10 is before it */
    assert_false(follows(3));
    assert_int_equal(find(1), 10);
    assert_false(follows(1)); /* 20 is before 30 */
    assert_true(follows(2));
    assert_int_equal(find(2), 20);
    assert_int_equal(find(1), 30);
    assert_true(follows(1)); /* there are no more */
    hark_journal_kept_begin(0, 0);
    assert_true(follows(1));
}

/* An image taken now begins behind the entries that were found, and before the others. */
static void an_image_begins_behind_what_was_found(void **state)
{
    (void)state;
    keep(1, 10);
    const uint64_t second = hark_journal_end(&file);
    keep(1, 20);
    keep(2, 30);
    const uint64_t reading = hark_journal_end(&file);
    append(1);
    const uint64_t end = hark_journal_end(&file);
    hark_journal_kept_begin(0, end);
    assert_int_equal(hark_journal_kept_skip(&file, 0, end), reading);
    assert_int_equal(hark_journal_kept_skip_found(&file, 0, end), 0);
    assert_int_equal(find(1), 10);
    assert_int_equal(hark_journal_kept_skip_found(&file, 0, end), second);
    assert_int_equal(find(2), 30);
    assert_int_equal(hark_journal_kept_skip_found(&file, 0, end), second);
    assert_int_equal(find(1), 20);
    assert_int_equal(hark_journal_kept_skip_found(&file, 0, end), reading);
    hark_journal_kept_begin(second, end);
    assert_int_equal(find(1), 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(what_was_appended_is_read),
        TEST(another_kind_or_length_is_found), TEST(what_is_cut_is_gone),
        TEST(a_kill_leaves_a_whole_prefix), TEST(what_no_image_needs_is_trimmed),
        TEST(only_the_one_image_is_no_reason_to_trim), TEST(more_images_than_there_is_room_for),
        TEST(segments_are_used_again), TEST(a_new_file_goes_on_at_any_position),
        TEST(a_file_that_is_no_journal_is_made_one), TEST(entries_that_were_lost_are_noticed),
        TEST(no_room_is_an_error), TEST(kept_entries_are_found_in_any_order),
        TEST(the_order_of_kept_entries_is_known), TEST(an_image_begins_behind_what_was_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
