/* scenario.h: a small program, what may fail, and perhaps one schedule: the text files that `hark
 * check` explores and `hark replay` steps through. The format is described in docs/scenario.md.
 */
#ifndef HARK_CHECK_SCENARIO_H
#define HARK_CHECK_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hark/hark.h"

enum {
    HARK_SCENARIO_RANKS = 16,
    HARK_SCENARIO_TREES = 2,
    HARK_SCENARIO_OPS = 64,   /* of a process, branches included */
    HARK_SCENARIO_SENDS = 64, /* of all processes: each has a bit in the sets of causes */
    HARK_SCENARIO_SSN = 16,   /* messages of a channel */
    HARK_SCENARIO_FAILS = 8,
    HARK_SCENARIO_ERROR = 320
};

enum hark_op_type {
    HARK_OP_END = 0, /* behind the last */
    HARK_OP_SEND,    /* S j    to j, which may be the process itself */
    HARK_OP_RECEIVE, /* R j    from j; R from anyone; R j.s message s of the channel, as tags do */
    HARK_OP_TEST,    /* T j    is there one from j? May miss, and takes it if not */
    HARK_OP_WAIT,    /* W j    completes the T at `to` if that missed, else nothing */
    HARK_OP_CHECKPOINT, /* C */
    HARK_OP_OUTPUT,     /* O      waits until what it shows is stable */
    HARK_OP_IF,        /* T j[   as TEST, and goes on behind it after a hit, at `to` after a miss */
    HARK_OP_ELSE,      /* |      the end of the first part: on to `to` */
    HARK_OP_MULTICAST, /* M      by the root of the tree; B takes it */
    HARK_OP_TAKE,      /* B */
    HARK_OP_CONTRIBUTE, /* A      to a reduction; Q: the root takes the result */
    HARK_OP_RESULT,     /* Q */
    HARK_OP_CALL,       /* c      a checkpoint call at which none is due */
    HARK_OP_TOLD,       /* G      is told the map of clusters of the line regroup */
    HARK_OP_PROBE, /* P j    waits until there is one from j, or (P) from anyone; takes nothing */
    HARK_OP_LOOK   /* L j, L is there one? May miss; takes nothing */
};

static inline bool hark_op_looks(uint8_t type) /* and takes nothing */
{
    return type == HARK_OP_PROBE || type == HARK_OP_LOOK;
}

/* As it stands in files; of IF that of a test. */
char hark_op_letter(uint8_t type);

static inline bool hark_op_is_call(uint8_t type) /* of a checkpoint */
{
    return type == HARK_OP_CHECKPOINT || type == HARK_OP_CALL;
}

/* Where calls are told apart, by a set of bits: the first ones have a bit each, all others share
 * the last. `number` from 0. */
enum { HARK_CALL_BITS = 5 };
static inline uint32_t hark_call_bit(uint32_t number)
{
    return UINT32_C(1) << (number < HARK_CALL_BITS - 1 ? number : HARK_CALL_BITS - 1);
}

struct hark_op {
    uint8_t type;
    int8_t peer; /* a rank; -1: anyone, or none; of M, B, A, Q: 2 for the second tree, else -1 */
    uint8_t ssn; /* RECEIVE, TEST, IF, WAIT, PROBE, LOOK: this message of the channel; 0: the first
                    there is */
    uint8_t to; /* IF, ELSE: index of the operation to go on with; WAIT: of its TEST, whose peer and
                   ssn it has */
    uint16_t column, line; /* where it stands in the file, from 1; 0: made by a program */
};

/* M, B, A, Q: of which tree, from 0. */
static inline uint32_t hark_op_tree(const struct hark_op *op)
{
    return op->peer > 0;
}

/* What may fail, one after the other: each once, at any moment, also a process that has finished.
 */
