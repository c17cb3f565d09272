/* Patterns: how they are made, and made small. */
#include "internal.h"

/* ---- memory -----------------------------------------------------------------------------------
 */

void hark_mpi_arena_adopt(struct arena *a, void *memory)
{
    void **at = realloc(a->at, (a->count + 1) * sizeof *at);
    if (at == NULL) hark_mpi_fatal(1, "no memory for a datatype");
    a->at = at;
    a->at[a->count++] = memory;
}

void hark_mpi_arena_free(struct arena *a)
{
    while (a->count) free(a->at[--a->count]);
    free(a->at);
    a->at = NULL;
}

/* Room for one element more of an array. */
static void *grow(void *array, size_t *room, size_t used, size_t bytes)
{
    if (used < *room) return array;
    *room = *room ? *room * 2 : 16;
    array = realloc(array, *room * bytes);
    if (array == NULL) hark_mpi_fatal(1, "no memory for a datatype of %zu blocks", *room);
    return array;
}

/* ---- blocks and loops -------------------------------------------------------------------------
 */

struct pattern hark_mpi_pattern_block(size_t length)
{
    if (length == 0) return (struct pattern){.shape = SHAPE_NOTHING};
    return (struct pattern){
        .shape = SHAPE_BLOCK, .size = length, .high = (ptrdiff_t)length, .length = length};
}

static struct pattern strided(ptrdiff_t at, size_t length, size_t count, ptrdiff_t stride)
{
    ptrdiff_t last = (ptrdiff_t)(count - 1) * stride;
    return (struct pattern){.shape = SHAPE_STRIDED,
        .size = length * count,
        .low = at + (last < 0 ? last : 0),
        .high = at + (last > 0 ? last : 0) + (ptrdiff_t)length,
        .at = at,
        .length = length,
        .count = count,
        .stride = stride};
}

static struct pattern loop(const struct pattern *body, size_t count, ptrdiff_t stride)
{
    ptrdiff_t last = (ptrdiff_t)(count - 1) * stride;
    return (struct pattern){.shape = SHAPE_LOOP,
        .size = body->size * count,
        .low = body->low + (last < 0 ? last : 0),
        .high = body->high + (last > 0 ? last : 0),
        .count = count,
        .stride = stride,
        .body = body};
}

/* Does a round of p, a loop of any kind, end where the next one begins? */
static bool continues(const struct pattern *p, ptrdiff_t stride)
{
    return stride == (ptrdiff_t)p->count * p->stride;
}

struct pattern hark_mpi_pattern_repeat(const struct pattern *body, size_t count, ptrdiff_t stride)
{
    if (count == 0 || body->size == 0) return (struct pattern){.shape = SHAPE_NOTHING};
    if (count == 1) return *body;
    if (body->shape == SHAPE_BLOCK && stride == (ptrdiff_t)body->length)
        return hark_mpi_pattern_shift(hark_mpi_pattern_block(body->length * count), body->at);
    if (body->shape == SHAPE_BLOCK) return strided(body->at, body->length, count, stride);
    if (body->shape == SHAPE_STRIDED && continues(body, stride))
        return strided(body->at, body->length, body->count * count, body->stride);
    if (body->shape == SHAPE_LOOP && continues(body, stride))
        return hark_mpi_pattern_shift(
            loop(body->body, body->count * count, body->stride), body->at);
    return loop(body, count, stride);
}

struct pattern hark_mpi_pattern_repeat_copy(
    struct arena *a, struct pattern body, size_t count, ptrdiff_t stride)
{
    struct pattern p = hark_mpi_pattern_repeat(&body, count, stride);
    if (p.shape != SHAPE_LOOP || p.body != &body) return p;
    struct pattern *copy = hark_mpi_memory(sizeof *copy);
    *copy = body;
    p.body = copy;
    hark_mpi_arena_adopt(a, copy);
    return p;
}

/* ---- lists ------------------------------------------------------------------------------------
 */

/* Patterns of few blocks are taken apart, when they join others. */
enum { FEW = 8 };

static void add_block(struct pattern_list *l, ptrdiff_t at, size_t length)
{
    struct block *last = l->blocks ? &l->block[l->blocks - 1] : NULL;
    if (last && last->at + (ptrdiff_t)last->length == at) {
        last->length += length;
        return;
    }
    size_t before = last ? last->before + last->length : 0;
    l->block = grow(l->block, &l->room, l->blocks, sizeof *l->block);
    l->block[l->blocks++] = (struct block){at, length, before};
}

