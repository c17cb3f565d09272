/* copies.c: which host has which image, when images lie on the hosts' own disks (--host-store).
 *
 * A process writes its images to its own host. Before a checkpoint is decided each of them must lie
 * on another host too, as long as another one lives: so no death of one host takes both. What is
 * asked for and has not come after a while is asked for again, of another host.
 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../agent/lease.h"
#include "hark/registry.h"

struct hark_holding {
    uint64_t id;
    struct host *host;
};

struct hark_wave_waiting { /* a checkpoint that is decided when all its images lie on two hosts */
    struct hark_wave_waiting *next;
    struct child *said; /* by whom */
    struct hark_fact fact;
    uint64_t asked;  /* hark_lease_now() */
    uint32_t rounds; /* how often copies were asked for */
};

/* ---- who has what ---------------------------------------------------------------------------- */

static bool has(const struct hark_holdings *x, const struct host *h, uint64_t id)
{
    for (uint32_t i = 0; i < x->count; i++)
        if (x->at[i].id == id && x->at[i].host == h) return true;
    return false;
}

void hark_sup_holds(struct host *h, uint32_t rank, uint64_t id, bool whole)
{
    struct supervisor *s = h->s;
    if (s->holdings == NULL || rank >= s->o->ranks || h->lost) return;
    struct hark_holdings *x = &s->holdings[rank];
    if (whole && !has(x, h, id)) {
        struct hark_holding *more = realloc(x->at, (x->count + 1) * sizeof *more);
        if (more == NULL) {
            hark_sup_no_memory(s, "what hosts have");
            return;
        }
        x->at = more;
        more[x->count++] = (struct hark_holding){id, h};
    }
    s->waves_due = s->waves != NULL;
}

void hark_sup_holds_nothing(struct host *h)
{
    for (uint32_t r = 0; h->s->holdings && r < h->s->o->ranks; r++) {
        struct hark_holdings *x = &h->s->holdings[r];
        for (uint32_t i = 0; i < x->count;)
            if (x->at[i].host == h) x->at[i] = x->at[--x->count];
            else i++;
    }
}

/* On how many living hosts does the image lie? *one of them. */
static uint32_t copies_of(const struct supervisor *s, uint32_t rank, uint64_t id, struct host **one)
{
    const struct hark_holdings *x = &s->holdings[rank];
    uint32_t count = 0;
    for (uint32_t i = 0; i < x->count; i++) {
        if (x->at[i].id != id || x->at[i].host->lost) continue;
        if (count++ == 0 && one) *one = x->at[i].host;
    }
    return count;
}

uint32_t hark_sup_holders(const struct child *c, uint64_t id, char **address)
{
    const struct supervisor *s = c->s;
    uint32_t count = 0;
    for (uint32_t i = 0; s->holdings && c->rank < s->o->ranks && i < s->holdings[c->rank].count;
         i++) {
        struct hark_holding *x = &s->holdings[c->rank].at[i];
        if (x->id != id || x->host == c->host || x->host->lost || !x->host->depot) continue;
        if (count < HARK_SUP_HOLDERS) address[count++] = x->host->depot;
    }
    return count;
}

/* ---- as a store, of which the failure service asks whether an image is whole ------------------
 */

static int verify(struct hark_store *store, uint32_t rank, uint64_t id)
{
    struct supervisor *s =
        (struct supervisor *)(void *)((char *)store - offsetof(struct supervisor, copies));
    if (copies_of(s, rank, id, NULL)) return HARK_S_OK;
    snprintf(store->error, sizeof store->error,
        "checkpoint %llu of rank %u lies on no host that lives", (unsigned long long)id, rank);
    return HARK_S_ENONE;
}

static const struct hark_store_ops ops = {.name = "hosts", .verify = verify};

bool hark_sup_copies_open(struct supervisor *s)
{
    if (s->o->host_store == NULL) return true;
    s->copies.ops = &ops;
    s->holdings = calloc(s->o->ranks, sizeof *s->holdings);
    if (s->holdings) return true;
    hark_sup_say("no memory for a job");
    return false;
}

void hark_sup_copies_close(struct supervisor *s)
{
    for (uint32_t r = 0; s->holdings && r < s->o->ranks; r++) free(s->holdings[r].at);
    free(s->holdings);
    while (s->waves) {
        struct hark_wave_waiting *w = s->waves;
        s->waves = w->next;
        free(w);
    }
}

/* ---- waves that wait for copies ---------------------------------------------------------------
 */

