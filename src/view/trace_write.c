/* trace_write.c: recording, at the price of copying one cache line. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../short_path.h"
#include "../store/descriptor.h"
#include "../store/file.h"
#include "trace_part.h"

#define BUFFER_BYTES (HARK_PART_BUFFER * sizeof(struct hark_trace_record))

struct hark_trace_writer {
    struct hark_part_head *head;
    struct hark_trace_record *buffer; /* behind the head, in the same mapping */
    uint64_t count, written;          /* as in the head, which only the reader reads */
    uint64_t time;                    /* of the last record */
    uint64_t limit;
    size_t mapped;
    int fd;
};

/* Maps head and buffer. The room is reserved first: writing through a mapping to a hole of a full
 * disk would be a SIGBUS. */
static bool map_head(struct hark_trace_writer *t, size_t head_bytes)
{
    int failed;
    t->mapped = head_bytes + BUFFER_BYTES;
    if (t->limit != 0 && t->mapped > t->limit) {
        errno = ENOSPC;
        return false;
    }
    do failed = posix_fallocate(t->fd, 0, (off_t)t->mapped);
    while (failed == EINTR);
    if (failed != 0) {
        errno = failed;
        return false;
    }
    void *at = mmap(NULL, t->mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, t->fd, 0);
    if (at == MAP_FAILED) return false;
    t->head = at;
    t->buffer = (void *)((char *)at + head_bytes);
    return true;
}

static void write_head(struct hark_trace_writer *t, const struct hark_trace_job *job)
{
    t->head->buffer_at = t->mapped - BUFFER_BYTES;
    t->head->record_size = (uint32_t)sizeof(struct hark_trace_record);
    t->head->ranks = job->ranks;
    memcpy(t->head->protocol, job->protocol, strlen(job->protocol));
    memcpy(t->head->transport, job->transport, strlen(job->transport));
    for (uint32_t i = 0; job->cluster != NULL && i < job->ranks; i++)
        t->head->cluster[i] = job->cluster[i];
    __atomic_store_n(&t->head->magic, HARK_PART_MAGIC, __ATOMIC_RELEASE);
}

struct hark_trace_writer *hark_trace_open(const char *path, const struct hark_trace_job *job,
    uint64_t limit, char error[HARK_TRACE_ERROR])
{
    const char *why = hark_trace_job_invalid(job);
    char shown[HARK_SHORT_PATH];
    if (why != NULL) {
        snprintf(error, HARK_TRACE_ERROR, "%s: %s", hark_short_path(path, shown), why);
        return NULL;
    }
    struct hark_trace_writer *t = calloc(1, sizeof *t);
    if (t == NULL) {
        snprintf(error, HARK_TRACE_ERROR, "%s: out of memory", hark_short_path(path, shown));
        return NULL;
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE),
           head = sizeof *t->head + job->ranks * sizeof(uint32_t);
    t->limit = limit;
    t->fd = hark_descriptor_above(open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (t->fd < 0 || !map_head(t, (head + page - 1) / page * page)) {
        snprintf(
            error, HARK_TRACE_ERROR, "%s: %s", hark_short_path(path, shown), hark_file_why(errno));
        hark_trace_close(t);
        return NULL;
    }
    write_head(t, job);
    return t;
}

/* Appends the full buffer to the file. A kill in the middle leaves `written` as it was, and the
 * records are still in the buffer. */
static bool empty_buffer(struct hark_trace_writer *t)
{
    uint64_t at = t->mapped + t->written * sizeof *t->buffer;
    if (t->limit != 0 && at + BUFFER_BYTES > t->limit) return false;
    for (size_t done = 0; done < BUFFER_BYTES;) {
        ssize_t n =
            pwrite(t->fd, (const char *)t->buffer + done, BUFFER_BYTES - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += (size_t)n;
    }
    t->written = t->count;
    __atomic_store_n(&t->head->written, t->written, __ATOMIC_RELEASE);
    return true;
}

int hark_trace_add(struct hark_trace_writer *t, const struct hark_trace_record *record)
{
    if (t == NULL) return HARK_TRACE_OK;
    if (record->kind < HARK_TRACE_START || record->kind >= HARK_TRACE_KINDS)
        return HARK_TRACE_EINVAL;
    if (t->count - t->written == HARK_PART_BUFFER && !empty_buffer(t)) {
        t->head->lost++;
        return HARK_TRACE_ESYSTEM;
    }
    struct hark_trace_record *to = &t->buffer[t->count - t->written];
    *to = *record;
    if (to->time < t->time) to->time = t->time; /* the merge relies on it */
    t->time = to->time;
    /* From here on the record is there. A kill drops no store that was executed, so the order in
     * which the compiler lets them happen is all that matters. */
    __atomic_store_n(&t->head->count, ++t->count, __ATOMIC_RELEASE);
    return HARK_TRACE_OK;
}

int hark_trace_add_failed(struct hark_trace_writer *t, const struct hark_trace_record *record,
    const uint32_t *down, uint32_t count)
{
    struct hark_trace_record r = *record;
    r.kind = HARK_TRACE_FAILED;
    r.peer = r.last = HARK_RECOVERY;
    if (count == 0) return hark_trace_add(t, &r);
    for (uint32_t i = 0; i < count;) {
        r.peer = r.last = down[i++];
        while (i < count && down[i] == r.last + 1) r.last = down[i++];
        int status = hark_trace_add(t, &r);
        if (status != HARK_TRACE_OK) return status;
    }
    return HARK_TRACE_OK;
}

void hark_trace_close(struct hark_trace_writer *t)
{
    if (t == NULL) return;
    if (t->head != NULL) munmap(t->head, t->mapped);
    if (t->fd >= 0) close(t->fd);
    free(t);
}
