/* fake.h: what network.c and fake.c keep. The interface is include/hark/fake.h. */
#ifndef HARK_TRANSPORTS_FAKE_H
#define HARK_TRANSPORTS_FAKE_H

#include <pthread.h>

#include "hark/fake.h"

/* Whatever the linker sees begins with hark_. */
#define fake_draw         hark_fake_draw_
#define fake_port_number  hark_fake_port_number_
#define fake_channel_of   hark_fake_channel_of_
#define fake_unlink_frame hark_fake_unlink_frame_
#define fake_free_frame   hark_fake_free_frame_
#define fake_lose         hark_fake_lose_
#define fake_leave        hark_fake_leave_

struct frame {
    struct frame *next; /* at the port of its receiver */
    uint64_t id;
    uint32_t from, from_inc, to, to_inc;
    uint8_t *header, *payload;
    uint32_t header_length;
    uint64_t length;
    uint64_t taken; /* bytes of the payload that the sender has given */
    uint64_t given; /* bytes of it that were written to `place` */
    uint64_t due;   /* the step it may arrive at; in manual mode the order of letting in */
    void *place;    /* the sink's answer, if placed */
    bool placed, let_in;
    bool busy;   /* a sink is answering place() for it, without the lock */
    bool broken; /* it will never arrive, and the sink must be told */
    bool ghost;  /* its sender is dead */
};

struct channel {
    uint64_t flying; /* bytes sent and not arrived */
    uint64_t due;    /* of the youngest frame, for the order within the channel */
};

struct port {
    struct end *end;   /* who is open there, or NULL */
    uint32_t next_inc; /* the lowest incarnation that may still open */
    struct frame *first, **last;
    struct channel *channel; /* by sender; made with the first frame */
};

struct hark_fake {
    struct hark_fake_config config;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint64_t random, now, frames, let_in;
    uint32_t ranks;
    struct port *port; /* ranks + 1: the last is the recovery process; made by the first open() */
};

struct out { /* what an end knows of a receiver */
    uint32_t inc;
    bool stalled;          /* send() has answered AGAIN */
    struct frame *sending; /* half sent */
};

struct end {
    struct hark_transport head;
    struct hark_fake *network;
    struct hark_sink sink;
    uint32_t me, inc, ranks, port;
    uint64_t limit;
    struct out *out;
    bool dead, woken;
    char address[32];
};

/* All of these want the lock held. */
uint64_t fake_draw(struct hark_fake *n, uint64_t below);  /* 0 .. below-1 */
uint32_t fake_port_number(uint32_t ranks, uint32_t rank); /* ranks + 1: no such rank */
struct channel *fake_channel_of(struct hark_fake *n, const struct frame *f);
void fake_unlink_frame(struct port *port, struct frame *f);
void fake_free_frame(struct hark_fake *n, struct frame *f);
/* The frame will never arrive. If its receiver has given a place, it must hear so at its next
 * poll(). */
void fake_lose(struct hark_fake *n, struct frame *f);
/* What an end leaves when it goes: nothing is for it any more, what it half sent is lost. */
void fake_leave(struct hark_fake *n, struct end *e, bool killed);

#endif
