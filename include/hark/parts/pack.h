/* parts/pack.h: turns a state into bytes and back, and walks over its fields for tools, all by its
 * shape.
 */
#ifndef HARK_PARTS_PACK_H
#define HARK_PARTS_PACK_H

#include "queue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One number that hark_inspect found. */
struct hark_item {
    const char *table;  /* NULL for a fixed field */
    const char *name;   /* ours */
    const char *symbol; /* the paper's */
    uint32_t row;       /* in its table */
    uint32_t element;   /* of a queue: its row; `word`: the number in that row */
    uint32_t word;
    uint64_t value;
};
struct hark_cursor {
    uint32_t table, row, field, element, word;
};

/* Returns the bytes that the block must have for the event that got HARK_EFULL; if none did, its
 * present size. */
HARK_FN uint64_t hark_wants(const struct hark *p, const struct hark_event *event);
/* Tells the block that its memory is now `bytes` long; the caller has resized it before, by realloc
 * or a copy. HARK_EINVAL if that is less than is in use. */
HARK_FN int hark_grow(struct hark *p, uint64_t bytes);
/* Writes the state as versioned little-endian bytes. The form is canonical: it depends neither on
 * capacity nor on history. Returns the length; writes nothing if `room` is smaller. */
HARK_FN uint64_t hark_pack(
    const struct hark *p, const struct hark_shape *shape, uint8_t *out, uint64_t room);
/* Reads what hark_pack wrote into an initialised block of the same kind. The old state stays in the
 * block until the new one is known to be valid, so the block needs room for both. HARK_EIMAGE: not
 * such bytes, or no valid state; HARK_EFULL: see hark_wants. On failure the state is unchanged. */
HARK_FN int hark_unpack(struct hark *p, const struct hark_shape *shape, struct hark_bytes in);
/* Walks all fields, each with the paper's name for it. Start with a zeroed cursor. Returns 1 and
 * fills *item, or 0 at the end. */
HARK_FN int hark_inspect(const struct hark *p, const struct hark_shape *shape,
    struct hark_cursor *cursor, struct hark_item *item);
/* Returns the name of a frame type (byte 1 of a header): APP, a frame of checkpoint waves, or one
 * of the protocol's own. Never NULL. */
HARK_FN const char *hark_frame_text(const struct hark_shape *shape, uint8_t type);
/* Returns the meaning of a frame type in the words of its sender, "my image is durable"; or
 * NULL. */
HARK_FN const char *hark_frame_says(const struct hark_shape *shape, uint8_t type);

/* Returns the number in a field of the fixed part, or of a row, that begins at `base`. */
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

#if HARK_BODIES

static inline const struct hark_frame_kind *hark_frame_find(
    const struct hark_shape *s, uint8_t type)
{
    /* From 1 on, the types of parts/wave.h. */
    static const struct hark_frame_kind
        unknown = {"?", NULL},
        common[] = {{"APP", NULL},
            {"ASK", "I lead a checkpoint: how many checkpoint calls have you passed?"},
            {"COUNT", "I have passed this many, and wait at my next one"},
            {"PREPARE", "stop at this checkpoint call"},
            {"MARK", "these are all the messages that I sent you before the checkpoint"},
            {"FROZEN", "I have stopped; these are the processes that I sent a MARK"},
            {"EXPECT", "this many MARKs come to you: save your image when you have them"},
            {"READY", "my image is durable"}, {"COMMIT", "the checkpoint is decided: go on"},
            {"ABORT", "there is no checkpoint this time: go on"},
            {"WISH", "a checkpoint is due here: lead one"},
            {"COPIED", "my image is copied, and is being written"},
            {"GO", "all images are copied: go on"}};
    if (type < HARK_COUNT(common)) return &common[type];
    return type >= 16 && type - 16u < s->frame_count ? &s->frames[type - 16] : &unknown;
}

HARK_FN const char *hark_frame_text(const struct hark_shape *s, uint8_t type)
{
    return hark_frame_find(s, type)->name;
}

HARK_FN const char *hark_frame_says(const struct hark_shape *s, uint8_t type)
{
    return hark_frame_find(s, type)->says;
}

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

static inline const struct hark_pool *hark_shape_pool(
    const struct hark *p, const struct hark_shape *s)
{
    return (const struct hark_pool *)(const void *)((const uint8_t *)p + s->pool);
}

