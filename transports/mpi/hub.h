/* hub.h: what the ends of one MPI process share. */
#ifndef HARK_TRANSPORTS_MPI_HUB_H
#define HARK_TRANSPORTS_MPI_HUB_H

#include <pthread.h>

#include "include/hark/mpi_transport.h"
#include "message.h"

#define PORTS_MOST 32768 /* every MPI has the tags 0 .. 32767 */
/* So much a receiver may have taken without having told. A window has room for this, for the first
 * message of a long frame, which is told with the next one only, and for that; or both would wait.
 */
#define ACK_EVERY    (128u * 1024)
#define WINDOW_LEAST (1ull << 20)

struct process {
    uint32_t rank, inc;
};

struct port {
    struct end *end;     /* that is open here, or NULL */
    bool owned;          /* an end was open here once: */
    uint64_t job;        /* the process that the port belongs to, */
    struct process next; /* and the lowest incarnation of it that may still open */
    struct queue early;  /* messages for incarnations that have not opened yet */
};

struct hark_mpi {
    pthread_mutex_t lock;
    MPI_Comm comm;
    int rank, size;
    struct port *ports;
    uint32_t port_count, ends;
    struct queue sending, coming; /* MPI is not through with these */
    MPI_Message matched;          /* that there was no memory for; or MPI_MESSAGE_NULL */
    MPI_Status matched_status;
    uint64_t *sent, *received; /* messages to and from each rank, since the beginning */
    uint64_t *late, pass;      /* of each source: the pass of progress in which it had to wait */
};

extern const struct hark_transport_ops hark_mpi_operations;

static inline void hub_lock(struct hark_mpi *mpi)
{
    pthread_mutex_lock(&mpi->lock);
}

static inline void hub_unlock(struct hark_mpi *mpi)
{
    pthread_mutex_unlock(&mpi->lock);
}

/* All of these want the lock held. */

/* hub.c */
/* Writes what has failed, and MPI's own words for `code`, into `error` (NULL: nowhere). Returns
 * HARK_T_ESYSTEM. */
int hark_mpi_failed(char error[200], const char *what, int code);
/* Makes room for `port`. False: no memory. */
bool hark_mpi_port_room(struct hark_mpi *mpi, uint32_t port);
/* Where an end of this process may open, if it may choose: PORTS_MOST if there is none. */
uint32_t hark_mpi_port_free(const struct hark_mpi *mpi, uint64_t job, uint32_t rank);
/* The end opens at its port, and gets what came early. */
void hark_mpi_port_open(struct end *e);
void hark_mpi_port_close(struct end *e);

/* progress.c */
/* Lets MPI send and receive, and moves what has arrived to the ends. HARK_T_OK; or HARK_T_ESYSTEM,
 * with the reason in `error`. */
int hark_mpi_progress(struct hark_mpi *mpi, char error[200]);
/* Sends m, of e, to m->rank and m->port. The message is MPI's then, also on failure. */
int hark_mpi_post(struct end *e, struct message *m);
/* Its messages stay, until they are sent. */
void hark_mpi_disown(struct end *e);

/* peer.c */
/* "mpi:RANK:PORT". NULL, or what is wrong. */
const char *hark_mpi_address_parse(
    const struct hark_mpi *mpi, const char *text, int *rank, int *port);
#endif
