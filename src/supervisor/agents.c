/* agents.c: the agents of other hosts, from the beginning of a job to its end. */
#include "internal.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../agent/lease.h"

#define LEAVE_MS                                                                                   \
    10000 /* at the end of a job, for an agent to send a piece of a file, or clean up */

#define FIND_MS 5000 /* for agents of a run that has died to find this one */

static bool make_hosts(struct supervisor *s)
{
    const uint32_t used = s->o->hosts - s->o->spares;
    s->host = calloc(s->o->hosts, sizeof *s->host);
    s->here = getcwd(NULL, 0);
    if (s->here == NULL && errno != ENOMEM) {
        hark_sup_say(
            "the working directory, in which processes begin on all hosts: %s", strerror(errno));
        hark_sup_end(s, 2);
        return false;
    }
    if (s->host == NULL || s->here == NULL) {
        hark_sup_say("no memory for %u hosts", s->o->hosts);
        return false;
    }
    for (uint32_t i = 0; i < s->o->hosts; i++)
        s->host[i] = (struct host){.s = s,
            .number = i,
            .name = s->o->host[i].name,
            .slots = s->o->host[i].slots,
            .spare = i >= used};
    return true;
}

static uint32_t count_ready(const struct supervisor *s)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->o->hosts; i++) count += s->host[i].ready && !s->host[i].lost;
    return count;
}

static bool all_ready(const struct supervisor *s)
{
    return s->came_up >= s->o->hosts && count_ready(s) == s->o->hosts;
}

static void say_missing(const struct supervisor *s)
{
    char hint[160];
    (void)hark_sup_launcher_hint(s, hint);
    for (uint32_t i = 0; i < s->o->hosts; i++)
        if (!s->host[i].ready && i < s->launched)
            hark_sup_say("host %s: its agent has not come up in %.0f s%s", s->host[i].name,
                (double)s->o->launch_ms / 1000, hint);
}

static void stop_waiting(uv_timer_t *timer)
{
    *(bool *)timer->data = true;
}

/* The run before has died, perhaps just now, and its agents end its processes when their leases are
 * over. Until then they may write to the stores. */
static void wait_for_leases(struct supervisor *s)
{
    const uint64_t lease_ms = hark_sup_missed_lease(s);
    uv_timer_t timer;
    bool over = lease_ms == 0;
    if (over) return;
    const uint64_t lease = hark_lease_dead_ns(lease_ms * UINT64_C(1000000)) / 1000000,
                   wait = hark_sup_takeover_left(s) && lease < FIND_MS ? FIND_MS : lease;
    if (hark_sup_takeover_left(s))
        hark_sup_say(
            "the run before did not end by itself; for %.1f s at the longest this one waits "
            "for its agents, to take over the processes that live",
            (double)wait / 1000);
    else
        hark_sup_say(
            "the run before did not end by itself; its processes may live for %.1f s more at the "
            "longest, then this one begins",
            (double)wait / 1000);
    uv_timer_init(&s->loop, &timer);
    timer.data = &over;
    uv_timer_start(&timer, stop_waiting, wait, 0);
    while (!over && s->phase == RUNNING && !s->signal && !hark_sup_takeover_has_all(s))
        uv_run(&s->loop, UV_RUN_ONCE);
    if (over || hark_sup_takeover_has_all(s)) hark_sup_missed_over(s);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&s->loop, UV_RUN_NOWAIT); /* the handle is ours until then */
}

/* False: not all have come up, and a line says why. */
static bool wait_for_agents(struct supervisor *s)
{
    uint64_t since = hark_lease_now(); /* the last one came up */
    for (uint32_t up = 0; hark_sup_launch(s) && !all_ready(s);) {
        uv_run(&s->loop, UV_RUN_ONCE);
        if (s->phase != RUNNING || s->signal) return false;
        if (s->came_up != up) since = hark_lease_now();
        up = s->came_up;
        if (hark_lease_now() - since < s->o->launch_ms * UINT64_C(1000000)) continue;
        say_missing(s);
        return false;
    }
    return all_ready(s);
}

/* All that had come have died since. Not all hosts need be there: theirs go to others. */
static bool start_again(struct supervisor *s)
{
    uint64_t since = hark_lease_now();
    hark_sup_say("no agent of the run before lives any more; others are started");
    for (uint32_t i = 0; i < s->o->hosts; i++) s->host[i].try_at = 0;
    for (uint32_t up = 0; up < s->o->hosts;) {
        uv_run(&s->loop, UV_RUN_ONCE);
        if (s->phase != RUNNING || s->signal) return false;
        if (count_ready(s) != up) since = hark_lease_now();
        up = count_ready(s);
        if (hark_lease_now() - since > (up ? FIND_MS : s->o->launch_ms) * UINT64_C(1000000)) break;
    }
    return true;
}

/* If its connection is cut just now, it has another one soon, or its lease is over. */
static bool is_settled(const struct host *h)
{
    return !h->adopted || h->lost || (h->ready && h->connection);
}

/* The agents of the run before that have come so far go on with us. Their processes, if no others,
 * have ended; so have those of other hosts, whose agents are started again as those of hosts that
 * have died. */
