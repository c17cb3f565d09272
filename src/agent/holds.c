/* holds.c: which images this host has: what hark run hears of them, and which of them came as
 * copies.
 */
#include "depot.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "hark/store.h"

void hark_depot_name(char name[64], uint32_t rank, uint64_t id)
{
    snprintf(name, 64, "r%u/%llu", rank, (unsigned long long)id);
}

/* ---- what hark run hears of it --------------------------------------------------------------- */

static void say_holds(
    struct agent *a, uint32_t rank, uint64_t id, enum hark_agent_holds whole, uint32_t round)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_A_HOLDS);
    hark_control_put32(&m, rank);
    hark_control_put64(&m, id);
    hark_control_put32(&m, whole);
    hark_control_put32(&m, round);
    hark_agent_say(a, &m);
}

void hark_depot_holds(
    struct agent *a, uint32_t rank, uint64_t id, enum hark_agent_holds whole, uint32_t round)
{
    say_holds(a, rank, id, whole, round);
    if (round == 0) a->image_came(a, rank, id, whole == HARK_HOLDS_WHOLE);
}

void hark_depot_tell(struct agent *a, uint32_t rank, uint64_t id, enum hark_agent_holds whole)
{
    hark_depot_holds(a, rank, id, whole, 0);
}

/* The name goes while the file is open, which is quick, whatever its length. */
void hark_depot_remove(struct agent *a, uint32_t rank, uint64_t id)
{
    char name[64];
    hark_depot_name(name, rank, id);
    const int fd = openat(a->store_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    (void)a->store->ops->drop(a->store, rank, id);
    if (fd >= 0) hark_agent_close(&a->loop, fd);
}

void hark_depot_lacks(struct agent *a, uint32_t rank, uint64_t id, int status, const char *error)
{
    if (status == HARK_S_EDAMAGED) {
        hark_agent_say_line(a, HARK_A_SAY, "%s; another copy of it is looked for", error);
        hark_depot_remove(a, rank, id);
    }
    say_holds(a, rank, id, HARK_HOLDS_GONE, 0);
}

bool hark_depot_found(struct agent *a, uint32_t rank, uint64_t id, int status, const char *error)
{
    if (status == HARK_S_OK) return true;
    if (status != HARK_S_EDAMAGED)
        hark_agent_say_line(a, HARK_A_SAY, "%s; another copy of it is looked for", error);
    hark_depot_lacks(a, rank, id, status, error);
    return false;
}

/* ---- copies that were put here --------------------------------------------------------------- */

/* Without memory for it an UNDO that comes late removes it too, as if it were older. */
void hark_depot_note_placed(struct hark_depot *d, const struct hark_coming *c)
{
    struct hark_placed *more = realloc(d->placed, (d->placed_count + 1) * sizeof *more);
    if (more == NULL) return;
    d->placed = more;
    more[d->placed_count++] = (struct hark_placed){c->rank, c->round, c->id};
}

void hark_depot_forget_placed(
    struct hark_depot *d, uint32_t rank, uint64_t first, uint64_t end, uint32_t round)
{
    for (uint32_t i = 0; i < d->placed_count;) {
        const struct hark_placed *x = &d->placed[i];
        if (x->rank == rank && x->id >= first && x->id < end && x->round <= round)
            d->placed[i] = d->placed[--d->placed_count];
        else i++;
    }
}

bool hark_depot_is_placed(const struct hark_depot *d, uint32_t rank, uint64_t id)
{
    for (uint32_t i = 0; i < d->placed_count; i++)
        if (d->placed[i].rank == rank && d->placed[i].id == id) return true;
    return false;
}
