/* The buffers of buffered sends: one of the process, and those of communicators and sessions. A
 * message is in the log when its send returns, so that nothing is ever put into a buffer: it is
 * kept for the program, and there is nothing to wait for before it is given back. */
#include "internal.h"

struct attached hark_mpi_buffer;

#define NEED_OF(condition, code, ...)                                                              \
    do {                                                                                           \
        if (!(condition)) return hark_mpi_error_on(o, code, call, __VA_ARGS__);                    \
    } while (0)

int hark_mpi_buffer_attach(
    struct object *o, struct attached *b, void *at, long long size, const char *call)
{
    NEED_OF(size >= 0, MPI_ERR_ARG, "the size is %lld, and must not be negative", size);
    NEED_OF(!b->is_there, MPI_ERR_BUFFER, "a buffer is attached: detach it first");
    *b = (struct attached){at, size, true};
#if defined(MPI_BUFFER_AUTOMATIC)
    if (at == MPI_BUFFER_AUTOMATIC) b->size = 0;
#endif
    return MPI_SUCCESS;
}

int hark_mpi_buffer_detach(
    struct object *o, struct attached *b, void *at, const void *size, const char *call)
{
    NEED_OF(at && size, MPI_ERR_ARG, "buffer_addr or size is NULL");
    NEED_OF(b->is_there, MPI_ERR_BUFFER, "no buffer is attached");
    memcpy(at, &b->at, sizeof b->at);
    b->is_there = false;
    return MPI_SUCCESS;
}

#define BUFFERS(suffix, size_type)                                                                 \
    PUBLIC(Buffer_attach##suffix)                                                                  \
    int PMPI_Buffer_attach##suffix(void *at, size_type size)                                       \
    {                                                                                              \
        NEED_OPEN();                                                                               \
        return hark_mpi_buffer_attach(NULL, &hark_mpi_buffer, at, size, __func__);                 \
    }                                                                                              \
    PUBLIC(Buffer_detach##suffix)                                                                  \
    int PMPI_Buffer_detach##suffix(void *at, size_type *size)                                      \
    {                                                                                              \
        NEED_OPEN();                                                                               \
        int code = hark_mpi_buffer_detach(NULL, &hark_mpi_buffer, at, size, __func__);             \
        if (code == MPI_SUCCESS) *size = (size_type)hark_mpi_buffer.size;                          \
        return code;                                                                               \
    }
BUFFERS(, int)
#if MPI_VERSION >= 4
BUFFERS(_c, MPI_Count)
#endif

#if defined(MPI_BUFFER_AUTOMATIC)
PUBLIC(Buffer_flush)
int PMPI_Buffer_flush(void)
{
    NEED_OPEN();
    return MPI_SUCCESS;
}

PUBLIC(Buffer_iflush)
int PMPI_Buffer_iflush(MPI_Request *request)
{
    NEED_OPEN();
    NEED(NULL, request, MPI_ERR_ARG, "request is NULL");
    *request = HANDLE(MPI_Request, &hark_mpi_request_done);
    return MPI_SUCCESS;
}

#define COMM_BUFFERS(suffix, size_type, name)                                                      \
    PUBLIC(Comm_attach_buffer##suffix)                                                             \
    int PMPI_Comm_attach_buffer##suffix(MPI_Comm comm, void *at, size_type size)                   \
    {                                                                                              \
        NEED_COMM(c, comm);                                                                        \
        return hark_mpi_buffer_attach(&c->o, &c->buffer, at, size, __func__);                      \
    }                                                                                              \
    PUBLIC(Comm_detach_buffer##suffix)                                                             \
    int PMPI_Comm_detach_buffer##suffix(MPI_Comm comm, void *at, size_type *size)                  \
    {                                                                                              \
        NEED_COMM(c, comm);                                                                        \
        int code = hark_mpi_buffer_detach(&c->o, &c->buffer, at, size, __func__);                  \
        if (code == MPI_SUCCESS) *size = (size_type)c->buffer.size;                                \
        return code;                                                                               \
    }
COUNTS(COMM_BUFFERS, buffers)

PUBLIC(Comm_flush_buffer)
int PMPI_Comm_flush_buffer(MPI_Comm comm)
{
    NEED_COMM(c, comm);
    return MPI_SUCCESS;
}

PUBLIC(Comm_iflush_buffer)
int PMPI_Comm_iflush_buffer(MPI_Comm comm, MPI_Request *request)
{
    NEED_COMM(c, comm);
    NEED(c, request, MPI_ERR_ARG, "request is NULL");
    *request = HANDLE(MPI_Request, &hark_mpi_request_done);
    return MPI_SUCCESS;
}
#endif
