#include "rows.h"

#include "common.h"

enum { TAG_HALO = 1 };

static uint32_t first_row(const struct rows *a, int rank)
{
    return (uint32_t)((uint64_t)a->n * (uint64_t)rank / (uint64_t)a->size);
}

static uint32_t owner(const struct rows *a, uint32_t row)
{
    return (uint32_t)((((uint64_t)row + 1) * (uint64_t)a->size - 1) / a->n);
}

static bool mine(const struct rows *a, uint32_t row)
{
    return row - a->begin < a->count;
}

void rows_begin(struct rows *a, uint32_t n, int rank, int size)
{
    memset(a, 0, sizeof *a);
    a->n = n;
    a->rank = rank;
    a->size = size;
    a->begin = first_row(a, rank);
    a->count = first_row(a, rank + 1) - a->begin;
}

/* Room for one more. */
static void *more(void *at, size_t count, size_t *room, size_t width)
{
    if (count < *room) return at;
    *room = *room ? *room * 2 : 1024;
    at = realloc(at, *room * width);
    if (at == NULL) check(-1, "no memory for the matrix");
    return at;
}

void rows_add(struct rows *a, const struct matrix_entry *entry)
{
    if (mine(a, entry->row)) {
        a->entry = more(a->entry, a->entries, &a->entry_room, sizeof *a->entry);
        a->entry[a->entries++] = *entry;
    } else if (mine(a, entry->column)) {
        a->need = more(a->need, a->needs, &a->need_room, sizeof *a->need);
        a->need[a->needs++] = (struct need){owner(a, entry->row), entry->column};
    }
}

static int by_need(const void *left, const void *right)
{
    const struct need *a = left, *b = right;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static int by_number(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void collect(struct rows *a)
{
    size_t kept = 0;
    a->ghost = allocate(a->entries, sizeof *a->ghost);
    for (size_t i = 0; i < a->entries; i++)
        if (!mine(a, a->entry[i].column)) a->ghost[a->ghosts++] = a->entry[i].column;
    qsort(a->ghost, a->ghosts, sizeof *a->ghost, by_number);
    for (size_t i = 0; i < a->ghosts; i++)
        if (kept == 0 || a->ghost[kept - 1] != a->ghost[i]) a->ghost[kept++] = a->ghost[i];
    a->ghosts = kept;
    kept = 0;
    if (a->needs) qsort(a->need, a->needs, sizeof *a->need, by_need);
    for (size_t i = 0; i < a->needs; i++)
        if (kept == 0 || by_need(&a->need[kept - 1], &a->need[i]) != 0)
            a->need[kept++] = a->need[i];
    a->needs = kept;
    a->packed = allocate(a->needs, sizeof *a->packed);
}

static uint32_t local(const struct rows *a, uint32_t column)
{
    if (mine(a, column)) return column - a->begin;
    const uint32_t *at = bsearch(&column, a->ghost, a->ghosts, sizeof *a->ghost, by_number);
    return a->count + (uint32_t)(at - a->ghost);
}

/* Entries into rows, each row in the order in which they came. */
static void compress(struct rows *a)
{
    a->start = allocate((size_t)a->count + 2, sizeof *a->start);
    a->column = allocate(a->entries, sizeof *a->column);
    a->value = allocate(a->entries, sizeof *a->value);
    for (size_t i = 0; i < a->entries; i++) a->start[a->entry[i].row - a->begin + 2]++;
    for (uint32_t i = 0; i < a->count; i++) a->start[i + 2] += a->start[i + 1];
    for (size_t i = 0; i < a->entries; i++) { /* start[row + 1] runs through the row, and ends at
                                                 its end */
        size_t at = a->start[a->entry[i].row - a->begin + 1]++;
        a->column[at] = local(a, a->entry[i].column);
        a->value[at] = a->entry[i].value;
    }
    free(a->entry);
    a->entry = NULL;
}

static void meet(struct rows *a)
{
    size_t need = 0, ghost = 0;
    a->neighbour = allocate((size_t)a->size, sizeof *a->neighbour);
    for (int rank = 0; rank < a->size; rank++) {
        struct neighbour b = {.rank = rank, .send = need, .receive = ghost};
        while (need < a->needs && a->need[need].rank == (uint32_t)rank) need++;
        while (ghost < a->ghosts && a->ghost[ghost] < first_row(a, rank + 1)) ghost++;
        b.sends = need - b.send;
        b.receives = ghost - b.receive;
        if (b.sends || b.receives) a->neighbour[a->neighbours++] = b;
    }
}

void rows_end(struct rows *a)
{
    collect(a);
    compress(a);
    meet(a);
}

void rows_free(struct rows *a)
{
    free(a->start);
    free(a->column);
    free(a->value);
    free(a->ghost);
    free(a->need);
    free(a->neighbour);
    free(a->packed);
}

void rows_exchange(struct rows *a, double *x)
{
    for (struct neighbour *b = a->neighbour; b < a->neighbour + a->neighbours; b++)
        if (b->receives)
            check(hark_irecv(x + a->count + b->receive, b->receives * sizeof *x, b->rank, TAG_HALO,
                      &b->request),
                "hark_irecv");
    for (struct neighbour *b = a->neighbour; b < a->neighbour + a->neighbours; b++) {
        for (size_t i = b->send; i < b->send + b->sends; i++)
            a->packed[i] = x[a->need[i].index - a->begin];
        if (b->sends)
            check(hark_send(a->packed + b->send, b->sends * sizeof *x, b->rank, TAG_HALO),
                "hark_send");
    }
    for (struct neighbour *b = a->neighbour; b < a->neighbour + a->neighbours; b++)
        check(hark_wait(&b->request, NULL), "hark_wait");
}

void rows_multiply(const struct rows *a, const double *x, double *y)
{
    for (uint32_t i = 0; i < a->count; i++) {
        double sum = 0;
        for (size_t k = a->start[i]; k < a->start[i + 1]; k++) sum += a->value[k] * x[a->column[k]];
        y[i] = sum;
    }
}
