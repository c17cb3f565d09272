/* recover.c: a death, and what follows. */
#include "internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAME_PLACE 5  /* deaths in a row at the same place after which it is the program's fault */
#define NO_FURTHER 20 /* deaths in a row anywhere, without having got further than ever before */

void hark_sup_name_ranks(const struct supervisor *s, const uint8_t *member, char *text, size_t room)
{
    size_t at = 0;
    for (uint32_t r = 0; r < s->o->ranks; r++) {
        if (!member[r]) continue;
        uint32_t first = r;
        while (r + 1 < s->o->ranks && member[r + 1]) r++;
        int n = snprintf(text + at, room - at, first == r ? "%s%u" : "%s%u-%u", at ? " " : "", first, r);
        if (n < 0 || (size_t)n >= room - at) {
            snprintf(text + room - 4, 4, "...");
            return;
        }
        at += (size_t)n;
    }
}

static const char *back_to(const struct child *c, char text[64])
{
    if (c->checkpoint) snprintf(text, 64, "checkpoint %llu", (unsigned long long)c->checkpoint);
    else snprintf(text, 64, "the beginning");
    return text;
}

/* ---- sorting a death ------------------------------------------------------------------------------------------ */

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

/* Does it die again and again without getting further? The reason, or NULL. A place is where the incarnation began, and how much
 * it has received and sent since. Planned kills do not count. */
static const char *hopeless(struct child *c, char text[96])
{
    uint64_t now = hark_sup_progress(c), place = now - c->began + hark_sup_slot(c)->messages - c->began_messages;
    for (uint32_t i = 0; i < c->s->o->kills; i++) {
        const struct hark_kill *k = &c->s->o->kill[i];
        if (k->rank == c->rank && k->at > c->began && k->at <= now) return NULL;
    }
    bool same = c->same_place && c->place_checkpoint == c->checkpoint && c->place == place;
    bool further = c->no_further == 0 || c->checkpoint > c->far_checkpoint || (c->checkpoint == c->far_checkpoint && place > c->far);
    c->same_place = same ? c->same_place + 1 : 1;
    c->no_further = further ? 1 : c->no_further + 1;
    c->place_checkpoint = c->checkpoint;
    c->place = place;
    if (further) c->far_checkpoint = c->checkpoint, c->far = place;
    if (c->same_place >= SAME_PLACE) snprintf(text, 96, "%d times in a row at the same place", SAME_PLACE);
    else if (c->no_further >= NO_FURTHER) snprintf(text, 96, "%d times in a row without getting further", NO_FURTHER);
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
    if (status)
        hark_sup_say("%s exited with status %d", name, status);
    else if (c->address)
        hark_sup_say("%s exited without hark_finalize", name);
    else
        hark_sup_say("%s exited without hark_init: %s is not a program of hark", name, s->o->program[0]);
    hark_sup_end(s, 1);
}

static void killed(struct child *c, int sig)
{
    struct supervisor *s = c->s;
    char name[32], kind[24], back[64], hopeless_text[96];
    const char *why;
    hark_sup_name(c, name);
    hark_sup_signal_name(sig, kind);
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
    if (s->phase == FINISHING) { /* all have finished, durably: there is nothing that it could take with it */
        hark_sup_say("%s died (%s) after the end of the job, which is done", name, kind);
        c->exited = true;
    } else if (c->rank != HARK_RECOVERY && !hark_service_survives(s->o->protocol)) {
        hark_sup_say("%s died (%s) after %llu deliveries; protocol %s survives no failure", name, kind,
            (unsigned long long)hark_sup_progress(c), s->o->protocol->name);
        hark_sup_end(s, 1);
    } else if ((why = hopeless(c, hopeless_text)) != NULL) {
        hark_sup_say("%s died (%s) %s, %llu deliveries after %s", name, kind, why,
            (unsigned long long)(hark_sup_progress(c) - c->began), back_to(c, back));
        hark_sup_end(s, 1);
    } else {
        c->dead = true;
        if (s->died == 0) s->died = hark_sup_now();
    }
}

