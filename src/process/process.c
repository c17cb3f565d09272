#include "process.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../driver/point.h"
#include "hark/registry.h"
#include "../control/clusters.h"
#include "journal.h"
#include "journal_away.h"
#include "observe.h"
#include "rollback.h"

struct hark_process hark_process = {.control = -1, .name = "a process"};
#define P hark_process

uint64_t hark_process_now(void)
{
    struct timespec t;
    hark_journal_inside++;
    clock_gettime(CLOCK_MONOTONIC, &t);
    hark_journal_inside--;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- saying ---------------------------------------------------------------------------------- */

/* The supervisor is gone, and with it the job; or the program has closed what is not its own. */
static _Noreturn void lost(int why)
{
    if (why == EBADF || why == ENOTSOCK)
        fprintf(stderr,
            "hark: %s: its connection to hark run, descriptor %d, is closed: expected that the "
            "program closes only descriptors that it has opened\n",
            P.name, P.control);
    _exit(1);
}

void hark_process_say(struct hark_control *m)
{
    if (m->bad)
        hark_process_fatal("%s: no memory for what is to be told to the supervisor", P.name);
    hark_control_end(m);
    for (size_t at = 0; at < m->length && P.control >= 0;) {
        ssize_t n = send(P.control, m->at + at, m->length - at, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) lost(errno);
        at += (size_t)n;
    }
    hark_control_free(m);
}

_Noreturn void hark_process_fatal(const char *format, ...)
{
    char line[512];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (P.control >= 0) {
        struct hark_control m;
        uint8_t memory[sizeof line + 16];
        hark_control_begin_in(&m, HARK_C_FATAL, memory, sizeof memory);
        hark_control_puts(&m, line, n < 0 ? 0 : strlen(line));
        hark_process_say(&m);
    } else {
        fprintf(stderr, "hark: %s\n", line);
    }
    _exit(1);
}

_Noreturn void hark_process_abort(int status)
{
    struct hark_control m;
    uint8_t memory[16];
    fflush(NULL);
    hark_control_begin_in(&m, HARK_C_ABORT, memory, sizeof memory);
    hark_control_put32(&m, (uint32_t)status);
    hark_process_say(&m);
    _exit(status & 255 ? status & 255 : 1);
}

void hark_process_trouble(const char *line)
{
    char text[300];
    struct hark_control m;
    if (P.control < 0) {
        fprintf(stderr, "hark: %s\n", line);
        return;
    }
    /* Not on stderr: this is no part of the execution, and must not move the positions of its
     * output. */
    snprintf(text, sizeof text, "%s: %s", P.name, line);
    hark_control_begin(&m, HARK_C_TROUBLE);
    hark_control_puts(&m, text, strlen(text));
    hark_process_say(&m);
}

void hark_process_note(const char *format, ...)
{
    char line[400];
    struct hark_control m;
    va_list list;
    va_start(list, format);
    int n = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (P.control < 0 || n < 0) return; /* a job of one does not begin again */
    hark_control_begin(&m, HARK_C_NOTE);
    hark_control_puts(&m, line, strlen(line));
    hark_process_say(&m);
}

/* ---- listening: a thread of its own, so that a sleeping process wakes ------------------------ */

/* Only here may the thread be ended. In the middle of waking the transport would wait for it for
 * ever. */
static ssize_t read_some(uint8_t *at, size_t length)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
    ssize_t n = read(P.control, at, length);
    pthread_setcancelstate(before, NULL); /* leaves errno alone */
    return n;
}

static bool read_all(uint8_t *at, size_t length)
{
    while (length) {
        ssize_t n = read_some(at, length);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = 0;
        if (n <= 0) return false;
        at += n;
        length -= (size_t)n;
    }
    return true;
}

