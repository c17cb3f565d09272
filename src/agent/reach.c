/* reach.c: an agent's connection to its supervisor: the first one, others when it is cut, and the
 * lease (lease.h), whose end is also that of the processes here.
 *
 * Before it has a job an agent tries each address once. Later it tries again and again, until its
 * lease is over; nothing that was said is lost then (session.h).
 */
#include "state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_MS 30000 /* for one address of the supervisor, at first */
#define IN_VAIN    4u    /* looks for who takes over, before it is believed that nobody will */
#define LEAST_NS   UINT64_C(400000000) /* unanswered: what a busy supervisor may need */

static void try_next(struct agent *a, const char *why);

const char *hark_agent_name(const struct agent *a)
{
    return a->name[0] ? a->name : a->own;
}

static void put_names(const struct agent *a, struct hark_control *m)
{
    const char *node = getenv("SLURMD_NODENAME");
    hark_control_puts(m, a->name, strlen(a->name));
    hark_control_put32(m, node ? 2 : 1);
    if (node) hark_control_puts(m, node, strlen(node));
    hark_control_puts(m, a->own, strlen(a->own));
}

/* It takes the place of the one before, if there was one: the session goes on over it. */
static void opened(void *self, struct hark_connection *c)
{
    struct agent *a = self;
    struct hark_control m;
    if (a->connection) hark_connection_close(a->connection, false);
    hark_session_part(&a->session);
    a->connection = c;
    a->attempt = NULL;
    a->attempts = 0;
    a->good = (a->good + a->tried - 1) % a->supervisors;
    a->since = hark_lease_now();
    a->joined = false;
    hark_control_begin(&m, HARK_A_HELLO);
    hark_control_put32(&m, HARK_AGENT_VERSION);
    hark_control_put64(&m, a->job.session);
    hark_control_put64(&m, a->session.heard);
    hark_control_put32(&m, ++a->opened);
    put_names(a, &m);
    hark_control_put32(&m, (uint32_t)getpid());
    hark_control_put64(&m, a->job.run);
    hark_control_end(&m);
    if (!m.bad) (void)hark_connection_say(c, m.at, m.length);
    hark_control_free(&m);
}

static int send_bytes(void *to, const void *at, size_t length)
{
    return hark_connection_say(to, at, length);
}

static void join(struct agent *a, uint64_t heard)
{
    a->joined = true;
    if (!hark_session_join(&a->session, send_bytes, a->connection, heard)) hark_agent_leave(a, 3);
}

/* ---- another one ----------------------------------------------------------------------------- */

static void begin_again(uv_timer_t *timer)
{
    struct agent *a = timer->data;
    a->tried = 0;
    a->attempts++;
    if (!a->cleaning && a->attempt == NULL) try_next(a, "");
}

/* What TCP has sent in vain it sends again more and more seldom: a new connection is sooner. The
 * old one stays until that is there. */
static void look(struct agent *a)
{
    if (a->stopped && a->looks_in_vain >= IN_VAIN) {
        fprintf(stderr,
            "hark agent: %s: the job goes on without this host, or has ended; its processes are "
            "ended\n",
            hark_agent_name(a));
        hark_agent_leave(a, 3);
        return;
    }
    if (a->stopped && hark_takeover_look(a)) { /* one takes over: it is to be found
                                                * there
                                                */
        if (a->attempt) hark_connection_close(a->attempt, false);
        a->attempt = NULL;
        a->attempts = 0;
        uv_timer_stop(&a->again);
    }
    const uint64_t fifth = a->lease.ns / 5, now = hark_lease_now(),
                   patience = fifth > LEAST_NS ? fifth : LEAST_NS,
                   since = a->lease.answered > a->since ? a->lease.answered : a->since;
    const bool broken = a->joined && a->session.to == NULL; /* no memory for what was said */
    if (a->connection && !broken && now - since < patience) {
        if (a->attempt) hark_connection_close(a->attempt, false); /* it is answered again */
        a->attempt = NULL;
    } else if (a->attempt == NULL && !uv_is_active((uv_handle_t *)&a->again)) {
        begin_again(&a->again);
    }
}

/* ---- the lease ------------------------------------------------------------------------------- */

static void set_fence(struct agent *a);

/* With a supervisor timeout processes are stopped then, and the janitor, which ends them when the
 * lease is over, is told only then that it may wait: it can not stop them. */
static uint64_t last_at(const struct agent *a)
{
    return hark_lease_end(&a->lease) + a->job.wait_ms * UINT64_C(1000000);
}

static void on_fence(uv_timer_t *timer)
{
    struct agent *a = timer->data;
    const uint64_t now = hark_lease_now();
    if (a->job.wait_ms && now >= hark_lease_stop(&a->lease) && !a->stopped) {
        hark_takeover_stop(a);
        if (!a->done)
            fprintf(stderr,
                "hark agent: %s: hark run has not answered for %" PRIu64
                " ms; the processes of this host are stopped, and wait for %" PRIu32
                " s for a hark run --resume that takes them over\n",
                hark_agent_name(a), (now - a->lease.answered) / 1000000, a->job.wait_ms / 1000);
    }
    if (now < last_at(a)) {
        set_fence(a);
        return;
    }
    if (!a->done)
        fprintf(stderr,
            "hark agent: %s: hark run has not answered for %" PRIu32
            " ms; the processes of this host are ended, for others take their places\n",
            hark_agent_name(a), a->job.lease_ms + a->job.wait_ms);
    hark_agent_leave(a, 3);
}