/* Reads what it left, kills what it started, forgets it; its wait status. */
static int bury(struct child *c)
{
    int status = 0;
    c->dying = true;
    (void)kill(-c->pid, SIGKILL); /* not reaped yet, so that its group can be nobody else's */
    for (int kind = 0; kind < LINKS; kind++) hark_sup_drain(c, (enum link_kind)kind, true);
    hark_sup_take(c);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) {}
    hark_janitor_dead(&c->s->janitor, c->pid);
    hark_sup_unlink(c);
    c->pid = 0;
    c->hello = c->dying = false;
    return status;
}

bool hark_sup_is_dead(const struct child *c)
{
    siginfo_t info = {.si_pid = 0};
    return c->pid == 0 || waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

static bool restart(struct supervisor *s, struct child *c)
{
    char name[32];
    if (s->phase != RUNNING) return false; /* no memory for what had to be told */
    c->inc = hark_service_incarnation(core_of(s), c->rank);
    int status = hark_sup_spawn(c);
    if (status == 0) return true;
    hark_sup_say("%s can not be started again: %s", hark_sup_name(c, name), strerror(status));
    hark_sup_end(s, 1);
    return false;
}

/* A shell or another wrapper ends with 128 + n when signal n has ended the program in it, which had joined and not finished. */
static bool by_signal_within(const struct child *c, int status)
{
    return c->s->phase == RUNNING && c->address && !c->finished && status > 128 && status - 128 < NSIG;
}

void hark_sup_reap(struct child *c)
{
    struct supervisor *s = c->s;
    if (c->pid == 0) return;
    if (!hark_sup_is_dead(c)) {
        /* It has closed its control socket. If it is not about to die anyway (which this does not change any
         * more), it has left the job. */
        if (s->phase == RUNNING && c->link[LINK_CONTROL] && c->link[LINK_CONTROL]->events == 0)
            kill(c->pid, SIGKILL);
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
        (void)restart(s, c);
    } else if (WIFEXITED(status) && !by_signal_within(c, WEXITSTATUS(status))) {
        exited(c, WEXITSTATUS(status));
    } else {
        killed(c, WIFEXITED(status) ? WEXITSTATUS(status) - 128 : WTERMSIG(status));
    }
    if (s->phase == RUNNING) hark_sup_settle(s);
    else hark_sup_child_gone(s);
    hark_sup_room(s); /* for all that recovery needs there is */
}

/* ---- bringing back --------------------------------------------------------------------------------------------- */

void hark_sup_fell_back(void *self, uint32_t rank, uint64_t wave, const char *why)
{
    (void)self;
    (void)rank;
    hark_sup_say("%s; the older checkpoint %llu is used", why, (unsigned long long)wave);
}

void hark_sup_lost(void *self, uint32_t rank, const char *why)
{
    struct supervisor *s = self;
    char name[32];
    hark_sup_say("%s can not go back, no checkpoint of its cluster is whole: %s", hark_sup_name(&s->child[rank], name), why);
    hark_sup_end(s, 1);
}

/* Those with member[r] != 0 go back to where the failure service says. */
static void take_checkpoints(struct supervisor *s, const uint8_t *member)
{
    for (uint32_t r = 0; r < s->o->ranks; r++)
        if (member[r]) s->child[r].checkpoint = hark_service_restart(core_of(s), r).checkpoint;
}

/* The failure service has chosen who goes back, and to where: member. False after the last line. */
static bool chosen(struct supervisor *s, int status, uint8_t *member)
{
    if (status == HARK_KEEPER_EMEMORY) hark_sup_no_memory(s, "a recovery");
    if (status != HARK_KEEPER_OK) return false;
    for (uint32_t r = 0; r < s->o->ranks; r++) member[r] = hark_service_goes_back(core_of(s), r);
    take_checkpoints(s, member);
    return true;
}

/* Who goes back with it, for its line. */
static void name_unit(const struct child *c, char text[256])
{
    const struct supervisor *s = c->s;
    const struct hark *core = core_of(s);
    char ranks[200] = "";
    uint8_t *unit = calloc(s->o->ranks, 1);
    for (uint32_t r = 0; unit && r < s->o->ranks; r++) unit[r] = hark_service_mates(core, r, c->rank);
    if (unit) hark_sup_name_ranks(s, unit, ranks, sizeof ranks);
    free(unit);
    if (hark_service_by_all(s->o->protocol)) snprintf(text, 256, "all ranks go back");
    else if (!hark_service_by_cluster(s->o->protocol)) snprintf(text, 256, "it goes back");
    else if (hark_service_behind(core)) snprintf(text, 256, "all ranks go back, for the clusters have changed since then");
    else
        snprintf(text, 256, "cluster %u (rank%s %s) goes back", hark_service_cluster(core, c->rank),
            strpbrk(ranks, " -") ? "s" : "", ranks);
}

static void say_failures(struct supervisor *s)
{
    char name[32], unit[256], back[64];
    for (uint32_t i = 0; i < s->count; i++) {
        struct child *c = &s->child[i];
        if (!c->dead) continue;
        hark_sup_name(c, name);
        if (c->rank == HARK_RECOVERY) {
            hark_sup_say("%s died (%s); a new one takes over", name, c->kind);
            continue;
        }
        name_unit(c, unit);
        back_to(c, back);
        hark_sup_say("%s died (%s) after %llu deliveries; %s to %s", name, c->kind,
            (unsigned long long)hark_sup_progress(c), unit, back);
    }
}

/* When had all that went back come again to where they were? They say so on the board. */
void hark_sup_close_recovery(struct supervisor *s)
{
    struct recovery *r = s->recoveries ? &s->recovery[s->recoveries - 1] : NULL;
    if (r == NULL) return;
    r->caught_up = 0;
    for (uint32_t i = 0; i < s->o->ranks; i++) {
        uint64_t at = s->board->slot[i].caught_up_ns;
        if (!r->rolled[i]) continue;
        if (at < r->announced) {
            r->caught_up = 0; /* one never did */
            return;
        }
        if (at > r->caught_up) r->caught_up = at;
    }
}

/* Opens the record of a recovery, or goes on with the present one if it is not over: failures nest. */
static void note_recovery(struct supervisor *s, const uint8_t *member, bool over)
{
    struct recovery *r = s->recoveries ? &s->recovery[s->recoveries - 1] : NULL;
    if (r == NULL || over) {
        hark_sup_close_recovery(s);
        struct recovery *more = realloc(s->recovery, (s->recoveries + 1) * sizeof *more);
        uint8_t *rolled = calloc(s->o->ranks, 1);
        if (more) s->recovery = more;
        if (more == NULL || rolled == NULL) {
            s->figures_lost = true;
            free(rolled);
            return;
        }
        r = &s->recovery[s->recoveries++];
        *r = (struct recovery){.died = s->died, .rolled = rolled};
    }
    r->announced = hark_sup_now();
    r->restarted = r->over = 0;
    r->re = hark_service_epoch(core_of(s));
    for (uint32_t i = 0; i < s->o->ranks; i++) r->rolled[i] |= member[i];
}

/* They are to go back, and the failure service knows it: everybody is told, the dead are started again. */
static void announce_back(struct supervisor *s, const uint8_t *member)
{
    for (uint32_t r = 0; r < s->o->ranks; r++) {
        s->child[r].restarted |= member[r] != 0;
        if (member[r] && !s->child[r].dead) hark_sup_send_back(&s->child[r]);
    }
    hark_sup_announce(s, NULL);
    HARK_POINT("announced", HARK_TRACE_SUPERVISOR);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->child[i].dead && !restart(s, &s->child[i])) return;
    HARK_POINT("spawned", HARK_TRACE_SUPERVISOR);
    hark_sup_hunt(s);
}

