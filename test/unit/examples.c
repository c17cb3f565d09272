/* The Matrix Market reader of the examples: what it takes, and the line it gives for what it does
 * not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../examples/matrix_market.h"

#define PATH   "matrix-market-test.mtx"
#define REAL   "%%MatrixMarket matrix coordinate real general\n"
#define HALF   "%%MatrixMarket matrix coordinate real symmetric\n"
#define BANNER "\"%%MatrixMarket matrix coordinate real|integer|pattern general|symmetric\""

static void write_file(const char *text)
{
    FILE *f = fopen(PATH, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

/* Reads all of it into "row column value;..." */
static int read_all(const char *text, char *out, size_t room, struct matrix_market *m)
{
    struct matrix_entry e;
    size_t used = 0;
    write_file(text);
    int status = matrix_market_open(m, PATH);
    out[0] = 0;
    if (status < 0) return status;
    while ((status = matrix_market_next(m, &e)) > 0)
        used += (size_t)snprintf(out + used, room - used, "%u %u %g;", e.row, e.column, e.value);
    matrix_market_close(m);
    return status;
}

static void expect(const char *text, uint32_t rows, uint32_t columns, const char *entries)
{
    struct matrix_market m;
    char out[256];
    assert_int_equal(read_all(text, out, sizeof out, &m), 0);
    assert_string_equal(out, entries);
    assert_int_equal(m.rows, rows);
    assert_int_equal(m.columns, columns);
}

static void expect_error(const char *text, const char *line)
{
    struct matrix_market m;
    char out[256];
    assert_int_equal(read_all(text, out, sizeof out, &m), -1);
    assert_string_equal(m.error, line);
    assert_null(m.file);
}

static void good_files(void **state)
{
    (void)state;
    expect(REAL "2 3 3\n1 1 1.5\n2 3 -2e3\n1 1 1\n", 2, 3, "0 0 1.5;1 2 -2000;0 0 1;");
    expect(HALF "% a comment\n\n%\n3 3 2\n2 2 4\n\n3 1 -1", 3, 3, "1 1 4;2 0 -1;0 2 -1;");
    expect("%%matrixmarket MATRIX Coordinate Pattern Symmetric\r\n2 2 2\r\n1 1\r\n2 1 \r\n", 2, 2,
        "0 0 1;1 0 1;0 1 1;");
    expect(
        "%%MatrixMarket matrix coordinate integer general\n1 1 1\n\t1  1\t-7\n", 1, 1, "0 0 -7;");
    expect(REAL "5 5 0\n% nothing\n", 5, 5, "");
}

static void wrong_heads(void **state)
{
    (void)state;
    expect_error("", PATH ":1: expected " BANNER ", found the end of the file");
    expect_error("hello\n", PATH ":1: expected " BANNER ", found \"hello\"");
    expect_error("%%MatrixMarket matrix array real general\n",
        PATH ":1: expected " BANNER ", found \"%%MatrixMarket matrix array real general\"");
    expect_error("%%MatrixMarket matrix coordinate real\n",
        PATH ":1: expected " BANNER ", found \"%%MatrixMarket matrix coordinate real\"");
    expect_error("%%MatrixMarket matrix coordinate complex g\n",
        PATH ":1: expected " BANNER ", found \"%%MatrixMarket matrix coordinate complex\"");
    expect_error(REAL "% c\n", PATH ":3: expected numbers of rows, of columns (1 to 2147483647), "
                                    "of entries, found the end of the file");
    expect_error(REAL "3 3\n", PATH
        ":2: expected numbers of rows, of columns (1 to 2147483647), of entries, found \"3 3\"");
    expect_error(REAL "3 0 1\n", PATH
        ":2: expected numbers of rows, of columns (1 to 2147483647), of entries, found \"3 0 1\"");
    expect_error(REAL "99999999999999999999 1 1\n",
        PATH ":2: expected numbers of rows, of columns (1 to 2147483647), of entries, "
             "found \"99999999999999999999 1 1\"");
    expect_error(HALF "3 2 1\n",
        PATH ":2: expected as many rows as columns in a symmetric matrix, found \"3 2 1\"");
}

static void wrong_entries(void **state)
{
    (void)state;
    expect_error(REAL "3 3 1\n4 1 1.0\n", PATH ":3: expected a row from 1 to 3, found \"4 1 1.0\"");
    expect_error(
        REAL "3 3 1\n-1 1 1.0\n", PATH ":3: expected a row from 1 to 3, found \"-1 1 1.0\"");
    expect_error(
        REAL "3 3 1\n1 0 1.0\n", PATH ":3: expected a column from 1 to 3, found \"1 0 1.0\"");
    expect_error(
        REAL "3 3 1\n1 2x 1\n", PATH ":3: expected a column from 1 to 3, found \"1 2x 1\"");
    expect_error(
        REAL "3 3 1\n1 1\n", PATH ":3: expected row, column and a finite value, found \"1 1\"");
    expect_error(REAL "3 3 1\n1 1 nan\n",
        PATH ":3: expected row, column and a finite value, found \"1 1 nan\"");
    expect_error(REAL "3 3 1\n1 1 1e999\n",
        PATH ":3: expected row, column and a finite value, found \"1 1 1e999\"");
    expect_error(REAL "3 3 1\n1 1 1 \a9\n",
        PATH ":3: expected row, column and one value, found \"1 1 1  9\"");
    expect_error(HALF "3 3 1\n1 2 1\n", PATH
        ":3: expected an entry on or below the diagonal of a symmetric matrix, found \"1 2 1\"");
    expect_error(
        REAL "3 3 2\n1 1 1\n", PATH ":4: expected entry 2 of 2, found the end of the file");
    expect_error(
        REAL "3 3 1\n1 1 1\n2 2 1\n", PATH ":4: expected no more than 1 entries, found \"2 2 1\"");
}

static void wrong_files(void **state)
{
    (void)state;
    struct matrix_market m;
    char text[3000], out[16];
    unlink(PATH);
    assert_int_equal(matrix_market_open(&m, PATH), -1);
    assert_string_equal(m.error, PATH ": No such file or directory");
    assert_int_equal(matrix_market_open(&m, "/"), -1);
    assert_string_equal(m.error, "/: Is a directory");
    memset(text, '%', sizeof text);
    text[sizeof text - 1] = 0;
    memcpy(text, REAL, strlen(REAL));
    assert_int_equal(read_all(text, out, sizeof out, &m), -1);
    assert_string_equal(m.error,
        PATH ":2: expected a line of text of at most 1022 characters, found "
             "\"%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%\"");
    unlink(PATH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(good_files), cmocka_unit_test(wrong_heads),
        cmocka_unit_test(wrong_entries), cmocka_unit_test(wrong_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
