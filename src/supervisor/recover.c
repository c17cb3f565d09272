/* recover.c: bringing back: after a death, by the recovery line, and at the start from a store. */
#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hark/registry.h"

const char *hark_sup_back_to(const struct child *c, char text[64])
{
    if (c->checkpoint) snprintf(text, 64, "checkpoint %llu", (unsigned long long)c->checkpoint);
    else snprintf(text, 64, "the beginning");
    return text;
}

bool hark_sup_restart(struct supervisor *s, struct child *c)
{
    char name[32];
    if (s->phase != RUNNING) return false; /* no memory for what had to be told */
    hark_sup_incarnate(c);
    int status = hark_sup_spawn(c);
    if (status == 0) return true;
    if (status < 0) return false;
    hark_sup_say("%s can not be started again: %s", hark_sup_name(c, name), strerror(status));
    hark_sup_end(s, 1);
    return false;
}

/* Those with member[r] != 0 go back to where the failure service says. */
static void take_checkpoints(struct supervisor *s, const uint8_t *member)
{
    for (uint32_t r = 0; r < s->o->ranks; r++)
        if (member[r]) s->child[r].checkpoint = hark_service_restart(core_of(s), r).checkpoint;
}

/* May a process still go back to this image? By the record, which is durable. */
static bool is_needed(const struct child *c, uint64_t id)
{
    const struct hark *core = core_of(c->s);
    if (id == c->checkpoint) return true;
    for (uint32_t n = 0; hark_service_wave(core, c->rank, n); n++)
        if (hark_service_wave(core, c->rank, n) == id) return true;
    return id < c->checkpoint && hark_service_by_line(c->s->o->protocol) &&
           id >= hark_service_oldest(core, c->rank);
}

/* A process that dies between the decision of a checkpoint and the removal of an older one does not
 * remove it any more, and what was written behind the last decision is undone. On the disks of
 * hosts their agents look after that. What can not be removed now is removed another time. */
static void drop_leftovers(struct supervisor *s, const uint8_t *member)
{
    uint64_t id[64]; /* more of them another time */
    for (uint32_t r = 0; r < s->o->ranks && !s->o->host_store; r++) {
        if (!member[r]) continue;
        const int have = s->images->ops->list(s->images, r, id, HARK_COUNT(id));
        for (int i = 0; i < have && i < (int)HARK_COUNT(id); i++)
            if (!is_needed(&s->child[r], id[i])) (void)s->images->ops->drop(s->images, r, id[i]);
    }
}

/* The failure service has chosen who goes back, and to where: member. False after the last line. */
static bool chosen(struct supervisor *s, int status, uint8_t *member)
{
    s->anew = status == HARK_KEEPER_ELOST;
    if (s->anew) {
        char text[512];
        status = hark_sup_flush_return(s, s->count > s->o->ranks, text, sizeof text);
        if (status == HARK_KEEPER_OK) hark_sup_say("%s; %s", s->lost, text);
        if (status == HARK_KEEPER_ELOST) hark_sup_lost(s);
    }
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
    for (uint32_t r = 0; unit && r < s->o->ranks; r++)
        unit[r] = hark_service_mates(core, r, c->rank);
    if (unit) hark_sup_name_ranks(s, unit, ranks, sizeof ranks);
    free(unit);
    if (hark_service_by_all(s->o->protocol)) snprintf(text, 256, "all ranks go back");
    else if (!hark_service_by_cluster(s->o->protocol)) snprintf(text, 256, "it goes back");
    else if (hark_service_behind(core))
        snprintf(text, 256, "all ranks go back, for the clusters have changed since then");
    else
        snprintf(text, 256, "cluster %u (rank%s %s) goes back", hark_service_cluster(core, c->rank),
            strpbrk(ranks, " -") ? "s" : "", ranks);
}

