/* check_parts.h: what the files that make up `hark check` know of each other. */
#ifndef HARK_CLI_CHECK_PARTS_H
#define HARK_CLI_CHECK_PARTS_H

#include <stdio.h>

#include "../check/search.h"
#include "output.h"
#include "values.h"

/* Exit statuses. */
enum { CHECK_FINE = 0, CHECK_VIOLATED = 1, CHECK_WRONG = 2, CHECK_NOT_WHOLE = 3 };

struct check_arguments {
    struct search_options search;
    bool own_memory; /* --max-memory was given; else it is a part of what is available */
    uint64_t failures;
    bool own_failures;       /* --failures was given */
    struct hark_config core; /* options of protocols */
    uint64_t jobs;
    uint64_t random, count; /* --random SEED:COUNT */
    const char *out, *json;
    char **file;
    int files;
    const char *stopped_by; /* the signal that has ended a search; NULL: none */
};

#define bad(...) hark_cli_bad("check", __VA_ARGS__)

/* Of two statuses the one that counts: bad usage or input, a violation, not searched whole. */
int check_worse(int a, int b);
/* Options of protocols, as far as the scenario's protocol has them and they go together with what
 * it says itself. */
void check_plant(const struct check_arguments *a, struct hark_scenario *s);

/* check_stop.c: while they are caught, SIGINT and SIGTERM end a search at the next state, in all
 * its processes; a second one ends hark. False: there is no memory for that. */
bool check_stop_open(struct check_arguments *a);
void check_stop_close(struct check_arguments *a);
/* "SIGINT", or NULL: none has come. */
const char *check_stopped_by(const struct check_arguments *a);

/* check_report.c */
struct check_watch { /* a line of progress on a terminal, once a second */
    const char *name;
    double last;   /* seconds */
    uint64_t done; /* at `last` */
};

void check_watch_begin(struct check_watch *w, const char *name);
/* It is time for a line. *rate: of what was done since the last. */
bool check_watch_due(struct check_watch *w, uint64_t done, double *rate);
/* To be options.progress, with a watch as its self. */
void check_progress(void *watch, const struct search_progress *now);
/* The line goes. */
void check_watch_end(void);
void check_size(uint64_t bytes, char text[16]);
/* How much memory will be used, if nobody said how much, on a terminal. */
void check_say_memory(const struct check_arguments *a);
const char *check_verdict(const struct search_result *r);
void check_report(const struct check_arguments *a, const char *name, const char *protocol,
    const struct search_result *r);
/* The limit of memory leaves no room for a first step: said. Returns CHECK_WRONG. */
int check_too_little(
    const struct check_arguments *a, const char *name, const struct search_result *r);
void check_json_row(
    FILE *json, const char *name, const char *protocol, const struct search_result *r, bool *first);
/* The violation as a scenario: what it did, step by step. 0; CHECK_WRONG: said why not. */
int check_write_story(
    const struct check_arguments *a, const struct hark_scenario *s, const struct search_result *r);

/* check_random.c: programs made by chance. Returns the exit status. */
int check_random(const struct check_arguments *a, FILE *json);

#endif
