/* job_parts.h: what the files that job.h stands for know of each other. */
#ifndef HARK_CHECK_JOB_PARTS_H
#define HARK_CHECK_JOB_PARTS_H

#include "job.h"

/* job_net.c */
/* The list of frames that `part` is; how many. */
uint32_t job_net_read(const struct lab *lab, uint32_t part, uint32_t list[LOCAL_FRAMES]);
void job_net_add(struct lab *lab, struct job *job, uint32_t who, uint32_t frame);
void job_net_remove(struct lab *lab, struct job *job, uint32_t who, uint32_t index);
/* Nobody will ever take it: it is for an incarnation that is gone. Transports drop such frames. */
bool job_net_loses(struct lab *lab, const struct job *job, uint32_t who, const struct frame *f);
/* All such frames on their way to `who` are dropped. */
void job_net_clean(struct lab *lab, struct job *job, uint32_t who);

/* job_service.c */
void job_service_set(struct lab *lab, struct job *job, const struct service *s);
uint8_t job_generations(const struct lab *lab);
struct hark_service_event;
struct service_outcome {
    bool ok, announce; /* a fact is durable; everybody is to be told of the service as it is */
    bool lost;         /* no image that is needed is whole */
    uint32_t back;     /* ranks that go back, a bit each */
};
void job_service_first(struct lab *lab, struct job *job);
/* The event, and all that comes of it at once: *s is the service then, and the job's. */
struct service_outcome job_service_event(
    struct lab *lab, struct job *job, struct service *s, const struct hark_service_event *event);

/* job_failure.c */
/* Are they of one cluster, by the map that is in force? */
bool job_mates(const struct lab *lab, const struct service *s, uint32_t a, uint32_t b);
/* The image that a process goes back to: the decided one or, if that is damaged, the one before; 0:
 * the beginning. */
uint64_t job_restart_point(struct lab *lab, const struct job *job, uint32_t who);
/* The failures that may happen now; how many. */
uint32_t job_failures(struct lab *lab, const struct job *job, struct job_step *step);
/* Everybody is told of the service as it is, in a new epoch. */
void job_announce(struct lab *lab, struct job *job, struct service *s);
/* These processes are gone, a bit each; the recovery process is the last. The number of the
 * violation that this is, or 0. */
uint16_t job_crash(struct lab *lab, struct job *job, uint32_t dead);
/* A new failure service goes on from the record of one that is gone; nobody lives. The same. */
uint16_t job_resume(struct lab *lab, struct job *job);

#endif
