/* place.c: directories for tests, small disks, and a count of open descriptors. */
#include "place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

void place_make(char path[256])
{
    const char *base = getenv("TMPDIR");
    snprintf(path, 256, "%s/hark-test-XXXXXX", base ? base : "/tmp");
    if (mkdtemp(path)) return;
    perror(path);
    abort();
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st, (void)type, (void)where;
    return remove(path);
}

void place_remove(const char *path)
{
    (void)umount2(path, MNT_DETACH);
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void map(const char *file, const char *text)
{
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (write(fd, text, strlen(text)) < 0) perror(file);
    close(fd);
}

/* Mounts of our own: as root, or as anybody where user namespaces are allowed. */
static bool own_mounts(void)
{
    static int state;
    char text[64];
    unsigned uid = geteuid(), gid = getegid();
    if (state) return state > 0;
    state = -1;
    if (unshare(CLONE_NEWNS) < 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) return false;
        map("/proc/self/setgroups", "deny");
        snprintf(text, sizeof text, "0 %u 1", uid);
        map("/proc/self/uid_map", text);
        snprintf(text, sizeof text, "0 %u 1", gid);
        map("/proc/self/gid_map", text);
    }
    if (mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0) return false;
    state = 1;
    return true;
}

bool place_disk(const char *path, size_t bytes)
{
    char option[64];
    snprintf(option, sizeof option, "size=%zu", bytes);
    if (own_mounts() && mount("tmpfs", path, "tmpfs", 0, option) == 0) return true;
    fprintf(stderr,
        "\n*** SKIPPED: a test needs a small disk of its own, and mounting is not allowed here "
        "(%s)\n",
        strerror(errno));
    return false;
}

bool place_disk_readonly(const char *path)
{
    return mount("none", path, "none", MS_REMOUNT | MS_RDONLY, NULL) == 0;
}

bool place_disk_larger(const char *path, size_t bytes)
{
    char option[64];
    snprintf(option, sizeof option, "size=%zu", bytes);
    return mount("none", path, "none", MS_REMOUNT, option) == 0;
}

int place_count(const char *path)
{
    int count = 0;
    DIR *list = opendir(path);
    if (!list) return -1;
    for (struct dirent *e; (e = readdir(list));)
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(list);
    return count;
}

int place_descriptors(void)
{
    return place_count("/proc/self/fd");
}

void place_file_limit(size_t bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
}

void place_file_limit_off(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
}
