/* fake_process.c: a process of a job without transport and protocol: it speaks to the supervisor,
 * and does what its arguments say, a word after the other. For tests of the supervisor alone.
 *
 *   [RANK:][iINC:]WORD   only that rank, only that incarnation
 *   print=TEXT partial=TEXT       a line, or a piece of one, on stdout; `%r` stands for the rank
 *   lines=N                       "RANK: I" for I = 1 .. N
 *   deliver=N                     counts N deliveries on the board, and dies where it was told to
 *   frames=N                      counts N frames received
 *   figures                       on the board, the kth of them 100 * k + RANK + 1
 *   image=ID wave=ID              writes an image (what follows it is done after a restart); has it
 *                                 decided
 *   die=SIGNAL exit=STATUS        ends
 *   fatal=TEXT diverged=TEXT      says so
 *   garbage close                 on the control socket
 *   grandchild                    starts a process that outlives it
 *   make=FILE await=FILE          in PLACE
 *   stuck hang                    waits for ever: as a blocked application; as a busy one
 *   deaf                          waits for ever, and hears nothing
 *   again=WHEN                    when it is told to go back: dies `before` or `after` it has said
 *                                 AGAIN; or says that
 *                                 it can `not`, then or after an AGAIN (`not-after`); exits
 *                                 (`exit`); says its last line
 *                                 (`fatal`). Without this: executes itself again
 *   early=SIGNAL                  ends before it has said hello
 *   finish                        says FINISHED, waits for ALL_DONE
 *   undone                        prints the checkpoints that SETUP says are undone
 *   line=RANK.ID                  (as the recovery process) has RANK go back to checkpoint ID when
 *                                 the next recovery begins, which ends when the file `back` is in
 *                                 PLACE
 *   recovery                      (as the recovery process) ends each recovery at once, until
 *                                 ALL_DONE
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hark/store.h"
#include "../../src/control/board.h"
#include "../../src/control/control.h"

static struct hark_setup setup;
static struct hark_board_slot *slot;
static int control;
static uint32_t re;
static bool all_done, recovering, in_down, stored, stored_ok, marked, gone;
static uint64_t mark_out, mark_err;
static uint8_t pending[4096]; /* of the output, at the mark */
static uint32_t pending_length;
static char **arguments;
static const char *again = "", *line = "";
static bool line_said;

static void say(struct hark_control *m)
{
    hark_control_end(m);
    for (size_t at = 0; at < m->length;) {
        ssize_t n = write(control, m->at + at, m->length - at);
        if (n < 0) _exit(1);
        at += (size_t)n;
    }
    hark_control_free(m);
}

static void persist(uint32_t fact, uint32_t peer, uint64_t id)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_C_PERSIST);
    hark_control_put32(&m, fact);
    hark_control_put32(&m, peer);
    hark_control_put32(&m, re);
    hark_control_put64(&m, id);
    hark_control_put64(&m, 0);
    say(&m);
}

static void hear(void);
static void last_words(uint16_t type, const char *text);
static void file(const char *word, const char *name);

static void say_again(const char *why)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_C_AGAIN);
    hark_control_put32(&m, UINT32_MAX);
    hark_control_puts(&m, why, strlen(why));
    say(&m);
}

static void go_back(void)
{
    if (strcmp(again, "before") == 0) raise(SIGKILL);
    if (strcmp(again, "exit") == 0) exit(3);
    if (strcmp(again, "fatal") == 0) last_words(HARK_C_FATAL, "it is void");
    if (strcmp(again, "not") != 0) say_again("");
    if (strcmp(again, "after") == 0) raise(SIGKILL);
    if (strncmp(again, "not", 3) == 0) {
        say_again("it is a test");
        raise(SIGKILL);
    }
    while (!gone) hear();
    execv("/proc/self/exe", arguments);
    _exit(1);
}

static void on_failed(struct hark_control *m)
{
    bool newer = false;
    re = hark_control_get32(m);
    in_down = false;
    for (uint32_t n = hark_control_get32(m); n > 0; n--)
        if (hark_control_get32(m) == setup.rank) in_down = true;
    for (uint32_t n = hark_control_get32(m); n > 0; n--) {
        uint32_t rank = hark_control_get32(m), inc = hark_control_get32(m);
        newer |= rank == setup.rank && inc > setup.inc;
    }
    if (newer) go_back();
    if (in_down && setup.rank != HARK_RECOVERY && strcmp(setup.protocol, "coordinated") == 0)
        persist(HARK_FACT_DONE, setup.rank, re);
    if (!recovering) return;
    if (*line && !line_said) {
        const char *id = strchr(line, '.');
        persist(HARK_FACT_LINE, (uint32_t)atoi(line), id ? strtoull(id + 1, NULL, 10) : 0);
        line_said = true;
        return;
    }
    if (*line) file("await", "back");
    persist(HARK_FACT_DONE, HARK_RECOVERY, re);
}

static void read_all(uint8_t *at, size_t length)
{
    while (length) {
        ssize_t n = read(control, at, length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) _exit(1); /* the supervisor is gone */
        at += n;
        length -= (size_t)n;
    }
}

