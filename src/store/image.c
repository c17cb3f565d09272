/* image.c: the bytes of an image file and of a job file. An image is untrusted input: every length
 * in it is checked against the length of the file before it is used. */
#include "image.h"
#include "file.h"
#include "little.h"
#include "out.h"
#include "table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { HEAD = HARK_IMAGE_HEAD, ENTRY = HARK_IMAGE_ENTRY, DIGEST = HARK_IMAGE_DIGEST };
enum { WRITER = HEAD + 4 };

static const uint8_t image_magic[8] = "HARKIMG";
static const uint8_t job_magic[8] = "HARKJOB";

/* ---- writing --------------------------------------------------------------------------------- */

/* Where everything lies. Returns the length of the file, or 0 if no file can be that long. */
static uint64_t lay_out(uint8_t *entry, const struct hark_section *section, uint32_t count)
{
    uint64_t at = HEAD + (uint64_t)ENTRY * count;
    for (uint32_t i = 0; i < count; i++, entry += ENTRY) {
        store_put32(entry, section[i].tag);
        store_put32(entry + 4, 0);
        store_put64(entry + 8, section[i].id);
        store_put64(entry + 16, at);
        store_put64(entry + 24, section[i].length);
        if (section[i].length > (uint64_t)INT64_MAX - 64 - at) return 0;
        at += section[i].length + store_padding(section[i].length);
    }
    return at + DIGEST;
}

void hark_image_head(uint8_t *head, uint32_t format, const struct hark_image_name *name,
    uint32_t count, uint64_t length)
{
    size_t job = strlen(name->job);
    memset(head, 0, HEAD);
    memcpy(head, image_magic, 8);
    store_put32(head + 8, format);
    store_put32(head + 12, name->rank);
    store_put64(head + 16, name->id);
    store_put32(head + 24, name->ranks);
    store_put32(head + 28, count);
    store_put64(head + 32, length);
    store_put32(head + 40, (uint32_t)job);
    memcpy(head + 48, name->job, job);
    if (count) store_put32(head + WRITER, name->writer);
}

static int write_all(
    int fd, const uint8_t *head, const struct hark_section *section, uint32_t count)
{
    static const uint8_t zero[8];
    uint8_t digest[DIGEST];
    struct out o;
    hark_out_begin(&o, fd);
    if (hark_out_put(&o, head, HEAD + (uint64_t)ENTRY * count) < 0) return -1;
    for (uint32_t i = 0; i < count; i++)
        if (hark_out_put(&o, section[i].at, section[i].length) < 0 ||
            hark_out_put(&o, zero, store_padding(section[i].length)) < 0)
            return -1;
    hark_out_digest(&o, digest);
    if (hark_out_put(&o, digest, DIGEST) < 0) return -1;
    return hark_out_flush(&o);
}

