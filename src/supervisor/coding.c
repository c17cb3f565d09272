/* coding.c: codes over sets of hosts are made (--host-code).
 *
 * The hosts that run processes are dealt out into sets. A set whose hosts have an image that is to
 * be protected and is not gets a new generation, of all images of the set that are current, one
 * generation at a time. A checkpoint may be decided when all of its images are protected. So
 * checkpoints that wait meanwhile share the next generation, and it does not matter which processes
 * take theirs together. After a death the same brings all images into sets of hosts that live.
 */
#include "code_sets.h"
#include "codes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../agent/lease.h"
#include "hark/registry.h"

#define TRY_NS UINT64_C(100000000) /* after one that could not be made; twice as long each time */

/* ---- what is to be protected ----------------------------------------------------------------- */

/* Of a code only the last image is of use: whoever goes back goes back to that. */
static uint64_t newest_of(const struct supervisor *s, uint32_t rank)
{
    const uint64_t fresh = s->codes->fresh[rank];
    return fresh ? fresh : hark_service_wave(core_of(s), rank, 0);
}

/* Is it of use? */
static bool is_needed(const struct supervisor *s, uint32_t rank, uint64_t id)
{
    return id == newest_of(s, rank) || id == hark_service_wave(core_of(s), rank, 0);
}

static bool lives(const struct host *h)
{
    return h->ready && !h->lost && h->depot;
}

/* ---- sets ------------------------------------------------------------------------------------ */

/* Hosts that run processes; if these are too few for a set, spare ones too. */
static uint32_t choose(struct supervisor *s)
{
    struct hark_codes *c = s->codes;
    const uint32_t least = s->o->host_code.hosts;
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->o->hosts; i++) c->set[i] = 0; /* 1: it runs some */
    for (uint32_t r = 0; r < s->o->ranks; r++)
        if (s->child[r].host) c->set[s->child[r].host->number] = 1;
    for (uint32_t i = 0; i < s->o->hosts; i++)
        if (c->set[i] && lives(&s->host[i])) c->chosen[count++] = &s->host[i];
    for (uint32_t i = 0; i < s->o->hosts && count && count < least; i++)
        if (!c->set[i] && lives(&s->host[i])) c->chosen[count++] = &s->host[i];
    for (uint32_t i = 0; i < count; i++) c->rack[i] = s->o->host[c->chosen[i]->number].rack;
    return count;
}

static struct hark_code code_of(const struct supervisor *s, uint32_t hosts)
{
    const uint32_t parity = s->o->host_code.parity;
    return (struct hark_code){hosts, parity < hosts ? parity : hosts - 1};
}

static void say_fewer(struct supervisor *s, uint32_t hosts)
{
    const uint32_t least = s->o->host_code.hosts, parity = s->o->host_code.parity,
                   said = s->codes->hosts_said, shown = hosts < least ? hosts : least;
    const struct hark_code now = code_of(s, shown);
    s->codes->hosts_said = shown;
    if (said == shown || (said == UINT32_MAX && shown == least)) return;
    if (shown == least) hark_sup_say("checkpoints are coded %u+%u again", least - parity, parity);
    else if (shown < 2)
        hark_sup_say("one host lives: checkpoints are on its disk only, and lost with it");
    else
        hark_sup_say("%u hosts live: checkpoints are coded %u+%u from now on, not %u+%u", hosts,
            now.hosts - now.parity, now.parity, least - parity, parity);
}

static void say_rack(struct supervisor *s, uint32_t together, uint32_t count)
{
    bool several = false;
    for (uint32_t i = 0; i < count; i++) several |= s->codes->rack[i] != s->codes->rack[0];
    if (s->codes->rack_said || !several || together <= s->o->host_code.parity) return;
    s->codes->rack_said = true;
    hark_sup_say(
        "a rack has %u hosts of a set: if all of it dies, more is lost than %u+%u survives",
        together, s->o->host_code.hosts - s->o->host_code.parity, s->o->host_code.parity);
}

