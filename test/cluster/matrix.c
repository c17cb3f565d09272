/* hark_matrix_read: every form of Matrix Market that can be a communication matrix, what is wrong
 * with the others, numbers as they stand in the file, and the same clusters at every scale. Runs in
 * the locale of its environment, for none of this depends on it. */
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <unistd.h>

#include "graphs.h"

static char path[] = "/tmp/hark-matrix-XXXXXX";

static int read_text(struct hark_matrix *m, const char *text, char error[HARK_MATRIX_ERROR])
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    return hark_matrix_read(m, path, 0, error);
}

static struct hark_matrix matrix(const char *text)
{
    struct hark_matrix m;
    char error[HARK_MATRIX_ERROR] = "";
    if (read_text(&m, text, error) < 0) fail_msg("%s\n%s", text, error);
    return m;
}

static void same_matrix(const struct hark_matrix *a, const struct hark_matrix *b)
{
    assert_int_equal(a->ranks, b->ranks);
    assert_int_equal(a->entries, b->entries);
    assert_int_equal(a->exponent, b->exponent);
    assert_memory_equal(a->first, b->first, ((size_t)a->ranks + 1) * sizeof *a->first);
    assert_memory_equal(a->column, b->column, a->entries * sizeof *a->column);
    assert_memory_equal(a->value, b->value, a->entries * sizeof *a->value);
}

#define LINES(...) (__VA_ARGS__) /* several strings that are one */

static void all_forms_are_one_matrix(void **state)
{
    static const char *const forms[] = {
        "%%MatrixMarket matrix coordinate integer general\n3 3 5\n1 1 4\n2 1 7\n1 2 7\n3 2 1\n2 3 "
        "1\n",
        LINES("%%MatrixMarket matrix coordinate real general\r\n% mixed\r\n\r\n3 3 5\r\n"
              "3 2 1e0\r\n2 1 7.\r\n2 3 10D-1\r\n1 2 .07E+2\r\n1 1 4.000\r\n"),
        "%%MATRIXMARKET MATRIX COORDINATE INTEGER SYMMETRIC\n3 3 3\n1 1 4\n2 1 7\n3 2 1\n",
        "%%matrixmarket\tmatrix Coordinate  Real Symmetric  \n3 3 4\n2 1 3.0\n3 2 1\n2 1 4\n1 1 "
        "+4\n",
        "%%MatrixMarket matrix array integer general\n3 3\n4\n7\n0\n7\n0\n1\n0\n1\n0\n",
        "%%MatrixMarket matrix array real general\n% by columns\n3 3\n4 7 0\n7 0 1 0 1 -0.0\n",
        "%%MatrixMarket matrix array real symmetric\n3 3\n4\n7\n0\n0\n1\n0\n",
    };
    struct hark_matrix first = matrix(forms[0]);
    (void)state;
    for (size_t i = 1; i < sizeof forms / sizeof forms[0]; i++) {
        struct hark_matrix m = matrix(forms[i]);
        same_matrix(&first, &m);
        hark_matrix_free(&m);
    }
    hark_matrix_free(&first);
}

static void a_pattern_is_ones(void **state)
{
    struct hark_matrix
        ones = matrix("%%MatrixMarket matrix coordinate integer general\n3 3 4\n1 2 1\n2 1 1\n2 3 "
                      "2\n3 2 2\n"),
        general = matrix("%%MatrixMarket matrix coordinate pattern general\n3 3 6\n1 2\n2 1\n2 "
                         "3\n2 3\n3 2\n3 2\n"),
        half = matrix("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n2 1\n3 2\n3 2\n");
    (void)state;
    same_matrix(&ones, &general);
    same_matrix(&ones, &half);
    hark_matrix_free(&ones);
    hark_matrix_free(&general);
    hark_matrix_free(&half);
}

