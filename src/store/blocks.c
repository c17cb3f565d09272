/* blocks.c: the memory of the payload log. */
#include "blocks.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

/* From here on a block comes from mmap and goes back by munmap, below by malloc: many channels with few messages
 * would use up the mappings that a process may have. */
#define MAPPED ((uint64_t)128 << 10)

#define HUGE ((uint64_t)2 << 20)
#define ARENA ((uint64_t)32 << 20)

static unsigned octave(uint64_t size)
{
    return 63u - (unsigned)__builtin_clzll(size);
}

uint64_t hark_block_size(uint64_t bytes)
{
    if (bytes <= HARK_BLOCK_MIN) return HARK_BLOCK_MIN;
    if (bytes > (uint64_t)1 << 46 || bytes > SIZE_MAX / 2) return 0;
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

static void give_back(struct hark_blocks *b, void *block, uint64_t size)
{
    b->held -= size;
    if (size >= MAPPED)
        munmap(block, (size_t)size);
    else
        free(block);
}

void *hark_block_reuse(struct hark_blocks *b, uint64_t size, uint64_t least, uint64_t *room)
{
    if (b->spare == 0) return NULL;
    unsigned class = class_of(size), lowest = class_of(least), found = HARK_BLOCK_CLASSES;
    for (unsigned c = class; c < class + 4 && c < HARK_BLOCK_CLASSES && found == HARK_BLOCK_CLASSES; c++)
        if (b->free[c]) found = c;
    /* What a channel used when it was small is still good: else its growth would leave it all behind. */
    for (unsigned c = class; c-- > lowest && found == HARK_BLOCK_CLASSES;)
        if (b->free[c]) found = c;
    if (found == HARK_BLOCK_CLASSES) return NULL;
    *room = size_of(found);
    return take(b, found);
}

/* Address space that begins at a huge page. */
static uint8_t *map(uint64_t bytes)
{
    uint8_t *at = mmap(NULL, (size_t)(bytes + HUGE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return NULL;
    uint64_t skip = (HUGE - ((uintptr_t)at & (HUGE - 1))) & (HUGE - 1);
    if (skip > 0) munmap(at, (size_t)skip);
    if (skip < HUGE) munmap(at + skip + bytes, (size_t)(HUGE - skip));
    return at + skip;
}

/* Blocks are cut one after the other from a large mapping, so that a fault brings the pages of several. Each is given
 * back by itself: munmap takes any part of a mapping. */
static uint8_t *cut(struct hark_blocks *b, uint64_t size)
{
    if (size > ARENA / 4) {
        uint8_t *block = map(size);
        if (block && b->pages) (void)madvise(block, (size_t)size, MADV_HUGEPAGE);
        return block;
    }
    if (size > b->arena_left) {
        uint8_t *arena = map(ARENA);
        if (!arena) return NULL;
        if (b->arena_left > 0) munmap(b->arena, (size_t)b->arena_left);
        if (b->pages) (void)madvise(arena, (size_t)ARENA, MADV_HUGEPAGE);
        b->arena = arena;
        b->arena_left = ARENA;
    }
    uint8_t *block = b->arena;
    b->arena += size;
    b->arena_left -= size;
    return block;
}

void *hark_block_new(struct hark_blocks *b, uint64_t size, uint64_t soon)
{
    void *block = size >= MAPPED ? cut(b, size) : malloc((size_t)size);
    if (!block) return NULL;
#ifdef MADV_POPULATE_WRITE
    /* One call for all its pages instead of a fault for each; an older kernel refuses and nothing is lost. */
    if (size >= MAPPED && soon > 0) (void)madvise(block, (size_t)soon, MADV_POPULATE_WRITE);
#else
    (void)soon;
#endif
    b->held += size;
    return block;
}

void hark_block_free(struct hark_blocks *b, void *block, uint64_t size)
{
    if (b->spare + size > HARK_BLOCK_SPARE) {
        give_back(b, block, size);
        return;
    }
    unsigned class = class_of(size);
    *(void **)block = b->free[class];
    b->free[class] = block;
    b->spare += size;
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
    while (hark_block_shrink(b)) {}
    if (b->arena_left > 0) munmap(b->arena, (size_t)b->arena_left);
    b->arena_left = 0;
}
