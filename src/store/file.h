/* file.h: whole reads and writes, and one clear line for what failed. Internal to src/store. */
#ifndef HARK_STORE_FILE_H
#define HARK_STORE_FILE_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* The system calls below begin again after EINTR; they return what the system call returns. */
int hark_file_open(int dir, const char *name, int flags);
int hark_file_sync(int fd);
/* Lets the disk begin with these bytes of a file, where the system can do that; promises nothing.
 */
void hark_file_begin(int fd, uint64_t from, uint64_t length);

/* Makes the file `name` for writing, mode 0600; EEXIST if there is one. Close it with
 * hark_file_close. */
int hark_file_create(int dir, const char *name);

/* 0 or -1 with errno. A close that reports an error (a quota, a network file system) is a failed
 * write. */
int hark_file_close(int fd);

/* Writes every byte of the `count` pieces, however many calls that takes; changes iov. 0, or -1
 * with errno. */
int hark_file_write(int fd, struct iovec *iov, size_t count);

/* Reads up to `length` bytes from the start of the file. Returns how many there were, or -1 with
 * errno. */
int64_t hark_file_read(int fd, void *at, uint64_t length);
/* The same, from `offset`. */
int64_t hark_file_read_from(int fd, void *at, uint64_t length, uint64_t offset);

/* The directory `name` of `dir`, to be listed and closed by closedir(); NULL with errno. */
DIR *hark_file_list(int dir, const char *name);

/* strerror(), and where there is one the remedy. */
const char *hark_file_why(int error);

/* "what DIR/NAME: why" into error; a long path loses its beginning, never the reason. `name` may be
 * NULL. */
void hark_file_say(
    char error[256], const char *what, const char *dir, const char *name, const char *why);

/* Reads digits without leading zeros that make a number up to `max`, and moves *text behind them.
 * Returns 0 and fills *number, or -1. */
int hark_file_number(const char **text, uint64_t max, uint64_t *number);

#endif
