#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../driver/point.h"
#include "clusters.h"
#include "hark/registry.h"
#include "observe.h"
#include "rollback.h"
#include "transports.h"

struct hark_process hark_process = {.control = -1, .name = "a process"};
#define P hark_process

uint64_t hark_process_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- saying ------------------------------------------------------------------------------------------------ */

static void sweep_alone(void);

void hark_process_say(struct hark_control *m)
{
    if (m->bad) hark_process_fatal("%s: no memory for what is to be told to the supervisor", P.name);
    hark_control_end(m);
    for (size_t at = 0; at < m->length && P.control >= 0;) {
        ssize_t n = send(P.control, m->at + at, m->length - at, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) _exit(1); /* the supervisor is gone, and with it the job */
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
        sweep_alone();
    }
    _exit(1);
}

/* ---- listening: a thread of its own, so that a sleeping process wakes ----------------------------------------- */

/* Only here may the thread be ended. In the middle of waking the transport would wait for it for ever. */
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
        if (n <= 0) return false;
        at += n;
        length -= (size_t)n;
    }
    return true;
}

static struct hark_process_message *read_message(void)
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
        struct hark_process_message *m = read_message();
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
        } else {
            if (P.tail) P.tail->next = m;
            else P.head = m;
            P.tail = m;
            atomic_store_explicit(&P.pending, true, memory_order_release);
        }
        pthread_cond_signal(&P.marked_now);
        pthread_mutex_unlock(&P.lock);
        if (m == NULL) _exit(1);
        HARK_POINT("wake", P.setup.rank);
        hark_driver_wake(P.driver);
    }
}

bool hark_process_mark(uint64_t id, uint64_t *out, uint64_t *err, const void **pending, uint32_t *length)
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
    return *out != UINT64_MAX;
}

/* ---- what the supervisor says ------------------------------------------------------------------------------------ */

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
        wave[i].group = hark_control_get32(c);
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
    case HARK_C_LOOK: return HARK_D_OK; /* to be awake, look, and sleep again, is the answer: it stands on the board */
    case HARK_C_QUIET: P.quiet = true; return hark_driver_quiet(P.driver);
    case HARK_C_ALL_DONE: P.all_done = true; return HARK_D_OK;
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
        int status = hark_control_parse(&c, m->bytes, m->length) > 0 ? on_message(&c) : HARK_D_EINVAL;
        free(m);
        if (status < 0) return status;
    }
}

static void check(int status)
{
    if (status >= 0) return;
    if (status == HARK_D_EGONE) hark_rollback();
    const char *why = hark_driver_error(P.driver);
    hark_process_fatal("%s: %s", P.name, *why ? why : "the supervisor has said what can not be read");
}

/* What the transport refused goes to the board; what the driver refused is there already. */
static void count_refused(void)
{
    uint64_t now = P.transport->figures.refused;
    atomic_store_explicit(&P.slot->refused, P.slot->refused + now - P.refused, memory_order_relaxed);
    P.refused = now;
}

