/* log.c: the payload log when memory, disk or files fail. */
#include "hark/store.h"
#include "place.h"
#include "wrap.h"

#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char place[256], error[256];
static struct hark_log *logged;

static int set_up(void **state)
{
    (void)state;
    place_make(place);
    logged = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fault_disarm();
    hark_log_close(logged);
    place_file_limit_off();
    place_remove(place);
    return 0;
}

static int open_log(uint64_t limit, uint64_t spill_limit)
{
    struct hark_log_config config = {
        .limit = limit, .spill = place, .spill_limit = spill_limit, .rank = 3, .inc = 2};
    return hark_log_open(&logged, &config, error);
}

enum { SIZE = 10000, BLOCK = 10240 }; /* that one has for itself */
static uint8_t payload[300000];

static int retain(uint32_t peer, uint64_t ssn, uint64_t length)
{
    memset(payload, (int)(peer * 16 + ssn), length);
    struct hark_log_part part[2] = {
        {payload, length / 3}, {payload + length / 3, length - length / 3}};
    return hark_log_retain(logged, peer, 0, ssn, part, 2);
}

static int get(uint32_t peer, uint64_t ssn, uint64_t expected)
{
    const void *at;
    uint64_t length;
    int status = hark_log_get(logged, peer, 0, ssn, &at, &length);
    if (status != HARK_L_OK) return status;
    assert_int_equal(length, expected);
    for (uint64_t i = 0; i < length; i++)
        assert_int_equal(((const uint8_t *)at)[i], (uint8_t)(peer * 16 + ssn));
    return HARK_L_OK;
}

static struct hark_log_figures figures(void)
{
    struct hark_log_figures f;
    hark_log_figures(logged, &f);
    return f;
}

/* Retains until the log refuses, then makes room, and all is there. */
static void fill_and_go_on(void (*room)(void), bool failed, const char *words)
{
    uint64_t n = 1;
    while (retain(1, n, SIZE) == HARK_L_OK) {
        n++;
        assert_true(n < 1000);
    }
    assert_true(n > 3);
    struct hark_log_figures f = figures();
    assert_int_equal(f.entries, n - 1);
    assert_int_equal(f.bytes, (n - 1) * BLOCK);
    assert_true(f.memory_bytes <= 65536);
    assert_int_equal(f.spill_failures > 0, failed);
    assert_non_null(strstr(hark_log_error(logged), words));
    assert_int_equal(retain(1, n, SIZE), HARK_L_EFULL);
    assert_int_equal(figures().spill_failures > f.spill_failures, failed);
    assert_int_equal(retain(2, 1, 250000), HARK_L_EFULL); /* larger than the limit: would go to a
                                                             file at once */
    assert_int_equal(figures().bytes, f.bytes);
    for (uint64_t i = 1; i < n; i++) assert_int_equal(get(1, i, SIZE), HARK_L_OK);
    assert_int_equal(get(1, n, SIZE), HARK_L_ENONE);
    if (room) {
        room();
    } else {
        hark_log_trim(logged, 1, 0, n / 2);
        assert_int_equal(get(1, n / 2, SIZE), HARK_L_ENONE);
    }
    for (uint64_t i = 0; i < 3; i++) assert_int_equal(retain(1, n + i, SIZE), HARK_L_OK);
    for (uint64_t i = room ? 1 : n / 2 + 1; i < n + 3; i++)
        assert_int_equal(get(1, i, SIZE), HARK_L_OK);
    hark_log_close(logged);
    logged = NULL;
    assert_int_equal(place_count(place), 0);
}

static void test_full_disk(void **state)
{
    (void)state;
    if (!place_disk(place, 200 << 10)) skip();
    assert_int_equal(open_log(65536, 0), HARK_L_OK);
    fill_and_go_on(NULL, true, strerror(ENOSPC));
}

static void test_file_limit(void **state)
{
    (void)state;
    assert_int_equal(open_log(65536, 0), HARK_L_OK);
    place_file_limit(100);
    fill_and_go_on(
        place_file_limit_off, true, "File too large: over the file size limit (ulimit -f)");
}

static void test_spill_limit(void **state)
{
    (void)state;
    assert_int_equal(open_log(65536, 200000), HARK_L_OK);
    fill_and_go_on(NULL, false, "65536 bytes in memory and 200000 in files");
}

static void test_no_spill(void **state)
{
    (void)state;
    struct hark_log_config config = {.limit = 65536};
    assert_int_equal(hark_log_open(&logged, &config, error), HARK_L_OK);
    fill_and_go_on(NULL, false, "over its limit of 65536 bytes, and it may not spill");
}

