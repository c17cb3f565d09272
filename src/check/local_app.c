/* local_app.c: the application: a program's operations, one a step; and events to its core with
 * what they offer again, for a receive that waits may take of that within the step. */
#include "local.h"

#include <string.h>

static bool take_nested(struct lab *lab);

/* Is it held for a later OFFER than this one? */
static bool passed_over(
    const struct lab *lab, const struct frame *f, uint32_t peer, const struct hark_name *message)
{
    if (peer != HARK_RECOVERY && frame_src(lab, f) + 1 != peer) return true;
    return message->ssn && (f->header[1] != HARK_APP || hark_get16(f->header + 2) != message->ctx ||
                               hark_get64(f->header + 24) != message->ssn);
}

/* Held frames again, oldest first. What asks for that meanwhile waits for the next round: held
 * frames are never passed over. */
static void offer(struct lab *lab)
{
    struct local *l = &lab->at;
    lab->offering = true;
    if (lab->waits && lab->running && take_nested(lab))
        lab->waits = false; /* what the step itself has handed up */
    while (lab->offer && !lab->failed) {
        uint32_t held[LOCAL_FRAMES], count = l->helds, peer = lab->offer;
        const struct hark_name message = lab->offered;
        memcpy(held, l->held, count * sizeof held[0]);
        l->helds = lab->offer = 0;
        for (uint32_t i = 0; i < count; i++) {
            const struct frame *f = frame_of(lab, held[i]);
            struct hark_event e = {.type = HARK_ARRIVE};
            e.u.frame.header = (struct hark_bytes){f->header, f->length};
            if (passed_over(lab, f, peer, &message)) {
                core_hold(lab, held[i]);
            } else if (lab->running) {
                (void)core_step(lab, &e, held[i], NULL);
                if (lab->waits && lab->running && !lab->failed && take_nested(lab))
                    lab->waits = false;
            }
        }
    }
    lab->offering = false;
}

int local_event(
    struct lab *lab, const struct hark_event *event, uint32_t frame, const struct payload *posted)
{
    const int status = core_step(lab, event, frame, posted);
    if (status >= 0 && lab->offer && !lab->offering && lab->running) offer(lab);
    return status;
}

/* The message at `index` of the inbox is delivered. False: the core says not now. */
static bool take(struct lab *lab, uint32_t index)
{
    struct local *l = &lab->at;
    struct app *a = &l->app;
    uint32_t part = l->inbox[index];
    const struct frame *f = frame_of(lab, part);
    uint64_t ssn = frame_ssn(f);
    uint32_t from = frame_source(lab, f);
    struct hark_event e = {.type = HARK_DELIVER};
    e.u.frame.header = (struct hark_bytes){f->header, f->length};
    lab->taking = part;
    const int status = local_event(lab, &e, 0, NULL);
    lab->taking = 0;
    if (status != HARK_OK) return false;
    for (uint32_t i = 0; i < l->inboxes; i++) {
        if (l->inbox[i] != part) continue;
        memmove(&l->inbox[i], &l->inbox[i + 1], (l->inboxes - i - 1) * sizeof l->inbox[0]);
        l->inboxes--;
        break;
    }
    uint32_t got = a->got[from], bit = UINT32_C(1) << ssn;
    bool named = app_op(lab)->ssn != 0;
    if (got & bit || (!named && got != bit - 2 && ssn > 1 && !(got & bit >> 1)))
        lab_violate(lab, VIOLATED_ORDER);
    a->got[from] = got | bit;
    if (lab->history) {
        a->history = app_history(a->history, from, ssn, f->said);
        a->heard[from][ssn - 1] = f->said;
    }
    a->past |= f->past;
    if (lab->wild) a->took |= last_send(lab, frame_src(lab, f), f->past);
    lab->out.taken = part;
    app_go_on(lab);
    return true;
}

