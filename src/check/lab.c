/* lab.c: what all steps of a search share is made; steps of a process, and those that are
 * remembered. */
#include "local.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counts the sends, each of which has a bit in the sets of causes, and the longest channel. Of a
 * branch the longer part counts. */
static void count(struct lab *lab)
{
    uint32_t first = 0;
    lab->most_ssn = 1;
    for (uint32_t who = 0; who < lab->ranks; who++) {
        uint32_t to[LOCAL_SOURCES] = {0}, sends = 0;
        for (const struct hark_op *op = lab->scenario->op[who]; op->type; op++) {
            if (op->type != HARK_OP_SEND && op->type != HARK_OP_MULTICAST &&
                op->type != HARK_OP_CONTRIBUTE)
                continue;
            sends++;
            uint32_t peer = op->type == HARK_OP_SEND ? (uint32_t)op->peer
                                                     : group_source(lab, hark_op_tree(op),
                                                           op->type == HARK_OP_CONTRIBUTE);
            if (++to[peer] > lab->most_ssn) lab->most_ssn = to[peer];
        }
        lab->first_send[who] = first;
        first += sends;
    }
    if (lab->most_ssn > HARK_SCENARIO_SSN) lab->most_ssn = HARK_SCENARIO_SSN;
}

/* Are there processes that take what comes first, or look? */
static bool in_any_order(const struct hark_scenario *s)
{
    for (uint32_t who = 0; who < s->ranks; who++)
        for (const struct hark_op *op = s->op[who]; op->type; op++)
            if ((op->type == HARK_OP_RECEIVE && op->peer < 0) || op->type == HARK_OP_TEST ||
                op->type == HARK_OP_IF)
                return true;
    return false;
}

static bool in_clusters(const struct hark_protocol *p)
{
    return hark_service_by_cluster(p) || hark_service_by_all(p) || !hark_service_survives(p);
}

/* What the scenario asks for and the protocol has not: false, and what. */
static bool has_all(
    const struct hark_scenario *s, const struct hark_protocol *p, char error[HARK_SCENARIO_ERROR])
{
    const struct hark_protocol *other;
    bool asked = false;
    for (uint32_t i = 0; i < s->fails; i++) asked |= s->fail[i].when == HARK_FAIL_CLUSTER;
    if (!asked || in_clusters(p)) return true;
    int n = snprintf(error, HARK_SCENARIO_ERROR,
        "fails cluster: expected a protocol under which clusters go back");
    for (unsigned i = 0; (other = hark_protocol_at(i)) != NULL; i++)
        if (in_clusters(other) && other->manual->programs && n < HARK_SCENARIO_ERROR / 2)
            n += snprintf(error + n, (size_t)(HARK_SCENARIO_ERROR - n), ", %s", other->name);
    snprintf(error + n, (size_t)(HARK_SCENARIO_ERROR - n), " (protocol %s)", p->name);
    return false;
}

/* Lines of the scenario that the protocol can not combine: false, and what. */
static bool combined(
    const struct hark_scenario *s, const struct hark_protocol *p, char error[HARK_SCENARIO_ERROR])
{
    const struct hark_option *other, *o = hark_options_clash(p->manual->options, &s->core, &other);
    char usual[16] = "";
    if (o == NULL) return true;
    if (other->value) snprintf(usual, sizeof usual, " %u", other->usual);
    snprintf(error, HARK_SCENARIO_ERROR, "%s: expected %s%s%s (protocol %s)", o->line,
        other->value ? "" : "no ", other->line, usual, p->name);
    return false;
}

/* Can the protocol do what the embedder would be asked for, with the options that there are? */
static bool goes_with(const struct lab *lab, uint32_t asked)
{
    const struct hark_option *other;
    struct hark_config c = lab->options;
    c.asks |= asked;
    return hark_options_clash(lab->protocol->manual->options, &c, &other) == NULL;
}

static int calls_between(const struct hark_op *op, int from, int to)
{
    int calls = 0;
    for (int k = from; k < to; k++) calls += hark_op_is_call(op[k].type);
    return calls;
}

/* Checkpoint calls that a process has come to when it is at operation `at`, by whichever way; -1:
 * that depends on what its tests find, for the parts of a branch have not as many. */
