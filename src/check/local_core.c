/* local_core.c: events to a core, and what its effects do to the process. */
#undef HARK_LINK /* what a core is to emit */
#include "local.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static uint32_t who_of(const struct lab *lab, uint32_t rank)
{
    return rank == HARK_RECOVERY ? lab->ranks : rank;
}

static bool spared(const struct hark_effects *fx)
{
    static const uint8_t untouched[SPARE] = {0xa5, 0xa5, 0xa5, 0xa5};
    for (uint32_t i = 0; i < fx->count; i++) {
        if (fx->at[i].type != HARK_TRANSMIT) continue;
        struct hark_bytes h = fx->at[i].u.transmit.header;
        if (memcmp(h.at + h.length, untouched, SPARE) != 0) return false;
    }
    return true;
}

/* ---- effects --------------------------------------------------------------------------------- */

static bool room(struct lab *lab, uint32_t count, uint32_t most)
{
    if (count < most) return true;
    lab_fail(
        lab, "more frames, payloads, images or facts at one process than this search has room for");
    return false;
}

bool frame_before(const struct lab *lab, uint32_t new, uint32_t old)
{
    if (lab->scenario->fifo) return frame_of(lab, new)->from < frame_of(lab, old)->from;
    if (new == old) return false;
    uint32_t a = intern_length(&lab->part, new), b = intern_length(&lab->part, old);
    int order = memcmp(frame_of(lab, new), frame_of(lab, old), a < b ? a : b);
    return order ? order < 0 : a < b;
}

/* Those of other senders and, without `fifo`, all could have come in another order: behind the
 * event that lets them in, one by one. So one order is enough, and that of a search is by content.
 */
void core_hold(struct lab *lab, uint32_t frame)
{
    struct local *l = &lab->at;
    if (!room(lab, l->helds, LOCAL_FRAMES)) return;
    uint32_t at = l->helds++;
    for (; at > 0 && frame_before(lab, frame, l->held[at - 1]); at--) l->held[at] = l->held[at - 1];
    l->held[at] = frame;
}

/* The process, or group, that a payload is for. */
static uint32_t payload_to(const struct lab *lab, const struct hark_name *name)
{
    return name->to == HARK_GROUP ? lab->ranks : name->peer;
}

enum { CTX_ALL = 1 << 16, CTX_IN = 1 << 17 };

/* Its context, as a payload bears it. */
static uint32_t payload_ctx(const struct hark_name *name)
{
    return name->ctx | (name->way == HARK_OUT ? 0 : name->to == HARK_GROUP ? CTX_ALL : CTX_IN);
}

static bool payload_is(
    const struct lab *lab, const struct payload *p, const struct hark_name *name, uint64_t ssn)
{
    return p->peer == payload_to(lab, name) && p->ctx == payload_ctx(name) && p->ssn == ssn;
}

static const struct payload *payload_find(
    const struct lab *lab, const struct hark_name *name, uint64_t ssn)
{
    for (uint32_t i = 0; i < lab->at.payloads; i++) {
        const struct payload *p = intern_at(&lab->part, lab->at.payload[i]);
        if (payload_is(lab, p, name, ssn)) return p;
    }
    return NULL;
}

static void transmit(
    struct lab *lab, const struct hark_transmit *x, uint32_t frame, const struct payload *posted)
{
    static union {
        struct frame frame;
        uint8_t bytes[sizeof(struct frame) + HARK_HEADER_MAX + 1];
    } f;
    f.frame = (struct frame){.from = lab->who_now,
        .to = who_of(lab, x->peer),
        .to_inc = x->inc,
        .length = x->header.length};
    if (x->name.ssn && x->name.way == HARK_IN && x->name.to == HARK_PROCESS) { /* what has just
                                                                                  arrived is passed
                                                                                  on */
        f.frame.past = frame_of(lab, frame)->past;
        f.frame.said = frame_of(lab, frame)->said;
        if (frame_ssn(frame_of(lab, frame)) != x->name.ssn) lab_violate(lab, VIOLATED_LOG);
    } else if (x->name.ssn) {
        const struct payload *p =
            posted && payload_is(lab, posted, &x->name, x->name.ssn) && !x->replay
                ? posted
                : payload_find(lab, &x->name, x->name.ssn);
        if (p == NULL) {
            lab_violate(lab, VIOLATED_LOG);
            return;
        }
        f.frame.past = p->past;
        f.frame.said = p->said;
    }
    memcpy(f.bytes + offsetof(struct frame, header), x->header.at, x->header.length);
    uint32_t part = intern_put(
        &lab->part, f.bytes, (uint32_t)offsetof(struct frame, header) + x->header.length);
    if (part == 0) lab_starve(lab);
    else if (room(lab, lab->leave, LOCAL_FRAMES)) lab->leaving[lab->leave++] = part;
}