/* The message, or multicast, goes to one process, or to the group. */
static bool post_to(struct lab *lab, struct payload p)
{
    struct hark_event e = {.type = HARK_SEND};
    e.u.send.peer = p.peer == lab->ranks ? p.ctx : p.peer;
    e.u.send.to = p.peer == lab->ranks ? HARK_GROUP : HARK_PROCESS;
    e.u.send.ctx = (uint16_t)p.ctx;
    e.u.send.length = 8;
    e.u.send.digest = p.said;
    return local_event(lab, &e, 0, &p) == HARK_OK;
}

/* A multicast is a message to each where the protocol knows of no groups. */
static bool post_all(struct lab *lab, struct payload p)
{
    const uint32_t t = (p.peer - lab->ranks) / 2;
    const bool reduces = (p.peer - lab->ranks) % 2;
    p.ctx = group_ctx(t, reduces);
    p.peer = lab->ranks;
    if (reduces && !lab->reduces) lab_fail(lab, lab_unreduced(lab));
    if (lab->groups) return post_to(lab, p);
    for (uint32_t i = 0; i < lab->ranks; i++) {
        if (lab->scenario->parent[t][i] < 0) continue;
        p.peer = i;
        if (!post_to(lab, p)) return false;
    }
    return true;
}

static void post(struct lab *lab, uint32_t peer)
{
    struct app *a = &lab->at.app, before = *a;
    uint64_t bit = UINT64_C(1) << (lab->first_send[lab->who_now] + a->sends);
    struct payload p = {.peer = peer, .ssn = (uint64_t)a->sent[peer] + 1, .past = a->past | bit};
    p.said = lab->history ? app_history(a->history, lab->who_now, peer, p.ssn)
                          : (lab->who_now + 1) * 10000 + peer * 100 + p.ssn;
    a->past = p.past;
    a->took_by[a->sends++] = a->took;
    a->sent[peer]++;
    if (lab->history) a->told[peer][p.ssn - 1] = p.said;
    app_go_on(lab);
    if (!(peer >= lab->ranks ? post_all(lab, p) : post_to(lab, p))) {
        *a = before;
        lab->out.happened = 0;
    } else {
        lab->out.sent_to = (uint8_t)(1 + peer);
    }
}

/* The message at `index` of the inbox is seen, and not taken: of whom it is and which, not what it
 * says. False: the core says not now. */
static bool see(struct lab *lab, uint32_t index)
{
    const struct frame *f = frame_of(lab, lab->at.inbox[index]);
    struct app *a = &lab->at.app;
    struct hark_event e = {.type = HARK_LOOK};
    e.u.frame.header = (struct hark_bytes){f->header, f->length};
    lab->out.saw = lab->at.inbox[index];
    if (local_event(lab, &e, 0, NULL) != HARK_OK) return false;
    if (lab->history)
        a->history = app_history(a->history, UINT64_MAX, frame_source(lab, f) + 1, frame_ssn(f));
    app_go_on(lab);
    return true;
}

/* A look that may miss: at what is there, and if that must not be found now, in a replay, at
 * nothing. */
static void look(struct lab *lab, const struct hark_op *op, uint32_t from)
{
    struct app *a = &lab->at.app;
    struct hark_event e = {.type = HARK_MISS};
    int index = from < lab->ranks ? app_first(lab, from, op->ssn) : -1;
    bool found = index >= 0 && (op->type == HARK_OP_LOOK ? see(lab, (uint32_t)index)
                                                         : take(lab, (uint32_t)index));
    if (found) return;
    lab->out.saw = 0;
    if (local_event(lab, &e, 0, NULL) != HARK_OK) {
        lab->out.happened = 0;
    } else {
        if (lab->history) a->history = app_history(a->history, UINT64_MAX, 0, 0);
        if (op->type == HARK_OP_TEST) a->open |= 1u << op->peer;
        if (op->type == HARK_OP_IF) app_go_to(lab, op->to);
        else app_go_on(lab);
    }
}

