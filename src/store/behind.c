/* behind.c: images written behind the program: a copy is made in memory, and a thread writes it. It
 * also deletes images: to give back the blocks of a large file takes the system long. */
#include "hark/store.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct hark_behind {
    struct hark_store *store;
    void (*done)(void *self);
    void *self;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool closing, working, joins; /* under the lock; joins: `thread` has been started */
    enum { NOTHING, TO_WRITE, WRITTEN } state; /* under the lock */
    /* Of the thread while it is TO_WRITE, else of the owner. */
    uint32_t rank, count, sections_room;
    uint64_t id;
    int status;
    struct hark_section *section;
    struct drop {
        uint32_t rank;
        uint64_t id;
    } * drop; /* under the lock, as the next four */
    uint32_t drops, drops_room;
    bool troubled;
    char trouble[256]; /* why an image was not deleted */
    uint8_t *copy;     /* kept from one image to the next: its pages are there then */
    uint64_t room;
    char error[256];
};

#define ALIGN 64u
#define PAGE  ((uint64_t)4096)
#define LONG  ((uint64_t)64 << 10)
#define HUGE  ((uint64_t)2 << 20)
#define SMALL ((uint64_t)64 << 10)

static void drop_one(struct hark_behind *b)
{
    const struct drop x = b->drop[0];
    b->drops--;
    memmove(b->drop, b->drop + 1, b->drops * sizeof *b->drop);
    pthread_mutex_unlock(&b->lock);
    const int status = b->store->ops->drop(b->store, x.rank, x.id);
    pthread_mutex_lock(&b->lock);
    if (status == HARK_S_OK) return;
    b->troubled = true;
    memcpy(b->trouble, b->store->error, sizeof b->trouble);
}

/* Works until there is nothing to do. What is to be deleted goes before what is to be written: it
 * may be an older image of that id.
 *
 * The thread has descriptors of its own, for as long as it works: what it opens would otherwise
 * take numbers that the program expects to get, 0, 1 and 2 among them if it has closed these. */
