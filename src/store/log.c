/* log.c: the payload log. What it looks like in memory: log_parts.h; in files: spill.c. */
#include "log_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_MAX ((uint64_t)1 << 20)
#define LIMIT_MIN ((uint64_t)64 << 10)
#define HUGE_LIMIT                                                                                 \
    ((uint64_t)64 << 20)  /* below this limit the slack of huge pages would be felt                \
                           */
#define LINE        64u   /* bytes of a cache line: copies are faster when they start on one */
#define LINED       1024u /* from here on that is worth the gaps */
#define ARENA_LEAST (64u << 10)
#define ALLOCATION  16u /* what malloc() needs for itself */
#define LONG        8192u
#define IDLE_MAX                                                                                   \
    ((uint64_t)16 << 10) /* a block up to this size stays with its channel when all of it is       \
                            trimmed */

HARK_STATIC_ASSERT(sizeof(struct log_slot) == HARK_LOG_ENTRY,
    "what an entry takes beside its payload is its slot");

/* ---- channels -------------------------------------------------------------------------------- */

static uint64_t key_of(uint32_t peer, uint16_t ctx)
{
    return (uint64_t)ctx << 32 | peer;
}

static uint32_t place(uint64_t key, uint32_t room)
{
    return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32) & (room - 1);
}

static struct log_channel *find(const struct hark_log *log, uint64_t key)
{
    if (log->recent && log->recent->key == key) return log->recent;
    if (log->table_room == 0) return NULL;
    for (uint32_t i = place(key, log->table_room); log->table[i];
         i = (i + 1) & (log->table_room - 1))
        if (log->table[i]->key == key) return log->table[i];
    return NULL;
}

static void enter(struct log_channel **table, uint32_t room, struct log_channel *c)
{
    uint32_t i = place(c->key, room);
    while (table[i]) i = (i + 1) & (room - 1);
    table[i] = c;
}

static struct log_channel *add_channel(struct hark_log *log, uint64_t key)
{
    if (log->channels >= log->table_room / 2) {
        uint32_t room = log->table_room ? log->table_room * 2 : 16;
        struct log_channel **table = room ? calloc(room, sizeof *table) : NULL;
        if (!table) return NULL;
        for (uint32_t i = 0; i < log->table_room; i++)
            if (log->table[i]) enter(table, room, log->table[i]);
        free(log->table);
        log->index += (room - log->table_room) * sizeof *table;
        log->table = table;
        log->table_room = room;
    }
    struct log_channel *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    log->index += sizeof *c + ALLOCATION;
    c->key = key;
    enter(log->table, log->table_room, c);
    log->channels++;
    return c;
}

/* ---- segments -------------------------------------------------------------------------------- */

static const struct log_slot *slot_at(const uint8_t *block, uint64_t room, uint32_t i)
{
    return (const struct log_slot *)(const void *)(block + room) - 1 - i;
}

static uint64_t start_of(
    const struct log_segment *g, const uint8_t *block, uint64_t room, uint32_t i)
{
    return i == 0 ? 0 : log_round(slot_at(block, room, i - 1)->end, g->grain);
}

/* The first entry whose ssn is not below `ssn`. */
static uint32_t lower(
    const struct log_segment *g, const uint8_t *block, uint64_t room, uint64_t ssn)
{
    if (ssn <= g->first) return 0;
    if (ssn > g->last) return g->count;
    if (g->last - g->first == g->count - 1) return (uint32_t)(ssn - g->first);
    uint32_t from = 0, to = g->count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (g->first + slot_at(block, room, middle)->step < ssn) from = middle + 1;
        else to = middle;
    }
    return from;
}

static struct log_segment *new_segment(struct hark_log *log)
{
    struct log_segment *g = log->unused;
    if (g) {
        log->unused = g->newer;
        return g;
    }
    g = malloc(sizeof *g);
    if (g) log->index += sizeof *g + ALLOCATION;
    return g;
}

