#include "reduce.h"

#include <stdlib.h>
#include <string.h>

/* After so many steps that are put off one would have to follow for ever: a frame that is held may
 * be used again. */
#ifndef HARK_FAR
#define HARK_FAR 40u
#endif

/* Where a step is relied on in more states than that, and in more than one of SHARE, to begin again
 * is as well. */
#ifndef HARK_FEW_RELIANCES
#define HARK_FEW_RELIANCES 1000000u
#endif
enum { SHARE = 8 };

void reduction_open(struct reduction *r, struct lab *lab)
{
    memset(r, 0, sizeof *r);
    r->lab = lab;
    r->steps = r->links = r->reliances = 1;
    r->state = NO_STATE;
}

void reduction_close(struct reduction *r)
{
    free(r->step);
    free(r->slot);
    free(r->link);
    free(r->leads);
    free(r->used);
    free(r->used_next);
    free(r->first_used);
    free(r->todo);
    free(r->reliance);
    free(r->doubtful);
    memset(r, 0, sizeof *r);
}

uint64_t reduction_bytes(const struct reduction *r)
{
    return (uint64_t)r->step_room * sizeof *r->step +
           (uint64_t)(r->slots + r->leads_room + r->first_used_room) * 4 +
           (uint64_t)r->link_room * sizeof *r->link + (uint64_t)r->used_room * 6 +
           (uint64_t)r->todo_room * sizeof *r->todo +
           (uint64_t)r->reliance_room * sizeof *r->reliance + (uint64_t)r->doubtful_room * 4;
}

/* Room for element `at`; what is new is 0. */
static void *more(struct reduction *r, void *list, uint32_t *room, uint32_t at, size_t size)
{
    if (at < *room || r->lab->failed) return list;
    uint32_t wanted = *room ? *room * 2 : 1 << 12;
    while (wanted <= at) wanted *= 2;
    void *grown = realloc(list, wanted * size);
    if (grown == NULL) {
        lab_starve(r->lab);
        return list;
    }
    memset((char *)grown + *room * size, 0, (wanted - *room) * size);
    *room = wanted;
    return grown;
}

/* ---- what is relied on ----------------------------------------------------------------------- */

static uint32_t hash(uint32_t a, uint32_t what, uint32_t argument)
{
    uint64_t h = ((uint64_t)a << 32 | argument) * UINT64_C(0x9e3779b97f4a7c15) +
                 what * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(h >> 32 ^ h);
}

static void more_slots(struct reduction *r)
{
    if (r->steps * 2 < r->slots) return;
    uint32_t slots = r->slots ? r->slots * 2 : 1 << 12;
    uint32_t *slot = calloc(slots, sizeof *slot);
    if (slot == NULL) {
        lab_starve(r->lab);
        return;
    }
    for (uint32_t i = 1; i < r->steps; i++) {
        uint32_t at = hash(r->step[i].a, r->step[i].what, r->step[i].argument) & (slots - 1);
        while (slot[at]) at = (at + 1) & (slots - 1);
        slot[at] = i;
    }
    free(r->slot);
    r->slot = slot;
    r->slots = slots;
}

/* The states in which it was relied on are kept no longer; they are doubtful, or not. */
static void forget_reliances(struct reduction *r, struct commuting *s, bool doubtful)
{
    while (s->reliances) {
        uint32_t n = s->reliances;
        if (doubtful) {
            r->doubtful = more(r, r->doubtful, &r->doubtful_room, r->doubts, sizeof *r->doubtful);
            if (!r->lab->failed) r->doubtful[r->doubts++] = r->reliance[n].state;
        }
        s->reliances = r->reliance[n].next;
        r->reliance[n].next = r->spare;
        r->spare = n;
    }
}

