/* fabric.h: the transport over libfabric: the networks of clusters, by their own providers.
 *
 * One reliable, unconnected endpoint (FI_EP_RDM) for each process, plain messages (FI_MSG) of at
 * most 16 KiB. Frames to one incarnation of another process make up a stream of numbered messages.
 * The sender keeps a copy of each until the receiver has it, sends all again that follow a lost
 * one, and the receiver drops what it has: so a connection that a provider loses between two living
 * processes costs no frame.
 *
 * libfabric.so.1 is loaded by the first open(): programs that use another transport do not need it.
 *
 * Addresses: "fabric:PROVIDER:HEX", PROVIDER as libfabric names it, HEX the bytes of the endpoint's
 * name. config.address is a numeric host; NULL: 127.0.0.1 for tcp, any for verbs. The other
 * providers choose themselves where they are.
 *
 * Each message has a keyed hash over the job, both processes and their incarnations, under
 * config.key; one where it is wrong is dropped and counted in figures.refused. It keeps out who
 * does not know the key, and late messages for the former owner of an address. It protects no
 * bytes: who can read what others send can say the same again. Nothing is encrypted; open() refuses
 * config.encrypts.
 *
 * option[0]: the provider, 1 + its place in hark_fabric_providers; 0: tcp. All of a job use the
 * same. option[1]: bytes kept for each receiver until it has them, 256 KiB .. 1 GiB; 0: 1 MiB.
 */
#ifndef HARK_TRANSPORTS_FABRIC_H
#define HARK_TRANSPORTS_FABRIC_H

#include "hark/transport.h"

#define HARK_FABRIC_PROVIDERS 7
extern const char *const hark_fabric_providers[]; /* NULL: the end */
extern const struct hark_transport_ops hark_fabric_transport;

/* For a transport of which this one is a part: it sleeps in another way. */

/* A descriptor that can be read when something has come; it may be watched by another thread, from
 * a call of hark_fabric_timeout() on that answers anything but 0. -1: the provider has none. */
int hark_fabric_descriptor(const struct hark_transport *t);
/* Milliseconds until poll() has something to do that the descriptor does not show; -1: it shows
 * all. */
int hark_fabric_timeout(const struct hark_transport *t);
/* poll() has something to do now that the descriptor does not show. */
bool hark_fabric_has_work(const struct hark_transport *t);

#endif
