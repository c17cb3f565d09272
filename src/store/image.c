/* image.c: the bytes of an image file and of a job file. An image is untrusted input: every length
 * in it is checked against the length of the file before it is used. */
#define XXH_STATIC_LINKING_ONLY /* for the state as a value: no allocation of its own */
#include "image.h"
#include "file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { HEAD = 112, ENTRY = 32, DIGEST = 16 };

static const uint8_t image_magic[8] = "HARKIMG";
static const uint8_t job_magic[8] = "HARKJOB";

static void put32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static void put64(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 8; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t get64(const uint8_t *at)
{
    return (uint64_t)get32(at) | (uint64_t)get32(at + 4) << 32;
}

static uint64_t padding(uint64_t length)
{
    return (8 - (length & 7)) & 7;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Bytes are hashed just before they are written, in pieces that are still in the cache then. */
struct out {
    int fd;
    size_t count;
    uint64_t bytes;
    struct iovec iov[64];
    XXH3_state_t hash;
};
#define PIECE ((uint64_t)1 << 20)

static int out_flush(struct out *o)
{
    size_t count = o->count;
    o->count = 0;
    o->bytes = 0;
    return hark_file_write(o->fd, o->iov, count);
}

static int out_put(struct out *o, const void *from, uint64_t length)
{
    const uint8_t *at = from;
    while (length > 0) {
        uint64_t piece = length < PIECE ? length : PIECE;
        XXH3_128bits_update(&o->hash, at, (size_t)piece);
        o->iov[o->count++] =
            (struct iovec){.iov_base = (void *)(uintptr_t)at, .iov_len = (size_t)piece};
        o->bytes += piece;
        at += piece;
        length -= piece;
        if ((o->count == 64 || o->bytes >= PIECE) && out_flush(o) < 0) return -1;
    }
    return 0;
}

/* Where everything lies. Returns the length of the file, or 0 if no file can be that long. */
static uint64_t lay_out(uint8_t *entry, const struct hark_section *section, uint32_t count)
{
    uint64_t at = HEAD + (uint64_t)ENTRY * count;
    for (uint32_t i = 0; i < count; i++, entry += ENTRY) {
        put32(entry, section[i].tag);
        put32(entry + 4, 0);
        put64(entry + 8, section[i].id);
        put64(entry + 16, at);
        put64(entry + 24, section[i].length);
        if (section[i].length > (uint64_t)INT64_MAX - 64 - at) return 0;
        at += section[i].length + padding(section[i].length);
    }
    return at + DIGEST;
}

static void encode_head(
    uint8_t *head, const struct hark_image_name *name, uint32_t count, uint64_t length)
{
    size_t job = strlen(name->job);
    memset(head, 0, HEAD);
    memcpy(head, image_magic, 8);
    put32(head + 8, HARK_IMAGE_FORMAT);
    put32(head + 12, name->rank);
    put64(head + 16, name->id);
    put32(head + 24, name->ranks);
    put32(head + 28, count);
    put64(head + 32, length);
    put32(head + 40, (uint32_t)job);
    memcpy(head + 48, name->job, job);
}

static int write_all(
    int fd, const uint8_t *head, const struct hark_section *section, uint32_t count)
{
    static const uint8_t zero[8];
    XXH128_canonical_t digest;
    struct out o;
    o.fd = fd;
    o.count = 0;
    o.bytes = 0;
    XXH3_128bits_reset(&o.hash);
    if (out_put(&o, head, HEAD + (uint64_t)ENTRY * count) < 0) return -1;
    for (uint32_t i = 0; i < count; i++)
        if (out_put(&o, section[i].at, section[i].length) < 0 ||
            out_put(&o, zero, padding(section[i].length)) < 0)
            return -1;
    XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(&o.hash));
    if (out_put(&o, digest.digest, DIGEST) < 0) return -1;
    return out_flush(&o);
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
        encode_head(head, name, count, length);
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
    if (get32(head + 8) != HARK_IMAGE_FORMAT) {
        snprintf(
            detail, 128, "has format version %u, expected %u", get32(head + 8), HARK_IMAGE_FORMAT);
        return detail;
    }
    if (have < HEAD || length < HEAD + DIGEST) return "is shorter than its header";
    if (get64(head + 32) != length) {
        snprintf(detail, 128, "is %llu bytes long, expected %llu", (unsigned long long)length,
            (unsigned long long)get64(head + 32));
        return detail;
    }
    if (get32(head + 28) > (length - HEAD - DIGEST) / ENTRY)
        return "has more sections than bytes for them";
    return NULL;
}

static const char *identity_wrong(
    const uint8_t *head, const struct hark_image_name *name, char detail[128])
{
    uint32_t job = get32(head + 40);
    if (job > HARK_IMAGE_JOB_MAX) return "has a job name that is too long";
    if (job != strlen(name->job) || memcmp(head + 48, name->job, job) != 0) {
        snprintf(detail, 128, "belongs to job \"%.*s\", not to this one", (int)job,
            (const char *)head + 48);
        for (char *c = detail; *c; c++)
            if (*c < ' ' || *c > '~') *c = '?';
        return detail;
    }
    uint32_t ranks = get32(head + 24), rank = get32(head + 12);
    uint64_t id = get64(head + 16);
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

/* The table must be the one that lay_out makes; anything else would be another format. */
static const char *sections_invalid(struct hark_image *image, uint64_t length)
{
    const uint8_t *entry = image->bytes + HEAD;
    uint64_t at = HEAD + (uint64_t)ENTRY * image->count, end = length - DIGEST;
    for (uint32_t i = 0; i < image->count; i++, entry += ENTRY) {
        struct hark_section *s = &image->section[i];
        uint64_t offset = get64(entry + 16);
        s->tag = get32(entry);
        s->pad = 0;
        s->id = get64(entry + 8);
        s->at = image->bytes + at;
        s->length = get64(entry + 24);
        if (offset != at || at > end || s->length > end - at)
            return "has a section that reaches outside of it";
        at += s->length + padding(s->length);
    }
    return at == end ? NULL : "has bytes that belong to no section";
}

static const char *image_invalid(
    struct hark_image *image, uint64_t length, const struct hark_image_name *name, char detail[128])
{
    XXH128_canonical_t digest;
    XXH128_canonicalFromHash(&digest, XXH3_128bits(image->bytes, (size_t)(length - DIGEST)));
    if (memcmp(digest.digest, image->bytes + length - DIGEST, DIGEST) != 0)
        return "has a wrong checksum: it was changed after it was written";
    const char *wrong = identity_wrong(image->bytes, name, detail);
    return wrong ? wrong : sections_invalid(image, length);
}

static int read_failed(int64_t got, const char **why)
{
    *why = got < 0 ? NULL : "became shorter while it was read";
    return got < 0 ? HARK_S_ESYSTEM : HARK_S_EDAMAGED;
}

int hark_image_read(int fd, const struct hark_image_name *name, struct hark_image **image,
    char detail[128], const char **why)
{
    struct stat st;
    uint8_t head[HEAD];
    *why = NULL;
    if (fstat(fd, &st) < 0) return HARK_S_ESYSTEM;
    uint64_t length = S_ISREG(st.st_mode) && st.st_size > 0 ? (uint64_t)st.st_size : 0;
    int64_t got = length > 0 ? hark_file_read(fd, head, HEAD) : 0;
    if (got < 0) return HARK_S_ESYSTEM;
    *why = head_invalid(head, (uint64_t)got, length, detail);
    if (*why) return HARK_S_EDAMAGED;

    /* Only now is anything allocated, and nothing that the file does not really hold. */
    uint32_t count = get32(head + 28);
    struct hark_image *made = malloc(sizeof *made + count * sizeof made->section[0]);
    uint8_t *bytes = made && length <= SIZE_MAX ? malloc((size_t)length) : NULL;
    if (!bytes) {
        free(made);
        *why = "no memory to read it";
        return HARK_S_ESYSTEM;
    }
    made->bytes = bytes;
    made->count = count;
    got = hark_file_read(fd, bytes, length);
    int status = HARK_S_OK;
    if (got < 0 || (uint64_t)got != length) status = read_failed(got, why);
    else if (memcmp(bytes, head, HEAD) != 0) *why = "changed while it was read";
    else *why = image_invalid(made, length, name, detail);
    if (status == HARK_S_OK && *why) status = HARK_S_EDAMAGED;
    if (status == HARK_S_OK) {
        *image = made;
        return HARK_S_OK;
    }
    int saved = errno;
    hark_image_free(made);
    errno = saved;
    return status;
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
    XXH128_canonical_t digest;
    size_t length = strlen(job);
    memset(bytes, 0, HARK_IMAGE_JOB_FILE);
    memcpy(bytes, job_magic, 8);
    put32(bytes + 8, HARK_IMAGE_FORMAT);
    put32(bytes + 12, ranks);
    put32(bytes + 16, (uint32_t)length);
    memcpy(bytes + 24, job, length);
    XXH128_canonicalFromHash(&digest, XXH3_128bits(bytes, HARK_IMAGE_JOB_FILE - DIGEST));
    memcpy(bytes + HARK_IMAGE_JOB_FILE - DIGEST, digest.digest, DIGEST);
}

const char *hark_image_job_decode(
    const uint8_t *bytes, uint64_t length, char job[HARK_IMAGE_JOB_MAX + 1], uint32_t *ranks)
{
    XXH128_canonical_t digest;
    if (length < 12 || memcmp(bytes, job_magic, 8) != 0) return "is not a job file";
    if (get32(bytes + 8) != HARK_IMAGE_FORMAT)
        return "has a format version that this library does not read";
    if (length != HARK_IMAGE_JOB_FILE) return "has a wrong length";
    XXH128_canonicalFromHash(&digest, XXH3_128bits(bytes, HARK_IMAGE_JOB_FILE - DIGEST));
    if (memcmp(digest.digest, bytes + HARK_IMAGE_JOB_FILE - DIGEST, DIGEST) != 0)
        return "has a wrong checksum";
    uint32_t name = get32(bytes + 16);
    if (name < 1 || name > HARK_IMAGE_JOB_MAX) return "has a job name of a wrong length";
    memcpy(job, bytes + 24, name);
    job[name] = 0;
    *ranks = get32(bytes + 12);
    return NULL;
}
