/* embed.c: a small runtime around HydEE. It uses only hark's headers: no library, no transport, no
 * thread. Run ./embed: three processes are structs, the network is a queue, a token goes round.
 * Process 1 is lost with its whole state, restarts, and gets its messages again. `step` is the
 * runtime: it gives an event to the core of a process and performs its effects. `change` does the
 * same for the core of the failure service, which knows who goes back. checkpoints.c adds
 * checkpoints. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hark/registry.h"

enum { RANKS = 3, LAST = 30, LOST = 1, LOST_AFTER = 5, QUEUE = 64 };
struct frame {
    uint32_t to, inc, length;
    uint64_t token;
    uint8_t header[HARK_FRAGMENT];
};
struct process {
    struct hark *core;
    uint32_t rank, inc;
    uint64_t sum, taken;               /* the application's */
    uint64_t posted, log[RANKS][LAST]; /* payloads: the one posted now, and the logged ones, by
                                          receiver and ssn */
};
static struct process process[RANKS + 1] = {
    {.rank = 0}, {.rank = 1}, {.rank = 2}, {.rank = HARK_RECOVERY}};
static struct hark *service; /* the failure service */
static struct frame queue[QUEUE];
static unsigned first, used; /* of the queue */

static void change(struct hark_service_event event, struct process *asks);

static void begin(struct process *p)
{
    struct hark_config config = {.me = p->rank, .ranks = RANKS, .flags = HARK_DIGEST}; /* each a
                                                                                          cluster of
                                                                                          its own */
    const struct hark_protocol *protocol =
        hark_protocol_named(p->rank == HARK_RECOVERY ? "recovery" : "hydee");
    uint64_t bytes = protocol->size(&config) + 16384; /* else: hark_wants, hark_grow */
    uint32_t inc = hark_service_incarnation(service, p->rank);
    *p = (struct process){.core = realloc(p->core, bytes), .rank = p->rank, .inc = inc};
    if (p->core == NULL || protocol->init(p->core, bytes, &config) < 0) abort();
}

static void put(const struct frame *f)
{
    if (used == QUEUE) abort();
    queue[(first + used++) % QUEUE] = *f;
}

static void expect(int status)
{
    if (status < 0) exit((fprintf(stderr, "embed: %s\n", hark_status_text(status)), 1));
}

/* A frame leaves; what is sent again comes from the log. */
static void transmit(const struct process *p, const struct hark_transmit *x)
{
    struct frame out = {
        .to = x->peer, .inc = x->inc, .length = x->header.length, .token = p->posted};
    if (x->replay) {
        out.token = p->log[x->name.peer][x->name.ssn];
        printf("  process %u tells %u again: token %" PRIu64 "\n", p->rank, x->peer, out.token);
    }
    memcpy(out.header, x->header.at, x->header.length);
    put(&out);
}

/* Gives the core an event and performs the effects. Returns: may `f`, which has arrived, be
 * delivered? */
static bool step(struct process *p, struct hark_event event, const struct frame *f)
{
    struct hark_effect effect[HARK_EFFECTS_ROOM];
    uint8_t bytes[HARK_EFFECTS_BYTES];
    struct hark_effects fx = {
        .at = effect, .room = HARK_EFFECTS_ROOM, .bytes = bytes, .bytes_room = sizeof bytes};
    struct hark_service_event fact = {0};
    int status = hark_step(p->core, &event, &fx);
    bool handed_up = false;
    expect(status);
    for (const struct hark_effect *x = effect; x < effect + fx.count; x++) {
        switch (x->type) {
        case HARK_TRANSMIT: transmit(p, &x->u.transmit); break;
        case HARK_RETAIN: p->log[x->u.retain.name.peer][x->u.retain.name.ssn] = p->posted; break;
        case HARK_SUPPRESS:
            printf("  process %u need not send token %" PRIu64 "\n", p->rank, p->posted);
            break;
        case HARK_HANDUP: handed_up = true; break;
        case HARK_HOLD: put(f); break; /* round again, which makes OFFER unnecessary */
        case HARK_PERSIST:
            fact = (struct hark_service_event){HARK_SERVICE_FACT, {.fact = x->u.persist}};
            break;
        case HARK_RECOVERED: printf("  process %u: recovered\n", p->rank); break;
        default: break;
        }
    }
    if (status == HARK_MORE) handed_up |= step(p, (struct hark_event){.type = HARK_CONTINUE}, f);
    if (fact.type) change(fact, p);
    return handed_up;
}

