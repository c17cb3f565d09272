/* trace.c: the part of a trace that a process writes, on a full disk and under a limit of the size
 * of files: what found room is there, what did not is counted, and the process lives. */
#include "../../src/view/trace.h"
#include "place.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static char place[256], path[300], text[300], error[HARK_TRACE_ERROR];
static const struct hark_trace_job job = {.ranks = 2, .protocol = "none", .transport = "shm"};

static int set_up(void **state)
{
    (void)state;
    place_make(place);
    snprintf(path, sizeof path, "%s/part", place);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    place_file_limit_off();
    place_remove(place);
    return 0;
}

/* Records until none finds room any more, and some more; then there is room, and the file is read.
 */
static void fill(struct hark_trace_writer *t, void (*room)(void))
{
    struct hark_trace_record r = {.kind = HARK_TRACE_START};
    struct hark_trace trace;
    uint64_t kept = 0, lost = 0;
    assert_non_null(t);
    while (lost < 100 && kept < 100000) {
        r.time++;
        *(hark_trace_add(t, &r) == HARK_TRACE_OK ? &kept : &lost) += 1;
    }
    assert_int_equal(lost, 100);
    assert_true(kept >= 1024);
    hark_trace_close(t);
    room();
    const char *parts[] = {path};
    snprintf(text, sizeof text, "%s/text", place);
    assert_int_equal(hark_trace_merge(text, parts, 1, error), HARK_TRACE_OK);
    assert_int_equal(hark_trace_read(text, &trace, error), HARK_TRACE_OK);
    assert_int_equal(trace.count, kept);
    assert_int_equal(trace.lost, lost);
    assert_int_equal(trace.record[kept - 1].time, kept - 1); /* the first ones, without a gap */
    hark_trace_free(&trace);
}

static void test_file_limit(void **state)
{
    (void)state;
    place_file_limit(300000);
    fill(hark_trace_open(path, &job, 0, error), place_file_limit_off);
}

static void test_file_limit_too_low(void **state)
{
    (void)state;
    place_file_limit(10000);
    assert_null(hark_trace_open(path, &job, 0, error));
    assert_non_null(strstr(error, "/part: File too large: over the file size limit (ulimit -f)"));
}

static void larger_disk(void)
{
    assert_true(place_disk_larger(place, 100 << 20));
}

static void test_full_disk(void **state)
{
    (void)state;
    if (!place_disk(place, 300 << 10)) skip();
    fill(hark_trace_open(path, &job, 0, error), larger_disk);
}

static void test_full_disk_at_once(void **state)
{
    (void)state;
    if (!place_disk(place, 8192)) skip();
    assert_null(hark_trace_open(path, &job, 0, error));
    assert_non_null(strstr(error, strerror(ENOSPC)));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(test_file_limit), TEST(test_file_limit_too_low),
        TEST(test_full_disk), TEST(test_full_disk_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
