/* lines.c: what goes between us and a process: its control socket and its output. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#include "hark/registry.h"

#define FULL          (1u << 20)  /* bytes that wait for their reader */
#define FULL_RECOVERY (64u << 20) /* the same during a recovery */

bool hark_sup_full(struct supervisor *s, int kind)
{
    bool recovering = s->died || hark_service_down(core_of(s));
    return hark_outlet_waiting(s->outlet[kind]) >= (recovering ? FULL_RECOVERY : FULL);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void taken(void *self, enum hark_pipe line, const uint8_t *at, size_t length)
{
    struct child *c = self;
    if (line != HARK_PIPE_CONTROL) {
        hark_output_take(&c->output[line == HARK_PIPE_ERR], (const char *)at, length);
        return;
    }
    const size_t needed = c->in_length + length;
    uint8_t *more = needed > c->in_room ? realloc(c->in, needed * 2) : c->in;
    if (more == NULL) {
        hark_sup_no_memory(c->s, "what a process says");
        return;
    }
    if (needed > c->in_room) c->in_room = needed * 2;
    c->in = more;
    memcpy(c->in + c->in_length, at, length);
    c->in_length = needed;
}

static bool full(void *self, enum hark_pipe line)
{
    return hark_sup_full(((struct child *)self)->s, line == HARK_PIPE_ERR);
}

static void stirred(void *self, enum hark_pipe line, bool ended)
{
    struct child *c = self;
    (void)ended;
    c->heard |= 1u << line;
    c->s->heard_due = true;
}

void hark_sup_lines_prepare(struct child *c)
{
    static const struct hark_local_events events = {taken, full, stirred};
    c->local = (struct hark_local){
        .loop = &c->s->loop, .janitor = &c->s->janitor, .events = &events, .self = c};
}

/* ---- both ways ------------------------------------------------------------------------------- */

void hark_sup_drain(struct child *c, enum hark_pipe line, bool all)
{
    if (c->host == NULL) hark_local_drain(&c->local, line, all); /* there it is in order */
}

static void set_room(struct child *c, enum hark_pipe line, bool paused)
{
    struct hark_control m;
    if (c->paused[line] == paused) return;
    c->paused[line] = paused;
    hark_sup_host_about(&m, HARK_A_ROOM, c);
    hark_control_put32(&m, (uint32_t)line);
    hark_control_put32(&m, paused);
    hark_sup_host_say(c->host, &m);
}

void hark_sup_resume_reading(struct child *c)
{
    if (c->host == NULL) hark_local_resume(&c->local);
    for (int line = HARK_PIPE_OUT; c->host && c->runs && line <= HARK_PIPE_ERR; line++)
        if (!full(c, (enum hark_pipe)line)) set_room(c, (enum hark_pipe)line, false);
}

void hark_sup_heard(struct child *c, enum hark_pipe line, const uint8_t *at, size_t length)
{
    taken(c, line, at, length);
    stirred(c, line, false);
    if (line != HARK_PIPE_CONTROL && full(c, line)) set_room(c, line, true);
}

void hark_sup_tell(struct child *c, struct hark_control *m)
{
    if (!c->runs) return;
    if (c->host && !m->bad) {
        struct hark_control around;
        hark_sup_host_about(&around, HARK_A_TELL, c);
        hark_control_put_bytes(&around, m->at, (uint32_t)m->length);
        hark_sup_host_say(c->host, &around);
    } else if (m->bad || !hark_local_tell(&c->local, m->at, m->length)) {
        hark_sup_no_memory(c->s, "what is to be told to a process");
    }
}
