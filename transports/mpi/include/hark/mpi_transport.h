/* mpi_transport.h: the transport over an MPI communicator, for a runtime inside an MPI job whose
 * logical processes are lost and come back while the MPI ranks live.
 *
 *     struct hark_mpi *mpi;
 *     hark_mpi_new(&mpi, MPI_COMM_WORLD, error);              // collective
 *     hark_mpi_join(mpi, &config);                            // the config of an end, before
 * open() hark_mpi_transport()->open(&t, &config, error);         // as with every transport
 *     ...
 *     t->ops->close(t);
 *     hark_mpi_free(mpi, error);                              // collective, before MPI_Finalize
 *
 * Each logical process is an end; a rank may hold many. The address of an end is "mpi:RANK:PORT":
 * its rank in the communicator, and its number on this rank, 0 .. 32767. config.address may choose
 * the port, so that every process can know all addresses before any end is open; NULL: the
 * transport chooses one. A port belongs to one process of one job; before another one opens there,
 * all ranks must know that the last one has closed. Frames that arrive before their incarnation
 * opens there are kept for it; frames for an incarnation that has closed are dropped.
 *
 * The library never calls MPI_Init or MPI_Finalize. It uses a duplicate of the communicator, so its
 * messages never meet those of the embedder. Every function but wake() calls MPI, under one lock
 * for each struct hark_mpi. MPI_THREAD_SINGLE suffices if one thread does everything. With ends in
 * several threads the embedder must keep its own MPI calls apart from theirs, and MPI must have
 * been initialised with MPI_THREAD_SERIALIZED.
 *
 * send() copies what it takes, at most a window of bytes for each receiver (option[1]), and answers
 * HARK_T_AGAIN when that many are on their way. A frame longer than 128 KiB goes in pieces of that
 * length. After close() the copies stay until MPI has sent them. wait() has no descriptor on which
 * MPI reports: it polls, at first often, then at intervals of at most option[2] microseconds.
 *
 * config.key is not used: whoever is in the communicator is trusted. All ranks must have the same
 * byte order. An MPI rank that dies usually ends the whole job, and no transport can mend that.
 *
 * option[0]: set by hark_mpi_join(). option[1], "window": bytes on their way to each receiver,
 * 1 MiB .. 1 GiB; 0: 4 MiB. option[2], "sleep-us": 10 .. 1000000; 0: 1000.
 */
#ifndef HARK_MPI_TRANSPORT_H
#define HARK_MPI_TRANSPORT_H

#include <mpi.h>

#include "hark/transport.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_MPI_SHOWN                                                                             \
    __attribute__((visibility("default"))) /* what the shared library exports                      \
                                            */

/* What the ends of one MPI process share: a communicator, and the messages under way. */
struct hark_mpi;

/* Collective over `communicator`, which is duplicated and stays the caller's. MPI must be
 * initialised. HARK_T_OK; HARK_T_EINVAL: MPI is not initialised, or has been finalised;
 * HARK_T_ESYSTEM: MPI failed, or some rank has no memory. On failure *mpi is NULL, in all ranks
 * alike if the reason is memory, and error, if not NULL, has the reason in one line. The caller
 * frees *mpi with hark_mpi_free(). */
HARK_MPI_SHOWN int hark_mpi_new(struct hark_mpi **mpi, MPI_Comm communicator, char error[200]);

/* Collective over the same communicator; all ends of this process must be closed. Waits until every
 * message of every rank has arrived, and drops those. HARK_T_OK; HARK_T_EINVAL: an end is open, and
 * nothing was done; HARK_T_ESYSTEM: MPI failed, the memory is freed but the duplicate of the
 * communicator is not. error, if not NULL, has the reason in one line. */
HARK_MPI_SHOWN int hark_mpi_free(struct hark_mpi *mpi, char error[200]);

/* Sets config->option[0], so that open() with this config makes an end in this process. `mpi` must
 * outlive the end. */
HARK_MPI_SHOWN void hark_mpi_join(struct hark_mpi *mpi, struct hark_transport_config *config);

/* The functions of the transport. They live as long as the program. */
HARK_MPI_SHOWN const struct hark_transport_ops *hark_mpi_transport(void);

#ifdef __cplusplus
}
#endif
#endif
