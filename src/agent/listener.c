/* listener.c: connections that others begin. Only so many at a time, since who they are is not
 * known yet. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../store/descriptor.h"

enum { AT_ONCE = 16 };   /* accepted before others get their turn */
enum { BREATH_MS = 50 }; /* nobody is accepted for so long, if nobody can be */
enum { USUAL_STRANGERS = 128 };

struct hark_list {
    struct hark_connection *first, *last;
};

struct hark_listener {
    struct hark_connection_config config;
    uv_poll_t poll;
    uv_timer_t breath;
    int handles; /* of these two, those that libuv still knows */
    int fd;
    int spare; /* a descriptor to be given up when there are no others; -1: it is given up */
    uint16_t port;
    uint32_t strangers, most;
    uint64_t refused;
    struct hark_list stranger; /* the oldest first */
    struct hark_list opened;   /* who has proved that it knows the key, and has no owner yet */
};

/* ---- strangers ------------------------------------------------------------------------------- */

static void append(struct hark_list *list, struct hark_connection *c)
{
    c->before = list->last;
    c->next = NULL;
    if (list->last) list->last->next = c;
    else list->first = c;
    list->last = c;
}

static void take_out(struct hark_list *list, struct hark_connection *c)
{
    if (c->before) c->before->next = c->next;
    else list->first = c->next;
    if (c->next) c->next->before = c->before;
    else list->last = c->before;
    c->before = c->next = NULL;
}

static void is_owned(struct hark_connection *c)
{
    take_out(&c->listener->opened, c);
    c->listener = NULL;
}

static void is_opened(struct hark_connection *c)
{
    take_out(&c->listener->stranger, c);
    c->listener->strangers--;
    if (c->stage == HARK_STAGE_OPEN) {
        append(&c->listener->opened, c);
        c->let_go = is_owned;
    } else {
        c->listener = NULL;
    }
}

static void refuse(struct hark_connection *c, const char *why)
{
    (void)why; /* it is nobody's business what strangers do wrong */
    c->listener->refused++;
    hark_connection_release(c);
}

static void welcome(struct hark_listener *l, int fd)
{
    struct hark_connection *c = hark_connection_new(&l->config, HARK_STAGE_SHAKE);
    if (c == NULL) {
        close(fd);
        l->refused++;
        return;
    }
    c->unopened = refuse;
    c->let_go = is_opened;
    c->listener = l;
    append(&l->stranger, c);
    l->strangers++;
    hark_channel_open(&c->channel, false, l->config.key);
    if (hark_connection_attach(c, fd, HARK_STAGE_SHAKE) == 0) hark_connection_hurry(c);
    else refuse(c, NULL);
}

/* ---- accepting ------------------------------------------------------------------------------- */

static void on_stranger(uv_poll_t *poll, int status, int events);

static int take_spare(void)
{
    return hark_descriptor_above(open("/", O_PATH | O_CLOEXEC));
}

static void on_breath(uv_timer_t *timer)
{
    struct hark_listener *l = timer->data;
    if (l->spare < 0) l->spare = take_spare();
    if (uv_poll_start(&l->poll, UV_READABLE, on_stranger) != 0)
        uv_timer_start(&l->breath, on_breath, BREATH_MS, 0);
}

/* Those who wait stay in the system's queue. */
static void take_breath(struct hark_listener *l)
{
    uv_poll_stop(&l->poll);
    uv_timer_start(&l->breath, on_breath, BREATH_MS, 0);
}

/* There is no descriptor for whoever comes: by the spare one it learns so at once. */
static bool turn_away(struct hark_listener *l)
{
    if (l->spare < 0) return false;
    close(l->spare);
    int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0) close(fd);
    l->spare = take_spare();
    if (fd >= 0) l->refused++;
    return fd >= 0 && l->spare >= 0;
}

