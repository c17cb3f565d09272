/* fake.h: an adversarial network in memory, for tests. All its ends are in one OS process, and the
 * same seed gives the same run.
 *
 *     struct hark_fake *network = hark_fake_new(&(struct hark_fake_config){.seed = 7, .delay = 5});
 *     hark_fake_join(network, &config);              // the config of an end, before open()
 *     hark_fake_transport.open(&t, &config, error);  // as with every transport
 *     hark_fake_kill(network, 3);                    // rank 3 dies; open it again with inc + 1
 *
 * Time is counted in steps; each poll() of any end is a step. The seed, or in manual mode the
 * caller, chooses which frame in flight arrives next. The network keeps the promises of a transport
 * (transport.h), and otherwise behaves as badly as they allow.
 *
 * Ends may be used from several threads; then runs are not reproducible. Callbacks of the sink run
 * without any lock held, and may call send() on any end, and hark_fake_kill().
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
    uint32_t delay;  /* a frame is in flight for 0 .. delay steps, at random; so channels overtake
                      * each other */
    bool reorder;    /* frames of one channel overtake each other as well */
    uint32_t drop;   /* 0 .. 1000: in this many of 1000 steps a connection to the polling end
                      * breaks; its frames are sent again, which takes time */
    uint32_t ghosts; /* 0 .. 1000: this many of 1000 frames of a dead process arrive later; the
                      * others are lost */
    uint64_t room;   /* with more bytes in flight on a channel send() returns HARK_T_AGAIN; 0: 256
                      * KiB */
    uint64_t chunk;  /* longer payloads arrive through place(), in several steps; 0: 32 KiB */
    bool manual;     /* frames move only by hark_fake_deliver(); wait() returns at once */
};

/* Makes a network; NULL without memory, or if a field of the config is out of its range. The config
 * is copied. The caller frees the network with hark_fake_free(). */
struct hark_fake *hark_fake_new(const struct hark_fake_config *config);

/* Frees the network and all frames in flight. All its ends must be closed before. */
void hark_fake_free(struct hark_fake *network);

/* Sets config->option[0], so that open() with this config makes an end in this network. */
void hark_fake_join(struct hark_fake *network, struct hark_transport_config *config);

/* Kills the end that is open as `rank` (or HARK_RECOVERY), like SIGKILL. Frames that it has not
 * read are lost; of the frames that it has sent the seed chooses those that arrive; frames half
 * sent never arrive. From now on only close() works on that end; other calls do nothing and return
 * HARK_T_ESYSTEM. Returns false if no such end is open. */
bool hark_fake_kill(struct hark_fake *network, uint32_t rank);

/* True if an end is open as `rank` and not killed; *inc is then its incarnation (inc may be
 * NULL). */
bool hark_fake_alive(const struct hark_fake *network, uint32_t rank, uint32_t *inc);

/* Returns the number of steps since the network was made. */
uint64_t hark_fake_now(const struct hark_fake *network);

/* ---- choosing by hand ------------------------------------------------------------------------ */

struct hark_fake_flight { /* a frame in flight */
    uint64_t id;          /* 1, 2, 3 ... in the order in which frames of the whole network were
                           * sent */
    uint32_t from, from_inc, to, to_inc;
    uint64_t length;          /* of the payload */
    struct hark_bytes header; /* valid until the next call on the network or one of its ends */
    bool half;                /* place() was called for it, and arrived() not yet */
    bool open;                /* its receiving incarnation is open, so it can be delivered */
};

/* Writes the frames in flight, by ascending id, at most `room` of them; returns how many there
 * are. */
size_t hark_fake_in_flight(
    const struct hark_fake *network, struct hark_fake_flight *at, size_t room);

/* Lets the k-th frame of hark_fake_in_flight (from 0) arrive: the next poll() of its receiver hands
 * it to the sink, after frames that were delivered earlier. A payload longer than `chunk` needs
 * several calls: for place(), for the rest as far as it was sent, and for arrived(). Returns false
 * if there is no such frame, its receiver is not open, or it was delivered already. */
bool hark_fake_deliver(struct hark_fake *network, size_t k);

/* Loses the k-th frame. A network may do so only if one of the frame's ends died: else it returns
 * false. */
bool hark_fake_lose(struct hark_fake *network, size_t k);

#ifdef __cplusplus
}
#endif
#endif
