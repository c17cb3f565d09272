/* mem.h: the flat block that holds a protocol's state.
 *
 * A block is the head (struct hark), the protocol's fixed fields, and behind them its tables: dense
 * arrays, one after another, each with room to grow; when one needs more the later ones move up. There
 * are no pointers, so a block can be copied, moved and written anywhere. Rows move when a table
 * grows: reserve first, then take addresses.
 *
 * Everything is described once, by a struct hark_shape: pack, unpack and inspect all walk it.
 */
#ifndef HARK_MEM_H
#define HARK_MEM_H

#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hark_table {
    uint32_t at;    /* where its rows begin, in units of 8 bytes from the block's beginning */
    uint32_t count; /* rows in use */
    uint32_t room;  /* rows that fit */
    uint32_t width; /* of a row in bytes, a multiple of 8 */
};

enum { HARK_NUMBER = 0, HARK_QUEUE = 1 };

struct hark_field {
    const char *name;   /* ours */
    const char *symbol; /* the paper's */
    uint16_t at;        /* offset in the fixed part or the row */
    uint8_t width;      /* 2, 4 or 8 bytes; a queue has 0 */
    uint8_t what;       /* HARK_NUMBER or HARK_QUEUE */
};

struct hark_rows {
    const char *name;
    const char *symbol;
    uint16_t at;    /* offset of its struct hark_table in the block */
    uint16_t width; /* of a row in bytes */
    uint16_t fields; /* 0: the pool of chunks, which is no state of its own */
    const struct hark_field *field;
};

struct hark_shape {
    const char *name;
    uint16_t version; /* of the packed form */
    uint16_t fields, tables;
    uint32_t fixed; /* bytes of the head and the fixed fields */
    const struct hark_field *field;
    const struct hark_rows *rows;
    uint32_t pool; /* offset of the struct hark_pool, 0 if there is none */
};

#define HARK_FIELD(type, member, symbol)                                                                               \
    {                                                                                                                  \
        #member, symbol, (uint16_t)offsetof(type, member), (uint8_t)sizeof(((type *)0)->member), HARK_NUMBER          \
    }
#define HARK_FIELD_QUEUE(type, member, symbol)                                                                         \
    {                                                                                                                  \
        #member, symbol, (uint16_t)offsetof(type, member), 0, HARK_QUEUE                                               \
    }
#define HARK_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* One step of a walk over a state, for people: see hark_inspect. */
struct hark_item {
    const char *table;  /* NULL for a fixed field */
    const char *name;   /* ours */
    const char *symbol; /* the paper's */
    uint32_t row;       /* in its table */
    uint32_t element;   /* of a queue: which one; `word` which of its numbers */
    uint32_t word;
    uint64_t value;
};
struct hark_cursor {
    uint32_t table, row, field, element, word;
};

/* Bytes that the block must have for the event that got HARK_EFULL; the present size if none did. */
HARK_FN uint64_t hark_wants(const struct hark *p, const struct hark_event *event);
/* The memory of the block is now `bytes` long (the caller has made it so, by realloc or a copy).
 * HARK_EINVAL if that is less than is in use. */
HARK_FN int hark_grow(struct hark *p, uint64_t bytes);
/* Writes the state in the one form that depends on nothing else (not on capacity, not on history), as
 * versioned little-endian bytes. Returns the length; nothing is written if `room` is below it. */
HARK_FN uint64_t hark_pack(const struct hark *p, const struct hark_shape *shape, uint8_t *out, uint64_t room);
/* Reads what hark_pack wrote into an initialised block of the same kind.
 * HARK_EIMAGE: not such bytes; HARK_EFULL: see hark_wants. On failure the state is unchanged. */
HARK_FN int hark_unpack(struct hark *p, const struct hark_shape *shape, struct hark_bytes in);
/* Walks every field with the paper's name for it: start with a zeroed cursor; 1 and *item, or 0 at the end. */
HARK_FN int hark_inspect(const struct hark *p, const struct hark_shape *shape, struct hark_cursor *cursor,
    struct hark_item *item);

/* ---- parts for protocols: rows ------------------------------------------------------------------ */

static inline void hark_zero(void *at, uint64_t n)
{
    __builtin_memset(at, 0, n);
}

static inline void *hark_row(struct hark *p, const struct hark_table *t, uint32_t i)
{
    return (uint8_t *)p + (uint64_t)t->at * 8 + (uint64_t)i * t->width;
}

