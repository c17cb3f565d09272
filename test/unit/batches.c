/* What does not fit: fan-outs longer than a batch of effects, and lists longer than a frame. Jobs
 * of many processes or many contexts run through checkpoints and failures, over networks that keep
 * the order and that turn it round. They come to their end, and what is asked of the embedder is
 * the same, in the same order, with the least room for effects and with as much as can be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hark/registry.h"

enum { RANKS_MOST = 301, ROOM_MOST = 4096, BYTES_MOST = 1 << 20, GENERATIONS = 1, IMAGES = 4 };

struct frame {
    struct frame *next;
    uint32_t to, length; /* to: a number; the recovery process is the last */
    uint8_t header[];
};

struct op {
    char what; /* Send, Receive, Checkpoint; 0: the end */
    uint32_t peer;
    uint16_t ctx;
};

struct image {
    uint64_t id;
    uint8_t *bytes;
    uint32_t length, pc;
    struct frame *inbox;
};

struct process {
    struct hark *core;
    struct hark_config config;
    const struct hark_protocol *protocol;
    struct hark_range group;
    struct frame *inbox, *held;
    struct image image[IMAGES];
    uint32_t images, pc, inc;
    bool inside, waits; /* in a checkpoint call; the core said WAIT */
};

struct job { /* how: first five by the test */
    const char *protocol;
    struct op (*program)(const struct job *j, uint32_t who, uint32_t pc);
    uint32_t ranks, cluster, size, flags, fan, room, bytes; /* cluster: processes of one; size: of
                                                               the program */
    bool turned;                                            /* the network: last in, first out */
    struct process at[RANKS_MOST];
    struct frame *flight;
    uint64_t decided[RANKS_MOST];
    bool down[RANKS_MOST];
    uint32_t processes, re, recovered, fragments[256]; /* fragments: frames by type */
    uint64_t seen;                                     /* of all effects so far */
};

static struct hark_effect effect[ROOM_MOST];
static uint8_t bytes[BYTES_MOST], packed[1 << 22];

static struct frame *frame_new(uint32_t to, const uint8_t *at, uint32_t length)
{
    struct frame *f = malloc(sizeof *f + length);
    assert_non_null(f);
    f->next = NULL;
    f->to = to;
    f->length = length;
    memcpy(f->header, at, length);
    return f;
}

static void frame_append(struct frame **list, struct frame *f)
{
    while (*list) list = &(*list)->next;
    *list = f;
}

static void frames_free(struct frame **list)
{
    while (*list) {
        struct frame *f = *list;
        *list = f->next;
        free(f);
    }
}

static struct frame *frames_copy(const struct frame *f)
{
    struct frame *all = NULL;
    for (; f; f = f->next) frame_append(&all, frame_new(f->to, f->header, f->length));
    return all;
}

static uint32_t rank_of(const struct job *j, uint32_t who)
{
    return who == j->ranks ? HARK_RECOVERY : who;
}

static uint32_t leader(const struct job *j, uint32_t who)
{
    return j->cluster ? who / j->cluster * j->cluster : 0;
}

/* The checkpoint that `who` goes back to. */
static uint64_t decision(const struct job *j, uint32_t who)
{
    return j->decided[j->at[who].protocol->rolls == HARK_ROLLS_LINE ? who : leader(j, who)];
}

static int step(
    struct job *j, uint32_t who, const struct hark_event *event, const struct frame *frame);
static void goes_back(struct job *j, uint32_t who);
static void announce(struct job *j);

/* ---- effects --------------------------------------------------------------------------------- */

