/* matrix_read.c: Matrix Market files: https://math.nist.gov/MatrixMarket/formats.html */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lines.h"
#include "matrix.h"

struct reader {
    struct cluster_lines lines;
    struct cluster_entries all;
    uint64_t read, expected; /* entries, or values of an array */
    uint32_t row, column;    /* array: where the next value goes, by columns */
    bool array, symmetric, integer, pattern;
};

#define bad(r, ...) hark_cluster_lines_bad(&(r)->lines, __VA_ARGS__)

static const char *found(const struct reader *r, char shown[44])
{
    return hark_cluster_lines_found(&r->lines, shown);
}

/* ---- words ----------------------------------------------------------------------------------- */

static const char *skip(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* A whole number that ends where a word ends. */
static bool whole(const char **at, uint64_t most, uint64_t *value)
{
    *at = skip(*at);
    return hark_cluster_whole(at, most, value) && strchr(" \t\r\n", **at) != NULL;
}

/* The word in capitals or not; *at goes behind it. */
static bool word(const char **at, const char *expected)
{
    const char *t = skip(*at);
    size_t n = strlen(expected);
    if (strncasecmp(t, expected, n) != 0 || strchr(" \t\r\n", t[n]) == NULL) return false;
    *at = t + n;
    return true;
}

/* Which of the words it is; `count` if it is none of them. */
static size_t choice(const char **at, const char *const *words, size_t count)
{
    size_t i = 0;
    while (i < count && !word(at, words[i])) i++;
    return i;
}

/* ---- the first lines ------------------------------------------------------------------------- */

/* What there is of Matrix Market that can not be what processes send each other. */
static int not_a_number_of_bytes(struct reader *r, size_t field, size_t symmetry)
{
    if (field == 3)
        return bad(r, "complex values are no numbers of bytes: expected real, integer or pattern");
    if (symmetry == 2)
        return bad(r, "a skew-symmetric matrix has values below 0: expected general or symmetric");
    if (symmetry == 3)
        return bad(r, "a Hermitian matrix has complex values: expected general or symmetric");
    if (r->array && r->pattern)
        return bad(r, "an array has values, a pattern has none: expected array real or integer");
    return 0;
}

static int banner(struct reader *r)
{
    static const char *const formats[] = {"coordinate", "array"},
                             *const fields[] = {"real", "integer", "pattern", "complex"},
                             *const symmetries[] = {
                                 "general", "symmetric", "skew-symmetric", "hermitian"};
    char shown[44];
    const char *at = r->lines.text;
    int status = hark_cluster_lines_any(&r->lines);
    if (status <= 0)
        return status < 0 ? -1 : bad(r, "expected %%%%MatrixMarket, the file is empty");
    if (!word(&at, "%%MatrixMarket"))
        return bad(r, "expected %%%%MatrixMarket matrix coordinate integer general, found \"%s\"",
            found(r, shown));
    bool matrix = word(&at, "matrix");
    size_t format = choice(&at, formats, 2), field = choice(&at, fields, 4),
           symmetry = choice(&at, symmetries, 4);
    if (!matrix || format == 2 || field == 4 || symmetry == 4 || *skip(at))
        return bad(r,
            "expected matrix coordinate|array integer|real|pattern general|symmetric, found \"%s\"",
            found(r, shown));
    r->array = format == 1;
    r->integer = field == 1;
    r->pattern = field == 2;
    r->symmetric = symmetry == 1;
    return not_a_number_of_bytes(r, field, symmetry);
}

static int sizes(struct reader *r, uint32_t most)
{
    char shown[44];
    const char *what = r->array ? "rows and columns" : "rows, columns and entries",
               *at = r->lines.text;
    uint64_t rows, columns;
    int status = hark_cluster_lines_next(&r->lines);
    if (status <= 0)
        return status < 0 ? -1 : bad(r, "expected the numbers of %s, the file ends", what);
    if (!whole(&at, UINT32_MAX - 17, &rows) || !whole(&at, UINT32_MAX - 17, &columns) ||
        (!r->array && !whole(&at, UINT64_C(1) << 40, &r->expected)) || *skip(at) || rows == 0)
        return bad(r, "expected the numbers of %s, found \"%s\"", what, found(r, shown));
    if (rows != columns)
        return bad(r, "expected a square matrix, found %" PRIu64 " rows and %" PRIu64 " columns",
            rows, columns);
    if (most && rows > most)
        return bad(r, "expected at most %" PRIu32 " ranks, found %" PRIu64, most, rows);
    r->all.ranks = (uint32_t)rows;
    if (r->array) r->expected = r->symmetric ? rows * (rows + 1) / 2 : rows * rows;
    return 0;
}

/* ---- entries --------------------------------------------------------------------------------- */

static int keep(struct reader *r, uint32_t row, uint32_t column, struct cluster_decimal value)
{
    bool ok = hark_cluster_entries_add(
        &r->all, (struct cluster_entry){row, column, value.exponent, value.digits});
    if (ok && r->symmetric && row != column)
        ok = hark_cluster_entries_add(
            &r->all, (struct cluster_entry){column, row, value.exponent, value.digits});
    return ok ? 0 : bad(r, "no memory");
}

/* A value that ends where a word ends; an integer is digits alone. */
static bool value_of(const struct reader *r, const char **at, struct cluster_decimal *value)
{
    const char *t = skip(*at), *digits = t + (*t == '+'),
               *end = digits + strspn(digits, "0123456789");
    if (!hark_cluster_decimal_read(&t, value) || strchr(" \t\r\n", *t) == NULL) return false;
    *at = t;
    return !r->integer || t == end;
}

static int coordinate(struct reader *r)
{
    char shown[44];
    uint64_t row, column;
    struct cluster_decimal value = {1, 0};
    const char *at = r->lines.text;
    if (r->read == r->expected)
        return bad(r, "expected %" PRIu64 " entries, found more", r->expected);
    if (!whole(&at, UINT32_MAX, &row) || !whole(&at, UINT32_MAX, &column))
        return bad(r, "expected row%s, found \"%s\"",
            r->pattern ? " and column" : ", column and value", found(r, shown));
    if (row < 1 || column < 1 || row > r->all.ranks || column > r->all.ranks)
        return bad(r, "expected row and column from 1 to %" PRIu32 ", found \"%s\"", r->all.ranks,
            found(r, shown));
    if (r->symmetric && row < column)
        return bad(r, "expected row >= column, for the matrix is symmetric, found \"%s\"",
            found(r, shown));
    if (r->pattern && *skip(at))
        return bad(r, "expected row and column alone, found \"%s\"", found(r, shown));
    if (!r->pattern && (!value_of(r, &at, &value) || *skip(at)))
        return bad(r, "expected a %s from 0, found \"%s\"",
            r->integer ? "whole number" : "finite value", found(r, shown));
    r->read++;
    return keep(r, (uint32_t)row - 1, (uint32_t)column - 1, value);
}

/* The values of a line, by columns; of a symmetric matrix those from the diagonal down. */
static int array(struct reader *r)
{
    char shown[44];
    struct cluster_decimal value;
    for (const char *at = skip(r->lines.text); *at; at = skip(at)) {
        if (r->read == r->expected)
            return bad(r, "expected %" PRIu64 " values, found more", r->expected);
        if (!value_of(r, &at, &value))
            return bad(r, "expected %s from 0, found \"%s\"",
                r->integer ? "whole numbers" : "finite values", found(r, shown));
        if (value.digits && keep(r, r->row, r->column, value) < 0) return -1;
        r->read++;
        if (++r->row < r->all.ranks) continue;
        r->column++;
        r->row = r->symmetric ? r->column : 0;
    }
    return 0;
}

static int entries(struct reader *r)
{
    int status;
    while ((status = hark_cluster_lines_next(&r->lines)) > 0)
        if ((r->array ? array : coordinate)(r) < 0) return -1;
    if (status < 0) return -1;
    if (r->read < r->expected)
        return bad(r, "expected %" PRIu64 " %s, the file ends after %" PRIu64, r->expected,
            r->array ? "values" : "entries", r->read);
    return 0;
}

int hark_matrix_read(
    struct hark_matrix *m, const char *path, uint32_t most, char error[HARK_MATRIX_ERROR])
{
    struct reader r = {0};
    *m = (struct hark_matrix){0};
    if (hark_cluster_lines_open(&r.lines, path, error) < 0) return -1;
    int status = banner(&r);
    if (status == 0) status = sizes(&r, most);
    if (status == 0) status = entries(&r);
    if (status == 0 && hark_cluster_entries_take(&r.all, m) < 0) status = bad(&r, "no memory");
    hark_cluster_lines_close(&r.lines);
    free(r.all.entry);
    return status;
}
