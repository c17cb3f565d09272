/* trace_merge.c: many part files into one text, by time.
 *
 * Parts are mapped and read in place, so the merge needs memory for the parts' heads only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../short_path.h"
#include "trace_part.h"
#include "trace_text.h"

struct part {
    const char *path;
    const struct hark_part_head *head;
    const struct hark_trace_record *next, *end; /* of the written records, then of those in the
                                                   buffer */
    uint64_t number;                            /* of *next, from 0 */
    size_t bytes;
    dev_t device;
    ino_t inode;
};

struct merge {
    struct part *part;  /* those that have records, and the first of all that has a head */
    struct part **heap; /* smallest time first; equal times in the order of the parts */
    uint32_t parts, heaped;
    uint64_t lost;
    bool unfinished;
    char *error;
};

static int damaged(const struct merge *m, const char *path, const char *what)
{
    char shown[HARK_SHORT_PATH];
    snprintf(m->error, HARK_TRACE_ERROR, "%s: %s", hark_short_path(path, shown), what);
    return HARK_TRACE_EFORMAT;
}

static int refused(const struct merge *m, const char *path)
{
    char shown[HARK_SHORT_PATH];
    snprintf(m->error, HARK_TRACE_ERROR, "%s: %s", hark_short_path(path, shown), strerror(errno));
    return HARK_TRACE_ESYSTEM;
}

static const char *head_invalid(const struct hark_part_head *head, size_t bytes)
{
    if (head->magic != HARK_PART_MAGIC) return "not a part of a trace";
    if (head->record_size != sizeof(struct hark_trace_record))
        return "part of a trace of another version";
    if (head->ranks == 0 || head->ranks > HARK_TRACE_RANKS_MAX)
        return "damaged: number of ranks out of range";
    const uint64_t size = sizeof(struct hark_trace_record), buffer = HARK_PART_BUFFER * size;
    if (head->buffer_at < sizeof *head + head->ranks * sizeof(uint32_t) ||
        head->buffer_at % size != 0 || bytes < buffer || head->buffer_at > bytes - buffer)
        return "damaged: its buffer lies outside of the file";
    if (head->written % HARK_PART_BUFFER != 0 ||
        head->written > (bytes - buffer - head->buffer_at) / size || head->count < head->written ||
        head->count - head->written > HARK_PART_BUFFER)
        return "damaged: records lie outside of the file";
    struct hark_trace_job job = {head->ranks, head->protocol, head->transport, head->cluster};
    return hark_trace_job_invalid(&job);
}

/* Maps one file; *p stays empty (head NULL) if there is nothing in it. */
static int map_part(const struct merge *m, const char *path, struct part *p)
{
    struct stat st;
    memset(p, 0, sizeof *p);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? HARK_TRACE_OK : refused(m, path);
    if (fstat(fd, &st) != 0) {
        int status = refused(m, path);
        close(fd);
        return status;
    }
    size_t bytes = (size_t)st.st_size;
    void *at = NULL;
    if (S_ISREG(st.st_mode) && bytes >= sizeof *p->head)
        at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED) return refused(m, path);
    if (at == NULL) return bytes == 0 ? HARK_TRACE_OK : damaged(m, path, "not a part of a trace");
    const struct hark_part_head *head = at;
    const char *why = head_invalid(head, bytes);
    if (why != NULL) {
        bool unfinished = head->magic == 0 && head->lost == 0; /* killed while creating it */
        munmap(at, bytes);
        return unfinished ? HARK_TRACE_OK : damaged(m, path, why);
    }
    p->path = path;
    p->head = head;
    p->bytes = bytes;
    p->device = st.st_dev;
    p->inode = st.st_ino;
    p->next = (const void *)((const char *)at + head->buffer_at);
    p->next += HARK_PART_BUFFER;
    p->end = p->next + head->written;
    return HARK_TRACE_OK;
}

static bool same_job(const struct hark_part_head *a, const struct hark_part_head *b)
{
    return a->ranks == b->ranks && strcmp(a->protocol, b->protocol) == 0 &&
           strcmp(a->transport, b->transport) == 0 &&
           memcmp(a->cluster, b->cluster, a->ranks * sizeof *a->cluster) == 0;
}

/* Of its next record, by the clock of this host. */
static uint64_t time_of(const struct part *p)
{
    return p->next->time + (uint64_t)p->head->ahead;
}

static bool before(const struct part *a, const struct part *b)
{
    return time_of(a) != time_of(b) ? time_of(a) < time_of(b) : a < b;
}

static void sink(struct merge *m, uint32_t i)
{
    for (;;) {
        uint32_t least = i;
        for (uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < m->heaped; child++)
            if (before(m->heap[child], m->heap[least])) least = child;
        if (least == i) return;
        struct part *p = m->heap[i];
        m->heap[i] = m->heap[least];
        m->heap[least] = p;
        i = least;
    }
}

/* False when there are no more records. */
static bool more(struct part *p)
{
    if (p->next != p->end) return true;
    if (p->number == p->head->count) return false;
    p->next = (const void *)((const char *)p->head + p->head->buffer_at);
    p->end = p->next + (p->head->count - p->number);
    return true;
}

