/* place.c: which process runs on which host. */
#include "internal.h"

static uint32_t load_of(const struct supervisor *s, const struct host *h)
{
    uint32_t load = 0;
    for (uint32_t i = 0; i < s->count; i++) load += s->child[i].host == h;
    return load;
}

/* At the beginning: rank by rank onto the hosts in their order, as many as each has slots. */
static struct host *first_place(const struct child *c)
{
    const struct supervisor *s = c->s;
    uint32_t used = s->o->hosts - s->o->spares, behind = 0;
    if (c->rank == HARK_RECOVERY) return &s->host[0];
    for (uint32_t i = 0; i < used; i++)
        if (c->rank < (behind += s->host[i].slots)) return &s->host[i];
    return NULL;
}

const char *hark_sup_first_host(const struct child *c)
{
    const struct host *h = c->s->host ? first_place(c) : NULL;
    return h ? h->name : NULL;
}

/* Later: all of a dead host's onto the same spare one, if there is any; else where least run. */
static struct host *next_place(const struct supervisor *s)
{
    struct host *best = NULL;
    for (uint32_t i = 0; i < s->o->hosts; i++) {
        struct host *h = &s->host[i];
        if (h->lost || !h->ready) continue;
        if (best == NULL || (h->spare && !best->spare) ||
            (h->spare == best->spare && load_of(s, h) < load_of(s, best)))
            best = h;
    }
    return best;
}

bool hark_sup_place(struct child *c)
{
    struct supervisor *s = c->s;
    struct host *was = c->host ? c->host : first_place(c),
                *h = was && was->lost ? next_place(s) : was; /* at the beginning it may live */
    if (h == NULL) {
        hark_sup_say("no host is left%s%s", s->o->store ? "; the job can be resumed from " : "",
            s->o->store ? s->o->store : "");
        hark_sup_end(s, 1);
        return false;
    }
    if (h == was) {
        c->host = h;
        return true;
    }
    const bool over = load_of(s, h) >= h->slots;
    hark_sup_say("host %s: its processes go to host %s%s", was->name, h->name,
        h->spare ? ", a spare one"
        : over   ? ", which has more processes than slots then"
                 : "");
    h->spare = false;
    if (h->slots == 0) h->slots = was->slots;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->child[i].host == was) s->child[i].host = h;
    c->host = h; /* if it had none */
    return true;
}