/* The n-th living host behind `h`, in the ring of all; NULL: there is no other one. */
static struct host *partner_of(const struct supervisor *s, const struct host *h, uint32_t n)
{
    uint32_t others = 0;
    for (uint32_t i = 0; i < s->o->hosts; i++)
        others += &s->host[i] != h && s->host[i].ready && !s->host[i].lost && s->host[i].depot;
    if (others == 0) return NULL;
    n %= others;
    for (uint32_t i = h->number + 1;; i++) {
        struct host *x = &s->host[i % s->o->hosts];
        if (x == h || !x->ready || x->lost || !x->depot) continue;
        if (n-- == 0) return x;
    }
}

static bool is_of(const struct supervisor *s, const struct hark_wave_waiting *w, uint32_t rank)
{
    return hark_service_same_wave(core_of(s), rank, w->fact.rank);
}

/* Asks for each copy that is missing; how many that are. */
static uint32_t ask(struct supervisor *s, struct hark_wave_waiting *w, bool say)
{
    uint32_t missing = 0;
    for (uint32_t r = 0; r < s->o->ranks; r++) {
        struct host *from = NULL;
        if (!is_of(s, w, r) || copies_of(s, r, w->fact.id, &from) >= 2) continue;
        struct host *to = from ? partner_of(s, from, w->rounds) : NULL;
        if (to == NULL) continue; /* nobody can have one more */
        missing++;
        if (!say) continue;
        struct hark_control m;
        hark_control_begin(&m, HARK_A_COPY);
        hark_control_put32(&m, r);
        hark_control_put64(&m, w->fact.id);
        hark_control_puts(&m, to->depot, strlen(to->depot));
        hark_sup_host_say(from, &m);
    }
    return missing;
}

bool hark_sup_wave_waits(struct child *c, const struct hark_fact *fact)
{
    struct supervisor *s = c->s;
    struct hark_wave_waiting *w = s->holdings ? calloc(1, sizeof *w) : NULL, **at = &s->waves;
    if (w == NULL) return false;
    *w = (struct hark_wave_waiting){.said = c, .fact = *fact, .asked = hark_lease_now()};
    for (uint32_t r = 0; r < s->o->ranks; r++) /* each has written its own */
        if (is_of(s, w, r) && s->child[r].host) hark_sup_holds(s->child[r].host, r, fact->id, true);
    if (ask(s, w, true) == 0) {
        free(w);
        return false;
    }
    while (*at) at = &(*at)->next; /* in the order in which they were said */
    *at = w;
    return true;
}

bool hark_sup_wave_ready(struct supervisor *s, struct child **c, struct hark_fact *fact)
{
    for (struct hark_wave_waiting **at = &s->waves; *at; at = &(*at)->next) {
        struct hark_wave_waiting *w = *at;
        if (ask(s, w, false)) continue;
        *c = w->said;
        *fact = w->fact;
        *at = w->next;
        free(w);
        return true;
    }
    s->waves_due = false;
    return false;
}

/* Those that go back abandon the wave in which they were. */
void hark_sup_waves_drop(struct supervisor *s, const uint8_t *member)
{
    for (struct hark_wave_waiting **at = &s->waves; *at;) {
        struct hark_wave_waiting *w = *at;
        bool gone = false;
        for (uint32_t r = 0; r < s->o->ranks; r++) gone |= member[r] && is_of(s, w, r);
        if (gone) {
            *at = w->next;
            free(w);
        } else {
            at = &w->next;
        }
    }
}

void hark_sup_waves_look(struct supervisor *s)
{
    const uint64_t now = hark_lease_now(), patience = s->o->host_timeout_ms * UINT64_C(1000000);
    for (struct hark_wave_waiting *w = s->waves; w; w = w->next) {
        if (now - w->asked < patience) continue;
        w->asked = now;
        w->rounds++;
        (void)ask(s, w, true);
        s->waves_due = true; /* perhaps nobody can have one any more */
    }
}

/* Decided: images before `oldest` are needed no more. A process drops its own. */
void hark_sup_copies_drop(struct supervisor *s, const struct hark_fact *fact)
{
    for (uint32_t r = 0; s->holdings && fact->oldest && r < s->o->ranks; r++) {
        struct hark_holdings *x = &s->holdings[r];
        if (!hark_service_same_wave(core_of(s), r, fact->rank)) continue;
        for (uint32_t i = 0; i < x->count;) {
            struct host *h = x->at[i].host;
            if (x->at[i].id >= fact->oldest) {
                i++;
                continue;
            }
            x->at[i] = x->at[--x->count];
            if (h == s->child[r].host || h->lost) continue;
            struct hark_control m;
            hark_control_begin(&m, HARK_A_DROP);
            hark_control_put32(&m, r);
            hark_control_put64(&m, fact->oldest);
            hark_sup_host_say(h, &m);
        }
    }
}
