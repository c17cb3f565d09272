/* compare.h: the subcommand `hark compare`. */
#ifndef HARK_CLI_COMPARE_H
#define HARK_CLI_COMPARE_H

#include "../view/recording.h"

/* hark compare [--sends] [--json FILE] A B...: compares recordings of `hark run --record`, all with
 * the first. argv[0] is the word `compare`. Returns the exit status: 0 they are the same; 1 they
 * differ; 2 bad usage or input, after one line on stderr. */
int hark_cli_compare(int argc, char **argv);
/* The help text, to stdout. */
void hark_cli_compare_help(void);

/* ---- for its files --------------------------------------------------------------------------- */

struct hark_cli_compared {
    struct hark_recording *recording; /* of the first the others differ, or not */
    struct hark_comparison *with;     /* of recording[i + 1] */
    uint32_t count;                   /* of recordings */
    bool sends_same, deliveries_same; /* in all */
    bool shapes_same;                 /* sends differ in contents at most */
};

/* "deterministic", "send-deterministic" or "neither". */
const char *hark_cli_compared_word(const struct hark_cli_compared *c);
void hark_cli_compared_text(const struct hark_cli_compared *c);
/* 0, or 2 after a line. */
int hark_cli_compared_json(const struct hark_cli_compared *c, const char *path);

#endif
