/* agent_join.c: connections of agents: the first one of an agent, which is given the job, and those
 * that go on with its session when one was cut. */
#include "internal.h"

#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../agent/lease.h"
#include "hark/registry.h"

extern char **environ;

static bool names(struct supervisor *s, uint32_t i, const char *name, size_t length)
{
    const char *known = s->host[i].name;
    return length && !s->host[i].session_name && strncmp(known, name, length) == 0 &&
           (known[length] == 0 || known[length] == '.');
}

/* The host that an agent speaks for; NULL: none of ours, or one that has an agent. */
static struct host *host_of(struct supervisor *s, struct hark_control *m)
{
    size_t length;
    const char *name = hark_control_gets(m, &length);
    uint32_t others = length ? 0 : hark_control_get32(m);
    for (bool first = true; !m->bad; first = false) {
        if (!first) name = hark_control_gets(m, &length);
        for (uint32_t i = 0; i < s->o->hosts; i++)
            if (names(s, i, name, length)) return &s->host[i];
        if (others-- == 0) break;
    }
    return NULL;
}

static void forget_texts(struct host *h)
{
    char **text[] = {&h->directory, &h->spill, &h->store_path, &h->depot};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        free(*text[i]);
        *text[i] = NULL;
    }
}

/* It is back, with another agent. */
static void forget_place(struct host *h)
{
    forget_texts(h);
    h->ready = h->lost = h->adopted = h->clock_known = h->cut_said = false;
    h->cut_at = 0;
    h->spare = true;
}

static int send_bytes(void *to, const void *at, size_t length)
{
    return hark_connection_say(to, at, length);
}

/* The answer to HELLO, which is of the connection and not of the session. */
static bool say_first(struct hark_connection *c, struct hark_control *m)
{
    hark_control_end(m);
    const bool said = !m->bad && hark_connection_say(c, m->at, m->length) == 0;
    hark_control_free(m);
    return said;
}

static void give_job(struct host *h, struct hark_connection *c)
{
    struct supervisor *s = h->s;
    char name[64];
    struct hark_control m;
    do randombytes_buf(&h->session_name, sizeof h->session_name);
    while (h->session_name == 0);
    snprintf(name, sizeof name, "%s-h%u", s->job, h->number);
    struct hark_agent_job job = {.name = name,
        .job = s->job,
        .transport = s->o->transport->name,
        .store = s->o->store || s->o->host_store ? s->store_path : "",
        .host_store = s->o->host_store ? s->o->host_store : "",
        .spill = s->o->spill ? s->o->spill : "",
        .session = h->session_name,
        .ranks = s->o->ranks,
        .traffic = s->o->traffic,
        .journals = s->o->journal != 0 && hark_service_survives(s->o->protocol),
        .belongs = s->belongs,
        .shared = s->o->store_interval_ms != 0,
        .lease_ms = (uint32_t)s->o->host_timeout_ms,
        .wait_ms = hark_sup_takeover_allowed(s) ? (uint32_t)s->o->supervisor_timeout_ms : 0,
        .run = s->run,
        .environment = environ};
    for (int n = 1; n < 64; n++)
        if (hark_sup_signal_ignored(s, n)) job.ignored |= UINT64_C(1) << n;
    hark_control_begin(&m, HARK_A_JOB);
    hark_agent_put_job(&m, &job);
    if (say_first(c, &m)) (void)hark_session_join(&h->session, send_bytes, c, 0);
    else hark_sup_host_part(h);
}

static void own(struct host *h, struct hark_connection *c)
{
    h->connection = c;
    hark_connection_own(c, h);
    snprintf(h->address, sizeof h->address, "%s", hark_connection_their_address(c));
    h->heard = hark_lease_now();
}

