/* Files: opening and closing them, and all that is not reading and writing. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- errors -----------------------------------------------------------------------------------
 */

int hark_mpi_file_invalid(MPI_File handle, const char *call)
{
    MPI_File null = MPI_FILE_NULL;
    return hark_mpi_error_of(hark_mpi_file_errhandler, &null, MPI_ERR_FILE, call, "%s",
        handle == MPI_FILE_NULL ? "the file is MPI_FILE_NULL"
                                : "the file is not valid: was it closed?");
}

int hark_mpi_file_class(int error)
{
    switch (error) {
    case 0: return MPI_SUCCESS;
    case EACCES:
    case EPERM: return MPI_ERR_ACCESS;
    case ENOENT: return MPI_ERR_NO_SUCH_FILE;
    case EEXIST: return MPI_ERR_FILE_EXISTS;
    case EROFS: return MPI_ERR_READ_ONLY;
    case ENAMETOOLONG:
    case ENOTDIR:
    case EISDIR:
    case ELOOP: return MPI_ERR_BAD_FILE;
    case ENOSPC: return MPI_ERR_NO_SPACE;
    case EDQUOT: return MPI_ERR_QUOTA;
    case EBUSY:
    case ETXTBSY: return MPI_ERR_FILE_IN_USE;
    case ENOSYS:
    case EOPNOTSUPP: return MPI_ERR_UNSUPPORTED_OPERATION;
    default: return MPI_ERR_IO;
    }
}

int hark_mpi_file_failed(struct file *f, int error, const char *what, const char *call)
{
    if (error == 0) return MPI_SUCCESS;
    return hark_mpi_error_on(
        &f->h.o, hark_mpi_file_class(error), call, "%s %s: %s", what, f->path, strerror(error));
}

/* Of a call that has no file (any more). */
static int failed_without(int code, const char *call, const char *path, const char *why)
{
    MPI_File null = MPI_FILE_NULL;
    return hark_mpi_error_of(hark_mpi_file_errhandler, &null, code, call, "%s: %s", path, why);
}

/* ---- what all processes of a file agree on ----------------------------------------------------
 */

struct span hark_mpi_file_span(struct file *f, long long value)
{
    long long both[2] = {-value, value};
    PMPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_LONG_LONG, MPI_MAX, HANDLE(MPI_Comm, f->comm));
    return (struct span){-both[0], both[1]};
}

int hark_mpi_file_worst(struct file *f, int error)
{
    return (int)hark_mpi_file_span(f, error).most;
}

/* ---- paths ------------------------------------------------------------------------------------
 */

/* Names may begin with the kind of file system, as ROMIO has it. */
static const char *without_prefix(const char *name)
{
    static const char *const prefixes[] = {
        "ufs:", "nfs:", "xfs:", "file:", "lustre:", "gpfs:", "panfs:", "testfs:"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) return name + strlen(prefixes[i]);
    return name;
}

/* The program may change its directory. NULL: the name is too long. */
static char *absolute(const char *name)
{
    char path[2 * PATH_MAX] = "";
    name = without_prefix(name);
    if (*name != '/' && getcwd(path, PATH_MAX) == NULL) return NULL;
    size_t at = strlen(path);
    if (at + 1 + strlen(name) >= sizeof path) return NULL;
    snprintf(path + at, sizeof path - at, "%s%s", at ? "/" : "", name);
    return strdup(path);
}

/* ---- the descriptor ---------------------------------------------------------------------------
 */

static int flags_of(int mode)
{
    int flags = O_CLOEXEC;
    flags |= mode & MPI_MODE_RDWR ? O_RDWR : mode & MPI_MODE_WRONLY ? O_WRONLY : O_RDONLY;
    if (mode & MPI_MODE_CREATE) flags |= O_CREAT;
    if (mode & MPI_MODE_EXCL) flags |= O_EXCL;
    return flags;
}

/* A process that executes again has no need to open a file until it comes to something that it had
 * not done before: meanwhile the file may be deleted. */
int hark_mpi_file_descriptor(struct file *f)
{
    if (f->fd >= 0) return f->fd;
    f->fd = open(f->path, flags_of(f->mode & ~(MPI_MODE_CREATE | MPI_MODE_EXCL)));
    if (f->fd < 0)
        hark_mpi_fatal(
            1, "after a failure, %s can not be opened again: %s", f->path, strerror(errno));
    return f->fd;
}

/* An errno. */
static int open_once(struct file *f, int mode)
{
    struct deed d = {.path = f->path, .does = DEED_OPEN, .at = mode};
    long long result;
    if (hark_mpi_file_done(&d, &result)) return (int)result;
    f->fd = open(f->path, flags_of(mode), 0666);
    int error = f->fd < 0 ? errno : 0;
    hark_mpi_file_did(&d, error);
    return error;
}

