/* recording_read.c: a recording, mapped and checked. */
#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hark/parts/mem.h"
#include "recording_parts.h"

/* ---- entries --------------------------------------------------------------------------------- */

static bool get(struct hark_recording_cursor *c, uint64_t most, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; c->at < c->end && shift < 64; shift += 7) {
        const uint8_t byte = *c->at++;
        const uint64_t bits = byte & 0x7f;
        if (bits << shift >> shift != bits) return false;
        *value |= bits << shift;
        if (byte < 0x80) return *value <= most;
    }
    return false;
}

static bool get_channel(struct hark_recording_cursor *c, struct hark_recording_entry *e)
{
    uint64_t peer, ctx;
    if (!get(c, UINT32_MAX, &peer) || !get(c, UINT32_MAX, &ctx)) return false;
    e->peer = (uint32_t)peer;
    e->ctx = (uint32_t)ctx;
    return true;
}

static bool get_send(struct hark_recording_cursor *c, struct hark_recording_entry *e)
{
    uint64_t tag;
    if (!get(c, UINT32_MAX, &tag) || !get(c, UINT64_MAX, &e->length) || c->end - c->at < 8)
        return false;
    e->tag = (int32_t)tag;
    e->digest = hark_get64(c->at);
    c->at += 8;
    return true;
}

bool hark_recording_next(struct hark_recording_cursor *c, struct hark_recording_entry *e)
{
    uint64_t kind;
    *e = (struct hark_recording_entry){.number = 0};
    if (!get(c, HARK_RECORDED_END, &kind)) return false;
    switch (kind) {
    case HARK_RECORDED_SEND:
        e->kind = HARK_RECORDED_SEND;
        return get_channel(c, e) && get_send(c, e);
    case HARK_RECORDED_DELIVERY:
        e->kind = HARK_RECORDED_DELIVERY;
        return get_channel(c, e) && get(c, UINT64_MAX, &e->number) && e->number;
    case HARK_RECORDED_END: e->kind = HARK_RECORDED_END; return true;
    default: return false;
    }
}

struct hark_recording_cursor hark_recording_part(const struct hark_recording *r, uint32_t rank)
{
    return (struct hark_recording_cursor){r->bytes + r->part[rank], r->bytes + r->part[rank + 1]};
}

/* ---- the file -------------------------------------------------------------------------------- */

static const char *map(struct hark_recording *r)
{
    struct stat st;
    int fd = open(r->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return strerror(errno);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < HARK_RECORDING_HEAD) {
        close(fd);
        return "it is not a recording of `hark run --record`";
    }
    r->size = (uint64_t)st.st_size;
    void *at = mmap(NULL, r->size, PROT_READ, MAP_PRIVATE, fd, 0);
    int why = errno;
    close(fd);
    if (at == MAP_FAILED) return strerror(why);
    r->bytes = at;
    return NULL;
}

static const char *read_head(struct hark_recording *r)
{
    static const uint8_t magic[8] = HARK_RECORDING_MAGIC;
    const uint8_t *at = r->bytes;
    if (memcmp(at, magic, 7) != 0) return "it is not a recording of `hark run --record`";
    if (at[7] != magic[7]) return "it is a recording of another version of hark";
    r->ranks = hark_get32(at + 8);
    r->failures = hark_get32(at + 12);
    memcpy(r->protocol, at + 16, HARK_RECORDING_NAME - 1);
    memcpy(r->transport, at + 48, HARK_RECORDING_NAME - 1);
    memcpy(r->program, at + 80, HARK_RECORDING_PROGRAM - 1);
    if (r->ranks == 0 || r->ranks > HARK_RECORDING_RANKS) return "it is damaged, in its head";
    return NULL;
}

static const char *read_parts(struct hark_recording *r)
{
    const uint64_t lengths = HARK_RECORDING_HEAD, first = lengths + (uint64_t)r->ranks * 8;
    if (first > r->size) return "it is cut off";
    r->part = malloc(((size_t)r->ranks + 1) * sizeof *r->part);
    if (r->part == NULL) return "no memory for a recording";
    r->part[0] = first;
    for (uint32_t i = 0; i < r->ranks; i++) {
        const uint64_t length = hark_get64(r->bytes + lengths + (uint64_t)i * 8);
        if (length > r->size - r->part[i]) return "it is cut off";
        r->part[i + 1] = r->part[i] + length;
    }
    return r->part[r->ranks] == r->size ? NULL : "it is damaged, at its end";
}

/* 1: it ends with an end; 0: it has none; -1: it is damaged. */
static int check_part(const struct hark_recording *r, uint32_t rank)
{
    struct hark_recording_cursor c = hark_recording_part(r, rank);
    struct hark_recording_entry e = {.number = 0};
    while (c.at < c.end) {
        const uint8_t *before = c.at;
        if (!hark_recording_next(&c, &e)) return c.end - before < 64 && c.at == c.end ? 0 : -1;
        if (e.kind == HARK_RECORDED_END) return c.at == c.end ? 1 : -1;
        if (e.peer >= r->ranks && !(e.kind == HARK_RECORDED_SEND && e.peer == HARK_RECORDING_GROUP))
            return -1;
    }
    return 0;
}

static int refuse(
    struct hark_recording *r, int status, const char *why, char error[HARK_RECORDING_ERROR])
{
    snprintf(error, HARK_RECORDING_ERROR, "%.150s: %s", r->path, why);
    hark_recording_close(r);
    return status;
}

int hark_recording_open(
    struct hark_recording *r, const char *path, char error[HARK_RECORDING_ERROR])
{
    char text[80];
    *r = (struct hark_recording){.path = path};
    const char *why = map(r);
    if (why) return refuse(r, HARK_RECORDING_ESYSTEM, why, error);
    why = read_head(r);
    if (why == NULL) why = read_parts(r);
    if (why) return refuse(r, HARK_RECORDING_EFORMAT, why, error);
    if (r->failures)
        return refuse(r, HARK_RECORDING_EPARTIAL,
            "processes died in its run: record a run without failures", error);
    for (uint32_t i = 0; i < r->ranks; i++) {
        const int whole = check_part(r, i);
        if (whole > 0) continue;
        snprintf(text, sizeof text,
            whole ? "the part of rank %u is damaged"
                  : "its run did not end well: rank %u did not finalize",
            (unsigned)i);
        return refuse(r, whole ? HARK_RECORDING_EFORMAT : HARK_RECORDING_EPARTIAL, text, error);
    }
    return HARK_RECORDING_OK;
}

void hark_recording_close(struct hark_recording *r)
{
    if (r->bytes) munmap((void *)(uintptr_t)r->bytes, r->size);
    free(r->part);
    r->bytes = NULL;
    r->part = NULL;
}
