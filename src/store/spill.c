/* spill.c: segments of the payload log in files.
 *
 * One file for each segment, "hark-log.RANK.INC.PEER.CTX.FIRST": payloads, then slots. Written
 * whole before its memory is freed, never synced: if this process dies, it makes the payloads again
 * by re-execution. A digest kept in memory tells a file that is not what was written. */
#include "descriptor.h"
#include "file.h"
#include "log_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

static const char prefix[] = "hark-log.";

static void name_of(const struct hark_log *log, const struct log_segment *g, char name[100])
{
    snprintf(name, 100, "%s%u.%u.%u.%u.%llu", prefix, log->rank, log->inc,
        (unsigned)(g->channel->key & UINT32_MAX), (unsigned)(g->channel->key >> 32),
        (unsigned long long)g->first);
}

/* Is this the name of a file of this rank, of this incarnation (an earlier job's) or an older one?
 * Those of newer incarnations belong to somebody who lives. */
static bool outdated(const struct hark_log *log, const char *name)
{
    uint64_t number[5];
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) return false;
    name += sizeof prefix - 1;
    for (int i = 0; i < 5; i++) {
        if (hark_file_number(&name, i == 4 ? UINT64_MAX : UINT32_MAX, &number[i]) < 0) return false;
        if (*name++ != (i == 4 ? '\0' : '.')) return false;
    }
    return number[0] == log->rank && number[1] <= log->inc;
}

static int remove_outdated(struct hark_log *log)
{
    int fd = hark_file_open(log->dir, ".", O_RDONLY | O_DIRECTORY);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    if (!list) {
        if (fd >= 0) close(fd);
        return -1;
    }
    for (struct dirent *e; (e = readdir(list));)
        if (outdated(log, e->d_name)) unlinkat(log->dir, e->d_name, 0);
    closedir(list);
    return 0;
}

int hark_spill_open(struct hark_log *log, const char *path, char error[256])
{
    int made = mkdir(path, 0700);
    if (made == 0 || errno == EEXIST) do
            log->dir = hark_descriptor_above(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        while (log->dir < 0 && errno == EINTR);
    if (log->dir < 0 || remove_outdated(log) < 0) {
        hark_file_say(error, "payload log: cannot open the spill directory", path, NULL,
            hark_file_why(errno));
        if (log->dir >= 0) close(log->dir);
        return HARK_L_ESYSTEM;
    }
    log->path = strdup(path);
    if (log->path) return HARK_L_OK;
    close(log->dir);
    snprintf(error, 256, "payload log: no memory");
    return HARK_L_EMEMORY;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct spill {
    struct hark_log *log;
    struct log_segment *segment;
    char name[100];
    int fd;
    XXH3_state_t hash;
};

/* HARK_L_EFULL also says that there is no directory, or no room by our own limit. */
static int spill_begin(struct spill *s, struct hark_log *log, struct log_segment *g, uint64_t bytes)
{
    if (log->dir < 0) {
        snprintf(log->error, sizeof log->error,
            "payload log: over its limit of %llu bytes, and it may not spill",
            (unsigned long long)log->limit);
        return HARK_L_EFULL;
    }
    if (log->spill_limit && (bytes > log->spill_limit || log->spilled > log->spill_limit - bytes)) {
        snprintf(log->error, sizeof log->error,
            "payload log: over its limits of %llu bytes in memory and %llu in files",
            (unsigned long long)log->limit, (unsigned long long)log->spill_limit);
        return HARK_L_EFULL;
    }
    s->log = log;
    s->segment = g;
    name_of(log, g, s->name);
    s->fd = hark_file_create(log->dir, s->name);
    if (s->fd < 0 && errno == EEXIST && unlinkat(log->dir, s->name, 0) == 0)
        s->fd = hark_file_create(log->dir, s->name);
    XXH3_64bits_reset(&s->hash);
    return HARK_L_OK;
}

static int spill_put(struct spill *s, const void *at, uint64_t length)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)at, .iov_len = (size_t)length};
    if (length == 0) return 0;
    XXH3_64bits_update(&s->hash, at, (size_t)length);
    return hark_file_write(s->fd, &iov, 1);
}

