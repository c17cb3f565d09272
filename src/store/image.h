/* image.h: the bytes of an image file and of a job file. Internal to src/store.
 *
 * Every number is little-endian. An image:
 *
 *     0  magic "HARKIMG" 0        32  length of the file, u64
 *     8  format version, u32      40  length of the job's name, u32; zero, u32
 *    12  rank, u32                48  the job's name, 64 bytes, zeros behind it
 *    16  id, u64                 112  a table entry for each section: tag u32, zero u32,
 *    24  ranks of the job, u32        id u64, offset u64, length u64
 *    28  sections, u32                then the sections in order, each at a multiple of 8, zeros
 *                                     between,
 *                                     then XXH3-128 of every byte before, 16 bytes
 *
 * In the entry of the first section the zero is the writer: 1 + the incarnation of the process, or
 * 0, which earlier versions wrote always: not known.
 *
 * Format version 3, an image by blocks, is explained in table.h; its head is the same.
 *
 * A job file: "HARKJOB" 0, format version u32, ranks u32, length of the name u32, zero u32, the
 * name as above, XXH3-128 of every byte before.
 */
#ifndef HARK_STORE_IMAGE_H
#define HARK_STORE_IMAGE_H

#include "hark/store.h"

#define HARK_IMAGE_FORMAT        2u
#define HARK_IMAGE_FORMAT_BLOCKS 3u
enum { HARK_IMAGE_HEAD = 112, HARK_IMAGE_ENTRY = 32, HARK_IMAGE_DIGEST = 16 };

#define HARK_IMAGE_JOB_MAX  64u
#define HARK_IMAGE_JOB_FILE (24u + HARK_IMAGE_JOB_MAX + 16u)

struct hark_image_name { /* what an image must say of itself */
    const char *job;
    uint32_t ranks, rank;
    uint64_t id;
    uint32_t writer; /* as in the file; reading does not compare it */
};

/* The image as it was read; release by hark_image_free. */
struct hark_image {
    uint8_t *bytes;
    uint32_t count;
    struct hark_section section[];
};

/* Writes a whole image to fd, from where the sections lie. HARK_S_OK, HARK_S_EINVAL (the lengths
 * add up to more than a file can hold), HARK_S_ESYSTEM with errno. *why says it in words that live
 * for ever, or is NULL: see errno. */
int hark_image_write(int fd, const struct hark_image_name *name, const struct hark_section *section,
    uint32_t count, const char **why);

/* Encodes the head of an image of `length` bytes, and the writer into the entry behind it, if there
 * is one; the numbers behind it are the caller's. */
void hark_image_head(uint8_t *head, uint32_t format, const struct hark_image_name *name,
    uint32_t count, uint64_t length);
/* The writer in a file that begins as an image does; 0: it is none, or does not say; -1 with errno.
 * Nothing is verified. */
int64_t hark_image_writer(int fd);

/* Reads all of an image file of either format, and verifies its length and its checksum, nothing
 * else. The caller frees *bytes. HARK_S_OK, HARK_S_EDAMAGED, HARK_S_ESYSTEM, the latter two with
 * *why as above. `detail` may be used for *why. */
int hark_image_load(int fd, uint8_t **bytes, uint64_t *length, char detail[128], const char **why);

/* Reads and verifies an image; the files that an image by blocks refers to are found from `root`,
 * the directory of the store. Returns as hark_image_load. */
int hark_image_read(int root, int fd, const struct hark_image_name *name, struct hark_image **image,
    char detail[128], const char **why);
void hark_image_free(struct hark_image *image);

/* The same of what need not be in memory afterwards: however long the image is, only a piece of it
 * is there at a time. One by blocks is read. */
int hark_image_verify(
    int root, int fd, const struct hark_image_name *name, char detail[128], const char **why);

void hark_image_job_encode(uint8_t bytes[HARK_IMAGE_JOB_FILE], const char *job, uint32_t ranks);
/* NULL, or what is wrong with the `length` bytes of a job file; else job and ranks are filled. */
const char *hark_image_job_decode(
    const uint8_t *bytes, uint64_t length, char job[HARK_IMAGE_JOB_MAX + 1], uint32_t *ranks);

#endif