static void show(struct lab *lab)
{
    struct local *l = &lab->at;
    struct app *a = &l->app;
    if (a->shown < l->shown) {
        if (l->show[a->shown] != a->history + 1) lab_violate(lab, VIOLATED_SHOWN);
    } else if (l->shown == LOCAL_SHOWN) {
        lab_fail(lab, "more outputs than this search has room for");
        return;
    } else {
        l->show[l->shown++] = a->history + 1;
    }
    a->shown++;
    app_go_on(lab);
}

/* The next map of clusters: where the protocol takes none, nothing. */
static void told(struct lab *lab)
{
    const struct hark_scenario *s = lab->scenario;
    struct hark_range group[HARK_SCENARIO_RANKS];
    struct hark_event e = {.type = HARK_RECLUSTER, .u.recluster.cluster = group};
    for (uint32_t i = 0; i < lab->ranks; i++)
        if (s->next[i] == s->next[lab->who_now])
            group[e.u.recluster.cluster_count++] = (struct hark_range){i, i};
    if (lab->regroups && local_event(lab, &e, 0, NULL) != HARK_OK) lab->out.happened = 0;
    else app_go_on(lab);
}

void app_step(struct lab *lab, uint32_t from)
{
    const struct hark_op *op = app_op(lab);
    struct app *a = &lab->at.app;
    struct hark_event e = {
        .type = HARK_CHECKPOINT_POINT, .u.point.due = op->type == HARK_OP_CHECKPOINT};
    int index;
    switch (op->type) {
    case HARK_OP_SEND: post(lab, (uint32_t)op->peer); break;
    case HARK_OP_MULTICAST:
    case HARK_OP_TAKE:
        if (op->type == HARK_OP_MULTICAST) post(lab, group_source(lab, hark_op_tree(op), false));
        else
            lab->out.happened =
                take(lab, (uint32_t)app_first(lab, group_source(lab, hark_op_tree(op), false), 0));
        break;
    case HARK_OP_RECEIVE:
        index = app_first(lab, from, op->ssn);
        lab->out.happened = index >= 0 && take(lab, (uint32_t)index);
        break;
    case HARK_OP_TEST:
    case HARK_OP_IF: look(lab, op, (uint32_t)op->peer); break;
    case HARK_OP_LOOK: look(lab, op, from); break;
    case HARK_OP_PROBE:
        index = app_first(lab, from, op->ssn);
        lab->out.happened = index >= 0 && see(lab, (uint32_t)index);
        break;
    case HARK_OP_WAIT:
        index = app_first(lab, (uint32_t)op->peer, op->ssn);
        if (!(a->open >> op->peer & 1)) {
            app_go_on(lab);
        } else {
            lab->out.happened = index >= 0 && take(lab, (uint32_t)index);
            if (lab->out.happened) a->open &= ~(1u << op->peer);
        }
        break;
    case HARK_OP_CHECKPOINT:
    case HARK_OP_CALL:
        a->inside = 1;
        if (local_event(lab, &e, 0, NULL) == HARK_OK) break;
        a->inside = 0;
        lab->out.happened = 0;
        break;
    case HARK_OP_OUTPUT: show(lab); break;
    case HARK_OP_CONTRIBUTE: post(lab, group_source(lab, hark_op_tree(op), true)); break;
    case HARK_OP_TOLD: told(lab); break;
    default:
        lab->out.happened =
            take(lab, (uint32_t)app_first(lab, group_source(lab, hark_op_tree(op), true), 0));
        break;
    }
}

/* It waits, and what has been handed up may be what for: takes it. True if so. */
static bool take_nested(struct lab *lab)
{
    const uint8_t happened = lab->out.happened;
    uint32_t from = app_can(lab);
    bool taken = false;
    for (uint32_t i = 0; from && !taken; i++, from >>= 1) {
        if (!(from & 1)) continue;
        const uint32_t before = lab->out.taken;
        app_step(lab, i);
        taken = lab->out.taken != before;
    }
    lab->out.happened = happened;
    return taken;
}
