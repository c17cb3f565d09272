/* directory_job.c: whose a directory store is, which its job file says. */
#include "descriptor.h"
#include "directory.h"
#include "file.h"
#include "image.h"
#include "lock.h"
#include "temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int hark_directory_say(
    struct directory *d, int status, const char *what, const char *name, const char *why)
{
    hark_file_say(d->store.error, what, d->path, name, why ? why : hark_file_why(errno));
    return status;
}

int hark_store_has_entries(int root)
{
    DIR *list = hark_file_list(root, ".");
    if (!list) return -1;
    int found = 0;
    for (struct dirent *e; !found && (e = readdir(list));)
        found = e->d_name[0] != '.' && strcmp(e->d_name, "tmp") != 0 &&
                strcmp(e->d_name, HARK_STORE_LOCK) != 0 && strcmp(e->d_name, "lost+found") != 0;
    closedir(list);
    return found;
}

static int has_images(int root)
{
    DIR *list = hark_file_list(root, ".");
    if (!list) return -1;
    int found = 0;
    for (struct dirent *e; found == 0 && (e = readdir(list));) {
        const char *text = e->d_name + 1;
        uint64_t rank;
        if (e->d_name[0] == 'r' && hark_file_number(&text, UINT32_MAX, &rank) == 0 && !*text)
            found = hark_directory_list_rank(root, e->d_name, NULL, 0);
    }
    closedir(list);
    return found;
}

/* Is the job file there, and ours? HARK_S_ENONE if there is none. */
static int check_job(struct directory *d)
{
    uint8_t bytes[HARK_IMAGE_JOB_FILE + 1]; /* one more, to see a file that is too long */
    char job[HARK_IMAGE_JOB_MAX + 1], text[160];
    uint32_t ranks = 0;
    int fd = hark_file_open(d->root, "job", O_RDONLY | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) return HARK_S_ENONE;
    if (fd < 0) return hark_directory_say(d, HARK_S_ESYSTEM, "cannot open", "job", NULL);
    int64_t got = hark_file_read(fd, bytes, sizeof bytes);
    if (got < 0) hark_directory_say(d, HARK_S_ESYSTEM, "cannot read", "job", NULL);
    close(fd);
    if (got < 0) return HARK_S_ESYSTEM;
    const char *wrong = hark_image_job_decode(bytes, (uint64_t)got, job, &ranks);
    if (wrong) return hark_directory_say(d, HARK_S_EDAMAGED, "store", "job", wrong);
    if (strcmp(job, d->job) == 0 && ranks == d->ranks) return HARK_S_OK;
    if (ranks != d->ranks)
        snprintf(
            text, sizeof text, "belongs to a job of %u processes, expected %u", ranks, d->ranks);
    else snprintf(text, sizeof text, "belongs to job \"%s\", expected \"%s\"", job, d->job);
    return hark_directory_say(d, HARK_S_EINVAL, "store", NULL, text);
}

/* Of several processes that do this at once one wins, since a link never replaces: the others find
 * its file. */
static int make_job(struct directory *d)
{
    uint8_t bytes[HARK_IMAGE_JOB_FILE];
    char name[40];
    struct iovec iov = {.iov_base = bytes, .iov_len = sizeof bytes};
    hark_image_job_encode(bytes, d->job, d->ranks);
    int tmp = hark_temporaries_open(d->root);
    int fd = tmp >= 0 ? hark_temporary_make(tmp, &d->number, name) : -1;
    if (fd < 0) {
        int status = hark_directory_say(d, HARK_S_ESYSTEM, "cannot make a file in", "tmp", NULL);
        if (tmp >= 0) close(tmp);
        return status;
    }
    int done = hark_file_write(fd, &iov, 1) == 0 && hark_file_sync(fd) == 0 ? 0 : -1;
    if (done == 0 && linkat(tmp, name, d->root, "job", 0) < 0 && errno != EEXIST)
        done = renameat(tmp, name, d->root, "job"); /* a file system without links */
    if (done == 0) done = hark_file_sync(d->root);
    int status =
        done == 0 ? HARK_S_OK : hark_directory_say(d, HARK_S_ESYSTEM, "cannot write", "job", NULL);
    unlinkat(tmp, name, 0);
    close(fd);
    close(tmp);
    return status;
}

int hark_directory_claim(struct directory *d, bool fresh)
{
    int status = check_job(d);
    if (status == HARK_S_ENONE) {
        int found = hark_store_has_entries(d->root);
        if (found < 0) return hark_directory_say(d, HARK_S_ESYSTEM, "cannot list", NULL, NULL);
        status = check_job(d); /* what was found may be a store that another process has made just
                                  now */
        if (found && status == HARK_S_ENONE)
            return hark_directory_say(d, HARK_S_EINVAL, "store", NULL,
                "is not empty and has no job file: not a store of hark");
    }
    if (status == HARK_S_ENONE) {
        status = make_job(d);
        if (status == HARK_S_OK) status = check_job(d);
        if (status == HARK_S_ENONE)
            return hark_directory_say(d, HARK_S_ESYSTEM, "store", NULL, "vanished");
    }
    if (status != HARK_S_OK || !fresh) return status;
    int found = has_images(d->root);
    if (found < 0) return hark_directory_say(d, HARK_S_ESYSTEM, "cannot list", NULL, NULL);
    return found ? hark_directory_say(d, HARK_S_EINVAL, "store", NULL,
                       "holds checkpoints already, expected a new or empty one")
                 : HARK_S_OK;
}

int hark_store_job(
    const char *path, char job[HARK_IMAGE_JOB_MAX + 1], uint32_t *ranks, char error[256])
{
    uint8_t bytes[HARK_IMAGE_JOB_FILE + 1]; /* one more, to see a file that is too long */
    const char *wrong = NULL;
    int root = hark_descriptor_above(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    int fd = root >= 0 ? hark_file_open(root, "job", O_RDONLY | O_NONBLOCK) : -1;
    int64_t got = fd >= 0 ? hark_file_read(fd, bytes, sizeof bytes) : -1;
    int status = got >= 0                              ? HARK_S_OK
                 : errno == ENOENT || errno == ENOTDIR ? HARK_S_ENONE
                                                       : HARK_S_ESYSTEM;
    if (got < 0)
        wrong =
            root >= 0 && errno == ENOENT ? "has no job file: not a store of hark" : strerror(errno);
    else if ((wrong = hark_image_job_decode(bytes, (uint64_t)got, job, ranks)) != NULL)
        status = HARK_S_EDAMAGED;
    if (wrong) hark_file_say(error, "store", path, got >= 0 ? "job" : NULL, wrong);
    if (fd >= 0) close(fd);
    if (root >= 0) close(root);
    return status;
}