static void mix(struct job *j, uint64_t word)
{
    j->seen = (j->seen ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    j->seen ^= j->seen >> 29;
}

static void note(struct job *j, uint32_t who, const struct hark_effect *x)
{
    struct hark_effect same = *x;
    uint64_t words[sizeof same / 8];
    if (x->type == HARK_TRANSMIT) same.u.transmit.header.at = NULL;
    memcpy(words, &same, sizeof words);
    mix(j, who);
    for (unsigned i = 0; i < HARK_COUNT(words); i++) mix(j, words[i]);
    for (uint32_t i = 0; x->type == HARK_TRANSMIT && i < x->u.transmit.header.length; i++)
        mix(j, x->u.transmit.header.at[i]);
}

static void capture(struct job *j, uint32_t who, uint64_t id)
{
    struct process *p = &j->at[who];
    assert_true(p->images < IMAGES);
    uint64_t n = hark_pack(p->core, p->protocol->shape, packed, sizeof packed);
    assert_true(n <= sizeof packed);
    struct image *m = &p->image[p->images++];
    *m = (struct image){id, malloc(n), (uint32_t)n, p->pc + 1, frames_copy(p->inbox)};
    assert_non_null(m->bytes);
    memcpy(m->bytes, packed, n);
}

static void drop(struct process *p, uint64_t id)
{
    for (uint32_t i = 0; i < p->images; i++) {
        if (p->image[i].id != id) continue;
        free(p->image[i].bytes);
        frames_free(&p->image[i].inbox);
        memmove(p->image + i, p->image + i + 1, (--p->images - i) * sizeof p->image[0]);
    }
}

/* OFFER: what was held for `peer`, or for all, arrives again. */
static void offer(struct job *j, uint32_t who, uint32_t peer)
{
    struct frame *all = j->at[who].held, *f;
    j->at[who].held = NULL;
    while ((f = all) != NULL) {
        all = f->next;
        f->next = NULL;
        if (peer != HARK_RECOVERY && hark_get32(f->header + 4) != peer)
            frame_append(&j->at[who].held, f);
        else frame_append(&j->flight, f);
    }
}

struct todo { /* of one event: what is asked, to be done when the step is over */
    struct hark_effect stored[64];
    uint32_t count;
};

static void perform(struct job *j, uint32_t who, const struct hark_effect *x,
    const struct frame *frame, struct todo *todo)
{
    struct process *p = &j->at[who];
    note(j, who, x);
    switch (x->type) {
    case HARK_TRANSMIT:
        j->fragments[x->u.transmit.header.at[1]]++;
        struct frame *f =
            frame_new(x->u.transmit.peer == HARK_RECOVERY ? j->ranks : x->u.transmit.peer,
                x->u.transmit.header.at, x->u.transmit.header.length);
        if (j->turned) f->next = j->flight, j->flight = f;
        else frame_append(&j->flight, f);
        break;
    case HARK_HANDUP: frame_append(&p->inbox, frame_new(who, frame->header, frame->length)); break;
    case HARK_HOLD: frame_append(&p->held, frame_new(who, frame->header, frame->length)); break;
    case HARK_OFFER: offer(j, who, x->u.offer.peer); break;
    case HARK_CAPTURE: capture(j, who, x->u.checkpoint.id); /* fall through */
    case HARK_PERSIST:
        assert_true(todo->count < HARK_COUNT(todo->stored));
        todo->stored[todo->count++] = *x;
        break;
    case HARK_DROP: drop(p, x->u.checkpoint.id); break;
    case HARK_RESUME:
        assert_true(p->inside);
        p->inside = false;
        p->pc++;
        break;
    case HARK_RECOVERED: j->recovered++; break;
    case HARK_DIVERGED:
    case HARK_ROLLBACK: fail_msg("%u: %s", who, hark_event_text(x->type)); break;
    default: break;
    }
}

/* An event with all its batches. */
static int step(
    struct job *j, uint32_t who, const struct hark_event *event, const struct frame *frame)
{
    struct process *p = &j->at[who];
    struct hark_event e = *event;
    struct hark_effects fx = {
        .at = effect, .room = j->room, .bytes = bytes, .bytes_room = j->bytes};
    struct todo todo = {.count = 0};
    int first = 1, status;
    do {
        while ((status = hark_step(p->core, &e, &fx)) == HARK_EFULL) {
            uint64_t room = hark_wants(p->core, &e);
            p->core = realloc(p->core, room);
            assert_non_null(p->core);
            assert_int_equal(hark_grow(p->core, room), HARK_OK);
        }
        if (first == 1) first = status;
        if (status < 0 || status == HARK_WAIT) return status;
        p->waits = false;
        for (uint32_t i = 0; i < fx.count; i++) perform(j, who, &fx.at[i], frame, &todo);
        e = (struct hark_event){.type = HARK_CONTINUE};
    } while (status == HARK_MORE);
    assert_null(p->protocol->violated(p->core));
    for (uint32_t i = 0; i < todo.count; i++) {
        const struct hark_effect *x = &todo.stored[i];
        struct hark_event stored = {.type = HARK_STORED};
        const struct hark_fact fact =
            x->type == HARK_PERSIST ? x->u.persist : (struct hark_fact){.id = x->u.checkpoint.id};
        if (fact.kind == HARK_FACT_WAVE) j->decided[fact.rank] = fact.id;
        stored.u.stored.of = x->type;
        stored.u.stored.fact = fact.kind;
        stored.u.stored.ok = 1;
        stored.u.stored.id = fact.id;
        bool line = fact.kind == HARK_FACT_LINE;
        if (line || fact.kind == HARK_FACT_BACK) {
            assert_int_equal(fact.id, j->decided[fact.rank]);
            goes_back(j, fact.rank);
        }
        assert_true(step(j, who, &stored, NULL) >= 0);
        if (line) announce(j);
    }
    return first;
}

/* ---- the job --------------------------------------------------------------------------------- */

static void begin(struct job *j, uint32_t who)
{
    struct process *p = &j->at[who];
    p->protocol = hark_protocol_named(who < j->ranks ? j->protocol : "recovery");
    p->config = (struct hark_config){.me = rank_of(j, who),
        .ranks = j->ranks,
        .generations = GENERATIONS,
        .flags = j->flags,
        .fan = j->fan};
    if (p->protocol->rolls == HARK_ROLLS_LINE) {
        p->config.epoch = 1 + (uint64_t)leader(j, who) * 100;
    } else if (who < j->ranks && j->cluster) {
        uint32_t end = leader(j, who) + j->cluster;
        p->group = (struct hark_range){leader(j, who), (end < j->ranks ? end : j->ranks) - 1};
        p->config.cluster = &p->group;
        p->config.cluster_count = 1;
    }
    uint64_t room = p->protocol->size(&p->config);
    free(p->core);
    p->core = malloc(room);
    assert_non_null(p->core);
    assert_int_equal(p->protocol->init(p->core, room, &p->config), HARK_OK);
}

static struct frame **received(struct process *p, const struct op *op)
{
    for (struct frame **f = &p->inbox; *f; f = &(*f)->next)
        if (hark_get32((*f)->header + 4) == op->peer && hark_get16((*f)->header + 2) == op->ctx)
            return f;
    return NULL;
}

/* The next operation of a program; false if it can not be made now. */
static bool app_step(struct job *j, uint32_t who)
{
    struct process *p = &j->at[who];
    struct op op = j->program(j, who, p->pc);
    struct hark_event e = {.type = op.what == 'S'   ? HARK_SEND
                                   : op.what == 'R' ? HARK_DELIVER
                                                    : HARK_CHECKPOINT_POINT};
    struct frame **f = op.what == 'R' ? received(p, &op) : NULL;
    if (!op.what || p->inside || p->waits || (op.what == 'R' && f == NULL)) return false;
    if (op.what == 'C') {
        e.u.point.due = p->inside = true;
    } else if (op.what == 'S') {
        e.u.send.peer = op.peer;
        e.u.send.ctx = op.ctx;
        e.u.send.digest = p->pc + 1;
    } else {
        e.u.frame.header = (struct hark_bytes){(*f)->header, (*f)->length};
    }
    int status = step(j, who, &e, NULL);
    assert_true(status >= 0);
    if (status == HARK_WAIT) {
        p->waits = true;
        p->inside = false;
        return false;
    }
    if (op.what != 'C') p->pc++;
    if (op.what == 'R') {
        struct frame *taken = *f;
        *f = taken->next;
        free(taken);
    }
    return true;
}

static bool arrive(struct job *j)
{
    struct frame *f = j->flight;
    struct hark_event e = {.type = HARK_ARRIVE};
    if (f == NULL) return false;
    j->flight = f->next;
    e.u.frame.header = (struct hark_bytes){f->header, f->length};
    assert_true(step(j, f->to, &e, f) >= 0);
    free(f);
    return true;
}

/* Until nothing can happen any more. */
static void run(struct job *j)
{
    struct hark_event idle = {.type = HARK_IDLE};
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < j->ranks; i++)
            while (app_step(j, i)) moved = true;
        while (arrive(j)) moved = true;
        for (uint32_t i = 0; i < j->processes && !moved; i++) step(j, i, &idle, NULL);
        moved |= j->flight != NULL;
    }
}