static void *work(void *self)
{
    struct hark_behind *b = self;
    (void)unshare(CLONE_FILES);
    pthread_mutex_lock(&b->lock);
    while (b->state == TO_WRITE || b->drops) {
        if (b->drops) {
            drop_one(b);
            continue;
        }
        pthread_mutex_unlock(&b->lock);
        b->status = b->store->ops->write(b->store, b->rank, b->id, b->section, b->count);
        if (b->status < 0) memcpy(b->error, b->store->error, sizeof b->error);
        pthread_mutex_lock(&b->lock);
        b->state = WRITTEN;
        pthread_cond_broadcast(&b->changed);
        const bool closing = b->closing;
        pthread_mutex_unlock(&b->lock);
        if (!closing) b->done(b->self);
        pthread_mutex_lock(&b->lock);
    }
    b->working = false;
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

int hark_behind_open(struct hark_behind **out, struct hark_store *store, void (*done)(void *self),
    void *self, char error[256])
{
    struct hark_behind *b = calloc(1, sizeof *b);
    *out = NULL;
    if (b == NULL) {
        snprintf(error, 256, "no memory to write images behind the program");
        return HARK_S_ESYSTEM;
    }
    b->store = store;
    b->done = done;
    b->self = self;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    *out = b;
    return HARK_S_OK;
}

/* Under the lock: somebody does what there is to do. */
static bool start(struct hark_behind *b)
{
    sigset_t all, before;
    if (b->working) return true;
    if (b->joins) pthread_join(b->thread, NULL); /* it has ended, or is about to */
    sigfillset(&all);                            /* signals are the application's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    b->joins = b->working = pthread_create(&b->thread, NULL, work, b) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return b->working;
}

static bool make_room(struct hark_behind *b, uint64_t bytes, uint32_t count)
{
    if (count > b->sections_room) {
        struct hark_section *more = realloc(b->section, (size_t)count * sizeof *more);
        if (more == NULL) return false;
        b->section = more;
        b->sections_room = count;
    }
    if (bytes <= b->room) return true;
    const uint64_t more = bytes + bytes / 8, unit = more < 4 * HUGE ? SMALL : HUGE; /* it may grow
                                                                                     */
    const uint64_t room = (more + unit - 1) & ~(unit - 1);
    if (b->copy) munmap(b->copy, (size_t)b->room);
    b->room = 0;
    b->copy = mmap(NULL, (size_t)room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b->copy == MAP_FAILED) {
        b->copy = NULL;
        return false;
    }
    if (unit == HUGE) (void)madvise(b->copy, (size_t)room, MADV_HUGEPAGE); /* fewer faults */
    b->room = room;
    return true;
}

/* Where the copy of a section begins, if there is room from `at` on. Of a long one it lies in its
 * page as the original does: a copy that is some 100 bytes ahead of it there takes three times as
 * long, since each load seems to want what was stored just before. */
static uint64_t place_of(const struct hark_section *section, uint64_t at)
{
    if (section->length < LONG) return (at + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
    return at + (((uintptr_t)section->at - at) & (PAGE - 1));
}

int hark_behind_write(struct hark_behind *b, uint32_t rank, uint64_t id,
    const struct hark_section *section, uint32_t count)
{
    uint64_t bytes = 0, at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (section[i].length > SIZE_MAX / 2 || bytes > SIZE_MAX / 4) return HARK_S_EINVAL;
        bytes = place_of(&section[i], bytes) + section[i].length;
    }
    hark_behind_wait(b);
    if (!make_room(b, bytes, count)) return HARK_S_ENOMEMORY;
    for (uint32_t i = 0; i < count; i++) {
        b->section[i] = section[i];
        if (section[i].length == 0) continue;
        at = place_of(&section[i], at);
        b->section[i].at = memcpy(b->copy + at, section[i].at, (size_t)section[i].length);
        at += section[i].length;
    }
    b->rank = rank;
    b->id = id;
    b->count = count;
    pthread_mutex_lock(&b->lock);
    b->state = TO_WRITE;
    const bool works = start(b);
    if (!works) b->state = NOTHING;
    pthread_mutex_unlock(&b->lock);
    return works ? HARK_S_OK : HARK_S_ENOMEMORY;
}

void hark_behind_wait(struct hark_behind *b)
{
    pthread_mutex_lock(&b->lock);
    while (b->state == TO_WRITE) pthread_cond_wait(&b->changed, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

int hark_behind_written(struct hark_behind *b, uint64_t *id, int *status)
{
    pthread_mutex_lock(&b->lock);
    const bool written = b->state == WRITTEN;
    if (written) {
        b->state = NOTHING;
        *id = b->id;
        *status = b->status;
    }
    pthread_mutex_unlock(&b->lock);
    return written;
}

bool hark_behind_drop(struct hark_behind *b, uint32_t rank, uint64_t id)
{
    pthread_mutex_lock(&b->lock);
    bool room = b->drops < b->drops_room;
    if (!room) {
        const uint32_t more = b->drops_room * 2 + 8;
        struct drop *drop = realloc(b->drop, more * sizeof *drop);
        room = drop != NULL;
        if (room) b->drop = drop, b->drops_room = more;
    }
    if (room) {
        b->drop[b->drops++] = (struct drop){rank, id};
        room = start(b);
        if (!room) b->drops--;
    }
    pthread_mutex_unlock(&b->lock);
    return room;
}

bool hark_behind_trouble(struct hark_behind *b, char line[256])
{
    pthread_mutex_lock(&b->lock);
    const bool troubled = b->troubled;
    if (troubled) memcpy(line, b->trouble, sizeof b->trouble);
    b->troubled = false;
    pthread_mutex_unlock(&b->lock);
    return troubled;
}

const char *hark_behind_error(const struct hark_behind *b)
{
    return b->error;
}

void hark_behind_close(struct hark_behind *b)
{
    if (b == NULL) return;
    pthread_mutex_lock(&b->lock);
    b->closing = true;
    pthread_mutex_unlock(&b->lock);
    if (b->joins) pthread_join(b->thread, NULL);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    if (b->copy) munmap(b->copy, (size_t)b->room);
    free(b->section);
    free(b->drop);
    free(b);
}
