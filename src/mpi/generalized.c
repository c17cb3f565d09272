/* Generalized requests: operations of the program itself, which it says are complete. */
#include "internal.h"

struct generalized {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    void *extra;
    bool fortran;   /* its functions are */
    bool forgotten; /* the program has freed the request */
};

/* Fortran's functions: all arguments are addresses, the last is that of the error. */
typedef void fortran_function(void *extra, void *argument, MPI_Fint *error);
typedef void fortran_free(void *extra, MPI_Fint *error);

static fortran_function *in_fortran(void (*function)(void))
{
    return (fortran_function *)function;
}

int hark_mpi_generalized_query(struct request *r)
{
    struct generalized *g = r->generalized;
    if (g->query == NULL) return MPI_SUCCESS;
    if (!g->fortran) return g->query(g->extra, &r->status);
    MPI_Fint error = MPI_SUCCESS;
    in_fortran((void (*)(void))g->query)(g->extra, &r->status, &error);
    return error;
}

int hark_mpi_generalized_cancel(struct request *r)
{
    struct generalized *g = r->generalized;
    int error = MPI_SUCCESS, done = r->done;
    if (g->cancel == NULL) return MPI_SUCCESS;
    if (g->fortran) in_fortran((void (*)(void))g->cancel)(g->extra, &done, &error);
    else error = g->cancel(g->extra, done);
    if (error == MPI_SUCCESS) return error;
    return hark_mpi_error(NULL, error, "MPI_Cancel",
        "the cancel function of a generalized request has failed with code %d", error);
}

/* The request goes: calls the free function. Its code. */
int hark_mpi_generalized_free(struct request *r)
{
    struct generalized *g = r->generalized;
    int error = MPI_SUCCESS;
    if (g->free && g->fortran) ((fortran_free *)(void (*)(void))g->free)(g->extra, &error);
    else if (g->free) error = g->free(g->extra);
    free(g);
    r->generalized = NULL;
    return error;
}

/* The program has freed the request: it goes when it is complete. */
int hark_mpi_generalized_forget(struct request *r)
{
    if (!r->done) {
        r->generalized->forgotten = true;
        return MPI_SUCCESS;
    }
    int error = hark_mpi_generalized_free(r);
    hark_mpi_request_release(r);
    return error;
}

PUBLIC(Grequest_start)
int PMPI_Grequest_start(MPI_Grequest_query_function *query, MPI_Grequest_free_function *free_it,
    MPI_Grequest_cancel_function *cancel, void *extra, MPI_Request *request)
{
    NEED_OPEN();
    NEED(NULL, request, MPI_ERR_ARG, "request is NULL");
    struct request *r = hark_mpi_request_new(NULL);
    r->what = REQUEST_GENERALIZED;
    r->active = true;
    r->generalized = hark_mpi_memory(sizeof *r->generalized);
    *r->generalized = (struct generalized){query, free_it, cancel, extra, false, false};
    *request = HANDLE(MPI_Request, r);
    return MPI_SUCCESS;
}

PUBLIC(Grequest_complete)
int PMPI_Grequest_complete(MPI_Request request)
{
    NEED_OPEN();
    struct request *r = REQUEST(request);
    NEED(NULL, r && r->what == REQUEST_GENERALIZED, MPI_ERR_REQUEST,
        "the request is no generalized request, or not valid");
    r->done = true;
    return r->generalized->forgotten ? hark_mpi_generalized_forget(r) : MPI_SUCCESS;
}

#if defined(HARK_MPI_MPICH)
/* MPICH's library for Fortran calls it. */
#pragma GCC visibility push(default)
void MPII_Grequest_set_lang_f77(MPI_Request request);
void MPII_Grequest_set_lang_f77(MPI_Request request)
{
    struct request *r = REQUEST(request);
    if (r && r->generalized) r->generalized->fortran = true;
}
#pragma GCC visibility pop
#endif
