/* wrap.c: makes the n-th call of the library into the system go wrong. */
#include "wrap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static struct {
    int what;
    enum fault_kind kind;
    unsigned n;
    atomic_uint calls; /* a program has threads */
    const char *mark;
    atomic_bool marked;
    int error;
    bool interrupted;
    char trace[64];
} fault;

void fault_arm(int what, enum fault_kind kind, unsigned n, int error)
{
    fault.what = what;
    fault.kind = kind;
    fault.n = n;
    fault.calls = 0;
    fault.error = error;
    fault.interrupted = false;
    memset(fault.trace, 0, sizeof fault.trace);
}

void fault_mark(const char *path)
{
    fault.mark = path;
}

const char *fault_trace(void)
{
    return fault.trace;
}

unsigned fault_disarm(void)
{
    fault.what = 0;
    return fault.calls;
}

/* True if the call must fail now, with errno. `may`: it is one that a signal can interrupt. */
static bool fails(int what, bool may, char letter)
{
    if (!(fault.what & what)) return false;
    unsigned call = ++fault.calls;
    if (call < sizeof fault.trace) fault.trace[call - 1] = letter;
    /* By whoever comes first behind the n-th: its own thread may be late, and another one's failure
     * ends the process. */
    if (call >= fault.n && fault.mark && !fault.marked) {
        (void)!mknod(fault.mark, S_IFREG | 0600, 0);
        fault.marked = true;
    }
    if (fault.kind == FAULT_TRICKLE) {
        fault.interrupted = may && !fault.interrupted;
        errno = EINTR;
        return fault.interrupted;
    }
    if (fault.kind == FAULT_KILL_BEFORE && call == fault.n) kill(getpid(), SIGKILL);
    errno = fault.error;
    return (fault.kind == FAULT_FAIL && call == fault.n) ||
           (fault.kind == FAULT_FAIL_ON && call >= fault.n);
}

static bool dies(void)
{
    return fault.what && fault.kind == FAULT_KILL_AFTER && fault.calls == fault.n;
}

static int after(int result)
{
    if (dies()) kill(getpid(), SIGKILL);
    return result;
}

static _Atomic unsigned low;

/* Notes a standard stream's number where a descriptor or a directory is given. */
static void look_at(int fd)
{
    if (fd >= STDIN_FILENO && fd <= STDERR_FILENO) low++;
}

unsigned fault_low_descriptors(void)
{
    return low;
}

#define WRAP(type, name, parameters, arguments, may, letter, first)                                \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        look_at(first);                                                                            \
        return fails(FAULT_SYSTEM, may, letter) ? -1 : after(__real_##name arguments);             \
    }

WRAP(int, fsync, (int fd), (fd), true, 's', fd)
WRAP(int, flock, (int fd, int how), (fd, how), true, 'l', fd)
WRAP(int, mkdirat, (int dir, const char *name, mode_t mode), (dir, name, mode), false, 'm', dir)
WRAP(int, unlinkat, (int dir, const char *name, int flags), (dir, name, flags), false, 'u', dir)
WRAP(int, renameat, (int from, const char *old, int to, const char *name), (from, old, to, name),
    false, 'r', from)
WRAP(int, linkat, (int from, const char *old, int to, const char *name, int flags),
    (from, old, to, name, flags), false, 'k', from)

/* The build asks for 64-bit file offsets, so these three go by their 64-bit names;
 * test_order_of_syncs fails if they are not seen. */
int __real_openat64(int dir, const char *name, int flags, ...);
int __wrap_openat64(int dir, const char *name, int flags, ...);
int __wrap_openat64(int dir, const char *name, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    look_at(dir);
    return fails(FAULT_SYSTEM, true, 'o') ? -1 : after(__real_openat64(dir, name, flags, mode));
}

ssize_t __real_writev(int fd, const struct iovec *iov, int count);
ssize_t __wrap_writev(int fd, const struct iovec *iov, int count);
ssize_t __wrap_writev(int fd, const struct iovec *iov, int count)
{
    look_at(fd);
    if (fails(FAULT_SYSTEM, true, 'w')) return -1;
    if (dies()) {
        if (write(fd, iov->iov_base, iov->iov_len / 2) < 0) abort();
        kill(getpid(), SIGKILL);
    }
    if (fault.what && fault.kind == FAULT_TRICKLE) {
        size_t few = 1 + fault.calls % 7;
        return write(fd, iov->iov_base, iov->iov_len < few ? iov->iov_len : few);
    }
    return __real_writev(fd, iov, count);
}

ssize_t __real_pread64(int fd, void *at, size_t length, off_t offset);
ssize_t __wrap_pread64(int fd, void *at, size_t length, off_t offset);
ssize_t __wrap_pread64(int fd, void *at, size_t length, off_t offset)
{
    look_at(fd);
    if (fails(FAULT_SYSTEM, true, 'p')) return -1;
    size_t few = fault.what && fault.kind == FAULT_TRICKLE ? 1 + fault.calls % 7 : length;
    return __real_pread64(fd, at, length < few ? length : few, offset);
}

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
    return fails(FAULT_MEMORY, false, '*') ? NULL : __real_malloc(bytes);
}

int __real_posix_memalign(void **at, size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **at, size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **at, size_t alignment, size_t bytes)
{
    return fails(FAULT_MEMORY, false, '*') ? ENOMEM : __real_posix_memalign(at, alignment, bytes);
}

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails(FAULT_MEMORY, false, '*') ? NULL : __real_calloc(count, bytes);
}

void *__real_realloc(void *old, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes)
{
    return fails(FAULT_MEMORY, false, '*') ? NULL : __real_realloc(old, bytes);
}

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
    return fails(FAULT_MEMORY, false, '*') ? NULL : __real_strdup(text);
}

void *__real_mmap64(void *at, size_t length, int rights, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t length, int rights, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t length, int rights, int flags, int fd, off_t offset)
{
    return fails(FAULT_MEMORY, false, '*') ? MAP_FAILED
                                           : __real_mmap64(at, length, rights, flags, fd, offset);
}

/* What allocates within the C library. */
#define WRAP_MEMORY(type, name, parameters, arguments)                                             \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return fails(FAULT_MEMORY, false, '*') ? NULL : __real_##name arguments;                   \
    }

WRAP_MEMORY(char *, strndup, (const char *text, size_t most), (text, most))
WRAP_MEMORY(char *, realpath, (const char *path, char *to), (path, to))
WRAP_MEMORY(FILE *, open_memstream, (char **at, size_t *length), (at, length))
WRAP_MEMORY(FILE *, fopen64, (const char *path, const char *mode), (path, mode))
WRAP_MEMORY(DIR *, fdopendir, (int fd), (fd))
WRAP_MEMORY(DIR *, opendir, (const char *path), (path))

typedef int (*visit)(const char *, const struct stat64 *, int, struct FTW *);
int __real_nftw64(const char *path, visit each, int open, int flags);
int __wrap_nftw64(const char *path, visit each, int open, int flags);
int __wrap_nftw64(const char *path, visit each, int open, int flags)
{
    return fails(FAULT_MEMORY, false, '*') ? -1 : __real_nftw64(path, each, open, flags);
}

int __wrap_asprintf(char **to, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **to, const char *format, ...)
{
    va_list list;
    if (fails(FAULT_MEMORY, false, '*')) return -1; /* and *to is not defined */
    va_start(list, format);
    int n = vasprintf(to, format, list);
    va_end(list);
    return n;
}
