/* story.c: the way to a violation as a schedule, every step of it in words and with its transcript.
 */
#include "search_parts.h"

#include <stdio.h>
#include <string.h>

static int tell(struct lab *lab, struct job *job, struct job_step step, struct hark_scenario *story,
    uint16_t *violated)
{
    char text[DESCRIBE_BYTES], transcript[TRANSCRIPT_BYTES];
    describe_step(lab, job, step, text);
    *violated = describe_take(lab, job, step, transcript);
    return hark_scenario_add(story, false, text) < 0 ||
                   hark_scenario_add(story, true, transcript) < 0
               ? -1
               : 0;
}

int search_story(const struct hark_scenario *s, const struct search_options *options,
    const struct search_result *result, struct hark_scenario *story)
{
    char error[HARK_SCENARIO_ERROR];
    const bool unfinished = result->verdict == SEARCH_UNFINISHED,
               itself = unfinished && result->needs;
    const char *protocol =
        unfinished && !itself ? hark_protocol_for(HARK_FOR_NOTHING)->name : options->protocol;
    struct lab lab;
    struct job job;
    struct job_step next;
    uint16_t violated = 0;
    if (itself) (void)search_due_only(s, result->due, story);
    else *story = *s;
    story->schedule = NULL;
    story->schedule_lines = 0;
    if (protocol) snprintf(story->protocol, sizeof story->protocol, "%s", protocol);
    struct hark_scenario now = *story; /* the schedule grows in the other */
    now.fifo |= unfinished;
    story->fifo = itself ? false : now.fifo; /* what the protocol itself runs may come otherwise
                                                than in the order of its sender */
    if (lab_open(&lab, &now, protocol, error) < 0) return -1;
    lab.by_channel = itself;
    job_first(&lab, &job);
    int status = 0;
    for (uint32_t k = 0; k < result->path_length && status == 0 && !violated && !lab.failed; k++) {
        status = tell(&lab, &job, result->path[k], story, &violated);
        while (status == 0 && options->atomic && !violated && !lab.failed &&
               job_at_once(&lab, &job, &next))
            status = tell(&lab, &job, next, story, &violated);
    }
    if (lab.failed) status = -1;
    lab_close(&lab);
    return status;
}
