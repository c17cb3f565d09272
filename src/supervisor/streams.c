/* streams.c: what processes print, on its way out: through an outlet each for stdout and stderr, so
 * that a reader who does not read does not keep us from seeing deaths. While much waits, pipes of
 * processes are not read, and those who print wait. But not during a recovery: one that is stuck in
 * a write can not send again what others need. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHOWN_AT   (256u << 10) /* bytes, before agents are told without being asked */
#define SHOWN_MOST 10u          /* processes in a mention */

#include "hark/parts/mem.h"

#define PENDING_MOST (4u << 20) /* of one process: what an image takes */
#define KEPT_NS      UINT64_C(1000000000)
#define PATIENCE_MS  3000 /* for the reader, when a signal has ended the job */

static uint32_t stream_number(const struct child *c, int kind)
{
    return c->rank == HARK_RECOVERY ? HARK_OUTLET_NO_STREAM : c->rank * 2 + (uint32_t)kind;
}

/* What is lost now is in no checkpoint that is to come, so a job that can be resumed ends here. One
 * that a signal ends anyway ends by that; one that is done stays done. */
static void fail_output(struct supervisor *s, const char *why)
{
    const bool ends = s->o->store && s->phase == RUNNING && !s->signal;
    if (s->output_failed) return;
    s->output_failed = true;
    hark_sup_say("cannot write the output of the program: %s%s", why,
        ends ? "; the run ends here, and --resume goes on with the job" : "");
    if (ends) hark_sup_end(s, 1);
}

/* Asked after a look at what waits: only then that was all. */
static bool output_lost(const struct supervisor *s)
{
    return s->output_failed || hark_outlet_error(s->outlet[0]) || hark_outlet_error(s->outlet[1]);
}

/* Line by line, each behind its tag. */
static bool put_lines(struct stream *x, const char *at, size_t length, uint64_t end)
{
    struct supervisor *s = x->child->s;
    char tag[HARK_OUTLET_TAG];
    snprintf(tag, sizeof tag, "[%u] ", x->child->rank);
    for (size_t n, left = length; left; left -= n, at += n) {
        const char *line_end = memchr(at, '\n', left);
        n = line_end ? (size_t)(line_end - at) + 1 : left;
        if (!hark_outlet_put_tagged(s->outlet[x->kind], stream_number(x->child, x->kind),
                end - left + n, x->inside ? "" : tag, at, n))
            return false;
        x->inside = line_end == NULL;
    }
    return true;
}

static void write_stream(void *self, const char *at, size_t length, uint64_t end)
{
    struct stream *x = self;
    struct supervisor *s = x->child->s;
    const bool tagged = s->o->tag_output && x->child->rank != HARK_RECOVERY;
    const bool put = tagged ? put_lines(x, at, length, end)
                            : hark_outlet_put(s->outlet[x->kind], stream_number(x->child, x->kind),
                                  end, at, length);
    if (!put) fail_output(s, "no memory");
}

void hark_sup_output_prepare(struct child *c)
{
    for (int k = 0; k < 2; k++) {
        c->stream[k] = (struct stream){c, k, false};
        c->output[k] = (struct hark_output){.write = write_stream, .self = &c->stream[k]};
    }
    /* Where a process goes back alone, its next execution follows determinants. What it printed
     * after one that is lost with it would be of an execution that never was. Not so stderr: what
     * it says of its end must be seen. */
    c->output[0].gated = c->s->o->protocol->unstable && c->rank != HARK_RECOVERY;
}

/* A process that begins again may turn out to do something else than before, which is known at the
 * latest when the recovery can not end. Until it has ended nobody's output is shown, or it might be
 * that of an execution in which messages were never sent that others have received. Where the gate
 * is, nothing is shown anyway that others do not know all of. */
void hark_sup_keep_output(struct supervisor *s)
{
    const bool kept = hark_service_down(core_of(s)) != 0 && !s->o->protocol->unstable;
    for (uint32_t r = 0; r < s->o->ranks; r++)
        if (s->child[r].output[0].kept != kept) hark_output_keep(&s->child[r].output[0], kept);
}

