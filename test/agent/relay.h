/* relay.h: an attacker between a caller and a listener, who keeps what both say, changes it, or
 * plays what was kept to another caller. */
#ifndef HARK_TEST_AGENT_RELAY_H
#define HARK_TEST_AGENT_RELAY_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

struct way { /* 0: of the caller, 1: of the listener */
    int from, to;
    uint8_t kept[4096];
    size_t length;
    size_t change; /* the byte that is changed; SIZE_MAX: none */
    bool ended;
};

struct relay {
    int listening;
    uint16_t port, target;
    bool plays;
    struct way way[2];
};

static inline struct sockaddr_in at_port(uint16_t port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
}

static inline int connect_to(uint16_t port)
{
    struct sockaddr_in a = at_port(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static inline void relay_open(struct relay *r, uint16_t target)
{
    struct sockaddr_in a = at_port(0);
    socklen_t length = sizeof a;
    memset(r, 0, sizeof *r);
    r->target = target;
    for (int i = 0; i < 2; i++) {
        r->way[i].from = r->way[i].to = -1;
        r->way[i].change = SIZE_MAX;
    }
    r->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(r->listening, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(r->listening, 10), 0);
    assert_int_equal(getsockname(r->listening, (struct sockaddr *)&a, &length), 0);
    r->port = ntohs(a.sin_port);
}

static inline void relay_hang_up(struct relay *r)
{
    if (r->way[0].from >= 0) close(r->way[0].from);
    if (r->way[0].to >= 0) close(r->way[0].to);
    for (int i = 0; i < 2; i++) r->way[i].from = r->way[i].to = -1;
}

static inline void relay_close(struct relay *r)
{
    relay_hang_up(r);
    close(r->listening);
}

/* The next caller hears what the listener has said to the last one. */
static inline void relay_play(struct relay *r)
{
    relay_hang_up(r);
    r->plays = true;
}

static inline void relay_accept(struct relay *r)
{
    int fd = accept4(r->listening, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) return;
    r->way[0].from = r->way[1].to = fd;
    if (r->plays) {
        (void)send(fd, r->way[1].kept, r->way[1].length, MSG_NOSIGNAL);
    } else {
        r->way[0].to = r->way[1].from = connect_to(r->target);
        for (int i = 0; i < 2; i++) r->way[i].length = 0, r->way[i].ended = false;
    }
}

static inline void relay_pass(struct way *y)
{
    uint8_t b[1024];
    if (y->ended) return;
    ssize_t n = recv(y->from, b, sizeof b, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
        y->ended = true;
        (void)shutdown(y->to, SHUT_WR);
        return;
    }
    assert_true(y->length + (size_t)n <= sizeof y->kept);
    memcpy(y->kept + y->length, b, (size_t)n);
    if (y->change >= y->length && y->change < y->length + (size_t)n) b[y->change - y->length] ^= 4;
    y->length += (size_t)n;
    (void)send(y->to, b, (size_t)n, MSG_NOSIGNAL);
}

static inline void relay_step(struct relay *r)
{
    if (r->way[0].from < 0) relay_accept(r);
    else if (!r->plays) relay_pass(&r->way[0]), relay_pass(&r->way[1]);
}

static inline void relay_call(struct relay *r, struct end *e)
{
    char address[40], error[200];
    struct hark_connection *c;
    snprintf(address, sizeof address, "127.0.0.1:%u", r->port);
    assert_int_equal(hark_connection_begin(&c, &e->config, address, error), 0);
}

/* As until(), with the relay at work. */
#define relay_until(r, w, condition)                                                               \
    do {                                                                                           \
        uv_timer_start(&(w)->patience, out_of_patience, 30000, 0);                                 \
        while (!(condition)) {                                                                     \
            (void)uv_run(&(w)->loop, UV_RUN_NOWAIT);                                               \
            relay_step(r);                                                                         \
        }                                                                                          \
        uv_timer_stop(&(w)->patience);                                                             \
    } while (0)

#endif
