/* pattern.h: who sends what to whom: the programs of all processes, made on the fly.
 *
 * A program is a loop: a computation, the operations of an iteration, and now and then a checkpoint
 * call. Its operations are a function of (pattern, rank, iteration, place), where a place is a
 * number that the pattern alone understands, so that nothing is kept for each process but where it
 * is. Messages of multicasts and reductions run along trees and are marked as such; with `groups` a
 * multicast is one operation of the root, and one of each that takes it from the root, and a
 * reduction one of each that contributes, and one of the root, which takes the result from itself.
 * All receives name their sender.
 */
#ifndef HARK_SIM_PATTERN_H
#define HARK_SIM_PATTERN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "hark/cluster.h"

enum { SIM_ERROR = 512 }; /* bytes of a message, its NUL included */

/* To a group: SIM_CAST from its root to all, SIM_CONTRIBUTE to a reduction. */
enum sim_kind { SIM_NOTHING = 0, SIM_SEND, SIM_CAST, SIM_CONTRIBUTE, SIM_RECEIVE, SIM_END };
enum sim_part { SIM_POINT = 0, SIM_MULTICAST, SIM_REDUCTION, SIM_PARTS }; /* what it is a part of */

struct sim_op {
    uint8_t kind, part;
    uint16_t ctx;   /* of the group it is sent to; 0: to `peer` */
    uint32_t peer;  /* SIM_CAST: processes that it goes to; SIM_CONTRIBUTE: 0 of the root, else 1 */
    uint32_t group; /* of a multicast or reduction: which one */
    uint64_t length; /* bytes */
};

/* Options that some of them have use for. */
enum sim_taken {
    SIM_BYTES = 1,
    SIM_DEGREE = 2,
    SIM_CELLS = 4,
    SIM_ATOMS = 8,
    SIM_AWAY = 16,
    SIM_BRANCHES = 32,
    SIM_PLANES = 64,
    SIM_MESSAGES = 128
};

struct sim_pattern_options {
    const char *name;      /* of a generator, or a file: *.mtx, *.mtx.gz, or a trace of hark run */
    const char *path;      /* NULL: where the file of that name is read is for sim_pattern_open() to
                              say */
    const char *messages;  /* a matrix of counts of messages; NULL: one for each entry */
    uint32_t ranks;        /* 0: as many as the matrix or the trace has */
    uint64_t bytes;        /* of a message of the generators */
    uint32_t degree;       /* random: messages that each process sends in an iteration */
    uint32_t cells, atoms; /* leanmd: cells on each side, atoms in each; openatom: cells is the size
                              of a group */
    uint32_t away[3];      /* leanmd: how far pairs of cells are apart at most, in x, y and z */
    uint32_t branches;     /* of trees: children that each has at most; 0: binomial trees */
    uint32_t planes;       /* nas-lu: of each sweep */
    uint32_t given;        /* SIM_BYTES, ...: those that were asked for */
    uint64_t seed;
};

struct sim_pattern {
    const struct sim_maker *maker;
    uint32_t ranks;
    uint64_t bytes;
    uint64_t seed;
    uint32_t size[3]; /* of a grid */
    uint32_t degree; /* places of an iteration, or another number that the pattern alone understands
                      */
    uint32_t levels; /* of a grid; of trees the most children that one has */
    uint32_t branches;                     /* of trees, 0: binomial */
    uint32_t away[3], room;                /* leanmd: room for the slots of a tree in in_slot */
    struct hark_matrix sends, counts;      /* by sender */
    struct hark_matrix receives, receipts; /* the same by receiver */
    bool counted;                          /* there is a matrix of counts */
    uint32_t rounds;
    uint64_t *first;         /* of each rank in `member` or `recorded`, and one more */
    struct sim_op *recorded; /* trace: operations, by rank */
    uint64_t *member;        /* tree << 8 | slot: what a rank is in trees */
    uint32_t *in_slot;       /* ranks of each tree */
    uint8_t *slots;          /* of each tree, how many are taken */
    uint64_t contexts;       /* that groups need; 0: one will do */
    uint64_t casts;          /* those up to here are of multicasts, those behind of reductions */
    bool groups;             /* multicasts are of groups, not along trees of messages */
    bool reduces;            /* and reductions */
};

