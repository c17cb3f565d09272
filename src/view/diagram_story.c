/* diagram_story.c: from records to messages, marks and spans.
 *
 * A message has one name (sender, receiver, ctx, ssn) but may be transmitted several times, and a
 * process may deliver it once in each of its lives. A transmission and a reception are taken
 * together when they have the name in common, the incarnations agree, and the transmission is the
 * latest one before.
 */
#include <stdlib.h>
#include <string.h>

#include "diagram.h"

#define CHAIN_MOST       64    /* older transmissions of one name that are looked at */
#define CHECKPOINTS_MOST 4096u /* marks that are looked back for a checkpoint */

struct name {
    uint64_t ssn;
    uint32_t from, to;
    uint32_t ctx;
    uint32_t newest; /* transmission, or DG_NONE */
    uint64_t posted;
    uint32_t posted_inc;
    bool used;
};

struct life {       /* a process, while the records are read */
    uint64_t since; /* of this incarnation, or DG_NEVER: it is dead */
    uint64_t first; /* record of this rank */
    uint64_t died;
    uint64_t redo; /* re-executes since, or DG_NEVER */
    uint64_t phase;
    uint32_t newest; /* mark of this rank, or DG_NONE */
    bool finished;   /* it is not alive because it was done */
};

struct telling {
    struct dg_story *s;
    struct name *name;
    uint32_t names, name_room;
    uint32_t message_room, mark_room, span_room, phase_room;
    struct life *life;
    uint32_t *cluster; /* of each rank, by its lowest */
    uint32_t *before;  /* the mark before, of the same rank; as long as s->mark */
    uint32_t before_room;
    bool full;
};

/* The array with room for one more; the array as it was, and t->full, if there is no memory or the
 * indices cannot count so many. */
static void *roomier(struct telling *t, void *array, uint32_t count, uint32_t *most, size_t size)
{
    if (count < *most) return array;
    uint32_t wanted = *most ? *most * 2 : 256;
    void *more = wanted < (1u << 30) ? realloc(array, wanted * size) : NULL;
    if (more == NULL) {
        t->full = true;
        return array;
    }
    *most = wanted;
    return more;
}

