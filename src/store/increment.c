/* increment.c: writing an image by blocks: those that lie in a file already are not written again.
 */
#include "increment.h"
#include "compress.h"
#include "file.h"
#include "out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { HEAD = HARK_IMAGE_HEAD, ENTRY = HARK_IMAGE_ENTRY, DIGEST = HARK_IMAGE_DIGEST };
enum { FRESH = 0xffff }; /* the file of a block that is not written yet */

static uint8_t *entry(struct hark_plan *p, uint64_t block)
{
    return p->bytes + (p->t.block - p->bytes) + ENTRY * block;
}

static void put_place(uint8_t *at, uint64_t offset, uint32_t stored, uint32_t file, uint32_t how)
{
    store_put64(at + 16, offset);
    store_put32(at + 24, stored);
    store_put32(at + 28, file | how << 16);
}

/* ---- the last image -------------------------------------------------------------------------- */

static uint64_t slot_of(const struct hark_increments *m, const uint8_t *digest)
{
    return store_get64(digest) & (m->slots - 1);
}

/* The block of the last image that has this checksum, or NULL. */
static const uint8_t *find(const struct hark_increments *m, const uint8_t *digest)
{
    for (uint64_t i = slot_of(m, digest); m->slot[i]; i = (i + 1) & (m->slots - 1)) {
        const uint8_t *at = m->last.block + ENTRY * (uint64_t)(m->slot[i] - 1);
        if (memcmp(at, digest, DIGEST) == 0) return at;
    }
    return NULL;
}

static bool index_blocks(struct hark_increments *m)
{
    if (m->last.blocks >= UINT32_MAX / 4) return false;
    for (m->slots = 16; m->slots < 2 * m->last.blocks;) m->slots *= 2;
    m->slot = calloc((size_t)m->slots, sizeof *m->slot);
    if (!m->slot) return false;
    for (uint64_t b = 0; b < m->last.blocks; b++) {
        uint64_t i = slot_of(m, m->last.block + ENTRY * b);
        while (m->slot[i]) i = (i + 1) & (m->slots - 1);
        m->slot[i] = (uint32_t)b + 1;
    }
    return true;
}

void hark_increments_forget(struct hark_increments *m)
{
    free(m->bytes);
    free(m->slot);
    m->bytes = NULL;
    m->slot = NULL;
    m->rank = UINT32_MAX;
}

void hark_plan_forget(struct hark_plan *p)
{
    int saved = errno;
    free(p->bytes);
    p->bytes = NULL;
    errno = saved;
}

void hark_plan_keep(struct hark_plan *p, struct hark_increments *m, uint32_t rank)
{
    hark_increments_forget(m);
    if (!m->incremental || hark_table_check(&m->last, p->bytes, p->length) != NULL) {
        hark_plan_forget(p);
        return;
    }
    m->bytes = p->bytes;
    m->rank = rank;
    if (!index_blocks(m)) hark_increments_forget(m); /* no memory: the next one is whole */
}

/* ---- what must be written -------------------------------------------------------------------- */

/* The bytes of the table with as many files as it may get, or 0 if no file can be that long. */
static uint64_t table_room(
    const struct hark_section *section, uint32_t count, uint64_t *blocks, const char **why)
{
    uint64_t bytes = 0;
    *blocks = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!section[i].at && section[i].length > 0) {
            *why = "a section without bytes";
            return 0;
        }
        if (section[i].length > (uint64_t)INT64_MAX / 2 - bytes) {
            *why = "the sections are longer than a file can be";
            return 0;
        }
        bytes += section[i].length;
        *blocks += hark_image_block_count(section[i].length);
    }
    return HEAD + ENTRY * (count + *blocks + HARK_IMAGE_FILES) + DIGEST;
}

/* Which files of the last image are there still? One that was dropped may have taken some along. */
static void look_at_files(const struct hark_increments *m, int dir, bool there[HARK_IMAGE_FILES])
{
    for (uint32_t i = 0; i < m->last.files; i++) {
        struct stat st;
        char name[HARK_IMAGE_FILE_NAME];
        hark_image_file_name(hark_table_file_name(&m->last, i), name);
        there[i] = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
                   (uint64_t)st.st_size == hark_table_file_length(&m->last, i);
    }
}