/* Its connection was cut, or it thinks so; nothing is lost. */
static void join_again(struct supervisor *s, struct hark_connection *c, uint64_t name, uint64_t run,
    uint64_t heard, uint32_t number)
{
    struct host *h = NULL;
    struct hark_control m;
    for (uint32_t i = 0; i < s->o->hosts; i++)
        if (s->host[i].session_name == name && run == s->run) h = &s->host[i];
    if (h && number <= h->number_joined) { /* a late word on one that it has given up since */
        hark_connection_close(c, false);
        return;
    }
    hark_control_begin(&m, h ? HARK_A_JOINED : HARK_A_GONE);
    if (h) hark_control_put64(&m, h->session.heard);
    const bool said = say_first(c, &m);
    if (h == NULL || !said) {
        hark_connection_close(c, said);
        return;
    }
    if (h->connection) hark_connection_close(h->connection, false);
    own(h, c);
    h->number_joined = number;
    if (!hark_session_join(&h->session, send_bytes, c, heard)) {
        hark_sup_host_part(h);
        return;
    }
    h->joined++;
    for (uint32_t i = 0; i < s->count; i++) /* a mention may have been lost */
        if (s->child[i].host == h) memset(s->child[i].shown_said, 0, sizeof s->child[i].shown_said);
    if (h->cut_said)
        hark_sup_say("host %s: its agent is connected again, nothing is lost", h->name);
    h->cut_at = 0;
    h->cut_said = false;
}

/* An agent of the run before, which has died: it is ours now, and says what lives there. False: it
 * is none. */
static bool adopt(struct supervisor *s, struct hark_connection *c, uint64_t name, uint32_t number)
{
    struct host *h = s->phase == RUNNING ? hark_sup_takeover_host(s, name) : NULL;
    struct hark_control m;
    if (h == NULL || (h->session_name && h->session_name != name) || (h->adopted && h->lost))
        return false;
    if (h->session_name) hark_sup_host_part(h); /* it has not heard that it is ours */
    forget_texts(h);
    h->ready = false;
    h->adopted = h->was_ready = true;
    if (!s->takes_over) hark_sup_takeover_begin(s);
    h->session_name = name;
    hark_control_begin(&m, HARK_A_ADOPTED);
    hark_control_put64(&m, s->run);
    hark_control_put32(&m, (uint32_t)s->o->host_timeout_ms);
    hark_control_put32(&m, (uint32_t)s->o->supervisor_timeout_ms);
    own(h, c);
    h->number_joined = number;
    if (say_first(c, &m)) (void)hark_session_join(&h->session, send_bytes, c, 0);
    else hark_sup_host_part(h);
    return true;
}

/* Of HELLO, behind its names. */
static uint64_t run_of(struct hark_control m)
{
    size_t length;
    (void)hark_control_gets(&m, &length);
    for (uint32_t others = hark_control_get32(&m); others > 0 && !m.bad; others--)
        (void)hark_control_gets(&m, &length);
    (void)hark_control_get32(&m);
    const uint64_t run = hark_control_get64(&m);
    return m.bad ? 0 : run;
}

static void on_hello(struct supervisor *s, struct hark_connection *c, struct hark_control *m)
{
    const bool ours = hark_control_get32(m) == HARK_AGENT_VERSION;
    const uint64_t name = hark_control_get64(m), heard = hark_control_get64(m);
    const uint32_t number = hark_control_get32(m);
    if (!ours || m->bad) {
        hark_connection_close(c, false);
        return;
    }
    if (hark_sup_frozen(s) && (name == 0 || run_of(*m) != s->run)) {
        hark_connection_close(c, false); /* it comes again */
        return;
    }
    if (name) {
        const uint64_t run = run_of(*m);
        if (run == s->run || !adopt(s, c, name, number)) join_again(s, c, name, run, heard, number);
        return;
    }
    struct host *h = host_of(s, m);
    if (h == NULL || s->phase != RUNNING) { /* one host is named twice, or it is not of this job */
        hark_connection_close(c, false);
        return;
    }
    if (h->lost) forget_place(h);
    own(h, c);
    h->number_joined = number;
    give_job(h, c);
}