uint32_t hark_diagram_cluster(const struct hark_trace *trace, uint32_t rank)
{
    return trace->job.cluster != NULL ? trace->job.cluster[rank] : 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

static uint64_t hash(uint32_t from, uint32_t to, uint32_t ctx, uint64_t ssn)
{
    uint64_t h = ssn * 0x9e3779b97f4a7c15u ^ ((uint64_t)from << 32 | to);
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u + ctx;
    return (h ^ h >> 32) * 0x94d049bb133111ebu >> 16;
}

static struct name *probe(
    const struct telling *t, uint32_t from, uint32_t to, uint32_t ctx, uint64_t ssn)
{
    uint32_t i = (uint32_t)hash(from, to, ctx, ssn) & (t->name_room - 1);
    for (;; i = (i + 1) & (t->name_room - 1)) {
        struct name *n = &t->name[i];
        if (!n->used || (n->ssn == ssn && n->from == from && n->to == to && n->ctx == ctx))
            return n;
    }
}

static bool grow_names(struct telling *t)
{
    struct name *old = t->name;
    uint32_t count = t->name_room;
    struct name *more =
        count < (1u << 30) ? calloc(count ? (size_t)count * 2 : 1024, sizeof *more) : NULL;
    if (more == NULL) {
        t->full = true;
        return false;
    }
    t->name = more;
    t->name_room = count ? count * 2 : 1024;
    for (uint32_t i = 0; i < count; i++)
        if (old[i].used) *probe(t, old[i].from, old[i].to, old[i].ctx, old[i].ssn) = old[i];
    free(old);
    return true;
}

/* The name of a record of a sender (or of a receiver); NULL if there is none and `make` is false.
 */
static struct name *find(
    struct telling *t, const struct hark_trace_record *r, bool sender, bool make)
{
    uint32_t from = sender ? r->rank : r->peer, to = sender ? r->peer : r->rank;
    uint32_t ranks = t->s->trace->job.ranks;
    if (from >= ranks || to >= ranks || r->ssn == 0) return NULL; /* control frames have no names */
    if (make && t->names * 2 >= t->name_room && !grow_names(t)) return NULL;
    if (t->name_room == 0) return NULL;
    struct name *n = probe(t, from, to, r->ctx, r->ssn);
    if (n->used) return n;
    if (!make) return NULL;
    *n = (struct name){.ssn = r->ssn,
        .from = from,
        .to = to,
        .ctx = r->ctx,
        .newest = DG_NONE,
        .posted = DG_NEVER,
        .used = true};
    t->names++;
    return n;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void post(struct telling *t, const struct hark_trace_record *r)
{
    struct name *n = find(t, r, true, true);
    if (n == NULL) return;
    n->posted = r->time;
    n->posted_inc = r->inc;
}

/* A control frame is known in schedules only: what became of it is said there. */
static void control(struct telling *t, const struct hark_trace_record *r)
{
    struct dg_story *s = t->s;
    uint32_t record = (uint32_t)(r - s->trace->record);
    if (s->schedule == NULL || r->rank >= s->trace->job.ranks || r->peer >= s->trace->job.ranks)
        return;
    uint64_t got = s->schedule->word[record].got;
    s->message = roomier(t, s->message, s->messages, &t->message_room, sizeof *s->message);
    if (t->full) return;
    s->message[s->messages++] = (struct dg_message){.posted = r->time,
        .sent = r->time,
        .arrived = got,
        .got = got,
        .from = r->rank,
        .to = r->peer,
        .older = DG_NONE,
        .record = record,
        .fate = got == DG_NEVER ? DG_FLYING : DG_DELIVERED,
        .class = DG_CONTROL};
}

static void transmit(struct telling *t, const struct hark_trace_record *r)
{
    struct dg_story *s = t->s;
    if (r->ssn == 0) {
        control(t, r);
        return;
    }
    struct name *n = find(t, r, true, true);
    if (n == NULL) return;
    s->message = roomier(t, s->message, s->messages, &t->message_room, sizeof *s->message);
    if (t->full) return;
    bool replay = r->kind == HARK_TRACE_REPLAY;
    bool inter =
        t->cluster[r->rank] != t->cluster[r->peer] || (s->schedule != NULL && s->schedule->plain);
    struct dg_message m = {.sent = r->time,
        .arrived = DG_NEVER,
        .got = DG_NEVER,
        .ssn = r->ssn,
        .phase = r->phase,
        .bytes = r->bytes,
        .from = r->rank,
        .to = r->peer,
        .from_inc = r->inc,
        .meant = r->peer_inc,
        .older = n->newest,
        .record = (uint32_t)(r - s->trace->record),
        .ctx = r->ctx,
        .class = replay  ? DG_REPLAY
                 : inter ? DG_INTER
                         : DG_INTRA,
        .meant_known = (r->flags & HARK_TRACE_PEER_INC) != 0};
    m.posted = !replay && n->posted != DG_NEVER && n->posted_inc == r->inc ? n->posted : r->time;
    n->newest = s->messages;
    s->message[s->messages++] = m;
}

static bool fits(const struct dg_message *m, const struct hark_trace_record *r)
{
    if (m->meant_known && m->meant != r->inc) return false;
    return !(r->flags & HARK_TRACE_PEER_INC) || r->peer_inc == m->from_inc;
}

/* The transmission that this reception ends. `fate` is what it may be so far. */
static struct dg_message *transmission(
    struct telling *t, const struct name *n, const struct hark_trace_record *r, enum dg_fate fate)
{
    uint32_t i = n->newest;
    for (int k = 0; i != DG_NONE && k < CHAIN_MOST; k++, i = t->s->message[i].older) {
        struct dg_message *m = &t->s->message[i];
        if (m->fate != fate || !fits(m, r)) continue;
        if (fate == DG_FLYING || m->to_inc == r->inc) return m;
    }
    return NULL;
}

static void receive(struct telling *t, const struct hark_trace_record *r)
{
    const struct name *n = find(t, r, false, false);
    if (n == NULL) return;
    struct dg_message *m = r->kind == HARK_TRACE_ARRIVE ? NULL : transmission(t, n, r, DG_ARRIVED);
    if (m == NULL) m = transmission(t, n, r, DG_FLYING);
    if (m == NULL) return; /* delivered out of an image, or the transmission was not recorded */
    if (m->fate == DG_FLYING) m->arrived = r->time;
    m->got = r->time;
    m->to_inc = r->inc;
    m->fate = r->kind == HARK_TRACE_ARRIVE    ? DG_ARRIVED
              : r->kind == HARK_TRACE_DELIVER ? DG_DELIVERED
                                              : DG_DISCARDED;
}

/* ---- marks, spans, phases -------------------------------------------------------------------- */

static void add_span(
    struct telling *t, uint32_t rank, uint64_t from, uint64_t to, enum dg_span_kind kind)
{
    struct dg_story *s = t->s;
    if (to < from) return;
    s->span = roomier(t, s->span, s->spans, &t->span_room, sizeof *s->span);
    if (!t->full) s->span[s->spans++] = (struct dg_span){from, to, rank, (uint8_t)kind};
}

static void phase(struct telling *t, const struct hark_trace_record *r)
{
    struct dg_story *s = t->s;
    struct life *life = &t->life[r->rank];
    if (life->phase == r->phase) return;
    life->phase = r->phase;
    s->phase = roomier(t, s->phase, s->phases, &t->phase_room, sizeof *s->phase);
    if (!t->full) s->phase[s->phases++] = (struct dg_phase){r->time, r->phase, r->rank, 0};
}

/* Where this process stood when it captured checkpoint id. */
static uint64_t captured(const struct telling *t, const struct life *life, uint64_t id)
{
    uint32_t i = life->newest;
    if (id == 0) return life->first;
    for (uint32_t k = 0; i != DG_NONE && k < CHECKPOINTS_MOST; k++, i = t->before[i])
        if (t->s->mark[i].kind == HARK_TRACE_CHECKPOINT && t->s->mark[i].id == id)
            return t->s->mark[i].time;
    return DG_NEVER;
}

static void die(struct telling *t, struct life *life, const struct hark_trace_record *r)
{
    life->finished = r->kind == HARK_TRACE_FINISH;
    if (life->since == DG_NEVER) return; /* seen to die after it ended itself */
    add_span(t, r->rank, life->since, r->time, DG_ALIVE);
    if (life->redo != DG_NEVER) add_span(t, r->rank, life->redo, r->time, DG_REDO);
    life->redo = life->since = DG_NEVER;
    life->died = r->time;
}

static void restart(struct telling *t, struct life *life, const struct hark_trace_record *r)
{
    if (life->since != DG_NEVER) die(t, life, r); /* nobody recorded its end */
    uint64_t back = captured(t, life, r->id);
    if (life->died != DG_NEVER) {
        if (back != DG_NEVER) add_span(t, r->rank, back, life->died, DG_LOST);
        add_span(t, r->rank, life->died, r->time, DG_DEAD);
    }
    life->since = life->redo = r->time;
}

static void recovered(struct telling *t, uint32_t rank, uint64_t time)
{
    struct life *life = &t->life[rank];
    if (life->redo == DG_NEVER) return;
    add_span(t, rank, life->redo, time, DG_REDO);
    life->redo = DG_NEVER;
}

static void commit(struct telling *t, const struct life *life, uint64_t id)
{
    uint32_t i = life->newest;
    for (uint32_t k = 0; i != DG_NONE && k < CHECKPOINTS_MOST; k++, i = t->before[i]) {
        struct dg_mark *m = &t->s->mark[i];
        if (m->kind != HARK_TRACE_CHECKPOINT || m->id != id) continue;
        m->committed = true;
        return;
    }
}

static void mark(struct telling *t, const struct hark_trace_record *r)
{
    struct dg_story *s = t->s;
    uint32_t index = s->marks;
    s->mark = roomier(t, s->mark, index, &t->mark_room, sizeof *s->mark);
    t->before = roomier(t, t->before, index, &t->before_room, sizeof *t->before);
    if (t->full) return;
    s->mark[s->marks++] = (struct dg_mark){.time = r->time,
        .id = r->id,
        .phase = r->phase,
        .rank = r->rank,
        .inc = r->inc,
        .peer = r->peer,
        .last = r->last,
        .kind = r->kind};
    t->before[index] = DG_NONE;
    if (r->rank >= s->trace->job.ranks) return;
    t->before[index] = t->life[r->rank].newest;
    t->life[r->rank].newest = index;
}

static void live(struct telling *t, const struct hark_trace_record *r)
{
    if (r->rank >= t->s->trace->job.ranks) {
        for (uint32_t i = 0; r->kind == HARK_TRACE_RECOVERED && i < t->s->trace->job.ranks; i++)
            recovered(t, i, r->time);
        return;
    }
    struct life *life = &t->life[r->rank];
    bool of_others = r->kind == HARK_TRACE_KILL || r->kind == HARK_TRACE_CLUSTER;
    if (life->first == DG_NEVER && !of_others) life->first = life->since = r->time;
    switch (r->kind) {
    case HARK_TRACE_START:
    case HARK_TRACE_SEND:
    case HARK_TRACE_DELIVER:
    case HARK_TRACE_CHECKPOINT: phase(t, r); break;
    case HARK_TRACE_KILL:
    case HARK_TRACE_ROLLBACK:
    case HARK_TRACE_FINISH: die(t, life, r); break;
    case HARK_TRACE_RESTART:
        restart(t, life, r);
        phase(t, r);
        break;
    case HARK_TRACE_RECOVERED: recovered(t, r->rank, r->time); break;
    case HARK_TRACE_COMMIT: commit(t, life, r->id); break;
    case HARK_TRACE_CLUSTER: t->cluster[r->rank] = r->peer; break;
    default: break;
    }
}

static void tell(struct telling *t, const struct hark_trace_record *r)
{
    switch (r->kind) {
    case HARK_TRACE_SEND: post(t, r); break;
    case HARK_TRACE_TRANSMIT:
    case HARK_TRACE_REPLAY: transmit(t, r); break;
    case HARK_TRACE_ARRIVE:
    case HARK_TRACE_DELIVER:
    case HARK_TRACE_DISCARD: receive(t, r); break;
    default: mark(t, r); break;
    }
    live(t, r);
}

/* ---- what the end tells about the beginning -------------------------------------------------- */

static int by_rank_and_time(const void *a, const void *b)
{
    const struct dg_span *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

static bool in_lost(const struct dg_span *span, uint32_t spans, uint32_t rank, uint64_t time)
{
    uint32_t low = 0, high = spans;
    while (low < high) { /* the first span of this rank */
        uint32_t middle = low + (high - low) / 2;
        if (span[middle].rank < rank) low = middle + 1;
        else high = middle;
    }
    for (; low < spans && span[low].rank == rank && span[low].from <= time; low++)
        if (span[low].kind == DG_LOST && time > span[low].from && time <= span[low].to) return true;
    return false;
}

/* Orphan: its sending was undone, its delivery was not (HydEE III.A). */
static void judge(struct dg_story *s)
{
    if (s->spans > 0) qsort(s->span, s->spans, sizeof *s->span, by_rank_and_time);
    for (uint32_t i = 0; i < s->messages; i++) {
        struct dg_message *m = &s->message[i];
        if (m->class == DG_CONTROL) continue; /* the protocol's own are not undone */
        bool sent = in_lost(s->span, s->spans, m->from, m->sent);
        bool got = m->got == DG_NEVER || in_lost(s->span, s->spans, m->to, m->got);
        if (sent && !got && m->fate != DG_DISCARDED && m->class != DG_REPLAY) m->class = DG_ORPHAN;
        else m->undone = sent || (got && m->fate != DG_FLYING);
    }
}

int hark_diagram_story_tell(struct dg_story *s, const struct hark_trace *trace,
    const struct hark_diagram_schedule *schedule)
{
    struct telling t = {.s = s};
    memset(s, 0, sizeof *s);
    s->trace = trace;
    s->schedule = schedule;
    s->start = trace->record[0].time;
    s->end = trace->record[trace->count - 1].time;
    if (schedule != NULL && schedule->end > s->end) s->end = schedule->end;
    t.life = calloc(trace->job.ranks, sizeof *t.life);
    t.cluster = malloc(trace->job.ranks * sizeof *t.cluster);
    t.full = t.life == NULL || t.cluster == NULL ||
             hark_trace_lowest(&trace->job, t.cluster) != HARK_TRACE_OK;
    for (uint32_t i = 0; !t.full && i < trace->job.ranks; i++)
        t.life[i] = (struct life){DG_NEVER, DG_NEVER, DG_NEVER, DG_NEVER, DG_NEVER, DG_NONE, false};
    for (uint64_t i = 0; !t.full && i < trace->count; i++) tell(&t, &trace->record[i]);
    for (uint32_t i = 0; !t.full && i < trace->job.ranks; i++) {
        if (t.life[i].redo != DG_NEVER) add_span(&t, i, t.life[i].redo, s->end, DG_REDO);
        if (t.life[i].since != DG_NEVER) add_span(&t, i, t.life[i].since, s->end, DG_ALIVE);
        else if (t.life[i].died != DG_NEVER && !t.life[i].finished)
            add_span(&t, i, t.life[i].died, s->end, DG_DEAD);
    }
    if (!t.full) judge(s);
    s->all = s->messages;
    free(t.name);
    free(t.life);
    free(t.cluster);
    free(t.before);
    return t.full ? HARK_TRACE_ESYSTEM : HARK_TRACE_OK;
}
