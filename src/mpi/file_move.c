/* Reading and writing: bytes between memory and the view of a file. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "derive.h"
#include "file.h"

/* ---- pieces of the file -----------------------------------------------------------------------
 */

struct pieces {
    int fd;
    bool write;
    MPI_Offset base;
    uint8_t *data;
    size_t done;
    int error;
    bool ended; /* of the file */
};

static void move_piece(void *argument, ptrdiff_t at, size_t length)
{
    struct pieces *p = argument;
    off_t place = (off_t)(p->base + at);
    while (length && p->error == 0 && !p->ended) {
        ssize_t n =
            p->write ? pwrite(p->fd, p->data, length, place) : pread(p->fd, p->data, length, place);
        if (n < 0 && errno != EINTR) p->error = errno;
        if (n == 0) p->ended = true;
        if (n <= 0) continue;
        p->data += n;
        p->done += (size_t)n;
        place += n;
        length -= (size_t)n;
    }
}

/* An access of a file in atomic mode: others wait. The kernel frees the lock of a process that
 * dies. */
static int lock(int fd, short kind, MPI_Offset from, MPI_Offset to)
{
    struct flock l = {.l_type = kind, .l_whence = SEEK_SET, .l_start = from, .l_len = to - from};
    while (fcntl(fd, F_OFD_SETLKW, &l) < 0)
        if (errno != EINTR) return errno;
    return 0;
}

/* Bytes [at, at + length) of the view. */
static int move(
    struct file *f, MPI_Offset at, uint8_t *data, size_t length, bool write, size_t *done)
{
    const struct type *t = hark_mpi_file_tile(f);
    *done = 0;
    if (length == 0 || t->size == 0) return 0;
    struct pieces p = {.fd = hark_mpi_file_descriptor(f), .write = write, .data = data};
    if (p.fd < 0) return errno;
    MPI_Offset size = (MPI_Offset)t->size, from = hark_mpi_file_place(f, at);
    MPI_Offset to = hark_mpi_file_place(f, at + (MPI_Offset)length - 1) + 1;
    size_t skip = (size_t)(at % size), tiles = (skip + length + t->size - 1) / t->size;
    int error = f->atomic ? lock(p.fd, write ? F_WRLCK : F_RDLCK, from, to) : 0;
    if (error) return error;
    p.base = f->displacement + at / size * t->extent;
    hark_mpi_type_walk(t, tiles, skip, length, move_piece, &p);
    if (f->atomic) lock(p.fd, F_UNLCK, from, to);
    *done = p.done;
    return p.error;
}

/* ---- once -------------------------------------------------------------------------------------
 */

static struct deed deed_of(
    const struct file *f, enum deed_kind does, MPI_Offset at, size_t length, const void *content)
{
    const struct type *t = hark_mpi_file_tile(f);
    uint64_t view = (uint64_t)f->displacement ^ (uint64_t)t->extent << 24 ^ t->size << 44;
    return (struct deed){f->path, does, hark_mpi_file_place(f, at), length, view, content};
}

static int write_once(
    struct file *f, MPI_Offset at, const uint8_t *data, size_t length, size_t *done)
{
    struct deed d = deed_of(f, DEED_WRITE, at, length, data);
    long long result;
    *done = length;
    if (hark_mpi_file_done(&d, &result)) return 0;
    int error = move(f, at, (uint8_t *)(uintptr_t)data, length, true, done);
    if (error == 0) hark_mpi_file_did(&d, (long long)*done);
    return error;
}

static int read_once(struct file *f, MPI_Offset at, uint8_t *data, size_t length, size_t *done)
{
    struct deed d = deed_of(f, DEED_READ, at, length, NULL);
    long long result;
    if (!hark_mpi_file_done_read(&d, data, &result)) {
        int error = move(f, at, data, length, false, done);
        result = error ? -error : (long long)*done;
        hark_mpi_file_did_read(&d, data, result);
    }
    *done = result < 0 ? 0 : (size_t)result;
    return result < 0 ? (int)-result : 0;
}

