/* job_parts.h: what the files that job.h stands for know of each other. */
#ifndef HARK_CHECK_JOB_PARTS_H
#define HARK_CHECK_JOB_PARTS_H

#include "job.h"

/* job.c */
void job_service_set(struct lab *lab, struct job *job, const struct service *s);
/* What is on its way to `who` and nobody will take is lost. */
void job_net_clean(struct lab *lab, struct job *job, uint32_t who);

/* job_failure.c */
/* Are they of one cluster, by the map that is in force? */
bool job_mates(const struct lab *lab, const struct service *s, uint32_t a, uint32_t b);
/* The lowest rank whose checkpoints are one with those of `rank`. */
uint32_t job_leader(const struct lab *lab, const struct service *s, uint32_t rank);
uint8_t job_generations(const struct lab *lab);
/* Calls 1 .. id, a bit each. */
uint64_t job_calls_to(uint64_t id);
/* The image that a process goes back to: the decided one or, if that is damaged, the one before; 0: the beginning. */
uint64_t job_restart_point(struct lab *lab, const struct job *job, uint32_t who);
/* The failures that may happen now; how many. */
uint32_t job_failures(struct lab *lab, const struct job *job, struct job_step *step);
/* The epoch is the next one, and everybody is told of it as of *s. */
void job_announce(struct lab *lab, struct job *job, struct service *s);
/* A process goes back. */
void job_go_back(struct service *s, uint32_t rank);
/* The process is gone, and the incarnations of all that go back with it are raised. */
void job_crash(struct lab *lab, struct job *job, uint32_t who, bool damaged);

#endif