/* `failed`: what was put is not all there, errno says why. */
static int spill_end(struct spill *s, bool failed, uint64_t bytes)
{
    struct hark_log *log = s->log;
    int saved = errno;
    if (s->fd >= 0 && hark_file_close(s->fd) < 0 && !failed) {
        failed = true;
        saved = errno;
    }
    if (failed) {
        if (s->fd >= 0) unlinkat(log->dir, s->name, 0);
        log->failures++;
        hark_file_say(
            log->error, "payload log: cannot spill to", log->path, s->name, hark_file_why(saved));
        return HARK_L_EFULL;
    }
    s->segment->file = bytes;
    s->segment->digest = XXH3_64bits_digest(&s->hash);
    log->spilled += bytes;
    return HARK_L_OK;
}

int hark_spill_segment(struct hark_log *log, struct log_segment *g)
{
    uint64_t slots = g->alone ? 0 : g->count * (uint64_t)sizeof(struct log_slot);
    struct spill s;
    int status = spill_begin(&s, log, g, g->used + slots);
    if (status != HARK_L_OK) return status;
    bool failed = s.fd < 0 || spill_put(&s, g->block, g->used) < 0 ||
                  spill_put(&s, g->block + g->room - slots, slots) < 0;
    return spill_end(&s, failed, g->used + slots);
}

int hark_spill_parts(
    struct hark_log *log, struct log_segment *g, const struct hark_log_part *part, uint32_t count)
{
    struct spill s;
    int status = spill_begin(&s, log, g, g->used);
    if (status != HARK_L_OK) return status;
    bool failed = s.fd < 0;
    for (uint32_t i = 0; i < count && !failed; i++)
        failed = spill_put(&s, part[i].at, part[i].length) < 0;
    return spill_end(&s, failed, g->used);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The buffer is the log's only memory outside of its limit; one that was needed for a giant is not
 * kept for dwarfs. */
static bool buffer_reserve(struct hark_log *log, uint64_t bytes)
{
    const uint64_t small = (uint64_t)2 << 20;
    if (log->buffer_room >= bytes && (log->buffer_room <= small || log->buffer_room / 4 < bytes))
        return true;
    free(log->buffer);
    log->buffer_room = 0;
    log->buffer = bytes <= SIZE_MAX ? malloc((size_t)bytes) : NULL;
    if (!log->buffer) return false;
    log->buffer_room = bytes;
    return true;
}

int hark_spill_load(struct hark_log *log, struct log_segment *g)
{
    char name[100];
    const char *why = NULL;
    name_of(log, g, name);
    log->loaded = NULL;
    int64_t got = -1;
    if (!buffer_reserve(log, g->file)) {
        why = "no memory to read it";
    } else {
        int fd = hark_file_open(log->dir, name, O_RDONLY | O_NONBLOCK);
        if (fd >= 0) got = hark_file_read(fd, log->buffer, g->file);
        if (got < 0) why = hark_file_why(errno);
        if (fd >= 0) close(fd);
    }
    if (!why && (uint64_t)got != g->file) why = "is shorter than what was written";
    if (!why && XXH3_64bits(log->buffer, (size_t)g->file) != g->digest)
        why = "was changed after it was written";
    if (why) {
        hark_file_say(log->error, "payload log: cannot read", log->path, name, why);
        return HARK_L_ESYSTEM;
    }
    log->loaded = g;
    return HARK_L_OK;
}

void hark_spill_drop(struct hark_log *log, struct log_segment *g)
{
    char name[100];
    name_of(log, g, name);
    unlinkat(log->dir, name, 0);
    log->spilled -= g->file;
    g->file = 0;
    if (log->loaded == g) log->loaded = NULL;
}

void hark_spill_close(struct hark_log *log)
{
    if (log->dir >= 0) close(log->dir);
    free(log->path);
    free(log->buffer);
}
