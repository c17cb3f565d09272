/* job.h: a whole job of cores that keep what struct hark_scmel is (scmel, team, camel), and around
 * them no more than their effects ask for: a network that the test lets go or holds, a payload log
 * each, the held and the handed up. Payloads are short texts, and what contributions are combined
 * to is those texts in a row: so a test reads who is in it, how often and where. */
#ifndef HARK_TEST_JOB_H
#define HARK_TEST_JOB_H

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hark/registry.h"

enum { JOB_RANKS = 9, JOB_WIRE = 128, JOB_KEPT = 16, JOB_TEXT = 16, JOB_BLOCK = 1 << 16 };

struct wire {
    uint32_t from, to, inc, length;
    char text[JOB_TEXT];
    uint8_t header[HARK_FRAGMENT];
};

struct entry { /* of a payload log */
    struct hark_name name;
    char text[JOB_TEXT];
};

struct job {
    const struct hark_protocol *protocol;
    uint32_t ranks;
    struct hark_config config[JOB_RANKS];
    struct hark *core[JOB_RANKS];
    struct wire wire[JOB_WIRE], held[JOB_RANKS][JOB_KEPT], inbox[JOB_RANKS][JOB_KEPT];
    uint32_t wires, helds[JOB_RANKS], inboxes[JOB_RANKS];
    bool cut[JOB_RANKS][JOB_RANKS]; /* from, to: what is on its way there stays so */
    struct entry log[JOB_RANKS][JOB_KEPT];
    uint32_t logs[JOB_RANKS];
    char sum[JOB_RANKS][JOB_TEXT];      /* what is being combined */
    struct hark_name answer[JOB_RANKS]; /* COMBINED is due */
    uint32_t inc[JOB_RANKS], re;
    bool back[JOB_RANKS]; /* told to go back */
    uint32_t retained[JOB_RANKS], replays, recovered;
    uint32_t discarded[JOB_RANKS], sent[JOB_RANKS][JOB_RANKS]; /* payloads; from, to */
    uint32_t carried[JOB_RANKS][JOB_RANKS];                    /* determinants along with them */
};

static struct hark_scmel *at(struct job *j, uint32_t who)
{
    return (struct hark_scmel *)(void *)j->core[who];
}

/* ---- the payload log ------------------------------------------------------------------------- */

static struct entry *entry(struct job *j, uint32_t who, const struct hark_name *name)
{
    for (uint32_t i = 0; i < j->logs[who]; i++)
        if (memcmp(&j->log[who][i].name, name, sizeof *name) == 0) return &j->log[who][i];
    return NULL;
}

static void keep(struct job *j, uint32_t who, const struct hark_name *name, const char *text)
{
    struct entry *e = entry(j, who, name);
    if (e == NULL) {
        assert_true(j->logs[who] < JOB_KEPT);
        e = &j->log[who][j->logs[who]++];
    }
    e->name = *name;
    memmove(e->text, text, strlen(text) + 1);
}

static void trim(struct job *j, uint32_t who, const struct hark_name *name)
{
    for (uint32_t i = j->logs[who]; i-- > 0;) {
        struct hark_name same = j->log[who][i].name;
        bool goes = same.ssn <= name->ssn;
        same.ssn = name->ssn;
        if (goes && memcmp(&same, name, sizeof same) == 0)
            j->log[who][i] = j->log[who][--j->logs[who]];
    }
}

static void combine(struct job *j, uint32_t who, const struct hark_name *name, uint32_t part)
{
    if (part != HARK_COMBINE_OPERAND) {
        keep(j, who, name, j->sum[who]);
        j->sum[who][0] = 0;
        if (part == HARK_COMBINE_REPLY) j->answer[who] = *name;
        return;
    }
    const struct entry *operand = entry(j, who, name);
    assert_non_null(operand);
    assert_true(strlen(j->sum[who]) + strlen(operand->text) < JOB_TEXT);
    strcat(j->sum[who], operand->text);
    if (name->way == HARK_IN && name->to == HARK_PROCESS) trim(j, who, name);
}

/* ---- effects --------------------------------------------------------------------------------- */

static void step(
    struct job *j, uint32_t who, struct hark_event e, const struct wire *frame, const char *text);

static void arrive(struct job *j, uint32_t who, const struct wire *w)
{
    struct hark_event e = {.type = HARK_ARRIVE};
    e.u.frame.header = (struct hark_bytes){w->header, w->length};
    step(j, who, e, w, w->text);
}

/* Each held frame again, once: it may be held again. */
static void offer(struct job *j, uint32_t who)
{
    struct wire again[JOB_KEPT];
    uint32_t n = j->helds[who];
    memcpy(again, j->held[who], n * sizeof *again);
    j->helds[who] = 0;
    for (uint32_t i = 0; i < n; i++) arrive(j, who, &again[i]);
}

