/* transports.h: the transports that a job can be started with, by name. */
#ifndef HARK_CONTROL_TRANSPORTS_H
#define HARK_CONTROL_TRANSPORTS_H

#include "hark/transport.h"

/* NULL if there is none of that name. */
const struct hark_transport_ops *hark_transport_named(const char *name);
/* The i-th, NULL behind the last. */
const struct hark_transport_ops *hark_transport_at(unsigned i);

/* The usual one for a job of several hosts. */
const struct hark_transport_ops *hark_transport_of_hosts(void);
/* What a transport between hosts listens on in a process of host number `host`, whose address is
 * `address` (IPv4 or IPv6, numeric). False: it does not go from host to host. */
bool hark_transport_between_hosts(
    const struct hark_transport_ops *t, uint32_t host, const char *address, char listen[200]);
/* NULL, or which of its options do not fit each other, in words. */
const char *hark_transport_bad_options(
    const struct hark_transport_ops *t, const uint64_t option[HARK_TRANSPORT_OPTIONS]);
/* It can encrypt what leaves this machine, with these options. */
bool hark_transport_encrypts(
    const struct hark_transport_ops *t, const uint64_t option[HARK_TRANSPORT_OPTIONS]);

#endif
