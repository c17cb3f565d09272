/* table.h: an image by blocks, format version 3: what its file says, and how it is read. Internal
 * to src/store.
 *
 * A section is cut into blocks of 64 KiB, the last one shorter. The file of the image is a table;
 * the bytes of the blocks lie in other files of the rank's directory, rR/DIGEST.blocks, named by
 * the XXH3-128 of their bytes: one that was written with the image, and those of older images. A
 * table names files of blocks, never another table, so that an image is one step from its bytes.
 *
 *     0  head: image.h
 *   112  an entry for each section: tag u32, zero u32 (the first: the writer), id u64, zero u64,
 *            length u64
 *        an entry for each block of the sections in order: XXH3-128 of its bytes, 16 bytes;
 *            offset in its file u64, bytes there u32, number of the file u16, compression u16
 *        an entry for each file: name 16 bytes, length u64, u32 1 if it was written with this
 *            image, else 0, zero u32
 *        XXH3-128 of every byte before, 16 bytes
 *
 * The number of files is in the head at 44. A block's checksum is that of its bytes before
 * compression, so that it also says whether decompression gave the right ones. */
#ifndef HARK_STORE_TABLE_H
#define HARK_STORE_TABLE_H

#include <stdbool.h>

#include "image.h"
#include "little.h"

#define HARK_IMAGE_BLOCK     ((uint64_t)64 << 10)
#define HARK_IMAGE_FILES     64u /* that an image refers to at most: one is opened after another */
#define HARK_IMAGE_FILE_NAME 40u /* bytes of a name, its end included */

struct hark_table {
    const uint8_t *bytes, *section, *block, *file;
    uint32_t sections, files;
    uint64_t blocks;
    uint64_t memory; /* bytes of all sections, each at a multiple of 8 */
};

struct hark_image_block {
    const uint8_t *digest;
    uint64_t offset;
    uint32_t stored; /* bytes in the file */
    uint16_t file, compression;
};

static inline struct hark_image_block hark_table_block(const struct hark_table *t, uint64_t i)
{
    const uint8_t *at = t->block + HARK_IMAGE_ENTRY * i;
    return (struct hark_image_block){at, store_get64(at + 16), store_get32(at + 24),
        (uint16_t)(store_get32(at + 28) & 0xffff), (uint16_t)(store_get32(at + 28) >> 16)};
}

static inline uint64_t hark_table_section_length(const struct hark_table *t, uint32_t i)
{
    return store_get64(t->section + HARK_IMAGE_ENTRY * (uint64_t)i + 24);
}

static inline const uint8_t *hark_table_file_name(const struct hark_table *t, uint32_t i)
{
    return t->file + HARK_IMAGE_ENTRY * (uint64_t)i;
}

static inline uint64_t hark_table_file_length(const struct hark_table *t, uint32_t i)
{
    return store_get64(hark_table_file_name(t, i) + 16);
}

static inline bool hark_table_file_own(const struct hark_table *t, uint32_t i)
{
    return store_get32(hark_table_file_name(t, i) + 24) != 0;
}

/* Blocks of a section. */
static inline uint64_t hark_image_block_count(uint64_t length)
{
    return length / HARK_IMAGE_BLOCK + (length % HARK_IMAGE_BLOCK != 0);
}

/* Bytes of the block that begins `within` a section of `length`. */
static inline uint64_t hark_image_block_length(uint64_t length, uint64_t within)
{
    return length - within < HARK_IMAGE_BLOCK ? length - within : HARK_IMAGE_BLOCK;
}

/* The name of a file of blocks in its directory; and back: false if it is none. */
void hark_image_file_name(const uint8_t digest[16], char name[HARK_IMAGE_FILE_NAME]);
bool hark_image_file_digest(const char *name, uint8_t digest[16]);

/* The table in the bytes of a file that hark_image_load() has verified; they are not copied. NULL,
 * or what is wrong with it: every number is checked. */
const char *hark_table_check(struct hark_table *t, const uint8_t *bytes, uint64_t length);
/* Reads and verifies the blocks of a checked table. Returns as hark_image_read(). */
int hark_table_gather(int root, uint32_t rank, const struct hark_table *t,
    struct hark_image **image, char detail[128], const char **why);

#endif