static void what_is_refused_says_why(void **state)
{
    static const struct {
        const char *text, *error;
    } wrong[] = {
        {"", "1: expected %%MatrixMarket, the file is empty"},
        {"\n", "1: expected %%MatrixMarket matrix coordinate integer general, found \"\""},
        {"%MatrixMarket matrix coordinate real general\n",
            "1: expected %%MatrixMarket matrix coordinate integer general, found "
            "\"%MatrixMarket matrix coordinate real gen...\""},
        {"%%MatrixMarket matrix coordinate complex general\n1 1 0\n",
            "1: complex values are no numbers of bytes: expected real, integer or pattern"},
        {"%%MatrixMarket matrix coordinate complex hermitian\n1 1 0\n",
            "1: complex values are no numbers of bytes: expected real, integer or pattern"},
        {"%%MatrixMarket matrix coordinate real hermitian\n1 1 0\n",
            "1: a Hermitian matrix has complex values: expected general or symmetric"},
        {"%%MatrixMarket matrix coordinate real Skew-Symmetric\n1 1 0\n",
            "1: a skew-symmetric matrix has values below 0: expected general or symmetric"},
        {"%%MatrixMarket matrix array pattern general\n1 1\n",
            "1: an array has values, a pattern has none: expected array real or integer"},
        {"%%MatrixMarket matrix coordinate real\n1 1 0\n",
            "1: expected matrix coordinate|array integer|real|pattern "
            "general|symmetric, found \"%%MatrixMarket matrix coordinate real\""},
        {"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n1 2\n",
            "3: expected row >= column, for the matrix is symmetric, found \"1 2\""},
        {"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2 3\n",
            "3: expected row and column alone, found \"1 2 3\""},
        {"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1\n",
            "3: expected row and column, found \"1\""},
        {"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 3.5\n",
            "3: expected a whole number from 0, found \"1 2 3.5\""},
        {"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 -3\n",
            "3: expected a whole number from 0, found \"1 2 -3\""},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1,5\n",
            "3: expected a finite value from 0, found \"1 2 1,5\""},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 -1e-9\n",
            "3: expected a finite value from 0, found \"1 2 -1e-9\""},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1e\n",
            "3: expected a finite value from 0, found \"1 2 1e\""},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 .\n",
            "3: expected a finite value from 0, found \"1 2 .\""},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1e300\n",
            "3: expected a finite value from 0, found \"1 2 1e300\""},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 0x10\n",
            "3: expected a finite value from 0, found \"1 2 0x10\""},
        {"%%MatrixMarket matrix array real general\n2 2\n1 2\n3 x\n",
            "4: expected finite values from 0, found \"3 x\""},
        {"%%MatrixMarket matrix array integer general\n2 2\n1 2\n3 1.0\n",
            "4: expected whole numbers from 0, found \"3 1.0\""},
        {"%%MatrixMarket matrix array integer general\n2 2\n1 2\n3\n",
            "5: expected 4 values, the file ends after 3"},
        {"%%MatrixMarket matrix array integer symmetric\n2 2\n1 2\n3 4\n",
            "4: expected 3 values, found more"},
        {"%%MatrixMarket matrix array integer general\n2 3\n",
            "2: expected a square matrix, found 2 rows and 3 columns"},
        {"%%MatrixMarket matrix array integer general\n2 2 4\n",
            "2: expected the numbers of rows and columns, found \"2 2 4\""},
        {"%%MatrixMarket matrix array integer general\n",
            "2: expected the numbers of rows and columns, the file ends"},
        {"%%MatrixMarket matrix coordinate integer general\n2 2\n",
            "2: expected the numbers of rows, columns and entries, found \"2 2\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct hark_matrix m;
        char error[HARK_MATRIX_ERROR] = "", expected[HARK_MATRIX_ERROR];
        snprintf(expected, sizeof expected, "%s:%s", path, wrong[i].error);
        assert_int_equal(read_text(&m, wrong[i].text, error), -1);
        assert_string_equal(error, expected);
        assert_null(m.first);
    }
}

/* ---- numbers */

static void two(const char *a, const char *b, uint64_t x, uint64_t y, int32_t exponent)
{
    char text[256];
    snprintf(text, sizeof text,
        "%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 %s\n2 1 %s\n", a, b);
    struct hark_matrix m = matrix(text);
    assert_int_equal(m.exponent, exponent);
    assert_int_equal(m.value[0], x);
    assert_int_equal(m.value[1], y);
    hark_matrix_free(&m);
}

