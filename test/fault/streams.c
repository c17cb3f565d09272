/* streams.c: store, log and trace in a program that has closed its standard streams, before they
 * are opened or after. No descriptor of theirs takes the place of one, so nothing that is printed
 * goes into their files. */
#include "../../src/view/trace.h"
#include "hark/store.h"
#include "place.h"
#include "wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define STREAMS    3
#define ALL_CLOSED (1u << STREAMS)

static char place[256], error[256];

static int set_up(void **state)
{
    (void)state;
    place_make(place);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    place_remove(place);
    return 0;
}

static void close_streams(unsigned streams)
{
    for (int fd = 0; fd < STREAMS; fd++)
        if (streams >> fd & 1) close(fd);
}

static bool are_closed(unsigned streams)
{
    for (int fd = 0; fd < STREAMS; fd++)
        if ((streams >> fd & 1) && (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)) return false;
    return true;
}

/* The child's status: 0, or the number of what did not hold. */
#define HOLDS(number, what)                                                                        \
    do {                                                                                           \
        if (!(what)) _exit(number);                                                                \
    } while (0)

static void use_store(unsigned before, unsigned after)
{
    struct hark_store *s;
    const struct hark_section *section, sample = {.tag = 7, .at = "regions", .length = 7};
    uint32_t count;
    void *handle;
    close_streams(before);
    HOLDS(10, hark_store_open_directory(&s, place, "ring", 2, false, error) == HARK_S_OK);
    HOLDS(11, are_closed(before));
    close_streams(after);
    HOLDS(12, s->ops->write(s, 1, 5, &sample, 1) == HARK_S_OK);
    HOLDS(13, s->ops->read(s, 1, 5, &section, &count, &handle) == HARK_S_OK);
    HOLDS(14, count == 1 && memcmp(section->at, "regions", 7) == 0);
    s->ops->release(s, handle);
    HOLDS(15, s->ops->list(s, 1, NULL, 0) == 1);
    HOLDS(16, are_closed(before | after));
    s->ops->close(s);
}

static void use_log(unsigned before, unsigned after)
{
    struct hark_log *log;
    struct hark_log_config config = {.limit = 65536, .spill = place};
    struct hark_log_figures figures;
    static uint8_t bytes[10000];
    const void *at;
    uint64_t length;
    close_streams(before);
    HOLDS(20, hark_log_open(&log, &config, error) == HARK_L_OK);
    HOLDS(21, are_closed(before));
    close_streams(after);
    for (uint64_t ssn = 1; ssn <= 30; ssn++)
        HOLDS(22, hark_log_retain(log, 1, 0, ssn, &(struct hark_log_part){bytes, sizeof bytes},
                      1) == HARK_L_OK);
    HOLDS(23, hark_log_get(log, 1, 0, 1, &at, &length) == HARK_L_OK && length == sizeof bytes);
    hark_log_figures(log, &figures);
    HOLDS(24, figures.spilled_bytes > 0);
    HOLDS(25, are_closed(before | after));
    hark_log_close(log);
}

static void use_trace(unsigned before, unsigned after)
{
    char path[300], why[HARK_TRACE_ERROR];
    struct hark_trace_job job = {.ranks = 2, .protocol = "none", .transport = "shm"};
    snprintf(path, sizeof path, "%s/trace", place);
    close_streams(before);
    struct hark_trace_writer *t = hark_trace_open(path, &job, 0, why);
    HOLDS(30, t != NULL);
    HOLDS(31, are_closed(before));
    close_streams(after);
    for (uint64_t i = 0; i < 100000; i++)
        HOLDS(32, hark_trace_add(t, &(struct hark_trace_record){
                                        .kind = HARK_TRACE_START, .time = i}) == HARK_TRACE_OK);
    HOLDS(33, are_closed(before | after));
    hark_trace_close(t);
}

static void in_child(void (*use)(unsigned, unsigned), unsigned before, unsigned after)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        use(before, after);
        _exit(fault_low_descriptors() > 0 ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status)
        print_error("closed before: %u, after: %u, status %#x\n", before, after, (unsigned)status);
    assert_int_equal(status, 0);
    place_remove(place);
    assert_int_equal(mkdir(place, 0700), 0);
}

static void all_cases(void (*use)(unsigned, unsigned))
{
    for (unsigned streams = 1; streams < ALL_CLOSED; streams++) {
        in_child(use, streams, 0);
        in_child(use, 0, streams);
    }
}

static void test_store(void **state)
{
    (void)state;
    all_cases(use_store);
}

static void test_log(void **state)
{
    (void)state;
    all_cases(use_log);
}

static void test_trace(void **state)
{
    (void)state;
    all_cases(use_trace);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(test_store), TEST(test_log), TEST(test_trace)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