static inline const void *hark_row_of(const struct hark *p, const struct hark_table *t, uint32_t i)
{
    return (const uint8_t *)p + (uint64_t)t->at * 8 + (uint64_t)i * t->width;
}

static inline struct hark_table *hark_shape_table(struct hark *p, const struct hark_shape *s, uint32_t i)
{
    return (struct hark_table *)(void *)((uint8_t *)p + s->rows[i].at);
}

static inline const struct hark_table *hark_shape_table_of(const struct hark *p, const struct hark_shape *s, uint32_t i)
{
    return (const struct hark_table *)(const void *)((const uint8_t *)p + s->rows[i].at);
}

/* ---- parts for protocols: queues in a pool of chunks --------------------------------------------- */

/* A queue is a chain of chunks, so that each channel's history grows at its tail and is trimmed at its
 * head in constant time, however many channels there are. Rows are `width` words of 8 bytes. */
#define HARK_CHUNK_WORDS 15u
struct hark_chunk {
    uint64_t word[HARK_CHUNK_WORDS];
    uint32_t next; /* index + 1; 0: none */
    uint32_t pad;
};
HARK_STATIC_ASSERT(sizeof(struct hark_chunk) == 128, "a chunk is two cache lines");

struct hark_queue {
    uint32_t head, tail; /* chunks, index + 1 */
    uint32_t skip;       /* rows gone from the head chunk */
    uint32_t count;      /* rows in use */
    uint32_t width;      /* words of a row, 1 .. HARK_CHUNK_WORDS */
    uint32_t fill;       /* slots passed in the tail chunk */
};

/* A place in a queue, for walks from its head; valid while the queue is not changed. */
struct hark_place {
    uint32_t chunk, slot, left;
};

struct hark_pool {
    struct hark_table chunks;
    uint32_t free_head; /* index + 1 */
    uint32_t free_count;
};

#if HARK_BODIES

/* The table has no room for `more`: moves the later ones up. */
HARK_COLD int hark_reserve_more(struct hark *p, const struct hark_shape *s, struct hark_table *t, uint32_t more)
{
    uint64_t need = (uint64_t)t->count + more, room = (uint64_t)t->room * 2;
    if (room < need) room = need;
    if (room < 4) room = 4;
    uint64_t extra = (room - t->room) * t->width;
    if (p->used + extra > p->bytes) {
        p->want = (p->used + extra) * 2;
        return HARK_EFULL;
    }
    uint64_t end = (uint64_t)t->at * 8 + (uint64_t)t->room * t->width;
    __builtin_memmove((uint8_t *)p + end + extra, (uint8_t *)p + end, p->used - end);
    hark_zero((uint8_t *)p + end, extra);
    /* Tables lie in the order of the shape, and an empty one may share its place with the next. */
    bool later = false;
    for (uint32_t i = 0; i < s->tables; i++) {
        struct hark_table *o = hark_shape_table(p, s, i);
        if (later) o->at += (uint32_t)(extra / 8);
        if (o == t) later = true;
    }
    t->room = (uint32_t)room;
    p->used += extra;
    return HARK_OK;
}

/* Makes room for `more` rows of `t`. HARK_EFULL leaves everything as it was. */
HARK_HOT int hark_reserve(struct hark *p, const struct hark_shape *s, struct hark_table *t, uint32_t more)
{
    return more <= t->room - t->count ? HARK_OK : hark_reserve_more(p, s, t, more);
}

/* Opens a zeroed row before row i; room has been reserved. */
static inline void *hark_insert(struct hark *p, struct hark_table *t, uint32_t i)
{
    if (t->count >= t->room) HARK_TRAP();
    uint8_t *row = (uint8_t *)hark_row(p, t, i);
    __builtin_memmove(row + t->width, row, (uint64_t)(t->count - i) * t->width);
    hark_zero(row, t->width);
    t->count++;
    return row;
}

static inline void hark_remove(struct hark *p, struct hark_table *t, uint32_t i)
{
    uint8_t *row = (uint8_t *)hark_row(p, t, i);
    t->count--;
    __builtin_memmove(row, row + t->width, (uint64_t)(t->count - i) * t->width);
    hark_zero(hark_row(p, t, t->count), t->width);
}