/* Gives the failure service an event and performs the effects. `asks`: the process whose FACT it
 * is. */
static void change(struct hark_service_event event, struct process *asks)
{
    struct hark_service_effect effect[8 + RANKS];
    struct hark_service_effects fx = {.at = effect, .room = 8 + RANKS};
    struct hark_event failed,
        stored = {HARK_STORED,
            {.stored = {.of = HARK_PERSIST, .id = event.u.fact.id, .fact = event.u.fact.kind}}};
    uint32_t down[RANKS];
    struct hark_incarnation inc[RANKS + 1];
    struct hark_decision wave[RANKS];
    expect(hark_service_step(service, &event, &fx));
    if (effect[0].type == HARK_SERVICE_RECORD) { /* nothing is kept of it: this service never dies
                                                  */
        event = (struct hark_service_event){HARK_SERVICE_DURABLE, {.durable = {true}}};
        expect(hark_service_step(service, &event, &fx));
    }
    hark_service_failed(service, &failed, down, inc, wave);
    for (struct hark_service_effect *x = effect; x < effect + fx.count; x++) {
        if (x->type == HARK_SERVICE_ANSWER)
            stored.u.stored.ok = x->id != 0, step(asks, stored, NULL);
        for (struct process *p = process; x->type == HARK_SERVICE_ANNOUNCE && p <= &process[RANKS];
             p++)
            if (p->inc == hark_service_incarnation(service, p->rank))
                step(p, failed, NULL); /* else: RESTART. team wants it in both cases */
        if (x->type == HARK_SERVICE_RESTART) {
            struct process *p = &process[x->rank];
            struct hark_service_restart r = hark_service_restart(service, x->rank);
            begin(p);
            step(p, (struct hark_event){HARK_RESTARTED, {.restarted = {.re = r.re, .inc = r.inc}}},
                NULL);
            step(p, failed, NULL);
        }
    }
}

static void post(struct process *p, uint64_t token)
{
    struct hark_event event = {
        HARK_SEND, {.send = {.peer = (p->rank + 1) % RANKS, .length = 8, .digest = token}}};
    p->posted = token, step(p, event, NULL);
}

int main(void)
{
    const uint32_t cluster[RANKS] = {0, 1, 2}, lost = LOST;
    const struct hark_service_config config = {
        hark_protocol_named("hydee"), RANKS, cluster, .generations = 2};
    service = malloc(hark_service_size(&config));
    if (service == NULL || hark_service_init(service, hark_service_size(&config), &config) < 0)
        abort();
    for (int i = 0; i <= RANKS; i++) begin(&process[i]);
    for (post(&process[0], 1); used;) {
        struct frame f = queue[first];
        struct process *p = &process[f.to == HARK_RECOVERY ? RANKS : f.to];
        struct hark_event event = {HARK_ARRIVE, {.frame = {{f.header, f.length}, 8}}};
        first = (first + 1) % QUEUE, used--;
        if (f.inc != p->inc || !step(p, event, &f))
            continue; /* for a dead incarnation; or not a message */
        event.type = HARK_DELIVER, step(p, event, &f);
        p->sum += f.token, p->taken++;
        if (f.token < LAST) post(p, f.token + 1);
        if (p->rank != LOST || p->inc != 0 || p->taken != LOST_AFTER) continue;
        printf("process %u is lost when it has taken %" PRIu64 " tokens\n", p->rank, p->taken);
        change((struct hark_service_event){HARK_SERVICE_DIED, {.died = {&lost, 1, false}}}, NULL);
    }
    for (int i = 0; i < RANKS; i++)
        printf("process %d: %" PRIu64 " tokens, sum %" PRIu64 "\n", i, process[i].taken,
            process[i].sum);
    return process[0].sum == 165 && process[1].sum == 145 && process[2].sum == 155 ? 0
                                                                                   : 1; /* as
                                                                                           without
                                                                                           the
                                                                                           loss
                                                                                         */
}
