/* host.c: what is said to the agent of a host. */
#include "internal.h"

#include "../agent/lease.h"

void hark_sup_host_say(struct host *h, struct hark_control *m)
{
    hark_control_end(m);
    if (h->session_name && (m->bad || hark_session_say(&h->session, m->at, m->length) != 0))
        hark_sup_host_part(h); /* no memory, and it must not miss it: it is dead from now on */
    hark_control_free(m);
}

void hark_sup_host_part(struct host *h)
{
    if (h->connection) hark_connection_close(h->connection, false);
    h->connection = NULL;
    hark_session_free(&h->session);
    h->session_name = 0;
}

void hark_sup_host_mention(struct host *h, struct hark_control *m)
{
    hark_control_end(m);
    if (!m->bad) hark_session_mention(&h->session, m->at, m->length);
    hark_control_free(m);
}

uint32_t hark_sup_slot_number(const struct child *c)
{
    return c->rank == HARK_RECOVERY ? c->s->o->ranks : c->rank;
}

void hark_sup_host_about(struct hark_control *m, uint16_t type, const struct child *c)
{
    hark_control_begin(m, type);
    hark_control_put32(m, hark_sup_slot_number(c));
}

bool hark_sup_takeover_allowed(const struct supervisor *s)
{
    return s->o->supervisor_timeout_ms != 0;
}

bool hark_sup_host_silent(const struct supervisor *s)
{
    const uint64_t most = 3 * hark_lease_period_ms(s->o->host_timeout_ms) * UINT64_C(1000000),
                   now = s->host ? hark_lease_now() : 0;
    for (uint32_t i = 0; s->host && i < s->o->hosts; i++)
        if (s->host[i].ready && !s->host[i].lost && now - s->host[i].heard > most) return true;
    return false;
}