static int calls_of(const struct hark_op *op, int at)
{
    int calls = 0;
    for (int k = 0; op[k].type && k <= at; k++) {
        calls += hark_op_is_call(op[k].type);
        if (op[k].type != HARK_OP_IF) continue;
        int miss = op[k].to, behind = op[miss - 1].to, in_part = calls_between(op, miss, behind);
        if (calls_between(op, k + 1, miss) != in_part) return -1;
        if (at >= behind) {
            calls += in_part;
            k = behind - 1;
        } else if (at >= miss) {
            k = miss - 1;
        }
    }
    return calls;
}

/* Those whose checkpoints are one call them as often; else one waits for ever for the others',
 * which is no fault of the protocol. */
static int check_calls(const struct lab *lab, char error[HARK_SCENARIO_ERROR])
{
    const struct hark_scenario *s = lab->scenario;
    const bool clusters = hark_service_by_cluster(lab->protocol) && !lab->waves_all;
    if (!hark_service_survives(lab->protocol) || hark_service_by_line(lab->protocol)) return 0;
    for (uint32_t a = 0; a < s->ranks; a++) {
        for (uint32_t b = 0; b < a; b++) {
            int of_a = calls_of(s->op[a], HARK_SCENARIO_OPS),
                of_b = calls_of(s->op[b], HARK_SCENARIO_OPS);
            if ((of_a >= 0 && of_a == of_b) || (clusters && s->cluster[a] != s->cluster[b]))
                continue;
            if (of_a < 0 || of_b < 0) {
                snprintf(error, HARK_SCENARIO_ERROR,
                    "p%u: found a branch whose parts have not as many checkpoint calls, expected "
                    "as many (protocol %s)",
                    of_a < 0 ? a : b, lab->protocol->name);
                return -1;
            }
            snprintf(error, HARK_SCENARIO_ERROR,
                "p%u: found %d checkpoint call%s, expected %d as p%u has (protocol %s)", a, of_a,
                of_a == 1 ? "" : "s", of_b, b, lab->protocol->name);
            return -1;
        }
    }
    return 0;
}

int lab_open(struct lab *lab, const struct hark_scenario *s, const char *protocol,
    char error[HARK_SCENARIO_ERROR])
{
    enum { BLOCK = 1 << 18 };
    memset(lab, 0, sizeof *lab);
    core_traps();
    const char *name = protocol ? protocol : s->protocol;
    lab->protocol = name[0] ? hark_protocol_named(name) : NULL;
    if (lab->protocol == NULL || !hark_protocol_runs(lab->protocol)) {
        lab->protocol = NULL;
        snprintf(error, HARK_SCENARIO_ERROR,
            name[0] ? "no protocol is named %s"
                    : "no protocol is named: the scenario "
                      "names none, and neither does --protocol",
            name);
        return -1;
    }
    if (!has_all(s, lab->protocol, error)) return -1;
    if (!combined(s, lab->protocol, error)) return -1;
    lab->scenario = s;
    lab->service_event.small = true;
    hark_options_take(lab->protocol->manual->options, &s->core, &lab->options);
    lab->recovery = lab->protocol->recovery ? hark_protocol_recovery() : NULL;
    lab->ranks = s->ranks;
    lab->who = s->ranks + (lab->recovery != NULL);
    lab->history = s->content == HARK_CONTENT_HISTORY ||
                   (s->content == HARK_CONTENT_PROTOCOL && lab->protocol->unstable);
    lab->groups = s->trees && hark_protocol_groups(lab->protocol, true) &&
                  goes_with(lab, HARK_ASKS_GROUPS) &&
                  (s->waves_all || !(lab->protocol->traits & HARK_TRAIT_WAVES));
    lab->reduces = lab_unreduced(lab) == NULL;
    lab->waves_all =
        s->waves_all && lab->protocol->traits & (HARK_TRAIT_WAVES | HARK_TRAIT_RECLUSTERS);
    lab->regroups = s->regroups && lab->waves_all &&
                    lab->protocol->traits & HARK_TRAIT_RECLUSTERS && !lab->groups &&
                    goes_with(lab, HARK_ASKS_RECLUSTER);
    if (check_calls(lab, error) < 0) return -1;
    if (!core_open(lab, BLOCK)) {
        snprintf(error, HARK_SCENARIO_ERROR, "no memory");
        return -1;
    }
    count(lab);
    lab->wild = lab->protocol->unstable == NULL && in_any_order(s);
    return 0;
}

