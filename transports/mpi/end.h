/* end.h: what one end of the transport keeps (hub.h: what the ends of one MPI process share).
 *
 *   hub.c       the communicator and its ports; opened and freed by all ranks together
 *   progress.c  messages of MPI: sent, received, given to the end at their port
 *   peer.c      the other processes: incarnations, addresses
 *   send.c      frames into messages
 *   receive.c   messages into frames
 *   end.c       opening, closing, sleeping: the functions of the transport
 *
 * One lock for all: MPI calls, ports, ends. It is not held while the sink runs.
 */
#ifndef HARK_TRANSPORTS_MPI_END_H
#define HARK_TRANSPORTS_MPI_END_H

#include "hub.h"

#define WINDOW_USUAL (4ull << 20)
#define WINDOW_MOST  (1ull << 30)
_Static_assert(
    ACK_EVERY + 2 * MESSAGE_MOST <= WINDOW_LEAST, "sender and receiver do not both wait");

struct half {              /* a long frame that is arriving */
    struct message *first; /* the message that has its header; NULL: there is none */
    struct hark_frame frame;
    void *place;
    uint64_t got;
    bool lost; /* the rest will not come: the sink is to be told */
};

struct peer { /* made when this process and that one first have to do with each other */
    uint32_t inc;
    int rank, port; /* of MPI; -1: not known */
    /* out */
    uint64_t sent, acked; /* bytes of messages; the difference is on its way, or kept */
    struct queue kept;    /* until the address is known */
    bool stalled;         /* send() answered HARK_T_AGAIN */
    /* in */
    uint64_t taken, told;
    struct half half;
};

struct end {
    struct hark_transport head;
    struct hark_mpi *mpi;
    struct hark_sink sink;
    struct process me;
    uint32_t ranks, port;
    uint64_t job, limit, window;
    long nap_most;       /* nanoseconds */
    struct peer **peers; /* by number; NULL: nothing to do with it */
    struct queue queue;  /* arrived, for poll() */
    uint32_t kept;       /* peers with messages that are kept */
    uint32_t lost;       /* peers whose half frame is lost */
    uint32_t sending;    /* messages that MPI is not through with */
    int trouble;         /* what poll() is to answer when nothing arrived; 0: none */
    bool go;             /* something has got better: wait() returns */
    int event;           /* descriptor, for wake() */
    char address[32];
};

/* Ranks as indices: HARK_RECOVERY comes last. Above e->ranks: no such one. */
static inline uint32_t number_of(const struct end *e, uint32_t rank)
{
    if (rank < e->ranks) return rank;
    return rank == HARK_RECOVERY ? e->ranks : UINT32_MAX;
}

static inline uint32_t rank_of(const struct end *e, uint32_t number)
{
    return number == e->ranks ? HARK_RECOVERY : number;
}

/* All of these want the lock held. */

/* peer.c */
/* The peer of `number` at incarnation `inc`. HARK_T_EGONE: that is older than what is known.
 * HARK_T_ESYSTEM: no memory. */
int hark_mpi_peer_at(struct end *e, uint32_t number, uint32_t inc, struct peer **p);
/* Its address is known now: what was kept for it leaves. */
int hark_mpi_peer_found(struct end *e, struct peer *p, int rank, int port);
void hark_mpi_peers_free(struct end *e);

/* send.c: takes the lock itself */
int hark_mpi_send(struct hark_transport *t, struct hark_outgoing *o);

/* receive.c */
/* Are head and length such as send.c makes them? */
bool hark_mpi_well_formed(struct message *m);
/* The peer has taken so much. */
void hark_mpi_acked(struct end *e, struct message *m);
/* Takes the lock itself, and gives the sink what has arrived. */
int hark_mpi_poll(struct hark_transport *t);

#endif
