/* takeover.c: the run before has died, and its processes live: they go on, with us.
 *
 * The record of the failure service has all decisions; agents know which incarnations run, and what
 * these have said without an answer. A process is ended if its incarnation is not the one in the
 * record, or if it was about to go back; that, and every process whose host has not come, is a
 * death like any other. Nothing was shown or started meanwhile: agents had stopped them all.
 */
#include "internal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- who goes on ----------------------------------------------------------------------------- */

static bool is_good(const struct child *c)
{
    const struct life *l = c->life;
    return l && c->runs && !c->ended && !c->host->lost && (l->flags & HARK_LIVES_HELLO) &&
           !(l->flags & HARK_LIVES_BACK) &&
           (c->rank != 0 || (l->read != UINT64_MAX) == c->s->input.source.is) &&
           l->inc == hark_service_incarnation(core_of(c->s), c->rank);
}

static void go_on(struct child *c)
{
    struct life *l = c->life;
    c->checkpoint = l->checkpoint;
    hark_sup_incarnate(c);
    hark_sup_fresh(c);
    c->kept = -1;
    c->address = l->address;
    l->address = NULL;
    c->program = (pid_t)l->program;
    c->asked = c->answered = l->asked;
    c->input_at = l->input;
    c->finished = (l->flags & HARK_LIVES_FINISHED) != 0;
    c->hello = true;
    for (int i = 0; i < 2; i++) {
        hark_output_begin(&c->output[i], true);
        hark_output_position(&c->output[i], l->begin[i], "", 0);
    }
    if (c->rank == 0) (void)hark_sup_input_seek(c->s, l->read);
    (void)hark_sup_part(c->s, c->rank, c->inc);
    hark_sup_readings_again(c);
}

/* It is killed, and its death is one like any other. */
static void end(struct child *c)
{
    hark_sup_incarnate(c);
    hark_sup_fresh(c);
    hark_sup_signal(c, SIGKILL, true);
}

/* Nobody knows of it any more. */
static void is_dead(struct child *c)
{
    struct supervisor *s = c->s;
    c->runs = c->hello = false;
    c->host = NULL;
    c->dead = true;
    snprintf(c->kind, sizeof c->kind, "with hark run");
    if (s->died == 0) s->died = hark_sup_now();
    s->deaths_due = true;
}

static void say_taken(const struct supervisor *s, const uint8_t *lives, uint32_t count)
{
    char ranks[200] = "";
    hark_sup_name_ranks(s, lives, ranks, sizeof ranks);
    if (count == 0) hark_sup_say("no process of the run before lives");
    else
        hark_sup_say("rank%s %s of the run before live%s, and go%s on with this one",
            count > 1 ? "s" : "", ranks, count > 1 ? "" : "s", count > 1 ? "" : "es");
}

/* What the run before had not told them yet. */
static void tell(struct child *c)
{
    struct supervisor *s = c->s;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct child *other = &s->child[i];
        if (other != c && other->hello && c->life->peer[i] != other->inc + 1)
            hark_sup_introduce(other, c);
    }
    if (c->life->re != hark_service_epoch(core_of(s))) hark_sup_announce(s, c);
    if (c->finished) s->finish_due = true;
}

static void say_go_on(struct supervisor *s)
{
    struct hark_control m;
    for (uint32_t i = 0; i < s->o->hosts; i++) {
        if (!s->host[i].adopted || s->host[i].lost) continue;
        hark_control_begin(&m, HARK_A_GO_ON);
        hark_sup_host_say(&s->host[i], &m);
    }
}

bool hark_sup_take_over(struct supervisor *s)
{
    uint32_t count = 0;
    uint8_t *lives = calloc(s->count, 1);
    if (lives == NULL) {
        hark_sup_no_memory(s, "the processes of the run before");
        return false;
    }
    for (uint32_t i = 0; i < s->count; i++) lives[i] = is_good(&s->child[i]);
    for (uint32_t i = 0; i < s->o->ranks; i++) count += lives[i];
    say_taken(s, lives, count);
    for (uint32_t i = 0; i < s->count; i++) {
        struct child *c = &s->child[i];
        if (lives[i]) go_on(c);
        else if (c->runs && !c->ended && !c->host->lost) end(c);
        else is_dead(c);
    }
    for (uint32_t i = 0; i < s->count; i++)
        if (lives[i]) tell(&s->child[i]);
    for (uint32_t i = 0; i < s->count; i++) {
        hark_sup_life_free(s->child[i].life);
        s->child[i].life = NULL;
    }
    free(lives);
    s->takes_over = false;
    if (!hark_sup_propose_again(s)) {
        hark_sup_end(s, 1);
        return false;
    }
    say_go_on(s);
    hark_sup_keep_output(s);
    hark_sup_trace_failed(s);
    hark_sup_watch_planned_kill(s);
    return s->phase == RUNNING;
}
