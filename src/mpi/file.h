/* file.h: files of MPI-IO, on those of POSIX: inside file*.c.
 *
 * What a process does with a file is done once, also if the process dies and executes again: see
 * file_once.c.
 */
#ifndef HARK_MPI_FILE_H
#define HARK_MPI_FILE_H

#include "internal.h"

struct file {
    struct held h;
    struct comm *comm; /* of its own: its processes */
    char *path;        /* absolute */
    int fd;            /* -1: not open yet: see hark_mpi_file_descriptor() */
    int mode;          /* MPI_MODE_... */
    bool atomic;
    MPI_Offset position; /* the individual file pointer, in etypes from the view's beginning */
    MPI_Offset shared;   /* the shared one: the same number in all processes, see file_call.c */
    /* The view. Each byte of the file is at displacement + a byte of the filetype's tiling. */
    MPI_Offset displacement;
    struct type *etype, *filetype;
    bool external; /* the data representation is "external32" */
    /* A split collective call that has begun: PMPI_File_read_all_begin ... ; NULL: none. */
    const char *split;
    char split_name[48]; /* which `split` points to */
    MPI_Status split_status;
};

/* `struct file *f` of a handle, or the error. */
#define NEED_FILE(f, handle)                                                                       \
    NEED_OPEN();                                                                                   \
    struct file *f = (struct file *)FILE_OF(handle);                                               \
    if (__builtin_expect(f == NULL, 0)) return hark_mpi_file_invalid(handle, __func__)
#define FILE_FAIL(f, code, ...) return hark_mpi_error_on(&(f)->h.o, code, __func__, __VA_ARGS__)
#define FILE_NEED(f, condition, code, ...)                                                         \
    do {                                                                                           \
        if (__builtin_expect(!(condition), 0)) FILE_FAIL(f, code, __VA_ARGS__);                    \
    } while (0)
int hark_mpi_file_invalid(MPI_File handle, const char *call);

/* ---- file.c -----------------------------------------------------------------------------------
 */

/* The MPI class of an errno; MPI_SUCCESS of 0. */
int hark_mpi_file_class(int error);
/* Raises the error that a system call has failed with, if it is not 0. */
int hark_mpi_file_failed(struct file *f, int error, const char *what, const char *call);
/* The open file; -1 with errno. */
int hark_mpi_file_descriptor(struct file *f);
/* An errno, or a negative number: the least and the greatest of all processes. */
struct span {
    long long least, most;
};
struct span hark_mpi_file_span(struct file *f, long long value);
/* The first error of any process: an errno. */
int hark_mpi_file_worst(struct file *f, int error);

/* ---- file_view.c ------------------------------------------------------------------------------
 */

void hark_mpi_file_view_reset(struct file *f); /* bytes from the beginning of the file */
void hark_mpi_file_view_release(struct file *f);
void hark_mpi_file_view_use(struct file *f, struct type *etype, struct type *filetype);
/* Where byte `at` of the view is in the file. The bytes of a view are those of the data in the
 * file: with "external32" these are not as many as in memory. */
MPI_Offset hark_mpi_file_place(const struct file *f, MPI_Offset at);
size_t hark_mpi_file_etype_size(const struct file *f); /* bytes of an etype in the file */
/* A tile of the view: its bytes and where they are. */
const struct type *hark_mpi_file_tile(const struct file *f);
/* Etypes of the view in a file of `size` bytes that begin before its end. */
MPI_Offset hark_mpi_file_view_length(const struct file *f, MPI_Offset size);

/* ---- file_move.c ------------------------------------------------------------------------------
 */

/* `count` elements at `buffer` from or to the view, from etype `at` of it. *bytes: how many of
 * memory were moved, fewer at the end of the file. 0, or an errno. */
struct elements_of {
    void *buffer;
    size_t count;
    const struct type *type;
};
int hark_mpi_file_read(struct file *f, MPI_Offset at, struct elements_of e, size_t *bytes);
int hark_mpi_file_write(struct file *f, MPI_Offset at, struct elements_of e, size_t *bytes);

/* ---- file_once.c ------------------------------------------------------------------------------
 */

/* What is done to a file of this path, as a key of the journal. */
enum deed_kind {
    DEED_OPEN = 1,
    DEED_DELETE,
    DEED_RESIZE,
    DEED_ALLOCATE,
    DEED_SIZE,
    DEED_READ,
    DEED_WRITE
};

/* A digest and one word more. */
static inline uint64_t hark_mpi_file_mix(uint64_t digest, uint64_t word)
{
    digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return digest ^ digest >> 29;
}

struct deed {
    const char *path;
    enum deed_kind does;
    MPI_Offset at;
    size_t length;
    uint64_t layout;     /* a digest of where the bytes are in the file */
    const void *content; /* `length` bytes that are written; or NULL */
};
/* Was it done by an earlier execution? *result is its result then. */
bool hark_mpi_file_done(const struct deed *d, long long *result);
void hark_mpi_file_did(const struct deed *d, long long result);
/* The same of a read: the result is a number of bytes, or a negative errno, and `data` has the
 * bytes that were read. */
bool hark_mpi_file_done_read(const struct deed *d, void *data, long long *result);
void hark_mpi_file_did_read(const struct deed *d, const void *data, long long result);
/* A checkpoint is taken: the journal is trimmed. */
void hark_mpi_file_once_trimmed(void);

#endif
