/* serve.c: what the supervisor says, and what becomes of the processes of this host. */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIGURES_MS 50 /* between looks at what has changed on the board */

/* ---- processes ------------------------------------------------------------------------------- */

static void taken(void *self, enum hark_pipe line, const uint8_t *at, size_t length)
{
    struct hosted *h = self;
    struct hark_control m;
    if (line == HARK_PIPE_CONTROL) { /* what it printed and counted before comes before it */
        hark_local_drain(&h->local, HARK_PIPE_OUT, true);
        hark_local_drain(&h->local, HARK_PIPE_ERR, true);
        hark_agent_figures(h->a, h->slot, 1);
        hark_agent_took(h); /* a mark is where it is in its input now */
    }
    hark_kept_heard(h, line, at, length);
    if (h->a->adopted) return; /* it is said when we go on */
    hark_control_begin(&m, HARK_A_HEARD);
    hark_control_put32(&m, h->slot);
    hark_control_put32(&m, (uint32_t)line);
    hark_control_put_bytes(&m, at, (uint32_t)length);
    hark_agent_say(h->a, &m);
}

static bool full(void *self, enum hark_pipe line)
{
    const struct hosted *h = self;
    return h->paused[line] || h->a->stopped || hark_session_full(&h->a->session);
}

static void stirred(void *self, enum hark_pipe line, bool ended)
{
    struct hosted *h = self;
    struct hark_control m;
    if (line != HARK_PIPE_CONTROL || !ended || h->left) return;
    h->left = true;
    h->a->deaths_due = true;
    hark_control_begin(&m, HARK_A_LEFT);
    hark_control_put32(&m, h->slot);
    hark_control_put32(&m, hark_local_lives_on(&h->local) ? (uint32_t)h->local.pid : 0);
    hark_agent_say(h->a, &m);
}

static void end_on(struct agent *a);

static void room(struct agent *a)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (a->hosted[i].runs) hark_local_resume(&a->hosted[i].local);
    if (a->ending && !a->done) end_on(a);
}

static struct hosted *prepare(struct agent *a, uint32_t slot)
{
    static const struct hark_local_events events = {taken, full, stirred};
    struct hosted *h = &a->hosted[slot];
    if (h->a) return h;
    h->a = a;
    h->slot = slot;
    h->journal = -1;
    h->local =
        (struct hark_local){.loop = &a->loop, .janitor = &a->janitor, .events = &events, .self = h};
    return h;
}

static void start(struct hosted *h, struct hark_agent_start *s, int status)
{
    struct agent *a = h->a;
    struct hark_control answer;
    s->program.inherited[0] = a->board_fd;
    s->program.inherited[1] = a->store_fd;
    s->program.inherited[2] = h->journal;
    s->program.ignored = &a->ignored;
    if (status == 0 && s->input) status = hark_agent_input_open(h, &s->program.input);
    if (status == 0) status = hark_local_start(&h->local, &s->program);
    if (status) hark_agent_input_close(h);
    h->runs = status == 0;
    if (h->runs && a->stopped) hark_local_signal(&h->local, SIGSTOP, true);
    h->left = false;
    memset(h->paused, 0, sizeof h->paused);
    hark_control_begin(&answer, HARK_A_STARTED);
    hark_control_put32(&answer, s->slot);
    hark_control_put32(&answer, (uint32_t)status);
    hark_control_put32(&answer, (uint32_t)h->local.pid);
    hark_control_put32(&answer, (uint32_t)h->journal);
    hark_control_put32(&answer, status && h->local.lacks_directory);
    hark_agent_say(a, &answer);
    hark_agent_start_free(s);
    free(s);
}

/* Looks for its image at the next of the places where it is. */
static void get_image(struct hosted *h)
{
    struct hark_agent_start *s = h->waits;
    const char *from = s->from[h->tried];
    if (from == NULL) {
        h->waits = NULL;
        start(h, s, ENODATA);
        return;
    }
    h->tried++;
    if (from[0] == 0) hark_depot_check(h->a, h->slot, s->checkpoint);
    else if (strcmp(from, HARK_AGENT_SHARED) == 0) hark_shared_get(h->a, h->slot, s->checkpoint);
    else if (strncmp(from, HARK_AGENT_SET, sizeof HARK_AGENT_SET - 1) == 0)
        hark_coder_get(h->a, h->slot, s->checkpoint, from);
    else hark_depot_get(h->a, h->slot, s->checkpoint, from);
}

