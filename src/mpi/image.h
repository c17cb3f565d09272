/* image.h: a checkpoint's image of the MPI library, while it is written or read: inside image*.c.
 */
#ifndef HARK_MPI_IMAGE_H
#define HARK_MPI_IMAGE_H

#include "internal.h"

/* ---- bytes: image.c ---------------------------------------------------------------------------
 */

void hark_mpi_put(const void *from, size_t length);
void hark_mpi_get(void *to, size_t length);
static inline void put_int(int64_t value)
{
    hark_mpi_put(&value, sizeof value);
}
static inline int64_t get_int(void)
{
    int64_t value;
    hark_mpi_get(&value, sizeof value);
    return value;
}

/* ---- objects of one kind: image.c -------------------------------------------------------------
 */

/* The first in a slot from `number` on; NULL: there are no more. Those that are lost are among
 * them, predefined ones that only have their handle there are not. */
struct object *hark_mpi_next_slot(enum kind kind, uint32_t number);
#define EACH_SLOT(kind, o)                                                                         \
    struct object *o = hark_mpi_next_slot(kind, 0);                                                \
    o;                                                                                             \
    o = hark_mpi_next_slot(kind, o->number + 1)

/* ---- communicators and groups: image_comm.c ---------------------------------------------------
 */

int64_t hark_mpi_comm_number(const struct comm *c);
struct comm *hark_mpi_numbered_comm(int64_t number);
void hark_mpi_comms_put(void);
void hark_mpi_comms_get(void);
void hark_mpi_comm_forget(struct object *o);
void hark_mpi_group_forget(struct object *o);

/* ---- requests: image_request.c ----------------------------------------------------------------
 */

void hark_mpi_requests_put(void);
void hark_mpi_requests_get(void);
void hark_mpi_request_drop(struct object *o);
/* No receive is posted any more, nothing is forgotten. */
void hark_mpi_requests_begin(void);
/* A collective call that is under way has memory of ours; so has a receive of that call. */
bool hark_mpi_requests_may_capture(void);

#endif
