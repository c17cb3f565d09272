/* mixed.h: one transport over two: shared memory between processes of one host, and sockets or
 * libfabric between hosts.
 *
 * An address is "HOST ADDRESS", for example "h3 tcp:10.0.0.3:41234". HOST is one word, 1 .. 15 of
 * [A-Za-z0-9-]: processes that say the same word are on one host and share its /dev/shm. ADDRESS is
 * one of uv.h. config.address says both, with what to listen on; NULL: host h0, and ADDRESS is what
 * sockets choose without one. address() has the port that the system chose.
 *
 * Where a peer is, peer() tells with its address. Until then frames for it are kept: those of up to
 * 128 KiB, 1 MiB for each peer; for longer ones send() answers HARK_T_AGAIN. The next incarnation
 * of a peer may be on another host. One incarnation stays where it is: peer() refuses another host
 * for it.
 *
 * What is between two processes of one host is as in shm.h; all that it costs more is that poll()
 * looks at a word, whether there is something from other hosts. A frame to another host is as in
 * uv.h, but for this: what is lent is sent from where it lies, taken at once, and not copied; of
 * other frames nothing is read but within send(). When a frame on its way to another host is
 * withdrawn, the rest of it never comes; but if all of it was written by then, it may still arrive.
 *
 * The segments in /dev/shm belong to the job "JOB-HOST", so the hosts of a job may share a machine;
 * together that is at most 40 characters. Sockets belong to JOB. sweep(JOB, directory) is for a job
 * without addresses: it removes the segments of JOB-h0 and the sockets in `directory`. With
 * addresses, call sweep("JOB-HOST", directory) for each HOST where it was. Either leaves other
 * hosts alone: a dot ends the job in the names of segments and sockets. But a job that is named as
 * another one's JOB-HOST would be taken for it.
 *
 * A process whose peers may be on other hosts (it has config.address, or was told of such a peer)
 * has a thread more. It sleeps until something comes from other hosts, and wakes who is in wait().
 *
 * Between hosts it is sockets (uv.h), or libfabric (fabric.h) where option[4] says so; for all of a
 * job the same. Then ADDRESS is one of fabric.h, config.address still says "HOST tcp:NUMERIC:0", of
 * which the provider gets NUMERIC, config.encrypts is refused, and what is said of sockets above
 * holds for what the provider uses.
 *
 * option[0], [1]: as option[0], [1] of shm.h (ring, spin). option[2]: as option[0] of uv.h, up to
 * 3600000 (handshake-ms). option[3]: as option[2] of uv.h or option[1] of fabric.h (window).
 * option[4]: 0 or 1: sockets, 2: libfabric (between). option[5]: as option[0] of fabric.h
 * (provider).
 */
#ifndef HARK_TRANSPORTS_MIXED_H
#define HARK_TRANSPORTS_MIXED_H

#include "hark/transport.h"

extern const struct hark_transport_ops hark_mixed_transport;

/* NULL, or which of these options do not fit each other, in words. */
const char *hark_mixed_bad_options(const uint64_t option[HARK_TRANSPORT_OPTIONS]);
/* With these options it can encrypt what leaves a host. */
bool hark_mixed_encrypts(const uint64_t option[HARK_TRANSPORT_OPTIONS]);

#endif
