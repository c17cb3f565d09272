/* How a process of the job opens: what it is told, the board, the trace, the store, the driver and
 * its hooks. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../driver/point.h"
#include "../store/descriptor.h"
#include "../control/clusters.h"
#include "hark/registry.h"
#include "journal.h"
#include "journal_away.h"
#include "observe.h"
#include "rollback.h"
#include "../control/transports.h"

#define P hark_process

/* ---- hooks that are the same for all --------------------------------------------------------- */

static void persist(void *self, const struct hark_fact *fact)
{
    struct hark_control m;
    (void)self;
    hark_control_begin(&m, HARK_C_PERSIST);
    hark_control_put32(&m, fact->kind);
    hark_control_put32(&m, fact->rank);
    hark_control_put32(&m, fact->re);
    hark_control_put64(&m, fact->id);
    hark_control_put64(&m, fact->oldest);
    hark_control_put32(&m, fact->new_map);
    HARK_POINT("persist", P.setup.rank);
    hark_process_say(&m);
    HARK_POINT("persisted", P.setup.rank);
}

/* The channel, not the communicator: all of MPI share four (app_state.h). */
static const char *channel_words(uint16_t channel)
{
    static const char *const words[] = {"messages", "collective calls", "multicasts", "reductions",
        "messages of MPI", "collective calls of MPI", "acknowledgements of MPI",
        "one-sided calls of MPI"};
    return channel < sizeof words / sizeof words[0] ? words[channel] : "of another version";
}

static void say_diverged(char *line, size_t room)
{
    struct hark_control m;
    const size_t length = strlen(line);
    if (P.unordered && P.protocol->manual->programs == HARK_FOR_SENDS)
        snprintf(line + length, room - length, "; %s, in an order that %s does not repeat",
            P.unordered, P.protocol->name);
    hark_control_begin(&m, HARK_C_DIVERGED);
    hark_control_puts(&m, line, strlen(line));
    hark_process_say(&m);
}

static void diverged(void *self, const struct hark_divergence *x)
{
    char line[600];
    (void)self;
    if (x->name.way == HARK_IN && x->name.ssn)
        snprintf(line, sizeof line,
            "rank %u diverged: its re-execution does not take, or look at, message %llu of rank %u "
            "(context %u: %s), as it did next "
            "before the failure",
            P.setup.rank, (unsigned long long)x->name.ssn, x->name.peer, x->name.ctx,
            channel_words(x->name.ctx));
    else if (x->name.way == HARK_IN)
        snprintf(line, sizeof line,
            "rank %u diverged: its re-execution waits where it did something else before the "
            "failure",
            P.setup.rank);
    else if (x->expected == 0 && x->got == 0)
        snprintf(line, sizeof line,
            "rank %u diverged: its re-execution does not send messages %llu..%llu to rank %u "
            "(context %u: %s), which it sent "
            "before the failure",
            P.setup.rank, (unsigned long long)x->name.ssn, (unsigned long long)x->last,
            x->name.peer, x->name.ctx, channel_words(x->name.ctx));
    else
        snprintf(line, sizeof line,
            "rank %u diverged: messages %llu..%llu to rank %u (context %u: %s) differ from those "
            "sent "
            "before the failure: "
            "digest expected %016llx, got %016llx",
            P.setup.rank, (unsigned long long)x->name.ssn, (unsigned long long)x->last,
            x->name.peer, x->name.ctx, channel_words(x->name.ctx), (unsigned long long)x->expected,
            (unsigned long long)x->got);
    say_diverged(line, sizeof line);
}

static int waiting(void *self)
{
    (void)self;
    P.sends = true;
    hark_process_apart();
    const int said = hark_process_control();
    atomic_store_explicit(
        &P.slot->state, P.transport->unreached ? HARK_B_APART : HARK_B_SENDS, memory_order_relaxed);
    return said;
}

static void waited(void *self)
{
    (void)self;
    P.sends = false;
    hark_process_awake();
}

static void trouble(void *self, const char *line)
{
    (void)self;
    hark_process_trouble(line);
}

/* ---- open ------------------------------------------------------------------------------------ */

/* Another launcher has started several processes, each of which would be alone. */
static void note_other_launcher(void)
{
    static const struct {
        const char *size, *rank;
    } launchers[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, {"PMI_SIZE", "PMI_RANK"}};
    for (size_t i = 0; i < HARK_COUNT(launchers); i++) {
        const char *size = getenv(launchers[i].size), *rank = getenv(launchers[i].rank);
        if (size == NULL || atoi(size) < 2 || rank == NULL || atoi(rank) != 0) continue;
        fprintf(stderr,
            "hark: %s processes were started by mpiexec, and each is a job of its own: start them "
            "by hark run -n %s\n",
            size, size);
        return;
    }
}

