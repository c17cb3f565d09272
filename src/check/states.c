#include "states.h"

#include <string.h>

enum { BEFORE = 2, STEP, BATCH = 16 };

HARK_STATIC_ASSERT(sizeof(struct job_step) == sizeof(uint32_t), "a step is a number of a row");

void states_open(struct states *q, uint32_t width, uint32_t half, uint32_t parts)
{
    memset(q, 0, sizeof *q);
    q->parts = parts;
    q->from[1] = half;
    q->from[2] = width;
    for (uint32_t h = 0; h < 2; h++)
        table_open(&q->half[h], q->from[h + 1] - q->from[h], 0, UINT32_MAX - 1);
    table_open(&q->all, 2, 2, (UINT32_MAX - 1) / parts);
}

uint64_t states_bytes(const struct states *q)
{
    return table_bytes(&q->half[0]) + table_bytes(&q->half[1]) + table_bytes(&q->all);
}

uint64_t states_growing(const struct states *q)
{
    return table_growing(&q->half[0]) + table_growing(&q->half[1]) + table_growing(&q->all);
}

/* Most steps change one half: the number of the other is that of the state before. -1: it has
 * changed, or that state is in another part. */
static int64_t same_half(const struct states *q, const struct states_new *new, uint32_t h)
{
    if (q->parts > 1 || new->from >= q->all.count) return -1;
    const uint32_t number = table_row(&q->all, new->from)[h];
    const bool same = memcmp(table_row(&q->half[h], number), new->row + q->from[h],
                          q->half[h].width * sizeof *new->row) == 0;
    return same ? (int64_t)number : -1;
}

static int put_batch(struct states *q, const struct states_new *list, uint32_t count)
{
    uint64_t hash[BATCH][2], whole[BATCH];
    uint32_t half[BATCH][2];
    bool same[BATCH][2];
    for (uint32_t k = 0; k < count; k++)
        for (uint32_t h = 0; h < 2; h++) {
            const int64_t number = same_half(q, &list[k], h);
            same[k][h] = number >= 0;
            half[k][h] = (uint32_t)number;
            if (same[k][h]) continue;
            hash[k][h] = table_hash(list[k].row + q->from[h], q->half[h].width);
            table_fetch(&q->half[h], hash[k][h]);
        }
    for (uint32_t k = 0; k < count; k++)
        for (uint32_t h = 0; h < 2; h++)
            if (!same[k][h]) table_fetch_row(&q->half[h], hash[k][h]);
    for (uint32_t k = 0; k < count; k++) {
        for (uint32_t h = 0; h < 2; h++) {
            if (same[k][h]) continue;
            int64_t number = table_put(&q->half[h], list[k].row + q->from[h], hash[k][h], NULL);
            if (number < 0) return -1;
            half[k][h] = (uint32_t)number;
        }
        whole[k] = table_hash(half[k], 2);
        table_fetch(&q->all, whole[k]);
    }
    for (uint32_t k = 0; k < count; k++) table_fetch_row(&q->all, whole[k]);
    for (uint32_t k = 0; k < count; k++) {
        bool new;
        int64_t number = table_put(&q->all, half[k], whole[k], &new);
        if (number < 0) return -1;
        if (!new) continue;
        uint32_t *row = table_row(&q->all, (uint64_t)number);
        row[BEFORE] = list[k].from;
        memcpy(&row[STEP], &list[k].step, sizeof list[k].step);
        q->count++;
    }
    return 0;
}

int states_put(struct states *q, const struct states_new *list, uint32_t count)
{
    for (uint32_t k = 0; k < count; k += BATCH)
        if (put_batch(q, list + k, count - k < BATCH ? count - k : BATCH) < 0) return -1;
    return 0;
}

int states_add(struct states *q, const struct job *job, uint32_t from, struct job_step step)
{
    const struct states_new one = {job->at, from, step};
    return put_batch(q, &one, 1);
}

void states_get(const struct states *q, uint64_t i, uint32_t *row)
{
    const uint32_t *half = table_row(&q->all, i);
    for (uint32_t h = 0; h < 2; h++)
        memcpy(row + q->from[h], table_row(&q->half[h], half[h]), q->half[h].width * sizeof *row);
}

void states_fetch(const struct states *q, uint64_t i)
{
    const uint32_t *half = i < q->count ? table_row(&q->all, i) : NULL;
    for (uint32_t h = 0; half && h < 2; h++) __builtin_prefetch(table_row(&q->half[h], half[h]));
}

uint32_t states_before(const struct states *q, uint64_t i)
{
    return table_row(&q->all, i)[BEFORE];
}

struct job_step states_step(const struct states *q, uint64_t i)
{
    struct job_step step;
    memcpy(&step, &table_row(&q->all, i)[STEP], sizeof step);
    return step;
}

int64_t states_find(const struct states *q, const struct job *job)
{
    uint32_t half[2];
    for (uint32_t h = 0; h < 2; h++) {
        int64_t number = table_find(
            &q->half[h], job->at + q->from[h], table_hash(job->at + q->from[h], q->half[h].width));
        if (number < 0) return -1;
        half[h] = (uint32_t)number;
    }
    return table_find(&q->all, half, table_hash(half, 2));
}

void states_free(struct states *q)
{
    table_free(&q->half[0]);
    table_free(&q->half[1]);
    table_free(&q->all);
    memset(q, 0, sizeof *q);
}
