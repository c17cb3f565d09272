/* The cost of a core: ns for SEND + ARRIVE + DELIVER between two processes, medians of rounds; and
 * the bytes of its state in jobs of several sizes, when it has exchanged messages with 8 peers.
 * bench-core [JSON]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hark/registry.h"
#include "measure.h"

enum { ROUNDS = 31, MESSAGES = 20000, PEERS = 8 };

struct end {
    const struct hark_protocol *protocol;
    struct hark *core;
    struct hark_effects fx;
    struct hark_effect at[64];
    uint8_t bytes[1 << 17];
    uint64_t bytes_of_state; /* 0: a block so large that it never grows */
};

/* In a block as small as it can be: it grows when the core asks for that. */
static void make_small(struct end *e, const char *name, uint32_t me, uint32_t ranks)
{
    struct hark_range mine = {me, me};
    struct hark_config c = {.me = me, .ranks = ranks, .cluster = &mine, .cluster_count = 1};
    e->protocol = hark_protocol_named(name);
    if (e->protocol->rolls != HARK_ROLLS_CLUSTER) c.cluster_count = 0;
    e->bytes_of_state = e->protocol->size(&c);
    e->core = malloc(e->bytes_of_state);
    if (e->core == NULL || e->protocol->init(e->core, e->bytes_of_state, &c) != HARK_OK) exit(1);
    e->fx = (struct hark_effects){
        .at = e->at, .room = 64, .bytes = e->bytes, .bytes_room = sizeof e->bytes};
}

/* In a block that never grows. It is kept from round to round: pages touched for the first time are
 * not what is measured. */
static void make(struct end *e, const char *name, uint32_t me, bool together, uint32_t flags)
{
    enum { BYTES = 64 << 20 };
    struct hark_range all = {0, PEERS - 1}, mine = {me, me};
    struct hark_config c = {.me = me,
        .ranks = PEERS,
        .cluster = together ? &all : &mine,
        .cluster_count = 1,
        .flags = flags};
    e->protocol = hark_protocol_named(name);
    if (e->protocol->rolls != HARK_ROLLS_CLUSTER) c.cluster_count = 0;
    if (e->core == NULL) {
        e->core = aligned_alloc(64, BYTES);
        if (e->core == NULL) exit(1);
        memset(e->core, 0, BYTES);
    }
    if (e->protocol->init(e->core, BYTES, &c) != HARK_OK) exit(1);
    e->fx = (struct hark_effects){
        .at = e->at, .room = 64, .bytes = e->bytes, .bytes_room = sizeof e->bytes};
}

static void step(struct end *e, const struct hark_event *event)
{
    int status;
    while (
        (status = e->protocol->step(e->core, event, &e->fx)) == HARK_EFULL && e->bytes_of_state) {
        e->bytes_of_state = hark_wants(e->core, event);
        e->core = realloc(e->core, e->bytes_of_state);
        if (e->core == NULL) exit(1);
        hark_grow(e->core, e->bytes_of_state);
    }
    if (status != HARK_OK && status != HARK_MORE) {
        fprintf(stderr, "%s: %s\n", e->protocol->name, hark_status_text(status));
        exit(1);
    }
}

/* One message from a to b, delivered. Control frames that come of it are exchanged as well. */
static void message(struct end *a, struct end *b, uint32_t to)
{
    struct hark_event e = {.type = HARK_SEND};
    e.u.send.peer = to;
    e.u.send.length = 8;
    e.u.send.digest = 1;
    step(a, &e);
    for (uint32_t i = 0; i < a->fx.count; i++) {
        if (a->fx.at[i].type != HARK_TRANSMIT) continue;
        struct hark_event arrive = {.type = HARK_ARRIVE}, deliver = {.type = HARK_DELIVER};
        arrive.u.frame.header = deliver.u.frame.header = a->fx.at[i].u.transmit.header;
        step(b, &arrive);
        if (b->fx.count && b->fx.at[0].type == HARK_HANDUP) step(b, &deliver);
    }
}

static double measure(const char *name, bool together, uint32_t flags)
{
    static struct end a, b;
    double t[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        make(&a, name, 0, together, flags);
        make(&b, name, 1, together, flags);
        for (int i = 0; i < 100; i++) message(&a, &b, 1), message(&b, &a, 0);
        double begin = nanoseconds();
        for (int i = 0; i < MESSAGES / 2; i++) message(&a, &b, 1), message(&b, &a, 0);
        t[r] = (nanoseconds() - begin) / MESSAGES;
    }
    return median_of(t, ROUNDS);
}

static unsigned long long state_bytes(const char *name, uint32_t ranks)
{
    static struct end me, peer;
    make_small(&me, name, 0, ranks);
    for (uint32_t i = 1; i <= PEERS && i < ranks; i++) {
        make_small(&peer, name, i, ranks);
        for (int n = 0; n < 4; n++) message(&me, &peer, i), message(&peer, &me, 0);
        free(peer.core);
    }
    free(me.core);
    return me.bytes_of_state;
}

int main(int argc, char **argv)
{
    static const uint32_t ranks[] = {8, 1024, 65536};
    FILE *json = argc > 1 ? fopen(argv[1], "w") : NULL;
    const struct hark_protocol *p;
    printf("%-12s %9s %12s %12s   bytes of state, 8 peers, in jobs of\n", "core, ns", "message",
        "with digest", "in a cluster");
    printf("%-12s %9s %12s %12s %10u %10u %10u\n", "", "", "", "", ranks[0], ranks[1], ranks[2]);
    for (unsigned i = 0; (p = hark_protocol_at(i)) != NULL; i++) {
        if (p->kind == HARK_KIND_RECOVERY) continue;
        bool group = p->rolls == HARK_ROLLS_CLUSTER;
        double plain = measure(p->name, false, 0),
               digest = group ? measure(p->name, false, HARK_DIGEST) : plain;
        double inside = group ? measure(p->name, true, 0) : plain;
        printf("%-12s %9.1f %12.1f %12.1f", p->name, plain, digest, inside);
        if (json)
            fprintf(json,
                "%s\n  {\"core\": \"%s\", \"ns\": %.1f, \"digest_ns\": %.1f, \"cluster_ns\": %.1f",
                i ? "," : "[", p->name, plain, digest, inside);
        for (int k = 0; k < 3; k++) {
            unsigned long long bytes = state_bytes(p->name, ranks[k]);
            printf(" %10llu", bytes);
            if (json) fprintf(json, ", \"bytes_%u\": %llu", ranks[k], bytes);
        }
        printf("\n");
        if (json) fprintf(json, "}");
    }
    if (json) fprintf(json, "\n]\n");
    return json && fclose(json) != 0;
}
