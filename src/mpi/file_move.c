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

/* An access of a file: a read or write of the program. It moves its bytes at once, or in several
 * pieces. */
struct access {
    struct file *f;
    MPI_Offset from, to; /* of the file: its first byte, and behind its last */
    bool write, locked;
};

/* In atomic mode others wait. The kernel frees the lock of a process that dies. */
static int lock(int fd, short kind, MPI_Offset from, MPI_Offset to)
{
    struct flock l = {.l_type = kind, .l_whence = SEEK_SET, .l_start = from, .l_len = to - from};
    while (fcntl(fd, F_OFD_SETLKW, &l) < 0)
        if (errno != EINTR) return errno;
    return 0;
}

/* All that the access covers is locked before its first byte is moved, up to its end. */
static int lock_once(struct access *a, int fd)
{
    if (!a->f->atomic || a->locked) return 0;
    int error = lock(fd, a->write ? F_WRLCK : F_RDLCK, a->from, a->to);
    a->locked = error == 0;
    return error;
}

static struct access begin_access(struct file *f, bool write, MPI_Offset at, size_t length)
{
    return (struct access){.f = f,
        .from = hark_mpi_file_place(f, at),
        .to = hark_mpi_file_place(f, at + (MPI_Offset)length - 1) + 1,
        .write = write};
}

static void end_access(struct access *a)
{
    if (a->locked) lock(a->f->fd, F_UNLCK, a->from, a->to);
}

/* Bytes [at, at + length) of the view, piece by piece: `visit` gets their distance from what is
 * returned. */
static MPI_Offset base_of(const struct file *f, MPI_Offset at)
{
    const struct type *t = hark_mpi_file_tile(f);
    return f->displacement + at / (MPI_Offset)t->size * t->extent;
}

static void walk_view(const struct file *f, MPI_Offset at, size_t length,
    void (*visit)(void *argument, ptrdiff_t at, size_t length), void *argument)
{
    const struct type *t = hark_mpi_file_tile(f);
    size_t skip = (size_t)(at % (MPI_Offset)t->size);
    size_t tiles = (skip + length + t->size - 1) / t->size;
    hark_mpi_type_walk(t, tiles, skip, length, visit, argument);
}

static int move(struct access *a, MPI_Offset at, uint8_t *data, size_t length, size_t *done)
{
    struct file *f = a->f;
    *done = 0;
    if (length == 0 || hark_mpi_file_tile(f)->size == 0) return 0;
    struct pieces p = {.fd = hark_mpi_file_descriptor(f), .write = a->write, .data = data};
    if (p.fd < 0) return errno;
    int error = lock_once(a, p.fd);
    if (error) return error;
    p.base = base_of(f, at);
    walk_view(f, at, length, move_piece, &p);
    *done = p.done;
    return p.error;
}

/* ---- once -------------------------------------------------------------------------------------
 */

static void note_piece(void *argument, ptrdiff_t at, size_t length)
{
    uint64_t *digest = argument;
    *digest = hark_mpi_file_mix(hark_mpi_file_mix(*digest, (uint64_t)at), length);
}

/* The same bytes from the same place on may be two deeds: other views put them elsewhere. */
static uint64_t layout_of(const struct file *f, MPI_Offset at, size_t length)
{
    uint64_t digest = 0;
    if (length && hark_mpi_file_tile(f)->size) {
        digest = hark_mpi_file_mix(1, (uint64_t)base_of(f, at));
        walk_view(f, at, length, note_piece, &digest);
    }
    return digest;
}

static struct deed deed_of(
    const struct file *f, enum deed_kind does, MPI_Offset at, size_t length, const void *content)
{
    return (struct deed){
        f->path, does, hark_mpi_file_place(f, at), length, layout_of(f, at, length), content};
}

static int write_once(
    struct access *a, MPI_Offset at, const uint8_t *data, size_t length, size_t *done)
{
    struct deed d = deed_of(a->f, DEED_WRITE, at, length, data);
    long long result;
    *done = length;
    if (hark_mpi_file_done(&d, &result) && result >= 0) return 0;
    int error = move(a, at, (uint8_t *)(uintptr_t)data, length, done);
    /* One that failed is tried again; it is kept because the next ones may have to follow it. */
    hark_mpi_file_did(&d, error ? -error : (long long)*done);
    return error;
}