static void set_fence(struct agent *a)
{
    const uint64_t now = hark_lease_now(), end = last_at(a),
                   next = a->job.wait_ms && !a->stopped ? hark_lease_stop(&a->lease) : end;
    uv_timer_start(&a->fence, on_fence, next > now ? (next - now) / 1000000 + 1 : 0, 0);
    hark_janitor_lease(&a->janitor, a->stopped ? end : hark_lease_end(&a->lease));
}

/* The supervisor has not given us up, and what it has answered to is not long ago. */
static void renewed(struct agent *a)
{
    if (a->stopped && !a->adopted && hark_lease_now() < hark_lease_stop(&a->lease))
        hark_takeover_go_on(a);
    set_fence(a);
}

static void on_beat(uv_timer_t *timer)
{
    struct agent *a = timer->data;
    struct hark_control m;
    hark_control_begin(&m, HARK_A_BEAT);
    hark_control_put64(&m, hark_lease_beat(&a->lease, hark_lease_now()));
    hark_control_put64(&m, uv_hrtime());
    hark_agent_mention(a, &m);
    look(a);
}

static void begin_lease(struct agent *a)
{
    hark_lease_begin(&a->lease, a->job.lease_ms * UINT64_C(1000000), hark_lease_now());
    uv_timer_start(&a->beat, on_beat, 0, hark_lease_period_ms(a->job.lease_ms));
    set_fence(a);
}

/* ---- what comes ------------------------------------------------------------------------------ */

/* The first message on a connection is of the connection, and not of the session. */
static void take_first(struct agent *a, struct hark_control *m)
{
    const uint64_t heard = m->type == HARK_A_JOINED ? hark_control_get64(m) : 0;
    if (m->type == HARK_A_JOB && !a->has_job) {
        a->has_job = true;
        join(a, 0);
        if (hark_agent_take_job(a, m)) begin_lease(a);
    } else if (m->type == HARK_A_JOINED && a->has_job && !m->bad) {
        join(a, heard);
        hark_lease_heard(&a->lease, a->since); /* HELLO is as good as a beat */
        renewed(a);
    } else if (m->type == HARK_A_ADOPTED && a->has_job) {
        if (!hark_agent_take_over(a, m)) {
            hark_agent_leave(a, 3);
            return;
        }
        join(a, 0);
        begin_lease(a);
    } else if (m->type == HARK_A_GONE) {
        fprintf(stderr,
            "hark agent: %s: hark run has taken this host for dead; its processes are ended, "
            "for others have taken their places\n",
            hark_agent_name(a));
        hark_agent_leave(a, 3);
    }
}

static void on_answer(struct agent *a, struct hark_control *m)
{
    hark_lease_answer(&a->lease, hark_control_get64(m));
    renewed(a);
}

static void on_go_on(struct agent *a)
{
    hark_takeover_serve(a);
    renewed(a); /* not if this has lain here until the lease was over */
}

static void message(void *self, struct hark_connection *c, const uint8_t *at, size_t length)
{
    struct agent *a = self;
    struct hark_control m;
    const bool first = !a->joined, wanted = first || hark_session_take(&a->session, &at, &length);
    (void)c;
    if (wanted && !a->cleaning && hark_control_parse(&m, at, length) == (long)length) {
        if (first) take_first(a, &m);
        else if (m.type == HARK_A_ANSWER) on_answer(a, &m);
        else if (m.type == HARK_A_GO_ON) on_go_on(a);
        else hark_agent_serve(a, &m);
    }
    if (!first && !a->cleaning) hark_agent_confirmed(a);
}

/* ---- it ends, and begins -------------------------------------------------------------------- */

/* The job is here, and its processes run as long as the lease. */
static bool has_lease(const struct agent *a)
{
    return a->lease.ns != 0;
}

static void closed(void *self, struct hark_connection *c, const char *why)
{
    struct agent *a = self;
    if (c == a->attempt) {
        a->attempt = NULL;
        if (!a->cleaning) try_next(a, why);
        return;
    }
    a->connection = NULL;
    a->joined = false;
    hark_session_part(&a->session);
    if (a->cleaning) return;
    if (has_lease(a)) { /* and until it is over */
        look(a);
        return;
    }
    if (!a->has_job && !a->name[0]) /* else hark run has said why it ends */
        fprintf(stderr, "hark agent: %s: the connection to hark run has ended (%s)\n",
            hark_agent_name(a), why);
    hark_agent_leave(a, 3);
}

/* Mostly it is there at once, or what was sent is lost; but it may be far away too. */
static uint32_t patience_ms(const struct agent *a)
{
    return has_lease(a) ? 200u << a->attempts % 4 : CONNECT_MS;
}

static void try_next(struct agent *a, const char *why)
{
    struct hark_connection_config config = {.loop = &a->loop,
        .events = {a, opened, message, NULL, closed},
        .handshake_ms = patience_ms(a),
        .silent_ms = a->silent_ms};
    char error[200];
    memcpy(config.key, a->key, sizeof config.key);
    while (a->tried < a->supervisors) {
        const char *address = a->supervisor[(a->good + a->tried++) % a->supervisors];
        if (hark_connection_begin(&a->attempt, &config, address, error) == 0) return;
        why = error;
    }
    if (has_lease(a)) {
        uv_timer_start(&a->again, begin_again, hark_lease_period_ms(a->job.lease_ms), 0);
        return;
    }
    fprintf(stderr, "hark agent: %s: cannot reach hark run at %s%s: %s\n", hark_agent_name(a),
        a->supervisor[0], a->supervisors > 1 ? " or its other addresses" : "", why);
    hark_agent_leave(a, 1);
}

void hark_agent_reach(struct agent *a)
{
    (void)gethostname(a->own, sizeof a->own - 1);
    try_next(a, "");
}
