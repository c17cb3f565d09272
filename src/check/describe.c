#include "describe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void name_of(const struct lab *lab, uint32_t who, char text[16])
{
    if (who == lab->ranks) snprintf(text, 16, "recovery");
    else snprintf(text, 16, "p%u", who);
}

static const char *type_of(const struct lab *lab, uint8_t type)
{
    return hark_frame_text(lab->protocol->shape, type);
}

/* "APP 3 from p0": what and from whom. */
static void frame_text(const struct lab *lab, const struct frame *f, char text[64])
{
    char from[16];
    name_of(lab, f->from, from);
    if (f->header[1] == HARK_APP)
        snprintf(text, 64, "APP %llu from %s", (unsigned long long)frame_ssn(f), from);
    else snprintf(text, 64, "%s from %s", type_of(lab, f->header[1]), from);
}

/* Frames that read alike are counted. */
static void arrival_text(
    const struct lab *lab, const struct job *job, struct job_step step, char *text, size_t room)
{
    char mine[64], other[64];
    unsigned alike = 1;
    frame_text(lab, frame_of(lab, job_frame(lab, job, step.who, step.index)), mine);
    for (uint32_t k = 0; k < step.index; k++) {
        uint32_t before = job_frame(lab, job, step.who, k);
        frame_text(lab, frame_of(lab, before), other);
        if (strcmp(mine, other) == 0 && before != job_frame(lab, job, step.who, step.index))
            alike++;
    }
    if (alike == 1) snprintf(text, room, "gets %s", mine);
    else snprintf(text, room, "gets %s, #%u", mine, alike);
}

/* Where the process is in its program. Returns what stands there. */
static uint8_t place_text(
    struct lab *lab, const struct job *job, uint32_t who, char *text, size_t room)
{
    char tag[8] = "", peer[8] = "";
    local_open(lab, job->at[who]);
    const struct hark_op *op = &lab->scenario->op[who][lab->at.app.pc];
    if (op->ssn) snprintf(tag, sizeof tag, ".%u", op->ssn);
    if (op->peer >= 0) snprintf(peer, sizeof peer, "%d", op->peer);
    snprintf(text, room, "%c%s%s", hark_op_letter(op->type), peer, tag);
    return op->type;
}

static void operation_text(
    struct lab *lab, const struct job *job, struct job_step step, char *text, size_t room)
{
    const uint8_t type = place_text(lab, job, step.who, text, room);
    const bool anyone = (type == HARK_OP_RECEIVE || hark_op_looks(type)) && text[1] == 0;
    if (anyone && step.index < lab->ranks)
        snprintf(text, room, "%c from p%u", hark_op_letter(type), step.index);
}

void describe_waits(struct lab *lab, const struct job *job, char text[DESCRIBE_BYTES])
{
    uint32_t n = 0;
    text[0] = 0;
    for (uint32_t who = 0; who < lab->ranks && n < DESCRIBE_BYTES; who++) {
        char place[32];
        if (local_info(lab, job->at[who])->ended) continue;
        (void)place_text(lab, job, who, place, sizeof place);
        n += (uint32_t)snprintf(
            text + n, DESCRIBE_BYTES - n, "%sp%u at %s", n ? ", " : "", who, place);
    }
}

void describe_step(
    struct lab *lab, const struct job *job, struct job_step step, char text[DESCRIBE_BYTES])
{
    char who[16], what[DESCRIBE_BYTES - 20];
    what[0] = 0;
    name_of(lab, step.who, who);
    if (step.what == STEP_SERVICE) {
        if (step.index)
            snprintf(what, sizeof what, ", the fact of %s is durable and not answered", who);
        snprintf(text, DESCRIBE_BYTES, "service fails%s", what);
        return;
    }
    switch (step.what) {
    case STEP_FRAME: arrival_text(lab, job, step, what, sizeof what); break;
    case STEP_APP: operation_text(lab, job, step, what, sizeof what); break;
    case STEP_TOLD:
        snprintf(what, sizeof what, "told %u", local_info(lab, job->at[step.who])->seen + 1);
        break;
    case STEP_STORED:
        local_open(lab, job->at[step.who]);
        snprintf(what, sizeof what, step.index ? "can not store %llu" : "stored %llu",
            (unsigned long long)lab->at.store_id);
        break;
    case STEP_ANSWER: snprintf(what, sizeof what, "answered"); break;
    case STEP_IDLE: snprintf(what, sizeof what, "idle"); break;
    case STEP_RESTART: snprintf(what, sizeof what, "restarts"); break;
    case STEP_CRASH: {
        uint32_t damaged = job_argument(lab, job, step);
        if (damaged) snprintf(what, sizeof what, "fails, and its image %u is damaged", damaged);
        else snprintf(what, sizeof what, "fails");
        break;
    }
    default: break;
    }
    snprintf(text, DESCRIBE_BYTES, "%s %s", who, what);
}