static int delete_once(const char *path)
{
    struct deed d = {.path = path, .does = DEED_DELETE};
    long long result;
    if (hark_mpi_file_done(&d, &result)) return (int)result;
    int error = unlink(path) < 0 ? errno : 0;
    hark_mpi_file_did(&d, error);
    return error;
}

/* Negative: an errno. */
static long long size_once(struct file *f)
{
    struct deed d = {.path = f->path, .does = DEED_SIZE};
    struct stat st;
    long long result;
    if (hark_mpi_file_done(&d, &result)) return result;
    result = fstat(hark_mpi_file_descriptor(f), &st) < 0 ? -errno : st.st_size;
    hark_mpi_file_did(&d, result);
    return result;
}

/* ---- opening ----------------------------------------------------------------------------------
 */

/* NULL, or what is wrong. */
static const char *wrong_mode(int mode)
{
    int access = mode & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);
    if (access != MPI_MODE_RDONLY && access != MPI_MODE_WRONLY && access != MPI_MODE_RDWR)
        return "the mode has to contain one of MPI_MODE_RDONLY, MPI_MODE_WRONLY, MPI_MODE_RDWR";
    if (access == MPI_MODE_RDONLY && mode & (MPI_MODE_CREATE | MPI_MODE_EXCL))
        return "MPI_MODE_RDONLY can not be combined with MPI_MODE_CREATE or MPI_MODE_EXCL";
    if (access == MPI_MODE_RDWR && mode & MPI_MODE_SEQUENTIAL)
        return "MPI_MODE_RDWR can not be combined with MPI_MODE_SEQUENTIAL";
    return NULL;
}

static struct file *make(struct comm *c, const char *name, int mode)
{
    struct file *f = hark_mpi_new(KIND_FILE, sizeof *f);
    f->fd = -1;
    f->mode = mode;
    f->path = absolute(name);
    f->h.errhandler = hark_mpi_errhandler_again(hark_mpi_file_errhandler);
    hark_mpi_file_view_reset(f);
    int context = hark_mpi_context_agree(c);
    if (context < 0) hark_mpi_fatal(1, "MPI_File_open: there is no context for one more file");
    c->group->o.references++;
    f->comm = hark_mpi_comm_make(c->group, NULL, (uint32_t)context);
    return f;
}

static void release(struct file *f)
{
    if (f->fd >= 0) close(f->fd);
    hark_mpi_comm_release(f->comm);
    hark_mpi_errhandler_release(f->h.errhandler);
    hark_mpi_file_view_release(f);
    free(f->path);
    hark_mpi_delete(&f->h.o);
}

/* The first process creates the file, then the others open it. An errno, the same in all. */
static int open_in_all(struct file *f)
{
    int first = f->comm->rank == 0 ? open_once(f, f->mode) : 0;
    int error = hark_mpi_file_worst(f, first);
    if (error) return error;
    int mine = f->comm->rank ? open_once(f, f->mode & ~(MPI_MODE_CREATE | MPI_MODE_EXCL)) : 0;
    return hark_mpi_file_worst(f, mine);
}

/* All processes begin at the end that the first one sees. */
static void go_to_end(struct file *f)
{
    long long size = f->comm->rank == 0 ? size_once(f) : 0;
    f->position = f->shared = hark_mpi_file_span(f, size).most;
}

/* The code of what is wrong, the same in all processes, and why. */
static int open_all(struct file *f, const char **why)
{
    int longest = hark_mpi_file_worst(f, f->path ? 0 : ENAMETOOLONG);
    struct span modes = hark_mpi_file_span(f, f->mode);
    *why = "the processes give different modes";
    if (modes.least != modes.most) return MPI_ERR_NOT_SAME;
    *why = wrong_mode(f->mode);
    if (*why) return MPI_ERR_AMODE;
    int error = longest ? longest : open_in_all(f);
    *why = strerror(error);
    if (error == 0 && f->mode & MPI_MODE_APPEND) go_to_end(f);
    return hark_mpi_file_class(error);
}

PUBLIC(File_open)
int PMPI_File_open(MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file)
{
    (void)info;
    NEED_COMM(c, comm);
    NEED(c, name && file, MPI_ERR_ARG, "filename or fh is NULL");
    NEED(c, c->remote == NULL, MPI_ERR_COMM, "the communicator is an intercommunicator");
    const char *why;
    struct file *f = make(c, name, mode);
    int code = open_all(f, &why);
    *file = code ? MPI_FILE_NULL : HANDLE(MPI_File, &f->h);
    if (code == MPI_SUCCESS) return code;
    release(f);
    return failed_without(code, __func__, name, why);
}

