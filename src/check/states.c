#include "states.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static uint64_t row_hash(const struct states *q, const uint32_t *row)
{
    return XXH3_64bits(row, q->width * sizeof *row);
}

static int more_slots(struct states *q)
{
    uint64_t slots = q->slots ? q->slots * 2 : 1 << 14;
    uint32_t *slot = calloc(slots, sizeof *slot);
    if (slot == NULL) return -1;
    for (uint64_t i = 0; i < q->count; i++) {
        uint64_t at = row_hash(q, row_of(q, i)) & (slots - 1);
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
    uint64_t bytes = (uint64_t)STATES_PIECE * (q->width + 2) * sizeof **row;
    row[q->pieces] = malloc(bytes);
    if (row[q->pieces] == NULL) return -1;
    q->pieces++;
    q->bytes += bytes;
    return 0;
}

/* Where it is, or would be. */
static uint64_t place_of(const struct states *q, const struct job *job)
{
    uint64_t at = row_hash(q, job->at) & (q->slots - 1);
    for (; q->slot[at]; at = (at + 1) & (q->slots - 1))
        if (memcmp(row_of(q, q->slot[at] - 1), job->at, q->width * sizeof job->at[0]) == 0) break;
    return at;
}

bool states_have(const struct states *q, const struct job *job)
{
    return q->slots > 0 && q->slot[place_of(q, job)] != 0;
}

int states_add(struct states *q, const struct job *job, uint64_t from, struct job_step step)
{
    if (q->count * 3 >= q->slots * 2 && more_slots(q) < 0) return -1;
    uint64_t at = place_of(q, job);
    if (q->slot[at]) return 0;
    if (q->count >= UINT32_MAX - 1 || (q->count == (uint64_t)q->pieces * STATES_PIECE && more_rows(q) < 0)) return -1;
    uint32_t *row = row_of(q, q->count);
    memcpy(row, job->at, q->width * sizeof *row);
    row[q->width] = (uint32_t)from;
    memcpy(&row[q->width + 1], &step, sizeof step);
    q->slot[at] = (uint32_t)++q->count;
    return 1;
}

void states_free(struct states *q)
{
    for (uint32_t i = 0; i < q->pieces; i++) free(q->row[i]);
    free(q->row);
    free(q->slot);
    memset(q, 0, sizeof *q);
}
