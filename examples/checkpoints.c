/* checkpoints.c: embed.c with checkpoints. It uses only hark's headers; disk and network are
 * arrays.
 *
 * Four processes in two clusters, 0 1 and 2 3, pass numbers round a ring under HydEE. Each step
 * ends with a CHECKPOINT_POINT, and every fourth time a checkpoint is due. What a runtime has to do
 * for it:
 *
 *   CAPTURE   `capture` saves the core, the application, and the payloads that `names` lists; then
 *             STORED
 *   PERSIST   is a FACT for the failure service: when its record is written the checkpoint is
 *             decided; then STORED
 *   DROP      an image that nobody goes back to any more
 *
 * Process 2 is lost: its cluster goes back to checkpoint 2, from which `restart` makes new
 * incarnations. Then process 0 is lost, with its newest image. The failure service asks (VERIFY),
 * and its cluster goes back to checkpoint 1. It needs messages that process 3 had sent before
 * checkpoint 2: those were in its log, thus in its image. The answer is that of a run in which
 * nothing happens. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hark/registry.h"

enum { RANKS = 4, STEPS = 16, EVERY = 4, IMAGES = 4, QUEUE = 64, INBOX = 8 };
static const struct {
    uint32_t rank, step;
    bool image;
} loss[] = {{2, 10, false}, {0, 11, true}}; /* its image too */
static const uint32_t cluster[RANKS] = {0, 0, 1, 1};
static const struct hark_range group[2] = {{0, 1}, {2, 3}};

struct frame {
    uint32_t from, to, inc, length;
    uint64_t ssn, value;
    uint8_t header[HARK_FRAGMENT];
};
enum { SENDS, RECEIVES, CALLS, WAITS }; /* WAITS: in a checkpoint call, for RESUME */
struct application {
    uint64_t x;
    uint32_t step, at;
};
struct payloads { /* those that the core may name: of its log, by receiver and ssn; and arrived, not
                     yet delivered */
    uint64_t log[RANKS][STEPS + 1];
    struct frame inbox[INBOX];
    uint32_t arrived;
};
struct process {
    struct hark *core;
    uint32_t rank, inc;
    struct application app;
    struct payloads have;
};
struct image {
    uint64_t id;
    struct application app;
    struct payloads have;
    uint32_t length;
    uint8_t core[8192];
};

static struct process process[RANKS + 1];
static struct image disk[RANKS][IMAGES];
static struct hark *service; /* the failure service */
static uint8_t record[8192]; /* what it must not forget, if it should die itself */
static struct frame queue[QUEUE];
static unsigned first, used; /* of the queue */

static void change(struct hark_service_event event, struct process *asks);

static void expect(int status)
{
    if (status < 0) exit((fprintf(stderr, "checkpoints: %s\n", hark_status_text(status)), 1));
}

static void put(struct frame f)
{
    if (used == QUEUE) abort();
    queue[(first + used++) % QUEUE] = f;
}

static struct image *image(uint32_t rank, uint64_t id) /* id 0: room for one */
{
    for (int i = 0; i < IMAGES; i++)
        if (disk[rank][i].id == id) return &disk[rank][i];
    exit((fprintf(stderr, "checkpoints: no image %" PRIu64 " of %u\n", id, rank), 1));
}

/* Saves what makes up the process now: not more payloads than the core names. */
static void capture(struct process *p, uint64_t id)
{
    struct image *m = image(p->rank, 0);
    struct hark_names run;
    *m = (struct image){.id = id, .app = p->app};
    m->length = (uint32_t)hark_pack(p->core, &hark_hydee_shape, m->core, sizeof m->core);
    if (m->length > sizeof m->core) abort();
    for (uint64_t cursor = 0; hark_hydee_names(p->core, &cursor, &run);)
        for (uint64_t ssn = run.name.ssn; ssn <= run.last; ssn++) {
            if (run.name.way == HARK_OUT)
                m->have.log[run.name.peer][ssn] = p->have.log[run.name.peer][ssn];
            for (uint32_t i = 0; run.name.way == HARK_IN && i < p->have.arrived; i++)
                if (p->have.inbox[i].from == run.name.peer && p->have.inbox[i].ssn == ssn)
                    m->have.inbox[m->have.arrived++] = p->have.inbox[i];
        }
}

static void begin(struct process *p, uint32_t rank)
{
    const bool member = rank != HARK_RECOVERY;
    const struct hark_config config = {.me = rank,
        .ranks = RANKS,
        .flags = HARK_DIGEST,
        .cluster = member ? &group[cluster[rank]] : NULL,
        .cluster_count = member};
    const struct hark_protocol *protocol = hark_protocol_named(member ? "hydee" : "recovery");
    const uint64_t bytes = protocol->size(&config) + 16384; /* else: hark_wants, hark_grow */
    *p = (struct process){.core = realloc(p->core, bytes), .rank = rank, .app = {.x = rank}};
    p->inc = hark_service_incarnation(service, rank);
    if (p->core == NULL) abort();
    expect(protocol->init(p->core, bytes, &config));
}

