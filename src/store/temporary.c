/* temporary.c: files being written, DIR/tmp/PID.N, each locked (flock) by its writer. Many
 * processes use one store at once, so what lies there is removed only if nobody holds its lock any
 * more. */
#include "temporary.h"
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int hark_temporaries_open(int root)
{
    int fd = hark_file_open(root, "tmp", O_RDONLY | O_DIRECTORY);
    if (fd >= 0 || errno != ENOENT) return fd;
    if (mkdirat(root, "tmp", 0700) < 0 && errno != EEXIST) return -1;
    return hark_file_open(root, "tmp", O_RDONLY | O_DIRECTORY);
}

/* A new locked file in tmp. Between its making and its locking somebody who cleans up may take it
 * for a leftover and remove it: then it has no name any more and we make another. */
int hark_temporary_make(int tmp, uint32_t *number, char name[40])
{
    for (unsigned tries = 0; tries < 1000; tries++) {
        struct stat st;
        snprintf(name, 40, "%ld.%u", (long)getpid(), (*number)++);
        int fd = hark_file_create(tmp, name), locked;
        if (fd < 0 && errno == EEXIST) continue;
        if (fd < 0) return -1;
        do locked = flock(fd, LOCK_EX);
        while (locked < 0 && errno == EINTR);
        if (locked == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0) return fd;
        int saved = errno;
        close(fd);
        if (locked < 0) {
            unlinkat(tmp, name, 0);
            errno = saved;
            return -1;
        }
    }
    errno = EEXIST;
    return -1;
}

/* Removes what crashed writers left. Best effort: a leftover harms nobody but the disk. */
void hark_temporaries_clean(int root)
{
    DIR *list = hark_file_list(root, "tmp");
    if (!list) return;
    for (struct dirent *e; (e = readdir(list));) {
        struct stat locked, named;
        if (e->d_name[0] == '.') continue;
        int fd = hark_file_open(dirfd(list), e->d_name, O_RDWR | O_NONBLOCK);
        if (fd < 0) continue;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &locked) == 0 &&
            fstatat(dirfd(list), e->d_name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
            locked.st_ino == named.st_ino)
            unlinkat(dirfd(list), e->d_name, 0);
        close(fd);
    }
    closedir(list);
}
