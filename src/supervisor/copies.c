/* copies.c: which host has which image, when images lie on the hosts' own disks (--host-store).
 *
 * A process writes its images to its own host. Before a checkpoint is decided as many hosts must
 * have each of them as --host-copies says, as long as so many live: so no death of fewer hosts
 * takes all. holders.c says which. What is asked for and has not come after a while is asked for
 * again, of another host.
 */
#include "internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../agent/lease.h"
#include "hark/registry.h"

struct hark_wave_waiting { /* a checkpoint that is decided when all its copies are there */
    struct hark_wave_waiting *next;
    struct child *said; /* by whom */
    struct hark_fact fact;
    uint64_t asked;               /* hark_lease_now() */
    uint32_t rounds;              /* how often copies were asked for */
    uint32_t rank;                /* of the one that was asked for last: */
    const struct host *from, *to; /* NULL: none was */
};
#define SAID_AFTER 2u /* rounds: then it is said that a copy does not come */

/* ---- who has what ---------------------------------------------------------------------------- */

static bool has(const struct hark_holdings *x, const struct host *h, uint64_t id)
{
    for (uint32_t i = 0; i < x->count; i++)
        if (x->at[i].id == id && x->at[i].host == h) return true;
    return false;
}

/* Forgets who has image `id`: all, or only that one. */
static void forget(struct hark_holdings *x, uint64_t id, const struct host *only)
{
    for (uint32_t i = 0; i < x->count;)
        if (x->at[i].id == id && (only == NULL || x->at[i].host == only))
            x->at[i] = x->at[--x->count];
        else i++;
}