/* ---- a generation is made -------------------------------------------------------------------- */

static bool add_items(struct supervisor *s, struct hark_coded *g, const struct host *h)
{
    for (uint32_t r = 0; r < s->o->ranks; r++) {
        const struct hark_holdings *x = &s->holdings[r];
        const uint64_t newest = s->child[r].host == h ? newest_of(s, r) : 0;
        for (uint32_t i = 0; newest && i < x->count; i++) {
            if (x->at[i].host != h || x->at[i].id != newest) continue;
            if (!hark_coded_add(g,
                    &(struct hark_coded_item){.host = g->code.hosts, .rank = r, .id = x->at[i].id}))
                return false;
        }
    }
    return true;
}

/* Each hears which of the hosts it is. */
static void say_all(struct hark_generation_of_set *g, uint16_t type)
{
    for (uint32_t i = 0; i < g->table.code.hosts; i++) {
        struct hark_control m;
        hark_control_begin(&m, type);
        g->table.me = i;
        hark_coded_put(&m, &g->table);
        for (uint32_t k = 0; type == HARK_A_CODE && k < g->table.code.hosts; k++)
            hark_control_puts(&m, g->host[k]->depot, strlen(g->host[k]->depot));
        hark_sup_host_say(g->host[i], &m);
    }
}

/* Of the set, of `count` that were chosen. */
static void begin(struct supervisor *s, uint32_t set, uint32_t count)
{
    struct hark_codes *c = s->codes;
    struct hark_coded table = {.number = c->number + 1, .run = c->run};
    bool ok = true;
    for (uint32_t i = 0; i < count && ok; i++) {
        if (c->set[i] != set) continue;
        ok = table.code.hosts < HARK_CODE_MOST && add_items(s, &table, c->chosen[i]) &&
             (table.host[table.code.hosts] = strdup(c->chosen[i]->name)) != NULL;
        table.code.hosts++;
    }
    if (ok && table.items) {
        table.code = code_of(s, table.code.hosts);
        struct hark_generation_of_set *g = hark_sup_code_add(s, &table);
        if (g) {
            c->number++;
            say_all(g, HARK_A_CODE);
        }
    }
    hark_coded_free(&table);
}

static bool is_busy(const struct supervisor *s, const struct host *h)
{
    for (const struct hark_generation_of_set *g = s->codes->first; g; g = g->next)
        for (uint32_t i = 0; !g->made && i < g->table.code.hosts; i++)
            if (g->host[i] == h) return true;
    return false;
}

/* Has the rank an image there that is current, and in no code? Those of a recovery that is on wait
 * for its end, unless a checkpoint waits for them. */
static bool lacks_some(const struct supervisor *s, uint32_t rank)
{
    const struct hark_holdings *x = &s->holdings[rank];
    const uint64_t newest = newest_of(s, rank);
    if (s->codes->fresh[rank] == 0 && hark_service_down(core_of(s))) return false;
    for (uint32_t i = 0; i < x->count; i++)
        if (x->at[i].host == s->child[rank].host && x->at[i].id == newest &&
            !hark_sup_code_covers(s, rank, newest, NULL))
            return true;
    return false;
}

void hark_sup_codes_work(struct supervisor *s)
{
    struct hark_codes *c = s->codes;
    uint32_t together;
    if (c == NULL || s->o->host_code.hosts == 0 || s->phase == ENDING || s->takes_over) return;
    if (c->failed && hark_lease_now() < c->try_at) return;
    const uint32_t count = choose(s);
    if (count) say_fewer(s, count);
    if (count < 2) return;
    const uint32_t sets = hark_code_sets(c->rack, count, s->o->host_code.hosts, c->set, &together);
    say_rack(s, together, count);
    for (uint32_t set = 0; set < sets; set++) {
        bool busy = false, needs = false;
        for (uint32_t i = 0; i < count; i++) {
            if (c->set[i] != set) continue;
            busy |= is_busy(s, c->chosen[i]);
            for (uint32_t r = 0; r < s->o->ranks && !needs && !busy; r++)
                needs = s->child[r].host == c->chosen[i] && lacks_some(s, r);
        }
        if (needs && !busy) begin(s, set, count);
    }
}

