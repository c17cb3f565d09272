/* play.h: what happens next in a world: as it should be, or as nobody would do it. */
#ifndef HARK_TEST_FUZZ_PLAY_H
#define HARK_TEST_FUZZ_PLAY_H

#include "world.h"

enum { PLAY_HEADER = 2048 };

static inline uint32_t play_rank(struct choices *c)
{
    uint8_t b = choose(c);
    return b < 0xf0 ? b % WORLD_RANKS : b < 0xf8 ? HARK_RECOVERY : (uint32_t)choose_bytes(c, 4);
}

static inline uint16_t play_ctx(struct choices *c)
{
    uint8_t b = choose(c);
    return b < 0xf0 ? b % 3 : (uint16_t)choose_bytes(c, 2);
}

static inline void play_put(uint8_t *b, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) b[i] = (uint8_t)(v >> (8 * i));
}

/* Changes a few fields of a frame, or its length; returns the new length. */
static inline uint32_t play_mutate(struct choices *c, uint8_t *b, uint32_t length)
{
    for (unsigned edits = 1 + choose(c) % 3; edits > 0; edits--) {
        uint8_t what = choose(c);
        if (length < HARK_WIRE_HEAD) return length;
        switch (what % 8) {
        case 0: b[1] = choose(c); break;
        case 1: play_put(b + 2, play_ctx(c), 2); break;
        case 2: play_put(b + 4, play_rank(c), 4); break;
        case 3: play_put(b + 12 + 4 * (what / 8 % 3), choose_number(c), 4); break;
        case 4: play_put(b + 24, choose_number(c), 8); break;
        case 5: length = choose(c) % 8 ? length - choose(c) % 32 : length + choose(c) % 64; break;
        default: {
            uint32_t at = HARK_WIRE_HEAD + choose(c) * 4u % (length - HARK_WIRE_HEAD + 1);
            unsigned bytes = what & 8 ? 8 : 4;
            if (at + bytes <= length) play_put(b + at, choose_number(c), bytes);
        }
        }
    }
    return length < PLAY_HEADER ? length : PLAY_HEADER;
}

/* A frame out of nothing to process `who`: its head is mostly one that will be looked at. */
static inline uint32_t play_frame(struct world *w, uint32_t who, uint8_t *b)
{
    struct choices *c = &w->c;
    static const uint8_t lengths[] = {
        0, 4, 8, 12, 16, 24, 32, 40, 48, 56, 64, 80, 96, 104, 136, 200};
    uint8_t type = choose(c), what = choose(c);
    uint32_t src = play_rank(c), known = src < WORLD_RANKS ? src : WORLD_RANKS,
             length = lengths[what % 16];
    struct hark_head h = {(uint8_t)(w->protocol->kind), type < 0xf0 ? type % 25 : type, play_ctx(c),
        src, who < WORLD_RANKS ? who : HARK_RECOVERY, w->inc[known], w->inc[who], w->re, 0};
    if (h.type == HARK_APP || what & 0x80) h.ssn = choose_number(c);
    if ((what & 0x70) == 0x70)
        h.src_inc += choose(c) % 3 - 1u, h.dst_inc += choose(c) % 3 - 1u,
            h.re += choose(c) % 3 - 1u;
    hark_head_put(b, &h);
    for (uint32_t at = 0; at + 4 <= length;) { /* the first word is a pair of small numbers in many
                                                  frames */
        unsigned bytes = at == 0 ? 4 : choose(c) & 1 && at + 8 <= length ? 8 : 4;
        play_put(b + HARK_WIRE_HEAD + at, choose_number(c), bytes);
        at += bytes;
    }
    if (what & 8 && length >= 4)
        play_put(b + HARK_WIRE_HEAD, (uint64_t)(choose(c) % 4) << 16 | choose(c) % 4, 4);
    return HARK_WIRE_HEAD + length;
}

/* FAILED as no failure service would say it. */
static inline void play_failed(struct world *w, uint32_t who)
{
    struct choices *c = &w->c;
    uint32_t down[4];
    struct hark_incarnation inc[4];
    struct hark_decision wave[4];
    struct hark_event e = {.type = HARK_FAILED};
    e.u.failed.re = w->re + choose(c) % 4 - 1u;
    e.u.failed.down_count = choose(c) % 5;
    e.u.failed.inc_count = choose(c) % 5;
    e.u.failed.wave_count = choose(c) % 5;
    for (unsigned i = 0; i < 4; i++) {
        down[i] = i < WORLD_RANKS && choose(c) % 4 ? i : play_rank(c);
        inc[i] = (struct hark_incarnation){
            i < WORLD_RANKS && choose(c) % 4 ? i : play_rank(c), (uint32_t)choose_number(c)};
        wave[i] = (struct hark_decision){play_rank(c), 0, choose_number(c)};
    }
    /* In memory of just that length; a count without a list is refused. */
    uint32_t *d = exactly(down, e.u.failed.down_count * sizeof *d);
    struct hark_incarnation *n = exactly(inc, e.u.failed.inc_count * sizeof *n);
    struct hark_decision *v = exactly(wave, e.u.failed.wave_count * sizeof *v);
    uint8_t none = choose(c);
    e.u.failed.down = none % 16 == 1 ? NULL : d;
    e.u.failed.inc = none % 16 == 2 ? NULL : n;
    e.u.failed.wave = none % 16 == 3 ? NULL : v;
    world_step(w, who, &e);
    free(d);
    free(n);
    free(v);
}

