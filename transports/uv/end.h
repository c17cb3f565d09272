/* end.h: what one end of the transport keeps.
 *
 *   uv.c         opening, closing, sleeping, polling: the functions of the transport
 *   listen.c     strangers come in
 *   conn.c       a connection: its life, and what libuv reports of it
 *   handshake.c  both sides prove who they are
 *   guard.c      what is written and read, if it is encrypted: record.c
 *   pair.c       the other processes: incarnations, meeting, losing and meeting again
 *   send.c       frames into the stream to a peer
 *   receive.c    frames out of the stream from a peer
 *
 * libuv calls back inside uv_run(), thus in wait() and poll(). These callbacks shake hands and
 * write, but they never read frames: that is left to poll() (struct end, ready), since only poll()
 * may call the sink.
 */
#ifndef HARK_UV_END_H
#define HARK_UV_END_H

#include <uv.h>

#include "address.h"
#include "guard.h"
#include "../self.h"
#include "hark/transport.h"
#include "head.h"
#include "window.h"

/* A frame of at most so many bytes, head and all, is kept by the sender as a copy, and lies whole
 * in the receiver's buffer when it is handed up. A longer one goes from the memory of the sender's
 * caller to the place that the sink of the receiver gives. */
#define SHORT_FRAME  (128u * 1024)
#define BUFFER_BYTES (2 * SHORT_FRAME)
/* So much the receiver may have without having told. A window holds this and one short frame, or
 * both would wait. */
#define ACK_EVERY    (128u * 1024)
#define WINDOW_LEAST (ACK_EVERY + SHORT_FRAME)
#define WINDOW_USUAL (4u << 20)
/* A long frame is taken, and the next may follow, when the receiver lacks no more of it than this,
 * which is copied */
#define LONG_TAIL   (256u * 1024)
#define WINDOW_MOST (1ull << 30)

_Static_assert(LONG_TAIL >= SHORT_FRAME && LONG_TAIL <= WINDOW_LEAST,
    "the tail of a long frame fits any window");

struct process {
    uint32_t rank, inc;
};

enum conn_state {
    CONN_CONNECTING,     /* initiator */
    CONN_WANT_HELLO,     /* acceptor: the other's first message is to come */
    CONN_WANT_CHALLENGE, /* initiator */
    CONN_WANT_PROOF,     /* acceptor */
    CONN_WANT_WELCOME,   /* initiator */
    CONN_JOINED,         /* the connection of its pair */
    CONN_CLOSED          /* to be freed when libuv is through with it */
};

#define SHAKE_MESSAGE_MAX 128

struct conn {
    uv_poll_t watch;
    uv_timer_t deadline;
    int handles; /* of these two, those that libuv still knows */
    int fd;
    enum conn_state state;
    bool initiator; /* it was us who connected */
    bool writing;   /* waits until it can be written */
    bool mute;      /* writing failed: what came is still read, up to the end */
    bool hung;      /* libuv reported an error and watches no more */
    bool ready;     /* in the list of those that poll() has to look at */
    struct conn *next, *before, *ready_next;
    struct end *e;
    struct pair *pair; /* NULL: a stranger */

    struct process them;                /* as they say; proved from CONN_JOINED on */
    uint64_t gen;                       /* of the pair when the challenge was sent */
    uint64_t born;                      /* milliseconds of the loop */
    uint8_t nonce[2][32];               /* initiator's, acceptor's */
    uint8_t message[SHAKE_MESSAGE_MAX]; /* that is coming */
    uint32_t got;
    /* if it is to be encrypted; also initiator's, acceptor's */
    uint8_t public_key[2][32], secret[32];
    uint8_t ciphers[2];  /* what the one can, what the other has chosen */
    struct guard *guard; /* NULL: bytes are written and read as they are */

    uint8_t *buffer;             /* BUFFER_BYTES; unread bytes are begin .. end */
    size_t begin, end, need;     /* need: so many from begin on make up what comes next */
    bool long_ones;              /* the last frame was long */
    bool greeted;                /* the first head has come */
    uint8_t control[HEAD_BYTES]; /* a HEAD_ACK that is only half written */
    uint32_t control_left;
    uint64_t joined_at; /* how far both streams were */
};

struct out {        /* the stream to a peer */
    uint64_t acked; /* the peer has it up to here */
    uint64_t sent;  /* written to the present connection */
    uint64_t high;  /* written to any */
    uint64_t held;  /* the window keeps acked .. held */
    uint64_t end;   /* held .. end is the long frame that is under way, in the caller's memory */
    struct window window;
    bool is_long;          /* there is one */
    bool at_hand;          /* and its memory may be read */
    bool withdrawn;        /* and it never will be again: the peer is to forget what it has of it */
    struct iovec piece[5]; /* head, header, payload */
    uint8_t head[HEAD_BYTES];
    bool stalled, go; /* send() answered AGAIN; and now could go on */
    uint64_t need;    /* room that it missed */
};

struct in {            /* the stream from a peer */
    uint64_t position; /* all before it was taken */
    uint64_t told;     /* what the peer was told of that */
    bool ack_due;
    bool half; /* a long frame is arriving */
    bool skip; /* it is over the limit */
    bool lost; /* and will not arrive any more: the sink is to be told */
    struct hark_frame frame;
    void *place;
    uint64_t got, length; /* of the payload; if `skip`, of all behind the head */
    uint8_t *header;
    uint32_t header_room;
};

