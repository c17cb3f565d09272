/* core.c: events to a core, and what its effects do. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "parts.h"

enum { LARGE = 2 << 20 };

void sim_fail(struct sim *s, const char *format, ...)
{
    va_list list;
    if (s->failed) return;
    s->failed = true;
    va_start(list, format);
    vsnprintf(s->error, (size_t)SIM_ERROR * 4, format, list);
    va_end(list);
}

void sim_no_memory(struct sim *s)
{
    sim_fail(s, "no memory");
}

const struct hark_protocol *sim_protocol(const struct sim *s, uint32_t who)
{
    return who == s->ranks ? s->recovery : s->protocol;
}

void sim_too_long(struct sim *s)
{
    sim_fail(s, "this would take more than 146 years of simulated time, beyond what is counted");
}

void sim_too_much(struct sim *s)
{
    sim_fail(s, "messages of more than 2^63 bytes in all, beyond what is counted: expected fewer "
                "iterations or shorter messages");
}

/* ---- frames ---------------------------------------------------------------------------------- */

static bool more_frames(struct sim *s)
{
    struct sim_frame **piece = realloc(s->piece, ((size_t)s->pieces + 1) * sizeof *piece);
    if (piece == NULL) return false;
    s->piece = piece;
    uint64_t bytes = SIM_SLOTS * sizeof(struct sim_frame);
    struct sim_frame *f =
        s->frames + SIM_SLOTS > 0xfffffff ? NULL : sim_arena_take(&s->arena, &bytes);
    if (f == NULL) return false;
    s->piece[s->pieces++] = f;
    for (uint32_t i = SIM_SLOTS; i-- > 0;) {
        f[i].next = s->free_frame;
        s->free_frame = s->frames + i;
    }
    s->frames += SIM_SLOTS;
    return true;
}

bool sim_frames_more(struct sim *s)
{
    const bool there = more_frames(s);
    if (!there) sim_no_memory(s);
    return there;
}

bool sim_frame_write(struct sim *s, struct sim_frame *f, const uint8_t *at, uint32_t length)
{
    f->header_length = length & INT32_MAX;
    f->logged = 0;
    if (length > SIM_HEADER) {
        uint64_t bytes = length;
        f->header.far = sim_arena_take(&s->arena, &bytes);
        if (f->header.far == NULL) {
            f->header_length = 0;
            sim_no_memory(s);
            return false;
        }
        memcpy(f->header.far, at, length);
    } else {
        memcpy(f->header.bytes, at, length);
    }
    return true;
}

uint32_t sim_frame_copy(struct sim *s, uint32_t frame)
{
    uint32_t copy = sim_frame_new(s);
    if (copy == SIM_NONE) return copy;
    struct sim_frame *f = sim_frame(s, copy), *from = sim_frame(s, frame);
    *f = *from;
    f->next = SIM_NONE;
    (void)sim_frame_write(s, f, sim_header(from), from->header_length);
    f->logged = from->logged;
    return copy;
}

void sim_list_add(struct sim *s, struct sim_list *l, uint32_t frame)
{
    sim_frame(s, frame)->next = SIM_NONE;
    if (l->head == SIM_NONE) l->head = frame;
    else sim_frame(s, l->tail)->next = frame;
    l->tail = frame;
}

