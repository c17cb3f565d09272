/* entries.h: the names in a directory, read without an allocation: whoever cleans up must be able
 * to when there is no memory. */
#ifndef HARK_TRANSPORTS_ENTRIES_H
#define HARK_TRANSPORTS_ENTRIES_H

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "../src/store/descriptor.h"

struct entries {
    int fd; /* of the directory */
    ssize_t at, length;
    uint64_t bytes[512];
};

/* `flags`: O_NOFOLLOW or 0. False if there is no such directory; else to be closed. */
static inline bool entries_open(struct entries *e, int dir, const char *name, int flags)
{
    e->at = e->length = 0;
    e->fd = hark_descriptor_above(openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
    return e->fd >= 0;
}

/* The next name but `.` and `..`, valid until the next call; NULL: there are no more. */
static inline const char *entries_next(struct entries *e)
{
    for (;;) {
        if (e->at >= e->length) {
            e->at = 0;
            e->length = getdents64(e->fd, e->bytes, sizeof e->bytes);
            if (e->length <= 0) return NULL;
        }
        const struct dirent64 *d = (const void *)((const char *)e->bytes + e->at);
        e->at += d->d_reclen;
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0) return d->d_name;
    }
}

static inline void entries_close(struct entries *e)
{
    close(e->fd);
}

#endif