static int read_once(struct access *a, MPI_Offset at, uint8_t *data, size_t length, size_t *done)
{
    struct deed d = deed_of(a->f, DEED_READ, at, length, NULL);
    long long result;
    if (!hark_mpi_file_done_read(&d, data, &result)) {
        int error = move(a, at, data, length, done);
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

static int write_packed(struct access *a, MPI_Offset at, struct elements_of e, size_t *bytes)
{
    size_t all = bytes_of(e), done = 0;
    uint8_t *piece = room_for(all);
    int error = 0;
    for (; *bytes < all && error == 0; *bytes += done) {
        size_t n = all - *bytes < PIECE ? all - *bytes : PIECE;
        hark_mpi_pack(e.type, e.count, e.buffer, *bytes, piece, n);
        error = write_once(a, at + (MPI_Offset)*bytes, piece, n, &done);
    }
    free(piece);
    return error;
}

static int read_packed(struct access *a, MPI_Offset at, struct elements_of e, size_t *bytes)
{
    size_t all = bytes_of(e), done = 0, n = 0;
    uint8_t *piece = room_for(all);
    int error = 0;
    while (*bytes < all && error == 0 && done == n) {
        n = all - *bytes < PIECE ? all - *bytes : PIECE;
        error = read_once(a, at + (MPI_Offset)*bytes, piece, n, &done);
        hark_mpi_unpack(e.type, e.count, e.buffer, *bytes, piece, done);
        *bytes += done;
    }
    free(piece);
    return error;
}

/* "external32": all at once. */
static int write_external(struct access *a, MPI_Offset at, struct elements_of e, size_t *bytes)
{
    size_t length = e.count * e.type->external, done;
    uint8_t *converted = hark_mpi_memory(length);
    hark_mpi_pack_external(e.type, e.count, e.buffer, converted);
    int error = write_once(a, at, converted, length, &done);
    if (e.type->external) *bytes = done / e.type->external * e.type->size;
    free(converted);
    return error;
}

static int read_external(struct access *a, MPI_Offset at, struct elements_of e, size_t *bytes)
{
    size_t length = e.count * e.type->external, done;
    uint8_t *converted = hark_mpi_memory(length);
    int error = read_once(a, at, converted, length, &done);
    size_t whole = e.type->external ? done / e.type->external : 0;
    hark_mpi_unpack_external(e.type, whole, e.buffer, converted);
    *bytes = whole * e.type->size;
    free(converted);
    return error;
}

/* Bytes in the file. */
static size_t length_of(const struct file *f, struct elements_of e)
{
    return f->external ? e.count * e.type->external : bytes_of(e);
}

int hark_mpi_file_read(struct file *f, MPI_Offset at, struct elements_of e, size_t *bytes)
{
    at *= (MPI_Offset)hark_mpi_file_etype_size(f);
    *bytes = 0;
    if (bytes_of(e) == 0) return 0;
    struct access a = begin_access(f, false, at, length_of(f, e));
    int error;
    if (f->external) error = read_external(&a, at, e, bytes);
    else if (!hark_mpi_type_is_block(e.type, e.count)) error = read_packed(&a, at, e, bytes);
    else error = read_once(&a, at, block_of(e), bytes_of(e), bytes);
    end_access(&a);
    return error;
}

int hark_mpi_file_write(struct file *f, MPI_Offset at, struct elements_of e, size_t *bytes)
{
    at *= (MPI_Offset)hark_mpi_file_etype_size(f);
    *bytes = 0;
    if (bytes_of(e) == 0) return 0;
    struct access a = begin_access(f, true, at, length_of(f, e));
    int error;
    if (f->external) error = write_external(&a, at, e, bytes);
    else if (!hark_mpi_type_is_block(e.type, e.count)) error = write_packed(&a, at, e, bytes);
    else error = write_once(&a, at, block_of(e), bytes_of(e), bytes);
    end_access(&a);
    return error;
}