struct pair { /* this process and another one; made when they first have to do with each other */
    struct end *e;
    uint32_t number, rank, inc;
    uint64_t gen; /* +1 at each meeting, and at each new incarnation */
    struct address address;
    struct conn *conn;    /* joined */
    struct conn *attempt; /* ours, on its way to be joined */
    uv_timer_t retry;
    uint64_t backoff; /* milliseconds */
    bool met;         /* they have met in these incarnations */
    bool again;       /* the last connection was ours: the other may rely on us to make it again */
    bool absent;      /* nobody listens at the address */
    uint64_t apart_since; /* uv_now() when a connection was wanted and there was none; 0: there is
                           */
    bool apart_told;
    int why; /* what came of the last attempt, an errno; 0: nothing yet */
    struct out out;
    struct in in;
};

struct end {
    struct hark_transport head;
    struct hark_sink sink;
    struct process me;
    uint32_t number, ranks;
    uint64_t limit, window_most;
    uint64_t deadline;      /* milliseconds */
    uint64_t no_room_since; /* uv_now() when no more could be accepted first; 0: they can */
    uint32_t strangers, strangers_most;
    uint8_t key[32];
    char job[41];
    char address[ADDRESS_TEXT];
    struct pair **pairs;            /* by number; NULL: nothing to do with it */
    struct conn *conns, *last_conn; /* all, oldest first */
    struct conn *ready, **ready_end;
    uint32_t lost; /* pairs with in.lost */
    uint32_t go;   /* pairs with out.go */
    int trouble;   /* what poll() is to answer; 0: none */

    struct self self;

    uv_loop_t loop;
    uv_async_t woken_by;
    uv_timer_t patience; /* of wait() */
    uv_timer_t breath;   /* of the listener */
    uv_timer_t apart;    /* until somebody has been out of reach for long */
    uv_poll_t listener;
    int listen_fd;
    bool has_loop, has_listener, woken, late;
    bool apart_due; /* wait() is to return for it */
    bool encrypts;
    bool keeps_no_pointers; /* see uv.h */
    bool changed;           /* what libuv watches and when; it learns of that when it runs */
    char unlink_path[ADDRESS_TEXT]; /* empty: nothing */
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

/* uv.c */
/* Writes what has failed into the error text; `why` is an errno, positive. Returns HARK_T_ESYSTEM.
 */
int hark_uv_failed(struct end *e, const char *what, const char *which, int why);

/* Lets libuv do what it has to, without waiting. */
void hark_uv_run(struct end *e);

/* listen.c */
int hark_uv_listen(struct end *e, const struct address *at);
void hark_uv_unlisten(struct end *e);

/* conn.c */
/* Takes over fd, also if it fails. NULL: the reason is in the error text. */
struct conn *hark_uv_conn_new(struct end *e, int fd, enum conn_state state);
/* The end of it, without a word to its pair. The memory lives until the next uv_run(). */
void hark_uv_conn_drop(struct conn *c);
/* The same, and the pair tries again when it has reason to. */
void hark_uv_conn_lost(struct conn *c);
/* The same for one that misbehaved. */
void hark_uv_conn_refuse(struct conn *c);
void hark_uv_conn_watch(struct conn *c, bool writing);
/* The message that is wanted now must come before the deadline. */
void hark_uv_conn_hurry(struct conn *c);
/* To be looked at by poll(): it is joined and can be read, or can not be watched and is to be lost.
 */
void hark_uv_conn_ready(struct conn *c);
void hark_uv_conn_seen(struct conn *c);
/* A connection to p->address is begun. */
void hark_uv_conn_connect(struct pair *p);

/* handshake.c */
void hark_uv_shake_begin(struct conn *c);
/* Reads what has come of the message that is wanted, and goes on if it is whole. */
void hark_uv_shake_read(struct conn *c);
/* From here on it is encrypted. False: it can not be, and the connection is lost. */
bool hark_uv_shake_guard(struct conn *c);

/* pair.c */
struct pair *hark_uv_pair_get(struct end *e, uint32_t number);
/* The pair of `number` at incarnation `inc`. HARK_T_EGONE: it is older than what is known. */
int hark_uv_pair_at(struct end *e, uint32_t number, uint32_t inc, struct pair **p);
/* A stranger or an attempt of ours has proved who is there, and how far that one has our stream. */
void hark_uv_pair_join(struct pair *p, struct conn *c, uint64_t position);
/* Connects if there is a reason to and no other way under way. */
void hark_uv_pair_pursue(struct pair *p);
/* The same, later. */
void hark_uv_pair_retry(struct pair *p);
/* It has been reached, or there is nothing for it any more. */
static inline void hark_uv_reached(struct pair *p)
{
    if (p->apart_told) p->e->head.unreached--;
    p->apart_told = false;
}
void hark_uv_pair_apart(uv_timer_t *timer); /* looks who is out of reach */
/* Of hark_transport_ops. */
bool hark_uv_apart(
    struct hark_transport *t, uint32_t *rank, uint64_t *milliseconds, char text[200]);

/* send.c */
int hark_uv_send(struct hark_transport *t, struct hark_outgoing *o);
/* Writes what can be written. */
void hark_uv_flush(struct pair *p);
/* The peer has our stream up to `position`. False: that can not be. */
bool hark_uv_acked(struct pair *p, uint64_t position);
/* The first head on a new connection; the peer has our stream up to `position`. */
void hark_uv_greet(struct pair *p, uint64_t position);
void hark_uv_out_reset(struct pair *p);

/* receive.c */
/* Reads and hands up. Returns how many frames arrived. */
int hark_uv_receive(struct conn *c);
/* The half frame of a peer that is no more. */
void hark_uv_in_reset(struct pair *p);
/* Tells the sink of those. */
void hark_uv_bury(struct end *e);

#endif
