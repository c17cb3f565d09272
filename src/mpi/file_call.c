/* The calls that read and write. All do the same, and differ in where: at an offset, at the file
 * pointer of the process, at the shared one; and in what is left to do when they return.
 *
 * The shared file pointer is a number that all processes know, and that only collective calls
 * change: MPI_File_read_ordered, MPI_File_write_ordered, MPI_File_seek_shared. Calls that are not
 * collective would take their places in the order in which processes come, which no re-execution
 * repeats: they are refused, unless the file has one process.
 */
#include <stdio.h>

#include "file.h"

enum pointer { OFFSET, INDIVIDUAL, SHARED, ORDERED };
struct access {
    enum pointer pointer;
    bool write;
    MPI_Offset offset;
    void *buffer;
    MPI_Count count;
    MPI_Datatype datatype;
    const char *call;
};

/* ---- checks -----------------------------------------------------------------------------------
 */

#define WRONG(code, ...) return hark_mpi_error_on(&f->h.o, code, a->call, __VA_ARGS__)

static int check_mode(struct file *f, const struct access *a)
{
    if (f->mode & MPI_MODE_SEQUENTIAL && (a->pointer == OFFSET || a->pointer == INDIVIDUAL))
        WRONG(MPI_ERR_UNSUPPORTED_OPERATION,
            "%s was opened with MPI_MODE_SEQUENTIAL, and has only a shared file pointer", f->path);
    if (a->write && f->mode & MPI_MODE_RDONLY)
        WRONG(MPI_ERR_READ_ONLY, "%s was opened with MPI_MODE_RDONLY", f->path);
    if (!a->write && f->mode & MPI_MODE_WRONLY)
        WRONG(MPI_ERR_ACCESS, "%s was opened with MPI_MODE_WRONLY", f->path);
    return MPI_SUCCESS;
}

static int check(struct file *f, const struct access *a)
{
    const struct type *t = TYPE(a->datatype);
    if (a->count < 0)
        WRONG(MPI_ERR_COUNT, "the count is %lld, and must not be negative", (long long)a->count);
    if (t == NULL) WRONG(MPI_ERR_TYPE, "the datatype is not valid: was it freed?");
    if (!t->committed) WRONG(MPI_ERR_TYPE, "the datatype is not committed: call MPI_Type_commit");
    if (a->pointer == OFFSET && a->offset < 0)
        WRONG(MPI_ERR_ARG, "the offset is %lld, and must not be negative", (long long)a->offset);
    size_t bytes = (size_t)a->count * t->size;
    if (f->etype->size ? bytes % f->etype->size : bytes)
        WRONG(MPI_ERR_IO, "%zu bytes are not a whole number of etypes, which have %zu", bytes,
            f->etype->size);
    if (a->buffer == NULL && bytes && t->true_lower == 0)
        WRONG(MPI_ERR_BUFFER, "the buffer is NULL, and the count is %lld", (long long)a->count);
    return check_mode(f, a);
}

/* ---- what they do -----------------------------------------------------------------------------
 */

static MPI_Offset etypes_of(const struct file *f, size_t bytes)
{
    return f->etype->size ? (MPI_Offset)(bytes / f->etype->size) : 0;
}

/* Where this process's part of an ordered access begins: behind those of lower ranks. */
static MPI_Offset take_turn(struct file *f, MPI_Offset etypes)
{
    MPI_Comm comm = HANDLE(MPI_Comm, f->comm);
    long long mine = etypes, behind = 0, all = 0, from = f->shared;
    PMPI_Scan(&mine, &behind, 1, MPI_LONG_LONG, MPI_SUM, comm);
    PMPI_Allreduce(&mine, &all, 1, MPI_LONG_LONG, MPI_SUM, comm);
    f->shared += all;
    return from + behind - mine;
}

static MPI_Offset begin_of(struct file *f, const struct access *a, MPI_Offset etypes)
{
    switch (a->pointer) {
    case OFFSET: return a->offset;
    case INDIVIDUAL: return f->position;
    case SHARED: return f->shared;
    case ORDERED: return take_turn(f, etypes);
    }
    return 0;
}

static void end_at(struct file *f, const struct access *a, MPI_Offset end)
{
    if (a->pointer == INDIVIDUAL) f->position = end;
    if (a->pointer == SHARED) f->shared = end;
}

/* A call with arguments that are not valid is part of an ordered access nevertheless: the others
 * wait. */
