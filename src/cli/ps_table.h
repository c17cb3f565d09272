/* ps_table.h: text in columns that are as wide as what is in them. */
#ifndef HARK_CLI_PS_TABLE_H
#define HARK_CLI_PS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define PS_COLUMNS 12

struct ps_table {
    size_t columns, at; /* of the cell that comes next */
    size_t width[PS_COLUMNS];
    bool right[PS_COLUMNS]; /* numbers stand at the right of their column */
    char **cell;            /* row by row */
    size_t count, room;
    bool bad; /* there was no memory for all */
};

/* Adds a column; cells of the first row. */
void ps_table_column(struct ps_table *t, const char *title, bool right);
/* The next cell. What a terminal would obey becomes `?`. */
void ps_table_put(struct ps_table *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints and frees it. False: there was no memory, and nothing is printed. */
bool ps_table_print(struct ps_table *t, FILE *f);

#endif
