/* The cost of a message without hark: floor ring|log|libuv ping|stream SIZE
 * MILLISECONDS WINDOW `log`: the ring is as long as the window, so that a window of bytes is
 * retained, as any log of messages must. Two processes of its own, each on a processor of its own;
 * batches of WINDOW bytes as pingpong.c has them. Prints the median, ns a message one way. */
#include "bare_ring.h"
#include "bare_uv.h"
#include "measure.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* ---- a log that is its own ring -------------------------------------------------------------- */

struct log_ring {
    _Alignas(64) _Atomic uint64_t tail; /* bytes */
    _Alignas(64) _Atomic uint64_t head;
    _Alignas(64) uint8_t data[];
};

struct log_side {
    struct log_ring *out, *in;
    uint64_t tail, head, size;
};

static void log_put(struct log_side *s, const void *from, uint64_t length)
{
    while (s->tail + length - atomic_load_explicit(&s->out->head, memory_order_acquire) > s->size)
        __builtin_ia32_pause();
    memcpy(s->out->data + s->tail % s->size, from, length);
    s->tail += length;
    atomic_store_explicit(&s->out->tail, s->tail, memory_order_release);
}

static void log_get(struct log_side *s, void *to, uint64_t length)
{
    while (atomic_load_explicit(&s->in->tail, memory_order_acquire) < s->head + length)
        __builtin_ia32_pause();
    memcpy(to, s->in->data + s->head % s->size, length);
    s->head += length;
    atomic_store_explicit(&s->in->head, s->head, memory_order_release);
}

/* ---- either ---------------------------------------------------------------------------------- */

struct way {
    char kind; /* 'r'ing, l'o'g, l'i'buv */
    struct log_side log;
    struct bare_side side;
    struct raw raw;
};

static void give(struct way *w, size_t size)
{
    if (w->kind == 'r') bare_put(&w->side, outgoing, size);
    else if (w->kind == 'o') log_put(&w->log, outgoing, size);
    else raw_send(&w->raw, size);
}

static void take(struct way *w, size_t size)
{
    if (w->kind == 'r') bare_get(&w->side, incoming, size);
    else if (w->kind == 'o') log_get(&w->log, incoming, size);
    else raw_receive(&w->raw, size, 1);
}

static double batch(struct way *w, bool first, bool stream, size_t size, long count)
{
    double begin = nanoseconds();
    for (long i = 0; i < count; i++) {
        if (first) give(w, size);
        else take(w, size);
        if (stream && i + 1 < count) continue;
        if (first) take(w, stream ? 8 : size);
        else give(w, stream ? 8 : size);
    }
    return (nanoseconds() - begin) / (double)count / (stream ? 1 : 2);
}

int main(int argc, char **argv)
{
    static struct way way;
    static double each[BATCHES_MAX];
    int fd[2];
    if (argc < 6) return 2;
    bool stream = argv[2][0] == 's';
    size_t size = (size_t)atol(argv[3]), n = 0;
    double limit = atof(argv[4]) * 1e6;
    long count = batch_of(size, (size_t)atol(argv[5]), 0, 1);
    if (size < 8 || size > LARGEST) return 2;
    struct bare *bare = mmap(NULL, 2 * sizeof *bare, PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    size_t window = ((size_t)atol(argv[5]) / size + 1) * size,
           log_bytes = (sizeof(struct log_ring) + window + 4095) & ~(size_t)4095;
    char *logs = mmap(NULL, 2 * log_bytes, PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    must(logs != MAP_FAILED && bare != MAP_FAILED && socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0,
        "floor: no memory, or no sockets");
    volatile long *next =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(next != MAP_FAILED, "floor: no memory");
    signal(SIGPIPE, SIG_IGN);
    memset(outgoing, 1, sizeof outgoing);
    memset(incoming, 1, sizeof incoming);
    pid_t child = fork();
    bool first = child != 0;
    if (!first) prctl(PR_SET_PDEATHSIG, SIGKILL);
    stay_on(first ? 0 : 1);
    close(fd[first]);
    way.kind = argv[1][0] == 'r' ? 'r' : argv[1][1]; /* ring, lOg, lIbuv */
    way.log = (struct log_side){.out = (void *)(logs + (first ? 0 : log_bytes)),
        .in = (void *)(logs + (first ? log_bytes : 0)),
        .size = window};
    way.side = (struct bare_side){.out = &bare[!first], .in = &bare[first]};
    raw_open(&way.raw, fd[!first], false);
    for (double begin = 0; count > 0;) {
        double x = batch(&way, first, stream, size, count);
        if (n == WARM) begin = nanoseconds();
        each[n++] = x;
        count = next_batch(n, count, size, (size_t)atol(argv[5]), limit, nanoseconds() - begin, x);
        if (first)
            *next = count; /* not in the message: bare libuv reads it in pieces to where it likes */
        if (first) give(&way, size);
        else take(&way, size);
        count = *next;
    }
    if (first) {
        printf("%.1f\n", median_of(each + WARM, n - WARM));
        waitpid(child, NULL, 0);
    }
    return 0;
}
