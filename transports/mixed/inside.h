/* inside.h: what one end of the transport keeps.
 *
 *   mixed.c   opening, closing, peers, polling and sleeping: the functions of the transport
 *   host.c    configs, and addresses in words
 *   far.c     the transports between hosts
 *   kept.c    frames to other hosts, and those that can not go yet
 *   watch.c   the thread that hears of other hosts while we sleep for this one
 *
 * The end is that of shared memory, with our functions in its head: what passes within the host
 * passes as if there were nothing else. struct mixed is beside it.
 */
#ifndef HARK_MIXED_INSIDE_H
#define HARK_MIXED_INSIDE_H

#include <pthread.h>
#include <sys/types.h>

#include "../shm/end.h"
#include "../shm/shm.h"
#include "mixed.h"

#define HOST_MOST    15
#define HOST_DEFAULT "h0"
#define JOB_MOST     40
#define WHY          120 /* bytes of a reason */

/* Places in hark_transport_config.option. */
enum { MIXED_RING, MIXED_SPIN, MIXED_HANDSHAKE, MIXED_WINDOW, MIXED_BETWEEN, MIXED_PROVIDER };

struct far_ops { /* of a transport between hosts */
    const struct hark_transport_ops *transport;
    /* With our options; it keeps no pointer into a frame between two calls of send(). */
    int (*open)(struct hark_transport **t, const struct hark_transport_config *c, char error[200]);
    /* NULL: that of `transport`. */
    void (*withdraw)(struct hark_transport *t, struct hark_outgoing *frame);
    /* It can be read when something has come; another thread may watch it. -1: there is none. */
    int (*descriptor)(const struct hark_transport *t);
    /* Milliseconds until there is something to do that the descriptor does not show; -1: it shows
     * all. Asked before we sleep. */
    int (*timeout)(const struct hark_transport *t);
    bool (*has_work)(const struct hark_transport *t); /* now, and the descriptor does not show it */
};

struct kept { /* a frame that was taken and is still to be sent */
    struct kept *next;
    struct hark_outgoing out;
    uint64_t bytes; /* that it counts for */
    void *copy;     /* of a payload that was lent, and taken back; else NULL */
    uint8_t at[];   /* header; payload, unless that is lent */
};

enum way { WAY_UNKNOWN, WAY_NEAR, WAY_FAR };

struct peer {
    uint32_t inc;
    enum way way; /* to this incarnation */
    bool stalled; /* send() answered AGAIN because so much is kept */
    struct kept *first, *last;
    uint64_t bytes;        /* of what is kept */
    uint32_t turn, streak; /* as struct out of shared memory has them */
};

struct watch {
    _Atomic uint32_t look;  /* 1: poll() has to look at more than shared memory */
    _Atomic uint32_t fired; /* 1: the thread does not watch the sockets */
    _Atomic uint32_t quit;
    int epoll, timer; /* descriptors */
    bool runs;
    pid_t owner;
    pthread_t thread;
};

struct mixed {
    struct beside beside; /* the first: see mixed_of() */
    struct end *e;        /* shared memory */
    const struct far_ops *between;
    struct hark_transport *far;
    struct hark_transport_figures seen; /* of `far`, in our figures already */
    struct peer *peers;                 /* by number */
    uint32_t kept;                      /* frames, in all */
    uint32_t near;                      /* peers of this host with such frames */
    uint32_t hot;                       /* polls that look at the sockets without being told */
    bool pumping;                       /* what is kept goes out: not to be kept again */
    bool go;                            /* a frame that had AGAIN may go */
    bool far_first;
    int trouble; /* what the next poll() is to return; 0: none */
    struct watch watch;
    char host[HOST_MOST + 1];
    char address[200];
};

static inline struct mixed *mixed_of(const struct hark_transport *t)
{
    return (struct mixed *)(void *)((const struct end *)t)->beside;
}

/* What has failed into the error text; `why` is an errno. Returns HARK_T_ESYSTEM. */
int hark_mixed_failed(struct mixed *m, const char *what, int why);
/* After a call of `far` that returned `status`: its figures and its error become ours. Returns
 * `status`. */
int hark_mixed_after(struct mixed *m, int status);

/* Has it something to do that nothing else shows? */
static inline bool far_has_work(const struct mixed *m)
{
    return m->between->has_work(m->far);
}

/* far.c */
extern const char *const hark_mixed_between[]; /* words of the option; NULL: the end */
const struct far_ops *hark_mixed_far(uint64_t option);

/* host.c */
/* NULL, or what is wrong with the job's name and the options; perhaps in `text`. */
const char *hark_mixed_bad_config(const struct hark_transport_config *c, char text[WHY]);
/* Takes the host out of an address. Returns what follows it, or NULL: it can not be one. */
const char *hark_mixed_host(const char *address, char host[HOST_MOST + 1]);
/* "JOB-HOST". False: it is too long. */
bool hark_mixed_job(char name[JOB_MOST + 1], const char *job, const char *host);

/* kept.c */
int hark_mixed_send(struct hark_transport *t, struct hark_outgoing *o); /* struct beside */
/* Sends what is kept for a peer whose way is known, as far as that goes. HARK_T_OK or negative. */
int hark_mixed_pump(struct mixed *m, uint32_t number);
int hark_mixed_pump_all(struct mixed *m);
/* Drops all that is kept for it. */
void hark_mixed_forget(struct mixed *m, uint32_t number);
/* These bytes are taken back: what is kept of them is copied. */
void hark_mixed_copy_lent(struct mixed *m, const void *at, uint64_t bytes);

/* watch.c */
int hark_mixed_watch_open(struct mixed *m);
/* From now on something may come from other hosts. */
int hark_mixed_watch_start(struct mixed *m);
/* Watches for other hosts, and their timers, until something comes. False: something has come, or
 * is due. */
bool hark_mixed_watch_arm(struct mixed *m);
void hark_mixed_watch_close(struct mixed *m);

static inline void look_again(struct mixed *m)
{
    atomic_store_explicit(&m->watch.look, 1, memory_order_relaxed);
}

#endif