static void restart(struct job *j, uint32_t who)
{
    struct process *p = &j->at[who];
    struct hark_event e = {.type = HARK_RESTARTED};
    struct frame *waiting = NULL;
    frames_free(&p->inbox);
    frames_free(&p->held);
    p->inside = p->waits = false;
    p->pc = 0;
    begin(j, who);
    e.u.restarted.re = j->re;
    e.u.restarted.inc = p->inc;
    for (uint32_t i = 0; i < p->images; i++)
        if (p->image[i].id == decision(j, who) && p->image[i].id) {
            e.u.restarted.checkpoint = p->image[i].id;
            e.u.restarted.image = (struct hark_bytes){p->image[i].bytes, p->image[i].length};
            p->pc = p->image[i].pc;
            waiting = frames_copy(p->image[i].inbox);
        }
    assert_int_equal(e.u.restarted.checkpoint, decision(j, who));
    assert_int_equal(step(j, who, &e, NULL), HARK_OK);
    assert_non_null(p->protocol->unrest(p->core)); /* it has yet to hear why */
    while (waiting) {
        struct frame *f = waiting;
        waiting = f->next;
        f->next = NULL;
        frame_append(&p->held, f); /* given when OFFER asks for it */
    }
}

static void goes_back(struct job *j, uint32_t who)
{
    assert_false(j->down[who]);
    j->down[who] = true;
    j->at[who].inc++;
}

