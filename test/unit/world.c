#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORLD_FACTS = 3, WORLD_STEPS = 2000 /* of a walk: more than any small program takes */ };

struct frame { /* in flight, held, or handed up */
    uint32_t from, to, to_inc;
    uint64_t past, content, said; /* of the payload: causal past, what it says, and what of piecewise programs */
    uint64_t order;         /* per pair, for FIFO */
    uint32_t length;
    uint32_t uses; /* in how many lists it is; not changed once it is in one */
    uint8_t header[HARK_FRAGMENT];
};
struct list {
    uint32_t count;
    struct frame *at[WORLD_FRAMES];
};
struct payload {
    uint32_t peer;
    uint64_t ssn, past, content, said;
};
struct app {
    uint32_t pc, inside, missed, sends, outputs, pad;
    uint64_t past, sum, got[WORLD_RANKS]; /* got: delivered ssn per sender, a bit each, to see order and repetition */
    uint64_t history; /* of piecewise programs: all that was delivered or missed, in order */
    uint64_t heard[WORLD_RANKS][WORLD_SSN], told[WORLD_RANKS][WORLD_SSN]; /* what was said, by ssn - 1 */
};
struct image {
    uint64_t id;
    uint32_t committed, length;
    uint8_t *core;
    struct app app;
    struct list inbox;
    uint32_t payloads;
    struct payload payload[WORLD_ITEMS];
};
struct fact {
    uint64_t id;
    uint32_t what, peer, re, pad;
};
struct proc {
    struct hark *core; /* NULL: not running */
    uint32_t inc, seen;       /* seen: announcements taken */
    uint32_t storing, deciding; /* a CAPTURE, PERSISTs to be answered */
    uint32_t offer, offering;   /* an OFFER to be performed: of one peer, + 1, or HARK_RECOVERY: of all; it is being */
    uint64_t store_id;
    struct fact fact[WORLD_FACTS]; /* in the order they were asked */
    struct app app;
    struct list inbox, held;
    uint32_t payloads, images;
    struct payload payload[WORLD_ITEMS];
    struct image image[WORLD_IMAGES];
};
struct announcement {
    uint32_t down, inc[WORLD_RANKS + 1];
    uint64_t wave[WORLD_RANKS];
};
struct world {
    struct proc p[WORLD_RANKS + 1]; /* the last is the recovery process */
    struct list net;
    struct announcement said[8];
    uint32_t re, down, inc[WORLD_RANKS + 1];
    uint32_t back[WORLD_RANKS]; /* the epoch in which each last went back */
    uint64_t wave[WORLD_RANKS]; /* decided, by lowest rank of the group */
    uint64_t output[WORLD_RANKS][WORLD_OPS]; /* what left the job: history + 1 */
    uint32_t failed; /* letters of `fails` used up, as a mask */
    uint64_t order;
};
struct setup {
    const struct world_config *c;
    struct world_op op[WORLD_RANKS][WORLD_OPS + 1];
    uint32_t ranks, cluster[WORLD_RANKS], sends[WORLD_RANKS], first_send[WORLD_RANKS];
};

static const char *broken; /* the first violation met by perform() or step() */

static void violate(const char *why)
{
    if (!broken) broken = why;
}

/* ---- scripts ------------------------------------------------------------------------------------------ */

static void setup_make(struct setup *s, const struct world_config *c)
{
    uint32_t rank = 0, n = 0, total = 0, fork = 0;
    int part = 0;
    memset(s, 0, sizeof *s);
    s->c = c;
    for (const char *t = c->script; *t; t++) {
        if (*t == ';') {
            rank++;
            n = 0;
        } else if (strchr("SRTWCO", *t)) {
            int peer = t[1] >= '0' && t[1] <= '9' ? t[1] - '0' : -1;
            int ssn = peer >= 0 && t[2] == '.' ? t[3] - '0' : 0;
            s->op[rank][n++] = (struct world_op){*t, peer, ssn, part};
            if (*t == 'S' && part < 2) s->sends[rank]++;
        } else if (*t == '[' || *t == '|') {
            if (*t == '|') s->op[rank][fork].ssn = (int)n + 1;
            fork = n;
            s->op[rank][n++] = (struct world_op){*t, -1, 0, part++};
        } else if (*t == ']') {
            s->op[rank][fork].ssn = (int)n;
            part = 0;
        }
    }
    s->ranks = rank + 1;
    for (uint32_t i = 0; i < s->ranks; i++) {
        s->cluster[i] = c->clusters ? (uint32_t)(c->clusters[i] - '0') : i;
        s->first_send[i] = total;
        total += s->sends[i];
    }
}

static uint32_t leader_of(const struct setup *s, uint32_t rank)
{
    for (uint32_t i = 0; i < s->ranks; i++)
        if (s->cluster[i] == s->cluster[rank]) return i;
    return rank;
}

/* ---- worlds: copy, hash, free --------------------------------------------------------------------------- */

static void list_add(struct list *l, const struct frame *f)
{
    if (l->count == WORLD_FRAMES) abort();
    size_t n = offsetof(struct frame, header) + f->length;
    l->at[l->count] = malloc(n);
    memcpy(l->at[l->count], f, n);
    l->at[l->count++]->uses = 1;
}

static void frame_free(struct frame *f)
{
    if (--f->uses == 0) free(f);
}

static void frame_take(struct frame *f, const struct frame *from)
{
    memcpy(f, from, offsetof(struct frame, header) + from->length);
}

static void list_drop(struct list *l, uint32_t i)
{
    frame_free(l->at[i]);
    memmove(&l->at[i], &l->at[i + 1], (l->count - i - 1) * sizeof l->at[0]);
    l->count--;
}

static void list_clear(struct list *l)
{
    while (l->count) list_drop(l, l->count - 1);
}

static void list_copy(struct list *to, const struct list *from)
{
    to->count = from->count;
    for (uint32_t i = 0; i < from->count; i++) {
        to->at[i] = from->at[i];
        to->at[i]->uses++;
    }
}

static void image_free(struct proc *p, uint32_t i)
{
    free(p->image[i].core);
    list_clear(&p->image[i].inbox);
    memmove(&p->image[i], &p->image[i + 1], (p->images - i - 1) * sizeof p->image[0]);
    p->images--;
}

