/* unused.c: files of blocks that no image refers to any more, and what images take on the disk. */
#include "unused.h"
#include "file.h"
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct files { /* of blocks, in a directory */
    struct one {
        uint8_t digest[16];
        bool used;
    } * one;
    size_t count, room;
};

static bool add(struct files *f, const uint8_t digest[16])
{
    if (f->count == f->room) {
        size_t room = f->room ? f->room * 2 : 64;
        struct one *more = realloc(f->one, room * sizeof *more);
        if (!more) return false;
        f->one = more;
        f->room = room;
    }
    f->one[f->count].used = false;
    memcpy(f->one[f->count++].digest, digest, 16);
    return true;
}

static int by_digest(const void *a, const void *b)
{
    return memcmp(((const struct one *)a)->digest, ((const struct one *)b)->digest, 16);
}

static void use(struct files *f, const uint8_t *digest)
{
    struct one wanted;
    memcpy(wanted.digest, digest, 16);
    struct one *found = bsearch(&wanted, f->one, f->count, sizeof wanted, by_digest);
    if (found) found->used = true;
}

/* 0: no image; -1: it can not be read. */
static int64_t format_of(int fd)
{
    uint8_t head[12];
    const int64_t got = hark_file_read(fd, head, sizeof head);
    if (got < 0) return -1;
    return got == (int64_t)sizeof head && memcmp(head, "HARKIMG", 8) == 0 ? store_get32(head + 8)
                                                                          : 0;
}

/* What the image `name` refers to; false if that can not be known. One that is damaged refers to
 * nothing, for nobody can go back to it; one of a newer version may be whole. */
static bool use_files(struct files *f, int dir, const char *name)
{
    char detail[128];
    const char *why;
    uint8_t *bytes = NULL;
    uint64_t length;
    struct hark_table t;
    int fd = hark_file_open(dir, name, O_RDONLY | O_NONBLOCK);
    if (fd < 0) return false;
    const int64_t format = format_of(fd);
    bool known = format == 0 || format == HARK_IMAGE_FORMAT; /* which refers to nothing */
    if (format == HARK_IMAGE_FORMAT_BLOCKS) {
        const int status = hark_image_load(fd, &bytes, &length, detail, &why);
        known = status == HARK_S_OK || status == HARK_S_EDAMAGED;
    }
    if (bytes && hark_table_check(&t, bytes, length) == NULL)
        for (uint32_t i = 0; i < t.files; i++) use(f, hark_table_file_name(&t, i));
    free(bytes);
    close(fd);
    return known;
}

/* An entry of the directory is handed to `take`, which says whether to go on. */
static bool each(int dir, struct files *f, bool (*take)(struct files *f, int dir, const char *name))
{
    DIR *list = hark_file_list(dir, ".");
    struct dirent *e;
    if (!list) return false;
    bool good = true;
    while (good && (errno = 0, (e = readdir(list)))) good = take(f, dir, e->d_name);
    if (good) good = errno == 0; /* else there may be more than was seen */
    closedir(list);
    return good;
}

static bool take_file(struct files *f, int dir, const char *name)
{
    uint8_t digest[16];
    (void)dir;
    return !hark_image_file_digest(name, digest) || add(f, digest);
}

static bool take_image(struct files *f, int dir, const char *name)
{
    const char *text = name;
    uint64_t id;
    if (hark_file_number(&text, UINT64_MAX, &id) < 0 || *text || id == 0) return true;
    return use_files(f, dir, name);
}

void hark_unused_remove(int dir)
{
    struct files f = {.one = NULL};
    if (each(dir, &f, take_file) && f.count > 0) {
        qsort(f.one, f.count, sizeof *f.one, by_digest);
        if (each(dir, &f, take_image))
            for (size_t i = 0; i < f.count; i++) {
                char name[HARK_IMAGE_FILE_NAME];
                if (f.one[i].used) continue;
                hark_image_file_name(f.one[i].digest, name);
                unlinkat(dir, name, 0);
            }
    }
    free(f.one);
}

int hark_unused_bytes(int fd, struct hark_store_bytes *b, char detail[128], const char **why)
{
    struct stat st;
    uint8_t *bytes;
    uint64_t length;
    struct hark_table t;
    *why = NULL;
    if (fstat(fd, &st) < 0) return HARK_S_ESYSTEM;
    *b = (struct hark_store_bytes){.own = (uint64_t)st.st_size};
    if (format_of(fd) == HARK_IMAGE_FORMAT) return HARK_S_OK;
    int status = hark_image_load(fd, &bytes, &length, detail, why);
    if (status != HARK_S_OK) return status;
    if (store_get32(bytes + 8) == HARK_IMAGE_FORMAT_BLOCKS)
        *why = hark_table_check(&t, bytes, length);
    for (uint64_t i = 0; !*why && i < t.blocks; i++) {
        const struct hark_image_block block = hark_table_block(&t, i);
        if (!hark_table_file_own(&t, block.file)) b->older += block.stored;
    }
    for (uint32_t i = 0; !*why && i < t.files; i++)
        if (hark_table_file_own(&t, i)) b->own += hark_table_file_length(&t, i);
    free(bytes);
    return *why ? HARK_S_EDAMAGED : HARK_S_OK;
}