void lab_close(struct lab *lab)
{
    intern_free(&lab->part);
    intern_free(&lab->local);
    intern_free(&lab->service_event);
    free(lab->service_memo);
    free(lab->info);
    free(lab->memo);
    free(lab->memo_slot);
    core_close(lab);
    free(lab->twin);
    memset(lab, 0, sizeof *lab);
}

void lab_freeze(struct lab *copy, const struct lab *lab)
{
    *copy = *lab;
    copy->frozen = copy->part.frozen = copy->local.frozen = copy->service_event.frozen = true;
    copy->core = copy->twin = NULL;
    copy->packed = NULL;
    copy->unpacked = NULL;
}

uint64_t lab_bytes(const struct lab *lab)
{
    return lab->part.bytes + lab->local.bytes + lab->service_event.bytes +
           (uint64_t)lab->infos * sizeof *lab->info + (uint64_t)lab->memo_room * sizeof *lab->memo +
           (uint64_t)lab->memo_slots * sizeof *lab->memo_slot;
}

/* ---- one step -------------------------------------------------------------------------------- */

uint32_t local_first(struct lab *lab, uint32_t who)
{
    memset(&lab->at, 0, sizeof lab->at);
    lab->at.who = lab->who_now = who;
    core_new(lab, who);
    return lab->failed ? 0 : local_close(lab);
}

static void told(struct lab *lab, uint32_t part)
{
    const struct announcement *a = intern_at(&lab->part, part);
    uint32_t down[HARK_SCENARIO_RANKS];
    struct hark_incarnation inc[LOCAL_WHO];
    struct hark_decision wave[HARK_SCENARIO_RANKS];
    struct hark_event e = {.type = HARK_FAILED};
    e.u.failed.re = a->re;
    e.u.failed.down = down;
    e.u.failed.inc = inc;
    e.u.failed.wave = wave;
    for (uint32_t i = 0; i < lab->ranks; i++) {
        if (a->down >> i & 1) down[e.u.failed.down_count++] = i;
        if (a->wave[i]) wave[e.u.failed.wave_count++] = (struct hark_decision){i, 0, a->wave[i]};
    }
    for (uint32_t i = 0; i < lab->who; i++)
        if (a->inc[i])
            inc[e.u.failed.inc_count++] =
                (struct hark_incarnation){i == lab->ranks ? HARK_RECOVERY : i, a->inc[i]};
    lab->at.seen = a->re;
    (void)local_event(lab, &e, 0, NULL);
}

/* From an image: what had arrived is held, for the core to ask for; nobody need have sent it again
 * (I7). */
static void restore(struct lab *lab, const struct image *m)
{
    struct local *l = &lab->at;
    const uint32_t *list = (const uint32_t *)(const void *)(m + 1);
    app_get(lab, &l->app, m->app);
    l->app.inside = 0;
    app_go_on(lab);
    l->payloads = m->payloads;
    memcpy(l->payload, list + m->inboxes, m->payloads * sizeof l->payload[0]);
    l->helds = m->inboxes;
    for (uint32_t i = 0; i < m->inboxes; i++) {
        static uint8_t bytes[sizeof(struct frame) + HARK_HEADER_MAX + 1];
        struct frame f = *frame_of(lab, list[i]);
        memcpy(bytes, frame_of(lab, list[i]), offsetof(struct frame, header) + f.length);
        f.past = 0;
        memcpy(bytes, &f, offsetof(struct frame, header));
        l->held[i] =
            intern_put(&lab->part, bytes, (uint32_t)offsetof(struct frame, header) + f.length);
    }
}

static uint32_t undone(uint64_t bits, uint64_t id[64])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < 64; i++)
        if (bits >> i & 1) id[n++] = i + 1;
    return n;
}

