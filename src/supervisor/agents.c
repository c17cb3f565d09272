/* agents.c: what agents of other hosts say, and hosts that die. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../agent/lease.h"
#include "hark/registry.h"

#define TRY_NS UINT64_C(5000000000) /* after a host's death its agent is started again */
#define LEAVE_MS                                                                                   \
    10000 /* at the end of a job, for an agent to send a piece of a file, or clean up */

extern char **environ;

/* ---- what agents say about processes --------------------------------------------------------- */

static struct child *child_of(struct host *h, struct hark_control *m)
{
    struct supervisor *s = h->s;
    const uint32_t slot = hark_control_get32(m);
    struct child *c = m->bad || slot >= s->count ? NULL : &s->child[slot];
    return c && c->host == h && c->runs && !c->ended ? c : NULL;
}

static void on_started(struct host *h, struct hark_control *m)
{
    struct child *c = child_of(h, m);
    const int status = (int)hark_control_get32(m);
    char name[32];
    const uint32_t pid = hark_control_get32(m);
    const int journal = (int)hark_control_get32(m);
    if (c == NULL || m->bad) return;
    if (status == ENODATA && c->goes_back) { /* it was about to be killed */
        c->status = SIGKILL;
        c->ended = h->s->deaths_due = true;
        return;
    }
    if (status == ENODATA && c->checkpoint) { /* who has it does not answer, or has just died */
        c->lacks_image = true;
        return;
    }
    if (status) {
        c->runs = false;
        hark_sup_say("cannot start %s on host %s: %s: %s", hark_sup_name(c, name), h->name,
            c->rank == HARK_RECOVERY ? "the recovery process" : program_of(c)->argv[0],
            strerror(status));
        hark_sup_end(h->s, 2);
        return;
    }
    c->journal_there = journal;
    if (c->rank == 0) (void)hark_sup_input_seek(h->s, 0);
    hark_sup_setup(c);
    if (h->s->o->verbose)
        hark_sup_say("%s is process %u of host %s", hark_sup_name(c, name), pid, h->name);
}

static void on_heard(struct host *h, struct hark_control *m)
{
    struct child *c = child_of(h, m);
    const uint32_t line = hark_control_get32(m);
    uint32_t length;
    const uint8_t *at = hark_control_get_bytes(m, &length);
    if (c && !m->bad && line < HARK_PIPES) hark_sup_heard(c, (enum hark_pipe)line, at, length);
}

static void on_ended(struct host *h, struct hark_control *m)
{
    struct child *c = child_of(h, m);
    const uint32_t status = hark_control_get32(m);
    if (c == NULL || m->bad) return;
    c->status = (int)status;
    c->ended = h->s->deaths_due = true;
}

static void on_took(struct host *h, struct hark_control *m)
{
    struct child *c = child_of(h, m);
    if (c && c->rank == 0) hark_sup_input_took(h->s, m);
}

static void on_left(struct host *h, struct hark_control *m)
{
    struct child *c = child_of(h, m);
    if (c) c->left = h->s->deaths_due = true;
}

/* Times on the board are of the clock of its host. */
static void our_time(const struct host *h, _Atomic uint64_t *time)
{
    if (*time) *time = (uint64_t)((int64_t)*time + h->clock);
}

static void on_board(struct host *h, struct hark_control *m)
{
    struct hark_board *board = h->s->board;
    while (m->next < m->length && !m->bad) {
        const uint32_t slot = hark_control_get32(m);
        uint32_t length;
        const uint8_t *at = hark_control_get_bytes(m, &length);
        if (m->bad || slot > board->ranks || length != sizeof *board->slot) return;
        if (h->s->child[slot < h->s->count ? slot : 0].host != h)
            continue; /* late words of a host
                        that it has left */
        memcpy((void *)&board->slot[slot], at, length);
        our_time(h, &board->slot[slot].restart_ns);
        our_time(h, &board->slot[slot].caught_up_ns);
    }
}

static void on_row(struct host *h, struct hark_control *m)
{
    const uint32_t slot = hark_control_get32(m), ranks = h->s->o->ranks;
    uint32_t length;
    const uint8_t *at = hark_control_get_bytes(m, &length);
    if (m->bad || !h->s->o->traffic || slot >= ranks || length != ranks * sizeof(uint64_t)) return;
    memcpy((void *)hark_board_traffic(h->s->board, slot), at, length);
}

