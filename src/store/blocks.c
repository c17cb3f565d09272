/* blocks.c: the memory of the payload log. */
#include "blocks.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

/* From here on a block comes from mmap and goes back by munmap, below by malloc: many channels with
 * few messages would use up the mappings that a process may have. */
#define MAPPED ((uint64_t)128 << 10)

#define HUGE       ((uint64_t)2 << 20)
#define ARENA      ((uint64_t)32 << 20)
#define LENT_ARENA ((uint64_t)4 << 20) /* at least: it is there at once, whole */

static unsigned octave(uint64_t size)
{
    return 63u - (unsigned)__builtin_clzll(size);
}

#define BLOCK_MOST (SIZE_MAX / 2 >> 46 ? (uint64_t)1 << 46 : SIZE_MAX / 2) /* bytes */

uint64_t hark_block_size(uint64_t bytes)
{
    if (bytes <= HARK_BLOCK_MIN) return HARK_BLOCK_MIN;
    if (bytes > BLOCK_MOST) return 0;
    uint64_t step = (uint64_t)1 << (octave(bytes) - 2);
    return (bytes + step - 1) & ~(step - 1);
}

static unsigned class_of(uint64_t size)
{
    unsigned o = octave(size);
    return (o - 12) * 4 + ((unsigned)(size >> (o - 2)) & 3);
}

static uint64_t size_of(unsigned class)
{
    return (uint64_t)(4 + class % 4) << (10 + class / 4);
}

static void *take(struct hark_blocks *b, unsigned class)
{
    void *block = b->free[class];
    b->free[class] = *(void **)block;
    b->spare -= size_of(class);
    return block;
}

static struct hark_arena *lent_with(const struct hark_blocks *b, const void *at)
{
    for (uint32_t i = b->lent_count; i-- > 0;)
        if ((const uint8_t *)at >= b->lent[i].at &&
            (const uint8_t *)at < b->lent[i].at + b->lent[i].size)
            return &b->lent[i];
    return NULL;
}

/* Goes back when nothing of it is in use, the rest behind the last block included. */
static void leave_lent(struct hark_blocks *b, struct hark_arena *a)
{
    if (b->closing || a->out > 0 || (b->arena_left > 0 && lent_with(b, b->arena) == a)) return;
    b->reclaim(b->self, a->at, a->size);
    *a = b->lent[--b->lent_count];
}

static void unmap(struct hark_blocks *b, uint8_t *at, uint64_t size)
{
    struct hark_arena *a = lent_with(b, at);
    if (!a) {
        munmap(at, (size_t)size);
        return;
    }
    if (!b->closing) (void)madvise(at, (size_t)size, MADV_REMOVE);
    a->out -= size;
    leave_lent(b, a);
}

static void give_back(struct hark_blocks *b, void *block, uint64_t size)
{
    b->held -= size;
    if (size >= MAPPED) unmap(b, block, size);
    else free(block);
}

void *hark_block_reuse(struct hark_blocks *b, uint64_t size, uint64_t least, uint64_t *room)
{
    if (b->spare == 0) return NULL;
    unsigned class = class_of(size), lowest = class_of(least), found = HARK_BLOCK_CLASSES;
    for (unsigned c = class; c < class + 4 && c < HARK_BLOCK_CLASSES && found == HARK_BLOCK_CLASSES;
         c++)
        if (b->free[c]) found = c;
    /* What a channel used when it was small is still good: else its growth would leave it all
     * behind. */
    for (unsigned c = class; c-- > lowest && found == HARK_BLOCK_CLASSES;)
        if (b->free[c]) found = c;
    if (found == HARK_BLOCK_CLASSES) return NULL;
    *room = size_of(found);
    return take(b, found);
}

