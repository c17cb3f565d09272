/* supervisor.c: the loop from start to end. */
#include <inttypes.h>
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LOOK_MS    100
#define LOOP_FILES 8 /* descriptors of an event loop, and some for what follows */

/* ---- a turn of the loop: what happens is noted; at the end of the turn is done what is due ----
 */

static void on_child(uv_signal_t *handle, int number)
{
    struct supervisor *s = handle->data;
    (void)number;
    s->deaths_due = true;
    s->launchers_due = s->host != NULL;
}

/* What processes have said and printed. */
static void hear(struct supervisor *s)
{
    s->heard_due = false;
    for (uint32_t i = 0; i < s->count; i++) {
        struct child *c = &s->child[i];
        const uint32_t heard = c->heard;
        c->heard = 0;
        if (heard & 1u << HARK_PIPE_OUT) hark_sup_ask(c);
        if (!(heard & 1u << HARK_PIPE_CONTROL)) continue;
        hark_sup_take(c);
        if (hark_sup_left(c)) s->deaths_due = true; /* its end is closed: is it dead? */
    }
}

/* After a signal processes may have left before their work was done: the job is not, and can be
 * resumed. */
static void note_end(struct supervisor *s)
{
    hark_sup_look_for_store(s);
    if (s->signal) return;
    const int untold = hark_sup_afterwards_finishing(s);
    s->done = hark_keeper_finish(s->keeper) >= 0;
    s->troubles += !s->done;
    if (s->done) hark_sup_afterwards_say(s, untold);
    if (s->done || s->o->store == NULL || s->store_gone) return;
    hark_sup_say("%s; the job is done, but its store does not say so: with --resume it would be "
                 "done again, from its last checkpoint on",
        hark_keeper_error(s->keeper));
}

/* If all processes have finished, and nothing can take that back: the job is done, and they are
 * told. */
static void finish_if_done(struct supervisor *s)
{
    s->finish_due = false;
    if (s->phase != RUNNING || hark_service_down(core_of(s))) return;
    for (uint32_t i = 0; i < s->o->ranks; i++)
        if (!s->child[i].finished || s->child[i].goes_back || hark_sup_is_dead(&s->child[i]))
            return;
    s->finish_waits = s->o->store && !s->signal && !hark_sup_shown(s);
    if (s->finish_waits) return;
    note_end(s);
    s->phase = FINISHING;
    HARK_POINT("finished", HARK_TRACE_SUPERVISOR);
    hark_sup_tell_all(s, HARK_C_ALL_DONE);
}

/* Messages come first: with them a process may have said that it has finished, before it is seen
 * dead. */
static void take_turn(struct supervisor *s)
{
    hark_sup_agents_heard(s);
    if (s->hosts_due) hark_sup_hosts_look(&s->hosts_look);
    if (s->look_due) hark_sup_check_quiescence(&s->quiescence);
    s->hosts_due = s->look_due = false;
    if (s->launchers_due) hark_sup_launchers_reap(s);
    if (s->takes_over && s->phase == RUNNING) return; /* they are not ours yet */
    while (s->heard_due || s->finish_due || s->deaths_due || s->waves_due) {
        if (s->heard_due) hear(s);
        hark_sup_readings_write(s); /* before anybody needs them */
        if (s->waves_due && !s->deaths_due)
            hark_sup_waves(s); /* one may have died with its image */
        if (s->finish_due) finish_if_done(s);
        if (s->deaths_due) hark_sup_reap_all(s);
    }
    if (s->phase == ENDING && s->ended == 0)
        hark_sup_stop_if_gone(s); /* also if what has ended last was a launcher */
}

static void end_turn(uv_prepare_t *handle)
{
    struct supervisor *s = handle->data;
    const bool frozen = hark_sup_frozen(s);
    hark_sup_take_turn(s, take_turn);
    if (frozen && !hark_sup_frozen(s)) hark_sup_take_turn(s, take_turn); /* what came meanwhile */
}

static void on_look(uv_timer_t *timer)
{
    ((struct supervisor *)timer->data)->look_due = true;
}

