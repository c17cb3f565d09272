/* end.h: what one end of the transport keeps.
 *
 *   fabric.c    opening, closing, sleeping, polling: the functions of the transport
 *   library.c   libfabric, loaded when it is needed
 *   point.c     the endpoint: its provider, its address, its receive buffers
 *   pair.c      the other processes: incarnations, addresses
 *   stream.c    the messages to a peer, kept until it has them
 *   send.c      frames into the stream to a peer
 *   receive.c   frames out of the stream from a peer
 *
 * A provider moves on only within our calls, mostly within fi_cq_read(). Frames are handed up by
 * poll() alone.
 */
#ifndef HARK_FABRIC_END_H
#define HARK_FABRIC_END_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "../self.h"
#include "hark/transport.h"
#include "head.h"

/* A message. The layer that makes endpoints out of connections (ofi_rxm) copies up to this size and
 * asks the receiver for more: then a send would end only when that one polls. */
#define MESSAGE_BYTES 16384u
#define RECEIVES      64u
#define MESSAGES      256u /* of a stream on their way, at most */
/* So many the receiver may have without having told. */
#define ACK_MESSAGES   64u
#define ACK_SHARE      4u /* or this part of the window */
#define WINDOW_LEAST   (256u << 10)
#define WINDOW_USUAL   (1u << 20)
#define WINDOW_MOST    (1u << 30)
#define NAME_BYTES     64u
#define ADDRESS_TEXT   200
#define FABRIC_VERSION FI_VERSION(1, 14)

struct library { /* what libfabric is called by; the rest it brings in tables */
    int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
        const struct fi_info *hints, struct fi_info **info);
    void (*freeinfo)(struct fi_info *info);
    struct fi_info *(*dupinfo)(const struct fi_info *info);
    int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
    const char *(*strerror)(int number);
};

struct operation {              /* what a completion names */
    struct fi_context2 context; /* the provider's, until then */
    struct stream *stream;      /* of a message sent; NULL: a receive buffer */
};

struct message {
    struct operation operation;
    uint32_t at, length; /* in the window */
    bool out;            /* the provider has it */
};

struct stream { /* to one incarnation of a peer */
    struct end *e;
    struct pair *pair; /* NULL: that incarnation is gone, and this goes with its last completion */
    struct stream *next; /* of those */
    uint8_t *window;
    struct fid_mr *mr;
    fi_addr_t to;
    bool named; /* `to` is known */
    /* numbers: `first` the oldest that is kept, `acked` what the peer has, `next_out` the next to
     * be sent, `high` behind all that were ever sent, `end` behind the last */
    uint64_t first, acked, next_out, high, end;
    uint64_t bytes; /* kept */
    uint32_t tail;  /* where the next goes */
    uint32_t out;   /* that the provider has */
    bool again;     /* all after `acked` is to be sent again, when the provider has none */
    struct message message[MESSAGES];
};

struct in {          /* the stream from a peer */
    uint64_t number; /* all up to it came */
    uint64_t told;   /* what the peer was told of that */
    uint64_t bytes;  /* that came since */
    bool half;       /* a frame of several messages is arriving */
    bool skip;       /* it is over the limit */
    bool lost;       /* it will not arrive any more: the sink is to be told */
    bool missing;    /* a message before the last that came; its sender was told */
    struct hark_frame frame;
    void *place;
    uint64_t got; /* of header and payload together */
    uint8_t *header;
    uint32_t header_room, header_length;
};

struct pair { /* this process and another one; made when they first have to do with each other */
    struct end *e;
    uint32_t number, rank, inc;
    uint64_t gen; /* +1 with each incarnation */
    uint64_t token_out, token_in;
    uint8_t name[NAME_BYTES];
    size_t name_length; /* 0: not known */
    fi_addr_t to;
    struct stream *stream; /* NULL: nothing was said yet */
    struct in in;
    struct pair *busy_next;
    bool busy;               /* in the list of those that have something to send */
    bool ack_due, again_due; /* tell the peer how far we are; and that something is missing */
    bool blocked;            /* the provider took no more */
    uint64_t apart_since;    /* when the provider first took nothing of it; 0: it does */
    bool apart_told;
    uint64_t retry_at, backoff;  /* milliseconds */
    uint64_t heard_at, patience; /* when the peer last acknowledged; when it is asked */
    uint64_t long_left;          /* of a frame that is half in the stream */
    bool breaks; /* one that was half there was given up, and there was no room yet to say so */
    bool stalled, go; /* send() answered AGAIN; and now could go on */
    uint32_t need;    /* the message it had no room for */
};

struct point { /* what libfabric made for us */
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
    struct fid_mr *mr;
    int fd; /* to sleep on; -1: the provider has none */
    uint8_t *buffers;
    struct operation receive[RECEIVES];
    uint32_t idle[RECEIVES], idle_count; /* buffers that the provider would not take yet */
};

