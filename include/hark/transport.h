/* transport.h: what moves bytes, and knows nothing of any protocol.
 *
 * A transport joins the processes 0 .. ranks-1 of one job, and the recovery process (HARK_RECOVERY).
 * One instance is one incarnation of one process. It carries frames: a header (1 .. HARK_HEADER_MAX
 * bytes) and a payload (0 .. frame limit).
 *
 * What it promises between incarnation a of one process and incarnation b of another, both alive:
 * every frame that send() took arrives whole, once. Order is promised to nobody (though most keep it).
 * When either end dies, frames may be lost, but none is ever half-read, and none goes to another
 * incarnation than the one it was sent to. Frames for an incarnation that has not opened yet are kept
 * for it. A frame of a dead incarnation may still arrive: who is old is the protocol's to know.
 *
 * All calls come from one thread, but for wake(), which may come from any.
 */
#ifndef HARK_TRANSPORT_H
#define HARK_TRANSPORT_H

#include "hark.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hark_transport_status {
    HARK_T_OK = 0,
    HARK_T_AGAIN = 1,     /* back-pressure: poll, then call again with the same arguments */
    HARK_T_EINVAL = -21,  /* no such rank, header or payload over the limit, an option out of its range */
    HARK_T_ESYSTEM = -22, /* the system refused; hark_transport.error says what and where */
    HARK_T_EGONE = -23    /* that incarnation is gone: the frame is dropped, as the protocol expects */
};

struct hark_frame {
    uint32_t from;            /* rank of the sender, or HARK_RECOVERY, as proved by the transport */
    uint32_t from_inc;        /* and its incarnation */
    struct hark_bytes header; /* valid during the call it is given to */
    uint64_t length;          /* of the payload, bytes */
};

/* Where arrived frames go. Called only inside poll(), send() never calls it. Its functions may call
 * send() and wake(), nothing else of this transport. */
struct hark_sink {
    void *self;
    /* A payload too long to lie in one piece in the transport's memory is about to come: answer where
     * its `length` bytes are to be put, or NULL to have it thrown away (arrived() is still called,
     * with payload NULL). The answer stays the sink's and is written until arrived() or broken(). */
    void *(*place)(void *self, const struct hark_frame *frame);
    /* The frame is whole. `payload` is what place() answered, or, if place() was not called for this
     * frame, memory of the transport that is valid during this call only. */
    void (*arrived)(void *self, const struct hark_frame *frame, const void *payload);
    /* The sender of a frame announced by place() died in the middle: `payload` is no longer written. */
    void (*broken)(void *self, const struct hark_frame *frame, void *payload);
};

struct hark_part {
    const void *at;
    uint64_t length;
};

/* A frame on its way out. The caller fills it and keeps it, and the bytes it points to, unchanged
 * until send() answers something else than HARK_T_AGAIN. */
struct hark_outgoing {
    uint32_t to;  /* rank or HARK_RECOVERY */
    uint32_t inc; /* the incarnation meant; for HARK_RECOVERY too */
    struct hark_bytes header;
    struct hark_part part[3]; /* the payload is their concatenation; unused ones have length 0 */
    uint64_t done;            /* the transport's: bytes already taken; 0 at first */
    /* Only for a transport that lends: NULL, or where the payload, which is part[0] alone, is to be kept, best in memory
     * from lend(): then receivers take it from there. The transport copies it there, all of it before it answers
     * HARK_T_OK; unless part[0].at is `keep`, then it is there. What is there stays unchanged until the receiver is known
     * to have it or to be gone. After HARK_T_AGAIN the caller may copy it itself and let part[0].at be `keep`. */
    void *keep;
};

struct hark_transport_config {
    const char *job;    /* name of the job: 1 .. 40 of [A-Za-z0-9_-], part of every name it makes */
    const char *directory; /* a directory that is the job's own (sockets); may be NULL for transports without */
    uint32_t me, inc, ranks;
    const char *address;   /* where to listen, in the transport's words; NULL: the transport chooses */
    uint8_t key[32];       /* the job's shared key; transports that cross no machine may ignore it */
    uint64_t frame_limit;  /* bytes of header and payload; 0: 1 GiB */
    uint64_t option[4];    /* the transport's own (see its header), 0: its default */
    struct hark_sink sink;
};

