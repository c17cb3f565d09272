/* depot.h: what the parts of an agent share that keep images in the host's own store, and their
 * copies on other hosts.
 *
 *   depot.c    what of it is wanted, dropped and undone
 *   peer.c     images on their way from and to agents of other hosts
 *   placing.c  what may take long, by a thread
 *   holds.c    what hark run hears of images, and which of them came as copies
 *
 * The store is a directory store (hark/store.h), in which the processes of the host write their own
 * images. A copy is written beside it, as HOST-STORE/JOB/in/N, verified, and then renamed into it:
 * so what bears the name of an image is whole, also after a crash.
 */
#ifndef HARK_AGENT_DEPOT_H
#define HARK_AGENT_DEPOT_H

#include "state.h"

struct hark_sending { /* an image on its way to another agent */
    struct hark_sending *next;
    struct hark_peer *peer;
    uint32_t rank, round;
    uint64_t id, length, at;
    int fd;
    struct hark_placing *check; /* it is being verified first; NULL: it is not */
};

struct hark_coming { /* one on its way here */
    struct hark_coming *next;
    struct agent *a;
    uint32_t rank, round, number; /* number: its name until it is whole */
    uint64_t id, at;
    int fd;
    struct hark_placing *placing; /* all of it is here */
};

struct hark_wish { /* GET, until there is an answer; said when the connection is opened */
    struct hark_wish *next;
    uint32_t rank;
    uint64_t id;
    bool said;
};

struct hark_peer { /* a connection to another agent, whoever began it */
    struct hark_peer *next;
    struct agent *a;
    struct hark_connection *connection;
    char address[HARK_HOST_NAME + 8]; /* that we connected to; empty: it did */
    bool opened;
    struct hark_sending *sending;
    struct hark_coming *coming;
    struct hark_wish *wish;
};

struct hark_placed { /* a copy, asked for in that round, that was put into the store */
    uint32_t rank, round;
    uint64_t id;
};

struct hark_depot {
    struct hark_listener *listener;
    struct hark_peer *peer;
    int in; /* the directory of what comes */
    uint32_t number;
    uint32_t *undone; /* of each rank: copies of that round and before are of a past that is undone
                       */
    bool no_room;     /* and said */
    struct hark_coming *placing;       /* whole: its peer may be gone */
    struct hark_depot_check *checking; /* images here, for processes that are to begin */
    struct hark_placed *placed;
    uint32_t placed_count;
};

/* holds.c */
void hark_depot_name(char name[64], uint32_t rank, uint64_t id); /* in the store */
/* Takes what a check of an image has found: if it is not whole, that is said, and hark run looks
 * for another one. */
bool hark_depot_found(struct agent *a, uint32_t rank, uint64_t id, int status, const char *error);
/* Drops an image of the store; a thread frees its bytes. */
void hark_depot_remove(struct agent *a, uint32_t rank, uint64_t id);
/* Says HOLDS; and if it was asked for here (round 0), then a->image_came(). */
void hark_depot_holds(
    struct agent *a, uint32_t rank, uint64_t id, enum hark_agent_holds whole, uint32_t round);
void hark_depot_note_placed(struct hark_depot *d, const struct hark_coming *c);
/* Those of the rank from `first` on, before `end`, up to that round. */
void hark_depot_forget_placed(
    struct hark_depot *d, uint32_t rank, uint64_t first, uint64_t end, uint32_t round);
bool hark_depot_is_placed(const struct hark_depot *d, uint32_t rank, uint64_t id);

/* peer.c */
struct hark_connection_config hark_peer_config(struct agent *a);
/* Images of the rank behind that one, of that round and before, end on their way here. */
void hark_peers_undo(struct agent *a, uint32_t rank, uint64_t above, uint32_t round);
void hark_peers_close(struct agent *a);

#endif