static void forget_segment(struct hark_log *log, struct log_segment *g)
{
    g->newer = log->unused;
    log->unused = g;
}

static void link_newest(struct hark_log *log, struct log_segment *g)
{
    g->older = log->newest;
    g->newer = NULL;
    if (g->older) g->older->newer = g;
    else log->oldest = g;
    log->newest = g;
}

/* The block goes; the segment is empty or in a file. */
static void free_block(struct hark_log *log, struct log_segment *g)
{
    if (g->older) g->older->newer = g->newer;
    else log->oldest = g->newer;
    if (g->newer) g->newer->older = g->older;
    else log->newest = g->older;
    hark_block_free(&log->blocks, g->block, g->room);
    g->block = NULL;
    if (g->channel->open == g) g->channel->open = NULL;
}

/* Takes a segment that no row names any more out of everything else. */
static void drop_segment(struct hark_log *log, struct log_segment *g)
{
    uint32_t entries = g->count - g->trimmed;
    log->entries -= entries;
    log->bytes -= g->bytes;
    g->channel->bytes -= g->bytes;
    log->waste -= g->waste;
    if (g->block) free_block(log, g);
    if (g->file) hark_spill_drop(log, g);
    forget_segment(log, g);
}

static bool row_reserve(struct hark_log *log, struct log_channel *c)
{
    if (c->head + c->count < c->room) return true;
    if (c->head > c->room / 2) {
        memmove(c->row, c->row + c->head, c->count * sizeof *c->row);
        c->head = 0;
        return true;
    }
    uint32_t room = c->room ? c->room * 2 : 4;
    struct log_segment **row = room ? realloc(c->row, room * sizeof *row) : NULL;
    if (!row) return false;
    log->index += (room - c->room) * sizeof *row;
    c->row = row;
    c->room = room;
    return true;
}

/* ---- room ------------------------------------------------------------------------------------ */

static int spill_oldest(struct hark_log *log)
{
    struct log_segment *g = log->oldest;
    if (!g) return HARK_L_EFULL;
    if (g->count > g->trimmed) {
        int status = hark_spill_segment(log, g);
        if (status != HARK_L_OK) return status;
        free_block(log, g);
        log->waste -= g->waste;
        g->waste = 0;
        return HARK_L_OK;
    }
    /* All of it was trimmed and it was left to its channel: it is the last in the row. */
    g->channel->count--;
    drop_segment(log, g);
    return HARK_L_OK;
}

/* The index is counted, but half of the limit is for blocks in any case: else a log with many
 * channels could not even go on in files. */
static uint64_t limit_of_blocks(const struct hark_log *log)
{
    return log->limit - (log->index < log->limit / 2 ? log->index : log->limit / 2);
}

static bool within_limit(const struct hark_log *log, uint64_t size)
{
    return log->limit == 0 || log->blocks.held + size <= limit_of_blocks(log);
}

/* A block for g within the limit: of `size`, or at least of `least` if one is to spare, of which
 * the first `soon` bytes are written soon. HARK_L_OK, HARK_L_EFULL, HARK_L_EMEMORY. */
static int take_block(
    struct hark_log *log, struct log_segment *g, uint64_t size, uint64_t least, uint64_t soon)
{
    for (;;) {
        g->block = hark_block_reuse(&log->blocks, size, least, &g->room);
        if (g->block) return HARK_L_OK;
        while (log->soft_limit && log->blocks.held + size > log->soft_limit &&
               hark_block_shrink(&log->blocks)) {
        }
        if (within_limit(log, size)) {
            g->room = size;
            g->block = hark_block_new(&log->blocks, size, soon);
            if (g->block) return HARK_L_OK;
            if (hark_block_shrink(&log->blocks)) continue;
            snprintf(log->error, sizeof log->error,
                "payload log: no memory for a block of %llu bytes", (unsigned long long)size);
            return HARK_L_EMEMORY;
        }
        if (hark_block_shrink(&log->blocks)) continue;
        int status = spill_oldest(log);
        if (status != HARK_L_OK) return status;
    }
}