static void proc_stop(struct proc *p)
{
    free(p->core);
    p->core = NULL;
    list_clear(&p->inbox);
    list_clear(&p->held);
    p->payloads = p->storing = p->deciding = p->offer = 0;
    memset(p->fact, 0, sizeof p->fact);
}

static void world_free(struct world *w)
{
    for (uint32_t i = 0; i <= WORLD_RANKS; i++) {
        proc_stop(&w->p[i]);
        while (w->p[i].images) image_free(&w->p[i], w->p[i].images - 1);
    }
    list_clear(&w->net);
    free(w);
}

static struct world *world_copy(const struct world *from)
{
    struct world *w = malloc(sizeof *w);
    *w = *from;
    for (uint32_t i = 0; i <= WORLD_RANKS; i++) {
        struct proc *p = &w->p[i];
        const struct proc *q = &from->p[i];
        if (q->core) {
            p->core = malloc(q->core->bytes);
            memcpy(p->core, q->core, q->core->bytes);
        }
        list_copy(&p->inbox, &q->inbox);
        list_copy(&p->held, &q->held);
        for (uint32_t k = 0; k < q->images; k++) {
            p->image[k].core = malloc(q->image[k].length + 1);
            memcpy(p->image[k].core, q->image[k].core, q->image[k].length);
            list_copy(&p->image[k].inbox, &q->image[k].inbox);
        }
    }
    list_copy(&w->net, &from->net);
    return w;
}

struct hash {
    uint64_t a, b;
};

static void mix(struct hash *h, const void *at, size_t n)
{
    const uint8_t *b = at;
    for (size_t i = 0; i < n; i++) {
        h->a = (h->a ^ b[i]) * UINT64_C(0x100000001b3);
        h->b = (h->b + b[i] + 1) * UINT64_C(0x9e3779b97f4a7c15);
        h->b ^= h->b >> 31;
    }
}

static struct hash frame_hash(const struct frame *f, bool fifo)
{
    struct hash h = {UINT64_C(0xcbf29ce484222325), 7};
    mix(&h, &f->from, 12);
    mix(&h, &f->past, 24);
    if (fifo) mix(&h, &f->order, 8);
    mix(&h, f->header, f->length);
    return h;
}

/* Frames are a multiset: the sum of their hashes. */
static void mix_list(struct hash *h, const struct list *l, bool fifo)
{
    struct hash sum = {l->count, 0};
    for (uint32_t i = 0; i < l->count; i++) {
        struct hash f = frame_hash(l->at[i], fifo);
        sum.a += f.a;
        sum.b += f.b;
    }
    mix(h, &sum, sizeof sum);
}

static struct hash world_hash(const struct setup *s, const struct world *w)
{
    static uint8_t pack[1 << 16];
    struct hash h = {UINT64_C(0xcbf29ce484222325), 1};
    for (uint32_t i = 0; i <= WORLD_RANKS; i++) {
        const struct proc *p = &w->p[i];
        const struct hark_protocol *protocol = i == WORLD_RANKS ? s->c->recovery : s->c->protocol;
        if (p->core) {
            uint64_t n = hark_pack(p->core, protocol->shape, pack, sizeof pack);
            if (n > sizeof pack) abort();
            mix(&h, pack, n);
        }
        mix(&h, &p->inc, offsetof(struct proc, inbox) - offsetof(struct proc, inc));
        mix_list(&h, &p->inbox, false);
        mix_list(&h, &p->held, false);
        mix(&h, &p->images, 4);
        for (uint32_t k = 0; k < p->images; k++) {
            mix(&h, &p->image[k].id, 12);
            mix(&h, p->image[k].core, p->image[k].length);
            mix(&h, &p->image[k].app, sizeof p->image[k].app);
            mix_list(&h, &p->image[k].inbox, false);
        }
    }
    mix_list(&h, &w->net, s->c->fifo);
    mix(&h, &w->re, offsetof(struct world, order) - offsetof(struct world, re));
    return h;
}

/* The application has made its present step. */
static void go_on(const struct setup *s, struct world *w, uint32_t who)
{
    struct app *a = &w->p[who].app;
    for (a->pc++;; a->pc++) {
        const struct world_op *op = &s->op[who][a->pc];
        if (op->what != '[' && op->what != '|') return;
        if (op->what == '|' || a->missed) a->pc = (uint32_t)op->ssn - 1;
        if (op->what == '[') a->missed = 0;
    }
}

/* ---- steps of cores ----------------------------------------------------------------------------------------- */

static void core_step(struct setup *s, struct world *w, uint32_t who, const struct hark_event *event,
    struct frame *frame, struct payload *posted);

static uint32_t rank_of(uint32_t who)
{
    return who == WORLD_RANKS ? HARK_RECOVERY : who;
}

static struct payload *payload_find(struct proc *p, uint32_t peer, uint64_t ssn)
{
    for (uint32_t i = 0; i < p->payloads; i++)
        if (p->payload[i].peer == peer && p->payload[i].ssn == ssn) return &p->payload[i];
    return NULL;
}

/* Held frames again. What asks for that meanwhile waits for the next round: held frames are never passed over. */
static void offer(struct setup *s, struct world *w, uint32_t who)
{
    struct proc *p = &w->p[who];
    p->offering = 1;
    while (p->offer) {
        struct list held = p->held;
        uint32_t peer = p->offer;
        p->held.count = p->offer = 0;
        for (uint32_t i = 0; i < held.count; i++) {
            struct frame *f = held.at[i];
            if (peer != HARK_RECOVERY && f->from + 1 != peer) {
                list_add(&p->held, f);
            } else if (p->core) {
                struct hark_event e = {.type = HARK_ARRIVE};
                e.u.frame.header = (struct hark_bytes){f->header, f->length};
                core_step(s, w, who, &e, f, NULL);
            }
            frame_free(f);
        }
    }
    p->offering = 0;
}