/* A part of the trace or of a recording, as it lay in the job's directory there. */
static void on_file(struct host *h, struct hark_control *m)
{
    char path[400];
    size_t name_length;
    uint32_t length;
    const char *name = hark_control_gets(m, &name_length);
    const uint64_t offset = hark_control_get64(m);
    const uint8_t *at = hark_control_get_bytes(m, &length);
    h->s->fetched_at = hark_lease_now();
    if (m->bad || name_length > 200 || memchr(name, '/', name_length)) return;
    snprintf(path, sizeof path, "%s/%.*s", h->s->directory, (int)name_length, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || pwrite(fd, at, length, (off_t)offset) != (ssize_t)length)
        hark_sup_say(
            "host %s: cannot keep %.*s: %s", h->name, (int)name_length, name, strerror(errno));
    if (fd >= 0) close(fd);
    if (offset == 0 && strncmp(name, "trace-", 6) == 0) (void)hark_trace_set_clock(path, h->clock);
}

/* ---- what agents say about their hosts ------------------------------------------------------- */

static void on_beat(struct host *h, struct hark_control *m)
{
    const uint64_t n = hark_control_get64(m), clock = hark_control_get64(m);
    struct hark_control answer;
    if (m->bad) return;
    const int64_t ahead = (int64_t)(hark_sup_now() - clock); /* and the time of its way */
    if (!h->clock_known || ahead < h->clock) h->clock = ahead;
    h->clock_known = true;
    hark_control_begin(&answer, HARK_A_ANSWER);
    hark_control_put64(&answer, n);
    hark_sup_host_mention(h, &answer);
}

static char *copy_text(struct hark_control *m)
{
    size_t length;
    const char *text = hark_control_gets(m, &length);
    return m->bad ? NULL : strndup(text, length);
}

static void on_ready(struct host *h, struct hark_control *m)
{
    if (h->ready) return;
    h->directory = copy_text(m);
    h->spill = copy_text(m);
    h->store_path = copy_text(m);
    const uint32_t port = hark_control_get32(m);
    const char *format = strchr(h->address, ':') ? "[%s]:%u" : "%s:%u";
    if (port && asprintf(&h->depot, format, h->address, port) < 0) h->depot = NULL;
    h->board = (int)hark_control_get32(m);
    h->store = (int)hark_control_get32(m);
    h->ready = !m->bad && h->directory && h->spill && h->store_path;
    if (h->ready && h->was_ready) {
        hark_sup_say("host %s is back, as a spare one", h->name);
        hark_sup_copies_none(h);
    } else if (h->ready) {
        hark_sup_copies_missed(h);
    }
    h->s->came_up += h->ready && !h->was_ready;
    h->was_ready |= h->ready;
}

/* `how` it is known. */
static void lose(struct host *h, const char *how)
{
    struct supervisor *s = h->s;
    uint32_t ran = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        struct child *c = &s->child[i];
        if (c->host != h || !c->runs || c->ended) continue;
        ran++;
        c->ended = true;
        c->status = SIGKILL; /* as waitpid would have it */
    }
    h->lost = true;
    h->undone_at = 0;
    h->deaths++;
    h->tries = 0;
    h->try_at = hark_lease_now() + TRY_NS;
    hark_sup_holds_nothing(h);
    hark_sup_host_part(h);
    s->deaths_due = true;
    s->waves_due = s->waves != NULL;
    hark_sup_say(
        "host %s died: %s; with it %" PRIu32 " process%s", h->name, how, ran, ran == 1 ? "" : "es");
}

static void lose_quietly(struct host *h)
{
    h->lost = true;
    h->try_at = hark_lease_now() + TRY_NS;
}

static void on_line(struct host *h, struct hark_control *m)
{
    size_t length;
    const char *text = hark_control_gets(m, &length);
    if (m->bad) return;
    hark_sup_say("host %s: %.*s", h->name, (int)length, text);
    if (m->type != HARK_A_UNFIT) return;
    if (!h->was_ready) hark_sup_end(h->s, 2);
    else hark_sup_host_part(h), lose_quietly(h);
}

static void on_holds(struct host *h, struct hark_control *m)
{
    const uint32_t rank = hark_control_get32(m);
    const uint64_t id = hark_control_get64(m);
    const uint32_t whole = hark_control_get32(m), round = hark_control_get32(m);
    if (!m->bad) hark_sup_holds(h, rank, id, whole, round);
}

/* It ends, and its connection with it, when it knows that all it has said has come. */
static void on_done(struct host *h)
{
    h->done = true;
    hark_session_mention(&h->session, NULL, 0);
}

