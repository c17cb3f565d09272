/* input.c: standard input, which goes to rank 0 through a pipe. What was read is kept until the job
 * ends, because a process that rolls back reads it again: a stream is copied into a file of the
 * job's directory, a regular file is read again where it lies. We read only what the pipe has room
 * for, so an endless input fills no disk. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE         65536u /* bytes at a time */
#define BACKGROUND_MS 200    /* between looks whether the terminal is ours again */

struct feed { /* our end of the pipe, watched; libuv lets go of it later */
    uv_poll_t poll;
    struct supervisor *s;
    int fd;
};

static void feed_on(struct supervisor *s);
static void look_again(uv_timer_t *timer);

/* ---- where it comes from --------------------------------------------------------------------- */

static bool is_null(const struct stat *st)
{
    struct stat null;
    return S_ISCHR(st->st_mode) && stat("/dev/null", &null) == 0 && st->st_rdev == null.st_rdev;
}

int hark_sup_input_open(struct supervisor *s)
{
    struct input *in = &s->input;
    struct stat st;
    char path[sizeof s->directory + 8];
    const int mode = fcntl(STDIN_FILENO, F_GETFL);
    if (mode < 0 || (mode & O_ACCMODE) == O_WRONLY || fstat(STDIN_FILENO, &st) < 0 || is_null(&st))
        return 0;
    if (s->o->hosts) { /* rank 0 is elsewhere, and sees an empty one */
        if (S_ISFIFO(st.st_mode) || (S_ISREG(st.st_mode) && st.st_size > 0))
            hark_sup_say("standard input does not reach rank 0, which runs on another host: let it "
                         "read a file that is there");
        return 0;
    }
    in->is = true;
    const off_t begin = S_ISREG(st.st_mode) ? lseek(STDIN_FILENO, 0, SEEK_CUR) : -1;
    in->direct = begin >= 0;
    in->begin = in->direct ? (uint64_t)begin : 0;
    if (in->direct) return 0;
    snprintf(path, sizeof path, "%s/input", s->directory);
    in->spool = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (in->spool >= 0) return 0;
    hark_sup_say("standard input: cannot keep it in %s: %s", path, strerror(errno));
    return 1;
}