static void say_failures(struct supervisor *s)
{
    char name[32], unit[256], back[64], made[48];
    for (uint32_t i = 0; i < s->count; i++) {
        struct child *c = &s->child[i];
        if (!c->dead) continue;
        hark_sup_name(c, name);
        if (c->rank == HARK_RECOVERY) {
            hark_sup_say("%s died (%s); a new one takes over", name, c->kind);
            continue;
        }
        name_unit(c, unit);
        hark_sup_back_to(c, back);
        hark_sup_say("%s died (%s) after %s; %s to %s", name, c->kind,
            hark_sup_deliveries(hark_sup_progress(c), made), unit, back);
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

/* Opens the record of a recovery, or goes on with the present one if it is not over: failures nest.
 */
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
        /* Without a death in this run: all processes died with the run before. */
        *r = (struct recovery){.died = s->died ? s->died : s->started, .rolled = rolled};
    }
    r->announced = hark_sup_now();
    r->restarted = r->over = 0;
    r->re = hark_service_epoch(core_of(s));
    for (uint32_t i = 0; i < s->o->ranks; i++) r->rolled[i] |= member[i];
}

/* They are to go back, and the failure service knows it: everybody is told, the dead are started
 * again. */
static void announce_back(struct supervisor *s, const uint8_t *member)
{
    hark_sup_keep_output(s);
    hark_sup_waves_drop(s, member);
    hark_sup_copies_undo(s, member);
    for (uint32_t r = 0; r < s->o->ranks; r++) {
        s->child[r].restarts += member[r] != 0;
        if (member[r] && !s->child[r].dead && (s->anew || !hark_sup_has_own(&s->child[r])))
            hark_sup_replace(&s->child[r]);
        else if (member[r] && !s->child[r].dead) hark_sup_send_back(&s->child[r]);
    }
    if (s->anew && s->count > s->o->ranks && !s->child[s->o->ranks].dead)
        hark_sup_replace(&s->child[s->o->ranks]);
    s->anew = false;
    hark_sup_announce(s, NULL);
    HARK_POINT("announced", HARK_TRACE_SUPERVISOR);
    for (uint32_t i = 0; i < s->count; i++) {
        struct child *c = &s->child[i];
        c->restarts += c->dead && c->rank == HARK_RECOVERY;
        if (c->dead && !hark_sup_restart(s, c)) return;
    }
    HARK_POINT("spawned", HARK_TRACE_SUPERVISOR);
    hark_sup_watch_planned_kill(s);
}

/* Those with dead[r] != 0 have died; `member` has room for who goes back. */
void hark_sup_bring_back(struct supervisor *s, const uint8_t *dead, uint8_t *member)
{
    struct child *recovery = s->count > s->o->ranks ? &s->child[s->o->ranks] : NULL;
    bool over = hark_service_down(core_of(s)) == 0, ranks = false;
    hark_sup_look_for_store(s);
    if (!chosen(s, hark_keeper_choose(s->keeper, dead, recovery && recovery->dead), member)) return;
    for (uint32_t r = 0; r < s->o->ranks; r++) ranks |= member[r] != 0;
    say_failures(s);
    HARK_POINT("chosen", HARK_TRACE_SUPERVISOR);
    if (hark_keeper_commit(s->keeper) < 0) hark_sup_trouble(s, NULL, hark_keeper_error(s->keeper));
    else drop_leftovers(s, member);
    HARK_POINT("durable", HARK_TRACE_SUPERVISOR);
    hark_sup_trace_failed(s);
    hark_sup_trace_clusters(s, hark_service_wave(core_of(s), 0, 0)); /* perhaps to before a change
                                                                      */
    if (ranks) note_recovery(s, member, over);
    s->died = 0;
    announce_back(s, member);
}

void hark_sup_on_recovery_line(struct supervisor *s)
{
    char ranks[200] = "";
    const uint8_t *member = hark_keeper_back(s->keeper);
    if (s->phase != RUNNING) return;
    take_checkpoints(s, member);
    hark_sup_name_ranks(s, member, ranks, sizeof ranks);
    hark_sup_say("rank%s %s go%s back too, by the recovery line", strpbrk(ranks, " -") ? "s" : "",
        ranks, strpbrk(ranks, " -") ? "" : "es");
    hark_sup_trace_failed(s);
    note_recovery(s, member, false);
    announce_back(s, member);
}

