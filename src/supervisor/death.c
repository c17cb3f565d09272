/* death.c: a death: what it means, and what follows. */
#include "internal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define SAME_PLACE 5  /* deaths in a row at the same place after which it is the program's fault */
#define NO_FURTHER 20 /* deaths in a row anywhere, without having got further than ever before */

static void note_failure(struct child *c, const char *kind)
{
    struct supervisor *s = c->s;
    snprintf(c->kind, sizeof c->kind, "%s", kind);
    struct failure *more = realloc(s->failure, (s->failures + 1) * sizeof *more);
    if (more == NULL) {
        s->figures_lost = true;
        return;
    }
    s->failure = more;
    struct failure *f = &more[s->failures++];
    f->rank = c->rank;
    f->at = hark_sup_progress(c);
    snprintf(f->kind, sizeof f->kind, "%s", kind);
}

/* Does it die again and again without getting further? The reason, or NULL. A place is where the
 * incarnation began, and how much it has received and sent since. Planned kills do not count. */
static const char *hopeless(struct child *c, char text[96])
{
    uint64_t now = hark_sup_progress(c),
             place = now - c->began + hark_sup_slot(c)->messages - c->began_messages;
    for (uint32_t i = 0; i < c->s->o->kills; i++) {
        const struct hark_kill *k = &c->s->o->kill[i];
        if (k->rank == c->rank && k->at > c->began && k->at <= now) return NULL;
    }
    bool same = c->same_place && c->place_checkpoint == c->checkpoint && c->place == place;
    bool further = c->no_further == 0 || c->checkpoint > c->far_checkpoint ||
                   (c->checkpoint == c->far_checkpoint && place > c->far);
    c->same_place = same ? c->same_place + 1 : 1;
    c->no_further = further ? 1 : c->no_further + 1;
    c->place_checkpoint = c->checkpoint;
    c->place = place;
    if (further) c->far_checkpoint = c->checkpoint, c->far = place;
    if (c->same_place >= SAME_PLACE)
        snprintf(text, 96, "%d times in a row at the same place", SAME_PLACE);
    else if (c->no_further >= NO_FURTHER)
        snprintf(text, 96, "%d times in a row without getting further", NO_FURTHER);
    else return NULL;
    return text;
}

/* It ended by itself: never a failure to recover from. */
static void exited(struct child *c, int status)
{
    struct supervisor *s = c->s;
    char name[32];
    hark_sup_name(c, name);
    if (status == 0 && s->phase == FINISHING) {
        c->exited = true;
        return;
    }
    if (s->signal) { /* it was told to end */
        hark_sup_end(s, 128 + s->signal);
        return;
    }
    if (status) hark_sup_say("%s exited with status %d", name, status);
    else if (c->address)
        hark_sup_say("%s exited without hark_finalize (in an MPI program MPI_Finalize)", name);
    else
        hark_sup_say("%s exited without hark_init: %s is not a program of hark", name,
            program_of(c)->argv[0]);
    hark_sup_end(s, 1);
}

static void killed(struct child *c, int sig)
{
    struct supervisor *s = c->s;
    char name[32], kind[24], back[64], made[48], hopeless_text[96];
    const char *why;
    hark_sup_name(c, name);
    hark_sup_signal_name(sig, kind);
    if (c->walked_out && sig == SIGKILL) snprintf(kind, sizeof kind, "closed its connection");
    if (s->signal) { /* of the signal that was passed on, most likely: no failure */
        hark_sup_end(s, 128 + s->signal);
        return;
    }
    if (s->phase == FINISHING && c->rank == HARK_RECOVERY) {
        c->exited = true;
        return;
    }
    note_failure(c, kind);
    hark_sup_trace(s, HARK_TRACE_KILL, c->rank, c->inc, 0);
    if (s->phase == FINISHING) { /* all have finished, durably: there is nothing that it could take
                                    with it */
        hark_sup_say("%s died (%s) after the end of the job, which is done", name, kind);
        c->exited = true;
    } else if (c->rank != HARK_RECOVERY && !hark_service_survives(s->o->protocol)) {
        hark_sup_say("%s died (%s) after %s; protocol %s survives no failure", name, kind,
            hark_sup_deliveries(hark_sup_progress(c), made), s->o->protocol->name);
        hark_sup_end(s, 1);
    } else if ((why = hopeless(c, hopeless_text)) != NULL) {
        hark_sup_say("%s died (%s) %s, %s after %s", name, kind, why,
            hark_sup_deliveries(hark_sup_progress(c) - c->began, made), hark_sup_back_to(c, back));
        hark_sup_end(s, 1);
    } else {
        c->dead = true;
        if (s->died == 0) s->died = hark_sup_now();
    }
}