static void restarted(struct lab *lab, uint32_t part)
{
    const struct restart *r = intern_at(&lab->part, part);
    const struct announcement *a = intern_at(&lab->part, r->announcement);
    struct hark_event e = {.type = HARK_RESTARTED};
    uint64_t again[64];
    struct local *l = &lab->at;
    const struct image *from = NULL;
    core_new(lab, lab->who_now);
    if (lab->failed) return;
    l->inc = r->inc;
    e.u.restarted.checkpoint = r->checkpoint;
    e.u.restarted.re = a->re;
    e.u.restarted.inc = r->inc;
    e.u.restarted.undone = again;
    e.u.restarted.undone_count = undone(r->again, again);
    while (l->images) {
        const struct image *m = intern_at(&lab->part, l->image[l->images - 1]);
        if (m->id <= r->checkpoint) break;
        l->images--;
    }
    for (uint32_t i = 0; i < l->images; i++) {
        const struct image *m = intern_at(&lab->part, l->image[i]);
        if (m->id == r->checkpoint) from = m;
    }
    if (r->checkpoint && from == NULL) {
        lab_violate(lab, VIOLATED_IMAGE);
        return;
    }
    if (from) {
        restore(lab, from);
        e.u.restarted.image = (struct hark_bytes){
            intern_at(&lab->part, from->core), intern_length(&lab->part, from->core)};
    }
    if (l->kept)
        e.u.restarted.old_core =
            (struct hark_bytes){intern_at(&lab->part, l->kept), intern_length(&lab->part, l->kept)};
    l->kept = 0;
    (void)local_event(lab, &e, 0, NULL);
    told(lab, r->announcement);
}

static void stored(struct lab *lab, uint32_t of, uint32_t fact, bool ok, uint64_t id)
{
    struct hark_event e = {.type = HARK_STORED};
    e.u.stored.of = of;
    e.u.stored.fact = fact;
    e.u.stored.ok = ok;
    e.u.stored.id = id;
    (void)local_event(lab, &e, 0, NULL);
}

static void answered(struct lab *lab, bool ok)
{
    struct local *l = &lab->at;
    struct hark_fact f = l->fact[0];
    l->facts--;
    memmove(&l->fact[0], &l->fact[1], l->facts * sizeof f);
    stored(lab, HARK_PERSIST, f.kind, ok, f.id);
}

static struct hark_event idle_event(const struct lab *lab)
{
    struct hark_event e = {.type = HARK_IDLE};
    e.u.idle.stable = lab->who_now < lab->ranks &&
                      lab->scenario->op[lab->who_now][lab->at.app.pc].type == HARK_OP_OUTPUT;
    return e;
}

static void image_drop(struct lab *lab, uint64_t id)
{
    struct local *l = &lab->at;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < l->images; i++)
        if (((const struct image *)intern_at(&lab->part, l->image[i]))->id != id)
            l->image[kept++] = l->image[i];
    l->images = kept;
}

static void step(struct lab *lab, enum local_step what, uint32_t argument)
{
    struct hark_event e = {.type = HARK_ARRIVE};
    const struct frame *f;
    switch (what) {
    case STEP_FRAME:
        f = frame_of(lab, argument);
        e.u.frame.header = (struct hark_bytes){f->header, f->length};
        (void)local_event(lab, &e, argument, NULL);
        break;
    case STEP_APP: app_step(lab, argument); break;
    case STEP_TOLD: told(lab, argument); break;
    case STEP_STORED:
        lab->at.storing = 0;
        if (argument) image_drop(lab, lab->at.store_id);
        stored(lab, HARK_CAPTURE, 0, argument == 0, lab->at.store_id);
        lab->at.store_id = 0;
        break;
    case STEP_ANSWER: answered(lab, argument != 0); break;
    case STEP_IDLE:
        e = idle_event(lab);
        (void)local_event(lab, &e, 0, NULL);
        break;
    case STEP_RESTART: restarted(lab, argument); break;
    case STEP_SERVICE: break; /* of a job, made of the crashes of its processes */
    case STEP_CRASH:
        core_stop(lab);
        image_drop(lab, argument);
        break;
    }
}

