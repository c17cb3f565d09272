/* ps_table.c: see ps_table.h. */
#include "ps_table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../utf8.h"

/* Columns that it takes on a terminal, near enough: characters. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    uint32_t code;
    for (size_t n; *text; text += n ? n : 1, width++) n = hark_utf8(text, SIZE_MAX, &code);
    return width;
}

/* Control characters, and bytes that are no UTF-8, become `?`. */
static void make_plain(char *text)
{
    uint32_t code;
    for (size_t n; *text; text += n) {
        n = hark_utf8(text, SIZE_MAX, &code);
        const bool bad = n == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0);
        if (n == 0) n = 1;
        if (bad) memset(text, '?', n);
    }
}

static void add(struct ps_table *t, char *text)
{
    if (t->count == t->room && text) {
        const size_t room = t->room * 2 + 64;
        char **more = realloc(t->cell, room * sizeof *more);
        if (more) {
            t->cell = more;
            t->room = room;
        }
    }
    if (text == NULL || t->count == t->room) {
        free(text);
        t->bad = true;
        return;
    }
    make_plain(text);
    const size_t width = width_of(text);
    if (width > t->width[t->at]) t->width[t->at] = width;
    t->cell[t->count++] = text;
    t->at = t->at + 1 < t->columns ? t->at + 1 : 0;
}

void ps_table_column(struct ps_table *t, const char *title, bool right)
{
    t->at = t->columns++;
    t->right[t->at] = right;
    add(t, strdup(title));
    t->at = 0;
}

void ps_table_put(struct ps_table *t, const char *format, ...)
{
    char *text;
    va_list list;
    va_start(list, format);
    if (vasprintf(&text, format, list) < 0) text = NULL;
    va_end(list);
    add(t, text);
}

bool ps_table_print(struct ps_table *t, FILE *f)
{
    const bool ok = !t->bad;
    for (size_t i = 0; i < t->count; i++) {
        const size_t column = i % t->columns;
        const bool last = column + 1 == t->columns, right = t->right[column];
        const int pad = ok ? (int)(t->width[column] - width_of(t->cell[i])) : 0;
        if (ok && right) fprintf(f, "%*s%s%s", pad, "", t->cell[i], last ? "\n" : "  ");
        else if (ok) fprintf(f, "%s%*s", t->cell[i], last ? 0 : pad + 2, "");
        if (ok && last && !right) fputc('\n', f);
        free(t->cell[i]);
    }
    free(t->cell);
    *t = (struct ps_table){0};
    return ok;
}
