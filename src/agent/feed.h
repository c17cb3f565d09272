/* feed.h: the pipe that is the standard input of a process.
 *
 * Its reading end stays open here too: so what lies in it unread can be counted, and dropped when
 * the process reads another place of its input. Positions are bytes of that input, from its
 * beginning.
 */
#ifndef HARK_AGENT_FEED_H
#define HARK_AGENT_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct hark_feed_writer;

struct hark_feed { /* all zero but these three and `reader`: there is no pipe */
    uv_loop_t *loop;
    void (*room)(void *self); /* the pipe takes more again, after a write that was short */
    void *self;
    int reader;                      /* for the process; -1: there is no pipe */
    struct hark_feed_writer *writer; /* NULL: the process finds the end behind what is there */
    uint64_t put;                    /* position behind what was written */
};

/* A new pipe instead of the old one, at position 0. 0, or an errno: then there is none. */
int hark_feed_open(struct hark_feed *f);
/* How many bytes went in, which may be none; if not all, room() comes. */
size_t hark_feed_write(struct hark_feed *f, const void *at, size_t length);
/* There is no more: the process finds the end. */
void hark_feed_end(struct hark_feed *f);
/* What lies in the pipe is gone, and what is written next is at `position`; also after the end. 0,
 * or an errno. A thread of the process that reads at this very moment may get the first bytes. */
int hark_feed_seek(struct hark_feed *f, uint64_t position);
uint64_t hark_feed_read(const struct hark_feed *f); /* position behind what the process has read */
void hark_feed_close(struct hark_feed *f);

#endif
