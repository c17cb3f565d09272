/* search.h: every interleaving of a scenario, breadth first, so that what it finds wrong is
 * shortest.
 *
 * States are kept whole, as rows of numbers (job.h, states.h), so that two are equal only if they
 * are: there is no chance of a collision. A state's row, its predecessor and the step from there
 * stay until the end: the way to a violation is read off them.
 */
#ifndef HARK_CHECK_SEARCH_H
#define HARK_CHECK_SEARCH_H

#include "describe.h"

enum search_verdict {
    SEARCH_OK = 0,
    SEARCH_VIOLATED,   /* `violated`, and the path to it */
    SEARCH_UNFINISHED, /* the program itself can not finish, without failures, and without protocol
                          if it can do without: no fault of a protocol; with path, and see `needs`
                        */
    SEARCH_LIMIT,      /* nothing wrong as far as it got, and it was not searched whole: `limit` */
    SEARCH_FAILED      /* a limit of this program, or not even the first state has room: `why` */
};

/* What has ended a search before it was whole. */
enum search_limit {
    SEARCH_NO_LIMIT = 0,
    SEARCH_STATES,
    SEARCH_MEMORY,
    SEARCH_STOPPED,
    SEARCH_NO_MEMORY
};

/* What the program is, seen in all its executions without failures (Definition 3 of HydEE and
 * section 2 of the papers): whatever is sent when is the same in all; and, of RSD, also the set of
 * messages delivered before each send; and, of deterministic ones, every delivery. */
enum search_class { SEARCH_OTHER = 0, SEARCH_SD, SEARCH_RSD, SEARCH_DETERMINISTIC };

/* Everything; or of steps that commute one order (reduce.h); or both, one after the other, and are
 * their ends the same? */
enum search_reduce { SEARCH_WHOLE = 0, SEARCH_REDUCED, SEARCH_COMPARED };

struct search_progress {
    uint64_t done, waiting; /* states that were met, and of them those that nothing was tried in
                               yet; or walks, and those to come */
    uint64_t bytes;         /* memory */
    uint32_t depth;
    bool walks;
};

struct search_options {
    const char *protocol;             /* NULL: what the scenario names */
    uint64_t most_states, most_bytes; /* 0: no limit */
    uint64_t walks, seed; /* instead of a search so many walks, each step chosen at random, each to
                             its end */
    bool atomic; /* control frames, announcements and stores happen at once, in one order: far fewer
                    states */
    enum search_reduce reduce; /* not with `atomic` or `walks` */
    uint32_t jobs;             /* threads, or for walks processes; 0 is one */
    const _Atomic int *stop; /* NULL, or from when on this is not 0 it ends soon: SEARCH_STOPPED */
    /* NULL, or called often, by one thread or process of those that search. */
    void (*progress)(void *self, const struct search_progress *now);
    void *self;
};

struct search_result {
    enum search_verdict verdict;
    uint64_t states, transitions, finals; /* finals: states in which only failures can still happen;
                                             of walks `states` is 0 */
    uint64_t whole; /* SEARCH_COMPARED: states of the search of everything; the other figures are of
                       the reduced one */
    uint64_t outcomes;       /* different ones of the program without failures: what everybody has
                                delivered and sent */
    enum search_class class; /* of the program */
    uint32_t depth;          /* of the deepest state, or of the violation, in steps */
    uint64_t bytes;          /* memory for all of it */
    enum search_limit limit; /* of SEARCH_LIMIT */
    bool alone;              /* LIMIT: it is of the program alone, without failures */
    uint64_t least; /* FAILED, not 0: `most_bytes` is less than this, which it takes before its
                       first step */
    uint64_t made, looked_up; /* steps of cores that were made, and that were known */
    double seconds;
    uint16_t violated;
    char why[HARK_SCENARIO_ERROR];
    bool needs;   /* UNFINISHED: the program needs its protocol to run at all: it reduces */
    uint32_t due; /* UNFINISHED: the checkpoint calls at which a checkpoint was due, a bit each from
                     everybody's first */
    struct job_step *path; /* owned; free(). NULL, of a violation: it was to be searched for again,
                              and a limit was reached first */
    uint32_t path_length;
};

/* Only the first half of search(): the program without protocol and failures. OK: its class, and
 * its outcomes, which are added to *outcomes, empty at first; intern_free(outcomes) in any case. */
struct search_result search_classify(
    const struct hark_scenario *s, const struct search_options *options, struct intern *outcomes);
/* The second half: `alone` and `outcomes` are what the first came to. */
struct search_result search_classified(const struct hark_scenario *s,
    const struct search_options *options, const struct search_result *alone,
    struct intern *outcomes);
/* Explores the scenario: first without protocol and failures, for what it may come to, then with
 * them. */
struct search_result search(const struct hark_scenario *s, const struct search_options *options);
/* Adds the path of a result, every step of it in words and with its transcript, to the schedule of
 * *story, which begins as a copy of the scenario without one. -1: no memory. */
int search_story(const struct hark_scenario *s, const struct search_options *options,
    const struct search_result *result, struct hark_scenario *story);

#endif
