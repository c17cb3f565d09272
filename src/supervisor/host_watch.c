/* host_watch.c: hosts that die or are silent, and those that come back. */
#include "internal.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "../agent/lease.h"

#define TRY_NS UINT64_C(5000000000) /* after a host's death its agent is started again */

void hark_sup_host_lost(struct host *h, const char *how)
{
    struct supervisor *s = h->s;
    uint32_t ran = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        struct child *c = &s->child[i];
        if (c->host != h || !c->runs || c->ended) continue;
        ran++;
        c->ended = true;
        c->status = SIGKILL; /* as waitpid would have it */
    }
    h->lost = true;
    h->undone_at = 0;
    h->deaths++;
    h->tries = 0;
    h->try_at = hark_lease_now() + TRY_NS;
    hark_sup_holds_nothing(h);
    hark_sup_host_part(h);
    s->deaths_due = true;
    s->waves_due = s->waves != NULL;
    hark_sup_takeover_changed(s);
    if (ran == 0 && s->fetched_at) return; /* the job is over, and its agent told to end */
    hark_sup_say(
        "host %s died: %s; with it %" PRIu32 " process%s", h->name, how, ran, ran == 1 ? "" : "es");
}

void hark_sup_host_lost_quietly(struct host *h)
{
    h->lost = true;
    h->try_at = hark_lease_now() + TRY_NS;
}

static void lose_silent(struct host *h, uint64_t silent)
{
    char how[64];
    snprintf(how, sizeof how, "nothing was heard of it for %.1f s", (double)silent / 1e9);
    hark_sup_host_lost(h, how);
}

/* One of the hosts that have the image; NULL: it comes from elsewhere. */
static const struct host *holder_of(const struct child *c)
{
    const struct hark_holdings *x = c->s->holdings ? &c->s->holdings[c->rank] : NULL;
    for (uint32_t i = 0; x && i < x->count; i++)
        if (x->at[i].id == c->checkpoint && !x->at[i].host->lost && x->at[i].host != c->host)
            return x->at[i].host;
    return NULL;
}

/* It is there, and does not come: nobody but us can notice, for the process has not begun. */
static void say_lacks(struct child *c)
{
    struct supervisor *s = c->s;
    const uint64_t since = hark_lease_now() - c->lacks_since,
                   patience = 2 * s->o->host_timeout_ms * UINT64_C(1000000),
                   limit = s->o->stall_limit_ms * UINT64_C(1000000);
    const struct host *from = holder_of(c);
    if (since >= patience && !c->lacks_said) {
        c->lacks_said = true;
        hark_sup_say("host %s: checkpoint %" PRIu64
                     " of rank %u has not come there in %.0f s, %s%s; its process waits for it",
            c->host->name, c->checkpoint, c->rank, (double)since / 1e9,
            from ? "though it is on host " : "though the store has it", from ? from->name : "");
    }
    if (limit && since >= limit && s->phase == RUNNING) {
        hark_sup_say(
            "a process has waited for its checkpoint for %.6g s (--stall-limit): the run ends",
            (double)s->o->stall_limit_ms / 1000);
        hark_sup_end(s, 1);
    }
}

/* Those that could not begin, since their images were not to be had: again, or, if no host that has
 * one lives any more, dead, and the failure service looks for another checkpoint. At the end too:
 * nobody is there who could die. */
static void look_for_images(struct supervisor *s)
{
    char *address[HARK_SUP_HOLDERS];
    for (uint32_t i = 0; i < s->count; i++) {
        struct child *c = &s->child[i];
        if (!c->lacks_image || c->ended || c->host->lost) continue;
        c->lacks_image = false;
        if (s->phase == RUNNING && !s->signal && hark_sup_holders(c, c->checkpoint, address)) {
            say_lacks(c);
            if (s->phase == RUNNING) {
                (void)hark_sup_spawn(c);
                continue;
            }
        }
        c->ended = s->deaths_due = true;
        c->status = SIGKILL;
    }
}

/* More and more seldom: it may be gone for long. */
static void try_again(struct host *h)
{
    h->try_at = hark_lease_now() + (TRY_NS << (h->tries < 5 ? h->tries : 5));
    h->tries++;
    hark_sup_launch_again(h);
}

/* Not at once: mostly its agent has another connection soon. */
static void look_at_cut(struct host *h, uint64_t now)
{
    const uint64_t timeout = h->s->o->host_timeout_ms * UINT64_C(1000000),
                   dead = h->heard + hark_lease_dead_ns(timeout);
    if (h->cut_at == 0 || h->cut_said || now < h->cut_at + timeout / 4 || now > dead) return;
    h->cut_said = true;
    hark_sup_say("host %s: the connection to its agent has ended (%s); its processes are taken for "
                 "dead in %.1f s, if it does not say anything before",
        h->name, h->cut_why, (double)(dead - now) / 1e9);
}

/* It may have said something since `now`, while a turn waited for a file. */
static uint64_t silent_for(const struct host *h, uint64_t now)
{
    return now > h->heard ? now - h->heard : 0;
}

void hark_sup_hosts_look(uv_timer_t *timer)
{
    struct supervisor *s = timer->data;
    const uint64_t now = hark_lease_now(),
                   dead = hark_lease_dead_ns(s->o->host_timeout_ms * UINT64_C(1000000)),
                   away = now - s->hosts_looked;
    s->hosts_looked = now;
    /* We were away ourselves: what they have said meanwhile has not been read yet. */
    if (away > 5 * uv_timer_get_repeat(timer) * UINT64_C(1000000)) return;
    for (uint32_t i = 0; i < s->o->hosts; i++) {
        struct host *h = &s->host[i];
        /* At the end nobody runs there, and what is waited for is that it cleans up. */
        if (h->ready && !h->lost && !h->done && s->fetched_at == 0 && silent_for(h, now) > dead)
            lose_silent(h, silent_for(h, now));
        else if (h->was_ready && !h->ready && !h->lost && silent_for(h, now) > dead) {
            hark_sup_host_part(h);
            hark_sup_host_lost_quietly(h);
        } else if (h->lost && now >= h->try_at && s->phase == RUNNING && !s->signal) try_again(h);
        else if (!h->lost && s->phase == RUNNING) look_at_cut(h, now);
        hark_sup_missed_look(h);
    }
    hark_sup_waves_look(s);
    hark_sup_flush_watch(s);
    look_for_images(s);
}
