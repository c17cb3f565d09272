/* uv_raw.c: what a message costs over sockets, beside bare libuv with no protocol at all.
 *
 * Two processes, each on a processor of its own, exchange messages over UNIX sockets and over
 * loopback TCP: ping-pong (half the round trip) and a stream one way (time for a message). Bare
 * libuv: uv_try_write(), the rest by uv_write(), read into the message's own memory. hark: frames
 * with a header of 32 bytes, wait() and poll(); and the same encrypted. All in turns, ROUNDS times;
 * medians, and the median of the ratios of neighbouring rounds: hark over libuv, encrypted over
 * hark. uv_raw [unix|tcp] */
#include "bare_uv.h"
#include "uv/uv.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 15, HEADER = 32 };
enum way { BARE, HARK, ENCRYPTED, WAYS };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* ---- hark ------------------------------------------------------------------------------------ */

struct far {
    struct hark_transport *t;
    uint32_t other;
    size_t arrived;
};

static void *place(void *self, const struct hark_frame *frame)
{
    (void)self;
    return frame->length <= LARGEST ? incoming : NULL;
}

static void arrived(void *self, const struct hark_frame *frame, const void *payload)
{
    struct far *f = self;
    (void)frame, (void)payload;
    f->arrived++;
}

static void broken(void *self, const struct hark_frame *frame, void *payload)
{
    (void)self, (void)frame, (void)payload;
}

static void go_on(struct far *f)
{
    must(f->t->ops->wait(f->t, -1) >= 0, "hark: cannot wait");
    must(f->t->ops->poll(f->t) >= 0, "hark: cannot poll");
}

static void far_send(struct far *f, size_t size)
{
    static const uint8_t header[HEADER];
    struct hark_outgoing o = {
        .to = f->other, .header = {header, HEADER}, .part = {{outgoing, size}}};
    int status;
    while ((status = f->t->ops->send(f->t, &o)) == HARK_T_AGAIN) go_on(f);
    must(status == HARK_T_OK, "hark: cannot send");
}

static void far_receive(struct far *f, size_t messages)
{
    while (f->arrived < messages) go_on(f);
    f->arrived -= messages;
}

static void far_open(
    struct far *f, uint32_t me, bool tcp, bool encrypts, const char *directory, int fd)
{
    char error[200], theirs[200] = {0};
    struct hark_transport_config config = {.job = encrypts ? "bench-encrypted" : "bench",
        .directory = directory,
        .me = me,
        .ranks = 2,
        .encrypts = encrypts,
        .address = tcp ? "tcp:127.0.0.1:0" : NULL,
        .sink = {f, place, arrived, broken}};
    *f = (struct far){NULL, 1 - me, 0};
    if (hark_uv_transport.open(&f->t, &config, error) != HARK_T_OK) must(false, error);
    const char *mine = f->t->ops->address(f->t);
    must(write(fd, mine, strlen(mine) + 1) > 0 && read(fd, theirs, sizeof theirs - 1) > 0,
        "the other is gone");
    must(f->t->ops->peer(f->t, f->other, 0, theirs) == HARK_T_OK, "hark: bad address");
}

/* ---- measuring ------------------------------------------------------------------------------- */

struct side {
    struct raw raw;
    struct far far[WAYS];
    bool first;
};

static void message(struct side *s, enum way way, size_t size)
{
    if (way == BARE) raw_send(&s->raw, size);
    else far_send(&s->far[way], size);
}

static void hear(struct side *s, enum way way, size_t size, size_t count)
{
    if (way == BARE) raw_receive(&s->raw, size, count);
    else far_receive(&s->far[way], count);
}

static double ping_pong(struct side *s, enum way way, size_t size, size_t count)
{
    double from = now();
    for (size_t i = 0; i < count; i++) {
        if (s->first) message(s, way, size);
        hear(s, way, size, 1);
        if (!s->first) message(s, way, size);
    }
    return (now() - from) / (double)count / 2;
}

