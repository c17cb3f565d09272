/* comm.h: what the files that make communicators ask of each other: inside comm*.c and context.c.
 */
#ifndef HARK_MPI_COMM_H
#define HARK_MPI_COMM_H

#include "internal.h"

#define NEED_POINTER(c, p) NEED(c, p, MPI_ERR_ARG, #p " is NULL")
#define NO_CONTEXT(c)                                                                              \
    hark_mpi_error(c, MPI_ERR_OTHER, __func__,                                                     \
        "there is no context for one more communicator: %d are in use; free some", CONTEXTS)

static inline struct group *hark_mpi_group_again(struct group *g) /* one reference more */
{
    g->o.references++;
    return g;
}

/* ---- contexts: context.c ----------------------------------------------------------------------
 */

void hark_mpi_context_mark(uint32_t context, bool is_used);
/* That of a communicator which requests kept after MPI_Comm_free. */
void hark_mpi_context_free_late(uint32_t context);
/* One that only this process names, and only once; negative: there is none left. */
int hark_mpi_context_own(void);
/* A context that is free in both groups, which know each other by their leaders alone. */
int hark_mpi_context_agree_between(
    struct comm *local, int leader, MPI_Comm peer, int other, int tag);

#endif