/* Those with dead[r] != 0 have died; `member` has room for who goes back. */
static void bring_back(struct supervisor *s, const uint8_t *dead, uint8_t *member)
{
    struct child *recovery = s->count > s->o->ranks ? &s->child[s->o->ranks] : NULL;
    bool over = hark_service_down(core_of(s)) == 0, ranks = false;
    hark_sup_look_for_store(s);
    if (!chosen(s, hark_keeper_choose(s->keeper, dead, recovery && recovery->dead), member)) return;
    for (uint32_t r = 0; r < s->o->ranks; r++) ranks |= member[r] != 0;
    say_failures(s);
    HARK_POINT("chosen", HARK_TRACE_SUPERVISOR);
    if (hark_keeper_commit(s->keeper) < 0) hark_sup_trouble(s, NULL, hark_keeper_error(s->keeper));
    HARK_POINT("durable", HARK_TRACE_SUPERVISOR);
    hark_sup_trace_failed(s);
    hark_sup_trace_clusters(s, hark_service_wave(core_of(s), 0, 0)); /* perhaps to before a change */
    if (ranks) note_recovery(s, member, over);
    s->died = 0;
    announce_back(s, member);
}

void hark_sup_line(struct supervisor *s)
{
    char ranks[200] = "";
    const uint8_t *member = hark_keeper_back(s->keeper);
    if (s->phase != RUNNING) return;
    take_checkpoints(s, member);
    hark_sup_name_ranks(s, member, ranks, sizeof ranks);
    hark_sup_say("rank%s %s go%s back too, by the recovery line", strpbrk(ranks, " -") ? "s" : "", ranks,
        strpbrk(ranks, " -") ? "" : "es");
    hark_sup_trace_failed(s);
    note_recovery(s, member, false);
    announce_back(s, member);
}