struct hark_process_message *hark_process_read(void)
{
    uint8_t head[4];
    if (!read_all(head, 4)) return NULL;
    size_t length = (size_t)hark_get32(head) + 4;
    if (length < 8 || length > HARK_CONTROL_MAX) return NULL;
    struct hark_process_message *m = malloc(sizeof *m + length);
    if (m == NULL) hark_process_fatal("%s: no memory for what the supervisor says", P.name);
    m->next = NULL;
    m->length = length;
    memcpy(m->bytes, head, 4);
    bool whole;
    pthread_cleanup_push(free, m); /* the thread may be ended with half a message */
    whole = read_all(m->bytes + 4, length - 4);
    pthread_cleanup_pop(0);
    if (whole) return m;
    free(m);
    return NULL;
}

static void *listen_to_supervisor(void *unused)
{
    (void)unused;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    for (;;) {
        errno = 0;
        struct hark_process_message *m = hark_process_read();
        const int why = errno;
        struct hark_control c;
        if (m && hark_control_parse(&c, m->bytes, m->length) > 0 && c.type == HARK_C_GO) {
            free(m);
            return NULL;
        }
        pthread_mutex_lock(&P.lock);
        if (m == NULL) {
            P.lost = true;
        } else if (hark_control_parse(&c, m->bytes, m->length) > 0 && c.type == HARK_C_MARKED) {
            (void)hark_control_get64(&c);
            P.marked_out = hark_control_get64(&c);
            P.marked_err = hark_control_get64(&c);
            P.marked = true;
            free(P.marked_message);
            P.marked_message = m;
        } else if (hark_control_parse(&c, m->bytes, m->length) > 0 && c.type == HARK_C_INPUT_SET) {
            P.input_set = true;
            free(m);
        } else {
            if (P.tail) P.tail->next = m;
            else P.head = m;
            P.tail = m;
            atomic_store_explicit(&P.pending, true, memory_order_release);
        }
        pthread_cond_signal(&P.marked_now);
        pthread_mutex_unlock(&P.lock);
        if (m == NULL) lost(why);
        HARK_POINT("wake", P.setup.rank);
        hark_driver_wake(P.driver);
    }
}

/* Bytes that the C library has read from descriptor 0 and the program has not had yet. They are no
 * part of an image: who goes back to it has to read them again. */
static uint64_t read_ahead(void)
{
    if (P.setup.rank != 0 || fileno(stdin) != 0) return 0;
#ifdef __GLIBC__
    return (uint64_t)(stdin->_IO_read_end - stdin->_IO_read_ptr);
#else
    return __freadahead(stdin);
#endif
}

void hark_process_input(void)
{
    struct hark_control m;
    if (P.control < 0 || P.setup.rank != 0) return;
    pthread_mutex_lock(&P.lock);
    P.input_set = false;
    pthread_mutex_unlock(&P.lock);
    hark_control_begin(&m, HARK_C_INPUT);
    hark_process_say(&m);
    pthread_mutex_lock(&P.lock);
    while (!P.input_set && !P.lost) pthread_cond_wait(&P.marked_now, &P.lock);
    pthread_mutex_unlock(&P.lock);
    if (fileno(stdin) != 0) return;
    __fpurge(stdin);
    clearerr(stdin);
}

bool hark_process_mark(
    uint64_t id, uint64_t *out, uint64_t *err, const void **pending, uint32_t *length)
{
    struct hark_control m;
    *out = *err = 0;
    *pending = NULL;
    *length = 0;
    if (P.control < 0) return true;
    pthread_mutex_lock(&P.lock);
    P.marked = false;
    pthread_mutex_unlock(&P.lock);
    hark_control_begin(&m, HARK_C_MARK);
    hark_control_put64(&m, id);
    hark_control_put64(&m, read_ahead());
    hark_process_say(&m);
    pthread_mutex_lock(&P.lock);
    while (!P.marked && !P.lost) pthread_cond_wait(&P.marked_now, &P.lock);
    *out = P.marked_out;
    *err = P.marked_err;
    if (P.marked && hark_control_parse(&m, P.marked_message->bytes, P.marked_message->length) > 0) {
        for (int i = 0; i < 3; i++) (void)hark_control_get64(&m);
        if (m.next < m.length) *pending = hark_control_get_bytes(&m, length);
    }
    pthread_mutex_unlock(&P.lock);
    if (*out == UINT64_MAX)
        hark_process_trouble(
            "more than 4 MiB of its output are not written yet, so it takes no checkpoint now");
    return *out != UINT64_MAX;
}

