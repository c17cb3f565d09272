/* transport.h: the interface of a transport, which moves bytes and knows no protocol.
 *
 * A transport connects the processes 0 .. ranks-1 of one job, and the recovery process
 * (HARK_RECOVERY). One instance belongs to one incarnation of one process. It carries frames: a
 * header (1 .. HARK_HEADER_MAX bytes) and a payload (0 .. frame limit).
 *
 * What it promises between two incarnations of two processes, both alive: every frame that send()
 * took arrives whole, and once. It does not promise any order (though most transports keep it).
 *
 * If either end dies, frames may be lost. But no frame is handed to the sink in part, and none
 * reaches another incarnation than the one it was sent to. Frames for an incarnation that has not
 * opened yet are kept for it. A frame of a dead incarnation may still arrive: the protocol
 * recognises old frames.
 *
 * All calls come from one thread, except wake(), which may come from any thread.
 */
#ifndef HARK_TRANSPORT_H
#define HARK_TRANSPORT_H

#include "hark.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hark_transport_status {
    HARK_T_OK = 0,
    HARK_T_AGAIN = 1,     /* no room now: poll, then call again with the same arguments */
    HARK_T_EINVAL = -21,  /* no such rank, header or payload over the limit, an option out of its
                             range */
    HARK_T_ESYSTEM = -22, /* a system call failed; hark_transport.error says what and where */
    HARK_T_EGONE = -23    /* that incarnation is dead: the frame is dropped, as the protocol
                           * expects */
};

struct hark_frame {
    uint32_t from;            /* rank of the sender, or HARK_RECOVERY; the transport has verified
                               * it */
    uint32_t from_inc;        /* the incarnation of the sender */
    struct hark_bytes header; /* valid during the call that gets it */
    uint64_t length;          /* of the payload, bytes */
    bool offered; /* for place(): if nobody waits for the payload yet, place() may return NULL, and
                   * arrived() is not called: it is asked again, or the sender sends the payload in
                   * another way */
};

/* Gets the frames that arrive. poll() calls it, send() never does. Its functions may call send()
 * and wake() of this transport, and nothing else of it. */
struct hark_sink {
    void *self;
    /* A payload arrives that is too long to lie in one piece in the transport's memory. Returns
     * memory for its `length` bytes; or NULL, and the payload is dropped (arrived() is still
     * called, with payload NULL). The memory is the sink's; the transport writes to it until
     * arrived() or broken(). */
    void *(*place)(void *self, const struct hark_frame *frame);
    /* The frame is whole. `payload` is what place() returned; or, if place() was not called for
     * this frame, memory of the transport that is valid during this call only. */
    void (*arrived)(void *self, const struct hark_frame *frame, const void *payload);
    /* The sender died before the whole payload came: the transport no longer writes to `payload`,
     * which place() had returned for this frame. */
    void (*broken)(void *self, const struct hark_frame *frame, void *payload);
};

struct hark_part {
    const void *at;
    uint64_t length;
};

/* A frame to send. The caller fills it, and keeps it and the bytes it points to unchanged until
 * send() returns anything but HARK_T_AGAIN. */
struct hark_outgoing {
    uint32_t to;  /* rank or HARK_RECOVERY */
    uint32_t inc; /* the incarnation that shall get it, also of HARK_RECOVERY */
    struct hark_bytes header;
    struct hark_part part[3]; /* the payload is the concatenation of the parts; unused parts have
                               * length 0 */
    uint64_t done;            /* for the transport: bytes already taken; 0 at first */
    /* The bytes that part[] points to at the first call stay as they are until send() returns
     * anything but HARK_T_AGAIN, or withdraw() is called, whatever becomes of part[] and of this
     * struct. So the receiver may copy them from there meanwhile. */
    bool stays;
    /* Only for a transport that lends; else NULL. Where the payload is to be kept (it is then
     * part[0] alone), preferably memory of lend(), which receivers read in place. Before the
     * transport returns HARK_T_OK it copies the whole payload there, unless part[0].at is `keep`
     * already. The memory must not change until the receiver is known to have the payload or to be
     * dead. After HARK_T_AGAIN the caller may copy the payload itself and set part[0].at to
     * `keep`. */
    void *keep;
};

#define HARK_TRANSPORT_OPTIONS 6u /* that a transport may have */

struct hark_transport_config {
    const char *job;       /* name of the job: 1 .. 40 of [A-Za-z0-9_-]; part of every name that the
                            * transport makes */
    const char *directory; /* a directory of this job alone, for sockets; NULL for transports that
                            * need none */
    uint32_t me, inc, ranks;
    const char *address; /* where to listen, in the transport's own form; NULL: the transport
                          * chooses */
    uint8_t key[32];     /* the job's shared key; transports within one machine may ignore it */
    bool encrypts; /* what leaves this machine is encrypted, and nothing is taken that the key does
                    * not authenticate; transports within one machine may ignore it. The same for
                    * all of a job */
    uint64_t frame_limit;                    /* bytes of header and payload; 0: 1 GiB */
    uint64_t option[HARK_TRANSPORT_OPTIONS]; /* of this transport (see its header); 0: its default
                                              */
    struct hark_sink sink;
};

