/* said.c: what supervisor and agent say to each other, as bytes. */
#include "agent.h"

#include <stdlib.h>
#include <string.h>

static void put_text(struct hark_control *m, const char *text)
{
    const size_t length = text ? strlen(text) : 0;
    hark_control_put_bytes(m, text, (uint32_t)length);
}

/* To be freed; NULL: no memory, or not there. */
static char *get_text(struct hark_control *m)
{
    uint32_t length;
    const uint8_t *at = hark_control_get_bytes(m, &length);
    char *text = m->bad ? NULL : malloc((size_t)length + 1);
    if (text == NULL || memchr(at, 0, length)) {
        m->bad = true;
        free(text);
        return NULL;
    }
    memcpy(text, at, length);
    text[length] = 0;
    return text;
}

static void put_list(struct hark_control *m, char *const *list)
{
    uint32_t count = 0;
    while (list && list[count]) count++;
    hark_control_put32(m, count);
    for (uint32_t i = 0; i < count; i++) put_text(m, list[i]);
}

static void free_list(char **list)
{
    for (size_t i = 0; list && list[i]; i++) free(list[i]);
    free(list);
}

/* Each string takes four bytes at least, so what a message can hold bounds the list. */
static char **get_list(struct hark_control *m)
{
    const uint32_t count = hark_control_get32(m);
    if (m->bad || count > (m->length - m->next) / 4) {
        m->bad = true;
        return NULL;
    }
    char **list = calloc((size_t)count + 1, sizeof *list);
    for (uint32_t i = 0; list && i < count; i++)
        if ((list[i] = get_text(m)) == NULL) break;
    if (list == NULL || m->bad) {
        m->bad = true;
        free_list(list);
        return NULL;
    }
    return list;
}

/* ---- the job --------------------------------------------------------------------------------- */

void hark_agent_put_job(struct hark_control *m, const struct hark_agent_job *job)
{
    const char *text[] = {
        job->name, job->job, job->transport, job->store, job->host_store, job->spill};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) put_text(m, text[i]);
    hark_control_put64(m, job->session);
    hark_control_put32(m, job->ranks);
    hark_control_put32(m, job->traffic);
    hark_control_put32(m, job->journals);
    hark_control_put32(m, job->belongs);
    hark_control_put32(m, job->shared);
    hark_control_put32(m, job->lease_ms);
    hark_control_put32(m, job->wait_ms);
    hark_control_put64(m, job->run);
    hark_control_put64(m, job->ignored);
    put_list(m, job->environment);
}

bool hark_agent_get_job(struct hark_control *m, struct hark_agent_job *job)
{
    const char **text[] = {
        &job->name, &job->job, &job->transport, &job->store, &job->host_store, &job->spill};
    *job = (struct hark_agent_job){0};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) *text[i] = get_text(m);
    job->session = hark_control_get64(m);
    job->ranks = hark_control_get32(m);
    job->traffic = hark_control_get32(m);
    job->journals = hark_control_get32(m);
    job->belongs = hark_control_get32(m);
    job->shared = hark_control_get32(m);
    job->lease_ms = hark_control_get32(m);
    job->wait_ms = hark_control_get32(m);
    job->run = hark_control_get64(m);
    job->ignored = hark_control_get64(m);
    job->environment = get_list(m);
    return !m->bad;
}

void hark_agent_job_free(struct hark_agent_job *job)
{
    const char *text[] = {
        job->name, job->job, job->transport, job->store, job->host_store, job->spill};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) free((void *)(uintptr_t)text[i]);
    free_list(job->environment);
    *job = (struct hark_agent_job){0};
}

/* ---- a start --------------------------------------------------------------------------------- */

/* What may be absent is a list of none or one. */
static void put_optional(struct hark_control *m, const char *text)
{
    char *list[2] = {(char *)(uintptr_t)text, NULL};
    put_list(m, list);
}

static char *get_optional(struct hark_control *m)
{
    char **list = get_list(m), *text = list ? list[0] : NULL;
    for (size_t i = 1; text && list[i]; i++) free(list[i]);
    free(list);
    return text;
}

void hark_agent_put_start(struct hark_control *m, uint32_t slot,
    const struct hark_local_program *program, uint64_t checkpoint, char *const *from)
{
    hark_control_put32(m, slot);
    put_list(m, program->argv);
    put_list(m, program->environment);
    put_optional(m, program->file);
    put_optional(m, program->directory);
    put_optional(m, program->preload);
    hark_control_put32(m, program->same_addresses);
    hark_control_put32(m, program->input >= 0);
    hark_control_put64(m, checkpoint);
    put_list(m, from);
}

bool hark_agent_get_start(struct hark_control *m, struct hark_agent_start *start)
{
    *start = (struct hark_agent_start){.slot = hark_control_get32(m)};
    start->argv = get_list(m);
    start->environment = get_list(m);
    start->file = get_optional(m);
    start->directory = get_optional(m);
    start->preload = get_optional(m);
    const bool same = hark_control_get32(m);
    start->input = hark_control_get32(m);
    start->checkpoint = hark_control_get64(m);
    start->from = get_list(m);
    start->program = (struct hark_local_program){.argv = start->argv,
        .file = start->file,
        .directory = start->directory,
        .environment = start->environment,
        .preload = start->preload,
        .same_addresses = same,
        .input = -1,
        .inherited = {-1, -1, -1}};
    return !m->bad && start->argv[0];
}

void hark_agent_start_free(struct hark_agent_start *start)
{
    free_list(start->argv);
    free_list(start->environment);
    free_list(start->from);
    free(start->file);
    free(start->directory);
    free(start->preload);
    *start = (struct hark_agent_start){0};
}
