/* host.c: configs, and addresses in words. See mixed.h. */
#include "inside.h"

#include <stdio.h>

#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"

const char *hark_mixed_bad_options(const uint64_t option[HARK_TRANSPORT_OPTIONS])
{
    const bool fabric = option[MIXED_BETWEEN] == 2;
    if (fabric && option[MIXED_HANDSHAKE]) return "handshake-ms cannot be used with between=fabric";
    if (!fabric && option[MIXED_PROVIDER]) return "provider needs between=fabric";
    return NULL;
}

static const char *bad_options(const struct hark_transport_config *c, char text[WHY])
{
    const struct hark_transport_option *o = hark_mixed_transport.options;
    for (; o->name; o++) {
        uint64_t value = c->option[o->at];
        bool fits = value >= o->least && value <= o->most && (!o->power || !(value & (value - 1)));
        if (value == 0 || fits) continue;
        snprintf(text, WHY, "option %u, %s, is not %s%llu .. %llu", o->at, o->name,
            o->power ? "a power of two of " : "in ", (unsigned long long)o->least,
            (unsigned long long)o->most);
        return text;
    }
    return hark_mixed_bad_options(c->option);
}

const char *hark_mixed_bad_config(const struct hark_transport_config *c, char text[WHY])
{
    if (!c->job || !c->job[0] || strlen(c->job) > JOB_MOST ||
        c->job[strspn(c->job, HOST_CHARACTERS "_")])
        return "the name of the job is not 1 .. 40 of [A-Za-z0-9_-]";
    return bad_options(c, text);
}

const char *hark_mixed_host(const char *address, char host[HOST_MOST + 1])
{
    size_t length = strspn(address, HOST_CHARACTERS);
    if (length == 0 || length > HOST_MOST || address[length] != ' ' || !address[length + 1])
        return NULL;
    memcpy(host, address, length);
    host[length] = 0;
    return address + length + 1;
}

bool hark_mixed_job(char name[JOB_MOST + 1], const char *job, const char *host)
{
    return snprintf(name, JOB_MOST + 1, "%s-%s", job, host) <= JOB_MOST;
}
