/* parts/block.h: the flat block that holds a protocol's state, and its tables.
 *
 * A block is the head (struct hark), the protocol's fixed fields, and then its tables: dense
 * arrays, one after another, each with room to grow; when a table needs more room, the later tables
 * move up. There are no pointers, so a block can be copied, moved and written anywhere. Rows move
 * when a table grows: reserve first, then take addresses.
 *
 * One struct hark_shape describes all of it; pack, unpack and inspect walk the shape
 * (parts/pack.h).
 */
#ifndef HARK_PARTS_BLOCK_H
#define HARK_PARTS_BLOCK_H

#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hark_table {
    uint32_t at;    /* offset of its rows in the block, in units of 8 bytes */
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
    uint16_t at;     /* offset of its struct hark_table in the block */
    uint16_t width;  /* of a row in bytes */
    uint16_t fields; /* 0: the pool of chunks, which is not packed */
    const struct hark_field *field;
};

struct hark_frame_kind {
    const char *name;
    const char *says; /* what it means, in the words of its sender; NULL: nothing to add */
};

struct hark_shape {
    const char *name;
    uint16_t version; /* of the packed form */
    uint16_t fields, tables;
    uint32_t fixed; /* bytes of the head and the fixed fields */
    const struct hark_field *field;
    const struct hark_rows *rows;
    uint32_t pool;                        /* offset of the struct hark_pool, 0 if there is none */
    const struct hark_frame_kind *frames; /* the protocol's own, from type 16 on */
    uint32_t frame_count;
    /* Called by hark_unpack: true if the fields and rows read form a state that every event can
     * work on. It may set fields that are not packed. NULL: every image is a state. */
    bool (*accept)(struct hark *p);
};

#define HARK_FIELD(type, member, symbol)                                                           \
    {                                                                                              \
#member, symbol, (uint16_t)offsetof(type, member), (uint8_t)sizeof(((type *)0)->member),   \
            HARK_NUMBER                                                                            \
    }
#define HARK_FIELD_QUEUE(type, member, symbol)                                                     \
    {                                                                                              \
#member, symbol, (uint16_t)offsetof(type, member), 0, HARK_QUEUE                           \
    }
#define HARK_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- rows ------------------------------------------------------------------------------------ */

static inline void *hark_row(struct hark *p, const struct hark_table *t, uint32_t i)
{
    return (uint8_t *)p + (uint64_t)t->at * 8 + (uint64_t)i * t->width;
}

static inline const void *hark_row_of(const struct hark *p, const struct hark_table *t, uint32_t i)
{
    return (const uint8_t *)p + (uint64_t)t->at * 8 + (uint64_t)i * t->width;
}

static inline struct hark_table *hark_shape_table(
    struct hark *p, const struct hark_shape *s, uint32_t i)
{
    return (struct hark_table *)(void *)((uint8_t *)p + s->rows[i].at);
}

static inline const struct hark_table *hark_shape_table_of(
    const struct hark *p, const struct hark_shape *s, uint32_t i)
{
    return (const struct hark_table *)(const void *)((const uint8_t *)p + s->rows[i].at);
}

#if HARK_BODIES

/* Makes room in a full table, for hark_reserve: moves the later tables up. A short table grows by a
 * row and a longer one by a quarter, for a simulation has a million blocks, most with few rows; one
 * of 64 rows and more doubles. */
HARK_COLD int hark_reserve_more(
    struct hark *p, const struct hark_shape *s, struct hark_table *t, uint32_t more)
{
    uint64_t need = (uint64_t)t->count + more,
             room = (uint64_t)t->room + (t->room < 8       ? 1
                                            : t->room < 64 ? t->room / 4
                                                           : t->room);
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
    /* Tables lie in the order of the shape, and an empty one may have the offset of the next. */
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
HARK_HOT int hark_reserve(
    struct hark *p, const struct hark_shape *s, struct hark_table *t, uint32_t more)
{
    return more <= t->room - t->count ? HARK_OK : hark_reserve_more(p, s, t, more);
}

/* Inserts a zeroed row before row i; room has been reserved. The room after the last row is always
 * zero. */
static inline void *hark_insert(struct hark *p, struct hark_table *t, uint32_t i)
{
    if (t->count >= t->room) HARK_TRAP();
    uint8_t *row = (uint8_t *)hark_row(p, t, i);
    if (i < t->count) {
        __builtin_memmove(row + t->width, row, (uint64_t)(t->count - i) * t->width);
        hark_zero(row, t->width);
    }
    t->count++;
    return row;
}

static inline void hark_remove(struct hark *p, struct hark_table *t, uint32_t i)
{
    uint8_t *row = (uint8_t *)hark_row(p, t, i);
    t->count--;
    if (i < t->count) __builtin_memmove(row, row + t->width, (uint64_t)(t->count - i) * t->width);
    hark_zero(hark_row(p, t, t->count), t->width);
}

static inline void hark_empty(struct hark *p, struct hark_table *t)
{
    if (t->count) hark_zero(hark_row(p, t, 0), (uint64_t)t->count * t->width);
    t->count = 0;
}

static inline bool hark_block_aligned(const struct hark *p)
{
    return (uintptr_t)p % 8 == 0;
}

/* Zeroes the block and lays out empty tables. HARK_EFULL if even that does not fit. */
static inline int hark_block_init(
    struct hark *p, uint64_t bytes, const struct hark_shape *s, uint16_t kind)
{
    if (!hark_block_aligned(p)) return HARK_EINVAL;
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
#endif /* HARK_BODIES */

#ifdef __cplusplus
}
#endif
#endif
