#include "transports.h"

#include <stdio.h>
#include <string.h>

#include "../../transports/fabric/fabric.h"
#include "../../transports/mixed/mixed.h"
#include "../../transports/shm/shm.h"
#include "../../transports/uv/uv.h"

/* Every transport that can carry a job, a line each. */
static const struct hark_transport_ops *const transports[] = {
    &hark_shm_transport,
    &hark_uv_transport,
    &hark_mixed_transport,
#if HARK_FABRIC
    &hark_fabric_transport,
#endif
};

const struct hark_transport_ops *hark_transport_at(unsigned i)
{
    return i < sizeof transports / sizeof *transports ? transports[i] : NULL;
}

const struct hark_transport_ops *hark_transport_named(const char *name)
{
    for (unsigned i = 0; hark_transport_at(i); i++)
        if (strcmp(transports[i]->name, name) == 0) return transports[i];
    return NULL;
}

bool hark_transport_between_hosts(
    const struct hark_transport_ops *t, uint32_t host, const char *address, char listen[200])
{
    const bool six = strchr(address, ':') != NULL;
    const bool mixed = t == &hark_mixed_transport;
    char name[16] = "";
#if HARK_FABRIC
    if (t == &hark_fabric_transport) {
        snprintf(listen, 200, "%.100s", address);
        return true;
    }
#endif
    if (t != &hark_uv_transport && !mixed) return false;
    if (mixed) snprintf(name, sizeof name, "h%u ", host);
    snprintf(listen, 200, six ? "%stcp:[%.100s]:0" : "%stcp:%.100s:0", name, address);
    return true;
}

const struct hark_transport_ops *hark_transport_of_hosts(void)
{
    return &hark_mixed_transport;
}

const char *hark_transport_bad_options(
    const struct hark_transport_ops *t, const uint64_t option[HARK_TRANSPORT_OPTIONS])
{
    return t == &hark_mixed_transport ? hark_mixed_bad_options(option) : NULL;
}

bool hark_transport_encrypts(
    const struct hark_transport_ops *t, const uint64_t option[HARK_TRANSPORT_OPTIONS])
{
    return t == &hark_uv_transport || (t == &hark_mixed_transport && hark_mixed_encrypts(option));
}