static void setup_alone(void)
{
    note_other_launcher();
    char name[40];
    snprintf(name, sizeof name, "alone-%d", (int)getpid());
    P.setup = (struct hark_setup){.ranks = 1,
        .job = strdup(name),
        .protocol = strdup(hark_protocol_for(HARK_FOR_NOTHING)->name),
        .transport = strdup("shm"),
        .board = -1,
        .journal = -1,
        .store_fd = -1,
        .kept = -1};
    if (!P.setup.job || !P.setup.protocol || !P.setup.transport)
        hark_process_fatal("no memory for a job of one");
}

/* A job of one leaves nothing behind, however it ends: what others would find it by has no name any
 * more. */
static void forget_names(void)
{
    const struct hark_transport_ops *t = hark_transport_named(P.setup.transport);
    if (t) t->sweep(P.setup.job, P.setup.directory);
}

#define CONTROL_TEXT 64

/* The value of `name` ("NAME=") in the environment as the process was given it, also if the program
 * has emptied it since. */
static bool given(const char *name, char value[CONTROL_TEXT])
{
    char bytes[4096];
    size_t at = 0, length = strlen(name); /* so far the string at hand is name[0 .. at], then value
                                           */
    bool found = false, other = false;
    int fd = hark_descriptor_above(open("/proc/self/environ", O_RDONLY | O_CLOEXEC));
    for (ssize_t n; fd >= 0 && !found && (n = read(fd, bytes, sizeof bytes)) > 0;)
        for (ssize_t i = 0; i < n && !found; i++) {
            other = other || (at < length ? bytes[i] != name[at] : at - length + 1 >= CONTROL_TEXT);
            if (!other && at >= length) value[at - length] = bytes[i];
            found = !other && at >= length && bytes[i] == 0;
            at++;
            if (bytes[i] == 0) at = 0, other = false;
        }
    if (fd >= 0) close(fd);
    return found;
}

/* Who joins a job has HARK_CONTROL; false: it is not there. */
static bool control_given(char value[CONTROL_TEXT])
{
    const char *now = getenv("HARK_CONTROL");
    if (now == NULL) return given("HARK_CONTROL=", value);
    snprintf(value, CONTROL_TEXT, "%s", now);
    return true;
}

/* The descriptor in "DESCRIPTOR:NUMBER", if it is the socket of that number; -1: it is not, the
 * variable is another process's. */
static int control_socket(const char *control)
{
    struct stat st;
    char *end;
    unsigned long fd = strtoul(control, &end, 10);
    if (end == control || *end != ':' || fd > INT_MAX) return -1;
    unsigned long long number = strtoull(end + 1, &end, 10);
    bool ours =
        *end == 0 && fstat((int)fd, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_ino == number;
    return ours ? (int)fd : -1;
}

static void setup_take(const char *control)
{
    char error[200] = "no message";
    struct hark_control c;
    uint32_t n;
    (void)unsetenv("HARK_CONTROL"); /* not for what the program may start */
    /* Die with the supervisor; the janitor sweeps up what remains. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct hark_process_message *m = hark_process_read();
    if (m == NULL || hark_control_parse(&c, m->bytes, m->length) <= 0 || c.type != HARK_C_SETUP)
        hark_process_fatal(
            "HARK_CONTROL=%s: this is not the control socket of `hark run`", control);
    const uint8_t *text = hark_control_get_bytes(&c, &n);
    if (text == NULL || hark_setup_read(&P.setup, (const char *)text, n, error) < 0)
        hark_process_fatal("%s", error);
    free(m);
    /* Not for what the program may start; a rollback passes them on. */
    const int ours[] = {P.control, P.setup.board, P.setup.journal, P.setup.store_fd, P.setup.kept};
    for (size_t i = 0; i < HARK_COUNT(ours); i++)
        if (ours[i] >= 0) (void)fcntl(ours[i], F_SETFD, FD_CLOEXEC);
}

static void board_open(void)
{
    uint64_t bytes = hark_board_bytes(P.setup.ranks, P.setup.traffic);
    if (P.setup.board < 0) P.board = calloc(1, bytes);
    else P.board = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, P.setup.board, 0);
    if (P.board == NULL || P.board == MAP_FAILED)
        hark_process_fatal("the board: %s", strerror(errno));
    if (P.setup.traffic && P.setup.rank != UINT32_MAX)
        P.traffic = hark_board_traffic(P.board, P.setup.rank);
    P.slot = &P.board->slot[P.setup.rank == UINT32_MAX ? P.setup.ranks : P.setup.rank];
    atomic_store_explicit(&P.slot->state, HARK_B_BUSY, memory_order_relaxed); /* the incarnation
                                                                                 before may have
                                                                                 slept */
}