static void on_flushed(struct host *h, struct hark_control *m)
{
    char line[300];
    size_t length;
    const uint32_t rank = hark_control_get32(m);
    const uint64_t id = hark_control_get64(m);
    const uint32_t number = hark_control_get32(m), status = hark_control_get32(m);
    const char *text = hark_control_gets(m, &length);
    if (m->bad) return;
    snprintf(line, sizeof line, "%.*s", (int)length, text);
    hark_sup_flushed(h, rank, id, number, status, line);
}

static void serve(struct host *h, struct hark_control *m)
{
    switch (m->type) {
    case HARK_A_STARTED: on_started(h, m); break;
    case HARK_A_HEARD: on_heard(h, m); break;
    case HARK_A_ENDED: on_ended(h, m); break;
    case HARK_A_LEFT: on_left(h, m); break;
    case HARK_A_TOOK: on_took(h, m); break;
    case HARK_A_BOARD: on_board(h, m); break;
    case HARK_A_ROW: on_row(h, m); break;
    case HARK_A_FILE: on_file(h, m); break;
    case HARK_A_BEAT: on_beat(h, m); break;
    case HARK_A_HOLDS: on_holds(h, m); break;
    case HARK_A_FLUSHED: on_flushed(h, m); break;
    case HARK_A_READY: on_ready(h, m); break;
    case HARK_A_SAY:
    case HARK_A_UNFIT: on_line(h, m); break;
    case HARK_A_DONE: on_done(h); break;
    case HARK_A_OVER:
        if (h->ready) lose(h, "its agent has ended, and the processes with it");
        break;
    default: break; /* a newer agent may say more */
    }
}

/* ---- connections ----------------------------------------------------------------------------- */

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

/* It is back, with another agent. */
static void forget_place(struct host *h)
{
    char **text[] = {&h->directory, &h->spill, &h->store_path, &h->depot};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        free(*text[i]);
        *text[i] = NULL;
    }
    h->ready = h->lost = h->clock_known = h->cut_said = false;
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
        .store = s->store_path,
        .host_store = s->o->host_store ? s->o->host_store : "",
        .spill = s->o->spill ? s->o->spill : "",
        .session = h->session_name,
        .ranks = s->o->ranks,
        .traffic = s->o->traffic,
        .journals = s->o->journal == 0 || !hark_service_survives(s->o->protocol) ? 0
                    : s->o->store                                                ? 1
                                                                                 : 2,
        .belongs = s->belongs,
        .shared = s->o->store_interval_ms != 0,
        .lease_ms = (uint32_t)s->o->host_timeout_ms,
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
static void join_again(
    struct supervisor *s, struct hark_connection *c, uint64_t name, uint64_t heard, uint32_t number)
{
    struct host *h = NULL;
    struct hark_control m;
    for (uint32_t i = 0; i < s->o->hosts; i++)
        if (s->host[i].session_name == name) h = &s->host[i];
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
    if (h->cut_said)
        hark_sup_say("host %s: its agent is connected again, nothing is lost", h->name);
    h->cut_at = 0;
    h->cut_said = false;
}

