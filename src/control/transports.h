/* transports.h: the transports that a job can be started with, by name. */
#ifndef HARK_CONTROL_TRANSPORTS_H
#define HARK_CONTROL_TRANSPORTS_H

#include "hark/transport.h"

/* NULL if there is none of that name. */
const struct hark_transport_ops *hark_transport_named(const char *name);
/* The i-th, NULL behind the last. */
const struct hark_transport_ops *hark_transport_at(unsigned i);

#endif