static void numbers_are_as_they_stand_there(void **state)
{
    (void)state;
    two("1234.75", "3.5e3", 123475, 350000, -2);
    two("0.4", "0.001", 400, 1, -3);
    two("4e-10", "1e-12", 400, 1, -12);
    two("1e9", "7", 1000000000, 7, 0);
    two("9007199254740992", "1", UINT64_C(1) << 53, 1, 0);
    two("0", "0.000", 0, 0, 0);
    two("1e299", "1e299", UINT64_C(100000000000), UINT64_C(100000000000), 288);
    two("1e-300", "1e-301", 10, 1, -301);
    two("1e-302", "0.5", 0, 5, -1); /* below all that is read */
    two("5e17", "3e17", UINT64_C(500000000000), UINT64_C(300000000000), 6);
    /* as doubles come from a program: 0.4 and 0.001 by some factor */
    two("0.40000000000000002", "0.001", UINT64_C(400000000000), 1000000000, -12);
    two("4.0000000000000001e-10", "1.0000000000000001e-12", UINT64_C(400000000000), 1000000000,
        -21);
    two("0.99999999999999989", "0.5", UINT64_C(100000000000), UINT64_C(50000000000), -11); /* as if
                                                                                              it
                                                                                              were 1
                                                                                            */
    two("1.00000000000000000000000001", "0.5", 10, 5, -1); /* of 19 digits */
}

static void sums_of_one_place_are_any(void **state)
{
    struct hark_matrix m = matrix("%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 2 "
                                  "9007199254740992\n1 2 9007199254740992\n");
    (void)state;
    assert_int_equal(m.entries, 1);
    assert_int_equal(m.exponent, 4);
    assert_int_equal(m.value[0], UINT64_C(1801439850948));
    hark_matrix_free(&m);
}

static void whole_numbers_of_fractions(void **state)
{
    struct hark_matrix m =
        matrix("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 12.5\n2 1 0.49\n");
    uint32_t row;
    uint64_t at;
    (void)state;
    assert_int_equal(hark_matrix_whole(&m, &row, &at), -EDOM);
    assert_int_equal(row, 1);
    assert_int_equal(m.column[at], 0);
    assert_int_equal(m.value[0], 1250);
    m.value[1] = 50;
    assert_int_equal(hark_matrix_whole(&m, &row, &at), 0);
    assert_int_equal(m.exponent, 0);
    assert_int_equal(m.value[0], 13);
    assert_int_equal(m.value[1], 1);
    m.exponent = 16;
    assert_int_equal(hark_matrix_whole(&m, &row, &at), -ERANGE);
    assert_int_equal(row, 0);
    assert_int_equal(m.value[0], 13);
    hark_matrix_free(&m);
}

/* ---- clusters at every scale */

enum { RANKS = 48 };

/* Groups that talk in fractions, and hardly at all to the others: each value times a factor,
 * written as the format has it. */
static void write_groups(double factor, const char *format, uint32_t digits)
{
    FILE *f = fopen(path, "we");
    uint64_t seed = 5;
    uint32_t count = 0;
    assert_non_null(f);
    for (uint32_t v = 0; v < RANKS; v++)
        for (uint32_t u = 0; u < RANKS; u++)
            count += v != u && (v % 6 == u % 6 || (v + 1) % RANKS == u);
    fprintf(f, "%%%%MatrixMarket matrix coordinate real general\n%d %d %" PRIu32 "\n", RANKS, RANKS,
        count);
    for (uint32_t v = 0; v < RANKS; v++)
        for (uint32_t u = 0; u < RANKS; u++) {
            if (v == u || (v % 6 != u % 6 && (v + 1) % RANKS != u)) continue;
            double x = v % 6 == u % 6 ? 0.4 : 0.001;
            char number[64];
            for (uint32_t i = 0; i < digits; i++) x += (double)(draw(&seed) % 10) * x / 1000;
            snprintf(number, sizeof number, format, x * factor);
            for (char *c = number; *c; c++)
                if (*c == ',') *c = '.'; /* of this locale */
            fprintf(f, "%" PRIu32 " %" PRIu32 " %s\n", v + 1, u + 1, number);
        }
    assert_int_equal(fclose(f), 0);
}