void hark_sup_recovered(struct supervisor *s)
{
    struct recovery *r = s->recoveries ? &s->recovery[s->recoveries - 1] : NULL;
    char ranks[200];
    hark_sup_keep_output(s);
    if (hark_service_down(core_of(s))) return;
    if (r && r->over == 0) {
        r->over = hark_sup_now();
        hark_sup_name_ranks(s, r->rolled, ranks, sizeof ranks);
        hark_sup_trace(s, HARK_TRACE_RECOVERED, HARK_TRACE_SUPERVISOR, 0, 0);
        hark_sup_say("recovered in %.1f ms: rank%s %s went back", (double)(r->over - r->died) / 1e6,
            strpbrk(ranks, " -") ? "s" : "", ranks);
    }
    s->finish_due = true;
}

/* ---- the first start ------------------------------------------------------------------------- */

static void say_goes_on(const struct supervisor *s)
{
    uint64_t low = UINT64_MAX, high = 0;
    for (uint32_t r = 0; r < s->o->ranks; r++) {
        const uint64_t from = s->child[r].checkpoint;
        if (from < low) low = from;
        if (from > high) high = from;
    }
    if (high == 0) hark_sup_say("the job goes on from the beginning, it has no checkpoint yet");
    else if (low == high) hark_sup_say("the job goes on from checkpoint %" PRIu64, low);
    else
        hark_sup_say("the job goes on from checkpoints %" PRIu64 "%s to %" PRIu64, low,
            low ? "" : " (the beginning)", high);
}

/* All go back to what the store of an earlier run has. */
static bool resume(struct supervisor *s)
{
    uint8_t *member = malloc(s->o->ranks);
    if (member == NULL) {
        hark_sup_no_memory(s, "a resumption");
        return false;
    }
    bool ok = chosen(s, hark_keeper_resume(s->keeper, s->count > s->o->ranks), member);
    s->anew = false; /* nobody lives */
    if (ok && hark_keeper_commit(s->keeper) < 0) {
        hark_sup_say("%s", hark_keeper_error(s->keeper));
        hark_sup_end(s, 2);
        ok = false;
    }
    if (ok) drop_leftovers(s, member);
    if (ok) hark_sup_copies_undo(s, member);
    if (ok) hark_sup_keep_output(s);
    if (ok) say_goes_on(s);
    if (ok) hark_sup_trace_failed(s);
    if (ok) hark_sup_trace_clusters(s, hark_service_wave(core_of(s), 0, 0));
    free(member);
    return ok;
}

/* Nobody can go back: what the run before has noted is of no use, and its processes are gone. */
static bool begin_anew(struct supervisor *s)
{
    if (hark_keeper_begin_anew(s->keeper) != HARK_KEEPER_OK) {
        hark_sup_no_memory(s, "a job");
        return false;
    }
    hark_sup_say("protocol %s takes no checkpoints: the job begins again", s->o->protocol->name);
    return true;
}

static bool resume_or_begin_anew(struct supervisor *s)
{
    return hark_service_survives(s->o->protocol) ? resume(s) : begin_anew(s);
}

bool hark_sup_begin(struct supervisor *s)
{
    if (hark_keeper_resumed(s->keeper) && !resume_or_begin_anew(s)) return false;
    for (uint32_t i = 0; i < s->count; i++) {
        struct child *c = &s->child[i];
        hark_sup_incarnate(c);
        int status = hark_sup_spawn(c);
        if (status == 0 && s->phase != RUNNING) return false; /* no memory for its setup */
        if (status == 0) continue;
        if (status < 0) return false;
        hark_sup_say("cannot start %s: %s%s",
            c->rank == HARK_RECOVERY ? "the recovery process" : program_of(c)->argv[0],
            strerror(status),
            status == EMFILE
                ? "; hark needs four descriptors for each process: raise the limit (ulimit -n)"
                : "");
        hark_sup_end(s, 2);
        return false;
    }
    hark_sup_watch_planned_kill(s);
    return true;
}