struct reuse {
    bool there[HARK_IMAGE_FILES], used[HARK_IMAGE_FILES];
    uint64_t bytes; /* that old blocks have in their files */
};

/* Puts in the checksum of each block, and where it lies, by the numbers of the last image's files.
 */
static void compare(struct hark_plan *p, const struct hark_increments *last, struct reuse *r)
{
    uint64_t i = 0;
    for (uint32_t s = 0; s < p->t.sections; s++) {
        const struct hark_section *from = &p->section[s];
        for (uint64_t within = 0; within < from->length; within += HARK_IMAGE_BLOCK, i++) {
            uint8_t *at = entry(p, i);
            const uint64_t length = hark_image_block_length(from->length, within);
            hark_digest((const uint8_t *)from->at + within, length, at);
            put_place(at, 0, 0, FRESH, 0);
            const uint8_t *old = last ? find(last, at) : NULL;
            const uint32_t file = old ? store_get32(old + 28) & 0xffff : 0;
            if (!old || !r->there[file]) {
                p->fresh = true;
                continue;
            }
            memcpy(at + 16, old + 16, 16);
            r->used[file] = true;
            r->bytes += store_get32(old + 24);
        }
    }
}

/* At least half of the older files' bytes must be blocks of this image, and one file more must fit
 * into the table; else it is written whole. So an image and the files that it keeps are at most
 * twice as long as if it had been written whole. */
static bool worth_it(const struct hark_increments *m, const struct reuse *r)
{
    uint64_t kept = 0, files = 0;
    for (uint32_t i = 0; i < m->last.files; i++) {
        if (!r->used[i]) continue;
        kept += hark_table_file_length(&m->last, i);
        files++;
    }
    return kept / 2 <= r->bytes && files < HARK_IMAGE_FILES;
}

/* The files of the table, and their numbers in the blocks; or none of them. */
static void refer(struct hark_plan *p, const struct hark_increments *m, const struct reuse *r)
{
    uint32_t number[HARK_IMAGE_FILES];
    uint8_t *to = entry(p, p->t.blocks);
    const bool keep = worth_it(m, r);
    for (uint32_t i = 0; i < m->last.files; i++) {
        if (!keep || !r->used[i]) continue;
        number[i] = p->t.files++;
        memset(to, 0, ENTRY);
        memcpy(to, hark_table_file_name(&m->last, i), DIGEST);
        store_put64(to + 16, hark_table_file_length(&m->last, i));
        to += ENTRY;
    }
    p->fresh = p->fresh || !keep;
    for (uint64_t i = 0; i < p->t.blocks; i++) {
        uint8_t *at = entry(p, i);
        const struct hark_image_block b = hark_table_block(&p->t, i);
        if (b.file == FRESH) continue;
        if (keep) put_place(at, b.offset, b.stored, number[b.file], b.compression);
        else put_place(at, 0, 0, FRESH, 0);
    }
}

int hark_plan_make(struct hark_plan *p, const struct hark_increments *m, int dir, uint32_t rank,
    const struct hark_section *section, uint32_t count, const char **why)
{
    struct reuse r = {.bytes = 0};
    uint64_t blocks;
    *why = NULL;
    const uint64_t room = table_room(section, count, &blocks, why);
    *p = (struct hark_plan){.from = m, .section = section};
    if (room == 0) return HARK_S_EINVAL;
    p->bytes = room <= SIZE_MAX ? malloc((size_t)room) : NULL;
    if (!p->bytes) {
        *why = "no memory for the table of blocks";
        return HARK_S_ESYSTEM;
    }
    p->t = (struct hark_table){.bytes = p->bytes, .sections = count, .blocks = blocks};
    p->t.section = p->bytes + HEAD;
    p->t.block = p->t.section + ENTRY * (uint64_t)count;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *at = p->bytes + HEAD + ENTRY * (uint64_t)i;
        memset(at, 0, ENTRY);
        store_put32(at, section[i].tag);
        store_put64(at + 8, section[i].id);
        store_put64(at + 24, section[i].length);
    }
    const bool known = m->incremental && m->bytes && m->rank == rank;
    if (known) look_at_files(m, dir, r.there);
    compare(p, known ? m : NULL, &r);
    if (known) refer(p, m, &r);
    return HARK_S_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* What is compressed lies here until it is written, which is after HARK_OUT_PIECE bytes. */