struct sim_maker { /* a line for each generator, in pattern.c */
    const char *name;
    uint32_t takes;      /* enum sim_taken */
    const char *formula; /* in words, for help */
    /* Looks at the number of ranks and makes what is needed. -1: error says what was expected. */
    int (*make)(struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR]);
    /* The operation at `place`; returns the place behind it. SIM_END when there is none. */
    uint64_t (*op)(const struct sim_pattern *p, uint32_t rank, uint32_t iteration, uint64_t place,
        struct sim_op *op);
    /* NULL, or the number-th group of `rank`: its members, the root first, `room` of them at most
     * go to *member. Returns how many there are, 0 behind the last. Of two with a member in common
     * the ctx differs; those of a rank ascend. */
    uint32_t (*group)(const struct sim_pattern *p, uint32_t rank, uint32_t number, uint16_t *ctx,
        uint32_t *member, uint32_t room);
};

/* 0, or -1 and one line. */
int sim_pattern_open(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR]);
void sim_pattern_close(struct sim_pattern *p);
/* The bit of `given` for an option of this name; 0: patterns have none. */
uint32_t sim_pattern_option(const char *name);
/* A line for each generator: name and formula. */
void sim_pattern_list(FILE *out);

/* One iteration's bytes, or messages, as a matrix. 0, or -1: errno. */
int sim_pattern_write(const struct sim_pattern *p, bool messages, FILE *out);
/* Its bytes as JSON: [[from, to, bytes], ...]. 0, or -1 without memory: then some are missing. */
int sim_pattern_json(const struct sim_pattern *p, FILE *out);

static inline uint64_t sim_pattern_op(const struct sim_pattern *p, uint32_t rank,
    uint32_t iteration, uint64_t place, struct sim_op *op)
{
    return p->maker->op(p, rank, iteration, place, op);
}

/* For the files of this folder: the generators. */
int sim_grid_make2(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR]);
int sim_grid_make3(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR]);
uint64_t sim_stencil2(const struct sim_pattern *p, uint32_t rank, uint32_t iteration,
    uint64_t place, struct sim_op *op);
uint64_t sim_stencil3(const struct sim_pattern *p, uint32_t rank, uint32_t iteration,
    uint64_t place, struct sim_op *op);
int sim_any_make(struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR]);
uint64_t sim_ring(const struct sim_pattern *p, uint32_t rank, uint32_t iteration, uint64_t place,
    struct sim_op *op);
uint64_t sim_alltoall(const struct sim_pattern *p, uint32_t rank, uint32_t iteration,
    uint64_t place, struct sim_op *op);
uint64_t sim_random(const struct sim_pattern *p, uint32_t rank, uint32_t iteration, uint64_t place,
    struct sim_op *op);
int sim_square_make(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR]);
int sim_two_make(struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR]);
int sim_two3_make(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR]);
uint64_t sim_nas_cg(const struct sim_pattern *p, uint32_t rank, uint32_t iteration, uint64_t place,
    struct sim_op *op);
uint64_t sim_nas_bt(const struct sim_pattern *p, uint32_t rank, uint32_t iteration, uint64_t place,
    struct sim_op *op);
uint64_t sim_nas_lu(const struct sim_pattern *p, uint32_t rank, uint32_t iteration, uint64_t place,
    struct sim_op *op);
uint64_t sim_nas_mg(const struct sim_pattern *p, uint32_t rank, uint32_t iteration, uint64_t place,
    struct sim_op *op);
int sim_leanmd_make(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR]);
int sim_openatom_make(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR]);
uint32_t sim_leanmd_group(const struct sim_pattern *p, uint32_t rank, uint32_t number,
    uint16_t *ctx, uint32_t *member, uint32_t room);
uint32_t sim_openatom_group(const struct sim_pattern *p, uint32_t rank, uint32_t number,
    uint16_t *ctx, uint32_t *member, uint32_t room);
uint64_t sim_leanmd(const struct sim_pattern *p, uint32_t rank, uint32_t iteration, uint64_t place,
    struct sim_op *op);
uint64_t sim_openatom(const struct sim_pattern *p, uint32_t rank, uint32_t iteration,
    uint64_t place, struct sim_op *op);
int sim_matrix_make(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR]);
uint64_t sim_matrix_op(const struct sim_pattern *p, uint32_t rank, uint32_t iteration,
    uint64_t place, struct sim_op *op);
bool sim_trace_is(const char *path); /* Does the file begin as a trace? */
int sim_trace_make(
    struct sim_pattern *p, const struct sim_pattern_options *o, char error[SIM_ERROR]);
uint64_t sim_trace_op(const struct sim_pattern *p, uint32_t rank, uint32_t iteration,
    uint64_t place, struct sim_op *op);

#endif
