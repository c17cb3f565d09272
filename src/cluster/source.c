#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_all(int to, const char *at, size_t length)
{
    while (length > 0) {
        ssize_t n = write(to, at, length);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        at += n;
        length -= (size_t)n;
    }
    return true;
}

static bool copy_all(int from, int to)
{
    char bytes[1 << 16];
    for (;;) {
        ssize_t n = read(from, bytes, sizeof bytes);
        if (n == 0) return true;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 || !write_all(to, bytes, (size_t)n)) return false;
    }
}

/* The descriptor of a copy in its place; the one there was is closed. -1: errno. */
static int copied(int from)
{
    int to = memfd_create("hark-source", MFD_CLOEXEC);
    if (to >= 0 && !copy_all(from, to)) {
        int why = errno;
        close(to);
        to = -1;
        errno = why;
    }
    int why = errno;
    close(from);
    errno = why;
    return to;
}

int hark_cluster_source_open(struct cluster_source *s, const char *name)
{
    struct stat st;
    *s = (struct cluster_source){
        .name = name, .path = name, .descriptor = open(name, O_RDONLY | O_CLOEXEC)};
    if (s->descriptor < 0) return -1;
    if (fstat(s->descriptor, &st) == 0 && !S_ISREG(st.st_mode)) {
        s->descriptor = copied(s->descriptor);
        if (s->descriptor < 0) return -1;
        snprintf(s->copy, sizeof s->copy, "/proc/self/fd/%d", s->descriptor);
        s->path = s->copy;
    }
    if (pread(s->descriptor, s->head, sizeof s->head - 1, 0) >= 0) return 0;
    int why = errno;
    close(s->descriptor);
    errno = why;
    return -1;
}

void hark_cluster_source_close(struct cluster_source *s)
{
    close(s->descriptor);
}

bool hark_cluster_source_is_matrix(const struct cluster_source *s)
{
    return strncasecmp(s->head, "%%MatrixMarket", 14) == 0 || memcmp(s->head, "\x1f\x8b", 2) == 0;
}

void hark_cluster_source_rename(const struct cluster_source *s, char *error, size_t room)
{
    size_t path = strlen(s->path), name = strlen(s->name), rest = strlen(error);
    if (s->path == s->name || strncmp(error, s->path, path) != 0) return;
    rest -= path;
    if (name >= room) name = room - 1;
    if (rest >= room - name) rest = room - name - 1;
    memmove(error + name, error + path, rest);
    memcpy(error, s->name, name);
    error[name + rest] = 0;
}
