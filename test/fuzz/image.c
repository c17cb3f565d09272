/* Any bytes as an image file and as a job file; sealed by the right checksum when the first byte
 * says so, for without it nothing else would be looked at. */
#include <xxhash.h>

#include "../../src/store/image.h"
#include "file.h"

static void reseal(uint8_t *at, size_t length)
{
    XXH128_canonical_t digest;
    if (length < 40 + 16) return;
    for (unsigned i = 0; i < 8; i++) at[32 + i] = (uint8_t)((uint64_t)length >> (8 * i));
    XXH128_canonicalFromHash(&digest, XXH3_128bits(at, length - 16));
    memcpy(at + length - 16, digest.digest, 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct hark_image_name name = {"job", 4, 2, 7, 0};
    struct hark_image *image = NULL;
    char detail[128], job[HARK_IMAGE_JOB_MAX + 1];
    const char *why = NULL;
    uint32_t ranks;
    if (size == 0) return 0;
    uint8_t *copy = exactly(data + 1, size - 1);
    if (data[0] & 1) reseal(copy, size - 1);
    int fd = file_set(copy, size - 1);
    int status = hark_image_read(-1, fd, &name, &image, detail, &why);
    char detail_too[128];
    const char *why_too = NULL;
    if (hark_image_verify(-1, fd, &name, detail_too, &why_too) != status ||
        (why == NULL) != (why_too == NULL) || (why && strcmp(why, why_too) != 0))
        finding("verified, it is: %s", why_too ? why_too : "whole");
    if (status == HARK_S_OK) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < image->count; i++) {
            const struct hark_section *s = &image->section[i];
            if ((uintptr_t)s->at % 8) finding("a section is not aligned");
            for (uint64_t k = 0; k < s->length; k++) sum += ((const uint8_t *)s->at)[k];
        }
        /* It is just what would be written of it. */
        (void)sum;
        const bool whole = copy[8] == HARK_IMAGE_FORMAT; /* of the other format: blocks.c */
        (void)ftruncate(fd, 0);
        (void)lseek(fd, 0, SEEK_SET);
        if (whole && hark_image_write(fd, &name, image->section, image->count, &why) != HARK_S_OK)
            finding("it can not be written: %s", why);
        if (whole && lseek(fd, 0, SEEK_CUR) != (off_t)(size - 1))
            finding("it is written with another length");
        hark_image_free(image);
    } else if (status != HARK_S_EDAMAGED || why == NULL || strpbrk(why, "\n\t\x1b")) {
        finding("an image is refused with status %d", status);
    }
    if (hark_image_job_decode(copy, size - 1, job, &ranks) == NULL &&
        strlen(job) > HARK_IMAGE_JOB_MAX)
        finding("a long job name");
    free(copy);
    return 0;
}