struct outcome local_make(struct lab *lab, uint32_t local, enum local_step what, uint32_t argument)
{
    lab->out = (struct outcome){.happened = 1};
    lab->leave = lab->offer = 0;
    local_open_core(lab, local);
    lab->waits = lab->scenario->receives_nested && lab->running && lab->who_now < lab->ranks &&
                 what != STEP_APP && app_waits(lab);
    step(lab, what, argument);
    if (lab->failed) return lab->out;
    if (!lab->out.happened) {
        lab->out.local = local;
        return lab->out;
    }
    if (lab->running) core_keep(lab);
    lab->out.local = local_close(lab);
    if (lab->leave) {
        lab->out.frames =
            intern_put(&lab->part, lab->leaving, lab->leave * (uint32_t)sizeof lab->leaving[0]);
        if (lab->out.frames == 0) lab_starve(lab);
    }
    return lab->out;
}

/* ---- remembered ------------------------------------------------------------------------------ */

static uint32_t memo_hash(uint32_t local, uint32_t what, uint32_t argument)
{
    uint64_t h = ((uint64_t)local << 32 | argument) * UINT64_C(0x9e3779b97f4a7c15) +
                 what * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(h >> 32 ^ h);
}

static int memo_more(struct lab *lab)
{
    if (lab->memos == lab->memo_room) {
        uint32_t room = lab->memo_room ? lab->memo_room * 2 : 1 << 10;
        struct memo *m = realloc(lab->memo, (uint64_t)room * sizeof *m);
        if (m == NULL) return -1;
        lab->memo = m;
        lab->memo_room = room;
    }
    if (lab->memos * 2 < lab->memo_slots) return 0;
    uint32_t slots = lab->memo_slots ? lab->memo_slots * 2 : 1 << 12;
    uint64_t *slot = calloc(slots, sizeof *slot);
    if (slot == NULL) return -1;
    for (uint32_t i = 0; i < lab->memo_slots; i++) {
        uint32_t at = (uint32_t)(lab->memo_slot[i] >> 32) & (slots - 1);
        if (lab->memo_slot[i] == 0) continue;
        while (slot[at]) at = (at + 1) & (slots - 1);
        slot[at] = lab->memo_slot[i];
    }
    free(lab->memo_slot);
    lab->memo_slot = slot;
    lab->memo_slots = slots;
    return 0;
}

void local_fetch(const struct lab *lab, uint32_t local, enum local_step what, uint32_t argument)
{
    const uint32_t hash = memo_hash(local, (uint32_t)what, argument);
    if (lab->memo_slots) __builtin_prefetch(&lab->memo_slot[hash & (lab->memo_slots - 1)]);
}

struct outcome local_take(struct lab *lab, uint32_t local, enum local_step what, uint32_t argument)
{
    uint32_t hash = memo_hash(local, (uint32_t)what, argument);
    for (uint32_t at = hash & (lab->memo_slots - 1); lab->memo_slots && lab->memo_slot[at];
         at = (at + 1) & (lab->memo_slots - 1)) {
        if (lab->memo_slot[at] >> 32 != hash) continue;
        const uint32_t found = (uint32_t)lab->memo_slot[at] - 1;
        const struct memo *m = &lab->memo[found];
        if (m->local != local || m->argument != argument || m->step != (uint32_t)what) continue;
        lab->looked_up++;
        lab->last = found;
        return m->outcome;
    }
    if (lab->frozen) {
        lab_fail(lab, "this step is not known yet");
        return (struct outcome){0};
    }
    struct outcome out = local_make(lab, local, what, argument);
    lab->made++;
    if (memo_more(lab) < 0) lab_starve(lab);
    if (lab->failed) return out;
    uint32_t at = hash & (lab->memo_slots - 1);
    while (lab->memo_slot[at]) at = (at + 1) & (lab->memo_slots - 1);
    lab->memo[lab->memos++] = (struct memo){local, argument, (uint32_t)what, out};
    lab->memo_slot[at] = (uint64_t)hash << 32 | lab->memos;
    lab->last = lab->memos - 1;
    return out;
}

/* ---- what can happen ------------------------------------------------------------------------- */