/* Address space that begins at a huge page. */
static uint8_t *map(uint64_t bytes)
{
    uint8_t *at = mmap(
        NULL, (size_t)(bytes + HUGE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return NULL;
    uint64_t skip = (HUGE - ((uintptr_t)at & (HUGE - 1))) & (HUGE - 1);
    if (skip > 0) munmap(at, (size_t)skip);
    if (skip < HUGE) munmap(at + skip + bytes, (size_t)(HUGE - skip));
    return at + skip;
}

/* An arena that others can read; NULL if there is none to be had. */
static struct hark_arena *lend(struct hark_blocks *b, uint64_t size)
{
    if (!b->lend || b->private) return NULL;
    if (b->lent_count == b->lent_room) {
        uint32_t room = b->lent_room ? b->lent_room * 2 : 8;
        struct hark_arena *more = realloc(b->lent, room * sizeof *more);
        if (!more) return NULL;
        b->lent = more;
        b->lent_room = room;
    }
    struct hark_arena *a = &b->lent[b->lent_count];
    *a = (struct hark_arena){.at = b->lend(b->self, size), .size = size};
    b->private = a->at == NULL;
    b->lent_count += a->at != NULL;
    return a->at ? a : NULL;
}

/* What is left of the arena goes; it was never in a block. */
static void leave_arena(struct hark_blocks *b)
{
    uint8_t *at = b->arena;
    uint64_t left = b->arena_left;
    struct hark_arena *a = left > 0 ? lent_with(b, at) : NULL;
    b->arena_left = 0;
    if (!a) {
        if (left > 0) munmap(at, (size_t)left);
        return;
    }
    if (!b->closing) (void)madvise(at, (size_t)left, MADV_REMOVE);
    leave_lent(b, a);
}

static uint8_t *arena_of(struct hark_blocks *b, uint64_t size)
{
    struct hark_arena *a = lend(b, size);
    if (a) return a->at;
    uint8_t *at = map(size);
    if (at && b->pages) (void)madvise(at, (size_t)size, MADV_HUGEPAGE);
    return at;
}

/* As large as an eighth of what there is: little for a log with little in it. */
static uint64_t arena_size(const struct hark_blocks *b)
{
    uint64_t size = LENT_ARENA;
    if (!b->lend || b->private) return ARENA;
    while (size < ARENA && size < b->held / 8) size *= 2;
    return b->arena_most && b->arena_most < size ? b->arena_most : size;
}

/* Blocks are cut one after the other from a large mapping, so that a fault brings the pages of
 * several. Each is given back by itself: munmap takes any part of a mapping. */
static uint8_t *cut(struct hark_blocks *b, uint64_t size)
{
    uint8_t *block;
    uint64_t whole = size > b->arena_left ? arena_size(b) : 0;
    if (whole && size > whole / 4) {
        block = arena_of(b, size);
    } else {
        if (whole) {
            uint8_t *arena = arena_of(b, whole);
            if (!arena) return NULL;
            leave_arena(b);
            b->arena = arena;
            b->arena_left = whole;
        }
        block = b->arena;
        b->arena += size;
        b->arena_left -= size;
    }
    struct hark_arena *a = block ? lent_with(b, block) : NULL;
    if (a) a->out += size;
    return block;
}

void *hark_block_new(struct hark_blocks *b, uint64_t size, uint64_t soon)
{
    void *block = size >= MAPPED ? cut(b, size) : malloc((size_t)size);
    if (!block) return NULL;
#ifdef MADV_POPULATE_WRITE
    /* One call for all its pages instead of a fault for each; an older kernel refuses and nothing
     * is lost. */
    if (size >= MAPPED && soon > 0 && !lent_with(b, block))
        (void)madvise(block, (size_t)soon, MADV_POPULATE_WRITE);
#else
    (void)soon;
#endif
    b->held += size;
    return block;
}

void hark_block_free(struct hark_blocks *b, void *block, uint64_t size)
{
    uint64_t most = b->held / 2 > HARK_BLOCK_SPARE ? b->held / 2 : HARK_BLOCK_SPARE;
    if (b->closing || b->spare + size > most) {
        give_back(b, block, size);
        return;
    }
    unsigned class = class_of(size);
    *(void **)block = b->free[class];
    b->free[class] = block;
    b->spare += size;
}

uint64_t hark_block_memory(const struct hark_blocks *b)
{
    return b->held + (b->arena_left > 0 && lent_with(b, b->arena) ? b->arena_left : 0);
}

bool hark_block_shrink(struct hark_blocks *b)
{
    for (unsigned c = HARK_BLOCK_CLASSES; b->spare > 0 && c-- > 0;)
        if (b->free[c]) {
            give_back(b, take(b, c), size_of(c));
            return true;
        }
    return false;
}

void hark_block_close(struct hark_blocks *b)
{
    while (hark_block_shrink(b)) {
    }
    leave_arena(b);
    free(b->lent);
    *b = (struct hark_blocks){0};
}