static void trace_open(const struct hark_clusters *clusters)
{
    char error[HARK_TRACE_ERROR];
    struct hark_trace_job job = {P.setup.ranks, P.setup.protocol, P.setup.transport, clusters->of};
    if (P.setup.trace == NULL) return;
    P.trace = hark_trace_open(P.setup.trace, &job, 0, error);
    if (P.trace == NULL) hark_process_fatal("%s", error);
}

/* Of the first incarnation only: with another one the recording is of no use. */
static void recorder_open(void)
{
    char path[200];
    if (!P.setup.record || P.setup.inc || P.setup.re || P.setup.rank == UINT32_MAX) return;
    snprintf(path, sizeof path, HARK_RECORDING_PART, P.setup.directory, (unsigned)P.setup.rank);
    P.recorder = hark_recorder_open(path);
    if (P.recorder == NULL)
        hark_process_fatal("%s: --record: %s: %s", P.name, path, strerror(errno));
}

/* The driver opens its transport; we remember it. */
static const struct hark_transport_ops *opened;
static int open_transport(
    struct hark_transport **t, const struct hark_transport_config *config, char error[200])
{
    int status = opened->open(t, config, error);
    P.transport = *t;
    if (status >= 0) hark_journal_guard(*t);
    return status;
}

/* Where the protocol knows groups there are two, of all processes, along a binomial tree from rank
 * 0. To be freed. A reduction always has that tree, or its result would depend on the protocol;
 * where the teams are not pieces of it, it goes by messages. */
static uint32_t *make_trees(struct hark_group tree[2], struct hark_config *core, const uint32_t *of)
{
    uint32_t n = core->ranks, *member = malloc(2 * (size_t)n * sizeof *member),
             *parent = member + n;
    if (member == NULL) hark_process_fatal("%s: no memory for a tree of processes", P.name);
    for (uint32_t i = 0; i < n; i++) member[i] = i;
    hark_tree_binomial(member, n, 0, parent);
    tree[0] = (struct hark_group){
        .ctx = HARK_PROCESS_MULTICAST, .member = member, .parent = parent, .count = n};
    tree[1] = tree[0];
    tree[1].ctx = HARK_PROCESS_REDUCTION;
    tree[1].reduces = 1;
    P.reduces = P.reduces && (of == NULL || hark_tree_in_teams(&tree[1], of));
    core->groups = tree;
    core->group_count = 1 + P.reduces;
    return member;
}

/* Those of the job's protocol: a recovery process has none of its own, and is told of those of its
 * members. */
static void read_options(struct hark_config *core)
{
    const struct hark_protocol *members = hark_protocol_named(P.setup.protocol);
    if (members == NULL) hark_process_fatal("no protocol is named %s", P.setup.protocol);
    if (P.setup.options && hark_options_read(members->manual->options, P.setup.options, core) < 0)
        hark_process_fatal(
            "protocol %s does not know these options:%s", P.setup.protocol, P.setup.options);
}

static void driver_open(
    const struct hark_hooks *hooks, const struct hark_clusters *clusters, bool recovery)
{
    char error[256];
    struct hark_driver_config c = {.hooks = *hooks, .digest = P.setup.digest != 0};
    struct hark_range *group = NULL;
    struct hark_group tree[2];
    uint32_t *members = NULL;
    P.protocol = recovery ? hark_protocol_recovery() : hark_protocol_named(P.setup.protocol);
    if (P.protocol == NULL) hark_process_fatal("no protocol is named %s", P.setup.protocol);
    c.protocol = P.protocol;
    c.core.me = P.setup.rank;
    c.core.ranks = P.setup.ranks;
    c.core.generations = P.setup.generations;
    read_options(&c.core);
    const bool by_cluster = !recovery && hark_service_by_cluster(P.protocol);
    if (by_cluster) {
        /* Teams whose checkpoints are apart have the order of deliveries in between in memories
         * only: all lost, none could go on. */
        if (hark_service_waves_all(P.protocol, c.core.asks)) c.core.flags |= HARK_WAVES_ALL;
        group = hark_clusters_group(clusters, P.setup.rank, &c.core.cluster_count);
        if (group == NULL) hark_process_fatal("%s: no memory for a cluster", P.name);
        c.core.cluster = group;
    }
    P.groups = !recovery && hark_protocol_groups(P.protocol, c.core.asks & HARK_ASKS_GROUPS);
    P.reduces = P.groups &&
                hark_protocol_reduces(P.protocol, c.core.asks & HARK_ASKS_GROUPS, c.core.copies);
    if (P.groups) members = make_trees(tree, &c.core, by_cluster ? clusters->of : NULL);
    opened = hark_transport_named(P.setup.transport);
    if (opened == NULL) hark_process_fatal("no transport is named %s", P.setup.transport);
    struct hark_transport_ops ops = *opened;
    ops.open = open_transport;
    c.transport = &ops;
    c.transport_config = (struct hark_transport_config){.job = P.setup.job,
        .directory = P.setup.directory,
        .me = P.setup.rank,
        .inc = P.setup.inc,
        .ranks = P.setup.ranks,
        .encrypts = P.setup.encrypts,
        .frame_limit = P.setup.frame_limit,
        .address = P.setup.listen ? P.setup.listen : HARK_POINT_LISTEN};
    memcpy(c.transport_config.key, P.setup.key, sizeof P.setup.key);
    memcpy(c.transport_config.option, P.setup.option, sizeof P.setup.option);
    c.store = P.store;
    c.behind = P.behind;
    c.log = (struct hark_log_config){.limit = P.setup.log_limit,
        .spill = P.setup.spill,
        .rank = P.setup.rank,
        .inc = P.setup.inc};
    c.figures = (struct hark_driver_figures *)(void *)P.slot;
    c.hooks.persist = persist;
    c.hooks.diverged = diverged;
    c.hooks.trouble = trouble;
    c.hooks.waiting = waiting;
    c.hooks.waited = waited;
    if (P.trace) c.hooks.observe = hark_observe;
    if (hark_driver_open(&P.driver, &c, error) < 0) hark_process_fatal("%s: %s", P.name, error);
    free(group);
    free(members);
}