/* ---- what the supervisor says ---------------------------------------------------------------- */

static int on_failed(struct hark_control *c)
{
    struct hark_event e = {.type = HARK_FAILED};
    uint32_t n;
    e.u.failed.re = hark_control_get32(c);
    n = hark_control_get32(c);
    uint32_t *down = calloc((size_t)n + 1, sizeof *down);
    for (uint32_t i = 0; i < n && down && !c->bad; i++) down[i] = hark_control_get32(c);
    e.u.failed.down_count = n;
    n = hark_control_get32(c);
    struct hark_incarnation *inc = calloc((size_t)n + 1, sizeof *inc);
    for (uint32_t i = 0; i < n && inc && !c->bad; i++) {
        inc[i].rank = hark_control_get32(c);
        inc[i].inc = hark_control_get32(c);
    }
    e.u.failed.inc_count = n;
    n = hark_control_get32(c);
    struct hark_decision *wave = calloc((size_t)n + 1, sizeof *wave);
    for (uint32_t i = 0; i < n && wave && !c->bad; i++) {
        wave[i].cluster = hark_control_get32(c);
        wave[i].wave = hark_control_get64(c);
    }
    e.u.failed.wave_count = n;
    e.u.failed.down = down;
    e.u.failed.inc = inc;
    e.u.failed.wave = wave;
    if (!down || !inc || !wave) hark_process_fatal("%s: no memory for a failure", P.name);
    HARK_POINT("failed", P.setup.rank);
    int status = c->bad ? HARK_D_EINVAL : hark_driver_failed(P.driver, &e);
    HARK_POINT("heard", P.setup.rank);
    P.re_seen = e.u.failed.re;
    free(down);
    free(inc);
    free(wave);
    return status;
}

/* The next clusters. */
static int on_clusters(struct hark_control *c)
{
    struct hark_clusters clusters;
    struct hark_range *group = NULL;
    char error[256], *copy;
    size_t length;
    const char *text = hark_control_gets(c, &length);
    uint32_t count = 0;
    if (c->bad) return HARK_D_EINVAL;
    copy = strndup(text, length);
    bool read = copy && hark_clusters_parse(&clusters, P.setup.ranks, copy, "clusters", error) == 0;
    if (read) group = hark_clusters_group(&clusters, P.setup.rank, &count);
    HARK_POINT("clusters", P.setup.rank);
    int status = group ? hark_driver_recluster(P.driver, group, count) : HARK_D_EINVAL;
    HARK_POINT("told", P.setup.rank);
    if (read) hark_clusters_free(&clusters);
    free(group);
    free(copy);
    return status;
}

/* Nothing moves: where does the application wait? */
static void say_waits(void)
{
    struct hark_waits w = {0};
    struct hark_control m;
    if (P.waits == NULL) return;
    P.waits(&w);
    if (P.sends) {
        if (w.what == HARK_WAITS_NOT) snprintf(w.call, sizeof w.call, "a send");
        w.what = HARK_WAITS_ROOM;
    }
    hark_control_begin(&m, HARK_C_WAITS);
    hark_waits_put(&m, &w);
    hark_process_say(&m);
}

/* Frames wait for somebody who can not be reached. The supervisor knows whether that one lives. */
HARK_COLD void tell_apart(void)
{
    uint32_t rank;
    uint64_t milliseconds;
    char text[200];
    while (P.transport->ops->apart(P.transport, &rank, &milliseconds, text)) {
        struct hark_control m;
        hark_control_begin(&m, HARK_C_APART);
        hark_control_put32(&m, rank);
        hark_control_put64(&m, milliseconds);
        hark_control_puts(&m, text, strlen(text));
        hark_process_say(&m);
    }
}

