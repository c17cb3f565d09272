#include "picture.h"

#include <stdlib.h>
#include <string.h>

#include "carries.h"
#include "describe.h"

static const uint64_t STEP_NS = 1000000;

/* The array with room for `room`; as it was, and p->failed, if there is no memory. */
static void *roomier(struct picture *p, void *array, uint64_t room, size_t size)
{
    void *more = realloc(array, room * size);
    if (more == NULL) p->failed = true;
    return more ? more : array;
}

/* The recovery process is one more rank of the picture. */
static void add(struct picture *p, struct hark_trace_record r, uint32_t who, uint8_t kind)
{
    if (p->trace.count == p->room) {
        uint64_t room = p->room ? p->room * 2 : 64;
        p->trace.record = roomier(p, p->trace.record, room, sizeof *p->trace.record);
        p->word = roomier(p, p->word, room, sizeof *p->word);
        if (p->failed) return;
        p->room = room;
    }
    r.time = p->step * STEP_NS;
    r.rank = who;
    r.inc = p->inc;
    r.kind = kind;
    p->word[p->trace.count] = (struct hark_diagram_word){.got = UINT64_MAX};
    p->trace.record[p->trace.count++] = r;
}

static void note(struct picture *p, uint64_t step, uint32_t who, enum hark_diagram_note_kind kind,
    const char *text)
{
    uint32_t n = p->schedule.notes;
    if (n == p->note_room) {
        uint32_t room = n ? n * 2 : 64;
        p->note = roomier(p, p->note, room, sizeof *p->note);
        if (p->failed) return;
        p->note_room = room;
    }
    p->note[n] =
        (struct hark_diagram_note){.time = step * STEP_NS, .rank = who, .kind = (uint8_t)kind};
    snprintf(p->note[n].text, sizeof p->note[n].text, "%s", text);
    p->schedule.notes++;
}

/* The phase of the process that moves; infinite where its protocol has no such thing. */
static uint64_t phase_now(const struct lab *lab)
{
    const struct hark_shape *s = lab->protocol->shape;
    for (uint32_t i = 0; i < s->fields && lab->running && lab->who_now < lab->ranks; i++)
        if (strcmp(s->field[i].name, "phase") == 0) return hark_number(lab->core, &s->field[i]);
    return HARK_INFINITY;
}

/* ---- effects --------------------------------------------------------------------------------- */

static void observe_arrival(struct picture *p, const struct hark_event *e)
{
    const uint8_t *h = e->u.frame.header.at;
    memset(&p->arrived, 0, sizeof p->arrived);
    if (e->type != HARK_ARRIVE || h[1] != HARK_APP) return;
    p->arrived = (struct hark_trace_record){.peer = hark_get32(h + 4),
        .peer_inc = hark_get32(h + 12),
        .flags = HARK_TRACE_PEER_INC,
        .ctx = hark_get16(h + 2),
        .ssn = hark_get64(h + 24)};
}

/* What became of a message in this incarnation. */
static uint32_t *fate_of(struct picture *p, uint32_t who, const struct hark_name *m)
{
    static uint32_t beyond;
    beyond = PICTURE_GONE;
    if (who >= p->lab->ranks || m->peer >= p->lab->ranks || m->ssn > HARK_SCENARIO_SSN)
        return &beyond;
    return &p->fate[who][m->peer][m->ssn];
}

/* It waits from now on. */
static void posted(struct picture *p, uint32_t who, uint32_t *fate)
{
    if (*fate == PICTURE_GONE) return;
    note(p, p->step, who, HARK_NOTE_HELD, "");
    *fate = p->schedule.notes;
}

/* It goes, or need not go. Has it waited? */
static bool goes(struct picture *p, uint32_t *fate)
{
    bool waited = *fate != 0 && *fate != PICTURE_GONE;
    if (waited) p->note[*fate - 1].kind = HARK_NOTE_NONE; /* the arrow shows it */
    *fate = PICTURE_GONE;
    return waited;
}