static void on_stranger(uv_poll_t *poll, int status, int events)
{
    struct hark_listener *l = poll->data;
    (void)events;
    for (int i = 0; i < AT_ONCE; i++) {
        int fd = status < 0 ? status : hark_socket_accept(l->fd);
        if (fd == -EAGAIN || fd == -EWOULDBLOCK) return;
        if (fd == -EINTR || fd == -ECONNABORTED) continue;
        if ((fd == -EMFILE || fd == -ENFILE) && turn_away(l)) continue;
        if (fd < 0) {
            take_breath(l);
            return;
        }
        if (l->strangers >= l->most) refuse(l->stranger.first, NULL);
        welcome(l, fd);
    }
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* A socket that listens at this address, at a port that the system chooses; or a negative errno. */
static int listen_at(const struct addrinfo *a)
{
    int off = 0, fd = hark_socket_new(a->ai_family);
    if (fd < 0) return fd;
    if (a->ai_family == AF_INET6) (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0) return fd;
    int status = -errno;
    close(fd);
    return status;
}

static int listen_anywhere(void)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct addrinfo a = {
        .ai_family = AF_INET6, .ai_addr = (struct sockaddr *)&six, .ai_addrlen = sizeof six};
    int fd = listen_at(&a);
    if (fd >= 0) return fd;
    a = (struct addrinfo){
        .ai_family = AF_INET, .ai_addr = (struct sockaddr *)&four, .ai_addrlen = sizeof four};
    return listen_at(&a);
}

static int listen_on(const char *host, char error[200])
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all;
    int fd = -EADDRNOTAVAIL;
    if (host == NULL) {
        fd = listen_anywhere();
    } else {
        int status = getaddrinfo(host, NULL, &hints, &all);
        if (status != 0) {
            snprintf(error, 200, "cannot listen at %.100s: %s", host, gai_strerror(status));
            return status == EAI_MEMORY ? -ENOMEM : -EADDRNOTAVAIL;
        }
        for (struct addrinfo *a = all; a && fd < 0; a = a->ai_next) fd = listen_at(a);
        freeaddrinfo(all);
    }
    if (fd < 0)
        snprintf(
            error, 200, "cannot listen at %.100s: %s", host ? host : "any address", strerror(-fd));
    return fd;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage a = {0};
    socklen_t length = sizeof a;
    (void)getsockname(fd, (struct sockaddr *)&a, &length);
    return ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
                                         : ((struct sockaddr_in *)&a)->sin_port);
}

static void let_go_of(uv_handle_t *handle)
{
    struct hark_listener *l = handle->data;
    if (--l->handles > 0) return;
    sodium_memzero(l, sizeof *l);
    free(l);
}

static int open_failed(struct hark_listener *l, int status, char error[200])
{
    snprintf(error, 200, "cannot listen: %s", strerror(-status));
    if (l->spare >= 0) close(l->spare);
    close(l->fd);
    free(l);
    return status;
}

int hark_listener_open(struct hark_listener **to, const struct hark_connection_config *config,
    const char *host, uint32_t strangers, char error[200])
{
    int fd = listen_on(host, error);
    if (fd < 0) return fd;
    struct hark_listener *l = sodium_init() < 0 ? NULL : calloc(1, sizeof *l);
    if (l == NULL) {
        close(fd);
        snprintf(error, 200, "cannot listen: %s", strerror(ENOMEM));
        return -ENOMEM;
    }
    l->config = *config;
    l->most = strangers ? strangers : USUAL_STRANGERS;
    l->fd = fd;
    l->port = port_of(fd);
    l->spare = take_spare();
    if (l->spare < 0) return open_failed(l, -errno, error);
    int status = uv_poll_init(config->loop, &l->poll, fd);
    if (status != 0) return open_failed(l, status, error);
    uv_timer_init(config->loop, &l->breath);
    l->poll.data = l->breath.data = l;
    l->handles = 2;
    *to = l;
    status = uv_poll_start(&l->poll, UV_READABLE, on_stranger);
    if (status != 0) {
        hark_listener_close(l);
        snprintf(error, 200, "cannot listen: %s", uv_strerror(status));
    }
    return status;
}

uint16_t hark_listener_port(const struct hark_listener *l)
{
    return l->port;
}

uint64_t hark_listener_refused(const struct hark_listener *l)
{
    return l->refused;
}

void hark_listener_close(struct hark_listener *l)
{
    while (l->stranger.first) hark_connection_release(l->stranger.first);
    while (l->opened.first) hark_connection_release(l->opened.first);
    uv_close((uv_handle_t *)&l->poll, let_go_of);
    uv_close((uv_handle_t *)&l->breath, let_go_of);
    close(l->fd);
    if (l->spare >= 0) close(l->spare);
}
