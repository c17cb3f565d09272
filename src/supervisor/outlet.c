#include "outlet.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "hark/parts/mem.h"

#define LARGEST 65536u /* bytes of a write to anything but a pipe */

struct piece {
    struct piece *next;
    uint32_t stream;
    uint64_t end;
    size_t done, length;
    uint8_t tag_done, tag_length; /* the tag goes before the bytes */
    char tag[HARK_OUTLET_TAG];
    char at[];
};

struct hark_outlet {
    int fd, positions;
    size_t largest; /* bytes of one write */
    void (*moved)(void *self);
    void *self;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    /* under lock */
    struct piece *head, *tail;
    size_t waiting;
    bool writing;      /* the thread is in write(), with the head */
    bool closed, left; /* left: by its owner, to the thread */
    int error, position_error;
};

/* ---- notes ----------------------------------------------------------------------------------- */

void hark_outlet_put_note(uint8_t at[HARK_OUTLET_NOTE], uint64_t position)
{
    hark_put64(at, position);
    hark_put64(at + 8, ~position);
}

bool hark_outlet_get_note(const uint8_t at[HARK_OUTLET_NOTE], uint64_t *position)
{
    *position = hark_get64(at);
    return hark_get64(at + 8) == ~*position;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* 0 < written, or -errno. Whole lines, if one fits: what is shown and not noted should be no piece
 * of one. */
static ssize_t write_some(const struct hark_outlet *w, struct piece *p)
{
    char *at = p->at + p->done;
    const size_t tag = (size_t)(p->tag_length - p->tag_done), room = w->largest - tag;
    size_t length = p->length - p->done;
    if (length > room) {
        const char *end = memrchr(at, '\n', room);
        length = end ? (size_t)(end - at) + 1 : room;
    }
    const struct iovec part[] = {{p->tag + p->tag_done, tag}, {at, length}};
    for (;;) {
        ssize_t n = tag ? writev(w->fd, part, 2) : write(w->fd, at, length);
        if (n >= 0) return n;
        if (errno == EAGAIN) { /* whoever gave us this descriptor made it non-blocking */
            struct pollfd ready = {.fd = w->fd, .events = POLLOUT};
            (void)poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            return -errno;
        }
    }
}

static int note(const struct hark_outlet *w, uint32_t stream, uint64_t position)
{
    uint8_t bytes[HARK_OUTLET_NOTE];
    if (w->positions < 0 || stream == HARK_OUTLET_NO_STREAM) return 0;
    hark_outlet_put_note(bytes, position);
    errno = 0;
    const off_t at = (off_t)stream * HARK_OUTLET_NOTE;
    if (pwrite(w->positions, bytes, sizeof bytes, at) == sizeof bytes) return 0;
    return errno ? errno : EIO;
}

static void take_head(struct hark_outlet *w)
{
    struct piece *p = w->head;
    w->head = p->next;
    if (w->head == NULL) w->tail = NULL;
    w->waiting -= p->length - p->done;
    free(p);
}

static void free_outlet(struct hark_outlet *w)
{
    while (w->head) take_head(w);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->more);
    free(w);
}

/* Of what was written, the part behind the tag. */
static ssize_t past_tag(struct piece *p, ssize_t written)
{
    const ssize_t tag = p->tag_length - p->tag_done;
    if (written < 0 || tag == 0) return written;
    if (written < tag) {
        p->tag_done = (uint8_t)(p->tag_done + written);
        return 0;
    }
    p->tag_done = p->tag_length;
    return written - tag;
}