struct end {
    struct hark_transport head;
    struct hark_sink sink;
    uint32_t me, inc, number, ranks;
    uint64_t limit;
    uint32_t window;
    uint8_t key[32];
    char job[41];
    char address[ADDRESS_TEXT];
    uint8_t name[NAME_BYTES];
    size_t name_length;
    struct point point;
    struct pair **pairs; /* by number; NULL: nothing to do with it */
    struct pair *busy;
    struct stream *gone;
    uint32_t lost, go; /* pairs with in.lost; with go */
    int trouble;       /* what poll() is to answer; 0: none */
    uint64_t look_at;  /* when to ask those who have not acknowledged; 0: not set */
    struct self self;
    int wake_fd;
};

/* Ranks as indices: HARK_RECOVERY comes last. Above e->ranks: no such one. */
static inline uint32_t number_of(const struct end *e, uint32_t rank)
{
    if (rank < e->ranks) return rank;
    return rank == HARK_RECOVERY ? e->ranks : UINT32_MAX;
}

static inline uint32_t rank_of(const struct end *e, uint32_t number)
{
    return number == e->ranks ? HARK_RECOVERY : number;
}

/* library.c */
/* NULL: why[] says what is missing. */
const struct library *hark_fabric_library(char why[160]);

/* fabric.c */
/* Writes what has failed into the error text; `why` is a code of libfabric, either sign. Returns
 * HARK_T_ESYSTEM. */
int hark_fabric_failed(struct end *e, const char *what, int why);
uint64_t hark_fabric_now(void); /* milliseconds, never 0 */
/* Where the program has closed 0, 1 or 2, these are occupied while a provider may open something.
 * To be released with hark_descriptor_release(). */
int hark_fabric_hold(void);

/* point.c */
int hark_fabric_point_open(struct end *e, const char *provider, const char *node);
void hark_fabric_point_close(struct end *e);
/* Gives the provider what receive buffers it does not have. */
void hark_fabric_point_post(struct end *e);
/* Where that endpoint is, for people, and that there is no way to it. */
void hark_fabric_point_text(
    const struct end *e, const uint8_t *name, size_t length, char text[200]);
/* Memory that the provider may read; NULL in *mr if it need not know of it. */
int hark_fabric_register(struct end *e, void *at, size_t bytes, struct fid_mr **mr);

/* pair.c */
struct pair *hark_fabric_pair_get(struct end *e, uint32_t number);
/* The pair of `number` at incarnation `inc`. HARK_T_EGONE: it is older than what is known. */
int hark_fabric_pair_at(struct end *e, uint32_t number, uint32_t inc, struct pair **p);
int hark_fabric_pair_named(struct pair *p, const uint8_t *name, size_t length);
uint64_t hark_fabric_token(
    const struct end *e, uint32_t from, uint32_t from_inc, uint32_t to, uint32_t to_inc);
void hark_fabric_pair_busy(struct pair *p);

/* stream.c */
int hark_fabric_stream_open(struct pair *p);
/* The incarnation it leads to is no more. */
void hark_fabric_stream_leave(struct stream *s);
void hark_fabric_stream_free(struct stream *s);
/* Where a message of so many bytes may be written; NULL: no room. */
uint8_t *hark_fabric_stream_room(struct stream *s, uint32_t length);
/* It is written. */
void hark_fabric_stream_put(struct stream *s, uint8_t *at, uint32_t length);
/* Gives the provider what it takes. */
void hark_fabric_stream_go(struct pair *p);
/* A message has left, or failed to. */
void hark_fabric_stream_done(struct message *m, bool well);
/* The peer has it up to `number`. False: that can not be. */
bool hark_fabric_stream_acked(struct pair *p, uint64_t number);
/* All that was taken has left, or can not. */
bool hark_fabric_stream_drained(const struct pair *p);

/* send.c */
void hark_fabric_withdraw(struct hark_transport *t, struct hark_outgoing *f);
int hark_fabric_send(struct hark_transport *t, struct hark_outgoing *o);
/* Sends what is due to those in e->busy. */
void hark_fabric_flush(struct end *e);
/* wait() must not sleep when what was answered AGAIN could go on. */
void hark_fabric_look_if_go(struct pair *p);
void hark_fabric_unstall(struct pair *p);
/* It has been reached, or there is nothing for it any more. */
static inline void hark_fabric_reached(struct pair *p)
{
    if (p->apart_told) p->e->head.unreached--;
    p->apart_told = false;
}
/* Of hark_transport_ops. */
bool hark_fabric_apart(
    struct hark_transport *t, uint32_t *rank, uint64_t *milliseconds, char text[200]);
/* Asks those who have been silent for long. */
void hark_fabric_ask(struct end *e, uint64_t now);

/* receive.c */
/* A message of `length` bytes came. Returns how many frames arrived. */
int hark_fabric_take(struct end *e, const uint8_t *at, size_t length);
/* The half frame of a peer that is no more. */
void hark_fabric_in_reset(struct pair *p);
/* Tells the sink of those. */
void hark_fabric_bury(struct end *e);

#endif