/* ---- elements of memory -----------------------------------------------------------------------
 */

/* Bytes that are packed at once, where the elements in memory have gaps. */
enum { PIECE = 1 << 20 };

static size_t bytes_of(struct elements_of e)
{
    return e.count * e.type->size;
}

static uint8_t *block_of(struct elements_of e)
{
    return hark_mpi_type_first(e.type, e.buffer);
}

/* Memory that is no more than needed for a piece. */
static uint8_t *room_for(size_t bytes)
{
    return hark_mpi_memory(bytes < PIECE ? bytes : PIECE);
}

static int write_packed(struct file *f, MPI_Offset at, struct elements_of e, size_t *bytes)
{
    size_t all = bytes_of(e), done = 0;
    uint8_t *piece = room_for(all);
    int error = 0;
    for (; *bytes < all && error == 0; *bytes += done) {
        size_t n = all - *bytes < PIECE ? all - *bytes : PIECE;
        hark_mpi_pack(e.type, e.count, e.buffer, *bytes, piece, n);
        error = write_once(f, at + (MPI_Offset)*bytes, piece, n, &done);
    }
    free(piece);
    return error;
}

static int read_packed(struct file *f, MPI_Offset at, struct elements_of e, size_t *bytes)
{
    size_t all = bytes_of(e), done = 0, n = 0;
    uint8_t *piece = room_for(all);
    int error = 0;
    while (*bytes < all && error == 0 && done == n) {
        n = all - *bytes < PIECE ? all - *bytes : PIECE;
        error = read_once(f, at + (MPI_Offset)*bytes, piece, n, &done);
        hark_mpi_unpack(e.type, e.count, e.buffer, *bytes, piece, done);
        *bytes += done;
    }
    free(piece);
    return error;
}

/* "external32": all at once. */
static int write_external(struct file *f, MPI_Offset at, struct elements_of e, size_t *bytes)
{
    size_t length = e.count * e.type->external, done;
    uint8_t *converted = hark_mpi_memory(length);
    hark_mpi_pack_external(e.type, e.count, e.buffer, converted);
    int error = write_once(f, at, converted, length, &done);
    if (e.type->external) *bytes = done / e.type->external * e.type->size;
    free(converted);
    return error;
}

static int read_external(struct file *f, MPI_Offset at, struct elements_of e, size_t *bytes)
{
    size_t length = e.count * e.type->external, done;
    uint8_t *converted = hark_mpi_memory(length);
    int error = read_once(f, at, converted, length, &done);
    size_t whole = e.type->external ? done / e.type->external : 0;
    hark_mpi_unpack_external(e.type, whole, e.buffer, converted);
    *bytes = whole * e.type->size;
    free(converted);
    return error;
}

int hark_mpi_file_read(struct file *f, MPI_Offset at, struct elements_of e, size_t *bytes)
{
    at *= (MPI_Offset)hark_mpi_file_etype_size(f);
    *bytes = 0;
    if (bytes_of(e) == 0) return 0;
    if (f->external) return read_external(f, at, e, bytes);
    if (!hark_mpi_type_is_block(e.type, e.count)) return read_packed(f, at, e, bytes);
    return read_once(f, at, block_of(e), bytes_of(e), bytes);
}

int hark_mpi_file_write(struct file *f, MPI_Offset at, struct elements_of e, size_t *bytes)
{
    at *= (MPI_Offset)hark_mpi_file_etype_size(f);
    *bytes = 0;
    if (bytes_of(e) == 0) return 0;
    if (f->external) return write_external(f, at, e, bytes);
    if (!hark_mpi_type_is_block(e.type, e.count)) return write_packed(f, at, e, bytes);
    return write_once(f, at, block_of(e), bytes_of(e), bytes);
}