/* The payload is the one in the log, or that of the event, `text`. */
static void transmit(struct job *j, uint32_t who, const struct hark_transmit *x, const char *text)
{
    const struct entry *e = entry(j, who, &x->name);
    assert_true(j->wires < JOB_WIRE);
    struct wire *w = &j->wire[j->wires++];
    *w = (struct wire){.from = who, .to = x->peer, .inc = x->inc, .length = x->header.length};
    memcpy(w->header, x->header.at, w->length);
    j->replays += x->replay;
    if (x->name.ssn == 0) return;
    if (e) text = e->text;
    assert_non_null(text);
    memcpy(w->text, text, strlen(text) + 1);
    j->sent[who][x->peer]++;
    j->carried[who][x->peer] += x->determinants;
}

static void persist(struct job *j, uint32_t who, const struct hark_fact *fact)
{
    struct hark_event e = {.type = HARK_STORED};
    e.u.stored.of = HARK_PERSIST;
    e.u.stored.ok = 1;
    e.u.stored.id = fact->id;
    e.u.stored.fact = fact->kind;
    step(j, who, e, NULL, NULL);
}

static void perform(struct job *j, uint32_t who, const struct hark_effect *x,
    const struct wire *frame, const char *text)
{
    switch (x->type) {
    case HARK_TRANSMIT: transmit(j, who, &x->u.transmit, text); break;
    case HARK_RETAIN:
        j->retained[who]++;
        keep(j, who, &x->u.retain.name, text);
        break;
    case HARK_TRIM: trim(j, who, &x->u.trim.name); break;
    case HARK_COMBINE: combine(j, who, &x->u.combine.name, x->u.combine.part); break;
    case HARK_DISCARD: j->discarded[who] += frame->header[1] == HARK_APP; break;
    case HARK_RECOVERED: j->recovered++; break;
    case HARK_ROLLBACK: j->back[who] = true; break;
    case HARK_HANDUP:
        assert_true(j->inboxes[who] < JOB_KEPT);
        j->inbox[who][j->inboxes[who]++] = *frame;
        break;
    case HARK_HOLD:
        assert_true(j->helds[who] < JOB_KEPT);
        j->held[who][j->helds[who]++] = *frame;
        break;
    case HARK_OFFER: offer(j, who); break;
    case HARK_PERSIST: persist(j, who, &x->u.persist); break;
    default: break;
    }
}

static void step(
    struct job *j, uint32_t who, struct hark_event e, const struct wire *frame, const char *text)
{
    struct hark_effect effects[HARK_EFFECTS_ROOM];
    static uint8_t pool[8][HARK_EFFECTS_BYTES];
    static int depth;
    struct hark_effects fx = {.at = effects,
        .room = HARK_EFFECTS_ROOM,
        .bytes = pool[depth],
        .bytes_room = HARK_EFFECTS_BYTES};
    int status;
    assert_true(depth < 7);
    depth++;
    do {
        status = hark_step(j->core[who], &e, &fx);
        assert_true(status == HARK_OK || status == HARK_MORE);
        assert_null(j->protocol->violated(j->core[who]));
        for (uint32_t i = 0; i < fx.count; i++) perform(j, who, &effects[i], frame, text);
        e = (struct hark_event){.type = HARK_CONTINUE};
    } while (status == HARK_MORE);
    if (j->answer[who].ssn) {
        e = (struct hark_event){.type = HARK_COMBINED};
        e.u.combined.name = j->answer[who];
        j->answer[who].ssn = 0;
        step(j, who, e, NULL, NULL);
    }
    depth--;
}

/* ---- what processes do ----------------------------------------------------------------------- */

static void send_text(struct job *j, uint32_t from, uint32_t to, const char *text)
{
    struct hark_event e = {.type = HARK_SEND};
    e.u.send.peer = to;
    step(j, from, e, NULL, text);
}

static void send_to(struct job *j, uint32_t from, uint32_t to)
{
    send_text(j, from, to, "");
}

/* To a group: a multicast of its root, or a contribution. */
static void send_group(struct job *j, uint32_t from, uint16_t group, const char *text)
{
    struct hark_event e = {.type = HARK_SEND};
    e.u.send.peer = e.u.send.ctx = group;
    e.u.send.to = HARK_GROUP;
    step(j, from, e, NULL, text);
}

