#include "states.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

void states_open(struct states *q, uint32_t width, uint32_t parts)
{
    memset(q, 0, sizeof *q);
    q->width = width;
    q->most = (UINT32_MAX - 1) / parts;
    for (q->piece = 16; parts > 1; parts /= 2) q->piece--;
}

uint64_t states_hash(const struct states *q, const uint32_t *row)
{
    return XXH3_64bits(row, q->width * sizeof *row);
}

static int more_slots(struct states *q)
{
    uint64_t slots = q->slots ? q->slots * 2 : 1 << 14;
    uint32_t *slot = calloc(slots, sizeof *slot);
    if (slot == NULL) return -1;
    for (uint64_t i = 0; i < q->count; i++) {
        uint64_t at = states_hash(q, row_of(q, i)) & (slots - 1);
        while (slot[at]) at = (at + 1) & (slots - 1);
        slot[at] = (uint32_t)i + 1;
    }
    free(q->slot);
    q->bytes += (slots - q->slots) * sizeof *slot;
    q->slot = slot;
    q->slots = slots;
    return 0;
}

static int more_rows(struct states *q)
{
    uint32_t **row = realloc(q->row, (q->pieces + 1) * sizeof *row);
    if (row == NULL) return -1;
    q->row = row;
    uint64_t bytes = ((uint64_t)(q->width + 2) << q->piece) * sizeof **row;
    row[q->pieces] = malloc(bytes);
    if (row[q->pieces] == NULL) return -1;
    q->pieces++;
    q->bytes += bytes;
    return 0;
}

/* Where it is, or would be. */
static uint64_t place_of(const struct states *q, const uint32_t *row, uint64_t hash)
{
    uint64_t at = hash & (q->slots - 1);
    for (; q->slot[at]; at = (at + 1) & (q->slots - 1))
        if (memcmp(row_of(q, q->slot[at] - 1), row, q->width * sizeof *row) == 0) break;
    return at;
}

bool states_have(const struct states *q, const struct job *job)
{
    return q->slots > 0 && q->slot[place_of(q, job->at, states_hash(q, job->at))] != 0;
}

int states_put(struct states *q, const uint32_t *row, uint64_t hash, uint32_t from, struct job_step step)
{
    if (q->count * 3 >= q->slots * 2 && more_slots(q) < 0) return -1;
    uint64_t at = place_of(q, row, hash);
    if (q->slot[at]) return 0;
    if (q->count >= q->most || (q->count == (uint64_t)q->pieces << q->piece && more_rows(q) < 0)) return -1;
    uint32_t *new = row_of(q, q->count);
    memcpy(new, row, q->width * sizeof *row);
    new[q->width] = from;
    memcpy(&new[q->width + 1], &step, sizeof step);
    q->slot[at] = (uint32_t)++q->count;
    return 1;
}

int64_t states_find(const struct states *q, const uint32_t *row, uint64_t hash)
{
    return q->slots ? (int64_t)q->slot[place_of(q, row, hash)] - 1 : -1;
}

int states_add(struct states *q, const struct job *job, uint64_t from, struct job_step step)
{
    return states_put(q, job->at, states_hash(q, job->at), (uint32_t)from, step);
}

void states_free(struct states *q)
{
    for (uint32_t i = 0; i < q->pieces; i++) free(q->row[i]);
    free(q->row);
    free(q->slot);
    memset(q, 0, sizeof *q);
}