static int checked(struct file *f, const struct access *a)
{
    int code = check(f, a);
    if (code == MPI_SUCCESS && a->pointer == SHARED && f->comm->size > 1 && a->count)
        hark_mpi_refuse(a->call + 1,
            "the order in which processes come to a shared file pointer is not repeatable: use "
            "MPI_File_write_ordered or MPI_File_read_ordered, or offsets");
    if (code && a->pointer == ORDERED) (void)take_turn(f, 0);
    return code;
}

static int perform(struct file *f, const struct access *a, MPI_Status *status)
{
    size_t bytes = 0;
    hark_mpi_status_empty(status);
    int code = checked(f, a);
    if (code) return code;
    const struct elements_of e = {a->buffer, (size_t)a->count, TYPE(a->datatype)};
    MPI_Offset begin = begin_of(f, a, etypes_of(f, e.count * e.type->size));
    int error = a->write ? hark_mpi_file_write(f, begin, e, &bytes)
                         : hark_mpi_file_read(f, begin, e, &bytes);
    end_at(f, a, begin + etypes_of(f, bytes));
    status_set_bytes(status, bytes);
    return hark_mpi_file_failed(f, error, a->write ? "writing" : "reading", a->call);
}

static void give_status(MPI_Status *status, const MPI_Status *from)
{
    if (status == MPI_STATUS_IGNORE) return;
    int kept = status->MPI_ERROR;
    *status = *from;
    status->MPI_ERROR = kept;
}

static int block(MPI_File file, const struct access *a, MPI_Status *status)
{
    NEED_OPEN();
    struct file *f = (struct file *)FILE_OF(file);
    if (f == NULL) return hark_mpi_file_invalid(file, a->call);
    MPI_Status result;
    int code = perform(f, a, &result);
    give_status(status, &result);
    return code;
}

/* It is complete when the call returns. */
static int start(MPI_File file, const struct access *a, MPI_Request *request)
{
    NEED_OPEN();
    struct file *f = (struct file *)FILE_OF(file);
    if (f == NULL) return hark_mpi_file_invalid(file, a->call);
    if (request == NULL) WRONG(MPI_ERR_ARG, "request is NULL");
    MPI_Status result;
    int code = perform(f, a, &result);
    *request = MPI_REQUEST_NULL;
    if (code) return code;
    struct request *r = hark_mpi_request_new(NULL);
    r->what = REQUEST_SEND;
    r->active = r->done = true;
    r->status = result;
    *request = HANDLE(MPI_Request, r);
    return MPI_SUCCESS;
}

/* ---- split collective calls -------------------------------------------------------------------
 */

static int split(MPI_File file, const struct access *a)
{
    NEED_OPEN();
    struct file *f = (struct file *)FILE_OF(file);
    if (f == NULL) return hark_mpi_file_invalid(file, a->call);
    if (f->split) WRONG(MPI_ERR_OTHER, "%s has not ended yet", f->split + 1);
    int code = perform(f, a, &f->split_status);
    if (code) return code;
    snprintf(f->split_name, sizeof f->split_name, "%s", a->call);
    f->split = f->split_name;
    return MPI_SUCCESS;
}

/* PMPI_File_read_all_end ends PMPI_File_read_all_begin, or its form _begin_c. */
static bool belongs(const char *begin, const char *end)
{
    size_t length = strlen(end) - strlen("end");
    return begin && strncmp(begin, end, length) == 0 &&
           strncmp(begin + length, "begin", strlen("begin")) == 0;
}

static int split_end(MPI_File file, MPI_Status *status, const char *call)
{
    NEED_OPEN();
    struct file *f = (struct file *)FILE_OF(file);
    if (f == NULL) return hark_mpi_file_invalid(file, call);
    if (!belongs(f->split, call))
        return hark_mpi_error_on(&f->h.o, MPI_ERR_OTHER, call,
            f->split ? "another split collective call has begun: %s" : "none has begun%s",
            f->split ? f->split + 1 : "");
    f->split = NULL;
    give_status(status, &f->split_status);
    return MPI_SUCCESS;
}

/* ---- the calls --------------------------------------------------------------------------------
 */

#define ACCESS(at, pointer, write)                                                                 \
    &(const struct access)                                                                         \
    {                                                                                              \
        pointer, write, at, (void *)(uintptr_t)buffer, count, datatype, __func__                   \
    }

/* Each as MPI_File_x, and with large counts as MPI_File_x_c. */
#define BLOCKING(name, where, write, const_of, integer, suffix)                                    \
    PUBLIC(File_##name##suffix)                                                                    \
    int PMPI_File_##name##suffix(MPI_File file, const_of void *buffer, integer count,              \
        MPI_Datatype datatype, MPI_Status *status)                                                 \
    {                                                                                              \
        return block(file, ACCESS(0, where, write), status);                                       \
    }