bool hark_sup_codes_lack(const struct supervisor *s, uint32_t rank, uint64_t id)
{
    uint32_t living = 0;
    if (s->codes == NULL || s->o->host_code.hosts == 0) return false;
    for (uint32_t i = 0; i < s->o->hosts; i++) living += lives(&s->host[i]);
    return living > 1 && !hark_sup_code_covers(s, rank, id, NULL);
}

/* Mostly an image was dropped meanwhile, and the next one succeeds; a disk that is full stays so.
 */
static void give_up(struct supervisor *s, struct hark_generation_of_set *g)
{
    struct hark_codes *c = s->codes;
    c->try_at = hark_lease_now() + (TRY_NS << (c->failed < 6 ? c->failed : 6));
    c->failed++;
    hark_sup_code_drop(s, g);
}

void hark_sup_codes_look(struct supervisor *s)
{
    hark_sup_codes_work(s);
}

/* ---- what none needs goes -------------------------------------------------------------------- */

static bool is_of_use(const struct supervisor *s, const struct hark_generation_of_set *g)
{
    for (uint32_t i = 0; i < g->table.items; i++) {
        const struct hark_coded_item *x = &g->table.item[i];
        if (!x->undone && x->rank < s->o->ranks && is_needed(s, x->rank, x->id) &&
            !hark_sup_code_covers(s, x->rank, x->id, g))
            return true;
    }
    return false;
}

static void tidy(struct supervisor *s)
{
    for (struct hark_generation_of_set *g = s->codes->first, *next; g; g = next) {
        next = g->next;
        if (g->made && !is_of_use(s, g)) hark_sup_code_drop(s, g);
    }
}

void hark_sup_codes_decided(struct supervisor *s, const struct hark_fact *fact)
{
    for (uint32_t r = 0; s->codes && r < s->o->ranks; r++) {
        if (!hark_service_same_wave(core_of(s), r, fact->rank)) continue;
        if (s->codes->fresh[r] <= fact->id) s->codes->fresh[r] = 0;
    }
    if (s->codes) tidy(s);
}

/* ---- what agents say ------------------------------------------------------------------------- */

static uint32_t place_of(const struct hark_generation_of_set *g, const struct host *h)
{
    uint32_t i = 0;
    while (i < g->table.code.hosts && g->host[i] != h) i++;
    return i;
}

/* Those that their processes had dropped already. */
static void leave_out_gone(struct hark_coded *g)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->items; i++)
        if (g->item[i].length) g->item[kept++] = g->item[i];
    g->items = kept;
}

static void on_prepared(struct host *h, struct hark_generation_of_set *g, struct hark_control *m)
{
    const uint32_t me = place_of(g, h);
    bool all = true;
    for (uint32_t i = 0; i < g->table.items; i++) {
        struct hark_coded_item *x = &g->table.item[i];
        uint32_t length;
        if (x->host != me) continue;
        x->length = hark_control_get64(m);
        const uint8_t *sum = hark_control_get_bytes(m, &length);
        if (m->bad || length != HARK_CODED_SUM) return;
        memcpy(x->sum, sum, HARK_CODED_SUM);
    }
    g->part[me] = HARK_PART_PREPARED;
    for (uint32_t i = 0; i < g->table.code.hosts; i++) all &= g->part[i] == HARK_PART_PREPARED;
    if (!all) return;
    leave_out_gone(&g->table);
    say_all(g, HARK_A_COMBINE);
}