void hark_sup_holds(struct host *h, uint32_t rank, uint64_t id, uint32_t whole, uint32_t round)
{
    struct supervisor *s = h->s;
    if (s->holdings == NULL || rank >= s->o->ranks || h->lost) return;
    if (!h->ready && (hark_sup_host_was_dead(h) || id > hark_sup_missed(h, rank))) return;
    struct hark_holdings *x = &s->holdings[rank];
    if (whole == HARK_HOLDS_GONE) forget(x, id, h);
    if (whole == HARK_HOLDS_UNSHARED) hark_sup_flush_gone(s, rank, id);
    if (round && round != x->round) return;
    if (whole == HARK_HOLDS_WHOLE && !has(x, h, id)) {
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
    hark_sup_codes_lose(h);
    hark_sup_flush_again(h);
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

bool hark_sup_has_own(const struct child *c)
{
    const struct supervisor *s = c->s;
    return s->holdings == NULL || c->checkpoint == 0 || c->rank >= s->o->ranks ||
           has(&s->holdings[c->rank], c->host, c->checkpoint);
}

uint32_t hark_sup_holders(const struct child *c, uint64_t id, char **address)
{
    const struct supervisor *s = c->s;
    static char here[] = "", shared[] = HARK_AGENT_SHARED;
    char *set;
    uint32_t count = 0;
    if (s->holdings && c->rank < s->o->ranks && has(&s->holdings[c->rank], c->host, id))
        address[count++] = here;
    for (uint32_t i = 0; s->holdings && c->rank < s->o->ranks && i < s->holdings[c->rank].count;
         i++) {
        struct hark_holding *x = &s->holdings[c->rank].at[i];
        if (x->id != id || x->host == c->host || x->host->lost || !x->host->depot) continue;
        if (count < HARK_SUP_HOLDERS - 2) address[count++] = x->host->depot;
    }
    if (c->rank < s->o->ranks && (set = hark_sup_codes_place(s, c->rank, id)) != NULL)
        address[count++] = set;
    if (c->rank < s->o->ranks && hark_sup_flush_has(s, c->rank, id)) address[count++] = shared;
    return count;
}

/* ---- as a store, of which the failure service asks whether an image is whole ------------------
 */

static int verify(struct hark_store *store, uint32_t rank, uint64_t id)
{
    struct supervisor *s =
        (struct supervisor *)(void *)((char *)store - offsetof(struct supervisor, copies));
    if (copies_of(s, rank, id, NULL) || hark_sup_codes_have(s, rank, id) ||
        hark_sup_flush_has(s, rank, id))
        return HARK_S_OK;
    snprintf(store->error, sizeof store->error,
        "checkpoint %llu of rank %u lies on no host that lives", (unsigned long long)id, rank);
    return HARK_S_ENONE;
}

static const struct hark_store_ops ops = {.name = "hosts", .verify = verify};

static bool make_ring(struct supervisor *s)
{
    const uint32_t hosts = s->o->hosts;
    uint32_t *numbers = calloc(hosts, 2 * sizeof *numbers);
    uint8_t *bytes = calloc(hosts, 2);
    s->holders = (struct hark_holders){hosts, numbers, numbers + hosts, bytes, bytes + hosts};
    if (numbers == NULL || bytes == NULL) return false;
    for (uint32_t i = 0; i < hosts; i++) /* the number of its first host */
        while (s->o->host[numbers[i]].rack != s->o->host[i].rack) numbers[i]++;
    return hark_holders_ring(&s->holders);
}

bool hark_sup_copies_open(struct supervisor *s)
{
    if (s->o->host_store == NULL) return true;
    s->copies.ops = &ops;
    s->holdings = calloc(s->o->ranks, sizeof *s->holdings);
    if (s->holdings && make_ring(s) && hark_sup_codes_open(s)) return true;
    hark_sup_say("no memory for a job");
    return false;
}

void hark_sup_copies_close(struct supervisor *s)
{
    for (uint32_t r = 0; s->holdings && r < s->o->ranks; r++) free(s->holdings[r].at);
    free(s->holdings);
    free(s->holders.rack);
    free(s->holders.flags);
    hark_sup_codes_close(s);
    while (s->waves) {
        struct hark_wave_waiting *w = s->waves;
        s->waves = w->next;
        free(w);
    }
}

/* ---- waves that wait for copies ---------------------------------------------------------------
 */

static bool can_hold(const struct host *h)
{
    return h->ready && !h->lost && h->depot;
}

/* Describes all hosts as they are to an image of `rank`. *kin: whose kin were found last; of one
 * wave there may be many ranks, and of its clusters few. */
static void describe(struct supervisor *s, uint32_t rank, uint64_t id, uint32_t *kin)
{
    const bool same = *kin < s->o->ranks && hark_service_mates(core_of(s), *kin, rank);
    for (uint32_t i = 0; i < s->o->hosts; i++) {
        const uint8_t kept = same ? s->holders.flags[i] & HARK_HOLDERS_KIN : 0;
        s->holders.flags[i] = kept | (can_hold(&s->host[i]) ? HARK_HOLDERS_LIVES : 0);
    }
    for (uint32_t i = 0; i < s->holdings[rank].count; i++) {
        const struct hark_holding *x = &s->holdings[rank].at[i];
        if (x->id == id) s->holders.flags[x->host->number] |= HARK_HOLDERS_HAS;
    }
    for (uint32_t r = 0; !same && r < s->o->ranks; r++)
        if (s->child[r].host && hark_service_mates(core_of(s), r, rank))
            s->holders.flags[s->child[r].host->number] |= HARK_HOLDERS_KIN;
    *kin = rank;
}

static void say_one_rack(struct supervisor *s)
{
    if (s->rack_said || !hark_holders_one_rack(&s->holders)) return;
    s->rack_said = true;
    hark_sup_say("all hosts that live are in one rack: with it all copies of checkpoints would be "
                 "lost");
}

static bool is_of(const struct supervisor *s, const struct hark_wave_waiting *w, uint32_t rank)
{
    return hark_service_same_wave(core_of(s), rank, w->fact.rank);
}

/* How many hosts are to have each image, as few as live. */
static uint32_t needed(struct supervisor *s)
{
    uint32_t living = 0;
    for (uint32_t i = 0; i < s->o->hosts; i++) living += can_hold(&s->host[i]);
    return living < s->o->host_copies ? living : s->o->host_copies;
}

/* Asks for as many copies of its image as are missing. */
static void ask(struct supervisor *s, struct hark_wave_waiting *w, uint32_t rank, uint32_t *kin)
{
    struct host *from = NULL;
    const uint32_t have = copies_of(s, rank, w->fact.id, &from), want = needed(s);
    if (from == NULL) return; /* it is lost: so is its process, and then the wave */
    describe(s, rank, w->fact.id, kin);
    say_one_rack(s);
    for (uint32_t n = have; n < want; n++) {
        const uint32_t to =
            hark_holders_next(&s->holders, s->child[rank].host->number, n == have ? w->rounds : 0);
        if (to == HARK_HOLDERS_NONE) return;
        s->holders.flags[to] |= HARK_HOLDERS_HAS;
        w->from = from;
        w->to = &s->host[to];
        w->rank = rank;
        struct hark_control m;
        hark_control_begin(&m, HARK_A_COPY);
        hark_control_put32(&m, rank);
        hark_control_put64(&m, w->fact.id);
        hark_control_puts(&m, s->host[to].depot, strlen(s->host[to].depot));
        hark_control_put32(&m, s->holdings[rank].round);
        hark_sup_host_say(from, &m);
    }
}

/* Has nobody an image of it? Its host has just been lost, and the death of its process, which
 * follows, drops the wave. */
static bool is_lost(const struct supervisor *s, const struct hark_wave_waiting *w)
{
    for (uint32_t r = 0; r < s->o->ranks; r++)
        if (is_of(s, w, r) && copies_of(s, r, w->fact.id, NULL) == 0) return true;
    return false;
}

/* Are copies missing? Of an image that is lost there will be none. */
static bool lacks(struct supervisor *s, const struct hark_wave_waiting *w)
{
    const uint32_t want = needed(s);
    for (uint32_t r = 0; r < s->o->ranks; r++) {
        const uint32_t have = is_of(s, w, r) ? copies_of(s, r, w->fact.id, NULL) : 0;
        if (have && (have < want || hark_sup_codes_lack(s, r, w->fact.id))) return true;
    }
    return false;
}

static void ask_all(struct supervisor *s, struct hark_wave_waiting *w)
{
    const uint32_t want = needed(s);
    uint32_t kin = UINT32_MAX;
    for (uint32_t r = 0; r < s->o->ranks; r++)
        if (is_of(s, w, r) && copies_of(s, r, w->fact.id, NULL) < want) ask(s, w, r, &kin);
}

/* Each has just written its own. A checkpoint of the same number that was undone may have left
 * copies, or have some on their way: they are none of this one. */
static void begin_round(struct supervisor *s, uint32_t rank, uint64_t id)
{
    struct hark_holdings *x = &s->holdings[rank];
    forget(x, id, NULL);
    hark_sup_codes_anew(s, rank, id);
    x->round++;
    if (s->child[rank].host)
        hark_sup_holds(s->child[rank].host, rank, id, HARK_HOLDS_WHOLE, x->round);
}

/* The run before has decided it, and had not answered; or it is of a past epoch. */
static bool is_answered(const struct supervisor *s, const struct hark_fact *fact)
{
    return fact->re != hark_service_epoch(core_of(s)) || fact->rank >= s->o->ranks ||
           fact->id <= hark_service_wave(core_of(s), fact->rank, 0);
}

bool hark_sup_wave_waits(struct child *c, const struct hark_fact *fact)
{
    struct supervisor *s = c->s;
    if (s->holdings && is_answered(s, fact)) return false; /* no copies are made anew */
    struct hark_wave_waiting *w = s->holdings ? calloc(1, sizeof *w) : NULL, **at = &s->waves;
    if (w == NULL) return false;
    *w = (struct hark_wave_waiting){.said = c, .fact = *fact, .asked = hark_lease_now()};
    for (uint32_t r = 0; r < s->o->ranks; r++)
        if (is_of(s, w, r)) begin_round(s, r, fact->id);
    if (!is_lost(s, w) && !lacks(s, w) && !hark_sup_flush_ends(s)) {
        free(w);
        return false;
    }
    ask_all(s, w);
    hark_sup_codes_work(s);
    while (*at) at = &(*at)->next; /* in the order in which they were said */
    *at = w;
    return true;
}

bool hark_sup_wave_ready(struct supervisor *s, struct child **c, struct hark_fact *fact)
{
    for (struct hark_wave_waiting **at = &s->waves; *at; at = &(*at)->next) {
        struct hark_wave_waiting *w = *at;
        if (is_lost(s, w) || lacks(s, w) || hark_sup_flush_ends(s)) continue;
        *c = w->said;
        *fact = w->fact;
        *at = w->next;
        free(w);
        if (s->waves == NULL) s->waits_said = false;
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
        for (uint32_t r = 0; gone && r < s->o->ranks; r++)
            if (is_of(s, w, r)) hark_sup_codes_abandon(s, r);
        if (gone) {
            *at = w->next;
            free(w);
        } else {
            at = &w->next;
        }
    }
}

/* Hosts that both live, and do not reach each other: the program may not notice, and takes no
 * checkpoint any more. */
static void say_waits(struct supervisor *s, const struct hark_wave_waiting *w, uint64_t patience)
{
    if (s->waits_said || w->rounds < SAID_AFTER || w->from == NULL ||
        copies_of(s, w->rank, w->fact.id, NULL) >= needed(s))
        return;
    s->waits_said = true;
    hark_sup_say("host %s: a copy of checkpoint %" PRIu64
                 " of rank %u has not come from there to host %s in %.0f s; checkpoints wait for "
                 "it",
        w->from->name, w->fact.id, w->rank, w->to->name, (double)(w->rounds * patience) / 1e9);
}

void hark_sup_waves_look(struct supervisor *s)
{
    const uint64_t now = hark_lease_now(), patience = s->o->host_timeout_ms * UINT64_C(1000000);
    for (struct hark_wave_waiting *w = s->waves; w; w = w->next) {
        if (now - w->asked < patience) continue;
        w->asked = now;
        w->rounds++;
        say_waits(s, w, patience);
        ask_all(s, w);
        s->waves_due = true; /* perhaps nobody can have one any more */
    }
    hark_sup_codes_look(s);
}

/* Forgets those of the rank behind `above`. */
static void forget_above(struct hark_holdings *x, uint64_t above)
{
    for (uint32_t i = 0; i < x->count;)
        if (x->at[i].id > above) x->at[i] = x->at[--x->count];
        else i++;
}

static void put_undone(struct hark_control *m, const struct supervisor *s, uint32_t r, uint64_t at)
{
    hark_control_put32(m, r);
    hark_control_put64(m, at);
    hark_control_put32(m, s->holdings[r].round);
}

/* They go back: what was written behind their checkpoints is undone. Other images will bear these
 * numbers. All hosts hear of it: a copy may be on its way to one that has none yet. */
void hark_sup_copies_undo(struct supervisor *s, const uint8_t *member)
{
    hark_sup_flush_undo(s, member);
    hark_sup_codes_undo(s, member);
    hark_sup_missed_undo(s, member);
    for (uint32_t i = 0; s->holdings && i < s->o->hosts; i++) {
        struct hark_control m;
        if (!can_hold(&s->host[i])) continue;
        hark_control_begin(&m, HARK_A_UNDO);
        for (uint32_t r = 0; r < s->o->ranks; r++)
            if (member[r]) put_undone(&m, s, r, s->child[r].checkpoint);
        hark_sup_host_say(&s->host[i], &m);
        s->host[i].undone_at = s->host[i].session.said;
    }
    for (uint32_t r = 0; s->holdings && r < s->o->ranks; r++)
        if (member[r]) forget_above(&s->holdings[r], s->child[r].checkpoint);
}

static void undo_there(struct host *h, uint64_t (*above)(const struct host *h, uint32_t rank))
{
    struct supervisor *s = h->s;
    bool any = false;
    struct hark_control m;
    if (s->holdings == NULL) return;
    hark_control_begin(&m, HARK_A_UNDO);
    for (uint32_t r = 0; r < s->o->ranks; r++) {
        const uint64_t at = above(h, r);
        if (at != UINT64_MAX) put_undone(&m, s, r, at);
        any |= at != UINT64_MAX;
    }
    if (any) hark_sup_host_say(h, &m);
    else hark_control_free(&m);
    if (any) h->undone_at = h->session.said;
}

static uint64_t nothing(const struct host *h, uint32_t rank)
{
    (void)h, (void)rank;
    return 0;
}

/* It was dead meanwhile, and what it has may be undone. */
void hark_sup_copies_none(struct host *h)
{
    undo_there(h, nothing);
}

void hark_sup_copies_missed(struct host *h)
{
    undo_there(h, hark_sup_missed);
}

/* Decided: images before `oldest` are needed no more. A process drops its own. */
void hark_sup_copies_drop(struct supervisor *s, const struct hark_fact *fact)
{
    hark_sup_codes_decided(s, fact);
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