static void test_vanished(void **state)
{
    (void)state;
    assert_int_equal(open_log(65536, 0), HARK_L_OK);
    place_remove(place);
    uint64_t n = 1;
    while (retain(1, n, SIZE) == HARK_L_OK && n < 100) n++;
    assert_true(n < 100);
    assert_int_equal(figures().spill_failures, 1);
    assert_non_null(strstr(hark_log_error(logged), strerror(ENOENT)));
    for (uint64_t i = 1; i < n; i++) assert_int_equal(get(1, i, SIZE), HARK_L_OK);
    hark_log_close(logged);
    struct hark_log_config config = {.limit = 1, .spill = "/dev/null/below"};
    assert_int_equal(hark_log_open(&logged, &config, error), HARK_L_ESYSTEM);
    assert_non_null(strstr(error, "/dev/null/below"));
    assert_null(logged);
}

/* The name of a file that holds the entry: the segment with the highest first ssn not above it. */
static void file_of(uint64_t ssn, char path[600])
{
    unsigned long long best = 0;
    DIR *list = opendir(place);
    assert_non_null(list);
    for (struct dirent *e; (e = readdir(list));) {
        unsigned long long first;
        if (sscanf(e->d_name, "hark-log.3.2.1.0.%llu", &first) != 1 || first > ssn || first < best)
            continue;
        best = first;
    }
    closedir(list);
    assert_true(best > 0);
    snprintf(path, 600, "%s/hark-log.3.2.1.0.%llu", place, best);
}

static void test_damaged_files(void **state)
{
    (void)state;
    char path[600];
    struct stat st;
    assert_int_equal(open_log(65536, 0), HARK_L_OK);
    for (uint64_t i = 1; i <= 100; i++) assert_int_equal(retain(1, i, SIZE), HARK_L_OK);

    file_of(10, path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size - 1), 0);
    assert_int_equal(get(1, 10, SIZE), HARK_L_ESYSTEM);
    assert_non_null(strstr(hark_log_error(logged), "shorter"));

    file_of(20, path);
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "?", 1, st.st_size / 2), 1);
    close(fd);
    assert_int_equal(get(1, 20, SIZE), HARK_L_ESYSTEM);
    assert_non_null(strstr(hark_log_error(logged), "changed"));

    file_of(30, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(get(1, 30, SIZE), HARK_L_ESYSTEM);
    assert_non_null(strstr(hark_log_error(logged), strerror(ENOENT)));

    for (uint64_t i = 40; i <= 100; i++) assert_int_equal(get(1, i, SIZE), HARK_L_OK);
    hark_log_trim(logged, 1, 0, 100);
    assert_int_equal(figures().entries, 0);
    assert_int_equal(figures().spilled_bytes, 0);
    assert_int_equal(place_count(place), 0);
}

/* A part of a segment is trimmed whose file can not be read: figures are late, never wrong at the
 * end. */
static void test_trim_unreadable(void **state)
{
    (void)state;
    char path[600];
    assert_int_equal(open_log(65536, 0), HARK_L_OK);
    for (uint64_t i = 1; i <= 1000; i++) assert_int_equal(retain(1, i, 500), HARK_L_OK);
    file_of(2, path);
    assert_int_equal(unlink(path), 0);
    hark_log_trim(logged, 1, 0, 2);
    assert_int_equal(get(1, 2, 500), HARK_L_ENONE);
    assert_int_equal(get(1, 3, 500), HARK_L_ESYSTEM);
    hark_log_trim(logged, 1, 0, 900);
    assert_int_equal(figures().entries, 100);
    assert_int_equal(figures().bytes, 100 * (504 + 8));
}

static void make_file(const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", place, name);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void test_older_incarnations(void **state)
{
    (void)state;
    static const char *const gone[] = {"hark-log.3.0.1.0.1",
        "hark-log.3.1.4294967295.65535.18446744073709551615", "hark-log.3.2.1.0.7"};
    static const char *const stay[] = {"hark-log.3.3.1.0.1", "hark-log.4.0.1.0.1",
        "hark-log.30.0.1.0.1", "hark-log.3.0.1.0", "hark-log.3.0.1.0.1.", "hark-log.3.0.1.0.1x",
        "hark-log.3.00.1.0.1", "hark-log.3.0.1.0.", "hark-log.3.-1.1.0.1", "letter",
        "hark-log.3.0.1.0.18446744073709551616"};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) make_file(gone[i]);
    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++) make_file(stay[i]);
    assert_int_equal(open_log(65536, 0), HARK_L_OK);
    assert_int_equal(place_count(place), sizeof stay / sizeof *stay);
    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", place, stay[i]);
        assert_int_equal(access(path, F_OK), 0);
    }
}

