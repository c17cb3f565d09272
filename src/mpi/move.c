/* Packing and unpacking: bytes between a buffer with gaps and one without. Both begin and end at
 * any byte, for messages go in pieces. */
#include "internal.h"

/* Goes along the packed bytes while the pattern is walked. Memory is an address as a number: of a
 * buffer at MPI_BOTTOM it is all in the pattern. */
struct mover {
    enum { PACK, UNPACK, VISIT } does;
    uint8_t *packed;
    void (*visit)(void *argument, ptrdiff_t at, size_t length);
    void *argument;
};

static inline uint8_t *memory(uintptr_t at)
{
    return (uint8_t *)at;
}

/* ---- blocks -----------------------------------------------------------------------------------
 */

/* The first and the last `half` bytes, which overlap unless there are twice as many. */
#define COPY_ENDS(half)                                                                            \
    do {                                                                                           \
        uint8_t head[half], tail[half];                                                            \
        memcpy(head, from, half);                                                                  \
        memcpy(tail, from + length - half, half);                                                  \
        memcpy(to, head, half);                                                                    \
        memcpy(to + length - half, tail, half);                                                    \
    } while (0)

/* One or two numbers are copied without a call. */
static inline void copy(uint8_t *to, const uint8_t *from, size_t length)
{
    if (length > 32) memcpy(to, from, length);
    else if (length >= 16) COPY_ENDS(16);
    else if (length >= 8) COPY_ENDS(8);
    else if (length >= 4) COPY_ENDS(4);
    else if (length >= 2) COPY_ENDS(2);
    else *to = *from;
}

static inline void move(struct mover *m, uintptr_t at, size_t length)
{
    switch (m->does) {
    case PACK: copy(m->packed, memory(at), length); break;
    case UNPACK: copy(memory(at), m->packed, length); break;
    case VISIT: m->visit(m->argument, (ptrdiff_t)at, length); return;
    }
    m->packed += length;
}

/* Blocks of the usual lengths are moved by loops of their own, without a call for each. */
#define LENGTHS(X) X(1) X(2) X(4) X(8) X(12) X(16) X(24) X(32) X(40) X(48) X(64)

#define MOVE_ALL(to, to_step, from, from_step, length)                                             \
    for (size_t i = 0; i < count; i++) {                                                           \
        memcpy(to, from, length);                                                                  \
        to += to_step;                                                                             \
        from += from_step;                                                                         \
    }                                                                                              \
    break;

static void gather(
    uint8_t *to, const uint8_t *from, ptrdiff_t stride, size_t count, const size_t length)
{
#define GATHER(n)                                                                                  \
    case n: MOVE_ALL(to, n, from, stride, n)
    switch (length) {
        LENGTHS(GATHER)
    default: MOVE_ALL(to, length, from, stride, length)
    }
}

static void scatter(
    uint8_t *to, ptrdiff_t stride, const uint8_t *from, size_t count, const size_t length)
{
#define SCATTER(n)                                                                                 \
    case n: MOVE_ALL(to, stride, from, n, n)
    switch (length) {
        LENGTHS(SCATTER)
    default: MOVE_ALL(to, stride, from, length, length)
    }
}

static void move_strided(
    struct mover *m, uintptr_t at, size_t length, size_t count, ptrdiff_t stride)
{
    switch (m->does) {
    case PACK: gather(m->packed, memory(at), stride, count, length); break;
    case UNPACK: scatter(memory(at), stride, m->packed, count, length); break;
    case VISIT:
        for (size_t i = 0; i < count; i++)
            m->visit(m->argument, (ptrdiff_t)at + (ptrdiff_t)i * stride, length);
        return;
    }
    m->packed += length * count;
}

/* The same for blocks at any places. */
#define MOVE_PLACES(to, from, packed, length)                                                      \
    for (size_t i = 0; i < count; i++) {                                                           \
        memcpy(to, from, length);                                                                  \
        packed += length;                                                                          \
    }                                                                                              \
    break;

static void gather_places(
    uint8_t *to, uintptr_t at, const ptrdiff_t *place, size_t count, size_t length)
{
#define GATHER_PLACES(n)                                                                           \
    case n: MOVE_PLACES(to, memory(at + (uintptr_t)place[i]), to, n)
    switch (length) {
        LENGTHS(GATHER_PLACES)
    default: MOVE_PLACES(to, memory(at + (uintptr_t)place[i]), to, length)
    }
}

