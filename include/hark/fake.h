/* fake.h: a network in memory, for tests. Many ends in one OS process, adversarial, and the same again
 * from the same seed.
 *
 *     struct hark_fake *network = hark_fake_new(&(struct hark_fake_config){.seed = 7, .delay = 5});
 *     hark_fake_join(network, &config);              // config of an end, before open()
 *     hark_fake_transport.open(&t, &config, error);  // and so on, as with every transport
 *     hark_fake_kill(network, 3);                    // rank 3 is dead; open it again with inc + 1
 *
 * Time is counted in steps, one at each poll() of any end. It is left to a seed, or in manual mode to
 * the caller, which frame in flight arrives next. What a transport promises (transport.h), this one
 * keeps too, and nothing beyond: it is as unkind as the promise allows.
 *
 * Ends may be used from several threads, then of course without the same order each time. Callbacks of
 * the sink run without any lock held and may call send() on any end, and hark_fake_kill().
 */
#ifndef HARK_FAKE_H
#define HARK_FAKE_H

#include "transport.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct hark_transport_ops hark_fake_transport;

struct hark_fake;

struct hark_fake_config {
    uint64_t seed;
    uint32_t delay;  /* a frame is in flight for 0 .. delay steps, drawn for each: channels overtake each other */
    bool reorder;    /* frames of one channel overtake each other too */
    uint32_t drop;   /* 0 .. 1000: of so many steps in a thousand, each drops a connection to the polling end:
                        what it carried is sent again, which takes time */
    uint32_t ghosts; /* 0 .. 1000: of so many frames in a thousand that a dead process had sent, each arrives
                        all the same, later; the others are lost with it */
    uint64_t room;   /* bytes in flight on a channel above which send() answers AGAIN; 0: 256 KiB */
    uint64_t chunk;  /* a longer payload comes through place(), in several steps; 0: 32 KiB */
    bool manual;     /* nothing moves but by hark_fake_deliver(); wait() returns at once */
};

/* A new network, NULL if there is no memory or a field of the config is out of its range. The config is
 * copied. The caller's until hark_fake_free(). */
struct hark_fake *hark_fake_new(const struct hark_fake_config *config);

/* Frees the network and all frames in flight. All its ends must have been closed. */
void hark_fake_free(struct hark_fake *network);

/* Makes a config open an end in this network: sets config->option[0]. */
void hark_fake_join(struct hark_fake *network, struct hark_transport_config *config);

/* SIGKILL for the end that is open as `rank` (or HARK_RECOVERY). Its unread frames are lost, those it
 * had sent arrive or not as the seed wills, those half sent never. From now on all calls on it but
 * close() do nothing and answer HARK_T_ESYSTEM. Returns false if no such end is open. */
bool hark_fake_kill(struct hark_fake *network, uint32_t rank);

/* Is an end open as `rank`, and not killed? *inc, if not NULL, is then its incarnation. */
bool hark_fake_alive(const struct hark_fake *network, uint32_t rank, uint32_t *inc);

/* Steps since the beginning. */
uint64_t hark_fake_now(const struct hark_fake *network);

/* ---- choosing by hand ------------------------------------------------------------------------------ */

struct hark_fake_flight { /* a frame in flight */
    uint64_t id;          /* 1, 2, 3 ... in the order of sending, in the whole network */
    uint32_t from, from_inc, to, to_inc;
    uint64_t length;      /* of the payload */
    struct hark_bytes header; /* valid until the next call on the network or one of its ends */
    bool half;            /* place() was called for it, arrived() is still to come */
    bool open;            /* the incarnation it is sent to is open, so it can be delivered */
};

/* The frames in flight, by id ascending: writes at most `room` of them, returns how many there are. */
size_t hark_fake_in_flight(const struct hark_fake *network, struct hark_fake_flight *at, size_t room);

/* Lets the k-th frame of that list (from 0) arrive: at once in the sense that the next poll() of its
 * receiver hands it to the sink, after those let in earlier. A payload longer than `chunk` needs
 * several calls: place(), then the rest as far as it was sent, then arrived(). Returns false if there is no such frame, its receiver is not open,
 * or it is let in already. */
bool hark_fake_deliver(struct hark_fake *network, size_t k);

/* Loses the k-th frame. Legal, as a network is concerned, only if one of its ends died: returns false
 * otherwise. */
bool hark_fake_lose(struct hark_fake *network, size_t k);

#ifdef __cplusplus
}
#endif
#endif
