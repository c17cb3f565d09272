/* fake.h: what fake.c keeps. The interface is include/hark/fake.h. */
#ifndef HARK_TRANSPORTS_FAKE_H
#define HARK_TRANSPORTS_FAKE_H

#include <pthread.h>

#include "hark/fake.h"

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
    struct end *end;         /* who is open there, or NULL */
    uint32_t next_inc;       /* the lowest incarnation that may still open */
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

#endif
