/* scenario_parts.h: what the parts of the parser share. */
#ifndef HARK_CHECK_SCENARIO_PARTS_H
#define HARK_CHECK_SCENARIO_PARTS_H

#include "scenario.h"

enum { HARK_SCENARIO_KEYWORDS = 64 }; /* those of protocols' options among them */
enum { HARK_OP_BARRIER = 255 /* =, until hark_scenario_check has written it out */ };

struct hark_scenario_place {
    uint32_t line, column; /* from 1; 0: nowhere */
};

struct hark_scenario_reader {
    struct hark_scenario *s;
    const char *name;
    char *error;
    const char *begin, *at, *end; /* the present line, what is read next, and behind its last
                                     character */
    uint32_t line;
    uint32_t first[HARK_SCENARIO_KEYWORDS];                  /* line of each keyword, 0: not met */
    struct hark_scenario_place program[HARK_SCENARIO_RANKS]; /* the first pN: line of each rank */
    uint32_t ops[HARK_SCENARIO_RANKS];
    uint8_t part[HARK_SCENARIO_RANKS]; /* of a branch that is being read: 1, 2; 0: none */
    uint8_t fork[HARK_SCENARIO_RANKS]; /* index of its IF, then of its ELSE */
    struct hark_scenario_place clusters, regroup, epochs, tree[HARK_SCENARIO_TREES],
        cluster[HARK_SCENARIO_RANKS], next[HARK_SCENARIO_RANKS], fail[HARK_SCENARIO_FAILS];
    uint32_t tree_length[HARK_SCENARIO_TREES], epochs_length;
};

/* Writes "FILE:LINE:COLUMN: " and the message; always -1. */
int hark_scenario_wrong(struct hark_scenario_reader *r, struct hark_scenario_place at,
    const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Adds an operation to the program of a rank, if there is room; else -1 and the error. */
int hark_scenario_op(struct hark_scenario_reader *r, uint32_t rank, struct hark_op op);
/* All that no line alone can show: that ranks are there, branches closed, tests completed, limits
 * kept. Writes out barriers. */
int hark_scenario_check(struct hark_scenario_reader *r);
/* hark_scenario_add of n bytes. */
int hark_scenario_line(struct hark_scenario *s, bool transcript, const char *text, size_t n);
/* Letter of each type of operation. */
extern const char hark_op_letters[];

#endif
