/* mixed_ends.h: ends of the transport `mixed` on hosts, for its own tests. With HARK_TEST_BETWEEN
 * what goes between hosts goes over libfabric. */
#ifndef HARK_TEST_MIXED_ENDS_H
#define HARK_TEST_MIXED_ENDS_H

#include <stdlib.h>

#include "harness.h"
#include "mixed/mixed.h"

static const struct hark_transport_ops *const ops = &hark_mixed_transport;

static inline void listen_on(struct hark_transport_config *config, const char *host, char text[64])
{
    snprintf(text, 64, "%s tcp:127.0.0.1:0", host);
    config->address = text;
}

static inline void open_on(
    struct end *e, const struct job *job, uint32_t me, uint32_t inc, const char *host)
{
    char error[200] = "", text[64];
    memset(e, 0, sizeof *e);
    e->me = me;
    e->inc = inc;
    end_config(&e->config, job, me, inc, e);
    if (host) listen_on(&e->config, host, text);
    if (getenv("HARK_TEST_BETWEEN")) e->config.option[4] = 2;
    int status = ops->open(&e->t, &e->config, error);
    if (status != HARK_T_OK) fprintf(stderr, "%s\n", error);
    MUST(status == HARK_T_OK);
}

static inline void open_all(struct end *e, size_t count, struct job *job, const char *const host[])
{
    job_begin(job, (uint32_t)count);
    for (uint32_t i = 0; i < count; i++) open_on(&e[i], job, i, 0, host[i]);
    ends_meet(e, count);
}

static inline void close_all(struct end *e, size_t count, struct job *job)
{
    for (size_t i = 0; i < count; i++) end_close(&e[i]);
    job_end(job);
}

static inline int tell(struct end *e, const struct end *of)
{
    return ops->peer(e->t, of->me, of->inc, ops->address(of->t));
}

#endif