/* A frame leaves; what is sent again comes from the log. */
static void transmit(const struct process *p, const struct hark_transmit *x)
{
    struct frame out = {p->rank, x->peer, x->inc, x->header.length, x->name.ssn, p->app.x, {0}};
    if (x->replay) out.value = p->have.log[x->name.peer][x->name.ssn];
    memcpy(out.header, x->header.at, x->header.length);
    put(out);
}

/* Gives the core an event and performs the effects. `f`: the frame that arrives. */
static void step(struct process *p, struct hark_event event, const struct frame *f)
{
    struct hark_effect effect[HARK_EFFECTS_ROOM];
    uint8_t bytes[HARK_EFFECTS_BYTES];
    struct hark_effects fx = {
        .at = effect, .room = HARK_EFFECTS_ROOM, .bytes = bytes, .bytes_room = sizeof bytes};
    struct hark_service_event fact = {0};
    struct hark_event stored = {0};
    const int status = hark_step(p->core, &event, &fx);
    expect(status);
    for (const struct hark_effect *x = effect; x < effect + fx.count; x++) {
        switch (x->type) {
        case HARK_TRANSMIT: transmit(p, &x->u.transmit); break;
        case HARK_RETAIN:
            p->have.log[x->u.retain.name.peer][x->u.retain.name.ssn] = p->app.x;
            break;
        case HARK_HANDUP:
            if (p->have.arrived == INBOX) abort();
            p->have.inbox[p->have.arrived++] = *f;
            break;
        case HARK_HOLD: put(*f); break; /* round again, which makes OFFER unnecessary */
        case HARK_CAPTURE:
            capture(p, x->u.checkpoint.id);
            stored = (struct hark_event){
                HARK_STORED, {.stored = {.of = HARK_CAPTURE, .ok = 1, .id = x->u.checkpoint.id}}};
            break;
        case HARK_PERSIST:
            fact = (struct hark_service_event){HARK_SERVICE_FACT, {.fact = x->u.persist}};
            break;
        case HARK_COMMIT:
            printf(
                "  process %u has committed checkpoint %" PRIu64 "\n", p->rank, x->u.checkpoint.id);
            break;
        case HARK_DROP: /* after a restart it may be gone already */
            for (int i = 0; i < IMAGES; i++)
                if (disk[p->rank][i].id == x->u.checkpoint.id) disk[p->rank][i].id = 0;
            break;
        case HARK_RESUME: p->app.at = SENDS, p->app.step++; break;
        default: break; /* TRIM: this log is never full */
        }
    }
    if (status == HARK_MORE) step(p, (struct hark_event){.type = HARK_CONTINUE}, f);
    if (stored.type) step(p, stored, NULL);
    if (fact.type) change(fact, p);
}

/* A new incarnation, from the checkpoint that the failure service has chosen. `failed`: its
 * announcement. */
static void restart(uint32_t rank, struct hark_event failed)
{
    const struct hark_service_restart r = hark_service_restart(service, rank);
    struct image *m = r.checkpoint ? image(rank, r.checkpoint) : NULL;
    struct process *p = &process[rank];
    struct hark_event event = {
        HARK_RESTARTED, {.restarted = {.checkpoint = r.checkpoint, .re = r.re, .inc = r.inc}}};
    printf("  process %u begins anew, from checkpoint %" PRIu64 "\n", rank, r.checkpoint);
    begin(p, rank);
    for (int i = 0; i < IMAGES; i++)
        if (disk[rank][i].id > r.checkpoint) disk[rank][i].id = 0; /* newer ones have never been */
    if (m != NULL) {
        event.u.restarted.image = (struct hark_bytes){m->core, m->length};
        p->app = m->app;
        memcpy(p->have.log, m->have.log, sizeof p->have.log);
        p->app.at = SENDS, p->app.step++; /* the image is of the call; RESUME does not come again */
    }
    step(p, event, NULL);
    step(p, failed, NULL);
    for (uint32_t i = 0; m && i < m->have.arrived; i++)
        m->have.inbox[i].inc = r.inc, put(m->have.inbox[i]);
}

/* Gives the failure service an event, performs the effects, gives it the answer to them. `asks`:
 * whose FACT it is. */
