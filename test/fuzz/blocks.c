/* Any bytes as an image by blocks: its table, and the bytes of the files that it refers to.
 * Choices, two bytes of the table's length, the table, and then what every file has. Sealed by the
 * right checksum when the choices say so, and so are the blocks that lie there as they are. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "../../src/store/table.h"
#include "file.h"

enum { RESEAL = 1, LENGTHS = 2, BLOCKS = 4 };

static char place[] = "/tmp/hark-fuzz-XXXXXX";
static int root = -1;

static void remove_place(void)
{
    unlinkat(root, "r2", AT_REMOVEDIR);
    rmdir(place);
}

static void digest_of(const uint8_t *at, size_t length, uint8_t digest[16])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(at, length));
    memcpy(digest, canonical.digest, 16);
}

/* The files of a table, if it has any: where they are. */
static uint8_t *files_of(uint8_t *table, size_t length, uint32_t *count)
{
    *count = length >= HARK_IMAGE_HEAD ? store_get32(table + 44) : 0;
    if (length < HARK_IMAGE_HEAD + HARK_IMAGE_DIGEST || *count > HARK_IMAGE_FILES ||
        *count > (length - HARK_IMAGE_HEAD - HARK_IMAGE_DIGEST) / HARK_IMAGE_ENTRY)
        *count = 0;
    return table + length - HARK_IMAGE_DIGEST - (size_t)HARK_IMAGE_ENTRY * *count;
}

static void reseal(unsigned how, uint8_t *table, size_t length, const uint8_t *bytes, size_t count)
{
    uint32_t files;
    if (length < HARK_IMAGE_HEAD + HARK_IMAGE_DIGEST) return;
    uint8_t *end = files_of(table, length, &files);
    for (uint32_t i = 0; how & LENGTHS && i < files; i++)
        store_put64(end + (size_t)HARK_IMAGE_ENTRY * i + 16, count);
    for (uint8_t *at = table + HARK_IMAGE_HEAD; how & BLOCKS && at + HARK_IMAGE_ENTRY <= end;
         at += HARK_IMAGE_ENTRY) {
        const uint64_t offset = store_get64(at + 16), stored = store_get32(at + 24);
        if (stored && offset <= count && stored <= count - offset)
            digest_of(bytes + offset, (size_t)stored, at);
    }
    if (how & RESEAL) store_put64(table + 32, length);
    if (how & RESEAL)
        digest_of(table, length - HARK_IMAGE_DIGEST, table + length - HARK_IMAGE_DIGEST);
}

/* Makes the files, or removes them. */
static void each_file(
    const uint8_t *file, uint32_t files, const uint8_t *bytes, size_t count, bool make)
{
    for (uint32_t i = 0; i < files && i < 4; i++) {
        char name[HARK_IMAGE_FILE_NAME], path[64];
        hark_image_file_name(file + (size_t)HARK_IMAGE_ENTRY * i, name);
        snprintf(path, sizeof path, "r2/%s", name);
        if (!make) {
            unlinkat(root, path, 0);
            continue;
        }
        int fd = openat(root, path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        if (fd < 0 || write(fd, bytes, count) != (ssize_t)count) abort();
        close(fd);
    }
}

static void look_at(const struct hark_image *image)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < image->count; i++) {
        const struct hark_section *s = &image->section[i];
        if ((uintptr_t)s->at % 8) finding("a section is not aligned");
        for (uint64_t k = 0; k < s->length; k++) sum += ((const uint8_t *)s->at)[k];
    }
    if (sum == UINT64_MAX) finding("a sum that these bytes can not have");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct hark_image_name name = {"job", 4, 2, 7, 0};
    struct hark_image *image = NULL;
    char detail[128];
    const char *why = NULL;
    uint32_t files;
    if (size < 3) return 0;
    if (root < 0) {
        if (!mkdtemp(place)) abort();
        root = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (root < 0 || mkdirat(root, "r2", 0700) < 0) abort();
        atexit(remove_place);
    }
    size_t length = data[1] | (size_t)data[2] << 8;
    if (length > size - 3) length = size - 3;
    uint8_t *table = exactly(data + 3, length),
            *bytes = exactly(data + 3 + length, size - 3 - length);
    reseal(data[0], table, length, bytes, size - 3 - length);
    const uint8_t *file = files_of(table, length, &files);
    each_file(file, files, bytes, size - 3 - length, true);
    int status = hark_image_read(root, file_set(table, length), &name, &image, detail, &why);
    if (status == HARK_S_OK) {
        look_at(image);
        hark_image_free(image);
    } else if ((status != HARK_S_EDAMAGED && status != HARK_S_ESYSTEM) || why == NULL ||
               strpbrk(why, "\n\t\x1b")) {
        finding("an image is refused with status %d", status);
    }
    each_file(file, files, bytes, 0, false);
    free(table);
    free(bytes);
    return 0;
}
