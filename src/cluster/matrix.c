#include "hark/cluster.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#if HARK_ZLIB
#include <zlib.h>
#endif

enum { LINE = 1024 };

struct entry {
    uint32_t row, column;
    uint64_t value;
};

struct reader {
    struct hark_matrix *m;
    const char *path;
    char *error;
    uint64_t line, read, expected;
    bool real;
    struct entry *entry;
#if HARK_ZLIB
    gzFile file;
#else
    FILE *file;
#endif
    char text[LINE];
};

static int bad(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int bad(struct reader *r, const char *format, ...)
{
    va_list list;
    int n = snprintf(r->error, HARK_MATRIX_ERROR, "%s:%" PRIu64 ": ", r->path, r->line);
    if (n < 0 || n >= HARK_MATRIX_ERROR) return -1;
    va_start(list, format);
    vsnprintf(r->error + n, (size_t)(HARK_MATRIX_ERROR - n), format, list);
    va_end(list);
    return -1;
}

/* What was found, as far as it can be printed. */
static const char *found(const struct reader *r, char shown[44])
{
    size_t i = 0;
    for (; r->text[i] && r->text[i] != '\n' && r->text[i] != '\r' && i < 40; i++)
        shown[i] = r->text[i] >= ' ' && r->text[i] <= '~' ? r->text[i] : '?';
    strcpy(shown + i, r->text[i] && r->text[i] != '\n' && r->text[i] != '\r' ? "..." : "");
    return shown;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

#if HARK_ZLIB
static int open_file(struct reader *r)
{
    r->file = gzopen(r->path, "rbe");
    if (r->file == NULL) {
        snprintf(r->error, HARK_MATRIX_ERROR, "%s: %s", r->path, strerror(errno ? errno : ENOMEM));
        return -1;
    }
    gzbuffer(r->file, 1 << 17);
    return 0;
}

static char *get(struct reader *r)
{
    return gzgets(r->file, r->text, LINE);
}

/* Why there was no line: 0 at the end of the file. */
static int why(struct reader *r)
{
    int code;
    const char *text = gzerror(r->file, &code);
    if (code == Z_OK || code == Z_STREAM_END) return 0;
    if (code == Z_BUF_ERROR) return bad(r, "the compressed file is cut off here");
    return bad(r, "%s",
        code == Z_ERRNO        ? strerror(errno)
        : code == Z_DATA_ERROR ? "the compressed file is damaged"
                               : text);
}

static void close_file(struct reader *r)
{
    gzclose(r->file);
}
#else
static int open_file(struct reader *r)
{
    r->file = fopen(r->path, "rbe");
    if (r->file == NULL) {
        snprintf(r->error, HARK_MATRIX_ERROR, "%s: %s", r->path, strerror(errno));
        return -1;
    }
    int a = getc(r->file), b = getc(r->file);
    if (a != 0x1f || b != 0x8b) {
        rewind(r->file);
        return 0;
    }
    snprintf(r->error, HARK_MATRIX_ERROR, "%s: compressed by gzip, and this hark was built without zlib", r->path);
    fclose(r->file);
    return -1;
}

static char *get(struct reader *r)
{
    return fgets(r->text, LINE, r->file);
}

static int why(struct reader *r)
{
    return ferror(r->file) ? bad(r, "%s", strerror(errno)) : 0;
}

static void close_file(struct reader *r)
{
    fclose(r->file);
}
#endif

/* The next line that is neither a comment nor empty: 1, or 0 at the end, or -1. */
static int next_line(struct reader *r)
{
    for (;;) {
        r->line++;
        if (get(r) == NULL) return why(r);
        size_t length = strlen(r->text);
        if (length == 0) return bad(r, "expected text, found a zero byte");
        if (length == LINE - 1 && r->text[length - 1] != '\n')
            return bad(r, "expected lines of at most %d bytes", LINE - 2);
        if (r->text[length - 1] != '\n' && why(r) < 0) return -1; /* the last line, or what is left of one */
        if (r->text[0] != '%' && r->text[strspn(r->text, " \t\r\n")]) return 1;
    }
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static bool whole(const char **at, uint64_t most, uint64_t *value)
{
    const char *t = *at + strspn(*at, " \t");
    if (*t < '0' || *t > '9') return false;
    for (*value = 0; *t >= '0' && *t <= '9'; t++) {
        *value = *value * 10 + (uint64_t)(*t - '0');
        if (*value > most) return false;
    }
    *at = t;
    return strchr(" \t\r\n", *t) != NULL;
}

static bool ended(const char *at)
{
    return at[strspn(at, " \t\r\n")] == 0;
}

static int banner(struct reader *r)
{
    char object[16], format[16], field[16], symmetry[16], shown[44];
    r->line = 1;
    if (get(r) == NULL) return why(r) < 0 ? -1 : bad(r, "expected %%%%MatrixMarket, the file is empty");
    if (sscanf(r->text, "%%%%MatrixMarket %15s %15s %15s %15s", object, format, field, symmetry) != 4)
        return bad(r, "expected %%%%MatrixMarket matrix coordinate integer general, found \"%s\"", found(r, shown));
    r->real = strcasecmp(field, "real") == 0;
    if (strcasecmp(object, "matrix") || strcasecmp(format, "coordinate") ||
        (!r->real && strcasecmp(field, "integer")) || strcasecmp(symmetry, "general"))
        return bad(r, "expected matrix coordinate integer|real general, found \"%s\"", found(r, shown));
    return 0;
}

static int sizes(struct reader *r, uint32_t most)
{
    char shown[44];
    uint64_t rows, columns;
    int status = next_line(r);
    if (status <= 0)
        return status < 0 ? -1 : bad(r, "expected the numbers of rows, columns and entries, the file ends");
    const char *at = r->text;
    if (!whole(&at, UINT32_MAX - 17, &rows) || !whole(&at, UINT32_MAX - 17, &columns) ||
        !whole(&at, UINT64_C(1) << 40, &r->expected) || !ended(at) || rows == 0)
        return bad(r, "expected the numbers of rows, columns and entries, found \"%s\"", found(r, shown));
    if (rows != columns)
        return bad(r, "expected a square matrix, found %" PRIu64 " rows and %" PRIu64 " columns", rows, columns);
    if (most && rows > most) return bad(r, "expected at most %" PRIu32 " ranks, found %" PRIu64, most, rows);
    r->m->ranks = (uint32_t)rows;
    return 0;
}

static bool real(const char **at, uint64_t *value)
{
    const char *t = *at + strspn(*at, " \t");
    char *end;
    if (strchr("+-.0123456789", *t) == NULL || *t == 0) return false; /* no nan, no inf, by their names */
    double d = strtod(t, &end);
    if (end == t || !isfinite(d) || d < 0 || d > (double)HARK_MATRIX_MOST) return false;
    *value = (uint64_t)(d + 0.5);
    *at = end;
    return true;
}

static int one(struct reader *r, struct entry *e)
{
    char shown[44];
    uint64_t row, column;
    const char *at = r->text;
    if (!whole(&at, UINT32_MAX, &row) || !whole(&at, UINT32_MAX, &column))
        return bad(r, "expected row, column and value, found \"%s\"", found(r, shown));
    if (row < 1 || column < 1 || row > r->m->ranks || column > r->m->ranks)
        return bad(r, "expected row and column from 1 to %" PRIu32 ", found \"%s\"", r->m->ranks, found(r, shown));
    if (!(r->real ? real(&at, &e->value) : whole(&at, HARK_MATRIX_MOST, &e->value)) || !ended(at))
        return bad(r, "expected a finite value from 0 to 2^53, found \"%s\"", found(r, shown));
    e->row = (uint32_t)row - 1;
    e->column = (uint32_t)column - 1;
    return 0;
}

/* ---- the matrix -------------------------------------------------------------------------------------------------- */

static int entries(struct reader *r)
{
    uint64_t room = 0;
    int status;
    while ((status = next_line(r)) > 0) {
        if (r->read == r->expected) return bad(r, "expected %" PRIu64 " entries, found more", r->expected);
        if (r->read == room) { /* as many as there are, not as many as the file says */
            room = room ? room * 2 : 1024;
            struct entry *more = realloc(r->entry, room * sizeof *more);
            if (more == NULL) return bad(r, "no memory");
            r->entry = more;
        }
        if (one(r, &r->entry[r->read]) < 0) return -1;
        r->read++;
    }
    if (status < 0) return -1;
    if (r->read < r->expected)
        return bad(r, "expected %" PRIu64 " entries, the file ends after %" PRIu64, r->expected, r->read);
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

static bool room_for(struct hark_matrix *m, uint64_t entries)
{
    m->first = calloc((uint64_t)m->ranks + 1, sizeof *m->first);
    m->column = malloc((entries + 1) * sizeof *m->column);
    m->value = malloc((entries + 1) * sizeof *m->value);
    m->entries = entries;
    return m->first && m->column && m->value;
}

static int keep(struct reader *r)
{
    struct hark_matrix *m = r->m;
    if (r->read) qsort(r->entry, r->read, sizeof *r->entry, by_place);
    if (!room_for(m, r->read)) return bad(r, "no memory");
    m->entries = 0;
    for (uint64_t i = 0; i < r->read; i++) {
        const struct entry *e = &r->entry[i];
        if (i && by_place(e - 1, e) == 0) {
            uint64_t *sum = &m->value[m->entries - 1];
            if (*sum + e->value > HARK_MATRIX_MOST)
                return bad(
                    r, "expected a sum up to 2^53 in row %" PRIu32 ", column %" PRIu32, e->row + 1, e->column + 1);
            *sum += e->value;
            continue;
        }
        m->column[m->entries] = e->column;
        m->value[m->entries++] = e->value;
        m->first[e->row + 1] = m->entries;
    }
    for (uint32_t i = 1; i <= m->ranks; i++)
        if (m->first[i] < m->first[i - 1]) m->first[i] = m->first[i - 1];
    return 0;
}

int hark_matrix_read(struct hark_matrix *m, const char *path, uint32_t most, char error[HARK_MATRIX_ERROR])
{
    struct reader r = {.m = m, .path = path, .error = error};
    memset(m, 0, sizeof *m);
    if (open_file(&r) < 0) return -1;
    int status = banner(&r);
    if (status == 0) status = sizes(&r, most);
    if (status == 0) status = entries(&r);
    if (status == 0) status = keep(&r);
    close_file(&r);
    free(r.entry);
    if (status < 0) hark_matrix_free(m);
    return status;
}

int hark_matrix_turn(struct hark_matrix *to, const struct hark_matrix *m)
{
    *to = (struct hark_matrix){.ranks = m->ranks};
    uint64_t *at = calloc((uint64_t)m->ranks + 1, sizeof *at);
    if (at == NULL || !room_for(to, m->entries)) {
        free(at);
        hark_matrix_free(to);
        return -1;
    }
    for (uint64_t k = 0; k < m->entries; k++)
        to->first[m->column[k] + 1]++;
    for (uint32_t i = 0; i < m->ranks; i++)
        at[i] = to->first[i + 1] += to->first[i];
    for (uint32_t i = m->ranks; i-- > 0;)
        at[i] = to->first[i];
    for (uint32_t row = 0; row < m->ranks; row++)
        for (uint64_t k = m->first[row]; k < m->first[row + 1]; k++) {
            to->column[at[m->column[k]]] = row;
            to->value[at[m->column[k]]++] = m->value[k];
        }
    free(at);
    return 0;
}

uint64_t hark_matrix_at(const struct hark_matrix *m, uint32_t row, uint32_t column, bool *is)
{
    uint64_t low = row < m->ranks ? m->first[row] : 0, high = row < m->ranks ? m->first[row + 1] : 0;
    *is = false;
    while (low < high) {
        uint64_t mid = (low + high) / 2;
        if (m->column[mid] < column)
            low = mid + 1;
        else
            high = mid;
    }
    *is = row < m->ranks && low < m->first[row + 1] && m->column[low] == column;
    return *is ? m->value[low] : 0;
}

void hark_matrix_free(struct hark_matrix *m)
{
    free(m->first);
    free(m->column);
    free(m->value);
    *m = (struct hark_matrix){0};
}