static void change(struct hark_service_event event, struct process *asks)
{
    struct hark_event failed,
        stored = {HARK_STORED,
            {.stored = {.of = HARK_PERSIST, .id = event.u.fact.id, .fact = event.u.fact.kind}}};
    struct hark_service_effect effect[8 + RANKS];
    uint32_t down[RANKS];
    struct hark_incarnation inc[RANKS + 1];
    struct hark_decision wave[RANKS];
    while (event.type) {
        struct hark_service_effects fx = {.at = effect, .room = 8 + RANKS};
        expect(hark_service_step(service, &event, &fx)); /* else: hark_wants, hark_grow; HARK_MORE:
                                                            CONTINUE */
        event = (struct hark_service_event){0};
        hark_service_failed(service, &failed, down, inc, wave);
        for (const struct hark_service_effect *x = effect; x < effect + fx.count; x++) {
            if (x->type == HARK_SERVICE_VERIFY) {
                event.type = HARK_SERVICE_VERIFIED;
                event.u.verified.whole = image(x->rank, x->id)->length > 0;
            }
            if (x->type == HARK_SERVICE_RECORD) {
                event.type = HARK_SERVICE_DURABLE;
                event.u.durable.ok =
                    hark_pack(service, &hark_service_shape, record, sizeof record) <= sizeof record;
            }
            if (x->type == HARK_SERVICE_FELL_BACK)
                printf("  a newer image than %" PRIu64 " is damaged\n", x->id);
            if (x->type == HARK_SERVICE_LOST) exit(1); /* none is whole */
            if (x->type == HARK_SERVICE_ANSWER)
                stored.u.stored.ok = x->id != 0, step(asks, stored, NULL);
            for (struct process *p = process;
                 x->type == HARK_SERVICE_ANNOUNCE && p <= &process[RANKS]; p++)
                if (p->inc == hark_service_incarnation(service, p->rank))
                    step(p, failed, NULL); /* else: RESTART. team wants it in both cases */
            if (x->type == HARK_SERVICE_RESTART) restart(x->rank, failed);
        }
    }
}

/* Takes the next message, if one has been handed up: all are from the left neighbour, in order. */
static bool receive(struct process *p)
{
    const struct frame f = p->have.inbox[0];
    if (p->have.arrived == 0) return false;
    memmove(p->have.inbox, p->have.inbox + 1, --p->have.arrived * sizeof f);
    step(p, (struct hark_event){HARK_DELIVER, {.frame = {{f.header, f.length}, 8}}}, NULL);
    p->app.x = p->app.x * 31 + f.value;
    return true;
}

/* Goes on as far as it can. */
static void run(struct process *p)
{
    struct hark_event send = {
        HARK_SEND, {.send = {.peer = (p->rank + 1) % RANKS, .length = 8, .digest = p->app.x}}};
    struct hark_event point = {
        HARK_CHECKPOINT_POINT, {.point = {.due = (p->app.step + 1) % EVERY == 0}}};
    if (p->app.step == STEPS) return;
    if (p->app.at == SENDS) p->app.at = RECEIVES, step(p, send, NULL);
    if (p->app.at == RECEIVES && (p->app.step == 0 || receive(p)))
        p->app.at = CALLS; /* what was sent a step ago */
    if (p->app.at == CALLS) p->app.at = WAITS, step(p, point, NULL);
}

/* All processes from beginning to end, with so many losses; `answer`: what each has at the end. */
static void job(uint32_t losses, uint64_t answer[RANKS])
{
    const struct hark_service_config config = {
        hark_protocol_named("hydee"), RANKS, cluster, .generations = 2};
    const uint64_t bytes = hark_service_size(&config) + 4096;
    uint32_t lost = 0;
    memset(disk, 0, sizeof disk);
    service = realloc(service, bytes);
    if (service == NULL) abort();
    expect(hark_service_init(service, bytes, &config));
    for (uint32_t i = 0; i <= RANKS; i++) begin(&process[i], i < RANKS ? i : HARK_RECOVERY);
    for (;;) {
        for (int i = 0; i < RANKS; i++) run(&process[i]);
        for (int i = 0; used == 0 && i <= RANKS; i++)
            step(&process[i], (struct hark_event){.type = HARK_IDLE}, NULL);
        if (used == 0) break; /* nothing is on its way, and nobody has anything more to say */
        const struct frame f = queue[first];
        struct process *p = &process[f.to == HARK_RECOVERY ? RANKS : f.to];
        first = (first + 1) % QUEUE, used--;
        if (f.inc == p->inc)
            step(p, (struct hark_event){HARK_ARRIVE, {.frame = {{f.header, f.length}, 8}}}, &f);
        const uint32_t rank = loss[lost % 2].rank;
        if (lost == losses || process[rank].app.step < loss[lost].step) continue;
        printf("process %u is lost in step %u\n", rank, loss[lost].step);
        if (loss[lost++].image) image(rank, hark_service_wave(service, rank, 0))->length = 0;
        change((struct hark_service_event){HARK_SERVICE_DIED, {.died = {&rank, 1, false}}}, NULL);
    }
    for (int i = 0; i < RANKS; i++) answer[i] = process[i].app.x;
}

int main(void)
{
    uint64_t calm[RANKS], failed[RANKS];
    printf("without failures\n");
    job(0, calm);
    printf("with two\n");
    job(2, failed);
    for (int i = 0; i < RANKS; i++)
        printf("process %d: %016" PRIx64 ", %016" PRIx64 "\n", i, calm[i], failed[i]);
    return memcmp(calm, failed, sizeof calm) != 0;
}
