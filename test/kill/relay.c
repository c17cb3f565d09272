#include "relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST = 256,
    CUTS = 60,
    DELAY_MS = 15,
    BYTES = 3000
}; /* cuts in all, so that there is an end */

struct door { /* where others come for `to` */
    int fd;
    struct sockaddr_in to;
};
struct way { /* a connection: both ends */
    int fd[2];
    uint64_t left;  /* bytes until it is cut */
    uint64_t until; /* ms: delayed so long */
};

static struct door door[MOST];
static struct way way[MOST];
static nfds_t doors, ways;
static uint64_t seed;
static unsigned *cut_count;

static uint64_t any(uint64_t below)
{
    uint64_t x = seed += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 31) % below;
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void new_door(int from)
{
    char text[100] = "", host[60] = "";
    unsigned port = 0;
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t length = sizeof at;
    int fd = accept4(from, NULL, NULL, SOCK_CLOEXEC);
    size_t got = 0;
    while (got < sizeof text - 1 && recv(fd, text + got, 1, 0) == 1 && text[got]) got++;
    if (sscanf(text, "tcp:%59[0-9.]:%u", host, &port) != 2 || doors == MOST) abort();
    struct door *d = &door[doors++];
    d->to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    d->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (inet_pton(AF_INET, host, &d->to.sin_addr) != 1 ||
        bind(d->fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(d->fd, 64) < 0 ||
        getsockname(d->fd, (struct sockaddr *)&at, &length) < 0)
        abort();
    int n = snprintf(text, sizeof text, "tcp:127.0.0.1:%u", ntohs(at.sin_port));
    (void)send(fd, text, (size_t)n + 1, MSG_NOSIGNAL);
    close(fd);
}

static void new_way(const struct door *d)
{
    int a = accept4(d->fd, NULL, NULL, SOCK_CLOEXEC),
        b = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (a >= 0 && b >= 0 && ways < MOST &&
        connect(b, (const struct sockaddr *)&d->to, sizeof d->to) == 0) {
        way[ways++] = (struct way){{a, b}, any(2) ? 1 + any(BYTES) : UINT64_MAX, 0};
        return;
    }
    if (a >= 0) close(a); /* nobody is there any more */
    if (b >= 0) close(b);
}

static void end_way(nfds_t i, bool rudely)
{
    struct linger at_once = {1, 0};
    for (int k = 0; k < 2; k++) {
        if (rudely) (void)setsockopt(way[i].fd[k], SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(way[i].fd[k]);
    }
    way[i] = way[--ways];
}

/* From one end to the other. False: it is over. */
static bool forward(struct way *w, int from)
{
    char bytes[65536];
    ssize_t n = recv(w->fd[from], bytes, sizeof bytes, 0);
    if (n <= 0) return false;
    uint64_t part = (uint64_t)n < w->left ? (uint64_t)n : w->left;
    if (send(w->fd[!from], bytes, part, MSG_NOSIGNAL) != (ssize_t)part) return false;
    if (w->left != UINT64_MAX) w->left -= part;
    if (any(8) == 0) w->until = now() + any(DELAY_MS);
    return true;
}

static void serve_way(nfds_t i, const struct pollfd *p)
{
    for (int k = 0; k < 2; k++) {
        if (!(p[k].revents & (POLLIN | POLLHUP | POLLERR))) continue;
        if (!forward(&way[i], k)) {
            end_way(i, false);
            return;
        }
        if (way[i].left) continue;
        if (*cut_count < CUTS) {
            ++*cut_count;
            end_way(i, any(2));
            return;
        }
        way[i].left = UINT64_MAX;
    }
}

static void serve(int at)
{
    static struct pollfd p[1 + MOST + 2 * MOST];
    uint64_t time = now();
    nfds_t n = 0, count = ways;
    int sleep = -1;
    p[n++] = (struct pollfd){at, POLLIN, 0};
    for (nfds_t i = 0; i < doors; i++) p[n++] = (struct pollfd){door[i].fd, POLLIN, 0};
    for (nfds_t i = 0; i < ways; i++)
        for (int k = 0; k < 2; k++) {
            bool held = way[i].until > time;
            if (held) sleep = 1;
            p[n++] = (struct pollfd){held ? -1 : way[i].fd[k], POLLIN, 0};
        }
    if (poll(p, n, sleep) < 0 && errno != EINTR) abort();
    struct pollfd *at_ways = p + 1 + doors;
    for (nfds_t i = count; i-- > 0;)
        serve_way(i, at_ways + 2 * i); /* the last takes the place of one that ends */
    for (nfds_t i = doors; i-- > 0;)
        if (p[1 + i].revents) new_way(&door[i]);
    if (p[0].revents) new_door(at);
}

pid_t relay_start(const char *path, uint64_t the_seed, unsigned *cuts)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 64) < 0) abort();
    pid_t parent = getpid(), pid = fork();
    if (pid) {
        close(fd);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    seed = the_seed;
    cut_count = cuts;
    for (;;) serve(fd);
}