/* Takes the first message of `from`, which must be there, and says what is in it. */
static const char *take(struct job *j, uint32_t who, uint32_t from)
{
    struct hark_event e = {.type = HARK_DELIVER};
    static struct wire w;
    uint32_t i = 0;
    while (i < j->inboxes[who] && hark_get32(j->inbox[who][i].header + 4) != from) i++;
    assert_true(i < j->inboxes[who]);
    w = j->inbox[who][i];
    memmove(&j->inbox[who][i], &j->inbox[who][i + 1], (j->inboxes[who] - i - 1) * sizeof w);
    j->inboxes[who]--;
    e.u.frame.header = (struct hark_bytes){w.header, w.length};
    step(j, who, e, NULL, NULL);
    return w.text;
}

static void idle(struct job *j, uint32_t who)
{
    struct hark_event e = {.type = HARK_IDLE};
    step(j, who, e, NULL, NULL);
}

/* ---- what the network does ------------------------------------------------------------------- */

static struct wire unwire(struct job *j, uint32_t i)
{
    struct wire w = j->wire[i];
    memmove(&j->wire[i], &j->wire[i + 1], (j->wires - i - 1) * sizeof w);
    j->wires--;
    return w;
}

/* What arrives next, of what is not cut: the first, or with `order` -1 the last; j->wires: nothing.
 */
static uint32_t next_wire(const struct job *j, int order)
{
    uint32_t next = j->wires;
    for (uint32_t i = 0; i < j->wires; i++)
        if (!j->cut[j->wire[i].from][j->wire[i].to] && (order < 0 || next == j->wires)) next = i;
    return next;
}

/* The network empties itself, but for what is cut. What an earlier self was meant to get is lost.
 */
static void settle(struct job *j, int order)
{
    for (uint32_t i; (i = next_wire(j, order)) < j->wires;) {
        struct wire w = unwire(j, i);
        if (w.inc == j->inc[w.to]) arrive(j, w.to, &w);
    }
}

/* What `from` has on its way is lost. */
static void lose(struct job *j, uint32_t from)
{
    for (uint32_t i = j->wires; i-- > 0;)
        if (j->wire[i].from == from) unwire(j, i);
}

/* ---- how it begins, and who goes back -------------------------------------------------------- */

static void core_make(struct job *j, uint32_t who)
{
    free(j->core[who]);
    j->core[who] = malloc(JOB_BLOCK);
    assert_int_equal(j->protocol->init(j->core[who], JOB_BLOCK, &j->config[who]), HARK_OK);
}

/* No cores yet: the configuration of each may be changed before core_make. */
static struct job *job_new(const char *protocol, uint32_t ranks)
{
    struct job *j = calloc(1, sizeof *j);
    assert_true(j != NULL && ranks <= JOB_RANKS);
    j->protocol = hark_protocol_named(protocol);
    j->ranks = ranks;
    for (uint32_t i = 0; i < ranks; i++)
        j->config[i] = (struct hark_config){.me = i, .ranks = ranks};
    return j;
}

static void job_free(struct job *j)
{
    for (uint32_t i = 0; i < j->ranks; i++) free(j->core[i]);
    free(j);
}

/* A new incarnation, from the beginning; `kept`: what it may know of its earlier self. */
static void restart(struct job *j, uint32_t rank, struct hark_bytes kept)
{
    struct hark_event e = {.type = HARK_RESTARTED};
    j->inboxes[rank] = j->helds[rank] = j->logs[rank] = 0;
    j->sum[rank][0] = 0;
    core_make(j, rank);
    e.u.restarted.re = j->re;
    e.u.restarted.inc = j->inc[rank];
    e.u.restarted.old_core = kept;
    step(j, rank, e, NULL, NULL);
}

/* The next announcement: all of `down` become new incarnations. Good until the one after it, and as
 * long as `down`. */
static struct hark_event failed(struct job *j, const uint32_t *down, uint32_t count)
{
    static struct hark_incarnation inc[JOB_RANKS];
    struct hark_event e = {.type = HARK_FAILED};
    e.u.failed.re = ++j->re;
    e.u.failed.down = down;
    e.u.failed.down_count = count;
    e.u.failed.inc = inc;
    for (uint32_t i = 0; i < count; i++) j->inc[down[i]]++;
    for (uint32_t i = 0; i < j->ranks; i++)
        if (j->inc[i]) inc[e.u.failed.inc_count++] = (struct hark_incarnation){i, j->inc[i]};
    return e;
}

static void announce(struct job *j, struct hark_event e)
{
    for (uint32_t i = 0; i < j->ranks; i++) step(j, i, e, NULL, NULL);
}

/* One dies, which makes nobody else go back. */
static void crash(struct job *j, uint32_t rank)
{
    struct hark_event e = failed(j, &rank, 1);
    restart(j, rank, (struct hark_bytes){NULL, 0});
    announce(j, e);
}

#endif
