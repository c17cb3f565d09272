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

/* True if p, SHAPE_STRIDED or SHAPE_LOOP, goes on in the next p, `stride` bytes further: then both
 * are one longer loop. */
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

/* A pattern of at most so many blocks is added to a list block by block, a longer one as a member.
 */
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

static size_t common_divisor(size_t a, size_t b)
{
    while (b) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The length of pieces that all blocks can be cut into: pieces of one length are faster than blocks
 * of two, unless they are many more. 0: there is none. */
static size_t piece_length(const struct block *b, size_t n)
{
    size_t piece = b[0].length, total = b[n - 1].before + b[n - 1].length;
    for (size_t i = 1; i < n && piece > 1; i++) piece = common_divisor(piece, b[i].length);
    return total == piece * n || (piece >= 4 && total / piece <= 2 * n) ? piece : 0;
}

static bool are_equally_far(const struct block *b, size_t n)
{
    for (size_t i = 2; i < n; i++)
        if (b[i].at - b[i - 1].at != b[1].at - b[0].at) return false;
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

/* The pattern of blocks cut into pieces of one length, of which it needs only the places. */
static struct pattern of_places(struct arena *a, const struct block *b, size_t n, size_t piece)
{
    struct pattern p = of_blocks(b, n);
    size_t pieces = p.size / piece, used = 0;
    ptrdiff_t *place = hark_mpi_memory(pieces * sizeof *place);
    for (size_t i = 0; i < n; i++)
        for (size_t in = 0; in < b[i].length; in += piece) place[used++] = b[i].at + (ptrdiff_t)in;
    hark_mpi_arena_adopt(a, place);
    p.shape = SHAPE_PLACES;
    p.length = piece;
    p.count = pieces;
    p.place = place;
    return p;
}

/* The pattern of blocks: takes over their memory. */
static struct pattern take_blocks(struct arena *a, struct block *b, size_t n)
{
    size_t piece = piece_length(b, n), total = b[n - 1].before + b[n - 1].length;
    struct pattern p;
    if (piece == 0) {
        hark_mpi_arena_adopt(a, b);
        return of_blocks(b, n);
    }
    if (n == 1) {
        p = hark_mpi_pattern_shift(hark_mpi_pattern_block(b->length), b->at);
    } else if (piece * n == total && are_equally_far(b, n)) {
        p = strided(b->at, b->length, n, b[1].at - b->at);
    } else {
        p = of_places(a, b, n, piece);
    }
    free(b);
    return p;
}

/* The blocks so far become a member. */
static void flush(struct pattern_list *l)
{
    if (l->blocks == 0) return;
    struct pattern p = take_blocks(l->arena, l->block, l->blocks);
    l->block = NULL;
    l->blocks = l->room = 0;
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
    } else if (p->shape == SHAPE_PLACES && p->count <= FEW) {
        for (size_t i = 0; i < p->count; i++) add_block(l, p->at + p->place[i], p->length);
    } else {
        flush(l);
        add_member(l, p);
    }
}

/* True if both have the same blocks, perhaps at another place. */
static bool are_alike(const struct pattern *a, const struct pattern *b)
{
    return a->shape == b->shape && a->size == b->size && a->length == b->length &&
           a->count == b->count && a->stride == b->stride && a->body == b->body;
}

/* True if all members are one pattern, at equal distances. */
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
