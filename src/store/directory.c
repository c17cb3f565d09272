/* directory.c: the directory store.
 *
 *     DIR/job           whose it is: directory_job.c
 *     DIR/r7/42         image 42 of rank 7
 *     DIR/r7/X.blocks   blocks that images of rank 7 refer to: table.h
 *     DIR/tmp/PID.N     being written: temporary.c */
#include "descriptor.h"
#include "directory.h"
#include "file.h"
#include "image.h"
#include "increment.h"
#include "later.h"
#include "temporary.h"
#include "unused.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { COPIED = 1 << 20 }; /* bytes at a time */

/* ---- images ---------------------------------------------------------------------------------- */

static int check(
    struct directory *d, uint32_t rank, uint64_t id, char name[64], struct hark_image_name *wanted)
{
    snprintf(name, 64, "r%u/%llu", rank, (unsigned long long)id);
    if (rank >= d->ranks)
        return hark_directory_say(
            d, HARK_S_EINVAL, "cannot name an image", name, "the store has fewer processes");
    if (id == 0)
        return hark_directory_say(d, HARK_S_EINVAL, "cannot name an image", name, "ids begin at 1");
    *wanted = (struct hark_image_name){
        .job = d->job, .ranks = d->ranks, .rank = rank, .id = id, .writer = d->writer};
    return HARK_S_OK;
}

/* The directory of a rank, made if need be. Also one that was there already may have been made by a
 * process that died before it could sync the root, so the root is synced once by each handle. */
