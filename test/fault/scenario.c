/* Reading a scenario while each allocation in turn fails. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/check/scenario.h"
#include "wrap.h"

static const char text[] = "p0: S1\np1: R\nschedule\np0\n= S1 ssn 1\np1 gets APP from p0\n= x\n= y\n";

static void parse_without_memory(void **state)
{
    static const struct hark_scenario empty;
    struct hark_scenario s;
    char error[HARK_SCENARIO_ERROR];
    unsigned n = 0;
    int status;
    (void)state;
    do {
        fault_arm(FAULT_MEMORY, FAULT_FAIL, ++n, ENOMEM);
        status = hark_scenario_parse(&s, text, sizeof text - 1, "f", error);
        fault_disarm();
        if (status == 0) break;
        assert_string_equal(error, "f: out of memory");
        assert_memory_equal(&s, &empty, sizeof empty);
    } while (n < 100);
    assert_int_equal(status, 0);
    assert_int_equal(n, 10); /* five lines, and room for 1, 2, 4 and 8 */
    hark_scenario_free(&s);
}

/* A large file: its text grows. */
static void read_without_memory(void **state)
{
    struct hark_scenario s;
    char error[HARK_SCENARIO_ERROR];
    FILE *f = tmpfile();
    char path[64], expected[96];
    unsigned n = 0;
    int status;
    (void)state;
    assert_non_null(f);
    fputs("p0:\n", f);
    for (int i = 0; i < 1000; i++) fputs("# sixteen bytes\n", f);
    fflush(f);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(f));
    snprintf(expected, sizeof expected, "%s: out of memory", path);
    do {
        fault_arm(FAULT_MEMORY, FAULT_FAIL, ++n, ENOMEM);
        status = hark_scenario_read(&s, path, error);
        fault_disarm();
        if (status < 0) assert_string_equal(error, expected);
    } while (status < 0 && n < 100);
    assert_int_equal(status, 0);
    assert_in_range(n, 4, 8); /* the file, and its text in 4, 8, 16 KiB */
    hark_scenario_free(&s);
    fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parse_without_memory), cmocka_unit_test(read_without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
