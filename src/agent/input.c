/* input.c: what a process of this host reads. The supervisor sends no more than HARK_A_WINDOW bytes
 * beyond what it knows to be in the pipe, so what waits here for the pipe has an end. */
#include "state.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "feed.h"

#define TELL (HARK_A_WINDOW / 4) /* so much into the pipe is worth a word */

struct hark_agent_input {
    struct hosted *of;
    struct hark_feed feed;
    uint32_t turn;                /* of the last SEEK */
    uint64_t told_put, told_read; /* what the supervisor knows */
    bool ended;                   /* nothing comes behind what waits */
    size_t begin, end;            /* of what waits */
    uint8_t waits[HARK_A_WINDOW];
};

void hark_agent_took(struct hosted *h)
{
    struct hark_agent_input *in = h->input;
    struct hark_control m;
    const uint64_t read = in ? hark_feed_read(&in->feed) : 0;
    if (in == NULL || (in->told_put == in->feed.put && in->told_read == read)) return;
    in->told_put = in->feed.put;
    in->told_read = read;
    hark_control_begin(&m, HARK_A_TOOK);
    hark_control_put32(&m, h->slot);
    hark_control_put32(&m, in->turn);
    hark_control_put64(&m, in->told_put);
    hark_control_put64(&m, in->told_read);
    hark_agent_say(h->a, &m);
}

uint64_t hark_agent_input_read(const struct hosted *h)
{
    return h->input ? hark_feed_read(&h->input->feed) : UINT64_MAX;
}

static void feed_on(struct hark_agent_input *in)
{
    in->begin += hark_feed_write(&in->feed, in->waits + in->begin, in->end - in->begin);
    if (in->begin == in->end) in->begin = in->end = 0;
    if (in->end == 0 && in->ended) hark_feed_end(&in->feed);
    /* With nothing that waits it must know: nothing else would make it send more. */
    if (in->end == 0 || in->feed.put - in->told_put >= TELL) hark_agent_took(in->of);
}

static void room(void *self)
{
    feed_on(self);
}

int hark_agent_input_open(struct hosted *h, int *reader)
{
    struct hark_agent_input *in = calloc(1, sizeof *in);
    if (in == NULL) return ENOMEM;
    h->input = in;
    in->of = h;
    in->feed = (struct hark_feed){.loop = &h->a->loop, .room = room, .self = in, .reader = -1};
    const int status = hark_feed_open(&in->feed);
    *reader = in->feed.reader;
    return status;
}

void hark_agent_input_close(struct hosted *h)
{
    if (h->input) hark_feed_close(&h->input->feed);
    free(h->input);
    h->input = NULL;
}

/* It can not read on where it should: as good as dead. */
static void give_up(struct hark_agent_input *in, const char *why)
{
    hark_agent_say_line(in->of->a, HARK_A_SAY, "no input for a process: %s; it is killed", why);
    hark_local_signal(&in->of->local, SIGKILL, false);
}

void hark_agent_seek(struct hosted *h, struct hark_control *m)
{
    struct hark_agent_input *in = h->input;
    const uint32_t turn = hark_control_get32(m);
    const uint64_t position = hark_control_get64(m);
    if (in == NULL || m->bad) return;
    in->turn = turn;
    in->ended = false;
    in->begin = in->end = 0;
    in->told_put = in->told_read = position;
    const int status = hark_feed_seek(&in->feed, position);
    if (status) give_up(in, strerror(status));
}

void hark_agent_input(struct hosted *h, struct hark_control *m)
{
    struct hark_agent_input *in = h->input;
    uint32_t length;
    const uint8_t *at = hark_control_get_bytes(m, &length);
    if (in == NULL || m->bad) return;
    if (length > sizeof in->waits - (in->end - in->begin)) {
        give_up(in, "more of it has come than was asked for");
        return;
    }
    if (length > sizeof in->waits - in->end) {
        memmove(in->waits, in->waits + in->begin, in->end - in->begin);
        in->end -= in->begin;
        in->begin = 0;
    }
    memcpy(in->waits + in->end, at, length);
    in->end += length;
    in->ended |= length == 0;
    feed_on(in);
}
