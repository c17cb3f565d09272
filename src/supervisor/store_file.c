#include "store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int hark_sup_store_file(const char *store, const char *name, int flags)
{
    char *path = NULL;
    struct stat st;
    if (asprintf(&path, "%s/%s", store, name) < 0) {
        errno = ENOMEM;
        return -1;
    }
    /* a FIFO of that name would wait for its other end */
    const int fd = open(path, flags | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, 0600);
    int why = fd >= 0 || errno != ENXIO ? errno : EINVAL;
    free(path);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) return fd;
    if (fd >= 0) {
        close(fd);
        why = EINVAL;
    }
    errno = why;
    return -1;
}

FILE *hark_sup_store_stream(const char *store, const char *name, const char *mode)
{
    const int fd =
        hark_sup_store_file(store, name, *mode == 'r' ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC);
    FILE *f = fd >= 0 ? fdopen(fd, mode) : NULL;
    if (f || fd < 0) return f;
    const int why = errno;
    close(fd);
    errno = why;
    return NULL;
}

const char *hark_sup_store_file_why(int error)
{
    return error == EINVAL || error == ELOOP ? "it is no regular file" : strerror(error);
}
