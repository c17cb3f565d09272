/* address.c: see address.h. */
#include "address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../agent/janitor.h"
#include "../store/descriptor.h"

/* ---- what is written there ------------------------------------------------------------------- */

static bool is_port(const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits < 6 && text[digits] == 0 && atoi(text) <= UINT16_MAX;
}

/* Absolute, for who removes it may be in another directory. */
static bool take_path(struct hark_address *a, const char *path)
{
    char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    const int n = snprintf(
        a->path, sizeof a->path, "%s%s%s", here ? here : "", path[0] == '/' ? "" : "/", path);
    const bool ok = path[0] && (path[0] == '/' || here) && n > 0 && n < (int)sizeof a->path;
    free(here);
    return ok;
}

bool hark_address_parse(struct hark_address *a, const char *text)
{
    *a = (struct hark_address){.path = ""};
    if (strncmp(text, "unix:", 5) == 0) return take_path(a, text + 5);
    const bool brackets = text[0] == '[';
    const char *host = text + brackets, *end = host + strcspn(host, brackets ? "]" : ":"),
               *port = end + brackets;
    const size_t length = (size_t)(end - host);
    if (length == 0 || length >= sizeof a->host || strcspn(host, " \t\r\n/") < length) return false;
    if (*end == 0 || *port != ':' || !is_port(port + 1)) return false;
    memcpy(a->host, host, length);
    snprintf(a->port, sizeof a->port, "%s", port + 1);
    return true;
}

/* ---- sockets --------------------------------------------------------------------------------- */

static int new_socket(int family)
{
    return hark_descriptor_above(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

/* The socket, or -1 with errno. */
static int listen_at(int family, const void *address, socklen_t length)
{
    int on = 1, off = 0, fd = new_socket(family);
    if (fd < 0) return -1;
    if (family != AF_UNIX) (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET6) (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, address, length) == 0 && listen(fd, SOMAXCONN) == 0) return fd;
    const int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static int listen_at_path(struct hark_address *a, char error[400])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, a->path, sizeof address.sun_path);
    int fd = listen_at(AF_UNIX, &address, sizeof address);
    if (fd < 0 && errno == EADDRINUSE && hark_remove_dead_socket(a->path))
        fd = listen_at(AF_UNIX, &address, sizeof address);
    snprintf(a->where, sizeof a->where, "unix:%s", a->path);
    if (fd < 0)
        snprintf(error, 400, "%s: %s", a->path,
            errno == EADDRINUSE ? "there is a file of that name, or another process listens there"
                                : strerror(errno));
    return fd;
}

static void note_where(struct hark_address *a, int fd, bool six)
{
    struct sockaddr_storage bound;
    socklen_t length = sizeof bound;
    memset(&bound, 0, sizeof bound);
    (void)getsockname(fd, (struct sockaddr *)&bound, &length);
    const unsigned port = ntohs(six ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                    : ((struct sockaddr_in *)&bound)->sin_port);
    const bool brackets = strchr(a->host, ':') != NULL;
    snprintf(a->where, sizeof a->where, "http://%s%s%s:%u/metrics", brackets ? "[" : "", a->host,
        brackets ? "]" : "", port);
}

int hark_address_listen(struct hark_address *a, char error[400])
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *all;
    int fd = -1;
    if (a->path[0]) return listen_at_path(a, error);
    const int status = getaddrinfo(a->host, a->port, &hints, &all);
    if (status != 0) {
        snprintf(error, 400, "%s: %s", a->host,
            status == EAI_SYSTEM ? strerror(errno) : gai_strerror(status));
        return -1;
    }
    for (const struct addrinfo *i = all; i && fd < 0; i = i->ai_next) {
        fd = listen_at(i->ai_family, i->ai_addr, i->ai_addrlen);
        if (fd >= 0) note_where(a, fd, i->ai_family == AF_INET6);
    }
    if (fd < 0) snprintf(error, 400, "%s:%s: %s", a->host, a->port, strerror(errno));
    freeaddrinfo(all);
    return fd;
}
