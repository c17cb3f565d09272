/* describe.h: steps and what comes of them, as people read them; and back. */
#ifndef HARK_CHECK_DESCRIBE_H
#define HARK_CHECK_DESCRIBE_H

#include "job.h"

enum { DESCRIBE_BYTES = 160, TRANSCRIPT_BYTES = 1024 };

/* The step in words; of the steps that are possible in a state no two have the same:
 *   p0 S2 · p1 R from p0 · p1 gets APP 1 from p0 · recovery gets REPORT from p2 ·
 *   p1 stored 1 · p0 answered · p1 told 2 · p2 idle · p1 restarts · p1 fails */
void describe_step(
    struct lab *lab, const struct job *job, struct job_step step, char text[DESCRIBE_BYTES]);
/* Nothing can happen any more: where those are that have not ended: "p0 at R1, p2 at C". */
void describe_waits(struct lab *lab, const struct job *job, char text[DESCRIBE_BYTES]);
/* The possible step that is described so. False: there is none now. */
bool describe_find(struct lab *lab, const struct job *job, const char *text, struct job_step *step);
/* The step happens, and *transcript says what the cores did: its effects in order, one line. As
 * job_take(). */
uint16_t describe_take(
    struct lab *lab, struct job *job, struct job_step step, char transcript[TRANSCRIPT_BYTES]);

#endif