static void keep(struct lab *lab, const struct payload *p)
{
    uint32_t part = intern_put(&lab->part, p, sizeof *p);
    if (part == 0) lab_starve(lab);
    else if (room(lab, lab->at.payloads, LOCAL_PAYLOADS))
        lab->at.payload[lab->at.payloads++] = part;
}

static void forget(struct lab *lab, const struct hark_name *name)
{
    struct local *l = &lab->at;
    for (uint32_t i = l->payloads; i-- > 0;)
        if (payload_is(lab, intern_at(&lab->part, l->payload[i]), name, name->ssn))
            l->payload[i] = l->payload[--l->payloads];
}

static void retain(
    struct lab *lab, const struct hark_name *name, uint32_t frame, const struct payload *posted)
{
    if (posted == NULL && frame &&
        (name->to == HARK_GROUP || name->way == HARK_IN)) { /* what all
                                                               gave, or a
                                                               contribution
                                                             */
        const struct frame *f = frame_of(lab, frame);
        forget(lab, name);
        keep(lab, &(struct payload){
                      payload_to(lab, name), payload_ctx(name), name->ssn, f->past, f->said});
    } else if (posted == NULL || !payload_is(lab, posted, name, name->ssn)) {
        lab_violate(lab, VIOLATED_RETAIN);
    } else {
        keep(lab, posted);
    }
}

/* One part more, or the result. One part alone is the result as it is. */
static void combine(struct lab *lab, const struct hark_name *name, uint32_t part)
{
    if (part != HARK_COMBINE_OPERAND) {
        struct payload p = {
            payload_to(lab, name), payload_ctx(name), name->ssn, lab->combined_past, lab->combined};
        forget(lab, name);
        keep(lab, &p);
        lab->parts = 0;
        if (part == HARK_COMBINE_REPLY) lab->answer = *name;
        return;
    }
    const struct payload *p = payload_find(lab, name, name->ssn);
    if (p == NULL) {
        lab_violate(lab, VIOLATED_LOG);
        return;
    }
    lab->combined = lab->parts ? app_combined(lab->combined, p->said) : p->said;
    lab->combined_past = lab->parts++ ? lab->combined_past | p->past : p->past;
    if (name->way == HARK_IN && name->to == HARK_PROCESS) forget(lab, name);
}

static void trim(struct lab *lab, const struct hark_name *name)
{
    struct local *l = &lab->at;
    for (uint32_t i = l->payloads; i-- > 0;) {
        const struct payload *p = intern_at(&lab->part, l->payload[i]);
        if (p->peer == payload_to(lab, name) && p->ctx == payload_ctx(name) && p->ssn <= name->ssn)
            l->payload[i] = l->payload[--l->payloads];
    }
}

/* The frame of an arrived and undelivered message, or 0. */
static uint32_t arrived_find(const struct lab *lab, uint32_t peer, uint16_t ctx, uint64_t ssn)
{
    const struct local *l = &lab->at;
    for (uint32_t i = 0; i < l->inboxes + l->helds; i++) {
        uint32_t part = i < l->inboxes ? l->inbox[i] : l->held[i - l->inboxes];
        const struct frame *f = frame_of(lab, part);
        struct hark_head h;
        if (hark_head_get(&h, (struct hark_bytes){f->header, f->length}, lab->core->kind) < 0)
            continue;
        if (h.type == HARK_APP && h.src == peer && h.ctx == ctx && h.ssn == ssn) return part;
    }
    return 0;
}

static uint32_t image_put(struct lab *lab, const struct image *m, const uint32_t *list)
{
    static uint8_t bytes[sizeof *m + (LOCAL_FRAMES + LOCAL_PAYLOADS) * 4];
    uint32_t lists = (m->inboxes + m->payloads) * 4;
    memcpy(bytes, m, sizeof *m);
    if (lists) memcpy(bytes + sizeof *m, list, lists);
    uint32_t part = intern_put(&lab->part, bytes, (uint32_t)sizeof *m + lists);
    if (part == 0) lab_starve(lab);
    return part;
}

