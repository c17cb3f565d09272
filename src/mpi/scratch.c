/* Memory that a call needs while it lasts. Some pieces are kept: malloc() gives long ones back to
 * the system with each free(), and the next call would pay for all their pages again. */
#include "internal.h"

enum { KEPT = 4, KEPT_MOST = 16 << 20 }; /* pieces; bytes of each */

struct piece {
    size_t bytes;
    _Alignas(64) uint8_t at[];
};
static struct piece *kept[KEPT];

void *hark_mpi_scratch(size_t bytes)
{
    struct piece **best = NULL;
    for (int i = 0; i < KEPT; i++)
        if (kept[i] && kept[i]->bytes >= bytes && (!best || kept[i]->bytes < (*best)->bytes))
            best = &kept[i];
    if (best) {
        struct piece *p = *best;
        *best = NULL;
        return p->at;
    }
    struct piece *p = NULL;
    if (bytes > SIZE_MAX - sizeof *p ||
        posix_memalign((void **)&p, _Alignof(struct piece), sizeof *p + bytes) != 0)
        hark_mpi_fatal(1, "no memory for %zu bytes", bytes);
    p->bytes = bytes;
    return p->at;
}

/* Of more than are kept the longest are. */
void hark_mpi_scratch_free(void *at)
{
    if (at == NULL) return;
    struct piece *p = (struct piece *)((uint8_t *)at - offsetof(struct piece, at));
    struct piece **least = &kept[0];
    for (int i = 0; i < KEPT && *least; i++)
        if (kept[i] == NULL || kept[i]->bytes < (*least)->bytes) least = &kept[i];
    if (p->bytes <= KEPT_MOST && (*least == NULL || (*least)->bytes < p->bytes)) {
        struct piece *other = *least;
        *least = p;
        p = other;
    }
    free(p);
}

void hark_mpi_scratch_close(void)
{
    for (int i = 0; i < KEPT; i++) {
        free(kept[i]);
        kept[i] = NULL;
    }
}
