#include "matrix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of numbers that no common power of ten makes whole, so many digits of the largest stay, and those
 * of the others that are in the same places: more than any cost tells apart, and fewer than doubles
 * have, so that what their last digits are does not count. */
enum { ROUGH = 12, WHOLE = 15 };

bool hark_cluster_entries_add(struct cluster_entries *all, struct cluster_entry e)
{
    if (all->count == all->room) { /* as many as there are, not as many as the file says */
        uint64_t room = all->room ? all->room * 2 : 1024;
        struct cluster_entry *more = realloc(all->entry, room * sizeof *more);
        if (more == NULL) return false;
        all->entry = more;
        all->room = room;
    }
    all->entry[all->count++] = e;
    return true;
}

static int by_place(const void *a, const void *b)
{
    const struct cluster_entry *x = a, *y = b;
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

/* What a process sends itself is of no use to anybody here: it does not decide the unit, and is the
 * largest value where it is too large for that. */
static bool is_own(const struct cluster_entry *e)
{
    return e->row == e->column;
}

/* All of it in units of 10^exponent. False: a value or a sum is too large for that. */
static bool fill(
    struct hark_matrix *m, const struct cluster_entries *all, int32_t exponent, uint64_t most)
{
    uint64_t total = 0, value;
    m->entries = 0;
    m->exponent = exponent;
    memset(m->first, 0, ((uint64_t)m->ranks + 1) * sizeof *m->first);
    for (uint64_t i = 0; i < all->count; i++) {
        const struct cluster_entry *e = &all->entry[i];
        bool again = i && by_place(e - 1, e) == 0;
        if (!hark_cluster_decimal_scale(
                (struct cluster_decimal){e->digits, e->exponent}, exponent, most, &value)) {
            if (!is_own(e)) return false;
            value = most;
        }
        if (!again) {
            m->column[m->entries] = e->column;
            m->value[m->entries++] = 0;
            m->first[e->row + 1] = m->entries;
        }
        uint64_t *sum = &m->value[m->entries - 1];
        *sum += value;
        if (is_own(e)) {
            if (*sum > most) *sum = most;
            continue;
        }
        total += value;
        if (*sum > most || total > HARK_GRAPH_MOST) return false;
    }
    for (uint32_t i = 1; i <= m->ranks; i++)
        if (m->first[i] < m->first[i - 1]) m->first[i] = m->first[i - 1];
    return true;
}

/* The power of ten that makes all of them whole, 0 if they are; and the one that leaves ROUGH
 * digits to the largest.
 */
static void exponents(const struct cluster_entries *all, int32_t *exact, int32_t *rough)
{
    struct cluster_decimal most = {0, 0};
    *exact = 0;
    for (uint64_t i = 0; i < all->count; i++) {
        if (is_own(&all->entry[i])) continue;
        struct cluster_decimal d = {all->entry[i].digits, all->entry[i].exponent};
        if (d.digits && d.exponent < *exact) *exact = d.exponent;
        if (hark_cluster_decimal_above(d, most)) most = d;
    }
    uint64_t shown = 0;
    *rough = most.digits ? hark_cluster_decimal_size(most) - ROUGH : 0;
    hark_cluster_decimal_scale(most, *rough - 1, UINT64_MAX, &shown);
    *rough += shown == hark_cluster_ten(ROUGH + 1); /* 0.99999999999999999 is as large as 1 */
}

int hark_cluster_entries_take(struct cluster_entries *all, struct hark_matrix *m)
{
    int32_t exact, rough;
    if (all->count) qsort(all->entry, all->count, sizeof *all->entry, by_place);
    *m = (struct hark_matrix){.ranks = all->ranks};
    if (!room_for(m, all->count)) {
        hark_matrix_free(m);
        return -1;
    }
    exponents(all, &exact, &rough);
    if (fill(m, all, exact, exact ? hark_cluster_ten(WHOLE) : HARK_MATRIX_MOST)) return 0;
    while (!fill(m, all, rough, HARK_MATRIX_MOST)) rough++;
    return 0;
}

int hark_matrix_turn(struct hark_matrix *to, const struct hark_matrix *m)
{
    *to = (struct hark_matrix){.ranks = m->ranks, .exponent = m->exponent};
    uint64_t *at = calloc((uint64_t)m->ranks + 1, sizeof *at);
    if (at == NULL || !room_for(to, m->entries)) {
        free(at);
        hark_matrix_free(to);
        return -1;
    }
    for (uint64_t k = 0; k < m->entries; k++) to->first[m->column[k] + 1]++;
    for (uint32_t i = 0; i < m->ranks; i++) at[i] = to->first[i + 1] += to->first[i];
    for (uint32_t i = m->ranks; i-- > 0;) at[i] = to->first[i];
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
    uint64_t low = row < m->ranks ? m->first[row] : 0,
             high = row < m->ranks ? m->first[row + 1] : 0;
    *is = false;
    while (low < high) {
        uint64_t mid = (low + high) / 2;
        if (m->column[mid] < column) low = mid + 1;
        else high = mid;
    }
    *is = row < m->ranks && low < m->first[row + 1] && m->column[low] == column;
    return *is ? m->value[low] : 0;
}

/* The value at k in units of 1; 0, or why not. */
static int whole(const struct hark_matrix *m, uint64_t k, uint64_t *value)
{
    if (!hark_cluster_decimal_scale(
            (struct cluster_decimal){m->value[k], m->exponent}, 0, HARK_MATRIX_MOST, value))
        return -ERANGE;
    return m->value[k] && *value == 0 ? -EDOM : 0;
}

int hark_matrix_whole(struct hark_matrix *m, uint32_t *row, uint64_t *at)
{
    int status;
    uint64_t value;
    for (*row = 0; *row < m->ranks; ++*row)
        for (*at = m->first[*row]; *at < m->first[*row + 1]; ++*at)
            if (m->column[*at] != *row && (status = whole(m, *at, &value)) < 0) return status;
    for (uint64_t k = 0; k < m->entries; k++)
        if (whole(m, k, &value) == 0) m->value[k] = value;
    m->exponent = 0;
    return 0;
}

void hark_matrix_free(struct hark_matrix *m)
{
    free(m->first);
    free(m->column);
    free(m->value);
    *m = (struct hark_matrix){0};
}
