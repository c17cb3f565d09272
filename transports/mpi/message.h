/* message.h: a message of MPI as it is sent and received, and lists of these. */
#ifndef HARK_TRANSPORTS_MPI_MESSAGE_H
#define HARK_TRANSPORTS_MPI_MESSAGE_H

#include <mpi.h>
#include <stdlib.h>

#include "hark/transport.h"

/* A payload goes in pieces of at most so many bytes; the first has the header with it. A frame that
 * fits into one message is handed up where it lies. */
#define PIECE (128u * 1024)

enum kind { /* the word that a message begins with; any other is garbage */
    KIND_FRAME = 0x31706d68,
    KIND_REST,
    KIND_ACK
};

struct head { /* then follow the header, of KIND_FRAME, and the bytes of the payload */
    uint32_t kind;
    uint32_t from, from_inc, to, to_inc;
    uint32_t from_port; /* the rank of MPI is the message's source */
    uint32_t header;
    uint32_t pad;
    uint64_t job;    /* a hash of its name */
    uint64_t length; /* of the whole payload */
    uint64_t at;     /* where in the payload these bytes belong; of KIND_ACK: bytes taken in all */
};
_Static_assert(sizeof(struct head) == 56, "no padding goes over the wire");

#define MESSAGE_MOST (sizeof(struct head) + HARK_HEADER_MAX + PIECE)

struct end;

struct message {
    struct message *next;
    MPI_Request request;
    struct end *owner; /* that sends it; NULL: it was closed meanwhile */
    int rank, port;    /* of MPI: the source or destination, and the tag */
    uint32_t bytes;
    _Alignas(uint64_t) uint8_t at[]; /* struct head, then the rest */
};

/* A message of `bytes` bytes, at least of room for a head; the caller's to free(). NULL without
 * memory. */
static inline struct message *message_new(uint64_t bytes)
{
    uint64_t room = bytes > sizeof(struct head) ? bytes : sizeof(struct head);
    struct message *m = malloc(sizeof *m + (size_t)room);
    if (!m) return NULL;
    m->next = NULL;
    m->request = MPI_REQUEST_NULL;
    m->owner = NULL;
    m->rank = m->port = -1;
    m->bytes = (uint32_t)bytes;
    return m;
}

static inline struct head *message_head(struct message *m)
{
    return (void *)m->at;
}

static inline uint8_t *message_body(struct message *m)
{
    return m->at + sizeof(struct head);
}

struct queue {
    struct message *first, **last;
    uint32_t count;
};

static inline void queue_begin(struct queue *q)
{
    *q = (struct queue){NULL, &q->first, 0};
}

static inline void queue_put(struct queue *q, struct message *m)
{
    m->next = NULL;
    *q->last = m;
    q->last = &m->next;
    q->count++;
}

static inline struct message *queue_take(struct queue *q)
{
    struct message *m = q->first;
    if (!m) return NULL;
    q->first = m->next;
    if (!q->first) q->last = &q->first;
    q->count--;
    return m;
}

static inline void queue_free(struct queue *q)
{
    for (struct message *m; (m = queue_take(q));) free(m);
}

#endif
