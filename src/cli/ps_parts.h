/* ps_parts.h: what the files that make up `hark ps` know of each other. */
#ifndef HARK_CLI_PS_PARTS_H
#define HARK_CLI_PS_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../supervisor/status.h"

#define PS_PATIENCE_MS 2000 /* so long all supervisors together may take to answer */

enum ps_answer {
    PS_SILENT,   /* none within PS_PATIENCE_MS */
    PS_ANSWERED, /* `status` */
    PS_OTHER,    /* of another version of hark */
    PS_GONE,     /* nobody listens: the job has ended */
    PS_FAILED    /* here: no memory, or no descriptors */
};

struct ps_job {
    char name[80]; /* of its directory; that of a job that was resumed may be another */
    uint32_t pid;  /* of its hark run, by that name */
    int directory; /* descriptor; -1: none */
    enum ps_answer answer;
    struct hark_job_status status;
};

struct ps_jobs {
    struct ps_job *job;
    uint32_t count;
};

/* ps_find.c */
/* The directories of this user's jobs on this host, dead ones among them. False: no memory. */
bool ps_find(struct ps_jobs *jobs);
void ps_free(struct ps_jobs *jobs);
/* How well a job is meant by a word: 2 exactly, 1 by a beginning of its name, 0 not. */
int ps_matches(const struct ps_job *j, const char *word);
const char *ps_name(const struct ps_job *j);

/* ps_ask.c: asks them all at once, and returns when all have answered, when the one has that `only`
 * means exactly (NULL: none), or after PS_PATIENCE_MS. */
void ps_ask(struct ps_jobs *jobs, bool processes, const char *only);

/* ps_show.c */
void ps_show_jobs(FILE *f, const struct ps_jobs *jobs);
void ps_show_job(FILE *f, const struct ps_job *j);
/* Why there is no status of it: behind its name. */
void ps_show_why(FILE *f, const struct ps_job *j);

/* ps_json.c */
void ps_json(FILE *f, const struct ps_job *job, uint32_t count, bool processes);

/* ps_screen.c: shows it again each second, until `q`, Ctrl-C or (of one job) its end. Of all jobs,
 * or (not NULL) of this one. The exit status. */
int ps_screen(struct ps_job *only);

#endif