/* Takes one message. */
static void hear(void)
{
    static uint8_t bytes[1 << 20];
    struct hark_control m;
    read_all(bytes, 4);
    size_t length = (size_t)(bytes[0] | bytes[1] << 8 | bytes[2] << 16);
    read_all(bytes + 4, length);
    if (hark_control_parse(&m, bytes, length + 4) <= 0) _exit(1);
    if (m.type == HARK_C_SETUP) {
        char error[200];
        uint32_t n;
        const char *text = (const char *)hark_control_get_bytes(&m, &n);
        if (text == NULL || hark_setup_read(&setup, text, n, error) < 0) _exit(1);
    } else if (m.type == HARK_C_FAILED) {
        on_failed(&m);
    } else if (m.type == HARK_C_STORED) {
        uint32_t fact = hark_control_get32(&m);
        (void)hark_control_get64(&m);
        stored |= fact == HARK_FACT_WAVE;
        stored_ok = hark_control_get32(&m) != 0;
    } else if (m.type == HARK_C_MARKED) {
        (void)hark_control_get64(&m);
        mark_out = hark_control_get64(&m);
        mark_err = hark_control_get64(&m);
        const uint8_t *at = hark_control_get_bytes(&m, &pending_length);
        if (pending_length > sizeof pending) _exit(1);
        if (pending_length) memcpy(pending, at, pending_length);
        marked = true;
    } else if (m.type == HARK_C_GO) {
        gone = true;
    } else if (m.type == HARK_C_ALL_DONE) {
        all_done = true;
    }
}

static struct hark_store *open_store(void)
{
    struct hark_store *s;
    char error[256];
    if (hark_store_open_directory(&s, setup.store, setup.job, setup.ranks, false, error) ==
        HARK_S_OK)
        return s;
    fprintf(stderr, "%s\n", error);
    exit(1);
}

struct image {
    uint64_t next, out, err; /* word to go on with, positions of the output */
    uint32_t pending_length; /* and what of it was not shown yet */
    uint8_t pending[sizeof pending];
};

static void write_image(uint64_t id, uint64_t next)
{
    struct hark_store *s = open_store();
    struct hark_control m;
    struct image image = {.next = next};
    struct hark_section section = {.tag = 1, .at = &image, .length = sizeof image};
    fflush(stdout);
    hark_control_begin(&m, HARK_C_MARK);
    hark_control_put64(&m, id);
    say(&m);
    for (marked = false; !marked;) hear();
    image.out = mark_out;
    image.err = mark_err;
    image.pending_length = pending_length;
    memcpy(image.pending, pending, sizeof pending);
    if (s->ops->write(s, setup.rank, id, &section, 1) != HARK_S_OK) exit(1);
    s->ops->close(s);
}

static struct image read_image(void)
{
    struct image image = {0};
    struct hark_store *s = open_store();
    const struct hark_section *section;
    uint32_t count;
    void *handle;
    if (s->ops->read(s, setup.rank, setup.checkpoint, &section, &count, &handle) != HARK_S_OK)
        exit(1);
    memcpy(&image, section->at, sizeof image);
    s->ops->release(s, handle);
    s->ops->close(s);
    return image;
}

static void hello(const struct image *image)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_C_HELLO);
    hark_control_put32(&m, setup.inc);
    hark_control_put64(&m, image->out);
    hark_control_put64(&m, image->err);
    hark_control_puts(&m, "here", 4);
    hark_control_put_bytes(&m, image->pending, image->pending_length);
    say(&m);
    while (re < setup.re) hear();
}

static void last_words(uint16_t type, const char *text)
{
    struct hark_control m;
    hark_control_begin(&m, type);
    hark_control_puts(&m, text, strlen(text));
    say(&m);
    if (type == HARK_C_FATAL) exit(1);
    for (;;) pause();
}

static void be_recovery(void)
{
    recovering = true;
    if (re) persist(HARK_FACT_DONE, HARK_RECOVERY, re);
    slot->state = HARK_B_BLOCKED;
    while (!all_done) hear();
}

static void print(const char *text, const char *end)
{
    for (; *text; text++) {
        if (text[0] != '%' || text[1] != 'r') {
            putchar(*text);
            continue;
        }
        printf("%d", (int)setup.rank);
        text++;
    }
    fputs(end, stdout);
    fflush(stdout);
}

static void deliver(uint64_t n)
{
    while (n--) {
        uint64_t now = atomic_fetch_add(&slot->deliveries, 1) + 1;
        if (now == setup.kill_at) raise(SIGKILL);
    }
}

/* In the order of --json; the last two are times. */
static void figures(void)
{
    _Atomic uint64_t *const figure[] = {&slot->messages, &slot->bytes, &slot->deliveries,
        &slot->log_bytes, &slot->log_bytes_peak, &slot->determinants_created,
        &slot->determinants_piggybacked, &slot->piggyback_bytes, &slot->checkpoints,
        &slot->replayed, &slot->suppressed, &slot->discarded, &slot->refused, &slot->readings,
        &slot->readings_given, &slot->journal_bytes, &slot->interval_ns, &slot->cost_ns};
    for (size_t k = 0; k < sizeof figure / sizeof *figure; k++)
        atomic_store(figure[k], 100 * (k + 1) + setup.rank + 1);
}

