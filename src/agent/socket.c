/* socket.c: see socket.h. */
#include "socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "../store/descriptor.h"

enum { ASKS = 8, UNANSWERED = 20 }; /* more than in silent_ms: the system ends nothing before */
enum { SECONDS_MOST = 32767 };      /* of the system */
enum { IDLE_MS = 3000 };            /* so long an idle one takes to be asked, and answer */
enum { CLOSED = 7 };                /* TCP_CLOSE, of a header that excludes this one */
enum { PAUSE_MOST = 44 };           /* TCP_RTO_MAX_MS, of Linux 6.15 */
enum { PROBES = 3 };                /* of a window that is full, without an answer */

static int prepared(int fd)
{
    int on = 1, most = 1000; /* ms */
    fd = hark_descriptor_above(fd);
    if (fd < 0) return -errno;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    /* What was lost is sent again each second at least, so that a link that is back is noticed
     * soon: else the pauses double, and may outlast a lease. Not every system can. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, PAUSE_MOST, &most, sizeof most);
    return fd;
}

int hark_socket_new(int family)
{
    return prepared(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

int hark_socket_accept(int listening)
{
    return prepared(accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

void hark_socket_keep_alive(int fd, uint32_t silent_ms)
{
    int on = 1, unanswered = UNANSWERED, seconds = (int)(silent_ms / ASKS / 1000);
    if (seconds < 1) seconds = 1;
    if (seconds > SECONDS_MOST) seconds = SECONDS_MOST;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &unanswered, sizeof unanswered);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

bool hark_socket_is_connected(int fd)
{
    struct sockaddr_storage a;
    socklen_t length = sizeof a;
    return getpeername(fd, (struct sockaddr *)&a, &length) == 0;
}

int hark_socket_error(int fd)
{
    int why = 0;
    socklen_t length = sizeof why;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &length) == 0 ? -why : -errno;
}

/* TCP_USER_TIMEOUT would do this, but it also ends a connection of which the other end takes
 * nothing for so long, though its system answers: one that is paused. */
int hark_socket_look(struct hark_silence *s, int fd, uint64_t now, uint32_t silent_ms)
{
    struct tcp_info i;
    socklen_t length = sizeof i;
    int waiting = 0;
    memset(&i, 0, sizeof i);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &length) != 0) return -errno;
    if (i.tcpi_state == CLOSED) {
        int why = hark_socket_error(fd);
        return why ? why : -ECONNRESET;
    }
    (void)ioctl(fd, SIOCOUTQ, &waiting);
    if (waiting == 0) s->since = 0;
    else if (s->since == 0) s->since = now ? now : 1;
    uint32_t silence =
        i.tcpi_last_ack_recv < i.tcpi_last_data_recv ? i.tcpi_last_ack_recv : i.tcpi_last_data_recv;
    bool silent = silence >= silent_ms;
    if (waiting == 0) silent = silent && silence >= IDLE_MS;
    else if (i.tcpi_unacked == 0 || i.tcpi_snd_wnd == 0) /* full; it is asked ever more seldom */
        silent = silent && i.tcpi_probes >= PROBES;
    else silent = silent && now - s->since >= silent_ms;
    return silent ? -ETIMEDOUT : 0;
}

void hark_socket_text(const struct sockaddr_storage *address, char text[HARK_SOCKET_TEXT])
{
    const struct sockaddr_in *four = (const void *)address;
    const struct sockaddr_in6 *six = (const void *)address;
    const char *made = NULL;
    if (address->ss_family == AF_INET)
        made = inet_ntop(AF_INET, &four->sin_addr, text, HARK_SOCKET_TEXT);
    else if (address->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
        made = inet_ntop(AF_INET, &six->sin6_addr.s6_addr[12], text, HARK_SOCKET_TEXT);
    else if (address->ss_family == AF_INET6)
        made = inet_ntop(AF_INET6, &six->sin6_addr, text, HARK_SOCKET_TEXT);
    if (made == NULL) memcpy(text, "?", 2);
}
