/* file.h: the bytes of an input as a file that has a path, without a disk. */
#ifndef HARK_TEST_FUZZ_FILE_H
#define HARK_TEST_FUZZ_FILE_H

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

static int file_fd = -1;
static char file_path[64];

/* The descriptor of the one file, which now holds these bytes; read from its beginning by whoever
 * opens file_path. */
static inline int file_set(const void *at, size_t length)
{
    if (file_fd < 0) file_fd = memfd_create("fuzz", MFD_CLOEXEC);
    snprintf(file_path, sizeof file_path, "/proc/self/fd/%d", file_fd);
    if (file_fd < 0 || ftruncate(file_fd, 0) < 0 ||
        pwrite(file_fd, at, length, 0) != (ssize_t)length)
        abort();
    return file_fd;
}

/* One line that begins with `name`, or it is no error text. */
static inline void file_error_ok(const char *error, size_t room, const char *name)
{
    if (memchr(error, 0, room) == NULL || strncmp(error, name, strlen(name)) != 0)
        finding("an error without a file: %.80s", error);
    for (const char *c = error; *c; c++)
        if (*c < ' ' || *c > '~') finding("an error that is not one line of text");
}

#endif
