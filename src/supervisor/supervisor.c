/* supervisor.c: the loop from start to end. */
#include <inttypes.h>
#include "internal.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS  100
#define GRACE_MS 3000 /* for processes to end after a signal, and for the recovery process after all others */

static struct hark_outlet *errors; /* while there is one, lines go through it: between those of processes */

void hark_sup_say_through(struct hark_outlet *w)
{
    errors = w;
}

void hark_sup_say(const char *format, ...)
{
    char line[1024] = "hark: ";
    va_list list;
    va_start(list, format);
    int n = vsnprintf(line + 6, sizeof line - 7, format, list);
    va_end(list);
    if (n < 0) return;
    for (char *c = line; *c; c++)
        if (*c == '\n') *c = ' '; /* one line stays one line */
    size_t length = strlen(line);
    line[length++] = '\n';
    if (errors == NULL || !hark_outlet_put(errors, HARK_OUTLET_NO_STREAM, 0, line, length))
        fprintf(stderr, "%.*s", (int)length, line);
}

uint64_t hark_sup_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct hark_board_slot *hark_sup_slot(const struct child *c)
{
    return &c->s->board->slot[c->rank == HARK_RECOVERY ? c->s->o->ranks : c->rank];
}

uint64_t hark_sup_progress(const struct child *c)
{
    const struct hark_board_slot *slot = hark_sup_slot(c);
    return c->rank == HARK_RECOVERY ? slot->frames_in : slot->deliveries;
}

const char *hark_sup_name(const struct child *c, char name[32])
{
    if (c->rank == HARK_RECOVERY) snprintf(name, 32, "the recovery process");
    else snprintf(name, 32, "rank %u", c->rank);
    return name;
}

/* ---- ending ------------------------------------------------------------------------------------------------- */

/* The recovery process knows nothing that is worth waiting for when all others have ended. */
static void stop_if_gone(struct supervisor *s)
{
    const struct child *left = NULL;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->child[i].pid == 0) continue;
        left = &s->child[i];
        if (left->rank != HARK_RECOVERY) return;
    }
    if (left == NULL) uv_stop(&s->loop);
    else if (s->phase == ENDING) kill(left->pid, SIGKILL);
}

void hark_sup_kill_all(struct supervisor *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->child[i].pid) kill(s->child[i].pid, SIGKILL);
}

static void grace_is_over(uv_timer_t *timer)
{
    hark_sup_kill_all(timer->data);
}

/* Less than a signal gives: there is one already that has ended. */
static void give_grace(struct supervisor *s)
{
    bool on = uv_is_active((uv_handle_t *)&s->grace);
    if (!on || uv_timer_get_due_in(&s->grace) > GRACE_MS) uv_timer_start(&s->grace, grace_is_over, GRACE_MS, GRACE_MS);
}

void hark_sup_end(struct supervisor *s, int status)
{
    if (s->phase != ENDING) {
        s->phase = ENDING;
        s->exit = status;
        if (s->signal) give_grace(s); /* they have been told to end themselves */
        else hark_sup_kill_all(s);
    }
    stop_if_gone(s);
}

void hark_sup_no_memory(struct supervisor *s, const char *what)
{
    if (s->phase != ENDING) hark_sup_say("no memory for %s", what);
    hark_sup_end(s, 1);
}

void hark_sup_child_gone(struct supervisor *s)
{
    if (s->phase == FINISHING) {
        for (uint32_t i = 0; i < s->o->ranks; i++)
            if (s->child[i].pid) return;
        give_grace(s); /* only the recovery process may be left */
    }
    stop_if_gone(s);
}

static void on_child(uv_signal_t *handle, int number)
{
    struct supervisor *s = handle->data;
    (void)number;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->child[i].pid && hark_sup_is_dead(&s->child[i])) hark_sup_reap(&s->child[i]);
}

/* ---- from start to end --------------------------------------------------------------------------------------- */

/* Without memory for the table of what it watches libuv aborts. Instead this process ends, and the janitor does the rest. */
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

