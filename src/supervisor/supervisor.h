/* supervisor.h: starts the processes of a job, sees them die, brings back those that must go back,
 * ends. */
#ifndef HARK_SUPERVISOR_SUPERVISOR_H
#define HARK_SUPERVISOR_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>

#include "../agent/code.h"
#include "../control/clusters.h"
#include "hark/hark.h"
#include "hark/store.h"
#include "hark/transport.h"

struct hark_kill { /* for tests: SIGKILL when `rank` has made `at` deliveries */
    uint32_t rank; /* HARK_RECOVERY: when the recovery process has received `at` frames */
    uint64_t at;   /* >= 1, of all incarnations together */
    bool chance;   /* nobody asked for this very one: it may not happen */
};

struct hark_run_program {  /* what some of the ranks run */
    char *const *argv;     /* NULL behind the last */
    const char *file;      /* of the program, looked up in PATH if it has no slash; NULL: argv[0] */
    uint32_t ranks;        /* how many; they are numbered program by program */
    const char *directory; /* their working directory; NULL: ours */
    char *const *environment; /* "NAME=VALUE": what they have beside our environment, or instead of
                                 what is there; NULL behind the last; NULL: nothing */
    bool same_addresses;      /* without address randomization, where the system permits that */
};

struct hark_run_host {
    const char *name; /* as launchers know it */
    uint32_t slots;   /* ranks that it is to run, in the order of hosts; a spare one: 0, or that it
                         can */
    uint32_t rack;    /* any number, the same for those that may die together */
};

struct hark_run_options {
    uint32_t ranks; /* of all programs together */
    const struct hark_protocol *protocol;
    const struct hark_transport_ops *transport;
    struct hark_clusters clusters;
    const struct hark_run_program *program;
    uint32_t programs;     /* from 1 */
    char *const *recovery; /* argv of the recovery process; NULL: this executable with
                              HARK_RECOVERY_ARGUMENT */
    const char *store;     /* directory of checkpoints that outlives the run; NULL: none */
    const char *spill;     /* directory for logs over their limit; NULL: they do not spill */
    const char *trace;     /* file for the trace; NULL: none */
    const char *record;    /* file for what processes sent and took; NULL: none */
    const char *json;      /* file for the figures; NULL: none */
    const char *metrics;  /* where they can be asked for while it runs (address.h); NULL: nowhere */
    uint64_t log_limit;   /* bytes of payload log in memory, a process; 0: none */
    uint64_t interval_ms; /* between checkpoints; 0: none */
    uint64_t mtbf_ms; /* mean time between failures; not 0: interval_ms is the first, the others by
                         Daly's formula */
    uint32_t generations;
    struct hark_config core; /* what the options of the protocol set; nothing else is looked at */
    uint32_t answer_ms; /* so long a process that lives may take to go back, then it is killed; 0:
                           2000 */
    uint64_t grace_ms;  /* so long processes may take to end after a signal, then they are killed */
    uint64_t stall_limit_ms; /* so long nothing may move, then the run ends with status 1; 0: for
                                ever */
    int checkpoint_on; /* a signal on which a checkpoint is taken: hark_sup_signal_number(); 0: none
                        */
    bool then_stop; /* with `checkpoint_on`, and a store: the run ends when it is taken, with status
                       HARK_RUN_AGAIN */
    bool encrypts;  /* what processes on different hosts send each other */
    uint64_t frame_limit;                    /* of a frame, header and payload, bytes; 0: 1 GiB */
    uint64_t option[HARK_TRANSPORT_OPTIONS]; /* the transport's own, see its header; 0: its default
                                              */
    uint32_t journal;    /* which readings of processes are kept for their re-execution:
                            HARK_KEEPS_*; 0: none */
    const char *preload; /* shared libraries that processes load first (LD_PRELOAD); NULL: none */
    bool steady;         /* the readings of `journal` are the same in every run */
    bool resume, digest, verbose;
    bool standby;     /* if another run has the job, waits until that has died; then as resume */
    bool waits;       /* processes wait until their images are durable, and copy none */
    bool incremental; /* images are written without the blocks that older ones have */
    enum hark_compression compression; /* of images */
    bool tag_output;                   /* "[3] " before each line that rank 3 prints */
    /* HARK_ASKS_RECLUSTER needs `traffic` and `better`, and a protocol with HARK_TRAIT_RECLUSTERS.
     */
    bool traffic; /* it is noted which rank sends how many bytes to which: ranks x ranks x 8 bytes
                     of memory at most */
    /* Several hosts need a store that all of them see. */
    const struct hark_run_host *host; /* NULL: all processes run here, without an agent */
    uint32_t hosts;
    /* A directory on each host, on its own disk: images lie there, and copies of each on other
     * hosts. Then the store is for the record of failures, and for some of the images. NULL: images
     * are in the store. */
    const char *host_store;
    uint32_t host_copies; /* so many hosts are to have each image, 1 .. 8 */
    /* Or each image is on one host, and protected by a code over sets of so many hosts. */
    struct hark_code host_code; /* .hosts 0: none */
    uint64_t store_interval_ms; /* so often images go to the store too; 0: never */
    uint32_t spares;            /* so many of them, the last, run nothing until another one dies */
    char *const *launcher; /* words; "%h" in them is the host's name. Without any %h it starts the
                            * agents of all hosts at once. NULL behind the last */
    uint64_t host_timeout_ms; /* so long a host may be silent; then it counts as dead */
    /* So long agents whose supervisor has died wait for one that takes its place, with their
     * processes stopped; 0: they end them when host_timeout_ms is over. */
    uint64_t supervisor_timeout_ms;
    uint64_t launch_ms;    /* so long agents may take to come up */
    const char *interface; /* a name or address of ours, which agents connect to; NULL: all */
    const struct hark_kill *kill; /* any order */
    uint32_t kills;
    /* NULL, or with `traffic` told at the end of a job that ended well what the application of each
     * rank i sent to each rank k, bytes[i * ranks + k]: what was executed again counts again.
     * Returns an object for the JSON, to be freed, or NULL. */
    char *(*advise)(void *self, const uint64_t *bytes, uint32_t ranks);
    /* With HARK_ASKS_RECLUSTER: asked after each decided checkpoint with what was sent lately: are
     * there clusters which are so much better than `now` that they are worth a change? Then
     * of[rank], numbered by lowest rank. */
    bool (*better)(
        void *self, const uint64_t *bytes, uint32_t ranks, const uint32_t *now, uint32_t *of);
    void *self;
};

#define HARK_RUN_AGAIN                                                                             \
    75 /* exit status: stopped behind a checkpoint, to be resumed (EX_TEMPFAIL of sysexits.h) */
#define HARK_RECOVERY_ARGUMENT "--recovery-process"

/* Runs the job to its end. Returns the exit status of `hark run`: 0 done; 1 the program failed,
 * said in one line on stderr; 2 the input (program, store, files) can not be used, said in the same
 * way; HARK_RUN_AGAIN; 128 + n after signal n. Descriptors 0 to 2 must be open. One at a time in a
 * process, whose handlers and mask of signals are as before when it returns. What the options point
 * to must last. Nothing of the job is left when it returns, but the store and the files asked for.
 */
int hark_supervise(const struct hark_run_options *options);

/* The number of a signal, "USR1" or "SIGUSR1", that `checkpoint_on` can be; 0: of none. */
int hark_sup_signal_number(const char *text);

#endif