/* But one that is busy with something else than messages may wait for an answer to what it has
 * printed, as in a conversation. It finds out nothing more about its execution meanwhile. */
void hark_sup_let_out(struct supervisor *s)
{
    const uint64_t now = hark_sup_awake();
    for (uint32_t r = 0; r < s->o->ranks; r++) {
        struct child *c = &s->child[r];
        struct hark_output *o = &c->output[0];
        const struct hark_board_slot *slot = hark_sup_slot(c);
        const uint64_t moves = slot->frames_out + slot->frames_in + slot->messages +
                               slot->deliveries + slot->replayed + slot->suppressed;
        if (!o->kept || o->length == 0 || slot->state != HARK_B_BUSY || moves != c->kept_moves)
            c->kept_since = now;
        c->kept_moves = moves;
        if (now - c->kept_since < KEPT_NS) continue;
        c->kept_since = now;
        hark_output_keep(o, false);
        o->kept = true;
    }
}

/* ---- for agents ------------------------------------------------------------------------------ */

/* So much of what it has printed is written. */
static uint64_t written(const struct child *c, int k)
{
    return c->output[k].shown - hark_outlet_copy(c->s->outlet[k], stream_number(c, k), NULL, 0);
}

void hark_sup_say_shown(struct host *h, uint64_t least)
{
    struct supervisor *s = h->s;
    struct hark_control m;
    uint32_t entries = 0;
    if (!h->ready || h->lost || s->takes_over || s->outlet[0] == NULL ||
        !hark_sup_takeover_allowed(s))
        return;
    for (uint32_t i = 0; i < s->count; i++) {
        struct child *c = &s->child[i];
        if (c->host != h || !c->runs || c->output[0].waiting) continue;
        const uint64_t at[2] = {written(c, 0), written(c, 1)};
        if (output_lost(s)) break;
        if (at[0] - c->shown_said[0] < least && at[1] - c->shown_said[1] < least) continue;
        if (entries++ == 0) hark_control_begin(&m, HARK_A_SHOWN);
        hark_control_put32(&m, hark_sup_slot_number(c));
        for (int k = 0; k < 2; k++) hark_control_put64(&m, c->shown_said[k] = at[k]);
        if (entries < SHOWN_MOST) continue;
        hark_sup_host_mention(h, &m);
        entries = 0;
    }
    if (entries) hark_sup_host_mention(h, &m);
}

/* ---- back-pressure --------------------------------------------------------------------------- */

void hark_sup_room(struct supervisor *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        struct child *c = &s->child[i];
        hark_sup_resume_reading(c);
        if (c->mark_waits && !hark_sup_full(s, 0) && !hark_sup_full(s, 1)) hark_sup_marked(c);
    }
    for (uint32_t i = 0; s->host && i < s->o->hosts; i++) hark_sup_say_shown(&s->host[i], SHOWN_AT);
}

static void on_moved(uv_async_t *handle)
{
    struct supervisor *s = handle->data;
    int failed = hark_outlet_error(s->outlet[0]);
    if (failed == 0) failed = hark_outlet_error(s->outlet[1]);
    if (failed) fail_output(s, strerror(failed));
    failed = hark_outlet_position_error(s->outlet[0]);
    if (failed && !s->positions_failed) {
        s->positions_failed = true;
        hark_sup_say("store %s: cannot write output: %s; if it is resumed, lines may come again",
            s->o->store, strerror(failed));
    }
    if (s->finish_waits) s->finish_due = true;
    if (s->ended == 0) hark_sup_room(s);
    else if (!hark_outlet_waiting(s->outlet[0]) && !hark_outlet_waiting(s->outlet[1]))
        uv_stop(&s->loop);
}

/* ---- output commit --------------------------------------------------------------------------- */

/* What it has printed before it hears this was printed before it answers: if nothing is loose then,
 * nothing of that ever comes back differently. */