static int open_parts(struct merge *m, const char *const *paths, uint32_t count)
{
    m->part = calloc((size_t)count + 1, sizeof *m->part);
    m->heap = calloc((size_t)count + 1, sizeof(struct part *));
    if (m->part == NULL || m->heap == NULL) {
        snprintf(m->error, HARK_TRACE_ERROR, "out of memory");
        return HARK_TRACE_ESYSTEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct part *p = &m->part[m->parts];
        int status = map_part(m, paths[i], p);
        if (status != HARK_TRACE_OK) return status;
        if (p->head == NULL) continue;
        m->parts++;
        if (!same_job(m->part[0].head, p->head))
            return damaged(m, p->path, "part of another job's trace");
        m->lost += p->head->lost;
        if (more(p)) m->heap[m->heaped++] = p;
    }
    for (uint32_t i = m->heaped / 2; i-- > 0;) sink(m, i);
    if (m->parts > 0) return HARK_TRACE_OK;
    snprintf(m->error, HARK_TRACE_ERROR, "no part of a trace among %u files", (unsigned)count);
    return HARK_TRACE_EFORMAT;
}

static int write_all(struct merge *m, FILE *out)
{
    const struct hark_part_head *head = m->part[0].head;
    struct hark_trace_job job = {head->ranks, head->protocol, head->transport, head->cluster};
    uint64_t zero = m->heaped > 0 ? time_of(m->heap[0]) : 0, last = zero, records = 0;
    hark_trace_text_head(out, &job);
    while (m->heaped > 0) {
        struct part *p = m->heap[0];
        struct hark_trace_record record = *p->next;
        const char *why = hark_trace_record_invalid(p->next, job.ranks);
        record.time = time_of(p);
        if (why == NULL && record.time < last) why = "time goes back";
        if (why != NULL) {
            char shown[HARK_SHORT_PATH];
            snprintf(m->error, HARK_TRACE_ERROR, "%s: record %llu: %s",
                hark_short_path(p->path, shown), (unsigned long long)p->number + 1, why);
            return HARK_TRACE_EFORMAT;
        }
        last = record.time;
        hark_trace_text_record(out, &record, zero);
        p->next++;
        p->number++;
        records++;
        if (!more(p)) m->heap[0] = m->heap[--m->heaped];
        sink(m, 0);
    }
    hark_trace_text_end(out, records, m->lost, m->unfinished);
    return HARK_TRACE_OK;
}

/* Opening a part to write would cut it off under its mapping. */
static bool is_part(const struct merge *m, const char *out)
{
    struct stat st;
    if (stat(out, &st) != 0) return false;
    for (uint32_t i = 0; i < m->parts; i++)
        if (m->part[i].device == st.st_dev && m->part[i].inode == st.st_ino) return true;
    return false;
}

static int merge(const char *out, const char *const *parts, uint32_t count, bool unfinished,
    char error[HARK_TRACE_ERROR])
{
    struct merge m = {.unfinished = unfinished, .error = error};
    char shown[HARK_SHORT_PATH];
    error[0] = 0;
    int status = open_parts(&m, parts, count);
    if (status == HARK_TRACE_OK && is_part(&m, out)) {
        snprintf(
            error, HARK_TRACE_ERROR, "%s: is itself a part to merge", hark_short_path(out, shown));
        status = HARK_TRACE_EINVAL;
    }
    if (status == HARK_TRACE_OK) {
        FILE *f = fopen(out, "we");
        if (f == NULL) {
            status = refused(&m, out);
        } else {
            status = write_all(&m, f);
            bool bad = ferror(f) != 0;
            if ((fclose(f) != 0 || bad) && status == HARK_TRACE_OK) status = refused(&m, out);
            if (status == HARK_TRACE_OK && m.lost)
                snprintf(error, HARK_TRACE_ERROR, "%llu records found no room",
                    (unsigned long long)m.lost);
        }
    }
    for (uint32_t i = 0; i < m.parts; i++)
        munmap((void *)(uintptr_t)m.part[i].head, m.part[i].bytes);
    free(m.part);
    free(m.heap);
    return status;
}

int hark_trace_set_clock(const char *part, int64_t ahead_ns)
{
    uint64_t magic;
    int fd = open(part, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return HARK_TRACE_ESYSTEM;
    const bool is = pread(fd, &magic, sizeof magic, 0) == sizeof magic && magic == HARK_PART_MAGIC,
               ok = is && pwrite(fd, &ahead_ns, sizeof ahead_ns,
                              offsetof(struct hark_part_head, ahead)) == sizeof ahead_ns;
    close(fd);
    return ok ? HARK_TRACE_OK : is ? HARK_TRACE_ESYSTEM : HARK_TRACE_EFORMAT;
}

int hark_trace_merge(
    const char *out, const char *const *parts, uint32_t count, char error[HARK_TRACE_ERROR])
{
    return merge(out, parts, count, false, error);
}

int hark_trace_merge_unfinished(
    const char *out, const char *const *parts, uint32_t count, char error[HARK_TRACE_ERROR])
{
    return merge(out, parts, count, true, error);
}
