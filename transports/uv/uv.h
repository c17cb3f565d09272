/* uv.h: the transport over stream sockets, TCP and UNIX, by libuv.
 *
 * One connection for each pair of processes that talks, made with the first frame by whichever of
 * the two has something to say. A connection that is lost between two living processes is made
 * again, and every frame still arrives once: both ends count the bytes of each direction, tell each
 * other how far they have come when they meet again, and the sender has kept what the receiver does
 * not have.
 *
 * Addresses: "unix:/path" or "tcp:HOST:PORT", HOST a numeric address (IPv6 in brackets).
 * config.address says what to listen on, PORT 0 lets the system choose; address() names the port
 * that it chose. Without config.address: a UNIX socket in config.directory, or, if that is NULL
 * too, tcp:127.0.0.1:0. HOST is also what others connect to, so do not listen on the any-address.
 *
 * Before any frame is taken from a connection both sides prove that they know config.key, by a
 * keyed hash over both nonces, both ranks and incarnations, the job and the role. A connection that
 * does not do so is dropped and counted in figures.refused. What follows is not encrypted and not
 * signed: who can alter the bytes of a connection that others made must be kept out by other means.
 *
 * A frame longer than 128 KiB is sent from the caller's memory: send() answers HARK_T_AGAIN until
 * the other has all but its last 256 KiB, which are then copied. Poll meanwhile. An answer to the
 * frame may arrive before that.
 *
 * option[0]: milliseconds in which each message of the handshake of a stranger must come; 0: 10000.
 * For one that we connect to it counts from the first byte of a message, since it may be busy and
 * not poll for long. option[1]: connections in the middle of their handshake, at most; 0: 128. The
 * oldest makes room for a new one. option[2]: bytes of frames kept for each receiver until it has
 * them, 256 KiB .. 1 GiB; 0: 4 MiB. Memory is used only as far as it was ever needed.
 */
#ifndef HARK_TRANSPORTS_UV_H
#define HARK_TRANSPORTS_UV_H

#include "hark/transport.h"

extern const struct hark_transport_ops hark_uv_transport;

#endif