/* The image: exactly the payloads that the core names. */
static void capture(struct lab *lab, uint64_t id)
{
    uint32_t in[LOCAL_FRAMES], list[LOCAL_FRAMES + LOCAL_PAYLOADS], out[LOCAL_PAYLOADS];
    struct image m = {.id = id, .core = core_pack(lab), .app = app_put(lab, &lab->at.app)};
    uint64_t cursor = 0;
    for (struct hark_names run; lab->protocol->names(lab->core, &cursor, &run);)
        for (uint64_t ssn = run.name.ssn; ssn <= run.last; ssn++) {
            const struct payload *p = payload_find(lab, &run.name, ssn);
            if (run.name.way == HARK_OUT || run.name.to == HARK_GROUP || p) {
                if (p == NULL) lab_violate(lab, VIOLATED_NAMED_OUT);
                else if (room(lab, m.payloads, LOCAL_PAYLOADS))
                    out[m.payloads++] = intern_put(&lab->part, p, sizeof *p);
            } else {
                uint32_t part = arrived_find(lab, run.name.peer, run.name.ctx, ssn);
                if (part == 0) lab_violate(lab, VIOLATED_NAMED_IN);
                else if (room(lab, m.inboxes, LOCAL_FRAMES)) in[m.inboxes++] = part;
            }
        }
    memcpy(list, in, m.inboxes * 4);
    memcpy(list + m.inboxes, out, m.payloads * 4);
    if (!room(lab, lab->at.images, LOCAL_IMAGES)) return;
    lab->at.image[lab->at.images++] = image_put(lab, &m, list);
    lab->at.storing = 1;
    lab->at.store_id = id;
}

static void commit(struct lab *lab, uint64_t id)
{
    if (id > lab->out.commits) lab->out.commits = (uint32_t)id;
    for (uint32_t i = 0; i < lab->at.images; i++) {
        const struct image *m = intern_at(&lab->part, lab->at.image[i]);
        if (m->id != id || m->committed) continue;
        struct image now = *m;
        now.committed = 1;
        lab->at.image[i] = image_put(lab, &now, (const uint32_t *)(const void *)(m + 1));
    }
}

static void drop(struct lab *lab, uint64_t id)
{
    struct local *l = &lab->at;
    for (uint32_t i = l->images; i-- > 0;) {
        const struct image *m = intern_at(&lab->part, l->image[i]);
        if (m->id != id) continue;
        memmove(&l->image[i], &l->image[i + 1], (l->images - i - 1) * sizeof l->image[0]);
        l->images--;
    }
}

/* Was a later one of its channel handed up before it, and is not taken yet? Who receives from that
 * channel would get that first. */
static bool handed_before(const struct lab *lab, const struct frame *f)
{
    const struct local *l = &lab->at;
    for (uint32_t i = 0; i < l->inboxes; i++) {
        const struct frame *other = frame_of(lab, l->inbox[i]);
        const bool same =
            frame_source(lab, other) == frame_source(lab, f) && l->inbox[i] != lab->taking;
        if (same && frame_ssn(other) > frame_ssn(f)) return true;
    }
    return false;
}

static void ask_again(struct lab *lab, uint32_t peer, const struct hark_name *name)
{
    if (lab->offer == 0) lab->offered = *name;
    else if (memcmp(&lab->offered, name, sizeof lab->offered) != 0) lab->offered.ssn = 0;
    if (peer == HARK_RECOVERY || (lab->offer && lab->offer != peer + 1)) lab->offer = HARK_RECOVERY;
    else lab->offer = peer + 1;
}

static void perform(
    struct lab *lab, const struct hark_effect *x, uint32_t frame, const struct payload *posted)
{
    struct local *l = &lab->at;
    if (lab->observe) lab->observe(lab->observer, NULL, x);
    switch (x->type) {
    case HARK_TRANSMIT: transmit(lab, &x->u.transmit, frame, posted); break;
    case HARK_RETAIN: retain(lab, &x->u.retain.name, frame, posted); break;
    case HARK_COMBINE: combine(lab, &x->u.combine.name, x->u.combine.part); break;
    case HARK_TRIM: trim(lab, &x->u.trim.name); break;
    case HARK_HANDUP:
        if ((lab->protocol->unstable || lab->scenario->fifo) &&
            handed_before(lab, frame_of(lab, frame)))
            lab_violate(lab, VIOLATED_ORDER);
        if (room(lab, l->inboxes, LOCAL_FRAMES)) l->inbox[l->inboxes++] = frame;
        break;
    case HARK_HOLD: core_hold(lab, frame); break;
    case HARK_OFFER: ask_again(lab, x->u.offer.peer, &x->u.offer.name); break;
    case HARK_PERSIST:
        if (room(lab, l->facts, LOCAL_FACTS)) l->fact[l->facts++] = x->u.persist;
        break;
    case HARK_CAPTURE: capture(lab, x->u.checkpoint.id); break;
    case HARK_COMMIT: commit(lab, x->u.checkpoint.id); break;
    case HARK_DROP: drop(lab, x->u.checkpoint.id); break;
    case HARK_RESUME:
        l->app.inside = 0;
        app_go_on(lab);
        break;
    case HARK_ROLLBACK:
        l->kept = lab->protocol->traits & HARK_TRAIT_WANTS_OLD_CORE ? core_pack(lab) : 0;
        core_stop(lab);
        break;
    case HARK_DIVERGED:
        lab_violate(lab, lab->history ? VIOLATED_OTHERWISE : VIOLATED_DIVERGED);
        break;
    default: break;
    }
}

