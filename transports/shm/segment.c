/* segment.c: see segment.h. */
#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "../../src/store/descriptor.h"
#include "../entries.h"

#define DIRECTORY "/dev/shm"
#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

/* ---- names ----------------------------------------------------------------------------------- */

static int put_process(char *at, size_t room, struct process p)
{
    if (p.rank == HARK_RECOVERY) return snprintf(at, room, ".R.%u", p.inc);
    return snprintf(at, room, ".%u.%u", p.rank, p.inc);
}

void segment_bell_name(struct segment_name *name, const char *job, struct process of)
{
    int n = snprintf(name->path, sizeof name->path, DIRECTORY "/hark-%s", job);
    put_process(name->path + n, sizeof name->path - (size_t)n, of);
}

void segment_ring_name(
    struct segment_name *name, const char *job, struct process from, struct process to)
{
    segment_bell_name(name, job, from);
    size_t n = strlen(name->path);
    put_process(name->path + n, sizeof name->path - n, to);
}

void segment_lent_name(
    struct segment_name *name, const char *job, struct process of, uint32_t number)
{
    segment_bell_name(name, job, of);
    size_t n = strlen(name->path);
    snprintf(name->path + n, sizeof name->path - n, ".L.%u", number);
}

/* Reads ".RANK.INC". Returns what follows, or NULL. */
static const char *get_process(const char *at, struct process *p)
{
    unsigned long number;
    char *end;
    if (at[0] != '.') return NULL;
    if (at[1] == 'R') {
        p->rank = HARK_RECOVERY;
        end = (char *)(uintptr_t)(at + 2);
    } else {
        number = strtoul(at + 1, &end, 10);
        if (end == at + 1 || number >= HARK_RECOVERY) return NULL;
        p->rank = (uint32_t)number;
    }
    if (*end != '.') return NULL;
    at = end + 1;
    number = strtoul(at, &end, 10);
    if (end == at || number > UINT32_MAX) return NULL;
    p->inc = (uint32_t)number;
    return end;
}

/* Is what follows "hark-JOB" the name of something that belongs to an older incarnation? */
static bool is_older(const char *rest, struct process than)
{
    struct process from, to;
    rest = get_process(rest, &from);
    if (!rest) return false;
    if (from.rank == than.rank && from.inc < than.inc) return true;
    if (!*rest || !get_process(rest, &to)) return false;
    return to.rank == than.rank && to.inc < than.inc;
}

/* Removes the job's segments, all (than NULL) or the older ones. */
static void remove_some(const char *job, const struct process *than)
{
    char prefix[64];
    int n = snprintf(prefix, sizeof prefix, "hark-%s", job);
    struct entries e;
    if (!entries_open(&e, AT_FDCWD, DIRECTORY, 0)) return;
    for (const char *name = entries_next(&e); name; name = entries_next(&e)) {
        if (strncmp(name, prefix, (size_t)n) != 0 || name[n] != '.') continue;
        if (!than || is_older(name + n, *than)) unlinkat(e.fd, name, 0);
    }
    entries_close(&e);
}

void segment_remove_older(const char *job, struct process than)
{
    remove_some(job, &than);
}

void segment_sweep(const char *job)
{
    if (!job || !job[0] || strlen(job) > 40 || strchr(job, '.') || strchr(job, '/')) return;
    remove_some(job, NULL);
}

void segment_remove(const struct segment_name *name)
{
    unlink(name->path);
}

/* ---- memory ---------------------------------------------------------------------------------- */

int segment_reserve(void *at, uint64_t bytes)
{
    if (bytes == 0 || madvise(at, (size_t)bytes, MADV_POPULATE_WRITE) == 0) return 0;
    if (errno == EINVAL) return 0; /* a kernel that cannot say: hope, as everybody does */
    segment_empty(at, bytes);      /* what of it was there */
    return -1;
}

bool segment_memory(uint64_t *all, uint64_t *free)
{
    struct statvfs s;
    if (statvfs(DIRECTORY, &s) != 0) return false;
    *all = s.f_blocks * s.f_frsize;
    *free = s.f_bavail * s.f_frsize;
    return true;
}

bool segment_leaves(uint64_t bytes, uint64_t leave)
{
    uint64_t all, free;
    return leave == 0 || !segment_memory(&all, &free) || free >= bytes + leave;
}

/* A program's limit of the size of files is no reason to end it, as the kernel would by a signal.
 */
static int resize(int fd, uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur >= bytes)
        return ftruncate(fd, (off_t)bytes);
    errno = EFBIG;
    return -1;
}

void *segment_make(uint64_t bytes, uint64_t reserved, int *descriptor)
{
    int fd = hark_descriptor_above(open(DIRECTORY, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (fd < 0) return NULL;
    void *at = MAP_FAILED;
    if (resize(fd, bytes) == 0)
        at = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED && segment_reserve(at, reserved) == 0) {
        *descriptor = fd;
        return at;
    }
    int why = at == MAP_FAILED ? errno : ENOSPC;
    if (at != MAP_FAILED) munmap(at, (size_t)bytes);
    close(fd);
    errno = why;
    return NULL;
}

void *segment_make_spare(uint64_t bytes, uint64_t leave, int *descriptor)
{
    uint64_t all, free;
    if (!segment_memory(&all, &free)) return NULL;
    errno = ENOSPC;
    if (free < bytes + all / 4 + leave) return NULL;
    void *at = segment_make(bytes, bytes, descriptor);
    /* Where the kernel could not say whether the memory is there, this does. */
    if (at && fallocate(*descriptor, 0, 0, (off_t)bytes) != 0) {
        int why = errno;
        segment_unmap(at, bytes);
        close(*descriptor);
        errno = why;
        return NULL;
    }
    return at;
}

int segment_publish(int descriptor, const struct segment_name *name)
{
    char self[40];
    snprintf(self, sizeof self, "/proc/self/fd/%d", descriptor);
    int status = linkat(AT_FDCWD, self, AT_FDCWD, name->path, AT_SYMLINK_FOLLOW);
    int why = errno;
    close(descriptor);
    errno = why;
    return status;
}

void *segment_map(const struct segment_name *name, uint64_t *bytes)
{
    struct stat st;
    void *at = NULL;
    int fd = hark_descriptor_above(open(name->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (fd < 0) return NULL;
    if (fstat(fd, &st) == 0) {
        if (!S_ISREG(st.st_mode) || st.st_size <= 0) {
            errno = EBADMSG;
        } else {
            at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            if (at == MAP_FAILED) at = NULL;
            *bytes = (uint64_t)st.st_size;
        }
    }
    int why = errno;
    close(fd);
    errno = why;
    return at;
}

void segment_empty(void *at, uint64_t bytes)
{
    (void)madvise(at, (size_t)bytes, MADV_REMOVE);
}

void segment_unmap(void *at, uint64_t bytes)
{
    if (at) munmap(at, (size_t)bytes);
}
