/* feed.c: see feed.h. */
#include "feed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct hark_feed_writer { /* outlives its pipe until libuv lets go */
    uv_poll_t poll;
    struct hark_feed *of;
    int fd;
};

static void let_go(uv_handle_t *h)
{
    free(h->data);
}

void hark_feed_end(struct hark_feed *f)
{
    struct hark_feed_writer *w = f->writer;
    if (w == NULL) return;
    f->writer = NULL;
    w->of = NULL;
    uv_poll_stop(&w->poll);
    uv_close((uv_handle_t *)&w->poll, let_go);
    close(w->fd);
}

/* The descriptor becomes ours. 0, or an errno. */
static int open_writer(struct hark_feed *f, int fd)
{
    struct hark_feed_writer *w = calloc(1, sizeof *w);
    int status = w == NULL ? ENOMEM : -uv_poll_init(f->loop, &w->poll, fd);
    if (status) {
        free(w);
        close(fd);
        return status;
    }
    w->of = f;
    w->fd = fd;
    w->poll.data = w;
    f->writer = w;
    return 0;
}

int hark_feed_open(struct hark_feed *f)
{
    int ends[2];
    hark_feed_close(f);
    if (pipe2(ends, O_CLOEXEC) < 0) return errno;
    f->reader = ends[0];
    f->put = 0;
    const int flags = fcntl(ends[1], F_GETFL); /* of this end only: the process's own may block */
    (void)fcntl(ends[1], F_SETFL, flags | O_NONBLOCK);
    const int status = open_writer(f, ends[1]);
    if (status) hark_feed_close(f);
    return status;
}

static void on_room(uv_poll_t *poll, int status, int events)
{
    struct hark_feed_writer *w = poll->data;
    (void)status;
    (void)events;
    uv_poll_stop(poll);
    if (w->of) w->of->room(w->of->self);
}

size_t hark_feed_write(struct hark_feed *f, const void *at, size_t length)
{
    size_t done = 0;
    while (f->writer && done < length) {
        const ssize_t n = write(f->writer->fd, (const char *)at + done, length - done);
        if (n > 0) done += (size_t)n;
        if (n >= 0 || errno == EINTR) continue;
        uv_poll_start(&f->writer->poll, UV_WRITABLE, on_room);
        break;
    }
    f->put += done;
    return done;
}

static int unread(const struct hark_feed *f)
{
    int count = 0;
    return f->reader >= 0 && ioctl(f->reader, FIONREAD, &count) == 0 ? count : 0;
}

/* The writing end stays open, or is open before anything else: one that reads now finds no end. */
int hark_feed_seek(struct hark_feed *f, uint64_t position)
{
    char path[40], bytes[4096];
    if (f->writer == NULL) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", f->reader); /* the other end of this pipe */
        const int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        const int status = fd < 0 ? errno : open_writer(f, fd);
        if (status) return status;
    }
    while (unread(f) > 0)
        if (read(f->reader, bytes, sizeof bytes) <= 0) break;
    uv_poll_stop(&f->writer->poll);
    f->put = position;
    return 0;
}

uint64_t hark_feed_read(const struct hark_feed *f)
{
    const uint64_t count = (uint64_t)unread(f);
    return count < f->put ? f->put - count : 0;
}

void hark_feed_close(struct hark_feed *f)
{
    hark_feed_end(f);
    if (f->reader >= 0) close(f->reader);
    f->reader = -1;
}
