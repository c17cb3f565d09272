/* socket.h: what the agents' connections ask of TCP sockets. */
#ifndef HARK_AGENT_SOCKET_H
#define HARK_AGENT_SOCKET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define HARK_SOCKET_TEXT 46u /* INET6_ADDRSTRLEN */

/* A new one, and one that is accepted: non-blocking, close-on-exec, sending at once. Negative:
 * -errno. */
int hark_socket_new(int family);
int hark_socket_accept(int listening);
/* The system asks the other host whether it is there, while nothing else is sent: each second, or a
 * few times in `silent_ms`. */
void hark_socket_keep_alive(int fd, uint32_t silent_ms);
bool hark_socket_is_connected(int fd);
/* -errno of the socket itself, or of asking for it; 0: none. */
int hark_socket_error(int fd);

struct hark_silence {
    uint64_t since; /* there are bytes that are not acknowledged, milliseconds; 0: none */
};

/* To be asked a few times in `silent_ms`. -ETIMEDOUT: the other host has been silent for so long;
 * another negative errno: the connection has ended, and nothing has said so; 0: all is well. */
int hark_socket_look(struct hark_silence *s, int fd, uint64_t now, uint32_t silent_ms);

/* Numeric, without a port. IPv4 in IPv6 is IPv4. */
void hark_socket_text(const struct sockaddr_storage *address, char text[HARK_SOCKET_TEXT]);

#endif