/* RESTARTED with an image that was changed, or of another process; perhaps of a core that is not
 * new. */
static inline void play_restarted(struct world *w, uint32_t who)
{
    struct choices *c = &w->c;
    struct hark_event e = {.type = HARK_RESTARTED};
    uint8_t how = choose(c), *image = NULL, kept[64];
    uint32_t length = 0;
    if (how & 1 && w->core[who].p) world_new(w, who);
    if (w->images) {
        const struct world_image *from = &w->image[choose(c) % w->images];
        image = exactly(from->bytes, from->length);
        length = from->length;
        for (unsigned edits = choose(c) % 4; edits > 0; edits--) {
            uint32_t at = (uint32_t)choose_bytes(c, 2) % length;
            unsigned bytes = choose(c) & 1 ? 8 : 4;
            if (at + bytes <= length) play_put(image + at, choose_number(c), bytes);
        }
        if (how & 2) length -= choose(c) % length;
    }
    for (size_t i = 0; i < sizeof kept; i++) kept[i] = choose(c);
    e.u.restarted.checkpoint = how & 4 ? choose_number(c) : 1;
    e.u.restarted.re = w->re + (how & 8 ? choose(c) % 3 - 1u : 0);
    e.u.restarted.inc = w->inc[who] + (how & 16 ? choose(c) % 3 : 0);
    e.u.restarted.image = (struct hark_bytes){image, length};
    e.u.restarted.old_core = (struct hark_bytes){kept, sizeof kept};
    world_step(w, who, &e);
    free(image);
}

/* Clusters that are none, or others than those of everybody else. */
static inline void play_recluster(struct world *w, uint32_t who)
{
    struct hark_range r[2] = {{0, 0}, {0, 0}};
    struct hark_event e = {.type = HARK_RECLUSTER};
    e.u.recluster.cluster_count = choose(&w->c) % (HARK_COUNT(r) + 1);
    for (uint32_t i = 0; i < e.u.recluster.cluster_count; i++)
        r[i].first = play_rank(&w->c), r[i].last = play_rank(&w->c);
    struct hark_range *own = exactly(r, e.u.recluster.cluster_count * sizeof *r);
    e.u.recluster.cluster = own;
    world_step(w, who, &e);
    free(own);
}

/* Too little room for effects: refused, whatever the event. */
static inline void play_tight(struct world *w, uint32_t who, const struct hark_event *e)
{
    struct hark_effects fx = world_room();
    uint8_t how = choose(&w->c);
    if (how & 1) fx.room = how / 2 % HARK_EFFECTS_ROOM;
    else fx.bytes_room = HARK_EFFECTS_BYTES + HARK_EFFECTS_ROOM * WORLD_SPARE - 1 - how;
    if (w->core[who].p == NULL) return;
    int status = world_call(w, &w->core[who], e, &fx);
    if (status != HARK_ENOROOM && status != HARK_ESTATE)
        finding("%s: too little room, and it answers %d", w->protocol->name, status);
}

static inline void play_illegal(struct world *w, uint32_t who, uint8_t what)
{
    struct choices *c = &w->c;
    uint8_t b[PLAY_HEADER + 64] = {0};
    uint32_t length;
    struct hark_event e = {0};
    switch (what % 11) {
    case 0:
    case 1:
    case 2:
        length = play_frame(w, who, b);
        world_frame_step(w, who, HARK_ARRIVE, b, length);
        break;
    case 3:
    case 4: { /* a frame that somebody sent, or was handed up, changed; anywhere, as anything */
        uint8_t which = choose(c);
        const struct world_frame *f = which & 1 ? w->flight : w->up;
        uint32_t n = which & 1 ? w->flights : w->ups;
        if (n == 0) break;
        f += which / 2 % n;
        length = f->length < PLAY_HEADER ? f->length : PLAY_HEADER;
        memcpy(b, f->header, length);
        length = play_mutate(c, b, length);
        world_frame_step(w, what & 0x80 ? who : f->who,
            choose(c) % 4 ? HARK_ARRIVE
            : what & 0x40 ? HARK_LOOK
                          : HARK_DELIVER,
            b, length);
        break;
    }
    case 5:
        length = play_frame(w, who, b);
        world_frame_step(w, who, what & 0x80 ? HARK_LOOK : HARK_DELIVER, b, length);
        break;
    case 6:
        e.type = HARK_STORED;
        e.u.stored.of = choose(c) % 3 ? choose(c) & 1 ? HARK_CAPTURE : HARK_PERSIST : choose(c);
        e.u.stored.fact = choose(c) % 6;
        e.u.stored.ok = choose(c) % 3 != 0;
        e.u.stored.id = choose_number(c);
        world_step(w, who, &e);
        break;
    case 7: play_failed(w, who); break;
    case 8: play_restarted(w, who); break;
    case 9:
        e.type = choose(c);
        if (e.type == HARK_ARRIVE || e.type == HARK_DELIVER || e.type == HARK_LOOK)
            e.type = HARK_CONTINUE;
        if (e.type == HARK_FAILED || e.type == HARK_RESTARTED) e.type = HARK_COMBINED;
        e.u.send.peer = play_rank(c);
        e.u.send.to = choose(c) % 4 ? HARK_PROCESS : choose(c);
        e.u.send.ctx = play_ctx(c);
        e.u.send.length = choose_number(c);
        if (e.type == HARK_RECLUSTER) {
            play_recluster(w, who);
            break;
        }
        if (e.type == HARK_CHECKPOINT_POINT)
            e.u.point.due = choose(c) & 1; /* a bool has no third value */
        if (e.type == HARK_IDLE) e.u.idle.stable = choose(c) & 1;
        world_step(w, who, &e);
        break;
    default:
        e.type = choose(c) % (HARK_RECLUSTER + 1);
        if (e.type == HARK_ARRIVE || e.type == HARK_DELIVER || e.type == HARK_LOOK)
            e.type = HARK_IDLE;
        if (e.type == HARK_FAILED || e.type == HARK_RESTARTED) e.type = HARK_IDLE;
        play_tight(w, who, &e);
    }
}