void hark_sup_settle(struct supervisor *s)
{
    bool any = false;
    if (s->phase != RUNNING) return;
    for (uint32_t i = 0; i < s->count; i++) any |= s->child[i].dead;
    if (!any) return;
    for (uint32_t i = 0; i < s->count; i++) /* who has said hello is up, also if that lies here unread */
        if (s->child[i].pid && !s->child[i].hello && !s->child[i].goes_back) {
            hark_sup_drain(&s->child[i], LINK_CONTROL, true);
            hark_sup_take(&s->child[i]);
        }
    if (s->phase != RUNNING) return;
    uint8_t *dead = calloc(s->o->ranks, 2);
    if (dead == NULL) {
        hark_sup_no_memory(s, "a recovery");
        return;
    }
    for (uint32_t r = 0; r < s->o->ranks; r++) dead[r] = s->child[r].dead;
    bring_back(s, dead, dead + s->o->ranks);
    free(dead);
}

void hark_sup_recovered(struct supervisor *s)
{
    struct recovery *r = s->recoveries ? &s->recovery[s->recoveries - 1] : NULL;
    char ranks[200];
    if (hark_service_down(core_of(s))) return;
    if (r && r->over == 0) {
        r->over = hark_sup_now();
        hark_sup_name_ranks(s, r->rolled, ranks, sizeof ranks);
        hark_sup_trace(s, HARK_TRACE_RECOVERED, HARK_TRACE_SUPERVISOR, 0, 0);
        hark_sup_say("recovered in %.1f ms: rank%s %s went back", (double)(r->over - r->died) / 1e6,
            strpbrk(ranks, " -") ? "s" : "", ranks);
    }
    hark_sup_try_finish(s);
}

/* ---- the first start -------------------------------------------------------------------------------------------- */

/* All go back to what the store of an earlier run has. */
static bool resume(struct supervisor *s)
{
    uint8_t *member = malloc(s->o->ranks);
    if (member == NULL) {
        hark_sup_no_memory(s, "a resumption");
        return false;
    }
    bool ok = chosen(s, hark_keeper_resume(s->keeper, s->count > s->o->ranks), member);
    free(member);
    if (ok && hark_keeper_commit(s->keeper) < 0) {
        hark_sup_say("%s", hark_keeper_error(s->keeper));
        hark_sup_end(s, 2);
        ok = false;
    }
    if (ok) hark_sup_trace_failed(s);
    if (ok) hark_sup_trace_clusters(s, hark_service_wave(core_of(s), 0, 0));
    return ok;
}

bool hark_sup_begin(struct supervisor *s)
{
    if (hark_keeper_resumed(s->keeper) && !resume(s)) return false;
    for (uint32_t i = 0; i < s->count; i++) {
        struct child *c = &s->child[i];
        c->inc = hark_service_incarnation(core_of(s), c->rank);
        int status = hark_sup_spawn(c);
        if (status == 0 && s->phase != RUNNING) return false; /* no memory for its setup */
        if (status == 0) continue;
        hark_sup_say("cannot start %s: %s%s", c->rank == HARK_RECOVERY ? "the recovery process" : s->o->program[0], strerror(status),
            status == EMFILE ? "; hark needs four descriptors for each process: raise the limit (ulimit -n)" : "");
        hark_sup_end(s, 2);
        return false;
    }
    hark_sup_hunt(s);
    return true;
}
