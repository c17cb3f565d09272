/* peer.c: the other processes: incarnations, addresses. */
#include "end.h"

#include <string.h>

static struct peer *peer_new(const struct end *e, uint32_t number)
{
    struct peer *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->rank = p->port = -1;
    queue_begin(&p->kept);
    if (rank_of(e, number) != e->me.rank) return p;
    p->rank = e->mpi->rank;
    p->port = (int)e->port;
    p->inc = e->me.inc;
    return p;
}

/* All that was for or from an older incarnation is over. */
static void become(struct end *e, struct peer *p, uint32_t inc)
{
    p->inc = inc;
    p->rank = p->port = -1;
    if (p->kept.first) e->kept--;
    queue_free(&p->kept);
    p->sent = p->acked = p->taken = p->told = 0;
    if (p->stalled) e->go = true; /* the frame that waits is told so */
    p->stalled = false;
    if (p->half.first && !p->half.lost) {
        p->half.lost = true;
        e->lost++;
    }
}

int hark_mpi_peer_at(struct end *e, uint32_t number, uint32_t inc, struct peer **p)
{
    if (!e->peers[number]) e->peers[number] = peer_new(e, number);
    *p = e->peers[number];
    if (!*p) return hark_mpi_failed(e->head.error, "cannot know one more process", MPI_SUCCESS);
    if (inc < (*p)->inc) return HARK_T_EGONE;
    if (inc > (*p)->inc) {
        if (rank_of(e, number) == e->me.rank) return HARK_T_EGONE; /* this end is not that one */
        become(e, *p, inc);
    }
    return HARK_T_OK;
}

int hark_mpi_peer_found(struct end *e, struct peer *p, int rank, int port)
{
    if (p->rank >= 0) return HARK_T_OK;
    p->rank = rank;
    p->port = port;
    if (p->kept.first) e->kept--;
    for (struct message *m; (m = queue_take(&p->kept));) {
        m->rank = rank;
        m->port = port;
        int status = hark_mpi_post(e, m);
        if (status != HARK_T_OK) return status;
    }
    return HARK_T_OK;
}

/* A decimal number below `bound`, and the character behind it. False: there is none. */
static bool number_at(const char **text, int bound, int *value)
{
    const char *digit = *text;
    for (*value = 0; *digit >= '0' && *digit <= '9'; digit++) {
        *value = *value * 10 + (*digit - '0');
        if (*value >= bound) return false;
    }
    bool any = digit > *text;
    *text = digit;
    return any;
}

const char *hark_mpi_address_parse(
    const struct hark_mpi *mpi, const char *text, int *rank, int *port)
{
    static const char start[] = "mpi:";
    if (strncmp(text, start, sizeof start - 1) != 0) return "expected mpi:RANK:PORT";
    text += sizeof start - 1;
    if (!number_at(&text, mpi->size, rank)) return "its rank is none of the communicator";
    if (*text++ != ':') return "expected mpi:RANK:PORT";
    if (!number_at(&text, PORTS_MOST, port)) return "its port is not 0 .. 32767";
    return *text == 0 ? NULL : "expected mpi:RANK:PORT";
}

void hark_mpi_peers_free(struct end *e)
{
    for (uint32_t i = 0; i <= e->ranks; i++) {
        struct peer *p = e->peers[i];
        if (!p) continue;
        queue_free(&p->kept);
        free(p->half.first);
        free(p);
    }
    free(e->peers);
}