HARK_STATIC_ASSERT(offsetof(struct hark_board_slot, capture_ns) ==
                       offsetof(struct hark_driver_figures, capture_ns),
    "a slot of the board begins with the driver's figures");

/* The store by its name, which is what messages then say; or, where that is another directory by
 * now or none, the directory that the job began with. */
static int store_open(struct hark_store **s, char error[256])
{
    struct stat named, begun;
    char path[64];
    const char *name = P.setup.store;
    if (P.setup.store_fd >= 0 && fstat(P.setup.store_fd, &begun) == 0 &&
        (stat(name, &named) < 0 || named.st_dev != begun.st_dev || named.st_ino != begun.st_ino)) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", P.setup.store_fd);
        name = path;
    }
    int status = hark_store_open_directory(s, name, P.setup.job, P.setup.ranks, false, error);
    if (status == HARK_S_OK) status = hark_store_write_as(*s, P.setup.inc);
    if (status != HARK_S_OK || (!P.setup.incremental && !P.setup.compression)) return status;
    /* A program that was linked with a library built otherwise writes whole images. */
    if (hark_store_write_blocks(
            *s, P.setup.incremental, (enum hark_compression)P.setup.compression) != HARK_S_OK)
        hark_process_trouble((*s)->error);
    return status;
}

void hark_process_open(const struct hark_hooks *hooks, bool recovery)
{
    char control[CONTROL_TEXT];
    const bool named = control_given(control);
    struct hark_clusters clusters = {0};
    char error[256] = "no memory for clusters";
    pthread_mutex_init(&P.lock, NULL);
    pthread_cond_init(&P.marked_now, NULL);
    P.control = named ? control_socket(control) : -1;
    const bool joins = P.control >= 0;
    if (named && !joins)
        fprintf(stderr,
            "hark: HARK_CONTROL=%s is of another process, not of this one: this one runs alone, as "
            "a job of one\n",
            control);
    if (joins) setup_take(control);
    else setup_alone();
    if (recovery) snprintf(P.name, sizeof P.name, "the recovery process");
    else snprintf(P.name, sizeof P.name, "rank %u", P.setup.rank);
    if (joins && !recovery) hark_rollback_remember();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a write over the limit of files fails, as on a full disk */
    board_open();
    if (!recovery) hark_journal_away_restore();
    if (!recovery) hark_journal_open();
    P.payload_limit =
        (P.setup.frame_limit ? P.setup.frame_limit : HARK_FRAME_LIMIT) - HARK_HEADER_MAX;
    if (P.setup.clusters
            ? hark_clusters_parse(&clusters, P.setup.ranks, P.setup.clusters, "clusters", error) < 0
            : hark_clusters_blocks(&clusters, P.setup.ranks, P.setup.ranks) < 0)
        hark_process_fatal("%s: %s", P.name, error);
    if (P.setup.store && !recovery && store_open(&P.store, error) < 0) {
        /* It may have vanished since the job began: then there will be no more checkpoints, and the
         * job goes on. */
        if (P.setup.checkpoint) hark_process_fatal("%s: %s", P.name, error);
        hark_process_trouble(error);
    }
    if (P.store && !P.setup.waits && store_open(&P.behind, error) < 0)
        hark_process_trouble(error); /* then it waits for its images */
    trace_open(&clusters);
    recorder_open();
    driver_open(hooks, &clusters, recovery);
    if (!joins) forget_names();
    hark_clusters_free(&clusters);
}
