/* ways.h: the options with which a protocol goes another way than by itself, alike for every command that runs one. */
#ifndef HARK_CLI_WAYS_H
#define HARK_CLI_WAYS_H

#include "hark/registry.h"

struct hark_cli_ways {
    const struct hark_protocol *protocol;
    bool exact_gate, team_lost, camel, recluster;
    uint32_t copies; /* of determinants; 0 or 1: as it does by itself */
    uint32_t fan;    /* of the tree of reports; 0: none */
};

/* Has the protocol all of these ways, and do they go together? 0; or 2, having said which does not, and what has it. */
int hark_cli_ways(const char *command, const struct hark_cli_ways *ways);

#endif
