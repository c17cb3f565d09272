/* Cluster files, and what is wrong with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/control/clusters.h"
#include "../../src/short_path.h"
#include "../../src/utf8.h"

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

/* Names of any length, with folders or without, of characters of one to four bytes: what is shown
 * begins and ends as they do, and no character is cut. */
static void long_names(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "abcdefgh/", "x", "\xc3\xa9", "\xe2\x82\xac/\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
        char path[600] = "/", shown[HARK_SHORT_PATH];
        while (strlen(path) + 20 < sizeof path) {
            strcat(path, strlen(path) % 3 ? parts[p] : "y");
            const char *short_one = hark_short_path(path, shown);
            const size_t length = strlen(short_one), whole = strlen(path);
            assert_true(length < HARK_SHORT_PATH);
            assert_int_equal(short_one == path, whole < HARK_SHORT_PATH);
            if (short_one == path) continue;
            const char *cut = strstr(shown, "\xe2\x80\xa6");
            assert_non_null(cut);
            const size_t end = length - (size_t)(cut - shown) - 3;
            assert_true(cut - shown >= 16 && end >= 48);
            assert_memory_equal(shown, path, (size_t)(cut - shown));
            assert_string_equal(cut + 3, path + whole - end);
            uint32_t code;
            for (size_t i = 0, n; i < length; i += n)
                assert_true((n = hark_utf8(shown + i, length - i, &code)) > 0);
        }
    }
}

/* What is wrong is said as a whole, however long the name of the file is. */
static void bad_file_of_long_name(void **state)
{
    (void)state;
    struct hark_clusters c;
    char error[256], path[4000];
    memset(path, 'n', sizeof path);
    memcpy(path + sizeof path - 8, "/groups", 8);
    assert_int_equal(hark_clusters_parse(&c, 400, "1 7 4 7", path, error), -1);
    assert_non_null(
        strstr(error, "/groups:1: expected every rank once, found rank 7 again (first in line 1)"));
    assert_int_equal(hark_clusters_parse(&c, 4, "0\n1\n2", path, error), -1);
    assert_non_null(strstr(error, "/groups: expected every rank once, rank 3 is in no cluster"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(good_files),
        cmocka_unit_test(numbers_follow_lowest_ranks), cmocka_unit_test(bad_files),
        cmocka_unit_test(blocks), cmocka_unit_test(groups), cmocka_unit_test(long_names),
        cmocka_unit_test(bad_file_of_long_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