static void capture(struct setup *s, struct world *w, uint32_t who, uint64_t id)
{
    struct proc *p = &w->p[who];
    struct image *m = &p->image[p->images];
    if (p->images == WORLD_IMAGES) abort();
    memset(m, 0, sizeof *m);
    m->id = id;
    m->length = (uint32_t)hark_pack(p->core, s->c->protocol->shape, NULL, 0);
    m->core = malloc(m->length + 1);
    hark_pack(p->core, s->c->protocol->shape, m->core, m->length);
    m->app = p->app;
    /* Exactly the payloads that the core names. */
    uint64_t cursor = 0;
    for (struct hark_names run; s->c->protocol->names(p->core, &cursor, &run);) {
        for (uint64_t ssn = run.name.ssn; ssn <= run.last; ssn++) {
            if (run.name.way == HARK_OUT) {
                struct payload *x = payload_find(p, run.name.peer, ssn);
                if (x) m->payload[m->payloads++] = *x;
                else violate("the core names a payload for the image that was not retained");
                continue;
            }
            bool found = false;
            for (uint32_t i = 0; i < p->inbox.count + p->held.count && !found; i++) {
                struct frame *f = i < p->inbox.count ? p->inbox.at[i] : p->held.at[i - p->inbox.count];
                struct hark_head h;
                if (hark_head_get(&h, (struct hark_bytes){f->header, f->length}, p->core->kind) < 0) continue;
                if (h.type != HARK_APP || h.src != run.name.peer || h.ssn != ssn) continue;
                list_add(&m->inbox, f);
                found = true;
            }
            if (!found) violate("the core names an arrived message for the image that is not here");
        }
    }
    p->images++;
    p->storing = 1;
    p->store_id = id;
}

static void perform(struct setup *s, struct world *w, uint32_t who, const struct hark_effect *x, struct frame *frame,
    struct payload *posted)
{
    struct proc *p = &w->p[who];
    struct frame f;
    memset(&f, 0, offsetof(struct frame, header));
    f.from = rank_of(who);
    f.to = x->peer;
    f.to_inc = x->inc;
    f.order = w->order++;
    switch (x->type) {
    case HARK_TRANSMIT:
        f.length = x->header.length;
        if (f.length > sizeof f.header) abort();
        memcpy(f.header, x->header.at, f.length);
        if (x->name.ssn) {
            struct payload *y = posted && posted->ssn == x->name.ssn && posted->peer == x->name.peer
                                    ? posted
                                    : payload_find(p, x->name.peer, x->name.ssn);
            if (y == NULL) {
                violate("a payload is to be transmitted that the log does not hold");
                return;
            }
            f.past = y->past;
            f.content = y->content;
            f.said = y->said;
        }
        list_add(&w->net, &f);
        break;
    case HARK_RETAIN:
        if (!posted || posted->ssn != x->name.ssn) violate("RETAIN of something that was not posted now");
        else if (p->payloads == WORLD_ITEMS) abort();
        else p->payload[p->payloads++] = *posted;
        break;
    case HARK_TRIM:
        for (uint32_t i = p->payloads; i-- > 0;)
            if (p->payload[i].peer == x->name.peer && p->payload[i].ssn <= x->name.ssn)
                p->payload[i] = p->payload[--p->payloads];
        break;
    case HARK_HANDUP: list_add(&p->inbox, frame); break;
    case HARK_HOLD: list_add(&p->held, frame); break;
    case HARK_DISCARD: break;
    case HARK_OFFER:
        if (x->peer == HARK_RECOVERY || (p->offer && p->offer != x->peer + 1)) p->offer = HARK_RECOVERY;
        else p->offer = x->peer + 1;
        break;
    case HARK_PERSIST:
        if (p->deciding == WORLD_FACTS) abort();
        p->fact[p->deciding++] = (struct fact){x->u.id, x->fact, x->peer, x->re, 0};
        break;
    case HARK_CAPTURE: capture(s, w, who, x->u.id); break;
    case HARK_COMMIT:
        for (uint32_t i = 0; i < p->images; i++)
            if (p->image[i].id == x->u.id) p->image[i].committed = 1;
        break;
    case HARK_DROP:
        for (uint32_t i = 0; i < p->images; i++)
            if (p->image[i].id == x->u.id) image_free(p, i);
        break;
    case HARK_RESUME:
        p->app.inside = 0;
        go_on(s, w, who);
        break;
    case HARK_ROLLBACK: proc_stop(p); break;
    case HARK_DIVERGED: violate("DIVERGED though every send was the same"); break;
    default: break;
    }
}

static struct hark_protocol const *protocol_of(const struct setup *s, uint32_t who)
{
    return who == WORLD_RANKS ? s->c->recovery : s->c->protocol;
}

/* The same step on a copy that went through pack and unpack into the smallest block: refusals leave it as it was, and what
 * comes of it depends on the packed state alone. */
static struct hark *twin_make(const struct setup *s, const struct world *w, uint32_t who)
{
    const struct hark_protocol *protocol = protocol_of(s, who);
    const struct hark *p = w->p[who].core;
    static uint8_t pack[1 << 16], again[1 << 16];
    uint64_t n = hark_pack(p, protocol->shape, pack, sizeof pack);
    uint64_t bytes = protocol->shape->fixed;
    struct hark *t = calloc(1, bytes);
    hark_block_init(t, bytes, protocol->shape, p->kind);
    while (hark_unpack(t, protocol->shape, (struct hark_bytes){pack, (uint32_t)n}) == HARK_EFULL) {
        bytes = (hark_wants(t, NULL) + 1) / 2; /* what it wants is twice what it needs */
        t = realloc(t, bytes);
        hark_grow(t, bytes);
    }
    if (hark_pack(t, protocol->shape, again, sizeof again) != n || memcmp(pack, again, n) != 0)
        violate("unpack does not give back what was packed");
    t->more = p->more;
    return t;
}

static int twin_step(const struct hark_protocol *protocol, struct hark **t, const struct hark_event *e,
    struct hark_effects *fx)
{
    static uint8_t before[1 << 16], after[1 << 16];
    for (;;) {
        uint64_t n = hark_pack(*t, protocol->shape, before, sizeof before);
        int status = protocol->step(*t, e, fx);
        if (status != HARK_EFULL) return status;
        if (hark_pack(*t, protocol->shape, after, sizeof after) != n || memcmp(before, after, n) != 0)
            violate("a step that was refused has changed the state");
        uint64_t wants = (hark_wants(*t, e) + 1) / 2;
        if (wants <= (*t)->bytes) wants = (*t)->bytes + 64;
        *t = realloc(*t, wants);
        hark_grow(*t, wants);
    }
}

