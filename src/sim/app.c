/* app.c: the programs of the simulated processes: operations one after another, each as far as the
 * core lets it. */
#include <stdlib.h>
#include <string.h>

#include "parts.h"

void sim_sample_now(struct sim *s)
{
    struct sim_result *r = s->r;
    s->sampled = s->iterations;
    if ((r->samples & (r->samples - 1)) == 0) {
        struct sim_sample *more =
            realloc(r->sample, (size_t)(r->samples ? r->samples * 2 : 1) * sizeof *more);
        if (more == NULL) {
            sim_no_memory(s);
            return;
        }
        r->sample = more;
    }
    r->sample[r->samples++] = (struct sim_sample){s->now, s->iterations, s->log_bytes};
}

/* The next iteration begins. */
static void next(struct sim *s, struct sim_process *p)
{
    p->at = (struct sim_place){0, p->at.iteration + 1, STAGE_COMPUTE};
    if (++s->iterations >= s->sampled + s->sample_step) sim_sample_now(s);
}

static uint64_t start(const struct sim *s, const struct sim_process *p)
{
    return p->busy > s->now ? p->busy : s->now;
}

static void compute(struct sim *s, uint32_t who)
{
    struct sim_process *p = &s->p[who];
    uint64_t time = s->o->compute;
    if (p->at.iteration == s->o->iterations) {
        p->state = STATE_ENDED;
        s->ended++;
        return;
    }
    if (s->o->jitter)
        time += sim_mix(sim_mix(s->o->seed, who), p->at.iteration) % (s->o->jitter + 1);
    p->at.stage = STAGE_OPS;
    p->busy = start(s, p) + time;
    if (p->busy > SIM_LONGEST) sim_too_long(s);
    if (time == 0 && !p->doomed) return;
    p->state = STATE_COMPUTES;
    sim_put(s, p->busy, SIM_WHAT(EVENT_WAKE, p->inc, who));
}

static bool post(struct sim *s, uint32_t who, const struct hark_posting *m)
{
    struct hark_event e = {.type = HARK_SEND, .u.send = *m};
    s->posting = true;
    s->posted = (struct hark_name){m->peer, m->ctx, HARK_OUT, m->to, 0};
    s->posted_length = m->length;
    int status = sim_step(s, who, &e, SIM_NONE);
    s->posting = false;
    return status == HARK_OK;
}

static void send(struct sim *s, uint32_t who, const struct sim_op *op, uint64_t behind)
{
    struct sim_process *p = &s->p[who];
    bool cast = op->kind != SIM_SEND;
    struct hark_posting m = {.peer = cast ? op->ctx : op->peer,
        .ctx = op->ctx,
        .to = cast ? HARK_GROUP : HARK_PROCESS,
        .length = op->length};
    if (s->o->core.flags & HARK_DIGEST)
        m.digest = sim_mix(sim_mix(who, p->at.iteration), p->at.place) | 1;
    s->posted_part = op->part;
    s->clock = start(s, p) + s->o->overhead;
    uint64_t place = p->at.place;
    p->at.place = behind;
    if (!(s->usual && sim_usual_post(s, who, &m)) && !post(s, who, &m)) {
        p->at.place = place;
        return;
    }
    p->busy = s->clock;
    uint64_t bytes, messages = cast ? op->peer : 1; /* one to each; a contribution is one to the
                                                       parent */
    if (op->kind == SIM_CONTRIBUTE) s->r->contributions += op->peer;
    if (op->kind == SIM_CONTRIBUTE) s->r->results += op->peer == 0;
    s->r->messages += messages;
    if (__builtin_mul_overflow(messages, op->length, &bytes)) sim_too_much(s);
    sim_sum(s, &s->r->bytes, bytes);
    s->r->part[op->part].messages += messages;
}

/* The first message of the channel in a list; *before: the one in front of it. Short lists are
 * walked along: an index would cost them more than it saves. */
static inline uint32_t find(struct sim *s, struct sim_process *p, const struct sim_list *l,
    const struct sim_op *op, uint32_t *before)
{
    uint32_t left = SIM_SHORT;
    *before = SIM_NONE;
    for (uint32_t f = l->head; f != SIM_NONE; *before = f, f = sim_frame(s, f)->next) {
        if (sim_is_of(s, sim_frame(s, f), op->peer, op->ctx)) return f;
        if ((p->indexed && *sim_index_of(p, l)) || --left == 0)
            return sim_index_find(s, p, l, op, before);
    }
    return SIM_NONE;
}

static void take_out(struct sim *s, struct sim_list *l, uint32_t frame, uint32_t before)
{
    uint32_t next = sim_frame(s, frame)->next;
    if (before == SIM_NONE) l->head = next;
    else sim_frame(s, before)->next = next;
    if (l->tail == frame) l->tail = before;
}

static bool deliver(struct sim *s, uint32_t who, const struct sim_frame *f)
{
    struct hark_event e = {.type = HARK_DELIVER};
    e.u.frame.header = (struct hark_bytes){sim_header(f), f->header_length};
    e.u.frame.length = f->length;
    return sim_step(s, who, &e, SIM_NONE) == HARK_OK;
}

/* The message that the operation waits for: *before it in list *l. If its core had not seen it, it
 * may take it by itself (*done). SIM_NONE: it has not come. */