static bool write_spool(const struct input *in, const char *at, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = pwrite(in->spool, at + done, length - done, (off_t)(in->got + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

/* A terminal stops who reads it in the background, and with us the job. */
static bool in_background(void)
{
    const pid_t owner = tcgetpgrp(STDIN_FILENO);
    return owner > 0 && owner != getpgrp();
}

/* Copies what there is; false: there is nothing now. */
static bool read_source(struct supervisor *s)
{
    struct input *in = &s->input;
    char bytes[PIECE];
    ssize_t n;
    do n = read(STDIN_FILENO, bytes, sizeof bytes);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) return false;
    if (n < 0) hark_sup_say("cannot read standard input: %s", strerror(errno));
    if (n <= 0) {
        in->ended = true;
        return true;
    }
    if (write_spool(in, bytes, (size_t)n)) {
        in->got += (uint64_t)n;
        return true;
    }
    hark_sup_say("standard input: cannot keep it in %s/input: %s", s->directory, strerror(errno));
    in->ended = true;
    hark_sup_end(s, 1);
    return true;
}

static void on_source(uv_poll_t *poll, int status, int events)
{
    struct supervisor *s = poll->data;
    (void)status;
    (void)events;
    uv_poll_stop(poll);
    if (in_background()) uv_timer_start(&s->input.look, look_again, BACKGROUND_MS, 0);
    else if (read_source(s)) feed_on(s);
    else uv_poll_start(poll, UV_READABLE, on_source);
}

/* libuv would make the descriptor itself non-blocking, for all who share it: the shell too. So it
 * watches an epoll descriptor that watches it. False: it can not be watched, for it is always
 * ready. */
static bool watch_source(struct supervisor *s)
{
    struct input *in = &s->input;
    struct epoll_event e = {.events = EPOLLIN};
    in->source = epoll_create1(EPOLL_CLOEXEC);
    if (in->source >= 0 && epoll_ctl(in->source, EPOLL_CTL_ADD, STDIN_FILENO, &e) == 0 &&
        uv_poll_init(&s->loop, &in->from, in->source) == 0 &&
        uv_timer_init(&s->loop, &in->look) == 0) {
        in->from.data = in->look.data = s;
        return true;
    }
    if (in->source >= 0) close(in->source);
    in->source = -1;
    return false;
}

static void look_again(uv_timer_t *timer)
{
    struct supervisor *s = timer->data;
    uv_poll_start(&s->input.from, UV_READABLE, on_source);
}

/* More is wanted than was read. False: it comes later. */
static bool more(struct supervisor *s)
{
    struct input *in = &s->input;
    if (!in->watched && !in->always_ready) {
        in->watched = watch_source(s);
        in->always_ready = !in->watched;
    }
    if (in->always_ready) return read_source(s);
    if (!uv_is_active((uv_handle_t *)&in->look)) uv_poll_start(&in->from, UV_READABLE, on_source);
    return false;
}

/* ---- where it goes to ------------------------------------------------------------------------ */

static void let_go(uv_handle_t *h)
{
    free(h->data);
}

/* The reader finds the end of its input behind what is in the pipe. */
static void close_feed(struct input *in)
{
    struct feed *f = in->feed;
    if (f == NULL) return;
    in->feed = NULL;
    uv_poll_stop(&f->poll);
    uv_close((uv_handle_t *)&f->poll, let_go);
    close(f->fd);
}

static void on_room(uv_poll_t *poll, int status, int events)
{
    struct feed *f = poll->data;
    (void)status;
    (void)events;
    if (f->s->input.feed == f) feed_on(f->s);
}

/* Bytes from where the reader is; 0: there are no more, now or ever. */
static ssize_t next_bytes(const struct input *in, char *at, size_t room)
{
    ssize_t n;
    do
        n = in->direct ? pread(STDIN_FILENO, at, room, (off_t)(in->begin + in->given))
                       : pread(in->spool, at, room, (off_t)in->given);
    while (n < 0 && errno == EINTR);
    return n;
}

static void feed_on(struct supervisor *s)
{
    struct input *in = &s->input;
    char bytes[PIECE];
    while (in->feed) {
        ssize_t n = next_bytes(in, bytes, sizeof bytes);
        if (n < 0) hark_sup_say("cannot read standard input: %s", strerror(errno));
        if (n < 0 || (n == 0 && (in->direct || in->ended))) {
            close_feed(in);
            return;
        }
        if (n == 0) uv_poll_stop(&in->feed->poll);
        if (n == 0 && more(s)) continue;
        if (n == 0) return;
        ssize_t written = write(in->feed->fd, bytes, (size_t)n);
        if (written > 0) in->given += (uint64_t)written;
        if (written >= 0 || errno == EINTR) continue;
        uv_poll_start(&in->feed->poll, UV_WRITABLE, on_room);
        return;
    }
}

/* From `position` on. The descriptor becomes ours; 0 or an errno. */
static int begin_feed(struct supervisor *s, int fd, uint64_t position)
{
    struct feed *f = calloc(1, sizeof *f);
    int status = f == NULL ? ENOMEM : -uv_poll_init(&s->loop, &f->poll, fd);
    if (status) {
        free(f);
        close(fd);
        return status;
    }
    f->s = s;
    f->fd = fd;
    f->poll.data = f;
    s->input.feed = f;
    s->input.given = position;
    feed_on(s);
    return 0;
}

int hark_sup_input_pipe(struct supervisor *s)
{
    struct input *in = &s->input;
    int ends[2];
    if (!in->is) return 0;
    close_feed(in);
    if (in->reader >= 0) close(in->reader);
    in->reader = -1;
    if (pipe2(ends, O_CLOEXEC) < 0) return errno;
    in->reader = ends[0];
    const int flags = fcntl(ends[1], F_GETFL);
    (void)fcntl(ends[1], F_SETFL, flags | O_NONBLOCK);
    return begin_feed(s, ends[1], 0);
}

/* A thread of the process that reads at this very moment may get the first bytes. */
int hark_sup_input_seek(struct supervisor *s, uint64_t position)
{
    struct input *in = &s->input;
    char path[40], bytes[PIECE];
    int unread;
    if (!in->is || in->reader < 0) return 0;
    close_feed(in);
    while (ioctl(in->reader, FIONREAD, &unread) == 0 && unread > 0)
        if (read(in->reader, bytes, sizeof bytes) <= 0) break;
    snprintf(path, sizeof path, "/proc/self/fd/%d", in->reader); /* the other end of this pipe */
    const int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    return fd < 0 ? errno : begin_feed(s, fd, position);
}

uint64_t hark_sup_input_position(const struct supervisor *s, uint64_t ahead)
{
    const struct input *in = &s->input;
    int unread = 0;
    if (in->reader < 0 || ioctl(in->reader, FIONREAD, &unread) < 0) unread = 0;
    const uint64_t behind = (uint64_t)unread + ahead;
    return behind < in->given ? in->given - behind : 0;
}

void hark_sup_input_stop(struct supervisor *s)
{
    close_feed(&s->input);
    if (s->input.watched) uv_poll_stop(&s->input.from);
    if (s->input.watched) uv_timer_stop(&s->input.look);
}

void hark_sup_input_close(struct supervisor *s)
{
    struct input *in = &s->input;
    const int fd[] = {in->spool, in->source, in->reader};
    for (size_t i = 0; i < sizeof fd / sizeof fd[0]; i++)
        if (fd[i] >= 0) close(fd[i]);
}