static void keep_reliance(struct reduction *r, uint32_t number, uint32_t state)
{
    struct commuting *s = &r->step[number];
    if (s->times == MANY || (s->reliances && r->reliance[s->reliances].state == state)) return;
    s->times++;
    if (state == NO_STATE || (s->times > HARK_FEW_RELIANCES && s->times > state / SHARE)) {
        s->times = MANY;
        forget_reliances(r, s, false);
        return;
    }
    uint32_t n = r->spare ? r->spare : r->reliances;
    r->reliance = more(r, r->reliance, &r->reliance_room, n, sizeof *r->reliance);
    if (r->lab->failed) return;
    if (r->spare) r->spare = r->reliance[n].next;
    else r->reliances++;
    r->reliance[n] = (struct reliance){state, s->reliances};
    s->reliances = n;
}

static void log_reliance(struct reduction *r, uint32_t number)
{
    struct reliance_log *l = r->log;
    if (r->step[number].times == MANY) return;
    if (l->count + 2 > l->room) {
        uint64_t room = l->room ? l->room * 2 : 1 << 12;
        uint32_t *at = realloc(l->at, room * sizeof *at);
        if (at == NULL) {
            lab_starve(r->lab);
            return;
        }
        l->at = at;
        l->room = room;
    }
    l->at[l->count++] = number;
    l->at[l->count++] = r->state;
}

void reduction_take_log(struct reduction *r, const struct reliance_log *log)
{
    for (uint64_t k = 0; k < log->count && !r->lab->failed; k += 2)
        keep_reliance(r, log->at[k], log->at[k + 1]);
}