/* Writes a number of a field or a row; returns where the next one goes. By width in constants: a
 * loop over the bytes takes most of the time of an image. */
static inline uint8_t *hark_write(uint8_t *out, uint64_t value, uint32_t width)
{
    switch (width) {
    case 2: hark_put16(out, (uint16_t)value); break;
    case 4: hark_put32(out, (uint32_t)value); break;
    default: hark_put64(out, value); break;
    }
    return out + width;
}

static inline uint8_t *hark_pack_queue(
    const struct hark *p, const struct hark_shape *s, const struct hark_queue *q, uint8_t *out)
{
    out = hark_write(out, q->width, 4);
    out = hark_write(out, q->count, 4);
    if (q->count == 0) return out;
    struct hark_place at = hark_queue_begin(q);
    for (const uint64_t *row; (row = hark_queue_next(p, hark_shape_pool(p, s), q, &at)) != NULL;)
        for (uint32_t k = 0; k < q->width; k++) out = hark_write(out, row[k], 8);
    return out;
}

static inline uint8_t *hark_pack_fields(const struct hark *p, const struct hark_shape *s,
    const void *base, const struct hark_field *field, uint32_t count, uint8_t *out)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *at = (const uint8_t *)base + field[i].at;
        if (field[i].what == HARK_NUMBER)
            out = hark_write(out, hark_number(base, &field[i]), field[i].width);
        else out = hark_pack_queue(p, s, (const struct hark_queue *)(const void *)at, out);
    }
    return out;
}

static inline uint64_t hark_packed_fields(
    const void *base, const struct hark_field *field, uint32_t count)
{
    uint64_t length = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *at = (const uint8_t *)base + field[i].at;
        const struct hark_queue *q = (const struct hark_queue *)(const void *)at;
        length +=
            field[i].what == HARK_NUMBER ? field[i].width : 8 + (uint64_t)q->count * q->width * 8;
    }
    return length;
}

/* Returns the length of the packed form. */
HARK_COLD uint64_t hark_packed_length(const struct hark *p, const struct hark_shape *s)
{
    uint64_t length = 8 + hark_packed_fields(p, s->field, s->fields);
    for (uint32_t i = 0; i < s->tables; i++) {
        const struct hark_rows *r = &s->rows[i];
        if (r->fields == 0) continue;
        const struct hark_table *t = hark_shape_table_of(p, s, i);
        length += 4;
        for (uint32_t k = 0; k < t->count; k++)
            length += hark_packed_fields(hark_row_of(p, t, k), r->field, r->fields);
    }
    return length;
}

HARK_FN uint64_t hark_pack(
    const struct hark *p, const struct hark_shape *s, uint8_t *out, uint64_t room)
{
    if (room < p->used) { /* else it fits: the packed form is never longer than what is in use */
        uint64_t length = hark_packed_length(p, s);
        if (length > room) return length;
    }
    uint8_t *to = hark_write(out, HARK_MAGIC, 4);
    to = hark_write(to, p->kind, 2);
    to = hark_write(to, s->version, 2);
    to = hark_pack_fields(p, s, p, s->field, s->fields, to);
    for (uint32_t i = 0; i < s->tables; i++) {
        const struct hark_rows *r = &s->rows[i];
        if (r->fields == 0) continue;
        const struct hark_table *t = hark_shape_table_of(p, s, i);
        to = hark_write(to, t->count, 4);
        for (uint32_t k = 0; k < t->count; k++)
            to = hark_pack_fields(p, s, hark_row_of(p, t, k), r->field, r->fields, to);
    }
    return (uint64_t)(to - out);
}

struct hark_reader {
    const uint8_t *at;
    uint64_t left;
    uint64_t chunks; /* chunks that the queues read so far need */
    bool bad;
};

static inline uint64_t hark_read(struct hark_reader *r, uint32_t width)
{
    uint64_t v = 0;
    if (r->left < width) {
        r->bad = true;
        return 0;
    }
    switch (width) {
    case 2: v = hark_get16(r->at); break;
    case 4: v = hark_get32(r->at); break;
    default: v = hark_get64(r->at); break;
    }
    r->at += width;
    r->left -= width;
    return v;
}

/* Reads fields. With base NULL it only checks and counts; with pool NULL it reads numbers and skips
 * queues. */
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
        q->width = (uint8_t)width;
        for (uint64_t k = 0; k < rows; k++) {
            uint64_t *row = hark_queue_push(p, pool, q);
            for (uint64_t word = 0; word < width; word++) row[word] = hark_read(r, 8);
        }
    }
}