static void scatter_places(
    uintptr_t at, const ptrdiff_t *place, const uint8_t *from, size_t count, size_t length)
{
#define SCATTER_PLACES(n)                                                                          \
    case n: MOVE_PLACES(memory(at + (uintptr_t)place[i]), from, from, n)
    switch (length) {
        LENGTHS(SCATTER_PLACES)
    default: MOVE_PLACES(memory(at + (uintptr_t)place[i]), from, from, length)
    }
}

static void move_places(
    struct mover *m, uintptr_t at, const ptrdiff_t *place, size_t count, size_t length)
{
    switch (m->does) {
    case PACK: gather_places(m->packed, at, place, count, length); break;
    case UNPACK: scatter_places(at, place, m->packed, count, length); break;
    case VISIT:
        for (size_t i = 0; i < count; i++) m->visit(m->argument, (ptrdiff_t)at + place[i], length);
        return;
    }
    m->packed += length * count;
}

/* ---- patterns ---------------------------------------------------------------------------------
 */

static inline uintptr_t round_at(const struct pattern *p, uintptr_t at, size_t round)
{
    return at + (uintptr_t)(p->at + (ptrdiff_t)round * p->stride);
}

/* All bytes of a pattern; `at`: where its buffer is. */
static void whole(const struct pattern *p, uintptr_t at, struct mover *m)
{
    const uintptr_t here = at + (uintptr_t)p->at;
    switch (p->shape) {
    case SHAPE_NOTHING: break;
    case SHAPE_BLOCK: move(m, here, p->length); break;
    case SHAPE_STRIDED: move_strided(m, here, p->length, p->count, p->stride); break;
    case SHAPE_PLACES: move_places(m, here, p->place, p->count, p->length); break;
    case SHAPE_BLOCKS:
        for (const struct block *b = p->block; b < p->block + p->count; b++)
            move(m, here + (uintptr_t)b->at, b->length);
        break;
    case SHAPE_LOOP:
        for (size_t i = 0; i < p->count; i++) whole(p->body, round_at(p, at, i), m);
        break;
    case SHAPE_LIST:
        for (size_t i = 0; i < p->count; i++) whole(&p->member[i], here, m);
        break;
    }
}

static void some(
    const struct pattern *p, uintptr_t at, size_t skip, size_t length, struct mover *m);

/* Some bytes of one block of a pattern, or of one round or member of it. */
static void some_of_one(const struct pattern *p, uintptr_t at, size_t which, size_t skip,
    size_t length, struct mover *m)
{
    const uintptr_t here = at + (uintptr_t)p->at;
    switch (p->shape) {
    case SHAPE_NOTHING:
    case SHAPE_BLOCK: break;
    case SHAPE_STRIDED: move(m, round_at(p, at, which) + skip, length); break;
    case SHAPE_PLACES: move(m, here + (uintptr_t)p->place[which] + skip, length); break;
    case SHAPE_BLOCKS: move(m, here + (uintptr_t)p->block[which].at + skip, length); break;
    case SHAPE_LOOP: some(p->body, round_at(p, at, which), skip, length, m); break;
    case SHAPE_LIST: some(&p->member[which], here, skip, length, m); break;
    }
}

/* Rounds `first` .. `first + count`, or blocks of one length. */
static void rounds(
    const struct pattern *p, uintptr_t at, size_t first, size_t count, struct mover *m)
{
    if (p->shape == SHAPE_STRIDED) {
        move_strided(m, round_at(p, at, first), p->length, count, p->stride);
    } else if (p->shape == SHAPE_PLACES) {
        move_places(m, at + (uintptr_t)p->at, p->place + first, count, p->length);
    } else {
        for (size_t i = first; i < first + count; i++) whole(p->body, round_at(p, at, i), m);
    }
}

static void some_rounds(
    const struct pattern *p, uintptr_t at, size_t skip, size_t length, struct mover *m)
{
    size_t size = p->size / p->count, i = skip / size, in = skip % size;
    if (in) {
        size_t rest = size - in < length ? size - in : length;
        some_of_one(p, at, i++, in, rest, m);
        length -= rest;
    }
    rounds(p, at, i, length / size, m);
    i += length / size;
    if (length % size) some_of_one(p, at, i, 0, length % size, m);
}