/* It takes no more entries: the rest of its block is wasted until it goes. */
static void close_segment(struct hark_log *log, struct log_segment *g)
{
    g->waste = g->room - g->used - g->count * (uint64_t)sizeof(struct log_slot);
    log->waste += g->waste;
}

/* The index has grown: blocks make room for it, as far as they can. */
static void settle(struct hark_log *log)
{
    while (!within_limit(log, 0) &&
           (hark_block_shrink(&log->blocks) || spill_oldest(log) == HARK_L_OK)) {
    }
}

/* For many small entries a block is about an eighth of what the channel holds, a thirty-second
 * where there is a limit: so a channel with little in it goes round in little memory, and one with
 * much has few segments. But it is for three entries at least. */
static uint64_t chunk_size(const struct hark_log *log, const struct log_channel *c, uint64_t least)
{
    uint64_t size = HARK_BLOCK_MIN;
    while (size < log->chunk && size < c->bytes / log->parts) size *= 2;
    return size < least ? least : size;
}

/* Where a limit is kept, no channel may hold a block for several long entries before it has many.
 */
static bool is_alone(const struct hark_log *log, const struct log_channel *c, uint64_t length)
{
    if (length > log->chunk / 4) return true;
    return log->soft_limit && length > LONG && length > chunk_size(log, c, HARK_BLOCK_MIN) / 4;
}

/* A new segment at the end of the row for an entry of `length` bytes, which is then written to its
 * block by the caller, or is in its file already if the limit is too small for a block (then block
 * is NULL). */
static int add_segment(struct hark_log *log, struct log_channel *c, uint64_t ssn, uint64_t length,
    const struct hark_log_part *part, uint32_t parts, struct log_segment **segment)
{
    bool alone = is_alone(log, c, length);
    uint64_t least = hark_block_size(alone ? length : 3 * (length + sizeof(struct log_slot)));
    uint64_t size = alone ? least : chunk_size(log, c, least);
    if (size == 0) return HARK_L_EMEMORY;
    if (log->soft_limit && !alone)
        least = size; /* small blocks that were spare would waste more at their ends */
    if (c->open && c->open->count == 0) { /* left over from a trim, and too small */
        c->count--;
        drop_segment(log, c->open);
    }
    struct log_segment *g = new_segment(log);
    if (!g || !row_reserve(log, c)) {
        if (g) forget_segment(log, g);
        snprintf(log->error, sizeof log->error, "payload log: no memory for its index");
        return HARK_L_EMEMORY;
    }
    *g = (struct log_segment){.channel = c,
        .first = ssn,
        .last = ssn,
        .alone = alone,
        .grain = length < LINED ? 8 : LINE};
    int status;
    settle(log);
    if (log->limit && size > limit_of_blocks(log)) {
        g->used = length;
        status = hark_spill_parts(log, g, part, parts);
    } else {
        status = take_block(log, g, size, least, alone ? length : size);
        if (status == HARK_L_OK) link_newest(log, g);
    }
    if (status != HARK_L_OK) {
        forget_segment(log, g);
        return status;
    }
    c->row[c->head + c->count++] = g;
    if (c->open) close_segment(log, c->open);
    c->open = g->block && !alone ? g : NULL;
    *segment = g;
    return HARK_L_OK;
}

/* ---- retain ---------------------------------------------------------------------------------- */

static bool fits(const struct log_segment *g, uint64_t ssn, uint64_t length)
{
    uint64_t slots = ((uint64_t)g->count + 1) * sizeof(struct log_slot);
    return length <= g->room && log_round(length, g->grain) + slots <= g->room - g->used &&
           (g->count == 0 || ssn - g->first <= UINT32_MAX);
}