struct packed {
    uint8_t bytes[HARK_OUT_PIECE + HARK_IMAGE_BLOCK];
    uint64_t used;
};

/* Where it then lies goes into the block's entry. */
static int write_block(struct hark_plan *p, struct out *o, struct packed *packed, uint8_t *at,
    const void *from, uint64_t length, uint64_t *offset)
{
    uint32_t stored = 0;
    if (o->count == 0 && packed) packed->used = 0;
    uint8_t *to = packed ? packed->bytes + packed->used : NULL;
    if (packed) stored = hark_compress(p->from->compression, from, length, to);
    if (stored) packed->used += stored;
    const enum hark_compression how = stored ? p->from->compression : HARK_COMPRESS_NONE;
    if (!stored) stored = (uint32_t)length;
    put_place(at, *offset, stored, p->t.files, how);
    *offset += stored;
    return hark_out_put(o, how == HARK_COMPRESS_NONE ? from : to, stored);
}

static int write_fresh(struct hark_plan *p, struct out *o, struct packed *packed, uint64_t *length)
{
    uint64_t i = 0;
    *length = 0;
    for (uint32_t s = 0; s < p->t.sections; s++) {
        const struct hark_section *from = &p->section[s];
        for (uint64_t within = 0; within < from->length; within += HARK_IMAGE_BLOCK, i++) {
            if (hark_table_block(&p->t, i).file != FRESH) continue;
            if (write_block(p, o, packed, entry(p, i), (const uint8_t *)from->at + within,
                    hark_image_block_length(from->length, within), length) < 0)
                return -1;
        }
    }
    return hark_out_flush(o);
}

int hark_plan_blocks(struct hark_plan *p, int fd, char name[HARK_IMAGE_FILE_NAME], const char **why)
{
    struct out o;
    struct packed *packed = NULL;
    uint64_t length;
    if (p->from->compression != HARK_COMPRESS_NONE) {
        packed = malloc(sizeof *packed);
        if (!packed) {
            *why = "no memory to compress it";
            return HARK_S_ESYSTEM;
        }
        packed->used = 0;
    }
    hark_out_begin(&o, fd);
    int done = write_fresh(p, &o, packed, &length), saved = errno;
    free(packed);
    errno = saved;
    if (done < 0) return HARK_S_ESYSTEM;
    uint8_t *at = entry(p, p->t.blocks) + ENTRY * (uint64_t)p->t.files;
    memset(at, 0, ENTRY);
    hark_out_digest(&o, at);
    store_put64(at + 16, length);
    store_put32(at + 24, 1);
    p->t.files++;
    hark_image_file_name(at, name);
    return HARK_S_OK;
}

int hark_plan_table(
    struct hark_plan *p, int fd, const struct hark_image_name *name, const char **why)
{
    *why = NULL;
    p->length = HEAD + ENTRY * (p->t.sections + p->t.blocks + p->t.files) + DIGEST;
    hark_image_head(p->bytes, HARK_IMAGE_FORMAT_BLOCKS, name, p->t.sections, p->length);
    store_put32(p->bytes + 44, p->t.files);
    hark_digest(p->bytes, p->length - DIGEST, p->bytes + p->length - DIGEST);
    struct iovec iov = {.iov_base = p->bytes, .iov_len = (size_t)p->length};
    return hark_file_write(fd, &iov, 1) == 0 ? HARK_S_OK : HARK_S_ESYSTEM;
}