static double stream(struct side *s, enum way way, size_t size, size_t count)
{
    double from = now();
    if (s->first) {
        for (size_t i = 0; i < count; i++) message(s, way, size);
        hear(s, way, 8, 1);
    } else {
        hear(s, way, size, count);
        message(s, way, 8);
    }
    return (now() - from) / (double)count;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *of)
{
    qsort(of, ROUNDS, sizeof *of, ascending);
    return of[ROUNDS / 2];
}

typedef double run_function(struct side *s, enum way way, size_t size, size_t count);

static void measure(struct side *s, const char *kind, const char *what, run_function *run)
{
    static const size_t sizes[] = {8, 1024, 64 << 10, 1 << 20}, counts[] = {4000, 4000, 1000, 100};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double took[WAYS][ROUNDS], ratio[WAYS][ROUNDS];
        for (int round = -1; round < ROUNDS; round++) { /* the first warms up */
            int at = round < 0 ? 0 : round;
            for (enum way way = BARE; way < WAYS; way++) {
                took[way][at] = run(s, way, sizes[i], counts[i]);
                if (way != BARE) ratio[way][at] = took[way][at] / took[way - 1][at];
            }
        }
        if (s->first)
            printf("%-5s %-10s %8zu B  libuv %8.2f us  hark %8.2f us  ratio %.2f  encrypted %8.2f "
                   "us  ratio %.2f\n",
                kind, what, sizes[i], median(took[BARE]), median(took[HARK]), median(ratio[HARK]),
                median(took[ENCRYPTED]), median(ratio[ENCRYPTED]));
    }
}

static void pin(size_t processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    (void)sched_setaffinity(0, sizeof set, &set); /* with one processor only: slower, that is all */
}

static void run_side(bool first, bool tcp, const char *directory, int bare_fd, int meeting_fd)
{
    static struct side s;
    pin(first ? 0 : 1);
    s.first = first;
    raw_open(&s.raw, bare_fd, tcp);
    for (enum way way = HARK; way < WAYS; way++)
        far_open(&s.far[way], first ? 0 : 1, tcp, way == ENCRYPTED, directory, meeting_fd);
    measure(&s, tcp ? "tcp" : "unix", "ping-pong", ping_pong);
    measure(&s, tcp ? "tcp" : "unix", "stream", stream);
    for (enum way way = HARK; way < WAYS; way++) s.far[way].t->ops->close(s.far[way].t);
}

static void pair(bool tcp, const char *directory)
{
    int bare[2], meeting[2], status;
    must(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, meeting) == 0, "no sockets");
    if (tcp) tcp_pair(bare);
    else must(socketpair(AF_UNIX, SOCK_STREAM, 0, bare) == 0, "no sockets");
    fflush(NULL);
    pid_t child = fork();
    must(child >= 0, "cannot fork");
    if (child == 0) {
        close(bare[0]);
        close(meeting[0]);
        run_side(false, tcp, directory, bare[1], meeting[1]);
        _exit(0);
    }
    close(bare[1]);
    close(meeting[1]);
    run_side(true, tcp, directory, bare[0], meeting[0]);
    close(bare[0]);
    close(meeting[0]);
    must(waitpid(child, &status, 0) == child && status == 0, "the other has failed");
}

int main(int argc, char **argv)
{
    char directory[] = "/tmp/hark-bench.XXXXXX";
    signal(SIGPIPE, SIG_IGN); /* for bare libuv */
    memset(outgoing, 1, sizeof outgoing);
    must(mkdtemp(directory) != NULL, "no directory");
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int tcp = 0; tcp < 2; tcp++)
        if (argc < 2 || strcmp(argv[1], tcp ? "tcp" : "unix") == 0) pair(tcp, directory);
    must(rmdir(directory) == 0, "something was left behind");
    return 0;
}