static inline void copy(uint8_t *to, const struct hark_log_part *part, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (part[i].length == 8)
            memcpy(to, part[i].at, 8); /* without a call: numbers, and envelopes */
        else if (part[i].length) memcpy(to, part[i].at, (size_t)part[i].length);
        to += part[i].length;
    }
}

/* The room for an entry, and its slot: *taken bytes. Those behind it up to where the next may begin
 * are zero: they go to the file too. */
static inline uint8_t *put(struct log_segment *g, uint64_t ssn, uint64_t length, uint64_t *taken)
{
    uint8_t *to = g->block + g->used;
    if (g->alone) {
        g->used = length;
        *taken = g->room;
        return to;
    }
    uint64_t room = log_round(length, g->grain);
    if (g->count == 0) g->first = ssn;
    if (room > length) memset(to + length, 0, (size_t)(room - length));
    struct log_slot *slot = (struct log_slot *)(void *)(g->block + g->room) - 1 - g->count;
    slot->step = (uint32_t)(ssn - g->first);
    slot->end = (uint32_t)(g->used + length);
    g->used += room;
    *taken = room + sizeof *slot;
    return to;
}

static inline void count(struct hark_log *log, struct log_channel *c, struct log_segment *g,
    uint64_t ssn, uint64_t taken)
{
    g->last = c->last = ssn;
    g->count++;
    g->bytes += taken;
    c->bytes += taken;
    log->entries++;
    log->bytes += taken;
}

/* A new entry: *to is where its bytes go, NULL if the parts are in a file already. */
static inline int add(struct hark_log *log, uint64_t key, uint64_t ssn, uint64_t length,
    const struct hark_log_part *part, uint32_t parts, uint8_t **to)
{
    struct log_channel *c = log->recent;
    if (!c || c->key != key) {
        c = find(log, key);
        if (!c) c = add_channel(log, key);
        if (!c) {
            snprintf(log->error, sizeof log->error, "payload log: no memory for a channel");
            return HARK_L_EMEMORY;
        }
        log->recent = c;
    }
    if (ssn <= c->last) return HARK_L_EINVAL;
    struct log_segment *g = c->open;
    if (!g || !fits(g, ssn, length)) {
        int status = add_segment(log, c, ssn, length, part, parts, &g);
        if (status != HARK_L_OK) return status;
    }
    uint64_t taken = length;
    *to = g->block ? put(g, ssn, length, &taken) : NULL;
    count(log, c, g, ssn, taken);
    return HARK_L_OK;
}

int hark_log_retain(struct hark_log *log, uint32_t peer, uint16_t ctx, uint64_t ssn,
    const struct hark_log_part *part, uint32_t count)
{
    uint64_t length = 0;
    uint8_t *to;
    for (uint32_t i = 0; i < count; i++) {
        if (part[i].length > UINT64_MAX - length) return HARK_L_EINVAL;
        length += part[i].length;
    }
    int status = add(log, key_of(peer, ctx), ssn, length, part, count, &to);
    if (status == HARK_L_OK && to) copy(to, part, count);
    return status;
}

int hark_log_add(struct hark_log *log, uint32_t peer, uint16_t ctx, uint64_t ssn,
    const void *payload, uint64_t length, uint64_t number)
{
    struct log_channel *c = log->recent;
    struct log_segment *g = c ? c->open : NULL;
    const uint64_t whole = length + sizeof number;
    uint64_t taken;
    if (g == NULL || c->key != key_of(peer, ctx) || ssn <= c->last || g->block == NULL ||
        !fits(g, ssn, whole)) {
        const struct hark_log_part part[2] = {{payload, length}, {&number, sizeof number}};
        return hark_log_retain(log, peer, ctx, ssn, part, 2);
    }
    uint8_t *to = put(g, ssn, whole, &taken);
    if (length == 8) memcpy(to, payload, 8); /* without a call */
    else if (length) memcpy(to, payload, (size_t)length);
    memcpy(to + length, &number, sizeof number);
    count(log, c, g, ssn, taken);
    return HARK_L_OK;
}

