/* log.c: the payload log of a simulated process: the lengths of what is retained, in runs, for most
 * of a channel are alike. */
#include <string.h>

#include "parts.h"

static uint32_t search(const struct sim_log *l, uint32_t peer, uint16_t ctx)
{
    uint32_t low = 0, high = l->rows;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        const struct sim_log_row *r = &l->row[mid];
        if (r->peer < peer || (r->peer == peer && r->ctx < ctx)) low = mid + 1;
        else high = mid;
    }
    return low;
}

static struct sim_log_row *find(const struct sim_log *l, uint32_t peer, uint16_t ctx)
{
    uint32_t i = search(l, peer, ctx);
    return i < l->rows && l->row[i].peer == peer && l->row[i].ctx == ctx ? &l->row[i] : NULL;
}

/* A larger array with what was in it; false without memory. */
static bool widen(struct sim *s, void **at, uint32_t count, uint32_t *room, size_t width)
{
    uint64_t bytes = ((uint64_t)count + *room / 2 + 1) * width;
    void *more = sim_arena_take(&s->arena, &bytes);
    if (more == NULL) {
        sim_no_memory(s);
        return false;
    }
    if (count) memcpy(more, *at, count * width);
    sim_arena_give(&s->arena, *at, (uint64_t)*room * width);
    *at = more;
    *room = (uint32_t)(bytes / width);
    return true;
}

static struct sim_log_row *make(struct sim *s, struct sim_log *l, uint32_t peer, uint16_t ctx)
{
    uint32_t i = search(l, peer, ctx);
    void *row = l->row;
    if (l->rows == l->room && !widen(s, &row, l->rows, &l->room, sizeof *l->row)) return NULL;
    l->row = row;
    memmove(&l->row[i + 1], &l->row[i], (l->rows - i) * sizeof *l->row);
    l->rows++;
    l->row[i] = (struct sim_log_row){.peer = peer, .ctx = ctx, .first = 1};
    return &l->row[i];
}

/* Another length from the next message on. */
static bool turn_over(struct sim *s, struct sim_log_row *r)
{
    void *run = r->run;
    if (r->runs == r->room && !widen(s, &run, r->runs, &r->room, sizeof *r->run)) return false;
    r->run = run;
    r->run[r->runs++] = (struct sim_run_of){r->last, r->length};
    return true;
}

bool sim_log_retain(struct sim *s, struct sim_log *l, const struct hark_name *n, uint64_t length)
{
    struct sim_log_row *r = l->hint < l->rows ? &l->row[l->hint] : NULL;
    if (r == NULL || r->peer != n->peer || r->ctx != n->ctx) r = find(l, n->peer, n->ctx);
    if (r == NULL) r = make(s, l, n->peer, n->ctx);
    if (r == NULL) return false;
    l->hint = (uint32_t)(r - l->row) + 1; /* the next one is often to the next peer */
    if (r->first > r->last) {             /* empty: it may begin anywhere */
        r->first = n->ssn;
        r->runs = 0;
    } else if (n->ssn != r->last + 1) {
        sim_fail(s, "a log goes from message %llu on with %llu", (unsigned long long)r->last,
            (unsigned long long)n->ssn);
        return false;
    } else if (r->length != length && !turn_over(s, r)) {
        return false;
    }
    r->length = length;
    r->last = n->ssn;
    l->bytes += length;
    return true;
}

void sim_log_trim(struct sim_log *l, const struct hark_name *n)
{
    struct sim_log_row *r = find(l, n->peer, n->ctx);
    uint32_t gone = 0;
    if (r == NULL || n->ssn < r->first) return;
    uint64_t upto = n->ssn < r->last ? n->ssn : r->last;
    for (; gone < r->runs && r->first <= upto; gone++) {
        const struct sim_run_of *run = &r->run[gone];
        uint64_t last = run->last < upto ? run->last : upto;
        l->bytes -= (last - r->first + 1) * run->length;
        r->first = last + 1;
        if (last < run->last) break;
    }
    if (gone) memmove(r->run, r->run + gone, (r->runs - gone) * sizeof *r->run);
    r->runs -= gone;
    if (r->first > upto) return;
    l->bytes -= (upto - r->first + 1) * r->length;
    r->first = upto + 1;
}

bool sim_log_length(
    const struct sim_log *l, uint32_t peer, uint16_t ctx, uint64_t ssn, uint64_t *length)
{
    const struct sim_log_row *r = find(l, peer, ctx);
    if (r == NULL || ssn < r->first || ssn > r->last) return false;
    uint32_t low = 0, high = r->runs;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (r->run[mid].last < ssn) low = mid + 1;
        else high = mid;
    }
    *length = low < r->runs ? r->run[low].length : r->length;
    return true;
}

/* Groups are told from ranks by these, which no rank reaches. */
enum { KEY_GROUP = 1 << 28, KEY_CHILD = 1 << 29, KEY_MADE = 1 << 30 };

struct hark_name sim_log_key(const struct hark_name *name, bool made)
{
    struct hark_name key = *name;
    if (name->to == HARK_GROUP)
        key.peer |= name->way == HARK_IN ? KEY_GROUP | KEY_CHILD : made ? KEY_MADE : KEY_GROUP;
    else if (name->way == HARK_IN) key.peer |= KEY_CHILD;
    return key;
}

bool sim_log_entry(
    const struct sim_log *l, const struct hark_name *name, uint64_t ssn, uint64_t *length)
{
    struct hark_name key = sim_log_key(name, true);
    if (sim_log_length(l, key.peer, key.ctx, ssn, length)) return true;
    key = sim_log_key(name, false);
    return sim_log_length(l, key.peer, key.ctx, ssn, length);
}

bool sim_log_holds(
    const struct sim_log *l, uint32_t peer, uint16_t ctx, uint64_t first, uint64_t last)
{
    const struct sim_log_row *r = find(l, peer, ctx);
    return r && first >= r->first && last <= r->last;
}

bool sim_log_copy(struct sim *s, struct sim_log *to, const struct sim_log *l)
{
    *to = (struct sim_log){.bytes = l->bytes};
    if (l->rows == 0) return true;
    uint64_t bytes = l->rows * sizeof *l->row;
    to->row = sim_arena_take(&s->arena, &bytes);
    if (to->row == NULL) {
        sim_no_memory(s);
        return false;
    }
    to->room = (uint32_t)(bytes / sizeof *to->row);
    for (; to->rows < l->rows; to->rows++) {
        const struct sim_log_row *r = &l->row[to->rows];
        struct sim_log_row *c = &to->row[to->rows];
        *c = *r;
        c->run = NULL; /* a copy has its own */
        c->room = c->runs = 0;
        if (r->runs == 0) continue;
        bytes = r->runs * sizeof *r->run;
        c->run = sim_arena_take(&s->arena, &bytes);
        if (c->run == NULL) {
            sim_no_memory(s);
            return false;
        }
        c->runs = r->runs;
        c->room = (uint32_t)(bytes / sizeof *r->run);
        memcpy(c->run, r->run, r->runs * sizeof *r->run);
    }
    return true;
}

void sim_log_free(struct sim *s, struct sim_log *l)
{
    for (uint32_t i = 0; i < l->rows; i++)
        sim_arena_give(&s->arena, l->row[i].run, (uint64_t)l->row[i].room * sizeof *l->row[i].run);
    sim_arena_give(&s->arena, l->row, (uint64_t)l->room * sizeof *l->row);
    *l = (struct sim_log){0};
}