static inline void hark_empty(struct hark *p, struct hark_table *t)
{
    if (t->count) hark_zero(hark_row(p, t, 0), (uint64_t)t->count * t->width);
    t->count = 0;
}

/* Zeroes the block and lays out empty tables. HARK_EFULL if even that does not fit. */
static inline int hark_block_init(struct hark *p, uint64_t bytes, const struct hark_shape *s, uint16_t kind)
{
    if (bytes < s->fixed) return HARK_EFULL;
    hark_zero(p, s->fixed);
    p->magic = HARK_MAGIC;
    p->kind = kind;
    p->bytes = bytes;
    p->used = s->fixed;
    for (uint32_t i = 0; i < s->tables; i++) {
        struct hark_table *t = hark_shape_table(p, s, i);
        t->at = s->fixed / 8;
        t->width = s->rows[i].width;
    }
    return HARK_OK;
}

static inline struct hark_chunk *hark_chunk(struct hark *p, const struct hark_pool *pool, uint32_t index1)
{
    return (struct hark_chunk *)hark_row(p, &pool->chunks, index1 - 1);
}

static inline const struct hark_chunk *hark_chunk_of(const struct hark *p, const struct hark_pool *pool, uint32_t index1)
{
    return (const struct hark_chunk *)hark_row_of(p, &pool->chunks, index1 - 1);
}

/* Makes sure that `more` chunks can be taken. */
static inline int hark_pool_reserve(struct hark *p, const struct hark_shape *s, struct hark_pool *pool, uint32_t more)
{
    if (pool->free_count >= more) return HARK_OK;
    return hark_reserve(p, s, &pool->chunks, more - pool->free_count);
}

/* Rows that fit into a chunk, by their width: a division on the way of every message is too dear. */
static const uint8_t hark_queue_rows[HARK_CHUNK_WORDS + 1] = {0, 15, 7, 5, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1};

static inline uint32_t hark_queue_per_chunk(const struct hark_queue *q)
{
    return hark_queue_rows[q->width];
}

HARK_COLD uint32_t hark_chunk_take(struct hark *p, struct hark_pool *pool)
{
    if (pool->free_head) {
        uint32_t i = pool->free_head;
        struct hark_chunk *c = hark_chunk(p, pool, i);
        pool->free_head = c->next;
        pool->free_count--;
        c->next = 0;
        return i;
    }
    hark_insert(p, &pool->chunks, pool->chunks.count);
    return pool->chunks.count;
}

static inline void hark_chunk_give(struct hark *p, struct hark_pool *pool, uint32_t i)
{
    struct hark_chunk *c = hark_chunk(p, pool, i);
    hark_zero(c, sizeof *c);
    c->next = pool->free_head;
    pool->free_head = i;
    pool->free_count++;
}

/* A new zeroed row at the tail; a chunk has been reserved. */
HARK_HOT uint64_t *hark_queue_push(struct hark *p, struct hark_pool *pool, struct hark_queue *q)
{
    if (q->head == 0 || q->fill == hark_queue_per_chunk(q)) {
        uint32_t i = hark_chunk_take(p, pool);
        if (q->head == 0) {
            q->head = i;
            q->skip = 0;
        } else {
            hark_chunk(p, pool, q->tail)->next = i;
        }
        q->tail = i;
        q->fill = 0;
    }
    q->count++;
    return hark_chunk(p, pool, q->tail)->word + q->fill++ * q->width;
}

static inline uint64_t *hark_queue_last(struct hark *p, struct hark_pool *pool, const struct hark_queue *q)
{
    if (q->count == 0) return NULL;
    return hark_chunk(p, pool, q->tail)->word + (q->fill - 1) * q->width;
}

static inline uint64_t *hark_queue_first(struct hark *p, struct hark_pool *pool, const struct hark_queue *q)
{
    if (q->count == 0) return NULL;
    return hark_chunk(p, pool, q->head)->word + q->skip * q->width;
}

static inline void hark_queue_clear(struct hark *p, struct hark_pool *pool, struct hark_queue *q)
{
    while (q->head) {
        uint32_t next = hark_chunk(p, pool, q->head)->next;
        hark_chunk_give(p, pool, q->head);
        q->head = next;
    }
    q->tail = q->skip = q->count = q->fill = 0;
}

