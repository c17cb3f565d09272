/* advice.h: at the end of a run, who should have been together. */
#ifndef HARK_CLI_ADVICE_H
#define HARK_CLI_ADVICE_H

#include <stdbool.h>

#include "../control/clusters.h"

struct hark_cli_advice {
    const struct hark_clusters *used; /* in the run; NULL: clusters are not asked for */
    const char *store;                /* NULL, or the directory that gets clusters.txt */
    const char *matrix;               /* NULL, or the file for what ranks sent each other */
    bool failed; /* afterwards: that could not be written, which has been said */
};

/* As advise in struct hark_run_options; self: the above. Says one line on stderr. */
char *hark_cli_advise(void *self, const uint64_t *bytes, uint32_t ranks);

/* As `better` in struct hark_run_options, self: not looked at. Better is what costs less than nine
 * tenths of the present clusters. */
bool hark_cli_better(
    void *self, const uint64_t *bytes, uint32_t ranks, const uint32_t *now, uint32_t *of);

#endif
