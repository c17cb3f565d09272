/* image.c: images of simulated processes: the packed core, where the program is, what had arrived,
 * the lengths in the log. */
#include <string.h>

#include "parts.h"

static void image_free(struct sim *s, struct sim_image *m)
{
    struct sim_list frames = {m->frames, SIM_NONE};
    sim_list_drop(s, &frames);
    sim_log_free(s, &m->log);
    sim_arena_give(&s->arena, m->core, m->core_length);
    sim_arena_give(&s->arena, m, sizeof *m);
}

void sim_image_drop(struct sim *s, uint32_t who, uint64_t id)
{
    struct sim_process *p = &s->p[who];
    for (struct sim_image **at = &p->images, *m; (m = *at) != NULL;) {
        if (m->id != id) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        image_free(s, m);
    }
}

void sim_image_drop_beyond(struct sim *s, uint32_t who, uint64_t id)
{
    struct sim_process *p = &s->p[who];
    while (p->images && p->images->id > id) sim_image_drop(s, who, p->images->id);
}

const struct sim_image *sim_image(const struct sim *s, uint32_t who, uint64_t id)
{
    const struct sim_image *m = s->p[who].images;
    while (m && m->id != id) m = m->next;
    return m;
}

static bool is(const struct sim *s, uint32_t f, const struct hark_name *name, uint64_t ssn)
{
    return sim_is_of(s, sim_frame(s, f), name->peer, name->ctx) && sim_ssn(sim_frame(s, f)) == ssn;
}

/* The frame of an arrived and undelivered message, or SIM_NONE. */
static uint32_t arrived(
    const struct sim *s, const struct sim_process *p, const struct hark_name *name, uint64_t ssn)
{
    for (uint32_t f = p->inbox.head; f != SIM_NONE; f = sim_frame(s, f)->next)
        if (is(s, f, name, ssn)) return f;
    for (uint32_t f = p->held.head; f != SIM_NONE; f = sim_frame(s, f)->next)
        if (is(s, f, name, ssn)) return f;
    return SIM_NONE;
}

static bool in_log(const struct sim_process *p, const struct hark_names *run)
{
    uint64_t length;
    if (run->name.to == HARK_PROCESS && run->name.way == HARK_OUT)
        return sim_log_holds(&p->log, run->name.peer, run->name.ctx, run->name.ssn, run->last);
    for (uint64_t ssn = run->name.ssn; ssn <= run->last; ssn++)
        if (!sim_log_entry(&p->log, &run->name, ssn, &length)) return false;
    return true;
}

/* Exactly the payloads that the core names. */
static void take_named(struct sim *s, uint32_t who, struct sim_image *m)
{
    struct sim_process *p = &s->p[who];
    struct sim_list frames = {SIM_NONE, SIM_NONE};
    uint64_t cursor = 0;
    for (struct hark_names run; s->protocol->names(p->core, &cursor, &run) && !s->failed;) {
        if (run.name.way == HARK_OUT || run.name.to == HARK_GROUP || in_log(p, &run)) {
            if (!in_log(p, &run))
                sim_fail(s,
                    "I9: process %u names messages %llu-%llu to %u for its image, which its log "
                    "does not hold",
                    who, (unsigned long long)run.name.ssn, (unsigned long long)run.last,
                    run.name.peer);
            continue;
        }
        for (uint64_t ssn = run.name.ssn; ssn <= run.last; ssn++) {
            uint32_t f = arrived(s, p, &run.name, ssn), copy;
            if (f == SIM_NONE) {
                sim_fail(s,
                    "I9: process %u names message %llu from %u for its image, which is not here",
                    who, (unsigned long long)ssn, run.name.peer);
                break;
            }
            copy = sim_frame_copy(s, f);
            if (copy == SIM_NONE) break;
            sim_list_add(s, &frames, copy);
        }
    }
    m->frames = frames.head;
}

/* The packed core, *length bytes of the arena; NULL without memory. */
static uint8_t *packed(
    struct sim *s, const struct hark *core, const struct hark_shape *shape, uint32_t *length)
{
    uint64_t room = core->used, kept; /* what is packed is never longer */
    uint8_t *all = sim_arena_take(&s->arena, &room), *exact = NULL;
    if (all) {
        kept = hark_pack(core, shape, all, room);
        *length = (uint32_t)kept;
        exact = sim_arena_take(&s->arena, &kept);
        if (exact) memcpy(exact, all, *length);
        sim_arena_give(&s->arena, all, room);
    }
    if (exact == NULL) sim_no_memory(s);
    return exact;
}

void sim_keep(struct sim *s, struct sim_process *p)
{
    sim_keep_no_more(s, p);
    p->kept = packed(s, p->core, s->protocol->shape, &p->kept_length);
}

void sim_keep_no_more(struct sim *s, struct sim_process *p)
{
    sim_arena_give(&s->arena, p->kept, p->kept_length);
    p->kept = NULL;
    p->kept_length = 0;
}

void sim_capture(struct sim *s, uint32_t who, uint64_t id)
{
    struct sim_process *p = &s->p[who];
    uint64_t bytes = sizeof(struct sim_image);
    uint32_t length;
    struct sim_image *m = sim_arena_take(&s->arena, &bytes);
    uint8_t *core = packed(s, p->core, s->protocol->shape, &length);
    if (m == NULL || core == NULL) {
        sim_no_memory(s);
        return;
    }
    *m = (struct sim_image){.next = p->images,
        .id = id,
        .time = s->clock,
        .digest = p->digest,
        .at = p->at,
        .core_length = length,
        .core = core,
        .frames = SIM_NONE};
    p->images = m;
    take_named(s, who, m);
    if (!sim_log_copy(s, &m->log, &p->log)) return;
    p->storing = 1;
    p->store_id = id;
    s->clock += s->o->copy;
    p->durable_at = s->clock + s->o->checkpoint;
    sim_put(s, p->durable_at, SIM_WHAT(EVENT_STORED, p->inc, who));
}

void sim_image_restore(struct sim *s, uint32_t who, const struct sim_image *m)
{
    struct sim_process *p = &s->p[who];
    struct sim_list held = {SIM_NONE, SIM_NONE};
    p->at = m->at;
    p->at.stage = STAGE_COMPUTE; /* behind the call */
    p->at.place = 0;
    p->at.iteration++;
    p->digest = m->digest;
    for (uint32_t f = m->frames; f != SIM_NONE; f = sim_frame(s, f)->next) {
        uint32_t copy = sim_frame_copy(s, f);
        if (copy == SIM_NONE) return;
        sim_list_add(s, &held, copy);
    }
    if (held.head != SIM_NONE) { /* before what came meanwhile for the new incarnation */
        sim_frame(s, held.tail)->next = p->held.head;
        if (p->held.head == SIM_NONE) p->held.tail = held.tail;
        p->held.head = held.head;
    }
    s->log_bytes -= p->log.bytes;
    sim_log_free(s, &p->log);
    (void)sim_log_copy(s, &p->log, &m->log);
    sim_sum(s, &s->log_bytes, p->log.bytes);
}