/* Takes the first row away. */
static inline void hark_queue_pop(struct hark *p, struct hark_pool *pool, struct hark_queue *q)
{
    struct hark_chunk *c = hark_chunk(p, pool, q->head);
    hark_zero(c->word + q->skip * q->width, (uint64_t)q->width * 8);
    q->count--;
    q->skip++;
    if (q->count == 0) {
        hark_queue_clear(p, pool, q);
    } else if (q->skip == hark_queue_per_chunk(q)) {
        uint32_t next = c->next;
        hark_chunk_give(p, pool, q->head);
        q->head = next;
        q->skip = 0;
    }
}

static inline struct hark_place hark_queue_begin(const struct hark_queue *q)
{
    struct hark_place at = {q->head, q->skip, q->count};
    return at;
}

/* The row at the place, and the place moves on; NULL at the end. */
static inline const uint64_t *hark_queue_next(const struct hark *p, const struct hark_pool *pool,
    const struct hark_queue *q, struct hark_place *at)
{
    if (at->left == 0) return NULL;
    const struct hark_chunk *c = hark_chunk_of(p, pool, at->chunk);
    const uint64_t *row = c->word + at->slot * q->width;
    at->left--;
    if (++at->slot == hark_queue_per_chunk(q)) {
        at->chunk = c->next;
        at->slot = 0;
    }
    return row;
}

/* Keeps the first `keep` rows. */
static inline void hark_queue_cut(struct hark *p, struct hark_pool *pool, struct hark_queue *q, uint32_t keep)
{
    if (keep >= q->count) return;
    if (keep == 0) {
        hark_queue_clear(p, pool, q);
        return;
    }
    uint32_t per = hark_queue_per_chunk(q), slots = q->skip + keep, at = q->head;
    for (uint32_t full = per; full < slots; full += per) at = hark_chunk(p, pool, at)->next;
    struct hark_chunk *c = hark_chunk(p, pool, at);
    uint32_t used = (slots - 1) % per + 1, rest = c->next;
    hark_zero(c->word + used * q->width, (uint64_t)(HARK_CHUNK_WORDS - used * q->width) * 8);
    c->next = 0;
    while (rest) {
        uint32_t next = hark_chunk(p, pool, rest)->next;
        hark_chunk_give(p, pool, rest);
        rest = next;
    }
    q->tail = at;
    q->fill = used;
    q->count = keep;
}

/* ---- grow, pack, unpack, inspect ------------------------------------------------------------------ */

HARK_FN uint64_t hark_wants(const struct hark *p, const struct hark_event *event)
{
    (void)event;
    return p->want > p->bytes ? p->want : p->bytes;
}

HARK_FN int hark_grow(struct hark *p, uint64_t bytes)
{
    if (bytes < p->used) return HARK_EINVAL;
    p->bytes = bytes;
    p->want = 0;
    return HARK_OK;
}

struct hark_writer {
    uint8_t *at;
    uint64_t room, length;
};

static inline void hark_write(struct hark_writer *w, uint64_t value, uint32_t width)
{
    if (w->length + width <= w->room) {
        uint8_t *b = w->at + w->length;
        for (uint32_t i = 0; i < width; i++) b[i] = (uint8_t)(value >> (8 * i));
    }
    w->length += width;
}

static inline uint64_t hark_number(const void *base, const struct hark_field *f)
{
    const uint8_t *b = (const uint8_t *)base + f->at;
    uint16_t v16;
    uint32_t v32;
    uint64_t v64;
    switch (f->width) {
    case 2: hark_copy(&v16, b, 2); return v16;
    case 4: hark_copy(&v32, b, 4); return v32;
    default: hark_copy(&v64, b, 8); return v64;
    }
}

static inline void hark_number_set(void *base, const struct hark_field *f, uint64_t v)
{
    uint8_t *b = (uint8_t *)base + f->at;
    uint16_t v16 = (uint16_t)v;
    uint32_t v32 = (uint32_t)v;
    switch (f->width) {
    case 2: hark_copy(b, &v16, 2); break;
    case 4: hark_copy(b, &v32, 4); break;
    default: hark_copy(b, &v, 8); break;
    }
}

static inline const struct hark_pool *hark_shape_pool(const struct hark *p, const struct hark_shape *s)
{
    return (const struct hark_pool *)(const void *)((const uint8_t *)p + s->pool);
}

