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

/* Meanwhile the program may free its handler. The code that it leaves behind is what the call
 * returns, as in MPICH and Open MPI. */
static int call_handler(struct errhandler *e, void *handle, int code)
{
    hark_mpi_errhandler_again(e);
    ((void (*)(void *, int *, ...))e->call)(handle, &code);
    hark_mpi_errhandler_release(e);
    return code;
}

static int act(struct errhandler *e, void *handle, int code, const char *call, const char *text)
{
    if (e->does == ERRORS_RETURN) return code;
    if (e->does == ERRORS_CALL) return call_handler(e, handle, code);
    if (e->does == ERRORS_LOST)
        hark_mpi_fatal(1,
            "%s: %s; the error handler for it was made after hark_restarted, and this process went "
            "back to a checkpoint, which does not hold its function: make it before hark_restarted",
            call + (*call == 'P'), text);
    say(call + (*call == 'P'), text);
    PMPI_Abort(MPI_COMM_WORLD, code);
    return code;
}

#define TEXT(format)                                                                               \
    char text[1000];                                                                               \
    va_list list;                                                                                  \
    va_start(list, format);                                                                        \
    vsnprintf(text, sizeof text, format, list);                                                    \
    va_end(list)

int hark_mpi_error_of(
    struct errhandler *e, void *handle, int code, const char *call, const char *format, ...)
{
    TEXT(format);
    return act(e, handle, code, call, text);
}

/* An error that is not about a communicator: MPI 3 gives it to the handler of MPI_COMM_WORLD, MPI 4
 * to that of MPI_COMM_SELF. Here it is that of MPI_COMM_SELF once the program has set one, else
 * that of MPI_COMM_WORLD. Before MPI_Init nobody can have set one. */
static struct comm *whose(struct comm *c)
{
    if (c) return c;
    if (hark_mpi_self.errhandler && hark_mpi_self.errhandler->does != ERRORS_FATAL)
        return &hark_mpi_self;
    return &hark_mpi_world;
}

static int error_of_comm(struct comm *c, int code, const char *call, const char *text)
{
    char whole[1200];
    c = whose(c);
    if (c->errhandler == NULL) hark_mpi_fatal(1, "%s: %s", call + (*call == 'P'), text);
    MPI_Comm handle = HANDLE(MPI_Comm, c);
    snprintf(
        whole, sizeof whole, "%s (communicator %s)", text, c->name[0] ? c->name : "without a name");
    return act(c->errhandler, &handle, code, call, whole);
}

int hark_mpi_error(struct comm *c, int code, const char *call, const char *format, ...)
{
    TEXT(format);
    return error_of_comm(c, code, call, text);
}

int hark_mpi_error_on(struct object *o, int code, const char *call, const char *format, ...)
{
    TEXT(format);
    if (o && (o->kind == KIND_WINDOW || o->kind == KIND_FILE || o->kind == KIND_SESSION))
        return act(((struct held *)o)->errhandler, &o->handle, code, call, text);
    return error_of_comm(o && o->kind == KIND_COMM ? (struct comm *)o : NULL, code, call, text);
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
