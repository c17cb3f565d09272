/* status.h: how a job stands: what `hark ps` asks, and what it is told.
 *
 * The supervisor listens at the UNIX socket `status` in the job's directory. Who connects sends
 * ASK, gets STATUS, and the connection ends. Messages are as in ../control/control.h:
 *
 *     ASK     version u32, processes u32: 1 if these are wanted too
 *     STATUS  version u32; then, if it is the version that was asked for, the fields of struct
 *             hark_status in their order, a count before the hosts and before the processes
 *
 * Numbers of unknown things are UINT32_MAX, times UINT64_MAX.
 */
#ifndef HARK_SUPERVISOR_STATUS_H
#define HARK_SUPERVISOR_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "../control/control.h"

#define HARK_STATUS_VERSION  1u
#define HARK_STATUS_SOCKET   "status" /* in the directory of the job */
#define HARK_STATUS_UNKNOWN  UINT64_MAX
#define HARK_STATUS_NO_HOST  UINT32_MAX /* ours */
#define HARK_STATUS_RECOVERY UINT32_MAX /* the rank of the recovery process */

enum hark_status_message { HARK_STATUS_ASK = 96, HARK_STATUS_STATUS };

enum hark_job_state {
    HARK_JOB_STARTING, /* agents of hosts are coming up */
    HARK_JOB_RUNNING,
    HARK_JOB_FINISHING, /* all processes have finished; what they printed may be on its way */
    HARK_JOB_ENDING,    /* it has failed, or was told to end */
    HARK_JOB_STATES
};

enum hark_process_state {
    HARK_PROCESS_STARTING, /* it has not called hark_init yet */
    HARK_PROCESS_RUNNING,
    HARK_PROCESS_WAITING,    /* in a call of hark */
    HARK_PROCESS_RECOVERING, /* dead or told to go back, until its recovery is over */
    HARK_PROCESS_FINISHED,   /* it has called hark_finalize */
    HARK_PROCESS_ENDED,      /* with a job that ends, unfinished */
    HARK_PROCESS_STATES
};

enum hark_host_state {
    HARK_HOST_STARTING, /* its agent is coming up */
    HARK_HOST_READY,
    HARK_HOST_SPARE, /* ready, and runs nothing until another one dies */
    HARK_HOST_DEAD,
    HARK_HOST_STATES
};

struct hark_status_host {
    const char *name;
    uint32_t state, processes;
    uint64_t silent_ns; /* since it was last heard of */
};

struct hark_status_process {
    uint32_t rank, host; /* its number among the hosts */
    uint32_t state, inc;
    uint32_t restarts; /* how often it went back in this run */
    uint64_t deliveries, messages, bytes, log_bytes;
    uint64_t checkpoint; /* the last one that was decided; 0: none */
    uint64_t age_ns;     /* of that; unknown where an earlier run has taken it */
};

struct hark_job_status {
    const char *job;
    uint32_t pid; /* of its hark run */
    uint32_t state;
    const char *program, *protocol, *transport;
    const char *store; /* empty: none is kept */
    uint32_t ranks, failures, recoveries;
    uint64_t elapsed_ns;
    uint64_t age_ns; /* of the last checkpoint of any process */
    struct hark_status_host *host;
    uint32_t hosts; /* 0: all processes run here, without an agent */
    struct hark_status_process *process;
    uint32_t processes; /* the ranks, and behind them the recovery process if there is one; 0: they
                           were not asked for */
    void *texts;        /* of one that was read: memory of its texts */
};

/* The words for the states above, as `hark ps` and metrics have them. */
const char *hark_job_state_name(uint32_t state);
const char *hark_process_state_name(uint32_t state);
const char *hark_host_state_name(uint32_t state);

void hark_status_put_ask(struct hark_control *m, bool processes);
void hark_status_put(struct hark_control *m, const struct hark_job_status *status);

enum hark_status_read { HARK_STATUS_OK, HARK_STATUS_BAD, HARK_STATUS_OTHER, HARK_STATUS_NO_MEMORY };
/* Reads a whole message. HARK_STATUS_OTHER: it is of another version of hark. What it has read is
 * freed by hark_status_free() in any case. */
enum hark_status_read hark_status_get(struct hark_control *m, struct hark_job_status *status);
/* Of one that was read, or of which hosts and processes are of malloc. */
void hark_status_free(struct hark_job_status *status);

#endif
