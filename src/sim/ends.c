/* ends.c: how a simulation ended: a stall, or ends; are they those of the programs without
 * failures? */
#include <stdlib.h>
#include <string.h>

#include "parts.h"

enum { NAMED = 6 };

static void say_one(const struct sim *s, uint32_t who, char *text, size_t room)
{
    const struct sim_process *p = &s->p[who];
    int n = snprintf(text, room, "\n  process %u, iteration %u: ", who, p->at.iteration + 1);
    if (n < 0 || (size_t)n >= room) return;
    text += n;
    room -= (size_t)n;
    switch (p->state) {
    case STATE_WAITS: snprintf(text, room, "waits for a message from %u", p->want); break;
    case STATE_CALL: snprintf(text, room, "waits in a checkpoint call"); break;
    case STATE_DOWN: snprintf(text, room, "is down"); break;
    default: snprintf(text, room, "its core lets it make no step"); break;
    }
}

void sim_say_stall(struct sim *s)
{
    char text[SIM_ERROR * 4 - 128] = "";
    uint32_t named = 0, waits = s->ranks - s->ended;
    const struct hark_event quiet = {.type = HARK_QUIET};
    for (uint32_t i = 0; i < s->ranks && !s->failed; i++)
        if (s->p[i].state != STATE_DOWN) (void)sim_step(s, i, &quiet, SIM_NONE);
    for (uint32_t i = 0; i < s->ranks && named < NAMED; i++) {
        if (s->p[i].state == STATE_ENDED) continue;
        size_t at = strlen(text);
        say_one(s, i, text + at, sizeof text - at);
        named++;
    }
    sim_fail(s,
        "nothing can happen any more, and %u of %u processes are not at their end (%llu "
        "divergences)%s%s",
        waits, s->ranks, (unsigned long long)s->r->diverged, text, waits > named ? "\n  ..." : "");
}

/* ---- the failure-free ends ------------------------------------------------------------------- */

struct counts {     /* of each source, for one process after the other */
    uint32_t *of;   /* the process + 1 that the slot belongs to */
    uint64_t *from; /* see sim_source() */
    uint64_t *ssn;
    uint64_t slots, used;
};

static bool counts_make(struct counts *c, uint64_t slots)
{
    *c = (struct counts){.of = calloc(slots, sizeof *c->of),
        .from = malloc(slots * sizeof *c->from),
        .ssn = malloc(slots * sizeof *c->ssn),
        .slots = slots};
    return c->of && c->from && c->ssn;
}

static void counts_free(struct counts *c)
{
    free(c->of);
    free(c->from);
    free(c->ssn);
}

static uint64_t *slot_of(struct counts *c, uint64_t from, uint32_t who)
{
    uint64_t i = sim_mix(from, 1) & (c->slots - 1);
    while (c->of[i] == who + 1 && c->from[i] != from) i = (i + 1) & (c->slots - 1);
    if (c->of[i] != who + 1) {
        c->of[i] = who + 1;
        c->from[i] = from;
        c->ssn[i] = 0;
        c->used++;
    }
    return &c->ssn[i];
}

static bool counts_grow(struct counts *c, uint32_t who)
{
    struct counts more;
    if (!counts_make(&more, c->slots * 2)) {
        counts_free(&more);
        return false;
    }
    for (uint64_t i = 0; i < c->slots; i++)
        if (c->of[i] == who + 1) *slot_of(&more, c->from[i], who) = c->ssn[i];
    counts_free(c);
    *c = more;
    return true;
}

struct end {
    uint64_t delivered; /* digest of what a process delivers */
    uint64_t meant;     /* the same, of multicasts by their groups and not by who brings them, and
                           without reductions */
};

static bool note(struct counts *c, uint32_t who, uint64_t from, uint64_t source, uint64_t length,
    uint64_t *digest)
{
    if (c->used * 2 >= c->slots && !counts_grow(c, who)) return false;
    *digest = sim_digest(*digest, from, ++*slot_of(c, source, who), length);
    return true;
}

/* What the program of `who` delivers, from the first iteration to the last: nothing but the pattern
 * says so. */
static bool end_of(struct sim *s, uint32_t who, struct counts *c, struct end *e)
{
    const uint64_t meant = UINT64_C(1) << 62, multicast = UINT64_C(1) << 63; /* sources of their own
                                                                              */
    bool trees = s->pattern->maker->group != NULL;
    struct sim_op op;
    *e = (struct end){0, 0};
    c->used = 0;
    for (uint32_t k = 0; k < s->o->iterations; k++)
        for (uint64_t place = sim_pattern_op(s->pattern, who, k, 0, &op); op.kind != SIM_END;
             place = sim_pattern_op(s->pattern, who, k, place, &op)) {
            if (op.kind != SIM_RECEIVE) continue;
            uint64_t from = sim_source(op.peer, op.ctx),
                     by = op.part == SIM_MULTICAST ? multicast | op.group : meant | op.peer;
            if (!note(c, who, from, from, op.length, &e->delivered)) return false;
            if (trees && op.part != SIM_REDUCTION &&
                !note(c, who, by & UINT32_MAX, by, op.length, &e->meant))
                return false;
            s->r->wanted++;
        }
    if (!trees) e->meant = e->delivered;
    return true;
}

static void check_core(struct sim *s, uint32_t who)
{
    const struct sim_process *p = &s->p[who];
    const struct hark_protocol *protocol = sim_protocol(s, who);
    char name[32];
    snprintf(name, sizeof name, who == s->ranks ? "the recovery process" : "process %u", who);
    const char *broken = protocol->violated(p->core);
    if (broken) sim_fail(s, "%s: %s", name, broken);
    broken = protocol->unrest(p->core);
    if (broken) sim_fail(s, "%s, at the end: %s", name, broken);
    if (p->inbox.head != SIM_NONE)
        sim_fail(s,
            "%s, at the end: a message of %u was handed up that its program does not receive", name,
            sim_from(s, sim_frame(s, p->inbox.head)));
    if (p->held.head != SIM_NONE)
        sim_fail(s, "%s, at the end: a frame of %u is held", name,
            sim_from(s, sim_frame(s, p->held.head)));
}

void sim_check_ends(struct sim *s)
{
    struct counts c;
    struct end end;
    if (!counts_make(&c, 64)) sim_no_memory(s);
    for (uint32_t i = 0; i < s->who && !s->failed; i++) {
        check_core(s, i);
        if (i == s->ranks || s->failed) continue;
        if (!end_of(s, i, &c, &end)) sim_no_memory(s);
        else if (end.delivered != s->p[i].digest)
            sim_fail(s,
                "I4: process %u has not delivered what its program receives without failures", i);
        s->r->digest = sim_mix(s->r->digest, end.meant);
    }
    if (hark_service_down(s->service) && !s->failed)
        sim_fail(s, "recovery never ends: %u processes still count as down",
            hark_service_down(s->service));
    counts_free(&c);
}