/* A core that traps has found a broken invariant of its own: no more than a violation here. It
 * allocates nothing and holds nothing, so it can be left where it is. */
static sigjmp_buf trap_back;
static volatile sig_atomic_t trap_armed;

static void trapped(int number)
{
    if (!trap_armed) signal(number, SIG_DFL); /* not a core's: again, and for good */
    else siglongjmp(trap_back, 1);
}

void core_traps(void)
{
    struct sigaction a = {.sa_handler = trapped, .sa_flags = SA_NODEFER};
    sigaction(SIGILL, &a, NULL);
    sigaction(SIGTRAP, &a, NULL);
}

static void guarded_try(
    struct lab *lab, const struct hark_event *e, uint32_t before, struct usual *usual)
{
    if (sigsetjmp(trap_back, 0)) lab_violate(lab, VIOLATED_TRAPPED);
    else {
        trap_armed = 1;
        usual_try(lab, e, before, usual);
    }
    trap_armed = 0;
}

/* The step, the twin's, and whether the entries for the usual message have done the same. */
static int guarded(struct lab *lab, const struct hark_event *e, const struct usual *usual)
{
    static uint8_t bytes[LOCAL_PACK];
    struct hark_bytes before = core_packed(lab);
    memcpy(bytes, before.at, before.length);
    before.at = bytes;
    if (sigsetjmp(trap_back, 0)) {
        trap_armed = 0;
        lab_violate(lab, VIOLATED_TRAPPED);
        return HARK_ESTATE;
    }
    trap_armed = 1;
    core_changes(lab);
    int status = lab_protocol(lab, lab->who_now)->step(lab->core, e, &lab->fx);
    if (status == HARK_EFULL) lab_fail(lab, "a core needs a larger block than this search gives");
    if (!lab->failed) twin_check(lab, e, before, status);
    if (!lab->failed) usual_check(lab, e, status, usual);
    trap_armed = 0;
    return status;
}

int core_step(
    struct lab *lab, const struct hark_event *event, uint32_t frame, const struct payload *posted)
{
    static struct hark_effect effects[4][EFFECTS];
    static uint8_t bytes[4][BYTES];
    static uint32_t depth; /* an OFFER's arrivals are steps within a step, so is what a receive
                              takes of them, and results of COMBINE */
    const struct hark_protocol *protocol = lab_protocol(lab, lab->who_now);
    struct hark_event e = *event;
    int status;
    if (depth == 4) {
        lab_fail(lab, "steps within steps, more than there can be");
        return HARK_ESTATE;
    }
    depth++;
    if (lab->observe) lab->observe(lab->observer, event, NULL);
    static struct usual usual;
    const uint32_t before = core_pack(lab);
    guarded_try(lab, event, before, &usual);
    twin_make(lab, before);
    do {
        lab->fx = (struct hark_effects){.at = effects[depth - 1],
            .room = EFFECTS,
            .bytes = bytes[depth - 1],
            .bytes_room = BYTES,
            .spare = SPARE};
        memset(bytes[depth - 1], 0xa5, BYTES);
        status = guarded(lab, &e, &usual);
        usual.status = HARK_UNUSUAL; /* what continues is the step's */
        if (lab->failed) break;
        if (status < 0) lab_violate(lab, VIOLATED_REFUSED);
        if (status < 0 || status == HARK_WAIT) break;
        if (!spared(&lab->fx)) lab_violate(lab, VIOLATED_SPARE);
        if (protocol->violated(lab->core)) lab_violate(lab, VIOLATED_VIOLATED);
        for (uint32_t i = 0; i < lab->fx.count && lab->running; i++)
            perform(lab, &lab->fx.at[i], frame, posted);
        e = (struct hark_event){.type = HARK_CONTINUE};
    } while (status == HARK_MORE && lab->running);
    const bool outer = event->type != HARK_COMBINED; /* what a result leads to is for the step that
                                                        it is a result of: many come in a row */
    while (outer && status >= 0 && lab->answer.ssn && lab->running && !lab->failed) {
        struct hark_event combined = {.type = HARK_COMBINED};
        combined.u.combined.name = lab->answer;
        lab->answer.ssn = 0;
        (void)core_step(lab, &combined, 0, NULL);
    }
    depth--;
    return status == HARK_MORE ? HARK_OK : status;
}
