/* The fake network under the conformance suite, with delays and reordering on. */
#include <string.h>

#include "conformance.h"
#include "hark/fake.h"

/* A network for each job, of the newest few. */
static struct {
    char job[48];
    struct hark_fake *network;
} jobs[8];
static size_t used;

static void end(void)
{
    while (used > 0) hark_fake_free(jobs[--used].network);
}

static void configure(struct hark_transport_config *config)
{
    static uint64_t seed;
    size_t i = 0;
    while (i < used && strcmp(jobs[i].job, config->job) != 0) i++;
    if (i == used) {
        seed++;
        jobs[used].network = hark_fake_new(&(struct hark_fake_config){
            .seed = seed, .delay = 7, .reorder = seed % 2, .drop = 20, .ghosts = 500});
        strcpy(jobs[used++].job, config->job);
    }
    hark_fake_join(jobs[i].network, config);
}

const struct conformance_transport conformance_subject = {.name = "fake",
    .ops = &hark_fake_transport,
    .ghosts = true,
    .end = end,
    .configure = configure};