#define BLOCKING_AT(name, where, write, const_of, integer, suffix)                                 \
    PUBLIC(File_##name##suffix)                                                                    \
    int PMPI_File_##name##suffix(MPI_File file, MPI_Offset offset, const_of void *buffer,          \
        integer count, MPI_Datatype datatype, MPI_Status *status)                                  \
    {                                                                                              \
        return block(file, ACCESS(offset, where, write), status);                                  \
    }
#define STARTING(name, where, write, const_of, integer, suffix)                                    \
    PUBLIC(File_##name##suffix)                                                                    \
    int PMPI_File_##name##suffix(MPI_File file, const_of void *buffer, integer count,              \
        MPI_Datatype datatype, MPI_Request *request)                                               \
    {                                                                                              \
        return start(file, ACCESS(0, where, write), request);                                      \
    }
#define STARTING_AT(name, where, write, const_of, integer, suffix)                                 \
    PUBLIC(File_##name##suffix)                                                                    \
    int PMPI_File_##name##suffix(MPI_File file, MPI_Offset offset, const_of void *buffer,          \
        integer count, MPI_Datatype datatype, MPI_Request *request)                                \
    {                                                                                              \
        return start(file, ACCESS(offset, where, write), request);                                 \
    }
#define BEGINNING(name, where, write, const_of, integer, suffix)                                   \
    PUBLIC(File_##name##suffix)                                                                    \
    int PMPI_File_##name##suffix(                                                                  \
        MPI_File file, const_of void *buffer, integer count, MPI_Datatype datatype)                \
    {                                                                                              \
        return split(file, ACCESS(0, where, write));                                               \
    }
#define BEGINNING_AT(name, where, write, const_of, integer, suffix)                                \
    PUBLIC(File_##name##suffix)                                                                    \
    int PMPI_File_##name##suffix(MPI_File file, MPI_Offset offset, const_of void *buffer,          \
        integer count, MPI_Datatype datatype)                                                      \
    {                                                                                              \
        return split(file, ACCESS(offset, where, write));                                          \
    }
#define ENDING(name, const_of)                                                                     \
    PUBLIC(File_##name)                                                                            \
    int PMPI_File_##name(MPI_File file, const_of void *buffer, MPI_Status *status)                 \
    {                                                                                              \
        (void)buffer;                                                                              \
        return split_end(file, status, __func__);                                                  \
    }

#define BOTH_COUNTS(form, name, where, write, const_of)                                            \
    form(name, where, write, const_of, int, ) form(name, where, write, const_of, MPI_Count, _c)
#define NOTHING
#define READ_AND_WRITE(form, read_name, write_name, where)                                         \
    BOTH_COUNTS(form, read_name, where, false, NOTHING)                                            \
    BOTH_COUNTS(form, write_name, where, true, const)

READ_AND_WRITE(BLOCKING, read, write, INDIVIDUAL)
READ_AND_WRITE(BLOCKING, read_all, write_all, INDIVIDUAL)
READ_AND_WRITE(BLOCKING, read_shared, write_shared, SHARED)
READ_AND_WRITE(BLOCKING, read_ordered, write_ordered, ORDERED)
READ_AND_WRITE(BLOCKING_AT, read_at, write_at, OFFSET)
READ_AND_WRITE(BLOCKING_AT, read_at_all, write_at_all, OFFSET)

READ_AND_WRITE(STARTING, iread, iwrite, INDIVIDUAL)
READ_AND_WRITE(STARTING, iread_all, iwrite_all, INDIVIDUAL)
READ_AND_WRITE(STARTING, iread_shared, iwrite_shared, SHARED)
READ_AND_WRITE(STARTING_AT, iread_at, iwrite_at, OFFSET)
READ_AND_WRITE(STARTING_AT, iread_at_all, iwrite_at_all, OFFSET)

READ_AND_WRITE(BEGINNING, read_all_begin, write_all_begin, INDIVIDUAL)
READ_AND_WRITE(BEGINNING, read_ordered_begin, write_ordered_begin, ORDERED)
READ_AND_WRITE(BEGINNING_AT, read_at_all_begin, write_at_all_begin, OFFSET)

ENDING(read_all_end, )
ENDING(read_ordered_end, )
ENDING(read_at_all_end, )
ENDING(write_all_end, const)
ENDING(write_ordered_end, const)
ENDING(write_at_all_end, const)