void sim_list_drop(struct sim *s, struct sim_list *l)
{
    for (uint32_t f = l->head, next; f != SIM_NONE; f = next) {
        next = sim_frame(s, f)->next;
        sim_frame_give(s, f);
    }
    l->head = l->tail = SIM_NONE;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* What the heap has grown by may come in large pages, before it is touched; who can not have them
 * goes on without. */
static void large_pages(struct sim *s)
{
    uintptr_t end = (uintptr_t)sbrk(0), from = (s->heap_end + LARGE - 1) / LARGE * LARGE;
    if (end == s->heap_end) return;
    s->heap_end = end;
    if (end > from) (void)madvise((void *)from, end - from, MADV_HUGEPAGE);
}

/* The block becomes as large as it must be. Blocks are malloc's: all grow at
 * about the same time, and holes beside each other become one that the next can have. */
static bool grow(struct sim *s, struct sim_process *p)
{
    uint64_t had = p->core->bytes, bytes = (hark_wants(p->core, NULL) + 1) / 2;
    if (bytes <= had) bytes = had + had / 8;
    bytes = (bytes + 15) & ~UINT64_C(15);
    struct hark *core = realloc(p->core, bytes);
    large_pages(s);
    if (core == NULL) {
        sim_no_memory(s);
        return false;
    }
    p->core = core;
    s->block_bytes += bytes - had;
    if (bytes > s->block_most) s->block_most = bytes;
    return hark_grow(core, bytes) == HARK_OK;
}

void sim_core_free(struct sim *s, struct sim_process *p)
{
    if (p->core) s->block_bytes -= p->core->bytes;
    free(p->core);
    p->core = NULL;
}

static const uint32_t *team_of; /* while members are sorted */

static int compare_teams(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (team_of[x] != team_of[y]) return team_of[x] < team_of[y] ? -1 : 1;
    return (x > y) - (x < y);
}

/* Each team is one piece of the tree. */
static void by_teams(const uint32_t *of, struct hark_group *t, uint32_t *parent)
{
    uint32_t *member = parent - t->count;
    team_of = of;
    qsort(member + 1, t->count - 1, sizeof *member, compare_teams);
    (void)hark_tree_teams(member, t->count, t->root, of, parent);
}

/* The trees of the process, as its core wants them. */
static bool add_trees(struct sim *s, uint32_t who, struct hark_config *c)
{
    const struct sim_pattern *p = s->pattern;
    uint32_t trees = 0, ranks = 0, n;
    uint16_t ctx;
    while ((n = p->maker->group(p, who, trees, &ctx, NULL, 0)) != 0 &&
           (p->reduces || ctx <= p->casts)) { /* those of reductions are last */
        trees++;
        ranks += n;
    }
    struct hark_group *tree = realloc(s->tree, ((size_t)trees + 1) * sizeof *tree);
    if (tree) s->tree = tree;
    uint32_t *rank = realloc(s->tree_rank, ((size_t)ranks + 1) * 2 * sizeof *rank);
    if (rank) s->tree_rank = rank;
    if (tree == NULL || rank == NULL) return false;
    for (uint32_t i = 0; i < trees; i++, rank += 2 * (size_t)n) {
        n = p->maker->group(p, who, i, &ctx, rank, UINT32_MAX);
        tree[i] = (struct hark_group){.ctx = ctx,
            .reduces = ctx > p->casts,
            .root = rank[0],
            .member = rank,
            .parent = rank + n,
            .count = n};
        if (hark_service_by_cluster(s->protocol) && s->pattern->reduces)
            by_teams(s->o->clusters->of, &tree[i], rank + n);
        else if (s->pattern->branches)
            (void)hark_tree_kary(rank, n, rank[0], s->pattern->branches, rank + n);
        else (void)hark_tree_binomial(rank, n, rank[0], rank + n);
    }
    c->groups = tree;
    c->group_count = trees;
    return true;
}

void sim_core_new(struct sim *s, uint32_t who)
{
    struct sim_process *p = &s->p[who];
    struct hark_config c = s->o->core;
    c.me = who == s->ranks ? HARK_RECOVERY : who;
    c.ranks = s->ranks;
    c.generations = s->o->generations;
    if (s->waves_all) c.flags |= HARK_WAVES_ALL;
    if (s->o->copy) c.flags |= HARK_IMAGES_COPIED;
    if (who < s->ranks && hark_service_by_cluster(s->protocol)) {
        uint32_t g = s->o->clusters->of[who];
        c.cluster = s->range + s->cluster_range[g];
        c.cluster_count = s->cluster_range[g + 1] - s->cluster_range[g];
    }
    if (who < s->ranks && hark_service_by_line(s->protocol)) /* farther apart than a run is long
                                                                (U-8) */
        c.epoch = 1 + (uint64_t)s->o->clusters->of[who] * ((uint64_t)s->o->iterations + 2);
    if (who < s->ranks && s->pattern->groups && !add_trees(s, who, &c)) {
        sim_no_memory(s);
        return;
    }
    const struct hark_protocol *protocol = sim_protocol(s, who);
    uint64_t bytes = protocol->size(&c);
    if (bytes == 0) {
        sim_fail(s, "%s does not take this configuration", protocol->name);
        return;
    }
    sim_core_free(s, p);
    struct hark *core = sim_arena_take(&s->arena, &bytes);
    if (core == NULL) {
        sim_no_memory(s);
        return;
    }
    if (protocol->init(core, bytes, &c) != HARK_OK)
        sim_fail(s, "%s does not take this configuration", protocol->name);
    else if (core->used % 8) /* tables in it would not be aligned */
        sim_fail(s, "%s: the block of process %u is %llu bytes long, expected a multiple of 8",
            protocol->name, who, (unsigned long long)core->used);
    if (s->failed) return;
    p->core = malloc(core->used); /* more comes when it is needed: there may be a million of these
                                   */
    if (p->core) {
        memcpy(p->core, core, core->used);
        (void)hark_grow(p->core, core->used);
        s->block_bytes += core->used;
        if (core->used > s->block_most) s->block_most = core->used;
    } else {
        sim_no_memory(s);
    }
    sim_arena_give(&s->arena, core, bytes);
}

/* ---- effects --------------------------------------------------------------------------------- */

static void count_frame(struct sim *s, const struct hark_transmit *x)
{
    struct sim_result *r = s->r;
    if (x->header.at[1] == HARK_APP) {
        r->piggyback_bytes += x->header.length - HARK_WIRE_HEAD;
        r->determinants_piggybacked += x->determinants;
        r->replayed += x->replay;
        if (x->replay && r->recoveries) r->recovery[r->recoveries - 1].replayed++;
        return;
    }
    r->control++;
    r->control_bytes += x->header.length;
    if (s->traffic) r->recovery[r->recoveries - 1].frames++;
}

/* Is it what is being posted? */
static inline bool is_posted(const struct sim *s, const struct hark_name *name)
{
    return name->peer == s->posted.peer && name->ctx == s->posted.ctx && name->to == s->posted.to;
}

/* The length of what has just arrived, and goes on from here. */
static uint64_t passed_on(struct sim *s, uint32_t who, const struct hark_transmit *x, uint32_t in)
{
    const struct sim_frame *f = in == SIM_NONE ? NULL : sim_frame(s, in);
    if (f && sim_is_of(s, f, x->name.peer, x->name.ctx) && sim_ssn(f) == x->name.ssn)
        return f->length;
    sim_fail(s, "process %u passes on message %llu of %u, which has not come now", who,
        (unsigned long long)x->name.ssn, x->name.peer);
    return 0;
}

/* `in`: the frame that arrives, or SIM_NONE. */
static inline void transmit(struct sim *s, uint32_t who, const struct hark_transmit *x, uint32_t in)
{
    struct sim_process *p = &s->p[who];
    uint32_t to = x->peer == HARK_RECOVERY ? s->ranks : x->peer, frame = sim_frame_new(s);
    if (frame == SIM_NONE) return;
    struct sim_frame *f = sim_frame(s, frame);
    f->length = 0;
    f->next = SIM_NONE;
    if (x->name.ssn) {
        bool group = x->name.to == HARK_GROUP;
        if (x->name.way == HARK_IN && !group) f->length = passed_on(s, who, x, in);
        else if (group && sim_log_entry(&p->log, &x->name, x->name.ssn, &f->length)) /* as it was
                                                                                        posted, or
                                                                                        combined */
            (void)0;
        else if (s->posting && is_posted(s, &x->name) && !x->replay) f->length = s->posted_length;
        else if (!sim_log_entry(&p->log, &x->name, x->name.ssn, &f->length))
            sim_fail(s,
                "I9: process %u is to send message %llu to %u again, which its log does not hold",
                who, (unsigned long long)x->name.ssn, x->name.peer);
    }
    if (!sim_frame_write(s, f, x->header.at, x->header.length)) return;
    count_frame(s, x);
    p->control_out += x->header.at[1] != HARK_APP;
    if (to == who) { /* the result of a reduction */
        sim_put(s, s->clock, SIM_WHAT(EVENT_WHOLE, frame, to));
        return;
    }
    sim_leave(s, who, frame, to);
}

void sim_count_logged(struct sim *s, uint8_t part, uint64_t length)
{
    struct sim_result *r = s->r;
    r->logged++;
    sim_sum(s, &r->logged_bytes, length);
    r->part[part].logged++;
    r->part[part].logged_bytes += length;
}

bool sim_log_more(
    struct sim *s, struct sim_process *p, const struct hark_name *key, uint64_t length)
{
    struct sim_result *r = s->r;
    if (!sim_log_retain(s, &p->log, key, length)) return false;
    sim_sum(s, &s->log_bytes, length);
    if (s->log_bytes > r->log_bytes_peak) r->log_bytes_peak = s->log_bytes;
    if (p->log.bytes > r->log_bytes_most) r->log_bytes_most = p->log.bytes;
    return true;
}

static void log_less(struct sim *s, struct sim_process *p, const struct hark_name *key)
{
    uint64_t before = p->log.bytes;
    sim_log_trim(&p->log, key);
    s->log_bytes -= before - p->log.bytes;
}

/* What combined is, takes the place of what was posted. */
static void log_made(
    struct sim *s, struct sim_process *p, const struct hark_name *name, uint64_t length)
{
    struct hark_name posted = sim_log_key(name, false), made = sim_log_key(name, true);
    if (!sim_log_more(s, p, &made, length)) return;
    if (name->way == HARK_OUT) log_less(s, p, &posted);
    if (name->way == HARK_IN) sim_count_logged(s, SIM_REDUCTION, length); /* what all gave */
}

/* `in`: the frame that arrives: a contribution, or what all gave; or SIM_NONE. */
static void retain(struct sim *s, uint32_t who, const struct hark_name *name, uint32_t in)
{
    struct sim_process *p = &s->p[who];
    struct hark_name key = sim_log_key(name, false);
    if (in != SIM_NONE && name->to == HARK_GROUP) {
        log_made(s, p, name, sim_frame(s, in)->length);
    } else if (in != SIM_NONE && name->way == HARK_IN) {
        (void)sim_log_more(s, p, &key, sim_frame(s, in)->length);
    } else if (!s->posting || !is_posted(s, name)) {
        sim_fail(s, "process %u retains what was not posted now", who);
    } else if (sim_log_more(s, p, &key, s->posted_length) && !hark_service_by_line(s->protocol)) {
        /* By the line every message is retained; its receiver says which ones are logged. */
        sim_count_logged(s, s->posted_part, s->posted_length);
    }
}

static void combine(struct sim *s, uint32_t who, const struct hark_name *name, uint32_t part)
{
    struct sim_process *p = &s->p[who];
    uint64_t length;
    if (part != HARK_COMBINE_OPERAND) {
        log_made(s, p, name, s->sum);
        s->sum = 0;
        if (part == HARK_COMBINE_REPLY) s->answer = *name;
    } else if (!sim_log_entry(&p->log, name, name->ssn, &length)) {
        sim_fail(s, "I9: process %u combines contribution %llu of %u, which its log does not hold",
            who, (unsigned long long)name->ssn, name->peer);
    } else {
        if (length > s->sum) s->sum = length;
        if (name->to == HARK_PROCESS) {
            struct hark_name key = sim_log_key(name, false);
            log_less(s, p, &key); /* used up */
        }
    }
}

void sim_trim(struct sim *s, uint32_t who, const struct hark_name *name)
{
    struct hark_name posted = sim_log_key(name, false), made = sim_log_key(name, true);
    log_less(s, &s->p[who], &posted);
    if (name->to == HARK_GROUP) log_less(s, &s->p[who], &made);
}

static void perform_rare(struct sim *s, uint32_t who, const struct hark_effect *x)
{
    struct sim_process *p = &s->p[who];
    switch (x->type) {
    case HARK_TRIM: sim_trim(s, who, &x->u.trim.name); break;
    case HARK_COMBINE: combine(s, who, &x->u.combine.name, x->u.combine.part); break;
    case HARK_OFFER:
        if (p->offer == 0) p->offered = x->u.offer.name;
        else if (memcmp(&p->offered, &x->u.offer.name, sizeof p->offered) != 0) p->offered.ssn = 0;
        p->offer = x->u.offer.peer == HARK_RECOVERY || (p->offer && p->offer != x->u.offer.peer + 1)
                       ? SIM_NONE
                       : x->u.offer.peer + 1;
        break;
    case HARK_PERSIST: sim_persist(s, who, &x->u.persist); break;
    case HARK_CAPTURE: sim_capture(s, who, x->u.checkpoint.id); break;
    case HARK_COMMIT: s->r->checkpoints++; break;
    case HARK_DROP: sim_image_drop(s, who, x->u.checkpoint.id); break;
    case HARK_RESUME:
        if (p->state == STATE_CALL) p->state = STATE_READY;
        break;
    case HARK_ROLLBACK:
        if (sim_protocol(s, who)->traits & HARK_TRAIT_WANTS_OLD_CORE) sim_keep(s, p);
        sim_rolled_back(s, who);
        break;
    case HARK_SUPPRESS: s->r->suppressed++; break;
    case HARK_DIVERGED: s->r->diverged++; break;
    default: break;
    }
}

static inline void perform(struct sim *s, uint32_t who, const struct hark_effect *x, uint32_t frame)
{
    struct sim_process *p = &s->p[who];
    switch (x->type) {
    case HARK_TRANSMIT: transmit(s, who, &x->u.transmit, frame); break;
    case HARK_HANDUP:
        sim_list_add(s, &p->inbox, frame);
        if (x->u.handup.logged) sim_frame(s, frame)->logged = 1;
        if (sim_wants(s, p, sim_frame(s, frame))) p->state = STATE_READY;
        break;
    case HARK_HOLD: sim_list_add(s, &p->held, frame); break;
    case HARK_DISCARD:
        s->r->discarded++;
        sim_frame_give(s, frame);
        break;
    case HARK_RETAIN: retain(s, who, &x->u.retain.name, frame); break;
    default: perform_rare(s, who, x);
    }
}

/* An arrived frame that got no fate was taken by the core: a control frame. */
static bool has_fate(const struct hark_effects *fx)
{
    for (uint32_t i = 0; i < fx->count; i++)
        if (fx->at[i].type >= HARK_HANDUP && fx->at[i].type <= HARK_DISCARD) return true;
    return false;
}

void sim_ask_now(struct sim *s, uint32_t who)
{
    const struct hark *core = s->p[who].core;
    s->ask_in = s->o->ask;
    const char *broken = core ? sim_protocol(s, who)->violated(core) : NULL;
    if (broken) sim_fail(s, "process %u: %s", who, broken);
}

static int step_one(struct sim *s, uint32_t who, const struct hark_event *event, uint32_t frame)
{
    struct sim_process *p = &s->p[who];
    const struct hark_event go_on = {.type = HARK_CONTINUE}, *e = event;
    bool fate = frame == SIM_NONE;
    int status;
    for (;;) {
        status = hark_step(p->core, e, &s->fx);
        if (status == HARK_EFULL) {
            if (!grow(s, p)) return status;
            continue;
        }
        if (status < 0) {
            sim_fail(s, "process %u refused %s: %s", who, hark_event_text(e->type),
                hark_status_text(status));
            return status;
        }
        if (status == HARK_WAIT) return status;
        fate = fate || has_fate(&s->fx);
        for (uint32_t i = 0; i < s->fx.count && p->state != STATE_DOWN; i++)
            perform(s, who, &s->fx.at[i], frame);
        if (status != HARK_MORE || p->state == STATE_DOWN) break;
        e = &go_on;
    }
    if (!fate) sim_frame_give(s, frame);
    if (s->answer.ssn && p->state != STATE_DOWN) {
        struct hark_event combined = {.type = HARK_COMBINED};
        combined.u.combined.name = s->answer;
        s->answer.ssn = 0;
        if (step_one(s, who, &combined, SIM_NONE) < 0) return HARK_EINVAL;
    }
    sim_ask(s, who);
    return HARK_OK;
}

/* Is this one of those that the OFFER asks for? */
static bool asked_for(struct sim *s, const struct sim_process *p, struct sim_frame *f,
    uint32_t peer, const struct hark_name *message)
{
    const uint8_t *header = sim_header(f);
    if (p->state == STATE_DOWN || sim_to_inc(f) > p->inc ||
        (peer != SIM_NONE && sim_from(s, f) + 1 != peer))
        return false;
    return message->ssn == 0 || (header[1] == HARK_APP && hark_get16(header + 2) == message->ctx &&
                                    hark_get64(header + 24) == message->ssn);
}

/* Held frames again, oldest first. What asks for that meanwhile waits for the next round. */
static void offer(struct sim *s, uint32_t who)
{
    struct sim_process *p = &s->p[who];
    p->offering = 1;
    while (p->offer && p->state != STATE_DOWN && !s->failed) {
        uint32_t peer = p->offer, f = p->held.head, next;
        const struct hark_name message = p->offered;
        p->offer = 0;
        p->held.head = p->held.tail = SIM_NONE;
        for (; f != SIM_NONE; f = next) {
            struct sim_frame *frame = sim_frame(s, f);
            next = frame->next;
            if (!asked_for(s, p, frame, peer, &message)) {
                sim_list_add(s, &p->held, f);
                continue;
            }
            struct hark_event e = {.type = HARK_ARRIVE};
            e.u.frame.header = (struct hark_bytes){sim_header(frame), frame->header_length};
            e.u.frame.length = frame->length;
            if (step_one(s, who, &e, f) < 0) break;
        }
    }
    p->offering = 0;
}

int sim_step(struct sim *s, uint32_t who, const struct hark_event *e, uint32_t frame)
{
    struct sim_process *p = &s->p[who];
    int status = step_one(s, who, e, frame);
    if (p->offer && !p->offering && status >= 0) offer(s, who);
    return status;
}

void sim_take_late(struct sim *s, uint32_t who)
{
    struct sim_process *p = &s->p[who];
    uint32_t f = p->late.head, next;
    p->late.head = p->late.tail = SIM_NONE;
    if (p->indexed) sim_index_drop(s, p, &p->late);
    for (; f != SIM_NONE && !s->failed; f = next) {
        const struct sim_frame *frame = sim_frame(s, f);
        struct hark_event e = {.type = HARK_ARRIVE};
        next = frame->next;
        e.u.frame.header = (struct hark_bytes){sim_header(frame), frame->header_length};
        e.u.frame.length = frame->length;
        s->clock = s->now;
        (void)sim_step(s, who, &e, f);
    }
}
