/* The buffer of buffered sends. A message is in the log when its send returns, so that nothing is
 * ever put into it: it is kept for the program. */
#include "internal.h"

static struct {
    void *at;
    long long size;
    bool attached;
} buffer;

static int attach(void *at, long long size, const char *call)
{
    if (size < 0)
        return hark_mpi_error(
            NULL, MPI_ERR_ARG, call, "the size is %lld, and must not be negative", size);
    if (buffer.attached)
        return hark_mpi_error(
            NULL, MPI_ERR_BUFFER, call, "a buffer is attached: call MPI_Buffer_detach first");
    buffer.at = at;
    buffer.size = size;
    buffer.attached = true;
    return MPI_SUCCESS;
}

static int detach(void *at, const void *size, const char *call)
{
    if (at == NULL || size == NULL)
        return hark_mpi_error(NULL, MPI_ERR_ARG, call, "buffer_addr or size is NULL");
    if (!buffer.attached)
        return hark_mpi_error(NULL, MPI_ERR_BUFFER, call, "no buffer is attached");
    memcpy(at, &buffer.at, sizeof buffer.at);
    buffer.attached = false;
    return MPI_SUCCESS;
}

#define BUFFERS(suffix, size_type)                                                                 \
    PUBLIC(Buffer_attach##suffix)                                                                  \
    int PMPI_Buffer_attach##suffix(void *at, size_type size)                                       \
    {                                                                                              \
        NEED_OPEN();                                                                               \
        return attach(at, size, __func__);                                                         \
    }                                                                                              \
    PUBLIC(Buffer_detach##suffix)                                                                  \
    int PMPI_Buffer_detach##suffix(void *at, size_type *size)                                      \
    {                                                                                              \
        NEED_OPEN();                                                                               \
        int code = detach(at, size, __func__);                                                     \
        if (code == MPI_SUCCESS) *size = (size_type)buffer.size;                                   \
        return code;                                                                               \
    }
BUFFERS(, int)
#if MPI_VERSION >= 4
BUFFERS(_c, MPI_Count)
#endif
