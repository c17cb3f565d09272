/* janitor.h: who cleans up when the supervisor, or an agent, can not.
 *
 * A process of its own session that sleeps at the end of a pipe. If the supervisor ends without
 * having dismissed it, it kills what the supervisor had started, writes what is known of the trace,
 * sweeps the transport's leftovers and removes the job's directories.
 */
#ifndef HARK_AGENT_JANITOR_H
#define HARK_AGENT_JANITOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hark_janitor {
    int pipe; /* to the janitor */
    pid_t pid;
    uint64_t lease; /* the last one */
};

struct hark_janitor_job {
    const char *name;      /* of the job */
    const char *directory; /* of the job, absolute: removed with all that is in it */
    const char *spill;     /* the same, of its spilled logs; NULL: none */
    const char *trace;     /* absolute: file for the trace whose parts are `trace-*` in `directory`;
                              NULL: none */
    void (*sweep)(const char *job, const char *directory); /* the transport's */
    int lock;           /* a descriptor to hold until all is clean, or -1 */
    const char *socket; /* absolute: a UNIX socket elsewhere, removed unless somebody listens at it;
                           NULL: none */
};

/* Starts it; to be called before there are threads. 0, or -1 with errno. */
int hark_janitor_start(struct hark_janitor *j, const struct hark_janitor_job *job);
/* A process was started, and has been reaped. */
void hark_janitor_born(struct hark_janitor *j, pid_t pid);
void hark_janitor_dead(struct hark_janitor *j, pid_t pid);
/* Until `end` (CLOCK_BOOTTIME, ns) only; then it kills them and cleans up, and ends whoever started
 * it: for one that is itself stopped, or has no time. Later ends replace earlier ones. */
void hark_janitor_lease(struct hark_janitor *j, uint64_t end);
/* True once, when it has died: another one has to be told all that it knew. */
bool hark_janitor_died(struct hark_janitor *j);
/* All is clean: it ends. Returns when it has. */
void hark_janitor_dismiss(struct hark_janitor *j);

/* Removes a UNIX socket that nobody listens at; false: there is none. */
bool hark_remove_dead_socket(const char *path);
/* Removes a directory with all that is in it; what can not be removed stays. */
void hark_remove_tree(const char *path);

#endif
