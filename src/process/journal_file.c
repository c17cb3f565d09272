#include "journal_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hark/parts/mem.h"

#define SEGMENT HARK_JOURNAL_SEGMENT
#define MAGIC   UINT64_C(0x6c616e72756f6a68)
#define VERSION 1u

struct image {
    _Atomic uint64_t id; /* 0: unused */
    _Atomic uint64_t position;
};

struct hark_journal_header {
    uint64_t magic; /* written last */
    uint32_t version, segment;
    _Atomic uint64_t start, end, prologue;
    struct image image[HARK_JOURNAL_IMAGES];
    /* Where in the file a segment is: segment s at place[s % HARK_JOURNAL_PLACES]. Segment 0 is
     * pinned, at place 0. */
    _Atomic uint16_t place[HARK_JOURNAL_PLACES];
    _Atomic uint64_t copied; /* 0 in files of before there was it */
};

struct entry {
    uint8_t kind; /* not 0 */
    uint8_t pad[3];
    uint32_t length;
};

#define HEADER ((sizeof(struct hark_journal_header) + 4095) & ~(size_t)4095)
HARK_STATIC_ASSERT(HARK_JOURNAL_PLACES <= UINT16_MAX + 1u, "a place fits into 16 bits");
HARK_STATIC_ASSERT(sizeof(struct entry) == 8, "entries are multiples of 8 bytes");

