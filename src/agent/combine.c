/* combine.c: what one host has in a stripe, as the sum of what others have.
 *
 * Each piece is asked for, of all that are in the sum, and added up as it comes. A few pieces are
 * on their way at a time, so memory is bounded, whatever the lengths are.
 */
#include "coder.h"

#include <stdlib.h>
#include <string.h>

#define AHEAD 4u /* pieces on their way */

struct slot {
    uint64_t offset;
    uint32_t length; /* 0: it is free */
    bool asked[HARK_CODE_MOST], came[HARK_CODE_MOST];
    uint8_t *bytes;
};

struct hark_combine {
    struct hark_combine *next;
    struct hark_combine_of of;
    uint32_t tag;
    uint64_t asked, out; /* up to there pieces were begun; have been given out */
    bool failed;
    struct slot slot[AHEAD];
    uint8_t bytes[];
};

struct hark_combine *hark_combine_begin(struct hark_coder *c, const struct hark_combine_of *of)
{
    struct hark_combine *x = calloc(1, sizeof *x + (size_t)AHEAD * HARK_CODER_PIECE);
    if (x == NULL) return NULL;
    x->of = *of;
    x->tag = ++c->tag;
    x->asked = x->out = of->begin;
    for (uint32_t i = 0; i < AHEAD; i++) x->slot[i].bytes = x->bytes + (size_t)i * HARK_CODER_PIECE;
    x->next = c->combine;
    return c->combine = x;
}

void hark_combine_end(struct hark_coder *c, struct hark_combine *x)
{
    struct hark_combine **at = &c->combine;
    while (*at && *at != x) at = &(*at)->next;
    if (*at) *at = x->next;
    free(x);
}

void hark_combine_forget(struct hark_coder *c, const struct hark_generation *g)
{
    for (struct hark_combine *x = c->combine; x; x = x->next) {
        if (x->of.own != g) continue;
        x->of.own = NULL;
        x->failed = true;
    }
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static void add(
    struct hark_combine *x, struct slot *s, uint32_t host, const uint8_t *at, size_t length)
{
    hark_code_add(s->bytes, at, length, x->of.factor[host]);
    s->came[host] = true;
}

static void ask_own(struct hark_combine *x, struct slot *s, uint32_t host)
{
    static uint8_t piece[HARK_CODER_PIECE];
    const ssize_t n = hark_generation_piece(x->of.own, x->of.stripe, s->offset, s->length, piece);
    s->asked[host] = true;
    if (n < 0) x->failed = true;
    else add(x, s, host, piece, (size_t)n);
}

/* False: not yet, or never. */
static bool ask_other(struct hark_coder *c, struct hark_combine *x, struct slot *s, uint32_t host)
{
    struct hark_control m;
    struct hark_connection *to = NULL;
    if (x->of.address[host] == NULL || !hark_depot_reach(c->a, x->of.address[host], &to))
        x->failed = true;
    if (to == NULL) return false;
    hark_control_begin(&m, HARK_A_SHARD);
    hark_control_put64(&m, x->of.number);
    hark_control_put64(&m, x->of.run);
    hark_control_put32(&m, x->tag);
    hark_control_put32(&m, x->of.stripe);
    hark_control_put64(&m, s->offset);
    hark_control_put32(&m, s->length);
    hark_control_end(&m);
    if (m.bad || hark_connection_say(to, m.at, m.length) != 0) x->failed = true;
    hark_control_free(&m);
    return s->asked[host] = true;
}

static void ask(struct hark_coder *c, struct hark_combine *x, struct slot *s)
{
    for (uint32_t h = 0; h < x->of.hosts && !x->failed; h++) {
        if (x->of.factor[h] == 0 || s->asked[h]) continue;
        if (x->of.own && x->of.own->table.me == h) ask_own(x, s, h);
        else (void)ask_other(c, x, s, h);
    }
}

static bool is_whole(const struct hark_combine *x, const struct slot *s)
{
    if (s->length == 0) return false;
    for (uint32_t h = 0; h < x->of.hosts; h++)
        if (x->of.factor[h] && !s->came[h]) return false;
    return true;
}

/* Slots are used in turn, so the pieces come out in order. */
static struct slot *slot_of(struct hark_combine *x, uint64_t offset)
{
    return &x->slot[(offset - x->of.begin) / HARK_CODER_PIECE % AHEAD];
}

static void begin_pieces(struct hark_combine *x)
{
    while (x->asked < x->of.end && slot_of(x, x->asked)->length == 0) {
        struct slot *s = slot_of(x, x->asked);
        const uint64_t left = x->of.end - x->asked;
        s->offset = x->asked;
        s->length = left < HARK_CODER_PIECE ? (uint32_t)left : HARK_CODER_PIECE;
        memset(s->asked, 0, sizeof s->asked);
        memset(s->came, 0, sizeof s->came);
        memset(s->bytes, 0, s->length);
        x->asked += s->length;
    }
}

/* True: it is over. */
static bool go_on(struct hark_coder *c, struct hark_combine *x)
{
    for (bool moved = true; moved && !x->failed && x->out < x->of.end;) {
        begin_pieces(x);
        for (uint32_t i = 0; i < AHEAD && !x->failed; i++)
            if (x->slot[i].length) ask(c, x, &x->slot[i]);
        struct slot *s = slot_of(x, x->out);
        moved = !x->failed && is_whole(x, s);
        if (!moved) break;
        if (!x->of.out(x->of.self, s->offset, s->bytes, s->length)) x->failed = true;
        x->out += s->length;
        s->length = 0;
    }
    return x->failed || x->out >= x->of.end;
}

void hark_combine_go_on(struct hark_coder *c)
{
    for (struct hark_combine *x = c->combine; x;) {
        if (!go_on(c, x)) {
            x = x->next;
            continue;
        }
        const struct hark_combine_of of = x->of;
        const bool whole = !x->failed;
        hark_combine_end(c, x);
        of.done(of.self, whole);
        x = c->combine; /* it may have begun others, or ended some */
    }
}

void hark_combine_cut(struct hark_coder *c, const char *address)
{
    for (struct hark_combine *x = c->combine; x; x = x->next)
        for (uint32_t h = 0; h < x->of.hosts; h++)
            if (x->of.factor[h] && x->of.address[h] && strcmp(x->of.address[h], address) == 0)
                x->failed = true;
}

void hark_combine_piece(struct hark_coder *c, struct hark_control *m)
{
    const uint32_t tag = hark_control_get32(m), host = hark_control_get32(m);
    const uint64_t offset = hark_control_get64(m);
    const uint32_t there = hark_control_get32(m);
    uint32_t length;
    const uint8_t *at = hark_control_get_bytes(m, &length);
    struct hark_combine *x = c->combine;
    while (x && x->tag != tag) x = x->next;
    if (x == NULL || m->bad || host >= x->of.hosts) return;
    if (!there) { /* who has nothing of it does not know which host of the set it is */
        x->failed = true;
        return;
    }
    struct slot *s = NULL;
    for (uint32_t i = 0; i < AHEAD; i++)
        if (x->slot[i].length && x->slot[i].offset == offset) s = &x->slot[i];
    if (s == NULL || !s->asked[host] || s->came[host]) return;
    if (length > s->length) x->failed = true;
    else add(x, s, host, at, length);
}