/* What a process has posted and not sent waits until now. */
static void stays(struct picture *p, uint32_t who)
{
    for (uint32_t i = 0; i < p->schedule.notes; i++) {
        struct hark_diagram_note *n = &p->note[i];
        if (n->kind == HARK_NOTE_HELD && n->rank == who && n->until == 0)
            n->until = p->step * STEP_NS;
    }
}

/* What it posted before it knew that the receiver has it is not sent either; some frames say so. */
static void spared(struct picture *p, uint32_t who, const struct hark_names *run)
{
    struct hark_name m = run->name;
    for (; m.ssn && m.ssn <= run->last && m.ssn <= HARK_SCENARIO_SSN; m.ssn++) {
        uint32_t *fate = fate_of(p, who, &m);
        if (*fate == 0 || *fate == PICTURE_GONE) continue;
        p->note[*fate - 1].until = p->step * STEP_NS;
        *fate = PICTURE_GONE;
        add(p, (struct hark_trace_record){.peer = m.peer, .ctx = m.ctx, .ssn = m.ssn}, who,
            HARK_TRACE_SUPPRESS);
    }
}

static struct hark_trace_record record_of(const struct hark_name *name, uint64_t phase)
{
    return (struct hark_trace_record){
        .peer = name->peer, .ctx = name->ctx, .ssn = name->ssn, .phase = phase};
}

/* What waited, for its phase or for others, is not sent again when it goes. */
static void observe_transmit(struct picture *p, uint32_t who, const struct hark_transmit *x)
{
    struct hark_trace_record m = record_of(&x->name, x->phase);
    bool waited = x->name.ssn && goes(p, fate_of(p, who, &x->name));
    struct carries c;
    carries(p->lab, x->header, &c);
    spared(p, who, &c.spared);
    m.peer = x->peer == HARK_RECOVERY ? p->lab->ranks : x->peer;
    m.peer_inc = x->inc;
    m.flags = HARK_TRACE_PEER_INC;
    add(p, m, who, x->replay && !waited ? HARK_TRACE_REPLAY : HARK_TRACE_TRANSMIT);
    if (p->failed) return;
    p->trace.record[p->trace.count - 1].inc = hark_get32(x->header.at + 12); /* which it need not be
                                                                                (S-7) */
    struct hark_diagram_word *w = &p->word[p->trace.count - 1];
    snprintf(w->text, sizeof w->text, "%s", c.text);
    snprintf(w->brief, sizeof w->brief, "%s", c.brief);
}

/* A contribution, or what all gave, is taken where it arrives. */
static void observe_retain(struct picture *p, uint32_t who, const struct hark_name *name)
{
    if (name->way == HARK_IN) {
        p->arrived.phase = phase_now(p->lab);
        if (p->arrived.ssn) add(p, p->arrived, who, HARK_TRACE_DELIVER);
        return;
    }
    struct hark_trace_record m = record_of(name, phase_now(p->lab));
    m.flags = HARK_TRACE_LOGGED;
    posted(p, who, fate_of(p, who, name));
    add(p, m, who, HARK_TRACE_SEND);
}