void hark_process_apart(void)
{
    if (P.transport->apart) tell_apart();
}

static int on_message(struct hark_control *c)
{
    char address[512];
    const char *text;
    size_t n;
    uint32_t a, b;
    uint64_t id;
    switch (c->type) {
    case HARK_C_PEER:
        a = hark_control_get32(c);
        b = hark_control_get32(c);
        text = hark_control_gets(c, &n);
        snprintf(address, sizeof address, "%.*s", (int)n, text);
        return c->bad ? HARK_D_EINVAL : hark_driver_peer(P.driver, a, b, n ? address : NULL);
    case HARK_C_FAILED: return on_failed(c);
    case HARK_C_STORED:
        a = hark_control_get32(c);
        id = hark_control_get64(c);
        b = hark_control_get32(c);
        return hark_driver_stored(P.driver, a, id, b != 0);
    case HARK_C_ASK: P.asked = hark_control_get64(c); return HARK_D_OK;
    case HARK_C_LOOK: /* to be awake, look, and sleep again, is the answer: it is on the board */
        say_waits();
        if (P.transport->ops->apart) tell_apart();
        return HARK_D_OK;
    case HARK_C_QUIET:
        P.quiet = true;
        say_waits();
        if (P.transport->ops->apart) tell_apart();
        return hark_driver_quiet(P.driver);
    case HARK_C_CHECKPOINT: P.checkpoint = true; return HARK_D_OK;
    case HARK_C_CLUSTERS: return P.setup.rank == HARK_RECOVERY ? HARK_D_OK : on_clusters(c);
    case HARK_C_ALL_DONE: P.all_done = true; return HARK_D_OK;
    case HARK_C_READINGS_KEPT: hark_journal_away_kept(hark_control_get64(c)); return HARK_D_OK;
    default: return HARK_D_OK; /* a newer supervisor may say more */
    }
}

int hark_process_control(void)
{
    if (!atomic_load_explicit(&P.pending, memory_order_acquire)) return 0;
    for (int n = 0;; n++) {
        pthread_mutex_lock(&P.lock);
        struct hark_process_message *m = P.head;
        if (m) P.head = m->next;
        if (P.head == NULL) {
            P.tail = NULL;
            atomic_store_explicit(&P.pending, false, memory_order_relaxed);
        }
        pthread_mutex_unlock(&P.lock);
        if (m == NULL) return n;
        struct hark_control c;
        int status =
            hark_control_parse(&c, m->bytes, m->length) > 0 ? on_message(&c) : HARK_D_EINVAL;
        free(m);
        if (status < 0) return status;
    }
}

static void check(int status)
{
    if (status >= 0) return;
    if (status == HARK_D_EGONE) hark_rollback();
    const char *why = hark_driver_error(P.driver);
    hark_process_fatal(
        "%s: %s", P.name, *why ? why : "the supervisor has said what can not be read");
}

/* What the transport refused goes to the board; what the driver refused is there already. */
static void count_refused(void)
{
    uint64_t now = P.transport->figures.refused;
    atomic_store_explicit(
        &P.slot->refused, P.slot->refused + now - P.refused, memory_order_relaxed);
    P.refused = now;
}

/* Output waits for the determinants that it depends on. */
static void answer_stable(void)
{
    struct hark_control m;
    if (P.unsettled && !hark_journal_settled()) return;
    if (hark_unstable(hark_driver_core(P.driver))) {
        check(hark_driver_stabilise(P.driver));
        return;
    }
    P.answered = P.asked;
    hark_control_begin(&m, HARK_C_STABLE);
    hark_control_put64(&m, P.asked);
    hark_process_say(&m);
}