static void twin_check(const struct setup *s, const struct world *w, uint32_t who, struct hark **t,
    const struct hark_event *e, int status, const struct hark_effects *fx)
{
    static struct hark_effect effects[HARK_EFFECTS_ROOM + 4];
    static uint8_t bytes[HARK_EFFECTS_BYTES + 128], one[1 << 16], two[1 << 16];
    const struct hark_protocol *protocol = protocol_of(s, who);
    struct hark_effects mine = {.at = effects, .room = HARK_COUNT(effects), .bytes = bytes, .bytes_room = sizeof bytes,
        .spare = fx->spare};
    if (twin_step(protocol, t, e, &mine) != status || mine.count != fx->count || mine.used != fx->used)
        violate("the same state and event give other effects");
    for (uint32_t i = 0; i < mine.count && i < fx->count; i++) {
        struct hark_effect a = mine.at[i], b = fx->at[i];
        if (a.header.length != b.header.length || (a.header.length && memcmp(a.header.at, b.header.at, a.header.length)))
            violate("the same state and event give other headers");
        a.header.at = b.header.at = NULL;
        if (memcmp(&a, &b, sizeof a) != 0) violate("the same state and event give other effects");
    }
    uint64_t n = hark_pack(w->p[who].core, protocol->shape, one, sizeof one);
    if (hark_pack(*t, protocol->shape, two, sizeof two) != n || memcmp(one, two, n) != 0)
        violate("the same state and event give another state");
}

enum { SPARE = 4 };

/* What lies behind each header is the embedder's. */
static bool spared(const struct hark_effects *fx)
{
    static const uint8_t untouched[SPARE] = {0xa5, 0xa5, 0xa5, 0xa5};
    for (uint32_t i = 0; i < fx->count; i++) {
        struct hark_bytes h = fx->at[i].header;
        if (h.length && memcmp(h.at + h.length, untouched, SPARE) != 0) return false;
    }
    return true;
}

/* One step and its effects; `frame` is the arrived one, `posted` the payload of a SEND. */
static int try_step(struct setup *s, struct world *w, uint32_t who, const struct hark_event *event,
    struct frame *frame, struct payload *posted)
{
    struct hark_effect effects[HARK_EFFECTS_ROOM + 4];
    uint8_t bytes[HARK_EFFECTS_BYTES + 128];
    struct hark_effects fx = {.at = effects, .room = HARK_COUNT(effects), .bytes = bytes, .bytes_room = sizeof bytes,
        .spare = SPARE};
    struct hark_event e = *event;
    const struct hark_protocol *protocol = protocol_of(s, who);
    struct proc *p = &w->p[who];
    struct hark *twin = s->c->paranoid ? twin_make(s, w, who) : NULL;
    for (;;) {
        memset(bytes, 0xa5, sizeof bytes);
        int status = protocol->step(p->core, &e, &fx);
        if (status >= 0 && !spared(&fx)) violate("bytes behind a header that are not the core's");
        if (twin && status != HARK_EFULL) twin_check(s, w, who, &twin, &e, status, &fx);
        if (twin && status != HARK_EFULL && status != HARK_MORE) {
            free(twin);
            twin = NULL;
        }
        if (status == HARK_EFULL) {
            uint64_t wants = hark_wants(p->core, &e);
            p->core = realloc(p->core, wants);
            hark_grow(p->core, wants);
            continue;
        }
        if (status < 0) {
            violate(hark_status_text(status));
            return status;
        }
        if (status == HARK_WAIT) return status;
        const char *why = protocol->violated(p->core);
        if (why) violate(why);
        for (uint32_t i = 0; i < fx.count && p->core; i++) perform(s, w, who, &fx.at[i], frame, posted);
        if (status != HARK_MORE || !p->core) break;
        e = (struct hark_event){.type = HARK_CONTINUE};
    }
    if (p->offer && !p->offering) offer(s, w, who);
    return HARK_OK;
}

static void core_step(struct setup *s, struct world *w, uint32_t who, const struct hark_event *event,
    struct frame *frame, struct payload *posted)
{
    (void)try_step(s, w, who, event, frame, posted);
}

static void core_make(struct setup *s, struct world *w, uint32_t who)
{
    struct hark_range group[WORLD_RANKS];
    struct hark_config c = {.me = rank_of(who), .ranks = s->ranks, .group = group, .copies = s->c->copies,
        .flags = HARK_DIGEST | s->c->flags};
    for (uint32_t i = 0; who < WORLD_RANKS && i < s->ranks; i++)
        if (s->cluster[i] == s->cluster[who]) group[c.group_count++] = (struct hark_range){i, i};
    uint64_t n = protocol_of(s, who)->size(&c);
    w->p[who].core = malloc(n);
    if (protocol_of(s, who)->init(w->p[who].core, n, &c) != HARK_OK) abort();
}

/* ---- the failure service -------------------------------------------------------------------------------------- */

static void announce(struct setup *s, struct world *w)
{
    struct announcement *a = &w->said[++w->re];
    if (w->re + 1 >= HARK_COUNT(w->said)) abort();
    a->down = w->down;
    memcpy(a->inc, w->inc, sizeof a->inc);
    memcpy(a->wave, w->wave, sizeof a->wave);
    (void)s;
}

