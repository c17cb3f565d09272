/* heard.c: see heard.h. Alone in its file: what libuv includes has another struct tcp_info, without
 * the members of newer systems. */
#include "heard.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

unsigned hark_uv_unheard_for(int fd)
{
    struct tcp_info info = {0};
    socklen_t length = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return 0;
    const bool waits = info.tcpi_unacked || (info.tcpi_notsent_bytes && info.tcpi_snd_wnd);
    return waits ? info.tcpi_last_ack_recv : 0;
}