/* The application waits: would IDLE make its core do something? */
static bool idle_does(struct lab *lab)
{
    static struct hark_effect effects[HARK_EFFECTS_ROOM];
    static uint8_t bytes[HARK_EFFECTS_BYTES];
    struct hark_effects fx = {
        .at = effects, .room = HARK_EFFECTS_ROOM, .bytes = bytes, .bytes_room = sizeof bytes};
    struct hark_event e = idle_event(lab);
    core_changes(lab);
    return lab->protocol->step(lab->core, &e, &fx) >= 0 && fx.count > 0;
}

static bool infos_more(struct lab *lab, uint32_t local)
{
    if (local < lab->infos) return true;
    uint32_t room = lab->infos ? lab->infos * 2 : 1 << 10;
    while (room <= local) room *= 2;
    struct local_info *info = realloc(lab->info, (uint64_t)room * sizeof *info);
    if (info == NULL) {
        lab_starve(lab);
        return false;
    }
    memset(info + lab->infos, 0, (uint64_t)(room - lab->infos) * sizeof *info);
    lab->info = info;
    lab->infos = room;
    return true;
}

static uint64_t past_of(struct lab *lab)
{
    const struct local *l = &lab->at;
    uint64_t past = l->core ? l->app.past : 0;
    struct app app;
    for (uint32_t k = 0; k < l->inboxes; k++) past |= frame_of(lab, l->inbox[k])->past;
    for (uint32_t k = 0; k < l->helds; k++) past |= frame_of(lab, l->held[k])->past;
    for (uint32_t k = 0; k < l->payloads; k++)
        past |= ((const struct payload *)intern_at(&lab->part, l->payload[k]))->past;
    for (uint32_t k = 0; k < l->images; k++) {
        const struct image *m = intern_at(&lab->part, l->image[k]);
        const uint32_t *list = (const uint32_t *)(const void *)(m + 1);
        app_get(lab, &app, m->app);
        past |= app.past;
        for (uint32_t j = 0; j < m->inboxes; j++) past |= frame_of(lab, list[j])->past;
        for (uint32_t j = 0; j < m->payloads; j++)
            past |= ((const struct payload *)intern_at(&lab->part, list[m->inboxes + j]))->past;
    }
    return past;
}

static uint32_t images_of(struct lab *lab)
{
    uint64_t id[LOCAL_IMAGES];
    const struct local *l = &lab->at;
    for (uint32_t k = 0; k < l->images; k++)
        id[k] = ((const struct image *)intern_at(&lab->part, l->image[k]))->id;
    uint32_t part = l->images ? intern_put(&lab->part, id, l->images * (uint32_t)sizeof id[0]) : 0;
    if (l->images && part == 0) lab_starve(lab);
    return part;
}

const struct local_info *local_info_make(struct lab *lab, uint32_t local)
{
    static const struct local_info nothing;
    if (lab->frozen) lab_fail(lab, "this process is not known yet");
    if (lab->frozen || !infos_more(lab, local)) return &nothing;
    struct local_info *i = &lab->info[local];
    lab->out = (struct outcome){0};
    local_open_core(lab, local);
    const struct local *l = &lab->at;
    i->running = lab->running;
    i->inc = l->inc;
    i->seen = l->seen;
    i->storing = l->storing != 0;
    i->facts = (uint8_t)l->facts;
    i->inside = l->app.inside != 0;
    i->held = l->helds > 0;
    i->ended = l->who == lab->ranks || lab->scenario->op[l->who][l->app.pc].type == HARK_OP_END;
    if (l->who < lab->ranks) {
        const struct hark_op *op = lab->scenario->op[l->who];
        const int all = calls_of(op, HARK_SCENARIO_OPS);
        i->points = all < 0 ? LOCAL_POINTS_DEPEND : (uint8_t)all;
        i->reached = all < 0 ? 0 : (uint8_t)calls_of(op, l->app.pc);
        i->at_point = hark_op_is_call(op[l->app.pc].type);
    }
    if (lab->running && l->who < lab->ranks) {
        i->from = app_can(lab);
        i->idle = i->from == 0 && idle_does(lab);
    }
    i->past = past_of(lab);
    i->images = images_of(lab);
    i->known = 1;
    return i;
}