static void *write_all(void *argument)
{
    struct hark_outlet *w = argument;
    pthread_mutex_lock(&w->lock);
    while (!w->closed) {
        struct piece *p = w->head;
        if (p == NULL) {
            pthread_cond_wait(&w->more, &w->lock);
            continue;
        }
        w->writing = true;
        pthread_mutex_unlock(&w->lock);
        ssize_t n = past_tag(p, write_some(w, p));
        int noted = n > 0 ? note(w, p->stream, p->end - (p->length - p->done - (size_t)n)) : 0;
        pthread_mutex_lock(&w->lock);
        w->writing = false;
        if (noted) w->position_error = noted;
        if (n < 0) w->error = (int)-n;
        else p->done += (size_t)n, w->waiting -= (size_t)n;
        if (n >= 0 && p->done == p->length) take_head(w);
        while (w->error && w->head) take_head(w);
        if (!w->closed) w->moved(w->self);
    }
    bool left = w->left;
    pthread_mutex_unlock(&w->lock);
    if (left) free_outlet(w);
    return NULL;
}

/* ---- for the supervisor ---------------------------------------------------------------------- */

int hark_outlet_open(
    struct hark_outlet **out, int fd, int positions, void (*moved)(void *self), void *self)
{
    struct hark_outlet *w = calloc(1, sizeof *w);
    struct stat st;
    sigset_t all, before;
    *out = NULL;
    if (w == NULL) return ENOMEM;
    w->fd = fd;
    w->positions = positions;
    w->largest = fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) ? PIPE_BUF : LARGEST;
    w->moved = moved;
    w->self = self;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->more, NULL);
    sigfillset(&all); /* signals are for the loop */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = pthread_create(&w->thread, NULL, write_all, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status) free(w);
    else *out = w;
    return status;
}

bool hark_outlet_put(
    struct hark_outlet *w, uint32_t stream, uint64_t end, const char *at, size_t length)
{
    return hark_outlet_put_tagged(w, stream, end, "", at, length);
}

bool hark_outlet_put_tagged(struct hark_outlet *w, uint32_t stream, uint64_t end, const char *tag,
    const char *at, size_t length)
{
    struct piece *p = malloc(sizeof *p + length);
    if (p == NULL) return false;
    *p = (struct piece){.stream = stream, .end = end, .length = length};
    p->tag_length = (uint8_t)strnlen(tag, sizeof p->tag);
    memcpy(p->tag, tag, p->tag_length);
    memcpy(p->at, at, length);
    pthread_mutex_lock(&w->lock);
    if (w->error || length == 0) {
        free(p);
    } else {
        if (w->tail) w->tail->next = p;
        else w->head = p;
        w->tail = p;
        w->waiting += length;
        pthread_cond_signal(&w->more);
    }
    pthread_mutex_unlock(&w->lock);
    return true;
}

size_t hark_outlet_waiting(struct hark_outlet *w)
{
    pthread_mutex_lock(&w->lock);
    size_t waiting = w->waiting;
    pthread_mutex_unlock(&w->lock);
    return waiting;
}

size_t hark_outlet_copy(struct hark_outlet *w, uint32_t stream, char *to, size_t room)
{
    size_t length = 0;
    pthread_mutex_lock(&w->lock);
    for (const struct piece *p = w->head; p; p = p->next) {
        if (p->stream != stream) continue;
        size_t n = p->length - p->done;
        if (to && n <= room - length) memcpy(to + length, p->at + p->done, n);
        length += n;
    }
    pthread_mutex_unlock(&w->lock);
    return length;
}

static int error_of(struct hark_outlet *w, const int *error)
{
    pthread_mutex_lock(&w->lock);
    int e = *error;
    pthread_mutex_unlock(&w->lock);
    return e;
}

int hark_outlet_error(struct hark_outlet *w)
{
    return error_of(w, &w->error);
}

int hark_outlet_position_error(struct hark_outlet *w)
{
    return error_of(w, &w->position_error);
}

void hark_outlet_close(struct hark_outlet *w)
{
    if (w == NULL) return;
    pthread_mutex_lock(&w->lock);
    w->closed = true;
    bool stuck = w->left = w->writing;
    pthread_cond_signal(&w->more);
    if (stuck) pthread_detach(w->thread); /* it ends with its write, and frees *w then */
    pthread_t thread = w->thread;
    pthread_mutex_unlock(&w->lock);
    if (stuck) return;
    pthread_join(thread, NULL);
    free_outlet(w);
}