static void add_member(struct pattern_list *l, const struct pattern *p)
{
    l->member = grow(l->member, &l->member_room, l->members, sizeof *l->member);
    l->member[l->members++] = *p;
}

/* Have all blocks one length, and are they at equal distances? */
static bool are_regular(const struct block *b, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (b[i].length != b[0].length || b[i].at - b[i - 1].at != b[1].at - b[0].at) return false;
    return true;
}

static struct pattern of_blocks(const struct block *b, size_t n)
{
    struct pattern p = {.shape = SHAPE_BLOCKS,
        .size = b[n - 1].before + b[n - 1].length,
        .low = PTRDIFF_MAX,
        .high = PTRDIFF_MIN,
        .count = n,
        .block = b};
    for (size_t i = 0; i < n; i++) {
        if (b[i].at < p.low) p.low = b[i].at;
        if (b[i].at + (ptrdiff_t)b[i].length > p.high) p.high = b[i].at + (ptrdiff_t)b[i].length;
    }
    return p;
}

/* The blocks so far become a member. */
static void flush(struct pattern_list *l)
{
    struct block *b = l->block;
    size_t n = l->blocks;
    struct pattern p;
    l->block = NULL;
    l->blocks = l->room = 0;
    if (n == 0) return;
    if (n == 1) {
        p = hark_mpi_pattern_shift(hark_mpi_pattern_block(b->length), b->at);
        free(b);
    } else if (are_regular(b, n)) {
        p = strided(b->at, b->length, n, b[1].at - b->at);
        free(b);
    } else {
        p = of_blocks(b, n);
        hark_mpi_arena_adopt(l->arena, b);
    }
    add_member(l, &p);
}

void hark_mpi_pattern_add(struct pattern_list *l, const struct pattern *p)
{
    if (p->shape == SHAPE_NOTHING) return;
    if (p->shape == SHAPE_BLOCK) {
        add_block(l, p->at, p->length);
    } else if (p->shape == SHAPE_STRIDED && p->count <= FEW) {
        for (size_t i = 0; i < p->count; i++)
            add_block(l, p->at + (ptrdiff_t)i * p->stride, p->length);
    } else if (p->shape == SHAPE_BLOCKS && p->count <= FEW) {
        for (size_t i = 0; i < p->count; i++)
            add_block(l, p->at + p->block[i].at, p->block[i].length);
    } else {
        flush(l);
        add_member(l, p);
    }
}

/* The same bytes, at another place? */
static bool are_alike(const struct pattern *a, const struct pattern *b)
{
    return a->shape == b->shape && a->size == b->size && a->length == b->length &&
           a->count == b->count && a->stride == b->stride && a->body == b->body;
}

/* Are all members one pattern, at equal distances? */
static bool is_loop(const struct pattern *m, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (!are_alike(m, &m[i]) || m[i].at - m[i - 1].at != m[1].at - m[0].at) return false;
    return true;
}

static struct pattern of_members(struct arena *a, const struct pattern *m, size_t n)
{
    size_t *before = hark_mpi_memory(n * sizeof *before);
    struct pattern p = {.shape = SHAPE_LIST,
        .low = PTRDIFF_MAX,
        .high = PTRDIFF_MIN,
        .count = n,
        .member = m,
        .before = before};
    for (size_t i = 0; i < n; i++) {
        before[i] = p.size;
        p.size += m[i].size;
        if (m[i].low < p.low) p.low = m[i].low;
        if (m[i].high > p.high) p.high = m[i].high;
    }
    hark_mpi_arena_adopt(a, before);
    return p;
}

struct pattern hark_mpi_pattern_end(struct pattern_list *l)
{
    flush(l);
    if (l->members == 0) return (struct pattern){.shape = SHAPE_NOTHING};
    struct pattern p = l->member[0];
    size_t n = l->members;
    if (n == 1) {
        free(l->member);
        return p;
    }
    hark_mpi_arena_adopt(l->arena, l->member);
    if (!is_loop(l->member, n)) return of_members(l->arena, l->member, n);
    return hark_mpi_pattern_repeat(l->member, n, l->member[1].at - p.at);
}
