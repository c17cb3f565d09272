/* fabric_raw.c: what a message costs over libfabric, beside sockets by libuv, both over loopback
 * TCP.
 *
 * Two processes, each on a processor of its own, exchange frames with a header of 32 bytes, by
 * wait() and poll(): ping-pong (half the round trip) and a stream one way (time for a message).
 * Both transports in turns, ROUNDS times; medians. fabric_raw */
#include "fabric/fabric.h"
#include "uv/uv.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 9, HEADER = 32, LARGEST = 1 << 20, WAYS = 2 };

static uint8_t outgoing[LARGEST], incoming[LARGEST];

struct far {
    struct hark_transport *t;
    uint32_t other;
    size_t arrived;
};

static void must(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "fabric_raw: %s\n", what);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

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
    must(f->t->ops->wait(f->t, -1) >= 0, "cannot wait");
    must(f->t->ops->poll(f->t) >= 0, "cannot poll");
}

static void far_send(struct far *f, size_t size)
{
    static const uint8_t header[HEADER];
    struct hark_outgoing o = {
        .to = f->other, .header = {header, HEADER}, .part = {{outgoing, size}}};
    int status;
    while ((status = f->t->ops->send(f->t, &o)) == HARK_T_AGAIN) go_on(f);
    must(status == HARK_T_OK, "cannot send");
}

static void far_receive(struct far *f, size_t messages)
{
    while (f->arrived < messages) go_on(f);
    f->arrived -= messages;
}

static void far_open(struct far *f, uint32_t me, const struct hark_transport_ops *ops, int fd)
{
    char error[200], theirs[200] = {0};
    struct hark_transport_config config = {.job = "bench",
        .me = me,
        .ranks = 2,
        .address = ops == &hark_uv_transport ? "tcp:127.0.0.1:0" : NULL,
        .sink = {f, place, arrived, broken}};
    *f = (struct far){NULL, 1 - me, 0};
    if (ops->open(&f->t, &config, error) != HARK_T_OK) must(false, error);
    const char *mine = ops->address(f->t);
    must(write(fd, mine, strlen(mine) + 1) > 0 && read(fd, theirs, sizeof theirs - 1) > 0,
        "the other is gone");
    must(ops->peer(f->t, f->other, 0, theirs) == HARK_T_OK, "bad address");
}

static double ping_pong(struct far *f, size_t size, size_t count)
{
    const double from = now();
    for (size_t i = 0; i < count; i++) {
        if (f->other == 1) far_send(f, size);
        far_receive(f, 1);
        if (f->other == 0) far_send(f, size);
    }
    return (now() - from) / (double)count / 2;
}

static double stream(struct far *f, size_t size, size_t count)
{
    const double from = now();
    if (f->other == 1) {
        for (size_t i = 0; i < count; i++) far_send(f, size);
        far_receive(f, 1);
    } else {
        far_receive(f, count);
        far_send(f, 8);
    }
    return (now() - from) / (double)count;
}

static int in_order(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void measure(struct far far[WAYS], size_t size)
{
    const size_t count = size > 100000 ? 50 : 1000;
    double time[2][WAYS][ROUNDS];
    for (int round = 0; round < ROUNDS; round++)
        for (int way = 0; way < WAYS; way++) {
            time[0][way][round] = ping_pong(&far[way], size, count);
            time[1][way][round] = stream(&far[way], size, count);
        }
    for (int what = 0; what < 2; what++)
        for (int way = 0; way < WAYS; way++)
            qsort(time[what][way], ROUNDS, sizeof(double), in_order);
    if (far->other == 0) return;
    printf("| %zu | %.1f | %.1f | %.1f | %.1f |\n", size, time[0][0][ROUNDS / 2],
        time[0][1][ROUNDS / 2], time[1][0][ROUNDS / 2], time[1][1][ROUNDS / 2]);
}

int main(void)
{
    static const size_t sizes[] = {8, 1024, 65536, LARGEST};
    static const struct hark_transport_ops *const ops[WAYS] = {
        &hark_uv_transport, &hark_fabric_transport};
    struct far far[WAYS];
    int fd[2];
    cpu_set_t one;
    setvbuf(stdout, NULL, _IOLBF, 0);
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) == 0, "no sockets");
    const pid_t pid = fork();
    must(pid >= 0, "cannot fork");
    const uint32_t me = pid == 0;
    if (me) prctl(PR_SET_PDEATHSIG, SIGKILL);
    CPU_ZERO(&one);
    CPU_SET(me, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
    for (int way = 0; way < WAYS; way++) far_open(&far[way], me, ops[way], fd[me]);
    if (!me) puts("| bytes | half round trip, us: uv | fabric | stream, us: uv | fabric |");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) measure(far, sizes[i]);
    must(write(fd[me], "", 1) == 1 && read(fd[me], incoming, 1) == 1, "the other is gone");
    for (int way = 0; way < WAYS; way++) ops[way]->close(far[way].t);
    return me || waitpid(pid, NULL, 0) == pid ? 0 : 1;
}