static uint32_t awaited(struct sim *s, uint32_t who, const struct sim_op *op, struct sim_list **l,
    uint32_t *before, bool *done)
{
    struct sim_process *p = &s->p[who];
    *l = &p->inbox;
    *done = false;
    uint32_t f = find(s, p, *l, op, before);
    if (f != SIM_NONE || p->late.head == SIM_NONE) return f;
    f = find(s, p, &p->late, op, before);
    if (f == SIM_NONE) return f;
    *done = sim_usual_receive(s, who, f);
    if (*done) {
        *l = &p->late;
        return f;
    }
    sim_take_late(s, who);
    return find(s, p, *l, op, before);
}

static void receive(struct sim *s, uint32_t who, const struct sim_op *op, uint64_t behind)
{
    struct sim_process *p = &s->p[who];
    struct sim_list *list;
    uint32_t before;
    bool done;
    uint32_t f = awaited(s, who, op, &list, &before, &done);
    if (p->state != STATE_READY || s->failed) return;
    if (f == SIM_NONE) {
        p->want = op->peer;
        p->want_ctx = op->ctx;
        p->state = STATE_WAITS;
        return;
    }
    struct sim_frame *frame = sim_frame(s, f);
    s->clock = start(s, p);
    uint64_t place = p->at.place;
    p->at.place = behind;
    if (!done && !deliver(s, who, frame)) {
        p->at.place = place;
        return;
    }
    p->busy = s->clock + s->o->overhead;
    p->digest = sim_digest(p->digest, sim_source(op->peer, op->ctx), sim_ssn(frame), frame->length);
    s->r->deliveries++;
    if (frame->logged) sim_count_logged(s, op->part, frame->length);
    if (s->protocol->unstable) s->r->determinants_created++;
    take_out(s, list, f, before);
    if (p->indexed) sim_index_take_out(s, p, list, f);
    sim_frame_give(s, f);
}

static bool operate(struct sim *s, uint32_t who)
{
    struct sim_process *p = &s->p[who];
    struct sim_op op;
    uint64_t place = p->at.place,
             behind = sim_pattern_op(s->pattern, who, p->at.iteration, place, &op);
    switch (op.kind) {
    case SIM_SEND:
    case SIM_CAST:
    case SIM_CONTRIBUTE: send(s, who, &op, behind); return p->at.place == behind;
    case SIM_RECEIVE: receive(s, who, &op, behind); return p->at.place == behind;
    case SIM_END:
        if (s->o->every) p->at.stage = STAGE_CALL;
        else next(s, p);
        return true;
    default: p->at.place = behind; return true;
    }
}

/* A checkpoint call; place 0: not begun. False: not now. */
static bool call(struct sim *s, uint32_t who)
{
    struct sim_process *p = &s->p[who];
    struct hark_event e = {.type = HARK_CHECKPOINT_POINT};
    if (p->at.place == UINT64_MAX) { /* RESUME has come */
        next(s, p);
        return true;
    }
    uint64_t place = p->at.place;
    e.u.point.due = p->due && (p->at.iteration + 1) % s->o->every == 0;
    s->clock = start(s, p);
    p->state = STATE_CALL;
    p->at.place = UINT64_MAX;
    if (sim_step(s, who, &e, SIM_NONE) == HARK_OK) return true;
    p->state = STATE_READY;
    p->at.place = place;
    return false;
}

static bool reached(const struct sim_process *p)
{
    if (p->state == STATE_COMPUTES)
        return false; /* which comes before the operations it stands at */
    if (p->at.iteration != p->goal_iteration) return p->at.iteration > p->goal_iteration;
    if (p->at.stage != p->goal_stage) return p->at.stage > p->goal_stage;
    return p->at.place >= p->goal_place;
}

static void idle(struct sim *s, uint32_t who)
{
    const struct hark_event e = {.type = HARK_IDLE};
    s->clock = s->now;
    (void)sim_step(s, who, &e, SIM_NONE);
}

static void take_late(struct sim *s, uint32_t who)
{
    if (s->p[who].late.head != SIM_NONE) sim_take_late(s, who);
}

/* Without messages that its core has not seen yet no process makes a checkpoint call, or ends. */
static bool go_one(struct sim *s, uint32_t who)
{
    struct sim_process *p = &s->p[who];
    if (p->at.stage == STAGE_OPS) return operate(s, who);
    if (p->at.stage == STAGE_COMPUTE) {
        compute(s, who);
        if (p->state == STATE_ENDED) take_late(s, who);
        return true;
    }
    take_late(s, who);
    return p->state == STATE_READY && call(s, who);
}

void sim_go(struct sim *s, uint32_t who)
{
    struct sim_process *p = &s->p[who];
    if (!s->usual || s->traffic) take_late(s, who);
    do {
        bool goes = true;
        while (p->state == STATE_READY && goes && !s->failed) {
            if (p->behind && reached(p)) sim_caught_up(s, who);
            goes = go_one(s, who);
        }
        if (p->behind && p->state != STATE_DOWN && reached(p)) sim_caught_up(s, who);
        if (!goes || s->failed ||
            (p->state != STATE_WAITS && p->state != STATE_ENDED && p->state != STATE_CALL))
            return;
        if (!s->usual || s->traffic || s->idles) idle(s, who);
    } while (p->state == STATE_READY);
}