static void image_came(struct agent *a, uint32_t rank, uint64_t id, bool whole)
{
    struct hosted *h = a->hosted && rank < a->count ? &a->hosted[rank] : NULL;
    if (h == NULL || h->waits == NULL || h->waits->checkpoint != id || a->cleaning) return;
    if (!whole) {
        get_image(h);
        return;
    }
    struct hark_agent_start *s = h->waits;
    h->waits = NULL;
    start(h, s, 0);
}

static void on_start(struct agent *a, struct hark_control *m)
{
    struct hark_agent_start *s = calloc(1, sizeof *s);
    if (s == NULL)
        return; /* it is not heard of: the supervisor waits, and the host has no memory */
    if (!hark_agent_get_start(m, s) || s->slot >= a->count || a->hosted[s->slot].runs ||
        a->hosted[s->slot].waits) {
        hark_agent_start_free(s);
        free(s);
        return;
    }
    struct hosted *h = prepare(a, s->slot);
    const int status = hark_agent_journal(h);
    if (status || s->checkpoint == 0 || a->store == NULL) {
        start(h, s, status);
        return;
    }
    h->waits = s;
    h->tried = 0;
    get_image(h);
}

static void bury(struct hosted *h)
{
    struct agent *a = h->a;
    struct hark_control m;
    const int status = hark_local_bury(&h->local);
    h->runs = false;
    hark_agent_input_close(h);
    hark_agent_figures(a, h->slot, 1);
    hark_agent_row(a, h->slot);
    hark_control_begin(&m, HARK_A_ENDED);
    hark_control_put32(&m, h->slot);
    hark_control_put32(&m, (uint32_t)status);
    hark_agent_say(a, &m);
}

void hark_agent_reap(struct agent *a)
{
    a->deaths_due = false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->hosted[i].runs && hark_local_is_dead(&a->hosted[i].local)) bury(&a->hosted[i]);
}

void hark_agent_kill_all(struct agent *a)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (a->hosted[i].runs) hark_local_signal(&a->hosted[i].local, SIGKILL, true);
    for (uint32_t i = 0; i < a->count; i++)
        if (a->hosted[i].runs) bury(&a->hosted[i]); /* waits for its end */
}

void hark_agent_leave(struct agent *a, int status)
{
    if (a->cleaning) return;
    struct hark_control m;
    a->cleaning = true;
    a->status = status;
    hark_agent_kill_all(a);
    hark_control_begin(&m, HARK_A_OVER); /* and that they have ended only with it, not before */
    hark_control_end(&m);
    if (a->job.session && !m.bad) (void)hark_session_say(&a->session, m.at, m.length);
    hark_control_free(&m);
    uv_stop(&a->loop);
}

