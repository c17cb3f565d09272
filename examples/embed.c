/* embed.c: a runtime of one's own around HydEE: nothing of ours but headers, no library, no transport, no thread.
 *
 *     ./embed
 *
 * Three processes are structs, the network is a queue. A token goes round; process 1 is lost with all it knew,
 * begins again, and hears the tokens that it had heard. What a real runtime does with sockets is done here
 * in `step`: give the core an event, then perform its effects in their order.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hark/hydee.h"
#include "hark/recovery.h"

enum { RANKS = 3, LAST = 30, LOST = 1, LOST_AFTER = 5, QUEUE = 64 };

struct frame { uint32_t to, inc, length; uint64_t token; uint8_t header[HARK_FRAGMENT]; };
struct process {
    struct hark *core;
    uint32_t rank, inc;
    uint64_t sum, taken;               /* the application's */
    uint64_t posted, log[RANKS][LAST]; /* payloads: the one posted now, and those retained, by receiver and ssn */
};
static struct process process[RANKS + 1] = {{.rank = 0}, {.rank = 1}, {.rank = 2}, {.rank = HARK_RECOVERY}};
static struct frame queue[QUEUE];
static unsigned first, used;

static void begin(struct process *p)
{
    struct hark_config config = {.me = p->rank, .ranks = RANKS, .flags = HARK_DIGEST}; /* each a cluster of its own */
    bool member = p->rank != HARK_RECOVERY;
    uint64_t bytes = (member ? hark_hydee_size(&config) : hark_recovery_size(&config)) + 16384;
    *p = (struct process){.core = realloc(p->core, bytes), .rank = p->rank, .inc = p->inc};
    if (p->core == NULL || (member ? hark_hydee_init : hark_recovery_init)(p->core, bytes, &config) < 0) abort();
}

static void put(const struct frame *f)
{
    if (used == QUEUE) abort();
    queue[(first + used++) % QUEUE] = *f;
}

/* An event, and its effects. Returns whether `f`, which has arrived, may be delivered. */
static bool step(struct process *p, struct hark_event event, const struct frame *f)
{
    struct hark_effect effect[HARK_EFFECTS_ROOM];
    uint8_t bytes[HARK_EFFECTS_BYTES];
    struct hark_effects fx = {effect, 0, HARK_EFFECTS_ROOM, bytes, 0, sizeof bytes};
    bool handed_up = false, decided = false;
    int status = (p->rank == HARK_RECOVERY ? hark_recovery_step : hark_hydee_step)(p->core, &event, &fx);
    if (status < 0) printf("step: %s\n", hark_status_text(status)), exit(1); /* EFULL: see hark_wants, hark_grow */
    for (struct hark_effect *x = effect; x < effect + fx.count; x++) {
        struct frame out = {x->peer, x->inc, x->header.length, p->posted, {0}};
        switch (x->type) {
        case HARK_TRANSMIT:
            if (x->replay) out.token = p->log[x->name.peer][x->name.ssn];
            if (x->replay) printf("  process %u tells %u again: token %" PRIu64 "\n", p->rank, x->peer, out.token);
            __builtin_memcpy(out.header, x->header.at, x->header.length);
            put(&out);
            break;
        case HARK_RETAIN: p->log[x->name.peer][x->name.ssn] = p->posted; break;
        case HARK_SUPPRESS: printf("  process %u need not send %u token %" PRIu64 "\n", p->rank, x->name.peer, p->posted); break;
        case HARK_HANDUP: handed_up = true; break;
        case HARK_HOLD: put(f); break; /* round again, which makes OFFER unnecessary */
        case HARK_PERSIST: event = (struct hark_event){.type = HARK_STORED, .u.stored = {HARK_PERSIST, 1, x->u.id}}, decided = true; break;
        case HARK_RECOVERED: printf("  process %u: recovered\n", p->rank); break;
        default: break;
        }
    }
    if (status == HARK_MORE) return step(p, (struct hark_event){.type = HARK_CONTINUE}, f) || handed_up;
    return decided ? step(p, event, f) || handed_up : handed_up;
}

static void post(struct process *p, uint64_t token)
{
    p->posted = token;
    step(p, (struct hark_event){.type = HARK_SEND, .u.send = {.peer = (p->rank + 1) % RANKS, .length = 8, .digest = token}}, NULL);
}

static void lose(struct process *p)
{
    struct hark_incarnation inc = {p->rank, ++p->inc};
    struct hark_event failed = {.type = HARK_FAILED, .u.failed = {1, 1, &p->rank, &inc, NULL, 1, 0}};
    printf("process %u is lost when it has taken %" PRIu64 " tokens\n", p->rank, p->taken);
    begin(p);
    step(p, (struct hark_event){.type = HARK_RESTARTED, .u.restarted = {.re = 1, .inc = p->inc}}, NULL);
    for (int i = 0; i <= RANKS; i++) step(&process[i], failed, NULL);
}

int main(void)
{
    bool right = true;
    for (int i = 0; i <= RANKS; i++) begin(&process[i]);
    for (post(&process[0], 1); used;) {
        struct frame f = queue[first];
        struct process *p = &process[f.to == HARK_RECOVERY ? RANKS : f.to];
        struct hark_event event = {.type = HARK_ARRIVE, .u.frame = {{f.header, f.length}, 8}};
        first = (first + 1) % QUEUE, used--;
        if (f.inc != p->inc || !step(p, event, &f)) continue; /* it was for a process that is no more, or is no message */
        event.type = HARK_DELIVER;
        step(p, event, &f);
        p->sum += f.token, p->taken++;
        if (f.token < LAST) post(p, f.token + 1);
        if (p->rank == LOST && p->inc == 0 && p->taken == LOST_AFTER) lose(p);
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        uint64_t sum = 0;
        for (uint64_t token = 1; token <= LAST; token++) sum += token % RANKS == i ? token : 0;
        printf("process %u: %" PRIu64 " tokens, sum %" PRIu64 "\n", i, process[i].taken, process[i].sum);
        right = right && process[i].sum == sum;
        free(process[i].core);
    }
    free(process[RANKS].core);
    puts(right ? "as if nothing had happened" : "WRONG");
    return right ? 0 : 1;
}