static inline void hark_pack_fields(const struct hark *p, const struct hark_shape *s, const void *base,
    const struct hark_field *field, uint32_t count, struct hark_writer *w)
{
    for (uint32_t i = 0; i < count; i++) {
        if (field[i].what == HARK_NUMBER) {
            hark_write(w, hark_number(base, &field[i]), field[i].width);
            continue;
        }
        const struct hark_queue *q = (const struct hark_queue *)(const void *)((const uint8_t *)base + field[i].at);
        struct hark_place at = hark_queue_begin(q);
        hark_write(w, q->width, 4);
        hark_write(w, q->count, 4);
        for (const uint64_t *row; (row = hark_queue_next(p, hark_shape_pool(p, s), q, &at)) != NULL;)
            for (uint32_t k = 0; k < q->width; k++) hark_write(w, row[k], 8);
    }
}

HARK_FN uint64_t hark_pack(const struct hark *p, const struct hark_shape *s, uint8_t *out, uint64_t room)
{
    struct hark_writer w = {out, room, 0};
    hark_write(&w, HARK_MAGIC, 4);
    hark_write(&w, p->kind, 2);
    hark_write(&w, s->version, 2);
    hark_pack_fields(p, s, p, s->field, s->fields, &w);
    for (uint32_t i = 0; i < s->tables; i++) {
        const struct hark_rows *r = &s->rows[i];
        if (r->fields == 0) continue;
        const struct hark_table *t = hark_shape_table_of(p, s, i);
        hark_write(&w, t->count, 4);
        for (uint32_t k = 0; k < t->count; k++) hark_pack_fields(p, s, hark_row_of(p, t, k), r->field, r->fields, &w);
    }
    return w.length;
}

struct hark_reader {
    const uint8_t *at;
    uint64_t left;
    uint64_t chunks; /* that the queues read so far need */
    bool bad;
};

static inline uint64_t hark_read(struct hark_reader *r, uint32_t width)
{
    uint64_t v = 0;
    if (r->left < width) {
        r->bad = true;
        return 0;
    }
    for (uint32_t i = 0; i < width; i++) v |= (uint64_t)r->at[i] << (8 * i);
    r->at += width;
    r->left -= width;
    return v;
}

/* With base NULL only checks and counts; with pool NULL numbers are read and queues passed over. */
static inline void hark_unpack_fields(struct hark *p, struct hark_pool *pool, uint8_t *base,
    const struct hark_field *field, uint32_t count, struct hark_reader *r)
{
    for (uint32_t i = 0; i < count && !r->bad; i++) {
        if (field[i].what == HARK_NUMBER) {
            uint64_t v = hark_read(r, field[i].width);
            if (base) hark_number_set(base, &field[i], v);
            continue;
        }
        uint64_t width = hark_read(r, 4), rows = hark_read(r, 4);
        if (width == 0 || width > HARK_CHUNK_WORDS || rows > r->left / (width * 8)) {
            r->bad = true;
            return;
        }
        uint64_t per = HARK_CHUNK_WORDS / width;
        r->chunks += (rows + per - 1) / per;
        if (pool == NULL) {
            r->at += rows * width * 8;
            r->left -= rows * width * 8;
            continue;
        }
        struct hark_queue *q = (struct hark_queue *)(void *)(base + field[i].at);
        hark_zero(q, sizeof *q);
        q->width = (uint32_t)width;
        for (uint64_t k = 0; k < rows; k++) {
            uint64_t *row = hark_queue_push(p, pool, q);
            for (uint64_t word = 0; word < width; word++) row[word] = hark_read(r, 8);
        }
    }
}

/* Walks the packed form once: checks it, and gives the counts and the bytes that a block needs for it. */
static inline int hark_unpack_check(const struct hark *p, const struct hark_shape *s, struct hark_reader r,
    uint64_t *chunks, uint64_t *bytes)
{
    if (hark_read(&r, 4) != HARK_MAGIC || hark_read(&r, 2) != p->kind || hark_read(&r, 2) != s->version)
        return HARK_EIMAGE;
    hark_unpack_fields(NULL, NULL, NULL, s->field, s->fields, &r);
    *bytes = s->fixed;
    for (uint32_t i = 0; i < s->tables && !r.bad; i++) {
        if (s->rows[i].fields == 0) continue;
        uint64_t rows = hark_read(&r, 4);
        if (rows > r.left / 2) return HARK_EIMAGE; /* every row has at least two bytes */
        if (rows) *bytes += (rows < 4 ? 4 : rows) * s->rows[i].width; /* as hark_reserve will take it */
        for (uint64_t k = 0; k < rows && !r.bad; k++)
            hark_unpack_fields(NULL, NULL, NULL, s->rows[i].field, s->rows[i].fields, &r);
    }
    if (r.bad || r.left != 0) return HARK_EIMAGE;
    *chunks = r.chunks;
    if (r.chunks) *bytes += (r.chunks < 4 ? 4 : r.chunks) * sizeof(struct hark_chunk);
    return HARK_OK;
}

