/* pattern.h: where the bytes of a datatype are, in the order of packing.
 *
 * A pattern is a small tree: a 3-D subarray is one loop around one row of blocks, whatever its
 * sizes. Loops that are one (a row whose end meets the next row's beginning) are merged when the
 * pattern is made, and so are blocks that touch; equal blocks at equal distances become a loop. So
 * a datatype that is contiguous in memory has the pattern of one block, however it was made.
 */
#ifndef HARK_MPI_PATTERN_H
#define HARK_MPI_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shape {
    SHAPE_NOTHING, /* no byte */
    SHAPE_BLOCK,   /* `length` bytes at `at` */
    SHAPE_STRIDED, /* `count` blocks of `length` bytes, the first at `at`, `stride` bytes apart */
    SHAPE_PLACES,  /* `count` blocks of `length` bytes at any places: place[] */
    SHAPE_BLOCKS,  /* `count` blocks of any lengths at any places: block[] */
    SHAPE_LOOP,    /* `count` times `body`, `stride` bytes apart */
    SHAPE_LIST     /* `count` patterns: member[] */
};

struct block {
    ptrdiff_t at;
    size_t length, before; /* bytes of the blocks before it */
};

struct pattern {
    enum shape shape;
    size_t size;         /* bytes of data */
    ptrdiff_t low, high; /* the lowest byte, and the one behind the highest */
    ptrdiff_t at;        /* of all shapes: is added to the places inside */
    size_t length, count;
    ptrdiff_t stride;
    union {
        const ptrdiff_t *place;
        const struct block *block;
        const struct pattern *body, *member;
    };
    const size_t *before; /* SHAPE_LIST: for each member the bytes of those before it */
};

/* The memory in which the patterns of one datatype lie. It begins with zeros. */
struct arena {
    void **at;
    size_t count;
};
void hark_mpi_arena_adopt(struct arena *a, void *memory);
void hark_mpi_arena_free(struct arena *a);

struct pattern hark_mpi_pattern_block(size_t length);
static inline struct pattern hark_mpi_pattern_shift(struct pattern p, ptrdiff_t by)
{
    p.at += by;
    p.low += by;
    p.high += by;
    return p;
}
/* `count` times the body, `stride` bytes apart. The result may point to the body, so the body must
 * stay where it is as long as the result is used. */
struct pattern hark_mpi_pattern_repeat(const struct pattern *body, size_t count, ptrdiff_t stride);
/* The same, with a copy of the body. */
struct pattern hark_mpi_pattern_repeat_copy(
    struct arena *a, struct pattern body, size_t count, ptrdiff_t stride);

/* Makes one pattern of several, one after the other: zero the list and set its arena, add each
 * pattern, end. */
struct pattern_list {
    struct arena *arena;
    struct block *block; /* blocks at the end, not yet a member */
    size_t blocks, room;
    struct pattern *member;
    size_t members, member_room;
};
void hark_mpi_pattern_add(struct pattern_list *l, const struct pattern *p);
struct pattern hark_mpi_pattern_end(struct pattern_list *l);

#endif
