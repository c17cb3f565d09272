#include "loads.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct hark_loads *l;
    const char *path;
    char *error, *text;
    size_t room;
    uint64_t line, most, values, values_room;
    uint32_t columns; /* 0: not known yet */
    FILE *file;
};

static int bad(const struct reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int bad(const struct reader *r, const char *format, ...)
{
    va_list list;
    int n = snprintf(r->error, HARK_MATRIX_ERROR, "%s:%" PRIu64 ": ", r->path, r->line);
    if (n < 0 || n >= HARK_MATRIX_ERROR) return -1;
    va_start(list, format);
    vsnprintf(r->error + n, (size_t)(HARK_MATRIX_ERROR - n), format, list);
    va_end(list);
    return -1;
}

/* The word that was found, as far as it can be printed. */
static const char *found(const char *at, char shown[44])
{
    size_t i = 0;
    for (; at[i] && !strchr(",; \t\r\n", at[i]) && i < 40; i++)
        shown[i] = at[i] >= ' ' && at[i] <= '~' ? at[i] : '?';
    shown[i] = 0;
    return shown;
}

static bool number(const char **at, uint64_t most, uint64_t *value)
{
    const char *t = *at;
    if (*t < '0' || *t > '9') return false;
    for (*value = 0; *t >= '0' && *t <= '9'; t++) {
        *value = *value * 10 + (uint64_t)(*t - '0');
        if (*value > most) return false;
    }
    if (*t && !strchr(",; \t\r\n#", *t)) return false;
    *at = t;
    return true;
}

static bool keep(struct reader *r, uint64_t value)
{
    if (r->values == r->values_room) {
        r->values_room = r->values_room ? r->values_room * 2 : 1024;
        uint64_t *more = realloc(r->l->value, r->values_room * sizeof *more);
        if (more == NULL) return false;
        r->l->value = more;
    }
    r->l->value[r->values++] = value;
    return true;
}

/* Numbers of a line: a separator between two, which may be blanks alone. */
static int numbers(struct reader *r, const char *at)
{
    char shown[44];
    uint64_t value;
    uint32_t count = 0;
    for (;;) {
        if (!number(&at, r->most, &value))
            return bad(r, "expected whole numbers from 0 to %" PRIu64 ", found \"%s\"", r->most,
                found(at, shown));
        if (count++ == UINT32_MAX - 1 || !keep(r, value)) return bad(r, "no memory");
        at += strspn(at, " \t\r\n");
        if (*at == 0 || *at == '#') break;
        if (*at == ',' || *at == ';') at += 1 + strspn(at + 1, " \t\r\n");
    }
    if (r->columns == 0) r->columns = count;
    if (count != r->columns)
        return bad(r, "expected %" PRIu32 " number%s in each line, found %" PRIu32, r->columns,
            &"s"[r->columns == 1], count);
    if (++r->l->rows > UINT32_MAX - 18)
        return bad(r, "expected at most %" PRIu32 " lines of numbers", UINT32_MAX - 18);
    return 0;
}

static int lines(struct reader *r)
{
    ssize_t length;
    for (r->line = 1; (length = getline(&r->text, &r->room, r->file)) >= 0; r->line++) {
        const char *at = r->text + strspn(r->text, " \t\r\n");
        if (strlen(r->text) != (size_t)length) return bad(r, "expected text, found a zero byte");
        if (*at && *at != '#' && numbers(r, at) < 0) return -1;
    }
    if (ferror(r->file)) return bad(r, "%s", strerror(errno));
    if (!feof(r->file)) return bad(r, "no memory");
    return r->l->rows ? 0 : bad(r, "expected a line of numbers for each object, the file has none");
}

int hark_loads_read(struct hark_loads *l, const char *path, uint32_t columns, uint64_t most,
    char error[HARK_MATRIX_ERROR])
{
    struct reader r = {.l = l, .path = path, .error = error, .most = most, .columns = columns};
    *l = (struct hark_loads){0};
    r.file = fopen(path, "re");
    if (r.file == NULL) {
        snprintf(error, HARK_MATRIX_ERROR, "%s: %s", path, strerror(errno));
        return -1;
    }
    int status = lines(&r);
    fclose(r.file);
    free(r.text);
    l->columns = r.columns;
    if (status < 0) hark_loads_free(l);
    return status;
}

void hark_loads_free(struct hark_loads *l)
{
    free(l->value);
    *l = (struct hark_loads){0};
}