static void observe(void *self, const struct hark_event *event, const struct hark_effect *x)
{
    struct picture *p = self;
    uint32_t who = p->lab->who_now;
    if (event) {
        observe_arrival(p, event);
        return;
    }
    const bool checkpoint =
        x->type == HARK_CAPTURE || x->type == HARK_COMMIT || x->type == HARK_ROLLBACK;
    struct hark_trace_record r = {.id = checkpoint ? x->u.checkpoint.id : 0};
    switch (x->type) {
    case HARK_TRANSMIT: observe_transmit(p, who, &x->u.transmit); break;
    case HARK_RETAIN: observe_retain(p, who, &x->u.retain.name); break;
    case HARK_SUPPRESS:
        (void)goes(p, fate_of(p, who, &x->u.suppress.name));
        add(p, record_of(&x->u.suppress.name, x->u.suppress.phase), who, HARK_TRACE_SUPPRESS);
        break;
    case HARK_HOLD:
    case HARK_HANDUP:
        if (p->arrived.ssn) add(p, p->arrived, who, HARK_TRACE_ARRIVE);
        break;
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

/* ---- frames on their way --------------------------------------------------------------------- */

/* The control frames that left in this step, whose records begin at `first`. */
static void depart(struct picture *p, uint64_t first, uint32_t frames)
{
    struct lab *lab = p->lab;
    const uint32_t *part = frames ? intern_at(&lab->part, frames) : NULL;
    uint32_t k = 0, count = frames ? intern_length(&lab->part, frames) / (uint32_t)sizeof *part : 0;
    for (uint64_t i = first; i < p->trace.count && k < count; i++) {
        const struct hark_trace_record *r = &p->trace.record[i];
        if (r->kind != HARK_TRACE_TRANSMIT && r->kind != HARK_TRACE_REPLAY) continue;
        uint32_t of = part[k++];
        if (r->ssn) continue;
        if (p->flights == p->flight_room) {
            uint32_t room = p->flights ? p->flights * 2 : 64;
            p->flight = roomier(p, p->flight, room, sizeof *p->flight);
            if (p->failed) return;
            p->flight_room = room;
        }
        p->flight[p->flights++] = (struct picture_flight){of, i};
    }
}

/* Of equal ones the first that left. */
static void arrive(struct picture *p, uint32_t part)
{
    for (uint32_t i = 0; i < p->flights; i++) {
        if (p->flight[i].part != part) continue;
        p->word[p->flight[i].record].got = p->step * STEP_NS;
        memmove(&p->flight[i], &p->flight[i + 1], (p->flights - i - 1) * sizeof *p->flight);
        p->flights--;
        return;
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The failure, and what will be announced of it. */
static void crashed(struct picture *p, const struct job *job, struct job_step step)
{
    struct job after = *job;
    char text[32];
    bool happened;
    uint32_t damaged = job_argument(p->lab, job, step);
    const bool all = step.what == STEP_SERVICE;
    snprintf(text, sizeof text, "image %u damaged", damaged);
    if (damaged) note(p, p->step, step.who, HARK_NOTE_STEP, text);
    (void)job_take(p->lab, &after, step, &happened);
    const struct service *s = job_service(p->lab, &after);
    for (uint32_t i = all ? 0 : step.who; i < (all ? p->lab->who : step.who + 1u); i++) {
        if (!local_info(p->lab, job->at[i])->running) continue;
        p->inc = local_info(p->lab, job->at[i])->inc;
        stays(p, i);
        add(p, (struct hark_trace_record){0}, i, HARK_TRACE_KILL);
    }
    p->inc = 0;
    for (uint32_t i = 0; i < p->lab->ranks; i++)
        if (s->down >> i & 1)
            add(p, (struct hark_trace_record){.id = s->re, .peer = i, .last = i},
                HARK_TRACE_SUPERVISOR, HARK_TRACE_FAILED);
}

/* The step in a few letters, where no arrow or mark says it. */
static void noted(
    struct picture *p, const struct job *job, struct job_step step, const struct outcome *out)
{
    char text[DESCRIBE_BYTES], *what;
    if (step.what == STEP_TOLD) note(p, p->step, step.who, HARK_NOTE_TOLD, "");
    if (step.what != STEP_APP && step.what != STEP_IDLE && step.what != STEP_ANSWER &&
        step.what != STEP_STORED)
        return;
    describe_step(p->lab, job, step, text);
    what = strchr(text, ' ') + 1;
    if (strncmp(what, "R from", 6) == 0) what[1] = 0; /* the arrow says from whom */
    if (step.what == STEP_APP && what[0] == 'T') strcat(what, out->taken ? " hits" : " misses");
    if (step.what == STEP_APP && what[0] == 'L') strcat(what, out->saw ? " sees" : " misses");
    note(p, p->step, step.who, HARK_NOTE_STEP, what);
}

static void restarts(struct picture *p, uint32_t who, const struct restart *r)
{
    stays(p, who);
    p->inc = r->inc;
    if (who < p->lab->ranks) memset(p->fate[who], 0, sizeof p->fate[who]);
    add(p, (struct hark_trace_record){.id = r->checkpoint}, who, HARK_TRACE_RESTART);
}

void picture_step(struct picture *p, const struct job *job, struct job_step step)
{
    struct lab *lab = p->lab;
    uint64_t begins = p->trace.count;
    uint32_t argument = job_argument(lab, job, step);
    p->step++;
    p->inc = local_info(lab, job->at[step.who])->inc;
    p->last = step.who;
    if (step.what == STEP_CRASH || step.what == STEP_SERVICE) {
        crashed(p, job, step);
        return;
    }
    if (step.what == STEP_RESTART) restarts(p, step.who, intern_at(&lab->part, argument));
    if (step.what == STEP_FRAME) arrive(p, argument);
    lab->observe = observe;
    lab->observer = p;
    struct outcome out = local_make(lab, job->at[step.who], (enum local_step)step.what, argument);
    lab->observe = NULL;
    if (p->failed) return;
    if (step.what == STEP_RESTART) p->trace.record[begins].phase = phase_now(lab);
    if (out.taken) {
        const struct frame *f = frame_of(lab, out.taken);
        add(p,
            (struct hark_trace_record){.peer = hark_get32(f->header + 4),
                .peer_inc = hark_get32(f->header + 12),
                .flags = HARK_TRACE_PEER_INC,
                .ctx = hark_get16(f->header + 2),
                .ssn = frame_ssn(f),
                .phase = phase_now(lab)},
            step.who, HARK_TRACE_DELIVER);
    }
    depart(p, begins, out.frames);
    noted(p, job, step, &out);
}

/* ---- begin and end --------------------------------------------------------------------------- */

void picture_begin(struct picture *p, struct lab *lab, const struct job *job)
{
    const struct hark_scenario *s = lab->scenario;
    memset(p, 0, sizeof *p);
    p->lab = lab;
    for (uint32_t i = 0; i < lab->who; i++) {
        p->cluster[i] = i < lab->ranks ? s->cluster[i] : HARK_SCENARIO_RANKS;
        if (i < lab->ranks) snprintf(p->name[i], sizeof p->name[i], "p%u", i);
        else snprintf(p->name[i], sizeof p->name[i], "recovery");
        p->names[i] = p->name[i];
        p->program[i] = i < lab->ranks ? hark_scenario_program(s, i) : calloc(1, 1);
        if (p->program[i] == NULL) p->failed = true;
        local_open_core(lab, job->at[i]);
        add(p, (struct hark_trace_record){.phase = phase_now(lab)}, i, HARK_TRACE_START);
    }
    p->trace.job = (struct hark_trace_job){lab->who, lab->protocol->name, "search", p->cluster};
}

static void why(struct picture *p, uint32_t who, const char *text)
{
    note(p, p->step + 1, who, HARK_NOTE_STOP, text);
}

/* What a process that has not come to its end waits at. */
static void waits(struct picture *p, const struct job *job, uint32_t who)
{
    char text[52];
    local_open(p->lab, job->at[who]);
    const struct hark_op *op = &p->lab->scenario->op[who][p->lab->at.app.pc];
    char letter = hark_op_letter(op->type);
    if (op->peer >= 0) snprintf(text, sizeof text, "waits at %c%d", letter, op->peer);
    else snprintf(text, sizeof text, "waits at %c", letter);
    why(p, who, local_info(p->lab, job->at[who])->running ? text : "does not run");
}

/* Nothing can happen any more: who is in the way, in the order in which job_final() looks. */
static void blame(struct picture *p, const struct job *job, uint16_t violated)
{
    struct lab *lab = p->lab;
    uint32_t down = job_service(lab, job)->down;
    for (uint32_t i = 0; i < lab->who; i++) {
        const struct local_info *info = local_info(lab, job->at[i]);
        if (violated == VIOLATED_WAITS && i < lab->ranks && !info->ended) waits(p, job, i);
        if (violated == VIOLATED_LOST && job->at[lab->who + i]) why(p, i, "frames for it remain");
        if (violated == VIOLATED_HELD && info->held) why(p, i, "holds frames");
        if (violated == VIOLATED_ENDLESS && (lab->recovery ? i == lab->ranks : down >> i & 1))
            why(p, i, "is not done");
        local_open_core(lab, job->at[i]);
        const struct hark_protocol *protocol = i == lab->ranks ? lab->recovery : lab->protocol;
        const char *unrest =
            violated == VIOLATED_UNREST && lab->running ? protocol->unrest(lab->core) : NULL;
        if (unrest) why(p, i, unrest);
    }
}

/* In the last step: what the core itself says of it, if it does. */
static void broken(struct picture *p, const struct job *job, uint16_t violated)
{
    const struct hark_protocol *protocol =
        p->last == p->lab->ranks ? p->lab->recovery : p->lab->protocol;
    local_open_core(p->lab, job->at[p->last]);
    const char *text =
        violated == VIOLATED_VIOLATED && p->lab->running ? protocol->violated(p->lab->core) : NULL;
    note(p, p->step, p->last, HARK_NOTE_STOP, text ? text : "");
}

void picture_end(struct picture *p, const struct job *job, uint16_t violated, bool over)
{
    if (violated == 0) return;
    snprintf(p->violated, sizeof p->violated, "%s step %llu: %s", over ? "after" : "in",
        (unsigned long long)p->step, lab_violation(violated));
    p->schedule.violated = p->violated;
    p->schedule.violated_at = (p->step + over) * STEP_NS;
    if (over) blame(p, job, violated);
    else broken(p, job, violated);
}

/* All in one cluster, or each in its own. */
static bool plain(const struct lab *lab)
{
    uint32_t same = 0, pairs = lab->ranks * (lab->ranks - 1) / 2;
    for (uint32_t i = 0; i < lab->ranks; i++)
        for (uint32_t k = 0; k < i; k++)
            same += lab->scenario->cluster[i] == lab->scenario->cluster[k];
    return same == 0 || same == pairs;
}

static void head(struct picture *p)
{
    const struct hark_scenario *s = p->lab->scenario;
    struct hark_diagram_schedule *d = &p->schedule;
    const size_t room = sizeof p->summary;
    size_t n = (size_t)snprintf(
        p->summary, room, "%llu step%s", (unsigned long long)p->step, p->step == 1 ? "" : "s");
    for (uint64_t i = 0; i < p->trace.count && n + 60 < room; i++) {
        const struct hark_trace_record *r = &p->trace.record[i];
        if (r->kind != HARK_TRACE_KILL) continue;
        n += (size_t)snprintf(p->summary + n, room - n, "; %s fails in step %llu", p->name[r->rank],
            (unsigned long long)(r->time / STEP_NS));
    }
    snprintf(p->title, sizeof p->title, "%s%s%s", s->name, s->name[0] ? ", " : "",
        p->lab->protocol->name);
    d->title = p->title;
    d->about = s->about;
    d->summary = p->summary;
    d->name = p->names;
    d->program = (const char *const *)p->program;
    d->plain = plain(p->lab);
    d->word = p->word;
    d->note = p->note;
    d->step = STEP_NS;
    d->end = (p->step + 1) * STEP_NS;
}

int picture_draw(struct picture *p, FILE *out, char error[HARK_TRACE_ERROR])
{
    const struct hark_diagram_options whole = {.width = PICTURE_WIDTH, .schedule = &p->schedule};
    if (p->failed) {
        snprintf(error, HARK_TRACE_ERROR, "no memory for the picture");
        return -1;
    }
    p->step++;
    for (uint32_t i = 0; i < p->lab->ranks; i++) stays(p, i);
    p->step--;
    head(p);
    return hark_view_diagram(&p->trace, &whole, out, error) == HARK_TRACE_OK ? 0 : -1;
}

void picture_free(struct picture *p)
{
    for (uint32_t i = 0; i < LOCAL_WHO; i++) free(p->program[i]);
    free(p->trace.record);
    free(p->word);
    free(p->note);
    free(p->flight);
    memset(p, 0, sizeof *p);
}
