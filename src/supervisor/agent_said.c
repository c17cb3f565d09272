/* agent_said.c: what agents of other hosts say. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../agent/lease.h"

/* ---- about processes --------------------------------------------------------------------------
 */

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
    const bool lacks_directory = hark_control_get32(m) == 1;
    if (c == NULL || m->bad) return;
    if (status == ENODATA && c->goes_back) { /* it was about to be killed */
        c->status = SIGKILL;
        c->ended = h->s->deaths_due = true;
        return;
    }
    if (status == ENODATA && c->checkpoint) { /* who has it does not answer, or has just died */
        if (c->lacks_since == 0 || c->lacks_inc != c->inc) {
            c->lacks_since = hark_lease_now();
            c->lacks_inc = c->inc;
            c->lacks_said = false;
        }
        c->lacks_image = true;
        return;
    }
    if (status) {
        c->runs = false;
        const char *program =
            c->rank == HARK_RECOVERY ? "the recovery process" : program_of(c)->argv[0];
        if (lacks_directory)
            hark_sup_say("cannot start %s on host %s: working directory %s: %s",
                hark_sup_name(c, name), h->name,
                program_of(c)->directory ? program_of(c)->directory : h->s->here, strerror(status));
        else
            hark_sup_say("cannot start %s on host %s: %s: %s", hark_sup_name(c, name), h->name,
                program, strerror(status));
        hark_sup_end(h->s, 2);
        return;
    }
    c->journal_there = journal;
    if (c->rank == 0) (void)hark_sup_input_seek(h->s, 0);
    hark_sup_setup(c);
    if (h->s->o->verbose)
        hark_sup_say("%s is process %u of host %s", hark_sup_name(c, name), pid, h->name);
}

static void end_there(struct host *h, uint32_t slot)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_A_SIGNAL);
    hark_control_put32(&m, slot);
    hark_control_put32(&m, SIGKILL);
    hark_control_put32(&m, 1);
    hark_sup_host_say(h, &m);
}

/* It has outlived its supervisor: takeover.c. */
static void on_lives(struct host *h, struct hark_control *m)
{
    struct supervisor *s = h->s;
    const uint32_t slot = hark_control_get32(m);
    struct child *c = m->bad || slot >= s->count || !s->takes_over ? NULL : &s->child[slot];
    struct life *l = c ? calloc(1, sizeof *l + s->count * sizeof *l->peer) : NULL;
    size_t length;
    if (l == NULL) return; /* it is ended with those that are not known */
    (void)hark_control_get32(m);
    const int journal = (int)hark_control_get32(m);
    l->flags = hark_control_get32(m);
    l->inc = hark_control_get32(m);
    l->program = hark_control_get32(m);
    l->re = hark_control_get32(m);
    l->checkpoint = hark_control_get64(m);
    l->asked = hark_control_get64(m);
    l->input = hark_control_get64(m);
    l->read = hark_control_get64(m);
    for (int i = 0; i < 2; i++) l->begin[i] = hark_control_get64(m);
    const char *address = hark_control_gets(m, &length);
    l->address = m->bad ? NULL : strndup(address, length);
    for (uint32_t i = 0; i <= s->o->ranks; i++) {
        const uint32_t inc = hark_control_get32(m);
        if (i < s->count) l->peer[i] = inc;
    }
    /* An old one may be on a host that was given up. */
    const bool newer = c->life == NULL || c->host->lost || l->inc > c->life->inc;
    if (m->bad || l->address == NULL || !newer) {
        end_there(h, slot);
        hark_sup_life_free(l);
        return;
    }
    if (c->life && c->host != h) end_there(c->host, slot);
    hark_sup_life_free(c->life);
    c->life = l;
    c->host = h;
    c->runs = true;
    c->left = c->ended = false;
    c->journal_there = journal;
    memset(c->paused, 0, sizeof c->paused);
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
    if (c == NULL) return;
    c->left_living = (pid_t)hark_control_get32(m);
    c->left = h->s->deaths_due = true;
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

/* ---- about their hosts ------------------------------------------------------------------------
 */

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
    hark_sup_say_shown(h, 1);
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
    if (h->ready && h->adopted) {
        hark_sup_copies_missed(h);
    } else if (h->ready && h->was_ready) {
        hark_sup_say("host %s is back, as a spare one", h->name);
        hark_sup_copies_none(h);
    } else if (h->ready) {
        hark_sup_copies_missed(h);
    }
    h->s->came_up += h->ready && !h->was_ready;
    h->was_ready |= h->ready;
    hark_sup_takeover_changed(h->s);
}

static void on_line(struct host *h, struct hark_control *m)
{
    size_t length;
    const char *text = hark_control_gets(m, &length);
    if (m->bad) return;
    hark_sup_say("host %s: %.*s", h->name, (int)length, text);
    if (m->type != HARK_A_UNFIT) return;
    if (!h->was_ready) hark_sup_end(h->s, 2);
    else hark_sup_host_part(h), hark_sup_host_lost_quietly(h);
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

void hark_sup_agent_said(struct host *h, struct hark_control *m)
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
    case HARK_A_PREPARED:
    case HARK_A_CODED:
    case HARK_A_CODES:
    case HARK_A_SPOILT: hark_sup_codes_said(h, m); break;
    case HARK_A_READY: on_ready(h, m); break;
    case HARK_A_LIVES: on_lives(h, m); break;
    case HARK_A_SAY:
    case HARK_A_UNFIT: on_line(h, m); break;
    case HARK_A_DONE: on_done(h); break;
    case HARK_A_OVER:
        if (h->ready) hark_sup_host_lost(h, "its agent has ended, and the processes with it");
        break;
    default: break; /* a newer agent may say more */
    }
}