/* A short life of a log: true if every call went well; whatever failed, what is held is right. */
static bool live(void)
{
    uint64_t held[4] = {0}, first[4] = {1, 1, 1, 1};
    bool well = true;
    for (uint64_t ssn = 1; ssn <= 30; ssn++)
        for (uint32_t peer = 1; peer <= 3; peer++) {
            uint64_t length = ssn % 11 == 0 ? 200000 : peer * 1000;
            struct hark_log_figures before = figures(), now;
            int status = retain(peer, ssn, length);
            now = figures();
            assert_true(now.memory_bytes <= 131072 + 512); /* the index, when nothing could be
                                                              spilled for it */
            if (status == HARK_L_OK) {
                held[peer] |= (uint64_t)1 << ssn;
                assert_int_equal(now.entries, before.entries + 1);
            } else {
                assert_true(status == HARK_L_EMEMORY || status == HARK_L_EFULL);
                assert_int_equal(now.entries, before.entries);
                assert_int_equal(now.bytes, before.bytes);
                well = false;
            }
            if (ssn == 20 && peer == 2) {
                hark_log_trim(logged, 2, 0, 7);
                first[2] = 8;
            }
        }
    for (uint32_t peer = 1; peer <= 3; peer++)
        for (uint64_t ssn = 1; ssn <= 30; ssn++) {
            uint64_t length = ssn % 11 == 0 ? 200000 : peer * 1000;
            int status = get(peer, ssn, length);
            if (status == HARK_L_ESYSTEM) { /* the fault was in this very call: again */
                well = false;
                status = get(peer, ssn, length);
            }
            bool there = ssn >= first[peer] && held[peer] >> ssn & 1;
            assert_int_equal(status, there ? HARK_L_OK : HARK_L_ENONE);
        }
    return well;
}

static unsigned fail_in_turn(int what, int error_number)
{
    unsigned failures = 0;
    for (unsigned n = 1;; n++) {
        int before = place_descriptors();
        fault_arm(what, FAULT_FAIL, n, error_number);
        int status = open_log(131072, 0);
        bool well = status == HARK_L_OK && live();
        hark_log_close(logged);
        logged = NULL;
        unsigned calls = fault_disarm();
        assert_int_equal(place_descriptors(), before);
        if (calls < n) {
            assert_true(well);
            return failures;
        }
        failures += !well;
    }
}

static void test_every_allocation_fails(void **state)
{
    (void)state;
    assert_true(fail_in_turn(FAULT_MEMORY, ENOMEM) > 20);
    assert_int_equal(place_count(place), 0);
}

static void test_every_call_fails(void **state)
{
    (void)state;
    assert_true(fail_in_turn(FAULT_SYSTEM, EIO) > 60);
}

/* A log that goes round in a window asks the system for nothing, neither memory nor anything else.
 */
static void test_steady_state_is_quiet(void **state)
{
    (void)state;
    static const struct {
        uint64_t length, window;
    } row[] = {{8, 5000}, {1000, 300}, {65536, 40}, {250000, 10}, {100, 1}};
    for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
        struct hark_log_config config = {0};
        uint64_t ssn = 1, window = row[r].window;
        assert_int_equal(hark_log_open(&logged, &config, error), HARK_L_OK);
        for (int warm = 1; warm >= 0; warm--) {
            if (!warm) fault_arm(FAULT_MEMORY | FAULT_SYSTEM, FAULT_FAIL, 1, ENOMEM);
            for (uint64_t end = ssn + 10 * window + 1000; ssn < end; ssn++) {
                assert_int_equal(retain(1 + ssn % 2, ssn, row[r].length), HARK_L_OK);
                hark_log_trim(logged, 1, 0, ssn > window ? ssn - window : 0);
                hark_log_trim(logged, 2, 0, ssn > window ? ssn - window : 0);
            }
        }
        assert_int_equal(fault_disarm(), 0);
        hark_log_close(logged);
        logged = NULL;
    }
}

static void test_interrupted_and_short(void **state)
{
    (void)state;
    fault_arm(FAULT_SYSTEM, FAULT_TRICKLE, 0, 0);
    assert_int_equal(open_log(65536, 0), HARK_L_OK);
    for (uint64_t i = 1; i <= 100; i++) assert_int_equal(retain(1, i, 1003), HARK_L_OK);
    for (uint64_t i = 1; i <= 100; i++) assert_int_equal(get(1, i, 1003), HARK_L_OK);
    assert_true(figures().spilled_bytes > 0);
    assert_int_equal(figures().spill_failures, 0);
    assert_true(fault_disarm() > 1000);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(test_full_disk), TEST(test_file_limit),
        TEST(test_spill_limit), TEST(test_no_spill), TEST(test_vanished), TEST(test_damaged_files),
        TEST(test_trim_unreadable), TEST(test_older_incarnations),
        TEST(test_every_allocation_fails), TEST(test_every_call_fails),
        TEST(test_steady_state_is_quiet), TEST(test_interrupted_and_short)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