/* Output waits for the determinants that it depends on. */
static void answer_stable(void)
{
    struct hark_control m;
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

void hark_process_poll(void)
{
    check(hark_process_control());
    check(hark_driver_poll(P.driver));
    after_poll();
}

void hark_process_wait(void)
{
    int said = hark_process_control();
    check(said);
    int n = hark_driver_poll(P.driver);
    check(n);
    after_poll();
    if (said > 0 || n > 0 || atomic_load_explicit(&P.pending, memory_order_acquire)) return;
    atomic_store_explicit(&P.slot->state, HARK_B_BLOCKED, memory_order_relaxed);
    check(hark_driver_wait(P.driver, -1));
    after_poll();
    atomic_store_explicit(&P.slot->state, HARK_B_BUSY, memory_order_relaxed);
    /* Nobody else writes it. */
    atomic_store_explicit(&P.slot->turn, atomic_load_explicit(&P.slot->turn, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* ---- hooks that are the same for all --------------------------------------------------------------------------------- */

static void persist(void *self, const struct hark_effect *x)
{
    struct hark_control m;
    (void)self;
    hark_control_begin(&m, HARK_C_PERSIST);
    hark_control_put32(&m, x->fact);
    hark_control_put32(&m, x->peer);
    hark_control_put32(&m, x->re);
    hark_control_put64(&m, x->u.id);
    hark_control_put64(&m, x->fact == HARK_FACT_WAVE ? x->got : 0);
    HARK_POINT("persist", P.setup.rank);
    hark_process_say(&m);
    HARK_POINT("persisted", P.setup.rank);
}

static void diverged(void *self, const struct hark_effect *x)
{
    char line[300];
    struct hark_control m;
    (void)self;
    if (x->expected == 0 && x->got == 0)
        snprintf(line, sizeof line,
            "rank %u diverged: its re-execution does not send messages %llu..%llu to rank %u (context %u), which it sent "
            "before the failure",
            P.setup.rank, (unsigned long long)x->name.ssn, (unsigned long long)x->u.last, x->name.peer, x->name.ctx);
    else
        snprintf(line, sizeof line,
            "rank %u diverged: messages %llu..%llu to rank %u (context %u) differ from those sent before the failure: "
            "digest expected %016llx, got %016llx",
            P.setup.rank, (unsigned long long)x->name.ssn, (unsigned long long)x->u.last, x->name.peer, x->name.ctx,
            (unsigned long long)x->expected, (unsigned long long)x->got);
    hark_control_begin(&m, HARK_C_DIVERGED);
    hark_control_puts(&m, line, strlen(line));
    hark_process_say(&m);
}

static int waiting(void *self)
{
    (void)self;
    return hark_process_control();
}

void hark_process_trouble(const char *line)
{
    char text[300];
    struct hark_control m;
    if (P.control < 0) {
        fprintf(stderr, "hark: %s\n", line);
        return;
    }
    /* Not on stderr: this is no part of the execution, and must not move the positions of its output. */
    snprintf(text, sizeof text, "%s: %s", P.name, line);
    hark_control_begin(&m, HARK_C_TROUBLE);
    hark_control_puts(&m, text, strlen(text));
    hark_process_say(&m);
}

static void trouble(void *self, const char *line)
{
    (void)self;
    hark_process_trouble(line);
}

/* ---- open ------------------------------------------------------------------------------------------------------------- */

/* A job of one leaves nothing behind, also when it ends without finalize. */
static void sweep_alone(void)
{
    const struct hark_transport_ops *t = P.setup.transport ? hark_transport_named(P.setup.transport) : NULL;
    if (t == NULL || P.setup.job == NULL || P.setup.directory == NULL) return;
    t->sweep(P.setup.job, P.setup.directory);
    rmdir(P.setup.directory);
}

static void setup_alone(void)
{
    char directory[80], name[40];
    const char *base = getenv("TMPDIR");
    if (base == NULL || base[0] != '/' || strlen(base) > 40) base = "/tmp"; /* as the supervisor */
    snprintf(directory, sizeof directory, "%s/hark-alone-XXXXXX", base);
    snprintf(name, sizeof name, "alone-%d", (int)getpid());
    P.setup = (struct hark_setup){.ranks = 1, .job = strdup(name), .directory = strdup(directory),
        .protocol = strdup("none"), .transport = strdup("shm"), .board = -1, .store_fd = -1,
        .kept = -1};
    if (!P.setup.job || !P.setup.directory || !P.setup.protocol || !P.setup.transport)
        hark_process_fatal("no memory for a job of one");
    if (mkdtemp(P.setup.directory) == NULL) hark_process_fatal("%s: %s", directory, strerror(errno));
    atexit(sweep_alone);
}

static void setup_take(const char *control)
{
    char error[200] = "no message";
    struct hark_control c;
    size_t n;
    P.control = atoi(control);
    /* Die with the supervisor; the janitor sweeps up what remains. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct hark_process_message *m = read_message();
    if (m == NULL || hark_control_parse(&c, m->bytes, m->length) <= 0 || c.type != HARK_C_SETUP)
        hark_process_fatal("HARK_CONTROL=%s: this is not the control socket of `hark run`", control);
    const char *text = hark_control_gets(&c, &n);
    if (hark_setup_read(&P.setup, text, n, error) < 0) hark_process_fatal("%s", error);
    free(m);
    /* Not for what the program may start; a rollback passes them on. */
    const int ours[] = {P.control, P.setup.board, P.setup.store_fd, P.setup.kept};
    for (size_t i = 0; i < HARK_COUNT(ours); i++)
        if (ours[i] >= 0) (void)fcntl(ours[i], F_SETFD, FD_CLOEXEC);
}

static void board_open(void)
{
    uint64_t bytes = hark_board_bytes(P.setup.ranks, P.setup.traffic);
    if (P.setup.board < 0) P.board = calloc(1, bytes);
    else P.board = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, P.setup.board, 0);
    if (P.board == NULL || P.board == MAP_FAILED) hark_process_fatal("the board: %s", strerror(errno));
    if (P.setup.traffic && P.setup.rank != UINT32_MAX) P.traffic = hark_board_traffic(P.board, P.setup.rank);
    P.slot = &P.board->slot[P.setup.rank == UINT32_MAX ? P.setup.ranks : P.setup.rank];
    atomic_store_explicit(&P.slot->state, HARK_B_BUSY, memory_order_relaxed); /* the incarnation before may have slept */
}

static void trace_open(const struct hark_clusters *clusters)
{
    char error[HARK_TRACE_ERROR];
    struct hark_trace_job job = {P.setup.ranks, P.setup.protocol, P.setup.transport, clusters->of};
    if (P.setup.trace == NULL) return;
    P.trace = hark_trace_open(P.setup.trace, &job, 0, error);
    if (P.trace == NULL) hark_process_fatal("%s", error);
}

/* The driver opens its transport; we remember it. */
static const struct hark_transport_ops *opened;
static int open_transport(struct hark_transport **t, const struct hark_transport_config *config, char error[200])
{
    int status = opened->open(t, config, error);
    P.transport = *t;
    return status;
}

/* Where the protocol knows groups there are two, of all processes, along a binomial tree from rank 0. To be freed. */
static uint32_t *make_trees(struct hark_tree tree[2], struct hark_config *core)
{
    uint32_t n = core->ranks, *member = malloc(2 * (size_t)n * sizeof *member), *parent = member + n;
    if (member == NULL) hark_process_fatal("%s: no memory for a tree of processes", P.name);
    for (uint32_t i = 0; i < n; i++) member[i] = i;
    hark_tree_binomial(member, n, 0, parent);
    tree[0] = (struct hark_tree){.ctx = HARK_PROCESS_MULTICAST, .member = member, .parent = parent, .count = n};
    tree[1] = tree[0];
    tree[1].ctx = HARK_PROCESS_REDUCTION;
    tree[1].reduces = 1;
    core->trees = tree;
    core->tree_count = 2;
    return member;
}

static void driver_open(const struct hark_hooks *hooks, const struct hark_clusters *clusters, bool recovery)
{
    char error[256];
    struct hark_driver_config c = {.hooks = *hooks, .digest = P.setup.digest != 0};
    struct hark_range *group = NULL;
    struct hark_tree tree[2];
    uint32_t *members = NULL;
    P.protocol = hark_protocol_named(recovery ? "recovery" : P.setup.protocol);
    if (P.protocol == NULL) hark_process_fatal("no protocol is named %s", P.setup.protocol);
    c.protocol = P.protocol;
    c.core.me = P.setup.rank;
    c.core.ranks = P.setup.ranks;
    c.core.generations = P.setup.generations;
    c.core.copies = P.setup.copies;
    c.core.fan = P.setup.report_tree;
    c.core.flags = (P.setup.exact_gate ? HARK_EXACT_GATE : 0) | (P.setup.team_lost ? HARK_TEAM_LOST : 0);
    if (!recovery && P.protocol->rolls == HARK_ROLLS_GROUP) {
        group = hark_clusters_group(clusters, P.setup.rank, &c.core.group_count);
        if (group == NULL) hark_process_fatal("%s: no memory for a cluster", P.name);
        c.core.group = group;
    }
    P.groups = !recovery && (P.protocol->traits & HARK_TRAIT_GROUPS);
    if (P.groups) members = make_trees(tree, &c.core);
    opened = hark_transport_named(P.setup.transport);
    if (opened == NULL) hark_process_fatal("no transport is named %s", P.setup.transport);
    struct hark_transport_ops ops = *opened;
    ops.open = open_transport;
    c.transport = &ops;
    c.transport_config = (struct hark_transport_config){.job = P.setup.job, .directory = P.setup.directory,
        .me = P.setup.rank, .inc = P.setup.inc, .ranks = P.setup.ranks, .frame_limit = P.setup.frame_limit,
        .address = HARK_POINT_LISTEN};
    memcpy(c.transport_config.key, P.setup.key, sizeof P.setup.key);
    memcpy(c.transport_config.option, P.setup.option, sizeof P.setup.option);
    c.store = P.store;
    c.log = (struct hark_log_config){.limit = P.setup.log_limit, .spill = P.setup.spill, .rank = P.setup.rank, .inc = P.setup.inc};
    c.figures = (struct hark_driver_figures *)(void *)P.slot;
    c.hooks.persist = persist;
    c.hooks.diverged = diverged;
    c.hooks.trouble = trouble;
    c.hooks.waiting = waiting;
    if (P.trace) c.hooks.observe = hark_observe;
    if (hark_driver_open(&P.driver, &c, error) < 0) hark_process_fatal("%s: %s", P.name, error);
    free(group);
    free(members);
}

HARK_STATIC_ASSERT(offsetof(struct hark_board_slot, image_ns) == offsetof(struct hark_driver_figures, image_ns),
    "a slot of the board begins with the driver's figures");

/* The store by its name, which is what messages then say; or, where that is another directory by now or none, the
 * directory that the job began with. */
static int store_open(char error[256])
{
    struct stat named, begun;
    char path[64];
    const char *name = P.setup.store;
    if (P.setup.store_fd >= 0 && fstat(P.setup.store_fd, &begun) == 0 &&
        (stat(name, &named) < 0 || named.st_dev != begun.st_dev || named.st_ino != begun.st_ino)) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", P.setup.store_fd);
        name = path;
    }
    return hark_store_open_directory(&P.store, name, P.setup.job, P.setup.ranks, false, error);
}

void hark_process_open(const struct hark_hooks *hooks, bool recovery)
{
    const char *control = getenv("HARK_CONTROL");
    struct hark_clusters clusters = {0};
    char error[256] = "no memory for clusters";
    pthread_mutex_init(&P.lock, NULL);
    pthread_cond_init(&P.marked_now, NULL);
    if (control) setup_take(control);
    else setup_alone();
    if (recovery) snprintf(P.name, sizeof P.name, "the recovery process");
    else snprintf(P.name, sizeof P.name, "rank %u", P.setup.rank);
    if (control && !recovery) hark_rollback_remember();
    signal(SIGPIPE, SIG_IGN);
    board_open();
    P.payload_limit = (P.setup.frame_limit ? P.setup.frame_limit : HARK_FRAME_LIMIT) - HARK_HEADER_MAX;
    if (P.setup.clusters ? hark_clusters_parse(&clusters, P.setup.ranks, P.setup.clusters, "clusters", error) < 0
                         : hark_clusters_blocks(&clusters, P.setup.ranks, P.setup.ranks) < 0)
        hark_process_fatal("%s: %s", P.name, error);
    if (P.setup.store && !recovery && store_open(error) < 0) {
        /* It may have vanished since the job began: then there will be no more checkpoints, and the job goes on. */
        if (P.setup.checkpoint) hark_process_fatal("%s: %s", P.name, error);
        hark_process_trouble(error);
    }
    trace_open(&clusters);
    driver_open(hooks, &clusters, recovery);
    hark_clusters_free(&clusters);
}

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
    HARK_POINT("up", P.setup.rank);
    hark_process_say(&m);
    HARK_POINT("hello", P.setup.rank);
    sigfillset(&all); /* signals are the application's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    P.reading = pthread_create(&P.reader, NULL, listen_to_supervisor, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!P.reading) hark_process_fatal("%s: no thread for the control socket", P.name);
    while (P.re_seen < P.setup.re) hark_process_wait(); /* a restarted process learns first who is who */
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
    if (P.store) P.store->ops->close(P.store);
    if (P.setup.store_fd >= 0) close(P.setup.store_fd);
    hark_rollback_forget();
    if (P.setup.board < 0) free(P.board);
    else munmap(P.board, hark_board_bytes(P.setup.ranks, P.setup.traffic));
    if (P.control < 0) sweep_alone();
    hark_setup_free(&P.setup);
}