/* Those of D begin again, and everybody is told. */
static void announce(struct job *j)
{
    uint32_t down[RANKS_MOST];
    struct hark_incarnation inc[RANKS_MOST];
    struct hark_decision wave[RANKS_MOST];
    struct hark_event e = {.type = HARK_FAILED};
    j->re++;
    for (uint32_t i = 0; i < j->ranks; i++) {
        if (j->down[i]) restart(j, down[e.u.failed.down_count++] = i);
        if (j->at[i].inc) inc[e.u.failed.inc_count++] = (struct hark_incarnation){i, j->at[i].inc};
        if (j->decided[i])
            wave[e.u.failed.wave_count++] = (struct hark_decision){i, 0, j->decided[i]};
    }
    e.u.failed.re = j->re;
    e.u.failed.down = down;
    e.u.failed.inc = inc;
    e.u.failed.wave = wave;
    for (uint32_t i = 0; i < j->processes; i++) assert_true(step(j, i, &e, NULL) >= 0);
}

/* The cluster of `who` dies, or all with `coordinated`, or `who` alone. */
static void lose(struct job *j, uint32_t who)
{
    uint8_t rolls = hark_protocol_named(j->protocol)->rolls;
    bool alone = rolls == HARK_ROLLS_PROCESS || rolls == HARK_ROLLS_LINE;
    memset(j->down, 0, sizeof j->down);
    for (uint32_t i = 0; i < j->ranks; i++)
        if (alone ? i == who : leader(j, i) == leader(j, who)) goes_back(j, i);
    announce(j);
}

/* All programs are at their end, nothing remains, and no recovery. */
static void over(struct job *j)
{
    assert_null(j->flight);
    for (uint32_t i = 0; i < j->processes; i++) {
        struct process *p = &j->at[i];
        if (i < j->ranks) assert_int_equal(j->program(j, i, p->pc).what, 0);
        assert_null(p->inbox);
        assert_null(p->held);
        assert_false(p->inside);
        assert_true(p->images <= GENERATIONS);
        assert_null(p->protocol->unrest(p->core));
    }
}

/* The whole: to the end, a failure of `lost`, and to the end again; and once more. */
static void play(struct job *j, uint32_t lost)
{
    j->processes = j->ranks + hark_protocol_named(j->protocol)->recovery;
    assert_true(j->processes <= RANKS_MOST);
    for (uint32_t i = 0; i < j->processes; i++) begin(j, i);
    run(j);
    over(j);
    for (uint32_t failure = 1; failure <= 2; failure++) {
        lose(j, lost);
        run(j);
        over(j);
        assert_int_equal(j->recovered, failure * j->ranks);
    }
}

static void close_job(struct job *j)
{
    for (uint32_t i = 0; i < j->processes; i++) {
        struct process *p = &j->at[i];
        free(p->core);
        for (uint32_t k = 0; k < p->images; k++) {
            free(p->image[k].bytes);
            frames_free(&p->image[k].inbox);
        }
    }
}

/* With the least room and with the most; over both networks. Returns how many frames of `type`
 * there were at least. */