int hark_image_write(int fd, const struct hark_image_name *name, const struct hark_section *section,
    uint32_t count, const char **why)
{
    *why = NULL;
    for (uint32_t i = 0; i < count; i++)
        if (!section[i].at && section[i].length > 0) {
            *why = "a section without bytes";
            return HARK_S_EINVAL;
        }
    uint64_t front = HEAD + (uint64_t)ENTRY * count;
    uint8_t *head = front <= SIZE_MAX ? malloc((size_t)front) : NULL;
    if (!head) {
        *why = "no memory for the table of sections";
        return HARK_S_ESYSTEM;
    }
    uint64_t length = lay_out(head + HEAD, section, count);
    int status = HARK_S_OK;
    if (length == 0) {
        *why = "the sections are longer than a file can be";
        status = HARK_S_EINVAL;
    } else {
        hark_image_head(head, HARK_IMAGE_FORMAT, name, count, length);
        if (write_all(fd, head, section, count) < 0) status = HARK_S_ESYSTEM;
    }
    int saved = errno;
    free(head);
    errno = saved;
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Magic, version and length, which tell whether the rest can be looked at: what is wrong, or NULL.
 */
static const char *head_invalid(
    const uint8_t *head, uint64_t have, uint64_t length, char detail[128])
{
    if (have < 12 || memcmp(head, image_magic, 8) != 0) return "is not an image";
    uint32_t format = store_get32(head + 8);
    if (format != HARK_IMAGE_FORMAT && format != HARK_IMAGE_FORMAT_BLOCKS) {
        snprintf(detail, 128, "has format version %u, expected %u or %u", format, HARK_IMAGE_FORMAT,
            HARK_IMAGE_FORMAT_BLOCKS);
        return detail;
    }
    if (have < HEAD || length < HEAD + DIGEST) return "is shorter than its header";
    if (store_get64(head + 32) != length) {
        snprintf(detail, 128, "is %llu bytes long, expected %llu", (unsigned long long)length,
            (unsigned long long)store_get64(head + 32));
        return detail;
    }
    if (store_get32(head + 28) > (length - HEAD - DIGEST) / ENTRY)
        return "has more sections than bytes for them";
    return NULL;
}

static const char *identity_wrong(
    const uint8_t *head, const struct hark_image_name *name, char detail[128])
{
    uint32_t job = store_get32(head + 40);
    if (job > HARK_IMAGE_JOB_MAX) return "has a job name that is too long";
    if (job != strlen(name->job) || memcmp(head + 48, name->job, job) != 0) {
        snprintf(detail, 128, "belongs to job \"%.*s\", not to this one", (int)job,
            (const char *)head + 48);
        for (char *c = detail; *c; c++)
            if (*c < ' ' || *c > '~') *c = '?';
        return detail;
    }
    uint32_t ranks = store_get32(head + 24), rank = store_get32(head + 12);
    uint64_t id = store_get64(head + 16);
    if (ranks != name->ranks)
        snprintf(detail, 128, "belongs to a job of %u processes, expected %u", ranks, name->ranks);
    else if (rank != name->rank)
        snprintf(detail, 128, "belongs to rank %u, expected %u", rank, name->rank);
    else if (id != name->id)
        snprintf(detail, 128, "is checkpoint %llu, expected %llu", (unsigned long long)id,
            (unsigned long long)name->id);
    else return NULL;
    return detail;
}

/* The table must be the one that lay_out makes; anything else would be another format. Fills in the
 * sections of an image that is in memory; NULL: it is not. */
static const char *sections_invalid(
    const uint8_t *entry, uint32_t count, uint64_t length, struct hark_image *image)
{
    uint64_t at = HEAD + (uint64_t)ENTRY * count, end = length - DIGEST;
    for (uint32_t i = 0; i < count; i++, entry += ENTRY) {
        const uint64_t offset = store_get64(entry + 16), bytes = store_get64(entry + 24);
        if (offset != at || at > end || bytes > end - at)
            return "has a section that reaches outside of it";
        if (image)
            image->section[i] = (struct hark_section){.tag = store_get32(entry),
                .id = store_get64(entry + 8),
                .at = image->bytes + at,
                .length = bytes};
        at += bytes + store_padding(bytes);
    }
    return at == end ? NULL : "has bytes that belong to no section";
}

static int read_failed(int64_t got, const char **why)
{
    *why = got < 0 ? NULL : "became shorter while it was read";
    return got < 0 ? HARK_S_ESYSTEM : HARK_S_EDAMAGED;
}

/* The file's length and its head, with which the rest can be looked at. */
static int read_head(
    int fd, uint8_t head[HEAD], uint64_t *length, char detail[128], const char **why)
{
    struct stat st;
    *why = NULL;
    if (fstat(fd, &st) < 0) return HARK_S_ESYSTEM;
    *length = S_ISREG(st.st_mode) && st.st_size > 0 ? (uint64_t)st.st_size : 0;
    const int64_t got = *length > 0 ? hark_file_read(fd, head, HEAD) : 0;
    if (got < 0) return HARK_S_ESYSTEM;
    *why = head_invalid(head, (uint64_t)got, *length, detail);
    return *why ? HARK_S_EDAMAGED : HARK_S_OK;
}

int64_t hark_image_writer(int fd)
{
    uint8_t head[WRITER + 4];
    const int64_t got = hark_file_read(fd, head, sizeof head);
    if (got != (int64_t)sizeof head) return got < 0 ? -1 : 0;
    if (memcmp(head, image_magic, 8) != 0 || store_get32(head + 28) == 0) return 0;
    return store_get32(head + WRITER);
}

static const char wrong_digest[] = "has a wrong checksum: it was changed after it was written";

int hark_image_load(int fd, uint8_t **bytes, uint64_t *length, char detail[128], const char **why)
{
    uint8_t head[HEAD], digest[DIGEST];
    *bytes = NULL;
    int status = read_head(fd, head, length, detail, why);
    if (status != HARK_S_OK) return status;

    /* Only now is anything allocated, and nothing that the file does not really hold. */
    uint8_t *made = *length <= SIZE_MAX ? malloc((size_t)*length) : NULL;
    if (!made) {
        *why = "no memory to read it";
        return HARK_S_ESYSTEM;
    }
    const int64_t got = hark_file_read(fd, made, *length);
    const int saved = errno;
    if (got < 0 || (uint64_t)got != *length) status = read_failed(got, why);
    else if (memcmp(made, head, HEAD) != 0) *why = "changed while it was read";
    else hark_digest(made, *length - DIGEST, digest);
    if (status == HARK_S_OK && !*why && memcmp(digest, made + *length - DIGEST, DIGEST) != 0)
        *why = wrong_digest;
    if (status == HARK_S_OK && *why) status = HARK_S_EDAMAGED;
    if (status == HARK_S_OK) *bytes = made;
    else free(made);
    errno = saved;
    return status;
}

/* Format 2: its bytes become those of `image`. */
static int take_whole(uint8_t *bytes, uint64_t length, struct hark_image **image, const char **why)
{
    uint32_t count = store_get32(bytes + 28);
    struct hark_image *made = malloc(sizeof *made + count * sizeof made->section[0]);
    if (!made) {
        free(bytes);
        *why = "no memory to read it";
        return HARK_S_ESYSTEM;
    }
    made->bytes = bytes;
    made->count = count;
    *why = sections_invalid(bytes + HEAD, count, length, made);
    if (!*why) *image = made;
    else hark_image_free(made);
    return *why ? HARK_S_EDAMAGED : HARK_S_OK;
}

int hark_image_read(int root, int fd, const struct hark_image_name *name, struct hark_image **image,
    char detail[128], const char **why)
{
    uint8_t *bytes;
    uint64_t length;
    struct hark_table t;
    int status = hark_image_load(fd, &bytes, &length, detail, why);
    if (status != HARK_S_OK) return status;
    *why = identity_wrong(bytes, name, detail);
    const bool blocks = store_get32(bytes + 8) == HARK_IMAGE_FORMAT_BLOCKS;
    if (!*why && !blocks) return take_whole(bytes, length, image, why);
    if (!*why) *why = hark_table_check(&t, bytes, length);
    status = *why ? HARK_S_EDAMAGED : hark_table_gather(root, name->rank, &t, image, detail, why);
    int saved = errno;
    free(bytes);
    errno = saved;
    return status;
}

static int verify_digest(int fd, uint64_t length, const char **why)
{
    uint8_t digest[DIGEST], written[DIGEST];
    int64_t got = hark_digest_file(fd, length - DIGEST, digest);
    if (got < 0 && errno == ENOMEM) *why = "no memory to read it";
    if (got < 0) return HARK_S_ESYSTEM;
    if ((uint64_t)got != length - DIGEST) return read_failed(got, why);
    got = hark_file_read_from(fd, written, DIGEST, length - DIGEST);
    if (got != DIGEST) return read_failed(got, why);
    if (memcmp(digest, written, DIGEST) == 0) return HARK_S_OK;
    *why = wrong_digest;
    return HARK_S_EDAMAGED;
}

static int verify_sections(int fd, uint32_t count, uint64_t length, const char **why)
{
    const uint64_t bytes = (uint64_t)ENTRY * count;
    uint8_t *entry = bytes < SIZE_MAX ? malloc((size_t)bytes + 1) : NULL;
    if (entry == NULL) {
        *why = "no memory to read it";
        return HARK_S_ESYSTEM;
    }
    const int64_t got = hark_file_read_from(fd, entry, bytes, HEAD);
    const int saved = errno;
    int status = HARK_S_OK;
    if (got < 0 || (uint64_t)got != bytes) status = read_failed(got, why);
    else *why = sections_invalid(entry, count, length, NULL);
    if (*why) status = HARK_S_EDAMAGED;
    free(entry);
    errno = saved;
    return status;
}

int hark_image_verify(
    int root, int fd, const struct hark_image_name *name, char detail[128], const char **why)
{
    uint8_t head[HEAD];
    uint64_t length;
    struct hark_image *image;
    int status = read_head(fd, head, &length, detail, why);
    if (status != HARK_S_OK) return status;
    if (store_get32(head + 8) == HARK_IMAGE_FORMAT_BLOCKS) {
        status = hark_image_read(root, fd, name, &image, detail, why);
        if (status == HARK_S_OK) hark_image_free(image);
        return status;
    }
    status = verify_digest(fd, length, why);
    if (status != HARK_S_OK) return status;
    *why = identity_wrong(head, name, detail);
    return *why ? HARK_S_EDAMAGED : verify_sections(fd, store_get32(head + 28), length, why);
}

void hark_image_free(struct hark_image *image)
{
    if (!image) return;
    free(image->bytes);
    free(image);
}

/* ---- the job file ---------------------------------------------------------------------------- */

void hark_image_job_encode(uint8_t bytes[HARK_IMAGE_JOB_FILE], const char *job, uint32_t ranks)
{
    size_t length = strlen(job);
    memset(bytes, 0, HARK_IMAGE_JOB_FILE);
    memcpy(bytes, job_magic, 8);
    store_put32(bytes + 8, HARK_IMAGE_FORMAT);
    store_put32(bytes + 12, ranks);
    store_put32(bytes + 16, (uint32_t)length);
    memcpy(bytes + 24, job, length);
    hark_digest(bytes, HARK_IMAGE_JOB_FILE - DIGEST, bytes + HARK_IMAGE_JOB_FILE - DIGEST);
}

const char *hark_image_job_decode(
    const uint8_t *bytes, uint64_t length, char job[HARK_IMAGE_JOB_MAX + 1], uint32_t *ranks)
{
    uint8_t digest[DIGEST];
    if (length < 12 || memcmp(bytes, job_magic, 8) != 0) return "is not a job file";
    if (store_get32(bytes + 8) != HARK_IMAGE_FORMAT)
        return "has a format version that this library does not read";
    if (length != HARK_IMAGE_JOB_FILE) return "has a wrong length";
    hark_digest(bytes, HARK_IMAGE_JOB_FILE - DIGEST, digest);
    if (memcmp(digest, bytes + HARK_IMAGE_JOB_FILE - DIGEST, DIGEST) != 0)
        return "has a wrong checksum";
    uint32_t name = store_get32(bytes + 16);
    if (name < 1 || name > HARK_IMAGE_JOB_MAX) return "has a job name of a wrong length";
    memcpy(job, bytes + 24, name);
    job[name] = 0;
    *ranks = store_get32(bytes + 12);
    return NULL;
}