static int open_rank(struct directory *d, uint32_t rank)
{
    char name[16];
    snprintf(name, sizeof name, "r%u", rank);
    bool made = mkdirat(d->root, name, 0700) == 0;
    if (!made && errno != EEXIST) return -1;
    int fd = hark_file_open(d->root, name, O_RDONLY | O_DIRECTORY);
    if (fd < 0 || (!made && d->ready == rank)) return fd;
    if (hark_file_sync(d->root) < 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    d->ready = rank;
    return fd;
}

/* What is written into a new file, and the name that it then gets; the name may be filled in only
 * when all is written. */
struct content {
    int (*write)(struct content *c, int fd, const char **why);
    struct hark_plan *plan; /* of an image by blocks */
    const struct hark_image_name *wanted;
    const struct hark_section *section;
    uint32_t count;
    int from, root;          /* of an image that is a file already; where it goes */
    bool (*asked)(void *of); /* is it wanted still, now that it is written? NULL: it is */
    void *of;
    char target[HARK_IMAGE_FILE_NAME];
};

static int put_whole(struct content *c, int fd, const char **why)
{
    return hark_image_write(fd, c->wanted, c->section, c->count, why);
}

static int put_blocks(struct content *c, int fd, const char **why)
{
    return hark_plan_blocks(c->plan, fd, c->target, why);
}

static int put_file(struct content *c, int fd, const char **why)
{
    static _Thread_local char detail[128];
    int status = hark_image_verify(c->root, c->from, c->wanted, detail, why);
    if (status != HARK_S_OK) return status;
    uint8_t *piece = malloc(COPIED);
    int64_t n = -1;
    for (uint64_t at = 0; piece; at += (uint64_t)n) {
        n = hark_file_read_from(c->from, piece, COPIED, at);
        struct iovec iov = {.iov_base = piece, .iov_len = n > 0 ? (size_t)n : 0};
        if (n > 0 && hark_file_write(fd, &iov, 1) < 0) n = -1;
        if (n <= 0) break;
    }
    if (piece == NULL) *why = "no memory";
    free(piece);
    return n == 0 ? HARK_S_OK : HARK_S_ESYSTEM;
}

static int put_table(struct content *c, int fd, const char **why)
{
    return hark_plan_table(c->plan, fd, c->wanted, why);
}

/* Gives the file in tmp its name while it is still locked: a name in tmp without a lock would be
 * anybody's to remove. */
static int give_name(
    struct directory *d, struct content *c, int tmp, const char *name, int fd, int to)
{
    const bool is_image = c->write != put_blocks; /* files of blocks of one name are the same */
    if (is_image && c->wanted->writer)
        return hark_later_name(d->root, tmp, name, fd, to, c->target, c->wanted);
    return renameat(tmp, name, to, c->target) < 0 ? HARK_S_ESYSTEM : HARK_S_OK;
}

/* Writes, syncs, gives the name, syncs; the locked temporary is closed in any case, and removed on
 * failure. */
static int place(struct directory *d, struct content *c, int tmp, int to, const char *path)
{
    char name[40];
    const char *why = NULL;
    int fd = hark_temporary_make(tmp, &d->number, name);
    if (fd < 0) return hark_directory_say(d, HARK_S_ESYSTEM, "cannot make a file in", "tmp", NULL);
    int status = c->write(c, fd, &why);
    if (status == HARK_S_OK && hark_file_sync(fd) < 0) status = HARK_S_ESYSTEM;
    if (status == HARK_S_OK && c->asked && !c->asked(c->of)) {
        status = HARK_S_ENONE;
        why = "it is not wanted any more";
    }
    if (status == HARK_S_OK) {
        status = give_name(d, c, tmp, name, fd, to);
        if (status == HARK_S_EINVAL) why = hark_later_why;
    }
    if (status != HARK_S_OK) {
        hark_directory_say(d, status, "cannot write image", path, why);
        unlinkat(tmp, name, 0);
        close(fd);
        return status;
    }
    close(fd); /* nothing can be lost here: the bytes were synced */
    if (hark_file_sync(to) < 0)
        return hark_directory_say(
            d, HARK_S_ESYSTEM, "cannot sync the directory of image", path, NULL);
    return HARK_S_OK;
}

/* The blocks first, then the table that refers to them: whatever happens in between, the image is
 * there or is not. */
static int place_blocks(struct directory *d, struct content *c, int tmp, int to, const char *path)
{
    struct hark_plan plan;
    const char *why = NULL;
    const uint32_t rank = c->wanted->rank;
    int status = hark_plan_make(&plan, &d->images, to, rank, c->section, c->count, &why);
    c->plan = &plan;
    if (status != HARK_S_OK) hark_directory_say(d, status, "cannot write image", path, why);
    if (status == HARK_S_OK && plan.fresh) {
        c->write = put_blocks;
        status = place(d, c, tmp, to, path);
    }
    if (status == HARK_S_OK) {
        c->write = put_table;
        snprintf(c->target, sizeof c->target, "%llu", (unsigned long long)c->wanted->id);
        status = place(d, c, tmp, to, path);
    }
    if (status == HARK_S_OK) hark_plan_keep(&plan, &d->images, rank);
    else hark_plan_forget(&plan);
    return status;
}

/* Whoever writes an image by blocks, or removes what none refers to, holds the lock of the rank's
 * directory. */
static bool lock(int dir)
{
    int locked;
    do locked = flock(dir, LOCK_EX | LOCK_NB);
    while (locked < 0 && errno == EINTR);
    return locked == 0;
}

/* Unlocks for all who have the descriptor too, such as a child that the program has forked. */
static void unlock(int dir)
{
    flock(dir, LOCK_UN);
}

/* Removing takes far less than this. A child that the program forked may hold the lock of a writer
 * that was killed for as long as it lives, so that nobody waits for ever. */
static bool lock_soon(int dir)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    for (int tries = 0; tries < 50; tries++) {
        if (lock(dir)) return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static int write_image(struct directory *d, struct content *c, int tmp, int to, const char *path)
{
    const bool by_blocks = d->images.incremental || d->images.compression != HARK_COMPRESS_NONE;
    if (!by_blocks || !lock_soon(to)) return place(d, c, tmp, to, path); /* that needs no lock */
    int status = place_blocks(d, c, tmp, to, path);
    hark_unused_remove(to);
    unlock(to);
    return status;
}

/* Where it goes is made if need be. */
static int open_and_place(struct directory *d, struct content *c, const char *path)
{
    int status = HARK_S_OK, tmp = hark_temporaries_open(d->root);
    if (tmp < 0) return hark_directory_say(d, HARK_S_ESYSTEM, "cannot open", "tmp", NULL);
    int to = open_rank(d, c->wanted->rank);
    if (to < 0)
        status =
            hark_directory_say(d, HARK_S_ESYSTEM, "cannot make the directory of image", path, NULL);
    else status = c->from >= 0 ? place(d, c, tmp, to, path) : write_image(d, c, tmp, to, path);
    if (to >= 0) close(to);
    close(tmp);
    return status;
}

static int directory_write(struct hark_store *s, uint32_t rank, uint64_t id,
    const struct hark_section *section, uint32_t count)
{
    struct directory *d = (struct directory *)s;
    struct hark_image_name wanted;
    struct content c = {
        .write = put_whole, .wanted = &wanted, .section = section, .count = count, .from = -1};
    char path[64];
    const int status = check(d, rank, id, path, &wanted);
    snprintf(c.target, sizeof c.target, "%llu", (unsigned long long)id);
    return status == HARK_S_OK ? open_and_place(d, &c, path) : status;
}

/* Opens the file of an image and has it read. An image that is dropped meanwhile, or replaced, may
 * lose its blocks while we read: then we look again. */
static int with_image(struct directory *d, uint32_t rank, uint64_t id,
    int (*read)(struct directory *d, int fd, const struct hark_image_name *name, void *to,
        char detail[128], const char **why),
    void *to)
{
    struct hark_image_name wanted;
    char path[64], detail[128];
    int status = check(d, rank, id, path, &wanted);
    for (bool again = true; status == HARK_S_OK && again;) {
        const char *why = NULL;
        struct stat st;
        int fd = hark_file_open(d->root, path, O_RDONLY | O_NONBLOCK);
        if (fd < 0 && errno == ENOENT)
            return hark_directory_say(
                d, HARK_S_ENONE, "no image", path, "there is none of this id");
        if (fd < 0) return hark_directory_say(d, HARK_S_ESYSTEM, "cannot open image", path, NULL);
        status = read(d, fd, &wanted, to, detail, &why);
        if (status == HARK_S_EDAMAGED) hark_directory_say(d, status, "image", path, why);
        if (status == HARK_S_ESYSTEM) hark_directory_say(d, status, "cannot read image", path, why);
        again = status == HARK_S_EDAMAGED && fstat(fd, &st) == 0 && st.st_nlink == 0;
        if (again) status = HARK_S_OK;
        close(fd);
    }
    return status;
}

static int read_image(struct directory *d, int fd, const struct hark_image_name *name, void *to,
    char detail[128], const char **why)
{
    return hark_image_read(d->root, fd, name, to, detail, why);
}

static int verify_image(struct directory *d, int fd, const struct hark_image_name *name, void *to,
    char detail[128], const char **why)
{
    (void)to;
    return hark_image_verify(d->root, fd, name, detail, why);
}

static int measure_image(struct directory *d, int fd, const struct hark_image_name *name, void *to,
    char detail[128], const char **why)
{
    (void)d, (void)name;
    return hark_unused_bytes(fd, to, detail, why);
}

static int load(struct directory *d, uint32_t rank, uint64_t id, struct hark_image **image)
{
    return with_image(d, rank, id, read_image, image);
}

static int directory_read(struct hark_store *s, uint32_t rank, uint64_t id,
    const struct hark_section **section, uint32_t *count, void **handle)
{
    struct hark_image *image;
    int status = load((struct directory *)s, rank, id, &image);
    if (status != HARK_S_OK) return status;
    *section = image->section;
    *count = image->count;
    *handle = image;
    return HARK_S_OK;
}

static void directory_release(struct hark_store *s, void *handle)
{
    (void)s;
    hark_image_free(handle);
}

static int directory_verify(struct hark_store *s, uint32_t rank, uint64_t id)
{
    return with_image((struct directory *)s, rank, id, verify_image, NULL);
}

/* Not synced: should a dropped image come back after a power failure, it is still whole and merely
 * old. What a later incarnation wrote under the name is another image. */
static int directory_drop(struct hark_store *s, uint32_t rank, uint64_t id)
{
    struct directory *d = (struct directory *)s;
    struct hark_image_name wanted;
    char path[64];
    int status = check(d, rank, id, path, &wanted);
    if (status != HARK_S_OK) return status;
    const int later = wanted.writer ? hark_later_there(d->root, d->root, path, &wanted) : 0;
    if (later > 0) return HARK_S_OK;
    if (later < 0 || (unlinkat(d->root, path, 0) < 0 && errno != ENOENT))
        return hark_directory_say(d, HARK_S_ESYSTEM, "cannot remove image", path, NULL);
    snprintf(path, sizeof path, "r%u", rank);
    int dir = hark_file_open(d->root, path, O_RDONLY | O_DIRECTORY);
    if (dir >= 0 && lock(dir)) { /* else a writer holds it, who will look after its image */
        hark_unused_remove(dir);
        unlock(dir);
    }
    if (dir >= 0) close(dir);
    return HARK_S_OK;
}

/* Keeps the `room` lowest ids in ascending order. */
static void insert(uint64_t *id, uint32_t room, uint32_t have, uint64_t new)
{
    uint32_t i = have < room ? have : room;
    if (i == 0 && room == 0) return;
    if (i == room && id[room - 1] < new) return;
    if (i == room) i--;
    for (; i > 0 && id[i - 1] > new; i--) id[i] = id[i - 1];
    id[i] = new;
}

int hark_directory_list_rank(int root, const char *name, uint64_t *id, uint32_t room)
{
    int have = 0;
    DIR *list = hark_file_list(root, name);
    if (!list) return errno == ENOENT ? 0 : HARK_S_ESYSTEM;
    struct dirent *e;
    while (errno = 0, (e = readdir(list))) {
        const char *text = e->d_name;
        uint64_t number;
        if (hark_file_number(&text, UINT64_MAX, &number) < 0 || *text || number == 0) continue;
        insert(id, room, (uint32_t)have, number);
        have++;
    }
    int saved = errno;
    closedir(list);
    errno = saved;
    return saved ? HARK_S_ESYSTEM : have;
}

static int directory_list(struct hark_store *s, uint32_t rank, uint64_t *id, uint32_t room)
{
    struct directory *d = (struct directory *)s;
    char name[16];
    snprintf(name, sizeof name, "r%u", rank);
    if (rank >= d->ranks)
        return hark_directory_say(
            d, HARK_S_EINVAL, "cannot list", name, "the store has fewer processes");
    int have = hark_directory_list_rank(d->root, name, id, room);
    return have < 0 ? hark_directory_say(d, have, "cannot list", name, NULL) : have;
}

static void directory_close(struct hark_store *s)
{
    if (!s) return;
    struct directory *d = (struct directory *)s;
    hark_increments_forget(&d->images);
    close(d->root);
    free(d);
}

/* ---- opening --------------------------------------------------------------------------------- */

static const char *arguments_invalid(const char *job, uint32_t ranks)
{
    size_t length = job ? strlen(job) : 0;
    if (length < 1 || length > HARK_IMAGE_JOB_MAX) return "a job's name has 1 to 64 bytes";
    for (const char *c = job; *c; c++)
        if (*c < ' ' || *c > '~' || *c == '/') return "a job's name is printable and without '/'";
    if (ranks < 1 || ranks > HARK_RANKS_MAX) return "a job has at least one process";
    return NULL;
}

/* Makes the directory if need be, durably. Its descriptor, or -1 with errno. */
static int open_root(const char *path)
{
    int made = mkdir(path, 0700), why = errno, root;
    if (made < 0 && errno != EEXIST && errno != EROFS) return -1;
    do root = hark_descriptor_above(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    while (root < 0 && errno == EINTR);
    if (root < 0 && errno == ENOENT && made < 0 && why == EROFS) errno = why;
    if (root < 0 || made < 0) return root;
    int parent = hark_file_open(root, "..", O_RDONLY | O_DIRECTORY);
    int synced = parent >= 0 ? hark_file_sync(parent) : -1, saved = errno;
    if (parent >= 0) close(parent);
    if (synced == 0 || saved == EACCES)
        return root; /* a parent that we may not read was there before */
    close(root);
    errno = saved;
    return -1;
}

static const struct hark_store_ops directory_ops = {.name = "directory",
    .write = directory_write,
    .read = directory_read,
    .release = directory_release,
    .verify = directory_verify,
    .drop = directory_drop,
    .list = directory_list,
    .close = directory_close};

int hark_store_write_blocks(
    struct hark_store *s, bool incremental, enum hark_compression compression)
{
    if (s->ops != &directory_ops || !hark_compression_built(compression)) {
        snprintf(s->error, sizeof s->error, "%s",
            s->ops != &directory_ops ? "this store is no directory: it cannot write blocks"
                                     : "hark was built without that compression");
        return HARK_S_EINVAL;
    }
    struct directory *d = (struct directory *)s;
    hark_increments_forget(&d->images);
    d->images.incremental = incremental;
    d->images.compression = compression;
    return HARK_S_OK;
}

int hark_store_write_as(struct hark_store *s, uint32_t incarnation)
{
    if (s->ops != &directory_ops) {
        snprintf(
            s->error, sizeof s->error, "this store is no directory: it does not know incarnations");
        return HARK_S_EINVAL;
    }
    ((struct directory *)s)->writer = incarnation < UINT32_MAX ? incarnation + 1 : UINT32_MAX;
    return HARK_S_OK;
}

int hark_store_verify_file(struct hark_store *s, uint32_t rank, uint64_t id, int fd)
{
    struct directory *d = (struct directory *)s;
    struct hark_image_name name;
    char path[64], detail[128];
    const char *why = NULL;
    if (s->ops != &directory_ops || fd < 0) return HARK_S_EINVAL;
    int status = check(d, rank, id, path, &name);
    if (status != HARK_S_OK) return status;
    status = hark_image_verify(d->root, fd, &name, detail, &why);
    return status == HARK_S_OK ? HARK_S_OK : hark_directory_say(d, status, "image", path, why);
}

int hark_store_import(
    struct hark_store *s, uint32_t rank, uint64_t id, int fd, bool (*wanted)(void *of), void *of)
{
    struct directory *d = (struct directory *)s;
    struct hark_image_name name;
    struct content c = {.write = put_file, .wanted = &name, .from = fd, .asked = wanted, .of = of};
    char path[64];
    if (s->ops != &directory_ops || fd < 0) return HARK_S_EINVAL;
    int status = check(d, rank, id, path, &name);
    if (status != HARK_S_OK) return status;
    c.root = d->root;
    const int64_t writer = hark_image_writer(fd);
    if (writer < 0)
        return hark_directory_say(d, HARK_S_ESYSTEM, "cannot read what is to be image", path, NULL);
    name.writer = (uint32_t)writer;
    snprintf(c.target, sizeof c.target, "%llu", (unsigned long long)id);
    return open_and_place(d, &c, path);
}

int hark_store_image_bytes(
    struct hark_store *s, uint32_t rank, uint64_t id, struct hark_store_bytes *bytes)
{
    *bytes = (struct hark_store_bytes){0};
    if (s->ops != &directory_ops) return HARK_S_EINVAL;
    return with_image((struct directory *)s, rank, id, measure_image, bytes);
}

int hark_store_open_directory(struct hark_store **s, const char *path, const char *job,
    uint32_t ranks, bool fresh, char error[256])
{
    *s = NULL;
    const char *wrong = arguments_invalid(job, ranks);
    if (wrong) {
        hark_file_say(error, "cannot open store", path, NULL, wrong);
        return HARK_S_EINVAL;
    }
    size_t length = strlen(path) + 1;
    struct directory *d = calloc(1, sizeof *d + length);
    int root = d ? open_root(path) : -1;
    if (root < 0) {
        hark_file_say(
            error, "cannot open store", path, NULL, d ? hark_file_why(errno) : "no memory");
        free(d);
        return HARK_S_ESYSTEM;
    }
    d->store.ops = &directory_ops;
    d->root = root;
    d->ranks = ranks;
    d->ready = d->images.rank = UINT32_MAX;
    memcpy(d->job, job, strlen(job));
    memcpy(d->path, path, length);
    hark_temporaries_clean(root);
    int status = hark_directory_claim(d, fresh);
    if (status != HARK_S_OK) {
        memcpy(error, d->store.error, sizeof d->store.error);
        directory_close(&d->store);
        return status;
    }
    *s = &d->store;
    return HARK_S_OK;
}
