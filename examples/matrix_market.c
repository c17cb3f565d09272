#include "matrix_market.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SHOWN 40 /* characters of a line in an error */

/* "file:line: expected ..., found ..." */
__attribute__((format(printf, 3, 4))) static int wrong(
    struct matrix_market *m, const char *found, const char *format, ...)
{
    char expected[160], shown[SHOWN + 1] = "the end of the file";
    size_t n = 0;
    va_list list;
    va_start(list, format);
    vsnprintf(expected, sizeof expected, format, list);
    va_end(list);
    for (; found && found[n] && n < SHOWN; n++)
        shown[n] = isprint((unsigned char)found[n]) ? found[n] : ' ';
    while (n > 0 && shown[n - 1] == ' ') n--;
    if (found) shown[n] = 0;
    const char *quote = found ? "\"" : "";
    snprintf(m->error, sizeof m->error, "%.255s:%" PRIu64 ": expected %s, found %s%s%s", m->path,
        m->line, expected, quote, shown, quote);
    return -1;
}

/* The next line: 1, 0 at the end, -1. */
static int line(struct matrix_market *m, char text[MATRIX_MARKET_LINE])
{
    m->line++;
    errno = 0;
    if (fgets(text, MATRIX_MARKET_LINE, m->file) == NULL) {
        if (!ferror(m->file)) return 0;
        snprintf(m->error, sizeof m->error, "%.255s: %s", m->path, strerror(errno));
        return -1;
    }
    if (strchr(text, '\n') || feof(m->file)) return 1;
    return wrong(m, text, "a line of text of at most %d characters", MATRIX_MARKET_LINE - 2);
}

/* The next line that is neither a comment nor blank. */
static int content(struct matrix_market *m, char text[MATRIX_MARKET_LINE])
{
    int status;
    while ((status = line(m, text)) > 0)
        if (text[0] != '%' && text[strspn(text, " \t\r\n")]) break;
    return status;
}

/* A whole number of decimal digits, 0 .. most; *at moves behind it. */
static bool whole(char **at, uint64_t most, uint64_t *value)
{
    *at += strspn(*at, " \t");
    if (!isdigit((unsigned char)**at)) return false;
    errno = 0;
    *value = strtoull(*at, at, 10);
    return errno == 0 && *value <= most && (**at == 0 || isspace((unsigned char)**at));
}

static bool at_end(const char *at)
{
    return at[strspn(at, " \t\r\n")] == 0;
}

static int banner(struct matrix_market *m)
{
    static const char *const expected =
        "\"%%MatrixMarket matrix coordinate real|integer|pattern general|symmetric\"";
    char text[MATRIX_MARKET_LINE], copy[MATRIX_MARKET_LINE], *rest = NULL;
    int status = line(m, text);
    if (status <= 0) return status < 0 ? status : wrong(m, NULL, "%s", expected);
    strcpy(copy, text);
    const char *word[6] = {strtok_r(copy, " \t\r\n", &rest)};
    for (int i = 1; i < 6; i++) word[i] = word[i - 1] ? strtok_r(NULL, " \t\r\n", &rest) : NULL;
    if (word[4] == NULL || word[5] || strcasecmp(word[0], "%%MatrixMarket") ||
        strcasecmp(word[1], "matrix") || strcasecmp(word[2], "coordinate"))
        return wrong(m, text, "%s", expected);
    m->pattern = strcasecmp(word[3], "pattern") == 0;
    m->symmetric = strcasecmp(word[4], "symmetric") == 0;
    if ((!m->pattern && strcasecmp(word[3], "real") && strcasecmp(word[3], "integer")) ||
        (!m->symmetric && strcasecmp(word[4], "general")))
        return wrong(m, text, "%s", expected);
    return 0;
}

static int sizes(struct matrix_market *m)
{
    char text[MATRIX_MARKET_LINE], *at = text;
    uint64_t rows, columns;
    int status = content(m, text);
    if (status < 0) return status;
    if (status == 0 || !whole(&at, MATRIX_MARKET_MOST, &rows) ||
        !whole(&at, MATRIX_MARKET_MOST, &columns) || !whole(&at, UINT64_MAX - 1, &m->entries) ||
        !at_end(at) || rows == 0 || columns == 0)
        return wrong(m, status ? text : NULL, "numbers of rows, of columns (1 to %d), of entries",
            MATRIX_MARKET_MOST);
    if (m->symmetric && rows != columns)
        return wrong(m, text, "as many rows as columns in a symmetric matrix");
    m->rows = (uint32_t)rows;
    m->columns = (uint32_t)columns;
    return 0;
}

int matrix_market_open(struct matrix_market *m, const char *path)
{
    memset(m, 0, sizeof *m);
    m->path = path;
    m->file = fopen(path, "r");
    if (m->file == NULL) {
        snprintf(m->error, sizeof m->error, "%.255s: %s", path, strerror(errno));
        return -1;
    }
    int status = banner(m);
    if (status == 0) status = sizes(m);
    if (status < 0) matrix_market_close(m);
    return status;
}

static int entry_of(struct matrix_market *m, char *text, struct matrix_entry *entry)
{
    uint64_t row, column;
    char *at = text, *number;
    if (!whole(&at, m->rows, &row) || row == 0)
        return wrong(m, text, "a row from 1 to %" PRIu32, m->rows);
    if (!whole(&at, m->columns, &column) || column == 0)
        return wrong(m, text, "a column from 1 to %" PRIu32, m->columns);
    if (m->symmetric && column > row)
        return wrong(m, text, "an entry on or below the diagonal of a symmetric matrix");
    *entry = (struct matrix_entry){(uint32_t)row - 1, (uint32_t)column - 1, 1.0};
    if (!m->pattern) {
        number = at;
        entry->value = strtod(number, &at);
        if (at == number || !isfinite(entry->value))
            return wrong(m, text, "row, column and a finite value");
    }
    return at_end(at)
               ? 0
               : wrong(m, text, m->pattern ? "row and column alone" : "row, column and one value");
}

int matrix_market_next(struct matrix_market *m, struct matrix_entry *entry)
{
    char text[MATRIX_MARKET_LINE];
    if (m->other_waits) {
        *entry = m->other;
        m->other_waits = false;
        return 1;
    }
    int status = content(m, text);
    if (status < 0) return status;
    if (m->read == m->entries)
        return status == 0 ? 0 : wrong(m, text, "no more than %" PRIu64 " entries", m->entries);
    if (status == 0)
        return wrong(m, NULL, "entry %" PRIu64 " of %" PRIu64, m->read + 1, m->entries);
    if (entry_of(m, text, entry) < 0) return -1;
    m->read++;
    m->other_waits = m->symmetric && entry->row != entry->column;
    m->other = (struct matrix_entry){entry->column, entry->row, entry->value};
    return 1;
}

void matrix_market_close(struct matrix_market *m)
{
    if (m->file) fclose(m->file);
    m->file = NULL;
}
