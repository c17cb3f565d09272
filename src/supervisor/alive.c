/* alive.c: does a process live? And signals to it. */
#include "internal.h"

#include <stdlib.h>

bool hark_sup_is_dead(const struct child *c)
{
    return c->host ? !c->runs || c->ended : hark_local_is_dead(&c->local);
}

bool hark_sup_left(const struct child *c)
{
    return c->host ? c->left : hark_local_left(&c->local);
}

bool hark_sup_walks_out(const struct child *c)
{
    const pid_t started = c->host                          ? c->left_living
                          : hark_local_lives_on(&c->local) ? c->local.pid
                                                           : 0;
    return started && started == c->program && !c->finished;
}

void hark_sup_signal(const struct child *c, int number, bool group)
{
    struct hark_control m;
    if (c->host == NULL) {
        hark_local_signal(&c->local, number, group);
    } else if (c->runs && !c->ended) {
        hark_sup_host_about(&m, HARK_A_SIGNAL, c);
        hark_control_put32(&m, (uint32_t)number);
        hark_control_put32(&m, group);
        hark_sup_host_say(c->host, &m);
    }
}

bool hark_sup_pass(const struct child *c, int number)
{
    struct hark_control m;
    if (c->host == NULL) return hark_local_pass(&c->local, c->program, number);
    if (!c->runs || c->ended) return false;
    hark_sup_host_about(&m, HARK_A_HANDLED, c);
    hark_control_put32(&m, (uint32_t)c->program);
    hark_control_put32(&m, (uint32_t)number);
    hark_sup_host_say(c->host, &m);
    return true; /* its agent looks */
}

void hark_sup_life_free(struct life *l)
{
    if (l) free(l->address);
    free(l);
}