PUBLIC(File_close)
int PMPI_File_close(MPI_File *file)
{
    NEED_OPEN();
    NEED(NULL, file, MPI_ERR_ARG, "fh is NULL");
    NEED_FILE(f, *file);
    FILE_NEED(f, f->split == NULL, MPI_ERR_OTHER, "%s has not ended yet", f->split + 1);
    int error = 0;
    if (f->fd >= 0) close(f->fd);
    f->fd = -1;
    hark_mpi_file_worst(f, 0); /* nobody uses it any more */
    if (f->mode & MPI_MODE_DELETE_ON_CLOSE)
        error = hark_mpi_file_worst(f, f->comm->rank == 0 ? delete_once(f->path) : 0);
    int code = hark_mpi_file_failed(f, error, "deleting", __func__);
    release(f);
    *file = MPI_FILE_NULL;
    return code;
}

PUBLIC(File_delete)
int PMPI_File_delete(const char *name, MPI_Info info)
{
    (void)info;
    NEED_OPEN();
    NEED(NULL, name, MPI_ERR_ARG, "filename is NULL");
    char *path = absolute(name);
    int error = path ? delete_once(path) : ENAMETOOLONG;
    free(path);
    if (error == 0) return MPI_SUCCESS;
    return failed_without(hark_mpi_file_class(error), __func__, name, strerror(error));
}

/* ---- size -------------------------------------------------------------------------------------
 */

/* By the first process; the same in all. */
static int resize_once(struct file *f, enum deed_kind does, MPI_Offset size)
{
    struct deed d = {.path = f->path, .does = does, .at = size};
    long long error = 0;
    if (f->comm->rank == 0 && !hark_mpi_file_done(&d, &error)) {
        int fd = hark_mpi_file_descriptor(f);
        if (does == DEED_ALLOCATE) error = size ? posix_fallocate(fd, 0, size) : 0;
        else error = ftruncate(fd, size) < 0 ? errno : 0;
        hark_mpi_file_did(&d, error);
    }
    return hark_mpi_file_worst(f, (int)error);
}

static int resize(struct file *f, enum deed_kind does, MPI_Offset size, const char *call)
{
    struct span sizes = hark_mpi_file_span(f, size);
    const char *why = NULL;
    if (size < 0) why = "the size is negative";
    if (sizes.least != sizes.most) why = "the processes give different sizes";
    if (why) return hark_mpi_error_on(&f->h.o, MPI_ERR_ARG, call, "%s", why);
    if (f->mode & MPI_MODE_RDONLY)
        return hark_mpi_error_on(
            &f->h.o, MPI_ERR_READ_ONLY, call, "%s was opened with MPI_MODE_RDONLY", f->path);
    return hark_mpi_file_failed(f, resize_once(f, does, size), "resizing", call);
}

PUBLIC(File_set_size)
int PMPI_File_set_size(MPI_File file, MPI_Offset size)
{
    NEED_FILE(f, file);
    return resize(f, DEED_RESIZE, size, __func__);
}

PUBLIC(File_preallocate)
int PMPI_File_preallocate(MPI_File file, MPI_Offset size)
{
    NEED_FILE(f, file);
    return resize(f, DEED_ALLOCATE, size, __func__);
}

PUBLIC(File_get_size)
int PMPI_File_get_size(MPI_File file, MPI_Offset *size)
{
    NEED_FILE(f, file);
    FILE_NEED(f, size, MPI_ERR_ARG, "size is NULL");
    long long result = size_once(f);
    if (result < 0)
        return hark_mpi_file_failed(f, (int)-result, "asking for the size of", __func__);
    *size = result;
    return MPI_SUCCESS;
}

/* ---- what it was opened with ------------------------------------------------------------------
 */

PUBLIC(File_get_group)
int PMPI_File_get_group(MPI_File file, MPI_Group *group)
{
    NEED_FILE(f, file);
    return PMPI_Comm_group(HANDLE(MPI_Comm, f->comm), group);
}

PUBLIC(File_get_amode)
int PMPI_File_get_amode(MPI_File file, int *mode)
{
    NEED_FILE(f, file);
    FILE_NEED(f, mode, MPI_ERR_ARG, "amode is NULL");
    *mode = f->mode;
    return MPI_SUCCESS;
}

