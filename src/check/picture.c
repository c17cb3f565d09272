#include "picture.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t STEP_NS = 1000000;

static void add(struct picture *p, struct hark_trace_record r, uint32_t who, uint8_t kind)
{
    if (p->trace.count == p->room) {
        uint64_t room = p->room ? p->room * 2 : 64;
        struct hark_trace_record *more = realloc(p->trace.record, room * sizeof *more);
        if (more == NULL) {
            p->failed = true;
            return;
        }
        p->trace.record = more;
        p->room = room;
    }
    r.time = p->step * STEP_NS;
    r.rank = who == p->lab->ranks ? HARK_RECOVERY : who;
    r.inc = p->inc;
    r.kind = kind;
    p->trace.record[p->trace.count++] = r;
}

/* The phase of the process that moves, where its protocol has such a thing. */
static uint64_t phase_now(const struct lab *lab)
{
    const struct hark_shape *s = lab->protocol->shape;
    for (uint32_t i = 0; i < s->fields && lab->running && lab->who_now < lab->ranks; i++)
        if (strcmp(s->field[i].name, "phase") == 0) return hark_number(lab->core, &s->field[i]);
    return 0;
}

static void observe_arrival(struct picture *p, const struct hark_event *e)
{
    const uint8_t *h = e->u.frame.header.at;
    memset(&p->arrived, 0, sizeof p->arrived);
    if (e->type != HARK_ARRIVE || h[1] != HARK_APP) return;
    p->arrived = (struct hark_trace_record){.peer = hark_get32(h + 4), .peer_inc = hark_get32(h + 12),
        .flags = HARK_TRACE_PEER_INC, .ctx = hark_get16(h + 2), .ssn = hark_get64(h + 24)};
}

static void observe(void *self, const struct hark_event *event, const struct hark_effect *x)
{
    struct picture *p = self;
    uint32_t who = p->lab->who_now;
    if (event) {
        observe_arrival(p, event);
        return;
    }
    struct hark_trace_record r = {.id = x->u.id};
    struct hark_trace_record m = {.peer = x->name.peer, .ctx = x->name.ctx, .ssn = x->name.ssn, .phase = x->u.phase};
    switch (x->type) {
    case HARK_TRANSMIT:
        m.peer_inc = x->inc;
        m.flags = HARK_TRACE_PEER_INC;
        if (x->name.ssn) add(p, m, who, x->replay ? HARK_TRACE_REPLAY : HARK_TRACE_TRANSMIT);
        break;
    case HARK_RETAIN:
        m.flags = HARK_TRACE_LOGGED;
        m.phase = phase_now(p->lab);
        add(p, m, who, HARK_TRACE_SEND);
        break;
    case HARK_SUPPRESS: add(p, m, who, HARK_TRACE_SUPPRESS); break;
    case HARK_HANDUP: add(p, p->arrived, who, HARK_TRACE_ARRIVE); break;
    case HARK_DISCARD:
        if (p->arrived.ssn) add(p, p->arrived, who, HARK_TRACE_DISCARD);
        break;
    case HARK_CAPTURE:
        r.phase = phase_now(p->lab);
        add(p, r, who, HARK_TRACE_CHECKPOINT);
        break;
    case HARK_COMMIT: add(p, r, who, HARK_TRACE_COMMIT); break;
    case HARK_ROLLBACK: add(p, r, who, HARK_TRACE_ROLLBACK); break;
    case HARK_RECOVERED: add(p, (struct hark_trace_record){0}, who, HARK_TRACE_RECOVERED); break;
    default: break;
    }
}

void picture_begin(struct picture *p, struct lab *lab, const struct job *job)
{
    memset(p, 0, sizeof *p);
    p->lab = lab;
    for (uint32_t i = 0; i < lab->ranks; i++) p->cluster[i] = lab->scenario->cluster[i];
    for (uint32_t i = 0; i < lab->ranks; i++) {
        local_open_core(lab, job->at[i]);
        add(p, (struct hark_trace_record){.phase = phase_now(lab)}, i, HARK_TRACE_START);
    }
    p->trace.job = (struct hark_trace_job){lab->ranks, lab->protocol->name, "search", p->cluster};
}

/* The failure, and what will be announced of it. */
static void crashed(struct picture *p, const struct job *job, struct job_step step)
{
    struct job after = *job;
    bool happened;
    (void)job_take(p->lab, &after, step, &happened);
    const struct service *s = job_service(p->lab, &after);
    add(p, (struct hark_trace_record){0}, step.who, HARK_TRACE_KILL);
    p->inc = 0;
    for (uint32_t i = 0; i < p->lab->ranks; i++)
        if (s->down >> i & 1) add(p, (struct hark_trace_record){.id = s->re, .peer = i, .last = i}, HARK_TRACE_SUPERVISOR, HARK_TRACE_FAILED);
}

void picture_step(struct picture *p, const struct job *job, struct job_step step)
{
    struct lab *lab = p->lab;
    uint64_t begins = UINT64_MAX;
    uint32_t argument = job_argument(lab, job, step);
    p->step++;
    p->inc = local_info(lab, job->at[step.who])->inc;
    if (step.what == STEP_CRASH) {
        crashed(p, job, step);
        return;
    }
    if (step.what == STEP_RESTART) {
        const struct restart *r = intern_at(&lab->part, argument);
        p->inc = r->inc;
        begins = p->trace.count;
        if (step.who < lab->ranks) add(p, (struct hark_trace_record){.id = r->checkpoint}, step.who, HARK_TRACE_RESTART);
    }
    lab->observe = observe;
    lab->observer = p;
    struct outcome out = local_make(lab, job->at[step.who], (enum local_step)step.what, argument);
    lab->observe = NULL;
    if (begins < p->trace.count && step.who < lab->ranks) p->trace.record[begins].phase = phase_now(lab);
    if (out.taken) {
        const struct frame *f = frame_of(lab, out.taken);
        add(p, (struct hark_trace_record){.peer = f->from, .peer_inc = hark_get32(f->header + 12), .flags = HARK_TRACE_PEER_INC,
            .ssn = frame_ssn(f), .phase = phase_now(lab)}, step.who, HARK_TRACE_DELIVER);
    }
}

int picture_draw(struct picture *p, FILE *out, char error[HARK_TRACE_ERROR])
{
    const struct hark_diagram_options whole = {.window = true, .from_ms = 0, .to_ms = (double)p->step + 1};
    if (p->failed) {
        snprintf(error, HARK_TRACE_ERROR, "no memory for the picture");
        return -1;
    }
    return hark_view_diagram(&p->trace, &whole, out, error) == HARK_TRACE_OK ? 0 : -1;
}

void picture_free(struct picture *p)
{
    free(p->trace.record);
    memset(p, 0, sizeof *p);
}
