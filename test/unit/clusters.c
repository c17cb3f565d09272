/* Cluster files, and what is wrong with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/control/clusters.h"

static void expect(uint32_t ranks, const char *text, const char *clusters)
{
    struct hark_clusters c;
    char error[256];
    assert_int_equal(hark_clusters_parse(&c, ranks, text, "file", error), 0);
    char *back = hark_clusters_text(&c);
    assert_string_equal(back, clusters);
    free(back);
    hark_clusters_free(&c);
}

static void expect_error(uint32_t ranks, const char *text, const char *line)
{
    struct hark_clusters c;
    char error[256];
    assert_int_equal(hark_clusters_parse(&c, ranks, text, "file", error), -1);
    assert_string_equal(error, line);
    assert_null(c.of);
}

static void good_files(void **state)
{
    (void)state;
    expect(1, "0", "0");
    expect(4, "0-1\n2-3\n", "0-1;2-3");
    expect(4, "0-1;2-3", "0-1;2-3");
    expect(4, "3 2 1 0", "0-3");
    expect(16, "# two halves\n0-3 8 12-15 # a half\n\n  ;\t4-7 9-11\r\n", "0-3 8 12-15;4-7 9-11");
    expect(3, "2;1;0", "0;1;2");
    expect(3, "# 0 ; 1\n0-2", "0-2");
}

static void numbers_follow_lowest_ranks(void **state)
{
    (void)state;
    struct hark_clusters c;
    char error[256];
    assert_int_equal(hark_clusters_parse(&c, 5, "3-4\n1\n0 2\n", "file", error), 0);
    assert_int_equal(c.count, 3);
    const uint32_t of[] = {0, 1, 0, 2, 2};
    assert_memory_equal(c.of, of, sizeof of);
    hark_clusters_free(&c);
}

static void bad_files(void **state)
{
    (void)state;
    expect_error(4, "0-1\n2\n", "file: expected every rank once, rank 3 is in no cluster");
    expect_error(4, "", "file: expected every rank once, rank 0 is in no cluster");
    expect_error(
        4, "0-1\n\n1-3", "file:3: expected every rank once, found rank 1 again (first in line 1)");
    expect_error(
        4, "0 0", "file:1: expected every rank once, found rank 0 again (first in line 1)");
    expect_error(4, "0-4", "file:1: expected ranks below 4, found 4");
    expect_error(4, "\n7", "file:2: expected ranks below 4, found 7");
    expect_error(
        4, "99999999999999999999", "file:1: expected ranks below 4, found 99999999999999999999");
    expect_error(4, "3-1", "file:1: expected an ascending range, found 3-1");
    expect_error(4, "0,1", "file:1: expected a rank or a range such as 0-3, found \"0,1\"");
    expect_error(4, "-1", "file:1: expected a rank or a range such as 0-3, found \"-1\"");
    expect_error(4, "0-", "file:1: expected a rank or a range such as 0-3, found \"0-\"");
    expect_error(4, "0-1-2", "file:1: expected a rank or a range such as 0-3, found \"0-1-2\"");
    expect_error(4, "all", "file:1: expected a rank or a range such as 0-3, found \"all\"");
}

static void blocks(void **state)
{
    (void)state;
    struct hark_clusters c;
    assert_int_equal(hark_clusters_blocks(&c, 10, 4), 0);
    char *text = hark_clusters_text(&c);
    assert_string_equal(text, "0-2;3-4;5-7;8-9");
    free(text);
    hark_clusters_free(&c);
    assert_int_equal(hark_clusters_blocks(&c, 3, 3), 0);
    assert_int_equal(c.of[2], 2);
    hark_clusters_free(&c);
    assert_int_equal(hark_clusters_blocks(&c, 3, 4), -1);
    assert_int_equal(hark_clusters_blocks(&c, 3, 0), -1);
}

static void groups(void **state)
{
    (void)state;
    struct hark_clusters c;
    char error[256];
    uint32_t count;
    assert_int_equal(hark_clusters_parse(&c, 8, "0-2 5 7\n3 4 6", "file", error), 0);
    struct hark_range *group = hark_clusters_group(&c, 5, &count);
    const struct hark_range expected[] = {{0, 2}, {5, 5}, {7, 7}};
    assert_int_equal(count, 3);
    assert_memory_equal(group, expected, sizeof expected);
    free(group);
    hark_clusters_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(good_files),
        cmocka_unit_test(numbers_follow_lowest_ranks), cmocka_unit_test(bad_files),
        cmocka_unit_test(blocks), cmocka_unit_test(groups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
