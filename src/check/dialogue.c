#include "dialogue.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "carries.h"
#include "describe.h"

enum { NAME_BYTES = 16, WHAT_BYTES = 64 };

/* "p1", or "the recovery process". */
static const char *name_of(const struct lab *lab, uint32_t who, char text[NAME_BYTES])
{
    if (who == lab->ranks || who == HARK_RECOVERY) return "recovery";
    snprintf(text, NAME_BYTES, "p%u", who);
    return text;
}

/* A sentence below the step, about the process that makes it. */
static void line(struct dialogue *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line(struct dialogue *d, const char *format, ...)
{
    char me[NAME_BYTES];
    va_list list;
    fprintf(d->out, "       %s ", name_of(d->lab, d->lab->who_now, me));
    va_start(list, format);
    vfprintf(d->out, format, list);
    va_end(list);
    fputc('\n', d->out);
}

/* Does a reduction go along this context? See group_ctx(). */
static bool reduces(uint32_t ctx)
{
    return ctx && ctx % 2 == 0;
}

static const char *kind_of(uint32_t ctx)
{
    return ctx == 0 ? "message" : reduces(ctx) ? "part of reduction" : "multicast";
}

/* "message 2 from p0", "multicast 1 from p0", "POS from p1": whosever it is, whoever has brought
 * it. */
static void header_text(const struct lab *lab, const uint8_t *header, char text[WHAT_BYTES])
{
    const uint32_t ctx = hark_get16(header + 2);
    const bool result = reduces(ctx) && hark_get32(header + 4) == hark_get32(header + 8);
    const unsigned long long ssn = hark_get64(header + 24);
    char from[NAME_BYTES];
    const char *name = name_of(lab, hark_get32(header + 4), from);
    if (header[1] == HARK_APP && result)
        snprintf(text, WHAT_BYTES, "the result of reduction %llu", ssn);
    else if (header[1] == HARK_APP)
        snprintf(text, WHAT_BYTES, "%s %llu from %s", kind_of(ctx), ssn, name);
    else
        snprintf(
            text, WHAT_BYTES, "%s from %s", hark_frame_text(lab->protocol->shape, header[1]), name);
}

/* ---- effects --------------------------------------------------------------------------------- */

/* What a type of frame means is written where it first stands. */
static void explain(struct dialogue *d, uint8_t type)
{
    const char *says = hark_frame_says(d->lab->protocol->shape, type);
    if (says == NULL || type >= 64 || d->explained >> type & 1) return;
    d->explained |= UINT64_C(1) << type;
    fprintf(d->out, "%*s\"%s\"\n", 18, "", says);
}

/* What does not fit ends at a whole part. */
static void shorten(struct carries *c)
{
    if (strlen(c->text) + 1 < sizeof c->text) return;
    char *end = strrchr(c->text, ';');
    if (end && end + 6 < c->text + sizeof c->text) memcpy(end, "; ...", 6);
}

static void transmitted(struct dialogue *d, const struct hark_transmit *x)
{
    const uint8_t type = x->header.at[1];
    const uint32_t ctx = hark_get16(x->header.at + 2);
    const char *before = type != HARK_APP || ctx % 2 ? "" : ctx ? "reduction: " : "message ";
    char me[NAME_BYTES], to[NAME_BYTES];
    struct carries c;
    carries(d->lab, x->header, &c);
    shorten(&c);
    d->left |= type == HARK_APP;
    fprintf(d->out, "       %s -> %s: %s%s%s\n", name_of(d->lab, d->lab->who_now, me),
        name_of(d->lab, x->peer, to), before, c.text, x->replay ? ", from the log" : "");
    explain(d, type);
}

/* "message 2 to p1", "multicast 1", "part of reduction 1 from p2"; or "messages to p1 up to 2". */
static void name_text(const struct hark_name *n, bool run, char text[WHAT_BYTES])
{
    const char *kind = kind_of(n->ctx);
    const unsigned long long ssn = n->ssn;
    char peer[NAME_BYTES + 8] = "";
    if (n->to != HARK_GROUP)
        snprintf(peer, sizeof peer, " %s p%u", n->way == HARK_IN ? "from" : "to", n->peer);
    if (run) snprintf(text, WHAT_BYTES, "%ss%s up to %llu", kind, peer, ssn);
    else snprintf(text, WHAT_BYTES, "%s %llu%s", kind, ssn, peer);
}

static void about_payload(struct dialogue *d, uint32_t type, const struct hark_name *name)
{
    char what[WHAT_BYTES];
    name_text(name, type == HARK_TRIM, what);
    switch (type) {
    case HARK_RETAIN: line(d, "keeps %s in its log.", what); break;
    case HARK_TRIM: line(d, "deletes from its log %s.", what); break;
    case HARK_SUPPRESS:
        line(d, "does not send %s again: its receiver has it.", what);
        d->left = true;
        break;
    default: line(d, "notices that %s is not what it sent before.", what); break;
    }
}

static void asked(struct dialogue *d, const struct hark_fact *fact)
{
    char of[NAME_BYTES];
    const char *name = name_of(d->lab, fact->rank, of);
    const bool all = fact->rank == HARK_RECOVERY;
    const unsigned long long id = fact->id;
    switch (fact->kind) {
    case HARK_FACT_WAVE:
        line(d, "-> failure service: record that checkpoint %llu of the group of %s is decided", id,
            name);
        break;
    case HARK_FACT_DONE:
        line(d, "-> failure service: record that recovery%s%s is over", all ? "" : " of ",
            all ? "" : name);
        break;
    default: line(d, "-> failure service: %s must go back to checkpoint %llu too", name, id); break;
    }
}

static void about_checkpoint(struct dialogue *d, uint32_t type, unsigned long long id)
{
    char point[32] = "the beginning";
    if (id) snprintf(point, sizeof point, "checkpoint %llu", id);
    switch (type) {
    case HARK_CAPTURE: line(d, "saves its image for checkpoint %llu.", id); break;
    case HARK_COMMIT: line(d, "can from now on go back to checkpoint %llu.", id); break;
    case HARK_DROP: line(d, "forgets checkpoint %llu.", id); break;
    default: line(d, "has to go back to %s, and ends this incarnation.", point); break;
    }
}

/* An event within the step: what was held is looked at again. */
static void event_within(struct dialogue *d, const struct hark_event *e)
{
    if (e->type == HARK_ARRIVE) line(d, "looks again at what it held: %s.", d->arrived);
    if (e->type == HARK_DELIVER)
        line(d, "receives %s, which its application waits for.", d->arrived);
    if (e->type == HARK_COMBINED) line(d, "combines what it has of the reduction.");
}

static void observe(void *self, const struct hark_event *e, const struct hark_effect *x)
{
    struct dialogue *d = self;
    if (e) {
        const bool frame =
            e->type == HARK_ARRIVE || e->type == HARK_DELIVER || e->type == HARK_LOOK;
        if (frame) header_text(d->lab, e->u.frame.header.at, d->arrived);
        if (d->begun) event_within(d, e);
        d->begun = true;
        return;
    }
    switch (x->type) {
    case HARK_TRANSMIT: transmitted(d, &x->u.transmit); break;
    case HARK_HANDUP: line(d, "gives it to its application, which may receive it."); break;
    case HARK_HOLD: line(d, "holds it: its time has not come."); break;
    case HARK_DISCARD: line(d, "drops it: it is a duplicate, or from before a failure."); break;
    case HARK_PERSIST: asked(d, &x->u.persist); break;
    case HARK_RESUME: line(d, "lets its application go on behind the checkpoint call."); break;
    case HARK_RECOVERED: line(d, "is done with this recovery."); break;
    case HARK_OFFER:
    case HARK_COMBINE: break; /* what comes of it is an event within the step */
    case HARK_CAPTURE:
    case HARK_COMMIT:
    case HARK_DROP:
    case HARK_ROLLBACK: about_checkpoint(d, x->type, x->u.checkpoint.id); break;
    case HARK_RETAIN: about_payload(d, x->type, &x->u.retain.name); break;
    case HARK_TRIM: about_payload(d, x->type, &x->u.trim.name); break;
    case HARK_SUPPRESS: about_payload(d, x->type, &x->u.suppress.name); break;
    default: about_payload(d, x->type, &x->u.diverged.name); break;
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* "p0, p2": the processes of a set. */
static void set_text(const struct lab *lab, uint32_t set, char *text, size_t room)
{
    size_t n = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < lab->ranks && n < room; i++)
        if (set >> i & 1) n += (size_t)snprintf(text + n, room - n, "%sp%u", n ? ", " : "", i);
}

/* What it takes: `taken` is the part of a frame, 0: nothing. */
static void receive_text(const struct lab *lab, const struct hark_op *op, const struct outcome *out,
    char *text, size_t room)
{
    const uint32_t taken = out->taken ? out->taken : out->saw;
    const bool looks = hark_op_looks(op->type);
    char what[WHAT_BYTES], from[NAME_BYTES] = "anyone";
    if (op->peer >= 0) snprintf(from, sizeof from, "p%d", op->peer);
    if (taken) header_text(lab, frame_of(lab, taken)->header, what);
    if (!out->happened)
        snprintf(text, room, "wants to receive from %s: the protocol lets it wait", from);
    else if (taken) snprintf(text, room, looks ? "sees that %s is there" : "receives %s", what);
    else if (op->type == HARK_OP_WAIT)
        snprintf(text, room, "has received what it tested for, and goes on");
    else snprintf(text, room, "looks for a message from %s: there is none", from);
}

static void operation_text(
    struct lab *lab, const struct job *job, struct job_step step, char *text, size_t room)
{
    const struct outcome out = local_take(lab, job->at[step.who], STEP_APP, step.index);
    local_open(lab, job->at[step.who]);
    const struct hark_op *op = &lab->scenario->op[step.who][lab->at.app.pc];
    switch (op->type) {
    case HARK_OP_SEND:
        snprintf(text, room, "sends message %u to p%d", lab->at.app.sent[op->peer] + 1u, op->peer);
        break;
    case HARK_OP_CHECKPOINT: snprintf(text, room, "comes to a checkpoint call"); break;
    case HARK_OP_CALL:
        snprintf(text, room, "comes to a checkpoint call at which none is due");
        break;
    case HARK_OP_OUTPUT:
        snprintf(text, room,
            out.happened ? "shows its output" : "wants to show output: the protocol lets it wait");
        break;
    case HARK_OP_MULTICAST: snprintf(text, room, "multicasts to its group"); break;
    case HARK_OP_CONTRIBUTE: snprintf(text, room, "contributes to a reduction"); break;
    case HARK_OP_TOLD: snprintf(text, room, "is given the next map of clusters"); break;
    default: receive_text(lab, op, &out, text, room); break;
    }
}

static void failure_text(
    struct lab *lab, const struct job *job, struct job_step step, char *text, size_t room)
{
    const uint32_t damaged = job_argument(lab, job, step);
    if (lab->scenario->fail[step.index].when == HARK_FAIL_CLUSTER)
        snprintf(text, room, "dies, and all of its cluster");
    else if (damaged)
        snprintf(text, room, "dies, and the image of its checkpoint %u is damaged", damaged);
    else snprintf(text, room, "dies");
}

static void restart_text(const struct lab *lab, uint32_t argument, char *text, size_t room)
{
    const struct restart *r = intern_at(&lab->part, argument);
    char point[32] = "the beginning";
    if (r->checkpoint)
        snprintf(point, sizeof point, "checkpoint %llu", (unsigned long long)r->checkpoint);
    snprintf(text, room, "starts again from %s, as incarnation %u", point, r->inc);
}

static void told_text(const struct lab *lab, uint32_t argument, char *text, size_t room)
{
    const struct announcement *a = intern_at(&lab->part, argument);
    char down[80];
    set_text(lab, a->down, down, sizeof down);
    if (a->down)
        snprintf(text, room, "hears from the failure service: recovery %u, %s must go back", a->re,
            down);
    else
        snprintf(text, room, "hears from the failure service: recovery %u, no process must go back",
            a->re);
}

static void frame_text(const struct lab *lab, uint32_t frame, char *text, size_t room)
{
    const struct frame *f = frame_of(lab, frame);
    char what[WHAT_BYTES], from[NAME_BYTES];
    header_text(lab, f->header, what);
    if (frame_src(lab, f) == f->from) snprintf(text, room, "gets %s", what);
    else snprintf(text, room, "gets %s, passed on by %s", what, name_of(lab, f->from, from));
}

/* The step in a sentence without its subject. */
static void step_text(
    struct lab *lab, const struct job *job, struct job_step step, char *text, size_t room)
{
    const uint32_t argument = step.what == STEP_SERVICE ? 0 : job_argument(lab, job, step);
    switch (step.what) {
    case STEP_FRAME: frame_text(lab, argument, text, room); break;
    case STEP_APP: operation_text(lab, job, step, text, room); break;
    case STEP_TOLD: told_text(lab, argument, text, room); break;
    case STEP_STORED:
        snprintf(text, room, step.index ? "can not store its image" : "has stored its image");
        break;
    case STEP_ANSWER:
        snprintf(text, room, "hears from the failure service: %s",
            argument ? "recorded" : "refused, a newer recovery has begun");
        break;
    case STEP_IDLE: snprintf(text, room, "has nothing else to do"); break;
    case STEP_RESTART: restart_text(lab, argument, text, room); break;
    case STEP_CRASH: failure_text(lab, job, step, text, room); break;
    default: snprintf(text, room, "?"); break;
    }
}

/* Is it a send? Then it is worth saying that nothing has left. */
static bool sends(struct lab *lab, const struct job *job, struct job_step step)
{
    if (step.what != STEP_APP) return false;
    local_open(lab, job->at[step.who]);
    return lab->scenario->op[step.who][lab->at.app.pc].type == HARK_OP_SEND;
}

void dialogue_step(struct dialogue *d, const struct job *job, struct job_step step)
{
    struct lab *lab = d->lab;
    char who[NAME_BYTES], text[DESCRIBE_BYTES];
    d->step++;
    if (step.what == STEP_SERVICE) {
        fprintf(d->out,
            "%4llu.  The failure service dies with its host, and all processes with it.\n",
            (unsigned long long)d->step);
        return;
    }
    step_text(lab, job, step, text, sizeof text);
    fprintf(
        d->out, "%4llu.  %s %s.\n", (unsigned long long)d->step, name_of(lab, step.who, who), text);
    const bool send = sends(lab, job, step);
    d->begun = d->left = false;
    d->arrived[0] = 0;
    lab->observe = observe;
    lab->observer = d;
    (void)local_make(
        lab, job->at[step.who], (enum local_step)step.what, job_argument(lab, job, step));
    lab->observe = NULL;
    if (send && !d->left) line(d, "does not let it leave yet.");
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* "p0 p1 | p2": the processes of each cluster. */
static void clusters(const struct dialogue *d)
{
    const struct hark_scenario *s = d->lab->scenario;
    fputs("Clusters:", d->out);
    for (uint32_t c = 0; c < s->ranks; c++) {
        bool first = true;
        for (uint32_t i = 0; i < s->ranks; i++) {
            if (s->cluster[i] != c) continue;
            fprintf(d->out, "%sp%u", first && c ? " | " : " ", i);
            first = false;
        }
    }
    fputs("\n", d->out);
}

void dialogue_begin(struct dialogue *d, struct lab *lab, FILE *out)
{
    const struct hark_scenario *s = lab->scenario;
    *d = (struct dialogue){.lab = lab, .out = out};
    fprintf(out, "%s%s%s\n\nProtocol: %s\n", s->name, s->about[0] ? ": " : "", s->about,
        lab->protocol->name);
    clusters(d);
    if (lab->recovery) fputs("recovery is the recovery process.\n", out);
    for (uint32_t i = 0; i < s->ranks; i++) {
        char *program = hark_scenario_program(s, i);
        fprintf(out, "Program of p%u: %s\n", i, program ? program : "");
        free(program);
    }
    fputc('\n', out);
}

void dialogue_end(const struct dialogue *d, uint16_t violated, bool over)
{
    if (violated) fprintf(d->out, "\nViolated: %s.\n", lab_violation(violated));
    else if (over)
        fputs("\nAll programs are at their end, no frame is on its way, and each process has "
              "received what it should.\n",
            d->out);
    else fputs("\nThe schedule ends here; more can happen.\n", d->out);
}