/* No hint changes anything here: none is in use. */
PUBLIC(File_set_info)
int PMPI_File_set_info(MPI_File file, MPI_Info info)
{
    NEED_FILE(f, file);
    FILE_NEED(f, info == MPI_INFO_NULL || INFO(info), MPI_ERR_INFO,
        "the info object is not valid: was it freed?");
    return MPI_SUCCESS;
}

PUBLIC(File_get_info)
int PMPI_File_get_info(MPI_File file, MPI_Info *info)
{
    NEED_FILE(f, file);
    FILE_NEED(f, info, MPI_ERR_ARG, "info is NULL");
    *info = (MPI_Info)((struct object *)hark_mpi_info_make())->handle;
    return MPI_SUCCESS;
}

/* ---- file pointers ----------------------------------------------------------------------------
 */

/* Negative: there is no such place. */
static MPI_Offset sought(struct file *f, MPI_Offset now, MPI_Offset offset, int whence)
{
    switch (whence) {
    case MPI_SEEK_SET: return offset;
    case MPI_SEEK_CUR: return now + offset;
    case MPI_SEEK_END: return hark_mpi_file_view_length(f, size_once(f)) + offset;
    default: return -1;
    }
}

static int no_place(struct file *f, int whence, MPI_Offset offset, const char *call)
{
    if (whence != MPI_SEEK_SET && whence != MPI_SEEK_CUR && whence != MPI_SEEK_END)
        return hark_mpi_error_on(&f->h.o, MPI_ERR_ARG, call,
            "whence is %d: MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END is expected", whence);
    return hark_mpi_error_on(&f->h.o, MPI_ERR_ARG, call,
        "the offset is %lld, which is before the beginning of the view", (long long)offset);
}

PUBLIC(File_seek)
int PMPI_File_seek(MPI_File file, MPI_Offset offset, int whence)
{
    NEED_FILE(f, file);
    MPI_Offset to = sought(f, f->position, offset, whence);
    if (to < 0) return no_place(f, whence, offset, __func__);
    f->position = to;
    return MPI_SUCCESS;
}

PUBLIC(File_get_position)
int PMPI_File_get_position(MPI_File file, MPI_Offset *position)
{
    NEED_FILE(f, file);
    FILE_NEED(f, position, MPI_ERR_ARG, "offset is NULL");
    *position = f->position;
    return MPI_SUCCESS;
}

/* All processes see the end that the first one sees. */
PUBLIC(File_seek_shared)
int PMPI_File_seek_shared(MPI_File file, MPI_Offset offset, int whence)
{
    NEED_FILE(f, file);
    struct span offsets = hark_mpi_file_span(f, offset), whences = hark_mpi_file_span(f, whence);
    FILE_NEED(f, offsets.least == offsets.most && whences.least == whences.most, MPI_ERR_NOT_SAME,
        "the processes give different places");
    MPI_Offset to = f->comm->rank == 0 ? sought(f, f->shared, offset, whence) : -1;
    to = hark_mpi_file_span(f, to).most;
    if (to < 0) return no_place(f, whence, offset, __func__);
    f->shared = to;
    return MPI_SUCCESS;
}

PUBLIC(File_get_position_shared)
int PMPI_File_get_position_shared(MPI_File file, MPI_Offset *position)
{
    NEED_FILE(f, file);
    FILE_NEED(f, position, MPI_ERR_ARG, "offset is NULL");
    *position = f->shared;
    return MPI_SUCCESS;
}

/* ---- consistency ------------------------------------------------------------------------------
 */

PUBLIC(File_set_atomicity)
int PMPI_File_set_atomicity(MPI_File file, int flag)
{
    NEED_FILE(f, file);
    struct span flags = hark_mpi_file_span(f, flag != 0);
    FILE_NEED(f, flags.least == flags.most, MPI_ERR_NOT_SAME, "the processes give different flags");
    f->atomic = flag != 0;
    return MPI_SUCCESS;
}

PUBLIC(File_get_atomicity)
int PMPI_File_get_atomicity(MPI_File file, int *flag)
{
    NEED_FILE(f, file);
    FILE_NEED(f, flag, MPI_ERR_ARG, "flag is NULL");
    *flag = f->atomic;
    return MPI_SUCCESS;
}

/* What was written is seen by all processes of this machine when the write returns; this brings it
 * to the device. A special file has none. */
PUBLIC(File_sync)
int PMPI_File_sync(MPI_File file)
{
    NEED_FILE(f, file);
    FILE_NEED(f, f->split == NULL, MPI_ERR_OTHER, "%s has not ended yet", f->split + 1);
    int error = f->fd >= 0 && fsync(f->fd) < 0 && errno != EINVAL ? errno : 0;
    return hark_mpi_file_failed(f, error, "syncing", __func__);
}