static void on_hello(struct supervisor *s, struct hark_connection *c, struct hark_control *m)
{
    if (hark_control_get32(m) != HARK_AGENT_VERSION) return;
    const uint64_t name = hark_control_get64(m), heard = hark_control_get64(m);
    const uint32_t number = hark_control_get32(m);
    if (m->bad) return;
    if (name) {
        join_again(s, c, name, heard, number);
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

static void message(void *self, struct hark_connection *c, const uint8_t *at, size_t length)
{
    struct supervisor *s = self;
    struct host *h = hark_connection_owner(c);
    struct hark_control m;
    if (h && h->connection != c) return;
    if (h) h->heard = hark_lease_now();
    if (h && !hark_session_take(&h->session, &at, &length)) return;
    if (hark_control_parse(&m, at, length) != (long)length) return;
    if (h) serve(h, &m);
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
        lose_quietly(h);
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

/* ---- hosts that die -------------------------------------------------------------------------- */

static void lose_silent(struct host *h, uint64_t silent)
{
    char how[64];
    snprintf(how, sizeof how, "nothing was heard of it for %.1f s", (double)silent / 1e9);
    lose(h, how);
}

/* Those that could not begin, since their images were not to be had: again, or, if no host that has
 * one lives any more, dead, and the failure service looks for another checkpoint. */
static void look_for_images(struct supervisor *s)
{
    char *address[HARK_SUP_HOLDERS];
    for (uint32_t i = 0; i < s->count; i++) {
        struct child *c = &s->child[i];
        if (!c->lacks_image || c->ended || c->host->lost) continue;
        c->lacks_image = false;
        if (hark_sup_holders(c, c->checkpoint, address)) {
            (void)hark_sup_spawn(c);
            continue;
        }
        c->ended = s->deaths_due = true;
        c->status = SIGKILL;
    }
}

/* More and more seldom: it may be gone for long. */
static void try_again(struct host *h)
{
    h->try_at = hark_lease_now() + (TRY_NS << (h->tries < 5 ? h->tries : 5));
    h->tries++;
    hark_sup_launch_again(h);
}

/* Not at once: mostly its agent has another connection soon. */
static void look_at_cut(struct host *h, uint64_t now)
{
    const uint64_t timeout = h->s->o->host_timeout_ms * UINT64_C(1000000),
                   dead = h->heard + hark_lease_dead_ns(timeout);
    if (h->cut_at == 0 || h->cut_said || now - h->cut_at < timeout / 4 || now > dead) return;
    h->cut_said = true;
    hark_sup_say("host %s: the connection to its agent has ended (%s); its processes are taken for "
                 "dead in %.1f s, if it does not say anything before",
        h->name, h->cut_why, (double)(dead - now) / 1e9);
}

static void look_at_missed(struct host *h)
{
    if (h->undone_at == 0 || h->session.confirmed < h->undone_at) return;
    h->undone_at = 0;
    hark_sup_missed_done(h);
}

static void on_look(uv_timer_t *timer)
{
    struct supervisor *s = timer->data;
    const uint64_t now = hark_lease_now(),
                   dead = hark_lease_dead_ns(s->o->host_timeout_ms * UINT64_C(1000000)),
                   away = now - s->hosts_looked;
    s->hosts_looked = now;
    /* We were away ourselves: what they have said meanwhile has not been read yet. */
    if (away > 5 * uv_timer_get_repeat(timer) * UINT64_C(1000000)) return;
    for (uint32_t i = 0; i < s->o->hosts; i++) {
        struct host *h = &s->host[i];
        if (h->ready && !h->lost && !h->done && now - h->heard > dead)
            lose_silent(h, now - h->heard);
        else if (h->was_ready && !h->ready && !h->lost && now - h->heard > dead) {
            hark_sup_host_part(h);
            lose_quietly(h);
        } else if (h->lost && now >= h->try_at && s->phase == RUNNING && !s->signal) try_again(h);
        else if (!h->lost && s->phase == RUNNING) look_at_cut(h, now);
        look_at_missed(h);
    }
    hark_sup_waves_look(s);
    if (s->phase == RUNNING && !s->signal) look_for_images(s);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static bool make_hosts(struct supervisor *s)
{
    const uint32_t used = s->o->hosts - s->o->spares;
    s->host = calloc(s->o->hosts, sizeof *s->host);
    s->here = getcwd(NULL, 0);
    if (s->host == NULL || s->here == NULL) {
        hark_sup_say("no memory for %u hosts", s->o->hosts);
        return false;
    }
    for (uint32_t i = 0; i < s->o->hosts; i++)
        s->host[i] = (struct host){.s = s,
            .number = i,
            .name = s->o->host[i].name,
            .slots = s->o->host[i].slots,
            .spare = i >= used};
    return true;
}

static bool all_ready(const struct supervisor *s)
{
    if (s->came_up < s->o->hosts) return false;
    for (uint32_t i = 0; i < s->o->hosts; i++)
        if (!s->host[i].ready) return false;
    return true;
}

static void say_missing(const struct supervisor *s)
{
    for (uint32_t i = 0; i < s->o->hosts; i++)
        if (!s->host[i].ready && i < s->launched)
            hark_sup_say("host %s: its agent has not come up in %.0f s", s->host[i].name,
                (double)s->o->launch_ms / 1000);
}

static void stop_waiting(uv_timer_t *timer)
{
    *(bool *)timer->data = true;
}

/* The run before has died, perhaps just now, and its agents end its processes when their leases are
 * over. Until then they may write to the stores. */
static void wait_for_leases(struct supervisor *s)
{
    const uint64_t lease_ms = hark_sup_missed_lease(s);
    uv_timer_t timer;
    bool over = lease_ms == 0;
    if (over) return;
    const uint64_t wait = hark_lease_dead_ns(lease_ms * UINT64_C(1000000)) / 1000000;
    hark_sup_say(
        "the run before has not ended its processes: they are gone in %.1f s, then this one "
        "begins",
        (double)wait / 1000);
    uv_timer_init(&s->loop, &timer);
    timer.data = &over;
    uv_timer_start(&timer, stop_waiting, wait, 0);
    while (!over && s->phase == RUNNING && !s->signal) uv_run(&s->loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&s->loop, UV_RUN_NOWAIT); /* the handle is ours until then */
}

/* False: not all have come up, and a line says why. */
static bool wait_for_agents(struct supervisor *s)
{
    uint64_t since = hark_lease_now(); /* the last one came up */
    for (uint32_t up = 0; hark_sup_launch(s) && !all_ready(s);) {
        uv_run(&s->loop, UV_RUN_ONCE);
        if (s->phase != RUNNING || s->signal) return false;
        if (s->came_up != up) since = hark_lease_now();
        up = s->came_up;
        if (hark_lease_now() - since < s->o->launch_ms * UINT64_C(1000000)) continue;
        say_missing(s);
        return false;
    }
    return all_ready(s);
}

bool hark_sup_agents_open(struct supervisor *s)
{
    char error[200];
    struct hark_connection_config config = {.loop = &s->loop,
        .events = {s, opened, message, NULL, closed},
        .silent_ms = (uint32_t)s->o->host_timeout_ms};
    if (!make_hosts(s) || !hark_sup_missed_open(s)) return false;
    randombytes_buf(s->agent_key, sizeof s->agent_key);
    memcpy(config.key, s->agent_key, sizeof config.key);
    uv_timer_init(&s->loop, &s->hosts_look);
    s->hosts_look.data = s;
    int status = hark_listener_open(
        &s->listener, &config, NULL, s->o->hosts > 128 ? s->o->hosts : 0, error); /* all at once */
    sodium_memzero(config.key, sizeof config.key);
    if (status < 0) {
        hark_sup_say("%s", error);
        return false;
    }
    const uint64_t period = hark_lease_period_ms(s->o->host_timeout_ms);
    s->hosts_looked = hark_lease_now();
    uv_timer_start(&s->hosts_look, on_look, period, period);
    wait_for_leases(s);
    bool ok = s->phase == RUNNING && !s->signal && wait_for_agents(s);
    if (!ok && s->phase == RUNNING) hark_sup_end(s, s->signal ? 128 + s->signal : 1);
    return ok;
}

/* Also those whose connection is cut just now: they have another one soon, or their lease is over
 * (on_look). */
static bool is_awaited(const struct host *h)
{
    return h->session_name && !h->lost && (!h->done || h->connection);
}

/* Nothing comes any more, and no host may still have another connection. */
static bool waited_enough(const struct supervisor *s)
{
    const uint64_t leave = LEAVE_MS * UINT64_C(1000000),
                   dead = hark_lease_dead_ns(s->o->host_timeout_ms * UINT64_C(1000000)),
                   since = hark_lease_now() - s->fetched_at;
    bool cut = false;
    for (uint32_t i = 0; i < s->o->hosts; i++)
        cut |= is_awaited(&s->host[i]) && s->host[i].connection == NULL;
    return since >= (cut && dead > leave ? dead : leave);
}

static bool all_done(const struct supervisor *s)
{
    for (uint32_t i = 0; i < s->o->hosts; i++)
        if (is_awaited(&s->host[i])) return false;
    return true;
}

void hark_sup_agents_close(struct supervisor *s)
{
    struct hark_control m;
    if (s->host == NULL) return;
    s->fetched_at = hark_lease_now();
    for (uint32_t i = 0; i < s->o->hosts; i++) {
        hark_control_begin(&m, HARK_A_END);
        hark_control_put32(&m, s->o->trace || s->o->record);
        hark_control_put32(&m, s->phase == FINISHING && !s->signal);
        hark_sup_host_say(&s->host[i], &m);
    }
    while (!all_done(s) && !waited_enough(s)) uv_run(&s->loop, UV_RUN_ONCE);
    const bool ended = all_done(s);
    for (uint32_t i = 0; i < s->o->hosts; i++) {
        struct host *h = &s->host[i];
        if (is_awaited(h) && !h->done)
            hark_sup_say("host %s: its agent has not cleaned up in %d s", h->name, LEAVE_MS / 1000);
        hark_sup_host_part(h);
    }
    if (s->listener) hark_listener_close(s->listener);
    hark_sup_missed_close(s, ended);
    hark_sup_launchers_end(s);
    for (uint32_t i = 0; i < s->o->hosts; i++) {
        free(s->host[i].directory);
        free(s->host[i].spill);
        free(s->host[i].store_path);
        free(s->host[i].depot);
    }
    sodium_memzero(s->agent_key, sizeof s->agent_key);
}
