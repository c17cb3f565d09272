/* slow_disk.c: loaded before the C library into an agent, it makes the disk of its host slow: a
 * directory named by a whole path goes after SLOW_DISK_MS. */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

int unlinkat(int dir, const char *name, int flags)
{
    int (*next)(int, const char *, int);
    const char *ms = getenv("SLOW_DISK_MS");
    *(void **)(&next) = dlsym(RTLD_NEXT, "unlinkat");
    if (ms && flags == AT_REMOVEDIR && name[0] == '/') (void)poll(NULL, 0, atoi(ms));
    return next(dir, name, flags);
}