static bool wait_for_adopted(struct supervisor *s)
{
    for (bool all = false; !all;) {
        all = true;
        for (uint32_t i = 0; i < s->o->hosts; i++) all &= is_settled(&s->host[i]);
        if (!all) uv_run(&s->loop, UV_RUN_ONCE);
        if (s->phase != RUNNING || s->signal) return false;
    }
    hark_sup_takeover_give_up(s);
    for (uint32_t i = 0; i < s->o->hosts; i++) {
        struct host *h = &s->host[i];
        if (h->adopted) continue;
        hark_sup_say("host %s: no agent of the run before has come from there", h->name);
        h->was_ready = true;
        hark_sup_host_lost_quietly(h);
        h->try_at = 0;
    }
    s->launched = s->o->hosts;
    return count_ready(s) || start_again(s);
}

/* The run before may have had hosts. */
static bool open_alone(struct supervisor *s)
{
    if (hark_sup_missed_lease(s) == 0) return true;
    hark_sup_takeover_forget(s);
    wait_for_leases(s);
    return s->phase == RUNNING && !s->signal;
}

/* Without turns nobody would look. */
static void on_look(uv_timer_t *timer)
{
    struct supervisor *s = timer->data;
    if (s->turns && uv_is_active((uv_handle_t *)&s->turn)) s->hosts_due = true;
    else hark_sup_hosts_look(timer);
}

static bool open_hosts(struct supervisor *s)
{
    char error[200];
    struct hark_connection_config config = {.loop = &s->loop,
        .events = hark_sup_agent_events(s),
        .silent_ms = (uint32_t)s->o->host_timeout_ms};
    if (!make_hosts(s) || !hark_sup_missed_begin(s)) return false;
    randombytes_buf(s->agent_key, sizeof s->agent_key);
    do randombytes_buf(&s->run, sizeof s->run);
    while (s->run == 0);
    if (!hark_sup_takeover_open(s)) return false;
    memcpy(config.key, s->agent_key, sizeof config.key);
    uv_timer_init(&s->loop, &s->hosts_look);
    s->hosts_look.data = s;
    int status = hark_listener_open(
        &s->listener, &config, NULL, s->o->hosts > 128 ? s->o->hosts : 0, error); /* all at once */
    sodium_memzero(config.key, sizeof config.key);
    if (status < 0) {
        hark_sup_say("%s", error);
        return false;
    }
    const uint64_t period = hark_lease_period_ms(s->o->host_timeout_ms);
    s->hosts_looked = hark_lease_now();
    uv_timer_start(&s->hosts_look, on_look, period, period);
    hark_sup_takeover_call(s);
    wait_for_leases(s);
    if (!s->takes_over) hark_sup_takeover_give_up(s);
    bool ok = s->phase == RUNNING && !s->signal &&
              (s->takes_over ? wait_for_adopted(s) : wait_for_agents(s));
    if (ok) hark_sup_takeover_leave(s);
    return ok;
}

bool hark_sup_agents_open(struct supervisor *s)
{
    const bool ok = s->o->hosts ? open_hosts(s) : open_alone(s);
    if (!ok && s->phase == RUNNING) hark_sup_end(s, s->signal ? 128 + s->signal : 1);
    return ok;
}

/* Also those whose connection is cut just now: they have another one soon, or their lease is over
 * (hark_sup_hosts_look). */
static bool is_awaited(const struct host *h)
{
    return h->session_name && !h->lost && (!h->done || h->connection);
}

/* Nothing comes any more, and no host may still have another connection. */
static bool waited_enough(const struct supervisor *s)
{
    const uint64_t leave = LEAVE_MS * UINT64_C(1000000),
                   dead = hark_lease_dead_ns(s->o->host_timeout_ms * UINT64_C(1000000)),
                   since = hark_lease_now() - s->fetched_at;
    bool cut = false;
    for (uint32_t i = 0; i < s->o->hosts; i++)
        cut |= is_awaited(&s->host[i]) && s->host[i].connection == NULL;
    return since >= (cut && dead > leave ? dead : leave);
}

static bool all_done(const struct supervisor *s)
{
    for (uint32_t i = 0; i < s->o->hosts; i++)
        if (is_awaited(&s->host[i])) return false;
    return true;
}

/* The job is never resumed: it has no store that all share, or that says that it is done, however
 * its processes end then. */
static bool is_over(const struct supervisor *s)
{
    return s->o->store == NULL || s->done;
}

void hark_sup_agents_close(struct supervisor *s)
{
    struct hark_control m;
    if (s->host == NULL) return;
    s->fetched_at = hark_lease_now();
    for (uint32_t i = 0; i < s->o->hosts; i++) {
        hark_control_begin(&m, HARK_A_END);
        hark_control_put32(&m, s->o->trace || s->o->record);
        hark_control_put32(&m, is_over(s));
        hark_sup_host_say(&s->host[i], &m);
    }
    while (!all_done(s) && !waited_enough(s)) uv_run(&s->loop, UV_RUN_ONCE);
    const bool ended = all_done(s) && hark_sup_missed_lease(s) == 0;
    for (uint32_t i = 0; i < s->o->hosts; i++) {
        struct host *h = &s->host[i];
        if (is_awaited(h) && !h->done)
            hark_sup_say("host %s: its agent has not cleaned up in %d s", h->name, LEAVE_MS / 1000);
        hark_sup_host_part(h);
    }
    hark_sup_launchers_end(s); /* before it: late agents need not say that they do not reach us */
    if (s->listener) hark_listener_close(s->listener);
    hark_sup_takeover_close(s, ended);
    hark_sup_missed_end(s, ended);
    for (uint32_t i = 0; i < s->o->hosts; i++) {
        free(s->host[i].directory);
        free(s->host[i].spill);
        free(s->host[i].store_path);
        free(s->host[i].depot);
    }
    sodium_memzero(s->agent_key, sizeof s->agent_key);
}
