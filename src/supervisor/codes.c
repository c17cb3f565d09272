/* codes.c: generations of codes over sets of hosts (--host-code): which images they protect, and
 * which of these can be rebuilt.
 *
 * A generation has the images of the processes of a set of hosts, as they were when it was made.
 * Any number of them may be there at once. One goes when none of its images is needed any more, or
 * a later one has those that are.
 */
#include "codes.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_there(const struct hark_generation_of_set *g, uint32_t i)
{
    const struct host *h = g->host[i];
    return g->part[i] == HARK_PART_THERE && h && h->ready && !h->lost && h->depot;
}

bool hark_sup_code_is_whole(const struct hark_generation_of_set *g)
{
    for (uint32_t i = 0; i < g->table.code.hosts; i++)
        if (!is_there(g, i)) return false;
    return g->made;
}

struct hark_generation_of_set *hark_sup_code_find(
    const struct supervisor *s, uint64_t number, uint64_t run)
{
    struct hark_generation_of_set *g = s->codes->first;
    while (g && !hark_coded_is(&g->table, number, run)) g = g->next;
    return g;
}

struct hark_generation_of_set *hark_sup_code_add(struct supervisor *s, struct hark_coded *table)
{
    struct hark_generation_of_set *g = calloc(1, sizeof *g);
    if (g == NULL) return NULL;
    g->table = *table;
    *table = (struct hark_coded){0};
    for (uint32_t i = 0; i < g->table.code.hosts; i++)
        for (uint32_t h = 0; h < s->o->hosts; h++)
            if (strcmp(s->host[h].name, g->table.host[i]) == 0) g->host[i] = &s->host[h];
    g->next = s->codes->first;
    return s->codes->first = g;
}

void hark_sup_code_say_drop(struct host *h, uint64_t number, uint64_t run)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_A_UNCODE);
    hark_control_put64(&m, number);
    hark_control_put64(&m, run);
    hark_sup_host_say(h, &m);
}

static void forget(struct supervisor *s, struct hark_generation_of_set *g)
{
    struct hark_generation_of_set **at = &s->codes->first;
    while (*at != g) at = &(*at)->next;
    *at = g->next;
    hark_coded_free(&g->table);
    free(g);
}

void hark_sup_code_drop(struct supervisor *s, struct hark_generation_of_set *g)
{
    for (uint32_t i = 0; i < g->table.code.hosts; i++)
        if (g->host[i] && g->host[i]->ready && !g->host[i]->lost)
            hark_sup_code_say_drop(g->host[i], g->table.number, g->table.run);
    forget(s, g);
}

bool hark_sup_code_covers(const struct supervisor *s, uint32_t rank, uint64_t id,
    const struct hark_generation_of_set *but)
{
    for (const struct hark_generation_of_set *g = s->codes->first; g; g = g->next) {
        if (but && (g == but || g->table.number < but->table.number)) continue;
        if (hark_sup_code_is_whole(g) && hark_coded_find(&g->table, rank, id)) return true;
    }
    return false;
}

/* ---- what can be rebuilt --------------------------------------------------------------------- */

/* The host whose image it is has nothing that would help. */
static bool can_rebuild(const struct hark_generation_of_set *g, const struct hark_coded_item *x)
{
    uint32_t there = 0;
    for (uint32_t i = 0; i < g->table.code.hosts; i++) there += i != x->host && is_there(g, i);
    return there >= g->table.code.hosts - g->table.code.parity;
}

/* The newest that can; NULL: none. */
static const struct hark_generation_of_set *best(
    const struct supervisor *s, uint32_t rank, uint64_t id, uint32_t *host)
{
    const struct hark_generation_of_set *found = NULL;
    for (const struct hark_generation_of_set *g = s->codes ? s->codes->first : NULL; g;
         g = g->next) {
        const struct hark_coded_item *x = hark_coded_find(&g->table, rank, id);
        if (x == NULL || !can_rebuild(g, x)) continue;
        if (found && found->table.number > g->table.number) continue;
        found = g;
        *host = x->host;
    }
    return found;
}

bool hark_sup_codes_have(const struct supervisor *s, uint32_t rank, uint64_t id)
{
    uint32_t host;
    return best(s, rank, id, &host) != NULL;
}

char *hark_sup_codes_place(const struct supervisor *s, uint32_t rank, uint64_t id)
{
    uint32_t host;
    const struct hark_generation_of_set *g = best(s, rank, id, &host);
    if (g == NULL) return NULL;
    const size_t room = 64 + (size_t)g->table.code.hosts * 80;
    char *place = realloc(s->codes->place, room);
    if (place == NULL) return NULL;
    s->codes->place = place;
    size_t at = (size_t)snprintf(
        place, room, HARK_AGENT_SET "%" PRIu64 ":%" PRIx64, g->table.number, g->table.run);
    for (uint32_t i = 0; i < g->table.code.hosts; i++)
        at += (size_t)snprintf(
            place + at, room - at, " %.78s", i != host && is_there(g, i) ? g->host[i]->depot : "-");
    return place;
}

/* ---- images that are others now -------------------------------------------------------------- */

void hark_sup_codes_anew(struct supervisor *s, uint32_t rank, uint64_t id)
{
    if (s->codes == NULL) return;
    s->codes->fresh[rank] = id;
    for (struct hark_generation_of_set *g = s->codes->first; g; g = g->next)
        for (uint32_t i = 0; i < g->table.items; i++)
            g->table.item[i].undone |= g->table.item[i].rank == rank && g->table.item[i].id == id;
}

void hark_sup_codes_abandon(struct supervisor *s, uint32_t rank)
{
    if (s->codes) s->codes->fresh[rank] = 0;
}

/* Their hosts hear of it, by UNDO, and must also know it when another run asks them. */
void hark_sup_codes_undo(struct supervisor *s, const uint8_t *member)
{
    for (uint32_t r = 0; s->codes && r < s->o->ranks; r++)
        if (member[r]) s->codes->fresh[r] = 0;
    for (struct hark_generation_of_set *g = s->codes ? s->codes->first : NULL; g; g = g->next)
        for (uint32_t i = 0; i < g->table.items; i++) {
            struct hark_coded_item *x = &g->table.item[i];
            if (x->undone || x->rank >= s->o->ranks || !member[x->rank] ||
                x->id <= s->child[x->rank].checkpoint)
                continue;
            x->undone = true;
        }
}

/* ---- begin and end --------------------------------------------------------------------------- */

bool hark_sup_codes_open(struct supervisor *s)
{
    const uint32_t hosts = s->o->hosts;
    struct hark_codes *c = s->codes = calloc(1, sizeof *c);
    if (c == NULL) return false;
    c->fresh = calloc(s->o->ranks, sizeof *c->fresh);
    c->chosen = calloc(hosts, sizeof *c->chosen);
    c->rack = calloc(hosts, sizeof *c->rack);
    c->set = calloc(hosts, sizeof *c->set);
    c->hosts_said = UINT32_MAX;
    randombytes_buf(&c->run, sizeof c->run);
    return c->fresh && c->chosen && c->rack && c->set;
}

void hark_sup_codes_close(struct supervisor *s)
{
    struct hark_codes *c = s->codes;
    if (c == NULL) return;
    while (c->first) forget(s, c->first);
    free(c->fresh);
    free(c->chosen);
    free(c->rack);
    free(c->set);
    free(c->place);
    free(c);
    s->codes = NULL;
}
