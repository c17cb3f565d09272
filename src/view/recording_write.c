/* recording_write.c: a part of a recording, and the file that is made of all. */
#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../store/descriptor.h"
#include "hark/parts/mem.h"
#include "recording_parts.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { BUFFER = 1 << 16, ENTRY_MOST = 64 };

struct hark_recorder {
    int fd, failed; /* errno of the first write that failed; 0: none */
    size_t used;
    uint8_t buffer[BUFFER];
};

struct hark_recorder *hark_recorder_open(const char *path)
{
    struct hark_recorder *r = malloc(sizeof *r);
    if (r == NULL) return NULL;
    r->used = 0;
    r->failed = 0;
    r->fd = hark_descriptor_above(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (r->fd >= 0) return r;
    free(r);
    return NULL;
}

/* 0, or errno. */
static int write_all(int fd, const uint8_t *bytes, size_t length)
{
    while (length) {
        ssize_t n = write(fd, bytes, length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : EIO;
        bytes += n;
        length -= (size_t)n;
    }
    return 0;
}

static void empty(struct hark_recorder *r)
{
    if (r->failed == 0) r->failed = write_all(r->fd, r->buffer, r->used);
    r->used = 0;
}

static uint8_t *room(struct hark_recorder *r)
{
    if (r->used + ENTRY_MOST > BUFFER) empty(r);
    return r->buffer + r->used;
}

static uint8_t *put(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

void hark_recorder_sent(struct hark_recorder *r, uint32_t to, uint32_t ctx, int32_t tag,
    const void *payload, uint64_t length)
{
    uint8_t *at = put(room(r), HARK_RECORDED_SEND);
    at = put(put(put(put(at, to), ctx), (uint32_t)tag), length);
    hark_put64(at, length ? XXH3_64bits(payload, (size_t)length) : 0);
    r->used = (size_t)(at + 8 - r->buffer);
}

void hark_recorder_delivered(struct hark_recorder *r, uint32_t from, uint32_t ctx, uint64_t number)
{
    uint8_t *at = put(room(r), HARK_RECORDED_DELIVERY);
    r->used = (size_t)(put(put(put(at, from), ctx), number) - r->buffer);
}

int hark_recorder_close(struct hark_recorder *r)
{
    r->used = (size_t)(put(room(r), HARK_RECORDED_END) - r->buffer);
    empty(r);
    if (close(r->fd) < 0 && r->failed == 0) r->failed = errno;
    int failed = r->failed;
    free(r);
    return failed;
}

/* ---- all of a job ---------------------------------------------------------------------------- */

static void put_name(uint8_t *at, const char *name, size_t room_of_it)
{
    size_t n = strlen(name);
    memcpy(at, name, n < room_of_it ? n : room_of_it - 1);
}

static void write_head(FILE *f, const struct hark_recording_job *job)
{
    uint8_t head[HARK_RECORDING_HEAD] = HARK_RECORDING_MAGIC;
    hark_put32(head + 8, job->ranks);
    hark_put32(head + 12, job->failures);
    put_name(head + 16, job->protocol, HARK_RECORDING_NAME);
    put_name(head + 48, job->transport, HARK_RECORDING_NAME);
    put_name(head + 80, job->program, HARK_RECORDING_PROGRAM);
    (void)fwrite(head, 1, sizeof head, f); /* ferror() is asked at the end */
}

static int open_part(const char *directory, uint32_t rank)
{
    char path[200];
    snprintf(path, sizeof path, HARK_RECORDING_PART, directory, (unsigned)rank);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void write_length(FILE *f, const char *directory, uint32_t rank)
{
    uint8_t length[8];
    struct stat st = {.st_size = 0};
    int fd = open_part(directory, rank);
    if (fd >= 0) {
        if (fstat(fd, &st) < 0) st.st_size = 0;
        close(fd);
    }
    hark_put64(length, (uint64_t)st.st_size);
    (void)fwrite(length, 1, sizeof length, f);
}

static int copy_part(FILE *f, const char *directory, uint32_t rank, uint8_t *buffer)
{
    int fd = open_part(directory, rank), failed = 0;
    ssize_t n;
    if (fd < 0) return errno == ENOENT ? 0 : errno;
    while ((n = read(fd, buffer, BUFFER)) != 0) {
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) failed = errno;
        if (n < 0 || fwrite(buffer, 1, (size_t)n, f) < (size_t)n) break;
    }
    close(fd);
    return failed;
}

static int not_written(const char *path, int why, char error[HARK_RECORDING_ERROR])
{
    snprintf(error, HARK_RECORDING_ERROR, "%.160s: %s", path, strerror(why));
    return HARK_RECORDING_ESYSTEM;
}

static int copy_parts(FILE *f, const char *directory, uint32_t ranks)
{
    uint8_t *buffer = malloc(BUFFER);
    int failed = buffer ? 0 : ENOMEM;
    for (uint32_t rank = 0; rank < ranks; rank++) write_length(f, directory, rank);
    for (uint32_t rank = 0; rank < ranks && failed == 0; rank++)
        failed = copy_part(f, directory, rank, buffer);
    free(buffer);
    return failed;
}

/* What the parts of a run with failures hold was sent once or several times, nobody can tell. */
static int write_none(FILE *f, uint32_t ranks)
{
    static const uint8_t none[8];
    for (uint32_t rank = 0; rank < ranks; rank++) (void)fwrite(none, 1, sizeof none, f);
    return 0;
}

int hark_recording_join(const char *out, const char *directory,
    const struct hark_recording_job *job, char error[HARK_RECORDING_ERROR])
{
    FILE *f = fopen(out, "we");
    if (f == NULL) return not_written(out, errno, error);
    write_head(f, job);
    int failed = job->failures ? write_none(f, job->ranks) : copy_parts(f, directory, job->ranks);
    if (ferror(f) && failed == 0) failed = errno ? errno : EIO;
    if (fclose(f) != 0 && failed == 0) failed = errno;
    return failed ? not_written(out, failed, error) : HARK_RECORDING_OK;
}
