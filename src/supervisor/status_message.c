/* status_message.c: how a job stands, as bytes. */
#include "status.h"

#include <stdlib.h>
#include <string.h>

enum {
    HOST_LEAST = 2 + 4 + 4 + 8, /* bytes of a host with an empty name */
    PROCESS = 5 * 4 + 6 * 8     /* bytes of a process */
};

static const char *name_of(const char *const *names, uint32_t count, uint32_t state)
{
    return state < count ? names[state] : "unknown";
}

const char *hark_job_state_name(uint32_t state)
{
    static const char *const names[HARK_JOB_STATES] = {
        "starting", "running", "finishing", "ending"};
    return name_of(names, HARK_JOB_STATES, state);
}

const char *hark_process_state_name(uint32_t state)
{
    static const char *const names[HARK_PROCESS_STATES] = {
        "starting", "running", "waiting", "recovering", "finished", "ended"};
    return name_of(names, HARK_PROCESS_STATES, state);
}

const char *hark_host_state_name(uint32_t state)
{
    static const char *const names[HARK_HOST_STATES] = {"starting", "ready", "spare", "dead"};
    return name_of(names, HARK_HOST_STATES, state);
}

/* ---- put ------------------------------------------------------------------------------------- */

void hark_status_put_ask(struct hark_control *m, bool processes)
{
    hark_control_begin(m, HARK_STATUS_ASK);
    hark_control_put32(m, HARK_STATUS_VERSION);
    hark_control_put32(m, processes);
    hark_control_end(m);
}

static void put_text(struct hark_control *m, const char *text)
{
    hark_control_puts(m, text, strlen(text));
}

static void put_host(struct hark_control *m, const struct hark_status_host *h)
{
    put_text(m, h->name);
    hark_control_put32(m, h->state);
    hark_control_put32(m, h->processes);
    hark_control_put64(m, h->silent_ns);
}

static void put_process(struct hark_control *m, const struct hark_status_process *p)
{
    hark_control_put32(m, p->rank);
    hark_control_put32(m, p->host);
    hark_control_put32(m, p->state);
    hark_control_put32(m, p->inc);
    hark_control_put32(m, p->restarts);
    hark_control_put64(m, p->deliveries);
    hark_control_put64(m, p->messages);
    hark_control_put64(m, p->bytes);
    hark_control_put64(m, p->log_bytes);
    hark_control_put64(m, p->checkpoint);
    hark_control_put64(m, p->age_ns);
}

void hark_status_put(struct hark_control *m, const struct hark_job_status *s)
{
    hark_control_begin(m, HARK_STATUS_STATUS);
    hark_control_put32(m, HARK_STATUS_VERSION);
    put_text(m, s->job);
    hark_control_put32(m, s->pid);
    hark_control_put32(m, s->state);
    put_text(m, s->program);
    put_text(m, s->protocol);
    put_text(m, s->transport);
    put_text(m, s->store);
    hark_control_put32(m, s->ranks);
    hark_control_put32(m, s->failures);
    hark_control_put32(m, s->recoveries);
    hark_control_put64(m, s->elapsed_ns);
    hark_control_put64(m, s->age_ns);
    hark_control_put32(m, s->hosts);
    for (uint32_t i = 0; i < s->hosts; i++) put_host(m, &s->host[i]);
    hark_control_put32(m, s->processes);
    for (uint32_t i = 0; i < s->processes; i++) put_process(m, &s->process[i]);
    hark_control_end(m);
}

/* ---- get ------------------------------------------------------------------------------------- */

struct texts { /* all together are no longer than the message: a length there is a NUL here */
    char *at;
};

static const char *get_text(struct hark_control *m, struct texts *t)
{
    size_t length;
    const char *text = hark_control_gets(m, &length);
    char *copy = t->at;
    memcpy(copy, text, length);
    copy[length] = 0;
    t->at += length + 1;
    return copy;
}

static void get_host(struct hark_control *m, struct texts *t, struct hark_status_host *h)
{
    h->name = get_text(m, t);
    h->state = hark_control_get32(m);
    h->processes = hark_control_get32(m);
    h->silent_ns = hark_control_get64(m);
}

static void get_process(struct hark_control *m, struct hark_status_process *p)
{
    p->rank = hark_control_get32(m);
    p->host = hark_control_get32(m);
    p->state = hark_control_get32(m);
    p->inc = hark_control_get32(m);
    p->restarts = hark_control_get32(m);
    p->deliveries = hark_control_get64(m);
    p->messages = hark_control_get64(m);
    p->bytes = hark_control_get64(m);
    p->log_bytes = hark_control_get64(m);
    p->checkpoint = hark_control_get64(m);
    p->age_ns = hark_control_get64(m);
}

static void get_head(struct hark_control *m, struct texts *t, struct hark_job_status *s)
{
    s->job = get_text(m, t);
    s->pid = hark_control_get32(m);
    s->state = hark_control_get32(m);
    s->program = get_text(m, t);
    s->protocol = get_text(m, t);
    s->transport = get_text(m, t);
    s->store = get_text(m, t);
    s->ranks = hark_control_get32(m);
    s->failures = hark_control_get32(m);
    s->recoveries = hark_control_get32(m);
    s->elapsed_ns = hark_control_get64(m);
    s->age_ns = hark_control_get64(m);
}

/* So many things of at least `bytes` bytes follow; NULL: they can not, or there is no memory. */
static void *room_for(struct hark_control *m, uint32_t *count, size_t bytes, size_t size)
{
    *count = hark_control_get32(m);
    if (*count > (m->length - m->next) / bytes) m->bad = true;
    if (m->bad) *count = 0;
    return m->bad ? NULL : calloc(*count ? *count : 1, size);
}

static enum hark_status_read failed(const struct hark_control *m)
{
    return m->bad ? HARK_STATUS_BAD : HARK_STATUS_NO_MEMORY;
}

enum hark_status_read hark_status_get(struct hark_control *m, struct hark_job_status *s)
{
    enum { HEAD_TEXTS = 5 }; /* of a message that is too short for them too */
    *s = (struct hark_job_status){0};
    if (m->type != HARK_STATUS_STATUS) return HARK_STATUS_BAD;
    const uint32_t version = hark_control_get32(m);
    if (m->bad) return HARK_STATUS_BAD;
    if (version != HARK_STATUS_VERSION) return HARK_STATUS_OTHER;
    struct texts t = {malloc(m->length + HEAD_TEXTS)};
    s->texts = t.at;
    if (t.at == NULL) return HARK_STATUS_NO_MEMORY;
    get_head(m, &t, s);
    s->host = room_for(m, &s->hosts, HOST_LEAST, sizeof *s->host);
    for (uint32_t i = 0; s->host && i < s->hosts && !m->bad; i++) get_host(m, &t, &s->host[i]);
    if (s->host == NULL || m->bad) return failed(m);
    s->process = room_for(m, &s->processes, PROCESS, sizeof *s->process);
    if (s->process == NULL) return failed(m);
    for (uint32_t i = 0; i < s->processes; i++) {
        struct hark_status_process *p = &s->process[i];
        get_process(m, p);
        if (p->host != HARK_STATUS_NO_HOST && p->host >= s->hosts) m->bad = true;
    }
    return m->bad || m->next != m->length ? HARK_STATUS_BAD : HARK_STATUS_OK;
}

void hark_status_free(struct hark_job_status *s)
{
    free(s->host);
    free(s->process);
    free(s->texts);
    *s = (struct hark_job_status){0};
}
