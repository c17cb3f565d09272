/* world.h: a whole job in one value: cores, scripted applications, frames in flight, the failure service.
 *
 * A search takes a world, lists its steps, takes one, and asks what became of it. Every frame is its own step, so is
 * every announcement of a failure, every completed store, every restart. The network keeps no order.
 *
 * Scripts: `S j` send to j, `R j` receive from j, `R` from anyone, `T j` test for a message from j (may miss),
 * `W j` complete a T that missed, `C` checkpoint, `O` output: waits until it is stable; `R j.s` receives exactly message s of the channel, as tags do.
 * Processes are separated by ';'.
 */
#ifndef WORLD_H
#define WORLD_H

#include "hark/hydee.h"

/* A search keeps many worlds: a suite with smaller programs may compile with smaller ones. */
#ifndef WORLD_RANKS
#define WORLD_RANKS 8
#endif
#ifndef WORLD_FRAMES
#define WORLD_FRAMES 96
#endif
#ifndef WORLD_ITEMS
#define WORLD_ITEMS 48
#endif
#ifndef WORLD_IMAGES
#define WORLD_IMAGES 4
#endif
enum { WORLD_OPS = 12, WORLD_SSN = 6 };

struct world_op {
    char what; /* S R T W C O, 0 at the end */
    int peer;  /* -1: anyone */
    int ssn;   /* 0: the first there is */
};

struct world_config {
    const struct hark_protocol *protocol; /* of the members */
    const struct hark_protocol *recovery; /* NULL: none */
    const char *script;
    const char *clusters; /* "01.2" : cluster of each rank as a digit, 0 1 ... ; NULL: each alone */
    const char *fails;    /* ranks that may fail, each at most once per letter; 'r' the recovery process */
    bool overlap;         /* the next failure may come before recovery is over */
    bool fifo;            /* frames of one pair arrive in order */
    bool ghosts;          /* check that no re-execution delivers what depends on an unsent message (I7) */
    bool paranoid;              /* every step also on a packed and unpacked copy in the smallest block: same effects, same state */
    bool piecewise;       /* what is sent depends on what was delivered and missed before, in order: shows orphans (I1) */
    bool deep;            /* into depth: little memory, but a violation is not the shortest */
    uint32_t copies;
    const char *(*at_end)(const struct hark *p); /* NULL, or what is wrong with a core when nothing can happen any more */
};

/* A violation in words, or NULL. */
struct world_result {
    uint64_t states, finals;
    int depth;            /* steps of the shortest violation */
    const char *violated; /* NULL: none */
    char path[4096];      /* the steps that led there, a line each */
};

/* Breadth first through every interleaving, at most `limit` states (0: no limit). */
struct world_result world_search(const struct world_config *config, uint64_t limit);
/* One random walk; `path` on violation. */
struct world_result world_walk(const struct world_config *config, uint64_t seed, int walks);

#endif