void reduction_begin(struct reduction *r)
{
    for (uint32_t i = 1; i < r->steps; i++) {
        r->step[i].relied = CALM;
        r->step[i].reliances = r->step[i].times = 0;
    }
    r->reliances = 1;
    r->spare = r->doubts = 0;
    r->state = NO_STATE;
    r->dirty = false;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

uint32_t reduction_doubtful(struct reduction *r, uint32_t **state)
{
    uint32_t n = 0;
    *state = r->doubtful;
    if (r->doubts > 0) qsort(r->doubtful, r->doubts, sizeof *r->doubtful, by_number);
    for (uint32_t k = 0; k < r->doubts; k++)
        if (n == 0 || r->doubtful[k] != r->doubtful[n - 1]) r->doubtful[n++] = r->doubtful[k];
    r->doubtful = NULL;
    r->doubts = r->doubtful_room = 0;
    return n;
}

/* It does not commute, up to so many failures less one; nor do those that rest on it. */
static void refute(struct reduction *r, uint32_t number, uint8_t wrong)
{
    struct commuting *s = &r->step[number];
    if (wrong <= s->wrong) return;
    s->wrong = wrong;
    if (s->relied < wrong) {
        if (s->times == MANY) r->dirty = true;
        forget_reliances(r, s, true);
        s->times = 0;
        s->relied = CALM;
    }
    for (uint32_t l = s->parents; l; l = r->link[l].next) refute(r, r->link[l].to, wrong);
}

/* Everything that `a` could do by itself `b` can do, but the step that leads there. */
static bool can_as_much(
    const struct local_info *a, const struct local_info *b, enum local_step what)
{
    if (what != STEP_APP && (a->from & ~b->from)) return false;
    if (what == STEP_APP && (a->from & (a->from - 1)))
        return false; /* another message may be taken instead */
    return (!a->storing || b->storing) && (!a->facts || b->facts) && (!a->idle || b->idle);
}

/* What the failures of a scenario, and its ghosts, look at. */
static bool looks_alike(struct lab *lab, uint32_t a, uint32_t b)
{
    static struct local x;
    local_open(lab, a);
    x = lab->at;
    local_open(lab, b);
    return x.app.inside == lab->at.app.inside && x.images == lab->at.images &&
           x.storing == lab->at.storing &&
           memcmp(x.image, lab->at.image, x.images * sizeof x.image[0]) == 0;
}

/* Up to how many failures, less one, this step can be seen not to commute: by itself, whatever else
 * happens. */
static uint8_t seen_wrong(
    struct reduction *r, uint32_t a, enum local_step what, uint32_t argument, struct outcome *out)
{
    struct lab *lab = r->lab;
    *out = local_take(lab, a, what, argument);
    if (lab->failed || !out->happened || out->violated) return CALM;
    struct local_info ia = *local_info(lab, a), ib = *local_info(lab, out->local);
    if (!ib.running || ia.inc != ib.inc || ia.seen != ib.seen) return CALM;
    if (!can_as_much(&ia, &ib, what)) return CALM;
    return out->frames || !looks_alike(lab, a, out->local) ? (uint8_t)lab->scenario->fails : 0;
}

/* Something is to be noted. Of a lab that is frozen it can not be; true then. */
static bool sealed(struct reduction *r)
{
    if (r->lab->frozen) lab_fail(r->lab, "this has not been relied on yet");
    return r->lab->frozen;
}

static uint32_t number_of(struct reduction *r, uint32_t a, enum local_step what, uint32_t argument)
{
    if (!r->lab->frozen) more_slots(r);
    uint32_t at = hash(a, (uint32_t)what, argument) & (r->slots - 1);
    for (; !r->lab->failed && r->slots && r->slot[at]; at = (at + 1) & (r->slots - 1)) {
        const struct commuting *s = &r->step[r->slot[at]];
        if (s->a == a && s->argument == argument && s->what == (uint8_t)what) return r->slot[at];
    }
    if (sealed(r)) return 0;
    struct outcome out;
    uint8_t wrong = seen_wrong(r, a, what, argument, &out);
    r->step = more(r, r->step, &r->step_room, r->steps, sizeof *r->step);
    r->leads = more(r, r->leads, &r->leads_room, out.local, sizeof *r->leads);
    if (r->lab->failed) return 0;
    r->step[r->steps] = (struct commuting){.a = a,
        .b = out.local,
        .argument = argument,
        .what = (uint8_t)what,
        .relied = CALM,
        .from = CALM,
        .wrong = wrong,
        .next = r->leads[out.local]};
    r->leads[out.local] = r->steps;
    r->slot[at] = r->steps;
    return r->steps++;
}

/* ---- does it? -------------------------------------------------------------------------------- */

static void push(struct reduction *r, uint32_t step, uint32_t memo)
{
    r->todo = more(r, r->todo, &r->todo_room, r->todos, sizeof *r->todo);
    if (r->lab->failed) return;
    r->todo[r->todos].step = step;
    r->todo[r->todos++].memo = memo;
}

/* From now on it has to commute with what happens after so many failures. */
static void need(struct reduction *r, uint32_t number, uint8_t from)
{
    struct commuting *s = &r->step[number];
    if (s->from <= from || s->wrong > from || sealed(r)) return;
    s->from = from;
    if (s->b >= r->first_used_room) return;
    for (uint32_t m = r->first_used[s->b]; m; m = r->used_next[m - 1]) push(r, number, m - 1);
}

static void use(struct reduction *r, uint32_t memo, uint16_t failures)
{
    uint32_t room = r->used_room;
    if (memo < room && (r->used[memo] & failures) == failures) return;
    if (sealed(r)) return;
    r->used = more(r, r->used, &room, memo, sizeof *r->used);
    r->used_next = more(r, r->used_next, &r->used_room, memo, sizeof *r->used_next);
    uint32_t local = r->lab->memo[memo].local;
    r->first_used = more(r, r->first_used, &r->first_used_room, local, sizeof *r->first_used);
    if (r->lab->failed) return;
    if (r->used[memo] == 0) {
        r->used_next[memo] = r->first_used[local];
        r->first_used[local] = memo + 1;
    }
    r->used[memo] |= failures;
    for (uint32_t s = local < r->leads_room ? r->leads[local] : 0; s; s = r->step[s].next)
        if (r->step[s].from != CALM) push(r, s, memo);
}

/* The frames that leave in two steps, one after the other, as the network keeps them. */
static uint32_t leaving(
    const struct lab *lab, uint32_t first, uint32_t then, uint32_t list[2 * LOCAL_FRAMES])
{
    uint32_t n = 0, part[2] = {first, then};
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t k = 0; k * 4 < intern_length(&lab->part, part[i]); k++) {
            uint32_t f = ((const uint32_t *)intern_at(&lab->part, part[i]))[k], at = n++;
            for (; at > 0; at--) {
                bool before = lab->scenario->fifo
                                  ? frame_of(lab, f)->to < frame_of(lab, list[at - 1])->to
                                  : f < list[at - 1];
                if (!before) break;
                list[at] = list[at - 1];
            }
            list[at] = f;
        }
    }
    return n;
}