static uint32_t both(struct job how, uint32_t lost, uint8_t type)
{
    uint32_t least = UINT32_MAX;
    for (unsigned turned = 0; turned < 2; turned++) {
        static struct job j;
        uint64_t seen = 0;
        for (unsigned k = 0; k < 3; k++) {
            j = how;
            j.turned = turned;
            j.room = k == 0 ? ROOM_MOST : k == 1 ? HARK_EFFECTS_ROOM : HARK_EFFECTS_ROOM + 1;
            j.bytes = k == 0 ? BYTES_MOST : HARK_EFFECTS_BYTES;
            play(&j, lost);
            if (k == 0) seen = j.seen;
            assert_true(j.seen == seen);
            if (j.fragments[type] < least) least = j.fragments[type];
            close_job(&j);
        }
    }
    return least;
}

/* ---- programs -------------------------------------------------------------------------------- */

/* Two processes say something on each of `size` contexts, three times, with a checkpoint between.
 */
static struct op contexts(const struct job *j, uint32_t who, uint32_t pc)
{
    uint32_t round = pc / (2 * j->size + 1), at = pc % (2 * j->size + 1);
    if (round == 2 && at == 2 * j->size) return (struct op){0, 0, 0};
    if (at == 2 * j->size) return (struct op){'C', 0, 0};
    return (struct op){at < j->size ? 'S' : 'R', 1 - who, (uint16_t)(at % j->size)};
}

/* The same, and the last checkpoint is at the end. */
static struct op contexts_to_the_end(const struct job *j, uint32_t who, uint32_t pc)
{
    if (pc >= 3 * (2 * j->size + 1)) return (struct op){0, 0, 0};
    struct op op = contexts(j, who, pc);
    return op.what ? op : (struct op){'C', 0, 0};
}

/* `size` times there and back: each message has a phase of its own. */
static struct op rally(const struct job *j, uint32_t who, uint32_t pc)
{
    if (pc == 2 * j->size) return (struct op){0, 0, 0};
    return (struct op){pc % 2 == who ? 'S' : 'R', 1 - who, 0};
}

/* All but the last tell the last, and hear from it. */
static struct op star(const struct job *j, uint32_t who, uint32_t pc)
{
    uint32_t last = j->ranks - 1;
    if (who < last) return pc == 2 ? (struct op){0, 0, 0} : (struct op){pc ? 'R' : 'S', last, 0};
    return pc == 2 * last ? (struct op){0, 0, 0} : (struct op){pc < last ? 'R' : 'S', pc % last, 0};
}

/* The same twice, with checkpoints of all between. */
static struct op star_twice(const struct job *j, uint32_t who, uint32_t pc)
{
    uint32_t length = who < j->ranks - 1 ? 2 : 2 * (j->ranks - 1);
    if (pc == length) return (struct op){'C', 0, 0};
    return star(j, who, pc > length ? pc - length - 1 : pc);
}

/* The second, which does not lead, tells all others, they answer, all take a checkpoint; twice. */
static struct op tell_all(const struct job *j, uint32_t who, uint32_t pc)
{
    uint32_t others = j->ranks - 1, length = who == 1 ? 2 * others + 1 : 3, at = pc % length;
    if (pc >= 2 * length) return (struct op){0, 0, 0};
    if (at == length - 1) return (struct op){'C', 0, 0};
    if (who != 1) return (struct op){at ? 'S' : 'R', 1, 0};
    return (struct op){at < others ? 'S' : 'R', at % others ? 1 + at % others : 0, 0};
}

/* ---- what does not fit ----------------------------------------------------------------------- */

static void test_contexts(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 40; size += size < 20 ? 1 : 4) {
        struct job hydee = {.protocol = "hydee",
            .program = contexts,
            .ranks = 2,
            .size = size,
            .cluster = 1,
            .flags = HARK_DIGEST};
        struct job scmel = {.protocol = "scmel", .program = contexts, .ranks = 2, .size = size};
        struct job coordinated = {
            .protocol = "coordinated", .program = contexts, .ranks = 2, .size = size};
        assert_true(both(hydee, 0, HARK_H_NOTIFY) > 0);
        hydee.flags = HARK_EXACT_GATE;
        both(hydee, 1, HARK_H_NOTIFY);
        assert_true(both(scmel, 1, HARK_S_READY) > 0);
        struct job team = {
            .protocol = "team", .program = contexts, .ranks = 2, .size = size, .cluster = 1};
        assert_true(both(team, 1, HARK_S_TRIM) > 0);
        assert_true(both(coordinated, 0, HARK_W_MARK) >= 2 * size);
        hydee.program = scmel.program = contexts_to_the_end;
        both(hydee, 0, HARK_H_GC);
        both(scmel, 0, HARK_S_READY);
        team.program = contexts_to_the_end;
        both(team, 0, HARK_S_TRIM);
    }
}

