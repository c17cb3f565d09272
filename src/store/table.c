/* table.c: an image by blocks: what its file says, and how it is read. Both are untrusted input:
 * every number is checked against the lengths of the files before it is used. */
#include "table.h"
#include "compress.h"
#include "file.h"
#include "out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = HARK_IMAGE_HEAD, ENTRY = HARK_IMAGE_ENTRY, DIGEST = HARK_IMAGE_DIGEST };

/* ---- names ----------------------------------------------------------------------------------- */

static const char suffix[] = ".blocks";

void hark_image_file_name(const uint8_t digest[16], char name[HARK_IMAGE_FILE_NAME])
{
    for (int i = 0; i < 16; i++) snprintf(name + (size_t)2 * (size_t)i, 3, "%02x", digest[i]);
    memcpy(name + 32, suffix, sizeof suffix);
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hark_image_file_digest(const char *name, uint8_t digest[16])
{
    if (strlen(name) != 32 + sizeof suffix - 1 || strcmp(name + 32, suffix) != 0) return false;
    for (int i = 0; i < 16; i++) {
        int high = digit(name[2 * i]), low = digit(name[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        digest[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const char *sections_invalid(struct hark_table *t)
{
    uint64_t left = t->blocks;
    for (uint32_t i = 0; i < t->sections; i++) {
        const uint8_t *at = t->section + ENTRY * (uint64_t)i;
        uint64_t length = store_get64(at + 24), blocks = hark_image_block_count(length);
        if ((i > 0 && store_get32(at + 4) != 0) || store_get64(at + 16) != 0)
            return "has a section with numbers that this format does not know";
        if (blocks > left) return "has a section with more bytes than its blocks";
        left -= blocks;
        t->memory += length + store_padding(length);
    }
    return left == 0 ? NULL : "has blocks that belong to no section";
}

static const char *block_invalid(const struct hark_table *t, uint64_t i, uint64_t length)
{
    const struct hark_image_block b = hark_table_block(t, i);
    if (b.file >= t->files) return "has a block in a file that it does not name";
    const uint64_t most = hark_table_file_length(t, b.file);
    if (b.offset > most || b.stored > most - b.offset)
        return "has a block that reaches outside of its file";
    if (b.compression >= HARK_COMPRESSIONS)
        return "has a block with a compression that this format does not know";
    if (b.stored == 0 ||
        (b.compression == HARK_COMPRESS_NONE ? b.stored != length : b.stored >= length))
        return "has a block of a wrong length";
    return NULL;
}

static const char *blocks_invalid(const struct hark_table *t)
{
    uint64_t i = 0;
    for (uint32_t s = 0; s < t->sections; s++) {
        const uint64_t length = hark_table_section_length(t, s);
        for (uint64_t within = 0; within < length; within += HARK_IMAGE_BLOCK, i++) {
            const char *wrong = block_invalid(t, i, hark_image_block_length(length, within));
            if (wrong) return wrong;
        }
    }
    return NULL;
}

const char *hark_table_check(struct hark_table *t, const uint8_t *bytes, uint64_t length)
{
    if (length < HEAD + DIGEST || (length - HEAD - DIGEST) % ENTRY != 0)
        return "has a table of a wrong length";
    uint64_t entries = (length - HEAD - DIGEST) / ENTRY;
    *t = (struct hark_table){
        .bytes = bytes, .sections = store_get32(bytes + 28), .files = store_get32(bytes + 44)};
    if (t->sections > entries) return "has more sections than bytes for them";
    if (t->files > HARK_IMAGE_FILES || t->files > entries - t->sections)
        return "names more files than it may";
    t->blocks = entries - t->sections - t->files;
    if (t->blocks > (UINT64_MAX >> 1) / HARK_IMAGE_BLOCK) return "has more blocks than it may";
    t->section = bytes + HEAD;
    t->block = t->section + ENTRY * (uint64_t)t->sections;
    t->file = t->block + ENTRY * t->blocks;
    for (uint32_t i = 0; i < t->files; i++)
        if (store_get32(hark_table_file_name(t, i) + 24) > 1 ||
            store_get32(hark_table_file_name(t, i) + 28) != 0)
            return "names a file with numbers that this format does not know";
    const char *wrong = sections_invalid(t);
    return wrong ? wrong : blocks_invalid(t);
}

/* ---- the blocks ------------------------------------------------------------------------------ */

struct gathering {
    const struct hark_table *t;
    uint8_t *bytes; /* of all sections */
    char *detail;
    const char *why, *name; /* of the file */
    int fd;
    uint8_t packed[HARK_IMAGE_BLOCK];
};

static int damaged(struct gathering *g, const char *what)
{
    snprintf(g->detail, 128, "%s %s", what, g->name);
    g->why = g->detail;
    return HARK_S_EDAMAGED;
}

static int read_block(
    struct gathering *g, const struct hark_image_block *b, uint8_t *to, uint64_t length)
{
    uint8_t digest[DIGEST];
    uint8_t *into = b->compression == HARK_COMPRESS_NONE ? to : g->packed;
    int64_t got = hark_file_read_from(g->fd, into, b->stored, b->offset);
    if (got < 0) return HARK_S_ESYSTEM;
    if ((uint64_t)got != b->stored) return damaged(g, "became shorter while it was read: its file");
    if (b->compression != HARK_COMPRESS_NONE) {
        if (!hark_compression_built(b->compression)) {
            snprintf(g->detail, 128, "is compressed by %s, and this hark was built without it",
                hark_compression_name(b->compression));
            g->why = g->detail;
            return HARK_S_ESYSTEM;
        }
        if (!hark_decompress(b->compression, g->packed, b->stored, to, length))
            return damaged(g, "has a block that can not be decompressed, in its file");
    }
    hark_digest(to, length, digest);
    return memcmp(digest, b->digest, DIGEST) == 0
               ? HARK_S_OK
               : damaged(g, "has a block with a wrong checksum, in its file");
}

/* All blocks that lie in one of the files, so that only one is open at once. */
static int read_blocks(struct gathering *g, uint32_t file)
{
    uint64_t i = 0, at = 0;
    int status = HARK_S_OK;
    for (uint32_t s = 0; s < g->t->sections; s++) {
        const uint64_t length = hark_table_section_length(g->t, s);
        for (uint64_t within = 0; within < length; within += HARK_IMAGE_BLOCK, i++) {
            const struct hark_image_block b = hark_table_block(g->t, i);
            if (b.file != file) continue;
            status =
                read_block(g, &b, g->bytes + at + within, hark_image_block_length(length, within));
            if (status != HARK_S_OK) return status;
        }
        memset(g->bytes + at + length, 0, (size_t)store_padding(length));
        at += length + store_padding(length);
    }
    return status;
}

static int check_file(struct gathering *g, uint64_t expected)
{
    struct stat st;
    if (fstat(g->fd, &st) < 0) return HARK_S_ESYSTEM;
    if (S_ISREG(st.st_mode) && (uint64_t)st.st_size == expected) return HARK_S_OK;
    snprintf(g->detail, 128, "refers to %s, which has %llu bytes, expected %llu", g->name,
        (unsigned long long)st.st_size, (unsigned long long)expected);
    g->why = g->detail;
    return HARK_S_EDAMAGED;
}

static int read_file(struct gathering *g, int root, uint32_t rank, uint32_t file)
{
    char name[HARK_IMAGE_FILE_NAME], path[64];
    hark_image_file_name(hark_table_file_name(g->t, file), name);
    snprintf(path, sizeof path, "r%u/%s", rank, name);
    g->name = name;
    g->fd = hark_file_open(root, path, O_RDONLY | O_NONBLOCK);
    if (g->fd < 0 && errno == ENOENT) return damaged(g, "lacks its file");
    if (g->fd < 0) return HARK_S_ESYSTEM;
    int status = check_file(g, hark_table_file_length(g->t, file));
    if (status == HARK_S_OK) status = read_blocks(g, file);
    int saved = errno;
    close(g->fd);
    errno = saved;
    return status;
}

static void name_sections(const struct hark_table *t, struct hark_image *made)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < t->sections; i++) {
        const uint8_t *entry = t->section + ENTRY * (uint64_t)i;
        uint64_t length = hark_table_section_length(t, i);
        made->section[i] = (struct hark_section){.tag = store_get32(entry),
            .id = store_get64(entry + 8),
            .at = made->bytes + at,
            .length = length};
        at += length + store_padding(length);
    }
}

int hark_table_gather(int root, uint32_t rank, const struct hark_table *t,
    struct hark_image **image, char detail[128], const char **why)
{
    struct hark_image *made = malloc(sizeof *made + t->sections * sizeof made->section[0]);
    struct gathering *g = malloc(sizeof *g);
    if (made) made->bytes = t->memory < SIZE_MAX ? malloc((size_t)t->memory + 1) : NULL;
    int status = HARK_S_OK, saved;
    *why = NULL;
    if (!made || !g || !made->bytes) {
        *why = "no memory to read it";
        status = HARK_S_ESYSTEM;
    } else {
        made->count = t->sections;
        g->t = t;
        g->bytes = made->bytes;
        g->detail = detail;
        g->why = NULL;
    }
    for (uint32_t i = 0; status == HARK_S_OK && i < t->files; i++) {
        status = read_file(g, root, rank, i);
        *why = g->why;
    }
    saved = errno;
    free(g);
    if (status == HARK_S_OK) {
        name_sections(t, made);
        *image = made;
    } else {
        hark_image_free(made);
    }
    errno = saved;
    return status;
}