void hark_sup_ask(struct child *c)
{
    struct hark_output *o = &c->output[0];
    struct hark_control m;
    if (!o->gated || o->length == 0 || c->asked != c->answered || !c->hello ||
        c->s->phase == ENDING)
        return;
    if (o->next <= o->open) return;
    c->asked++;
    c->asked_position = o->next;
    hark_control_begin(&m, HARK_C_ASK);
    hark_control_put64(&m, c->asked);
    hark_control_end(&m);
    hark_sup_tell(c, &m);
    hark_control_free(&m);
}

void hark_sup_stable(struct child *c, uint64_t n)
{
    if (n != c->asked || n == c->answered) return;
    c->answered = n;
    hark_output_open(&c->output[0], c->asked_position);
    hark_sup_ask(c);
    if (c->s->finish_waits) c->s->finish_due = true;
}

/* A job that is done is not resumed: what is not shown then is lost if we are killed, or if it can
 * not be written. */
bool hark_sup_shown(struct supervisor *s)
{
    bool gated = false;
    for (uint32_t i = 0; i < s->o->ranks; i++) {
        struct child *c = &s->child[i];
        for (int k = 0; k < 2; k++) {
            struct hark_output *o = &c->output[k];
            hark_sup_drain(c, k ? HARK_PIPE_ERR : HARK_PIPE_OUT, true);
            if (o->gated && o->length && o->next > o->open)
                gated = true;        /* nothing held: it prints again what was shown */
            else hark_output_end(o); /* also a last line that has no end */
        }
        hark_sup_ask(c);
    }
    return !gated && !hark_outlet_waiting(s->outlet[0]) && !hark_outlet_waiting(s->outlet[1]) &&
           !output_lost(s);
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* What a process has printed and nobody has been shown, up to where its present incarnation is. */
static bool put_pending(const struct child *c, int k, struct hark_control *m)
{
    const struct hark_output *o = &c->output[k];
    struct hark_outlet *w = c->s->outlet[k];
    size_t queued = hark_outlet_copy(w, stream_number(c, k), NULL, 0);
    if (queued + o->length > PENDING_MOST) return false;
    char *text = malloc(queued + o->length + 1);
    if (text == NULL) return false;
    queued = hark_outlet_copy(w, stream_number(c, k), text, queued); /* less by now, if anything */
    if (o->length) memcpy(text + queued, o->held, o->length);
    uint64_t begin = o->shown - queued;
    hark_control_put_bytes(m, text, o->next > begin ? (uint32_t)(o->next - begin) : 0);
    free(text);
    return true;
}

void hark_sup_marked(struct child *c)
{
    struct hark_control m, pending;
    c->mark_waits = false;
    for (int k = 0; k < 2; k++) hark_sup_drain(c, k ? HARK_PIPE_ERR : HARK_PIPE_OUT, true);
    hark_control_begin(&pending, HARK_C_MARKED);
    bool can = true;
    const bool reads = c->rank == 0 && c->s->input.source.is;
    /* Only a run that can be resumed needs to find it in an image: else we remember it. */
    for (int k = 0; k < 2 && c->s->o->store; k++) can = can && put_pending(c, k, &pending);
    if (c->s->o->store && output_lost(c->s)) can = false;
    for (int k = 0; k < 2 && reads && !c->s->o->store; k++) hark_control_put32(&pending, 0);
    if (reads) hark_control_put64(&pending, hark_sup_input_position(c->s, c->ahead));
    can = can && !pending.bad;
    hark_control_begin(&m, HARK_C_MARKED);
    hark_control_put64(&m, c->mark);
    for (int k = 0; k < 2; k++) hark_control_put64(&m, can ? c->output[k].next : UINT64_MAX);
    if (can) hark_control_put_bytes(&m, pending.at + 8, (uint32_t)(pending.length - 8));
    else hark_control_put_bytes(&m, NULL, 0);
    hark_control_end(&m);
    hark_sup_tell(c, &m);
    hark_control_free(&m);
    hark_control_free(&pending);
}

/* ---- positions that outlive us --------------------------------------------------------------- */

/* What can not be read counts as not shown. False: some can not. */
static bool take_notes(struct supervisor *s, uint8_t *at, size_t length)
{
    bool whole = true;
    for (uint32_t i = 0; i < s->o->ranks; i++)
        for (uint32_t k = 0; k < 2; k++, at += HARK_OUTLET_NOTE) {
            uint64_t *shown = &s->child[i].output[k].shown;
            const bool there = length >= HARK_OUTLET_NOTE;
            length -= there ? HARK_OUTLET_NOTE : length;
            if (there && hark_outlet_get_note(at, shown)) continue;
            whole = false;
            *shown = 0;
            hark_outlet_put_note(at, 0);
        }
    return whole;
}

int hark_sup_output_open(struct supervisor *s, bool belongs)
{
    const size_t bytes = (size_t)s->o->ranks * 2 * HARK_OUTLET_NOTE;
    if (s->o->store == NULL) return 0;
    uint8_t *at = calloc(1, bytes);
    s->positions = openat(s->store_fd, "output", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (at == NULL || s->positions < 0) {
        hark_sup_say("store %s: output: %s", s->o->store, strerror(errno));
        int status = at ? 2 : 1;
        free(at);
        return status;
    }
    const ssize_t n = belongs ? pread(s->positions, at, bytes, 0) : 0;
    const bool whole = take_notes(s, at, n > 0 ? (size_t)n : 0);
    if (belongs && !whole)
        hark_sup_say(
            "store %s: output: it does not say what was shown; lines may come again", s->o->store);
    int status = 0;
    if (!whole && pwrite(s->positions, at, bytes, 0) != (ssize_t)bytes) {
        hark_sup_say("store %s: output: %s", s->o->store, strerror(errno));
        status = 2;
    }
    free(at);
    return status;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void wake(void *self)
{
    uv_async_send(self);
}

static bool same_file(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A word of an outlet may still be on its way to the loop, which goes on for agents. */
static void close_outlets(struct supervisor *s)
{
    uv_close((uv_handle_t *)&s->moved, NULL);
    if (s->outlet[1] != s->outlet[0]) hark_outlet_close(s->outlet[1]);
    hark_outlet_close(s->outlet[0]);
    s->outlet[0] = s->outlet[1] = NULL;
}

bool hark_sup_outlets_open(struct supervisor *s)
{
    int status = -uv_async_init(&s->loop, &s->moved, on_moved);
    s->moved.data = s;
    if (status) {
        hark_sup_say("the output can not be watched: %s", strerror(status));
        return false;
    }
    status = hark_outlet_open(&s->outlet[0], STDOUT_FILENO, s->positions, wake, &s->moved);
    s->outlet[1] = s->outlet[0]; /* one of both keeps their lines in order */
    if (status == 0 && !same_file(STDOUT_FILENO, STDERR_FILENO))
        status = hark_outlet_open(&s->outlet[1], STDERR_FILENO, s->positions, wake, &s->moved);
    if (status) {
        hark_sup_say("no thread for the output: %s", strerror(status));
        close_outlets(s);
        return false;
    }
    hark_sup_say_through(s->outlet[1]);
    return true;
}

static void lose_patience(uv_timer_t *timer)
{
    struct supervisor *s = timer->data;
    s->give_up = true;
    uv_stop(&s->loop);
}

void hark_sup_outlets_close(struct supervisor *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        for (int k = 0; k < 2; k++)
            if (s->diverged) hark_output_drop(&s->child[i].output[k]);
            else hark_output_end(&s->child[i].output[k]);
    uv_prepare_stop(&s->turn);
    uv_timer_stop(&s->quiescence);
    uv_timer_stop(&s->planned_kill);
    uv_timer_stop(&s->grace);
    if (s->signal) uv_timer_start(&s->grace, lose_patience, PATIENCE_MS, 0);
    while (!s->give_up && (hark_outlet_waiting(s->outlet[0]) || hark_outlet_waiting(s->outlet[1])))
        uv_run(&s->loop, UV_RUN_ONCE);
    on_moved(&s->moved);
    hark_sup_say_through(NULL);
    close_outlets(s);
}
