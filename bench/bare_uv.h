/* The least that two processes can do over sockets by libuv: uv_try_write(), the rest by
 * uv_write(), read into the message's own memory. A floor. */
#ifndef BENCH_BARE_UV_H
#define BENCH_BARE_UV_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define LARGEST ((size_t)1 << 20)
#define SCRATCH ((size_t)64 << 10)

static _Alignas(4096) uint8_t outgoing[LARGEST], incoming[LARGEST];

static void must(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

struct raw {
    uv_loop_t loop;
    union {
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } s;
    uv_write_t request;
    size_t size, got, messages, want;
    bool writing;
};

static void offer(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    const struct raw *r = handle->data;
    size_t left = r->size - r->got;
    (void)suggested;
    if (left > SCRATCH) *buffer = uv_buf_init((char *)incoming + r->got, (unsigned)left);
    else *buffer = uv_buf_init((char *)incoming, (unsigned)SCRATCH);
}

static void got(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
    struct raw *r = stream->data;
    (void)buffer;
    must(n >= 0, "bare libuv: the other is gone");
    r->got += (size_t)n;
    for (; r->got >= r->size; r->got -= r->size) r->messages++;
    if (r->messages >= r->want) uv_stop(&r->loop);
}

static void written(uv_write_t *request, int status)
{
    struct raw *r = request->data;
    must(status == 0, "bare libuv: cannot write");
    r->writing = false;
    uv_stop(&r->loop);
}

static void raw_send(struct raw *r, size_t size)
{
    uv_buf_t buffer = uv_buf_init((char *)outgoing, (unsigned)size);
    int n = uv_try_write(&r->s.stream, &buffer, 1);
    if (n < 0) n = 0;
    if ((size_t)n == size) return;
    buffer = uv_buf_init((char *)outgoing + n, (unsigned)(size - (size_t)n));
    r->request.data = r;
    r->writing = true;
    must(uv_write(&r->request, &r->s.stream, &buffer, 1, written) == 0, "bare libuv: cannot write");
    while (r->writing) uv_run(&r->loop, UV_RUN_DEFAULT);
}

static void raw_receive(struct raw *r, size_t size, size_t messages)
{
    r->size = size;
    for (r->want = messages; r->messages < messages;) uv_run(&r->loop, UV_RUN_DEFAULT);
    r->messages -= messages;
}

static void raw_open(struct raw *r, int fd, bool tcp)
{
    memset(r, 0, sizeof *r);
    must(uv_loop_init(&r->loop) == 0, "bare libuv: no loop");
    if (tcp) {
        uv_tcp_init(&r->loop, &r->s.tcp);
        must(uv_tcp_open(&r->s.tcp, fd) == 0 && uv_tcp_nodelay(&r->s.tcp, 1) == 0,
            "bare libuv: cannot open");
    } else {
        uv_pipe_init(&r->loop, &r->s.pipe, 0);
        must(uv_pipe_open(&r->s.pipe, fd) == 0, "bare libuv: cannot open");
    }
    r->s.stream.data = r;
    r->size = 8;
    uv_read_start(&r->s.stream, offer, got);
}

/* A connected pair of TCP sockets. */
static void tcp_pair(int fd[2])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    fd[0] = socket(AF_INET, SOCK_STREAM, 0);
    must(bind(listener, (struct sockaddr *)&at, length) == 0 && listen(listener, 1) == 0 &&
             getsockname(listener, (struct sockaddr *)&at, &length) == 0 &&
             connect(fd[0], (struct sockaddr *)&at, length) == 0,
        "no loopback");
    fd[1] = accept(listener, NULL, NULL);
    must(fd[1] >= 0, "no loopback");
    close(listener);
}

#endif
