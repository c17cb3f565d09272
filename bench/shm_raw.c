/* shm_raw.c: the shared memory transport beside a bare ring, which does the least that two
 * processes can do: copy in, one release store, copy out.
 *
 * Two processes, each on its own processor. Rounds of one and the other are interleaved, so that
 * what disturbs one disturbs both; medians are printed, their ratio, and the ratio of the best
 * rounds, which is the one to believe on a machine with other work. Usage: shm_raw [ROUNDS
 * [MILLISECONDS]]
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bare_ring.h"
#include "shm/shm.h"

#define LARGEST    (1024u * 1024)
#define HEADER     16u
#define ROUNDS_MAX 99

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void *shared(size_t bytes)
{
    void *at =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED) abort();
    return at;
}

/* ---- what both are measured by --------------------------------------------------------------- */

struct side {
    void *self;
    void (*put)(void *self, const void *from, uint64_t length);
    void (*get)(void *self, void *to, uint64_t length);
};

/* ---- the transport --------------------------------------------------------------------------- */

struct full_side {
    struct hark_transport *t;
    uint8_t *into;
    uint64_t arrived, taken;
    uint32_t other;
    bool waits; /* wait() between looks, as a runtime does */
};

static void *full_place(void *self, const struct hark_frame *frame)
{
    (void)frame;
    return ((struct full_side *)self)->into;
}

static void full_arrived(void *self, const struct hark_frame *frame, const void *payload)
{
    struct full_side *s = self;
    s->arrived++;
    if (payload != s->into) memcpy(s->into, payload, (size_t)frame->length);
}

static void full_broken(void *self, const struct hark_frame *frame, void *payload)
{
    (void)self;
    (void)frame;
    (void)payload;
}

static void full_put(void *self, const void *from, uint64_t length)
{
    struct full_side *s = self;
    static const uint8_t header[HEADER];
    struct hark_outgoing out = {
        .to = s->other, .header = {header, HEADER}, .part = {{from, length}}};
    int status;
    while ((status = hark_shm_transport.send(s->t, &out)) == HARK_T_AGAIN)
        hark_shm_transport.poll(s->t);
    if (status != HARK_T_OK) abort();
}

static void full_get(void *self, void *to, uint64_t length)
{
    struct full_side *s = self;
    (void)length;
    s->into = to;
    while (s->arrived == s->taken) {
        int count = hark_shm_transport.poll(s->t);
        if (count < 0) abort();
        if (count == 0) {
            if (s->waits) hark_shm_transport.wait(s->t, -1);
            else __builtin_ia32_pause();
        }
    }
    s->taken++;
}

static void full_open(struct full_side *s, const char *job, uint32_t me)
{
    char error[200];
    struct hark_transport_config config = {
        .job = job, .me = me, .ranks = 2, .sink = {s, full_place, full_arrived, full_broken}};
    if (hark_shm_transport.open(&s->t, &config, error) != HARK_T_OK) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    s->other = 1 - me;
}

/* ---- measuring ------------------------------------------------------------------------------- */

enum { BARE, POLL, WAIT, KINDS };
static const char *const kind_name[KINDS] = {"bare ring", "transport", "with wait()"};

struct job { /* what the second process is told to do; shared */
    _Atomic uint32_t turn;
    uint32_t kind, stream;
    uint64_t length, count;
};

static uint8_t *buffer[2];

/* Streams: the messages go one way, an answer ends them. */
static double measure(
    const struct side *s, bool first, bool stream, uint64_t length, uint64_t count)
{
    double start = now();
    for (uint64_t i = 0; i < count; i++) {
        if (first) s->put(s->self, buffer[0], length);
        else s->get(s->self, buffer[1], length);
        if (stream && i + 1 < count) continue;
        if (first) s->get(s->self, buffer[1], stream ? 8 : length);
        else s->put(s->self, buffer[0], stream ? 8 : length);
    }
    return (now() - start) / (double)count / (stream ? 1 : 2);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct side sides[KINDS];

static void second(struct job *job)
{
    pin(1);
    for (uint32_t turn = 1;; turn++) {
        while (atomic_load_explicit(&job->turn, memory_order_acquire) != turn) {
        }
        ((struct full_side *)sides[WAIT].self)->waits = job->kind == WAIT;
        measure(&sides[job->kind], false, job->stream, job->length, job->count);
    }
}

static void first(struct job *job, unsigned rounds, double milliseconds)
{
    static const uint64_t lengths[] = {8, 1024, 65536, LARGEST};
    static double took[KINDS][ROUNDS_MAX];
    uint32_t turn = 0;
    pin(0);
    printf("%-10s %8s", "us", "bytes");
    for (int kind = 0; kind < KINDS; kind++) printf(" %12s", kind_name[kind]);
    printf(" %8s %8s\n", "ratio", "of best");
    for (uint32_t stream = 0; stream < 2; stream++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            uint64_t count = 200;
            for (unsigned round = 0; round < rounds + 1; round++) /* the first one warms up, and
                                                                     sets the count */
                for (uint32_t kind = 0; kind < KINDS; kind++) {
                    job->kind = kind;
                    job->stream = stream;
                    job->length = lengths[l];
                    job->count = count;
                    ((struct full_side *)sides[WAIT].self)->waits = kind == WAIT;
                    atomic_store_explicit(&job->turn, ++turn, memory_order_release);
                    double us = measure(&sides[kind], true, stream, lengths[l], count);
                    if (round > 0) took[kind][round - 1] = us;
                    else if (kind == KINDS - 1)
                        count = 1 + (uint64_t)(milliseconds * 1000 / us / (stream ? 1 : 2));
                }
            printf("%-10s %8llu", stream ? "stream" : "ping-pong", (unsigned long long)lengths[l]);
            for (int kind = 0; kind < KINDS; kind++) {
                qsort(took[kind], rounds, sizeof(double), ascending);
                printf(" %12.3f", took[kind][rounds / 2]);
            }
            printf(" %8.2f %8.2f\n", took[POLL][rounds / 2] / took[BARE][rounds / 2],
                took[POLL][0] / took[BARE][0]);
        }
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 21;
    double milliseconds = argc > 2 ? atof(argv[2]) : 20;
    char name[40];
    struct bare *bare[2] = {shared(sizeof **bare), shared(sizeof **bare)};
    struct job *job = shared(sizeof *job);
    if (rounds < 1 || rounds > ROUNDS_MAX || milliseconds <= 0) {
        fprintf(stderr, "usage: shm_raw [ROUNDS (1 .. %d) [MILLISECONDS]]\n", ROUNDS_MAX);
        return 2;
    }
    snprintf(name, sizeof name, "bench-%ld", (long)getpid());
    pid_t parent = getpid(), child = fork();
    uint32_t me = getpid() == parent ? 0 : 1;
    if (me == 1) prctl(PR_SET_PDEATHSIG, SIGKILL);
    static struct bare_side bare_side;
    static struct full_side full_side;
    for (int i = 0; i < 2; i++) {
        buffer[i] = malloc(LARGEST);
        memset(buffer[i], i, LARGEST);
    }
    bare_side = (struct bare_side){.out = bare[me], .in = bare[1 - me]};
    full_open(&full_side, name, me);
    sides[BARE] = (struct side){&bare_side, bare_put, bare_get};
    sides[POLL] = sides[WAIT] = (struct side){&full_side, full_put, full_get};
    if (me == 1) second(job);
    first(job, rounds, milliseconds);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    hark_shm_transport.close(full_side.t);
    hark_shm_transport.sweep(name, NULL);
    return 0;
}