/* Reads the fixed fields of a packed state into zeroed memory of its type; queues stay empty.
 * False: the bytes end too early. */
static inline bool hark_unpack_fixed(const struct hark_shape *s, struct hark_bytes in, void *to)
{
    struct hark_reader r = {in.at, in.at ? in.length : 0, 0, false};
    (void)hark_read(&r, 8);
    hark_unpack_fields(NULL, NULL, (uint8_t *)to, s->field, s->fields, &r);
    return !r.bad;
}

/* Checks a packed form, and computes the chunks and bytes that a block needs for it. HARK_EIMAGE.
 */
static inline int hark_unpack_check(const struct hark *p, const struct hark_shape *s,
    struct hark_reader r, uint64_t *chunks, uint64_t *bytes)
{
    if (hark_read(&r, 4) != HARK_MAGIC || hark_read(&r, 2) != p->kind ||
        hark_read(&r, 2) != s->version)
        return HARK_EIMAGE;
    hark_unpack_fields(NULL, NULL, NULL, s->field, s->fields, &r);
    *bytes = s->fixed;
    for (uint32_t i = 0; i < s->tables && !r.bad; i++) {
        if (s->rows[i].fields == 0) continue;
        uint64_t rows = hark_read(&r, 4);
        if (rows > r.left / 2) return HARK_EIMAGE; /* every row has at least two bytes */
        if (rows)
            *bytes += (rows < 4 ? 4 : rows) * s->rows[i].width; /* what hark_reserve will take */
        for (uint64_t k = 0; k < rows && !r.bad; k++)
            hark_unpack_fields(NULL, NULL, NULL, s->rows[i].field, s->rows[i].fields, &r);
    }
    if (r.bad || r.left != 0) return HARK_EIMAGE;
    *chunks = r.chunks;
    if (r.chunks) *bytes += (r.chunks < 4 ? 4 : r.chunks) * sizeof(struct hark_chunk);
    return HARK_OK;
}

/* Reads all rows from checked bytes into an empty block that has room for them. */
static inline void hark_unpack_all(
    struct hark *p, const struct hark_shape *s, struct hark_reader r, uint64_t chunks)
{
    struct hark_pool *pool = s->pool ? (struct hark_pool *)(void *)((uint8_t *)p + s->pool) : NULL;
    if (chunks && (pool == NULL || hark_reserve(p, s, &pool->chunks, (uint32_t)chunks) < 0))
        HARK_TRAP();
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
}

HARK_FN int hark_unpack(struct hark *p, const struct hark_shape *s, struct hark_bytes in)
{
    struct hark_reader r = {in.at, in.at ? in.length : 0, 0, false};
    uint64_t chunks = 0, bytes = 0, had = p->bytes, behind = p->used;
    int status = hark_unpack_check(p, s, r, &chunks, &bytes);
    if (status < 0) return status;
    if (behind + bytes > had) {
        p->want = (behind + bytes) * 2;
        return HARK_EFULL;
    }
    struct hark *made = (struct hark *)(void *)((uint8_t *)p + behind);
    hark_block_init(made, had - behind, s, p->kind);
    hark_unpack_all(made, s, r, chunks);
    if (s->accept && !s->accept(made)) return HARK_EIMAGE;
    __builtin_memmove(p, made, made->used);
    p->bytes = had;
    return HARK_OK;
}

/* Fills *item from one field; false when the field has no further number. */
static inline bool hark_inspect_field(const struct hark *p, const struct hark_shape *s,
    const void *base, const struct hark_field *f, struct hark_cursor *c, struct hark_item *item)
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
    const struct hark_queue *q =
        (const struct hark_queue *)(const void *)((const uint8_t *)base + f->at);
    if (c->element >= q->count) return false;
    struct hark_place at = hark_queue_begin(q);
    const uint64_t *row = NULL;
    for (uint32_t i = 0; i <= c->element; i++)
        row = hark_queue_next(p, hark_shape_pool(p, s), q, &at);
    item->element = c->element;
    item->word = c->word;
    item->value = row[c->word];
    if (++c->word == q->width) {
        c->word = 0;
        c->element++;
    }
    return true;
}

HARK_FN int hark_inspect(
    const struct hark *p, const struct hark_shape *s, struct hark_cursor *c, struct hark_item *item)
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