static bool same_frames(const struct lab *lab, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    uint32_t x[2 * LOCAL_FRAMES], y[2 * LOCAL_FRAMES];
    uint32_t n = leaving(lab, a, b, x), m = leaving(lab, c, d, y);
    return n == m && memcmp(x, y, n * sizeof x[0]) == 0;
}

/* Can the process do this at `a`, where step `s` has not been made yet? */
static bool possible(const struct reduction *r, const struct commuting *s, const struct memo *u)
{
    const struct lab *lab = r->lab;
    const struct local_info *a = &lab->info[s->a];
    if (u->step == s->what && (s->what != STEP_FRAME || u->argument == s->argument))
        return false; /* it is the step itself */
    switch (u->step) {
    case STEP_FRAME:
        return !(s->what == STEP_FRAME &&
                 job_in_order(lab, frame_of(lab, s->argument), frame_of(lab, u->argument)));
    case STEP_APP: return a->from >> u->argument & 1;
    case STEP_STORED: return a->storing;
    case STEP_ANSWER: return a->facts;
    case STEP_IDLE: return a->idle;
    default: return true;
    }
}

/* Can step `s` still be made at `c`, which is as far as `a` and one more step? */
static bool remains(
    const struct commuting *s, const struct local_info *a, const struct local_info *c)
{
    return c->running && c->inc == a->inc && (s->what != STEP_APP || c->from >> s->argument & 1);
}

/* Both orders of step `number` and the step of a memo: the same process, and the same frames?
 * *then: 0, or the number of the same step behind the other, which has to commute as well. */
static bool commutes(
    struct reduction *r, uint32_t number, uint32_t memo, uint16_t failures, uint32_t *then)
{
    struct lab *lab = r->lab;
    struct commuting s = r->step[number];
    struct memo u = lab->memo[memo];
    *then = 0;
    if (!possible(r, &s, &u)) return true;
    struct outcome alone = local_take(lab, s.a, (enum local_step)s.what, s.argument);
    struct outcome before = local_take(lab, s.a, (enum local_step)u.step, u.argument),
                   after = u.outcome;
    if (lab->failed || !before.happened) return true;
    use(r, lab->last, failures); /* a search of everything makes it */
    if (before.violated || !after.happened) return false;
    if (before.taken != after.taken || before.saw != after.saw || before.sent_to != after.sent_to)
        return false;
    (void)local_info(lab, s.a);
    const struct local_info c = *local_info(lab, before.local), a = lab->info[s.a];
    if (!c.running)
        return before.local == after.local &&
               same_frames(lab, before.frames, 0, alone.frames, after.frames);
    if (!remains(&s, &a, &c)) return false;
    struct outcome last = local_take(lab, before.local, (enum local_step)s.what, s.argument);
    if (lab->failed) return true;
    use(r, lab->last, failures);
    *then = number_of(r, before.local, (enum local_step)s.what, s.argument);
    return last.happened && !last.violated && last.local == after.local &&
           last.taken == alone.taken && last.saw == alone.saw && last.sent_to == alone.sent_to &&
           same_frames(lab, before.frames, last.frames, alone.frames, after.frames);
}

static void add_parent(struct reduction *r, uint32_t child, uint32_t parent)
{
    for (uint32_t l = r->step[child].parents; l; l = r->link[l].next)
        if (r->link[l].to == parent) return;
    r->link = more(r, r->link, &r->link_room, r->links, sizeof *r->link);
    if (r->lab->failed) return;
    r->link[r->links] = (struct link){parent, r->step[child].parents};
    r->step[child].parents = r->links++;
}

