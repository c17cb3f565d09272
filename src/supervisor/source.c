/* source.c: where standard input comes from. What was read is kept until the job ends, because a
 * process that rolls back reads it again: a stream is copied into a file of the job's directory, a
 * regular file is read again where it lies. A stream is read only when more of it is wanted than
 * was read, so an endless one fills no disk. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#define BACKGROUND_MS 200 /* between looks whether the terminal is ours again */

static void look_again(uv_timer_t *timer);

static bool is_null(const struct stat *st)
{
    struct stat null;
    return S_ISCHR(st->st_mode) && stat("/dev/null", &null) == 0 && st->st_rdev == null.st_rdev;
}

int hark_sup_source_open(struct supervisor *s)
{
    struct source *in = &s->input.source;
    struct stat st;
    char path[sizeof s->directory + 8];
    const int mode = fcntl(STDIN_FILENO, F_GETFL);
    if (mode < 0 || (mode & O_ACCMODE) == O_WRONLY || fstat(STDIN_FILENO, &st) < 0 || is_null(&st))
        return 0;
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

static bool write_spool(const struct source *in, const char *at, size_t length)
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
static bool read_on(struct supervisor *s)
{
    struct source *in = &s->input.source;
    char bytes[HARK_SUP_PIECE];
    ssize_t n;
    do n = read(STDIN_FILENO, bytes, sizeof bytes);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) return false;
    if (n < 0) hark_sup_say("cannot read standard input: %s", strerror(errno));
    if (n <= 0) {
        in->ended = true;
    } else if (write_spool(in, bytes, (size_t)n)) {
        in->got += (uint64_t)n;
    } else {
        hark_sup_say(
            "standard input: cannot keep it in %s/input: %s", s->directory, strerror(errno));
        in->ended = in->failed = true;
    }
    return true;
}

static void on_source(uv_poll_t *poll, int status, int events)
{
    struct supervisor *s = poll->data;
    struct source *in = &s->input.source;
    (void)status;
    (void)events;
    uv_poll_stop(poll);
    if (in_background()) uv_timer_start(&in->look, look_again, BACKGROUND_MS, 0);
    else if (read_on(s)) in->came(s);
    else uv_poll_start(poll, UV_READABLE, on_source);
}

/* libuv would make the descriptor itself non-blocking, for all who share it: the shell too. So it
 * watches an epoll descriptor that watches it. False: it can not be watched, for it is always
 * ready. */
static bool watch(struct supervisor *s)
{
    struct source *in = &s->input.source;
    struct epoll_event e = {.events = EPOLLIN};
    in->watch = epoll_create1(EPOLL_CLOEXEC);
    if (in->watch >= 0 && epoll_ctl(in->watch, EPOLL_CTL_ADD, STDIN_FILENO, &e) == 0 &&
        uv_poll_init(&s->loop, &in->from, in->watch) == 0 &&
        uv_timer_init(&s->loop, &in->look) == 0) {
        in->from.data = in->look.data = s;
        return true;
    }
    if (in->watch >= 0) close(in->watch);
    in->watch = -1;
    return false;
}

static void look_again(uv_timer_t *timer)
{
    struct supervisor *s = timer->data;
    uv_poll_start(&s->input.source.from, UV_READABLE, on_source);
}

/* More is wanted than was read. False: it comes later. */
static bool more(struct supervisor *s)
{
    struct source *in = &s->input.source;
    if (!in->watched && !in->always_ready) {
        in->watched = watch(s);
        in->always_ready = !in->watched;
    }
    if (in->always_ready) return read_on(s);
    if (!uv_is_active((uv_handle_t *)&in->look)) uv_poll_start(&in->from, UV_READABLE, on_source);
    return false;
}

static ssize_t read_again(const struct source *in, uint64_t position, char *at, size_t room)
{
    ssize_t n;
    do
        n = in->direct ? pread(STDIN_FILENO, at, room, (off_t)(in->begin + position))
                       : pread(in->spool, at, room, (off_t)position);
    while (n < 0 && errno == EINTR);
    if (n < 0) hark_sup_say("cannot read standard input: %s", strerror(errno));
    return n > 0 ? n : 0;
}

ssize_t hark_sup_source_get(struct supervisor *s, uint64_t position, char *at, size_t room)
{
    const struct source *in = &s->input.source;
    for (;;) {
        const ssize_t n = read_again(in, position, at, room);
        if (n > 0 || in->direct || in->ended) return n;
        if (!more(s)) return HARK_SUP_LATER;
    }
}

void hark_sup_source_stop(struct supervisor *s)
{
    struct source *in = &s->input.source;
    if (in->watched) uv_poll_stop(&in->from);
    if (in->watched) uv_timer_stop(&in->look);
}

void hark_sup_source_close(struct supervisor *s)
{
    struct source *in = &s->input.source;
    if (in->spool >= 0) close(in->spool);
    if (in->watch >= 0) close(in->watch);
}