static bool open_loop(struct supervisor *s)
{
    (void)uv_replace_allocator(malloc, resize, calloc, free);
    int status = uv_loop_init(&s->loop);
    if (status != 0) {
        hark_sup_say("cannot make an event loop: %s", uv_strerror(status));
        return false;
    }
    uv_signal_init(&s->loop, &s->on_child);
    s->on_child.data = s;
    uv_signal_start(&s->on_child, on_child, SIGCHLD);
    hark_sup_signals_open(s);
    uv_timer_t *timer[] = {&s->look, &s->grace, &s->hunt};
    for (size_t i = 0; i < sizeof timer / sizeof timer[0]; i++) {
        uv_timer_init(&s->loop, timer[i]);
        timer[i]->data = s;
    }
    uv_timer_start(&s->look, hark_sup_look, LOOK_MS, LOOK_MS);
    return true;
}

static void close_one(uv_handle_t *handle, void *unused)
{
    (void)unused;
    if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

static void close_loop(struct supervisor *s)
{
    hark_sup_signals_close(s);
    uv_walk(&s->loop, close_one, NULL);
    while (uv_run(&s->loop, UV_RUN_DEFAULT) != 0) {} /* an earlier uv_stop() ends one of them */
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
        s->child[i].kept = -1;
        s->child[i].rank = i < s->o->ranks ? i : HARK_RECOVERY;
        hark_sup_output_prepare(&s->child[i]);
    }
    return true;
}

static void free_children(struct supervisor *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        struct child *c = &s->child[i];
        for (int k = 0; k < 2; k++) hark_output_free(&c->output[k]);
        free(c->in);
        free(c->out);
        free(c->address);
    }
    free(s->child);
    s->child = NULL;
}

static int run(struct supervisor *s)
{
    if (!open_loop(s)) return 1;
    if (!hark_sup_outlets_open(s)) {
        close_loop(s);
        return 1;
    }
    s->started = hark_sup_now();
    /* A start that fails may leave some to be reaped. */
    (void)hark_sup_begin(s);
    bool left = false;
    for (uint32_t i = 0; i < s->count; i++) left |= s->child[i].pid != 0;
    if (left) uv_run(&s->loop, UV_RUN_DEFAULT);
    s->ended = hark_sup_now();
    hark_sup_close_recovery(s);
    hark_sup_outlets_close(s);
    close_loop(s);
    if (s->phase == ENDING) return s->exit;
    if (s->signal) return 128 + s->signal;
    return s->output_failed ? 1 : 0;
}

/* Who asked for a kill is not to believe that it was survived. */
static void say_missed(struct supervisor *s)
{
    for (uint32_t i = 0; i < s->o->kills; i++) {
        const struct hark_kill *k = &s->o->kill[i];
        const bool recovery = k->rank == HARK_RECOVERY;
        uint64_t done = 0;
        char name[32] = "recovery";
        for (uint32_t c = 0; c < s->count; c++)
            if (s->child[c].rank == k->rank) done = hark_sup_progress(&s->child[c]);
        if (k->chance || k->at <= done) continue;
        if (!recovery) snprintf(name, sizeof name, "%" PRIu32, k->rank);
        hark_sup_say("--kill %s@%" PRIu64 " did not happen: it %s %" PRIu64 " %s", name, k->at, recovery ? "received" : "made", done,
            recovery ? "frames" : "deliveries");
    }
}

int hark_supervise(const struct hark_run_options *options)
{
    struct supervisor s = {.o = options, .lock = -1, .board_fd = -1, .store_fd = -1, .positions = -1, .janitor = {-1, 0}};
    struct rlimit files;
    /* A few descriptors for each process. */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    int status = hark_sup_signals_begin(&s) && make_children(&s) ? hark_sup_job_open(&s) : 1;
    bool opened = status == 0 && !s.finished_before;
    if (opened) s.exit = status = run(&s);
    if (opened && status == 0) say_missed(&s);
    if (opened && status == 0 && options->advise && options->traffic)
        s.advice = options->advise(options->self, (const uint64_t *)(void *)hark_board_traffic(s.board, 0), options->ranks);
    if (opened && hark_sup_close_trace(&s) < 0 && status == 0) s.exit = status = 1;
    if (opened && options->json && hark_sup_json(&s) < 0 && status == 0) status = 1;
    hark_sup_job_close(&s);
    for (uint32_t i = 0; i < s.recoveries; i++) free(s.recovery[i].rolled);
    free(s.recovery);
    free(s.advice);
    free(s.sent);
    free(s.lately);
    free(s.reclusterings);
    free(s.lowest);
    free(s.failure);
    free_children(&s);
    hark_sup_signals_end(&s);
    return status;
}
