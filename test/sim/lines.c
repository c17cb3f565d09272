/* lines.c: recovery lines of random jobs: test-lines SEED COUNT [MOST]. Each job has 2 to 16 (MOST)
 * processes in clusters of epochs of their own, a pattern, checkpoints, up to 5 failures, of which
 * some overlap the recovery of others, and now and then a dying recovery process. All come to their
 * ends as without failures, and no line leads below the epochs that failed: after each event the
 * core that was stepped says whether its invariants hold (N-11).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/sim.h"

enum { FAILURES = 5 };

static uint64_t state, most = 16;

static uint64_t chance(uint64_t below)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

static struct {
    uint64_t jobs, failures, recoveries, rolled, survivors, ranks, wrong;
} sum;

static void count(const struct sim_result *r, uint32_t ranks)
{
    sum.jobs++;
    for (uint32_t i = 0; i < r->failures; i++) sum.failures += r->failure[i].rank != HARK_RECOVERY;
    for (uint32_t i = 0; i < r->recoveries; i++) {
        sum.recoveries++;
        sum.rolled += r->recovery[i].ranks;
        sum.ranks += ranks;
        sum.survivors += r->recovery[i].ranks > 1;
    }
}

static void one(uint64_t number)
{
    static const char *const names[] = {
        "random", "stencil2d", "ring", "alltoall", "leanmd", "openatom"};
    struct sim_fail fail[FAILURES];
    struct sim_pattern p;
    struct hark_clusters c;
    struct sim_result r = {0};
    char error[SIM_ERROR * 4] = "";
    uint32_t ranks = 2 + (uint32_t)chance(most - 1), iterations = 3 + (uint32_t)chance(10),
             fails = 1 + (uint32_t)chance(FAILURES);
    struct sim_pattern_options from = {.name = names[chance(6)],
        .ranks = ranks,
        .bytes = 1 + chance(2000),
        .degree = 1 + (uint32_t)chance(3),
        .cells = 1 + (uint32_t)chance(2),
        .atoms = 5,
        .away = {1, 1, 1},
        .seed = chance(1000)};
    struct sim_options o = {.protocol = hark_protocol_named("sendet"),
        .pattern = &p,
        .clusters = &c,
        .iterations = iterations,
        .every = 1 + (uint32_t)chance(4),
        .generations = 1 + (uint32_t)chance(3),
        .latency = 1 + chance(3000),
        .overhead = chance(500),
        .gap = chance(200),
        .gap_per_byte = 100,
        .compute = 1 + chance(20000),
        .jitter = chance(60000),
        .checkpoint = 1 + chance(60000),
        .detect = 1 + chance(20000),
        .restart = 1 + chance(60000),
        .service = 1 + chance(3000),
        .seed = chance(1000),
        .fail = fail,
        .fails = fails,
        .ask = 1};
    for (uint32_t i = 0; i < fails; i++)
        fail[i] = (struct sim_fail){(uint32_t)chance(ranks), chance(iterations)};
    if (fails > 1 && chance(5) == 0) fail[0] = (struct sim_fail){HARK_RECOVERY, 1 + chance(40)};
    int status = sim_pattern_open(&p, &from, error);
    if (status == 0) status = hark_clusters_blocks(&c, ranks, 1 + (uint32_t)chance(ranks));
    if (status == 0) status = sim_run(&r, &o, error);
    if (status == 0) count(&r, ranks);
    if (status < 0) {
        sum.wrong++;
        printf("job %" PRIu64 ", %s, %u processes in %u clusters, %u iterations, %u failures: %s\n",
            number, from.name, ranks, c.count, iterations, fails, error);
    }
    sim_result_free(&r);
    hark_clusters_free(&c);
    sim_pattern_close(&p);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1,
             jobs = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
    if (argc > 3) most = strtoull(argv[3], NULL, 10);
    if (most < 2 || most > 1000) return 2;
    for (uint64_t i = 0; i < jobs; i++) {
        state = seed * UINT64_C(1000003) + i;
        one(i);
    }
    printf("%" PRIu64 " jobs, %" PRIu64 " failures, %" PRIu64 " recoveries, %" PRIu64
           " of them with more than one process, %" PRIu64 " of %" PRIu64
           " processes rolled back; %" PRIu64 " wrong\n",
        sum.jobs, sum.failures, sum.recoveries, sum.survivors, sum.rolled, sum.ranks, sum.wrong);
    return sum.wrong || sum.survivors == 0 || sum.rolled >= sum.ranks;
}
