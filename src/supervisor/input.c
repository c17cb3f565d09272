/* input.c: standard input goes to rank 0: into a pipe, or to the agent of its host, which has such
 * a pipe there. As much is under way as the pipe has room for, or the agent's window; so what is
 * never read is hardly read from the source. */
#include "internal.h"

#include <errno.h>
#include <string.h>

/* ---- to an agent ----------------------------------------------------------------------------- */

static void say_input(struct supervisor *s, const char *at, size_t length)
{
    struct hark_control m;
    hark_sup_host_about(&m, HARK_A_INPUT, &s->child[0]);
    hark_control_put_bytes(&m, at, (uint32_t)length);
    hark_sup_host_say(s->child[0].host, &m);
}

/* As much as its window takes. */
static size_t put_there(struct supervisor *s, const char *at, size_t length)
{
    const uint64_t under_way = s->input.given - s->input.put, room = HARK_A_WINDOW - under_way;
    if (length > room) length = (size_t)room;
    if (length) say_input(s, at, length);
    return length;
}

static void seek_there(struct supervisor *s, uint64_t position)
{
    struct input *in = &s->input;
    struct hark_control m;
    in->put = in->read = position;
    hark_sup_host_about(&m, HARK_A_SEEK, &s->child[0]);
    hark_control_put32(&m, ++in->turn);
    hark_control_put64(&m, position);
    hark_sup_host_say(s->child[0].host, &m);
}

/* ---- both ------------------------------------------------------------------------------------ */

static size_t put(struct supervisor *s, const char *at, size_t length)
{
    return s->host ? put_there(s, at, length) : hark_feed_write(&s->input.feed, at, length);
}

/* The reader finds the end of its input behind what it has. */
static void end_feed(struct supervisor *s)
{
    s->input.feeds = false;
    if (s->host) say_input(s, NULL, 0);
    else hark_feed_end(&s->input.feed);
}

static void feed_on(struct supervisor *s)
{
    struct input *in = &s->input;
    char bytes[HARK_SUP_PIECE];
    while (in->feeds) {
        const ssize_t n = hark_sup_source_get(s, in->given, bytes, sizeof bytes);
        if (n == HARK_SUP_LATER) return;
        if (n == 0) {
            end_feed(s);
            if (in->source.failed) hark_sup_end(s, 1);
            return;
        }
        const size_t taken = put(s, bytes, (size_t)n);
        in->given += taken;
        if (taken < (size_t)n) return; /* on_room(), hark_sup_input_took() */
    }
}

static void on_room(void *self)
{
    feed_on(self);
}

int hark_sup_input_open(struct supervisor *s)
{
    s->input.source.came = feed_on;
    s->input.feed.loop = &s->loop;
    s->input.feed.room = on_room;
    s->input.feed.self = s;
    return hark_sup_source_open(s);
}

int hark_sup_input_pipe(struct supervisor *s, int *reader)
{
    s->input.feeds = false;
    if (!s->input.source.is) return 0;
    if (s->host) { /* the pipe is its agent's, and ready when it has started */
        *reader = STDIN_FILENO;
        return 0;
    }
    const int status = hark_feed_open(&s->input.feed);
    *reader = s->input.feed.reader;
    return status ? status : hark_sup_input_seek(s, 0);
}

int hark_sup_input_seek(struct supervisor *s, uint64_t position)
{
    struct input *in = &s->input;
    if (!in->source.is) return 0;
    if (s->host) {
        seek_there(s, position);
    } else {
        const int status = hark_feed_seek(&in->feed, position);
        if (status) return status;
    }
    in->given = position;
    in->feeds = true;
    feed_on(s);
    return 0;
}

void hark_sup_input_took(struct supervisor *s, struct hark_control *m)
{
    struct input *in = &s->input;
    const uint32_t turn = hark_control_get32(m);
    const uint64_t put_to = hark_control_get64(m), read_to = hark_control_get64(m);
    if (m->bad || turn != in->turn || put_to > in->given || put_to < in->put || read_to > put_to)
        return;
    in->put = put_to;
    in->read = read_to;
    feed_on(s);
}

uint64_t hark_sup_input_position(const struct supervisor *s, uint64_t ahead)
{
    const struct input *in = &s->input;
    const uint64_t read_to = s->host ? in->read : hark_feed_read(&in->feed);
    return ahead < read_to ? read_to - ahead : 0;
}

void hark_sup_input_stop(struct supervisor *s)
{
    s->input.feeds = false;
    hark_feed_close(&s->input.feed);
    hark_sup_source_stop(s);
}

void hark_sup_input_close(struct supervisor *s)
{
    hark_sup_source_close(s);
}