static void on_there(struct host *h, struct hark_generation_of_set *g)
{
    struct supervisor *s = h->s;
    g->part[place_of(g, h)] = HARK_PART_THERE;
    g->made = true;
    for (uint32_t i = 0; i < g->table.code.hosts; i++) g->made &= g->part[i] == HARK_PART_THERE;
    if (!g->made) return;
    s->codes->failed = 0;
    s->waves_due = s->waves != NULL;
    tidy(s);
    hark_sup_codes_work(s);
}

static void on_coded(struct host *h, struct hark_generation_of_set *g, uint32_t status)
{
    if (status == HARK_CODED && !g->made) on_there(h, g);
    else if (status != HARK_CODED && !g->made) give_up(h->s, g);
    else if (status == HARK_CODED_GONE) g->part[place_of(g, h)] = HARK_PART_GONE;
}

static void on_spoilt(struct hark_generation_of_set *g, struct hark_control *m)
{
    const uint32_t rank = hark_control_get32(m);
    const uint64_t id = hark_control_get64(m);
    for (uint32_t i = 0; i < g->table.items && !m->bad; i++)
        g->table.item[i].undone |= g->table.item[i].rank == rank && g->table.item[i].id == id;
}

/* Codes that a host has of an earlier run. Those that were dead in this one may have missed that it
 * was dropped. */
static void on_listed(struct host *h, struct hark_control *m)
{
    struct supervisor *s = h->s;
    struct hark_coded table;
    if (!hark_coded_get(m, &table)) {
        hark_coded_free(&table);
        return;
    }
    const uint32_t me = table.me;
    struct hark_generation_of_set *g = hark_sup_code_find(s, table.number, table.run);
    if (hark_sup_host_was_dead(h)) hark_sup_code_say_drop(h, table.number, table.run);
    else if (g == NULL) g = hark_sup_code_add(s, &table);
    if (hark_sup_host_was_dead(h) || g == NULL || me >= g->table.code.hosts) {
        hark_coded_free(&table);
        return;
    }
    if (g->table.number > s->codes->number) s->codes->number = g->table.number;
    for (uint32_t i = 0; i < g->table.items; i++) {
        struct hark_coded_item *x = &g->table.item[i];
        x->undone |= i < table.items && table.item[i].undone;
        x->undone |= x->rank >= s->o->ranks || x->id > hark_sup_missed(h, x->rank);
    }
    for (uint32_t i = 0; !g->made && i < g->table.code.hosts; i++)
        g->part[i] = HARK_PART_GONE; /* until they say that they have it */
    g->made = true;
    g->host[me] = h;
    g->part[me] = HARK_PART_THERE;
    hark_coded_free(&table);
}

void hark_sup_codes_said(struct host *h, struct hark_control *m)
{
    struct supervisor *s = h->s;
    if (s->codes == NULL || h->lost) return;
    if (m->type == HARK_A_CODES) {
        on_listed(h, m);
        return;
    }
    const uint64_t number = hark_control_get64(m), run = hark_control_get64(m);
    struct hark_generation_of_set *g = m->bad ? NULL : hark_sup_code_find(s, number, run);
    if (g == NULL || (m->type != HARK_A_SPOILT && place_of(g, h) == g->table.code.hosts)) return;
    if (m->type == HARK_A_PREPARED && !g->made) on_prepared(h, g, m);
    if (m->type == HARK_A_CODED) on_coded(h, g, hark_control_get32(m));
    if (m->type == HARK_A_SPOILT) on_spoilt(g, m);
}

/* It is dead; if it comes back, what it has is not used. */
void hark_sup_codes_lose(const struct host *h)
{
    struct supervisor *s = h->s;
    for (struct hark_generation_of_set *g = s->codes ? s->codes->first : NULL, *next; g; g = next) {
        const uint32_t i = place_of(g, h);
        next = g->next;
        if (i == g->table.code.hosts) continue;
        g->part[i] = HARK_PART_GONE;
        if (!g->made) hark_sup_code_drop(s, g);
    }
}
