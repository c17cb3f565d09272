/* takeover.c: the supervisor is dead, and another one may take its place.
 *
 * With a supervisor timeout an agent does not end its processes when its lease is over, but stops
 * them (SIGSTOP): what is stopped does nothing that the processes in its place could notice. Then
 * it looks into the store for a supervisor that takes over (`takeover`, written by it). Only that
 * one, or its own if it has not given the host up, lets them run again; without one they end when
 * the time is over.
 */
#include "state.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void signal_all(struct agent *a, int number)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (a->hosted[i].runs) hark_local_signal(&a->hosted[i].local, number, true);
}

void hark_takeover_stop(struct agent *a)
{
    if (a->stopped) return;
    signal_all(a, SIGSTOP);
    a->stopped = true;
    a->looks_in_vain = 0;
}

void hark_takeover_go_on(struct agent *a)
{
    if (a->stopped) signal_all(a, SIGCONT);
    a->stopped = false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->hosted[i].runs) hark_local_resume(&a->hosted[i].local);
}

/* The store is there, and the file is not. A store that can not be read now, as when a file server
 * is away, says nothing. */
static bool is_withdrawn(const struct agent *a, int error)
{
    return error == ENOENT && access(a->job.store, R_OK | X_OK) == 0;
}

bool hark_takeover_look(struct agent *a)
{
    char path[4096], line[HARK_HOST_NAME + 40];
    const uint32_t most = sizeof a->supervisor / sizeof *a->supervisor;
    uint32_t n = 0;
    bool changed = false;
    if (a->job.wait_ms == 0) return false;
    snprintf(path, sizeof path, "%s/" HARK_AGENT_TAKEOVER, a->job.store);
    FILE *f = fopen(path, "re");
    const int error = f ? 0 : errno;
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "supervisor ", 11) != 0 || n == most) continue;
        changed |= n >= a->supervisors || strcmp(a->supervisor[n], line + 11) != 0;
        snprintf(a->supervisor[n++], sizeof *a->supervisor, "%.*s", HARK_HOST_NAME, line + 11);
    }
    if (f) fclose(f);
    if (f || !is_withdrawn(a, error)) a->looks_in_vain = 0;
    else a->looks_in_vain++;
    if (n == 0) return false;
    if (changed || n < a->supervisors) a->good = 0;
    a->supervisors = n;
    return changed;
}

/* A process that waits for its image has not begun: the other supervisor starts it. */
static void give_up_starts(struct agent *a)
{
    for (uint32_t i = 0; i < a->count; i++) {
        struct hosted *h = &a->hosted[i];
        if (h->waits) hark_agent_start_free(h->waits);
        free(h->waits);
        h->waits = NULL;
    }
}

bool hark_takeover_adopted(struct agent *a, struct hark_control *m)
{
    const uint64_t run = hark_control_get64(m);
    const uint32_t lease = hark_control_get32(m), wait = hark_control_get32(m);
    if (m->bad || a->job.wait_ms == 0 || a->board == NULL || a->ending) return false;
    hark_takeover_stop(a);
    a->adopted = true;
    a->job.run = run;
    a->job.lease_ms = lease;
    a->job.wait_ms = wait;
    hark_session_free(&a->session);
    give_up_starts(a);
    hark_coder_give_up(a);
    return true;
}

void hark_takeover_say_all(struct agent *a)
{
    for (uint32_t i = 0; i < a->count; i++) {
        a->told[i] = (struct hark_board_slot){0}; /* all figures are news */
        if (a->hosted[i].runs) hark_kept_lives(&a->hosted[i]);
    }
    hark_agent_figures(a, 0, a->count);
    for (uint32_t i = 0; i < a->job.ranks; i++)
        if (a->hosted[i].a) hark_agent_row(a, i);
}

void hark_takeover_serve(struct agent *a)
{
    a->adopted = false;
    for (uint32_t i = 0; i < a->count; i++) {
        struct hosted *h = &a->hosted[i];
        memset(h->paused, 0, sizeof h->paused);
        if (h->runs) hark_kept_say_again(h);
    }
}