int hark_log_reserve(
    struct hark_log *log, uint32_t peer, uint16_t ctx, uint64_t ssn, uint64_t length, void **at)
{
    uint8_t *to;
    if (log->limit)
        return HARK_L_EFULL; /* it might have to go to a file at once, or while it is being filled
                              */
    int status = add(log, key_of(peer, ctx), ssn, length, NULL, 0, &to);
    if (status == HARK_L_OK) *at = to;
    return status;
}

/* ---- get, trim ------------------------------------------------------------------------------- */

/* Where the segment's bytes can be read. */
static int look(struct hark_log *log, struct log_segment *g, const uint8_t **block, uint64_t *room)
{
    if (g->block) {
        *block = g->block;
        *room = g->room;
        return HARK_L_OK;
    }
    int status = log->loaded == g ? HARK_L_OK : hark_spill_load(log, g);
    *block = log->buffer;
    *room = g->file;
    return status;
}

int hark_log_get(struct hark_log *log, uint32_t peer, uint16_t ctx, uint64_t ssn, const void **at,
    uint64_t *length)
{
    struct log_channel *c = find(log, key_of(peer, ctx));
    if (!c || ssn <= c->trimmed || ssn > c->last) return HARK_L_ENONE;
    uint32_t from = 0, to = c->count;
    while (from < to) { /* the first segment that does not end before ssn */
        uint32_t middle = from + (to - from) / 2;
        if (c->row[c->head + middle]->last < ssn) from = middle + 1;
        else to = middle;
    }
    struct log_segment *g = from < c->count ? c->row[c->head + from] : NULL;
    if (!g || ssn < g->first) return HARK_L_ENONE;
    const uint8_t *block;
    uint64_t room;
    int status = look(log, g, &block, &room);
    if (status != HARK_L_OK) return status;
    uint64_t start = 0, end = g->used;
    if (!g->alone) {
        uint32_t i = lower(g, block, room, ssn);
        const struct log_slot *slot = slot_at(block, room, i);
        if (g->first + slot->step != ssn) return HARK_L_ENONE;
        start = start_of(g, block, room, i);
        end = slot->end;
    }
    *at = block + start;
    *length = end - start;
    return HARK_L_OK;
}

/* Forgets the first entries of a segment that keeps others. If its file can not be read they count
 * until it goes. */
static void trim_part(struct hark_log *log, struct log_segment *g, uint64_t ssn)
{
    const uint8_t *block;
    uint64_t room;
    if (look(log, g, &block, &room) != HARK_L_OK) return;
    uint32_t to = lower(g, block, room, ssn + 1);
    uint64_t bytes = 0;
    for (uint32_t i = g->trimmed; i < to; i++) {
        uint64_t length = slot_at(block, room, i)->end - start_of(g, block, room, i);
        bytes += log_round(length, g->grain) + sizeof(struct log_slot);
    }
    log->entries -= to - g->trimmed;
    g->trimmed = to;
    g->bytes -= bytes;
    log->bytes -= bytes;
    g->channel->bytes -= bytes;
}

/* Makes a segment empty, where it is: a channel that is trimmed to nothing again and again stays in
 * one small block. */
static void clear_segment(struct hark_log *log, struct log_segment *g)
{
    log->entries -= g->count - g->trimmed;
    log->bytes -= g->bytes;
    g->channel->bytes -= g->bytes;
    g->used = 0;
    g->bytes = 0;
    g->count = g->trimmed = 0;
}

