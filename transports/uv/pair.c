/* pair.c: the other processes: incarnations, meeting, losing and meeting again. */
#include "end.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heard.h"

#define BACKOFF_MOST  1000u /* milliseconds */
#define UNHEARD_LEAST 1000u /* the same */

struct pair *hark_uv_pair_get(struct end *e, uint32_t number)
{
    struct pair *p = e->pairs[number];
    if (p) return p;
    p = calloc(1, sizeof *p);
    if (!p) {
        e->trouble = hark_uv_failed(e, "cannot keep a peer", "", ENOMEM);
        return NULL;
    }
    p->e = e;
    p->number = number;
    p->rank = rank_of(e, number);
    uv_timer_init(&e->loop, &p->retry);
    p->retry.data = p;
    e->pairs[number] = p;
    return p;
}

static void renew(struct pair *p, uint32_t inc)
{
    if (p->attempt) hark_uv_conn_drop(p->attempt);
    if (p->conn) hark_uv_conn_drop(p->conn);
    uv_timer_stop(&p->retry);
    p->inc = inc;
    p->gen++;
    p->backoff = 0;
    p->address.length = 0;
    p->met = p->again = p->absent = false;
    hark_uv_reached(p);
    p->apart_since = 0;
    p->why = 0;
    hark_uv_out_reset(p);
    hark_uv_in_reset(p);
}

int hark_uv_pair_at(struct end *e, uint32_t number, uint32_t inc, struct pair **p)
{
    *p = hark_uv_pair_get(e, number);
    if (!*p) return HARK_T_ESYSTEM;
    if (inc < (*p)->inc) return HARK_T_EGONE;
    if (inc > (*p)->inc) renew(*p, inc);
    return HARK_T_OK;
}

/* ---- meeting --------------------------------------------------------------------------------- */

static void on_retry(uv_timer_t *timer)
{
    hark_uv_pair_pursue(timer->data);
}

static bool has_reason(const struct pair *p)
{
    return p->again || p->out.acked < p->out.end;
}

static void begin_apart(struct pair *p)
{
    struct end *e = p->e;
    if (p->apart_since) return;
    p->apart_since = uv_now(&e->loop) + 1; /* never 0 */
    if (uv_is_active((uv_handle_t *)&e->apart)) return;
    e->changed = true;
    uv_timer_start(&e->apart, hark_uv_pair_apart, e->deadline, 0);
}

void hark_uv_pair_pursue(struct pair *p)
{
    if (p->conn || p->attempt || p->address.length == 0 || uv_is_active((uv_handle_t *)&p->retry))
        return;
    if (!has_reason(p)) return;
    begin_apart(p);
    hark_uv_conn_connect(p);
}

void hark_uv_pair_retry(struct pair *p)
{
    if (p->conn || p->attempt || !has_reason(p)) return;
    begin_apart(p);
    p->backoff = p->backoff == 0                 ? 1
                 : p->backoff < BACKOFF_MOST / 2 ? 2 * p->backoff
                                                 : BACKOFF_MOST;
    p->e->changed = true;
    uv_timer_start(&p->retry, on_retry, p->backoff, 0);
}

void hark_uv_pair_join(struct pair *p, struct conn *c, uint64_t position)
{
    struct end *e = p->e;
    if (position < p->out.acked || position > p->out.high) {
        hark_uv_conn_refuse(c);
        return;
    }
    c->buffer = malloc(BUFFER_BYTES);
    if (!c->buffer) {
        e->trouble = hark_uv_failed(e, "cannot keep a connection", "", ENOMEM);
        hark_uv_conn_lost(c);
        return;
    }
    if (e->encrypts && !hark_uv_shake_guard(c)) return;
    if (c->state == CONN_WANT_PROOF) e->strangers--;
    if (p->attempt == c) p->attempt = NULL;
    c->state = CONN_JOINED;
    c->pair = p;
    c->need = HEAD_BYTES;
    p->conn = c;
    p->gen++;
    if (p->met) e->head.figures.reconnects++;
    p->met = true;
    p->again = p->absent = false;
    hark_uv_reached(p);
    p->apart_since = 0;
    p->why = 0;
    uv_timer_stop(&c->deadline);
    uv_timer_stop(&p->retry);
    if (position > p->out.acked) p->backoff = 0; /* the connection before brought something over */
    p->out.sent = position;
    p->in.told = p->in.position; /* by the handshake */
    p->in.ack_due = false;
    c->joined_at = p->in.position + position;
    (void)hark_uv_acked(p, position);
    hark_uv_greet(p, position);
    hark_uv_conn_watch(c, false);
    hark_uv_flush(p);
}

/* ---- out of reach ---------------------------------------------------------------------------- */

/* Where the system has a connection and the other has not answered yet, it may be busy for long. */
static bool is_apart(const struct pair *p)
{
    if (!p || !p->apart_since || p->apart_told || p->conn || !has_reason(p)) return false;
    return p->why || (p->attempt && p->attempt->state == CONN_CONNECTING);
}

/* For how long; 0: for less than the deadline. */
static uint64_t apart_for(const struct pair *p)
{
    const uint64_t now = uv_now(&p->e->loop) + 1;
    return now >= p->apart_since + p->e->deadline ? now - p->apart_since : 0;
}

/* For how long the other system has acknowledged nothing; 0: for less than is told. */
static uint64_t unheard_for(const struct pair *p)
{
    if (!p || !p->conn || p->apart_told || address_is_local(&p->address)) return 0;
    const unsigned milliseconds = hark_uv_unheard_for(p->conn->fd);
    return milliseconds >= UNHEARD_LEAST ? milliseconds : 0;
}

void hark_uv_pair_apart(uv_timer_t *timer)
{
    struct end *e = timer->data;
    uint64_t next = 0;
    for (uint32_t number = 0; number <= e->ranks; number++) {
        const struct pair *p = e->pairs[number];
        if (!is_apart(p)) continue;
        if (apart_for(p)) e->head.apart = e->apart_due = true;
        else if (next == 0 || p->apart_since < next) next = p->apart_since;
    }
    if (next == 0) return;
    e->changed = true;
    uv_timer_start(timer, hark_uv_pair_apart, next + e->deadline - (uv_now(&e->loop) + 1), 0);
}

bool hark_uv_apart(struct hark_transport *t, uint32_t *rank, uint64_t *milliseconds, char text[200])
{
    struct end *e = (struct end *)t;
    char address[ADDRESS_TEXT];
    for (uint32_t number = 0; number <= e->ranks; number++) {
        struct pair *p = e->pairs[number];
        const uint64_t apart = is_apart(p) ? apart_for(p) : 0;
        if ((*milliseconds = apart ? apart : unheard_for(p)) == 0) continue;
        p->apart_told = true;
        t->unreached++;
        *rank = p->rank;
        if (p->address.length) hark_uv_address_text(&p->address, address);
        else strcpy(address, "its address");
        snprintf(
            text, 200, "%.150s: %s", address, apart && p->why ? strerror(p->why) : "no answer");
        return true;
    }
    return e->head.apart = false;
}