static inline void after_poll(void)
{
    if (__builtin_expect(P.transport->figures.refused != P.refused, 0)) count_refused();
    if (__builtin_expect(P.asked != P.answered, 0)) answer_stable();
}

uint64_t hark_process_number(const char *name)
{
    const struct hark_shape *s = P.protocol->shape;
    for (uint32_t i = 0; i < s->fields; i++)
        if (strcmp(s->field[i].name, name) == 0)
            return hark_number(hark_driver_core(P.driver), &s->field[i]);
    return 0;
}

void hark_process_poll(void)
{
    check(hark_process_control());
    check(hark_driver_poll(P.driver));
    after_poll();
}

void hark_process_polled_seldom(int status)
{
    check(status);
    after_poll();
}

void hark_process_awake(void)
{
    atomic_store_explicit(&P.slot->state, HARK_B_BUSY, memory_order_relaxed);
    /* Nobody else writes it. */
    atomic_store_explicit(&P.slot->turn,
        atomic_load_explicit(&P.slot->turn, memory_order_relaxed) + 1, memory_order_relaxed);
}

void hark_process_wait(void)
{
    int said = hark_process_control();
    check(said);
    int n = hark_driver_poll(P.driver);
    check(n);
    after_poll();
    if (said > 0 || n > 0 || atomic_load_explicit(&P.pending, memory_order_acquire)) return;
    if (!hark_driver_writes(P.driver)) /* else something will happen by itself */
        atomic_store_explicit(&P.slot->state, HARK_B_BLOCKED, memory_order_relaxed);
    check(hark_driver_wait(P.driver, -1));
    hark_process_apart();
    after_poll();
    hark_process_awake();
}

/* ---- begin and end --------------------------------------------------------------------------- */

void hark_process_hello(uint64_t out, uint64_t err, const void *pending, uint32_t length)
{
    struct hark_control m;
    sigset_t all, before;
    const char *address = HARK_POINT_ADDRESS(hark_driver_address(P.driver));
    hark_observe_start();
    if (P.control < 0) return;
    hark_control_begin(&m, HARK_C_HELLO);
    hark_control_put32(&m, P.setup.inc);
    hark_control_put64(&m, out);
    hark_control_put64(&m, err);
    hark_control_puts(&m, address, strlen(address));
    hark_control_put_bytes(&m, pending, length);
    hark_control_put32(&m, (uint32_t)getpid());
    HARK_POINT("up", P.setup.rank);
    hark_process_say(&m);
    HARK_POINT("hello", P.setup.rank);
    sigfillset(&all); /* signals are the application's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    P.reading = pthread_create(&P.reader, NULL, listen_to_supervisor, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!P.reading) hark_process_fatal("%s: no thread for the control socket", P.name);
    while (P.re_seen < P.setup.re)
        hark_process_wait(); /* a restarted process learns first who is who */
}

static void close_recorder(void)
{
    const int failed = P.recorder ? hark_recorder_close(P.recorder) : 0;
    P.recorder = NULL;
    if (failed)
        hark_process_note("%s: --record: its part was not written: %s", P.name, strerror(failed));
}

void hark_process_close(void)
{
    if (P.reading) {
        pthread_cancel(P.reader);
        pthread_join(P.reader, NULL);
        for (struct hark_process_message *m = P.head, *next; m; m = next) { /* said after the end */
            next = m->next;
            free(m);
        }
        P.head = P.tail = NULL;
    }
    free(P.marked_message);
    count_refused();
    hark_observe_finish();
    hark_driver_close(P.driver);
    hark_trace_close(P.trace);
    close_recorder();
    if (P.behind) P.behind->ops->close(P.behind);
    if (P.store) P.store->ops->close(P.store);
    if (P.setup.store_fd >= 0) close(P.setup.store_fd);
    hark_rollback_forget();
    hark_journal_close();
    if (P.setup.board < 0) free(P.board);
    else munmap(P.board, hark_board_bytes(P.setup.ranks, P.setup.traffic));
    hark_setup_free(&P.setup);
}
