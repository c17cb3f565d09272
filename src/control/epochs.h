/* epochs.h: at which of its checkpoint calls the epochs of a process began: what the failure service, and that of the simulator,
 * remember where a recovery line says who goes back.
 *
 * Those up to its decided checkpoint are its past. Those beyond have been undone, and who executes again begins them again at
 * the same calls (RESTARTED.again), until recovery is over. A call is forgotten when no checkpoint so old is kept.
 */
#ifndef HARK_CONTROL_EPOCHS_H
#define HARK_CONTROL_EPOCHS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct hark_epochs { /* ascending; free(id) ends it */
    uint64_t *id;
    uint32_t count, room;
};

/* The first that is beyond `id`; count: none is. */
static inline uint32_t hark_epochs_beyond(const struct hark_epochs *e, uint64_t id)
{
    uint32_t i = e->count;
    while (i && e->id[i - 1] > id) i--;
    return i;
}

/* Forgets all beyond `id`. */
static inline void hark_epochs_cut(struct hark_epochs *e, uint64_t id)
{
    e->count = hark_epochs_beyond(e, id);
}

/* Forgets all before `id`. */
static inline void hark_epochs_trim(struct hark_epochs *e, uint64_t id)
{
    uint32_t n = id ? hark_epochs_beyond(e, id - 1) : 0;
    if (n) memmove(e->id, e->id + n, (e->count - n) * sizeof e->id[0]);
    e->count -= n;
}

/* Forgets that one. */
static inline void hark_epochs_forget(struct hark_epochs *e, uint64_t id)
{
    uint32_t i = hark_epochs_beyond(e, id);
    if (i == 0 || e->id[i - 1] != id) return;
    memmove(e->id + i - 1, e->id + i, (e->count - i) * sizeof e->id[0]);
    e->count--;
}

/* One begins at call `id`. 1; 0: it did before; -1: no memory. */
static inline int hark_epochs_begin(struct hark_epochs *e, uint64_t id)
{
    uint32_t i = hark_epochs_beyond(e, id);
    if (i && e->id[i - 1] == id) return 0;
    if (e->count == e->room) {
        uint32_t room = e->room ? e->room * 2 : 8;
        uint64_t *more = realloc(e->id, room * sizeof *more);
        if (more == NULL) return -1;
        e->id = more;
        e->room = room;
    }
    memmove(e->id + i + 1, e->id + i, (e->count - i) * sizeof e->id[0]);
    e->id[i] = id;
    e->count++;
    return 1;
}

#endif
