/* Reading a scenario, and searching one, while each allocation in turn fails. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/check/search.h"
#include "wrap.h"

static const char text[] =
    "p0: S1\np1: R\nschedule\np0\n= S1 ssn 1\np1 gets APP from p0\n= x\n= y\n";

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

/* A search whose n-th request for memory is refused, and all after it: it is over, says so, and has
 * found nothing. */
static void search_without_memory(void **state)
{
    static const char program[] = "protocol hydee\np0: S1 T1 S1\np1: R S0 R\nfails any\n";
    struct hark_scenario s;
    char error[HARK_SCENARIO_ERROR];
    (void)state;
    assert_int_equal(hark_scenario_parse(&s, program, sizeof program - 1, "f", error), 0);
    for (uint32_t way = 0; way < 4; way++) {
        struct search_options options = {.jobs = 1,
            .reduce = way == 1   ? SEARCH_REDUCED
                      : way == 2 ? SEARCH_COMPARED
                                 : SEARCH_WHOLE,
            .walks = way == 3 ? 20 : 0};
        uint32_t ended = 0;
        for (unsigned n = 0, calls = 0; calls >= n;) {
            n += 1 + n / 8; /* each of the first, and some of thousands */
            fault_arm(FAULT_MEMORY, FAULT_FAIL_ON, n, ENOMEM);
            struct search_result r = search(&s, &options);
            calls = fault_disarm();
            ended += r.verdict == SEARCH_LIMIT;
            free(r.path);
            if (calls < n) assert_int_equal(r.verdict, SEARCH_OK);
            else if (r.verdict == SEARCH_LIMIT) assert_int_equal(r.limit, SEARCH_NO_MEMORY);
            else if (r.verdict == SEARCH_FAILED)
                assert_non_null(strstr(r.why, "no memory")); /* not even for its beginning */
            else assert_int_equal(r.verdict, SEARCH_OK);     /* it could do without */
        }
        assert_true(ended > 20);
    }
    hark_scenario_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parse_without_memory),
        cmocka_unit_test(read_without_memory), cmocka_unit_test(search_without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
