/* later.c: the name of an image that a later incarnation of its process may have given away. */
#include "later.h"
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

const char hark_later_why[] =
    "a later incarnation of the process has written one of this number: this one is of a past "
    "that was undone";

/* One that is damaged is nobody's. */
int hark_later_there(int root, int dir, const char *path, const struct hark_image_name *name)
{
    char detail[128];
    const char *why;
    const int fd = hark_file_open(dir, path, O_RDONLY | O_NONBLOCK);
    if (fd < 0) return errno == ENOENT ? 0 : -1;
    const int64_t writer = hark_image_writer(fd);
    int there = writer < 0 ? -1 : writer > name->writer, saved = errno;
    if (there > 0) {
        const int status = hark_image_verify(root, fd, name, detail, &why);
        saved = errno;
        if (status != HARK_S_OK) there = status == HARK_S_EDAMAGED ? 0 : -1;
    }
    close(fd);
    errno = saved;
    return there;
}

static bool links_unknown(int error)
{
    return error == EPERM || error == ENOTSUP || error == ENOSYS || error == EMLINK;
}

static bool same_file(int fd, int dir, const char *name)
{
    struct stat ours, named;
    return fstat(fd, &ours) == 0 && fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

/* A link never replaces. Whoever finds the name taken looks whose it is. What is left is a process
 * that stands still between this look and the rename, for which it must have found an image of a
 * still earlier incarnation: there is no call that replaces only what was looked at. */
int hark_later_name(int root, int tmp, const char *from, int fd, int to, const char *target,
    const struct hark_image_name *name)
{
    bool linked = linkat(tmp, from, to, target, 0) == 0;
    if (!linked && errno != EEXIST && !links_unknown(errno)) return HARK_S_ESYSTEM;
    /* The answer to a link may be lost on a network; then the second try finds the first. */
    if (!linked) linked = same_file(fd, to, target);
    if (linked) {
        (void)unlinkat(tmp, from, 0);
        return HARK_S_OK;
    }
    const int later = hark_later_there(root, to, target, name);
    if (later != 0) return later > 0 ? HARK_S_EINVAL : HARK_S_ESYSTEM;
    return renameat(tmp, from, to, target) < 0 ? HARK_S_ESYSTEM : HARK_S_OK;
}
