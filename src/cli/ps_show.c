/* ps_show.c: `hark ps`: jobs and processes as tables. */
#include "ps_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ps_table.h"

/* ---- words ----------------------------------------------------------------------------------- */

static const char *time_text(uint64_t ns, char text[32])
{
    const uint64_t s = ns / 1000000000;
    if (ns == HARK_STATUS_UNKNOWN) snprintf(text, 32, "-");
    else if (s < 60) snprintf(text, 32, "%" PRIu64 ".%us", s, (unsigned)(ns / 100000000 % 10));
    else if (s < 3600) snprintf(text, 32, "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
    else if (s < 86400) snprintf(text, 32, "%" PRIu64 "h%02" PRIu64 "m", s / 3600, s / 60 % 60);
    else snprintf(text, 32, "%" PRIu64 "d%02" PRIu64 "h", s / 86400, s / 3600 % 24);
    return text;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The letter that the system has for what a process does; 0: there is none. */
static char letter_of(uint32_t pid)
{
    char path[40], line[512];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
    FILE *f = fopen(path, "re");
    const size_t n = f ? fread(line, 1, sizeof line - 1, f) : 0;
    if (f) fclose(f);
    line[n] = 0;
    const char *behind = strrchr(line, ')'); /* of its name, which may hold anything */
    return behind && behind[1] == ' ' ? behind[2] : 0;
}

void ps_show_why(FILE *f, const struct ps_job *j)
{
    const char letter = letter_of(j->pid);
    switch (j->answer) {
    case PS_OTHER:
        fprintf(f, "it runs under another version of hark, whose `hark ps` can show it");
        break;
    case PS_FAILED: fprintf(f, "there is no memory, or no descriptor, to ask for it"); break;
    case PS_GONE: fprintf(f, "it has ended"); break;
    default:
        fprintf(f, "its hark run, process %" PRIu32 ", has not answered within %d s: it is %s",
            j->pid, PS_PATIENCE_MS / 1000, letter == 'T' || letter == 't' ? "stopped" : "busy");
        break;
    }
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void put_job(struct ps_table *t, const struct ps_job *j)
{
    const struct hark_job_status *s = &j->status;
    char text[32];
    ps_table_put(t, "%s", ps_name(j));
    if (j->answer != PS_ANSWERED) {
        ps_table_put(t, "%" PRIu32, j->pid);
        for (int i = 0; i < 7; i++) ps_table_put(t, "-");
        return;
    }
    ps_table_put(t, "%" PRIu32, s->pid);
    ps_table_put(t, "%s", base_name(s->program));
    ps_table_put(t, "%s", s->protocol);
    ps_table_put(t, "%" PRIu32, s->ranks);
    ps_table_put(t, "%" PRIu32, s->hosts ? s->hosts : 1);
    ps_table_put(t, "%s", time_text(s->elapsed_ns, text));
    ps_table_put(t, "%" PRIu32, s->failures);
    ps_table_put(t, "%s", time_text(s->age_ns, text));
}

void ps_show_jobs(FILE *f, const struct ps_jobs *jobs)
{
    struct ps_table t = {0};
    uint32_t there = 0;
    for (uint32_t i = 0; i < jobs->count; i++) there += jobs->job[i].answer != PS_GONE;
    if (there == 0) {
        fputs("no job of this user runs on this host\n", f);
        return;
    }
    ps_table_column(&t, "JOB", false);
    ps_table_column(&t, "PID", true);
    ps_table_column(&t, "PROGRAM", false);
    ps_table_column(&t, "PROTOCOL", false);
    ps_table_column(&t, "RANKS", true);
    ps_table_column(&t, "HOSTS", true);
    ps_table_column(&t, "TIME", true);
    ps_table_column(&t, "FAILURES", true);
    ps_table_column(&t, "CHECKPOINT", true);
    for (uint32_t i = 0; i < jobs->count; i++)
        if (jobs->job[i].answer != PS_GONE) put_job(&t, &jobs->job[i]);
    if (!ps_table_print(&t, f)) fputs("no memory for a table\n", f);
    for (uint32_t i = 0; i < jobs->count; i++) {
        const struct ps_job *j = &jobs->job[i];
        if (j->answer == PS_ANSWERED || j->answer == PS_GONE) continue;
        fprintf(f, "%s: ", ps_name(j));
        ps_show_why(f, j);
        fputc('\n', f);
    }
}

/* ---- one job --------------------------------------------------------------------------------- */

/* "last checkpoint 2 s ago". */
static const char *checkpoint_text(const struct hark_job_status *s, char text[64])
{
    char age[32];
    bool earlier = false; /* by the run that this one has resumed */
    for (uint32_t i = 0; i < s->processes; i++) earlier |= s->process[i].checkpoint != 0;
    if (s->age_ns != HARK_STATUS_UNKNOWN)
        snprintf(text, 64, "last checkpoint %s ago", time_text(s->age_ns, age));
    else snprintf(text, 64, earlier ? "last checkpoint not in this run" : "no checkpoint yet");
    return text;
}

static void put_head(FILE *f, const struct hark_job_status *s)
{
    char time[32], checkpoint[64];
    struct ps_table t = {.columns = 1}; /* for its care for control characters */
    ps_table_put(&t,
        "job %s, process %" PRIu32 ": %s, %" PRIu32 " rank%s under %s over %s, %s for %s", s->job,
        s->pid, s->program, s->ranks, s->ranks == 1 ? "" : "s", s->protocol, s->transport,
        hark_job_state_name(s->state), time_text(s->elapsed_ns, time));
    ps_table_put(&t, "%" PRIu32 " failure%s, %" PRIu32 " recover%s, %s%s%s", s->failures,
        s->failures == 1 ? "" : "s", s->recoveries, s->recoveries == 1 ? "y" : "ies",
        checkpoint_text(s, checkpoint), s->store[0] ? ", store " : "", s->store);
    (void)ps_table_print(&t, f);
}

static void put_process(
    struct ps_table *t, const struct hark_job_status *s, const struct hark_status_process *p)
{
    char age[32];
    const bool recovery = p->rank == HARK_STATUS_RECOVERY;
    if (recovery) ps_table_put(t, "recovery");
    else ps_table_put(t, "%" PRIu32, p->rank);
    if (s->hosts) ps_table_put(t, "%s", p->host < s->hosts ? s->host[p->host].name : "-");
    ps_table_put(t, "%s", hark_process_state_name(p->state));
    ps_table_put(t, "%" PRIu32, p->inc);
    const uint64_t figures[] = {p->deliveries, p->messages, p->log_bytes};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        if (recovery) ps_table_put(t, "-"); /* it has no application */
        else ps_table_put(t, "%" PRIu64, figures[i]);
    }
    if (p->checkpoint) ps_table_put(t, "%" PRIu64, p->checkpoint);
    else ps_table_put(t, "-");
    ps_table_put(t, "%s", time_text(p->age_ns, age));
    ps_table_put(t, "%" PRIu32, p->restarts);
}

static void put_hosts(FILE *f, const struct hark_job_status *s)
{
    char age[32];
    struct ps_table t = {0};
    ps_table_column(&t, "HOST", false);
    ps_table_column(&t, "STATE", false);
    ps_table_column(&t, "PROCESSES", true);
    ps_table_column(&t, "HEARD", true);
    for (uint32_t i = 0; i < s->hosts; i++) {
        ps_table_put(&t, "%s", s->host[i].name);
        ps_table_put(&t, "%s", hark_host_state_name(s->host[i].state));
        ps_table_put(&t, "%" PRIu32, s->host[i].processes);
        ps_table_put(&t, "%s", time_text(s->host[i].silent_ns, age));
    }
    if (!ps_table_print(&t, f)) fputs("no memory for a table\n", f);
}

void ps_show_job(FILE *f, const struct ps_job *j)
{
    const struct hark_job_status *s = &j->status;
    struct ps_table t = {0};
    put_head(f, s);
    ps_table_column(&t, "RANK", true);
    if (s->hosts) ps_table_column(&t, "HOST", false);
    ps_table_column(&t, "STATE", false);
    ps_table_column(&t, "INCARNATION", true);
    ps_table_column(&t, "DELIVERIES", true);
    ps_table_column(&t, "MESSAGES", true);
    ps_table_column(&t, "LOG", true);
    ps_table_column(&t, "CHECKPOINT", true);
    ps_table_column(&t, "AGE", true);
    ps_table_column(&t, "RESTARTS", true);
    for (uint32_t i = 0; i < s->processes; i++) put_process(&t, s, &s->process[i]);
    if (!ps_table_print(&t, f)) fputs("no memory for a table\n", f);
    if (s->hosts) put_hosts(f, s);
}