bool describe_find(struct lab *lab, const struct job *job, const char *text, struct job_step *step)
{
    struct job_step all[JOB_STEPS];
    uint32_t failing, n = job_steps(lab, job, all, &failing);
    for (uint32_t k = 0; k < n; k++) {
        char mine[DESCRIBE_BYTES];
        describe_step(lab, job, all[k], mine);
        if (strcmp(mine, text) != 0) continue;
        *step = all[k];
        return true;
    }
    return false;
}

/* ---- transcripts ----------------------------------------------------------------------------- */

struct transcript {
    struct lab *lab;
    char *text;
    size_t length;
    bool begun; /* the event of the step itself has been seen */
};

static void say(struct transcript *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void say(struct transcript *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(t->text + t->length, TRANSCRIPT_BYTES - t->length, format, list);
    va_end(list);
    t->length += n > 0 ? (size_t)n : 0;
    if (t->length >= TRANSCRIPT_BYTES) t->length = TRANSCRIPT_BYTES - 1;
}

static void say_transmit(struct transcript *t, const struct hark_transmit *x)
{
    char to[16];
    name_of(t->lab, x->peer == HARK_RECOVERY ? t->lab->ranks : x->peer, to);
    say(t, " %s", type_of(t->lab, x->header.at[1]));
    if (x->name.ssn) say(t, " %llu", (unsigned long long)x->name.ssn);
    say(t, " to %s%s", to, x->replay ? " again" : "");
}

static void say_message(struct transcript *t, const struct hark_name *name)
{
    say(t, " %llu %s %s%u", (unsigned long long)name->ssn, name->way == HARK_IN ? "from" : "to",
        name->to == HARK_GROUP ? "group " : "p", name->peer);
}

static void say_fact(struct transcript *t, const struct hark_fact *fact)
{
    if (fact->kind == HARK_FACT_BACK || fact->kind == HARK_FACT_LINE)
        say(t, " p%u back to %llu%s", fact->rank, (unsigned long long)fact->id,
            fact->kind == HARK_FACT_LINE ? ", all" : "");
    else
        say(t, " %s %llu", fact->kind == HARK_FACT_WAVE ? "wave" : "done",
            (unsigned long long)fact->id);
}

static void observe(void *self, const struct hark_event *event, const struct hark_effect *x)
{
    struct transcript *t = self;
    if (event) {
        if (t->begun) say(t, "%s%s:", t->length ? "; " : "", hark_event_text(event->type));
        t->begun = true;
        return;
    }
    bool first = t->length == 0 || t->text[t->length - 1] == ':';
    say(t, "%s%s", t->length == 0 ? "" : first ? " " : ", ", hark_event_text(x->type));
    switch (x->type) {
    case HARK_TRANSMIT: say_transmit(t, &x->u.transmit); break;
    case HARK_RETAIN: say_message(t, &x->u.retain.name); break;
    case HARK_TRIM: say_message(t, &x->u.trim.name); break;
    case HARK_SUPPRESS: say_message(t, &x->u.suppress.name); break;
    case HARK_PERSIST: say_fact(t, &x->u.persist); break;
    case HARK_CAPTURE:
    case HARK_COMMIT:
    case HARK_DROP:
    case HARK_ROLLBACK: say(t, " %llu", (unsigned long long)x->u.checkpoint.id); break;
    default: break;
    }
}

uint16_t describe_take(
    struct lab *lab, struct job *job, struct job_step step, char text[TRANSCRIPT_BYTES])
{
    struct transcript t = {lab, text, 0, false};
    bool happened;
    text[0] = 0;
    lab->observe = observe;
    lab->observer = &t;
    if (step.what != STEP_SERVICE)
        (void)local_make(
            lab, job->at[step.who], (enum local_step)step.what, job_argument(lab, job, step));
    lab->observe = NULL;
    return job_take(lab, job, step, &happened);
}
