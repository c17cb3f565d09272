/* far.c: the transports between hosts, by what they are asked for beside what all transports have.
 */
#include "inside.h"

#include <stdio.h>

#include "../fabric/fabric.h"
#include "../uv/uv.h"

static int open_uv(
    struct hark_transport **t, const struct hark_transport_config *c, char error[200])
{
    struct hark_transport_config part = *c;
    part.option[0] = c->option[MIXED_HANDSHAKE];
    part.option[2] = c->option[MIXED_WINDOW];
    const int status = hark_uv_transport.open(t, &part, error);
    if (status == HARK_T_OK) hark_uv_keep_no_pointers(*t);
    return status;
}

static const struct far_ops uv = {&hark_uv_transport, open_uv, hark_uv_withdraw, hark_uv_backend,
    hark_uv_timeout, hark_uv_has_work};

bool hark_mixed_encrypts(const uint64_t option[HARK_TRANSPORT_OPTIONS])
{
    return hark_mixed_far(option[MIXED_BETWEEN]) == &uv;
}

#if HARK_FABRIC

/* Of "tcp:HOST:0" the host, without brackets; the others choose their port, and listen on nothing
 * else. */
static bool host_alone(const char *listen, char host[100])
{
    if (strncmp(listen, "tcp:", 4) != 0) return false;
    const char *begin = listen + 4, *end = strrchr(begin, ':');
    if (end == NULL || strcmp(end, ":0") != 0) return false;
    if (*begin == '[' && end[-1] == ']') {
        begin++;
        end--;
    }
    if (end <= begin || end - begin >= 100) return false;
    memcpy(host, begin, (size_t)(end - begin));
    host[end - begin] = 0;
    return true;
}

static int open_fabric(
    struct hark_transport **t, const struct hark_transport_config *c, char error[200])
{
    struct hark_transport_config part = *c;
    char host[100];
    if (c->address && !host_alone(c->address, host)) {
        if (error)
            snprintf(error, 200,
                "mixed: between=fabric listens on tcp:HOST:0, HOST numeric, and the provider "
                "chooses the port");
        return HARK_T_EINVAL;
    }
    if (c->address) part.address = host;
    part.option[0] = c->option[MIXED_PROVIDER];
    part.option[1] = c->option[MIXED_WINDOW];
    return hark_fabric_transport.open(t, &part, error);
}

static const struct far_ops fabric = {&hark_fabric_transport, open_fabric, NULL,
    hark_fabric_descriptor, hark_fabric_timeout, hark_fabric_has_work};

const char *const hark_mixed_between[] = {"uv", "fabric", NULL};

const struct far_ops *hark_mixed_far(uint64_t option)
{
    return option == 2 ? &fabric : &uv;
}

#else

const char *const hark_mixed_between[] = {"uv", NULL};

const struct far_ops *hark_mixed_far(uint64_t option)
{
    (void)option;
    return &uv;
}

#endif