static inline void play_send(struct world *w, uint32_t who, uint8_t what)
{
    struct hark_event e = {.type = HARK_SEND};
    uint8_t to = choose(&w->c);
    e.u.send.peer = to % WORLD_RANKS;
    e.u.send.ctx = to / WORLD_RANKS % 2;
    e.u.send.length = what;
    e.u.send.digest = choose(&w->c);
    if (w->config.group_count && to & 0x80) {
        e.u.send.to = HARK_GROUP;
        e.u.send.peer = e.u.send.ctx = (uint16_t)(1 + to % w->config.group_count);
        if (to & 0x40) who = 0; /* the root */
    }
    uint32_t times = what < 0xf8            ? 1
                     : choose(&w->c) & 0x80 ? 130
                                            : 20; /* then on so many contexts */
    for (; times > 0 && !w->stop; times--, e.u.send.ctx++) world_step(w, who, &e);
}

/* One step as it should be. */
static inline void play_legal(struct world *w, uint32_t who, uint8_t what)
{
    struct choices *c = &w->c;
    struct hark_event e = {0};
    uint32_t i;
    switch (what % 14) {
    case 0:
    case 1:
    case 2: play_send(w, who, what); break;
    case 3:
    case 4:
    case 5:
    case 6: {
        if (w->flights == 0) break;
        i = choose(c) % w->flights;
        struct world_frame f = w->flight[i];
        w->flight[i] = w->flight[--w->flights];
        world_frame_step(w, f.who, HARK_ARRIVE, f.header, f.length);
        free(f.header);
        break;
    }
    case 7:
    case 8: {
        if (w->ups == 0) break;
        const uint8_t which = choose(c);
        i = which % w->ups;
        struct world_frame f = w->up[i];
        if (which & 0x80) {
            world_frame_step(w, f.who, HARK_LOOK, f.header, f.length);
            break;
        }
        w->up[i] = w->up[--w->ups];
        if (world_frame_step(w, f.who, HARK_DELIVER, f.header, f.length) == HARK_WAIT)
            world_frame_add(w->up, &w->ups, f.who, f.header, f.length);
        free(f.header);
        break;
    }
    case 9:
        e.type = HARK_CHECKPOINT_POINT;
        e.u.point.due = choose(c) & 1;
        world_step(w, who, &e);
        break;
    case 10:
        if (w->facts == 0) break;
        i = choose(c) % w->facts; /* first: arguments have no order */
        world_stored(w, i, choose(c) % 8 != 0);
        break;
    case 11:
        if (choose(c) % 3 == 0) world_fail(w, who);
        else world_told(w, who);
        break;
    case 12:
        if (w->core[who].gone) world_restart(w, who);
        else e.type = HARK_MISS, world_step(w, who, &e);
        break;
    default:
        if (w->combines) {
            world_combined(w, choose(c) % w->combines);
            break;
        }
        if (w->config.flags & HARK_WAVES_ALL && w->protocol->traits & HARK_TRAIT_RECLUSTERS &&
            choose(c) & 1) {
            world_recluster(w, who);
            break;
        }
        e.type = choose(c) & 1 ? HARK_IDLE : HARK_QUIET;
        e.u.idle.stable = choose(c) & 1;
        world_step(w, who, &e);
    }
}

/* Goes on until the choices are used up. */
static inline void play(struct world *w)
{
    while (w->c.left > 0 && !w->stop) {
        uint8_t what = choose(&w->c), who = choose(&w->c);
        uint32_t number = who % world_processes(w);
        if (what & 0xc0 || (who & 0x80) == 0)
            play_legal(w, number, what & 0x3f ? what : (uint8_t)(what + who));
        else play_illegal(w, number, what);
    }
}

#endif