void hark_log_trim(struct hark_log *log, uint32_t peer, uint16_t ctx, uint64_t ssn)
{
    struct log_channel *c = find(log, key_of(peer, ctx));
    if (!c) return;
    if (ssn > c->last) ssn = c->last;
    if (ssn <= c->trimmed) return;
    c->trimmed = ssn;
    if (log->bytes > log->peak) log->peak = log->bytes; /* here only it ever falls */
    while (c->count > 0 && c->row[c->head]->last <= ssn) {
        struct log_segment *g = c->row[c->head];
        if (g == c->open && g->room <= IDLE_MAX) {
            clear_segment(log, g);
            return;
        }
        c->head++;
        c->count--;
        drop_segment(log, g);
    }
    if (c->count == 0) c->head = 0;
    if (c->count > 0 && c->row[c->head]->first <= ssn) trim_part(log, c->row[c->head], ssn);
}

/* ---- figures, open, close -------------------------------------------------------------------- */

int hark_log_heaviest(const struct hark_log *log, uint32_t *peer, uint64_t *bytes)
{
    const struct log_channel *heaviest = NULL;
    for (uint32_t i = 0; i < log->table_room; i++) {
        const struct log_channel *c = log->table[i];
        if (c && c->bytes > 0 && (!heaviest || c->bytes > heaviest->bytes)) heaviest = c;
    }
    if (!heaviest) return 0;
    *peer = (uint32_t)heaviest->key;
    *bytes = heaviest->bytes;
    return 1;
}

void hark_log_figures(const struct hark_log *log, struct hark_log_figures *figures)
{
    *figures = (struct hark_log_figures){.entries = log->entries,
        .bytes = log->bytes,
        .bytes_peak = log->bytes > log->peak ? log->bytes : log->peak,
        .memory_bytes = hark_block_memory(&log->blocks) + log->index,
        .index_bytes = log->index,
        .spilled_bytes = log->spilled,
        .spill_failures = log->failures};
}

uint64_t hark_log_bytes(const struct hark_log *log)
{
    return log->bytes;
}

uint64_t hark_log_used(const struct hark_log *log)
{
    return log->bytes + log->waste;
}

const char *hark_log_error(const struct hark_log *log)
{
    return log->error;
}

int hark_log_open(struct hark_log **log, const struct hark_log_config *config, char error[256])
{
    *log = NULL;
    struct hark_log *made = calloc(1, sizeof *made);
    if (!made) {
        snprintf(error, 256, "payload log: no memory");
        return HARK_L_EMEMORY;
    }
    made->dir = -1;
    made->rank = config->rank;
    made->inc = config->inc;
    made->limit = config->limit && config->limit < LIMIT_MIN ? LIMIT_MIN : config->limit;
    made->soft_limit = made->limit ? 0 : config->soft_limit;
    made->spill_limit = config->spill_limit;
    uint64_t limit = made->limit ? made->limit : made->soft_limit;
    made->parts = limit ? 32 : 8;
    made->blocks.pages = limit == 0 || limit >= HUGE_LIMIT;
    made->blocks.arena_most = limit ? log_round(limit / 16 + 1, ARENA_LEAST) : 0;
    made->blocks.lend = config->reclaim ? config->lend : NULL;
    made->blocks.reclaim = config->reclaim;
    made->blocks.self = config->self;
    made->chunk = CHUNK_MAX;
    while (limit && made->chunk > HARK_BLOCK_MIN && made->chunk > limit / 16) made->chunk /= 2;
    int status = config->spill ? hark_spill_open(made, config->spill, error) : HARK_L_OK;
    if (status != HARK_L_OK) {
        free(made);
        return status;
    }
    *log = made;
    return HARK_L_OK;
}

void hark_log_close(struct hark_log *log)
{
    if (!log) return;
    log->blocks.closing = true;
    for (uint32_t i = 0; i < log->table_room; i++) {
        struct log_channel *c = log->table[i];
        if (!c) continue;
        for (uint32_t k = 0; k < c->count; k++) drop_segment(log, c->row[c->head + k]);
        free(c->row);
        free(c);
    }
    for (struct log_segment *g = log->unused, *next; g; g = next) {
        next = g->newer;
        free(g);
    }
    hark_block_close(&log->blocks);
    hark_spill_close(log);
    free(log->table);
    free(log);
}