static void tell(struct setup *s, struct world *w, uint32_t who, uint32_t re)
{
    const struct announcement *a = &w->said[re];
    uint32_t down[WORLD_RANKS];
    struct hark_incarnation inc[WORLD_RANKS + 1];
    struct hark_decision wave[WORLD_RANKS];
    struct hark_event e = {.type = HARK_FAILED};
    e.u.failed.re = re;
    e.u.failed.down = down;
    e.u.failed.inc = inc;
    e.u.failed.wave = wave;
    for (uint32_t i = 0; i < s->ranks; i++) {
        if (a->down & 1u << i) down[e.u.failed.down_count++] = i;
        if (a->wave[i]) wave[e.u.failed.wave_count++] = (struct hark_decision){i, 0, a->wave[i]};
    }
    for (uint32_t i = 0; i <= WORLD_RANKS; i++)
        if (a->inc[i]) inc[e.u.failed.inc_count++] = (struct hark_incarnation){rank_of(i), a->inc[i]};
    w->p[who].seen = re;
    core_step(s, w, who, &e, NULL, NULL);
}

/* Letter k of `fails` happens: the process is gone, and its unit's incarnations are raised. */
static void crash(struct setup *s, struct world *w, uint32_t k)
{
    char letter = s->c->fails[k];
    w->failed |= 1u << k;
    if (letter == 'r') {
        proc_stop(&w->p[WORLD_RANKS]);
        w->inc[WORLD_RANKS]++;
    } else {
        uint32_t rank = (uint32_t)(letter - '0');
        proc_stop(&w->p[rank]);
        for (uint32_t i = 0; i < s->ranks; i++) {
            bool back = s->c->protocol->rolls == HARK_ROLLS_ALL || i == rank ||
                        (s->c->protocol->rolls == HARK_ROLLS_GROUP && s->cluster[i] == s->cluster[rank]);
            if (!back) continue;
            w->inc[i]++;
            w->down |= 1u << i;
            w->back[i] = w->re + 1;
        }
    }
    announce(s, w);
}

static void restart(struct setup *s, struct world *w, uint32_t who)
{
    struct proc *p = &w->p[who];
    struct hark_event e = {.type = HARK_RESTARTED};
    uint64_t id = who < s->ranks ? w->wave[leader_of(s, who)] : 0;
    for (uint32_t i = w->net.count; i-- > 0;) /* for an older incarnation: the transport drops them */
        if (w->net.at[i]->to == rank_of(who) && w->net.at[i]->to_inc < w->inc[who]) list_drop(&w->net, i);
    core_make(s, w, who);
    p->inc = w->inc[who];
    memset(&p->app, 0, sizeof p->app);
    e.u.restarted.checkpoint = id;
    e.u.restarted.re = w->re;
    e.u.restarted.inc = p->inc;
    for (uint32_t i = p->images; i-- > 0;)
        if (p->image[i].id > id) image_free(p, i);
    if (id) {
        struct image *m = NULL;
        for (uint32_t i = 0; i < p->images; i++)
            if (p->image[i].id == id) m = &p->image[i];
        if (m == NULL) {
            violate("the decided image is gone");
            return;
        }
        p->app = m->app;
        p->app.inside = 0;
        go_on(s, w, who);
        p->payloads = m->payloads;
        memcpy(p->payload, m->payload, sizeof m->payload);
        for (uint32_t i = 0; i < m->inbox.count; i++) {
            struct frame f;
            frame_take(&f, m->inbox.at[i]);
            f.past = 0; /* had arrived: exempt from I7 */
            list_add(&p->held, &f);
        }
        e.u.restarted.image = (struct hark_bytes){m->core, m->length};
        core_step(s, w, who, &e, NULL, NULL);
    } else {
        core_step(s, w, who, &e, NULL, NULL);
    }
    tell(s, w, who, w->re);
}

static void answer_persist(struct setup *s, struct world *w, uint32_t who)
{
    struct proc *p = &w->p[who];
    struct hark_event e = {.type = HARK_STORED};
    struct fact f = p->fact[0];
    bool ok = f.re == w->re;
    if (ok && f.what == HARK_FACT_WAVE) w->wave[f.peer] = f.id;
    if (ok && f.what == HARK_FACT_DONE) {
        if (f.peer == HARK_RECOVERY) w->down = 0;
        else w->down &= ~(1u << f.peer);
    }
    e.u.stored.of = HARK_PERSIST;
    e.u.stored.ok = ok;
    e.u.stored.id = f.id;
    p->deciding--;
    memmove(&p->fact[0], &p->fact[1], (WORLD_FACTS - 1) * sizeof f);
    memset(&p->fact[p->deciding], 0, sizeof f);
    core_step(s, w, who, &e, NULL, NULL);
}

/* ---- applications ----------------------------------------------------------------------------------------------- */

static const struct world_op *next_op(const struct setup *s, const struct world *w, uint32_t who)
{
    return &s->op[who][w->p[who].app.pc];
}

/* The first message of the channel from `peer` in the inbox, or message `only` if that is not 0; or -1. */
static int inbox_first(const struct proc *p, uint32_t peer, int only)
{
    int best = -1;
    uint64_t ssn = UINT64_MAX;
    for (uint32_t i = 0; i < p->inbox.count; i++) {
        uint64_t x = hark_get64(p->inbox.at[i]->header + 24);
        if (p->inbox.at[i]->from != peer || x >= ssn || (only && x != (uint64_t)only)) continue;
        ssn = x;
        best = (int)i;
    }
    return best;
}

/* I7. A process that went back at epoch t may deliver what depends on an unsent message of a process that
 * went back later than t: then the dependency is older than that failure. */
static void check_past(struct setup *s, struct world *w, uint32_t who, const struct frame *f)
{
    if (!s->c->ghosts || w->back[who] == 0 || w->p[who].inc != w->inc[who]) return;
    for (uint32_t i = 0; i < s->ranks; i++)
        for (uint32_t k = 0; k < s->sends[i]; k++)
            if ((f->past >> (s->first_send[i] + k) & 1) && w->p[i].app.sends <= k && w->back[i] <= w->back[who])
                violate("I7: a message is delivered before its cause has been sent again");
}

static uint64_t history_mix(uint64_t history, uint64_t a, uint64_t b, uint64_t c)
{
    struct hash h = {history, 3};
    uint64_t x[3] = {a, b, c};
    mix(&h, x, sizeof x);
    return h.a ^ h.b ? h.a ^ h.b : 1;
}