/* ---- what they say --------------------------------------------------------------------------- */

struct hark_word {
    struct hark_word *next;
    struct host *host;
    uint64_t session; /* of its agent: it may have another one when the word is taken */
    size_t length;
    uint8_t at[];
};

/* May it be taken before the turn? It has nothing to do with files. */
static bool is_light(const struct hark_control *m)
{
    switch (m->type) {
    case HARK_A_STARTED:
    case HARK_A_HEARD:
    case HARK_A_ENDED:
    case HARK_A_LEFT:
    case HARK_A_TOOK:
    case HARK_A_BOARD:
    case HARK_A_ROW:
    case HARK_A_FILE:
    case HARK_A_LIVES: return true;
    default: return false;
    }
}

/* False: no memory. */
static bool put_off(struct host *h, const uint8_t *at, size_t length)
{
    struct supervisor *s = h->s;
    struct hark_word *w = malloc(sizeof *w + length);
    if (w == NULL) return false;
    *w = (struct hark_word){.host = h, .session = h->session_name, .length = length};
    memcpy(w->at, at, length);
    if (s->words == NULL) s->words_end = &s->words;
    *s->words_end = w;
    s->words_end = &w->next;
    return true;
}

void hark_sup_agents_heard(struct supervisor *s)
{
    struct hark_word *w;
    struct hark_control m;
    while ((w = s->words) != NULL) {
        s->words = w->next;
        if (w->host->session_name == w->session &&
            hark_control_parse(&m, w->at, w->length) == (long)w->length)
            hark_sup_agent_said(w->host, &m);
        free(w);
    }
}

/* Beats are answered at once, whatever else there is to do. */
static void said(struct host *h, struct hark_control *m, const uint8_t *at, size_t length)
{
    struct supervisor *s = h->s;
    const bool turns = s->turns && uv_is_active((uv_handle_t *)&s->turn);
    const bool later = turns && (s->words || hark_sup_frozen(s) || !is_light(m));
    if (m->type == HARK_A_BEAT || !later) hark_sup_agent_said(h, m);
    else if (!put_off(h, at, length)) hark_sup_no_memory(s, "what a host says");
}

static void message(void *self, struct hark_connection *c, const uint8_t *at, size_t length)
{
    struct supervisor *s = self;
    struct host *h = hark_connection_owner(c);
    struct hark_control m;
    if (h && h->connection != c) return;
    if (h) h->heard = hark_lease_now();
    if (h && !hark_session_take(&h->session, &at, &length)) return;
    if (hark_control_parse(&m, at, length) != (long)length) return;
    if (h) said(h, &m, at, length);
    else if (m.type == HARK_A_HELLO) on_hello(s, c, &m);
}

/* Its agent may still live, and its processes with it: until its lease is over. */
static void closed(void *self, struct hark_connection *c, const char *why)
{
    struct supervisor *s = self;
    struct host *h = hark_connection_owner(c);
    if (h == NULL || h->connection != c) return;
    h->connection = NULL;
    hark_session_part(&h->session);
    if (h->done || s->phase != RUNNING) return; /* at the end each goes in its own time */
    if (!h->ready && h->was_ready) {            /* it was about to come back */
        hark_sup_host_part(h);
        hark_sup_host_lost_quietly(h);
        return;
    }
    if (!h->ready) {
        hark_sup_say("host %s: the connection to its agent has ended (%s)", h->name, why);
        hark_sup_end(s, 1);
        return;
    }
    h->cut_at = hark_lease_now();
    snprintf(h->cut_why, sizeof h->cut_why, "%s", why);
}

static void opened(void *self, struct hark_connection *c)
{
    (void)self;
    (void)c; /* it says HELLO */
}

struct hark_connection_events hark_sup_agent_events(struct supervisor *s)
{
    return (struct hark_connection_events){s, opened, message, NULL, closed};
}