/* Orphans of many phases: ORPH and REPORT in fragments. */
static void test_phases(void **state)
{
    (void)state;
    for (uint32_t size = 20; size <= 140; size += 10)
        for (uint32_t flags = 0; flags <= HARK_EXACT_GATE; flags += HARK_EXACT_GATE) {
            struct job j = {.protocol = "hydee",
                .program = rally,
                .ranks = 2,
                .size = size,
                .cluster = 1,
                .flags = flags};
            uint32_t rows = (HARK_FRAGMENT - HARK_WIRE_HEAD - 8) / 24;
            assert_true(both(j, 0, HARK_H_ORPH) >= (size + rows - 1) / rows);
        }
}

/* Who goes back by a recovery line tells all others where it stands, asks for its messages and
 * forgets what it knew of theirs. */
static void test_lines(void **state)
{
    (void)state;
    for (uint32_t apart = 0; apart < 2; apart++) {
        for (uint32_t ranks = 2; ranks <= 230; ranks += ranks < 20 ? 6 : 105)
            for (uint32_t lost = 0; lost < ranks; lost += ranks - 1) {
                struct job j = {
                    .protocol = "sendet", .program = star, .ranks = ranks, .cluster = apart};
                both(j, lost, HARK_H_POS);
                j.program = star_twice;
                assert_true(both(j, lost, HARK_H_POS) >= 4 * (lost || apart ? ranks - 1 : 1));
            }
        for (uint32_t size = 20; size <= 140; size += 40) {
            struct job j = {
                .protocol = "sendet", .program = rally, .ranks = 2, .size = size, .cluster = apart};
            assert_true(both(j, 0, HARK_H_ACK) > 0);
            assert_true(both(j, 1, HARK_H_ORPH) >= size / 50);
        }
    }
}

/* A frontier of many processes: RELEASE in fragments; and a recovery process that has more to tell
 * than a batch holds. */
static void test_frontier(void **state)
{
    (void)state;
    for (uint32_t ranks = 60; ranks <= 65; ranks++)
        for (uint32_t flags = 0; flags <= HARK_EXACT_GATE; flags += HARK_EXACT_GATE) {
            struct job j = {.protocol = "hydee", .program = star, .ranks = ranks, .flags = flags};
            j.cluster = ranks - 1; /* the last is alone */
            both(j, 0, HARK_H_RELEASE);
        }
}

/* Reports by trees, also one of which a process has more below it than a batch holds. */
static void test_trees(void **state)
{
    (void)state;
    for (uint32_t ranks = 60; ranks <= 65; ranks++)
        for (uint32_t fan = 2; fan < 2 * ranks; fan = fan * 3 - 1) {
            struct job j = {.protocol = "hydee", .program = star, .ranks = ranks, .fan = fan};
            j.cluster = ranks - 1;
            assert_true(both(j, 0, HARK_H_UP) >= ranks);
        }
    struct job j = {
        .protocol = "hydee", .program = rally, .ranks = 2, .size = 60, .cluster = 1, .fan = 2};
    assert_true(both(j, 0, HARK_H_UP) > 2);
}

/* A process with more channels than one FROZEN lists. */
static void test_frozen(void **state)
{
    (void)state;
    struct job j = {.protocol = "coordinated", .program = tell_all, .ranks = 260};
    assert_int_equal(both(j, 7, HARK_W_FROZEN), j.ranks); /* of all but the leader, and one is in
                                                             two parts */
    j.protocol = "hydee";
    j.cluster = 260;
    assert_int_equal(both(j, 7, HARK_W_FROZEN), j.ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_contexts),
        cmocka_unit_test(test_phases), cmocka_unit_test(test_lines),
        cmocka_unit_test(test_frontier), cmocka_unit_test(test_trees),
        cmocka_unit_test(test_frozen)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