/* ---- from start to end ----------------------------------------------------------------------- */

/* Without memory for the table of what it watches libuv aborts. Instead this process ends, and the
 * janitor does the rest. */
static void *resize(void *old, size_t bytes)
{
    void *at = realloc(old, bytes);
    if (at == NULL && bytes) {
        hark_sup_say_through(NULL);
        hark_sup_say("no memory for the event loop");
        _exit(1);
    }
    return at;
}

/* Without those that it needs for itself libuv aborts. */
static bool has_descriptors(void)
{
    int fd[LOOP_FILES], count = 0;
    while (count < LOOP_FILES && (fd[count] = fcntl(0, F_DUPFD_CLOEXEC, 0)) >= 0) count++;
    const bool all = count == LOOP_FILES;
    while (count > 0) close(fd[--count]);
    return all;
}

static bool open_loop(struct supervisor *s)
{
    if (!has_descriptors()) {
        hark_sup_say(
            "cannot make an event loop: %s; hark needs some twenty descriptors, and four for "
            "each process: raise the limit (ulimit -n)",
            strerror(EMFILE));
        return false;
    }
    (void)uv_replace_allocator(malloc, resize, calloc, free);
    int status = uv_loop_init(&s->loop);
    if (status != 0) {
        hark_sup_say("cannot make an event loop: %s", uv_strerror(status));
        return false;
    }
    uv_signal_init(&s->loop, &s->on_child);
    s->on_child.data = s;
    uv_signal_start(&s->on_child, on_child, SIGCHLD);
    uv_prepare_init(&s->loop, &s->turn); /* the last before the loop waits for events again */
    s->turn.data = s;
    uv_prepare_start(&s->turn, end_turn);
    hark_sup_signals_open(s);
    hark_sup_stops_begin(s);
    uv_timer_t *timer[] = {&s->quiescence, &s->grace, &s->planned_kill};
    for (size_t i = 0; i < sizeof timer / sizeof timer[0]; i++) {
        uv_timer_init(&s->loop, timer[i]);
        timer[i]->data = s;
    }
    uv_timer_start(&s->quiescence, on_look, LOOK_MS, LOOK_MS);
    return true;
}