/* I1. Does the sender's present history say something else than what this process has delivered? */
static void check_said(const struct setup *s, const struct world *w, uint32_t from, uint32_t to, uint64_t ssn)
{
    uint64_t heard = w->p[to].app.heard[from][ssn - 1], told = w->p[from].app.told[to][ssn - 1];
    if (!s->c->piecewise || !w->p[from].core || !w->p[to].core) return;
    if (heard && told && heard != told) violate("I1: a process has delivered what its sender does not say any more");
}

static void app_take(struct setup *s, struct world *w, uint32_t who, uint32_t index)
{
    struct proc *p = &w->p[who];
    struct frame f;
    frame_take(&f, p->inbox.at[index]);
    uint64_t ssn = hark_get64(f.header + 24);
    struct hark_event e = {.type = HARK_DELIVER};
    e.u.frame.header = (struct hark_bytes){f.header, f.length};
    if (try_step(s, w, who, &e, NULL, NULL) != HARK_OK) return;
    for (uint32_t i = 0; i < p->inbox.count; i++)
        if (p->inbox.at[i]->from == f.from && hark_get64(p->inbox.at[i]->header + 24) == ssn) {
            list_drop(&p->inbox, i);
            break;
        }
    uint64_t got = p->app.got[f.from], bit = UINT64_C(1) << ssn;
    bool named = next_op(s, w, who)->ssn != 0;
    if (got & bit || (!named && got != bit - 2 && ssn > 1 && !(got & bit >> 1)))
        violate("I2/I3: a channel's messages are not delivered once and in order");
    p->app.got[f.from] |= bit;
    if (s->c->piecewise) {
        if (ssn > WORLD_SSN) abort();
        p->app.history = history_mix(p->app.history, f.from, ssn, f.said);
        p->app.heard[f.from][ssn - 1] = f.said;
        check_said(s, w, f.from, who, ssn);
    }
    p->app.past |= f.past;
    p->app.sum += f.content;
    check_past(s, w, who, &f);
    go_on(s, w, who);
}

static void app_send(struct setup *s, struct world *w, uint32_t who, uint32_t peer)
{
    struct proc *p = &w->p[who];
    uint64_t bit = UINT64_C(1) << (s->first_send[who] + p->app.sends), ssn = 1;
    bool second = next_op(s, w, who)->part == 2;
    for (uint32_t i = 0; i < p->app.pc; i++)
        if (s->op[who][i].what == 'S' && s->op[who][i].peer == (int)peer && s->op[who][i].part != (second ? 1 : 2)) ssn++;
    struct payload x = {peer, ssn, p->app.past | bit, (who + 1) * 1000 + peer * 100 + ssn, 0};
    if (s->c->piecewise) x.said = history_mix(p->app.history, who, peer, ssn);
    struct hark_event e = {.type = HARK_SEND};
    e.u.send.peer = peer;
    e.u.send.length = 8;
    e.u.send.digest = x.content;
    struct app before = p->app;
    p->app.past |= bit;
    p->app.sends++;
    go_on(s, w, who);
    if (s->c->piecewise) {
        if (ssn > WORLD_SSN) abort();
        p->app.told[peer][ssn - 1] = x.said;
    }
    if (try_step(s, w, who, &e, NULL, &x) != HARK_OK) p->app = before;
    else check_said(s, w, who, peer, ssn);
}

static void app_step(struct setup *s, struct world *w, uint32_t who, uint32_t from)
{
    struct proc *p = &w->p[who];
    const struct world_op *op = next_op(s, w, who);
    struct hark_event e = {.type = HARK_CHECKPOINT_POINT};
    int at;
    switch (op->what) {
    case 'S': app_send(s, w, who, (uint32_t)op->peer); break;
    case 'R': app_take(s, w, who, (uint32_t)inbox_first(p, from, op->ssn)); break;
    case 'T':
        at = inbox_first(p, (uint32_t)op->peer, op->ssn);
        if (at >= 0) {
            app_take(s, w, who, (uint32_t)at);
        } else {
            e.type = HARK_MISS;
            if (try_step(s, w, who, &e, NULL, NULL) != HARK_OK) break;
            p->app.missed = 1;
            go_on(s, w, who);
            if (s->c->piecewise) p->app.history = history_mix(p->app.history, UINT64_MAX, 0, 0);
        }
        break;
    case 'W':
        if (!p->app.missed) {
            go_on(s, w, who);
        } else {
            app_take(s, w, who, (uint32_t)inbox_first(p, (uint32_t)op->peer, op->ssn));
            p->app.missed = 0;
        }
        break;
    case 'O':
        if (w->output[who][p->app.outputs] && w->output[who][p->app.outputs] != p->app.history + 1)
            violate("I1: what was output is not what is executed again");
        w->output[who][p->app.outputs++] = p->app.history + 1;
        p->app.pc++;
        break;
    default:
        p->app.inside = 1;
        e.u.point.due = true;
        if (try_step(s, w, who, &e, NULL, NULL) != HARK_OK) p->app.inside = 0;
        break;
    }
}

/* ---- steps of the world --------------------------------------------------------------------------------------------- */

struct step {
    char what; /* f frame, a application, t told, s stored, p persisted, i idle, r restart, x crash */
    uint32_t who, index;
};

static uint32_t who_of(uint32_t rank)
{
    return rank == HARK_RECOVERY ? WORLD_RANKS : rank;
}

static bool output_can(const struct setup *s, const struct proc *p)
{
    return s->c->protocol->unstable == NULL || s->c->protocol->unstable(p->core) == 0;
}

static bool app_can(const struct setup *s, const struct world *w, uint32_t who, uint32_t from)
{
    const struct proc *p = &w->p[who];
    const struct world_op *op = next_op(s, w, who);
    if (p->app.inside || op->what == 0) return false;
    if (op->what == 'R') return (op->peer < 0 || op->peer == (int)from) && inbox_first(p, from, op->ssn) >= 0;
    if (from != 0) return false;
    if (op->what == 'O' && !w->output[who][p->app.outputs]) return output_can(s, p);
    if (op->what == 'W' && p->app.missed) return inbox_first(p, (uint32_t)op->peer, op->ssn) >= 0;
    return true;
}

