/* descriptor.h: no descriptor of ours is ever standard input, output or error.
 *
 * A program may have closed these, before or after it called us. The system gives their numbers to
 * whatever is opened next, and what the program prints would then be written into it: into an
 * image, a socket, shared memory.
 */
#ifndef HARK_STORE_DESCRIPTOR_H
#define HARK_STORE_DESCRIPTOR_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* The descriptor `fd` as the system gave it, or, where that is 0, 1 or 2, a copy of it that is not,
 * which is close-on-exec; the low one is closed then. -1 is handed through. On failure (EMFILE)
 * `fd` is closed, and -1 is returned with errno; else errno stays as it was. */
static inline int hark_descriptor_above(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO) return fd;
    int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), why = errno;
    close(fd);
    errno = why;
    return above;
}

static inline void hark_descriptor_release(int held)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (held >> fd & 1) close(fd);
}

/* Occupies those of the numbers 0, 1 and 2 that are free, for a library that opens what it likes.
 * Reading and writing them fails with EBADF, as if they were closed still. Returns a bit for each,
 * for hark_descriptor_release(), or -1 with errno. */
static inline int hark_descriptor_hold(void)
{
    int held = 0;
    for (;;) {
        int fd = open("/", O_PATH | O_CLOEXEC), why = errno;
        if (fd >= 0 && fd <= STDERR_FILENO) {
            held |= 1 << fd;
            continue;
        }
        if (fd >= 0) close(fd);
        if (fd >= 0 || why == EMFILE) return held; /* EMFILE: no number is free, low ones neither */
        hark_descriptor_release(held);
        errno = why;
        return -1;
    }
}

#endif
