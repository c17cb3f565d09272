/* every.h: a case of the kill matrix, and what came of it. every.c makes the list of them,
 * every_runs.c runs one. */
#ifndef HARK_TEST_KILL_EVERY_H
#define HARK_TEST_KILL_EVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "run.h"

struct program { /* small, with arguments */
    int ranks;
    const char *clusters;
    const char *argument[2];
    bool by_order; /* what it sends and prints depends on the order of arrivals */
    bool together; /* it is for protocols whose collectives are no messages */
    bool partners; /* it is for clusters that change */
};

struct variant { /* a protocol */
    const char *word[5];
    const char *name;
    bool any_order; /* survives with programs that are by_order, which print what comes by chance */
    bool with_others;  /* others go back with the one that died, whatever was sent */
    bool has_recovery; /* process */
    int groups;        /* collectives are no messages there, 1: all that can, 2: multicasts */
    int at_once; /* ranks that may be lost before it has recovered, if what they send depends on the
                    order; 0: any */
    bool regroups; /* its clusters change */
};

struct kase {
    void (*run)(struct run *r, const struct kase *k);
    const char *kind;
    unsigned number; /* within its kind */
    const struct program *program;
    const struct variant *variant;
    const char *transport;
    char kill[2][24]; /* empty: none */
    char point[64];   /* HARK_POINT, or empty */
    int rank;         /* who is stopped or fenced */
    bool other_way;
    bool long_asleep; /* stop: so long that one that waits would be given up */
    bool always;      /* also in a sample */
    uint64_t seed;
    const char *test; /* a program of tests, instead */
};

struct outcome {  /* in shared memory */
    bool reached; /* its point */
    bool beyond;  /* more was lost at once than the protocol survives, and that was said */
    bool changed; /* its clusters did */
    unsigned cuts;
    long gone_ms;
};
extern struct outcome *every_outcome; /* of the present case */

/* Learns what the undisturbed programs print and how much they deliver. */
void every_prepare(const struct program *program, size_t count);
unsigned every_deliveries(const struct program *p, const struct variant *v, int rank);
/* The command of a case, for a shell. */
void every_show(const struct kase *k, char text[1200]);

void every_kill(struct run *r, const struct kase *k);       /* planned kills */
void every_point(struct run *r, const struct kase *k);      /* at a point of a process; all but the
                                                               supervisor */
void every_supervisor(struct run *r, const struct kase *k); /* the supervisor, at a point or (none)
                                                               at a moment of `seed` */
void every_stop(struct run *r, const struct kase *k);       /* stopped while another one dies */
void every_fence(struct run *r, const struct kase *k);      /* an earlier incarnation lives on */
void every_cut(struct run *r, const struct kase *k);        /* TCP through a relay */
void every_test(struct run *r, const struct kase *k);

#endif