static bool frame_first(const struct setup *s, const struct world *w, uint32_t i)
{
    const struct frame *f = w->net.at[i];
    for (uint32_t k = 0; s->c->fifo && k < w->net.count; k++) {
        const struct frame *g = w->net.at[k];
        if (g->from == f->from && g->to == f->to && g->to_inc == f->to_inc && g->order < f->order) return false;
    }
    return true;
}

/* The application waits: would IDLE make its core do something? */
static bool idle_does(const struct setup *s, const struct world *w, uint32_t who)
{
    struct hark_effect effects[HARK_EFFECTS_ROOM + 4];
    uint8_t bytes[HARK_EFFECTS_BYTES + 64];
    struct hark_effects fx = {.at = effects, .room = HARK_COUNT(effects), .bytes = bytes, .bytes_room = sizeof bytes};
    struct hark_event e = {.type = HARK_IDLE, .u.idle.stable = next_op(s, w, who)->what == 'O'};
    const struct hark *core = w->p[who].core;
    for (uint32_t from = 0; from < s->ranks; from++)
        if (app_can(s, w, who, from)) return false;
    struct hark *copy = malloc(core->bytes);
    memcpy(copy, core, core->bytes);
    int status = s->c->protocol->step(copy, &e, &fx);
    free(copy);
    return status >= 0 && fx.count > 0;
}

static uint32_t steps_of(const struct setup *s, const struct world *w, struct step *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->net.count; i++) {
        const struct frame *f = w->net.at[i];
        const struct proc *p = &w->p[who_of(f->to)];
        if (p->core && p->inc == f->to_inc && frame_first(s, w, i)) out[n++] = (struct step){'f', who_of(f->to), i};
        else if (f->to_inc < w->inc[who_of(f->to)] && p->core && p->inc > f->to_inc) out[n++] = (struct step){'d', 0, i};
    }
    for (uint32_t i = 0; i <= WORLD_RANKS; i++) {
        const struct proc *p = &w->p[i];
        bool there = i < s->ranks || (i == WORLD_RANKS && s->c->recovery);
        if (!there) continue;
        if (!p->core) {
            out[n++] = (struct step){'r', i, 0};
            continue;
        }
        if (p->seen < w->re) out[n++] = (struct step){'t', i, p->seen + 1};
        if (p->storing) out[n++] = (struct step){'s', i, 0};
        if (p->deciding) out[n++] = (struct step){'p', i, 0};
        for (uint32_t from = 0; i < s->ranks && from < s->ranks; from++)
            if (app_can(s, w, i, from)) out[n++] = (struct step){'a', i, from};
        if (i < s->ranks && idle_does(s, w, i)) out[n++] = (struct step){'i', i, 0};
    }
    for (uint32_t k = 0; s->c->fails[k]; k++) {
        bool earlier = k > 0 && !(w->failed & 1u << (k - 1));
        uint32_t who = s->c->fails[k] == 'r' ? WORLD_RANKS : (uint32_t)(s->c->fails[k] - '0');
        if (w->failed & 1u << k || earlier || !w->p[who].core || (w->down && !s->c->overlap)) continue;
        out[n++] = (struct step){'x', who, k};
    }
    return n;
}

static void step_take(struct setup *s, struct world *w, struct step step)
{
    struct proc *p = &w->p[step.who];
    struct hark_event e = {.type = HARK_ARRIVE};
    switch (step.what) {
    case 'f': {
        struct frame f;
        frame_take(&f, w->net.at[step.index]);
        list_drop(&w->net, step.index);
        e.u.frame.header = (struct hark_bytes){f.header, f.length};
        core_step(s, w, step.who, &e, &f, NULL);
        break;
    }
    case 'd': list_drop(&w->net, step.index); break;
    case 'a': app_step(s, w, step.who, step.index); break;
    case 't': tell(s, w, step.who, step.index); break;
    case 's':
        e.type = HARK_STORED;
        e.u.stored.of = HARK_CAPTURE;
        e.u.stored.ok = 1;
        e.u.stored.id = p->store_id;
        p->storing = 0;
        core_step(s, w, step.who, &e, NULL, NULL);
        break;
    case 'p': answer_persist(s, w, step.who); break;
    case 'i':
        e.type = HARK_IDLE;
        e.u.idle.stable = next_op(s, w, step.who)->what == 'O';
        core_step(s, w, step.who, &e, NULL, NULL);
        break;
    case 'r': restart(s, w, step.who); break;
    default: crash(s, w, step.index); break;
    }
}

/* Nothing can happen any more: is everything as it should be? */
static void check_final(const struct setup *s, const struct world *w)
{
    for (uint32_t i = 0; i < s->ranks; i++) {
        if (next_op(s, w, i)->what != 0) violate("I8: a process waits for ever");
        uint64_t sum = 0, n = 0;
        for (uint32_t k = 0; k < s->ranks; k++) {
            uint64_t ssn = 0;
            for (uint32_t o = 0; s->op[k][o].what; o++)
                if (s->op[k][o].what == 'S' && s->op[k][o].peer == (int)i && s->op[k][o].part < 2) ssn++, sum += (k + 1) * 1000 + i * 100 + ssn, n++;
        }
        if (!broken && w->p[i].app.sum != sum) violate("I4: the final state is not that of a failure-free run");
    }
    if (w->net.count) violate("frames remain that nobody can take");
    if (w->down) violate("recovery never ends");
    for (uint32_t i = 0; i < s->ranks; i++) {
        if (w->p[i].held.count) violate("frames are held for ever");
        const char *why = s->c->at_end && w->p[i].core ? s->c->at_end(w->p[i].core) : NULL;
        if (why) violate(why);
    }
}

static struct world *world_make(struct setup *s)
{
    struct world *w = calloc(1, sizeof *w);
    for (uint32_t i = 0; i < s->ranks; i++) core_make(s, w, i);
    if (s->c->recovery) core_make(s, w, WORLD_RANKS);
    return w;
}