static size_t bytes_before(const struct pattern *p, size_t which)
{
    return p->shape == SHAPE_LIST ? p->before[which] : p->block[which].before;
}

/* The block or member that byte `skip` is in. */
static size_t find(const struct pattern *p, size_t skip)
{
    size_t low = 0, high = p->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (bytes_before(p, middle) <= skip) low = middle;
        else high = middle;
    }
    return low;
}

/* Blocks or members of different sizes. */
static void some_members(
    const struct pattern *p, uintptr_t at, size_t skip, size_t length, struct mover *m)
{
    for (size_t i = find(p, skip); length; i++) {
        size_t in = skip - bytes_before(p, i);
        size_t end = i + 1 < p->count ? bytes_before(p, i + 1) : p->size, rest = end - skip;
        if (rest > length) rest = length;
        some_of_one(p, at, i, in, rest, m);
        skip += rest;
        length -= rest;
    }
}

/* Bytes skip .. skip + length of a pattern that has as many. */
static void some(const struct pattern *p, uintptr_t at, size_t skip, size_t length, struct mover *m)
{
    if (length == p->size) {
        whole(p, at, m);
        return;
    }
    if (length == 0) return;
    switch (p->shape) {
    case SHAPE_NOTHING: break;
    case SHAPE_BLOCK: move(m, at + (uintptr_t)p->at + skip, length); break;
    case SHAPE_STRIDED:
    case SHAPE_PLACES:
    case SHAPE_LOOP: some_rounds(p, at, skip, length, m); break;
    case SHAPE_BLOCKS:
    case SHAPE_LIST: some_members(p, at, skip, length, m); break;
    }
}

static void walk(
    const struct type *t, size_t count, uintptr_t at, size_t skip, size_t length, struct mover *m)
{
    if (length == 0) return;
    struct pattern p = hark_mpi_pattern_repeat(&t->pattern, count, t->extent);
    some(&p, at, skip, length, m);
}

/* ---- what the others call ---------------------------------------------------------------------
 */

void hark_mpi_pack(
    const struct type *t, size_t count, const void *from, size_t skip, void *to, size_t length)
{
    struct mover m = {.does = PACK, .packed = to};
    walk(t, count, (uintptr_t)from, skip, length, &m);
}

void hark_mpi_unpack(
    const struct type *t, size_t count, void *to, size_t skip, const void *from, size_t length)
{
    struct mover m = {.does = UNPACK, .packed = (uint8_t *)(uintptr_t)from};
    walk(t, count, (uintptr_t)to, skip, length, &m);
}

void hark_mpi_type_walk(const struct type *t, size_t count, size_t skip, size_t length,
    void (*visit)(void *argument, ptrdiff_t at, size_t length), void *argument)
{
    struct mover m = {.does = VISIT, .visit = visit, .argument = argument};
    walk(t, count, 0, skip, length, &m);
}

/* Both have gaps: a piece at a time through memory that stays in the cache. */
static void copy_through(const void *from, size_t from_count, const struct type *from_type,
    void *to, size_t to_count, const struct type *to_type, size_t length)
{
    uint8_t piece[16384];
    for (size_t skip = 0, n; skip < length; skip += n) {
        n = length - skip < sizeof piece ? length - skip : sizeof piece;
        hark_mpi_pack(from_type, from_count, from, skip, piece, n);
        hark_mpi_unpack(to_type, to_count, to, skip, piece, n);
    }
}

void hark_mpi_type_copy(const void *from, size_t from_count, const struct type *from_type, void *to,
    size_t to_count, const struct type *to_type)
{
    size_t a = from_count * from_type->size, b = to_count * to_type->size, n = a < b ? a : b;
    if (n == 0) return;
    bool from_block = hark_mpi_type_is_block(from_type, from_count);
    bool to_block = hark_mpi_type_is_block(to_type, to_count);
    if (from_block && to_block)
        memmove(hark_mpi_type_first(to_type, to), hark_mpi_type_first(from_type, from), n);
    else if (to_block)
        hark_mpi_pack(from_type, from_count, from, 0, hark_mpi_type_first(to_type, to), n);
    else if (from_block)
        hark_mpi_unpack(to_type, to_count, to, 0, hark_mpi_type_first(from_type, from), n);
    else copy_through(from, from_count, from_type, to, to_count, to_type, n);
}