HARK_FN int hark_unpack(struct hark *p, const struct hark_shape *s, struct hark_bytes in)
{
    struct hark_reader r = {in.at, in.length, 0, false};
    uint64_t chunks = 0, bytes = 0;
    int status = hark_unpack_check(p, s, r, &chunks, &bytes);
    if (status < 0) return status;
    if (bytes > p->bytes) {
        p->want = bytes * 2;
        return HARK_EFULL;
    }
    uint64_t had = p->bytes;
    hark_block_init(p, had, s, p->kind);
    struct hark_pool *pool = s->pool ? (struct hark_pool *)(void *)((uint8_t *)p + s->pool) : NULL;
    if (chunks && (pool == NULL || hark_reserve(p, s, &pool->chunks, (uint32_t)chunks) < 0)) HARK_TRAP();
    hark_read(&r, 8);
    hark_unpack_fields(p, pool, (uint8_t *)p, s->field, s->fields, &r);
    for (uint32_t i = 0; i < s->tables; i++) {
        if (s->rows[i].fields == 0) continue;
        struct hark_table *t = hark_shape_table(p, s, i);
        uint32_t rows = (uint32_t)hark_read(&r, 4);
        for (uint32_t k = 0; k < rows; k++) {
            if (k == 0 && hark_reserve(p, s, t, rows) < 0) HARK_TRAP();
            uint8_t *row = (uint8_t *)hark_insert(p, t, k);
            hark_unpack_fields(p, pool, row, s->rows[i].field, s->rows[i].fields, &r);
        }
    }
    return HARK_OK;
}

/* Fills *item from one field; false when the field has no more to show. */
static inline bool hark_inspect_field(const struct hark *p, const struct hark_shape *s, const void *base,
    const struct hark_field *f, struct hark_cursor *c, struct hark_item *item)
{
    item->name = f->name;
    item->symbol = f->symbol;
    item->row = c->row;
    if (f->what == HARK_NUMBER) {
        if (c->element) return false;
        item->value = hark_number(base, f);
        c->element = 1;
        return true;
    }
    const struct hark_queue *q = (const struct hark_queue *)(const void *)((const uint8_t *)base + f->at);
    if (c->element >= q->count) return false;
    struct hark_place at = hark_queue_begin(q);
    const uint64_t *row = NULL;
    for (uint32_t i = 0; i <= c->element; i++) row = hark_queue_next(p, hark_shape_pool(p, s), q, &at);
    item->element = c->element;
    item->word = c->word;
    item->value = row[c->word];
    if (++c->word == q->width) {
        c->word = 0;
        c->element++;
    }
    return true;
}

HARK_FN int hark_inspect(const struct hark *p, const struct hark_shape *s, struct hark_cursor *c,
    struct hark_item *item)
{
    hark_zero(item, sizeof *item);
    for (;;) {
        const struct hark_field *field = s->field;
        uint32_t fields = s->fields, rows = 1;
        const void *base = p;
        if (c->table > s->tables) return 0;
        if (c->table > 0) {
            const struct hark_rows *r = &s->rows[c->table - 1];
            const struct hark_table *t = hark_shape_table_of(p, s, c->table - 1);
            field = r->field;
            fields = r->fields;
            rows = fields ? t->count : 0;
            base = hark_row_of(p, t, c->row);
            item->table = r->name;
        }
        if (c->row >= rows) {
            c->table++;
            c->row = c->field = c->element = c->word = 0;
            item->table = NULL;
        } else if (c->field >= fields) {
            c->row++;
            c->field = c->element = c->word = 0;
        } else if (hark_inspect_field(p, s, base, &field[c->field], c, item)) {
            return 1;
        } else {
            c->field++;
            c->element = c->word = 0;
        }
    }
}
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