static uint64_t get(const _Atomic uint64_t *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

/* What was stored before is there for whoever sees this. */
static void publish(_Atomic uint64_t *at, uint64_t value)
{
    atomic_store_explicit(at, value, memory_order_release);
}

uint64_t hark_journal_start(const struct hark_journal_file *f)
{
    return get(&f->header->start);
}

uint64_t hark_journal_end(const struct hark_journal_file *f)
{
    return get(&f->header->end);
}

uint64_t hark_journal_prologue(const struct hark_journal_file *f)
{
    return get(&f->header->prologue);
}

uint64_t hark_journal_copied(const struct hark_journal_file *f)
{
    return get(&f->header->copied);
}

void hark_journal_set_copied(struct hark_journal_file *f, uint64_t position)
{
    publish(&f->header->copied, position);
}

/* The copy is not as this journal any more from `position` on. */
static void changed_from(struct hark_journal_file *f, uint64_t position)
{
    if (get(&f->header->copied) > position) publish(&f->header->copied, position);
}

void hark_journal_set_prologue(struct hark_journal_file *f, uint64_t position)
{
    publish(&f->header->prologue, position);
}

uint64_t hark_journal_file_bytes(const struct hark_journal_file *f)
{
    return f->header ? HEADER + (uint64_t)f->segments * SEGMENT : 0;
}

/* ---- segments -------------------------------------------------------------------------------- */

static uint16_t place_of(const struct hark_journal_file *f, uint64_t segment)
{
    if (segment == 0) return 0;
    return atomic_load_explicit(
        &f->header->place[segment % HARK_JOURNAL_PLACES], memory_order_relaxed);
}

static uint8_t *address(const struct hark_journal_file *f, uint64_t position)
{
    return (uint8_t *)f->header + HEADER + (size_t)place_of(f, position / SEGMENT) * SEGMENT +
           position % SEGMENT;
}

/* The file gets another segment; its bytes are allocated now, so that writing to them can not fail
 * later by a signal. */
static int grow(struct hark_journal_file *f)
{
    const off_t at = (off_t)(HEADER + (size_t)f->segments * SEGMENT);
    if (f->segments == HARK_JOURNAL_PLACES) {
        errno = EFBIG;
        return -1;
    }
    int why = posix_fallocate(f->fd, at, SEGMENT);
    if (why) {
        errno = why;
        return -1;
    }
    if ((size_t)at + SEGMENT > f->mapped) {
        const size_t more = f->mapped * 2;
        void *moved = mremap(f->header, f->mapped, more, MREMAP_MAYMOVE);
        if (moved == MAP_FAILED) return -1;
        f->header = moved;
        f->mapped = more;
    }
    f->free[f->free_count++] = (uint16_t)f->segments++;
    return 0;
}

/* Segments up to that of the byte before `position` have places. */
static int reach(struct hark_journal_file *f, uint64_t position)
{
    while (f->reach < position) {
        const uint64_t segment = f->reach / SEGMENT;
        if (segment && f->free_count == 0 && grow(f) < 0) return -1;
        if (segment)
            atomic_store_explicit(&f->header->place[segment % HARK_JOURNAL_PLACES],
                f->free[--f->free_count], memory_order_release);
        f->reach += SEGMENT;
    }
    return 0;
}

/* What no segment from `from` to `to` uses is free. */
static void find_free(struct hark_journal_file *f, uint64_t from, uint64_t to)
{
    static bool used[HARK_JOURNAL_PLACES];
    memset(used, 0, sizeof used);
    used[0] = true; /* pinned */
    for (uint64_t segment = from / SEGMENT; segment * SEGMENT < to; segment++)
        used[place_of(f, segment)] = true;
    f->free_count = 0;
    for (uint32_t i = f->segments; i-- > 0;)
        if (!used[i]) f->free[f->free_count++] = (uint16_t)i;
}

static uint64_t round_up(uint64_t position)
{
    return (position + SEGMENT - 1) / SEGMENT * SEGMENT;
}

static void trim(struct hark_journal_file *f, uint64_t position)
{
    const uint64_t from = get(&f->header->start);
    if (position <= from) return;
    publish(&f->header->start, position);
    for (uint64_t segment = from / SEGMENT; segment < position / SEGMENT; segment++)
        if (segment) f->free[f->free_count++] = place_of(f, segment);
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool is_journal(const struct hark_journal_file *f)
{
    const struct hark_journal_header *h = f->header;
    const uint64_t start = get(&h->start), end = get(&h->end);
    if (h->magic != MAGIC || h->version != VERSION || h->segment != SEGMENT) return false;
    if (f->segments == 0 || start > end || end - start > HARK_JOURNAL_MOST || end % 8 || start % 8)
        return false;
    for (uint64_t segment = start / SEGMENT; segment * SEGMENT < end; segment++)
        if (place_of(f, segment) >= f->segments) return false;
    return true;
}

static int make(struct hark_journal_file *f)
{
    if (ftruncate(f->fd, 0) < 0) return -1;
    int why = posix_fallocate(f->fd, 0, (off_t)(HEADER + SEGMENT));
    if (why) {
        errno = why;
        return -1;
    }
    f->header->version = VERSION;
    f->header->segment = SEGMENT;
    atomic_thread_fence(memory_order_release);
    f->header->magic = MAGIC;
    f->segments = 1;
    return 0;
}

int hark_journal_map(struct hark_journal_file *f, int fd)
{
    struct stat st;
    if (f->header) return 0;
    f->fd = fd;
    if (fstat(fd, &st) < 0) return -1;
    const uint64_t have = (uint64_t)st.st_size;
    f->mapped = have > HEADER + SEGMENT ? (size_t)have : HEADER + SEGMENT;
    void *at = mmap(NULL, f->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return -1;
    f->header = at;
    f->segments = have < HEADER ? 0 : (uint32_t)((have - HEADER) / SEGMENT);
    if ((f->segments == 0 || !is_journal(f)) && make(f) < 0) {
        int why = errno;
        hark_journal_unmap(f);
        errno = why;
        return -1;
    }
    f->reach = round_up(get(&f->header->end));
    if (f->reach == 0) f->reach = SEGMENT; /* the pinned one is there */
    find_free(f, get(&f->header->start), f->reach);
    return 0;
}

void hark_journal_unmap(struct hark_journal_file *f)
{
    if (f->header) munmap(f->header, f->mapped);
    f->header = NULL;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Copies over the ends of segments. */
static void put(struct hark_journal_file *f, uint64_t position, const void *from, size_t length)
{
    const uint8_t *bytes = from;
    while (length) {
        const size_t room = SEGMENT - position % SEGMENT, n = length < room ? length : room;
        memcpy(address(f, position), bytes, n);
        bytes += n;
        position += n;
        length -= n;
    }
}

static void take(const struct hark_journal_file *f, uint64_t position, void *to, size_t length)
{
    uint8_t *bytes = to;
    while (length) {
        const size_t room = SEGMENT - position % SEGMENT, n = length < room ? length : room;
        memcpy(bytes, address(f, position), n);
        bytes += n;
        position += n;
        length -= n;
    }
}

static uint64_t entry_bytes(size_t length)
{
    return sizeof(struct entry) + (length + 7) / 8 * 8;
}

int hark_journal_append(struct hark_journal_file *f, uint8_t kind, const void *value, size_t length)
{
    const struct entry e = {.kind = kind, .length = (uint32_t)length};
    const uint64_t end = get(&f->header->end), next = end + entry_bytes(length);
    /* A segment less, since the pinned one and the ends of the first and the last count. */
    if (next - get(&f->header->start) > HARK_JOURNAL_MOST - 4 * (uint64_t)SEGMENT) {
        errno = EFBIG;
        return -1;
    }
    if (next > f->reach && reach(f, next) < 0) return -1;
    put(f, end, &e, sizeof e);
    put(f, end + sizeof e, value, length);
    publish(&f->header->end, next);
    return 0;
}

int hark_journal_put(
    struct hark_journal_file *f, uint64_t position, const void *bytes, uint64_t length)
{
    const uint64_t start = get(&f->header->start), next = position + length;
    if (position < start || position > get(&f->header->end) || position % 8 || length % 8 ||
        next - start > HARK_JOURNAL_MOST - 4 * (uint64_t)SEGMENT) {
        errno = EINVAL;
        return -1;
    }
    hark_journal_cut(f, position);
    if (next > f->reach && reach(f, next) < 0) return -1;
    put(f, position, bytes, length);
    publish(&f->header->end, next);
    return 0;
}

void hark_journal_take(
    const struct hark_journal_file *f, uint64_t position, void *bytes, uint64_t length)
{
    take(f, position, bytes, length);
}

static int save(const struct hark_journal_file *f, int fd, size_t from, size_t to)
{
    while (from < to) {
        const ssize_t n = pwrite(fd, (const uint8_t *)f->header + from, to - from, (off_t)from);
        if (n < 0 && errno != EINTR) return errno;
        if (n > 0) from += (size_t)n;
    }
    return 0;
}

int hark_journal_save(const struct hark_journal_file *f, int fd, uint64_t position)
{
    const uint64_t start = get(&f->header->start), end = get(&f->header->end);
    const size_t all = HEADER + (size_t)f->segments * SEGMENT;
    struct stat st;
    int why = fstat(fd, &st) < 0 ? errno : 0;
    if (why == 0 && (size_t)st.st_size != all && ftruncate(fd, (off_t)all) < 0) why = errno;
    for (uint64_t at = position > start ? position : start, n; at < end && why == 0; at += n) {
        const size_t room = SEGMENT - at % SEGMENT,
                     from = (size_t)(address(f, at) - (const uint8_t *)f->header);
        n = end - at < room ? end - at : room;
        why = save(f, fd, from, from + n);
    }
    if (why == 0 && position < SEGMENT) why = save(f, fd, HEADER, HEADER + SEGMENT); /* pinned */
    return why ? why : save(f, fd, 0, HEADER);
}

int hark_journal_put_pinned(struct hark_journal_file *f, const void *bytes, uint64_t length)
{
    if (length > SEGMENT) {
        errno = EINVAL;
        return -1;
    }
    put(f, 0, bytes, length);
    publish(&f->header->prologue, length);
    return 0;
}

static _Atomic uint64_t *word(const struct hark_journal_file *f, uint64_t position)
{
    return (_Atomic uint64_t *)(void *)address(f, position);
}

uint64_t hark_journal_increment(struct hark_journal_file *f, uint64_t position)
{
    const uint64_t value = get(word(f, position)) + 1;
    changed_from(f, position);
    publish(word(f, position), value);
    return value;
}

void hark_journal_set(struct hark_journal_file *f, uint64_t position, uint64_t value)
{
    changed_from(f, position);
    publish(word(f, position), value);
}

enum hark_journal_found hark_journal_read(struct hark_journal_file *f, uint64_t *position,
    uint8_t kind, void *value, size_t length, uint8_t *found, size_t *found_length)
{
    struct entry e;
    const uint64_t left = get(&f->header->end) - *position;
    take(f, *position, &e, sizeof e);
    *found = e.kind;
    *found_length = e.length;
    if (e.kind == 0 || e.length > HARK_JOURNAL_ENTRY || entry_bytes(e.length) > left)
        return HARK_JOURNAL_DAMAGED;
    if (e.kind != kind || e.length != length) return HARK_JOURNAL_DIFFERENT;
    take(f, *position + sizeof e, value, length);
    *position += entry_bytes(length);
    return HARK_JOURNAL_GIVEN;
}

void hark_journal_cut(struct hark_journal_file *f, uint64_t position)
{
    changed_from(f, position);
    publish(&f->header->end, position);
    f->reach = round_up(position);
    if (f->reach == 0) f->reach = SEGMENT;
    find_free(f, get(&f->header->start), f->reach);
}

/* Order matters: at any moment start <= end, and the segment of a position that is not at its
 * beginning has a place. */
int hark_journal_begin_at(struct hark_journal_file *f, uint64_t position)
{
    changed_from(f, 0);
    hark_journal_cut(f, get(&f->header->start));
    f->reach = position / SEGMENT * SEGMENT;
    f->free_count = 0;
    find_free(f, 0, 0);
    if (position % SEGMENT && reach(f, position) < 0) return -1;
    if (position < get(&f->header->start)) publish(&f->header->start, position);
    publish(&f->header->end, position);
    publish(&f->header->start, position);
    return 0;
}

/* ---- images ---------------------------------------------------------------------------------- */

static void forget(struct image *x)
{
    publish(&x->id, 0);
}

void hark_journal_image(struct hark_journal_file *f, uint64_t id, uint64_t position)
{
    struct image *unused = NULL;
    for (struct image *x = f->header->image; x < f->header->image + HARK_JOURNAL_IMAGES; x++) {
        if (get(&x->id) == id) forget(x);
        if (get(&x->id) == 0) unused = x;
    }
    /* Without room it is left out: older ones have lower positions, and are in. */
    if (unused == NULL) return;
    publish(&unused->position, position);
    publish(&unused->id, id);
}

void hark_journal_images_undone(struct hark_journal_file *f, uint64_t id)
{
    for (struct image *x = f->header->image; x < f->header->image + HARK_JOURNAL_IMAGES; x++)
        if (get(&x->id) > id) forget(x);
}

void hark_journal_image_dropped(struct hark_journal_file *f, uint64_t id)
{
    uint64_t youngest = 0, oldest = UINT64_MAX, position = 0;
    for (struct image *x = f->header->image; x < f->header->image + HARK_JOURNAL_IMAGES; x++)
        if (get(&x->id) > youngest) youngest = get(&x->id);
    for (struct image *x = f->header->image; x < f->header->image + HARK_JOURNAL_IMAGES; x++) {
        const uint64_t it = get(&x->id);
        if (it == id || (it < id && id < youngest)) forget(x);
        else if (it && it < oldest) oldest = it, position = get(&x->position);
    }
    /* The youngest is dropped if its checkpoint was given up: the beginning may still be needed. */
    if (id < youngest) trim(f, position);
}
