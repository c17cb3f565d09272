/* How much memory there is: of a machine, and under control groups of both versions, as their files
 * say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../src/check/memory.h"

static char root[] = "/tmp/hark-memory-XXXXXX";
enum { ENOUGH = 8000 * 1024 /* what the machine has in these tests, bytes */ };

/* A file below the root, with the folders on the way to it. */
static void put(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = 0;
        (void)mkdir(whole, 0700);
        *at = '/';
    }
    FILE *f = fopen(whole, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int begin(void **state)
{
    (void)state;
    strcpy(root, "/tmp/hark-memory-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int end(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static void of_machine(void **state)
{
    (void)state;
    assert_int_equal(memory_available(root), 0); /* nothing tells */
    put("/proc/meminfo",
        "MemTotal:       16000 kB\nMemFree:          100 kB\nMemAvailable:    8000 kB\n");
    assert_int_equal(memory_available(root), ENOUGH);
    put("/proc/self/cgroup", "0::/\n");
    assert_int_equal(memory_available(root), ENOUGH); /* the group has no files */
    assert_true(memory_available("") > 0);
}

static void of_group(void **state)
{
    (void)state;
    put("/proc/meminfo", "MemAvailable:    8000 kB\n");
    put("/proc/self/cgroup", "0::/job/task\n");
    put("/sys/fs/cgroup/job/task/memory.max", "max\n");
    put("/sys/fs/cgroup/job/task/memory.current", "5000\n");
    assert_int_equal(memory_available(root), ENOUGH);
    put("/sys/fs/cgroup/job/memory.max", "1000000\n"); /* the group above has a limit */
    put("/sys/fs/cgroup/job/memory.current", "300000\n");
    assert_int_equal(memory_available(root), 700000);
    put("/sys/fs/cgroup/job/memory.stat", "anon 200000\ninactive_anon 1\ninactive_file 100000\n");
    assert_int_equal(memory_available(root), 800000); /* files that can be dropped */
    put("/sys/fs/cgroup/job/task/memory.max", "6000\n");
    assert_int_equal(memory_available(root), 1000);
    put("/sys/fs/cgroup/job/task/memory.current", "7000\n"); /* more than its limit */
    assert_int_equal(memory_available(root), 0);
}

static void of_container(void **state)
{
    (void)state;
    put("/proc/meminfo", "MemAvailable:    8000 kB\n");
    put("/sys/fs/cgroup/memory.max", "2000000\n");
    put("/sys/fs/cgroup/memory.current", "500000\n");
    put("/proc/self/cgroup", "0::/\n");
    assert_int_equal(memory_available(root), 1500000);
    put("/proc/self/cgroup", "0::/../outside/of/it\n");
    assert_int_equal(memory_available(root), 1500000);
}

static void of_first_version(void **state)
{
    (void)state;
    put("/proc/meminfo", "MemAvailable:    8000 kB\n");
    put("/proc/self/cgroup",
        "5:cpu,cpuacct:/elsewhere\n4:hugetlb,memory:/batch/job\n3:devices:/\n0::/\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "123\n");
    assert_int_equal(memory_available(root), ENOUGH);
    put("/sys/fs/cgroup/memory/batch/job/memory.limit_in_bytes", "4000000\n");
    put("/sys/fs/cgroup/memory/batch/job/memory.usage_in_bytes", "1000000\n");
    put("/sys/fs/cgroup/memory/batch/job/memory.stat",
        "inactive_file 5\ntotal_inactive_file 600000\n");
    assert_int_equal(memory_available(root), 3600000);
}

static void of_address_space(void **state)
{
    struct rlimit before, less;
    (void)state;
    put("/proc/meminfo", "MemAvailable: 100000000000 kB\n");
    put("/proc/self/statm", "1000 1 1 1 0 1 0\n");
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    less = before;
    less.rlim_cur = UINT64_C(1) << 46;
    assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
    uint64_t left = memory_available(root);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(left, (UINT64_C(1) << 46) - 1000 * (uint64_t)sysconf(_SC_PAGESIZE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(of_machine, begin, end),
        cmocka_unit_test_setup_teardown(of_group, begin, end),
        cmocka_unit_test_setup_teardown(of_container, begin, end),
        cmocka_unit_test_setup_teardown(of_first_version, begin, end),
        cmocka_unit_test_setup_teardown(of_address_space, begin, end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