static void finish(void)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_C_FINISHED);
    say(&m);
    slot->state = HARK_B_FINISHED;
    while (!all_done) hear();
}

static void stay(uint32_t state)
{
    slot->state = state;
    for (;; slot->turn++) hear(); /* each time it has been awake */
}

static void grandchild(void)
{
    if (fork() == 0) {
        close(control);
        signal(SIGTERM, SIG_IGN);
        for (;;) pause();
    }
}

static void file(const char *word, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", getenv("PLACE"), name);
    if (strcmp(word, "make") == 0) close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    else
        while (access(path, F_OK) < 0) (void)poll(NULL, 0, 1);
}

static void end(const char *word, const char *value)
{
    if (strcmp(word, "die") == 0) {
        signal(atoi(value), SIG_DFL);
        raise(atoi(value));
    }
    if (strcmp(word, "exit") == 0) exit(atoi(value));
    if (strcmp(word, "garbage") == 0) (void)!write(control, "\0\0\0\0\0\0\0\0", 8);
    if (strcmp(word, "close") == 0) close(control);
    for (;;) pause();
}

static void act(const char *word, const char *value, uint64_t next)
{
    if (strcmp(word, "print") == 0) print(value, "\n");
    else if (strcmp(word, "partial") == 0) print(value, "");
    else if (strcmp(word, "lines") == 0)
        for (int i = 1; i <= atoi(value); i++) printf("%d: %d\n", (int)setup.rank, i);
    else if (strcmp(word, "deliver") == 0) deliver(strtoull(value, NULL, 10));
    else if (strcmp(word, "figures") == 0) figures();
    else if (strcmp(word, "frames") == 0) slot->frames_in += strtoull(value, NULL, 10);
    else if (strcmp(word, "image") == 0) write_image(strtoull(value, NULL, 10), next);
    else if (strcmp(word, "wave") == 0) {
        persist(HARK_FACT_WAVE, setup.rank, strtoull(value, NULL, 10));
        for (stored = false; !stored;) hear();
        if (!stored_ok) print("refused", "\n");
    } else if (strcmp(word, "fatal") == 0) last_words(HARK_C_FATAL, value);
    else if (strcmp(word, "diverged") == 0) last_words(HARK_C_DIVERGED, value);
    else if (strcmp(word, "grandchild") == 0) grandchild();
    else if (strcmp(word, "make") == 0 || strcmp(word, "await") == 0) file(word, value);
    else if (strcmp(word, "again") == 0) again = value;
    else if (strcmp(word, "line") == 0) line = value;
    else if (strcmp(word, "undone") == 0) print(setup.again ? setup.again : "none", "\n");
    else if (strcmp(word, "deaf") == 0)
        for (;;) pause();
    else if (strcmp(word, "stuck") == 0) stay(HARK_B_BLOCKED);
    else if (strcmp(word, "hang") == 0) stay(HARK_B_BUSY);
    else if (strcmp(word, "finish") == 0) finish();
    else if (strcmp(word, "recovery") == 0) be_recovery();
    else end(word, value);
}

/* Does the word concern this process? Then *word is what is behind the conditions. */
static bool mine(char **word)
{
    char *colon;
    while ((colon = strchr(*word, ':')) != NULL && strcspn(*word, "=") > (size_t)(colon - *word)) {
        bool inc = **word == 'i';
        unsigned long n = strtoul(*word + inc, NULL, 10);
        if (n != (inc ? setup.inc : setup.rank)) return false;
        *word = colon + 1;
    }
    return true;
}

/* The words that are done before hello. */
static void early(char **argv)
{
    for (int i = 1; argv[i]; i++) {
        char *word = argv[i];
        if (strstr(word, "early=") && mine(&word)) raise(atoi(word + 6));
    }
}

int main(int argc, char **argv)
{
    struct image image = {.next = 1};
    arguments = argv;
    control = atoi(getenv("HARK_CONTROL") ? getenv("HARK_CONTROL") : "-1");
    hear();
    void *board = mmap(
        NULL, hark_board_bytes(setup.ranks, 0), PROT_READ | PROT_WRITE, MAP_SHARED, setup.board, 0);
    if (board == MAP_FAILED) return 1;
    slot =
        &((struct hark_board *)board)->slot[setup.rank == HARK_RECOVERY ? setup.ranks : setup.rank];
    slot->state = HARK_B_BUSY;
    if (setup.checkpoint) image = read_image();
    early(argv);
    hello(&image);
    for (int i = (int)image.next; i < argc; i++) {
        char *word = argv[i];
        if (!mine(&word)) continue;
        char *value = strchr(word, '=');
        char *name = strndup(word, strcspn(word, "="));
        act(name, value ? value + 1 : "", (uint64_t)i + 1);
        free(name);
    }
    fflush(stdout);
    return 0;
}
