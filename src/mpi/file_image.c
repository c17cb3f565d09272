/* Open files in checkpoints. After a restart each has its handle, its view and its file pointers
 * again. The file itself is not part of a checkpoint: what was done with it since then is in the
 * journal (file_once.c). Views have datatypes that the program makes before hark_restarted. */
#include <unistd.h>

#include "file.h"

/* Of a file, without its path. */
struct record {
    uint32_t number, comm;
    int32_t mode, etype, filetype, path; /* path: its length */
    bool atomic, external;
    bool split; /* a split collective call has begun: its name follows */
    MPI_Offset position, shared, displacement;
    /* Of the two datatypes, to know them again. */
    uint64_t etype_size, filetype_size;
    int64_t filetype_extent;
    MPI_Status split_status;
};

static struct file *file_at(uint32_t number)
{
    return hark_mpi_made(&hark_mpi_slots[KIND_FILE], number, KIND_FILE);
}

/* ---- into the image ---------------------------------------------------------------------------
 */

static int32_t number_of_type(struct type *t)
{
    return MPI_Type_c2f(HANDLE(MPI_Datatype, t));
}

static void put_file(const struct file *f, void (*put)(const void *from, size_t length))
{
    struct record r;
    memset(&r, 0, sizeof r);
    r.number = f->h.o.number;
    r.comm = f->comm->o.number;
    r.mode = f->mode;
    r.etype = number_of_type(f->etype);
    r.filetype = number_of_type(f->filetype);
    r.path = (int32_t)strlen(f->path);
    r.atomic = f->atomic;
    r.external = f->external;
    r.split = f->split != NULL;
    r.position = f->position;
    r.shared = f->shared;
    r.displacement = f->displacement;
    r.etype_size = f->etype->size;
    r.filetype_size = f->filetype->size;
    r.filetype_extent = f->filetype->extent;
    r.split_status = f->split_status;
    put(&r, sizeof r);
    put(f->path, (size_t)r.path);
    hark_mpi_errhandler_put(f->h.errhandler, put);
    if (f->split) put(f->split, sizeof f->split_name);
}

void hark_mpi_files_put(void (*put)(const void *from, size_t length))
{
    uint32_t next = hark_mpi_slots[KIND_FILE].next, count = 0;
    for (uint32_t i = HARK_MPI_FIRST_MADE; i < next; i++) count += file_at(i) != NULL;
    put(&count, sizeof count);
    hark_mpi_errhandler_put(hark_mpi_file_errhandler, put);
    for (uint32_t i = HARK_MPI_FIRST_MADE; i < next; i++)
        if (file_at(i)) put_file(file_at(i), put);
    hark_mpi_file_once_trimmed();
}

/* ---- out of it --------------------------------------------------------------------------------
 */

static struct type *type_of(int32_t number, uint64_t size, const char *path)
{
    struct type *t = TYPE(MPI_Type_f2c(number));
    if (t && t->size == size) return t;
    hark_mpi_fatal(1,
        "the view of %s in the checkpoint has a datatype that the program made after "
        "hark_restarted: make datatypes before it",
        path);
}

/* One that the program opens before hark_restarted is open already, unless it is another file. */
static void keep_descriptor(struct file *f, int32_t mode, const char *path)
{
    if (f->path && f->mode == mode && strcmp(f->path, path) == 0) return;
    if (f->path && f->fd >= 0) close(f->fd);
    f->fd = -1;
}

static void fill(struct file *f, const struct record *r, char *path)
{
    struct type *etype = type_of(r->etype, r->etype_size, path);
    struct type *filetype = type_of(r->filetype, r->filetype_size, path);
    if (filetype->extent != r->filetype_extent) (void)type_of(r->filetype, UINT64_MAX, path);
    hark_mpi_file_view_use(f, etype, filetype);
    keep_descriptor(f, r->mode, path);
    free(f->path);
    f->path = path;
    f->mode = r->mode;
    f->atomic = r->atomic;
    f->external = r->external;
    f->position = r->position;
    f->shared = r->shared;
    f->displacement = r->displacement;
    f->split_status = r->split_status;
    f->comm = hark_mpi_made(&hark_mpi_slots[KIND_COMM], r->comm, KIND_COMM);
    if (f->comm == NULL) hark_mpi_fatal(1, "the checkpoint lacks the communicator of a file");
}

static void get_file(void (*get)(void *to, size_t length))
{
    struct record r;
    get(&r, sizeof r);
    char *path = hark_mpi_memory((size_t)r.path + 1);
    get(path, (size_t)r.path);
    path[r.path] = 0;
    struct file *f = file_at(r.number);
    if (f == NULL) hark_mpi_fatal(1, "the checkpoint has the file %s twice, or not at all", path);
    if (f->h.o.is_new) f->fd = -1;
    f->h.errhandler = hark_mpi_errhandler_get(get);
    fill(f, &r, path);
    f->split = NULL;
    if (r.split) {
        get(f->split_name, sizeof f->split_name);
        f->split = f->split_name;
    }
}

/* Its datatypes may go. */
void hark_mpi_file_drop_view(struct object *file)
{
    hark_mpi_file_view_release((struct file *)file);
}

/* One that was closed after hark_restarted. Its communicator has gone with the others. */
void hark_mpi_file_forget(struct object *file)
{
    struct file *f = (struct file *)file;
    if (f->fd >= 0) close(f->fd);
    free(f->path);
    hark_mpi_delete(&f->h.o);
}

void hark_mpi_files_get(void (*get)(void *to, size_t length))
{
    uint32_t count;
    get(&count, sizeof count);
    hark_mpi_file_errhandler = hark_mpi_errhandler_get(get);
    for (; count > 0; count--) get_file(get);
}
