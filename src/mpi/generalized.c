/* Generalized requests. */
#include "internal.h"

int hark_mpi_generalized_query(struct request *r)
{
    return r->status.MPI_ERROR;
}

int hark_mpi_generalized_cancel(struct request *r)
{
    return r->status.MPI_ERROR;
}

void hark_mpi_generalized_free(struct request *r)
{
    (void)r;
}
