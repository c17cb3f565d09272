/* increment.h: writing an image by blocks. Internal to src/store.
 *
 * A handle keeps the table of the last image that it has written. A block whose checksum stands in
 * it is not written again: the new table refers to where it lies. That takes XXH3-128 for equality:
 * two different blocks have the same one by chance with a probability of 2^-128, which is far below
 * that of an error in memory or on the disk; who would make such a pair on purpose is the program
 * itself, and only its own checkpoints would suffer.
 *
 * Blocks are found by their checksum alone, wherever they were, since logs grow at one end, shrink
 * at the other, and their entries move from section to section. */
#ifndef HARK_STORE_INCREMENT_H
#define HARK_STORE_INCREMENT_H

#include "table.h"

struct hark_increments {
    bool incremental;
    enum hark_compression compression;
    uint32_t rank; /* whose last image is known, or UINT32_MAX */
    uint8_t *bytes;
    struct hark_table last;
    uint32_t *slot; /* of blocks by checksum: 1 + the block's number; 0: none */
    uint64_t slots; /* a power of two */
};

/* An image on its way. */
struct hark_plan {
    const struct hark_increments *from;
    const struct hark_section *section;
    uint8_t *bytes; /* of the table */
    uint64_t length;
    struct hark_table t;
    bool fresh; /* there are blocks that must be written */
};

/* What must be written for this image; `dir`: the directory of the rank, whose lock the caller
 * holds until the table is in place. HARK_S_OK, or as hark_image_write() returns. The caller calls
 * hark_plan_keep() or hark_plan_forget(). */
int hark_plan_make(struct hark_plan *p, const struct hark_increments *m, int dir, uint32_t rank,
    const struct hark_section *section, uint32_t count, const char **why);
/* Writes the fresh blocks into a new file; `name` is the one that it must get. */
int hark_plan_blocks(
    struct hark_plan *p, int fd, char name[HARK_IMAGE_FILE_NAME], const char **why);
/* Writes the table; the fresh blocks have been written. */
int hark_plan_table(
    struct hark_plan *p, int fd, const struct hark_image_name *name, const char **why);
/* The image is durable: it is the one that the next image is compared with. */
void hark_plan_keep(struct hark_plan *p, struct hark_increments *m, uint32_t rank);
void hark_plan_forget(struct hark_plan *p);
void hark_increments_forget(struct hark_increments *m);

#endif