static void describe(const struct world *w, struct step step, char *out, size_t n)
{
    static const char *const types[] = {"APP", "ASK", "COUNT", "PREPARE", "MARK", "FROZEN", "EXPECT", "READY", "COMMIT",
        "ABORT", "WISH", "", "", "", "", "", "POS", "ORPH", "REPORT", "RELEASE", "NOTIFY", "DRAINED", "RECDONE", "GC"};
    static const char *const scmel[] = {"ACK", "SPREAD", "DETS", "READY", "DONE"};
    if (step.what == 'f') {
        const struct frame *f = w->net.at[step.index];
        uint8_t type = f->header[1];
        snprintf(out, n, "%d gets %s from %d ssn %llu\n", (int)f->to, type < HARK_COUNT(types) ? types[type] : "?",
            (int)f->from, (unsigned long long)hark_get64(f->header + 24));
        if (f->header[0] == 5 && type >= 16 && type - 16u < HARK_COUNT(scmel))
            snprintf(out, n, "%d gets %s from %d\n", (int)f->to, scmel[type - 16], (int)f->from);
    } else {
        snprintf(out, n, "%c %u %u\n", step.what, step.who, step.index);
    }
}

/* ---- searches ----------------------------------------------------------------------------------------------------- */

struct node {
    struct world *w;
    struct hash hash;
    uint32_t parent;
    uint32_t below; /* in the stack of a search into depth, index + 1 */
    struct step step;
    int depth;
};
struct search {
    struct node *node;
    uint32_t count, room, top;
    uint32_t *table;
    uint32_t slots;
};

static bool search_add(struct search *q, struct world *w, struct hash h, uint32_t parent, struct step step, int depth)
{
    if (q->count * 2 >= q->slots) {
        q->slots = q->slots ? q->slots * 2 : 1 << 12;
        free(q->table);
        q->table = calloc(q->slots, sizeof *q->table);
        for (uint32_t i = 0; i < q->count; i++) {
            uint32_t at = (uint32_t)q->node[i].hash.a & (q->slots - 1);
            while (q->table[at]) at = (at + 1) & (q->slots - 1);
            q->table[at] = i + 1;
        }
    }
    uint32_t at = (uint32_t)h.a & (q->slots - 1);
    for (; q->table[at]; at = (at + 1) & (q->slots - 1)) {
        const struct node *x = &q->node[q->table[at] - 1];
        if (x->hash.a == h.a && x->hash.b == h.b) return false;
    }
    if (q->count == q->room) {
        q->room = q->room ? q->room * 2 : 1024;
        q->node = realloc(q->node, q->room * sizeof *q->node);
    }
    q->table[at] = q->count + 1;
    q->node[q->count++] = (struct node){w, h, parent, q->top, step, depth};
    q->top = q->count;
    return true;
}

static bool search_pop(struct search *q, uint32_t *i)
{
    if (q->top == 0) return false;
    *i = q->top - 1;
    q->top = q->node[*i].below;
    return true;
}

static void search_path(struct setup *s, const struct search *q, uint32_t from, struct world_result *r)
{
    struct step path[400];
    int n = 0;
    for (uint32_t i = from; i != 0 && n < 400; i = q->node[i].parent) path[n++] = q->node[i].step;
    r->depth = n;
    struct world *w = world_make(s);
    size_t used = 0;
    const char *keep = broken;
    while (n-- > 0) {
        char line[128];
        describe(w, path[n], line, sizeof line);
        step_take(s, w, path[n]);
        size_t l = strlen(line);
        if (used + l + 1 < sizeof r->path) memcpy(r->path + used, line, l + 1), used += l;
    }
    world_free(w);
    broken = keep;
}

struct world_result world_search(const struct world_config *config, uint64_t limit)
{
    struct setup s;
    struct search q = {0};
    struct world_result r = {0};
    setup_make(&s, config);
    broken = NULL;
    struct world *first = world_make(&s);
    search_add(&q, first, world_hash(&s, first), 0, (struct step){0, 0, 0}, 0);
    for (uint32_t done = 0, i = 0; !broken && (config->deep ? search_pop(&q, &i) : (i = done) < q.count); done++) {
        struct step step[WORLD_FRAMES * 2];
        struct world *w = q.node[i].w;
        uint32_t n = steps_of(&s, w, step), crashes = 0;
        for (uint32_t k = 0; k < n && !broken; k++) {
            struct world *next = world_copy(w);
            if (step[k].what == 'x') crashes++;
            step_take(&s, next, step[k]);
            struct hash h = world_hash(&s, next);
            if (broken) h.b ^= UINT64_MAX; /* a state of its own, so that it has a path */
            if (!search_add(&q, next, h, i, step[k], q.node[i].depth + 1)) world_free(next);
            else if (broken) search_path(&s, &q, q.count - 1, &r);
        }
        if (n == crashes && !broken) {
            check_final(&s, w);
            r.finals++;
            if (broken) search_path(&s, &q, i, &r);
        }
        world_free(w);
        q.node[i].w = NULL;
        if (limit && q.count > limit) break;
    }
    r.states = q.count;
    r.violated = broken;
    for (uint32_t i = 0; i < q.count; i++)
        if (q.node[i].w) world_free(q.node[i].w);
    free(q.node);
    free(q.table);
    return r;
}

struct world_result world_walk(const struct world_config *config, uint64_t seed, int walks)
{
    struct setup s;
    struct world_result r = {0};
    uint64_t x = seed * 2 + 1;
    setup_make(&s, config);
    broken = NULL;
    for (int walk = 0; walk < walks && !broken; walk++) {
        struct world *w = world_make(&s);
        size_t used = 0;
        for (int depth = 0; !broken; depth++) {
            struct step step[WORLD_FRAMES * 2];
            uint32_t n = steps_of(&s, w, step), crashes = 0;
            for (uint32_t k = 0; k < n; k++) crashes += step[k].what == 'x';
            if (n == crashes) check_final(&s, w);
            if (depth == WORLD_STEPS) violate("the steps never end");
            if (n == 0 || broken) break;
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            char line[128];
            struct step chosen = step[x % n];
            describe(w, chosen, line, sizeof line);
            step_take(&s, w, chosen);
            size_t l = strlen(line);
            if (used + l + 1 < sizeof r.path) memcpy(r.path + used, line, l + 1), used += l;
            r.depth = depth + 1;
            r.states++;
        }
        r.finals++;
        world_free(w);
    }
    r.violated = broken;
    return r;
}
