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
 * does not do so is dropped and counted in figures.refused. Without config.encrypts what follows is
 * not encrypted and not signed: who can alter the bytes of a connection that others made must be
 * kept out by other means. With it each connection has keys of its own, and all that follows the
 * handshake is in records (record.h). A connection on which anything else comes is dropped, counted
 * and made again, as one that is lost: all that was taken from it is what the other has sent.
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

/* For a transport of which this one is a part: it sleeps in another way, and lends memory. */

/* A descriptor that can be read when libuv has something to do; it may be watched by another
 * thread. It does not show what hark_uv_has_work() tells, nor timers. */
int hark_uv_backend(const struct hark_transport *t);
/* Milliseconds until a timer is due; -1: there is none. */
int hark_uv_timeout(const struct hark_transport *t);
/* poll() or wait() has something to do that the descriptor does not show. */
bool hark_uv_has_work(const struct hark_transport *t);
/* From now on no pointer into a frame is kept between two calls of send(): what is left of a long
 * frame is written within send() only, which is to be called again whenever it may go on. */
void hark_uv_keep_no_pointers(struct hark_transport *t);
/* As withdraw() of a transport, where no pointers are kept. But if all of the frame was written by
 * then, it may still arrive. */
void hark_uv_withdraw(struct hark_transport *t, struct hark_outgoing *frame);

#endif
