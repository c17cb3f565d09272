/* sim.h: a discrete-event simulator that runs the protocols' own cores, one for each simulated
 * process, in one process of the operating system. Time is simulated, in ns; the same options come
 * to the same figures, bit for bit.
 */
#ifndef HARK_SIM_SIM_H
#define HARK_SIM_SIM_H

#include "../control/clusters.h"
#include "hark/registry.h"
#include "pattern.h"

struct sim_fail {
    uint32_t rank;      /* HARK_RECOVERY: the recovery process */
    uint64_t iteration; /* it dies in this one, behind its computation, at the first time; of the
                           recovery process: at this control frame */
};

struct sim_options {
    const struct hark_protocol *protocol;
    const struct sim_pattern *pattern;
    const struct hark_clusters *clusters;
    uint32_t iterations;
    uint32_t every; /* each iteration ends with a checkpoint call, and every so many a checkpoint is
                       due; 0: no calls */
    uint32_t generations;    /* checkpoints kept; 0 stands for 2 */
    struct hark_config core; /* what the protocol's options set, and HARK_DIGEST in its flags; no
                                more of it */
    uint64_t latency, overhead, gap, gap_per_byte; /* LogGP's L, o, g in ns, G in ps a byte */
    uint64_t compute, jitter; /* ns an iteration; and up to so many more, by chance */
    uint64_t copy; /* ns: until an image is copied, and its process goes on; 0: it waits until it is
                    * durable */
    uint64_t checkpoint, detect, restart; /* ns: until an image is durable, a death is noticed, a
                                             new incarnation runs */
    uint64_t service;                     /* ns until the failure service has answered */
    uint64_t mtbf;                        /* ns, of the whole job; 0: no failures but `fail` */
    uint64_t seed;
    const struct sim_fail *fail;
    uint32_t fails;
    uint64_t ask; /* every so many events the core that was stepped is asked `violated`; 0: only at
                     the end */
    void (*progress)(void *self, uint64_t messages, uint64_t time); /* NULL, or told now and then */
    void *self;
};

#define SIM_NEVER UINT64_MAX /* no time */

struct sim_failure {
    uint32_t rank;
    uint32_t iteration; /* that it was in; the last one if it had ended. The recovery process is in
                           none. */
    uint64_t at;        /* ns */
};

struct sim_recovery {   /* of one failure, or of several whose recoveries overlap */
    uint32_t re, ranks; /* the last epoch; processes that went back, each as often as it did */
    uint64_t died, announced, restarted, over, caught_up; /* ns; SIM_NEVER: was not */
    uint64_t iterations; /* of all that went back, that were made again */
    uint64_t lost;       /* ns of all that went back, from their images to the loss */
    uint64_t lost_most;  /* of one of them */
    uint64_t frames;     /* control frames */
    uint64_t replayed;   /* messages */
};

struct sim_sample { /* for pictures */
    uint64_t time;
    uint64_t iterations; /* that all processes together have behind them */
    uint64_t log_bytes;
};

struct sim_part_of { /* of multicasts, reductions, or neither: enum sim_part */
    uint64_t messages, logged, logged_bytes;
};

struct sim_result {
    uint64_t messages, bytes; /* posted; a multicast is one to each process that it goes to */
    struct sim_part_of part[SIM_PARTS];
    uint64_t contributions, results; /* to reductions of groups: sent to a parent; by their roots,
                                        so many reductions */
    uint64_t deliveries;
    uint64_t logged, logged_bytes;                      /* of those posted */
    uint64_t log_bytes, log_bytes_peak, log_bytes_most; /* at the end; of all at one time; of one
                                                           process */
    uint64_t determinants_created, determinants_piggybacked, piggyback_bytes;
    uint64_t checkpoints, replayed, suppressed, discarded, diverged;
    uint64_t control, control_bytes, control_most;
    uint32_t control_at; /* the process that got the most */
    uint64_t busiest;    /* control frames that came to one process or left it, the most */
    uint32_t busiest_at;
    uint64_t events, time; /* ns simulated */
    double seconds;        /* of wall time, without making the processes */
    double seconds_made;
    uint64_t memory; /* most bytes of the arena */
    uint64_t digest; /* of all ends */
    struct sim_failure *failure;
    uint32_t failures;
    uint8_t *happened; /* of each `fail` that was asked for: 1 if it did; NULL without memory */
    struct sim_recovery *recovery;
    uint32_t recoveries;
    struct sim_sample *sample;
    uint32_t samples;
    uint64_t wanted; /* messages that the programs deliver without failures */
};

/* 0; or -1 and a line (or several) in error: a stall, a broken invariant, an end that is not the
 * failure-free one; no memory. Either way the result is to be freed. */
int sim_run(struct sim_result *r, const struct sim_options *o, char error[SIM_ERROR * 4]);
void sim_result_free(struct sim_result *r);

struct sim_words { /* what reports say of the options */
    const char *protocol, *pattern;
    uint32_t ranks, clusters;
    const struct sim_options *options;
};
void sim_report(const struct sim_result *r, const struct sim_words *w, FILE *out);
void sim_json(const struct sim_result *r, const struct sim_words *w, FILE *out);
void sim_csv(const struct sim_result *r, const struct sim_words *w, FILE *out);
void sim_plot(const struct sim_result *r, const struct sim_words *w, FILE *out);

#endif
