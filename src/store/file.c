/* file.c: whole reads and writes, and one clear line for what failed. */
#include "file.h"

#include "descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int hark_file_open(int dir, const char *name, int flags)
{
    int fd;
    do fd = openat(dir, name, flags | O_CLOEXEC | O_NOFOLLOW, 0);
    while (fd < 0 && errno == EINTR);
    return hark_descriptor_above(fd);
}

int hark_file_create(int dir, const char *name)
{
    int fd;
    do fd = openat(dir, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
    while (fd < 0 && errno == EINTR);
    return hark_descriptor_above(fd);
}

void hark_file_begin(int fd, uint64_t from, uint64_t length)
{
#ifdef SYNC_FILE_RANGE_WRITE
    (void)sync_file_range(fd, (off64_t)from, (off64_t)length, SYNC_FILE_RANGE_WRITE);
#else
    (void)fd, (void)from, (void)length;
#endif
}

int hark_file_sync(int fd)
{
    int result;
    do result = fsync(fd);
    while (result < 0 && errno == EINTR);
    return result;
}

int hark_file_close(int fd)
{
    /* After EINTR the descriptor is gone on Linux; closing again could hit somebody else's. */
    return close(fd) < 0 && errno != EINTR ? -1 : 0;
}

int hark_file_write(int fd, struct iovec *iov, size_t count)
{
    while (count > 0) {
        if (iov->iov_len == 0) {
            iov++, count--;
            continue;
        }
        ssize_t done = writev(fd, iov, count > 64 ? 64 : (int)count);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return -1;
        if (done == 0) {
            errno = EIO;
            return -1;
        }
        size_t left = (size_t)done;
        while (left > 0 && left >= iov->iov_len) {
            left -= iov->iov_len;
            iov++, count--;
        }
        if (left > 0) {
            iov->iov_base = (char *)iov->iov_base + left;
            iov->iov_len -= left;
        }
    }
    return 0;
}

int64_t hark_file_read(int fd, void *at, uint64_t length)
{
    return hark_file_read_from(fd, at, length, 0);
}

int64_t hark_file_read_from(int fd, void *at, uint64_t length, uint64_t offset)
{
    uint64_t have = 0;
    if (length > INT64_MAX || length > SIZE_MAX || offset > INT64_MAX - length) {
        errno = EFBIG;
        return -1;
    }
    while (have < length) {
        ssize_t got = pread(fd, (char *)at + have, (size_t)(length - have), (off_t)(offset + have));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        have += (uint64_t)got;
    }
    return (int64_t)have;
}

DIR *hark_file_list(int dir, const char *name)
{
    int fd = hark_file_open(dir, name, O_RDONLY | O_DIRECTORY);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && !list) close(fd);
    return list;
}

const char *hark_file_why(int error)
{
    return error == EFBIG ? "File too large: over the file size limit (ulimit -f)"
                          : strerror(error);
}

void hark_file_say(
    char error[256], const char *what, const char *dir, const char *name, const char *why)
{
    const int widest = 110;
    char path[PATH_MAX + 300];
    int length = snprintf(path, sizeof path, "%s%s%s", dir, name ? "/" : "", name ? name : "");
    if (length < 0 || length >= (int)sizeof path) length = (int)strlen(path);
    if (length > widest) snprintf(error, 256, "%s ...%s: %s", what, path + length - widest, why);
    else snprintf(error, 256, "%s %s: %s", what, path, why);
}

int hark_file_number(const char **text, uint64_t max, uint64_t *number)
{
    const char *at = *text;
    uint64_t value = 0;
    if (*at < '0' || *at > '9' || (at[0] == '0' && at[1] >= '0' && at[1] <= '9')) return -1;
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (value > (max - digit) / 10 || digit > max) return -1;
        value = value * 10 + digit;
    }
    *text = at;
    *number = value;
    return 0;
}