static void close_one(uv_handle_t *handle, void *unused)
{
    (void)unused;
    if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

static void close_loop(struct supervisor *s)
{
    hark_sup_stops_end(s);
    uv_walk(&s->loop, close_one, NULL);
    while (uv_run(&s->loop, UV_RUN_DEFAULT) != 0) {
    } /* an earlier uv_stop() ends one of them */
    uv_loop_close(&s->loop);
}

static bool make_children(struct supervisor *s)
{
    s->count = s->o->ranks + (s->o->protocol->recovery != 0);
    s->child = calloc(s->count, sizeof *s->child);
    if (s->child == NULL) {
        s->count = 0;
        hark_sup_say("no memory for %u processes", s->o->ranks);
        return false;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        s->child[i].s = s;
        s->child[i].kept = s->child[i].journal = s->child[i].journal_stored = -1;
        s->child[i].rank = i < s->o->ranks ? i : HARK_RECOVERY;
        hark_sup_output_prepare(&s->child[i]);
        hark_sup_lines_prepare(&s->child[i]);
    }
    return true;
}

static void free_children(struct supervisor *s)
{
    hark_sup_readings_close(s);
    while (s->count > 0) {
        struct child *c = &s->child[--s->count];
        for (int k = 0; k < 2; k++) hark_output_free(&c->output[k]);
        hark_sup_journal_close(c);
        hark_sup_life_free(c->life);
        free(c->in);
        hark_local_free(&c->local);
        free(c->address);
    }
    free(s->child);
    s->child = NULL;
}

static int status_of(const struct supervisor *s)
{
    if (s->phase == ENDING) return s->exit;
    if (s->signal) return 128 + s->signal;
    return s->output_failed ? 1 : 0;
}

/* A signal may have ended processes before they had done what follows hark_finalize. */
static bool ended_themselves(const struct supervisor *s)
{
    return s->signal == 0 || (s->phase == FINISHING && !s->give_up);
}

static int run(struct supervisor *s)
{
    if (!open_loop(s)) return 1;
    if (!hark_sup_outlets_open(s)) {
        close_loop(s);
        return 1;
    }
    s->started = hark_sup_now();
    hark_sup_status_open(s);
    hark_sup_metrics_open(s);
    /* A start that fails may leave some to be reaped. */
    if (hark_sup_agents_open(s)) (void)(s->takes_over ? hark_sup_take_over(s) : hark_sup_begin(s));
    bool left = s->deaths_due && s->phase == RUNNING;
    for (uint32_t i = 0; i < s->count; i++) left |= s->child[i].runs;
    if (left && (s->host == NULL || hark_sup_turns_open(s))) uv_run(&s->loop, UV_RUN_DEFAULT);
    hark_sup_turns_stop(s);
    hark_sup_agents_heard(s);
    s->ended = hark_sup_now();
    hark_sup_close_recovery(s);
    hark_sup_input_stop(s);
    hark_sup_outlets_close(s);
    hark_sup_agents_close(s);
    hark_sup_status_close(s);
    hark_sup_metrics_close(s);
    close_loop(s);
    hark_sup_turns_free(s);
    const int status = status_of(s);
    if (s->done && ended_themselves(s)) hark_sup_afterwards_ended(s, s->signal ? 0 : status);
    return status;
}

/* Who asked for a kill is not to believe that it was survived. */
static void say_missed(struct supervisor *s)
{
    for (uint32_t i = 0; i < s->o->kills; i++) {
        const struct hark_kill *k = &s->o->kill[i];
        const bool recovery = k->rank == HARK_RECOVERY;
        uint64_t done = 0;
        char name[32] = "recovery", text[48];
        for (uint32_t c = 0; c < s->count; c++)
            if (s->child[c].rank == k->rank) done = hark_sup_progress(&s->child[c]);
        if (k->chance || k->at <= done) continue;
        if (!recovery) snprintf(name, sizeof name, "%" PRIu32, k->rank);
        hark_sup_say("--kill %s@%" PRIu64 " did not happen: it %s %s", name, k->at,
            recovery ? "received" : "made",
            recovery ? hark_sup_count(done, "frame", "frames", text)
                     : hark_sup_deliveries(done, text));
    }
}

int hark_supervise(const struct hark_run_options *options)
{
    struct supervisor s = {.o = options,
        .lock = -1,
        .board_fd = -1,
        .store_fd = -1,
        .positions = -1,
        .metrics_fd = -1,
        .input = {.source = {.spool = -1, .watch = -1}, .feed = {.reader = -1}},
        .janitor = {-1, 0, 0}};
    struct rlimit files;
    /* A few descriptors for each process. */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    int status = hark_sup_signals_begin(&s) && make_children(&s) ? 0 : 1;
    if (status == 0) status = hark_sup_metrics_listen(&s);
    if (status == 0) status = hark_sup_job_open(&s);
    bool opened = status == 0 && !s.finished_before;
    if (s.finished_before) hark_sup_takeover_forget(&s);
    if (opened) s.exit = status = run(&s);
    if (opened && status == 0) say_missed(&s);
    if (opened && status == 0 && options->advise && options->traffic)
        s.advice = options->advise(options->self,
            (const uint64_t *)(void *)hark_board_traffic(s.board, 0), options->ranks);
    if (opened && hark_sup_close_trace(&s) < 0 && status == 0) s.exit = status = 1;
    if (opened && hark_sup_close_recording(&s) < 0 && status == 0) s.exit = status = 1;
    if (opened && options->json && hark_sup_json(&s) < 0 && status == 0) status = 1;
    hark_sup_job_close(&s);
    hark_sup_metrics_end(&s);
    for (uint32_t i = 0; i < s.recoveries; i++) free(s.recovery[i].rolled);
    free(s.recovery);
    free(s.advice);
    free(s.sent);
    free(s.lately);
    free(s.reclusterings);
    free(s.lowest);
    free(s.failure);
    free_children(&s);
    free(s.host);
    free(s.here);
    hark_sup_signals_end(&s);
    return status;
}