static void check(struct reduction *r, uint32_t number, uint32_t memo)
{
    struct commuting s = r->step[number];
    uint8_t from = s.from > s.wrong ? s.from : s.wrong; /* what is wrong with fewer failures may be
                                                           relied on with more */
    uint16_t failures = (uint16_t)(r->used[memo] & (from < 16 ? 0xffffu << from : 0));
    uint32_t then;
    uint8_t highest = 0;
    if (failures == 0) return;
    while (failures >> (highest + 1)) highest++;
    if (!commutes(r, number, memo, failures, &then)) {
        refute(r, number, (uint8_t)(highest + 1));
    } else if (then && !r->lab->failed) {
        if (r->step[then].parents == 0) r->step[then].depth = (uint8_t)(s.depth + 1);
        if (r->step[then].depth == HARK_FAR) refute(r, then, CALM);
        add_parent(r, then, number);
        if (r->step[then].wrong > from) refute(r, number, r->step[then].wrong);
        if (r->step[number].wrong > from) from = r->step[number].wrong;
        need(r, then, from);
    }
}

static void settle_doubts(struct reduction *r)
{
    while (r->todos > 0 && !r->lab->failed) {
        r->todos--;
        check(r, r->todo[r->todos].step, r->todo[r->todos].memo);
    }
}

void reduction_used(struct reduction *r, uint32_t failures)
{
    for (uint32_t k = 0; k < r->lab->takes; k++)
        use(r, r->lab->taken[k], (uint16_t)(1u << failures));
    settle_doubts(r);
}

static bool relied_on(
    struct reduction *r, uint32_t local, enum local_step what, uint32_t argument, uint8_t failures)
{
    uint32_t number = number_of(r, local, what, argument);
    if (r->lab->failed || r->step[number].wrong > failures) return false;
    need(r, number, failures);
    settle_doubts(r);
    if (r->lab->failed || r->step[number].wrong > failures) return false;
    if (failures < r->step[number].relied) {
        if (sealed(r)) return false;
        r->step[number].relied = failures;
    }
    if (r->lab->frozen) log_reliance(r, number);
    else keep_reliance(r, number, r->state);
    return true;
}

/* I7 looks at which sends of others have been made again: one that somebody depends on must not
 * come earlier than it would. Nor may a message be taken earlier that an unsent one stands behind,
 * and is good only because those between have executed otherwise since: one of them may fail first.
 */
static bool awaited(struct reduction *r, const struct job *job, struct job_step step)
{
    struct lab *lab = r->lab;
    const bool takes = step.what == STEP_APP || lab->scenario->receives_nested;
    if (!takes || lab->protocol->unstable) return false;
    const struct outcome out = local_take(
        lab, job->at[step.who], (enum local_step)step.what, job_argument(lab, job, step));
    if (lab->wild && out.taken && job_past_unsent(lab, job, step.who, out.taken)) return true;
    if (out.sent_to == 0) return false;
    uint64_t bit = UINT64_C(1) << (lab->first_send[step.who] + app_sends(lab, job->at[step.who]));
    for (uint32_t i = 0; i < lab->who; i++) {
        if (i != step.who && local_info(lab, job->at[i])->past & bit) return true;
        for (uint32_t k = 0, f; (f = job_frame(lab, job, i, k)) != 0; k++)
            if (frame_of(lab, f)->past & bit) return true;
    }
    return false;
}

bool reduction_next(struct reduction *r, const struct job *job, struct job_step *next)
{
    struct job_step step[JOB_STEPS];
    uint32_t failing, n = job_steps(r->lab, job, step, &failing);
    for (uint32_t k = 0; k < n - failing && !r->lab->failed; k++) {
        *next = step[k];
        if (step[k].what != STEP_FRAME && step[k].what != STEP_APP) continue;
        if (awaited(r, job, step[k])) continue;
        uint32_t argument = job_argument(r->lab, job, step[k]);
        if (relied_on(r, job->at[step[k].who], (enum local_step)step[k].what, argument,
                (uint8_t)job_service(r->lab, job)->failures))
            return true;
    }
    return false;
}
