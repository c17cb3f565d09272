#include "intern.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { PIECE = 1 << 20 };

/* `length` bytes, 8-aligned, that are never moved. */
static void *take(struct intern *t, uint32_t length)
{
    uint64_t need = ((uint64_t)length + 7) & ~UINT64_C(7);
    if (need > t->left) {
        uint64_t size = t->small && t->bytes < PIECE ? PIECE / 64 : PIECE;
        if (need > size) size = need;
        void **list = realloc(t->piece, (t->pieces + 1) * sizeof *list);
        if (list == NULL) return NULL;
        t->piece = list;
        uint8_t *piece = malloc(size);
        if (piece == NULL) return NULL;
        list[t->pieces++] = piece;
        t->bytes += size;
        t->free = piece;
        t->left = size;
    }
    void *at = t->free;
    t->free += need;
    t->left -= need;
    return at;
}

static int more_slots(struct intern *t)
{
    uint32_t slots = t->slots ? t->slots * 2 : 1 << 10;
    uint64_t *slot = calloc(slots, sizeof *slot);
    if (slot == NULL) return -1;
    for (uint32_t i = 0; i < t->slots; i++) {
        uint32_t at = (uint32_t)(t->slot[i] >> 32) & (slots - 1);
        if (t->slot[i] == 0) continue;
        while (slot[at]) at = (at + 1) & (slots - 1);
        slot[at] = t->slot[i];
    }
    free(t->slot);
    t->bytes += (uint64_t)(slots - t->slots) * sizeof *slot;
    t->slot = slot;
    t->slots = slots;
    return 0;
}

static int more_entries(struct intern *t)
{
    uint32_t room = t->room ? t->room * 2 : 1 << 9;
    struct intern_entry *e = realloc(t->entry, (uint64_t)room * sizeof *e);
    if (e == NULL) return -1;
    t->bytes += (uint64_t)(room - t->room) * sizeof *e;
    t->entry = e;
    t->room = room;
    return 0;
}

uint32_t intern_put(struct intern *t, const void *bytes, uint32_t length)
{
    if (t->count * 2 >= t->slots && !t->frozen && more_slots(t) < 0) return 0;
    if (t->slots == 0) return 0;
    uint32_t hash = (uint32_t)XXH3_64bits(bytes, length), at = hash & (t->slots - 1);
    for (; t->slot[at]; at = (at + 1) & (t->slots - 1)) {
        if (t->slot[at] >> 32 != hash) continue;
        const uint32_t number = (uint32_t)t->slot[at];
        const struct intern_entry *e = &t->entry[number - 1];
        if (e->length == length && memcmp(e->at, bytes, length) == 0) return number;
    }
    if (t->frozen || (t->count == t->room && more_entries(t) < 0)) return 0;
    void *copy = take(t, length);
    if (copy == NULL) return 0;
    memcpy(copy, bytes, length);
    t->entry[t->count++] = (struct intern_entry){copy, length};
    t->slot[at] = (uint64_t)hash << 32 | t->count;
    return t->count;
}

void intern_free(struct intern *t)
{
    for (uint32_t i = 0; i < t->pieces; i++) free(t->piece[i]);
    free(t->piece);
    free(t->entry);
    free(t->slot);
    memset(t, 0, sizeof *t);
}