struct hark_transport_option { /* an option that users may set */
    const char *name;          /* NULL: the end of a table */
    uint32_t at;               /* its index in hark_transport_config.option */
    uint64_t least, most;
    bool power;               /* only powers of two */
    const char *const *words; /* NULL: it is a number; else it is one of these, NULL ends them, and
                               * 1 + its place is what config.option gets */
};
#define HARK_TRANSPORT_OPTIONS_END                                                                 \
    {                                                                                              \
        NULL, 0, 0, 0, false, NULL                                                                 \
    }

struct hark_transport_figures {
    uint64_t frames_out, frames_in, bytes_out, bytes_in; /* bytes of payloads and headers */
    uint64_t refused; /* connections or frames dropped: wrong key, garbage, changed on their way,
                       over the limit */
    uint64_t reconnects;
};

struct hark_transport { /* the first member of every transport's own struct */
    const struct hark_transport_ops *ops;
    struct hark_transport_figures figures;
    char error[200]; /* the last HARK_T_ESYSTEM in one line: what, where, why */
    bool enough;     /* the sink may set it in arrived(): it has what it waited for, so poll() may
                      * leave the other frames for later */
    bool apart;      /* apart() has something to say; wait() has returned for it, once */
    uint32_t unreached; /* of how many it has told that have not been reached since */
};

struct hark_transport_ops {
    const char *name;
    const struct hark_transport_option *options; /* the last one has no name; NULL: there are
                                                  * none */
    /* Makes the end of one process. The config and its strings are copied. HARK_T_EINVAL,
     * HARK_T_ESYSTEM. On failure *t is NULL and error, if not NULL, has the reason in one line. */
    int (*open)(
        struct hark_transport **t, const struct hark_transport_config *config, char error[200]);
    /* The address of this process, for peer() of others. The string is the transport's. */
    const char *(*address)(const struct hark_transport *t);
    /* Process `rank` is now incarnation `inc` at `address` (NULL: not known yet, keep frames for
     * it). Also called for a peer that is new. The transport closes connections to older
     * incarnations and drops frames queued for them; the next send() of a frame half sent to one
     * returns HARK_T_EGONE. */
    int (*peer)(struct hark_transport *t, uint32_t rank, uint32_t inc, const char *address);
    /* Sends a frame. HARK_T_OK: the frame is taken, and its memory is the caller's again;
     * HARK_T_AGAIN, HARK_T_EGONE, HARK_T_EINVAL, HARK_T_ESYSTEM. After HARK_T_AGAIN the caller must
     * not send another frame to the same receiver before this one. Never blocks. */
    int (*send)(struct hark_transport *t, struct hark_outgoing *frame);
    /* Sends and receives what it can, and gives arrived frames to the sink. Returns how many frames
     * arrived, or a negative status. Never blocks. Frames with an impossible sender or length are
     * dropped and counted (`refused`). */
    int (*poll)(struct hark_transport *t);
    /* Sleeps until poll() has something to do, there may be room for a frame that got HARK_T_AGAIN,
     * wake() is called, or `milliseconds` have passed (negative: no limit). May return early. */
    int (*wait)(struct hark_transport *t, int milliseconds);
    /* Makes the present wait(), or else the next, return. May be called from any thread. */
    void (*wake)(struct hark_transport *t);
    /* 1: everything that send() took has left this process; 0: not yet, poll again. */
    int (*drained)(struct hark_transport *t);
    /* Frees everything, also what this process made outside of itself (files, segments). */
    void (*close)(struct hark_transport *t);
    /* Removes everything that a job of that name may have left (segments, sockets), whichever
     * process made it. For supervisors, after all processes have ended. Never fails. */
    void (*sweep)(const char *job, const char *directory);
    /* Optional: all three or none. lend() returns `bytes` of memory (whole pages) that receivers
     * can read in place, see hark_outgoing.keep; it is zeroed, and really allocated. NULL: the
     * transport needs the rest itself. reclaim() gives back all of one lend(), once no receiver
     * needs it. At close() receivers that have not read a frame yet may still read it, or lose it.
     * A transport that lends keeps no pointer to a frame, or into one, between two calls of
     * send(), unless the frame says `stays`. */
    void *(*lend)(struct hark_transport *t, uint64_t bytes);
    void (*reclaim)(struct hark_transport *t, void *at, uint64_t bytes);
    /* Optional. The caller gives up a frame for which send() has returned HARK_T_AGAIN and that
     * says `stays`: when this returns, nobody takes anything more from its memory, and it does not
     * arrive if it has not arrived yet. */
    void (*withdraw)(struct hark_transport *t, struct hark_outgoing *frame);
    /* 1: that receiver is behind, so the next payload is better kept where it can be read in place;
     * 0: it keeps up. */
    int (*behind)(const struct hark_transport *t, uint32_t rank);
    /* Optional; for when wait() has returned with hark_transport.apart, or nothing moves and
     * somebody wants to know why. True: frames for `rank` have been waiting for `milliseconds`
     * without a connection to it, which is not told again before there was one; `text` is where it
     * is and what came of the last attempt, in one line. False: there is none (more). */
    bool (*apart)(struct hark_transport *t, uint32_t *rank, uint64_t *milliseconds, char text[200]);
};

#ifdef __cplusplus
}
#endif
#endif
