/* behind.c: images written behind the program: a copy is made in memory, and a thread writes it. */
#include "hark/store.h"

#include <pthread.h>
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
    bool closing, running;
    enum {
        NOTHING,
        TO_WRITE,
        WRITTEN
    } state; /* under the lock; the rest belongs to the thread
              * while it is TO_WRITE, else to the owner */
    uint32_t rank, count, sections_room;
    uint64_t id;
    int status;
    struct hark_section *section;
    uint8_t *copy; /* kept from one image to the next: its pages are there then */
    uint64_t room;
    char error[256];
};

#define ALIGN 64u
#define HUGE  ((uint64_t)2 << 20)
#define SMALL ((uint64_t)64 << 10)

static void *write_images(void *self)
{
    struct hark_behind *b = self;
    pthread_mutex_lock(&b->lock);
    while (!b->closing || b->state == TO_WRITE) {
        if (b->state != TO_WRITE) {
            pthread_cond_wait(&b->changed, &b->lock);
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

/* A program that takes no checkpoint needs no thread. */
static bool start(struct hark_behind *b)
{
    sigset_t all, before;
    if (b->running) return true;
    sigfillset(&all); /* signals are the application's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    b->running = pthread_create(&b->thread, NULL, write_images, b) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return b->running;
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

int hark_behind_write(struct hark_behind *b, uint32_t rank, uint64_t id,
    const struct hark_section *section, uint32_t count)
{
    uint64_t bytes = 0, at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (section[i].length > SIZE_MAX / 2 || bytes > SIZE_MAX / 4) return HARK_S_EINVAL;
        bytes += (section[i].length + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
    }
    hark_behind_wait(b);
    if (!start(b) || !make_room(b, bytes, count)) return HARK_S_ENOMEMORY;
    for (uint32_t i = 0; i < count; i++) {
        b->section[i] = section[i];
        if (section[i].length == 0) continue;
        b->section[i].at = memcpy(b->copy + at, section[i].at, (size_t)section[i].length);
        at += (section[i].length + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
    }
    b->rank = rank;
    b->id = id;
    b->count = count;
    pthread_mutex_lock(&b->lock);
    b->state = TO_WRITE;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    return HARK_S_OK;
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

const char *hark_behind_error(const struct hark_behind *b)
{
    return b->error;
}

void hark_behind_close(struct hark_behind *b)
{
    if (b == NULL) return;
    if (b->running) {
        pthread_mutex_lock(&b->lock);
        b->closing = true;
        pthread_cond_broadcast(&b->changed);
        pthread_mutex_unlock(&b->lock);
        pthread_join(b->thread, NULL);
    }
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    if (b->copy) munmap(b->copy, (size_t)b->room);
    free(b->section);
    free(b);
}
