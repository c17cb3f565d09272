/* Errors: what is wrong, in one line, and the error handlers of MPI. */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "internal.h"

bool hark_mpi_open;

static void say(const char *call, const char *text)
{
    int rank = hark_rank();
    if (rank >= 0) fprintf(stderr, "hark: rank %d: %s%s%s\n", rank, call, *call ? ": " : "", text);
    else fprintf(stderr, "hark: %s%s%s\n", call, *call ? ": " : "", text);
    fflush(NULL);
}

_Noreturn void hark_mpi_fatal(int status, const char *format, ...)
{
    char text[1000];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    say("", text);
    _exit(status);
}

_Noreturn void hark_mpi_refuse(const char *name, const char *reason)
{
    hark_mpi_fatal(1, "%s is not there under hark: %s", name, reason);
}

void *hark_mpi_memory(size_t bytes)
{
    void *at = malloc(bytes ? bytes : 1);
    if (at == NULL) hark_mpi_fatal(1, "no memory for %zu bytes", bytes);
    return at;
}

void hark_mpi_closed(const char *call)
{
    hark_mpi_fatal(1, "%s is called %s", call + (*call == 'P'),
        hark_size() < 0 ? "outside of MPI_Init and MPI_Finalize: call MPI_Init first"
                        : "after MPI_Finalize");
}

int hark_mpi_error_of(
    struct errhandler *e, void *handle, int code, const char *call, const char *format, ...)
{
    char text[1000];
    va_list list;
    if (e->does == ERRORS_RETURN) return code;
    if (e->does == ERRORS_CALL) {
        ((void (*)(void *, int *, ...))e->call)(handle, &code);
        return code;
    }
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    say(call + (*call == 'P'), text);
    PMPI_Abort(MPI_COMM_WORLD, code);
    return code;
}

int hark_mpi_error(struct comm *c, int code, const char *call, const char *format, ...)
{
    char text[1000];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (c == NULL) c = &hark_mpi_world;
    MPI_Comm handle = HANDLE(MPI_Comm, c);
    return hark_mpi_error_of(c->errhandler, &handle, code, call, "%s (communicator %s)", text,
        c->name[0] ? c->name : "without a name");
}

int hark_mpi_status(struct comm *c, int status, const char *call)
{
    if (status >= 0) return MPI_SUCCESS;
    int code = MPI_ERR_OTHER;
    switch (status) {
    case HARK_A_ERANK: code = MPI_ERR_RANK; break;
    case HARK_A_ETAG: code = MPI_ERR_TAG; break;
    case HARK_A_ETRUNCATE: code = MPI_ERR_TRUNCATE; break;
    case HARK_A_EARGUMENT: code = MPI_ERR_BUFFER; break;
    default: break;
    }
    return hark_mpi_error(c, code, call, "%s", hark_app_error(status));
}