static void on_figures(uv_timer_t *timer)
{
    struct agent *a = timer->data;
    if (!hark_session_full(&a->session)) hark_agent_figures(a, 0, a->count);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void say_ready(struct agent *a)
{
    struct hark_control ready;
    hark_control_begin(&ready, HARK_A_READY);
    hark_control_puts(&ready, a->directory, strlen(a->directory));
    hark_control_puts(&ready, a->spill ? a->spill : "", a->spill ? strlen(a->spill) : 0);
    hark_control_puts(&ready, a->store_path, strlen(a->store_path));
    hark_control_put32(&ready, hark_depot_port(a));
    hark_control_put32(&ready, (uint32_t)a->board_fd);
    hark_control_put32(&ready, (uint32_t)a->store_fd);
    hark_control_put64(&ready, uv_hrtime());
    hark_depot_list(a); /* before it: so it is known when the job begins */
    hark_coder_list(a);
    hark_agent_say(a, &ready);
}

bool hark_agent_take_job(struct agent *a, struct hark_control *m)
{
    char error[256] = "the message of hark run can not be read";
    a->image_came = image_came;
    if (!hark_agent_get_job(m, &a->job) || !hark_agent_place(a, error)) {
        hark_agent_say_line(a, HARK_A_UNFIT, "%s", error);
        return false; /* it ends us, or the connection */
    }
    uv_timer_start(&a->figures, on_figures, FIGURES_MS, FIGURES_MS);
    say_ready(a);
    return true;
}

/* Another supervisor takes over: what lives is said first. */
bool hark_agent_take_over(struct agent *a, struct hark_control *m)
{
    if (!hark_takeover_adopted(a, m)) return false;
    hark_takeover_say_all(a);
    say_ready(a);
    return true;
}

/* The process that a message is for; NULL: there is none any more. */
static struct hosted *whose(struct agent *a, struct hark_control *m)
{
    const uint32_t slot = hark_control_get32(m);
    return slot < a->count && a->hosted[slot].runs ? &a->hosted[slot] : NULL;
}

static void tell(struct agent *a, struct hark_control *m)
{
    struct hosted *h = whose(a, m);
    uint32_t length;
    const uint8_t *at = hark_control_get_bytes(m, &length);
    if (h == NULL || m->bad) return;
    hark_kept_told(h, at, length);
    if (!hark_local_tell(&h->local, at, length)) { /* it misses something: as good as dead */
        hark_agent_say_line(a, HARK_A_SAY, "no memory for what is to be told to a process");
        hark_local_signal(&h->local, SIGKILL, false);
    }
}

static void feed(struct agent *a, struct hark_control *m)
{
    struct hosted *h = whose(a, m);
    if (h && m->type == HARK_A_SEEK) hark_agent_seek(h, m);
    if (h && m->type == HARK_A_INPUT) hark_agent_input(h, m);
}

/* It waits for its image, and has not begun. */
static void end_waiting(struct hosted *h)
{
    struct hark_control m;
    hark_agent_start_free(h->waits);
    free(h->waits);
    h->waits = NULL;
    hark_control_begin(&m, HARK_A_ENDED);
    hark_control_put32(&m, h->slot);
    hark_control_put32(&m, SIGKILL);
    hark_agent_say(h->a, &m);
}

static void send_signal(struct agent *a, struct hark_control *m)
{
    const uint32_t slot = hark_control_get32(m), number = hark_control_get32(m),
                   group = hark_control_get32(m);
    struct hosted *h = slot < a->count ? &a->hosted[slot] : NULL;
    if (h && h->waits && number == SIGKILL) end_waiting(h);
    if (h && !h->runs) h = NULL;
    if (h && !m->bad && number < NSIG) hark_local_signal(&h->local, (int)number, group != 0);
}

static void send_if_handled(struct agent *a, struct hark_control *m)
{
    struct hosted *h = whose(a, m);
    const pid_t program = (pid_t)hark_control_get32(m);
    const uint32_t number = hark_control_get32(m);
    if (h == NULL || m->bad || number >= NSIG) return;
    (void)hark_local_pass(&h->local, program, (int)number);
}

static void set_room(struct agent *a, struct hark_control *m)
{
    struct hosted *h = whose(a, m);
    const uint32_t line = hark_control_get32(m), paused = hark_control_get32(m);
    if (h == NULL || m->bad || line >= HARK_PIPES) return;
    h->paused[line] = paused != 0;
    if (!paused) hark_local_resume(&h->local);
}

static void on_copy(struct agent *a, struct hark_control *m)
{
    const uint32_t rank = hark_control_get32(m);
    const uint64_t id = hark_control_get64(m);
    size_t length;
    const char *text = hark_control_gets(m, &length);
    char address[HARK_HOST_NAME + 8];
    const uint32_t round = hark_control_get32(m);
    if (m->bad || rank >= a->job.ranks) return;
    snprintf(address, sizeof address, "%.*s", (int)length, text);
    hark_depot_copy(a, rank, id, address, round);
}

static void on_drop(struct agent *a, struct hark_control *m)
{
    const uint32_t rank = hark_control_get32(m);
    const uint64_t below = hark_control_get64(m);
    if (!m->bad && rank < a->job.ranks) hark_depot_drop(a, rank, below);
}

/* The image that it waits for is undone: its next incarnation begins from another one. */
static void give_up_image(struct hosted *h, uint64_t above)
{
    struct hark_agent_start *s = h->waits;
    if (s == NULL || s->checkpoint <= above) return;
    h->waits = NULL;
    start(h, s, ENODATA);
}

static void on_undo(struct agent *a, struct hark_control *m)
{
    while (m->next < m->length) {
        const uint32_t rank = hark_control_get32(m);
        const uint64_t above = hark_control_get64(m);
        const uint32_t round = hark_control_get32(m);
        if (m->bad) break;
        if (rank >= a->job.ranks) continue;
        give_up_image(&a->hosted[rank], above);
        hark_depot_undo(a, rank, above, round);
        hark_shared_undo(a, rank, above);
        hark_coder_undo(a, rank, above);
    }
    hark_coder_undone(a);
}

static void on_flush(struct agent *a, struct hark_control *m)
{
    const uint32_t rank = hark_control_get32(m);
    const uint64_t id = hark_control_get64(m);
    const uint32_t number = hark_control_get32(m);
    if (!m->bad && rank < a->job.ranks) hark_shared_flush(a, rank, id, number);
}

static void on_sweep(struct agent *a, struct hark_control *m)
{
    uint64_t keep[256];
    const uint32_t rank = hark_control_get32(m), kept = hark_control_get32(m);
    for (uint32_t i = 0; i < kept && i < 256; i++) keep[i] = hark_control_get64(m);
    if (!m->bad && rank < a->job.ranks && kept <= 256) hark_shared_sweep(a, rank, keep, kept);
}

static void say_done(struct agent *a)
{
    struct hark_control done;
    hark_control_begin(&done, HARK_A_DONE);
    hark_agent_say(a, &done);
    a->done = true;
}

static void end_on(struct agent *a)
{
    if (a->removing || !hark_agent_files_go_on(a)) return; /* when there is room */
    hark_agent_clear_on(a, a->over, say_done);
}

void hark_agent_confirmed(struct agent *a)
{
    if (hark_session_room(&a->session)) room(a);
    if (!a->done || a->session.kept) return;
    a->cleaning = true;
    a->status = 0;
    uv_stop(&a->loop);
}

static void end(struct agent *a, struct hark_control *m)
{
    const bool files = hark_control_get32(m) == 1, over = hark_control_get32(m) == 1;
    if (a->ending) return;
    hark_agent_kill_all(a);
    a->ending = true;
    a->over = over && !m->bad;
    if (files && !m->bad) hark_agent_files_begin(a);
    end_on(a);
}

void hark_agent_serve(struct agent *a, struct hark_control *m)
{
    if (m->type == HARK_A_END) end(a, m);
    if (a->cleaning || a->ending || a->board == NULL) return;
    switch (m->type) {
    case HARK_A_START: on_start(a, m); break;
    case HARK_A_TELL: tell(a, m); break;
    case HARK_A_SIGNAL: send_signal(a, m); break;
    case HARK_A_HANDLED: send_if_handled(a, m); break;
    case HARK_A_ROOM: set_room(a, m); break;
    case HARK_A_SEEK:
    case HARK_A_INPUT: feed(a, m); break;
    case HARK_A_COPY: on_copy(a, m); break;
    case HARK_A_DROP: on_drop(a, m); break;
    case HARK_A_UNDO: on_undo(a, m); break;
    case HARK_A_FLUSH: on_flush(a, m); break;
    case HARK_A_SWEEP: on_sweep(a, m); break;
    case HARK_A_CODE:
    case HARK_A_COMBINE:
    case HARK_A_UNCODE: hark_coder_serve(a, m); break;
    case HARK_A_SHOWN: hark_kept_shown(a, m); break;
    default: break;
    }
}