static struct hark_partition clusters_at(double factor, const char *format, uint32_t digits,
    enum hark_partition_effort effort, bool ordered)
{
    struct hark_matrix m;
    struct hark_partition_options o;
    char error[HARK_MATRIX_ERROR];
    write_groups(factor, format, digits);
    if (hark_matrix_read(&m, path, 0, error) < 0) fail_msg("%s", error);
    hark_partition_defaults(&o);
    o.effort = effort;
    o.cost.ordered = ordered;
    struct hark_partition p = find(&m, &o);
    partition_ok(&p, &m, &o);
    hark_matrix_free(&m);
    return p;
}

static void clusters_are_the_same_at_every_scale(void **state)
{
    static const char *const formats[] = {"%.9g", "%.15g", "%.17g", "%.20f"};
    (void)state;
    for (int e = 0; e < 6; e++)
        for (uint32_t digits = 0; digits < 4; digits += 3) {
            enum hark_partition_effort effort = (enum hark_partition_effort)(e / 2);
            struct hark_partition first = clusters_at(1, "%.17g", digits, effort, e % 2);
            if (effort != HARK_PARTITION_PAPER && e % 2 == 0) assert_int_equal(first.clusters, 6);
            for (int power = -9; power <= 9; power += 3)
                for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
                    double factor = 1;
                    for (int i = 0; i < power; i++) factor *= 10;
                    for (int i = 0; i > power; i--) factor /= 10;
                    struct hark_partition p =
                        clusters_at(factor, formats[f], digits, effort, e % 2);
                    assert_int_equal(p.clusters, first.clusters);
                    assert_memory_equal(p.of, first.of, RANKS * sizeof *p.of);
                    assert_true(p.cost > first.cost - 1e-7 && p.cost < first.cost + 1e-7);
                    hark_partition_free(&p);
                }
            hark_partition_free(&first);
        }
}

/* What a process sends itself does not decide the unit, and not what fits. */
static void own_messages_decide_nothing(void **state)
{
    (void)state;
    bool is;
    struct hark_matrix m = matrix("%%MatrixMarket matrix coordinate real general\n3 3 6\n1 1 1e9\n"
                                  "2 2 1e30\n2 2 1e30\n1 2 0.00012345678\n2 1 0.5\n3 3 1e-300\n");
    assert_int_equal(m.exponent, -11);
    assert_int_equal(hark_matrix_at(&m, 0, 1, &is), 12345678);
    assert_int_equal(hark_matrix_at(&m, 1, 0, &is), UINT64_C(50000000000));
    assert_true(hark_matrix_at(&m, 1, 1, &is) <= HARK_MATRIX_MOST && is);
    hark_matrix_free(&m);
    m = matrix("%%MatrixMarket matrix coordinate integer general\n2 2 3\n1 1 2000000000000000000\n"
               "1 2 500000\n2 1 7\n");
    assert_int_equal(m.exponent, 0);
    assert_int_equal(hark_matrix_at(&m, 1, 0, &is), 7);
    hark_matrix_free(&m);
}

static int clean(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_forms_are_one_matrix),
        cmocka_unit_test(a_pattern_is_ones), cmocka_unit_test(what_is_refused_says_why),
        cmocka_unit_test(numbers_are_as_they_stand_there),
        cmocka_unit_test(sums_of_one_place_are_any), cmocka_unit_test(whole_numbers_of_fractions),
        cmocka_unit_test(clusters_are_the_same_at_every_scale),
        cmocka_unit_test(own_messages_decide_nothing)};
    int descriptor = mkstemp(path);
    const char *comma = getenv("HARK_TEST_COMMA");
    if (descriptor < 0 || close(descriptor) != 0) return 2;
    if (setlocale(LC_ALL, "") == NULL || (comma && strcmp(localeconv()->decimal_point, ",") != 0)) {
        fprintf(stderr, "no such locale\n");
        return 2;
    }
    return cmocka_run_group_tests(tests, NULL, clean);
}