struct hark_transport_option { /* one that users may set */
    const char *name; /* NULL: the end of a table */
    uint32_t at;      /* its place in hark_transport_config.option */
    uint64_t least, most;
    bool power;       /* powers of two only */
};
#define HARK_TRANSPORT_OPTIONS_END {NULL, 0, 0, 0, false}

struct hark_transport_figures {
    uint64_t frames_out, frames_in, bytes_out, bytes_in; /* payload and header bytes */
    uint64_t refused;    /* connections or frames dropped: wrong key, garbage, over the limit */
    uint64_t reconnects;
};

struct hark_transport { /* head of every transport's own struct */
    const struct hark_transport_ops *ops;
    struct hark_transport_figures figures;
    char error[200]; /* the last ESYSTEM in one line: what, where, why */
    bool enough;     /* the sink may set it in arrived(): what it waited for is there, and poll() may leave the rest where it is */
};

struct hark_transport_ops {
    const char *name;
    const struct hark_transport_option *options; /* up to one without a name; NULL: none */
    /* Makes the end of one process. On failure *t is NULL and the reason is in error (if not NULL),
     * one line. The config and its strings are copied. HARK_T_EINVAL, HARK_T_ESYSTEM. */
    int (*open)(struct hark_transport **t, const struct hark_transport_config *config, char error[200]);
    /* Where others reach this process: a string that peer() of another takes. Owned by the transport. */
    const char *(*address)(const struct hark_transport *t);
    /* Process `rank` is now incarnation `inc`, reached at `address` (NULL: not known yet, keep frames
     * for it). Connections to older incarnations are given up, frames queued for them dropped; a frame
     * half sent to an older one answers HARK_T_EGONE. Also for peers met the first time. */
    int (*peer)(struct hark_transport *t, uint32_t rank, uint32_t inc, const char *address);
    /* Takes the frame: HARK_T_OK when wholly taken (its memory is the caller's again), HARK_T_AGAIN,
     * HARK_T_EGONE, HARK_T_EINVAL, HARK_T_ESYSTEM. Between two calls for one frame no other frame is
     * given for the same receiver. Never blocks. */
    int (*send)(struct hark_transport *t, struct hark_outgoing *frame);
    /* Moves what can move and gives arrived frames to the sink. Returns how many frames arrived, or a
     * negative status. Never blocks. A frame that names an impossible sender or length is dropped and counted. */
    int (*poll)(struct hark_transport *t);
    /* Sleeps until poll() has something to do, a frame given AGAIN could go on (perhaps not by the first byte), wake(), or
     * `milliseconds` have passed (negative: no limit). May return early. */
    int (*wait)(struct hark_transport *t, int milliseconds);
    /* Makes a present or the next wait() return. From any thread. */
    void (*wake)(struct hark_transport *t);
    /* Everything taken has left this process? 1 yes, 0 poll on. */
    int (*drained)(struct hark_transport *t);
    /* Frees all, also what it made outside the process, as far as it is this process's own. */
    void (*close)(struct hark_transport *t);
    /* Removes whatever a job of that name may have left (segments, sockets), whoever made it.
     * For supervisors, when all processes are gone. Never fails; missing things are fine. */
    void (*sweep)(const char *job, const char *directory);
    /* Optional, all three or none. lend() gives `bytes` (whole pages) that receivers can read where they stand: see
     * hark_outgoing.keep. They are zero, and certain to be there. NULL: no more, as much must stay free for the
     * transport itself. reclaim() takes all of one lend() back, when no receiver needs it any more; with close() those
     * that have not read what was sent still can, or lose the frame.
     * A transport that lends keeps no pointer to a frame, or into one, between two calls of send(). */
    void *(*lend)(struct hark_transport *t, uint64_t bytes);
    void (*reclaim)(struct hark_transport *t, void *at, uint64_t bytes);
    /* 1: that receiver does not keep up, so the next payload had better be kept where it can read it; 0: it waits for it. */
    int (*behind)(const struct hark_transport *t, uint32_t rank);
};

#ifdef __cplusplus
}
#endif
#endif