struct hark_fail {
    int8_t rank;  /* -1: any process; HARK_FAIL_RECOVERY: the recovery process; HARK_FAIL_SERVICE:
                     the failure service, and so all */
    uint8_t when; /* HARK_FAIL_* */
};
enum { HARK_FAIL_RECOVERY = -2, HARK_FAIL_SERVICE = -3 };
enum {
    HARK_FAIL_AFTER = 0, /* not before the recovery from earlier ones is over */
    HARK_FAIL_NESTED,    /* also during recovery from earlier ones */
    HARK_FAIL_DURING,    /* only during that */
    HARK_FAIL_WAVE, /* only while its group is between the begin and the decision of a checkpoint */
    HARK_FAIL_DECIDED, /* only between the decision of a checkpoint and its commit there */
    HARK_FAIL_DAMAGED, /* its newest decided image can not be read any more: an older one is used,
                          if there has to be one */
    HARK_FAIL_STORE,   /* nobody dies, but an image that it was to store is not stored */
    HARK_FAIL_CLUSTER  /* all of its cluster die at once; not before the recovery from earlier ones
                          is over */
};

enum { HARK_CONTENT_PROTOCOL = 0, HARK_CONTENT_FIXED, HARK_CONTENT_HISTORY };

struct hark_scenario {
    char name[64], about[256];
    char protocol[32]; /* empty: none named */
    uint32_t ranks;
    struct hark_op op[HARK_SCENARIO_RANKS][HARK_SCENARIO_OPS + 1];
    uint8_t cluster[HARK_SCENARIO_RANKS]; /* number of each rank's cluster or team, by first
                                             appearance */
    uint8_t next[HARK_SCENARIO_RANKS]; /* the same in the next map, of which G tells; `cluster` if
                                          there is none */
    bool regroups;                     /* there is one */
    int8_t parent[HARK_SCENARIO_TREES][HARK_SCENARIO_RANKS]; /* of the tree of M, B, A, Q, and of M2
                                                              * ...; -1: its root; -2: outside;
                                                              * without a tree: 0 */
    uint8_t trees;                                           /* that are given */
    bool fifo;               /* frames from one process to another arrive in order */
    bool waves_all;          /* HARK_WAVES_ALL, of protocols that take it */
    bool images_copied;      /* HARK_IMAGES_COPIED */
    bool receives_nested;    /* a receive that waits takes a message in the midst of the OFFER that
                                hands it up */
    struct hark_config core; /* what lines of protocols' options set, of whichever protocol; nothing
                                else */
    uint8_t generations;     /* 0: the default */
    uint8_t epoch[HARK_SCENARIO_RANKS]; /* hark_config.epoch of each; 0: the default */
    uint8_t content; /* HARK_CONTENT_*: what messages say depends on the channel and its ssn alone,
                      * or on all that was delivered before; else as the protocol's model has it */
    uint32_t fails;
    struct hark_fail fail[HARK_SCENARIO_FAILS];
    char expect[128]; /* what a search must say: "ok", or how the violation's line begins; empty:
                         nothing */
    /* One schedule: its steps as text, each a line, with the golden transcript of each below it.
     * Owned. */
    struct hark_schedule_line *schedule;
    uint32_t schedule_lines;
};

struct hark_schedule_line {
    uint32_t line;   /* of the file; 0: made by a program */
    bool transcript; /* what the step before must have said */
    char *text;      /* owned */
};

/* Reads `length` bytes of text; `name` is the file's, for messages. 0, or -1 and error:
 * "FILE:LINE:COLUMN: what, expected what"; without memory only FILE and that. On failure the
 * scenario is empty. */
int hark_scenario_parse(struct hark_scenario *s, const char *text, size_t length, const char *name,
    char error[HARK_SCENARIO_ERROR]);
/* The same from a file; "-" is standard input. If it can not be read, or is too large, error names
 * FILE and says why. What has no name gets that of the file, without .hark. */
int hark_scenario_read(struct hark_scenario *s, const char *path, char error[HARK_SCENARIO_ERROR]);
/* The text of a scenario, which parses to the same one (but for lines and columns); the caller
 * frees it. NULL without memory. */
char *hark_scenario_text(const struct hark_scenario *s);
/* The program of a rank, as in its line: "R S1 R". Owned by the caller. NULL: no memory. */
char *hark_scenario_program(const struct hark_scenario *s, uint32_t rank);
/* Adds a line to the schedule, blanks at its ends left out. -1 without memory, and for what is no
 * such line: more than one line, or bytes that are not ASCII; a step that is empty or begins with #
 * or =; a transcript before any step. */
int hark_scenario_add(struct hark_scenario *s, bool transcript, const char *text);
void hark_scenario_free(struct hark_scenario *s);

#endif