/* ---- what follows ---------------------------------------------------------------------------- */

static void restart_dead(struct supervisor *s)
{
    bool any = false;
    if (s->phase != RUNNING) return;
    for (uint32_t i = 0; i < s->count; i++) any |= s->child[i].dead;
    if (!any) return;
    for (uint32_t i = 0; i < s->count; i++) /* who has said hello is up, also if that lies here
                                               unread */
        if (s->child[i].runs && !s->child[i].hello && !s->child[i].goes_back) {
            hark_sup_drain(&s->child[i], HARK_PIPE_CONTROL, true);
            hark_sup_take(&s->child[i]);
        }
    if (s->phase != RUNNING) return;
    uint8_t *dead = calloc(s->o->ranks, 2);
    if (dead == NULL) {
        hark_sup_no_memory(s, "a recovery");
        return;
    }
    for (uint32_t r = 0; r < s->o->ranks; r++) dead[r] = s->child[r].dead;
    hark_sup_bring_back(s, dead, dead + s->o->ranks);
    free(dead);
}

/* Takes its last words and forgets it; its wait status. */
static int bury(struct child *c)
{
    c->dying = true;
    const int status = c->host ? c->status : hark_local_bury(&c->local);
    hark_sup_take(c);
    c->runs = c->hello = c->dying = c->left = c->ended = false;
    c->in_length = 0;
    c->heard = 0;
    return status;
}

/* A shell or another wrapper ends with 128 + n when signal n has ended the program in it, which had
 * joined and not finished. */
static bool by_signal_within(const struct child *c, int status)
{
    return c->s->phase == RUNNING && c->address && !c->finished && status > 128 &&
           status - 128 < NSIG;
}

/* It has closed its control socket. If it is not about to die anyway (which this does not change
 * any more), it has left the job. */
static void end_one_that_left(struct child *c)
{
    char name[32];
    if (!c->walked_out && hark_sup_walks_out(c)) {
        c->walked_out = true;
        if (!c->s->walks_said)
            hark_sup_say(
                "%s has closed its connection to hark run, so it counts as dead: expected that the "
                "program calls no exec, and closes only descriptors that it has opened",
                hark_sup_name(c, name));
        c->s->walks_said = true;
    }
    hark_sup_signal(c, SIGKILL, false);
}

static void reap(struct child *c)
{
    struct supervisor *s = c->s;
    if (!c->runs) return;
    if (!hark_sup_is_dead(c)) {
        if (s->phase == RUNNING && hark_sup_left(c)) end_one_that_left(c);
        return;
    }
    int status = bury(c);
    if (s->phase == ENDING) {
        hark_sup_child_gone(s);
        return;
    }
    if (c->goes_back && s->signal) {
        hark_sup_end(s, 128 + s->signal);
    } else if (c->goes_back) {
        (void)hark_sup_restart(s, c);
    } else if (WIFEXITED(status) && !by_signal_within(c, WEXITSTATUS(status))) {
        exited(c, WEXITSTATUS(status));
    } else {
        killed(c, WIFEXITED(status) ? WEXITSTATUS(status) - 128 : WTERMSIG(status));
    }
    if (s->phase != RUNNING) hark_sup_child_gone(s);
}

/* Those that die together go back together: a host takes all of its processes with it. */
void hark_sup_reap_all(struct supervisor *s)
{
    s->deaths_due = false;
    for (uint32_t i = 0; i < s->count; i++) reap(&s->child[i]);
    if (s->phase == RUNNING) restart_dead(s);
    hark_sup_room(s); /* for all that recovery needs there is */
}
